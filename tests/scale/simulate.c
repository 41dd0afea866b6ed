/* See simulate.h. Collectives take what the published models say, the least of a ring and of a
   tree:
   - ring: n - 1 messages for a reduce-scatter or an all-gather, twice as many for an all-reduce;
   each rank sends (n - 1) / n of the bytes in each half (Patarasuk and Yuan, Bandwidth optimal
   all-reduce algorithms, 2009);
   - recursive halving and doubling: as many bytes in log n messages (Thakur, Rabenseifner and
   Gropp, Optimization of collective communication operations in MPICH, 2005); NCCL has it for these
   two as PAT (Jeaugey, 2025);
   - of an all-reduce two binary trees, which move all bytes twice in 2 log n messages (Sanders,
   Speck and Traff, Two-tree algorithms for full bandwidth broadcast, reduction and scan, 2009), as
   NCCL has it. A step begins when its stream is idle and all steps are over that the plan has it
   wait for. */
#include "tests/scale/simulate.h"

#include "passes/plan/plan_impl.h"

#include <math.h>

static double least(double a, double b) { return a < b ? a : b; }

static double bytes_of(const Entry *e, const Op *op) {
  double bytes = 0;
  bool gathers = op->kind == OP_ALL_GATHER;
  for (int i = 0; i < op->noperands; i++)
    bytes += (double)value_type(e, gathers ? op->results[i] : op->operands[i])->bytes;
  return bytes;
}

/* Between the points by a straight line, beyond them by the last one's rate. */
static double measured(const LinkTable *t, double bytes) {
  int k = 1;
  while (k < t->n - 1 && t->at[k].bytes < bytes) k++;
  const LinkPoint *a = &t->at[k - 1], *b = &t->at[k];
  if (bytes <= a->bytes) return a->seconds;
  return a->seconds + (b->seconds - a->seconds) * (bytes - a->bytes) / (b->bytes - a->bytes);
}

double link_collective(const LinkModel *l, const Entry *e, const Op *op, int n) {
  double bytes = bytes_of(e, op), tree = ceil(log2(n)), part = (n - 1.0) / n;
  bool both = op->kind == OP_ALL_REDUCE;
  if (n <= 1) return 0;
  if (l->measured)
    return measured(&l->measured[both ? 0 : op->kind == OP_ALL_GATHER ? 2 : 1], bytes);
  if (!both) return l->base + least(n - 1.0, tree) * l->latency + part * bytes / l->bandwidth;
  return l->base + least(2 * (n - 1.0) * l->latency + 2 * part * bytes / l->bandwidth,
                         2 * tree * l->latency + 2 * bytes / l->bandwidth);
}

Simulated simulate(const Entry *e, const double *seconds, const LinkModel *l, FILE *lines) {
  const Plan *p = plan_of(e);
  Simulated r = {0};
  Arena *a = arena_new();
  double *end = ARENA_ARRAY(a, double, p->nsteps + 1);
  double *idle = ARENA_ARRAY(a, double, p->streams + 1); /* by stream: from when on */
  for (int t = 0; t < p->nsteps; t++) {
    bool talks = op_info[p->steps[t]->kind].cls == CLASS_COLLECTIVE;
    double takes = talks ? link_collective(l, e, p->steps[t], e->ranks) : seconds[t];
    /* what processors move has no stream of its own */
    int stream = p->stream && !l->measured ? p->stream[t] : 0;
    double begin = 0;
    for (int k = 0; p->stream && k < p->streams; k++) {
      if (k == stream) continue;
      int over = p->finished_before[(size_t)t * (size_t)p->streams + (size_t)k];
      if (over >= 0 && end[over] > begin) begin = end[over];
    }
    double ready = begin;
    if (idle[stream] > begin) begin = idle[stream];
    end[t] = idle[stream] = begin + takes;
    if (talks && lines)
      fprintf(lines, "%9.3f %9.3f %9.3f %12.0f %2d %s %s\n", 1e3 * ready, 1e3 * begin, 1e3 * end[t],
              bytes_of(e, p->steps[t]), p->steps[t]->noperands, op_info[p->steps[t]->kind].name,
              value_str(e, p->steps[t]->operands[0]));
    if (end[t] > r.seconds) r.seconds = end[t];
    *(talks ? &r.talks : &r.computes) += takes;
    r.collectives += talks;
  }
  arena_free(a);
  return r;
}
