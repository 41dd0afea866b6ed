/* Between the way through a graph (import.c) and what is printed of it (print.c). */
#ifndef GC_LANG_ONNX_IMPORT_H
#define GC_LANG_ONNX_IMPORT_H
#include "lang/onnx/graph.h"

/* ---- symbols.c: false after a diagnostic ---- */
/* The dimension of an axis of an input, as the graph calls it. */
bool symbol_of_input(Import *im, const char *dim, const char *input, size_t axis, Axis *out);
bool symbols_check(Import *im); /* each -D names one */
/* ---- */
/* Nodes of the graph, or of one within a node, in their order. False after a diagnostic. */
bool nodes_add(Import *im, Onnx__NodeProto *const *at, size_t n, int version);
int64_t version_of(size_t n, Onnx__OperatorSetIdProto *const *at, const char *domain);
/* Tensors of a graph, those that are needed. False after a diagnostic. */
bool tensors_add(Import *im, const Onnx__GraphProto *g);
void name_enter(Import *im, Map *names, const char *name);
bool name_is_in(const Import *im, const Map *names, const char *name);

/* A string that the file may not have. */
static inline const char *or_empty(const char *s) { return s ? s : ""; }

/* Refuses the model; false. */
bool import_fail(Import *im, const char *what);
#define FAIL(im, ...) import_fail(im, arena_printf((im)->a, __VA_ARGS__))

/* ---- subgraphs.c ---- */
/* A node that stands for others: If, where gc knows the condition, or a function of the model.
 *done: it was one. False after a diagnostic. */
bool subgraph_inline(Node *n, bool *done);
/* The graph in an attribute; NULL: there is none. */
const Onnx__GraphProto *subgraph_of(Node *n, const char *attribute);
void nodes_drop(Import *im, const Onnx__GraphProto *g); /* what its nodes name */
void graph_drop(Import *im, const Onnx__GraphProto *g); /* its tensors, too */
void statement_add(Import *im, const char *text);
/* ---- loops.c: false after a diagnostic; what cannot be imported is refused ---- */
bool onnx_scan(Node *n);
bool onnx_loop(Node *n);
/* ---- unrolled.c ---- */
/* At most so many iterations. False after refusing; *ok is false after a diagnostic. */
bool onnx_loop_unrolled(Node *n, const Onnx__GraphProto *g, int64_t trips, bool *ok);
bool onnx_sequence_map(Node *n, bool *ok);
/* What the graphs within a node, and the functions of the model, compute and read. */
void subgraph_needs(Import *im, const Onnx__NodeProto *p, Map *names);
void functions_need(Import *im);

/* ---- trained.c ---- */
/* Of the nodes that an output needs, from the last one on. */
void trained_mark(Import *im, const Onnx__NodeProto *p);
bool tensor_is_trained(Import *im, const char *name, const Onnx__TensorProto *t, const Shape *s);
/* ---- signature.c ---- */
void signature_read(Import *im); /* before any name of the graph is entered */
void signature_mark(Import *im, const Onnx__NodeProto *p); /* of a node that an output needs */
bool signature_trains(const Import *im, const char *name); /* true where it says nothing */
/* With the module that reads it in front, where the exporter gave a tensor no path. */
const char *signature_path(const Import *im, const char *name);
/* Whose a tensor of the file is, as far as the exporter says: a parameter of the module, or
   computed of some by the exporter. */
typedef enum TensorOrigin { TENSOR_UNKNOWN, TENSOR_OF_MODULE, TENSOR_COMPUTED } TensorOrigin;
TensorOrigin signature_origin(const Import *im, const char *name);
/* ---- tied.c ---- */
void tied_join(Import *im); /* behind signature_read */
/* ---- attention.c ---- */
void readers_count(Import *im, const Onnx__NodeProto *p); /* of a node that an output needs */
/* Notes whether output 0 are scores of attention, of a node that was translated. */
void scores_follow(Node *n);
/* Translates a product of weights and values as attention; false: it is another node. */
bool attention_of_scores(Node *n);
/* ---- train.c ---- */
typedef struct Train { /* of the entry that trains */
  int output;
  const char *read;   /* what the loss reads: the output, or its axis of classes moved behind */
  const char *call;   /* the loss, a format of two strings: the output and the target */
  const char *target; /* its type */
  const char *flat;   /* the shape that the loss reads it in; NULL: its own */
  const char *optimizer;
} Train;
bool train_find(Import *im, Train *t); /* false after a diagnostic */

/* The text of the program and its weights; NULL after a diagnostic. */
const OnnxProgram *print_program(Import *im, int64_t version);
#endif
