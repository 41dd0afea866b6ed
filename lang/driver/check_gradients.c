/* gc --check-gradients ENTRY: each gradient that an entry takes against central differences of its
   loss, by the reference interpreter in f64, on random inputs. A difference along a random
   direction costs two runs of the forward pass, whatever a param's size; where it disagrees, single
   elements are looked at. Contract: prints a line a param; an error names the worst one and its
   worst element. */
#include "codegen/program/bounds.h"
#include "ir/eval/interp.h"
#include "lang/driver/command.h"
#include "passes/passes.h"

#include <float.h>
#include <math.h>

enum { ELEMENTS = 16 }; /* looked at of a param whose direction disagrees */
/* In f64 a central difference with the first step is exact to some eight digits. One that crosses a
   kink of relu or max is not: a shorter one crosses fewer. A kink that x lies on shows in the
   slopes of both sides. ROUNDING: of a loss, relative. */
static const double STEPS[] = {1e-6, 1e-7, 1e-8}, TOLERANCE = 1e-4, ROUNDING = 64 * DBL_EPSILON;

/* What a gradient is by: a global or an input by number, -1: neither. */
typedef struct Variable {
  int global, input;
  const char *path;
} Variable;

/* One gradient op of the entry, and two modules of the program: in `with` the entry returns the
   loss and the gradients, in `forward` the loss alone. Neither updates anything. */
typedef struct Check {
  Front *f;
  Interp *with, *forward;
  const Entry *with_entry, *forward_entry;
  Tensor *input;                 /* both are given the same */
  Variable *by;                  /* each gradient */
  int n;                         /* gradients */
  bool differs, kinks, compared; /* one of all; compared: not with zero */
} Check;

/* ---- the modules ---- */

typedef struct Shorten {
  Check *k;
  int number, seen; /* gradient ops: the one that is wanted, those before */
  bool gradients;   /* returned as well */
  const Op *grad;   /* of the old entry */
} Shorten;

static Variable variable_of(const Entry *e, ValueId v) {
  const Op *op = value_def(e, v);
  if (op && op->kind == OP_LOAD) {
    int global = (int)op->attr[AT_GLOBAL].i;
    return (Variable){global, -1, e->module->globals.at[global].path};
  }
  for (uint32_t i = 0; i < e->body->args.n; i++)
    if (e->body->args.at[i] == v) return (Variable){-1, (int)i, value_at(e, v)->name};
  return (Variable){-1, -1, value_str(e, v)};
}

static void shorten(Builder *b, const Entry *old, const Op *op, ValueId *map, void *data) {
  Shorten *s = data;
  if (op->kind == OP_GRAD && !op->parent->op && s->seen++ == s->number) s->grad = op;
  if (op->kind == OP_STORE) return;
  if (op->kind != OP_RETURN) {
    build_copy(b, old, op, map);
    return;
  }
  Ctx *c = old->module->ctx;
  int n = s->gradients ? s->grad->nresults : 0;
  ValueId *v = ARENA_ARRAY(ctx_arena(c), ValueId, n + 1);
  const char **name = ARENA_ARRAY(ctx_arena(c), const char *, n + 1);
  if (s->gradients) s->k->by = ARENA_ARRAY(ctx_arena(c), Variable, n + 1);
  v[0] = map[s->grad->operands[0]];
  name[0] = intern(c, "loss");
  for (int i = 0; i < n; i++) {
    v[i + 1] = map[s->grad->results[i]];
    name[i + 1] = intern_printf(c, "gradient%d", i);
    s->k->by[i] = variable_of(old, s->grad->operands[i + 1]);
  }
  if (s->gradients) s->k->n = n;
  build_return(b, v, name, n + 1);
}

static Entry *find_entry(const Module *m, const char *name) {
  for (uint32_t i = 0; i < m->entries.n; i++)
    if (strcmp(m->entries.at[i]->name, name) == 0) return m->entries.at[i];
  return NULL;
}

static int count_gradients(const Entry *e) {
  int n = 0;
  for (uint32_t i = 0; i < e->body->ops.n; i++) n += op_at(e, e->body->ops.at[i])->kind == OP_GRAD;
  return n;
}

/* The program again, its entry shortened, with its initial values; NULL with the exit code. */
static Interp *shortened(Check *k, const char *name, int number, bool gradients, const Entry **e,
                         int *code) {
  Module *m = front_module(k->f, code);
  if (!m) return NULL;
  Shorten s = {.k = k, .number = number, .gradients = gradients};
  Entry *entry = find_entry(m, name);
  entry_rebuild(entry, shorten, &s, false, true);
  if (!passes_run(m, "autodiff,dce", &(PassOptions){.out = stderr}))
    gc_bug(k->f->c, "the gradients cannot be expanded");
  Interp *it = interp_new(m, INTERP_F64, 0);
  if (m->init && !interp_run(it, m->init, NULL, NULL)) gc_bug(k->f->c, "init: %s", it->why);
  *e = entry;
  return it;
}

/* ---- inputs ---- */

static double random_unit(uint64_t *state) { /* of splitmix64, in (0, 1) */
  *state += 0x9e3779b97f4a7c15u;
  uint64_t z = *state;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return ((double)((z ^ z >> 31) >> 12) + 0.5) * 0x1p-52;
}

static double random_normal(uint64_t *state) {
  double u = random_unit(state);
  return sqrt(-2 * log(u)) * cos(6.283185307179586 * random_unit(state));
}

/* The least limit of what the input's elements index; 0: none is known. */
static int64_t limit_of(const InputLimits *l) {
  int64_t least = 0;
  for (uint32_t i = 0; i < l->n; i++)
    if (l->at[i].limit && (!least || l->at[i].limit < least)) least = l->at[i].limit;
  return least;
}

/* Floats are normal, pixels any byte, indices within what they index. */
static void fill_inputs(Check *k, Arena *a, const Entry *e) {
  uint64_t state = 1;
  const InputUses *uses = input_uses(a, e);
  k->input = ARENA_ARRAY(a, Tensor, e->body->args.n + 1);
  for (uint32_t i = 0; i < e->body->args.n; i++) {
    const Type *t = value_type(e, e->body->args.at[i]);
    int64_t limit = limit_of(&uses->limits[i]);
    if (!limit) limit = t->dtype == DT_BOOL ? 2 : t->dtype == DT_U8 ? 256 : 8;
    k->input[i] = (Tensor){t, ARENA_ARRAY(a, Scalar, t->numel)};
    for (int64_t j = 0; j < t->numel; j++) {
      if (dtype_is_float(t->dtype))
        k->input[i].at[j].f = random_normal(&state);
      else
        k->input[i].at[j].i = (int64_t)(random_unit(&state) * (double)limit);
    }
  }
}

static bool run(Check *k, Tensor *out) { return interp_run(k->with, k->with_entry, k->input, out); }

/* Where the interpreter says that an index is too large, which no analysis foresaw: with zeros in
   one input of integers, or else in all. */
static bool run_with_zeros(Check *k, Arena *a, Tensor *out) {
  const Block *body = k->with_entry->body;
  for (uint32_t i = 0; i < body->args.n; i++) {
    Tensor *x = &k->input[i], zeros = {.type = x->type}, was = *x;
    zeros.at = ARENA_ARRAY(a, Scalar, x->type->numel);
    *x = zeros;
    if (!dtype_is_float(x->type->dtype) && run(k, out)) {
      printf("  %s holds zeros, as other numbers were too large for an index\n",
             value_at(k->with_entry, body->args.at[i])->name);
      return true;
    }
    *x = was;
  }
  for (uint32_t i = 0; i < body->args.n; i++)
    for (int64_t j = 0; j < k->input[i].type->numel; j++)
      if (!dtype_is_float(k->input[i].type->dtype)) k->input[i].at[j].i = 0;
  printf("  inputs of integers hold zeros, as other numbers were too large for an index\n");
  return run(k, out);
}

/* ---- differences ---- */

static double loss_at(const Check *k) {
  Tensor out;
  return interp_run(k->forward, k->forward_entry, k->input, &out) ? out.at[0].f : NAN;
}

/* The slopes of the loss on both sides of x, a global or an input, along d or along one element. */
typedef struct Slopes {
  double left, right;
} Slopes;

static Slopes slopes(const Check *k, Tensor *x, const double *d, int64_t element, double step) {
  int64_t from = d ? 0 : element, to = d ? x->type->numel : element + 1;
  double at[3]; /* behind x, at x, before x */
  for (int s = 0; s < 3; s++) {
    for (int64_t j = from; j < to; j++) x->at[j].f += (s ? -1 : 1) * step * (d ? d[j] : 1);
    at[s] = loss_at(k);
  }
  for (int64_t j = from; j < to; j++) x->at[j].f += step * (d ? d[j] : 1);
  /* the loss at x itself, between the other two, differs from that of `with` by rounding alone */
  return (Slopes){(at[1] - at[2]) / step, (at[0] - at[1]) / step};
}

static double central(Slopes s) { return (s.left + s.right) / 2; }

/* The index of the largest element of g that is not among the n taken. */
static int64_t next_largest(const Tensor *g, const int64_t *taken, int n) {
  int64_t best = 0;
  double most = -1;
  for (int64_t j = 0; j < g->type->numel; j++) {
    bool again = !(fabs(g->at[j].f) > most);
    for (int i = 0; i < n && !again; i++) again = taken[i] == j;
    if (!again) best = j, most = fabs(g->at[j].f);
  }
  return best;
}

/* The element whose derivative is worst, among the largest of the gradient and as many others. */
static void report_worst(const Check *k, Tensor *x, const Tensor *g, const char *path) {
  Ctx *c = k->f->c;
  uint64_t state = 7;
  int64_t taken[ELEMENTS], worst = 0;
  double error = -1, want = 0;
  for (int i = 0; i < ELEMENTS; i++) {
    taken[i] =
        i % 2 ? (int64_t)(random_unit(&state) * (double)x->type->numel) : next_largest(g, taken, i);
    double w = central(slopes(k, x, NULL, taken[i], STEPS[0])), off = fabs(g->at[taken[i]].f - w);
    if (off > error || isnan(off)) worst = taken[i], error = isnan(off) ? INFINITY : off, want = w;
  }
  double got = g->at[worst].f;
  const char *at = "";
  for (int i = x->type->rank; i-- > 0; worst /= x->type->dim[i])
    at = intern_printf(c, "%lld%s%s", (long long)(worst % x->type->dim[i]), *at ? ", " : "", at);
  diag(c, SEV_ERROR, (Loc){0},
       "the gradient of %s is not the derivative of the loss: at [%s] it is %.6g, differences say "
       "%.6g",
       path, at, got, want);
}

static void check_one(Check *k, double loss, const Tensor *g, const Variable *by) {
  if (by->global < 0 && by->input < 0) {
    printf("  %-32s %-20s of a value inside, not checked\n", by->path, type_text(k->f->c, g->type));
    return;
  }
  Tensor *x = by->global >= 0 ? &k->forward->globals[by->global] : &k->input[by->input];
  Arena *a = arena_new();
  double *d = ARENA_ARRAY(a, double, g->type->numel), got = 0, squares = 0, norm = 0;
  uint64_t state = random_hash(by->path);
  for (int64_t j = 0; j < g->type->numel; j++) {
    d[j] = random_normal(&state);
    got += g->at[j].f * d[j];
    squares += g->at[j].f * d[j] * g->at[j].f * d[j];
    norm += g->at[j].f * g->at[j].f;
  }
  /* what differences cannot tell from 0, as the derivative by a bias in front of a norm */
  const double least = ROUNDING * fabs(loss) / STEPS[0];
  double error = 0;
  bool agrees = false, zero = false, kink = false;
  for (int i = 0; i < (int)(sizeof STEPS / sizeof *STEPS) && !agrees; i++) {
    Slopes side = slopes(k, x, d, 0, STEPS[i]);
    double want = central(side), off = fabs(got - want), scale = fmax(sqrt(squares), fabs(want));
    double e = off == 0 ? 0 : off / scale; /* NaN agrees with nothing */
    zero = scale <= least && off <= least;
    agrees = zero || e <= TOLERANCE;
    /* where both sides have slopes of their own, as relu at 0, any gradient between is right */
    kink = !agrees && off <= fabs(side.right - side.left);
    if (!i || agrees) error = e;
  }
  char differs[64];
  snprintf(differs, sizeof differs, "differs by %.1e", error);
  printf("  %-32s %-20s norm %-11.4g %s%s\n", by->path, type_text(k->f->c, g->type), sqrt(norm),
         zero ? "zero, but for rounding" : differs,
         agrees ? ""
         : kink ? "  at a kink, not checked"
                : "  WRONG");
  k->kinks |= kink;
  k->compared |= !zero;
  agrees |= kink;
  if (!agrees) {
    k->differs = true;
    fflush(stdout);
    report_worst(k, x, g, by->path);
  }
  arena_free(a);
}

static void check_op(Check *k, Arena *a, const char *entry) {
  Tensor *out = ARENA_ARRAY(ctx_arena(k->f->c), Tensor, k->n + 1);
  if (!run(k, out) && !run_with_zeros(k, a, out)) {
    fflush(stdout);
    diag(k->f->c, SEV_ERROR, (Loc){0}, "entry %s cannot run on random inputs: %s", entry,
         k->with->why);
    k->differs = true;
    return;
  }
  printf("entry %s, loss %.6g on random inputs\n", entry, out[0].at[0].f);
  if (!isfinite(out[0].at[0].f)) {
    fflush(stdout);
    diag(k->f->c, SEV_ERROR, (Loc){0}, "the loss of entry %s is not finite on random inputs",
         entry);
    diag(k->f->c, SEV_HINT, (Loc){0},
         "limit what sqrt, log and division take; --check-finite of the program names the "
         "operation");
    k->differs = true;
    return;
  }
  for (int i = 0; i < k->n; i++) check_one(k, out[0].at[0].f, &out[i + 1], &k->by[i]);
}

/* Where the entry's file holds values constant for gradients, which differences do not. The
   prelude's own stop_gradients change no derivative. */
static void note_stop_gradients(Ctx *c, const Entry *e) {
  enum { PLACES = 8 };
  Loc at[PLACES];
  int n = 0;
  for (uint32_t i = 0; i < e->ops.n && n < PLACES; i++) {
    const Op *op = e->ops.at[i];
    if (op->kind != OP_STOP_GRADIENT || op->loc.file != e->loc.file) continue;
    bool told = false; /* of an iteration of a loop before, or of another call */
    for (int k = 0; k < n; k++) told |= at[k].line == op->loc.line && at[k].col == op->loc.col;
    if (told) continue;
    at[n++] = op->loc;
    diag(c, SEV_NOTE, op->loc, "stop_gradient holds a value constant here, differences do not");
  }
}

int check_gradients(Front *f, const char *entry) {
  int code = EXIT_DONE;
  Module *m = front_module(f, &code);
  if (!m) return code;
  const Entry *e = find_entry(m, entry);
  if (!e) {
    const char *names = "";
    for (uint32_t i = 0; i < m->entries.n; i++)
      names = intern_printf(f->c, "%s%s%s", names, i ? ", " : "", m->entries.at[i]->name);
    return usage_error("--check-gradients: %s has no entry '%s'; it has %s", f->o->input, entry,
                       names);
  }
  int ops = count_gradients(e);
  if (!ops)
    return usage_error("--check-gradients: entry %s takes no gradient outside of a scan; an entry "
                       "with minimize does",
                       entry);
  Check k = {.f = f};
  for (int i = 0; i < ops && !code; i++) {
    k.with = shortened(&k, entry, i, true, &k.with_entry, &code);
    k.forward = k.with ? shortened(&k, entry, i, false, &k.forward_entry, &code) : NULL;
    if (!k.forward) break;
    Arena *a = arena_new();
    fill_inputs(&k, a, e);
    check_op(&k, a, entry);
    arena_free(a);
    interp_free(k.with);
    interp_free(k.forward);
  }
  if (code) return code;
  if (k.differs)
    note_stop_gradients(f->c, e);
  else if (!k.compared)
    printf("all gradients are zero on these inputs, so none was compared\n");
  else
    printf("the gradients agree with finite differences%s\n",
           k.kinks ? ", but for those at a kink of the loss, which other initial values may avoid"
                   : "");
  return k.differs ? EXIT_PROGRAM : EXIT_DONE;
}
