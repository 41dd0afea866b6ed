/* The rows of a column, from wherever they lie: one file, several, images, CSV. Contract: elements
   have the file's type and the machine's order of bytes. */
#include "runtime/data/rows.h"
#include <fcntl.h>
#include <stdlib.h>

/* Elements of all parts, one after the other, from that behind `at` chosen ones. */
static bool read_parts(const Column *c, uint64_t at, uint64_t n, uint8_t *to, Err *e) {
  uint64_t size = (uint64_t)elem_info[c->type].size, row = c->row_elems;
  at += c->first * row;
  for (int k = 0; n && k < c->nparts; k++) {
    const Column *p = &c->parts[k];
    uint64_t begin = p->before * row, end = (p->before + p->rows) * row;
    if (at >= end) continue;
    uint64_t here = at + n < end ? n : end - at;
    if (!column_read(p, (at - begin) / row, (at - begin) % row, here, to, e)) return false;
    at += here, n -= here, to += here * size;
  }
  return true;
}

/* Elements [first, first + n) of row r, as they are in the file but for their order of bytes. */
bool column_read(const Column *c, uint64_t r, uint64_t first, uint64_t n, void *to, Err *e) {
  uint64_t size = (uint64_t)elem_info[c->type].size;
  uint64_t at = c->offset + (c->first + r) * c->step + first;
  bool ok = true;
  if (c->parts) return read_parts(c, r * c->row_elems + first, n, to, e);
  if (c->images) { /* whole rows */
    for (uint64_t k = 0; ok && k < n; k += c->row_elems)
      ok = images_read(c, r + k / c->row_elems, (uint8_t *)to + k, e);
    return ok;
  }
  if (!source_read(&c->source, c->header + at * size, to, n * size, false, e)) return false;
  if (c->big) elem_swap(to, (int)size, n);
  return true;
}

/* A row in the file's type; `room` holds one. NULL after an error. */
const uint8_t *column_row(const Column *c, uint64_t r, uint8_t *room, Err *e) {
  if (!c->on_disk) return c->data + r * c->step * (uint64_t)elem_info[c->type].size;
  return column_read(c, r, 0, c->row_elems, room, e) ? room : NULL;
}

uint8_t *column_room(const Column *c) {
  return malloc(c->row_elems * (uint64_t)elem_info[c->type].size + 1);
}

/* Rows [first, first + rows) of those in the file. */
static bool load_rows(Column *c, uint64_t first, uint64_t rows, uint8_t *to, Err *e) {
  uint64_t size = (uint64_t)elem_info[c->type].size, n = rows * c->row_elems;
  if (c->csv) return csv_read(c, first, rows, to, e);
  if (!source_read(&c->source, c->header + first * c->row_elems * size, to, n * size, true, e))
    return false;
  if (c->big) elem_swap(to, (int)size, n);
  return true;
}

static bool load_parts(Column *c, uint8_t *to, Err *e) {
  uint64_t row = c->row_elems * (uint64_t)elem_info[c->type].size, end = c->first + c->rows;
  bool ok = true;
  for (int k = 0; ok && k < c->nparts; k++) {
    Column *p = &c->parts[k];
    uint64_t from = p->before < c->first ? c->first : p->before,
             past = p->before + p->rows < end ? p->before + p->rows : end;
    if (from < past)
      ok = load_rows(p, from - p->before, past - from, to + (from - c->first) * row, e);
    csv_close(p);
  }
  return ok;
}

bool column_load(Column *c, uint8_t *to, Err *e) {
  uint64_t size = (uint64_t)elem_info[c->type].size, n = c->end - c->begin;
  c->data = to;
  if (c->images) {
    images_labels(c, c->first, c->rows, (int32_t *)(void *)to);
    return true;
  }
  if (c->parts) return load_parts(c, to, e);
  if (c->csv) {
    uint64_t rows = c->fixed ? c->total / csv_columns(c) : c->rows;
    if (!csv_read(c, c->first, rows, to, e)) return false;
    csv_close(c);
    return true;
  }
  if (!source_read(&c->source, c->header + c->begin * size, to, n * size, true, e)) return false;
  if (c->big) elem_swap(to, (int)size, n);
  return true;
}

bool column_may_stay(const Column *c) {
  bool may = !c->images && (c->parts || (!c->csv && c->source.kind == SOURCE_PLAIN));
  for (int k = 0; may && k < c->nparts; k++) may = column_may_stay(&c->parts[k]);
  return may;
}

void column_advise(const Column *c, uint64_t r, uint64_t rows) {
  uint64_t size = (uint64_t)elem_info[c->type].size;
  if (c->images) return;
  for (int k = 0; k < c->nparts; k++) {
    const Column *p = &c->parts[k];
    uint64_t from = c->first + r, past = from + rows;
    if (past <= p->before || from >= p->before + p->rows) continue;
    from = from > p->before ? from - p->before : 0;
    past = past < p->before + p->rows ? past - p->before : p->rows;
    column_advise(p, from, past - from);
  }
  if (c->parts) return;
  uint64_t at = c->offset + (c->first + r) * c->step;
  (void)posix_fadvise(c->file.fd, (off_t)(c->source.start + c->header + at * size),
                      (off_t)(((rows - 1) * c->step + c->row_elems) * size), POSIX_FADV_WILLNEED);
}

void column_close(Column *c) {
  file_close(&c->file);
  for (int k = 0; k < c->nparts; k++) column_close(&c->parts[k]);
}

void column_free(Column *c) {
  for (int k = 0; k < c->nparts; k++) column_free(&c->parts[k]);
  free(c->parts);
  file_close(&c->file);
  csv_free(c);
  images_free(c);
  words_free(&c->words);
  free(c->text);
  free(c->member);
}
