/* The pass manager: reads a pipeline string, checks that every pass finds what it needs, runs it.
   Contract: a pipeline is checked as a whole before its first pass runs; a property that a pass
   does not keep is lost, and with the liveness goes the plan. */
#include "passes/manager/pass_list.h"

#include <stdlib.h>
#include <time.h>

typedef struct Pass {
  const char *name;
  bool (*run)(PassRun *r);
  unsigned needs, forbids, gives, keeps; /* bits of Property */
  const char *args;                      /* "match=N strategy=WORD" */
  const char *help;
} Pass;

static const Pass pass_table[] = {
#define PASS(ID, NAME, NEEDS, FORBIDS, GIVES, KEEPS, ARGS, HELP)                                   \
  {.name = NAME,                                                                                   \
   .run = pass_##ID,                                                                               \
   .needs = NEEDS,                                                                                 \
   .forbids = FORBIDS,                                                                             \
   .gives = GIVES,                                                                                 \
   .keeps = KEEPS,                                                                                 \
   .args = ARGS,                                                                                   \
   .help = HELP},
#include "passes/passes.def"
#undef PASS
};
enum { NPASSES = sizeof pass_table / sizeof pass_table[0] };

static const struct {
  unsigned bit;
  const char *name, *what;
} property[] = {
    {HAS_NO_GRAD, "no-grad", "a program without grad ops"},
    {HAS_FUSION, "fusion", "kernels"},
    {HAS_LAYOUT, "layout", "layouts"},
    {HAS_ORDER, "order", "an order of execution"},
    {HAS_LIVENESS, "liveness", "the lives of values"},
    {HAS_ALIASES, "aliases", "the in-place decisions"},
    {HAS_OFFSETS, "offsets", "the offsets of values"},
    {HAS_PROOF, "proof", "a plan proven right"},
};
enum { NPROPERTIES = sizeof property / sizeof property[0] };

/* ---------------------------------------------------------------- pipelines -- */

typedef struct Stage {
  const Pass *pass;
  const char *args;
} Stage;

typedef struct Pipeline {
  VEC(Stage) stages;
  const Snapshot *came; /* the program as it came, where there is a limit; else NULL */
} Pipeline;

static const Pass *pass_find(const char *name) {
  for (int i = 0; i < NPASSES; i++)
    if (strcmp(pass_table[i].name, name) == 0) return &pass_table[i];
  return NULL;
}

static bool pipeline_fail(Ctx *c, const char *hint, const char *message) {
  diag(c, SEV_ERROR, (Loc){0}, "%s", message);
  if (hint) diag(c, SEV_HINT, (Loc){0}, "%s", hint);
  return false;
}

static const char *trim(Arena *a, const char *s, size_t n) {
  while (n && (*s == ' ' || *s == '\n' || *s == '\t')) s++, n--;
  while (n && (s[n - 1] == ' ' || s[n - 1] == '\n' || s[n - 1] == '\t')) n--;
  char *out = arena_alloc(a, n + 1);
  memcpy(out, s, n);
  return out;
}

/* One "key=value" against the pass's "key=N other=WORD". */
static bool arg_check(Ctx *c, const Pass *p, const char *arg) {
  Arena *a = ctx_arena(c);
  const char *eq = strchr(arg, '=');
  size_t key = eq ? (size_t)(eq - arg) : strlen(arg);
  for (const char *s = p->args; *s;) {
    size_t n = strcspn(s, " ");
    if (strncmp(s, arg, key) == 0 && s[key] == '=') {
      bool number = strncmp(s + key, "=N", 2) == 0;
      char *end = NULL;
      if (eq) (void)strtoll(eq + 1, &end, 10);
      if (!eq || !eq[1] || (number && *end))
        return pipeline_fail(c, NULL,
                             arena_printf(a, "pass '%s' needs %.*s with %s, not '%s'", p->name,
                                          (int)key + 1, s, number ? "an integer" : "a word", arg));
      return true;
    }
    s += n + (s[n] == ' ');
  }
  return pipeline_fail(c, *p->args ? arena_printf(a, "it has %s", p->args) : NULL,
                       arena_printf(a, "pass '%s' has no argument '%.*s'", p->name, (int)key, arg));
}

static bool stage_parse(Ctx *c, const char *text, size_t n, Stage *out) {
  Arena *a = ctx_arena(c);
  const char *s = trim(a, text, n), *open = strchr(s, '{');
  size_t len = strlen(s);
  if (len == 0)
    return pipeline_fail(c, "names stand between single commas, as in 'fold,cse,dce'",
                         "the pipeline has an empty pass name");
  if (open && s[len - 1] != '}')
    return pipeline_fail(c, NULL, arena_printf(a, "'%s' lacks its closing '}' in the pipeline", s));
  const char *name = trim(a, s, open ? (size_t)(open - s) : len);
  out->pass = pass_find(name);
  if (!out->pass) {
    const char *names[NPASSES];
    for (int i = 0; i < NPASSES; i++) names[i] = pass_table[i].name;
    const char *near = nearest_name(c, name, names, NPASSES);
    return pipeline_fail(
        c, near ? arena_printf(a, "did you mean '%s'?", near) : "--list-passes names them all",
        arena_printf(a, "there is no pass '%s'", name));
  }
  out->args = open ? trim(a, open + 1, len - (size_t)(open - s) - 2) : "";
  for (const char *p = out->args; *p;) {
    size_t k = strcspn(p, ",");
    if (!arg_check(c, out->pass, trim(a, p, k))) return false;
    p += k + (p[k] == ',');
  }
  return true;
}

/* Names the passes that give a property, for the hint: "liveness". */
static const char *givers(Arena *a, unsigned bit) {
  const char *out = "";
  for (int i = 0; i < NPASSES; i++)
    if (pass_table[i].gives & bit)
      out = arena_printf(a, "%s%s'%s'", out, *out ? " or " : "", pass_table[i].name);
  return out;
}

/* Of the text of a pipeline's first stage, arguments included. */
static size_t stage_length(const char *s) {
  size_t n = 0;
  for (int depth = 0; s[n] && (depth > 0 || s[n] != ','); n++)
    depth += s[n] == '{' ? 1 : s[n] == '}' ? -1 : 0;
  return n;
}

const char *passes_giver(const char *pipeline, Property p, size_t *length) {
  for (const char *s = pipeline; *s; s += *s == ',') {
    size_t n = *length = stage_length(s), name = strcspn(s, "{,");
    for (int i = 0; i < NPASSES; i++)
      if (pass_table[i].gives & p && strlen(pass_table[i].name) == name &&
          strncmp(pass_table[i].name, s, name) == 0)
        return s;
    s += n;
  }
  return NULL;
}

/* have: the properties that hold before the first pass */
static bool pipeline_parse(Ctx *c, const char *text, unsigned have, Pipeline *out) {
  Arena *a = ctx_arena(c);
  const char *lost_by[NPROPERTIES] = {0};  /* the pass that did not keep it */
  const char *given_by[NPROPERTIES] = {0}; /* the pass of the pipeline that gave it last */
  for (const char *s = text;; s++) {
    size_t n = stage_length(s);
    Stage st = {0};
    if (!stage_parse(c, s, n, &st)) return false;
    const Pass *p = st.pass;
    for (int i = 0; i < NPROPERTIES; i++) {
      unsigned bit = property[i].bit;
      if (!(p->needs & bit) || (have & bit)) continue;
      const char *why = lost_by[i] ? arena_printf(a, ", which '%s' did not keep", lost_by[i]) : "";
      return pipeline_fail(c,
                           arena_printf(a, "pass %s gives it: put it %s '%s'", givers(a, bit),
                                        lost_by[i] ? "again before" : "before", p->name),
                           arena_printf(a, "pass '%s' needs %s%s", p->name, property[i].what, why));
    }
    for (int i = 0; i < NPROPERTIES; i++) {
      unsigned bit = property[i].bit;
      if (!(p->forbids & have & bit) || !given_by[i]) continue;
      return pipeline_fail(c, arena_printf(a, "put '%s' before '%s'", p->name, given_by[i]),
                           arena_printf(a, "pass '%s' comes too late: '%s' has made %s", p->name,
                                        given_by[i], property[i].what));
    }
    for (int i = 0; i < NPROPERTIES; i++) {
      if (have & property[i].bit & ~(p->keeps | p->gives)) lost_by[i] = p->name;
      if (p->gives & property[i].bit) given_by[i] = p->name;
    }
    have = (have & p->keeps) | p->gives;
    vec_push(a, &out->stages, st);
    s += n;
    if (!*s) return true;
  }
}

/* A program has layouts only behind the pass that chooses them, or as IR that was printed there. */
enum { LAID_OUT = HAS_NO_GRAD | HAS_LAYOUT };

bool passes_check(Ctx *c, const char *pipeline, bool is_ir) {
  Pipeline p = {0};
  return pipeline_parse(c, pipeline, is_ir ? LAID_OUT : 0, &p);
}

const char *passes_pipeline(int level) {
#define CLEAN "fold,hoist,cse,dce,"
#define UNDER_A_LIMIT "microbatch,row-tiles,concat-split,image-tiles,"
#define PLAN_WITH(EFFORT)                                                                          \
  "layout,order,remat" EFFORT ",liveness,inplace,streams,share" EFFORT ",plan-verify"
#define PLAN PLAN_WITH("")
#define FUSED                                                                                      \
  "guard,gather-matmul," CLEAN "autodiff," CLEAN UNDER_A_LIMIT "shared-stacks,cheap-remat,fuse,"
  static const char *const by_level[] = {
      "gather-matmul,autodiff,dce," UNDER_A_LIMIT PLAN,
      "gather-matmul," CLEAN "autodiff," CLEAN UNDER_A_LIMIT "shared-stacks," PLAN,
      FUSED PLAN,
      FUSED PLAN_WITH("{effort=400}"),
  };
#undef CLEAN
#undef UNDER_A_LIMIT
#undef PLAN
#undef PLAN_WITH
#undef FUSED
  return by_level[level < 0 ? 0 : level > 3 ? 3 : level];
}

/* ---------------------------------------------------------------- arguments -- */

static const char *arg_find(const PassRun *r, const char *key, size_t *len) {
  size_t n = strlen(key);
  for (const char *s = r->args; *s;) {
    s += strspn(s, " \t\n");
    size_t k = strcspn(s, ",");
    if (k > n && strncmp(s, key, n) == 0 && s[n] == '=') {
      *len = k - n - 1;
      return s + n + 1;
    }
    s += k + (s[k] == ',');
  }
  return NULL;
}

int64_t pass_arg_int(const PassRun *r, const char *key, int64_t otherwise) {
  size_t n;
  const char *s = arg_find(r, key, &n);
  return s ? strtoll(s, NULL, 10) : otherwise;
}

const char *pass_arg_str(const PassRun *r, const char *key, const char *otherwise) {
  size_t n;
  const char *s = arg_find(r, key, &n);
  return s ? trim(r->scratch, s, n) : otherwise;
}

/* ---------------------------------------------------------------- running ---- */

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Text of all entries, with the plan where there is one. */
static void print_module(FILE *f, const Module *m, const char *after, int64_t changes,
                         bool planned) {
  fprintf(f, "; after %s, changes: %lld\n", after, (long long)changes);
  PrintOptions o = {.locs = false, .note = planned ? plan_note : NULL};
  module_print(f, m, &o);
}

static void print_table(FILE *f, const Pipeline *p, const double *ms, const int64_t *changes,
                        const PassOptions *opt) {
  double total = 0;
  for (uint32_t i = 0; i < p->stages.n; i++) total += ms[i];
  fprintf(f, "%-14s", "pass");
  if (opt->time_passes) fprintf(f, " %10s %6s", "ms", "%");
  if (opt->stats) fprintf(f, " %10s", "changes");
  fputc('\n', f);
  for (uint32_t i = 0; i < p->stages.n; i++) {
    fprintf(f, "%-14s", p->stages.at[i].pass->name);
    if (opt->time_passes) fprintf(f, " %10.3f %6.1f", ms[i], total > 0 ? 100 * ms[i] / total : 0);
    if (opt->stats) fprintf(f, " %10lld", (long long)changes[i]);
    fputc('\n', f);
  }
  if (opt->time_passes) fprintf(f, "%-14s %10.3f %6.1f\n", "total", total, 100.0);
}

/* Of Entry.left_out; a stage far behind is left out by none. */
static uint64_t stage_bit(uint32_t stage) { return stage < 64 ? UINT64_C(1) << stage : 0; }

/* Takes the entries that leave the stage out from the module's; `all` are all of them. */
static void hide_entries(Module *m, uint64_t bit, Arena *a, Module *all) {
  bool any = false;
  *all = *m;
  for (uint32_t k = 0; k < m->entries.n; k++) any |= (m->entries.at[k]->left_out & bit) != 0;
  if (!any) return;
  m->entries.at = ARENA_ARRAY(a, Entry *, m->entries.n + 1);
  m->entries.n = 0;
  for (uint32_t k = 0; k < all->entries.n; k++)
    if (!(all->entries.at[k]->left_out & bit)) m->entries.at[m->entries.n++] = all->entries.at[k];
}

static bool run_stage(Module *m, const Pipeline *p, uint32_t stage, const PassOptions *opt,
                      double *ms, int64_t *changes, bool *ends) {
  Arena *scratch = arena_new();
  const Stage *st = &p->stages.at[stage];
  PassRun r = {
      .m = m, .opt = opt, .scratch = scratch, .args = st->args, .pipeline = p, .stage = stage};
  double start = now_ms();
  Module all;
  hide_entries(m, stage_bit(stage), scratch, &all);
  bool ok = st->pass->run(&r);
  m->entries = all.entries;
  *ms = now_ms() - start;
  *changes = r.changes;
  *ends = r.ends;
  arena_free(scratch);
  return ok;
}

/* The stages of the pipeline from this one on, up to another one. */
static bool run_stages(Module *m, const Pipeline *p, uint32_t from, uint32_t end,
                       const PassOptions *opt) {
  FILE *f = opt->out ? opt->out : stderr;
  double *ms = ARENA_ARRAY(ctx_arena(m->ctx), double, p->stages.n);
  int64_t *changes = ARENA_ARRAY(ctx_arena(m->ctx), int64_t, p->stages.n);
  unsigned have = 0;
  bool ok = true, ends = false;
  for (uint32_t i = from; ok && !ends && i < end; i++) {
    const Pass *pass = p->stages.at[i].pass;
    if (!(pass->keeps & HAS_LIVENESS)) { /* also a plan of an earlier pipeline is void now */
      Entry *e;
      for (uint32_t k = 0; (e = pass_entry(m, k)); k++) e->plan = NULL;
    }
    ok = run_stage(m, p, i, opt, &ms[i], &changes[i], &ends);
    have = (have & pass->keeps) | pass->gives;
    if (ok && opt->verify_each) ok = module_verify(m, pass->name);
    const char *after = opt->print_after;
    bool asked = after && (strcmp(after, "all") == 0 || strcmp(after, pass->name) == 0);
    if (ok && (asked || (opt->print_changed && changes[i] > 0)))
      print_module(f, m, pass->name, changes[i], have & HAS_OFFSETS);
  }
  if (ok && (opt->time_passes || opt->stats)) print_table(f, p, ms, changes, opt);
  return ok;
}

const char *passes_behind_layout(const char *pipeline) {
  size_t n;
  const char *at = passes_giver(pipeline, HAS_LAYOUT, &n);
  if (!at) return pipeline;
  return at[n] ? at + n + 1 : at + n;
}

bool passes_has_layouts(const Module *m) {
  const Entry *e;
  for (uint32_t g = 0; g < m->globals.n; g++)
    if (m->globals.at[g].layout) return true;
  for (uint32_t k = 0; (e = pass_entry(m, k)); k++)
    for (ValueId v = 0; v < e->values.n; v++)
      if (value_at(e, v)->layout) return true;
  return false;
}

static bool layouts_kept(Ctx *c, const Pipeline *p) {
  for (uint32_t i = 0; i < p->stages.n; i++) {
    const Pass *pass = p->stages.at[i].pass;
    if (pass->keeps & HAS_LAYOUT) continue;
    return pipeline_fail(c,
                         arena_printf(ctx_arena(c), "--passes=%s plans it as it is",
                                      passes_behind_layout(passes_pipeline(2))),
                         arena_printf(ctx_arena(c),
                                      "pass '%s' comes too late: the program has its layouts",
                                      pass->name));
  }
  return true;
}

bool passes_run(Module *m, const char *pipeline, const PassOptions *opt) {
  bool laid_out = passes_has_layouts(m);
  Pipeline p = {0};
  for (uint32_t k = 0; k < m->entries.n; k++) { /* of another pipeline */
    m->entries.at[k]->left_out = 0;
    m->entries.at[k]->in_order = false;
  }
  if (!pipeline_parse(m->ctx, pipeline, laid_out ? LAID_OUT : 0, &p)) return false;
  if (laid_out && !layouts_kept(m->ctx, &p)) return false;
  bool limited = !opt->trial && (opt->limit.bytes || opt->limit.share > 0);
  const Snapshot came = limited ? snapshot_copy(m->arena, m) : (Snapshot){0};
  if (limited) p.came = &came;
  return run_stages(m, &p, 0, p.stages.n, opt);
}

bool passes_again(const PassRun *r, uint64_t limit, uint32_t k, Trial *out) {
  const Pipeline *p = r->pipeline;
  Module *m = r->m;
  if (!p->came) return false;
  PassOptions own = {.target = r->opt->target,
                     .plan_seconds = r->opt->plan_seconds,
                     .limit = {.bytes = limit},
                     .probe = true};
  const Snapshot now = snapshot_take(r->scratch, m);
  snapshot_restore(m, p->came);
  const Snapshot came = snapshot_take(r->scratch, m); /* which stays for the next time */
  bool ok = run_stages(m, p, 0, p->stages.n, &own);
  if (ok) *out = trial_of(m->entries.at[k], r->opt->target);
  snapshot_restore(m, &came);
  snapshot_restore(m, &now);
  return ok;
}

bool passes_rest(const PassRun *r, const PassOptions *opt) {
  return run_stages(r->m, r->pipeline, r->stage + 1, r->pipeline->stages.n, opt);
}

uint64_t passes_stages(const PassRun *r, const char *name, const char *until) {
  const Pipeline *p = r->pipeline;
  uint64_t bits = 0;
  for (uint32_t i = r->stage + 1; i < p->stages.n; i++) {
    const char *pass = p->stages.at[i].pass->name;
    if (until && strcmp(pass, until) == 0) break;
    if (strcmp(pass, name) == 0) bits |= stage_bit(i);
  }
  return bits;
}

bool passes_until(const PassRun *r, const char *name, const PassOptions *opt) {
  const Pipeline *p = r->pipeline;
  for (uint32_t i = r->stage + 1; i < p->stages.n; i++)
    if (strcmp(p->stages.at[i].pass->name, name) == 0)
      return run_stages(r->m, p, r->stage + 1, i + 1, opt);
  return false;
}

/* ---------------------------------------------------------------- help ------- */

static void print_bits(FILE *f, const char *what, unsigned bits) {
  fprintf(f, "%s ", what);
  const char *between = "";
  for (int i = 0; i < NPROPERTIES; i++) {
    if (!(bits & property[i].bit)) continue;
    fprintf(f, "%s%s", between, property[i].name);
    between = ",";
  }
  if (!*between) fputc('-', f);
}

void passes_list(FILE *f) {
  for (int i = 0; i < NPASSES; i++) {
    const Pass *p = &pass_table[i];
    fprintf(f, "%-14s %s%s%s%s\n%-14s ", p->name, p->help, *p->args ? " {" : "", p->args,
            *p->args ? "}" : "", "");
    print_bits(f, "needs", p->needs);
    if (p->forbids) print_bits(f, "  forbids", p->forbids);
    print_bits(f, "  gives", p->gives);
    print_bits(f, "  keeps", p->keeps);
    fputc('\n', f);
  }
  fputc('\n', f);
  for (int level = 0; level <= 3; level++) fprintf(f, "-O%d  %s\n", level, passes_pipeline(level));
}
