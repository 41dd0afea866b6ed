/* What kernels may touch, as the PTX of a program says it behind its text, one line a kernel:
     // gc: k0: p0 read 4096, p1 both 64, env read 16, fault both 32
   in the order of the parameters; those of 0 bytes may be no pointers. Contract: a module that says
   so of one kernel says it of all; a launch may then touch nothing else, in allocations though it
   be. */
#include "fake.h"
#include <stdlib.h>
#include <string.h>

static const char mark[] = "// gc: ";

char *declared_text(const char *ptx) {
  const char *at = strstr(ptx, mark);
  return at ? strdup(at) : NULL;
}

static unsigned rights_of(const char *name) {
  return !strcmp(name, "read") ? PTX_READ : !strcmp(name, "write") ? PTX_WRITE : PTX_RW;
}

/* "p0 read 4096, " of n parameters; false where there are more, fewer, or other words. */
static bool parse(const char *s, PtxBuf *to, size_t n) {
  for (size_t i = 0; i < n; i++) {
    char name[16], right[8], end;
    size_t bytes;
    int read = 0;
    if (sscanf(s, "%15s %7s %zu%n%c", name, right, &bytes, &read, &end) != 4) return false;
    if (end != (i + 1 < n ? ',' : '\n')) return false;
    s += read + 1;
    to[i] = (PtxBuf){.size = bytes, .rights = rights_of(right), .name = strdup(name)};
    if (!to[i].name) return false;
  }
  return true;
}

bool declared_buffers(const char *text, const PtxKernel *k, PtxBuf **out) {
  size_t n = ptx_kernel_params(k), length = strlen(ptx_kernel_name(k));
  const char *s = text;
  while (s && (strncmp(s += sizeof mark - 1, ptx_kernel_name(k), length) || s[length] != ':'))
    s = strstr(s, mark);
  PtxBuf *to = s ? calloc(n + 1, sizeof *to) : NULL;
  if (!to) return false;
  *out = to;
  if (parse(s + length + 1, to, n)) return true;
  declared_free(to, n);
  return false;
}

void declared_free(PtxBuf *buffers, size_t n) {
  for (size_t i = 0; buffers && i < n; i++) free((char *)buffers[i].name);
  free(buffers);
}

bool declared_launch(const struct Function *f, char *params, PtxBuf **out, size_t *n) {
  size_t all = ptx_kernel_params(f->kernel);
  PtxBuf *to = *out = calloc(all + 1, sizeof *to);
  *n = 0;
  for (size_t i = 0; to && i < all; i++) {
    CUdeviceptr p;
    to[*n] = f->buffers[i];
    if (!to[*n].size) continue;
    memcpy(&p, params + ptx_kernel_param(f->kernel, i).offset, sizeof p);
    if (!memory_part(p, to[*n].size, &to[*n])) {
      fprintf(stderr, "fakecuda: kernel %s: the %zu bytes of %s are not all in an allocation\n",
              ptx_kernel_name(f->kernel), f->buffers[i].size, f->buffers[i].name);
      return false;
    }
    to[*n].tag = i < PTX_TAGS ? (unsigned)i + 1 : 0;
    uint64_t tagged = ptx_tagged((const void *)(uintptr_t)p, to[*n].tag);
    memcpy(params + ptx_kernel_param(f->kernel, i).offset, &tagged, sizeof tagged);
    ++*n;
  }
  return to;
}
