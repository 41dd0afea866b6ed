/* How a step of training scales from 1 to 1,024 GPUs: gc's own schedule for each number of ranks
   (passes and streams of the program as `gc --data-parallel=nccl --ranks=N` has them), its kernels'
   times by the model of docs/time-model.md, and models of links (links.def). The batch of each rank
   stays the same, so that the efficiency is the time of one rank's step by that of N. What is left
   out: that kernels of NCCL take multiprocessors from those of the step, ranks that are not equally
   fast, and links that ranks share.
   - scale FOLDER check [MODEL]: the goals of models.def; exit code 1 if one is missed
   - scale FOLDER table [MODEL...]: a row of CSV for each model, link, way and number of ranks
   - scale FOLDER why MODEL LINK RANKS plain|sharded: when each collective of a step has its
     operands, begins and ends, in ms
   - scale FOLDER cpu FILE.g ENTRY LET=ROWS[,NAME=V...] RANKS plain|sharded SECONDS TABLE: seconds
     of a step on RANKS processors, of which each takes SECONDS for its rows alone; TABLE has what
     tests/scale/collectives.c printed */
#include "codegen/cpu/target.h"
#include "codegen/gpu/gpu.h"
#include "codegen/gpu/time/counts.h"
#include "passes/passes.h"
#include "passes/plan/plan_impl.h"
#include "tests/num/source.h"
#include "tests/scale/simulate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFINES = 16 }; /* at most */

typedef struct Model {
  const char *name, *title, *file, *entry, *batch;
  int rows; /* of each rank */
  const char *precision;
  bool local_norm;
  const char *define[DEFINES]; /* up to a NULL */
} Model;

typedef struct Goal {
  const char *model, *link;
  bool sharded;
  int ranks;
  double least;
} Goal;

static const Model models[] = {
#define MODEL(name, title, file, entry, batch, rows, precision, local_norm, ...)                   \
  {#name, title, file, entry, batch, rows, precision, local_norm, {__VA_ARGS__}},
#define GOAL(...)
#include "models.def"
#undef MODEL
#undef GOAL
};
static const Goal goals[] = {
#define MODEL(...)
#define GOAL(model, link, sharded, ranks, least) {#model, #link, sharded, ranks, least},
#include "models.def"
#undef MODEL
#undef GOAL
};
static const LinkModel links[] = {
#define LINK(name, title, latency, gb, base)                                                       \
  {#name, title, 1e-6 * (latency), 1e9 * (gb), 1e-6 * (base), NULL},
#include "links.def"
#undef LINK
};
enum {
  MODELS = sizeof models / sizeof *models,
  GOALS = sizeof goals / sizeof *goals,
  LINKS = sizeof links / sizeof *links
};

/* ---- a program for so many ranks ---- */

typedef struct Made {
  Ctx *c;
  Arena *a;
  const Entry *e;
  double *seconds; /* by step of its plan */
  double bytes;    /* of a rank: globals and arena */
} Made;

static void drop(Made *x) {
  arena_free(x->a);
  ctx_free(x->c);
}

/* The other entries are not planned: their passes would take as long again. */
static Entry *keep_entry(Module *m, const char *name) {
  for (uint32_t i = 0; i < m->entries.n; i++)
    if (strcmp(m->entries.at[i]->name, name) == 0) {
      m->entries.at[0] = m->entries.at[i];
      m->entries.n = 1;
      return m->entries.at[0];
    }
  fprintf(stderr, "there is no entry %s\n", name);
  exit(2);
}

/* Through the passes of -O2. */
static Module *planned(Made *x, const char *path, const Model *m, int ranks, bool sharded,
                       const LinkModel *l, const Target *t) {
  const char *define[DEFINES + 1];
  int n = 0;
  for (; n < DEFINES && m->define[n]; n++) define[n] = m->define[n];
  define[n++] = arena_printf(x->a, "%s=%d", m->batch, m->rows * ranks);
  Module *made = source_module(x->c, path, define, n);
  keep_entry(made, m->entry);
  PassOptions o = {.memory = "pack", .out = stdout, .target = t};
  if (l) o.link = (Link){l->latency, l->bandwidth};
  const char *pipeline = passes_with_precision(x->c, passes_pipeline(2), m->precision);
  pipeline = passes_with_ranks(
      x->c, pipeline, (RanksHow){ranks, sharded ? "optimizer" : NULL, false, m->local_norm});
  if (!passes_run(made, pipeline, &o)) exit(1);
  x->e = made->entries.at[0];
  x->seconds = ARENA_ARRAY(x->a, double, plan_of(x->e)->nsteps + 1);
  x->bytes = (double)(plan_globals(made, t->align).bytes + plan_of(x->e)->arena_bytes);
  return made;
}

static Made on_gpus(const char *folder, const Model *m, int ranks, bool sharded,
                    const LinkModel *l) {
  Made x = {.c = ctx_new(), .a = arena_new()};
  const Target *t = target_cuda(x.c, NULL, 0);
  CodegenOptions o = {.version = "test", .level = 2};
  const char *path = arena_printf(x.a, "%s/docs/examples/%s", folder, m->file);
  CudaProgram *p = cuda_program(planned(&x, path, m, ranks, sharded, l, t), t, &o, x.a);
  gpu_plan_seconds(p, &gpu_devices[GPU_h100], x.e, x.seconds);
  return x;
}

static Simulated step(const char *folder, const Model *m, int ranks, bool sharded,
                      const LinkModel *l, FILE *lines) {
  Made x = on_gpus(folder, m, ranks, sharded, l);
  Simulated s = simulate(x.e, x.seconds, l, lines);
  s.bytes = x.bytes;
  drop(&x);
  return s;
}

/* ---- commands ---- */

static const Model *model_of(const char *name) {
  for (int i = 0; i < MODELS; i++)
    if (strcmp(models[i].name, name) == 0) return &models[i];
  fprintf(stderr, "there is no model %s\n", name);
  exit(2);
}

static const LinkModel *link_named(const char *name) {
  for (int i = 0; i < LINKS; i++)
    if (strcmp(links[i].name, name) == 0) return &links[i];
  fprintf(stderr, "there is no link %s\n", name);
  exit(2);
}

static int check(const char *folder, const char *only) {
  int missed = 0;
  double one[MODELS] = {0};
  for (int i = 0; i < GOALS; i++) {
    const Goal *g = &goals[i];
    const Model *m = model_of(g->model);
    const LinkModel *l = link_named(g->link);
    if (only && strcmp(only, g->model) != 0) continue;
    double *alone = &one[m - models];
    if (*alone <= 0) *alone = step(folder, m, 1, false, l, NULL).seconds;
    Simulated s = step(folder, m, g->ranks, g->sharded, l, NULL);
    double efficiency = *alone / s.seconds;
    bool bad = !(efficiency >= g->least);
    printf("%s, %s, %d ranks%s: efficiency %.3f, goal %.2f%s\n", m->title, l->title, g->ranks,
           g->sharded ? ", sharded" : "", efficiency, g->least, bad ? ": MISSED" : "");
    missed += bad;
  }
  return missed != 0;
}

static void table(const char *folder, const Model *m) {
  static const int sizes[] = {1, 2, 8, 64, 1024};
  Simulated one = step(folder, m, 1, false, links, NULL);
  for (int k = 0; k < LINKS; k++)
    for (int sharded = 0; sharded < 2; sharded++)
      for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int ranks = sizes[i];
        Simulated s = ranks > 1 ? step(folder, m, ranks, sharded, &links[k], NULL) : one;
        printf("\"%s\",\"%s\",%s,%d,%.1f,%.2f,%.2f,%.2f,%d,%.3f\n", m->title, links[k].title,
               sharded ? "optimizer" : "none", ranks, 1e-9 * s.bytes, 1e3 * s.seconds,
               1e3 * s.computes, 1e3 * s.talks, s.collectives, one.seconds / s.seconds);
        fflush(stdout);
      }
}

/* Lines "all_reduce BYTES SECONDS", "reduce_scatter …", "all_gather …"; others are not read. */
static void read_tables(const char *file, LinkTable *t) {
  static const char *const kinds[] = {"all_reduce", "reduce_scatter", "all_gather"};
  char kind[32];
  LinkPoint x;
  FILE *f = fopen(file, "r");
  if (!f) {
    fprintf(stderr, "%s cannot be read\n", file);
    exit(2);
  }
  for (int n; (n = fscanf(f, "%31s %lf %lf%*[^\n]", kind, &x.bytes, &x.seconds)) != EOF;)
    for (int k = 0; k < 3; k++)
      if (n == 3 && strcmp(kind, kinds[k]) == 0 && t[k].n < LINK_POINTS) t[k].at[t[k].n++] = x;
  fclose(f);
  for (int k = 0; k < 3; k++)
    if (t[k].n < 2) {
      fprintf(stderr, "%s has fewer than two figures of %s\n", file, kinds[k]);
      exit(2);
    }
}

/* Steps take their share of `seconds` by gc's estimate of their work. */
static int on_processors(char **arg) {
  Model m = {.entry = arg[1], .precision = "f32"};
  char *define = arg[2], *equals = strchr(define, '=');
  if (!equals) {
    fprintf(stderr, "'%s' is no LET=ROWS\n", define);
    return 2;
  }
  *equals = 0;
  m.batch = define;
  m.rows = atoi(equals + 1);
  char *next = strchr(equals + 1, ',');
  for (int n = 0; next && n < DEFINES; n++) {
    m.define[n] = next + 1;
    char *end = strchr(next + 1, ',');
    *next = 0;
    next = end;
  }
  Made x = {.c = ctx_new(), .a = arena_new()};
  LinkTable tables[3] = {{.n = 0}};
  read_tables(arg[6], tables);
  LinkModel l = {.name = "measured", .title = "measured", .measured = tables};
  CodegenOptions o = {.version = "test", .level = 2};
  const Target *t = target_cpu(x.c, &o);
  if (!t) return 2;
  planned(&x, arg[0], &m, atoi(arg[3]), strcmp(arg[4], "sharded") == 0, NULL, t);
  const Plan *p = plan_of(x.e);
  double work = 0;
  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; i < p->nsteps; i++) {
      if (op_info[p->steps[i]->kind].cls == CLASS_COLLECTIVE) continue;
      double w = plan_work(t, x.e, p, p->steps[i]);
      if (pass)
        x.seconds[i] = atof(arg[5]) * w / work;
      else
        work += w;
    }
  Simulated s = simulate(x.e, x.seconds, &l, NULL);
  printf("seconds %.6f, of which collectives %.6f, %d of them\n", s.seconds, s.talks,
         s.collectives);
  drop(&x);
  return 0;
}

int main(int argc, char **argv) {
  if (argc >= 3 && argc <= 4 && strcmp(argv[2], "check") == 0)
    return check(argv[1], argc == 4 ? argv[3] : NULL);
  if (argc == 10 && strcmp(argv[2], "cpu") == 0) return on_processors(argv + 3);
  if (argc == 7 && strcmp(argv[2], "why") == 0) {
    Simulated s = step(argv[1], model_of(argv[3]), atoi(argv[5]), strcmp(argv[6], "sharded") == 0,
                       link_named(argv[4]), stdout);
    printf("%.3f ms, of which %.3f compute, beside %.3f of collectives\n", 1e3 * s.seconds,
           1e3 * s.computes, 1e3 * s.talks);
    return 0;
  }
  if (argc < 3 || strcmp(argv[2], "table") != 0) {
    fprintf(stderr, "usage: scale FOLDER check|table [MODEL...]\n"
                    "       scale FOLDER why MODEL LINK RANKS plain|sharded\n"
                    "       scale FOLDER cpu FILE.g ENTRY LET=ROWS[,NAME=V...] RANKS plain|sharded "
                    "SECONDS TABLE\n");
    return 2;
  }
  printf("model,link,shard,ranks,GB,ms,computes,collectives,number,efficiency\n");
  for (int i = 0; i < MODELS && argc == 3; i++) table(argv[1], &models[i]);
  for (int i = 3; i < argc; i++) table(argv[1], model_of(argv[i]));
  return 0;
}
