/* Schedules of products; see product.h. Algorithm: blocks of A's rows, within them groups of B's
   panels that stay in the second cache while tiles of rows go by, each tile meeting the panels one
   after the other (Goto and van de Geijn, 2008). Units are tiles, in the order of
   panels or of rows. The tiles are those measured at 96 to 98 % of the peak: 6 rows of 4 registers
   with 32 registers, of 2 with 16. */
#include "codegen/schedule/product.h"

Dtype product_dtype(Dtype in) {
  if (dtype_is_half(in)) return DT_F32;
  return dtype_is_byte(in) ? DT_I32 : in;
}

/* ---- a processor ---- */

enum {
  /* rows of the next panel that a tile prefetches: at least one for each of its own, to prefetch C
     too */
  PREFETCH_LEAST = 8,
  PREFETCH_MOST = 64,
  PACK_ROWS = 384, /* rows that pay for packing a panel of B */
  PACK_DEEP = 64,  /* the same where a panel has more rows than the first cache has lines … */
  LINE_BYTES = 64, /* ... of so many bytes */
  PAGE_BYTES = 4096,
  PACK_TILES = 3,      /* of rows, where a tile that reads halves converts them itself */
  PACK_COLUMNS = 32,   /* of B: fewer do not pay for packing A^T */
  PACKED_DEPTH = 8192, /* so deep a packed A^T may be: two tiles of f64 have room */
  PARTIAL_ROWS = 512,  /* with sums kept apart, where an epilogue waits for the last chain */
  ROW_STREAMS = 4,     /* panels of B side by side: 1.37 times as fast as one, six no faster */
  ENOUGH_UNITS = 512   /* tiles of all threads; with fewer, many threads have less tall ones */
};

/* Bytes of a number of A and of B as the loops read them, in pairs half of a pair. */
static int a_size(const ProductSchedule *p) {
  if (p->integers) return 2; /* with the scales of groups of eight or more */
  return dtype_size(p->pairs ? p->in : p->dt);
}
static int b_size(const ProductSchedule *p) {
  if (p->bits && !p->pack) return 1;
  if (p->integers) return 2;
  return dtype_size(p->pairs || !p->pack ? p->in : p->dt);
}

/* Rows of the next panel for each tile of a block to prefetch, as many as make the whole of it: a
   power of two, so that they lie in one panel of a B that is stored in panels the other way. Not
   beside a packed A, which fills the second cache, nor where all of B stays there. */
static int64_t rows_to_prefetch(const VectorMachine *machine, const ProductShape *s,
                                const ProductSchedule *p) {
  if (p->converted || p->bits || p->pack_a || p->group >= p->np ||
      p->k * p->n * b_size(p) <= machine->cache.l2)
    return 0;
  if (p->tb && !s->b_panels && p->chain < p->k) return 0; /* no rows: columns that lie apart */
  int64_t rows = PREFETCH_LEAST;
  while (rows < PREFETCH_MOST && rows * p->block < p->chain) rows *= 2;
  if (p->block == 1 || rows > p->chain || (p->tb && s->b_panels && s->b_panel % rows)) return 0;
  return rows;
}

/* A tile that no other follows reads B from memory, and the hardware prefetches no further than to
   the end of a page: the tile asks for what lies a page ahead. Pairs are read by two rows, and
   integers have a loop of their own. */
static int64_t rows_ahead(const VectorMachine *machine, const ProductSchedule *p) {
  if (p->pairs || p->bits || p->tb || p->k * p->n * dtype_size(p->in) <= machine->cache.l2)
    return 0;
  return PAGE_BYTES / (p->nr * dtype_size(p->in));
}

/* Of a B from memory, if nothing else is done to it on the way; of AMX, whose tiles would pack it,
   of any. */
static int64_t streams_of_row(const ProductShape *s, const ProductSchedule *p, int lanes) {
  const bool floats = p->in == DT_F32 || dtype_is_half(p->in);
  const bool plain = p->b_panels && !p->tb && !p->ta && floats && !p->bits;
  const bool fits = (p->np >= ROW_STREAMS || p->amx) && p->nr % lanes == 0 && p->batch == 1;
  return (p->ahead || p->amx) && plain && fits && (p->m == 1 || s->bounded) ? ROW_STREAMS : 0;
}

/* Nothing that a chain reads of B is read again: other orders would only leave each panel for
   another one in its midst, where prefetches miss, and pack A's integers once for each group. */
static bool has_deep_row(const ProductShape *s, const ProductSchedule *p) {
  const bool in_tile = p->bits && !p->tb && (!p->pack || p->unpacked);
  return in_tile && p->k > DEPTH && p->batch == 1 && (p->m == 1 || s->bounded);
}

/* Rows are cut into tiles that differ by one at most. */
static void choose_tiles(const VectorMachine *machine, ProductSchedule *p, int lanes) {
  int64_t most = p->amx                                        ? 2 * AMX_ROWS
                 : p->amx_bytes                                ? AMX_ROWS
                 : p->nr <= 2 * lanes && machine->vectors == 4 ? 8
                 : p->nr <= lanes                              ? 8
                                                               : machine->rows;
  p->tiles = ceil_div(p->m, most);
  if (p->np == 1) /* equal tiles let threads keep their rows from launch to launch */
    for (int64_t r = most; r >= most - 1; r--)
      if (p->m % r == 0) {
        p->tiles = p->m / r;
        break;
      }
  p->rows = p->tiles ? p->m / p->tiles : 0;
  p->low = p->tiles - (p->tiles ? p->m % p->tiles : 0);
}

/* Tiles may transpose B as they read it. */
static bool turns_in_tiles(const ProductShape *s, const ProductSchedule *p) {
  return !s->b_panels && !p->bits && !p->pairs && (p->in == DT_F32 || dtype_is_half(p->in));
}

/* Rows that pay for packing a B that a tile could read as it lies. */
static int64_t rows_to_pack(const VectorMachine *machine, const ProductShape *s,
                            const ProductSchedule *p) {
  if (p->amx) return 0; /* tile registers read no other B */
  if (p->amx_bytes) return p->tb ? 0 : A_STRIDE + 1;
  if (p->tb) return turns_in_tiles(s, p) ? product_tallest(p) + 1 : 0;
  const bool by_tile = p->bits || (p->converted && dtype_is_half(p->in) && !p->pairs);
  if (by_tile) return (PACK_TILES - 1) * product_tallest(p) + 1;
  if (p->converted && !dtype_is_half(p->in)) return 0; /* bytes */
  if (p->b_panels || p->np == 1) return INT64_MAX;
  return p->k > machine->cache.l1 / LINE_BYTES ? PACK_DEEP : PACK_ROWS;
}

static void choose_packing(const VectorMachine *machine, const ProductShape *s,
                           ProductSchedule *p) {
  int size = dtype_size(p->dt);
  const int64_t rows = rows_to_pack(machine, s, p);
  p->pack = p->m >= rows;
  if (p->pack && s->bounded && rows > 1) p->unpacked = rows - 1;
  bool as_read = p->converted ? dtype_is_half(p->in) && !p->pairs : !p->bits;
  p->pack_first = p->pack && !p->tb && as_read;
  p->pack_a = !p->converted && p->ta && p->n > PACK_COLUMNS && p->k <= PACKED_DEPTH &&
              (p->k > 128 || (p->k > 16 && p->m * size % 512 == 0));
  p->chains = p->pack_a && p->k > DEPTH && !p->epilogue;
  p->partial = p->epilogue && p->k > DEPTH;
}

/* Tiles of packed rows of A that fill the second cache; one at least. As a rule tiles have six of
   the A_STRIDE rows that they have room for: 43 / 32 is 8 / 6, rounded so that 256 deep rows fit 1
   MiB. Tiles of AMX have all, and the panels a quarter of that cache. */
static int64_t packed_tiles(const VectorMachine *machine, const ProductSchedule *p, int64_t depth,
                            int size) {
  int64_t bytes = p->amx || p->amx_bytes ? machine->cache.l2 / 2 : machine->cache.l2 / 32 * 43;
  int64_t tiles = bytes / (depth * product_packed_rows(p) * size);
  return tiles > 1 ? tiles : 1;
}

static void choose_blocks(const VectorMachine *machine, ProductSchedule *p) {
  int64_t depth = p->chain ? p->chain : 1, tallest = product_tallest(p);
  int size = a_size(p);
  p->group = machine->cache.l2 / 4 / (b_size(p) * p->nr * depth);
  if (p->group > p->np) p->group = p->np;
  if (p->group < 1) p->group = 1;
  int64_t block = machine->cache.l3 / (size * depth); /* rows: B is packed once a block */
  if (p->partial && block > PARTIAL_ROWS) block = PARTIAL_ROWS;
  p->block = tallest && block > tallest ? block / tallest : 1;
  p->convert_tile = p->converted && (dtype_is_half(p->in) || p->integers) && !p->ta &&
                    p->k <= p->chain && p->group >= p->np;
  bool converts = p->converted && !p->convert_tile;
  int64_t packed = p->pack_a  ? packed_tiles(machine, p, product_packed_depth(p), size)
                   : converts ? packed_tiles(machine, p, depth, size)
                              : p->block;
  if (p->block > packed) p->block = packed;
  if (p->tiles && p->block) { /* blocks of one size: each of them packs B */
    int64_t blocks = ceil_div(p->tiles, p->block);
    p->block = ceil_div(p->tiles, blocks);
  }
  int64_t a_rows = p->block * tallest < p->m ? p->block * tallest : p->m;
  if (p->k > DEPTH && !p->partial && p->group < p->np && a_rows * p->k * size > machine->cache.l2)
    p->chains = true;
}

/* Each thread packs the rows of A^T that it has a tile of, and the panels of B: it has few of the
   longer side. */
static void choose_units(ProductSchedule *p) {
  int64_t others = p->batch * p->np, tallest = product_tallest(p);
  p->flops = 2 * (uint64_t)p->batch * (uint64_t)p->m * (uint64_t)p->n * (uint64_t)p->k;
  p->units = others * p->tiles;
  bool rows = p->np < 4 && p->tiles >= 4 * p->np, a_is_long = p->pack_a && p->m > p->n;
  p->split = p->np == 1 || rows || a_is_long ? BY_ROWS : BY_PANEL;
  if (p->flops / 2 < SERIAL_WORK * 4 || p->units <= 1) p->split = SERIAL, p->units = 1;
  p->least = p->rows ? p->rows : 1;
  if (p->amx && tallest > AMX_ROWS && p->units < ENOUGH_UNITS)
    p->least = AMX_ROWS;
  else if (!p->amx)
    while (p->least > tallest - tallest / 3 && others * (p->m / p->least) < ENOUGH_UNITS)
      p->least--;
  /* of AMX a block of short tiles has less room, and more of them follow */
  if (p->block >= p->tiles && !p->amx) p->block = product_most_tiles(p);
}

int64_t product_shortest_tiles(const ProductSchedule *p) {
  if (!p->amx) return p->m / p->least;
  return p->least <= AMX_ROWS && product_tallest(p) > AMX_ROWS ? ceil_div(p->m, AMX_ROWS)
                                                               : p->tiles;
}

int64_t product_most_tiles(const ProductSchedule *p) {
  int64_t of_many = product_shortest_tiles(p); /* of a narrow panel a thread may have them all */
  if (of_many > MANY_TILES && !product_is_uneven(p) && !p->amx) of_many = MANY_TILES;
  return product_varies(p) && of_many > p->tiles ? of_many : p->tiles;
}

int64_t product_tiles(const ProductSchedule *p, int threads) {
  if (!product_varies(p)) return p->tiles;
  const int64_t others = p->batch * p->np, most = product_shortest_tiles(p);
  return p->amx ? register_tiles_for(threads, others, p->tiles, most)
                : tiles_for(threads, others, p->tiles, most);
}

/* Rows that the first n of so many tiles take the time of: a tile register has all of its rows. */
static int64_t rows_of(const ProductSchedule *p, int64_t tiles, int64_t n) {
  if (!p->amx) return n * p->m / tiles;
  return n * ceil_div(ceil_div(p->m, tiles), AMX_ROWS) * AMX_ROWS;
}

/* Elements of C in the first n units. */
static int64_t elements_of(const ProductSchedule *p, int64_t tiles, int64_t n) {
  int64_t all = rows_of(p, tiles, tiles);
  int64_t of_one = n % (p->np * tiles), whole = n / (p->np * tiles) * all * p->n;
  bool by_rows = p->split == BY_ROWS;
  int64_t tile = by_rows ? of_one / p->np : of_one % tiles;
  int64_t panel = by_rows ? of_one % p->np : of_one / tiles;
  int64_t rows = rows_of(p, tiles, tile), next = rows_of(p, tiles, tile + 1);
  int64_t columns = panel * p->nr < p->n ? panel * p->nr : p->n;
  if (by_rows) return whole + rows * p->n + (next - rows) * columns;
  return whole + columns * all + rows * (p->n - columns < p->nr ? p->n - columns : p->nr);
}

static int64_t first_unit(const ProductSchedule *p, int64_t tiles, int t, int threads) {
  if (product_is_uneven(p)) return product_share(t, threads, p->batch, p->np, tiles, p->nr, p->n);
  return p->batch * p->np * tiles * t / threads;
}

double product_balance(const void *schedule, int threads) {
  const ProductSchedule *p = schedule;
  int64_t tiles = product_tiles(p, threads), most = 0;
  for (int t = 0; t < threads; t++) {
    int64_t of = elements_of(p, tiles, first_unit(p, tiles, t + 1, threads)) -
                 elements_of(p, tiles, first_unit(p, tiles, t, threads));
    if (of > most) most = of;
  }
  int64_t all = p->amx ? ceil_div(p->m, AMX_ROWS) * AMX_ROWS : p->m;
  return most ? (double)(p->batch * all * p->n) / (double)most / threads : 1;
}

ProductSchedule product_schedule(const VectorMachine *machine, const ProductShape *s) {
  ProductSchedule p = {.batch = s->batch,
                       .m = s->m,
                       .n = s->n,
                       .k = s->k,
                       .ta = s->ta,
                       .tb = s->tb,
                       .b_panels = s->b_panels,
                       .epilogue = s->epilogue || (s->in == DT_BF16 && machine->amx),
                       .in = s->in,
                       .bits = s->bits,
                       .integers = s->integers,
                       .left_bits = s->left_bits,
                       .dt = s->integers ? DT_F32 : product_dtype(s->in),
                       .chain = s->k < DEPTH ? s->k : DEPTH,
                       .nr = s->panel};
  int lanes = machine_lanes(machine, dtype_size(p.dt));
  p.converted = p.dt != p.in;
  p.amx = p.in == DT_BF16 && machine->amx;
  p.amx_bytes = machine->amx_bytes && p.integers == AMX_GROUP && p.left_bits == 8 &&
                p.m > A_STRIDE && p.n >= lanes;
  p.pairs = p.amx || (p.in == DT_BF16 && machine->pairs);
  if (!p.nr) {
    p.nr = machine->vectors * lanes;
    if (p.n < p.nr) p.nr = (int)ceil_div(p.n > 0 ? p.n : 1, lanes) * lanes;
  }
  p.np = ceil_div(p.n, p.nr);
  choose_tiles(machine, &p, lanes);
  choose_packing(machine, s, &p);
  choose_blocks(machine, &p);
  p.prefetch = rows_to_prefetch(machine, s, &p);
  p.ahead = rows_ahead(machine, &p);
  choose_units(&p);
  if (p.split != BY_ROWS) {
    p.streams = streams_of_row(s, &p, lanes);
    p.deep_row = has_deep_row(s, &p);
  }
  return p;
}

#define FIELD(f) SCHEDULE_FIELD(ProductSchedule, f)
static const char *const splits[] = {[BY_PANEL] = "panels", [BY_ROWS] = "rows", [SERIAL] = "none"};
const ScheduleKind product_kind = {
    "product", (const ScheduleField[]){FIELD(batch),
                                       FIELD(m),
                                       FIELD(n),
                                       FIELD(k),
                                       FIELD(nr),
                                       FIELD(np),
                                       FIELD(rows),
                                       FIELD(tiles),
                                       FIELD(low),
                                       FIELD(least),
                                       FIELD(chain),
                                       FIELD(chains),
                                       FIELD(partial),
                                       FIELD(pack),
                                       FIELD(unpacked),
                                       FIELD(pack_first),
                                       FIELD(pack_a),
                                       FIELD(converted),
                                       FIELD(pairs),
                                       FIELD(amx),
                                       FIELD(convert_tile),
                                       FIELD(bits),
                                       FIELD(integers),
                                       FIELD(amx_bytes),
                                       FIELD(block),
                                       FIELD(group),
                                       FIELD(prefetch),
                                       FIELD(ahead),
                                       FIELD(streams),
                                       FIELD(deep_row),
                                       SCHEDULE_ENUM(ProductSchedule, split, splits),
                                       {0}}};
#undef FIELD
