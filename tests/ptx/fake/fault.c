/* The driver's state, its environment, counted calls and injected faults.
 * enter() and leave() surround every call; a launch failure stays until the process ends. */
#define _GNU_SOURCE
#include "fake.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

Driver *driver(void) {
  static Driver d = {.lock = PTHREAD_MUTEX_INITIALIZER,
                     .devices = 1,
                     .version = 13000,
                     .memory = (size_t)4 << 30,
                     .major = 99,
                     .checks = PTX_CHECK_ALL};
  return &d;
}

static const struct ResultName {
  CUresult code;
  const char *name;
} result_names[] = {
#define RESULT(code, name) {CUDA_##name, #name},
#include "errors.def"
#undef RESULT
};

static bool result_find(const char *text, CUresult *out) {
  if (!strncasecmp(text, "CUDA_ERROR_", 11)) text += 11;
  char *end;
  unsigned long n = strtoul(text, &end, 10);
  for (size_t i = 0; i < sizeof result_names / sizeof *result_names; i++)
    if (!strcasecmp(text, result_names[i].name) ||
        (end != text && !*end && n == (unsigned long)result_names[i].code)) {
      *out = result_names[i].code;
      return true;
    }
  return false;
}

/* A fault that cannot be read would let a test pass that tests nothing. */
_Noreturn static void bad_setting(const char *name, const char *value) {
  fprintf(stderr, "fakecuda: %s='%s' is not understood\n", name, value);
  abort();
}

static void read_faults(Driver *d, const char *text) {
  char *copy = strdup(text), *rest = copy;
  for (char *one; copy && (one = strsep(&rest, ","));) {
    Fault f = {0};
    char error[64];
    if (sscanf(one, "%63[^:]:%lu:%63s", f.function, &f.at, error) != 3 || !f.at ||
        !result_find(error, &f.error))
      bad_setting("FAKECUDA_FAIL", text);
    Fault *grown = realloc(d->faults, (d->nfaults + 1) * sizeof *grown);
    if (!grown) abort();
    d->faults = grown;
    d->faults[d->nfaults++] = f;
  }
  free(copy);
}

static size_t read_bytes(const char *name, const char *text) {
  char *end;
  unsigned long long n = strtoull(text, &end, 10);
  int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
  if (end == text || end[shift != 0]) bad_setting(name, text);
  return (size_t)n << shift;
}

static void configure(Driver *d) {
  const char *v;
  d->configured = true;
  if ((v = getenv("FAKECUDA_FAIL"))) read_faults(d, v);
  if ((v = getenv("FAKECUDA_MEMORY"))) d->memory = read_bytes("FAKECUDA_MEMORY", v);
  if ((v = getenv("FAKECUDA_DRIVER"))) d->version = (int)read_bytes("FAKECUDA_DRIVER", v);
  if ((v = getenv("FAKECUDA_DEVICES"))) d->devices = (int)read_bytes("FAKECUDA_DEVICES", v);
  if ((v = getenv("FAKECUDA_SMS"))) d->multiprocessors = (int)read_bytes("FAKECUDA_SMS", v);
  if ((v = getenv("FAKECUDA_ORDER"))) d->order = (unsigned)read_bytes("FAKECUDA_ORDER", v);
  if ((v = getenv("FAKECUDA_DEAF"))) d->deaf = read_bytes("FAKECUDA_DEAF", v);
  if ((v = getenv("FAKECUDA_STEPS"))) d->max_steps = read_bytes("FAKECUDA_STEPS", v);
  if ((v = getenv("FAKECUDA_CC")) && sscanf(v, "%d.%d", &d->major, &d->minor) != 2)
    bad_setting("FAKECUDA_CC", v);
  if ((v = getenv("FAKECUDA_CHECK"))) {
    static const char *const names[] = {"none", "race", "init", "all"};
    unsigned n = 0;
    while (n < 4 && strcmp(v, names[n])) n++;
    if (n == 4) bad_setting("FAKECUDA_CHECK", v);
    d->checks = n;
  }
  if ((v = getenv("FAKECUDA_WORK")) && !(d->work = fopen(v, "a"))) bad_setting("FAKECUDA_WORK", v);
  if ((v = getenv("FAKECUDA_LOG")) && !(d->log = fopen(v, "a"))) bad_setting("FAKECUDA_LOG", v);
}

static unsigned long count_call(Driver *d, const char *function) {
  for (size_t i = 0; i < d->ncounts; i++)
    if (!strcmp(d->counts[i].function, function)) return ++d->counts[i].calls;
  struct Count *grown = realloc(d->counts, (d->ncounts + 1) * sizeof *grown);
  if (!grown) abort();
  d->counts = grown;
  snprintf(grown[d->ncounts].function, sizeof grown->function, "%s", function);
  grown[d->ncounts++].calls = 1;
  return 1;
}

CUresult enter(const char *function, bool needs_init) {
  Driver *d = driver();
  pthread_mutex_lock(&d->lock);
  if (!d->configured) configure(d);
  unsigned long n = count_call(d, function);
  if (d->log) {
    fprintf(d->log, "%s\n", function);
    fflush(d->log);
  }
  for (size_t i = 0; i < d->nfaults; i++)
    if (d->faults[i].at == n && !strcmp(d->faults[i].function, function)) {
      CUresult e = d->faults[i].error;
      if (e == CUDA_ILLEGAL_ADDRESS || e == CUDA_LAUNCH_FAILED || e == CUDA_LAUNCH_TIMEOUT ||
          e == CUDA_ECC_UNCORRECTABLE)
        d->sticky = e;
      return e;
    }
  if (needs_init && !d->initialised) return CUDA_NOT_INITIALIZED;
  return d->sticky;
}

CUresult leave(CUresult result) {
  pthread_mutex_unlock(&driver()->lock);
  return result;
}

API CUresult cuGetErrorName(CUresult e, const char **name);
API CUresult cuGetErrorName(CUresult e, const char **name) {
  static const char *const texts[] = {
#define RESULT(code, name) "CUDA_ERROR_" #name,
#include "errors.def"
#undef RESULT
  };
  for (size_t i = 0; i < sizeof result_names / sizeof *result_names; i++)
    if (result_names[i].code == e) {
      *name = e ? texts[i] : "CUDA_SUCCESS";
      return CUDA_SUCCESS;
    }
  *name = NULL;
  return CUDA_INVALID_VALUE;
}
API CUresult cuGetErrorString(CUresult e, const char **text);
API CUresult cuGetErrorString(CUresult e, const char **text) { return cuGetErrorName(e, text); }
