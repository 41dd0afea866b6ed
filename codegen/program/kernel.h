/* A kernel in the making. A launch is one function with the signature GcKernel of gcrt.h; a group
   becomes one launch, or a few in a row. Inside a function these names are in scope: p, env, t, nt,
   and after kernel_args in0…, out0…, scratch. */
#ifndef GC_CODEGEN_KERNEL_H
#define GC_CODEGEN_KERNEL_H
#include "codegen/program/access.h"
#include "codegen/schedule/schedule.h"
#include "codegen/text/scalar.h"
#include "codegen/text/text.h"
#include "passes/fuse/kernel_form.h"

#include <stdio.h>

typedef struct Gen Gen; /* gen.h */

typedef enum ArgKind {
  ARG_VALUE,
  ARG_SCRATCH,
  ARG_GLOBAL,
  ARG_PART
} ArgKind; /* GLOBAL: what a store writes; PART: the number of a part of a bounded axis */
typedef struct KernelArg {
  ArgKind kind;
  ValueId value; /* of the entry */
  int global;
  const Extent *part;
  Access access;
} KernelArg;
typedef VEC(const Extent *) ExtentList;

/* Code of its own for one of the target's architectures; the target knows what that has. */
typedef struct KernelVariant KernelVariant;

typedef struct Kernel {
  const char *name; /* "matmul+relu" */
  const char *part; /* "combine": which of the group's launches behind the first; else NULL */
  const Op *op;     /* that gives the group its form; of element-wise groups the last one */
  Text head;        /* declarations at the function's start: arguments, and what no loop changes */
  Text text;        /* statements behind them, indent 1 */
  Text early;       /* of a device: what may be done before the launch in front has ended: nothing
                       that reads or writes its arguments; it names them p0, p1 … */
  int64_t units;
  int nargs;
  KernelArg *args; /* p[i] */
  uint64_t flops;
  uint64_t work; /* bytes of the thread's workspace that are given away */
  int64_t grid;  /* of a device: blocks, threads of a block, bytes of shared memory beside the
                    static */
  int block, shared;
  VEC(uint32_t) helpers;             /* of Gen: what it calls, in their order */
  const ScheduleKind *schedule_kind; /* NULL: elements are divided evenly */
  const void *schedule;
  double (*balance)(const void *schedule,
                    int threads); /* as units_balance; NULL: units are equal */
  const KernelVariant *variant;   /* or NULL */
  const struct Kernel *one; /* of a device: `parts` launches of this kernel are one (batch.c); NULL:
                               it is one by itself */
  int parts;
  int mixed;    /* of a device: so many launches of several kernels are one (batch.c), or 0 */
  bool stacked; /* ... whose thread blocks do the work of one after that of the other (stack.c) */
  bool signals; /* of a device: its blocks tell each other in memory of the kernel's own, so no two
                   launches of it may run at once */
  bool bounded; /* its text depends on an extent of the entry */
  bool one_share; /* of a thread: another launch counts on it, or each share repeats some work */
  const char *collective; /* of a device: the fields of a GcCollective, in which all ranks take part
                             instead of a launch; NULL: the text is launched */
  int min_blocks; /* of a device: blocks that a multiprocessor must hold at the same time. 1 leaves
                     them all registers, so that nothing is spilled; 0: its compiler chooses */
} Kernel;

/* Starts a launch: arguments are the group's inputs (read whole), its outputs (written whole), one
   scratch if the target gives this op scratch, and the numbers of parts; name is the group's.
   Appended to g->out. */
Kernel *kernel_new(Gen *g, const Group *gr);
/* The kernel is printed by this schedule, which is copied. */
void kernel_schedule(Kernel *k, const ScheduleKind *kind, const void *schedule, size_t size);
/* "train,test" for a kernel of these entries: the list with one more, whose launches come last. */
const char *kernel_entries(Arena *a, const char *list, const Entry *e);
/* The mean work of so many threads by that of the busiest one. */
double kernel_balance(const Kernel *k, int threads);
/* "TARGET k0_matmul matmul product m=64 … units=4 launches=1 entries=train": `function` is its name
   in the program, and `threads` how its launches are shared. */
void kernel_print_schedule(FILE *f, const Gen *g, const Kernel *k, const char *function,
                           const char *threads, int launches, const char *entries);
/* Declares in0…, out0…, scratch (char *) from p; the types are the storage types of the values. An
   argument that several operands name is declared once a use. Nothing is `restrict`: outputs may
   lie in the bytes of inputs (op_inplace_ok), so loops that have no dependence say GC_IVDEP. */
void kernel_args(Gen *g, Kernel *k, const Group *gr);
/* Sets units and prints `const long u0 = …, u1 = …;`, or for one unit `if (t != 0) return;`. */
void kernel_units(Kernel *k, int64_t units);
/* The same of so many at the bounds of extents, and of a text at run time. */
void kernel_units_of(Kernel *k, int64_t most, const char *units);
/* The statements of its function; interned, so that equal kernels are found by the pointer. */
const char *kernel_body(Gen *g, const Kernel *k);
/* Another launch of the same group after it, with the same arguments: all of them read whole. */
Kernel *kernel_next(Gen *g, const Group *gr, const char *suffix);
/* Declares `name`: `count` numbers of type T, `size` bytes each, 64-byte aligned, that the thread
   has for itself while the kernel runs. Few lie on the stack, whose end a caller of a library may
   be near; others in env->work. */
void kernel_buffer(Gen *g, Kernel *k, Text *x, const char *T, int size, const char *name,
                   int64_t count);
/* Of a group's later launch: arguments that no statement names are neither read nor written. */
void kernel_touched(Kernel *k, const Group *gr);
int kernel_scratch_arg(const Kernel *k);        /* index of the scratch argument, or -1 */
int kernel_part_arg(const Kernel *k, int part); /* of the number of a part, in order */
/* The slice that a unit touches of input or output i. */
void kernel_split_in(Kernel *k, const Group *gr, int i, int64_t rows, uint64_t stride,
                     uint64_t width);
void kernel_split_out(Kernel *k, const Group *gr, int i, int64_t rows, uint64_t stride,
                      uint64_t width);
#endif
