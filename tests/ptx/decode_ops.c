/* Readers of the instructions in ops.def: which qualifiers and operands each one has.
 * Qualifiers that only steer caches or scheduling are passed over; any other unknown one is an
 * error. Source: PTX ISA 9.0, chapter 9.7. */
#include "decode.h"
#include "exec_ops.h"

static Type need_type(Decoder *d, int from_end) {
  Type t = decode_type(d, from_end);
  if (!t) decode_unknown(d);
  return t;
}
static void set_run(Decoder *d, Handler *run, Flow flow) {
  d->ins.run = run;
  d->ins.flow = flow;
}

/* ---- memory ---- */
static int vector_of(const Decoder *d) {
  return decode_has(d, "v2") ? 2 : decode_has(d, "v4") ? 4 : decode_has(d, "v8") ? 8 : 1;
}

static void memory_common(Decoder *d) {
  Type t = need_type(d, 0);
  if (t == TYPE_pred || t == TYPE_b128) decode_unknown(d);
  d->ins.type = (uint8_t)t;
  d->ins.space = (uint8_t)decode_space(d);
  if (decode_has(d, "shared::cluster")) d->p->k->async = true;
  d->ins.vec = (uint8_t)vector_of(d);
  d->ins.own_init = true;
  note_access(d, (Space)d->ins.space, type_bytes(t));
}

void decode_ld(Decoder *d) {
  memory_common(d);
  set_run(d, exec_ld, FLOW_PLAIN);
  d->ins.mode = decode_has(d, "nc");
  if (take_list(d, true, SLOT_NONE, (Type)d->ins.type) != d->ins.vec) decode_unknown(d);
  take_address(d);
}

void decode_st(Decoder *d) {
  memory_common(d);
  set_run(d, exec_st, FLOW_PLAIN);
  take_address(d);
  if (take_list(d, false, SLOT_NONE, (Type)d->ins.type) != d->ins.vec) decode_unknown(d);
}

void decode_atom(Decoder *d) {
  static const char *const ops[] = {"add",  "min", "max", "and", "or", "xor",
                                    "exch", "cas", "inc", "dec", NULL};
  memory_common(d);
  set_run(d, exec_atom, FLOW_PLAIN);
  Type t = (Type)d->ins.type;
  int op = decode_pick(d, ops, -1);
  bool half = type_float(t) && t != TYPE_f32 && t != TYPE_f64;
  if (op < 0 || half || type_bytes(t) < 4 || d->ins.vec > 1) decode_unknown(d);
  if (type_float(t) && op != ATOM_ADD && op != ATOM_EXCH) decode_unknown(d);
  d->ins.mode = (uint8_t)op;
  d->ins.mode2 = d->part_size[0] == 4; /* atom, not red */
  if (d->ins.mode2) take_dst(d, decode_class(t));
  take_address(d);
  take_src(d, decode_class(t), t);
  if (op == ATOM_CAS) take_src(d, decode_class(t), t);
}

void decode_cp(Decoder *d) {
  if (d->nparts < 3 || !decode_has(d, "async") || decode_has(d, "reduce") ||
      decode_has(d, "mbarrier"))
    decode_unknown(d);
  if (decode_has(d, "bulk")) {
    decode_bulk(d);
    return;
  }
  d->ins.own_init = true;
  d->ins.flow = FLOW_PLAIN;
  if (decode_has(d, "commit_group")) {
    d->ins.run = exec_cp_commit;
  } else if (decode_has(d, "wait_all")) {
    d->ins.run = exec_cp_wait_all;
  } else if (decode_has(d, "wait_group")) {
    d->ins.run = exec_cp_wait;
    take_src(d, SLOT_32, TYPE_u32);
  } else {
    d->ins.run = exec_cp_async;
    take_address(d);
    take_address(d);
    uint64_t size = take_number(d);
    if (size != 4 && size != 8 && size != 16) decode_unknown(d);
    d->ins.vec = (uint8_t)size;
    note_access(d, SPACE_SHARED, (unsigned)size);
    note_access(d, SPACE_GLOBAL, (unsigned)size);
    if (more_operands(d)) {
      take_src(d, SLOT_32, TYPE_u32);
      note_access(d, SPACE_GLOBAL, 1);
    } else {
      add_absent(d);
    }
  }
}

void decode_ldmatrix(Decoder *d) {
  set_run(d, exec_ldmatrix, FLOW_WARP);
  if (!decode_has(d, "m8n8") || decode_type(d, 0) != TYPE_b16) decode_unknown(d);
  d->ins.vec = decode_has(d, "x4") ? 4 : decode_has(d, "x2") ? 2 : 1;
  d->ins.mode = decode_has(d, "trans");
  d->ins.own_init = true;
  d->ins.space = (uint8_t)decode_space(d);
  note_access(d, SPACE_SHARED, 16);
  if (take_list(d, true, SLOT_32, TYPE_b32) != d->ins.vec) decode_unknown(d);
  take_address(d);
}

void decode_stmatrix(Decoder *d) {
  set_run(d, exec_stmatrix, FLOW_WARP);
  if (!decode_has(d, "m8n8") || decode_type(d, 0) != TYPE_b16) decode_unknown(d);
  d->ins.vec = decode_has(d, "x4") ? 4 : decode_has(d, "x2") ? 2 : 1;
  d->ins.mode = decode_has(d, "trans");
  d->ins.own_init = true;
  d->ins.space = (uint8_t)decode_space(d);
  note_access(d, SPACE_SHARED, 16);
  take_address(d);
  if (take_list(d, false, SLOT_32, TYPE_b32) != d->ins.vec) decode_unknown(d);
}

void decode_mma(Decoder *d) {
  static const char *const shapes[] = {"m16n8k4", "m16n8k8", "m16n8k16", NULL};
  static const uint8_t ks[] = {4, 8, 16};
  int shape = decode_pick(d, shapes, -1);
  Type a = need_type(d, 2), b = need_type(d, 1), c = need_type(d, 0), r = need_type(d, 3);
  set_run(d, exec_mma, FLOW_WARP);
  bool half = a == TYPE_f16 || a == TYPE_bf16;
  if (shape < 0 || a != b || c != r || !decode_has(d, "row") || !decode_has(d, "col") ||
      (!half && a != TYPE_tf32) || (half && shape == 0) || (!half && shape == 2) ||
      (c != TYPE_f32 && !(c == TYPE_f16 && a == TYPE_f16)))
    decode_unknown(d);
  d->ins.mode = ks[shape];
  d->ins.type = (uint8_t)a;
  d->ins.from = (uint8_t)c;
  d->ins.own_init = true;
  int na = half ? ks[shape] / 4 : ks[shape] / 2, nc = c == TYPE_f32 ? 4 : 2;
  if (take_list(d, true, SLOT_32, c) != nc || take_list(d, false, SLOT_32, a) != na ||
      take_list(d, false, SLOT_32, a) != na / 2 || take_list(d, false, SLOT_32, c) != nc)
    decode_unknown(d);
}

/* ---- moves ---- */
void decode_mov(Decoder *d) {
  Type t = need_type(d, 0);
  SlotClass cls = decode_class(t);
  d->ins.type = (uint8_t)t;
  if (t == TYPE_pred) {
    d->ins.run = exec_mov_pred;
    take_dst(d, SLOT_PRED);
    take_pred(d);
    return;
  }
  d->ins.run = cls == SLOT_64 ? exec_mov64 : exec_mov32;
  if (tok_is(&d->p->lx.tok, '{')) {
    int n = take_list(d, true, SLOT_NONE, TYPE_NONE);
    if (n != 2 && n != 4) decode_unknown(d);
    take_src(d, cls, t);
    d->ins.run = exec_unpack;
    d->ins.own_init = true;
    d->ins.vec = (uint8_t)n;
    return;
  }
  take_dst(d, cls);

  Lexer ahead = d->p->lx; /* at the comma */
  ptx_lex_next(&ahead);
  if (tok_is(&ahead.tok, '{')) {
    int n = take_list(d, false, SLOT_NONE, TYPE_NONE);
    if (n != 2 && n != 4) decode_unknown(d);
    d->ins.run = exec_pack;
    d->ins.own_init = true;
    d->ins.vec = (uint8_t)n;
  } else {
    d->ins.parts = PARTS_MOVE;
    take_src(d, cls, t);
  }
}

void decode_cvt(Decoder *d) {
  Type to = need_type(d, 1), from = need_type(d, 0);
  d->ins.type = (uint8_t)to;
  d->ins.from = (uint8_t)from;
  d->ins.round = (uint8_t)decode_round(d);
  d->ins.mods =
      (uint8_t)((decode_has(d, "ftz") ? MOD_FTZ : 0) | (decode_has(d, "sat") ? MOD_SAT : 0));
  d->ins.mode = decode_has(d, "rzi") || decode_has(d, "rni") || decode_has(d, "rmi") ||
                decode_has(d, "rpi"); /* to an integer value */
  d->ins.mode2 = (uint8_t)((decode_has(d, "relu") ? 1 : 0) | (decode_has(d, "rna") ? 2 : 0));
  if (from == TYPE_pred || to == TYPE_pred || decode_has(d, "satfinite")) decode_unknown(d);
  if (to == TYPE_bf16x2 || to == TYPE_f16x2) {
    if (from != TYPE_f32) decode_unknown(d);
    d->ins.run = exec_cvt_pair;
    take_dst(d, SLOT_32);
    take_src(d, SLOT_32, from);
    take_src(d, SLOT_32, from);
    return;
  }
  if (from == TYPE_bf16x2 || from == TYPE_f16x2) decode_unknown(d);
  bool ints = !type_float(to) && !type_float(from);
  d->ins.run = ints && !d->ins.mods ? exec_cvt_int : exec_cvt;
  take_dst(d, SLOT_NONE);
  take_src(d, SLOT_NONE, from);
}

void decode_cvta(Decoder *d) {
  Space s = decode_space(d);
  d->ins.run = exec_cvta;
  d->ins.mode = s == SPACE_SHARED ? 1 : s == SPACE_LOCAL ? 2 : s == SPACE_PARAM ? 3 : 0;
  d->ins.mode2 = decode_has(d, "to");
  take_dst(d, decode_class(need_type(d, 0)));
  take_src(d, SLOT_NONE, TYPE_u64);
  if (tok_is(&d->p->lx.tok, '+')) { /* cvta.shared.u64 %rd1, var+4 */
    ptx_lex_next(&d->p->lx);
    if (d->p->lx.tok.kind != TOK_INT) decode_unknown(d);
    d->opd[1].offset = (int64_t)d->p->lx.tok.bits;
    ptx_lex_next(&d->p->lx);
  }
}

void decode_isspacep(Decoder *d) {
  Space s = decode_space(d);
  d->ins.run = exec_isspacep;
  d->ins.mode = s == SPACE_SHARED ? 1 : s == SPACE_LOCAL ? 2 : s == SPACE_PARAM ? 3 : 0;
  take_dst(d, SLOT_PRED);
  take_src(d, SLOT_64, TYPE_u64);
}

/* ---- comparison and choice ---- */
static void read_comparison(Decoder *d) {
  static const struct {
    const char *name;
    uint8_t bits;
  } rows[] = {
      {"eq", REL_EQUAL},
      {"ne", REL_LESS | REL_MORE},
      {"lt", REL_LESS},
      {"le", REL_LESS | REL_EQUAL},
      {"gt", REL_MORE},
      {"ge", REL_MORE | REL_EQUAL},
      {"lo", REL_LESS},
      {"ls", REL_LESS | REL_EQUAL},
      {"hi", REL_MORE},
      {"hs", REL_MORE | REL_EQUAL},
      {"equ", REL_EQUAL | REL_NAN},
      {"neu", REL_LESS | REL_MORE | REL_NAN},
      {"ltu", REL_LESS | REL_NAN},
      {"leu", REL_LESS | REL_EQUAL | REL_NAN},
      {"gtu", REL_MORE | REL_NAN},
      {"geu", REL_MORE | REL_EQUAL | REL_NAN},
      {"num", REL_LESS | REL_EQUAL | REL_MORE},
      {"nan", REL_NAN},
  };
  static const char *const bools[] = {"and", "or", "xor", NULL};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (decode_has(d, rows[i].name)) d->ins.mode = rows[i].bits;
  if (!d->ins.mode) decode_unknown(d);
  d->ins.mode2 = (uint8_t)(decode_pick(d, bools, -1) + 1);
  d->ins.mods = decode_has(d, "ftz") ? MOD_FTZ : 0;
  Type t = need_type(d, 0);
  if (t == TYPE_pred || t == TYPE_f16x2 || t == TYPE_bf16x2) decode_unknown(d);
  d->ins.from = (uint8_t)t;
}

void decode_setp(Decoder *d) {
  read_comparison(d);
  Type t = (Type)d->ins.from;
  d->ins.run = exec_setp;
  take_dst(d, SLOT_PRED);
  take_second_dst(d);
  take_src(d, decode_class(t), t);
  take_src(d, decode_class(t), t);
  if (d->ins.mode2) take_pred(d);
}

void decode_set(Decoder *d) {
  read_comparison(d);
  Type t = (Type)d->ins.from, to = need_type(d, 1);
  if (type_bytes(to) != 4) decode_unknown(d);
  d->ins.type = (uint8_t)to;
  d->ins.run = exec_set;
  take_dst(d, SLOT_32);
  take_src(d, decode_class(t), t);
  take_src(d, decode_class(t), t);
  if (d->ins.mode2) take_pred(d);
}

void decode_selp(Decoder *d) {
  Type t = need_type(d, 0);
  d->ins.run = exec_selp;
  d->ins.own_init = true;
  take_dst(d, decode_class(t));
  take_src(d, decode_class(t), t);
  take_src(d, decode_class(t), t);
  take_pred(d);
}

void decode_slct(Decoder *d) {
  Type t = need_type(d, 1), by = need_type(d, 0);
  if (by != TYPE_s32 && by != TYPE_f32) decode_unknown(d);
  d->ins.from = (uint8_t)by;
  d->ins.run = exec_slct;
  take_dst(d, decode_class(t));
  take_src(d, decode_class(t), t);
  take_src(d, decode_class(t), t);
  take_src(d, SLOT_32, by);
}

void decode_testp(Decoder *d) {
  static const char *const tests[] = {"finite", "infinite",  "number", "notanumber",
                                      "normal", "subnormal", NULL};
  int n = decode_pick(d, tests, -1);
  Type t = need_type(d, 0);
  if (n < 0 || (t != TYPE_f32 && t != TYPE_f64)) decode_unknown(d);
  d->ins.mode = (uint8_t)n;
  d->ins.from = (uint8_t)t;
  d->ins.run = exec_testp;
  take_dst(d, SLOT_PRED);
  take_src(d, decode_class(t), t);
}

/* ---- control ---- */
void decode_bra(Decoder *d) {
  Tok t = d->p->lx.tok;
  if (t.kind != TOK_WORD) parse_fail(d->p, t.line, "a label is expected");
  d->ins.flow = FLOW_BRANCH;
  d->ins.target = label_index(d->p, t.text, t.size, t.line);
  ptx_lex_next(&d->p->lx);
}
void decode_ret(Decoder *d) {
  d->ins.flow = d->p->depth ? FLOW_BRANCH : FLOW_EXIT;
  d->ins.target = d->p->returns;
}
void decode_exit(Decoder *d) { d->ins.flow = FLOW_EXIT; }
void decode_trap(Decoder *d) { d->ins.flow = FLOW_TRAP; }
void decode_idle(Decoder *d) {
  set_run(d, exec_idle, FLOW_PLAIN);
  d->ins.own_init = true;
  while (!tok_is(&d->p->lx.tok, ';') && d->p->lx.tok.kind != TOK_END) ptx_lex_next(&d->p->lx);
}
/* prefetch.global.L2 [a]; of other spaces, and of tensor maps, it says nothing that can be wrong */
void decode_prefetch(Decoder *d) {
  if (!decode_has(d, "global")) {
    decode_idle(d);
    return;
  }
  set_run(d, exec_prefetch, FLOW_PLAIN);
  d->ins.own_init = true;
  take_address(d);
}
void decode_griddepcontrol(Decoder *d) {
  const bool wait = decode_has(d, "wait");
  if (!wait && !decode_has(d, "launch_dependents")) decode_unknown(d);
  d->p->k->grid_control = true;
  if (wait)
    set_run(d, exec_grid_wait, FLOW_PLAIN);
  else
    decode_idle(d);
}
void decode_fence(Decoder *d) {
  set_run(d, exec_fence, FLOW_PLAIN);
  if (decode_has(d, "proxy") || decode_has(d, "mbarrier_init")) {
    decode_proxy_fence(d);
    return;
  }
  d->ins.own_init = true;
  d->ins.mode = !decode_has(d, "cta");
}

/* bar.sync a{, b}; bar.red.op d, a{, b}, p; bar.arrive a, b; bar.warp.sync mask */
void decode_bar(Decoder *d) {
  static const char *const ops[] = {"popc", "and", "or", NULL};
  if (decode_has(d, "cluster")) {
    decode_cluster(d);
    return;
  }
  if (decode_has(d, "warp")) {
    set_run(d, exec_warp_sync, FLOW_WARP);
    take_src(d, SLOT_32, TYPE_b32);
    d->ins.member = 0;
    d->ins.own_init = true;
    return;
  }
  d->ins.flow = FLOW_BARRIER;
  bool red = decode_has(d, "red");
  d->ins.mode = red ? 1 : decode_has(d, "arrive") ? 2 : 0;
  if (d->ins.mode == 0 && !decode_has(d, "sync")) decode_unknown(d);
  if (red) {
    int op = decode_pick(d, ops, -1);
    if (op < 0) decode_unknown(d);
    d->ins.mode2 = (uint8_t)op;
    take_dst(d, op ? SLOT_PRED : SLOT_32);
  }
  take_src(d, SLOT_32, TYPE_u32);
  if (red) {
    Lexer ahead = d->p->lx; /* a count is a number or an integer register, a vote a predicate */
    ptx_lex_next(&ahead);
    if (ahead.tok.kind == TOK_INT) {
      take_src(d, SLOT_32, TYPE_u32);
    } else {
      add_absent(d);
    }
    take_pred(d);
  } else if (more_operands(d)) {
    take_src(d, SLOT_32, TYPE_u32);
  } else if (d->ins.mode == 2) {
    parse_fail(d->p, d->mnemonic.line, "bar.arrive needs a count");
  } else {
    add_absent(d);
  }
}

/* ---- warp-wide ---- */
static void take_member(Decoder *d) {
  take_src(d, SLOT_32, TYPE_b32);
  d->ins.member = d->ins.nopd - 1;
}

void decode_shfl(Decoder *d) {
  static const char *const modes[] = {"up", "down", "bfly", "idx", NULL};
  int mode = decode_pick(d, modes, -1);
  if (mode < 0 || !decode_has(d, "sync")) decode_unknown(d);
  set_run(d, exec_shfl, FLOW_WARP);
  d->ins.mode = (uint8_t)mode;
  d->ins.own_init = true;
  take_dst(d, SLOT_32);
  take_second_dst(d);
  take_src(d, SLOT_32, TYPE_b32);
  take_src(d, SLOT_32, TYPE_b32);
  take_src(d, SLOT_32, TYPE_b32);
  take_member(d);
}

void decode_vote(Decoder *d) {
  static const char *const modes[] = {"all", "any", "uni", "ballot", NULL};
  int mode = decode_pick(d, modes, -1);
  if (mode < 0 || !decode_has(d, "sync")) decode_unknown(d);
  set_run(d, exec_vote, FLOW_WARP);
  d->ins.mode = (uint8_t)mode;
  take_dst(d, mode == VOTE_BALLOT ? SLOT_32 : SLOT_PRED);
  take_pred(d);
  take_member(d);
}

void decode_match(Decoder *d) {
  if (!decode_has(d, "sync")) decode_unknown(d);
  Type t = need_type(d, 0);
  set_run(d, exec_match, FLOW_WARP);
  d->ins.mode = decode_has(d, "all");
  take_dst(d, SLOT_32);
  take_second_dst(d);
  take_src(d, decode_class(t), t);
  take_member(d);
}

void decode_redux(Decoder *d) {
  static const char *const ops[] = {"add", "min", "max", "and", "or", "xor", NULL};
  int op = decode_pick(d, ops, -1);
  Type t = need_type(d, 0);
  if (op < 0 || type_bytes(t) != 4 || type_float(t)) decode_unknown(d);
  set_run(d, exec_redux, FLOW_WARP);
  d->ins.mode = (uint8_t)op;
  d->ins.type = (uint8_t)t;
  take_dst(d, SLOT_32);
  take_src(d, SLOT_32, t);
  take_member(d);
}

void decode_activemask(Decoder *d) {
  set_run(d, exec_activemask, FLOW_PLAIN);
  take_dst(d, SLOT_32);
}
