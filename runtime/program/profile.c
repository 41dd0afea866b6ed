/* --profile: a trace of an entry's last runs, as Chrome trace events, and a table by kernel, the
   slowest first. The file appears
   whole, when the run has ended well. Format: Trace Event Format, complete events ("ph": "X"). */
#include "runtime/program/command.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char opening[] = "{\"otherData\": {\"writer\": \"gc\"}, \"traceEvents\": [\n";

static bool is_profile(const uint8_t *p, uint64_t n) {
  return n >= sizeof opening - 1 && memcmp(p, opening, sizeof opening - 1) == 0;
}

const OutKind out_profile = {"a profile", is_profile, NULL, NULL};

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

static void events(const Trace *p, FILE *f) {
  const GcEntry *e = p->entry;
  fputs(opening, f);
  fprintf(f, "{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": 1, \"args\": {\"name\": ");
  json_text(f, e->name);
  fprintf(f, "}}");
  for (int t = 0; t < p->nrows; t++) {
    uint64_t first, end;
    trace_runs(p, t, &first, &end);
    for (uint64_t r = first; r < end; r++)
      for (int i = 0; i < e->nsteps; i++) {
        const Span *s = trace_span(p, t, r, i);
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
static double step_time(const Trace *p, int i) {
  uint64_t first, end;
  trace_runs(p, 0, &first, &end);
  double sum = 0;
  for (uint64_t r = first; r < end; r++) {
    double from = 0, to = 0;
    for (int t = 0; t < p->nrows; t++) {
      const Span *s = trace_span(p, t, r, i);
      if (s->from == 0) continue;
      if (from == 0 || s->from < from) from = s->from;
      if (s->to > to) to = s->to;
    }
    sum += to - from;
  }
  return end > first ? sum / (double)(end - first) : 0;
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
static bool table(const Trace *p) {
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

typedef struct StreamSink { /* of a stream that an OutFile takes */
  OutFile *out;
  Err *e;
} StreamSink;

static ssize_t sink_write(void *cookie, const char *bytes, size_t n) {
  const StreamSink *s = cookie;
  return out_write(s->out, bytes, n, s->e) ? (ssize_t)n : 0;
}

bool profile_write(const Trace *p, OutFile *out, Err *e) {
  StreamSink sink = {out, e};
  if (!out_begin(out, e)) return false;
  FILE *f = fopencookie(&sink, "w", (cookie_io_functions_t){.write = sink_write});
  if (!f) return err_set(e, EXIT_ENV, "no memory for the profile");
  events(p, f);
  fclose(f);
  if (e->code || !out_commit(out, e)) return false;
  return table(p) || err_set(e, EXIT_ENV, "no memory for the table of the profile");
}
