/* Batches: rows are taken to their places in the inputs and become of the inputs' types. Contract:
   threads share the rows of a batch. Conversions take denormals for zero, as kernels do. */
#include "runtime/data/rows.h"

static void fill_fixed(const Dataset *d, const Column *c, uint8_t *to) {
  if (c->is_number) {
    if (elem_info[c->t->dtype].cls == ELEM_FLOATS)
      elem_convert(to, (Elem)c->t->dtype, &c->number, ELEM_F64, 1);
    else
      elem_convert(to, (Elem)c->t->dtype, &c->whole, ELEM_I64, 1);
  } else if (c->on_disk) {
    reader_fixed(d, c, to);
  } else {
    elem_convert(to, (Elem)c->t->dtype, c->data, c->type, c->row_elems);
  }
}

void dataset_gather(const Dataset *d, uint8_t *inputs, uint64_t batch, int t, int nt) {
  uint64_t mode = float_mode_set();
  uint64_t rows = dataset_rows(d, batch, batch + 1);
  uint64_t lo = rows * (uint64_t)t / (uint64_t)nt, hi = rows * (uint64_t)(t + 1) / (uint64_t)nt;
  for (int i = 0; i < d->n; i++) {
    const Column *c = &d->columns[i];
    uint8_t *to = inputs + c->t->offset;
    if (c->fixed && t == 0) fill_fixed(d, c, to);
    if (c->fixed || c->on_disk) continue;
    uint64_t from_row = c->step * (uint64_t)elem_info[c->type].size;
    uint64_t to_row = c->row_elems * (uint64_t)elem_info[c->t->dtype].size;
    for (uint64_t r = lo; r < hi; r++)
      elem_convert(to + r * to_row, (Elem)c->t->dtype, c->data + dataset_at(d, batch, r) * from_row,
                   c->type, c->row_elems);
  }
  if (d->reader) reader_gather(d, inputs, batch, t, nt);
  float_mode_restore(mode);
}
