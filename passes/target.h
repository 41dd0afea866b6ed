/* What passes ask of a target. Each target (codegen/cpu, …) fills one of these; passes never know
   which one they serve. */
#ifndef GC_PASSES_TARGET_H
#define GC_PASSES_TARGET_H
#include "ir/op/window.h"

/* How every target adds up, so that the bits of a sum follow from its shape alone; passes that cut
   a sum into pieces cut it there. */
enum {
  SUM_CHAIN = 1024, /* a product: one chain of fma over so much of its depth, chains in order */
  SUM_ROW = 16384,  /* a row, in lanes: so many elements, then these sums in order */
  SUM_GROUP = 64,   /* ... so many of them, then the groups' sums in order */
  SUM_COLUMN = 256, /* a column: so many rows one after the other, then these sums in order */
  SUM_PIXELS = 784  /* a filter's gradient: one chain over about so many pixels, four images of
                       14 x 14 or 14 rows of 56, chains in order (codegen/print/window.c) */
};

/* Between two ranks. Zeros: not given. */
typedef struct Link {
  double latency;   /* seconds */
  double bandwidth; /* bytes a second */
} Link;

typedef struct Target Target;
struct Target {
  const char *name; /* "cpu" */
  double speed;  /* of plan_work, about so much in a second: it weighs a link against computation */
  double launch; /* seconds that one takes at least; 0: a call is nothing */
  double narrow; /* how many times as fast products, convolutions and attention of 16-bit operands
                    are as others, and of tf32 half as many times; 0: no faster */
  Link link;     /* where the user says nothing of it */
  int align;     /* bytes: every offset is a multiple */
  int slack;     /* bytes that a kernel may read past a buffer's end; counted by the plan at the
                    region's end */
  /* Columns of a panel for the right operand of a product of this dtype; 0: the target wants no
   * panels. */
  int (*panel)(const Target *t, Dtype dt);
  /* Columns of a panel for the filters of convolutions of this dtype, which have so many; 0: no
     panels; < 0: no such convolutions. NULL: images stay as the program has them. Of a half
     precision: for convolutions with f32 results, and their gradients by the images. */
  int (*filter_panel)(const Target *t, Dtype dt, int64_t columns);
  /* This convolution of a half precision with f32 results, or a gradient of it, multiplies what is
     stored; else it reads f32 copies. It follows from channels and taps alone. */
  bool (*multiplies_halves)(const Target *t, Dtype in, const ConvGeom *g, OpKind kind);
  /* Columns of a panel of transformed filters, if this convolution or gradient by the images is
     computed by Winograd's method, of bounded images at some of their sizes; else 0. It follows
     from the shapes of one image and of the filters, so that all ways to run a program give the
     same bits. NULL: none is. */
  int (*winograd_panel)(const Target *t, const ConvGeom *g, bool back);
  /* Its kernel of this op over windows ends at the run's rows (axis 2) or columns (3) of the
     images; others get images that are filled up to the bound. NULL: none does. */
  bool (*ends_windows)(const Target *t, const Entry *e, const Op *op, int axis);
  bool narrow_convs; /* convolutions read images of 2 bytes, and round filters on the way; else they
                        want f32 numbers that were rounded before */
  int row_bytes; /* rows of a product's operand should begin at multiples of so many bytes; 0: they
                    may lie anywhere */
  /* Bytes of scratch that a launch of this op needs in the arena while it runs (partial sums);
     independent of the number of threads. */
  uint64_t (*scratch_bytes)(const Target *t, const Entry *e, const Op *op);
  /* May this op join a fused group at all? The group's form is decided by passes/fuse/fuse.c. */
  bool (*can_fuse)(const Target *t, const Entry *e, const Op *op);
  /* It has a kernel for this product of a quantized matrix, which takes less time than that of the
     matrix dequantized in memory; NULL: for none. */
  bool (*multiplies_quantized)(const Target *t, const Entry *e, const Op *op);
  int interleaved; /* rows of stored integers, of a quantized matrix in panels, that lie interleaved
                      where products of integers alone read it, in whole groups of them; 0: none */
  bool narrow_quantized; /* such products have operands in bf16 where --precision asks for it; else
                            they keep f32 */
  /* It has a kernel for this quantize or quantize_scale; NULL: for none. */
  bool (*quantizes)(const Target *t, const Entry *e, const Op *op);
  /* The operand of this product, 0 or 1, that it reads so much faster from a transposed copy that
     the copy pays; -1: neither. padded: by value, rows have padding where that helps. NULL: of no
     product. */
  int (*transposed_operand)(const Target *t, const Entry *e, const Op *op, const bool *padded);
  /* It rounds operand i of this product to tf32 as it reads it, as f32 numbers lie. NULL: of no
     product. */
  bool (*rounds_operand)(const Target *t, const Entry *e, const Op *op, int i);
  bool moves_in_place; /* reshapes that move elements do so one after the other, in the operand's
                          bytes, too */
  bool compact_inputs; /* pads read an input as a run has it: without gaps where it is shorter than
                          its bounds */
  bool strided_attention; /* reads operands behind views, and stores results transposed */
  bool runs_beside;       /* what else there is to do can run beside a step: kernels rarely fill the
                             device,       and the host's threads wait */
  int sums_together;      /* long sums of values of one shape that a kernel adds up at most; 0, 1:
                             each has its own */
  int max_fused_ops;      /* in one kernel */
};

/* The target's loops over pixels multiply the convolution's operands of half precision as they are,
   and sum in f32. */
bool conv_multiplies_halves(const Target *t, const Entry *e, const Op *op);

enum { PADDED_ROW_BYTES = 16, PADDING_SHARE = 32 }; /* of what a row has, one part at most */
/* Elements of a row of so many, of `size` bytes each, with the padding to multiples of row_bytes;
   0: it needs none, or would have too much. */
static inline int64_t padded_elements(int64_t row, int size, int row_bytes) {
  int64_t unit = row_bytes / size;
  if (unit <= 1 || row % unit == 0) return 0;
  int64_t to = (row + unit - 1) / unit * unit;
  return (to - row) * PADDING_SHARE > row ? 0 : to;
}
/* The same of a row of the type. */
static inline int64_t padded_row(const Type *t, int row_bytes) {
  return padded_elements(t->rank ? t->dim[t->rank - 1] : 0, dtype_size(t->dtype), row_bytes);
}
#endif
