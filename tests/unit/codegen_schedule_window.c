/* Schedules of windows over images: decisions for convolutions that programs have, and what holds
   for all: tiles cover the result once, their runs lie on the image, sums fit into registers. */
#include "codegen/schedule/amx_conv.h"
#include "codegen/schedule/grid_conv.h"
#include "codegen/schedule/window.h"
#include "codegen/schedule/winograd.h"
#include "tests/unit/schedule_rig.h"

static Ctx *c;

static const Type *images(int64_t n, int64_t channels, int64_t h, int64_t w) {
  return type_get(c, DT_F32, 4, (const int64_t[]){n, channels, h, w});
}

static WindowAxis axis(int64_t in, int64_t taps, int64_t stride, int64_t pad, int64_t dilation) {
  WindowAxis a = {
      .in = in, .taps = taps, .stride = stride, .dilation = dilation, .lo = pad, .hi = pad};
  a.out = (in + 2 * pad - (taps - 1) * dilation - 1) / stride + 1;
  return a;
}

static ConvGeom conv(int64_t n, int64_t cin, int64_t cout, int64_t groups, WindowAxis h,
                     WindowAxis w) {
  ConvGeom g = {.n = n,
                .groups = groups,
                .cin = cin,
                .cout = cout,
                .gin = cin / groups,
                .gout = cout / groups,
                .h = h,
                .w = w};
  g.x = images(n, cin, h.in, w.in);
  g.f = images(cout, g.gin, h.taps, w.taps);
  g.y = images(n, cout, h.out, w.out);
  return g;
}

static void decides_convolutions(void **state) {
  Arena *a = arena_new();
  ConvShape s = {.c = conv(64, 64, 64, 1, axis(56, 3, 1, 1, 1), axis(56, 3, 1, 1, 1)), .panel = 64};
  ConvSchedule v = conv_schedule(a, &machines[AVX512], &s);
  assert_int_equal(v.nr, 64);
  assert_int_equal(v.np, 1);
  assert_int_equal(v.tile_rows, 7); /* of 28 sums, four registers a pixel */
  assert_int_equal(v.blocks, 0);    /* image rows are long enough */
  assert_true(v.by_rows);
  assert_int_equal(v.units, 64 * 56);
  s = (ConvShape){.c = conv(64, 16, 16, 1, axis(7, 3, 1, 1, 1), axis(7, 3, 1, 1, 1))};
  v = conv_schedule(a, &machines[AVX512], &s);
  assert_int_equal(v.blocks, 5); /* short rows of one register: a tile is a pixel of 13 images */
  assert_int_equal(v.low * (v.images - 1) + (v.blocks - v.low) * v.images, 64);
  s.panel = 64;
  s.c = conv(1, 256, 256, 1, axis(7, 1, 1, 0, 1), axis(7, 1, 1, 0, 1));
  v = conv_schedule(a, &machines[AVX512], &s);
  assert_false(v.by_rows); /* few rows: threads share panels, too */
  assert_int_equal(v.units, 7 * 4);
  assert_true(v.once);
  s.c = conv(20, 256, 256, 1, axis(7, 1, 1, 0, 1), axis(7, 1, 1, 0, 1));
  v = conv_schedule(a, &machines[AVX512], &s);
  assert_true(v.by_rows && v.by_panels); /* whole rows, or some panels of one */
  assert_int_equal(v.units, 20 * 7 * 4);
  s = (ConvShape){.c = conv(1, 24, 72, 1, axis(80, 1, 1, 0, 1), axis(80, 1, 1, 0, 1)),
                  .panel = 16,
                  .epilogue = true};
  v = conv_schedule(a, &machines[AVX512], &s);
  assert_int_equal(v.together, 5); /* few channels: a tile of pixels goes over all panels */
  assert_false(v.whole);
  assert_int_equal(v.buffer, 5 * v.tile_rows);
  s.c = conv(1, 960, 960, 1, axis(80, 1, 1, 0, 1), axis(80, 1, 1, 0, 1));
  assert_int_equal(conv_schedule(a, &machines[AVX512], &s).together, 1);
  s.c = conv(1, 960, 960, 960, axis(80, 3, 1, 1, 1), axis(80, 3, 1, 1, 1));
  s.panel = 0;
  assert_int_equal(conv_schedule(a, &machines[AVX512], &s).together, 10); /* in three groups */
  arena_free(a);
}

static void decides_filters(void **state) {
  FilterShape s = {.c = conv(64, 3, 64, 1, axis(32, 3, 1, 1, 1), axis(32, 3, 1, 1, 1))};
  FilterSchedule f = filter_schedule(&machines[AVX512], &s);
  assert_true(f.merged); /* 3 channels: a filter row is one run of 9 */
  assert_int_equal(f.row, 9);
  assert_int_equal(f.runs, 1);
  s.c = conv(64, 256, 512, 1, axis(14, 1, 1, 0, 1), axis(14, 1, 1, 0, 1));
  f = filter_schedule(&machines[AVX512], &s);
  assert_true(f.pack && f.block > 0); /* 1x1: both operands are copied */
  s.c = conv(64, 64, 64, 1, axis(14, 3, 1, 1, 1), axis(14, 3, 1, 1, 1));
  f = filter_schedule(&machines[AVX512], &s);
  assert_true(!f.merged && f.runs == 3 && !f.block);
  assert_int_equal(f.units, 90); /* for one thread; for 64 two less tall tiles each */
  assert_int_equal(filter_tiles(&f, 1), 10);
  assert_int_equal(filter_tiles(&f, 64), 14);
  assert_true(filter_balance(&f, 64) >= 0.9);
  assert_int_equal(f.chunks, 0); /* sums of chunks would take more than a quarter of the images */
  s.c = conv(128, 16, 16, 1, axis(32, 3, 1, 1, 1), axis(32, 3, 1, 1, 1));
  s.bytes = 9 * 16 * 16 * 4;
  f = filter_schedule(&machines[AVX512], &s);
  assert_int_equal(f.chunks, 256); /* two of an image: 9 tiles are few for 16 threads */
  assert_true(!filter_apart(2, 9) && filter_apart(16, 9) && filter_balance(&f, 64) >= 0.9);
}

static void decides_depthwise_and_pools(void **state) {
  Arena *a = arena_new();
  ConvGeom g = conv(8, 32, 32, 32, axis(28, 3, 1, 1, 1), axis(28, 3, 1, 1, 1));
  DepthwiseSchedule d = depthwise_schedule(&machines[AVX512], &g, 1 << 20);
  assert_int_equal(d.blocks, 2);
  assert_true(d.rows * d.columns <= tile_sums(&machines[AVX512]));
  assert_true(d.units >= 4); /* filter rows are divided, so that threads find some */
  WindowAxis h = axis(24, 2, 2, 0, 1);
  PoolSchedule p = pool_schedule(a, &h, &h, false, 6, 50 * 12, false, 1 << 20);
  assert_int_equal(p.taps, TAPS_UNROLLED);
  assert_int_equal(p.block, 6);
  h = axis(224, 9, 1, 4, 1);
  assert_int_equal(pool_schedule(a, &h, &h, false, 64, 1, false, 1 << 20).taps, TAPS_BY_COLUMN);
  h = axis(224, 99, 1, 49, 1);
  assert_int_equal(pool_schedule(a, &h, &h, false, 64, 1, false, 1 << 20).taps, TAPS_IN_LOOPS);
  arena_free(a);
}

/* Runs that go on, or come again evenly, are one, and only where all rows have them. */
static void joins_runs(void **state) {
  TapRun run[8];
  Tile t = {.rows = 7, .li = 32, .lk = 1, .lb = 64, .run = run};
  tile_add_run(&t, -32, 0, 32, 1, 7);
  tile_add_run(&t, 0, 2048, 32, 0, 7);
  tile_add_run(&t, 32, 4096, 32, 0, 7); /* the next column: goes on */
  assert_int_equal(t.nruns, 2);
  assert_int_equal(run[1].depth, 64);
  assert_int_equal(run[1].more, 0);
  tile_add_run(&t, 32, 8192, 64, 0, 7);
  tile_add_run(&t, 64, 14336, 64, 0, 7); /* a third time, as far behind */
  tile_add_run(&t, 97, 20480, 64, 0, 7); /* not as far */
  assert_int_equal(t.nruns, 3);
  assert_int_equal(run[1].more, 2);
  assert_int_equal(run[2].more, 0);
  assert_false(tile_is_general(&t));
  Tile one = {.rows = 7, .li = 1, .lk = 128, .lb = 64, .run = run};
  assert_true(tile_is_general(&one));
  tile_add_run(&one, 0, 0, 5, 0, 7);
  assert_true(tile_is_general(&one));
  tile_add_run(&one, 2 * 128, 2 * 64, 5, 0, 7);
  assert_false(tile_is_general(&one)); /* it comes again */
}

/* Runs read the image alone, and no more rows of the tile than it has. */
static void check_tile(const ConvSchedule *v, const Tile *t, int64_t i0, const Phase *f) {
  for (int i = 0; i < t->nruns; i++) {
    const TapRun *r = &t->run[i];
    int64_t first = r->a + (r->lo + i0) * f->over * v->from_channels;
    int64_t last = r->a + (r->hi - 1 + i0) * f->over * v->from_channels + r->depth;
    if (r->da < 0) first += r->more * r->da;
    if (r->da > 0) last += r->more * r->da;
    assert_true(0 <= r->lo && r->lo < r->hi && r->hi <= t->rows && r->depth > 0);
    assert_true(first >= 0 && last <= v->in_columns * v->from_channels);
  }
}

static void check_conv(Arena *a, const VectorMachine *m, const ConvShape *s) {
  ConvSchedule v = conv_schedule(a, m, s);
  int64_t lanes = machine_lanes(m, 4), vectors = ceil_div(v.nr, lanes), columns = 0, spans = 0;
  int64_t tail = v.width - (v.np - 1) * v.nr;
  assert_true(v.np * v.nr >= v.width && tail > 0 && tail <= v.nr);
  int tallest = conv_tile_rows(m, &v, v.nr);
  /* of pairs, a factor has a register, too */
  assert_true(tallest * vectors + vectors + (s->pairs ? 1 : 0) <= registers_of(m));
  for (int p = 0; p < v.nphases; p++) {
    const Phase *f = &v.phase[p];
    int64_t most = tallest, tiles = ceil_div(f->n, most), at = 0;
    for (int64_t k = 0; k < tiles; k++) {
      int rows = conv_tile_size(k, tiles, f->n);
      Tile t = conv_tile_along(a, &v, f, at, rows, v.nr);
      assert_true(rows > 0 && rows <= most);
      check_tile(&v, &t, at, f);
      at += rows;
    }
    assert_int_equal(at, f->n);
    columns += f->n;
  }
  for (int p = 0; p < v.nspans; p++) spans += v.span[p].n;
  assert_int_equal(columns, v.columns);
  assert_int_equal(spans, v.columns);
  if (v.blocks) {
    assert_int_equal(v.low * (v.images - 1) + (v.blocks - v.low) * v.images, v.n);
    assert_true(v.images <= conv_tile_rows(m, &v, v.np == 1 ? v.width : v.nr));
  }
  assert_true(v.row_block >= 1 && v.units >= 1);
  assert_true(!s->epilogue || v.buffer >= 1);
}

static void check_filter(const VectorMachine *m, const ConvGeom *g) {
  FilterShape s = {.c = *g, .bytes = g->f->bytes};
  FilterSchedule f = filter_schedule(m, &s);
  int64_t vectors = ceil_div(f.nr, machine_lanes(m, 4)), tallest = f.rows + (f.low < f.tiles);
  assert_int_equal(f.low * f.rows + (f.tiles - f.low) * (f.rows + 1), f.row);
  assert_int_equal(f.runs * f.row, g->w.taps * g->gin);
  assert_true(f.np * f.nr >= g->gout && (f.np - 1) * f.nr < g->gout);
  assert_true(tallest * vectors + vectors <= registers_of(m) || tallest == 1);
  assert_true(!f.pack || f.chunk * f.nr * 4 <= m->cache.l2 / 4);
  assert_true(!f.block || (f.block <= f.tiles && f.block * f.chunk * f.la * 4 <= m->cache.l2));
  assert_true(f.units == 1 || f.units == f.all_units);
  assert_true(f.chunks * (int64_t)s.bytes * 4 <= (int64_t)(g->x->bytes + g->y->bytes));
  assert_true(!f.chunks || f.chunks == window_pixel_chunks(g).n);
  for (int threads = 1; threads <= 128; threads += 21) {
    int64_t tiles = filter_tiles(&f, threads), rows = ceil_div(f.row, tiles);
    assert_true(tiles >= f.tiles && rows <= tallest && f.row / tiles >= f.least);
    assert_true(f.units == 1 || filter_balance(&f, threads) <= 1 + 1e-9);
    if (f.chunks) assert_true(filter_balance(&f, threads) > 0.5 || f.units * f.chunks < threads);
  }
}

static void covers_every_shape(void **state) {
  static const int64_t sides[] = {1, 2, 5, 7, 13, 28, 57}, channels[] = {1, 3, 16, 17, 64, 200};
  for (size_t i = 0; i < sizeof sides / sizeof *sides; i++)
    for (int taps = 1; taps <= 5; taps += 2)
      for (int stride = 1; stride <= 3; stride++)
        for (int dilation = 1; dilation <= 2; dilation++)
          for (size_t j = 0; j < sizeof channels / sizeof *channels; j++) {
            WindowAxis w = axis(sides[i], taps, stride, dilation * (taps / 2), dilation);
            int64_t n = 1 + 13 * (stride % 2), out = channels[(j + 2) % 6];
            Arena *a = arena_new();
            for (int m = 0; m < MACHINES; m++) {
              ConvShape s = {.c = conv(n, channels[j], out, 1, w, w),
                             .epilogue = taps > 1,
                             .pairs = machines[m].pairs};
              for (int back = 0; back < 2; back++) {
                s.back = back;
                check_conv(a, &machines[m], &s);
              }
              check_filter(&machines[m], &s.c);
            }
            arena_free(a);
          }
}

static GridConvSchedule on_device(int64_t m, int64_t pixels, int64_t channels, int64_t taps) {
  GridConvShape s = {
      .groups = 1, .m = m, .pixels = pixels, .channels = channels, .taps = taps, .dt = DT_F32};
  return grid_conv_schedule(&grid, &s);
}

static void decides_channels_of_a_block(void **state) {
  static const int64_t taps[] = {1, 3, 7, 20, 31}, sides[] = {1, 5, 14, 224, 3000};
  int fit = 0, planes = 0;
  for (int i = 0; i < 5; i++)
    for (int j = 0; j < 5; j++)
      for (int64_t stride = 1; stride < 4; stride++) {
        const int64_t in = sides[j], r = taps[4 - i];
        const WindowAxis h = {in, ceil_div(in, stride), r, stride, 1 + stride % 2, r / 2},
                         w = {in, ceil_div(in, stride), taps[i], stride, 1, taps[i] / 2};
        const ConvGeom c = {
            .n = 3, .gin = 1, .gout = 2, .groups = 9, .cin = 9, .cout = 18, .h = h, .w = w};
        GridPlanesSchedule p;
        double time;
        for (int back = 0; back < 2; back++) {
          if (!grid_planes_schedule(&grid, &c, back, stride == 2 ? DT_F64 : DT_F32, &p, &time))
            continue;
          planes++;
          assert_true(p.units > 0 && p.rows > 0 && p.rows % p.down == 0 && p.shared <= 48 << 10);
          assert_true(p.blocks > 0 && p.image >= p.rows * p.pitch && time > 0);
          assert_true(p.pitch % p.vector == 0 && p.pitch % p.copy == 0 && p.loads > 0);
          assert_true((back ? 1 : w.stride) * p.across % p.vector == 0 && p.filter >= r * taps[i]);
          assert_true(p.before >= w.lo || back || p.across == 1);
          assert_true(p.clocks >= 1 && p.down * p.across <= 32 && p.threads <= 256);
        }
        GridDepthwiseSchedule d;
        if (!grid_depthwise_schedule(&grid, &c, stride == 2 ? DT_F64 : DT_F32, &d)) continue;
        fit++;
        const int64_t groups = ceil_div(taps[i], d.taps),
                      under = (d.rows - 1) * stride + (r - 1) * h.dilation + 1;
        assert_true(d.units > 0 && d.units * r * groups <= d.threads && d.shared <= 48 << 10);
        assert_true(d.units == 1 || /* else multiprocessors would be idle */
                    ceil_div(window_pixel_chunks(&c).n * 18, d.units) >= grid.multiprocessors);
        assert_true(d.taps > 0 && d.rows > 0 && d.rows <= h.out && d.threads % grid.warp == 0);
        assert_true(d.pitch % d.vector == 0 && d.pitch % d.copy == 0 && d.pitch_dy % 8 == 0);
        assert_true(d.before >= w.lo && d.image % 2 == 0 && d.dy % 2 == 0 && d.clocks >= 1);
        assert_true(d.pitch >= in && d.image >= under * d.pitch && d.dy >= d.rows * w.out);
      }
  assert_in_range(fit, 50, 74);
  assert_in_range(planes, 20, 149);
  (void)state;
}

/* Planes are what is taken where they are sooner done than tiles of operands of this dtype. */
static void takes_planes_of_halves(void **state) {
  static const Type image = {.dtype = DT_BF16};
  int taken = 0, all = 0;
  for (int64_t taps = 1; taps < 8; taps++)
    for (int64_t filters = 1; filters <= 64; filters *= 2)
      for (int64_t side = 7; side <= 56; side *= 2) {
        const WindowAxis axis = {side, side, taps, 1, 1, taps / 2};
        const ConvGeom g = {.n = 8,
                            .gin = 1,
                            .gout = filters,
                            .groups = 16,
                            .cin = 16,
                            .cout = 16 * filters,
                            .h = axis,
                            .w = axis,
                            .x = &image};
        GridConvShape s = {.groups = 16,
                           .m = filters,
                           .pixels = 8 * side * side,
                           .channels = 1,
                           .taps = taps * taps,
                           .phases = 1,
                           .in = DT_BF16,
                           .dt = DT_F32,
                           .tensor = true};
        GridConvSchedule c = grid_conv_schedule(&grid, &s), tiles = c;
        GridPlanesSchedule p;
        double time;
        if (!c.bm || !grid_planes_schedule(&grid, &g, false, DT_F32, &p, &time)) continue;
        grid_conv_choose(&grid, &c, &g, false, DT_F32);
        const double ends = 2000, fma = 128; /* as of grid_conv_clocks */
        const bool sooner = time < (grid_conv_clocks(&grid, &s, &tiles) - ends) * fma;
        assert_int_equal(c.planes.units > 0, sooner);
        taken += sooner, all++;
      }
  assert_in_range(taken, 1, all - 1);
  (void)state;
}

/* Of bounded images Winograd's method is there if it wins at any of their sizes. */
static bool wins_at_any_size(const ConvGeom *g, bool back) {
  const int64_t padding[] = {g->h.lo, g->h.hi, g->w.lo, g->w.hi};
  const GcWinogradCost cost =
      winograd_cost(back ? g->cout : g->cin, back ? g->cin : g->cout, padding, back);
  for (int64_t rows = 1; rows <= g->h.in; rows++)
    for (int64_t columns = 1; columns <= g->w.in; columns++)
      if (winograd_wins(&cost, rows, columns)) return true;
  return false;
}

static void finds_where_winograd_wins(void **state) {
  const int64_t all[] = {1, 2, 3, 4, 5, 7, 8, 12, 27, 48}, channels[] = {8, 18, 24, 27, 32, 64, 96};
  const int n = sizeof all / sizeof *all, nchannels = sizeof channels / sizeof *channels;
  int found = 0, tried = 0;
  for (int i = 0; i < n * n * nchannels * nchannels * 6; i++) {
    const int64_t h = all[i % n], w = all[i / n % n], cin = channels[i / n / n % nchannels],
                  cout = channels[i / n / n / nchannels % nchannels];
    const int pad = i / n / n / nchannels / nchannels % 3, back = i % 7 == 0;
    ConvGeom g = conv(1, cin, cout, 1, axis(h, 3, 1, pad, 1), axis(w, 3, 1, pad, 1));
    if (h + 2 * pad < 3 || w + 2 * pad < 3) continue;
    const Extent *high = extent_get(c, "h", h), *wide = extent_get(c, "w", w);
    g.x = type_get(c, DT_F32, 4,
                   (const int64_t[]){1, cin, axis_of_extent(high, 1), axis_of_extent(wide, 1)});
    assert_int_equal(winograd_wins_somewhere(&g, back), wins_at_any_size(&g, back));
    found += winograd_wins_somewhere(&g, back), tried++;
  }
  assert_in_range(found, tried / 10, tried * 9 / 10);
  (void)state;
}

static void decides_tiles_of_tensor_cores(void **state) {
  GridConvShape s = {.groups = 1, .in = DT_BF16, .dt = DT_F32, .tensor = true};
  for (int i = 0; i < EXTENTS; i++)
    for (int j = 0; j < EXTENTS; j++) {
      s.m = extents[i], s.pixels = extents[j] * 49, s.channels = extents[j],
      s.taps = 1 + 24 * (i % 3);
      GridConvSchedule c = grid_conv_schedule(&grid, &s);
      if (!c.bm) continue;
      assert_true(c.tensor && c.shared <= grid.shared);
      assert_int_equal(c.bm / c.wm * (c.bn / c.wn) * grid.warp, grid.block);
      assert_true(c.wm % 16 == 0 && c.wn % 16 == 0); /* operands come in sixteen rows or columns */
      GridFilterShape f = {.groups = 1,
                           .m = s.m,
                           .weights = s.channels * s.taps,
                           .pixels = s.pixels,
                           .chunks = 1,
                           .frame = s.pixels,
                           .chunk = s.pixels,
                           .operands = s.pixels * s.channels * 4,
                           .in = DT_BF16,
                           .dt = DT_F32,
                           .tensor = true};
      GridFilterSchedule g = grid_filter_schedule(&grid, &f);
      if (!g.bm) continue;
      assert_true(g.tensor && g.chunk * g.chunks >= s.pixels &&
                  g.chunk * (g.chunks - 1) < s.pixels);
      assert_true(g.parts ? g.parts == g.chunks && g.rounds == 1 && g.chunk % 32 == 0
                          : g.chunks == 1);
    }
  for (s.taps = 400; s.taps <= 1 << 20; s.taps <<= 1) { /* their table exceeds shared memory */
    GridConvSchedule c = grid_conv_schedule(&grid, &s);
    assert_true(c.bm && !c.tensor);
  }
}

static void decides_tiles_of_a_device(void **state) {
  GridConvSchedule s = on_device(64, 32 * 56 * 56, 64, 9);
  assert_true(s.bm == 64 && s.bn == 128); /* no channel behind the last */
  s = on_device(512, 32 * 14 * 14, 256, 9);
  assert_true(s.bm == 64 && s.bn == 128 && s.blocks == 8 * 49); /* three waves of 132, almost */
  assert_int_equal(on_device(16, 100, 16, 9).bm, 0); /* one element a thread leaves no core idle */
  assert_int_equal(on_device(1, 1 << 20, 1, 9).bm, 0); /* depthwise */
  for (int i = 0; i < EXTENTS; i++)
    for (int j = 0; j < EXTENTS; j++) {
      s = on_device(extents[i], extents[j] * 49, 7, 9);
      if (!s.bm) continue;
      assert_int_equal(s.bm / s.tm * (s.bn / s.tn), grid.block);
      assert_true(grid.block % s.bn == 0); /* a thread loads one pixel's column */
      assert_true(s.down * s.bm >= s.m && (s.down - 1) * s.bm < s.m);
      assert_true(s.across * s.bn >= s.pixels && (s.across - 1) * s.bn < s.pixels);
    }
}

/* The same where k-tiles may be copied ahead. */
static GridConvSchedule ahead_on_device(int64_t m, int64_t pixels, int64_t channels, int64_t taps) {
  const GridConvShape s = {.groups = 1,
                           .m = m,
                           .pixels = pixels,
                           .channels = channels,
                           .taps = taps,
                           .phases = 1,
                           .dt = DT_F32,
                           .ring = true};
  return grid_conv_schedule(&grid, &s);
}

static void decides_k_tiles_that_are_copied_ahead(void **state) {
  GridConvSchedule s = ahead_on_device(64, 32 * 56 * 56, 64, 9);
  assert_true(s.bm == 64 && s.bn == 128 && s.stages == 3);
  s = ahead_on_device(512, 32 * 7 * 7, 512, 9); /* small tiles, which keep all of them busy */
  assert_true(s.bm * s.bn <= 2048 && s.blocks > 2 * grid.multiprocessors);
  assert_int_equal(ahead_on_device(64, 32 * 112 * 112, 3, 49).stages, 0); /* few channels */
  assert_int_equal(ahead_on_device(16, 100, 16, 9).bm, 0);                /* one element a thread */
  for (int i = 0; i < EXTENTS; i++)
    for (int j = 0; j < EXTENTS; j++)
      for (int k = 6; k < EXTENTS; k += 5) {
        s = ahead_on_device(extents[i], extents[j] * 49, extents[k], 1 + 8 * (i % 2));
        if (!s.bm) continue;
        const int threads = grid_conv_threads(&s, grid.block), depth = grid_conv_ring_channels(&s);
        assert_true(s.stages >= 2 && s.tm % 4 == 0 && s.tn == 4 && s.tm * s.tn <= 64);
        assert_true(threads % grid.warp == 0 && CONV_RING_THREADS % threads == 0);
        /* threads copy whole rows of pixels and of filters, and columns of these */
        assert_true(threads % s.bn == 0 && threads % s.bm == 0 && s.bm % (threads / 16) == 0);
        assert_true(depth > 0 && depth <= 16 &&
                    s.stages * depth * (s.bm + s.bn + 8) * 4 <= 48 << 10);
        assert_true(s.down * s.bm >= s.m && (s.down - 1) * s.bm < s.m);
        assert_true(s.across * s.bn >= s.pixels && (s.across - 1) * s.bn < s.pixels);
      }
}

/* Of 32-bit floats: filters of a layer by their weights, over images of pixels that come in chunks.
 */
static GridFilterSchedule filters_on_device(int64_t m, int64_t weights, int64_t images,
                                            int64_t pixels, int64_t chunks) {
  GridFilterShape s = {.groups = 1,
                       .m = m,
                       .weights = weights,
                       .pixels = images * pixels,
                       .chunks = chunks,
                       .frame = images * pixels,
                       .chunk = ceil_div(images * pixels, chunks),
                       .operands = images * pixels * (m + weights / 9) * 4,
                       .dt = DT_F32};
  return grid_filter_schedule(&grid, &s);
}

static void decides_filters_of_a_device(void **state) {
  GridFilterSchedule s = filters_on_device(64, 576, 32, 56 * 56, 128);
  assert_true(s.bm == 64 && s.bn == 64 && s.parts == 64 && s.rounds == 2); /* few tiles */
  s = filters_on_device(512, 4608, 32, 7 * 7, 2);
  assert_true(s.bm == 64 && !s.parts && s.blocks == 8 * 72);   /* tiles enough */
  assert_int_equal(filters_on_device(8, 72, 1, 100, 1).bm, 0); /* a thread a weight: no core idle */
  for (int i = 0; i < EXTENTS; i++)
    for (int j = 0; j < EXTENTS; j++) {
      int64_t m = extents[i], weights = 9 * extents[j], chunks = 1 + (i * 7 + j) % 60;
      s = filters_on_device(m, weights, chunks, 784, chunks);
      if (!s.bm) continue;
      assert_int_equal(s.bm / s.tm * (s.bn / s.tn), grid.block);
      assert_true(s.bm % 16 == 0 && s.bn % 16 == 0); /* rows that the threads load at once */
      assert_true(s.down * s.bm >= m && s.across * s.bn >= weights);
      if (!s.parts) continue;
      assert_true(s.rounds * s.parts >= chunks && (s.rounds - 1) * s.parts < chunks);
      assert_int_equal(s.blocks, s.down * s.across * s.parts);
      assert_true(s.total * 4 <= (uint64_t)(chunks * 784 * (m + weights / 9) * 4));
      assert_true(s.scratch == s.total || s.scratch == s.total + (uint64_t)(m * weights * 4) + 4);
    }
}

/* The same by taps, whose k-tiles are copied ahead. */
static void decides_filters_that_are_copied_ahead(void **state) {
  for (int i = 0; i < EXTENTS; i++)
    for (int j = 0; j < EXTENTS; j++)
      for (int64_t taps = 1; taps <= 49; taps += 24) {
        const int64_t m = extents[i], channels = extents[j], chunks = 1 + (i * 7 + j) % 60;
        const GridFilterShape shape = {.groups = 1,
                                       .m = m,
                                       .weights = channels * taps,
                                       .pixels = chunks * 784,
                                       .chunks = chunks,
                                       .frame = chunks * 784,
                                       .chunk = 784,
                                       .operands = chunks * 784 * (m + channels) * 4,
                                       .in = DT_F32,
                                       .dt = DT_F32,
                                       .taps = taps,
                                       .ring = true};
        const GridFilterSchedule s = grid_filter_schedule(&grid, &shape);
        if (!s.bm) continue;
        const GridProductSchedule p = grid_filter_product(&s);
        assert_true(s.stages >= 2 && s.stages * grid_ring_bytes(&p) <= 48 << 10);
        /* threads copy whole rows of 32 pixels */
        assert_true(p.threads % 32 == 0 && s.bm % (p.threads / 32) == 0 &&
                    s.bn % (p.threads / 32) == 0);
        assert_int_equal(s.across, taps * ceil_div(channels, s.bn));
        assert_int_equal(s.blocks, s.down * s.across * (s.parts ? s.parts : 1));
        assert_true(s.total * 4 <= (uint64_t)shape.operands);
      }
}

/* A span of fewer columns is that of the bound: one behind the middle has moved, and the middle has
   so many positions less. */
static void spans_match(const Phase *bound, const Phase *narrow, int64_t less) {
  const int64_t moved = bound->side > 0 ? less : 0;
  assert_int_equal(narrow->side, bound->side);
  assert_int_equal(narrow->first, bound->first - moved * bound->step);
  assert_int_equal(narrow->n, bound->side ? bound->n : bound->n - less);
  assert_int_equal(narrow->ntaps, bound->ntaps);
  for (int t = 0; t < bound->ntaps; t++) {
    assert_int_equal(narrow->tap[t].index, bound->tap[t].index);
    assert_int_equal(narrow->tap[t].at, bound->tap[t].at - moved * bound->over);
  }
}

static void shortens_bounded_columns(void **state) {
  Arena *a = arena_new();
  int wholes = 0;
  for (int64_t form = 0; form < 5 * 3 * 3 * 3; form++) {
    const int64_t taps = 1 + form % 5, stride = 1 + form / 5 % 3, dilation = 1 + form / 15 % 3;
    const int64_t reach = (taps - 1) * dilation;
    const WindowAxis w = axis(60, taps, stride, reach * (form / 45) / 2, dilation);
    for (int back = 0; back < 2; back++) {
      const int64_t whole = window_least_whole(&w, back);
      int n, of_bound;
      const Phase *bound = window_spans(a, &w, back, &of_bound);
      assert_true(whole > 0 && whole < w.out);
      wholes += whole > 1;
      for (int64_t windows = whole; windows < w.out; windows++) {
        const int64_t less = w.out - windows;
        const WindowAxis narrow = window_narrow(&w, windows);
        const Phase *spans = window_spans(a, &narrow, back, &n);
        int k = 0;
        for (int i = 0; i < of_bound; i++)
          if (bound[i].side || bound[i].n > less) spans_match(&bound[i], &spans[k++], less);
        assert_int_equal(k, n);
      }
    }
  }
  assert_true(wholes > 50);
  arena_free(a);
}

/* Of images whose rows and columns the run decides, the places of a chunk are those of the sizes
   that need most of them. */
static void counts_places_of_all_sizes(void **state) {
  static const struct {
    int64_t rows, columns, taps, stride, dilation;
  } images_of[] = {{28, 28, 3, 1, 1}, {61, 7, 5, 2, 1},   {5, 90, 3, 3, 2},
                   {1, 900, 9, 1, 1}, {40, 400, 1, 1, 1}, {90, 33, 2, 2, 1}};
  for (size_t i = 0; i < sizeof images_of / sizeof *images_of; i++)
    for (int which = 1; which < 4; which++) { /* rows, columns, or both */
      const int64_t taps = images_of[i].taps, stride = images_of[i].stride;
      const WindowAxis h = axis(images_of[i].rows, images_of[i].rows > 1 ? taps : 1, stride, 0, 1);
      const WindowAxis w =
          axis(images_of[i].columns, taps, stride, taps / 2, images_of[i].dilation);
      ConvGeom g = conv(4, 32, 32, 1, h, w);
      const Extent *rows = extent_get(c, "h", h.out), *columns = extent_get(c, "w", w.out);
      const int64_t dim[] = {4, 32, which & 1 ? axis_of_extent(rows, 1) : h.out,
                             which & 2 ? axis_of_extent(columns, 1) : w.out};
      int64_t most = 0;
      for (int64_t r = which & 1 ? 1 : h.out; r <= h.out; r++)
        for (int64_t k = which & 2 ? 1 : w.out; k <= w.out; k++) {
          const ConvGeom one = conv(4, 32, 32, 1, window_narrow(&h, r), window_narrow(&w, k));
          const int64_t places = amx_filter_places(&one);
          if (places > most) most = places;
        }
      g.y = type_get(c, DT_F32, 4, dim);
      assert_int_equal(amx_filter_places(&g), most);
    }
}

/* Tiles against vectors, which do twice as much where they multiply pairs. */
static void weighs_tiles_against_pairs(void **state) {
  VectorMachine m = machines[AVX512];
  const ConvGeom few = conv(8, 12, 16, 1, axis(28, 3, 1, 1, 1), axis(28, 3, 1, 1, 1));
  const ConvGeom many = conv(8, 24, 16, 1, axis(28, 3, 1, 1, 1), axis(28, 3, 1, 1, 1));
  assert_false(amx_conv_pays(&m, &many, false));
  m.amx = true;
  assert_true(amx_conv_pays(&m, &few, false) && amx_conv_pays(&m, &many, false));
  m.pairs = true;
  assert_true(!amx_conv_pays(&m, &few, false) && amx_conv_pays(&m, &many, false));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shortens_bounded_columns),
      cmocka_unit_test(decides_filters_that_are_copied_ahead),
      cmocka_unit_test(decides_convolutions),
      cmocka_unit_test(decides_filters),
      cmocka_unit_test(decides_depthwise_and_pools),
      cmocka_unit_test(joins_runs),
      cmocka_unit_test(covers_every_shape),
      cmocka_unit_test(decides_tiles_of_a_device),
      cmocka_unit_test(decides_k_tiles_that_are_copied_ahead),
      cmocka_unit_test(decides_filters_of_a_device),
      cmocka_unit_test(finds_where_winograd_wins),
      cmocka_unit_test(decides_tiles_of_tensor_cores),
      cmocka_unit_test(takes_planes_of_halves),
      cmocka_unit_test(counts_places_of_all_sizes),
      cmocka_unit_test(weighs_tiles_against_pairs),
      cmocka_unit_test(decides_channels_of_a_block),
  };
  c = ctx_new();
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  ctx_free(c);
  return failed;
}
