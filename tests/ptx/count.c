/* What accesses of warps cost a memory: sectors of global memory, and turns of the banks of shared
 * memory. NVIDIA, "CUDA C++ Programming Guide", compute capability 5.x and later: 32 banks of 4
 * bytes; lanes that want the same word share it; of 8 bytes a lane half a warp has a turn, of 16
 * a quarter. */
#include "exec.h"
#include "exec_ops.h"

static uint64_t address_of(const Warp *w, const Opd *o, uint32_t lane) {
  return lane_bits(w, o, (int)lane) + (uint64_t)o->offset;
}

static void count_sectors(Warp *w, const Opd *o, uint32_t mask, uint64_t size) {
  enum { SECTOR = 32 };
  uint64_t at[LANES], end = 0, next = 0, bytes = 0;
  int n = 0;
  FOR_LANES(l, mask) { /* sorted; they nearly always are */
    uint64_t a = address_of(w, o, l);
    int k = n++;
    for (; k > 0 && at[k - 1] > a; k--) at[k] = at[k - 1];
    at[k] = a;
  }
  for (int k = 0; k < n; k++) {
    uint64_t from = at[k] > end ? at[k] : end, last = (at[k] + size - 1) / SECTOR + 1;
    uint64_t first = at[k] / SECTOR > next ? at[k] / SECTOR : next;
    if (at[k] + size > from) bytes += at[k] + size - from, end = at[k] + size;
    if (last > first) w->x->r->sectors += last - first, next = last;
  }
  w->x->r->sectors_needed += (bytes + SECTOR - 1) / SECTOR;
}

enum { BANKS = 32, WORD = 4 };
typedef struct Turn { /* of lanes that the banks serve together */
  uint64_t word[BANKS][LANES];
  int words[BANKS], most, all;
} Turn;

static void add_word(Turn *t, uint64_t word) {
  const int bank = (int)(word % BANKS);
  for (int i = 0; i < t->words[bank]; i++)
    if (t->word[bank][i] == word) return;
  t->word[bank][t->words[bank]++] = word;
  t->all++;
  if (t->words[bank] > t->most) t->most = t->words[bank];
}

static void count_banks(Warp *w, const Opd *o, uint32_t mask, uint64_t size) {
  const int together = size <= WORD ? LANES : size < BANKS * WORD ? (int)(BANKS * WORD / size) : 1;
  for (int from = 0; from < LANES; from += together) {
    const uint32_t lanes = mask & (uint32_t)((((uint64_t)1 << together) - 1) << from);
    Turn t;
    if (!lanes) continue;
    memset(t.words, 0, sizeof t.words);
    t.most = t.all = 0;
    FOR_LANES(l, lanes) {
      const uint64_t a = address_of(w, o, l);
      for (uint64_t word = a / WORD; word <= (a + size - 1) / WORD; word++) add_word(&t, word);
    }
    w->x->r->turns += (uint64_t)t.most;
    w->x->r->turns_needed += (uint64_t)(t.all + BANKS - 1) / BANKS;
  }
}

void count_access(Warp *w, const Opd *o, uint32_t mask, Space space, uint64_t size) {
  if (!(w->x->l->checks & PTX_COUNT)) return;
  if (space == SPACE_GLOBAL) count_sectors(w, o, mask, size);
  if (space == SPACE_SHARED) count_banks(w, o, mask, size);
}
