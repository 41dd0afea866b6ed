/* The launches of an entry's preparation and of the entry, as one list.
   Contract: the first `ahead` are the preparation's, which have no loops and one stream. Its arena
   is the region of what is prepared, of which each batch has one, and there the entry finds the
   inputs that it makes: both plans are as if these lay among the inputs. */
#include "codegen/program/launch.h"

Address address_made(const Entry *e, Address at) {
  const ValueId *made;
  const int n = e->ahead ? entry_outputs(e->ahead, &made, NULL) : 0;
  for (int i = 0; i < n && at.region == PLAN_INPUTS; i++) {
    const Place *x = &plan_of(e)->place[e->body->args.at[entry_inputs(e) + (uint32_t)i]];
    const Place *y = &plan_of(e->ahead)->place[made[i]];
    if (at.offset < x->offset || at.offset >= x->offset + x->bytes) continue;
    at.region = y->region == PLAN_ARENA ? PLAN_PREPARED : y->region;
    at.offset = at.offset - x->offset + y->offset;
    break;
  }
  return at;
}

static void move_args(const Entry *e, Launch *l, bool prepares) {
  for (int k = 0; k < l->kernel->nargs; k++) {
    if (!prepares)
      l->args[k] = address_made(e, l->args[k]);
    else if (l->args[k].region == PLAN_ARENA)
      l->args[k].region = PLAN_PREPARED;
  }
}

InputUses *launches_with_ahead(Gen *g, const Entry *e, const GlobalsPlan *gp, Launches *out) {
  Launches first = {0}, rest = {0};
  InputUses *own = NULL, *uses = input_uses(g->a, e);
  if (e->ahead) {
    g->uses = own = input_uses(g->a, e->ahead);
    launches_of(g, e->ahead, gp, &first);
  }
  g->uses = uses;
  launches_of(g, e, gp, &rest);
  *out = rest;
  if (!e->ahead) return uses;
  out->ahead = first.at.n;
  out->at.n = out->at.cap = 0;
  for (uint32_t i = 0; i < first.at.n; i++) {
    move_args(e, &first.at.at[i], true);
    vec_push(g->a, &out->at, first.at.at[i]);
  }
  for (uint32_t i = 0; i < rest.at.n; i++) {
    Launch *l = &rest.at.at[i];
    move_args(e, l, false);
    for (uint32_t k = 0; k < l->after.n; k++) l->after.at[k] += out->ahead;
    vec_push(g->a, &out->at, *l);
  }
  for (uint32_t i = 0; i < out->loops.n; i++) {
    out->loops.at[i].first += out->ahead;
    out->loops.at[i].end += out->ahead;
  }
  for (uint32_t i = 0; i < entry_inputs(e); i++)
    if (!uses->limits[i].n) uses->limits[i] = own->limits[i];
  return uses;
}
