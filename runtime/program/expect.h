/* --expect: what a run makes, compared with what a file has. */
#ifndef GCRT_EXPECT_H
#define GCRT_EXPECT_H
#include "runtime/program/command.h"

typedef struct Expected {
  File file; /* an array, of which pieces are read */
  Array array;
  Table table;                /* or all elements of a table; none: it is an array */
  uint64_t at, beyond, first; /* elements compared; out of tolerance; the first of those */
  double worst, got, want;
  bool on;
} Expected;

/* The file of output i, which has so many elements in all runs. */
bool expect_open(Command *cmd, Expected *x, int i, uint64_t elements);
/* Elements [first, first + n) of a run's output are the next ones of the file. */
bool expect_piece(Command *cmd, Expected *x, const GcTensor *t, const void *storage, uint64_t first,
                  uint64_t n);
/* False, with an error: some element is out of tolerance. */
bool expect_judge(Command *cmd, const Expected *x, int i);
void expect_close(Expected *x);
#endif
