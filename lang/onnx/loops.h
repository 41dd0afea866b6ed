/* A loop of the program that a node with a body becomes: what its operators say of it
   (loop_operators.c), and how it is written (loops.c). */
#ifndef GC_LANG_ONNX_LOOPS_H
#define GC_LANG_ONNX_LOOPS_H
#include "lang/onnx/import.h"

typedef struct Loop {
  Node *n;
  const Onnx__GraphProto *g;
  int carries, slices, stacks; /* inputs of the graph, in this order; outputs but for slices */
  int first_in, first_out;     /* of the graph's, before the carries */
  int node_in;                 /* the node's input that is the first carry */
  Axis trips;                  /* a number, or a multiple of a bounded dimension */
  const int64_t *in_back, *out_back, *in_axis, *out_axis; /* by slice, by stack */
  const char *k;                                          /* the induction variable */
  const char **carry;
  const char *first_condition; /* what the run computes; NULL: it is true */
  const char *going;           /* the variable that holds it, which the body may name */
  const char *condition;       /* the same; NULL: gc knows that it stays true */
  uint32_t before;             /* the statement that is to give it its first value */
} Loop;

/* Writes the loop; `extra` binds what else the body sees, `ends` takes what else it gives. False
   after a diagnostic; what cannot be imported is refused. */
bool loop_add(Loop *l, void (*extra)(Loop *), bool (*ends)(Loop *, const char **));
/* A value that the body sees under a name of its graph. */
Tensor *loop_bind(Loop *l, const char *graph_name, int type, const Shape *s, const char *variable);
/* The number of the iteration, as an element of this type; k: the expression for it. */
void loop_counter_bind(Loop *l, const char *name, int type, const char *k);
const char *loop_variable(Node *n, const char *wish, const char *expression);
Tensor *loop_result(const Loop *l, int i); /* of the body; NULL after refusing */
/* False after refusing: a loop of the program does not make so many iterations. */
bool trips_take(Node *n, Axis d, Axis *out);
bool outputs_miss(Node *n); /* its outputs are those of a refused node; true */
const char *loop_input_name(const Loop *l, int i);
#endif
