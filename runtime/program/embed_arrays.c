/* The arrays of a call: inputs are copied into the model's memory unless the device reads them
   where they are, outputs are copied out of it. Contract: arrays are dense, in the shapes of the
   call; threads share the copy of a long one. */
#include "runtime/program/embed_impl.h"

/* Bytes of an array below which no other thread is woken to copy a part. */
enum { COPY_ALONE = 1 << 20 };

typedef struct Copy { /* of one array */
  const GcTensor *t;
  void *storage;
  const uint8_t *from; /* an input; NULL: it is an output */
  uint8_t *to;
} Copy;

static void put(const Copy *c, uint64_t first, uint64_t n) {
  if (c->t->dtype != GC_BOOL) {
    tensor_put(c->t, c->storage, first, n, c->from + first * (uint64_t)elem_info[c->t->dtype].size);
    return;
  }
  for (uint64_t i = first; i < first + n; i++) {
    uint8_t b = c->from[i] != 0; /* other languages have other truths */
    tensor_put(c->t, c->storage, i, 1, &b);
  }
}

static void copy_part(void *arg, int t, int nt) {
  const Copy *c = arg;
  const uint64_t n = tensor_count(c->t), first = n * (uint64_t)t / (uint64_t)nt,
                 end = n * (uint64_t)(t + 1) / (uint64_t)nt;
  if (c->from)
    put(c, first, end - first);
  else
    tensor_get(c->t, c->storage, first, end - first,
               c->to + first * (uint64_t)elem_info[c->t->dtype].size);
}

static void copy(Session *s, Copy *c) {
  if (tensor_logical_bytes(c->t) >= COPY_ALONE && pool_size(s->pool) > 1)
    pool_run(s->pool, copy_part, c);
  else
    copy_part(c, 0, 1);
}

void embed_put_inputs(Session *s, Exec *x, const void *const *inputs) {
  const DeviceOps *ops = s->device->ops;
  const GcEntry *e = x->entry;
  int64_t dims[RUN_RANK];
  for (int i = 0; i < e->ninputs; i++) {
    const GcTensor now = tensor_of_run(e, &e->inputs[i], s->env.extents, dims);
    if (ops->lend && ops->lend(s, x, &now, inputs[i])) continue;
    copy(s, &(Copy){&now, session_at(s, &now), inputs[i], NULL});
  }
}

void embed_get_outputs(Session *s, const GcEntry *e, void *const *outputs) {
  int64_t dims[RUN_RANK];
  for (int i = 0; i < e->noutputs; i++) {
    const GcTensor now = tensor_of_run(e, &e->outputs[i], s->env.extents, dims);
    if (outputs[i]) copy(s, &(Copy){&now, session_at(s, &now), NULL, outputs[i]});
  }
}
