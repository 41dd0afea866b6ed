/* Writes image files of tests.
     mkimages png|jpeg KIND WIDTH HEIGHT SEED FILE    a made-up picture; KIND: gray, color, alpha,
                                                      palette, deep (16 bits), interlaced, cmyk
     mkimages digits IMAGES LABELS FROM TO FOLDER     rows of IDX as FOLDER/LABEL/ROW.png, and the
                                                      same rows in that order as FOLDER.images and
                                                      FOLDER.labels, IDX */
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>
/* after stdio.h, which it needs */
#include <jpeglib.h>

static void stop(const char *what) {
  fprintf(stderr, "mkimages: %s\n", what);
  exit(1);
}

static FILE *create(const char *path) {
  FILE *f = fopen(path, "wb");
  if (!f) stop(path);
  return f;
}

/* A smooth picture with an edge, of so many bytes a pixel. */
static unsigned char *paint(int w, int h, int n, int seed) {
  unsigned char *p = malloc((size_t)w * (size_t)h * (size_t)n);
  if (!p) stop("no memory");
  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++)
      for (int c = 0; c < n; c++)
        p[((size_t)y * (size_t)w + (size_t)x) * (size_t)n + (size_t)c] =
            (unsigned char)(x * 200 / w + y * 40 / h * (c + 1) + seed + (x > w / 2) * 30);
  return p;
}

static void write_png(const char *path, const char *kind, int w, int h, const unsigned char *p) {
  FILE *f = create(path);
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
  png_infop info = png_create_info_struct(png);
  if (setjmp(png_jmpbuf(png))) stop(path);
  png_init_io(png, f);
  int type = PNG_COLOR_TYPE_GRAY, bits = 8, n = 1;
  if (!strcmp(kind, "color") || !strcmp(kind, "interlaced")) type = PNG_COLOR_TYPE_RGB, n = 3;
  if (!strcmp(kind, "alpha")) type = PNG_COLOR_TYPE_RGBA, n = 4;
  if (!strcmp(kind, "palette")) type = PNG_COLOR_TYPE_PALETTE;
  if (!strcmp(kind, "deep")) bits = 16, n = 2;
  int lace = strcmp(kind, "interlaced") == 0 ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE;
  png_set_IHDR(png, info, (png_uint_32)w, (png_uint_32)h, bits, type, lace, 0, 0);
  png_color colors[256];
  for (int i = 0; i < 256; i++)
    colors[i] = (png_color){(png_byte)i, (png_byte)(255 - i), (png_byte)(i / 2)};
  if (type == PNG_COLOR_TYPE_PALETTE) png_set_PLTE(png, info, colors, 256);
  png_write_info(png, info);
  int passes = png_set_interlace_handling(png);
  for (int pass = 0; pass < passes; pass++)
    for (int y = 0; y < h; y++) png_write_row(png, p + (size_t)y * (size_t)w * (size_t)n);
  png_write_end(png, NULL);
  png_destroy_write_struct(&png, &info);
  if (fclose(f) != 0) stop(path);
}

static void write_jpeg(const char *path, const char *kind, int w, int h, unsigned char *p) {
  FILE *f = create(path);
  struct jpeg_error_mgr errors;
  struct jpeg_compress_struct j = {.err = jpeg_std_error(&errors)};
  jpeg_create_compress(&j);
  jpeg_stdio_dest(&j, f);
  j.image_width = (JDIMENSION)w, j.image_height = (JDIMENSION)h;
  j.input_components = !strcmp(kind, "gray") ? 1 : !strcmp(kind, "cmyk") ? 4 : 3;
  j.in_color_space = j.input_components == 1   ? JCS_GRAYSCALE
                     : j.input_components == 4 ? JCS_CMYK
                                               : JCS_RGB;
  jpeg_set_defaults(&j);
  if (!strcmp(kind, "interlaced")) jpeg_simple_progression(&j);
  jpeg_start_compress(&j, TRUE);
  while (j.next_scanline < j.image_height) {
    JSAMPROW row = p + (size_t)j.next_scanline * (size_t)w * (size_t)j.input_components;
    jpeg_write_scanlines(&j, &row, 1);
  }
  jpeg_finish_compress(&j);
  jpeg_destroy_compress(&j);
  if (fclose(f) != 0) stop(path);
}

static unsigned char *read_idx(const char *path, size_t head, size_t row, int from, int n) {
  gzFile f = gzopen(path, "rb");
  unsigned char *p = malloc(row * (size_t)n + 1);
  if (!f || !p || gzseek(f, (z_off_t)(head + row * (size_t)from), SEEK_SET) < 0 ||
      gzread(f, p, (unsigned)(row * (size_t)n)) != (int)(row * (size_t)n))
    stop(path);
  gzclose(f);
  return p;
}

static void put_dim(FILE *f, int n) {
  for (int b = 24; b >= 0; b -= 8) fputc(n >> b & 255, f);
}

static void digits(char **argv) {
  enum { SIDE = 28 };
  int from = atoi(argv[4]), n = atoi(argv[5]) - from;
  unsigned char *image = read_idx(argv[2], 16, SIDE * SIDE, from, n),
                *label = read_idx(argv[3], 8, 1, from, n);
  char path[4096];
  snprintf(path, sizeof path, "%s.images", argv[6]);
  FILE *images = create(path);
  snprintf(path, sizeof path, "%s.labels", argv[6]);
  FILE *labels = create(path);
  fwrite("\0\0\x08\x03", 1, 4, images), put_dim(images, n), put_dim(images, SIDE);
  put_dim(images, SIDE);
  fwrite("\0\0\x08\x01", 1, 4, labels), put_dim(labels, n);
  mkdir(argv[6], 0777);
  for (int c = 0; c < 10; c++) {
    snprintf(path, sizeof path, "%s/%d", argv[6], c);
    mkdir(path, 0777);
    for (int i = 0; i < n; i++) {
      const unsigned char *p = image + (size_t)i * SIDE * SIDE;
      if (label[i] != c) continue;
      snprintf(path, sizeof path, "%s/%d/%05d.png", argv[6], c, i);
      write_png(path, "gray", SIDE, SIDE, p);
      fwrite(p, 1, SIDE * SIDE, images);
      fputc(c, labels);
    }
  }
  if (fclose(images) != 0 || fclose(labels) != 0) stop(argv[6]);
  free(image);
  free(label);
}

int main(int argc, char **argv) {
  if (argc == 7 && strcmp(argv[1], "digits") == 0) {
    digits(argv);
    return 0;
  }
  if (argc != 7) return 2;
  const char *kind = argv[2];
  int w = atoi(argv[3]), h = atoi(argv[4]);
  int n = !strcmp(kind, "gray") || !strcmp(kind, "palette") ? 1
          : !strcmp(kind, "deep")                           ? 2
          : !strcmp(kind, "alpha") || !strcmp(kind, "cmyk") ? 4
                                                            : 3;
  unsigned char *p = paint(w, h, n, atoi(argv[5]));
  if (strcmp(argv[1], "png") == 0) write_png(argv[6], kind, w, h, p);
  if (strcmp(argv[1], "jpeg") == 0) write_jpeg(argv[6], kind, w, h, p);
  free(p);
  return 0;
}
