/* Batches: rows are taken to their places in the inputs and become of the inputs' types. Contract:
   threads share the rows of a batch. Conversions take denormals for zero, as kernels do. */
#include "runtime/data/rows.h"

void column_put(const Column *c, uint8_t *inputs, uint64_t r, const uint8_t *from, Elem type) {
  uint64_t to_size = (uint64_t)elem_info[c->t->dtype].size, size = (uint64_t)elem_info[type].size;
  uint64_t at = r * c->row_elems, i = 0;
  for (uint64_t k = 0; k < c->row_elems; k += c->piece, i++, at += c->pitch) {
    if (c->t->run_dims && i % c->even == 0) at = tensor_place(c->t, r * c->row_elems + k);
    elem_convert(inputs + c->t->offset + at * to_size, (Elem)c->t->dtype, from + k * size, type,
                 c->piece);
  }
}

static void fill_fixed(const Dataset *d, const Column *c, uint8_t *inputs) {
  uint8_t *to = inputs + c->t->offset;
  if (c->is_number) {
    if (elem_info[c->t->dtype].cls == ELEM_FLOATS)
      elem_convert(to, (Elem)c->t->dtype, &c->number, ELEM_F64, 1);
    else
      elem_convert(to, (Elem)c->t->dtype, &c->whole, ELEM_I64, 1);
  } else if (c->on_disk) {
    reader_fixed(d, c, to);
  } else {
    column_put(c, inputs, 0, c->data, c->type);
  }
}

/* Seconds that the thread has read. */
static double gather(const Dataset *d, uint8_t *inputs, uint64_t batch, int t, int nt) {
  uint64_t mode = float_mode_set();
  uint64_t first, rows = dataset_part(d, batch, &first);
  uint64_t lo = rows * (uint64_t)t / (uint64_t)nt, hi = rows * (uint64_t)(t + 1) / (uint64_t)nt;
  for (int i = 0; i < d->n; i++) {
    const Column *c = &d->columns[i];
    if (c->fixed && t == 0) fill_fixed(d, c, inputs);
    if (c->fixed || c->on_disk) continue;
    uint64_t from_row = c->step * (uint64_t)elem_info[c->type].size;
    for (uint64_t r = lo; r < hi; r++)
      column_put(c, inputs, r, c->data + dataset_at(d, batch, r) * from_row, c->type);
  }
  const double spent = d->reader ? reader_gather(d, inputs, batch, t, nt) : 0;
  float_mode_restore(mode);
  return spent;
}

void dataset_gather(const Dataset *d, uint8_t *inputs, uint64_t batch, int t, int nt) {
  const double spent = gather(d, inputs, batch, t, nt);
  if (t == 0) dataset_wait(d, spent);
}

double dataset_gather_beside(const Dataset *d, uint8_t *inputs, uint64_t batch) {
  return gather(d, inputs, batch, 0, 1);
}
