/* The rows that feed an entry: row counts that agree, one allocation for all files, batches in
   order or shuffled (Fisher-Yates over Philox, keyed by seed and epoch). Files that two inputs
   share are read once. Contract: elements keep the file's type in memory and are converted while a
   batch is gathered. */
#include "runtime/data/rows.h"
#include <fcntl.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <zlib.h>

static bool same_file(const Column *a, const Column *b) {
  return a->file.dev == b->file.dev && a->file.ino == b->file.ino &&
         a->source.start == b->source.start;
}

/* Their elements are sequences of the same bytes, or lines of the same table. */
static bool same_files(const Column *a, const Column *b) {
  bool same = ((a->flat && b->flat) || (a->line && b->line)) && a->nparts == b->nparts;
  for (int k = 0; same && k < a->nparts; k++) same = same_file(&a->parts[k], &b->parts[k]);
  return same && (a->nparts || same_file(a, b));
}

static bool same_bytes(const Column *a, const Column *b) {
  return a->flat && a->type == b->type && same_files(a, b);
}

/* Of elements, those of a file, or lines of a table. */
static uint64_t units(const Column *c, uint64_t elements) {
  return c->line ? elements / c->line : elements;
}

/* Windows move on by another number of bytes a row, so that they drift apart. */
static bool drift_apart(const Column *a, const Column *b, Err *e) {
  const uint64_t x = a->step * (uint64_t)elem_info[a->type].size,
                 y = b->step * (uint64_t)elem_info[b->type].size;
  const bool windows = a->step != a->row_elems && b->step != b->row_elems;
  if (a->line) {
    if (units(a, a->step) == units(b, b->step)) return false;
    err_set(e, EXIT_WRONG, "%s: %s moves on by ~%" PRIu64 " a row, %s by ~%" PRIu64, a->text,
            a->t->name, units(a, a->step), b->t->name, units(b, b->step));
    err_hint(e, "say the same step for both, for example ~1");
    return true;
  }
  if (a->type == b->type ? a->step == b->step : x == y || !windows) return false;
  if (a->type == b->type) {
    err_set(e, EXIT_WRONG, "%s: %s moves on by %" PRIu64 " elements a row, %s by %" PRIu64, a->text,
            a->t->name, a->step, b->t->name, b->step);
    err_hint(e, "say the same step for both, for example %s+%" PRIu64 "~1 and %s+%" PRIu64 "~1",
             a->text, a->offset, a->text, b->offset);
  } else {
    err_set(e, EXIT_WRONG,
            "%s: %s moves on by %" PRIu64 " bytes a row, as %s, and %s by %" PRIu64 ", as %s",
            a->text, a->t->name, x, elem_info[a->type].name, b->t->name, y,
            elem_info[b->type].name);
    err_hint(e, "~s counts elements of the TYPE that is given: say steps of the same bytes");
  }
  return true;
}

/* Of two inputs whose windows are of one file, which end where the last of them does. */
static void end_together(Column *a, Column *b) {
  const uint64_t least = a->rows < b->rows ? a->rows : b->rows, most = a->rows + b->rows - least;
  const uint64_t rest = (most - least) * units(a, a->step), x = units(a, a->offset),
                 y = units(b, b->offset), far = x > y ? x : y;
  if (a->first != b->first || rest > x + y + units(a, a->row_elems) + units(b, b->row_elems))
    return;
  Column *longer = a->rows > b->rows ? a : b;
  if (rest > far + units(a, a->step)) longer->cut += most - least;
  a->rows = b->rows = least;
}

static bool join_windows(Dataset *d, Err *e) {
  for (int i = 0; i < d->n; i++) {
    Column *c = &d->columns[i];
    for (int j = d->n - 1; j >= 0; j--) { /* each pair twice, so that the least count reaches all */
      Column *b = &d->columns[j];
      if (j == i || c->fixed || b->fixed || !same_files(b, c)) continue;
      if (drift_apart(i < j ? c : b, i < j ? b : c, e)) return false;
      if (b->type == c->type || b->line) end_together(b, c);
    }
  }
  return true;
}

bool dataset_cut_note(const Dataset *d, char *out, size_t size) {
  for (int i = 0; i < d->n; i++) {
    const Column *c = &d->columns[i];
    if (!c->cut) continue;
    snprintf(out, size,
             "%s: the last %" PRIu64 " windows of %s are left out: row i of each input begins at "
             "the same %s, but for +k, and another input has no more rows",
             c->text, c->cut, c->t->name, c->line ? "line" : "element");
    return true;
  }
  return false;
}

static bool other_rows(const Column *ref, const Column *c, Err *e) {
  err_set(e, EXIT_WRONG, "%s has %" PRIu64 " rows (%s), but %s has %" PRIu64 " (%s)", ref->t->name,
          ref->rows, ref->text, c->t->name, c->rows, c->text);
  if (dataset_pairs_hint(ref, c, e)) return false;
  const Column *bare = c->flat && !c->header ? c : ref->flat && !ref->header ? ref : NULL;
  if (bare && bare->is_text)
    return err_hint(e,
                    "row i of each file must belong together: %s is text, and its rows are %" PRIu64
                    " characters each, line ends included",
                    bare->text, bare->row_elems);
  if (bare)
    return err_hint(e,
                    "row i of each file must belong together: %s is read as elements of %s, or of "
                    "another TYPE with %s:TYPE",
                    bare->text, elem_info[bare->type].name, bare->text);
  return err_hint(e, "row i of each file must belong together; choose rows with FILE[a:b]");
}

static bool no_batch(const Dataset *d, const Column *ref, Err *e) {
  const bool shorter = d->extents.batch >= 0;
  if (shorter && d->rows && d->rows < d->ranks) {
    err_set(e, EXIT_WRONG,
            "%s: has %" PRIu64 " row%s, but each of %" PRIu64 " ranks takes one at least",
            ref->text, d->rows, d->rows == 1 ? "" : "s", d->ranks);
    return err_hint(e, "give more rows, or run a program that is compiled for fewer ranks");
  }
  err_set(e, EXIT_WRONG, "%s: has %" PRIu64 " rows, but one batch takes %" PRIu64, ref->text,
          d->rows, d->batch);
  if (shorter && d->rows)
    return err_hint(e, "--drop-last leaves the only batch out: give more rows, or no --drop-last");
  return err_hint(e, "give more rows, or compile the program with a smaller batch");
}

/* Rows of the inputs must be as many. */
static bool agree(Dataset *d, bool whole, Err *e) {
  const Column *ref = NULL;
  if (!join_windows(d, e)) return false;
  for (int i = 0; i < d->n; i++) {
    const Column *c = &d->columns[i];
    if (c->fixed) continue;
    if (!ref) ref = c;
    if (c->rows != ref->rows) return other_rows(ref, c, e);
  }
  d->rows = ref ? ref->rows : d->batch;
  d->batches = ref ? d->rows / d->batch : 1;
  bool shorter = ref && d->extents.batch >= 0;
  if (shorter && !whole && d->rows % d->batch >= d->ranks) d->batches++; /* each rank has a row */
  return d->batches || no_batch(d, ref, e);
}

const char *dataset_path(const Dataset *d, int input, int k) {
  const Column *c = input < d->n ? &d->columns[input] : NULL;
  if (!c || c->is_number) return NULL;
  if (c->parts) return k < c->nparts ? c->parts[k].text : NULL;
  return k == 0 ? c->file.path : NULL;
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
  uint64_t order = 0, before = at;
  ok = ok && reader_bytes(d, &at, &d->reader_offset);
  d->reader_bytes = at - before;
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
  if (d->extents.batch >= 0 && end > d->rows) end = d->rows;
  return end - from * d->batch;
}

double dataset_weight(const Dataset *d, uint64_t from, uint64_t to) {
  return (double)(d->extents.batch < 0 ? to - from : dataset_rows(d, from, to));
}

/* Ranks have rows in their order, as many as others or one less. */
uint64_t dataset_part(const Dataset *d, uint64_t batch, uint64_t *first) {
  uint64_t rows = dataset_rows(d, batch, batch + 1);
  *first = rows * d->rank / d->ranks;
  return rows * (d->rank + 1) / d->ranks - *first;
}

void dataset_extents(const Dataset *d, uint64_t batch, int32_t out[GC_EXTENTS]) {
  uint64_t first;
  for (int i = 0; i < GC_EXTENTS; i++) {
    if (d->extents.value[i]) out[i] = d->extents.value[i];
    if (d->extents.batch == i) out[i] = (int32_t)dataset_part(d, batch, &first);
  }
}

static void find_batch(Dataset *d, const GcEntry *entry, int rank) {
  d->extents = (FileExtents){.entry = entry, .batch = entry->batch - 1};
  for (int i = entry->ninputs - 1; i >= 0; i--) {
    const GcTensor *t = &entry->inputs[i];
    if (t->rank > 0) d->batch = (uint64_t)t->dims[0];
  }
  if (d->extents.batch >= 0) d->batch = (uint64_t)entry->extents[d->extents.batch].bound;
  d->part = d->batch;
  d->ranks = 1;
  if (!entry->ranks) return;
  d->rank = (uint64_t)rank, d->ranks = (uint64_t)entry->ranks;
  d->batch *= d->ranks;
}

bool dataset_splits(const GcEntry *entry, int ranks) {
  Dataset d = {.batch = 1};
  find_batch(&d, entry, 0);
  uint64_t n = (uint64_t)ranks;
  return d.batch % n == 0 && (d.extents.batch < 0 || d.batch > n);
}

bool dataset_has_rows(const GcEntry *entry, const GcTensor *input) {
  Dataset d = {.batch = 1};
  find_batch(&d, entry, 0);
  return !column_is_fixed(input, d.part, &d.extents);
}

uint64_t dataset_share(const GcEntry *entry, int *extent) {
  Dataset d = {.batch = 1};
  find_batch(&d, entry, 0);
  *extent = d.extents.batch;
  return d.part;
}

static uint64_t bytes_of(const Column *c) {
  return (c->end - c->begin) * (uint64_t)elem_info[c->type].size;
}

/* Without the batch that is read ahead. */
static uint64_t data_bytes(const Dataset *d) { return d->bytes - d->reader_bytes; }

/* Images that stay decoded: as many as there is room for. */
static bool keep_fewer(Dataset *d, uint64_t bytes, Err *e) {
  for (int i = 0; i < d->n && data_bytes(d) > bytes; i++) {
    Column *c = &d->columns[i];
    if (!c->kept) continue;
    uint64_t fewer = (data_bytes(d) - bytes + c->row_elems - 1) / c->row_elems;
    c->kept -= fewer < c->kept ? fewer : c->kept;
    if (!lay_out(d, e)) return false;
  }
  return true;
}

bool dataset_limit(Dataset *d, uint64_t bytes, bool own, TemporaryFolder *folder, Err *e) {
  while (own || data_bytes(d) > bytes) {
    Column *largest = NULL;
    for (int i = 0; i < d->n; i++) {
      Column *c = &d->columns[i];
      if (c->is_number || c->fixed || c->images || c->loads || c->on_disk || c->leader != i)
        continue;
      if (!largest || bytes_of(c) > bytes_of(largest)) largest = c;
    }
    if (!largest) return keep_fewer(d, bytes, e); /* what is left must be loaded */
    if (!column_may_stay(largest)) {
      if (!unpacked_file(largest, folder, e)) return false;
      largest->loads = !largest->unpacked;
      if (largest->loads) continue;
    }
    for (int i = 0; i < d->n; i++)
      if (&d->columns[d->columns[i].leader < 0 ? i : d->columns[i].leader] == largest)
        d->columns[i].on_disk = true, d->columns[i].unpacked = largest->unpacked;
    if (!lay_out(d, e)) return false;
  }
  return true;
}

bool dataset_open(Dataset *d, const GcEntry *entry, const char *const *texts, const DataRequest *q,
                  Err *e) {
  *d = (Dataset){.n = entry->ninputs,
                 .batch = 1,
                 .part = 1,
                 .ranks = 1,
                 .shuffled = q->shuffle,
                 .spare = q->spare};
  d->columns = calloc((size_t)entry->ninputs + 1, sizeof *d->columns);
  if (!d->columns) return err_set(e, EXIT_ENV, "no memory for the inputs");
  for (int i = 0; i < d->n; i++) d->columns[i] = (Column){.leader = -1, .file = {.fd = -1}};
  find_batch(d, entry, q->rank);
  for (int i = 0; i < d->n; i++)
    if (!column_open(&d->columns[i], &entry->inputs[i], texts[i], d->part, &d->extents, q, e))
      return false;
  if (!agree(d, q->whole, e)) return false;
  /* one batch is the same in any order; but nodes of a graph, say, must stay where they are */
  if (d->rows <= d->batch && !q->always) d->shuffled = false;
  return lay_out(d, e);
}

bool dataset_load(Dataset *d, Err *e) {
  if (d->bytes) {
    d->base = pages_map(d->bytes, "the data", "take fewer rows with FILE[a:b]", e);
    if (!d->base) return false;
  }
  if (d->shuffled) d->order = d->base + d->order_offset;
  for (int i = 0; i < d->n; i++)
    if (d->columns[i].leader == i && !d->columns[i].on_disk &&
        !column_load(&d->columns[i], d->base + d->columns[i].data_offset, e))
      return false;
  for (int i = 0; i < d->n; i++)
    if (d->columns[i].kept) images_keep(&d->columns[i], d->base + d->columns[i].data_offset);
  for (int i = 0; i < d->n; i++) {
    Column *c = &d->columns[i];
    if (c->is_number) continue;
    if (c->unpacked) { /* by the leader, for all that share its bytes */
      if (c->leader == i && !unpacked_fill(c, e)) return false;
      c->begin = d->columns[c->leader].begin;
      column_close(c);
    }
    if (c->on_disk &&
        !column_check_disk(c, c->rows * d->rank / d->ranks, c->rows * (d->rank + 1) / d->ranks, e))
      return false; /* what is wrong in a share is every rank's error, once all are prepared */
    if (c->on_disk) continue;
    const Column *leader = &d->columns[c->leader]; /* its bytes are those of all that share them */
    const uint64_t own = c->offset + c->first * c->step;
    Column view = *c;
    view.data = d->base + leader->data_offset;
    view.begin = leader->begin, view.end = leader->end;
    if (!column_check(&view, e)) return false;
    c->data = view.data + (own - view.begin) * (uint64_t)elem_info[c->type].size;
    column_close(c);
  }
  for (int i = 0; i < d->n; i++)
    if (!d->columns[i].on_disk && !column_check_limit(&d->columns[i], e)) return false;
  dataset_order(d, 0, 0);
  bool reads = false;
  for (int i = 0; i < d->n; i++) reads = reads || d->columns[i].on_disk;
  return !reads || reader_start(d, d->base + d->reader_offset, e);
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
  if (d->reader) reader_pause(d);
  for (uint64_t i = 0; d->shuffled && i < d->rows; i++) order_set(d, i, i);
  uint64_t draws = 0;
  for (uint64_t i = d->rows; d->shuffled && i > 1; i--) {
    uint64_t j = philox_below(seed, epoch + (UINT64_C(1) << 63), &draws, i),
             x = order_get(d, i - 1);
    order_set(d, i - 1, order_get(d, j));
    order_set(d, j, x);
  }
  if (d->reader) reader_begin(d, 0);
}

uint64_t dataset_at(const Dataset *d, uint64_t batch, uint64_t r) {
  uint64_t first, i;
  (void)dataset_part(d, batch, &first);
  i = batch * d->batch + first + r;
  return d->shuffled ? order_get(d, i) : i;
}

uint64_t dataset_row(const Dataset *d, int i, uint64_t batch, uint64_t r) {
  const Column *c = &d->columns[i];
  return c->fixed ? r : c->first + dataset_at(d, batch, r);
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
    uint8_t *room = c->on_disk ? column_room(c) : NULL;
    for (uint64_t k = 0; k < taken && (room || !c->on_disk); k++) {
      uint64_t row = k + 1 == taken ? n - 1 : n / taken * k;
      Err none = {0};
      const uint8_t *data = column_row(c, row, room, &none);
      if (data) crc = sum_bytes(crc, data, c->row_elems * size);
    }
    free(room);
  }
  return crc;
}

void dataset_free(Dataset *d) {
  reader_stop(d);
  for (int i = 0; i < d->n && d->columns; i++) {
    if (d->columns[i].leader == i) unpacked_free(&d->columns[i]);
    column_free(&d->columns[i]);
  }
  free(d->columns);
  if (d->base) munmap(d->base, d->bytes);
  *d = (Dataset){0};
}
