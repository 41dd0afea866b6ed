/* Random geometry of convolutions and pools, for tests. */
#ifndef GC_TESTS_RANDOM_WINDOW_H
#define GC_TESTS_RANDOM_WINDOW_H
#include "ir/ir.h"
#include "ir/op/window.h"

/* One axis with at least one output: of `taps` as many as fit. seed: splitmix64's state. */
WindowAxis random_window(uint64_t *seed, int64_t in, int64_t taps);
/* Every output's window holds a pixel, as a pool's must. */
bool window_is_full(const WindowAxis *a);
/* Stride, pad and dilation as the ops over windows have them. */
void window_attrs(Ctx *c, Attr *attr, const WindowAxis *h, const WindowAxis *w);
#endif
