/* Prints collectives: one thread calls the runtime, which begins to communicate with the other
   ranks. A launch of its own waits for the end of the first that has begun; the threads that read
   the result wait for it at the barrier in front of their step, as for any kernel.
   Contract: an all_reduce combines the storage of its operands, padding included, in which every
   rank has the same layout. Parts of it that lie side by side are one message (runtime). */
#include "codegen/cpu/cpu.h"

static const char *const enum_of[DTYPES] = {
    [DT_I32] = "GC_I32", [DT_I64] = "GC_I64", [DT_F32] = "GC_F32", [DT_F64] = "GC_F64"};

static int64_t stored(const Group *gr, ValueId v) {
  const Value *x = value_at(gr->e, v);
  uint64_t bytes = 0;
  (void)layout_bytes(x->type, x->layout, &bytes);
  return (int64_t)bytes / dtype_size(x->type->dtype);
}

/* A message has a part at least, and as much of one as GC_MESSAGE in gcrt.h says. */
static int messages(const Group *gr) {
  enum { MESSAGE = 1 << 28 };
  int n = 0;
  for (int i = 0; i < gr->op->nresults; i++) {
    const int64_t size = dtype_size(value_type(gr->e, gr->op->results[i])->dtype);
    n += 1 + (int)(stored(gr, gr->op->results[i]) * size / MESSAGE);
  }
  return n;
}

static void reduce(Text *x, const Group *gr) {
  const char *out = "", *in = "", *n = "", *between = "";
  for (int i = 0; i < gr->op->nresults; i++, between = ", ") {
    out = arena_printf(x->a, "%s%sout%d", out, between, i);
    in = arena_printf(x->a, "%s%sin%d", in, between, group_arg(gr, gr->op->operands[i]));
    n = arena_printf(x->a, "%s%s%lld", n, between, (long long)stored(gr, gr->op->results[i]));
  }
  text_line(x, "void *const out[] = {%s};", out);
  text_line(x, "const void *const in[] = {%s};", in);
  text_line(x, "static const int64_t n[] = {%s};", n);
  text_line(x, "gcrt_all_reduce(env, %d, out, in, n, %s);", gr->op->nresults,
            enum_of[value_type(gr->e, gr->op->results[0])->dtype]);
}

static void scatter(Text *x, const Group *gr) {
  const Type *t = value_type(gr->e, gr->out[0]);
  text_line(x, "gcrt_reduce_scatter(env, out0, in0, %lld, %lld, %s);", (long long)t->numel,
            (long long)value_type(gr->e, gr->in[0])->numel, enum_of[t->dtype]);
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
  text_line(x, "gcrt_all_gather(env, out0, in0, %lld, %lld, %lld);", (long long)outer,
            (long long)bytes, (long long)(value_type(gr->e, gr->out[0])->bytes / outer));
}

static void broadcast(Text *x, const Group *gr) {
  const int64_t bytes = stored(gr, gr->out[0]) * dtype_size(value_type(gr->e, gr->out[0])->dtype);
  text_line(x, "gcrt_broadcast(env, out0, in0, %lld, %d);", (long long)bytes,
            (int)gr->op->attr[AT_ROOT].i);
}

void cpu_collective(Gen *g, const Group *gr) {
  Kernel *k = kernel_new(g, gr);
  kernel_args(g, k, gr);
  kernel_units(k, 1);
  g->messages += messages(gr);
  if (gr->op->kind == OP_ALL_REDUCE)
    reduce(&k->text, gr);
  else if (gr->op->kind == OP_REDUCE_SCATTER)
    scatter(&k->text, gr);
  else if (gr->op->kind == OP_RANK)
    text_line(&k->text, "out0[0] = env->comm ? env->comm->rank : 0;");
  else if (gr->op->kind == OP_ALL_GATHER)
    gather(&k->text, gr);
  else if (gr->op->kind == OP_COLLECTIVE_BROADCAST)
    broadcast(&k->text, gr);
  else
    text_line(&k->text, "out0[0] = env->first_row;");
}

/* Its arguments are those of the collective, which other ranks have written and read until now. */
void cpu_await(Gen *g, const Group *gr) {
  Kernel *k = kernel_next(g, gr, "end");
  kernel_units(k, 1);
  text_line(&k->text, "gcrt_await(env);");
}
