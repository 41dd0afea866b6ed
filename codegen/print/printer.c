/* Prints the values of a group, each as one line at the outermost loop it can stand at.
   Contract: loops are the caller's; this file writes only declarations `const float v3 = …;` into
   the texts of the levels. Views are composed into index maps, so they cost nothing. Recomputation
   instead of storage where one value is wanted at two places: the same bits. */
#include "codegen/print/printer.h"
#include "codegen/program/extent.h"

Printer printer_new(Gen *g, const Group *gr, int levels, int indent) {
  int rank = gr->domain->rank;
  Printer p = {.g = g, .gr = gr, .ncoords = rank + printer_extra_coords(gr), .nlevels = levels};
  p.coord = ARENA_ARRAY(g->a, Coord, p.ncoords + 2); /* one more for an index that data gives */
  for (int i = 0; i < p.ncoords; i++) {
    const Type *t = i < rank ? gr->domain : gr->matrix;
    p.coord[i].dim = t->dim[i < rank ? i : i - rank];
    p.coord[i].extent = type_extent(t, i < rank ? i : i - rank);
  }
  p.level = ARENA_ARRAY(g->a, Text *, levels);
  for (int i = 0; i < levels; i++) {
    p.level[i] = ARENA_NEW(g->a, Text);
    *p.level[i] = text_new(g->a, indent + i);
  }
  return p;
}

void printer_store(Printer *p, int yield, const Axis *map, int level) {
  const Group *gr = p->gr;
  ValueId v = gr->yield[yield];
  Dtype dt = value_type(gr->e, v)->dtype;
  Printed r = printer_value(p, v, map);
  int at = 0;
  const char *index = printer_index(p, gr->out[yield], map, &at);
  text_line(p->level[level], "out%d[%s] = %s;", yield, index,
            scalar_store_rounded(p->g->a, dt, r.text));
}

/* ---- memo ---- */

void printer_bind(Printer *p, ValueId v, const Axis *map, Printed as) {
  vec_push(p->g->a, &p->seen, (Seen){v, map, as.text, as.level});
}

void printer_drop(Printer *p, int level) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < p->seen.n; i++)
    if (p->seen.at[i].level < level) p->seen.at[n++] = p->seen.at[i];
  p->seen.n = n;
}

/* The term, or NULL where it may be missing: ROLE_EXP is kept for rows that are not too long. */
static const Term *find_term(const Printer *p, const Op *op, Role role) {
  for (uint32_t i = 0; i < p->terms.n; i++)
    if (p->terms.at[i].op == op && p->terms.at[i].role == role) return &p->terms.at[i];
  return NULL;
}

const Term *printer_term(const Printer *p, const Op *op, Role role) {
  const Term *t = find_term(p, op, role);
  if (!t) gc_bug(p->g->ctx, "op %s in a group lacks a term of its row", op_info[op->kind].name);
  return t;
}

/* ---- values ---- */

static bool is_name(const char *s) {
  for (; *s; s++)
    if (!(*s == '_' || *s == '.' || (*s >= '0' && *s <= '9') || (*s >= 'a' && *s <= 'z') ||
          (*s >= 'A' && *s <= 'Z')))
      return false;
  return true;
}

static Printed line(Printer *p, Dtype dt, const char *expr, int level) {
  if (is_name(expr)) return (Printed){expr, level};
  const char *name = arena_printf(p->g->a, "v%d", p->g->names++);
  text_line(p->level[level], "const %s %s = %s;", dtype_compute(dt), name, expr);
  return (Printed){name, level};
}

static int deeper(int a, int b) { return a > b ? a : b; }

/* exp(x - max) of a softmax or its like at a place of the full shape. */
static const char *row_exp(Printer *p, const Op *op, const Axis *map, int *level) {
  const Term *kept = find_term(p, op, ROLE_EXP);
  ValueId v = op->operands[op_full_operand(op)];
  if (kept) { /* an array of the row: the place asked for may be another than the loop's */
    const char *i = printer_axis(p, map[value_type(p->gr->e, v)->rank - 1], level);
    *level = deeper(*level, kept->level);
    return arena_printf(p->g->a, "%s[%s]", kept->text, i);
  }
  Printed x = printer_value(p, v, map);
  *level = deeper(*level, x.level);
  return arena_printf(p->g->a, "%s_exp_down(%s - %s)", dtype_prefix(value_type(p->gr->e, v)->dtype),
                      x.text, printer_term(p, op, ROLE_MAX)->text);
}

/* A norm, or its gradient, at a place of the full shape. */
static Printed norm_value(Printer *p, const Op *op, const Axis *map) {
  Dtype dt = value_type(p->gr->e, op->results[0])->dtype;
  Printed x = printer_value(p, op->operands[0], map);
  Arena *a = p->g->a;
  const char *text;
  int level = deeper(x.level, 1);
  if (op_is_norm_grad(op)) {
    Printed y = printer_value(p, op->operands[1], map);
    Printed scale = printer_value(p, op->operands[2], map); /* the row's axes come first */
    level = deeper(level, deeper(y.level, scale.level));
    const char *mean = "";
    if (op->kind == OP_LAYER_NORM_GRAD)
      mean = arena_printf(a, " - %s", printer_term(p, op, ROLE_MEAN)->text);
    text = arena_printf(a, "%s * (%s%s - %s * %s)", scale.text, x.text, mean, y.text,
                        printer_term(p, op, ROLE_MEAN_DOT)->text);
  } else if (op->kind == OP_LAYER_NORM) {
    text = arena_printf(a, "(%s - %s) * %s", x.text, printer_term(p, op, ROLE_MEAN)->text,
                        printer_term(p, op, ROLE_SCALE)->text);
  } else {
    text = arena_printf(a, "%s * %s", x.text, printer_term(p, op, ROLE_SCALE)->text);
  }
  return line(p, dt, scalar_round_text(a, dt, text), level);
}

/* A row op at a place of the full shape, from the terms of its row. */
static Printed row_value(Printer *p, const Op *op, const Axis *map) {
  const Entry *e = p->gr->e;
  const Type *t = value_type(e, op->results[0]);
  const char *fn = dtype_prefix(t->dtype), *text;
  Arena *a = p->g->a;
  const Term *sum = printer_term(p, op, ROLE_SUM);
  int level = sum->level;
  switch ((int)op->kind) {
  case OP_SOFTMAX:
    text = arena_printf(a, "divide(%s, %s)", row_exp(p, op, map, &level), sum->text);
    break;
  case OP_LOG_SOFTMAX: {
    Printed x = printer_value(p, op->operands[0], map);
    Printed log = line(p, t->dtype, arena_printf(a, "%s_log(%s)", fn, sum->text), sum->level);
    level = deeper(level, x.level);
    text = arena_printf(a, "%s - %s - %s", x.text, printer_term(p, op, ROLE_MAX)->text, log.text);
    break;
  }
  case OP_SOFTMAX_GRAD: {
    Printed dy = printer_value(p, op->operands[0], map), y = printer_value(p, op->operands[1], map);
    level = deeper(level, deeper(dy.level, y.level));
    text = arena_printf(a, "%s * (%s - %s)", y.text, dy.text, sum->text);
    break;
  }
  case OP_LOG_SOFTMAX_GRAD: {
    Printed dy = printer_value(p, op->operands[0], map), y = printer_value(p, op->operands[1], map);
    level = deeper(level, deeper(dy.level, y.level));
    text = arena_printf(a, "%s - %s_exp(%s) * %s", dy.text, fn, y.text, sum->text);
    break;
  }
  case OP_XENT:
    text =
        arena_printf(a, "%s_log(%s) + %s - %s", fn, sum->text, printer_term(p, op, ROLE_MAX)->text,
                     printer_term(p, op, ROLE_AT_LABEL)->text);
    break;
  default: { /* OP_XENT_GRAD */
    Printed dy = printer_value(p, op->operands[0], map);
    const char *num = row_exp(p, op, map, &level), *c = printer_axis(p, map[t->rank - 1], &level);
    level = deeper(level, dy.level);
    text = arena_printf(a, "%s * (divide(%s, %s) - ((int)(%s) == (int)%s ? 1.0f : 0.0f))", dy.text,
                        num, sum->text, c, printer_term(p, op, ROLE_LABEL)->text);
  }
  }
  return line(p, t->dtype, scalar_round_text(a, t->dtype, text), level);
}

static bool is_of_batch(Ctx *c, const Extent *f, const Extent *batch) {
  const Extent *of = f->whole ? axis_extent(c, f->whole) : f;
  bool found = f == batch;
  for (int i = 0; batch && i < of->nfactors; i++) found |= of->factor[i] == batch;
  return found;
}

/* How many elements of t a run has for each row of the batch, of so many at the bounds. */
static const char *row_text(const Printer *p, const Type *t, int64_t elements) {
  const Entry *e = p->gr->e;
  const Extent *batch = entry_batch(e);
  const char *counts = "1";
  for (int i = 0; i < t->rank; i++) {
    const Extent *x = type_extent(t, i);
    for (int k = 0; x && k < x->nfactors; k++) {
      if (is_of_batch(p->g->ctx, x->factor[k], batch)) continue;
      counts = text_product(p->g->a, counts, extent_name(p->g, e, x->factor[k]));
      elements /= x->factor[k]->bound;
    }
  }
  return text_product(p->g->a, counts, arena_printf(p->g->a, "%lld", (long long)elements));
}

/* The mask is a function of key and position, in the backward pass as in the forward one. */
static Printed dropout_value(Printer *p, const Op *op, const Axis *map) {
  const Type *t = value_type(p->gr->e, op->results[0]);
  Dtype compute = t->dtype == DT_F64 ? DT_F64 : DT_F32;
  double keep = op->attr[AT_KEEP].f;
  Printed x = printer_value(p, op->operands[0], map);
  int level = x.level;
  int64_t *own = ARENA_ARRAY(p->g->a, int64_t, t->rank + 1);
  layout_strides(t, NULL, own);
  const char *place = NULL;
  if (op->noperands > 1) {
    Printed draw = printer_value(p, op->operands[1], map);
    place = draw.text;
    level = deeper(level, draw.level);
  }
  const char *key = random_key_text(p->g, op->attr[AT_KEY], op->attr[AT_DRAW], place);
  const char *at = printer_strided(p, t, own, map, &level);
  int64_t row = op->attr[AT_ROW_ELEMENTS].i;
  if (row) at = arena_printf(p->g->a, "env_first_row(env) * %s + %s", row_text(p, t, row), at);
  const char *call = arena_printf(p->g->a, "%s_random_uniform(%s, env, (uint64_t)(%s))",
                                  dtype_prefix(compute), key, at);
  Printed u = line(p, compute, call, level);
  Printed y = line(p, compute,
                   arena_printf(p->g->a, "%s * %s", x.text,
                                scalar_literal(p->g->a, compute, (Attr){.f = 1 / keep})),
                   level);
  const char *text = arena_printf(p->g->a, "%s < %s ? %s : 0", u.text,
                                  scalar_literal(p->g->a, compute, (Attr){.f = keep}), y.text);
  return line(p, t->dtype, scalar_round_text(p->g->a, t->dtype, text), level);
}

/* A known divisor, exponent or number to convert makes shorter code: it is no constant that other
   kernels may have otherwise. */
static bool is_compiled_for(const Op *op) {
  return op->kind == OP_DIV || op->kind == OP_MOD || op->kind == OP_QUOTIENT ||
         op->kind == OP_POW || op->noperands == 1;
}

/* The constant that the value is, seen through views, or NULL. */
static const Op *constant_of(const Printer *p, ValueId v) {
  const Op *op = NULL;
  while (group_arg(p->gr, v) < 0 && (op = value_def(p->gr->e, v)) &&
         op_info[op->kind].cls == CLASS_VIEW)
    v = op->operands[0];
  return group_arg(p->gr, v) < 0 && op && op->kind == OP_CONST ? op : NULL;
}

static Printed operand_value(Printer *p, const Op *op, int i, const Axis *map) {
  const Op *number = is_compiled_for(op) ? constant_of(p, op->operands[i]) : NULL;
  if (!number) return printer_value(p, op->operands[i], map);
  const Dtype dt = value_type(p->gr->e, number->results[0])->dtype;
  return (Printed){scalar_literal(p->g->a, dt, number->attr[AT_VALUE]), 0};
}

/* One half behind the other, along the loop. */
static bool lies_beside(const Printer *p, Dtype dt, const char *index) {
  return dtype_is_half(dt) && (index == p->flat || index == p->panel);
}

Printed printer_value(Printer *p, ValueId v, const Axis *map) {
  Arena *a = p->g->a;
  const Entry *e = p->gr->e;
  for (uint32_t i = 0; i < p->seen.n; i++)
    if (p->seen.at[i].v == v && printer_same_map(p, v, p->seen.at[i].map, map))
      return (Printed){p->seen.at[i].text, p->seen.at[i].level};
  Dtype dt = value_type(e, v)->dtype;
  Printed r = {.level = 0};
  int arg = group_arg(p->gr, v);
  const Op *op = arg < 0 ? value_def(e, v) : NULL;
  if (arg >= 0) {
    const char *index = printer_index(p, v, map, &r.level);
    const bool wide = p->wide && lies_beside(p, dt, index);
    if (wide) p->wide->in[arg] = index;
    r = line(p, dt,
             wide ? arena_printf(a, "wide%d[%s]", arg, p->wide->at)
                  : scalar_load(a, dt, arena_printf(a, "in%d", arg), index),
             r.level);
  } else if (op->kind == OP_CONST) {
    return (Printed){gen_constant(p->g, dt, op->attr[AT_VALUE]), 0};
  } else if (op->kind == OP_EXTENT) {
    const Extent *x = extent_get(p->g->ctx, op->attr[AT_NAME].str, op->attr[AT_BOUND].i);
    r = line(p, dt, arena_printf(a, "(int32_t)%s", extent_name(p->g, e, x)), 0);
  } else if (op->kind == OP_IOTA) {
    const char *i = printer_axis(p, map[op->attr[AT_AXIS].i], &r.level);
    r = line(p, dt, scalar_round_text(a, dt, arena_printf(a, "(%s)(%s)", dtype_compute(dt), i)),
             r.level);
  } else if (op_info[op->kind].cls == CLASS_VIEW || op->kind == OP_STOP_GRADIENT) {
    const Axis *inner = printer_through(p, op, map);
    if (!inner) gc_bug(p->g->ctx, "op %s cannot be read in place", op_info[op->kind].name);
    r = printer_value(p, op->operands[0], inner);
  } else if (op_info[op->kind].cls == CLASS_ROWS) {
    if (value_at(e, v)->index == 1) { /* of a norm: its scale */
      const Term *t = printer_term(p, op, ROLE_SCALE);
      r = (Printed){scalar_round_text(a, dt, t->text), t->level};
    } else {
      r = op_is_norm(op) || op_is_norm_grad(op) ? norm_value(p, op, map) : row_value(p, op, map);
    }
  } else if (op_info[op->kind].cls == CLASS_REDUCE) {
    const Term *t = printer_term(p, op, ROLE_VALUE);
    r = (Printed){t->text, t->level};
  } else if (op->kind == OP_DROPOUT) {
    r = dropout_value(p, op, map);
  } else if (op_info[op->kind].cls == CLASS_ELEMENT) {
    const char *operand[3];
    for (int i = 0; i < op->noperands; i++) {
      Printed x = operand_value(p, op, i, map);
      operand[i] = x.text;
      r.level = deeper(r.level, x.level);
    }
    r = line(p, dt, scalar_expr(p->g, e, op, operand), r.level);
  } else {
    gc_bug(p->g->ctx, "op %s cannot stand in a group", op_info[op->kind].name);
  }
  printer_bind(p, v, map, r);
  return r;
}

/* ---- the body of an element-wise loop whose position the caller gives ---- */

static void epilogue_bind(Printer *p, ValueId v, const char *text) {
  /* a name of its own: gcc 12 reads wrong lanes where a load stands in only one arm of `?:` */
  const Dtype dt = value_type(p->gr->e, v)->dtype;
  Printed as = line(p, dt, scalar_round_text(p->g->a, dt, text), 1);
  printer_bind(p, v, printer_identity(p, v), as);
}

static void epilogue_start(Gen *g, Text *x, const Group *gr, const EpilogueSite *s, Printer *p) {
  *p = (Printer){.g = g,
                 .gr = gr,
                 .ncoords = s->shape->rank + printer_extra_coords(gr),
                 .flat = s->flat,
                 .panel = s->panel,
                 .layout = s->layout};
  p->coord = ARENA_ARRAY(g->a, Coord, p->ncoords + 1);
  for (int i = 0; i < p->ncoords; i++) {
    int64_t dim = i < s->shape->rank ? s->shape->dim[i] : gr->matrix->dim[i - s->shape->rank];
    p->coord[i] = (Coord){.dim = dim, .text = s->coord[i], .level = 1}; /* no loop is made here */
  }
  p->level = ARENA_ARRAY(g->a, Text *, 2);
  p->level[0] = &g->out.at[g->out.n - 1]->head;
  p->level[1] = x;
  p->flat_level = 1;
  if (s->have != NO_ID) epilogue_bind(p, s->have, s->have_text);
  for (int i = 0; i < s->nknown; i++) epilogue_bind(p, s->known[i].value, s->known[i].text);
}

void epilogue_values(Gen *g, Text *x, const Group *gr, const EpilogueSite *s, const ValueId *v,
                     int n, const char **text) {
  Printer p;
  epilogue_start(g, x, gr, s, &p);
  for (int i = 0; i < n; i++) text[i] = printer_value(&p, v[i], printer_identity(&p, v[i])).text;
}

/* What a result of halves is rounded from, for which its bits are enough: of a conversion in the
   group its operand. */
static ValueId unrounded(const Group *gr, ValueId v) {
  const Op *op = group_arg(gr, v) < 0 ? value_def(gr->e, v) : NULL;
  const bool rounds = op && op->kind == OP_CONVERT && dtype_is_half(value_type(gr->e, v)->dtype) &&
                      value_type(gr->e, op->operands[0])->dtype == DT_F32;
  return rounds ? op->operands[0] : v;
}

void epilogue_body(Gen *g, Text *x, const Group *gr, const EpilogueSite *s) {
  epilogue_body_wide(g, x, gr, s, NULL);
}

void epilogue_body_wide(Gen *g, Text *x, const Group *gr, const EpilogueSite *s,
                        EpilogueWide *wide) {
  Printer p;
  epilogue_start(g, x, gr, s, &p);
  p.wide = wide;
  Printed *out = ARENA_ARRAY(g->a, Printed, gr->nout + 1);
  const Axis **map = ARENA_ARRAY(g->a, const Axis *, gr->nout + 1);
  const char **index = ARENA_ARRAY(g->a, const char *, gr->nout + 1);
  for (int i = 0; i < gr->nout; i++) {
    int level = 0;
    const ValueId v = gr->yield[i];
    map[i] = printer_identity(&p, v);
    index[i] = printer_index(&p, gr->out[i], map[i], &level);
    const bool beside = wide && lies_beside(&p, value_type(gr->e, v)->dtype, index[i]);
    if (beside) wide->out[i] = index[i];
    out[i] = printer_value(&p, beside ? unrounded(gr, v) : v, map[i]);
  }
  for (int i = 0; i < gr->nout; i++) {
    Dtype dt = value_type(gr->e, gr->yield[i])->dtype;
    if (wide && wide->out[i])
      text_line(x, "half%d[%s] = %s;", i, wide->at, out[i].text);
    else
      text_line(x, "out%d[%s] = %s;", i, index[i], scalar_store_rounded(g->a, dt, out[i].text));
  }
}
