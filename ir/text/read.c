/* Reads the text form of a module, for tests and reproducers: recursive descent, one error ends it.
   Contract: print(read(print(m))) equals print(m) to the byte; any bytes at all give a module that
   the verifier accepts, or a diagnostic with line and column. Everything is checked before it is
   built. docs/ir.md has the grammar. A value is named after its text: an unnamed one by its number,
   a suffix that tells equal names apart is dropped. */
#include "ir/text/read.h"
#include "ir/eval/interp.h"

enum { MAX_DEPTH = 100 }; /* blocks in blocks: reading recurses, and no program comes near it */

/* ---- blocks, entries, globals ---- */

bool read_arguments(Reader *r, Block *b) {
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
    if (!read_define(r, text, loc, block_add_arg(r->e, b, v))) return false;
  } while (read_take(r, ','));
  return read_expect(r, ')', "after arguments");
}

bool read_block(Reader *r, Block *b, bool nested) {
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
    if (!read_op(r, &kind)) return false;
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

/* Of an entry that is distributed: among how many. */
static bool ranks(Reader *r, Entry *e) {
  enum { MAX_RANKS = 1 << 20 };
  int64_t n;
  if (!read_flag(r, "ranks")) return true;
  Loc loc = read_loc(r, r->p, 1);
  if (!read_integer(r, &n)) return false;
  if (n < 2 || n > MAX_RANKS) return FAIL(r, loc, "an entry has 2 to %d ranks", MAX_RANKS);
  e->ranks = (int)n;
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
  if (!read_arguments(r, e->body)) return false;
  e->training = read_flag(r, "training");
  if (!ranks(r, e)) return false;
  if (!read_place(r, &e->loc) || !read_block(r, e->body, false)) return false;
  vec_push(r->m->arena, &r->m->entries, e);
  return true;
}

/* The preparation of the entry before it. */
static bool preparation(Reader *r, Loc loc) {
  Entry *of = r->m->entries.n ? r->m->entries.at[r->m->entries.n - 1] : NULL;
  if (!of || of->ahead) return FAIL(r, loc, "'ahead' stands behind an entry that has none yet");
  Entry *e = begin_entry(r, entry_ahead_name(of));
  e->ranks = of->ranks;
  if (!read_arguments(r, e->body) || !read_place(r, &e->loc) || !read_block(r, e->body, false))
    return false;
  of->ahead = e;
  return true;
}

/* init or gather. */
static bool own_entry(Reader *r, Loc loc, const char *name, Entry **to) {
  if (*to) return FAIL(r, loc, "there are two %s entries", name);
  Entry *e = begin_entry(r, name);
  if (!read_place(r, &e->loc) || !read_block(r, e->body, false)) return false;
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

/* The elements of a constant table, behind '='. */
static bool table(Reader *r, Global *g) {
  const Type *t = g->type;
  const bool real = dtype_is_float(t->dtype);
  Loc loc = read_loc(r, r->p, 1);
  if (!read_expect(r, '[', "before a table's elements")) return false;
  VEC(Attr) all = {0};
  do {
    const char *text;
    Loc number;
    Attr v = {0};
    if (!read_number(r, &text, &number) ||
        !(real ? read_to_float(r, text, number, &v.f) : read_to_int(r, text, number, &v.i)))
      return false;
    v.i = scalar_round((Scalar){.i = v.i}, t->dtype, INTERP_DTYPE).i;
    vec_push(r->m->arena, &all, v);
  } while (read_take(r, ','));
  if (!read_expect(r, ']', "after a table's elements")) return false;
  g->table = all.at;
  g->transient = true;
  return all.n == (uint64_t)t->numel || FAIL(r, loc, "%u elements stand here for the %lld of %s",
                                             all.n, (long long)t->numel, type_str(r->c, t));
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
  if (kind != GLOBAL_HYPER && read_flag(r, "of") && !whole_type(r, &g)) return false;
  if (kind == GLOBAL_PARAM && read_flag(r, "copy") && !master_path(r, &g)) return false;
  g.transient = kind == GLOBAL_STATE && read_flag(r, "transient");
  if (kind == GLOBAL_STATE && !g.transient && read_take(r, '=') && !table(r, &g)) return false;
  if (kind != GLOBAL_HYPER && read_flag(r, "from")) {
    if (!read_string(r, &g.origin.name)) return false;
    if (read_flag(r, "or") && !read_string(r, &g.origin.other)) return false;
    g.origin.transposed = read_flag(r, "transposed");
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
  if (span_is(w, "ahead")) return preparation(r, w.loc);
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
