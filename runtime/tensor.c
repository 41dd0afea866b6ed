/* Tensors as users and files see them: logical row-major order, whatever the storage is.
   Contract: tensor_get and tensor_put copy a run of logical elements; a panel of NR > 0 means a
   matrix [K, N] stored as [ceil(N/NR)][K][NR] with a zero tail, which the program's init has
   written. */
#include "rt.h"
#include <stdio.h>
#include <string.h>

uint64_t tensor_count(const GcTensor *t) {
  uint64_t n = 1;
  for (int i = 0; i < t->rank; i++) n *= (uint64_t)t->dims[i];
  return n;
}

uint64_t tensor_row_elems(const GcTensor *t) {
  uint64_t n = 1;
  for (int i = 1; i < t->rank; i++) n *= (uint64_t)t->dims[i];
  return n;
}

uint64_t tensor_logical_bytes(const GcTensor *t) {
  return tensor_count(t) * (uint64_t)elem_info[t->dtype].size;
}

/* Calls for each piece of logical elements [first, first + n) that is contiguous in both orders. */
static void panel_copy(const GcTensor *t, char *storage, uint64_t first, uint64_t n, char *flat,
                       bool get) {
  uint64_t K = (uint64_t)t->dims[0], N = (uint64_t)t->dims[1], NR = (uint64_t)t->panel;
  uint64_t size = (uint64_t)elem_info[t->dtype].size;
  while (n) {
    uint64_t k = first / N, j = first % N, run = NR - j % NR;
    if (run > N - j) run = N - j;
    if (run > n) run = n;
    char *at = storage + (j / NR * K * NR + k * NR + j % NR) * size;
    if (get)
      memcpy(flat, at, run * size);
    else
      memcpy(at, flat, run * size);
    first += run, n -= run, flat += run * size;
  }
}

void tensor_get(const GcTensor *t, const void *storage, uint64_t first, uint64_t n, void *dst) {
  uint64_t size = (uint64_t)elem_info[t->dtype].size;
  if (t->panel > 0)
    panel_copy(t, (char *)storage, first, n, dst, true);
  else
    memcpy(dst, (const char *)storage + first * size, n * size);
}

void tensor_put(const GcTensor *t, void *storage, uint64_t first, uint64_t n, const void *src) {
  uint64_t size = (uint64_t)elem_info[t->dtype].size;
  if (t->panel > 0)
    panel_copy(t, storage, first, n, (char *)src, false);
  else
    memcpy((char *)storage + first * size, src, n * size);
}

void dims_text(Elem type, int rank, const uint64_t *dims, char *out, int size) {
  int at = snprintf(out, (size_t)size, "%s[", elem_info[type].name);
  for (int i = 0; i < rank && at < size; i++)
    at += snprintf(out + at, (size_t)(size - at), "%s%llu", i ? ", " : "",
                   (unsigned long long)dims[i]);
  if (at < size) snprintf(out + at, (size_t)(size - at), "]");
}

void tensor_type_text(const GcTensor *t, char *out, int size) {
  dims_text((Elem)t->dtype, t->rank, (const uint64_t *)t->dims, out, size);
}
