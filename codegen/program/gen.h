/* The state of printing a program: what its kernels need, and the group at hand. Contract: a
   printer receives a Group and appends Kernels; it never looks at the plan. */
#ifndef GC_CODEGEN_GEN_H
#define GC_CODEGEN_GEN_H
#include "codegen/codegen.h"
#include "codegen/program/bounds.h"
#include "codegen/program/kernel.h"
#include "codegen/text/constant.h"
#include "codegen/text/sections.h"

/* A definition at file level that kernels need. */
typedef struct Helper {
  const char *text;
  bool long_to_compile; /* kernels that call it are compiled together, so that it is once */
  bool used;            /* by the file at hand */
} Helper;

/* What each block of a launch computes for itself of the one in front, and keeps in shared memory:
   all results of that one, at these places. */
enum { MOST_STACK_ROWS = 4, STACK_ALIGN = 16 };
typedef struct StackRows {
  int n, arg[MOST_STACK_ROWS]; /* the first launch's arguments */
  bool read[MOST_STACK_ROWS];  /* by the second launch; else by none */
  uint64_t at[MOST_STACK_ROWS], bytes;
} StackRows;

/* Prints the group's kernels into g->out. */
typedef void PrintGroup(Gen *g, const Group *gr);
/* A target's printers: by the form of a group, and for groups of one op by the class of the op. */
typedef struct GroupPrinters {
  PrintGroup *map, *rows, *reduce, *matmul, *window; /* reduce: COLS and REDUCE */
  PrintGroup *attention, *order, *index, *random;
  PrintGroup *update;    /* NULL: the target keeps dynamic_update by itself */
  PrintGroup *composite; /* those that the target keeps */
  PrintGroup *collective;
  PrintGroup
      *await; /* the end of a collective, which its launch only begins; NULL: launches end it */
  PrintGroup *move; /* all other single ops */
  /* One kernel for n launches of one, whose blocks of threads it has; NULL: launches cost little.
   */
  Kernel *(*batch)(Gen *, const Kernel *const *, int n);
  /* The same of several kernels, and the bytes of shared memory that the text of one declares; -1:
     it is not for that. */
  Kernel *(*mix)(Gen *, const Kernel *const *, int n);
  int64_t (*mix_shared)(const Kernel *);
  /* A product of few rows, which waits for memory: it takes no longer if its blocks have more
     threads than it needs; and bytes of shared memory that its text declares, at most. */
  bool (*is_thin)(const Kernel *);
  int64_t (*thin_shared)(const Kernel *);
  /* One kernel for a launch and the one behind it, whose blocks do the work of both one after the
     other: a stack (stack.c). arg: the number of each argument of either in the whole, or -1 - r:
     it is `rows` r. */
  Kernel *(*stack)(Gen *, const Kernel *const *, const int *const *arg, const StackRows *rows);
  /* Threads that compute what the launch computes without waiting for others, but for those of
     their warp; 0: it is not for that. */
  int64_t (*stack_threads)(const Kernel *);
  /* They are products of few rows with the same tiles: a thread has the same elements of both. */
  bool (*stack_alike)(const Kernel *, const Kernel *);
  bool marks_constants; /* in the texts of kernels: text/constant.h */
} GroupPrinters;

struct Gen {
  Ctx *ctx;
  Module *m;
  const Target *target;
  const CodegenOptions *opt;
  Arena *a;
  const Sections *library; /* of the target: code that kernels and helpers call */
  VEC(Helper) helpers;     /* each once, in the order of first need */
  VEC(uint32_t) needed;    /* those of the group at hand */
  VEC(Kernel *) out;       /* launches of the group at hand */
  VEC(const char *) sites; /* where indices can be out of range: rows of GcCheckSite, each once */
  const InputUses *uses;   /* of the entry at hand */
  ExtentList parts;        /* of axes, which the kernel at hand sees */
  int names;               /* of variables in the function at hand, counted up */
  uint64_t work;           /* bytes of workspace that a thread needs, of all kernels the most */
  int messages;            /* of collectives that launches only begin, all together */
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
/* The file at hand has a function with this kernel's text. */
void gen_use(const Gen *g, const Kernel *k, const char *body);
/* What the functions of the file at hand need: sections of the library, then helpers. The next file
 * begins. */
void gen_print_definitions(const Gen *g, Text *x);

/* A constant in the text of a kernel: of a dtype, and of a type that constant_mark names. */
const char *gen_constant(const Gen *g, Dtype dt, Attr value);
const char *gen_number(const Gen *g, const char *type, uint64_t bits, const char *literal);
/* The statement that reports an index of `op` that is out of range: element `at` of it is `value`;
   what it is, "a label". */
const char *gen_fault(Gen *g, const Group *gr, const Op *op, const char *what, const char *at,
                      const char *value, int64_t limit);
/* The same of a limit that is known at run time: its text. */
const char *gen_fault_below(Gen *g, const Group *gr, const Op *op, const char *what, const char *at,
                            const char *value, const char *limit);
#endif
