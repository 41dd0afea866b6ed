/* Schedules of reductions; see reduce.h. */
#include "codegen/schedule/reduce.h"

enum {
  FEW_ROWS = 16,                   /* of which threads would get one or none */
  KEPT = 8,                        /* chunks of a row whose exps stay in the cache */
  SPLIT_WORK = 4 * SERIAL_WORK,    /* that pays for a launch that adds up chunks */
  MOST_COPIED = 4,                 /* chunks of operands that a thread has room for */
  FEW_COLUMNS = 64 * COLUMN_BLOCK, /* of which many threads would get a block or two */
  NARROW = 16,                     /* columns of a block at least: a line of the cache */
  ENOUGH_UNITS = 256               /* for many threads */
};

RowsSchedule rows_schedule(const RowsShape *s) {
  RowsSchedule r = {.rows = s->rows,
                    .elements = s->elements,
                    .lanes = s->elements >= LANES,
                    .chunks = ceil_div(s->elements, ROW_CHUNK)};
  const bool plain = s->independent || s->one_pass;
  const bool waits = s->may_wait && !s->panels && (s->one_search || r.chunks > KEPT);
  r.split =
      s->elements > ROW_CHUNK && s->rows < FEW_ROWS && (plain || waits) && !(s->full && s->panels);
  r.passes = r.split && !plain;
  r.apply = r.split && (plain ? !s->independent : s->full);
  r.copied = r.split && s->panels > 0 && s->panels <= MOST_COPIED;
  r.units = r.split ? r.rows * r.chunks : r.rows > 1 && s->work >= SERIAL_WORK ? r.rows : 1;
  return r;
}

#define FIELD(f) SCHEDULE_FIELD(RowsSchedule, f)
const ScheduleKind rows_kind = {"rows", (const ScheduleField[]){FIELD(rows),
                                                                FIELD(elements),
                                                                FIELD(lanes),
                                                                FIELD(chunks),
                                                                FIELD(split),
                                                                FIELD(apply),
                                                                FIELD(copied),
                                                                {0}}};
#undef FIELD

/* Elements of a tile: a multiple of the lanes, of which one of each reduction lies in shared
   memory. 0: there are too many reductions. */
static int grid_rows_tile(const GridMachine *m, const GridRowsShape *s) {
  /* elements of a thread; bytes of shared memory, of 48 KiB that a kernel has without asking: as
     much as one reduction of so many elements takes. Chosen by count, not measured on a device. */
  enum { MOST = 16, SHARED = 32 << 10 };
  int each = s->unroll < MOST ? s->unroll : MOST;
  while (each > 1 && each * m->block * s->reductions * PARTIAL > SHARED) each /= 2;
  return each * m->block * s->reductions * PARTIAL > SHARED ? 0 : each * m->block;
}

GridRowsSchedule grid_rows_schedule(const GridMachine *m, const GridRowsShape *s) {
  /* chosen by count, not measured on a device */
  enum {
    SMALL_BLOCK = 64, /* threads: two warps, so that few rows reach many multiprocessors */
    SHORT = 4096,     /* elements that a warp does alone: 64 of them in each of 64 rounds */
    TOGETHER = 32,    /* results that a thread has registers for */
    HELD = 64,        /* operands, likewise, */
    LIGHT = 16        /* if it evaluates so many side by side: it calls no functions */
  };
  int64_t few = (int64_t)m->blocks * m->block / m->warp; /* fewer leave multiprocessors idle */
  GridRowsSchedule r = {.rows = s->rows, .elements = s->elements};
  r.group = s->elements < LANES        ? GROUP_THREAD
            : s->elements <= ROW_CHUNK ? GROUP_WARP
                                       : GROUP_BLOCK;
  int tile = grid_rows_tile(m, s);
  const bool long_enough =
      s->one_pass ? s->elements > SHORT : s->may_wait && s->elements > ROW_CHUNK;
  if (long_enough && s->rows < m->blocks && tile) {
    r.group = GROUP_BLOCKS;
    r.chunks = ceil_div(s->elements, ROW_CHUNK);
    r.tile = tile;
    r.passes = !s->one_pass;
    r.apply = s->one_pass ? !s->independent : s->full;
    uint64_t sums = (uint64_t)(s->reductions * s->rows * PARTIAL);
    if (r.chunks > 1 || r.apply) r.scratch = (uint64_t)r.chunks * sums;
    if (r.chunks > 1 && (r.apply || r.passes)) r.sums = r.scratch, r.scratch += sums;
  }
  r.threads = r.group == GROUP_THREAD                  ? SMALL_BLOCK
              : r.group == GROUP_WARP && s->rows < few ? 2 * m->warp
                                                       : m->block;
  /* Few rows have few warps on a multiprocessor, which wait for their loads: all of a row at once
     where registers hold them. Else other warps work meanwhile. */
  bool wait = r.group == GROUP_WARP && s->rows < few;
  int64_t rounds = ceil_div(s->elements, LANES), most = s->unroll / 2 > 1 ? s->unroll / 2 : 1;
  const bool alone = wait && s->rows <= m->blocks && s->unroll >= LIGHT && s->operands > 0;
  if (alone && HELD / 2 / s->operands > most) most = HELD / 2 / s->operands;
  const int64_t turns = ceil_div(rounds, most); /* of as many rounds each */
  r.rounds = wait ? (int)ceil_div(rounds, turns) : most > 1 ? 2 : 1;
  const int64_t vectors = s->width ? ceil_div(s->elements, (int64_t)s->width * m->warp) : 0;
  if (wait && s->width > 1 && vectors > 1) {
    const int64_t held = TOGETHER / s->width > 1 ? TOGETHER / s->width : 1;
    r.vectors = (int)ceil_div(vectors, ceil_div(vectors, held)), r.width = s->width;
  }
  int64_t threads = r.group == GROUP_THREAD ? s->rows : s->rows * m->warp;
  r.blocks = r.group == GROUP_BLOCKS  ? s->rows * r.chunks
             : r.group == GROUP_BLOCK ? s->rows
                                      : ceil_div(threads, r.threads);
  if (!r.blocks && r.group != GROUP_BLOCK) r.blocks = 1;
  return r;
}

#define FIELD(f) SCHEDULE_FIELD(GridRowsSchedule, f)
static const char *const groups[] = {[GROUP_THREAD] = "thread",
                                     [GROUP_WARP] = "warp",
                                     [GROUP_BLOCK] = "block",
                                     [GROUP_BLOCKS] = "blocks"};
const ScheduleKind grid_rows_kind = {
    "rows", (const ScheduleField[]){FIELD(rows),
                                    FIELD(elements),
                                    SCHEDULE_ENUM(GridRowsSchedule, group, groups),
                                    FIELD(chunks),
                                    FIELD(tile),
                                    FIELD(passes),
                                    FIELD(apply),
                                    FIELD(rounds),
                                    FIELD(vectors),
                                    {0}}};
#undef FIELD

ColumnsSchedule columns_schedule(const ColumnsShape *s) {
  ColumnsSchedule c = {.rows = s->rows,
                       .columns = s->columns,
                       .outer = s->outer,
                       .width = COLUMN_BLOCK,
                       .chunks = 1};
  bool chunked = s->chunked && s->rows > COL_CHUNK;
  if (chunked) c.chunks = ceil_div(s->rows, COL_CHUNK);
  c.split = chunked && s->columns * s->outer < FEW_COLUMNS && s->work >= SPLIT_WORK;
  while (c.split && c.width > NARROW &&
         c.chunks * s->outer * ceil_div(s->columns, c.width) < ENOUGH_UNITS)
    c.width /= 2;
  c.blocks = ceil_div(s->columns, c.width);
  if (c.blocks <= 1) c.width = s->columns > 1 ? (int)s->columns : 1;
  c.all_units = c.outer * c.blocks;
  c.units = c.split ? c.chunks * c.all_units : s->work < SERIAL_WORK ? 1 : c.all_units;
  return c;
}

#define FIELD(f) SCHEDULE_FIELD(ColumnsSchedule, f)
const ScheduleKind columns_kind = {"columns", (const ScheduleField[]){FIELD(rows),
                                                                      FIELD(columns),
                                                                      FIELD(outer),
                                                                      FIELD(blocks),
                                                                      FIELD(width),
                                                                      FIELD(chunks),
                                                                      FIELD(split),
                                                                      {0}}};
#undef FIELD

GridColumnsSchedule grid_columns_schedule(const GridMachine *m, const GridColumnsShape *s) {
  /* chosen by count, not measured on a device */
  enum {
    SMALL_BLOCK = 64, /* threads: two warps, so that few columns reach many multiprocessors */
    LITTLE = 1 << 16, /* elements that one launch does: two for each thread of 128 blocks of 256 */
    SHORT = 32,       /* rows that a thread walks alone, one load after the other */
    SECTOR = 8,       /* columns that share an access to memory: 32 bytes of f32 */
    /* A block waits for each of its tiles: two of a multiprocessor take turns, where chunks are so
       many that the time of another launch does not count. */
    TURNS = 2,
    MANY_CHUNKS = 8,
    /* Side by side the warps of a block do chunks: so many have 32 KiB under way, more than a
       multiprocessor's share of the bandwidth needs. At least two in three multiprocessors, whose
       loads reach the bandwidth of memory, save the launch that combines chunks. */
    WARPS = 16,
    MOST_IDLE = 3,
    FEW_TILES = 8 /* of partial results, for which a block waits in the time of a launch */
  };
  GridColumnsSchedule c = {.rows = s->rows, .columns = s->columns, .along = s->along, .chunks = 1};
  if (s->chunked && s->rows > COL_CHUNK) c.chunks = ceil_div(s->rows, COL_CHUNK);
  bool few = s->rows > SHORT && ceil_div(s->columns, SMALL_BLOCK) < m->blocks;
  c.tiled = s->columns && s->rows > 1 && (s->along || s->rows > COL_CHUNK || few);
  c.width = !c.tiled ? SMALL_BLOCK : s->columns < m->warp ? (int)s->columns : m->warp;
  c.threads = c.tiled ? m->block : SMALL_BLOCK;
  c.column_blocks = ceil_div(s->columns, c.width);
  if (!c.column_blocks) c.column_blocks = 1;
  const bool reach = c.column_blocks >= m->multiprocessors - m->multiprocessors / MOST_IDLE;
  if (c.tiled && !c.along && c.width == m->warp && c.chunks >= WARPS / 2 && reach) {
    c.warps = c.chunks < WARPS ? (int)c.chunks : WARPS;
    c.threads = c.warps * m->warp;
    c.depth = WARPS; /* sums of chunks in shared memory, at most */
    c.blocks = c.column_blocks;
    return c;
  }
  int64_t enough = c.chunks < MANY_CHUNKS ? m->blocks : (int64_t)TURNS * m->blocks;
  c.split = c.tiled && c.chunks > 1 && c.column_blocks < enough && s->rows * s->columns >= LITTLE;
  if (c.split) {
    c.combine_width = c.width < SECTOR ? c.width : SECTOR;
    c.combine_blocks = ceil_div(s->columns, c.combine_width);
    c.parts = grid_tile_depth(COL_CHUNK, c.chunks, c.combine_width, s->size);
    c.scratch = (uint64_t)(c.chunks * s->columns * s->size);
  }
  /* narrower blocks on multiprocessors that have none: they wait for fewer tiles, of more rows */
  const int64_t chunks = c.split ? c.chunks : 1;
  while (c.tiled && c.width / 2 >= SECTOR &&
         chunks * ceil_div(s->columns, c.width / 2) <= m->multiprocessors)
    c.width /= 2, c.column_blocks = ceil_div(s->columns, c.width);
  if (c.tiled) c.depth = grid_tile_depth(COL_CHUNK, s->rows, c.width, s->size);
  c.blocks = c.column_blocks * chunks;
  c.ends = c.split && ceil_div(c.chunks, c.depth) - ceil_div(c.chunks, c.parts) < FEW_TILES;
  return c;
}

#define FIELD(f) SCHEDULE_FIELD(GridColumnsSchedule, f)
const ScheduleKind grid_columns_kind = {"columns", (const ScheduleField[]){FIELD(rows),
                                                                           FIELD(columns),
                                                                           FIELD(along),
                                                                           FIELD(tiled),
                                                                           FIELD(width),
                                                                           FIELD(depth),
                                                                           FIELD(chunks),
                                                                           FIELD(warps),
                                                                           FIELD(split),
                                                                           FIELD(ends),
                                                                           {0}}};
#undef FIELD
