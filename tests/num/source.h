/* Modules from files of the language, for tests. */
#ifndef GC_TESTS_NUM_SOURCE_H
#define GC_TESTS_NUM_SOURCE_H
#include "ir/ir.h"

/* The program, of the language or in a FILE.ir of the IR, with n definitions "NAME=V", as of gc -D;
   what is wrong has been reported and ends the test with exit code 2. */
Module *source_module(Ctx *c, const char *file, const char *const *define, int n);
/* The program of this text; what is wrong has been reported, with the text, and ends the test. */
Module *source_text(Ctx *c, const char *name, const char *text, size_t bytes);
#endif
