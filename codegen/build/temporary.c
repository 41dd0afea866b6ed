/* Folders for what lies between sources and output. A folder has a file `gc.lock` that its gc holds
   a lock on (flock), which the system drops when the process ends, also by SIGKILL.
   Contract: a folder is removed only if it is this user's, nobody else may write there, it has that
   file, and nobody holds the lock: other users of a shared directory cannot lead gc to a file, and
   what another program names gc-XXXXXX is left alone. The lock is taken before the file gets its
   name, so that no folder is ever seen without its owner. */
#define _GNU_SOURCE
#include "codegen/build/temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char lock_name[] = "gc.lock", lock_new[] = "gc.lock.new", prefix[] = "gc-";
enum { RANDOM = 6 }; /* letters of a name behind the prefix, as mkdtemp gives them */

static bool is_ours(int fd, mode_t type) {
  struct stat st;
  return fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == type && st.st_uid == geteuid() &&
         (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* All that is no folder: gc makes none there. */
static void remove_files(int folder) {
  int again = dup(folder);
  DIR *d = again >= 0 ? fdopendir(again) : NULL;
  if (!d) {
    if (again >= 0) close(again);
    return;
  }
  for (const struct dirent *e; (e = readdir(d));)
    if (strcmp(e->d_name, lock_name) != 0) unlinkat(folder, e->d_name, 0);
  closedir(d);
}

static void remove_stale(int parent, const char *name) {
  int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return;
  int lock = is_ours(folder, S_IFDIR)
                 ? openat(folder, lock_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
                 : -1;
  if (lock >= 0 && is_ours(lock, S_IFREG) && flock(lock, LOCK_EX | LOCK_NB) == 0) {
    remove_files(folder);
    unlinkat(folder, lock_name, 0); /* last: who is killed before it comes back later */
    unlinkat(parent, name, AT_REMOVEDIR);
  }
  if (lock >= 0) close(lock);
  close(folder);
}

static void sweep(const char *parent) {
  DIR *d = opendir(parent);
  if (!d) return;
  size_t n = sizeof prefix - 1;
  for (const struct dirent *e; (e = readdir(d));)
    if (strncmp(e->d_name, prefix, n) == 0 && strlen(e->d_name) == n + RANDOM)
      remove_stale(dirfd(d), e->d_name);
  closedir(d);
}

static int take_lock(const char *dir) {
  int folder = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return -1;
  int lock = openat(folder, lock_new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  bool ok = lock >= 0;
  /* A file system without locks has folders that nobody takes for stale: they have no lock file. */
  if (ok && flock(lock, LOCK_EX | LOCK_NB) == 0)
    ok = renameat(folder, lock_new, folder, lock_name) == 0;
  int error = errno;
  if (!ok && lock >= 0) {
    unlinkat(folder, lock_new, 0);
    close(lock);
  }
  close(folder);
  errno = error;
  return ok ? lock : -1;
}

int temporary_make(const char *parent, char *dir) {
  sweep(parent);
  if (!mkdtemp(dir)) return -1;
  int lock = take_lock(dir);
  int error = errno;
  if (lock < 0) rmdir(dir);
  errno = error;
  return lock;
}

void temporary_remove(const char *dir, int lock) {
  int folder = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder >= 0) {
    unlinkat(folder, lock_new, 0);
    unlinkat(folder, lock_name, 0);
    close(folder);
  }
  rmdir(dir);
  close(lock);
}
