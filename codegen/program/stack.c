/* Stacks: a launch and the one behind it become one, whose thread blocks do the work of the first
   and then that of the second. Two kinds of launches are stacked:
   - products of few rows with the same tiles, the second of which reads each element of the first
     in the thread that has it, as silu(x @ gate) * (x @ up) does;
   - what one launch alone reads, products of few rows, and threads compute without waiting for each
     other, as the norm in front of them: each block computes all of it, and keeps it in shared
     memory. That takes less time than a launch.
   Contract: results keep their bits, since every thread does what it did. The first launch moves
   down to the second, past what touches none of its bytes; bytes that are dead behind it are dead
   behind the stack. Launches in loops, and on several streams, stay. */
#include "codegen/program/launch.h"

enum {
  SHARED = 48 << 10,  /* bytes of shared memory that a kernel may declare */
  DISTANCE = 16,      /* launches that one may pass */
  REPEATED = 8 << 20, /* bytes that blocks read again: what L2 sends in the time of a launch */
  MOST_ARGS = 480     /* as of batches */
};

typedef struct Stack {
  Gen *g;
  const Entry *e;
  Launches *l;
  bool *gone; /* by launch: it is in a stack further down */
} Stack;

static bool touches(const Address *a, const Address *b) {
  return a->bytes && b->bytes && address_overlap(a, b);
}

static bool same_place(const Address *a, const Address *b) {
  return a->region == b->region && a->offset == b->offset && a->bytes == b->bytes;
}

static bool writes(const Launch *l, const Address *at) {
  for (int k = 0; k < l->kernel->nargs; k++)
    if (l->kernel->args[k].access.write && touches(&l->args[k], at)) return true;
  return false;
}

static bool is_dead_behind(const Launch *l, const Address *at) {
  for (uint32_t i = 0; i < l->dead.n; i++) {
    const DeadRange *r = &l->dead.at[i];
    const Address dead = {PLAN_ARENA, r->offset, r->bytes, NULL, r->offset + r->bytes};
    if (touches(&dead, at)) return true;
  }
  return false;
}

/* --watch of the executable is to see what the launch stores. */
static bool is_watched(const Stack *s, const Launch *l) {
  const char *paths = s->g->opt->watched;
  return paths && *paths && passes_watched(l->op, s->e, paths);
}

/* A launch up to the second one writes what the first one reads, or behind one in front of that it
   is dead. */
static bool is_written_over(const Stack *s, uint32_t first, uint32_t then) {
  const Launch *a = &s->l->at.at[first];
  for (int k = 0; k < a->kernel->nargs; k++)
    for (uint32_t i = first + 1; i <= then && a->kernel->args[k].access.read; i++)
      if (!s->gone[i] && (writes(&s->l->at.at[i], &a->args[k]) ||
                          (i < then && is_dead_behind(&s->l->at.at[i], &a->args[k]))))
        return true;
  return false;
}

/* Bytes that are dead behind the first launch, and that none up to the second writes. */
static void add_dead(const Stack *s, DeadRanges *dead, uint32_t first, uint32_t then) {
  const Launch *a = &s->l->at.at[first];
  for (uint32_t k = 0; k < a->dead.n; k++) {
    const DeadRange *r = &a->dead.at[k];
    const Address at = {PLAN_ARENA, r->offset, r->bytes, NULL, r->offset + r->bytes};
    bool written = false;
    for (uint32_t i = first + 1; i <= then; i++)
      written |= !s->gone[i] && writes(&s->l->at.at[i], &at);
    if (!written) vec_push(s->g->a, dead, *r);
  }
}

/* Bytes of shared memory that the products' texts declare. */
static int64_t shared_of(const Stack *s, const Launch *l) {
  int64_t bytes = 0;
  for (int i = 0; i < l->kernel->mixed; i++) bytes += shared_of(s, &l->members[i]);
  if (l->kernel->mixed) return bytes;
  return s->g->print->thin_shared(l->kernel->one ? l->kernel->one : l->kernel);
}

/* ---- two products ---- */

static bool same_extents(const Type *a, const Type *b) {
  if (!type_same_dims(a, b)) return false;
  for (int i = 0; i < a->rank; i++)
    if (type_extent(a, i) != type_extent(b, i)) return false;
  return true;
}

/* Elements of the product's own positions read it, perhaps in another count of rows. */
static bool is_read_in_place(const Group *gr, ValueId v) {
  const Type *own = value_type(gr->e, gr->root->results[0]);
  if (!type_same_rows(value_type(gr->e, v), own)) return false;
  for (int i = 0; i < gr->nops; i++)
    for (int k = 0; k < gr->ops[i]->noperands; k++) {
      const Op *op = gr->ops[i];
      if (op->operands[k] != v) continue;
      if (op->kind == OP_RESHAPE ? !is_read_in_place(gr, op->results[0])
                                 : op_info[op->kind].cls != CLASS_ELEMENT)
        return false;
    }
  return true;
}

/* What the second product reads of the first one's results lies at the places of its own, and it
   writes over no other. */
static bool follows(const Stack *s, const Launch *first, const Launch *then) {
  const Group *a = group_of(s->g->a, s->e, first->op), *b = group_of(s->g->a, s->e, then->op);
  const Type *of_a = value_type(s->e, a->root->results[0]),
             *of_b = value_type(s->e, b->root->results[0]);
  bool reads = false;
  if (!same_extents(of_a, of_b)) return false;
  for (int i = 0; i < a->nout; i++) {
    const Address at = address_of(s->e, a->out[i]);
    bool read = false, written = false;
    if (!type_same_rows(value_type(s->e, a->out[i]), of_a)) return false;
    for (int k = 0; k < then->kernel->nargs; k++) {
      const KernelArg *arg = &then->kernel->args[k];
      if (!touches(&at, &then->args[k])) continue;
      written |= arg->access.write;
      if (arg->access.write) continue;
      if (arg->kind != ARG_VALUE || !same_place(&at, &then->args[k])) return false;
      if (value_at(s->e, arg->value)->layout || value_at(s->e, a->out[i])->layout) return false;
      for (int in = 0; in < b->nin; in++)
        if (b->in[in] == arg->value && !is_read_in_place(b, b->arg[in])) return false;
      read = true;
    }
    if (written && !read) return false;
    reads |= read;
  }
  return reads;
}

static bool may_pair(const Stack *s, uint32_t first, uint32_t then) {
  const Launch *a = &s->l->at.at[first], *b = &s->l->at.at[then];
  if (a->kernel->mixed || b->kernel->mixed || a->kernel->one || b->kernel->one) return false;
  if (!s->g->print->stack_alike(a->kernel, b->kernel) || is_written_over(s, first, then) ||
      a->kernel->nargs + b->kernel->nargs > MOST_ARGS ||
      shared_of(s, a) + shared_of(s, b) > SHARED || is_watched(s, a))
    return false;
  for (uint32_t i = first + 1; i < then; i++)
    if (!s->gone[i] && launches_conflict(a, &s->l->at.at[i])) return false;
  return follows(s, a, b);
}

/* ---- what blocks compute for themselves ---- */

/* What the launch writes; false: it is too much, or more than results. */
static bool results_of(const Launch *l, StackRows *out) {
  out->n = 0, out->bytes = 0;
  for (int i = 0; i < l->kernel->nargs; i++) {
    const KernelArg *arg = &l->kernel->args[i];
    if (!arg->access.write) continue;
    if (arg->access.read || arg->kind != ARG_VALUE || l->args[i].region == PLAN_GLOBALS)
      return false;
    if (out->n == MOST_STACK_ROWS || l->args[i].bytes > SHARED) return false;
    out->arg[out->n] = i;
    out->at[out->n++] = out->bytes;
    out->bytes += (l->args[i].bytes + STACK_ALIGN - 1) / STACK_ALIGN * STACK_ALIGN;
  }
  return out->n > 0;
}

static bool is_output(const Entry *e, const Address *at) {
  const ValueId *outputs;
  const char *const *names;
  const int n = entry_outputs(e, &outputs, &names);
  for (int i = 0; i < n; i++) {
    const Address y = address_of(e, outputs[i]);
    if (touches(at, &y)) return true;
  }
  return false;
}

/* The launch is a product of few rows, or several, and none has it as its right operand, which
   blocks ask for before it is there. */
static bool takes(const Stack *s, const Launch *l, const Address *at) {
  const Kernel *k = l->kernel, *one = k->one ? k->one : k;
  for (int i = 0; i < k->mixed; i++)
    if (!takes(s, &l->members[i], at)) return false;
  if (k->mixed) return true;
  if (!s->g->print->is_thin(one)) return false;
  const Group *gr = group_of(s->g->a, s->e, l->op);
  const int right = group_arg(gr, gr->root->operands[1]);
  for (int i = right; i < k->nargs; i += one->nargs)
    if (touches(at, &l->args[i])) return false;
  return true;
}

/* The argument of a stack is what its first product has written. */
static bool is_made_inside(const Launch *l, int k) {
  for (int i = 0; i < k && l->kernel->stacked; i++)
    if (l->kernel->args[i].access.write && touches(&l->args[i], &l->args[k])) return true;
  return false;
}

/* *reader: the one launch that reads the bytes before others are written there, all of them and
   nothing else; or NO_ID. False: there are several, or they are the entry's output. */
static bool only_reader(const Stack *s, uint32_t first, const Address *at, uint32_t *reader) {
  *reader = NO_ID;
  for (uint32_t i = first + 1; i < s->l->at.n; i++) {
    const Launch *l = &s->l->at.at[i];
    bool read = false, written = false;
    for (int k = 0; k < l->kernel->nargs && !s->gone[i]; k++) {
      if (!touches(at, &l->args[k])) continue;
      const KernelArg *arg = &l->kernel->args[k];
      if (is_made_inside(l, k)) continue;
      const bool write = arg->kind == ARG_SCRATCH || arg->access.write; /* scratch holds nothing */
      if (!write && !same_place(at, &l->args[k])) return false;
      if (write && arg->kind != ARG_SCRATCH && arg->access.read) return false;
      read |= !write && arg->access.read;
      written |= write;
    }
    if (read && (written || *reader != NO_ID)) return false;
    if (read) *reader = i;
    if (written) return true;
  }
  return !is_output(s->e, at);
}

/* The launch in front of whose work each of its blocks does that of the first; or NO_ID. rows: what
   blocks keep of it. */
static uint32_t reader_of(const Stack *s, uint32_t first, StackRows *rows) {
  const Launch *a = &s->l->at.at[first];
  const Kernel *k = a->kernel;
  const int64_t threads = k->mixed || k->one ? 0 : s->g->print->stack_threads(k);
  uint32_t then = NO_ID;
  if (!threads || !results_of(a, rows) || is_watched(s, a)) return NO_ID;
  for (int i = 0; i < rows->n; i++) {
    uint32_t reader;
    if (!only_reader(s, first, &a->args[rows->arg[i]], &reader)) return NO_ID;
    rows->read[i] = reader != NO_ID;
    if (rows->read[i] && then != NO_ID && then != reader) return NO_ID;
    if (rows->read[i]) then = reader;
  }
  if (then == NO_ID || then - first > DISTANCE) return NO_ID;
  const Launch *b = &s->l->at.at[then];
  int64_t read = 0;
  for (int i = 0; i < rows->n; i++)
    if (rows->read[i] && !takes(s, b, &a->args[rows->arg[i]])) return NO_ID;
  for (int i = 0; i < k->nargs; i++)
    if (k->args[i].access.read) read += (int64_t)a->args[i].bytes;
  const bool pays = threads <= b->kernel->block && b->kernel->grid * read <= REPEATED;
  const bool fits =
      shared_of(s, b) + (int64_t)rows->bytes <= SHARED && k->nargs + b->kernel->nargs <= MOST_ARGS;
  return pays && fits && !is_written_over(s, first, then) ? then : NO_ID;
}

/* ---- the whole ---- */

/* The number of the argument of either launch in the whole, or of what blocks keep: -1 - it. */
static int number_of(const Launch *pair, int i, int k, const StackRows *rows, int next) {
  for (int r = 0; r < rows->n; r++)
    if (i ? rows->read[r] && touches(&pair[1].args[k], &pair[0].args[rows->arg[r]])
          : k == rows->arg[r])
      return -1 - r; /* which may lie over an operand of the first */
  return next;
}

/* Launch `first` moves to `then`, which becomes both. */
static void stack(Stack *s, uint32_t first, uint32_t then, const StackRows *rows) {
  Gen *g = s->g;
  const Launch pair[2] = {s->l->at.at[first], s->l->at.at[then]};
  const Kernel *const each[2] = {pair[0].kernel, pair[1].kernel};
  Launch whole = pair[1], *members = ARENA_ARRAY(g->a, Launch, 2);
  whole.args = ARENA_ARRAY(g->a, Address, each[0]->nargs + each[1]->nargs + 1);
  whole.dead = (DeadRanges){0};
  int *arg[2], n = 0;
  for (int i = 0; i < 2; i++) {
    members[i] = pair[i];
    arg[i] = ARENA_ARRAY(g->a, int, each[i]->nargs + 1);
    for (int k = 0; k < each[i]->nargs; k++) {
      arg[i][k] = number_of(pair, i, k, rows, n);
      if (arg[i][k] >= 0) whole.args[n++] = pair[i].args[k];
    }
  }
  add_dead(s, &whole.dead, first, then);
  for (uint32_t k = 0; k < pair[1].dead.n; k++) vec_push(g->a, &whole.dead, pair[1].dead.at[k]);
  whole.flops = pair[0].flops + pair[1].flops;
  whole.bytes = pair[0].bytes + pair[1].bytes;
  whole.kernel = g->print->stack(g, each, (const int *const[]){arg[0], arg[1]}, rows);
  whole.members = members;
  s->l->at.at[then] = whole;
  s->gone[first] = true;
}

void launches_stack(Gen *g, const Entry *e, Launches *l) {
  Stack s = {.g = g, .e = e, .l = l};
  s.gone = ARENA_ARRAY(g->a, bool, l->at.n + 1);
  for (uint32_t then = 1; then < l->at.n; then++)
    for (uint32_t first = then; first-- > 0 && then - first <= DISTANCE;)
      if (!s.gone[first] && may_pair(&s, first, then)) {
        stack(&s, first, then, &(StackRows){0});
        break;
      }
  for (uint32_t first = 0; first < l->at.n; first++) {
    StackRows rows;
    const uint32_t then = s.gone[first] ? NO_ID : reader_of(&s, first, &rows);
    if (then != NO_ID) stack(&s, first, then, &rows);
  }
  uint32_t kept = 0;
  for (uint32_t i = 0; i < l->at.n; i++)
    if (!s.gone[i]) l->at.at[kept++] = l->at.at[i];
  l->at.n = kept;
}
