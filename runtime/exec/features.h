/* Whether this machine can run the program's code. */
#ifndef GCRT_FEATURES_H
#define GCRT_FEATURES_H
#include "runtime/base/rt.h"
bool cpu_check(const char *march, Err *e);
/* The copy of a program that was compiled for the most instructions that this machine has. */
const GcProgram *cpu_fastest(const GcProgram *p);
#endif
