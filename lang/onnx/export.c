/* Export: an inference entry becomes a graph of ONNX. Params, states and hypers become initializers
   under their paths; a hyper is also an input, which has the initializer as its default. What the
   entry assigns is an input, and its new value an output PATH.next.
   Contract: see export.h. A constant or broadcast becomes a node where one asks for all of its
   elements; element-wise operators read the small tensor, since ONNX broadcasts. All ops without a
   counterpart are found before the one error that lists them. */
#include "lang/onnx/export.h"

#include <stdlib.h>

/* ---- which entry ---- */

static Entry *wanted_entry(Module *m, const char *name) {
  Entry *found = NULL;
  const char *list = "";
  int n = 0;
  for (uint32_t i = 0; i < m->entries.n; i++) {
    Entry *e = m->entries.at[i];
    bool by_name = strcmp(e->name, name ? name : "predict") == 0;
    if (by_name && !e->training) return e;
    if (by_name && name) {
      diag(m->ctx, SEV_ERROR, e->loc, "the entry %s trains; ONNX holds inference", name);
      return NULL;
    }
    if (e->training) continue;
    found = e;
    list = arena_printf(m->arena, "%s%s%s", list, n++ ? ", " : "", e->name);
  }
  if (!name && n == 1) return found;
  if (name)
    diag(m->ctx, SEV_ERROR, (Loc){0}, "%s has no entry %s%s%s", m->source, name,
         n ? "; for inference it has: " : "", list);
  else if (n)
    diag(m->ctx, SEV_ERROR, (Loc){0}, "%s has several entries for inference: name one of %s",
         m->source, list);
  else
    diag(m->ctx, SEV_ERROR, (Loc){0}, "%s has no entry for inference: all of them train",
         m->source);
  return NULL;
}

/* ---- the table ---- */

static const struct {
  ExportFn *fn;
  const char *onnx;
} rows[OP_KINDS] = {
#define EXPORT(kind, fn, onnx) [OP_##kind] = {fn, onnx},
#include "lang/onnx/export.def"
#undef EXPORT
};

static const char *why_missing(OpKind k) {
  switch ((int)k) {
  case OP_RANDOM_UNIFORM:
  case OP_RANDOM_NORMAL:
  case OP_DROPOUT: return "random numbers, which are a function of seed and position";
  case OP_GRAD: return "gradients";
  default: return "no operator of ONNX computes it";
  }
}

const char *without_counterpart(Export *x, const Op *op, const char *why) {
  for (uint32_t i = 0; i < x->missing.n; i++)
    if (x->missing.at[i].kind == op->kind && strcmp(x->missing.at[i].why, why) == 0)
      return x->missing.at[i].count++, NULL;
  vec_push(x->a, &x->missing, (Missing){op->kind, why, op->loc, 1});
  return NULL;
}

static bool report_missing(Export *x) {
  int n = 0;
  if (!x->missing.n) return true;
  for (uint32_t i = 0; i < x->missing.n; i++) n += x->missing.at[i].count;
  diag(x->c, SEV_ERROR, x->e->loc, "%d op%s of the entry %s ha%s no counterpart in ONNX", n,
       n == 1 ? "" : "s", x->e->name, n == 1 ? "s" : "ve");
  for (uint32_t i = 0; i < x->missing.n; i++) {
    const Missing *m = &x->missing.at[i];
    diag(x->c, SEV_NOTE, m->first, "%d x %s: %s", m->count, op_info[m->kind].name, m->why);
  }
  return false;
}

/* ---- values ---- */

/* Constants and broadcasts become nodes once all of their elements are read. */
static bool is_lazy(const Op *op) { return op->kind == OP_CONST || op->kind == OP_BROADCAST; }

const char *value_of(Export *x, ValueId v) {
  if (x->name[v]) return x->name[v];
  const Op *def = value_def(x->e, v);
  const Type *t = value_type(x->e, v);
  if (!def || !is_lazy(def)) gc_bug(x->c, "%s is read before it is made", value_str(x->e, v));
  bool number = def->kind == OP_CONST;
  const char *from = number ? scalar(x, t->dtype, def->attr[AT_VALUE]) : operand_of(x, def, 0);
  x->name[v] = number && t->rank == 0 ? from : expand_to(x, from, t);
  x->last = NULL; /* it keeps its name */
  return x->name[v];
}

void result_is(Export *x, const Op *op, int i, const char *name) { x->name[op->results[i]] = name; }

/* The result's own name in place of the node's; an output of the graph is a node's in any case. */
static const char *named(Export *x, ValueId v, const char *made) {
  const char *want = x->wanted[v];
  bool own = x->last && x->last->output[0] == made;
  if (!want && own && value_at(x->e, v)->name) want = unique_name(x, value_at(x->e, v)->name);
  if (!want) return made;
  if (!own) made = EMIT(x, "Identity", made);
  return x->last->output[0] = (char *)want;
}

static void op_export(Export *x, const Op *op) {
  if (is_lazy(op) && (!x->wanted[op->results[0]])) return;
  x->op = op, x->last = NULL;
  const char *made = is_lazy(op)         ? value_of(x, op->results[0])
                     : rows[op->kind].fn ? rows[op->kind].fn(x, op, rows[op->kind].onnx)
                                         : without_counterpart(x, op, why_missing(op->kind));
  if (made && op->nresults) x->name[op->results[0]] = named(x, op->results[0], made);
  for (int i = 0; i < op->nresults; i++) { /* of what is missing, for what reads it */
    ValueId r = op->results[i];
    if (!x->name[r])
      x->name[r] = "?";
    else if (i && x->wanted[r]) {
      x->name[r] = EMIT(x, "Identity", x->name[r]);
      x->last->output[0] = (char *)(x->name[r] = x->wanted[r]);
    }
  }
}

static void output_add(Export *x, ValueId v, const char *name) {
  const char *from = value_of(x, v);
  if (from != name) {
    EMIT(x, "Identity", from);
    x->last->output[0] = (char *)name;
  }
  vec_push(x->a, &x->outputs, (ExportValue){name, value_type(x->e, v)});
}

void ops_export(Export *x, const Block *b) {
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(x->e, b->ops.at[i]);
    if (op->kind != OP_RETURN && op->kind != OP_YIELD && op->kind != OP_STORE) op_export(x, op);
  }
}

/* ---- inputs and outputs ---- */

static void input_add(Export *x, const char *name, const Type *t) {
  vec_push(x->a, &x->inputs, (ExportValue){name, t});
}

/* Names of what users see come first, as they are. */
static void names_take(Export *x, bool *assigned) {
  const ValueId *out;
  const char *const *names;
  const Block *b = x->e->body;
  bool *read = ARENA_ARRAY(x->a, bool, x->m->globals.n + 1);
  for (uint32_t i = 0; i < x->e->ops.n; i++) {
    const Op *op = x->e->ops.at[i];
    if (op->kind == OP_LOAD) read[op->attr[AT_GLOBAL].i] = true;
    if (op->kind == OP_STORE) assigned[op->attr[AT_GLOBAL].i] = true;
    for (int k = 0; k < op->noperands; k++) x->uses[op->operands[k]]++;
  }
  for (uint32_t i = 0; i < b->args.n; i++) {
    const Value *v = value_at(x->e, b->args.at[i]);
    input_add(x, x->name[b->args.at[i]] = unique_name(x, v->name), v->type);
  }
  int n = entry_outputs(x->e, &out, &names);
  for (int i = 0; i < n; i++) {
    const char *name = unique_name(x, names[i]);
    vec_push(x->a, &x->outputs, (ExportValue){name, value_type(x->e, out[i])});
    const Op *def = value_def(x->e, out[i]);
    if (def && def->parent == b && !x->wanted[out[i]]) x->wanted[out[i]] = name;
  }
  for (uint32_t i = 0; i < x->m->globals.n; i++) {
    const Global *g = &x->m->globals.at[i];
    if (!read[i]) continue;
    x->of_global[i] = unique_name(x, g->path);
    if (assigned[i] || g->kind == GLOBAL_HYPER) input_add(x, x->of_global[i], g->type);
    if (!assigned[i]) vec_push(x->a, &x->initializers, (Initializer){x->of_global[i], (int)i});
  }
}

static void outputs_add(Export *x) {
  const ValueId *out;
  const char *const *names;
  x->op = NULL;
  uint32_t n = (uint32_t)entry_outputs(x->e, &out, &names);
  ExportValues all = x->outputs;
  x->outputs = (ExportValues){0};
  for (uint32_t i = 0; i < n; i++) output_add(x, out[i], all.at[i].name);
  const Block *b = x->e->body;
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(x->e, b->ops.at[i]);
    if (op->kind != OP_STORE) continue;
    const char *path = x->m->globals.at[op->attr[AT_GLOBAL].i].path;
    output_add(x, op->operands[0], unique_name(x, arena_printf(x->a, "%s.next", path)));
  }
}

/* From an axis of an input, which has so many times the extent, and more. */
static const char *extent_of_axis(Export *x, const char *input, int d, int64_t axis) {
  int64_t of = axis, more = 0;
  axis_is_more(x->c, axis, &of, &more);
  const char *list = EMIT(x, "Shape", input);
  put_int(x, "start", d);
  put_int(x, "end", d + 1);
  if (more) list = EMIT(x, "Sub", list, one_int(x, more));
  const int64_t times = axis_multiple(of);
  return times == 1 ? list : EMIT(x, "Div", list, one_int(x, times));
}

/* From the first input that has each of them. */
static void extents_add(Export *x) {
  const Extent *extent[ENTRY_EXTENTS];
  int n = entry_extents(x->e, extent);
  x->nodes = &x->extents;
  for (int k = 0; k < n; k++)
    for (uint32_t i = 0; i < x->e->body->args.n && !x->extent[k]; i++) {
      ValueId v = x->e->body->args.at[i];
      const Type *t = value_type(x->e, v);
      for (int d = 0; d < t->rank && !x->extent[k]; d++) {
        const Extent *own = type_extent(t, d);
        if (own && own->whole) own = axis_extent(x->c, own->whole);
        if (own == extent[k]) x->extent[k] = extent_of_axis(x, x->name[v], d, type_axis(t, d));
      }
    }
  x->nodes = &x->top;
}

/* ---- all ---- */

static void copy(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  build_copy(b, old, op, map);
}

OnnxExport *onnx_export(Module *m, const char *entry, const OnnxWeights *weights) {
  Entry *e = wanted_entry(m, entry);
  if (!e) return NULL;
  entry_rebuild(e, copy, NULL, true, true);
  Export *x = ARENA_NEW(m->arena, Export);
  *x = (Export){.c = m->ctx, .a = m->arena, .m = m, .e = e, .weights = weights};
  x->name = ARENA_ARRAY(x->a, const char *, e->values.n + 1);
  x->wanted = ARENA_ARRAY(x->a, const char *, e->values.n + 1);
  x->uses = ARENA_ARRAY(x->a, uint32_t, e->values.n + 1);
  x->of_global = ARENA_ARRAY(x->a, const char *, m->globals.n + 1);
  x->nodes = &x->top;
  names_take(x, ARENA_ARRAY(x->a, bool, m->globals.n + 1));
  extents_add(x);
  ops_export(x, e->body);
  if (!report_missing(x)) return NULL;
  outputs_add(x);
  return x;
}
