/* What a command line asks of a compilation: its passes, effort, limits and targets' options.
   Contract: nothing has been read yet but the command line; what does not go together is refused
   here, before anything is done. */
#include "lang/driver/compilation.h"

#include <stdlib.h>
#include <string.h>

/* ROOT/lib/gc for the command ROOT/bin/gc, in the build tree and where it is installed. */
static const char *runtime_dir(Ctx *c) {
  char *path = realpath("/proc/self/exe", NULL);
  for (int up = 0; path && up < 2; up++) {
    char *slash = strrchr(path, '/');
    if (slash) *slash = 0;
  }
  const char *dir = intern_printf(c, "%s/lib/gc", path ? path : ".");
  free(path);
  return dir;
}

int settings_print_after(Compilation *r) {
  const char *wanted = r->passes.print_after;
  if (!wanted || strcmp(wanted, "all") == 0) return EXIT_DONE;
  VEC(const char *) names = {0};
  for (const char *p = r->pipeline; *p;) { /* "fold,share{match=16}": names end at , or { */
    p += strspn(p, ", \t\n");
    size_t n = strcspn(p, ",{ \t\n");
    const char *name = intern_n(r->c, p, n);
    if (strcmp(name, wanted) == 0) return EXIT_DONE;
    vec_push(ctx_arena(r->c), &names, name);
    p += n;
    if (*p == '{') p += strcspn(p, "}");
    p += *p == '}';
  }
  const char *near = nearest_name(r->c, wanted, names.at, (int)names.n);
  return usage_error("--print-after: the pipeline has no pass '%s'%s%s%s", wanted,
                     near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static int level(const Options *o) { return option_value(o, OPT_LEVEL, "2")[0] - '0'; }

/* Seconds of searching: counted in steps, so any number gives the same plan everywhere. */
int settings_effort(Compilation *r) {
  const char *text = option_value(&r->o, OPT_PLAN_TIMEOUT, "1");
  char *end;
  r->passes.plan_seconds = strtod(text, &end);
  if (end == text || *end || !(r->passes.plan_seconds >= 0 && r->passes.plan_seconds <= 1e6))
    return usage_error("--plan-timeout takes a number of seconds from 0 to 1000000, not '%s'",
                       text);
  return EXIT_DONE;
}

bool settings_bytes(const char *s, uint64_t *out) {
  static const char letters[] = "KMGT";
  char *end;
  double n = strtod(s, &end);
  const char *letter = *end ? strchr(letters, *end) : NULL;
  if (s[0] < '0' || s[0] > '9' || (*end && !letter)) return false;
  for (int k = 0; letter && k <= letter - letters; k++) n *= 1024;
  if (letter && *++end == 'i') end += end[1] == 'B';
  if (letter && *end == 'B') end++;
  if (*end || !(n >= 1) || n >= 0x1p62) return false;
  *out = (uint64_t)n;
  return letter || n == (double)*out;
}

/* A size, or a share: "50%". */
static bool parse_limit(const char *s, MemoryLimit *out) {
  char *end;
  double n = strtod(s, &end);
  out->bare = !*end;
  if (strcmp(end, "%") != 0) return settings_bytes(s, &out->bytes);
  out->share = n / 100;
  return s[0] >= '0' && s[0] <= '9' && n > 0 && n <= 100;
}

enum { MOST_STREAMS = 64, MOST_JOBS = 256 };

int settings_count(const char *s, int most) {
  char *end;
  long n = strtol(s, &end, 10);
  return s[0] >= '0' && s[0] <= '9' && !*end && n >= 1 && n <= most ? (int)n : 0;
}

/* The pipeline fits a program into a limit, and nothing in it decides otherwise later. */
static bool keeps_limits(Ctx *c, const char *pipeline) {
  size_t n;
  const char *remat = passes_stage(pipeline, "remat", &n);
  const char *share = remat ? passes_stage(remat + n + (remat[n] == ','), "share", &n) : NULL;
  return share && !strstr(intern_n(c, share, n), "strategy");
}

/* What is prepared for two batches takes bytes of its own: under a limit it is there if it is asked
   for. */
static bool settings_ahead(const Options *o) {
  const char *when = option_value(o, OPT_AHEAD, "auto");
  if (strcmp(when, "auto") != 0) return strcmp(when, "yes") == 0;
  return level(o) >= 2 && !option_given(o, OPT_MEMORY_LIMIT) &&
         !option_given(o, OPT_MEMORY_CURVE) && !option_given(o, OPT_MEMORY_REPORT);
}

const char *settings_watched(const Compilation *r) {
  char *paths = arena_printf(ctx_arena(r->c), "%s", option_value(&r->o, OPT_WATCH, ""));
  for (char *p = paths; *p; p++)
    if (*p == ',') *p = '+';
  return paths;
}

const char *settings_pipeline(const Compilation *r, int ranks) {
  const Options *o = &r->o;
  const QuantizedForm *form;
  (void)settings_weights(r->c, o, &form);
  const bool own = option_given(o, OPT_PASSES);
  const char *p = own ? o->value[OPT_PASSES]
                      : passes_with_precision(r->c, passes_pipeline(level(o)),
                                              option_value(o, OPT_PRECISION, "f32"));
  if (option_given(o, OPT_EXACT)) p = passes_with_exact(r->c, p);
  if (option_given(o, OPT_REASSOCIATE)) p = passes_with_reassociation(r->c, p);
  if (own) return p;
  if (option_given(o, OPT_WATCH)) p = passes_with_watched(r->c, p, settings_watched(r));
  const RanksHow how = {ranks, option_value(o, OPT_SHARD, NULL), option_given(o, OPT_EXACT),
                        strcmp(option_value(o, OPT_BATCH_NORM, ""), "local") == 0};
  p = passes_with_ranks(r->c, p, how);
  if (settings_ahead(o))
    p = passes_with_ahead(r->c, p, strcmp(option_value(o, OPT_AHEAD, ""), "yes") == 0);
  return form ? passes_with_quantized(r->c, p, form->argument) : p;
}

static int check_watched(const Compilation *r) {
  const Options *o = &r->o;
  if (!option_given(o, OPT_WATCH)) return EXIT_DONE;
  if (option_given(o, OPT_PASSES))
    return usage_error("--watch chooses passes, which --passes says itself: write "
                       "fuse{watch=%s} there",
                       settings_watched(r));
  const char *watch = option_value(o, OPT_WATCH, "");
  const size_t odd = strcspn(watch, "{}+= \t\n");
  if (watch[odd]) return usage_error("--watch=%s: a path has no '%c'", watch, watch[odd]);
  const size_t end = strlen(watch);
  if (!end || *watch == ',' || watch[end - 1] == ',' || strstr(watch, ",,"))
    return usage_error("--watch=%s: a path is empty; commas stand between two of them", watch);
  return EXIT_DONE;
}

/* Options that choose passes, beside each other and beside --passes. */
static int check_choices(const Compilation *r) {
  const Options *o = &r->o;
  const QuantizedForm *form;
  (void)settings_weights(r->c, o, &form);
  if (form && option_given(o, OPT_PASSES))
    return usage_error("--weights=%s chooses passes, which --passes says itself: write "
                       "quantize-weights{%s} there",
                       form->word, form->argument);
  const bool ahead = strcmp(option_value(o, OPT_AHEAD, ""), "yes") == 0;
  if (ahead && option_given(o, OPT_PASSES))
    return usage_error("--ahead=yes chooses passes, which --passes says itself: write "
                       "ahead{always=1} there");
  const int code = check_watched(r);
  if (code) return code;
  if (option_given(o, OPT_REASSOCIATE) && option_given(o, OPT_EXACT))
    return usage_error("--exact keeps the order of sums, and --reassociate lets sizes decide it");
  return EXIT_DONE;
}

static void fill_options(Compilation *r, int ranks) {
  const Options *o = &r->o;
  r->passes = (PassOptions){
      .link = r->passes.link,
      .memory = option_value(o, OPT_MEMORY, "pack"),
      .streams = settings_count(option_value(o, OPT_STREAMS, "1"), MOST_STREAMS),
      .verify_each = option_given(o, OPT_VERIFY_EACH) || GC_VERIFY_EACH,
      .time_passes = option_given(o, OPT_TIME_PASSES),
      .stats = option_given(o, OPT_STATS) && !settings_wants_times(o),
      .print_changed = option_given(o, OPT_PRINT_CHANGED),
      .curve = option_given(o, OPT_MEMORY_CURVE) ? stdout : NULL,
      .print_after = option_value(o, OPT_PRINT_AFTER, NULL),
      .out = stderr,
  };
  if (option_given(o, OPT_REMARKS))
    remark_parse(option_value(o, OPT_REMARKS, "all"), &r->passes.remarks);
  r->codegen = (CodegenOptions){
      .version = GC_VERSION,
      .runtime_dir = runtime_dir(r->c),
      .level = level(o),
      .jobs = settings_count(option_value(o, OPT_JOBS, "0"), MOST_JOBS),
      .weights = settings_weights(r->c, o, NULL),
      .no_cache = option_given(o, OPT_NO_CACHE),
      .images = option_given(o, OPT_IMAGES),
      .tokens = option_given(o, OPT_TOKENS),
      .ranks = option_given(o, OPT_DATA_PARALLEL) ? ranks : 0,
      .ranks_by = option_value(o, OPT_DATA_PARALLEL, NULL),
      .save_temps = option_given(o, OPT_SAVE_TEMPS),
      .verbose = option_given(o, OPT_VERBOSE),
      .time = option_given(o, OPT_TIME_PASSES),
      .stats = option_given(o, OPT_STATS) && !settings_wants_times(o),
      .exact = option_given(o, OPT_EXACT),
      .watched = settings_watched(r),
  };
}

/* Numbers, and limits of memory. */
static int check_numbers(Compilation *r) {
  const Options *o = &r->o;
  const char *limit = option_value(o, OPT_MEMORY_LIMIT, NULL);
  if (!r->passes.streams)
    return usage_error("--streams takes a number from 1 to %d, not '%s'", MOST_STREAMS,
                       option_value(o, OPT_STREAMS, ""));
  if (option_given(o, OPT_JOBS) && !r->codegen.jobs)
    return usage_error("--jobs takes a number from 1 to %d, not '%s'", MOST_JOBS,
                       option_value(o, OPT_JOBS, ""));
  if (limit && !parse_limit(limit, &r->passes.limit))
    return usage_error(
        "--memory-limit takes a size as 700M or 1.5G, or a share up to 100%% as 50%%, "
        "not '%s'",
        limit);
  bool packs = strcmp(r->passes.memory, "pack") == 0;
  if ((limit || r->passes.curve) && (!packs || !keeps_limits(r->c, r->pipeline)))
    return usage_error("--memory-limit and --memory-curve are about --memory=pack%s",
                       packs ? ", and need the passes remat and, behind it, share" : "");
  if (option_given(o, OPT_MEMORY_REPORT) && (limit || !packs))
    return usage_error("--memory-report compares the strategies itself, all without a limit");
  return EXIT_DONE;
}

int settings_options(Compilation *r) {
  int ranks, code = settings_ranks(r, &ranks);
  if (!code) code = check_choices(r);
  if (code) return code;
  r->pipeline = settings_pipeline(r, ranks);
  fill_options(r, ranks);
  r->front = (Front){.c = r->c, .o = &r->o};
  return check_numbers(r);
}
