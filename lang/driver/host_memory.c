/* A word on entries that this machine has no memory for, where a program is compiled for it: else
   the program says so only as it begins. Contract: a note, of which nothing follows, since the
   program may run elsewhere; the bytes are those of the plan, and a run takes some more. */
#include "lang/driver/compilation.h"
#include "passes/plan.h"

#include <string.h>
#include <unistd.h>

/* Nobody named another processor, or a level that others have, too. */
static bool is_for_here(const Compilation *r, const CodegenPart *p) {
  const char *march = p->march ? p->march : r->codegen.march;
  return p->backend == backend_host() && p->target && (!march || strcmp(march, "native") == 0);
}

static bool is_bounded(const Entry *e) {
  const Extent *extents[ENTRY_EXTENTS];
  return entry_extents(e, extents) > 0;
}

static uint64_t bytes_of_machine(void) {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX;
}

void host_memory_note(const Compilation *r) {
  const uint64_t have = bytes_of_machine();
  if (!settings_makes_program(r->emit)) return;
  for (int i = 0; i < r->targets.n; i++) {
    const CodegenPart *p = &r->targets.part[i];
    const Module *m = p->m;
    if (!m || !is_for_here(r, p)) continue;
    const RankBytes b = codegen_rank_bytes(ctx_arena(r->c), m, p, r->codegen.ranks);
    for (int k = 0; k < b.nentries; k++) {
      char takes[40], has[40];
      const Entry *e = m->entries.at[k];
      if (b.entry[k].total <= have) continue;
      diag(r->c, SEV_NOTE, e->loc,
           "entry '%s' takes %s bytes of memory to run%s, and this machine has %s", e->name,
           plan_commas(takes, b.entry[k].total),
           is_bounded(e) ? ", at any extents those of its bounds" : "", plan_commas(has, have));
    }
    return;
  }
}
