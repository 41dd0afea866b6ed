/* Collectives of kernels. A process that is alone has the sum of its own. */
#include "runtime/base/rt.h"
#include <string.h>

static uint64_t bytes_of(int64_t n, GcDtype dt) {
  return (uint64_t)n * (uint64_t)elem_info[(Elem)dt].size;
}

void gcrt_all_reduce(const GcEnv *env, void *out, const void *in, int64_t n, GcDtype dt) {
  if (env->comm)
    env->comm->sum(env->comm, out, in, n, dt);
  else if (out != in)
    memmove(out, in, bytes_of(n, dt));
}

void gcrt_reduce_scatter(const GcEnv *env, void *out, const void *in, int64_t n, GcDtype dt) {
  if (env->comm)
    env->comm->scatter(env->comm, out, in, n, dt);
  else
    memcpy(out, in, bytes_of(n, dt));
}

void gcrt_all_gather(const GcEnv *env, void *out, const void *in, int64_t outer, int64_t bytes) {
  if (env->comm)
    env->comm->gather(env->comm, out, in, outer, bytes);
  else if (out != in)
    memmove(out, in, (uint64_t)outer * (uint64_t)bytes);
}
