/* The kernels of kernels.cu with inputs and what plain C makes of them. */
#ifndef TEST_CASES_H
#define TEST_CASES_H
#include "ptxi.h"

enum { CASE_BUFS = 4 };
typedef struct Case {
  const char *kernel;
  unsigned grid[3], block[3];
  size_t dynamic_shared;
  struct CaseBuf {
    const char *name;
    size_t count, bytes; /* elements and bytes of each */
    unsigned rights;
    char fill; /* r: random floats, h: random f16, b: random bf16, 0: zero, -: nothing
                  (uninitialised) */
  } buf[CASE_BUFS];
  int nbufs;
  int ints[3], nints; /* parameters after the pointers */
  void (*reference)(const struct Case *c, void *const *in, double *out);
  int result;       /* index of the buffer that is compared */
  double tolerance; /* relative to 1 + |expected| */
} Case;

extern const Case cases[];
extern const int ncases;
const Case *case_find(const char *kernel);

typedef struct CaseOutcome {
  PtxStatus status;
  PtxResult result; /* free it */
  double error;     /* largest; infinite where a result is not finite */
} CaseOutcome;
CaseOutcome case_run(const Case *c, const PtxModule *m, unsigned order, unsigned checks,
                     uint64_t max_steps);
#endif
