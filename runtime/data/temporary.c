/* Temporary files without a name. Contract: see temporary.h. */
#include "runtime/data/temporary.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

static int open_unnamed(const char *folder) {
  int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return fd;
  size_t size = strlen(folder) + sizeof "/gc-rows-XXXXXX";
  char *path = malloc(size);
  if (!path) return -1;
  snprintf(path, size, "%s/gc-rows-XXXXXX", folder);
  fd = mkostemp(path, O_CLOEXEC);
  if (fd >= 0) unlink(path);
  free(path);
  return fd;
}

bool temporary_open(TemporaryFolder *f, int *fd, uint64_t *room, Err *e) {
  struct statvfs fs;
  *fd = -1, *room = 0;
  if (!f->path) return true;
  const int made = open_unnamed(f->path);
  if (made < 0 || fstatvfs(made, &fs) != 0) {
    const int error = errno;
    if (made >= 0) close(made);
    snprintf(f->why, sizeof f->why, "%.300s: no file can be made there: %.60s", f->path,
             strerror(error));
    if (!f->named) return true;
    err_set(e, EXIT_ENV, "--data-cache %s", f->why);
    return err_hint(e, "name a folder on a disk that you may write to, or none");
  }
  *fd = made, *room = (uint64_t)fs.f_bavail * fs.f_frsize / 2 / f->sharers;
  return true;
}

bool temporary_reserve(int fd, uint64_t bytes) {
  int code;
  do code = fallocate(fd, 0, 0, (off_t)bytes);
  while (code != 0 && errno == EINTR);
  return code == 0;
}
