/* Shared by the printers of the CPU. */
#ifndef GC_CODEGEN_CPU_CPU_H
#define GC_CODEGEN_CPU_CPU_H
#include "codegen/print/printer.h"

/* The order in which loops over the domain go: that of the first result. */
const Layout *cpu_domain_layout(const Group *gr);
/* Says that a unit touches only its slice of every argument of the domain's shape that is read
   position by position, and of every result of that shape, as far as they lie as l says, in whose
   order the units go; in elements; rows = 0: nothing is said. */
void cpu_split_full(Kernel *k, const Group *gr, const Layout *l, int64_t rows, int64_t stride,
                    int64_t width);

/* ---- printers: each appends to g->out ---- */
void cpu_map(Gen *g, const Group *gr);
void cpu_rows(Gen *g, const Group *gr);
void cpu_reduce(Gen *g, const Group *gr); /* COLS and REDUCE, and ROWS that sum pixels */
bool cpu_sums_pixels(const Group *gr);  /* sums of images that lie [N, H, W, C], over all pixels */
void cpu_move(Gen *g, const Group *gr); /* concat, pad, copies between layouts */
void cpu_reshape(Gen *g, Kernel *k, const Group *gr); /* their parts of cpu_move */
void cpu_pad(Gen *g, Kernel *k, const Group *gr);
/* A value's type with its axes in the order of storage. */
const Type *cpu_stored(Gen *g, const Group *gr, ValueId v);
void cpu_matmul(Gen *g, const Group *gr);
void cpu_window(Gen *g, const Group *gr);
void cpu_attention(Gen *g, const Group *gr); /* and its gradients */
void cpu_index(Gen *g, const Group *gr); /* gather, gather_grad, one_hot as kernels of their own */
void cpu_nms(Gen *g, const Group *gr);   /* non-maximum suppression */
void cpu_order(Gen *g, const Group *gr); /* cumsum, argsort */
void cpu_quantize(Gen *g, const Group *gr);
void cpu_collective(Gen *g, const Group *gr); /* and rank, first_row */
void cpu_await(Gen *g, const Group *gr);
void cpu_cumsum(Gen *g, const Group *gr);
void cpu_random(Gen *g, const Group *gr); /* random ops, which stand alone */
uint64_t cpu_rows_scratch(const Group *gr);
uint64_t cpu_reduce_scratch(const Group *gr);
uint64_t cpu_filter_scratch(const Group *gr);
uint64_t cpu_attention_scratch(const Target *t, const Group *gr);
uint64_t cpu_order_scratch(const Group *gr);
uint64_t cpu_cumsum_scratch(const Group *gr);
uint64_t cpu_index_scratch(const Group *gr);
uint64_t cpu_nms_scratch(const Group *gr);
/* The code that kernels stand on, from the files in text/ and in shared/: vectors, math, tiles,
   conversions, Philox. Names it gives: GC_IVDEP; GC_BRANCH; f32_ and f64_ exp expm1 log log1p sqrt
   sin cos tanh sigmoid erf pow mod abs floor ceil rint; i32_ i64_ u8_ abs mod; f16_ and bf16_ load,
   store, round; i32_from_f32 … (float to integer, saturating, NaN to 0: D_from_S for D in u8 i32
   i64, S in f32 f64); float f32_random_uniform(uint64_t key, const GcEnv *env, uint64_t position)
   and …_normal, with the key of ir/eval/interp.h's random_key (before the seed is mixed in); f64_
   likewise; random_key itself.
 */
const Sections *cpu_library(Arena *a);
/* Its matrix is in groups that tiles can read. */
bool cpu_multiplies_quantized(const Target *t, const Entry *e, const Op *op);
bool cpu_quantizes(const Target *t, const Entry *e, const Op *op);
#endif
