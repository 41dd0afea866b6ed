/* Outputs of all rows from those of batches: means, sums, maxima and minima, as the compiler has
   found each output to be. Contract: means weigh a batch by its rows; integers are exact, their
   sums modulo 2^64; NaN stays. A float scalar that is none of these is averaged, and a note says
   so. */
#include "runtime/program/command.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Rule {
  const char *name, *several;                /* as help and notes call it */
  double begin;                              /* of sums -0, the identity of addition: -0 stays */
  double (*enter)(double), (*leave)(double); /* around a mean; NULL: as it is */
} Rule;

static double square(double x) { return x * x; }

static const Rule rules[GC_AGGREGATES] = {
    [GC_EACH] = {"mean", "means", -0.0, NULL, NULL},
    [GC_MEAN] = {"mean", "means", -0.0, NULL, NULL},
    [GC_SUM] = {"sum", "sums", -0.0, NULL, NULL},
    [GC_MAX] = {"maximum", "maxima", -INFINITY, NULL, NULL},
    [GC_MIN] = {"minimum", "minima", INFINITY, NULL, NULL},
    [GC_EXP_MEAN] = {"geometric mean", "geometric means", 0, log, exp},
    [GC_RMS] = {"root mean square", "root mean squares", 0, square, sqrt},
};

const char *aggregate_name(GcAggregate how) { return rules[how].name; }

void aggregate_begin(GcAggregate how, double *all) { *all = rules[how].begin; }

void aggregate_add(GcAggregate how, double *all, double value, double weight) {
  if (how == GC_MAX || how == GC_MIN) {
    bool beyond = how == GC_MAX ? value > *all : value < *all;
    if (beyond || isnan(value)) *all = value;
    return;
  }
  if (rules[how].enter) value = rules[how].enter(value);
  *all += how == GC_SUM ? value : value * weight;
}

double aggregate_of(GcAggregate how, double all, double weight) {
  if (how == GC_SUM || how == GC_MAX || how == GC_MIN) return all;
  return rules[how].leave ? rules[how].leave(all / weight) : all / weight;
}

bool output_is_aggregated(const GcTensor *t) {
  return t->aggregate != GC_EACH || validation_measures(t);
}

/* ---- arrays ---- */

/* The type of a sum holds a batch's, not that of all rows. */
static GcDtype dtype_of(const GcTensor *t) {
  return t->aggregate == GC_SUM && elem_info[t->dtype].cls != ELEM_FLOATS ? GC_I64 : t->dtype;
}

/* A double does not have all integers. */
static bool is_whole(const GcTensor *t) {
  bool mean = t->aggregate != GC_SUM && t->aggregate != GC_MAX && t->aggregate != GC_MIN;
  return elem_info[t->dtype].cls != ELEM_FLOATS && !mean;
}

GcTensor aggregate_tensor(const GcTensor *t) {
  const int64_t *dims = t->run_dims ? t->run_dims : t->dims; /* elements lie side by side */
  return (GcTensor){.name = t->name, .dtype = dtype_of(t), .rank = t->rank, .dims = dims};
}

void aggregate_begin_array(const GcTensor *t, Total *all) {
  static const int64_t whole[GC_AGGREGATES] = {[GC_MAX] = INT64_MIN, [GC_MIN] = INT64_MAX};
  uint64_t n = tensor_count(t);
  for (uint64_t i = 0; i < n; i++)
    if (is_whole(t))
      all[i].whole = whole[t->aggregate];
    else
      aggregate_begin(t->aggregate, &all[i].real);
}

static int64_t add_whole(GcAggregate how, int64_t all, int64_t value) {
  if (how == GC_SUM) return (int64_t)((uint64_t)all + (uint64_t)value);
  return (how == GC_MAX ? value > all : value < all) ? value : all;
}

void aggregate_add_array(const Session *s, const GcTensor *t, Total *all, double weight) {
  uint64_t n = tensor_count(t);
  for (uint64_t i = 0; i < n; i++) {
    int64_t value;
    tensor_get(t, session_at(s, t), i, 1, s->stage);
    if (is_whole(t)) {
      elem_convert(&value, ELEM_I64, s->stage, (Elem)t->dtype, 1);
      all[i].whole = add_whole(t->aggregate, all[i].whole, value);
    } else {
      aggregate_add(t->aggregate, &all[i].real, elem_real(s->stage, (Elem)t->dtype, 0), weight);
    }
  }
}

void aggregate_end_array(const GcTensor *t, Total *all, double weight) {
  Elem to = (Elem)dtype_of(t), from = is_whole(t) ? ELEM_I64 : ELEM_F64;
  uint64_t n = tensor_count(t), size = (uint64_t)elem_info[to].size;
  for (uint64_t i = 0; i < n; i++) { /* no element is larger than a total */
    uint64_t one;
    if (!is_whole(t)) all[i].real = aggregate_of(t->aggregate, all[i].real, weight);
    elem_convert(&one, to, &all[i], from, 1);
    memcpy((uint8_t *)all + i * size, &one, size);
  }
}

/* ---- notes ---- */

static void say(const Command *cmd, GcAggregate how, uint64_t runs) {
  char names[300] = "";
  size_t at = 0;
  int n = 0;
  for (int i = 0; i < cmd->entry->noutputs; i++) {
    const GcTensor *t = &cmd->entry->outputs[i];
    if (t->aggregate != how || !output_is_aggregated(t)) continue;
    if (at < 200)
      at += (size_t)snprintf(names + at, sizeof names - at, "%s%.60s", n ? ", " : "", t->name);
    n++;
  }
  if (n && how == GC_EACH)
    note(cmd, "%s: the mean over %" PRIu64 " batches, which need not be that of all rows at once",
         names, runs);
  else if (n)
    note(cmd, "%s: the %s over %" PRIu64 " batches", names,
         n > 1 ? rules[how].several : rules[how].name, runs);
}

void aggregate_note(const Command *cmd, uint64_t runs) {
  for (int how = GC_EACH; how < GC_AGGREGATES && runs > 1; how++) say(cmd, (GcAggregate)how, runs);
}
