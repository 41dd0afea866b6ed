/* Contents of the bytes of a region while the checker of a plan walks the program: an ordered list
   of cells, cut at the begin and the end of each write. */
#include "ir/support/search.h"
#include "passes/verify/verify_impl.h"

#include <string.h>

static int memory_find(const Memory *m, uint64_t from) { /* the cell that holds this byte */
  int i;
  SEARCH_FIRST(i, m->n, m->at[i].from > from);
  return i - 1;
}

static void memory_cut(Memory *m, uint64_t at) { /* a cell begins at `at` afterwards */
  int lo = memory_find(m, at);
  if (m->at[lo].from == at) return;
  if (m->n == m->cap) {
    uint32_t cap = (uint32_t)m->cap;
    m->at = arena_grow(m->a, m->at, (uint32_t)m->n, &cap, sizeof *m->at);
    m->cap = (int)cap;
  }
  memmove(m->at + lo + 2, m->at + lo + 1, sizeof(Cell) * (size_t)(m->n - lo - 1));
  m->at[lo + 1] = m->at[lo];
  m->at[lo + 1].from = at;
  m->n++;
}

void memory_init(Memory *m, Arena *a) {
  *m = (Memory){.a = a, .at = ARENA_ARRAY(a, Cell, 64), .n = 1, .cap = 64};
  m->at[0] = (Cell){0, NOTHING, NO_ID, 0};
}

void memory_write(Memory *m, uint64_t from, uint64_t bytes, Kind kind, ValueId content) {
  if (bytes == 0) return;
  memory_cut(m, from + bytes);
  memory_cut(m, from);
  int lo = memory_find(m, from), hi = lo + 1;
  while (hi < m->n && m->at[hi].from < from + bytes) hi++;
  memmove(m->at + lo + 1, m->at + hi, sizeof(Cell) * (size_t)(m->n - hi));
  m->n -= hi - lo - 1;
  m->at[lo] = (Cell){from, kind, content, from};
}

bool memory_holds(const Memory *m, uint64_t from, uint64_t bytes, ValueId content, uint64_t at,
                  const Cell **other) {
  for (int i = memory_find(m, from); bytes && i < m->n && m->at[i].from < from + bytes; i++) {
    const Cell *x = &m->at[i];
    if (x->kind == CONTENT && x->content == content && x->base + at == from) continue;
    *other = x;
    return false;
  }
  return true;
}
