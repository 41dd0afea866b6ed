/* Legality of fusion: the class of an op for fusion, and whether two groups may be one.
   Contract: the forms are those of kernel_form.h; profit.c says whether it pays. */
#include "passes/fuse/fuse_impl.h"

/* ---- what an op is to fusion ---- */

/* Belongs to a group: it computes. */
bool fuse_is_core(const Fuse *f, const Op *op) {
  if (op_accumulator(op) >= 0) return false; /* it goes on in the bytes of what it begins with */
  OpClass c = op_info[op->kind].cls;
  if (c != CLASS_ELEMENT && c != CLASS_REDUCE && c != CLASS_ROWS && !op_reads_memory(op))
    return false;
  if (op_is_widening(f->e, op) || op_is_count(f->e, op)) return false;
  const Target *t = f->r->opt->target;
  return !t || !t->can_fuse || t->can_fuse(t, f->e, op);
}

/* Copied into the groups that read it: a constant, a count, a ramp, a view that is an index map, a
   widening, which would only be stored in more bytes. */
bool fuse_is_inline(const Fuse *f, const Op *op) {
  if (op->kind == OP_CONST || op->kind == OP_IOTA || op->kind == OP_EXTENT ||
      op_is_widening(f->e, op) || op_is_count(f->e, op))
    return true;
  if (op_info[op->kind].cls != CLASS_VIEW || op->kind == OP_COPY || op->noperands != 1)
    return false;
  return axes_through(f->a, f->e, op, axes_identity(f->a, value_type(f->e, op->results[0]))) !=
         NULL;
}

FusionGroup *fuse_reshaped(const Fuse *f, const Op *op) {
  const Op *def = op->kind == OP_RESHAPE ? value_def(f->e, op->operands[0]) : NULL;
  FusionGroup *u = def && def->parent == f->block ? f->unit[def->id] : NULL;
  if (!u || u->form != FORM_MATMUL) return NULL;
  const Type *to = value_type(f->e, op->results[0]), *own = value_type(f->e, u->root->results[0]);
  if (!type_same_rows(to, own)) return NULL;
  return type_same_dims(u->domain, own) || type_same_dims(to, own) || type_same_dims(to, u->domain)
             ? u
             : NULL;
}

Source fuse_source(const Fuse *f, ValueId v) {
  Source s = {v, value_def(f->e, v), axes_identity(f->a, value_type(f->e, v)), false};
  while (s.def && s.def->noperands && f->inlined[s.def->id] && !op_is_count(f->e, s.def)) {
    if (!op_is_widening(f->e, s.def)) {
      s.map = axes_through(f->a, f->e, s.def, s.map);
      s.viewed = true;
    }
    s.v = s.def->operands[0];
    s.def = value_def(f->e, s.v);
  }
  return s;
}

/* ---- shapes in a group over rows ---- */

/* [outer…], perhaps with axes of extent 1 behind. */
static bool row_shape(const Type *domain, int outer, const Type *t) {
  if (t->rank < outer) return false;
  for (int i = 0; i < t->rank; i++)
    if (t->dim[i] != (i < outer ? domain->dim[i] : 1)) return false;
  return true;
}

static bool fits_rows(const FusionGroup *u, const Type *t) {
  return type_same_dims(t, u->domain) || row_shape(u->domain, u->outer, t);
}

/* The view reads every row at its own place. */
static bool aligned(const Fuse *f, const Source *s) {
  const Type *t = value_type(f->e, s->v);
  for (int i = 0; i < t->rank; i++)
    if (t->dim[i] != 1 && (s->map[i].coord != i || s->map[i].start != 0 || s->map[i].step != 1))
      return false;
  return true;
}

/* What the op gives has the kept shape of the unit's reduction. */
static const Type *kept_type(const Fuse *f, const FusionGroup *u) {
  return value_type(f->e, u->root->results[0]);
}

/* ---- may two groups be one? ---- */

const char *fuse_form_refuses(const Fuse *f, const FusionGroup *a, const FusionGroup *b,
                              FusionGroup *out) {
  const FusionGroup *map = a->form == FORM_MAP ? a : b->form == FORM_MAP ? b : NULL;
  const FusionGroup *other = map == a ? b : a;
  *out = *other;
  if (a->form == FORM_ATTENTION || b->form == FORM_ATTENTION)
    return "attention is joined by views alone";
  if (!map) {
    if (a->form == FORM_ROWS && b->form == FORM_ROWS)
      return type_same_dims(a->domain, b->domain) && a->outer == b->outer
                 ? NULL
                 : "they reduce other rows";
    return "a kernel has one product or one reduction over columns";
  }
  if (other->form == FORM_MAP)
    return type_same_dims(map->domain, other->domain) ? NULL : "the shapes differ";
  if (fuse_memory_form(other->form))
    return type_same_dims(map->domain, other->domain) ||
                   type_same_dims(map->domain, value_type(f->e, other->root->results[0]))
               ? NULL
               : "the shapes differ";
  if (other->form == FORM_ROWS) {
    if (map->expensive && other->row_ops && map == a && type_same_dims(map->domain, other->domain))
      return "it would be computed again in every pass over a row";
    return fits_rows(other, map->domain) ? NULL : "the shapes differ";
  }
  if (type_same_dims(map->domain, kept_type(f, other)))
    return NULL; /* behind a reduction of columns */
  return map == a && type_same_dims(map->domain, other->domain) ? NULL : "the shapes differ";
}

static bool in_either(const Fuse *f, const Op *op, const FusionGroup *a, const FusionGroup *b) {
  return op && f->unit[op->id] && (f->unit[op->id] == a || f->unit[op->id] == b);
}

/* The op alone reads the value, each element once: at the mirrored place of some axes. */
static bool reads_reversed(const Fuse *f, const Op *op, ValueId v, const Source *s) {
  const Type *t = value_type(f->e, s->v);
  for (; v != s->v; v = value_def(f->e, v)->operands[0])
    if (f->users[v].n != 1) return false;
  if (f->users[v].n != 1 || !type_same_dims(t, value_type(f->e, op->results[0]))) return false;
  for (int i = 0; i < t->rank; i++) {
    const Axis *x = &s->map[i];
    if (x->coord != (t->dim[i] == 1 ? -1 : i) || (x->coord == i && x->step != 1 && x->step != -1))
      return false;
  }
  return true;
}

/* Every value that a member reads from another member is read where it is computed, or it is cheap
   and computed where it is read. */
static const char *edges_refuse(const Fuse *f, const FusionGroup *a, const FusionGroup *b,
                                const FusionGroup *whole) {
  for (int side = 0; side < 2; side++) {
    const FusionGroup *u = side ? b : a;
    for (uint32_t i = 0; i < u->members.n; i++) {
      const Op *op = u->members.at[i];
      for (int k = 0; k < op->noperands; k++) {
        Source s = fuse_source(f, op->operands[k]);
        if (!in_either(f, s.def, a, b)) continue;
        if (*f->watch && passes_watched(s.def, f->e, f->watch)) return "--watch keeps it in memory";
        if (op_reads_memory(op)) return "a product or window reads its operands from memory";
        if (!s.viewed) continue;
        if (whole->form == FORM_MAP && !f->unit[s.def->id]->expensive &&
            reads_reversed(f, op, op->operands[k], &s))
          continue;
        if (whole->form != FORM_ROWS || !aligned(f, &s)) return "it is read at other places";
      }
    }
  }
  return NULL;
}

/* A reduction of columns has results of the kept shape only: what is computed on the full shape
   must not be wanted outside; nor may the epilogue read it. */
static const char *columns_refuse(const Fuse *f, const FusionGroup *a, const FusionGroup *b,
                                  const FusionGroup *whole) {
  if (whole->form != FORM_COLS && whole->form != FORM_REDUCE) return NULL;
  const Type *kept = kept_type(f, whole);
  for (int side = 0; side < 2; side++) {
    const FusionGroup *u = side ? b : a;
    for (uint32_t i = 0; i < u->members.n; i++) {
      const Op *op = u->members.at[i];
      for (int k = 0; k < op->nresults; k++) {
        const Type *t = value_type(f->e, op->results[k]);
        if (op == whole->root || (type_same_dims(t, kept) && !type_same_dims(t, whole->domain)))
          continue;
        for (uint32_t j = 0; j < f->users[op->results[k]].n; j++)
          if (!in_either(f, f->users[op->results[k]].at[j], a, b))
            return "the summand is read again elsewhere";
      }
    }
  }
  return NULL;
}

const char *fuse_refuses(Fuse *f, FusionGroup *a, FusionGroup *b) {
  FusionGroup whole;
  const Target *t = f->r->opt->target;
  uint32_t max = t && t->max_fused_ops ? (uint32_t)t->max_fused_ops : 64;
  if (a->members.n + b->members.n > max) return "the kernel would be too long";
  const char *why = fuse_form_refuses(f, a, b, &whole);
  if (!why) why = edges_refuse(f, a, b, &whole);
  if (!why) why = columns_refuse(f, a, b, &whole);
  if (!why && !f->live && fuse_makes_cycle(f, a, b))
    why = "another op between them would have to run in the middle";
  if (!why && f->live && !fuse_stays_within(f, a, b)) why = "more bytes would be live at a time";
  return why;
}
