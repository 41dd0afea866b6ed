/* Checkpoints: a safetensors file of all globals whose metadata says where the run stands.
   Contract: a resumed run goes on bit for bit as the uninterrupted one; the file is tied to the
   program, the data's row count, seed and batch, and a checksum covers every value, so that a
   flipped bit is noticed. */
#include "runtime/exec/run.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The order of the metadata. SUM comes last: it covers the others. The sums of the epoch's outputs
 * follow. */
typedef enum Key {
  K_VERSION,
  K_PROGRAM,
  K_ENTRY,
  K_SEED,
  K_ROWS,
  K_SHUFFLE,
  K_EPOCH,
  K_BATCH,
  K_DONE,
  K_STEPS,
  K_COUNT
} Key;
static const char *const keys[K_COUNT] = {"gc.checkpoint", "gc.program",    "gc.entry", "gc.seed",
                                          "gc.rows",       "gc.shuffle",    "gc.epoch", "gc.batch",
                                          "gc.done",       "gc.epoch_steps"};

struct Metas {
  Meta *m;
  char *names; /* "gc.sum.0" and so on, 24 bytes each */
  int n;       /* without the checksum, which is m[n] */
};

bool checkpoint_prepare(Run *r, Err *e) {
  int outs = r->o.entry->noutputs;
  Metas *ms = r->metas = calloc(1, sizeof *ms);
  if (ms) {
    ms->n = K_COUNT + outs;
    ms->m = calloc((size_t)ms->n + 1, sizeof *ms->m);
    ms->names = calloc((size_t)outs + 1, 24);
  }
  if (!ms || !ms->m || !ms->names) return err_set(e, EXIT_ENV, "no memory for a checkpoint");
  for (int i = 0; i < ms->n; i++) {
    char *name = ms->names + (i < K_COUNT ? 0 : (size_t)(i - K_COUNT) * 24);
    if (i >= K_COUNT) snprintf(name, 24, "gc.sum.%d", i - K_COUNT);
    ms->m[i].key = i < K_COUNT ? keys[i] : name;
  }
  ms->m[ms->n].key = "gc.checksum";
  return true;
}

void checkpoint_free(Run *r) {
  if (!r->metas) return;
  free(r->metas->m);
  free(r->metas->names);
  free(r->metas);
  r->metas = NULL;
}

static void put_number(Meta *m, uint64_t v) { snprintf(m->value, sizeof m->value, "%" PRIu64, v); }

static bool get_number(const Meta *m, uint64_t *v) {
  char *end;
  *v = strtoull(m->value, &end, 10);
  return m->value[0] >= '0' && m->value[0] <= '9' && *end == 0;
}

/* What must be the same for the run that resumes. */
static void identify(Run *r, Meta *m) {
  put_number(&m[K_VERSION], 1);
  snprintf(m[K_PROGRAM].value, sizeof m->value, "%016" PRIx64, gc_program.hash);
  snprintf(m[K_ENTRY].value, sizeof m->value, "%.63s", r->entry.entry->name);
  for (char *c = m[K_ENTRY].value; *c; c++)
    if (*c == '"' || *c == '\\' || (unsigned char)*c < 0x20) *c = '_';
  put_number(&m[K_SEED], r->env.seed);
  put_number(&m[K_ROWS], r->data.rows);
  put_number(&m[K_SHUFFLE], r->data.shuffled);
}

bool checkpoint_write(Run *r, const Position *p, Err *e) {
  Metas *ms = r->metas;
  identify(r, ms->m);
  put_number(&ms->m[K_EPOCH], p->epoch);
  put_number(&ms->m[K_BATCH], p->batch);
  put_number(&ms->m[K_DONE], p->done);
  put_number(&ms->m[K_STEPS], p->epoch_steps);
  for (int i = K_COUNT; i < ms->n; i++)
    snprintf(ms->m[i].value, sizeof ms->m->value, "%a", r->sums[i - K_COUNT]);
  snprintf(ms->m[ms->n].value, sizeof ms->m->value, "%08" PRIx32, weights_sum(r, ms->m, ms->n));
  return weights_write(r, &r->checkpoint, choose_all, ms->m, ms->n + 1, e);
}

typedef struct Tie {
  Key key;
  const char *what, *hint;
} Tie;
static const Tie ties[] = {
    {K_VERSION, "it was written in another format", "resume with the program that wrote it"},
    {K_PROGRAM, "it was written by another program",
     "resume with the program that wrote it, or read the weights with --load"},
    {K_ENTRY, "it was written by another entry", "resume the entry that wrote it"},
    {K_SEED, "it was written with another --seed", "give the same --seed, or none"},
    {K_ROWS, "it was written with data of another number of rows", "give the same files"},
    {K_SHUFFLE, "it was written with another choice of --shuffle", "give the same option"},
};

static bool settle(Run *r, Metas *ms, Position *p, const char *path, Err *e) {
  Meta *mine = calloc(K_COUNT, sizeof *mine);
  if (!mine) return err_set(e, EXIT_ENV, "no memory for a checkpoint");
  uint64_t seed;
  if (!r->o.given[OPT_SEED] && get_number(&ms->m[K_SEED], &seed)) r->env.seed = seed;
  identify(r, mine);
  for (unsigned i = 0; !e->code && i < sizeof ties / sizeof *ties; i++) {
    const char *found = ms->m[ties[i].key].value, *need = mine[ties[i].key].value;
    if (strcmp(found, need) == 0) continue;
    err_set(e, EXIT_WRONG, "%s: cannot be resumed: %s (%s, here %s)", path, ties[i].what, found,
            need);
    err_hint(e, "%s", ties[i].hint);
  }
  free(mine);
  if (e->code) return false;
  char sum[16];
  snprintf(sum, sizeof sum, "%08" PRIx32, weights_sum(r, ms->m, ms->n));
  bool ok = strcmp(sum, ms->m[ms->n].value) == 0;
  if (ok)
    ok = get_number(&ms->m[K_EPOCH], &p->epoch) && get_number(&ms->m[K_BATCH], &p->batch) &&
         get_number(&ms->m[K_DONE], &p->done) && get_number(&ms->m[K_STEPS], &p->epoch_steps) &&
         (p->batch == 0 || p->batch < r->data.batches || r->data.n == 0);
  for (int i = K_COUNT; ok && i < ms->n; i++) r->sums[i - K_COUNT] = strtod(ms->m[i].value, NULL);
  if (ok) return true;
  err_set(e, EXIT_WRONG, "%s: its checksum is wrong: the file is damaged", path);
  return err_hint(e, "resume from another checkpoint, or start again");
}

bool checkpoint_read(Run *r, Position *p, Err *e) {
  const char *path = r->o.text[OPT_RESUME];
  Metas *ms = r->metas;
  if (weights_read(r, path, choose_all, choose_all, NULL, false, ms->m, ms->n + 1, e))
    return settle(r, ms, p, path, e);
  if (e->code == EXIT_WRONG && ms->m[K_PROGRAM].seen) {
    e->hint[0] = 0;
    err_hint(e, "resume with the program that wrote the checkpoint; --load reads weights alone");
  }
  return false;
}
