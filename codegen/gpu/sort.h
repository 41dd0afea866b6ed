/* Sorting the rows of a value in several launches; see sort.c. */
#ifndef GC_CODEGEN_GPU_SORT_H
#define GC_CODEGEN_GPU_SORT_H
#include "codegen/gpu/gpu.h"
#include "codegen/schedule/sort.h"

typedef struct Sort {
  Dtype dt; /* of the numbers */
  bool descending;
  const char *in; /* the numbers, "in0" */
  /* the number at an index of all, a factor; NULL: it lies there */
  const char *(*load)(Gen *g, const Group *gr, const char *at);
  const char *check;           /* a statement for number `own` of all, key[i]; or NULL */
  const char *buffer[2];       /* of int: the result, and where there are merges another one */
  const char *rows, *elements; /* of this run, which may be fewer than in the schedule */
  GridSortSchedule schedule;
} Sort;

/* Into the group's kernel at hand, and those that follow it. */
void sort_rows(Gen *g, const Group *gr, Kernel *k, const Sort *s);
#endif
