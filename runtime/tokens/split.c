/* Pre-tokenizers: a text becomes parts, each of which takes the next step before the next part is
   looked for. Contract: see parts.h; parts that are empty are none. Source: the package tokenizers,
   whose names and rules these are. */
#include "runtime/tokens/parts.h"
#include <stdlib.h>

enum { STEPS = 64, NESTED = 8 };

/* ---- bytes as characters that can be seen, as GPT-2 has them ---- */

static bool is_seen(int b) { return (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b != 0xAD); }

/* The n-th of the others is U+0100 + n: 0 to 20, 7F to A0, AD. */
static uint32_t byte_char(int b) {
  if (is_seen(b)) return (uint32_t)b;
  return 0x100u + (uint32_t)(b < 0x21 ? b : b < 0xAD ? b - 0x7F + 0x21 : 0x43);
}

bool bytes_encode(Text *to, Slice s) {
  uint64_t room;
  if (!checked_mul(s.n, 2, &room) || !checked_add(room, to->n, &room) ||
      !grow(&to->s, &to->room, room, 1))
    return false;
  for (uint64_t i = 0; i < s.n; i++) {
    int b = (unsigned char)s.s[i];
    to->n += (uint64_t)utf8_put(to->s + to->n, b >= 0x21 && b <= 0x7E ? (uint32_t)b : byte_char(b));
  }
  return true;
}

int bytes_decode(uint32_t c) {
  if (c < 0x100) return is_seen((int)c) ? (int)c : -1;
  int n = (int)c - 0x100;
  return n < 0x21 ? n : n < 0x43 ? n - 0x21 + 0x7F : n == 0x43 ? 0xAD : -1;
}

/* ---- steps ---- */

typedef struct Splitting {
  Step *steps;
  int n;
  WordTake *take;
  void *to;
  Err *e;
} Splitting;

static bool go_on(const Splitting *x, int step, Slice s, bool first);

/* The parts of a split, of which one is held back: a match may still join it. */
typedef struct Parts {
  const Splitting *x;
  int step;
  Slice s;
  bool first;
  uint64_t begin, end; /* of the part that is held back */
  bool match;          /* what was seen last */
  bool any;
} Parts;

static bool give(Parts *p) {
  if (!p->any || p->begin == p->end) return true;
  return go_on(p->x, p->step + 1, slice_part(p->s, p->begin, p->end), p->first && p->begin == 0);
}

/* Takes [begin, end), which joins the part before or not. */
static bool see(Parts *p, uint64_t begin, uint64_t end, bool match) {
  const Step *s = &p->x->steps[p->step];
  bool joins = false, was = p->any && p->match;
  switch (s->behavior) {
  case SPLIT_REMOVED:
    if (!match && !give(p)) return false;
    if (!match) p->begin = begin, p->end = end, p->any = true;
    return true;
  case SPLIT_ISOLATED: break;
  case SPLIT_PREVIOUS: joins = match && !was; break;
  case SPLIT_NEXT: joins = was && !match; break;
  case SPLIT_CONTIGUOUS: joins = match == was; break;
  }
  if (joins && p->any) {
    p->end = end;
  } else {
    if (!give(p)) return false;
    p->begin = begin, p->end = end, p->any = true;
  }
  p->match = match;
  return true;
}

static bool split(const Splitting *x, int step, Slice s, bool first) {
  const Step *k = &x->steps[step];
  Parts p = {.x = x, .step = step, .s = s, .first = first};
  uint64_t done = 0, from = 0, to = 0;
  while (from < s.n) {
    Found f = regex_find(k->regex, s, &from, &to);
    if (f == FOUND_TOO_LONG)
      return err_set(x->e, EXIT_WRONG, "a pre-tokenizer's pattern takes too long for this text");
    if (f == FOUND_NONE) break;
    if (from > done && !see(&p, done, from, k->invert)) return false;
    if (!see(&p, from, to, !k->invert)) return false;
    done = to;
    if (to == from && from < s.n)
      utf8_next(s, &from); /* an empty match */
    else
      from = to;
  }
  return (done >= s.n || see(&p, done, s.n, k->invert)) && give(&p);
}

static bool add_space(const Splitting *x, int step, Slice s, bool first) {
  Text *w = &x->steps[step].work;
  w->n = 0;
  if (s.n && s.s[0] == ' ') return go_on(x, step + 1, s, first);
  if (!text_add(w, " ", 1) || !text_add(w, s.s, s.n)) return no_memory(x->e);
  return go_on(x, step + 1, text_slice(w), first);
}

static bool show_bytes(const Splitting *x, int step, Slice s, bool first) {
  Text *w = &x->steps[step].work;
  w->n = 0;
  return bytes_encode(w, s) ? go_on(x, step + 1, text_slice(w), first) : no_memory(x->e);
}

static bool put_meta(const Splitting *x, int step, Slice s, bool first) {
  Step *k = &x->steps[step];
  Text *w = &k->work;
  w->n = 0;
  bool there =
      (s.n && s.s[0] == ' ') || (s.n >= k->meta.n && memcmp(s.s, k->meta.s, k->meta.n) == 0);
  bool ok = there || !(k->always || (k->first && first)) || text_add(w, k->meta.s, k->meta.n);
  for (uint64_t at = 0, end; ok && at < s.n; at = end) {
    const char *space = memchr(s.s + at, ' ', s.n - at);
    end = space ? (uint64_t)(space - s.s) : s.n;
    ok = text_add(w, s.s + at, end - at);
    if (space) ok = ok && text_add(w, k->meta.s, k->meta.n), end++;
  }
  return ok ? go_on(x, step + 1, text_slice(w), first) : no_memory(x->e);
}

static bool go_on(const Splitting *x, int step, Slice s, bool first) {
  if (!s.n) return true;
  if (step == x->n) return x->take(x->to, s, x->e);
  switch (x->steps[step].kind) {
  case STEP_SPLIT: return split(x, step, s, first);
  case STEP_SPACE: return add_space(x, step, s, first);
  case STEP_BYTES: return show_bytes(x, step, s, first);
  case STEP_META: return put_meta(x, step, s, first);
  }
  return false;
}

bool split_run(Step *steps, int n, Slice s, bool first, WordTake *take, void *to, Err *e) {
  const Splitting x = {steps, n, take, to, e};
  return go_on(&x, 0, s, first);
}

/* ---- reading ---- */

typedef struct Reader {
  const Tree *t;
  Step **steps;
  int *n;
} Reader;

static bool add(const Reader *r, Step x) {
  Step *more = *r->n < STEPS ? realloc(*r->steps, (size_t)(*r->n + 1) * sizeof *more) : NULL;
  if (!more) {
    regex_free(x.regex);
    return tree_fail(r->t, tree_root(r->t), "more than %d steps of pre-tokenizers", STEPS);
  }
  *r->steps = more;
  more[(*r->n)++] = x;
  return true;
}

static bool add_split(const Reader *r, const char *pattern, Behavior b, bool invert) {
  char why[REGEX_WHY];
  Step x = {.kind = STEP_SPLIT, .behavior = b, .invert = invert};
  x.regex = regex_compile(slice_of(pattern), why);
  return x.regex ? add(r, x) : err_set(r->t->e, EXIT_BUG, "%s: %s", pattern, why);
}

static bool read_behavior(const Tree *t, const TreeNode *node, Behavior missing, Behavior *out) {
  static const char *const names[] = {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext",
                                      "Contiguous"};
  Slice text;
  *out = missing;
  if (!tree_text(t, node, "behavior", &text)) return false;
  for (int i = 0; i < 5 && text.s; i++)
    if (slice_is(text, slice_of(names[i]))) return *out = (Behavior)i, true;
  return !text.s || tree_fail(t, node, "a behavior that is not known here");
}

static bool read_split(const Reader *r, const TreeNode *node) {
  Step x = {.kind = STEP_SPLIT};
  if (!read_behavior(r->t, node, SPLIT_ISOLATED, &x.behavior) ||
      !tree_flag(r->t, node, "invert", false, &x.invert) || !(x.regex = pattern_read(r->t, node)))
    return false;
  return add(r, x);
}

static bool read_bytes(const Reader *r, const TreeNode *node) {
  static const char gpt2[] = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|"
                             "\\s+(?!\\S)|\\s+";
  bool space, regex;
  return tree_flag(r->t, node, "add_prefix_space", true, &space) &&
         tree_flag(r->t, node, "use_regex", true, &regex) &&
         (!space || add(r, (Step){.kind = STEP_SPACE})) &&
         (!regex || add_split(r, gpt2, SPLIT_ISOLATED, false)) &&
         add(r, (Step){.kind = STEP_BYTES});
}

static bool read_meta(const Reader *r, const TreeNode *node) {
  char why[REGEX_WHY];
  Slice scheme;
  bool cuts, prefix;
  Step x = {.kind = STEP_META}, cut = {.kind = STEP_SPLIT, .behavior = SPLIT_NEXT};
  if (!tree_text(r->t, node, "replacement", &x.meta) ||
      !tree_text(r->t, node, "prepend_scheme", &scheme) ||
      !tree_flag(r->t, node, "add_prefix_space", true, &prefix) ||
      !tree_flag(r->t, node, "split", true, &cuts))
    return false;
  if (!x.meta.n) return tree_fail(r->t, node, "Metaspace without a replacement");
  x.first = slice_is(scheme, slice_of("first"));
  x.always = scheme.s ? slice_is(scheme, slice_of("always")) : prefix;
  if (scheme.s && !x.first && !x.always && !slice_is(scheme, slice_of("never")))
    return tree_fail(r->t, node, "a prepend_scheme that is not known here");
  if (!add(r, x)) return false;
  if (!cuts) return true;
  cut.regex = regex_literal(x.meta, why);
  return cut.regex ? add(r, cut) : tree_fail(r->t, node, "%s", why);
}

static bool read_digits(const Reader *r, const TreeNode *node) {
  bool each;
  return tree_flag(r->t, node, "individual_digits", false, &each) &&
         add_split(r, "\\p{N}", each ? SPLIT_ISOLATED : SPLIT_CONTIGUOUS, false);
}

#define PUNCTUATION "[\\p{8:P}!-/:-@\\[-`{-~]"

static bool read_punctuation(const Reader *r, const TreeNode *node) {
  Behavior b;
  return read_behavior(r->t, node, SPLIT_ISOLATED, &b) && add_split(r, PUNCTUATION, b, false);
}

static bool read_bert(const Reader *r, const TreeNode *node) {
  return add_split(r, "\\s", SPLIT_REMOVED, false) &&
         add_split(r, PUNCTUATION, SPLIT_ISOLATED, false);
}

static bool read_space(const Reader *r, const TreeNode *node) {
  return add_split(r, "\\s", SPLIT_REMOVED, false);
}

/* Words as the package regex of Rust has them: with joiners, without fractions. */
static bool read_words(const Reader *r, const TreeNode *node) {
#define WORD                                                                                       \
  "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\x{200C}\\x{200D}\\x{24B6}-\\x{24E9}\\x{1F130}-\\x{1F149}"    \
  "\\x{1F150}-\\x{1F169}\\x{1F170}-\\x{1F189}"
  return add_split(r, "[" WORD "]+|[^\\s" WORD "]+", SPLIT_REMOVED, true);
}

static bool read_one(const Reader *r, const TreeNode *node, int depth) {
  static const struct {
    const char *name;
    bool (*read)(const Reader *r, const TreeNode *node);
  } kinds[] = {{"Split", read_split},
               {"ByteLevel", read_bytes},
               {"Metaspace", read_meta},
               {"Digits", read_digits},
               {"Punctuation", read_punctuation},
               {"BertPreTokenizer", read_bert},
               {"WhitespaceSplit", read_space},
               {"Whitespace", read_words}};
  Slice type;
  if (!tree_has(node)) return true;
  if (!tree_text(r->t, node, "type", &type)) return false;
  if (slice_is(type, slice_of("Sequence"))) {
    const TreeNode *all = tree_get(r->t, node, "pretokenizers");
    if (depth == NESTED) return tree_fail(r->t, node, "pre-tokenizers are nested too deeply");
    for (const TreeNode *x = tree_child(r->t, all); x; x = tree_next(r->t, x))
      if (!read_one(r, x, depth + 1)) return false;
    return true;
  }
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (slice_is(type, slice_of(kinds[i].name))) return kinds[i].read(r, node);
  return tree_fail(r->t, node, "the pre-tokenizer %.*s is not known here",
                   (int)(type.n < 60 ? type.n : 60), type.s);
}

bool split_read(const Tree *t, const TreeNode *node, Step **steps, int *n) {
  const Reader r = {t, steps, n};
  return read_one(&r, node, 0);
}

void split_free(Step *steps, int n) {
  for (int i = 0; i < n; i++) {
    regex_free(steps[i].regex);
    text_free(&steps[i].work);
  }
  free(steps);
}
