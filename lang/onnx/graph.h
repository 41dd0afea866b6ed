/* A graph on its way from ONNX to a program's text: values with types and shapes, nodes, and what
   the translation of an operator is written with.
   Contract: a function of an operator reads the node's inputs, and gives each output a type, a
   shape and an expression; or refuses, with the reason. Shapes are numbers, or multiples of a
   bounded dimension and more; memory is the context's. */
#ifndef GC_LANG_ONNX_GRAPH_H
#define GC_LANG_ONNX_GRAPH_H
#include "ir/support/ctx.h"
#include "ir/support/map.h"
#include "lang/onnx/elem.h"
#include "lang/onnx/onnx.h"
#include "onnx.pb-c.h"

/* ---- shapes ---- */
enum { MOST_RANK = 16, MOST_SYMBOLS = 16, MOST_FACTORS = 4, MOST_KNOWN = 1 << 16 };
typedef struct Axis {
  int64_t n;    /* a number, or so many times the symbol */
  int symbol;   /* 0: a number; else Import.symbols[symbol - 1] */
  int64_t more; /* than so many times the symbol; of a number 0 */
  int counted;  /* 0: all of them are there; else the number is Import.counts[counted - 1] */
} Axis;
typedef struct Shape {
  int rank;
  Axis at[MOST_RANK];
} Shape;
typedef struct Symbol { /* a dimension, a product of some, or a sum that is a factor of products */
  const char *name, *wish; /* in the program; as -D names it */
  int64_t bound;
  int64_t times;                       /* of it are the dimension that -D names */
  int factors[MOST_FACTORS], nfactors; /* symbols that it is the product of; 0: of none */
  Axis sum;                            /* that it is; n 0: it is none */
  const char *first; /* a dimension of the def's inputs that has it, `of`; NULL: it stands alone */
  Axis of;
} Symbol;

typedef struct Tensor Tensor;
/* (q - zero) * scale. */
typedef struct Quantized {
  Tensor *q, *scale, *zero; /* zero NULL: 0 */
  int64_t axis;             /* of scales and zero points; < 0: from the last one */
} Quantized;

typedef struct Scores Scores; /* see attention.c */
typedef struct List {         /* of values: a sequence */
  Tensor **at;
  int n;
} List;

struct Tensor {
  const char *wish; /* its name in the graph */
  const char *name; /* the variable that holds it; NULL: none yet */
  int type;         /* ElemType */
  Shape shape;
  const Number *known; /* its elements; NULL: see known_of */
  const Number *sizes; /* the same where some are numbers of rows that the data decide; or NULL */
  const Onnx__TensorProto *tensor; /* of the file; NULL: none */
  const char *path;      /* of the param or state that is to hold it; NULL: a variable's name */
  const char *input;     /* of the graph, the first that it is made of; NULL: of none */
  bool trained, missing; /* missing: its node was refused */
  bool counts;           /* iterations: it is not negative */
  int64_t below;         /* ... and below this */
  bool ranges;           /* it is 0, 1, … */
  const List *list;      /* NULL: it is a tensor; else it is none */
  const Quantized *quantized; /* what it is of; NULL: not behind DequantizeLinear */
  const Scores *scores;       /* of attention, on their way; NULL: not known to be some */
};

typedef struct Import Import;
typedef struct Node {
  Import *im;
  const Onnx__NodeProto *p;
  const char *op;
  int version; /* of its operator set */
  Tensor **in; /* NULL: left out */
  int nin;
  Tensor **out; /* NULL: nobody wants it */
  int nout;
} Node;

/* One that was refused, and why. */
typedef struct Refusal {
  const char *op, *why, *node;
} Refusal;

typedef struct Statement {
  const char *text; /* "x = relu(y)" */
  const char *note; /* the operator and the node's name */
  int block;        /* loops around it */
} Statement;

/* A tensor that becomes a param or state. */
typedef struct Weight {
  const char *path;    /* "layer1.0.conv1.weight" */
  const char *name;    /* the variable */
  const Tensor *value; /* of a tensor, or of known numbers */
  bool trained;
} Weight;

typedef struct Output {
  const char *name; /* in the graph */
  const char *text;
  const Tensor *tensor;
} Output;

typedef struct Chosen { /* rows that a condition chooses */
  const char *ids;
  int count;
} Chosen;

enum { NAME_FUNCTION, NAME_WORD, NAME_VARIABLE };

struct Import {
  Ctx *c;
  Arena *a;
  const char *path;  /* of the file */
  const char *def;   /* the name of the graph as a function */
  bool used;         /* by a program: the def alone */
  const char *train; /* LOSS[:OUTPUT][,OPTIMIZER] of --train-onnx; NULL: no entry trains */
  Loc at;            /* of the use */
  const Onnx__ModelProto *model;
  const OnnxDim *dims;
  int ndims;
  Symbol symbols[MOST_SYMBOLS];
  int nsymbols;
  Map values;               /* by interned name: index in value */
  Map names, paths;         /* that are taken; of names NAME_… */
  Map numberless;           /* dimensions that -D should have given a number, and that was said */
  Map next_name, next_path; /* the number to try behind a name that is taken */
  Map needed;               /* names of values that an output depends on */
  Map initializers;         /* names of the graph's */
  Map statistics;           /* names of running means and variances */
  Map scores, others; /* names of what is added to what softmaxes read; of what else is read */
  Map module;         /* names of parameters, buffers and constants: see signature.c */
  VEC(const char *) parameters;
  Map modules;   /* paths of those with parameters */
  Map separated; /* names of parameters that got a tensor of their own */
  Map reader_of; /* by name of what the first node reads: its module's index */
  VEC(const char *) reader_modules;
  Map computed;             /* names of tensors that may be computed of parameters */
  Map readers;              /* by name: how often nodes of the graph read it */
  Map read_within;          /* names of what graphs within nodes read */
  Map dim_names;            /* of symbolic dimensions: index in dim_of */
  VEC(const char *) dim_of; /* what the graph calls them */
  VEC(Tensor *) value;
  VEC(Statement) statements;
  VEC(Weight) weights;
  VEC(Tensor *) inputs;
  VEC(Output) outputs;
  VEC(const char *) counts; /* variables of the program: see counted.c */
  Map count_of, rows_of;    /* by what it is of: Axis.counted; the rows' place in `chosen` */
  VEC(Chosen) chosen;
  const char *counting; /* a bool of the program: what stands here has an effect; NULL: it has */
  VEC(Refusal) refused;
  const char *note; /* of the statements to come */
  int depth;        /* of functions around the node */
  int block;        /* loops around it */
  uint32_t nodes;   /* that were taken, each as often as it is called */
  bool failed;      /* a diagnostic was given */
};

/* ---- read.c ---- */
/* NULL after a diagnostic. */
const Onnx__ModelProto *model_read(Ctx *c, const char *path, Loc at, bool *unreadable);

/* ---- tensor.c: the elements of tensors ---- */
/* Elements of a shape without symbols; false: it has some, or too many. */
bool shape_count(const Shape *s, uint64_t *out);
/* Reads a tensor's type and shape. False after refusing, with the reason in *why. */
bool tensor_type(Import *im, const Onnx__TensorProto *t, int *type, Shape *s, const char **why);
/* All elements as numbers; NULL with the reason in *why. */
Number *tensor_numbers(Import *im, const Onnx__TensorProto *t, const char **why);
/* The bytes of elements [at, at + n) as gc stores the type; false with the reason in *why. */
bool tensor_bytes(Import *im, const Onnx__TensorProto *t, uint64_t at, uint64_t n, void *out,
                  const char **why);
bool tensor_check(Import *im, const Onnx__TensorProto *t, const char **why); /* data is there */

/* ---- value.c ---- */
Tensor *value_new(Import *im, int type, const Shape *s);
Tensor *value_named(Import *im, const char *name); /* of the graph; NULL: there is none */
void value_put(Import *im, const char *name, Tensor *v);
void value_drop(Import *im, const char *name); /* behind the graph that it is of */
/* Its elements; NULL: they are not known when gc compiles. */
const Number *known_of(Import *im, Tensor *v);
bool is_one_number(Import *im, Tensor *v, Number *out); /* all elements are equal */
static inline bool is_float(const Tensor *v) { return elem_of(v->type)->is_float; }
void names_reserve(Import *im);                     /* words and functions of the language */
const char *name_new(Import *im, const char *wish); /* a variable's */
const char *path_new(Import *im, const char *wish); /* a param's: "layer1.0.weight" */

Shape shape_of(int rank, const int64_t *dims);
bool is_empty(const Shape *s); /* it has an axis of 0 elements: the value is known */
bool dim_same(Axis a, Axis b);
bool shape_same(const Shape *a, const Shape *b);
/* numpy's broadcasting; false: they do not fit. */
bool shapes_broadcast(const Shape *a, const Shape *b, Shape *out);
bool dim_product(const Shape *s, int from, int to,
                 Axis *out); /* false: of two symbols, or counted */
const char *dim_text(Import *im, Axis d);
const char *shape_text(Import *im, const Shape *s); /* "[n, 3, 224]" */

/* ---- dims.c: false: there is no answer for every extent ---- */
Axis axis_of_number(Number x);
Number number_of_axis(Axis d);
bool dim_add(Axis a, Axis b, int sign, Axis *out); /* a + sign * b */
bool dim_times(Axis a, Axis b, Axis *out);
bool dim_over(Axis a, Axis b, Axis *out);             /* without a rest */
bool dim_join(Import *im, Axis a, Axis b, Axis *out); /* their product, also of several symbols */
/* The dimensions that one is the product of, at most MOST_FACTORS + 1: a sum is itself. */
int dim_factors(Import *im, Axis d, Axis *out);
/* The number of a's elements over that of b's. */
bool shape_over(Import *im, const Shape *a, const Shape *b, Axis *out);
/* The least and the most that a - b can be. */
bool dim_apart(Import *im, Axis a, Axis b, int64_t *least, int64_t *most);
bool dim_at_least(Import *im, Axis a, Axis b);

/* ---- node.c: what functions of operators are written with ---- */
bool refuse(Node *n, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *text(Node *n, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* An input as an operand: a variable. */
const char *tensor_text(Node *n, Tensor *v);
/* The same; a number where one element meets a tensor of at least its rank. */
const char *operand(Node *n, Tensor *v, const Tensor *other);
const char *number_text(Import *im, int type, Number x);
const char *real(Node *n, double x);
const char *ints_text(Node *n, const int64_t *at, int count); /* "[1, 2]" */
const char *let(Node *n, const char *expression);             /* a variable for it */
/* Variables for both results of an expression. */
void let_two(Node *n, const char *expression, const char **a, const char **b);
/* Rows along an axis of x, of this rank, at ids of rank `more`. */
const char *gathered(Node *n, const char *x, int rank, int axis, const char *ids, int more);
/* reshape(x, s) */
const char *reshaped(Node *n, const char *x, const Shape *s);
/* 0, 1, … along one axis of a tensor of this rank */
const char *along(Node *n, int64_t count, int axis, int rank);
const char *along_dim(Node *n, Axis count, int axis, int rank);
static inline Tensor *input(const Node *n, int i) { return i < n->nin ? n->in[i] : NULL; }
static inline Tensor *output(const Node *n, int i) { return i < n->nout ? n->out[i] : NULL; }

/* Output i is this expression; true. */
bool give(Node *n, int i, int type, const Shape *s, const char *expression);
/* Output i is another value in this shape; true. */
bool give_same(Node *n, int i, Tensor *v);
bool give_known(Node *n, int i, int type, const Shape *s, const Number *at);

/* Attributes, or what holds if they are not there. */
int64_t attr_int(const Node *n, const char *name, int64_t otherwise);
double attr_real(const Node *n, const char *name, double otherwise);
const char *attr_string(const Node *n, const char *name, const char *otherwise);
const Onnx__AttributeProto *attr_of(const Node *n, const char *name);
/* A list of integers: false: there is none. At most MOST_RANK * 2. */
bool attr_ints(const Node *n, const char *name, int64_t *at, int *count);
/* Integers from an input, which gc must know when it compiles, or from an attribute of older
   versions. *count is -1 where neither is there. False after refusing. */
bool known_ints(Node *n, int in, const char *attribute, int64_t *at, int most, int *count);
bool known_int(Node *n, int in, int64_t *out);
const Number *known_input(Node *n, int in); /* NULL after refusing */
/* The dims of a shape that is an input, bounded ones included. */
bool known_shape(Node *n, int in, Shape *s);
/* The same of a list of at most MOST_RANK numbers, or of an attribute; *count as of known_ints. */
bool known_dims(Node *n, int in, const char *attribute, Axis *at, int *count);
/* An axis counted from the front; false after refusing. */
bool axis_from(Node *n, int64_t axis, int rank, int *out);
/* A dim as a number; false after refusing. */
bool dim_number(Node *n, Axis d, int64_t *out);
bool shape_numbers(Node *n, const Tensor *v, int64_t *at);

/* ---- integers.c ---- */
/* The sums of the products of integers without their zero points, of type f32 or i32, and their
   shape; transposed: the right matrix lies as [columns, depth]. NULL: floats are to be multiplied.
 */
const char *onnx_product_of_integers(Node *n, const Quantized *x, const Quantized *w,
                                     bool transposed, int type, Shape *s);
/* The same times both scales, of two values behind DequantizeLinear, as f32. */
const char *onnx_product_of_quantized(Node *n, const Tensor *a, const Tensor *b, bool transposed,
                                      Shape *s);

/* ---- shared by families of operators ---- */
/* One number for each channel, as [C, 1, …] with so many ones. */
const char *per_channel(Node *n, Tensor *v, int spatial);
/* Indices from 0 on, of an axis of this size, as gc takes them. */
const char *positive(Node *n, Tensor *ids, Axis size);

/* ---- counted.c: axes of which the data decide how many elements there are ---- */
bool axis_is_counted(const Shape *s, int from, int to);
bool tensor_is_counted(const Tensor *v);
int count_new(Node *n, const char *expression); /* Axis.counted, of an i32 */
const char *rows_text(const Import *im, Axis d);
/* The places of the elements of a list of bools that are true, and how many there are. */
const char *chosen(Node *n, const char *flags, int64_t most, int *count);
/* The elements of an axis of a tensor of this shape that there are, as bools of its rank. */
const char *rows_there(Node *n, const Shape *s, int axis);
/* x, a tensor of this shape, with a number in the place of rows that are not there, of these axes.
 */
const char *rows_filled(Node *n, const char *x, int type, const Shape *s, const bool *axes,
                        const char *number);
const char *lowest_text(int type); /* no element is less */
const char *highest_text(int type);
/* Concat along an axis of which the data decide how many elements some of the inputs have. */
bool concat_counted(Node *n, int axis);

/* ---- counted_sizes.c: numbers of rows in arithmetic of shapes ---- */
/* Output 0 is a list, or one number. */
bool give_sizes(Node *n, const Shape *s, const Number *at);
bool fold_sizes(Node *n);                         /* as fold_node */
const char *sizes_text(Node *n, const Tensor *v); /* as the run has them */
/* One number, or one of rows; false after refusing. */
bool known_size(Node *n, int in, Axis *out);
/* The number of elements of a shape; false after refusing. */
bool counted_elements(Node *n, const Shape *s, int64_t *count);
/* Compress of input 0, as x of this shape, by a condition that the run computes. */
bool compress_computed(Node *n, const char *x, const Shape *from, int axis);

/* ---- fold.c ---- */
/* Computes a node whose inputs are known. False: it is left to be translated. */
bool fold_node(Node *n);
bool fold_reads_shape(const Node *n); /* Shape or Size: known where the input's type is */

/* ---- fold_moves.c ---- */
bool fold_concat(Node *n);
bool fold_transpose(Node *n);
bool fold_expand(Node *n);
bool fold_gather(Node *n);
bool fold_nonzero(Node *n);
bool fold_constant_of_shape(Node *n);
bool fold_range(Node *n);
/* Output 0 of known numbers: element [i, j, …] is element start + i * stride[0] + j * stride[1] …
   of input 0. False: too many. */
bool fold_strided(Node *n, const Shape *s, const int64_t *stride, int64_t start);
void strides_of(const Shape *s, int64_t *stride); /* row-major */

/* ---- operators.c ---- */
typedef bool OperatorFn(Node *n);
typedef struct Operator {
  const char *name;
  OperatorFn *translate;
  int least, most; /* inputs */
} Operator;
/* Of ONNX, "" or "ai.onnx", or a contrib operator of ONNX Runtime; NULL: there is none. */
const Operator *operator_named(const char *domain, const char *name);
bool takes_lists(const char *name); /* of sequences */
/* Of the rows of its inputs whose number the data decide, the node reads none that is not there, or
   none of them matters; indices behind the rows become 0. False after refusing. counted.c */
bool counted_readable(Node *n, const Operator *op);
bool is_contrib(const char *domain);
const char *operator_missing(const char *name); /* why there is none */
const char *operator_hint(const char *why);     /* what to do then; NULL: nothing is known */
#define OPERATOR(name, fn, least, most) OperatorFn fn;
#include "lang/onnx/contrib.def"
#include "lang/onnx/operators.def"
#undef OPERATOR

/* ---- print.c ---- */
struct OnnxProgram {
  Import *im;
  const char *text;
  size_t n;
};
#endif
