/* A step of training on N ranks, in simulated time, by the schedule that gc made for them.
   Contract: pure functions of a plan with streams' edges, the seconds of its steps, and a model of
   the link. */
#ifndef GC_TESTS_SCALE_SIMULATE_H
#define GC_TESTS_SCALE_SIMULATE_H
#include "passes/plan.h"

#include <stdio.h>

/* What was measured of one kind of collective between two ranks of one machine: seconds by bytes,
 * ascending. */
typedef struct LinkPoint {
  double bytes, seconds;
} LinkPoint;
enum { LINK_POINTS = 64 };
typedef struct LinkTable {
  LinkPoint at[LINK_POINTS];
  int n;
} LinkTable;

typedef struct LinkModel {
  const char *name, *title;
  double latency;   /* seconds of a message */
  double bandwidth; /* bytes a second from each rank, and to it at the same time */
  double base;      /* seconds of a collective, whatever the number of ranks */
  /* Processors move the bytes themselves, so a collective takes its time from what computes; its
     seconds are measured: of an all-reduce, a reduce-scatter and an all-gather, by the bytes of the
     whole. NULL: an engine of its own. */
  const LinkTable *measured;
} LinkModel;

typedef struct Simulated {
  double seconds;  /* of the step */
  double computes; /* without waits */
  double talks;    /* of all collectives */
  int collectives;
  double bytes; /* of a rank's memory; the caller's */
} Simulated;

/* Of a collective op among n ranks. */
double link_collective(const LinkModel *l, const Entry *e, const Op *op, int n);
/* `seconds`: by step of the plan, of those that compute. With a file: a line for each collective,
   when its operands are there, when it begins and ends, its bytes and its first operand. */
Simulated simulate(const Entry *e, const double *seconds, const LinkModel *l, FILE *lines);
#endif
