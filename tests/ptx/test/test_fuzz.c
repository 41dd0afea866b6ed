/* Mutated PTX must be refused or run, never crash, hang or ask for much memory.
 * Bytes, tokens and lines of a seed text are changed at random; what loads is launched with small
 * buffers and a step limit. Run under AddressSanitizer for its full worth. test_fuzz seed.ptx
 * rounds [first seed] */
#include "nvrtc.h"
#include "ptxi.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static uint64_t state;
static uint32_t draw(uint32_t n) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return n ? (uint32_t)(state >> 20) % n : 0;
}

static const char *const words[] = {
    "%r1",
    "%rd1",
    "%f1",
    "%p1",
    "%tid.x",
    "-1",
    "0",
    "4294967295",
    "{",
    "}",
    "[",
    "]",
    ",",
    ";",
    "_",
    "0f7FC00000",
    "@%p1 ",
    "bra",
    "ret;",
    "bar.sync 0;",
    ".reg .b32 %q<9999999>;",
    ".shared .b8 s[99999999];",
    "shfl.sync.idx.b32",
    "atom.global.add.u32",
    "ld.global.v4.f32",
    "st.shared.u8",
    "18446744073709551615",
    ".local .align 8 .b8 l[65536];",
    "trap;",
    "div.s32",
    "rem.s64",
    "activemask.b32",
    "$L__BB0_1:",
};

/* A whole line is left out, or comes a second time elsewhere: most of these still load. */
static size_t mutate_line(char *s, size_t size) {
  size_t from = draw((uint32_t)size), to;
  while (from && s[from - 1] != '\n') from--;
  for (to = from; to < size && s[to] != '\n';) to++;
  to += to < size;
  size_t n = to - from, at = draw((uint32_t)size);
  if (draw(2) || n > 512) {
    memmove(s + from, s + to, size - to);
    return size - n;
  }
  char line[512];
  memcpy(line, s + from, n);
  while (at && s[at - 1] != '\n') at--;
  memmove(s + at + n, s + at, size - at);
  memcpy(s + at, line, n);
  return size + n;
}

static char *mutate(const char *text, size_t size, size_t *out_size) {
  char *s = malloc(size + 4096);
  if (!s) abort();
  memcpy(s, text, size);
  for (uint32_t n = 1 + draw(3); n && size; n--) {
    size_t at = draw((uint32_t)size);
    switch (draw(12)) {
    case 0: s[at] = (char)draw(256); break;
    case 1: { /* drop some */
      size_t k = 1 + draw(40);
      if (k > size - at) k = size - at;
      memmove(s + at, s + at + k, size - at - k);
      size -= k;
      break;
    }
    case 2: { /* insert a word */
      const char *w = words[draw(sizeof words / sizeof *words)];
      size_t k = strlen(w);
      memmove(s + at + k, s + at, size - at);
      memcpy(s + at, w, k);
      size += k;
      break;
    }
    case 3: { /* copy some from elsewhere over it */
      size_t from = draw((uint32_t)size), k = 1 + draw(60);
      if (k > size - at) k = size - at;
      if (k > size - from) k = size - from;
      memmove(s + at, s + from, k);
      break;
    }
    case 4:
    case 5:
    case 6: /* a digit */
      while (at < size && (s[at] < '0' || s[at] > '9')) at++;
      if (at < size) s[at] = (char)('0' + draw(10));
      break;
    default: size = mutate_line(s, size);
    }
  }
  *out_size = size;
  return s;
}

static void run_all(const PtxModule *m) {
  static _Alignas(256) char memory[4][4096];
  for (size_t i = 0; i < ptx_module_kernels(m) && i < 16; i++) {
    const PtxKernel *k = ptx_module_kernel(m, i);
    char params[32768] = {0};
    PtxBuf bufs[4];
    for (int b = 0; b < 4; b++) {
      bufs[b] = (PtxBuf){memory[b], sizeof memory[b], PTX_RW, "buffer", NULL, 0, 0};
      memset(memory[b], 0, sizeof memory[b]);
    }
    for (size_t p = 0; p < ptx_kernel_params(k); p++) {
      PtxParam q = ptx_kernel_param(k, p);
      uint64_t v = q.size == 8 && p < 4 ? (uintptr_t)memory[p] : 32;
      memcpy(params + q.offset, &v, q.size < 8 ? q.size : 8);
    }
    PtxLaunch l = {.grid = {2, 1, 1},
                   .block = {64, 1, 1},
                   .params = params,
                   .params_size = ptx_kernel_params_size(k),
                   .bufs = bufs,
                   .nbufs = 4,
                   .checks = PTX_CHECK_ALL,
                   .order = draw(4),
                   .dynamic_shared = 4096 * draw(4),
                   .max_steps = 3000,
                   .max_reports = 8};
    PtxResult r;
    ptx_launch(k, &l, &r);
    ptx_result_free(&r);
  }
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  struct rlimit cpu = {300, 300};
  setrlimit(RLIMIT_CPU, &cpu);
  char *text = read_file(argv[1]);
  size_t size = strlen(text);
  uint64_t first = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
  uint64_t rounds = strtoull(argv[2], NULL, 10), loaded = 0;
  for (uint64_t i = first; i < first + rounds; i++) {
    state = i * 0x9E3779B97F4A7C15u | 1;
    for (int warm = 0; warm < 8; warm++) draw(1);
    size_t n;
    char err[256], *s = mutate(text, size, &n);
    PtxModule *m = ptx_module_load(s, n, err, sizeof err);
    if (m) {
      loaded++;
      run_all(m);
      ptx_module_free(m);
    }
    free(s);
  }
  free(text);
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  printf("%llu texts, %llu of them loaded and ran, at most %ld MiB\n", (unsigned long long)rounds,
         (unsigned long long)loaded, u.ru_maxrss / 1024);
  return 0;
}
