/* What the files of the command share: main.c (the way through), settings.c (what is asked for),
   front.c (from text to a module), help.c (what gc says of itself), reproduce.c (what an internal
   error leaves behind). */
#ifndef GC_LANG_COMMAND_H
#define GC_LANG_COMMAND_H
#include "codegen/codegen.h"
#include "ir/ir.h"
#include "lang/driver/options.h"
#include "lang/onnx/onnx.h"
#include "lang/syntax/ast.h"

enum { EXIT_DONE = 0, EXIT_PROGRAM = 1, EXIT_USAGE = 2, EXIT_ENVIRONMENT = 3 };

typedef enum InputKind { INPUT_G, INPUT_IR, INPUT_ONNX } InputKind;
InputKind input_kind(const Options *o);
/* By its name, it holds no program but something that others write; true after the message. */
bool input_is_other(Ctx *c, const Options *o);

typedef struct UsedModel {
  const char *path, *name; /* interned */
  const OnnxProgram *program;
} UsedModel;

typedef struct Front {
  Ctx *c;
  const Options *o;
  const OnnxProgram *onnx; /* once it has been imported */
  VEC(UsedModel) models;   /* that the program uses: each once, by however many modules */
  double parse_seconds, elaborate_seconds;
  bool elaborated; /* there is a module */
} Front;

/* An ONNX model as a program's text; NULL with the exit code in *code. */
const OnnxProgram *front_import(Front *f, int *code);
/* ---- models.c ---- */
/* A model as a def, for the parser; front is a Front, or NULL, which then keeps nothing of it. */
const char *model_text(void *front, Ctx *c, const ModelUse *use);

/* The input as a tree; NULL with the exit code in *code. */
Program *front_parse(Front *f, int *code);
/* The input as a module; NULL with the exit code in *code. */
Module *front_module(Front *f, int *code);

/* --target, --arch and -march: a part for each target, that of the host last, in as many levels of
   instructions as -march names. */
typedef struct Targets {
  CodegenPart *part; /* in the context's arena; there is room for levels that are implied */
  int n;
} Targets;
/* An executable always holds the host's program, whatever --target says. Returns the exit code. */
int targets_choose(Ctx *c, const Options *o, Targets *out);
/* The part of a target, or its first one; NULL: it is not built for. */
CodegenPart *targets_part(Targets *t, const Backend *b);
/* The part whose plan is shown: the host's, unless --target leaves it out. */
CodegenPart *targets_shown(Targets *t, const Options *o);
/* Once all parts of a target with levels have their Target: adds one that is implied, whose Target
   it makes. Pointers to parts may be to others then. Returns the exit code. */
int targets_complete(Ctx *c, Targets *t, const Backend *b, CodegenOptions *o);

/* ---- weights.c ---- */
/* Whether each tensor of a safetensors file is a param or state of the module, of its dtype and
   shape; notes what the file does not have. Returns the exit code. */
int weights_check(const Module *m, const char *path);
/* The file has the scales of activations that the program reads. */
int weights_check_scales(const Module *m, const char *path);
/* Such a file that has been checked; NULL with the exit code in *code. */
typedef struct WeightsFile WeightsFile;
WeightsFile *weights_open(const char *path, int *code);
bool weights_read(void *file, const Global *g, OnnxTensor *out); /* see OnnxWeights */
/* Notes in the module where pages of the program will have what it holds as the file does. *before:
   bytes in front of the file in its first page. */
void weights_place(const char *path, Module *m, unsigned *before, int *code);
float *weights_floats(void *file, const Global *g); /* of an f32 param; see PassOptions */
void weights_close(WeightsFile *w);                 /* NULL is allowed */

/* ---- weights_merge.c ---- */
/* Writes the tensors of both; what the second one has is in place of the first one's. False after a
   message: they cannot be read. The caller looks whether they are written. */
bool weights_merge(const Module *m, const WeightsFile *model, const WeightsFile *file, FILE *out);

/* Adds what --config gives to the options' defines; false after a message. */
bool config_read(Ctx *c, Options *o);
/* Warns of a value that no let takes, if results depend on it. */
void config_warn(Ctx *c, const Options *o, const Define *d);

/* --help, --version, --list-passes: true if one of them was given and answered. */
bool help_answer(Ctx *c, const Options *o, int *code);

/* ---- shell_files.c ---- */
void completion_bash(FILE *f);
void completion_zsh(FILE *f);
void completion_fish(FILE *f);
void man_page(FILE *f);

/* ---- diagnostics.c ---- */
/* --diagnostics=json: from here on every diagnostic is one line of JSON on the standard error. */
void diagnostics_as_json(Ctx *c);

/* ---- check_gradients.c: gc --check-gradients; the exit code ---- */
int check_gradients(Front *f, const char *entry);

/* ---- plan_module.c: for the language server ---- */
/* Plans a module as `gc -O2` would for the host; false where it cannot. */
bool plan_module(Ctx *c, Module *m);

/* ---- format_command.c: gc --format; the exit code ---- */
int format_command(Front *f);

/* ---- files.c: the files of a command line ---- */
typedef struct FileUse {
  const char *option; /* that names it, as it is written; of the input its path */
  const char *path;
  bool writes, by_shell; /* by_shell: which has opened it already */
} FileUse;
bool is_directory(const char *path);
/* Whether none that is written is another one of them, a folder, or a file that gc did not write.
   Returns the exit code. */
int files_check(const FileUse *use, int n);

/* The bug hook: data is the Front. Writes the module as it was before the passes, or the source
   where it has not come that far, and says how to run it again. */
void reproduce(void *front);

#endif
