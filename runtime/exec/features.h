/* Whether this machine can run the program's code. */
#ifndef GCRT_FEATURES_H
#define GCRT_FEATURES_H
#include "runtime/base/rt.h"
bool cpu_check(const char *march, Err *e);
#endif
