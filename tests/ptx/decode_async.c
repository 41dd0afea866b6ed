/* Readers of Hopper's asynchronous instructions: mbarriers, bulk copies, clusters, setmaxnreg.
 * As in decode_ops.c, a qualifier that says what is not known here is an error. Cache hints are
 * passed over. */
#include "decode.h"
#include "exec_ops.h"
#include <stdio.h>
#include <string.h>

static void asynchronous(Decoder *d, Handler *run) {
  d->p->k->async = true;
  d->ins.run = run;
  d->ins.own_init = true;
}

static void waits(Decoder *d, Waiter *wait) {
  d->p->k->async = true;
  d->ins.flow = FLOW_WAIT;
  d->ins.wait = wait;
}

void decode_mbarrier(Decoder *d) {
  static const char *const ops[] = {"arrive", "",      "arrive_drop", "expect_tx", "complete_tx",
                                    "init",   "inval", "test_wait",   "try_wait",  NULL};
  int op = decode_pick(d, ops, -1);
  d->ins.space = (uint8_t)decode_space(d);
  d->ins.mods = decode_has(d, "relaxed") ? MBARRIER_RELAXED : 0;
  if (op < 0 || decode_has(d, "noComplete")) decode_unknown(d);
  note_access(d, SPACE_SHARED, 8);
  if (op >= 7) {
    waits(d, wait_mbarrier);
    d->ins.mode = decode_has(d, "parity");
    take_dst(d, SLOT_PRED);
    take_address(d);
    take_src(d, d->ins.mode ? SLOT_32 : SLOT_64, d->ins.mode ? TYPE_u32 : TYPE_b64);
    if (more_operands(d)) take_src(d, SLOT_32, TYPE_u32); /* a hint of time */
    return;
  }
  asynchronous(d, op == 5 ? exec_mbarrier_init : op == 6 ? exec_mbarrier_inval : exec_mbarrier);
  bool arrives = op == MBARRIER_ARRIVE || op == MBARRIER_DROP;
  if (arrives && decode_has(d, "expect_tx")) {
    if (op == MBARRIER_DROP) decode_unknown(d);
    op = MBARRIER_ARRIVE_EXPECT;
  }
  d->ins.mode = (uint8_t)op;
  Lexer ahead = d->p->lx; /* a remote arrival may have no result */
  if (arrives && !tok_is(&ahead.tok, '[')) take_dst(d, SLOT_64);
  take_address(d);
  d->ins.vec = more_operands(d);
  if (d->ins.vec) take_src(d, SLOT_32, TYPE_u32);
  bool needs =
      op == 5 || op == MBARRIER_EXPECT || op == MBARRIER_COMPLETE || op == MBARRIER_ARRIVE_EXPECT;
  if (needs && !d->ins.vec) decode_unknown(d);
}

/* cp.async.bulk… */
void decode_bulk(Decoder *d) {
  static const char *const ranks[] = {"1d", "2d", "3d", "4d", "5d", NULL};
  if (decode_has(d, "commit_group")) {
    asynchronous(d, exec_bulk_commit);
    return;
  }
  if (decode_has(d, "wait_group")) {
    asynchronous(d, exec_bulk_wait);
    take_src(d, SLOT_32, TYPE_u32);
    return;
  }
  if (decode_has(d, "prefetch")) {
    decode_idle(d);
    return;
  }
  int rank = decode_has(d, "tensor") ? decode_pick(d, ranks, -1) + 1 : 0;
  bool hint = decode_has(d, "L2::cache_hint");
  if ((decode_has(d, "tensor") && !rank) || decode_has(d, "im2col") ||
      decode_has(d, "tile::gather4") || decode_has(d, "cp_mask"))
    decode_unknown(d);
  asynchronous(d, exec_bulk);
  d->ins.vec = (uint8_t)rank;
  d->ins.mode = decode_has(d, "bulk_group") ? BULK_STORE
                : decode_has(d, "global")   ? BULK_LOAD
                                            : BULK_SHARED;
  d->ins.mode2 = decode_has(d, "multicast::cluster");
  if (d->ins.mode != BULK_STORE && !decode_has(d, "mbarrier::complete_tx::bytes"))
    decode_unknown(d);
  if (d->ins.mode == BULK_SHARED && (rank || d->ins.mode2)) decode_unknown(d);
  note_access(d, SPACE_SHARED, 16);
  note_access(d, SPACE_GLOBAL, 16);
  if (d->ins.mode != BULK_STORE) take_address(d);
  if (!rank)
    take_address(d);
  else if (take_tensor(d) != rank)
    decode_unknown(d);
  if (d->ins.mode == BULK_STORE) take_address(d);
  if (!rank) take_src(d, SLOT_32, TYPE_u32);
  if (d->ins.mode != BULK_STORE) take_address(d); /* the mbarrier */
  if (d->ins.mode2) take_src(d, SLOT_NONE, TYPE_u16);
  if (hint) take_src(d, SLOT_64, TYPE_b64);
}

/* fence.proxy.async, fence.mbarrier_init */
void decode_proxy_fence(Decoder *d) {
  bool init = decode_has(d, "mbarrier_init");
  if (!init && !decode_has(d, "async")) decode_unknown(d);
  asynchronous(d, init ? exec_mbarrier_fence : exec_proxy_fence);
  d->ins.flow = FLOW_PLAIN;
}

/* barrier.cluster.arrive, barrier.cluster.wait */
void decode_cluster(Decoder *d) {
  if (decode_has(d, "wait")) {
    waits(d, wait_cluster);
  } else if (decode_has(d, "arrive")) {
    asynchronous(d, exec_cluster_arrive);
    d->ins.mods = decode_has(d, "relaxed") ? MBARRIER_RELAXED : 0;
  } else {
    decode_unknown(d);
  }
}

void decode_mapa(Decoder *d) {
  Type t = decode_type(d, 0);
  if (type_bytes(t) < 4) decode_unknown(d);
  asynchronous(d, exec_mapa);
  d->ins.own_init = false;
  take_dst(d, decode_class(t));
  take_src(d, decode_class(t), t);
  take_src(d, SLOT_32, TYPE_u32);
}

void decode_elect(Decoder *d) {
  asynchronous(d, exec_elect);
  d->ins.flow = FLOW_WARP;
  d->ins.own_init = false;
  take_dst(d, SLOT_32);
  take_second_dst(d);
  take_src(d, SLOT_32, TYPE_b32);
  d->ins.member = d->ins.nopd - 1;
}

void decode_setmaxnreg(Decoder *d) {
  waits(d, wait_registers);
  d->ins.mode = decode_has(d, "inc");
  if (!d->ins.mode && !decode_has(d, "dec")) decode_unknown(d);
  take_src(d, SLOT_32, TYPE_u32);
}

/* wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {sums}, a, b, p, 1, 1, turn a, turn b */
static unsigned wgmma_columns(const Decoder *d, unsigned k) {
  for (int n = 1; n < d->nparts; n++) {
    char part[16] = "", end = 0;
    unsigned columns, deep;
    if (d->part_size[n] < sizeof part) memcpy(part, d->part[n], d->part_size[n]);
    if (sscanf(part, "m64n%uk%u%c", &columns, &deep, &end) == 2 && deep == k) return columns;
  }
  return 0;
}

static bool take_flag(Decoder *d, bool sign) { /* 0 or 1; of a sign -1 or 1 */
  bool minus = false;
  if (sign) {
    Lexer ahead = d->p->lx;
    ptx_lex_next(&ahead);
    minus = tok_is(&ahead.tok, '-');
    if (minus) ptx_lex_next(&d->p->lx);
    if (minus) d->p->lx.tok = (Tok){TOK_PUNCT, ",", 1, d->mnemonic.line, 0};
  }
  uint64_t v = take_number(d);
  if (v > 1 || (sign && v != 1)) decode_unknown(d);
  return sign ? minus : v == 1;
}

static void decode_mma_async(Decoder *d) {
  Type a = decode_type(d, 1), sum = decode_type(d, 2);
  bool half = a == TYPE_f16 || a == TYPE_bf16;
  unsigned columns = wgmma_columns(d, half ? 16 : 8);
  if (!columns || columns % 8 || columns > 256 || a != decode_type(d, 0) ||
      (!half && a != TYPE_tf32) || (sum != TYPE_f32 && !(sum == TYPE_f16 && a == TYPE_f16)) ||
      decode_has(d, "sp"))
    decode_unknown(d);
  d->ins.run = exec_wgmma;
  d->ins.mode = (uint8_t)(columns / 8);
  d->ins.type = (uint8_t)a;
  d->ins.from = (uint8_t)sum;
  note_access(d, SPACE_SHARED, 16);
  if (take_list(d, true, SLOT_32, sum) != (int)columns / (sum == TYPE_f32 ? 2 : 4))
    decode_unknown(d);
  Lexer ahead = d->p->lx; /* at the comma */
  ptx_lex_next(&ahead);
  unsigned flags = tok_is(&ahead.tok, '{') ? WGMMA_REGISTERS : 0;
  if (!flags)
    take_src(d, SLOT_64, TYPE_b64);
  else if (take_list(d, false, SLOT_32, TYPE_b32) != 4)
    decode_unknown(d);
  take_src(d, SLOT_64, TYPE_b64);
  take_pred(d);
  if (take_flag(d, true)) flags |= WGMMA_NEGATE_A;
  if (take_flag(d, true)) flags |= WGMMA_NEGATE_B;
  if (half && !(flags & WGMMA_REGISTERS) && take_flag(d, false)) flags |= WGMMA_TURN_A;
  if (half && take_flag(d, false)) flags |= WGMMA_TURN_B;
  d->ins.mode2 = (uint8_t)flags;
}

void decode_wgmma(Decoder *d) {
  asynchronous(d, exec_wgmma_fence);
  d->p->k->wgmma = true;
  d->ins.flow = FLOW_WARP;
  if (!decode_has(d, "sync") || !decode_has(d, "aligned")) decode_unknown(d);
  if (decode_has(d, "mma_async")) {
    decode_mma_async(d);
  } else if (decode_has(d, "commit_group")) {
    d->ins.run = exec_wgmma_commit;
  } else if (decode_has(d, "wait_group")) {
    d->ins.run = exec_wgmma_wait;
    take_src(d, SLOT_32, TYPE_u32);
  } else if (!decode_has(d, "fence")) {
    decode_unknown(d);
  }
}
