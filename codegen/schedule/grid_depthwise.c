/* Schedules of convolutions with one channel a group and of their gradients, on a device; see
   grid_conv.h. Of a gradient with respect to filters a block of threads has several channels of the
   result, each with a chunk of pixels, and a thread the sums of a few taps in registers; else a
   block has rows of several planes, and a thread the filter and some rows of a column. */
#include "codegen/schedule/grid_conv.h"
#include "codegen/schedule/window.h"

enum { BANKS = 32 };

/* Of a warp's reads of the image: how many lanes at most read different numbers of one bank. */
static int conflicts(const GridDepthwiseSchedule *d, const ConvGeom *c) {
  const int groups = (int)ceil_div(c->w.taps, d->taps), each = (int)c->h.taps * groups;
  int64_t at[BANKS];
  int most = 0;
  for (int lane = 0; lane < BANKS; lane++) {
    const int t = lane % each;
    at[lane] = (int64_t)(lane / each) * d->image + t / groups * c->h.dilation * d->pitch +
               t % groups * d->taps * c->w.dilation;
    int same = 1;
    for (int i = 0; i < lane; i++) {
      if (at[i] == at[lane]) break;
      same += (at[i] - at[lane]) % BANKS == 0;
    }
    if (same > most) most = same;
  }
  return most;
}

/* Where rows and units begin in shared memory: apart by what keeps lanes in different banks. */
static void choose_places(GridDepthwiseSchedule *d, const ConvGeom *c, int high) {
  enum { COLUMNS = 4 }; /* more of a row, at most */
  int best = INT32_MAX;
  GridDepthwiseSchedule at = *d;
  for (int column = 0; column < COLUMNS; column++)
    for (int more = 0; more < BANKS; more++) {
      at.pitch = (int)c->w.in + column;
      at.image = high * at.pitch + more;
      const int n = conflicts(&at, c);
      if (n < best) best = n, *d = at;
    }
  d->dy = (d->rows * (int)c->w.out) | 1;
}

/* Bytes of a block, with room for the columns and elements that choose_places adds. */
static int64_t bytes_of(const GridDepthwiseSchedule *d, const ConvGeom *c, int64_t high, int size) {
  return d->units * (high * (c->w.in + 3) + BANKS + d->rows * c->w.out + 1) * size;
}

static int64_t rows_under(const ConvGeom *c, int64_t rows) {
  return (rows - 1) * c->h.stride + (c->h.taps - 1) * c->h.dilation + 1;
}

/* Instructions of a thread for a pixel: its multiplications, reads of shared memory for each tap
   and number, and of an element on its way to it. Chosen by count, not measured on a device. */
static double step_of(const GridDepthwiseSchedule *d, const ConvGeom *c) {
  enum { OF_TAP = 2, OF_PIXEL = 4, OF_ELEMENT = 16 };
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
  const int64_t one = bytes_of(&d, c, rows_under(c, 1), size) / d.units;
  if (d.units > shared / one) d.units = (int)(shared / one);
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
  choose_places(&d, c, (int)rows_under(c, d.rows));
  d.shared = d.units * (d.image + d.dy) * size;
  d.step = step_of(&d, c);
  *out = d;
  return true;
}

/* ---- planes of a result ---- */

bool grid_planes_schedule(const GridMachine *machine, const ConvGeom *c, bool back, Dtype dt,
                          GridPlanesSchedule *out, double *time) {
  /* SHARED: bytes of a block, so that a multiprocessor has several; instructions of a tap: an fma
     and half a shared load; of a result, and of an element on its way to shared memory. Chosen by
     count, not measured on a device. */
  enum { MOST_TAPS = 64, DOWN = 8, THREADS = 128, SHARED = 24 << 10 };
  enum { OF_RESULT = 20, OF_ELEMENT = 16 };
  const double of_tap = 1.5;
  const WindowAxis *h = &c->h, *w = &c->w;
  const int64_t taps = h->taps * w->taps, rows = back ? h->in : h->out,
                cols = back ? w->in : w->out;
  const int64_t planes = c->n * (back ? c->cin : c->cout), width = back ? w->out : w->in;
  const int64_t stride = back ? 1 : h->stride, high = (h->taps - 1) * h->dilation + 1;
  if (c->gin != 1 || !taps || taps > MOST_TAPS || !planes || !rows || !cols) return false;
  if (back && (h->stride > 1 || w->stride > 1 || c->gout > 1)) return false;
  const int size = dtype_size(dt);
  GridPlanesSchedule p = {.threads = THREADS};
  if (width > SHARED || rows > INT32_MAX / 2 || high * width > SHARED / size) return false;
  p.pitch = (int)width;
  p.down = (int)ceil_div(rows, ceil_div(rows, size == 8 ? DOWN / 2 : DOWN));
  const int64_t fit = (SHARED / size / width - high) / stride + 1; /* rows of a plane */
  if (p.down > fit) p.down = (int)fit;
  int64_t slab = fit / p.down * p.down;
  const int64_t each = ceil_div(rows, ceil_div(rows, slab)); /* equal parts */
  slab = ceil_div(each, p.down) * p.down;
  p.rows = (int)slab;
  const int64_t under = (slab - 1) * stride + high, groups = slab / p.down;
  p.image = (int)(under * width);
  const int64_t most = SHARED / size / (p.image + taps), wanted = ceil_div(THREADS, groups * cols);
  p.units = (int)(wanted < most ? wanted : most > 1 ? most : 1);
  if (p.units > planes) p.units = (int)planes;
  p.shared = (int)(p.units * (p.image + taps)) * size;
  p.blocks = ceil_div(planes, p.units) * ceil_div(rows, slab);
  const double results = (double)(p.units * groups * p.down * cols),
               read = (double)(p.units * under * width);
  *time = (double)ceil_div(p.blocks, machine->blocks) *
          (results * (of_tap * (double)taps + OF_RESULT) + read * OF_ELEMENT);
  *out = p;
  return true;
}
