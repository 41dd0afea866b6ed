/* Brings a tensor of a file into the dtype and the order of the program's, piece by piece.
   Contract: see source.h. The two halves of the stage are what the file has, and what becomes of
   it; a matrix that is transposed goes through them in tiles. */
#include "runtime/weights/source.h"
#include <string.h>

enum { HALF = STAGE_BYTES / 2, PIECE = HALF / 8 }; /* PIECE: of any dtype */

typedef struct Reading {
  const WeightsTensor *x;
  const GcTensor *t;
  uint8_t *raw, *ready; /* halves of the stage */
  Elem from, to;
  uint64_t from_size, to_size;
} Reading;

/* n elements from `first` on, in the file's order, behind `at` elements of raw. */
static bool read_raw(const Reading *r, uint64_t first, uint64_t n, uint64_t at, Err *e) {
  const WeightsPart *p = r->x->part;
  return file_read(&p->file, p->table.data + r->x->entry->begin + first * r->from_size,
                   r->raw + at * r->from_size, n * r->from_size, e);
}

static bool straight(const Reading *r, WeightsPiece *piece, void *to, Err *e) {
  uint64_t all = tensor_count(r->t);
  for (uint64_t at = 0; at < all; at += PIECE) {
    uint64_t n = all - at < PIECE ? all - at : PIECE;
    if (!read_raw(r, at, n, 0, e)) return false;
    elem_convert(r->ready, r->to, r->raw, r->from, n);
    if (!piece(to, r->t, at, n, r->ready, e)) return false;
  }
  return true;
}

/* [columns, rows] to [rows, columns]. */
static void turn(uint8_t *to, const uint8_t *from, uint64_t rows, uint64_t columns, uint64_t size) {
  for (uint64_t j = 0; j < columns; j++)
    for (uint64_t i = 0; i < rows; i++)
      memcpy(to + (i * columns + j) * size, from + (j * rows + i) * size, size);
}

static bool tile(const Reading *r, uint64_t row, uint64_t rows, uint64_t column, uint64_t columns,
                 WeightsPiece *piece, void *to, Err *e) {
  uint64_t height = (uint64_t)r->t->dims[0], width = (uint64_t)r->t->dims[1];
  for (uint64_t j = 0; j < columns; j++)
    if (!read_raw(r, (column + j) * height + row, rows, j * rows, e)) return false;
  elem_convert(r->ready, r->to, r->raw, r->from, rows * columns);
  turn(r->raw, r->ready, rows, columns, r->to_size);
  for (uint64_t i = 0; i < rows; i++)
    if (!piece(to, r->t, (row + i) * width + column, columns, r->raw + i * columns * r->to_size, e))
      return false;
  return true;
}

static bool transposed(const Reading *r, WeightsPiece *piece, void *to, Err *e) {
  uint64_t height = (uint64_t)r->t->dims[0], width = (uint64_t)r->t->dims[1];
  uint64_t rows = height < WEIGHTS_ROWS ? height : WEIGHTS_ROWS, columns = PIECE / rows;
  for (uint64_t i = 0; i < height; i += rows)
    for (uint64_t j = 0; j < width; j += columns)
      if (!tile(r, i, height - i < rows ? height - i : rows, j,
                width - j < columns ? width - j : columns, piece, to, e))
        return false;
  return true;
}

bool weights_pieces(const WeightsTensor *x, const GcTensor *t, uint8_t *stage, WeightsPiece *piece,
                    void *to, Err *e) {
  Elem from = x->entry->type, into = (Elem)t->dtype;
  Reading r = {.x = x,
               .t = t,
               .raw = stage,
               .ready = stage + HALF,
               .from = from,
               .to = into,
               .from_size = (uint64_t)elem_info[from].size,
               .to_size = (uint64_t)elem_info[into].size};
  return x->transposed ? transposed(&r, piece, to, e) : straight(&r, piece, to, e);
}
