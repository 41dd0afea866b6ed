/* Opens weights and finds tensors in them. Contract: see source.h. The folder's layout and the
   index are those of Hugging Face's hub: {"metadata": …, "weight_map": {NAME: FILE, …}}. */
#include "runtime/weights/source.h"
#include "runtime/weights/weights.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- parts ---- */

static bool no_memory(const WeightsSource *s, Err *e) {
  return err_set(e, EXIT_ENV, "%s: no memory to read the names of its tensors", s->path);
}

static WeightsPart *part_named(const WeightsSource *s, const char *path) {
  for (int i = 0; i < s->n; i++)
    if (strcmp(s->part[i].path, path) == 0) return &s->part[i];
  return NULL;
}

/* Takes the path. memory: the file is there, and nothing is opened; or NULL. */
static bool add_part(WeightsSource *s, char *path, const File *memory, Err *e) {
  WeightsPart *grown = path ? realloc(s->part, (size_t)(s->n + 1) * sizeof *grown) : NULL;
  if (!grown) return free(path), no_memory(s, e);
  s->part = grown;
  WeightsPart *p = &s->part[s->n];
  *p = (WeightsPart){.path = path};
  if (memory)
    p->file = *memory;
  else if (!file_open(&p->file, path, e))
    return free(path), false;
  p->file.path = p->path;
  if (!safe_open(&p->table, &p->file, e)) return file_close(&p->file), free(path), false;
  s->n++;
  const SafeMeta *format = safe_meta(&p->table, "format");
  s->published = s->published && !(format && text_is(format->value, "gc"));
  return true;
}

void weights_close(WeightsSource *s) {
  for (int i = 0; i < s->n; i++) {
    safe_free(&s->part[i].table);
    file_close(&s->part[i].file);
    free(s->part[i].path);
  }
  free(s->part);
  *s = (WeightsSource){0};
}

/* ---- a folder ---- */

static char *path_in(const char *folder, const char *name, uint64_t n) {
  size_t length = strlen(folder);
  char *path = malloc(length + n + 2);
  if (!path) return NULL;
  memcpy(path, folder, length);
  path[length] = '/';
  memcpy(path + length + 1, name, n);
  path[length + 1 + n] = 0;
  return path;
}

/* A file of the index, once. It lies in the folder: no path leads out of it. */
static bool add_listed(WeightsSource *s, Json *j, JsonText name, Err *e) {
  if (!name.n || memchr(name.s, '/', name.n) || memchr(name.s, 0, name.n))
    return json_fail(j, "a file of weight_map is no name in the folder");
  char *path = path_in(s->path, name.s, name.n);
  if (path && part_named(s, path)) return free(path), true;
  return add_part(s, path, NULL, e);
}

static bool read_map(WeightsSource *s, Json *j, Err *e) {
  if (!json_expect(j, '{')) return false;
  if (json_take(j, '}')) return true;
  do {
    JsonText tensor, file;
    if (!json_string(j, &tensor) || !json_expect(j, ':') || !json_string(j, &file) ||
        !add_listed(s, j, file, e))
      return false;
  } while (json_take(j, ','));
  return json_expect(j, '}');
}

static bool read_index(WeightsSource *s, Json *j, Err *e) {
  bool map = false;
  if (!json_expect(j, '{')) return false;
  do {
    JsonText key;
    if (!json_string(j, &key) || !json_expect(j, ':')) return false;
    bool wanted = text_is(key, "weight_map");
    if (wanted && map) return json_fail(j, "weight_map is repeated");
    map = map || wanted;
    if (!(wanted ? read_map(s, j, e) : json_skip(j))) return false;
  } while (json_take(j, ','));
  if (!json_expect(j, '}') || !json_end(j)) return false;
  return s->n ? true : json_fail(j, "weight_map lists no file");
}

static bool open_index(WeightsSource *s, char *path, Err *e) {
  File f;
  if (!file_open(&f, path, e)) return false;
  char *text = f.size <= SAFETENSORS_HEADER ? malloc(f.size + 1) : NULL;
  bool ok = text ? file_read(&f, 0, text, f.size, e)
                 : err_set(e, EXIT_WRONG, "%s: an index of more than 16 MB", path);
  Json j = {.p = text, .begin = text, .end = text + f.size, .path = path, .e = e, .what = "index"};
  if (ok) ok = read_index(s, &j, e);
  free(text);
  file_close(&f);
  return ok;
}

/* A tensor that two parts have is none: which is meant nobody knows. */
static bool are_apart(const WeightsSource *s, Err *e) {
  for (int i = 0; i < s->n; i++)
    for (uint64_t k = 0; k < s->part[i].table.n; k++)
      for (int other = 0; other < i; other++) {
        JsonText name = s->part[i].table.entries[k].name;
        if (!safe_find_text(&s->part[other].table, name)) continue;
        return err_set(e, EXIT_WRONG, "%s: the tensor %.*s is in %s, too", s->part[i].path,
                       (int)(name.n < 200 ? name.n : 200), name.s, s->part[other].path);
      }
  return true;
}

/* The whole model counts before an adapter that lies beside it. */
static bool open_folder(WeightsSource *s, Err *e) {
  static const char *const names[] = {"model.safetensors.index.json", "model.safetensors",
                                      "adapter_model.safetensors"};
  struct stat st;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char *path = path_in(s->path, names[i], strlen(names[i]));
    if (!path) return no_memory(s, e);
    if (stat(path, &st) == 0) {
      if (i) return add_part(s, path, NULL, e);
      bool ok = open_index(s, path, e) && are_apart(s, e);
      free(path);
      return ok;
    }
    free(path);
  }
  err_set(e, EXIT_WRONG, "%s: is a folder with none of %s, %s and %s", s->path, names[1], names[0],
          names[2]);
  return err_hint(e, "name the file");
}

bool weights_open(WeightsSource *s, const char *path, Err *e) {
  struct stat st;
  *s = (WeightsSource){.path = path, .published = true};
  bool there = stat(path, &st) == 0, folder = there && S_ISDIR(st.st_mode);
  if (folder ? open_folder(s, e) : add_part(s, strdup(path), NULL, e)) return true;
  weights_close(s);
  if (there || !strchr(path, ',')) return false;
  e->hint[0] = 0; /* that of any file */
  return err_hint(e, "behind the name of a file stand ,scope=PATH ,without=PATH and ,image=FILE");
}

/* ---- the program's own ---- */

bool weights_are_own(void) { return gc_weights.begin != NULL; }

bool weights_open_own(WeightsSource *s, Err *e) {
  const File f = {
      .fd = -1, .size = (uint64_t)(gc_weights.end - gc_weights.begin), .memory = gc_weights.begin};
  *s = (WeightsSource){.path = "the program's own weights", .published = true};
  if (add_part(s, strdup(s->path), &f, e)) return true;
  weights_close(s);
  return false;
}

/* ---- tensors ---- */

static bool find_name(const WeightsSource *s, const char *name, WeightsTensor *out) {
  for (int i = 0; i < s->n; i++) {
    out->entry = safe_find(&s->part[i].table, name);
    out->part = &s->part[i];
    if (out->entry) return true;
  }
  return false;
}

static bool find_origin(const WeightsSource *s, const GcGlobal *g, WeightsTensor *out) {
  out->transposed = g->transposed;
  if (!g->origin) return false;
  return find_name(s, g->origin, out) || (g->other_origin && find_name(s, g->other_origin, out));
}

static bool find_path(const WeightsSource *s, const char *path, const char *scope,
                      WeightsTensor *out) {
  size_t n = scope ? strlen(scope) : 0;
  out->transposed = false;
  if (find_name(s, path, out)) return true;
  return n && strncmp(path, scope, n) == 0 && path[n] == '.' && find_name(s, path + n + 1, out);
}

bool weights_find(const WeightsSource *s, const GcGlobal *g, const char *scope,
                  WeightsTensor *out) {
  out->floats = false;
  if (g->quantized && find_path(s, g->t.name, scope, out)) return true;
  out->floats = g->quantized != NULL;
  if (s->published && find_origin(s, g, out)) return true;
  return find_path(s, g->quantized ? g->quantized->t.name : g->t.name, scope, out);
}

static bool is_float(Elem t) {
  return t == (Elem)GC_F16 || t == (Elem)GC_BF16 || t == (Elem)GC_F32 || t == (Elem)GC_F64;
}

static bool has_shape(const SafeEntry *x, const GcTensor *t, bool transposed) {
  bool same = x->rank == t->rank;
  for (int i = 0; same && i < x->rank; i++)
    same = x->dims[i] == (uint64_t)t->dims[transposed ? x->rank - 1 - i : i];
  return same;
}

bool weights_fits(const WeightsSource *s, const WeightsTensor *x, const GcGlobal *g, bool exact,
                  Err *e) {
  const SafeEntry *in = x->entry;
  const GcTensor *t = x->floats ? &g->quantized->t : &g->t;
  const bool converts = s->published || (g->kind == GC_STATE && !exact);
  bool dtype =
      in->type == (Elem)t->dtype || (converts && is_float(in->type) && is_float((Elem)t->dtype));
  if (dtype && has_shape(in, t, x->transposed)) return true;
  char need[200], found[200] = "a type of 8 bits";
  tensor_type_text(t, need, sizeof need);
  if (in->type < ELEM_COUNT) dims_text(in->type, in->rank, in->dims, found, sizeof found);
  err_set(e, EXIT_WRONG, "%s: %.*s is %s, but the program has %s%s", x->part->path,
          (int)(in->name.n < 200 ? in->name.n : 200), in->name.s, found, need,
          x->transposed ? ", which it reads transposed" : "");
  if (dtype && g->origin && has_shape(in, t, !x->transposed))
    return err_hint(e, x->transposed ? "it is not transposed in the file: leave out the ' behind "
                                       "the name"
                                     : "it is transposed in the file: from \"NAME\"'");
  return err_hint(e, "the file belongs to another model, or to another size of this one");
}
