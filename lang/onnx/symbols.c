/* Symbolic dimensions of the graph's inputs: the names that -D has for them, and their numbers or
   bounds. Contract: one dimension has one name. "past + 1" is an expression of `past` if -D does
   not name the dimension itself, `past_1`. */
#include "lang/onnx/import.h"

#include <ctype.h>
#include <stdlib.h>

static const char *symbol_name(Import *im, const char *dim, const char *input, size_t axis) {
  const char *wish = dim && *dim ? dim : arena_printf(im->a, "%s_%zu", input, axis);
  char *name = arena_strdup(im->a, wish);
  size_t k = 0;
  for (size_t i = 0; name[i]; i++)
    if (isascii((unsigned char)name[i]) && (isalnum((unsigned char)name[i]) || name[i] == '_'))
      name[k++] = name[i];
    else if (k && name[k - 1] != '_')
      name[k++] = '_';
  name[k] = 0;
  if (isdigit((unsigned char)name[0]) || !k) name = arena_printf(im->a, "d%s", name);
  /* one dimension has one name, and another dimension another one: "a-b" and "a_b" */
  const char *whole = intern(im->c, wish), *own = intern(im->c, name);
  uint32_t at;
  for (int i = 2; map_get(&im->dim_names, own, &at) && im->dim_of.at[at] != whole; i++)
    own = intern_printf(im->c, "%s_%d", name, i);
  if (map_get(&im->dim_names, own, &at)) return own;
  map_put(im->a, &im->dim_names, own, im->dim_of.n);
  vec_push(im->a, &im->dim_of, whole);
  return own;
}

/* The dimension of an input is `dim` without the blanks in it. */
static bool has_dim(const Import *im, const char *dim) {
  const Onnx__GraphProto *g = im->model->graph;
  for (size_t i = 0; i < g->n_input; i++) {
    const Onnx__TypeProto *t = g->input[i]->type;
    if (!t || !t->tensor_type || !t->tensor_type->shape) continue;
    for (size_t k = 0; k < t->tensor_type->shape->n_dim; k++) {
      const char *a = or_empty(t->tensor_type->shape->dim[k]->dim_param), *b = dim;
      while (*a && (*a == ' ' || *a == *b)) b += *a++ != ' ';
      if (!*a && !*b) return true;
    }
  }
  return false;
}

/* What -D '4*h<=64' bounds: the dimension 4*h if an input has it, else multiples h of 4. */
static OnnxDim bound_of(const Import *im, const OnnxDim *d) {
  const char *text = arena_printf(im->a, "%lld*%s", (long long)d->times, d->name);
  if (d->times == 1 || !has_dim(im, text)) return *d;
  return (OnnxDim){.name = d->name, .n = d->n / d->times, .bounded = d->bounded, .times = 1};
}

static bool symbolic_dim(Import *im, const char *name, const char *input, Axis *out) {
  for (int i = 0; i < im->nsymbols; i++)
    if (strcmp(im->symbols[i].wish, name) == 0)
      return *out = (Axis){.n = im->symbols[i].times, .symbol = i + 1}, true;
  for (int i = 0; i < im->ndims; i++) {
    if (strcmp(im->dims[i].name, name) != 0) continue;
    const OnnxDim d = bound_of(im, &im->dims[i]);
    if (!d.bounded || d.n == d.times) return *out = (Axis){.n = d.n}, true;
    if (im->nsymbols == MOST_SYMBOLS)
      return FAIL(im, "more than %d bounded dimensions", MOST_SYMBOLS);
    im->symbols[im->nsymbols++] = (Symbol){
        .name = name_new(im, name), .wish = name, .bound = d.n / d.times, .times = d.times};
    return *out = (Axis){.n = d.times, .symbol = im->nsymbols}, true;
  }
  if (name_is_in(im, &im->numberless, name)) return false;
  name_enter(im, &im->numberless, name);
  FAIL(im, "the dimension %s of the input %s has no number", name, input);
  diag(im->c, SEV_HINT, (Loc){0},
       im->used ? "as %3$s(%1$s = N), or as %3$s(%2$s <= N) for every number from 1 to N"
                : "-D %s=N, or -D '%s<=N' for every number from 1 to N",
       name, name, im->def);
  return false;
}

/* ---- expressions: "past + 1", "4*h", "(h + 1)//2" ---- */

enum { DEEPEST = 16, MOST_NAMES = 64 };
typedef VEC(const char *) NameList;
typedef struct Reader { /* of an expression, in numbers and names */
  Import *im;
  const char *s;     /* what is left */
  const char *input; /* of the graph, which has the dimension; NULL: is it an expression? */
  NameList names;    /* that stand in it */
  int depth, signs;  /* of parentheses; operators and parentheses that were read */
} Reader;

static bool skip(Reader *r, const char *what) {
  r->s += strspn(r->s, " \t");
  const size_t n = strlen(what);
  if (strncmp(r->s, what, n) != 0) return false;
  r->s += n;
  r->signs++;
  return true;
}

static bool sum(Reader *r, Axis *out);

static bool number_or_name(Reader *r, Axis *out) {
  r->s += strspn(r->s, " \t");
  const char *from = r->s;
  char *end;
  *out = (Axis){.n = 1};
  if (isdigit((unsigned char)*from)) {
    out->n = strtoll(from, &end, 10);
    r->s = end;
    return out->n <= INT32_MAX && !isalpha((unsigned char)*end) && *end != '_';
  }
  while (isascii((unsigned char)*r->s) && (isalnum((unsigned char)*r->s) || *r->s == '_')) r->s++;
  if (r->s == from || r->names.n == MOST_NAMES) return false;
  const char *name = arena_printf(r->im->a, "%.*s", (int)(r->s - from), from);
  vec_push(r->im->a, &r->names, name);
  return !r->input || symbolic_dim(r->im, symbol_name(r->im, name, r->input, 0), r->input, out);
}

static bool in_parentheses(Reader *r, Axis *out) {
  if (!skip(r, "(")) return number_or_name(r, out);
  if (++r->depth > DEEPEST || !sum(r, out) || !skip(r, ")")) return false;
  r->depth--;
  return true;
}

/* a // b, as Python has it, of numbers; of a bounded dimension without a rest. */
static bool quotient(Axis a, Axis b, Axis *out) {
  if (a.symbol || b.symbol) return dim_over(a, b, out);
  if (b.n < 1) return false;
  *out = (Axis){.n = a.n / b.n - (a.n % b.n < 0)};
  return true;
}

static bool product(Reader *r, Axis *out) {
  Axis next;
  if (!in_parentheses(r, out)) return false;
  while (true) {
    const bool times = skip(r, "*");
    if (!times && !skip(r, "//") && !skip(r, "/")) return true;
    if (!in_parentheses(r, &next)) return false;
    if (r->input && !(times ? dim_times(*out, next, out) : quotient(*out, next, out))) return false;
  }
}

/* A sign has blanks around it: "a-b" is a name. */
static bool sum(Reader *r, Axis *out) {
  Axis next;
  if (!product(r, out)) return false;
  while (true) {
    const bool less = skip(r, "- ");
    if (!less && !skip(r, "+ ")) return true;
    if (!product(r, &next)) return false;
    if (r->input && !dim_add(*out, next, less ? -1 : 1, out)) return false;
  }
}

/* The names that stand in a dimension that is an expression; else none: -D names it itself. */
static NameList names_within(Import *im, const char *dim, const char *name) {
  Reader r = {.im = im, .s = or_empty(dim)};
  Axis unused;
  for (int i = 0; i < im->ndims; i++)
    if (strcmp(im->dims[i].name, name) == 0) return (NameList){0};
  const bool whole = sum(&r, &unused) && !r.s[strspn(r.s, " \t")];
  return whole && r.signs ? r.names : (NameList){0};
}

bool symbol_of_input(Import *im, const char *dim, const char *input, size_t axis, Axis *out) {
  const char *name = symbol_name(im, dim, input, axis);
  if (!names_within(im, dim, name).n) return symbolic_dim(im, name, input, out);
  const Axis one = {.n = 1};
  Reader r = {.im = im, .s = dim, .input = input};
  const int64_t most = INT64_C(1) << 40;
  if (sum(&r, out) && dim_at_least(im, *out, one) && out->n <= most &&
      (!out->symbol || out->more >= 0))
    return true;
  if (!im->failed) {
    FAIL(im, "the dimension %s of the input %s is neither a number nor one dimension and more", dim,
         input);
    diag(im->c, SEV_HINT, (Loc){0}, "give numbers to its dimensions, or to all but one");
  }
  return false;
}

/* ---- all ---- */

static void name_once(Import *im, NameList *names, const char *name) {
  for (uint32_t j = 0; j < names->n; j++)
    if (strcmp(names->at[j], name) == 0) return;
  vec_push(im->a, names, name);
}

/* What -D names: the dimensions of the inputs, and those in the expressions that they are; each
   once. */
static NameList named_dims(Import *im) {
  const Onnx__GraphProto *g = im->model->graph;
  NameList out = {0};
  uint32_t at;
  for (size_t i = 0; i < g->n_input; i++) {
    const char *input = or_empty(g->input[i]->name);
    const Onnx__TypeProto *t = g->input[i]->type;
    if (map_get(&im->initializers, intern(im->c, input), &at) || !t || !t->tensor_type ||
        !t->tensor_type->shape)
      continue;
    for (size_t k = 0; k < t->tensor_type->shape->n_dim; k++) {
      const Onnx__TensorShapeProto__Dimension *d = t->tensor_type->shape->dim[k];
      if (d->has_dim_value) continue;
      const char *name = symbol_name(im, d->dim_param, input, k);
      const NameList within = names_within(im, d->dim_param, name);
      for (uint32_t j = 0; j < within.n; j++)
        name_once(im, &out, symbol_name(im, within.at[j], input, k));
      if (!within.n) name_once(im, &out, name);
    }
  }
  return out;
}

static bool has_number(const Import *im, const char *name) {
  for (int i = 0; i < im->ndims; i++)
    if (strcmp(im->dims[i].name, name) == 0) return true;
  return false;
}

/* A name that is misspelt leaves its dimension without a number, too: that is said once. */
bool symbols_check(Import *im) {
  const NameList names = named_dims(im);
  const char *all = "";
  bool ok = true;
  for (uint32_t j = 0; j < names.n; j++)
    all = arena_printf(im->a, "%s%s%s", all, j ? ", " : "", names.at[j]);
  for (int i = 0; i < im->ndims; i++) {
    bool there = false;
    for (uint32_t j = 0; j < names.n; j++) there |= strcmp(names.at[j], im->dims[i].name) == 0;
    if (there) continue;
    ok = FAIL(im, "no input has a dimension %s", im->dims[i].name);
    const char *near = nearest_name(im->c, im->dims[i].name, names.at, (int)names.n);
    if (near && !has_number(im, near)) name_enter(im, &im->numberless, near);
    if (near)
      diag(im->c, SEV_HINT, (Loc){0}, "did you mean '%s'? Dimensions with names: %s", near, all);
    else if (names.n)
      diag(im->c, SEV_HINT, (Loc){0}, "dimensions with names: %s", all);
  }
  return ok;
}
