/* NVRTC by dlopen, for the tests of the interpreter. */
#ifndef TEST_NVRTC_H
#define TEST_NVRTC_H
#include <stdbool.h>
#include <stddef.h>

typedef struct Nvrtc Nvrtc;
Nvrtc *nvrtc_open(void); /* NULL: there is none on this machine */
/* The library's file, and its size and time; "" where that is unknown. */
const char *nvrtc_identity(const Nvrtc *n);
/* 13 or later, which has --minimal and --Ofast-compile. */
bool nvrtc_is_new(const Nvrtc *n);
/* PTX of the source, to free; NULL after printing the log where it does not compile and `quiet` is
 * not. */
char *nvrtc_ptx(Nvrtc *n, const char *source, const char *const *options, int count, int quiet);
char *read_file(const char *path);
enum { EXIT_SKIP = 77 };
#endif
