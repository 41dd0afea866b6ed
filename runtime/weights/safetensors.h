/* The table of contents of a safetensors file, read strictly.
   Contract: on success the entries cover the data without gap or overlap, names are unique, and
   end - begin is what dtype and shape say; nothing of the data has been read. */
#ifndef GCRT_SAFETENSORS_H
#define GCRT_SAFETENSORS_H
#include "runtime/data/file.h"
#include "runtime/weights/json.h"

enum { SAFE_RANK = 16 };
typedef struct SafeEntry {
  JsonText name; /* in SafeTable.header */
  Elem type;     /* ELEM_COUNT: one that no program of ours has */
  int rank;
  uint64_t dims[SAFE_RANK];
  uint64_t begin, end; /* bytes, from SafeTable.data */
} SafeEntry;
typedef struct SafeMeta {
  JsonText key, value;
} SafeMeta;
typedef struct SafeTable {
  char *header;
  SafeEntry *entries; /* in order of the name */
  uint64_t n;
  SafeMeta *meta;
  uint64_t nmeta;
  uint64_t data; /* of the file */
} SafeTable;
bool safe_is(const uint8_t *p, uint64_t n); /* by its first bytes */
bool safe_open(SafeTable *t, const File *f, Err *e);
const SafeEntry *safe_find_text(const SafeTable *t, JsonText name);
const SafeEntry *safe_find(const SafeTable *t, const char *name);
const SafeMeta *safe_meta(const SafeTable *t, const char *key);
void safe_free(SafeTable *t);
bool text_is(JsonText t, const char *s);
#endif
