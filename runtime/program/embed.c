/* A model inside another program: a session of all entries behind a handle. Contract: see embed.h.
   The caller's thread is thread 0; it gets its float mode back, and its context from a device that
   has contexts. After a fork the child has the memory but neither threads nor device: its calls
   fail instead of waiting for ever. */
#include "runtime/program/embed_impl.h"
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static _Thread_local char open_message[MESSAGE];

bool embed_failed(char *message, const Err *e, bool with_hint) {
  bool hint = with_hint && e->hint[0], option = strncmp(e->msg, "--", 2) == 0;
  snprintf(message, MESSAGE, "%s%s%s", e->msg + (option ? 2 : 0), hint ? "; " : "",
           hint ? e->hint : "");
  return false;
}

bool embed_failed_to_open(const Err *e) { return embed_failed(open_message, e, true); }

const char *embed_error(const GcModel *m) { return m ? m->message : open_message; }

/* ---- runs ---- */

/* What every call that can fail begins with. */
static bool usable(GcModel *m) {
  Err e = {0};
  if (!m) {
    err_set(&e, EXIT_USAGE, "there is no model: it was not opened, or opening it failed");
    return embed_failed(open_message, &e, false);
  }
  if (m->owner == getpid()) return true;
  err_set(&e, EXIT_USAGE,
          "the model was opened by the process that this one was forked from; "
          "open one here");
  return embed_failed(m->message, &e, false);
}

bool embed_begin(GcModel *m) {
  Err e = {0};
  if (!usable(m)) return false;
  Device *d = m->session.device;
  if (!d->ops->enter) return true;
  if (d->broken)
    err_set(&e, EXIT_ENV, "the device failed in an earlier call: close the model and open another");
  else if (d->ops->enter(d, &e))
    return true;
  return embed_failed(m->message, &e, false);
}

static void leave(Device *d) {
  if (d && d->ops->leave) d->ops->leave(d);
}

bool embed_end(GcModel *m, bool ok) {
  leave(m->session.device);
  return ok;
}

/* The session's report of a fault becomes the handle's message. */
static bool refuse_run(GcModel *m) {
  Err ignored = {0}; /* the next call says that the device failed */
  embed_failed(m->message, &m->session.err, false);
  session_recover(&m->session, &ignored);
  return false;
}

/* An index that is out of range is refused before anything changes. */
static bool check_limit(GcModel *m, const GcEntry *e, const GcTensor *t, const void *input) {
  uint64_t row, per = tensor_row_elems(t);
  int64_t value;
  Err err = {0};
  Rows rows = {input, (Elem)t->dtype, tensor_count(t) / per, per};
  GcTensor checked = *t;
  GcLimit limit = {(int64_t)per, t->nlimits == 1 ? t->limits[0].limit : 0};
  if (t->run_dims) { /* a shorter row has less; of several limits, kernels report what is out of
                        range */
    checked.limits = &limit;
    checked.nlimits = t->nlimits == 1;
  }
  const GcLimit *l = tensor_out_of_range(&checked, &rows, &row, &value);
  if (!l) return true;
  err_set(&err, EXIT_WRONG,
          "%s: row %" PRIu64 " of the input %s holds %" PRId64 ", which is not in 0 to %" PRId64,
          e->name, row, t->name, value, l->limit - 1);
  return embed_failed(m->message, &err, false);
}

static bool put_hypers(GcModel *m) {
  Err e = {0};
  if (!m->new_hypers || session_upload_hypers(&m->session, &e)) {
    m->new_hypers = false;
    return true;
  }
  return embed_failed(m->message, &e, false);
}

void embed_forget_calls(GcModel *m) {
  memset(m->calls, 0, (size_t)gc_program.nentries * sizeof *m->calls);
}

/* Fresh weights. */
static bool draw(GcModel *m, uint64_t seed) {
  embed_forget_calls(m);
  return session_initialize(&m->session, seed, 0) || refuse_run(m);
}

bool embed_has_weights(GcModel *m) { return m->session.drawn || draw(m, m->session.env.seed); }

static bool set_extents(GcModel *m, const GcEntry *e, const int *extents) {
  for (int i = 0; i < e->nextents; i++) {
    Err err = {0};
    const GcExtent *x = &e->extents[i];
    const int64_t least = extent_least(x);
    if (extents[i] < least || extents[i] > x->bound) {
      err_set(&err, EXIT_USAGE, "%s: %s is %d, which is not in %" PRId64 " to %" PRId64, e->name,
              x->name, extents[i], least, x->bound);
      if (extents[i] < least && x->window)
        err_hint(&err, "%s has no room for its window with less", x->window);
      else if (extents[i] > x->bound)
        err_hint(&err, "compile the program with a larger bound of %s", x->name);
      return embed_failed(m->message, &err, true);
    }
  }
  for (int i = 0; i < e->nextents; i++) m->session.env.extents[i] = extents[i];
  return true;
}

/* Nothing is wrong with the call; nothing has changed. */
static bool check_run(GcModel *m, const GcEntry *e, const int *extents, const void *const *inputs) {
  Session *s = &m->session;
  int64_t dims[RUN_RANK];
  for (int i = 0; i < e->ninputs; i++) {
    if (inputs[i]) continue;
    Err err = {0};
    err_set(&err, EXIT_USAGE, "%s: the input %s is NULL", e->name, e->inputs[i].name);
    return embed_failed(m->message, &err, false);
  }
  if (!embed_has_weights(m) || !set_extents(m, e, extents)) return false;
  for (int i = 0; i < e->ninputs; i++) {
    const GcTensor now = tensor_of_run(e, &e->inputs[i], s->env.extents, dims);
    if (!check_limit(m, e, &now, inputs[i])) return false;
  }
  return put_hypers(m);
}

/* What kernels find out, all ranks that run the entry together hear of. */
static bool found_well(GcModel *m, const GcEntry *e) {
  bool ok = !session_fault(&m->session, e, NO_BATCH) || refuse_run(m);
  if (!m->comm || !(e->ranks || e->gathers)) return ok;
  /* a device may fail on one of them */
  if (!m->session.program->nsites && !m->comm->failure && !embed_on_devices(m)) return ok;
  return embed_agree(m, ok);
}

static bool run(GcModel *m, int entry, const int *extents, const void *const *inputs,
                void *const *outputs) {
  Session *s = &m->session;
  const GcEntry *e = &s->program->entries[entry];
  if (!embed_agree_run(m, e, check_run(m, e, extents, inputs))) return false;
  session_gather_copies(s, s->entries[entry]);
  embed_put_inputs(s, s->entries[entry], inputs);
  s->env.step = e->training && s->step ? (uint64_t)*s->step : m->calls[entry];
  m->calls[entry]++;
  session_run(s, s->entries[entry], &(RunRequest){.batch = NO_BATCH});
  if (!found_well(m, e)) return false;
  embed_get_outputs(s, e, outputs);
  return true;
}

bool embed_run_of(GcModel *m, int entry, const int *extents, const void *const *inputs,
                  void *const *outputs) {
  return embed_begin(m) && embed_end(m, run(m, entry, extents, inputs, outputs));
}

bool embed_run(GcModel *m, int entry, const void *const *inputs, void *const *outputs) {
  return embed_run_of(m, entry, NULL, inputs, outputs);
}

bool embed_reset(GcModel *m, uint64_t seed) {
  if (!embed_begin(m)) return false;
  seed = embed_seed(m, seed);
  return embed_end(m, embed_agree(m, put_hypers(m) && draw(m, seed)));
}

/* ---- open and close ---- */

/* Of all entries, whichever will run. */
static SessionPlan plan_of(const DeviceChoice *c) {
  const GcProgram *p = program_for(c->kind, c->level);
  return (SessionPlan){.program = p,
                       .ops = c->kind->ops,
                       .entries = p->entries,
                       .n = p->nentries,
                       .threads = cores_available(),
                       .tables = (uint64_t)p->nentries * sizeof(uint64_t)};
}

uint64_t embed_bytes(void) {
  Err e = {0};
  Sizes s;
  DeviceChoice c;
  for (int n = 0; device_preferred(n, &c); n++) {
    const SessionPlan plan = plan_of(&c);
    if (c.kind->ops->on_host) return session_sizes(&plan, &s, &e) ? s.total + sizeof(GcModel) : 0;
  }
  return 0;
}

/* Where steps run elsewhere, the host's part is one thread's. */
static int threads_of(const GcModel *m, const DeviceKind *kind, int wanted) {
  int here = cores_available();
  if (!kind->ops->on_host) return 1;
  if (m->comm && !wanted) return m->cores;
  return wanted > 0 && wanted < here ? wanted : here;
}

static bool init_reads_hypers(const GcProgram *p) {
  bool reads = false;
  for (int i = 0; p->init && i < p->init->nsteps; i++)
    for (int a = 0; a < p->init->steps[i].nargs; a++)
      reads |= p->init->steps[i].args[a].region == GC_HYPERS;
  return reads;
}

/* Initial values wait until they are asked for, since files may take their place: but not for
   hypers to change, nor on a device that has to show first that it can be used. */
static bool prepare_on(GcModel *m, const DeviceChoice *c, int threads, uint64_t seed, Err *e) {
  Session *s = &m->session;
  const SessionPlan plan = plan_of(c);
  snprintf(m->device, sizeof m->device, "%s", c->name);
  s->device = c->kind->ops->open(plan.program, c->ordinal, DEVICE_HOST, e);
  if (!s->device || !session_open(s, &plan, s->device, e)) return false;
  s->env.comm = m->comm;
  m->calls = memory_take(&s->memory, (uint64_t)plan.n * sizeof *m->calls);
  /* the host has threads of its own, and other models: where they run is its affair */
  s->env.seed = seed;
  bool waits = plan.ops->on_host && !init_reads_hypers(plan.program);
  return memory_sound(&s->memory, e) &&
         session_start(s, threads_of(m, c->kind, threads), false, e) && (waits || draw(m, seed));
}

/* What was made for one device, before another is tried. */
static void undo(GcModel *m) {
  Err reported = {.code = EXIT_ENV};
  if (m->comm && m->comm->failure) m->session.memory = (Memory){0}; /* messages may come to it */
  session_close(&m->session, m->owner == getpid(), &reported);
  *m = (GcModel){.owner = m->owner, .comm = m->comm, .said = m->said, .cores = m->cores};
}

static bool no_code(const DeviceChoice *c, const char *device, Err *e) {
  err_set(e, EXIT_ENV, "this model holds no code for %s", device);
  return err_hint(e, "compile it with gc --target=%s,%s", c->kind->name, gc_program.target);
}

static bool prepare(GcModel *m, const char *device, int threads, uint64_t seed, Err *e) {
  DeviceChoice c;
  if (threads < 0)
    return err_set(e, EXIT_USAGE, "%d threads; 0 stands for one on each core", threads);
  if (gc_program.abi != GCRT_ABI)
    return err_set(e, EXIT_BUG, "the model and its runtime are of different versions");
  if (device) {
    if (!device_parse(device, &c, e)) return false;
    return program_level(c.kind, NULL) ? prepare_on(m, &c, threads, seed, e)
                                       : no_code(&c, device, e);
  }
  bool ok = false;
  for (int n = 0; !ok && device_preferred(n, &c); n++) {
    if (n) undo(m);
    *e = (Err){0};
    ok = prepare_on(m, &c, threads, seed, e);
  }
  return ok;
}

bool embed_take_labels(GcModel *m, const char *path, Err *e) {
  Labels l = {0};
  char *text = NULL;
  bool ok = (path ? labels_read(&l, path, e) : labels_read_own(&l, e)) &&
            (!l.n || labels_text(&l, &text, e));
  labels_free(&l);
  if (!ok) return false;
  free(m->labels);
  m->session.labels = m->labels = text;
  return true;
}

typedef struct Opening { /* what embed_open and embed_open_rank are asked for */
  const char *device;
  int threads;
  uint64_t seed;
  EmbedRanks *ranks;
  const void *of;
} Opening;

/* Whose ranks talk from devices: the one that is named, or the first. */
static int ordinal_of(const Opening *o) {
  DeviceChoice c;
  Err later = {0}; /* prepare says it */
  return o->ranks && o->device && device_parse(o->device, &c, &later) ? c.ordinal : 0;
}

/* When all ranks are prepared. */
static bool connect_ranks(GcModel *m, Err *e) {
  const DeviceOps *ops = m->session.device->ops;
  return !m->comm || !ops->join || embed_agree(m, ops->join(&m->session, e));
}

/* *e has no code where the message is in open_message. */
static GcModel *open_model(const Opening *o, EmbedNote *note, void *arg, Err *e) {
  GcModel *m = calloc(1, sizeof *m);
  if (!m) return err_set(e, EXIT_ENV, "no memory for a model"), NULL;
  m->owner = getpid();
  bool joined = embed_join(m, o->ranks, o->of, ordinal_of(o), e);
  const uint64_t seed = joined ? embed_seed(m, o->seed) : 0;
  bool ok = joined && prepare(m, o->device, o->threads, seed, e) && embed_take_labels(m, NULL, e);
  if (joined) ok = embed_agree(m, ok) && connect_ranks(m, e);
  m->session.note = note, m->session.note_arg = arg;
  leave(m->session.device);
  if (ok) return m;
  if (!e->code) memcpy(open_message, m->message, MESSAGE);
  embed_close(m);
  return NULL;
}

static GcModel *open_saying(const Opening *o) {
  Err e = {0};
  GcModel *m = open_model(o, NULL, NULL, &e);
  if (!m && e.code) embed_failed(open_message, &e, true);
  return m;
}

GcModel *embed_open(const char *device, int threads, uint64_t seed) {
  return open_saying(&(Opening){.device = device, .threads = threads, .seed = seed});
}

GcModel *embed_open_rank(EmbedRanks *ranks, const void *of, const char *device, int threads,
                         uint64_t seed) {
  return open_saying(&(Opening){device, threads, seed, ranks, of});
}

GcModel *embed_open_noting(const char *device, int threads, EmbedNote *note, void *arg, Err *e) {
  GcModel *m = open_model(&(Opening){.device = device, .threads = threads}, note, arg, e);
  if (!m && !e->code) err_set(e, EXIT_ENV, "%s", open_message);
  return m;
}

void embed_close(GcModel *m) {
  if (!m) return;
  free(m->labels);
  undo(m);
  embed_part(m);
  free(m);
}
