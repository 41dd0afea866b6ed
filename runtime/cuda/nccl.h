/* NVIDIA's library of collectives between GPUs: its types, and what a device keeps of it. NCCL API,
   2.16. */
#ifndef GCRT_NCCL_H
#define GCRT_NCCL_H
#include "runtime/exec/device.h"

typedef int NcclResult;
typedef struct NcclCommData *NcclComm;
typedef struct NcclId {
  char at[128];
} NcclId;

typedef struct NcclApi {
#define NCCL(type, name, symbol, params) type(*name) params;
#include "runtime/cuda/nccl.def"
#undef NCCL
} NcclApi;

typedef struct Nccl {
  void *library; /* NULL: no entry has collectives */
  NcclApi api;
  NcclComm comm;      /* of all ranks; NULL: they are not connected */
  const GcComm *with; /* through which ranks meet, and by which they are watched */
  GcWatched watched;
} Nccl;
#endif
