/* Constant tables: their elements from the program's data to where its kernels read them.
   Contract: see weights.h; in the table's own dtype and layout. */
#include "runtime/weights/weights.h"

bool weights_have_tables(const GcProgram *p) {
  for (int i = 0; i < p->nglobals; i++)
    if (p->globals[i].table) return true;
  return false;
}

static void put(const Globals *w, const GcGlobal *g) {
  const Elem to = (Elem)g->t.dtype;
  const Elem from = to == ELEM_F16 || to == ELEM_BF16 ? ELEM_F32 : to;
  const uint8_t *elements = g->table;
  const uint64_t all = tensor_count(&g->t), size = (uint64_t)elem_info[from].size;
  const uint64_t piece = STAGE_BYTES / size;
  for (uint64_t at = 0, n; at < all; at += n) {
    n = all - at < piece ? all - at : piece;
    elem_convert(w->stage, to, elements + at * size, from, n);
    slices_put(w, g, at, n, w->stage);
  }
}

void weights_put_tables(const Globals *w) {
  for (int i = 0; i < w->program->nglobals; i++)
    if (w->program->globals[i].table) put(w, &w->program->globals[i]);
}
