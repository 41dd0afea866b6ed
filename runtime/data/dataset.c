/* The rows that feed an entry: row counts that agree, one allocation for all files, batches in
   order or shuffled (Fisher-Yates over Philox, keyed by seed and epoch). Files that two inputs
   share are read once. Contract: elements keep the file's type in memory and are converted while a
   batch is gathered. */
#include "runtime/data/dataset.h"
#include <fcntl.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <zlib.h>

static bool same_bytes(const Column *a, const Column *b) {
  return a->flat && b->flat && a->file.dev == b->file.dev && a->file.ino == b->file.ino &&
         a->type == b->type;
}

/* Rows of the inputs must be as many; windows of one flat file only end where the last of them
 * does. */
static bool agree(Dataset *d, bool whole, Err *e) {
  Column *ref = NULL;
  for (int i = 0; i < d->n; i++) {
    Column *c = &d->columns[i];
    if (c->fixed) continue;
    for (int j = d->n - 1; j >= 0; j--) { /* each pair twice, so that the least count reaches all */
      Column *b = &d->columns[j];
      if (j == i || b->fixed || !same_bytes(b, c)) continue;
      if (b->step != c->step) {
        const Column *x = i < j ? c : b, *y = i < j ? b : c;
        err_set(e, EXIT_WRONG, "%s: %s moves on by %" PRIu64 " elements a row, %s by %" PRIu64,
                c->text, x->t->name, x->step, y->t->name, y->step);
        return err_hint(
            e, "say the same step for both, for example %s+%" PRIu64 "~1 and %s+%" PRIu64 "~1",
            c->text, x->offset, c->text, y->offset);
      }
      uint64_t least = b->rows < c->rows ? b->rows : c->rows, most = b->rows + c->rows - least;
      if (b->first == c->first &&
          (most - least) * c->step <= b->offset + c->offset + b->row_elems + c->row_elems)
        b->rows = c->rows = least;
    }
  }
  for (int i = 0; i < d->n; i++) {
    Column *c = &d->columns[i];
    if (c->fixed) continue;
    if (!ref) ref = c;
    if (c->rows != ref->rows) {
      err_set(e, EXIT_WRONG, "%s has %" PRIu64 " rows (%s), but %s has %" PRIu64 " (%s)",
              ref->t->name, ref->rows, ref->text, c->t->name, c->rows, c->text);
      return err_hint(e, "row i of each file must belong together; choose rows with FILE[a:b]");
    }
  }
  d->rows = ref ? ref->rows : d->batch;
  d->batches = ref ? d->rows / d->batch : 1;
  bool shorter = ref && d->extent >= 0;
  if (shorter && !whole) d->batches = (d->rows + d->batch - 1) / d->batch;
  if (d->batches == 0) {
    err_set(e, EXIT_WRONG, "%s: has %" PRIu64 " rows, but one batch takes %" PRIu64, ref->text,
            d->rows, d->batch);
    if (shorter && d->rows)
      return err_hint(e,
                      "--drop-last leaves the only batch out: give more rows, or no --drop-last");
    return err_hint(e, "give more rows, or compile the program with a smaller batch");
  }
  return true;
}

const char *dataset_path(const Dataset *d, int input) {
  const Column *c = input < d->n ? &d->columns[input] : NULL;
  return !c || c->is_number ? NULL : c->file.path;
}

static bool place(uint64_t bytes, uint64_t *offset, uint64_t *at) {
  *offset = *at;
  return checked_add(bytes, 64, &bytes) && checked_add(*at, align_up(bytes, 64), at);
}

static bool lay_out(Dataset *d, Err *e) {
  uint64_t at = 0;
  bool ok = true;
  for (int i = 0; i < d->n; i++) {
    Column *c = &d->columns[i];
    if (c->is_number) continue;
    c->begin = c->offset + c->first * c->step;
    c->end = c->begin + (c->rows - 1) * c->step + c->row_elems;
    c->leader = i;
    for (int j = 0; j < i && c->leader == i; j++)
      if (d->columns[j].leader == j && same_bytes(&d->columns[j], c)) c->leader = j;
    Column *l = &d->columns[c->leader];
    if (c->begin < l->begin) l->begin = c->begin;
    if (c->end > l->end) l->end = c->end;
  }
  for (int i = 0; i < d->n; i++) {
    Column *c = &d->columns[i];
    uint64_t bytes;
    if (c->kept) ok = ok && place(images_bytes(c), &c->data_offset, &at);
    if (c->is_number || c->leader != i || c->on_disk) continue;
    ok = ok && checked_mul(c->end - c->begin, (uint64_t)elem_info[c->type].size, &bytes) &&
         place(bytes, &c->data_offset, &at);
  }
  uint64_t order = 0;
  d->wide = d->rows > UINT32_MAX;
  if (d->shuffled)
    ok = ok && checked_mul(d->rows, d->wide ? 8 : 4, &order) && checked_add(at, order, &d->bytes);
  else
    d->bytes = at;
  d->order_offset = at;
  return ok ? true : err_set(e, EXIT_WRONG, "the data is too large for any machine");
}

uint64_t dataset_rows(const Dataset *d, uint64_t from, uint64_t to) {
  uint64_t end = to * d->batch;
  if (d->extent >= 0 && end > d->rows) end = d->rows;
  return end - from * d->batch;
}

double dataset_weight(const Dataset *d, uint64_t from, uint64_t to) {
  return (double)(d->extent < 0 ? to - from : dataset_rows(d, from, to));
}

/* The extent of the batch: that of the first axis of the first input that has one. Another axis
   that a run decides is no row of a file. */
static bool find_extent(Dataset *d, const GcEntry *entry, Err *e) {
  d->extent = -1;
  for (int i = 0; i < entry->ninputs && d->extent < 0; i++)
    if (entry->inputs[i].extents) d->extent = entry->inputs[i].extents[0] - 1;
  for (int i = 0; i < entry->ninputs; i++) {
    const GcTensor *t = &entry->inputs[i];
    for (int k = 0; t->extents && k < t->rank; k++)
      if (t->extents[k] && (k || t->extents[k] - 1 != d->extent)) {
        err_set(e, EXIT_USAGE, "%s: the extent %s of the input %s is no batch of rows", entry->name,
                entry->extents[t->extents[k] - 1].name, t->name);
        return err_hint(e, "files give the extent of the batch alone, the first axis of an input; "
                           "a library takes any");
      }
  }
  if (d->extent >= 0) d->batch = (uint64_t)entry->extents[d->extent].bound;
  return true;
}

/* ---- rows that stay on disk ---- */
struct DiskTrouble {
  _Atomic int claimed, ready;
  Err err;
};

static uint64_t bytes_of(const Column *c) {
  return (c->end - c->begin) * (uint64_t)elem_info[c->type].size;
}

/* Images that stay decoded: as many as there is room for. */
static bool keep_fewer(Dataset *d, uint64_t bytes, Err *e) {
  for (int i = 0; i < d->n && d->bytes > bytes; i++) {
    Column *c = &d->columns[i];
    if (!c->kept) continue;
    uint64_t fewer = (d->bytes - bytes + c->row_elems) / (c->row_elems + 1);
    c->kept -= fewer < c->kept ? fewer : c->kept;
    if (!lay_out(d, e)) return false;
  }
  return true;
}

bool dataset_limit(Dataset *d, uint64_t bytes, Err *e) {
  while (d->bytes > bytes) {
    Column *largest = NULL;
    for (int i = 0; i < d->n; i++) {
      Column *c = &d->columns[i];
      bool may =
          !c->is_number && !c->fixed && !c->csv && !c->images && c->source.kind == SOURCE_PLAIN;
      if (!may || c->on_disk || c->leader != i) continue;
      if (!largest || bytes_of(c) > bytes_of(largest)) largest = c;
    }
    if (!largest) return keep_fewer(d, bytes, e); /* what is left must be loaded */
    for (int i = 0; i < d->n; i++)
      if (&d->columns[d->columns[i].leader < 0 ? i : d->columns[i].leader] == largest)
        d->columns[i].on_disk = true;
    if (!lay_out(d, e)) return false;
  }
  return true;
}

/* Elements [first, first + n) of row r, as they are in the file but for their order of bytes. */
static bool read_elements(const Column *c, uint64_t r, uint64_t first, uint64_t n, void *to,
                          Err *e) {
  uint64_t size = (uint64_t)elem_info[c->type].size;
  uint64_t at = c->offset + (c->first + r) * c->step + first;
  bool ok = true;
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
static const uint8_t *row_of(const Column *c, uint64_t r, uint8_t *room, Err *e) {
  if (!c->on_disk) return c->data + r * c->step * (uint64_t)elem_info[c->type].size;
  return read_elements(c, r, 0, c->row_elems, room, e) ? room : NULL;
}

static uint8_t *row_room(const Column *c) {
  return malloc(c->row_elems * (uint64_t)elem_info[c->type].size + 1);
}

/* Converts a row to its place in a batch; by pieces, unless the types are the same. */
static void fill_from_disk(const Dataset *d, const Column *c, uint64_t r, uint8_t *to) {
  enum { PIECE = 2048 };
  uint64_t piece[PIECE], size = (uint64_t)elem_info[c->t->dtype].size;
  bool same = c->type == (Elem)c->t->dtype, ok = true;
  Err e = {0};
  if (c->images && !same) {
    uint8_t *room = row_room(c);
    ok = room ? read_elements(c, r, 0, c->row_elems, room, &e)
              : err_set(&e, EXIT_ENV, "no memory to read %s", c->text);
    if (ok) elem_convert(to, (Elem)c->t->dtype, room, c->type, c->row_elems);
    free(room);
    same = true;
  } else if (same)
    ok = read_elements(c, r, 0, c->row_elems, to, &e);
  for (uint64_t k = 0; ok && !same && k < c->row_elems; k += PIECE) {
    uint64_t n = c->row_elems - k < PIECE ? c->row_elems - k : PIECE;
    ok = read_elements(c, r, k, n, piece, &e);
    if (ok) elem_convert(to + k * size, (Elem)c->t->dtype, piece, c->type, n);
  }
  if (ok || atomic_exchange(&d->trouble->claimed, 1)) return;
  d->trouble->err = e;
  atomic_store(&d->trouble->ready, 1);
}

bool dataset_trouble(const Dataset *d, Err *e) {
  if (!d->trouble || !atomic_load(&d->trouble->ready)) return false;
  *e = d->trouble->err;
  return true;
}

static uint64_t row_at(const Dataset *d, uint64_t batch, uint64_t r);

/* Tells the system which rows come next, so that it reads them while the program computes. */
static void prefetch(const Dataset *d, const Column *c, uint64_t batch) {
  uint64_t size = (uint64_t)elem_info[c->type].size, row = c->row_elems * size;
  if (batch >= d->batches || c->images) return;
  uint64_t rows = dataset_rows(d, batch, batch + 1), together = d->shuffled ? 1 : rows;
  for (uint64_t r = 0; r < rows; r += together) {
    uint64_t at = c->offset + (c->first + row_at(d, batch, r)) * c->step;
    (void)posix_fadvise(c->file.fd, (off_t)(c->source.start + c->header + at * size),
                        (off_t)((together - 1) * c->step * size + row), POSIX_FADV_WILLNEED);
  }
}

bool dataset_open(Dataset *d, const GcEntry *entry, const char *const *texts, bool shuffle,
                  bool whole, Err *e) {
  *d = (Dataset){.n = entry->ninputs, .batch = 1, .shuffled = shuffle, .extent = -1};
  d->columns = calloc((size_t)entry->ninputs + 1, sizeof *d->columns);
  if (!d->columns) return err_set(e, EXIT_ENV, "no memory for the inputs");
  for (int i = 0; i < d->n; i++) d->columns[i] = (Column){.leader = -1, .file = {.fd = -1}};
  for (int i = entry->ninputs - 1; i >= 0; i--)
    if (entry->inputs[i].rank > 0) d->batch = (uint64_t)entry->inputs[i].dims[0];
  if (!find_extent(d, entry, e)) return false;
  for (int i = 0; i < d->n; i++)
    if (!column_open(&d->columns[i], &entry->inputs[i], texts[i], d->batch, d->extent >= 0, e))
      return false;
  return agree(d, whole, e) && lay_out(d, e);
}

static bool load_column(Dataset *d, Column *c, Err *e) {
  uint64_t size = (uint64_t)elem_info[c->type].size, n = c->end - c->begin;
  uint8_t *to = d->base + c->data_offset;
  if (c->images) {
    images_labels(c, c->first, c->rows, (int32_t *)(void *)to);
    c->data = to;
    return true;
  }
  if (c->csv) {
    uint64_t rows = c->fixed ? c->total / csv_columns(c) : c->rows;
    if (!csv_read(c, c->first, rows, to, e)) return false;
    csv_close(c);
    c->data = to;
    return true;
  }
  if (!source_read(&c->source, c->header + c->begin * size, to, n * size, true, e)) return false;
  if (c->big) elem_swap(to, (int)size, n);
  c->data = to;
  return true;
}

static bool check_values(const Column *c, Err *e) {
  uint64_t bad;
  if (elem_check((Elem)c->t->dtype, c->data, c->type, c->end - c->begin, &bad)) return true;
  char v[40];
  elem_format(v, c->data, c->type, bad);
  err_set(e, EXIT_WRONG,
          "%s: element %" PRIu64 " (row %" PRIu64 ") is %s, which the input %s (%s) cannot hold",
          c->text, c->begin + bad, (c->begin + bad) / c->step, v, c->t->name,
          elem_info[c->t->dtype].name);
  return err_hint(e, "correct the file, or declare the input with a wider type");
}

bool column_fault(const Column *c, uint64_t row, int64_t value, int64_t limit, Err *e) {
  if (c->images && value >= 0 && value < c->words.n) {
    err_set(e, EXIT_WRONG,
            "%s: the class %.200s is number %" PRId64 ", which is not below %" PRId64, c->text,
            c->words.at[value], value, limit);
    return err_hint(e,
                    "it has %d classes, and the input %s is of %" PRId64
                    ": compile the program for as many, or give it fewer folders",
                    c->words.n, c->t->name, limit);
  }
  err_set(e, EXIT_WRONG,
          "%s: input row %" PRIu64 " holds %" PRId64 ", which is not below %" PRId64 "%s", c->text,
          row, value, limit, value < 0 ? " and not 0 or more" : "");
  return err_hint(e,
                  "the input %s must hold 0 to %" PRId64
                  ": correct the file, or take other rows with FILE[a:b]",
                  c->t->name, limit - 1);
}

/* Every row of a column on disk that a check is about, one by one. */
static bool check_disk(const Column *c, Err *e) {
  uint64_t bad, row, size = (uint64_t)elem_info[c->type].size;
  bool converts = c->type != (Elem)c->t->dtype && elem_info[c->t->dtype].cls != ELEM_FLOATS;
  if (!converts && !c->t->nlimits) return true;
  uint64_t most = 1 + (UINT64_C(1) << 20) / (c->step * size + 1), n;
  uint8_t *room = malloc(((most - 1) * c->step + c->row_elems) * size + 1);
  if (!room) return err_set(e, EXIT_ENV, "no memory to check %s", c->text);
  bool ok = true;
  for (uint64_t r = 0; ok && r < c->rows; r += n) {
    n = c->rows - r < most ? c->rows - r : most;
    uint64_t all = (n - 1) * c->step + c->row_elems;
    int64_t value = 0;
    ok = !file_interrupted(c->text, e) && read_elements(c, r, 0, all, room, e);
    if (ok && !elem_check((Elem)c->t->dtype, room, c->type, all, &bad)) {
      Column view = *c;
      view.data = room, view.begin = c->offset + (c->first + r) * c->step;
      view.end = view.begin + all;
      ok = check_values(&view, e);
    }
    const Rows rows = {room, c->type, n, c->step};
    const GcLimit *l = ok && c->t->nlimits ? tensor_out_of_range(c->t, &rows, &row, &value) : NULL;
    if (l) ok = column_fault(c, c->first + r + row, value, l->limit, e);
  }
  free(room);
  return ok;
}

/* Indexes are in range in every row, before the first step. */
static bool check_limit(const Column *c, Err *e) {
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

bool dataset_load(Dataset *d, Err *e) {
  if (d->bytes) {
    d->base = pages_map(d->bytes, "the data", "take fewer rows with FILE[a:b]", e);
    if (!d->base) return false;
  }
  if (d->shuffled) d->order = d->base + d->order_offset;
  for (int i = 0; i < d->n; i++)
    if (d->columns[i].leader == i && !d->columns[i].on_disk && !load_column(d, &d->columns[i], e))
      return false;
  for (int i = 0; i < d->n; i++)
    if (d->columns[i].kept) images_keep(&d->columns[i], d->base + d->columns[i].data_offset);
  for (int i = 0; i < d->n; i++) {
    Column *c = &d->columns[i];
    if (c->is_number) continue;
    if (c->on_disk && !d->trouble) d->trouble = calloc(1, sizeof *d->trouble);
    if (c->on_disk && !d->trouble) return err_set(e, EXIT_ENV, "no memory to read %s", c->text);
    if (c->on_disk && !check_disk(c, e)) return false;
    if (c->on_disk) continue;
    c->data = d->columns[c->leader].data;
    Column view = *c;
    view.begin = d->columns[c->leader].begin, view.end = d->columns[c->leader].end;
    if (!check_values(&view, e)) return false;
    c->data += (c->begin - view.begin) * (uint64_t)elem_info[c->type].size;
    file_close(&c->file);
  }
  for (int i = 0; i < d->n; i++)
    if (!d->columns[i].on_disk && !check_limit(&d->columns[i], e)) return false;
  dataset_order(d, 0, 0);
  return true;
}

static uint64_t order_get(const Dataset *d, uint64_t i) {
  return d->wide ? ((const uint64_t *)d->order)[i] : ((const uint32_t *)d->order)[i];
}

static void order_set(Dataset *d, uint64_t i, uint64_t row) {
  if (d->wide)
    ((uint64_t *)d->order)[i] = row;
  else
    ((uint32_t *)d->order)[i] = (uint32_t)row;
}

void dataset_order(Dataset *d, uint64_t seed, uint64_t epoch) {
  if (!d->shuffled) return;
  for (uint64_t i = 0; i < d->rows; i++) order_set(d, i, i);
  uint64_t draws = 0;
  for (uint64_t i = d->rows; i > 1; i--) {
    uint64_t j = philox_below(seed, epoch + (UINT64_C(1) << 63), &draws, i),
             x = order_get(d, i - 1);
    order_set(d, i - 1, order_get(d, j));
    order_set(d, j, x);
  }
}

static uint64_t row_at(const Dataset *d, uint64_t batch, uint64_t r) {
  uint64_t i = batch * d->batch + r;
  return d->shuffled ? order_get(d, i) : i;
}

uint64_t dataset_row(const Dataset *d, int i, uint64_t batch, uint64_t r) {
  const Column *c = &d->columns[i];
  return c->fixed ? r : c->first + row_at(d, batch, r);
}

static uint64_t row_of_element(const Dataset *d, int i, uint64_t batch, uint64_t r, uint64_t k) {
  const Column *c = &d->columns[i];
  return c->fixed ? k / tensor_row_elems(c->t) : dataset_row(d, i, batch, r);
}

bool dataset_fault(const Dataset *d, uint64_t batch, Err *e) {
  for (int i = 0; i < d->n; i++) {
    const Column *c = &d->columns[i];
    if (c->is_number || elem_info[c->type].cls != ELEM_FLOATS) continue;
    uint8_t *room = c->on_disk ? row_room(c) : NULL;
    for (uint64_t r = 0; r < (c->fixed ? 1 : dataset_rows(d, batch, batch + 1)); r++) {
      Err none = {0};
      if (c->on_disk && !room) break;
      const uint8_t *data = row_of(c, c->fixed ? 0 : row_at(d, batch, r), room, &none);
      for (uint64_t k = 0; data && k < c->row_elems; k++) {
        double v = elem_real(data, c->type, k);
        if (!isnan(v) && !(v > DBL_MAX)) continue; /* -inf is what masks are made of */
        err_hint(e,
                 "row %" PRIu64 " of the input %s (%s) holds %s: correct the file, or take other "
                 "rows with FILE[a:b]; nothing was saved, older files are as they were",
                 row_of_element(d, i, batch, r, k), c->t->name, c->text, isnan(v) ? "nan" : "inf");
        free(room);
        return true;
      }
    }
    free(room);
  }
  return false;
}

static void fill_fixed(const Dataset *d, const Column *c, uint8_t *to) {
  if (c->is_number) {
    if (elem_info[c->t->dtype].cls == ELEM_FLOATS)
      elem_convert(to, (Elem)c->t->dtype, &c->number, ELEM_F64, 1);
    else
      elem_convert(to, (Elem)c->t->dtype, &c->whole, ELEM_I64, 1);
  } else if (c->on_disk) {
    fill_from_disk(d, c, 0, to);
  } else {
    elem_convert(to, (Elem)c->t->dtype, c->data, c->type, c->row_elems);
  }
}

void dataset_gather(const Dataset *d, uint8_t *inputs, uint64_t batch, int t, int nt) {
  uint64_t rows = dataset_rows(d, batch, batch + 1);
  uint64_t lo = rows * (uint64_t)t / (uint64_t)nt, hi = rows * (uint64_t)(t + 1) / (uint64_t)nt;
  for (int i = 0; i < d->n; i++) {
    const Column *c = &d->columns[i];
    uint8_t *to = inputs + c->t->offset;
    if (c->fixed) {
      if (t == 0) fill_fixed(d, c, to);
      continue;
    }
    uint64_t from_row = c->step * (uint64_t)elem_info[c->type].size;
    uint64_t to_row = c->row_elems * (uint64_t)elem_info[c->t->dtype].size;
    if (c->on_disk && t == 0) prefetch(d, c, batch + 1);
    for (uint64_t r = lo; r < hi && c->on_disk; r++)
      fill_from_disk(d, c, row_at(d, batch, r), to + r * to_row);
    for (uint64_t r = lo; r < hi && !c->on_disk; r++)
      elem_convert(to + r * to_row, (Elem)c->t->dtype, c->data + row_at(d, batch, r) * from_row,
                   c->type, c->row_elems);
  }
}

static uint32_t sum_bytes(uint32_t crc, const uint8_t *p, uint64_t n) {
  for (uint64_t k; n; p += k, n -= k) {
    k = n < 1 << 30 ? n : 1 << 30;
    crc = (uint32_t)crc32(crc, p, (uInt)k);
  }
  return crc;
}

uint32_t dataset_sum(const Dataset *d) {
  enum { ROWS = 64 };
  uint32_t crc = 0;
  for (int i = 0; i < d->n; i++) {
    const Column *c = &d->columns[i];
    if (c->is_number) {
      crc = sum_bytes(crc, (const uint8_t *)&c->number, sizeof c->number);
      crc = sum_bytes(crc, (const uint8_t *)&c->whole, sizeof c->whole);
      continue;
    }
    uint64_t size = (uint64_t)elem_info[c->type].size, n = c->fixed ? 1 : c->rows;
    uint64_t taken = n < ROWS ? n : ROWS;
    uint8_t *room = c->on_disk ? row_room(c) : NULL;
    for (uint64_t k = 0; k < taken && (room || !c->on_disk); k++) {
      uint64_t row = k + 1 == taken ? n - 1 : n / taken * k;
      Err none = {0};
      const uint8_t *data = row_of(c, row, room, &none);
      if (data) crc = sum_bytes(crc, data, c->row_elems * size);
    }
    free(room);
  }
  return crc;
}

void dataset_free(Dataset *d) {
  for (int i = 0; i < d->n && d->columns; i++) {
    file_close(&d->columns[i].file);
    csv_free(&d->columns[i]);
    images_free(&d->columns[i]);
    words_free(&d->columns[i].words);
    free(d->columns[i].text);
    free(d->columns[i].member);
  }
  free(d->columns);
  free(d->trouble);
  if (d->base) munmap(d->base, d->bytes);
  *d = (Dataset){0};
}
