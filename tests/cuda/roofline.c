/* See roofline.h. By the model of time, on an H100. A kernel that would reach half of its roofline
   without the time of its launch, or does less than its launch takes, needs no row of slow.def. */
#include "tests/cuda/roofline.h"

#include "codegen/gpu/time/counts.h"
#include "tests/cuda/listed.h"

#include <inttypes.h>
#include <string.h>

static struct {
  const char *kernels, *why;
  int uses;
} slow[] = {
#define SLOW(kernels, why) {kernels, why, 0},
#include "slow.def"
#undef SLOW
};
enum { SLOW_ROWS = sizeof slow / sizeof *slow };

/* Kernels of an entry that have the same form and the same reason. */
typedef struct SlowForm {
  const char *name, *why;
  int kernels;
  int64_t launches;
  double seconds, least; /* the least share of the roofline */
} SlowForm;
typedef VEC(SlowForm) SlowForms;

/* "matmul product combine" */
static const char *name_of(Arena *a, const CudaFunction *f) {
  const Kernel *k = f->kernel;
  return arena_printf(a, "%s %s%s%s", op_info[k->op->kind].name,
                      k->schedule_kind ? k->schedule_kind->name : "elements", k->part ? " " : "",
                      k->part ? k->part : "");
}

/* NULL: no row names the kernel. */
static const char *reason(Arena *a, const GpuRow *r) {
  const GpuTime *t = &r->time;
  const double work = t->seconds - t->launch;
  if (work < t->launch || t->roofline >= work / 2) return "the launch";
  const char *part = r->f->kernel->part;
  const char *kind = arena_printf(a, "%s part=%s bound=%s", kernel_kind(a, r->f),
                                  part ? part : "first", gpu_bounds[t->bound]);
  for (int i = 0; i < SLOW_ROWS; i++)
    if (words_are(kind, slow[i].kernels)) {
      slow[i].uses++;
      return slow[i].why;
    }
  return NULL;
}

static SlowForm *form_of(Arena *a, SlowForms *forms, const char *name, const char *why) {
  for (uint32_t i = 0; i < forms->n; i++)
    if (strcmp(forms->at[i].name, name) == 0 && forms->at[i].why == why) return &forms->at[i];
  vec_push(a, forms, (SlowForm){.name = name, .why = why, .least = 1});
  return &forms->at[forms->n - 1];
}

static int check_entry(CudaProgram *p, const Entry *e, const char *program, const char *precision,
                       FILE *csv) {
  Arena *a = p->g.a;
  GpuRow *rows;
  SlowForms forms = {0};
  const int n = gpu_entry_rows(p, &gpu_devices[GPU_h100], e, &rows);
  double step = 0;
  int bad = 0;
  for (int i = 0; i < n; i++) step += rows[i].seconds;
  for (int i = 0; i < n; i++) {
    const GpuRow *r = &rows[i];
    const double share = r->time.roofline / r->time.seconds;
    if (r->seconds < step / 100 || share >= 0.5) continue;
    const char *why = reason(a, r);
    if (!why) {
      printf("%s --precision=%s, %s: %s (%s) takes %.1f us, %.0f %% of the roofline, bound by %s: "
             "%s\n",
             program, precision, e->name, r->f->name, r->f->what, 1e6 * r->time.seconds,
             100 * share, gpu_bounds[r->time.bound], kernel_kind(a, r->f));
      bad++;
      continue;
    }
    SlowForm *f = form_of(a, &forms, name_of(a, r->f), why);
    f->kernels++;
    f->launches += r->times;
    f->seconds += r->seconds;
    if (share < f->least) f->least = share;
  }
  for (uint32_t i = 0; i < forms.n; i++) {
    const SlowForm *f = &forms.at[i];
    fprintf(csv, "%s,%s,%s,%.3g,%s,%d,%" PRId64 ",%.1f,%.1f,\"%s\"\n", program, precision, e->name,
            1e3 * step, f->name, f->kernels, f->launches, 100 * f->seconds / step, 100 * f->least,
            f->why);
  }
  return bad;
}

int roofline_exceeded(CudaProgram *p, const Module *m, const char *program, const char *precision) {
  int bad = 0;
  for (uint32_t i = 0; i < m->entries.n; i++) {
    GpuRow *rows;
    const int n = gpu_entry_rows(p, &gpu_devices[GPU_h100], m->entries.at[i], &rows);
    for (int k = 0; k < n; k++) {
      const GpuTime *t = &rows[k].time;
      if (t->roofline <= t->seconds) continue;
      printf("%s --precision=%s, %s: %s (%s) takes %.1f us, and its roofline is %.1f us\n", program,
             precision, m->entries.at[i]->name, rows[k].f->name, rows[k].f->what, 1e6 * t->seconds,
             1e6 * t->roofline);
      bad++;
    }
  }
  return bad;
}

int roofline_check(CudaProgram *p, const Module *m, const char *program, const char *precision,
                   FILE *csv) {
  int bad = 0;
  for (uint32_t i = 0; i < m->entries.n; i++)
    bad += check_entry(p, m->entries.at[i], program, precision, csv);
  return bad;
}

int roofline_uses(void) {
  int bad = 0;
  for (int i = 0; i < SLOW_ROWS; i++) {
    if (slow[i].uses) continue;
    printf("slow.def: no kernel needs the row \"%s\"\n", slow[i].kernels);
    bad++;
  }
  return bad;
}
