/* See constant.h. A mark is \1 TYPE : BITS : LITERAL \2, which no source contains. */
#include "codegen/text/constant.h"
#include "codegen/text/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { BEGIN = '\1', END = '\2' };

const char *constant_mark(Arena *a, const char *type, uint64_t bits, const char *literal) {
  return arena_printf(a, "%c%s:%" PRIx64 ":%s%c", BEGIN, type, bits, literal, END);
}

const char *constant_scalar(Arena *a, Dtype dt, Attr v) {
  const char *literal = scalar_literal(a, dt, v);
  uint64_t bits = 0;
  if (!dtype_is_float(dt))
    return constant_mark(a, dt == DT_I64 ? "i64" : "i32", (uint64_t)v.i, literal);
  const float narrow = (float)v.f;
  if (!isfinite(narrow)) return literal;
  if (dt == DT_F64)
    memcpy(&bits, &v.f, sizeof v.f);
  else
    memcpy(&bits, &narrow, sizeof narrow);
  return constant_mark(a, dt == DT_F64 ? "f64" : "f32", bits, literal);
}

typedef struct Mark {
  const char *type, *literal, *end; /* end: behind it */
  int ntype, nliteral;
  uint64_t bits;
} Mark;

static Mark read_mark(const char *s) {
  Mark m = {.type = s + 1, .end = strchr(s, END) + 1};
  char *colon;
  m.ntype = (int)(strchr(m.type, ':') - m.type);
  m.bits = strtoull(m.type + m.ntype + 1, &colon, 16);
  m.literal = colon + 1;
  m.nliteral = (int)(m.end - 1 - m.literal);
  return m;
}

/* Which of those before it is equal, or the next; -1: there are too many. */
static int number(const char **type, Constants *c, const Mark *m) {
  for (int i = 0; i < c->n; i++)
    if (c->bits[i] == m->bits && strncmp(type[i], m->type, (size_t)m->ntype + 1) == 0) return i;
  if (c->n == MOST_CONSTANTS) return -1;
  type[c->n] = m->type;
  c->bits[c->n] = m->bits;
  return c->n++;
}

/* With `forms`, marks keep their type and number alone. */
static const char *rewrite(Arena *a, const char *text, Constants *c, bool forms,
                           const int *parameter) {
  const char *type[MOST_CONSTANTS];
  Text x = text_new(a, 0);
  *c = (Constants){0};
  for (const char *s; (s = strchr(text, BEGIN));) {
    const Mark m = read_mark(s);
    const int i = number(type, c, &m);
    text_add(&x, "%.*s", (int)(s - text), text);
    if (forms && i >= 0)
      text_add(&x, "%c%.*s%d%c", BEGIN, m.ntype, m.type, i, END);
    else if (parameter && i >= 0 && parameter[i] >= 0)
      text_add(&x, "constant_%.*s(constant%d)", m.ntype, m.type, parameter[i]);
    else
      text_add(&x, "%.*s", m.nliteral, m.literal);
    text = m.end;
  }
  text_add(&x, "%s", text);
  return text_str(&x);
}

const char *constants_form(Arena *a, const char *text, Constants *out) {
  return rewrite(a, text, out, true, NULL);
}

const char *constants_source(Arena *a, const char *text, const int *parameter) {
  Constants c;
  return rewrite(a, text, &c, false, parameter);
}
