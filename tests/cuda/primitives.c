/* Every primitive of codegen/gpu/cuda/text/device.h and device_sm90a.h does what these texts say,
   on whatever libcuda.so.1 the loader finds: the PTX interpreter's in the build's tests, the driver
   of a GPU where one is at hand. primitives KERNELS.cu compiles both and the kernels with NVRTC,
   runs each, and compares with what plain C makes of the same words, bit by bit; sums of tensor
   cores, whose order is the hardware's, within their rounding. Says "NOT TESTED" and exits with 77
   where there is no NVRTC or no driver, but for GC_NO_SKIP, which makes that an error. */
#define _GNU_SOURCE
#include "codegen/gpu/cuda/nvrtc.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const char cuda_text_device[], cuda_text_device_sm90a[];

enum { SKIP = 77, THREADS = 64, WORDS = 1024 };
typedef unsigned long long Address;

/* ---- the driver ---- */

static struct {
  int (*Init)(unsigned), (*DeviceGet)(int *, int), (*CtxRetain)(void **, int), (*CtxSet)(void *);
  int (*Load)(void **, const void *), (*Function)(void **, void *, const char *);
  int (*Alloc)(Address *, size_t), (*ToDevice)(Address, const void *, size_t);
  int (*ToHost)(void *, Address, size_t);
  int (*Launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                void *, void **, void **);
} cu;

static bool open_driver(void) {
  static const struct {
    void *at;
    const char *name;
  } symbols[] = {{&cu.Init, "cuInit"},
                 {&cu.DeviceGet, "cuDeviceGet"},
                 {&cu.CtxRetain, "cuDevicePrimaryCtxRetain"},
                 {&cu.CtxSet, "cuCtxSetCurrent"},
                 {&cu.Load, "cuModuleLoadData"},
                 {&cu.Function, "cuModuleGetFunction"},
                 {&cu.Alloc, "cuMemAlloc_v2"},
                 {&cu.ToDevice, "cuMemcpyHtoD_v2"},
                 {&cu.ToHost, "cuMemcpyDtoH_v2"},
                 {&cu.Launch, "cuLaunchKernel"}};
  void *library = dlopen("libcuda.so.1", RTLD_NOW), *context = NULL;
  int device = 0;
  for (size_t i = 0; library && i < sizeof symbols / sizeof *symbols; i++) {
    void *f = dlsym(library, symbols[i].name);
    if (!f) return false;
    memcpy(symbols[i].at, &f, sizeof f);
  }
  return library && !cu.Init(0) && !cu.DeviceGet(&device, 0) && !cu.CtxRetain(&context, device) &&
         !cu.CtxSet(context);
}

/* ---- what comes out ---- */

static float number(uint32_t x) {
  float f;
  memcpy(&f, &x, 4);
  return f;
}
static uint32_t word(float f) {
  uint32_t x;
  memcpy(&x, &f, 4);
  return x;
}

static void vec(const uint32_t *in, uint32_t *out) { memcpy(out, in, 16 * THREADS); }
static void block_sync(const uint32_t *in, uint32_t *out) {
  for (int t = 0; t < THREADS; t++) out[t] = in[THREADS - 1 - t];
}
static void warp_sync(const uint32_t *in, uint32_t *out) {
  for (int t = 0; t < THREADS; t++) out[t] = in[t ^ 31];
}
static void warp_down(const uint32_t *in, uint32_t *out) {
  for (int t = 0; t < THREADS; t++) out[t] = in[t % 32 + 5 < 32 ? t + 5 : t];
}
static void warp_down_wide(const uint32_t *in, uint32_t *out) {
  for (int t = 0; t < THREADS; t++) {
    int from = t % 32 + 16 < 32 ? t + 16 : t;
    out[2 * t] = (uint32_t)from;
    out[2 * t + 1] = in[from];
  }
}
static void warp_first(const uint32_t *in, uint32_t *out) {
  for (int t = 0; t < THREADS; t++) out[t] = in[t / 32 * 32];
}
static void choose_bytes(const uint32_t *in, uint32_t *out) {
  for (int t = 0; t < THREADS; t++)
    for (int i = 0; i < 4; i++) {
      const uint64_t both = (uint64_t)in[t + THREADS] << 32 | in[t];
      const uint32_t choice = in[t + 2 * THREADS] >> i;
      out[4 * t + i] = 0;
      for (int q = 0; q < 4; q++)
        out[4 * t + i] |= (uint32_t)(both >> 8 * (choice >> 4 * q & 7) & 0xff) << 8 * q;
    }
}
static void bits_within(const uint32_t *in, uint32_t *out) {
  for (int t = 0; t < THREADS; t++) out[t] = (in[t] & in[t + THREADS]) | in[t + 2 * THREADS];
}
static void warp_xor(const uint32_t *in, uint32_t *out) {
  for (int t = 0; t < THREADS; t++) out[t] = in[t ^ 5];
}
static void warp_ballot(const uint32_t *in, uint32_t *out) {
  for (int t = 0; t < THREADS; t++) {
    out[t] = 0;
    for (int l = 0; l < 32; l++) out[t] |= (uint32_t)(in[t / 32 * 32 + l] % 3 == 0) << l;
  }
}

static void copied(const uint32_t *in, uint32_t *out, int words) {
  for (int t = 0; t < THREADS; t++)
    for (int i = 0; i < words; i++) {
      int from = THREADS - 1 - t, valid = from % 3 == 0 ? 0 : from % 3 == 1 ? 1 : words;
      out[t * words + i] = in[from * words + i];
      out[(THREADS + t) * words + i] = i < valid ? in[from * words + i] : 0;
    }
}
static void copied_4(const uint32_t *in, uint32_t *out) { copied(in, out, 1); }
static void copied_8(const uint32_t *in, uint32_t *out) { copied(in, out, 2); }
static void copied_16(const uint32_t *in, uint32_t *out) { copied(in, out, 4); }

/* Row r of matrix m begins at word 8 (8 m + r) + 4 (r % 2). */
static uint32_t half(const uint32_t *in, int m, int r, int c) {
  return in[8 * (8 * m + r) + r % 2 * 4 + c / 2] >> c % 2 * 16 & 0xffff;
}
static void matrix_load(const uint32_t *in, uint32_t *out) {
  for (int t = 0; t < THREADS; t++)
    for (int m = 0; m < 4; m++) {
      int g = t % 32 / 4, c = t % 4 * 2;
      out[t * 4 + m] = half(in, m, g, c) | half(in, m, g, c + 1) << 16;
    }
}
static void matrix_load_t(const uint32_t *in, uint32_t *out) {
  for (int t = 0; t < THREADS; t++)
    for (int m = 0; m < 4; m++) {
      int g = t % 32 / 4, c = t % 4 * 2;
      out[t * 4 + m] = half(in, m, c, g) | half(in, m, c + 1, g) << 16;
    }
}

static double f16(uint32_t h) {
  int e = h >> 10 & 31, m = h & 1023;
  double v = e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
  return h & 0x8000 ? -v : v;
}
static double element(char kind, const uint32_t *row, int k) {
  if (kind == 't') return number(row[k] & ~0x1fffu);
  uint32_t h = row[k / 2] >> k % 2 * 16 & 0xffff;
  return kind == 'b' ? number(h << 16) : f16(h);
}
static void tensor_fma(const uint32_t *in, uint32_t *out, char kind) {
  for (int i = 0; i < 16; i++)
    for (int j = 0; j < 8; j++) {
      double sum = number(in[192 + i * 8 + j]);
      for (int k = 0; k < (kind == 't' ? 8 : 16); k++)
        sum += element(kind, in + i * 8, k) * element(kind, in + 128 + j * 8, k);
      out[i * 8 + j] = word((float)sum);
    }
}
static void tensor_fma_bf16(const uint32_t *in, uint32_t *out) { tensor_fma(in, out, 'b'); }
static void tensor_fma_f16(const uint32_t *in, uint32_t *out) { tensor_fma(in, out, 'h'); }
static void tensor_fma_tf32(const uint32_t *in, uint32_t *out) { tensor_fma(in, out, 't'); }

/* x, of a magnitude between 2^-14 and 2^15, rounded to nearest even with `bits` of significand
 * behind the point. */
static double rounded(double x, int bits) {
  int e;
  double m = frexp(x, &e), unit = ldexp(1, e - 1 - bits);
  return m == 0 ? 0 : nearbyint(x / unit) * unit;
}
static uint32_t half_of(double x) {
  int e;
  double m = frexp(fabs(x), &e);
  return (x < 0 ? 0x8000u : 0) | (uint32_t)(e + 14) << 10 | ((uint32_t)ldexp(m, 11) & 1023);
}
static void pack_bf16(const uint32_t *in, uint32_t *out) {
  for (int t = 0; t < THREADS; t++) {
    uint32_t low = word((float)rounded(number(in[192 + t]), 7));
    uint32_t high = word((float)rounded(number(in[256 + t]), 7));
    out[t] = low >> 16 | (high & 0xffff0000);
  }
}
static void pack_f16(const uint32_t *in, uint32_t *out) {
  for (int t = 0; t < THREADS; t++)
    out[t] = half_of(rounded(number(in[192 + t]), 10)) | half_of(rounded(number(in[256 + t]), 10))
                                                             << 16;
}
/* Both halves of words of a, b and c: of sums that are small, too. */
static void fma_pair(const uint32_t *in, uint32_t *out, char kind) {
  for (int t = 0; t < THREADS; t++) {
    out[t] = 0;
    for (int h = 0; h < 2; h++) {
      const double x =
          element(kind, in + t, h) * element(kind, in + 64 + t, h) + element(kind, in + 128 + t, h);
      const double least = ldexp(nearbyint(ldexp(x, 24)), -24); /* of f16 below 2^-14 */
      const uint32_t bits = kind == 'b'         ? word((float)rounded(x, 7)) >> 16
                            : x == 0            ? 0
                            : fabs(x) < 0x1p-14 ? (x < 0) << 15 | (uint32_t)ldexp(fabs(least), 24)
                                                : half_of(rounded(x, 10));
      out[t] |= bits << 16 * h;
    }
  }
}
static void fma_bf16x2(const uint32_t *in, uint32_t *out) { fma_pair(in, out, 'b'); }
static void fma_f16x2(const uint32_t *in, uint32_t *out) { fma_pair(in, out, 'h'); }
static void exp2_approximate(const uint32_t *in, uint32_t *out) {
  for (int t = 0; t < THREADS; t++) out[t] = word((float)exp2(number(in[192 + t])));
}

static const struct Row {
  const char *kernel;
  void (*want)(const uint32_t *in, uint32_t *out);
  int words; /* that the kernel writes */
  char fill; /* 'w': any words; b, h, t: operands of tensor_fma, in bf16, f16, f32; p: as t, of
                which the kernel makes words; B, H: as b, h, likewise; e: as t, results may be a few
                units in the last place off */
} rows[] = {
    {"k_vec", vec, 256, 'w'},
    {"k_block_sync", block_sync, 64, 'w'},
    {"k_warp_sync", warp_sync, 64, 'w'},
    {"k_warp_down", warp_down, 64, 'w'},
    {"k_warp_down_wide", warp_down_wide, 128, 'w'},
    {"k_warp_first", warp_first, 64, 'w'},
    {"k_choose_bytes", choose_bytes, 256, 'w'},
    {"k_bits_within", bits_within, 64, 'w'},
    {"k_warp_xor", warp_xor, 64, 'w'},
    {"k_warp_ballot", warp_ballot, 64, 'w'},
    {"k_async_copy_4", copied_4, 128, 'w'},
    {"k_async_copy_8", copied_8, 256, 'w'},
    {"k_async_copy_16", copied_16, 512, 'w'},
    {"k_matrix_load", matrix_load, 256, 'w'},
    {"k_matrix_load_t", matrix_load_t, 256, 'w'},
    {"k_tensor_fma_bf16", tensor_fma_bf16, 128, 'b'},
    {"k_tensor_fma_f16", tensor_fma_f16, 128, 'h'},
    {"k_tensor_fma_tf32", tensor_fma_tf32, 128, 't'},
    {"k_pack_bf16", pack_bf16, 64, 'p'},
    {"k_pack_f16", pack_f16, 64, 'p'},
    {"k_fma_bf16x2", fma_bf16x2, 64, 'B'},
    {"k_fma_f16x2", fma_f16x2, 64, 'H'},
    {"k_exp2_approximate", exp2_approximate, 64, 'e'},
};

/* ---- running ---- */

static uint32_t next(uint64_t *s) {
  *s = *s * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*s >> 33);
}

/* Operands of magnitudes around 1, with all bits of their significands; sums in f32. */
static uint32_t operand(uint64_t *s, char kind) {
  uint32_t r = next(s), e = next(s) % 5;
  if (kind == 'b' || kind == 'B') return (r & 0x807f) | (125 + e) << 7;
  if (kind == 'h' || kind == 'H') return (r & 0x83ff) | (13 + e) << 10;
  return (r & 1) << 31 | (r >> 1 & 0x7fffff) | (125 + e) << 23;
}

static void fill(uint32_t *in, char kind, uint64_t *s) {
  for (int i = 0; i < WORDS; i++) {
    bool halves = strchr("bhBH", kind) && i < 192;
    in[i] = kind == 'w'              ? next(s) << 1 ^ next(s)
            : halves                 ? operand(s, kind) | operand(s, kind) << 16
            : kind == 't' && i < 192 ? operand(s, 't') & ~0x1fffu /* as the hardware reads it */
                                     : operand(s, 't');
  }
}

/* What a sum of 17 terms of at most 256 may lose in f32, whichever way it is rounded on the way;
   two units in the last place of 2^x; else nothing. */
static bool near(char fill, uint32_t x, uint32_t y) {
  if (strchr("wpBH", fill)) return x == y;
  double off = fabs(number(x) - number(y));
  return off <= (fill == 'e' ? 0x1p-22 * fabs(number(y)) : 17 * 0x1p-13);
}

static bool launch(void *module, const char *kernel, Address in, Address out) {
  void *f, *args[] = {&in, &out};
  return !cu.Function(&f, module, kernel) &&
         !cu.Launch(f, 1, 1, 1, THREADS, 1, 1, 0, NULL, args, NULL);
}

static int check(void *module, const struct Row *r, Address in, Address out, uint64_t *s) {
  uint32_t x[WORDS], want[WORDS] = {0}, got[WORDS] = {0};
  fill(x, r->fill, s);
  r->want(x, want);
  if (cu.ToDevice(in, x, sizeof x) || cu.ToDevice(out, got, sizeof got) ||
      !launch(module, r->kernel, in, out) || cu.ToHost(got, out, sizeof got)) {
    printf("%s: does not run\n", r->kernel);
    return 1;
  }
  for (int i = 0; i < WORDS; i++) {
    if (i < r->words ? near(r->fill, got[i], want[i]) : got[i] == want[i]) continue;
    printf("%s: word %d is %08x, not %08x\n", r->kernel, i, got[i], want[i]);
    return 1;
  }
  return 0;
}

/* One of those that have something to report, and all of what it reports. */
static int check_fault(void *module, Address in, Address out, uint64_t *s) {
  struct {
    int32_t site, unused;
    int64_t at, value, limit;
  } none = {.site = -1}, got = none;
  uint32_t x[WORDS];
  fill(x, 'w', s);
  x[9] = 700;
  bool ran = !cu.ToDevice(in, x, sizeof x) && !cu.ToDevice(out, &none, sizeof none) &&
             launch(module, "k_gc_fault", in, out) && !cu.ToHost(&got, out, sizeof got);
  bool right = got.site == 3 && got.at >= 0 && got.at < THREADS && got.limit == 7 &&
               got.value == x[got.at] && got.value % 7 == 0;
  if (!ran || !right) printf("k_gc_fault: %s\n", ran ? "reports something else" : "does not run");
  return !ran || !right;
}

static char *read_file(Arena *a, const char *path) {
  FILE *f = fopen(path, "rb");
  if (!f || fseek(f, 0, SEEK_END)) return NULL;
  long n = ftell(f);
  rewind(f);
  char *s = arena_alloc(a, (size_t)n + 1);
  bool ok = fread(s, 1, (size_t)n, f) == (size_t)n;
  fclose(f);
  return ok ? s : NULL;
}

static int skip(const char *why) {
  printf("NOT TESTED: the primitives of kernels for a GPU: there is no %s\n", why);
  return getenv("GC_NO_SKIP") ? 1 : SKIP;
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  Ctx *c = ctx_new();
  Arena *a = ctx_arena(c);
  const char *kernels = read_file(a, argv[1]), *arch = "compute_80";
  if (!kernels) return 2;
  CudaImage image;
  int code = 0;
  if (!nvrtc_compile(
          c, a, NULL,
          arena_printf(a, "%s\n%s\n%s", cuda_text_device, cuda_text_device_sm90a, kernels), &arch,
          1, &image, &code))
    return skip("NVRTC");
  if (!open_driver()) return skip("driver with a device");
  void *module;
  Address in, out;
  if (cu.Load(&module, image.bytes) || cu.Alloc(&in, WORDS * 4) || cu.Alloc(&out, WORDS * 4)) {
    printf("the kernels cannot be loaded\n");
    return 1;
  }
  int bad = 0, n = 0;
  uint64_t seed = 1;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    for (int k = 0; k < 20; k++, n++) bad += check(module, &rows[i], in, out, &seed);
  for (int k = 0; k < 20; k++, n++) bad += check_fault(module, in, out, &seed);
  printf("%d runs of primitives, %d failures\n", n, bad);
  ctx_free(c);
  return bad != 0;
}
