/* Reads the text form of a module, for tests and reproducers: recursive descent, one error ends it.
   Contract: print(read(print(m))) equals print(m) to the byte; any bytes at all give a module that
   the verifier accepts, or a diagnostic with line and column. Everything is checked before it is
   built.

     module   = "module" string { global | init | gather | entry }
     global   = ("param" | "state" | "optimizer") "@" name ":" type ["of" type] [loc]
              | "hyper" "@" name [":" type] "=" number [loc]
     init     = "init" [loc] body
     gather   = "gather" [loc] body
     entry    = "entry" (word | string) arguments ["training"] ["ranks" integer] [loc] body
     arguments= "(" [ "%" name ":" type { "," "%" name ":" type } ] ")"
     body     = "{" { op } "}"
     op       = [ names "=" ] word [ "@" name [","] ] [ names ] [ "{" attr { "," attr } "}" ]
                [ ":" type { "," type } ] ["backward"] [string] [loc] { arguments body }
     names    = "%" name { "," "%" name }
     attr     = word "=" value
     value    = number | string | "[" [ number { "," number } ] "]"
     type     = dtype "[" [ integer { "," integer } ] "]"
                [ "order" "[" integer { "," integer } "]" ] [ "panels" integer ]
     loc      = (path | string) ":" line ":" column          without blanks inside
     name     = letters, digits, _ and dots | string
     string   = '"' { byte | \" | \\ | \n | \xHH } '"'        on one line

   "@" names the global of load and store; the string after the types is the scope; ";" starts a
   comment that ends with the line; line ends mean nothing else. A value is named after its text: an
   unnamed one by its number, a suffix that tells equal names apart is dropped. */
#include "ir/text/read.h"
#include "ir/eval/interp.h"

enum { MAX_DEPTH = 100 }; /* blocks in blocks: reading recurses, and no program comes near it */

/* ---- values ---- */

/* Gives a value the name from which the printer makes this text, and enters it. */
static bool define(Reader *r, const char *text, Loc loc, ValueId v) {
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

/* A word that may stand before a scope or place, which may begin with the same letters. */
static bool flag(Reader *r, const char *word) {
  Span w;
  read_blanks(r);
  const char *before = r->p;
  if (read_word(r, &w) && span_is(w, word) &&
      !(r->p < r->end && (read_is_place(*r->p) || *r->p == ':')))
    return true;
  r->p = before;
  return false;
}

/* Of an entry that is distributed: among how many. */
static bool ranks(Reader *r, Entry *e) {
  enum { MAX_RANKS = 1 << 20 };
  int64_t n;
  if (!flag(r, "ranks")) return true;
  Loc loc = read_loc(r, r->p, 1);
  if (!read_integer(r, &n)) return false;
  if (n < 2 || n > MAX_RANKS) return FAIL(r, loc, "an entry has 2 to %d ranks", MAX_RANKS);
  e->ranks = (int)n;
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

static bool block(Reader *r, Block *b, bool nested);
static bool arguments(Reader *r, Block *b);

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

static bool op(Reader *r, OpKind *kind) {
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
  o.backward = flag(r, "backward");
  if (!read_scope(r, &o.scope) || !read_place(r, &o.place) || !check_op(r, &o)) return false;
  r->b->loc = o.place;
  r->b->scope = o.scope;
  r->b->backward = o.backward;
  Op *built = build_op(r->b, o.kind, o.operands.at, (int)o.operands.n, o.attr, o.types.at,
                       (int)o.results.n);
  for (uint32_t i = 0; i < o.results.n; i++) {
    value_at(r->e, built->results[i])->layout = o.layouts.at[i];
    if (!define(r, o.results.at[i].at, o.results.at[i].loc, built->results[i])) return false;
  }
  for (int i = 0; i < built->nblocks; i++)
    if (!arguments(r, built->blocks[i]) || !block(r, built->blocks[i], true)) return false;
  return true;
}

/* ---- blocks, entries, globals ---- */

static bool arguments(Reader *r, Block *b) {
  if (!read_expect(r, '(', "before arguments")) return false;
  if (read_take(r, ')')) return true;
  do {
    const char *text;
    Loc loc;
    Value v = {0};
    if (!read_next_is(r, '%'))
      return FAIL(r, read_loc(r, r->p, 1), "an argument is expected, not %s", read_found(r));
    if (!read_name(r, &text, &loc) || !read_expect(r, ':', "after an argument") ||
        !read_type(r, &v.type, &v.layout))
      return false;
    if (!define(r, text, loc, block_add_arg(r->e, b, v))) return false;
  } while (read_take(r, ','));
  return read_expect(r, ')', "after arguments");
}

static bool block(Reader *r, Block *b, bool nested) {
  if (!read_expect(r, '{', "before a block")) return false;
  if (++r->depth > MAX_DEPTH)
    return FAIL(r, read_loc(r, r->p, 1), "blocks are nested more than %d deep", MAX_DEPTH);
  Block *outer = r->b->b;
  builder_at(r->b, b);
  OpKind want = nested ? OP_YIELD : OP_RETURN, kind = OP_KINDS;
  while (!read_take(r, '}')) {
    Loc here = read_loc(r, r->p, 1);
    if (r->p == r->end)
      return FAIL(r, here, "'}' is expected after a block, not %s", read_found(r));
    if (kind == want) return FAIL(r, here, "nothing follows %s in its block", op_info[kind].name);
    if (!op(r, &kind)) return false;
    if (op_info[kind].flags & OPF_TERMINATOR && kind != want)
      return FAIL(r, here, "this block ends in %s, not in %s", op_info[want].name,
                  op_info[kind].name);
  }
  if (kind != want)
    return FAIL(r, read_loc(r, r->p - 1, 1), "a block ends in %s", op_info[want].name);
  builder_at(r->b, outer);
  r->depth--;
  return true;
}

static Entry *begin_entry(Reader *r, const char *entry_name) {
  r->e = entry_new(r->m, entry_name, (Loc){0});
  r->b = builder_new(r->e, r->e->body);
  r->b->fold = false;
  r->names = names_new(r->c, r->scratch);
  r->values = (Map){0};
  r->depth = 0;
  return r->e;
}

static bool entry(Reader *r) {
  Span w;
  const char *text = NULL;
  read_blanks(r);
  Loc loc = read_loc(r, r->p, 1);
  if (read_next_is(r, '"')) {
    if (!read_string(r, &text)) return false;
  } else if (read_word(r, &w)) {
    text = intern_n(r->c, w.at, w.len);
    loc = w.loc;
  } else {
    return FAIL(r, loc, "an entry's name is expected, not %s", read_found(r));
  }
  for (uint32_t i = 0; i < r->m->entries.n; i++)
    if (r->m->entries.at[i]->name == text) return FAIL(r, loc, "there are two entries %s", text);
  Entry *e = begin_entry(r, text);
  if (!arguments(r, e->body)) return false;
  e->training = flag(r, "training");
  if (!ranks(r, e)) return false;
  if (!read_place(r, &e->loc) || !block(r, e->body, false)) return false;
  vec_push(r->m->arena, &r->m->entries, e);
  return true;
}

/* init or gather. */
static bool own_entry(Reader *r, Loc loc, const char *name, Entry **to) {
  if (*to) return FAIL(r, loc, "there are two %s entries", name);
  Entry *e = begin_entry(r, name);
  if (!read_place(r, &e->loc) || !block(r, e->body, false)) return false;
  *to = e;
  return true;
}

/* Of which each rank has a run. */
static bool whole_type(Reader *r, Global *g) {
  Loc loc = read_loc(r, r->p, 1);
  const Layout *layout = NULL;
  if (!read_type(r, &g->whole, &layout)) return false;
  bool runs = !layout && !g->layout && g->type->rank == 1 && g->type->numel > 0 &&
              g->whole->dtype == g->type->dtype && slice_fits(g->whole->numel, g->type->numel);
  return runs || FAIL(r, loc, "%s is no number of runs %s", type_str(r->c, g->whole),
                      type_str(r->c, g->type));
}

/* The param that another one is a copy of, which is declared before. */
static bool master_path(Reader *r, Global *g) {
  Loc loc;
  if (!read_next_is(r, '@'))
    return FAIL(r, read_loc(r, r->p, 1), "'@' and a path are expected, not %s", read_found(r));
  if (!read_name(r, &g->master, &loc)) return false;
  int at = module_find_global(r->m, g->master);
  return (at >= 0 && global_is_copy(g, &r->m->globals.at[at])) ||
         FAIL(r, loc, "@%s is no param of the shape of its copy", g->master);
}

static bool global(Reader *r, GlobalKind kind) {
  Global g = {.kind = kind, .type = type_scalar(r->c, DT_F32)};
  Loc loc, number;
  const char *text;
  if (!read_next_is(r, '@'))
    return FAIL(r, read_loc(r, r->p, 1), "'@' and a path are expected, not %s", read_found(r));
  if (!read_name(r, &g.path, &loc)) return false;
  if (module_find_global(r->m, g.path) >= 0) return FAIL(r, loc, "@%s is declared twice", g.path);
  if (kind == GLOBAL_HYPER) {
    if ((read_take(r, ':') && !read_type(r, &g.type, &g.layout)) ||
        !read_expect(r, '=', "before a hyperparameter's default") ||
        !read_number(r, &text, &number) || !read_to_float(r, text, number, &g.value))
      return false;
    if (!hyper_is_type(g.type) || g.layout)
      return FAIL(r, loc, "a hyperparameter is f32[], i32[] or bool[], not %s",
                  type_str(r->c, g.type));
    if (!hyper_holds(g.type, g.value))
      return FAIL(r, number, "%s does not fit %s", text, type_str(r->c, g.type));
  } else if (!read_expect(r, ':', "after a global's path") || !read_type(r, &g.type, &g.layout)) {
    return false;
  }
  if (kind != GLOBAL_HYPER && flag(r, "of") && !whole_type(r, &g)) return false;
  if (kind == GLOBAL_PARAM && flag(r, "copy") && !master_path(r, &g)) return false;
  g.transient = kind == GLOBAL_STATE && flag(r, "transient");
  if (kind != GLOBAL_HYPER && flag(r, "from")) {
    if (!read_string(r, &g.origin.name)) return false;
    g.origin.transposed = flag(r, "transposed");
  }
  if (!read_place(r, &g.loc)) return false;
  module_add_global(r->m, g);
  return true;
}

static const struct {
  const char *word;
  GlobalKind kind;
} global_words[] = {
    {"param", GLOBAL_PARAM},
    {"state", GLOBAL_STATE},
    {"optimizer", GLOBAL_OPTIMIZER},
    {"hyper", GLOBAL_HYPER},
};

static bool declaration(Reader *r) {
  Span w;
  if (!read_word(r, &w))
    return FAIL(r, read_loc(r, r->p, 1), "a global or an entry is expected, not %s", read_found(r));
  for (size_t i = 0; i < sizeof global_words / sizeof global_words[0]; i++)
    if (span_is(w, global_words[i].word)) return global(r, global_words[i].kind);
  if (span_is(w, "init")) return own_entry(r, w.loc, "init", &r->m->init);
  if (span_is(w, "gather")) return own_entry(r, w.loc, "gather", &r->m->gather);
  if (span_is(w, "entry")) return entry(r);
  return FAIL(r, w.loc, "a global or an entry is expected, not '%.*s'", (int)w.len, w.at);
}

static bool module(Reader *r) {
  Span w;
  const char *source;
  if (!read_word(r, &w) || !span_is(w, "module"))
    return FAIL(r, read_loc(r, r->p, 1), "IR text begins with: module \"file.g\"");
  if (!read_string(r, &source)) return false;
  r->m->source = source;
  for (read_blanks(r); r->p < r->end; read_blanks(r))
    if (!declaration(r)) return false;
  return true;
}

Module *module_read(Ctx *c, uint16_t file) {
  size_t len;
  const char *text = ctx_source_text(c, file, &len);
  Reader r = {.c = c,
              .m = module_new(c, ""),
              .scratch = arena_new(),
              .p = text,
              .end = text + len,
              .line_start = text,
              .line = 1,
              .file = file};
  bool ok = module(&r) && module_verify(r.m, NULL);
  arena_free(r.scratch);
  if (ok) return r.m;
  module_free(r.m);
  return NULL;
}
