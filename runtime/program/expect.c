/* --expect OUTPUT=FILE: what a run makes is compared with an array, or with a table that --OUTPUT
   FILE.csv has written. Contract: pieces come in the order of the file's elements; an array is read
   piece by piece, a table once, as f64 or, of labels with words, i64. */
#include "runtime/program/expect.h"
#include <inttypes.h>
#include <math.h>

static const char *path_of(const Command *cmd, int i) { return cmd->options.outputs[i].expect; }

static bool holds(Command *cmd, const Expected *x, int i, uint64_t elements) {
  if (elements == x->array.count) return true;
  err_set(&cmd->err, EXIT_WRONG,
          "%s: holds %" PRIu64 " elements, but the run makes %" PRIu64 " of %s", path_of(cmd, i),
          x->array.count, elements, cmd->entry->outputs[i].name);
  return err_hint(&cmd->err, "the outputs of all batches are compared, one after the other");
}

/* ---- tables ---- */

static bool open_table(Command *cmd, Expected *x, int i, uint64_t elements) {
  const GcTensor *t = &cmd->entry->outputs[i];
  const bool words = cmd->words && i == cmd->words_output;
  if (t->rank > 2) {
    err_set(&cmd->err, EXIT_USAGE, "%s: a table has rows and columns, but %s has %d axes",
            path_of(cmd, i), t->name, t->rank);
    return err_hint(&cmd->err, "compare it with an array, FILE.npy");
  }
  int64_t some[RUN_RANK];
  const GcTensor one = output_in_run(cmd, t, 0, some);
  const int64_t columns = t->rank < 2 ? 1 : one.run_dims ? one.run_dims[1] : t->dims[1];
  const GcTensor row = {.name = t->name,
                        .dtype = words ? GC_I64 : GC_F64,
                        .rank = columns == 1 ? 1 : 2,
                        .dims = (int64_t[]){1, columns},
                        .planned = t};
  Labels labels = {0};
  const DataRequest q = {.labels = &labels, .of_output = true};
  const bool ok = (!words || labels_set(&labels, t->name, cmd->words, NULL, &cmd->err)) &&
                  table_load(&x->table, &row, path_of(cmd, i), &q, &cmd->err);
  x->array = (Array){.type = x->table.type, .count = x->table.count};
  labels_free(&labels);
  return ok && holds(cmd, x, i, elements);
}

/* ---- arrays ---- */

static bool open_array(Command *cmd, Expected *x, int i, uint64_t elements) {
  const char *path = path_of(cmd, i);
  if (!file_open(&x->file, path, &cmd->err)) return false;
  x->on = true;
  uint64_t n = x->file.size < STAGE_BYTES ? x->file.size : STAGE_BYTES;
  if (!file_read(&x->file, 0, cmd->session.stage, n, &cmd->err)) return false;
  if (!npy_is(cmd->session.stage, n)) {
    err_set(&cmd->err, EXIT_WRONG, "%s: is no .npy file", path);
    return err_hint(&cmd->err,
                    "write it with numpy.save, or with --%s FILE.npy; FILE.csv is a table",
                    cmd->entry->outputs[i].name);
  }
  if (!npy_parse(cmd->session.stage, n, &x->array, path, &cmd->err)) return false;
  const uint64_t bytes = x->array.count * (uint64_t)elem_info[x->array.type].size;
  if (!holds(cmd, x, i, elements)) return false;
  if (x->file.size - x->array.header != bytes) {
    err_set(&cmd->err, EXIT_WRONG,
            "%s: its header means %" PRIu64 " bytes of data, but there are %" PRIu64, path, bytes,
            x->file.size - x->array.header);
    return err_hint(&cmd->err, "the file is damaged or cut short; write it again");
  }
  return true;
}

/* ---- both ---- */

bool expect_open(Command *cmd, Expected *x, int i, uint64_t elements) {
  x->file.fd = -1;
  x->on = true;
  return (table_is(path_of(cmd, i)) ? open_table : open_array)(cmd, x, i, elements);
}

bool expect_piece(Command *cmd, Expected *x, const GcTensor *t, const void *storage, uint64_t first,
                  uint64_t n) {
  uint64_t size = (uint64_t)elem_info[x->array.type].size;
  uint8_t *want = cmd->session.stage + OUTPUT_HALF;
  if (x->table.at)
    want = x->table.at + x->at * size;
  else if (!file_read(&x->file, x->array.header + x->at * size, want, n * size, &cmd->err))
    return false;
  if (x->array.big) elem_swap(want, (int)size, n);
  tensor_get(t, storage, first, n, cmd->session.stage);
  double rtol = cmd->options.given[OPT_RTOL] ? cmd->options.real[OPT_RTOL] : 1e-5,
         atol = cmd->options.given[OPT_ATOL] ? cmd->options.real[OPT_ATOL] : 1e-6;
  for (uint64_t i = 0; i < n; i++) {
    double a = elem_real(cmd->session.stage, (Elem)t->dtype, i),
           b = elem_real(want, x->array.type, i), d = fabs(a - b);
    if (a == b || (isnan(a) && isnan(b)) || d <= atol + rtol * fabs(b)) continue;
    if (isnan(d)) d = INFINITY;
    if (x->beyond++ == 0) x->first = x->at + i, x->got = a, x->want = b;
    if (d > x->worst) x->worst = d;
  }
  x->at += n;
  return true;
}

bool expect_judge(Command *cmd, const Expected *x, int i) {
  const char *name = cmd->entry->outputs[i].name, *path = path_of(cmd, i);
  if (!x->on) return true;
  if (x->beyond) {
    err_set(&cmd->err, EXIT_WRONG,
            "%s differs from %s: %" PRIu64 " of %" PRIu64 " elements; the first, element %" PRIu64
            ", is %.9g and should be %.9g; the largest difference is %.3g",
            name, path, x->beyond, x->at, x->first, x->got, x->want, x->worst);
    return err_hint(&cmd->err, "--rtol and --atol set what is allowed");
  }
  note(cmd, "%s is as in %s (%" PRIu64 " element%s)", name, path, x->at, x->at == 1 ? "" : "s");
  return true;
}

void expect_close(Expected *x) {
  if (x->on) file_close(&x->file);
  table_free(&x->table);
}
