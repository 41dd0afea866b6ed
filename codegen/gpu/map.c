/* Element-wise kernels: a thread does one vector of elements, of 16 bytes where the operands lie
   so. Of operands that lie transposed a block reads tiles to shared memory, whose columns lie side
   by side in memory, and writes tiles whose rows do. Contract: every yield has the domain's shape;
   a thread loads what it needs before it stores, and reads in place only what it writes itself, so
   an output may lie in the bytes of an input; one that is read transposed has no output in its
   bytes. */
#include "codegen/schedule/map.h"
#include "codegen/gpu/gpu.h"
#include "codegen/program/extent.h"

typedef struct GridMap {
  Gen *g;
  const Group *gr;
  Kernel *k;
  Printer p;
  Leaves leaves;
  Loop *loops; /* over the domain, and their number */
  int n;
} GridMap;

/* ---- tiles ---- */

enum {
  TILE = 32,
  LEAST = 16,       /* rows and columns: fewer would leave most of a tile empty */
  SHARED = 48 << 10 /* bytes that a kernel may declare */
};

/* The operand's neighbours along loop `across` lie side by side, and those of the inner loop apart.
 */
static bool is_transposed(const GridMap *m, const Visit *x, int across) {
  if (group_arg(m->gr, x->v) < 0) return false;
  int64_t *stride = ARENA_ARRAY(m->g->a, int64_t, m->p.ncoords + 1);
  cuda_strides(&m->p, x->v, x->map, stride);
  const int64_t inner = stride[m->loops[m->n - 1].coord];
  return inner != 0 && inner != 1 && stride[m->loops[across].coord] == 1;
}

/* The loop along which most bytes of operands lie side by side that do not along the inner one; -1:
   there is none that fills tiles. */
static int loop_across(const GridMap *m) {
  int best = -1;
  uint64_t most = 0;
  for (int i = 0; i + 1 < m->n; i++) {
    uint64_t bytes = 0;
    int shared = 0;
    for (uint32_t k = 0; k < m->leaves.visited.n; k++) {
      if (!is_transposed(m, &m->leaves.visited.at[k], i)) continue;
      const Type *t = value_type(m->gr->e, m->leaves.visited.at[k].v);
      bytes += t->bytes;
      shared += TILE * (TILE + 1) * dtype_size(t->dtype);
    }
    if (m->loops[i].n < LEAST || m->loops[m->n - 1].n < LEAST || bytes <= most || shared > SHARED)
      continue;
    most = bytes;
    best = i;
  }
  return best;
}

static bool is_bounded(const char *count) { return !text_is_number(count); }

/* Declares the position of a thread's element along both loops, named prefix0 and prefix1, and
   opens what is done where there is one. The lanes of a warp lie along loop `across` or along the
   inner one, its rows q along the other. */
static void open_place(GridMap *m, Text *x, int across, bool lanes_across, const char *prefix) {
  const char *I = m->g->index;
  const Loop *loop[] = {&m->loops[across], &m->loops[m->n - 1]};
  const char *name[2];
  Text test = text_new(m->g->a, 0);
  for (int i = 0; i < 2; i++) {
    name[i] = arena_printf(m->g->a, "%s%d", prefix, i);
    const char *count = loops_text(&m->p, loop[i], 1);
    text_line(x, "const %s %s = tile%d * %d + %s;", I, name[i], i, TILE,
              (i == 0) == lanes_across ? "lane" : "q");
    if (is_bounded(count) || loop[i]->n % TILE)
      text_add(&test, "%s%s < %s", text_str(&test)[0] ? " && " : "", name[i], count);
    m->p.coord[loop[i]->coord].text = name[i];
    m->p.coord[loop[i]->coord].level = 1;
  }
  if (text_str(&test)[0])
    text_open(x, "if (%s) {", text_str(&test));
  else
    text_open(x, "{");
}

static void open_rows(Text *x) {
  text_line(x, "#pragma unroll");
  text_open(x, "for (int q = (int)threadIdx.x / %d; q < %d; q += %d) {", WARP, TILE, BLOCK / WARP);
}

/* The operands' tiles, by rows of the inner loop. */
static void print_load(GridMap *m, Text *x, int across) {
  Text loads = text_new(m->g->a, x->indent);
  open_rows(&loads);
  open_place(m, &loads, across, true, "p");
  for (uint32_t i = 0; i < m->leaves.visited.n; i++) {
    const Visit *at = &m->leaves.visited.at[i];
    if (!is_transposed(m, at, across)) continue;
    int level = 0;
    const char *index = printer_index(&m->p, at->v, at->map, &level);
    text_line(x, "__shared__ %s part%u[%d * %d];",
              dtype_storage(value_type(m->gr->e, at->v)->dtype), i, TILE, TILE + 1);
    text_line(&loads, "part%u[q * %d + lane] = in%d[%s];", i, TILE + 1, group_arg(m->gr, at->v),
              index);
  }
  text_close(&loads, "}");
  text_close(&loads, "}");
  text_append(x, &loads);
}

static void print_tiles(GridMap *m, int across) {
  Gen *g = m->g;
  Printer *p = &m->p;
  Text *x = &m->k->text, *body = p->level[1];
  const Loop *inner = &m->loops[m->n - 1], *outer = &m->loops[across];
  const int64_t wide = ceil_div(inner->n, TILE), high = ceil_div(outer->n, TILE);
  Loop *others = ARENA_ARRAY(g->a, Loop, m->n);
  int n = 0;
  for (int i = 0; i + 1 < m->n; i++)
    if (i != across) others[n++] = m->loops[i];
  GridMapSchedule s = {
      .elements = loops_count(m->loops, m->n), .width = 1, .threads = BLOCK, .tile = TILE};
  kernel_schedule(m->k, &grid_map_kind, &s, sizeof s);
  m->k->grid = wide * high * loops_count(others, n);
  text_line(body, "const %s tile1 = (%s)(blockIdx.x %% %lldu);", g->index, g->index,
            (long long)wide);
  text_line(body, "const %s tile0 = (%s)(blockIdx.x / %lldu %% %lldu);", g->index, g->index,
            (long long)wide, (long long)high);
  text_line(body, "const int lane = (int)threadIdx.x %% %d;", WARP);
  if (n) {
    const char *count = loops_text(p, others, n);
    text_line(body, "const %s u = (%s)(blockIdx.x / %lldu);", g->index, g->index,
              (long long)(wide * high));
    if (is_bounded(count)) text_line(body, "if (u >= %s) return;", count);
    printer_decode(p, others, n, "u", "i", 1);
  }
  print_load(m, body, across);
  text_line(body, "block_sync();");
  open_rows(body);
  open_place(m, body, across, false, "c");
  for (uint32_t i = 0; i < m->leaves.visited.n; i++) {
    const Visit *at = &m->leaves.visited.at[i];
    if (!is_transposed(m, at, across)) continue;
    const Dtype dt = value_type(m->gr->e, at->v)->dtype;
    const char *name = arena_printf(g->a, "v%d", g->names++);
    text_line(body, "const %s %s = %s;", dtype_compute(dt), name,
              scalar_load(g->a, dt, arena_printf(g->a, "part%u", i),
                          arena_printf(g->a, "lane * %d + q", TILE + 1)));
    printer_bind(p, at->v, at->map, (Printed){name, 1});
  }
  cuda_vector(p, inner->coord, p->coord[inner->coord].text, 1, 1, NULL);
  text_close(body, "}");
  text_close(body, "}");
  text_append(x, p->level[0]);
  text_append(x, body);
}

/* ---- */

/* The position of a thread's vector in the loops: number t of all vectors, of which a row has so
   many. Returns its first element. */
static const char *print_position(GridMap *m, Printer *p, int v, const char *vectors) {
  Gen *g = m->g;
  Text *body = p->level[1];
  const char *base = "t";
  if (m->n > 1) {
    text_line(body, "const %s u = t / %s;", g->index, vectors);
    printer_decode(p, m->loops, m->n - 1, "u", "i", 1);
    base = arena_printf(g->a, "(t %% %s)", vectors);
  }
  if (!m->n || (m->n == 1 && v == 1)) return base;
  text_line(body, v > 1 ? "const %s j = %s * %d;" : "const %s j = %s;", g->index, base, v);
  return "j";
}

/* Where a run ends rows within a vector, at element `end`: that vector's elements one by one. */
static void print_tail(GridMap *m, Text *x, int v, const char *vectors, const char *end) {
  Gen *g = m->g;
  Printer p = printer_new(g, m->gr, 3, x->indent);
  Text *body = p.level[1];
  const char *base = print_position(m, &p, v, vectors);
  text_open(body, "for (%s e = %s; e < %s; e++) {", g->index, base, end);
  cuda_vector(&p, m->loops[m->n - 1].coord, "e", 1, 1, NULL);
  text_close(body, "}");
  text_append(x, p.level[0]);
  text_append(x, body);
}

static void print_vectors(GridMap *m) {
  Gen *g = m->g;
  Printer *p = &m->p;
  Loop *loops = m->loops;
  const int n = m->n;
  Loop *const last = n ? &loops[n - 1] : NULL;
  const int whole = cuda_width(m->gr, n ? loop_unit(last) : 1), /* whatever the extent */
      most = cuda_width(m->gr, n ? last->n : 1);
  const bool tail = n > 1 && whole == 1 && most > 1; /* rows that a run ends anywhere */
  GridMapSchedule s = grid_map_schedule(loops_count(loops, n), tail ? most : whole);
  const int v = s.width;
  kernel_schedule(m->k, &grid_map_kind, &s, sizeof s);
  Text *body = p->level[1];
  const char *end = n ? loops_text(p, last, 1) : "1", *vectors, *all;
  if (tail) {
    vectors = text_ceil_div(g->a, end, v);
    all = text_product(g->a, loops_text(p, loops, n - 1), vectors);
  } else {
    if (n) last->n /= v;
    vectors = n ? loops_text(p, last, 1) : "1";
    all = loops_text(p, loops, n);
  }
  cuda_threads_of(g, m->k, s.threads, all, "t");
  const char *base = print_position(m, p, v, vectors);
  if (tail) text_open(body, "if (%s + %d <= %s) {", base, v, end);
  cuda_vector(p, n ? last->coord : -1, base, v, 1, NULL);
  if (tail) {
    text_close(body, "} else {");
    body->indent++;
    print_tail(m, body, v, vectors, end);
    text_close(body, "}");
  }
  text_append(&m->k->text, p->level[0]);
  text_append(&m->k->text, body);
}

void cuda_map(Gen *g, const Group *gr) {
  GridMap m = {.g = g, .gr = gr, .k = cuda_kernel(g, gr), .p = printer_new(g, gr, 3, 1)};
  Printer *p = &m.p;
  m.k->flops = (uint64_t)(gr->domain->numel * gr->nops);
  m.loops = ARENA_ARRAY(g->a, Loop, p->ncoords + 1);
  int *axes = ARENA_ARRAY(g->a, int, p->ncoords + 1);
  for (int i = 0; i < gr->nout; i++)
    leaves_result(p, i, printer_identity(p, gr->yield[i]), &m.leaves);
  for (int i = 0; i < p->ncoords; i++) axes[i] = i;
  m.n = loops_over(p, &m.leaves, axes, p->ncoords, m.loops);
  const int across = loop_across(&m);
  if (across < 0)
    print_vectors(&m);
  else
    print_tiles(&m, across);
}
