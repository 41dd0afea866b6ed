/* The matcher: a program of regex_code.h runs over text, and goes back to the last choice where it
   fails. Contract: see regex.h; the stack of choices is kept from one search to the next. */
#include "runtime/tokens/regex_code.h"

enum { /* of all searches of a text, at most */
       STEPS_OF_BYTE = 1 << 10,
       STEPS = 1 << 20,
       BACK_OF_BYTE = 64, /* choices that wait */
       BACK = 1 << 16
};

static bool is_word(uint32_t c) {
  if (UNICODE_WORD >> unicode_category(c) & 1) return true;
  return (c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149) || /* letters in circles */
         (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189);
}

bool regex_set_has(const Regex *r, const Set *s, uint32_t c) {
  bool in = false;
  for (int i = s->first; i < s->first + s->n && !in; i++) {
    const Item *x = &r->items[i];
    switch (x->kind) {
    case ITEM_RANGE: in = c >= x->low && c <= x->high; break;
    case ITEM_MASK: in = x->low >> unicode_category(c) & 1; break;
    case ITEM_MASK_8: in = x->low >> unicode_category_8(c) & 1; break;
    case ITEM_SPACE: in = unicode_is_space(c); break;
    case ITEM_WORD: in = is_word(c); break;
    }
    in = in != x->outside;
  }
  return in != s->outside;
}

/* Where the character of the set at `at` ends; 0: there is none. */
static inline uint64_t one(const Regex *r, const Set *s, Slice text, uint64_t at) {
  if (at >= text.n) return 0;
  unsigned char c = (unsigned char)text.s[at];
  if (c < 0x80) return s->ascii[c >> 6] >> (c & 63) & 1 ? at + 1 : 0;
  uint64_t next = at;
  uint32_t code = utf8_next(text, &next);
  return regex_set_has(r, s, code) ? next : 0;
}

static bool push(Regex *r, uint64_t at, uint64_t low, int code) {
  if (r->nback == r->most_back || !grow(&r->back, &r->back_room, r->nback + 1, sizeof *r->back))
    return false;
  r->back[r->nback++] = (Back){at, low, code};
  return true;
}

/* The last choice again; false: there is none behind `base`. */
static bool go_back(Regex *r, uint64_t base, Slice text, uint64_t *at, int *pc) {
  if (r->nback == base) return false;
  Back *b = &r->back[r->nback - 1];
  *pc = b->code;
  if (b->at > b->low) b->at = utf8_before(text, b->at);
  *at = b->at;
  if (b->at <= b->low) r->nback--;
  return true;
}

/* As many as there are, up to the most, each of which is a step. False: too few. */
static bool repeat(Regex *r, int pc, Slice text, uint64_t *at, bool *full) {
  const Code *c = &r->code[pc];
  uint64_t end = *at, low = *at;
  uint32_t n = 0;
  for (uint64_t next; n < c->max && (next = one(r, &r->sets[c->set], text, end)); n++) {
    end = next;
    if (n + 1 == c->min) low = end;
  }
  r->steps -= n < r->steps ? n : r->steps;
  if (n < c->min) return false;
  *at = end;
  *full = !c->keeps && end > low && !push(r, end, low, pc + 1);
  return true;
}

/* From pc to CODE_DONE. Nested by as many lookaheads as the expression nests. */
static Found run(Regex *r, int pc, Slice text, uint64_t *end) {
  uint64_t base = r->nback, at = *end;
  for (;;) {
    const Code *c = &r->code[pc];
    bool ok = true, full = false;
    uint64_t next;
    if (!r->steps) return FOUND_TOO_LONG;
    r->steps--;
    switch (c->kind) {
    case CODE_DONE: r->nback = base; return *end = at, FOUND;
    case CODE_SET: ok = (next = one(r, &r->sets[c->set], text, at)) != 0, at = next, pc++; break;
    case CODE_REPEAT: ok = repeat(r, pc, text, &at, &full), pc++; break;
    case CODE_SPLIT: full = !push(r, at, at, c->to), pc++; break;
    case CODE_LAZY: full = !push(r, at, at, pc + 1), pc = c->to; break;
    case CODE_JUMP: pc = c->to; break;
    case CODE_LOOK:
    case CODE_LOOK_NOT: {
      uint64_t there = at;
      Found f = run(r, pc + 1, text, &there);
      if (f == FOUND_TOO_LONG) return f;
      ok = (f == FOUND) == (c->kind == CODE_LOOK);
      pc = c->to;
      break;
    }
    }
    if (full) return FOUND_TOO_LONG;
    if (!ok && !go_back(r, base, text, &at, &pc)) return FOUND_NONE;
  }
}

Found regex_find(Regex *r, Slice s, uint64_t *from, uint64_t *to) {
  if (*from == 0) { /* a new text */
    if (!checked_mul(s.n, STEPS_OF_BYTE, &r->steps) || !checked_add(r->steps, STEPS, &r->steps) ||
        !checked_mul(s.n, BACK_OF_BYTE, &r->most_back))
      return FOUND_TOO_LONG;
    r->most_back += BACK;
  }
  for (;;) {
    uint64_t end = *from;
    r->nback = 0;
    Found f = run(r, 0, s, &end);
    if (f == FOUND) *to = end;
    if (f != FOUND_NONE) return f;
    if (*from >= s.n) return FOUND_NONE;
    utf8_next(s, from);
  }
}
