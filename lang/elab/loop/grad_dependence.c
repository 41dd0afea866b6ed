/* Gradients in the bodies of scans. Contract: a grad counts the ways from x to the loss in the ops
   of its own iteration. Those are all that the unrolled loop has, or it is an error. Called for an
   outermost scan that is read to its end, when what each loop carries is known.

   The unrolled loop counts each way that begins at the value that x has, by whatever name. A way
   that the grad leaves out comes to the iteration by something that is older than it, a leaf: a
   carry, or a value from outside. So no leaf but x may know x, that is, be the same value or hold
   what that value has flowed into.

   Algorithm: "does q know x, at one moment of an iteration?" It does if a walk back from q, in the
   ops of the iteration, comes to a name of x. If not, what q knows of x it knew as the iteration
   began, and then x was there too. So the same is asked of what both were at the end of the
   iteration before, and of what they were before the loop. There are finitely many such questions;
   each is asked once. Walks go round the loops inside of the iteration and take all their values
   for those of one moment: that may see a way that is none, and never overlooks one. */
#include "lang/elab/elab_impl.h"
#include "lang/elab/loop/loop.h"

/* What is asked at one moment: who knows x? */
typedef struct ProgramPoint {
  const Block *body; /* of the iteration */
  ValueId x;
  bool counts;        /* it is the moment of the grad, which counts the ways through x */
  bool *name;         /* by value: in this iteration it may be another name of x */
  VEC(ValueId) older; /* names of x as the iteration begins */
  ValueId *leaf;      /* by value: the leaf it came from, of what is asked; NO_ID: none */
  VEC(ValueId) todo;  /* values with a leaf that are to be looked at */
} ProgramPoint;

typedef struct DependencePaths {
  const Entry *e;
  Arena *a;
  VEC(ProgramPoint *) points;
} DependencePaths;

/* The iteration of the block finds it there. */
static bool is_older(const Entry *en, ValueId v, const Block *body) {
  const Block *b = value_block(en, v);
  if (b == body) return !value_def(en, v);
  while (b && b != body) b = b->op ? b->op->parent : NULL;
  return !b;
}

/* What a block's argument is at the end of an iteration, which is what it is in the next; others
   stay what they are. */
static ValueId at_end(const Entry *en, const Block *b, ValueId v) {
  if (value_def(en, v) || value_block(en, v) != b) return v;
  return scan_end(en, b->op)->operands[value_at(en, v)->index - 1]; /* the counter comes first */
}

static ValueId before_loop(const Entry *en, const Block *b, ValueId v) {
  if (value_def(en, v) || value_block(en, v) != b) return v;
  return b->op->operands[value_at(en, v)->index - 1];
}

/* What v, which the iteration makes, is another name of: writes at most two. Results of loops are
   carries' last values; those are what they were before, or what an iteration makes of them. */
static int names_of(const Entry *en, ValueId v, ValueId out[2]) {
  const Op *op = value_def(en, v);
  uint32_t k = value_at(en, v)->index;
  if (!op) {
    out[0] = before_loop(en, value_block(en, v), v);
    out[1] = at_end(en, value_block(en, v), v);
    return 2;
  }
  if (op->kind == OP_SCAN && k < (uint32_t)op->attr[AT_CARRIES].i)
    out[0] = scan_end(en, op)->operands[k];
  else if (op->kind == OP_COPY)
    out[0] = op->operands[0];
  else
    return 0;
  return 1;
}

static void find_names(DependencePaths *w, ProgramPoint *m) {
  VEC(ValueId) todo = {0};
  ValueId of[2];
  m->name[m->x] = true;
  vec_push(w->a, &todo, m->x);
  while (todo.n > 0) {
    ValueId v = todo.at[--todo.n];
    if (is_older(w->e, v, m->body)) {
      vec_push(w->a, &m->older, v);
      continue;
    }
    for (int k = names_of(w->e, v, of) - 1; k >= 0; k--) {
      if (m->name[of[k]]) continue;
      m->name[of[k]] = true;
      vec_push(w->a, &todo, of[k]);
    }
  }
}

static ProgramPoint *point_of(DependencePaths *w, const Block *body, ValueId x, bool counts) {
  for (uint32_t i = 0; i < w->points.n; i++) {
    ProgramPoint *m = w->points.at[i];
    if (m->body == body && m->x == x && m->counts == counts) return m;
  }
  ProgramPoint *m = ARENA_NEW(w->a, ProgramPoint);
  *m = (ProgramPoint){.body = body, .x = x, .counts = counts};
  m->name = ARENA_ARRAY(w->a, bool, w->e->values.n);
  m->leaf = ARENA_ARRAY(w->a, ValueId, w->e->values.n);
  for (ValueId v = 0; v < w->e->values.n; v++) m->leaf[v] = NO_ID;
  find_names(w, m);
  vec_push(w->a, &w->points, m);
  return m;
}

static void ask(DependencePaths *w, ProgramPoint *m, ValueId q, ValueId leaf) {
  if (m->leaf[q] != NO_ID || !dtype_is_float(value_type(w->e, q)->dtype)) return;
  m->leaf[q] = leaf;
  vec_push(w->a, &m->todo, q);
}

/* What flows into v, which the iteration makes. */
static void ask_back(DependencePaths *w, ProgramPoint *m, ValueId v, ValueId leaf) {
  const Op *op = value_def(w->e, v);
  ValueId of[2];
  if (!op || op->kind == OP_SCAN) {
    if (op) {
      ask(w, m, scan_end(w->e, op)->operands[value_at(w->e, v)->index], leaf);
      return;
    }
    for (int k = names_of(w->e, v, of) - 1; k >= 0; k--) ask(w, m, of[k], leaf);
  } else if (op_info[op->kind].grad || op->kind == OP_GRAD) {
    for (int k = 0; k < op->noperands; k++) ask(w, m, op->operands[k], leaf);
  }
}

/* Neither x nor q is of this iteration. */
static void ask_earlier(DependencePaths *w, const ProgramPoint *m, ValueId x, ValueId q,
                        ValueId leaf) {
  const Block *b = m->body;
  if (!b->op) return;
  ask(w, point_of(w, b, at_end(w->e, b, x), false), at_end(w->e, b, q), leaf);
  ask(w, point_of(w, b->op->parent, before_loop(w->e, b, x), false), before_loop(w->e, b, q), leaf);
}

/* The leaf by which x is known; NO_ID: by none. */
static ValueId answer(DependencePaths *w, ProgramPoint *m) {
  while (m->todo.n > 0) {
    ValueId v = m->todo.at[--m->todo.n], leaf = m->leaf[v];
    if (m->counts && v == m->x) continue;
    if (m->counts) leaf = v;
    if (m->name[v]) return leaf;
    if (!is_older(w->e, v, m->body))
      ask_back(w, m, v, leaf);
    else
      for (uint32_t i = 0; i < m->older.n; i++) ask_earlier(w, m, m->older.at[i], v, leaf);
  }
  return NO_ID;
}

static ValueId find(DependencePaths *w) {
  for (bool any = true; any;) {
    any = false;
    for (uint32_t i = 0; i < w->points.n; i++) {
      ProgramPoint *m = w->points.at[i];
      any |= m->todo.n > 0;
      ValueId leaf = answer(w, m);
      if (leaf != NO_ID) return leaf;
    }
  }
  return NO_ID;
}

/* ---- what is said ---- */

static const char *quoted(Elab *e, ValueId v, const char *otherwise) {
  const Entry *en = e->run->entry;
  const char *name = value_at(en, v)->name;
  const Op *op = value_def(en, v);
  if (!name && op && op->kind == OP_LOAD) name = e->m->globals.at[op->attr[AT_GLOBAL].i].path;
  return name ? intern_printf(e->c, "'%s'", name) : otherwise;
}

static void refuse(Elab *e, const Op *grad, ValueId x, ValueId leaf) {
  const Entry *en = e->run->entry;
  const char *name = value_at(en, leaf)->name;
  bool first = leaf == before_loop(en, grad->parent, x) && name == value_at(en, x)->name;
  elab_error(e, grad->loc,
             "grad in a scan counts what the iteration computes: the loss may depend on %s also by "
             "way of %s",
             quoted(e, x, "it"),
             first ? "its value before the scan"
                   : intern_printf(e->c, "%s, which is older", quoted(e, leaf, "a value")));
  elab_hint(e, "stop_gradient(%s) leaves that way out; a for, which is unrolled, counts it",
            name && !first ? name : "…");
  elab_trace(e);
}

static void check_by(Elab *e, const Op *grad, int k) {
  ValueId x = grad->operands[k];
  DependencePaths w = {.e = e->run->entry, .a = arena_new()};
  ProgramPoint *m = point_of(&w, grad->parent, x, true);
  ask(&w, m, grad->operands[0], grad->operands[0]);
  ValueId leaf = find(&w);
  bool counted = m->leaf[x] != NO_ID;
  arena_free(w.a);
  if (leaf != NO_ID)
    refuse(e, grad, x, leaf);
  else if (!counted)
    diag(e->c, SEV_WARNING, grad->loc,
         "the first argument does not depend on this%s: its gradient is zero",
         grad->noperands > 2 ? intern_printf(e->c, " (number %d of the list)", k) : "");
}

/* ---- the whole ---- */

static void read_as(const Entry *en, const Block *b, ValueId from, ValueId to) {
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(en, b->ops.at[i]);
    ValueId *x = (ValueId *)op->operands; /* of an op that was built here */
    for (int k = 0; k < op->noperands; k++)
      if (x[k] == from && op != value_def(en, to)) x[k] = to;
    for (int k = 0; k < op->nblocks; k++) read_as(en, op->blocks[k], from, to);
  }
}

/* Names that turned out to be of one value from outside have one copy of it in the body. */
static void unite_copies(const Entry *en, const Block *b) {
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(en, b->ops.at[i]);
    if (op->kind != OP_COPY) continue;
    if (is_older(en, op->operands[0], b))
      read_as(en, b, op->operands[0], op->results[0]);
    else
      read_as(en, b, op->results[0], op->operands[0]);
  }
}

void grad_check_scan(Elab *e, const Op *scan) {
  const Entry *en = e->run->entry;
  const Block *b = scan->blocks[0];
  unite_copies(en, b);
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(en, b->ops.at[i]);
    for (int k = 1; op->kind == OP_GRAD && k < op->noperands; k++) check_by(e, op, k);
    if (op->kind == OP_SCAN) grad_check_scan(e, op);
  }
}

/* ---- behind a scan ---- */

/* Results of one scan are apart, though the loop may have made one of another; and if the last
   iteration only took x over, what is older than that iteration may know it as well. */
bool grad_check_result(Elab *e, ValueId loss, const bool *reach, ValueId x, Loc loc) {
  const Entry *en = e->run->entry;
  const Op *scan = value_def(en, x);
  uint32_t at = value_at(en, x)->index;
  if (!scan || scan->kind != OP_SCAN || at >= (uint32_t)scan->attr[AT_CARRIES].i) return true;
  const Op *yield = scan_end(en, scan);
  DependencePaths w = {.e = en, .a = arena_new()};
  ProgramPoint *last = point_of(&w, scan->blocks[0], yield->operands[at], false);
  for (int k = 0; k < scan->nresults; k++)
    if (k != (int)at && reach[scan->results[k]])
      ask(&w, last, yield->operands[k], scan->results[k]);
  if (last->older.n > 0) ask(&w, point_of(&w, value_block(en, x), x, true), loss, loss);
  ValueId other = find(&w);
  arena_free(w.a);
  if (other == NO_ID) return true;
  const char *name = value_at(en, other)->name;
  bool made = value_def(en, other) == scan;
  elab_error(e, loc,
             "grad counts what follows a scan: the loss %s on %s also by way of %s, which %s",
             made ? "depends" : "may depend", quoted(e, x, "what is carried"),
             quoted(e, other, made ? "what is yielded" : "a value"),
             made ? "the last iteration made of it" : "may be the same value or made of it");
  elab_hint(e, "stop_gradient(%s) leaves that way out; a for, which is unrolled, counts it",
            name ? name : "…");
  (void)elab_trace(e);
  return false;
}
