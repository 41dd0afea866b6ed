/* --check-finite and --watch: a run stops behind each of its steps and looks at the values that are
   complete there. Contract: the first value that is NaN or +infinity ends the run, with the step
   that made it; -infinity is what masks are made of, and passes. Values are as the plan has them: a
   fused kernel keeps those between its operations in registers. */
#include "runtime/program/command.h"
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct Watched {
  const GcEntry *entry;
  int step, result;
  int first; /* of those that are this value, whose statistics it has */
  int times; /* and how many they are */
  const char *what;
  uint64_t every;
  uint64_t n, zeros, bad; /* of the run at hand, in all iterations */
  double low, high, sum, squares;
};

/* ---- values ---- */
typedef void Visit(void *arg, double v, uint64_t at);

static void go_through(Session *s, const GcEntry *e, const GcTensor *planned, const void *storage,
                       Visit *visit, void *arg) {
  int64_t dims[RUN_RANK];
  const GcTensor now = tensor_of_run(e, planned, s->env.extents, dims), *t = &now;
  uint64_t all = storage ? tensor_count(t) : 0, most = STAGE_BYTES / 8;
  for (uint64_t at = 0; at < all; at += most) {
    uint64_t n = all - at < most ? all - at : most;
    tensor_get(t, storage, at, n, s->stage);
    for (uint64_t i = 0; i < n; i++) visit(arg, elem_real(s->stage, (Elem)t->dtype, i), at + i);
  }
}

static void type_of_run(const Command *cmd, const GcEntry *e, const GcTensor *t, char *out,
                        int size) {
  int64_t dims[RUN_RANK];
  const GcTensor now = tensor_of_run(e, t, cmd->session.env.extents, dims);
  tensor_type_text(&now, out, size);
}

/* ---- --check-finite ---- */
typedef struct First {
  uint64_t at;
  double v;
  bool found;
} First;

static void find_bad(void *arg, double v, uint64_t at) {
  First *f = arg;
  if (f->found || (!isnan(v) && !(v > DBL_MAX))) return;
  *f = (First){at, v, true};
}

static void report(Command *cmd, const GcEntry *e, int step, const GcResult *r, const First *f) {
  const Inspection *in = &cmd->inspection;
  const GcStep *x = &e->steps[step];
  Err *err = &cmd->session.err;
  char type[200];
  type_of_run(cmd, e, &r->t, type, sizeof type);
  bool layer = x->scope && *x->scope, named = r->t.name && *r->t.name;
  bool fused = strchr(x->name, '+') != NULL;
  const char *pass = !x->backward                                ? "forward"
                     : fused && strncmp(r->t.name, "d.", 2) != 0 ? "forward and backward"
                                                                 : "backward";
  err_set(err, EXIT_WRONG,
          "%s: %s makes %s in step %" PRIu64 " of %s, %s pass%s%.200s: element %" PRIu64
          " of %s%.100s%s",
          x->loc && *x->loc ? x->loc : "the program", x->name, isnan(f->v) ? "nan" : "inf",
          cmd->session.env.step + 1, e->name, pass, layer ? ", layer " : "", layer ? x->scope : "",
          f->at, named ? r->t.name : "", named ? " : " : "", type);
  if (in->batch != NO_BATCH && in->data->n && dataset_fault(in->data, in->batch, err)) return;
  err_hint(err, "what it reads was finite%s; --watch PATH prints the statistics of a value",
           fused ? "; gc -O1 fuses nothing, so that one operation is named" : "");
}

/* ---- --watch ---- */
static void measure(void *arg, double v, uint64_t at) {
  Watched *w = arg;
  (void)at;
  w->n++;
  if (!isfinite(v)) {
    w->bad++;
    return;
  }
  w->zeros += v == 0;
  w->low = fmin(w->low, v), w->high = fmax(w->high, v);
  w->sum += v, w->squares += v * v;
}

static bool is_now(const Command *cmd, const Watched *w) {
  return (cmd->session.env.step + 1) % w->every == 0;
}

static void inspect(void *arg, const GcEntry *e, int step, FetchArg *fetch, void *from) {
  Command *cmd = arg;
  Session *s = &cmd->session;
  const GcStep *x = &e->steps[step];
  for (int i = 0; i < x->nresults && cmd->options.given[OPT_FINITE] && !s->err.code; i++) {
    First f = {0};
    go_through(s, e, &x->results[i].t, fetch(from, x->results[i].arg), find_bad, &f);
    if (!f.found) continue;
    cmd->inspection.left = e->nsteps - step;
    report(cmd, e, step, &x->results[i], &f);
  }
  for (int i = 0; i < cmd->inspection.n; i++) {
    const Watched *w = &cmd->inspection.watched[i];
    const GcResult *r = &x->results[w->result];
    if (w->entry == e && w->step == step && is_now(cmd, w))
      go_through(s, e, &r->t, fetch(from, r->arg), measure, &cmd->inspection.watched[w->first]);
  }
}

void inspect_begin(Command *cmd, const Dataset *data, uint64_t batch) {
  cmd->inspection.data = data;
  cmd->inspection.batch = batch;
  cmd->inspection.left = 0;
  for (int i = 0; i < cmd->inspection.n; i++) {
    Watched *w = &cmd->inspection.watched[i];
    w->n = w->zeros = w->bad = 0;
    w->low = INFINITY, w->high = -INFINITY, w->sum = w->squares = 0;
  }
}

void inspect_end(Command *cmd) {
  for (int i = 0; i < cmd->inspection.n; i++) {
    const Watched *w = &cmd->inspection.watched[i];
    const GcStep *x = &w->entry->steps[w->step];
    char type[200];
    if (!w->n) continue;
    double n = (double)(w->n - w->bad);
    type_of_run(cmd, w->entry, &x->results[w->result].t, type, sizeof type);
    printf("watch %s  step %" PRIu64 "  %s %s", w->what, cmd->session.env.step + 1, x->name, type);
    if (w->times > 1) printf(" x %d", w->times);
    if (w->bad < w->n)
      printf("  min %.5g  max %.5g  mean %.5g  rms %.5g  zeros %.3g %%", w->low, w->high,
             w->sum / n, sqrt(w->squares / n), 100 * (double)w->zeros / (double)w->n);
    printf("  not finite %" PRIu64 "\n", w->bad);
  }
  if (cmd->inspection.n) fflush(stdout);
}

/* ---- what is watched ---- */

/* "logits" is also what a later value of this name is called: logits.2. */
static bool is_value(const char *name, const char *prefix, const char *path) {
  size_t n = strlen(prefix), m = strlen(path);
  if (strncmp(name, prefix, n) != 0 || strncmp(name + n, path, m) != 0) return false;
  const char *rest = name + n + m;
  return !*rest || (*rest == '.' && rest[1] && strspn(rest + 1, "0123456789") == strlen(rest + 1));
}

typedef enum Match { BY_GRADIENT, BY_VALUE, BY_LAYER, MATCHES } Match;

static bool matches(const GcStep *x, const GcResult *r, const char *path, Match how) {
  switch (how) {
  case BY_GRADIENT: return is_value(r->t.name, "d.", path);
  case BY_VALUE: return is_value(r->t.name, "", path);
  case BY_LAYER: /* passes/shrink/microbatch_build.c names sums of some micro-batches alone so */
    return x->scope && strcmp(x->scope, path) == 0 && !x->backward &&
           strncmp(r->t.name, "partial.", 8) != 0;
  case MATCHES: break;
  }
  return false;
}

static const GcGlobal *global_of(const char *path) {
  for (int i = 0; i < gc_program.nglobals; i++)
    if (strcmp(gc_program.globals[i].t.name, path) == 0) return &gc_program.globals[i];
  return NULL;
}

static bool not_found(const Command *cmd, const char *path, Err *e) {
  const GcEntry *en = cmd->entry;
  const GcGlobal *g = global_of(path);
  if (g && g->kind == GC_PARAM && en->training) {
    err_set(e, EXIT_USAGE, "--watch %s: its gradient is not stored: a fused kernel consumes it",
            path);
    return err_hint(
        e, "compile with gc --watch=%s, which stores it, or with -O1, which fuses nothing", path);
  }
  err_set(e, EXIT_USAGE, "--watch %s: %s computes no value, layer or gradient of this name", path,
          en->name);
  char some[300] = "";
  size_t at = 0;
  for (int i = 0; i < en->nsteps && at < 200; i++) {
    const char *scope = en->steps[i].scope;
    bool layer = scope && *scope && !en->steps[i].backward && en->steps[i].nresults;
    for (int k = 0; k < i && layer; k++)
      layer = !en->steps[k].scope || strcmp(scope, en->steps[k].scope) != 0;
    if (layer)
      at += (size_t)snprintf(some + at, sizeof some - at, "%s%.60s", at ? ", " : "", scope);
  }
  if (!at) return err_hint(e, "gc --dump-plan lists the values of an entry");
  return err_hint(e, "it has layers such as %s; gc --dump-plan lists the values", some);
}

static bool equal(const char *a, const char *b) { return strcmp(a ? a : "", b ? b : "") == 0; }

/* The same operation of the source: its micro-batches, or iterations of a loop that is unrolled. */
static bool is_same(const Watched *a, const Watched *b) {
  const GcStep *x = &a->entry->steps[a->step], *y = &b->entry->steps[b->step];
  return a->what == b->what && x->backward == y->backward && equal(x->name, y->name) &&
         equal(x->loc, y->loc) && equal(x->scope, y->scope) &&
         equal(x->results[a->result].t.name, y->results[b->result].t.name);
}

static void add_one(Inspection *in, Watched w) {
  w.first = in->n;
  for (int i = in->n; i-- > 0;)
    if (in->watched[i].first == i && is_same(&in->watched[i], &w)) w.first = i;
  in->watched[in->n++] = w;
  in->watched[w.first].times++;
}

static bool add_watched(Command *cmd, const char *path, const char *what, uint64_t every, Err *e) {
  const GcEntry *en = &cmd->entries[0];
  Inspection *in = &cmd->inspection;
  int before = in->n, most = 0;
  const GcGlobal *g = global_of(path);
  for (int i = 0; i < en->nsteps; i++) most += en->steps[i].nresults;
  Watched *all = realloc(in->watched, (size_t)(in->n + most + 1) * sizeof *all);
  if (!all) return err_set(e, EXIT_ENV, "no memory to watch values");
  in->watched = all;
  bool param = g && g->kind == GC_PARAM && en->training;
  Match how = param ? BY_GRADIENT : BY_VALUE, end = param ? BY_VALUE : MATCHES;
  for (; how < end && in->n == before; how++)
    for (int i = 0; i < en->nsteps; i++)
      for (int r = 0; r < en->steps[i].nresults; r++)
        if (matches(&en->steps[i], &en->steps[i].results[r], path, how))
          add_one(in, (Watched){.entry = en, .step = i, .result = r, .what = what, .every = every});
  return in->n > before || not_found(cmd, path, e);
}

bool inspect_prepare(Command *cmd, Err *e) {
  const Options *o = &cmd->options;
  if (!o->given[OPT_FINITE] && !o->nwatch) return true;
  Session *s = &cmd->session;
  for (int i = 0; i < o->nwatch; i++) {
    char *path = strdup(o->watch[i]), *colon = path ? strrchr(path, ':') : NULL;
    uint64_t every = 1;
    if (!path) return err_set(e, EXIT_ENV, "no memory to watch values");
    bool number = colon && colon[1] && strspn(colon + 1, "0123456789") == strlen(colon + 1);
    if (number) every = strtoull(colon + 1, NULL, 10);
    if (colon) *colon = 0;
    bool ok = !colon || (number && every > 0);
    if (!ok) {
      err_set(e, EXIT_USAGE, "--watch %s: %s is no number of steps", o->watch[i], colon + 1);
      err_hint(e, "--watch %s:100 prints every 100 steps", path);
    }
    ok = ok && add_watched(cmd, path, o->watch[i], every, e);
    free(path);
    if (!ok) return false;
  }
  s->inspect = inspect, s->inspect_arg = cmd;
  return true;
}

void inspect_free(Command *cmd) { free(cmd->inspection.watched); }
