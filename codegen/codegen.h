/* Code generation: from planned modules to source, and from source to an executable. Each target is
   one `Backend`, a row of codegen/backends.def; what the targets share (grouping, expression text,
   launch order, argument addresses, barriers, linking) asks a Backend and names none.
 */
#ifndef GC_CODEGEN_CODEGEN_H
#define GC_CODEGEN_CODEGEN_H
#include "ir/ir.h"
#include "passes/passes.h"
#include <stdio.h>

typedef struct Backend Backend;
typedef struct CodegenPart CodegenPart;

/* What a rank takes if so many share the batch. */
typedef struct EntryBytes {
  const char *name;
  uint64_t inputs, arena, messages, total; /* messages: also of globals; total: with these */
} EntryBytes;
typedef struct RankBytes {
  const Target *target; /* planned for it */
  int ranks;
  uint64_t params, states, optimizer;
  uint64_t globals; /* their region: with the gaps between them */
  const EntryBytes *entry;
  int nentries;
} RankBytes;
/* Of a module that has been planned for them. */
RankBytes codegen_rank_bytes(Arena *a, const Module *m, const CodegenPart *part, int ranks);

typedef struct CodegenOptions {
  const char *march;       /* of a part of the host that names none: "native", "x86-64-v3", …;
                              NULL: native, or as $CC has it if that compiles for another machine */
  const char *version;     /* of gc */
  const char *runtime_dir; /* holds libgcrt.a and gcrt.h; in a folder for each other processor, too,
                              which the host's target sets if $CC compiles for one */
  const char *cc;          /* C compiler with its own options, as words; NULL: $CC, else cc */
  const char *cc_macros;   /* set with the host's target: what the compiler defines, so which one it
                              is */
  const char *processor;   /* ... and what it compiles for, as "x86_64" */
  bool cross;              /* set with the host's target: $CC compiles for another processor */
  int jobs;                /* C compilers at the same time; 0: one for each core */
  bool no_cache;           /* of compiled kernels */
  bool tokens;             /* it reads tokenizers: libgctokens.a is linked */
  bool images;             /* the executable decodes images: libgcimages.a is linked */
  int ranks;               /* of a data-parallel program; 0: it has none */
  const char *ranks_by; /* how they talk: Backend.ranks_by; "mpi" is linked by the words of $MPICC,
                           else mpicc */
  const RankBytes *rank_bytes; /* of `info -n N`, for each target; NULL: none */
  int nrank_bytes;
  int level; /* 0..3, of gc */
  bool save_temps, verbose, time;
  double cc_seconds;       /* set: time spent in the C compiler and linker */
  bool stats;              /* say what the kernels take of a device */
  int failed;              /* set: exit code of a target that could not be made */
  bool exact;              /* no tensor cores: sums have the host's order in every dtype */
  const char *watched;     /* as of passes_watched; NULL or "": nothing */
  const char *weights;     /* a file of safetensors that goes into the program; NULL: none */
  unsigned weights_before; /* bytes from the beginning of a page to the file, see Global */
  bool index64; /* positions of 64 bits in every kernel of a device, as large values take them */
} CodegenOptions;

/* ---- build/progress.c: what gc waits for, on a terminal where it prints no commands ---- */
void codegen_progress(const CodegenOptions *o, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void codegen_progress_end(const CodegenOptions *o);

/* One target's part of a program; of the host one for each level of instructions, in the order in
   which they are given: a program runs the last one that its processor has all instructions of. */
struct CodegenPart {
  const Backend *backend;
  const char *march;   /* of the host: the level, as the C compiler names it; NULL: the options' */
  bool one_of_several; /* levels that were named */
  bool implied;        /* a level that the program holds though it was not named */
  const char *const *arch; /* "sm_80", …: what a device's images are for */
  int narch;
  const Target *target;
  Module *m;          /* planned for the target */
  const char *symbol; /* of its GcProgram; NULL: "gc_program" */
  const char *next;   /* the symbol of the part that runs where this one cannot; NULL: none */
};

/* A text or an image that --emit makes of a part. */
typedef struct BackendForm {
  const char *name; /* of --emit; NULL ends the list */
  bool image;       /* it is for one architecture … */
  bool binary;      /* … and no text */
  /* By these gc knows a file of the form: how it begins and what its first line holds, or the
     machine of an ELF file. */
  const char *begins, *holds;
  uint16_t elf_machine;
} BackendForm;

/* What the C compiler makes of a part. */
typedef struct CodegenFile {
  const char *text;
  const char *path; /* instead of text: it is written already */
} CodegenFile;
typedef struct CodegenFiles {
  const char *header, *header_text; /* the name that all of them include; its text; or NULL */
  const char *march;                /* what they are compiled for: "-march=native"; or NULL */
  const char *macros;               /* what the C compiler defines with that; or NULL */
  VEC(CodegenFile) files;           /* of the tables, then of kernels */
  VEC(const char *) written;        /* in the folder given, to be removed at the end */
} CodegenFiles;

struct Backend {
  const char *name;     /* of --target, and of its Target */
  const char *suffix;   /* of its source: ".c" */
  const char *ranks_by; /* how the processes of its data-parallel programs talk: "mpi" */
  const BackendForm *forms;

  /* ---- architectures: NULL for what has none ---- */
  const char *default_arch;            /* of --arch: "sm_80,sm_90a,sm_100" */
  const char *one_arch, *arch_example; /* "sm_90", "sm_80 or sm_90a" */
  bool (*is_arch)(const char *arch);

  /* ---- this machine ---- */
  /* A program can be made for the device that is here; *arch: its architecture, if the compiler
     knows it. Says what is missing where there is a device and no compiler. NULL: the host's. */
  bool (*is_here)(Ctx *c, const char **arch);
  /* "NVRTC 13.0"; NULL where the compiler is missing, and *remedy says what to do. NULL: it needs
     none but the C compiler. */
  const char *(*compiler)(Ctx *c, const char **remedy);

  /* ---- a part ---- */
  /* In the context's arena; NULL after a diagnostic, with the exit code in o->failed. */
  const Target *(*target)(Ctx *c, const CodegenPart *p, CodegenOptions *o);
  /* Of all parts of the target, n, each with its Target: whether each can be the one that runs.
     False after a diagnostic, with the exit code in o->failed. *march: the level of one that is
     missing behind part *at, or NULL. NULL: there is one part. */
  bool (*levels)(Ctx *c, const CodegenPart *p, int n, CodegenOptions *o, int *at,
                 const char **march);
  /* Writes the whole source, for people. False: a diagnostic has said why. */
  bool (*source)(const CodegenPart *p, const CodegenOptions *o, FILE *f);
  /* A line for each kernel: how it is tiled, split and packed (docs/cli.md). */
  bool (*schedules)(const CodegenPart *p, const CodegenOptions *o, FILE *f);
  /* Devices of a model of time, the default first, up to a NULL; and the time of every launch on
     one of them, by the model (docs/time-model.md). NULL: there is none. */
  const char *const *devices;
  bool (*times)(const CodegenPart *p, const CodegenOptions *o, const char *device, FILE *f);
  /* The bytes of an image for p->arch[0], in the context's arena. False after a diagnostic, with
     the exit code in *code (3: no compiler). NULL: there are no images. */
  bool (*image)(const CodegenPart *p, const CodegenOptions *o, const BackendForm *form,
                const char **bytes, size_t *n, int *code);
  /* What goes into an executable, in several files that can be compiled at the same time; what they
     include beside the header is written into `dir`. False after a diagnostic as above. */
  bool (*files)(const CodegenPart *p, const CodegenOptions *o, const char *dir, Arena *a,
                CodegenFiles *out, int *code);
};

enum {
#define BACKEND(id, emit) BACKEND_##id,
#include "codegen/backends.def"
#undef BACKEND
  BACKENDS
};
extern const Backend *const backends[BACKENDS];
/* The one whose program every executable holds but one whose ranks talk on another target. */
const Backend *backend_host(void);
/* By the first n letters of a name; NULL: there is none. */
const Backend *backend_named(const char *name, size_t n);
/* Whose ranks talk so; NULL: nobody's. */
const Backend *backend_of_ranks(const char *how);
/* Whose form `emit` is, and which; NULL: nobody's. */
const Backend *backend_of_form(const char *emit, const BackendForm **form);

/* "ccache gcc -m64" as words, cut at blanks as make does; *n of them. */
void codegen_cc_words(Arena *a, const char *cc, const char ***words, uint32_t *n);
/* The file of its first word, found in PATH; NULL: none. */
const char *codegen_cc_path(Arena *a, const char *cc);

/* False after a diagnostic where a program of these ops can differ between processors. */
bool codegen_exact(const Module *m);

/* Compiles the parts, the host's last, and links them to an executable; `out` appears whole or not
   at all. A part is tried before those behind it. False after a diagnostic; exit code in *code (3:
   no compiler, no space). With save_temps each part's source stays beside `out`. */
bool codegen_exe(CodegenPart *part, int n, CodegenOptions *o, const char *out, int *code);

/* The same as a shared library, with its faces beside it: libNAME.so, NAME.h, NAME.pc and
   NAMEConfig.cmake. */
bool codegen_lib(CodegenPart *part, int n, CodegenOptions *o, const char *out, int *code);
/* A library with its Python module: DIR/libNAME.so and `out`, which is DIR/NAME.py. */
bool codegen_python(CodegenPart *part, int n, CodegenOptions *o, const char *out, int *code);
/* A wheel of the two: `out`, which is DIR/NAME-VERSION-py3-none-PLATFORM.whl. */
bool codegen_wheel(CodegenPart *part, int n, CodegenOptions *o, const char *out, int *code);
/* What follows NAME in the name of a wheel that is given none: it is for gc's own processor. */
const char *codegen_wheel_suffix(void);
bool codegen_is_wheel_name(Ctx *c, const char *out);
/* DIR/libNAME.so of DIR/NAME.py; NULL if `out` is no module that can be imported. */
const char *codegen_module_library(Ctx *c, const char *out);
/* NAME of DIR/libNAME.so; NULL if `out` is not named so. */
const char *codegen_lib_name(Ctx *c, const char *out);
/* The files that are written beside `out`: a library's faces, the header first, and with save_temps
   the source of each part and a library's functions. */
enum { CODEGEN_FACES = 3 };
const char *codegen_face(Ctx *c, const char *out, int i);
const char *codegen_face_what(int i); /* "the header" */
const char *codegen_saved_source(Ctx *c, const char *out, const CodegenPart *p);
const char *codegen_saved_api(Ctx *c, const char *out);
#endif
