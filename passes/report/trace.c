/* The lives of values as events for Perfetto and Chrome's tracing.
   Contract: needs a plan with offsets. */
#include "passes/report/drawing.h"

/* A process an entry, a thread a storage; half a step is one microsecond, so that a value in place
   begins when the one before it ends. */
static void put_event(FILE *f, const Rect *r, uint32_t entry, int nsteps) {
  const Place *x = r->place;
  int last = x->last >= nsteps ? nsteps : x->last;
  int from = 2 * x->first + 1, to = 2 * last + 1 > from ? 2 * last + 1 : from + 1;
  fputs(",\n{\"name\": ", f);
  plan_put_string(f, r->name);
  fputs(", \"cat\": ", f);
  plan_put_string(f, r->kind);
  fprintf(f, ", \"ph\": \"X\", \"ts\": %d, \"dur\": %d, \"pid\": %u, \"tid\": %d", from, to - from,
          entry, r->row);
  fputs(", \"args\": {\"op\": ", f);
  plan_put_string(f, r->op);
  fputs(", \"from\": ", f);
  plan_put_string(f, r->from);
  fputs(", \"type\": ", f);
  plan_put_string(f, r->type);
  fputs(", \"how\": ", f);
  plan_put_string(f, r->how);
  fprintf(f, ", \"bytes\": %llu, \"offset\": %llu, \"first\": %d, \"last\": %d, \"stream\": %d}}",
          (unsigned long long)x->bytes, (unsigned long long)x->offset, x->first, x->last,
          x->stream);
}

/* The steps of each stream as a thread of a process of their own, behind those of the entries, and
   the edges between them. */
static void put_steps(FILE *f, const Plan *p, const char *name, uint32_t pid) {
  fprintf(f,
          ",\n{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": %u, \"args\": {\"name\": ", pid);
  plan_put_string(f, name);
  fputs("}}", f);
  for (int t = 0; t < p->nsteps; t++) {
    fputs(",\n{\"name\": ", f);
    plan_put_string(f, plan_op_name(p->steps[t]));
    fprintf(f,
            ", \"cat\": \"step\", \"ph\": \"X\", \"ts\": %d, \"dur\": 2, \"pid\": %u, \"tid\": %d}",
            2 * t, pid, p->stream[t]);
  }
  for (int i = 0; i < p->nedges; i++)
    for (int end = 0; end < 2; end++) {
      int t = end ? p->edges[i].to : p->edges[i].from;
      fprintf(f,
              ",\n{\"name\": \"edge\", \"cat\": \"edge\", \"ph\": \"%s\", \"bp\": \"e\", \"id\": "
              "%d, \"ts\": %d, \"pid\": %u, \"tid\": %d}",
              end ? "f" : "s", i, 2 * t + 1 - end, pid, p->stream[t]);
    }
}

void plan_print_trace(FILE *f, const Module *m) {
  fputs("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n", f);
  const Entry *e;
  uint32_t n = 0;
  while (plan_listed(m, n)) n++;
  for (uint32_t k = 0; (e = plan_listed(m, k)); k++) {
    Arena *a = arena_new();
    Drawing d = drawing_new(a, e);
    fprintf(f, "%s{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": %u, \"args\": {\"name\": ",
            k ? ",\n" : "", k);
    plan_put_string(f, d.e->name);
    fputs("}}", f);
    for (uint32_t i = 0; i < d.rects.n; i++) put_event(f, &d.rects.at[i], k, d.p->nsteps);
    for (int t = 0; t < d.p->nsteps; t++)
      fprintf(f,
              ",\n{\"name\": \"live bytes\", \"ph\": \"C\", \"ts\": %d, \"pid\": %u, "
              "\"args\": {\"bytes\": %llu}}",
              2 * t + 1, k, (unsigned long long)d.live[t]);
    if (d.p->streams > 1) put_steps(f, d.p, arena_printf(a, "%s: streams", d.e->name), n + k);
    arena_free(a);
  }
  fputs("\n]}\n", f);
}
