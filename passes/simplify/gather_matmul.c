/* Gathers behind products: the product of rows gathered from a table becomes rows gathered from the
   table's product. This pays if the table has fewer rows than are gathered, as with an embedding of
   characters under a dense layer. Contract: runs before autodiff, whose gradients then have the
   table's rows, too. Runs at every level of optimization, since sums over rows then come in another
   order. Values themselves stay the same to the last bit: an element of a product depends on its
   row and column alone. In a gradient by the matrix, a row that no op gathers takes part with 0
   times its value, so it must be finite. Targets of gradients, and rows that another op reads,
   stay. In an entry without gradients the table is multiplied if it has fewer rows than are
   gathered and its product no more bytes than these; but it may live longer: around a loop in which
   rows are gathered. With gradients the rewrite decides how they are added up, by rows of the table
   or by rows that are gathered, so no number of gathered rows decides: a param is multiplied by
   another one that has as many rows or columns as the table has rows, if the product has no more
   bytes than these and their gradients. With reassociate=1 sizes decide in every entry. */
#include "passes/manager/pass_list.h"

typedef struct Tables {
  PassRun *r;
  bool by_weights;   /* what is multiplied first depends on params alone */
  uint32_t *readers; /* by value */
  OpId *takes; /* by value: an op that takes rows by these ids, and of that the next one; 1 + */
  OpId *also;  /* by op */
} Tables;

/* No op takes the same rows once more. */
static bool is_alone(const Tables *t, const Entry *e, const Op *gather) {
  for (OpId i = t->takes[gather->operands[1]]; i; i = t->also[i - 1])
    if (i - 1 != gather->id && op_at(e, i - 1)->operands[0] == gather->operands[0]) return false;
  return true;
}

/* The gather whose rows this is, and nothing else; NULL if there is none. */
static const Op *rows_of(const Tables *t, const Entry *e, ValueId v) {
  const Op *op;
  int64_t width = value_type(e, v)->dim[value_type(e, v)->rank - 1];
  while (t->readers[v] == 1 && (op = value_def(e, v))) {
    const Type *x = value_type(e, op->operands[0]);
    if (op->kind == OP_GATHER) {
      bool plain = !op->attr[AT_BATCH].i && x->rank == 2 && x->dim[1] == width;
      return plain && is_alone(t, e, op) ? op : NULL;
    }
    if (op->kind != OP_RESHAPE) return NULL;
    v = op->operands[0];
  }
  return NULL;
}

/* A param, or a view of one: no axis of it is bounded in another program. */
static bool is_param(const Entry *e, ValueId v) {
  const Op *op = value_def(e, v);
  while (op && (op->kind == OP_RESHAPE || op->kind == OP_TRANSPOSE || op->kind == OP_CONVERT))
    op = value_def(e, op->operands[0]);
  return op && op->kind == OP_LOAD;
}

/* Of the table and the weight alone: the product is neither much work nor large beside them. */
static bool is_small(const Entry *e, ValueId table, ValueId weight, const Type *y) {
  const Type *t = value_type(e, table), *w = value_type(e, weight);
  const int64_t rows = t->dim[0], columns = y->dim[1];
  return is_param(e, table) && is_param(e, weight) && (rows <= t->dim[1] || rows <= columns) &&
         rows * columns <= 2 * (t->numel + w->numel);
}

static const Op *worth_it(const Tables *t, const Entry *e, const Op *op) {
  if (op->kind != OP_MATMUL || op->attr[AT_TA].i || value_type(e, op->operands[0])->rank != 2)
    return NULL;
  if (op->parent->op && op->parent->op->kind == OP_KERNEL) return NULL;
  const Type *x = value_type(e, op->operands[0]), *y = value_type(e, op->results[0]);
  const Op *gather = rows_of(t, e, op->operands[0]);
  if (!gather) return NULL;
  int64_t rows = value_type(e, gather->operands[0])->dim[0];
  if (t->by_weights) return is_small(e, gather->operands[0], op->operands[1], y) ? gather : NULL;
  int64_t made = rows * y->dim[1] * dtype_size(y->dtype), saved = x->numel * dtype_size(x->dtype);
  return rows < x->dim[0] && made <= saved ? gather : NULL;
}

/* Fewer rows are taken than are multiplied. */
static void report_whole(const Tables *t, const Op *op, int64_t rows, int64_t taken) {
  if (!t->by_weights || taken >= rows) return;
  remark(t->r, REMARK_SAVED, "saved", op->loc,
         "the table of %lld rows is multiplied whole, though %lld are taken, so that no size "
         "decides the bits of its gradients; with --reassociate only these are multiplied",
         (long long)rows, (long long)taken);
}

static void tables_each(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  Tables *t = data;
  const Op *gather = worth_it(t, old, op);
  if (!gather) {
    build_copy(b, old, op, map);
    return;
  }
  const Type *y = value_type(old, op->results[0]);
  report_whole(t, op, value_type(old, gather->operands[0])->dim[0], y->dim[0]);
  ValueId table[] = {map[gather->operands[0]], map[op->operands[1]]};
  b->loc = op->loc;
  b->scope = op->scope;
  ValueId all = build(b, OP_MATMUL, table, 2, op->attr, NULL);
  b->loc = gather->loc; /* where a row is taken that is not there */
  b->scope = gather->scope;
  ValueId v =
      build(b, OP_GATHER, (ValueId[]){all, map[gather->operands[1]]}, 2, gather->attr, NULL);
  b->loc = op->loc;
  b->scope = op->scope;
  v = build_reshape(b, v, y);
  value_at(b->e, v)->name = value_at(old, op->results[0])->name;
  map[op->results[0]] = v;
  t->r->changes++;
}

static void count_readers(Tables *t, const Entry *e) {
  for (OpId i = 0; i < e->ops.n; i++) {
    const Op *op = op_at(e, i);
    for (int k = 0; k < op->noperands; k++) t->readers[op->operands[k]]++;
    if (op->kind != OP_GATHER) continue;
    t->also[i] = t->takes[op->operands[1]];
    t->takes[op->operands[1]] = i + 1;
  }
}

bool pass_gather_matmul(PassRun *r) {
  const bool free = pass_arg_int(r, "reassociate", 0) != 0;
  Entry *e;
  for (uint32_t k = 0; (e = pass_entry(r->m, k)); k++) {
    Tables t = {.r = r,
                .by_weights = !free && pass_has_gradients(e),
                .readers = ARENA_ARRAY(r->scratch, uint32_t, e->values.n),
                .takes = ARENA_ARRAY(r->scratch, OpId, e->values.n),
                .also = ARENA_ARRAY(r->scratch, OpId, e->ops.n)};
    bool any = false;
    count_readers(&t, e);
    for (uint32_t i = 0; i < e->ops.n && !any; i++) any = worth_it(&t, e, op_at(e, i)) != NULL;
    if (any) entry_rebuild(e, tables_each, &t, false, true);
  }
  return true;
}
