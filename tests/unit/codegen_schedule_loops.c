/* Schedules of reductions, element-wise loops and attention: decisions for several shapes, and what
   holds for all: units cover the work, a row's or a column's sums keep their order on every
   machine, blocks of a device fit. */
#include "codegen/schedule/attention.h"
#include "codegen/schedule/cumsum.h"
#include "codegen/schedule/map.h"
#include "codegen/schedule/reduce.h"
#include "codegen/schedule/scatter.h"
#include "tests/unit/schedule_rig.h"

#include <string.h>

static RowsSchedule rows(int64_t n, int64_t elements, bool independent) {
  RowsShape s = {.rows = n, .elements = elements, .work = n * elements, .independent = independent};
  return rows_schedule(&s);
}

static void decides_rows(void **state) {
  RowsSchedule r = rows(64, 768, true);
  assert_true(r.lanes && !r.split);
  assert_int_equal(r.units, 64);
  assert_false(rows(64, 10, true).lanes);
  assert_int_equal(rows(64, 10, true).units, 1); /* too little work */
  r = rows(1, 1 << 20, true);
  assert_true(r.split); /* one long row: its chunks are units */
  assert_int_equal(r.units, 64);
  assert_false(rows(1, 1 << 20, false).split); /* a softmax has to see all of it first */
  assert_false(rows(16, 1 << 20, true).split); /* rows enough */
  RowsShape passes = {
      .rows = 1, .elements = 1 << 17, .work = 1 << 17, .may_wait = true, .full = true};
  assert_false(rows_schedule(&passes).split); /* its exps stay in the cache of a core */
  passes.elements++;
  assert_true(rows_schedule(&passes).split && rows_schedule(&passes).passes);
  assert_true(rows_schedule(&passes).apply);
  passes.may_wait = false; /* a cross entropy with its gradient */
  assert_false(rows_schedule(&passes).split);
  RowsShape place = {.rows = 1, .elements = ROW_CHUNK + 1, .one_search = true, .may_wait = true};
  assert_true(rows_schedule(&place).split && !rows_schedule(&place).apply); /* an argmax */
  RowsShape waits = {.rows = 1, .elements = 1 << 20, .work = 1 << 20, .one_pass = true};
  r = rows_schedule(&waits); /* a norm and what is scaled by it */
  assert_true(r.split && r.apply);
  assert_int_equal(r.units, 64);
  RowsShape s = {.rows = 1, .elements = 1 << 20, .work = 1 << 20, .independent = true, .panels = 1};
  assert_true(rows_schedule(&s).copied);
  s.full = true; /* results lie in panels, too: no chunk of them is a slice */
  assert_false(rows_schedule(&s).split);
}

static GridRowsSchedule grid_rows(int64_t n, int64_t elements, bool independent) {
  GridRowsShape s = {.rows = n,
                     .elements = elements,
                     .independent = independent,
                     .one_pass = independent,
                     .reductions = 2,
                     .unroll = 16};
  return grid_rows_schedule(&grid, &s);
}

static void decides_groups_of_threads(void **state) {
  assert_int_equal(grid_rows(100, 63, false).group, GROUP_THREAD);
  assert_int_equal(grid_rows(100, 64, false).group, GROUP_WARP);
  assert_int_equal(grid_rows(100, 4096, true).group, GROUP_WARP);
  assert_int_equal(grid_rows(100, 4097, true).group, GROUP_BLOCKS);
  assert_int_equal(grid_rows(100, ROW_CHUNK, true).scratch, 0); /* a block does a row */
  assert_int_equal(grid_rows(100, ROW_CHUNK, false).group, GROUP_WARP);
  assert_int_equal(grid_rows(100, ROW_CHUNK + 1, false).group, GROUP_BLOCK);
  assert_int_equal(grid_rows(100, ROW_CHUNK + 1, false).blocks, 100);
  assert_int_equal(grid_rows(128, ROW_CHUNK + 1, true).group, GROUP_BLOCK); /* rows enough */
  GridRowsSchedule r = grid_rows(3, 1 << 20, true); /* few long rows: their chunks are blocks */
  assert_int_equal(r.group, GROUP_BLOCKS);
  assert_int_equal(r.blocks, 3 * 64);
  assert_int_equal(r.scratch, 2 * 3 * 64 * 8);
  assert_int_equal(r.tile, 2048);
  GridRowsShape s = {.rows = 1, .elements = 1 << 20, .one_pass = true, .reductions = 2};
  s.unroll = 16;
  r = grid_rows_schedule(&grid, &s); /* what waits for the sums has a launch of its own */
  assert_true(r.group == GROUP_BLOCKS && r.apply);
  assert_int_equal(r.sums, 2 * 64 * 8);
  assert_int_equal(r.scratch, 2 * 65 * 8);
  s.independent = true;
  s.reductions = 17;
  assert_int_equal(grid_rows_schedule(&grid, &s).group, GROUP_BLOCK); /* no room for their tiles */
  GridRowsShape passes = {.rows = 3, .elements = ROW_CHUNK, .reductions = 2, .unroll = 16};
  passes.may_wait = passes.full = true;
  assert_int_equal(grid_rows_schedule(&grid, &passes).group, GROUP_WARP); /* a softmax */
  passes.elements++;
  r = grid_rows_schedule(&grid, &passes);
  assert_true(r.group == GROUP_BLOCKS && r.passes && r.apply);
  assert_int_equal(r.blocks, 6);
  assert_int_equal(r.scratch, r.sums + 2 * 3 * 8);
  passes.full = false; /* a cross entropy: its last pass gives its results */
  assert_false(grid_rows_schedule(&grid, &passes).apply);
  passes.may_wait = false; /* it and its gradient */
  assert_int_equal(grid_rows_schedule(&grid, &passes).group, GROUP_BLOCK);
}

static GridColumnsSchedule grid_columns(int64_t n, int64_t columns, bool chunked, bool along,
                                        int size) {
  GridColumnsShape s = {
      .rows = n, .columns = columns, .chunked = chunked, .along = along, .size = size};
  return grid_columns_schedule(&grid, &s);
}

static void decides_tiles(void **state) {
  GridColumnsSchedule c = grid_columns(32, 256, true, false, 4); /* a thread does a column */
  assert_true(!c.tiled && !c.split);
  assert_int_equal(c.blocks, 4);
  assert_true(grid_columns(64, 256, true, false, 4).tiled);
  assert_false(grid_columns(64, 1 << 14, true, false, 4).tiled); /* columns enough */
  c = grid_columns(4096, 768, true, false, 4); /* a bias: blocks do chunks of 32 columns */
  assert_true(c.tiled && c.split);
  assert_int_equal(c.width, 32);
  assert_int_equal(c.depth, 128);
  assert_int_equal(c.blocks, 24 * 16);
  assert_int_equal(c.parts, 16);
  assert_int_equal(c.combine_blocks, 96);
  assert_int_equal(c.scratch, 16 * 768 * 4);
  c = grid_columns(4096, 768, true, false, 8); /* of f64 a tile has half the rows */
  assert_int_equal(c.depth, 64);
  assert_false(grid_columns(4096, 8192, true, false, 4).split); /* columns enough */
  c = grid_columns(4096, 4096, true, false,
                   4); /* a block of each multiprocessor: warps do chunks */
  assert_true(c.tiled && !c.split);
  assert_int_equal(c.warps, 16);
  assert_int_equal(c.blocks, 128);
  assert_int_equal(c.scratch, 0);
  assert_true(grid_columns(4096, 2048, true, false, 4).split); /* most multiprocessors would wait */
  assert_false(
      grid_columns(1000, 4096, true, false, 4).split);       /* too few chunks for another launch */
  assert_false(grid_columns(600, 33, true, false, 4).split); /* too little work */
  c = grid_columns(32 * 56 * 56, 64, true, true, 4); /* channels: threads go along the image */
  assert_true(c.along && c.split);
  assert_int_equal(c.blocks, 2 * 392);
  c = grid_columns(49, 512, true, true, 4); /* narrow blocks, for every other multiprocessor */
  assert_true(c.tiled && !c.split);
  assert_int_equal(c.blocks, 64);
  assert_int_equal(c.depth, 64);
  c = grid_columns(256, 768, true, false, 4); /* ... whose rows are one tile */
  assert_true(c.width == 8 && c.depth == 256 && c.blocks == 96);
  c = grid_columns(256, 2000, true, false, 4); /* 250 of 8 would take turns */
  assert_true(c.width == 16 && c.blocks == 125);
  c = grid_columns(1 << 20, 3, false, false, 4); /* a product has no chunks */
  assert_true(c.tiled && !c.split);
  assert_int_equal(c.width, 3);
}

static void decides_columns(void **state) {
  ColumnsShape s = {.rows = 1 << 16, .columns = 10, .outer = 1, .work = 10 << 16, .chunked = true};
  ColumnsSchedule c = columns_schedule(&s);
  assert_true(c.split); /* few columns of many rows */
  assert_int_equal(c.chunks, 256);
  assert_int_equal(c.units, 256);
  s.columns = 768, s.rows = 256, s.work = 768 * 256;
  c = columns_schedule(&s);
  assert_false(c.split);
  assert_int_equal(c.chunks, 1);
  assert_int_equal(c.units, 12);
  s.chunked = false, s.columns = 10, s.rows = 1 << 16; /* a largest has no chunks to add up */
  assert_false(columns_schedule(&s).split);
}

static void decides_cumsums(void) {
  CumsumShape one = {.outer = 1, .elements = 1 << 20, .inner = 1}; /* its chunks are lines */
  GridCumsumSchedule c = grid_cumsum_schedule(&grid, &one, 4);
  assert_true(c.split && c.along);
  assert_int_equal(c.blocks, (1 << 20) / SCAN_CHUNK / c.width);
  assert_int_equal(c.scratch, (1 << 20) / SCAN_CHUNK * 4);
  assert_true(cumsum_schedule(&one).split);
  assert_int_equal(cumsum_schedule(&one).units, (1 << 20) / SCAN_CHUNK / SCAN_GROUP);
  CumsumShape side = {.outer = 2, .elements = 1 << 20, .inner = 3}; /* a row of a tile is 3 lines */
  c = grid_cumsum_schedule(&grid, &side, 4);
  assert_true(c.split && !c.along && c.width % 3 == 0);
  assert_int_equal(cumsum_schedule(&side).side, 4);
  CumsumShape many = {.outer = 1 << 16, .elements = 100, .inner = 768};
  c = grid_cumsum_schedule(&grid, &many, 4);
  assert_false(c.along || c.split);
  assert_int_equal(c.width, 32);
  assert_int_equal(c.depth, 128);
  assert_false(cumsum_schedule(&many).split);
  assert_int_equal(cumsum_schedule(&many).units, (1 << 16) * 12);
  CumsumShape few = {
      .outer = 256, .elements = 100, .inner = 1}; /* fewer a block, for more blocks */
  assert_int_equal(grid_cumsum_schedule(&grid, &few, 4).width, 2);
}

/* For how many ids of which tables a processor sorts them: the order takes few bytes beside the
   rows, places of a chunk have 16 bits, and many threads have equal parts. */
static void decides_on_sorted_ids(void **state) {
  assert_int_equal(scatter_schedule(1000, 50000, 8).runs, 0);      /* few */
  assert_int_equal(scatter_schedule(200000, 50000, 4096).runs, 0); /* looking takes no time */
  assert_int_equal(scatter_schedule(200000, 50000, 8).runs, 0); /* the order is large beside them */
  assert_true(scatter_schedule(200000, 50000, 64).runs > 0);
  assert_int_equal(scatter_schedule(200000, 1, 8).runs, 0);
  for (int64_t ids = 8192; ids < INT64_C(1) << 33; ids = ids * 3 + 1)
    for (int64_t rows = 2; rows < 1 << 30; rows = rows * 5 + 1)
      for (int64_t row = 2; row < 5000; row = row * 2 + 1) {
        const ScatterSchedule s = scatter_schedule(ids, rows, row);
        if (!s.runs) continue;
        assert_true(s.runs << s.shift >= rows && (s.runs - 1) << s.shift < rows);
        assert_true(s.chunk <= UINT16_MAX && s.runs <= 1024);
        assert_true(scatter_scratch(&s) * 64 <= (uint64_t)(ids + rows) * (uint64_t)row * 4);
        if (s.runs > 512) assert_true(scatter_balance(&s, 64) > 0.88);
      }
}

static void decides_orders(void **state) {
  GridSortSchedule s = grid_sort_schedule(&grid, 3, 43);
  assert_int_equal(s.tile, 64);
  assert_int_equal(s.merges, 0);
  assert_int_equal(s.blocks, 3);
  s = grid_sort_schedule(&grid, 1, 50000); /* one long row: its tiles are blocks */
  assert_int_equal(s.blocks, 25);
  assert_int_equal(s.merges, 5);
  decides_cumsums();
  GridScatterShape few = {.tables = 1, .ids = 256, .rows = 1024, .row = 768};
  assert_false(grid_scatter_schedule(&grid, &few).sorted);
  few.rows = 50257; /* so many warps would look through them longer than a sort takes */
  assert_true(grid_scatter_schedule(&grid, &few).sorted);
  GridScatterShape many = {.tables = 1, .ids = 4096, .rows = 50257, .row = 768};
  GridScatterSchedule d = grid_scatter_schedule(&grid, &many);
  assert_true(d.sorted);
  assert_int_equal(d.sort.merges, 1);
  assert_int_equal(d.scratch, 4 * (2 * 4096 + 50258));
}

static void orders_cover_every_shape(void **state) {
  for (int i = 0; i < EXTENTS; i++)
    for (int j = 0; j < EXTENTS; j++) {
      int64_t n = extents[i], elements = extents[j];
      GridSortSchedule s = grid_sort_schedule(&grid, n, elements);
      assert_true(s.tiles * s.tile >= elements && (s.tiles - 1) * s.tile < elements);
      assert_true(((int64_t)s.tile << s.merges) >= elements && s.threads <= s.tile);
      assert_int_equal(s.blocks, n * s.tiles);
      for (int size = 4; size <= 8; size += 4)
        for (int64_t inner = 1; inner <= 64; inner *= 4) {
          CumsumShape lines = {.outer = n, .elements = elements, .inner = inner};
          GridCumsumSchedule c = grid_cumsum_schedule(&grid, &lines, size);
          const int64_t all = n * inner * (c.split ? cumsum_chunks(elements) : 1);
          assert_true(c.blocks * c.width >= all && (c.blocks - 1) * c.width < all);
          assert_int_equal(c.scratch, c.split ? all * size : 0);
          assert_true(c.depth > 0 && c.depth * (c.width | 1) * size <= 17 << 10);
        }
      GridScatterShape shape = {.tables = 3, .ids = n, .rows = elements, .row = 5};
      GridScatterSchedule d = grid_scatter_schedule(&grid, &shape);
      assert_true(!d.sorted || d.scratch >= d.order * (d.sort.merges ? 2 : 1) + d.starts);
    }
}

static void decides_maps(void **state) {
  MapShape s = {.outer = 1, .inner = 1 << 20, .work = 1 << 20};
  assert_int_equal(map_schedule(&s, true).split, MAP_ELEMENTS);
  assert_int_equal(map_schedule(&s, true).units, (1 << 20) / MAP_BLOCK);
  s.outer = 64, s.inner = 256;
  assert_int_equal(map_schedule(&s, false).split, MAP_ROWS);
  assert_int_equal(map_schedule(&s, false).units, 64);
  s.outer = 3, s.inner = 1 << 16;
  assert_int_equal(map_schedule(&s, false).split, MAP_COLUMNS);
  s.work = 100;
  assert_int_equal(map_schedule(&s, false).split, MAP_SERIAL);
  assert_int_equal(map_schedule(&s, false).units, 1);
}

static void decides_vectors(void **state) {
  assert_int_equal(grid_width(0, 4, 784), 4);
  assert_int_equal(grid_width(0, 2, 784), 8);
  assert_int_equal(grid_width(0, 4, 10), 2);
  assert_int_equal(grid_width(0, 4, 7), 1);
  assert_int_equal(grid_width(8, 4, 784), 2); /* eight functions: two elements at a time */
  assert_int_equal(grid_unroll(0, 16), 16);
  assert_int_equal(grid_unroll(4, 16), 4);
  assert_int_equal(grid_unroll(100, 16), 1);
}

static void covers_every_shape(void **state) {
  for (int i = 0; i < EXTENTS; i++)
    for (int j = 0; j < EXTENTS; j++) {
      int64_t n = extents[i], elements = extents[j];
      RowsSchedule r = rows(n, elements, true);
      assert_true(r.chunks * ROW_CHUNK >= elements && (r.chunks - 1) * ROW_CHUNK < elements);
      assert_true(r.split ? r.units == n * r.chunks : r.units == n || r.units == 1);
      for (int independent = 0; independent < 2; independent++) {
        GridRowsSchedule w = grid_rows(n, elements, independent != 0);
        int64_t per_row = w.group == GROUP_THREAD ? 1
                          : w.group == GROUP_WARP ? grid.warp
                                                  : w.threads;
        if (w.group == GROUP_BLOCKS) {
          per_row *= w.chunks;
          assert_true(independent && w.chunks == r.chunks); /* the same sums on both */
          assert_true(w.tile > 0 && ROW_CHUNK % w.tile == 0 && w.tile % (2 * w.threads) == 0);
          assert_true(w.chunks == 1 || w.scratch >= (uint64_t)(2 * n * w.chunks) * sizeof(double));
        }
        assert_true(w.blocks * w.threads >= n * per_row);
        assert_true((w.blocks - 1) * w.threads < n * per_row && w.threads <= 1024);
      }
      for (int chunked = 0; chunked < 2; chunked++) {
        ColumnsShape s = {.rows = n,
                          .columns = elements,
                          .outer = 1,
                          .work = n * elements,
                          .chunked = chunked != 0};
        ColumnsSchedule c = columns_schedule(&s);
        assert_true(c.blocks * COLUMN_BLOCK >= elements);
        assert_true(c.width <= COLUMN_BLOCK && c.blocks * c.width >= elements);
        assert_true(c.chunks == 1 || c.chunks * COL_CHUNK >= n);
        assert_true(!c.split || (chunked && c.units == c.chunks * c.all_units));
        for (int size = 4; size <= 8; size += 4)
          for (int along = 0; along < 2; along++) {
            GridColumnsSchedule g = grid_columns(n, elements, chunked, along, size);
            assert_int_equal(g.chunks, c.chunks); /* the same sums on both */
            assert_true(g.column_blocks * g.width >= elements);
            assert_true((g.column_blocks - 1) * g.width < elements && g.threads <= 1024);
            assert_int_equal(g.blocks, g.column_blocks * (g.split ? g.chunks : 1));
            assert_true(!g.tiled ||
                        (g.width <= grid.warp && g.depth * (g.width | 1) * size <= 17 << 10));
            assert_true(!g.tiled || (g.depth > 0 && COL_CHUNK % g.depth == 0));
            assert_true(!g.split || (g.tiled && g.chunks > 1 && g.parts > 0 &&
                                     g.combine_blocks * g.combine_width >= elements));
            assert_true(!g.split || g.scratch >= (uint64_t)(g.chunks * elements * size));
          }
      }
      MapShape s = {.outer = n, .inner = elements, .work = n * elements};
      for (int one = 0; one < 2; one++) {
        MapSchedule m = map_schedule(&s, one);
        assert_true(m.units >= 1);
        assert_true(m.split != MAP_ROWS || m.units == n);
        assert_true((m.split != MAP_ELEMENTS && m.split != MAP_COLUMNS) ||
                    m.units * MAP_BLOCK >= elements);
      }
      for (int size = 1; size <= 8; size *= 2) {
        int v = grid_width(0, size, elements);
        assert_true(elements % v == 0 && v * size <= 16);
      }
    }
}

static AttentionShape attention(Dtype dt, int64_t t, int64_t d, bool grad) {
  return (AttentionShape){.grad = grad,
                          .in = dt,
                          .compute = dtype_sum(dt),
                          .heads = 12,
                          .group = 3,
                          .t = t,
                          .s = t,
                          .d = d,
                          .e = d};
}

static void decides_attention(void **state) {
  AttentionShape s = attention(DT_F32, 1024, 64, false);
  AttentionSchedule a = attention_schedule(&machines[AVX512], &s, UINT64_MAX);
  assert_int_equal(a.block, 64);
  assert_int_equal(a.all_units, 12 * 16); /* blocks of queries of each head */
  assert_int_equal(a.units, 4 * 12 * 16); /* which threads may divide in four */
  assert_int_equal(a.nr, 64);
  assert_int_equal(a.together, 6); /* blocks of 32 KiB in a quarter of 1 MiB: whole row panels */
  s.t = 200;
  assert_int_equal(attention_schedule(&machines[AVX512], &s, UINT64_MAX).together, 4); /* all */
  s.t = 1024;
  s.grad = true;
  a = attention_schedule(&machines[AVX512], &s, UINT64_MAX);
  assert_true(a.shared);
  assert_int_equal(a.parts, 4); /* heads of keys */
  assert_int_equal(a.units, 4 * 16 + 12 * 16);
  assert_int_equal(attention_schedule(&machines[AVX512], &s, 0).units, 1); /* little work */
  s = attention(DT_F64, 1024, 64, false);
  assert_int_equal(attention_tile(&s).block, 32);
  s = attention(DT_F32, 1024, 4096, false);
  assert_true(attention_tile(&s).long_heads);
  GridAttentionSchedule g = grid_attention_schedule(&grid, &s, true);
  assert_int_equal(g.query_parts, 16); /* blocks of threads share 4096 columns */
  assert_false(g.tensor);              /* f32 stays exact */
}

static void decides_attention_on_tensor_cores(void **state) {
  AttentionShape s = attention(DT_BF16, 1024, 64, false);
  GridAttentionSchedule g = grid_attention_schedule(&grid, &s, true);
  assert_true(g.tensor && g.query_parts == 1);
  assert_int_equal(g.rows, 64); /* 96 blocks of 128 queries would leave multiprocessors idle */
  s.heads = 48;
  g = grid_attention_schedule(&grid, &s, true);
  assert_int_equal(g.rows, 128); /* two times 16 of them a warp: half the reads of keys */
  assert_int_equal(g.step, 64);
  assert_int_equal(g.copy_d, 16);
  assert_false(grid_attention_schedule(&grid, &s, false).tensor);
  /* results are scaled behind each step, which no number of heads, queries and keys changes */
  for (int64_t d = 16; d <= 256; d += 24)
    for (int64_t heads = 1; heads <= 256; heads *= 16)
      for (int64_t t = 1; t <= 4096; t *= 8) {
        AttentionShape other = attention(DT_BF16, t, d, false), one = other;
        other.heads = heads, other.group = 1, one.heads = one.group = 1, one.t = one.s = 64;
        g = grid_attention_schedule(&grid, &other, true);
        assert_int_equal(g.step, grid_attention_schedule(&grid, &one, true).step);
        if (d > 128) continue; /* by warpgroups, and so alike for sm_90a */
        GridAttentionSchedule alike = g;
        assert_true(grid_attention_alike(&grid, &other, &alike) == (g.step != WGMMA_STEP));
        assert_int_equal(alike.step, WGMMA_STEP);
      }
  s = attention(DT_F16, 1024, 257, false);
  assert_false(grid_attention_schedule(&grid, &s, true).tensor); /* too long */
  s = attention(DT_F16, 1024, 33, true);
  assert_int_equal(grid_attention_schedule(&grid, &s, true).copy_d, 2);
}

/* Off tensor cores: fewer of them a block where the others are not there, or find multiprocessors.
 */
static void decides_queries_of_a_block(void **state) {
  (void)state;
  AttentionShape s = attention(DT_F32, 1024, 64, false);
  assert_int_equal(grid_attention_schedule(&grid, &s, true).rows, 64);
  s.heads = 5;
  GridAttentionSchedule g = grid_attention_schedule(&grid, &s, true);
  assert_true(g.rows == 64 && g.blocks == 80); /* 160 of 32 would be more than multiprocessors */
  s.heads = 2;
  g = grid_attention_schedule(&grid, &s, true);
  assert_true(g.rows == 16 && g.blocks == 128 && g.key_rows == 64);
  s.heads = 4;
  g = grid_attention_schedule(&grid, &s, true);
  assert_true(g.rows == 32 && g.blocks == 128 && g.step == 64);
  s.heads = 1000, s.t = 17;
  assert_int_equal(grid_attention_schedule(&grid, &s, true).rows, 32);
  s.t = 1;
  assert_int_equal(grid_attention_schedule(&grid, &s, true).rows, 16);
}

static void decides_attention_of_few_queries(void **state) {
  (void)state;
  SplitAttentionSchedule a;
  AttentionShape s = attention(DT_F32, 4096, 64, false);
  assert_false(split_attention_schedule(&grid, &s, &a)); /* many queries */
  s.t = 1;
  assert_true(split_attention_schedule(&grid, &s, &a));
  assert_int_equal(a.blocks, 4 * 64); /* heads of keys, blocks of 64 keys */
  assert_int_equal(a.scratch,
                   12 * (64 * (64 + 3) + 1) * 4 + 5 * 4); /* a count for each head, and one */
  s.in = DT_BF16;
  assert_true(split_attention_schedule(&grid, &s, &a) && a.copy == 8);
  s.t = 6; /* scratch of more than a quarter of keys and values */
  assert_false(split_attention_schedule(&grid, &s, &a));
  s.in = DT_F16, s.t = 20, s.group = 2; /* each run decides: of 8 queries at most */
  assert_true(split_attention_most(&grid, &s, true, false, &a) && a.t * a.group <= SPLIT_ROWS);
  const int64_t most = a.t;
  for (s.t = 1; s.t <= 8; s.t++)
    for (s.s = 1; s.s <= 4096; s.s += 13) {
      SplitAttentionSchedule own;
      if (split_attention_schedule(&grid, &s, &own))
        assert_true(s.t <= most && own.scratch <= a.scratch);
    }
  s.t = s.s = 4096; /* of a sequence with itself, few queries have few keys */
  assert_false(split_attention_most(&grid, &s, true, true, &a));
  s.group = 3, s.t = 1, s.s = 256;
  assert_true(split_attention_schedule(&grid, &s, &a));
  s.s = 128;
  assert_false(split_attention_schedule(&grid, &s, &a)); /* few steps */
  s = attention(DT_F32, 4096, 64, true), s.t = 1;
  assert_false(split_attention_schedule(&grid, &s, &a)); /* gradients */
}

static void decides_attention_by_warpgroups(void **state) {
  (void)state;
  WgmmaAttentionSchedule w;
  AttentionShape s = attention(DT_BF16, 1024, 64, true);
  assert_true(wgmma_attention_schedule(&grid, &s, false, &w));
  assert_true(w.groups == 1 && w.resident == 2 &&
              w.blocks == 12 * 16); /* 96 blocks of 128 are few */
  s.heads = 48;
  assert_true(wgmma_attention_schedule(&grid, &s, false, &w) && w.groups == 2);
  s = attention(DT_BF16, 64, 128, true); /* few blocks, but sums fill the registers of one group */
  assert_true(wgmma_attention_schedule(&grid, &s, false, &w) && w.groups == 1);
  assert_true(wgmma_attention_schedule(&grid, &s, true, &w) && w.groups == 1 && w.resident == 1);
  s = attention(DT_BF16, 2048, 128, true), s.heads = 32, s.group = 4; /* 128 blocks of 128 keys */
  assert_true(wgmma_attention_schedule(&grid, &s, true, &w) && w.groups == 2);
  s.causal = true; /* the longest block has twice the work of the mean */
  assert_true(wgmma_attention_schedule(&grid, &s, true, &w) && w.groups == 1 && w.resident == 1);
  s.heads = 64; /* blocks enough for a mean */
  assert_true(wgmma_attention_schedule(&grid, &s, true, &w) && w.groups == 2);
  s = attention(DT_BF16, 63, 64, true), assert_false(wgmma_attention_schedule(&grid, &s, true, &w));
  s = attention(DT_F32, 128, 64, true), assert_false(wgmma_attention_schedule(&grid, &s, true, &w));
  s = attention(DT_F16, 128, 32, true), assert_false(wgmma_attention_schedule(&grid, &s, true, &w));
  s = attention(DT_F16, 128, 136, true),
  assert_false(wgmma_attention_schedule(&grid, &s, true, &w));
  s = attention(DT_F16, 4096, 64, false); /* as many heads as 16 MB hold keys and values of */
  s.heads = 60;
  assert_int_equal(attention_band(&s, false), 16);
}

/* Every unit is one thread's; threads that divide the heads have equal parts, whatever the mask;
   and many threads have work for nearly all of them. */
static void threads_share_attention(void **state) {
  static const int threads[] = {1, 2, 3, 4, 7, 12, 64, 100, 1000};
  for (int i = 0; i < EXTENTS; i++)
    for (int kind = 0; kind < 4; kind++) {
      AttentionShape s = attention(DT_F32, extents[i], 64, kind & 1);
      s.causal = kind & 2;
      AttentionSchedule a = attention_schedule(&machines[AVX512], &s, UINT64_MAX);
      int64_t heads = s.grad ? 4 : 12, key_blocks = a.key_blocks, queries = 3 * a.blocks;
      for (size_t n = 0; n < sizeof threads / sizeof *threads; n++) {
        int nt = threads[n];
        bool whole = attention_grad_whole(nt, 4, key_blocks, queries);
        int64_t units = !s.grad ? 12 * a.blocks : whole ? 4 : a.all_units, last = 0;
        for (int t = 0; t <= nt; t++) {
          int64_t at = s.grad ? attention_grad_share(t, nt, 4, key_blocks, queries, 3, s.causal)
                              : attention_share(t, nt, 12, a.blocks, s.causal);
          assert_true(at >= last && (t || at == 0));
          if (!s.grad) { /* threads that divide the heads own the same rows of any parts */
            const long parts = attention_parts(nt, 12, s.t, a.block, a.finest, s.causal);
            const long blocks = ceil_div(s.t, a.block / parts);
            assert_true(parts <= a.finest && (nt > 1 || parts == 1));
            if (heads % nt == 0)
              assert_int_equal(attention_share(t, nt, 12, blocks, s.causal), 12 * blocks * t / nt);
          }
          if (heads % nt == 0) assert_int_equal(at, units * t / nt);
          last = at;
        }
        assert_int_equal(last, units);
        double balance = attention_balance(&a, nt);
        assert_true(balance > 0 && balance <= 1);
        if (heads % nt == 0) assert_true(balance == 1);
      }
    }
  AttentionShape s = attention(DT_F32, 1024, 64, true);
  for (int causal = 0; causal < 2; causal++) {
    s.causal = causal;
    s.grad = false;
    AttentionSchedule a = attention_schedule(&machines[AVX512], &s, UINT64_MAX);
    assert_true(attention_balance(&a, 16) > 0.95 && attention_balance(&a, 64) > 0.88);
    s.grad = true; /* 5 / 7, as the scores are computed twice, where few heads would give 4 / 64 */
    a = attention_schedule(&machines[AVX512], &s, UINT64_MAX);
    assert_true(attention_balance(&a, 16) > 0.6 && attention_balance(&a, 64) > 0.4);
  }
}

static void attention_covers_every_shape(void **state) {
  for (int i = 0; i < EXTENTS; i++)
    for (int j = 0; j < EXTENTS; j++)
      for (int kind = 0; kind < 4; kind++) {
        AttentionShape s = attention(kind & 1 ? DT_F64 : DT_F32, extents[i], extents[j], kind & 2);
        AttentionTile tile = attention_tile(&s);
        assert_true((tile.block & (tile.block - 1)) == 0 && tile.block >= 16);
        for (int m = 0; m < MACHINES; m++) {
          AttentionSchedule a = attention_schedule(&machines[m], &s, UINT64_MAX);
          assert_int_equal(a.block, tile.block); /* the same sums on every machine */
          assert_true(a.blocks * a.block >= s.t && (a.blocks - 1) * a.block < s.t);
          int64_t vectors = a.nr / machine_lanes(&machines[m], dtype_size(s.compute));
          assert_true(a.rows * vectors + vectors + 1 <= registers_of(&machines[m]));
        }
        GridAttentionSchedule g = grid_attention_schedule(&grid, &s, true);
        assert_true(!g.tensor && g.step == tile.block && g.key_rows == tile.block);
        assert_true(g.rows >= 16 && tile.block % g.rows == 0);
        assert_true(g.query_parts * g.part >= s.d && g.query_blocks * g.rows >= s.t);
        assert_true(g.blocks == s.heads * g.query_blocks * g.query_parts);
        s.in = DT_F16, s.compute = DT_F32;
        g = grid_attention_schedule(&grid, &s, true);
        assert_int_equal(g.tensor, s.d <= 256);
        if (!g.tensor) continue;
        assert_true(g.rows == 16 * g.tiles * g.threads / grid.warp && g.step % 16 == 0);
        assert_true(g.key_rows == 16 * g.key_tiles * g.key_threads / grid.warp);
        assert_in_range(g.shared, 1, grid.shared);
        assert_in_range(g.key_shared, 1, grid.shared);
        assert_true(g.part % 16 == 0 && g.query_parts * g.part >= s.d);
        assert_true(s.d * 2 % g.copy_d == 0 && s.d * 2 % g.copy_e == 0);
        WgmmaAttentionSchedule w;
        for (int keys = 0; keys <= (int)s.grad; keys++) {
          if (!wgmma_attention_schedule(&grid, &s, keys, &w)) continue;
          const int64_t heads = keys ? s.heads / s.group : s.heads;
          assert_true(w.blocks == heads * w.blocks_of_head && w.blocks_of_head * w.rows >= s.t);
          assert_true(w.stages >= 2 && w.resident * (w.shared + 2048) <= 228 << 10);
        }
      }
}

static void fields_are_shown(void **state) {
  Arena *a = arena_new();
  MapShape s = {.outer = 64, .inner = 256, .work = 1 << 20};
  MapSchedule m = map_schedule(&s, false);
  assert_string_equal(schedule_text(a, &map_kind, &m), "map outer=64 inner=256 split=rows");
  RowsSchedule r = rows(1, 1 << 20, true);
  assert_string_equal(
      schedule_text(a, &rows_kind, &r),
      "rows rows=1 elements=1048576 lanes=yes chunks=64 split=yes apply=no copied=no");
  arena_free(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(decides_rows),
      cmocka_unit_test(decides_groups_of_threads),
      cmocka_unit_test(decides_columns),
      cmocka_unit_test(decides_tiles),
      cmocka_unit_test(decides_orders),
      cmocka_unit_test(decides_on_sorted_ids),
      cmocka_unit_test(orders_cover_every_shape),
      cmocka_unit_test(decides_maps),
      cmocka_unit_test(decides_vectors),
      cmocka_unit_test(covers_every_shape),
      cmocka_unit_test(decides_attention),
      cmocka_unit_test(decides_attention_on_tensor_cores),
      cmocka_unit_test(decides_queries_of_a_block),
      cmocka_unit_test(decides_attention_of_few_queries),
      cmocka_unit_test(decides_attention_by_warpgroups),
      cmocka_unit_test(attention_covers_every_shape),
      cmocka_unit_test(threads_share_attention),
      cmocka_unit_test(fields_are_shown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
