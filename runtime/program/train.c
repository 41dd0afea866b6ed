/* Training: epochs of batches, averages, checkpoints, and weights that are saved only while they
   are good. Contract: a loss that is not finite stops the run and saves nothing; a failed
   checkpoint is reported and the run goes on; a signal ends it after the step, saves, and makes the
   exit code 128 + its number. */
#include "runtime/program/command.h"
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <string.h>

enum { PLOT_SECONDS = 10 }; /* between two drawings: whoever watches a file looks that often */

/* Reported; the run goes on. */
static void say_failed(Command *cmd, const Err *e) {
  err_print(cmd->name, e);
  cmd->failed = e->code;
}

static void draw_plot(Command *cmd) {
  Err e = {0};
  if (!plot_write(cmd, &e)) say_failed(cmd, &e);
}

static void write_checkpoint(Command *cmd, const Position *p) {
  Err e = {0};
  const Globals w = session_globals(&cmd->session);
  if (!ranks_speaks(cmd)) {
    if (session_download(&cmd->session, &cmd->err)) slices_serve(&w);
    return;
  }
  if (cmd->log) fflush(cmd->log); /* a run that resumes has no gap in its log */
  if (session_download(&cmd->session, &e)) checkpoint_write(cmd, p, &e);
  slices_done(&w);
  if (e.code) say_failed(cmd, &e); /* or the device is lost, which has been said */
}

static bool loss_ok(Command *cmd, const Position *p, uint64_t batch) {
  const GcEntry *e = cmd->entry;
  if (e->loss < 0) return true;
  const GcTensor *t = &e->outputs[e->loss];
  double loss = output_scalar(cmd, t);
  if (isfinite(loss)) return true;
  ranks_fail(cmd);
  err_set(&cmd->err, EXIT_WRONG,
          "%s is %s at step %" PRIu64 " (epoch %" PRIu64 ", batch %" PRIu64 ")", t->name,
          isnan(loss) ? "nan" : "infinite", p->done + 1, p->epoch + 1, p->batch + 1);
  if (cmd->data.n && dataset_fault(&cmd->data, batch, &cmd->err)) return false;
  if (cmd->validation.saved)
    return err_hint(&cmd->err,
                    "a smaller learning rate helps most often; --check-finite names the operation "
                    "that made it, --watch PATH prints a value's statistics; %s has the weights of "
                    "step %" PRIu64,
                    cmd->save.path, cmd->validation.best_step);
  return err_hint(
      &cmd->err,
      "a smaller learning rate helps most often; --check-finite names the operation that made it, "
      "--watch PATH prints a value's statistics; nothing was saved, older files are as they were");
}

static void epoch_end(Command *cmd, Position *p) {
  p->epoch++;
  p->batch = p->epoch_steps = 0;
  memset(cmd->sums, 0, 8 * (size_t)cmd->entry->noutputs);
}

static bool checkpoint_due(const Command *cmd, uint64_t done, bool epoch) {
  return cmd->options.given[OPT_CHECKPOINT] &&
         (cmd->checkpoint_every ? done % cmd->checkpoint_every == 0 : epoch);
}

/* Whether the step after the next one is sure, in this epoch, with nothing saved between. */
static bool goes_on(const Command *cmd, const Position *p, uint64_t total) {
  return p->done + 1 < total && p->batch + 1 < p->batches && !command_signal(cmd) &&
         !checkpoint_due(cmd, p->done + 1, false) && !validation_due(cmd, p->done + 1, false);
}

static bool one_step(Command *cmd, Position *p, uint64_t total) {
  const GcEntry *e = cmd->entry;
  uint64_t batch = cmd->data.n ? p->batch : NO_BATCH;
  const RunRequest q = {.batch = batch,
                        .more = goes_on(cmd, p, total),
                        .next = cmd->data.n ? p->batch + 1 : NO_BATCH};
  cmd->session.env.step = cmd->session.step ? (uint64_t)*cmd->session.step : p->done;
  if (!command_step(cmd, &q, batch) || !loss_ok(cmd, p, batch)) return false;
  for (int i = 0; i < e->noutputs; i++)
    if (tensor_count(&e->outputs[i]) == 1)
      aggregate_add(GC_MEAN, &cmd->sums[i], cmd->now[i] = output_scalar(cmd, &e->outputs[i]),
                    cmd->data.n ? dataset_weight(&cmd->data, batch, batch + 1) : 1);
  p->done++, p->batch++, p->epoch_steps++;
  return true;
}

/* Whoever trains for an hour and forgets --save should hear of it. */
static void say_lost(const Command *cmd) {
  if (cmd->options.given[OPT_SAVE] || cmd->options.given[OPT_CHECKPOINT]) return;
  note(cmd, "the weights were not kept; --save FILE writes them");
}

static void say_stopped(const Command *cmd, const Position *p, int sig) {
  const char *name = sig == SIGINT ? "SIGINT" : "SIGTERM";
  if (cmd->options.given[OPT_CHECKPOINT] && cmd->failed == 0)
    note(cmd, "stopped by %s after step %" PRIu64 "; --resume %s goes on from there", name, p->done,
         cmd->checkpoint.path);
  else
    note(cmd, "stopped by %s after step %" PRIu64, name, p->done);
}

static int finish(Command *cmd, Progress *g, Position *p, uint64_t total, bool checkpointed) {
  int sig = command_signal(cmd);
  if (p->epoch_steps && p->done > g->begin) progress_epoch(cmd, g, p, total);
  if (cmd->options.given[OPT_CHECKPOINT] && !checkpointed) write_checkpoint(cmd, p);
  Err e = cmd->err;
  if (!e.code && (!cmd->options.given[OPT_SAVEBEST] || isnan(cmd->validation.best)))
    save_weights(cmd, &e);
  if (!e.code) log_close(cmd, &e);
  if (!e.code) draw_plot(cmd);
  if (e.code) {
    cmd->err = e;
    return e.code;
  }
  if (sig) say_stopped(cmd, p, sig);
  if (p->done > g->begin) say_lost(cmd);
  validation_end(cmd, p->done < total);
  return sig ? 128 + sig : cmd->failed;
}

static int failed(Command *cmd, const Progress *g) {
  Err e = {0}; /* what comes second is not said */
  if (g->terminal && !cmd->options.given[OPT_QUIET]) fputc('\n', stderr);
  log_close(cmd, &e);
  plot_write(cmd, &e);
  return cmd->err.code;
}

/* After the last step, too: the weights that are saved have a figure. */
static bool validates(const Command *cmd, const Position *p, uint64_t total, bool epoch) {
  return cmd->validation.entry && (validation_due(cmd, p->done, epoch) || p->done == total);
}

/* Rows that fill no batch, or of which a rank would have none. */
static uint64_t left_out(const Dataset *d) { return d->rows - dataset_rows(d, 0, d->batches); }

static void say_left_out(Command *cmd, const char *what, const Dataset *d) {
  const uint64_t left = left_out(d);
  if (left && left < d->ranks && d->extents.batch >= 0)
    note(cmd,
         "each %s leaves out %" PRIu64 " of %" PRIu64 " rows: each of %" PRIu64
         " ranks takes a row of a batch at least",
         what, left, d->rows, d->ranks);
  else if (left)
    note(cmd, "each %s leaves out %" PRIu64 " of %" PRIu64 " rows: batches have %" PRIu64, what,
         left, d->rows, d->batch);
}

/* The checkpoint stands before a last batch that this run leaves out, by --drop-last or since some
   of its ranks would have no row: the epoch has ended. */
static void skip_rest(Command *cmd, Position *p) {
  cmd->validation.owed |=
      validation_due(cmd, p->done, true) && !validation_due(cmd, p->done, false);
  epoch_end(cmd, p);
}

static bool beyond(Command *cmd) {
  return err_set(&cmd->err, EXIT_USAGE, "--epochs is beyond what can be counted");
}

/* The step that ends the last epoch. Epochs before the checkpoint may have had a step more or less
   than those of this run. */
static bool steps_of_epochs(Command *cmd, const Position *p, uint64_t *total) {
  uint64_t epochs = cmd->options.given[OPT_EPOCHS] ? cmd->options.count[OPT_EPOCHS] : 1, left;
  if (!checked_mul(p->batches, epochs, total)) return beyond(cmd);
  if (epochs <= p->epoch) {
    if (*total > p->done) *total = p->done;
    return true;
  }
  left = p->batches * (epochs - p->epoch) - p->batch;
  return checked_add(p->done, left, total) || beyond(cmd);
}

static void say_untrained(const Command *cmd) {
  int n;
  const GcTensor *first = untrained_params(cmd, &n);
  char others[48] = "";
  if (n > 1) snprintf(others, sizeof others, " and %d other param%s", n - 1, n > 2 ? "s" : "");
  if (first)
    note(cmd, "without --load %s%s keep%s the initial value%s: %s reads but does not train %s",
         first->name, others, n > 1 ? "" : "s", n > 1 ? "s" : "", cmd->entry->name,
         n > 1 ? "them" : "it");
}

/* Most often a slip: the loss then rises, and a run may be long before anybody sees it. */
static void say_negative(const Command *cmd) {
  const Options *o = &cmd->options;
  for (int i = 0; i < gc_program.nhypers; i++) {
    const GcHyper *h = &gc_program.hypers[i];
    if (o->hyper_given[i] && o->hypers[i] < 0 && h->value > 0 && entry_reads_hyper(cmd->entry, i))
      note(cmd,
           "--%s %g is below 0, and the program's own value is %g: a negative learning rate "
           "raises the loss",
           h->name, o->hypers[i], (double)h->value);
  }
}

int train_run(Command *cmd) {
  Position p = {0};
  Progress g;
  if (cmd->options.given[OPT_RESUME] && !checkpoint_read(cmd, &p, &cmd->err)) return cmd->err.code;
  uint64_t total = cmd->options.given[OPT_STEPS] ? cmd->options.count[OPT_STEPS] : 1;
  p.batches = cmd->data.n ? cmd->data.batches : total;
  if (cmd->data.n && p.batch >= p.batches) skip_rest(cmd, &p);
  if (cmd->data.n && !cmd->options.given[OPT_STEPS] && !steps_of_epochs(cmd, &p, &total))
    return cmd->err.code;
  if (cmd->data.n && total >= cmd->data.batches) say_left_out(cmd, "epoch", &cmd->data);
  if (cmd->validation.data.n) say_left_out(cmd, "validation", &cmd->validation.data);
  if (p.done >= total && cmd->options.given[OPT_RESUME])
    note(cmd, "%" PRIu64 " steps are done already, %" PRIu64 " were asked for", p.done, total);
  plot_resume(cmd, &p);
  if (cmd->entry->loss < 0 && total)
    note(cmd,
         "%s returns no float scalar, so a loss that is not finite does not end the run; return "
         "the loss",
         cmd->entry->name);
  if (total) say_untrained(cmd);
  if (total) say_negative(cmd);
  if (!log_open(cmd, &p, &cmd->err)) return cmd->err.code;
  dataset_order(&cmd->data, cmd->session.env.seed, p.epoch);
  progress_start(cmd, &g, &p);
  bool checkpointed =
      p.done > 0 && (p.done >= total || validation_ends(cmd)) && !cmd->validation.owed;
  if (cmd->validation.owed && cmd->validation.entry && !validation_run(cmd, p.done) &&
      cmd->err.code)
    return failed(cmd, &g);
  double plotted = clock_now();
  while (p.done < total && !validation_ends(cmd) &&
         (!command_signal(cmd) || cmd->session.device->in_flight)) {
    if (!one_step(cmd, &p, total)) return failed(cmd, &g);
    cmd->validation.owed = false;
    bool epoch = p.batch == p.batches;
    history_step(cmd, &p);
    progress_step(cmd, &g, &p, total);
    if (epoch) progress_epoch(cmd, &g, &p, total);
    if (validates(cmd, &p, total, epoch)) {
      progress_clear(cmd, &g);
      validation_run(cmd, p.done);
    }
    log_step(cmd, &p);
    if (cmd->err.code) return failed(cmd, &g);
    if (epoch) {
      epoch_end(cmd, &p);
      if (p.done < total) dataset_order(&cmd->data, cmd->session.env.seed, p.epoch);
    }
    if (clock_now() - plotted > PLOT_SECONDS && p.done < total) {
      draw_plot(cmd);
      plotted = clock_now();
    }
    checkpointed = checkpoint_due(cmd, p.done, epoch);
    if (checkpointed) write_checkpoint(cmd, &p);
    if (cmd->err.code) return failed(cmd, &g);
  }
  return finish(cmd, &g, &p, total, checkpointed);
}
