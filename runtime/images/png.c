/* PNG by libpng: 8 bits a sample, palettes expanded or their indices, without alpha and gamma.
   Contract: the file is read to its end, so that every checksum counts; raw rows are bounded by
   what deflate can pack. */
#include "runtime/images/formats.h"
#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

enum { DEFLATE_RATIO = 1032, CHUNK_BYTES = 8 << 20 };

typedef struct Reading {
  const uint8_t *file;
  uint64_t n, at;
  char *why;
} Reading;

static void on_error(png_structp png, png_const_charp message) {
  Reading *r = png_get_error_ptr(png);
  snprintf(r->why, IMAGE_WHY, "is damaged: %.180s", message);
  png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message) {}

static void on_read(png_structp png, png_bytep to, size_t n) {
  Reading *r = png_get_io_ptr(png);
  if (n > r->n - r->at) png_error(png, "it is cut short");
  memcpy(to, r->file + r->at, n);
  r->at += n;
}

static bool wrong(Reading *r, const char *what) {
  snprintf(r->why, IMAGE_WHY, "%s", what);
  return false;
}

/* Rows of the picture; what fails jumps over it. */
static bool read_picture(png_structp png, png_infop info, Reading *r, Picture *p) {
  png_read_info(png, info);
  p->width = png_get_image_width(png, info), p->height = png_get_image_height(png, info);
  uint64_t packed = png_get_rowbytes(png, info);
  if (p->indices && png_get_color_type(png, info) == PNG_COLOR_TYPE_PALETTE)
    png_set_packing(png);
  else
    png_set_expand(png);
  png_set_scale_16(png);
  png_set_strip_alpha(png);
  int passes = png_set_interlace_handling(png);
  png_read_update_info(png, info);
  p->channels = png_get_channels(png, info);
  uint64_t line = png_get_rowbytes(png, info);
  if ((p->channels != 1 && p->channels != 3) || line != (uint64_t)p->width * (uint64_t)p->channels)
    return wrong(r, "has a kind of pixels that is not decoded; save it with 8 bits a sample");
  if (packed * p->height / DEFLATE_RATIO > r->n) return wrong(r, "is damaged: it is cut short");
  if (!picture_make(p, r->why)) return false;
  for (int pass = 0; pass < passes; pass++)
    for (uint32_t y = 0; y < p->height; y++) png_read_row(png, p->pixels + y * line, NULL);
  png_read_end(png, NULL);
  return true;
}

bool png_decode(const uint8_t *file, uint64_t n, Picture *p, char why[IMAGE_WHY]) {
  Reading r = {file, n, 0, why};
  png_infop info = NULL;
  *p = (Picture){.indices = p->indices};
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &r, on_error, on_warning);
  if (png) info = png_create_info_struct(png);
  volatile bool ok = false;
  if (!png || !info) {
    snprintf(why, IMAGE_WHY, "needs more memory than there is");
  } else if (setjmp(png_jmpbuf(png)) == 0) {
    png_set_read_fn(png, &r, on_read);
    png_set_user_limits(png, IMAGE_SIDE, IMAGE_SIDE);
    png_set_chunk_malloc_max(png, CHUNK_BYTES);
    ok = read_picture(png, info, &r, p);
  }
  png_destroy_read_struct(&png, &info, NULL);
  if (!ok) free(p->pixels), p->pixels = NULL;
  return ok;
}
