/* Checkpoints: a safetensors file of all globals whose metadata says where the run stands.
   Contract: a resumed run goes on bit for bit as the uninterrupted one; the file is tied to the
   operations of the program, to the data, by a few of its rows, and to the seed; hypers go on as
   they were unless the command line gives them; a checksum covers every value, so that a flipped
   bit is noticed. */
#include "runtime/program/command.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The order of the metadata. The hypers and the sums of the epoch's outputs follow, then the
   checksum, which covers the others. */
typedef enum Key {
  K_VERSION,
  K_PROGRAM,
  K_ENTRY,
  K_SEED,
  K_ROWS,
  K_DATA,
  K_SHUFFLE,
  K_EPOCH,
  K_BATCH,
  K_DONE,
  K_STEPS,
  K_METRIC,
  K_BEST,
  K_BEST_STEP,
  K_WAITED,
  K_OWED,
  K_COUNT
} Key;
static const char *const keys[K_COUNT] = {
    CHECKPOINT_KEY, "gc.program",   "gc.entry",  "gc.seed",           "gc.rows",        "gc.data",
    "gc.shuffle",   "gc.epoch",     "gc.batch",  "gc.done",           "gc.epoch_steps", "gc.metric",
    "gc.best",      "gc.best_step", "gc.waited", "gc.validation_owed"};

struct Metas {
  Meta *m;
  char *names; /* "gc.hyper.lr", "gc.sum.0" and so on, one after the other */
  int sums;    /* the first of the sums */
  int n;       /* without the checksum, which is m[n] */
  uint32_t data;
  bool data_known;
};

enum { NAME = 24 }; /* bytes of a name but for the hyper's own */

static size_t names_bytes(int outs) {
  size_t n = NAME * ((size_t)outs + 1);
  for (int i = 0; i < gc_program.nhypers; i++) n += NAME + strlen(gc_program.hypers[i].name);
  return n;
}

bool checkpoint_prepare(Command *cmd, Err *e) {
  int outs = cmd->options.entry->noutputs;
  Metas *ms = cmd->metas = calloc(1, sizeof *ms);
  if (ms) {
    ms->sums = K_COUNT + gc_program.nhypers;
    ms->n = ms->sums + outs;
    ms->m = calloc((size_t)ms->n + 1, sizeof *ms->m);
    ms->names = malloc(names_bytes(outs));
  }
  if (!ms || !ms->m || !ms->names) return err_set(e, EXIT_ENV, "no memory for a checkpoint");
  char *at = ms->names, *end = at + names_bytes(outs);
  for (int i = 0; i < ms->n; i++) {
    ms->m[i].key = i < K_COUNT ? keys[i] : at;
    if (i < K_COUNT) continue;
    int n = i < ms->sums ? snprintf(at, (size_t)(end - at), "gc.hyper.%s",
                                    gc_program.hypers[i - K_COUNT].name)
                         : snprintf(at, (size_t)(end - at), "gc.sum.%d", i - ms->sums);
    at += n + 1;
  }
  ms->m[ms->n].key = "gc.checksum";
  return true;
}

void checkpoint_free(Command *cmd) {
  if (!cmd->metas) return;
  free(cmd->metas->m);
  free(cmd->metas->names);
  free(cmd->metas);
  cmd->metas = NULL;
}

static void put_number(Meta *m, uint64_t v) { snprintf(m->value, sizeof m->value, "%" PRIu64, v); }

static bool get_number(const Meta *m, uint64_t *v) {
  char *end;
  *v = strtoull(m->value, &end, 10);
  return m->value[0] >= '0' && m->value[0] <= '9' && *end == 0;
}

/* Names stand in the metadata as they are. */
static void put_text(Meta *m, const char *text) {
  snprintf(m->value, sizeof m->value, "%.63s", text);
  for (char *c = m->value; *c; c++)
    if (*c == '"' || *c == '\\' || (unsigned char)*c < 0x20) *c = '_';
}

/* What must be the same for the run that resumes. */
static void identify(Command *cmd, Meta *m) {
  put_number(&m[K_VERSION], 4);
  snprintf(m[K_PROGRAM].value, sizeof m->value, "%016" PRIx64, gc_program.hash);
  put_text(&m[K_ENTRY], cmd->entry->name);
  char metric[256];
  validation_metric(cmd, metric, sizeof metric);
  put_text(&m[K_METRIC], metric);
  put_number(&m[K_SEED], cmd->session.env.seed);
  put_number(&m[K_ROWS], cmd->data.rows);
  if (!cmd->metas->data_known) cmd->metas->data = dataset_sum(&cmd->data);
  cmd->metas->data_known = true;
  snprintf(m[K_DATA].value, sizeof m->value, "%08" PRIx32, cmd->metas->data);
  put_number(&m[K_SHUFFLE], cmd->data.shuffled);
}

/* The globals are on the host. */
bool checkpoint_write(Command *cmd, const Position *p, Err *e) {
  const Globals w = session_globals(&cmd->session);
  Metas *ms = cmd->metas;
  identify(cmd, ms->m);
  put_number(&ms->m[K_EPOCH], p->epoch);
  put_number(&ms->m[K_BATCH], p->batch);
  put_number(&ms->m[K_DONE], p->done);
  put_number(&ms->m[K_STEPS], p->epoch_steps);
  snprintf(ms->m[K_BEST].value, sizeof ms->m->value, "%a",
           cmd->validation.entry ? cmd->validation.best : NAN);
  put_number(&ms->m[K_BEST_STEP], cmd->validation.best_step);
  put_number(&ms->m[K_WAITED], cmd->validation.waited);
  put_number(&ms->m[K_OWED], cmd->validation.owed);
  for (int i = K_COUNT; i < ms->sums; i++)
    snprintf(ms->m[i].value, sizeof ms->m->value, "%a", session_hyper(&cmd->session, i - K_COUNT));
  for (int i = ms->sums; i < ms->n; i++)
    snprintf(ms->m[i].value, sizeof ms->m->value, "%a", cmd->sums[i - ms->sums]);
  return weights_write(&w, &cmd->checkpoint, choose_all, NULL, ms->m, ms->n + 1, e);
}

typedef struct Tie {
  Key key;
  const char *what, *hint;
} Tie;
static const Tie ties[] = {
    {K_VERSION, "it was written in another format", "resume with the program that wrote it"},
    {K_PROGRAM, "it was written by a program that trains otherwise",
     "resume with the program that wrote it, or read the weights with --load"},
    {K_ENTRY, "it was written by another entry", "resume the entry that wrote it"},
    {K_SEED, "it was written with another --seed", "give the same --seed, or none"},
    {K_ROWS, "it was written with data of another number of rows", "give the same files"},
    {K_DATA, "it was written with other data of as many rows", "give the same files"},
    {K_SHUFFLE, "it was written with another choice of --shuffle", "give the same option"},
};

/* Those that the command line does not give are what they were. */
static bool restore_hypers(Command *cmd, const Metas *ms, const char *path, Err *e) {
  bool changed = false;
  for (int i = 0; i < gc_program.nhypers; i++) {
    const GcHyper *h = &gc_program.hypers[i];
    double was = strtod(ms->m[K_COUNT + i].value, NULL), now = session_hyper(&cmd->session, i);
    if (memcmp(&was, &now, sizeof was) == 0) continue;
    char from[32], to[32];
    hyper_text(from, h, was), hyper_text(to, h, now);
    if (cmd->options.hyper_given[i])
      note(cmd, "%s: it was written with --%s %s; training goes on with %s", path, h->name, from,
           to);
    else
      session_set_hyper(&cmd->session, i, was), changed = true;
  }
  return !changed || session_upload_hypers(&cmd->session, e);
}

/* Rank 0 sums up what all have read; if it is wrong, it ends all. */
static bool sum_fits(Command *cmd, const Metas *ms) {
  const Globals w = session_globals(&cmd->session);
  Meta sum;
  if (!ranks_speaks(cmd)) {
    slices_serve(&w);
    return true;
  }
  weights_sum(&w, ms->m, ms->n, &sum);
  slices_done(&w);
  return strcmp(sum.value, ms->m[ms->n].value) == 0;
}

static bool settle(Command *cmd, Metas *ms, Position *p, const char *path, Err *e) {
  Meta *mine = calloc(K_COUNT, sizeof *mine);
  if (!mine) return err_set(e, EXIT_ENV, "no memory for a checkpoint");
  uint64_t seed;
  if (!cmd->options.given[OPT_SEED] && get_number(&ms->m[K_SEED], &seed))
    cmd->session.env.seed = seed;
  identify(cmd, mine);
  for (unsigned i = 0; !e->code && i < sizeof ties / sizeof *ties; i++) {
    const char *found = ms->m[ties[i].key].value, *need = mine[ties[i].key].value;
    if (strcmp(found, need) == 0) continue;
    err_set(e, EXIT_WRONG, "%s: cannot be resumed: %s (%s, here %s)", path, ties[i].what, found,
            need);
    err_hint(e, "%s", ties[i].hint);
  }
  Meta metric = mine[K_METRIC];
  free(mine);
  if (e->code) return false;
  uint64_t owed = 0;
  bool ok = sum_fits(cmd, ms);
  if (ok)
    ok = get_number(&ms->m[K_EPOCH], &p->epoch) && get_number(&ms->m[K_BATCH], &p->batch) &&
         get_number(&ms->m[K_DONE], &p->done) && get_number(&ms->m[K_STEPS], &p->epoch_steps) &&
         get_number(&ms->m[K_BEST_STEP], &cmd->validation.best_step) &&
         get_number(&ms->m[K_WAITED], &cmd->validation.waited) &&
         get_number(&ms->m[K_OWED], &owed) && (p->batch <= cmd->data.batches || cmd->data.n == 0);
  cmd->validation.owed = owed != 0;
  cmd->validation.best = strtod(ms->m[K_BEST].value, NULL);
  for (int i = ms->sums; ok && i < ms->n; i++)
    cmd->sums[i - ms->sums] = strtod(ms->m[i].value, NULL);
  if (ok) validation_resume(cmd, ms->m[K_METRIC].value, metric.value);
  if (ok) return restore_hypers(cmd, ms, path, e);
  err_set(e, EXIT_WRONG, "%s: its checksum is wrong: the file is damaged", path);
  return err_hint(e, "resume from another checkpoint, or start again");
}

bool checkpoint_read(Command *cmd, Position *p, Err *e) {
  const char *path = cmd->options.text[OPT_RESUME];
  Metas *ms = cmd->metas;
  const Globals w = session_globals(&cmd->session);
  const WeightsRequest q = {
      .path = path, .want = choose_all, .need = choose_all, .meta = ms->m, .nmeta = ms->n + 1};
  if (session_download(&cmd->session, e) && weights_read(&w, &q, 1, e) &&
      session_upload(&cmd->session, e))
    return settle(cmd, ms, p, path, e);
  if (e->code == EXIT_WRONG && ms->m[K_PROGRAM].seen) {
    e->hint[0] = 0;
    err_hint(e, "resume with the program that wrote the checkpoint; --load reads weights alone");
  }
  return false;
}
