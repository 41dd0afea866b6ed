/* Every op in every dtype it allows, compiled by the CPU target and held to the reference
   interpreter over random shapes: rank 0, extents 0 and 1, primes, and sizes where vectors have
   tails and work is split into units. One thread and three (in any order between barriers) must
   give the same bits. Every third case is taken, so that each op has all sizes in each dtype, the
   others on other commits, and all at the level full.
   conformance RUNTIME_DIR [SEED [OP]] Contract: conformance_rows has a row for
   every op, or the test fails and names it. (Real programs flush subnormals to zero in every
   thread; this process keeps IEEE's rules, so exact ops are checked on subnormals, too.) */
#include "tests/num/conformance.h"
#include "tests/level.h"
#include "tests/num/random_program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ops that are how a program is put together and have no value of their own: every entry ends in a
   return, groups are kernels that yield, and grad is expanded before there is code. A scan is as
   its body is: random programs have loops. An extent is what a run says (e2e/extents). */
static bool structural(OpKind k) {
  return k == OP_KERNEL || k == OP_YIELD || k == OP_RETURN || k == OP_GRAD || k == OP_SCAN ||
         k == OP_EXTENT || op_info[k].cls == CLASS_COLLECTIVE || k == OP_FIRST_ROW || k == OP_RANK;
}

/* ---- building ---- */

/* One case as an entry of the module; false if the op does not take the dtype. */
static bool make(Case *c) {
  c->global = -1;
  c->terms = 1;
  c->row->make(c);
  const Type *types[8];
  char why[256];
  for (int i = 0; i < c->n; i++) types[i] = c->x[i].type;
  if (c->global < 0 && !op_shape(c->ctx, c->kind, types, c->n, c->attr, c->given, why))
    return false;
  c->e = entry_new(c->m, intern_printf(c->ctx, "e%u", c->m->entries.n), (Loc){0});
  vec_push(c->m->arena, &c->m->entries, c->e);
  c->b = builder_new(c->e, c->e->body);
  c->b->fold = false;
  ValueId v[8];
  for (int i = 0; i < c->n; i++) {
    Tensor *t = &c->x[i];
    v[i] = entry_add_input(c->e, intern_printf(c->ctx, "x%d", i), t->type);
    t->at = ARENA_ARRAY(c->m->arena, Scalar, t->type->numel + 1);
    for (int64_t j = 0; j < t->type->numel; j++) {
      t->at[j] = conformance_element(c, t->type->dtype, c->limit[i]);
      if (c->kind == OP_SOFTMAX_GRAD &&
          i == 1) /* as a softmax is: positive, adding up to about 1 */
        t->at[j] = scalar_round((Scalar){.f = fabs(t->at[j].f) / (double)c->terms}, t->type->dtype,
                                INTERP_DTYPE);
      if (c->kind == OP_LOG_SOFTMAX_GRAD && i == 1)
        t->at[j] = scalar_round((Scalar){.f = -fabs(t->at[j].f) - log((double)c->terms)},
                                t->type->dtype, INTERP_DTYPE);
    }
  }
  ValueId y;
  if (c->global >= 0) { /* what the global held before, while x takes its place */
    y = build_load(c->b, c->global);
    build_store(c->b, c->global, v[0]);
  } else {
    y = build(c->b, c->kind, v, c->n, c->attr, c->given);
  }
  const Op *made = value_def(c->e, y);
  c->results = c->global >= 0 ? 1 : made->nresults;
  build_return(c->b, c->global >= 0 ? &y : made->results, (const char *[]){"y", "z", "u"},
               c->results);
  return true;
}

static void make_init(Module *m) {
  if (!m->globals.n) return;
  m->init = entry_new(m, "init", (Loc){0});
  Builder *b = builder_new(m->init, m->init->body);
  for (uint32_t i = 0; i < m->globals.n; i++) {
    const Type *t = m->globals.at[i].type;
    build_store(b, (int)i,
                dtype_is_float(t->dtype) ? build_const(b, t, 3) : build_const_int(b, t, 3));
  }
  build_return(b, NULL, NULL, 0);
}

/* ---- running ---- */

enum { SIZES = 5, ENTRIES = 250 };

typedef struct Batch {
  Ctx *ctx;
  Module *m;
  Case *at; /* ENTRIES */
  int n;
} Batch;

static Batch batch_new(void) {
  Batch b = {.ctx = ctx_new(), .at = calloc(ENTRIES, sizeof *b.at)};
  b.m = module_new(b.ctx, "conformance.g");
  return b;
}

/* The reference keeps the module as it was built; a twin of it, made from the same text, is
 * compiled. */
static Module *twin(Batch *b, char **text) {
  size_t size;
  FILE *f = open_memstream(text, &size);
  module_print(f, b->m, &(PrintOptions){0});
  fclose(f);
  return module_read(b->ctx, ctx_add_source(b->ctx, "conformance.ir", *text, size));
}

/* The case of a size: kinds of values take the sizes in turn. */
static bool is_drawn(int k, int dt, int size) {
  return level_is_full() || (level_seed() / 10000 + (uint64_t)(k + dt + size)) % 3 == 0;
}

/* number: of the batch; the C compiler's optimiser, which takes most of the time, has one in four.
 */
static int batch_run(Batch *b, int number, const char *runtime, uint64_t seed) {
  int failures = 0;
  char *text = NULL;
  make_init(b->m);
  const uint64_t turn = level_seed() / 10000 + (uint64_t)number;
  CodegenOptions co = {.version = "test", .runtime_dir = runtime, .march = harness_march(turn)};
  const char *cflags = level_is_full() || turn % 12 == 0 ? "-O3" : turn % 4 == 0 ? "-O1" : "-O0";
  const Target *t = target_cpu(b->ctx, &co);
  co.level = 2;
  PassOptions po = {.target = t, .memory = "pack", .verify_each = true};
  Module *m = twin(b, &text);
  Compiled *p = NULL;
  if (t && m && passes_run(m, passes_pipeline(2), &po)) p = compiled_open(m, t, &co, cflags);
  if (!p) {
    printf("a batch from %s to %s does not compile\n", op_info[b->at[0].kind].name,
           op_info[b->at[b->n - 1].kind].name);
    failures = 1;
  } else {
    Interp *it = interp_new(b->m, INTERP_DTYPE, 77), *wide = interp_new(b->m, INTERP_F64, 77);
    RunOptions ro = {.threads = 1, .seed = 77};
    compiled_init(p, &ro);
    if (b->m->init) interp_run(it, b->m->init, NULL, NULL);
    for (int i = 0; i < b->n; i++) failures += !conformance_check(&b->at[i], it, wide, p, seed);
    interp_free(it);
    interp_free(wide);
    compiled_close(p);
  }
  free(text);
  free(b->at);
  ctx_free(b->ctx);
  return failures;
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: conformance RUNTIME_DIR [SEED [OP]]\n");
    return 2;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  const char *only = argc > 3 ? argv[3] : NULL; /* one op, while looking for a bug */
  int failures = 0, cases = 0, batches = 0;
  Batch b = batch_new();
  for (int k = 0; k < OP_KINDS; k++) {
    if (structural((OpKind)k) || (only && strcmp(only, op_info[k].name) != 0)) continue;
    if (!conformance_rows[k].make) {
      printf("no row for the op %s\n", op_info[k].name);
      failures++;
      continue;
    }
    int made = 0;
    for (int dt = 0; dt < DTYPES; dt++)
      for (int size = 0; size < SIZES * (k == OP_CONVERT ? 7 : k == OP_MATMUL ? 3 : 2); size++) {
        if (!only && !is_drawn(k, dt, size)) continue;
        Case *c = &b.at[b.n];
        *c = (Case){.ctx = b.ctx,
                    .m = b.m,
                    .row = &conformance_rows[k],
                    .kind = (OpKind)k,
                    .dt = (Dtype)dt,
                    .size = size % SIZES,
                    .minus = size < SIZES && dtype_is_float((Dtype)dt)};
        c->seed = seed * 1000003 + (uint64_t)(k * 4001 + dt * 101 + size);
        if (!make(c)) continue;
        made++;
        cases++;
        if (++b.n < ENTRIES) continue;
        failures += batch_run(&b, batches++, argv[1], seed);
        b = batch_new();
      }
    if (!made) {
      printf("no dtype is right for %s\n", op_info[k].name);
      failures++;
    }
  }
  if (b.n) failures += batch_run(&b, batches, argv[1], seed);
  printf("%d cases, %d failures\n", cases, failures);
  return failures != 0;
}
