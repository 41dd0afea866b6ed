/* Convolutions: gc's generated kernels alone, for tests/bench/run.sh, which puts PyTorch's (oneDNN)
   beside them. conv RUNTIME_DIR [THREADS] [PART_OF_A_NAME]
   Prints for each shape the GFLOP/s of the convolution, its gradient by the images and by the
   filters, best of repeated runs; taps in the padding count as work, as oneDNN's do. The copies
   into the layout that a program makes once are not timed. */
#include "tests/num/harness.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct Shape {
  const char *name;
  int64_t n, c, h, k, r, stride, groups;
} Shape;

static const Shape shapes[] = {
    {"56x56x64", 32, 64, 56, 64, 3, 1, 1},    {"28x28x128", 32, 128, 28, 128, 3, 1, 1},
    {"14x14x256", 32, 256, 14, 256, 3, 1, 1}, {"7x7x512", 32, 512, 7, 512, 3, 1, 1},
    {"stem 7x7/2", 32, 3, 224, 64, 7, 2, 1},  {"1x1 256-64", 32, 256, 56, 64, 1, 1, 1},
    {"32x32x16", 128, 16, 32, 16, 3, 1, 1},   {"8x8x64", 128, 64, 8, 64, 3, 1, 1},
    {"16x16x32", 128, 32, 16, 32, 3, 1, 1},   {"1x1 512-256 at 14", 32, 512, 14, 256, 1, 1, 1},
    {"3x3/2 128", 32, 128, 56, 128, 3, 2, 1}, {"depthwise 96", 32, 96, 56, 96, 3, 1, 96},
};

static const OpKind kinds[] = {OP_CONV, OP_CONV_INPUT_GRAD, OP_CONV_FILTER_GRAD};

/* One thread is measured by its own time, which others' work does not lengthen so much. */
static double now(int threads) {
  struct timespec t;
  clock_gettime(threads == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int64_t out_of(const Shape *s) { return (s->h + s->r / 2 * 2 - s->r) / s->stride + 1; }

static Module *module_of(Ctx *c, const Shape *s, OpKind kind) {
  Module *m = module_new(c, "conv");
  Entry *e = entry_new(m, "run", (Loc){0});
  int64_t o = out_of(s), pad = s->r / 2;
  int64_t dx[4] = {s->n, s->c, s->h, s->h}, df[4] = {s->k, s->c / s->groups, s->r, s->r},
          dy[4] = {s->n, s->k, o, o};
  const Type *x = type_get(c, DT_F32, 4, dx), *f = type_get(c, DT_F32, 4, df),
             *y = type_get(c, DT_F32, 4, dy);
  const Type *a = kind == OP_CONV ? x : y, *b = kind == OP_CONV_FILTER_GRAD ? x : f;
  const Type *z = kind == OP_CONV ? y : kind == OP_CONV_INPUT_GRAD ? x : f;
  ValueId in[2] = {entry_add_input(e, intern(c, "a"), a), entry_add_input(e, intern(c, "b"), b)};
  Builder *w = builder_new(e, e->body);
  Attr attr[MAX_ATTRS] = {0};
  attr[AT_STRIDE].ints = intern_ints(c, (int64_t[]){s->stride, s->stride}, 2);
  attr[AT_PAD].ints = intern_ints(c, (int64_t[]){pad, pad, pad, pad}, 4);
  attr[AT_DILATION].ints = intern_ints(c, (int64_t[]){1, 1}, 2);
  attr[AT_GROUPS].i = s->groups;
  ValueId r = build(w, kind, in, 2, attr, kind == OP_CONV ? NULL : z);
  const char *name = intern(c, "y");
  build_return(w, &r, &name, 1);
  vec_push(m->arena, &m->entries, e);
  return m;
}

/* Runs the steps, or those of convolutions alone. */
static void run(Compiled *c, const GcEntry *e, const GcEnv *envs, int threads, bool all) {
#pragma omp parallel num_threads(threads)
  for (int s = 0; s < e->nsteps; s++) {
    void *p[8];
    if (!all && strncmp(e->steps[s].name, "conv", 4) != 0) continue;
    for (int j = 0; j < e->steps[s].nargs; j++)
      p[j] = c->region[e->steps[s].args[j].region] + e->steps[s].args[j].offset;
    if (all) {
#pragma omp barrier
    }
    e->steps[s].kernel(p, &envs[omp_get_thread_num()], omp_get_thread_num(), threads);
  }
}

static double measure(const Shape *s, OpKind kind, const char *runtime, int threads) {
  Ctx *c = ctx_new();
  CodegenOptions co = {.runtime_dir = runtime, .level = 2, .version = "bench"};
  const Target *t = target_cpu(c, &co);
  Module *m = module_of(c, s, kind);
  PassOptions po = {.target = t, .memory = "pack"};
  Compiled *p = t && passes_run(m, passes_pipeline(2), &po) ? compiled_open(m, t, &co, NULL) : NULL;
  if (!p) exit(1);
  const GcEntry *e = &p->program->entries[0];
  for (int i = 0; i < e->ninputs; i++)
    for (uint64_t j = 0; j < e->inputs[i].bytes / 4; j++) {
      float v = (float)(j * 7919 % 1000) * 1e-3f;
      memcpy(p->region[GC_INPUTS] + e->inputs[i].offset + 4 * j, &v, 4);
    }
  GcEnv *envs = calloc((size_t)threads, sizeof *envs);
  if (!envs) exit(1);
  for (int k = 0; k < threads; k++) envs[k] = compiled_env(p, 0, 0);
  run(p, e, envs, threads, true);
  double best = 1e9, begin = now(threads), o = (double)out_of(s);
  double flops = 2.0 * (double)(s->n * s->k * (s->c / s->groups) * s->r * s->r) * o * o;
  for (int r = 0; r < 5 || now(threads) - begin < 0.5; r++) {
    double t0 = now(threads);
    run(p, e, envs, threads, false);
    double time = now(threads) - t0;
    if (time < best) best = time;
  }
  for (int k = 0; k < threads; k++) free(envs[k].work);
  free(envs);
  compiled_close(p);
  ctx_free(c);
  return flops / best * 1e-9;
}

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  int threads = argc > 2 ? atoi(argv[2]) : 1;
  omp_set_num_threads(threads);
  printf("gc, %d thread%s, GFLOP/s: forward, by the images, by the filters\n", threads,
         threads > 1 ? "s" : "");
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    if (argc > 3 && !strstr(shapes[i].name, argv[3])) continue;
    printf("%-18s", shapes[i].name);
    for (int k = 0; k < 3; k++) printf(" %8.1f", measure(&shapes[i], kinds[k], argv[1], threads));
    putchar('\n');
    fflush(stdout);
  }
}
