/* Library functions of up to four vectors, one step at a time for all of them: the steps of one wait for each other, and a
   processor looks ahead by two or three. The bits are those of the functions of one number (shared/math.h). */
/* section vexp_f32 vexp_f64 vexp_down_f32 vexp_down_f64 vexp_parts_f32 vand_f32 GC_EACH */
/* Nothing is clamped, since what is out of range is replaced in the end. NaN stays NaN. */
#define GC_EACH UNROLL for (int j = 0; j < n; j++)
INL Vf32 vand_f32(Vf32 x, Vi32 on) { return (Vf32)((Vi32)x & on); }
/* exp(x) = 2^e p: the last bits of t are e */
INL void vexp_parts_f32(const Vf32 *x, Vf32 *t, Vf32 *p, const int n) {
  Vf32 m[4], r[4];
  GC_EACH t[j] = vfma_f32(x[j], splat_f32(1.44269504f), splat_f32(ROUND_MAGIC));
  GC_EACH m[j] = t[j] - splat_f32(ROUND_MAGIC);
  GC_EACH r[j] = vfma_f32(m[j], splat_f32(-0.693359375f), x[j]);
  GC_EACH r[j] = vfma_f32(m[j], splat_f32(2.12194440e-4f), r[j]);
  GC_EACH p[j] = vfma_f32(splat_f32(1.9875691500e-4f), r[j], splat_f32(1.3981999507e-3f));
  GC_EACH p[j] = vfma_f32(p[j], r[j], splat_f32(8.3334519073e-3f));
  GC_EACH p[j] = vfma_f32(p[j], r[j], splat_f32(4.1665795894e-2f));
  GC_EACH p[j] = vfma_f32(p[j], r[j], splat_f32(1.6666665459e-1f));
  GC_EACH p[j] = vfma_f32(p[j], r[j], splat_f32(5.0000001201e-1f));
  GC_EACH p[j] = vfma_f32(p[j] * r[j], r[j], r[j]) + splat_f32(1.0f);
}
INL void vexp_f32(Vf32 *x, const int n) {
  Vf32 t[4], p[4];
  vexp_parts_f32(x, t, p, n);
  GC_EACH {
    const Vi32 e = (Vi32)t[j] - splat_i32(0x4b400000), h = e >> 1;
    p[j] = p[j] * (Vf32)((h + splat_i32(127)) << 23) * (Vf32)((e - h + splat_i32(127)) << 23);
  }
  GC_EACH {
    const Vi32 high = x[j] > splat_f32(EXP_HI), low = x[j] < splat_f32(EXP_LO);
    x[j] = (Vf32)((Vi32)vand_f32(p[j], ~(low | high)) | ((Vi32)splat_f32(__builtin_inff()) & high));
  }
}
/* ... of numbers of at most 0, where one factor makes 2^e */
INL void vexp_down_f32(Vf32 *x, const int n) {
  Vf32 t[4], p[4];
  vexp_parts_f32(x, t, p, n);
  GC_EACH p[j] = p[j] * (Vf32)(((Vi32)t[j] + splat_i32(127 - 0x4b400000)) << 23);
  GC_EACH x[j] = vand_f32(p[j], ~(x[j] < splat_f32(EXP_LO)));
}
INL void vexp_f64(Vf64 *x, const int n) {
  GC_EACH for (unsigned l = 0; l < VBYTES / sizeof(f64); l++) x[j][l] = f64_exp(x[j][l]);
}
INL void vexp_down_f64(Vf64 *x, const int n) { vexp_f64(x, n); }
/* section GC_ALL vselect_f32 */
/* A function of n numbers, for rows and the epilogues of tiles; their array has room for whole vectors. Each vector goes alone where
   several at once are no faster and take the compiler up to twenty times as long: without the fused multiply-add, whose
   emulation fills all registers, and by clang. */
#if defined(__FP_FAST_FMAF) && !defined(__clang__)
#define GC_TOGETHER 4
#else
#define GC_TOGETHER 1
#endif
#define GC_ALL(all, function)                                                                      \
  static __attribute__((noinline)) void all(f32 *x, long n) {                                      \
    Vf32 *v = (Vf32 *)x;                                                                           \
    const long vectors = (n + VW - 1) / VW;                                                        \
    for (long i = n; i < vectors * VW; i++) x[i] = 0;                                              \
    long i = 0;                                                                                    \
    if (GC_TOGETHER > 1)                                                                           \
      for (; i + GC_TOGETHER <= vectors; i += GC_TOGETHER) function(v + i, GC_TOGETHER);           \
    for (; i < vectors; i++) function(v + i, 1);                                                   \
  }
INL Vf32 vselect_f32(Vi32 on, Vf32 yes, Vf32 no) { return (Vf32)(((Vi32)yes & on) | ((Vi32)no & ~on)); }
/* section all_exp_f32: GC_ALL vexp_f32 */
GC_ALL(all_exp_f32, vexp_f32)
/* section all_exp_down_f32: GC_ALL vexp_down_f32 */
GC_ALL(all_exp_down_f32, vexp_down_f32)
/* section all_sigmoid_f32: GC_ALL vexp_down_f32 splat_f32 splat_i32 */
INL void vsigmoid_f32(Vf32 *x, const int n) {
  Vf32 e[4];
  GC_EACH e[j] = (Vf32)((Vi32)x[j] | splat_i32(INT32_MIN));
  vexp_down_f32(e, n);
  GC_EACH x[j] = vselect_f32(x[j] < splat_f32(0.0f), e[j], splat_f32(1.0f)) / (splat_f32(1.0f) + e[j]);
}
GC_ALL(all_sigmoid_f32, vsigmoid_f32)
/* section all_tanh_f32: GC_ALL vexp_f32 splat_f32 splat_i32 vfma_f32 */
INL void vtanh_f32(Vf32 *x, const int n) {
  Vf32 a[4], d[4], t[4], far[4], z[4], near[4];
  GC_EACH a[j] = (Vf32)((Vi32)x[j] & splat_i32(INT32_MAX));
  GC_EACH d[j] = a[j] + a[j];
  GC_EACH d[j] = vselect_f32(d[j] > splat_f32(20.0f), splat_f32(20.0f), d[j]);
  vexp_parts_f32(d, t, far, n);
  GC_EACH far[j] = far[j] * (Vf32)(((Vi32)t[j] + splat_i32(127 - 0x4b400000)) << 23);
  GC_EACH far[j] = splat_f32(1.0f) - splat_f32(2.0f) / (far[j] + splat_f32(1.0f));
  GC_EACH z[j] = x[j] * x[j];
  GC_EACH near[j] = vfma_f32(splat_f32(-5.70498872745e-3f), z[j], splat_f32(2.06390887954e-2f));
  GC_EACH near[j] = vfma_f32(near[j], z[j], splat_f32(-5.37397155531e-2f));
  GC_EACH near[j] = vfma_f32(near[j], z[j], splat_f32(1.33314422036e-1f));
  GC_EACH near[j] = vfma_f32(near[j], z[j], splat_f32(-3.33332819422e-1f));
  GC_EACH near[j] = vfma_f32(a[j] * z[j], near[j], a[j]);
  GC_EACH near[j] = vselect_f32(a[j] < splat_f32(0.625f), near[j], far[j]);
  GC_EACH x[j] = (Vf32)((Vi32)near[j] ^ ((Vi32)x[j] & splat_i32(INT32_MIN)));
}
GC_ALL(all_tanh_f32, vtanh_f32)
/* section all_erf_f32: GC_ALL splat_f32 vfma_f32 */
INL void verf_f32(Vf32 *x, const int n) {
  Vf32 c[4], z[4], p[4], q[4];
  GC_EACH c[j] = vselect_f32(x[j] > splat_f32(4.0f), splat_f32(4.0f), x[j]);
  GC_EACH c[j] = vselect_f32(c[j] < splat_f32(-4.0f), splat_f32(-4.0f), c[j]);
  GC_EACH z[j] = c[j] * c[j];
  GC_EACH p[j] = vfma_f32(splat_f32(-2.72614225801306e-10f), z[j], splat_f32(2.77068142495902e-08f));
  GC_EACH p[j] = vfma_f32(p[j], z[j], splat_f32(-2.10102402082508e-06f));
  GC_EACH p[j] = vfma_f32(p[j], z[j], splat_f32(-5.69250639462346e-05f));
  GC_EACH p[j] = vfma_f32(p[j], z[j], splat_f32(-7.34990630326855e-04f));
  GC_EACH p[j] = vfma_f32(p[j], z[j], splat_f32(-2.95459980854025e-03f));
  GC_EACH p[j] = vfma_f32(p[j], z[j], splat_f32(-1.60960333262415e-02f));
  GC_EACH q[j] = vfma_f32(splat_f32(-1.45660718464996e-05f), z[j], splat_f32(-2.13374055278905e-04f));
  GC_EACH q[j] = vfma_f32(q[j], z[j], splat_f32(-1.68282697438203e-03f));
  GC_EACH q[j] = vfma_f32(q[j], z[j], splat_f32(-7.37332916720468e-03f));
  GC_EACH q[j] = vfma_f32(q[j], z[j], splat_f32(-1.42647390514189e-02f));
  GC_EACH x[j] = c[j] * p[j] / q[j];
}
GC_ALL(all_erf_f32, verf_f32)
