/* Names around a scan: what they are in its body, and behind it.
   Contract: a name whose tensor has changed by the end of the body is a carry; a name that is no
   tensor keeps its value. */
#include "lang/elab/loop/loop.h"

Val scan_capture_names(Elab *e, ScanLevel *l, Val v, bool fixed) {
  if (v.kind == VAL_TENSOR && v.tensor.run == e->run) {
    v.tensor.id = scan_capture_value(e, l, v.tensor.id, -1, fixed);
    return v;
  }
  if (!val_has_items(v)) return v;
  Val *item = ARENA_ARRAY(e->a, Val, v.list->n + 1);
  for (int i = 0; i < v.list->n; i++) item[i] = scan_capture_names(e, l, v.list->at[i], fixed);
  return val_with_items(e, v, item);
}

static void type_changes(Elab *e, const char *name, Val before, Val restore, Loc loc) {
  elab_error(e, loc, "'%s' is %s before the scan and %s after an iteration: it needs one type",
             name, val_str(e, before), val_str(e, restore));
  if (before.kind != VAL_TENSOR && restore.kind == VAL_TENSOR)
    elab_hint(e, "start with a tensor, such as zeros([…]), not with a compile-time value");
  else if (before.kind != VAL_TENSOR)
    elab_hint(e, "compile-time values change in a for, which is unrolled, not in a scan");
  else
    elab_hint(e, "give what the loop computes another name, or convert it to the type before");
  elab_trace(e);
}

void scan_carries_of(Elab *e, ScanLevel *l, const char *name, Val was, Val now, Loc loc) {
  if (was.kind == VAL_ERROR || now.kind == VAL_ERROR) return;
  bool lists = val_has_items(was);
  if (was.kind == VAL_TENSOR && now.kind == VAL_TENSOR) {
    Capture *s = capture_of(l, was.tensor.id);
    if (!s || was.tensor.id == now.tensor.id) return;
    if (was.tensor.type != now.tensor.type)
      type_changes(e, name, was, now, loc);
    else
      s->next = now.tensor.id;
  } else if (lists && now.kind == was.kind && was.list->n == now.list->n) {
    for (int i = 0; i < was.list->n; i++)
      scan_carries_of(e, l, name, was.list->at[i], now.list->at[i], loc);
  } else if (was.kind == VAL_TENSOR || now.kind == VAL_TENSOR || lists || now.kind != was.kind ||
             !val_equal(e, was, now)) {
    type_changes(e, name, was, now, loc);
  }
}

Val scan_restore(Elab *e, ScanLevel *l, Val inside, Val before) {
  if (inside.kind == VAL_TENSOR && inside.tensor.run == e->run) {
    const Capture *s = capture_of(l, inside.tensor.id);
    if (!s || s->result == NO_ID) return before;
    return val_tensor(e, s->result);
  }
  if (!val_has_items(inside)) return before;
  Val *item = ARENA_ARRAY(e->a, Val, inside.list->n + 1);
  for (int i = 0; i < inside.list->n; i++)
    item[i] = scan_restore(e, l, inside.list->at[i], before.list->at[i]);
  Val after = val_with_items(e, inside, item);
  after.loc = before.loc;
  return after;
}
