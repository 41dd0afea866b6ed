/* --weights: a file of safetensors beside the program that is to hold it.
   Contract: only the header is read, by the rules of runtime/weights/source.h: what gc did not
   write may have the names that `from` declares, and floats of another dtype. The runtime reads
   the data. */
#include "lang/driver/weights_file.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

static int wrong(const char *path, const char *what) {
  fprintf(stderr, "gc: error: --weights: %s %s\n", path, what);
  return EXIT_PROGRAM;
}

enum { WHY = 256 }; /* what is wrong with a header, as text */

/* It has no header of safetensors, or, for the reason why, one that is damaged. */
static int no_weights(const char *path, const char *why) {
  struct stat st;
  if (*why) {
    fprintf(stderr, "gc: error: --weights: %s has a damaged header: %s\n", path, why);
    fputs("hint: save it again; each tensor has one place in the header\n", stderr);
    return EXIT_PROGRAM;
  }
  const bool folder = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
  const int code = wrong(path, folder ? "is a folder" : "is no file of safetensors");
  if (folder)
    fputs("hint: name a file of safetensors in it\n", stderr);
  else
    fputs("hint: in Python: safetensors.torch.save_file({name: tensor, …}, "
          "'weights.safetensors'), with the names and shapes of the program's params\n",
          stderr);
  return code;
}

/* The header as JSON; NULL where there is none, with the reason if it begins as one. */
static json_t *read_header(FILE *f, char why[WHY]) {
  enum { MOST = 16 << 20 };
  uint64_t n;
  *why = 0;
  if (fread(&n, sizeof n, 1, f) != 1 || n > MOST) return NULL;
  char *text = malloc(n + 1);
  json_error_t error = {0};
  json_t *header = NULL;
  if (text && fread(text, 1, n, f) == n) {
    header = json_loadb(text, n, JSON_REJECT_DUPLICATES, &error);
    if (!header && *text == '{') snprintf(why, WHY, "byte %d: %s", error.position, error.text);
  }
  free(text);
  if (json_is_object(header)) return header;
  json_decref(header);
  return NULL;
}

bool weights_are_published(const json_t *header) {
  const char *format =
      json_string_value(json_object_get(json_object_get(header, "__metadata__"), "format"));
  return !format || strcmp(format, "gc") != 0;
}

static const char *safe_dtype(Dtype dt) {
  static const char *const names[DTYPES] = {"BOOL", "U8",   "I8",  "I32", "I64",
                                            "F16",  "BF16", "F32", "F64"};
  return names[dt];
}

/* DTYPES: it is none of gc's. */
static Dtype dtype_named(const char *name) {
  int d = 0;
  while (d < DTYPES && strcmp(name, safe_dtype((Dtype)d)) != 0) d++;
  return (Dtype)d;
}

static bool is_float_name(const char *dtype) {
  Dtype d = dtype_named(dtype);
  return d < DTYPES && dtype_is_float(d);
}

/* converts: floats of another dtype become the type's. */
static bool is_type(const json_t *x, const Type *t, bool converts, bool transposed) {
  const char *dtype = json_string_value(json_object_get(x, "dtype"));
  const json_t *shape = json_object_get(x, "shape");
  bool same = dtype &&
              (strcmp(dtype, safe_dtype(t->dtype)) == 0 ||
               (converts && dtype_is_float(t->dtype) && is_float_name(dtype))) &&
              json_array_size(shape) == (size_t)t->rank;
  for (int i = 0; same && i < t->rank; i++) {
    const json_t *d = json_array_get(shape, (size_t)i);
    same = json_is_integer(d) && json_integer_value(d) == t->dim[transposed ? t->rank - 1 - i : i];
  }
  return same;
}

/* Of the file's first to last tensor there are as many bytes as the header says. */
static bool is_whole(const json_t *header, uint64_t bytes) {
  const char *name;
  json_t *x;
  json_int_t end = 0;
  json_object_foreach((json_t *)header, name, x) {
    json_int_t to = json_integer_value(json_array_get(json_object_get(x, "data_offsets"), 1));
    if (to > end) end = to;
  }
  return bytes == (uint64_t)end;
}

const char *weights_name(const Global *g, const json_t *header, bool published) {
  if (g->transient) return NULL;
  const char *origin = published ? g->origin.name : NULL;
  if (origin && json_object_get(header, origin)) return origin;
  if (origin && g->origin.other && json_object_get(header, g->origin.other)) return g->origin.other;
  return json_object_get(header, g->path) ? g->path : NULL;
}

/* By the name that a file has of it. */
static bool is_transposed(const Global *g, const char *name) {
  const GlobalOrigin *o = &g->origin;
  return o->transposed && (name == o->name || name == o->other);
}

/* Scales of what a param is multiplied by are, too: programs read them that quantize by them. */
static bool is_known(const Module *m, const char *name) {
  for (uint32_t i = 0; i < m->globals.n; i++) {
    const Global *g = &m->globals.at[i];
    const char *names[] = {g->path, g->origin.name, g->origin.other};
    for (int k = 0; k < 3; k++)
      if (names[k] && strcmp(names[k], name) == 0) return true;
    if (g->kind == GLOBAL_PARAM && strcmp(passes_input_scale(m->ctx, g->path), name) == 0)
      return true;
  }
  return false;
}

/* Tensors that the program does not have are an error, but in published weights of a program that
   has names for them. */
static int compare_rest(const Module *m, json_t *header, const char *path, bool published) {
  const char *name;
  json_t *x;
  bool named = false;
  unsigned unread = 0;
  for (uint32_t i = 0; i < m->globals.n; i++) named |= m->globals.at[i].origin.name != NULL;
  json_object_foreach(header, name, x) {
    if (strcmp(name, "__metadata__") == 0 || is_known(m, name)) continue;
    if (!published || !named)
      return wrong(path,
                   intern_printf(m->ctx, "has a tensor %s, which the program does not have", name));
    unread++;
  }
  if (unread)
    fprintf(stderr, "gc: note: %s: tensors that the program does not have, not read: %u\n", path,
            unread);
  return EXIT_DONE;
}

static int compare(const Module *m, json_t *header, const char *path) {
  const char *first = NULL;
  bool published = weights_are_published(header);
  uint32_t params = 0, missing = 0;
  for (uint32_t i = 0; i < m->globals.n; i++) {
    const Global *g = &m->globals.at[i];
    if (g->kind == GLOBAL_HYPER) continue;
    const char *name = weights_name(g, header, published);
    bool transposed = is_transposed(g, name);
    bool converts = published || g->kind == GLOBAL_STATE; /* which --precision may have narrowed */
    if (name && !is_type(json_object_get(header, name), g->type, converts, transposed))
      return wrong(path, intern_printf(m->ctx, "has another type or shape of %s, which is %s%s",
                                       name, type_text(m->ctx, g->type),
                                       transposed ? ", read transposed" : ""));
    if (g->kind != GLOBAL_PARAM) continue;
    params++;
    if (!name && !missing++) first = g->path;
  }
  int code = compare_rest(m, header, path, published);
  if (!code && missing)
    fprintf(stderr, "gc: note: %s has %u of %u params; %s%s keep%s their initial values\n", path,
            params - missing, params, first, missing > 1 ? " and others" : "",
            missing > 1 ? "" : "s");
  return code;
}

int weights_check(const Module *m, const char *path) {
  struct stat st;
  FILE *f = fopen(path, "rb");
  if (!f) return usage_error("--weights: cannot read %s: %s", path, strerror(errno));
  char why[WHY];
  json_t *header = read_header(f, why);
  uint64_t at = (uint64_t)ftello(f), size = fstat(fileno(f), &st) == 0 ? (uint64_t)st.st_size : at;
  fclose(f);
  int code = !header                        ? no_weights(path, why)
             : !is_whole(header, size - at) ? wrong(path, "is cut short, or damaged")
                                            : compare(m, header, path);
  json_decref(header);
  return code;
}

/* ---- the data ---- */

WeightsFile *weights_open(const char *path, int *code) {
  WeightsFile *w = calloc(1, sizeof *w);
  if (!w) out_of_memory();
  *w = (WeightsFile){.path = path, .f = fopen(path, "rb")};
  char why[WHY] = "";
  w->header = w->f ? read_header(w->f, why) : NULL;
  if (w->header) {
    w->data = (uint64_t)ftello(w->f);
    return w;
  }
  *code = no_weights(path, why);
  weights_close(w);
  return NULL;
}

void weights_close(WeightsFile *w) {
  if (!w) return;
  json_decref(w->header);
  if (w->f) fclose(w->f);
  free(w);
}

int weights_check_scales(const Module *m, const char *path) {
  int code = EXIT_DONE;
  WeightsFile *w = weights_open(path, &code);
  for (uint32_t i = 0; w && !code && i < m->globals.n; i++) {
    const Global *g = &m->globals.at[i];
    if (g->kind == GLOBAL_PARAM && passes_is_input_scale(m, g) &&
        !weights_name(g, w->header, false))
      code = wrong(path, intern_printf(m->ctx,
                                       "has no tensor %s: a program of "
                                       "--weights=w8a8,calibrate writes it with --save",
                                       g->path));
  }
  weights_close(w);
  return code;
}

static unsigned places(const WeightsFile *w, Module *m) {
  enum { ALIGN = 64 }; /* of a global */
  const unsigned before = (unsigned)(-w->data % ALIGN);
  const bool published = weights_are_published(w->header);
  for (uint32_t i = 0; i < m->globals.n; i++) {
    Global *g = &m->globals.at[i];
    const char *name = g->kind == GLOBAL_HYPER ? NULL : weights_name(g, w->header, published);
    const json_t *x = name ? json_object_get(w->header, name) : NULL;
    const bool transposed = is_transposed(g, name);
    json_int_t at = json_integer_value(json_array_get(json_object_get(x, "data_offsets"), 0));
    if (x && at >= 0 && !transposed && is_type(x, g->type, false, false))
      g->weights_at = before + w->data + (uint64_t)at;
  }
  return before;
}

void weights_place(const char *path, Module *m, unsigned *before, int *code) {
  WeightsFile *w = weights_open(path, code);
  if (w) *before = places(w, m);
  weights_close(w);
}

bool weights_read(void *file, const Global *g, OnnxTensor *out) {
  const WeightsFile *w = file;
  const char *name = weights_name(g, w->header, weights_are_published(w->header));
  if (!name) return true;
  const json_t *x = json_object_get(w->header, name), *at = json_object_get(x, "data_offsets");
  out->dtype = dtype_named(json_string_value(json_object_get(x, "dtype")));
  out->transposed = is_transposed(g, name);
  uint64_t n = (uint64_t)g->type->numel * (uint64_t)dtype_size(out->dtype);
  json_int_t from = json_integer_value(json_array_get(at, 0));
  bool whole = from >= 0 && (uint64_t)(json_integer_value(json_array_get(at, 1)) - from) == n;
  out->bytes = malloc(n + 1);
  if (!out->bytes) out_of_memory();
  whole = whole && fseeko(w->f, (off_t)(w->data + (uint64_t)from), SEEK_SET) == 0 &&
          fread(out->bytes, 1, n, w->f) == n;
  return whole || (wrong(w->path, "is cut short, or damaged"), false);
}

float *weights_floats(void *file, const Global *g) {
  OnnxTensor x = {0};
  if (!weights_read(file, g, &x) || !x.bytes) return NULL;
  uint8_t *out = malloc(g->type->bytes + 1);
  if (!out) out_of_memory();
  onnx_elements(g->type, &x, out);
  free(x.bytes);
  return (float *)out;
}
