/* The least extents with which bounded images have room for the windows of an entry. Contract: what
   has been noted stays, so that windows that a pass expands or leaves out still count; IR that is
   read back has its ops alone, so the pass order notes what these say. */
#include "ir/op/window.h"
#include "passes/manager/cache.h"
#include "passes/plan/plan_impl.h"

enum { ROWS = 2, COLUMNS = 3 };

/* Of windows along one axis of the image. */
static void note_axis(Entry *e, const Op *op, const Type *image, int axis, const WindowAxis *w) {
  Ctx *c = e->module->ctx;
  if (!type_extent(image, axis)) return;
  const WindowLine l = window_line(c, type_axis(image, axis));
  if (!l.n || l.n->nfactors > 1) return;
  const int64_t n = window_least(&l, w);
  const LeastExtent *had = entry_least(e, l.n);
  if (n < 2 || (had && had->n >= n)) return;
  const LeastExtent least = {
      l.n, n, intern_printf(c, "%s at %s", op_info[op->kind].name, loc_str(c, op->loc))};
  EntryNotes *notes = notes_change(e);
  for (uint32_t i = 0; i < notes->least.n; i++)
    if (notes->least.at[i].x == l.n) {
      notes->least.at[i] = least;
      return;
    }
  vec_push(e->module->arena, &notes->least, least);
}

void windows_note_least(Entry *e) {
  for (uint32_t i = 0; i < e->ops.n; i++) {
    const Op *op = op_at(e, i);
    if (op->kind == OP_CONV) {
      const ConvGeom g = conv_geom(e, op);
      note_axis(e, op, g.x, ROWS, &g.h);
      note_axis(e, op, g.x, COLUMNS, &g.w);
    } else if (op->kind == OP_MAX_POOL || op->kind == OP_AVG_POOL) {
      const PoolGeom g = pool_geom(e, op);
      note_axis(e, op, g.x, ROWS, &g.h);
      note_axis(e, op, g.x, COLUMNS, &g.w);
    }
  }
}
