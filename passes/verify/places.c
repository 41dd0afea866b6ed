/* Places of values, for the checker of a plan: ranges of bytes, places in their regions, and the
   proof that a read finds the value it means. Contract: a place is checked before its range is
   used. */
#include "passes/verify/verify_impl.h"

/* Of a content: a value's name, or a global's path. */
static const char *name_of(const Check *c, ValueId content) {
  if (content < c->e->values.n) return value_str(c->e, content);
  return arena_printf(c->a, "@%s", c->e->module->globals.at[content - c->e->values.n].path);
}

const char *const verify_region[PLAN_REGIONS] = {"the arena",  "the globals", "the inputs",
                                                 "the hypers", "the counts",  "what is prepared"};

int verify_level(const Block *b) {
  int n = 0;
  for (; b->op; b = b->op->parent) n++;
  return n;
}

static const Block *block_of(const Check *c, ValueId v) {
  const Value *x = value_at(c->e, v);
  return x->def == NO_ID ? x->block : op_at(c->e, x->def)->parent;
}

/* The place of what stands in the block moves as it may. */
static bool moves_well(const Check *c, const Place *x, const Block *b) {
  uint64_t end, by;
  int level = verify_level(b);
  for (int d = 0; x->stride && d < c->p->depth; d++)
    if (x->stride[d] < 0 || (d >= level && x->stride[d])) return false;
  if (!checked_add(x->offset, x->bytes, &end)) return false;
  for (; x->stride && b->op; b = b->op->parent)
    if (!checked_mul((uint64_t)(scan_trips(b->op) - 1), (uint64_t)x->stride[verify_level(b) - 1],
                     &by) ||
        !checked_add(end, by, &end))
      return false;
  return true;
}

bool verify_strides(Check *c) {
  for (ValueId v = 0; v < c->e->values.n; v++)
    if (!moves_well(c, &c->p->place[v], block_of(c, v)))
      verify_fail(c, value_def(c->e, v), "%s moves to where it has no bytes", name_of(c, v));
  return !c->failed;
}

Range verify_range_in(const Place *x, const Block *b) {
  Range r = {x->region, x->offset, x->bytes};
  for (; x->stride && b->op; b = b->op->parent)
    r.bytes += (uint64_t)(scan_trips(b->op) - 1) * (uint64_t)x->stride[verify_level(b) - 1];
  return r;
}

Range verify_range(const Check *c, ValueId v) {
  return verify_range_in(&c->p->place[v], block_of(c, v));
}

int64_t verify_stride(const Place *x, int depth) { return x->stride ? x->stride[depth] : 0; }

bool verify_same_place(const Check *c, const Place *x, const Place *y) {
  bool same = x->region == y->region && x->offset == y->offset && x->bytes == y->bytes;
  for (int d = 0; same && d < c->p->depth; d++) same = verify_stride(x, d) == verify_stride(y, d);
  return same;
}

bool verify_place(Check *c, const Op *op, const char *what, const Place *x, uint64_t bytes,
                  const Block *b) {
  bool seen = c->failed;
  c->failed = false;
  uint64_t end;
  if ((unsigned)x->region >= PLAN_REGIONS) {
    verify_fail(c, op, "%s lies in no region", what);
    return false;
  }
  if (x->bytes != bytes)
    verify_fail(c, op, "%s has %llu bytes in the plan and needs %llu", what,
                (unsigned long long)x->bytes, (unsigned long long)bytes);
  else if (!checked_add(x->offset, bytes, &end) || end > c->size[x->region] ||
           x->offset + verify_range_in(x, b).bytes > c->size[x->region])
    verify_fail(c, op, "%s ends beyond %s", what, verify_region[x->region]);
  else if (x->region != PLAN_HYPERS && bytes && x->offset % (uint64_t)c->target->align)
    verify_fail(c, op, "%s lies at offset %llu, which is not aligned to %llu", what,
                (unsigned long long)x->offset, (unsigned long long)c->target->align);
  bool ok = !c->failed;
  c->failed |= seen;
  return ok;
}

bool verify_bytes(const Check *c, ValueId v, uint64_t *out) {
  return layout_bytes(value_type(c->e, v), value_at(c->e, v)->layout, out);
}

bool verify_value(Check *c, const Op *op, ValueId v) {
  uint64_t bytes;
  if (!verify_bytes(c, v, &bytes)) {
    verify_fail(c, op, "%s is too large", name_of(c, v));
    return false;
  }
  return verify_place(c, op, name_of(c, v), &c->p->place[v], bytes, block_of(c, v));
}

void verify_read(Check *c, const Op *op, ValueId v, int step) {
  const Place *x = &c->p->place[v];
  const Cell *other = NULL;
  if (!c->defined[v]) {
    verify_fail(c, op, "reads %s before it is there", name_of(c, v));
    return;
  }
  if (x->last < step)
    verify_fail(c, op, "reads %s at step %d, but its life ends at %d", name_of(c, v), step,
                x->last);
  Range r = verify_range(c, v);
  if (r.region == PLAN_COUNTS) return; /* no op writes there */
  if (memory_holds(&c->region[r.region], r.from, r.bytes, c->content[v], c->from[v], &other))
    return;
  if (other->kind == CONTENT)
    verify_fail(c, op, "reads %s, but %s was written over it in %s at 0x%llx", name_of(c, v),
                name_of(c, other->content), verify_region[x->region],
                (unsigned long long)other->from);
  else
    verify_fail(c, op, "reads %s, but its bytes in %s at 0x%llx hold %s", name_of(c, v),
                verify_region[x->region], (unsigned long long)other->from,
                other->kind == SCRATCH ? "scratch" : "nothing");
}

void verify_write(Check *c, Range r, Kind kind, ValueId content) {
  memory_write(&c->region[r.region], r.from, r.bytes, kind, content);
}

bool verify_holds(const Check *c, Range r, ValueId content) {
  const Cell *other;
  return memory_holds(&c->region[r.region], r.from, r.bytes, content, 0, &other);
}

bool verify_overlap(Range a, Range b) {
  return a.region == b.region && a.bytes && b.bytes && a.from < b.from + b.bytes &&
         b.from < a.from + a.bytes;
}

ValueId verify_copied(const Check *c, ValueId v) { return c->from[v] ? v : c->content[v]; }

/* The slice takes whole rows, one behind the other. */
static bool takes_rows(const Check *c, const Op *op) {
  if (op->kind != OP_SLICE) return false; /* others may have no operands, or no results */
  const Type *x = value_type(c->e, op->operands[0]), *y = value_type(c->e, op->results[0]);
  bool rows = x->rank > 0;
  for (int i = 0; rows && i < x->rank; i++)
    rows = op->attr[AT_STEPS].ints->at[i] == 1 && (i == 0 || x->dim[i] == y->dim[i]);
  return rows;
}

uint64_t verify_rows_before(const Check *c, const Op *op) {
  if (!takes_rows(c, op)) return 0;
  const Type *y = value_type(c->e, op->results[0]);
  uint64_t row = (uint64_t)dtype_size(y->dtype);
  for (int i = 1; i < y->rank; i++) row *= (uint64_t)y->dim[i];
  return row * (uint64_t)op->attr[AT_STARTS].ints->at[0];
}

/* Elements from the first one of a row to that of the next, by the strides of the storage; 0: rows
   do not lie one after the other. */
static int64_t row_distance(const Value *x) {
  const Type *t = x->type;
  int64_t stride[SMALL_RANK], distance;
  if (t->rank < 2 || t->rank > SMALL_RANK || (x->layout && x->layout->interleaved)) return 0;
  bool panels = layout_strides(t, x->layout, stride) != 0;
  distance = stride[t->rank - 2];
  if (stride[t->rank - 1] != 1 || (panels && distance < t->dim[t->rank - 1])) return 0;
  for (int i = t->rank - 2; i > 0; i--)
    if (stride[i - 1] != stride[i] * t->dim[i]) return 0;
  return distance;
}

bool verify_moves_nothing(const Check *c, const Op *op) {
  if (op->kind != OP_RESHAPE && !takes_rows(c, op)) return false;
  ValueId of = op->operands[0], v = op->results[0];
  const Value *from = value_at(c->e, of), *to = value_at(c->e, v);
  if (op->kind == OP_RESHAPE && !type_same_elements(from->type, to->type)) return false;
  if (from->layout || to->layout) {
    if (op->kind != OP_RESHAPE || !type_same_rows(from->type, to->type)) return false;
    int64_t distance = row_distance(from);
    if (distance == 0 || distance != row_distance(to)) return false;
  }
  Place x = c->p->place[of];
  x.offset += verify_rows_before(c, op);
  if (!verify_bytes(c, v, &x.bytes)) return false;
  return verify_same_place(c, &x, &c->p->place[v]);
}
