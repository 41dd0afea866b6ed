/* Windows of images that slide along bounded axes; see bounded_windows.c. */
#ifndef GC_LANG_ELAB_WINDOWS_H
#define GC_LANG_ELAB_WINDOWS_H
#include "ir/op/window.h"
#include "lang/elab/builtin/builtin.h"

/* Whether the windows of x's bounded axes have axes; false after an error. k: conv, conv_input_grad
   for a transposed one, or a pool, with its attributes; axes: behind the channels, 1 or 2. more: of
   a transposed one, what it adds at the end of each axis, else NULL; then image[2 + i] becomes the
   bounded axis of the image, as type_get takes it. */
bool windows_fit(BuiltinCall *s, OpKind k, Val x, const Type *filters, const Attr *attr, int axes,
                 const int64_t *more, int64_t *image);
#endif
