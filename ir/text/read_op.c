/* Reads an op of the text form: its values, attributes, types and blocks. Contract: see read.c; all
   that build_op takes for granted is checked before it is called. */
#include "ir/eval/interp.h"
#include "ir/text/read.h"

/* ---- values ---- */

bool read_define(Reader *r, const char *text, Loc loc, ValueId v) {
  ValueId first;
  if (map_get(&r->values, text, &first)) return FAIL(r, loc, "%%%s is defined twice", text);
  map_put(r->scratch, &r->values, text, v);
  const char *id = names_of_id(r->c, v);
  if (names_peek(r->names, id) == text) {
    names_take(r->names, id);
    return true;
  }
  const char *base = text, *dot = strrchr(text, '.');
  if (dot && dot[1] && strspn(dot + 1, "0123456789") == strlen(dot + 1)) {
    const char *stem = intern_n(r->c, text, (size_t)(dot - text));
    if (names_peek(r->names, stem) == text) base = stem;
  }
  names_take(r->names, base);
  value_at(r->e, v)->name = base;
  return true;
}

static bool operand(Reader *r, ValueId *out) {
  const char *text;
  Loc loc;
  if (!read_next_is(r, '%'))
    return FAIL(r, read_loc(r, r->p, 1), "a value is expected, not %s", read_found(r));
  if (!read_name(r, &text, &loc)) return false;
  if (map_get(&r->values, text, out)) return true;
  return FAIL(r, loc, "%%%s is not defined before this use", text);
}

/* ---- ops ---- */

/* An op as it stands in the text, before it is checked and built. */
typedef struct OpText {
  OpKind kind;
  Loc at;            /* the mnemonic */
  VEC(Span) results; /* interned names */
  VEC(ValueId) operands;
  VEC(const Type *) types;
  VEC(const Layout *) layouts;
  Attr attr[MAX_ATTRS];
  const char *number[MAX_ATTRS]; /* ATTR_NUM: read when the dtype is known */
  Loc number_loc[MAX_ATTRS];
  bool given[MAX_ATTRS];
  bool backward;
  const char *scope;
  Loc place;
} OpText;

static bool attribute(Reader *r, OpText *o) {
  Span w;
  if (!read_word(r, &w))
    return FAIL(r, read_loc(r, r->p, 1), "an attribute is expected, not %s", read_found(r));
  const OpInfo *info = &op_info[o->kind];
  const char *names[MAX_ATTRS] = {0};
  int i = -1;
  for (int k = 0; k < MAX_ATTRS; k++) {
    if (info->cls == CLASS_GLOBAL && k == AT_GLOBAL) continue;
    names[k] = info->attr[k].name;
    if (names[k] && span_is(w, names[k])) i = k;
  }
  if (i < 0) {
    const char *near = nearest_name(r->c, intern_n(r->c, w.at, w.len), names, MAX_ATTRS);
    (void)FAIL(r, w.loc, "%s has no attribute '%.*s'", info->name, (int)w.len, w.at);
    if (near) diag(r->c, SEV_HINT, w.loc, "did you mean '%s'", near);
    return false;
  }
  if (o->given[i]) return FAIL(r, w.loc, "the attribute %s is given twice", names[i]);
  o->given[i] = true;
  if (!read_expect(r, '=', "after an attribute's name")) return false;
  switch (info->attr[i].kind) {
  case ATTR_NONE: return false;
  case ATTR_INT: return read_integer(r, &o->attr[i].i);
  case ATTR_BOOL:
    if (!read_integer(r, &o->attr[i].i)) return false;
    if (o->attr[i].i == 0 || o->attr[i].i == 1) return true;
    return FAIL(r, w.loc, "the attribute %s is 0 or 1", names[i]);
  case ATTR_NUM: return read_number(r, &o->number[i], &o->number_loc[i]);
  case ATTR_STR: return read_string(r, &o->attr[i].str);
  case ATTR_INTS: {
    IntList list = {0};
    if (!read_expect(r, '[', "before a list") || !read_integers(r, &list)) return false;
    o->attr[i].ints = intern_ints(r->c, list.at, (int)list.n);
    return true;
  }
  }
  return false;
}

/* ATTR_NUM, once the dtype is known; integers must fit it. */
static bool resolve_numbers(Reader *r, OpText *o) {
  for (int i = 0; i < MAX_ATTRS; i++) {
    if (!o->number[i]) continue;
    Dtype dt = o->types.n ? o->types.at[0]->dtype : DT_I64;
    if (dtype_is_float(dt)) {
      if (!read_to_float(r, o->number[i], o->number_loc[i], &o->attr[i].f)) return false;
      continue;
    }
    if (!read_to_int(r, o->number[i], o->number_loc[i], &o->attr[i].i)) return false;
    Scalar s = {.i = o->attr[i].i};
    if (scalar_round(s, dt, INTERP_DTYPE).i != s.i)
      return FAIL(r, o->number_loc[i], "%s does not fit %s", o->number[i], dtype_name(dt));
  }
  return true;
}

static bool global_name(Reader *r, OpText *o) {
  const char *path;
  Loc loc;
  if (!read_next_is(r, '@'))
    return FAIL(r, read_loc(r, r->p, 1), "%s names a global: '@' is expected, not %s",
                op_info[o->kind].name, read_found(r));
  if (!read_name(r, &path, &loc)) return false;
  int g = module_find_global(r->m, path);
  if (g < 0) return FAIL(r, loc, "there is no global @%s", path);
  o->attr[AT_GLOBAL].i = g;
  return true;
}

static bool operands(Reader *r, OpText *o) {
  bool global = op_info[o->kind].cls == CLASS_GLOBAL;
  if (global) {
    if (!global_name(r, o)) return false;
    if (!read_take(r, ',')) return true;
  } else if (!read_next_is(r, '%')) {
    return true;
  }
  do {
    ValueId v;
    if (!operand(r, &v)) return false;
    vec_push(r->scratch, &o->operands, v);
  } while (read_take(r, ','));
  return true;
}

static bool result_names(Reader *r, OpText *o) {
  if (!read_next_is(r, '%')) return true;
  do {
    Span s = {0};
    if (!read_next_is(r, '%'))
      return FAIL(r, read_loc(r, r->p, 1), "a value is expected, not %s", read_found(r));
    if (!read_name(r, &s.at, &s.loc)) return false;
    vec_push(r->scratch, &o->results, s);
  } while (read_take(r, ','));
  return read_expect(r, '=', "after an op's results");
}

static bool result_types(Reader *r, OpText *o) {
  if (read_take(r, ':')) do {
      const Type *t;
      const Layout *l;
      if (!read_type(r, &t, &l)) return false;
      vec_push(r->scratch, &o->types, t);
      vec_push(r->scratch, &o->layouts, l);
    } while (read_take(r, ','));
  if (o->types.n == o->results.n) return true;
  return FAIL(r, o->at, "%s has %u result%s, but %u type%s", op_info[o->kind].name, o->results.n,
              o->results.n == 1 ? "" : "s", o->types.n, o->types.n == 1 ? "" : "s");
}

/* Everything that build_op takes for granted. */
static bool check_op(Reader *r, OpText *o) {
  const OpInfo *info = &op_info[o->kind];
  if (info->results >= 0 && (uint32_t)info->results != o->results.n)
    return FAIL(r, o->at, "%s has %d result%s, not %u", info->name, info->results,
                info->results == 1 ? "" : "s", o->results.n);
  if (info->operands >= 0 && (uint32_t)info->operands != o->operands.n)
    return FAIL(r, o->at, "%s takes %d operand%s, not %u", info->name, info->operands,
                info->operands == 1 ? "" : "s", o->operands.n);
  if (!resolve_numbers(r, o)) return false;
  if (!info->shape) return true;
  const Type **types = ARENA_ARRAY(r->scratch, const Type *, o->operands.n + 1);
  for (uint32_t i = 0; i < o->operands.n; i++) types[i] = value_type(r->e, o->operands.at[i]);
  for (uint32_t i = 0; i < o->types.n; i++) {
    const Type *have = o->types.at[i];
    char why[WHY_BYTES];
    const Type *t =
        op_shape_of(r->c, o->kind, (int)i, types, (int)o->operands.n, o->attr, have, why);
    if (!t) return FAIL(r, o->at, "%s", why);
    if (t != have)
      return FAIL(r, o->at, "%s gives %s here, not %s", info->name, type_str(r->c, t),
                  type_str(r->c, have));
  }
  return true;
}

bool read_op(Reader *r, OpKind *kind) {
  OpText o = {.scope = intern(r->c, "")};
  Span w;
  if (!result_names(r, &o)) return false;
  if (!read_word(r, &w))
    return FAIL(r, read_loc(r, r->p, 1), "an op is expected, not %s", read_found(r));
  o.at = w.loc;
  if (!op_parse_kind(intern_n(r->c, w.at, w.len), &o.kind)) {
    const char *names[OP_KINDS];
    for (int k = 0; k < OP_KINDS; k++) names[k] = op_info[k].name;
    const char *near = nearest_name(r->c, intern_n(r->c, w.at, w.len), names, OP_KINDS);
    (void)FAIL(r, w.loc, "there is no op '%.*s'", (int)w.len, w.at);
    if (near) diag(r->c, SEV_HINT, w.loc, "did you mean '%s'", near);
    return false;
  }
  *kind = o.kind;
  if (!operands(r, &o)) return false;
  if (read_take(r, '{')) {
    do
      if (!attribute(r, &o)) return false;
    while (read_take(r, ','));
    if (!read_expect(r, '}', "after attributes")) return false;
  }
  if (!result_types(r, &o)) return false;
  o.backward = read_flag(r, "backward");
  if (!read_scope(r, &o.scope) || !read_place(r, &o.place) || !check_op(r, &o)) return false;
  r->b->loc = o.place;
  r->b->scope = o.scope;
  r->b->backward = o.backward;
  Op *built = build_op(r->b, o.kind, o.operands.at, (int)o.operands.n, o.attr, o.types.at,
                       (int)o.results.n);
  for (uint32_t i = 0; i < o.results.n; i++) {
    value_at(r->e, built->results[i])->layout = o.layouts.at[i];
    if (!read_define(r, o.results.at[i].at, o.results.at[i].loc, built->results[i])) return false;
  }
  for (int i = 0; i < built->nblocks; i++)
    if (!read_arguments(r, built->blocks[i]) || !read_block(r, built->blocks[i], true))
      return false;
  return true;
}
