/* Shared by the files of fusion: the groups in the making, and the order in which they stand. */
#ifndef GC_PASSES_FUSE_IMPL_H
#define GC_PASSES_FUSE_IMPL_H
#include "passes/fuse/kernel_form.h"
#include "passes/manager/pass_list.h"
#include "passes/plan/plan_impl.h"

typedef struct FusionGroup { /* a group in the making */
  Form form;
  const Type *domain; /* MATMUL: that of a reshape among the members, if there is one */
  int outer;          /* ROWS: axes before the row */
  const Op *root;     /* reduction or matmul */
  VEC(const Op *) members;
  OpId node;      /* the one of its members that stands for it: acyclic.c */
  bool expensive; /* computes functions: not to be recomputed in every pass of a row op */
  bool row_ops;   /* softmax and its like: several passes */
} FusionGroup;

typedef struct LiveBytes LiveBytes;

typedef struct Fuse {
  PassRun *r;
  const Entry *e;
  Arena *a;
  const Block *block; /* that is being grouped */
  FusionGroup **unit; /* by op; NULL: not in a group */
  uint32_t *pos;      /* by op: position in its block */
  uint32_t *place;    /* by op: position in the text */
  uint32_t places;
  bool *inlined;           /* by op: it is copied into the groups that read it */
  const Op **stores;       /* by op: the attention whose results it stores for it; or NULL */
  uint32_t *anchors;       /* by op: products, windows and loops on the longest way to it */
  uint32_t *collectives;   /* by op: those on the longest way to it */
  VEC(const Op *) * users; /* by value: ops that read it */
  /* The order of groups and of ops in none, by the op that stands for each: acyclic.c */
  uint64_t *rank;          /* those who read have larger ones, with gaps between */
  OpId *next, *before;     /* in the order of ranks, or NO_ID */
  uint32_t *seen, stamp;   /* the last search that visited it */
  uint32_t *enter, *leave; /* by op: what stands below it in a tree of readers */
  const char *watch;       /* paths with + between them: what these name stays in memory */
  bool in_order;           /* the ops stand in an order of execution whose peak must not grow */
  LiveBytes *live; /* groups stay within the live bytes of the order at hand; NULL: anywhere */
  /* while rebuilding */
  bool *emitted; /* by op */
  /* by value: a number of what it computes from the arguments of this group */
  uint64_t *computes;
  const FusionGroup **computed_in;
} Fuse;

/* It computes: a member that does not is a reshape between others. */
static inline bool fuse_computes(const Op *op) { return op->kind != OP_RESHAPE; }

/* Attention reads views, and stores its results where their readers want them. Not within the live
   bytes of an order. */
static inline bool fuse_is_strided(const Fuse *f) {
  const Target *t = f->r->opt->target;
  return t && t->strided_attention && !f->in_order;
}

static inline bool fuse_memory_form(Form f) { return f == FORM_MATMUL || f == FORM_WINDOW; }

/* Where a value comes from, behind views: the map is in the axes of v. */
typedef struct Source {
  ValueId v;
  const Op *def; /* NULL: an input */
  const Axis *map;
  bool viewed;
} Source;
Source fuse_source(const Fuse *f, ValueId v); /* legality.c */

/* ---- legality.c ---- */
/* Belongs to a group: it computes. */
bool fuse_is_core(const Fuse *f, const Op *op);
/* Copied into the groups that read it. */
bool fuse_is_inline(const Fuse *f, const Op *op);
/* The product's group that a reshape joins: it keeps the last axis, so that the product's rows are
   the reshape's in another count. NULL: it is none. */
FusionGroup *fuse_reshaped(const Fuse *f, const Op *op);
/* Why the forms of two groups do not go together; NULL: they do, and *out is what both are. */
const char *fuse_form_refuses(const Fuse *f, const FusionGroup *a, const FusionGroup *b,
                              FusionGroup *out);
/* Why a, which comes first, and b may not be one group; NULL: they may. */
const char *fuse_refuses(Fuse *f, FusionGroup *a, FusionGroup *b);

/* ---- attention.c ---- */
/* Before fusion: what reads a result of attention beside its transpose reads that. */
void fuse_share_transposes(PassRun *r, Entry *e);
/* Before the block is grouped: what stores the results of attention for it, beginning with their
   transposes. */
void fuse_find_stores(Fuse *f);
/* Where an operand of attention lies that views make: what they are views of; v itself: they are
   not for its kernel. */
ValueId fuse_strided(const Fuse *f, const Op *attention, ValueId v);
/* Behind the grouping: views of operands that only attention reads are built in its kernels alone.
 */
void fuse_release_views(Fuse *f);

/* ---- update.c ---- */
/* The map whose result the dynamic_update writes, and which may write it there itself; or NULL. */
FusionGroup *fuse_updated(const Fuse *f, const Op *op);

/* ---- sums.c ---- */
/* The group is the sum of one long row, or several that fuse_sums_together let join. */
bool fuse_is_long_sum(const Fuse *f, const FusionGroup *u);
/* Two such groups of one domain may share a kernel: no value is live for longer. */
bool fuse_sums_together(const Fuse *f, const FusionGroup *a, const FusionGroup *b);

/* ---- build.c ---- */
void fuse_build(Fuse *f, Entry *e);

/* ---- profit.c ---- */
/* The operand whose producer the op joins first, if it can: of several products the last one, and a
   long sum of products takes in its terms one by one, so that none waits for all others. */
int fuse_first(const Fuse *f, const Op *op);
/* Why the op had better not be computed with group a, where its operand comes from; NULL: it may.
 */
const char *fuse_apart(const Fuse *f, const FusionGroup *a, const Source *s, const Op *op);

/* ---- acyclic.c ---- */
/* Before the block is grouped: every op stands for itself, in the given order. */
void fuse_order(Fuse *f);
/* A way leads from one to the other through a third, or so many stand between them that it is not
   looked for. */
bool fuse_makes_cycle(Fuse *f, const FusionGroup *a, const FusionGroup *b);
/* Before they become one: one op stands for both, behind what either reads and ahead of what reads
   either. */
void fuse_reorder(Fuse *f, FusionGroup *a, FusionGroup *b);

/* ---- live_bytes.c ---- */
/* Before the block is grouped: groups in it stay within the live bytes of its present order. */
void fuse_live_bytes(Fuse *f);
/* As one they run at the place of either, and the peak does not grow: a then stands there. They
   become one next. */
bool fuse_stays_within(Fuse *f, FusionGroup *a, FusionGroup *b);
/* The op has no place of its own in the order: it is built where it is read. */
bool fuse_floats(const Fuse *f, const Op *op);
#endif
