/* A word on entries that this machine has no memory for, where a program is compiled for it: else
   the program says so only as it begins. Contract: a note, of which nothing follows, since the
   program may run elsewhere; the bytes are those of the plan, and a run takes some more. */
#include "lang/driver/compilation.h"
#include "passes/plan.h"
#include "runtime/base/groups.h"

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

typedef struct Memory { /* what a process may have here */
  uint64_t bytes;
  const char *of;
} Memory;

static Memory memory_here(void) {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  const uint64_t of_group = group_memory(&groups_here);
  const Memory m = {pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX,
                    "this machine"};
  return of_group < m.bytes ? (Memory){of_group, "the control group of this process"} : m;
}

void host_memory_note(const Compilation *r) {
  const Memory have = memory_here();
  if (!settings_makes_program(r->emit)) return;
  bool any = false;
  for (int i = 0; i < r->targets.n; i++) {
    const CodegenPart *p = &r->targets.part[i];
    const Module *m = p->m;
    if (!m || !is_for_here(r, p)) continue;
    const RankBytes b = codegen_rank_bytes(ctx_arena(r->c), m, p, r->codegen.ranks);
    for (int k = 0; k < b.nentries; k++) {
      char takes[40], has[40];
      const Entry *e = m->entries.at[k];
      if (b.entry[k].total <= have.bytes) continue;
      diag(r->c, SEV_NOTE, e->loc, "entry '%s' takes %s bytes of memory to run%s, and %s has %s",
           e->name, plan_commas(takes, b.entry[k].total),
           is_bounded(e) ? ", at any extents those of its bounds" : "", have.of,
           plan_commas(has, have.bytes));
      any = true;
    }
    if (any)
      diag(r->c, SEV_HINT, (Loc){0},
           "a smaller batch or bound takes less (-D), and so do --memory-limit=SIZE and "
           "--precision=bf16; another machine may have more");
    return;
  }
}
