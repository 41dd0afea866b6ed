/* Files in: regular files only, opened without blocking, read at offsets, short reads and EINTR
   handled. Files out: temporary file with O_EXCL in the target's directory, write, fsync, close,
   rename, fsync of the directory. Any failure removes the temporary file and leaves the old target
   as it was. What is no regular file (/dev/null, a pipe) is opened and written as it is. */
#include "runtime/data/file.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static const char *kind_name(mode_t m) {
  if (S_ISDIR(m)) return "a directory";
  if (S_ISFIFO(m)) return "a pipe";
  if (S_ISSOCK(m)) return "a socket";
  if (S_ISCHR(m) || S_ISBLK(m)) return "a device";
  return "no regular file";
}

bool file_open(File *f, const char *path, Err *e) {
  *f = (File){.path = path, .fd = -1};
  int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) {
    bool missing = errno == ENOENT || errno == ENOTDIR;
    err_set(e, missing ? EXIT_WRONG : EXIT_ENV, "%s: cannot be read: %s", path, strerror(errno));
    return err_hint(e, missing ? "check the path; this is looked up from the current directory"
                               : "check the file's permissions");
  }
  struct stat st;
  if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
    close(fd);
    err_set(e, EXIT_WRONG, "%s: is %s; a regular file is needed", path, kind_name(st.st_mode));
    return err_hint(e, "copy the data to a file first");
  }
  f->fd = fd;
  f->size = (uint64_t)st.st_size;
  f->dev = (uint64_t)st.st_dev;
  f->ino = (uint64_t)st.st_ino;
  return true;
}

bool file_read(const File *f, uint64_t at, void *dst, uint64_t n, Err *e) {
  char *p = dst;
  while (n) {
    ssize_t r = pread(f->fd, p, n > (1U << 30) ? 1U << 30 : (size_t)n, (off_t)at);
    if (r < 0 && errno == EINTR) continue;
    if (r < 0)
      return err_set(e, EXIT_ENV, "%s: reading at byte %llu failed: %s", f->path,
                     (unsigned long long)at, strerror(errno));
    if (r == 0) {
      err_set(e, EXIT_WRONG, "%s: ends at byte %llu, %llu bytes too early", f->path,
              (unsigned long long)at, (unsigned long long)n);
      return err_hint(
          e, "the file is cut short, or another program is writing it; fetch or write it again");
    }
    p += r, at += (uint64_t)r, n -= (uint64_t)r;
  }
  return true;
}

void file_close(File *f) {
  if (f->fd >= 0) close(f->fd);
  f->fd = -1;
}

static bool out_fail(OutFile *o, const char *doing, int error, Err *e) {
  err_set(e, EXIT_ENV, "%s: %s failed: %s", o->path, doing, strerror(error));
  if (o->direct)
    err_hint(e, "name a file in a directory that you may write to");
  else if (error == ENOSPC || error == EDQUOT)
    err_hint(e,
             "free some space, or write to another disk; an older file of this name is as it was");
  else
    err_hint(e,
             "choose a directory that you may write to; an older file of this name is as it was");
  return false;
}

bool out_begin(OutFile *o, Err *e) {
  if (o->direct) {
    o->fd = open(o->path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    return o->fd >= 0 || out_fail(o, "opening it", errno, e);
  }
  size_t room = strlen(o->path) + 48;
  for (int i = 0; i < 1000; i++) { /* a stale file of a killed run must not be in the way */
    snprintf(o->tmp, room, "%s.tmp-%ld-%d", o->path, (long)getpid(), i);
    o->fd = open(o->tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (o->fd >= 0) return true;
    if (errno != EEXIST) break;
  }
  return out_fail(o, "creating a file beside it", errno, e);
}

bool out_prepare(OutFile *o, const char *path, uint64_t bytes, Err *e) {
  *o = (OutFile){.fd = -1};
  size_t n = strlen(path);
  o->path = strdup(path);
  o->tmp = malloc(n + 48);
  o->dir = malloc(n + 2);
  if (!o->path || !o->tmp || !o->dir) return err_set(e, EXIT_ENV, "no memory for a file name");
  const char *slash = strrchr(path, '/');
  if (!slash)
    snprintf(o->dir, n + 2, ".");
  else
    snprintf(o->dir, n + 2, "%.*s", slash == path ? 1 : (int)(slash - path), path);
  struct stat st;
  bool there = stat(path, &st) == 0;
  if (n == 0 || path[n - 1] == '/' || (there && S_ISDIR(st.st_mode))) {
    err_set(e, EXIT_USAGE, "%s: is not a file that can be replaced", path);
    return err_hint(e, "name a file, new or old, in a directory that you may write to");
  }
  o->direct = there && !S_ISREG(st.st_mode);
  if (o->direct) return access(path, W_OK) == 0 || out_fail(o, "opening it", errno, e);
  struct stat self;
  if (there && stat("/proc/self/exe", &self) == 0 && st.st_dev == self.st_dev &&
      st.st_ino == self.st_ino) {
    err_set(e, EXIT_USAGE, "%s: is this program itself", path);
    return err_hint(e, "give the file another name, such as %s.safetensors", path);
  }
  if (!out_begin(o, e)) return false;
  out_abort(o);
  struct statvfs fs;
  if (statvfs(o->dir, &fs) == 0) {
    uint64_t room;
    if (checked_mul(fs.f_bavail, fs.f_frsize, &room) && room < bytes) {
      err_set(e, EXIT_ENV, "%s: needs %llu bytes, but the disk has %llu left", path,
              (unsigned long long)bytes, (unsigned long long)room);
      return err_hint(e, "free some space, or write to another disk");
    }
  }
  return true;
}

bool out_write(OutFile *o, const void *src, uint64_t n, Err *e) {
  const char *p = src;
  while (n) {
    ssize_t w = write(o->fd, p, n > (1U << 30) ? 1U << 30 : (size_t)n);
    if (w < 0 && errno == EINTR) continue;
    if (w <= 0) {
      int error = w < 0 ? errno : EIO;
      out_abort(o);
      return out_fail(o, "writing", error, e);
    }
    p += w, n -= (uint64_t)w;
  }
  return true;
}

bool out_commit(OutFile *o, Err *e) {
  int error = 0;
  const char *doing = "writing to the disk";
  if (!o->direct && fsync(o->fd) != 0) error = errno;
  if (close(o->fd) != 0 && !error) error = errno;
  o->fd = -1;
  if (o->direct) return !error || out_fail(o, doing, error, e);
  if (!error && rename(o->tmp, o->path) != 0) error = errno, doing = "renaming";
  if (error) {
    unlink(o->tmp);
    return out_fail(o, doing, error, e);
  }
  int dir = open(o->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (dir >= 0) { /* some file systems cannot sync a directory: the file is there all the same */
    if (fsync(dir) != 0 && errno == EIO) error = errno;
    close(dir);
  }
  return error ? out_fail(o, "writing the directory to the disk", error, e) : true;
}

void out_abort(OutFile *o) {
  if (o->fd < 0) return;
  close(o->fd);
  o->fd = -1;
  if (!o->direct) unlink(o->tmp);
}

void out_free(OutFile *o) {
  out_abort(o);
  free(o->path);
  free(o->tmp);
  free(o->dir);
  *o = (OutFile){.fd = -1};
}
