/* Categories by binary search in runs, canonical decomposition and composition. Contract: see
   unicode.h. Source: the Unicode standard, section 3.11 (normalization forms), 3.12 (Hangul). */
#include "runtime/tokens/unicode.h"
#include <stdlib.h>

/* ---- tables ---- */

typedef struct Run {
  uint32_t first : 24, category : 8;
} Run;
static const Run runs[] = {
#define R(first, category) {first, CAT_##category},
#include "runtime/tokens/unicode.def"
#undef R
};
typedef struct ClassRun {
  uint32_t first, last;
  int class;
} ClassRun;
static const ClassRun classes[] = {
#define C(first, last, class) {first, last, class},
#include "runtime/tokens/unicode.def"
#undef C
};
typedef struct LowerRun {
  uint32_t first, last, stride;
  int distance;
} LowerRun;
static const LowerRun lowers[] = {
#define L(first, last, stride, distance) {first, last, stride, distance},
#include "runtime/tokens/unicode.def"
#undef L
};
typedef struct Old {
  uint32_t first, last;
} Old;
static const Old olds[] = {
#define O(first, last) {first, last},
#include "runtime/tokens/unicode.def"
#undef O
};
static const Old marks[] = {
#define M(first, last) {first, last},
#include "runtime/tokens/unicode.def"
#undef M
};
static const Run changed[] = {
#define X(code, category) {code, CAT_##category},
#include "runtime/tokens/unicode.def"
#undef X
};
typedef struct Decomposition {
  uint32_t code, a, b; /* b = 0: there is one part */
} Decomposition;
static const Decomposition decompositions[] = {
#define D(code, a, b) {code, a, b},
#include "runtime/tokens/canonical.def"
#undef D
};
typedef struct Composition {
  uint32_t a, b, code;
} Composition;
static const Composition compositions[] = {
#define P(a, b, code) {a, b, code},
#include "runtime/tokens/canonical.def"
#undef P
};
enum {
  RUNS = sizeof runs / sizeof *runs,
  CLASSES = sizeof classes / sizeof *classes,
  LOWERS = sizeof lowers / sizeof *lowers,
  OLDS = sizeof olds / sizeof *olds,
  MARKS = sizeof marks / sizeof *marks,
  CHANGED = sizeof changed / sizeof *changed,
  DECOMPOSITIONS = sizeof decompositions / sizeof *decompositions,
  COMPOSITIONS = sizeof compositions / sizeof *compositions
};

Category unicode_category(uint32_t c) {
  int low = 0, high = RUNS; /* the run is in [low, high) */
  while (high - low > 1) {
    int middle = (low + high) / 2;
    if (runs[middle].first <= c)
      low = middle;
    else
      high = middle;
  }
  return (Category)runs[low].category;
}

uint32_t unicode_mask(const char *name, uint64_t n) {
  static const char names[CATEGORIES][3] = {
      "Cn", "Cc", "Cf", "Co", "Cs", "Ll", "Lm", "Lo", "Lt", "Lu", "Mc", "Me", "Mn", "Nd", "Nl",
      "No", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "Sc", "Sk", "Sm", "So", "Zl", "Zp", "Zs"};
  uint32_t mask = 0;
  for (int i = 0; i < CATEGORIES && (n == 1 || n == 2); i++)
    if (memcmp(names[i], name, n) == 0) mask |= UINT32_C(1) << i;
  return mask;
}

bool unicode_is_space(uint32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 9 && c <= 13);
  return c == 0x85 || (1u << unicode_category(c) & (1u << CAT_Zl | 1u << CAT_Zp | 1u << CAT_Zs));
}

static int by_last(const void *code, const void *run) {
  const uint32_t c = *(const uint32_t *)code;
  const uint32_t *r = run; /* ClassRun, LowerRun and Old begin with first and last */
  return c < r[0] ? -1 : c > r[1];
}

bool unicode_is_mark(uint32_t c) {
  return c >= 0x300 && bsearch(&c, marks, MARKS, sizeof *marks, by_last);
}

static int by_first(const void *code, const void *run) {
  uint32_t c = *(const uint32_t *)code, r = ((const Run *)run)->first;
  return c < r ? -1 : c > r;
}

Category unicode_category_8(uint32_t c) {
  const Run *x = c < 0x100 ? NULL : bsearch(&c, changed, CHANGED, sizeof *changed, by_first);
  if (x) return (Category)x->category;
  bool old = c < 0x100 || bsearch(&c, olds, OLDS, sizeof *olds, by_last);
  return old ? unicode_category(c) : CAT_Cn;
}

bool unicode_lower(Text *to, uint32_t c) {
  if (c < 0x80) return text_add_char(to, c >= 'A' && c <= 'Z' ? c + 32 : c);
  if (c == 0x130) return text_add_char(to, 'i') && text_add_char(to, 0x307);
  const LowerRun *r = bsearch(&c, lowers, LOWERS, sizeof *lowers, by_last);
  if (r && (c - r->first) % r->stride == 0) c += (uint32_t)r->distance;
  return text_add_char(to, c);
}

/* ---- canonical forms ---- */

enum { /* Hangul syllables are composed by arithmetic */
       S0 = 0xAC00,
       L0 = 0x1100,
       V0 = 0x1161,
       T0 = 0x11A7,
       LN = 19,
       VN = 21,
       TN = 28,
       SN = LN * VN * TN
};

typedef struct Mark { /* a code point and its combining class */
  uint32_t code;
  int class;
} Mark;
typedef struct Marks { /* a starter and what follows it */
  Mark *at;
  uint64_t n, room;
} Marks;

static int class_of(uint32_t c) {
  if (c < 0x300) return 0;
  const ClassRun *r = bsearch(&c, classes, CLASSES, sizeof *classes, by_last);
  return r ? r->class : 0;
}

static int by_code(const void *code, const void *row) {
  uint32_t c = *(const uint32_t *)code, r = ((const Decomposition *)row)->code;
  return c < r ? -1 : c > r;
}

static bool push(Marks *m, uint32_t c) {
  if (!grow(&m->at, &m->room, m->n + 1, sizeof *m->at)) return false;
  m->at[m->n++] = (Mark){c, class_of(c)};
  return true;
}

/* Decomposes one code point wholly; a table's row has two parts at most, of which the first may go
   on. */
static bool decompose(Marks *m, uint32_t c) {
  uint32_t tail[8];
  int n = 0;
  if (c >= S0 && c < S0 + SN) {
    uint32_t t = (c - S0) % TN;
    return push(m, L0 + (c - S0) / (VN * TN)) && push(m, V0 + (c - S0) % (VN * TN) / TN) &&
           (!t || push(m, T0 + t));
  }
  for (const Decomposition *d;
       n < 8 && c >= 0xC0 && (d = bsearch(&c, decompositions, DECOMPOSITIONS, sizeof *d, by_code));
       c = d->a)
    if (d->b) tail[n++] = d->b;
  if (!push(m, c)) return false;
  while (n)
    if (!push(m, tail[--n])) return false;
  return true;
}

/* Marks in the order of their classes: an insertion sort, stable, of the few behind a starter. Long
   runs, which nothing but an attack has, are sorted by counting. */
static bool order(Marks *m) {
  enum { FEW = 32 };
  if (m->n <= FEW) {
    for (uint64_t i = 1; i < m->n; i++)
      for (uint64_t k = i; k && m->at[k - 1].class > m->at[k].class && m->at[k].class; k--) {
        Mark other = m->at[k];
        m->at[k] = m->at[k - 1], m->at[k - 1] = other;
      }
    return true;
  }
  Mark *sorted = malloc(m->n * sizeof *sorted);
  uint64_t begin = 0, put = 0;
  if (!sorted) return false;
  while (begin < m->n) { /* a starter, then its marks */
    uint64_t end = begin;
    if (!m->at[begin].class) sorted[put++] = m->at[begin], end = ++begin;
    while (end < m->n && m->at[end].class) end++;
    for (int class = 1; class < 256 && end > begin; class ++)
      for (uint64_t i = begin; i < end; i++)
        if (m->at[i].class == class) sorted[put++] = m->at[i];
    begin = end;
  }
  memcpy(m->at, sorted, m->n * sizeof *sorted);
  free(sorted);
  return true;
}

static int by_parts(const void *a, const void *b) {
  const Composition *x = a, *y = b;
  if (x->a != y->a) return x->a < y->a ? -1 : 1;
  return x->b < y->b ? -1 : x->b > y->b;
}

/* 0: they do not compose. */
static uint32_t compose_pair(uint32_t a, uint32_t b) {
  if (a >= L0 && a < L0 + LN && b >= V0 && b < V0 + VN) return S0 + ((a - L0) * VN + (b - V0)) * TN;
  if (a >= S0 && a < S0 + SN && (a - S0) % TN == 0 && b > T0 && b < T0 + TN) return a + (b - T0);
  const Composition key = {a, b, 0};
  const Composition *c = bsearch(&key, compositions, COMPOSITIONS, sizeof key, by_parts);
  return c ? c->code : 0;
}

/* In place: each mark that nothing blocks is composed with the last starter. */
static void compose_all(Marks *m) {
  uint64_t starter = UINT64_MAX, put = 0;
  int last = 0; /* class of what stands before, behind the starter */
  for (uint64_t i = 0; i < m->n; i++) {
    Mark x = m->at[i];
    bool blocked = put != starter + 1 && (last >= x.class);
    uint32_t c = starter != UINT64_MAX && !blocked ? compose_pair(m->at[starter].code, x.code) : 0;
    if (c) {
      m->at[starter].code = c;
      continue;
    }
    if (!x.class) starter = put;
    last = x.class;
    m->at[put++] = x;
  }
  m->n = put;
}

/* Nothing below begins, ends or is part of a composition with what stands before it. */
static bool is_plain(uint32_t c, bool compose) { return c < (compose ? 0x300u : 0xC0u); }

bool unicode_canonical(Text *to, Slice s, bool compose) {
  Marks m = {0};
  bool ok = true;
  uint64_t at = 0, begin = 0; /* [begin, at) is a plain text that stays as it is */
  while (ok && at < s.n) {
    uint64_t next = at, after;
    uint32_t c = utf8_next(s, &next);
    after = next;
    if (is_plain(c, compose) && (after == s.n || is_plain(utf8_next(s, &after), compose))) {
      at = next;
      continue;
    }
    ok = text_add(to, s.s + begin, at - begin);
    m.n = 0;
    do { /* up to where the next two plain ones begin */
      ok = ok && decompose(&m, c);
      at = next;
      if (at == s.n) break;
      c = utf8_next(s, &next);
    } while (ok && !is_plain(c, compose));
    ok = ok && order(&m);
    if (compose) compose_all(&m);
    for (uint64_t i = 0; ok && i < m.n; i++) ok = text_add_char(to, m.at[i].code);
    begin = at;
  }
  ok = ok && text_add(to, s.s + begin, s.n - begin);
  free(m.at);
  return ok;
}
