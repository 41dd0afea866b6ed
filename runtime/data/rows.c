/* The rows of a column, from wherever they lie: one file, several, images, CSV. Contract: elements
   have the file's type and the machine's order of bytes. */
#include "runtime/data/rows.h"
#include <fcntl.h>
#include <stdlib.h>

/* What a part has of elements [at, at + n) of all parts: so many of its own, from *from on. */
static uint64_t overlap(const Column *p, uint64_t at, uint64_t n, uint64_t *from) {
  uint64_t begin = at > p->before ? at : p->before,
           end = at + n < p->before + p->total ? at + n : p->before + p->total;
  *from = begin - p->before;
  return end > begin ? end - begin : 0;
}

/* Elements [at, at + n) of a file, in the machine's order of bytes. */
static bool read_elements(const Column *c, uint64_t at, uint64_t n, bool whole, void *to, Err *e) {
  uint64_t size = (uint64_t)elem_info[c->type].size;
  if (!source_read(&c->source, c->header + at * size, to, n * size, whole, e)) return false;
  if (c->big) elem_swap(to, (int)size, n);
  return true;
}

/* The same of all parts, one after the other. */
static bool read_parts(const Column *c, uint64_t at, uint64_t n, uint8_t *to, Err *e) {
  uint64_t from, size = (uint64_t)elem_info[c->type].size;
  bool ok = true;
  for (int k = 0; ok && k < c->nparts; k++) {
    uint64_t here = overlap(&c->parts[k], at, n, &from);
    ok = !here || read_elements(&c->parts[k], from, here, false, to, e);
    to += here * size;
  }
  return ok;
}

/* Elements [first, first + n) of row r, as they are in the file but for their order of bytes. */
bool column_read(const Column *c, uint64_t r, uint64_t first, uint64_t n, void *to, Err *e) {
  uint64_t at = c->offset + (c->first + r) * c->step + first;
  bool ok = true;
  if (c->unpacked) {
    uint64_t size = (uint64_t)elem_info[c->type].size;
    return file_read(c->unpacked, (at - c->begin) * size, to, n * size, e);
  }
  if (c->parts) return read_parts(c, at, n, to, e);
  if (c->images) { /* whole rows */
    for (uint64_t k = 0; ok && k < n; k += c->row_elems)
      ok = images_read(c, r + k / c->row_elems, (uint8_t *)to + k, e);
    return ok;
  }
  return read_elements(c, at, n, false, to, e);
}

/* A row in the file's type; `room` holds one. NULL after an error. */
const uint8_t *column_row(const Column *c, uint64_t r, uint8_t *room, Err *e) {
  if (!c->on_disk) return c->data + r * c->step * (uint64_t)elem_info[c->type].size;
  return column_read(c, r, 0, c->row_elems, room, e) ? room : NULL;
}

uint8_t *column_room(const Column *c) {
  return malloc(c->row_elems * (uint64_t)elem_info[c->type].size + 1);
}

static bool load_parts(Column *c, uint8_t *to, Err *e) {
  uint64_t from;
  bool ok = true;
  for (int k = 0; ok && k < c->nparts; k++) {
    Column *p = &c->parts[k];
    uint64_t n = overlap(p, c->begin, c->end - c->begin, &from);
    if (n && p->csv) /* whole lines */
      ok = csv_read(p, from / csv_columns(p), n / csv_columns(p), to, e);
    else if (n)
      ok = read_elements(p, from, n, true, to, e);
    to += n * (uint64_t)elem_info[c->type].size;
    csv_close(p);
  }
  return ok;
}

bool column_load(Column *c, uint8_t *to, Err *e) {
  c->data = to;
  if (c->images) {
    images_labels(c, c->first, c->rows, (int32_t *)(void *)to);
    return true;
  }
  if (c->parts) return load_parts(c, to, e);
  if (c->csv) {
    const uint64_t n = csv_columns(c);
    if (!csv_read(c, c->begin / n, (c->end - c->begin) / n, to, e)) return false;
    csv_close(c);
    return true;
  }
  return read_elements(c, c->begin, c->end - c->begin, true, to, e);
}

bool column_may_stay(const Column *c) {
  bool may = !c->images && (c->parts || (!c->csv && c->source.kind == SOURCE_PLAIN));
  for (int k = 0; may && k < c->nparts; k++) may = column_may_stay(&c->parts[k]);
  return may;
}

static void advise(const Column *c, uint64_t at, uint64_t n) {
  uint64_t size = (uint64_t)elem_info[c->type].size;
  uint64_t from = c->unpacked ? (at - c->begin) * size : c->source.start + c->header + at * size;
  (void)posix_fadvise(c->unpacked ? c->unpacked->fd : c->file.fd, (off_t)from, (off_t)(n * size),
                      POSIX_FADV_WILLNEED);
}

void column_advise(const Column *c, uint64_t r, uint64_t rows) {
  uint64_t at = c->offset + (c->first + r) * c->step, n = (rows - 1) * c->step + c->row_elems, from;
  if (c->images) return;
  if (!c->parts || c->unpacked) {
    advise(c, at, n);
    return;
  }
  for (int k = 0; k < c->nparts; k++) {
    uint64_t here = overlap(&c->parts[k], at, n, &from);
    if (here) advise(&c->parts[k], from, here);
  }
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
  words_free(&c->columns);
  free(c->text);
  free(c->member);
}
