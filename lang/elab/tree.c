/* Trees: a value for each param or state at and below a path, known by paths at compile time.
   Contract: the paths of a tree ascend. Arithmetic and functions give a tree of the results for its
   leaves; two trees must have the same paths. `state NAME = like params(PATH)` declares one state
   for each param, NAME.path, at its first use; it starts with the param's initial value; what is
   declared so has none itself. In a block of `with TREE`, a declaration at one of the tree's paths
   gives the leaf in the place of the param. A tree has the params of the whole program: entries are
   elaborated again until no pass declares a param that a tree of it lacked. */
#include "lang/elab/builtin/builtin.h"
#include "lang/elab/loop/loop.h"

#include <stdlib.h>

/* ---- making trees ---- */

typedef struct Leaf {
  const char *path;
  Val v;
} Leaf;

typedef VEC(Leaf) Leaves;

static int by_path(const void *a, const void *b) {
  return strcmp(((const Leaf *)a)->path, ((const Leaf *)b)->path);
}

static Val make_tree(Elab *e, Leaves *l, const Top *state, Loc loc) {
  int n = (int)l->n;
  Val *at = ARENA_ARRAY(e->a, Val, n + 1);
  TreeKeys *keys = ARENA_NEW(e->a, TreeKeys);
  *keys = (TreeKeys){ARENA_ARRAY(e->a, const char *, n + 1), state};
  if (n) qsort(l->at, l->n, sizeof *l->at, by_path);
  for (int i = 0; i < n; i++) {
    keys->path[i] = l->at[i].path;
    at[i] = l->at[i].v;
  }
  Val v = val_list(e, VAL_TREE, at, n, loc);
  ((ValList *)v.list)->keys = keys; /* made here */
  return v;
}

static const char *const kind_word[] = {[GLOBAL_PARAM] = "params", [GLOBAL_STATE] = "states"};

static bool is_in(const Elab *e, uint32_t global, GlobalKind kind, const char *below) {
  const Global *g = &e->m->globals.at[global];
  bool step = kind == GLOBAL_STATE && strcmp(g->path, "step") == 0;
  return g->kind == kind && !step && !g->table && path_is_below(g->path, below);
}

static int count_leaves(const Elab *e, GlobalKind kind, const char *below) {
  int n = 0;
  for (uint32_t i = 0; i < e->m->globals.n; i++) n += is_in(e, i, kind, below);
  return n;
}

/* Records what a tree has. An empty one is an error_value, and reported in a strict pass only. */
static bool has_leaves(Elab *e, GlobalKind kind, const char *below, Loc loc) {
  int n = count_leaves(e, kind, below);
  const char *first = NULL;
  vec_push(e->a, &e->tree_uses, (TreeUse){kind, below, n});
  if (n || !e->strict) return n > 0;
  for (uint32_t i = 0; i < e->m->globals.n && !first; i++)
    if (is_in(e, i, kind, "")) first = e->m->globals.at[i].path;
  elab_error(e, loc, "there are no %s at or below \"%s\"", kind_word[kind], below);
  if (first)
    elab_hint(e, "there is %s: a path has the names of the calls from the entry inward", first);
  else
    elab_hint(e, "a call in an entry declares the %s of its net", kind_word[kind]);
  return elab_trace(e), false;
}

/* The tree of all params or states at and below a path; error_value where there is none. */
static Val tree_of_globals(Elab *e, GlobalKind kind, const char *below, Loc loc) {
  Leaves l = {0};
  if (e->run->kind != BUILD_ENTRY) {
    elab_error(e, loc, "%s are known in an entry only", kind_word[kind]);
    return elab_trace(e);
  }
  if (!has_leaves(e, kind, below, loc)) return error_value;
  for (uint32_t i = 0; i < e->m->globals.n; i++)
    if (is_in(e, i, kind, below))
      vec_push(e->a, &l, (Leaf){e->m->globals.at[i].path, run_value(e, (int)i, loc)});
  return make_tree(e, &l, NULL, loc);
}

bool trees_are_whole(const Elab *e) {
  for (uint32_t i = 0; i < e->tree_uses.n; i++) {
    const TreeUse *u = &e->tree_uses.at[i];
    if (u->n == 0 || u->n != count_leaves(e, u->kind, u->below)) return false;
  }
  return true;
}

Val builtin_params(BuiltinCall *s) {
  return tree_of_globals(s->e, (GlobalKind)s->f->data, arg(s, "path").str, s->loc);
}

/* ---- functions of trees ---- */

Val tree_of_leaves(Elab *e, Val v, const Val *leaf, Loc loc) {
  for (int i = 0; i < v.list->n; i++)
    if (leaf[i].kind == VAL_ERROR) return error_value;
  Val tree = val_with_items(e, v, leaf);
  if (tree.list->keys->state) { /* the results are no states */
    TreeKeys *keys = ARENA_NEW(e->a, TreeKeys);
    *keys = (TreeKeys){tree.list->keys->path, NULL};
    ((ValList *)tree.list)->keys = keys;
  }
  tree.loc = loc;
  return tree;
}

bool trees_agree(Elab *e, Val a, Val b, const char *what, Loc loc) {
  const char **pa = a.list->keys->path, **pb = b.list->keys->path;
  int n = a.list->n, m = b.list->n, i = 0;
  while (i < n && i < m && pa[i] == pb[i]) i++;
  if (i == n && i == m) return true;
  bool in_first = i == m || (i < n && strcmp(pa[i], pb[i]) < 0);
  elab_error(e, loc, "%s needs trees of the same paths: only the %s has %s", what,
             in_first ? "first" : "second", in_first ? pa[i] : pb[i]);
  elab_note(e, a.loc, "the first, %s", val_str(e, a));
  elab_note(e, b.loc, "the second, %s", val_str(e, b));
  return elab_trace(e), false;
}

Val tree_binary(Elab *e, BinaryOp op, Val l, Val r, Loc loc) {
  Val tree = l.kind == VAL_TREE ? l : r;
  const char *what = intern_printf(e->c, "'%s'", binary_spelling(op));
  if (l.kind == r.kind && !trees_agree(e, l, r, what, loc)) return error_value;
  Val *leaf = ARENA_ARRAY(e->a, Val, tree.list->n + 1);
  for (int i = 0; i < tree.list->n; i++) {
    int errors = elab_errors(e);
    leaf[i] = expr_binary(e, op, l.kind == VAL_TREE ? l.list->at[i] : l,
                          r.kind == VAL_TREE ? r.list->at[i] : r, loc);
    if (elab_errors(e) > errors) {
      elab_note(e, tree.loc, "of the leaf %s of this tree", tree.list->keys->path[i]);
      return error_value;
    }
  }
  return tree_of_leaves(e, tree, leaf, loc);
}

Val tree_index(Elab *e, Val tree, const Expr *x) {
  const Index *at = &x->index.at[0];
  Val path = at->kind == INDEX_AT ? elab_eval_one(e, at->at) : val_int(0, x->loc);
  if (path.kind == VAL_ERROR) return path;
  if (x->index.n != 1 || path.kind != VAL_STR) {
    elab_error(e, at->loc, "the index of a tree is a path, as in [\"%s\"]",
               tree.list->keys->path[0]);
    return elab_trace(e);
  }
  Leaves l = {0};
  for (int i = 0; i < tree.list->n; i++) {
    const char *leaf = tree.list->keys->path[i];
    if (strcmp(leaf, path.str) == 0) return tree.list->at[i];
    if (path_is_below(leaf, path.str)) vec_push(e->a, &l, (Leaf){leaf, tree.list->at[i]});
  }
  if (l.n) return make_tree(e, &l, tree.list->keys->state, x->loc);
  elab_error(e, at->loc, "the tree has nothing at or below \"%s\"", path.str);
  elab_hint(e, "its paths are %s%s", tree.list->keys->path[0],
            tree.list->n > 1 ? intern_printf(e->c, " and %d more", tree.list->n - 1) : "");
  return elab_trace(e);
}

/* ---- state NAME = like TREE ---- */

void declare_tree_state(Elab *e, Top *t) {
  const Expr *x = t->decl->value;
  const char *f = x->kind == EX_CALL ? x->call.callee.name : "";
  bool params = strcmp(f, "params") == 0, ok = params || strcmp(f, "states") == 0;
  if (ok && x->call.args.n == 1) {
    const Expr *path = x->call.args.at[0].value;
    ok = path->kind == EX_STRING;
    if (ok) t->below = path->string.bytes;
  } else {
    ok = ok && x->call.args.n == 0;
    if (ok) t->below = "";
  }
  t->kind = params ? GLOBAL_PARAM : GLOBAL_STATE;
  if (ok) return;
  elab_error(e, x->loc, "a state can be like a tree of params or states only");
  elab_hint(e, "state %s = like params(\"net\") has a state for each param of net",
            t->decl->name.name);
}

/* The state that t has for a param or state, made at its first use; -1 after an error. */
static int state_for(Elab *e, const Top *t, int of) {
  const char *param = e->m->globals.at[of].path, *name = t->decl->name.name;
  const char *path = intern_printf(e->c, "%s.%s", name, param);
  const char *text = intern_printf(e->c, "like %s", param);
  int global = module_find_global(e->m, path);
  if (global >= 0 && e->info.at[global].init == text) return global;
  Loc loc = t->decl->name.loc;
  if (global >= 0) {
    elab_error(e, loc, "state %s needs the path %s, which is declared already", name, path);
    elab_note(e, e->info.at[global].loc, "here");
    elab_hint(e, "choose another name");
    return elab_trace(e), -1;
  }
  EntryBuilder *run = e->run;
  e->run = &e->init;
  Val value = val_tensor(e, e->info.at[of].value);
  e->run = run;
  return global_add(e, GLOBAL_STATE, path, value, text, loc);
}

Val tree_of_state(Elab *e, Top *t, Loc loc) {
  Leaves l = {0};
  if (!t->below) return error_value;
  if (e->run->kind != BUILD_ENTRY)
    return elab_fail(e, loc, "state %s is known in an entry only", t->decl->name.name);
  if (!has_leaves(e, t->kind, t->below, loc)) return error_value;
  uint32_t n = e->m->globals.n; /* the new states are no part of it */
  for (uint32_t i = 0; i < n; i++) {
    if (!is_in(e, i, t->kind, t->below) || strncmp(e->info.at[i].init, "like ", 5) == 0) continue;
    int global = state_for(e, t, (int)i);
    if (global < 0) return error_value;
    vec_push(e->a, &l, (Leaf){e->m->globals.at[i].path, run_value(e, global, loc)});
  }
  return make_tree(e, &l, t, loc);
}

void tree_assign(Elab *e, Top *t, Val v, Loc loc) {
  Val now = tree_of_state(e, t, loc);
  if (v.kind == VAL_ERROR || now.kind == VAL_ERROR) return;
  const char *name = t->decl->name.name;
  if (v.kind != VAL_TREE) {
    elab_error(e, loc, "state %s is a tree and cannot become %s", name, val_str(e, v));
    elab_note(e, t->decl->name.loc, "declared here");
    elab_trace(e);
    return;
  }
  if (!trees_agree(e, now, v, "':='", loc)) return;
  for (int i = 0; i < v.list->n; i++)
    global_assign(e, module_find_global(e->m, now.list->at[i].tensor.path), v.list->at[i], loc,
                  v.loc);
}

/* ---- with TREE { … } ---- */

/* The leaf of the innermost block that replaces the param, and its block; -1: none. */
static int replaced(Elab *e, const char *path, With **in) {
  for (With *w = e->with; w; w = w->up) {
    *in = w;
    for (int i = 0; i < w->tree.list->n; i++)
      if (w->tree.list->keys->path[i] == path) return i;
  }
  return -1;
}

bool tree_replaces(Elab *e, const char *path) {
  With *in;
  return !e->optimizer_path && replaced(e, path, &in) >= 0;
}

void tree_bind(Elab *e, Ident name, int global) {
  With *in;
  const Global *g = &e->m->globals.at[global];
  int i = e->optimizer_path ? -1 : replaced(e, g->path, &in);
  if (i < 0) return;
  in->read = true;
  Val leaf = in->tree.list->at[i];
  if (in->tree.list->keys->state) { /* a state, which the call may also assign */
    env_bind(e, name.name, error_value, module_find_global(e->m, leaf.tensor.path), name.loc);
    return;
  }
  const Type *t = leaf.kind == VAL_TENSOR ? leaf.tensor.type : NULL;
  bool floats = t && (t->dtype == g->type->dtype ||
                      (dtype_is_float(t->dtype) && dtype_is_float(g->type->dtype)));
  if (!floats || type_with_dtype(e->c, t, g->type->dtype) != g->type) {
    elab_error(e, name.loc, "%s is %s, but the leaf in its place is %s", g->path,
               type_text(e->c, g->type), val_str(e, leaf));
    elab_note(e, in->tree.loc, "of this tree");
    elab_trace(e);
    env_bind(e, name.name, error_value, -1, name.loc);
    return;
  }
  if (e->run->scan) leaf.tensor.id = scan_capture(e, e->run->scan, in->scan, leaf.tensor.id);
  env_bind(e, name.name, leaf, -1, name.loc);
}

bool is_lenient(const Elab *e) { return e->lenient_blocks > 0; }

/* A frame of the same path: a call that stands before the block may stand in it, too. */
static void push_block(Elab *e, Loc loc) {
  Frame *outer = e->frame, *f = frame_push(e, "with", loc, outer->env, false);
  f->path = outer->path;
  f->user = outer->user;
  f->scope = f->shared = true;
}

void exec_with(Elab *e, const Stmt *s) {
  With *outer = e->with;
  bool ok = true;
  for (int i = 0; i < s->with.trees.n; i++) {
    const Expr *x = s->with.trees.at[i];
    Val v = elab_eval_one(e, x);
    if (v.kind == VAL_ERROR) continue; /* the block may declare what the tree lacks */
    ok &= v.kind == VAL_TREE;
    if (v.kind != VAL_TREE) {
      elab_error(e, x->loc, "with needs a tree of params, found %s", val_str(e, v));
      elab_hint(e, "as in with 0.5 * params(\"net\") { … }");
      elab_trace(e);
      continue;
    }
    v.loc = x->loc;
    With *w = ARENA_NEW(e->a, With);
    *w = (With){e->with, v, e->run->scan, false};
    e->with = w;
  }
  if (ok) {
    int errors = elab_errors(e);
    push_block(e, s->loc);
    e->lenient |= !e->strict;
    e->lenient_blocks += !e->strict;
    exec_body(e, &s->with.body);
    e->lenient_blocks -= !e->strict;
    frame_pop(e);
    for (With *w = e->with; w != outer && elab_errors(e) == errors; w = w->up) {
      if (w->read || !e->strict) continue;
      elab_error(e, w->tree.loc, "no call in this block reads the tree");
      elab_hint(e, "its paths are those of %s, from the entry inward: call the same function",
                w->tree.list->keys->path[0]);
      elab_trace(e);
    }
  }
  e->with = outer;
}
