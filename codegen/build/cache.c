/* A folder of files named by their key; see cache.h. An entry is written to a file of its own name
   and renamed, so that it is whole or not there. Its head holds the hash of what follows. Reading
   it sets its time: the oldest go first. */
#define _GNU_SOURCE
#include "codegen/build/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { KEY_DIGITS = 32, STALE_SECONDS = 3600 };
static const uint64_t LIMIT = UINT64_C(512) << 20;

typedef struct CacheHead {
  char mark[8];
  uint64_t bytes; /* behind the head */
  Hash content;
} CacheHead;
static const char MARK[8] = "gcobj01";

Cache cache_open(char *path) {
  const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  bool own = xdg && *xdg == '/'; /* the standard ignores relative ones */
  if (!own && !(home && *home == '/')) return (Cache){0};
  int n = snprintf(path, CACHE_PATH, own ? "%s" : "%s/.cache", own ? xdg : home);
  if (n < 0 || n > CACHE_PATH - 64) return (Cache){0};
  mkdir(path, 0700);
  memcpy(path + n, "/gc", sizeof "/gc");
  if (mkdir(path, 0700) != 0 && errno != EEXIST) return (Cache){0};
  struct stat st; /* nobody else may put machine code there */
  bool safe = lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
              (st.st_mode & 022) == 0;
  return safe ? (Cache){path, LIMIT} : (Cache){0};
}

static void name_of(char *out, size_t size, const Cache *c, Hash key) {
  snprintf(out, size, "%s/%016llx%016llx", c->dir, (unsigned long long)key.high,
           (unsigned long long)key.low);
}

/* The file's bytes, to be freed; NULL if they cannot be read. */
static char *read_whole(int fd, size_t *n) {
  struct stat st;
  if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) return NULL;
  size_t want = (size_t)st.st_size, got = 0;
  char *s = malloc(want + 1);
  while (s && got < want) {
    ssize_t r = read(fd, s + got, want - got);
    if (r < 0 && errno == EINTR) continue;
    if (r <= 0) {
      free(s);
      return NULL;
    }
    got += (size_t)r;
  }
  *n = got;
  return s;
}

static bool write_whole(int fd, const void *s, size_t n) {
  for (const char *p = s; n;) {
    ssize_t w = write(fd, p, n);
    if (w < 0 && errno == EINTR) continue;
    if (w <= 0) return false;
    p += w;
    n -= (size_t)w;
  }
  return true;
}

/* What stands in the file, if it is whole. */
static void *content_of(char *s, size_t *n) {
  CacheHead head = {0};
  if (s && *n >= sizeof head) memcpy(&head, s, sizeof head);
  bool whole = s && *n >= sizeof head && memcmp(head.mark, MARK, sizeof MARK) == 0 &&
               head.bytes == *n - sizeof head &&
               hash_compare(head.content, hash_of(s + sizeof head, *n - sizeof head)) == 0;
  if (!whole) return NULL;
  *n -= sizeof head;
  return memmove(s, s + sizeof head, *n);
}

void *cache_read(const Cache *c, Hash key, size_t *n) {
  if (!c->dir) return NULL;
  char path[CACHE_PATH + 64];
  name_of(path, sizeof path, c, key);
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return NULL;
  char *s = read_whole(fd, n);
  void *content = content_of(s, n);
  if (content) futimens(fd, NULL);
  if (s && !content) unlink(path);
  if (!content) free(s);
  close(fd);
  return content;
}

bool cache_get(const Cache *c, Hash key, const char *file) {
  size_t n;
  void *s = cache_read(c, key, &n);
  if (!s) return false;
  int to = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  bool got = to >= 0 && write_whole(to, s, n);
  if (to >= 0 && close(to) != 0) got = false;
  if (to >= 0 && !got) unlink(file);
  free(s);
  return got;
}

void cache_keep(const Cache *c, Hash key, const void *bytes, size_t n) {
  if (!c->dir) return;
  CacheHead head = {.bytes = n, .content = hash_of(bytes, n)};
  memcpy(head.mark, MARK, sizeof MARK);
  char path[CACHE_PATH + 64], temporary[CACHE_PATH + 64];
  name_of(path, sizeof path, c, key);
  snprintf(temporary, sizeof temporary, "%s/new-XXXXXX", c->dir);
  int to = mkostemp(temporary, O_CLOEXEC);
  bool ok = to >= 0 && write_whole(to, &head, sizeof head) && write_whole(to, bytes, n);
  if (to >= 0 && close(to) != 0) ok = false;
  if (to >= 0 && (!ok || rename(temporary, path) != 0)) unlink(temporary);
}

void cache_put(const Cache *c, Hash key, const char *file) {
  if (!c->dir) return;
  size_t n = 0;
  int from = open(file, O_RDONLY | O_CLOEXEC);
  char *s = from >= 0 ? read_whole(from, &n) : NULL;
  if (from >= 0) close(from);
  if (s) cache_keep(c, key, s, n);
  free(s);
}

/* ---- the limit ---- */

typedef struct CacheEntry {
  char name[KEY_DIGITS + 1];
  uint64_t bytes;
  struct timespec used;
} CacheEntry;

static int by_use(const void *a, const void *b) {
  const CacheEntry *x = a, *y = b;
  if (x->used.tv_sec != y->used.tv_sec) return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
  if (x->used.tv_nsec != y->used.tv_nsec) return x->used.tv_nsec < y->used.tv_nsec ? -1 : 1;
  return strcmp(x->name, y->name);
}

static bool is_key(const char *s) {
  return strlen(s) == KEY_DIGITS && strspn(s, "0123456789abcdef") == KEY_DIGITS;
}

void cache_trim(const Cache *c) {
  DIR *d = c->dir ? opendir(c->dir) : NULL;
  if (!d) return;
  CacheEntry *at = NULL;
  size_t n = 0, capacity = 0;
  uint64_t bytes = 0;
  struct stat st;
  for (const struct dirent *e; (e = readdir(d));) {
    bool key = is_key(e->d_name);
    if (!key && strncmp(e->d_name, "new-", 4) != 0) continue;
    if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!key) {
      if (st.st_mtime + STALE_SECONDS < time(NULL)) unlinkat(dirfd(d), e->d_name, 0);
      continue;
    }
    if (n == capacity) {
      CacheEntry *more = realloc(at, sizeof *at * (capacity = capacity ? 2 * capacity : 256));
      if (!more) break;
      at = more;
    }
    at[n] = (CacheEntry){.bytes = (uint64_t)st.st_size, .used = st.st_mtim};
    memcpy(at[n++].name, e->d_name, KEY_DIGITS + 1);
    bytes += (uint64_t)st.st_size;
  }
  if (bytes > c->limit) {
    qsort(at, n, sizeof *at, by_use);
    for (size_t i = 0; i < n && bytes > c->limit / 4 * 3; i++) {
      unlinkat(dirfd(d), at[i].name, 0);
      bytes -= at[i].bytes;
    }
  }
  free(at);
  closedir(d);
}
