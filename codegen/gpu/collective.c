/* Collectives: steps of a device that have no kernel. The runtime has NCCL do them in a stream of
   its own; none is in a loop. Contract: an all_reduce combines the storage of its operand, padding
   included, in which every rank has the same layout; runs of which the last are short have scratch
   for equal ones; the first row and the number of a rank come with the step. */
#include "codegen/gpu/gpu.h"
#include "codegen/program/tables.h"

static void value_of_rank(Gen *g, const Group *gr) {
  Kernel *k = cuda_kernel(g, gr);
  cuda_threads(g, k, 1, "i");
  text_line(&k->text, "out0[i] = (i32)%s(env);",
            gr->op->kind == OP_RANK ? "env_rank" : "env_first_row");
}

static int64_t elements_stored(const Gen *g, const Value *v) {
  uint64_t bytes = 0;
  if (!layout_bytes(v->type, v->layout, &bytes)) gc_bug(g->ctx, "a value without a size");
  return (int64_t)bytes / dtype_size(v->type->dtype);
}

/* NCCL has the collectives of a communicator in one order, which their stream gives; a loop has
   its own stream. */
static void refuse_loop(Gen *g, const Op *op) {
  if (!op->parent->op || g->refused) return;
  g->refused = true;
  diag(g->ctx, SEV_ERROR, op->loc, "ranks on GPUs cannot exchange values in a loop");
  diag(g->ctx, SEV_HINT, (Loc){0},
       "--exact gathers rows where they are read: leave it out, or say --data-parallel=mpi");
}

static int ranks_of(const Entry *e) {
  const Module *m = e->module;
  for (uint32_t k = 0; !e->ranks && k < m->entries.n; k++) /* of `gather` */
    if (m->entries.at[k]->ranks) e = m->entries.at[k];
  return e->ranks;
}

uint64_t cuda_collective_scratch(const Group *gr) {
  const Op *op = gr->op;
  const bool gathers = op->kind == OP_ALL_GATHER;
  if (!gathers && op->kind != OP_REDUCE_SCATTER) return 0;
  const Type *x = value_type(gr->e, gr->in[0]), *y = value_type(gr->e, gr->out[0]);
  const uint64_t run = (gathers ? x : y)->bytes, all = (gathers ? y : x)->bytes;
  const uint64_t room = run * (uint64_t)ranks_of(gr->e);
  return room > all ? room : 0;
}

void cuda_collective(Gen *g, const Group *gr) {
  static const char *const kind[] = {[OP_ALL_REDUCE] = "GC_ALL_REDUCE",
                                     [OP_REDUCE_SCATTER] = "GC_REDUCE_SCATTER",
                                     [OP_ALL_GATHER] = "GC_ALL_GATHER",
                                     [OP_COLLECTIVE_BROADCAST] = "GC_BROADCAST"};
  const Op *op = gr->op;
  if (op->kind == OP_RANK || op->kind == OP_FIRST_ROW) {
    value_of_rank(g, gr);
    return;
  }
  refuse_loop(g, op);
  const bool gathers = op->kind == OP_ALL_GATHER;
  const Type *t = value_type(gr->e, gr->in[0]);
  int64_t blocks = 1;
  for (int i = 0; gathers && i < op->attr[AT_AXIS].i; i++) blocks *= t->dim[i];
  if (gr->nin != gr->nout) gc_bug(g->ctx, "a collective of one operand twice");
  Text n = text_new(g->a, 0);
  for (int i = 0; i < gr->nout; i++)
    text_add(&n, "%s%lld", i ? ", " : "",
             (long long)(elements_stored(g, value_at(gr->e, gathers ? gr->in[0] : gr->out[i])) /
                         blocks));
  Kernel *k = kernel_new(g, gr);
  k->collective = arena_printf(
      g->a, "%s, %s, %d, (const int64_t[]){%s}, %lld, %d, %lld", kind[op->kind],
      dtype_enum(t->dtype), gr->nout, text_str(&n), (long long)blocks,
      op->kind == OP_COLLECTIVE_BROADCAST ? (int)op->attr[AT_ROOT].i : 0,
      (long long)(value_type(gr->e, gathers ? gr->out[0] : gr->in[0])->numel / blocks));
}
