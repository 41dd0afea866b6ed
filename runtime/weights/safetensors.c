/* Reads the header of a safetensors file: 8 bytes of length, JSON, then the data without a hole.
   Contract: see safetensors.h; the header may have 16 MB; tables are at most as large as the header
   makes them. Format: https://huggingface.co/docs/safetensors (the format section), strict where it
   is silent. */
#include "runtime/weights/safetensors.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_ENTRY = 40, LEAST_META = 5 }; /* bytes of text that any of them takes */

/* A file begins with the length of its header: 8 bytes, the lowest first. */
static bool has_length(const uint8_t *p, uint64_t n) {
  uint64_t length = 0;
  for (int i = 7; n >= 8 && i >= 0; i--) length = length << 8 | p[i];
  return length >= 2 && length <= SAFETENSORS_HEADER;
}

bool safe_is(const uint8_t *p, uint64_t n) { return n > 8 && has_length(p, n) && p[8] == '{'; }

/* How files of weights of other libraries begin. With the bytes behind, each is too much for the
   length of a header. */
static const struct {
  const char *magic, *what;
} others[] = {{"PK\3\4", "a zip archive, as torch.save and numpy.savez write"},
              {"\x80\2", "a pickle, as old versions of torch.save write"},
              {"\x89HDF", "an HDF5 file, as Keras writes"},
              {"GGUF", "a GGUF file"},
              {"\x7f"
               "ELF",
               "a program or a library"},
              {"\x93NUMPY", "a .npy file"}};

static const char *format_of(const uint8_t *head, uint64_t n) {
  uint64_t text = 0;
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (strncmp((const char *)head, others[i].magic, strlen(others[i].magic)) == 0)
      return others[i].what;
  while (text < n &&
         (head[text] >= ' ' ? head[text] < 127 : memchr("\t\n\r", head[text], 3) != NULL))
    text++;
  return n && text == n ? "a text file" : NULL;
}

/* If the format of the file is a known one, an error that names it. */
static void other_format(const File *f, Err *e) {
  uint8_t head[9] = {0};
  uint64_t n = f->size < 8 ? f->size : 8;
  if (!file_read(f, 0, head, n, e) || has_length(head, f->size)) return;
  const size_t end = strlen(f->path);
  const bool onnx = end > 5 && strcmp(f->path + end - 5, ".onnx") == 0;
  const char *what = onnx ? "a model of ONNX" : format_of(head, n);
  if (!what) return;
  err_set(e, EXIT_WRONG, "%s: is %s; weights are read from safetensors", f->path, what);
  if (onnx) {
    err_hint(e,
             "its weights are in the program that gc makes of it: gc %s; with --emit=g they are "
             "beside the text, as safetensors",
             f->path);
    return;
  }
  err_hint(e, "in Python: safetensors.torch.save_file({name: tensor, …}, 'weights.safetensors'), "
              "with the names and shapes that info lists");
}

static bool wrong(const File *f, Err *e, const char *what) {
  other_format(f, e);
  if (e->code) return false;
  err_set(e, EXIT_WRONG, "%s: %s", f->path, what);
  return err_hint(e, "the file is cut short, damaged or no safetensors file; save it again");
}

bool text_is(JsonText t, const char *s) { return strlen(s) == t.n && memcmp(t.s, s, t.n) == 0; }

static int compare(JsonText a, const char *s, uint64_t n) {
  int c = memcmp(a.s, s, a.n < n ? a.n : n);
  return c ? c : a.n < n ? -1 : a.n > n;
}

static int by_name(const void *a, const void *b) {
  const SafeEntry *x = a, *y = b;
  return compare(x->name, y->name.s, y->name.n);
}

static int by_place(const void *a, const void *b) {
  const SafeEntry *x = a, *y = b;
  if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
  return x->end < y->end ? -1 : x->end > y->end;
}

static int by_key(const void *a, const void *b) {
  const SafeMeta *x = a, *y = b;
  return compare(x->key, y->key.s, y->key.n);
}

static bool read_type(Json *j, SafeEntry *x, uint64_t *size) {
  static const char *const bytes[] = {"F8_E4M3",
                                      "F8_E5M2"}; /* known to the format, not to programs */
  JsonText t;
  if (!json_string(j, &t)) return false;
  for (int i = 0; i < ELEM_COUNT; i++)
    if (text_is(t, elem_info[i].safetensors)) {
      x->type = (Elem)i;
      *size = (uint64_t)elem_info[i].size;
      return true;
    }
  x->type = ELEM_COUNT;
  *size = 1;
  for (unsigned i = 0; i < 2; i++)
    if (text_is(t, bytes[i])) return true;
  return json_fail(j, "an unknown dtype");
}

static bool read_entry(Json *j, SafeEntry *x) {
  int seen = 0; /* 1 dtype, 2 shape, 4 data_offsets */
  uint64_t size = 0, range[2];
  if (!json_expect(j, '{')) return false;
  do {
    JsonText key;
    if (!json_string(j, &key)) return false;
    int bit = text_is(key, "dtype")          ? 1
              : text_is(key, "shape")        ? 2
              : text_is(key, "data_offsets") ? 4
                                             : 0;
    if (!bit || seen & bit) return json_fail(j, "a key of a tensor is unknown or repeated");
    seen |= bit;
    if (!json_expect(j, ':')) return false;
    int n = 2;
    if (bit == 1 && !read_type(j, x, &size)) return false;
    if (bit == 2 && !json_sizes(j, x->dims, SAFE_RANK, &x->rank)) return false;
    if (bit == 4 && !json_sizes(j, range, 2, &n)) return false;
    if (n != 2) return json_fail(j, "data_offsets are two numbers");
  } while (json_take(j, ','));
  if (!json_expect(j, '}')) return false;
  if (seen != 7) return json_fail(j, "dtype, shape or data_offsets is missing");
  x->begin = range[0], x->end = range[1];
  for (int i = 0; i < x->rank; i++)
    if (!checked_mul(size, x->dims[i], &size)) return json_fail(j, "a shape beyond 64 bits");
  if (x->begin > x->end || x->end - x->begin != size)
    return json_fail(j, "data_offsets disagree with dtype and shape");
  return true;
}

static bool read_meta(Json *j, SafeTable *t, uint64_t size) {
  if (!json_expect(j, '{')) return false;
  if (json_take(j, '}')) return true;
  t->meta = calloc(size / LEAST_META + 1, sizeof *t->meta);
  if (!t->meta) return err_set(j->e, EXIT_ENV, "%s: no memory to read its header", j->path);
  do {
    SafeMeta *m = &t->meta[t->nmeta];
    if (!json_string(j, &m->key) || !json_expect(j, ':') || !json_string(j, &m->value))
      return false;
    t->nmeta++;
  } while (json_take(j, ','));
  qsort(t->meta, t->nmeta, sizeof *t->meta, by_key);
  for (uint64_t i = 1; i < t->nmeta; i++)
    if (by_key(&t->meta[i - 1], &t->meta[i]) == 0)
      return json_fail(j, "a key of __metadata__ is repeated");
  return json_expect(j, '}');
}

/* Length of the piece of metadata, so that its table is no larger than it can need: up to the
 * closing brace. */
static uint64_t object_room(const Json *j) {
  const char *p = j->p;
  bool quoted = false;
  for (; p < j->end && (quoted || *p != '}'); p++) {
    if (quoted && *p == '\\')
      p++;
    else if (*p == '"')
      quoted = !quoted;
  }
  return (uint64_t)(p - j->p < j->end - j->p ? p - j->p : j->end - j->p);
}

static bool read_header(SafeTable *t, Json *j, uint64_t bytes) {
  bool meta = false;
  t->entries = calloc(bytes / LEAST_ENTRY + 1, sizeof *t->entries);
  if (!t->entries) return err_set(j->e, EXIT_ENV, "%s: no memory to read its header", j->path);
  if (!json_expect(j, '{')) return false;
  if (json_take(j, '}')) return json_end(j);
  do {
    JsonText name;
    if (!json_string(j, &name) || !json_expect(j, ':')) return false;
    if (text_is(name, "__metadata__")) {
      if (meta) return json_fail(j, "__metadata__ is repeated");
      meta = true;
      if (!read_meta(j, t, object_room(j))) return false;
      continue;
    }
    if (name.n == 0) return json_fail(j, "a tensor without a name");
    t->entries[t->n] = (SafeEntry){.name = name};
    if (!read_entry(j, &t->entries[t->n])) return false;
    t->n++;
  } while (json_take(j, ','));
  return json_expect(j, '}') && json_end(j);
}

static bool covered(SafeTable *t, const File *f, Err *e) {
  qsort(t->entries, t->n, sizeof *t->entries, by_place);
  uint64_t at = 0, bytes = f->size - t->data;
  for (uint64_t i = 0; i < t->n; i++) {
    if (t->entries[i].begin != at)
      return wrong(
          f, e, t->entries[i].begin < at ? "tensors overlap" : "there is a hole between tensors");
    at = t->entries[i].end;
  }
  if (at != bytes) {
    err_set(e, EXIT_WRONG, "%s: the header means %" PRIu64 " bytes of data, but there are %" PRIu64,
            f->path, at, bytes);
    return err_hint(e, at > bytes ? "the file is cut short; save or fetch it again"
                                  : "something is appended to the file; save it again");
  }
  qsort(t->entries, t->n, sizeof *t->entries, by_name);
  for (uint64_t i = 1; i < t->n; i++)
    if (by_name(&t->entries[i - 1], &t->entries[i]) == 0) {
      err_set(e, EXIT_WRONG, "%s: the tensor %.*s is there twice", f->path,
              (int)(t->entries[i].name.n < 200 ? t->entries[i].name.n : 200), t->entries[i].name.s);
      return err_hint(e, "the file is damaged; save it again");
    }
  return true;
}

bool safe_open(SafeTable *t, const File *f, Err *e) {
  *t = (SafeTable){0};
  uint8_t b[8];
  if (f->size < 10) return wrong(f, e, "has too few bytes for a header");
  if (!file_read(f, 0, b, 8, e)) return false;
  uint64_t n = 0;
  for (int i = 7; i >= 0; i--) n = n << 8 | b[i];
  if (n > f->size - 8) return wrong(f, e, "its header reaches past its end");
  if (n > SAFETENSORS_HEADER) return wrong(f, e, "its header has more than 16 MB");
  if (n < 2) return wrong(f, e, "its header is empty");
  t->data = 8 + n;
  t->header = malloc(n);
  if (!t->header) return err_set(e, EXIT_ENV, "%s: no memory to read its header", f->path);
  bool ok = file_read(f, 8, t->header, n, e);
  Json j = {.p = t->header,
            .begin = t->header,
            .end = t->header + n,
            .path = f->path,
            .shift = 8,
            .e = e};
  if (ok && *t->header != '{') ok = json_fail(&j, "'{' was expected");
  ok = ok && read_header(t, &j, n) && covered(t, f, e);
  if (!ok) safe_free(t);
  return ok;
}

const SafeEntry *safe_find_text(const SafeTable *t, JsonText name) {
  uint64_t lo = 0, hi = t->n;
  while (lo < hi) {
    uint64_t mid = lo + (hi - lo) / 2;
    int c = compare(t->entries[mid].name, name.s, name.n);
    if (c == 0) return &t->entries[mid];
    if (c < 0)
      lo = mid + 1;
    else
      hi = mid;
  }
  return NULL;
}

const SafeEntry *safe_find(const SafeTable *t, const char *name) {
  return safe_find_text(t, (JsonText){(char *)name, strlen(name)});
}

const SafeMeta *safe_meta(const SafeTable *t, const char *key) {
  for (uint64_t i = 0; i < t->nmeta; i++)
    if (text_is(t->meta[i].key, key)) return &t->meta[i];
  return NULL;
}

void safe_free(SafeTable *t) {
  free(t->header);
  free(t->entries);
  free(t->meta);
  *t = (SafeTable){0};
}
