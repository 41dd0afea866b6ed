/* Reads the directives of a module: kernels, parameters, variables, registers, scopes and labels.
 * Instructions go to decode.c. A wrong text ends in parse_fail with its line; nothing is guessed.
 * Grammar: PTX ISA, chapters 4, 5 and 11, as far as NVRTC writes it; functions are read where they
 * are called (call.c). */
#include "alu.h"
#include "module.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void parse_fail(Parser *p, int line, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  int n = snprintf(p->m->error, sizeof p->m->error, "line %d: ", line);
  vsnprintf(p->m->error + n, sizeof p->m->error - (size_t)n, fmt, ap);
  va_end(ap);
  longjmp(p->fail, 1);
}

static void expect(Parser *p, char punct) {
  if (!tok_is(&p->lx.tok, punct))
    parse_fail(p, p->lx.tok.line, "'%c' expected, not '%.*s'", punct,
               (int)(p->lx.tok.size < 40 ? p->lx.tok.size : 40), p->lx.tok.text);
  ptx_lex_next(&p->lx);
}
static bool take(Parser *p, char punct) {
  if (!tok_is(&p->lx.tok, punct)) return false;
  ptx_lex_next(&p->lx);
  return true;
}
static bool take_word(Parser *p, const char *word) {
  if (!tok_eq(&p->lx.tok, word)) return false;
  ptx_lex_next(&p->lx);
  return true;
}
static uint64_t expect_int(Parser *p) {
  if (p->lx.tok.kind != TOK_INT) parse_fail(p, p->lx.tok.line, "a number is expected");
  uint64_t v = p->lx.tok.bits;
  ptx_lex_next(&p->lx);
  return v;
}
static Tok expect_word(Parser *p) {
  Tok t = p->lx.tok;
  if (t.kind != TOK_WORD) parse_fail(p, t.line, "a name is expected");
  ptx_lex_next(&p->lx);
  return t;
}
static void skip_to(Parser *p, char punct) {
  while (!tok_is(&p->lx.tok, punct)) {
    if (p->lx.tok.kind == TOK_END) parse_fail(p, p->lx.tok.line, "the text ends too early");
    ptx_lex_next(&p->lx);
  }
  ptx_lex_next(&p->lx);
}
static void skip_braces(Parser *p) {
  expect(p, '{');
  for (int depth = 1; depth; ptx_lex_next(&p->lx)) {
    if (p->lx.tok.kind == TOK_END) parse_fail(p, p->lx.tok.line, "'}' is missing");
    if (tok_is(&p->lx.tok, '{')) depth++;
    if (tok_is(&p->lx.tok, '}')) depth--;
  }
}

static size_t align_up(size_t n, size_t a) { return (n + a - 1) / a * a; }

/* ---- variables ---- */
enum { SPACE_BYTES_MAX = 1 << 26 };

Decl parse_decl(Parser *p) {
  Decl d = {.count = 1};
  for (;;) {
    Tok t = p->lx.tok;
    if (take_word(p, ".align")) {
      d.align = (size_t)expect_int(p);
      if (!d.align || d.align > 4096 || (d.align & (d.align - 1)))
        parse_fail(p, t.line, "an alignment is a power of two up to 4096");
    } else if (take_word(p, ".ptr")) {
      if (tok_eq(&p->lx.tok, ".global") || tok_eq(&p->lx.tok, ".const") ||
          tok_eq(&p->lx.tok, ".local") || tok_eq(&p->lx.tok, ".shared"))
        ptx_lex_next(&p->lx);
      if (take_word(p, ".align")) expect_int(p); /* of what it points to: checked at each access */
    } else if (t.kind == TOK_DOT) {
      d.type = type_find(t.text + 1, t.size - 1);
      if (!d.type) parse_fail(p, t.line, "unknown type '%.*s'", (int)t.size, t.text);
      ptx_lex_next(&p->lx);
    } else {
      break;
    }
  }
  if (!d.type) parse_fail(p, p->lx.tok.line, "a type is expected");
  d.name = expect_word(p);
  while (take(p, '[')) {
    d.array = true;
    size_t n = 0;
    if (!tok_is(&p->lx.tok, ']')) n = (size_t)expect_int(p);
    if (n > SPACE_BYTES_MAX || (n && d.count > SPACE_BYTES_MAX / n))
      parse_fail(p, d.name.line, "'%.*s' is too large", (int)d.name.size, d.name.text);
    d.count *= n;
    expect(p, ']');
  }
  if (!d.align) d.align = type_bytes(d.type);
  if (!d.align) parse_fail(p, d.name.line, "a variable cannot have this type");
  return d;
}

Var *add_var(Parser *p, const Decl *d, Space space) {
  Name *n = names_add(&p->m->pool, p->scope, d->name.text, d->name.size);
  if (!n) parse_fail(p, d->name.line, "'%.*s' is declared twice", (int)d->name.size, d->name.text);
  PtxModule *m = p->m;
  if ((m->nvars & (m->nvars - 1)) == 0)
    m->vars = pool_grow(&m->pool, m->vars, m->nvars, m->nvars ? 2 * m->nvars : 8, sizeof *m->vars);
  n->kind = SYM_VAR;
  n->index = (int)m->nvars;
  Var *v = &m->vars[m->nvars++];
  *v = (Var){.name = n->text, .space = space, .size = d->count * type_bytes(d->type)};
  if (v->size > SPACE_BYTES_MAX) parse_fail(p, d->name.line, "'%s' is too large", v->name);
  return v;
}

static void store_value(Parser *p, char *to, Type type) {
  bool minus = take(p, '-');
  Tok t = p->lx.tok;
  if (t.kind != TOK_INT && t.kind != TOK_F32 && t.kind != TOK_F64)
    parse_fail(p, t.line, "only numbers can initialise a variable");
  uint64_t v = t.bits;
  if (t.kind == TOK_F64 && type == TYPE_f32) {
    double d;
    memcpy(&d, &v, 8);
    float f = (float)d;
    v = 0;
    memcpy(&v, &f, 4);
  }
  if (minus) v = t.kind == TOK_INT ? 0 - v : v ^ (uint64_t)1 << (8 * type_bytes(type) - 1);
  memcpy(to, &v, type_bytes(type) < 8 ? type_bytes(type) : 8);
  ptx_lex_next(&p->lx);
}

/* { a, { b, c } }: nested braces only group. */
static void parse_initialiser(Parser *p, const Var *v, Type type) {
  size_t at = 0, step = type_bytes(type);
  int depth = 0;
  char *base = (char *)(uintptr_t)v->address;
  do {
    if (take(p, '{')) {
      depth++;
      continue;
    }
    if (step > v->size || at > v->size - step) parse_fail(p, p->lx.tok.line, "too many values");
    store_value(p, base + at, type);
    at += step;
    while (depth && take(p, '}')) depth--;
    if (depth) expect(p, ',');
  } while (depth);
}

static void add_shared(Parser *p, Var *v, size_t align) {
  PtxModule *m = p->m;
  size_t *end = p->k ? &p->k->shared : &m->shared;
  size_t *used = p->k ? &p->k->shared_used : &m->shared_used;
  Range **ranges = p->k ? &p->k->shared_ranges : &m->shared_ranges;
  size_t *n = p->k ? &p->k->nshared_ranges : &m->nshared_ranges;
  v->address = align_up(*end ? *end + SHARED_GAP : 0, align);
  *end = v->address + v->size;
  *used = align_up(*used, align) + v->size;
  if (*end > SPACE_BYTES_MAX) parse_fail(p, p->lx.tok.line, "too much shared memory");
  *ranges = pool_grow(&m->pool, *ranges, *n, *n + 1, sizeof **ranges);
  (*ranges)[(*n)++] = (Range){v->address, v->address + v->size};
}

size_t local_place(Parser *p, size_t size, size_t align) {
  PtxKernel *k = p->k;
  size_t at = align_up(k->local, align);
  k->local = at + size;
  if (k->local > SPACE_BYTES_MAX / 1024) parse_fail(p, p->lx.tok.line, "too much local memory");
  return at;
}

static uint64_t dynamic_at(const PtxModule *m) {
  bool less = m->dynamic_align && m->dynamic_align < SHARED_ALIGN;
  return SHARED_DYNAMIC + (less ? m->dynamic_align : 0);
}

static void parse_variable(Parser *p, Space space, bool external) {
  Decl d = parse_decl(p);
  Var *v = add_var(p, &d, space);
  PtxKernel *k = p->k;
  if (space == SPACE_SHARED) {
    if (external) {
      v->dynamic = true; /* an open array is the launch's dynamic memory */
      if (d.align > p->m->dynamic_align) p->m->dynamic_align = d.align;
      for (size_t i = 0; i < p->m->nvars; i++)
        if (p->m->vars[i].dynamic) p->m->vars[i].address = dynamic_at(p->m);
    } else {
      add_shared(p, v, d.align);
    }
  } else if (space == SPACE_LOCAL) {
    if (!k) parse_fail(p, d.name.line, ".local outside of a kernel");
    v->address = local_place(p, v->size, d.align);
  } else {
    v->address = (uint64_t)(uintptr_t)pool_alloc(&p->m->pool, v->size ? v->size : 1);
    if (take(p, '=')) parse_initialiser(p, v, d.type);
  }
  expect(p, ';');
}

/* ---- registers ---- */
static SlotClass class_of(Type t) {
  if (t == TYPE_pred) return SLOT_PRED;
  return type_bytes(t) <= 4 ? SLOT_32 : type_bytes(t) == 8 ? SLOT_64 : SLOT_NONE;
}

Opd kernel_slot(Parser *p, SlotClass cls) {
  PtxKernel *k = p->k;
  uint32_t bytes = cls == SLOT_64 ? 8 * LANES : cls == SLOT_32 ? 4 * LANES : 64;
  if (k->nslots >= 1u << 20) parse_fail(p, p->lx.tok.line, "too many registers");
  Opd o = {.cls = cls, .slot = k->nslots++, .at = k->reg_bytes};
  k->reg_bytes += bytes;
  return o;
}

static uint32_t const_hash(SlotClass cls, uint64_t bits) {
  uint64_t h = (bits ^ (uint64_t)cls << 61) * 0x9E3779B97F4A7C15u;
  return (uint32_t)(h >> 32);
}

Opd kernel_const(Parser *p, SlotClass cls, uint64_t bits) {
  PtxKernel *k = p->k;
  if (cls == SLOT_32) bits = (uint32_t)bits;
  if (cls == SLOT_PRED) bits = bits ? 1 : 0;
  if (2 * (k->nconsts + 1) > p->const_hash_size) {
    p->const_hash_size = p->const_hash_size ? 2 * p->const_hash_size : 256;
    p->const_hash = pool_alloc(&p->m->pool, p->const_hash_size * sizeof *p->const_hash);
    for (size_t i = 0; i < k->nconsts; i++) {
      size_t h = const_hash(k->consts[i].opd.cls, k->consts[i].bits) & (p->const_hash_size - 1);
      while (p->const_hash[h]) h = (h + 1) & (p->const_hash_size - 1);
      p->const_hash[h] = (uint32_t)i + 1;
    }
  }
  size_t h = const_hash(cls, bits) & (p->const_hash_size - 1);
  for (; p->const_hash[h]; h = (h + 1) & (p->const_hash_size - 1)) {
    const ConstUse *c = &k->consts[p->const_hash[h] - 1];
    if (c->bits == bits && c->opd.cls == cls) return c->opd;
  }
  if (k->nconsts == k->const_cap) {
    size_t cap = k->const_cap ? 2 * k->const_cap : 64;
    k->consts = pool_grow(&p->m->pool, k->consts, k->nconsts, cap, sizeof *k->consts);
    k->const_cap = cap;
  }
  k->consts[k->nconsts] = (ConstUse){bits, kernel_slot(p, cls)};
  p->const_hash[h] = (uint32_t)++k->nconsts;
  return k->consts[k->nconsts - 1].opd;
}

/* .reg .b32 %r<12>, a; */
static void parse_registers(Parser *p) {
  Tok t = p->lx.tok;
  Type type = t.kind == TOK_DOT ? type_find(t.text + 1, t.size - 1) : TYPE_NONE;
  SlotClass cls = type ? class_of(type) : SLOT_NONE;
  if (!cls) parse_fail(p, t.line, "unknown type of register '%.*s'", (int)t.size, t.text);
  ptx_lex_next(&p->lx);
  do {
    Tok name = expect_word(p);
    Name *n = names_add(&p->m->pool, p->scope, name.text, name.size);
    if (!n)
      parse_fail(p, name.line, "register '%.*s' is declared twice", (int)name.size, name.text);
    n->cls = cls;
    if (take(p, '<')) {
      uint64_t count = expect_int(p);
      if (count > 1u << 24) parse_fail(p, name.line, "too many registers");
      n->kind = SYM_FAMILY;
      n->index = (int)count;
      expect(p, '>');
    } else {
      n->kind = SYM_REG;
      n->opd = kernel_slot(p, cls);
    }
  } while (take(p, ','));
  expect(p, ';');
}

/* ---- labels ---- */
int label_index(Parser *p, const char *name, size_t size, int line) {
  Name *n = names_find(p->scope, name, size);
  if (!n) {
    n = names_add(&p->m->pool, p->scope, name, size);
    n->kind = SYM_LABEL;
    n->index = (int)p->nlabels;
    if ((p->nlabels & (p->nlabels - 1)) == 0)
      p->labels = pool_grow(&p->m->pool, p->labels, p->nlabels, p->nlabels ? 2 * p->nlabels : 8,
                            sizeof *p->labels);
    p->labels[p->nlabels++] = (struct Label){n->text, size, -1, line};
  }
  if (n->kind != SYM_LABEL) parse_fail(p, line, "'%.*s' is not a label", (int)size, name);
  return n->index;
}

void place_label(Parser *p, int index, int line) {
  struct Label *l = &p->labels[index];
  if (l->at >= 0) parse_fail(p, line, "label '%.*s' is set twice", (int)l->size, l->name);
  l->at = (int)p->k->nins;
}

static void resolve_labels(Parser *p) {
  for (size_t i = 0; i < p->k->nins; i++) {
    Ins *ins = &p->k->ins[i];
    if (ins->flow != FLOW_BRANCH) continue;
    const struct Label *l = &p->labels[ins->target];
    if (l->at < 0) parse_fail(p, ins->line, "label '%s' is not in this scope", l->name);
    if ((size_t)l->at >= p->k->nins)
      parse_fail(p, ins->line, "label '%s' is behind the last instruction", l->name);
    ins->target = l->at;
  }
}

/* ---- bodies ---- */
static bool body_directive(Parser *p) {
  Tok t = p->lx.tok;
  if (t.kind != TOK_DOT) return false;
  ptx_lex_next(&p->lx);
  if (tok_eq(&t, ".reg")) {
    parse_registers(p);
  } else if (tok_eq(&t, ".shared")) {
    parse_variable(p, SPACE_SHARED, false);
  } else if (tok_eq(&t, ".local")) {
    parse_variable(p, SPACE_LOCAL, false);
  } else if (tok_eq(&t, ".pragma")) {
    skip_to(p, ';');
  } else if (tok_eq(&t, ".param")) {
    parse_call_param(p);
    expect(p, ';');
  } else if (tok_eq(&t, ".loc")) { /* debug lines: one line of text */
    while (p->lx.tok.kind != TOK_END && p->lx.tok.line == t.line) ptx_lex_next(&p->lx);
  } else {
    parse_fail(p, t.line, "unknown directive '%.*s' in a kernel", (int)t.size, t.text);
  }
  return true;
}

void parse_body(Parser *p) {
  expect(p, '{');
  Names *top = p->scope;
  int depth = 1;
  while (depth) {
    Tok t = p->lx.tok;
    if (t.kind == TOK_END) parse_fail(p, t.line, "'}' is missing");
    if (take(p, '{')) {
      if (++depth > 64) parse_fail(p, t.line, "scopes are nested too deep");
      p->scope = names_open(&p->m->pool, p->scope);
      continue;
    }
    if (take(p, '}')) {
      depth--;
      if (depth) p->scope = p->scope->outer;
      continue;
    }
    if (take(p, ';') || body_directive(p)) continue;
    if (t.kind == TOK_WORD) { /* a label? */
      Lexer ahead = p->lx;
      ptx_lex_next(&ahead);
      if (tok_is(&ahead.tok, ':')) {
        ptx_lex_next(&ahead);
        p->lx = ahead;
        place_label(p, label_index(p, t.text, t.size, t.line), t.line);
        continue;
      }
    }
    decode_instruction(p);
  }
  p->scope = top;
}

/* ---- kernels ---- */
static void parse_params(Parser *p) {
  PtxKernel *k = p->k;
  if (!take(p, '(')) return;
  while (!take(p, ')')) {
    if (!take_word(p, ".param")) parse_fail(p, p->lx.tok.line, ".param is expected");
    Decl d = parse_decl(p);
    Var *v = add_var(p, &d, SPACE_PARAM);
    v->address = align_up(k->params_size, d.align);
    k->params_size = v->address + v->size;
    if (k->params_size > 32764) parse_fail(p, d.name.line, "more than 32764 bytes of parameters");
    if ((k->nparams & (k->nparams - 1)) == 0)
      k->params = pool_grow(&p->m->pool, k->params, k->nparams, k->nparams ? 2 * k->nparams : 8,
                            sizeof *k->params);
    k->params[k->nparams++] = (PtxParam){v->address, v->size, d.align};
    if (!tok_is(&p->lx.tok, ')')) expect(p, ',');
  }
}

/* .maxntid 256, 1, 1 and the like between the parameters and the body. */
static void parse_limits(Parser *p) {
  PtxKernel *k = p->k;
  k->max_threads = 1024;
  for (int i = 0; i < 3; i++) k->cluster[i] = 1;
  while (p->lx.tok.kind == TOK_DOT) {
    Tok t = p->lx.tok;
    ptx_lex_next(&p->lx);
    uint64_t product = 1;
    if (tok_eq(&t, ".noreturn") || tok_eq(&t, ".explicitcluster")) continue;
    unsigned value[3] = {1, 1, 1};
    int values = 0;
    do {
      uint64_t n = expect_int(p);
      if (values < 3) value[values++] = n < 1024 ? (unsigned)n : 1024;
      product = n && product > 4096 / n ? 4097 : product * n;
    } while (take(p, ','));
    if (tok_eq(&t, ".maxntid") || tok_eq(&t, ".reqntid"))
      k->max_threads = product < 1024 ? (unsigned)product : 1024;
    if (tok_eq(&t, ".minnctapersm")) k->min_ctas = value[0];
    if (tok_eq(&t, ".maxnreg")) k->max_registers = value[0];
    if (tok_eq(&t, ".reqnctapercluster")) memcpy(k->cluster, value, sizeof value);
  }
}

static void parse_kernel(Parser *p) {
  PtxModule *m = p->m;
  Tok name = expect_word(p);
  PtxKernel *k = pool_alloc(&m->pool, sizeof *k);
  k->name = pool_text(&m->pool, name.text, name.size);
  k->module = m;
  k->shared = m->shared;
  k->shared_used = m->shared_used;
  k->shared_granule = k->global_granule = 16;
  k->shared_ranges = pool_grow(&m->pool, m->shared_ranges, m->nshared_ranges, m->nshared_ranges + 1,
                               sizeof *k->shared_ranges);
  k->nshared_ranges = m->nshared_ranges;
  if (ptx_module_find(m, k->name)) parse_fail(p, name.line, "kernel '%s' is there twice", k->name);
  k->reg_bytes = ALU_SCRATCH * ALU_SCRATCH_BYTES; /* of alu_modified */
  p->k = k;
  p->labels = NULL;
  p->nlabels = 0;
  p->const_hash = NULL;
  p->const_hash_size = 0;
  p->scope = names_open(&m->pool, m->names);
  parse_params(p);
  parse_limits(p);
  if (take(p, ';')) parse_fail(p, name.line, "kernel '%s' has no body", k->name);
  k->dynamic_at = dynamic_at(m);
  parse_body(p);
  resolve_labels(p);
  p->scope = m->names;
  p->k = NULL;
  if ((m->nkernels & (m->nkernels - 1)) == 0)
    m->kernels = pool_grow(&m->pool, m->kernels, m->nkernels, m->nkernels ? 2 * m->nkernels : 8,
                           sizeof *m->kernels);
  m->kernels[m->nkernels++] = k;
}

/* A function that is not a kernel is read where it is called. */
static void skip_function(Parser *p) {
  while (!tok_is(&p->lx.tok, '{') && !tok_is(&p->lx.tok, ';')) {
    if (p->lx.tok.kind == TOK_END) parse_fail(p, p->lx.tok.line, "the text ends too early");
    ptx_lex_next(&p->lx);
  }
  if (tok_is(&p->lx.tok, '{')) {
    skip_braces(p);
  } else {
    ptx_lex_next(&p->lx);
  }
}

static void parse_version(Parser *p) {
  Tok t = p->lx.tok;
  if (t.kind != TOK_F64 && t.kind != TOK_INT) parse_fail(p, t.line, ".version needs a number");
  double v = 0;
  if (t.kind == TOK_F64) memcpy(&v, &t.bits, 8);
  p->m->version = t.kind == TOK_F64 && v > 0 && v < 100 ? (int)(v * 10 + 0.5) : 0;
  ptx_lex_next(&p->lx);
}

void parse_module(Parser *p) {
  bool external = false;
  p->m->names = p->scope = names_open(&p->m->pool, NULL);
  find_functions(p);
  for (;;) {
    Tok t = p->lx.tok;
    if (t.kind == TOK_END) break;
    if (t.kind != TOK_DOT)
      parse_fail(p, t.line, "a directive is expected, not '%.*s'", (int)(t.size < 40 ? t.size : 40),
                 t.text);
    ptx_lex_next(&p->lx);
    if (tok_eq(&t, ".visible") || tok_eq(&t, ".weak") || tok_eq(&t, ".extern") ||
        tok_eq(&t, ".common")) {
      external = external || tok_eq(&t, ".extern");
      continue;
    }
    if (tok_eq(&t, ".version")) {
      parse_version(p);
    } else if (tok_eq(&t, ".target")) {
      do {
        const Tok word = expect_word(p);
        char name[16] = "";
        if (word.size < sizeof name) memcpy(name, word.text, word.size);
        if (sscanf(name, "sm_%d", &p->m->target) != 1) continue;
      } while (take(p, ','));
    } else if (tok_eq(&t, ".address_size")) {
      if (expect_int(p) != 64) parse_fail(p, t.line, "only 64-bit addresses are known");
    } else if (tok_eq(&t, ".entry")) {
      parse_kernel(p);
    } else if (tok_eq(&t, ".func")) {
      skip_function(p);
    } else if (tok_eq(&t, ".shared")) {
      parse_variable(p, SPACE_SHARED, external);
    } else if (tok_eq(&t, ".global") || tok_eq(&t, ".const")) {
      if (external) parse_fail(p, t.line, "an external variable has no memory here");
      parse_variable(p, tok_eq(&t, ".global") ? SPACE_GLOBAL : SPACE_CONST, false);
    } else if (tok_eq(&t, ".file")) {
      while (p->lx.tok.kind != TOK_END && p->lx.tok.line == t.line) ptx_lex_next(&p->lx);
    } else if (tok_eq(&t, ".section")) {
      expect_word(p);
      skip_braces(p);
    } else if (tok_eq(&t, ".alias") || tok_eq(&t, ".pragma")) {
      skip_to(p, ';');
    } else {
      parse_fail(p, t.line, "unknown directive '%.*s'", (int)t.size, t.text);
    }
    external = false;
  }
  if (!p->m->version) parse_fail(p, 1, "this is not PTX: .version is missing");
}
