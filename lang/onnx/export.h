/* An entry on its way from the IR to a graph of ONNX, operator set 18.
   Contract: an op's function adds its nodes to the graph and returns the name of the op's first
   result, or says why ONNX has no counterpart and returns NULL. Names are unique in the whole
   model; all memory is the context's. */
#ifndef GC_LANG_ONNX_EXPORT_H
#define GC_LANG_ONNX_EXPORT_H
#include "lang/onnx/elem.h"
#include "lang/onnx/onnx.h"
#include "onnx.pb-c.h"

typedef VEC(Onnx__NodeProto *) Nodes;

typedef struct Initializer {
  const char *name;
  int global;
} Initializer;

typedef struct ExportValue { /* an input or output of the graph */
  const char *name;
  const Type *type;
} ExportValue;
typedef VEC(ExportValue) ExportValues;

/* Ops of one kind without a counterpart. */
typedef struct Missing {
  OpKind kind;
  const char *why;
  Loc first;
  int count;
} Missing;

struct OnnxExport {
  Ctx *c;
  Arena *a;
  Module *m;
  Entry *e;
  const OnnxWeights *weights;
  const char **name;      /* by value: what holds it; NULL: nothing yet */
  const char **wanted;    /* by value: the output that it is */
  const char **of_global; /* by global: what holds its value at entry */
  uint32_t *uses;         /* by value */
  Map taken;              /* names */
  Map made;               /* constants, by their text: index in constants */
  Nodes constants;        /* before all other nodes */
  Nodes extents;          /* behind them: run-time extents, as lists of one number */
  const char *extent[ENTRY_EXTENTS];
  Nodes top, *nodes;     /* of the graph; of the graph that is being made: it, or a loop's body */
  Onnx__NodeProto *last; /* that an op's function has added */
  const Op *op;          /* whose nodes are added */
  VEC(Initializer) initializers;
  ExportValues inputs, outputs;
  VEC(Missing) missing;
  const char *external; /* the file of the initializers' data; NULL: they are in the model */
};
typedef struct OnnxExport Export;

/* ---- export_nodes.c ---- */
const char *unique_name(Export *x, const char *wish);
const char *emit_node(Export *x, const char *op, int n, const char *const *in);
#define EMIT(x, op, ...)                                                                           \
  emit_node(x, op, (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(const char *)),            \
            (const char *[]){__VA_ARGS__})
/* One more output of the last node. */
const char *emit_output(Export *x);
/* Attributes of the last node. */
void put_int(Export *x, const char *name, int64_t v);
void put_real(Export *x, const char *name, double v);
void put_ints(Export *x, const char *name, const int64_t *at, int n);
void put_string(Export *x, const char *name, const char *v);
void put_graph(Export *x, const char *name, const Onnx__GraphProto *g);

const char *scalar(Export *x, Dtype dt, Attr v);
const char *scalar_of(Export *x, Dtype dt, double v);
const char *int_list(Export *x, const int64_t *at, int n); /* i64[n] */
const char *one_int(Export *x, int64_t v);                 /* i64[1] */
const char *cast(Export *x, const char *v, Dtype dt);
const char *transposed(Export *x, const char *v, const int64_t *perm, int n);
const char *unsqueezed(Export *x, const char *v, int64_t axis);
const char *squeezed(Export *x, const char *v, int64_t axis);
const char *dim_as_list(Export *x, const Type *t, int axis);
const char *reshape_to(Export *x, const char *v, const Type *t);
const char *expand_to(Export *x, const char *v, const Type *t);
/* 0, 1, … along an axis of the type, as i64 of one axis */
const char *range_of(Export *x, const Type *t, int axis);
Onnx__ValueInfoProto *value_info(Export *x, const char *name, const Type *t);
int elem_of_dtype(Dtype dt);
static inline bool is_small(Dtype dt) { return dtype_is_byte(dt) && dt != DT_BOOL; }

/* ---- export.c ---- */
const char *value_of(Export *x, ValueId v);
static inline const char *operand_of(Export *x, const Op *op, int i) {
  return value_of(x, op->operands[i]);
}
static inline const Type *operand_type(const Export *x, const Op *op, int i) {
  return value_type(x->e, op->operands[i]);
}
static inline const char *converted(Export *x, const Op *op, int i, Dtype dt) {
  const char *v = operand_of(x, op, i);
  return operand_type(x, op, i)->dtype == dt ? v : cast(x, v, dt);
}
static inline const Type *result_type(const Export *x, const Op *op, int i) {
  return value_type(x->e, op->results[i]);
}
static inline bool result_used(const Export *x, const Op *op, int i) {
  return x->uses[op->results[i]] > 0;
}
void result_is(Export *x, const Op *op, int i, const char *name); /* a result behind the first */
const char *without_counterpart(Export *x, const Op *op, const char *why); /* NULL */
void ops_export(Export *x, const Block *b);

typedef const char *ExportFn(Export *x, const Op *op, const char *onnx);
#define EXPORT(kind, fn, onnx) ExportFn fn;
#include "lang/onnx/export.def"
#undef EXPORT
#endif
