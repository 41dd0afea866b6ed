/* Devices, the primary context, modules and functions.
 * A module must be PTX for this device's capability or an older one; a cubin is for hardware and is
 * refused as one for another device is, so that a program falls back to its PTX. */
#include "attributes.h"
#include "fake.h"
#include <stdlib.h>
#include <string.h>

struct Module {
  PtxModule *ptx;
  char *declared; /* of its kernels' buffers, or NULL */
  struct Function *functions;
};

API CUresult cuInit(unsigned flags);
API CUresult cuInit(unsigned flags) {
  CUresult r = enter("cuInit", false);
  if (!r && flags) r = CUDA_INVALID_VALUE;
  if (!r && !driver()->devices) r = CUDA_NO_DEVICE;
  if (!r) driver()->initialised = true;
  return leave(r);
}
API CUresult cuDriverGetVersion(int *version);
API CUresult cuDriverGetVersion(int *version) {
  CUresult r = enter("cuDriverGetVersion", false);
  if (!r) *version = driver()->version;
  return leave(r);
}
CALL(cuDeviceGetCount, (int *count), (count)) {
  *count = driver()->devices;
  return CUDA_SUCCESS;
}
CALL(cuDeviceGet, (CUdevice * device, int ordinal), (device, ordinal)) {
  if (ordinal < 0 || ordinal >= driver()->devices) return CUDA_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}
CALL(cuDeviceGetName, (char *name, int size, CUdevice device), (name, size, device)) {
  if (device >= driver()->devices || size < 1) return CUDA_INVALID_VALUE;
  snprintf(name, (size_t)size, "PTX interpreter");
  return CUDA_SUCCESS;
}
CALL(cuDeviceGetUuid_v2, (void *uuid, CUdevice device), (uuid, device)) {
  if (device >= driver()->devices) return CUDA_INVALID_DEVICE;
  memcpy(uuid, "PTX interpreter", 16);
  return CUDA_SUCCESS;
}
CALL(cuDeviceTotalMem_v2, (size_t * bytes, CUdevice device), (bytes, device)) {
  if (device >= driver()->devices) return CUDA_INVALID_DEVICE;
  *bytes = driver()->memory;
  return CUDA_SUCCESS;
}
CALL(cuDeviceGetAttribute, (int *value, int attribute, CUdevice device),
     (value, attribute, device)) {
  if (device >= driver()->devices) return CUDA_INVALID_DEVICE;
  if (attribute == ATTRIBUTE_MAJOR || attribute == ATTRIBUTE_MINOR) {
    *value = attribute == ATTRIBUTE_MAJOR ? driver()->major : driver()->minor;
    return CUDA_SUCCESS;
  }
  if (attribute == ATTRIBUTE_MULTIPROCESSORS && driver()->multiprocessors) {
    *value = driver()->multiprocessors;
    return CUDA_SUCCESS;
  }
  for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
    if (attributes[i].id == attribute) {
      *value = attributes[i].value;
      return CUDA_SUCCESS;
    }
  return CUDA_INVALID_VALUE;
}

/* ---- the context ---- */
CALL(cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device), (context, device)) {
  if (device >= driver()->devices) return CUDA_INVALID_DEVICE;
  *context = (CUcontext)driver();
  return CUDA_SUCCESS;
}
CALL(cuDevicePrimaryCtxRelease_v2, (CUdevice device), (device)) {
  return device >= driver()->devices ? CUDA_INVALID_DEVICE : CUDA_SUCCESS;
}
CALL(cuCtxSetCurrent, (CUcontext context), (context)) {
  return context && context != (CUcontext)driver() ? CUDA_INVALID_CONTEXT : CUDA_SUCCESS;
}
CALL(cuCtxGetCurrent, (CUcontext * context), (context)) {
  *context = (CUcontext)driver();
  return CUDA_SUCCESS;
}
/* Every thread has a stack of its own. */
static _Thread_local struct Pushed {
  CUcontext at[8];
  int n;
} pushed;
CALL(cuCtxPushCurrent_v2, (CUcontext context), (context)) {
  if (context != (CUcontext)driver() || pushed.n == 8) return CUDA_INVALID_CONTEXT;
  pushed.at[pushed.n++] = context;
  return CUDA_SUCCESS;
}
CALL(cuCtxPopCurrent_v2, (CUcontext * context), (context)) {
  if (!pushed.n) return CUDA_INVALID_CONTEXT;
  *context = pushed.at[--pushed.n];
  return CUDA_SUCCESS;
}
CALL(cuCtxSynchronize, (void), ()) { return CUDA_SUCCESS; }

/* ---- modules ---- */
/* .target sm_90a: for exactly that device; sm_80: for it and all later ones. */
static bool target_runs(const char *text) {
  const Driver *d = driver();
  const char *at = strstr(text, ".target sm_");
  if (!at) return false;
  char *end;
  long sm = strtol(at + 11, &end, 10), own = d->major * 10 + d->minor;
  return *end == 'a' ? sm == own : *end == 'f' ? sm / 10 == own / 10 && sm <= own : sm <= own;
}

CALL(cuModuleLoadData, (CUmodule * module, const void *image), (module, image)) {
  const char *text = image;
  if (!text) return CUDA_INVALID_VALUE;
  if (!memcmp(text, "\177ELF", 4) || !memcmp(text, "\x50\xed\x55\xba", 4))
    return CUDA_NO_BINARY_FOR_GPU;
  if (!strstr(text, ".version")) return CUDA_INVALID_IMAGE;
  if (!target_runs(text)) return CUDA_NO_BINARY_FOR_GPU;
  char err[256];
  struct Module *m = calloc(1, sizeof *m);
  if (!m) return CUDA_OUT_OF_MEMORY;
  m->ptx = ptx_module_load(text, strlen(text), err, sizeof err);
  if (!m->ptx) {
    fprintf(stderr, "fakecuda: %s\n", err);
    free(m);
    return CUDA_INVALID_PTX;
  }
  m->declared = declared_text(text);
  *module = m;
  return CUDA_SUCCESS;
}
CALL(cuModuleLoadDataEx,
     (CUmodule * module, const void *image, unsigned count, int *options, void **values),
     (module, image, count, options, values)) {
  return body_cuModuleLoadData(module, image);
}
CALL(cuModuleUnload, (CUmodule module), (module)) {
  if (!module) return CUDA_INVALID_HANDLE;
  for (struct Function *f = module->functions, *next; f; f = next) {
    next = f->next;
    declared_free(f->buffers, ptx_kernel_params(f->kernel));
    free(f);
  }
  ptx_module_free(module->ptx);
  free(module->declared);
  free(module);
  return CUDA_SUCCESS;
}
CALL(cuModuleGetFunction, (CUfunction * function, CUmodule module, const char *name),
     (function, module, name)) {
  if (!module) return CUDA_INVALID_HANDLE;
  const PtxKernel *k = ptx_module_find(module->ptx, name);
  if (!k) return CUDA_NOT_FOUND;
  struct Function *f = calloc(1, sizeof *f);
  if (!f) return CUDA_OUT_OF_MEMORY;
  size_t used = ptx_kernel_static_shared(k);
  *f = (struct Function){k, used < 49152 ? 49152 - used : 0, NULL, module->functions};
  if (module->declared && !declared_buffers(module->declared, k, &f->buffers)) {
    fprintf(stderr, "fakecuda: the PTX does not say what kernel %s may touch\n", name);
    free(f);
    return CUDA_INVALID_PTX;
  }
  module->functions = f;
  *function = f;
  return CUDA_SUCCESS;
}
CALL(cuModuleGetGlobal_v2,
     (CUdeviceptr * address, size_t *bytes, CUmodule module, const char *name),
     (address, bytes, module, name)) {
  if (!module) return CUDA_INVALID_HANDLE;
  size_t size;
  void *at = ptx_module_global(module->ptx, name, &size);
  if (!at) return CUDA_NOT_FOUND;
  if (address) *address = (CUdeviceptr)(uintptr_t)at;
  if (bytes) *bytes = size;
  return CUDA_SUCCESS;
}
CALL(cuFuncSetAttribute, (CUfunction function, int attribute, int value),
     (function, attribute, value)) {
  if (!function) return CUDA_INVALID_HANDLE;
  if (attribute == FUNCTION_CARVEOUT) return value >= -1 && value <= 100 ? 0 : CUDA_INVALID_VALUE;
  if (attribute != FUNCTION_MAX_DYNAMIC) return CUDA_INVALID_VALUE;
  if (value < 0 || (size_t)value + ptx_kernel_static_shared(function->kernel) > SHARED_OPT_IN)
    return CUDA_INVALID_VALUE;
  function->max_dynamic = (size_t)value;
  return CUDA_SUCCESS;
}
CALL(cuFuncGetAttribute, (int *value, int attribute, CUfunction function),
     (value, attribute, function)) {
  if (!function) return CUDA_INVALID_HANDLE;
  switch (attribute) {
  case 0: *value = (int)ptx_kernel_max_threads(function->kernel); break;
  case 1: *value = (int)ptx_kernel_static_shared(function->kernel); break;
  case 2: *value = 0; break; /* constant memory */
  case 3: *value = (int)ptx_kernel_local(function->kernel); break;
  case FUNCTION_MAX_DYNAMIC: *value = (int)function->max_dynamic; break;
  default: return CUDA_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

/* ---- tensor maps ---- */
CALL(cuTensorMapEncodeTiled,
     (void *map, unsigned type, unsigned rank, void *address, const uint64_t *size,
      const uint64_t *strides, const uint32_t *box, const uint32_t *steps, unsigned interleave,
      unsigned swizzle, unsigned promotion, unsigned fill),
     (map, type, rank, address, size, strides, box, steps, interleave, swizzle, promotion, fill)) {
  PtxTensor t = {.type = type,
                 .rank = rank,
                 .address = (uintptr_t)address,
                 .interleave = interleave,
                 .swizzle = swizzle,
                 .fill = fill};
  if (!map || !size || !box || !steps || rank > PTX_TENSOR_RANK || promotion > 3)
    return CUDA_INVALID_VALUE;
  for (unsigned i = 0; i < rank; i++) {
    t.size[i] = size[i];
    t.box[i] = box[i];
    t.step[i] = steps[i];
    if (i && !strides) return CUDA_INVALID_VALUE;
    if (i) t.stride[i - 1] = strides[i - 1];
  }
  const char *wrong = ptx_tensor_map(map, &t);
  if (wrong) fprintf(stderr, "fakecuda: cuTensorMapEncodeTiled: %s\n", wrong);
  return wrong ? CUDA_INVALID_VALUE : CUDA_SUCCESS;
}

/* NVRTC asks a driver that it finds for private tables, and does without where there are none. */
CALL(cuGetExportTable, (const void **table, const void *id), (table, id)) {
  *table = NULL;
  return CUDA_NOT_FOUND;
}
