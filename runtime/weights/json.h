/* A strict reader of the JSON that safetensors headers and tokenizers are made of: objects,
   strings, numbers, arrays of sizes. Contract: reads a buffer that it may change (strings are
   unescaped in place), never recurses, and every failure carries the byte offset; sizes are plain
   decimal without sign or exponent. */
#ifndef GCRT_JSON_H
#define GCRT_JSON_H
#include "runtime/base/rt.h"

typedef struct Json {
  char *p, *end, *begin;
  const char *path; /* for messages */
  uint64_t shift;   /* of the buffer in the file, for offsets */
  const char *what; /* "index": what is read, for messages; NULL: a safetensors header */
  bool zeros;       /* strings may have zero characters */
  Err *e;
} Json;
typedef struct JsonText { /* no zero byte at its end */
  char *s;
  uint64_t n;
} JsonText;
bool json_fail(Json *j, const char *what);
bool json_take(Json *j, char c);   /* skips blanks; true if c follows, and takes it */
bool json_expect(Json *j, char c); /* fails otherwise */
bool json_sees(Json *j, char c);   /* skips blanks; true if c follows */
/* Of a buffer with a zero byte behind its end. */
bool json_number(Json *j, double *out);
bool json_string(Json *j, JsonText *out);
bool json_sizes(Json *j, uint64_t *out, int most, int *n);
bool json_skip(Json *j); /* a value of any kind */
bool json_end(Json *j);  /* only blanks follow */
#endif
