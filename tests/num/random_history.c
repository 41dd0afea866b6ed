#include "tests/num/random_history.h"
#include "tests/num/random_program.h"
#include "tests/num/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 3 }; /* carries of a loop */

typedef struct Gen {
  FILE *f;
  uint64_t rng;
  int carries, stacks; /* of this loop; so far */
} Gen;

static int below(Gen *g, int n) { return (int)random_below(&g->rng, n); }

static void carry(Gen *g) { fprintf(g->f, "v%d", below(g, g->carries)); }

/* What the backward pass needs of these: the carry before, the new one, or neither. The last one is
   a row that lies elsewhere. */
static void next_value(Gen *g) {
  static const char *const form[] = {"tanh(%s @ w + x[i])",
                                     "sigmoid(%s * x[i])",
                                     "0.5 * %s + x[i]",
                                     "tanh(%s) * 0.9",
                                     "relu(%s @ w)",
                                     "%s * %s",
                                     "x[1]"};
  char from[8];
  snprintf(from, sizeof from, "v%d", below(g, g->carries));
  const char *how = form[below(g, sizeof form / sizeof *form)];
  for (const char *at = how; *at; at++)
    if (at[0] == '%')
      fputs(from, g->f), at++;
    else
      fputc(*at, g->f);
}

static void loop(Gen *g) {
  static const char *const begin[] = {"zeros([R, C])", "h0", "0.5 * x[0]", "ones([R, C])"};
  g->carries = 1 + below(g, MOST);
  for (int k = 0; k < g->carries; k++) fprintf(g->f, "v%d = %s\n", k, begin[below(g, 4)]);
  bool stacks = below(g, 3) > 0, early = below(g, 2);
  if (stacks) fprintf(g->f, "s%d = ", g->stacks);
  fputs("scan i in 0..T {\n", g->f);
  if (early) fputs("old = v0\n", g->f);
  for (int k = 0; k < g->carries; k++) {
    fprintf(g->f, "v%d = ", k);
    next_value(g);
    fputc('\n', g->f);
  }
  static const char *const stacked[] = {"v0", "old * 0.5 + v0", "x[1]", "x[T - 1]"};
  if (stacks) fprintf(g->f, "yield %s\n", stacked[early ? 1 : below(g, 3) ? 0 : 2 + below(g, 2)]);
  fputs("}\nloss = loss + sum(", g->f);
  carry(g);
  fputs(" * h0)\n", g->f);
  if (stacks && below(g, 2)) fprintf(g->f, "loss = loss + sum(s%d * x)\n", g->stacks);
  if (stacks && below(g, 2)) fprintf(g->f, "loss = loss + sum(s%d[1:] * x[:-1])\n", g->stacks);
  g->stacks += stacks;
}

static void end(Gen *g) {
  static const char *const rows[] = {"x[1:]", "x[:-1]", "(x * 2)[1:]", "tanh(x)[:-1]"};
  fputs("dw, dh, dx = grad(loss, [w, h0, x])\n", g->f);
  if (below(g, 3) == 0) fputs("kept := dx[1:]\n", g->f);
  fprintf(g->f, "return loss, dw, dh, dx, some = %s", rows[below(g, 4)]);
  if (g->stacks) fprintf(g->f, ", stack = s%d%s", below(g, g->stacks), below(g, 2) ? "[:-1]" : "");
  fputs("\n}\n", g->f);
}

Module *random_history(Ctx *c, uint64_t seed) {
  /* rows of 256 bytes and multiples, and others */
  static const int rows[] = {1, 2, 4, 8, 3, 5}, columns[] = {64, 32, 16, 8, 7, 16};
  char *text = NULL;
  size_t bytes = 0;
  Gen g = {.f = open_memstream(&text, &bytes), .rng = seed * 7919 + 1};
  if (!g.f) exit(3);
  int size = below(&g, 6), trips = 6 + below(&g, 6);
  fprintf(g.f, "let T = %d\nlet R = %d\nlet C = %d\n", trips, rows[size], columns[size]);
  fputs("entry e0(x : f32[T, R, C], w : f32[C, C], h0 : f32[R, C]) {\n"
        "state kept : f32[T - 1, R, C] = zeros()\n"
        "loss = sum(h0) + 0.1 * sum(w * w) + 0.1 * sum(x * x)\n",
        g.f);
  for (int n = 1 + below(&g, 3); n > 0; n--) loop(&g);
  end(&g);
  fclose(g.f);
  Module *m = source_text(c, "history.g", text, bytes);
  free(text);
  return m;
}
