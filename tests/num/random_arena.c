/* Random programs: optimization costs no memory. No entry needs a larger arena at -O2 than at -O0,
   but for copies of weights in the layout in which the steps of a loop read them. Most are planned
   for a processor, some for a GPU. Gradients are added up in one order at all sizes: a few programs
   need as much as in that order at -O0.
     random_arena [COUNT [FIRST]]   COUNT programs of each kind from seed FIRST
   Contract: prints the seeds of those that do, and exits with 1; also where optimization saves
   bytes in less than a fourth of all programs, which would then say little, or the order costs
   bytes in more than one of 500. */
#include "codegen/cpu/target.h"
#include "codegen/gpu/gpu.h"
#include "passes/manager/pass_list.h"
#include "tests/num/random_history.h"
#include "tests/num/random_nets.h"
#include "tests/num/random_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Kind {
  const char *name;
  RandomOptions o;
  Module *(*make)(Ctx *c, uint64_t seed); /* or NULL */
} Kind;

static const Kind kinds[] = {
    {.name = "plain", .o = {.stores = true}},
    {.name = "gradients", .o = {.grads = true, .stores = true}},
    {.name = "narrow", .o = {.grads = true, .stores = true, .narrow = true, .ops = 60}},
    {.name = "large", .o = {.grads = true, .stores = true, .numel = 100000, .ops = 30}},
    {.name = "large, no gradients", .o = {.stores = true, .numel = 100000, .ops = 50}},
    {.name = "recurrent", .o = {.recurrent = true, .stores = true}},
    {.name = "attention", .o = {.grads = true, .attends = true}},
    {.name = "read late", .o = {.grads = true, .late = 8, .ops = 20}},
    {.name = "nets", .make = random_net},
    {.name = "histories", .make = random_history},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

typedef struct Measured {
  uint64_t bytes;
  uint64_t copies; /* of these: given for speed, see passes/layout/transposed_weights.c */
} Measured;

/* As at -O0, with the passes in front of the gradients of -O2. */
static const char *pipeline_in_order(Ctx *c) {
  const char *at = strstr(passes_pipeline(0), "autodiff"),
             *front = strstr(passes_pipeline(1), "fold");
  return intern_printf(c, "%.*s%.*s%s", (int)(at - passes_pipeline(0)), passes_pipeline(0),
                       (int)(strstr(front, "autodiff") - front), front, at);
}

enum { IN_ORDER = -1 };
/* Of the entry e0 at this level. */
static Measured arena_of(const Kind *k, uint64_t seed, int level, const Target *t) {
  Ctx *c = ctx_new();
  Module *m = k->make ? k->make(c, seed) : random_program(c, seed, k->o);
  PassOptions o = {.target = t, .plan_seconds = 0.1};
  const char *pipeline = level == IN_ORDER ? pipeline_in_order(c) : passes_pipeline(level);
  if (!passes_run(m, pipeline, &o)) exit(1);
  const Entry *e = m->entries.at[0];
  Measured x = {plan_of(e)->arena_bytes, layout_copies(e, t->align)};
  module_free(m);
  ctx_free(c);
  return x;
}

int main(int argc, char **argv) {
  long count = argc > 1 ? strtol(argv[1], NULL, 10) : 100;
  long first = argc > 2 ? strtol(argv[2], NULL, 10) : 1;
  Ctx *c = ctx_new();
  CodegenOptions o = {.march = "x86-64-v3"};
  const char *const arch[] = {"sm_90a"};
  const Target *cpu = target_cpu(c, &o), *gpu = target_cuda(c, arch, 1);
  if (!cpu) return 1;
  long more = 0, fewer = 0, copied = 0, ordered = 0;
  for (int k = 0; k < KINDS; k++)
    for (long s = first; s < first + count; s++) {
      const Target *t = s % 4 == 0 ? &random_target : s % 8 == 2 ? gpu : cpu;
      Measured written = arena_of(&kinds[k], (uint64_t)s, 0, t);
      Measured optimized = arena_of(&kinds[k], (uint64_t)s, 2, t);
      uint64_t more_copies =
          optimized.copies > written.copies ? optimized.copies - written.copies : 0;
      fewer += optimized.bytes < written.bytes;
      copied += more_copies > 0;
      if (optimized.bytes <= written.bytes + more_copies) continue;
      if (optimized.bytes <= arena_of(&kinds[k], (uint64_t)s, IN_ORDER, t).bytes) {
        ordered++;
        continue;
      }
      more++;
      fprintf(stderr, "%s, seed %ld: %llu bytes at -O0, %llu at -O2\n", kinds[k].name, s,
              (unsigned long long)written.bytes, (unsigned long long)optimized.bytes);
    }
  ctx_free(c);
  printf("%ld programs: %ld need more memory when optimized, %ld by the order of gradients, %ld "
         "less; %ld copy weights for loops\n",
         KINDS * count, more, ordered, fewer, copied);
  return more || 500 * ordered > KINDS * count || 4 * fewer < KINDS * count;
}
