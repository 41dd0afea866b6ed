/* Expressions of chat templates, evaluated as they are read. Contract: see jinja_parts.h; what a
   condition leaves out is read with `off`, in which nothing is looked up, called or refused.
   Levels, from the loosest: if else, or, and, not, comparisons and in, + and -, ~, * / // %, unary
   -, then attributes, indices, calls, filters and tests. */
#include "runtime/text/jinja_parts.h"
#include <stdlib.h>

enum { DEPTH = 64 };

typedef struct Expr {
  Jinja *j;
  JinjaText *t;
  int off, depth;
} Expr;

static const JinjaValue undefined;

static bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static void blanks(JinjaText *t) {
  while (t->p < t->end && (*t->p == ' ' || (*t->p >= '\t' && *t->p <= '\r'))) t->p++;
}

bool jinja_takes(JinjaText *t, const char *symbol) {
  size_t n = strlen(symbol);
  blanks(t);
  if ((size_t)(t->end - t->p) < n || memcmp(t->p, symbol, n) != 0) return false;
  if (is_word(symbol[0]) && t->p + n < t->end && is_word(t->p[n])) return false;
  t->p += n;
  return true;
}

bool jinja_name(JinjaText *t, Slice *name) {
  blanks(t);
  const char *begin = t->p;
  if (begin == t->end || !is_word(*begin) || (*begin >= '0' && *begin <= '9')) return false;
  while (t->p < t->end && is_word(*t->p)) t->p++;
  *name = (Slice){begin, (uint64_t)(t->p - begin)};
  return true;
}

bool jinja_ends(Jinja *j, JinjaText *t) {
  blanks(t);
  int n = t->end - t->p < 20 ? (int)(t->end - t->p) : 20;
  return t->p == t->end || jinja_fail(j, "'%.*s' is not understood here", n, t->p);
}

static bool sees(JinjaText *t, const char *symbol) {
  JinjaText copy = *t;
  return jinja_takes(&copy, symbol);
}

static JinjaValue wrong(Expr *x, const char *what) {
  int n = x->t->end - x->t->p < 20 ? (int)(x->t->end - x->t->p) : 20;
  jinja_fail(x->j, "%s%s%.*s", what, n ? " at " : "", n, x->t->p);
  return undefined;
}

static void expect(Expr *x, const char *symbol) {
  if (!jinja_takes(x->t, symbol)) wrong(x, "a bracket or a quote is missing");
}

static JinjaValue ternary(Expr *x);

/* ---- values ---- */

static JinjaValue string(Expr *x) {
  const char quote = *x->t->p++;
  Text text = {0};
  bool ok = true;
  while (ok && x->t->p < x->t->end && *x->t->p != quote) {
    char c = *x->t->p++;
    if (c == '\\' && x->t->p < x->t->end) {
      c = *x->t->p++;
      const char *from = "nrt\\'\"", *into = "\n\r\t\\'\"", *k = c ? strchr(from, c) : NULL;
      if (!k) {
        free(text.s);
        return wrong(x, "an unknown escape");
      }
      c = into[k - from];
    }
    ok = text_add(&text, &c, 1);
  }
  JinjaValue v = ok ? jinja_join(x->j, text_slice(&text), (Slice){"", 0}) : undefined;
  text_free(&text);
  if (!ok) err_set(x->j->e, EXIT_ENV, "no memory for the chat");
  if (x->t->p == x->t->end) return wrong(x, "a text without an end");
  x->t->p++;
  return v;
}

static JinjaValue number(Expr *x) {
  int64_t n = 0;
  for (; x->t->p < x->t->end && *x->t->p >= '0' && *x->t->p <= '9'; x->t->p++) {
    if (n > INT32_MAX) return wrong(x, "a number that is too large");
    n = 10 * n + (*x->t->p - '0');
  }
  if (x->t->p < x->t->end && (is_word(*x->t->p) || *x->t->p == '.'))
    return wrong(x, "a number that is no integer");
  return jinja_int(n);
}

/* Behind the bracket that opens: what stands up to the one that closes; names are those of NAME = …
 */
static JinjaItems *arguments(Expr *x, const char *closing) {
  JinjaValue v = jinja_items(x->j, false);
  while (jinja_works(x->j) && !jinja_takes(x->t, closing)) {
    JinjaText copy = *x->t;
    Slice name = {0};
    bool named = jinja_name(&copy, &name) && jinja_takes(&copy, "=") && !sees(&copy, "=");
    if (named) *x->t = copy;
    jinja_put(x->j, v.items, named ? name : (Slice){0}, ternary(x));
    if (jinja_takes(x->t, closing)) break;
    expect(x, ",");
  }
  return v.items;
}

static JinjaValue primary(Expr *x) {
  static const struct {
    const char *name;
    JinjaValue value;
  } words[] = {{"true", {.kind = JINJA_BOOL, .n = 1}}, {"True", {.kind = JINJA_BOOL, .n = 1}},
               {"false", {.kind = JINJA_BOOL}},        {"False", {.kind = JINJA_BOOL}},
               {"none", {.kind = JINJA_NONE}},         {"None", {.kind = JINJA_NONE}}};
  Slice name;
  JinjaText *t = x->t;
  blanks(t);
  if (t->p == t->end) return wrong(x, "a value is missing");
  if (*t->p == '\'' || *t->p == '"') return string(x);
  if (*t->p >= '0' && *t->p <= '9') return number(x);
  if (jinja_takes(t, "(")) {
    JinjaValue v = ternary(x);
    expect(x, ")");
    return v;
  }
  if (jinja_takes(t, "[")) {
    JinjaItems *items = arguments(x, "]");
    return items ? (JinjaValue){.kind = JINJA_LIST, .items = items} : undefined;
  }
  if (!jinja_name(t, &name)) return wrong(x, "a value is missing");
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (slice_is(name, slice_of(words[i].name))) return words[i].value;
  if (jinja_takes(t, "(")) {
    JinjaItems *a = arguments(x, ")");
    return a && !x->off ? jinja_call(x->j, name, a) : undefined;
  }
  if (slice_is(name, slice_of("strftime_now"))) return jinja_bool(true); /* a function: defined */
  return x->off ? undefined : jinja_get(x->j->names, name);
}

/* ---- behind a value ---- */

static JinjaValue part(Expr *x, const JinjaValue *v, Slice key) {
  if (x->off) return undefined;
  if (v->kind == JINJA_DICT) return jinja_get(v->items, key);
  if (v->kind == JINJA_UNDEFINED || v->kind == JINJA_NONE)
    return wrong(x, "a part of what is not there");
  return undefined;
}

static JinjaValue element(Expr *x, const JinjaValue *v, int64_t i) {
  if (x->off) return undefined;
  if (v->kind != JINJA_LIST) return wrong(x, "an index of no list");
  int64_t n = (int64_t)v->items->n;
  if (i < 0) i += n;
  return i >= 0 && i < n ? v->items->at[i] : undefined;
}

/* [a:b], [::-1]; given: a and b */
static JinjaValue slice(Expr *x, const JinjaValue *v, const JinjaValue *a, const JinjaValue *b,
                        int64_t step) {
  if (x->off) return undefined;
  if (v->kind != JINJA_LIST || (step < 0 && (a || b)) || (step != 1 && step != -1))
    return wrong(x, "a slice of this kind");
  int64_t n = (int64_t)v->items->n, from = a ? a->n : 0, to = b ? b->n : n;
  if (from < 0) from = from + n < 0 ? 0 : from + n;
  if (to < 0) to += n;
  if (to > n) to = n;
  JinjaValue out = jinja_items(x->j, false);
  for (int64_t i = from; i < to; i++)
    if (!jinja_put(x->j, out.items, (Slice){0}, v->items->at[step < 0 ? n - 1 - i : i])) break;
  return out;
}

/* Behind "[". */
static JinjaValue indexed(Expr *x, const JinjaValue *v) {
  JinjaValue a = undefined, b = undefined;
  int64_t step = 1;
  bool begins = !sees(x->t, ":"), ends = false;
  if (begins) a = ternary(x);
  if (jinja_takes(x->t, "]")) {
    if (a.kind == JINJA_STRING) return part(x, v, a.s);
    return x->off                ? undefined
           : a.kind == JINJA_INT ? element(x, v, a.n)
                                 : wrong(x, "an index of this kind");
  }
  expect(x, ":");
  if (!sees(x->t, ":") && !sees(x->t, "]")) ends = true, b = ternary(x);
  if (jinja_takes(x->t, ":") && !sees(x->t, "]")) step = ternary(x).n;
  expect(x, "]");
  if (!x->off && ((begins && a.kind != JINJA_INT) || (ends && b.kind != JINJA_INT)))
    return wrong(x, "a slice of this kind");
  return slice(x, v, begins ? &a : NULL, ends ? &b : NULL, step);
}

static JinjaValue attribute(Expr *x, const JinjaValue *v) {
  Slice name;
  if (!jinja_name(x->t, &name)) return wrong(x, "a name is missing");
  if (!jinja_takes(x->t, "(")) return part(x, v, name);
  JinjaItems *a = arguments(x, ")");
  return a && !x->off ? jinja_method(x->j, name, v, a) : undefined;
}

static JinjaValue filtered(Expr *x, const JinjaValue *v) {
  Slice name;
  if (!jinja_name(x->t, &name)) return wrong(x, "a filter is missing");
  JinjaItems none = {0}, *a = jinja_takes(x->t, "(") ? arguments(x, ")") : &none;
  return a && !x->off ? jinja_filter(x->j, name, v, a) : undefined;
}

static JinjaValue tested(Expr *x, const JinjaValue *v) {
  Slice name;
  bool not = jinja_takes(x->t, "not");
  if (!jinja_name(x->t, &name)) return wrong(x, "a test is missing");
  return x->off ? undefined : jinja_bool(jinja_test(x->j, name, v) != not );
}

static JinjaValue postfix(Expr *x) {
  JinjaValue v = primary(x);
  for (; jinja_works(x->j);) {
    if (jinja_takes(x->t, "."))
      v = attribute(x, &v);
    else if (jinja_takes(x->t, "["))
      v = indexed(x, &v);
    else if (jinja_takes(x->t, "|"))
      v = filtered(x, &v);
    else if (jinja_takes(x->t, "is"))
      v = tested(x, &v);
    else
      break;
  }
  return v;
}

/* ---- operators ---- */

static JinjaValue unary(Expr *x) {
  if (!jinja_takes(x->t, "-")) return postfix(x);
  JinjaValue v = postfix(x);
  if (x->off) return undefined;
  return v.kind == JINJA_INT ? jinja_int(-v.n) : wrong(x, "minus of no number");
}

static JinjaValue arithmetic(Expr *x, char op, const JinjaValue *a, const JinjaValue *b) {
  return x->off ? undefined : jinja_arithmetic(x->j, op, a, b);
}

static JinjaValue product(Expr *x) {
  JinjaValue v = unary(x);
  for (; jinja_works(x->j);) {
    char op = sees(x->t, "//") || sees(x->t, "**") ? 0
              : jinja_takes(x->t, "*")             ? '*'
              : jinja_takes(x->t, "%")             ? '%'
                                                   : 0;
    if (!op) break;
    JinjaValue b = unary(x);
    v = arithmetic(x, op, &v, &b);
  }
  return v;
}

static JinjaValue joined(Expr *x) {
  JinjaValue v = product(x);
  while (jinja_works(x->j) && jinja_takes(x->t, "~")) {
    JinjaValue b = product(x);
    if (x->off) continue;
    v = jinja_join(x->j, jinja_text(x->j, &v), jinja_text(x->j, &b));
  }
  return v;
}

static JinjaValue sum(Expr *x) {
  JinjaValue v = joined(x);
  for (; jinja_works(x->j);) {
    char op = jinja_takes(x->t, "+") ? '+' : jinja_takes(x->t, "-") ? '-' : 0;
    if (!op) break;
    JinjaValue b = joined(x);
    v = arithmetic(x, op, &v, &b);
  }
  return v;
}

static bool compare(Expr *x, const char *op, const JinjaValue *a, const JinjaValue *b) {
  if (x->off) return false;
  if (op[0] == '=' || op[0] == '!') return jinja_equal(a, b) == (op[0] == '=');
  if (op[0] == 'i') return jinja_in(x->j, a, b);
  if (op[0] == 'n') return !jinja_in(x->j, a, b);
  if (a->kind != JINJA_INT || b->kind != JINJA_INT)
    return wrong(x, "an order of what is no number"), false;
  bool equal = a->n == b->n && op[1];
  return equal || (op[0] == '<' ? a->n < b->n : a->n > b->n);
}

static JinjaValue comparison(Expr *x) {
  static const char *const ops[] = {"==", "!=", "<=", ">=", "<", ">", "in", "not"};
  JinjaValue v = sum(x);
  bool all = true, any = false;
  for (; jinja_works(x->j); any = true) {
    const char *op = NULL;
    for (size_t i = 0; !op && i < sizeof ops / sizeof *ops; i++)
      if (jinja_takes(x->t, ops[i])) op = ops[i];
    if (!op) break;
    if (op[0] == 'n') expect(x, "in");
    JinjaValue b = sum(x);
    all = all && compare(x, op, &v, &b);
    v = b; /* a < b < c */
  }
  return any ? jinja_bool(all) : v;
}

static JinjaValue negation(Expr *x) {
  if (!jinja_takes(x->t, "not")) return comparison(x);
  if (++x->depth > DEPTH) return wrong(x, "too many levels");
  JinjaValue v = negation(x);
  x->depth--;
  return jinja_bool(!jinja_true(&v));
}

static JinjaValue logical(Expr *x, bool either) {
  JinjaValue v = either ? logical(x, false) : negation(x);
  while (jinja_works(x->j) && jinja_takes(x->t, either ? "or" : "and")) {
    bool decided = !x->off && jinja_true(&v) == either;
    x->off += decided;
    JinjaValue b = either ? logical(x, false) : negation(x);
    x->off -= decided;
    if (!decided) v = b;
  }
  return v;
}

/* Whether an "if" stands behind the value at this level of brackets, and what is behind it. */
static bool find_if(const JinjaText *t, JinjaText *behind) {
  int depth = 0;
  for (*behind = *t; behind->p < behind->end; behind->p++) {
    char c = *behind->p;
    if (c == '\'' || c == '"') {
      for (behind->p++; behind->p < behind->end && *behind->p != c; behind->p++)
        behind->p += *behind->p == '\\' && behind->p + 1 < behind->end;
      if (behind->p == behind->end) return false;
    }
    bool opens = c == '(' || c == '[', closes = c == ')' || c == ']' || (c == ',' && !depth);
    if (closes && !depth) return false;
    depth += opens - (c == ')' || c == ']');
    bool begins = !depth && behind->p > t->p && !is_word(behind->p[-1]);
    if (begins && c == 'i' && jinja_takes(behind, "if")) return true;
    if (begins && c == 'e' && sees(behind, "else")) return false;
  }
  return false;
}

static JinjaValue choice(Expr *x) {
  JinjaText *t = x->t, behind;
  if (!find_if(t, &behind)) return logical(x, true);
  x->t = &behind;
  JinjaValue c = logical(x, true);
  x->t = t;
  bool yes = !x->off && jinja_true(&c);
  x->off += !yes;
  JinjaValue v = logical(x, true);
  x->off -= !yes;
  if (!jinja_takes(t, "if")) return wrong(x, "a condition is misplaced");
  *t = behind;
  if (!jinja_takes(t, "else")) return yes ? v : undefined;
  x->off += yes;
  JinjaValue other = ternary(x);
  x->off -= yes;
  return yes ? v : other;
}

static JinjaValue ternary(Expr *x) {
  if (++x->depth > DEPTH) return wrong(x, "too many levels");
  JinjaValue v = choice(x);
  x->depth--;
  return v;
}

JinjaValue jinja_condition(Jinja *j, JinjaText *t) {
  Expr x = {j, t, 0, 0};
  return logical(&x, true);
}

JinjaValue jinja_expr(Jinja *j, JinjaText *t) {
  Expr x = {j, t, 0, 0};
  return ternary(&x);
}
