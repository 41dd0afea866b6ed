/* Decoded rows that are kept. Contract: see decoded.h. A row is written by the first thread that
   has decoded it and read by others once it is whole. The file is read and written at offsets, so
   that its pages are the page cache's, which the system takes back. A row that cannot be written or
   read is decoded again: the file is never the only place of anything. */
#include "runtime/data/decoded.h"
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ABSENT, CLAIMED, WHOLE }; /* CLAIMED for ever: it could not be written */

bool decoded_file(Decoded *d, TemporaryFolder *folder, uint64_t rows, Err *e) {
  uint64_t room;
  d->filed = 0;
  if (!temporary_open(folder, &d->fd, &room, e)) return false;
  if (d->fd < 0) return true;
  uint64_t filed = room / d->row < rows ? room / d->row : rows;
  /* a file system without reservations keeps no promise, but it has the room now */
  if (filed && (temporary_reserve(d->fd, filed * d->row) ||
                (errno == EOPNOTSUPP && ftruncate(d->fd, (off_t)(filed * d->row)) == 0)))
    d->filed = filed;
  snprintf(folder->why, sizeof folder->why, "half of what is free in %.200s has room for %" PRIu64,
           folder->path, d->filed);
  if (d->filed) return true;
  close(d->fd);
  d->fd = -1;
  return true;
}

static off_t place(const Decoded *d, uint64_t r) { return (off_t)((r - d->kept) * d->row); }

bool decoded_get(const Decoded *d, uint64_t r, uint8_t *to) {
  if (r >= d->kept + d->filed || atomic_load_explicit(&d->state[r], memory_order_acquire) != WHOLE)
    return false;
  if (r >= d->kept) return pread(d->fd, to, d->row, place(d, r)) == (ssize_t)d->row;
  memcpy(to, d->memory + r * d->row, d->row);
  return true;
}

void decoded_put(const Decoded *d, uint64_t r, const uint8_t *from) {
  uint8_t absent = ABSENT;
  if (r >= d->kept + d->filed || (r < d->kept && !d->memory) ||
      !atomic_compare_exchange_strong(&d->state[r], &absent, CLAIMED))
    return;
  if (r < d->kept)
    memcpy(d->memory + r * d->row, from, d->row);
  else if (pwrite(d->fd, from, d->row, place(d, r)) != (ssize_t)d->row)
    return;
  atomic_store_explicit(&d->state[r], WHOLE, memory_order_release);
}

void decoded_free(Decoded *d) {
  if (d->fd >= 0) close(d->fd);
  free((void *)d->state);
  *d = (Decoded){.fd = -1};
}
