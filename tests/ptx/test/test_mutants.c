/* Mutation test: small edits of kernels.cu, one at a time, of which the interpreter must catch 98
 * %. An edit that leaves NVRTC's PTX as it was changes nothing and does not count; nor do those
 * listed in harmless[] with the reason why no result can change. Caught: a finding, a wrong value,
 * a refusal. test_mutants kernels.cu [most mutants] */
#define _GNU_SOURCE
#include "cases.h"
#include "nvrtc.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct Edit {
  const char *from, *to;
} edits[] = {
    {"__syncthreads();", ""},
    {"copy_wait<STAGES - 2>();", ""},
    {"copy_wait<STAGES - 2>();", "copy_wait<STAGES - 1>();"},
    {"copy_commit();", ""},
    {"__threadfence();", ""},
    {" < ", " <= "},
    {" <= ", " < "},
    {" + ", " - "},
    {" - ", " + "},
    {" * ", " + "},
    {" == ", " != "},
    {" & ", " | "},
    {" >> ", " << "},
    {" % ", " / "},
    {"+= ", "-= "},
    {"= 0.0f", "= 1.0f"},
    {"fmaxf", "fminf"},
    {"xor_sync", "up_sync"},
    {"threadIdx.x", "0"},
    {"blockIdx.y", "blockIdx.x"},
    {"[ty]", "[tx]"},
};

/* Substrings of the edited line after the edit, and why it is no error. */
static const struct Harmless {
  const char *kernel, *line;
} harmless[] = {
#include "harmless.def"
};

typedef struct Part { /* of the source: a kernel with what it needs before it */
  const char *text;
  size_t size;
  const char *kernels[2];
  int nkernels;
} Part;

typedef struct Run {
  Nvrtc *nvrtc;
  const char *source;
  size_t prelude; /* bytes that every kernel needs */
  int made, same, broken, caught, missed;
} Run;

static char *joined(const Run *r, const Part *p, size_t at, const struct Edit *e) {
  size_t cut = e ? strlen(e->from) : 0, add = e ? strlen(e->to) : 0;
  char *s = calloc(1, r->prelude + p->size + add + 2), *o = s;
  if (!s) abort();
  memcpy(o, r->source, r->prelude);
  o += r->prelude;
  memcpy(o, p->text, at);
  o += at;
  if (add) memcpy(o, e->to, add);
  memcpy(o + add, p->text + at + cut, p->size - at - cut);
  return s;
}

static char *ptx_of(const Run *r, const Part *p, size_t at, const struct Edit *e) {
  static const char *const options[] = {"--gpu-architecture=compute_80"};
  char *source = joined(r, p, at, e);
  char *ptx = nvrtc_ptx(r->nvrtc, source, options, 1, e != NULL);
  free(source);
  return ptx;
}

static bool caught(const Part *p, const char *ptx) {
  char err[256];
  PtxModule *m = ptx_module_load(ptx, strlen(ptx), err, sizeof err);
  if (!m) {
    fprintf(stderr, "the interpreter refuses NVRTC's PTX: %s\n", err);
    exit(1);
  }
  bool yes = false;
  for (int i = 0; i < ncases && !yes; i++)
    for (int n = 0; n < p->nkernels; n++) {
      if (strcmp(cases[i].kernel, p->kernels[n])) continue;
      for (unsigned order = 0; order < 2 && !yes; order++) {
        CaseOutcome o = case_run(&cases[i], m, order, PTX_CHECK_ALL, 400000);
        yes = o.status != PTX_OK || !(o.error <= cases[i].tolerance);
        ptx_result_free(&o.result);
      }
    }
  ptx_module_free(m);
  return yes;
}

static void edited_line(const Part *p, size_t at, const struct Edit *e, char *out, size_t size) {
  size_t from = at, to = at;
  while (from && p->text[from - 1] != '\n') from--;
  while (to < p->size && p->text[to] != '\n') to++;
  while (from < at && isspace((unsigned char)p->text[from])) from++;
  snprintf(out, size, "%.*s%s%.*s", (int)(at - from), p->text + from, e->to,
           (int)(to - at - strlen(e->from)), p->text + at + strlen(e->from));
}

static void try_edit(Run *r, const Part *p, size_t at, const struct Edit *e, const char *original) {
  char line[400];
  edited_line(p, at, e, line, sizeof line);
  for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
    if (!strcmp(harmless[i].kernel, p->kernels[0]) && strstr(line, harmless[i].line)) return;
  char *ptx = ptx_of(r, p, at, e);
  r->made++;
  if (!ptx) {
    r->broken++;
  } else if (!strcmp(ptx, original)) {
    r->same++;
  } else if (caught(p, ptx)) {
    r->caught++;
  } else {
    r->missed++;
    fprintf(stderr, "missed in %s: '%s' -> '%s': %s\n", p->kernels[0], e->from, e->to, line);
  }
  free(ptx);
}

/* Sites of all edits in a part, every `stride`-th of them tried. */
static int each_site(Run *r, const Part *p, int stride, int seen, const char *original) {
  for (size_t at = 0; at < p->size; at++) {
    if (p->text[at] == '#' ||
        !strncmp(p->text + at, "/*", 2)) { /* neither directives nor comments */
      while (at < p->size && p->text[at] != '\n') at++;
      continue;
    }
    for (size_t e = 0; e < sizeof edits / sizeof *edits; e++) {
      size_t n = strlen(edits[e].from);
      if (at + n > p->size || memcmp(p->text + at, edits[e].from, n)) continue;
      if (original && seen % stride == 0) try_edit(r, p, at, &edits[e], original);
      seen++;
    }
  }
  return seen;
}

/* Parts are divided by blank lines; those without a kernel come before all others. */
static int split(Run *r, Part *parts, int most) {
  int n = 0;
  for (const char *s = r->source; *s;) {
    const char *end = strstr(s, "\n\n");
    end = end ? end + 2 : s + strlen(s);
    Part p = {.text = s, .size = (size_t)(end - s)};
    for (int i = 0; i < ncases; i++) {
      char call[64];
      snprintf(call, sizeof call, ") %s(", cases[i].kernel);
      bool bounded = memmem(s, p.size, call, strlen(call));
      snprintf(call, sizeof call, "void %s(", cases[i].kernel);
      bool here = bounded || memmem(s, p.size, call, strlen(call));
      for (int k = 0; k < p.nkernels; k++) here = here && strcmp(p.kernels[k], cases[i].kernel);
      if (here && p.nkernels < 2) p.kernels[p.nkernels++] = cases[i].kernel;
    }
    if (p.nkernels && n < most) parts[n++] = p;
    if (!n) r->prelude = (size_t)(end - r->source);
    s = end;
  }
  return n;
}

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  int most = argc > 2 ? atoi(argv[2]) : 170;
  Run r = {.nvrtc = nvrtc_open()};
  if (!r.nvrtc) return EXIT_SKIP;
  char *source = read_file(argv[1]);
  r.source = source;
  Part parts[32];
  int n = split(&r, parts, 32), sites = 0;
  for (int i = 0; i < n; i++) sites = each_site(&r, &parts[i], 1, sites, NULL);
  int stride = sites > most ? (sites + most - 1) / most : 1, seen = 0;
  for (int i = 0; i < n; i++) {
    char *original = ptx_of(&r, &parts[i], 0, NULL);
    if (!original || caught(&parts[i], original)) {
      fprintf(stderr, "%s fails without an edit\n", parts[i].kernels[0]);
      return 1;
    }
    seen = each_site(&r, &parts[i], stride, seen, original);
    free(original);
  }
  free(source);
  int counted = r.caught + r.missed;
  printf(
      "%d sites, %d edits: %d do not compile, %d leave the PTX as it was, %d of %d others caught\n",
      sites, r.made, r.broken, r.same, r.caught, counted);
  return counted < (most < 100 ? most / 2 : 100) || r.caught * 100 < counted * 98;
}
