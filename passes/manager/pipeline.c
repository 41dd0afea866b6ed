/* The pipeline: reads its text, checks that every pass finds what it needs, runs it.
   Contract: a pipeline is checked as a whole before its first pass runs. All passes are known here
   and nowhere else. */
#include "passes/manager/manager_impl.h"

#include <stdlib.h>

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
  const char *s = manager_trim(a, text, n), *open = strchr(s, '{');
  size_t len = strlen(s);
  if (len == 0)
    return pipeline_fail(c, "names stand between single commas, as in 'fold,cse,dce'",
                         "the pipeline has an empty pass name");
  if (open && s[len - 1] != '}')
    return pipeline_fail(c, NULL, arena_printf(a, "'%s' lacks its closing '}' in the pipeline", s));
  const char *name = manager_trim(a, s, open ? (size_t)(open - s) : len);
  out->pass = pass_find(name);
  if (!out->pass) {
    const char *names[NPASSES];
    for (int i = 0; i < NPASSES; i++) names[i] = pass_table[i].name;
    const char *near = nearest_name(c, name, names, NPASSES);
    return pipeline_fail(
        c, near ? arena_printf(a, "did you mean '%s'?", near) : "--list-passes names them all",
        arena_printf(a, "there is no pass '%s'", name));
  }
  out->args = open ? manager_trim(a, open + 1, len - (size_t)(open - s) - 2) : "";
  for (const char *p = out->args; *p;) {
    size_t k = strcspn(p, ",");
    if (!arg_check(c, out->pass, manager_trim(a, p, k))) return false;
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

/* The first stage of the pipeline that gives the property, with its arguments; NULL: there is none.
 */
static const char *passes_giver(const char *pipeline, Property p, size_t *length) {
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

const char *passes_stage(const char *pipeline, const char *pass, size_t *length) {
  for (const char *s = pipeline; *s; s += *s == ',') {
    s += strspn(s, " \t\n");
    size_t n = *length = stage_length(s), name = strlen(pass);
    if (n >= name && strncmp(s, pass, name) == 0 && strcspn(s, "{, \t\n") == name) return s;
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
  "guard,gather-matmul," CLEAN "autodiff," CLEAN UNDER_A_LIMIT                                     \
  "shared-stacks,cheap-remat,accumulate,widen,fuse,"
  static const char *const by_level[] = {
      "gather-matmul,autodiff,dce," UNDER_A_LIMIT "accumulate,widen," PLAN,
      "gather-matmul," CLEAN "autodiff," CLEAN UNDER_A_LIMIT "shared-stacks,accumulate,widen," PLAN,
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

const char *passes_with_precision(Ctx *c, const char *pipeline, const char *precision) {
  size_t n;
  const char *at = passes_giver(pipeline, HAS_NO_GRAD, &n);
  if (!at || strcmp(precision, "f32") == 0) return pipeline;
  size_t length;
  const char *behind = at + n, *late = passes_giver(behind, HAS_FUSION, &length);
  if (!late) late = passes_giver(behind, HAS_LAYOUT, &length);
  if (!late) late = behind + strlen(behind);
  size_t widen;
  return intern_printf(
      c, "%.*sautodiff{saved=%s},precision{products=%s},narrow-states,master-weights%.*s%s%s%s",
      (int)(at - pipeline), pipeline, precision, precision, (int)(late - behind), behind,
      passes_stage(behind, "widen", &widen) ? "" : "widen,",
      strcmp(precision, "tf32") == 0 ? "transpose-operands,round-operands," : "", late);
}

/* With the argument for the stage. */
static const char *with_argument(Ctx *c, const char *pipeline, const char *pass, const char *arg) {
  size_t n, name = strlen(pass);
  const char *at = passes_stage(pipeline, pass, &n);
  if (!at) return pipeline;
  const bool more = n > name; /* "pass{…}" */
  return intern_printf(c, "%.*s%s{%s%s%.*s%s%s", (int)(at - pipeline), pipeline, pass, arg,
                       more ? "," : "", more ? (int)(n - name - 1) : 0, at + name + 1,
                       more ? "" : "}", at + n);
}

const char *passes_with_exact(Ctx *c, const char *pipeline) {
  return with_argument(c, pipeline, "accumulate", "exact=1");
}

const char *passes_with_reassociation(Ctx *c, const char *pipeline) {
  pipeline = with_argument(c, pipeline, "guard", "reassociate=1");
  pipeline = with_argument(c, pipeline, "gather-matmul", "reassociate=1");
  return with_argument(c, pipeline, "autodiff", "reassociate=1");
}

const char *passes_with_watched(Ctx *c, const char *pipeline, const char *paths) {
  return with_argument(c, pipeline, "fuse", intern_printf(c, "watch=%s", paths));
}

/* The batch is split behind autodiff, and in front of what narrows: the text that follows differs
   with the precision. All-reduces are joined before ops are ordered. If the bits are to be those of
   one process, the guard decides for all numbers of ranks as for one. */
const char *passes_with_ranks(Ctx *c, const char *pipeline, RanksHow how) {
  size_t n, length;
  if (how.exact && how.ranks > 1) pipeline = with_argument(c, pipeline, "guard", "whole=1");
  const char *at = how.ranks > 1 ? passes_giver(pipeline, HAS_NO_GRAD, &n) : NULL;
  if (!at) return pipeline;
  const char *behind = at + n, *shard = how.shard;
  if (shard && strcmp(shard, "gradients") == 0)
    behind = with_argument(c, behind, "microbatch", "scatter=1");
  const char *order = passes_giver(behind, HAS_ORDER, &length);
  return intern_printf(c, "%s%.*s,distribute{ranks=%d%s%s%s}%.*s%s%s",
                       how.local_norm ? "local-batch-norm," : "", (int)(at + n - pipeline),
                       pipeline, how.ranks, shard ? ",shard=" : "", shard ? shard : "",
                       how.exact ? ",exact=1" : "", (int)(order ? order - behind : 0), behind,
                       order ? "buckets," : "", order ? order : behind);
}

/* Behind what divides the batch among ranks, in front of what divides it in parts. */
const char *passes_with_ahead(Ctx *c, const char *pipeline, bool always) {
  size_t n;
  const char *at = passes_stage(pipeline, "microbatch", &n);
  if (!at) return pipeline;
  return intern_printf(c, "%.*sahead%s,%s", (int)(at - pipeline), pipeline,
                       always ? "{always=1}" : "", at);
}

const char *passes_with_quantized(Ctx *c, const char *pipeline, const char *argument) {
  /* a product that an entry writes twice has one error */
  const char *before = strstr(argument, "errors=1") ? "cse," : "";
  return intern_printf(c, "%squantize-weights{%s},%s", before, argument, pipeline);
}

/* ---------------------------------------------------------------- running ---- */

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

/* Padded rows are of targets that want rows aligned, other panels of those that have panels, and
   other orders of axes of those that lay out images. Integers lie in panels of the dtype that they
   are multiplied in. */
static bool is_foreign(const Target *target, const Type *t, const Layout *l) {
  if (!l) return false;
  const bool padded = !l->order && t->rank > 0 && l->nr > t->dim[t->rank - 1];
  if (padded) return !target->row_bytes;
  if (l->order && t->rank > 2) return !target->filter_panel;
  return l->nr && !target->panel(target, DT_F32);
}

const char *passes_foreign_layout(const Module *m, const Target *target) {
  const Entry *e;
  for (uint32_t g = 0; g < m->globals.n; g++)
    if (is_foreign(target, m->globals.at[g].type, m->globals.at[g].layout))
      return m->globals.at[g].path;
  for (uint32_t k = 0; (e = pass_entry(m, k)); k++)
    for (ValueId v = 0; v < e->values.n; v++) {
      const Value *x = value_at(e, v);
      if (is_foreign(target, x->type, x->layout)) return x->name ? x->name : "a value";
    }
  return NULL;
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
    EntryNotes *notes = notes_change(m->entries.at[k]);
    notes->left_out = notes->goal = 0;
    notes->in_order = notes->overlap_free = false;
  }
  const unsigned have = laid_out ? LAID_OUT : opt->lowered ? HAS_NO_GRAD : 0;
  if (!pipeline_parse(m->ctx, pipeline, have, &p)) return false;
  if (laid_out && !layouts_kept(m->ctx, &p)) return false;
  bool limited = !opt->trial && (opt->limit.bytes || opt->limit.share > 0);
  const Snapshot came = limited ? snapshot_copy(m->arena, m) : (Snapshot){0};
  if (limited) p.came = &came;
  return manager_run(m, &p, 0, p.stages.n, opt);
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
