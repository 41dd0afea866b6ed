/* The plan as a picture: x is the step, y the address, a rectangle a value with its life and bytes.
   Contract: needs a plan with offsets. */
#include "passes/report/drawing.h"

enum {
  WIDTH = 1000, /* of the map, in pixels */
  HEIGHT = 420,
  LEFT = 110, /* for addresses */
  TOP = 70,   /* for the title and the line of all values alone */
  LANES = 22, /* of it, for the streams */
  BOTTOM = 50,
  ENTRY_HEIGHT = TOP + HEIGHT + BOTTOM
};

void svg_put_text(FILE *f, const char *s) {
  for (; *s; s++) switch (*s) {
    case '<': fputs("&lt;", f); break;
    case '>': fputs("&gt;", f); break;
    case '&': fputs("&amp;", f); break;
    case '"': fputs("&quot;", f); break;
    default: fputc(*s, f);
    }
}

/* In the map, which begins at LEFT. */
static double x_of(const Drawing *d, int step) {
  return (double)WIDTH * step / (d->p->nsteps > 0 ? d->p->nsteps : 1);
}

static double y_of(const Drawing *d, uint64_t bytes) {
  return TOP + HEIGHT * (1 - (double)bytes / (d->top ? (double)d->top : 1));
}

static int end_of(const Drawing *d, const Rect *r) {
  return r->place->last >= d->p->nsteps ? d->p->nsteps : r->place->last + 1;
}

static void put_attribute(FILE *f, const char *name, const char *value) {
  fprintf(f, " data-%s=\"", name);
  svg_put_text(f, value);
  fputc('"', f);
}

/* What the script of a page reads. */
static void put_data(FILE *f, const Rect *r, int end) {
  const Place *x = r->place;
  put_attribute(f, "name", r->name);
  put_attribute(f, "op", r->op);
  put_attribute(f, "layer", r->layer);
  put_attribute(f, "type", r->type);
  fprintf(f,
          " data-bytes=\"%llu\" data-at=\"%llu\" data-first=\"%d\" data-last=\"%d\" "
          "data-storage=\"%d\"",
          (unsigned long long)x->bytes, (unsigned long long)x->offset, x->first, end - 1, r->row);
}

static void put_rect(FILE *f, const Drawing *d, const Rect *r) {
  const Place *x = r->place;
  char bytes[32], size[32];
  double top = y_of(d, x->offset + x->bytes);
  fprintf(f, "<rect class=\"v %s\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"", r->kind,
          x_of(d, x->first), top, x_of(d, end_of(d, r)) - x_of(d, x->first),
          y_of(d, x->offset) - top);
  if (d->is_page) put_data(f, r, end_of(d, r));
  fputs("><title>", f);
  svg_put_text(f, r->name);
  fprintf(f, "  %s", r->op);
  if (*r->from) fputc('\n', f);
  svg_put_text(f, r->from);
  fputc('\n', f);
  svg_put_text(f, r->type);
  if (*r->type) fputs(", ", f);
  if (x->bytes >= 10000) fprintf(f, "%s, ", plan_size(size, x->bytes));
  fprintf(f, "%s bytes at 0x%llx\n", plan_commas(bytes, x->bytes), (unsigned long long)x->offset);
  if (x->last >= d->p->nsteps)
    fprintf(f, "steps %d to the end\n", x->first);
  else
    fprintf(f, "steps %d to %d\n", x->first, x->last);
  if (d->p->streams > 1) fprintf(f, "stream %d\n", x->stream);
  svg_put_text(f, r->how);
  fputs("</title></rect>\n", f);
}

static void put_line(FILE *f, const char *kind, double y, uint64_t bytes) {
  char n[32];
  fprintf(f,
          "<line class=\"%s\" x1=\"0\" y1=\"%.2f\" x2=\"%d\" y2=\"%.2f\"><title>%s "
          "bytes</title></line>\n",
          kind, y, WIDTH, y, plan_commas(n, bytes));
}

static void put_line_text(FILE *f, const char *kind, double y, const char *text, uint64_t bytes) {
  char n[32];
  fprintf(f, "<text class=\"%s\" x=\"%d\" y=\"%.2f\">%s %s</text>\n", kind,
          *kind == 'n' ? LEFT + 4 : LEFT + WIDTH - 4, y - 3, text, plan_size(n, bytes));
}

/* Above the map: which stream each step runs in, the first one highest. */
static void put_streams(FILE *f, const Drawing *d) {
  const Plan *p = d->p;
  double high = (double)LANES / p->streams;
  for (int t = 0; t < p->nsteps; t++) {
    fprintf(f, "<rect class=\"lane\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\">",
            x_of(d, t), TOP - LANES - 2 + high * p->stream[t], x_of(d, t + 1) - x_of(d, t), high);
    fprintf(f, "<title>step %d, %s, stream %d</title></rect>\n", t, plan_op_name(p->steps[t]),
            p->stream[t]);
  }
}

static void put_live(FILE *f, const Drawing *d) {
  fputs("<path class=\"live\" d=\"", f);
  for (int t = 0; t < d->p->nsteps; t++)
    fprintf(f, "%c%.2f %.2fH%.2f", t ? 'L' : 'M', x_of(d, t), y_of(d, d->live[t]), x_of(d, t + 1));
  fputs("\"/>\n", f);
}

static void put_axes(FILE *f, const Drawing *d) {
  const Plan *p = d->p;
  char n[32];
  for (int k = 0; k <= 4; k++) {
    uint64_t at = d->top / 4 * (uint64_t)k;
    fprintf(f, "<text class=\"y\" x=\"%d\" y=\"%.2f\">%s</text>\n", LEFT - 6, y_of(d, at) + 4,
            plan_size(n, at));
  }
  int every = (p->nsteps + 19) / 20 > 0 ? (p->nsteps + 19) / 20 : 1;
  for (int t = 0; t < p->nsteps; t += every)
    fprintf(f, "<text class=\"x\" x=\"%.2f\" y=\"%d\">%d</text>\n", LEFT + x_of(d, t),
            TOP + HEIGHT + 16, t);
  if (p->nsteps)
    fprintf(f, "<text class=\"peak\" x=\"%.2f\" y=\"%d\">peak: step %d, %s</text>\n",
            LEFT + x_of(d, d->peak), TOP + HEIGHT + 34, d->peak, plan_op_name(p->steps[d->peak]));
}

/* Behind the last value: kernels may read, but never use, what lies there. */
static uint64_t unused_end(const Drawing *d) {
  uint64_t end = 0;
  for (uint32_t i = 0; i < d->rects.n; i++) {
    const Place *x = d->rects.at[i].place;
    if (x->offset + x->bytes > end) end = x->offset + x->bytes;
  }
  return end && end < d->p->arena_bytes ? d->p->arena_bytes - end : 0;
}

static void put_title(FILE *f, const Drawing *d) {
  const Plan *p = d->p;
  char n[32], size[32];
  uint64_t unused = unused_end(d);
  fprintf(f, "<text class=\"title\" x=\"%d\" y=\"18\">", LEFT);
  svg_put_text(f, d->title);
  fprintf(f, ": arena %s", plan_size(size, p->arena_bytes));
  if (p->arena_bytes >= 10000) fprintf(f, " (%s bytes)", plan_commas(n, p->arena_bytes));
  fprintf(f, "%s, %d steps, memory %s", p->optimal ? ", optimal" : "", p->nsteps,
          p->strategy ? p->strategy : "?");
  if (p->recompute_flops && p->flops)
    fprintf(f, ", %.2f %% more arithmetic",
            100.0 * (double)p->recompute_flops / (double)(p->flops - p->recompute_flops));
  if (unused) fprintf(f, "; the last %s hold no value", plan_size(size, unused));
  if (p->streams > 1) fprintf(f, ", %d streams, %.2f at work", p->streams, p->average_parallelism);
  fputs("</text>\n", f);
}

/* The map alone moves where a page stretches the steps. */
static void put_map(FILE *f, const Drawing *d, double naive) {
  const Plan *p = d->p;
  fprintf(f,
          "<svg class=\"clip\" x=\"%d\" y=\"0\" width=\"%d\" height=\"%d\" data-top=\"%d\" "
          "data-bottom=\"%d\"><g class=\"map\">\n",
          LEFT, WIDTH, ENTRY_HEIGHT, TOP, TOP + HEIGHT);
  fprintf(f, "<rect class=\"background\" x=\"0\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n", TOP,
          WIDTH, HEIGHT);
  for (uint32_t i = 0; i < d->rects.n; i++) put_rect(f, d, &d->rects.at[i]);
  if (p->nsteps) put_live(f, d);
  if (p->streams > 1) put_streams(f, d);
  put_line(f, "naive", naive, p->naive_bytes);
  put_line(f, "bound", y_of(d, p->lower_bound_bytes), p->lower_bound_bytes);
  if (p->nsteps)
    fprintf(f, "<line class=\"peak\" x1=\"%.2f\" y1=\"%d\" x2=\"%.2f\" y2=\"%d\"/>\n",
            x_of(d, d->peak), TOP, x_of(d, d->peak), TOP + HEIGHT);
  fputs("</g></svg>\n", f);
}

static void put_entry(FILE *f, const Drawing *d, int at) {
  const Plan *p = d->p;
  /* what lies above the picture is drawn at its upper edge, and says how far above it is */
  bool above = p->naive_bytes > d->top + d->top / 12;
  double naive = above ? TOP - 28 : y_of(d, p->naive_bytes);
  const char *text = "without sharing:";
  if (above)
    text = arena_printf(d->a, "without sharing, %.1f times as high:",
                        (double)p->naive_bytes / (double)(p->arena_bytes ? p->arena_bytes : 1));
  fprintf(f, "<g class=\"entry\" transform=\"translate(0 %d)\"", at);
  if (d->is_page) {
    put_attribute(f, "entry", d->e->name);
    put_attribute(f, "title", d->title);
    fprintf(f, " data-steps=\"%d\" data-peak=\"%d\" data-height=\"%d\"", p->nsteps, d->peak,
            ENTRY_HEIGHT);
  }
  fputs(">\n", f);
  put_title(f, d);
  put_map(f, d, naive);
  put_line_text(f, "naive", naive, text, p->naive_bytes);
  put_line_text(f, "bound", y_of(d, p->lower_bound_bytes), "lower bound:", p->lower_bound_bytes);
  put_axes(f, d);
  fputs("</g>\n", f);
}

static const char style[] =
    "text{font:12px sans-serif;fill:#222}.title{font-size:15px}.y{text-anchor:end}"
    ".x{fill:#666}.background{fill:#f4f4f4;stroke:#bbb}"
    ".v{stroke:#fff;stroke-width:.5}.new{fill:#4c78a8}.inplace{fill:#72b7b2}"
    ".reuse{fill:#f2a65a}.scratch{fill:#999}.lane{fill:#555}.live{fill:none;stroke:#222;stroke-"
    "width:1.2}"
    "line.naive{stroke:#b22;stroke-dasharray:6 4}text.naive{fill:#b22}"
    "line.bound{stroke:#171;stroke-dasharray:3 3}text.bound{fill:#171;text-anchor:end}"
    "line.peak{stroke:#b22}text.peak{fill:#b22}";

static void put_svg(FILE *f, int entries) {
  int wide = LEFT + WIDTH + 20;
  fprintf(f,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
          "viewBox=\"0 0 %d %d\">\n<style>%s</style>\n",
          wide, entries * ENTRY_HEIGHT, wide, entries * ENTRY_HEIGHT, style);
}

void svg_put_entry(FILE *f, const Drawing *d) {
  put_svg(f, 1);
  put_entry(f, d, 0);
  fputs("</svg>\n", f);
}

void plan_print_svg(FILE *f, const Module *m) {
  const Entry *e;
  uint32_t n = 0;
  while (plan_listed(m, n)) n++;
  put_svg(f, (int)n);
  for (uint32_t k = 0; (e = plan_listed(m, k)); k++) {
    Arena *a = arena_new();
    Drawing d = drawing_new(a, e);
    put_entry(f, &d, (int)k * ENTRY_HEIGHT);
    arena_free(a);
  }
  fputs("</svg>\n", f);
}
