/* What the options of --data-parallel ask for. */
#include "lang/driver/compilation.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 1 << 16 };

/* "20,1.25" */
static bool parse_link(const char *s, Link *out) {
  char *end;
  double us = strtod(s, &end);
  bool ok = end > s && *end == ',' && us >= 0;
  const char *rest = ok ? end + 1 : "";
  double gb = strtod(rest, &end);
  *out = (Link){.latency = 1e-6 * us, .bandwidth = 1e9 * gb};
  return ok && end > rest && !*end && gb > 0 && us < 1e9 && gb < 1e9;
}

/* "1,2,4" */
static bool parse_ranks(Compilation *r, const char *list) {
  const size_t most = strlen(list) / 2 + 1;
  r->per_rank = ARENA_ARRAY(ctx_arena(r->c), int, most);
  for (const char *s = list;; s++) {
    size_t n = strcspn(s, ",");
    int ranks = settings_count(intern_n(r->c, s, n), MOST_RANKS);
    if (!ranks) return false;
    r->per_rank[r->nper_rank++] = ranks;
    s += n;
    if (!*s) return true;
  }
}

int settings_ranks(Compilation *r, int *ranks) {
  const Options *o = &r->o;
  bool parallel = option_given(o, OPT_DATA_PARALLEL);
  const char *how = option_value(o, OPT_DATA_PARALLEL, "mpi"), *list = o->value[OPT_TARGET];
  const Backend *of = backend_of_ranks(how);
  *ranks = settings_count(option_value(o, OPT_RANKS, "1"), MOST_RANKS);
  if (parallel != option_given(o, OPT_RANKS))
    return usage_error(
        parallel ? "--data-parallel needs the number of processes: --ranks=N"
                 : "--ranks says among how many processes --data-parallel splits a batch, "
                   "which is not given");
  if (option_given(o, OPT_SHARD) && !parallel)
    return usage_error("--shard says what the ranks of --data-parallel share, which is not given");
  if (option_given(o, OPT_BATCH_NORM) && !parallel)
    return usage_error("--batch-norm says what each rank of --data-parallel has statistics of, "
                       "which is not given");
  if (strcmp(option_value(o, OPT_BATCH_NORM, ""), "local") == 0 && option_given(o, OPT_EXACT))
    return usage_error("--exact gives the bits of one process, and --batch-norm=local statistics "
                       "that one process has not");
  if (option_given(o, OPT_LINK) && !parallel && !option_given(o, OPT_PASSES))
    return usage_error("--link says what a message between the ranks of --data-parallel takes, "
                       "which is not given");
  if (option_given(o, OPT_MEMORY_PER_RANK) && !parallel)
    return usage_error("--memory-per-rank is about the ranks of --data-parallel, which is not "
                       "given");
  if (!*ranks)
    return usage_error("--ranks takes a number from 1 to %d, not '%s'", MOST_RANKS,
                       option_value(o, OPT_RANKS, ""));
  if (parallel && option_given(o, OPT_PASSES))
    return usage_error("--data-parallel chooses passes, which --passes says itself: write "
                       "autodiff,distribute{ranks=%d} there",
                       *ranks);
  if (parallel && option_given(o, OPT_STREAMS))
    return usage_error("--data-parallel plans its streams itself: one for computation, and one for "
                       "collectives, which all ranks make in one order");
  const Emit emit = settings_emit(o);
  if (parallel && emit == EMIT_ONNX)
    return usage_error("--data-parallel is for executables, libraries and Python modules");
  if (parallel && option_given(o, OPT_TOKENS))
    return usage_error(
        "--data-parallel trains, and --tokens is for texts: compile a program for each");
  if (parallel && option_given(o, OPT_TARGET) && strcmp(list, of->name) != 0)
    return usage_error("--data-parallel=%s is for the target %s, not %s", how, of->name, list);
  const char *per_rank = option_value(o, OPT_MEMORY_PER_RANK, NULL);
  if (per_rank && !parse_ranks(r, per_rank))
    return usage_error("--memory-per-rank takes numbers of ranks from 1 to %d, as 1,2,4, not '%s'",
                       MOST_RANKS, per_rank);
  const char *link = option_value(o, OPT_LINK, NULL);
  if (link && !parse_link(link, &r->passes.link))
    return usage_error("--link takes microseconds and GB a second, as 20,1.25, not '%s'", link);
  return EXIT_DONE;
}
