/* Schedules of Winograd's convolution F(2x2, 3x3) (Lavin and Gray, "Fast Algorithms for
   Convolutional Neural Networks", 2016): Y = A^T ((G f G^T) . (B^T d B)) A, summed over the
   channels, of which each of 16 positions is a product of matrices.
   Contract: whether it is used follows from the shapes of one image and of the filters alone, so
   that bits depend on no machine, batch or number of threads; of bounded images from those of a
   run. A block of tiles is transformed
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

static int64_t whole_vectors(int64_t channels) { return ceil_div(channels, VECTOR) * VECTOR; }

GcWinogradCost winograd_cost(int64_t from, int64_t to, const int64_t padding[4], bool back) {
  const int64_t products = from * whole_vectors(to), bytes = WINOGRAD_PLANES * products * 4;
  const int64_t transforms = CHANNEL_TIME * (whole_vectors(from) + whole_vectors(to));
  return (GcWinogradCost){
      .direct = products * 100,
      .tile = (WINOGRAD_PLANES * products + transforms) * LEAST_GAIN,
      .filters = products * (bytes > NEAR_BYTES ? FAR_FILTER_TIME : FILTER_TIME) * LEAST_GAIN,
      .padding = {padding[0], padding[1], padding[2], padding[3]},
      .back = back};
}

/* Sizes of an axis of which one is best, whatever the other axis has. Taps and tiles grow by the
   same from each size to the next but one, from SMALL on, so that what is gained is least or most
   at the ends. A static axis has one size. */
enum { SMALL = 6, AXIS_SIZES = SMALL + 2 };
static int sizes_of_axis(const WindowAxis *a, bool bounded, int64_t size[AXIS_SIZES]) {
  int n = 0;
  size[n++] = a->in;
  if (!bounded) return n;
  if (a->in > 1) size[n++] = a->in - 1;
  for (int64_t i = 1; i <= SMALL && i < a->in - 1; i++) size[n++] = i;
  return n;
}

bool winograd_wins_somewhere(const ConvGeom *c, bool back) {
  const WindowAxis *h = &c->h, *w = &c->w;
  bool fits = h->taps == 3 && w->taps == 3 && conv_is_dense(c) && c->x->dtype == DT_F32 &&
              c->f->dtype == DT_F32 && c->y->dtype == DT_F32;
  if (!fits) return false;
  const int64_t padding[] = {h->lo, h->hi, w->lo, w->hi};
  const GcWinogradCost cost =
      winograd_cost(back ? c->cout : c->cin, back ? c->cin : c->cout, padding, back);
  int64_t rows[AXIS_SIZES], columns[AXIS_SIZES];
  const int nrows = sizes_of_axis(h, type_extent(c->x, 2), rows),
            ncolumns = sizes_of_axis(w, type_extent(c->x, 3), columns);
  if (9 * WINOGRAD_TILE * WINOGRAD_TILE * cost.direct <= cost.tile) return false; /* at any size */
  for (int i = 0; i < nrows; i++)
    for (int k = 0; k < ncolumns; k++)
      if (winograd_wins(&cost, rows[i], columns[k])) return true;
  return false;
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
