/* Philox4x32-10 (Salmon et al., SC 2011): element i of a random op is a function of (seed, step, key,
   draw, i) alone. Counter {i/4, i/4 >> 32, step, step >> 32}, key seed ^ random_key; word i % 4. */
/* section random_key */
INL uint64_t random_key(uint64_t hash, uint64_t draw) {
  uint64_t h = hash + draw * 0x9e3779b97f4a7c15ull;
  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ull;
  h = (h ^ (h >> 27)) * 0x94d049bb133111ebull;
  return h ^ (h >> 31);
}
/* section philox */
INL void philox(uint64_t key, uint64_t block, uint64_t step, uint32_t w[4]) {
  uint32_t c0 = (uint32_t)block, c1 = (uint32_t)(block >> 32), c2 = (uint32_t)step, c3 = (uint32_t)(step >> 32);
  uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
  for (int r = 0; r < 10; r++) {
    uint64_t p0 = 0xD2511F53ull * c0, p1 = 0xCD9E8D57ull * c2;
    uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c1 = (uint32_t)p1;
    c3 = (uint32_t)p0;
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  w[0] = c0, w[1] = c1, w[2] = c2, w[3] = c3;
}
/* section uniform_of_word */
INL f32 uniform_of_word(uint32_t w) { return (f32)(i32)(w >> 8) * 5.9604644775390625e-8f; }
/* section f32_normal_of_words */
/* Box-Muller on the pair of words that word j belongs to */
INL f32 f32_normal_of_words(const uint32_t w[4], int j) {
  f32 u = (f32)(i32)((w[j & 2] >> 8) + 1) * 5.9604644775390625e-8f;
  f32 a = uniform_of_word(w[(j & 2) + 1]) * 6.28318530717958647692f;
  return f32_sqrt(-2.0f * f32_log(u)) * (j & 1 ? f32_sin(a) : f32_cos(a));
}
/* section f64_normal_of_words */
INL f64 f64_normal_of_words(const uint32_t w[4], int j) {
  f64 u = (f64)((w[j & 2] >> 8) + 1) * 5.9604644775390625e-8;
  f64 a = (f64)uniform_of_word(w[(j & 2) + 1]) * 6.28318530717958647692;
  return f64_sqrt(-2 * f64_log(u)) * (j & 1 ? f64_sin(a) : f64_cos(a));
}
/* section f32_random_uniform */
INL f32 f32_random_uniform(uint64_t key, const GcEnv *env, uint64_t i) {
  uint32_t w[4];
  philox(key ^ env->seed, i >> 2, env->step, w);
  return uniform_of_word(w[i & 3]);
}
/* section f32_random_normal */
INL f32 f32_random_normal(uint64_t key, const GcEnv *env, uint64_t i) {
  uint32_t w[4];
  philox(key ^ env->seed, i >> 2, env->step, w);
  return f32_normal_of_words(w, (int)(i & 3));
}
/* section f64_random_uniform */
INL f64 f64_random_uniform(uint64_t key, const GcEnv *env, uint64_t i) { return (f64)f32_random_uniform(key, env, i); }
/* section f64_random_normal */
INL f64 f64_random_normal(uint64_t key, const GcEnv *env, uint64_t i) {
  uint32_t w[4];
  philox(key ^ env->seed, i >> 2, env->step, w);
  return f64_normal_of_words(w, (int)(i & 3));
}
