/* Measures the packer by itself, in CPU time.
     bench_pack FILE.csv... [--capacity=N] [--work=N] [--seeds=N] [--must]
     bench_pack --random=N | --perfect=N | --hard=N [--seed=S] [--work=N] [--seeds=N] [--csv]
   A line an instance: buffers, the largest and the median arena over the seeds as a multiple of the
   largest sum of live sizes, median and largest seconds
   and elementary steps; with a capacity the seeds that failed to
   meet it. --must: also exits with 1 if a seed misses the capacity, or the bound where none is
   given. Every packing is checked. --random: starts even over the time, lives exponential of 5 % of
   it, sizes log-uniform 64 B to 640 kB. --perfect: a square of 2^20 cut N - 1 times by guillotine
   cuts. --hard: a memory of 2^20 that is nearly full at all times: again and again all buffers in a
   window of it end at once and others, and seldom a hole, take their place; --capacity=1048576 is
   what they are known to fit into. --csv prints the instance and packs nothing. */
#define _POSIX_C_SOURCE 200809L
#include "passes/plan/plan_impl.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

typedef struct Task {
  uint64_t capacity, seed, random;
  int64_t work, random_n, perfect_n, hard_n;
  int seeds;
  bool csv, must, missed;
} Task;

typedef VEC(Buffer) BufferList;

static double draw(Task *t) {
  uint64_t x = (t->random += 0x9E3779B97F4A7C15u);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return (double)((x ^ (x >> 31)) >> 11) * 0x1p-53;
}

static Buffers random_instance(Task *t, Arena *a) {
  int n = (int)t->random_n;
  int64_t steps = 10 * (int64_t)n;
  Buffers b = {.at = ARENA_ARRAY(a, Buffer, n), .n = n, .steps = steps};
  for (int i = 0; i < n; i++) {
    Buffer *x = &b.at[i];
    x->first = (int64_t)(draw(t) * (double)steps);
    x->last = x->first + (int64_t)(-log(1 - draw(t)) * 0.05 * (double)steps);
    if (x->last >= steps) x->last = steps - 1;
    x->bytes = (uint64_t)exp(draw(t) * log(1e4)) * 64;
  }
  return b;
}

static Buffers perfect_instance(Task *t, Arena *a) {
  int n = (int)t->perfect_n;
  Buffers b = {.at = ARENA_ARRAY(a, Buffer, n), .n = 1, .steps = 1 << 20};
  b.at[0] = (Buffer){.bytes = 1 << 20, .first = 0, .last = (1 << 20) - 1};
  while (b.n < n) {
    int i = (int)(draw(t) * b.n);
    Buffer *x = &b.at[i], y = *x;
    int64_t span = x->last - x->first;
    if (draw(t) < 0.5) {
      if (span < 1) continue;
      x->last = x->first + (int64_t)(draw(t) * (double)span);
      y.first = x->last + 1;
    } else {
      if (x->bytes < 2) continue;
      uint64_t part = 1 + (uint64_t)(draw(t) * (double)(x->bytes - 1));
      x->bytes -= part;
      y.bytes = part;
    }
    b.at[b.n++] = y;
  }
  for (int i = n - 1; i > 0; i--) { /* their order must not tell how they were cut */
    int j = (int)(draw(t) * (i + 1));
    Buffer x = b.at[i];
    b.at[i] = b.at[j];
    b.at[j] = x;
  }
  return b;
}

/* A window of the memory is freed and filled anew, until there are N buffers. */
static Buffers hard_instance(Task *t, Arena *a) {
  enum { UNIT = 1024, UNITS = 1024 };
  typedef struct Slot {
    int at, units, buffer; /* -1: a hole */
  } Slot;
  int n = (int)t->hard_n, slots = 1;
  double live = 15 + 50 * draw(t) * draw(t), holes = 0.1 * draw(t), bias = 1 + 2 * draw(t);
  Buffers b = {.at = ARENA_ARRAY(a, Buffer, n)};
  Slot *slot = ARENA_ARRAY(a, Slot, UNITS), *old = ARENA_ARRAY(a, Slot, UNITS);
  slot[0] = (Slot){0, UNITS, -1};
  while (b.n < n) {
    int first = (int)(pow(draw(t), bias) * slots), count = 1 + (int)(-log(1 - draw(t)) * 1.5);
    if (b.steps == 0 || first + count > slots) count = slots - first;
    int units = 0, kept = first, want = 1 + (int)(2 * draw(t) * (count + (live - slots) / 4));
    for (int k = first; k < first + count; k++) {
      if (slot[k].buffer >= 0) b.at[slot[k].buffer].last = b.steps - 1;
      units += slot[k].units;
    }
    int rest = slots - first - count, at = slot[first].at, end = at + units;
    memcpy(old, slot + first + count, sizeof *old * (size_t)rest);
    if (b.steps == 0) want = (int)live;
    if (want > units) want = units;
    for (int left = want; left > 0; left--) {
      int most = end - at - left + 1,
          size = left == 1 ? end - at : 1 + (int)(2.0 * (end - at) / left * draw(t));
      if (size > most) size = most;
      bool hole = want > 1 && draw(t) < holes;
      slot[kept++] = (Slot){at, size, hole || b.n == n ? -1 : b.n};
      if (slot[kept - 1].buffer >= 0)
        b.at[b.n++] = (Buffer){.bytes = (uint64_t)size * UNIT, .first = b.steps};
      at += size;
    }
    memcpy(slot + kept, old, sizeof *old * (size_t)rest);
    slots = kept + rest;
    b.steps += 1 + (int)(3 * draw(t));
  }
  for (int k = 0; k < slots; k++)
    if (slot[k].buffer >= 0) b.at[slot[k].buffer].last = b.steps - 1;
  for (int i = n - 1; i > 0; i--) {
    int j = (int)(draw(t) * (i + 1));
    Buffer x = b.at[i];
    b.at[i] = b.at[j];
    b.at[j] = x;
  }
  return b;
}

static Buffers read_instance(const char *path, Arena *a) {
  FILE *f = fopen(path, "r");
  char line[512];
  BufferList l = {0};
  int64_t steps = 0;
  if (!f || !fgets(line, sizeof line, f)) {
    fprintf(stderr, "bench_pack: cannot read %s\n", path);
    exit(3);
  }
  while (fgets(line, sizeof line, f)) {
    long long lower, upper, size;
    const char *rest = strchr(line, ',');
    if (!rest || sscanf(rest, ",%lld,%lld,%lld", &lower, &upper, &size) != 3 || upper <= lower) {
      fprintf(stderr, "bench_pack: %s has a bad row: %s", path, line);
      exit(1);
    }
    vec_push(a, &l, (Buffer){.bytes = (uint64_t)size, .first = lower, .last = upper - 1});
    if (upper > steps) steps = upper;
  }
  fclose(f);
  return (Buffers){.at = l.at, .n = (int)l.n, .steps = steps};
}

static double cpu_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* No two that live together overlap, and no offset was made up. */
static bool is_packing(const Buffers *b, uint64_t arena) {
  for (int i = 0; i < b->n; i++) {
    const Buffer *x = &b->at[i];
    if (x->offset + x->bytes > arena) return false;
    for (int j = 0; j < i; j++) {
      const Buffer *y = &b->at[j];
      if (x->first <= y->last && y->first <= x->last && x->offset < y->offset + y->bytes &&
          y->offset < x->offset + x->bytes)
        return false;
    }
  }
  return true;
}

static void measure(Task *t, const char *name, const Buffers *b) {
  double *seconds = malloc(sizeof(double) * (size_t)t->seeds);
  double *work = malloc(sizeof(double) * (size_t)t->seeds);
  double *ratio = malloc(sizeof(double) * (size_t)t->seeds);
  int missed = 0, optimal = 0;
  for (int k = 0; k < t->seeds; k++) {
    Arena *scratch = arena_new();
    Buffers copy = *b;
    copy.at = ARENA_ARRAY(scratch, Buffer, b->n);
    memcpy(copy.at, b->at, sizeof(Buffer) * (size_t)b->n);
    PackLimit limit = {.capacity = t->capacity, .work = t->work, .seed = t->seed + (uint64_t)k};
    double start = cpu_now();
    PackResult r = pack_plan(scratch, &copy, &limit);
    seconds[k] = cpu_now() - start;
    work[k] = 1e-9 * (double)r.work;
    ratio[k] = (double)r.arena / (double)buffers_bound(scratch, b);
    missed += t->capacity && r.arena > t->capacity;
    optimal += r.arena <= r.proven;
    t->missed |= r.arena > (t->capacity ? t->capacity : buffers_bound(scratch, b));
    if (!is_packing(&copy, r.arena)) {
      printf("%s: seed %d: buffers overlap\n", name, k);
      exit(1);
    }
    arena_free(scratch);
  }
  qsort(seconds, (size_t)t->seeds, sizeof *seconds, by_value);
  qsort(work, (size_t)t->seeds, sizeof *work, by_value);
  qsort(ratio, (size_t)t->seeds, sizeof *ratio, by_value);
  printf("%-34s %6d  %.5f %.5f  %7.4f %7.4f s  %7.4f %7.4f Gsteps  optimal %d of %d", name, b->n,
         ratio[t->seeds - 1], ratio[t->seeds / 2], seconds[t->seeds / 2], seconds[t->seeds - 1],
         work[t->seeds / 2], work[t->seeds - 1], optimal, t->seeds);
  if (t->capacity) printf(", %d missed the capacity", missed);
  putchar('\n');
  fflush(stdout);
  free(seconds);
  free(work);
  free(ratio);
}

static void use(Task *t, const char *name, const Buffers *b) {
  if (!t->csv) {
    measure(t, name, b);
    return;
  }
  puts("id,lower,upper,size");
  for (int i = 0; i < b->n; i++)
    printf("%d,%lld,%lld,%llu\n", i, (long long)b->at[i].first, (long long)b->at[i].last + 1,
           (unsigned long long)b->at[i].bytes);
}

static bool number(const char *arg, const char *key, int64_t *out) {
  size_t n = strlen(key);
  if (strncmp(arg, key, n) != 0) return false;
  *out = strtoll(arg + n, NULL, 10);
  return true;
}

int main(int argc, char **argv) {
  Task t = {.work = INT64_C(10000000000), .seeds = 1};
  Arena *a = arena_new();
  for (int i = 1; i < argc; i++) {
    int64_t x;
    if (number(argv[i], "--capacity=", &x))
      t.capacity = (uint64_t)x;
    else if (number(argv[i], "--seeds=", &x))
      t.seeds = (int)x;
    else if (number(argv[i], "--seed=", &x))
      t.seed = t.random = (uint64_t)x;
    else if (number(argv[i], "--work=", &x))
      t.work = x;
    else if (number(argv[i], "--random=", &x))
      t.random_n = x;
    else if (number(argv[i], "--perfect=", &x))
      t.perfect_n = x;
    else if (number(argv[i], "--hard=", &x))
      t.hard_n = x;
    else if (strcmp(argv[i], "--csv") == 0)
      t.csv = true;
    else if (strcmp(argv[i], "--must") == 0)
      t.must = true;
  }
  for (int i = 1; i < argc; i++) {
    if (argv[i][0] == '-') continue;
    const char *base = strrchr(argv[i], '/');
    Buffers b = read_instance(argv[i], a);
    use(&t, base ? base + 1 : argv[i], &b);
  }
  if (t.random_n > 0) {
    Buffers b = random_instance(&t, a);
    use(&t, "random", &b);
  }
  if (t.perfect_n > 0) {
    Buffers b = perfect_instance(&t, a);
    use(&t, "perfect", &b);
  }
  if (t.hard_n > 0) {
    Buffers b = hard_instance(&t, a);
    use(&t, "hard", &b);
  }
  arena_free(a);
  return t.must && t.missed;
}
