/* The trace of the last runs of an entry: when each thread was in each kernel, as Chrome trace
   events, and a table by kernel, the slowest first. Contract: buffers are part of the one
   allocation; old runs are overwritten, so that a trace of any training stays small. Format: Trace
   Event Format, complete events ("ph": "X"). */
#include "runtime/exec/run.h"
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

enum { RUNS = 32 }; /* runs that are kept */

typedef struct Span {
  double from, to;
} Span;
typedef struct Lane { /* of one thread; runs counts those begun */
  uint64_t runs;
  Span *spans; /* [RUNS][nsteps] */
  char apart[128 - 16];
} Lane;
struct Profile {
  const GcEntry *entry;
  int threads;
  double start;
  Lane *lanes;
};

double clock_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

uint64_t profile_bytes(const GcEntry *e, int threads) {
  return sizeof(Profile) + 256 +
         (uint64_t)threads * (sizeof(Lane) + 256 + RUNS * (uint64_t)e->nsteps * sizeof(Span));
}

Profile *profile_make(Memory *m, const GcEntry *e, int threads, Err *err) {
  Profile *p = memory_take(m, sizeof *p);
  if (!memory_sound(m, err)) return NULL;
  *p = (Profile){.entry = e, .threads = threads, .start = clock_now()};
  p->lanes = memory_take(m, (uint64_t)threads * sizeof *p->lanes);
  for (int t = 0; t < threads && !m->overdrawn; t++)
    p->lanes[t].spans = memory_take(m, RUNS * (uint64_t)e->nsteps * sizeof(Span));
  return memory_sound(m, err) ? p : NULL;
}

static Span *spans_of(Profile *p, int t) {
  uint64_t run = (p->lanes[t].runs - 1) % RUNS;
  return p->lanes[t].spans + run * (uint64_t)p->entry->nsteps;
}

void profile_begin(Profile *p, int t) {
  p->lanes[t].runs++;
  Span *s = spans_of(p, t);
  for (int i = 0; i < p->entry->nsteps; i++) s[i] = (Span){0, 0};
}

/* A step of a loop is one span: from its first iteration on, as long as all of them took. */
void profile_step(Profile *p, int t, int step, double from, double to) {
  Span *s = &spans_of(p, t)[step];
  if (s->from == 0) *s = (Span){from, from};
  s->to += to - from;
}

static void json_text(FILE *f, const char *s) {
  fputc('"', f);
  for (; s && *s; s++) {
    if (*s == '"' || *s == '\\') fputc('\\', f);
    if ((unsigned char)*s < 0x20)
      fprintf(f, "\\u%04x", (unsigned char)*s);
    else
      fputc(*s, f);
  }
  fputc('"', f);
}

static void events(const Profile *p, FILE *f) {
  const GcEntry *e = p->entry;
  fprintf(f, "{\"traceEvents\": [\n{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": 1, "
             "\"args\": {\"name\": ");
  json_text(f, e->name);
  fprintf(f, "}}");
  for (int t = 0; t < p->threads; t++) {
    const Lane *l = &p->lanes[t];
    uint64_t first = l->runs > RUNS ? l->runs - RUNS : 0;
    for (uint64_t r = first; r < l->runs; r++)
      for (int i = 0; i < e->nsteps; i++) {
        const Span *s = &l->spans[r % RUNS * (uint64_t)e->nsteps + (uint64_t)i];
        if (s->from == 0) continue; /* others ran it */
        fprintf(f, ",\n{\"name\": ");
        json_text(f, e->steps[i].name);
        fprintf(f,
                ", \"ph\": \"X\", \"pid\": 1, \"tid\": %d, \"ts\": %.3f, \"dur\": %.3f, \"args\": "
                "{\"scope\": ",
                t, (s->from - p->start) * 1e6, (s->to - s->from) * 1e6);
        json_text(f, e->steps[i].scope);
        fprintf(f, ", \"loc\": ");
        json_text(f, e->steps[i].loc);
        fprintf(f, ", \"flops\": %" PRIu64 ", \"bytes\": %" PRIu64 "}}", e->steps[i].flops,
                e->steps[i].bytes);
      }
  }
  fprintf(f, "\n]}\n");
}

/* Mean time of step i over the kept runs: from the first thread in to the last one out, of those
   that ran it. */
static double step_time(const Profile *p, int i) {
  uint64_t n = p->lanes[0].runs < RUNS ? p->lanes[0].runs : RUNS;
  double sum = 0;
  for (uint64_t r = 0; r < n; r++) {
    double from = 0, to = 0;
    for (int t = 0; t < p->threads; t++) {
      const Lane *l = &p->lanes[t];
      const Span *s =
          &l->spans[(l->runs - 1 - r) % RUNS * (uint64_t)p->entry->nsteps + (uint64_t)i];
      if (s->from == 0) continue;
      if (from == 0 || s->from < from) from = s->from;
      if (s->to > to) to = s->to;
    }
    sum += to - from;
  }
  return n ? sum / (double)n : 0;
}

typedef struct Row {
  int step;
  double time;
} Row;

static int slowest_first(const void *a, const void *b) {
  const Row *x = a, *y = b;
  return x->time != y->time ? (x->time < y->time) - (x->time > y->time) : x->step - y->step;
}

static void print_row(double time, double all, uint64_t flops, uint64_t bytes, const char *name,
                      const char *scope, const char *loc) {
  printf("%10.2f %6.1f %9.2f %9.2f  %-28s %-20s %s\n", time * 1e6, all > 0 ? 100 * time / all : 0,
         time > 0 ? (double)flops / time * 1e-9 : 0, time > 0 ? (double)bytes / time * 1e-9 : 0,
         name ? name : "", scope ? scope : "", loc ? loc : "");
}

/* Kernels from the slowest on, then all of them. */
static bool table(const Profile *p) {
  int n = p->entry->nsteps;
  Row *row = malloc(((size_t)n + 1) * sizeof *row);
  if (!row) return false;
  double all = 0;
  uint64_t flops = 0, bytes = 0;
  for (int i = 0; i < n; i++) {
    row[i] = (Row){i, step_time(p, i)};
    all += row[i].time;
    flops += p->entry->steps[i].flops;
    bytes += p->entry->steps[i].bytes;
  }
  qsort(row, (size_t)n, sizeof *row, slowest_first);
  printf("%10s %6s %9s %9s  %-28s %-20s %s\n", "us", "%", "Gflop/s", "GB/s", "kernel", "scope",
         "source");
  for (int i = 0; i < n; i++) {
    const GcStep *s = &p->entry->steps[row[i].step];
    print_row(row[i].time, all, s->flops, s->bytes, s->name, s->scope, s->loc);
  }
  print_row(all, all, flops, bytes, "all", NULL, NULL);
  free(row);
  return true;
}

bool profile_write(const Profile *p, const char *path, Err *e) {
  FILE *f = fopen(path, "w");
  bool ok = f != NULL;
  if (ok) {
    events(p, f);
    ok = !ferror(f);
    ok = fclose(f) == 0 && ok;
  }
  if (!ok) {
    err_set(e, EXIT_ENV, "%s: the profile cannot be written", path);
    return err_hint(e, "choose a directory that you may write to, with space left");
  }
  return table(p) || err_set(e, EXIT_ENV, "no memory for the table of the profile");
}
