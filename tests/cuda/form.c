/* The form of a kernel: its text without the numbers that choose no path; see form.h.
   Numbers by which a text goes another way are replaced by what follows from them: of loops whether
   they run not at all, once or often, end with a part of a step, and how they fill their unrolled
   bodies; of products and attention how the sizes fall on tiles, k-tiles and chains; of the launch
   whether it has one block or several. Sizes of vectors, arrays and tiles stay, and so do 0 and 1,
   which are paddings, strides and taps of their own kind. */
#define _GNU_SOURCE
#include "tests/cuda/form.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  K_TILE = 16,     /* of text/gemm.h: depth in shared memory */
  CHAIN = 1024,    /* ... and of one chain of sums */
  TILE_BYTES = 64, /* of text/tensor.h: depth in shared memory */
  STAGES = 4,      /* ... of the pipeline */
  BAND = 8,        /* ... and rows of tiles that are done together */
  MOST_ARGS = 20   /* of a template */
};

typedef struct Scan {
  const char *at;
  Text out;
  long long unroll; /* of the loop that comes next; 0: it is not said */
} Scan;

static bool is_name(char c) { return isalnum((unsigned char)c) || c == '_'; }

static bool starts(const char *s, const char *with) { return strncmp(s, with, strlen(with)) == 0; }

/* n elements in steps: not one, one or many; "=" whole ones alone, "+" a part at the end. */
static void add_steps(Scan *s, long long n, long long step) {
  long long steps = (n + step - 1) / step;
  text_add(&s->out, "%s%s ",
           steps < 1    ? "none"
           : steps == 1 ? "one"
                        : "many",
           n % step ? "+" : "=");
}

/* ---- loops ---- */

/* The number that stands behind the last `sign` before `end`, or -1 where something else does. */
static long long number_behind(const char *from, const char *end, const char *sign) {
  const char *found = NULL;
  for (const char *t = from; (t = strstr(t, sign)) && t < end; t++) found = t + strlen(sign);
  if (!found) return -1;
  char *behind;
  long long n = strtoll(found, &behind, 10);
  return behind == found || is_name(*behind) || strchr(".*+-/", *behind) ? -1 : n;
}

/* "for (int c = lane * 4; c < 131; c += 128)", whose header is scanned as all else behind it. */
static void scan_loop(Scan *s) {
  const char *end = s->at + strcspn(s->at, "{\n");
  long long n = number_behind(s->at, end, " < "), step = number_behind(s->at, end, " += ");
  if (memmem(s->at, (size_t)(end - s->at), "++)", 3)) step = 1;
  text_add(&s->out, "for ");
  if (n >= 0 && step > 0) {
    long long trips = (n + step - 1) / step;
    add_steps(s, n, step);
    if (s->unroll > 1)
      text_add(&s->out, "%s ", trips < s->unroll ? "short" : trips % s->unroll ? "rest" : "full");
  }
  s->unroll = 0;
}

/* ---- templates ---- */

typedef struct Args {
  const char *text[MOST_ARGS];
  int n;
} Args;

static long long arg(const Args *a, int i) { return i < a->n ? atoll(a->text[i]) : 0; }

/* Gemm<I, T, A, B, M, N, K, TA, TB, BM, BN, …> */
static void add_gemm(Scan *s, const Args *a) {
  add_steps(s, arg(a, 4), arg(a, 9));
  add_steps(s, arg(a, 5), arg(a, 10));
  add_steps(s, arg(a, 6), K_TILE);
  add_steps(s, arg(a, 6), CHAIN);
}

/* GemmRing<I, T, M, N, K, A_ROW, B_ROW, TA, TB, BM, BN, …> */
static void add_ring(Scan *s, const Args *a) {
  enum { RING_TILE = 32 }; /* of text/gemm_ring.h: depth in shared memory */
  add_steps(s, arg(a, 2), arg(a, 9));
  add_steps(s, arg(a, 3), arg(a, 10));
  add_steps(s, arg(a, 4), RING_TILE);
  add_steps(s, arg(a, 4), CHAIN);
}

/* TensorTile<I, E, M, N, K, TA, TB, BM, BN, …> */
static void add_tensor(Scan *s, const Args *a) {
  long long m = arg(a, 2), depth = TILE_BYTES / (strcmp(a->text[1], "MmaTf32") == 0 ? 4 : 2);
  long long k_tiles = (arg(a, 4) + depth - 1) / depth;
  add_steps(s, m, arg(a, 7));
  add_steps(s, m, arg(a, 7) * BAND);
  add_steps(s, arg(a, 3), arg(a, 8));
  add_steps(s, arg(a, 4), depth);
  text_add(&s->out, "%s ", k_tiles < STAGES ? "part of the pipeline" : "pipeline");
}

/* FlashAttention<T, A, TQ, SK, KEY_DIM, VALUE_DIM, B, R, CAUSAL, …> */
static void add_attention(Scan *s, const Args *a) {
  long long block = arg(a, 6);
  add_steps(s, arg(a, 2), arg(a, 7));
  for (int i = 3; i < 6; i++) add_steps(s, arg(a, i), block);
  for (int i = 4; i < 6; i++) add_steps(s, arg(a, i), K_TILE);
}

static const struct {
  const char *name;
  int from, to; /* the arguments that are sizes of the operands */
  void (*add)(Scan *, const Args *);
} templates[] = {{"Gemm", 4, 7, add_gemm},
                 {"GemmRing", 2, 7, add_ring},
                 {"TensorTile", 2, 5, add_tensor},
                 {"FlashAttention", 2, 6, add_attention}};

/* Reads "<…>" of a template of the table, whose name has been read. */
static void scan_template(Scan *s, int which, Arena *arena) {
  Args a = {.n = 0};
  const char *from = ++s->at;
  for (int depth = 1; depth; s->at++) {
    depth += (*s->at == '<') - (*s->at == '>');
    bool ends = depth == 0 || (depth == 1 && *s->at == ',');
    if (!ends || a.n == MOST_ARGS) continue;
    while (*from == ' ') from++;
    a.text[a.n++] = arena_printf(arena, "%.*s", (int)(s->at - from), from);
    from = s->at + 1;
  }
  text_add(&s->out, "<");
  templates[which].add(s, &a);
  for (int i = 0; i < a.n; i++)
    if (i < templates[which].from || i >= templates[which].to) text_add(&s->out, ", %s", a.text[i]);
  text_add(&s->out, ">");
}

/* ---- all else ---- */

static void scan_name(Scan *s, Arena *a) {
  const char *from = s->at;
  while (is_name(*s->at)) s->at++;
  int n = (int)(s->at - from);
  if (n == 3 && starts(from, "for")) {
    scan_loop(s);
    return;
  }
  text_add(&s->out, "%.*s", n, from);
  if (starts(from, "gc_fault(fault, ")) /* the number of an input of the entry, or none */
    s->at += strcspn(s->at, " ") + 1, s->at += strcspn(s->at, ",");
  for (int i = 0; i < (int)(sizeof templates / sizeof *templates); i++)
    if (*s->at == '<' && n == (int)strlen(templates[i].name) && starts(from, templates[i].name))
      scan_template(s, i, a);
}

/* A number stays where it alone is an array's size or place, or a vector's size. */
static void scan_number(Scan *s) {
  const char *from = s->at;
  bool real = false;
  for (; is_name(*s->at) || *s->at == '.' || (strchr("+-", *s->at) && s->at[-1] == 'e'); s->at++)
    real |= *s->at == '.' || *s->at == 'e';
  int n = (int)(s->at - from);
  bool stays = (from[-1] == '[' && *s->at == ']') || *s->at == '>' ||
               (n == 1 && (*from == '0' || *from == '1'));
  text_add(&s->out, "%.*s", stays && !real ? n : 1, stays && !real ? from : real ? "r" : "n");
}

const char *kernel_form(Arena *a, const CudaFunction *f) {
  Scan s = {.at = constants_source(a, f->marked, NULL), .out = text_new(a, 0)};
  const char *args = strrchr(f->head, '('); /* behind the launch's bounds */
  const char *constants = strstr(args, ", uint64_t constant"), *behind = constants;
  while (behind && starts(behind, ", uint64_t constant")) behind += 2 + strcspn(behind + 2, ",)");
  text_add(&s.out, "%d threads of %s blocks%.*s%s\n", f->block, f->grid > 1 ? "many" : "one",
           constants ? (int)(constants - args) : 0, args, constants ? behind : args);
  while (*s.at) {
    if (starts(s.at, "#pragma unroll")) {
      const char *end = s.at + strcspn(s.at, "\n");
      s.unroll = atoll(s.at + strlen("#pragma unroll"));
      text_add(&s.out, "%.*s", (int)(end - s.at), s.at);
      s.at = end;
    } else if (isdigit((unsigned char)*s.at)) {
      scan_number(&s);
    } else if (is_name(*s.at)) {
      scan_name(&s, a);
    } else {
      text_add(&s.out, "%c", *s.at++);
    }
  }
  return text_str(&s.out);
}
