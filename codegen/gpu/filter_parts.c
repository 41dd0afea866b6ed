/* How thread blocks share the pixels that a gradient with respect to filters sums over on tensor
   cores: by pixel_units of codegen/schedule/shares.h, for a static shape here, and in each run if
   extents decide how many pixels there are. Contract: the same pixels give the same parts, which
   are added in order, here and there; sums of several parts take at most a part of the operands'
   bytes in f32. */
#include "codegen/gpu/conv.h"
#include "codegen/program/extent.h"

PixelCount cuda_filter_pixels(const ConvGeom *c, const PixelParts *p, const GridTensorBox *b,
                              bool flat) {
  const FlatAxis h = flat_axis(&c->h), w = flat_axis(&c->w);
  if (!p->pixels) return (PixelCount){ceil_div(c->h.out, b->high) * ceil_div(c->w.out, b->wide), 1};
  return (PixelCount){flat ? h.pitch * w.pitch : c->h.out * c->w.out, p->pixels};
}

int64_t cuda_filter_image(const ConvGeom *c) {
  return c->cin * c->h.in * c->w.in + c->cout * c->h.out * c->w.out;
}

/* Bytes of an image of both operands; of a part's sums, with all that scratch leaves to others. */
static int64_t bytes_of_image(const ConvGeom *c, Dtype sums) {
  return cuda_filter_image(c) * dtype_size(sums);
}
static int64_t bytes_of_part(const CudaTarget *t, const ConvGeom *c, Dtype sums) {
  return t->machine.scratch * c->cout * c->gin * c->h.taps * c->w.taps * dtype_size(sums);
}

int64_t cuda_filter_room(const CudaTarget *t, const ConvGeom *c, Dtype sums, int64_t images) {
  return images * bytes_of_image(c, sums) / bytes_of_part(t, c, sums);
}

const char *cuda_filter_room_text(Gen *g, const Group *gr, const ConvGeom *c) {
  const Dtype sums = dtype_sum(value_type(gr->e, gr->root->results[0])->dtype);
  const long long part = bytes_of_part(cuda_target(g->target), c, sums);
  const char *images = dims_text(g, gr->e, c->x, 0, 1);
  if (!dims_bounded(c->x, 2, 4))
    return arena_printf(g->a, "((long)%s * %lld / %lld)", images,
                        (long long)bytes_of_image(c, sums), part);
  const long long x = c->cin * dtype_size(sums), y = c->cout * dtype_size(sums);
  return arena_printf(g->a, "((long)%s * (%lldL * %s + %lldL * %s) / %lld)", images, x,
                      dims_text(g, gr->e, c->x, 2, 4), y, dims_text(g, gr->e, c->y, 2, 4), part);
}

PixelParts cuda_filter_parts(const CudaTarget *t, const Group *gr, const ConvGeom *c,
                             const GridFilterSchedule *f) {
  const ConvGeom usual = cuda_conv_usual(c, CUDA_CONV_SIDE);
  if (f->tensor_box.wide)
    return grid_filter_box_parts(&t->machine, f, &usual, grid_box_wide(c->w.out));
  return grid_filter_parts(&t->machine, f, value_type(gr->e, gr->root->operands[0])->dtype);
}

/* The most parts that a run has, of any extents: those of the batches up to the bound, if they are
   few; else what pixel_units considers. */
static int64_t most_parts(const CudaTarget *t, const ConvGeom *c, const PixelParts *p,
                          const PixelCount *n, Dtype sums) {
  enum { TRIED = 1 << 10 };
  const bool sides = dims_bounded(c->x, 2, 4), batch = type_extent(c->x, 0);
  if (sides || (batch && c->n > TRIED)) {
    const int64_t stored = cuda_filter_room(t, c, sums, c->n),
                  room = (stored > 1 ? stored : 1) * p->cluster;
    int64_t most = ceil_div(c->n * n->of_image, n->of_unit) / p->least;
    if (most > PIXEL_TURNS * (int64_t)p->blocks / p->tiles)
      most = PIXEL_TURNS * (int64_t)p->blocks / p->tiles;
    if (most > room) most = room;
    return most < 1 ? 1 : most;
  }
  int64_t most = 1;
  for (int64_t images = batch ? 1 : c->n; images <= c->n; images++) {
    const int64_t room = cuda_filter_room(t, c, sums, images) * p->cluster;
    const int64_t units = ceil_div(images * n->of_image, n->of_unit);
    const int64_t parts = ceil_div(units, pixel_parts_units(p, units, room));
    if (parts > most) most = parts;
  }
  return most;
}

int64_t cuda_filter_divide(const CudaTarget *t, const ConvGeom *c, const PixelParts *p,
                           const PixelCount *n, Dtype sums, int64_t *most) {
  *most = most_parts(t, c, p, n, sums);
  return pixel_parts_units(p, ceil_div(c->n * n->of_image, n->of_unit),
                           cuda_filter_room(t, c, sums, c->n) * p->cluster);
}

/* The call of pixel_units; of what a unit takes texts, since that may depend on the run. */
static const char *units_text(Gen *g, const Group *gr, const ConvGeom *c, const PixelParts *p,
                              const char *units, const char *unit, const char *wait,
                              const char *resident) {
  return arena_printf(g->a, "pixel_units((int)%s, %s * %d, %d, %d, %d, %d, %s, %s, %s, %d, %d)",
                      units, cuda_filter_room_text(g, gr, c), p->cluster, p->tiles, p->blocks,
                      p->least, p->cluster, unit, wait, resident, p->ends, p->sums);
}

static const char *number(Gen *g, int n) { return arena_printf(g->a, "%d", n); }

const char *cuda_filter_length(Gen *g, const Group *gr, const ConvGeom *c, const PixelParts *p,
                               const char *pixels) {
  const char *length = units_text(g, gr, c, p, text_ceil_div(g->a, pixels, p->pixels),
                                  number(g, p->unit), number(g, p->wait), number(g, p->resident));
  return arena_printf(g->a, "%s * %d", length, p->pixels);
}

const char *cuda_filter_boxes(Gen *g, const Group *gr, const ConvGeom *c,
                              const GridFilterSchedule *f) {
  int unit[CUDA_BOXES], wait[CUDA_BOXES], resident[CUDA_BOXES];
  PixelParts p;
  for (int i = 0; i < CUDA_BOXES; i++) {
    const ConvGeom usual = cuda_conv_usual(c, CUDA_CONV_SIDE);
    p = grid_filter_box_parts(&cuda_target(g->target)->machine, f, &usual, GRID_BOX_NARROWEST << i);
    unit[i] = p.unit, wait[i] = p.wait, resident[i] = p.resident;
  }
  return units_text(g, gr, c, &p, cuda_tensor_boxes(g, gr, c, &f->tensor_box),
                    cuda_box_choice(g, gr, c, unit), cuda_box_choice(g, gr, c, wait),
                    cuda_box_choice(g, gr, c, resident));
}
