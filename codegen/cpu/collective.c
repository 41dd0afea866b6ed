/* Prints collectives: one thread calls the runtime, which waits for the other ranks; the threads
   that read the result wait for it at the barrier in front of their step, as for any kernel.
   Contract: an all_reduce combines the storage of its operand, padding included, in which every
   rank has the same layout. */
#include "codegen/cpu/cpu.h"

static const char *const enum_of[DTYPES] = {
    [DT_I32] = "GC_I32", [DT_I64] = "GC_I64", [DT_F32] = "GC_F32", [DT_F64] = "GC_F64"};

static void reduce(Text *x, const Group *gr) {
  const Value *v = value_at(gr->e, gr->out[0]);
  uint64_t bytes = 0;
  (void)layout_bytes(v->type, v->layout, &bytes);
  text_line(x, "gcrt_all_reduce(env, out0, in0, %lld, %s);",
            (long long)bytes / dtype_size(v->type->dtype), enum_of[v->type->dtype]);
}

static void scatter(Text *x, const Group *gr) {
  const Type *t = value_type(gr->e, gr->out[0]);
  text_line(x, "gcrt_reduce_scatter(env, out0, in0, %lld, %s);", (long long)t->numel,
            enum_of[t->dtype]);
}

static void gather(Text *x, const Group *gr) {
  const Type *t = value_type(gr->e, gr->in[0]);
  int64_t outer = 1, bytes = dtype_size(t->dtype);
  for (int i = 0; i < t->rank; i++) {
    if (i < gr->op->attr[AT_AXIS].i)
      outer *= t->dim[i];
    else
      bytes *= t->dim[i];
  }
  text_line(x, "gcrt_all_gather(env, out0, in0, %lld, %lld);", (long long)outer, (long long)bytes);
}

void cpu_collective(Gen *g, const Group *gr) {
  Kernel *k = kernel_new(g, gr);
  kernel_args(g, k, gr);
  kernel_units(k, 1);
  if (gr->op->kind == OP_ALL_REDUCE)
    reduce(&k->text, gr);
  else if (gr->op->kind == OP_REDUCE_SCATTER)
    scatter(&k->text, gr);
  else if (gr->op->kind == OP_RANK)
    text_line(&k->text, "out0[0] = env->comm ? env->comm->rank : 0;");
  else if (gr->op->kind == OP_ALL_GATHER)
    gather(&k->text, gr);
  else
    text_line(&k->text, "out0[0] = env->first_row;");
}
