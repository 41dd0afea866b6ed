/* Models of ONNX. Import: a file becomes the text of a program in gc's own language and a file of
   weights; the text then goes the way of every program. Export: an inference entry becomes a file.
   Contract: the text holds `def net`, with one statement for each node of the graph, and `entry
   predict`, which calls it; tensors of the file are params and states of net, by their names as
   paths. Memory is the context's. Sources: the schema and the operators' specification of
   https://github.com/onnx/onnx, opsets 7 and later. */
#ifndef GC_LANG_ONNX_H
#define GC_LANG_ONNX_H
#include "ir/ir.h"

typedef struct OnnxProgram OnnxProgram;

/* -D: a symbolic dimension of the graph as a number, or with a bound on what a run decides. */
typedef struct OnnxDim {
  const char *name;
  int64_t n; /* a multiple of `times` */
  bool bounded;
  int64_t times; /* runs have multiples of it */
} OnnxDim;

/* train: LOSS[:OUTPUT][,OPTIMIZER], by which `entry train` trains it; or NULL. NULL after a
   diagnostic; *unreadable: the file could not be read at all. */
const OnnxProgram *onnx_import(Ctx *c, const char *path, const OnnxDim *dims, int ndims,
                               const char *train, bool *unreadable);
/* What is wrong with such a text; NULL: nothing. */
const char *onnx_train_wrong(Ctx *c, const char *text);
/* The def alone, by a name, for a program that uses it: its params and states are read `from` names
   that begin with the def's. at: the place of the use. NULL after a diagnostic there. */
const OnnxProgram *onnx_import_def(Ctx *c, const char *path, const char *name, const OnnxDim *dims,
                                   int ndims, Loc at);
const char *onnx_text(const OnnxProgram *p, size_t *n);
bool onnx_has_weights(const OnnxProgram *p);
/* Writes those of several models, of one kind of import, as safetensors. False after a diagnostic,
   or with a write error in f. */
bool onnx_write_weights(const OnnxProgram *const *p, int n, FILE *f);

/* ---- export ---- */

/* The elements of a param or state in a file of the user's. */
typedef struct OnnxTensor {
  Dtype dtype;     /* floats may have another one than the global */
  bool transposed; /* [columns, rows] */
  void *bytes;     /* malloc'ed */
} OnnxTensor;
/* Its elements in the dtype and order of a t. */
void onnx_elements(const Type *t, const OnnxTensor *from, uint8_t *out);
typedef struct OnnxWeights {
  void *data;
  /* False after a diagnostic; bytes are NULL where the file has none: it keeps its initial value.
   */
  bool (*read)(void *data, const Global *g, OnnxTensor *out);
} OnnxWeights;

typedef struct OnnxExport OnnxExport;
enum { ONNX_LARGEST = INT32_MAX }; /* bytes of a file: what protobuf reads */

/* An entry as a graph. `entry` may be NULL: the entry predict, or the only one that does not train.
   NULL after a diagnostic. The entry's ops are folded. */
OnnxExport *onnx_export(Module *m, const char *entry, const OnnxWeights *weights);
/* Bytes of its params and states. */
uint64_t onnx_bytes(const OnnxExport *x);
/* They are to lie in a file of this name beside the model. */
void onnx_external(OnnxExport *x, const char *name);
/* Each: false after a diagnostic, or with a write error in f. */
bool onnx_write_data(OnnxExport *x, FILE *f); /* that file; before the model */
bool onnx_write(OnnxExport *x, FILE *f);
#endif
