/* From the printed program to what goes into an executable: NVRTC's images, and a C file with the
   program's tables that includes them. Contract: images lie in the section .gc_cuda, 64-byte
   aligned; the same program gives the same bytes; PTX says in comments at its end which bytes the
   parameters of each kernel stand for, since nothing else in a program's image does. */
#define _GNU_SOURCE
#include "codegen/gpu/emit.h"
#include "codegen/gpu/time/time.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

int cuda_variant(const char *arch) {
  const char *number = strchr(arch, '_');
  return number && strcmp(number, "_90a") == 0;
}

/* ---- what the kernels take ---- */

static void print_uses(const CudaProgram *p, const CudaImage *image, Arena *a) {
  CudaUses uses = {0};
  nvrtc_uses(image, a, &uses);
  fprintf(stderr, "%s: %u kernels, %zu bytes\n", image->arch, uses.at.n, image->size);
  fprintf(stderr, "%8s %9s %9s %7s %7s  %s\n", "kernel", "registers", "shared", "stack", "spills",
          "threads");
  for (uint32_t i = 0; i < uses.at.n; i++) {
    const CudaUse *u = &uses.at.at[i];
    int threads = 0, dynamic = 0; /* ptxas does not know what a launch adds to the static memory */
    for (uint32_t k = 0; k < p->functions.n; k++) {
      const CudaFunction *f = &p->functions.at[k];
      if (strcmp(f->name, u->kernel) != 0) continue;
      const KernelVariant *own = f->sm90a && cuda_variant(image->arch) ? f->kernel->variant : NULL;
      threads = own ? own->block : f->block;
      dynamic = own ? own->shared : f->shared;
    }
    fprintf(stderr, "%8s %9d %9d %7d %7d  %d\n", u->kernel, u->registers, u->shared + dynamic,
            u->stack, u->spill, threads);
  }
}

/* "// gc: k0: p0 read 4096, env read 16, fault both 32" for every kernel, behind the text. */
static void declare(const CudaProgram *p, const char *arch, unsigned char **text, size_t *size) {
  if (!*size) return;
  Text x = text_new(p->g.a, 0);
  text_add(&x, "%s\n", (const char *)*text);
  for (uint32_t i = 0; i < p->functions.n; i++) {
    const CudaFunction *f = &p->functions.at[i];
    const KernelVariant *own = f->sm90a && cuda_variant(arch) ? f->kernel->variant : NULL;
    text_add(&x, "// gc: %s: %s", f->name, cuda_buffers(p->g.a, f));
    for (int m = 0; own && m < own->maps; m++) text_add(&x, ", %s none 0", own->map[m].name);
    text_add(&x, "\n");
  }
  *text = (unsigned char *)text_str(&x);
  *size = strlen((const char *)*text) + 1;
}

static bool compile(CudaProgram *p, const char *const *arch, int n, CudaImage *image, int *code) {
  const CodegenOptions *o = p->g.opt;
  if (p->g.refused) *code = 1;
  if (p->g.refused) return false;
  char path[CACHE_PATH];
  Cache cache = o->no_cache ? (Cache){0} : cache_open(path);
  const char *source = cuda_source(p, NULL);
  codegen_progress(o, "compiling %u GPU kernels for %s%s", p->functions.n, arch[0],
                   n > 1 ? " and others" : "");
  const bool made = nvrtc_compile(p->g.ctx, p->g.a, &cache, source, arch, n, image, code);
  codegen_progress_end(o);
  if (!made) return false;
  int cached = 0;
  for (int i = 0; i < n; i++) cached += image[i].cached;
  if (o->verbose) fprintf(stderr, "gc: %d of %d images were compiled before\n", cached, n);
  for (int i = 0; i < n; i++)
    if (image[i].ptx)
      declare(p, image[i].arch, &image[i].bytes, &image[i].size);
    else
      declare(p, image[i].arch, &image[i].text, &image[i].text_size);
  for (int i = 0; i < n && o->stats; i++)
    if (!image[i].ptx) print_uses(p, &image[i], p->g.a);
  return true;
}

static bool cuda_image(const CodegenPart *part, const CodegenOptions *o, const BackendForm *form,
                       const char **bytes, size_t *n, int *code) {
  Ctx *c = part->m->ctx;
  CudaProgram *p = cuda_program(part->m, part->target, o, ctx_arena(c));
  CudaImage image;
  const char *arch = part->arch[0];
  if (form->binary && nvrtc_makes_ptx(arch)) {
    diag(c, SEV_ERROR, (Loc){0}, "a %s is for one GPU: --arch=sm_%s, not %s", form->name,
         strchr(arch, '_') + 1, arch);
    *code = 2;
    return false;
  }
  if (!form->binary) arch = intern_printf(c, "compute_%s", strchr(arch, '_') + 1);
  if (!compile(p, &arch, 1, &image, code)) return false;
  *bytes = (const char *)image.bytes;
  *n = image.size - image.ptx; /* PTX's zero is no part of the text */
  return true;
}

/* ---- the unit ---- */

static bool cannot_write(CudaProgram *p, const char *path, int *code) {
  diag(p->g.ctx, SEV_ERROR, (Loc){0}, "cannot write '%s': %s", path, strerror(errno));
  *code = 3;
  return false;
}

static bool write_file(CudaProgram *p, const char *path, const void *bytes, size_t n, int *code) {
  FILE *f = fopen(path, "wb");
  bool ok = f && fwrite(bytes, 1, n, f) == n && fflush(f) == 0;
  if (f && fclose(f) != 0) ok = false;
  return ok || cannot_write(p, path, code);
}

/* The file's bytes, by the assembler. */
static void include(FILE *f, int i, const CudaImage *image, const char *path, Arena *a) {
  const char *name = text_quoted(a, path);
  Text x = text_new(a, 0);
  for (const char *s = name; *s; s++) text_add(&x, *s == '"' || *s == '\\' ? "\\%c" : "%c", *s);
  fprintf(
      f,
      "__asm__(\".section .gc_cuda,\\\"a\\\"\\n.balign 64\\ngc_image%d:\\n.incbin "
      "%s\\n.previous\\n\");\n"
      "extern const unsigned char gc_image%d[] __attribute__((visibility(\"hidden\"))); /* %s */\n",
      i, text_str(&x), i, image->arch);
}

static void print_tables(CudaProgram *p, FILE *f, const CudaImage *image, int n, const char *symbol,
                         const char *next) {
  fputs("static const GcImage images[] = {\n", f);
  for (int i = 0; i < n; i++)
    fprintf(f, "  {\"%s\", gc_image%d, %zu, %d},\n", image[i].arch, i, image[i].size,
            cuda_variant(image[i].arch));
  fputs("};\n", f);
  for (uint32_t i = 0; i < p->functions.n; i++) {
    const CudaFunction *k = &p->functions.at[i];
    fprintf(f, "static const uint8_t rights%u[] = {", i);
    for (int j = 0; j < k->nargs; j++) fprintf(f, "%s%d", j ? ", " : "", k->rights[j]);
    fputs("};\n", f);
  }
  if (p->functions.n) fputs("static const char *const kernels[] = {", f);
  for (uint32_t i = 0; i < p->functions.n; i++)
    fprintf(f, "%s\"%s\"", i ? ", " : "", p->functions.at[i].name);
  if (p->functions.n) fputs("};\nstatic const uint8_t *const rights[] = {", f);
  for (uint32_t i = 0; i < p->functions.n; i++) fprintf(f, "%srights%u", i ? ", " : "", i);
  if (p->functions.n) fputs("};\n", f);
  bool any = p->functions.n > 0;
  fprintf(f, "static const GcDeviceCode code = {images, %d, %s, %u, %s};\n", n,
          any ? "kernels" : "NULL", p->functions.n, any ? "rights" : "NULL");
  fprintf(f, "\n%s", cuda_launches(p));
  tables_write(&p->tables, f, symbol ? symbol : "gc_program", "", "", "code", next);
}

/* "compute_90" for the highest of "sm_80", "sm_90a": a letter would tie the PTX to that GPU. NULL
   where PTX is among what was asked for. What NVRTC compiles for sm_90 passes through the PTX of
   compute_90: no need to make it again. */
static const char *highest(Arena *a, const char *const *arch, int n) {
  int most = 0;
  for (int i = 0; i < n; i++) {
    if (nvrtc_makes_ptx(arch[i])) return NULL;
    int number = cuda_arch_number(arch[i]);
    if (number > most) most = number;
  }
  return arena_printf(a, "compute_%d", most);
}

bool cuda_images(CudaProgram *p, const char *const *arch, int n, CudaImage *out, int *nout,
                 int *code) {
  const char *last = highest(p->g.a, arch, n);
  *nout = n + !!last;
  if (!last) return compile(p, arch, n, out, code);
  int from = 0; /* whose PTX is that of the highest */
  while (from < n && strcmp(strchr(arch[from], '_'), strchr(last, '_')) != 0) from++;
  const char **all = ARENA_ARRAY(p->g.a, const char *, n + 1);
  for (int i = 0; i < n; i++) all[i] = arch[i];
  all[n] = last;
  if (!compile(p, all, from == n ? n + 1 : n, out, code)) return false;
  if (from < n)
    out[n] = (CudaImage){
        .arch = last, .ptx = true, .bytes = out[from].text, .size = out[from].text_size};
  return true;
}

bool cuda_unit(CudaProgram *p, const CudaImage *image, int n, const char *symbol, const char *next,
               const char *dir, const char **files, int *nfiles, int *code) {
  Arena *a = p->g.a;
  const char *unit = arena_printf(a, "%s/gpu.c", dir);
  files[(*nfiles)++] = unit;
  FILE *f = fopen(unit, "w");
  if (!f) return cannot_write(p, unit, code);
  fputs("#include \"gcrt.h\"\n", f);
  bool ok = true;
  for (int i = 0; i < n && ok; i++) {
    const char *path = arena_printf(a, "%s/%s", dir, image[i].arch);
    ok = write_file(p, path, image[i].bytes, image[i].size, code);
    files[(*nfiles)++] = path;
    include(f, i, &image[i], path, a);
  }
  print_tables(p, f, image, n, symbol, next);
  bool whole = fflush(f) == 0 && !ferror(f);
  whole = fclose(f) == 0 && whole;
  return ok && (whole || cannot_write(p, unit, code));
}

static bool cuda_files(const CodegenPart *part, const CodegenOptions *o, const char *dir, Arena *a,
                       CodegenFiles *out, int *code) {
  *out = (CodegenFiles){0};
  CudaProgram *p = cuda_program(part->m, part->target, o, a);
  CudaImage *image = ARENA_ARRAY(a, CudaImage, part->narch + 1);
  const char **files = ARENA_ARRAY(a, const char *, part->narch + 2);
  int n = 0, images;
  bool ok = cuda_images(p, part->arch, part->narch, image, &images, code) &&
            cuda_unit(p, image, images, part->symbol, part->next, dir, files, &n, code);
  for (int i = 0; i < n; i++) vec_push(a, &out->written, files[i]);
  if (ok) vec_push(a, &out->files, (CodegenFile){.path = files[0]});
  return ok;
}

/* ---- the target ---- */

/* sm_ or compute_, digits, and perhaps a letter. */
static bool is_arch(const char *s) {
  const bool ptx = nvrtc_makes_ptx(s);
  if (!ptx && strncmp(s, "sm_", 3) != 0) return false;
  s = strchr(s, '_') + 1;
  size_t n = strspn(s, "0123456789");
  if (n < 2 || n > 3) return false;
  const char *end = s + n;
  return !*end || ((*end == 'a' || *end == 'f') && !end[1]);
}

static bool is_here(Ctx *c, const char **arch) {
  bool knows = false;
  const char *here = cuda_native(c);
  if (!here) return false;
  if (!nvrtc_version(c, here, &knows)) {
    diag(c, SEV_NOTE, (Loc){0},
         "no NVRTC was found, so the program will not use this machine's GPU");
    diag(c, SEV_HINT, (Loc){0}, "%s; or say --target=cpu", nvrtc_remedy);
    return false;
  }
  if (knows) *arch = here;
  return true;
}

static const char *compiler(Ctx *c, const char **remedy) {
  *remedy = nvrtc_remedy;
  return nvrtc_version(c, NULL, NULL);
}

static const Target *target(Ctx *c, const CodegenPart *part, CodegenOptions *o) {
  (void)o;
  return target_cuda(c, part->arch, part->narch);
}

const Backend backend_cuda = {
    .name = "cuda",
    .suffix = ".cu",
    .ranks_by = "nccl",
    .forms =
        (const BackendForm[]){
            {.name = "cuda", .begins = "/* Compiled by gc "},
            {.name = "ptx", .image = true, .begins = "//\n// Generated by NVIDIA NVVM Compiler"},
            {.name = "cubin", .image = true, .binary = true, .elf_machine = EM_CUDA},
            {0}},
    .default_arch = "sm_80,sm_90a,sm_100",
    .one_arch = "sm_90",
    .arch_example = "sm_80 or sm_90a",
    .is_arch = is_arch,
    .is_here = is_here,
    .compiler = compiler,
    .target = target,
    .source = cuda_write_source,
    .schedules = cuda_schedules,
    .devices = gpu_device_names,
    .times = cuda_times,
    .image = cuda_image,
    .files = cuda_files,
};
