/* Runs generated C inside a test: compiles a planned module's source to a shared object, loads it,
   and executes entries on a simulated pool of threads, one after the other between barriers, in an
   order that a seed shuffles. A missing barrier therefore shows as a wrong number, every time.
   Contract: the module has been through a pipeline that ends in plan-verify. */
#ifndef GC_TESTS_NUM_HARNESS_H
#define GC_TESTS_NUM_HARNESS_H
#include "codegen/cpu/target.h"
#include "ir/eval/interp.h"
#include "runtime/gcrt.h"

typedef struct Compiled Compiled;
/* Runs a step in place of step->kernel, on arguments at p: that of a device. */
typedef bool StepFunction(Compiled *c, const GcStep *step, void *const *p, const GcEnv *env);

struct Compiled {
  Arena *arena; /* of results */
  void *object; /* of dlopen */
  const GcProgram *program;
  unsigned char *region[GC_REGIONS]; /* globals and hypers keep their values between runs */
  size_t bytes[GC_REGIONS];          /* of each region */
  char fault[256];                   /* what gcrt_fault reported last, or "" */
  StepFunction *step;                /* NULL: steps are functions of the CPU */
  void *device;                      /* its own */
  uint8_t *written; /* of a device that keeps it: a bit for each byte of the arena that holds what a
                       step of this run wrote, and no one has died in since; or NULL */
};

typedef struct RunOptions {
  int threads;         /* simulated; at least 1 */
  uint64_t order;      /* seed of the order in which threads run */
  bool poison;         /* dead bytes are filled with 0xff */
  uint64_t seed, step; /* of the random ops */
  int fewer;           /* every extent is so much below its bound; 1 at least */
} RunOptions;

/* An instruction set for case k, of those that this machine has: its own, x86-64-v3 and x86-64 in
   turn. NULL: its own. */
const char *harness_march(uint64_t k);
/* NULL after printing why. cflags: of the C compiler; NULL: "-O3", as gc compiles. By less clang
   stands for "cc", if there is one, and nothing must be inlined: a third of gcc's time by "-O0",
   two thirds by "-O1". */
Compiled *compiled_open(Module *m, const Target *t, const CodegenOptions *o, const char *cflags);
/* A program that is compiled already: a shared object with a gc_program; NULL after printing why.
 */
Compiled *compiled_load(const char *object);
void compiled_close(Compiled *c);
/* Fills the globals by the program's init entry. */
void compiled_init(Compiled *c, const RunOptions *o);
/* Runs an entry; inputs and outputs as in interp_run (outputs are allocated). False if there is no
   such entry or a fault was reported. */
/* An environment with a workspace of its own, to be freed: one for each thread that runs kernels.
 */
GcEnv compiled_env(const Compiled *c, uint64_t seed, uint64_t step);
bool compiled_run(Compiled *c, const char *entry, const RunOptions *o, const Tensor *inputs,
                  Tensor *outputs, Ctx *ctx);
/* Reads or writes a global in logical order. */
void compiled_get(Compiled *c, int global, Scalar *to);
void compiled_set(Compiled *c, int global, const Scalar *from);
#endif
