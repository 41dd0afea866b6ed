/* Models that a program uses as defs: use "net.onnx" as net(batch = N). Contract: see command.h; -D
   gives a let that a dimension is, as it gives every let. */
#include "lang/driver/command.h"

#include <stdlib.h>

static int64_t number_of(const Options *o, const ModelDim *d) {
  for (uint32_t i = 0; o && d->let && i < o->defines.n; i++) {
    char *end;
    const Define *x = &o->defines.at[i];
    long long n = strtoll(x->value, &end, 10);
    if (strcmp(x->name, d->let) == 0) return *end ? 0 : n;
  }
  return d->n;
}

const char *model_text(void *front, Ctx *c, const ModelUse *use) {
  Front *f = front;
  size_t n;
  enum { MOST = 1 << 30 };
  for (uint32_t i = 0; f && i < f->models.n; i++)
    if (f->models.at[i].name == use->name && f->models.at[i].path == use->path)
      return onnx_text(f->models.at[i].program, &n);
  OnnxDim *dims = ARENA_ARRAY(ctx_arena(c), OnnxDim, use->dims.n + 1);
  for (int i = 0; i < use->dims.n; i++) {
    const ModelDim *d = &use->dims.at[i];
    dims[i] = (OnnxDim){d->name.name, number_of(f ? f->o : NULL, d), d->bounded, d->times};
    const bool sound = dims[i].n >= 1 && dims[i].n <= MOST && d->times >= 1;
    if (sound && dims[i].n % d->times == 0) continue;
    if (sound)
      diag(c, SEV_ERROR, d->name.loc, "the bound of the dimension %s is a multiple of %lld",
           d->name.name, (long long)d->times);
    else
      diag(c, SEV_ERROR, d->name.loc, "the dimension %s takes a number from 1 to %d", d->name.name,
           MOST);
    return NULL;
  }
  const OnnxProgram *p = onnx_import_def(c, use->path, use->name, dims, use->dims.n, use->loc);
  if (!p) return NULL;
  if (f) vec_push(ctx_arena(c), &f->models, (UsedModel){use->path, use->name, p});
  return onnx_text(p, &n);
}
