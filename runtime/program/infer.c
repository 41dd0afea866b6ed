/* Entries that do not train: once over all rows, or N times where there are no inputs; outputs are
   aggregated, printed, written to files, shown as characters, or compared with a file. Contract:
   batches of more than one row are aggregated, of scalars and arrays; a file holds a scalar of each
   batch, and one array; files are streamed and appear only when the run has ended well. */
#include "runtime/program/expect.h"
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

typedef struct Infer {
  Command *cmd;
  uint64_t runs;
  Expected *expected;
  Total **all; /* of an output that is aggregated: its elements; else NULL */
  bool tty;
} Infer;

bool infer_aggregates(const GcEntry *e, const GcTensor *t) {
  int i = 0;
  while (i < e->ninputs && e->inputs[i].rank == 0) i++;
  return i < e->ninputs && e->inputs[i].dims[0] > 1 && output_is_aggregated(t);
}

uint64_t infer_bytes(const GcEntry *e) {
  uint64_t n = (uint64_t)e->noutputs * (sizeof(Expected) + sizeof(Total *)) + 384;
  for (int i = 0; i < e->noutputs; i++)
    if (infer_aggregates(e, &e->outputs[i]))
      n += sizeof(Total) * tensor_count(&e->outputs[i]) + 128;
  return n;
}

static bool take_aggregates(Infer *f) {
  Command *cmd = f->cmd;
  const GcEntry *e = cmd->entry;
  f->all = memory_take(&cmd->session.memory, (uint64_t)e->noutputs * sizeof *f->all);
  for (int i = 0; f->all && cmd->data.n && i < e->noutputs; i++) {
    const GcTensor *t = &e->outputs[i];
    if (!infer_aggregates(e, t)) continue;
    f->all[i] = memory_take(&cmd->session.memory, sizeof(Total) * tensor_count(t));
    if (f->all[i]) aggregate_begin_array(t, f->all[i]);
  }
  return memory_sound(&cmd->session.memory, &cmd->err);
}

/* An array of all rows, which a file has once. */
static bool is_whole(const Infer *f, int i) {
  return f->all[i] && f->cmd->entry->outputs[i].rank > 0;
}

/* An output as a run has it. */
static GcTensor output_of_run(const Infer *f, int i, int64_t dims[RUN_RANK]) {
  return tensor_of_run(f->cmd->entry, &f->cmd->entry->outputs[i], f->cmd->session.env.extents,
                       dims);
}

/* Elements of an output in all runs; the last batch may be shorter. UINT64_MAX: too many. */
static uint64_t elements_of_runs(const Infer *f, const GcTensor *t) {
  uint64_t all = 0, one;
  int64_t dims[RUN_RANK];
  if (!t->extents) return checked_mul(tensor_count(t), f->runs, &all) ? all : UINT64_MAX;
  for (int last = 0; last < 2; last++) {
    const GcTensor now = output_in_run(f->cmd, t, last ? f->runs - 1 : 0, dims);
    if (!checked_mul(tensor_count(&now), last ? 1 : f->runs - 1, &one) ||
        !checked_add(all, one, &all))
      return UINT64_MAX;
  }
  return all;
}

/* ---- one run's outputs ---- */
static void print_text(Infer *f, const GcTensor *t) {
  Command *cmd = f->cmd;
  uint64_t all = tensor_count(t);
  for (uint64_t at = 0; at < all; at += OUTPUT_HALF) {
    uint64_t n = all - at < OUTPUT_HALF ? all - at : OUTPUT_HALF;
    tensor_get(t, session_at(&cmd->session, t), at, n, cmd->session.stage);
    bool bytes = false; /* a terminal gets no control bytes; a pipe gets what there is */
    for (uint64_t i = 0; f->tty && i < n; i++)
      bytes = bytes ||
              (cmd->session.stage[i] < 0x20 && cmd->session.stage[i] != '\n' &&
               cmd->session.stage[i] != '\t') ||
              cmd->session.stage[i] == 0x7F;
    if (bytes)
      text_print(stdout, (const char *)cmd->session.stage, n, true);
    else
      fwrite(cmd->session.stage, 1, n, stdout);
  }
  if (f->tty) fflush(stdout);
}

/* Which rows a run has had, or the file of its image. */
static void print_rows(const Command *cmd, uint64_t run) {
  if (!cmd->data.n || cmd->data.batches == 1) return;
  const Column *c = NULL;
  for (int i = 0; i < cmd->data.n && !c; i++)
    if (!cmd->data.columns[i].fixed) c = &cmd->data.columns[i];
  uint64_t first = (c ? c->first : 0) + run * cmd->data.batch;
  if (cmd->data.batch == 1 && c && c->images) {
    fputc('[', stdout);
    images_print_name(c, run, stdout);
    fputs("] ", stdout);
  } else if (cmd->data.batch == 1)
    printf("[%" PRIu64 "] ", first);
  else
    printf("[%" PRIu64 ":%" PRIu64 "] ", first, first + dataset_rows(&cmd->data, run, run + 1));
}

/* Into the output's file, and beside the one that it is compared with. */
static bool put(Infer *f, int i, const GcTensor *t, const void *storage) {
  Command *cmd = f->cmd;
  const OutputOption *o = &cmd->options.outputs[i];
  uint64_t all = tensor_count(t);
  for (uint64_t at = 0; at < all && (o->save || o->expect); at += OUTPUT_ELEMS) {
    uint64_t n = all - at < OUTPUT_ELEMS ? all - at : OUTPUT_ELEMS;
    if (o->save && !output_write(cmd, i, t, storage, at, n)) return false;
    if (o->expect && !expect_piece(cmd, &f->expected[i], t, storage, at, n)) return false;
  }
  return true;
}

static bool is_printed(const Infer *f, int i) {
  const OutputOption *o = &f->cmd->options.outputs[i];
  return !f->cmd->options.given[OPT_TEXT] && !o->save && !o->expect;
}

static bool take(Infer *f, uint64_t run) {
  Command *cmd = f->cmd;
  for (int i = 0; i < cmd->entry->noutputs; i++) {
    int64_t dims[RUN_RANK];
    const GcTensor now = output_of_run(f, i, dims), *t = &now;
    const void *storage = session_at(&cmd->session, t);
    if (!is_whole(f, i) && !put(f, i, t, storage)) return false;
    if (cmd->options.outputs[i].text) print_text(f, t);
    if (f->all[i]) {
      aggregate_add_array(&cmd->session, t, f->all[i], dataset_weight(&cmd->data, run, run + 1));
    } else if (is_printed(f, i)) {
      print_rows(cmd, run);
      output_print(t, storage, i == cmd->words_output ? cmd->words : NULL);
    }
  }
  return true;
}

static bool loop(Infer *f) {
  Command *cmd = f->cmd;
  for (uint64_t run = 0; run < f->runs; run++) {
    uint64_t batch = cmd->data.n ? run : NO_BATCH;
    bool ends = command_signal(cmd) || ferror(stdout); /* nobody reads on: main reports it */
    if (ends && !cmd->session.device->in_flight) return true;
    cmd->session.env.step = run;
    const RunRequest q = {.batch = batch,
                          .more = !ends && run + 1 < f->runs,
                          .next = cmd->data.n ? run + 1 : NO_BATCH};
    if (!command_step(cmd, &q, batch) || !take(f, run)) return false;
  }
  return true;
}

static bool begin(Infer *f) {
  int params;
  if (untrained_params(f->cmd, &params))
    note(f->cmd, "without --load the parameters have their random initial values");
  for (int i = 0; i < f->cmd->entry->noutputs; i++) {
    const OutputOption *o = &f->cmd->options.outputs[i];
    const GcTensor *t = &f->cmd->entry->outputs[i];
    if (o->expect && !expect_open(f->cmd, &f->expected[i], i,
                                  is_whole(f, i) ? tensor_count(t) : elements_of_runs(f, t)))
      return false;
    if (o->save && !output_begin(f->cmd, i, is_whole(f, i), f->runs)) return false;
  }
  return true;
}

static bool end_aggregate(Infer *f, int i) {
  Command *cmd = f->cmd;
  int64_t dims[RUN_RANK];
  const GcTensor now = output_of_run(f, i, dims), all = aggregate_tensor(&now);
  double weight = dataset_weight(&cmd->data, 0, f->runs);
  if (!now.rank && elem_info[now.dtype].cls == ELEM_FLOATS) {
    printf("%s = %.6g\n", now.name, aggregate_of(now.aggregate, f->all[i]->real, weight));
    return true;
  }
  aggregate_end_array(&now, f->all[i], weight);
  if (!now.rank || is_printed(f, i)) output_print(&all, f->all[i], NULL);
  return !is_whole(f, i) || put(f, i, &all, f->all[i]);
}

static bool end(Infer *f) {
  Command *cmd = f->cmd;
  const GcEntry *e = cmd->entry;
  if (cmd->options.given[OPT_TEXT]) fputc('\n', stdout);
  for (int i = 0; i < e->noutputs; i++) {
    if (f->all[i] && !end_aggregate(f, i)) return false;
    if (cmd->options.outputs[i].save && !out_commit(&cmd->outputs[i], &cmd->err)) return false;
  }
  aggregate_note(cmd, f->all && cmd->data.n && cmd->data.batch > 1 ? f->runs : 0);
  uint64_t rest = cmd->data.n ? cmd->data.rows - dataset_rows(&cmd->data, 0, cmd->data.batches) : 0;
  if (rest)
    note(cmd, "%" PRIu64 " of %" PRIu64 " rows were left out: they fill no batch of %" PRIu64, rest,
         cmd->data.rows, cmd->data.batch);
  for (int i = 0; i < e->noutputs; i++)
    if (!expect_judge(cmd, &f->expected[i], i)) return false;
  return save_weights(cmd, &cmd->err);
}

int infer_run(Command *cmd) {
  const GcEntry *e = cmd->entry;
  Infer f = {.cmd = cmd,
             .runs = cmd->data.n                     ? cmd->data.batches
                     : cmd->options.given[OPT_STEPS] ? cmd->options.count[OPT_STEPS]
                                                     : 1};
  f.tty = isatty(STDOUT_FILENO) != 0;
  f.expected = memory_take(&cmd->session.memory, (uint64_t)e->noutputs * sizeof *f.expected);
  if (!take_aggregates(&f)) return cmd->err.code;
  bool ok = begin(&f) && loop(&f);
  int sig = command_signal(cmd);
  if (ok && !sig) ok = end(&f);
  for (int i = 0; i < e->noutputs; i++) {
    if (cmd->options.outputs[i].save) out_abort(&cmd->outputs[i]);
    expect_close(&f.expected[i]);
  }
  return sig ? 128 + sig : ok ? 0 : cmd->err.code;
}
