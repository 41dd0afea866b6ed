/* Which params quantize-weights quantizes: matrices of f32 that only products and gathers read, and
   that no entry changes. Contract: nothing is changed; a param that stays floats is remarked. */
#include "passes/simplify/quantize_weights.h"
#include "runtime/base/paths.h"

int quantize_loaded(const Entry *e, ValueId v) {
  const Op *op = value_def(e, v);
  return op && op->kind == OP_LOAD ? (int)op->attr[AT_GLOBAL].i : -1;
}

static void stays(Weight *w, const Op *op, const char *why) {
  if (!w->why) w->why = why, w->loc = op->loc;
}

static void look_at(Quantize *q, const Entry *e, const Op *op) {
  if (op->kind == OP_STORE) stays(&q->w[op->attr[AT_GLOBAL].i], op, "the program changes it");
  for (int k = 0; k < op->noperands; k++) {
    int g = quantize_loaded(e, op->operands[k]);
    Weight *w = g < 0 ? NULL : &q->w[g];
    if (!w) continue;
    bool product = op->kind == OP_MATMUL && k == 1 && value_type(e, op->operands[1])->rank == 2;
    if (product)
      w->used[op->attr[AT_TB].i != 0] = true, w->outside |= op->parent == e->body;
    else if (op->kind == OP_GATHER && k == 0 && !op->attr[AT_BATCH].i)
      w->gathered = true;
    else
      stays(w, op, "more than products and gathers read it");
  }
}

/* The elaboration leaves ops that nothing reads, such as the transpose of a product's operand. */
static void look_into(Quantize *q, const Entry *e) {
  bool *read = ARENA_ARRAY(q->r->scratch, bool, e->values.n + 1);
  for (uint32_t i = 0; i < e->ops.n; i++)
    for (int k = 0; k < op_at(e, i)->noperands; k++) read[op_at(e, i)->operands[k]] = true;
  for (uint32_t i = 0; i < e->ops.n; i++) {
    const Op *op = op_at(e, i);
    bool lives = op->nresults == 0;
    for (int k = 0; k < op->nresults; k++) lives |= read[op->results[k]];
    if (lives) look_at(q, e, op);
  }
}

const char *quantize_integers_path(const Quantize *q, const char *path) {
  return intern_printf(q->r->m->ctx, "%s.q%d", path, q->bits);
}
const char *quantize_scales_path(const Quantize *q, const char *path) {
  return intern_printf(q->r->m->ctx, "%s.scale", path);
}

static bool is_taken(Quantize *q, const char *path) {
  uint32_t at;
  return map_get(&q->r->m->by_path, path, &at);
}

static bool is_left_out(const Quantize *q, const char *path) {
  for (int i = 0; q->without[i]; i++)
    if (path_is_below(path, q->without[i])) return true;
  return false;
}

bool quantize_has_inputs(const Quantize *q, const Weight *w) {
  return (q->calibrates || q->is_static) && w->outside;
}

/* What a global becomes, if its type and its uses allow it. Vectors stay, which is not remarked. */
static void decide(Quantize *q, const Global *g, Weight *w) {
  bool used = w->used[0] || w->used[1] || w->gathered;
  if (g->kind != GLOBAL_PARAM || g->type->rank < 2) return;
  w->axis = w->used[1] || w->gathered;
  if (g->type->rank > 2)
    w->why = "it is no matrix";
  else if (g->type->dtype != DT_F32)
    w->why = "only f32 is quantized";
  else if (!w->why && !used)
    w->why = "no product and no gather reads it";
  if (!w->why && w->axis && w->used[0]) w->why = "its groups would be along both axes";
  if (!w->why && g->type->dim[w->axis] < GROUP) w->why = "its groups would be shorter than 32";
  if (!w->why &&
      (is_taken(q, quantize_integers_path(q, g->path)) ||
       is_taken(q, quantize_scales_path(q, g->path)) ||
       (quantize_has_inputs(q, w) && is_taken(q, passes_input_scale(q->r->m->ctx, g->path)))))
    w->why = "another param has the name that its integers or its scales would have";
  if (!w->why && is_left_out(q, g->path)) w->why = "without= names it";
  if (w->why)
    remark(q->r, REMARK_QUANTIZE, "quantize-missed", w->loc.line ? w->loc : g->loc,
           "%s stays %s: %s", g->path, type_str(q->r->m->ctx, g->type), w->why);
  w->quantized = !w->why;
}

void quantize_choose(Quantize *q) {
  Module *m = q->r->m;
  for (uint32_t k = 0; k < m->entries.n; k++) look_into(q, m->entries.at[k]);
  for (uint32_t i = 0; i < m->globals.n; i++) decide(q, &m->globals.at[i], &q->w[i]);
}

/* ---- arguments ---- */

const char **quantize_paths(Arena *a, const char *list) {
  const char **out = ARENA_ARRAY(a, const char *, strlen(list) + 2);
  int n = 0;
  for (size_t k; *list; list += k + (list[k] == '+')) {
    k = strcspn(list, "+");
    if (k) out[n++] = arena_printf(a, "%.*s", (int)k, list);
  }
  return out;
}

const char *passes_leaves_nothing_out(const Module *m, const char *paths) {
  const char **path = quantize_paths(ctx_arena(m->ctx), paths);
  for (; *path; path++) {
    bool any = false;
    for (uint32_t i = 0; i < m->globals.n; i++) {
      const Global *g = &m->globals.at[i];
      any |= g->kind == GLOBAL_PARAM && g->type->rank > 1 && path_is_below(g->path, *path);
    }
    if (!any) return *path;
  }
  return NULL;
}
