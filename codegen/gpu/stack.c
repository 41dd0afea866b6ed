/* One launch for two, whose thread blocks do the work of the first and then that of the second; and
   what kernels are for that. program/stack.c says which launches they are.
   Contract: a kernel's text is as it was; where it says p0, p1, … it means its own arguments. Of a
   first launch that every block does, blockIdx and threadIdx are those of its own threads, which
   only the threads of a warp of them meet; its result lies in shared memory. */
#include "codegen/gpu/gpu.h"
#include "codegen/schedule/map.h"
#include "codegen/schedule/product.h"
#include "codegen/schedule/reduce.h"

#include <string.h>

bool cuda_is_thin(const Kernel *k) {
  if (k->schedule_kind != &grid_product_kind || k->variant || k->shared || k->part) return false;
  return ((const GridProductSchedule *)k->schedule)->thin;
}

int64_t cuda_thin_shared(const Kernel *k) {
  enum { STEP = 128, WORD = 4, PAD = 1 }; /* of the depth at most, of a quantized B; bytes */
  const GridProductSchedule *s = k->schedule;
  const int64_t warps = k->block / WARP, m = s->m < s->bm ? s->m : s->bm;
  if (grid_product_within(s)) return warps * s->m * s->bn * WORD;
  const int64_t step = s->bits ? STEP : grid_thin_step(s),
                of_b = !s->tb ? 0 : (s->bits ? STEP / WORD : step) + PAD;
  return warps * (m * (step + s->bn) + of_b * s->bn) * dtype_size(s->dt);
}

bool cuda_stack_alike(const Kernel *a, const Kernel *b) {
  if (!cuda_is_thin(a) || !cuda_is_thin(b) || a->grid != b->grid || a->block != b->block)
    return false;
  const GridProductSchedule *x = a->schedule, *y = b->schedule;
  return x->batch == y->batch && x->m == y->m && x->n == y->n && x->bm == y->bm && x->bn == y->bn &&
         x->tm == y->tm && x->tn == y->tn && x->side == y->side && x->tensor == y->tensor &&
         x->tb == y->tb && x->dt == y->dt && x->bits == y->bits;
}

int64_t cuda_stack_threads(const Kernel *k) {
  if (k->variant || k->shared || k->collective || k->min_blocks || k->early.s.n || k->part)
    return 0;
  if (k->schedule_kind == &grid_map_kind)
    return ((const GridMapSchedule *)k->schedule)->tile ? 0 : k->grid * k->block;
  if (k->schedule_kind != &grid_rows_kind) return 0;
  const GridRowsSchedule *s = k->schedule;
  return s->group == GROUP_WARP     ? s->rows * WARP
         : s->group == GROUP_THREAD ? ceil_div(s->rows, WARP) * WARP
                                    : 0;
}

/* Names `name`0, `name`1, … for the arguments of one of both; `rows` are what blocks have
   themselves. */
static void name_arguments(Text *x, const Kernel *one, const char *name, const int *arg,
                           const StackRows *rows) {
  for (int i = 0; i < one->nargs; i++) {
    const char *type = one->args[i].access.write ? "" : "const ";
    if (arg[i] >= 0)
      text_line(x, "%svoid *%s%d = p%d;", type, name, i, arg[i]);
    else
      text_line(x, "%svoid *%s%d = rows + %llu;", type, name, i,
                (unsigned long long)rows->at[-1 - arg[i]]);
  }
}

static void take_arguments(Text *x, const Kernel *one, const char *name) {
  for (int i = 0; i < one->nargs; i++)
    text_line(x, "%svoid *p%d = %s%d;", one->args[i].access.write ? "" : "const ", i, name, i);
}

/* The text of one of both. */
static void print_one(Text *x, const Kernel *one, const char *name) {
  Text head = one->head, body = one->text;
  text_open(x, "{");
  take_arguments(x, one, name);
  text_append(x, &head);
  text_append(x, &body);
  text_close(x, "}");
}

/* The text with `to` for each `from`. */
static Text with(Arena *a, const Text *y, const char *from, const char *to) {
  Text copy = *y, x = *y;
  const char *at = text_str(&copy);
  x.s.at = NULL, x.s.n = x.s.cap = 0;
  for (const char *next; (next = strstr(at, from)); at = next + strlen(from))
    text_add(&x, "%.*s%s", (int)(next - at), at, to);
  text_add(&x, "%s", at);
  x.a = a;
  return x;
}

/* All of the first launch, by the threads of a block. */
static void print_whole(Gen *g, Text *x, const Kernel *one, int threads) {
  Kernel own = *one;
  own.head = with(g->a, &one->head, "return;", "goto next;");
  own.text = with(g->a, &one->text, "return;", "goto next;");
  text_line(x, "#pragma unroll 1");
  text_open(x, "for (int unit = (int)threadIdx.x, all = %lld; unit < all; unit += %d) {",
            (long long)cuda_stack_threads(one), threads);
  text_line(x,
            "const struct { unsigned x; } blockIdx = {(unsigned)unit / %du}, threadIdx = "
            "{(unsigned)unit %% %du};",
            one->block, one->block);
  print_one(x, &own, "first");
  text_line(x, "next:;");
  text_close(x, "}");
  text_line(x, "block_sync();");
}

static void print_early(Text *x, const Kernel *one, const int *arg) {
  Text own = one->early;
  if (!own.s.n) return;
  text_open(x, "{");
  for (int i = 0; i < one->nargs; i++)
    if (arg[i] >= 0) text_line(x, "const void *early%d = p%d;", i, arg[i]);
  text_open(x, "{");
  for (int i = 0; i < one->nargs; i++)
    if (arg[i] >= 0) text_line(x, "const void *p%d = early%d;", i, i);
  text_append(x, &own);
  text_close(x, "}");
  text_close(x, "}");
}

Kernel *cuda_stack(Gen *g, const Kernel *const *each, const int *const *arg,
                   const StackRows *rows) {
  Kernel *k = ARENA_NEW(g->a, Kernel);
  *k = *each[1];
  cuda_take_all(g, k, each, 2);
  k->grid = each[1]->grid;
  k->mixed = 2;
  k->stacked = true;
  k->nargs = 0;
  for (int i = 0; i < 2; i++)
    for (int a = 0; a < each[i]->nargs; a++)
      if (arg[i][a] >= 0) k->args[arg[i][a]] = each[i]->args[a], k->nargs++;
  for (int i = 0; i < 2; i++) print_early(&k->early, each[i], arg[i]);
  Text *x = &k->text;
  if (rows->n)
    text_line(x, "__shared__ __align__(%d) char rows[%llu];", STACK_ALIGN,
              (unsigned long long)rows->bytes);
  name_arguments(x, each[0], "first", arg[0], rows);
  name_arguments(x, each[1], "then", arg[1], rows);
  if (rows->n)
    print_whole(g, x, each[0], k->block);
  else
    print_one(x, each[0], "first");
  print_one(x, each[1], "then");
  return k;
}
