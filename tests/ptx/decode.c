/* Turns the words of one instruction into an Ins: mnemonic parts, operands, table look-ups.
 * An instruction that neither table knows is an error with its name; an operand of the wrong width
 * too. Arithmetic keys: see alu.def. */
#include "decode.h"
#include <stdio.h>
#include <string.h>

void decode_unknown(Decoder *d) {
  parse_fail(d->p, d->mnemonic.line, "unknown instruction '%.*s'",
             (int)(d->mnemonic.size < 100 ? d->mnemonic.size : 100), d->mnemonic.text);
}

static void split_parts(Decoder *d) {
  const char *s = d->mnemonic.text, *end = s + d->mnemonic.size;
  while (s < end) {
    const char *dot = memchr(s, '.', (size_t)(end - s));
    if (!dot) dot = end;
    if (d->nparts == PARTS_MAX) decode_unknown(d);
    d->part[d->nparts] = s;
    d->part_size[d->nparts++] = (size_t)(dot - s);
    s = dot + 1;
  }
}

static bool part_is(const Decoder *d, int i, const char *text) {
  return strlen(text) == d->part_size[i] && !memcmp(d->part[i], text, d->part_size[i]);
}

bool decode_has(const Decoder *d, const char *part) {
  for (int i = 1; i < d->nparts; i++)
    if (part_is(d, i, part)) return true;
  return false;
}

bool decode_first(const Decoder *d, const char *word) { return part_is(d, 0, word); }

int decode_pick(const Decoder *d, const char *const *names, int fallback) {
  for (int n = 0; names[n]; n++)
    if (decode_has(d, names[n])) return n;
  return fallback;
}

Type decode_type(const Decoder *d, int from_end) {
  int i = d->nparts - 1 - from_end;
  return i > 0 ? type_find(d->part[i], d->part_size[i]) : TYPE_NONE;
}

Round decode_round(const Decoder *d) {
  if (decode_has(d, "rz") || decode_has(d, "rzi")) return ROUND_ZERO;
  if (decode_has(d, "rm") || decode_has(d, "rmi")) return ROUND_DOWN;
  if (decode_has(d, "rp") || decode_has(d, "rpi")) return ROUND_UP;
  return ROUND_NEAREST;
}

Space decode_space(const Decoder *d) {
  static const char *const names[] = {"generic", "global",      "shared",          "local", "param",
                                      "const",   "shared::cta", "shared::cluster", NULL};
  int n = decode_pick(d, names, 0);
  return n >= 6 ? SPACE_SHARED : (Space)n;
}

SlotClass decode_class(Type t) {
  if (t == TYPE_pred) return SLOT_PRED;
  return !type_bytes(t) ? SLOT_NONE : type_bytes(t) <= 4 ? SLOT_32 : SLOT_64;
}

/* ---- operands ---- */
static Tok *now(const Decoder *d) { return &d->p->lx.tok; }
static bool take(Decoder *d, char punct) {
  if (!tok_is(now(d), punct)) return false;
  ptx_lex_next(&d->p->lx);
  return true;
}
static void want(Decoder *d, char punct) {
  if (!take(d, punct))
    parse_fail(d->p, now(d)->line, "'%c' expected in '%.*s'", punct, (int)d->mnemonic.size,
               d->mnemonic.text);
}
bool more_operands(const Decoder *d) { return tok_is(now(d), ','); }

void add_operand(Decoder *d, Opd o) {
  if (d->ins.nopd == OPERANDS_MAX) parse_fail(d->p, d->mnemonic.line, "too many operands");
  d->opd[d->ins.nopd++] = o;
}
void add_absent(Decoder *d) { add_operand(d, (Opd){0}); }

static void comma(Decoder *d) {
  if (d->ins.nopd) want(d, ',');
}

/* A register of a family %r<12> comes to be where it is first named. */
static bool find_register(Decoder *d, const Tok *t, Opd *out) {
  Parser *p = d->p;
  Name *n = names_find(p->scope, t->text, t->size);
  if (!n) {
    size_t stem = t->size;
    unsigned long number = 0, place = 1;
    while (stem > 1 && t->text[stem - 1] >= '0' && t->text[stem - 1] <= '9') {
      if (t->size - stem < 9) number += place * (unsigned long)(t->text[stem - 1] - '0');
      place *= 10;
      stem--;
    }
    Name *family = stem < t->size ? names_find(p->scope, t->text, stem) : NULL;
    if (!family || family->kind != SYM_FAMILY) return false;
    if (t->size - stem > 9 || number >= (unsigned long)family->index)
      parse_fail(p, t->line, "register '%.*s' is beyond those declared", (int)t->size, t->text);
    /* In the family's own scope, or a sibling scope would get another one. */
    Names *home = p->scope;
    for (Names *s = p->scope; s; s = s->outer) {
      Names only = {s->bucket, NULL};
      if (names_find(&only, t->text, stem) == family) home = s;
    }
    n = names_add(&p->m->pool, home, t->text, t->size);
    n->kind = SYM_REG;
    n->opd = kernel_slot(p, family->cls);
  }
  if (n->kind != SYM_REG) return false;
  *out = n->opd;
  return true;
}

static bool find_special(Decoder *d, const Tok *t, Opd *out) {
  static const struct {
    const char *name;
    SlotClass cls;
  } rows[] = {
#define SPECIAL(id, name, cls) {name, cls},
#include "special.def"
#undef SPECIAL
  };
  PtxKernel *k = d->p->k;
  for (int id = 0; id < SPECIAL_COUNT; id++) {
    if (!tok_eq(t, rows[id].name)) continue;
    for (size_t i = 0; i < k->nspecials; i++)
      if (k->specials[i].id == id) {
        *out = k->specials[i].opd;
        return true;
      }
    k->specials =
        pool_grow(&d->p->m->pool, k->specials, k->nspecials, k->nspecials + 1, sizeof *k->specials);
    *out = kernel_slot(d->p, rows[id].cls);
    k->specials[k->nspecials++] = (SpecialUse){id, *out};
    return true;
  }
  return false;
}

static void check_class(Decoder *d, const Tok *t, SlotClass have, SlotClass cls) {
  if (cls != SLOT_NONE && have != cls)
    parse_fail(d->p, t->line, "'%.*s' has the wrong width for '%.*s'", (int)t->size, t->text,
               (int)(d->mnemonic.size < 100 ? d->mnemonic.size : 100), d->mnemonic.text);
}

static uint64_t literal_bits(Decoder *d, bool minus, SlotClass cls, Type t) {
  Tok v = *now(d);
  ptx_lex_next(&d->p->lx);
  bool single = t == TYPE_f32 || (cls == SLOT_32 && v.kind == TOK_F64);
  if (v.kind == TOK_F64 && single) {
    double x;
    memcpy(&x, &v.bits, 8);
    float f = (float)x;
    v.bits = 0;
    memcpy(&v.bits, &f, 4);
  }
  if (!minus) return v.bits;
  if (v.kind == TOK_INT) return 0 - v.bits;
  return v.bits ^ (cls == SLOT_64 ? (uint64_t)1 << 63 : (uint64_t)1 << 31);
}

static Opd read_source(Decoder *d, SlotClass cls, Type t) {
  Tok tok = *now(d);
  bool minus = take(d, '-');
  TokKind kind = now(d)->kind;
  if (kind == TOK_INT || kind == TOK_F32 || kind == TOK_F64) {
    if (cls == SLOT_NONE) cls = t ? decode_class(t) : SLOT_64;
    return kernel_const(d->p, cls, literal_bits(d, minus, cls, t));
  }
  if (minus || tok.kind != TOK_WORD)
    parse_fail(d->p, tok.line, "an operand is expected in '%.*s'", (int)d->mnemonic.size,
               d->mnemonic.text);
  ptx_lex_next(&d->p->lx);
  Opd o;
  if (find_register(d, &tok, &o) || find_special(d, &tok, &o)) {
    check_class(d, &tok, o.cls, cls);
    return o;
  }
  if (tok_eq(&tok, "WARP_SZ")) return kernel_const(d->p, cls ? cls : SLOT_32, LANES);
  const Name *n = names_find(d->p->scope, tok.text, tok.size);
  if (n && n->kind == SYM_VAR)
    return kernel_const(d->p, cls ? cls : SLOT_64, d->p->m->vars[n->index].address);
  parse_fail(d->p, tok.line, "'%.*s' is not declared", (int)(tok.size < 100 ? tok.size : 100),
             tok.text);
}

static Opd read_dst(Decoder *d, SlotClass cls) {
  Tok tok = *now(d);
  Opd o = {0};
  if (tok.kind != TOK_WORD) parse_fail(d->p, tok.line, "a register is expected");
  ptx_lex_next(&d->p->lx);
  if (tok_eq(&tok, "_")) return o;
  if (!find_register(d, &tok, &o))
    parse_fail(d->p, tok.line, "'%.*s' is not a register", (int)(tok.size < 100 ? tok.size : 100),
               tok.text);
  check_class(d, &tok, o.cls, cls);
  return o;
}

void take_dst(Decoder *d, SlotClass cls) {
  comma(d);
  add_operand(d, read_dst(d, cls));
  d->ins.ndst++;
}

bool take_second_dst(Decoder *d) {
  d->ins.ndst++;
  if (!take(d, '|')) {
    add_absent(d);
    return false;
  }
  add_operand(d, read_dst(d, SLOT_PRED));
  return true;
}

void take_src(Decoder *d, SlotClass cls, Type t) {
  comma(d);
  add_operand(d, read_source(d, cls, t));
}

void take_pred(Decoder *d) {
  comma(d);
  bool negated = take(d, '!');
  Opd o = read_source(d, SLOT_PRED, TYPE_pred);
  o.negated = negated;
  add_operand(d, o);
}

int take_list(Decoder *d, bool dst, SlotClass cls, Type t) {
  comma(d);
  bool braces = take(d, '{');
  int n = 0;
  do {
    add_operand(d, dst ? read_dst(d, cls) : read_source(d, cls, t));
    d->ins.ndst = (uint16_t)(d->ins.ndst + dst);
    n++;
  } while (braces && take(d, ','));
  if (braces) want(d, '}');
  return n;
}

static Opd read_address(Decoder *d) {
  Opd o = read_source(d, SLOT_NONE, TYPE_NONE);
  if (o.cls == SLOT_PRED) parse_fail(d->p, d->mnemonic.line, "a predicate is no address");
  while (tok_is(now(d), '+') || tok_is(now(d), '-')) {
    bool minus = take(d, '-');
    if (!minus) {
      take(d, '+');
      minus = take(d, '-');
    }
    if (now(d)->kind != TOK_INT) parse_fail(d->p, now(d)->line, "an offset is a number");
    o.offset =
        (int64_t)(minus ? (uint64_t)o.offset - now(d)->bits : (uint64_t)o.offset + now(d)->bits);
    ptx_lex_next(&d->p->lx);
  }
  return o;
}

void take_address(Decoder *d) {
  comma(d);
  want(d, '[');
  add_operand(d, read_address(d));
  want(d, ']');
}

int take_tensor(Decoder *d) {
  comma(d);
  want(d, '[');
  add_operand(d, read_address(d));
  int n = take_list(d, false, SLOT_32, TYPE_s32);
  want(d, ']');
  return n;
}

uint64_t take_number(Decoder *d) {
  comma(d);
  if (now(d)->kind != TOK_INT) parse_fail(d->p, now(d)->line, "a number is expected");
  uint64_t v = now(d)->bits;
  ptx_lex_next(&d->p->lx);
  return v;
}

void note_access(Decoder *d, Space space, unsigned bytes) {
  PtxKernel *k = d->p->k;
  bool any = space == SPACE_GENERIC;
  if ((any || space == SPACE_SHARED) && bytes < k->shared_granule) k->shared_granule = bytes;
  if ((any || space == SPACE_GLOBAL || space == SPACE_CONST) && bytes < k->global_granule)
    k->global_granule = bytes;
}

/* ---- arithmetic ---- */
static void add_part(char *key, size_t size, const char *part, size_t n) {
  size_t at = strlen(key);
  if (at + n + 2 > size) return; /* longer than any row: not found */
  if (at) key[at++] = '_';
  memcpy(key + at, part, n);
  key[at + n] = 0;
}

static void decode_alu(Decoder *d) {
  Type type = decode_type(d, 0);
  bool is_float = type_float(type);
  char key[64] = "";
  static const char *const neutral[] = {"rn", "approx", "full", NULL};
  static const char *const rounding[] = {"rz", "rm", "rp", NULL};
  for (int i = 0; i < d->nparts; i++) {
    bool skip = false;
    for (int n = 0; i && is_float && neutral[n]; n++) {
      if (!part_is(d, i, neutral[n])) continue;
      skip = true;
      if (n && !d->p->k->approximate) d->p->k->approximate = d->mnemonic.line;
    }
    for (int n = 0; i && is_float && rounding[n]; n++)
      if (part_is(d, i, rounding[n])) {
        d->ins.mods |= MOD_ROUND;
        skip = true;
      }
    if (i && is_float && part_is(d, i, "ftz")) {
      d->ins.mods |= MOD_FTZ;
      skip = true;
    }
    if (i && is_float && part_is(d, i, "sat")) {
      d->ins.mods |= MOD_SAT;
      skip = true;
    }
    if (!skip) add_part(key, sizeof key, d->part[i], d->part_size[i]);
  }
  const AluRow *row = alu_find(key);
  bool half = is_float && type != TYPE_f32 && type != TYPE_f64;
  if (!row || (half && d->ins.mods & (MOD_SAT | MOD_ROUND))) decode_unknown(d);
  d->ins.type = (uint8_t)type;
  d->ins.round = (uint8_t)decode_round(d);
  d->ins.run = row->run;
  if (d->ins.mods == MOD_FTZ && type == TYPE_f32 && row->flushing) {
    d->ins.run = row->flushing;
  } else if (d->ins.mods && !(half && d->ins.mods == MOD_FTZ)) {
    d->ins.inner = row->run;
    d->ins.run = alu_modified;
  }
  if (decode_first(d, "prmt")) d->ins.parts = PARTS_PERMUTE;
  if (decode_first(d, "bfi")) d->ins.parts = PARTS_INSERT;
  if (decode_first(d, "dp2a")) d->ins.parts = decode_has(d, "hi") ? PARTS_HIGH : PARTS_LOW;
  take_dst(d, row->cls[0]);
  for (int i = 1; i <= row->sources; i++) take_src(d, row->cls[i], type);
}

/* ---- predicates: and.pred and its like ---- */
Handler exec_pred;
static bool decode_pred(Decoder *d) {
  static const char *const ops[] = {"and", "or", "xor", "not", NULL};
  if (decode_type(d, 0) != TYPE_pred) return false;
  for (int n = 0; ops[n]; n++) {
    if (!part_is(d, 0, ops[n])) continue;
    d->ins.run = exec_pred;
    d->ins.mode = (uint8_t)n;
    take_dst(d, SLOT_PRED);
    take_pred(d);
    if (n < 3) take_pred(d);
    return true;
  }
  return false;
}

/* ---- an instruction ---- */
static void read_guard(Decoder *d) {
  if (!take(d, '@')) return;
  bool negated = take(d, '!');
  d->ins.guard = read_source(d, SLOT_PRED, TYPE_pred);
  d->ins.guard.negated = negated;
}

static void append(Decoder *d) {
  PtxKernel *k = d->p->k;
  Pool *pool = &d->p->m->pool;
  if (k->nins == k->cap) {
    size_t cap = k->cap ? 2 * k->cap : 128;
    k->ins = pool_grow(pool, k->ins, k->nins, cap, sizeof *k->ins);
    k->cap = cap;
  }
  d->ins.opd = pool_alloc(pool, d->ins.nopd * sizeof *d->ins.opd + 1);
  memcpy(d->ins.opd, d->opd, d->ins.nopd * sizeof *d->ins.opd);
  k->ins[k->nins++] = d->ins;
}

void decode_instruction(Parser *p) {
  static const struct {
    const char *word;
    size_t size;
    void (*read)(Decoder *);
  } ops[] = {
#define OP(word, reader) {word, sizeof word - 1, decode_##reader},
#include "ops.def"
#undef OP
  };
  Decoder d = {.p = p};
  d.ins.member = -1;
  read_guard(&d);
  d.mnemonic = p->lx.tok;
  d.ins.line = d.mnemonic.line;
  if (d.mnemonic.kind != TOK_WORD)
    parse_fail(p, d.mnemonic.line, "an instruction is expected, not '%.*s'",
               (int)(d.mnemonic.size < 40 ? d.mnemonic.size : 40), d.mnemonic.text);
  ptx_lex_next(&p->lx);
  split_parts(&d);
  bool known = false;
  for (size_t i = 0; i < sizeof ops / sizeof *ops && !known; i++)
    if (d.part_size[0] == ops[i].size && !memcmp(d.part[0], ops[i].word, ops[i].size)) {
      known = true;
      ops[i].read(&d);
    }
  if (!known && !decode_pred(&d) && !decode_carry(&d)) decode_alu(&d);
  want(&d, ';');
  append(&d);
}
