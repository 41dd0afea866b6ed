/* Results of searches for recomputation are kept and reused. Contract: the key is the text of the
   entry and of each of its orders, whole: equal texts have equal step graphs. Dry runs ask for the
   same entry under the same limit repeatedly, and the pipeline itself does so last. */
#include "ir/support/memfile.h"
#include "passes/remat/tries.h"

static void print_orders(FILE *f, const Entry *e) {
  const Orders *o = cache_of(e)->orders;
  for (uint32_t k = 0; o && k < o->n; k++) {
    fprintf(f, "order");
    for (uint32_t i = 0; i < e->body->ops.n; i++) fprintf(f, " %u", o->at[k][i]);
    fputc('\n', f);
  }
}

RematKnown *remat_known(PassRun *r, const Entry *e, uint64_t limit) {
  ModuleNotes *m = module_notes(r->m);
  MemFile text;
  FILE *f = memfile_open(&text);
  entry_print(f, e, &(PrintOptions){0});
  print_orders(f, e);
  memfile_close(&text);
  RematKnown *known = m->fitted;
  const char *kept = NULL;
  for (; known; known = known->next) {
    if (known->size != text.n || memcmp(known->text, text.text, text.n) != 0) continue;
    kept = known->text;
    if (known->limit == limit && known->brief == r->opt->brief) break;
  }
  if (!known) {
    known = ARENA_NEW(r->m->arena, RematKnown);
    *known = (RematKnown){
        .size = text.n, .limit = limit, .brief = r->opt->brief, .chosen = -1, .next = m->fitted};
    known->text = kept ? kept : memcpy(arena_alloc(r->m->arena, text.n + 1), text.text, text.n);
    m->fitted = known;
  }
  memfile_free(&text);
  return known;
}

void remat_keep(PassRun *r, RematKnown *known, const Tries *x, const Remat *w,
                const RematPlan *found, uint64_t arena) {
  const RematState *s = &w->s;
  known->chosen = (int)(w - x->at);
  known->found = *found;
  known->arena = arena;
  for (int t = 0; t < s->p->nsteps; t++)
    for (uint32_t k = 0; k < s->again[t].n; k++)
      vec_push(r->m->arena, &known->again, ((RematRerun){t, s->again[t].at[k]}));
}
