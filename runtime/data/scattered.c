/* Rows of a batch from where a column's files have them. Contract: a read gets what lies together:
   rows in order, or of shuffled ones those that lie near each other. An error is that of the first
   row of the batch that cannot be read; the others are there. */
#include "runtime/data/rows.h"
#include <stdlib.h>
#include <string.h>

enum {
  NEAR = 4096,        /* bytes between two rows that cost less than a read of their own */
  NEAR_BYTES = 16384, /* of rows that one read gets */
  SORTED = 64         /* rows that are sorted at a time */
};

typedef struct Place {
  uint64_t row, at; /* of the batch, of the file */
} Place;

typedef struct Failed {
  uint64_t row; /* UINT64_MAX: none */
  Err *err;
} Failed;

uint64_t column_row_bytes(const Column *c) {
  return c->row_elems * (uint64_t)elem_info[c->t->dtype].size;
}

bool rows_together(const Dataset *d, const Column *c) {
  return !d->shuffled && !c->images && c->step == c->row_elems;
}

bool column_convert(const Column *c, uint64_t r, uint64_t n, uint8_t *to, Err *e) {
  enum { PIECE = 2048 };
  uint64_t piece[PIECE], size = (uint64_t)elem_info[c->t->dtype].size, all = n * c->row_elems;
  bool ok = true;
  if (c->type == (Elem)c->t->dtype) return column_read(c, r, 0, all, to, e);
  if (c->images) { /* a whole one */
    uint8_t *room = column_room(c);
    ok = room ? column_read(c, r, 0, all, room, e)
              : err_set(e, EXIT_ENV, "no memory to read %s", c->text);
    if (ok) elem_convert(to, (Elem)c->t->dtype, room, c->type, all);
    free(room);
    return ok;
  }
  for (uint64_t k = 0; ok && k < all; k += PIECE) {
    uint64_t now = all - k < PIECE ? all - k : PIECE;
    ok = column_read(c, r, k, now, piece, e);
    if (ok) elem_convert(to + k * size, (Elem)c->t->dtype, piece, c->type, now);
  }
  return ok;
}

static void read_rows(const Column *c, uint64_t row, uint64_t at, uint64_t n, uint8_t *to,
                      Failed *f) {
  Err e = {0};
  if (column_convert(c, at, n, to, &e) || row >= f->row) return;
  f->row = row;
  *f->err = e;
}

/* So many of the places, the first ones, as one read gets. */
static uint64_t near_ones(const Column *c, const Place *p, uint64_t n) {
  const uint64_t size = (uint64_t)elem_info[c->type].size, row = c->row_elems * size;
  uint64_t k = 1;
  while (k < n && !c->images && (p[k].at - p[k - 1].at) * c->step * size <= row + NEAR &&
         (p[k].at - p[0].at) * c->step * size + row <= NEAR_BYTES)
    k++;
  return k;
}

/* Such rows; false: they are to be read one by one, so that an error is of its own row. */
static bool read_near(const Column *c, const Place *p, uint64_t n, uint8_t *base) {
  const uint64_t size = (uint64_t)elem_info[c->type].size,
                 all = (p[n - 1].at - p[0].at) * c->step + c->row_elems;
  uint8_t room[NEAR_BYTES];
  Err ignored = {0};
  if (n < 2 || !column_read(c, p[0].at, 0, all, room, &ignored)) return false;
  for (uint64_t k = 0; k < n; k++)
    elem_convert(base + p[k].row * column_row_bytes(c), (Elem)c->t->dtype,
                 room + (p[k].at - p[0].at) * c->step * size, c->type, c->row_elems);
  return true;
}

/* SORTED rows of the batch at most, in the order of the file. */
static void read_sorted(const Column *c, Place *p, uint64_t n, uint8_t *base, Failed *f) {
  for (uint64_t i = 1; i < n; i++) {
    const Place now = p[i];
    uint64_t k = i;
    for (; k > 0 && p[k - 1].at > now.at; k--) p[k] = p[k - 1];
    p[k] = now;
  }
  for (uint64_t k = 0, near; k < n; k += near) {
    near = near_ones(c, p + k, n - k);
    if (read_near(c, p + k, near, base)) continue;
    for (uint64_t i = k; i < k + near; i++)
      read_rows(c, p[i].row, p[i].at, 1, base + p[i].row * column_row_bytes(c), f);
  }
}

uint64_t rows_read(const Dataset *d, const Column *c, uint64_t batch, uint64_t first, uint64_t n,
                   uint8_t *base, Err *e) {
  Failed f = {UINT64_MAX, e};
  Place p[SORTED];
  if (rows_together(d, c)) {
    read_rows(c, first, dataset_at(d, batch, first), n, base + first * column_row_bytes(c), &f);
    return f.row;
  }
  for (uint64_t r = first, all; r < first + n; r += all) {
    for (all = 0; all < SORTED && r + all < first + n; all++)
      p[all] = (Place){r + all, dataset_at(d, batch, r + all)};
    read_sorted(c, p, all, base, &f);
  }
  return f.row;
}
