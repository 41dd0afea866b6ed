/* FlashAttention on the CPU: blocks of B queries by B keys, R queries at a time. */
/* section GC_PANELS_TILE: vfma_f32 splat_f32 */
/* The micro-kernel multiplies R rows of a by `panels` panels of b, panel_stride apart, with the tile of gemm.h.
   Nothing is prefetched, since all operands are in the cache. ADD 0: c = a b; 1: c += a b; 2: c = a b + c, row
   i of c multiplied by rescale[i]. */
#define GC_PANELS_TILE(NAME, T, R, W, LI, LK, LB, ADD)                                            \
  static __attribute__((noinline)) void NAME(const T *restrict a, const T *restrict b,            \
                                             long panel_stride, T *restrict c, long ldc,          \
                                             long panels, long depth, const T *restrict rescale) { \
    enum { L = VBYTES / sizeof(T), NV = (W + L - 1) / L };                                        \
    for (long p = 0; p < panels; p++, b += panel_stride, c += W) {                                \
      V##T acc[R][NV];                                                                            \
      const T *pa = a, *pb = b;                                                                   \
      UNROLL for (int i = 0; i < R; i++) UNROLL for (int j = 0; j < NV; j++) acc[i][j] = (V##T){0}; \
      for (long k = 0; k < depth; k++, pa += LK, pb += LB) {                                      \
        V##T v[NV];                                                                               \
        UNROLL for (int j = 0; j < NV; j++) __builtin_memcpy(&v[j], pb + j * L, VBYTES);          \
        UNROLL for (int i = 0; i < R; i++) {                                                      \
          V##T s = splat_##T(pa[i * (long)LI]);                                                   \
          UNROLL for (int j = 0; j < NV; j++) acc[i][j] = vfma_##T(v[j], s, acc[i][j]);           \
        }                                                                                         \
      }                                                                                           \
      UNROLL for (int i = 0; i < R; i++) UNROLL for (int j = 0; j < NV; j++) {                    \
        const unsigned long n = (W - j * L < L ? W - j * L : L) * sizeof(T);                      \
        T *to = c + i * ldc + j * L;                                                              \
        if (ADD) {                                                                                \
          V##T c_in = {0};                                                                        \
          __builtin_memcpy(&c_in, to, n);                                                         \
          if (ADD > 1) c_in *= splat_##T(rescale[i]);                                             \
          acc[i][j] += c_in;                                                                      \
        }                                                                                         \
        __builtin_memcpy(to, &acc[i][j], n);                                                      \
      }                                                                                           \
    }                                                                                             \
  }
/* section seen_keys */
/* Keys of a block, 64 at most, up to the last one that one of the rows of a mask lets through; 0: all are masked.
   Rows lie `pitch` apart. */
INL long seen_keys(const uint8_t *mask, long pitch, long rows, long cols) {
  uint8_t seen[64] = {0};
  for (long r = 0; r < rows; r++, mask += pitch)
    for (long c = 0; c < cols; c++) seen[c] |= mask[c];
  while (cols > 0 && !seen[cols - 1]) cols--;
  return cols;
}
/* section fold_max_f32 fold_max_f64 fold_sum_f32 fold_sum_f64: vmax_f32 vmax_f64 GC_FOURS */
/* The maximum, or the sum, of a register's numbers, by a tree: the upper half joins the lower one until one is left. */
#if defined(GC_AVX512)
#define GC_FOLD(v, JOIN)                                                                          \
  JOIN(GC_SHUFFLE(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7))                    \
  JOIN(GC_SHUFFLE(v, v, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11))                    \
  JOIN(GC_FOURS(v, v, 2, 3, 0, 1))                                                                \
  JOIN(GC_FOURS(v, v, 1, 0, 3, 2))
#elif defined(GC_AVX2)
#define GC_FOLD(v, JOIN)                                                                          \
  JOIN(GC_SHUFFLE(v, v, 4, 5, 6, 7, 0, 1, 2, 3))                                                  \
  JOIN(GC_FOURS(v, v, 2, 3, 0, 1))                                                                \
  JOIN(GC_FOURS(v, v, 1, 0, 3, 2))
#endif
#define GC_FOLD_ARRAY(T)                                                                          \
  INL T fold_max_##T(V##T v) {                                                                    \
    T l[VBYTES / sizeof(T)];                                                                      \
    __builtin_memcpy(l, &v, sizeof l);                                                            \
    UNROLL for (int h = VBYTES / sizeof(T) / 2; h; h /= 2) UNROLL for (int c = 0; c < h; c++)     \
        l[c] = l[c + h] > l[c] ? l[c + h] : l[c];                                                 \
    return l[0];                                                                                  \
  }                                                                                               \
  INL T fold_sum_##T(V##T v) {                                                                    \
    T l[VBYTES / sizeof(T)];                                                                      \
    __builtin_memcpy(l, &v, sizeof l);                                                            \
    UNROLL for (int h = VBYTES / sizeof(T) / 2; h; h /= 2) UNROLL for (int c = 0; c < h; c++) l[c] += l[c + h]; \
    return l[0];                                                                                  \
  }
#ifdef GC_FOLD
INL f32 fold_max_f32(Vf32 v) {
#define GC_JOIN_MAX(x) v = vmax_f32(x, v);
  GC_FOLD(v, GC_JOIN_MAX)
  return v[0];
}
INL f32 fold_sum_f32(Vf32 v) {
#define GC_JOIN_SUM(x) v += x;
  GC_FOLD(v, GC_JOIN_SUM)
  return v[0];
}
#else
GC_FOLD_ARRAY(f32)
#endif
GC_FOLD_ARRAY(f64)
/* section GC_SOFTMAX: splat_f32 vmax_f32 fold_max_f32 fold_sum_f32 vexp_down_f32 f32_exp_down f64_exp_down */
/* Online softmax of rows of scores, each of B numbers in NV vectors, G of them at a time. Keys from `visible`
   on are masked in all rows. */
#define GC_SOFTMAX(T, B, R)                                                                       \
  /* reduces the B numbers of t by a tree: the bits do not depend on the vectors */               \
  INL T row_max_##T##_##B(V##T *t) {                                                              \
    UNROLL for (int h = B * sizeof(T) / VBYTES / 2; h; h /= 2) UNROLL for (int c = 0; c < h; c++) \
        t[c] = vmax_##T(t[c + h], t[c]);                                                          \
    return fold_max_##T(t[0]);                                                                    \
  }                                                                                               \
  INL T row_sum_##T##_##B(V##T *t) {                                                              \
    UNROLL for (int h = B * sizeof(T) / VBYTES / 2; h; h /= 2) UNROLL for (int c = 0; c < h; c++) \
        t[c] += t[c + h];                                                                         \
    return fold_sum_##T(t[0]);                                                                    \
  }                                                                                               \
  /* Scores s, times scale, of up to R queries become weights exp(s - m), m the running maximum of a \
     query; rescale = exp(old m - m) is what its results and the running sum l are multiplied by. \
     Before the first visible key m is -inf and l is 0. A NaN score makes all results of its query \
     NaN. */                                                                                      \
  static __attribute__((noinline)) void softmax_##T##_##B(T *restrict s, long rows, T scale,      \
                                                          long visible, T *restrict m,            \
                                                          T *restrict l, T *restrict rescale) {   \
    enum { L = VBYTES / sizeof(T), NV = B / L, G = NV < 4 ? NV : 4 };                             \
    T old[R] = {0}, max[R] = {0}, shift[R];                                                       \
    for (long r = 0; r < rows; r++) {                                                             \
      V##T t[NV];                                                                                 \
      UNROLL for (int j = 0; j < NV; j++) {                                                       \
        __builtin_memcpy(&t[j], s + r * B + j * L, VBYTES);                                       \
        t[j] *= splat_##T(scale);                                                                 \
        __builtin_memcpy(s + r * B + j * L, &t[j], VBYTES);                                       \
      }                                                                                           \
      max[r] = row_max_##T##_##B(t);                                                              \
      old[r] = m[r];                                                                              \
    }                                                                                             \
    GC_IVDEP for (int r = 0; r < R; r++) {                                                        \
      max[r] = max[r] > old[r] ? max[r] : old[r];                                                 \
      shift[r] = max[r] == -(T)__builtin_inff() ? 0 : max[r];                                     \
      rescale[r] = T##_exp_down(old[r] - shift[r]);                                               \
    }                                                                                             \
    for (long r = 0; r < rows; r++) {                                                             \
      V##T t[NV];                                                                                 \
      UNROLL for (int g = 0; g < NV; g += G) {                                                    \
        if (g * L >= visible) {                                                                   \
          UNROLL for (int j = g; j < g + G; j++) t[j] = (V##T){0};                                \
          continue;                                                                               \
        }                                                                                         \
        UNROLL for (int j = g; j < g + G; j++) {                                                  \
          __builtin_memcpy(&t[j], s + r * B + j * L, VBYTES);                                     \
          t[j] -= splat_##T(shift[r]);                                                            \
        }                                                                                         \
        vexp_down_##T(t + g, G);                                                                  \
        UNROLL for (int j = g; j < g + G; j++)                                                    \
            __builtin_memcpy(s + r * B + j * L, &t[j], VBYTES);                                   \
      }                                                                                           \
      m[r] = max[r];                                                                              \
      l[r] = l[r] * rescale[r] + row_sum_##T##_##B(t);                                            \
    }                                                                                             \
  }
/* section GC_SOFTMAX_GRAD: splat_f32 vexp_f32 */
/* Of the gradients: scores s become the weights again; ds, the gradient with respect to the weights, becomes the
   one with respect to the scores. */
#define GC_SOFTMAX_GRAD(T, B)                                                                     \
  static __attribute__((noinline)) void softmax_grad_##T##_##B(T *restrict s, T *restrict ds, long rows, \
                                                         T scale, long visible, const T *lse,     \
                                                         const T *delta) {                        \
    enum { L = VBYTES / sizeof(T), NV = B / L, G = NV < 4 ? NV : 4 };                             \
    for (long r = 0; r < rows; r++, s += B, ds += B)                                              \
      for (int g = 0; g < NV && g * L < visible; g += G) {                                        \
        V##T p[G], a[G];                                                                          \
        UNROLL for (int j = 0; j < G; j++) {                                                      \
          __builtin_memcpy(&p[j], s + (g + j) * L, VBYTES);                                       \
          __builtin_memcpy(&a[j], ds + (g + j) * L, VBYTES);                                      \
          p[j] = p[j] * splat_##T(scale) - splat_##T(lse[r]);                                     \
        }                                                                                         \
        vexp_##T(p, G);                                                                           \
        UNROLL for (int j = 0; j < G; j++) {                                                      \
          a[j] = p[j] * (a[j] - splat_##T(delta[r])) * splat_##T(scale);                          \
          __builtin_memcpy(s + (g + j) * L, &p[j], VBYTES);                                       \
          __builtin_memcpy(ds + (g + j) * L, &a[j], VBYTES);                                      \
        }                                                                                         \
      }                                                                                           \
  }
