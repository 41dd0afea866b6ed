/* Roles of ops in a batch done part after part. Contract: reads the IR alone. A part is an equal
   share of the first axis, in order. An op is cut if each part of its results follows from the same
   part of its operands, apart from operands that are the same for all parts, such as weights. A sum
   over the batch is continued if each part ends between two of the chunks in which targets add up
   (passes/target.h), so that its bits stay. All other ops that need the whole batch wait for the
   last part, but for slices of sums where they are asked for. */
#include "ir/op/window.h"
#include "passes/fuse/kernel_form.h"
#include "passes/shrink/microbatch_impl.h"
#include "passes/target.h"

static const Type *operand_type(const Micro *m, const Op *op, int i) {
  return value_type(m->e, op->operands[i]);
}

int64_t micro_part(const Micro *m, const Type *t, int64_t k) {
  int64_t n = t->dim[0] / m->parts;
  return m->extent ? axis_part(m->e->module->ctx, type_axis(t, 0), k * n, n) : n;
}

/* A part is there, and the first one is a multiple of a part of the batch: an axis that is none is
   cut elsewhere in each run. */
static bool divides(const Micro *m, const Type *t) {
  if (!t->rank || t->dim[0] <= 0 || t->dim[0] % m->parts || type_extent(t, 0) != m->extent)
    return false;
  int64_t bound = m->extent ? m->extent->bound / m->parts : 0;
  return !m->extent || bound >= 2;
}

/* ---- ops that are cut ---- */

bool micro_by_part(const Entry *e, const Op *op, int i) {
  const Type *t = value_type(e, op->operands[i]);
  switch ((int)op_info[op->kind].cls) {
  case CLASS_CONTRACT: /* of a quantized operand also its scales */
    return i == 0 || t->rank > 2 || (op->kind == OP_SCALED_MATMUL && i == 2);
  case CLASS_WINDOW: return i == 0 || (op->kind != OP_CONV && op->kind != OP_CONV_INPUT_GRAD);
  case CLASS_INDEX: return op->kind != OP_GATHER || i == 1 || op->attr[AT_BATCH].i;
  case CLASS_ATTENTION: { /* a mask may be the same for all */
    const Type *q = value_type(e, op->operands[0]);
    return t->dtype != DT_BOOL || (t->rank == q->rank && t->dim[0] == q->dim[0]);
  }
  default: return true;
  }
}

static bool keeps_view(const Micro *m, const Op *op) {
  const Type *x = operand_type(m, op, 0), *y = value_type(m->e, op->results[0]);
  switch ((int)op->kind) {
  case OP_RESHAPE: return !reshape_moves(x, y);
  case OP_COPY: return true;
  case OP_TRANSPOSE: return op->attr[AT_PERM].ints->at[0] == 0;
  case OP_BROADCAST: return x->rank == y->rank && x->dim[0] == y->dim[0];
  case OP_SLICE: return op->attr[AT_STEPS].ints->at[0] == 1 && x->dim[0] == y->dim[0];
  case OP_REVERSE: return op->attr[AT_AXES].ints->at[0] != 0;
  case OP_PAD:
    return x->dim[0] == y->dim[0] && !op->attr[AT_LO].ints->at[0] &&
           !op->attr[AT_INTERIOR].ints->at[0];
  case OP_CONCAT: return op->attr[AT_AXIS].i != 0;
  default: return false;
  }
}

/* The first axis of the result is that of its operands, element by element of it. */
static bool keeps_parts(const Micro *m, const Op *op) {
  const Type *x = operand_type(m, op, 0);
  switch ((int)op_info[op->kind].cls) {
  case CLASS_ELEMENT: return !(op_info[op->kind].flags & OPF_POSITION);
  case CLASS_VIEW: return keeps_view(m, op);
  case CLASS_REDUCE: {
    if (op->kind == OP_ARGMAX || op->kind == OP_ARGMIN) return op->attr[AT_AXIS].i != 0;
    const Ints *axes = op->attr[AT_AXES].ints;
    return op->noperands == 1 && (!axes || !axes->n || axes->at[0] != 0);
  }
  case CLASS_ROWS: return operand_type(m, op, op_full_operand(op))->rank > 1;
  case CLASS_CONTRACT: return x->rank > 2 || op->kind != OP_MATMUL || !op->attr[AT_TA].i;
  case CLASS_WINDOW: return op->kind != OP_CONV_FILTER_GRAD;
  case CLASS_INDEX: return op->kind == OP_ONE_HOT || op->kind == OP_GATHER;
  case CLASS_ATTENTION: return x->rank > 3; /* else the first axis is that of heads */
  default: return false;
  }
}

static bool is_cut(const Micro *m, const Op *op) {
  if (op->nblocks || !op->noperands || !op->nresults || !keeps_parts(m, op)) return false;
  for (int i = 0; i < op->noperands; i++) {
    bool by_part = micro_by_part(m->e, op, i);
    if (by_part ? !divides(m, operand_type(m, op, i)) : m->cut[op->operands[i]]) return false;
  }
  for (int i = 0; i < op->nresults; i++)
    if (!divides(m, value_type(m->e, op->results[i]))) return false;
  return true;
}

/* ---- sums ---- */

/* Images of which parts have a multiple, so that they end where a chunk of pixels does. */
static int64_t images_of_chunk(const Micro *m, const Op *op) {
  ConvGeom g = conv_geom(m->e, op);
  int64_t pixels = g.h.out * g.w.out, images = pixels ? SUM_PIXELS / pixels : 1;
  return images > 1 ? images : 1;
}

static bool continues_filters(const Micro *m, const Op *op) {
  return conv_geom(m->e, op).n / m->parts % images_of_chunk(m, op) == 0;
}

/* A sum of columns adds up a multiple of so many rows of a part: a run decides how many times a
   bounded axis has its multiple. */
static int64_t rows_of_part(const Micro *m, const Op *op) {
  const Type *t = operand_type(m, op, 0);
  const Ints *axes = op->attr[AT_AXES].ints;
  int64_t rows = t->dim[0] / m->parts;
  for (int i = 1; i < axes->n; i++) {
    const Extent *x = type_extent(t, axes->at[i]);
    rows *= x ? t->dim[axes->at[i]] / x->bound : t->dim[axes->at[i]];
  }
  return rows;
}

/* A sum of columns, before and after it is cut, whose parts end where a chunk of rows does. */
static bool continues_columns(const Micro *m, const Op *op) {
  const Type *t = operand_type(m, op, 0);
  const Ints *axes = op->attr[AT_AXES].ints;
  const Type *part = type_with_extent(m->e->module->ctx, t, 0, micro_part(m, t, 0));
  return axes_before(t, axes) < 0 && axes_before(part, axes) < 0 &&
         rows_of_part(m, op) % SUM_COLUMN == 0;
}

static bool is_single(Dtype dt) { return dt == DT_F32 || dt == DT_F64; }

/* `continued`: in parts that keep its bits, of which each goes on from the one before. */
static bool is_sum(const Micro *m, const Op *op, bool continued) {
  if (op->nblocks || op->nresults != 1 || !is_single(value_type(m->e, op->results[0])->dtype))
    return false;
  for (int i = 0; i < op->noperands; i++)
    if (!divides(m, operand_type(m, op, i))) return false;
  if (op->kind == OP_CONV_FILTER_GRAD)
    return op->noperands == 2 && (!continued || continues_filters(m, op));
  if (op->kind == OP_MATMUL) {
    const Type *x = operand_type(m, op, 0);
    return x->rank == 2 && op->attr[AT_TA].i && !op->attr[AT_TB].i &&
           (!continued || x->dim[0] / m->parts % SUM_CHAIN == 0);
  }
  if (op->kind != OP_SUM || op->noperands != 1) return false;
  const Ints *axes = op->attr[AT_AXES].ints;
  return axes && axes->n && axes->at[0] == 0 && (!continued || continues_columns(m, op));
}

/* What a part of the sum has, of how many its chunks are; NULL: another reason than chunks keeps it
   from going on. */
static const char *why_not_continued(const Micro *m, const Op *op) {
  int64_t has, chunk;
  const char *what = "rows", *times = "";
  if (op->kind == OP_CONV_FILTER_GRAD) {
    has = conv_geom(m->e, op).n / m->parts, chunk = images_of_chunk(m, op), what = "images";
  } else if (op->kind == OP_MATMUL) {
    has = operand_type(m, op, 0)->dim[0] / m->parts, chunk = SUM_CHAIN;
  } else {
    has = rows_of_part(m, op), chunk = SUM_COLUMN;
    const Ints *axes = op->attr[AT_AXES].ints;
    for (int i = 1; i < axes->n; i++)
      if (type_extent(operand_type(m, op, 0), axes->at[i])) times = "a multiple of ";
  }
  if (has % chunk == 0) return NULL;
  char parts[32], chunks[32];
  return arena_printf(m->a, "a part has %s%s %s, and it adds up %s at a time", times,
                      plan_commas(parts, (uint64_t)has), what,
                      plan_commas(chunks, (uint64_t)chunk));
}

const char *micro_why_whole(const Micro *m, ValueId v) {
  const Block *body = m->e->body;
  ValueList read = {0};
  for (uint32_t i = 0; i < body->ops.n; i++) {
    const Op *op = op_at(m->e, body->ops.at[i]);
    bool reads = false;
    read.n = 0;
    if (m->role[op->id] == MICRO_LAST) plan_reads(m->a, m->e, op, &read);
    for (uint32_t k = 0; k < read.n; k++) reads |= read.at[k] == v;
    if (!reads) continue;
    const char *chunks = is_sum(m, op, false) ? why_not_continued(m, op) : NULL;
    return arena_printf(m->a, "%s%s reads all of it%s%s", op_info[op->kind].name,
                        op->loc.line ? arena_printf(m->a, " in line %u", op->loc.line) : "",
                        chunks ? ": " : "", chunks ? chunks : "");
  }
  return "it is returned";
}

/* ---- all ---- */

typedef struct Visited {
  bool cut, late;
} Visited;

static Visited look(const Micro *m, const Op *op, ValueList *read) {
  Visited s = {false, false};
  read->n = 0;
  plan_reads(m->a, m->e, op, read);
  for (uint32_t i = 0; i < read->n; i++) {
    s.cut |= m->cut[read->at[i]];
    s.late |= m->late[read->at[i]];
  }
  return s;
}

static MicroRole role_of(const Micro *m, const Op *op, Visited s) {
  if (s.late || op_info[op->kind].flags & OPF_EFFECT) return MICRO_LAST;
  if (!s.cut) return MICRO_ONCE;
  if (is_cut(m, op)) return MICRO_CUT;
  return is_sum(m, op, true) ? MICRO_SUM : MICRO_LAST;
}

/* ---- slices of sums ---- */

/* The scattering of a sum of sums is the sum of their scatterings. */
static bool is_linear(const Op *op) {
  return op->kind == OP_RESHAPE || op->kind == OP_TRANSPOSE || op->kind == OP_COPY ||
         op->kind == OP_ADD;
}

typedef enum Own { OWN_NOT, OWN_SUM, OWN_MORE } Own;

/* Takes the role from an op of which an operand is none of the parts' alone, or a result read by
   others. True: one has lost it. */
static bool drop_some(const Micro *m, Own *own, const unsigned *reads) {
  unsigned *here = ARENA_ARRAY(m->a, unsigned, m->e->values.n + 1); /* reads by those */
  const Block *body = m->e->body;
  bool lost = false;
  for (uint32_t i = 0; i < body->ops.n; i++) {
    const Op *op = op_at(m->e, body->ops.at[i]);
    for (int k = 0; own[op->id] && k < op->noperands; k++) here[op->operands[k]]++;
  }
  for (uint32_t i = 0; i < body->ops.n; i++) {
    const Op *op = op_at(m->e, body->ops.at[i]);
    bool keeps = own[op->id];
    for (int k = 0; keeps && own[op->id] == OWN_MORE && k < op->noperands; k++) {
      const Op *from = value_def(m->e, op->operands[k]);
      keeps = from && from->parent == body && own[from->id];
    }
    for (int k = 0; keeps && op->kind != OP_REDUCE_SCATTER && k < op->nresults; k++)
      keeps = reads[op->results[k]] == here[op->results[k]];
    lost |= own[op->id] && !keeps;
    if (!keeps) own[op->id] = OWN_NOT;
  }
  return lost;
}

/* It reads what is made part by part, and nothing that is made of all parts. */
static bool of_parts(const Micro *m, const Op *op) {
  bool cut = false, late = false;
  for (int k = 0; k < op->noperands; k++) {
    cut |= m->cut[op->operands[k]];
    late |= m->late[op->operands[k]];
  }
  return cut && !late;
}

/* The sums that nothing reads but reduce_scatter, and what is between them. They need not keep
   their bits, since ranks have added up in another order. */
static void find_slices(Micro *m) {
  const Block *body = m->e->body;
  Own *own = ARENA_ARRAY(m->a, Own, m->e->ops.n + 1);
  unsigned *reads = ARENA_ARRAY(m->a, unsigned, m->e->values.n + 1);
  ValueList read = {0};
  for (uint32_t i = 0; i < body->ops.n; i++) {
    const Op *op = op_at(m->e, body->ops.at[i]);
    const MicroRole role = m->role[op->id];
    if (role == MICRO_SUM || (role == MICRO_LAST && of_parts(m, op) && is_sum(m, op, false)))
      own[op->id] = OWN_SUM;
    else if (role == MICRO_LAST && (is_linear(op) || op->kind == OP_REDUCE_SCATTER))
      own[op->id] = OWN_MORE;
    read.n = 0;
    plan_reads(m->a, m->e, op, &read);
    for (uint32_t k = 0; op->nblocks && k < read.n; k++) reads[read.at[k]]++;
    for (int k = 0; k < op->noperands; k++) reads[op->operands[k]]++;
  }
  while (drop_some(m, own, reads)) continue;
  for (uint32_t i = 0; i < body->ops.n; i++) {
    const Op *op = op_at(m->e, body->ops.at[i]);
    if (own[op->id]) m->role[op->id] = op->kind == OP_REDUCE_SCATTER ? MICRO_SLICE : MICRO_OWN;
  }
}

Micro micro_of(Arena *a, const Entry *e, int64_t batch, int64_t parts, bool scatter) {
  uint32_t n = e->values.n;
  Micro m = {.a = a,
             .e = e,
             .parts = parts,
             .scatter = scatter,
             .extent = axis_extent(e->module->ctx, batch),
             .role = ARENA_ARRAY(a, MicroRole, e->ops.n),
             .cut = ARENA_ARRAY(a, bool, n),
             .late = ARENA_ARRAY(a, bool, n),
             .whole = ARENA_ARRAY(a, bool, n)};
  ValueList read = {0};
  const Block *body = e->body;
  for (uint32_t i = 0; i < body->args.n; i++) {
    const Type *t = value_type(e, body->args.at[i]);
    m.cut[body->args.at[i]] = t->rank > 0 && type_axis(t, 0) == batch;
  }
  for (uint32_t i = 0; i < body->ops.n; i++) {
    const Op *op = op_at(e, body->ops.at[i]);
    MicroRole role = m.role[op->id] = role_of(&m, op, look(&m, op, &read));
    for (int k = 0; k < op->nresults; k++) {
      m.cut[op->results[k]] = role == MICRO_CUT;
      m.late[op->results[k]] = role == MICRO_SUM || role == MICRO_LAST;
    }
  }
  if (scatter) find_slices(&m);
  for (uint32_t i = 0; i < body->ops.n; i++) {
    const Op *op = op_at(e, body->ops.at[i]);
    if (m.role[op->id] != MICRO_LAST) continue;
    (void)look(&m, op, &read);
    for (uint32_t k = 0; k < read.n; k++) m.whole[read.at[k]] |= m.cut[read.at[k]];
  }
  return m;
}
