/* --weights: a file of safetensors beside the program that is to hold it.
   Contract: only the header is read; the runtime reads the data, as strictly as --load does. */
#include "lang/driver/command.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

static int wrong(const char *path, const char *what) {
  fprintf(stderr, "gc: error: --weights: %s %s\n", path, what);
  return EXIT_PROGRAM;
}

/* The header as JSON; NULL where there is none. */
static json_t *read_header(FILE *f) {
  enum { MOST = 16 << 20 };
  uint64_t n;
  if (fread(&n, sizeof n, 1, f) != 1 || n > MOST) return NULL;
  char *text = malloc(n + 1);
  json_t *header =
      text && fread(text, 1, n, f) == n ? json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL) : NULL;
  free(text);
  if (json_is_object(header)) return header;
  json_decref(header);
  return NULL;
}

static const char *safe_dtype(Dtype dt) {
  static const char *const names[DTYPES] = {"BOOL", "U8",   "I32", "I64",
                                            "F16",  "BF16", "F32", "F64"};
  return names[dt];
}

static bool is_type(const json_t *x, const Type *t) {
  const char *dtype = json_string_value(json_object_get(x, "dtype"));
  const json_t *shape = json_object_get(x, "shape");
  bool same = dtype && strcmp(dtype, safe_dtype(t->dtype)) == 0 &&
              json_array_size(shape) == (size_t)t->rank;
  for (int i = 0; same && i < t->rank; i++) {
    const json_t *d = json_array_get(shape, (size_t)i);
    same = json_is_integer(d) && json_integer_value(d) == t->dim[i];
  }
  return same;
}

static int compare(const Module *m, json_t *header, const char *path) {
  const char *name, *first = NULL;
  json_t *x;
  uint32_t found = 0, params = 0, missing = 0;
  for (uint32_t i = 0; i < m->globals.n; i++) {
    const Global *g = &m->globals.at[i];
    if (g->kind == GLOBAL_HYPER) continue;
    x = json_object_get(header, g->path);
    if (x && !is_type(x, g->type))
      return wrong(path, intern_printf(m->ctx, "has another type or shape of %s, which is %s",
                                       g->path, type_str(m->ctx, g->type)));
    found += x != NULL;
    if (g->kind != GLOBAL_PARAM) continue;
    params++;
    if (!x && !missing++) first = g->path;
  }
  if (found < json_object_size(header) - (json_object_get(header, "__metadata__") != NULL))
    json_object_foreach(header, name, x) {
      bool known = strcmp(name, "__metadata__") == 0;
      for (uint32_t i = 0; i < m->globals.n && !known; i++)
        known = strcmp(m->globals.at[i].path, name) == 0;
      if (!known)
        return wrong(
            path, intern_printf(m->ctx, "has a tensor %s, which the program does not have", name));
    }
  if (missing)
    fprintf(stderr, "gc: note: %s has %u of %u params; %s%s keep%s their initial values\n", path,
            params - missing, params, first, missing > 1 ? " and others" : "",
            missing > 1 ? "" : "s");
  return EXIT_DONE;
}

int weights_check(const Module *m, const char *path) {
  FILE *f = fopen(path, "rb");
  if (!f) return usage_error("--weights: cannot read %s: %s", path, strerror(errno));
  json_t *header = read_header(f);
  fclose(f);
  int code = header ? compare(m, header, path) : wrong(path, "is no file of safetensors");
  json_decref(header);
  return code;
}
