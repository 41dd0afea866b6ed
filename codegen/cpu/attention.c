/* Prints FlashAttention and its gradients: blocks of queries by blocks of keys, six queries at a
   time, with the micro-kernel and the online softmax of text/attention.h. Contract:
   print/attention.h has the order of all sums. A block of scores lives in the thread's workspace
   alone. Blocks whose keys a causal mask hides are not computed; of the block on the diagonal, the
   keys that one of the six queries sees are. Threads share the blocks of queries, and
   pack a block of keys once for some of them. Of the gradients, they share the heads of keys, as
   one thread computes each product once; where these are few, the blocks of keys and those of
   queries, which compute the scores and their gradients for themselves. The sums have one order in
   any case. Methods: the running maximum is subtracted from scores, and earlier results are
   rescaled when it grows (Milakov and Gimelshein, 2018; Dao et al., 2022). Buffers of long heads
   lie in scratch, a part for each unit, since threads may have small stacks. amx_attention.c has
   the products of bf16 in tile registers, of 32 queries at a time. */
#include "codegen/cpu/attention.h"
#include "codegen/program/extent.h"
#include "passes/plan.h"

/* ---- the results ---- */

/* A panel of tile registers has more rows than a softmax takes at once, which writes as many
   factors in any case. */
static void print_rows_in_parts(FlashPrinter *p, Text *x) {
  const int most = (int)ceil_div(p->s.rows, BLOCK_ROWS) * BLOCK_ROWS;
  text_line(x, "GC_LANES f32 rescale[%d];", most);
  text_open(x, "for (long m = 0; m < r; m += %d) {", BLOCK_ROWS);
  text_line(x, "const long of = r - m < %d ? r - m : %d;", BLOCK_ROWS, BLOCK_ROWS);
  text_line(x,
            "softmax_f32_%lld(scores + m * %lld, of, scale, visible, row_max + i + m, row_sum + i "
            "+ m, rescale + m);",
            (long long)p->a.block, (long long)p->a.block);
  text_close(x, "}");
}

static void print_rows(FlashPrinter *p, Text *x) {
  const Attention *a = &p->a;
  long long B = a->block;
  const char *T = a->T, *scale = attention_scale(p->g, a);
  text_line(x, "%s scale = %s;", T, scale);
  if (flash_open_mask(p, x, "m")) {
    text_line(x, "const %s score = s[c] * scale;", T);
    text_line(x, "s[c] = is_visible ? score : -(%s)__builtin_inff();", T);
    flash_close_mask(x);
    text_line(x, "scale = 1; /* they are scaled */");
    text_close(x, "}");
  }
  if (p->s.amx) {
    print_rows_in_parts(p, x);
    return;
  }
  text_line(x, "GC_LANES %s rescale[%d];", T, BLOCK_ROWS);
  text_line(x, "softmax_%s_%lld(scores, r, scale, visible, row_max + i, row_sum + i, rescale);", T,
            B);
}

/* A block of keys and values, for all queries of the unit. */
static void print_keys(FlashPrinter *p, Text *x, const char *head) {
  const Attention *a = &p->a;
  const FlashRows k = flash_operand(p, 1, a->k, &a->k_at), v = flash_operand(p, 2, a->v, &a->v_at);
  if (p->s.amx) {
    flash_amx_turned(p, x, "keys", k, head, "j0", "cols", a->d);
    flash_amx_pairs(p, x, "values", v, head, "j0", "cols", a->e);
    return;
  }
  flash_block(p, x, "k", k, head, "j0", "cols", a->d);
  flash_block(p, x, "v", v, head, "j0", "cols", a->e);
  flash_pack(p, x, "k", "keys", a->d);
}

static void print_attention(FlashPrinter *p, Kernel *k) {
  const Attention *a = &p->a;
  Text *x = &k->text;
  long long B = a->block, e = a->e, of_y = flash_sums_width(p);
  const char *T = a->T;
  const FlashRows q = flash_operand(p, 0, a->q, &a->q_at);
  const char *to_q =
      p->s.amx ? arena_printf(p->g->a, "q_tiles + slot * %lld", (long long)flash_pairs(a->d))
               : arena_printf(p->g->a, "q_block + slot * %lld", (long long)a->d);
  gen_helper(p->g, arena_printf(p->g->a, "GC_SOFTMAX(%s, %lld, %d)\n", T, B, BLOCK_ROWS));
  flash_buffer(p, x, "scores", p->s.rows * B);
  if (p->s.amx) kernel_buffer(p->g, k, x, "i32", 4, "weights", p->s.rows * flash_pairs(B));
  flash_buffer(p, x, "maxima", p->s.together * B);
  flash_buffer(p, x, "totals", p->s.together * B);
  flash_open_units(p, x);
  flash_declare_unit(p, x);
  flash_open_heads(p, x);
  if (p->s.amx)
    flash_amx_tiles(p, x, to_q, q, "h", "i0", "rows", a->d);
  else
    flash_copy_block(p, x, to_q, q, "h", "i0", "rows", a->d);
  text_line(
      x, "for (long r = 0; r < rows; r++) row_max[r] = -(%s)__builtin_inff(), row_sum[r] = 0;", T);
  text_line(x, "for (long l = 0; l < rows * %lld; l++) y[l] = 0;", of_y);
  text_close(x, "}");
  text_line(x, "const long end = %s;", a->causal ? "i0 + rows" : p->keys);
  text_open(x, "for (long j0 = 0; j0 < end; j0 += %lld) {", B);
  text_line(x, "const long cols = %s - j0 < %lld ? %s - j0 : %lld;", p->keys, B, p->keys, B);
  if (a->masked) {
    text_line(x, "long seen = 0;");
    text_line(x, "for (long h = head; h < head + heads && !seen; h++) seen = %s;",
              flash_seen_keys(p, "i0", "rows", "cols"));
    text_line(x, "if (!seen) continue;");
  }
  const char *keys =
      a->group == 1 ? "head" : arena_printf(p->g->a, "head / %lld", (long long)a->group);
  print_keys(p, x, keys);
  flash_open_heads(p, x);
  if (!p->s.amx) flash_declare_block(p, x, "q", to_q, q, "h", "i0");
  flash_open_row_panels(p, x, a->causal ? "j0 < i0 ? 0 : j0 - i0" : "0", "rows");
  flash_declare_visible(p, x);
  if (p->s.amx)
    flash_amx_scores(p, x, to_q, "keys", "scores", a->d);
  else
    flash_scores(p, x, "q", "keys", "scores", a->d);
  print_rows(p, x);
  if (p->s.amx)
    flash_amx_results(p, x);
  else
    flash_results(p, x, "scores", "v", "y", e, e, true);
  for (int i = 0; i < 3; i++) text_close(x, "}");
  const FlashRows y = flash_result(p, 0);
  flash_open_heads(p, x);
  text_line(x, "%s *const to = %s;", dtype_storage(a->dt), flash_row_at(p, &y, "h", "i0"));
  text_open(x, "for (long r = 0; r < rows; r++) {");
  text_line(x, "const %s l = row_sum[r] == 0 ? 1 : row_sum[r];", T);
  text_open(x, "GC_IVDEP for (long c = 0; c < %lld; c++) {", e);
  text_line(x, "const %s value = divide(y[r * %lld + c], l);", T, of_y);
  text_line(x, "to[r * %lld + c] = %s;", flash_row_stride(&y),
            scalar_store(p->g->a, a->dt, "value"));
  text_close(x, "}");
  text_close(x, "}");
  text_open(x, "GC_IVDEP for (long r = 0; r < rows; r++) {");
  text_line(x, "const %s m = row_max[r] == -(%s)__builtin_inff() ? 0 : row_max[r];", T, T);
  text_line(x, "const %s lse = m + %s_log(row_sum[r]);", T, T);
  text_line(x, "out%d[h * %lld + i0 + r] = lse;", a->result[1], (long long)a->t);
  for (int i = 0; i < 3; i++) text_close(x, "}");
}

/* ---- the whole ---- */

/* Blocks of rows are copied where those of an operand or a result lie apart. */
static void find_blocks(FlashPrinter *p) {
  const Attention *a = &p->a;
  const StridedView *at[] = {&a->q_at, &a->k_at, &a->v_at, &a->dy_at};
  static const int operands[2][4] = {{0, 1, 2}, {1, 2, 3, 0}};
  p->half = p->apart = a->compute != a->dt;
  for (int i = 0; i < 3 + a->grad; i++) {
    const Type *t = value_type(a->gr->e, a->op->operands[operands[a->grad][i]]);
    p->apart |= !attention_is_whole(t, at[i]);
  }
  for (int k = 1; k < 3 && a->grad; k++)
    p->apart |= !attention_is_whole(value_type(a->gr->e, a->op->results[k]), &a->result_at[k]);
}

uint64_t cpu_attention_scratch(const Target *t, const Group *gr) {
  Arena *a = arena_new();
  FlashPrinter p = {.a = attention_of(a, gr), .machine = &cpu_target(t)->machine};
  p.s = attention_schedule(p.machine, &p.a.shape, 0);
  find_blocks(&p);
  uint64_t bytes =
      flash_sums_bytes(&p.a) + (uint64_t)attention_units(&p.a.shape) * flash_unit_bytes(&p);
  arena_free(a);
  return bytes;
}

static void count_rows(FlashPrinter *p) {
  const Group *gr = p->a.gr;
  const Type *q = value_type(gr->e, p->a.op->operands[p->a.grad]);
  const Type *k = value_type(gr->e, p->a.op->operands[p->a.grad + 1]);
  int row = q->rank - 2;
  p->bounded_rows = type_extent(q, row) != NULL;
  p->bounded_keys = type_extent(k, row) != NULL;
  p->rows = dims_text(p->g, gr->e, q, row, row + 1);
  p->keys = dims_text(p->g, gr->e, k, row, row + 1);
  p->blocks = p->s.finest > 1   ? "blocks"
              : p->bounded_rows ? text_ceil_div(p->g->a, p->rows, p->a.block)
                                : arena_printf(p->g->a, "%lld", (long long)p->s.blocks);
}

/* Declares `blocks` of `step` queries where blocks may be divided in `parts`. */
static void print_parts(const FlashPrinter *p, Text *x) {
  const Attention *a = &p->a;
  const Type *q = value_type(a->gr->e, a->op->operands[0]);
  if (p->s.finest == 1) return;
  text_line(x, "const long parts = attention_parts(nt, %s, %s, %lld, %d, %d), step = %lld / parts;",
            dims_text(p->g, a->gr->e, q, 0, q->rank - 2), p->rows, (long long)a->block, p->s.finest,
            a->causal, (long long)a->block);
  text_line(x, "const long blocks = (%s + step - 1) / step;", p->rows);
}

/* Declares the thread's units where they do not take equal time. */
static void print_shares(const FlashPrinter *p, Kernel *k) {
  const Attention *a = &p->a;
  Arena *arena = p->g->a;
  Text *x = &k->text;
  const Type *of = value_type(a->gr->e, a->op->operands[a->grad ? 2 : 0]);
  const char *heads = dims_text(p->g, a->gr->e, of, 0, of->rank - 2);
  k->units = p->s.units;
  if (!a->grad) {
    text_line(x, "const long heads = %s;", heads);
    if (p->s.finest == 1) text_line(x, "const long blocks = %s;", p->blocks);
    text_line(x, "const long u0 = attention_share(t, nt, heads, blocks, 1);");
    text_line(x, "const long u1 = attention_share(t + 1, nt, heads, blocks, 1);");
    return;
  }
  long long group = a->group;
  const char *key_blocks = p->bounded_keys
                               ? text_ceil_div(arena, p->keys, a->block)
                               : arena_printf(arena, "%lld", (long long)p->s.key_blocks);
  text_line(x, "const long heads = %s, key_blocks = %s, query_blocks = %s * %lld;", heads,
            key_blocks, p->blocks, group);
  text_line(x, "const int whole = attention_grad_whole(nt, heads, key_blocks, query_blocks);");
  text_line(x, "const long key_units = heads * key_blocks;");
  for (int i = 0; i < 2; i++)
    text_line(x,
              "const long u%d = attention_grad_share(t + %d, nt, heads, key_blocks, query_blocks, "
              "%lld, %d);",
              i, i, group, a->causal);
}

/* Of what has a row a query and lies head by head, threads own slices. */
static void declare_slices(const FlashPrinter *p, Kernel *k) {
  const Attention *a = &p->a;
  const Group *gr = a->gr;
  const int by_query[] = {a->q, a->dy, a->lse, a->delta};
  const StridedView *at[] = {&a->q_at, &a->dy_at, NULL, NULL};
  const int operand[] = {a->grad, 0};
  for (int i = 0; i < 4; i++) {
    if (by_query[i] < 0) continue;
    if (at[i] && !attention_is_whole(value_type(gr->e, a->op->operands[operand[i]]), at[i]))
      continue;
    kernel_split_in(k, gr, by_query[i], 1, 0, value_type(gr->e, gr->in[by_query[i]])->bytes);
  }
  for (int i = 0; i < a->op->nresults; i++)
    if (attention_is_whole(value_type(gr->e, a->op->results[i]), &a->result_at[i]))
      kernel_split_out(k, gr, a->result[i], 1, 0, value_type(gr->e, a->op->results[i])->bytes);
  for (int i = 0; i < gr->nin + gr->nout; i++)
    if (k->args[i].access.rows && p->s.parts != k->units) k->args[i].access.parts = p->s.parts;
}

void cpu_attention(Gen *g, const Group *gr) {
  FlashPrinter p = {.g = g, .a = attention_of(g->a, gr)};
  const Attention *a = &p.a;
  p.machine = &cpu_target(g->target)->machine;
  find_blocks(&p);
  Kernel *k = p.k = kernel_new(g, gr);
  kernel_args(g, k, gr);
  k->flops = op_flops(gr->e, gr->op);
  p.s = attention_schedule(p.machine, &a->shape, k->flops);
  kernel_schedule(k, &attention_kind, &p.s, sizeof p.s);
  const char *all = arena_printf(g->a, "%lld", (long long)p.s.all_units);
  count_rows(&p);
  print_parts(&p, &k->text);
  if (group_is_bounded(gr) ||
      p.s.finest > 1) { /* heads of queries in blocks; of gradients, heads of keys */
    const Type *heads = value_type(gr->e, a->op->operands[a->grad ? 2 : 0]);
    all = dims_text(g, gr->e, heads, 0, heads->rank - 2);
    if (!a->grad) all = text_product(g->a, all, p.blocks);
  }
  if (p.s.shared)
    print_shares(&p, k);
  else
    kernel_units_of(k, p.s.units, all);
  k->balance = attention_balance;
  if (k->units == 1) text_line(&k->text, "const long u0 = 0, u1 = %s;", all);
  if (p.s.parts > 1) declare_slices(&p, k);
  if (p.s.amx) text_line(&k->text, "amx_configure();");
  if (a->grad)
    flash_gradients(&p, k);
  else
    print_attention(&p, k);
  if (p.s.amx) text_line(&k->text, "amx_release();");
}
