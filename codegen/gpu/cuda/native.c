/* The GPU of this machine. Contract: the driver is asked in a child process with a limit on its
   time, so nothing that it does can hurt gc; where no libcuda.so.1 is installed nothing is started.
   The first device counts, as for programs; CUDA_VISIBLE_DEVICES chooses it, or hides all. */
#define _GNU_SOURCE
#include "codegen/gpu/cuda/nvrtc.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECONDS = 20, CC_MAJOR = 75, CC_MINOR = 76 }; /* CUDA driver API: CUdevice_attribute */

typedef struct Capability {
  int major, minor;
} Capability;

static bool ask(void *library, Capability *out) {
  int (*init)(unsigned), (*get)(int *, int), (*attribute)(int *, int, int);
  struct {
    const char *name;
    void *to;
  } symbol[] = {{"cuInit", &init}, {"cuDeviceGet", &get}, {"cuDeviceGetAttribute", &attribute}};
  for (size_t i = 0; i < sizeof symbol / sizeof symbol[0]; i++) {
    void *p = dlsym(library, symbol[i].name);
    if (!p) return false;
    memcpy(symbol[i].to, &p, sizeof p);
  }
  int device;
  return init(0) == 0 && get(&device, 0) == 0 && attribute(&out->major, CC_MAJOR, device) == 0 &&
         attribute(&out->minor, CC_MINOR, device) == 0;
}

static bool ask_apart(void *library, Capability *out) {
  int fd[2];
  if (pipe2(fd, O_CLOEXEC) != 0) return false;
  pid_t pid = fork();
  if (pid == 0) {
    alarm(SECONDS);
    Capability c;
    bool ok = ask(library, &c) && write(fd[1], &c, sizeof c) == sizeof c;
    _exit(!ok);
  }
  close(fd[1]);
  ssize_t n = pid > 0 ? read(fd[0], out, sizeof *out) : -1;
  close(fd[0]);
  while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
  }
  return n == sizeof *out;
}

const char *cuda_native(Ctx *c) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  Capability is;
  bool ok = library && ask_apart(library, &is);
  if (library) dlclose(library);
  const bool own = ok && is.major == 9 && is.minor == 0; /* has code of its own for products */
  return ok ? intern_printf(c, "sm_%d%d%s", is.major, is.minor, own ? "a" : "") : NULL;
}
