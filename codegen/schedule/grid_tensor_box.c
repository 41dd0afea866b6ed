/* Schedules of convolutions of f16 and bf16 of few channels a group, and of their gradients, on
   tensor cores of a device: blocks go over boxes of pixels, whose rows of the image lie in shared
   memory as in global memory; see grid_conv.h. Algorithm: of the tiles, boxes and parts, what an
   estimate of the clocks takes least. By count, not measured on a device. */
#include "codegen/schedule/grid_conv.h"

#include <math.h>

enum {
  HALF = 2, /* bytes */
  WARP = 32,
  OCTET = 8,   /* columns of a warp's tile; elements of 16 bytes */
  STEP = 16,   /* of the depth, that an instruction of tensor cores multiplies */
  WIDEST = 16, /* bytes of a copy */
  BANKS = 32,  /* of shared memory, of 4 bytes */
  COPY = 16,   /* instructions of a copy, with its place and its condition */
  ELEMENT = 3, /* of two elements of shared memory that become one operand's register */
  BOX = 70,    /* of a warp for a box beside: the barrier, the next box's place */
  SCHEDULERS = 4,
  THREADS = 384,      /* of the blocks of a multiprocessor, of 168 registers */
  SHARED = 200 << 10, /* bytes of all of them */
  LARGE = 1 << 20     /* places are ints */
};
/* Clocks of an instruction of 16 x 8 x 16 multiply-adds: 1,270 of them a clock by mma.sync. */
#define MMA_CLOCKS 1.6

/* What is read by boxes: the image, or back, the result's gradient, by filters turned around. */
typedef struct Source {
  int64_t channels, cols, out_rows, out_cols, sh, sw, high, wide, left, taps, n;
} Source;

static Source source_of(const ConvGeom *g, bool back) {
  const WindowAxis *h = &g->h, *w = &g->w;
  Source s = {.channels = back ? g->gout : g->gin,
              .cols = back ? w->out : w->in,
              .out_rows = back ? h->in : h->out,
              .out_cols = back ? w->in : w->out,
              .sh = back ? 1 : h->stride,
              .sw = back ? 1 : w->stride,
              .high = (h->taps - 1) * h->dilation,
              .wide = (w->taps - 1) * w->dilation,
              .taps = h->taps * w->taps,
              .n = g->n};
  s.left = back ? s.wide - w->lo : w->lo;
  return s;
}

static bool is_small(const ConvGeom *g) {
  const WindowAxis *a[] = {&g->h, &g->w};
  for (int i = 0; i < 2; i++)
    if (a[i]->taps <= 0 || a[i]->taps > LARGE || a[i]->dilation > LARGE / a[i]->taps ||
        a[i]->stride > LARGE || a[i]->out <= 0 || a[i]->in <= 0 || a[i]->lo < -LARGE ||
        a[i]->lo > LARGE)
      return false;
  return g->n > 0 && g->gin > 0 && g->gout > 0 && g->groups > 0;
}

/* Bytes of the widest copy that rows of n elements allow. */
static int copy_of(int64_t n) {
  int bytes = WIDEST;
  while (n * HALF % bytes) bytes /= 2;
  return bytes;
}

/* Elements of a row in shared memory: rows below each other, or two apart, are in other banks. */
static int64_t pitch_of(int64_t elements) {
  const int64_t words = ceil_div(elements, OCTET) * OCTET / 2, at = words % BANKS;
  return 2 * (words - at + (at <= 12 ? 12 : at <= 20 ? 20 : BANKS + 12));
}

/* Boxes of `high` rows of `wide` columns, a multiple of eight. False: they are too large. */
static bool take_boxes(GridTensorBox *b, const Source *s, int64_t channels, int64_t high,
                       int64_t wide) {
  b->copy = copy_of(s->cols);
  const int64_t each = b->copy / HALF, shift = ((-s->left) % each + each) % each;
  const int64_t used = shift + (wide - 1) * s->sw + s->wide + 1,
                lines = (high - 1) * s->sh + s->high + 1;
  const int64_t per_row = ceil_div(used, each), pitch = pitch_of(per_row * each);
  if (lines > LARGE || pitch > LARGE || channels * lines * pitch > UINT16_MAX) return false;
  b->high = (int)high, b->wide = (int)wide, b->channels = (int)channels;
  b->lines = (int)lines, b->per_row = (int)per_row, b->pitch = (int)pitch;
  b->all = s->n * ceil_div(s->out_rows, high) * ceil_div(s->out_cols, wide);
  return b->all <= INT32_MAX / 2 / (high * wide);
}

static int64_t box_bytes(const GridTensorBox *b) {
  return (int64_t)b->channels * b->lines * b->pitch * HALF;
}

/* So many parts, or fewer. */
static void take_parts(GridTensorBox *b, int64_t parts) {
  if (parts > b->all) parts = b->all;
  b->boxes = ceil_div(b->all, parts > 1 ? parts : 1);
  b->parts = ceil_div(b->all, b->boxes);
}

/* Of a box: clocks of a multiprocessor's units, and those that a block waits for itself; blocks
   that take turns on the units. */
typedef struct BoxClocks {
  double unit, own, resident;
} BoxClocks;

static BoxClocks box_clocks(const GridStep *s, int threads, int shared) {
  enum { BARRIER = 120 };
  const double warps = threads / (double)WARP,
               unit = fmax(fmax(s->issue / SCHEDULERS, s->wavefronts), s->fma * MMA_CLOCKS);
  return (BoxClocks){.unit = unit,
                     .own = fmax(s->issue / warps, unit) + BARRIER,
                     .resident =
                         fmin(floor(THREADS / (double)threads), floor(SHARED / (double)shared))};
}

/* Of a multiprocessor that has so many blocks. */
static double clocks_of_box(const GridStep *s, int threads, int shared, double waves) {
  const BoxClocks c = box_clocks(s, threads, shared);
  return fmax(waves * c.unit, ceil(waves / c.resident) * c.own);
}

/* ---- gradients with respect to filters ---- */

GridStep grid_filter_tensor_box_step(const GridFilterSchedule *f) {
  const GridTensorBox *b = &f->tensor_box;
  const double pixels = b->high * b->wide, steps = b->warps * pixels / STEP, m = f->bm / STEP;
  const double dy = f->bm * pixels * HALF / b->copy_dy / WARP,
               image = (double)b->channels * b->lines * b->per_row / WARP;
  const double loads = steps * (m + 4 * b->each);
  return (GridStep){
      .fma = steps * m * b->each, /* instructions of tensor cores */
      .loads = loads,
      .copies = dy + image,
      .issue = steps * (m + b->each * (2 * ELEMENT + 1 + m)) + b->warps * BOX + (dy + image) * COPY,
      .wavefronts =
          steps * 4 * (m + b->each) + dy * b->copy_dy * WARP / 128 + image * b->copy * WARP / 128};
}

double grid_filter_tensor_box_clocks(const GridFilterSchedule *f, double waves) {
  const GridTensorBox *b = &f->tensor_box;
  const GridStep s = grid_filter_tensor_box_step(f);
  return clocks_of_box(&s, b->warps * WARP, b->shared, waves) / (b->high * b->wide);
}

/* Clocks that the sums of a part of a gradient take on their way to memory and back. */
static double clocks_of_sums(const GridMachine *machine, const GridFilterSchedule *f) {
  enum { COMBINE = 32, MEMORY = 700, FMA = 128 }; /* loads at once; clocks of one; */
  const double bytes = (double)(f->groups * f->m * f->weights) * sizeof(float);
  return 2 * bytes * machine->byte / FMA + (double)MEMORY / COMBINE;
}

/* Warps and stages of a block of `bm` filters by the weights of the box's channels. */
static bool take_filter_tile(GridFilterSchedule *f, const ConvGeom *g, int bm, int warps) {
  enum { SUMS = 96, STAGES = 3, OF_BLOCK = 64 << 10, EACH = 8 };
  GridTensorBox *b = &f->tensor_box;
  const int64_t weights = b->channels * f->taps, each = ceil_div(weights, OCTET * warps);
  if (each > EACH || each * bm / 4 > SUMS || b->high * b->wide % STEP) return false;
  f->bm = bm, f->bn = (int)weights, f->tm = bm / OCTET, f->tn = (int)each * 2;
  f->down = ceil_div(f->m, bm), f->across = ceil_div(g->gin, b->channels);
  b->warps = warps, b->each = (int)each, b->copy_dy = copy_of(g->w.out);
  const int64_t stage = bm * (b->high * b->wide + OCTET) * HALF + box_bytes(b);
  b->stages = (int)(OF_BLOCK / stage);
  if (b->stages > STAGES) b->stages = STAGES;
  if (b->stages < 2) return false;
  b->shared = f->shared = (int)(b->stages * stage);
  return true;
}

int grid_box_rows(int area, int wide) {
  return area / wide < GRID_BOX_HIGHEST ? area / wide : GRID_BOX_HIGHEST;
}

int grid_box_wide(int64_t columns) {
  int wide = GRID_BOX_WIDEST;
  while (wide > GRID_BOX_NARROWEST && wide / 2 >= columns) wide /= 2;
  return wide;
}

bool grid_filter_take_boxes(GridFilterSchedule *f, const ConvGeom *g, int wide) {
  const Source source = source_of(g, false);
  GridTensorBox *b = &f->tensor_box;
  return take_boxes(b, &source, b->channels, grid_box_rows(b->area, wide), wide) &&
         take_filter_tile(f, g, f->bm, b->warps);
}

/* The same of one image of one box, whose copies are the widest: they take most shared memory. */
static bool take_usual_boxes(GridFilterSchedule *f, const ConvGeom *g, int wide) {
  ConvGeom c = *g;
  c.n = 1, c.h.out = grid_box_rows(f->tensor_box.area, wide);
  c.w.out = wide, c.w.in = WIDEST;
  return grid_filter_take_boxes(f, &c, wide);
}

static bool always_fits(const GridFilterSchedule *f, const ConvGeom *g) {
  GridFilterSchedule t = *f;
  for (int wide = GRID_BOX_NARROWEST; wide <= GRID_BOX_WIDEST; wide *= 2)
    if (!take_usual_boxes(&t, g, wide)) return false;
  return true;
}

PixelParts grid_filter_box_parts(const GridMachine *machine, const GridFilterSchedule *f,
                                 const ConvGeom *g, int wide) {
  enum { ENDS = 500, LEAST = 4 }; /* clocks of a block beside its boxes; boxes of a part */
  GridFilterSchedule t = *f;
  take_usual_boxes(&t, g, wide);
  const GridTensorBox *b = &t.tensor_box;
  const GridStep s = grid_filter_tensor_box_step(&t);
  const BoxClocks c = box_clocks(&s, b->warps * WARP, b->shared);
  return (PixelParts){.tiles = (int)(t.groups * t.down * t.across),
                      .blocks = machine->multiprocessors,
                      .least = LEAST,
                      .cluster = 1,
                      .unit = (int)ceil(c.unit),
                      .wait = (int)ceil(c.own),
                      .resident = c.resident < 1 ? 1 : (int)c.resident,
                      .ends = ENDS,
                      .sums = (int)ceil(clocks_of_sums(machine, &t))};
}

typedef struct Search {
  const GridMachine *machine;
  const ConvGeom *g;
  GridFilterSchedule *best;
  double least;
  int64_t most; /* parts that scratch has room for */
} Search;

/* The clocks of all boxes, and of the partial sums on their way to memory and back. */
static void try_parts(Search *s, GridFilterSchedule *f, int waves) {
  enum { FMA = 128 };
  GridTensorBox *b = &f->tensor_box;
  const int64_t tiles = f->groups * f->down * f->across;
  int64_t parts = waves * s->machine->multiprocessors / tiles;
  if (parts > s->most) parts = s->most;
  take_parts(b, parts);
  f->chunk = b->boxes * b->high * b->wide;
  f->frame = f->chunk * b->parts;
  f->chunks = b->parts;
  f->parts = f->rounds = b->parts > 1 ? b->parts : 0;
  if (f->rounds) f->rounds = 1;
  const uint64_t each = (uint64_t)(f->groups * f->m * f->weights) * sizeof(float);
  f->scratch = f->total = f->parts ? (uint64_t)f->parts * each : 0;
  f->blocks = tiles * b->parts;
  const double turns = (double)ceil_div(f->blocks, s->machine->multiprocessors);
  double clocks = grid_filter_tensor_box_clocks(f, turns) * (double)f->chunk;
  if (f->parts)
    clocks += s->machine->launch / FMA + (double)f->parts * clocks_of_sums(s->machine, f);
  if (clocks < s->least) *s->best = *f, s->least = clocks;
}

void grid_filter_choose_tensor_box(const GridMachine *machine, GridFilterSchedule *f,
                                   const ConvGeom *g, const GridFilterShape *s) {
  static const int tiles[] = {128, 64, 32, 16}, blocks[] = {2, 4, 8};
  enum { WEIGHTS = 512, WAVES = 4 };
  if (!is_small(g) || s->pixels > INT32_MAX / 2 || s->taps > WEIGHTS) return;
  GridFilterSchedule best = *f;
  Search search = {.machine = machine,
                   .g = g,
                   .best = &best,
                   .least = grid_filter_clocks(machine, f, s),
                   .most = grid_filter_most_parts(machine, s)};
  const int64_t most = WEIGHTS / s->taps < g->gin ? WEIGHTS / s->taps : g->gin;
  for (int64_t split = ceil_div(g->gin, most); split <= 4 * ceil_div(g->gin, most); split *= 2)
    for (int area = GRID_BOX_WIDEST; area <= GRID_BOX_WIDEST * GRID_BOX_HIGHEST; area *= 2)
      for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++)
        for (size_t w = 0; w < sizeof blocks / sizeof *blocks; w++) {
          if (tiles[i] > STEP && tiles[i] >= 2 * s->m) continue;
          GridFilterSchedule t = {.groups = s->groups, .m = s->m, .weights = s->weights};
          t.taps = s->taps, t.tensor = true, t.bm = tiles[i];
          t.tensor_box.area = area, t.tensor_box.warps = blocks[w];
          t.tensor_box.channels = (int)ceil_div(g->gin, split);
          if (!always_fits(&t, g) || !grid_filter_take_boxes(&t, g, grid_box_wide(g->w.out)))
            continue;
          for (int waves = 1; waves <= WAVES; waves++) try_parts(&search, &t, waves);
        }
  *f = best;
}

/* ---- convolutions, and gradients with respect to the image ---- */

GridStep grid_conv_tensor_box_step(const GridConvSchedule *c) {
  enum { TABLE = 12 }; /* instructions that find the taps of a step of the depth */
  const GridTensorBox *b = &c->tensor_box;
  const double depth = (double)ceil_div(c->channels * c->taps, STEP), steps = b->warps * depth;
  const double m = c->bm / STEP, image = (double)b->channels * b->lines * b->per_row / WARP;
  /* sums go to neighbours through shared memory */
  const double sums = b->warps * (c->bm / OCTET) * (b->each + OCTET);
  return (GridStep){.fma = steps * m * b->each,
                    .loads = steps * (m + 2 + 4 * b->each) + sums,
                    .copies = image,
                    .issue = steps * (TABLE + m + b->each * (2 * ELEMENT + 4 + m)) +
                             b->warps * BOX + image * COPY + sums,
                    .wavefronts = steps * (4 * m + 2 + 4 * b->each) + image * b->copy * WARP / 128 +
                                  b->warps * (c->bm / OCTET) * (2 * b->each + OCTET)};
}

/* Clocks of filters on their way to shared memory, of a block. */
static double start_clocks(const GridConvSchedule *c, double *issue) {
  enum { MEMORY = 700, PAIR = 30, UNROLLED = 8 };
  const double pairs = (double)c->bm * (double)(c->channels * c->taps) / 2 / WARP;
  *issue = pairs * PAIR;
  return MEMORY * (1 + ceil(pairs / c->tensor_box.warps / UNROLLED));
}

bool grid_conv_tensor_box(const GridMachine *machine, const ConvGeom *g, bool back,
                          GridConvSchedule *c, double *clocks) {
  static const int tiles[] = {64, 32, 16}, blocks[] = {2, 4, 8};
  enum { DEEPEST = 1152, ACROSS = 64, EACH = 4, LINE = 40, WAVES = 4 };
  if (!is_small(g) || c->pixels > INT32_MAX / 2 || c->channels * c->taps > DEEPEST ||
      c->taps > DEEPEST || (back && (g->h.stride != 1 || g->w.stride != 1)))
    return false;
  const Source source = source_of(g, back);
  GridConvSchedule best = {0};
  double least = *clocks;
  for (size_t w = 0; w < sizeof blocks / sizeof *blocks; w++)
    for (int64_t across = 1; across <= ACROSS; across++) {
      const int pixels = blocks[w] * EACH * OCTET;
      GridConvSchedule t = {.groups = c->groups,
                            .m = c->m,
                            .pixels = c->pixels,
                            .channels = c->channels,
                            .taps = c->taps,
                            .tensor = true};
      const int64_t columns = ceil_div(ceil_div(source.out_cols, across), OCTET) * OCTET;
      if (pixels % columns ||
          !take_boxes(&t.tensor_box, &source, c->channels, pixels / columns, columns))
        continue;
      GridTensorBox *b = &t.tensor_box;
      b->warps = blocks[w], b->each = EACH, b->stages = 2;
      for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
        if (tiles[i] > STEP && tiles[i] >= 2 * c->m) continue;
        const int64_t depth = ceil_div(c->channels * c->taps, STEP) * STEP;
        t.bm = tiles[i], t.bn = pixels, t.tm = tiles[i] / OCTET, t.tn = 2 * EACH;
        const int64_t shared = (t.bm * (depth + OCTET) + depth) * HALF + 2 * box_bytes(b) +
                               b->warps * OCTET * LINE * (int64_t)sizeof(float);
        if (shared > machine->shared) continue;
        b->shared = t.shared = (int)shared;
        t.down = ceil_div(t.m, t.bm);
        const GridStep step = grid_conv_tensor_box_step(&t);
        double issue;
        const double start = start_clocks(&t, &issue);
        for (int waves = 1; waves <= WAVES; waves++) {
          take_parts(b, waves * machine->multiprocessors / (t.groups * t.down));
          t.across = b->parts;
          t.blocks = t.groups * t.down * t.across;
          const double turns = (double)ceil_div(t.blocks, machine->multiprocessors);
          const double time =
              clocks_of_box(&step, b->warps * WARP, b->shared, turns) * (double)b->boxes + start +
              turns * issue / SCHEDULERS;
          if (time < least) best = t, least = time;
        }
      }
    }
  if (!best.bm) return false;
  *c = best;
  *clocks = least;
  return true;
}
