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
  return arena_printf(g->a, "((long)%s * %lld / %lld)", dims_text(g, gr->e, c->x, 0, 1),
                      (long long)bytes_of_image(c, sums),
                      (long long)bytes_of_part(cuda_target(g->target), c, sums));
}

/* The most parts that a run has, of any extents. */
static int64_t most_parts(const CudaTarget *t, const ConvGeom *c, const PixelParts *p,
                          const PixelCount *n, Dtype sums) {
  enum { TRIED = 1 << 20 };
  const bool sides = dims_bounded(c->x, 2, 4), batch = type_extent(c->x, 0);
  const int64_t all = ceil_div(c->n * n->of_image, n->of_unit);
  const int64_t turns = PIXEL_TURNS * (int64_t)p->blocks / p->tiles;
  if ((batch ? c->n : 1) > TRIED / (sides ? all : 1)) /* what the bound lets it consider */
    return turns < 1 || all < p->least ? 1 : turns < all / p->least ? turns : all / p->least;
  int64_t most = 1;
  for (int64_t images = batch ? 1 : c->n; images <= c->n; images++) {
    const int64_t room = cuda_filter_room(t, c, sums, images) * p->cluster;
    const int64_t units = ceil_div(images * n->of_image, n->of_unit);
    for (int64_t u = sides ? 1 : units; u <= units; u++) {
      const int64_t parts = ceil_div(u, pixel_parts_units(p, u, room));
      if (parts > most) most = parts;
    }
  }
  return most;
}

int64_t cuda_filter_divide(const CudaTarget *t, const ConvGeom *c, const PixelParts *p,
                           const PixelCount *n, Dtype sums, int64_t *most) {
  *most = most_parts(t, c, p, n, sums);
  return pixel_parts_units(p, ceil_div(c->n * n->of_image, n->of_unit),
                           cuda_filter_room(t, c, sums, c->n) * p->cluster);
}

const char *cuda_filter_length(Gen *g, const Group *gr, const ConvGeom *c, const PixelParts *p,
                               const char *pixels) {
  const int unit = p->pixels ? p->pixels : 1;
  const char *length = arena_printf(
      g->a, "pixel_units((int)%s, %s * %d, %d, %d, %d, %d, %d, %d, %d, %d, %d)",
      text_ceil_div(g->a, pixels, unit), cuda_filter_room_text(g, gr, c), p->cluster, p->tiles,
      p->blocks, p->least, p->cluster, p->unit, p->wait, p->resident, p->ends, p->sums);
  return unit == 1 ? length : arena_printf(g->a, "%s * %d", length, unit);
}
