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
  _Atomic(NcclComm)
      comm;           /* of all ranks; NULL: they are not connected. Another thread watches it */
  const GcComm *with; /* through which ranks meet, and by which they are watched */
  GcWatched watched;
  bool hangs; /* a call has not ended in time: what it may use is not given back */
} Nccl;

/* What a call is given, and what comes of it; a copy while it lasts. */
typedef struct NcclErrand {
  NcclApi api;
  NcclComm comm;
  NcclId id;
  int ranks, rank;
  CuAddress at; /* of a broadcast, in the stream … */
  CuStream stream;
  CuResult (*wait)(CuStream stream); /* … which is waited for */
  NcclResult result;
  CuResult waited;
} NcclErrand;
typedef enum NcclEnd { NCCL_WELL, NCCL_FAILED, NCCL_LATE, NCCL_NO_THREAD } NcclEnd;
#endif
