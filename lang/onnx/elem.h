/* Element types of ONNX, how gc holds them, and single elements. Little-endian, as ONNX and
   safetensors are. */
#ifndef GC_LANG_ONNX_ELEM_H
#define GC_LANG_ONNX_ELEM_H
#include <stdbool.h>
#include <stdint.h>

/* Those of TensorProto.DataType. */
typedef enum ElemType {
  ELEM_NONE = 0,
  ELEM_F32 = 1,
  ELEM_U8 = 2,
  ELEM_I8 = 3,
  ELEM_U16 = 4,
  ELEM_I16 = 5,
  ELEM_I32 = 6,
  ELEM_I64 = 7,
  ELEM_BOOL = 9,
  ELEM_F16 = 10,
  ELEM_F64 = 11,
  ELEM_U32 = 12,
  ELEM_U64 = 13,
  ELEM_BF16 = 16,
  ELEM_TYPES = 32
} ElemType;
typedef struct ElemInfo {
  const char *onnx; /* "float"; NULL: not read */
  const char *gc;   /* dtype that holds its values; NULL: none */
  const char *safe; /* of that dtype in safetensors */
  int bytes;        /* in a file of ONNX */
  int size;         /* in gc */
  bool is_float;
  double low, high; /* of integers */
} ElemInfo;
extern const ElemInfo elem_types[ELEM_TYPES];
static inline const ElemInfo *elem_of(int type) {
  return &elem_types[type > 0 && type < ELEM_TYPES ? type : 0];
}

/* An element that is known when gc compiles. */
typedef struct Number {
  double f;  /* of a float */
  int64_t i; /* of an integer or bool; times the symbol */
  int symbol;
  int64_t more; /* what a bounded dimension has more than so many times its symbol */
  int counted;  /* not 0: a number of rows, i at most: Import.counts[counted - 1] */
} Number;

void number_put(int type, Number x, void *out); /* as gc stores the type */
Number number_get(int type, const uint8_t *p);  /* as a file of ONNX has it */
Number number_fit(int type, Number x);          /* as the type has it: rounded, or wrapped around */
#endif
