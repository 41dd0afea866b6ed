/* The start of kernels, and the part of an element-wise loop that one thread does: loads of several
   elements at once, the members of the group on each of them, stores of several elements at once.
   Contract: what may be loaded so lies element by element along the loop, at multiples of the
   vector; everything else is loaded one by one. The arena's and inputs' addresses are multiples of
   64 bytes. */
#include "codegen/gpu/gpu.h"
#include "codegen/program/extent.h"
#include "codegen/schedule/map.h"
#include "passes/plan.h"

/* ---- kernels ---- */

static void declare(Gen *g, Kernel *k, const Group *gr) {
  extent_declare(g, &k->head, k, gr);
  for (int i = 0; i < gr->nin + gr->nout; i++) {
    bool in = i < gr->nin,
         first = true; /* a value that several operands name is read through the first */
    for (int j = 0; in && j < i; j++) first = first && gr->arg[j] != gr->arg[i];
    if (!first) continue;
    const Type *t = value_type(gr->e, in ? gr->in[i] : gr->out[i - gr->nin]);
    text_line(&k->head, "%s%s *%s%d = (%s%s *)p%d;", in ? "const " : "", dtype_storage(t->dtype),
              in ? "in" : "out", in ? i : i - gr->nin, in ? "const " : "", dtype_storage(t->dtype),
              i);
  }
  if (gr->op->kind == OP_STORE) {
    const char *T = dtype_storage(value_type(gr->e, gr->in[0])->dtype);
    text_line(&k->head, "%s *out0 = (%s *)p1;", T, T);
  }
  if (kernel_scratch_arg(k) >= 0)
    text_line(&k->head, "char *scratch = (char *)p%d;", kernel_scratch_arg(k));
}

enum { SMALL = 1 << 30 };

/* Positions fit into 32 bits, and what a kernel adds to the last one; counts of threads that depend
   on an extent, too. */
static bool is_small(const Gen *g, const Group *gr) {
  int64_t most = gr->domain->numel, limit = group_is_bounded(gr) ? SMALL / WARP : SMALL;
  if (g->opt->index64) return false;
  for (int i = 0; i < gr->nin + gr->nout; i++) {
    const Type *t = value_type(gr->e, i < gr->nin ? gr->in[i] : gr->out[i - gr->nin]);
    if (t->numel > most) most = t->numel;
  }
  return most < limit;
}

static Kernel *start(Gen *g, const Group *gr, Kernel *k) {
  g->index = is_small(g, gr) ? "int" : "int64_t";
  k->block = BLOCK;
  k->grid = 1;
  declare(g, k, gr);
  return k;
}

Kernel *cuda_kernel(Gen *g, const Group *gr) { return start(g, gr, kernel_new(g, gr)); }

Kernel *cuda_kernel_next(Gen *g, const Group *gr, const char *suffix) {
  return start(g, gr, kernel_next(g, gr, suffix));
}

bool cuda_runs_beside(const Gen *g, const Entry *e) {
  for (uint32_t i = 0; i < g->m->entries.n; i++)
    if (g->m->entries.at[i]->ahead == e) return true;
  return plan_of(e)->streams > 1;
}

void cuda_leave_but_last(Kernel *k, int64_t counts, const char *which, const char *blocks) {
  text_line(&k->text, "static __device__ unsigned ended[%lld];", (long long)counts);
  text_line(&k->text, "if (!last_block(&ended[%s], (unsigned)(%s))) return;", which, blocks);
  k->signals = true;
}

void cuda_threads(Gen *g, Kernel *k, int64_t n, const char *var) {
  cuda_threads_of(g, k, n, NULL, var);
}

void cuda_threads_of(Gen *g, Kernel *k, int64_t n, const char *count, const char *var) {
  k->grid = n ? (n + k->block - 1) / k->block : 1;
  /* There may be more threads than elements. Those leave before what no position changes is loaded:
     the first thread may write its element over it. */
  const char *I = n < SMALL ? g->index : "int64_t";
  text_line(&k->head, "const %s %s = (%s)blockIdx.x * %d + (int)threadIdx.x;", I, var, I, k->block);
  if (count && !text_is_number(count))
    text_line(&k->head, "if (%s >= %s) return;", var, count);
  else if (n % k->block)
    text_line(&k->head, "if (%s >= %lld) return;", var, (long long)n);
}

void cuda_counts(Gen *g, const Op *op, int64_t n, const char *what) {
  if (n <= INT32_MAX) return;
  g->refused = true;
  diag(g->ctx, SEV_ERROR, op->loc, "%s of %lld %s: a kernel of a GPU counts at most %d",
       op_info[op->kind].name, (long long)n, what, INT32_MAX);
}

bool cuda_on_tensor_cores(Gen *g, bool narrow) {
  if (!narrow || g->opt->exact) return false;
  bool has = !cuda_target(g->target)->pre_sm80;
  ((CudaNotes *)g->own)->tensor_cores_off |= !has;
  return has;
}

const char *cuda_mma(Dtype dt) {
  return dt == DT_F16 ? "MmaF16" : dt == DT_BF16 ? "MmaBf16" : "MmaTf32";
}

const char *cuda_converter(Gen *g, Dtype dt) {
  switch ((int)dt) {
  case DT_F16: return "FromF16";
  case DT_BF16: return "FromBf16";
  case DT_U8:
  case DT_BOOL: return "FromByte<u8>";
  case DT_I8: return "FromByte<i8>";
  default: return arena_printf(g->a, "Identity<%s>", dtype_prefix(dt));
  }
}

/* ---- vectors ---- */

static bool is_full(const Group *gr, const Type *t) {
  return type_same_dims(t, gr->domain) || (gr->matrix && type_same_dims(t, gr->matrix));
}

/* Element functions in one evaluation of the group, by the registers and instructions they take. */
static int weight(const Group *gr) {
  int w = 0;
  for (int i = 0; i < gr->nops; i++) {
    const Op *op = gr->ops[i];
    bool function = op_calls_function(op->kind) && op->kind != OP_ABS && op->kind != OP_SQRT &&
                    op->kind != OP_FLOOR && op->kind != OP_CEIL && op->kind != OP_ROUND;
    if (op_info[op->kind].cls == CLASS_ROWS) w++;
    if (!function) continue;
    bool in_f64 = op->kind == OP_SIN || op->kind == OP_COS || op->kind == OP_POW ||
                  value_type(gr->e, op->results[0])->dtype == DT_F64;
    w += in_f64 ? 4 : 1;
  }
  return w;
}

int cuda_unroll(const Group *gr, int most) { return grid_unroll(weight(gr), most); }

int cuda_width(const Group *gr, int64_t n) {
  int size = 1;
  for (int i = 0; i < gr->nin + gr->nout; i++) {
    const Type *t = value_type(gr->e, i < gr->nin ? gr->in[i] : gr->out[i - gr->nin]);
    if (is_full(gr, t) && dtype_size(t->dtype) > size) size = dtype_size(t->dtype);
  }
  return grid_width(weight(gr), size, n);
}

typedef struct Read { /* of an argument, at a place */
  ValueId v;
  const Axis *map;
} Read;
typedef struct Reads {
  VEC(Read) at;
  VEC(Read) been; /* values that were looked through */
} Reads;

static bool add(Printer *p, Read **at, uint32_t n, ValueId v, const Axis *map) {
  for (uint32_t i = 0; i < n; i++)
    if ((*at)[i].v == v && printer_same_map(p, v, (*at)[i].map, map)) return false;
  return true;
}

/* Arguments that are read on the way to v, each place once. Results of rows and reductions end it:
   what they read of a row is read by their own texts. */
static void reads_of(Printer *p, ValueId v, const Axis *map, Reads *out) {
  if (!add(p, &out->been.at, out->been.n, v, map)) return;
  vec_push(p->g->a, &out->been, (Read){v, map});
  if (group_arg(p->gr, v) >= 0) {
    vec_push(p->g->a, &out->at, (Read){v, map});
    return;
  }
  const Op *op = value_def(p->gr->e, v);
  if (op_info[op->kind].cls == CLASS_VIEW) {
    const Axis *inner = printer_through(p, op, map);
    if (inner) reads_of(p, op->operands[0], inner, out);
  } else if (op_info[op->kind].cls == CLASS_ELEMENT) {
    for (int i = 0; i < op->noperands; i++) reads_of(p, op->operands[i], map, out);
  } else if (op_info[op->kind].cls == CLASS_ROWS && op->kind != OP_XENT) {
    for (int i = 0; i < op->noperands; i++) /* labels and dy of xent_grad have the row's shape */
      if (value_type(p->gr->e, op->operands[i])->rank == value_type(p->gr->e, v)->rank)
        reads_of(p, op->operands[i], map, out);
  }
}

int64_t cuda_strides(const Printer *p, ValueId v, const Axis *map, int64_t *stride) {
  const Value *x = value_at(p->gr->e, p->gr->in[group_arg(p->gr, v)]);
  int64_t start = 0, *own = ARENA_ARRAY(p->g->a, int64_t, x->type->rank + 1);
  layout_strides(x->type, x->layout, own);
  for (int i = 0; i < x->type->rank; i++) {
    start += own[i] * map[i].start;
    if (map[i].coord >= 0) stride[map[i].coord] += own[i] * map[i].step;
  }
  return start;
}

/* Lies element by element along coord, at multiples of n. */
static bool is_even(const Printer *p, const Read *r, int coord, int n) {
  int64_t *stride = ARENA_ARRAY(p->g->a, int64_t, p->ncoords + 1);
  const int64_t start = cuda_strides(p, r->v, r->map, stride);
  if (stride[coord] != 1 || start % n) return false;
  for (int k = 0; k < p->ncoords; k++)
    if (k != coord && p->coord[k].text && stride[k] % n) return false;
  return true;
}

static bool is_bound(const Printer *p, const Read *r) {
  for (uint32_t i = 0; i < p->seen.n; i++)
    if (p->seen.at[i].v == r->v && printer_same_map(p, r->v, p->seen.at[i].map, r->map))
      return true;
  return false;
}

static void load(Printer *p, const Read *r, int v, int level) {
  Arena *a = p->g->a;
  Dtype dt = value_type(p->gr->e, r->v)->dtype;
  int deep = 0, id = p->g->names++;
  const char *index = printer_index(p, r->v, r->map, &deep);
  const char *type = arena_printf(a, "const Vec<%s, %d>", dtype_storage(dt), v);
  text_line(p->level[level], "%s x%d = *(%s *)(in%d + %s);", type, id, type, group_arg(p->gr, r->v),
            index);
  const char *name = arena_printf(a, "v%d", p->g->names++);
  text_line(p->level[level + 1], "const %s %s = %s;", dtype_compute(dt), name,
            scalar_load(a, dt, arena_printf(a, "x%d.at", id), "l"));
  printer_bind(p, r->v, r->map, (Printed){name, level + 1});
}

static bool wanted(const bool *only, int i) { return !only || only[i]; }

/* Text that stores y0, y1 … of the yields that are wanted, `each` behind their names. */
static Text stores_of(Printer *p, int v, int indent, const bool *only, const char *each) {
  const Group *gr = p->gr;
  Text stores = text_new(p->g->a, indent);
  for (int i = 0; i < gr->nout; i++) {
    if (!wanted(only, i)) continue;
    int deep = 0;
    const char *index = printer_index(p, gr->out[i], printer_identity(p, gr->yield[i]), &deep);
    const char *T = dtype_storage(value_type(gr->e, gr->out[i])->dtype);
    text_line(&stores, "*(Vec<%s, %d> *)(out%d + %s) = y%d%s;", T, v, i, index, i, each);
  }
  return stores;
}

void cuda_vector_results(Printer *p, Text *out, int v, int n, const bool *only) {
  const char *many = n > 1 ? arena_printf(p->g->a, "[%d]", n) : "";
  for (int i = 0; i < p->gr->nout; i++)
    if (wanted(only, i))
      text_line(out, "Vec<%s, %d> y%d%s;",
                dtype_storage(value_type(p->gr->e, p->gr->yield[i])->dtype), v, i, many);
}

Text cuda_vector_apart(Printer *p, int coord, const char *base, int v, int level, const bool *only,
                       const char *each) {
  const Group *gr = p->gr;
  Gen *g = p->g;
  Text *out = p->level[level], *inner = p->level[level + 1];
  *inner = text_new(g->a, out->indent + 1);
  if (coord >= 0) {
    p->coord[coord].text = base;
    p->coord[coord].level = level;
  }
  const Text stores = stores_of(p, v, out->indent, only, each);
  Reads reads = {0};
  for (int i = 0; i < gr->nout; i++)
    if (wanted(only, i)) reads_of(p, gr->yield[i], printer_identity(p, gr->yield[i]), &reads);
  for (uint32_t i = 0; i < reads.at.n; i++)
    if (!is_bound(p, &reads.at.at[i]) && is_even(p, &reads.at.at[i], coord, v))
      load(p, &reads.at.at[i], v, level);
  const char *name = arena_printf(g->a, "j%d", g->names++);
  text_line(inner, "const %s %s = %s + l;", g->index, name, base);
  p->coord[coord].text = name;
  p->coord[coord].level = level + 1;
  for (int i = 0; i < gr->nout; i++)
    if (wanted(only, i)) printer_value(p, gr->yield[i], printer_identity(p, gr->yield[i]));
  for (int i = 0; i < gr->nout; i++) {
    if (!wanted(only, i)) continue;
    Dtype dt = value_type(gr->e, gr->yield[i])->dtype;
    Printed r = printer_value(p, gr->yield[i], printer_identity(p, gr->yield[i]));
    text_line(inner, "y%d%s.at[l] = %s;", i, each, scalar_store_rounded(g->a, dt, r.text));
  }
  text_line(out, "#pragma unroll");
  text_open(out, "for (int l = 0; l < %d; l++) {", v);
  text_append(out, inner);
  text_close(out, "}");
  return stores;
}

void cuda_vector(Printer *p, int coord, const char *base, int v, int level, const bool *only) {
  const Group *gr = p->gr;
  Text *out = p->level[level], *inner = p->level[level + 1];
  if (v > 1) {
    cuda_vector_results(p, out, v, 1, only);
    const Text stores = cuda_vector_apart(p, coord, base, v, level, only, "");
    text_append(out, &stores);
    return;
  }
  *inner = text_new(p->g->a, out->indent);
  if (coord >= 0) {
    p->coord[coord].text = base;
    p->coord[coord].level = level;
  }
  for (int i = 0; i < gr->nout; i++)
    if (wanted(only, i)) printer_value(p, gr->yield[i], printer_identity(p, gr->yield[i]));
  for (int i = 0; i < gr->nout; i++)
    if (wanted(only, i)) printer_store(p, i, printer_identity(p, gr->yield[i]), level + 1);
  text_append(out, inner);
}
