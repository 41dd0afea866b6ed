/* Binds a file to an input: tells the format by content, and settles rows, elements of a row and
   the type. Contract: reads headers only; sizes come from the program, the file has to match them.
 */
#include "runtime/data/binding.h"
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static bool ends_with(const char *s, const char *end) {
  size_t n = strlen(s), m = strlen(end);
  return n >= m && strcmp(s + n - m, end) == 0;
}

/* A damaged file of a known format must not be taken for flat bytes. */
static bool name_agrees(const Column *c, const uint8_t *head, uint64_t n, Err *e) {
  static const char *const names[] = {".npy", ".npz", ".gz", "-ubyte", ".idx", ".zip"};
  for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
    if (ends_with(c->text, names[i])) {
      err_set(e, EXIT_WRONG, "%s: is named %s, but does not begin like such a file", c->text,
              names[i]);
      return err_hint(e,
                      "the file is damaged (fetch or write it again), or give it a name without %s",
                      names[i]);
    }
  return true;
}

static bool is_text(const uint8_t *p, uint64_t n) {
  for (uint64_t i = 0; i < n; i++)
    if (p[i] < 0x20 && (p[i] < '\t' || p[i] > '\r')) return false;
  return true;
}

/* "BM" alone would be two bytes of anybody's: the size of the file follows. */
static bool is_bmp(const Column *c, const uint8_t *head, uint64_t n) {
  uint64_t size = 0;
  for (int i = 5; n >= 6 && i >= 2; i--) size = size << 8 | head[i];
  return n >= 6 && head[0] == 'B' && head[1] == 'M' && size == c->file.size;
}

/* The bytes of some formats are no elements: an error names the format. */
static bool is_decoded(const Column *c, const uint8_t *head, uint64_t n, Err *e) {
  static const struct {
    const char *magic, *what;
    uint64_t length;
  } formats[] = {{"GIF87a", "a GIF image", 6},
                 {"GIF89a", "a GIF image", 6},
                 {"II*\0", "a TIFF image", 4},
                 {"MM\0*", "a TIFF image", 4},
                 {"\x89HDF\r\n\x1a\n", "an HDF5 file", 8},
                 {"PAR1", "a Parquet file", 4},
                 {"\177ELF", "an executable or a library", 4}};
  static const char torch[] = "\x80\2\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19."; /* of old versions */
  if (n >= sizeof torch - 1 && memcmp(head, torch, sizeof torch - 1) == 0)
    return file_is_of_torch(c->text, e);
  const char *what = is_bmp(c, head, n) ? "a BMP image" : NULL;
  if (n >= 12 && memcmp(head, "RIFF", 4) == 0 && memcmp(head + 8, "WEBP", 4) == 0)
    what = "a WebP image";
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
    if (n >= formats[i].length && memcmp(head, formats[i].magic, formats[i].length) == 0)
      what = formats[i].what;
  if (!what) return true;
  err_set(e, EXIT_WRONG, "%s: is %s, which programs do not decode", c->text, what);
  return err_hint(e, "save its elements with numpy.save; or, if its bytes are meant, %s:u8",
                  c->text);
}

/* The end of the last row that is chosen, in bytes; UINT64_MAX: that of the file, or beyond it. */
static uint64_t asked_of(const Column *c, const Suffixes *s) {
  uint64_t n, step = s->step ? s->s : c->row_elems;
  if (!s->range || !s->has_to || s->to <= 0 || (s->has_from && s->from < 0)) return UINT64_MAX;
  bool ok = checked_mul((uint64_t)s->to - 1, step, &n) && checked_add(n, c->row_elems, &n) &&
            checked_add(n, s->offset ? s->k : 0, &n) &&
            checked_mul(n, (uint64_t)elem_info[c->type].size, &n);
  return ok ? n : UINT64_MAX;
}

/* An input that is the same in each step has one row: what is behind it would never be read. The
   end of a text's last line may be there. */
static bool is_all_read(const Column *c, const Suffixes *s, Err *e) {
  uint64_t spare = c->type == ELEM_U8;
  if (!c->fixed || c->extents || s->offset || s->step || s->range) return true;
  if (c->total <= c->row_elems || c->total - c->row_elems <= spare) return true;
  char need[256];
  column_shapes_text(c, need, sizeof need);
  err_set(e, EXIT_WRONG, "%s: holds %" PRIu64 " elements, but the input %s is %s", c->text,
          c->total, c->t->name, need);
  return err_hint(e, "it takes %" PRIu64 "; those from element k on, and no more, are %s+k",
                  c->row_elems, c->text);
}

bool column_take_windows(Column *c, const Suffixes *s, Err *e) {
  c->offset = s->offset ? s->k : 0;
  c->all_rows = 0;
  if (c->extents) { /* the only row is all that there is; others are windows */
    bool one = c->fixed || c->t->dims[0] == 1;
    uint64_t rest = c->total > c->offset ? c->total - c->offset : 0;
    if (one && !column_settle_count(c, c->extents, rest, e)) return false;
    column_at_bounds(c, c->extents);
  }
  c->step = s->step ? s->s : c->row_elems;
  if (c->total >= c->offset && c->total - c->offset >= c->row_elems)
    c->all_rows = (c->total - c->offset - c->row_elems) / c->step + 1;
  if (c->fixed && c->all_rows) c->all_rows = 1;
  return is_all_read(c, s, e);
}

static bool open_flat(Column *c, const Suffixes *s, const uint8_t *head, uint64_t got, Err *e) {
  Elem own = (Elem)c->t->dtype;
  c->flat = true;
  bool text = is_text(head, got);
  c->type = s->type ? s->elem : text ? ELEM_U8 : own;
  if (!s->type && text && elem_info[own].cls == ELEM_FLOATS) {
    err_set(e, EXIT_WRONG, "%s: is text, but the input %s needs %s", c->text, c->t->name,
            elem_info[own].name);
    return err_hint(e, "give an .npy or a .csv file; or, if its bytes are meant, %s:u8", c->text);
  }
  c->bytes = !s->type && text && elem_info[own].size > 1;
  c->is_text = !s->type && text;
  if (!s->type && !text && !is_decoded(c, head, got, e)) return false;
  if (!source_measure(&c->source, asked_of(c, s), e)) return false;
  uint64_t size = (uint64_t)elem_info[c->type].size;
  if (c->source.size % size) {
    err_set(e, EXIT_WRONG, "%s: has %" PRIu64 " bytes, which is no whole number of %s elements",
            c->text, c->source.size, elem_info[c->type].name);
    return err_hint(e, "the file is cut short, or holds another type: say which with %s:TYPE",
                    c->text);
  }
  c->total = c->source.size / size;
  return column_take_windows(c, s, e);
}

static bool misfit(const Column *c, const Array *a, Err *e) {
  char found[256], need[256];
  dims_text(a->type, a->rank, a->dims, found, sizeof found);
  column_shapes_text(c, need, sizeof need);
  err_set(e, EXIT_WRONG, "%s: holds %s, but the input %s is %s", c->text, found, c->t->name, need);
  if (column_uneven(c, a->rank, a->dims, e)) return false;
  if (c->fixed) return err_hint(e, "give a file of that shape");
  if (c->extents && a->rank == 1 && c->t->dims[0] != 1) /* no axis says how many rows there are */
    return err_hint(e, "give an array of %d axes, rows first; of one row the first axis is 1",
                    c->t->rank);
  return err_hint(e,
                  "the elements of a row (all axes but the first) must be as many as the input's");
}

/* sequence: an array of one axis may be taken in windows. */
static bool open_array(Column *c, const Suffixes *s, const Array *a, bool sequence, Err *e) {
  uint64_t bytes = a->count * (uint64_t)elem_info[a->type].size, all;
  bool windows = sequence && (s->offset || s->step) && a->rank == 1;
  if (s->type || ((s->offset || s->step) && !windows)) {
    err_set(e, EXIT_WRONG, "%s: has rows of its own; +k, ~s and :type are for flat files", c->text);
    if (sequence && !s->type && c->t->rank > 1)
      return err_hint(e,
                      "choose rows with %s[a:b]; windows are taken of an array of one axis, as "
                      "numpy.ravel makes it: ~%" PRIu64 " is then a row of this one",
                      c->text, a->rank > 1 ? a->count / (a->dims[0] ? a->dims[0] : 1) : 1);
    return err_hint(e, "choose rows with %s[a:b]", c->text);
  }
  if (!checked_add(a->header, bytes, &all)) all = UINT64_MAX;
  uint64_t have = c->source.size;
  if (c->source.kind == SOURCE_GZIP) { /* deflate packs 1032 bytes into one at best */
    have = all / 1032 > c->source.packed ? c->source.packed : all;
    if (have == all) c->source.size = all; /* checked when it is read */
  }
  if (have != all) {
    err_set(e, EXIT_WRONG, "%s: its header means %" PRIu64 " bytes, but %s %" PRIu64, c->text, all,
            c->source.kind == SOURCE_GZIP ? "packed it has only" : "there are", have);
    return err_hint(e, "the file is damaged or cut short; fetch or write it again");
  }
  c->type = a->type, c->big = a->big, c->header = a->header, c->total = a->count;
  c->flat = windows;
  if (windows) return column_take_windows(c, s, e);
  if (c->fixed) { /* the whole file, as the input is */
    uint64_t dims[RUN_RANK];
    if (!column_axes(c, a->rank, a->dims, dims)) return misfit(c, a, e);
    if (c->extents && !column_settle_dims(c, c->extents, c->t->rank, dims, e)) return false;
    if (a->count != tensor_count(c->t)) return misfit(c, a, e);
    c->step = c->row_elems = a->count;
    c->all_rows = 1;
    return true;
  }
  /* the elements of one row, as of text */
  bool bare = c->extents && a->rank == 1 && c->t->rank > 1;
  if (bare && c->t->dims[0] != 1) return misfit(c, a, e);
  if (c->extents) {
    uint64_t rows = bare || !a->rank || !a->dims[0] ? 1 : a->dims[0];
    bool same = a->rank == c->t->rank;
    if (same ? !column_settle_dims(c, c->extents, a->rank, a->dims, e)
             : !column_settle_count(c, c->extents, a->count / rows, e))
      return false;
  }
  c->all_rows = a->rank && !bare ? a->dims[0] : 1;
  if (c->all_rows && a->count / c->all_rows != c->row_elems) return misfit(c, a, e);
  c->step = c->row_elems;
  return true;
}

/* Flat elements may begin as IDX does, with two bytes of 0; where a type says that they are flat,
   the sizes must agree as well. */
static bool means_idx(const Column *c, const Suffixes *s, const uint8_t *head, uint64_t got) {
  Array a;
  Err none = {0};
  uint64_t all;
  if (!idx_is(head, got) || !s->type || c->source.kind != SOURCE_PLAIN) return idx_is(head, got);
  return idx_parse(head, got, &a, c->text, &none) &&
         checked_add(a.header, a.count * (uint64_t)elem_info[a.type].size, &all) &&
         all == c->source.size;
}

/* Whether a file of so many bytes that begins like this holds weights. */
static bool is_safetensors(const uint8_t *head, uint64_t n, uint64_t bytes) {
  uint64_t header = 0;
  for (int i = 0; n > 9 && i < 8; i++) header |= (uint64_t)head[i] << 8 * i;
  return header >= 2 && header <= SAFETENSORS_HEADER && header <= bytes - 8 && head[8] == '{' &&
         (head[9] == '"' || head[9] == '}' || head[9] == ' ' || head[9] == '\n');
}

static bool is_image(const uint8_t *head, uint64_t n) {
  return (n >= 8 && memcmp(head, "\x89PNG\r\n\x1a\n", 8) == 0) ||
         (n >= 3 && memcmp(head, "\xff\xd8\xff", 3) == 0);
}

static bool open_images(Column *c, const Suffixes *s, Err *e) {
  if (!s->offset && !s->step && !s->type) return images_open(c, e);
  err_set(e, EXIT_WRONG, "%s: holds images; +k, ~s and :type are for flat files", c->text);
  return err_hint(e, "choose rows with %s[a:b]", c->text);
}

/* Text of numbers alone, whose bytes cannot be what an input of floats takes. */
static bool is_table(const Column *c, const uint8_t *head, uint64_t n) {
  size_t length = strlen(c->text);
  bool text = length > 4 && strcasecmp(c->text + length - 4, ".txt") == 0;
  for (uint64_t i = 0; text && i < n; i++)
    text = head[i] && strchr("0123456789+-.eE,;\t\r\n ", head[i]);
  return text && elem_info[c->t->dtype].cls == ELEM_FLOATS;
}

static bool open_content(Column *c, const Suffixes *s, uint8_t *head, char *columns, Err *e) {
  if (images_are(c->text)) return open_images(c, s, e);
  if (!suffix_is_known(c->text, e) || !file_open(&c->file, c->text, e)) return false;
  c->source = (Source){.file = &c->file, .packed = c->file.size, .size = c->file.size};
  if (c->file.size == 0) {
    err_set(e, EXIT_WRONG, "%s: is empty", c->text);
    return err_hint(e, "fetch or write it again");
  }
  uint64_t got;
  if (!source_head(&c->source, head, SOURCE_HEAD, &got, e)) return false;
  if (!s->type && is_image(head, got)) {
    file_close(&c->file);
    return open_images(c, s, e);
  }
  const bool windows = s->offset || s->step;
  if (!s->type && (columns || csv_is(c->text) || (!windows && is_table(c, head, got)))) {
    bool packed = got > 2 && head[0] == 0x1F && head[1] == 0x8B;
    if (packed) c->source.kind = SOURCE_GZIP, c->source.size = SOURCE_UNKNOWN;
    return csv_open(c, s, columns, e);
  }
  if (is_safetensors(head, got, c->file.size)) {
    err_set(e, EXIT_WRONG, "%s: holds weights (safetensors), not rows of an input", c->text);
    return err_hint(e, "--load reads weights; give rows as an .npy file");
  }
  bool archive = npz_is(head, got);
  if (archive) {
    if (!npz_find(&c->file, c->t->name, c->member, &c->source, e)) return false;
  } else if (got > 2 && head[0] == 0x1F && head[1] == 0x8B &&
             (!s->type || ends_with(c->text, ".gz"))) {
    c->source.kind = SOURCE_GZIP;
    c->source.size = SOURCE_UNKNOWN;
  }
  if (c->source.kind != SOURCE_PLAIN || archive) {
    if (!source_head(&c->source, head, SOURCE_HEAD, &got, e)) return false;
  }
  Array a;
  if (npy_is(head, got))
    return npy_parse(head, got, &a, c->text, e) && open_array(c, s, &a, true, e);
  if (archive) {
    err_set(e, EXIT_WRONG, "%s: its member %s is not an .npy array", c->text, c->member);
    return err_hint(e, "write it again with numpy.savez");
  }
  if (means_idx(c, s, head, got))
    return idx_parse(head, got, &a, c->text, e) && open_array(c, s, &a, false, e);
  if (c->source.kind == SOURCE_PLAIN && !name_agrees(c, head, got, e)) return false;
  return open_flat(c, s, head, got, e);
}

bool column_open_file(Column *c, const Suffixes *s, char *columns, Err *e) {
  uint8_t *head = malloc(SOURCE_HEAD);
  c->member = malloc(SOURCE_HEAD);
  bool ok = head && c->member ? open_content(c, s, head, columns, e)
                              : err_set(e, EXIT_ENV, "no memory to read %s", c->text);
  free(head);
  return ok;
}

static bool choose_rows(Column *c, const Suffixes *s, Err *e) {
  if (!suffix_rows(s, c->all_rows, c->text, &c->first, &c->rows, e)) return false;
  if (c->rows == 0) {
    err_set(e, EXIT_WRONG, "%s: has no rows for the %s %s", c->text, column_side(c), c->t->name);
    char need[256];
    column_shapes_text(c, need, sizeof need);
    return err_hint(e, "the %s is %s: a row has %" PRIu64 " elements, and the file has %" PRIu64,
                    column_side(c), need, c->row_elems, c->total);
  }
  return true;
}

static bool number_given(Column *c, const char *text) {
  char *end;
  errno = 0;
  c->number = strtod(text, &end);
  return end != text && *end == 0 && errno == 0 && access(text, F_OK) != 0;
}

/* The digits as they stand, which a double would round; or a double that is whole. */
static bool whole_given(Column *c, const char *text) {
  char *end;
  errno = 0;
  c->whole = strtoll(text, &end, 10);
  if (*end == 0 && errno == 0) return true;
  /* other forms, such as 1e3: beyond 2^53 a double may have lost the last digit */
  if (!(fabs(c->number) < 0x1p53) || c->number != trunc(c->number)) return false;
  c->whole = (int64_t)c->number;
  return true;
}

bool column_is_fixed(const GcTensor *t, uint64_t batch, const FileExtents *x) {
  if (x && t->parts && t->parts[0].rows) return true;
  if (x && t->extents && t->extents[0] && (int)t->extents[0] - 1 != x->batch) return true;
  if (x && x->batch >= 0) return !t->extents || (int)t->extents[0] - 1 != x->batch;
  return batch == 0 || (t->rank == 0 ? batch != 1 : (uint64_t)t->dims[0] != batch);
}

bool column_open(Column *c, const GcTensor *t, const char *text, uint64_t batch, FileExtents *x,
                 const DataRequest *q, Err *e) {
  *c = (Column){.t = t, .request = q, .leader = -1, .text = strdup(text), .file = {.fd = -1}};
  if (!c->text) return err_set(e, EXIT_ENV, "no memory to read %s", text);
  c->entry = x ? x->entry : NULL;
  c->fixed = column_is_fixed(t, batch, x);
  if (column_has_extents(x, t)) c->extents = x;
  if (c->extents && t->rank > RUN_RANK) {
    err_set(e, EXIT_WRONG, "the input %s has %d axes, of which runs have other numbers of elements",
            t->name, t->rank);
    return err_hint(e, "declare it with %d axes at most; reshape divides them in the entry",
                    RUN_RANK);
  }
  c->row_elems = c->fixed ? tensor_count(t) : tensor_row_elems(t);
  c->piece = c->row_elems;
  c->even = 1;
  c->is_number = number_given(c, text);
  if (c->is_number && t->rank > 0) {
    char type[200];
    column_shapes_text(c, type, sizeof type);
    err_set(e, EXIT_USAGE, "--%s %s: there is no such file, and the input is %s", t->name, text,
            type);
    return err_hint(e, "a number goes to an input without axes; one with axes takes a file");
  }
  if (c->is_number) {
    c->fixed = true;
    c->rows = c->all_rows = 1;
    if (elem_info[t->dtype].cls == ELEM_FLOATS) return true;
    uint64_t bad;
    if (whole_given(c, text) && elem_check((Elem)t->dtype, &c->whole, ELEM_I64, 1, &bad))
      return true;
    err_set(e, EXIT_USAGE, "the input %s cannot be %s", t->name, text);
    return err_hint(e, "its type is %s", elem_info[t->dtype].name);
  }
  Suffixes s;
  char *columns;
  suffixes_cut(c->text, &s, &columns);
  if (parts_are(c->text) ? !parts_open(c, &s, columns, e) : !column_open_file(c, &s, columns, e))
    return false;
  if (!elem_converts(c->type, (Elem)t->dtype)) {
    err_set(e, EXIT_WRONG, "%s: holds %s, but the input %s is %s", c->text, elem_info[c->type].name,
            t->name, elem_info[t->dtype].name);
    return err_hint(e,
                    "real numbers are not rounded to whole ones: convert the file, for example "
                    "with .astype('%s')",
                    t->dtype == GC_BOOL ? "bool" : "int32");
  }
  if (!choose_rows(c, &s, e)) return false;
  if (c->kept) c->kept = c->rows;
  return true;
}
