/* A parsed module: kernels as decoded instructions over register slots.
 * Everything but the growing arrays is allocated from the module's pool and freed with it. */
#ifndef PTXI_MODULE_H
#define PTXI_MODULE_H
#include "lex.h"
#include "ptxi.h"
#include <setjmp.h>

enum { LANES = 32 };

/* ---- pool ---- */
typedef struct PoolChunk PoolChunk;
typedef struct Pool {
  PoolChunk *chunks;
  size_t left, total, limit; /* bytes; limit bounds what hostile text can ask for */
  jmp_buf *full;             /* where to go when the limit is passed */
} Pool;
void *pool_alloc(Pool *p, size_t size);
void *pool_grow(Pool *p, void *old, size_t old_count, size_t new_count, size_t item);
char *pool_text(Pool *p, const char *text, size_t size);
void pool_free(Pool *p);

/* ---- types ---- */
typedef enum Type {
  TYPE_NONE,
#define TYPE(name, bytes, kind) TYPE_##name,
#include "types.def"
#undef TYPE
  TYPE_COUNT
} Type;
typedef struct TypeRow {
  const char *name;
  unsigned bytes;
  char kind;
} TypeRow;
extern const TypeRow type_rows[TYPE_COUNT];
static inline unsigned type_bytes(Type t) { return type_rows[t].bytes; }
static inline bool type_signed(Type t) { return type_rows[t].kind == 's'; }
static inline bool type_float(Type t) { return type_rows[t].kind == 'f'; }
const char *type_name(Type t);
Type type_find(const char *text, size_t size); /* without the dot */

/* ---- operands and instructions ---- */
typedef enum SlotClass { SLOT_NONE, SLOT_PRED, SLOT_32, SLOT_64 } SlotClass;

/* A register, constant or special register: `at` is its place in a warp's register block. */
typedef struct Opd {
  SlotClass cls;  /* SLOT_NONE: a sink `_` or an absent operand */
  bool negated;   /* !%p */
  uint32_t slot;  /* number, for the map of defined lanes */
  uint32_t at;    /* bytes into the register block */
  int64_t offset; /* added to an address */
} Opd;

typedef enum Space {
  SPACE_GENERIC,
  SPACE_GLOBAL,
  SPACE_SHARED,
  SPACE_LOCAL,
  SPACE_PARAM,
  SPACE_CONST
} Space;
typedef enum Flow {
  FLOW_PLAIN, /* run() on the active lanes */
  FLOW_BRANCH,
  FLOW_EXIT,
  FLOW_TRAP,
  FLOW_BARRIER, /* bar.sync, bar.red, bar.arrive */
  FLOW_WARP,    /* run() once all lanes of the member mask are here */
  FLOW_WAIT,    /* wait() until it says true; false: something must happen first */
} Flow;
typedef enum Round { ROUND_NEAREST, ROUND_ZERO, ROUND_DOWN, ROUND_UP } Round;
enum { MOD_FTZ = 1, MOD_SAT = 2, MOD_ROUND = 4 };
/* Which quarters of the sources count for which of the result; see exec_parts.c. */
typedef enum Parts {
  PARTS_ALL,
  PARTS_MOVE,
  PARTS_PERMUTE,
  PARTS_INSERT,
  PARTS_LOW,
  PARTS_HIGH
} Parts;

typedef struct Ins Ins;
typedef struct Warp Warp;
typedef void Handler(Warp *w, const Ins *i, uint32_t mask);
typedef bool Waiter(Warp *w, const Ins *i, uint32_t mask);

struct Ins {
  Handler *run;
  Handler *inner; /* what run() wraps where mods are set */
  Waiter *wait;   /* FLOW_WAIT */
  Flow flow;
  Opd guard; /* SLOT_NONE: always */
  int line;
  uint16_t ndst, nopd;        /* operands 0..ndst-1 are written */
  bool own_init;              /* run() itself says which lanes of the results are defined */
  uint8_t type, from;         /* Type of the result and of the source */
  uint8_t vec;                /* elements of ld, st; matrices of ldmatrix */
  uint8_t space, mode, mode2; /* Space; what run() makes of it */
  uint8_t mods, round;
  uint8_t parts; /* Parts */
  Opd *opd;
  int target; /* FLOW_BRANCH: index of the instruction */
  int member; /* FLOW_WARP: operand with the member mask, or -1 for all */
};

/* ---- names ---- */
typedef struct Name {
  const char *text;
  size_t size;
  struct Name *next;
  enum { SYM_VAR, SYM_REG, SYM_LABEL, SYM_FAMILY } kind;
  int index;     /* of the variable or label; registers of the family */
  SlotClass cls; /* of the family */
  Opd opd;       /* the register */
} Name;
enum { NAME_BUCKETS = 1024 };
typedef struct Names {
  Name **bucket; /* NAME_BUCKETS heads */
  struct Names *outer;
} Names;
Names *names_open(Pool *p, Names *outer);
Name *names_find(const Names *n, const char *text, size_t size);   /* inner scopes first */
Name *names_add(Pool *p, Names *n, const char *text, size_t size); /* NULL where it exists */

/* ---- symbols ---- */
typedef struct Var { /* .shared, .const, .global, .local or .param */
  const char *name;
  Space space;
  uint64_t address; /* offset in its space; a host address for global and const */
  size_t size;
  bool dynamic; /* an open array in shared memory */
  bool zeros;   /* .global, and begins as zeros */
} Var;

typedef struct Range {
  uint64_t lo, hi;
} Range;

typedef struct SpecialUse {
  int id;
  Opd opd;
} SpecialUse;
typedef struct ConstUse {
  uint64_t bits;
  Opd opd;
} ConstUse;

/* Shared addresses: static variables from 0 with gaps, so that running off one is seen; the
 * launch's dynamic memory far above. */
enum { SHARED_GAP = 256, SHARED_DYNAMIC = (1 << 27) + (28 << 10), SHARED_ALIGN = 1024 };
/* In a cluster a shared address may name a CTA: 1 + its rank in the upper bits. The lower 18 bits,
 * which descriptors of matrices hold, tell static variables, if they have at most 28 KiB, and
 * dynamic memory apart. Dynamic memory begins at a multiple of the alignment that it declares, and
 * of nothing more up to SHARED_ALIGN. */
enum { SHARED_RANK_SHIFT = 28, SHARED_RANK_MASK = (1 << SHARED_RANK_SHIFT) - 1, SHARED_RANKS = 15 };
/* Parameters' addresses: the kernel's from 0, those of calls, in a thread's local memory, from
 * here. */
enum { CALL_PARAMS = 1 << 24 };

struct PtxKernel {
  const char *name;
  PtxModule *module;
  PtxParam *params;
  size_t nparams, params_size;
  Ins *ins;
  size_t nins, cap;
  uint32_t nslots, reg_bytes; /* of one warp's register block */
  size_t shared_used;         /* static bytes of shared memory */
  Range *shared_ranges;       /* its variables, with gaps between them */
  size_t nshared_ranges;
  size_t shared;                                 /* static bytes with the gaps */
  size_t local;                                  /* bytes of local memory a thread */
  unsigned max_threads, min_ctas, max_registers; /* 0: not said */
  unsigned cluster[3];                           /* CTAs of a cluster */
  uint64_t dynamic_at;                           /* where its dynamic shared memory begins */
  bool wgmma;
  bool grid_control; /* has griddepcontrol: its grid may begin before the one in front has ended */
  bool async;        /* has mbarriers, bulk copies, wgmma or cluster-wide accesses */
  ConstUse *consts;
  size_t nconsts, const_cap;
  Opd carry; /* of sums of several words; SLOT_NONE: none is made */
  SpecialUse *specials;
  size_t nspecials;
  unsigned shared_granule, global_granule; /* bytes of the narrowest access */
  int approximate; /* the line of its first .approx or .full form; 0: it has none */
};

typedef struct Function { /* .func with a body */
  Tok name;
  Lexer head; /* behind .func */
} Function;

struct PtxModule {
  Pool pool;
  Names *names;
  Var *vars;
  size_t nvars;
  Range *shared_ranges; /* variables that several kernels use */
  size_t nshared_ranges, shared, shared_used;
  PtxKernel **kernels;
  size_t nkernels;
  Function *functions;
  size_t nfunctions;
  size_t dynamic_align; /* of the open arrays in shared memory */
  int version;          /* ten times .version */
  int target;           /* 80 of .target sm_80 */
  char error[256];
};

/* ---- parsing ---- */
typedef struct Parser {
  PtxModule *m;
  Lexer lx;
  PtxKernel *k; /* the one being read */
  Names *scope;
  struct Label {
    const char *name;
    size_t size;
    int at, line;
  } * labels;
  size_t nlabels;
  uint32_t *const_hash; /* index into consts + 1 */
  size_t const_hash_size;
  int depth;   /* of functions in functions; 0: the kernel itself */
  int returns; /* label behind the function */
  jmp_buf fail;
} Parser;

typedef struct Decl { /* of a variable */
  Tok name;
  Type type;
  size_t align, count; /* count of elements; 0: an open array */
  bool array;
} Decl;

_Noreturn void parse_fail(Parser *p, int line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void parse_module(Parser *p);
void parse_body(Parser *p); /* of a kernel or a function: { … } */
Decl parse_decl(Parser *p); /* .align 16 .b8 name[64], behind the word of the state space */
Var *add_var(Parser *p, const Decl *d, Space space);
size_t local_place(Parser *p, size_t size, size_t align); /* in the local memory of a thread */
/* Reads one instruction up to its semicolon and appends it to the kernel. */
void decode_instruction(Parser *p);
Opd kernel_slot(Parser *p, SlotClass cls);
Opd kernel_const(Parser *p, SlotClass cls, uint64_t bits);
int label_index(Parser *p, const char *name, size_t size, int line);
void place_label(Parser *p, int index, int line); /* before the next instruction */

/* ---- call.c ---- */
void find_functions(Parser *p);
void parse_call_param(Parser *p); /* .param in a body, behind the word */

/* ---- special registers ---- */
enum {
#define SPECIAL(id, name, cls) SPECIAL_##id,
#include "special.def"
#undef SPECIAL
  SPECIAL_COUNT
};
#endif
