/* Files in: regular files only, opened without blocking, read at offsets, short reads and EINTR
   handled. Files out: a temporary file in the target's directory, write, fsync, rename, fsync of
   the directory. Any failure removes the temporary file and leaves the old target as it was. It has
   no name until it is complete where the file system can do that (O_TMPFILE), so that a killed
   process leaves nothing; elsewhere it has a fixed name, which the next run takes over. A symbolic
   link is followed and stays; a file that is replaced keeps its mode, and its owner where that is
   allowed. What is no regular file (/dev/null, a pipe) is opened and written as it is. */
#include "runtime/data/file.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
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
    bool missing = errno == ENOENT || errno == ENOTDIR, many = errno == EMFILE;
    err_set(e, missing ? EXIT_WRONG : EXIT_ENV, "%s: cannot be read: %s", path, strerror(errno));
    const bool numbers =
        strpbrk(path, "0123456789") != NULL && strspn(path, "0123456789.,+-eE[] ") == strlen(path);
    return err_hint(e, missing && numbers ? "numbers stand in a file, as rows of a .csv"
                       : missing ? "check the path; this is looked up from the current directory"
                       : many    ? "so many files are open; 'ulimit -n' raises the limit"
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

void file_forget(const uint8_t *from, uint64_t n) {
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)from, end = at + n;
  at -= at % page, end -= end % page;
  if (end > at) madvise((void *)at, end - at, MADV_DONTNEED); /* advice: any answer will do */
}

bool file_read(const File *f, uint64_t at, void *dst, uint64_t n, Err *e) {
  enum { AT_ONCE = 1 << 26 }; /* a signal is heard between two of them */
  char *p = dst;
  if (f->memory && at <= f->size && n <= f->size - at) {
    memcpy(dst, f->memory + at, n);
    file_forget(f->memory + at, n);
    return true;
  }
  while (n) {
    if (n > AT_ONCE && file_interrupted(f->path, e)) return false;
    ssize_t r = pread(f->fd, p, n > AT_ONCE ? AT_ONCE : (size_t)n, (off_t)at);
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

bool file_interrupted(const char *path, Err *e) {
  int sig = signal_seen();
  if (sig) err_set(e, 128 + sig, "%s: stopped by a signal while it was read", path);
  return sig != 0;
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

char *path_resolve(const char *path) {
  enum { MAX_LINKS = 40 }; /* as Linux allows */
  char *at = strdup(path);
  for (int links = 0; at && links < MAX_LINKS; links++) {
    char *whole = realpath(at, NULL);
    if (whole) return free(at), whole;
    char *slash = strrchr(at, '/'), *name = slash ? slash + 1 : at, link[4096];
    ssize_t n = readlink(at, link, sizeof link - 1);
    if (slash) *slash = 0;
    char *dir = realpath(slash ? *at ? at : "/" : ".", NULL), *next = NULL;
    size_t room = (dir ? strlen(dir) : 0) + strlen(name) + sizeof link + 2;
    if (dir && (next = malloc(room))) {
      link[n < 0 ? 0 : n] = 0;
      if (link[0] == '/' && n > 0)
        snprintf(next, room, "%s", link);
      else
        snprintf(next, room, "%s/%s", strcmp(dir, "/") ? dir : "", n > 0 ? link : name);
    }
    free(dir);
    free(at);
    at = next;
    if (n <= 0) return at; /* the last component does not exist yet, or its folder does not */
  }
  free(at);
  return NULL;
}

/* The named temporary file of a file system without unnamed ones. It is locked while it is written:
   one that nobody holds is what a killed run left, and goes; one that another run holds is an
   error. */
static int open_named(const OutFile *o, mode_t mode) {
  enum { TRIES = 100 };
  struct stat st;
  for (int i = 0; i < TRIES; i++) {
    int fd = open(o->tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    bool own = fd >= 0;
    if (!own && errno == EEXIST) fd = open(o->tmp, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT) continue;
    if (fd < 0) return -1;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
      close(fd);
      errno = EBUSY;
      return -1;
    }
    bool named = fstat(fd, &st) == 0 && st.st_nlink > 0; /* nobody took it away before the lock */
    if (own && named) return fd;
    if (!own && named) unlink(o->tmp);
    close(fd);
  }
  errno = EBUSY;
  return -1;
}

bool out_begin(OutFile *o, Err *e) {
  if (o->direct) {
    o->fd = open(o->path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    return o->fd >= 0 || out_fail(o, "opening it", errno, e);
  }
  mode_t mode = o->replaces ? 0600 : 0666; /* the old file's mode is set before the renaming */
  o->unnamed = access("/proc/self/fd", X_OK) == 0;
  if (o->unnamed) o->fd = open(o->dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
  if (o->unnamed && o->fd < 0 && errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)
    return out_fail(o, "creating a file beside it", errno, e);
  if (o->fd < 0) {
    o->unnamed = false;
    o->fd = open_named(o, mode);
  }
  return o->fd >= 0 || out_fail(o, "creating a file beside it", errno, e);
}

/* Gives the complete file its name. If no file has that name, one step does it. Else the file first
   gets the temporary name, then replaces the old file. A run that is killed between these two steps
   leaves a complete file of the temporary name, which the next run removes. Another run that writes
   the same file may do either step in this one's place: each file that it renames is complete. */
static bool put_in_place(OutFile *o) {
  enum { TRIES = 100 };
  char self[40];
  bool linked = false;
  if (!o->unnamed) return rename(o->tmp, o->target) == 0;
  snprintf(self, sizeof self, "/proc/self/fd/%d", o->fd);
  if (linkat(AT_FDCWD, self, AT_FDCWD, o->target, AT_SYMLINK_FOLLOW) == 0) return true;
  if (errno != EEXIST) return false;
  for (int i = 0; i < TRIES; i++) {
    if (linkat(AT_FDCWD, self, AT_FDCWD, o->tmp, AT_SYMLINK_FOLLOW) != 0) {
      if (errno == ENOENT && linked) return true; /* it was in place, and has been replaced since */
      if (errno != EEXIST || (unlink(o->tmp) != 0 && errno != ENOENT)) return false;
      continue;
    }
    linked = true;
    if (rename(o->tmp, o->target) == 0) return true;
    if (errno != ENOENT) {
      int error = errno;
      unlink(o->tmp);
      errno = error;
      return false;
    }
  }
  errno = EBUSY;
  return false;
}

/* The mode and, where allowed, the owner of the file that is replaced. */
static bool keep_mode(const OutFile *o) {
  struct stat old;
  if (!o->replaces || stat(o->target, &old) != 0) return true;
  if (fchown(o->fd, old.st_uid, old.st_gid) != 0) errno = 0; /* needs rights that most users lack */
  return fchmod(o->fd, old.st_mode & 07777) == 0;
}

bool out_may_replace(const char *path, const OutKind *kind, Err *e) {
  struct stat st;
  uint8_t head[OUT_HEAD];
  File f;
  if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0) return true;
  if (!file_open(&f, path, e)) return false;
  uint64_t n = f.size < OUT_HEAD ? f.size : OUT_HEAD;
  bool read = file_read(&f, 0, head, n, e), is = read && kind->is(head, n);
  const char *foreign = is && kind->foreign ? kind->foreign(&f, kind->arg) : NULL;
  file_close(&f);
  if (!read || (is && !foreign)) return read;
  if (foreign)
    err_set(e, EXIT_USAGE, "%s: is %s, and would be replaced", path, foreign);
  else
    err_set(e, EXIT_USAGE, "%s: is not %s, and would be replaced by one", path, kind->name);
  return err_hint(e, "remove it, or name another file");
}

bool out_prepare(OutFile *o, const char *path, const OutKind *kind, uint64_t bytes, Err *e) {
  *o = (OutFile){.fd = -1};
  size_t n = strlen(path);
  o->path = strdup(path);
  o->target = path_resolve(path);
  if (!o->target) o->target = strdup(path);
  size_t room_path = o->target ? strlen(o->target) + 16 : 0;
  o->tmp = malloc(room_path);
  o->dir = malloc(room_path);
  if (!o->path || !o->target || !o->tmp || !o->dir)
    return err_set(e, EXIT_ENV, "no memory for a file name");
  const char *slash = strrchr(o->target, '/');
  snprintf(o->tmp, room_path, "%s.gc-tmp", o->target);
  int dir = slash && slash > o->target ? (int)(slash - o->target) : 1;
  snprintf(o->dir, room_path, "%.*s", dir, slash ? o->target : ".");
  struct stat st;
  bool there = stat(path, &st) == 0;
  if (n == 0 || path[n - 1] == '/' || (there && S_ISDIR(st.st_mode))) {
    err_set(e, EXIT_USAGE, "%s: is not a file that can be replaced", path);
    return err_hint(e, "name a file, new or old, in a directory that you may write to");
  }
  o->direct = there && !S_ISREG(st.st_mode);
  o->replaces = there;
  if (o->direct) return access(path, W_OK) == 0 || out_fail(o, "opening it", errno, e);
  if (!out_may_replace(path, kind, e) || !out_begin(o, e)) return false;
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

/* Behind what was written, or at an offset. */
static bool put_bytes(OutFile *o, bool append, uint64_t at, const void *src, uint64_t n, Err *e) {
  const char *p = src;
  while (n) {
    size_t k = n > (1U << 30) ? 1U << 30 : (size_t)n;
    ssize_t w = append ? write(o->fd, p, k) : pwrite(o->fd, p, k, (off_t)at);
    if (w < 0 && errno == EINTR) continue;
    if (w <= 0) {
      int error = w < 0 ? errno : EIO;
      out_abort(o);
      return out_fail(o, "writing", error, e);
    }
    p += w, at += (uint64_t)w, n -= (uint64_t)w;
  }
  return true;
}

bool out_write(OutFile *o, const void *p, uint64_t n, Err *e) {
  return put_bytes(o, true, 0, p, n, e);
}

bool out_patch(OutFile *o, uint64_t at, const void *p, uint64_t n, Err *e) {
  return put_bytes(o, false, at, p, n, e);
}

bool out_commit(OutFile *o, Err *e) {
  int error = 0;
  const char *doing = "writing to the disk";
  if (!o->direct && (!keep_mode(o) || fsync(o->fd) != 0)) error = errno;
  if (!o->direct && !error && !put_in_place(o)) error = errno, doing = "renaming";
  if (!o->direct && error && !o->unnamed) unlink(o->tmp);
  if (close(o->fd) != 0 && !error) error = errno;
  o->fd = -1;
  if (o->direct || error) return !error || out_fail(o, doing, error, e);
  int dir = open(o->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (dir >= 0) { /* some file systems cannot sync a directory: the file is there all the same */
    if (fsync(dir) != 0 && errno == EIO) error = errno;
    close(dir);
  }
  return error ? out_fail(o, "writing the directory to the disk", error, e) : true;
}

void out_abort(OutFile *o) {
  if (o->fd < 0) return;
  if (!o->direct && !o->unnamed) unlink(o->tmp);
  close(o->fd); /* behind it, since the lock ends here */
  o->fd = -1;
}

void out_free(OutFile *o) {
  out_abort(o);
  free(o->path);
  free(o->target);
  free(o->tmp);
  free(o->dir);
  *o = (OutFile){.fd = -1};
}
