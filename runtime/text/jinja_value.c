/* Values of chat templates: memory, comparison, filters, tests, methods and functions. Contract:
   see jinja_parts.h. */
#include "runtime/text/jinja_parts.h"
#include "runtime/tokens/unicode.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST_BYTES = 64 << 20, MOST_WORK = 1 << 22 };

bool jinja_fail(Jinja *j, const char *fmt, ...) {
  char what[160];
  va_list ap;
  uint64_t line = 1;
  if (j->e->code) return false;
  va_start(ap, fmt);
  vsnprintf(what, sizeof what, fmt, ap);
  va_end(ap);
  for (const char *p = j->source.s; p < j->at; p++) line += *p == '\n';
  return err_set(j->e, EXIT_WRONG, "line %" PRIu64 " of the template: %s", line, what);
}

bool jinja_works(Jinja *j) {
  if (++j->work > MOST_WORK) jinja_fail(j, "it does not end");
  return !j->e->code;
}

void *jinja_take(Jinja *j, uint64_t bytes) {
  if (j->e->code) return NULL;
  if (bytes > MOST_BYTES - j->bytes) return jinja_fail(j, "it makes a text that is too long"), NULL;
  JinjaBlock *b = calloc(1, sizeof *b + bytes);
  if (!b) return err_set(j->e, EXIT_ENV, "no memory for the chat"), NULL;
  b->next = j->blocks;
  j->blocks = b;
  j->bytes += bytes + sizeof *b;
  if (j->bytes > MOST_BYTES) j->bytes = MOST_BYTES;
  return b + 1;
}

void jinja_free(Jinja *j) {
  for (JinjaBlock *b = j->blocks, *next; b; b = next) {
    next = b->next;
    free(b);
  }
  j->blocks = NULL;
}

JinjaValue jinja_string(Slice s) { return (JinjaValue){.kind = JINJA_STRING, .s = s}; }
JinjaValue jinja_int(int64_t n) { return (JinjaValue){.kind = JINJA_INT, .n = n}; }
JinjaValue jinja_bool(bool b) { return (JinjaValue){.kind = JINJA_BOOL, .n = b}; }

JinjaValue jinja_items(Jinja *j, bool dictionary) {
  JinjaItems *d = jinja_take(j, sizeof *d);
  return d ? (JinjaValue){.kind = dictionary ? JINJA_DICT : JINJA_LIST, .items = d}
           : (JinjaValue){0};
}

bool jinja_put(Jinja *j, JinjaItems *d, Slice key, JinjaValue v) {
  if (!d || j->e->code) return false;
  if (d->n == d->room) {
    uint64_t room = d->room ? 2 * d->room : 8;
    Slice *keys = jinja_take(j, room * sizeof *keys);
    JinjaValue *at = jinja_take(j, room * sizeof *at);
    if (!keys || !at) return false;
    if (d->n) memcpy(keys, d->key, d->n * sizeof *keys), memcpy(at, d->at, d->n * sizeof *at);
    d->key = keys, d->at = at, d->room = room;
  }
  d->key[d->n] = key;
  d->at[d->n++] = v;
  return true;
}

JinjaValue jinja_get(const JinjaItems *d, Slice key) {
  for (uint64_t i = d ? d->n : 0; i-- > 0;)
    if (slice_is(d->key[i], key)) return d->at[i];
  return (JinjaValue){0};
}

bool jinja_true(const JinjaValue *v) {
  switch (v->kind) {
  case JINJA_UNDEFINED:
  case JINJA_NONE: return false;
  case JINJA_BOOL:
  case JINJA_INT: return v->n != 0;
  case JINJA_STRING: return v->s.n > 0;
  case JINJA_LIST:
  case JINJA_DICT: return v->items->n > 0;
  }
  return false;
}

static bool is_number(const JinjaValue *v) { return v->kind == JINJA_INT || v->kind == JINJA_BOOL; }

bool jinja_equal(const JinjaValue *a, const JinjaValue *b) {
  if (is_number(a) && is_number(b)) return a->n == b->n;
  if (a->kind != b->kind) return false;
  if (a->kind == JINJA_STRING) return slice_is(a->s, b->s);
  if (a->kind != JINJA_LIST) return a->items == b->items;
  bool same = a->items->n == b->items->n;
  for (uint64_t i = 0; same && i < a->items->n; i++) {
    const JinjaValue *x = &a->items->at[i], *y = &b->items->at[i];
    same = x->kind != JINJA_LIST && jinja_equal(x, y); /* lists of lists are no turns */
  }
  return same;
}

static bool contains(Slice all, Slice part, uint64_t *at) {
  for (*at = 0; *at + part.n <= all.n; ++*at)
    if (!part.n || memcmp(all.s + *at, part.s, part.n) == 0) return true;
  return false;
}

bool jinja_in(Jinja *j, const JinjaValue *x, const JinjaValue *all) {
  uint64_t at;
  if (all->kind == JINJA_STRING && x->kind == JINJA_STRING) return contains(all->s, x->s, &at);
  if (all->kind != JINJA_LIST && all->kind != JINJA_DICT) return jinja_fail(j, "'in' of no list");
  for (uint64_t i = 0; i < all->items->n && jinja_works(j); i++) {
    const JinjaValue key = jinja_string(all->items->key[i]);
    if (jinja_equal(x, all->kind == JINJA_DICT ? &key : &all->items->at[i])) return true;
  }
  return false;
}

Slice jinja_text(Jinja *j, const JinjaValue *v) {
  switch (v->kind) {
  case JINJA_UNDEFINED: return (Slice){"", 0};
  case JINJA_NONE: return slice_of("None");
  case JINJA_BOOL: return slice_of(v->n ? "True" : "False");
  case JINJA_STRING: return v->s;
  case JINJA_INT: {
    char *text = jinja_take(j, 24);
    if (!text) break;
    snprintf(text, 24, "%" PRId64, v->n);
    return slice_of(text);
  }
  case JINJA_LIST:
  case JINJA_DICT: jinja_fail(j, "a list or a dictionary is printed");
  }
  return (Slice){"", 0};
}

JinjaValue jinja_join(Jinja *j, Slice a, Slice b) {
  char *s = jinja_take(j, a.n + b.n + 1);
  if (!s) return (JinjaValue){0};
  if (a.n) memcpy(s, a.s, a.n);
  if (b.n) memcpy(s + a.n, b.s, b.n);
  return jinja_string((Slice){s, a.n + b.n});
}

static JinjaValue both_lists(Jinja *j, const JinjaItems *a, const JinjaItems *b) {
  JinjaValue out = jinja_items(j, false);
  for (uint64_t i = 0; i < a->n + b->n; i++)
    if (!jinja_put(j, out.items, (Slice){0}, i < a->n ? a->at[i] : b->at[i - a->n])) break;
  return out;
}

JinjaValue jinja_arithmetic(Jinja *j, char op, const JinjaValue *a, const JinjaValue *b) {
  int64_t n = 0;
  bool lists = a->kind == JINJA_LIST && b->kind == JINJA_LIST;
  bool numbers = a->kind == JINJA_INT && b->kind == JINJA_INT;
  if (op == '+' && a->kind == JINJA_STRING && b->kind == JINJA_STRING)
    return jinja_join(j, a->s, b->s);
  if (op == '+' && lists) return both_lists(j, a->items, b->items);
  if (numbers && op == '+' && !__builtin_add_overflow(a->n, b->n, &n)) return jinja_int(n);
  if (numbers && op == '-' && !__builtin_sub_overflow(a->n, b->n, &n)) return jinja_int(n);
  if (numbers && op == '*' && !__builtin_mul_overflow(a->n, b->n, &n)) return jinja_int(n);
  if (numbers && op == '%' && b->n > 0) return jinja_int((a->n % b->n + b->n) % b->n);
  if (a->kind == JINJA_UNDEFINED || b->kind == JINJA_UNDEFINED)
    jinja_fail(j, "'%c' with what is not there", op);
  else
    jinja_fail(j, "'%c' of these values is not known here", op);
  return (JinjaValue){0};
}

/* ---- strings ---- */

/* Python's: those of Unicode, and four control characters. */
static bool is_blank(uint32_t c) { return unicode_is_space(c) || (c >= 0x1C && c <= 0x1F); }

static JinjaValue strip(Slice s, bool left, bool right) {
  uint64_t from = 0, to = s.n;
  for (uint64_t at = 0; left && at < to && is_blank(utf8_next(s, &at));) from = at;
  for (uint64_t at = to; right && at > from; to = at) {
    uint64_t k = at = utf8_before(s, at);
    if (!is_blank(utf8_next(s, &k))) break;
  }
  return jinja_string(slice_part(s, from, to));
}

static JinjaValue in_case(Jinja *j, Slice s, bool upper) {
  JinjaValue v = jinja_join(j, s, (Slice){"", 0});
  char *at = (char *)v.s.s;
  for (uint64_t i = 0; i < v.s.n; i++) {
    if ((unsigned char)at[i] >= 0x80) return jinja_fail(j, "letters beyond ASCII"), (JinjaValue){0};
    if (upper && at[i] >= 'a' && at[i] <= 'z') at[i] = (char)(at[i] - 32);
    if (!upper && at[i] >= 'A' && at[i] <= 'Z') at[i] = (char)(at[i] + 32);
  }
  return v;
}

static JinjaValue split(Jinja *j, Slice s, Slice by) {
  JinjaValue v = jinja_items(j, false);
  if (!by.n) return jinja_fail(j, "split without a separator"), (JinjaValue){0};
  for (uint64_t at; jinja_works(j);) {
    bool more = contains(s, by, &at);
    jinja_put(j, v.items, (Slice){0}, jinja_string(slice_part(s, 0, more ? at : s.n)));
    if (!more) return v;
    s = slice_part(s, at + by.n, s.n);
  }
  return (JinjaValue){0};
}

static JinjaValue unknown(Jinja *j, const char *what, Slice name) {
  jinja_fail(j, "the %s '%.*s' is not known here", what, (int)(name.n < 60 ? name.n : 60), name.s);
  return (JinjaValue){0};
}

static bool is(Slice name, const char *word) { return slice_is(name, slice_of(word)); }

/* The argument, a string; NULL: there is none, or another one. */
static const JinjaValue *text_argument(const JinjaItems *a) {
  return a->n == 1 && !a->key[0].n && a->at[0].kind == JINJA_STRING ? &a->at[0] : NULL;
}

JinjaValue jinja_method(Jinja *j, Slice name, const JinjaValue *v, const JinjaItems *arguments) {
  const JinjaValue *x = text_argument(arguments);
  if (v->kind == JINJA_DICT && is(name, "get") && x) {
    JinjaValue found = jinja_get(v->items, x->s);
    return found.kind ? found : (JinjaValue){.kind = JINJA_NONE};
  }
  if (v->kind == JINJA_STRING && !arguments->n) {
    bool left = is(name, "lstrip"), right = is(name, "rstrip"), both = is(name, "strip");
    if (left || right || both) return strip(v->s, left || both, right || both);
    if (is(name, "upper") || is(name, "lower")) return in_case(j, v->s, is(name, "upper"));
  }
  if (v->kind == JINJA_STRING && x) {
    uint64_t n = x->s.n;
    bool fits = n <= v->s.n;
    if (is(name, "startswith")) return jinja_bool(fits && slice_is(slice_part(v->s, 0, n), x->s));
    if (is(name, "endswith"))
      return jinja_bool(fits && slice_is(slice_part(v->s, v->s.n - n, v->s.n), x->s));
    if (is(name, "split")) return split(j, v->s, x->s);
  }
  return unknown(j, "method", name);
}

JinjaValue jinja_filter(Jinja *j, Slice name, const JinjaValue *v, const JinjaItems *arguments) {
  bool text = v->kind == JINJA_STRING, items = v->kind == JINJA_LIST;
  if ((is(name, "default") || is(name, "d")) && arguments->n == 1 && !arguments->key[0].n)
    return v->kind == JINJA_UNDEFINED ? arguments->at[0] : *v;
  if (arguments->n) return unknown(j, "filter with arguments", name);
  if (is(name, "trim") && text) return strip(v->s, true, true);
  if ((is(name, "length") || is(name, "count")) && (items || v->kind == JINJA_DICT))
    return jinja_int((int64_t)v->items->n);
  if ((is(name, "length") || is(name, "count")) && text) {
    int64_t n = 0; /* characters */
    for (uint64_t i = 0; i < v->s.n; i++) n += ((unsigned char)v->s.s[i] & 0xC0) != 0x80;
    return jinja_int(n);
  }
  if ((is(name, "first") || is(name, "last")) && items)
    return v->items->n ? v->items->at[is(name, "last") ? v->items->n - 1 : 0] : (JinjaValue){0};
  if ((is(name, "upper") || is(name, "lower")) && text) return in_case(j, v->s, is(name, "upper"));
  if (is(name, "string")) return jinja_string(jinja_text(j, v));
  if (is(name, "safe")) return *v;
  return unknown(j, "filter", name);
}

bool jinja_test(Jinja *j, Slice name, const JinjaValue *v) {
  static const struct {
    const char *name;
    unsigned kinds; /* for which it holds */
  } tests[] = {{"defined", ~(1U << JINJA_UNDEFINED)},
               {"undefined", 1U << JINJA_UNDEFINED},
               {"none", 1U << JINJA_NONE},
               {"string", 1U << JINJA_STRING},
               {"number", 1U << JINJA_INT | 1U << JINJA_BOOL},
               {"integer", 1U << JINJA_INT},
               {"boolean", 1U << JINJA_BOOL},
               {"mapping", 1U << JINJA_DICT},
               {"sequence",
                1U << JINJA_UNDEFINED | 1U << JINJA_STRING | 1U << JINJA_LIST | 1U << JINJA_DICT},
               {"iterable",
                1U << JINJA_UNDEFINED | 1U << JINJA_STRING | 1U << JINJA_LIST | 1U << JINJA_DICT}};
  for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
    if (is(name, tests[i].name)) return tests[i].kinds >> v->kind & 1;
  if (is(name, "true") || is(name, "false"))
    return v->kind == JINJA_BOOL && v->n == is(name, "true");
  unknown(j, "test", name);
  return false;
}

JinjaValue jinja_call(Jinja *j, Slice name, const JinjaItems *arguments) {
  const JinjaValue *x = text_argument(arguments);
  if (is(name, "raise_exception") && x) {
    jinja_fail(j, "%.*s", (int)(x->s.n < 120 ? x->s.n : 120), x->s.s);
    return (JinjaValue){0};
  }
  if (is(name, "namespace")) {
    JinjaValue v = jinja_items(j, true);
    for (uint64_t i = 0; i < arguments->n && v.items; i++) {
      if (!arguments->key[i].n) return unknown(j, "form of", name);
      jinja_put(j, v.items, arguments->key[i], arguments->at[i]);
    }
    return v;
  }
  if (is(name, "strftime_now") && x && x->s.n < 60) {
    char form[64];
    char *text = jinja_take(j, 200);
    time_t now = time(NULL);
    struct tm local;
    snprintf(form, sizeof form, "%.*s", (int)x->s.n, x->s.s);
    if (!text || !localtime_r(&now, &local)) return (JinjaValue){0};
    strftime(text, 200, form, &local);
    return jinja_string(slice_of(text));
  }
  return unknown(j, "function", name);
}
