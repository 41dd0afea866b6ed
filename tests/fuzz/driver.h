/* What the fuzzers of texts share: each gives a way to run one text, perhaps a grammar and words
   that matter; the driver mutates, runs texts in child processes, and keeps those that end one
   badly. Usage of each: fuzz_NAME SECONDS SEED FILE...; with 0 seconds the files are run as they
   are; 500t in place of seconds: so many texts. A run in which fewer than a fiftieth of the texts
   are refused, or come through to the end, fails. */
#ifndef GC_TESTS_FUZZ_DRIVER_H
#define GC_TESTS_FUZZ_DRIVER_H
#include <stddef.h>
#include <stdint.h>

enum { FUZZ_LARGEST = 16 << 10 }; /* bytes of a text */

typedef struct FuzzText {
  size_t n;
  char at[FUZZ_LARGEST];
} FuzzText;

typedef struct FuzzTarget {
  const char *name, *suffix;                  /* findings are NAME-SEED-NUMBER.SUFFIX */
  int (*run)(const char *text, size_t n);     /* how far it came; aborts where something is wrong */
  const char *const *stages;                  /* names of the results of run, ends with NULL */
  const char *const *words;                   /* ends with NULL */
  void (*grow)(uint64_t *rng, FuzzText *out); /* a text from a grammar; NULL: none */
} FuzzTarget;

int fuzz_main(const FuzzTarget *t, int argc, char **argv);

uint64_t fuzz_next(uint64_t *rng);
uint64_t fuzz_below(uint64_t *rng, uint64_t n);         /* 0 .. n - 1; n > 0 */
void fuzz_append(FuzzText *t, const char *s, size_t n); /* drops what does not fit */

/* What a run calls when a property does not hold: prints and aborts. */
_Noreturn void fuzz_wrong(const char *what);
#endif
