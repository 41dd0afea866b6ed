/* A picture at the size of a row: centre crop and resampling by a triangle filter, which is
   bilinear interpolation where the picture grows and an area mean where it shrinks (Pillow's
   BILINEAR); of masks, whose pixels are classes, the nearest pixel. Weights and sums are integers,
   so that every machine gives the same bytes. Colour becomes gray as ITU-R BT.601 weighs it. */
#include "runtime/data/image.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool picture_make(Picture *p, char why[IMAGE_WHY]) {
  if (!p->width || !p->height || p->width > IMAGE_SIDE || p->height > IMAGE_SIDE ||
      (uint64_t)p->width * p->height > IMAGE_PIXELS) {
    snprintf(why, IMAGE_WHY, "has %u x %u pixels; at most %d a side and %d in all are decoded",
             p->width, p->height, IMAGE_SIDE, IMAGE_PIXELS);
    return false;
  }
  p->pixels = malloc((uint64_t)p->width * p->height * (uint64_t)p->channels);
  if (!p->pixels) snprintf(why, IMAGE_WHY, "needs more memory than there is");
  return p->pixels != NULL;
}

/* ---- one axis ---- */
typedef struct Axis { /* from `length` pixels at `begin` to n */
  uint32_t begin, length, n;
  uint32_t taps;    /* of a pixel, at most */
  uint32_t *first;  /* of each pixel, in the picture */
  uint64_t *sum;    /* of its weights */
  uint32_t *weight; /* [n][taps] */
} Axis;

/* Pixel i of the row has its centre at (2i + 1) length / 2n, pixel j of the picture at j + 1/2; the
   triangle reaches as far as the larger of both pixels is wide. All distances are times 2n. */
static bool axis_make(Axis *a, uint32_t size, uint32_t length, uint32_t n) {
  uint64_t reach = 2 * (uint64_t)(length > n ? length : n);
  *a = (Axis){.begin = (size - length) / 2, .length = length, .n = n};
  uint64_t taps = reach / n + 2;
  a->taps = (uint32_t)(taps < length ? taps : length);
  a->first = malloc(n * sizeof *a->first);
  a->sum = calloc(n, sizeof *a->sum);
  a->weight = calloc((uint64_t)n * a->taps, sizeof *a->weight);
  if (!a->first || !a->sum || !a->weight) return false;
  for (uint64_t i = 0; i < n; i++) {
    uint64_t centre = (2 * i + 1) * length;
    uint64_t j = centre > reach + n ? (centre - reach - n) / (2 * (uint64_t)n) : 0;
    for (; (2 * j + 1) * n + reach <= centre; j++) {
    }
    a->first[i] = (uint32_t)j;
    for (uint32_t k = 0; k < a->taps && j + k < length; k++) {
      uint64_t at = (2 * (j + k) + 1) * n, d = at > centre ? at - centre : centre - at;
      if (d >= reach) break;
      a->weight[i * a->taps + k] = (uint32_t)(reach - d);
      a->sum[i] += reach - d;
    }
  }
  return true;
}

static void axis_free(Axis *a) {
  free(a->first);
  free(a->sum);
  free(a->weight);
}

/* ---- both ---- */
static uint8_t gray_of(const uint8_t *p) {
  return (uint8_t)((19595U * p[0] + 38470U * p[1] + 7471U * p[2] + 32768U) >> 16);
}

static uint32_t sample(const Picture *p, uint64_t x, uint64_t y, int channel, int channels) {
  const uint8_t *at = p->pixels + (y * p->width + x) * (uint64_t)p->channels;
  if (p->channels == 1) return at[0];
  return channels == 1 ? gray_of(at) : at[channel];
}

/* 256 times the mean, of one row of the picture at all places of the axis. */
static void across(const Picture *p, const Axis *x, uint64_t y, int channels, uint16_t *to) {
  for (uint32_t i = 0; i < x->n; i++) {
    const uint32_t *w = x->weight + (uint64_t)i * x->taps;
    for (int c = 0; c < channels; c++) {
      uint64_t sum = 0;
      for (uint32_t k = 0; k < x->taps && w[k]; k++)
        sum += w[k] * (uint64_t)sample(p, x->begin + x->first[i] + k, y, c, channels);
      to[(uint64_t)i * (uint64_t)channels + (uint64_t)c] =
          (uint16_t)((sum * 256 + x->sum[i] / 2) / x->sum[i]);
    }
  }
}

static void down(const uint16_t *rows, const Axis *x, const Axis *y, const ImageShape *s,
                 uint8_t *to) {
  uint64_t n = (uint64_t)s->channels, line = x->n * n;
  for (uint64_t i = 0; i < y->n; i++) {
    const uint32_t *w = y->weight + i * y->taps;
    for (uint64_t k = 0; k < line; k++) {
      uint64_t sum = 0, scale = y->sum[i] * 256;
      for (uint32_t t = 0; t < y->taps && w[t]; t++)
        sum += w[t] * (uint64_t)rows[(y->first[i] + t) * line + k];
      uint64_t at = s->planar ? (k % n * y->n + i) * x->n + k / n : i * line + k;
      to[at] = (uint8_t)((sum + scale / 2) / scale);
    }
  }
}

/* The part of the picture's size that is taken. */
static void crop(const Picture *p, const ImageShape *s, uint64_t *width, uint64_t *height) {
  uint64_t w = p->width, h = p->height;
  if (w * s->height > h * s->width) /* too wide */
    w = (h * s->width * 2 + s->height) / (2 * (uint64_t)s->height);
  else
    h = (w * s->height * 2 + s->width) / (2 * (uint64_t)s->width);
  *width = w < 1 ? 1 : w > p->width ? p->width : w;
  *height = h < 1 ? 1 : h > p->height ? p->height : h;
}

/* The pixel of `length` in the middle of `size` that has the centre of pixel i of n. */
static uint64_t below_centre(uint64_t i, uint64_t size, uint64_t length, uint64_t n) {
  return (size - length) / 2 + (2 * i + 1) * length / (2 * n);
}

static void nearest(const Picture *p, const ImageShape *s, uint8_t *to) {
  const uint64_t n = (uint64_t)s->channels, all = (uint64_t)s->width * s->height;
  const bool same = p->width == s->width && p->height == s->height;
  uint64_t w, h;
  crop(p, s, &w, &h);
  for (uint64_t y = 0, i = 0; y < s->height; y++) {
    const uint64_t from = same ? y : below_centre(y, p->height, h, s->height);
    for (uint64_t x = 0; x < s->width; x++, i++) {
      const uint64_t at = same ? x : below_centre(x, p->width, w, s->width);
      for (uint64_t c = 0; c < n; c++)
        to[s->planar ? c * all + i : i * n + c] = (uint8_t)sample(p, at, from, (int)c, s->channels);
    }
  }
}

bool picture_resample(const Picture *p, const ImageShape *s, uint8_t *to) {
  if (s->classes || (p->width == s->width && p->height == s->height)) {
    nearest(p, s, to);
    return true;
  }
  uint64_t w, h;
  crop(p, s, &w, &h);
  Axis x = {0}, y = {0};
  uint64_t line = (uint64_t)s->width * (uint64_t)s->channels;
  uint16_t *rows = malloc(h * line * sizeof *rows);
  bool ok = rows && axis_make(&x, p->width, (uint32_t)w, s->width) &&
            axis_make(&y, p->height, (uint32_t)h, s->height);
  for (uint64_t i = 0; ok && i < h; i++) across(p, &x, y.begin + i, s->channels, rows + i * line);
  if (ok) down(rows, &x, &y, s, to);
  axis_free(&x);
  axis_free(&y);
  free(rows);
  return ok;
}
