/* Schedules of convolutions with one channel a group and of their gradients, on a device; see
   grid_conv.h. Of a gradient with respect to filters a block of threads has several channels of the
   result, each with a chunk of pixels, and a thread the sums of a few taps in registers; else a
   block has rows of several planes, and a thread the filter and some rows of a column. */
#include "codegen/schedule/grid_conv.h"
#include "codegen/schedule/window.h"

#include <math.h>

enum {
  BANKS = 32,
  QUAD = 16,       /* bytes of the widest load */
  WAVEFRONT = 128, /* bytes of shared memory that a warp reads in a clock */
  PIXELS = 8,      /* of a row, at a time of a thread (text/depthwise.h) */
  SPAN_APART = 64  /* of more columns under them numbers are read one by one */
};

static int even_part(int64_t n, int most) {
  while (n % most) most /= 2;
  return most;
}

/* Clocks of a warp's load of vectors of so many elements from these places: lanes whose vectors lie
   in the same banks take turns, but for those of the same place. */
static int warp_clocks(const int64_t *at, int vector, int size) {
  const int lanes = WAVEFRONT / (vector * size);
  int clocks = 0;
  for (int first = 0; first < BANKS; first += lanes) {
    int most = 1;
    for (int l = first; l < first + lanes; l++) {
      int same = 1;
      for (int i = first; i < l; i++) {
        if (at[i] == at[l]) {
          same = 1;
          break;
        }
        same += (at[i] - at[l]) / vector % lanes == 0;
      }
      if (same > most) most = same;
    }
    clocks += most;
  }
  return clocks;
}

/* The same of a warp's reads of the image. */
static int image_clocks(const GridDepthwiseSchedule *d, const ConvGeom *c, int size) {
  const int groups = (int)ceil_div(c->w.taps, d->taps), each = (int)c->h.taps * groups;
  int64_t at[BANKS];
  for (int lane = 0; lane < BANKS; lane++) {
    const int t = lane % each;
    at[lane] = (int64_t)(lane / each) * d->image + t / groups * c->h.dilation * d->pitch +
               t % groups * d->taps * c->w.dilation;
  }
  return warp_clocks(at, d->vector, size);
}

static int64_t round_up(int64_t n, int64_t unit) { return ceil_div(n, unit) * unit; }

/* Elements of a load of the image, and of copies; columns of a pixel group from an aligned one on.
 */
static int64_t take_vectors(GridDepthwiseSchedule *d, const ConvGeom *c, int size) {
  const int quad = QUAD / size;
  const bool several = d->taps < c->w.taps; /* threads of a row begin at different columns */
  const int64_t under = (PIXELS - 1) * c->w.stride + (d->taps - 1) * c->w.dilation + 1;
  d->vector = several ? even_part(d->taps * c->w.dilation, quad) : quad;
  if (under + quad > SPAN_APART) d->vector = 1;
  d->copy = even_part(c->w.in, quad), d->copy_dy = even_part(c->w.out, quad);
  d->pitch_dy = (int)round_up(c->w.out, PIXELS);
  const int64_t lead = (-c->w.lo % d->vector + d->vector) % d->vector;
  d->before = (int)round_up(c->w.lo + lead, quad);
  return round_up(lead + under, d->vector);
}

/* Where rows and units begin in shared memory: apart by what keeps lanes in different banks. */
static void choose_places(GridDepthwiseSchedule *d, const ConvGeom *c, int high, int size) {
  enum { COLUMNS = 4 }; /* more of a row, at most */
  const int64_t span = take_vectors(d, c, size), groups = ceil_div(c->w.taps, d->taps);
  const int quad = QUAD / size, unit = d->vector > d->copy ? d->vector : d->copy;
  int best = INT32_MAX;
  GridDepthwiseSchedule at = *d;
  for (int column = 0; column < COLUMNS; column++)
    for (int more = 0; more < BANKS; more += quad) {
      at.pitch = (int)round_up(c->w.in, unit) + column * unit;
      at.image = (int)round_up(high * at.pitch, quad) + more;
      const int n = image_clocks(&at, c, size);
      if (n < best) best = n, *d = at;
    }
  d->clocks = best;
  d->dy = (int)round_up(d->rows * d->pitch_dy, BANKS) + quad;
  const int64_t last = (ceil_div(c->w.out, PIXELS) - 1) * PIXELS * c->w.stride - c->w.lo -
                       (-c->w.lo % d->vector + d->vector) % d->vector +
                       (groups - 1) * d->taps * c->w.dilation + span - d->pitch;
  d->behind = last > 0 ? (int)round_up(last, quad) : 0;
}

/* Bytes of a block, with room for the columns and elements that choose_places adds. */
static int64_t bytes_of(const GridDepthwiseSchedule *d, const ConvGeom *c, int64_t high, int size) {
  enum { MORE = 3 }; /* of four columns of copies */
  const int quad = QUAD / size;
  const int64_t row = round_up(c->w.in, quad) + MORE * quad,
                dy = round_up(d->rows * round_up(c->w.out, PIXELS), BANKS) + quad;
  /* in front and behind: at most the padding, and what a thread reads of a line */
  const int64_t ends = 2 * (c->w.lo + QUAD) + (c->w.hi > 0 ? c->w.hi : 0) +
                       (PIXELS * 2) * c->w.stride + (c->w.taps + 1) * c->w.dilation;
  return (d->units * (high * row + BANKS + quad + dy) + ends) * size;
}

static int64_t rows_under(const ConvGeom *c, int64_t rows) {
  return (rows - 1) * c->h.stride + (c->h.taps - 1) * c->h.dilation + 1;
}

/* Instructions of a thread for a pixel: its multiplications, reads of shared memory for each tap
   and number, and of an element on its way to it. Chosen by count, not measured on a device. */
static double step_of(const GridDepthwiseSchedule *d, const ConvGeom *c) {
  enum { OF_TAP = 2, OF_PIXEL = 2, OF_ELEMENT = 6 };
  const double elements =
      1 + (double)(rows_under(c, d->rows) * c->w.in) / (double)(d->rows * c->w.out);
  const int64_t sums = d->units * c->h.taps * ceil_div(c->w.taps, d->taps);
  const double threads = (double)(ceil_div(sums, BANKS) * BANKS); /* of warps that have a unit */
  return threads * (OF_TAP * d->taps + OF_PIXEL) + d->units * OF_ELEMENT * elements;
}

bool grid_depthwise_schedule(const GridMachine *machine, const ConvGeom *c, Dtype dt,
                             GridDepthwiseSchedule *out) {
  enum {
    MOST_TAPS = 8,
    THREADS = 64,
    MOST_THREADS = 512
  };                                                  /* of a thread's registers; of a block */
  const int size = dtype_size(dt), shared = 48 << 10; /* that a kernel has without asking */
  if (c->gin != 1 || !c->h.taps || !c->w.taps || c->h.taps * c->w.taps > MOST_THREADS) return false;
  if (c->w.in > shared || c->w.out > shared || rows_under(c, 1) > shared) return false;
  GridDepthwiseSchedule d = {.rows = 1};
  const int groups = (int)ceil_div(c->w.taps, MOST_TAPS), each = (int)c->h.taps * groups;
  d.taps = (int)ceil_div(c->w.taps, groups);
  d.threads = each <= THREADS ? THREADS : (int)ceil_div(each, machine->warp) * machine->warp;
  d.units = d.threads / each;
  while (d.units && bytes_of(&d, c, rows_under(c, 1), size) > shared) d.units--;
  if (!d.units) return false;
  /* fewer units, if no block would be left for some multiprocessors: copies are most of the work */
  const int64_t all = window_pixel_chunks(c).n * c->cout;
  while (d.units > 1 && ceil_div(all, d.units) < machine->multiprocessors)
    d.units = (d.units + 1) / 2;
  const int64_t rows = SUM_PIXELS / c->w.out > 1 ? SUM_PIXELS / c->w.out : 1; /* of a chunk */
  const int64_t most = rows < c->h.out ? rows : c->h.out;
  while (d.rows < most) {
    d.rows++;
    if (bytes_of(&d, c, rows_under(c, d.rows), size) <= shared) continue;
    d.rows--;
    break;
  }
  d.rows = (int)ceil_div(most, ceil_div(most, d.rows)); /* equal parts */
  choose_places(&d, c, (int)rows_under(c, d.rows), size);
  d.shared = (d.units * (d.image + d.dy) + d.before + d.behind) * size;
  d.step = step_of(&d, c);
  *out = d;
  return true;
}

/* ---- planes of a result ---- */

enum {
  MOST_TAPS = 64,  /* of a filter, in registers; */
  MOST_SUMS = 32,  /* ... sums of a thread; multiplications that its text has, of each kind */
  MOST_FMA = 800,  /* of planes: edges and what lies between them */
  MOST_SPAN = 32,  /* columns of the source that a thread has of a line */
  MOST_UNITS = 16, /* planes of a block */
  PLANES_SHARED = 24 << 10 /* bytes of a block, so that a multiprocessor has several */
};

/* What a block of planes does: rows and columns of the result, and of the source. */
typedef struct PlanesShape {
  int64_t taps, rows, cols, planes, width; /* width: of the source */
  int64_t stride, high;       /* rows of the source between those of the result, under one */
  int64_t side, wide, column; /* the same of columns: between, from the first tap to the last, under
                                 column 0 of the result */
  int64_t dilation, across;   /* of columns; taps of a row */
  int size;                   /* bytes of an element */
} PlanesShape;

static bool planes_shape(const ConvGeom *c, bool back, Dtype dt, PlanesShape *s) {
  const WindowAxis *h = &c->h, *w = &c->w;
  *s = (PlanesShape){.taps = h->taps * w->taps,
                     .rows = back ? h->in : h->out,
                     .cols = back ? w->in : w->out,
                     .planes = c->n * (back ? c->cin : c->cout),
                     .width = back ? w->out : w->in,
                     .stride = back ? 1 : h->stride,
                     .high = (h->taps - 1) * h->dilation + 1,
                     .side = back ? 1 : w->stride,
                     .wide = (w->taps - 1) * w->dilation,
                     .dilation = w->dilation,
                     .across = w->taps,
                     .size = dtype_size(dt)};
  s->column = back ? w->lo - s->wide : -w->lo;
  if (c->gin != 1 || !s->taps || s->taps > MOST_TAPS || !s->planes || !s->rows || !s->cols)
    return false;
  if (back && (h->stride > 1 || w->stride > 1 || c->gout > 1)) return false;
  return s->width <= PLANES_SHARED && s->rows <= INT32_MAX / 2 && w->lo <= PLANES_SHARED &&
         s->high * s->width <= PLANES_SHARED / s->size;
}

/* Vectors of a line of which a thread's taps have an element. */
static int used_vectors(const GridPlanesSchedule *p, const PlanesShape *s, int64_t lead,
                        int64_t vectors) {
  if (p->across == 1) return (int)s->across;
  int used = 0;
  for (int64_t i = 0; i < vectors; i++) {
    bool has = false;
    for (int64_t q = 0; q < p->across; q++)
      for (int64_t tap = 0; tap < s->across; tap++)
        has |= (lead + q * s->side + tap * s->dilation) / p->vector == i;
    used += has;
  }
  return used;
}

/* Clocks of a warp's load of vectors, on the mean of some warps. */
static double load_clocks(const GridPlanesSchedule *p, const PlanesShape *s) {
  enum { WARPS = 4 };
  const int64_t strips = ceil_div(s->cols, p->across), groups = p->rows / p->down;
  int clocks = 0;
  for (int warp = 0; warp < WARPS; warp++) {
    int64_t at[BANKS];
    for (int l = 0; l < BANKS; l++) {
      const int t = warp * BANKS + l;
      at[l] = t / strips / groups * p->image +
              t / strips % groups * p->down * s->stride * p->pitch +
              t % strips * p->across * s->side;
    }
    clocks += warp_clocks(at, p->vector, s->size);
  }
  return (double)clocks / WARPS;
}

/* Where rows, filters and planes lie, and how they are read, of p's rows and columns of a thread.
   False: planes do not fit. */
static bool take_places(GridPlanesSchedule *p, const PlanesShape *s) {
  const int quad = QUAD / s->size;
  p->vector = p->across > 1 ? even_part(p->across * s->side, quad) : 1;
  p->copy = even_part(s->width, quad);
  const int unit = p->vector > p->copy ? p->vector : p->copy;
  p->pitch = (int)(ceil_div(s->width, unit) * unit);
  p->filter = (int)(ceil_div(s->taps, quad) * quad);
  const int64_t lead = ((s->column % p->vector) + p->vector) % p->vector;
  const int64_t span = lead + (p->across - 1) * s->side + s->wide + 1;
  if (p->across > 1 && span > MOST_SPAN) return false;
  const int64_t vectors = ceil_div(span, p->vector), first = s->column - lead;
  p->loads = used_vectors(p, s, lead, vectors);
  p->before = first < 0 ? (int)(ceil_div(-first, quad) * quad) : 0;
  const int64_t last = (ceil_div(s->cols, p->across) - 1) * p->across * s->side;
  const int64_t behind = last + first + vectors * p->vector - p->pitch;
  p->behind = behind > 0 ? (int)behind : 0;
  const int64_t high = PLANES_SHARED / s->size / p->pitch - s->high; /* beside one row's */
  if (high < 0 || p->behind > PLANES_SHARED) return false;
  const int64_t fit = high / s->stride + 1;
  if (p->down > fit) return false;
  int64_t slab = fit / p->down * p->down;
  slab = ceil_div(s->rows, ceil_div(s->rows, slab)); /* equal parts */
  slab = ceil_div(slab, p->down) * p->down;
  p->rows = (int)slab;
  p->image = (int)(((slab - 1) * s->stride + s->high) * p->pitch);
  p->clocks = load_clocks(p, s);
  return true;
}

static int64_t planes_tasks(const GridPlanesSchedule *p, const PlanesShape *s) {
  return p->units * (p->rows / p->down) * ceil_div(s->cols, p->across);
}

/* Clocks of a block beside those that it waits: instructions of a task, of a result and of a load
   of the source; results are stored in vectors if they fill rows. Chosen by count, not measured on
   a device. */
static double planes_clocks(const GridMachine *machine, const GridPlanesSchedule *p,
                            const PlanesShape *s) {
  enum { OF_TASK = 60, OF_RESULT = 6, OF_COPY = 11, OF_LINE = 5, SCHEDULERS = 4 };
  const double warps = (double)ceil_div(planes_tasks(p, s), machine->warp),
               sums = p->down * p->across, lines = (double)((p->down - 1) * s->stride + s->high),
               filter = p->filter * s->size / (double)QUAD,
               copies = ceil((double)p->units * p->image / p->copy / machine->warp),
               loads = lines * p->loads;
  const double issue = warps * (sums * (double)s->taps + OF_TASK + sums * OF_RESULT + filter +
                                loads + lines * OF_LINE) +
                       copies * OF_COPY;
  const double shared = warps * (filter + loads * p->clocks) + copies * p->copy * s->size / 4;
  const double stored = warps * sums * (s->cols % p->across ? p->across : 1);
  return fmax(fmax(issue / SCHEDULERS, shared), stored);
}

/* Clocks that a block waits: for its planes, and for the sums of a thread, which a warp by itself
   takes a clock each. */
static double planes_wait(const GridPlanesSchedule *p, const PlanesShape *s) {
  enum { LATENCY = 700, AT_ONCE = 4, CHAIN = 4 };
  const double copies = (double)p->units * p->image / p->copy;
  return LATENCY * ceil(copies / p->threads / AT_ONCE) +
         fmax(CHAIN, p->down * p->across) *
             (double)(s->taps * ceil_div(planes_tasks(p, s), p->threads));
}

/* Clocks of a multiprocessor whose blocks wait side by side. */
static double planes_time(const GridMachine *machine, const GridPlanesSchedule *p,
                          const PlanesShape *s) {
  enum { THREADS = 2048, SHARED = 200 << 10, OF_BLOCK = 1024 };
  const double blocks = (double)ceil_div(p->blocks, machine->blocks),
               resident = fmin(blocks, fmin(THREADS / p->threads, SHARED / (p->shared + OF_BLOCK))),
               clocks = planes_clocks(machine, p, s);
  return blocks * fmax(clocks, (clocks + planes_wait(p, s)) / resident);
}

static void take_units(GridPlanesSchedule *p, const PlanesShape *s, int units) {
  enum { LEAST = 128, THREADS = 256, WARP = 32 };
  p->units = units;
  p->shared = (units * (p->image + p->filter) + p->before + p->behind) * s->size;
  const int64_t tasks = planes_tasks(p, s);
  p->threads = (int)(ceil_div(ceil_div(tasks, ceil_div(tasks, THREADS)), WARP) * WARP);
  if (p->threads < LEAST) p->threads = LEAST; /* that copy */
  p->blocks = ceil_div(s->planes, units) * ceil_div(s->rows, p->rows);
}

bool grid_planes_schedule(const GridMachine *machine, const ConvGeom *c, bool back, Dtype dt,
                          GridPlanesSchedule *out, double *time) {
  enum { DOWN = 8, ACROSS = 4, FMA = 128 };
  PlanesShape s;
  if (!planes_shape(c, back, dt, &s)) return false;
  double least = INFINITY;
  for (int across = 1; across <= ACROSS; across *= 2)
    for (int down = 1; down <= DOWN; down++) {
      const int64_t sums = down * across;
      if (down > s.rows || sums > MOST_SUMS * 4 / s.size) continue;
      if (sums > 1 && sums * s.taps > MOST_FMA) continue;
      GridPlanesSchedule p = {.down = down, .across = across};
      if (!take_places(&p, &s)) continue;
      for (int units = 1; units <= MOST_UNITS && units <= s.planes; units++) {
        take_units(&p, &s, units);
        if (units > 1 && p.shared > PLANES_SHARED) break;
        const double t = planes_time(machine, &p, &s);
        if (t < least) least = t, *out = p;
      }
    }
  if (least == INFINITY) return false;
  *time = (double)ceil_div(out->blocks, machine->blocks) * planes_clocks(machine, out, &s) * FMA;
  return true;
}
