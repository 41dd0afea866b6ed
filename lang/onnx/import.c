/* The way through a graph: inputs, tensors, nodes in order, outputs.
   Contract: a node is translated once all that it reads has been; what no output needs is left out.
   All operators that have no counterpart are found before the one error that lists them. */
#include "lang/onnx/import.h"

#include <stdlib.h>

bool import_fail(Import *im, const char *what) {
  diag(im->c, SEV_ERROR, im->at, "%s: %s", im->path, what);
  im->failed = true;
  return false;
}

bool name_is_in(const Import *im, const Map *names, const char *name) {
  uint32_t i;
  return map_get(names, intern(im->c, name), &i);
}

void name_enter(Import *im, Map *names, const char *name) {
  map_put(im->a, names, intern(im->c, name), 1);
}

/* ---- inputs ---- */

static bool add_input(Import *im, const Onnx__ValueInfoProto *p) {
  const Onnx__TypeProto *t = p->type;
  const char *name = or_empty(p->name);
  Shape s = {0};
  if (!t || !t->tensor_type) return FAIL(im, "the input %s is no tensor", name);
  if (!elem_of(t->tensor_type->elem_type)->gc)
    return FAIL(im, "the input %s has element type %d, which gc does not have", name,
                t->tensor_type->elem_type);
  if (!t->tensor_type->shape) return FAIL(im, "the input %s has no shape", name);
  if (t->tensor_type->shape->n_dim > MOST_RANK)
    return FAIL(im, "the input %s has more than %d axes", name, MOST_RANK);
  s.rank = (int)t->tensor_type->shape->n_dim;
  bool ok = true;
  for (int i = 0; i < s.rank; i++) {
    const Onnx__TensorShapeProto__Dimension *d = t->tensor_type->shape->dim[i];
    if (!d->has_dim_value)
      ok &= symbol_of_input(im, d->dim_param, name, (size_t)i, &s.at[i]);
    else if (d->dim_value < 0 || d->dim_value > INT64_C(1) << 40)
      return FAIL(im, "the input %s has an axis of %lld elements", name, (long long)d->dim_value);
    else
      s.at[i].n = d->dim_value;
  }
  Tensor *v = value_new(im, t->tensor_type->elem_type, &s);
  v->wish = v->input = name;
  if (value_named(im, name)) return FAIL(im, "the value %s is there twice", name);
  value_put(im, name, v);
  if (is_empty(&s)) return v->known = ARENA_NEW(im->a, Number), ok; /* no input of the program */
  v->name = name_new(im, name);
  vec_push(im->a, &im->inputs, v);
  return ok;
}

static bool add_inputs(Import *im) {
  const Onnx__GraphProto *g = im->model->graph;
  bool ok = symbols_check(im);
  for (size_t i = 0; i < g->n_input; i++)
    if (!name_is_in(im, &im->initializers, or_empty(g->input[i]->name)))
      ok &= add_input(im, g->input[i]);
  return ok;
}

/* ---- tensors of the file ---- */

bool tensors_add(Import *im, const Onnx__GraphProto *g) {
  if (g->n_sparse_initializer) return FAIL(im, "it holds sparse tensors, which gc does not have");
  for (size_t i = 0; i < g->n_initializer; i++) {
    const Onnx__TensorProto *t = g->initializer[i];
    const char *name = or_empty(t->name), *why = NULL;
    Shape s;
    int type;
    if (!name_is_in(im, &im->needed, name)) continue;
    if (!tensor_type(im, t, &type, &s, &why) || !tensor_check(im, t, &why))
      return FAIL(im, "%s: %s", name, why);
    Tensor *v = value_new(im, type, &s);
    v->wish = name;
    v->tensor = t;
    v->path = path_new(im, signature_path(im, name));
    v->trained = tensor_is_trained(im, name, t, &s);
    if (value_named(im, name)) return FAIL(im, "the value %s is there twice", name);
    value_put(im, name, v);
  }
  return true;
}

/* ---- nodes ---- */

/* What the outputs depend on, and how tensors are read. */
static void mark_needed(Import *im) {
  const Onnx__GraphProto *g = im->model->graph;
  for (size_t i = 0; i < g->n_output; i++) {
    name_enter(im, &im->needed, or_empty(g->output[i]->name));
    name_enter(im, &im->others, or_empty(g->output[i]->name));
  }
  for (size_t i = g->n_node; i-- > 0;) {
    bool needed = false;
    for (size_t k = 0; k < g->node[i]->n_output; k++)
      needed |= name_is_in(im, &im->needed, g->node[i]->output[k]);
    if (!needed) continue;
    trained_mark(im, g->node[i]);
    signature_mark(im, g->node[i]);
    readers_count(im, g->node[i]);
    for (size_t k = 0; k < g->node[i]->n_input; k++)
      name_enter(im, &im->needed, g->node[i]->input[k]);
    subgraph_needs(im, g->node[i], &im->needed);
  }
}

int64_t version_of(size_t n, Onnx__OperatorSetIdProto *const *at, const char *domain) {
  int64_t version = 0;
  for (size_t i = 0; i < n && !version; i++)
    if (strcmp(or_empty(at[i]->domain), domain) == 0) version = at[i]->version;
  return version < 1000 ? version : 1000;
}

static const char *printable(Import *im, const char *s) {
  char *t = arena_strdup(im->a, s);
  for (char *p = t; *p; p++)
    if ((unsigned char)*p < ' ' || *p == 127) *p = ' ';
  return t;
}

/* The first input of the graph that inputs of a node are made of; NULL: they are made of none. */
static const char *origin(const Node *n) {
  for (int i = 0; i < n->nin; i++)
    if (n->in[i] && n->in[i]->input && !n->in[i]->known) return n->in[i]->input;
  return NULL;
}

static void translate(Node *n) {
  Import *im = n->im;
  const char *domain = or_empty(n->p->domain);
  const Operator *op = operator_named(domain, n->op);
  if (is_contrib(domain) ? !op : *domain && strcmp(domain, "ai.onnx") != 0) {
    refuse(n, "an operator of the domain %s", domain);
    return;
  }
  uint32_t refused = im->refused.n;
  for (int i = 0; i < n->nin; i++)
    if (n->in[i] && n->in[i]->missing) {
      if (!op && !fold_reads_shape(n)) refuse(n, "%s", operator_missing(n->op));
      for (int k = 0; k < n->nout; k++)
        if (n->out[k]) n->out[k]->missing = true;
      return;
    }
  bool lists = false; /* where there is a tensor to be */
  for (int i = 0; i < n->nin; i++) lists |= n->in[i] && n->in[i]->list;
  if (lists && (!op || !takes_lists(n->op))) {
    refuse(n, "a sequence as an input");
    for (int k = 0; k < n->nout; k++)
      if (n->out[k]) n->out[k]->missing = true;
    return;
  }
  if (fold_node(n)) return;
  while (n->nin && !n->in[n->nin - 1]) n->nin--;
  bool all = op && n->nin >= op->least && n->nin <= op->most;
  for (int i = 0; all && i < op->least; i++) all = n->in[i] != NULL;
  if (im->refused.n == refused) { /* else the fold has said why */
    if (!op)
      refuse(n, "%s", operator_missing(n->op));
    else if (!all)
      refuse(n, "%d inputs", n->nin);
    else if (counted_readable(n, op)) {
      if (is_contrib(domain) || !attention_of_scores(n)) op->translate(n);
      if (!is_contrib(domain)) scores_follow(n);
    }
  }
  const char *from = origin(n);
  for (int k = 0; k < n->nout; k++) {
    Tensor *v = n->out[k];
    if (!v) continue;
    if (im->refused.n == refused && !v->type && !v->list) refuse(n, "its output %d", k);
    v->missing = im->refused.n != refused;
    if (!v->input && !v->known && !v->tensor) v->input = from;
  }
}

static bool add_node(Import *im, const Onnx__NodeProto *p, int version) {
  Node n = {im, p, or_empty(p->op_type), version, NULL, (int)p->n_input, NULL, (int)p->n_output};
  enum { MOST_CALLED = 1 << 18 };
  if (p->n_input > 1 << 16 || p->n_output > 1 << 16)
    return FAIL(im, "a node of more than 65536 inputs or outputs");
  im->nodes++;
  if (im->depth && im->nodes > MOST_CALLED)
    return FAIL(im, "functions and loops within each other come to more than %d nodes",
                MOST_CALLED);
  n.in = ARENA_ARRAY(im->a, Tensor *, n.nin + 1);
  n.out = ARENA_ARRAY(im->a, Tensor *, n.nout + 1);
  bool needed = false;
  for (int i = 0; i < n.nout; i++) needed |= name_is_in(im, &im->needed, p->output[i]);
  if (!needed) return true;
  for (int i = 0; i < n.nin; i++) {
    if (!*p->input[i]) continue;
    n.in[i] = value_named(im, p->input[i]);
    if (!n.in[i])
      return FAIL(im, "the node %s (%s) reads %s, which nothing before it computes",
                  or_empty(p->name), n.op, p->input[i]);
  }
  for (int i = 0; i < n.nout; i++) {
    if (!*p->output[i]) continue;
    if (value_named(im, p->output[i])) return FAIL(im, "the value %s is there twice", p->output[i]);
    Tensor *v = value_new(im, ELEM_NONE, NULL);
    v->wish = p->output[i];
    value_put(im, p->output[i], v);
    if (name_is_in(im, &im->needed, p->output[i]))
      n.out[i] = v;
    else
      v->missing = true;
  }
  im->note = printable(im, *or_empty(p->name) ? arena_printf(im->a, "%s %s", n.op, p->name) : n.op);
  bool done = false;
  if (!subgraph_inline(&n, &done)) return false;
  if (!done) translate(&n);
  return true;
}

bool nodes_add(Import *im, Onnx__NodeProto *const *at, size_t n, int version) {
  for (size_t i = 0; i < n; i++)
    if (!add_node(im, at[i], version)) return false;
  return true;
}

/* ---- what was refused ---- */

static int by_operator(const void *a, const void *b) {
  const Refusal *x = a, *y = b;
  int order = strcmp(x->op, y->op);
  return order ? order : strcmp(x->why, y->why);
}

/* One error, and a note for each operator and reason. */
static bool report_refused(Import *im) {
  if (!im->refused.n) return true;
  Refusal *r = im->refused.at;
  uint32_t n = im->refused.n, groups = 0;
  qsort(r, n, sizeof *r, by_operator);
  for (uint32_t i = 0; i < n; i++) groups += !i || by_operator(&r[i - 1], &r[i]) != 0;
  diag(im->c, SEV_ERROR, im->at, "%s: %u node%s cannot be imported, for %u reason%s", im->path, n,
       n == 1 ? "" : "s", groups, groups == 1 ? "" : "s");
  for (uint32_t i = 0, end; i < n; i = end) {
    const char *names = "";
    enum { SHOWN = 8 };
    for (end = i; end < n && by_operator(&r[i], &r[end]) == 0; end++)
      if (end - i < SHOWN)
        names =
            arena_printf(im->a, "%s%s%s", names, end > i ? ", " : "", printable(im, r[end].node));
    diag(im->c, SEV_NOTE, (Loc){0}, "%u x %s: %s: %s%s", end - i, printable(im, r[i].op), r[i].why,
         names, end - i > SHOWN ? ", …" : "");
  }
  for (uint32_t i = 0; i < n; i++) {
    const char *hint = operator_hint(r[i].why);
    bool first = hint != NULL;
    for (uint32_t k = 0; k < i && first; k++) first = r[k].why != r[i].why;
    if (first) diag(im->c, SEV_HINT, (Loc){0}, "%s", hint);
  }
  im->failed = true;
  return false;
}

/* ---- outputs ---- */

/* How many rows of the outputs there are, where the data decide it. */
static void add_counts(Import *im) {
  const uint32_t outputs = im->outputs.n;
  bool *given = ARENA_ARRAY(im->a, bool, im->counts.n + 1);
  for (uint32_t i = 0; i < outputs; i++) {
    const Output o = im->outputs.at[i];
    for (int k = 0; k < o.tensor->shape.rank; k++) {
      const Axis d = o.tensor->shape.at[k];
      if (!d.counted || given[d.counted]) continue;
      given[d.counted] = true;
      vec_push(im->a, &im->outputs,
               (Output){arena_printf(im->a, "%s_count", o.name),
                        arena_printf(im->a, "i64(%s)", rows_text(im, d)),
                        value_new(im, ELEM_I64, &(Shape){0})});
    }
  }
}

/* A program gives products of bounded dimensions, or one of them and a number. */
static bool output_has_dims(Import *im, const char *name, const Shape *shape) {
  for (int k = 0; k < shape->rank && !im->used; k++) {
    Axis factor[MOST_FACTORS + 1], d = shape->at[k];
    const int n = dim_factors(im, d, factor);
    bool sum = d.symbol && d.more && im->symbols[d.symbol - 1].nfactors;
    for (int i = 0; i < n && n > 1; i++) sum |= factor[i].more != 0;
    if (!sum) continue;
    diag(im->c, SEV_ERROR, im->at, "%s: the output %s has %s elements along axis %d", im->path,
         name, dim_text(im, d), k);
    diag(im->c, SEV_HINT, (Loc){0}, "a number for one of these dimensions, as in -D %s=N",
         im->symbols[d.symbol - 1].wish);
    im->failed = true;
    return false;
  }
  return true;
}

static bool add_outputs(Import *im) {
  const Onnx__GraphProto *g = im->model->graph;
  if (!g->n_output) return FAIL(im, "the graph has no outputs");
  for (size_t i = 0; i < g->n_output; i++) {
    const char *name = or_empty(g->output[i]->name);
    Tensor *v = value_named(im, name);
    if (!v) return FAIL(im, "the output %s is computed by no node", name);
    if (v->missing) continue;
    if (v->list) return FAIL(im, "the output %s is a sequence", name);
    /* as a node that hands it on */
    Onnx__NodeProto p = ONNX__NODE_PROTO__INIT;
    p.name = (char *)name;
    Tensor *out = value_new(im, v->type, &v->shape);
    Node n = {im, &p, "output", 0, &v, 1, &out, 1};
    uint64_t count;
    if (shape_count(&v->shape, &count) && !count)
      return FAIL(im, "the output %s has no elements", name);
    if (!output_has_dims(im, name, &v->shape)) return false;
    vec_push(im->a, &im->outputs, (Output){name, tensor_text(&n, v), v});
  }
  add_counts(im);
  return true;
}

/* ---- all ---- */

static const OnnxProgram *import(Import from, bool *unreadable) {
  Ctx *c = from.c;
  const Onnx__ModelProto *model = model_read(c, from.path, from.at, unreadable);
  if (!model) return NULL;
  Import *im = ARENA_NEW(ctx_arena(c), Import);
  *im = from;
  im->a = ctx_arena(c), im->model = model;
  names_reserve(im);
  int64_t version = version_of(model->n_opset_import, model->opset_import, "");
  if (!version) version = version_of(model->n_opset_import, model->opset_import, "ai.onnx");
  enum { OLDEST = 7 };
  if (version < OLDEST)
    return FAIL(im, "its operator set is %lld; 7 and later are read", (long long)version), NULL;
  const Onnx__GraphProto *g = model->graph;
  signature_read(im);
  tied_join(im);
  for (size_t i = 0; i < g->n_initializer; i++)
    name_enter(im, &im->initializers, or_empty(g->initializer[i]->name));
  mark_needed(im);
  functions_need(im);
  bool ok = tensors_add(im, g) && add_inputs(im);
  ok = ok && nodes_add(im, g->node, g->n_node, (int)version);
  ok = ok && report_refused(im) && add_outputs(im) && report_refused(im);
  return ok ? print_program(im, version) : NULL;
}

const OnnxProgram *onnx_import(Ctx *c, const char *path, const OnnxDim *dims, int ndims,
                               const char *train, bool *unreadable) {
  return import(
      (Import){.c = c, .path = path, .def = "net", .dims = dims, .ndims = ndims, .train = train},
      unreadable);
}

const OnnxProgram *onnx_import_def(Ctx *c, const char *path, const char *name, const OnnxDim *dims,
                                   int ndims, Loc at) {
  bool unreadable;
  return import(
      (Import){
          .c = c, .path = path, .def = name, .used = true, .dims = dims, .ndims = ndims, .at = at},
      &unreadable);
}
