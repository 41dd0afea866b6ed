/* --plot: the history of a run as SVG, a panel for each scalar: the training's line and that of the
   validation below one title, each named at its end with its last value. Contract: written whole,
   beside the old one; a scale is logarithmic where a positive series spans a factor of 50; the
   points stand in the file as text, too. */
#include "runtime/program/command.h"
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char opening[] = "<svg class=\"gc-plot\"";
enum {
  WIDTH = 800,
  LEFT = 70,
  RIGHT = 150,
  TOP = 30,
  HEIGHT = 190,
  BELOW = 40,
  LETTER = 15,
  MOST_TICKS = 16
};

static bool is_plot(const uint8_t *p, uint64_t n) {
  return n >= sizeof opening - 1 && memcmp(p, opening, sizeof opening - 1) == 0;
}

const OutKind out_plot = {"a plot of training", is_plot, NULL, NULL};

typedef struct Line {
  const char *entry, *color;
  const Series *s;
} Line;

typedef struct Panel {
  const char *title;
  Line lines[2];
  int n;
  bool log;
  double low, high, steps; /* of the axes; low and high are logarithms if log */
  int y;                   /* of its upper edge */
} Panel;

static Panel panel_of(const Command *cmd, int output, int figure) {
  const GcEntry *e = cmd->entry, *v = cmd->validation.entry;
  Panel p = {0};
  if (output >= 0) {
    p.title = e->outputs[output].name;
    p.lines[p.n++] = (Line){e->name, "#0a5fb4", cmd->history[output]};
  }
  if (figure >= 0) {
    p.title = v->outputs[figure].name;
    p.lines[p.n++] = (Line){v->name, "#c2410c", cmd->validation.history[figure]};
  }
  return p;
}

static int figure_of(const Command *cmd, const char *name) {
  const GcEntry *v = cmd->validation.entry;
  for (int i = 0; v && i < v->noutputs; i++)
    if (validation_measures(&v->outputs[i]) && (strcmp(v->outputs[i].name, name) == 0)) return i;
  return -1;
}

static int output_of(const Command *cmd, const char *name) {
  const GcEntry *e = cmd->entry;
  for (int i = 0; i < e->noutputs; i++)
    if (tensor_count(&e->outputs[i]) == 1 && (strcmp(e->outputs[i].name, name) == 0)) return i;
  return -1;
}

/* ---- axes ---- */
static const double FINEST = 1e-7; /* of a value: less of it is not told apart on an axis */

/* 1, 2 or 5 times a power of ten: about n of them in the range. */
static double spacing(double range, int n) {
  double raw = range / n, power = pow(10, floor(log10(raw))), f = raw / power;
  return power * (f < 1.5 ? 1 : f < 3.5 ? 2 : f < 7.5 ? 5 : 10);
}

static void scale(Panel *p) {
  double low = INFINITY, high = -INFINITY;
  p->steps = 1;
  for (int l = 0; l < p->n; l++)
    for (uint64_t i = 0; i < p->lines[l].s->n; i++) {
      const Point *x = &p->lines[l].s->at[i];
      p->steps = fmax(p->steps, x->step);
      if (isfinite(x->value)) low = fmin(low, x->value), high = fmax(high, x->value);
    }
  if (!(low <= high)) low = 0, high = 1;
  p->log = low > 0 && high > 50 * low;
  if (p->log) low = log10(low), high = log10(high);
  double margin = high > low ? 0.05 * (high - low) : fmax(0.5 * fabs(low), 1e-3);
  margin = fmax(margin, fmax(FINEST * fmax(fabs(low), fabs(high)), 1e-300));
  p->low = fmax(low - margin, -DBL_MAX / 4), p->high = fmin(high + margin, DBL_MAX / 4);
}

static double x_of(const Panel *p, double step) {
  return LEFT + (WIDTH - LEFT - RIGHT) * step / p->steps;
}

static double y_of(const Panel *p, double v) {
  if (p->log) v = v > 0 ? log10(v) : p->low;
  v = fmin(fmax(v, p->low), p->high); /* the largest doubles are beyond every axis */
  return p->y + HEIGHT * ((p->high - v) / (p->high - p->low));
}

static void tick_y(FILE *f, const Panel *p, double v, int digits) {
  double y = y_of(p, v);
  fprintf(f,
          "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/><text x=\"%d\" "
          "y=\"%.1f\" text-anchor=\"end\">%.*g</text>\n",
          LEFT, WIDTH - RIGHT, y, y, LEFT - 6, y + 4, digits, v);
}

static void ticks(FILE *f, const Panel *p) {
  if (p->log) {
    static const double parts[] = {1, 2, 5};
    int all = p->high - p->low < 2 ? 3 : 1, every = (int)ceil((p->high - p->low) / 6);
    for (double d = floor(p->low); d <= p->high; d += every)
      for (int i = 0; i < all; i++)
        if (d + log10(parts[i]) >= p->low && d + log10(parts[i]) <= p->high)
          tick_y(f, p, parts[i] * pow(10, d), 4);
  } else {
    double by = spacing(p->high - p->low, 4), first = ceil(p->low / by);
    double places = ceil(log10(fmax(fabs(p->low), fabs(p->high)) / by)) + 1;
    int digits = (int)fmin(fmax(places, 4), 10);
    for (int k = 0; k < MOST_TICKS && (first + k) * by <= p->high; k++)
      tick_y(f, p, (first + k) * by, digits);
  }
  double by = fmax(spacing(p->steps, 6), 1);
  for (int k = 0; k < MOST_TICKS && k * by <= p->steps; k++)
    fprintf(f, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.0f</text>\n", x_of(p, k * by),
            p->y + HEIGHT + LETTER, k * by);
  fprintf(f, "<text x=\"%d\" y=\"%d\">steps</text>\n", WIDTH - RIGHT + 8, p->y + HEIGHT + LETTER);
}

/* ---- lines ---- */
static void draw(FILE *f, const Panel *p, const Line *l) {
  bool open = false;
  uint64_t run = 0;
  for (uint64_t i = 0; i < l->s->n; i++) {
    const Point *x = &l->s->at[i];
    if (!isfinite(x->value)) {
      if (open) fputs("\"/>\n", f);
      open = false;
      continue;
    }
    if (!open)
      fprintf(f, "<polyline fill=\"none\" stroke-width=\"1.5\" stroke=\"%s\" points=\"", l->color);
    run = open ? run + 1 : 1, open = true;
    fprintf(f, "%s%.1f,%.1f", run > 1 ? " " : "", x_of(p, x->step), y_of(p, x->value));
  }
  if (open) fputs("\"/>\n", f);
  for (uint64_t i = 0; i < l->s->n && l->s->n <= 40; i++)
    if (isfinite(l->s->at[i].value))
      fprintf(f, "<circle r=\"2\" fill=\"%s\" cx=\"%.1f\" cy=\"%.1f\"/>\n", l->color,
              x_of(p, l->s->at[i].step), y_of(p, l->s->at[i].value));
}

/* Names at the lines' ends, a letter's height apart at least. */
static void names(FILE *f, const Panel *p) {
  double at[2] = {0};
  for (int l = 0; l < p->n; l++) {
    const Series *s = p->lines[l].s;
    double last = s->n ? s->at[s->n - 1].value : NAN;
    at[l] = isfinite(last) ? y_of(p, last) + 4 : p->y + LETTER;
  }
  if (p->n == 2 && fabs(at[0] - at[1]) < LETTER) {
    int up = at[0] > at[1];
    double middle = (at[0] + at[1]) / 2;
    at[up] = middle - LETTER / 2.0, at[!up] = middle + LETTER / 2.0;
  }
  for (int l = 0; l < p->n; l++) {
    const Line *x = &p->lines[l];
    if (x->s->n)
      fprintf(f, "<text x=\"%d\" y=\"%.1f\" fill=\"%s\">%.12s %.4g</text>\n", WIDTH - RIGHT + 8,
              at[l], x->color, x->entry, x->s->at[x->s->n - 1].value);
  }
}

static void panel(FILE *f, Panel *p) {
  scale(p);
  fprintf(f, "<text x=\"%d\" y=\"%d\" font-weight=\"bold\">%.60s%s</text>\n", LEFT, p->y - 8,
          p->title, p->log ? ", logarithmic" : "");
  ticks(f, p);
  fprintf(f, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#999\"/>\n",
          LEFT, p->y, WIDTH - LEFT - RIGHT, HEIGHT);
  for (int l = 0; l < p->n; l++) draw(f, p, &p->lines[l]);
  names(f, p);
}

static void panels(const Command *cmd, FILE *f) {
  const GcEntry *e = cmd->entry, *v = cmd->validation.entry;
  int n = 0;
  for (int pass = 0; pass < 2; pass++) { /* counts, then draws */
    int at = 0;
    if (pass)
      fprintf(f,
              "%s xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
              "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%%\" "
              "height=\"100%%\" fill=\"white\"/>\n",
              opening, WIDTH, n * (TOP + HEIGHT + BELOW));
    if (pass) {
      fputs("<metadata>\n", f);
      history_put(cmd, f);
      fputs("</metadata>\n", f);
    }
    for (int i = 0; i < e->noutputs + (v ? v->noutputs : 0); i++) {
      int out = i < e->noutputs ? i : -1, figure = i - e->noutputs;
      if (out >= 0 && output_of(cmd, e->outputs[i].name) != i) continue;
      if (out < 0 && (figure_of(cmd, v->outputs[figure].name) != figure ||
                      output_of(cmd, v->outputs[figure].name) >= 0))
        continue;
      Panel p = panel_of(cmd, out, out < 0 ? figure : figure_of(cmd, e->outputs[i].name));
      p.y = at++ * (TOP + HEIGHT + BELOW) + TOP;
      if (pass) panel(f, &p);
    }
    n = at;
  }
  fputs("</svg>\n", f);
}

bool plot_is_svg(const char *path, Err *e) {
  const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
  if (!dot || !dot[1] || strcasecmp(dot, ".svg") == 0) return true;
  err_set(e, EXIT_USAGE, "--plot %s: the plot is an SVG picture, not %s", path, dot);
  return err_hint(e, "name it %.*s.svg; browsers show it, and rsvg-convert makes a PNG of it",
                  (int)(dot - path), path);
}

bool plot_write(Command *cmd, Err *e) {
  char *text = NULL;
  size_t size = 0;
  FILE *f = cmd->options.given[OPT_PLOT] ? open_memstream(&text, &size) : NULL;
  if (!cmd->options.given[OPT_PLOT]) return true;
  if (!f) return err_set(e, EXIT_ENV, "no memory for a plot");
  panels(cmd, f);
  bool ok = fclose(f) == 0;
  if (!ok) err_set(e, EXIT_ENV, "no memory for a plot");
  ok = ok && out_begin(&cmd->plot, e) && out_write(&cmd->plot, text, size, e) &&
       out_commit(&cmd->plot, e);
  free(text);
  return ok;
}

/* The text of the file, malloc'ed; NULL: there is none that can be read. */
static char *read_all(const char *path) {
  enum { MOST = 1 << 24 };
  File f;
  Err none = {0};
  if (!file_open(&f, path, &none)) return NULL;
  char *text = f.size < MOST ? malloc(f.size + 1) : NULL;
  if (text && !file_read(&f, 0, text, f.size, &none)) {
    free(text);
    text = NULL;
  }
  if (text) text[f.size] = 0;
  file_close(&f);
  return text;
}

void plot_resume(Command *cmd, const Position *p) {
  if (!cmd->options.given[OPT_PLOT] || !p->done) return;
  char *text = read_all(cmd->plot.path);
  if (!text || !history_get(cmd, text, p->done))
    note(cmd,
         "%s: begins at step %" PRIu64 ", since it is no plot of this training yet; --log keeps "
         "all steps",
         cmd->plot.path, p->done + 1);
  free(text);
}
