/* Rows of packed files and of tables of text that do not stay in memory. None of them is found
   without those before it, so all that are taken are unpacked once, into a temporary file of plain
   elements, of which any row is read alone. Contract: the file is made, and the disk's blocks are
   reserved, before anything is unpacked; the system may take the pages of what is written. */
#include "runtime/data/rows.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static uint64_t bytes_of(const Column *c) {
  return (c->end - c->begin) * (uint64_t)elem_info[c->type].size;
}

bool unpacked_file(Column *c, TemporaryFolder *folder, Err *e) {
  const uint64_t bytes = bytes_of(c);
  uint64_t room;
  int fd;
  if (!temporary_open(folder, &fd, &room, e)) return false;
  if (fd < 0) return true;
  if (bytes > room) {
    snprintf(folder->why, sizeof folder->why, "half of what is free in %.200s has no room for it",
             folder->path);
  } else if (temporary_reserve(fd, bytes) && (c->unpacked = malloc(sizeof *c->unpacked))) {
    *c->unpacked = (File){.path = c->text, .fd = fd, .size = bytes};
    return true;
  } else { /* some file systems reserve nothing, and a mapped file must not run out of room */
    snprintf(folder->why, sizeof folder->why, "no room can be reserved in %.200s: %.60s",
             folder->path, strerror(errno));
  }
  close(fd);
  return true;
}

bool unpacked_fill(Column *c, Err *e) {
  const uint64_t bytes = bytes_of(c);
  void *to = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, c->unpacked->fd, 0);
  if (to == MAP_FAILED)
    return err_set(e, EXIT_ENV, "%s: its unpacked rows cannot be mapped: %s", c->text,
                   strerror(errno));
  const bool ok = column_load(c, to, e);
  c->data = NULL;
  munmap(to, bytes);
  return ok;
}

void unpacked_free(Column *c) {
  if (c->unpacked) file_close(c->unpacked);
  free(c->unpacked);
}
