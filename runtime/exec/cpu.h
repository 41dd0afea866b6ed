/* Whether this machine can run the program's code. */
#ifndef GCRT_CPU_H
#define GCRT_CPU_H
#include "runtime/base/rt.h"
bool cpu_check(const char *march, Err *e);
#endif
