/* Inside code generation: what the printers of kernels build on. A launch is one C function with
   the signature GcKernel of gcrt.h; a group becomes one launch, or a few in a row. Contract: a
   printer receives a Group and appends Kernels; it never looks at the plan. Inside a function these
   names are in scope: p, env, t, nt, and after kernel_args in0…, out0…, scratch. The texts of
   expressions are the same for every target; loops and loads are a target's own. */
#ifndef GC_CODEGEN_KERNEL_H
#define GC_CODEGEN_KERNEL_H
#include "codegen/codegen.h"
#include "codegen/schedule/schedule.h"
#include "passes/fuse/kernel_form.h"

/* ---- text: a growing string in an arena ---- */
typedef struct Text {
  Arena *a;
  VEC(char) s; /* not terminated; text_str terminates */
  int indent;  /* of text_line, in steps of two spaces */
} Text;
Text text_new(Arena *a, int indent);
void text_add(Text *x, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* one whole line, indented */
void text_line(Text *x, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void text_open(Text *x, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));  /* line, then deeper */
void text_close(Text *x, const char *line); /* shallower, then the line: "}" */
const char *text_str(Text *x);

/* ---- how threads share a launch, and what each touches: what barriers are decided from ---- */

/* A launch has `units` equal units of work; thread t does [units*t/nt, units*(t+1)/nt). With one
   unit thread 0 does all of it. What a unit touches of an argument is one of two things: anything
   (rows = 0), or its own slice: of each of `rows` rows, `stride` bytes apart, the `width` bytes are
   divided evenly among the units, in their order. Contiguous slices have one row. */
typedef struct Access {
  bool read, write;
  int64_t rows;
  uint64_t stride, width, offset; /* bytes; offset of the first slice from the argument's start */
} Access;

typedef enum ArgKind {
  ARG_VALUE,
  ARG_SCRATCH,
  ARG_GLOBAL
} ArgKind; /* GLOBAL: what a store writes */
typedef struct KernelArg {
  ArgKind kind;
  ValueId value; /* of the entry */
  int global;
  Access access;
} KernelArg;

typedef struct Kernel {
  const char *name; /* "matmul+relu" */
  const Op *op;     /* that gives the group its form; of element-wise groups the last one */
  Text head;        /* declarations at the function's start: arguments, and what no loop changes */
  Text text;        /* statements behind them, indent 1 */
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
  bool few_blocks; /* registers rather than many blocks at a time: else its compiler may spill */
} Kernel;

/* ---- limits.c: what inputs index ---- */

/* So many elements of a row, one after the other, are each in [0, limit); 0: any number is right.
 */
typedef struct InputLimit {
  int64_t count, limit;
} InputLimit;
typedef VEC(InputLimit) InputLimits; /* of a row; none: any number is right */
/* Which input an op's index is made of, and of which row each of its elements. */
typedef struct IndexTrace {
  int input;                       /* by number; -1: of none, of several, or not known */
  bool exact;                      /* its numbers are the input's own */
  int64_t first, step, run, count; /* element k is of row first + k / run % count * step; run 0: not
                                      known */
} IndexTrace;
typedef struct InputUses {
  InputLimits *limits; /* by input: found where it is only moved before it indexes */
  IndexTrace *trace;   /* by op */
} InputUses;
InputUses *input_uses(Arena *out, const Entry *e);

/* A definition at file level that kernels need. */
typedef struct Helper {
  const char *text;
  bool long_to_compile; /* kernels that call it are compiled together, so that it is once */
} Helper;

typedef struct Gen Gen;
/* Prints the group's kernels into g->out. */
typedef void PrintGroup(Gen *g, const Group *gr);
/* A target's printers: by the form of a group, and for groups of one op by the class of the op. */
typedef struct GroupPrinters {
  PrintGroup *map, *rows, *reduce, *matmul, *window; /* reduce: COLS and REDUCE */
  PrintGroup *attention, *order, *index, *random;
  PrintGroup *move; /* all other single ops */
} GroupPrinters;

struct Gen {
  Ctx *ctx;
  Module *m;
  const Target *target;
  const CodegenOptions *opt;
  Arena *a;
  VEC(Helper) helpers;     /* each once, in the order of first need */
  VEC(uint32_t) needed;    /* those of the group at hand */
  VEC(Kernel *) out;       /* launches of the group at hand */
  VEC(const char *) sites; /* where indices can be out of range: rows of GcSite, each once */
  const InputUses *uses;   /* of the entry at hand */
  int names;               /* of variables in the function at hand, counted up */
  uint64_t work;           /* bytes of workspace that a thread needs, of all kernels the most */
  const char *index;       /* type of positions; NULL: "long" */
  const GroupPrinters *print;
  const char *fault; /* how a kernel begins to report an index: "gcrt_fault(" */
  const char *ivdep; /* says that a loop's iterations do not depend on each other; or NULL */
  void *own;         /* of the target */
  bool refused;      /* a diagnostic has said which op is too large for any kernel */
};

/* Prints the group by its form; then the next one can begin. */
void gen_print_group(Gen *g, const Group *gr);
/* May the op join a fused group? What Target.can_fuse says of every target. */
bool gen_can_fuse(const Target *t, const Entry *e, const Op *op);

/* The group at hand needs the definition. */
void gen_helper(Gen *g, const char *text);
void gen_long_helper(Gen *g, const char *text);

/* Starts a launch: arguments are the group's inputs (read whole), its outputs (written whole), and
   one scratch if the target gives this op scratch; name is the group's. Appended to g->out. */
Kernel *kernel_new(Gen *g, const Group *gr);
/* The kernel is printed by this schedule, which is copied. */
void kernel_schedule(Kernel *k, const ScheduleKind *kind, const void *schedule, size_t size);
/* "TARGET k0_matmul matmul product m=64 … units=4 launches=1": `function` is its name
   in the program, and `threads` how its launches are shared. */
void kernel_print_schedule(FILE *f, const Gen *g, const Kernel *k, const char *function,
                           const char *threads, int launches);
/* Declares in0…, out0…, scratch (char *) from p; the types are the storage types of the values. An
   argument that several operands name is declared once a use. Nothing is `restrict`: outputs may
   lie in the bytes of inputs (op_inplace_ok), so loops that have no dependence say GC_IVDEP. */
void kernel_args(Gen *g, Kernel *k, const Group *gr);
/* Sets units and prints `const long u0 = …, u1 = …;`, or for one unit `if (t != 0) return;`. */
void kernel_units(Kernel *k, int64_t units);
/* Another launch of the same group after it, with the same arguments: all of them read whole. */
Kernel *kernel_next(Gen *g, const Group *gr, const char *suffix);
/* Declares `name`: `count` numbers of type T, `size` bytes each, 64-byte aligned, that the thread
   has for itself while the kernel runs. Few lie on the stack, whose end a caller of a library may
   be near; others in env->work. */
void kernel_buffer(Gen *g, Kernel *k, Text *x, const char *T, int size, const char *name,
                   int64_t count);
int kernel_scratch_arg(const Kernel *k); /* index of the scratch argument, or -1 */
/* The slice that a unit touches of input or output i. */
void kernel_split_in(Kernel *k, const Group *gr, int i, int64_t rows, uint64_t stride,
                     uint64_t width);
void kernel_split_out(Kernel *k, const Group *gr, int i, int64_t rows, uint64_t stride,
                      uint64_t width);

/* The statement that reports an index of `op` that is out of range: element `at` of it is `value`;
   what it is, "a label". */
const char *gen_fault(Gen *g, const Group *gr, const Op *op, const char *what, const char *at,
                      const char *value, int64_t limit);

/* ---- scalar text ---- */
const char *
dtype_storage(Dtype dt); /* "float", "uint16_t" for f16 and bf16, "uint8_t" for bool, … */
const char *dtype_compute(Dtype dt); /* "float" for f16 and bf16, else the storage */
/* The prefix of functions: FN(exp) of f32, f16 and bf16 is f32_exp; of i32 i32_…; bool is u8. */
const char *dtype_prefix(Dtype dt);
const char *scalar_literal(Arena *a, Dtype dt, Attr v); /* "0.5f", "3", "INFINITY" */
/* The key of a random op as an expression; place: the text of its place in a loop, or NULL. */
const char *random_key_text(Arena *a, Attr key, Attr draw, const char *place);
/* "in0[i]" or "f16_load(in0[i])"; and "x" or "f16_store(x)" */
const char *scalar_load(Arena *a, Dtype dt, const char *base, const char *index);
const char *scalar_store(Arena *a, Dtype dt, const char *value);
/* Text of an element-wise op on operand texts (names or literals); types in are the operands'.
   f16 and bf16 results are rounded: f16_round(…). */
const char *scalar_expr(Gen *g, const Entry *e, const Op *op, const char *const *operand);

/* Where a loop's body stands in the domain of a group. */
typedef struct Site {
  const Type *shape;        /* of the positions: the group's domain, or a part of it */
  const char *const *coord; /* text of the position on each axis: names, literals, or sums in () */
  const char *flat;         /* text of the index in `shape` in `layout`; NULL: made from coord */
  const Layout *layout;     /* that flat is for; NULL: row-major */
  const char *panel;     /* text of the offset of this element in a value of this shape in panels;
                            NULL: made from coord */
  ValueId have;          /* an inner value that is computed already, or NO_ID … */
  const char *have_text; /* … its text, in the compute type: "acc[j]" */
} Site;

/* Prints the body of an element-wise loop (what no position changes goes to the head of the
   function at hand): a load of each input that is read, one line `const float v12 = …;` for every
   member op but `skip`, and the store of each yield. Every value it meets has the site's shape or
   broadcasts to it. */
void site_body(Gen *g, Text *x, const Group *gr, const Site *s);
#endif
