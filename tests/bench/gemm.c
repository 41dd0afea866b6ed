/* Products against OpenBLAS, in pairs within one run: gc's generated kernel, cblas_sgemm, and
   again. gemm RUNTIME_DIR [THREADS [SHAPE]]: SHAPE is a part of the names to run. A shape with `w`
   has its right operand as a weight, which lives in panels; others are activations. Prints where
   the cores lie first: a cache line's round trip between two threads, since figures of two threads
   differ with it. */
#define _GNU_SOURCE
#include "tests/num/harness.h"

#include <cblas.h>
#include <omp.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct Shape {
  int64_t m, n, k;
  bool ta, tb, weight;
} Shape;

static const Shape shapes[] = {
    {512, 512, 512, 0, 0, 1},    {512, 512, 512, 0, 0, 0},    {1024, 1024, 1024, 0, 0, 1},
    {1024, 1024, 1024, 0, 0, 0}, {2048, 2048, 2048, 0, 0, 0}, {64, 256, 784, 0, 0, 1},
    {64, 10, 256, 0, 0, 1},      {784, 256, 64, 1, 0, 0},     {256, 10, 64, 1, 0, 0},
    {64, 256, 10, 0, 1, 0},      {128, 512, 512, 0, 0, 1},    {128, 512, 512, 0, 1, 1},
    {512, 512, 128, 1, 0, 0},    {256, 2304, 768, 0, 0, 1},   {256, 768, 3072, 0, 0, 1},
    {256, 768, 2304, 0, 1, 1},   {768, 2304, 256, 1, 0, 0},   {128, 128, 32, 0, 0, 0},
    {128, 128, 32, 0, 1, 0},     {1, 2304, 768, 0, 0, 1},     {256, 50257, 768, 0, 0, 1},
    {128, 512, 2048, 1, 0, 0},   {512, 128, 2048, 1, 0, 0},   {2048, 512, 128, 0, 0, 1},
    {2048, 128, 512, 0, 1, 1},   {50257, 768, 256, 1, 0, 0},  {256, 768, 50257, 0, 0, 1},
    {256, 50257, 768, 0, 1, 1},  {32, 1024, 256, 0, 0, 1},    {32, 256, 1024, 0, 1, 1},
};

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b) {
  const double *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

/* One side's product, `times` over. */
typedef void Run(void *side, int times);

/* Seconds of `times` products. Either side's threads wait for more work in a loop when theirs is
   done, OpenBLAS's for some 30 ms, and would take the cores from the other side: they get the time
   to fall asleep; then this side's are woken before time counts. */
static double seconds_of(Run *run, void *side, int times, int threads) {
  if (threads > 1) {
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    for (double begin = now(); now() - begin < 20e-3;) run(side, times);
  }
  double begin = now();
  run(side, times);
  return now() - begin;
}

/* A core for each thread of gc's and for the caller, which is both sides' first: woken after a
   sleep, threads that spin may share a core for as long as a measurement takes. OpenBLAS's own
   threads, which exist by now, stay free to move to the idle cores, and do, for they yield. */
static void spread_over_cores(void) {
  cpu_set_t all;
  if (sched_getaffinity(0, sizeof all, &all) != 0) return;
#pragma omp parallel
  {
    int left = omp_get_thread_num() % CPU_COUNT(&all), cpu = 0;
    while (!CPU_ISSET(cpu, &all) || left-- > 0) cpu++;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
  }
}

static void print_placement(void) {
  static _Alignas(128) _Atomic int line;
  enum { ROUNDS = 200000 };
  double start = now();
#pragma omp parallel num_threads(2)
  {
    int t = omp_get_thread_num();
    for (int i = 0; i < ROUNDS; i++) {
      while (atomic_load_explicit(&line, memory_order_acquire) != 2 * i + t) {
      }
      atomic_store_explicit(&line, 2 * i + t + 1, memory_order_release);
    }
  }
  printf("a line's round trip between the cores: %.0f ns\n", (now() - start) / ROUNDS * 1e9);
}

static Module *module_of(Ctx *c, const Shape *s) {
  Module *m = module_new(c, "gemm");
  Entry *e = entry_new(m, "run", (Loc){0});
  int64_t da[2] = {s->ta ? s->k : s->m, s->ta ? s->m : s->k},
          db[2] = {s->tb ? s->n : s->k, s->tb ? s->k : s->n};
  const Type *ta = type_get(c, DT_F32, 2, da), *tb = type_get(c, DT_F32, 2, db);
  ValueId a = entry_add_input(e, intern(c, "a"), ta), b = NO_ID;
  Builder *w = builder_new(e, e->body);
  if (s->weight) {
    int g =
        module_add_global(m, (Global){.kind = GLOBAL_PARAM, .path = intern(c, "b"), .type = tb});
    b = build_load(w, g);
    Entry *init = entry_new(m, "init", (Loc){0});
    Builder *iw = builder_new(init, init->body);
    build_store(iw, g, build_const(iw, tb, 0.25));
    build_return(iw, NULL, NULL, 0);
    m->init = init;
  } else {
    b = entry_add_input(e, intern(c, "b"), tb);
  }
  ValueId y = build_matmul(w, a, b, s->ta, s->tb);
  const char *name = intern(c, "y");
  build_return(w, &y, &name, 1);
  vec_push(m->arena, &m->entries, e);
  return m;
}

typedef struct Ours {
  const GcEnv *envs; /* by thread */
  Compiled *compiled;
  const GcEntry *entry;
  int threads;
} Ours;

/* One region for all of them, as a program has one for a whole run. */
static void run_gc(void *side, int times) {
  const Ours *s = side;
  const GcEntry *e = s->entry;
  void *p[8][8];
  for (int i = 0; i < e->nsteps; i++)
    for (int j = 0; j < e->steps[i].nargs; j++)
      p[i][j] = s->compiled->region[e->steps[i].args[j].region] + e->steps[i].args[j].offset;
#pragma omp parallel num_threads(s->threads)
  for (int q = 0; q < times; q++) {
#pragma omp barrier
    for (int i = 0; i < e->nsteps; i++) {
      if (e->steps[i].barrier) {
#pragma omp barrier
      }
      e->steps[i].kernel(p[i], &s->envs[omp_get_thread_num()], omp_get_thread_num(), s->threads);
    }
  }
}

typedef struct Theirs {
  const Shape *shape;
  const float *a, *b;
  float *y;
} Theirs;

static void run_blas(void *side, int times) {
  Theirs *t = side;
  const Shape *s = t->shape;
  while (times--)
    cblas_sgemm(CblasRowMajor, s->ta ? CblasTrans : CblasNoTrans, s->tb ? CblasTrans : CblasNoTrans,
                (int)s->m, (int)s->n, (int)s->k, 1, t->a, (int)(s->ta ? s->m : s->k), t->b,
                (int)(s->tb ? s->k : s->n), 0, t->y, (int)s->n);
}

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  int threads = argc > 2 ? atoi(argv[2]) : 1;
  omp_set_num_threads(threads);
  if (threads > 1) {
    spread_over_cores();
    print_placement();
  }
  printf("%d thread%s; GFLOP/s, best of repeated pairs; the pairs' median ratio\n%-28s %8s %9s %6s "
         "%6s\n",
         threads, threads > 1 ? "s" : "", "M x N x K", "gc", "OpenBLAS", "ratio", "median");
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    const Shape *s = &shapes[i];
    char name[64];
    snprintf(name, sizeof name, "%lldx%lldx%lld%s%s%s", (long long)s->m, (long long)s->n,
             (long long)s->k, s->ta ? " A^T" : "", s->tb ? " B^T" : "", s->weight ? " w" : "");
    if (argc > 3 && !strstr(name, argv[3])) continue;
    Ctx *c = ctx_new();
    CodegenOptions co = {.runtime_dir = argv[1], .level = 2, .version = "bench"};
    const Target *t = target_cpu(c, &co);
    Module *m = module_of(c, s);
    PassOptions po = {.target = t, .memory = "pack"};
    Compiled *p =
        t && passes_run(m, passes_pipeline(2), &po) ? compiled_open(m, t, &co, NULL) : NULL;
    if (!p) return 1;
    compiled_init(p, &(RunOptions){.threads = 1});
    const GcEntry *e = &p->program->entries[0];
    float *a = aligned_alloc(64, (size_t)(s->m * s->k * 4 + 63) / 64 * 64);
    float *b = aligned_alloc(64, (size_t)(s->n * s->k * 4 + 63) / 64 * 64);
    float *y = aligned_alloc(64, (size_t)(s->m * s->n * 4 + 63) / 64 * 64);
    for (int64_t j = 0; j < s->m * s->k; j++) a[j] = (float)(j * 7919 % 1000) * 1e-3f;
    for (int64_t j = 0; j < s->n * s->k; j++) b[j] = 0.25f;
    for (int64_t j = 0; j < s->m * s->k; j++)
      memcpy(p->region[GC_INPUTS] + e->inputs[0].offset + 4 * j, &a[j], 4);
    if (!s->weight)
      memcpy(p->region[GC_INPUTS] + e->inputs[1].offset, b, (size_t)(s->n * s->k) * 4);
    double flops = 2.0 * (double)s->m * (double)s->n * (double)s->k, ours = 1e9, theirs = 1e9;
    int inner = (int)(2e-3 / (flops / 1e11)) + 1;
    enum { MOST = 4096 };
    static double ratio[MOST];
    int pairs = 0;
    GcEnv *envs = calloc((size_t)threads, sizeof *envs);
    for (int k = 0; envs && k < threads; k++) envs[k] = compiled_env(p, 0, 0);
    double begin = now();
    for (; pairs < 8 || (now() - begin < 1 && pairs < MOST); pairs++) {
      double mine = seconds_of(run_gc, &(Ours){envs, p, e, threads}, inner, threads);
      double blas = seconds_of(run_blas, &(Theirs){s, a, b, y}, inner, threads);
      if (mine < ours) ours = mine;
      if (blas < theirs) theirs = blas;
      ratio[pairs] = blas / mine;
    }
    float got, worst = 0;
    for (int64_t j = 0; j < s->m * s->n; j++) {
      memcpy(&got, p->region[e->outputs[0].region] + e->outputs[0].offset + 4 * j, 4);
      float d = got - y[j] < 0 ? y[j] - got : got - y[j];
      if (d > worst * 1.0f) worst = d;
    }
    qsort(ratio, (size_t)pairs, sizeof ratio[0], ascending);
    printf("%-28s %8.1f %9.1f %6.2f %6.2f%s\n", name, flops * inner / ours / 1e9,
           flops * inner / theirs / 1e9, theirs / ours, ratio[pairs / 2],
           worst > 1e-3f * (float)s->k ? "  WRONG" : "");
    for (int k = 0; envs && k < threads; k++) free(envs[k].work);
    free(envs);
    free(a);
    free(b);
    free(y);
    compiled_close(p);
    ctx_free(c);
  }
}
