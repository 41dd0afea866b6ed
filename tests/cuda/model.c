/* The model of time: against public figures of kernels that others wrote (ladders.def), and the
   time of programs by it (goals.def). At least nine of ten figures are within a quarter, and each
   ladder is in its order, but for neighbours whose figures differ by less than a twentieth.
   docs/time-model.md has the row of each figure, and the time of each step within a twentieth.
     model FOLDER    of the project; prints the rows of the page */
#include "codegen/gpu/time/counts.h"
#include "passes/passes.h"
#include "tests/num/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- public figures ---- */

typedef struct Figure {
  const char *ladder, *kernel;
  const GpuDevice *device;
  double work, speed;
  GpuCounts counts;
  bool outside; /* not counted */
} Figure;

/* No device of --stats=time: of NVIDIA's GA102 white paper; MHz: between its base and boost clocks.
 */
static const GpuDevice a6000_device = {.name = "a6000",
                                       .title = "RTX A6000",
                                       .sms = 84,
                                       .mhz = 1605,
                                       .tensor_mhz = 1605,
                                       .tensor = 512,
                                       .mma = 100,
                                       .fma = 128,
                                       .fma64 = 2,
                                       .ldst = 16,
                                       .threads = 1536,
                                       .blocks = 16,
                                       .shared = 100 << 10,
                                       .l2 = 6 << 20,
                                       .l2_rate = 2048,
                                       .bandwidth = 768,
                                       .l2_latency = 270,
                                       .latency = 650};
/* Of NVIDIA's Ada white paper; clocks of L2 and memory: rounded, of published microbenchmarks. */
static const GpuDevice rtx4090_device = {.name = "rtx4090",
                                         .title = "RTX 4090",
                                         .sms = 128,
                                         .mhz = 2520,
                                         .tensor_mhz = 2520,
                                         .tensor = 256,
                                         .mma = 100,
                                         .fma = 128,
                                         .fma64 = 2,
                                         .ldst = 16,
                                         .threads = 1536,
                                         .blocks = 24,
                                         .shared = 100 << 10,
                                         .l2 = 72 << 20,
                                         .l2_rate = 2048,
                                         .bandwidth = 1008,
                                         .l2_latency = 270,
                                         .latency = 650};
static const GpuDevice *const rtx4090 = &rtx4090_device;
/* Of NVIDIA's Turing white paper, and Jia et al. 2019. */
static const GpuDevice t4_device = {.name = "t4",
                                    .title = "T4",
                                    .sms = 40,
                                    .mhz = 1590,
                                    .tensor_mhz = 1590,
                                    .tensor = 512,
                                    .mma = 100,
                                    .fma = 64,
                                    .fma64 = 2,
                                    .ldst = 16,
                                    .threads = 1024,
                                    .blocks = 16,
                                    .shared = 64 << 10,
                                    .l2 = 4 << 20,
                                    .l2_rate = 1024,
                                    .bandwidth = 320,
                                    .l2_latency = 190,
                                    .latency = 450};
static const GpuDevice *const t4 = &t4_device, *const a6000 = &a6000_device,
                              *const h100 = &gpu_devices[GPU_h100];

enum { PLAIN_LAUNCH = 2000 }; /* nanoseconds: none of them has programmatic dependent launch */

#define SGEMM (2.0 * 4096 * 4096 * 4096)

static int check_order(const Figure *slow, double slow_speed, const Figure *fast,
                       double fast_speed) {
  if (fast->outside || fast_speed > slow_speed || fast->speed < 1.05 * slow->speed) return 0;
  printf("%s: %s is faster than %s, not by the model\n", fast->ladder, fast->kernel, slow->kernel);
  return 1;
}

/* 31234 as 31,234: what a page of figures has; under 10^9. */
static const char *grouped(Arena *a, double number) {
  int n = (int)(number + 0.5);
  if (n >= 1000000) return arena_printf(a, "%d,%03d,%03d", n / 1000000, n / 1000 % 1000, n % 1000);
  return n >= 1000 ? arena_printf(a, "%d,%03d", n / 1000, n % 1000) : arena_printf(a, "%d", n);
}

static int check_figures(const char *page, Arena *a) {
  const Figure figures[] = {
#define LADDER(name, on) {.ladder = name, .device = on},
#define OUTSIDE(name, on) {.ladder = name, .device = on, .outside = true},
#define FIGURE(kernel, work, speed, ...) {NULL, kernel, NULL, work, speed, {__VA_ARGS__}, false},
#include "ladders.def"
  };
  int n = 0, near = 0, bad = 0;
  Figure last = {0};
  double last_speed = 0;
  for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
    Figure f = figures[i];
    if (!f.kernel) {
      last = f, last_speed = 0;
      continue;
    }
    f.ladder = last.ladder, f.device = last.device, f.outside = last.outside;
    GpuDevice plain = *f.device;
    plain.launch = PLAIN_LAUNCH;
    GpuTime t = gpu_time(&plain, &f.counts);
    double speed = f.work / t.seconds / 1e9, ratio = speed / f.speed;
    const char *row =
        arena_printf(a, "| %s | %s | %s | %s | %.2f | %s |\n", f.ladder, f.kernel,
                     grouped(a, f.speed), grouped(a, speed), ratio, gpu_bounds[t.bound]);
    printf("%s", row);
    if (!strstr(page, row)) {
      printf("... which docs/time-model.md has not\n");
      bad++;
    }
    n += !f.outside;
    near += !f.outside && ratio > 0.75 && ratio < 1.25;
    if (last_speed > 0) bad += check_order(&last, last_speed, &f, speed);
    last = f, last_speed = speed;
  }
  const char *said = arena_printf(a, "%d of %d figures are within 25 %%", near, n);
  printf("%s\n", said);
  return bad + (10 * near < 9 * n) + !strstr(page, said);
}

/* ---- programs ---- */

typedef struct Step {
  const char *row;
  int device; /* of gpu_devices */
  const char *file, *define, *precision, *entry;
  double goal; /* ms */
  const char *of_goal;
} Step;

/* What the steps at hand are entries of: those of one program follow each other. */
typedef struct Compiled {
  Ctx *c;
  Arena *a;
  const Step *of; /* the first of them; NULL: none is compiled */
  Module *m;
  CudaProgram *program;
} Compiled;

static void compiled_free(Compiled *x) {
  if (!x->of) return;
  arena_free(x->a);
  ctx_free(x->c);
  x->of = NULL;
}

/* Words of a text, at most so many. */
static int defines_of(Arena *a, const char *text, const char ***word) {
  int n = 0;
  char *at = arena_strdup(a, text);
  *word = ARENA_ARRAY(a, const char *, strlen(text) / 2 + 1);
  for (char *w = strtok(at, " "); w; w = strtok(NULL, " ")) (*word)[n++] = w;
  return n;
}

static bool compile(Compiled *x, const char *folder, const Step *s) {
  if (x->of && strcmp(x->of->file, s->file) == 0 && strcmp(x->of->define, s->define) == 0 &&
      strcmp(x->of->precision, s->precision) == 0)
    return true;
  compiled_free(x);
  *x = (Compiled){.c = ctx_new(), .a = arena_new(), .of = s};
  const char **define;
  const int n = defines_of(x->a, s->define, &define);
  x->m = source_module(x->c, arena_printf(x->a, "%s/%s", folder, s->file), define, n);
  const Target *t = target_cuda(x->c, NULL, 0);
  PassOptions po = {.memory = "pack", .out = stdout, .target = t};
  CodegenOptions o = {.version = "test", .level = 2};
  if (!passes_run(x->m, passes_with_precision(x->c, passes_pipeline(2), s->precision), &po))
    return false;
  x->program = cuda_program(x->m, t, &o, x->a);
  return true;
}

static int check_step(Compiled *x, const char *folder, const char *page, const Step *s) {
  if (!compile(x, folder, s)) return 1;
  double ms = 0;
  for (uint32_t i = 0; i < x->m->entries.n; i++)
    if (strcmp(x->m->entries.at[i]->name, s->entry) == 0)
      ms = 1e3 * gpu_entry_seconds(x->program, &gpu_devices[s->device], x->m->entries.at[i]);
  printf("| %s | %.*f | %s", s->row, ms < 10 ? 3 : 1, ms, s->of_goal);
  if (strstr(s->of_goal, " ms"))
    printf(" |\n");
  else
    printf(": %.3f |\n", s->goal);
  const char *row = strstr(page, arena_printf(x->a, "\n| %s | ", s->row));
  double of_page = row ? strtod(row + strlen("\n| ") + strlen(s->row) + strlen(" | "), NULL) : 0;
  if (ms > 0 && ms <= 1.05 * of_page && of_page <= 1.05 * ms) return 0;
  printf("... which docs/time-model.md gives %.3f ms\n", of_page);
  return 1;
}

int main(int argc, char **argv) {
  static const Step steps[] = {
#define STEP(row, device, ...) {row, GPU_##device, __VA_ARGS__},
#include "goals.def"
#undef STEP
  };
  if (argc != 2) {
    fprintf(stderr, "usage: model FOLDER\n");
    return 2;
  }
  Ctx *c = ctx_new();
  Arena *a = arena_new();
  uint16_t file;
  size_t length;
  if (!ctx_read_source(c, arena_printf(a, "%s/docs/time-model.md", argv[1]), &file)) {
    fprintf(stderr, "%s/docs/time-model.md cannot be read\n", argv[1]);
    return 2;
  }
  const char *page = ctx_source_text(c, file, &length);
  int bad = check_figures(page, a);
  Compiled now = {0};
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
    bad += check_step(&now, argv[1], page, &steps[i]);
  compiled_free(&now);
  arena_free(a);
  ctx_free(c);
  return bad != 0;
}
