/* One file of safetensors of two: of what a model of ONNX has, and of --weights, whose tensors are
   in place of the model's. Contract: the program holds each param once, and tensors of whole runs
   of bytes stand first, where pages of the program can map them, as in onnx_write_weights. */
#include "lang/driver/weights_file.h"

#include <stdlib.h>
#include <string.h>

enum { RUN = 64 };

typedef struct Piece { /* of the new file */
  const char *name;
  const json_t *of; /* its entry in the header of a file */
  const WeightsFile *file;
} Piece;
typedef VEC(Piece) Pieces;

static uint64_t offset(const Piece *p, size_t i) {
  const json_int_t n =
      json_integer_value(json_array_get(json_object_get(p->of, "data_offsets"), i));
  return n > 0 ? (uint64_t)n : 0;
}

static uint64_t bytes_of(const Piece *p) {
  const uint64_t from = offset(p, 0), to = offset(p, 1);
  return to > from ? to - from : 0;
}

/* A param that --weights has, by whatever name. */
static bool is_replaced(const Module *m, const json_t *header, const char *path) {
  for (uint32_t i = 0; i < m->globals.n; i++) {
    const Global *g = &m->globals.at[i];
    if (strcmp(g->path, path) == 0)
      return weights_name(g, header, weights_are_published(header)) != NULL;
  }
  return false;
}

static void collect(const Module *m, const WeightsFile *file, const WeightsFile *instead,
                    Pieces *out) {
  const char *name;
  json_t *x;
  json_object_foreach(file->header, name, x) {
    if (strcmp(name, "__metadata__") == 0) continue;
    if (instead && is_replaced(m, instead->header, name)) continue;
    vec_push(ctx_arena(m->ctx), out, ((Piece){name, x, file}));
  }
}

static void write_header(FILE *f, const Pieces *all, bool published) {
  json_t *header = json_object();
  uint64_t at = 0;
  json_object_set_new(header, "__metadata__",
                      json_pack("{ss}", "format", published ? "onnx" : "gc"));
  for (uint32_t i = 0; i < all->n; i++) {
    const uint64_t n = bytes_of(&all->at[i]);
    json_object_set_new(header, all->at[i].name,
                        json_pack("{sOsOs[II]}", "dtype", json_object_get(all->at[i].of, "dtype"),
                                  "shape", json_object_get(all->at[i].of, "shape"), "data_offsets",
                                  (json_int_t)at, (json_int_t)(at + n)));
    at += n;
  }
  char *text = json_dumps(header, JSON_COMPACT);
  json_decref(header);
  if (!text) out_of_memory();
  const uint64_t n = (strlen(text) + 7) / 8 * 8;
  fwrite(&n, sizeof n, 1, f);
  fprintf(f, "%-*s", (int)n, text);
  free(text);
}

/* False: it cannot be read; ferror tells whether it cannot be written. */
static bool copy(const Piece *p, FILE *f) {
  enum { AT_ONCE = 1 << 16 };
  static char room[AT_ONCE]; /* of one thread */
  uint64_t left = bytes_of(p);
  if (fseeko(p->file->f, (off_t)(p->file->data + offset(p, 0)), SEEK_SET) != 0) return false;
  while (left && !ferror(f)) {
    const size_t n = left < AT_ONCE ? left : AT_ONCE;
    if (fread(room, 1, n, p->file->f) != n) return false;
    fwrite(room, 1, n, f);
    left -= n;
  }
  return true;
}

bool weights_merge(const Module *m, const WeightsFile *model, const WeightsFile *file, FILE *out) {
  Pieces found = {0}, all = {0};
  collect(m, model, file, &found);
  collect(m, file, NULL, &found);
  for (int turn = 0; turn < 2; turn++)
    for (uint32_t i = 0; i < found.n; i++)
      if ((bytes_of(&found.at[i]) % RUN != 0) == turn)
        vec_push(ctx_arena(m->ctx), &all, found.at[i]);
  const bool published =
      weights_are_published(model->header) || weights_are_published(file->header);
  write_header(out, &all, published);
  for (uint32_t i = 0; i < all.n; i++) {
    if (copy(&all.at[i], out)) continue;
    fprintf(stderr, "gc: error: --weights: %s is cut short, or damaged\n", all.at[i].file->path);
    return false;
  }
  return true;
}
