/* The warning of a net that is trained at one path and read at another, where it keeps its initial
   values: an entry calls it from another function. A state of a tree that averages such a param
   stands for it: who reads the average reads numbers that nobody trained. The same of a state that
   an entry assigns at one path, as statistics of the data, and another one reads at another path.
   Contract: the module is whole, without errors. The first such param, or state, is reported. */
#include "lang/elab/elab_impl.h"

#include <string.h>

/* How entries use a global. */
typedef struct Uses {
  const Entry *reads, *trains; /* the first that trains nothing and reads it; that trains it */
  const Entry *looks;          /* the first that reads it */
  bool in_training; /* an entry that trains reads it for more than an average, or keeps its own */
} Uses;

/* The param that a state of `state NAME = like params(PATH)` begins as; -1: it is no such state. */
static int averaged(const Elab *e, int64_t global) {
  static const char like[] = "like ";
  const Global *g = &e->m->globals.at[global];
  const char *init = g->kind == GLOBAL_STATE ? e->info.at[global].init : NULL;
  if (!init || strncmp(init, like, sizeof like - 1) != 0) return -1;
  return module_find_global(e->m, intern(e->c, init + sizeof like - 1));
}

static void need_block(const Entry *en, const Block *b, bool *needed) {
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(en, b->ops.at[i]);
    for (int k = 0; k < op->noperands; k++) needed[op->operands[k]] = true;
    for (int k = 0; k < op->nblocks; k++) need_block(en, op->blocks[k], needed);
  }
}

/* By value: more than states of trees of averages comes of it. */
static bool *find_needed(Elab *e, const Entry *en) {
  bool *needed = ARENA_ARRAY(e->a, bool, en->values.n + 1);
  for (uint32_t i = en->body->ops.n; i-- > 0;) {
    const Op *op = op_at(en, en->body->ops.at[i]);
    bool used = op->nresults == 0;
    if (op->kind == OP_STORE) used = averaged(e, op->attr[AT_GLOBAL].i) < 0;
    for (int k = 0; k < op->nresults; k++) used |= needed[op->results[k]];
    if (!used) continue;
    for (int k = 0; k < op->noperands; k++) needed[op->operands[k]] = true;
    for (int k = 0; k < op->nblocks; k++) need_block(en, op->blocks[k], needed);
  }
  return needed;
}

static void note_uses(Elab *e, const Entry *en, Uses *uses) {
  const bool *needed = en->training ? find_needed(e, en) : NULL;
  for (uint32_t i = 0; i < en->body->ops.n; i++) {
    const Op *op = op_at(en, en->body->ops.at[i]);
    if (op->kind != OP_LOAD && op->kind != OP_STORE) continue;
    Uses *u = &uses[op->attr[AT_GLOBAL].i];
    if (op->kind == OP_LOAD && !u->looks) u->looks = en;
    if (op->kind == OP_STORE)
      u->trains = en;
    else if (needed)
      u->in_training |= needed[op->results[0]];
    else if (!u->reads)
      u->reads = en;
  }
}

static bool is_untrained(const Global *g, const Uses *u) {
  return g->kind == GLOBAL_PARAM && !u->trains && !u->in_training;
}

/* The param or state that is declared where g is, and that an entry assigns; a param by training;
   or NULL. */
static const Global *assigned_twin(const Elab *e, const Global *g, const Uses *uses,
                                   const Entry **by) {
  const bool trained = g->kind == GLOBAL_PARAM;
  for (uint32_t k = 0; k < e->m->globals.n; k++) {
    const Global *h = &e->m->globals.at[k];
    *by = uses[k].trains;
    if (*by && ((*by)->training || !trained) && h->type == g->type && h->loc.line == g->loc.line &&
        h->loc.col == g->loc.col && h->loc.file == g->loc.file)
      return h;
  }
  return NULL;
}

static bool check_params(Elab *e, const Uses *uses, uint32_t i) {
  const int param = averaged(e, i) < 0 ? (int)i : averaged(e, i);
  const Global *g = &e->m->globals.at[param], *state = &e->m->globals.at[i];
  const Entry *by;
  if (!uses[i].reads || !is_untrained(g, &uses[param])) return true;
  if (g != state && (!uses[i].trains || !uses[i].trains->training)) return true;
  const Global *h = assigned_twin(e, g, uses, &by);
  if (!h) return true;
  const char *as = g == state ? "" : intern_printf(e->c, " as its average %s", state->path);
  elab_warning(e, g->loc, "no entry trains %s, which entry %s reads%s; entry %s trains %s", g->path,
               uses[i].reads->name, as, by->name, h->path);
  elab_hint(e, "a param's path names the calls around it: call its net from the same function in "
               "both, unless a file gives it its weights");
  return false;
}

static bool check_state(Elab *e, const Uses *uses, uint32_t i) {
  const Global *g = &e->m->globals.at[i];
  const Entry *by;
  if (g->kind != GLOBAL_STATE || uses[i].trains || !uses[i].looks || averaged(e, i) >= 0)
    return true;
  const Global *h = assigned_twin(e, g, uses, &by);
  if (!h) return true;
  elab_warning(e, g->loc, "no entry assigns %s, which entry %s reads; entry %s assigns %s", g->path,
               uses[i].looks->name, by->name, h->path);
  elab_hint(e, "a state's path names the calls around it: call its function from the same one in "
               "both, unless a file gives it its value");
  return false;
}

void check_untrained(Elab *e) {
  uint32_t n = e->m->globals.n;
  Uses *uses = ARENA_ARRAY(e->a, Uses, n + 1);
  for (uint32_t i = 0; i < e->m->entries.n; i++) note_uses(e, e->m->entries.at[i], uses);
  for (uint32_t i = 0; i < n; i++)
    if (!check_params(e, uses, i)) return;
  for (uint32_t i = 0; i < n; i++)
    if (!check_state(e, uses, i)) return;
}
