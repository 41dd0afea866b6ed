/* Finds NVRTC and its functions; see nvrtc_load.h. */
#define _GNU_SOURCE
#include "codegen/gpu/cuda/nvrtc_load.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool bind(Nvrtc *n, void *library) {
  struct {
    const char *name;
    void *to;
  } symbol[] = {{"nvrtcCreateProgram", &n->create},
                {"nvrtcCompileProgram", &n->compile},
                {"nvrtcGetProgramLogSize", &n->log_size},
                {"nvrtcGetProgramLog", &n->log},
                {"nvrtcGetPTXSize", &n->ptx_size},
                {"nvrtcGetPTX", &n->ptx},
                {"nvrtcGetCUBINSize", &n->cubin_size},
                {"nvrtcGetCUBIN", &n->cubin},
                {"nvrtcVersion", &n->version},
                {"nvrtcGetNumSupportedArchs", &n->archs_count},
                {"nvrtcGetSupportedArchs", &n->archs}};
  for (size_t i = 0; i < sizeof symbol / sizeof symbol[0]; i++) {
    void *p = dlsym(library, symbol[i].name);
    if (!p) return false;
    memcpy(symbol[i].to, &p, sizeof p);
  }
  return true;
}

/* Its own part with the built-in functions is looked for on the loader's path alone: loaded before,
   it is found wherever it lies. */
static bool load_from(Nvrtc *n, const char *library) {
  char pattern[4096];
  const char *slash = strrchr(library, '/');
  snprintf(pattern, sizeof pattern, "%.*slibnvrtc-builtins.so.*",
           slash ? (int)(slash + 1 - library) : 0, library);
  glob_t found = {0};
  if (slash && glob(pattern, 0, NULL, &found) == 0)
    for (size_t i = 0; i < found.gl_pathc; i++) dlopen(found.gl_pathv[i], RTLD_NOW | RTLD_GLOBAL);
  globfree(&found);
  void *p = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  return p && bind(n, p);
}

/* The matches of a pattern, last one first: newer versions have larger names. */
static bool load_matching(Nvrtc *n, const char *pattern) {
  glob_t found = {0};
  bool ok = false;
  if (glob(pattern, GLOB_TILDE, NULL, &found) == 0)
    for (size_t i = found.gl_pathc; i-- && !ok;) ok = load_from(n, found.gl_pathv[i]);
  globfree(&found);
  return ok;
}

bool nvrtc_load(Nvrtc *n) {
  static const char *const toolkits[] = {"/usr/local/cuda/lib64/libnvrtc.so.[0-9]*",
                                         "/usr/local/cuda-*/lib64/libnvrtc.so.[0-9]*",
                                         "/usr/local/cuda*/targets/*/lib/libnvrtc.so.[0-9]*"};
  static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
  static const char *const wheels[] = {
      "~/.local/lib/python3*/site-packages", "/usr/local/lib/python3*/site-packages",
      "/usr/local/lib/python3*/dist-packages", "/usr/lib/python3*/dist-packages"};
  const char *own = getenv("GC_NVRTC"), *venv = getenv("VIRTUAL_ENV");
  char path[4096];
  if (own && *own) {
    snprintf(path, sizeof path, "%s/libnvrtc.so.[0-9]*", own);
    return load_matching(n, path) || load_from(n, own);
  }
  for (size_t i = 0; i < sizeof toolkits / sizeof *toolkits; i++)
    if (load_matching(n, toolkits[i])) return true;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (load_from(n, names[i])) return true;
  for (size_t i = 0; i <= sizeof wheels / sizeof *wheels; i++) {
    if (i == 0 && !(venv && *venv)) continue;
    if (i == 0)
      snprintf(path, sizeof path, "%s/lib/python3*/site-packages/nvidia/*/lib/libnvrtc.so.[0-9]*",
               venv);
    else
      snprintf(path, sizeof path, "%s/nvidia/*/lib/libnvrtc.so.[0-9]*", wheels[i - 1]);
    if (load_matching(n, path)) return true;
  }
  return false;
}
