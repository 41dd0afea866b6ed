/* Decoded rows that are kept. Contract: see decoded.h. A row is written by the first thread that
   has decoded it and read by others once it is whole. The file has no name, so that the system
   frees it with the process, however that ends; it is read and written at offsets, so that its
   pages are the page cache's, which the system takes back. A row that cannot be written or read is
   decoded again: the file is never the only place of anything. */
#include "runtime/data/decoded.h"
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { ABSENT, CLAIMED, WHOLE }; /* CLAIMED for ever: it could not be written */

static int open_unnamed(const char *folder) {
  int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return fd;
  size_t size = strlen(folder) + sizeof "/gc-images-XXXXXX";
  char *path = malloc(size);
  if (!path) return -1;
  snprintf(path, size, "%s/gc-images-XXXXXX", folder);
  fd = mkostemp(path, O_CLOEXEC);
  if (fd >= 0) unlink(path);
  free(path);
  return fd;
}

/* Whether so many bytes are the file's: a file system without fallocate keeps no promise, but it
   has the room now. */
static bool reserve(int fd, uint64_t bytes) {
  int code;
  do code = fallocate(fd, 0, 0, (off_t)bytes);
  while (code != 0 && errno == EINTR);
  return code == 0 || (errno == EOPNOTSUPP && ftruncate(fd, (off_t)bytes) == 0);
}

bool decoded_file(Decoded *d, const char *folder, uint64_t rows, uint64_t sharers, Err *e) {
  struct statvfs fs;
  int fd = open_unnamed(folder);
  d->filed = 0;
  if (fd < 0 || fstatvfs(fd, &fs) != 0) {
    err_set(e, EXIT_ENV, "%s: no file can be made there: %s", folder, strerror(errno));
    if (fd >= 0) close(fd);
    return false;
  }
  uint64_t room = (uint64_t)fs.f_bavail * fs.f_frsize / 2 / sharers;
  uint64_t filed = room / d->row < rows ? room / d->row : rows;
  if (filed && reserve(fd, filed * d->row)) {
    d->fd = fd, d->filed = filed;
    return true;
  }
  close(fd);
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
