/* --OUTPUT FILE of an entry that does not train: FILE.npy is an array, FILE.csv and FILE.tsv are
   tables of text. Contract: a table has the rows of the array: one a row of the first axis, or a
   run where the output has no axes. Its first line names the columns, in quotes, which tells a
   table that gc wrote; numbers read back as they are; words of labels stand in quotes. */
#include "runtime/program/command.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* ---- as a run has it ---- */

static bool is_bounded(const GcTensor *t, int axis) {
  return t->extents && (t->extents[axis] || (t->parts && t->parts[axis].rows));
}

static bool has_slot(uint32_t extents, int slot) {
  for (; extents; extents >>= 4)
    if ((int)(extents & 15) - 1 == slot) return true;
  return false;
}

/* The axis has more elements where a batch has more rows. */
static bool follows_batch(const Command *cmd, const GcTensor *t, int axis) {
  const int batch = cmd->data.extents.batch;
  if (batch < 0 || !is_bounded(t, axis)) return false;
  return has_slot(t->extents[axis], batch) || (t->parts && has_slot(t->parts[axis].extents, batch));
}

GcTensor output_in_run(const Command *cmd, const GcTensor *t, uint64_t run,
                       int64_t dims[RUN_RANK]) {
  int32_t extents[GC_EXTENTS];
  memcpy(extents, cmd->session.env.extents, sizeof extents);
  dataset_extents(&cmd->data, run, extents);
  return tensor_of_run(cmd->entry, t, extents, dims);
}

static Elem file_elem(const GcTensor *t) {
  return t->dtype == GC_BF16 ? ELEM_F32 : (Elem)t->dtype; /* numpy has no bf16 */
}

/* ---- tables ---- */

static bool is_table(const Command *cmd, int i) { return csv_is(cmd->options.outputs[i].save); }

static char separator_of(const char *path) { return csv_has_tabs(path) ? '\t' : ','; }

static uint64_t columns_of(const GcTensor *t) {
  return t->rank < 2 ? 1 : (uint64_t)(t->run_dims ? t->run_dims[1] : t->dims[1]);
}

enum { CELL = 2 * WORD + 8 }; /* bytes of a column's name, a number or a word, with what follows */

/* Of all runs: "digit", or of an axis of columns "p.0", "p.1", … */
static size_t column_name(const GcTensor *t, uint64_t k, char out[CELL]) {
  const bool single = t->rank < 2 || (t->dims[1] == 1 && !is_bounded(t, 1));
  int n = single ? snprintf(out, CELL, "\"%.*s\"", WORD, t->name)
                 : snprintf(out, CELL, "\"%.*s.%llu\"", WORD, t->name, (unsigned long long)k);
  return (size_t)n;
}

typedef struct Text { /* what is written next */
  OutFile *out;
  char *at;
  size_t n, room;
  Err *e;
} Text;

static bool flush(Text *x) {
  bool ok = out_write(x->out, x->at, x->n, x->e);
  x->n = 0;
  return ok;
}

static bool put_cell(Text *x, const char *cell, size_t n, char after) {
  if (x->n + n + 1 > x->room && !flush(x)) return false;
  memcpy(x->at + x->n, cell, n);
  x->at[x->n + n] = after;
  x->n += n + 1;
  return true;
}

static size_t put_quoted(char out[CELL], const char *word) {
  size_t n = 0;
  out[n++] = '"';
  for (const char *p = word; *p && n + 3 < CELL; p++) {
    if (*p == '"') out[n++] = '"';
    out[n++] = *p;
  }
  out[n++] = '"';
  return n;
}

static Text text_of(Command *cmd, int i) {
  return (Text){.out = &cmd->outputs[i],
                .at = (char *)cmd->session.stage + OUTPUT_HALF,
                .room = OUTPUT_HALF,
                .e = &cmd->err};
}

static bool begin_table(Command *cmd, int i) {
  const GcTensor *t = &cmd->entry->outputs[i];
  int64_t dims[RUN_RANK];
  const GcTensor one = output_in_run(cmd, t, 0, dims);
  const uint64_t n = columns_of(&one);
  Text x = text_of(cmd, i);
  char cell[CELL];
  for (uint64_t k = 0; k < n; k++)
    if (!put_cell(&x, cell, column_name(t, k, cell), k + 1 < n ? separator_of(x.out->path) : '\n'))
      return false;
  return flush(&x);
}

static bool write_cells(Command *cmd, int i, const GcTensor *t, const void *storage, uint64_t first,
                        uint64_t n) {
  const uint64_t columns = columns_of(t);
  const Words *words = i == cmd->words_output ? cmd->words : NULL;
  Text x = text_of(cmd, i);
  char cell[CELL];
  tensor_get(t, storage, first, n, cmd->session.stage);
  for (uint64_t k = 0; k < n; k++) {
    int64_t number = -1;
    if (words)
      elem_convert(&number, ELEM_I64, cmd->session.stage + k * (uint64_t)elem_info[t->dtype].size,
                   (Elem)t->dtype, 1);
    size_t size = 0;
    if (number >= 0 && number < words->n)
      size = put_quoted(cell, words->at[number]);
    else
      elem_exact(cell, cmd->session.stage, (Elem)t->dtype, k), size = strlen(cell);
    if (!put_cell(&x, cell, size, (first + k + 1) % columns ? separator_of(x.out->path) : '\n'))
      return false;
  }
  return flush(&x);
}

/* ---- which tables may be replaced ---- */

static bool begins_in_quotes(const uint8_t *p, uint64_t n) { return n && *p == '"'; }

/* A number as the output's would be written. */
static bool is_own_cell(const char *cell, const GcTensor *t) {
  uint8_t element[8];
  char again[40], *end;
  uint64_t bad;
  if (elem_info[t->dtype].cls == ELEM_FLOATS) {
    const double real = strtod(cell, &end);
    elem_convert(element, (Elem)t->dtype, &real, ELEM_F64, 1);
  } else {
    const int64_t whole = strtoll(cell, &end, 10);
    if (!elem_check((Elem)t->dtype, &whole, ELEM_I64, 1, &bad)) return false;
    elem_convert(element, (Elem)t->dtype, &whole, ELEM_I64, 1);
  }
  elem_exact(again, element, (Elem)t->dtype, 0);
  return end != cell && !*end && strcmp(again, cell) == 0;
}

/* The cells behind the first line, of which it looks at a few thousand bytes. */
static bool has_own_cells(const File *f, uint64_t at, const GcTensor *t) {
  char text[4096 + 1];
  Err none = {0};
  const uint64_t n = f->size - at < 4096 ? f->size - at : 4096;
  if (!file_read(f, at, text, n, &none)) return false;
  text[n] = 0;
  for (char *p = text, *end; (end = strpbrk(p, "\n\t,")); p = end + 1) {
    if (*p == '"' && elem_info[t->dtype].cls != ELEM_FLOATS)
      return true; /* words, with any bytes */
    *end = 0;
    if (!is_own_cell(p, t)) return false;
  }
  return true;
}

/* One of another output, or of other columns: its first line is another one, or numbers stand
   there in another form. */
static const char *foreign_table(const File *f, const void *arg) {
  static const char other[] = "a table with other columns, or that gc did not write";
  const GcTensor *t = arg;
  const bool any = t->rank > 1 && is_bounded(t, 1);
  const uint64_t columns = columns_of(t);
  char want[CELL], have[CELL];
  Err none = {0};
  uint64_t at = 0, k = 0;
  for (bool ends = false; !ends; k++) {
    size_t n = column_name(t, k, want);
    if (at + n + 1 > f->size || !file_read(f, at, have, n + 1, &none)) return other;
    if (memcmp(have, want, n) != 0) return other;
    if (have[n] != '\n' && have[n] != separator_of(f->path)) return other;
    ends = have[n] == '\n';
    at += n + 1;
  }
  return (any || k == columns) && has_own_cells(f, at, t) ? NULL : other;
}

/* ---- arrays ---- */

/* What the file has: an axis of extent 0 is of any. */
static Array array_of(const Command *cmd, const GcTensor *t) {
  const GcTensor once = aggregate_tensor(t);
  bool whole = t->rank && cmd->data.n && infer_aggregates(cmd->entry, t);
  Array a = {.type = file_elem(whole ? &once : t), .rank = t->rank ? t->rank : 1};
  for (int i = 0; i < t->rank && i < ARRAY_RANK; i++)
    a.dims[i] = is_bounded(t, i) ? 0 : (uint64_t)t->dims[i];
  return a;
}

static bool begin_array(Command *cmd, int i, Elem elem, int rank, const uint64_t *dims) {
  char head[2048];
  uint64_t n = npy_header(head, sizeof head, elem, rank, dims);
  return out_write(&cmd->outputs[i], head, n, &cmd->err);
}

static bool write_elements(Command *cmd, int i, const GcTensor *t, const void *storage,
                           uint64_t first, uint64_t n) {
  uint8_t *half = cmd->session.stage + OUTPUT_HALF;
  tensor_get(t, storage, first, n, cmd->session.stage);
  elem_convert(half, file_elem(t), cmd->session.stage, (Elem)t->dtype, n);
  return out_write(&cmd->outputs[i], half, n * (uint64_t)elem_info[file_elem(t)].size, &cmd->err);
}

/* ---- both ---- */

/* A name without an ending is an array's, and a device takes one. */
static bool has_format(const Command *cmd, int i, Err *e) {
  const char *path = cmd->options.outputs[i].save, *slash = strrchr(path, '/');
  const char *file = slash ? slash + 1 : path, *dot = strrchr(file, '.');
  const GcTensor *t = &cmd->entry->outputs[i];
  struct stat st;
  bool ending = dot && dot != file, packed = ending && strcasecmp(dot, ".gz") == 0;
  bool table = csv_is(path), known = !ending || strcasecmp(dot, ".npy") == 0 || (table && !packed);
  if (!known && (stat(path, &st) != 0 || S_ISREG(st.st_mode))) {
    err_set(e, EXIT_USAGE, "%s: outputs are written as .npy, .csv or .tsv, not as %s", path, dot);
    return err_hint(e, "FILE.npy is an array, FILE.csv a table of text with the same numbers");
  }
  if (table && t->rank > 2) {
    err_set(e, EXIT_USAGE, "%s: a table has rows and columns, but %s has %d axes", path, t->name,
            t->rank);
    return err_hint(e,
                    "write an array, FILE.npy, or return the output in two axes: reshape(%s, "
                    "[dim(%s, 0), -1])",
                    t->name, t->name);
  }
  return true;
}

bool output_prepare(Command *cmd, int i, Err *e) {
  const GcTensor *t = &cmd->entry->outputs[i];
  const Array of = array_of(cmd, t);
  const OutKind table = {"a table of text", begins_in_quotes, foreign_table, t};
  const OutKind kind = is_table(cmd, i) ? table : npy_kind(&of);
  return has_format(cmd, i, e) &&
         out_prepare(&cmd->outputs[i], cmd->options.outputs[i].save, &kind, 4096, e);
}

bool output_begin(Command *cmd, int i, bool whole, uint64_t runs) {
  const GcTensor *t = &cmd->entry->outputs[i];
  const GcTensor once = aggregate_tensor(t);
  uint64_t dims[ARRAY_RANK] = {1};
  if (t->rank > ARRAY_RANK)
    return err_set(&cmd->err, EXIT_WRONG, "%s: numpy has no arrays of %d axes", t->name, t->rank);
  int rank = t->rank ? t->rank : cmd->data.n || runs > 1;
  int64_t some[RUN_RANK], less[RUN_RANK];
  const GcTensor one = output_in_run(cmd, t, 0, some), end = output_in_run(cmd, t, runs - 1, less);
  bool by_rows = false; /* along the first axis it has something of each row of the data */
  for (int k = 0; k < t->rank; k++) {
    dims[k] = (uint64_t)(one.run_dims ? one.run_dims[k] : t->dims[k]);
    const uint64_t last = (uint64_t)(end.run_dims ? end.run_dims[k] : t->dims[k]);
    by_rows |= k == 0 && follows_batch(cmd, t, k);
    if (k > 0 && last != dims[k]) {
      err_set(&cmd->err, EXIT_WRONG, "%s: its axis %d is shorter in the last batch", t->name, k);
      return err_hint(&cmd->err, "--drop-last leaves that batch out");
    }
    if (k == 0 && by_rows &&
        (!checked_mul(dims[0], runs - 1, &dims[0]) || !checked_add(dims[0], last, &dims[0])))
      return err_set(&cmd->err, EXIT_USAGE, "%s: too many rows", t->name);
  }
  if (!by_rows && !checked_mul(dims[0], rank && !whole ? runs : 1, &dims[0]))
    return err_set(&cmd->err, EXIT_USAGE, "%s: too many rows", t->name);
  return out_begin(&cmd->outputs[i], &cmd->err) &&
         (is_table(cmd, i) ? begin_table(cmd, i)
                           : begin_array(cmd, i, file_elem(whole ? &once : t), rank, dims));
}

bool output_write(Command *cmd, int i, const GcTensor *t, const void *storage, uint64_t first,
                  uint64_t n) {
  return (is_table(cmd, i) ? write_cells : write_elements)(cmd, i, t, storage, first, n);
}
