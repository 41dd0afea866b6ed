/* Gradients in the body of a scan. Contract: grad follows the dependence paths from x to the loss
   within the ops of its own iteration. The unrolled loop has no other path, or it is an error.
   Called for an outermost scan whose body has been read, since its carries are known then.

   A path that grad misses enters the iteration through a root: a carry, or a value from outside of
   the body. So no root other than x may depend on x: be an alias of it, or be computed from one.

   Algorithm: the query is "does q depend on x at this program point?" The answer is yes if a
   backward walk from q, over the ops of the iteration, reaches an alias of x. Otherwise a
   dependence can only have existed when the iteration began. The query is then repeated for both
   values as they are at the end of the previous iteration, and before the loop. There are finitely
   many queries; each is answered once. A walk enters nested loops and takes all their values at one
   point: it may find a path that does not exist, and never misses one. */
#include "lang/elab/elab_impl.h"
#include "lang/elab/loop/loop.h"

/* The queries about one x at one program point. */
typedef struct ProgramPoint {
  const Block *body; /* of the iteration */
  ValueId x;
  bool at_grad;               /* the point of the grad, which follows the paths through x */
  bool *alias;                /* by value: it may be an alias of x in this iteration */
  VEC(ValueId) entry_aliases; /* aliases of x that are roots */
  ValueId *root;              /* by value: the root whose query reached it; NO_ID: none */
  VEC(ValueId) worklist;      /* values with a root whose operands are not visited yet */
} ProgramPoint;

typedef struct Queries {
  const Entry *e;
  Arena *a;
  VEC(ProgramPoint *) points;
} Queries;

/* The value exists before the body's ops run: an argument of it, or a value from outside. */
static bool is_root(const Entry *en, ValueId v, const Block *body) {
  const Block *b = value_block(en, v);
  if (b == body) return !value_def(en, v);
  while (b && b != body) b = b->op ? b->op->parent : NULL;
  return !b;
}

/* The value of a block's argument in the next iteration; other values do not change. */
static ValueId at_end(const Entry *en, const Block *b, ValueId v) {
  if (value_def(en, v) || value_block(en, v) != b) return v;
  return scan_end(en, b->op)->operands[value_at(en, v)->index - 1]; /* the counter comes first */
}

static ValueId before_loop(const Entry *en, const Block *b, ValueId v) {
  if (value_def(en, v) || value_block(en, v) != b) return v;
  return b->op->operands[value_at(en, v)->index - 1];
}

/* The values that v, which the iteration computes, may alias: writes at most two. A carry is its
   value before the loop or that of an iteration; the result of a loop is a carry's last value. */
static int aliases_of(const Entry *en, ValueId v, ValueId out[2]) {
  const Op *op = value_def(en, v);
  uint32_t k = value_at(en, v)->index;
  if (!op) {
    out[0] = before_loop(en, value_block(en, v), v);
    out[1] = at_end(en, value_block(en, v), v);
    return 2;
  }
  if (op->kind == OP_SCAN && k < (uint32_t)scan_carries(op))
    out[0] = scan_end(en, op)->operands[k];
  else if (op->kind == OP_COPY)
    out[0] = op->operands[0];
  else
    return 0;
  return 1;
}

static void find_aliases(Queries *w, ProgramPoint *m) {
  VEC(ValueId) worklist = {0};
  ValueId of[2];
  m->alias[m->x] = true;
  vec_push(w->a, &worklist, m->x);
  while (worklist.n > 0) {
    ValueId v = worklist.at[--worklist.n];
    if (is_root(w->e, v, m->body)) {
      vec_push(w->a, &m->entry_aliases, v);
      continue;
    }
    for (int k = aliases_of(w->e, v, of) - 1; k >= 0; k--) {
      if (m->alias[of[k]]) continue;
      m->alias[of[k]] = true;
      vec_push(w->a, &worklist, of[k]);
    }
  }
}

static ProgramPoint *point_of(Queries *w, const Block *body, ValueId x, bool at_grad) {
  for (uint32_t i = 0; i < w->points.n; i++) {
    ProgramPoint *m = w->points.at[i];
    if (m->body == body && m->x == x && m->at_grad == at_grad) return m;
  }
  ProgramPoint *m = ARENA_NEW(w->a, ProgramPoint);
  *m = (ProgramPoint){.body = body, .x = x, .at_grad = at_grad};
  m->alias = ARENA_ARRAY(w->a, bool, w->e->values.n);
  m->root = ARENA_ARRAY(w->a, ValueId, w->e->values.n);
  for (ValueId v = 0; v < w->e->values.n; v++) m->root[v] = NO_ID;
  find_aliases(w, m);
  vec_push(w->a, &w->points, m);
  return m;
}

static void add_query(Queries *w, ProgramPoint *m, ValueId q, ValueId root) {
  if (m->root[q] != NO_ID || !dtype_is_float(value_type(w->e, q)->dtype)) return;
  m->root[q] = root;
  vec_push(w->a, &m->worklist, q);
}

/* One step of the backward walk, from v, which the iteration computes. */
static void query_operands(Queries *w, ProgramPoint *m, ValueId v, ValueId root) {
  const Op *op = value_def(w->e, v);
  ValueId of[2];
  if (!op || op->kind == OP_SCAN) {
    if (op) {
      add_query(w, m, scan_end(w->e, op)->operands[value_at(w->e, v)->index], root);
      return;
    }
    for (int k = aliases_of(w->e, v, of) - 1; k >= 0; k--) add_query(w, m, of[k], root);
  } else if (op_info[op->kind].grad || op->kind == OP_GRAD) {
    for (int k = 0; k < op->noperands; k++) add_query(w, m, op->operands[k], root);
  }
}

/* Both x and q are roots: asks at the end of the previous iteration, and before the loop. */
static void query_earlier_points(Queries *w, const ProgramPoint *m, ValueId x, ValueId q,
                                 ValueId root) {
  const Block *b = m->body;
  if (!b->op) return;
  add_query(w, point_of(w, b, at_end(w->e, b, x), false), at_end(w->e, b, q), root);
  add_query(w, point_of(w, b->op->parent, before_loop(w->e, b, x), false), before_loop(w->e, b, q),
            root);
}

/* The root of a query whose answer is yes; NO_ID if this point has none. */
static ValueId dependent_root_at(Queries *w, ProgramPoint *m) {
  while (m->worklist.n > 0) {
    ValueId v = m->worklist.at[--m->worklist.n], root = m->root[v];
    if (m->at_grad && v == m->x) continue;
    if (m->at_grad) root = v;
    if (m->alias[v]) return root;
    if (!is_root(w->e, v, m->body))
      query_operands(w, m, v, root);
    else
      for (uint32_t i = 0; i < m->entry_aliases.n; i++)
        query_earlier_points(w, m, m->entry_aliases.at[i], v, root);
  }
  return NO_ID;
}

/* Answers all queries, until one is answered by yes. */
static ValueId dependent_root(Queries *w) {
  for (bool any = true; any;) {
    any = false;
    for (uint32_t i = 0; i < w->points.n; i++) {
      ProgramPoint *m = w->points.at[i];
      any |= m->worklist.n > 0;
      ValueId root = dependent_root_at(w, m);
      if (root != NO_ID) return root;
    }
  }
  return NO_ID;
}

/* ---- messages ---- */

static const char *quoted(Elab *e, ValueId v, const char *otherwise) {
  const Entry *en = e->run->entry;
  const char *name = value_at(en, v)->name;
  const Op *op = value_def(en, v);
  if (!name && op && op->kind == OP_LOAD) name = e->m->globals.at[op->attr[AT_GLOBAL].i].path;
  return name ? intern_printf(e->c, "'%s'", name) : otherwise;
}

static void report_missed_path(Elab *e, const Op *grad, ValueId x, ValueId root) {
  const Entry *en = e->run->entry;
  const char *name = value_at(en, root)->name;
  bool first = root == before_loop(en, grad->parent, x) && name == value_at(en, x)->name;
  elab_error(
      e, grad->loc,
      "grad in a scan differentiates through the current iteration only, but the loss may "
      "depend on %s through %s",
      quoted(e, x, "it"),
      first ? "its value before the scan"
            : intern_printf(e->c, "%s, which is computed before it", quoted(e, root, "a value")));
  elab_hint(e, "stop_gradient(%s) excludes that path; an unrolled for includes it",
            name && !first ? name : "…");
  elab_trace(e);
}

static void check_operand(Elab *e, const Op *grad, int k) {
  ValueId x = grad->operands[k];
  Queries w = {.e = e->run->entry, .a = arena_new()};
  ProgramPoint *m = point_of(&w, grad->parent, x, true);
  add_query(&w, m, grad->operands[0], grad->operands[0]);
  ValueId root = dependent_root(&w);
  bool depends = m->root[x] != NO_ID;
  arena_free(w.a);
  if (root != NO_ID)
    report_missed_path(e, grad, x, root);
  else if (!depends)
    diag(e->c, SEV_WARNING, grad->loc,
         "the first argument does not depend on this%s: its gradient is zero",
         grad->noperands > 2 ? intern_printf(e->c, " (number %d of the list)", k) : "");
}

/* ---- all grads of a scan ---- */

static void replace_uses(const Entry *en, const Block *b, ValueId from, ValueId to) {
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(en, b->ops.at[i]);
    ValueId *x = (ValueId *)op->operands; /* of an op that was built here */
    for (int k = 0; k < op->noperands; k++)
      if (x[k] == from && op != value_def(en, to)) x[k] = to;
    for (int k = 0; k < op->nblocks; k++) replace_uses(en, op->blocks[k], from, to);
  }
}

/* Two captures of one value from outside share one copy of it in the body. */
static void merge_copies(const Entry *en, const Block *b) {
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(en, b->ops.at[i]);
    if (op->kind != OP_COPY) continue;
    if (is_root(en, op->operands[0], b))
      replace_uses(en, b, op->operands[0], op->results[0]);
    else
      replace_uses(en, b, op->results[0], op->operands[0]);
  }
}

void grad_check_scan(Elab *e, const Op *scan) {
  const Entry *en = e->run->entry;
  const Block *b = scan->blocks[0];
  merge_copies(en, b);
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(en, b->ops.at[i]);
    for (int k = 1; op->kind == OP_GRAD && k < op->noperands; k++) check_operand(e, op, k);
    if (op->kind == OP_SCAN) grad_check_scan(e, op);
  }
}

/* ---- grads after a scan ---- */

/* Results of one scan are different values, though the loop may compute one from another. If the
   last iteration left x unchanged, a root of that iteration may depend on x as well. */
bool grad_check_result(Elab *e, ValueId loss, const bool *reach, ValueId x, Loc loc) {
  const Entry *en = e->run->entry;
  const Op *scan = value_def(en, x);
  uint32_t at = value_at(en, x)->index;
  if (!scan || scan->kind != OP_SCAN || at >= (uint32_t)scan_carries(scan)) return true;
  const Op *yield = scan_end(en, scan);
  Queries w = {.e = en, .a = arena_new()};
  ProgramPoint *last = point_of(&w, scan->blocks[0], yield->operands[at], false);
  for (int k = 0; k < scan->nresults; k++)
    if (k != (int)at && reach[scan->results[k]])
      add_query(&w, last, yield->operands[k], scan->results[k]);
  if (last->entry_aliases.n > 0)
    add_query(&w, point_of(&w, value_block(en, x), x, true), loss, loss);
  ValueId other = dependent_root(&w);
  arena_free(w.a);
  if (other == NO_ID) return true;
  const char *name = value_at(en, other)->name;
  bool made = value_def(en, other) == scan;
  elab_error(e, loc,
             "grad differentiates through the ops after a scan only, but the loss %s on %s through "
             "%s, which %s",
             made ? "depends" : "may depend", quoted(e, x, "a carried value"),
             quoted(e, other, made ? "a result of the scan" : "a value"),
             made ? "the last iteration computes from it"
                  : "may be equal to it or computed from it");
  elab_hint(e, "stop_gradient(%s) excludes that path; an unrolled for includes it",
            name ? name : "…");
  (void)elab_trace(e);
  return false;
}
