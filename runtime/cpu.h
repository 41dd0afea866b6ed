/* Whether this machine can run the program's code. */
#ifndef GCRT_CPU_H
#define GCRT_CPU_H
#include "rt.h"
bool cpu_check(const char *march, Err *e);
#endif
