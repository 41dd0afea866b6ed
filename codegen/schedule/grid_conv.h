/* Schedules of convolutions and their gradients with respect to the image on a device, as implicit
   GEMM: channels of the result by its pixels, in tiles of a block of threads. */
#ifndef GC_CODEGEN_SCHEDULE_GRID_CONV_H
#define GC_CODEGEN_SCHEDULE_GRID_CONV_H
#include "codegen/schedule/schedule.h"

typedef struct GridConvShape {
  int64_t groups, m, pixels; /* of the result: channels of a group, pixels of all images */
  int64_t channels, taps;    /* that a sum goes over */
  Dtype dt;                  /* that it is computed in */
} GridConvShape;

typedef struct GridConvSchedule {
  int64_t groups, m, pixels, channels, taps; /* as of the shape */
  int bm, bn, tm, tn;   /* channels and pixels of a block, of a thread; bm = 0: a thread does one
                           element, without tiles */
  int64_t down, across; /* blocks over the channels of a group, over pixels */
  int64_t blocks;       /* of threads */
} GridConvSchedule;

GridConvSchedule grid_conv_schedule(const GridMachine *machine, const GridConvShape *s);
extern const ScheduleKind grid_conv_kind;
#endif
