/* Folders of images: FOLDER/CLASS/NAME.png, a row an image, in the order of classes and of names,
   both byte by byte; without classes FOLDER/NAME.png. The input says what a row is: [H, W] or
   [1, H, W] is gray, [3, H, W] RGB; channels may also be last, and a row without axes is a square.
   Contract: images_open reads folders, no image. Images are decoded when a batch takes them and,
   once they are, kept (decoded.h). What is wrong with one names its file. */
#include "runtime/data/dataset.h"
#include "runtime/data/decoded.h"
#include "runtime/data/image.h"
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { NO_CLASS = UINT32_MAX, IMAGE_FILE = 1 << 30 /* bytes of a file, at most */ };

typedef struct ImageFile {
  uint64_t name; /* where it begins in `names` */
  uint32_t class;
} ImageFile;

struct Images {
  ImageFile *files;
  char *names; /* one after the other */
  uint64_t n, capacity, used, room;
  uint64_t others; /* files that are no images by name */
  Words classes;   /* names of the subfolders */
  bool folder;     /* files lie in it; else there is one, the column's */
  bool labels;     /* the input is the numbers of the classes */
  ImageShape shape;
  Decoded decoded;
};

static bool no_memory(const Column *c, Err *e) {
  return err_set(e, EXIT_ENV, "no memory to list the images of %s", c->text);
}

/* ---- what is there ---- */
bool images_decode(void) { return gcrt_image_formats; }

bool images_are(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool images_have_name(const char *name) {
  static const char *const ends[] = {".png", ".jpg", ".jpeg"};
  size_t n = strlen(name);
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    size_t m = strlen(ends[i]);
    if (n > m && strcasecmp(name + n - m, ends[i]) == 0) return true;
  }
  return false;
}

static bool add_file(Column *c, const char *name, uint32_t class, Err *e) {
  Images *m = c->images;
  uint64_t length = strlen(name) + 1;
  if (m->n == m->capacity) {
    m->capacity = m->capacity ? 2 * m->capacity : 256;
    ImageFile *more = realloc(m->files, m->capacity * sizeof *more);
    if (!more) return no_memory(c, e);
    m->files = more;
  }
  if (m->used + length > m->room) {
    m->room = 2 * (m->used + length);
    char *more = realloc(m->names, m->room);
    if (!more) return no_memory(c, e);
    m->names = more;
  }
  memcpy(m->names + m->used, name, length);
  m->files[m->n++] = (ImageFile){m->used, class};
  m->used += length;
  return true;
}

static int by_class_and_name(const void *a, const void *b, void *names) {
  const ImageFile *x = a, *y = b;
  if (x->class != y->class) return x->class < y->class ? -1 : 1;
  return strcmp((char *)names + x->name, (char *)names + y->name);
}

typedef bool Visit(Column *c, const char *path, const char *name, bool folder, void *arg, Err *e);

/* All names of a folder but hidden ones, in any order. */
static bool visit(Column *c, const char *folder, Visit *f, void *arg, Err *e) {
  DIR *dir = opendir(folder);
  if (!dir) return err_set(e, EXIT_ENV, "%s: cannot be listed: %s", folder, strerror(errno));
  bool ok = true;
  for (struct dirent *x; ok && (x = readdir(dir));) {
    if (x->d_name[0] == '.') continue;
    size_t size = strlen(folder) + strlen(x->d_name) + 2;
    char *path = malloc(size);
    struct stat st;
    if (path) snprintf(path, size, "%s/%s", folder, x->d_name);
    ok = path ? !file_interrupted(folder, e) : no_memory(c, e);
    bool is_folder =
        ok && (x->d_type == DT_DIR || ((x->d_type == DT_LNK || x->d_type == DT_UNKNOWN) &&
                                       stat(path, &st) == 0 && S_ISDIR(st.st_mode)));
    ok = ok && f(c, path, x->d_name, is_folder, arg, e);
    free(path);
  }
  closedir(dir);
  return ok;
}

static bool visit_top(Column *c, const char *path, const char *name, bool folder, void *arg,
                      Err *e) {
  if (folder) return words_add(&c->images->classes, name, e);
  if (images_have_name(name)) return add_file(c, name, NO_CLASS, e);
  c->images->others++;
  return true;
}

static bool visit_class(Column *c, const char *path, const char *name, bool folder, void *arg,
                        Err *e) {
  if (folder) {
    err_set(e, EXIT_WRONG, "%s: is a folder within a class", path);
    return err_hint(e, "images lie in %s/CLASS/ or, without classes, in a folder itself", c->text);
  }
  if (images_have_name(name)) return add_file(c, name, *(uint32_t *)arg, e);
  c->images->others++;
  return true;
}

static bool list_class(Column *c, uint32_t class, Err *e) {
  uint64_t before = c->images->n;
  size_t size = strlen(c->text) + strlen(c->images->classes.at[class]) + 2;
  char *path = malloc(size);
  if (!path) return no_memory(c, e);
  snprintf(path, size, "%s/%s", c->text, c->images->classes.at[class]);
  bool ok = visit(c, path, visit_class, &class, e);
  if (ok && c->images->n == before) {
    err_set(e, EXIT_WRONG, "%s: has no images (.png, .jpg, .jpeg)", path);
    ok = err_hint(e, "each folder in %s is a class: remove the folder, or fill it", c->text);
  }
  free(path);
  return ok;
}

static bool list_folder(Column *c, Err *e) {
  Images *m = c->images;
  if (!visit(c, c->text, visit_top, NULL, e)) return false;
  if (m->n && c->images->classes.n) {
    err_set(e, EXIT_WRONG, "%s: has images beside folders: %s and %s/", c->text, m->names,
            c->images->classes.at[0]);
    return err_hint(e, "either all images lie in folders, which are their classes, or none does");
  }
  words_sort(&c->images->classes);
  for (int i = 0; i < c->images->classes.n; i++)
    if (!list_class(c, (uint32_t)i, e)) return false;
  if (m->n == 0) {
    err_set(e, EXIT_WRONG, "%s: is a folder without images (.png, .jpg, .jpeg)", c->text);
    return err_hint(e, "give a folder of images, or of a folder of images for each class");
  }
  qsort_r(m->files, m->n, sizeof *m->files, by_class_and_name, m->names);
  return true;
}

/* ---- what a row is ---- */
static bool is_channels(int64_t n) { return n == 1 || n == 3; }

/* Sides of a square; 0: n is none. */
static uint32_t root(int64_t n) {
  uint32_t s = (uint32_t)sqrt((double)n);
  return (int64_t)s * s == n ? s : 0;
}

/* Its elements are numbers of classes, as those of a mask: they choose, or are integers that no
   picture needs. */
static bool holds_classes(const GcTensor *t) {
  return t->nlimits || (elem_info[t->dtype].cls != ELEM_FLOATS && t->dtype != GC_U8);
}

static bool find_shape(const Column *c, ImageShape *s) {
  const int64_t *d = c->t->dims + !c->fixed;
  int axes = c->t->rank - !c->fixed;
  int64_t height = 0, width = 0;
  *s = (ImageShape){.channels = 1, .planar = true, .classes = holds_classes(c->t)};
  if (axes == 1 && root(d[0])) height = width = root(d[0]);
  if (axes == 1 && d[0] % 3 == 0 && root(d[0] / 3))
    height = width = root(d[0] / 3), s->channels = 3;
  if (axes == 2) height = d[0], width = d[1];
  if (axes == 3 && is_channels(d[0])) {
    s->channels = (int)d[0], height = d[1], width = d[2];
  } else if (axes == 3 && is_channels(d[2])) {
    s->channels = (int)d[2], height = d[0], width = d[1], s->planar = false;
  }
  s->height = (uint32_t)height, s->width = (uint32_t)width;
  return height > 0 && width > 0 && height <= IMAGE_SIDE && width <= IMAGE_SIDE;
}

static bool is_label(const Column *c) {
  return c->row_elems == 1 && c->t->rank == 1 && !c->fixed &&
         elem_info[c->t->dtype].cls == ELEM_INTS;
}

static bool no_shape(const Column *c, Err *e) {
  char need[256];
  column_shapes_text(c, need, sizeof need);
  err_set(e, EXIT_WRONG, "%s: %s, but the input %s is %s", c->text,
          c->images->folder ? "is a folder of images" : "holds images", c->t->name, need);
  if (is_label(c))
    return err_hint(e, "labels are the names of folders of images: give the folder that has these");
  return err_hint(e,
                  "an image is [H, W] or [1, H, W] (gray), [3, H, W] (RGB), or a square without "
                  "axes; labels are integers, one a row%s",
                  c->images->folder ? "; of other files a pattern has all: FOLDER/*.npy" : "");
}

static bool no_decoders(const Column *c, Err *e) {
  if (c->images->folder) {
    err_set(e, EXIT_WRONG, "%s: is a directory, and this program decodes no images", c->text);
    return err_hint(e,
                    "give a file; or, if images lie there, compile the program with gc --images");
  }
  err_set(e, EXIT_WRONG, "%s: is an image, which this program does not decode", c->text);
  return err_hint(e, "compile it with gc --images; or, if the bytes of the file are meant, %s:u8",
                  c->text);
}

/* Those that weights have for the names of the classes. */
static bool take_numbers(Column *c, const Words *known, Err *e) {
  Images *m = c->images;
  int number = 0;
  for (uint32_t class = NO_CLASS, r = 0; r < m->n; r++) {
    if (m->files[r].class != class) {
      class = m->files[r].class;
      number = words_find(known, m->classes.at[class]);
    }
    if (number < 0) {
      err_set(e, EXIT_WRONG, "%s: the class %.200s is none of those that %.200s has for %s",
              c->text, m->classes.at[class], known->from, c->t->name);
      return words_hint(known, e);
    }
    m->files[r].class = (uint32_t)number;
  }
  return words_copy(&c->words, known, e);
}

/* The numbers of the classes, and their names. */
static bool take_labels(Column *c, Err *e) {
  Images *m = c->images;
  if (!m->classes.n) {
    err_set(e, EXIT_WRONG, "%s: has no folders, whose names would be the labels of %s", c->text,
            c->t->name);
    return err_hint(e, "sort the images into a folder for each class");
  }
  const Words *known = c->request ? labels_find(c->request->labels, c->t->name) : NULL;
  if (known) return take_numbers(c, known, e);
  c->words = m->classes;
  m->classes = (Words){0};
  snprintf(c->words.name, WORD, "%s", c->t->name);
  return true;
}

/* Of the list of images, whose order is settled. */
static bool take_images(Column *c, Err *e) {
  Images *m = c->images;
  c->all_rows = m->n;
  c->step = c->row_elems;
  c->total = m->n * c->row_elems;
  c->type = m->labels ? ELEM_I32 : ELEM_U8;
  c->on_disk = !m->labels;
  if (m->labels) return take_labels(c, e);
  c->kept = m->n;
  m->decoded = (Decoded){.row = c->row_elems, .fd = -1, .state = calloc(m->n, 1)};
  if (!m->decoded.state) return no_memory(c, e);
  if (!c->fixed || m->n == 1) return true;
  err_set(e, EXIT_WRONG, "%s: holds %" PRIu64 " images, but the input %s has no batch axis",
          c->text, m->n, c->t->name);
  return err_hint(e, "give one image");
}

static bool begin(Column *c, bool folder, Err *e) {
  Images *m = c->images = calloc(1, sizeof *m);
  if (!m) return no_memory(c, e);
  m->decoded.fd = -1;
  c->file.path = c->text;
  m->folder = folder;
  m->labels = folder && is_label(c);
  if (!m->labels && !images_decode()) return no_decoders(c, e);
  if (c->extents) column_at_bounds(c, c->extents); /* images have any size */
  return m->labels || find_shape(c, &m->shape) || no_shape(c, e);
}

bool images_open(Column *c, Err *e) {
  if (!images_are(c->text)) return images_open_files(c, &c->text, 1, e);
  size_t n = strlen(c->text);
  while (n > 1 && c->text[n - 1] == '/') c->text[--n] = 0;
  return begin(c, true, e) && list_folder(c, e) && take_images(c, e);
}

bool images_are_files(char *const *paths, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (!images_have_name(paths[i])) return false;
  return true;
}

bool images_open_files(Column *c, char *const *paths, size_t n, Err *e) {
  if (!begin(c, false, e)) return false;
  for (size_t i = 0; i < n; i++)
    if (!add_file(c, paths[i], NO_CLASS, e)) return false;
  return take_images(c, e);
}

/* ---- rows ---- */
void images_labels(const Column *c, uint64_t first, uint64_t rows, int32_t *to) {
  for (uint64_t r = 0; r < rows; r++) to[r] = (int32_t)c->images->files[first + r].class;
}

uint64_t images_bytes(const Column *c) { return c->kept * c->row_elems; }

void images_keep(const Column *c, uint8_t *memory) {
  c->images->decoded.kept = c->kept;
  c->images->decoded.memory = memory;
}

bool images_file(Column *c, TemporaryFolder *folder, Err *e) {
  Decoded *d = &c->images->decoded;
  d->kept = c->kept;
  bool ok = decoded_file(d, folder, c->rows - c->kept, e);
  c->filed = d->filed;
  return ok;
}

char *images_path(const Column *c, uint64_t r) {
  const Images *m = c->images;
  const ImageFile *f = &m->files[c->first + r];
  const char *class = f->class == NO_CLASS ? "" : m->classes.at[f->class];
  const char *name = m->names + f->name;
  if (!m->folder) return strdup(name);
  size_t size = strlen(c->text) + strlen(class) + strlen(name) + 3;
  char *path = malloc(size);
  if (path) snprintf(path, size, "%s/%s%s%s", c->text, class, *class ? "/" : "", name);
  return path;
}

void images_print_name(const Column *c, uint64_t r, FILE *f) {
  char *path = images_path(c, r);
  if (path) text_print(f, path, strlen(path), false);
  free(path);
}

static bool decode(const Images *m, const File *f, const uint8_t *bytes, uint8_t *to, Err *e) {
  char why[IMAGE_WHY];
  Picture p = {.indices = m->shape.classes && m->shape.channels == 1};
  for (const ImageFormat *x = gcrt_image_formats; x->name; x++) {
    size_t n = strlen(x->begins);
    if (f->size < n || memcmp(bytes, x->begins, n) != 0) continue;
    if (!x->decode(bytes, f->size, &p, why)) {
      err_set(e, EXIT_WRONG, "%s: %s", f->path, why);
      return err_hint(e, "remove the file, or write it again");
    }
    bool ok = picture_resample(&p, &m->shape, to);
    free(p.pixels);
    return ok || err_set(e, EXIT_ENV, "no memory to resize %s", f->path);
  }
  err_set(e, EXIT_WRONG, "%s: is no PNG and no JPEG image", f->path);
  return err_hint(e, "remove the file, or convert it");
}

static bool read_file(const Images *m, const char *path, uint8_t *to, Err *e) {
  File f;
  if (!file_open(&f, path, e)) return false;
  uint8_t *bytes = f.size <= IMAGE_FILE ? malloc(f.size + 1) : NULL;
  bool ok = bytes ? file_read(&f, 0, bytes, f.size, e) && decode(m, &f, bytes, to, e)
                  : err_set(e, EXIT_WRONG, "%s: has %" PRIu64 " bytes, more than an image has",
                            path, f.size);
  free(bytes);
  file_close(&f);
  return ok;
}

bool images_read(const Column *c, uint64_t r, uint8_t *to, Err *e) {
  const Images *m = c->images;
  if (decoded_get(&m->decoded, r, to)) return true;
  char *path = images_path(c, r);
  if (!path) return no_memory(c, e);
  bool ok = read_file(m, path, to, e);
  free(path);
  if (ok) decoded_put(&m->decoded, r, to);
  return ok;
}

bool images_note(const Column *c, char *out, size_t size) {
  const Images *m = c->images;
  if (!m || !m->others || m->labels) return false;
  snprintf(out, size, "%s: %" PRIu64 " file%s not named .png, .jpg or .jpeg %s left out", c->text,
           m->others, m->others == 1 ? "" : "s", m->others == 1 ? "is" : "are");
  return true;
}

void images_free(Column *c) {
  Images *m = c->images;
  if (!m) return;
  words_free(&m->classes);
  decoded_free(&m->decoded);
  free(m->files);
  free(m->names);
  free(m);
  c->images = NULL;
}
