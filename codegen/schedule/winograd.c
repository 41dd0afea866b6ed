/* Schedules of Winograd's convolution F(2x2, 3x3) (Lavin and Gray, "Fast Algorithms for
   Convolutional Neural Networks", 2016): Y = A^T ((G f G^T) . (B^T d B)) A, summed over the
   channels, of which each of 16 positions is a product of matrices.
   Contract: whether it is used follows from the shapes of one image and of the filters alone, so
   that bits depend on no machine, batch or number of threads. A block of tiles is transformed
   into buffers of a thread, which stay in its cache while the panels of filters go over it. */
#include "codegen/schedule/winograd.h"

/* Measured on a processor with AVX-512, in FMA that it has time for meanwhile. Narrower vectors
   take as much longer for both methods. */
enum {
  CHANNEL_TIME = 150,    /* to transform a channel of a tile's source, or of its results back */
  FILTER_TIME = 130,     /* to read a filter and write it transformed … */
  FAR_FILTER_TIME = 400, /* … if all of them do not stay in a core's cache */
  NEAR_BYTES = 1 << 20,  /* of transformed filters that do */
  VECTOR = 16,           /* channels: a part of them takes as long */
  LEAST_GAIN = 110       /* percent */
};

static int64_t winograd_tiles(int64_t n) { return ceil_div(n, WINOGRAD_TILE); }

/* Taps of an axis that lie on the source, of all positions of the result. */
static int64_t taps_inside(const WindowAxis *a) {
  int64_t taps = 0;
  for (int64_t k = 0; k < a->taps; k++) {
    int64_t from, to;
    window_outputs(a, k, &from, &to);
    taps += to > from ? to - from : 0;
  }
  return taps;
}

static double whole_vectors(double channels) {
  return (double)(ceil_div((int64_t)channels, VECTOR) * VECTOR);
}

/* Of one image, in FMA. The filters' transform is a part of it: with more images it takes less. */
bool winograd_wins(const ConvGeom *c, bool back) {
  const WindowAxis *h = &c->h, *w = &c->w;
  bool fits = h->taps == 3 && w->taps == 3 && conv_is_dense(c) && c->x->dtype == DT_F32 &&
              c->f->dtype == DT_F32 && c->y->dtype == DT_F32;
  if (!fits) return false;
  double from = (double)(back ? c->cout : c->cin), to = (double)(back ? c->cin : c->cout);
  double whole_from = whole_vectors(from), whole_to = whole_vectors(to);
  double tiles =
      (double)winograd_tiles(back ? h->in : h->out) * (double)winograd_tiles(back ? w->in : w->out);
  double direct = (double)taps_inside(h) * (double)taps_inside(w) * from * whole_to;
  double filters = from * whole_to, bytes = WINOGRAD_PLANES * filters * 4;
  double time =
      tiles * (WINOGRAD_PLANES * from * whole_to + CHANNEL_TIME * (whole_from + whole_to)) +
      filters * (bytes > NEAR_BYTES ? FAR_FILTER_TIME : FILTER_TIME);
  return direct * 100 > time * LEAST_GAIN;
}

/* The most tiles whose transforms fit into half of the second cache and whose units many threads
   share evenly, or as evenly as they can; whole register tiles. */
static int64_t tiles_of_block(const VectorMachine *m, const WinogradSchedule *v, int64_t tiles) {
  enum { TALLEST = 8, LEAST = 2, THREADS = 64 };
  const double even = 0.9;
  int64_t bytes = WINOGRAD_PLANES * v->tile_rows * (v->pixel + v->nr) * 4;
  int64_t all = ceil_div(tiles, v->tile_rows), most = m->cache.l2 / 2 / bytes, best = 1;
  if (most > TALLEST) most = TALLEST;
  if (most > all) most = all;
  double found = 0;
  for (int64_t rows = most; rows >= LEAST && found < even; rows--) {
    double balance = units_balance(ceil_div(all, rows) * v->np, THREADS);
    if (balance > found) found = balance, best = rows;
  }
  return best * v->tile_rows;
}

WinogradSchedule winograd_schedule(const VectorMachine *m, const ConvGeom *c, bool back, int nr,
                                   bool epilogue) {
  const Type *from = back ? c->y : c->x, *to = back ? c->x : c->y;
  const int lanes = machine_lanes(m, 4);
  WinogradSchedule v = {.back = back,
                        .epilogue = epilogue,
                        .n = c->n,
                        .rows = to->dim[2],
                        .columns = to->dim[3],
                        .in_rows = from->dim[2],
                        .in_columns = from->dim[3],
                        .row_padding = back ? 2 - c->h.lo : c->h.lo,
                        .column_padding = back ? 2 - c->w.lo : c->w.lo,
                        .depth = from->dim[1],
                        .width = to->dim[1],
                        .pixel = ceil_div(from->dim[1], lanes) * lanes,
                        .nr = nr};
  v.np = ceil_div(v.width, v.nr);
  v.down = winograd_tiles(v.rows);
  v.across = winograd_tiles(v.columns);
  v.tile_rows = tile_rows(m, v.nr);
  int64_t tiles = v.n * v.down * v.across;
  v.block = tiles_of_block(m, &v, tiles);
  v.blocks = ceil_div(tiles, v.block);
  /* a line more than the tiles need: planes would begin in the same set of the first cache */
  v.source_plane = v.block * v.pixel + LINE;
  v.result_plane = v.block * v.nr + LINE;
  v.flops = 2 * (uint64_t)(c->y->numel * c->gin * 9);
  v.units = v.flops < SERIAL_WORK ? 1 : v.blocks * v.np;
  return v;
}

Tile winograd_tile(Arena *a, const WinogradSchedule *v, int64_t width) {
  Tile t = {.rows = v->tile_rows, .width = width, .li = v->pixel, .lk = 1, .lb = v->nr};
  t.run = ARENA_ARRAY(a, TapRun, 1);
  tile_add_run(&t, 0, 0, v->depth, 0, t.rows);
  return t;
}

#define FIELD(f) SCHEDULE_FIELD(WinogradSchedule, f)
const ScheduleKind winograd_kind = {"winograd", (const ScheduleField[]){FIELD(n),
                                                                        FIELD(rows),
                                                                        FIELD(columns),
                                                                        FIELD(depth),
                                                                        FIELD(width),
                                                                        FIELD(back),
                                                                        FIELD(nr),
                                                                        FIELD(np),
                                                                        FIELD(down),
                                                                        FIELD(across),
                                                                        FIELD(tile_rows),
                                                                        FIELD(block),
                                                                        FIELD(blocks),
                                                                        {0}}};
