/* Every launch of programs, at the programs' own sizes, has blocks for many multiprocessors: one
   that moves more than LARGE bytes has at least BLOCKS blocks, or none of them moves more than
   SHARE; but for those that few_blocks.def lists with the reason. Needs no NVRTC.
     launches FILE.g… */
#include "codegen/gpu/emit.h"
#include "passes/passes.h"
#include "tests/num/source.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { LARGE = 1 << 20, BLOCKS = 100, SHARE = 128 << 10 }; /* bytes; and blocks */

static const char *const listed[] = {
#define FEW_BLOCKS(what, why) what,
#include "few_blocks.def"
#undef FEW_BLOCKS
};

/* Argument i has a name in the kernel, "in0 = (const float *)p0;", which stands there once more. */
static bool is_used(const CudaFunction *f, int i) {
  char end[16], name[16];
  snprintf(end, sizeof end, "*)p%d;", i);
  const char *at = strstr(f->body, end);
  while (at && at > f->body && at[-1] != '=') at--;
  if (!at || at == f->body) return false;
  const char *to = at - 2, *from = to;
  while (from > f->body && from[-1] != '*') from--;
  snprintf(name, sizeof name, "%.*s", (int)(to - from), from);
  for (const char *s = f->body; (s = strstr(s, name)); s += strlen(name))
    if (s != from && !isdigit((unsigned char)s[strlen(name)])) return true;
  return false;
}

/* Of an argument whose elements an index picks, no more than what is written. */
static uint64_t bytes_of(const CudaFunction *f) {
  uint64_t read = 0, written = 0;
  for (int i = 0; i < f->nargs; i++) {
    if (!is_used(f, i)) continue;
    if (f->rights[i] & 1) read += f->bytes[i];
    if (f->rights[i] & 2) written += f->bytes[i];
  }
  if (f->op->kind == OP_GATHER && read > 2 * written) read = 2 * written;
  return read + written;
}

static bool is_listed(const char *what) {
  for (size_t i = 0; i < sizeof listed / sizeof *listed; i++)
    if (strstr(what, listed[i])) return true;
  return false;
}

static int check(const char *file) {
  Ctx *c = ctx_new();
  Arena *a = arena_new();
  Module *m = source_module(c, file, NULL, 0);
  const Target *t = target_cuda(c, NULL, 0);
  PassOptions po = {.memory = "pack", .out = stdout, .target = t};
  CodegenOptions o = {.version = "test", .level = 2};
  int bad = 0;
  if (!passes_run(m, passes_pipeline(2), &po)) return 1;
  CudaProgram *p = cuda_program(m, t, &o, a);
  for (uint32_t i = 0; i < p->functions.n; i++) {
    const CudaFunction *f = &p->functions.at[i];
    uint64_t bytes = bytes_of(f);
    if (bytes <= LARGE || f->grid >= BLOCKS || bytes / (uint64_t)f->grid <= SHARE) continue;
    if (is_listed(f->what)) continue;
    printf("%s: %s (%s): %llu bytes by %lld blocks\n", file, f->name, f->what,
           (unsigned long long)bytes, (long long)f->grid);
    bad++;
  }
  arena_free(a);
  ctx_free(c);
  return bad;
}

int main(int argc, char **argv) {
  int bad = 0;
  if (argc < 2) {
    fprintf(stderr, "usage: launches FILE.g...\n");
    return 2;
  }
  for (int i = 1; i < argc; i++) bad += check(argv[i]);
  printf("%d launches of few blocks\n", bad);
  return bad != 0;
}
