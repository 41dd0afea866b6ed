/* Training: epochs of batches, averages, checkpoints, and weights that are saved only while they
   are good. Contract: a loss that is not finite stops the run and saves nothing; a failed
   checkpoint is reported and the run goes on; a signal ends it after the step, saves, and makes the
   exit code 128 + its number. */
#include "runtime/exec/run.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

static void write_checkpoint(Run *r, const Position *p) {
  Err e = {0};
  if (!weights_finite(r, &e))
    err_hint(&e, "the older checkpoint is as it was");
  else
    checkpoint_write(r, p, &e);
  if (!e.code) return;
  err_print(r->program, &e);
  r->failed = e.code;
}

static bool step_ok(Run *r, const Position *p, uint64_t batch) {
  const GcEntry *e = r->entry.entry;
  if (exec_fault(r, e, batch)) return false;
  if (e->loss < 0) return true;
  const GcTensor *t = &e->outputs[e->loss];
  double loss = output_scalar(r, t);
  if (isfinite(loss)) return true;
  err_set(&r->err, EXIT_WRONG,
          "%s is %s at step %" PRIu64 " (epoch %" PRIu64 ", batch %" PRIu64 ")", t->name,
          isnan(loss) ? "nan" : "infinite", p->done + 1, p->epoch + 1, p->batch + 1);
  if (r->data.n && dataset_fault(&r->data, batch, &r->err)) return false;
  return err_hint(
      &r->err,
      "a smaller learning rate helps most often; nothing was saved, older files are as they were");
}

static void epoch_end(Run *r, Progress *g, Position *p, uint64_t total) {
  progress_epoch(r, g, p, total);
  p->epoch++;
  p->batch = p->epoch_steps = 0;
  memset(r->sums, 0, 8 * (size_t)r->entry.entry->noutputs);
}

static bool checkpoint_due(const Run *r, uint64_t done, bool epoch) {
  return r->o.given[OPT_CHECKPOINT] &&
         (r->checkpoint_every ? done % r->checkpoint_every == 0 : epoch);
}

/* Whether the step after the next one is sure, in this epoch, with nothing saved between. */
static bool goes_on(const Run *r, const Position *p, uint64_t total) {
  return p->done + 1 < total && p->batch + 1 < p->batches && !signal_seen() &&
         !checkpoint_due(r, p->done + 1, false);
}

static bool one_step(Run *r, Position *p, uint64_t total) {
  const GcEntry *e = r->entry.entry;
  uint64_t batch = r->data.n ? p->batch : NO_BATCH;
  r->more = goes_on(r, p, total);
  r->next = r->data.n ? p->batch + 1 : NO_BATCH;
  r->env.step = r->step ? (uint64_t)*r->step : p->done;
  exec_run(r, &r->entry, batch);
  if (!step_ok(r, p, batch)) return false;
  for (int i = 0; i < e->noutputs; i++)
    if (tensor_count(&e->outputs[i]) == 1) r->sums[i] += output_scalar(r, &e->outputs[i]);
  p->done++, p->batch++, p->epoch_steps++;
  return true;
}

/* Whoever trains for an hour and forgets --save should hear of it. */
static void say_lost(const Run *r) {
  if (r->o.given[OPT_SAVE] || r->o.given[OPT_CHECKPOINT]) return;
  note(r, "the weights were not kept; --save FILE writes them");
}

static int finish(Run *r, Progress *g, Position *p, uint64_t total, bool checkpointed) {
  int sig = signal_seen();
  if (p->epoch_steps && p->done > g->begin) progress_epoch(r, g, p, total);
  if (r->o.given[OPT_CHECKPOINT] && !checkpointed) write_checkpoint(r, p);
  Err e = {0};
  weights_save(r, &e);
  if (!e.code) log_close(r, &e);
  if (e.code) {
    r->err = e;
    return e.code;
  }
  if (p->done > g->begin) say_lost(r);
  return sig ? 128 + sig : r->failed;
}

int train_run(Run *r) {
  Position p = {0};
  Progress g;
  if (r->o.given[OPT_RESUME] && !checkpoint_read(r, &p, &r->err)) return r->err.code;
  uint64_t total = r->o.given[OPT_STEPS] ? r->o.count[OPT_STEPS] : 1;
  p.batches = r->data.n ? r->data.batches : total;
  if (r->data.n && !r->o.given[OPT_STEPS] &&
      !checked_mul(r->data.batches, r->o.given[OPT_EPOCHS] ? r->o.count[OPT_EPOCHS] : 1, &total)) {
    err_set(&r->err, EXIT_USAGE, "--epochs is beyond what can be counted");
    return EXIT_USAGE;
  }
  if (r->data.n && r->data.rows % r->data.batch)
    note(r, "each epoch leaves out %" PRIu64 " of %" PRIu64 " rows: batches have %" PRIu64,
         r->data.rows % r->data.batch, r->data.rows, r->data.batch);
  if (p.done >= total && r->o.given[OPT_RESUME])
    note(r, "%" PRIu64 " steps are done already, %" PRIu64 " were asked for", p.done, total);
  if (!log_open(r, &p, &r->err)) return r->err.code;
  dataset_order(&r->data, r->env.seed, p.epoch);
  progress_start(r, &g, &p);
  bool checkpointed = p.done > 0 && p.done >= total;
  while (p.done < total && (!signal_seen() || exec_ahead(r))) {
    if (!one_step(r, &p, total)) {
      if (g.terminal && !r->o.given[OPT_QUIET]) fputc('\n', stderr);
      log_close(r, &r->err);
      return r->err.code;
    }
    log_step(r, &p);
    progress_step(r, &g, &p, total);
    bool epoch = p.batch == p.batches;
    if (epoch) {
      epoch_end(r, &g, &p, total);
      if (p.done < total) dataset_order(&r->data, r->env.seed, p.epoch);
    }
    checkpointed = checkpoint_due(r, p.done, epoch);
    if (checkpointed) write_checkpoint(r, &p);
  }
  return finish(r, &g, &p, total, checkpointed);
}
