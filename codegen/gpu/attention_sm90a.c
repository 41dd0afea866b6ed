/* Attention on sm_90a: WgmmaAttention of text/wgmma_attention.h, whose tiles are copied by tensor
   maps. Contract: the plain kernel is printed; operands that do not lie as maps want it, rows and
   heads at multiples of 16 bytes in at most three axes, leave it alone. */
#include "codegen/gpu/attention.h"

#include <stdlib.h>

typedef struct MapAxis {
  int64_t extent, stride;
  const char *at; /* the coordinate; NULL: rows */
} MapAxis;

static int by_stride(const void *a, const void *b) {
  const MapAxis *x = a, *y = b;
  return (x->stride > y->stride) - (x->stride < y->stride);
}

/* Adds the map of an operand with rows, and defines `name`, which begins the copy of 64 rows and 64
   columns. */
static bool add_map(Gen *g, KernelVariant *v, const Attention *a, int operand, int arg,
                    const StridedView *at, const char *name) {
  enum { ROW = 16, SIDE = 64 }; /* bytes; elements */
  const Type *t = value_type(a->gr->e, a->op->operands[operand]);
  int n;
  const HeadAxis *head = attention_head_axes(g, t, at, &n);
  if (n + 2 > MAP_AXES || at->offset * 2 % ROW) return false;
  MapAxis axis[MAP_AXES];
  axis[0] = (MapAxis){t->dim[t->rank - 2], attention_row_stride(t, at), NULL};
  for (int i = 0; i < n; i++)
    axis[i + 1] = (MapAxis){head[i].extent, head[i].stride, attention_head_index(g, &head[i], "h")};
  qsort(axis, (size_t)n + 1, sizeof *axis, by_stride);
  KernelMap m = {.name = arena_printf(g->a, "map_%s", name),
                 .arg = arg,
                 .dtype = a->dt,
                 .offset = at->offset,
                 .size = {t->dim[t->rank - 1]},
                 .stride = {1},
                 .box = {SIDE}};
  Text call = text_new(g->a, 0);
  for (int i = 1; i < MAP_AXES; i++) {
    const int64_t reach = m.size[i - 1] * m.stride[i - 1];
    const bool is = i <= n + 1;
    if (is && (axis[i - 1].stride < reach || axis[i - 1].stride * 2 % ROW)) return false;
    m.size[i] = is ? axis[i - 1].extent : 1;
    m.stride[i] = is ? axis[i - 1].stride : reach;
    m.box[i] = is && !axis[i - 1].at ? SIDE : 1;
    text_add(&call, ", %s", !is ? "0" : axis[i - 1].at ? axis[i - 1].at : "row");
  }
  v->map[v->maps++] = m;
  text_line(&v->text,
            "const auto copy_%s = [&](char *to, int column, int row, int h, uint64_t *b) { "
            "tensor_copy(to, &%s, column%s, b); };",
            name, m.name, text_str(&call));
  return true;
}

/* Of a number a query of all heads, which lie side by side. */
static void add_statistics(Gen *g, KernelVariant *v, const Attention *a, int arg,
                           const char *name) {
  enum { UNIT = 4 }; /* 16 bytes */
  const int64_t all = a->heads * a->t, row = ceil_div(all, UNIT) * UNIT;
  v->map[v->maps++] = (KernelMap){.name = arena_printf(g->a, "map_%s", name),
                                  .arg = arg,
                                  .dtype = DT_F32,
                                  .size = {all, 1, 1, 1},
                                  .stride = {1, row, row, row},
                                  .box = {WGMMA_STEP, 1, 1, 1}};
}

static bool add_maps(Gen *g, KernelVariant *v, const Attention *a, bool keys) {
  if (!add_map(g, v, a, a->grad, a->q, &a->q_at, "q") ||
      !add_map(g, v, a, a->grad + 1, a->k, &a->k_at, "k") ||
      !add_map(g, v, a, a->grad + 2, a->v, &a->v_at, "v"))
    return false;
  if (a->grad && !add_map(g, v, a, 0, a->dy, &a->dy_at, "dy")) return false;
  if (!keys) return true;
  add_statistics(g, v, a, a->lse, "lse");
  add_statistics(g, v, a, a->delta, "delta");
  text_line(&v->text, "const auto statistics = [&](void *lse, void *delta, int at, uint64_t *b) { "
                      "tensor_copy(lse, &map_lse, at, 0, 0, 0, b), "
                      "tensor_copy(delta, &map_delta, at, 0, 0, 0, b); };");
  return true;
}

bool cuda_attention_has_maps(Gen *g, const Attention *a) {
  KernelVariant v = {.text = text_new(g->a, 1)};
  return add_maps(g, &v, a, false);
}

static void print_instance(Text *x, const Attention *a, const WgmmaAttentionSchedule *s) {
  cuda_attention_rows(x, a);
  text_line(
      x, "typedef WgmmaAttention<%s, %lld, %lld, %lld, %lld, %d, %d, %d, %d, %s, Rows> Block;",
      a->dt == DT_F16 ? "WgmmaF16" : "WgmmaBf16", (long long)a->t, (long long)a->s, (long long)a->d,
      (long long)a->e, s->groups, s->resident, WGMMA_STEP, s->stages, a->causal ? "true" : "false");
  text_line(x, "extern __shared__ __align__(1024) char smem[];");
  text_line(x, "__shared__ uint64_t full[%d], empty[%d], ready;", s->stages, s->stages);
  text_line(x, "Block block = {{}, smem, full, empty, &ready};");
}

void cuda_attention_sm90a(Gen *g, Kernel *k, const Attention *a, bool keys) {
  WgmmaAttentionSchedule s;
  if (!wgmma_attention_schedule(&cuda_target(g->target)->machine, &a->shape, keys, &s)) return;
  KernelVariant *v = ARENA_NEW(g->a, KernelVariant);
  *v = (KernelVariant){.text = text_new(g->a, 1),
                       .grid = s.blocks,
                       .block = s.threads,
                       .shared = s.shared,
                       .min_blocks = s.resident};
  if (!add_maps(g, v, a, keys)) return;
  Text *x = &v->text;
  print_instance(x, a, &s);
  cuda_attention_block(x, a, keys, "(int)blockIdx.x", s.rows, s.blocks_of_head);
  cuda_leave_behind(g, x, a, a->grad + keys, keys ? "j0" : "i0");
  cuda_attention_params(g, x, a, keys ? "0" : "h");
  const long long group = a->group;
  const char *lse = arena_printf(g->a, "in%d", a->lse),
             *delta = arena_printf(g->a, "in%d", a->delta);
  const char *y = cuda_attention_result(g, a, keys, "h");
  if (keys)
    text_line(x,
              "block.backward_kv(copy_q, copy_k, copy_v, copy_dy, statistics, %s, %s, params, "
              "%lld, j0, h, h * %lld, %s);",
              y, cuda_attention_result(g, a, 2, "h"), group, group,
              cuda_masks(g, a, arena_printf(g->a, "h * %lld", group)));
  else if (a->grad)
    text_line(x,
              "block.backward_q(copy_q, copy_k, copy_v, copy_dy, %s, %s, %s, params, i0, h, h / "
              "%lld);",
              cuda_of_queries(g, a, lse, "h"), cuda_of_queries(g, a, delta, "h"), y, group);
  else
    text_line(x, "block.forward(copy_q, copy_k, copy_v, %s, %s, params, i0, h, h / %lld);", y,
              cuda_of_queries(g, a, arena_printf(g->a, "out%d", a->result[1]), "h"), group);
  k->variant = v;
}
