/* The one allocation of a session: the regions of its program, the workspaces of threads, and the
   runtime's own tables. Contract: sizes follow from the compiled program and the number of threads
   alone; nothing is allocated after it. */
#ifndef GCRT_MEMORY_H
#define GCRT_MEMORY_H
#include "runtime/data/file.h"

/* Bytes of the regions, and of the runtime's tables; so many threads run kernels. */
typedef struct MemoryNeeds {
  uint64_t arena, inputs, ahead, tables;
  int threads;
} MemoryNeeds;
typedef struct Sizes { /* bytes, known before anything runs */
  uint64_t globals, inputs, arena, ahead, hypers, work, tables, total; /* with slack, in pages */
  MemoryNeeds needs;
} Sizes;
typedef struct Memory {
  uint8_t *base;
  uint8_t *region[GC_REGIONS];
  uint8_t *work;         /* of all threads: memory_work */
  uint8_t *tables, *end; /* bump pointer of what the runtime itself needs */
  bool overdrawn;        /* it needed more than was counted */
  Sizes sizes;
} Memory;
enum { MEMORY_PAGE = 4096 };
/* Of a region that holds the same twice: from the first to the second. */
uint64_t memory_turn(uint64_t bytes);
bool memory_sum(const GcProgram *p, const MemoryNeeds *n, Sizes *s, Err *e);
/* The workspace of a thread: GcProgram.work_bytes that it shares with no other one. */
char *memory_work(const Memory *m, const GcProgram *p, int thread);
/* Lays the regions over zeroed pages of sizes.total bytes. */
bool memory_map(Memory *m, const Sizes *sizes, Err *e);
void memory_unmap(Memory *m);
/* All globals are zeroed pages again. */
bool memory_clear_globals(Memory *m, Err *e);
/* A value that is written to bit by bit, as a cache of keys: pages of 2 MiB would be in memory for
   the first rows of each head. */
void memory_fill_slowly(uint8_t *at, uint64_t n);
/* n bytes of a file in the place of memory, which is mapped: whole pages are mapped privately, so
   that those that nobody writes to are the file's. */
bool memory_put_file(uint8_t *to, const File *f, uint64_t at, uint64_t n, Err *e);
/* The same of n bytes of the program's own file, the executable or the library, as it is mapped at
   `from`. False: nothing has changed, since pages do not lie alike, or the file is not found. */
bool memory_put_own(uint8_t *to, const uint8_t *from, uint64_t n);
/* NULL: fewer bytes were counted than are taken, which stays so and memory_sound reports. Who takes
   several asks m->overdrawn before it writes to any. */
void *memory_take(Memory *m, uint64_t bytes);
bool memory_sound(const Memory *m, Err *e);
#endif
