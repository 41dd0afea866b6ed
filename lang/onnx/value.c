/* Values of a graph: shapes, known numbers, and names of the program.
   Contract: variables and paths are unique, and none hides a function or a word of the language. */
#include "ir/ir.h"
#include "ir/support/checked.h"
#include "lang/elab/elab.h"
#include "lang/onnx/graph.h"

#include <ctype.h>

/* ---- shapes ---- */

Shape shape_of(int rank, const int64_t *dims) {
  Shape s = {.rank = rank};
  for (int i = 0; i < rank; i++) s.at[i].n = dims[i];
  return s;
}

bool is_empty(const Shape *s) {
  for (int i = 0; i < s->rank; i++)
    if (!s->at[i].n) return true;
  return false;
}

bool dim_same(Axis a, Axis b) {
  return a.n == b.n && a.symbol == b.symbol && a.more == b.more && a.counted == b.counted;
}

bool shape_same(const Shape *a, const Shape *b) {
  bool same = a->rank == b->rank;
  for (int i = 0; same && i < a->rank; i++) same = dim_same(a->at[i], b->at[i]);
  return same;
}

bool shapes_broadcast(const Shape *a, const Shape *b, Shape *out) {
  Shape s = {.rank = a->rank > b->rank ? a->rank : b->rank};
  for (int i = 1; i <= s.rank; i++) {
    const Axis one = {.n = 1}, x = i <= a->rank ? a->at[a->rank - i] : one,
               y = i <= b->rank ? b->at[b->rank - i] : one;
    if (!dim_same(x, y) && !dim_same(x, one) && !dim_same(y, one)) return false;
    s.at[s.rank - i] = dim_same(x, one) ? y : x;
  }
  *out = s;
  return true;
}

bool dim_product(const Shape *s, int from, int to, Axis *out) {
  *out = (Axis){.n = 1};
  for (int i = from; i < to; i++)
    if (s->at[i].counted || !dim_times(*out, s->at[i], out)) return false;
  return true;
}

const char *dim_text(Import *im, Axis d) {
  if (!d.symbol) return arena_printf(im->a, "%lld", (long long)d.n);
  const char *name = im->symbols[d.symbol - 1].name;
  if (d.n != 1) name = arena_printf(im->a, "%lld * %s", (long long)d.n, name);
  if (!d.more) return name;
  return arena_printf(im->a, "%s %c %lld", name, d.more < 0 ? '-' : '+',
                      (long long)(d.more < 0 ? -d.more : d.more));
}

const char *shape_text(Import *im, const Shape *s) {
  const char *t = "";
  for (int i = 0; i < s->rank; i++)
    t = arena_printf(im->a, "%s%s%s", t, i ? ", " : "", dim_text(im, s->at[i]));
  return arena_printf(im->a, "[%s]", t);
}

/* ---- values ---- */

enum { DROPPED = INT32_MAX };

Tensor *value_new(Import *im, int type, const Shape *s) {
  Tensor *v = ARENA_NEW(im->a, Tensor);
  v->type = type;
  if (s) v->shape = *s;
  v->wish = "t";
  return v;
}

Tensor *value_named(Import *im, const char *name) {
  uint32_t i;
  bool there = map_get(&im->values, intern(im->c, name), &i) && i != DROPPED;
  return there ? im->value.at[i] : NULL;
}

void value_drop(Import *im, const char *name) {
  map_put(im->a, &im->values, intern(im->c, name), DROPPED);
}

void value_put(Import *im, const char *name, Tensor *v) {
  map_put(im->a, &im->values, intern(im->c, name), im->value.n);
  vec_push(im->a, &im->value, v);
}

const Number *known_of(Import *im, Tensor *v) {
  const char *why;
  if (!v->known && v->tensor) v->known = tensor_numbers(im, v->tensor, &why);
  return v->known;
}

bool is_one_number(Import *im, Tensor *v, Number *out) {
  uint64_t n;
  if (!shape_count(&v->shape, &n) || !n || n > MOST_KNOWN) return false;
  const Number *x = known_of(im, v);
  for (uint64_t i = 1; x && i < n; i++)
    if (x[i].i != x[0].i || x[i].symbol != x[0].symbol || x[i].more != x[0].more ||
        memcmp(&x[i].f, &x[0].f, sizeof x->f) != 0)
      return false;
  if (x) *out = *x;
  return x != NULL;
}

/* ---- names ---- */

static bool is_letter(char c) {
  return isascii((unsigned char)c) && (isalnum((unsigned char)c) || c == '_');
}

static const char *const words[] = {
#define WORD(token, spelling) spelling,
#include "lang/syntax/words.def"
#undef WORD
    "net", "predict", "step", "training", "update", "like", "shared", "none"};

void names_reserve(Import *im) {
  Ctx *c = im->c;
  const char *source, *name;
  for (int i = 0; i < builtin_count(); i++)
    map_put(im->a, &im->names, intern(c, builtin_name(i)), NAME_FUNCTION);
  for (int i = 0; (source = prelude_text(c, i, &name)); i++)
    for (const char *p = source; (p = strstr(p, "\ndef ")); p++) {
      size_t n = 0;
      while (is_letter(p[5 + n])) n++;
      map_put(im->a, &im->names, intern_n(c, p + 5, n), NAME_FUNCTION);
    }
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    map_put(im->a, &im->names, intern(c, words[i]), NAME_WORD);
  for (int i = 0; i < DTYPES; i++) map_put(im->a, &im->names, intern(c, dtype_name((Dtype)i)), 0);
}

static const char *unique(Import *im, Map *taken, const char *name) {
  const char *try = intern(im->c, name), *first = try;
  Map *next = taken == &im->names ? &im->next_name : &im->next_path;
  uint32_t used, i = 2;
  bool again = map_get(next, first, &i); /* all before it are taken */
  for (; map_get(taken, try, &used); i++) try = intern_printf(im->c, "%s_%u", name, i);
  if (again || try != first) map_put(im->a, next, first, i);
  map_put(im->a, taken, try, NAME_VARIABLE);
  return try;
}

enum { LONGEST = 120 };

/* Letters, digits and _; at most `n` bytes of s. */
static const char *identifier(Import *im, const char *s, size_t n) {
  char t[LONGEST + 2];
  size_t k = 0;
  if (n && isdigit((unsigned char)s[0])) t[k++] = '_';
  for (size_t i = 0; i < n && k < LONGEST; i++)
    if (is_letter(s[i]))
      t[k++] = s[i];
    else if (k && t[k - 1] != '_')
      t[k++] = '_';
  while (k > 1 && t[k - 1] == '_') k--;
  t[k] = 0;
  return intern(im->c, k ? t : "t");
}

const char *name_new(Import *im, const char *wish) {
  while (*wish == '/' || *wish == ':') wish++;
  return unique(im, &im->names, identifier(im, wish, strlen(wish)));
}

/* A part of a path: no word of the language, and the last one no function's name, since it is a
   variable where the param is declared. */
static const char *part(Import *im, const char *s, size_t n, bool last) {
  const char *name = identifier(im, s, n);
  uint32_t what;
  bool taken =
      map_get(&im->names, name, &what) && (what == NAME_WORD || (last && what == NAME_FUNCTION));
  return taken ? intern_printf(im->c, "%s_", name) : name;
}

const char *path_new(Import *im, const char *wish) {
  const char *path = "", *last = "";
  for (const char *p = wish; *p;) {
    p += strspn(p, "./:");
    size_t n = strcspn(p, "./:"), digits = strspn(p, "0123456789");
    bool end = !p[n + strspn(p + n, "./:")];
    if (!n) break;
    bool index = digits == n && *path && !end && n < 9 && (p[0] != '0' || n == 1) &&
                 !isdigit((unsigned char)last[0]);
    last = index ? arena_printf(im->a, "%.*s", (int)n, p) : part(im, p, n, end);
    path = arena_printf(im->a, "%s%s%s", path, *path ? "." : "", last);
    p += n;
  }
  path = unique(im, &im->paths, *path ? path : "w");
  const char *dot = strrchr(path, '.'), *leaf = intern(im->c, dot ? dot + 1 : path);
  uint32_t what;
  if (!map_get(&im->names, leaf, &what)) map_put(im->a, &im->names, leaf, NAME_VARIABLE);
  return path;
}
