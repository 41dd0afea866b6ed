/* Every launch of programs, at the programs' own sizes, has blocks for many multiprocessors: one
   that moves more than LARGE bytes has at least BLOCKS blocks, or none of them moves more than
   SHARE; but for those that few_blocks.def lists with the reason. Nor does one of them copy 2 bytes
   at a time, but for those of narrow_copies.def. A row of these that excuses no launch of the
   programs is an error, and so is one of scattered.def that names none of their kernels. No launch
   takes less time than its roofline, at --precision=tf32 neither. Nor is a kernel slow without a
   reason (roofline.h), also with --precision=bf16; at the level full the table of all of them is
   that of docs/results/roofline.csv, which --update writes. Needs no NVRTC.
     launches [--update] ROOFLINE.csv FILE.g… */
#include "passes/passes.h"
#include "tests/cuda/listed.h"
#include "tests/cuda/roofline.h"
#include "tests/level.h"
#include "tests/num/source.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { LARGE = 1 << 20, BLOCKS = 100, SHARE = 128 << 10 }; /* bytes; and blocks */

typedef struct Row {
  const char *kernels;
  int uses;
} Row;

static Row few_blocks[] = {
#define FEW_BLOCKS(kernels, why) {kernels, 0},
#include "few_blocks.def"
#undef FEW_BLOCKS
};
static Row scattered[] = {
#define SCATTERED(kernels, why) {kernels, 0},
#include "scattered.def"
#undef SCATTERED
};
static Row narrow_copies[] = {
#define NARROW_COPIES(kernels, why) {kernels, 0},
#include "narrow_copies.def"
#undef NARROW_COPIES
};
enum {
  NARROW_COPIES_ROWS = sizeof narrow_copies / sizeof *narrow_copies,
  FEW_BLOCKS_ROWS = sizeof few_blocks / sizeof *few_blocks,
  SCATTERED_ROWS = sizeof scattered / sizeof *scattered
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

static bool is_listed(Arena *a, const CudaFunction *f, Row *rows, int n) {
  bool found = false;
  for (int i = 0; i < n; i++) {
    bool is = kernel_is(a, f, rows[i].kernels);
    rows[i].uses += is;
    found |= is;
  }
  return found;
}

static int check_uses(const char *file, const Row *rows, int n) {
  int bad = 0;
  for (int i = 0; i < n; i++) {
    if (rows[i].uses) continue;
    printf("%s: no kernel needs the row \"%s\"\n", file, rows[i].kernels);
    bad++;
  }
  return bad;
}

static int check_blocks(Arena *a, const CudaFunction *f, const char *file) {
  int bad = 0;
  uint64_t bytes = bytes_of(f);
  for (int i = 0; i < f->kernel->mixed; i++) bad += check_blocks(a, &f->members[i], file);
  if (f->kernel->mixed) return bad;
  (void)is_listed(a, f, scattered, SCATTERED_ROWS);
  if (bytes <= LARGE || !f->grid || f->grid >= BLOCKS || bytes / (uint64_t)f->grid <= SHARE)
    return 0;
  if (is_listed(a, f, few_blocks, FEW_BLOCKS_ROWS)) return 0;
  printf("%s: %s (%s): %llu bytes by %lld blocks: %s\n", file, f->name, f->what,
         (unsigned long long)bytes, (long long)f->grid, kernel_kind(a, f));
  return 1;
}

/* Copies of 2 bytes take as many instructions as those of 16. */
static int check_copies(Arena *a, const CudaFunction *f, const char *file) {
  int bad = 0;
  for (int i = 0; i < f->kernel->mixed; i++) bad += check_copies(a, &f->members[i], file);
  if (f->kernel->mixed) return bad;
  const bool narrow = kernel_is(a, f, "copy_a=2") || kernel_is(a, f, "copy_b=2");
  if (!narrow || bytes_of(f) <= LARGE || is_listed(a, f, narrow_copies, NARROW_COPIES_ROWS))
    return 0;
  printf("%s: %s (%s) copies 2 bytes at a time: %s\n", file, f->name, f->what, kernel_kind(a, f));
  return 1;
}

/* "gpt2" of "docs/examples/gpt2.g" */
static const char *program_name(Arena *a, const char *file) {
  const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
  return arena_printf(a, "%.*s", (int)strcspn(name, "."), name);
}

static int check(const char *file, const char *precision, FILE *csv) {
  Ctx *c = ctx_new();
  Arena *a = arena_new();
  Module *m = source_module(c, file, NULL, 0);
  const Target *t = target_cuda(c, NULL, 0);
  PassOptions po = {.memory = "pack", .out = stdout, .target = t};
  CodegenOptions o = {.version = "test", .level = 2};
  int bad = 0;
  if (!passes_run(m, passes_with_precision(c, passes_pipeline(2), precision), &po)) return 1;
  CudaProgram *p = cuda_program(m, t, &o, a);
  for (uint32_t i = 0; i < p->functions.n && strcmp(precision, "f32") == 0; i++)
    bad += check_blocks(a, &p->functions.at[i], file);
  for (uint32_t i = 0; i < p->functions.n; i++) bad += check_copies(a, &p->functions.at[i], file);
  bad += roofline_exceeded(p, m, program_name(a, file), precision);
  if (csv) bad += roofline_check(p, m, program_name(a, file), precision, csv);
  arena_free(a);
  ctx_free(c);
  return bad;
}

static int check_table(const char *path, const char *text, size_t bytes, bool update) {
  if (update) {
    FILE *f = fopen(path, "w");
    bool ok = f && fwrite(text, 1, bytes, f) == bytes;
    return (f && fclose(f) != 0) || !ok;
  }
  Ctx *c = ctx_new();
  uint16_t file;
  size_t has;
  bool same = ctx_read_source(c, path, &file);
  const char *was = same ? ctx_source_text(c, file, &has) : "";
  same = same && has == bytes && memcmp(was, text, bytes) == 0;
  if (!same)
    printf("%s is not what the model of time says; cuda_launches --update writes it\n", path);
  ctx_free(c);
  return !same;
}

int main(int argc, char **argv) {
  const bool update = argc > 1 && strcmp(argv[1], "--update") == 0,
             full = update || level_is_full();
  const int first = 2 + update;
  char *text = NULL;
  size_t bytes = 0;
  int bad = 0;
  if (argc <= first) {
    fprintf(stderr, "usage: launches [--update] ROOFLINE.csv FILE.g...\n");
    return 2;
  }
  FILE *csv = open_memstream(&text, &bytes);
  if (!csv) return 2;
  fprintf(csv, "program,precision,entry,step_ms,form,kernels,launches,share_percent,"
               "least_roofline_percent,reason\n");
  for (int i = first; i < argc; i++) {
    bad += check(argv[i], "f32", csv);
    bad += check(argv[i], "bf16", csv);
    bad += check(argv[i], "tf32", NULL);
  }
  bad += check_uses("few_blocks.def", few_blocks, FEW_BLOCKS_ROWS);
  bad += check_uses("scattered.def", scattered, SCATTERED_ROWS);
  bad += check_uses("narrow_copies.def", narrow_copies, NARROW_COPIES_ROWS) + roofline_uses();
  fclose(csv);
  if (full) bad += check_table(argv[first - 1], text, bytes, update);
  free(text);
  printf("%d launches of few blocks, slow kernels, or rows that nothing needs\n", bad);
  return bad != 0;
}
