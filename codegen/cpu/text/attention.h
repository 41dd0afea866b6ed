/* Attention by blocks of B queries and B keys. */
#define GC_ATTEND(T, B)                                                                           \
  /* combines the B numbers of t by a tree: the bits do not depend on how it is computed */       \
  INL T attend_max_##T##_##B(T *t) {                                                              \
    for (int h = B / 2; h; h /= 2) GC_IVDEP for (int c = 0; c < h; c++) {                         \
      const T a = t[c], b = t[c + h];                                                             \
      t[c] = b > a || b != b ? b : a;                                                             \
    }                                                                                             \
    return t[0];                                                                                  \
  }                                                                                               \
  INL T attend_sum_##T##_##B(T *t) {                                                              \
    for (int h = B / 2; h; h /= 2) GC_IVDEP for (int c = 0; c < h; c++) t[c] = t[c] + t[c + h];   \
    return t[0];                                                                                  \
  }                                                                                               \
  /* A row's scores s become weights exp(s - m), m the largest so far; returns what the row's      \
     results and the sum l of its weights were too large by. No key seen yet: m is -inf, l is 0. */ \
  static __attribute__((noinline)) T attend_##T##_##B(T *restrict s, T *restrict m, T *restrict l) { \
    T t[B];                                                                                       \
    __builtin_memcpy(t, s, sizeof t);                                                             \
    const T most = attend_max_##T##_##B(t), was = *m;                                             \
    *m = most > was || most != most ? most : was;                                                 \
    const T shift = *m == -(T)__builtin_inff() ? 0 : *m;                                          \
    GC_IVDEP for (int c = 0; c < B; c++) t[c] = s[c] = T##_exp(s[c] - shift);                     \
    const T less = T##_exp(was - shift);                                                          \
    *l = *l * less + attend_sum_##T##_##B(t);                                                     \
    return less;                                                                                  \
  }
