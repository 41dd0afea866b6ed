/* Launches: their arguments, how threads share them, what they touch, and their names; see
   kernel.h. Contract: an argument list is inputs, outputs, one scratch, numbers of parts;
   everything is taken as touched whole until a printer says which slice a unit owns. */
#include "codegen/program/extent.h"

static const char *group_name(Gen *g, const Group *gr) {
  if (gr->op->kind == OP_KERNEL && gr->op->attr[0].str && *gr->op->attr[0].str)
    return gr->op->attr[0].str;
  if (gr->op->kind == OP_KERNEL) return "kernel";
  return op_info[gr->op->kind].name;
}

static Kernel *start(Gen *g, const Group *gr, const char *name) {
  Kernel *k = ARENA_NEW(g->a, Kernel);
  k->name = name;
  k->op = gr->root ? gr->root : gr->nops ? gr->ops[gr->nops - 1] : gr->op;
  k->head = text_new(g->a, 1);
  k->text = text_new(g->a, 1);
  k->units = 1;
  k->bounded = group_is_bounded(gr);
  bool scratch = g->target->scratch_bytes(g->target, gr->e, gr->op) > 0;
  bool store = gr->op->kind == OP_STORE;
  k->args = ARENA_ARRAY(g->a, KernelArg, gr->nin + gr->nout + 2 + (int)g->parts.n);
  for (int i = 0; i < gr->nin; i++)
    k->args[k->nargs++] = (KernelArg){ARG_VALUE, .value = gr->in[i], .access = {.read = true}};
  for (int i = 0; i < gr->nout; i++)
    k->args[k->nargs++] = (KernelArg){ARG_VALUE, .value = gr->out[i], .access = {.write = true}};
  if (store)
    k->args[k->nargs++] = (KernelArg){ARG_GLOBAL, .global = (int)gr->op->attr[AT_GLOBAL].i,
                                      .access = {.write = true}};
  if (scratch)
    k->args[k->nargs++] = (KernelArg){ARG_SCRATCH, .access = {.read = true, .write = true}};
  for (uint32_t i = 0; i < g->parts.n; i++)
    k->args[k->nargs++] = (KernelArg){ARG_PART, .part = g->parts.at[i], .access = {.read = true}};
  g->names = 0;
  vec_push(g->a, &g->out, k);
  return k;
}

Kernel *kernel_new(Gen *g, const Group *gr) { return start(g, gr, group_name(g, gr)); }

Kernel *kernel_next(Gen *g, const Group *gr, const char *suffix) {
  Kernel *k = start(g, gr, arena_printf(g->a, "%s.%s", group_name(g, gr), suffix));
  k->part = suffix;
  return k;
}

void kernel_schedule(Kernel *k, const ScheduleKind *kind, const void *schedule, size_t size) {
  k->schedule_kind = kind;
  k->schedule = memcpy(arena_alloc(k->text.a, size), schedule, size);
}

const char *kernel_entries(Arena *a, const char *list, const Entry *e) {
  const char *comma = list ? strrchr(list, ',') : NULL, *last = comma ? comma + 1 : list;
  const char *name = e == e->module->init ? "initialisation" : e->name;
  if (!list) return name;
  return strcmp(last, name) == 0 ? list : arena_printf(a, "%s,%s", list, name);
}

void kernel_print_schedule(FILE *f, const Gen *g, const Kernel *k, const char *function,
                           const char *threads, int launches, const char *entries) {
  static const ScheduleKind elements = {"elements", NULL};
  const ScheduleKind *kind = k->schedule_kind ? k->schedule_kind : &elements;
  fprintf(f, "%s %s %s %s %s launches=%d entries=%s\n", g->target->name, function,
          op_info[k->op->kind].name, schedule_text(g->a, kind, k->schedule), threads, launches,
          entries);
}

double kernel_balance(const Kernel *k, int threads) {
  if (k->units > 1 && k->balance) return k->balance(k->schedule, threads);
  return units_balance(k->units, threads);
}

int kernel_scratch_arg(const Kernel *k) {
  for (int i = k->nargs - 1; i >= 0 && k->args[i].kind >= ARG_SCRATCH; i--)
    if (k->args[i].kind == ARG_SCRATCH) return i;
  return -1;
}

int kernel_part_arg(const Kernel *k, int part) {
  int i = k->nargs;
  while (i > 0 && k->args[i - 1].kind == ARG_PART) i--;
  return i + part;
}

static bool names(const char *text, const char *name) {
  size_t n = strlen(name);
  for (const char *at = text; (at = strstr(at, name)) != NULL; at += n)
    if (at[n] < '0' || at[n] > '9') return true;
  return false;
}

void kernel_touched(Kernel *k, const Group *gr) {
  Text text = k->text;
  for (int i = 0; i < gr->nin; i++)
    k->args[i].access.read =
        names(text_str(&text), arena_printf(text.a, "in%d", group_arg(gr, gr->arg[i])));
  for (int i = 0; i < gr->nout; i++)
    k->args[gr->nin + i].access.write = names(text_str(&text), arena_printf(text.a, "out%d", i));
}

static void declare(Kernel *k, Gen *g, const Type *t, bool in, int i, int at) {
  text_line(&k->head, "%s%s *%s%d = p[%d]; /* %s */", in ? "const " : "", dtype_storage(t->dtype),
            in ? "in" : "out", i, at, type_str(g->ctx, t));
}

void kernel_args(Gen *g, Kernel *k, const Group *gr) {
  extent_declare(g, &k->head, k, gr);
  for (int i = 0; i < gr->nin; i++) {
    bool first = true; /* a value that several operands name is read through the first */
    for (int j = 0; j < i; j++) first = first && gr->arg[j] != gr->arg[i];
    if (first) declare(k, g, value_type(gr->e, gr->in[i]), true, i, i);
  }
  for (int i = 0; i < gr->nout; i++)
    declare(k, g, value_type(gr->e, gr->out[i]), false, i, gr->nin + i);
  if (gr->op->kind == OP_STORE) declare(k, g, value_type(gr->e, gr->in[0]), false, 0, 1);
  if (kernel_scratch_arg(k) >= 0)
    text_line(&k->head, "char *scratch = p[%d];", kernel_scratch_arg(k));
}

void kernel_buffer(Gen *g, Kernel *k, Text *x, const char *T, int size, const char *name,
                   int64_t count) {
  enum { ON_STACK = 4096, ALIGN = 64 }; /* bytes */
  uint64_t bytes = (uint64_t)(count > 0 ? count : 1) * (uint64_t)size;
  if (bytes <= ON_STACK) {
    text_line(x, "_Alignas(%d) %s %s[%lld];", ALIGN, T, name, (long long)(count > 0 ? count : 1));
    return;
  }
  text_line(x, "%s *restrict const %s = (%s *)(env->work + %llu); /* %llu bytes */", T, name, T,
            (unsigned long long)k->work, (unsigned long long)bytes);
  k->work += (bytes + ALIGN - 1) / ALIGN * ALIGN;
  if (k->work > g->work) g->work = k->work;
}

void kernel_units_of(Kernel *k, int64_t most, const char *units) {
  if (most == 1 || (units[0] >= '0' && units[0] <= '9')) {
    kernel_units(k, most);
    return;
  }
  k->units = most;
  text_line(&k->text, "const long units = %s, u0 = units * t / nt, u1 = units * (t + 1) / nt;",
            units);
}

void kernel_units(Kernel *k, int64_t units) {
  k->units = units;
  if (units == 1)
    text_line(&k->text, "if (t != 0) return;");
  else
    text_line(&k->text, "const long u0 = %lldL * t / nt, u1 = %lldL * (t + 1) / nt;",
              (long long)units, (long long)units);
}

static void split(KernelArg *a, int64_t rows, uint64_t stride, uint64_t width) {
  a->access.rows = rows;
  a->access.stride = stride;
  a->access.width = width;
}

void kernel_split_in(Kernel *k, const Group *gr, int i, int64_t rows, uint64_t stride,
                     uint64_t width) {
  if (group_is_bounded(gr)) return; /* units are other slices in each run */
  split(&k->args[i], rows, stride, width);
}

void kernel_split_out(Kernel *k, const Group *gr, int i, int64_t rows, uint64_t stride,
                      uint64_t width) {
  if (group_is_bounded(gr)) return;
  split(&k->args[gr->nin + i], rows, stride, width);
}

const char *kernel_body(Gen *g, const Kernel *k) {
  Text head = k->head, text = k->text;
  return intern(g->ctx, arena_printf(g->a, "%s%s", text_str(&head), text_str(&text)));
}
