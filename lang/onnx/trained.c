/* Which tensors of the file are params: floats with axes, but running statistics of batch
   normalization and masks. Contract: a mask is added to what softmaxes read, and to nothing else,
   its elements are 0 or so low that the softmax of their places is 0, and some are low, since zeros
   may be a bias that is yet to be learned. Where the exporter says which tensors of the module are
   parameters, others are none (signature.c). */
#include "lang/onnx/import.h"

#include <string.h>

static bool is_one_of(const char *op, const char *const *names) {
  while (*names && strcmp(*names, op) != 0) names++;
  return *names != NULL;
}

void trained_mark(Import *im, const Onnx__NodeProto *p) {
  static const char *const softmaxes[] = {"Softmax", "LogSoftmax", NULL};
  static const char *const passes[] = {"Add",     "Cast",  "Expand",    "Identity",
                                       "Reshape", "Slice", "Unsqueeze", NULL};
  const char *op = or_empty(p->op_type), *y = p->n_output ? p->output[0] : "";
  bool scores = is_one_of(op, softmaxes);
  if (is_one_of(op, passes)) /* all that read y stand behind p, and were seen */
    scores = name_is_in(im, &im->scores, y) && !name_is_in(im, &im->others, y);
  const size_t mask = strcmp(op, "Attention") == 0 ? 3 : SIZE_MAX; /* the input that it adds */
  for (size_t k = 0; k < p->n_input; k++)
    name_enter(im, scores || k == mask ? &im->scores : &im->others, p->input[k]);
  subgraph_needs(im, p, &im->others);
  if (strcmp(op, "BatchNormalization") == 0)
    for (size_t k = 3; k < p->n_input; k++) name_enter(im, &im->statistics, p->input[k]);
}

static bool is_mask(Import *im, const Onnx__TensorProto *t, const Shape *s) {
  enum { AT_ONCE = 1024 };
  const double low = -1e4; /* exp of it is 0 in all float types */
  const ElemInfo *e = elem_of(t->data_type);
  const char *why;
  uint8_t room[AT_ONCE * 8];
  uint64_t all, n;
  bool hides = false;
  if (s->rank < 2 || !shape_count(s, &all)) return false;
  for (uint64_t at = 0; at < all; at += n) {
    n = all - at < AT_ONCE ? all - at : AT_ONCE;
    if (!tensor_bytes(im, t, at, n, room, &why)) return false;
    for (uint64_t i = 0; i < n; i++) {
      double x = number_get(t->data_type, room + i * (uint64_t)e->size).f;
      if (!(x == 0 || x <= low)) return false;
      hides |= x < 0;
    }
  }
  return hides;
}

bool tensor_is_trained(Import *im, const char *name, const Onnx__TensorProto *t, const Shape *s) {
  if (!elem_of(t->data_type)->is_float || s->rank == 0 || name_is_in(im, &im->statistics, name) ||
      !signature_trains(im, name))
    return false;
  bool added = name_is_in(im, &im->scores, name) && !name_is_in(im, &im->others, name);
  return !added || !is_mask(im, t, s);
}
