/* Schedules of convolutions of bf16 in tile registers: where the numbers of a block of images lie,
   and which of them each tap multiplies. */
#ifndef GC_CODEGEN_SCHEDULE_AMX_CONV_H
#define GC_CODEGEN_SCHEDULE_AMX_CONV_H
#include "codegen/schedule/window.h"

/* Whether tiles take less time than FMA in f32, or pairs of bf16 where these are fast, by the
   channels and taps alone: bits depend on it. Of a processor without tile registers: false. */
bool amx_conv_pays(const VectorMachine *m, const ConvGeom *c, bool back);
/* The same of the gradient by the filters. */
bool amx_filter_pays(const VectorMachine *m, const ConvGeom *c);
/* Places of a plane of a chunk of its pixels, and those that a tile reads behind them: at most, if
   the run decides how large images are. */
int64_t amx_filter_places(const ConvGeom *c);

/* Rows or columns of a source lie in planes: of those so many apart that one position's tap steps
   over to the next position's. In a plane, a tap reads as many places from each position. */
typedef struct AmxTap {
  int64_t index; /* of the window's */
  int64_t plane; /* in the order of those that there are */
  int64_t shift; /* places from the position */
} AmxTap;
typedef struct AmxPhase { /* positions of the result that have their taps alike */
  int64_t first;
  AmxTap *tap;
  int ntaps;
} AmxPhase;
typedef struct AmxAxis {
  AmxPhase *phase;
  int nphases;
  int64_t step;           /* positions of the result from one of a phase to the next */
  int64_t over;           /* places of the source between two of a plane */
  int64_t *plane;         /* the first place of each that a tap reads */
  int nplanes;            /* one at least */
  int64_t before, behind; /* places that taps reach before their position, and behind it */
  int64_t positions;      /* of the phase that has most of them */
  int64_t places;         /* of the plane that has most of them */
} AmxAxis;
AmxAxis amx_axis(Arena *a, const WindowAxis *w, bool back);
/* Places of a plane from one row to the next, or from image to image: between them lie as many
   zeros as taps reach over. */
static inline int64_t amx_axis_pitch(const AmxAxis *a) {
  const int64_t of_result = a->positions + a->behind, of_source = a->places + a->before;
  return of_result > of_source ? of_result : of_source;
}

/* A block's positions follow each other through rows and images, between which some belong to no
   pixel: these are computed, and dropped. Of long rows a block has a part. A unit is a block by a
   group of panels. */
typedef struct AmxConvSchedule {
  ConvSchedule conv; /* how filters lie */
  AmxAxis h, w;
  int64_t n, rows, columns; /* of the result */
  int64_t depth, width;     /* channels of a group: source, result */
  bool back;
  int nr;
  int64_t np;
  int64_t chunks; /* of AMX_DEPTH channels */
  int64_t group;  /* panels whose filters are packed at once */
  int64_t parts;  /* groups of panels, of all groups of channels */
  int64_t images; /* of a block */
  int64_t lines;  /* of each of them, in positions of a phase */
  int64_t across; /* of each line, in positions of a phase */
  int64_t plane;  /* places of a plane of a block, and those that a tile reads behind them */
  int64_t blocks; /* at the bounds */
  int64_t units;
  uint64_t flops;
} AmxConvSchedule;
enum { AMX_DEPTH = 32, AMX_POSITIONS = 32 /* of two tiles of sums, one below the other */ };

/* A block has parts of rows. */
static inline bool amx_conv_cuts_rows(const AmxConvSchedule *s) {
  return s->across < s->w.positions;
}
/* Places from row to row of a block: parts of rows share none. */
static inline int64_t amx_conv_pitch(const AmxConvSchedule *s) {
  return amx_conv_cuts_rows(s) ? s->w.before + s->across + s->w.behind : amx_axis_pitch(&s->w);
}

AmxConvSchedule amx_conv_schedule(Arena *a, const VectorMachine *m, const ConvShape *shape);
extern const ScheduleKind amx_conv_kind;
#endif
