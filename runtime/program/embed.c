/* A model inside another program: the runs of memory.c, exec.c and weights.c behind a handle.
   Contract: see embed.h. A handle holds the regions that all entries share, every entry resolved
   once, and its thread pool; the caller's thread is thread 0 and gets its float mode back, and on a
   GPU its CUDA context. After a fork the child has the memory but neither threads nor device: its
   calls fail instead of waiting for ever. */
#include "runtime/embed.h"
#include "runtime/exec/cpu.h"
#include "runtime/exec/run.h"
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MESSAGE = sizeof((Err *)0)->msg + 2 + sizeof((Err *)0)->hint };

struct GcModel {
  Run r;
  Exec *execs;     /* by entry */
  uint64_t *calls; /* of each entry since the beginning */
  pid_t owner;
  bool new_hypers; /* the device has older ones */
  char device[16];
  char message[MESSAGE];
};

static _Thread_local char open_message[MESSAGE];

/* Hints of loading and saving speak of the command line. */
static bool failed(char *message, const Err *e, bool with_hint) {
  bool hint = with_hint && e->hint[0];
  snprintf(message, MESSAGE, "%s%s%s", e->msg, hint ? "; " : "", hint ? e->hint : "");
  return false;
}

const char *embed_error(const GcModel *m) { return m ? m->message : open_message; }

/* ---- runs ---- */

/* What every call that can fail begins with. */
static bool usable(GcModel *m) {
  Err e = {0};
  if (!m) {
    err_set(&e, EXIT_USAGE, "there is no model: it was not opened, or opening it failed");
    return failed(open_message, &e, false);
  }
  if (m->owner == getpid()) return true;
  err_set(&e, EXIT_USAGE,
          "the model was opened by the process that this one was forked from; "
          "open one here");
  return failed(m->message, &e, false);
}

/* Around what a call does: the thread has the device's context, where there is one. */
static bool begin(GcModel *m) {
  Err e = {0};
  if (!usable(m)) return false;
  if (!m->r.cuda) return true;
  if (cuda_broken(m->r.cuda))
    err_set(&e, EXIT_ENV, "the device failed in an earlier call: close the model and open another");
  else if (cuda_enter(m->r.cuda, &e))
    return true;
  return failed(m->message, &e, false);
}

static bool end(GcModel *m, bool ok) {
  if (m->r.cuda) cuda_leave(m->r.cuda);
  return ok;
}

static bool run_once(GcModel *m, const Exec *x) {
  Run *r = &m->r;
  uint64_t mode = float_mode_set();
  exec_run(r, x, NO_BATCH);
  float_mode_restore(mode);
  if (!exec_fault(r, x->entry, NO_BATCH)) return true;
  failed(m->message, &r->err, false);
  r->err = (Err){0};
  Err unheard = {0}; /* the next call says that the device failed */
  if (r->cuda && !cuda_broken(r->cuda)) cuda_unfault(r, &unheard);
  atomic_store(&r->fault.ready, 0);
  atomic_store(&r->fault.taken, 0);
  return false;
}

static void put_input(Run *r, const GcTensor *t, const uint8_t *src) {
  uint64_t n = tensor_count(t);
  if (t->dtype != GC_BOOL) {
    tensor_put(t, run_at(r, t), 0, n, src);
    return;
  }
  for (uint64_t i = 0; i < n; i++) {
    uint8_t b = src[i] != 0; /* other languages have other truths */
    tensor_put(t, run_at(r, t), i, 1, &b);
  }
}

/* An index without a place is refused before anything changes. */
static bool check_limit(GcModel *m, const GcEntry *e, const GcTensor *t, const void *input) {
  uint64_t row, per = tensor_row_elems(t);
  int64_t value;
  Err err = {0};
  Rows rows = {input, (Elem)t->dtype, tensor_count(t) / per, per};
  const GcLimit *l = tensor_misplaced(t, &rows, &row, &value);
  if (!l) return true;
  err_set(&err, EXIT_WRONG,
          "%s: row %" PRIu64 " of the input %s holds %" PRId64 ", which is not in 0 to %" PRId64,
          e->name, row, t->name, value, l->limit - 1);
  return failed(m->message, &err, false);
}

static bool put_hypers(GcModel *m) {
  Run *r = &m->r;
  if (!r->cuda || !m->new_hypers || cuda_hypers(r, &r->err)) {
    m->new_hypers = false;
    return true;
  }
  failed(m->message, &r->err, false);
  r->err = (Err){0};
  return false;
}

static bool run(GcModel *m, int entry, const void *const *inputs, void *const *outputs) {
  Run *r = &m->r;
  const GcEntry *e = &r->p->entries[entry];
  for (int i = 0; i < e->ninputs; i++) {
    if (inputs[i]) continue;
    Err err = {0};
    err_set(&err, EXIT_USAGE, "%s: the input %s is NULL", e->name, e->inputs[i].name);
    return failed(m->message, &err, false);
  }
  for (int i = 0; i < e->ninputs; i++)
    if (!check_limit(m, e, &e->inputs[i], inputs[i])) return false;
  if (!put_hypers(m)) return false;
  for (int i = 0; i < e->ninputs; i++) put_input(r, &e->inputs[i], inputs[i]);
  r->env.step = e->training && r->step ? (uint64_t)*r->step : m->calls[entry];
  m->calls[entry]++;
  if (!run_once(m, &m->execs[entry])) return false;
  for (int i = 0; i < e->noutputs; i++) {
    const GcTensor *t = &e->outputs[i];
    if (outputs[i]) tensor_get(t, run_at(r, t), 0, tensor_count(t), outputs[i]);
  }
  return true;
}

/* Fresh weights. */
static bool draw(GcModel *m, uint64_t seed) {
  m->r.env = (GcEnv){.seed = seed};
  memset(m->calls, 0, (size_t)gc_program.nentries * sizeof *m->calls);
  return !m->r.p->init || run_once(m, &m->r.init);
}

bool embed_run(GcModel *m, int entry, const void *const *inputs, void *const *outputs) {
  return begin(m) && end(m, run(m, entry, inputs, outputs));
}

bool embed_reset(GcModel *m, uint64_t seed) {
  return begin(m) && end(m, put_hypers(m) && draw(m, seed));
}

/* ---- open and close ---- */

/* Of the host; where steps run on a device it has the globals and its own tables alone. */
static bool sizes(const GcProgram *p, Sizes *s, Err *e) {
  int threads = cpus_available();
  uint64_t arena = 0, inputs = 0, tables = STAGE_BYTES + pool_bytes() + 4096;
  tables += (uint64_t)p->nentries * (sizeof(Exec) + sizeof(uint64_t));
  for (int i = p->init ? -1 : 0; i < p->nentries && !p->cuda; i++) {
    const GcEntry *x = i < 0 ? p->init : &p->entries[i];
    arena = max_u64(arena, x->arena_bytes);
    inputs = max_u64(inputs, x->inputs_bytes);
    tables += exec_table_bytes(x, threads);
  }
  return memory_sum(p, arena, inputs, tables, p->cuda ? 0 : threads, s, e);
}

uint64_t embed_bytes(void) {
  Err e = {0};
  Sizes s;
  return sizes(program_for("cpu"), &s, &e) ? s.total + sizeof(GcModel) : 0;
}

static bool take_tables(GcModel *m) {
  Run *r = &m->r;
  r->pool = memory_take(&r->mem, pool_bytes());
  r->stage = memory_take(&r->mem, STAGE_BYTES);
  m->execs = memory_take(&r->mem, (uint64_t)r->p->nentries * sizeof *m->execs);
  m->calls = memory_take(&r->mem, (uint64_t)r->p->nentries * sizeof *m->calls);
  for (int i = 0; i < r->p->nhypers; i++)
    ((float *)(void *)r->mem.region[GC_HYPERS])[i] = r->p->hypers[i].value;
  return memory_sound(&r->mem, &r->err);
}

static bool resolve(GcModel *m) {
  Run *r = &m->r;
  int threads = cpus_available();
  for (int i = 0; i < r->p->nentries; i++)
    if (!exec_resolve(&m->execs[i], &r->p->entries[i], &r->mem, threads, &r->err)) return false;
  if (r->p->init && !exec_resolve(&r->init, r->p->init, &r->mem, threads, &r->err)) return false;
  for (int i = 0; i < r->p->nglobals; i++)
    if (is_step_counter(&r->p->globals[i])) r->step = run_at(r, &r->p->globals[i].t);
  return true;
}

static bool start_threads(GcModel *m, int threads) {
  Run *r = &m->r;
  int here = cpus_available();
  if (!pool_start(r->pool, threads > 0 && threads < here ? threads : here, &r->err)) return false;
  for (int i = 0; i < r->p->nentries; i++) exec_threads(&m->execs[i], r->pool);
  if (r->p->init) exec_threads(&r->init, r->pool);
  return true;
}

static bool prepare_cpu(GcModel *m, int threads, Err *e) {
  Sizes s;
  m->r.p = program_for("cpu");
  snprintf(m->device, sizeof m->device, "cpu");
  if (!sizes(m->r.p, &s, e) || !cpu_check(m->r.p->march, e) || !memory_map(&m->r.mem, &s, e))
    return false;
  return take_tables(m) && resolve(m) && start_threads(m, threads);
}

/* All of its entries, whichever will be asked. */
static bool prepare_cuda(GcModel *m, int ordinal, Err *e) {
  Run *r = &m->r;
  Sizes s;
  r->p = program_for("cuda");
  r->o.given[OPT_QUIET] = true; /* notes are for a terminal */
  snprintf(m->device, sizeof m->device, "cuda:%d", ordinal);
  r->cuda = cuda_open(r->p, ordinal, CUDA_HOST, e);
  if (!r->cuda || !sizes(r->p, &s, e) || !memory_map(&r->mem, &s, e)) return false;
  return take_tables(m) && cuda_prepare(r, m->execs, r->p->entries, r->p->nentries, e) &&
         cuda_begin(r, e);
}

/* What was made for one device, before another is tried. */
static void undo(GcModel *m) {
  Err told = {.code = EXIT_ENV};
  pool_stop(m->r.pool, m->owner == getpid());
  if (m->owner == getpid()) cuda_close(m->r.cuda, &told); /* which no child of a fork may touch */
  if (m->r.mem.base) munmap(m->r.mem.base, m->r.mem.sizes.total);
  *m = (GcModel){.owner = m->owner};
}

static bool prepare(GcModel *m, const char *device, int threads, uint64_t seed) {
  Err *e = &m->r.err;
  const char *target = "cuda";
  int ordinal = 0;
  if (gc_program.abi != GCRT_ABI)
    return err_set(e, EXIT_BUG, "the model and its runtime are of different versions");
  if (device && !device_parse(device, &target, &ordinal, e)) return false;
  bool gpu = program_for("cuda") && strcmp(target, "cuda") == 0;
  if (device && !gpu && strcmp(target, "cuda") == 0) {
    err_set(e, EXIT_ENV, "this model holds no code for %s", device);
    return err_hint(e, "compile it with gc --target=cuda,cpu");
  }
  if (gpu && prepare_cuda(m, ordinal, e) && draw(m, seed)) return true;
  if (gpu && device) return false;
  if (gpu) undo(m);
  return prepare_cpu(m, threads, e) && draw(m, seed);
}

GcModel *embed_open(const char *device, int threads, uint64_t seed) {
  Err none = {0};
  GcModel *m = calloc(1, sizeof *m);
  if (!m) {
    err_set(&none, EXIT_ENV, "no memory for a model");
    failed(open_message, &none, false);
    return NULL;
  }
  m->owner = getpid();
  bool ok = prepare(m, device, threads, seed);
  if (m->r.cuda) cuda_leave(m->r.cuda);
  if (ok) return m;
  if (m->r.err.code)
    failed(open_message, &m->r.err, true);
  else
    memcpy(open_message, m->message, MESSAGE);
  embed_close(m);
  return NULL;
}

void embed_close(GcModel *m) {
  if (!m) return;
  undo(m);
  free(m);
}

/* ---- weights and hypers ---- */

static bool is_needed(const GcGlobal *g, const void *arg) { return g->kind == GC_PARAM; }

bool embed_load(GcModel *m, const char *path) {
  Err e = {0};
  if (!begin(m)) return false;
  if (!path) err_set(&e, EXIT_USAGE, "the name of the file is NULL");
  bool ok = path && weights_read(&m->r, path, choose_saved, is_needed, NULL, false, NULL, 0, &e);
  return end(m, ok) || failed(m->message, &e, false);
}

bool embed_save(GcModel *m, const char *path) {
  Err e = {0};
  OutFile out = {.fd = -1};
  if (!begin(m)) return false;
  if (!path) err_set(&e, EXIT_USAGE, "the name of the file is NULL");
  bool ok = path && weights_finite(&m->r, &e) &&
            out_prepare(&out, path, weights_bytes(choose_saved), &e) &&
            weights_write(&m->r, &out, choose_saved, NULL, 0, &e);
  out_free(&out);
  return end(m, ok) || failed(m->message, &e, false);
}

void embed_set_hyper(GcModel *m, int hyper, float value) {
  if (!m) return;
  ((float *)(void *)m->r.mem.region[GC_HYPERS])[hyper] = value;
  m->new_hypers = true;
}

float embed_hyper(const GcModel *m, int hyper) {
  return m ? ((const float *)(const void *)m->r.mem.region[GC_HYPERS])[hyper] : 0;
}

int embed_threads(const GcModel *m) { return !m ? 0 : m->r.cuda ? 1 : pool_size(m->r.pool); }

const char *embed_device(const GcModel *m) { return m ? m->device : ""; }
