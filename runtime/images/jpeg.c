/* JPEG by libjpeg-turbo: gray or colour; CMYK is refused, and the orientation that Exif tells is
   not applied. Contract: data that libjpeg would fill in is an error; pixels are bounded by what
   Huffman codes can pack, scans by a count, since a small file may hold very many. */
#include "runtime/images/formats.h"
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
/* after stdio.h, which they need */
#include <jerror.h>
#include <jpeglib.h>

/* A block of 64 pixels takes a bit at least. */
enum { PIXELS_OF_BYTE = 8 * 64, SCANS = 1000, COEFFICIENT_BYTES = 1 << 29 };

typedef struct Decoding {
  struct jpeg_error_mgr errors;
  struct jpeg_progress_mgr progress;
  struct jpeg_decompress_struct jpeg;
  jmp_buf out;
  char *why;
} Decoding;

static void stop(j_common_ptr jpeg) {
  Decoding *d = jpeg->client_data;
  char message[JMSG_LENGTH_MAX];
  jpeg->err->format_message(jpeg, message);
  snprintf(d->why, IMAGE_WHY, "is damaged: %.180s", message);
  longjmp(d->out, 1);
}

/* What is a warning to libjpeg since it goes on with gray pixels. */
static void on_message(j_common_ptr jpeg, int level) {
  int code = jpeg->err->msg_code;
  if (level < 0 && code != JWRN_EXTRANEOUS_DATA && code != JWRN_JFIF_MAJOR &&
      code != JWRN_BOGUS_PROGRESSION && code != JWRN_ADOBE_XFORM)
    stop(jpeg);
}

static void on_progress(j_common_ptr jpeg) {
  Decoding *d = jpeg->client_data;
  if (d->jpeg.input_scan_number <= SCANS) return;
  snprintf(d->why, IMAGE_WHY, "has more than %d scans", SCANS);
  longjmp(d->out, 1);
}

static bool wrong(Decoding *d, const char *what) {
  snprintf(d->why, IMAGE_WHY, "%s", what);
  return false;
}

static bool read_picture(Decoding *d, const uint8_t *file, uint64_t n, Picture *p) {
  struct jpeg_decompress_struct *j = &d->jpeg;
  jpeg_mem_src(j, file, (unsigned long)n);
  jpeg_read_header(j, TRUE);
  if (j->jpeg_color_space == JCS_CMYK || j->jpeg_color_space == JCS_YCCK)
    return wrong(d, "has CMYK colours; save it in RGB");
  bool gray = j->jpeg_color_space == JCS_GRAYSCALE;
  j->out_color_space = gray ? JCS_GRAYSCALE : JCS_RGB;
  j->mem->max_memory_to_use = COEFFICIENT_BYTES;
  p->width = j->image_width, p->height = j->image_height, p->channels = gray ? 1 : 3;
  if (!j->arith_code && (uint64_t)p->width * p->height / PIXELS_OF_BYTE > n)
    return wrong(d, "is damaged: it is cut short");
  if (!picture_make(p, d->why)) return false;
  jpeg_start_decompress(j);
  uint64_t line = (uint64_t)p->width * (uint64_t)p->channels;
  while (j->output_scanline < j->output_height) {
    JSAMPROW row = p->pixels + j->output_scanline * line;
    jpeg_read_scanlines(j, &row, 1);
  }
  jpeg_finish_decompress(j);
  return true;
}

bool jpeg_decode(const uint8_t *file, uint64_t n, Picture *p, char why[IMAGE_WHY]) {
  *p = (Picture){.indices = p->indices};
  Decoding *d = calloc(1, sizeof *d);
  if (!d) {
    snprintf(why, IMAGE_WHY, "needs more memory than there is");
    return false;
  }
  d->why = why;
  d->jpeg.err = jpeg_std_error(&d->errors);
  d->errors.error_exit = stop;
  d->errors.emit_message = on_message;
  d->progress.progress_monitor = on_progress;
  d->jpeg.client_data = d;
  volatile bool ok = false;
  if (setjmp(d->out) == 0) {
    jpeg_create_decompress(&d->jpeg);
    d->jpeg.client_data = d;
    d->jpeg.progress = &d->progress;
    ok = read_picture(d, file, n, p);
  }
  jpeg_destroy_decompress(&d->jpeg);
  free(d);
  if (!ok) free(p->pixels), p->pixels = NULL;
  return ok;
}
