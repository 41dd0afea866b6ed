/* Import of ONNX models: a file becomes the text of a program in gc's own language and a file of
   weights; the text then goes the way of every program.
   Contract: the text holds `def net`, with one statement for each node of the graph, and `entry
   predict`, which calls it; tensors of the file are params and states of net, by their names as
   paths. Memory is the context's. Sources: the schema and the operators' specification of
   https://github.com/onnx/onnx, opsets 7 and later. */
#ifndef GC_LANG_ONNX_H
#define GC_LANG_ONNX_H
#include "ir/support/ctx.h"

typedef struct OnnxProgram OnnxProgram;

/* -D: a symbolic dimension of the graph as a number, or with a bound on what a run decides. */
typedef struct OnnxDim {
  const char *name;
  int64_t n;
  bool bounded;
} OnnxDim;

/* NULL after a diagnostic; *unreadable: the file could not be read at all. */
const OnnxProgram *onnx_import(Ctx *c, const char *path, const OnnxDim *dims, int ndims,
                               bool *unreadable);
const char *onnx_text(const OnnxProgram *p, size_t *n);
bool onnx_has_weights(const OnnxProgram *p);
/* Writes them as safetensors. False after a diagnostic, or with a write error in f. */
bool onnx_write_weights(const OnnxProgram *p, FILE *f);
#endif
