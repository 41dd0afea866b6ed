/* How large the tiles of convolutions are; see window.h. */
#include "codegen/schedule/window.h"

#include <string.h>

int tile_sums(const VectorMachine *m) { return m->vectors == 4 ? 28 : 12; }

int tile_rows(const VectorMachine *m, int64_t width) {
  int64_t vectors = ceil_div(width, machine_lanes(m, 4));
  int rows = (int)(tile_sums(m) / (vectors ? vectors : 1));
  return rows > 14 ? 14 : rows < 1 ? 1 : rows;
}

int tile_pair_rows(const VectorMachine *m, int64_t width) {
  int64_t vectors = ceil_div(width, machine_lanes(m, 4)), registers = m->vectors == 4 ? 32 : 16;
  if (vectors < 1) vectors = 1;
  int rows = (int)((registers - 2 - vectors) / vectors); /* one is a pair, one stays free */
  return rows > 14 ? 14 : rows < 1 ? 1 : rows;
}

void tile_add_run(Tile *t, int64_t a, int64_t b, int64_t depth, int64_t lo, int64_t hi) {
  TapRun *last = t->nruns ? &t->run[t->nruns - 1] : NULL;
  if (last && last->lo == lo && last->hi == hi) {
    int64_t da = a - last->a, db = b - last->b, n = last->more + 1;
    if (!last->more && da == last->depth * t->lk && db == last->depth * t->lb) {
      last->depth += depth;
      return;
    }
    bool evenly = !last->more || (da == n * last->da && db == n * last->db);
    if (evenly && depth == last->depth) {
      if (!last->more) last->da = da, last->db = db;
      last->more = n;
      return;
    }
  }
  t->run[t->nruns++] = (TapRun){.a = a, .b = b, .depth = depth, .lo = lo, .hi = hi};
}

bool tile_is_general(const Tile *t) {
  const TapRun *r = t->run;
  return t->li == 1 && !t->next &&
         (!t->nruns ||
          (t->nruns == 1 && !r->more && !r->a && !r->b && r->lo == 0 && r->hi == t->rows));
}

bool tile_same(const Tile *a, const Tile *b) {
  return a->rows == b->rows && a->nruns == b->nruns && a->middle == b->middle &&
         (!a->nruns || memcmp(a->run, b->run, sizeof *a->run * (size_t)a->nruns) == 0);
}
