/* Finds NVRTC in GC_NVRTC, the loader's path, CUDA toolkits under /usr/local, or a PyPI wheel.
 * Its builtins library is opened first, by path, since NVRTC itself looks on the loader's path
 * only. */
#define _GNU_SOURCE
#include "nvrtc.h"
#include <dlfcn.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct Nvrtc {
  void *lib;
  int (*create)(void **, const char *, const char *, int, const char *const *, const char *const *);
  int (*compile)(void *, int, const char *const *);
  int (*destroy)(void **);
  int (*ptx_size)(void *, size_t *);
  int (*ptx)(void *, char *);
  int (*log_size)(void *, size_t *);
  int (*log)(void *, char *);
  bool is_new;
};

static void *open_matching(const char *pattern) {
  glob_t g;
  void *lib = NULL;
  if (glob(pattern, 0, NULL, &g) == 0)
    for (size_t i = 0; i < g.gl_pathc && !lib; i++)
      lib = dlopen(g.gl_pathv[i], RTLD_NOW | RTLD_LOCAL);
  globfree(&g);
  return lib;
}

static void *open_dir(const char *dir) {
  static const char *const patterns[] = {"libnvrtc-builtins.so.*", "libnvrtc.so.[0-9]*"};
  void *lib = NULL;
  for (int i = 0; i < 2; i++) {
    size_t n = strlen(dir) + strlen(patterns[i]) + 2;
    char *path = malloc(n);
    if (!path) return NULL;
    snprintf(path, n, "%s/%s", dir, patterns[i]);
    lib = open_matching(path);
    free(path);
  }
  return lib;
}

static void *open_library(void) {
  static const char *const dirs[] = {
      "/usr/local/cuda/lib64",
      "/usr/local/cuda/lib",
      "/usr/local/cuda-*/lib64",
      "/usr/local/cuda-*/lib",
      "/usr/local/lib/python3*/*-packages/nvidia/cu*/lib",
      "/usr/local/lib/python3*/*-packages/nvidia/cuda_nvrtc/lib",
      "/usr/lib/python3*/*-packages/nvidia/cuda_nvrtc/lib",
  };
  const char *own = getenv("GC_NVRTC");
  if (own) { /* the library, or its folder */
    char dir[1024];
    void *lib = open_dir(own);
    if (lib) return lib;
    snprintf(dir, sizeof dir, "%s", own);
    char *slash = strrchr(dir, '/');
    if (slash) *slash = 0;
    return slash ? open_dir(dir) : NULL;
  }
  for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
    void *lib = open_dir(dirs[i]);
    if (lib) return lib;
  }
  static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    void *lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (lib) return lib;
  }
  return NULL;
}

Nvrtc *nvrtc_open(void) {
  Nvrtc *n = calloc(1, sizeof *n);
  if (!n) return NULL;
  n->lib = open_library();
  if (n->lib) {
    *(void **)&n->create = dlsym(n->lib, "nvrtcCreateProgram");
    *(void **)&n->compile = dlsym(n->lib, "nvrtcCompileProgram");
    *(void **)&n->destroy = dlsym(n->lib, "nvrtcDestroyProgram");
    *(void **)&n->ptx_size = dlsym(n->lib, "nvrtcGetPTXSize");
    *(void **)&n->ptx = dlsym(n->lib, "nvrtcGetPTX");
    *(void **)&n->log_size = dlsym(n->lib, "nvrtcGetProgramLogSize");
    *(void **)&n->log = dlsym(n->lib, "nvrtcGetProgramLog");
    int (*version)(int *, int *), major = 0, minor = 0;
    *(void **)&version = dlsym(n->lib, "nvrtcVersion");
    n->is_new = version && version(&major, &minor) == 0 && major >= 13;
    if (n->create && n->compile && n->destroy && n->ptx_size && n->ptx && n->log_size && n->log)
      return n;
  }
  fprintf(
      stderr,
      "NOT TESTED: kernels for a GPU: no NVRTC here; set GC_NVRTC to the folder of libnvrtc.so\n");
  free(n);
  return NULL;
}

bool nvrtc_is_new(const Nvrtc *n) { return n->is_new; }

const char *nvrtc_identity(const Nvrtc *n) {
  static char text[1200];
  void *symbol;
  Dl_info library = {0};
  struct stat st = {0};
  memcpy(&symbol, &n->compile, sizeof symbol);
  if (dladdr(symbol, &library) && stat(library.dli_fname, &st) == 0)
    snprintf(text, sizeof text, "%.1000s %lld %lld.%09ld", library.dli_fname, (long long)st.st_size,
             (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
  return text;
}

char *nvrtc_ptx(Nvrtc *n, const char *source, const char *const *options, int count, int quiet) {
  enum { MOST = 16 };
  const char *all[MOST];
  void *program;
  if (count >= MOST || n->create(&program, source, "kernels.cu", 0, NULL, NULL)) return NULL;
  memcpy(all, options, (size_t)count * sizeof *all);
  /* without textures and the runtime's functions, it begins a third sooner */
  if (n->is_new) all[count++] = "--minimal";
  char *text = NULL;
  size_t size = 0;
  if (n->compile(program, count, all) == 0) {
    if (n->ptx_size(program, &size) == 0 && (text = calloc(1, size + 1))) n->ptx(program, text);
  } else if (!quiet && n->log_size(program, &size) == 0) {
    char *log = calloc(1, size + 1);
    if (log && n->log(program, log) == 0) fprintf(stderr, "%s\n", log);
    free(log);
  }
  n->destroy(&program);
  return text;
}

char *read_file(const char *path) {
  FILE *f = fopen(path, "rb");
  if (!f) {
    perror(path);
    exit(1);
  }
  fseek(f, 0, SEEK_END);
  long size = ftell(f);
  rewind(f);
  char *text = calloc(1, (size_t)size + 1);
  if (!text || fread(text, 1, (size_t)size, f) != (size_t)size) exit(1);
  fclose(f);
  return text;
}
