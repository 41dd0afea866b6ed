/* Planted errors, one at a time: small edits of the CUDA source of mutants.g (a barrier less, a
   wrong bound, a copy that is not waited for), of at least 90 of which the interpreter must catch
   98 %, plans in which a value lies over one that is still read, and steps that are left out, of
   which it must catch all. An edit that leaves NVRTC's PTX as it was changes nothing and does not
   count; nor do those of mutants.def, with the reason why no result can change: what a row names
   must not be there before the edit. Caught: a finding, another result than before the edit, a
   refusal. Says "NOT TESTED" and exits with 77 where there is no NVRTC, but for GC_NO_SKIP.
     mutants RUNTIME_DIR FILE.g KERNELS PLANS     one in so many edits, and every n-th plan
     mutants RUNTIME_DIR FILE.g KERNELS compute_90a [small | tf32]     of kernels alone, for that
   architecture; small: with two multiprocessors, so that small convolutions are by wgmma; tf32:
   at that precision */
#define _GNU_SOURCE
#include "tests/cuda/mutants.h"
#include "ir/support/hash.h"
#include "tests/cuda/device.h"
#include "tests/cuda/uses.h"
#include "tests/level.h"
#include "tests/num/random_program.h"
#include "tests/num/source.h"
#include "tests/ptx/test/nvrtc.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  SKIP = 77,
  LEAST = 90, /* edits that count */
  LEAST_SM90A = 10,
  MAX_STEPS = 3000000
}; /* warp instructions of a launch: hundreds of the longest */

static const struct Edit {
  const char *from, *to;
} edits[] = {
    {"block_sync();", "/* no block_sync */"},
    {"warp_sync();", "/* no warp_sync */"},
    {"__syncthreads();", "/* no __syncthreads */"},
    {"__threadfence();", "/* no __threadfence */"},
    {"async_wait<STAGES - 2>();", "/* no async_wait */"},
    {"async_wait<STAGES - 2>();", "async_wait<STAGES - 1>();"},
    {"async_wait<0>();", "/* no async_wait */"},
    {"part * K + s", "part + s"},
    {"for (int h = 1; h <", "for (int h = 2; h <"},
    {"async_wait<0>();", "async_wait<1>();"},
    {"async_commit();", "/* no async_commit */"},
    {" < ", " <= "},
    {" <= ", " < "},
    {" >= ", " > "},
    {" + ", " - "},
    {" - ", " + "},
    {" * ", " + "},
    {" / ", " % "},
    {" % ", " / "},
    {" == ", " != "},
    {" && ", " || "},
    {" || ", " && "},
    {"+= ", "-= "},
    {"= 0;", "= 1;"},
    {"threadIdx.x", "threadIdx.x + 1"},
    {"? in0", "? 1 + in0"},
    {"mbarrier_fence();", "/* no mbarrier_fence */"},
    {"mbarrier_wait(", "(void)("},
    {"proxy_fence();", "/* no proxy_fence */"},
    {"threads_sync<THREADS>(1);", "/* no threads_sync */"},
    {"wgmma_fence();", "/* no wgmma_fence */"},
    {"wgmma_commit();", "/* no wgmma_commit */"},
    {"wgmma_wait<1>();", "wgmma_wait<2>();"},
    {"wgmma_wait<0>();", "wgmma_wait<1>();"},
    {" ^ ", " + "},
    {"parity ^= 1", "parity ^= 0"},
    {"++stage", "stage++"},
    {"asm volatile(\"griddepcontrol.wait;\" ::: \"memory\");", "/* no wait */"},
};

static const struct Harmless {
  const char *entries, *lines; /* lines: part of the edited one and of those behind it */
} harmless[] = {
#define HARMLESS(entries, lines, why) {entries, lines},
#include "mutants.def"
#undef HARMLESS
};

/* ---- the program, and what it does ---- */

/* Where there is no number. A gradient with respect to filters adds up all pixels: so that not all
   of it is NaN, images have NaN in one channel of one image alone. Nor is all of a product: tensors
   of several rows have NaN in some columns of some, of which the first and the last one lie beside
   rows of numbers. */
static bool is_nan(const Type *t, int64_t k) {
  if (t->rank == 4) return k % 29 == 3 && k < t->dim[2] * t->dim[3];
  const int64_t width = t->rank ? t->dim[t->rank - 1] : 1, row = k / width, column = k % width;
  if (t->numel < 3 * width || width == 1) return k % 29 == 3;
  return row % 3 == 1 && (column % 3 == 1 || column == 0 || column == width - 1);
}

/* A number, or none, and zeros of both signs; and in the last pixel of images an infinity, which
   only makes a NaN if it is multiplied by the zeros behind a row's end. */
static double odd_number(const Type *t, int64_t k, double x) {
  if (t->rank == 4 && k == t->numel - 1) return (double)INFINITY;
  if (is_nan(t, k)) return (double)NAN;
  return k % 7 == 1 ? 0.0 : k % 7 == 2 ? -0.0 : x;
}

/* Is element k behind the end of an axis, in a run whose extents are so much below their bounds? */
static bool is_behind(const Type *t, int64_t k, int64_t fewer) {
  for (int axis = t->rank - 1; axis >= 0; k /= t->dim[axis--]) {
    const Extent *x = t->extent ? t->extent[axis] : NULL;
    if (x && x->nfactors == 1 && k % t->dim[axis] >= t->dim[axis] / x->bound * (x->bound - fewer))
      return true;
  }
  return false;
}

/* Ordinary numbers, valid indices, and bytes of matrices that use all bits; or odd ones, and
   indices beyond. What lies behind the end of an axis is no number. */
static Tensor *inputs(Arena *a, const Entry *e, const RunOptions *o, int odd) {
  Tensor *in = random_inputs(a, e, o->step);
  for (uint32_t i = 0; i < e->body->args.n; i++)
    for (int64_t k = 0; k < in[i].type->numel; k++) {
      Scalar *x = &in[i].at[k];
      if (dtype_size(in[i].type->dtype) == 1 && in[i].type->rank == 2)
        x->i = k * 37 % 251 - (in[i].type->dtype == DT_I8 ? 125 : 0);
      else if (!dtype_is_float(in[i].type->dtype))
        x->i = odd ? k * 7 % 60 - 20 : k * 7 % 5;
      else if (is_behind(in[i].type, k, o->fewer))
        x->f = (double)NAN;
      else if (odd)
        x->f = odd_number(in[i].type, k, x->f);
    }
  return in;
}

enum { STEPS = 2 };

/* The entry twice from the beginning, so that what starts as zero is none in the end; with other
   numbers, and with extents that are multiples of most tiles before others that are none. */
static void run_entry(const Subject *s, Compiled *c, const Entry *e, Arena *a, int odd,
                      Outcome *to) {
  static const int fewer[STEPS] = {191, 0};
  RunOptions o = {.threads = 1, .seed = 5, .step = 3, .poison = true};
  const int n = entry_outputs(e, NULL, NULL);
  memset(c->region[GC_GLOBALS], 0, c->bytes[GC_GLOBALS]);
  c->fault[0] = 0;
  *to = (Outcome){.out = ARENA_ARRAY(a, Tensor, STEPS * n + 1)};
  compiled_init(c, &o);
  for (int step = 0; step < STEPS && !c->fault[0]; step++) {
    o.fewer = fewer[step];
    compiled_run(c, e->name, &o, inputs(a, e, &o, odd), to->out + step * n, s->c);
    o.step++;
  }
  to->fault = arena_strdup(a, c->fault);
  to->globals = arena_alloc(a, c->bytes[GC_GLOBALS]);
  memcpy(to->globals, c->region[GC_GLOBALS], c->bytes[GC_GLOBALS]);
}

static bool same_tensor(const Tensor *x, const Tensor *y) {
  for (int64_t i = 0; i < x->type->numel; i++)
    if (memcmp(&x->at[i], &y->at[i], sizeof x->at[i]) != 0) return false;
  return true;
}

/* What the entry does before any edit. Numbers that are none and indices beyond may end it. */
static bool remember(Subject *s, int i) {
  const Entry *e = s->m->entries.at[i];
  for (int odd = 0; odd < 2; odd++) run_entry(s, s->whole, e, s->a, odd, &s->outcome[i][odd]);
  const char *fault = s->outcome[i][0].fault;
  if (*fault) printf("%s fails without an edit: %s\n", e->name, fault);
  return !*fault;
}

static bool same_outcome(const Compiled *c, const Entry *e, const Outcome *x, const Outcome *y) {
  bool same =
      strcmp(x->fault, y->fault) == 0 && memcmp(x->globals, y->globals, c->bytes[GC_GLOBALS]) == 0;
  for (int n = 0; n < STEPS * entry_outputs(e, NULL, NULL) && same && !*x->fault; n++)
    same = same_tensor(&x->out[n], &y->out[n]);
  return same;
}

/* In order; with odd inputs backwards, or shuffled, since warps that wait for others' phases meet
   by chance; and what neither tells so, too, with ordinary inputs, of which more become results. */
bool subject_differs(const Subject *s, Compiled *c, int i) {
  const Entry *e = s->m->entries.at[i];
  const unsigned other = cuda_variant(s->arch) ? 7 : 1;
  const struct {
    unsigned order;
    int odd;
  } run[] = {{0, 0}, {other, 1}, {other, 0}};
  Arena *a = arena_new();
  bool yes = false;
  for (size_t k = 0; k < sizeof run / sizeof *run && !yes; k++) {
    Outcome is;
    device_order(c, run[k].order);
    run_entry(s, c, e, a, run[k].odd, &is);
    yes = !same_outcome(c, e, &s->outcome[i][run[k].odd], &is);
  }
  arena_free(a);
  return yes;
}

/* ---- edits ---- */

/* Spaces of any length become one. */
static void squeeze(char *text) {
  char *end = text;
  for (const char *s = text; *s; s++)
    if (!isspace((unsigned char)*s))
      *end++ = *s;
    else if (end > text && end[-1] != ' ')
      *end++ = ' ';
  *end = 0;
}

/* The edited line, and the two behind it, since an edit may be harmless in one place alone. */
static void edited_lines(const char *source, const char *at, const struct Edit *e, char *out,
                         size_t size) {
  const char *from = at, *rest = at + strlen(e->from), *to = rest;
  while (from > source && from[-1] != '\n') from--;
  for (int n = 0; n < 3; n++) to += strcspn(to, "\n") + (n < 2 && strchr(to, '\n'));
  snprintf(out, size, "%.*s%s%.*s", (int)(at - from), from, e->to, (int)(to - rest), rest);
  squeeze(out);
}

static bool is_of(const struct Harmless *h, const char *entry) {
  const size_t n = strlen(entry);
  for (const char *at = h->entries; (at = strstr(at, entry)); at += n)
    if ((at == h->entries || at[-1] == ' ') && (!at[n] || at[n] == ' ')) return true;
  return false;
}

static bool is_harmless(const char *entry, const char *lines) {
  for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
    if (is_of(&harmless[i], entry) && strstr(lines, harmless[i].lines)) return true;
  return false;
}

/* A row that names what is there before any edit would drop whatever is edited beside it. */
static void find_vain(Subject *s, const Alone *k) {
  const char *entry = s->m->entries.at[k->entry]->name;
  for (int p = 0; p < k->parts; p++) {
    char *text = strndup(k->part[p].from, (size_t)(k->part[p].to - k->part[p].from));
    squeeze(text);
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++) {
      if (!is_of(&harmless[i], entry) || !strstr(text, harmless[i].lines)) continue;
      printf("mutants.def: '%s' is in %s without an edit\n", harmless[i].lines, entry);
      s->vain++;
    }
    free(text);
  }
}

static bool caught(Subject *s, const Alone *k, const char *ptx) {
  return !device_kernel(s->whole, ptx, MAX_STEPS) || subject_differs(s, s->whole, k->entry);
}

typedef enum Verdict { BROKEN, SAME, CAUGHT, MISSED } Verdict;

static Verdict judge(Subject *s, Alone *k, const char *source, bool less) {
  if (!k->ptx[less]) k->ptx[less] = subject_ptx(s, k->source, less, false);
  if (!k->ptx[less]) exit(2);
  char *ptx = subject_ptx(s, source, less, true);
  const Verdict v = !ptx                             ? BROKEN
                    : strcmp(ptx, k->ptx[less]) == 0 ? SAME
                    : caught(s, k, ptx)              ? CAUGHT
                                                     : MISSED;
  free(ptx);
  return v;
}

/* What the shorter way misses at the level full, too, may be nothing but what NVRTC in whole makes
   the same of. */
static void try_edit(Subject *s, Alone *k, const char *at, const struct Edit *e, Count *n) {
  char lines[800];
  edited_lines(k->source, at, e, lines, sizeof lines);
  if (is_harmless(s->m->entries.at[k->entry]->name, lines)) return;
  char *source = NULL;
  if (asprintf(&source, "%.*s%s%s", (int)(at - k->source), k->source, e->to, at + strlen(e->from)) <
      0)
    abort();
  const bool less = subject_can_be_less(s);
  Verdict v = judge(s, k, source, less);
  if (v == MISSED && less && level_is_full()) v = judge(s, k, source, false);
  n->made++;
  n->broken += v == BROKEN;
  n->same += v == SAME;
  n->caught += v == CAUGHT;
  n->missed += v == MISSED;
  if (v == MISSED)
    printf("missed in %s of %s: '%s' -> '%s': %s\n", k->name, s->m->entries.at[k->entry]->name,
           e->from, e->to, lines);
  free(source);
}

/* Neither directives nor comments, nor what is there for all kernels alike. */
static const char *past_text(const char *at) {
  const char *end = strncmp(at, "/*", 2) == 0 ? strstr(at, "*/")
                    : *at == '#' || !strncmp(at, "template <", 10) || !strncmp(at, "typedef", 7)
                        ? strchr(at, '\n')
                        : NULL;
  return end ? end : at;
}

/* One in `every` of all edits, chosen by what is edited and where, so that another text draws no
   other edits of this one. */
static bool is_drawn(const Subject *s, const Alone *k, const char *at, const struct Edit *e) {
  char lines[800];
  edited_lines(k->source, at, e, lines, sizeof lines);
  const char *entry = s->m->entries.at[k->entry]->name;
  uint64_t h = hash_bytes(hash_bytes(HASH_START, entry, strlen(entry)), lines, strlen(lines));
  return h % (uint64_t)s->every == 0;
}

static void each_edit(Subject *s, Alone *k, const Part *p, Count *n) {
  for (const char *at = p->from; at < p->to; at++) {
    at = past_text(at);
    for (size_t e = 0; e < sizeof edits / sizeof *edits; e++)
      if (strncmp(at, edits[e].from, strlen(edits[e].from)) == 0 && is_drawn(s, k, at, &edits[e]))
        try_edit(s, k, at, &edits[e], n);
  }
}

static void edit_kernels(Subject *s, Count *n) {
  for (uint32_t i = 0; i < s->p->functions.n; i++) {
    Alone k;
    if (take_kernel(s, (int)i, &k)) {
      find_vain(s, &k);
      for (int p = 0; p < k.parts; p++) each_edit(s, &k, &k.part[p], n);
      device_kernel(s->whole, NULL, 0);
    }
    free(k.ptx[0]);
    free(k.ptx[1]);
  }
}

/* ---- the whole ---- */

static bool prepare(Subject *s, const char *runtime, const char *file, bool small,
                    const char *precision) {
  s->c = ctx_new();
  s->a = ctx_arena(s->c);
  s->m = source_module(s->c, file, NULL, 0);
  s->o = (CodegenOptions){.version = "test", .runtime_dir = runtime, .level = 2};
  CudaTarget *t = ARENA_NEW(s->a, CudaTarget);
  *t = *cuda_target(target_cuda(s->c, NULL, 0));
  if (small) t->machine.blocks = t->machine.multiprocessors = 2, t->machine.launch = 0;
  s->t = &t->t;
  PassOptions po = {.memory = "pack", .verify_each = true, .out = stdout, .target = s->t};
  if (!passes_run(s->m, passes_with_precision(s->c, passes_pipeline(2), precision), &po)) exit(2);
  s->p = cuda_program(s->m, s->t, &s->o, s->a);
  s->image = (CudaImage){.arch = s->arch, .ptx = true};
  s->image.bytes =
      (unsigned char *)subject_ptx(s, cuda_source(s->p, NULL), subject_can_be_less(s), false);
  s->image.size = s->image.bytes ? strlen((const char *)s->image.bytes) + 1 : 0;
  return s->image.bytes;
}

/* Of edits one in `of` may be missed, of 0 none. */
static int report(const char *what, const Count *n, int of) {
  int counted = n->caught + n->missed;
  printf("%s: %d; %d do not compile, %d change nothing, %d of %d others caught\n", what, n->made,
         n->broken, n->same, n->caught, counted);
  return counted == 0 || n->missed > (of ? counted / of : 0);
}

int main(int argc, char **argv) {
  const bool small = argc == 6 && strcmp(argv[5], "small") == 0;
  const bool tf32 = argc == 6 && strcmp(argv[5], "tf32") == 0;
  if (argc != 5 && !small && !tf32) return 2;
  const bool all = strncmp(argv[4], "compute_", 8) != 0;
  Subject s = {.nvrtc = nvrtc_open(), .every = atoi(argv[3])};
  s.every_plan = all ? atoi(argv[4]) : 1;
  s.arch = all ? "compute_80" : argv[4];
  Count kernels = {0}, plans = {0}, steps = {0};
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (s.every < 1 || s.every_plan < 1) return 2;
  if (!s.nvrtc) return getenv("GC_NO_SKIP") ? 1 : SKIP; /* nvrtc_open has said it */
  if (!prepare(&s, argv[1], argv[2], small, tf32 ? "tf32" : "f32")) return 1;
  s.whole = device_ptx(s.p, &s.image);
  s.outcome = (Outcome(*)[2])ARENA_ARRAY(s.a, Outcome, 2 * s.m->entries.n + 1);
  bool ok = s.whole;
  for (int i = 0; i < (int)s.m->entries.n && ok; i++) ok = remember(&s, i);
  if (!ok) return 1;
  edit_kernels(&s, &kernels);
  bool proven = !all || overlap_plans(&s, &plans);
  int bad = report("edits of kernels", &kernels, 50) + !proven + s.vain;
  if (all) bad += report("plans with an overlap", &plans, 0);
  int unwritten = all ? leave_out_steps(&s, &steps) : 1;
  if (all) bad += report("steps left out", &steps, 0);
  if (!unwritten) printf("what nobody wrote was read without a finding\n"), bad++;
  const int least = all ? LEAST : LEAST_SM90A;
  if (kernels.caught + kernels.missed < least)
    printf("fewer than %d edits of kernels are too few to say anything\n", least), bad++;
  cache_trim(cuda_cache());
  device_free(s.whole);
  ctx_free(s.c);
  return bad != 0;
}
