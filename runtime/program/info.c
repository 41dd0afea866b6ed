/* `info`: what the program is and what it will take, known before anything runs, for each of its
   targets. Contract: the total of an entry is what the process maps for it, apart from its code and
   the data; on a GPU, what it allocates there, beside what the device has free. */
#include "runtime/exec/features.h"
#include "runtime/program/command.h"
#include "runtime/program/devices.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void bytes_text(char out[40], uint64_t n) { /* 1,234,567 */
  char raw[24];
  int len = snprintf(raw, sizeof raw, "%" PRIu64, n), at = 0;
  for (int i = 0; i < len; i++) {
    if (i && (len - i) % 3 == 0) out[at++] = ',';
    out[at++] = raw[i];
  }
  out[at] = 0;
}

static void line(const char *what, uint64_t n, const char *gloss) {
  char b[40];
  bytes_text(b, n);
  printf("  %-15s %15s%s%s\n", what, b, *gloss ? "  " : "", gloss);
}

static void inputs_info(const GcEntry *en) {
  char type[200];
  for (int i = 0; i < en->ninputs; i++) {
    const GcTensor *t = &en->inputs[i];
    tensor_shapes_text(en, t, type, sizeof type);
    printf("  %-8s %-24s %s%s\n", "input", t->name, type,
           !t->rank                  ? ""
           : dataset_has_rows(en, t) ? "   a batch of rows"
                                     : "   the same in each run");
  }
}

static void outputs_info(const GcEntry *en) {
  char type[200];
  for (int i = 0; i < en->noutputs; i++) {
    tensor_shapes_text(en, &en->outputs[i], type, sizeof type);
    printf("  %-8s %-24s %s%s\n", "output", en->outputs[i].name, type,
           en->training && i == en->loss ? "   a value that is not finite ends the run" : "");
  }
}

/* What is known of the device that has memory of its own. */
typedef struct Found {
  bool known;
  DeviceState state;
} Found;

#define AHEAD_GLOSS "two batches: one is prepared while the other is used"

static bool own_memory(const GcProgram *p, const GcEntry *en, const Found *d, DeviceMemory *m,
                       Err *e) {
  if (!device_kind(p)->ops->memory(p, en, 1, m, e)) return false;
  printf("  bytes on the device\n");
  line("globals", m->globals, "parameters and states");
  line("inputs", m->inputs, "two batches: one is copied while the other is used");
  line("arena", m->arena, "the larger of this entry's and init's");
  if (m->ahead) line("ahead", m->ahead, AHEAD_GLOSS);
  line("total", m->total, "beside code");
  if (d->known)
    line("free", d->state.free, m->total > d->state.free ? "too little for this entry" : "");
  return true;
}

/* One arena and one region of inputs serve a training entry and the one that validates it. */
static bool validation_info(const GcProgram *p, const GcEntry *en, int threads, Err *e) {
  const DeviceOps *ops = device_kind(p)->ops;
  for (int i = 0; en->training && i < p->nentries; i++) {
    const GcEntry pair[] = {*en, p->entries[i]};
    const SessionPlan plan = {.program = p,
                              .ops = ops,
                              .entries = pair,
                              .n = 2,
                              .threads = threads,
                              .tables = command_bytes(&pair[0]) + command_bytes(&pair[1])};
    Sizes s;
    DeviceMemory own = {0};
    char what[64];
    if (pair[1].training || !validation_takes(&pair[1])) continue;
    if (!session_sizes(&plan, &s, e) || (ops->memory && !ops->memory(p, pair, 2, &own, e)))
      return false;
    snprintf(what, sizeof what, "with %.40s", pair[1].name);
    line(what, ops->memory ? own.total : s.total,
         ops->memory ? "on the device, if it validates: they share the arena"
                     : "if it validates: they share the arena");
  }
  return true;
}

static bool entry_sizes(const GcProgram *p, const GcEntry *en, int threads, Sizes *s, Err *e) {
  const SessionPlan plan = {.program = p,
                            .ops = device_kind(p)->ops,
                            .entries = en,
                            .n = 1,
                            .threads = threads,
                            .tables = command_bytes(en)};
  return session_sizes(&plan, s, e);
}

/* What goes in and comes out, and how much it computes. */
static void entry_face(const GcProgram *p, const GcEntry *en) {
  bool several = false;
  for (const GcProgram *q = &gc_program; q; q = q->next)
    several |= strcmp(q->target, p->target) != 0;
  printf("\nentry %s%s%s%s\n", en->name, en->training ? " (training)" : "", several ? " on " : "",
         several ? p->target : "");
  for (int i = 0; i < en->nextents; i++)
    printf("  %-8s %-24s %" PRId64 " to %" PRId64 "%s%s%s\n", "extent", en->extents[i].name,
           extent_least(&en->extents[i]), en->extents[i].bound, en->extents[i].window ? " (" : "",
           en->extents[i].window ? en->extents[i].window : "", en->extents[i].window ? ")" : "");
  inputs_info(en);
  outputs_info(en);
  if (en->ranks)
    printf("  ranks    %-24d each has a share of the batch: rows, launches and bytes are those of "
           "one\n",
           en->ranks);
  char flops[40];
  bytes_text(flops, en->flops);
  printf("  %d launches, %s flops a run\n", en->nsteps, flops);
}

static void arena_info(const GcEntry *en) {
  printf("  bytes of its intermediate values\n");
  line("arena", en->arena_bytes, "as planned");
  line("without sharing", en->naive_bytes, "each in bytes of its own");
  line("in place", en->inplace_bytes, "with in-place operations alone");
  line("pool", en->pool_bytes, "with in-place operations and a pool");
  line("lower bound", en->lower_bound_bytes, "the most that is alive at once");
  if (en->ahead) {
    printf("  the first %d launches prepare a batch, beside the step before\n", en->ahead);
    line("ahead", en->ahead_bytes, "of a batch: what they make, and intermediate values");
  }
  if (en->ranks)
    line("messages", en->under_way_bytes, "of the arena and globals: under way to other ranks");
  if (en->ranks && en->waits >= 0)
    printf("  %-15s %13.0f %%  %s\n", "waiting", 100 * (double)en->waits,
           "of a step, for other ranks, by the model of gc --remarks=comm");
}

/* The bytes of the process; pinned: those that a device of its own memory takes here. */
static void process_info(const GcProgram *p, const GcEntry *en, const Sizes *s, uint64_t pinned) {
  const bool here = device_kind(p)->ops->on_host;
  uint64_t shown = p->globals_bytes; /* the runtime's line has what no other one has */
  printf("  bytes of the process, beside code and data\n");
  line("globals", p->globals_bytes, here ? "parameters and states" : "a copy, for files");
  if (en->unwritten_bytes)
    line("unwritten", en->unwritten_bytes, "of these; --load FILE,image=IMAGE shares them");
  if (here) {
    line("inputs", s->needs.inputs, s->needs.ahead ? "two batches" : "one batch");
    line("arena", s->needs.arena, "the larger of this entry's and init's");
    if (s->needs.ahead) line("ahead", s->needs.ahead, AHEAD_GLOSS);
    shown += s->needs.inputs + s->needs.arena + s->needs.ahead;
  } else {
    line("pinned", pinned, "two batches, and their results");
  }
  if (p->work_bytes && here) {
    const uint64_t work = p->work_bytes * (uint64_t)s->needs.threads;
    line("workspace", work, "packed operands, of all threads");
    shown += work;
  }
  line("runtime", s->total - shown, "tables, file buffers, and the ends of pages");
  line("total", s->total + pinned, "");
}

static bool entry_info(const Options *o, const GcProgram *p, const GcEntry *en, const Found *d,
                       int threads, Err *e) {
  const DeviceOps *ops = device_kind(p)->ops;
  Sizes s;
  DeviceMemory own = {0};
  if (!entry_sizes(p, en, threads, &s, e)) return false;
  entry_face(p, en);
  arena_info(en);
  if (ops->memory && !own_memory(p, en, d, &own, e)) return false;
  process_info(p, en, &s, own.pinned);
  if (en->ninputs) {
    printf(
        "  the data: rows of files, at most --data-memory; larger files are read batch by batch\n");
    if (en->training && images_decode())
      printf("  decoded images beyond it: in a file in %s, if half of its free space has room\n",
             limits_data_cache(o));
    line("reader", dataset_reader(en), "if any is: the next batch, and a thread's stack");
  }
  return validation_info(p, en, threads, e);
}

/* Which GPUs the program holds code for: cubins, and PTX that a driver compiles. */
static void code_info(const GcDeviceCode *code) {
  if (!code) return;
  printf("\ncode of the GPU for");
  for (int i = 0; i < code->nimages; i++) printf("%s %s", i ? "," : "", code->images[i].arch);
  printf("\n");
}

static void device_info(const GcProgram *p, Found *d) {
  Err why = {0};
  const DeviceState *s = &d->state;
  code_info(p->code);
  d->known = device_kind(p)->ops->look(p, &d->state, &why);
  if (!d->known) {
    printf("\ndevice none: %s\n", why.msg);
    return;
  }
  char b[40];
  bytes_text(b, s->bytes);
  printf("\ndevice %s (%s), %s bytes\n", s->name, s->arch, b);
  if (s->code)
    printf("  runs the code for %s\n", s->code);
  else
    printf("  the program holds no code for it: compile it with gc --arch=%s\n", s->arch);
}

static const char *kind_name(GcGlobalKind k) {
  return k == GC_PARAM ? "param" : k == GC_STATE ? "state" : "optimizer";
}

/* Numbers that are trained or loaded; copies in another dtype and scales are none. */
static uint64_t parameters(const GcProgram *p) {
  uint64_t n = 0;
  for (int i = 0; i < p->nglobals; i++) {
    const GcGlobal *g = &p->globals[i];
    if (g->kind == GC_PARAM && !g->master && !(g->quantized && g->quantized->scales))
      n += tensor_count(g->quantized ? &g->quantized->t : &g->t);
  }
  return n;
}

/* What most want to know, before all the rest: the bytes of the process that runs an entry. */
static bool summary(const Options *o, int threads, Err *e) {
  const GcProgram *p = program_for(device_kind(&gc_program), NULL);
  for (const GcProgram *q = &gc_program; q; q = q->next)
    if (q == program_for(device_kind(q), NULL) && device_kind(q)->ops->on_host) p = q;
  if (!device_kind(p)->ops->on_host) return true;
  printf("\n");
  line("parameters", parameters(p), "");
  for (int i = 0; i < p->nentries; i++) {
    const GcEntry *en = &p->entries[i];
    if (o->entry && o->entry != &gc_program.entries[i]) continue;
    Sizes s;
    if (!entry_sizes(p, en, threads, &s, e)) return false;
    line(en->name, s.total,
         en->ninputs ? "bytes of memory to run on the CPU, beside the data"
                     : "bytes of memory to run on the CPU");
  }
  return true;
}

static void globals_info(void) {
  static const GcGlobalKind kinds[] = {GC_PARAM, GC_STATE, GC_OPTIMIZER};
  uint64_t total[3] = {0};
  char type[200], b[40];
  const GcProgram *p = program_for(device_kind(&gc_program), NULL);
  printf("\nparameters and states\n");
  for (int i = 0; i < p->nglobals; i++) {
    const GcGlobal *g = &p->globals[i];
    tensor_type_text(&g->t, type, sizeof type);
    bytes_text(b, g->t.bytes);
    const char *kind = g->table       ? "table"
                       : g->transient ? "transient"
                       : g->master    ? "copy"
                                      : kind_name(g->kind);
    printf("  %-9s %-32s %-20s %14s bytes", kind, g->t.name, type, b);
    if (g->ranks) printf(" on each of %d ranks", g->ranks);
    printf("\n");
    total[g->kind] += g->t.bytes;
  }
  for (unsigned k = 0; k < 3; k++) line(kind_name(kinds[k]), total[k], "bytes");
  bytes_text(b, parameters(p));
  printf("  %s parameters\n", b);
}

void info_version(void) {
  printf("%s, compiled by gc %s for", gc_program.name, gc_program.version);
  for (const GcProgram *p = &gc_program; p; p = p->next) {
    const char *level = program_level_name(p), *what = level ? level : p->march ? p->march : "";
    printf(" %s%s%s%s", p->target, *what ? " " : "", what, p->next ? "," : "");
  }
  printf("\n");
}

/* Of a program that has several, which one runs, and why not a higher one. */
static void levels_info(const DeviceKind *kind) {
  const GcProgram *p = program_level(kind, NULL);
  if (!p || !program_level(kind, p)) return;
  printf("\nlevels of %s\n", kind->name);
  for (p = NULL; (p = program_level(kind, p));) {
    Err why = {0};
    bool can = cpu_check(p->march, &why);
    bool runs = can && p == program_for(kind, NULL);
    const char *gloss = !can ? why.msg : runs ? "runs here" : "";
    printf(*gloss ? "  %-24s%s\n" : "  %s\n", p->level, gloss);
  }
}

/* Of another number of ranks than the program's own: what gc has planned for them, and not kept. */
static int other_ranks(const Options *o, Err *e) {
  const GcProgram *p = program_for(device_kind(&gc_program), NULL);
  const GcRankBytes *b = NULL;
  for (int i = 0; i < p->nrank_bytes; i++)
    if (p->rank_bytes[i].ranks == o->ranks) b = &p->rank_bytes[i];
  if (!b) {
    err_set(e, EXIT_USAGE, "this program is for %d ranks, and has no plan for %d", p->ranks,
            o->ranks);
    err_hint(
        e, "gc --data-parallel=%s --ranks=%d --memory-per-rank=%d puts its bytes into the program",
        device_kind(p)->ops->on_host ? "mpi" : "nccl", p->ranks, o->ranks);
    return e->code;
  }
  info_version();
  printf("\nif it is compiled for %d ranks, each has\n", b->ranks);
  line(kind_name(GC_PARAM), b->params, "bytes");
  line(kind_name(GC_STATE), b->states, "bytes");
  line(kind_name(GC_OPTIMIZER), b->optimizer, "bytes");
  for (int i = 0; i < p->nentries; i++) {
    const GcEntryBytes *x = &b->entries[i];
    if (o->entry && o->entry != &gc_program.entries[i]) continue;
    printf("\nentry %s\n", p->entries[i].name);
    line("inputs", x->inputs, device_kind(p)->ops->on_host ? "one batch" : "two batches");
    line("arena", x->arena, "the larger of this entry's and init's");
    line("messages", x->messages, "of the arena and globals: under way to other ranks");
    line("total", x->total,
         "with parameters and states; beside a CPU's workspace, tables and code");
  }
  return 0;
}

int info_print(const Options *o, int threads, Err *e) {
  if (o->ranks && o->ranks != gc_program.ranks) return other_ranks(o, e);
  const GcProgram *p;
  Found found = {0}; /* of the one kind that has memory of its own */
  info_version();
  if (!summary(o, threads, e)) return e->code;
  if (gc_program.nhypers) printf("\nhypers\n");
  for (int i = 0; i < gc_program.nhypers; i++) {
    const GcHyper *h = &gc_program.hypers[i];
    char value[32];
    hyper_text(value, h, h->value);
    printf("  --%-22s %s", h->name, value);
    printf(h->dtype == GC_F32 ? "\n" : "  %s\n", elem_info[h->dtype].name);
  }
  globals_info();
  for (p = &gc_program; p; p = p->next)
    if (device_kind(p)->ops->look)
      device_info(p, &found);
    else if (p == program_level(device_kind(p), NULL))
      levels_info(device_kind(p));
  for (int i = 0; i < gc_program.nentries; i++) {
    if (o->entry && o->entry != &gc_program.entries[i]) continue;
    for (p = &gc_program; p; p = p->next)
      if (p == program_for(device_kind(p), NULL) &&
          !entry_info(o, p, &p->entries[i], &found, threads, e))
        return e->code;
  }
  return 0;
}
