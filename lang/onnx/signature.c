/* What PyTorch's exporter says beside the graph: the signature of torch.export, which names the
   parameters, buffers and constants of the module, and at each node the path of the module whose
   forward has made it.
   Contract: a model without them is imported as it is. With them, buffers and constants are not
   trained. Exporters write tensors of equal elements once, such as the scales of all norms of an
   untrained net: a parameter that is missing for that reason becomes one of its own again. Tensors
   that it computed, and that have no path, get that of the module that reads them. Of tensors whose
   elements differ nobody knows whether the module ties them, so they stay one. */
#include "lang/onnx/import.h"

#include <stdlib.h>
#include <string.h>

enum { LONGEST = 256 };            /* of names that are read: a file may have others, and many */
enum { PARAMETER = 1, FIXED = 2 }; /* in Import.module */
/* In Import.modules: own parameters of one have no tensor of their name; it has parameters, or
   modules that have some. */
enum { LACKS = 1, HAS = 2 };

static const char *metadata(size_t n, Onnx__StringStringEntryProto *const *at, const char *key) {
  for (size_t i = 0; i < n; i++)
    if (strcmp(or_empty(at[i]->key), key) == 0) return or_empty(at[i]->value);
  return NULL;
}

static bool is_short(const char *name) { return strnlen(name, LONGEST + 1) <= LONGEST; }

static uint32_t kind_of(const Import *im, const char *name) {
  uint32_t kind;
  return is_short(name) && map_get(&im->module, intern(im->c, name), &kind) ? kind : 0;
}

/* p_fc_weight: PARAMETER target='fc.weight' */
static void line_read(Import *im, const char *line, size_t n) {
  static const struct {
    const char *text;
    uint32_t kind;
  } kinds[] = {{": PARAMETER target='", PARAMETER},
               {": BUFFER target='", FIXED},
               {": CONSTANT_TENSOR target='", FIXED}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    const char *text = arena_printf(im->a, "%.*s", (int)n, line), *at = strstr(text, kinds[i].text);
    const char *name = at ? at + strlen(kinds[i].text) : NULL,
               *end = at ? strchr(name, '\'') : NULL;
    if (!end || end - name > LONGEST) continue;
    const char *own = intern_printf(im->c, "%.*s", (int)(end - name), name);
    map_put(im->a, &im->module, own, kinds[i].kind);
    if (kinds[i].kind == PARAMETER) vec_push(im->a, &im->parameters, own);
  }
}

/* The module whose forward made a node: the last but one of ['', 'layer1', 'layer1.0', 'add_1']. */
static const char *module_of(const Import *im, const Onnx__NodeProto *p) {
  const char *text = metadata(p->n_metadata_props, p->metadata_props, "pkg.torch.onnx.name_scopes");
  const char *last = text ? strrchr(text, '\'') : NULL, *from[3];
  for (int i = 0; i < 3; i++) { /* where the last name begins, and the one before ends and begins */
    for (; last && last > text && last[-1] != '\''; last--) continue;
    if (!last || last == text) return NULL;
    from[i] = last--;
  }
  const size_t n = (size_t)(from[1] - 1 - from[2]);
  return n <= LONGEST ? intern_printf(im->c, "%.*s", (int)n, from[2]) : NULL;
}

/* ---- parameters that were written once ---- */

static bool is_of_one_value(Import *im, const Onnx__TensorProto *t) {
  enum { AT_ONCE = 1024 };
  uint8_t room[AT_ONCE * 8], first[8];
  const char *why;
  uint64_t all, n;
  Shape s;
  int type;
  if (!tensor_type(im, t, &type, &s, &why) || !tensor_check(im, t, &why)) return false;
  const size_t size = (size_t)elem_of(type)->size;
  if (!shape_count(&s, &all)) return false;
  for (uint64_t at = 0; at < all; at += n) {
    n = all - at < AT_ONCE ? all - at : AT_ONCE;
    if (!tensor_bytes(im, t, at, n, room, &why)) return false;
    if (!at) memcpy(first, room, size);
    for (uint64_t i = 0; i < n; i++)
      if (memcmp(room + i * size, first, size) != 0) return false;
  }
  return all > 0;
}

typedef struct Copies {
  Map at;    /* by name: its place in `all`; of tensors of the file, too */
  Map mixed; /* names of tensors whose elements differ */
  VEC(Onnx__TensorProto *) all;
} Copies;

/* The module's own parameter of the same last name, which has no tensor; NULL: there is none. */
static const char *own_parameter(const Import *im, const char *module, const char *name) {
  const char *leaf = strrchr(name, '.');
  const char *own = leaf && *module ? intern_printf(im->c, "%s%s", module, leaf) : NULL;
  return own && kind_of(im, own) == PARAMETER ? own : NULL;
}

static void separate(Import *im, Copies *c, Onnx__NodeProto *p) {
  const char *module = p->n_metadata_props ? module_of(im, p) : NULL;
  for (size_t k = 0; module && k < p->n_input; k++) {
    uint32_t at, there;
    const char *name = p->input[k], *own;
    if (kind_of(im, name) != PARAMETER || !map_get(&c->at, intern(im->c, name), &at)) continue;
    own = own_parameter(im, module, name);
    if (!own || strcmp(own, name) == 0) continue;
    if (!map_get(&c->at, own, &there)) {
      if (name_is_in(im, &c->mixed, name)) continue;
      if (!is_of_one_value(im, c->all.at[at])) {
        name_enter(im, &c->mixed, name);
        continue;
      }
      Onnx__TensorProto *copy = ARENA_NEW(im->a, Onnx__TensorProto);
      *copy = *c->all.at[at];
      copy->name = (char *)own;
      map_put(im->a, &c->at, own, there = c->all.n);
      vec_push(im->a, &c->all, copy);
      name_enter(im, &im->separated, own);
    }
    if (name_is_in(im, &im->separated, own)) p->input[k] = (char *)own;
  }
}

/* ---- what has no tensor ---- */

static void module_enter(Import *im, const char *parameter, bool lacks) {
  uint32_t known;
  for (size_t n = strlen(parameter) + 1; n-- > 0;) {
    if (n && parameter[n] != '.') continue;
    const char *module = intern_printf(im->c, "%.*s", (int)n, parameter);
    if (!map_get(&im->modules, module, &known)) known = 0;
    map_put(im->a, &im->modules, module, known | HAS | (lacks ? LACKS : 0));
    lacks = false; /* of those around it */
  }
}

static void lacking_note(Import *im, uint32_t count, const char *first) {
  diag(
      im->c, SEV_NOTE, im->at,
      "%s: --train-onnx: %u of the module's %u parameters have no tensor of their name, as %s: the "
      "exporter wrote equal ones once, or computed other tensors of them",
      im->path, count, im->parameters.n, first);
  diag(im->c, SEV_HINT, im->at,
       "torch.onnx.export(…, dynamo=True, optimize=False) computes none of them");
}

void signature_read(Import *im) {
  Onnx__GraphProto *g = im->model->graph;
  const char *text = metadata(g->n_metadata_props, g->metadata_props,
                              "pkg.torch.export.ExportedProgram.graph_signature");
  while (text && *text) {
    const size_t n = strcspn(text, "\n");
    if (n < 1 << 16) line_read(im, text, n);
    text += n + (text[n] != 0);
  }
  if (!im->parameters.n) return;
  Copies c = {0};
  for (size_t i = 0; i < g->n_initializer; i++) {
    map_put(im->a, &c.at, intern(im->c, or_empty(g->initializer[i]->name)), c.all.n);
    vec_push(im->a, &c.all, g->initializer[i]);
  }
  for (size_t i = 0; i < g->n_node; i++) separate(im, &c, g->node[i]);
  g->initializer = c.all.at, g->n_initializer = c.all.n;
  uint32_t at, lacking = 0;
  const char *first = NULL;
  for (uint32_t i = 0; i < im->parameters.n; i++) {
    const char *name = im->parameters.at[i];
    const bool lacks = !map_get(&c.at, name, &at);
    module_enter(im, name, lacks);
    if (lacks && !lacking++) first = name;
  }
  if (lacking && im->train) lacking_note(im, lacking, first);
}

/* ---- which tensors are trained ---- */

/* "conv.weight_bias", which the exporter computed of parameters. */
static bool is_named_after_one(const Import *im, const char *name) {
  for (size_t n = is_short(name) ? strlen(name) : 0; n > 0; n--)
    if (name[n] == '_' && kind_of(im, intern_printf(im->c, "%.*s", (int)n, name)) == PARAMETER)
      return true;
  return false;
}

/* The same of the exporter that traces: /layer1/fc/MatMul. NULL: the name is none of these. */
static const char *module_in_name(const Import *im, const Onnx__NodeProto *p) {
  const char *name = or_empty(p->name), *end = strrchr(name, '/');
  if (*name != '/' || end == name || !is_short(name)) return NULL;
  char *module = arena_printf(im->a, "%.*s", (int)(end - name) - 1, name + 1);
  for (char *c = module; *c; c++)
    if (*c == '/') *c = '.';
  return module;
}

static void reader_note(Import *im, const Onnx__NodeProto *p, const char *module) {
  for (size_t k = 0; module && *module && k < p->n_input; k++) {
    map_put(im->a, &im->reader_of, intern(im->c, p->input[k]), im->reader_modules.n);
    vec_push(im->a, &im->reader_modules, module);
  }
}

static const char traced[] = "onnx::";

static bool is_of_trace(const char *name) { return strncmp(name, traced, sizeof traced - 1) == 0; }

TensorOrigin signature_origin(const Import *im, const char *name) {
  if (!im->parameters.n) return is_of_trace(name) ? TENSOR_COMPUTED : TENSOR_OF_MODULE;
  const uint32_t kind = kind_of(im, name);
  return !kind ? TENSOR_COMPUTED : kind == PARAMETER ? TENSOR_OF_MODULE : TENSOR_UNKNOWN;
}

const char *signature_path(const Import *im, const char *name) {
  uint32_t at;
  const bool is_traced = is_of_trace(name),
             computed = im->parameters.n && !kind_of(im, name) && !strchr(name, '.');
  if (!(is_traced || computed) || !map_get(&im->reader_of, intern(im->c, name), &at)) return name;
  return arena_printf(im->a, "%s.%s", im->reader_modules.at[at],
                      is_traced ? name + sizeof traced - 1 : name);
}

/* What the module's products read may be its transposed matrix. What is added or multiplied element
   by element is so only if a parameter of the module's own has no tensor; else it is a table. */
void signature_mark(Import *im, const Onnx__NodeProto *p) {
  static const char *const elements[] = {"Add",   "Sub", "Mul", "Div", "Pow",    "Where",
                                         "Equal", "Max", "Min", "Mod", "Concat", NULL};
  const char *module = module_of(im, p);
  reader_note(im, p, module ? module : module_in_name(im, p));
  if (!im->parameters.n) return;
  bool each = false;
  for (int i = 0; elements[i]; i++) each |= strcmp(elements[i], or_empty(p->op_type)) == 0;
  uint32_t known = LACKS | HAS;
  if (module && !map_get(&im->modules, module, &known)) known = 0;
  if (!(known & (each ? LACKS : HAS))) return;
  for (size_t k = 0; k < p->n_input; k++) name_enter(im, &im->computed, p->input[k]);
}

bool signature_trains(const Import *im, const char *name) {
  const uint32_t kind = kind_of(im, name);
  if (!im->parameters.n || kind) return kind != FIXED;
  return name_is_in(im, &im->computed, name) || is_named_after_one(im, name);
}
