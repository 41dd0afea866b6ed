/* One launch for several, of one kernel or of several kernels: the blocks of each launch follow
   those of the one before.
   Contract: a kernel's text is as it was; where it says blockIdx and p0, p1, … it means those of
   its part. Functions of the library that it calls are given the block. */
#include "codegen/gpu/gpu.h"
#include "codegen/schedule/map.h"
#include "codegen/schedule/product.h"
#include "codegen/schedule/reduce.h"

void cuda_take_all(Gen *g, Kernel *k, const Kernel *const *each, int n) {
  k->nargs = 0;
  k->grid = 0;
  k->flops = 0;
  for (int i = 0; i < n; i++) {
    k->nargs += each[i]->nargs;
    k->grid += each[i]->grid;
    k->flops += each[i]->flops;
    k->bounded |= each[i]->bounded;
  }
  k->args = ARENA_ARRAY(g->a, KernelArg, k->nargs + 1);
  k->helpers.n = 0, k->helpers.cap = 0, k->helpers.at = NULL;
  for (int i = 0, arg = 0; i < n; i++) {
    for (int a = 0; a < each[i]->nargs; a++) k->args[arg++] = each[i]->args[a];
    for (uint32_t h = 0; h < each[i]->helpers.n; h++)
      vec_push(g->a, &k->helpers, each[i]->helpers.at[h]);
  }
  k->early = text_new(g->a, 1);
  k->head = text_new(g->a, 1);
  k->text = text_new(g->a, 1);
}

/* The text of a part, whose block is part_block, and whose arguments are q0, q1, … */
static void print_part(Text *x, const Kernel *one) {
  Text own = one->head, body = one->text;
  text_open(x, "{");
  text_line(x, "const PartIdx blockIdx = part_block;");
  for (int i = 0; i < one->nargs; i++)
    text_line(x, "%svoid *p%d = q%d;", one->args[i].access.write ? "" : "const ", i, i);
  text_append(x, &own);
  text_append(x, &body);
  text_close(x, "}");
}

Kernel *cuda_batch(Gen *g, const Kernel *const *each, int n) {
  const Kernel *one = each[0];
  Kernel *k = ARENA_NEW(g->a, Kernel);
  *k = *one;
  k->one = one;
  k->parts = n;
  cuda_take_all(g, k, each, n);
  Text *x = &k->text;
  text_line(x, "struct PartIdx { unsigned x; };");
  text_line(x, "const PartIdx part_block = {blockIdx.x %% %lldu};", (long long)one->grid);
  for (int i = 0; i < one->nargs; i++)
    text_line(x, "%svoid *q%d;", one->args[i].access.write ? "" : "const ", i);
  text_open(x, "switch (blockIdx.x / %lldu) {", (long long)one->grid);
  for (int p = 0; p < n; p++) {
    Text line = text_new(g->a, 0);
    text_add(&line, p + 1 < n ? "case %d:" : "default:", p);
    for (int i = 0; i < one->nargs; i++) text_add(&line, " q%d = p%d;", i, p * one->nargs + i);
    text_line(x, "%s break;", text_str(&line));
  }
  text_close(x, "}");
  print_part(x, one);
  return k;
}

/* Of kernels that keep no tile of more than one operand. */
int64_t cuda_mix_shared(const Kernel *k) {
  enum { NUMBER = 8, TILE = 17 << 10 }; /* bytes, at most; the latter of grid_tile_depth */
  const bool plain = !k->variant && !k->shared && !k->collective && k->nargs;
  if (!plain) return -1;
  if (!k->schedule_kind) return k->min_blocks ? -1 : 0;
  if (k->schedule_kind == &grid_product_kind)
    return grid_product_within(k->schedule) ? cuda_thin_shared(k) : -1;
  if (k->min_blocks) return -1;
  if (k->schedule_kind == &grid_map_kind)
    return ((const GridMapSchedule *)k->schedule)->tile ? -1 : 0;
  if (k->schedule_kind == &grid_rows_kind) {
    const GridRowsSchedule *s = k->schedule;
    return s->group == GROUP_THREAD || s->group == GROUP_WARP ? 0 : -1;
  }
  if (k->schedule_kind != &grid_columns_kind) return -1;
  const GridColumnsSchedule *s = k->schedule;
  const int64_t tile = (int64_t)s->depth * grid_tile_stride(s->width) * s->tiled;
  const int64_t combined = s->split ? (int64_t)s->parts * grid_tile_stride(s->combine_width) : 0;
  const int64_t bytes = NUMBER * (tile > combined ? tile : combined);
  return bytes < TILE ? bytes : TILE;
}

/* What part i of a mixture asks memory for before the launch in front has ended. */
static void print_early(Text *x, const Kernel *one, int64_t blocks, int arg) {
  Text own = one->early;
  if (!own.s.n) return;
  text_open(x, "if (blockIdx.x >= %lldu && blockIdx.x < %lldu) {", (long long)blocks,
            (long long)(blocks + one->grid));
  text_line(
      x, "const struct { unsigned x; } part_block = {blockIdx.x - %lldu}, blockIdx = part_block;",
      (long long)blocks);
  for (int a = 0; a < one->nargs; a++) text_line(x, "const void *q%d = p%d;", a, arg + a);
  text_open(x, "{");
  for (int a = 0; a < one->nargs; a++) text_line(x, "const void *p%d = q%d;", a, a);
  text_append(x, &own);
  text_close(x, "}");
  text_close(x, "}");
}

Kernel *cuda_mix(Gen *g, const Kernel *const *each, int n) {
  Kernel *k = ARENA_NEW(g->a, Kernel);
  *k = *each[0];
  k->one = NULL;
  k->parts = 0;
  k->mixed = n;
  for (int i = 0; i < n; i++)
    if (each[i]->block > k->block) k->block = each[i]->block;
  cuda_take_all(g, k, each, n);
  Text *x = &k->text;
  text_line(x, "struct PartIdx { unsigned x; };");
  int64_t blocks = 0;
  for (int i = 0, arg = 0; i < n; i++) {
    const Kernel *one = each[i];
    print_early(&k->early, one, blocks, arg);
    if (i + 1 < n)
      text_open(x, "if (blockIdx.x < %lldu) {", (long long)(blocks + one->grid));
    else
      text_open(x, "{");
    text_line(x, "const PartIdx part_block = {blockIdx.x - %lldu};", (long long)blocks);
    for (int a = 0; a < one->nargs; a++, arg++)
      text_line(x, "%svoid *q%d = p%d;", one->args[a].access.write ? "" : "const ", a, arg);
    if (one->block < k->block) text_line(x, "if (threadIdx.x >= %d) return;", one->block);
    print_part(x, one);
    if (i + 1 < n) text_line(x, "return;");
    text_close(x, "}");
    blocks += one->grid;
  }
  return k;
}
