/* The NVIDIA driver, found when the program runs, and the device that was asked for.
   Contract: each thing that can be missing has its own message; a failed call is reported once,
   with its name, the driver's word for what happened, and what to do; after one, nothing more is
   reported.
 */
#include "runtime/cuda/cuda.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { DRIVER_LEAST = 12000 }; /* the version whose functions driver.def names */
enum { MULTIPROCESSORS = 16, CC_MAJOR = 75, CC_MINOR = 76 };

typedef struct Symbol {
  const char *call, *symbol;
  size_t at; /* in CudaApi */
} Symbol;
static const Symbol symbols[] = {
#define CUDA(name, symbol, params) {#name, symbol, offsetof(CudaApi, name)},
#include "runtime/cuda/driver.def"
#undef CUDA
};
typedef struct Remedy {
  CuResult code;
  const char *id, *text;
} Remedy;
static const Remedy remedies[] = {
#define CUERR(id, code, remedy) {code, #id, remedy},
#include "runtime/cuda/errors.def"
#undef CUERR
};

const char *cuda_error_name(const Cuda *c, CuResult code) {
  const char *name = NULL;
  if (c->api.GetErrorName && c->api.GetErrorName(code, &name) == 0 && name) return name;
  return "an error that the driver has no name for";
}

bool cuda_done(Cuda *c, CuResult code, const char *call, const char *what) {
  if (code == 0) return true;
  const char *symbol = call, *remedy = NULL;
  for (unsigned i = 0; i < sizeof symbols / sizeof *symbols; i++)
    if (strcmp(symbols[i].call, call) == 0) symbol = symbols[i].symbol;
  for (unsigned i = 0; i < sizeof remedies / sizeof *remedies; i++)
    if (remedies[i].code == code) remedy = remedies[i].text;
  if (c->base.broken) return false; /* what follows a failure says nothing new */
  c->base.broken = true;
  err_set(c->err, EXIT_ENV, "%s failed: %s (%d)%s%s", symbol, cuda_error_name(c, code), code,
          what ? ": " : "", what ? what : "");
  return err_hint(c->err, "%s",
                  remedy ? remedy
                         : "see nvidia-smi and dmesg; if the device is well, report this with the "
                           "program's source");
}

Err *cuda_set_sink(Cuda *c, Err *e) {
  Err *was = c->err;
  c->err = e;
  return was;
}

bool cuda_restore_sink(Cuda *c, Err *was, bool ok) {
  c->err = was;
  return ok;
}

static bool find_library(Cuda *c, Err *e) {
  c->library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!c->library) {
    const char *why = dlerror();
    err_set(e, EXIT_ENV, "no NVIDIA driver was found: %s", why ? why : "libcuda.so.1 is missing");
    return err_hint(e, "install the NVIDIA driver (525 or later)");
  }
  for (unsigned i = 0; i < sizeof symbols / sizeof *symbols; i++) {
    void *f = dlsym(c->library, symbols[i].symbol);
    if (!f) {
      err_set(e, EXIT_ENV, "the NVIDIA driver is too old: it has no %s", symbols[i].symbol);
      return err_hint(e, "install the NVIDIA driver 525 or a later one");
    }
    memcpy((char *)&c->api + symbols[i].at, &f, sizeof f);
  }
  return true;
}

static bool initialize(Cuda *c, Err *e) {
  /* Code that the driver loads at its first use would take memory after it was counted, and time
     while a graph is captured. The environment of another program is its own. */
  if (!c->hosted) setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  CuResult code = c->api.Init(0);
  if (code == CUERR_STUB_LIBRARY) {
    err_set(e, EXIT_ENV, "libcuda.so.1 is the CUDA toolkit's stub, which is no driver");
    return err_hint(e, "take the toolkit's directory of stubs out of LD_LIBRARY_PATH, or install "
                       "the NVIDIA driver");
  }
  if (code == CUERR_NO_DEVICE) {
    err_set(e, EXIT_ENV, "the NVIDIA driver finds no device");
    return err_hint(e, "nvidia-smi lists the devices; CUDA_VISIBLE_DEVICES may hide them");
  }
  if (!cuda_done(c, code, "Init", NULL) || !CUDA_CALL(c, DriverGetVersion, &c->driver))
    return false;
  if (c->driver >= DRIVER_LEAST) return true;
  err_set(e, EXIT_ENV,
          "the NVIDIA driver is too old: it knows CUDA %d.%d, and the program needs %d.%d",
          c->driver / 1000, c->driver % 1000 / 10, DRIVER_LEAST / 1000, DRIVER_LEAST % 1000 / 10);
  return err_hint(e, "install the NVIDIA driver 525 or a later one");
}

static bool find_device(Cuda *c, Err *e) {
  int count = 0;
  if (!CUDA_CALL(c, DeviceGetCount, &count)) return false;
  if (count == 0) {
    err_set(e, EXIT_ENV, "the NVIDIA driver finds no device");
    return err_hint(e, "nvidia-smi lists the devices; CUDA_VISIBLE_DEVICES may hide them");
  }
  if (c->base.program->ranks && count == 1) c->ordinal = 0; /* each rank sees its own alone */
  if (c->ordinal >= count) {
    err_set(e, EXIT_ENV, "there is no device cuda:%d: the driver finds %d", c->ordinal, count);
    return err_hint(e, "devices are counted from 0; nvidia-smi lists them");
  }
  return CUDA_CALL(c, DeviceGet, &c->device, c->ordinal) &&
         CUDA_CALL(c, DeviceGetName, c->name, (int)sizeof c->name - 1, c->device) &&
         CUDA_CALL(c, DeviceGetAttribute, &c->multiprocessors, MULTIPROCESSORS, c->device) &&
         CUDA_CALL(c, DeviceGetAttribute, &c->major, CC_MAJOR, c->device) &&
         CUDA_CALL(c, DeviceGetAttribute, &c->minor, CC_MINOR, c->device);
}

bool cuda_attach(Cuda *c, int ordinal, Err *e) {
  c->ordinal = ordinal;
  if (!find_library(c, e) || !initialize(c, e) || !find_device(c, e)) return false;
  c->retained = CUDA_CALL(c, CtxRetain, &c->context, c->device);
  if (!c->retained) return false;
  return c->hosted ? cuda_enter(&c->base, e) : CUDA_CALL(c, CtxSetCurrent, c->context);
}

bool cuda_enter(Device *d, Err *e) {
  Cuda *c = (Cuda *)(void *)d;
  Err *was = cuda_set_sink(c, e);
  c->entered = CUDA_CALL(c, CtxPush, c->context);
  return cuda_restore_sink(c, was, c->entered);
}

void cuda_leave(Device *d) {
  Cuda *c = (Cuda *)(void *)d;
  CuContext own;
  c->api.CtxPop(&own);
  c->entered = false;
}

/* The library stays: the driver's threads may be in it until the process ends. */
void cuda_detach(Cuda *c) {
  if (c->retained) CUDA_CALL(c, CtxRelease, c->device);
  c->retained = false;
}
