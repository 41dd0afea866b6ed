/* The simulated machine of numeric tests; see harness.h. Buffers are allocated to the byte (plus
   the target's slack), so AddressSanitizer sees what leaves a region. */
#define _GNU_SOURCE
#include "tests/num/harness.h"

#include "codegen/build/process.h"
#include "runtime/exec/loops.h"
#include "tests/num/bytes.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SLACK = 64, MAX_THREADS = 128 };

static char *fault_text; /* the one global: generated kernels call gcrt_fault without a context */

void gcrt_fault(int site, int64_t at, int64_t value, int64_t limit) {
  if (fault_text && !fault_text[0])
    snprintf(fault_text, 256, "element %lld at site %d is %lld, not below %lld", (long long)at,
             site, (long long)value, (long long)limit);
}

static void hyper_write(unsigned char *p, const GcHyper *h) {
  bool real = h->dtype == GC_F32;
  scalar_write(p, (Dtype)h->dtype,
               real ? (Scalar){.f = h->value} : (Scalar){.i = (int64_t)h->value});
}

/* Byte offset of logical element i, as gcrt.h describes the storage. */
static size_t element(const GcTensor *t, int64_t i) {
  int64_t at = 0, size = 1;
  for (int k = t->rank - 1; k >= 0; k--) {
    int axis = t->order ? t->order[k] : k;
    int64_t below = 1, x;
    for (int d = axis + 1; d < t->rank; d++) below *= t->dims[d];
    x = i / below % t->dims[axis];
    if (k == t->rank - 1 && t->panel) { /* the run is the outermost index */
      int64_t run = t->panel;
      for (int d = 0; d < t->rank; d++) run *= d == axis ? 1 : t->dims[d];
      at += x / t->panel * run + x % t->panel;
      size = t->panel;
    } else {
      at += x * size;
      size *= t->dims[axis];
    }
  }
  return (size_t)at * (size_t)dtype_size((Dtype)t->dtype);
}

static int64_t count(const GcTensor *t) {
  int64_t n = 1;
  for (int i = 0; i < t->rank; i++) n *= t->dims[i];
  return n;
}

static bool is_row_major(const GcTensor *t) {
  for (int k = 0; k < t->rank && t->order; k++)
    if (t->order[k] != k) return false;
  return !t->panel;
}

static void get_all(Compiled *c, const GcTensor *t, Scalar *to) {
  const unsigned char *p = c->region[t->region] + t->offset;
  const size_t size = (size_t)dtype_size((Dtype)t->dtype);
  const bool plain = is_row_major(t);
  for (int64_t i = 0, n = count(t); i < n; i++)
    to[i] = scalar_read(p + (plain ? (size_t)i * size : element(t, i)), (Dtype)t->dtype);
}

static void put_all(Compiled *c, const GcTensor *t, const Scalar *from) {
  unsigned char *p = c->region[t->region] + t->offset;
  const size_t size = (size_t)dtype_size((Dtype)t->dtype);
  const bool plain = is_row_major(t);
  for (int64_t i = 0, n = count(t); i < n; i++)
    scalar_write(p + (plain ? (size_t)i * size : element(t, i)), (Dtype)t->dtype, from[i]);
}

void compiled_get(Compiled *c, int global, Scalar *to) {
  get_all(c, &c->program->globals[global].t, to);
}
void compiled_set(Compiled *c, int global, const Scalar *from) {
  put_all(c, &c->program->globals[global].t, from);
}

static void region_new(Compiled *c, GcRegion r, uint64_t bytes) {
  c->bytes[r] = (size_t)(bytes + SLACK + 63) / 64 * 64;
  c->region[r] = aligned_alloc(64, c->bytes[r]);
  memset(c->region[r], 0, c->bytes[r]);
}

Compiled *compiled_load(const char *object) {
  void *dl = dlopen(object, RTLD_NOW | RTLD_LOCAL);
  if (!dl) {
    printf("%s\n", dlerror());
    return NULL;
  }
  Compiled *c = calloc(1, sizeof *c);
  c->arena = arena_new();
  c->object = dl;
  c->program = dlsym(dl, "gc_program");
  uint64_t inputs = 0, arena = 0, counts = 0, ahead = 0;
  for (int i = -1; i < c->program->nentries; i++) {
    const GcEntry *e = i < 0 ? c->program->init : &c->program->entries[i];
    if (!e) continue;
    if (e->inputs_bytes > inputs) inputs = e->inputs_bytes;
    if (e->arena_bytes > arena) arena = e->arena_bytes;
    if (e->counts_bytes > counts) counts = e->counts_bytes;
    if (e->ahead_bytes > ahead) ahead = e->ahead_bytes;
  }
  region_new(c, GC_GLOBALS, c->program->globals_bytes);
  region_new(c, GC_INPUTS, inputs);
  region_new(c, GC_ARENA, arena);
  region_new(c, GC_HYPERS, (uint64_t)c->program->nhypers * 4);
  region_new(c, GC_COUNTS, counts);
  region_new(c, GC_PREPARED, ahead);
  for (int i = 0; i < (int)(counts / 4); i++) memcpy(c->region[GC_COUNTS] + 4 * i, &i, 4);
  for (int i = 0; i < c->program->nhypers; i++)
    hyper_write(c->region[GC_HYPERS] + 4 * i, &c->program->hypers[i]);
  return c;
}

#ifdef __x86_64__
/* Sums in tile registers have an order of their own, and nothing here asks the system for these:
   tests/amx has tests of them. */
static bool multiplies_in_tiles(void) {
  enum { AMX_BF16 = 22 };
  unsigned eax, ebx, ecx, edx;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && edx >> AMX_BF16 & 1;
}
#endif

const char *harness_march(uint64_t k) {
#ifdef __x86_64__
  if (k % 4 == 0 && multiplies_in_tiles()) return "icelake-server";
  if (k % 4 == 3 && __builtin_cpu_supports("avx512bf16")) return "cooperlake";
  if (k % 4 == 2) return "x86-64";
  if (k % 4 == 1 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return "haswell"; /* x86-64-v3 with small caches */
#endif
  (void)k;
  return NULL;
}

#ifndef CLANG
#define CLANG "cc"
#endif
#ifndef LINKER
#define LINKER "-w"
#endif

/* What clang's -O1 takes long over, and these programs are not faster by; see tests/cc-O0. */
static const char *const less[] = {"-mllvm", "-instcombine-max-iterations=1",
                                   "-mllvm", "-disable-lsr",
                                   "-mllvm", "-replexitval=never",
                                   "-mllvm", "-fast-isel",
                                   "-mllvm", "-regalloc=basic"};

Compiled *compiled_open(Module *m, const Target *t, const CodegenOptions *o, const char *cflags) {
  Arena *a = arena_new();
  const bool quickly = cflags && strcmp(cflags, "-O3") != 0;
  /* Large pages: fewer faults, as a compiler touches most of its memory once; what it frees stays
     at hand. */
  setenv("GLIBC_TUNABLES",
         "glibc.malloc.hugetlb=1:glibc.malloc.top_pad=33554432:glibc.malloc.tcache_count=60000", 1);
  const char *cc = o->cc ? o->cc : "cc";
  char dir[] = "/tmp/gc-test-XXXXXX";
  if (!mkdtemp(dir)) return NULL;
  const char *source = arena_printf(a, "%s/p.c", dir), *object = arena_printf(a, "%s/p.so", dir);
  FILE *f = fopen(source, "w");
  bool ok = f && cpu_source(&(CodegenPart){.m = m, .target = t}, o, f);
  if (f) fclose(f);
  const bool own = quickly && strcmp(cc, "cc") == 0;
  const char *always[] = {"-std=gnu17",
                          "-shared",
                          "-fPIC",
                          "-w",
                          "-ffp-contract=off",
                          "-fno-math-errno",
                          "-fno-trapping-math",
                          "-fwrapv",
                          "-fno-strict-aliasing",
                          cflags ? cflags : "-O3",
                          quickly ? "-Dalways_inline=unused" : "-w",
                          arena_printf(a, "-march=%s", o->march ? o->march : "native"),
                          arena_printf(a, "-I%s", o->runtime_dir),
                          LINKER,
                          source,
                          "-o",
                          object,
                          "-lm"};
  enum { ALWAYS = sizeof always / sizeof *always, LESS = sizeof less / sizeof *less };
  const char **words = NULL;
  uint32_t n = 0;
  codegen_cc_words(a, own ? CLANG : cc, &words, &n);
  const char **argv = ARENA_ARRAY(a, const char *, n + ALWAYS + LESS + 1);
  memcpy(argv, words, n * sizeof *argv);
  memcpy(argv + n, always, sizeof always);
  if (own && strcmp(cflags, "-O1") == 0 && strstr(CLANG, "clang-16"))
    memcpy(argv + n + ALWAYS, less, sizeof less);
  char *text = "";
  Compiled *c = NULL;
  if (ok && process_run(argv, a, &text) == 0) {
    c = compiled_load(object);
  } else {
    printf("the source is kept at %s\n%s\n", source, text);
    return NULL;
  }
  unlink(source);
  unlink(object);
  rmdir(dir);
  arena_free(a);
  return c;
}

void compiled_close(Compiled *c) {
  if (!c) return;
  for (int i = 0; i < GC_REGIONS; i++) free(c->region[i]);
  dlclose(c->object);
  free(c->written);
  arena_free(c->arena);
  free(c);
}

static uint64_t next_random(uint64_t *s) { /* xorshift64* */
  *s ^= *s >> 12, *s ^= *s << 25, *s ^= *s >> 27;
  return *s * 0x2545f4914f6cdd1dull;
}

static bool waits(const GcStep *s, int nt) {
  return s->barrier == 1 || (s->barrier > 1 && s->barrier % nt != 0);
}

/* A step as it comes up: loops are gone through. */
typedef struct Turn {
  const GcStep *step;  /* NULL: the end of a loop */
  int loop;            /* then */
  const GcRange *dead; /* after it */
  int ndead;
  void **p;
} Turn;

typedef struct Turns {
  Compiled *c;
  const GcEntry *e;
  Arena *a;
  VEC(Turn) at;
} Turns;

static bool add_turn(void *arg, int step, int loop, const int64_t *at) {
  Turns *w = arg;
  if (step < 0) {
    const GcLoop *l = &w->e->loops[loop];
    vec_push(w->a, &w->at, (Turn){.loop = loop, .dead = l->dead, .ndead = l->ndead});
    return true;
  }
  const GcStep *s = &w->e->steps[step];
  void **p = ARENA_ARRAY(w->a, void *, s->nargs + 1);
  for (int j = 0; j < s->nargs; j++)
    p[j] = w->c->region[s->args[j].region] + s->args[j].offset +
           loops_shift(&s->args[j], at, w->e->depth);
  vec_push(w->a, &w->at, (Turn){.step = s, .dead = s->dead, .ndead = s->ndead, .p = p});
  return true;
}

/* The turns, each by all threads after each other, in an order that is shuffled. */
static void run_threads(const Turns *w, const uint32_t *turn, uint32_t n, int threads,
                        const GcEnv *env, uint64_t *order) {
  int thread[MAX_THREADS];
  for (int t = 0; t < threads; t++) thread[t] = t;
  for (int t = threads - 1; t > 0; t--) {
    int j = (int)(next_random(order) % (uint64_t)(t + 1)), x = thread[t];
    thread[t] = thread[j], thread[j] = x;
  }
  for (int t = 0; t < threads; t++)
    for (uint32_t s = 0; s < n; s++) {
      const Turn *x = &w->at.at[turn[s]];
      if (x->step) x->step->kernel(x->p, env, thread[t], threads);
    }
}

/* Groups of threads run their own streams, as the runtime divides them: any group that waits for
   nothing may go on, up to its next barrier. */
typedef struct Parts {
  const Turns *w;
  int n, width[MAX_THREADS];
  VEC(uint32_t) turns[MAX_THREADS];
  uint32_t next[MAX_THREADS];
  bool *over; /* by step */
} Parts;

static bool may_run(const Parts *p, int part, uint32_t turn) {
  const GcStep *s = p->w->at.at[turn].step;
  for (int k = 0; s && k < s->nafter; k++)
    if (p->w->e->steps[s->after[k]].stream % p->n != part && !p->over[s->after[k]]) return false;
  return true;
}

static void turn_over(Parts *p, uint32_t turn) {
  const Turn *x = &p->w->at.at[turn];
  const GcEntry *e = p->w->e;
  if (x->step && !loops_outermost(e, (int)(x->step - e->steps))) p->over[x->step - e->steps] = true;
  for (int i = 0; !x->step && e->loops[x->loop].depth == 0 && i < e->nsteps; i++)
    p->over[i] |= e->loops[x->loop].first <= i && i < e->loops[x->loop].end;
}

static void run_parts(const Turns *w, const RunOptions *o, const GcEnv *env) {
  const GcEntry *e = w->e;
  Parts p = {.w = w, .n = e->streams < o->threads ? e->streams : o->threads};
  uint64_t order = o->order * 2 + 1;
  p.over = ARENA_ARRAY(w->a, bool, e->nsteps);
  for (int k = 0; k < p.n; k++) p.width[k] = o->threads / p.n + (k < o->threads % p.n);
  for (uint32_t i = 0; i < w->at.n; i++) {
    const Turn *x = &w->at.at[i];
    const GcStep *s = x->step ? x->step : &e->steps[e->loops[x->loop].first];
    vec_push(w->a, &p.turns[s->stream % p.n], i);
  }
  for (uint32_t left = w->at.n; left;) {
    int k = (int)(next_random(&order) % (uint64_t)p.n);
    while (p.next[k] == p.turns[k].n || !may_run(&p, k, p.turns[k].at[p.next[k]]))
      k = (k + 1) % p.n;
    uint32_t from = p.next[k], to = from + 1;
    while (
        to < p.turns[k].n && may_run(&p, k, p.turns[k].at[to]) &&
        !(w->at.at[p.turns[k].at[to]].step && waits(w->at.at[p.turns[k].at[to]].step, p.width[k])))
      to++;
    run_threads(w, p.turns[k].at + from, to - from, p.width[k], env, &order);
    for (; p.next[k] < to; p.next[k]++, left--) turn_over(&p, p.turns[k].at[p.next[k]]);
  }
}

/* Steps up to the next barrier run thread after thread: as far apart as real threads can get. */
static void run_turns(Compiled *c, const Turns *w, const RunOptions *o, const GcEnv *env) {
  uint64_t order = o->order * 2 + 1;
  uint32_t *all = ARENA_ARRAY(w->a, uint32_t, w->at.n);
  for (uint32_t i = 0; i < w->at.n; i++) all[i] = i;
  for (uint32_t i = 0, end; i < w->at.n; i = end) {
    end = i + 1; /* poison needs all threads after each step */
    while (!o->poison && end < w->at.n &&
           (!w->at.at[end].step || !waits(w->at.at[end].step, o->threads)))
      end++;
    run_threads(w, all + i, end - i, o->threads, env, &order);
    const Turn *last = &w->at.at[i];
    for (int j = 0; o->poison && j < last->ndead; j++)
      memset(c->region[GC_ARENA] + last->dead[j].offset, 0xff, last->dead[j].bytes);
  }
}

/* The turns on a device, one after the other, until one fails. */
static void run_device(Compiled *c, const Turns *w, const GcEnv *env) {
  if (c->written) memset(c->written, 0, c->bytes[GC_ARENA] / 8);
  for (uint32_t i = 0; i < w->at.n; i++) {
    const Turn *x = &w->at.at[i];
    if (x->step && !c->step(c, x->step, x->p, env)) return;
    for (int j = 0; c->written && j < x->ndead; j++)
      for (uint64_t b = x->dead[j].offset; b < x->dead[j].offset + x->dead[j].bytes; b++)
        c->written[b / 8] &= (uint8_t) ~(1 << b % 8);
  }
}

GcEnv compiled_env(const Compiled *c, uint64_t seed, uint64_t step) {
  const uint64_t line = 64, bytes = (c->program->work_bytes + line) / line * line;
  const GcEnv env = {.seed = seed, .step = step, .work = aligned_alloc(line, bytes)};
  if (!env.work) abort();
  return env;
}

static void run_steps(Compiled *c, const GcEntry *e, const RunOptions *o) {
  GcEnv env = compiled_env(c, o->seed, o->step);
  for (int i = 0; i < e->nextents; i++) {
    const int32_t n = (int32_t)e->extents[i].bound - o->fewer;
    env.extents[i] = n < 1 ? 1 : n;
  }
  if (o->poison) memset(env.work, 0xff, c->program->work_bytes);
  if (o->poison) memset(c->region[GC_ARENA], 0xff, e->arena_bytes);
  if (o->poison) memset(c->region[GC_PREPARED], 0xff, e->ahead_bytes);
  Turns w = {.c = c, .e = e, .a = arena_new()};
  LoopWalk walk = {.entry = e, .visit = add_turn, .arg = &w, .end = e->nsteps};
  walk.at = ARENA_ARRAY(w.a, int64_t, e->depth + 1);
  (void)loops_walk(&walk);
  if (c->step) {
    run_device(c, &w, &env);
  } else if (e->streams > 1 && o->threads > 1 && !o->poison) {
    run_parts(&w, o, &env);
  } else {
    run_turns(c, &w, o, &env);
  }
  free(env.work);
  arena_free(w.a);
}

void compiled_init(Compiled *c, const RunOptions *o) {
  if (c->program->init) run_steps(c, c->program->init, o);
}

bool compiled_run(Compiled *c, const char *entry, const RunOptions *o, const Tensor *inputs,
                  Tensor *outputs, Ctx *ctx) {
  const GcEntry *e = NULL;
  for (int i = 0; i < c->program->nentries; i++)
    if (strcmp(c->program->entries[i].name, entry) == 0) e = &c->program->entries[i];
  if (!e) return false;
  for (int i = 0; i < e->ninputs; i++) put_all(c, &e->inputs[i], inputs[i].at);
  c->fault[0] = 0;
  fault_text = c->fault;
  run_steps(c, e, o);
  fault_text = NULL;
  for (int i = 0; i < e->noutputs; i++) {
    const GcTensor *t = &e->outputs[i];
    outputs[i].type = type_get(ctx, (Dtype)t->dtype, t->rank, t->dims);
    outputs[i].at = ARENA_ARRAY(c->arena, Scalar, count(t));
    get_all(c, t, outputs[i].at);
  }
  return !c->fault[0];
}
