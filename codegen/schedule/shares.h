/* How threads share the units of a launch where their number decides it. One text for the compiler,
   which prints the balance of schedules, and for programs, where it is library code. */
/* section tiles_for MANY_TILES */
/* Tiles of rows for nt threads, if there are `others` of each: at least `tiles`, or as many as the
   busiest thread has time for, at most `most`, so that they are less tall. One more of MANY_TILES
   does not count: a thread has no more of them where there are more than `tiles`. */
enum { MANY_TILES = 16 };
INL long tiles_for(int nt, long others, long tiles, long most) {
  const long share = (others * tiles + nt - 1) / nt, more = others ? share * nt / others : 0;
  if (share > MANY_TILES || more < tiles || most < tiles) return tiles;
  return more < most ? more : most;
}
/* section register_tiles_for: tiles_for */
/* The same of tiles that two tile registers have rows for: `tiles`, or `most`, each of one
   register, which takes half as long, if the busiest thread then ends sooner. */
INL long register_tiles_for(int nt, long others, long tiles, long most) {
  const long tall = (others * tiles + nt - 1) / nt, of_one = (others * most + nt - 1) / nt;
  return nt > 1 && tall <= MANY_TILES && of_one < 2 * tall ? most : tiles;
}
/* section product_share */
/* The first unit of thread t of nt. Units are the tiles of panels of nr columns, panel by panel, of
   `batch` products with n columns: those of the last panel take less time, as they are narrower.
   Threads whose number divides that of the panels of one product own panels. A part of a bounded
   batch may have no rows, and so no tiles. */
INL long product_share(long t, long nt, long batch, long panels, long tiles, long nr, long n) {
  const long last = n - (panels - 1) * nr, of_one = n * tiles; /* columns of tiles */
  if (tiles == 0) return 0;
  if (batch == 1 && panels % nt == 0) return panels * tiles * t / nt;
  const long before = batch * of_one * t / nt, b = before / of_one, rest = before % of_one;
  const long p = rest / (nr * tiles), width = p + 1 < panels ? nr : last;
  return (b * panels + p) * tiles + (rest % (nr * tiles) + width / 2) / width;
}
/* section attention_share */
/* The first unit of thread t of nt. Units are the blocks of `heads` heads, head by head. With a
   causal mask block i of a head takes i + 1 times as long as block 0. */
INL long attention_share(long t, long nt, long heads, long blocks, int causal) {
  const long of_head = causal ? blocks * (blocks + 1) / 2 : blocks;
  const long before = of_head * heads * t / nt; /* blocks' worth of time */
  const long h = of_head ? before / of_head : 0, rest = of_head ? before % of_head : 0;
  if (!causal) return h * blocks + rest;
  long i = 0; /* up to its middle a block is the thread's before */
  while (i * (i + 1) + i + 1 <= 2 * rest) i++;
  return h * blocks + i;
}
/* section attention_parts */
/* Parts of a block of queries, a power of two up to `most`, of `rows` queries of each head, in
   blocks of `block`: where a thread has few blocks, or with a causal mask few that take equal time,
   it has parts of one. */
enum { PARTS_OF_THREAD = 4, CAUSAL_PARTS_OF_THREAD = 16 };
INL long attention_parts(long nt, long heads, long rows, long block, long most, int causal) {
  const long enough = nt * (causal ? CAUSAL_PARTS_OF_THREAD : PARTS_OF_THREAD);
  long parts = 1;
  if (nt == 1) return 1;
  while (parts < most && heads * ((rows + block / parts - 1) / (block / parts)) < enough)
    parts *= 2;
  return parts;
}
/* section attention_grad_whole attention_grad_share: attention_share */
/* Whether a thread takes all gradients of a head of keys at once. That is five products for each
   block of queries and of keys. Else threads share the blocks of keys, for the gradients by keys
   and values, and then those of queries, for that by queries: that is four and three products. The
   busiest thread has whole heads, or its part of all products and one block more. */
INL int attention_grad_whole(long nt, long heads, long key_blocks, long query_blocks) {
  const long products = key_blocks * query_blocks;
  return 5 * products * ((heads + nt - 1) / nt) <= 7 * products * heads / nt + 4 * query_blocks;
}
/* The first unit of thread t of nt: units are heads, or the blocks of keys of all heads and then
   the blocks of queries of all heads. With a causal mask the last block of keys comes first.
   query_blocks: those of all heads of queries that share a head of keys, `group` of them. */
INL long attention_grad_share(long t, long nt, long heads, long key_blocks, long query_blocks,
                              long group, int causal) {
  if (attention_grad_whole(nt, heads, key_blocks, query_blocks)) return heads * t / nt;
  if (7 * t < 4 * nt) return attention_share(7 * t, 4 * nt, heads, key_blocks, causal);
  return heads * key_blocks +
         attention_share(7 * t - 4 * nt, 3 * nt, heads * group, query_blocks / group, causal);
}
/* section filter_apart */
/* Whether threads share the chunks of a sum, too, and add these up in a second launch: where they
   have too few units for their number, or so few that one more counts. */
INL int filter_apart(long nt, long units) { return 4 * ((units + nt - 1) / nt) * nt > 5 * units; }
/* section attention_splits */
/* Whether thread blocks share the keys of a head, for `rows` queries of it: if the blocks of keys
   that would follow each other in one take longer than `launches`, the time that sharing takes, and
   what the blocks hand on takes a fraction of the bytes of keys and values. Of a block of keys:
   what it takes, in units of `launches`, and for each row so many bytes, in units of those of a
   key. */
enum { SPLIT_ROWS = 16 };
INL int attention_splits(long rows, long keys, int block, long of_block, long launches,
                         long handed_on, long of_key) {
  const long blocks = (keys + block - 1) / block;
  return rows > 0 && rows <= SPLIT_ROWS && blocks > 1 && (blocks - 1) * of_block >= launches &&
         rows * blocks * handed_on <= keys * of_key;
}
/* section pixel_units */
/* Units of pixels, of `units`, that a thread block of a gradient with respect to filters adds up,
   if there are `tiles` tiles of filters and weights: those of one of several parts, whose sums are
   added in order behind. Of the parts that fill `blocks` places for blocks once or some times those
   that end first: at most `most`, of `least` units or more, and a multiple of `cluster`, or one;
   the sums of one cluster, which adds them up itself, take no more room than those of one part. A
   unit takes `unit` clocks of a place, and a block of it `wait`, of which `resident` blocks side by
   side wait at once; a block takes `ends` beside its units, and the sums of a part take `sums`. */
enum { PIXEL_TURNS = 3 };
INL int pixel_units(int units, long most, int tiles, int blocks, int least, int cluster, int unit,
                    int wait, int resident, int ends, int sums) {
  const uint32_t all = (uint32_t)units;
  uint32_t best = all, before = 0;
  if (most < cluster) most = cluster;
  long fewest = 0;
  for (int turn = 1; turn <= PIXEL_TURNS; turn++) {
    uint32_t n = (uint32_t)(turn * blocks / tiles);
    if (n > most) n = (uint32_t)most;
    if (n > all / (uint32_t)least) n = all / (uint32_t)least;
    n = n > (uint32_t)cluster ? n - n % (uint32_t)cluster : n == (uint32_t)cluster ? n : 1;
    if (n == before) continue; /* divisions take a program's time */
    before = n;
    const uint32_t each = all > n ? (all - 1) / n + 1 : 1, parts = (all + each - 1) / each;
    const uint32_t turns = ((uint32_t)tiles * parts + (uint32_t)blocks - 1) / (uint32_t)blocks;
    const uint32_t waits = (turns + (uint32_t)resident - 1) / (uint32_t)resident;
    const long work = (long)turns * unit, idle = (long)waits * wait;
    const long clocks =
        (work > idle ? work : idle) * each + (long)turns * ends + (long)parts * sums;
    if (turn == 1 || clocks < fewest) fewest = clocks, best = each;
  }
  return (int)best;
}
/* section depth_part */
/* Elements of the depth that a thread block of a product of `batch` times m x n on tensor cores
   adds up: all k, or of few tiles those of one of several parts, whose sums a second launch adds.
   Tiles are the smallest of warpgroups; `blocks` of them leave no multiprocessor idle. Where more
   than half of these are there, tiles of twice the COLUMNS take less time for a result, if they
   come in THREE parts (not of FEW rows, which warps do). SAVED
   elements of the depth take about the time of a launch, by the model of time; parts are multiples
   of UNIT, and have LEAST elements at least. Of at most FEW rows a warp does a part, of which a
   multiprocessor needs WARPS. Operands have `size` bytes an element, and sums take no more bytes
   than they. */
enum {
  DEPTH_ROWS = 128,
  DEPTH_COLUMNS = 64,
  DEPTH_SAVED = 1024,
  DEPTH_LEAST = 256,
  DEPTH_UNIT = 64,
  DEPTH_FEW = 16,
  DEPTH_WARPS = 4,
  DEPTH_THREE = 3
};
INL long depth_part(long blocks, long batch, long m, long n, long k, int size) {
  enum { ROWS = DEPTH_ROWS, COLUMNS = DEPTH_COLUMNS, UNIT = DEPTH_UNIT, SUM = 4 };
  const long tiles = batch * ((m + ROWS - 1) / ROWS) * ((n + COLUMNS - 1) / COLUMNS);
  if (m <= DEPTH_FEW) blocks *= DEPTH_WARPS;
  const long wide = batch * ((m + ROWS - 1) / ROWS) * ((n + 2 * COLUMNS - 1) / (2 * COLUMNS));
  const int three = m > DEPTH_FEW && 2 * tiles > blocks && DEPTH_THREE * wide <= blocks;
  if (k <= DEPTH_SAVED || k > 0x7fffffff || tiles <= 0 || (2 * tiles > blocks && !three)) return k;
  const int depth = (int)k, of_depth = depth / DEPTH_LEAST;
  const int of_tiles = three ? DEPTH_THREE : (int)blocks / (int)tiles;
  const int most = of_tiles < of_depth ? of_tiles : of_depth;
  const int part = ((depth - 1) / most / UNIT + 1) * UNIT;
  if (depth - part < DEPTH_SAVED) return k;
  const long parts = (depth - 1) / part + 1, operands = batch * k * (m + n) * size;
  return parts * batch * m * n * SUM > operands ? k : part;
}
