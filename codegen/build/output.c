/* Writes a file so that a failing run leaves nothing behind and an old file stays as it was.
   Contract: see output.h. The bytes are complete before the file is created. They are written to a
   file without a name where the file system has such, so that a killed gc leaves nothing; else to
   one of a random name that nobody had before. */
#define _GNU_SOURCE
#include "codegen/build/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file on its way to `path`. */
typedef struct Temporary {
  char *path, *name; /* name: of the file until it is renamed */
  int fd;
  bool unnamed;
} Temporary;

/* The path with its folders resolved; as it is where they are not there. Takes it; malloc'ed. */
static char *in_real_folder(char *path) {
  char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *whole = NULL;
  char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
  char *real = folder ? realpath(folder, NULL) : NULL;
  if (real && asprintf(&whole, "%s/%s", strcmp(real, "/") == 0 ? "" : real, name) < 0) whole = NULL;
  free(folder);
  free(real);
  if (!whole) return path;
  free(path);
  return whole;
}

/* The path behind symbolic links, the last of which may lead to what is not there yet. Malloc'ed,
   or NULL. */
static char *target_of(const char *path) {
  enum { MAX_LINKS = 40 }; /* as Linux allows */
  char *at = strdup(path), link[4096];
  for (int links = 0; at && links < MAX_LINKS; links++) {
    char *whole = realpath(at, NULL);
    ssize_t n = whole ? -1 : readlink(at, link, sizeof link - 1);
    if (whole) free(at);
    if (whole || n < 0) return whole ? whole : in_real_folder(at);
    link[n] = 0;
    char *slash = link[0] == '/' ? NULL : strrchr(at, '/'), *next = NULL;
    if (asprintf(&next, "%.*s%s", slash ? (int)(slash - at) + 1 : 0, at, link) < 0) next = NULL;
    free(at);
    at = next;
  }
  return at;
}

static bool begin(Temporary *t, const char *path) {
  *t = (Temporary){.fd = -1, .path = target_of(path)};
  size_t n = t->path ? strlen(t->path) : 0;
  t->name = malloc(n + 8);
  if (!t->path || !t->name) return false;
  char *slash = strrchr(t->path, '/');
  snprintf(t->name, n + 8, "%.*s", slash ? (int)(slash - t->path) + 1 : 1, slash ? t->path : ".");
  t->unnamed = access("/proc/self/fd", X_OK) == 0;
  if (t->unnamed) t->fd = open(t->name, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  t->unnamed = t->fd >= 0;
  snprintf(t->name, n + 8, "%s.XXXXXX", t->path);
  if (!t->unnamed) t->fd = mkostemp(t->name, O_CLOEXEC);
  return t->fd >= 0;
}

static void end(Temporary *t) {
  int error = errno;
  if (t->fd >= 0) close(t->fd);
  free(t->path);
  free(t->name);
  errno = error;
}

static void drop(Temporary *t) {
  int error = errno;
  if (t->fd >= 0 && !t->unnamed) unlink(t->name);
  errno = error;
  end(t);
}

static bool write_whole(int fd, const char *bytes, size_t n) {
  while (n) {
    ssize_t w = write(fd, bytes, n);
    if (w < 0 && errno == EINTR) continue;
    if (w <= 0) return false;
    bytes += w, n -= (size_t)w;
  }
  return true;
}

/* A name for a file that has none yet: mkstemp finds one that nobody has, which linkat then takes.
 */
static bool give_name(Temporary *t) {
  char self[40];
  snprintf(self, sizeof self, "/proc/self/fd/%d", t->fd);
  for (int tries = 0; tries < 100; tries++) {
    size_t n = strlen(t->name);
    memcpy(t->name + n - 6, "XXXXXX", 6);
    int fd = mkostemp(t->name, O_CLOEXEC);
    if (fd < 0) return false;
    close(fd);
    unlink(t->name);
    if (linkat(AT_FDCWD, self, AT_FDCWD, t->name, AT_SYMLINK_FOLLOW) == 0) {
      t->unnamed = false;
      return true;
    }
    if (errno != EEXIST) return false;
  }
  return false;
}

size_t output_missing_folder(const char *path) {
  const int error = errno;
  const char *slash = strrchr(path, '/');
  char *folder = slash > path ? strndup(path, (size_t)(slash - path)) : NULL;
  const bool missing = folder && access(folder, F_OK) != 0 && errno == ENOENT;
  free(folder);
  errno = error;
  return missing ? (size_t)(slash - path) : 0;
}

static bool failed(const char *path) {
  const int folder = (int)output_missing_folder(path);
  fprintf(stderr, "gc: error: cannot write %s: %s\n", path, strerror(errno));
  if (folder) fprintf(stderr, "hint: make its folder first: mkdir -p %.*s\n", folder, path);
  return false;
}

/* Gives what was written its place, or drops it where it is not whole; false with errno set. */
static bool place(Temporary *t, bool ok, bool program) {
  struct stat old;
  mode_t mask = umask(0);
  umask(mask);
  mode_t mode = (program ? 0777 : 0666) & ~mask;
  if (ok && stat(t->path, &old) == 0) mode = (old.st_mode & 07777) | (program ? mode & 0111 : 0);
  ok = ok && fchmod(t->fd, mode) == 0 && fsync(t->fd) == 0;
  ok = ok && (!t->unnamed || give_name(t)) && rename(t->name, t->path) == 0;
  if (ok)
    end(t);
  else
    drop(t);
  return ok;
}

static bool replace(const char *path, const char *bytes, size_t n, bool program) {
  Temporary t;
  bool ok = begin(&t, path);
  return place(&t, ok && write_whole(t.fd, bytes, n), program);
}

bool output_stream(const char *path, bool (*print)(FILE *f, void *arg), void *arg) {
  Temporary t;
  int fd = begin(&t, path) ? dup(t.fd) : -1;
  FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
  if (!f && fd >= 0) close(fd);
  if (f) errno = 0;
  bool said = f && !print(f, arg), ok = f && !said && !ferror(f) && fflush(f) == 0;
  int error = ok || errno ? errno : EIO;
  if (f) fclose(f);
  errno = error;
  return place(&t, ok, false) || (!said && failed(path));
}

bool output_place(const char *from, const char *path, bool program) {
  FILE *f = fopen(from, "rb");
  struct stat st;
  if (!f) return false;
  char *bytes = fstat(fileno(f), &st) == 0 ? malloc((size_t)st.st_size + 1) : NULL;
  bool ok = bytes && fread(bytes, 1, (size_t)st.st_size, f) == (size_t)st.st_size;
  fclose(f);
  ok = ok && replace(path, bytes, (size_t)st.st_size, program);
  int error = errno;
  free(bytes);
  errno = error;
  return ok;
}

bool output_can_replace(const char *path) {
  Temporary t;
  bool ok = begin(&t, path);
  drop(&t);
  return ok;
}

static bool write_to(FILE *f, const char *text, size_t n) {
  return fwrite(text, 1, n, f) == n && fflush(f) == 0;
}

static bool stdout_failed(void) {
  fprintf(stderr, "gc: error: cannot write the standard output: %s\n", strerror(errno));
  return false;
}

bool output_write(const char *path, const char *text, size_t n) {
  if (!path || strcmp(path, "-") == 0) return write_to(stdout, text, n) || stdout_failed();
  struct stat st;
  if (stat(path, &st) != 0 || S_ISREG(st.st_mode))
    return replace(path, text, n, false) || failed(path);
  FILE *f = fopen(path, "wb");
  if (!f) return failed(path);
  bool ok = write_to(f, text, n);
  return (fclose(f) == 0 && ok) || failed(path);
}

bool output_is_replaceable(const char *path) {
  struct stat st;
  return stat(path, &st) != 0 || S_ISREG(st.st_mode);
}

bool output_is_same(const char *a, const char *b) {
  struct stat x, y;
  bool has_a = stat(a, &x) == 0, has_b = stat(b, &y) == 0;
  if (has_a && has_b) return S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
  if (has_a || has_b) return false;
  char *at = target_of(a), *other = target_of(b);
  bool same = at && other && strcmp(at, other) == 0;
  free(at);
  free(other);
  return same;
}
