/* Schedules of products: decisions for shapes that programs have, and what holds for all: tiles and
   panels cover the result once, sums fit into registers, what is packed into the cache that it is
   for, and a block's operands into shared memory. */
#include "codegen/schedule/product.h"
#include "tests/unit/schedule_rig.h"

static ProductSchedule plain(int machine, int64_t m, int64_t n, int64_t k) {
  ProductShape s = {.batch = 1, .m = m, .n = n, .k = k, .in = DT_F32};
  return product_schedule(&machines[machine], &s);
}

static void decides_tiles(void **state) {
  ProductSchedule p = plain(AVX512, 64, 256, 784);
  assert_int_equal(p.nr, 64); /* four registers of 16 */
  assert_int_equal(p.np, 4);
  assert_int_equal(p.tiles, 11); /* of 5 and 6 rows */
  assert_int_equal(p.rows, 5);
  assert_int_equal(p.low, 2);
  assert_int_equal(p.chain, 784);
  assert_false(p.chains || p.partial || p.pack_a);
  assert_true(p.pack && p.pack_first); /* 784 rows of a panel are more than the first cache has */
  assert_int_equal(p.split, BY_PANEL);
  assert_int_equal(p.units, 44); /* of each panel */
  p = plain(AVX2, 64, 256, 784);
  assert_int_equal(p.nr, 16);
  assert_int_equal(p.np, 16);
  assert_int_equal(p.units, 176);
}

static void decides_units(void **state) {
  assert_int_equal(plain(AVX512, 8, 10, 16).split, SERIAL);      /* too little work */
  assert_int_equal(plain(AVX512, 4096, 10, 256).split, BY_ROWS); /* one panel */
  ProductShape s = {.batch = 48, .m = 64, .n = 64, .k = 64, .in = DT_F32};
  ProductSchedule p = product_schedule(&machines[AVX512], &s);
  assert_int_equal(p.units, 48 * 11);
  s = (ProductShape){.batch = 1, .m = 3072, .n = 768, .k = 256, .ta = true, .in = DT_F32};
  assert_int_equal(product_schedule(&machines[AVX512], &s).split, BY_ROWS); /* A^T is packed once */
  s.m = 768, s.n = 3072;
  assert_int_equal(product_schedule(&machines[AVX512], &s).split, BY_PANEL);
}

/* However many threads there are: tiles are the schedule's for one, and where they have a few tiles
   each, less tall, so that none has much more than others. */
static void shares_evenly(void **state) {
  static const int threads[] = {1, 2, 3, 8, 16, 64, 96, 128};
  for (int machine = 0; machine < MACHINES; machine++)
    for (int i = 0; i < EXTENTS; i++)
      for (int j = 0; j < EXTENTS; j++)
        for (size_t k = 0; k < sizeof threads / sizeof *threads; k++) {
          int nt = threads[k];
          ProductSchedule p = plain(machine, extents[i], extents[j], 512);
          int64_t tiles = product_tiles(&p, nt), most = ceil_div(p.m, tiles);
          assert_true(tiles >= p.tiles && most <= product_tallest(&p) && p.m / tiles >= p.least);
          int64_t share = ceil_div(p.batch * p.np * tiles, nt);
          assert_true(p.split == SERIAL || /* buffers have room for all tiles of a part */
                      (share < tiles ? share : tiles) <= product_most_tiles(&p));
          assert_true(p.block < p.tiles || p.block == product_most_tiles(&p));
          double balance = product_balance(&p, nt);
          assert_true(balance > 0 && balance < 1 + 1e-9);
          if (nt == 1) assert_true(tiles == p.tiles && balance > 1 - 1e-9);
          bool by_columns =
              product_is_uneven(&p) && p.np % nt; /* else a narrow panel counts whole */
          if (p.split != SERIAL && p.n * p.tiles >= 16 * nt * p.nr &&
              (p.n % p.nr == 0 || by_columns))
            assert_true(balance > 0.9); /* a tile more than others */
        }
  /* shapes of which a panel or a row of tiles for each thread would leave most of 64 without work
   */
  static const int64_t shapes[][2] = {
      {256, 768}, {200, 1000}, {1536, 640}, {300, 2000}, {50257, 96}};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    ProductSchedule p = plain(AVX512, shapes[i][0], shapes[i][1], 512);
    assert_true(product_balance(&p, 64) >= 0.9);
  }
}

/* Tiles of a last panel of a few columns take little time: threads share columns, not tiles. */
static void shares_narrow_panels(void **state) {
  ProductSchedule p = plain(AVX512, 64, 400, 784);
  assert_true(product_is_uneven(&p)); /* six panels of 64 columns and one of 16 */
  assert_true(product_balance(&p, 2) > 0.95 && product_balance(&p, 8) > 0.9);
  for (int64_t n = 1; n < 700; n += 37)
    for (int nt = 1; nt < 130; nt += 9) {
      p = plain(AVX512, 96, n, 512);
      int64_t tiles = product_tiles(&p, nt), units = p.np * tiles, last = 0;
      for (int t = 0; t <= nt; t++) {
        int64_t u = product_share(t, nt, 1, p.np, tiles, p.nr, n);
        assert_true(u >= last && u <= units && (t || u == 0) && (t < nt || u == units));
        assert_int_equal(product_share(t, nt, 1, p.np, 0, p.nr, n), 0); /* no rows in this run */
        last = u;
      }
    }
}

static void decides_packing(void **state) {
  ProductShape s = {.batch = 1, .m = 256, .n = 768, .k = 2048, .ta = true, .in = DT_F32};
  ProductSchedule p = product_schedule(&machines[AVX512], &s);
  assert_true(p.pack_a && p.chains); /* a deep A^T: C keeps the sums of two chains */
  s.epilogue = true;
  p = product_schedule(&machines[AVX512], &s);
  assert_true(p.partial && !p.chains); /* the epilogue waits for the last chain */
  s = (ProductShape){.batch = 1, .m = 256, .n = 768, .k = 64, .in = DT_F16};
  p = product_schedule(&machines[AVX512], &s);
  assert_true(p.converted && p.pack && p.pack_first && !p.pack_a); /* by the tile that converts */
  assert_true(p.convert_tile); /* a tile meets all twelve panels */
  s.k = 768;
  assert_false(product_schedule(&machines[AVX512], &s).convert_tile);
  assert_int_equal(p.dt, DT_F32);
  s = (ProductShape){.batch = 1, .m = 256, .n = 768, .k = 64, .tb = true, .in = DT_F32};
  assert_true(product_schedule(&machines[AVX512], &s).pack); /* columns of B^T are made panels */
  s = (ProductShape){.batch = 1,
                     .m = 4096,
                     .n = 768,
                     .k = 768,
                     .b_panels = true,
                     .b_panel = 64,
                     .panel = 64,
                     .in = DT_F32};
  assert_false(product_schedule(&machines[AVX512], &s).pack); /* panels lie there already */
  s.bits = 8;                                                 /* … as integers */
  p = product_schedule(&machines[AVX512], &s);
  assert_true(p.pack && !p.unpacked);
  s.bounded = true; /* a run may have few rows */
  p = product_schedule(&machines[AVX512], &s);
  assert_true(p.pack && p.unpacked == 2 * product_tallest(&p));
  s.m = p.unpacked;
  p = product_schedule(&machines[AVX512], &s);
  assert_true(!p.pack && !p.unpacked && !p.deep_row); /* one chain */
}

static void decides_on_deep_rows(void **state) {
  ProductShape s = {.batch = 1,
                    .m = 1,
                    .n = 768,
                    .k = 1025,
                    .b_panels = true,
                    .b_panel = 64,
                    .panel = 64,
                    .bits = 4,
                    .in = DT_F32};
  assert_true(product_schedule(&machines[AVX512], &s).deep_row); /* two chains */
  s.integers = 32, s.left_bits = 16, s.in = DT_I8;
  assert_true(product_schedule(&machines[AVX2], &s).deep_row);
  s.m = 2;
  assert_false(product_schedule(&machines[AVX2], &s).deep_row);
  s.bounded = true; /* a run may have one row */
  assert_true(product_schedule(&machines[AVX2], &s).deep_row);
  s.m = 400;
  assert_true(product_schedule(&machines[AVX2], &s).deep_row);
  s.tb = true, s.b_panels = false; /* which has to be packed, and is so for several panels */
  assert_false(product_schedule(&machines[AVX2], &s).deep_row);
  s.tb = false, s.bits = s.integers = 0, s.in = DT_F32;
  assert_false(product_schedule(&machines[AVX2], &s).deep_row);
}

static void decides_how_halves_are_read(void **state) {
  ProductShape s = {.batch = 1, .m = 1, .n = 768, .k = 768, .in = DT_F16};
  ProductSchedule p = product_schedule(&machines[AVX2], &s);
  assert_true(p.converted && !p.pack && !p.pairs); /* one row: converted as it is read */
  s.m = 64;
  assert_true(product_schedule(&machines[AVX2], &s).pack);
  s.in = DT_BF16;
  assert_false(product_schedule(&machines[AVX512], &s).pairs);
  p = product_schedule(&machines[AVX512_BF16], &s);
  assert_true(p.converted && p.pairs && p.pack); /* 64 rows deeper than the first cache */
  s.b_panels = true, s.b_panel = s.panel = 64;
  p = product_schedule(&machines[AVX512_BF16], &s);
  assert_true(p.pairs && !p.pack); /* panels are read as they lie */
  s.tb = true, s.b_panels = false, s.panel = 0;
  assert_true(product_schedule(&machines[AVX512_BF16], &s).pack);
  s.in = DT_F16;
  assert_false(product_schedule(&machines[AVX512_BF16], &s).pairs);
}

static void check_product(const VectorMachine *m, const ProductShape *s) {
  ProductSchedule p = product_schedule(m, s);
  int size = dtype_size(p.dt), lanes = machine_lanes(m, size);
  int64_t tall = product_tallest(&p), deep = p.chain;
  assert_true(p.low * p.rows + (p.tiles - p.low) * (p.rows + 1) == s->m); /* every row once */
  assert_true(p.np * p.nr >= s->n && (p.np - 1) * p.nr < s->n); /* the last one is a tail */
  assert_true(p.nr % lanes == 0 || s->panel);
  /* sums, a register for each of B's columns, and one for A's number */
  int64_t vectors = (p.nr + lanes - 1) / lanes;
  assert_true(tall * vectors + vectors + 1 <= registers_of(m));
  assert_true(tall <= A_STRIDE);
  assert_true(deep > 0 && deep <= DEPTH && deep <= s->k);
  assert_true(p.block >= 1 && p.group >= 1 && p.group <= p.np);
  /* several panels are a group only while they stay in the second cache */
  assert_true(p.group == 1 || p.group * p.nr * deep * size <= m->cache.l2);
  int64_t packed = p.pack_a || p.converted
                       ? (p.convert_tile ? 1 : p.block) * A_STRIDE * size *
                             (p.pack_a ? product_packed_depth(&p) : product_steps(&p, deep))
                       : 0;
  assert_true(packed <= 2 << 20);
  assert_true(!p.pack_first || p.pack);
  assert_true(!(p.pack_a && p.converted));
  assert_true(!p.convert_tile || (p.converted && p.group == p.np && p.k <= DEPTH));
  assert_true(!p.prefetch || (p.prefetch >= tall && p.chain / p.prefetch >= 1));
  assert_true(p.split == SERIAL || p.units == s->batch * p.np * p.tiles);
  assert_true((p.split == SERIAL) == (p.units == 1));
  assert_true(!p.partial || s->epilogue);
}

static void covers_every_shape(void **state) {
  static const Dtype dtypes[] = {DT_F32, DT_F64, DT_BF16, DT_U8, DT_I64};
  unsigned draw = 1;
  for (int i = 0; i < EXTENTS; i++)
    for (int j = 0; j < EXTENTS; j++)
      for (int l = 0; l < EXTENTS; l++) {
        draw = draw * 1664525u + 1013904223u; /* Numerical Recipes */
        ProductShape s = {.batch = draw >> 28 ? 1 : 12,
                          .m = extents[i],
                          .n = extents[j],
                          .k = extents[l],
                          .ta = draw >> 16 & 1,
                          .tb = draw >> 17 & 1,
                          .epilogue = draw >> 18 & 1,
                          .in = dtypes[(draw >> 20) % 5]};
        for (int m = 0; m < MACHINES; m++) check_product(&machines[m], &s);
      }
}

/* ---- a device ---- */

static GridProductSchedule on_grid(int64_t m, int64_t n, int64_t k, Dtype in, bool tensor) {
  GridProductShape s = {.batch = 1,
                        .m = m,
                        .n = n,
                        .k = k,
                        .a_row = k,
                        .b_row = n,
                        .in = in,
                        .tensor = tensor,
                        .async = true};
  return grid_product_schedule(&grid, &s);
}

static void decides_blocks(void **state) {
  GridProductSchedule p = on_grid(256, 50257, 768, DT_F32, false);
  assert_true(p.bm == 64 && p.bn == 128 && p.tm == 8 && p.tn == 8);  /* few loads for each fma */
  assert_true(p.stages == 3 && p.shared == 3 * grid_ring_bytes(&p)); /* two blocks side by side */
  assert_int_equal(p.blocks, 1572);
  assert_true(p.busy);
  p = on_grid(64, 256, 784, DT_F32,
              false); /* few: small tiles make more blocks, which wait little */
  assert_true(p.bm == 16 && p.bn == 8 && p.threads == 64);
  assert_int_equal(p.blocks, 128);
  assert_true(p.busy && p.stages == 8);
  assert_int_equal(on_grid(64, 512, 784, DT_F32, false).blocks, 256); /* two of a multiprocessor */
  p = on_grid(64, 1024, 784, DT_F32, false);
  assert_true(p.bm == 16 && p.bn == 32 && p.blocks == 128);
  p = on_grid(64, 256, 784, DT_I8, false); /* what is converted goes through registers */
  assert_true(p.bm == 32 && p.blocks == 16 && !p.stages);
  p = on_grid(4096, 4096, 4096, DT_BF16, true);
  assert_int_equal(p.bn, 256);
  assert_int_equal(p.wm, 64);
  assert_int_equal(p.threads, 256);
  assert_int_equal(p.shared, 98304);
  p = on_grid(256, 768, 50257, DT_BF16, true); /* rows of 50257 numbers begin anywhere */
  assert_int_equal(p.copy_a, 2);
  assert_int_equal(p.copy_b, 16);
  p = on_grid(8, 2048, 3000, DT_F32, false); /* few rows: a warp for each chain of 1,024 */
  assert_true(p.thin && p.blocks == 64 && p.threads == 96 && p.tm == 3);
  assert_false(on_grid(9, 2048, 3000, DT_F32, false).thin);
  p = on_grid(1, 2048, 3000, DT_BF16, true); /* on tensor cores for each part of the depth */
  assert_true(p.thin && p.parts == 10 && p.blocks == 64 && p.threads == 256 && p.bn == 32);
  assert_int_equal(grid_product_scratch(&p), 0);
  assert_true(on_grid(16, 32000, 3000, DT_F16, true).bn == 64); /* enough warps: wide loads */
  assert_false(on_grid(17, 2048, 3000, DT_BF16, true).thin);
  assert_false(on_grid(1, 2047, 3000, DT_BF16, true).thin); /* columns in pairs */
}

/* By warpgroups, two blocks share copies where the rows that fill the last pair cost no time. */
static void decides_pairs_of_blocks(void **state) {
  (void)state;
  GridProductSchedule w, p = on_grid(4096, 4096, 4096, DT_BF16, true);
  assert_true(wgmma_schedule(&p, &w) && w.cluster == 2 && w.blocks == 132 && w.bn == 256);
  p = on_grid(384, 64, 768, DT_BF16, true); /* a fourth tile finds a multiprocessor without work */
  assert_true(wgmma_schedule(&p, &w) && w.cluster == 2 && w.blocks == 4);
  p = on_grid(128, 768, 768, DT_BF16, true);
  assert_true(wgmma_schedule(&p, &w) && w.cluster == 1);
  p = on_grid(384, 11264, 768, DT_BF16, true); /* a fourth row of tiles would take a second wave */
  assert_true(wgmma_schedule(&p, &w) && w.cluster == 1 && wgmma_tiles(&w) == 132);
}

/* Rows of an A along the depth that begin anywhere come in phases where there are whole ones. */
static void takes_rows_in_phases(void **state) {
  (void)state;
  GridProductSchedule w, p = on_grid(4096, 768, 50257, DT_BF16, true);
  assert_true(wgmma_schedule(&p, &w) && w.phased);
  p = on_grid(4096, 768, 50256, DT_BF16, true);
  assert_true(wgmma_schedule(&p, &w) && !w.phased);
  p = on_grid(4097, 768, 50257, DT_BF16, true);
  assert_false(wgmma_schedule(&p, &w));
  p = on_grid(4096, 768, 50257, DT_F32, true);
  assert_false(wgmma_schedule(&p, &w));
  p = on_grid(64, 64, INT32_MAX / 8 + 2, DT_BF16, true); /* a map's coordinates are ints */
  assert_false(wgmma_schedule(&p, &w));
  p = on_grid(4096, 50257, 768, DT_BF16,
              true); /* across the depth they would be the order of sums */
  assert_false(wgmma_schedule(&p, &w));
}

/* Few tiles of much depth: blocks share it. The parts cover it, and leave none without an element.
 */
static void divides_the_depth(void **state) {
  (void)state;
  GridProductSchedule w, p = on_grid(256, 768, 3072, DT_BF16, true);
  assert_true(p.parts == 5 && p.part == 640 && p.bm == 64 && p.blocks == 240);
  assert_int_equal(grid_product_scratch(&p), 5 * 256 * 768 * 4);
  assert_true(wgmma_schedule(&p, &w) && w.parts == 5 && w.blocks == 120);
  assert_int_equal(on_grid(256, 768, 768, DT_BF16, true).parts, 1);    /* a launch takes longer */
  assert_int_equal(on_grid(4096, 4096, 4096, DT_BF16, true).parts, 1); /* tiles enough */
  p = on_grid(256, 768, 3072, DT_F32, false);                          /* the CPU's chains */
  assert_true(p.parts == 3 && p.part == 1024 && p.blocks == 576);
  assert_int_equal(on_grid(256, 768, 3072, DT_F64, false).parts, 1);  /* scratch is of f32 */
  assert_int_equal(on_grid(256, 768, 1024, DT_F32, false).parts, 1);  /* one chain */
  assert_int_equal(on_grid(4096, 768, 3072, DT_F32, false).parts, 1); /* too much scratch */
  GridProductShape s = {.batch = 1, .m = 64, .n = 64, .k = 4096, .a_row = 4096, .b_row = 64};
  s.in = DT_F32, s.whole = true;
  assert_int_equal(grid_product_schedule(&grid, &s).parts, 1);
  for (int64_t k = 1; k < 20000; k += 97)
    for (int i = 0; i < EXTENTS; i++) {
      p = on_grid(extents[i], 64, k, DT_BF16, true);
      assert_true(p.parts * p.part >= k && (p.parts - 1) * p.part < k);
      assert_true(p.parts == 1 || p.part % 64 == 0);
    }
}

/* A run decides the batch, the rows or the depth: for each of its extents there are blocks and
   scratch. */
static void divides_the_depth_of_a_run(void **state) {
  (void)state;
  enum { BATCH, ROWS, DEPTH_TOO, AXES };
  int divided = 0;
  for (int axis = 0; axis < AXES; axis++)
    for (int64_t bound = 1; bound < 6000; bound = bound * 5 / 3 + 7) {
      GridProductShape s = {.batch = 1, .m = 96, .n = 200, .k = 3000, .in = DT_BF16};
      int64_t *const of_run = axis == BATCH ? &s.batch : axis == ROWS ? &s.m : &s.k;
      s.tensor = s.varies = true;
      s.least_batch = 1, s.least_m = axis == ROWS ? 1 : s.m;
      *of_run = bound;
      s.a_row = s.k, s.b_row = s.n;
      const GridProductSchedule at_bound = grid_product_schedule(&grid, &s);
      s.varies = false;
      for (int64_t i = 1; i <= bound; i += 1 + i / 40) {
        *of_run = i;
        const GridProductSchedule p = grid_product_schedule(&grid, &s);
        assert_true(p.parts == 1 || p.parts <= at_bound.most);
        assert_true(grid_product_scratch(&p) <= grid_product_scratch(&at_bound));
        divided += p.parts > 1;
      }
    }
  assert_true(divided > 300);
}

static void grid_covers_every_shape(void **state) {
  for (int tensor = 0; tensor < 2; tensor++)
    for (int i = 0; i < EXTENTS; i++)
      for (int j = 0; j < EXTENTS; j++)
        for (int size = 0; size < 2; size++) {
          int64_t m = extents[i], n = extents[j];
          Dtype dt = tensor ? DT_BF16 : size ? DT_F64 : DT_F32;
          GridProductSchedule p = on_grid(m, n, 768, dt, tensor != 0);
          assert_true(p.blocks * p.bm * p.bn >= m * n * p.parts);
          assert_true(p.across * p.bn >= n && (p.across - 1) * p.bn < n);
          assert_true(p.shared <= grid.shared && p.threads <= 1024 && p.threads % grid.warp == 0);
          const int room = p.shared ? grid.shared : 48 << 10;
          assert_true(p.stages != 1 && p.stages * grid_ring_bytes(&p) <= room);
          /* threads' parts are the block's, and sums leave registers for operands */
          assert_true(p.threads * p.tm * p.tn == p.bm * p.bn);
          assert_true(p.tm * p.tn * dtype_size(p.dt) / 4 <= 128);
          assert_true(p.tn % p.side == 0);
          assert_true(m * dtype_size(dt) % p.copy_a == 0 || 768 * dtype_size(dt) % p.copy_a == 0);
          assert_true(n * dtype_size(dt) % p.copy_b == 0);
          GridProductSchedule w;
          if (!wgmma_schedule(&p, &w)) continue;
          assert_true(wgmma_tiles(&w) * w.bm * w.bn >= m * n && w.blocks <= wgmma_tiles(&w));
          assert_true(wgmma_tiles(&w) % w.cluster == 0 && w.blocks % w.cluster == 0);
        }
}

/* Tiles for tile registers: two registers of rows for one thread, or one for many threads, as many
   as rows fill, where the busiest then has less to do. */
static void shares_tile_registers(void **state) {
  VectorMachine amx = machines[AVX512_BF16];
  amx.amx = true;
  for (int i = 0; i < EXTENTS; i++)
    for (int j = 0; j < EXTENTS; j++)
      for (int nt = 1; nt <= 128; nt += nt < 4 ? 1 : 31) {
        ProductShape s = {.batch = 1, .m = extents[i], .n = extents[j], .k = 512, .in = DT_BF16};
        ProductSchedule p = product_schedule(&amx, &s);
        const int64_t tiles = product_tiles(&p, nt), tall = p.tiles * 2 * AMX_ROWS;
        assert_true(ceil_div(p.m, tiles) <= (tiles == p.tiles ? 2 : 1) * AMX_ROWS);
        assert_true(p.np * tall * p.nr >= p.m * p.n && tiles <= product_most_tiles(&p));
        if (nt == 1) assert_true(tiles == p.tiles);
        const double balance = product_balance(&p, nt);
        assert_true(balance > 0 && balance < 1 + 1e-9);
      }
  ProductShape s = {.batch = 1, .m = 256, .n = 768, .k = 3072, .in = DT_BF16};
  ProductSchedule p = product_schedule(&amx, &s);
  assert_int_equal(product_tiles(&p, 8), 8);   /* 12 panels: 12 units of 32 rows each */
  assert_int_equal(product_tiles(&p, 64), 16); /* three of 16 rows, not two of 32 */
  assert_true(product_balance(&p, 64) > 0.99);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shares_tile_registers),
      cmocka_unit_test(divides_the_depth),
      cmocka_unit_test(divides_the_depth_of_a_run),
      cmocka_unit_test(decides_tiles),
      cmocka_unit_test(decides_units),
      cmocka_unit_test(decides_packing),
      cmocka_unit_test(decides_how_halves_are_read),
      cmocka_unit_test(decides_on_deep_rows),
      cmocka_unit_test(shares_evenly),
      cmocka_unit_test(shares_narrow_panels),
      cmocka_unit_test(covers_every_shape),
      cmocka_unit_test(decides_blocks),
      cmocka_unit_test(decides_pairs_of_blocks),
      cmocka_unit_test(takes_rows_in_phases),
      cmocka_unit_test(grid_covers_every_shape),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
