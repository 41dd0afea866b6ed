/* Which of a program's images a device can run, and loading the best one that the driver takes.
   Contract: a cubin runs on devices of its major version from its minor one on; with the letter f
   the same; with the letter a on exactly its own; PTX runs on its own and all later ones, with a or
   f as a cubin does. Own before near, cubins before PTX. */
#include "runtime/cuda/cuda.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct Arch {
  bool ptx, known;
  int major, minor;
  char letter; /* 'a', 'f' or 0 */
} Arch;

static Arch arch_parse(const char *s) {
  Arch a = {0};
  a.ptx = strncmp(s, "compute_", 8) == 0;
  if (!a.ptx && strncmp(s, "sm_", 3) != 0) return a;
  s += a.ptx ? 8 : 3;
  char *end;
  if (!isdigit((unsigned char)*s)) return a;
  long n = strtol(s, &end, 10);
  a.major = (int)(n / 10), a.minor = (int)(n % 10);
  a.letter = *end;
  a.known = n < 10000 && (*end == 0 || ((*end == 'a' || *end == 'f') && end[1] == 0));
  return a;
}

static bool arch_runs(Arch a, int major, int minor) {
  bool own = a.major == major && a.minor == minor;
  bool near = a.major == major && a.minor <= minor;
  if (!a.known) return false;
  if (a.letter == 'a') return own;
  if (a.letter == 'f' || !a.ptx) return near;
  return a.major < major || near;
}

/* More is better: cubins, then versions, then the code that uses most of the device. */
static int arch_rank(Arch a) {
  return !a.ptx * 1000000 + (a.major * 10 + a.minor) * 10 + (a.letter == 'a' ? 2 : a.letter == 'f');
}

int cuda_images(const GcDeviceCode *code, int major, int minor, const GcImage **out) {
  int n = 0;
  for (int i = 0; i < code->nimages; i++) {
    Arch a = arch_parse(code->images[i].arch);
    if (!arch_runs(a, major, minor)) continue;
    int at = n++;
    for (; at > 0 && arch_rank(arch_parse(out[at - 1]->arch)) < arch_rank(a); at--)
      out[at] = out[at - 1];
    out[at] = &code->images[i];
  }
  return n;
}

static bool none_fits(const Cuda *c, Err *e) {
  const GcDeviceCode *code = c->base.program->code;
  char list[256] = "";
  size_t at = 0;
  for (int i = 0; i < code->nimages && at < sizeof list; i++)
    at +=
        (size_t)snprintf(list + at, sizeof list - at, "%s%s", i ? ", " : "", code->images[i].arch);
  err_set(e, EXIT_ENV, "%s is an sm_%d%d, and the program holds code for %s only", c->name,
          c->major, c->minor, *list ? list : "no device");
  return err_hint(e, "compile it with gc --arch=sm_%d%d", c->major, c->minor);
}

/* What the next image may get round. */
static bool refused(CuResult code) {
  return code == CUERR_INVALID_IMAGE || code == CUERR_NO_BINARY || code == CUERR_JIT_NOT_FOUND ||
         code == CUERR_PTX_VERSION;
}

/* A driver from CUDA 12.3 on captures such launches in graphs. */
enum { PROGRAMMATIC_GRAPHS = 12030, WAITING = 90 /* code from this architecture on waits */ };

static bool kernels_wait(const GcImage *image) {
  const char *digits = strchr(image->arch, '_');
  return digits && atoi(digits + 1) >= WAITING;
}

static bool load_module(Cuda *c, Err *e) {
  const GcDeviceCode *code = c->base.program->code;
  const GcImage **images = calloc((size_t)code->nimages + 1, sizeof *images);
  if (!images) return err_set(e, EXIT_ENV, "no memory for the program's code");
  int n = cuda_images(code, c->major, c->minor, images);
  CuResult result = 0;
  const char *last = "";
  for (int i = 0; i < n; i++) {
    last = images[i]->arch;
    result = c->api.ModuleLoadData(&c->module, images[i]->data);
    c->variant = images[i]->variant;
    c->waits = kernels_wait(images[i]) && c->driver >= PROGRAMMATIC_GRAPHS;
    if (!refused(result)) break;
  }
  free(images);
  if (n == 0) return none_fits(c, e);
  if (result == CUERR_PTX_VERSION || result == CUERR_INVALID_IMAGE || result == CUERR_NO_BINARY) {
    err_set(e, EXIT_ENV,
            "the NVIDIA driver, which knows CUDA %d.%d, refuses the program's code for %s: %s (%d)",
            c->driver / 1000, c->driver % 1000 / 10, last, cuda_error_name(c, result), result);
    return err_hint(e, "update the NVIDIA driver, or compile the program with gc --arch=sm_%d%d",
                    c->major, c->minor);
  }
  return cuda_done(c, result, "ModuleLoadData", last);
}

enum { DYNAMIC_SHARED = 8 }; /* attribute of a function */

/* More shared memory than the usual 48 KiB has to be asked for. */
static bool grant_shared(Cuda *c) {
  const GcProgram *p = c->base.program;
  uint32_t *most = calloc((size_t)p->code->nkernels + 1, sizeof *most);
  if (!most) return err_set(c->err, EXIT_ENV, "no memory for the program's code");
  for (int i = -2; i < p->nentries; i++) {
    const GcEntry *en = i == -2 ? p->gather : i < 0 ? p->init : &p->entries[i];
    for (int s = 0; en && s < en->nsteps; s++) {
      const GcLaunch *l = cuda_launch_of(c, &en->steps[s]);
      if (l->shared > most[l->kernel]) most[l->kernel] = l->shared;
    }
  }
  bool ok = true;
  for (int k = 0; ok && k < p->code->nkernels; k++)
    ok = !most[k] || CUDA_CALL_FOR(c, p->code->kernels[k], FuncSetAttribute, c->functions[k],
                                   DYNAMIC_SHARED, (int)most[k]);
  free(most);
  return ok;
}

bool cuda_load(Cuda *c, Err *e) {
  const GcDeviceCode *code = c->base.program->code;
  if (!load_module(c, e)) return false;
  c->functions = calloc((size_t)code->nkernels + 1, sizeof *c->functions);
  if (!c->functions) return err_set(e, EXIT_ENV, "no memory for the program's code");
  for (int i = 0; i < code->nkernels; i++)
    if (!CUDA_CALL_FOR(c, code->kernels[i], ModuleGetFunction, &c->functions[i], c->module,
                       code->kernels[i]))
      return false;
  return grant_shared(c);
}
