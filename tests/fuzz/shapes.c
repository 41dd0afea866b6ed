/* Each built-in function on absurd shapes that types allow: axes of 2^31, 2^56 and more beside
   small ones, lists and numbers to match, and the gradient by a random argument. fuzz_shapes
   SECONDS SEED FILE.g... A call is refused with a diagnostic, or compiled; see through.c. Calls
   come from the table of built-in functions alone, so a new one is tried by itself. */
#include "lang/elab/elab.h"
#include "tests/fuzz/driver.h"
#include "tests/fuzz/through.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static const struct {
  const char *name, *args;
} builtin[] = {
#define BUILTIN(NAME, ARGS, HANDLER, DATA, HELP) {NAME, ARGS},
#include "lang/elab/builtin/builtins.def"
#undef BUILTIN
};

enum { MOST_RANK = 5, BUILTINS = sizeof builtin / sizeof *builtin };

static const char *const small[] = {"1", "2", "3", "4", "8", "13", "64", "97"};
static const char *const large[] = {"65536",
                                    "1000003",
                                    "2147483647",
                                    "2147483648",
                                    "4294967311",
                                    "1099511627776",
                                    "72057594037927936",
                                    "1152921504606846976",
                                    "4611686018427387904",
                                    "9223372036854775807"};

typedef struct Shape {
  int rank;
  const char *dim[MOST_RANK];
} Shape;

#define PICK(LIST, RNG) (LIST)[fuzz_below(RNG, sizeof(LIST) / sizeof *(LIST))]

static void say(FuzzText *t, const char *s) { fuzz_append(t, s, strlen(s)); }

static const char *some_dim(uint64_t *rng, int one_in) {
  return fuzz_below(rng, (uint64_t)one_in) ? PICK(small, rng) : PICK(large, rng);
}

static Shape some_shape(uint64_t *rng) {
  Shape s = {.rank = (int)fuzz_below(rng, MOST_RANK + 1)};
  for (int i = 0; i < s.rank; i++) s.dim[i] = some_dim(rng, 4);
  return s;
}

/* The first argument's, or one that a second operand may have: turned, without an axis, with an
 * extent of its own. */
static Shape shape_like(uint64_t *rng, Shape s) {
  switch (fuzz_below(rng, 6)) {
  case 0: return some_shape(rng);
  case 1:
    if (s.rank > 1) {
      const char *last = s.dim[s.rank - 1];
      s.dim[s.rank - 1] = s.dim[s.rank - 2], s.dim[s.rank - 2] = last;
    }
    return s;
  case 2:
    if (s.rank > 0) s.rank--;
    return s;
  case 3:
    if (s.rank > 0) s.dim[fuzz_below(rng, (uint64_t)s.rank)] = some_dim(rng, 2);
    return s;
  default: return s;
  }
}

static void say_list(FuzzText *t, uint64_t *rng, int one_in) {
  static const char *const odd[] = {"0", "-1", "-2"};
  int n = (int)fuzz_below(rng, 5);
  if (n == 0) {
    say(t, fuzz_below(rng, 5) ? some_dim(rng, one_in) : PICK(odd, rng));
    return;
  }
  say(t, "[");
  for (int i = 0; i < n; i++) {
    if (i) say(t, ", ");
    say(t, fuzz_below(rng, 6) ? some_dim(rng, one_in) : PICK(odd, rng));
  }
  say(t, "]");
}

typedef struct Call {
  FuzzText text, params;
  Shape first;
  int tensors;
  bool floats; /* the first argument */
} Call;

static void say_tensor(Call *c, uint64_t *rng, const char *kind) {
  static const char *const floats[] = {"f32", "f32", "f16", "bf16", "f64"},
                           *const ints[] = {"i32", "i64", "u8"}, *const any[] = {"f32", "f32",
                                                                                 "f32", "i32",
                                                                                 "u8",  "bool",
                                                                                 "f16"};
  char name[16];
  snprintf(name, sizeof name, "t%d", c->tensors);
  say(&c->text, name);
  Shape s = c->tensors ? shape_like(rng, c->first) : some_shape(rng);
  const char *dtype = strcmp(kind, "float") == 0        ? PICK(floats, rng)
                      : strcmp(kind, "int_tensor") == 0 ? PICK(ints, rng)
                                                        : PICK(any, rng);
  if (!c->tensors) c->first = s, c->floats = strchr(dtype, 'f') != NULL;
  say(&c->params, c->tensors++ ? ", " : "");
  say(&c->params, name);
  say(&c->params, " : ");
  say(&c->params, dtype);
  say(&c->params, "[");
  for (int i = 0; i < s.rank; i++) {
    if (i) say(&c->params, ", ");
    say(&c->params, s.dim[i]);
  }
  say(&c->params, "]");
}

static void say_argument(Call *c, uint64_t *rng, const char *kind) {
  static const char *const axes[] = {"0", "1", "-1", "-2", "[0, 1]", "[-1]", "4"};
  static const char *const numbers[] = {"0", "1", "0.5", "-1", "1e38"};
  static const char *const dtypes[] = {"f32", "f16", "i32", "i64", "u8", "i8", "bool", "f64"};
  static const char *const specs[] = {"\"ij,jk->ik\"", "\"ij->ji\"", "\"bij,bjk->bik\"",
                                      "\"i,j->ij\"", "\"ij,ij->\""};
  if (strcmp(kind, "int") == 0 || strcmp(kind, "axes") == 0)
    say(&c->text, fuzz_below(rng, 8) ? PICK(axes, rng) : some_dim(rng, 1));
  else if (strcmp(kind, "count") == 0)
    say(&c->text, some_dim(rng, 3));
  else if (strcmp(kind, "ints") == 0 || strcmp(kind, "shape") == 0 || strcmp(kind, "declared") == 0)
    say_list(&c->text, rng, 3);
  else if (strcmp(kind, "num") == 0)
    say(&c->text, PICK(numbers, rng));
  else if (strcmp(kind, "bool") == 0)
    say(&c->text, fuzz_below(rng, 2) ? "true" : "false");
  else if (strcmp(kind, "dtype") == 0)
    say(&c->text, PICK(dtypes, rng));
  else if (strcmp(kind, "str") == 0)
    say(&c->text, PICK(specs, rng));
  else if (strcmp(kind, "list") == 0) {
    say(&c->text, "[");
    say_tensor(c, rng, "tensor");
    say(&c->text, ", ");
    say_tensor(c, rng, "tensor");
    say(&c->text, "]");
  } else if (strcmp(kind, "any") == 0 && fuzz_below(rng, 4) == 0)
    say_list(&c->text, rng, 3);
  else
    say_tensor(c, rng, kind);
}

static void grow(uint64_t *rng, FuzzText *out) {
  static Call c; /* of one thread; too large for a stack frame */
  c.text.n = c.params.n = 0, c.tensors = 0, c.floats = false;
  int b = (int)fuzz_below(rng, BUILTINS);
  say(&c.text, builtin[b].name);
  say(&c.text, "(");
  bool any = false;
  for (const char *p = builtin[b].args; *p; p += strspn(p, " ")) {
    size_t whole = strcspn(p, " "), name = strcspn(p, ":");
    char word[64], kind[32];
    snprintf(word, sizeof word, "%.*s", (int)name, p);
    snprintf(kind, sizeof kind, "%.*s", (int)(strcspn(p, "= ") - name - 1), p + name + 1);
    bool optional = memchr(p, '=', whole) != NULL;
    p += whole;
    if (optional && fuzz_below(rng, 2)) continue;
    if (any) say(&c.text, ", ");
    if (optional && strcmp(kind, "rest") != 0) {
      say(&c.text, word);
      say(&c.text, " = ");
    }
    any = true;
    say_argument(&c, rng, kind);
  }
  say(&c.text, ")");
  say(out, "entry f(");
  fuzz_append(out, c.params.at, c.params.n);
  say(out, ") {\n  y = ");
  fuzz_append(out, c.text.at, c.text.n);
  say(out, c.floats && fuzz_below(rng, 2) ? "\n  return y = y, d = grad(sum(f32(y)), t0)\n}\n"
                                          : "\n  return y = y\n}\n");
}

static Through rest; /* set once, before any child starts */

static int run(const char *text, size_t n) { return through_source(&rest, text, n); }

int main(int argc, char **argv) {
  static const char *const words[] = {"1",   "0",   "-1",  "2147483648", "[0]",
                                      "f32", "f16", "i32", "axis = 0",   NULL};
  const FuzzTarget t = {.name = "shapes",
                        .suffix = "g",
                        .run = run,
                        .stages = through_source_stages,
                        .words = words,
                        .grow = grow};
#ifndef __SANITIZE_ADDRESS__
  const struct rlimit memory = {(rlim_t)4 << 30,
                                (rlim_t)4 << 30}; /* what is absurd must not be allocated */
  setrlimit(RLIMIT_AS, &memory);
#endif
  through_open(&rest);
  return fuzz_main(&t, argc, argv);
}
