/* Random loops with gradients in their bodies: a scan gives what the same loop written with `for`
   gives, or gc refuses it. Contract: `scan_grad [COUNT [FIRST]]` makes COUNT programs from seed
   FIRST and exits with 1 after the first that differs, printed; also if too few were taken or
   refused for the test to say anything. Carries are rotated, take each other over, are made of what
   gradients are by, or of gradients; loops nest and stack rows; a param is updated.
   Rows are taken by counters, from the front and from the end. */
#include "lang/elab/elab.h"
#include "lang/syntax/ast.h"
#include "passes/passes.h"
#include "random_program.h"
#include "tests/level.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { NAMES = 5 }; /* v0 …: carried if a body gives them anew */

typedef struct Gen {
  FILE *f;
  uint64_t rng;
  int depth;  /* of loops */
  int locals; /* l0 … begun in the body */
  int loops;  /* so far */
} Gen;

static int below(Gen *g, int n) { return (int)random_below(&g->rng, n); }

static void name(Gen *g) {
  int k = below(g, NAMES + 3 + (g->depth ? g->locals : 0));
  if (k < NAMES)
    fprintf(g->f, "v%d", k);
  else if (k == NAMES)
    fputs("w", g->f);
  else if (k == NAMES + 1)
    fputs("x[0]", g->f);
  else if (k == NAMES + 2)
    fputs("net() as net", g->f);
  else
    fprintf(g->f, "l%d", k - NAMES - 3);
}

/* A row of x by counters, which may count from the end: counters are 0 to 2, and so many rows are.
 */
static void row(Gen *g) {
  static const char *const place[] = {"i%d", "i%d - 1", "-1 - i%d", "1 - 2 * i%d", "i%d %% 2 - 1"};
  int i = 1 + below(g, g->depth), k = below(g, 6);
  fputs("x[", g->f);
  if (k == 5)
    fprintf(g->f, "i%d - i%d", g->depth, i);
  else
    fprintf(g->f, place[k], i);
  fputc(']', g->f);
}

static void value(Gen *g, int size) {
  static const char *const form[] = {"(", "tanh(", "0.7 * (", "stop_gradient("};
  int k = below(g, size > 0 ? 9 : 2);
  if (k == 0 && g->depth) {
    row(g);
  } else if (k < 2) {
    fputc('(', g->f);
    name(g);
    fputc(')', g->f);
  } else if (k < 5) {
    fputs(form[below(g, 8) ? k - 2 : 3], g->f);
    value(g, size - 1);
    fputc(')', g->f);
  } else {
    fputc('(', g->f);
    value(g, size - 1);
    fputs(k < 7 ? " * " : " + ", g->f);
    value(g, size - 1);
    fputc(')', g->f);
  }
}

/* A name that a gradient can be by: not a row of its own. */
static void by(Gen *g) {
  int k = below(g, NAMES + 1 + g->locals);
  if (k < NAMES)
    fprintf(g->f, "v%d", k);
  else if (k == NAMES)
    fputs("w", g->f);
  else
    fprintf(g->f, "l%d", k - NAMES - 1);
}

static void gradient(Gen *g) {
  bool two = below(g, 3) == 0;
  int to = below(g, NAMES), second = below(g, NAMES);
  fputs(two ? "a, b = grad(sum(" : "a = grad(sum(", g->f);
  value(g, 2);
  fputs(two ? "), [" : "), ", g->f);
  by(g);
  if (two) {
    fputs(", ", g->f);
    by(g);
    fputc(']', g->f);
  }
  fputs(")\n", g->f);
  if (below(g, 8) == 0) return; /* nobody reads it */
  fprintf(g->f, "v%d = v%d + 0.3 * a\n", to, below(g, 2) ? to : second);
  if (two) fprintf(g->f, "v%d = tanh(b)\n", second);
}

static void update(Gen *g) {
  fputs("v0 = 0.2 * v0 + learn(", g->f);
  value(g, 1);
  fputs(") as net\n", g->f);
}

static void body(Gen *g);

static void loop(Gen *g) {
  int id = g->loops++, locals = g->locals, stacks = below(g, 4) == 0;
  if (stacks) fprintf(g->f, "rows%d = ", id);
  fprintf(g->f, "LOOP i%d in 0..%d {\n", g->depth + 1, 1 + below(g, 3));
  g->depth++;
  body(g);
  if (stacks) fprintf(g->f, "yield v%d\n", below(g, NAMES));
  g->depth--;
  g->locals = locals;
  fputs("}\n", g->f);
  if (stacks) fprintf(g->f, "v%d = sum(rows%d, axis = 0)\n", below(g, NAMES), id);
}

static void body(Gen *g) {
  for (int n = 1 + below(g, 5), k = 0; k < n; k++) {
    int what = below(g, 12);
    if (what < 2) {
      fprintf(g->f, "l%d = ", g->locals);
      value(g, 1);
      fputc('\n', g->f);
      g->locals++;
    } else if (what < 6) {
      fprintf(g->f, "v%d = ", below(g, NAMES));
      value(g, below(g, 3));
      fputc('\n', g->f);
    } else if (what < 10) {
      gradient(g);
    } else if (what == 10 && g->depth < 3) {
      loop(g);
    } else if (below(g, 3) == 0) {
      update(g);
    }
  }
}

static char *program(uint64_t seed, const char *loop_word) {
  char *text = NULL;
  size_t bytes = 0;
  Gen g = {.f = open_memstream(&text, &bytes), .rng = seed * 7919 + 1};
  if (!g.f) exit(3);
  fputs("def net() {\nparam p : f32[2] = normal()\nreturn p\n}\n"
        "def learn(v) {\nparam p : f32[2] = normal()\n"
        "p := p - 0.1 * grad(sum(tanh(p * v)), p)\nreturn p\n}\n"
        "entry e0(x : f32[3, 2], w : f32[2]) {\n",
        g.f);
  for (int k = 0; k < NAMES; k++) {
    int what = below(&g, 5);
    fprintf(g.f, "v%d = ", k);
    if (what == 0)
      fputs("zeros([2])\n", g.f);
    else if (what == 1)
      fputs("w\n", g.f);
    else if (what == 2 && k)
      fprintf(g.f, "v%d\n", below(&g, k));
    else
      fprintf(g.f, "0.%d * x[%d]\n", 3 + k, below(&g, 3));
  }
  loop(&g);
  if (below(&g, 2)) loop(&g);
  fputs("q = grad(sum(tanh(", g.f);
  value(&g, 2);
  fprintf(g.f, ")), v%d)\n", below(&g, NAMES));
  fputs("return v0, v1, v2, v3, v4, q, d = grad(sum((v0 + v1) * (v2 + v3) + v4), w)\n}\n", g.f);
  fclose(g.f);
  for (char *at = text; (at = strstr(at, "LOOP"));) memcpy(at, loop_word, 4);
  return text;
}

/* NULL: refused. */
static Module *compile(Ctx *c, char *text) {
  const Program *p = parse_text(c, "random.g", text, strlen(text));
  ElabOptions o = {0};
  return p ? elaborate(c, p, &o) : NULL;
}

static Tensor *run(Arena *a, Module *m, const char *pipeline, uint64_t seed, int *n) {
  PassOptions o = {.verify_each = true, .target = &random_target};
  if (!passes_run(m, pipeline, &o)) return NULL;
  const ValueId *v;
  const char *const *names;
  const Entry *e = m->entries.at[0];
  *n = entry_outputs(e, &v, &names);
  Tensor *out = ARENA_ARRAY(a, Tensor, *n + 1);
  Interp *it = interp_new(m, INTERP_F64, seed);
  if (m->init) interp_run(it, m->init, NULL, NULL);
  bool ok = interp_run(it, e, random_inputs(a, e, seed), out);
  for (int i = 0; ok && i < *n; i++) {
    size_t bytes = sizeof(Scalar) * (size_t)out[i].type->numel;
    out[i].at = memcpy(arena_alloc(a, bytes), out[i].at, bytes);
  }
  interp_free(it);
  return ok ? out : NULL;
}

/* Folding rounds constants to their f32. */
static bool close(const Tensor *x, const Tensor *y) {
  for (int64_t i = 0; i < x->type->numel; i++) {
    double a = x->at[i].f, b = y->at[i].f;
    if (!(fabs(a - b) <= 1e-5 * (1 + fabs(a) + fabs(b)))) return false;
  }
  return true;
}

typedef enum Fate { TAKEN, REFUSED, WRONG } Fate;

static Fate try(uint64_t seed) {
  char *scan = program(seed, "scan"), *unrolled = program(seed, "for ");
  Ctx *c = ctx_new(), *d = ctx_new();
  ctx_set_stream(c, NULL);
  ctx_set_stream(d, NULL);
  Fate fate = REFUSED;
  Module *n = compile(d, unrolled), *m = compile(c, scan);
  if (!n) {
    fprintf(stderr, "seed %llu: no program at all\n%s", (unsigned long long)seed, unrolled);
    fate = WRONG;
  } else if (m) {
    static const char *const pipeline[] = {"autodiff",
                                           "fold,hoist,cse,dce,autodiff,fold,hoist,cse,dce"};
    Arena *a = arena_new();
    int nx = 0, ny = 0;
    const Tensor *x = run(a, m, pipeline[seed % 2], seed, &nx),
                 *y = run(a, n, "autodiff", seed, &ny);
    bool same = x && y && nx == ny;
    for (int i = 0; same && i < nx; i++) same = close(&x[i], &y[i]);
    if (!same) fprintf(stderr, "seed %llu: not what for gives\n%s", (unsigned long long)seed, scan);
    arena_free(a);
    fate = same ? TAKEN : WRONG;
  }
  ctx_free(c);
  ctx_free(d);
  free(scan);
  free(unrolled);
  return fate;
}

int main(int argc, char **argv) {
  uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
  uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1, n[WRONG + 1] = {0};
  level_say(first, count);
  for (uint64_t i = 0; i < count && !n[WRONG]; i++) n[try(level_case(first, i, count))]++;
  printf("%llu taken, %llu refused\n", (unsigned long long)n[TAKEN],
         (unsigned long long)n[REFUSED]);
  if (n[WRONG]) return 1;
  if (n[TAKEN] >= count / 5 && n[REFUSED] >= count / 5) return 0;
  fprintf(stderr, "too few of one kind: this says nothing\n");
  return 1;
}
