/* Strings: {name} in one stands for an integer or a string that gc knows when it compiles, and the
   names of tensors in published weights, as in `from "h.{l}.weight"'`. Contract: what is in braces
   is a name alone, since a name in a file needs no arithmetic. */
#include "lang/elab/elab_impl.h"
#include "lang/elab/entry.h"
#include "lang/elab/scope.h"

#include <ctype.h>
#include <string.h>

static void wrong(Elab *e, Loc loc, const char *braces, const char *what) {
  elab_error(e, loc, "%s %s", braces, what);
  elab_hint(e, "{l} in a string is the integer or string l, as in \"h.{l}.weight\"");
  elab_trace(e);
}

/* What stands in braces, appended to the text. */
static bool append(Elab *e, const char **text, const char *name, Loc loc) {
  Val v = name_lookup(e, name, loc);
  if (v.kind == VAL_STR)
    *text = intern_printf(e->c, "%s%s", *text, v.str);
  else if (v.kind == VAL_INT)
    *text = intern_printf(e->c, "%s%lld", *text, (long long)v.i);
  else if (v.kind != VAL_ERROR)
    wrong(e, loc, intern_printf(e->c, "{%s}", name),
          "is neither an integer nor a string that gc knows when it compiles");
  return v.kind == VAL_STR || v.kind == VAL_INT;
}

static bool is_name(const char *s, size_t n) {
  if (!n || isdigit((unsigned char)*s)) return false;
  for (size_t i = 0; i < n; i++)
    if (!isalnum((unsigned char)s[i]) && s[i] != '_') return false;
  return true;
}

const char *string_eval(Elab *e, const char *bytes, Loc loc) {
  if (!bytes || !strpbrk(bytes, "{}")) return bytes;
  const char *text = "";
  for (const char *s = bytes; *s;) {
    size_t n = strcspn(s, "{}");
    text = intern_printf(e->c, "%s%.*s", text, (int)n, s);
    s += n;
    if (!*s) break;
    size_t inside = *s == '{' ? strcspn(s + 1, "{}") : 0;
    const char *name = intern_n(e->c, s + 1, inside);
    if (*s != '{' || s[1 + inside] != '}')
      return wrong(e, loc, *s == '{' ? "'{'" : "'}'", "stands alone in the string"), NULL;
    if (!is_name(name, inside))
      return wrong(e, loc, intern_printf(e->c, "{%s}", name), "is no name in braces"), NULL;
    if (!append(e, &text, name, loc)) return NULL;
    s += inside + 2;
  }
  return text;
}

static void bad_part(Elab *e, Loc loc, const char *name) {
  elab_error(e, loc, "the brackets in \"%s\" are not one part of the name", name);
  elab_hint(e,
            "[model.] is a part that the names of some files lack, as in \"[model.]norm.weight\"");
}

/* The first bracket that is none of an index, as of "h[0].weight"; or the end. */
static const char *next_bracket(const char *s) {
  for (; *(s += strcspn(s, "[]")); s++) {
    const size_t digits = *s == '[' ? strspn(s + 1, "0123456789") : 0;
    if (!digits || s[1 + digits] != ']') break;
    s += 1 + digits;
  }
  return s;
}

/* "[model.]norm.weight" is two names, with the part and without it. */
bool origin_eval(Elab *e, const Origin *o, const Type *t, GlobalOrigin *out) {
  const char *name = string_eval(e, o->name, o->loc);
  *out = (GlobalOrigin){.transposed = o->transposed};
  if (!name) return false;
  const char *from = next_bracket(name), *to = *from == '[' ? next_bracket(from + 1) : from;
  const bool part = *from == '[' && *to == ']', whole = !*(part ? next_bracket(to + 1) : from);
  out->name = intern(e->c, name);
  if (part && whole) {
    const int before = (int)(from - name), inside = (int)(to - from - 1);
    out->name = intern_printf(e->c, "%.*s%.*s%s", before, name, inside, from + 1, to + 1);
    out->other = intern_printf(e->c, "%.*s%s", before, name, to + 1);
  }
  if (!whole)
    bad_part(e, o->loc, name);
  else if (!*(out->other ? out->other : out->name))
    elab_error(e, o->loc, "the name of the tensor is empty");
  else if (o->transposed && t->rank != 2)
    elab_error(e, o->loc, "only a matrix is read transposed, not %s", type_text(e->c, t));
  else
    return true;
  elab_trace(e);
  return false;
}

void origin_take(Elab *e, int global, const GlobalOrigin *o, Loc loc) {
  Global *own = &e->m->globals.at[global];
  own->origin = *o;
  for (int i = 0; i < global; i++) {
    const Global *g = &e->m->globals.at[i];
    if (g->origin.name != o->name) continue;
    elab_warning(e, loc, "%s and %s are both read from \"%s\"", g->path, own->path, o->name);
    elab_hint(e, "in a loop the name has the number: \"h.{l}.weight\"; for one tensor at both "
                 "places declare one param");
    return;
  }
}
