/* The functions behind passes.def, and helpers that passes share and other floors do not need.
   Contract: a pass returns false after a diagnostic; it counts its changes in r->changes. */
#ifndef GC_PASSES_PASS_LIST_H
#define GC_PASSES_PASS_LIST_H
#include "passes/manager/cache.h"
#include "passes/passes.h"

#define PASS(ID, NAME, NEEDS, FORBIDS, GIVES, KEEPS, ARGS, HELP) bool pass_##ID(PassRun *r);
#include "passes/passes.def"
#undef PASS

/* What every pass walks over. NULL behind the end. */
static inline Entry *pass_entry(const Module *m, uint32_t k) { return module_entry(m, k); }

/* In front of autodiff: the entry differentiates. */
static inline bool pass_has_gradients(const Entry *e) {
  for (OpId i = 0; i < e->ops.n; i++)
    if (op_at(e, i)->kind == OP_GRAD) return true;
  return false;
}

/* ---- snapshot.c ---- */
/* The program at hand, to come back to. */
typedef struct Snapshot {
  Entry *entry;   /* by entry, as module_entry numbers them */
  Entry *gather;  /* which the program has; or NULL */
  Global *global; /* by global */
  uint32_t globals;
} Snapshot;
/* In the arena; the entries go on with ops of their own. */
Snapshot snapshot_take(Arena *a, const Module *m);
/* The same; the entries stay, and the copies are kept. */
Snapshot snapshot_copy(Arena *a, const Module *m);
/* May be done again only after entries were copied. */
void snapshot_restore(Module *m, const Snapshot *s);

struct Trial;
/* run.c: runs the passes behind the one at hand, with other options. */
bool passes_rest(const PassRun *r, const PassOptions *opt);
/* Runs the whole pipeline on the program as it came, under a limit in bytes, and undoes what it
   did: what entry k then takes. False after an error, or if the program as it came is not known. */
bool passes_again(const PassRun *r, uint64_t limit, uint32_t k, struct Trial *out);
/* The same up to and with the first one of this name; false also if there is none. */
bool passes_until(const PassRun *r, const char *name, const PassOptions *opt);
/* The stages behind the one at hand that run a pass of this name, up to the first one that runs
   `until` if that is not NULL, as bits of EntryNotes.left_out. */
uint64_t passes_stages(const PassRun *r, const char *name, const char *until);
/* All stages behind the last one that runs a pass of this name, as such bits; 0 if there is none.
 */
uint64_t passes_behind(const PassRun *r, const char *name);

/* ---- trial.c ---- */
typedef struct Trial { /* of an entry */
  uint64_t arena;      /* bytes */
  uint64_t bound;      /* no arena of its order is smaller */
  uint64_t copies;     /* bytes of copies of weights that layout_copies counts */
  uint64_t converted;  /* bytes of the largest copy of a weight that it loads in place of a value
                          that it would convert: master_weights.c */
  uint64_t again;      /* arithmetic that is recomputed */
  uint64_t flops;      /* all arithmetic of a run */
} Trial;
/* Of an entry with a plan; all 0 of one without. */
Trial trial_of(const Entry *e, const Target *t);
/* Bytes of what is prepared for two batches, whose plan has so many for one. */
static inline uint64_t prepared_bytes(uint64_t arena) { return 2 * arena; }
/* The same of the entry's plan; with its arena this is what a limit is about. */
uint64_t trial_prepared(const Entry *e);
/* Runs the passes behind the one at hand under a limit in bytes, or none if that is 0, and undoes
   what they did; false after an error. out: of every entry but init. */
bool trial_run(PassRun *r, uint64_t limit, Trial *out);
/* The same with little search: it may miss a limit that can be met, or bytes that can be saved. */
bool trial_brief(PassRun *r, uint64_t limit, Trial *out);
/* `now` alone meets the limit, or recomputes less within it, or misses it by less. */
bool trial_is_better(const Trial *now, const Trial *was, uint64_t limit);
/* Adds the points of the program as it is to the module's memory curve. */
bool trial_curve(PassRun *r);
/* The limit in bytes; a share is one of what the program takes as it is when it is first asked for.
 */
bool trial_limit(PassRun *r, uint64_t *limit);

/* What a pass may do with large tensors of an entry; `min`: bytes of those that it looks at. */
typedef struct TrialRewrite {
  bool (*any)(PassRun *r, const Entry *e, uint64_t min);
  void (*apply)(PassRun *r, Entry *e, uint64_t min);
  void (*report)(PassRun *r, const Entry *old, uint64_t min); /* what has been done, as remarks */
  int share; /* where no tensor has 1 / share of the limit it is tried only if the limit is not met
                without; 0: it is tried everywhere */
} TrialRewrite;
/* Tries it on each entry that exceeds the limit or runs something again, and keeps it where the
   entry meets the limit for it, or runs less arithmetic again; does nothing within a trial, unless
   that is for a curve. With `all` it is done everywhere, whatever the size. False after an error.
 */
bool trial_rewrite(PassRun *r, const TrialRewrite *w, bool all);

/* cheap_remat.c: bytes worth the trouble; cheap-remat{least=N} */
enum { RECOMPUTE_MIN = 4096 };

/* Anchor ops are the costly ones: a distance in the program counts them. A reader is far from a
   value if at least so many of them stand between the two. */
enum { FAR_ANCHORS = 2 };
static inline bool op_is_anchor(const Op *op) {
  OpClass c = op_info[op->kind].cls;
  return c == CLASS_CONTRACT || c == CLASS_WINDOW || c == CLASS_ATTENTION || op->kind == OP_SCAN;
}

/* transposed_weights.c: bytes of weights of a planned entry that are there twice, for the layout in
   which the steps of a loop read them. */
uint64_t layout_copies(const Entry *e, int align);

/* dce.c: of one entry; what is left stays in its order. Returns how much it dropped. */
int64_t dce_entry(Arena *scratch, Entry *e);

/* ---- scan_rows.c ---- */
/* Over all iterations of the loop the ids are rows from … from + trips - 1 of a table of `depth`
   rows, one each, the last one first if sign is -1. */
bool rows_by_counter(const Entry *e, const Op *scan, ValueId id, int64_t depth, int *sign,
                     int64_t *from);
/* The op takes such a row. */
bool row_by_counter(const Entry *e, const Op *scan, const Op *op, int *sign, int64_t *from);
/* Builds what all iterations take: n rows of the table, backwards if sign is -1. */
ValueId rows_slice(Builder *b, ValueId table, int64_t from, int64_t n, int sign);

/* saved.c: a remark for each activation that is saved for the backward pass. */
void report_saved_activations(PassRun *r, const Entry *e);

/* grad_targets.c: by value id, the values that a grad op differentiates by, without inputs and
   loads. NULL if there are none. */
bool *grad_targets(Arena *a, const Entry *e);
/* A copy of `now`, the new value of target `was`, which no other value merges with. */
ValueId mark_grad_target(Builder *b, const Entry *old, ValueId was, ValueId now);
#endif
