/* A compilation by the command: its state, and what its options ask for (settings.c); main.c leads
   it through the floors. */
#ifndef GC_LANG_COMPILATION_H
#define GC_LANG_COMPILATION_H
#include "lang/driver/command.h"
#include "passes/passes.h"

/* How a kind of output is made: from which stage on, and by whom. */
typedef enum Emit {
  EMIT_NONE,
  EMIT_EXE,
  EMIT_LIB,
  EMIT_PYTHON,
  EMIT_WHEEL,
  EMIT_FORM, /* a target's own */
  EMIT_G,    /* the program of what is imported */
  EMIT_ONNX,
  EMIT_AST,
  EMIT_IR,
  EMIT_PLAN
} Emit;

typedef struct Compilation {
  Ctx *c;
  Options o;
  Front front;
  Emit emit;
  const char *output; /* NULL: the standard output */
  const char *pipeline;
  PassOptions passes;
  CodegenOptions codegen;
  Targets targets;
  const BackendForm *form;  /* of EMIT_FORM */
  CodegenPart *main;        /* of targets: whose plan is shown, and whose form is made */
  const Program *prog;      /* of --emit=ast */
  int *per_rank, nper_rank; /* of --memory-per-rank: numbers of ranks */
  FILE *note;               /* of --pack: what is said once the rows are written */
  Module *m;                /* of everything else */
  double target_seconds, passes_seconds, codegen_seconds;
} Compilation;

/* ---- settings.c: each returns an exit code, and has said what is wrong ---- */
int settings_options(Compilation *r);
/* The paths of --watch with + between them, or "". */
const char *settings_watched(const Compilation *r);
/* The passes of --passes, or of -O and what goes with it, for so many ranks. */
const char *settings_pipeline(const Compilation *r, int ranks);
int settings_effort(Compilation *r);      /* of planning */
int settings_print_after(Compilation *r); /* --print-after names a pass of the pipeline, or all */
/* "700", "700K", "1.5GB", "64MiB": K, M, G and T are powers of 1024. */
bool settings_bytes(const char *s, uint64_t *out);
/* A number from 1 to `most`, or 0 where it is none. */
int settings_count(const char *s, int most);

/* ---- settings_output.c ---- */
int settings_output(Compilation *r);  /* what is made, and where it goes; after the targets */
Emit settings_emit(const Options *o); /* by --emit alone */
bool settings_makes_program(Emit e);  /* machine code that the C compiler makes: of all targets */
/* What is read, and what is written: the output, what lies beside it, and what is looked at, where
   the shell leads it to a file. */
int settings_files(Compilation *r, bool looks);
/* model.safetensors of model.g; NULL of the screen. */
const char *settings_weights_beside(Ctx *c, const char *output);
bool settings_wants_times(const Options *o); /* --stats=time[:DEVICE] */
/* Whose model of time the device is for, and its name; NULL after a message. */
const Backend *settings_timed_device(const Compilation *r, const char **name);

/* ---- settings_weights.c ---- */
/* How --weights quantizes: its word, the argument of the pass, and of this the paths that stay. */
typedef struct QuantizedForm {
  const char *word, *argument, *without;
  bool calibrates, is_static; /* scales of activations: it finds them, or needs them */
} QuantizedForm;
/* The file of --weights, or NULL; form, unless it is NULL: how weights are quantized, or NULL. */
const char *settings_weights(Ctx *c, const Options *o, const QuantizedForm **form);
int settings_check_weights(const Compilation *r); /* that they go with the output */

/* ---- settings_ranks.c ---- */
int settings_ranks(Compilation *r, int *ranks); /* how many processes share a batch */

/* ---- planning.c ---- */
/* The module of the command, and one more for each other target, as far as the output needs it.
   Returns the exit code. */
int planning_run(Compilation *r);
/* One more module of the program, changed first if wanted, planned by the same passes without a
   limit; NULL with the exit code in *code. */
Module *planning_again(Compilation *r, void (*change)(Module *m), int *code);
/* One more, planned for so many ranks in silence; to free. */
Module *planning_for_ranks(Compilation *r, int ranks, const Target *t, int *code);

/* ---- host_memory.c ---- */
/* Says which entries of a program that is compiled for this machine have too little memory here. */
void host_memory_note(const Compilation *r);

/* ---- rank_memory.c ---- */
/* --memory-per-rank: prints it, and puts it into the program. Returns the exit code. */
int rank_memory(Compilation *r);

/* ---- onnx_files.c ---- */
/* Those of --emit=g, where it writes a file. Returns the exit code. */
int imported_weights_beside(Compilation *r);
/* A file without a name that holds the weights of an ONNX model, as the assembler takes it in. -1:
   there are none, or the exit code says why. */
int imported_weights(Compilation *r, int *code);
/* --emit=onnx; returns the exit code. */
int emit_onnx(Compilation *r);
#endif
