/* Programs, mutated or grown from the grammar below, through the whole compiler:
   fuzz_source SECONDS SEED FILE.g... A program is refused with a diagnostic or compiled; see
   through.c for what must hold of it. The grammar makes mostly sound programs over few shapes, so
   that many come far; mutation then breaks them a little. */
#include "tests/fuzz/driver.h"
#include "tests/fuzz/through.h"

#include <stdbool.h>
#include <string.h>

/* $K in a text stands for a text of kind K; the first rule of a kind ends the growth. Kinds: P
   program, D declaration, L statement, B body of statements, S f32[4,4], V f32[4], X f32[], I
   i32[4], C bool[4,4], N integer below 4, M any number, T compile-time condition, A name of an
   instance, O optimizer, s v x i names of such values. */
typedef struct Rule {
  char kind;
  const char *text;
} Rule;

#define SIGNATURE                                                                                  \
  "s0 : f32[4, 4], s1 : f32[4, 4], v0 : f32[4], v1 : f32[4], x0 : f32[], x1 : f32[], i0 : "        \
  "i32[4], "                                                                                       \
  "i1 : i32[4]"

static const Rule rules[] = {
    {'P', "entry f(" SIGNATURE ") {\n$B$L  return $S, b = $V, c = $X, d = $I\n}\n"},
    {'P', "let K = $M\nhyper lr = 0.1\n$D$Dentry train(" SIGNATURE
          ") {\n$B$B  minimize $X with $O\n  return $X, y = $S\n}\n"},
    {'P', "let K = $N\n$Dentry train(" SIGNATURE
          ") {\n$B  minimize $X with $O\n$B  return $V, y = $S\n}\n"
          "entry test(" SIGNATURE ") {\n$B  return y = $S, z = $C\n}\n"},
    {'P', "def opt(p, g, r = 0.1) {\n  state m : f32[shape(p)] = zeros()\n  m := $M * m + g\n  p "
          ":= p - r * m\n}\n"
          "entry t(" SIGNATURE ") {\n$B$B  minimize $X with opt($M)\n  return $X\n}\n"},
    {'D', ""},
    {'D', "def g(x, k = $M) {\n  param w : f32[shape(x)] = $A()\n  return x * w + k\n}\n"},
    {'D', "def g(x : f32[a, b]) { return $A(x @ x', b) }\n"},
    {'D', "def h(x : [..., d], n) { return linear(x, n) as q }\n"},
    {'B', "$L"},
    {'B', "$L$L"},
    {'B', "$L$B"},
    {'L', "  $s = $S\n"},
    {'L', "  $v = $V\n"},
    {'L', "  $x = $X\n"},
    {'L', "  $i = $I\n"},
    {'L', "  $s = $S\n  $v = $V\n"},
    {'L', "  for i in 0..$N {\n  $L  $L  }\n"},
    {'L', "  if $T {\n  $L  } else {\n  $L  }\n"},
    {'L', "  param w$N : f32[4, 4] = normal()\n"},
    {'L', "  scope h[$N] {\n  $L  }\n"},
    {'L', "  param w : f32[4, 4] = glorot()\n  $s = $S @ w\n"},
    {'L', "  state m : f32[4] = zeros()\n  $v = $V + m\n  m := $V\n"},
    {'L', "  state n : f32[] = const($M)\n  n := n + $X\n  $x = n\n"},
    {'L', "  $s = for i in 0..4 { yield $V }\n"},
    {'L', "  p, q = split($S, 2, axis = $N % 2)\n  $s = concat([p, q], axis = $N % 2)\n"},
    {'S', "$s"},
    {'S', "$S + $S"},
    {'S', "$S * $S"},
    {'S', "$S - $V"},
    {'S', "$S / ($S + 2)"},
    {'S', "($S @ $S)"},
    {'S', "$S'"},
    {'S', "relu($S)"},
    {'S', "tanh($S)"},
    {'S', "exp($S)"},
    {'S', "softmax($S, axis = $N % 2)"},
    {'S', "log_softmax($S)"},
    {'S', "where($C, $S, $S)"},
    {'S', "linear($S, 4) as $A"},
    {'S', "layernorm($S) as $A"},
    {'S', "gelu($S)"},
    {'S', "concat([$S[:2], $S[2:4]])"},
    {'S', "reshape($S[1:3], [2, 2, 2]) |> sum(axis = 0) |> pad([1, 0], [1, 2])"},
    {'S', "pad($S[$N:, :2], [$N, 0], [0, 2])"},
    {'S', "stack([$V, $V, $V, $V], axis = $N % 2)"},
    {'S', "gather($S, $I)"},
    {'S', "one_hot($I, 4)"},
    {'S', "grad($X, $s)"},
    {'S', "f32($C)"},
    {'S', "stop_gradient($S)"},
    {'S', "normal(shape = [4, 4])"},
    {'S', "uniform($M, $M, shape(s0))"},
    {'S', "reverse($S, axis = $N % 2)"},
    {'S', "$S ** $M"},
    {'S', "f32(bf16($S))"},
    {'S', "f32(i32($S))"},
    {'S', "broadcast($V, [4, 4])"},
    {'S', "clamp($S, $M, $M)"},
    {'S', "$S % $S"},
    {'S', "($S if $T else $S)"},
    {'S', "transpose($S, [1, 0])"},
    {'S', "max($S, $S)"},
    {'S', "full([4, 4], $M)"},
    {'S', "$S[::-1]"},
    {'S', "($S |> reshape([16]) |> reshape([4, -1]))"},
    {'V', "$v"},
    {'V', "$V + $V"},
    {'V', "sum($S, axis = $N % 2)"},
    {'V', "mean($S, axis = -1)"},
    {'V', "max($S, axis = 0)"},
    {'V', "xent($S, $I)"},
    {'V', "$S[$N]"},
    {'V', "$S[:, $N]"},
    {'V', "($S @ $V)"},
    {'V', "($V @ $S)"},
    {'V', "sqrt(abs($V))"},
    {'V', "grad($X, $v)"},
    {'V', "f32($I)"},
    {'V', "var($S, axis = 1)"},
    {'V', "prod($S, axis = 1)"},
    {'V', "$X * $V"},
    {'V', "$V - $X"},
    {'V', "f32(iota(4))"},
    {'V', "reshape($S, [2, 2, 4]) |> sum(axis = [0, 1])"},
    {'X', "$x"},
    {'X', "sum($S)"},
    {'X', "mean($V)"},
    {'X', "max($V)"},
    {'X', "($V @ $V)"},
    {'X', "$V[$N]"},
    {'X', "mean(xent($S, $I))"},
    {'X', "$X * $X"},
    {'X', "mse($S, $S)"},
    {'X', "grad($X, $x)"},
    {'X', "f32($M)"},
    {'X', "mean($C)"},
    {'X', "sigmoid($X)"},
    {'X', "huber($S, $S)"},
    {'X', "$X - $M"},
    {'I', "$i"},
    {'I', "argmax($S)"},
    {'I', "argmin($S, axis = 0)"},
    {'I', "$I + $I"},
    {'I', "iota(4)"},
    {'I', "i32($V)"},
    {'I', "min($I, 3)"},
    {'I', "sum(i32($C), axis = 1)"},
    {'I', "i32(u8($I))"},
    {'I', "$I % 4"},
    {'C', "causal(4)"},
    {'C', "$S < $S"},
    {'C', "$S >= $M"},
    {'C', "($C and not $C)"},
    {'C', "($C or $C)"},
    {'C', "bernoulli(0.5, shape = [4, 4])"},
    {'C', "$S == $V"},
    {'N', "0"},
    {'N', "1"},
    {'N', "2"},
    {'N', "3"},
    {'M', "2"},
    {'M', "0.5"},
    {'M', "-1"},
    {'M', "1e-3"},
    {'M', "0"},
    {'M', "inf"},
    {'M', "($M + $M)"},
    {'M', "$N"},
    {'T', "true"},
    {'T', "training"},
    {'T', "$N < 2"},
    {'T', "not $T"},
    {'T', "dim(s0, 0) == $N"},
    {'A', "ones"},
    {'A', "glorot"},
    {'A', "zeros"},
    {'A', "a[$N]"},
    {'A', "linear"},
    {'A', "b[$N][$N]"},
    {'O', "sgd(0.1)"},
    {'O', "adamw(1e-3)"},
    {'O', "adam(0.1, b1 = 0.8)"},
    {'O', "sgd(0.1, momentum = 0.9, nesterov = true)"},
    {'O', "rmsprop(0.01)"},
    {'O', "adamw(cosine(0.1, 10), clip = 1)"},
    {'O', "lion(0.1)"},
    {'O', "adagrad(0.1)"},
    {'s', "s0"},
    {'s', "s1"},
    {'v', "v0"},
    {'v', "v1"},
    {'x', "x0"},
    {'x', "x1"},
    {'i', "i0"},
    {'i', "i1"},
};

enum { RULES = sizeof rules / sizeof rules[0], DEEPEST = 7 };

/* Expression rules are picked less often the deeper they stand, so that texts stay small. */
static void grow_kind(uint64_t *rng, char kind, int depth, FuzzText *out) {
  int first = 0, n = 0;
  while (first < RULES && rules[first].kind != kind) first++;
  while (first + n < RULES && rules[first + n].kind == kind) n++;
  bool end = depth >= DEEPEST || fuzz_below(rng, DEEPEST) < (uint64_t)(depth - 1);
  const char *p = rules[first + (end && kind < 'a' && kind != 'A' && kind != 'N' && kind != 'O'
                                     ? 0
                                     : (int)fuzz_below(rng, (uint64_t)n))]
                      .text;
  for (; *p; p++) {
    if (*p == '$')
      grow_kind(rng, *++p, depth + 1, out);
    else
      fuzz_append(out, p, 1);
  }
}

static void grow(uint64_t *rng, FuzzText *out) { grow_kind(rng, 'P', 0, out); }

static Through rest; /* set once, before any child starts */

static int run(const char *text, size_t n) { return through_source(&rest, text, n); }

int main(int argc, char **argv) {
  static const char *const words[] = {
#define BUILTIN(name, ...) name,
#include "lang/elab/builtin/builtins.def"
#undef BUILTIN
      "let",
      "hyper",
      "def",
      "entry",
      "use",
      "param",
      "state",
      "for",
      "scan",
      "in",
      "yield",
      "if",
      "else",
      "scope",
      "minimize",
      "with",
      "return",
      "training",
      "as",
      "and",
      "or",
      "not",
      "true",
      "false",
      "inf",
      "f32",
      "f16",
      "bf16",
      "f64",
      "i32",
      "i64",
      "u8",
      "bool",
      "|>",
      "..",
      "...",
      ":=",
      "==",
      "**",
      "@",
      "'",
      "axis = -1",
      "keep = true",
      "[]",
      "[0]",
      "[-1]",
      "[::-1]",
      "[:, 0]",
      "\"\"",
      "{",
      "}",
      "(",
      ")",
      "\n",
      ";",
      ",",
      " : f32[n, d]",
      "linear",
      "embed",
      "layernorm",
      "adamw",
      "sgd",
      "adam",
      "mse",
      "bce",
      "glorot()",
      "normal(std = 2)",
      "clip = 1",
      "K",
      "s0",
      "v0",
      "x0",
      "i0",
      "w",
      "m",
      "lr",
      "step",
      NULL};
  const FuzzTarget t = {.name = "source",
                        .suffix = "g",
                        .run = run,
                        .stages = through_source_stages,
                        .words = words,
                        .grow = grow};
  through_open(&rest);
  return fuzz_main(&t, argc, argv);
}
