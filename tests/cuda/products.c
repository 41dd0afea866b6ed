/* Products on tensor cores, without a GPU (one in four, on sm_90a in two, others on each commit,
   but at the level full): every tile, dtype and order of the operands, with edges, a batch and work
   fused behind compiles, on one commit in two without spilling, has the tile and the instructions
   that it is meant to have, and gives on the PTX interpreter what the CPU computes, but for the
   order of the sums. products RUNTIME_DIR [--gpu | --clang [EVERY]] runs them on the driver that
   the loader finds, or every n-th as clang compiles them. Says "NOT TESTED" and exits with 77 where
   there is no NVRTC or clang, but for GC_NO_SKIP, which makes that an error. */
#define _GNU_SOURCE
#include "tests/cuda/device.h"
#include "tests/cuda/uses.h"
#include "tests/level.h"
#include "tests/num/random_program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SKIP = 77 };

/* Batches choose the tile: the largest of which there are 128 blocks. FEW: rows at most. */
enum { FEW = 16 };
static const struct {
  int bm, bn; /* of a block */
  Dtype dt;   /* f32: tf32 */
  int64_t batch, m, n, k;
  bool ta, tb, wide;
} rows[] = {
    {128, 256, DT_BF16, 32, 130, 264, 40, false, false, true},
    {128, 256, DT_F16, 64, 136, 200, 72, true, true, true},
    {128, 256, DT_F32, 128, 72, 130, 20, false, true, false},
    {128, 256, DT_F32, 128, 132, 100, 8, true, false, false},
    {128, 128, DT_BF16, 64, 100, 200, 136, false, true, true},
    {128, 128, DT_BF16, 64, 104, 136, 40, true, false, false},
    {128, 128, DT_F32, 64, 68, 132, 36, true, true, false},
    {64, 64, DT_BF16, 40, 70, 98, 98, false, false, true},
    {64, 64, DT_BF16, 40, 72, 104, 66, true, true, true},
    {64, 64, DT_F16, 40, 65, 66, 2, false, false, false},
    {64, 64, DT_F32, 40, 71, 99, 41, false, true, false},
    {64, 64, DT_F32, 40, 71, 99, 41, true, false, false},
    {32, 32, DT_BF16, 1, 50, 70, 264, false, false, true},
    {32, 32, DT_BF16, 1, 50, 70, 264, true, true, true},
    {32, 32, DT_F16, 1, 40, 32, 320, true, false, true},
    {32, 32, DT_F32, 1, 33, 35, 129, false, false, false},
    {32, 32, DT_F32, 3, 1, 1, 1, true, true, false},
    {128, 256, DT_BF16, 128, 71, 131, 41, false, false, true}, /* rows of odd lengths */
    {64, 64, DT_F16, 40, 65, 67, 33, true, true, false},
    {32, 32, DT_BF16, 1, 4, 4, 0, false, true, true},
    {32, 32, DT_BF16, 1, 50, 70, 1402, false, false, true},
    {32, 32, DT_F16, 2, 35, 33, 1400, true, true, false},
    {32, 32, DT_F32, 1, 33, 35, 1401, false, true, false},
    {FEW, 16, DT_BF16, 1, 2, 28, 1402, false, false, true}, /* B goes from memory to registers */
    {FEW, 32, DT_F16, 60, 13, 140, 70, true, false, false},
    {FEW, 64, DT_BF16, 64, 16, 200, 136, false, false, true},
    /* by wgmma on sm_90a, from here on: FIRST_SM90A */
    {128, 256, DT_BF16, 128, 128, 256, 72, false, true, false},
    {128, 256, DT_F16, 128, 128, 128, 136, true, false, true},
    {128, 256, DT_BF16, 150, 64, 64, 64, false, false, true}, /* blocks with two tiles */
    {32, 32, DT_BF16, 1, 136, 200, 136, false, false, true},
    {32, 32, DT_F16, 2, 128, 72, 64, true, true, false},
    {32, 32, DT_BF16, 1, 264, 64, 72, false, true, false},
    {32, 32, DT_F16, 1, 72, 136, 200, true, false, true},
    {128, 128, DT_BF16, 90, 64, 192, 64, false, false, true}, /* tiles of 192 columns */
    {128, 128, DT_F16, 90, 66, 184, 72, false, true, true},
    {128, 256, DT_BF16, 70, 136, 64, 72, false, false, true}, /* pairs of blocks with two tiles */
    {32, 32, DT_BF16, 1, 384, 64, 72, true, false, false},    /* a tile behind the last row */
    {32, 32, DT_BF16, 2, 136, 72, 1400, false, true, true},
    {32, 32, DT_F16, 1, 72, 72, 1440, true, false, false},
    {32, 32, DT_F32, 1, 136, 200, 136, false, false, false}, /* columns of C are a tile's rows */
    {32, 32, DT_F32, 1, 72, 136, 200, true, true, false},    /* A comes from registers */
    {32, 32, DT_F32, 1, 264, 64, 72, false, true, false},
    {32, 32, DT_F32, 2, 66, 72, 1400, false, false, false},
    {32, 32, DT_BF16, 1, 136, 200, 141, false, false, true}, /* A's rows begin anywhere */
};
enum {
  DEEP = 1024,
  PARTS = 5
}; /* rows that are deeper: so many parts, each by blocks of its own */
enum { ROWS = sizeof rows / sizeof *rows, FIRST_SM90A = ROWS - 18, TILE_ROWS_SM90A = 128 };

/* y = relu(a b + bias), the product itself, and y in the dtype of a: one entry a row. */
static void add_entry(Module *m, int i) {
  Ctx *c = m->ctx;
  Entry *e = entry_new(m, intern_printf(c, "e%d", i), (Loc){0});
  int64_t k = rows[i].k, p = rows[i].m, q = rows[i].n, b = rows[i].batch;
  int64_t da[3] = {b, rows[i].ta ? k : p, rows[i].ta ? p : k},
          db[3] = {b, rows[i].tb ? q : k, rows[i].tb ? k : q};
  int skip = b == 1;
  ValueId x = entry_add_input(e, "x", type_get(c, rows[i].dt, 3 - skip, da + skip));
  ValueId w = entry_add_input(e, "w", type_get(c, rows[i].dt, 3 - skip, db + skip));
  Builder *bu = builder_new(e, e->body);
  bool narrow = rows[i].wide || rows[i].dt == DT_F32;
  if (rows[i].dt == DT_F32) {
    x = build1(bu, OP_TF32, x);
    w = build1(bu, OP_TF32, w);
  }
  ValueId y = narrow ? build_matmul_narrow(bu, x, w, rows[i].ta, rows[i].tb)
                     : build_matmul(bu, x, w, rows[i].ta, rows[i].tb);
  const Type *t = value_type(e, y);
  ValueId bias = entry_add_input(e, "bias", type_get(c, t->dtype, 1, &q));
  ValueId z = build1(bu, OP_RELU, build2(bu, OP_ADD, y, build_broadcast(bu, bias, t)));
  ValueId out[3] = {y, z, build_convert(bu, z, rows[i].dt)};
  const char *names[] = {"y", "z", "h"};
  build_return(bu, out, names, 3);
  vec_push(m->arena, &m->entries, e);
}

typedef struct Taken { /* rows of a module: every so many from the first on */
  int first, every;
} Taken;

static Module *module_of(Ctx *c, Taken t) {
  Module *m = module_new(c, "products");
  for (int i = t.first; i < ROWS; i += t.every) add_entry(m, i);
  return m;
}

static const GcEntry *entry_of(const Compiled *c, int i) {
  char name[16];
  snprintf(name, sizeof name, "e%d", i);
  for (int k = 0; k < c->program->nentries; k++)
    if (strcmp(c->program->entries[k].name, name) == 0) return &c->program->entries[k];
  abort();
}

/* ---- what is launched ---- */

static int64_t tiles_of(int i) {
  return ((rows[i].m + rows[i].bm - 1) / rows[i].bm) * ((rows[i].n + rows[i].bn - 1) / rows[i].bn);
}

static bool has(const char *from, const char *to, const char *what) {
  return memmem(from, (size_t)(to - from), what, strlen(what)) != NULL;
}

/* Bytes of the rows in which an operand lies; it is copied by cp.async where they are multiples of
   4, and otherwise by the threads. */
static bool comes_async(int i, int64_t elements) {
  return elements * dtype_size(rows[i].dt) % 4 == 0;
}

static int wrong(int i, const char *what) {
  printf("tile %dx%d, row %d: %s\n", rows[i].bm, rows[i].bn, i, what);
  return 1;
}

/* The same of few rows: no operand goes through shared memory. */
static int check_few(const Compiled *c, const char *ptx, int i) {
  const GcEntry *e = entry_of(c, i);
  const GcLaunch *l = e->steps[0].launch;
  const int warps = rows[i].k > DEEP ? PARTS : 1;
  if (e->nsteps != 1 || l->grid != rows[i].batch * tiles_of(i) || (int)l->block != 32 * warps)
    return wrong(i, "the launch is not of its tile's shape");
  char name[64];
  snprintf(name, sizeof name, ".entry %s(", c->program->code->kernels[l->kernel]);
  const char *from = strstr(ptx, name), *to = from ? strstr(from, "\n}") : NULL;
  if (!to || !has(from, to, "mma.sync.aligned.m16n8k16.row.col.f32"))
    return wrong(i, "its PTX is not on tensor cores");
  return has(from, to, "ldmatrix") || has(from, to, "cp.async")
             ? wrong(i, "its PTX takes an operand through shared memory")
             : 0;
}

/* The entry's product: its launch's shape is that of the tile, and its PTX has the hardware's
   instructions for it. */
static int check_kernel(const Compiled *c, const char *ptx, int i) {
  if (rows[i].bm == FEW) return check_few(c, ptx, i);
  const GcEntry *e = entry_of(c, i);
  const GcLaunch *l = NULL;
  for (int s = 0; s < e->nsteps; s++)
    if (e->steps[s].launch->shared) l = e->steps[s].launch;
  int warps = rows[i].bm == 128 && rows[i].bn == 256 ? 8 : 4;
  int64_t grid = rows[i].batch * tiles_of(i) * (rows[i].k > DEEP ? PARTS : 1);
  if (!l) return wrong(i, "no launch has a pipeline in shared memory");
  if (l->grid != grid || (int)l->block != 32 * warps ||
      (int)l->shared != 4 * 64 * (rows[i].bm + rows[i].bn))
    return wrong(i, "the launch is not of its tile's shape");
  char name[64];
  snprintf(name, sizeof name, ".entry %s(", c->program->code->kernels[l->kernel]);
  const char *from = strstr(ptx, name), *to = from ? strstr(from, "\n}") : NULL;
  const char *mma = rows[i].dt == DT_BF16  ? "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
                    : rows[i].dt == DT_F16 ? "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
                                           : "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32";
  if (!to) return wrong(i, "its PTX is not there");
  if (!rows[i].k) return 0;
  bool loads = rows[i].dt != DT_F32 || !rows[i].ta || rows[i].tb; /* no 4-byte words across */
  bool async = comes_async(i, rows[i].ta ? rows[i].m : rows[i].k) ||
               comes_async(i, rows[i].tb ? rows[i].k : rows[i].n);
  if (!has(from, to, mma)) return wrong(i, "its PTX is not on tensor cores");
  if (has(from, to, "ldmatrix.sync") != loads) return wrong(i, "ldmatrix is not where it belongs");
  if ((has(from, to, "cp.async.ca.") || has(from, to, "cp.async.cg.")) != async)
    return wrong(i, "cp.async is not where it belongs");
  return 0;
}

/* The same of what sm_90a has. */
static int check_sm90a(const Compiled *c, const char *ptx, int i) {
  const GcEntry *e = entry_of(c, i);
  const GcLaunch *l = NULL;
  for (int s = 0; s < e->nsteps; s++)
    if (e->steps[s].launch[1].nmaps) l = &e->steps[s].launch[1];
  if (!l) return wrong(i, "no launch has tensor maps");
  char name[64];
  snprintf(name, sizeof name, ".entry %s(", c->program->code->kernels[l->kernel]);
  const char *from = strstr(ptx, name), *to = from ? strstr(from + 1, ".entry ") : NULL;
  if (from && !to) to = from + strlen(from);
  if (!to || !has(from, to, "wgmma.mma_async.sync.aligned.m64n") || has(from, to, "mma.sync"))
    return wrong(i, "its PTX is not by wgmma");
  if (!has(from, to, "cp.async.bulk.tensor.4d")) return wrong(i, "its PTX has no TMA");
  const bool turned = rows[i].dt == DT_F32 && !rows[i].tb;
  return has(from, to, "multicast") != ((turned ? rows[i].n : rows[i].m) > TILE_ROWS_SM90A)
             ? wrong(i, "its blocks do not share copies, or do")
             : 0;
}

/* ---- what it computes ---- */

/* The interpreter runs the tiles of the first and the last product of a batch, where those are all
   that the entry launches: those between differ from the last in where they lie alone. */
static bool run_ends(Compiled *on, int i, DeviceKind kind) {
  DeviceHead *d = on->device;
  const GcEntry *e = entry_of(on, i);
  d->ends = kind != DEVICE_DRIVER && e->nsteps == 1 && rows[i].batch > 2;
  if (d->ends && e->steps[0].launch[d->variant].grid != rows[i].batch * tiles_of(i))
    d->ends = false; /* a block has several tiles */
  d->some = d->ends ? (unsigned)(2 * tiles_of(i)) : 0;
  return d->ends;
}

/* Sums of k products of numbers below 1 in f32 in another order, and one rounding of the result. */
static int compare(int i, const char *name, const Tensor *want, const Tensor *got, bool ends) {
  Dtype dt = want->type->dtype;
  double round = dt == DT_BF16 ? 0x1p-7 : dt == DT_F16 ? 0x1p-10 : 0x1p-23, largest = 0;
  const int64_t all = want->type->numel, one = rows[i].m * rows[i].n;
  for (int64_t k = 0; k < all; k++) {
    if (ends && k == one) k = all - one;
    double x = want->at[k].f, y = got->at[k].f, off = fabs(x - y);
    double allowed = 1e-6 * (double)(rows[i].k + 1) + round * fabs(x);
    if (!(off <= allowed)) {
      printf("tile %dx%d, row %d: %s: element %lld is %.9g, not %.9g\n", rows[i].bm, rows[i].bn, i,
             name, (long long)k, y, x);
      return 1;
    }
    if (off > largest) largest = off;
  }
  return 0;
}

/* Below 1, exact in every dtype. */
static Tensor *inputs_of(Arena *a, const Entry *e, int row) {
  Tensor *in = random_inputs(a, e, (uint64_t)row);
  for (uint32_t k = 0; k < e->body->args.n; k++)
    for (int64_t j = 0; j < in[k].type->numel; j++)
      in[k].at[j].f =
          (double)((int64_t)((uint64_t)(j + 1) * (k + 7) * 2654435761u >> 20) % 255 - 127) / 128;
  return in;
}

static bool run_row(Compiled *on, int i, const RunOptions *o, const Tensor *in, Tensor *out,
                    Ctx *c) {
  char entry[16];
  snprintf(entry, sizeof entry, "e%d", i);
  bool ran = compiled_run(on, entry, o, in, out, c);
  if (!ran) printf("tile %dx%d, row %d: %s\n", rows[i].bm, rows[i].bn, i, on->fault);
  return ran;
}

/* ptxas takes half of NVRTC's time: one commit in two is without. */
static DeviceKind opened(DeviceKind kind) {
  return kind == DEVICE_NVRTC && !level_draws("spills", 2) ? DEVICE_PTX : kind;
}

static int run(Ctx *c, Module *on_cpu, const Target *cpu, Module *on_gpu, const Target *gpu,
               CodegenOptions *o, DeviceKind kind, Taken runs) {
  Compiled *x = compiled_open(on_cpu, cpu, o, "-O1"), *on[DEVICES];
  int bad = devices_open(on_gpu, gpu, o, opened(kind), on) + !x;
  for (int i = runs.first; i < ROWS && on[0]; i += runs.every)
    bad += kind == DEVICE_NVRTC   ? check_kernel(on[0], device_text(on[0]), i)
           : kind == DEVICE_SM90A ? check_sm90a(on[0], device_text(on[0]), i)
                                  : 0;
  for (int i = runs.first, n = 0; i < ROWS && !bad; i += runs.every, n++) {
    Arena *a = arena_new();
    Tensor want[3], *in = inputs_of(a, on_cpu->entries.at[n], i);
    RunOptions ro = {.threads = 1, .seed = 1};
    bad += !run_row(x, i, &ro, in, want, c);
    for (int d = 0; d < DEVICES && on[d] && !bad; d++) {
      Tensor got[3];
      static const char *const names[] = {"y", "z", "h"};
      device_order(on[d], (unsigned)(i + d) % 3);
      bool ends = run_ends(on[d], i, kind);
      bad += !run_row(on[d], i, &ro, in, got, c);
      for (int k = 0; k < 3 && !bad; k++) bad += compare(i, names[k], &want[k], &got[k], ends);
    }
    arena_free(a);
  }
  compiled_close(x);
  devices_close(on);
  return bad;
}

int main(int argc, char **argv) {
  const char *how = argc > 2 ? argv[2] : "";
  DeviceKind kind = strcmp(how, "--gpu") == 0     ? DEVICE_DRIVER
                    : strcmp(how, "--clang") == 0 ? DEVICE_CLANG
                    : strcmp(how, "--sm90a") == 0 ? DEVICE_SM90A
                                                  : DEVICE_NVRTC;
  int every = argc == 4 && kind == DEVICE_CLANG          ? atoi(argv[3])
              : kind == DEVICE_DRIVER || level_is_full() ? 1
              : kind == DEVICE_SM90A                     ? 2
              : kind == DEVICE_NVRTC                     ? 4
                                                         : 1;
  if ((argc != 2 && kind == DEVICE_NVRTC) || every < 1) return 2;
  setvbuf(stdout, NULL, _IOLBF, 0);
  Ctx *c = ctx_new();
  CodegenOptions o = {
      .version = "test", .runtime_dir = argv[1], .level = 2, .march = harness_march(0)};
  const Target *cpu = target_cpu(c, &o), *gpu = target_cuda(c, NULL, 0);
  const int turn = kind == DEVICE_CLANG ? 0 : (int)(level_seed() / 10000 % (uint64_t)every);
  const Taken runs = {(kind == DEVICE_SM90A ? FIRST_SM90A : 0) + turn, every};
  Module *on_cpu = module_of(c, runs), *on_gpu = module_of(c, runs);
  PassOptions po = {.memory = "pack", .verify_each = true, .out = stdout, .target = cpu};
  if (!cpu || !passes_run(on_cpu, passes_pipeline(2), &po)) return 1;
  po.target = gpu;
  if (!passes_run(on_gpu, passes_pipeline(2), &po)) return 1;
  if (kind == DEVICE_CLANG && !clang_find(ctx_arena(c))) {
    printf("NOT TESTED: a second compiler's products on tensor cores: there is no clang 16 or "
           "later (install clang-16 or set GC_CLANG)\n");
    return getenv("GC_NO_SKIP") ? 1 : SKIP;
  }
  if (kind != DEVICE_CLANG && !cuda_has_nvrtc(c)) {
    printf("NOT TESTED: products on tensor cores: there is no NVRTC\n");
    return getenv("GC_NO_SKIP") ? 1 : SKIP;
  }
  int bad = run(c, on_cpu, cpu, on_gpu, gpu, &o, kind, runs);
  printf("%u products, %d failures\n", on_cpu->entries.n, bad);
  ctx_free(c);
  return bad != 0;
}
