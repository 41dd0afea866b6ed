/* Where weights are read from: a safetensors file, or a folder of published weights with one or
   several of them (the parts that model.safetensors.index.json lists, or model.safetensors, or
   PEFT's adapter_model.safetensors), and
   how a tensor in it becomes a global's: by its path or its name there, transposed, converted.
   Contract: nothing of the data is read before weights_piece. */
#ifndef GCRT_WEIGHTS_SOURCE_H
#define GCRT_WEIGHTS_SOURCE_H
#include "runtime/weights/safetensors.h"

typedef struct WeightsPart {
  char *path; /* malloc'ed */
  File file;
  SafeTable table;
} WeightsPart;
typedef struct WeightsSource {
  const char *path; /* as the user wrote it */
  WeightsPart *part;
  int n;
  bool published; /* gc did not write it: floats of another dtype are converted; those of states are
                     in any file */
} WeightsSource;
bool weights_open(WeightsSource *s, const char *path, Err *e);
bool weights_open_own(WeightsSource *s, Err *e);
void weights_close(WeightsSource *s);

typedef struct WeightsTensor {
  const WeightsPart *part;
  const SafeEntry *entry;
  bool transposed; /* the file has [columns, rows] */
  bool floats;     /* of a quantized global: to be quantized */
} WeightsTensor;
/* The tensor of a global. In a source of what lies below `scope` alone the scope may be left out;
   NULL: all. */
bool weights_find(const WeightsSource *s, const GcGlobal *g, const char *scope, WeightsTensor *out);
/* Dtype and shape are the global's, or can become so. A state may have been narrowed by
   --precision, in this program or in the one that wrote the file; exact: that counts, as in a
   checkpoint, whose bits are summed. */
bool weights_fits(const WeightsSource *s, const WeightsTensor *x, const GcGlobal *g, bool exact,
                  Err *e);

/* What is done with elements [at, at + n) of t, in its own dtype and logical order. */
typedef bool WeightsPiece(void *to, const GcTensor *t, uint64_t at, uint64_t n, const void *data,
                          Err *e);
enum { WEIGHTS_ROWS = 256 }; /* that pieces of a transposed matrix come from, one after the other */
/* All elements of the global's tensor, piece by piece, through a stage of STAGE_BYTES: in order,
   but of a matrix that is transposed so many rows at a time. */
bool weights_pieces(const WeightsTensor *x, const GcTensor *t, uint8_t *stage, WeightsPiece *piece,
                    void *to, Err *e);
/* The same of a global whose tensor is to be quantized, in pieces of whole rows. */
bool weights_quantize(const WeightsTensor *x, const GcGlobal *g, uint8_t *stage,
                      WeightsPiece *piece, void *to, Err *e);
#endif
