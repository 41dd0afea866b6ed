/* Quantization of weights: params of an inference program that only products and gathers read
   become integers of 8 or 4 bits and a scale for each group along the depth of the products. With
   activations=8 or 16 these products quantize their left operand as they run, each group of a row
   by its own scale, so that nothing is to be calibrated; else they read it as floats. 16 bits are
   there for speed alone: where the target does not multiply the integers, they stay floats.
   Contract: runs first. States of optimizers and hypers that no entry reads are left out. A param
   `w` is replaced by `w.q8` or `w.q4` and `w.scale`. An entry reads dequantize of both, which
   products absorb; init quantizes the initial value; the runtime quantizes floats that it loads.
   Params that an entry stores or that anything else reads stay floats: the remark says why. With
   errors=1 all params stay floats, and an entry computes both forms of each product: its outputs
   are the errors, on the data that it runs on. With calibrate=1 they stay floats, too, and entries
   store the scales that activations need; static=1 quantizes these by such scales, but in loops. */
#include "passes/simplify/quantize_weights.h"
#include <stdlib.h>

/* ---- the globals ---- */

/* ", relative error 0.4 %": of the elements in the file of --weights, if it has them. */
static const char *error_text(Quantize *q, const Global *g, const QuantizedGlobal *of) {
  const PassOptions *o = q->r->opt;
  float *x = o->floats && o->remarks & REMARK_QUANTIZE ? o->floats(o->floats_data, g) : NULL;
  if (!x) return "";
  const char *text =
      intern_printf(q->r->m->ctx, ", relative error %.3g %%", 100 * quantized_error(of, x));
  free(x);
  return text;
}

static void change_global(Quantize *q, Weight *w, int index) {
  Module *m = q->r->m;
  Ctx *c = m->ctx;
  Global *g = &m->globals.at[index], scale = *g;
  int64_t n = g->type->dim[w->axis], per = 8 / q->bits;
  w->type = g->type;
  const Global before = *g;
  QuantizedGlobal *of = ARENA_NEW(m->arena, QuantizedGlobal), *scales;
  *of = (QuantizedGlobal){g->path, g->type, w->axis, q->bits, GROUP, false};
  scales = ARENA_NEW(m->arena, QuantizedGlobal);
  *scales = *of;
  scales->scales = true;
  g->quantized = of;
  g->path = quantize_integers_path(q, of->path);
  g->type = type_with_extent(c, type_with_dtype(c, g->type, q->bits == 8 ? DT_I8 : DT_U8), w->axis,
                             (n + per - 1) / per);
  map_put(m->arena, &m->by_path, g->path, (uint32_t)index);
  scale.quantized = scales;
  scale.path = quantize_scales_path(q, of->path);
  scale.type =
      type_with_extent(c, type_with_dtype(c, w->type, DT_BF16), w->axis, (n + GROUP - 1) / GROUP);
  uint64_t bytes = g->type->bytes + scale.type->bytes;
  remark(q->r, REMARK_QUANTIZE, "quantize", g->loc, "%s is %s with scales: %llu bytes of %llu%s",
         of->path, type_str(c, g->type), (unsigned long long)bytes,
         (unsigned long long)w->type->bytes, error_text(q, &before, of));
  w->scale = module_add_global(m, scale);
}

/* The params that products multiply by need these scales from a file: those are no states. */
static void add_input_scales(Quantize *q, Weight *w, int index) {
  Module *m = q->r->m;
  Global g = m->globals.at[index];
  if (!quantize_has_inputs(q, w)) return;
  g.kind = q->calibrates ? GLOBAL_STATE : GLOBAL_PARAM;
  g.type = input_scale_type(m->ctx, g.type->dim[w->axis]);
  g.path = passes_input_scale(m->ctx, g.path);
  g.origin = (GlobalOrigin){0}, g.weights_at = 0;
  w->input_scale = module_add_global(m, g);
}

/* Errors are those of weights, which gc has of a file or a model alone: initial values that a run
   draws tell nothing about trained ones. */
static void remark_errors(Quantize *q) {
  if (q->r->opt->floats || q->measures || q->calibrates || !q->r->changes) return;
  remark(q->r, REMARK_QUANTIZE, "quantize", (Loc){0},
         "no relative errors: the weights come with the run; --weights=FILE,q%d tells those of a "
         "file, and --weights=q%d,errors those of products on an entry's data",
         q->bits, q->bits);
}

/* ---- what training alone has ---- */

bool passes_leave_out_training(Module *m) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < m->entries.n; k++)
    if (!m->entries.at[k]->training) m->entries.at[n++] = m->entries.at[k];
  if (!n) {
    diag(m->ctx, SEV_ERROR, m->entries.at[0]->loc,
         "every entry trains, but quantized weights are for inference");
    return false;
  }
  m->entries.n = n;
  return true;
}

/* The new indices of the globals, without those that no entry has any more. */
static void leave_out_globals(Quantize *q) {
  Module *m = q->r->m;
  bool *has = ARENA_ARRAY(q->r->scratch, bool, m->globals.n + 1);
  for (uint32_t k = 0; k < m->entries.n; k++)
    for (uint32_t i = 0; i < m->entries.at[k]->ops.n; i++) {
      const Op *op = op_at(m->entries.at[k], i);
      if (op->kind == OP_LOAD || op->kind == OP_STORE) has[op->attr[AT_GLOBAL].i] = true;
    }
  uint32_t n = 0;
  m->by_path = (Map){0};
  for (uint32_t i = 0; i < m->globals.n; i++) {
    Global g = m->globals.at[i];
    bool of_training = g.kind == GLOBAL_OPTIMIZER || g.kind == GLOBAL_HYPER;
    q->to[i] = has[i] || !of_training ? (int)n : -1;
    if (q->to[i] < 0) continue;
    m->globals.at[n] = g;
    map_put(m->arena, &m->by_path, g.path, n++);
  }
  m->globals.n = n;
}

/* ---- the entries ---- */

/* x by the dequantized w, of x rounded to integers in groups along its rows; by these scales of its
   columns, unless they are NO_ID. */
static ValueId integer_product(const Quantize *q, Builder *b, ValueId x, ValueId w,
                               ValueId scales) {
  const Op *of = value_def(b->e, w);
  Attr attr[MAX_ATTRS] = {[AT_AXIS].i = 1, [AT_BITS].i = q->activations, [AT_GROUP].i = GROUP};
  ValueId integers, s;
  if (scales != NO_ID) {
    input_scales_apply(b, x, scales, GROUP, &integers, &s);
  } else {
    s = build(b, OP_QUANTIZE_SCALE, &x, 1, attr, NULL);
    integers = build(b, OP_QUANTIZE, (ValueId[]){x, s}, 2, attr, NULL);
  }
  const ValueId v[] = {integers, of->operands[0], s, of->operands[1]};
  const Type *t = value_type(b->e, w);
  const int64_t dim[] = {type_axis(value_type(b->e, x), 0), t->dim[!of->attr[AT_AXIS].i]};
  memcpy(attr, of->attr, sizeof attr);
  attr[AT_LEFT_BITS].i = q->activations;
  return build(b, OP_SCALED_MATMUL, v, 4, attr, type_get(b->m->ctx, t->dtype, 2, dim));
}

static bool multiplies_integers(const Quantize *q, const Entry *e, ValueId product) {
  const Target *t = q->r->opt->target;
  return t && t->multiplies_quantized && t->multiplies_quantized(t, e, value_def(e, product));
}

/* The param of whose integers the op reads rows, or whose matrix it multiplies by; -1: none. */
static int quantized_operand(const Quantize *q, const Entry *old, const Op *op) {
  const bool product = op->kind == OP_MATMUL;
  if (!product && op->kind != OP_GATHER) return -1;
  const int g = quantize_loaded(old, op->operands[product]);
  if (g < 0 || !q->w[g].quantized) return -1;
  return !product || q->w[g].axis == op->attr[AT_TB].i ? g : -1;
}

static Attr *weight_attr(const Quantize *q, const Weight *w, Attr attr[MAX_ATTRS]) {
  memset(attr, 0, MAX_ATTRS * sizeof *attr);
  attr[AT_AXIS].i = w->axis, attr[AT_BITS].i = q->bits, attr[AT_GROUP].i = GROUP;
  return attr;
}

/* The left operand of a product, with the depth as its last axis. */
static ValueId rows_of(Builder *b, const Op *op, ValueId x) {
  return op->attr[AT_TA].i ? build_transpose(b, x, (const int64_t[]){1, 0}) : x;
}

/* The scales of what a product multiplies the param by; NO_ID: it finds them itself. */
static ValueId static_scales(const Quantize *q, const Builder *b, int g) {
  return q->is_static && b->b == b->e->body ? q->w[g].loaded : NO_ID;
}

/* The op of what quantization leaves of its operands, with a param. */
static ValueId rounded_result(const Quantize *q, Builder *b, const Op *op, ValueId x, ValueId w,
                              int g) {
  const bool ta = op->attr[AT_TA].i, tb = op->attr[AT_TB].i;
  if (op->kind == OP_GATHER) return build(b, OP_GATHER, (ValueId[]){w, x}, 2, op->attr, NULL);
  if (!q->activations) return build_matmul(b, x, w, ta, tb);
  ValueId y = integer_product(q, b, rows_of(b, op, x), w, static_scales(q, b, g));
  const bool pays = q->activations == 8 || multiplies_integers(q, b->e, y);
  return pays ? y : build_matmul(b, x, w, ta, tb);
}

/* A product in a loop finds the scales of its rows itself. */
static void calibrate(Quantize *q, Builder *b, const Entry *old, const Op *op, int g,
                      ValueId *map) {
  build_copy(b, old, op, map);
  if (op->kind == OP_GATHER) return;
  if (b->b != b->e->body)
    remark(q->r, REMARK_QUANTIZE, "quantize-missed", op->loc,
           "activations by %s are not calibrated: this is in a loop",
           b->m->globals.at[q->to[g]].path);
  else if (q->w[g].input_scale) /* else nothing reads the product */
    input_scales_add(&q->inputs, b, q->w[g].input_scale, rows_of(b, op, map[op->operands[0]]),
                     GROUP);
}

static void measure(Quantize *q, Builder *b, const Entry *old, const Op *op, int g, ValueId *map) {
  const Global *of = &b->m->globals.at[q->to[g]];
  const bool product = op->kind == OP_MATMUL;
  build_copy(b, old, op, map);
  if (b->b != b->e->body) {
    diag(b->m->ctx, SEV_WARNING, op->loc, "no error of %s is measured here: this is in a loop",
         of->path);
    return;
  }
  Attr attr[MAX_ATTRS];
  ValueId w[] = {map[op->operands[product]], NO_ID};
  w[1] = build(b, OP_QUANTIZE_SCALE, w, 1, weight_attr(q, &q->w[g], attr), NULL);
  w[0] = build(b, OP_QUANTIZE, w, 2, attr, NULL);
  w[0] = build(b, OP_DEQUANTIZE, w, 2, attr, of->type);
  errors_add(&q->errors, b, of->path, map[op->results[0]],
             rounded_result(q, b, op, map[op->operands[!product]], w[0], g));
}

static void load_input_scales(const Quantize *q, Builder *b, Weight *w) {
  if (q->is_static && b->b == b->e->body)
    w->loaded = w->input_scale ? build_load(b, w->input_scale) : NO_ID;
}

static void load(const Quantize *q, Builder *b, const Entry *old, const Op *op, ValueId *map) {
  Weight *w = &q->w[op->attr[AT_GLOBAL].i];
  Attr attr[MAX_ATTRS];
  load_input_scales(q, b, w);
  ValueId v[] = {build_load(b, q->to[op->attr[AT_GLOBAL].i]), NO_ID};
  if (w->quantized) {
    v[1] = build_load(b, w->scale);
    v[0] = build(b, OP_DEQUANTIZE, v, 2, weight_attr(q, w, attr), w->type);
  }
  value_at(b->e, v[0])->name = value_at(old, op->results[0])->name;
  map[op->results[0]] = v[0];
}

static void store(const Quantize *q, Builder *b, const Op *op, const ValueId *map) {
  const Weight *w = &q->w[op->attr[AT_GLOBAL].i];
  const int index = q->to[op->attr[AT_GLOBAL].i];
  Attr attr[MAX_ATTRS];
  ValueId x[] = {map[op->operands[0]], NO_ID};
  if (w->input_scale) input_scales_initial(b, w->input_scale);
  if (!w->quantized || q->measures || q->calibrates) {
    build_store(b, index, x[0]);
    return;
  }
  x[1] = build(b, OP_QUANTIZE_SCALE, x, 1, weight_attr(q, w, attr), NULL);
  build_store(b, index, build(b, OP_QUANTIZE, x, 2, attr, NULL));
  build_store(b, w->scale, x[1]);
}

/* The ops of an entry that reads integers. */
static void each(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  const Quantize *q = data;
  const bool moves = op->kind == OP_LOAD || op->kind == OP_STORE;
  if (moves && q->to[op->attr[AT_GLOBAL].i] < 0) return; /* its initial value */
  builder_like(b, op);
  if (op->kind == OP_LOAD) {
    load(q, b, old, op, map);
  } else if (op->kind == OP_STORE) {
    store(q, b, op, map);
  } else if (q->activations && op->kind == OP_MATMUL && quantized_operand(q, old, op) >= 0) {
    const int g = quantized_operand(q, old, op);
    const ValueId y = rounded_result(q, b, op, map[op->operands[0]], map[op->operands[1]], g);
    value_at(b->e, y)->name = value_at(old, op->results[0])->name;
    map[op->results[0]] = y;
  } else {
    build_copy(b, old, op, map);
  }
}

/* Those of an entry that measures errors, or scales. */
static void each_measured(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  Quantize *q = data;
  const bool moves = op->kind == OP_LOAD || op->kind == OP_STORE;
  const int g = moves ? q->to[op->attr[AT_GLOBAL].i] : quantized_operand(q, old, op);
  if (moves && g < 0) return; /* its initial value */
  builder_like(b, op);
  if (op->kind == OP_LOAD) {
    load_input_scales(q, b, &q->w[op->attr[AT_GLOBAL].i]);
    map[op->results[0]] = build_load(b, g);
    value_at(b->e, map[op->results[0]])->name = value_at(old, op->results[0])->name;
  } else if (op->kind == OP_STORE) {
    store(q, b, op, map);
  } else if (g >= 0 && q->calibrates) {
    calibrate(q, b, old, op, g, map);
  } else if (g >= 0) {
    measure(q, b, old, op, g, map);
  } else {
    if (op->kind == OP_RETURN) input_scales_store(&q->inputs, b);
    if (op->kind != OP_RETURN || !errors_return(&q->errors, b)) build_copy(b, old, op, map);
  }
}

bool pass_quantize_weights(PassRun *r) {
  Module *m = r->m;
  Quantize q = {.r = r,
                .w = ARENA_ARRAY(r->scratch, Weight, m->globals.n + 1),
                .to = ARENA_ARRAY(r->scratch, int, m->globals.n + 1),
                .bits = (int)pass_arg_int(r, "bits", 8),
                .measures = pass_arg_int(r, "errors", 0) != 0,
                .calibrates = pass_arg_int(r, "calibrate", 0) != 0,
                .is_static = pass_arg_int(r, "static", 0) != 0,
                .errors = {.arena = r->scratch},
                .inputs = {.arena = r->scratch}};
  q.activations = (int)pass_arg_int(r, "activations", 0);
  if (q.activations != 0 && q.activations != 8 && q.activations != 16) {
    diag(m->ctx, SEV_ERROR, (Loc){0}, "quantize-weights takes activations=8 or 16, not %d",
         q.activations);
    return false;
  }
  if ((q.calibrates || q.is_static) && (q.activations != 8 || (q.calibrates && q.measures))) {
    diag(
        m->ctx, SEV_ERROR, (Loc){0},
        "quantize-weights takes calibrate=1 and static=1 beside activations=8, and calibrate=1 not "
        "beside errors=1");
    return false;
  }
  if (q.bits != 8 && q.bits != 4) {
    diag(m->ctx, SEV_ERROR, (Loc){0}, "quantize-weights takes bits=8 or bits=4, not %d", q.bits);
    return false;
  }
  q.without = quantize_paths(r->scratch, pass_arg_str(r, "without", ""));
  uint32_t before = m->globals.n;
  quantize_choose(&q);
  leave_out_globals(&q);
  for (uint32_t i = 0; i < before; i++) {
    if (!q.w[i].quantized) continue;
    add_input_scales(&q, &q.w[i], q.to[i]);
    if (!q.measures && !q.calibrates) change_global(&q, &q.w[i], q.to[i]);
    r->changes++;
  }
  remark_errors(&q);
  Entry *e;
  for (uint32_t k = 0; (e = pass_entry(m, k)); k++)
    entry_rebuild(e, q.measures || q.calibrates ? each_measured : each, &q, false, true);
  if (!r->changes)
    diag(m->ctx, SEV_WARNING, (Loc){0},
         "no param is quantized: none is a matrix of f32 with a depth of 32 or more that only "
         "products and gathers read");
  return true;
}
