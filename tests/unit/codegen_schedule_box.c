/* Schedules of convolutions of few channels on a device and of their gradients with respect to
   filters: decisions for stems that programs have, and what holds for all. */
#include "codegen/schedule/grid_conv.h"
#include "codegen/schedule/patches.h"
#include "codegen/schedule/wgmma_filter.h"
#include "tests/unit/schedule_rig.h"

static WindowAxis axis(int64_t in, int64_t taps, int64_t stride, int64_t pad, int64_t dilation) {
  WindowAxis a = {
      .in = in, .taps = taps, .stride = stride, .dilation = dilation, .lo = pad, .hi = pad};
  a.out = (in + 2 * pad - (taps - 1) * dilation - 1) / stride + 1;
  return a;
}

static ConvGeom conv(int64_t n, int64_t channels, int64_t filters, WindowAxis h, WindowAxis w) {
  return (ConvGeom){.n = n,
                    .groups = 1,
                    .cin = channels,
                    .cout = filters,
                    .gin = channels,
                    .gout = filters,
                    .h = h,
                    .w = w};
}

/* bm = 0: a thread does one element. */
static GridConvSchedule box_of(const ConvGeom *g) {
  GridConvSchedule c = {.groups = 1,
                        .m = g->gout,
                        .pixels = g->n * g->h.out * g->w.out,
                        .channels = g->gin,
                        .taps = g->h.taps * g->w.taps};
  c.blocks = ceil_div(c.m * c.pixels, grid.block);
  grid_conv_box(&grid, g, &c);
  return c;
}

static void check_box(const ConvGeom *g, const GridConvSchedule *c) {
  const GridBoxSchedule *b = &c->box;
  const int threads = grid_conv_threads(c, 0), lanes = c->bn / c->tn;
  assert_true(c->stages >= 2 && b->shared > 0 && b->shared <= 48 << 10);
  assert_true(threads % grid.warp == 0 && CONV_RING_THREADS % threads == 0);
  assert_true(c->tm % 4 == 0 && c->tm * c->tn <= 64 && c->bn % b->width == 0);
  assert_true(lanes % b->width == 0 || b->width % lanes == 0); /* pixels of a thread are in order */
  assert_true(b->rows > 0 && b->rows <= g->h.taps && b->taps > 0 && b->taps <= g->w.taps);
  assert_true(b->rows == 1 || b->taps == g->w.taps);
  assert_true(c->down * c->bm >= c->m && (c->down - 1) * c->bm < c->m);
  assert_int_equal(c->across,
                   g->n * ceil_div(g->h.out, c->bn / b->width) * ceil_div(g->w.out, b->width));
  assert_int_equal(c->blocks, c->down * c->across);
}

static void decides_boxes(void **state) {
  const WindowAxis stem = axis(224, 7, 2, 3, 1), patch = axis(224, 16, 16, 0, 1);
  ConvGeom g = conv(32, 3, 64, stem, stem);
  GridConvSchedule c = box_of(&g);
  assert_true(c.bm == 64 && c.box.width == 16 && c.box.taps == 7); /* 112 is 7 boxes of 16 */
  g = conv(32, 3, 768, patch, patch);
  assert_true(box_of(&g).bm >= 64);
  g = conv(1, 3, 4, axis(9, 3, 1, 1, 1), axis(9, 3, 1, 1, 1));
  assert_int_equal(box_of(&g).bm, 0); /* one element a thread leaves no core idle */
  g = conv(8, 8, 64, stem, stem);
  assert_int_equal(box_of(&g).bm, 0); /* channels enough for other tiles */
  static const int64_t taps[] = {1, 2, 3, 7, 11, 31}, sides[] = {32, 45, 112, 300};
  int boxes = 0;
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 4; j++)
      for (int64_t stride = 1; stride < 6; stride += 2)
        for (int64_t channels = 1; channels < 8; channels += 2) {
          g = conv(5, channels, 10 * (j + 1) * channels, axis(sides[j], taps[5 - i], stride, 3, 1),
                   axis(sides[j], taps[i], stride, 1, i < 4 ? 1 + stride / 3 : 1));
          if (g.h.out < 1 || g.w.out < 1) continue;
          c = box_of(&g);
          if (!c.bm) continue;
          check_box(&g, &c);
          boxes++;
        }
  assert_true(boxes > 100);
  (void)state;
}

static void decides_filter_boxes(void **state) {
  static const int64_t taps[] = {1, 3, 5, 7}, sides[] = {12, 28, 45, 112};
  int boxes = 0;
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++)
      for (int64_t stride = 1; stride < 3; stride++)
        for (int64_t channels = 1; channels < 16; channels += 2) {
          const WindowAxis h = axis(sides[j], taps[i], stride, i, 1),
                           w = axis(sides[j], taps[3 - i], stride, 1, 1);
          const ConvGeom g = conv(32, channels, 24, h, w);
          const int64_t rows = ceil_div(784, w.out), pixels = 32 * h.out * w.out,
                        chunk = rows * w.out, per_image = ceil_div(h.out, rows);
          const GridFilterShape s = {.groups = 1,
                                     .m = 24,
                                     .weights = channels * h.taps * w.taps,
                                     .pixels = pixels,
                                     .chunks = 32 * per_image,
                                     .frame = h.out * w.out,
                                     .chunk = chunk,
                                     .operands =
                                         4 * 32 * (channels * h.in * w.in + 24 * h.out * w.out),
                                     .taps = h.taps * w.taps,
                                     .dt = DT_F32};
          GridFilterSchedule f = grid_filter_schedule(&grid, &s);
          grid_filter_choose_box(&grid, &f, &g, &s);
          if (!f.box.pixels) continue;
          boxes++;
          assert_true(f.box.stages >= 2 && f.box.shared <= 48 << 10 && f.box.threads % 32 == 0);
          assert_true(f.bm / f.tm * (f.bn / f.tn) <= f.box.threads && f.tm % 4 == 0);
          assert_true(f.bn >= s.weights && f.bn < s.weights + f.tn && f.across == 1);
          assert_true(f.box.pixels <= w.out && f.box.rows == channels * h.taps);
          assert_int_equal(f.blocks, f.down * (f.parts ? f.parts : 1));
          assert_true(f.total * 4 <= (uint64_t)s.operands);
        }
  assert_true(boxes > 30);
  (void)state;
}

static void check_tensor_box(const GridTensorBox *b, const ConvGeom *g, int shared) {
  assert_true(b->wide % 8 == 0 && b->warps * 32 <= CONV_RING_THREADS && b->stages >= 2);
  assert_true(b->shared == shared && shared <= grid.shared);
  assert_true(b->pitch % 8 == 0 && b->pitch >= b->per_row * b->copy / 2);
  assert_true(b->parts * b->boxes >= b->all && (b->parts - 1) * b->boxes < b->all);
  assert_true(g->w.in * 2 % b->copy == 0);
}

/* Such boxes fit images of other sides, and take what they take of `g`: that does not depend on the
   images. */
static void check_other_sides(const GridFilterSchedule *f, const ConvGeom *g) {
  for (int64_t side = 1; side < 300; side += 1 + side / 8) {
    ConvGeom c = *g;
    c.h = axis(301 - side, g->h.taps, g->h.stride, g->h.lo, g->h.dilation);
    c.w = axis(side + g->w.taps, g->w.taps, g->w.stride, g->w.lo, g->w.dilation);
    if (c.h.out < 1) continue;
    GridFilterSchedule t = *f;
    const int wide = grid_box_wide(c.w.out);
    assert_true(grid_filter_take_boxes(&t, &c, wide));
    assert_true(t.tensor_box.wide == wide && wide % 8 == 0 && wide <= GRID_BOX_WIDEST);
    assert_true(wide >= c.w.out || wide == GRID_BOX_WIDEST);
    assert_true(t.bm == f->bm && t.bn == f->bn && t.tn == f->tn && t.across == f->across);
    const PixelParts p = grid_filter_box_parts(&grid, f, g, wide),
                     q = grid_filter_box_parts(&grid, &t, &c, wide);
    assert_memory_equal(&p, &q, sizeof p);
  }
}

/* Of halves, on tensor cores: stems, and what holds for all. */
static void decides_tensor_boxes(void **state) {
  static const int64_t taps[] = {1, 3, 5, 7}, sides[] = {12, 28, 45, 112};
  int boxes = 0, filters = 0;
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++)
      for (int64_t stride = 1; stride < 3; stride++)
        for (int64_t channels = 1; channels < 40; channels *= 3) {
          const WindowAxis h = axis(sides[j], taps[i], stride, i, 1),
                           w = axis(sides[3 - j], taps[3 - i], stride, 1, 2);
          if (h.out < 1 || w.out < 1) continue;
          const ConvGeom g = conv(32, channels, 24, h, w);
          GridConvSchedule c = {.m = 24, .groups = 1, .channels = channels};
          c.pixels = 32 * h.out * w.out, c.taps = h.taps * w.taps;
          double clocks = 1e9;
          if (grid_conv_tensor_box(&grid, &g, false, &c, &clocks)) {
            check_tensor_box(&c.tensor_box, &g, c.shared);
            assert_true(c.bn == c.tensor_box.high * c.tensor_box.wide && clocks < 1e9);
            assert_true(c.blocks == c.down * c.tensor_box.parts);
            boxes++;
          }
          const GridFilterShape s = {.groups = 1,
                                     .m = 24,
                                     .weights = channels * c.taps,
                                     .pixels = c.pixels,
                                     .operands = 4 * 32 * 24 * h.out * w.out,
                                     .taps = c.taps,
                                     .in = DT_BF16,
                                     .tensor = true,
                                     .dt = DT_F32};
          GridFilterSchedule f = grid_filter_schedule(&grid, &s);
          grid_filter_choose_tensor_box(&grid, &f, &g, &s);
          if (!f.tensor_box.wide) continue;
          check_tensor_box(&f.tensor_box, &g, f.shared);
          check_other_sides(&f, &g);
          assert_true(f.bn == f.tensor_box.channels * c.taps &&
                      f.tensor_box.each * 8 * f.tensor_box.warps >= f.bn);
          assert_int_equal(f.blocks, f.down * f.across * (f.parts ? f.parts : 1));
          assert_true(f.total * 4 <= (uint64_t)s.operands);
          filters++;
        }
  assert_true(boxes > 60 && filters > 60);
  (void)state;
}

/* Parts of pixels: all units are in one, no part is empty, scratch has room for them, and they keep
   the device busy. */
static void divides_pixels(void **state) {
  static const int tiles[] = {1, 3, 8, 40, 132, 500}, all[] = {1, 2, 7, 31, 100, 1000, 54321};
  static const long room[] = {0, 1, 5, 64, 1L << 40};
  for (int t = 0; t < 6; t++)
    for (int i = 0; i < 7; i++)
      for (int k = 0; k < 5; k++)
        for (int cluster = 1; cluster <= 4; cluster *= 2) {
          const PixelParts p = {.tiles = tiles[t],
                                .blocks = 132,
                                .least = 4,
                                .cluster = cluster,
                                .unit = 100,
                                .wait = 120,
                                .resident = 2,
                                .ends = 500,
                                .sums = 20};
          const int64_t each = pixel_parts_units(&p, all[i], room[k]);
          const int64_t parts = ceil_div(all[i], each);
          assert_true(each >= 1 && parts * each >= all[i] && (parts - 1) * each < all[i]);
          const int64_t most = room[k] > cluster ? room[k] : cluster; /* it adds its own up */
          assert_true(parts == 1 || (parts <= most && each >= p.least));
          assert_true(parts == 1 || parts * tiles[t] <= PIXEL_TURNS * 132);
          if (all[i] > 10000 && room[k] > 1000) assert_true(parts * tiles[t] > 100);
        }
  (void)state;
}

/* Patches: what is one, and how many of its elements one copy finds side by side. */
static void knows_patches(void **state) {
  static const int64_t taps[] = {16, 14, 12, 7, 3, 2}, in[] = {224, 224, 60, 224, 225, 57};
  static const int along[] = {8, 2, 4, 0, 0, 0}; /* of halves */
  ConvGeom p;
  for (int i = 0; i < 6; i++) {
    const WindowAxis a = axis(in[i], taps[i], taps[i], 0, 1);
    const ConvGeom g = conv(2, 3, 8, a, a);
    assert_int_equal(conv_patches(&g, 2, &p), along[i]);
    if (!along[i]) continue;
    assert_true(p.gin == 3 * taps[i] * taps[i] && p.cin == p.gin && p.h.taps == 1);
    assert_true(p.w.out == a.out && p.w.stride == taps[i] && p.h.in == a.out * taps[i]);
  }
  const WindowAxis apart = axis(64, 8, 8, 0, 1), near = axis(64, 8, 4, 0, 1);
  const WindowAxis padded = axis(64, 8, 8, 4, 1), wide = axis(64, 4, 4, 0, 2);
  ConvGeom g = conv(2, 3, 8, apart, apart);
  assert_int_equal(conv_patches(&g, 4, &p), 4);
  g.h = near, assert_int_equal(conv_patches(&g, 2, &p), 0);
  g.h = padded, assert_int_equal(conv_patches(&g, 2, &p), 0);
  g.h = wide, assert_int_equal(conv_patches(&g, 2, &p), 0);
  g = conv(64, 3, 768, axis(224, 16, 16, 0, 1), axis(224, 16, 16, 0, 1));
  WgmmaFilterSchedule
      w; /* its gradient has the parts that scratch has room for, or another kernel */
  for (int most = 1; most < 9; most++) {
    assert_true(wgmma_copied_schedule(&grid, &g, most, 1e9, &w));
    assert_in_range(w.parts, 1, most);
  }
  assert_false(wgmma_copied_schedule(&grid, &g, 0, 1e9, &w));
  (void)state;
}

/* Clusters of a gradient with respect to filters fill a device of 132 multiprocessors: of two if
   there are many tiles, even if scratch has no room for several sums. */
static void decides_clusters(void **state) {
  static const int channels[] = {64, 128, 256, 512}, clusters[] = {4, 4, 4, 2};
  const WindowAxis small = axis(7, 3, 1, 1, 1), usual = axis(28, 3, 1, 1, 1);
  for (int i = 0; i < 4; i++) {
    WgmmaFilterSchedule w;
    const ConvGeom g = conv(32, channels[i], channels[i], usual, usual);
    assert_true(wgmma_filter_schedule(&g, &w));
    const PixelParts p = wgmma_filter_parts(&grid, &g, &w);
    assert_int_equal(p.cluster, clusters[i]);
    const ConvGeom few = conv(32, channels[i], channels[i], small, small);
    const int64_t units = ceil_div(few.n * 64, p.pixels);
    assert_int_equal(ceil_div(units, pixel_parts_units(&p, units, 0)), p.cluster);
  }
  /* 18 tiles: clusters of two would serve well that have room for several sums alone */
  const WindowAxis wide = axis(28, 5, 1, 2, 1);
  const ConvGeom five = conv(32, 96, 160, wide, wide);
  WgmmaFilterSchedule w;
  assert_true(wgmma_filter_schedule(&five, &w));
  assert_int_equal(wgmma_filter_parts(&grid, &five, &w).cluster, 4);
  const WindowAxis strided = axis(56, 3, 2, 1, 1);
  const ConvGeom g = conv(32, 128, 128, strided, strided);
  assert_true(wgmma_filter_schedule(&g, &w) && wgmma_filter_gathers(&g, &w));
  (void)state;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(decides_boxes),        cmocka_unit_test(decides_filter_boxes),
      cmocka_unit_test(decides_tensor_boxes), cmocka_unit_test(divides_pixels),
      cmocka_unit_test(knows_patches),        cmocka_unit_test(decides_clusters),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
