/* Collectives of kernels. A process that is alone has the sum of its own, at once. */
#include "runtime/base/rt.h"
#include <string.h>

static uint64_t bytes_of(int64_t n, GcDtype dt) {
  return (uint64_t)n * (uint64_t)elem_info[(Elem)dt].size;
}

/* Part i + 1 is where the message of part i can go on: between two parts there is only what rounds
   the first one up, which no other value has. */
static bool follows(void *const *out, const void *const *in, const int64_t *n, int i, GcDtype dt) {
  uint64_t bytes = (bytes_of(n[i], dt) + GC_PART_ALIGN - 1) / GC_PART_ALIGN * GC_PART_ALIGN;
  return out[i] == in[i] && out[i + 1] == in[i + 1] && (uint8_t *)out[i] + bytes == out[i + 1];
}

void gcrt_all_reduce(const GcEnv *env, int parts, void *const *out, const void *const *in,
                     const int64_t *n, GcDtype dt) {
  for (int i = 0, first; i < parts; i++) {
    first = i;
    if (!env->comm) {
      if (out[i] != in[i]) memmove(out[i], in[i], bytes_of(n[i], dt));
      continue;
    }
    while (i + 1 < parts && follows(out, in, n, i, dt)) i++;
    int64_t before = ((uint8_t *)out[i] - (uint8_t *)out[first]) / elem_info[(Elem)dt].size;
    env->comm->sum(env->comm, out[first], in[first], i > first ? before + n[i] : n[i], dt);
  }
  if (env->comm) env->comm->begun(env->comm);
}

void gcrt_reduce_scatter(const GcEnv *env, void *out, const void *in, int64_t n, int64_t all,
                         GcDtype dt) {
  if (!env->comm) {
    memcpy(out, in, bytes_of(n, dt));
    return;
  }
  env->comm->scatter(env->comm, out, in, n, all, dt);
  env->comm->begun(env->comm);
}

void gcrt_all_gather(const GcEnv *env, void *out, const void *in, int64_t outer, int64_t bytes,
                     int64_t all) {
  if (!env->comm) {
    if (out != in) memmove(out, in, (uint64_t)outer * (uint64_t)bytes);
    return;
  }
  env->comm->gather(env->comm, out, in, outer, bytes, all);
  env->comm->begun(env->comm);
}

void gcrt_broadcast(const GcEnv *env, void *out, const void *in, int64_t bytes, int root) {
  const GcComm *c = env->comm;
  if (out != in && (!c || c->rank == root)) memmove(out, in, (uint64_t)bytes);
  if (!c) return;
  c->spread(c, out, bytes, root);
  c->begun(c);
}

void gcrt_await(const GcEnv *env) {
  if (env->comm) env->comm->end(env->comm);
}
