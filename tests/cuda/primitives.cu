/* A kernel for each primitive of codegen/gpu/cuda/text/device.h and device_sm90a.h, behind which this text stands: one block of 64
   threads, which reads words of `in` and writes a word or more each. primitives.c knows what comes out. */
#define KERNEL(name) extern "C" __global__ void __launch_bounds__(64) name(const uint32_t *in, uint32_t *out)
INL uint32_t word(f32 x) { return (uint32_t)__float_as_int(x); }
INL f32 number(uint32_t x) { return __int_as_float((int)x); }

KERNEL(k_vec) { /* 16 bytes at once, in four words and in eight halves */
  const Vec<uint32_t, 4> v = *(const Vec<uint32_t, 4> *)(in + 4 * threadIdx.x);
  Vec<uint16_t, 8> h;
  for (int i = 0; i < 8; i++) h.at[i] = (uint16_t)(v.at[i / 2] >> i % 2 * 16);
  *(Vec<uint16_t, 8> *)(out + 4 * threadIdx.x) = h;
}

KERNEL(k_block_sync) { /* what the other warp wrote */
  __shared__ uint32_t x[64];
  x[threadIdx.x] = in[threadIdx.x];
  block_sync();
  out[threadIdx.x] = x[63 - threadIdx.x];
}

KERNEL(k_warp_sync) { /* what another thread of the warp wrote */
  __shared__ uint32_t x[64];
  x[threadIdx.x] = in[threadIdx.x];
  warp_sync();
  out[threadIdx.x] = x[threadIdx.x ^ 31];
}

KERNEL(k_warp_down) { out[threadIdx.x] = word(warp_down(number(in[threadIdx.x]), 5)); }
KERNEL(k_warp_down_wide) {
  const i64 x = warp_down((i64)in[threadIdx.x] << 32 | threadIdx.x, 16);
  out[2 * threadIdx.x] = (uint32_t)x;
  out[2 * threadIdx.x + 1] = (uint32_t)(x >> 32);
}
KERNEL(k_warp_first) { out[threadIdx.x] = (uint32_t)warp_first((i32)in[threadIdx.x]); }
KERNEL(k_bits_within) {
  const int t = (int)threadIdx.x;
  out[t] = bits_within(in[t], in[t + 64], in[t + 128]);
}
KERNEL(k_choose_bytes) {
  const int t = (int)threadIdx.x;
  for (int i = 0; i < 4; i++) out[4 * t + i] = choose_bytes(in[t], in[t + 64], in[t + 128] >> i & 0x7777);
}
KERNEL(k_warp_xor) { out[threadIdx.x] = word(warp_xor(number(in[threadIdx.x]), 5)); }
KERNEL(k_warp_ballot) { out[threadIdx.x] = warp_ballot(in[threadIdx.x] % 3 == 0); }

/* copies of BYTES, of which the first few threads' bytes are read and zeros follow; two groups */
template <int BYTES> INL void copied(const uint32_t *in, uint32_t *out) {
  enum { WORDS = BYTES / 4 };
  __shared__ __align__(16) uint32_t x[2][64 * WORDS];
  const int t = (int)threadIdx.x;
  for (int g = 0; g < 2; g++) {
    const int valid = g == 0 ? BYTES : t % 3 == 0 ? 0 : t % 3 == 1 ? 4 : BYTES;
    async_copy<BYTES>(&x[g][t * WORDS], in + t * WORDS, valid);
    async_commit();
  }
  async_wait<1>();
  block_sync();
  for (int i = 0; i < WORDS; i++) out[t * WORDS + i] = x[0][(63 - t) * WORDS + i];
  async_wait<0>();
  block_sync();
  for (int i = 0; i < WORDS; i++) out[(64 + t) * WORDS + i] = x[1][(63 - t) * WORDS + i];
}
KERNEL(k_async_copy_4) { copied<4>(in, out); }
KERNEL(k_async_copy_8) { copied<8>(in, out); }
KERNEL(k_async_copy_16) { copied<16>(in, out); }

/* four matrices of 8 rows, 20 bytes of words apart so that order shows */
template <bool T> INL void loaded(const uint32_t *in, uint32_t *out) {
  __shared__ __align__(16) uint32_t x[32 * 8];
  const int t = (int)threadIdx.x % 32;
  for (int i = (int)threadIdx.x; i < 256; i += 64) x[i] = in[i];
  block_sync();
  uint32_t r[4];
  if (T)
    matrix_load_t(r, x + t * 8 + t % 2 * 4);
  else
    matrix_load(r, x + t * 8 + t % 2 * 4);
  for (int i = 0; i < 4; i++) out[(threadIdx.x / 32 * 32 + t) * 4 + i] = r[i];
}
KERNEL(k_matrix_load) { loaded<false>(in, out); }
KERNEL(k_matrix_load_t) { loaded<true>(in, out); }

/* in: 16 rows of 8 words, a; 8 columns of 8 words, b; 16 x 8 of c. out: 16 x 8. By the first warp. */
#define FMA(NAME)                                                                                              \
  KERNEL(k_##NAME) {                                                                                           \
    const int t = (int)threadIdx.x, g = t / 4, q = t % 4;                                                      \
    if (t >= 32) return;                                                                                       \
    const uint32_t *b = in + 128, *c = in + 192;                                                               \
    const uint32_t fa[4] = {in[g * 8 + q], in[(g + 8) * 8 + q], in[g * 8 + q + 4], in[(g + 8) * 8 + q + 4]};   \
    const uint32_t fb[2] = {b[g * 8 + q], b[g * 8 + q + 4]};                                                   \
    f32 c0 = number(c[g * 8 + 2 * q]), c1 = number(c[g * 8 + 2 * q + 1]);                                      \
    f32 c2 = number(c[(g + 8) * 8 + 2 * q]), c3 = number(c[(g + 8) * 8 + 2 * q + 1]);                          \
    NAME(c0, c1, c2, c3, fa, fb);                                                                              \
    out[g * 8 + 2 * q] = word(c0);                                                                             \
    out[g * 8 + 2 * q + 1] = word(c1);                                                                         \
    out[(g + 8) * 8 + 2 * q] = word(c2);                                                                       \
    out[(g + 8) * 8 + 2 * q + 1] = word(c3);                                                                   \
  }
FMA(tensor_fma_bf16)
FMA(tensor_fma_f16)
FMA(tensor_fma_tf32)

KERNEL(k_fma_bf16x2) { out[threadIdx.x] = fma_bf16x2(in[threadIdx.x], in[64 + threadIdx.x], in[128 + threadIdx.x]); }
KERNEL(k_fma_f16x2) { out[threadIdx.x] = fma_f16x2(in[threadIdx.x], in[64 + threadIdx.x], in[128 + threadIdx.x]); }

/* in: f32 of magnitudes around 1, from word 192 on, behind operands of tensor_fma */
KERNEL(k_pack_bf16) {
  out[threadIdx.x] = pack_bf16(number(in[192 + threadIdx.x]), number(in[256 + threadIdx.x]));
}
KERNEL(k_pack_f16) { out[threadIdx.x] = pack_f16(number(in[192 + threadIdx.x]), number(in[256 + threadIdx.x])); }
KERNEL(k_exp2_approximate) { out[threadIdx.x] = word(exp2_approximate(number(in[192 + threadIdx.x]))); }

extern "C" __global__ void __launch_bounds__(64) k_gc_fault(const uint32_t *in, GcDeviceFault *fault) {
  if (in[threadIdx.x] % 7 == 0) gc_fault(fault, 3, threadIdx.x, in[threadIdx.x], 7); /* one of them wins */
}
