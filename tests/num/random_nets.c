#include "tests/num/random_nets.h"
#include "tests/num/random_program.h"
#include "tests/num/source.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct Gen {
  FILE *f;
  uint64_t rng;
} Gen;

static int below(Gen *g, int n) { return (int)random_below(&g->rng, n); }

static const char *one_of(Gen *g, const char *const *at, int n) { return at[below(g, n)]; }
#define ONE_OF(G, AT) one_of(G, AT, sizeof(AT) / sizeof *(AT))

/* A part of some of these: gradients by fewer values leave more to rewrite. */
static void gradients(Gen *g, const char *const *by, int n) {
  fputs("return loss", g->f);
  for (int i = 0; i < n; i++)
    if (below(g, 2)) fprintf(g->f, ", d%s = grad(loss, %s)", by[i], by[i]);
  fputs("\n}\n", g->f);
}

/* Rows of a table, a layer or two, a loss of every row. */
static void words(Gen *g) {
  static const char *const more[] = {"h = tanh(h)\n", "h = relu(h + b)\n", ""};
  static const char *const losses[] = {"mean(xent(h @ v, label % K))", "sum((h @ v) ** 2)",
                                       "sum(tanh(h @ v + c))",
                                       "mean(xent((h @ v) * 0.5 + c, label % K)) + sum(h)"};
  static const char *const by[] = {"table", "w", "v", "b", "c"};
  fprintf(g->f, "let N = %d\nlet R = %d\nlet D = %d\nlet H = %d\nlet K = %d\n",
          4 * (1 + below(g, 4)), 1 + below(g, 5), 1 + below(g, 4), 1 + below(g, 4),
          2 + below(g, 12));
  fputs("entry e0(ids : i32[N], label : i32[N], table : f32[R, D], w : f32[D, H], b : f32[H], v : "
        "f32[H, K], c : f32[K]) {\n"
        "h = gather(table, ids % R) @ w\n",
        g->f);
  fputs(ONE_OF(g, more), g->f);
  fprintf(g->f, "loss = %s + sum(b) + sum(c)\n", ONE_OF(g, losses));
  gradients(g, by, 5);
}

/* Images in two parts, convolved, perhaps pooled, and convolved again. */
static void images(Gen *g) {
  static const char *const parts[] = {"concat([x, y], axis = 1)", "concat([y, x, y], axis = 1)",
                                      "relu(concat([x, y], axis = 1))", "x"};
  static const char *const pools[] = {"max_pool(relu(h), [2, 2])", "avg_pool(tanh(h), [2, 2])",
                                      "relu(h)", "max_pool(h, [2, 2])"};
  static const char *const channels[] = {"A + B", "A + 2 * B", "A + B", "A"};
  static const char *const by[] = {"x", "y", "w", "v"};
  int part = below(g, 4);
  fprintf(g->f, "let N = %d\nlet A = %d\nlet B = %d\nlet O = %d\n", 1 + below(g, 4),
          1 + below(g, 3), 1 + below(g, 3), below(g, 6) ? 1 + below(g, 4) : 32);
  fprintf(g->f,
          "entry e0(x : f32[N, A, 4, 4], y : f32[N, B, 4, 4], w : f32[O, %s, 3, 3], v : f32[2, O, "
          "1, 1]) {\n"
          "h = conv2d(%s, w, pad = 1)\nh = %s\nloss = sum(conv2d(h, v) ** 2) + sum(y)\n",
          channels[part], parts[part], ONE_OF(g, pools));
  gradients(g, by, 4);
}

Module *random_net(Ctx *c, uint64_t seed) {
  char *text = NULL;
  size_t bytes = 0;
  Gen g = {.f = open_memstream(&text, &bytes), .rng = seed * 6271 + 1};
  if (!g.f) exit(3);
  if (below(&g, 2))
    words(&g);
  else
    images(&g);
  fclose(g.f);
  Module *m = source_text(c, "net.g", text, bytes);
  free(text);
  return m;
}
