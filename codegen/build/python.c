/* The Python face of a model: a module with a class whose methods are the entries. Contract: the
   module needs numpy and the library beside it; what is common to all models is module.py, and this
   file prints what differs: symbols, names, dtypes, shapes. Names are those of the .g file where
   Python allows them, each in its scope. */
#include "codegen/build/library.h"
#include "codegen/text/text.h"

#include <ctype.h>
#include <inttypes.h>

extern const char python_text_module[], python_text_module_alone[], python_text_module_ranks[],
    python_text_module_mpi[], python_text_module_nccl[];

typedef struct Symbol {
  const char *verb, *result, *arguments;
} Symbol;

/* How a model is opened: by itself, or as one of the ranks that talk so. */
typedef struct Opening {
  const char *by;
  const char *text[2]; /* of the module, or NULL */
  Symbol symbols[5];
  bool makes_ids;
} Opening;
#define OF_RANKS                                                                                   \
  {"rank", "ctypes.c_int", "ctypes.c_void_p"}, {                                                   \
    "set_timeout", "None", "ctypes.c_void_p, ctypes.c_double"                                      \
  }
static const Opening openings[] = {
    {"mpi",
     {python_text_module_ranks, python_text_module_mpi},
     {{"open_at", "ctypes.c_void_p",
       "ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_uint64"},
      OF_RANKS},
     false},
    {"nccl",
     {python_text_module_ranks, python_text_module_nccl},
     {{"open_on", "ctypes.c_void_p",
       "ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_uint64"},
      {"make_id", "ctypes.c_bool", "ctypes.c_char_p"},
      OF_RANKS},
     true},
    {NULL,
     {python_text_module_alone},
     {{"open_on", "ctypes.c_void_p", "ctypes.c_char_p, ctypes.c_int, ctypes.c_uint64"}},
     false}};

static const Opening *opening_of(const Library *l) {
  const Opening *o = openings;
  while (o->by && (!l->o->ranks || strcmp(o->by, l->o->ranks_by) != 0)) o++;
  return o;
}

static bool is_one(const char *const *words, const char *s) {
  while (*words && strcmp(*words, s) != 0) words++;
  return *words;
}

static bool is_keyword(const char *s) {
  static const char *const words[] = {
      "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
      "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
      "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
      "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield",    NULL};
  return is_one(words, s);
}

bool python_can_import(const char *s) {
  static const char *const needed[] = {"__future__", "ctypes", "ml_dtypes", "numpy", "os",
                                       "threading",  "typing", "weakref",   NULL};
  return !is_keyword(s) && !is_one(needed, s);
}

/* Keywords, names that each method takes, and what the class's body calls. */
static bool is_reserved(const char *s) {
  static const char *const words[] = {"property", "self", "value", NULL};
  return is_keyword(s) || is_one(words, s);
}

static const char *const py_dtype[DTYPES] = {
    [DT_BOOL] = "np.bool_",  [DT_U8] = "np.uint8",    [DT_I8] = "np.int8",
    [DT_I32] = "np.int32",   [DT_I64] = "np.int64",   [DT_F16] = "np.float16",
    [DT_BF16] = "_bfloat16", [DT_F32] = "np.float32", [DT_F64] = "np.float64"};
static const char *const py_name[DTYPES] = {
    [DT_BOOL] = "bool",     [DT_U8] = "uint8",    [DT_I8] = "int8",
    [DT_I32] = "int32",     [DT_I64] = "int64",   [DT_F16] = "float16",
    [DT_BF16] = "bfloat16", [DT_F32] = "float32", [DT_F64] = "float64"};
static const char *const py_scalar[DTYPES] = {
    [DT_BOOL] = "bool",  [DT_U8] = "int",    [DT_I8] = "int",
    [DT_I32] = "int",    [DT_I64] = "int",   [DT_F16] = "float",
    [DT_BF16] = "float", [DT_F32] = "float", [DT_F64] = "float"};

static const char *dtype_of_array(Arena *a, Dtype d) {
  return d == DT_BF16 ? "NDArray[Any]" : arena_printf(a, "NDArray[%s]", py_dtype[d]);
}

/* "float32 [n, 784]" */
static const char *array_text(const LibraryFunction *f, Arena *a, const Type *t) {
  Text x = text_new(a, 0);
  text_add(&x, "%s", py_name[t->dtype]);
  for (int i = 0; i < t->rank; i++) text_add(&x, "%s%s", i ? ", " : " [", library_dim(f, a, t, i));
  if (t->rank) text_add(&x, "]");
  return text_str(&x);
}

/* "a" of a tuple of one is "a," */
static const char *tuple(Arena *a, const char *items, int n) {
  return arena_printf(a, "(%s%s)", items, n == 1 ? "," : "");
}

/* (784, (1, 0), ((1, 0), -1)): numbers, factors and extents by their index, and such and a number
 */
static const char *shape_tuple(const LibraryFunction *f, Arena *a, const Type *t) {
  Ctx *c = f->entry->module->ctx;
  Text x = text_new(a, 0);
  for (int i = 0; i < t->rank; i++) {
    int64_t whole = type_axis(t, i), more = 0;
    const bool part = axis_is_more(c, type_axis(t, i), &whole, &more);
    if (!part) whole = type_axis(t, i);
    const Extent *e = axis_extent(c, whole);
    text_add(&x, "%s%s%s%" PRId64, i ? ", " : "", part ? "(" : "", e ? "(" : "",
             e ? axis_multiple(whole) : whole);
    for (int k = 0; e && k < e->nfactors; k++)
      text_add(&x, ", %d", entry_extent(f->entry, e->factor[k]));
    if (e) text_add(&x, ")");
    if (part) text_add(&x, ", %" PRId64 ")", more);
  }
  return tuple(a, text_str(&x), t->rank);
}

static const char *names_tuple(Arena *a, const char *const *name, int n, const char *quote) {
  Text x = text_new(a, 0);
  for (int i = 0; i < n; i++) text_add(&x, "%s%s%s%s", i ? ", " : "", quote, name[i], quote);
  return tuple(a, text_str(&x), n);
}

/* ---- names ---- */

typedef struct Method {
  const LibraryFunction *f;
  const char *name, *result; /* result: the class of what it returns; NULL: nothing */
  const char **param;
} Method;

typedef struct PythonModule {
  const Library *l;
  const char **hyper; /* names of properties */
  Method *method;
} PythonModule;

static const char *class_name(Arena *a, const char *s) {
  char *name = arena_printf(a, "%s", s);
  name[0] = (char)toupper((unsigned char)name[0]);
  return name;
}

static PythonModule python_names(const Library *l) {
  static const char *const of_class[] = {"close",  "load",  "save", "reset",      "threads",
                                         "device", "bytes", "rank", "set_timeout"};
  const size_t alone = sizeof of_class / sizeof *of_class - 2;
  static const char *const of_module[] = {
      "Any",   "ArrayLike", "Callable",   "DLPack",   "Error",    "Generic", "Input",   "List",
      "Model", "NDArray",   "NamedTuple", "Optional", "Protocol", "Tuple",   "TypeVar", "Union"};
  Arena *a = l->a;
  PublicNames members = {.a = a, .reserved = is_reserved};
  PublicNames classes = {.a = a, .reserved = is_reserved};
  for (size_t i = 0; i < (l->o->ranks ? alone + 2 : alone); i++)
    vec_push(a, &members.at, of_class[i]);
  for (size_t i = 0; i < sizeof of_module / sizeof *of_module; i++)
    vec_push(a, &classes.at, of_module[i]);
  PythonModule p = {.l = l};
  p.hyper = ARENA_ARRAY(a, const char *, l->hypers.n + 1);
  p.method = ARENA_ARRAY(a, Method, l->functions.n + 1);
  for (uint32_t i = 0; i < l->hypers.n; i++)
    p.hyper[i] = public_name_new(&members, public_identifier(a, l->hypers.at[i].name), "hyper");
  for (uint32_t i = 0; i < l->functions.n; i++) {
    const LibraryFunction *f = &l->functions.at[i];
    Method *m = &p.method[i];
    m->f = f;
    m->name = public_name_new(&members, public_identifier(a, f->entry->name), "entry");
    if (f->nparams > f->ninputs)
      m->result = public_name_new(&classes, class_name(a, m->name), "result");
    m->param = ARENA_ARRAY(a, const char *, f->nparams + 1);
    PublicNames inputs = {.a = a, .reserved = is_reserved};
    PublicNames outputs = {.a = a, .reserved = is_reserved};
    for (int k = 0; k < f->nparams; k++) {
      const char *key = f->param[k].key ? f->param[k].key : "x";
      m->param[k] = f->param[k].output ? public_name_new(&outputs, public_identifier(a, key), "out")
                                       : public_name_new(&inputs, public_identifier(a, key), "in");
    }
  }
  return p;
}

/* ---- text ---- */

static void print_head(const PythonModule *p, FILE *f) {
  const Library *l = p->l;
  fprintf(f, SCRIPT_MARK "%s from %s; do not edit.\n", l->o->version ? l->o->version : "",
          l->source);
  fprintf(f,
          "\"\"\"The model of %s, compiled by gc: a class whose methods are its entries.\n\n"
          "    with Model(%s) as model:\n",
          l->source,
          !l->o->ranks               ? ""
          : opening_of(l)->makes_ids ? "id, rank"
                                     : "MPI.COMM_WORLD");
  for (uint32_t i = 0; i < l->functions.n && i < 3; i++) {
    const Method *m = &p->method[i];
    fprintf(f, "        %smodel.%s(", m->result ? "result = " : "", m->name);
    for (int k = 0; k < m->f->ninputs; k++) fprintf(f, "%s%s", k ? ", " : "", m->param[k]);
    fputs(")\n", f);
  }
  fputs(
      "\nInputs are arrays of numpy, of a library with DLPack on the CPU, or numbers. Results are\n"
      "arrays of numpy and numbers. A call frees the interpreter for other threads; calls of one "
      "model\n"
      "wait for one another. Arrays of bfloat16 have the dtype of ml_dtypes where that is "
      "installed,\n"
      "else their bits in uint16.\n\"\"\"\n\n"
      "from __future__ import annotations\n\n"
      "import ctypes\nimport os\nimport threading\nimport weakref\nfrom math import prod\n"
      "from typing import Any, Callable, Generic, List, NamedTuple, Optional, Protocol, Tuple, "
      "TypeVar, Union\n\n"
      "import numpy as np\nfrom numpy.typing import ArrayLike, NDArray\n\n"
      "try:\n    from ml_dtypes import bfloat16 as _bfloat16\n"
      "except ImportError:\n    _bfloat16 = np.uint16\n\n"
      "__all__ = [\"Error\", \"Model\"",
      f);
  if (opening_of(l)->makes_ids) fputs(", \"make_id\"", f);
  for (uint32_t i = 0; i < l->functions.n; i++)
    if (p->method[i].result) fprintf(f, ", \"%s\"", p->method[i].result);
  fputs("]\n\n", f);
}

static const char *hyper_type(const Hyper *h) {
  return h->dtype == DT_BOOL  ? "ctypes.c_bool"
         : h->dtype == DT_I32 ? "ctypes.c_int32"
                              : "ctypes.c_float";
}

static void print_symbol(const Library *l, const Symbol *s, FILE *f) {
  fprintf(f, "_%s = _library.%s_%s\n_%s.restype, _%s.argtypes = %s, [%s]\n", s->verb, l->prefix,
          s->verb, s->verb, s->verb, s->result, s->arguments);
}

static void print_symbols(const Library *l, FILE *f) {
  static const Symbol symbols[] = {{"close", "None", "ctypes.c_void_p"},
                                   {"error", "ctypes.c_char_p", "ctypes.c_void_p"},
                                   {"load", "ctypes.c_bool", "ctypes.c_void_p, ctypes.c_char_p"},
                                   {"save", "ctypes.c_bool", "ctypes.c_void_p, ctypes.c_char_p"},
                                   {"reset", "ctypes.c_bool", "ctypes.c_void_p, ctypes.c_uint64"},
                                   {"threads", "ctypes.c_int", "ctypes.c_void_p"},
                                   {"device", "ctypes.c_char_p", "ctypes.c_void_p"},
                                   {"bytes", "ctypes.c_uint64", ""}};
  fprintf(f,
          "_library = ctypes.CDLL(os.path.join(os.path.dirname(os.path.abspath(__file__)), "
          "\"%s\"))\n",
          l->file);
  for (const Symbol *x = opening_of(l)->symbols; x->verb; x++) print_symbol(l, x, f);
  for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) print_symbol(l, &symbols[i], f);
  for (uint32_t i = 0; i < l->hypers.n; i++) {
    const Hyper *h = &l->hypers.at[i];
    fprintf(f,
            "_set%u, _get%u = _library.%s, _library.%s\n"
            "_set%u.restype, _set%u.argtypes = None, [ctypes.c_void_p, %s]\n"
            "_get%u.restype, _get%u.argtypes = %s, [ctypes.c_void_p]\n",
            i, i, h->set, h->get, i, i, hyper_type(h), i, i, hyper_type(h));
  }
  fputs("\n\n", f);
}

static void print_tensors(const PythonModule *p, const Method *m, int from, int to, FILE *f) {
  Arena *a = p->l->a;
  fputs("    (\n", f);
  for (int k = from; k < to; k++) {
    const Type *t = m->f->param[k].type;
    fprintf(f, "        _Tensor(\"%s\", np.dtype(%s), %s, \"%s\"),\n", m->param[k],
            py_dtype[t->dtype], shape_tuple(m->f, a, t), array_text(m->f, a, t));
  }
  fputs("    ),\n", f);
}

/* The class of what an entry returns, and the entry. */
static void print_entry(const PythonModule *p, uint32_t i, FILE *f) {
  const Method *m = &p->method[i];
  const LibraryFunction *e = m->f;
  if (m->result)
    fprintf(f, "\n\nclass %s(NamedTuple):\n    \"\"\"What Model.%s returns.\"\"\"\n\n", m->result,
            m->name);
  for (int k = e->ninputs; k < e->nparams; k++) {
    const Type *t = e->param[k].type;
    fprintf(f, "    %s: %s  # %s\n", m->param[k],
            t->rank ? dtype_of_array(p->l->a, t->dtype) : py_scalar[t->dtype],
            array_text(e, p->l->a, t));
  }
  fprintf(f, "\n\n_entry%u = _Entry(\n    \"%s\",\n    %s,\n", i, e->name,
          names_tuple(p->l->a, e->extent_name, e->nextents, "\""));
  print_tensors(p, m, 0, e->ninputs, f);
  print_tensors(p, m, e->ninputs, e->nparams, f);
  fprintf(f, "    %s,\n)\n", m->result ? m->result : "lambda: None");
}

static const char *hyper_value(Arena *a, const Hyper *h) {
  if (h->dtype == DT_BOOL) return h->value ? "True" : "False";
  return arena_printf(a, h->dtype == DT_I32 ? "%.0f" : "%.9g", h->value);
}

static void print_hyper(const PythonModule *p, uint32_t i, FILE *f) {
  const Hyper *h = &p->l->hypers.at[i];
  const char *name = p->hyper[i], *type = py_scalar[h->dtype];
  fprintf(f,
          "\n    @property\n    def %s(self) -> %s:\n"
          "        \"\"\"A hyper, %s at first; the next call reads it.\"\"\"\n"
          "        return %s(self._ask(_get%u))\n\n"
          "    @%s.setter\n    def %s(self, value: %s) -> None:\n"
          "        self._ask(_set%u, _hyper(\"%s\", \"%s\", value))\n",
          name, type, hyper_value(p->l->a, h), type, i, name, name, type, i, name,
          py_name[h->dtype]);
}

static void print_method(const PythonModule *p, uint32_t i, FILE *f) {
  const Method *m = &p->method[i];
  const LibraryFunction *e = m->f;
  Arena *a = p->l->a;
  fprintf(f, "\n    def %s(self", m->name);
  for (int k = 0; k < e->ninputs; k++) {
    const Type *t = e->param[k].type;
    fprintf(f, ", %s: %s", m->param[k], t->rank ? "Input" : py_scalar[t->dtype]);
  }
  fprintf(f, ") -> %s:\n        \"\"\"%s\n\n", m->result ? m->result : "None",
          e->entry->training ? "One step of training." : "One run of the entry.");
  for (int k = 0; k < e->ninputs; k++)
    fprintf(f, "        %s: %s\n", m->param[k], array_text(e, a, e->param[k].type));
  for (int k = 0; k < e->nextents; k++)
    fprintf(f, "        %s is %" PRId64 " to %" PRId64 ", by the shapes.\n", e->extent_name[k],
            e->least[k], e->extent[k]->bound);
  for (int k = e->ninputs; k < e->nparams; k++)
    fprintf(f, "        %s %s: %s\n", k == e->ninputs ? "Returns" : "       ", m->param[k],
            array_text(e, a, e->param[k].type));
  fprintf(f, "        \"\"\"\n        return _entry%u.run(self, %s)\n", i,
          names_tuple(a, m->param, e->ninputs, ""));
}

void python_print(const Library *l, FILE *f) {
  PythonModule p = python_names(l);
  print_head(&p, f);
  print_symbols(l, f);
  fputs(python_text_module, f);
  for (int i = 0; i < 2 && opening_of(l)->text[i]; i++) fputs(opening_of(l)->text[i], f);
  for (uint32_t i = 0; i < l->functions.n; i++) print_entry(&p, i, f);
  fputs("\n\nclass Model(_Opened):\n    \"\"\"The model's entries as methods, its hypers as "
        "properties.\"\"\"\n\n    __slots__ = ()\n",
        f);
  for (uint32_t i = 0; i < l->hypers.n; i++) print_hyper(&p, i, f);
  for (uint32_t i = 0; i < l->functions.n; i++) print_method(&p, i, f);
}
