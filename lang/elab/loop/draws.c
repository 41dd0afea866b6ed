/* Random numbers in the body of a scan: each iteration draws other ones.
   Contract: the draws of a path are numbered as in the unrolled loop. After a scan over an extent
   that number depends on the run, so a further draw of the path is an error. */
#include "lang/elab/elab_impl.h"
#include "lang/elab/loop/loop.h"

static ValueId draw_offset(Elab *e, ScanLevel *l, uint32_t key) {
  for (uint32_t i = 0; i < l->draws.n; i++)
    if (l->draws.at[i].key == key) return l->draws.at[i].arg;
  ValueId outer = l->up ? draw_offset(e, l->up, key) : NO_ID;
  ValueId arg = block_add_arg(e->run->entry, l->block, (Value){.type = type_scalar(e->c, DT_I32)});
  vec_push(e->a, &l->draws, (DrawOffset){arg, key, e->run->keys.at[key].n, outer});
  return arg;
}

ValueId scan_draw_offset(Elab *e, uint32_t key) { return draw_offset(e, e->run->scan, key); }

/* The offset is the draws of one iteration times the earlier iterations, plus that of the loop
   around. After the loop the path's counter stands at the draws of all iterations. */
void scan_define_draws(Elab *e, ScanLevel *l, int64_t trips, ValueId *by) {
  Builder *b = e->run->b;
  for (uint32_t i = 0; i < l->draws.n; i++) {
    const DrawOffset *d = &l->draws.at[i];
    KeyCount *count = &e->run->keys.at[d->key];
    uint64_t each = count->n - d->from;
    ValueId n = l->block->args.at[0];
    const Type *t = value_type(e->run->entry, n);
    if (each != 1) n = build2(b, OP_MUL, n, build_const_int(b, t, (int32_t)(uint32_t)each));
    if (d->outer != NO_ID) n = build2(b, OP_ADD, n, d->outer);
    by[d->arg] = n;
    count->n = d->from + (uint64_t)trips * each;
    if (l->extent && d->outer == NO_ID) count->after = l->extent;
    if (!l->extent || d->outer == NO_ID) continue;
    elab_error(e, b->loc, "random numbers in a scan to %s within another scan would depend on it",
               l->extent->name);
    elab_hint(e, "draw them before the loops, of all iterations");
    elab_trace(e);
  }
}
