/* Chooses the names of a library's functions, their parameters and its macros. Contract: every
   public name is PREFIX_something, and none of them can be a keyword, a name of libc, or another of
   them: what would be gets an ending, as C users do it. */
#include "codegen/build/library_functions.h"
#include "codegen/text/text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>

/* ---- names ---- */

/* Words that C, C++ or their usual headers give another meaning; those of libc are in
 * libc_names.def.
 */
static const char *const words[] = {"alignas",   "alignof",       "and",
                                    "and_eq",    "asm",           "assert",
                                    "auto",      "bitand",        "bitor",
                                    "bool",      "break",         "case",
                                    "catch",     "char",          "class",
                                    "co_await",  "co_return",     "co_yield",
                                    "compl",     "complex",       "concept",
                                    "const",     "const_cast",    "consteval",
                                    "constexpr", "constinit",     "continue",
                                    "decltype",  "default",       "delete",
                                    "do",        "double",        "dynamic_cast",
                                    "else",      "enum",          "errno",
                                    "explicit",  "export",        "extern",
                                    "false",     "float",         "for",
                                    "friend",    "goto",          "i386",
                                    "if",        "imaginary",     "import",
                                    "inline",    "int",           "linux",
                                    "long",      "main",          "module",
                                    "mutable",   "namespace",     "new",
                                    "noexcept",  "not",           "not_eq",
                                    "nullptr",   "operator",      "or",
                                    "or_eq",     "private",       "protected",
                                    "public",    "register",      "reinterpret_cast",
                                    "requires",  "restrict",      "return",
                                    "short",     "signed",        "sizeof",
                                    "static",    "static_assert", "static_cast",
                                    "std",       "struct",        "switch",
                                    "template",  "this",          "thread_local",
                                    "throw",     "true",          "try",
                                    "typedef",   "typeid",        "typename",
                                    "typeof",    "union",         "unix",
                                    "unsigned",  "using",         "virtual",
                                    "void",      "volatile",      "wchar_t",
                                    "while",     "xor",           "xor_eq",
                                    "DIR",       "EOF",           "FILE",
                                    "I",         "INFINITY",      "NAN",
                                    "NULL"};

static bool is_word(const char *s) {
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(words[i], s) == 0) return true;
  size_t n = strlen(s);
  return n > 2 && strcmp(s + n - 2, "_t") == 0; /* POSIX's types */
}

const char *public_identifier(Arena *a, const char *s) {
  bool letter = isalpha((unsigned char)*s) && (unsigned char)*s < 128;
  return arena_printf(a, "%s%s", letter ? "" : "m", text_mangled(a, s));
}

static bool taken(const PublicNames *n, const char *s) {
  for (uint32_t i = 0; i < n->at.n; i++)
    if (strcmp(n->at.at[i], s) == 0) return true;
  return false;
}

const char *public_name_new(PublicNames *n, const char *s, const char *end) {
  const char *name = s;
  if (taken(n, name) || n->reserved(name)) name = arena_printf(n->a, "%s_%s", s, end);
  while (taken(n, name)) name = arena_printf(n->a, "%s_", name);
  vec_push(n->a, &n->at, name);
  return name;
}

static const char *const verbs[] = {"open", "open_on", "close",   "error",  "load",
                                    "save", "reset",   "threads", "device", "bytes"};
static const char *const verbs_of_ranks[] = {"rank", "set_timeout", "open_at", "open_within",
                                             "make_id"};

static const char *public_name(Library *l, const char *s, const char *end) {
  return public_name_new(&l->names,
                         arena_printf(l->a, "%s_%s", l->prefix, public_identifier(l->a, s)), end);
}

static void add_entry(Library *l, const Entry *e) {
  LibraryFunction f = {.name = public_name(l, e->name, "entry"), .entry = e};
  const ValueId *outputs;
  const char *const *output_names;
  int nout = entry_outputs(e, &outputs, &output_names);
  PublicNames local = {.a = l->a, .reserved = is_word};
  vec_push(l->a, &local.at, "m");
  vec_push(l->a, &local.at, l->prefix);
  f.nextents = entry_extents(e, f.extent);
  for (int i = 0; i < f.nextents; i++) {
    const LeastExtent *least = entry_least(e, f.extent[i]);
    f.least[i] = least ? least->n : 1;
    f.extent_name[i] =
        public_name_new(&local, public_identifier(l->a, f.extent[i]->name), "extent");
  }
  f.ninputs = (int)entry_inputs(e);
  f.nparams = f.ninputs + nout;
  f.param = ARENA_ARRAY(l->a, LibraryParam, f.nparams + 1);
  for (int i = 0; i < f.nparams; i++) {
    bool output = i >= f.ninputs;
    ValueId v = output ? outputs[i - f.ninputs] : e->body->args.at[i];
    const char *name = output ? output_names[i - f.ninputs] : value_at(e, v)->name;
    f.param[i] = (LibraryParam){.key = name, .type = value_type(e, v), .output = output};
    f.param[i].name =
        public_name_new(&local, public_identifier(l->a, name ? name : "x"), output ? "out" : "in");
  }
  vec_push(l->a, &l->functions, f);
}

static void name_all(Library *l) {
  l->names.at.n = l->functions.n = l->hypers.n = 0;
  vec_push(l->a, &l->names.at, l->prefix);
  for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) public_name(l, verbs[i], "");
  for (size_t i = 0; l->o->ranks && i < sizeof verbs_of_ranks / sizeof *verbs_of_ranks; i++)
    public_name(l, verbs_of_ranks[i], "");
  for (uint32_t i = 0; i < l->m->globals.n; i++) {
    const Global *g = &l->m->globals.at[i];
    if (g->kind != GLOBAL_HYPER) continue;
    Hyper h = {.name = g->path, .dtype = g->type->dtype, .value = g->value};
    h.set = public_name(l, arena_printf(l->a, "set_%s", g->path), "hyper");
    h.get = public_name(l, arena_printf(l->a, "get_%s", g->path), "hyper");
    vec_push(l->a, &l->hypers, h);
  }
  for (uint32_t i = 0; i < l->m->entries.n; i++) add_entry(l, l->m->entries.at[i]);
  for (uint32_t i = 0; i < l->functions.n; i++) {
    LibraryFunction *f = &l->functions.at[i];
    for (int k = 0; k < f->nparams; k++) {
      LibraryParam *p = &f->param[k];
      if (!p->type->rank) continue;
      p->count =
          public_name_new(&l->names, arena_printf(l->a, "%s_%s_count", f->name, p->name), "of");
    }
  }
}

static const char *const libc_names[] = {
#include "codegen/build/libc_names.def"
};

static int compare_names(const void *key, const void *name) {
  return strcmp(key, *(const char *const *)name);
}

/* Whether libc or libm has one of the names: "exp.g", or "sem.g" with its sem_open. The list is the
   same on every machine, and so are the names in a header. */
static bool clashes(const Library *l) {
  for (uint32_t i = 0; i < l->names.at.n; i++)
    if (bsearch(l->names.at.at[i], libc_names, sizeof libc_names / sizeof *libc_names,
                sizeof *libc_names, compare_names))
      return true;
  return is_word(l->prefix);
}

/* Without its folders. */
static const char *public_base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

const char *public_plain(Arena *a, const char *s) {
  Text x = text_new(a, 0);
  for (; *s; s++) text_add(&x, "%c", (unsigned char)*s < 32 || strchr("*\\?\"", *s) ? '.' : *s);
  return text_str(&x);
}

const char *library_dim(const LibraryFunction *f, Arena *a, const Type *t, int axis) {
  int64_t whole = type_axis(t, axis), more = 0;
  if (!axis_is_more(f->entry->module->ctx, type_axis(t, axis), &whole, &more))
    more = 0, whole = type_axis(t, axis);
  const Extent *e = axis_extent(f->entry->module->ctx, whole);
  if (!e) return arena_printf(a, "%" PRId64, whole);
  Text x = text_new(a, 0);
  if (axis_multiple(whole) != 1) text_add(&x, "%" PRId64 " ", axis_multiple(whole));
  for (int k = 0; k < e->nfactors; k++)
    text_add(&x, "%s%s", k ? " * " : "", f->extent_name[entry_extent(f->entry, e->factor[k])]);
  if (more) text_add(&x, " %c %" PRId64, more < 0 ? '-' : '+', more < 0 ? -more : more);
  return text_str(&x);
}

Library library_functions(Arena *a, const Module *m, const CodegenOptions *o, const char *name,
                          const char *out) {
  Library l = {.a = a, .m = m, .o = o, .names = {.a = a, .reserved = is_word}};
  l.source = public_plain(a, public_base_name(m->source));
  l.file = public_plain(a, public_base_name(out));
  l.name = public_plain(a, name);
  l.prefix = public_identifier(a, name);
  name_all(&l);
  if (clashes(&l)) {
    l.prefix = arena_printf(a, "%s_model", l.prefix);
    name_all(&l);
  }
  return l;
}
