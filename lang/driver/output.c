/* Writes a file so that a failing run leaves nothing behind and an old file stays as it was.
   Contract: see output.h. The text is complete before the file is created. */
#include "lang/driver/output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool failed(const char *path) {
  fprintf(stderr, "gc: error: cannot write %s: %s\n", path, strerror(errno));
  return false;
}

static bool write_to(FILE *f, const char *text, size_t n) {
  return fwrite(text, 1, n, f) == n && fflush(f) == 0;
}

static bool write_replacing(const char *path, const char *text, size_t n) {
  size_t len = strlen(path);
  char *temp = malloc(len + 8);
  if (!temp) return failed(path);
  memcpy(temp, path, len);
  memcpy(temp + len, ".XXXXXX", 8);
  int fd = mkstemp(temp);
  FILE *f = fd >= 0 ? fdopen(fd, "wb") : NULL;
  mode_t mask = umask(0);
  umask(mask);
  bool ok = f && fchmod(fd, 0666 & ~mask) == 0 && write_to(f, text, n) && fsync(fd) == 0;
  int error = errno;
  if (f && fclose(f) != 0 && ok) {
    ok = false;
    error = errno;
  }
  if (ok && rename(temp, path) != 0) {
    ok = false;
    error = errno;
  }
  if (!ok && fd >= 0) unlink(temp);
  free(temp);
  errno = error;
  return ok || failed(path);
}

bool output_write(const char *path, const char *text, size_t n) {
  if (!path || strcmp(path, "-") == 0)
    return write_to(stdout, text, n) || failed("the standard output");
  struct stat st;
  if (stat(path, &st) != 0 || S_ISREG(st.st_mode)) return write_replacing(path, text, n);
  FILE *f = fopen(path, "wb");
  if (!f) return failed(path);
  bool ok = write_to(f, text, n);
  return (fclose(f) == 0 && ok) || failed(path);
}

bool output_is_replaceable(const char *path) {
  struct stat st;
  return stat(path, &st) != 0 || S_ISREG(st.st_mode);
}

bool output_is_input(const char *output, const char *input) {
  struct stat a, b;
  return stat(output, &a) == 0 && stat(input, &b) == 0 && S_ISREG(a.st_mode) &&
         a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}
