/* What is checked of rows: that their elements fit the input, that indexes are in range, and which
   row of a batch holds nan or inf. Contract: the message names the file, the row and the value. */
#include "runtime/data/rows.h"
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

bool column_check(const Column *c, Err *e) {
  uint64_t bad;
  if (elem_check((Elem)c->t->dtype, c->data, c->type, c->end - c->begin, &bad)) return true;
  char v[40], row[40] = ""; /* windows: several have the element, or none */
  elem_format(v, c->data, c->type, bad);
  uint64_t at = c->begin + bad;
  const Column *part = column_part(c, &at);
  if (!c->windows && !c->offset && c->step == c->row_elems)
    snprintf(row, sizeof row, " (row %" PRIu64 ")", at / c->step);
  err_set(e, EXIT_WRONG, "%s: element %" PRIu64 "%s is %s, which the input %s (%s) cannot hold",
          part->text, at, row, v, c->t->name, elem_info[c->t->dtype].name);
  return err_hint(e, "correct the file, or declare the input with a wider type");
}

bool column_fault(const Column *c, uint64_t row, int64_t value, int64_t limit, Err *e) {
  if (value >= 0 && value < c->words.n) {
    err_set(e, EXIT_WRONG, "%s: the %s %.200s is number %" PRId64 ", which is not below %" PRId64,
            c->text, c->images ? "class" : "word", c->words.at[value], value, limit);
    return err_hint(e,
                    "it has %d %s, and the input %s is of %" PRId64
                    ": compile the program for as many, or give it fewer%s",
                    c->words.n, c->images ? "classes" : "words", c->t->name, limit,
                    c->images ? " folders" : "");
  }
  const Column *part = column_row_part(c, &row);
  err_set(e, EXIT_WRONG,
          "%s: input row %" PRIu64 " holds %" PRId64 ", which is not below %" PRId64 "%s",
          part->text, row, value, limit, value < 0 ? " and not 0 or more" : "");
  return err_hint(e,
                  "the input %s must hold 0 to %" PRId64
                  ": correct the file, or take other rows with FILE[a:b]",
                  c->t->name, limit - 1);
}

/* The rows [first, end) of a column on disk, if a check is about them. */
bool column_check_disk(const Column *c, uint64_t first, uint64_t end, Err *e) {
  uint64_t bad, row, size = (uint64_t)elem_info[c->type].size;
  bool converts = c->type != (Elem)c->t->dtype && elem_info[c->t->dtype].cls != ELEM_FLOATS;
  if (!converts && !c->t->nlimits) return true;
  uint64_t most = 1 + (UINT64_C(1) << 20) / (c->step * size + 1), n;
  uint8_t *room = malloc(((most - 1) * c->step + c->row_elems) * size + 1);
  if (!room) return err_set(e, EXIT_ENV, "no memory to check %s", c->text);
  bool ok = true;
  for (uint64_t r = first; ok && r < end; r += n) {
    n = end - r < most ? end - r : most;
    uint64_t all = (n - 1) * c->step + c->row_elems;
    int64_t value = 0;
    ok = !file_interrupted(c->text, e) && column_read(c, r, 0, all, room, e);
    if (ok && !elem_check((Elem)c->t->dtype, room, c->type, all, &bad)) {
      Column view = *c;
      view.data = room, view.begin = c->offset + (c->first + r) * c->step;
      view.end = view.begin + all;
      ok = column_check(&view, e);
    }
    const Rows rows = {room, c->type, n, c->step};
    const GcLimit *l = ok && c->t->nlimits ? tensor_out_of_range(c->t, &rows, &row, &value) : NULL;
    if (l) ok = column_fault(c, c->first + r + row, value, l->limit, e);
  }
  free(room);
  return ok;
}

/* Indexes are in range in every row, before the first step. */
bool column_check_limit(const Column *c, Err *e) {
  if (!c->t->nlimits) return true;
  int64_t value = 0;
  uint64_t per = tensor_row_elems(c->t), row;
  Rows rows = {&value, ELEM_I64, 1, 1};
  if (!c->is_number)
    rows =
        (Rows){c->data, c->type, c->fixed ? c->row_elems / per : c->rows, c->fixed ? per : c->step};
  const GcLimit *l = tensor_out_of_range(c->t, &rows, &row, &value);
  return !l || column_fault(c, c->first + row, value, l->limit, e);
}

static uint64_t row_of_element(const Dataset *d, int i, uint64_t batch, uint64_t r, uint64_t k) {
  const Column *c = &d->columns[i];
  return c->fixed ? k / tensor_row_elems(c->t) : dataset_row(d, i, batch, r);
}

/* All rows of the batch, whichever rank has them: dataset_at counts from the first one
   of this rank. */
bool dataset_fault(const Dataset *d, uint64_t batch, Err *e) {
  uint64_t first;
  (void)dataset_part(d, batch, &first);
  for (int i = 0; i < d->n; i++) {
    const Column *c = &d->columns[i];
    if (c->is_number || elem_info[c->type].cls != ELEM_FLOATS) continue;
    uint8_t *room = c->on_disk ? column_room(c) : NULL;
    for (uint64_t n = 0; n < (c->fixed ? 1 : dataset_rows(d, batch, batch + 1)); n++) {
      uint64_t r = n - first; /* below 0, modulo 2^64, of ranks before this one */
      Err none = {0};
      if (c->on_disk && !room) break;
      const uint8_t *data = column_row(c, c->fixed ? 0 : dataset_at(d, batch, r), room, &none);
      for (uint64_t k = 0; data && k < c->row_elems; k++) {
        double v = elem_real(data, c->type, k);
        if (!isnan(v) && !(v > DBL_MAX)) continue; /* -inf is what masks are made of */
        uint64_t row = row_of_element(d, i, batch, r, k);
        const Column *part = column_row_part(c, &row);
        err_hint(e,
                 "row %" PRIu64 " of the input %s (%s) holds %s: correct the file, or take other "
                 "rows with FILE[a:b]; nothing was saved, older files are as they were",
                 row, c->t->name, part->text, isnan(v) ? "nan" : "inf");
        free(room);
        return true;
      }
    }
    free(room);
  }
  return false;
}
