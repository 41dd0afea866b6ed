/* Symbolic dimensions of the graph's inputs: the names that -D has for them, and their numbers or
   bounds. Contract: one dimension has one name. "past + 1" is a sum if `past` is the dimension of
   another axis and -D does not name the sum itself, `past_1`. */
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

static bool symbolic_dim(Import *im, const char *name, const char *input, Axis *out) {
  for (int i = 0; i < im->nsymbols; i++)
    if (strcmp(im->symbols[i].wish, name) == 0)
      return *out = (Axis){im->symbols[i].times, i + 1, 0}, true;
  for (int i = 0; i < im->ndims; i++) {
    const OnnxDim *d = &im->dims[i];
    if (strcmp(d->name, name) != 0) continue;
    if (!d->bounded || d->n == d->times) return *out = (Axis){.n = d->n}, true;
    if (im->nsymbols == MOST_SYMBOLS)
      return FAIL(im, "more than %d bounded dimensions", MOST_SYMBOLS);
    im->symbols[im->nsymbols++] = (Symbol){
        .name = name_new(im, name), .wish = name, .bound = d->n / d->times, .times = d->times};
    return *out = (Axis){d->times, im->nsymbols, 0}, true;
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

/* ---- sums ---- */

static bool is_dim(const Import *im, const char *name) {
  const Onnx__GraphProto *g = im->model->graph;
  uint32_t at;
  for (size_t i = 0; i < g->n_input; i++) {
    const Onnx__TypeProto *t = g->input[i]->type;
    if (!t || !t->tensor_type || !t->tensor_type->shape ||
        map_get(&im->initializers, intern(im->c, or_empty(g->input[i]->name)), &at))
      continue;
    for (size_t k = 0; k < t->tensor_type->shape->n_dim; k++)
      if (strcmp(or_empty(t->tensor_type->shape->dim[k]->dim_param), name) == 0) return true;
  }
  return false;
}

static const char *behind_blanks(const char *s) { return s + strspn(s, " \t"); }

/* One term of a sum: "past", "4" or "2*past". At *s, which is put behind it; an input of NULL: is
   it one? */
static bool term(Import *im, const char *input, const char **s, Axis *out) {
  const char *p = behind_blanks(*s);
  int64_t times = 1;
  if (isdigit((unsigned char)*p)) {
    char *end;
    times = strtoll(p, &end, 10);
    p = behind_blanks(end);
    if (times < 1 || times > INT32_MAX) return false;
    if (*p != '*') return *s = p, *out = (Axis){.n = times}, true;
    p = behind_blanks(p + 1);
  }
  size_t n = strcspn(p, " \t*");
  const char *name = arena_printf(im->a, "%.*s", (int)n, p);
  *s = behind_blanks(p + n);
  *out = (Axis){.n = 1};
  if (!n || !is_dim(im, name)) return false;
  return !input || (symbolic_dim(im, symbol_name(im, name, input, 0), input, out) &&
                    dim_times(*out, (Axis){.n = times}, out));
}

static bool sum(Import *im, const char *input, const char *dim, Axis *out) {
  Axis next;
  const char *s = dim;
  if (!term(im, input, &s, out)) return false;
  while (*s) {
    const int sign = *s == '-' ? -1 : 1;
    if ((*s != '+' && *s != '-') || s[1] != ' ') return false;
    s++;
    if (!term(im, input, &s, &next) || !dim_add(*out, next, sign, out)) return false;
  }
  return true;
}

static bool is_sum(Import *im, const char *dim, const char *name) {
  Axis unused;
  bool named = !dim || !strpbrk(dim, "+-*");
  for (int i = 0; i < im->ndims; i++) named |= strcmp(im->dims[i].name, name) == 0;
  return !named && sum(im, NULL, dim, &unused);
}

/* An entry declares n by an axis of n, or of n and more. */
static bool stands_first(Import *im, const char *dim, const char *input, Axis d) {
  const char *name = im->symbols[d.symbol - 1].wish;
  FAIL(im, "the dimension %s of the input %s stands in front of %s", dim, input, name);
  diag(im->c, SEV_HINT, (Loc){0}, "-D %s=N", name);
  return false;
}

bool symbol_of_input(Import *im, const char *dim, const char *input, size_t axis, Axis *out) {
  const char *name = symbol_name(im, dim, input, axis);
  if (!is_sum(im, dim, name)) return symbolic_dim(im, name, input, out);
  const Axis one = {.n = 1};
  const int before = im->nsymbols;
  if (sum(im, input, dim, out) && dim_at_least(im, *out, one) && (!out->symbol || out->more >= 0))
    return im->used || out->n == 1 || out->symbol <= before || stands_first(im, dim, input, *out);
  if (!im->failed) {
    FAIL(im, "the dimension %s of the input %s is neither a number nor one dimension and more", dim,
         input);
    diag(im->c, SEV_HINT, (Loc){0}, "give numbers to all of its dimensions but one");
  }
  return false;
}

/* ---- all ---- */

typedef VEC(const char *) NameList;

/* The dimensions of the inputs that have names and are no sums of others, each once. */
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
      bool there = is_sum(im, d->dim_param, name);
      for (uint32_t j = 0; j < out.n; j++) there |= strcmp(out.at[j], name) == 0;
      if (!there) vec_push(im->a, &out, name);
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
