/* The one allocation: globals, inputs, arena, hypers, and the tables of the runtime itself.
   Contract: sizes follow from the compiled program and the number of threads alone, so that `info`
   can print them; each region begins at a multiple of 4096 and has slack, since vectors may read
   past a row. */
#include "runtime/exec/memory.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { SLACK = 4096, PAGE = MEMORY_PAGE };

static bool region(uint64_t bytes, uint64_t *out) {
  uint64_t n;
  if (!checked_add(bytes, SLACK + PAGE - 1, &n)) return false;
  *out = n & ~(uint64_t)(PAGE - 1);
  return true;
}

uint64_t memory_turn(uint64_t bytes) { return align_up(bytes + SLACK, PAGE); }

/* Threads share neither a cache line nor a pair of lines that is fetched together. */
static uint64_t work_step(const GcProgram *p) { return align_up(p->work_bytes, 128); }

char *memory_work(const Memory *m, const GcProgram *p, int thread) {
  return (char *)m->work + (uint64_t)thread * work_step(p);
}

bool memory_sum(const GcProgram *p, const MemoryNeeds *n, Sizes *s, Err *e) {
  *s = (Sizes){.needs = *n};
  uint64_t work;
  bool ok = checked_mul(work_step(p), (uint64_t)n->threads, &work) && region(work, &s->work) &&
            region(p->globals_bytes, &s->globals) && region(n->inputs, &s->inputs) &&
            region(n->arena, &s->arena) && (!n->ahead || region(n->ahead, &s->ahead)) &&
            region(4 * (uint64_t)p->nhypers, &s->hypers) && region(n->tables, &s->tables);
  s->total = s->globals;
  ok = ok && checked_add(s->total, s->inputs, &s->total) &&
       checked_add(s->total, s->arena, &s->total) && checked_add(s->total, s->ahead, &s->total) &&
       checked_add(s->total, s->hypers, &s->total) && checked_add(s->total, s->work, &s->total) &&
       checked_add(s->total, s->tables, &s->total);
  return ok ? true : err_set(e, EXIT_ENV, "the program needs more memory than any machine has");
}

/* Reads the last page of a region, its slack, of which the system then has a page of zeros. Kernels
   prefetch what is a page ahead, and to find out that a page is not there takes a processor
   hundreds of cycles each time. */
static void touch_slack(const uint8_t *end) { (void)*(volatile const uint8_t *)(end - 1); }

bool memory_map(Memory *m, const Sizes *s, Err *e) {
  *m = (Memory){.sizes = *s};
  void *p = pages_map(s->total, "the program", "compile it with a smaller batch or bound", e);
  if (!p) return false;
  madvise(p, s->total, MADV_HUGEPAGE); /* advice: any answer will do */
  uint8_t *at = m->base = p;
  m->region[GC_GLOBALS] = at, at += s->globals, touch_slack(at);
  m->region[GC_ARENA] = at, at += s->arena, touch_slack(at);
  m->region[GC_INPUTS] = at, at += s->inputs, touch_slack(at);
  m->region[GC_PREPARED] = at, at += s->ahead;
  m->region[GC_HYPERS] = at, at += s->hypers;
  m->work = at, at += s->work;
  m->tables = at;
  m->end = at + s->tables;
  return true;
}

void memory_unmap(Memory *m) {
  if (m->base) munmap(m->base, m->sizes.total);
  *m = (Memory){0};
}

/* Whole pages of the system are replaced; what lies in a page with something else is written to. */
static uint64_t whole_pages(const uint8_t *at, uint64_t n) {
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  return (uint64_t)(uintptr_t)at % page ? 0 : n / page * page;
}

bool memory_clear_globals(Memory *m, Err *e) {
  uint8_t *at = m->region[GC_GLOBALS];
  uint64_t n = whole_pages(at, m->sizes.globals);
  if (n && mmap(at, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
               MAP_FAILED)
    return err_set(e, EXIT_ENV, "no memory for the weights: %s", strerror(errno));
  madvise(at, n, MADV_HUGEPAGE);
  memset(at + n, 0, m->sizes.globals - n);
  touch_slack(at + m->sizes.globals);
  return true;
}

void memory_fill_slowly(uint8_t *at, uint64_t n) {
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE),
           skip = align_up((uintptr_t)at, page) - (uintptr_t)at;
  if (n > skip) madvise(at + skip, (n - skip) / page * page, MADV_NOHUGEPAGE);
}

bool memory_put_file(uint8_t *to, const File *f, uint64_t at, uint64_t n, Err *e) {
  uint64_t whole = whole_pages(to, n);
  if (whole && mmap(to, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, f->fd, (off_t)at) ==
                   MAP_FAILED)
    return err_set(e, EXIT_ENV, "%s: cannot be mapped: %s", f->path, strerror(errno));
  if (whole) madvise(to, whole, MADV_HUGEPAGE);
  return file_read(f, at + whole, to + whole, n - whole, e);
}

/* The file that is mapped at `from`, and where in it that is. */
static bool own_file(const uint8_t *from, uint64_t n, int *fd, uint64_t *at) {
  FILE *f = fopen("/proc/self/maps", "re");
  char *line = NULL;
  size_t room = 0;
  *fd = -1;
  while (f && *fd < 0 && getline(&line, &room, f) > 0) {
    uintptr_t begin, end, want = (uintptr_t)from;
    uint64_t offset, ino;
    unsigned major, minor;
    int path = 0;
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*s %" SCNx64 " %x:%x %" SCNu64 " %n", &begin, &end,
               &offset, &major, &minor, &ino, &path) < 6 ||
        !path || want < begin || want >= end || n > end - want)
      continue;
    line[strcspn(line, "\n")] = 0;
    struct stat st;
    *fd = open(line + path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (*fd < 0) break;
    *at = offset + (want - begin);
    if (fstat(*fd, &st) == 0 && st.st_dev == makedev(major, minor) && (uint64_t)st.st_ino == ino)
      continue;
    close(*fd); /* the name is another file's by now, or the file system has two numbers */
    *fd = -1;
    break;
  }
  free(line);
  if (f) fclose(f);
  return *fd >= 0;
}

bool memory_put_own(uint8_t *to, const uint8_t *from, uint64_t n) {
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), at;
  uint64_t head = align_up((uintptr_t)to, page) - (uintptr_t)to;
  int fd;
  if (((uintptr_t)to ^ (uintptr_t)from) % page || n < head + page || !own_file(from, n, &fd, &at))
    return false;
  uint64_t whole = (n - head) / page * page;
  bool ok = mmap(to + head, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd,
                 (off_t)(at + head)) != MAP_FAILED;
  close(fd);
  if (!ok) return false;
  memcpy(to, from, head);
  memcpy(to + head + whole, from + head + whole, n - head - whole);
  return true;
}

void *memory_take(Memory *m, uint64_t bytes) {
  uint64_t at = (uint64_t)(uintptr_t)m->tables;
  uint8_t *p = m->tables + (align_up(at, 128) - at);
  if (p > m->end || bytes > (uint64_t)(m->end - p)) m->overdrawn = true;
  if (m->overdrawn) return NULL;
  m->tables = p + bytes;
  return p;
}

bool memory_sound(const Memory *m, Err *e) {
  if (!m->overdrawn) return true;
  return err_set(e, EXIT_BUG, "internal error: the runtime's tables are larger than planned");
}
