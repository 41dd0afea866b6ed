/* Nodes that stand for others: If whose condition gc knows, loops, and calls of the model's
   functions.
   Contract: graphs within a node see the values around it, and their own are dropped behind it; a
   function sees its inputs alone, and its names are its own. They nest at most DEEPEST deep. */
#include "lang/onnx/import.h"

enum { DEEPEST = 32 };

static void *take(void *arena, size_t n) { return arena_alloc(arena, n + 1); }

static void keep(void *arena, void *p) {}

static Onnx__GraphProto *graph_of(Import *im, const Onnx__AttributeProto *a) {
  ProtobufCAllocator allocator = {take, keep, im->a};
  return onnx__graph_proto__unpack(&allocator, a->g.len, a->g.data);
}

const Onnx__GraphProto *subgraph_of(Node *n, const char *attribute) {
  const Onnx__AttributeProto *a = attr_of(n, attribute);
  return a && a->has_g ? graph_of(n->im, a) : NULL;
}

void nodes_drop(Import *im, const Onnx__GraphProto *g) {
  for (size_t i = 0; i < g->n_node; i++)
    for (size_t k = 0; k < g->node[i]->n_output; k++) value_drop(im, g->node[i]->output[k]);
}

void graph_drop(Import *im, const Onnx__GraphProto *g) {
  for (size_t i = 0; i < g->n_initializer; i++)
    if (g->initializer[i]->name) value_drop(im, g->initializer[i]->name);
  nodes_drop(im, g);
}

static void node_needs(Import *im, const Onnx__NodeProto *p, Map *names, int depth) {
  for (size_t k = 0; k < p->n_input; k++) name_enter(im, names, p->input[k]);
  for (size_t k = 0; k < p->n_output; k++) name_enter(im, names, p->output[k]);
  for (size_t i = 0; i < p->n_attribute && depth < DEEPEST; i++) {
    const Onnx__GraphProto *g = p->attribute[i]->has_g ? graph_of(im, p->attribute[i]) : NULL;
    for (size_t k = 0; g && k < g->n_node; k++) node_needs(im, g->node[k], names, depth + 1);
    for (size_t k = 0; g && k < g->n_output; k++)
      if (g->output[k]->name) name_enter(im, names, g->output[k]->name);
  }
}

void subgraph_needs(Import *im, const Onnx__NodeProto *p, Map *names) {
  for (size_t i = 0; i < p->n_attribute; i++)
    if (p->attribute[i]->has_g) {
      node_needs(im, p, names, 0);
      return;
    }
}

void functions_need(Import *im) {
  for (size_t i = 0; i < im->model->n_functions; i++) {
    const Onnx__FunctionProto *f = im->model->functions[i];
    for (size_t k = 0; k < f->n_node; k++) node_needs(im, f->node[k], &im->needed, 0);
    for (size_t k = 0; k < f->n_output; k++) name_enter(im, &im->needed, f->output[k]);
  }
}

/* The node's outputs are these values. */
static void hand_on(Node *n, char *const *names, size_t count) {
  for (int k = 0; k < n->nout; k++) {
    Tensor *v = (size_t)k < count ? value_named(n->im, names[k]) : NULL;
    if (!n->out[k]) continue;
    if (!v || v->missing)
      n->out[k]->missing = true;
    else
      give_same(n, k, v);
  }
}

/* The outputs of a branch, behind it; NULL where one is missing. False after a diagnostic. */
static bool branch(Node *n, const Onnx__GraphProto *g, Tensor **out) {
  if (!tensors_add(n->im, g) || !nodes_add(n->im, g->node, g->n_node, n->version)) return false;
  for (int k = 0; k < n->nout; k++) {
    const char *name = (size_t)k < g->n_output ? g->output[k]->name : NULL;
    out[k] = value_named(n->im, name ? name : "");
    if (out[k] && out[k]->missing) out[k] = NULL;
  }
  graph_drop(n->im, g);
  return true;
}

/* One of the results has no rows, the other some: its rows, or none of them. */
static bool rows_or_none(Node *n, int k, const char *c, Tensor *none, Tensor *some) {
  Shape s = some->shape;
  for (int i = 0; i < s.rank; i++)
    if (s.at[i].n && !none->shape.at[i].n) {
      const char *rows = s.at[i].counted ? rows_text(n->im, s.at[i]) : dim_text(n->im, s.at[i]);
      s.at[i].counted = count_new(n, text(n, "where(%s, %s, 0)", c, rows));
    }
  return give(n, k, some->type, &s, tensor_text(n, some));
}

/* All axes are the same but one, of which the first has no elements. */
static bool is_none_of(const Tensor *a, const Tensor *b) {
  int empty = 0;
  bool same = a->shape.rank == b->shape.rank && a->type == b->type;
  for (int i = 0; same && i < a->shape.rank; i++) {
    const Axis x = a->shape.at[i], y = b->shape.at[i];
    const bool none = !x.n && y.n && !y.symbol;
    empty += none;
    same = none || dim_same(x, y);
  }
  return same && empty == 1;
}

static bool choose(Node *n, int k, const char *c, Tensor *a, Tensor *b) {
  if (!a->list && !b->list && is_none_of(b, a)) return rows_or_none(n, k, c, b, a);
  if (!a->list && !b->list && is_none_of(a, b))
    return rows_or_none(n, k, text(n, "not %s", c), a, b);
  if (a->list || b->list || a->type != b->type || !shape_same(&a->shape, &b->shape))
    return refuse(n, "branches of a computed condition whose results differ in type or shape");
  const char *x = tensor_text(n, a);
  return give(n, k, a->type, &a->shape, text(n, "where(%s, %s, %s)", c, x, tensor_text(n, b)));
}

/* By a condition that the run computes: both branches, and of each result one of the two. */
static bool inline_both(Node *n, Tensor *condition) {
  const Onnx__GraphProto *g[2] = {subgraph_of(n, "then_branch"), subgraph_of(n, "else_branch")};
  const uint32_t refused = n->im->refused.n;
  Tensor **out[2];
  if (!g[0] || !g[1]) return refuse(n, "an If without branches"), true;
  const char *c = let(n, reshaped(n, tensor_text(n, condition), &(Shape){0}));
  const char *around = n->im->counting;
  bool ok = true;
  for (int i = 0; i < 2 && ok; i++) {
    const char *taken = i ? text(n, "not %s", c) : c;
    out[i] = ARENA_ARRAY(n->im->a, Tensor *, n->nout + 1);
    n->im->counting = around ? text(n, "(%s and %s)", around, taken) : text(n, "(%s)", taken);
    ok = branch(n, g[i], out[i]);
  }
  n->im->counting = around;
  if (!ok) return false;
  for (int k = 0; k < n->nout; k++) {
    if (!n->out[k]) continue;
    if (!out[0][k] || !out[1][k]) {
      if (n->im->refused.n == refused) refuse(n, "branches without its output %d", k);
      n->out[k]->missing = true;
    } else if (!choose(n, k, c, out[0][k], out[1][k])) {
      n->out[k]->missing = true;
    }
  }
  return true;
}

static bool inline_if(Node *n, bool *done) {
  Tensor *c = input(n, 0);
  uint64_t count;
  const bool is_one = c && !c->missing && !c->list && c->type == ELEM_BOOL &&
                      shape_count(&c->shape, &count) && count == 1;
  const Number *x = is_one ? known_of(n->im, c) : NULL;
  *done = is_one;
  if (!is_one) return true;
  if (!x) return inline_both(n, c);
  const Onnx__GraphProto *g = subgraph_of(n, x->i ? "then_branch" : "else_branch");
  if (!g) return *done = false, true;
  char **names = ARENA_ARRAY(n->im->a, char *, g->n_output + 1);
  for (size_t i = 0; i < g->n_output; i++) names[i] = g->output[i]->name ? g->output[i]->name : "";
  if (!tensors_add(n->im, g) || !nodes_add(n->im, g->node, g->n_node, n->version)) return false;
  hand_on(n, names, g->n_output);
  graph_drop(n->im, g);
  return true;
}

/* A loop that reads what was refused is not looked into. */
static bool add_loop(Node *n) {
  for (int i = 0; i < n->nin; i++)
    if (n->in[i] && n->in[i]->missing) {
      for (int k = 0; k < n->nout; k++)
        if (n->out[k]) n->out[k]->missing = true;
      return true;
    }
  for (int i = 0; i < n->nin; i++)
    if (n->in[i] && !n->in[i]->list && tensor_is_counted(n->in[i])) {
      refuse(n, "rows whose number the data decide");
      for (int k = 0; k < n->nout; k++)
        if (n->out[k]) n->out[k]->missing = true;
      return true;
    }
  bool ok;
  if (strcmp(n->op, "SequenceMap") != 0)
    return strcmp(n->op, "Scan") == 0 ? onnx_scan(n) : onnx_loop(n);
  if (!onnx_sequence_map(n, &ok))
    for (int k = 0; k < n->nout; k++)
      if (n->out[k]) n->out[k]->missing = true;
  return ok;
}

/* ---- functions ---- */

/* The node of a function with the attributes of its call in the place of references to them. */
static Onnx__NodeProto *with_attributes(Node *call, const Onnx__FunctionProto *f,
                                        Onnx__NodeProto *p) {
  Import *im = call->im;
  Onnx__NodeProto *copy = ARENA_NEW(im->a, Onnx__NodeProto);
  *copy = *p;
  copy->attribute = ARENA_ARRAY(im->a, Onnx__AttributeProto *, p->n_attribute + 1);
  copy->n_attribute = 0;
  for (size_t i = 0; i < p->n_attribute; i++) {
    const char *wanted = p->attribute[i]->ref_attr_name;
    const Onnx__AttributeProto *a = wanted && *wanted ? attr_of(call, wanted) : p->attribute[i];
    for (size_t k = 0; !a && k < f->n_attribute_proto; k++) /* its default */
      if (f->attribute_proto[k]->name && strcmp(f->attribute_proto[k]->name, wanted) == 0)
        a = f->attribute_proto[k];
    if (!a) continue;
    Onnx__AttributeProto *named = ARENA_NEW(im->a, Onnx__AttributeProto);
    *named = *a;
    named->name = p->attribute[i]->name;
    copy->attribute[copy->n_attribute++] = named;
  }
  return copy;
}

static bool inline_function(Node *n, const Onnx__FunctionProto *f) {
  Import *im = n->im;
  Map outside = im->values;
  im->values = (Map){0};
  bool missing = false;
  for (size_t i = 0; i < f->n_input; i++)
    if (input(n, (int)i)) {
      missing |= input(n, (int)i)->missing;
      value_put(im, f->input[i], input(n, (int)i));
    }
  int64_t version = version_of(f->n_opset_import, f->opset_import, "");
  bool ok = true;
  for (size_t i = 0; i < f->n_node && ok && !missing; i++) {
    Onnx__NodeProto *p = with_attributes(n, f, f->node[i]);
    /* an input that the call leaves out is left out in the function */
    p->input = ARENA_ARRAY(im->a, char *, p->n_input + 1);
    for (size_t k = 0; k < p->n_input; k++) {
      p->input[k] = f->node[i]->input[k];
      for (size_t q = 0; q < f->n_input; q++)
        if (!input(n, (int)q) && strcmp(f->input[q], p->input[k]) == 0) p->input[k] = "";
    }
    ok = nodes_add(im, &p, 1, (int)(version ? version : n->version));
  }
  if (ok) hand_on(n, f->output, missing ? 0 : f->n_output);
  im->values = outside;
  return ok;
}

bool subgraph_inline(Node *n, bool *done) {
  Import *im = n->im;
  const Onnx__FunctionProto *f = NULL;
  const char *domain = n->p->domain ? n->p->domain : "";
  for (size_t i = 0; i < im->model->n_functions && *domain && !f; i++) {
    const Onnx__FunctionProto *g = im->model->functions[i];
    if (g->name && g->domain && strcmp(g->name, n->op) == 0 && strcmp(g->domain, domain) == 0)
      f = g;
  }
  bool is_if = !*domain && strcmp(n->op, "If") == 0;
  bool is_loop = !*domain && (strcmp(n->op, "Scan") == 0 || strcmp(n->op, "Loop") == 0 ||
                              strcmp(n->op, "SequenceMap") == 0);
  if (!f && !is_if && !is_loop) return true;
  if (im->depth == DEEPEST) {
    *done = true;
    refuse(n, "functions or branches within each other, more than %d deep", DEEPEST);
    for (int k = 0; k < n->nout; k++)
      if (n->out[k]) n->out[k]->missing = true;
    return true;
  }
  im->depth++;
  if (!is_if) *done = true;
  bool ok = f ? inline_function(n, f) : is_loop ? add_loop(n) : inline_if(n, done);
  im->depth--;
  return ok;
}
