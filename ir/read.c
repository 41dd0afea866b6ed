/* Reads the text form of a module, for tests and reproducers: recursive descent, one error ends it.
   Contract: print(read(print(m))) equals print(m) to the byte; any bytes at all give a module that
   the verifier accepts, or a diagnostic with line and column. Everything is checked before it is
   built.

     module   = "module" string { global | init | entry }
     global   = ("param" | "state" | "optimizer") "@" name ":" type [loc]
              | "hyper" "@" name "=" number [loc]
     init     = "init" [loc] body
     entry    = "entry" (word | string) arguments ["training"] [loc] body
     arguments= "(" [ "%" name ":" type { "," "%" name ":" type } ] ")"
     body     = "{" { op } "}"
     op       = [ "%" name { "," "%" name } "=" ] word [ "@" name [","] ] [ "%" name { "," "%" name
   } ] [ "{" word "=" value { "," word "=" value } "}" ] [ ":" type { "," type } ] [ string ] [loc]
   { arguments body } value    = number | string | "[" [ number { "," number } ] "]" type     =
   dtype "[" [ integer { "," integer } ] "]" [ "panels" integer ] loc      = (path | string) ":"
   line ":" column          without blanks inside name     = letters, digits, _ and dots | string
     string   = '"' { byte | \" | \\ | \n | \xHH } '"'        on one line

   "@" names the global of load and store; the string after the types is the scope; ";" starts a
   comment that ends with the line; line ends mean nothing else. A value is named after its text: an
   unnamed one by its number, a suffix that tells equal names apart is dropped. */
#include "interp.h"
#include "names.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

enum { MAX_DEPTH = 100 }; /* blocks in blocks: reading recurses, and no program comes near it */

typedef struct Span {
  const char *at;
  size_t len;
  Loc loc;
} Span;

/* From a name in the entry's text to its value. */
typedef struct ValueMap {
  struct {
    const char *name;
    ValueId value;
  } * slot;
  uint32_t n, size; /* size is a power of two */
} ValueMap;

typedef struct Reader {
  Ctx *c;
  Module *m;
  Arena *scratch;
  const char *p, *end, *line_start;
  uint32_t line;
  uint16_t file;
  const char *place_name; /* of the last place read, interned, and its index */
  uint16_t place_file;
  /* of the entry that is read */
  Entry *e;
  Builder *b;
  Names *names;
  ValueMap map;
  int depth;
  bool failed;
} Reader;

/* ---- errors and characters ---- */

static Loc loc_at(const Reader *r, const char *p, size_t len) {
  return (Loc){r->line, (uint32_t)(p - r->line_start) + 1, r->file,
               (uint16_t)(len < 1            ? 1
                          : len > UINT16_MAX ? UINT16_MAX
                                             : len)};
}

#define FAIL(R, LOC, ...)                                                                          \
  ((R)->failed ? (void)0 : diag((R)->c, SEV_ERROR, LOC, __VA_ARGS__), (R)->failed = true, false)

static void skip_blanks(Reader *r) {
  for (; r->p < r->end; r->p++) {
    if (*r->p == ';')
      while (r->p < r->end && *r->p != '\n') r->p++;
    if (r->p == r->end) return;
    if (*r->p == '\n') {
      r->line++;
      r->line_start = r->p + 1;
    } else if (*r->p != ' ' && *r->p != '\t' && *r->p != '\r') {
      return;
    }
  }
}

static bool next_is(Reader *r, char c) {
  skip_blanks(r);
  return r->p < r->end && *r->p == c;
}

static bool take(Reader *r, char c) {
  if (!next_is(r, c)) return false;
  r->p++;
  return true;
}

/* What stands here, for messages: a word, or one character. */
static const char *found(Reader *r) {
  skip_blanks(r);
  if (r->p == r->end) return "the end of the text";
  size_t n = 0;
  while (r->p + n < r->end && n < 40 && (isalnum((unsigned char)r->p[n]) || r->p[n] == '_')) n++;
  if (n) return intern_printf(r->c, "'%.*s'", (int)n, r->p);
  unsigned char c = (unsigned char)*r->p;
  return isprint(c) ? intern_printf(r->c, "'%c'", c) : intern_printf(r->c, "the byte 0x%02x", c);
}

static bool expect(Reader *r, char c, const char *after) {
  if (take(r, c)) return true;
  return FAIL(r, loc_at(r, r->p, 1), "'%c' is expected %s, not %s", c, after, found(r));
}

static bool is_word_char(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* A word of letters, digits and _, if one stands here. */
static bool word(Reader *r, Span *out) {
  skip_blanks(r);
  const char *p = r->p;
  if (p == r->end || !(isalpha((unsigned char)*p) || *p == '_')) return false;
  while (p < r->end && is_word_char(*p)) p++;
  *out = (Span){r->p, (size_t)(p - r->p), loc_at(r, r->p, (size_t)(p - r->p))};
  r->p = p;
  return true;
}

static bool span_is(Span s, const char *text) {
  return s.len == strlen(text) && memcmp(s.at, text, s.len) == 0;
}

static int hex_digit(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool string(Reader *r, const char **out) {
  skip_blanks(r);
  Loc loc = loc_at(r, r->p, 1);
  if (!take(r, '"')) return FAIL(r, loc, "a string is expected, not %s", found(r));
  const char *close = r->p;
  while (close < r->end && *close != '"' && *close != '\n') close += *close == '\\' ? 2 : 1;
  if (close >= r->end || *close == '\n')
    return FAIL(r, loc, "this string does not end on its line");
  char *text = arena_alloc(r->scratch, (size_t)(close - r->p) + 1), *t = text;
  while (r->p < close) {
    char c = *r->p++;
    if (c == '\\') {
      char k = *r->p++;
      int hi, lo;
      if (k == 'n')
        c = '\n';
      else if (k == '"' || k == '\\')
        c = k;
      else if (k == 'x' && close - r->p >= 2 && (hi = hex_digit(r->p[0])) >= 0 &&
               (lo = hex_digit(r->p[1])) >= 0 && hi * 16 + lo > 0) {
        c = (char)(hi * 16 + lo);
        r->p += 2;
      } else {
        return FAIL(r, loc_at(r, r->p - 2, 2), "a string has no such escape");
      }
    }
    if (!c) return FAIL(r, loc_at(r, r->p - 1, 1), "a string holds no zero byte");
    *t++ = c;
  }
  r->p = close + 1;
  *out = intern_n(r->c, text, (size_t)(t - text));
  return true;
}

/* The name behind a sigil, which the caller has seen. */
static bool name(Reader *r, const char **out, Loc *loc) {
  const char *start = r->p++;
  if (r->p < r->end && *r->p == '"') {
    *loc = loc_at(r, start, 1);
    return string(r, out);
  }
  const char *p = r->p;
  while (p < r->end && (is_word_char(*p) || *p == '.')) p++;
  *loc = loc_at(r, start, (size_t)(p - start));
  if (p == r->p) return FAIL(r, *loc, "a name is expected after '%c'", *start);
  *out = intern_n(r->c, r->p, (size_t)(p - r->p));
  r->p = p;
  return true;
}

/* ---- numbers ---- */

/* Text of a number, copied so that it ends in a zero byte. */
static bool number_text(Reader *r, const char **out, Loc *loc) {
  skip_blanks(r);
  const char *p = r->p;
  while (p < r->end && (is_word_char(*p) || *p == '.' || *p == '+' || *p == '-')) p++;
  *loc = loc_at(r, r->p, (size_t)(p - r->p));
  if (p == r->p) return FAIL(r, *loc, "a number is expected, not %s", found(r));
  char *text = arena_alloc(r->scratch, (size_t)(p - r->p) + 1);
  memcpy(text, r->p, (size_t)(p - r->p));
  *out = text;
  r->p = p;
  return true;
}

static bool to_int(Reader *r, const char *text, Loc loc, int64_t *out) {
  char *stop;
  errno = 0;
  *out = strtoll(text, &stop, 10);
  if (*stop) return FAIL(r, loc, "'%s' is not an integer", text);
  if (errno) return FAIL(r, loc, "%s does not fit 64 bits", text);
  return true;
}

static bool to_float(Reader *r, const char *text, Loc loc, double *out) {
  char *stop;
  *out = strtod(text, &stop);
  if (*stop) return FAIL(r, loc, "'%s' is not a number", text);
  return true;
}

static bool integer(Reader *r, int64_t *out) {
  const char *text;
  Loc loc;
  return number_text(r, &text, &loc) && to_int(r, text, loc, out);
}

/* Integers up to the closing bracket; the opening one is read. */
typedef VEC(int64_t) IntList;

static bool integers(Reader *r, IntList *list) {
  if (take(r, ']')) return true;
  do {
    int64_t v;
    if (!integer(r, &v)) return false;
    vec_push(r->scratch, list, v);
  } while (take(r, ','));
  return expect(r, ']', "after a list");
}

/* ---- types and places ---- */

static bool type(Reader *r, const Type **out, const Layout **layout) {
  Span w;
  Dtype dt;
  if (!word(r, &w)) return FAIL(r, loc_at(r, r->p, 1), "a type is expected, not %s", found(r));
  if (!dtype_parse(intern_n(r->c, w.at, w.len), &dt))
    return FAIL(r, w.loc, "'%.*s' is not a dtype: f32, f64, f16, bf16, i32, i64, u8 or bool",
                (int)w.len, w.at);
  IntList dim = {0};
  if (!expect(r, '[', "after a dtype") || !integers(r, &dim)) return false;
  if (dim.n > INT16_MAX) return FAIL(r, w.loc, "a tensor of %u axes is too much", dim.n);
  *out = type_get(r->c, dt, (int)dim.n, dim.at);
  if (!*out) return FAIL(r, w.loc, "these dims make no type: negative, or more than 2^62 bytes");
  *layout = NULL;
  skip_blanks(r);
  const char *before = r->p;
  if (!word(r, &w)) return true;
  if (!span_is(w, "panels") || (r->p < r->end && *r->p != ' ')) {
    r->p = before; /* a place, or the next op */
    return true;
  }
  int64_t nr;
  if (!integer(r, &nr)) return false;
  if (nr < 1 || nr > INT32_MAX || (*out)->rank < 2)
    return FAIL(r, w.loc, "panels need at least one column and a matrix");
  *layout = layout_panels(r->c, (int)nr);
  uint64_t bytes;
  if (!layout_bytes(*out, *layout, &bytes) || bytes >> 62)
    return FAIL(r, w.loc, "panels of %lld columns make this type too large", (long long)nr);
  return true;
}

static bool digits(Reader *r, const char **p, uint32_t *out) {
  const char *start = *p;
  uint64_t v = 0;
  for (; *p < r->end && isdigit((unsigned char)**p); (*p)++)
    if (v <= UINT32_MAX) v = v * 10 + (uint64_t)(**p - '0');
  *out = (uint32_t)v;
  return *p > start && v <= UINT32_MAX;
}

static bool source_index(Reader *r, const char *source, uint16_t *out) {
  if (source == r->place_name) {
    *out = r->place_file;
    return true;
  }
  int n = ctx_source_count(r->c), i = 0;
  while (i < n && strcmp(ctx_source_name(r->c, (uint16_t)i), source) != 0) i++;
  if (i == n) {
    if (n >= UINT16_MAX) return FAIL(r, loc_at(r, r->p, 1), "too many source files are named");
    ctx_add_source(r->c, source, "", 0);
  }
  r->place_name = source;
  *out = r->place_file = (uint16_t)i;
  return true;
}

static bool place_char(char c) {
  return is_word_char(c) || c == '.' || c == '/' || c == '+' || c == '-';
}

/* A place, if one stands here; nothing is read if not. */
static bool optional_place(Reader *r, Loc *out) {
  skip_blanks(r);
  const char *start = r->p, *source = NULL, *p = start;
  if (next_is(r, '"')) {
    if (!string(r, &source)) return false;
    p = r->p;
  } else {
    while (p < r->end && place_char(*p)) p++;
    if (p == start || p == r->end || *p != ':') return true;
    source = intern_n(r->c, start, (size_t)(p - start));
  }
  Loc loc = {.len = 1};
  bool meant = *start == '"' || isdigit((unsigned char)p[1]); /* the text ends in a zero byte */
  bool ok = p < r->end && *p == ':' && (p++, digits(r, &p, &loc.line)) && p < r->end && *p == ':' &&
            (p++, digits(r, &p, &loc.col)) && loc.line > 0 && loc.col > 0;
  if (!ok) {
    r->p = start;
    if (meant) return FAIL(r, loc_at(r, start, 1), "a place is written file:line:column");
    return true;
  }
  r->p = p;
  if (!source_index(r, source, &loc.file)) return false;
  *out = loc;
  return true;
}

/* A string right before a colon is the file of a place, not a scope. */
static bool optional_scope(Reader *r, const char **out) {
  if (!next_is(r, '"')) return true;
  const char *start = r->p;
  if (!string(r, out)) return false;
  if (r->p < r->end && *r->p == ':') {
    r->p = start;
    *out = intern(r->c, "");
  }
  return true;
}

/* ---- values ---- */

static uint32_t map_index(const ValueMap *m, const char *name) {
  uint64_t h = (uint64_t)(uintptr_t)name * UINT64_C(0x9e3779b97f4a7c15);
  uint32_t i = (uint32_t)(h >> 32) & (m->size - 1);
  while (m->slot[i].name && m->slot[i].name != name) i = (i + 1) & (m->size - 1);
  return i;
}

static bool map_add(Reader *r, const char *text, ValueId v) {
  enum { FIRST_SIZE = 64 };
  ValueMap *m = &r->map;
  if (m->n * 2 >= m->size) {
    ValueMap old = *m;
    m->size = old.size ? old.size * 2 : FIRST_SIZE;
    m->slot = arena_alloc(r->scratch, sizeof *m->slot * m->size);
    for (uint32_t i = 0; i < old.size; i++)
      if (old.slot[i].name) m->slot[map_index(m, old.slot[i].name)] = old.slot[i];
  }
  uint32_t i = map_index(m, text);
  if (m->slot[i].name) return false;
  m->slot[i].name = text;
  m->slot[i].value = v;
  m->n++;
  return true;
}

/* Gives a value the name from which the printer makes this text, and enters it. */
static bool define(Reader *r, const char *text, Loc loc, ValueId v) {
  if (!map_add(r, text, v)) return FAIL(r, loc, "%%%s is defined twice", text);
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
  if (!next_is(r, '%')) return FAIL(r, loc_at(r, r->p, 1), "a value is expected, not %s", found(r));
  if (!name(r, &text, &loc)) return false;
  uint32_t i = r->map.size ? map_index(&r->map, text) : 0;
  if (!r->map.size || !r->map.slot[i].name)
    return FAIL(r, loc, "%%%s is not defined before this use", text);
  *out = r->map.slot[i].value;
  return true;
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
  const char *scope;
  Loc place;
} OpText;

static bool block(Reader *r, Block *b, bool nested);
static bool arguments(Reader *r, Block *b);

static bool attribute(Reader *r, OpText *o) {
  Span w;
  if (!word(r, &w))
    return FAIL(r, loc_at(r, r->p, 1), "an attribute is expected, not %s", found(r));
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
  if (!expect(r, '=', "after an attribute's name")) return false;
  switch (info->attr[i].kind) {
  case ATTR_NONE: return false;
  case ATTR_INT: return integer(r, &o->attr[i].i);
  case ATTR_BOOL:
    if (!integer(r, &o->attr[i].i)) return false;
    if (o->attr[i].i == 0 || o->attr[i].i == 1) return true;
    return FAIL(r, w.loc, "the attribute %s is 0 or 1", names[i]);
  case ATTR_NUM: return number_text(r, &o->number[i], &o->number_loc[i]);
  case ATTR_STR: return string(r, &o->attr[i].str);
  case ATTR_INTS: {
    IntList list = {0};
    if (!expect(r, '[', "before a list") || !integers(r, &list)) return false;
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
      if (!to_float(r, o->number[i], o->number_loc[i], &o->attr[i].f)) return false;
      continue;
    }
    if (!to_int(r, o->number[i], o->number_loc[i], &o->attr[i].i)) return false;
    Scalar s = {.i = o->attr[i].i};
    if (scalar_round(s, dt, INTERP_DTYPE).i != s.i)
      return FAIL(r, o->number_loc[i], "%s does not fit %s", o->number[i], dtype_name(dt));
  }
  return true;
}

static bool global_name(Reader *r, OpText *o) {
  const char *path;
  Loc loc;
  if (!next_is(r, '@'))
    return FAIL(r, loc_at(r, r->p, 1), "%s names a global: '@' is expected, not %s",
                op_info[o->kind].name, found(r));
  if (!name(r, &path, &loc)) return false;
  int g = module_find_global(r->m, path);
  if (g < 0) return FAIL(r, loc, "there is no global @%s", path);
  o->attr[AT_GLOBAL].i = g;
  return true;
}

static bool operands(Reader *r, OpText *o) {
  bool global = op_info[o->kind].cls == CLASS_GLOBAL;
  if (global) {
    if (!global_name(r, o)) return false;
    if (!take(r, ',')) return true;
  } else if (!next_is(r, '%')) {
    return true;
  }
  do {
    ValueId v;
    if (!operand(r, &v)) return false;
    vec_push(r->scratch, &o->operands, v);
  } while (take(r, ','));
  return true;
}

static bool result_names(Reader *r, OpText *o) {
  if (!next_is(r, '%')) return true;
  do {
    Span s = {0};
    if (!next_is(r, '%'))
      return FAIL(r, loc_at(r, r->p, 1), "a value is expected, not %s", found(r));
    if (!name(r, &s.at, &s.loc)) return false;
    vec_push(r->scratch, &o->results, s);
  } while (take(r, ','));
  return expect(r, '=', "after an op's results");
}

static bool result_types(Reader *r, OpText *o) {
  if (take(r, ':')) do {
      const Type *t;
      const Layout *l;
      if (!type(r, &t, &l)) return false;
      vec_push(r->scratch, &o->types, t);
      vec_push(r->scratch, &o->layouts, l);
    } while (take(r, ','));
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
  char why[256];
  const Type *t = op_shape(r->c, o->kind, types, (int)o->operands.n, o->attr, o->types.at[0], why);
  if (!t) return FAIL(r, o->at, "%s", why);
  if (t != o->types.at[0])
    return FAIL(r, o->at, "%s gives %s here, not %s", info->name, type_str(r->c, t),
                type_str(r->c, o->types.at[0]));
  return true;
}

static bool op(Reader *r, OpKind *kind) {
  OpText o = {.scope = intern(r->c, "")};
  Span w;
  if (!result_names(r, &o)) return false;
  if (!word(r, &w)) return FAIL(r, loc_at(r, r->p, 1), "an op is expected, not %s", found(r));
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
  if (take(r, '{')) {
    do
      if (!attribute(r, &o)) return false;
    while (take(r, ','));
    if (!expect(r, '}', "after attributes")) return false;
  }
  if (!result_types(r, &o) || !optional_scope(r, &o.scope) || !optional_place(r, &o.place) ||
      !check_op(r, &o))
    return false;
  r->b->loc = o.place;
  r->b->scope = o.scope;
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
  if (!expect(r, '(', "before arguments")) return false;
  if (take(r, ')')) return true;
  do {
    const char *text;
    Loc loc;
    Value v = {.def = NO_ID, .index = b->args.n};
    if (!next_is(r, '%'))
      return FAIL(r, loc_at(r, r->p, 1), "an argument is expected, not %s", found(r));
    if (!name(r, &text, &loc) || !expect(r, ':', "after an argument") ||
        !type(r, &v.type, &v.layout))
      return false;
    ValueId id = r->e->values.n;
    vec_push(r->m->arena, &r->e->values, v);
    vec_push(r->m->arena, &b->args, id);
    if (!define(r, text, loc, id)) return false;
  } while (take(r, ','));
  return expect(r, ')', "after arguments");
}

static bool block(Reader *r, Block *b, bool nested) {
  if (!expect(r, '{', "before a block")) return false;
  if (++r->depth > MAX_DEPTH)
    return FAIL(r, loc_at(r, r->p, 1), "blocks are nested more than %d deep", MAX_DEPTH);
  Block *outer = r->b->b;
  builder_at(r->b, b);
  OpKind want = nested ? OP_YIELD : OP_RETURN, kind = OP_KINDS;
  while (!take(r, '}')) {
    Loc here = loc_at(r, r->p, 1);
    if (r->p == r->end) return FAIL(r, here, "'}' is expected after a block, not %s", found(r));
    if (kind == want) return FAIL(r, here, "nothing follows %s in its block", op_info[kind].name);
    if (!op(r, &kind)) return false;
    if (op_info[kind].flags & OPF_TERMINATOR && kind != want)
      return FAIL(r, here, "this block ends in %s, not in %s", op_info[want].name,
                  op_info[kind].name);
  }
  if (kind != want)
    return FAIL(r, loc_at(r, r->p - 1, 1), "a block ends in %s", op_info[want].name);
  builder_at(r->b, outer);
  r->depth--;
  return true;
}

static Entry *begin_entry(Reader *r, const char *entry_name) {
  r->e = entry_new(r->m, entry_name, (Loc){0});
  r->b = builder_new(r->e, r->e->body);
  r->b->fold = false;
  r->names = names_new(r->c, r->scratch);
  r->map = (ValueMap){0};
  r->depth = 0;
  return r->e;
}

static bool entry(Reader *r) {
  Span w;
  const char *text = NULL;
  skip_blanks(r);
  Loc loc = loc_at(r, r->p, 1);
  if (next_is(r, '"')) {
    if (!string(r, &text)) return false;
  } else if (word(r, &w)) {
    text = intern_n(r->c, w.at, w.len);
    loc = w.loc;
  } else {
    return FAIL(r, loc, "an entry's name is expected, not %s", found(r));
  }
  for (uint32_t i = 0; i < r->m->entries.n; i++)
    if (r->m->entries.at[i]->name == text) return FAIL(r, loc, "there are two entries %s", text);
  Entry *e = begin_entry(r, text);
  if (!arguments(r, e->body)) return false;
  skip_blanks(r);
  const char *before = r->p;
  if (word(r, &w)) {
    if (span_is(w, "training") && r->p < r->end && !place_char(*r->p) && *r->p != ':')
      e->training = true;
    else
      r->p = before;
  }
  if (!optional_place(r, &e->loc) || !block(r, e->body, false)) return false;
  vec_push(r->m->arena, &r->m->entries, e);
  return true;
}

static bool init(Reader *r, Loc loc) {
  if (r->m->init) return FAIL(r, loc, "there are two init entries");
  Entry *e = begin_entry(r, "init");
  if (!optional_place(r, &e->loc) || !block(r, e->body, false)) return false;
  r->m->init = e;
  return true;
}

static bool global(Reader *r, GlobalKind kind) {
  Global g = {.kind = kind, .type = type_scalar(r->c, DT_F32)};
  Loc loc, number;
  const char *text;
  if (!next_is(r, '@'))
    return FAIL(r, loc_at(r, r->p, 1), "'@' and a path are expected, not %s", found(r));
  if (!name(r, &g.path, &loc)) return false;
  if (module_find_global(r->m, g.path) >= 0) return FAIL(r, loc, "@%s is declared twice", g.path);
  if (kind == GLOBAL_HYPER) {
    if (!expect(r, '=', "after a hyperparameter's name") || !number_text(r, &text, &number) ||
        !to_float(r, text, number, &g.value))
      return false;
  } else if (!expect(r, ':', "after a global's path") || !type(r, &g.type, &g.layout)) {
    return false;
  }
  if (!optional_place(r, &g.loc)) return false;
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
  if (!word(r, &w))
    return FAIL(r, loc_at(r, r->p, 1), "a global or an entry is expected, not %s", found(r));
  for (size_t i = 0; i < sizeof global_words / sizeof global_words[0]; i++)
    if (span_is(w, global_words[i].word)) return global(r, global_words[i].kind);
  if (span_is(w, "init")) return init(r, w.loc);
  if (span_is(w, "entry")) return entry(r);
  return FAIL(r, w.loc, "a global or an entry is expected, not '%.*s'", (int)w.len, w.at);
}

static bool module(Reader *r) {
  Span w;
  const char *source;
  if (!word(r, &w) || !span_is(w, "module"))
    return FAIL(r, loc_at(r, r->p, 1), "IR text begins with: module \"file.g\"");
  if (!string(r, &source)) return false;
  r->m->source = source;
  for (skip_blanks(r); r->p < r->end; skip_blanks(r))
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
