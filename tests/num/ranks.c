/* Data parallelism on the reference interpreter: N virtual ranks, each with its rows of the batch,
   give what one process gives. Contract: `ranks [--shard|--halves|--gradients|--exact] FILE.g
   [NAME=V …]` runs two steps of each training entry in f64, alone and on 2, 3 and 4 ranks, those
   that divide the batch, and compares outputs and globals; with --shard each rank has a slice of
   the optimizer's state and of params, or the test fails, with --halves also if products read these
   in bf16, and with
   --gradients a slice of the gradients' sums in a batch of two parts; what entries that do not
   train read of slices is what these are together; with --exact the numbers are the same to the
   last bit; `ranks --local FILE.g OTHER.g` gives batch norms of the ranks their own statistics, and
   compares them with OTHER.g -D R=RANKS alone; `ranks --random COUNT [FIRST]` does so with random
   nets, whose entry is taken for one that trains. Exits with 1 after saying what differs, and if no
   collective was needed in any. */
#include "passes/distribute/distribute_impl.h"
#include "passes/passes.h"
#include "tests/num/compare.h"
#include "tests/num/random_nets.h"
#include "tests/num/random_program.h"
#include "tests/num/source.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 2 };

static const char alone[] = "gather-matmul,fold,cse,dce,autodiff,fold,cse,dce";

typedef struct Results {
  Arena *a;
  int n; /* of a step, and the globals behind the last one */
  Tensor *out;
} Results;

/* Whole numbers are few, so that they may be labels, but for those of images: pixels that hardly
   differ make batch norm magnify what rounding does. */
static Tensor *inputs_of(Arena *a, const Entry *e, uint64_t seed) {
  Tensor *in = random_inputs(a, e, seed);
  enum { PIXELS = 48 };
  for (uint32_t i = 0; i < e->body->args.n; i++) {
    const Type *t = in[i].type;
    bool image = t->rank && t->dim[0] && t->numel / t->dim[0] >= PIXELS;
    for (int64_t k = 0; k < t->numel && !image && !dtype_is_float(t->dtype); k++)
      in[i].at[k].i = in[i].at[k].i & 1;
  }
  return in;
}

/* The rank's rows of the inputs that the entry has less of. */
static Tensor *rows_of(Arena *a, const Entry *e, const Tensor *whole, int rank) {
  Tensor *in = ARENA_ARRAY(a, Tensor, e->body->args.n + 1);
  for (uint32_t i = 0; i < e->body->args.n; i++) {
    const Type *t = value_type(e, e->body->args.at[i]);
    bool part = t->numel != whole[i].type->numel;
    in[i] = (Tensor){.type = t, .at = whole[i].at + (part ? rank * t->numel : 0)};
  }
  return in;
}

static bool failed(const char *what, const Interp *it) {
  fprintf(stderr, "%s: %s\n", what, it->why);
  return false;
}

static Interp *start(Module *m, int rank, uint64_t seed) {
  Interp *it = interp_new(m, INTERP_F64, seed);
  it->rank = rank;
  if (m->init) interp_run(it, m->init, NULL, NULL);
  return it;
}

static long slices, copies;
static bool read_whole; /* by an entry that does not train */

/* Rank `who`'s, or the slices of all. */
static Tensor global_of(Arena *a, Interp *const *it, int ranks, int who, uint32_t g) {
  const Global *x = &it[who]->m->globals.at[g];
  if (!x->whole) return it[who]->globals[g];
  Tensor all = {.type = x->whole, .at = ARENA_ARRAY(a, Scalar, x->whole->numel)};
  for (int r = 0; r < ranks; r++) {
    int64_t at = r * x->type->numel, n = x->whole->numel - at;
    if (n > x->type->numel) n = x->type->numel;
    if (n > 0) memcpy(all.at + at, it[r]->globals[g].at, sizeof(Scalar) * (size_t)n);
  }
  slices++;
  return all;
}

/* Each rank's copies of params in slices have the slices of all. */
static bool gathered(Arena *a, Module *m, Interp *const *it, int ranks) {
  const Tensor **in = ARENA_ARRAY(a, const Tensor *, ranks);
  Tensor **out = ARENA_ARRAY(a, Tensor *, ranks);
  if (!m->gather) return true;
  if (!interp_run_ranks(it, ranks, m->gather, in, out)) return failed("gather", it[0]);
  for (uint32_t g = 0; g < m->globals.n; g++) {
    int master = global_gathered(m, (int)g);
    if (master < 0) continue;
    const Tensor whole = global_of(a, it, ranks, 0, (uint32_t)master);
    copies++;
    for (int i = 0; i < ranks; i++)
      if (memcmp(it[i]->globals[g].at, whole.at, sizeof(Scalar) * (size_t)whole.type->numel) != 0) {
        fprintf(stderr, "rank %d has another %s\n", i, m->globals.at[g].path);
        return false;
      }
  }
  return true;
}

static void keep(Results *r, Interp *const *it, int ranks, int who, const Tensor *out, int n) {
  for (int i = 0; i < n; i++) r->out[r->n++] = out[i];
  if (it)
    for (uint32_t g = 0; g < it[who]->m->globals.n; g++)
      if (!it[who]->m->globals.at[g].master) r->out[r->n++] = global_of(r->a, it, ranks, who, g);
  for (int i = 0; i < r->n; i++) { /* interpreters end before they are compared */
    size_t bytes = sizeof(Scalar) * (size_t)r->out[i].type->numel;
    r->out[i].at = memcpy(arena_alloc(r->a, bytes), r->out[i].at, bytes);
  }
}

/* Entry k of the module on so many ranks, whose batch `whole` has the inputs of; of rank `who`. */
static bool run(Module *m, uint32_t k, int ranks, const Entry *whole, uint64_t seed, int who,
                Results *r) {
  const Entry *e = m->entries.at[k];
  int n = entry_outputs(e, NULL, NULL);
  Arena *a = r->a = arena_new();
  Interp **it = ARENA_ARRAY(a, Interp *, ranks);
  const Tensor **in = ARENA_ARRAY(a, const Tensor *, ranks);
  Tensor **out = ARENA_ARRAY(a, Tensor *, ranks);
  bool ok = true;
  r->out = ARENA_ARRAY(a, Tensor, STEPS * n + (int)m->globals.n + 1);
  for (int i = 0; i < ranks; i++) it[i] = start(m, i, seed);
  for (int s = 0; ok && s < STEPS; s++) {
    const Tensor *all = inputs_of(a, whole, seed + (uint64_t)s);
    for (int i = 0; i < ranks; i++) {
      it[i]->step = (uint64_t)s;
      in[i] = rows_of(a, e, all, i);
      it[i]->first_row = i * value_type(e, e->body->args.at[0])->dim[0];
      out[i] = ARENA_ARRAY(a, Tensor, n + 1);
    }
    ok = interp_run_ranks(it, ranks, e, in, out);
    for (int i = 0; !ok && i < ranks; i++) failed(e->name, it[i]);
    ok = ok && (s + 1 < STEPS || gathered(a, m, it, ranks));
    if (ok) keep(r, s + 1 == STEPS ? it : NULL, ranks, who, out[who], n);
  }
  for (int i = 0; i < ranks; i++) interp_free(it[i]);
  return ok;
}

/* Sums in f64 in another order; a tensor's numbers may cancel. Within 0: the same bits. */
static bool same(const char *what, const Results *x, const Results *y, double within) {
  for (int i = 0; i < x->n; i++) {
    const Type *t = x->out[i].type;
    double size = 0;
    for (int64_t k = 0; k < t->numel && dtype_is_float(t->dtype); k++)
      size = fmax(size, fabs(x->out[i].at[k].f));
    for (int64_t k = 0; k < t->numel; k++) {
      Scalar p = x->out[i].at[k], q = y->out[i].at[k];
      bool real = dtype_is_float(t->dtype);
      if (real ? p.f == q.f || (p.f != p.f && q.f != q.f) ||
                     fabs(p.f - q.f) <= within * (size + 1e-6)
               : p.i == q.i)
        continue;
      fprintf(stderr, "%s: result %d, element %lld: %.17g instead of %.17g\n", what, i,
              (long long)k, real ? q.f : (double)q.i, real ? p.f : (double)p.i);
      return false;
    }
  }
  return true;
}

static long collectives;

static bool prepare(Module *m, const char *pipeline) {
  PassOptions o = {.verify_each = true};
  return passes_run(m, pipeline, &o);
}

typedef Module *Make(Ctx *c, void *what);

/* The batch is a multiple of the ranks, and no other input is as long as a share of it. */
static bool splits(const Entry *e, int ranks) {
  int64_t batch = value_type(e, e->body->args.at[0])->dim[0];
  for (uint32_t i = 1; i < e->body->args.n; i++) {
    const Type *t = value_type(e, e->body->args.at[i]);
    if (t->rank && t->dim[0] == batch / ranks) return false;
  }
  return batch % ranks == 0;
}

/* Where all rows are gathered the batch has become static. Constants of its size are rounded to
   their dtype then, and runs of f64 show it. */
static bool static_as(Module *one, const Module *many) {
  const Extent *x[ENTRY_EXTENTS], *y[ENTRY_EXTENTS];
  bool changed = false;
  for (uint32_t k = 0; k < one->entries.n; k++) {
    Entry *e = one->entries.at[k];
    if (!entry_extents(e, x) || entry_extents(many->entries.at[k], y)) continue;
    Arena *a = arena_new();
    changed |= batch_made_static(a, e, x[0]);
    arena_free(a);
  }
  return !changed || prepare(one, "fold,cse,dce");
}

typedef struct File {
  const char *path;
  const char *const *define;
  int n;
  const char *other; /* what is compared with it: of LOCAL */
} File;

static Module *make_file(Ctx *c, void *what) {
  const File *f = what;
  return source_module(c, f->path, f->define, f->n);
}

/* A bounded batch has no constants of its size, which are rounded. */
static const double within[] = {1e-9, 1e-9, 1e-9, 1e-9, 0, 1e-8};

static Module *make_ghost(Ctx *c, const void *what, int ranks) {
  const File *f = what;
  char define[16];
  snprintf(define, sizeof define, "R=%d", ranks);
  return source_module(c, f->other, (const char *[]){define}, 1);
}

typedef enum Manner { PLAIN, SHARD, HALVES, GRADIENTS, EXACT, LOCAL } Manner;

static const char halves[] = ",precision{products=bf16},master-weights";

static bool check(Make *make, void *what, int ranks, Manner how, uint64_t seed, const char *name) {
  Ctx *c = ctx_new();
  Module *many = make(c, what);
  if (!splits(many->entries.at[0], ranks)) { /* of a random batch, or of 8 rows on 3 */
    ctx_free(c);
    return true;
  }
  Module *one = how == LOCAL ? make_ghost(c, what, ranks) : make(c, what);
  char whole[200], pipeline[250];
  snprintf(whole, sizeof whole, "%s%s", alone, how == HALVES ? halves : "");
  const bool shards = how == SHARD || how == HALVES || how == GRADIENTS;
  snprintf(pipeline, sizeof pipeline,
           "%s%s,distribute{ranks=%d,shard=%s,exact=%d}%s,fold,cse,dce%s",
           how == LOCAL ? "local-batch-norm," : "", alone, ranks, shards ? "optimizer" : "none",
           how == EXACT, how == HALVES ? halves : "",
           how == GRADIENTS ? ",microbatch{parts=2,scatter=1}" : "");
  bool ok = prepare(one, whole) && prepare(many, pipeline) && static_as(one, many);
  for (uint32_t k = 0; ok && k < one->entries.n; k++) {
    const Entry *e = one->entries.at[k], *d = many->entries.at[k];
    read_whole |= !e->training;
    if (!d->ranks || !e->training) continue;
    for (uint32_t i = 0; i < d->ops.n; i++)
      collectives += op_info[op_at(d, i)->kind].cls == CLASS_COLLECTIVE;
    Results x = {0}, y = {0};
    ok = run(one, k, 1, e, seed, 0, &x) &&
         run(many, k, ranks, e, seed, (int)(seed % (uint64_t)ranks), &y) &&
         same(name, &x, &y, within[how]);
    arena_free(x.a);
    if (y.a) arena_free(y.a);
  }
  if (!ok) fprintf(stderr, "%s: %d ranks, seed %llu\n", name, ranks, (unsigned long long)seed);
  ctx_free(c);
  return ok;
}

static Module *make_net(Ctx *c, void *what) {
  Module *m = random_net(c, *(const uint64_t *)what);
  m->entries.at[0]->training = true;
  return m;
}

int main(int argc, char **argv) {
  Manner how = argc <= 1                             ? PLAIN
               : strcmp(argv[1], "--shard") == 0     ? SHARD
               : strcmp(argv[1], "--halves") == 0    ? HALVES
               : strcmp(argv[1], "--gradients") == 0 ? GRADIENTS
               : strcmp(argv[1], "--exact") == 0     ? EXACT
               : strcmp(argv[1], "--local") == 0     ? LOCAL
                                                     : PLAIN;
  if (how != PLAIN) argv++, argc--;
  bool ok = argc > 1, random = ok && strcmp(argv[1], "--random") == 0;
  uint64_t count = random && argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  uint64_t first = random && argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
  File f = {argv[1], (const char *const *)argv + 2, argc - 2, NULL};
  if (how == LOCAL && argc > 2) f = (File){argv[1], NULL, 0, argv[2]};
  for (uint64_t s = first; ok && s < first + count; s++)
    for (int ranks = 2; ok && ranks <= 4; ranks++)
      ok = check(random ? make_net : make_file, random ? (void *)&s : (void *)&f, ranks, how, s,
                 argv[1]);
  if (ok && !collectives) fprintf(stderr, "no rank had to talk to another\n");
  const bool shards = how == SHARD || how == HALVES || how == GRADIENTS;
  if (ok && shards && !slices) fprintf(stderr, "no state is in slices\n");
  bool copied = how != SHARD || !read_whole || copies;
  if (ok && !copied) fprintf(stderr, "no params are in slices\n");
  return ok && copied && collectives && (slices || !shards) ? 0 : 1;
}
