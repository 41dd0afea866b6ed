/* Matrices of the module that the exporter has written a second time, transposed: a layer that
   multiplies by the table of embeddings. Its constant folding computes the transposed tensor, and
   what was one parameter would be two.
   Contract: before any name of the graph is entered. The second tensor becomes a Transpose of the
   first, if all elements are equal bit by bit. Tensors that the exporter has not computed stay as
   they are, and so do matrices of few values: an identity and zeros are equal by chance.
   Algorithm: matrices of the module are found by their four corners, and compared tile by tile. */
#include "lang/onnx/import.h"

#include <stdlib.h>
#include <string.h>

typedef struct Matrix {
  Onnx__TensorProto *tensor;
  uint64_t rows, columns, size; /* size: bytes of an element as gc stores it */
  uint64_t corner[4];           /* bits of its first and last row's first and last elements */
  uint32_t next;                /* of the same type and corners, counted from 1; 0: none */
} Matrix;
typedef VEC(Matrix) Matrices;

static bool corners_read(Import *im, Matrix *m) {
  const uint64_t last = m->columns - 1, below = (m->rows - 1) * m->columns;
  const uint64_t at[] = {0, last, below, below + last};
  const char *why;
  for (int i = 0; i < 4; i++)
    if (!tensor_bytes(im, m->tensor, at[i], 1, &m->corner[i], &why)) return false;
  return true;
}

/* False for what is no matrix of floats, or has no data. */
static bool matrix_of(Import *im, Onnx__TensorProto *t, Matrix *m) {
  Shape s;
  int type;
  const char *why;
  if (!tensor_type(im, t, &type, &s, &why) || s.rank != 2 || s.at[0].n < 2 || s.at[1].n < 2 ||
      !elem_of(type)->is_float || !tensor_check(im, t, &why))
    return false;
  *m = (Matrix){.tensor = t,
                .rows = (uint64_t)s.at[0].n,
                .columns = (uint64_t)s.at[1].n,
                .size = (uint64_t)elem_of(type)->size};
  return corners_read(im, m);
}

static Matrix transposed(const Matrix *m) {
  return (Matrix){m->tensor,
                  m->columns,
                  m->rows,
                  m->size,
                  {m->corner[0], m->corner[2], m->corner[1], m->corner[3]},
                  0};
}

static bool same_corners(const void *items, uint32_t item, const void *key) {
  const Matrix *x = &((const Matrices *)items)->at[item], *y = key;
  return x->rows == y->rows && x->columns == y->columns &&
         x->tensor->data_type == y->tensor->data_type &&
         memcmp(x->corner, y->corner, sizeof x->corner) == 0;
}

static uint64_t hash_of(const Matrix *m) {
  return hash_bytes(HASH_START, m->corner, sizeof m->corner);
}

/* ---- the comparison ---- */

enum { SIDE = 1024, FEW = 16 };

typedef struct Values { /* that differ, up to some */
  uint64_t at[FEW + 1];
  int n;
} Values;

static void value_note(Values *v, uint64_t bits) {
  if (v->n > FEW) return;
  for (int i = 0; i < v->n; i++)
    if (v->at[i] == bits) return;
  v->at[v->n++] = bits;
}

static bool tile_read(Import *im, const Matrix *m, uint64_t row, uint64_t column, uint64_t rows,
                      uint64_t columns, uint8_t *room) {
  const char *why;
  for (uint64_t i = 0; i < rows; i++)
    if (!tensor_bytes(im, m->tensor, (row + i) * m->columns + column, columns,
                      room + i * columns * m->size, &why))
      return false;
  return true;
}

/* a of `rows` and b of `columns` rows. */
static bool tiles_agree(const uint8_t *a, const uint8_t *b, uint64_t rows, uint64_t columns,
                        uint64_t size, Values *values) {
  for (uint64_t i = 0; i < rows; i++)
    for (uint64_t k = 0; k < columns; k++) {
      const uint8_t *x = a + (i * columns + k) * size;
      uint64_t bits = 0;
      if (memcmp(x, b + (k * rows + i) * size, size) != 0) return false;
      memcpy(&bits, x, size);
      value_note(values, bits);
    }
  return true;
}

static bool is_transposed(Import *im, const Matrix *a, const Matrix *b, uint8_t *room) {
  uint8_t *other = room + (size_t)SIDE * SIDE * 8;
  Values values = {.n = 0};
  for (uint64_t i = 0; i < a->rows; i += SIDE)
    for (uint64_t k = 0; k < a->columns; k += SIDE) {
      const uint64_t rows = a->rows - i < SIDE ? a->rows - i : SIDE,
                     columns = a->columns - k < SIDE ? a->columns - k : SIDE;
      if (!tile_read(im, a, i, k, rows, columns, room) ||
          !tile_read(im, b, k, i, columns, rows, other) ||
          !tiles_agree(room, other, rows, columns, a->size, &values))
        return false;
    }
  return values.n > FEW || 2 * (uint64_t)values.n > a->rows * a->columns;
}

/* ---- the graph ---- */

static Onnx__NodeProto *transpose_new(Import *im, char *from, char *to) {
  Onnx__NodeProto *p = ARENA_NEW(im->a, Onnx__NodeProto);
  onnx__node_proto__init(p);
  p->op_type = arena_strdup(im->a, "Transpose");
  p->name = to;
  p->n_input = p->n_output = 1;
  p->input = ARENA_ARRAY(im->a, char *, 1);
  p->output = ARENA_ARRAY(im->a, char *, 1);
  p->input[0] = from, p->output[0] = to;
  return p;
}

static void join_note(Import *im, uint32_t count, const Onnx__NodeProto *first) {
  if (!im->train) return;
  diag(im->c, SEV_NOTE, im->at,
       "%s: --train-onnx: %u of the exporter's tensors are transposed parameters, as %s of %s, and "
       "are trained as those",
       im->path, count, first->output[0], first->input[0]);
}

/* The matrix of the module that t is the transposed one of; NULL: there is none. */
static const Matrix *first_of(Import *im, Onnx__TensorProto *t, HashIndex *index, Matrices *all,
                              uint32_t own, uint8_t *room) {
  Matrix m;
  if (signature_origin(im, or_empty(t->name)) != TENSOR_COMPUTED || !matrix_of(im, t, &m))
    return NULL;
  const Matrix key = transposed(&m);
  const uint32_t at = index_enter(im->a, index, hash_of(&key), same_corners, all, &key, all->n);
  if (at == all->n) vec_push(im->a, all, key);
  for (uint32_t k = at < own ? at + 1 : 0; k; k = all->at[k - 1].next)
    if (is_transposed(im, &all->at[k - 1], &m, room)) return &all->at[k - 1];
  return NULL;
}

/* Of several with the same corners the index has the first, and each the one behind it. */
static void module_matrix_add(Import *im, HashIndex *index, Matrices *all, const Matrix *m) {
  const uint32_t at = index_enter(im->a, index, hash_of(m), same_corners, all, m, all->n);
  const bool known = at < all->n;
  vec_push(im->a, all, *m);
  if (!known) return;
  all->at[all->n - 1].next = all->at[at].next;
  all->at[at].next = all->n;
}

void tied_join(Import *im) {
  Onnx__GraphProto *g = im->model->graph;
  Matrices all = {0};
  HashIndex index = {0};
  VEC(Onnx__TensorProto *) kept = {0};
  VEC(Onnx__NodeProto *) nodes = {0};
  for (size_t i = 0; i < g->n_initializer; i++) {
    Matrix m;
    if (signature_origin(im, or_empty(g->initializer[i]->name)) == TENSOR_OF_MODULE &&
        matrix_of(im, g->initializer[i], &m))
      module_matrix_add(im, &index, &all, &m);
  }
  const uint32_t own = all.n;
  if (!own) return;
  uint8_t *room = malloc((size_t)2 * SIDE * SIDE * 8);
  if (!room) out_of_memory();
  for (size_t i = 0; i < g->n_initializer; i++) {
    Onnx__TensorProto *t = g->initializer[i];
    const Matrix *first = first_of(im, t, &index, &all, own, room);
    if (!first) {
      vec_push(im->a, &kept, t);
      continue;
    }
    name_enter(im, &im->initializers, t->name); /* which is no input of the graph */
    vec_push(im->a, &nodes, transpose_new(im, first->tensor->name, t->name));
  }
  free(room);
  if (!nodes.n) return;
  join_note(im, nodes.n, nodes.at[0]);
  for (size_t i = 0; i < g->n_node; i++) vec_push(im->a, &nodes, g->node[i]);
  g->initializer = kept.at, g->n_initializer = kept.n;
  g->node = nodes.at, g->n_node = nodes.n;
}
