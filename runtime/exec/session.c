/* A program on a device: see session.h. What differs from one device to the next is behind
   DeviceOps. */
#include "runtime/exec/session.h"
#include <string.h>

/* The note by which gc knows an executable or a library that it made (codegen/build/mark.c): owner
   "gcrt", type 1, no description. */
__asm__(".pushsection .note.gcrt, \"a\", %note\n"
        "  .balign 4\n"
        "  .long 5, 0, 1\n"
        "  .asciz \"gcrt\"\n"
        "  .balign 4\n"
        ".popsection");

/* Bytes of inputs below which no other thread is woken to gather them. */
enum { GATHER_ALONE = 1 << 20 };

/* ---- memory ---- */

/* What is prepared, and the inputs beside it, are there for this step and for the next one. */
static uint64_t turns_bytes(const GcEntry *e, uint64_t bytes) {
  return e->ahead ? memory_turn(bytes) + bytes : bytes;
}

bool session_sizes(const SessionPlan *p, Sizes *s, Err *e) {
  const GcEntry *init = p->program->init;
  bool here = p->ops->on_host;
  MemoryNeeds n = {.threads = here ? p->threads : 0};
  n.tables = p->tables + STAGE_BYTES + pool_bytes(p->threads) + MEMORY_PAGE;
  n.tables += (uint64_t)p->n * sizeof(Exec *);
  for (int i = -2; i < p->n; i++) {
    const GcEntry *x = i == -2 ? p->program->gather : i < 0 ? init : &p->entries[i];
    if (!x) continue;
    if (p->ops->table_bytes) n.tables += p->ops->table_bytes(x, p->threads);
    if (!here) continue;
    n.arena = max_u64(n.arena, x->arena_bytes);
    n.inputs = max_u64(n.inputs, turns_bytes(x, x->inputs_bytes));
    if (!x->ahead) continue;
    n.ahead = max_u64(n.ahead, turns_bytes(x, x->ahead_bytes));
    n.threads = p->threads + 1; /* one prepares batches */
  }
  if (p->trace) n.tables += trace_bytes(&p->entries[0], here ? p->threads : 1);
  return memory_sum(p->program, &n, s, e);
}

static bool take_tables(Session *s, Err *e) {
  const SessionPlan *p = &s->plan;
  s->pool = memory_take(&s->memory, pool_bytes(p->threads));
  s->stage = memory_take(&s->memory, STAGE_BYTES);
  s->entries = memory_take(&s->memory, (uint64_t)p->n * sizeof *s->entries);
  if (p->trace)
    s->trace = trace_make(&s->memory, &p->entries[0], p->ops->on_host ? p->threads : 1, e);
  return memory_sound(&s->memory, e);
}

bool session_open(Session *s, const SessionPlan *p, Device *d, Err *e) {
  Sizes sizes;
  s->plan = *p;
  s->program = p->program;
  s->device = d;
  if (!session_sizes(p, &sizes, e) || !memory_map(&s->memory, &sizes, e) || !take_tables(s, e))
    return false;
  for (int i = 0; i < p->program->nhypers; i++)
    session_set_hyper(s, i, p->program->hypers[i].value);
  for (int i = 0; p->ops->on_host && i < p->program->nglobals; i++)
    if (is_step_counter(&p->program->globals[i]))
      s->step = session_at(s, &p->program->globals[i].t);
  return p->ops->prepare(s, e);
}

bool session_start(Session *s, int threads, bool pin, Err *e) {
  return pool_start(s->pool, threads, pin, e) && s->device->ops->start(s, e);
}

static void begin(Session *s, uint64_t seed) {
  s->gathered = false;
  s->env = (GcEnv){.seed = seed, .comm = s->env.comm};
}

/* Constant tables, which no kernel makes. */
static bool put_tables(Session *s) {
  const Globals w = session_globals(s);
  if (!weights_have_tables(s->program)) return true;
  if (!session_download(s, &s->err)) return false;
  weights_put_tables(&w);
  return session_upload(s, &s->err);
}

bool session_initialize(Session *s, uint64_t seed, unsigned skip) {
  begin(s, seed);
  s->drawn = false;
  if (!put_tables(s)) return false;
  s->drawn = !s->init;
  if (s->drawn) return true;
  const unsigned own = weights_own_all(s->program) ? 1U << GC_PARAM : 0;
  skip |= own;
  session_run(s, s->init, &(RunRequest){.batch = NO_BATCH, .skip = skip});
  if (session_fault(s, s->init->entry, NO_BATCH)) return false;
  s->drawn = true;
  if (!gc_weights.begin) return true;
  session_touch(s, own, false); /* tables may be pages of the program's file instead */
  const Globals w = session_globals(s);
  s->drawn =
      session_download(s, &s->err) && weights_read_own(&w, &s->err) && session_upload(s, &s->err);
  return s->drawn;
}

static void advise_globals(Session *s) {
  for (int i = 0; i < s->program->nglobals; i++) {
    const GcGlobal *g = &s->program->globals[i];
    if (g->transient) memory_fill_slowly(s->memory.region[GC_GLOBALS] + g->t.offset, g->t.bytes);
  }
}

static bool put_runs(Session *s, const Image *m, Err *e) {
  uint8_t *base = s->memory.region[GC_GLOBALS];
  ImageRun r;
  if (!session_download(s, e) || !memory_clear_globals(&s->memory, e)) return false;
  advise_globals(s);
  for (uint64_t i = 0; image_run(m, i, &r); i++)
    if (!memory_put_file(base + r.begin, &m->file, r.at, r.bytes, e)) return false;
  return true;
}

/* *mapped: there was an image that fits. Without one, nothing changes. */
static bool map_image(Session *s, const ImageOf *of, bool *mapped, const char **why, Err *e) {
  Image m;
  bool ok = image_open(&m, of, e);
  *mapped = false;
  *why = m.why;
  if (ok && m.fits) {
    s->drawn = false;
    begin(s, of->seed);
    *mapped = s->drawn = ok = put_runs(s, &m, e) && session_upload(s, e);
  }
  image_close(&m);
  return ok;
}

bool session_load(Session *s, const WeightsRequest *q, int n, unsigned skip, Err *e) {
  unsigned spared;
  bool drawn = s->drawn;
  const Globals w = session_globals(s);
  if (!drawn && !weights_spare(s->program, q, n, &spared, e)) return false;
  if (!drawn && !session_initialize(s, s->env.seed, skip | spared)) {
    Err ignored = {0}; /* the next run says that the device failed */
    *e = s->err;
    session_recover(s, &ignored);
    return false;
  }
  if (!drawn) session_touch(s, spared, true);
  s->drawn = session_download(s, e) && weights_read(&w, q, n, e) && session_upload(s, e);
  s->drawn |= drawn;
  return !e->code;
}

/* The files are read, and the image of all globals is written. */
static bool make_image(Session *s, OutFile *out, const ImageOf *of, Err *e) {
  begin(s, of->seed);
  s->drawn = false;
  return session_load(s, of->request, of->n, 0, e) && session_download(s, e) &&
         image_write(out, of, s->memory.region[GC_GLOBALS], e);
}

static void on_all_threads(void *pool, ImageJob *job, void *arg) {
  if (pool_size(pool) > 1)
    pool_run(pool, job, arg);
  else
    job(arg, 0, 1);
}

bool session_load_image(Session *s, const ImageOf *given, bool *written, const char **why, Err *e) {
  const char *none;
  bool mapped;
  OutFile out = {.fd = -1};
  const Globals w = session_globals(s);
  ImageOf with_threads = *given;
  const ImageOf *of = &with_threads;
  with_threads.run = on_all_threads, with_threads.threads = s->pool;
  *why = NULL;
  if (s->drawn && !weights_check(&w, of->request, of->n, e)) return false;
  if (!map_image(s, of, &mapped, why, e)) return false;
  *written = !mapped;
  bool ok = mapped || (image_prepare(&out, of, e) && make_image(s, &out, of, e) &&
                       map_image(s, of, &mapped, &none, e));
  if (ok && !mapped)
    ok = err_set(e, EXIT_ENV, "%s: cannot be read as it has just been written", of->path);
  out_free(&out);
  return ok;
}

bool session_close(Session *s, bool ours, Err *e) {
  bool ok = true;
  if (s->pool) pool_stop(s->pool, ours);
  if (s->device && ours) ok = s->device->ops->close(s->device, e);
  memory_unmap(&s->memory);
  *s = (Session){0};
  return ok;
}

/* ---- runs ---- */

void session_extents(const Session *s, const GcEntry *e, uint64_t batch, int32_t *extents) {
  int32_t now[GC_EXTENTS];
  memcpy(now, s->env.extents, sizeof now);
  if (batch != NO_BATCH) dataset_extents(s->data, batch, now);
  for (int i = 0; i < e->nextents; i++) {
    int32_t bound = (int32_t)e->extents[i].bound;
    extents[i] = now[i] < 1 || now[i] > bound ? bound : now[i];
  }
}

int32_t session_first_row(const Session *s, uint64_t batch) {
  uint64_t first = (uint64_t)s->env.first_row;
  if (batch != NO_BATCH) (void)dataset_part(s->data, batch, &first);
  return (int32_t)first;
}

void session_gather_copies(Session *s, const Exec *x) {
  if (x->entry->training) s->gathered = false;
  if (!x->entry->gathers || s->gathered) return;
  s->device->ops->run(s, s->gather, &(RunRequest){.batch = NO_BATCH});
  s->gathered = true;
}

void session_run(Session *s, Exec *x, const RunRequest *q) {
  session_gather_copies(s, x);
  session_extents(s, x->entry, q->batch, s->env.extents);
  s->env.first_row = session_first_row(s, q->batch);
  s->device->ops->run(s, x, q);
}

bool session_fault(Session *s, const GcEntry *entry, uint64_t batch) {
  if (s->err.code) return true; /* the device failed */
  if (!atomic_load_explicit(&s->fault.ready, memory_order_acquire)) return false;
  fault_report(s, entry, batch, &s->fault);
  return true;
}

bool session_recover(Session *s, Err *e) {
  const DeviceOps *ops = s->device->ops;
  s->err = (Err){0};
  atomic_store(&s->fault.ready, 0);
  atomic_store(&s->fault.claimed, 0);
  return s->device->broken || !ops->clear_fault || ops->clear_fault(s, e);
}

void session_fill(Session *s, const Exec *x, uint64_t batch) { s->device->ops->fill(s, x, batch); }

typedef struct Gather {
  const Dataset *data;
  uint8_t *inputs;
  uint64_t batch;
} Gather;

static void gather_job(void *arg, int t, int nt) {
  const Gather *g = arg;
  dataset_gather(g->data, g->inputs, g->batch, t, nt);
}

void session_gather(Session *s, const GcEntry *entry, uint8_t *inputs, uint64_t batch) {
  Gather g = {.data = s->data, .inputs = inputs, .batch = batch};
  if (entry->inputs_bytes >= GATHER_ALONE && pool_size(s->pool) > 1)
    pool_run(s->pool, gather_job, &g);
  else
    gather_job(&g, 0, 1);
}

/* ---- what the host sees ---- */

void *session_at(const Session *s, const GcTensor *t) { return s->device->ops->at(s, t); }

static unsigned char *hyper_at(const Session *s, int hyper) {
  return s->memory.region[GC_HYPERS] + 4 * hyper;
}

double session_hyper(const Session *s, int hyper) {
  return elem_real(hyper_at(s, hyper), (Elem)s->program->hypers[hyper].dtype, 0);
}

void session_set_hyper(Session *s, int hyper, double value) {
  elem_convert(hyper_at(s, hyper), (Elem)s->program->hypers[hyper].dtype, &value, ELEM_F64, 1);
}

bool session_upload_hypers(Session *s, Err *e) {
  const DeviceOps *ops = s->device->ops;
  return !ops->upload_hypers || ops->upload_hypers(s, e);
}

bool session_download(Session *s, Err *e) {
  const DeviceOps *ops = s->device->ops;
  return !ops->download || ops->download(s, e);
}

bool session_upload(Session *s, Err *e) {
  s->gathered = false;
  const DeviceOps *ops = s->device->ops;
  return !ops->upload || ops->upload(s, e);
}

Globals session_globals(const Session *s) {
  return (Globals){s->program,  s->memory.region[GC_GLOBALS],
                   s->stage,    s->labels,
                   s->env.comm, s->device->ops->on_host ? memory_put_own : NULL};
}
