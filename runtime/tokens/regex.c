/* The parser: recursive descent to a tree, whose code regex_emit.c writes. Contract: see regex.h;
   the tree and its depth are bounded. Syntax: Oniguruma's, of which this is a part. */
#include "runtime/tokens/regex_tree.h"
#include <stdio.h>
#include <stdlib.h>

bool regex_wrong(Parser *p, const char *what) {
  if (!*p->why) snprintf(p->why, REGEX_WHY, "%s, at byte %llu", what, (unsigned long long)p->at);
  return false;
}

static bool ends(const Parser *p) { return p->at == p->s.n; }
static bool sees(const Parser *p, const char *text) {
  uint64_t n = strlen(text);
  return p->s.n - p->at >= n && memcmp(p->s.s + p->at, text, n) == 0;
}
static bool takes(Parser *p, const char *text) {
  if (!sees(p, text)) return false;
  p->at += strlen(text);
  return true;
}

static int node_new(Parser *p, NodeKind kind) {
  if (p->n == NODES || !grow(&p->nodes, &p->room, (uint64_t)p->n + 1, sizeof *p->nodes))
    return regex_wrong(p, "it is too long"), -1;
  p->nodes[p->n] = (Node){.kind = kind, .child = -1, .next = -1};
  return p->n++;
}

/* ---- sets ---- */

static bool item_add(Parser *p, Item x) {
  Regex *r = p->r;
  if (r->nitems == NODES * 4 || !grow(&r->items, &r->item_room, (uint64_t)r->nitems + 1, sizeof x))
    return regex_wrong(p, "it is too long");
  r->items[r->nitems++] = x;
  return true;
}

static bool range_add(Parser *p, uint32_t low, uint32_t high) {
  return item_add(p, (Item){.kind = ITEM_RANGE, .low = low, .high = high});
}

/* A character; with case folded the other ones, too. */
static bool char_add(Parser *p, uint32_t c) {
  if (!range_add(p, c, c)) return false;
  if (!p->folds) return true;
  uint32_t lower = c | 32;
  if (c >= 0x80) return regex_wrong(p, "case is folded for the letters a to z alone");
  if (lower < 'a' || lower > 'z') return true;
  if (!range_add(p, c ^ 32, c ^ 32)) return false;
  return lower == 's' ? range_add(p, 0x17F, 0x17F) : lower != 'k' || range_add(p, 0x212A, 0x212A);
}

static int set_new(Parser *p, int first, bool outside) {
  Regex *r = p->r;
  Set s = {.first = first, .n = r->nitems - first, .outside = outside};
  if (!grow(&r->sets, &r->set_room, (uint64_t)r->nsets + 1, sizeof s))
    return regex_wrong(p, "there is no memory"), -1;
  for (uint32_t c = 0; c < 0x80; c++)
    if (regex_set_has(r, &s, c)) s.ascii[c >> 6] |= UINT64_C(1) << (c & 63);
  r->sets[r->nsets] = s;
  return r->nsets++;
}

/* \p{L}, \P{Lu}, \p{^P}, \pL; \p{8:P}: of Unicode 8.0, for BERT's punctuation. */
static bool property(Parser *p, bool outside) {
  uint64_t begin = p->at, n = 1;
  ItemKind kind = ITEM_MASK;
  if (takes(p, "{")) {
    if (takes(p, "^")) outside = !outside;
    if (takes(p, "8:")) kind = ITEM_MASK_8;
    for (begin = p->at; !ends(p) && p->s.s[p->at] != '}';) p->at++;
    n = p->at - begin;
    if (!takes(p, "}")) return regex_wrong(p, "'}' is missing");
  } else if (!ends(p)) {
    p->at++;
  }
  uint32_t mask = begin + n <= p->s.n ? unicode_mask(p->s.s + begin, n) : 0;
  if (!mask) return regex_wrong(p, "a property that is no general category");
  return item_add(p, (Item){.kind = kind, .outside = outside, .low = mask});
}

static bool hex(Parser *p, int most, uint32_t *c) {
  int n = 0;
  for (*c = 0; n < most && !ends(p); n++, p->at++) {
    char d = p->s.s[p->at];
    int v = d >= '0' && d <= '9'                 ? d - '0'
            : (d | 32) >= 'a' && (d | 32) <= 'f' ? (d | 32) - 87
                                                 : -1;
    if (v < 0) break;
    *c = *c << 4 | (uint32_t)v;
  }
  return (n && *c < 0x110000) || regex_wrong(p, "a code point is wrong");
}

/* Behind a backslash: a class, which is added (*single = false), or one character. */
static bool escape(Parser *p, uint32_t *c, bool *single) {
  static const char from[] = "nrtfva", to[] = "\n\r\t\f\v\a";
  *single = false;
  if (ends(p)) return regex_wrong(p, "it ends behind '\\'");
  char e = p->s.s[p->at++];
  bool outside = e >= 'A' && e <= 'Z';
  switch (e) {
  case 'p':
  case 'P': return property(p, outside);
  case 's':
  case 'S': return item_add(p, (Item){.kind = ITEM_SPACE, .outside = outside});
  case 'w':
  case 'W': return item_add(p, (Item){.kind = ITEM_WORD, .outside = outside});
  case 'd':
  case 'D': return item_add(p, (Item){.kind = ITEM_MASK, .outside = outside, .low = 1u << CAT_Nd});
  default: break;
  }
  *single = true;
  if (e == 'u') return hex(p, 4, c);
  if (e == 'x' && takes(p, "{"))
    return hex(p, 8, c) && (takes(p, "}") || regex_wrong(p, "'}' is missing"));
  if (e == 'x') return hex(p, 2, c) && (*c < 0x80 || regex_wrong(p, "\\x takes 00 to 7F, or {…}"));
  const char *k = strchr(from, e);
  if (k) return *c = (uint32_t)(unsigned char)to[k - from], true;
  if ((e | 32) >= 'a' && (e | 32) <= 'z') return regex_wrong(p, "an escape that is not known here");
  if (e >= '0' && e <= '9') return regex_wrong(p, "a back reference");
  p->at--;
  *c = utf8_next(p->s, &p->at);
  return true;
}

/* Behind '['. */
static int class(Parser *p) {
  int first = p->r->nitems;
  bool outside = takes(p, "^"), empty = true;
  while (!ends(p) && (empty || !sees(p, "]"))) {
    uint32_t low, high;
    bool single = true;
    empty = false;
    if (sees(p, "[") || sees(p, "&&")) return regex_wrong(p, "a class within a class"), -1;
    if (!takes(p, "\\"))
      low = utf8_next(p->s, &p->at);
    else if (!escape(p, &low, &single))
      return -1;
    if (!single) continue;
    bool range = sees(p, "-") && p->at + 1 < p->s.n && p->s.s[p->at + 1] != ']';
    if (!range) {
      if (!char_add(p, low)) return -1;
      continue;
    }
    p->at++;
    if (!takes(p, "\\"))
      high = utf8_next(p->s, &p->at);
    else if (!escape(p, &high, &single))
      return -1;
    if (!single || high < low)
      return regex_wrong(p, "a range has no end, or one before its beginning"), -1;
    if (p->folds) return regex_wrong(p, "a range with case folded"), -1;
    if (!range_add(p, low, high)) return -1;
  }
  if (!takes(p, "]")) return regex_wrong(p, "']' is missing"), -1;
  return set_new(p, first, outside);
}

/* ---- the tree ---- */

static int either(Parser *p);

/* Behind '('. */
static int group(Parser *p) {
  bool folds = p->folds;
  int look = -1, body;
  if (takes(p, "?i:") || takes(p, "?i-:")) {
    p->folds = true;
  } else if (takes(p, "?=") || takes(p, "?!")) {
    bool negative = p->s.s[p->at - 1] == '!';
    if ((look = node_new(p, NODE_LOOK)) < 0) return -1;
    p->nodes[look].negative = negative;
  } else if (!takes(p, "?:") && sees(p, "?")) {
    return regex_wrong(p, "a group of a kind that is not known here"), -1;
  }
  if (++p->depth > DEPTH) return regex_wrong(p, "groups are nested too deeply"), -1;
  body = either(p);
  p->depth--;
  p->folds = folds;
  if (body < 0) return -1;
  if (!takes(p, ")")) return regex_wrong(p, "')' is missing"), -1;
  if (look < 0) return body;
  p->nodes[look].child = body;
  return look;
}

static int atom(Parser *p) {
  int set, first = p->r->nitems;
  bool single = true;
  uint32_t c;
  if (takes(p, "(")) return group(p);
  if (takes(p, "[")) {
    set = class(p);
  } else if (takes(p, ".")) {
    set = range_add(p, '\n', '\n') ? set_new(p, first, true) : -1;
  } else {
    char k = p->s.s[p->at];
    if (strchr("*+?{^$", k)) return regex_wrong(p, "a character that is not known here"), -1;
    if (!takes(p, "\\"))
      c = utf8_next(p->s, &p->at);
    else if (!escape(p, &c, &single))
      return -1;
    set = !single || char_add(p, c) ? set_new(p, first, false) : -1;
  }
  int n = set < 0 ? -1 : node_new(p, NODE_SET);
  if (n >= 0) p->nodes[n].set = set;
  return n;
}

static bool number(Parser *p, uint32_t *n) {
  uint64_t begin = p->at;
  for (*n = 0; !ends(p) && p->s.s[p->at] >= '0' && p->s.s[p->at] <= '9'; p->at++)
    if ((*n = *n * 10 + (uint32_t)(p->s.s[p->at] - '0')) > 1000)
      return regex_wrong(p, "a repetition of more than 1000");
  return p->at > begin;
}

/* *, +, ?, {n}, {n,}, {n,m}, {,m}; false: there is none, or it is wrong. */
static bool quantifier(Parser *p, uint32_t *min, uint32_t *max) {
  *min = 0, *max = UINT32_MAX;
  if (ends(p)) return false;
  if (takes(p, "*")) return true;
  if (takes(p, "+")) return *min = 1, true;
  if (takes(p, "?")) return *max = 1, true;
  if (!takes(p, "{")) return false;
  bool low = number(p, min), both = takes(p, ","), high = both && number(p, max);
  if (!both) *max = *min;
  if (both && !high) *max = UINT32_MAX;
  if (!(low || high) || !takes(p, "}") || *max < *min)
    return regex_wrong(p, "a repetition is wrong");
  return true;
}

static bool may_be_empty(const Parser *p, int n) {
  const Node *x = &p->nodes[n];
  bool all = x->kind == NODE_SEQUENCE || x->kind == NODE_LOOK;
  if (x->kind == NODE_SET) return false;
  if (x->kind == NODE_LOOK) return true;
  if (x->kind == NODE_REPEAT) return x->min == 0 || may_be_empty(p, x->child);
  for (int i = x->child; i >= 0; i = p->nodes[i].next)
    if (may_be_empty(p, i) != all) return !all;
  return all;
}

static int repeated(Parser *p) {
  uint32_t min, max;
  int n = atom(p);
  while (n >= 0 && quantifier(p, &min, &max)) {
    int outer = node_new(p, NODE_REPEAT);
    if (outer < 0) return -1;
    Node *x = &p->nodes[outer];
    x->child = n, x->min = min, x->max = max;
    bool counted = p->s.s[p->at - 1] == '}';
    x->lazy = takes(p, "?"), x->keeps = !x->lazy && !counted && takes(p, "+");
    if (x->keeps && p->nodes[n].kind != NODE_SET)
      return regex_wrong(p, "a possessive repetition of a group"), -1;
    if (max == UINT32_MAX && may_be_empty(p, n))
      return regex_wrong(p, "a repetition of what may be empty"), -1;
    n = outer;
  }
  return *p->why ? -1 : n;
}

static int sequence(Parser *p) {
  int n = node_new(p, NODE_SEQUENCE), last = -1;
  while (n >= 0 && !ends(p) && !sees(p, "|") && !sees(p, ")")) {
    int x = repeated(p);
    if (x < 0) return -1;
    *(last < 0 ? &p->nodes[n].child : &p->nodes[last].next) = x;
    last = x;
  }
  return n;
}

static int either(Parser *p) {
  int n = node_new(p, NODE_EITHER), last = -1;
  do {
    int x = n < 0 ? -1 : sequence(p);
    if (x < 0) return -1;
    *(last < 0 ? &p->nodes[n].child : &p->nodes[last].next) = x;
    last = x;
  } while (takes(p, "|"));
  return n;
}

void regex_free(Regex *r) {
  if (!r) return;
  free(r->items);
  free(r->sets);
  free(r->code);
  free(r->back);
  free(r);
}

/* Takes what has been parsed. */
static Regex *compiled(Parser *p, bool ok) {
  ok = ok && regex_code_add(p, (Code){.kind = CODE_DONE}) >= 0;
  free(p->nodes);
  if (ok) return p->r;
  regex_free(p->r);
  return NULL;
}

Regex *regex_compile(Slice pattern, char why[REGEX_WHY]) {
  Parser p = {.r = calloc(1, sizeof *p.r), .s = pattern, .why = why};
  *why = 0;
  if (!p.r) return snprintf(why, REGEX_WHY, "there is no memory"), NULL;
  int root = either(&p);
  bool ok = root >= 0 && (ends(&p) || regex_wrong(&p, "a ')' too many"));
  return compiled(&p, ok && regex_emit(&p, root));
}

Regex *regex_literal(Slice text, char why[REGEX_WHY]) {
  Parser p = {.r = calloc(1, sizeof *p.r), .s = text, .why = why};
  *why = 0;
  if (!p.r) return snprintf(why, REGEX_WHY, "there is no memory"), NULL;
  bool ok = text.n > 0 || regex_wrong(&p, "it is empty");
  while (ok && !ends(&p)) {
    int first = p.r->nitems,
        set = char_add(&p, utf8_next(text, &p.at)) ? set_new(&p, first, false) : -1;
    ok = set >= 0 && regex_code_add(&p, (Code){.kind = CODE_SET, .set = set}) >= 0;
  }
  return compiled(&p, ok);
}
