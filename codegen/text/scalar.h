/* Scalars in generated source: C types, literals, loads and stores of each dtype. */
#ifndef GC_CODEGEN_SCALAR_H
#define GC_CODEGEN_SCALAR_H
#include "ir/ir.h"

const char *
dtype_storage(Dtype dt); /* "float", "uint16_t" for f16 and bf16, "uint8_t" for bool, … */
const char *dtype_enum(Dtype dt);    /* as gcrt.h names it: "GC_F32" */
const char *dtype_compute(Dtype dt); /* "float" for f16 and bf16, else the storage */
/* The prefix of functions: FN(exp) of f32, f16 and bf16 is f32_exp; of i32 i32_…; bool is u8. */
const char *dtype_prefix(Dtype dt);
const char *scalar_literal(Arena *a, Dtype dt, Attr v); /* "0.5f", "3", "INFINITY" */
/* "in0[i]" or "f16_to_f32(in0[i])"; and "x" or "f32_to_f16(x)" */
const char *scalar_load(Arena *a, Dtype dt, const char *base, const char *index);
const char *scalar_store(Arena *a, Dtype dt, const char *value);
/* The same of a value that is rounded to the dtype already. */
const char *scalar_store_rounded(Arena *a, Dtype dt, const char *value);
/* The value rounded to a dtype that is stored narrower than it is computed. */
const char *scalar_round_text(Arena *a, Dtype dt, const char *value);
#endif
