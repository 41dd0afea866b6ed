/* --memory-per-rank: what one rank takes if so many share the batch. Slices of states, the rows of
   a rank and its messages have static sizes, so each number of ranks has a plan of its own, which
   is made here and not kept. Contract: the bytes are those that the same program compiled with
   --ranks=N says of itself; a number for which there is no such program ends the compilation, as it
   ends that. Messages name the number. */
#include "lang/driver/compilation.h"
#include "passes/plan.h"

enum { COLUMN = 15 };

static void print_bytes(uint64_t n) {
  char text[40];
  printf("%*s", COLUMN, plan_commas(text, n));
}

static void print(const RankBytes *b, int n, const Target *t) {
  printf("bytes of one rank\n%7s  %-12s%*s%*s%*s%*s%*s%*s%*s\n", "ranks", "entry", COLUMN,
         "parameters", COLUMN, "states", COLUMN, "optimizer", COLUMN, "inputs", COLUMN, "arena",
         COLUMN, "messages", COLUMN, "total");
  for (int i = 0; i < n; i++)
    for (int k = 0; b[i].target == t && k < b[i].nentries; k++) {
      const EntryBytes *e = &b[i].entry[k];
      printf("%7d  %-12s", b[i].ranks, e->name);
      const uint64_t column[] = {b[i].params, b[i].states, b[i].optimizer, e->inputs,
                                 e->arena,    e->messages, e->total};
      for (size_t c = 0; c < sizeof column / sizeof *column; c++) print_bytes(column[c]);
      printf("\n");
    }
}

int rank_memory(Compilation *r) {
  Arena *a = ctx_arena(r->c);
  int code = EXIT_DONE, n = 0;
  RankBytes *all = ARENA_ARRAY(a, RankBytes, r->targets.n * r->nper_rank);
  for (int p = 0; p < r->targets.n; p++) {
    const CodegenPart *part = &r->targets.part[p];
    for (int i = 0; part->target && i < r->nper_rank; i++) {
      Module *m = planning_for_ranks(r, r->per_rank[i], part->target, &code);
      if (!m) return code;
      all[n++] = codegen_rank_bytes(a, m, part, r->per_rank[i]);
      module_free(m);
    }
  }
  print(all, n, r->main->target);
  r->codegen.rank_bytes = all;
  r->codegen.nrank_bytes = n;
  return EXIT_DONE;
}
