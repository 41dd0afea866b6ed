/* How large the tiles of convolutions are; see window.h. */
#include "codegen/schedule/window.h"

#include <string.h>

int tile_sums(const VectorMachine *m) { return m->vectors == 4 ? 28 : 12; }

int tile_rows(const VectorMachine *m, int64_t width) {
  int64_t vectors = ceil_div(width, machine_lanes(m, 4));
  int rows = (int)(tile_sums(m) / (vectors ? vectors : 1));
  return rows > 14 ? 14 : rows < 1 ? 1 : rows;
}

bool tile_same(const Tile *a, const Tile *b) {
  return a->rows == b->rows && a->nruns == b->nruns &&
         (!a->nruns || memcmp(a->run, b->run, sizeof *a->run * (size_t)a->nruns) == 0);
}
