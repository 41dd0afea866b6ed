/* Constants in the text of a kernel: numbers that choose no path, as the key of random numbers or a
   factor. Kernels that differ in constants alone have one form, and may be one kernel that takes
   them as parameters. Contract: a text with marked constants is no source yet; equal marked texts
   are equal kernels. */
#ifndef GC_CODEGEN_CONSTANT_H
#define GC_CODEGEN_CONSTANT_H
#include "codegen/text/scalar.h"

enum { MOST_CONSTANTS = 16 }; /* of a form; those behind stay literals */
typedef struct Constants {
  int n;
  uint64_t bits[MOST_CONSTANTS]; /* in the order in which a text names them, each once */
} Constants;

/* The literal, marked; type: "f32", "f64", "i32", "i64", "u64". */
const char *constant_mark(Arena *a, const char *type, uint64_t bits, const char *literal);
/* A literal of the dtype, marked unless it is no finite number. */
const char *constant_scalar(Arena *a, Dtype dt, Attr value);
/* The text without the values of its constants, which are put into *out. */
const char *constants_form(Arena *a, const char *text, Constants *out);
/* The source: constant i is constant_f32(constant3) if parameter[i] is 3, and a literal if it is
   negative, or if parameter is NULL. */
const char *constants_source(Arena *a, const char *text, const int *parameter);
#endif
