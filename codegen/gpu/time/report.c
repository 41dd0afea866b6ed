/* The times of a program's launches by the model of time, entry by entry: --stats=time. */
#include "codegen/gpu/time/counts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static GpuTime launch_time(Gen *g, const CudaFunction *f, const GpuDevice *d) {
  const int n = f->kernel->mixed;
  if (n) {
    GpuTime *t = ARENA_ARRAY(g->a, GpuTime, n);
    for (int i = 0; i < n; i++) t[i] = launch_time(g, &f->members[i], d);
    return f->kernel->stacked ? gpu_time_of_stacked(t, n, f->kernel->early.s.n > 0)
                              : gpu_time_of_joined(t, n);
  }
  GpuCounts c = gpu_counts(g, f, d);
  return gpu_time(d, &c);
}

static int by_seconds(const void *a, const void *b) {
  const GpuRow *x = a, *y = b;
  if (x->seconds != y->seconds) return x->seconds < y->seconds ? 1 : -1;
  return x->f < y->f ? -1 : x->f > y->f;
}

int gpu_entry_rows(CudaProgram *p, const GpuDevice *d, const Entry *e, GpuRow **out) {
  GpuRow *rows = ARENA_ARRAY(p->g.a, GpuRow, p->functions.n + 1);
  int n = 0;
  for (uint32_t i = 0; i < p->steps.n; i++) {
    const CudaStep *s = &p->steps.at[i];
    GpuRow *r = &rows[s->function];
    if (s->entry != e) continue;
    if (!r->op) r->op = plan_of(e)->steps[s->step];
    r->times += s->times;
    r->steps++;
  }
  for (uint32_t i = 0; i < p->functions.n; i++) {
    GpuRow r = rows[i];
    if (!r.times) continue;
    r.f = &p->functions.at[i];
    r.time = launch_time(&p->g, r.f, d);
    r.seconds = (double)r.times * r.time.seconds;
    if (r.seconds > 0) rows[n++] = r;
  }
  qsort(rows, (size_t)n, sizeof *rows, by_seconds);
  *out = rows;
  return n;
}

/* "net.fc1 mlp.g:12:9 and 3 more": the first step that launches the kernel, and the others. */
static const char *source_of(CudaProgram *p, const GpuRow *r) {
  Arena *a = p->g.a;
  const char *scope = r->op->scope ? r->op->scope : "";
  const char *loc = r->op->loc.line ? loc_str(p->g.ctx, r->op->loc) : "";
  const char *more = r->steps > 1 ? arena_printf(a, " and %d more", r->steps - 1) : "";
  return arena_printf(a, "%s%s%s%s", scope, *scope && *loc ? " " : "", loc, more);
}

static void print_entry(FILE *f, CudaProgram *p, const GpuDevice *d, const Entry *e) {
  GpuRow *rows;
  double seconds = 0, roofline = 0;
  int64_t launches = 0;
  int width = (int)strlen("source");
  const int n = gpu_entry_rows(p, d, e, &rows);
  if (!n) return;
  for (int i = 0; i < n; i++) {
    seconds += rows[i].seconds;
    roofline += (double)rows[i].times * rows[i].time.roofline;
    launches += rows[i].times;
    const int w = (int)strlen(source_of(p, &rows[i]));
    if (w > width) width = w;
  }
  fprintf(f, "entry %s on %s: %.4g ms, roofline %.4g ms, %" PRId64 " launches\n", e->name, d->title,
          1e3 * seconds, 1e3 * roofline, launches);
  fprintf(f, "  %9s %6s %8s %9s %-8s %8s  %-6s %-*s  %s\n", "ms", "share", "launches", "us each",
          "bound", "roofline", "kernel", width, "source", "operations");
  for (int i = 0; i < n; i++) {
    const GpuRow *r = &rows[i];
    fprintf(f, "  %9.4f %5.1f%% %8" PRId64 " %9.2f %-8s %7.1f%%  %-6s %-*s  %s%s%s\n",
            1e3 * r->seconds, 100 * r->seconds / seconds, r->times, 1e6 * r->time.seconds,
            gpu_bounds[r->time.bound], 100 * r->time.roofline / r->time.seconds, r->f->name, width,
            source_of(p, r), r->f->what, r->f->kernel->part ? ", " : "",
            r->f->kernel->part ? r->f->kernel->part : "");
  }
}

void gpu_plan_seconds(CudaProgram *p, const GpuDevice *d, const Entry *e, double *seconds) {
  for (uint32_t i = 0; i < p->steps.n; i++) {
    const CudaStep *s = &p->steps.at[i];
    if (s->entry != e) continue;
    const CudaFunction *f = &p->functions.at[s->function];
    seconds[s->step] += (double)s->times * launch_time(&p->g, f, d).seconds;
  }
}

double gpu_entry_seconds(CudaProgram *p, const GpuDevice *d, const Entry *e) {
  const int steps = plan_of(e)->nsteps;
  double *of = ARENA_ARRAY(p->g.a, double, steps + 1), seconds = 0;
  gpu_plan_seconds(p, d, e, of);
  for (int i = 0; i < steps; i++) seconds += of[i];
  return seconds;
}

bool cuda_times(const CodegenPart *part, const CodegenOptions *o, const char *device, FILE *f) {
  Arena *a = arena_new();
  CudaProgram *p = cuda_program(part->m, part->target, o, a);
  const GpuDevice *d = gpu_device(device);
  fprintf(f, "by the model of docs/time-model.md, fitted to figures of others' kernels; no clock "
             "has confirmed it\n");
  const Entry *e;
  for (uint32_t i = 0; (e = plan_listed(part->m, i)) && !p->g.refused; i++) print_entry(f, p, d, e);
  bool ok = !p->g.refused;
  arena_free(a);
  return ok && !ferror(f);
}
