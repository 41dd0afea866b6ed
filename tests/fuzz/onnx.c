/* Models of ONNX, mutated, through the importer and the elaboration of what it writes:
   fuzz_onnx SECONDS SEED FILE.onnx... A model is refused with a diagnostic, or becomes a program;
   what is imported can be parsed. Half of the texts are files with other fields (numbers, names,
   lengths of lists and of data), written anew, so that they are sound as messages; the other half
   are bytes that changed. */
#define _GNU_SOURCE
#include "lang/onnx/onnx.h"
#include "lang/elab/elab.h"
#include "onnx.pb-c.h"
#include "tests/fuzz/context.h"
#include "tests/fuzz/driver.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { REFUSED, IMPORTED, ELABORATED };
static const char *const stages[] = {"refused", "imported", "elaborated", NULL};

static int import(Ctx *c, const char *path, bool multiples) {
  const OnnxDim dims[] = {{"batch", multiples ? 12 : 3, true, multiples ? 4 : 1},
                          {"n", multiples ? 8 : 2, false, 1}};
  bool unreadable;
  size_t n;
  const OnnxProgram *p = onnx_import(c, path, dims, 2, "mse", &unreadable);
  if (!p) p = onnx_import(c, path, NULL, 0, NULL, &unreadable);
  if (!p && !ctx_errors(c)) fuzz_wrong("a model is refused without a word");
  if (!p) return REFUSED;
  FILE *nothing = fopen("/dev/null", "w");
  if (!nothing) exit(2);
  int errors = ctx_errors(c);
  bool whole = onnx_write_weights(&p, 1, nothing);
  fclose(nothing);
  if (!whole && ctx_errors(c) == errors) fuzz_wrong("weights are refused without a word");
  const char *text = onnx_text(p, &n);
  Program *program = parse_text(c, "model.g", text, n);
  if (!program) {
    fwrite(text, 1, n, stderr);
    fuzz_wrong("what is imported is no program");
  }
  Module *m = elaborate(c, program, &(ElabOptions){0});
  if (!m) return IMPORTED;
  if (!module_verify(m, NULL)) fuzz_wrong("an imported module is not sound");
  module_free(m);
  return ELABORATED;
}

static FuzzContext context; /* of a child */

static int run(const char *text, size_t n) {
  int fd = memfd_create("model", 0);
  if (fd < 0 || write(fd, text, n) != (ssize_t)n) exit(2);
  char path[40];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  FILE *nothing = fopen("/dev/null", "w");
  int stage = import(fuzz_context_begin(&context, nothing), path, n % 2);
  fuzz_context_end(&context);
  fclose(nothing);
  close(fd);
  return stage;
}

/* ---- models with other fields ---- */

enum { MOST_FIELDS = 4096, MOST_SEEDS = 64 };
typedef struct Place { /* of a value in a model */
  const ProtobufCFieldDescriptor *field;
  void *at;      /* the value, or the first of a list */
  size_t *count; /* of a list; NULL: it is none */
} Place;
typedef struct Places {
  Place at[MOST_FIELDS];
  uint64_t n;
} Places;

static void collect(const ProtobufCMessage *m, Places *out) {
  for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
    const ProtobufCFieldDescriptor *f = &m->descriptor->fields[i];
    char *at = (char *)m + f->offset;
    bool list = f->label == PROTOBUF_C_LABEL_REPEATED, message = f->type == PROTOBUF_C_TYPE_MESSAGE;
    size_t *count = list ? (size_t *)((char *)m + f->quantifier_offset) : NULL;
    void *value = list ? *(void **)at : at;
    if ((list && !*count) ||
        (!list && (message || f->type == PROTOBUF_C_TYPE_STRING) && !*(void **)at))
      continue;
    if ((list || !message) && out->n < MOST_FIELDS) out->at[out->n++] = (Place){f, value, count};
    for (size_t k = 0; message && k < (list ? *count : 1); k++)
      collect(((ProtobufCMessage **)value)[k], out);
  }
}

static int64_t number(uint64_t *rng) {
  static const int64_t some[] = {0,  1,         -1,        2,         3,         5,       7,    16,
                                 -2, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 1 << 20, 65536};
  return some[fuzz_below(rng, sizeof some / sizeof *some)];
}

static void change(uint64_t *rng, Places *all) {
  const Place *p = &all->at[fuzz_below(rng, all->n)], *other = &all->at[fuzz_below(rng, all->n)];
  size_t n = p->count ? *p->count : 1, k = n ? fuzz_below(rng, n) : 0;
  if (!n) return;
  if (p->count && !fuzz_below(rng, 4)) {
    --*p->count;
    return;
  }
  ProtobufCType type = p->field->type;
  if (type == PROTOBUF_C_TYPE_INT32) ((int32_t *)p->at)[k] = (int32_t)number(rng);
  if (type == PROTOBUF_C_TYPE_INT64) ((int64_t *)p->at)[k] = number(rng);
  if (type == PROTOBUF_C_TYPE_FLOAT) ((float *)p->at)[k] = (float)number(rng) / 4;
  if (type == PROTOBUF_C_TYPE_STRING && other->field->type == type &&
      (!other->count || *other->count))
    ((char **)p->at)[k] = ((char **)other->at)[other->count ? fuzz_below(rng, *other->count) : 0];
  if (type == PROTOBUF_C_TYPE_MESSAGE) /* another of the list in its place */
    ((void **)p->at)[k] = ((void **)p->at)[fuzz_below(rng, n)];
  ProtobufCBinaryData *data =
      type == PROTOBUF_C_TYPE_BYTES ? &((ProtobufCBinaryData *)p->at)[k] : NULL;
  if (data && data->len && fuzz_below(rng, 2))
    data->data[fuzz_below(rng, data->len)] = (uint8_t)fuzz_next(rng);
  else if (data && data->len)
    data->len--;
}

static struct Seeds { /* read once, before any child starts */
  FuzzText at[MOST_SEEDS];
  uint64_t n;
} seeds;

static void *take(void *arena, size_t n) { return arena_alloc(arena, n + 1); }
static void keep(void *arena, void *p) {}

static void grow(uint64_t *rng, FuzzText *out) {
  static uint8_t packed[FUZZ_LARGEST];
  const FuzzText *seed = &seeds.at[fuzz_below(rng, seeds.n)];
  Arena *a = arena_new();
  ProtobufCAllocator allocator = {take, keep, a};
  Onnx__ModelProto *m = onnx__model_proto__unpack(&allocator, seed->n, (const uint8_t *)seed->at);
  Places *all = ARENA_NEW(a, Places);
  if (!m) exit(2);
  collect(&m->base, all);
  for (uint64_t k = 1 + fuzz_below(rng, 4); k; k--) change(rng, all);
  if (onnx__model_proto__get_packed_size(m) <= sizeof packed)
    fuzz_append(out, (const char *)packed, onnx__model_proto__pack(m, packed));
  arena_free(a);
}

int main(int argc, char **argv) {
  static const char *const words[] = {
      "batch",    "Conv",     "Reshape",
      "Shape",    "axis",     "\x08\x01",
      "\x08\x00", "\x10\x7f", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
      "ints",     "pads",     "\x20\x07",
      "\x20\x01", NULL};
  const FuzzTarget t = {
      .name = "onnx", .suffix = "onnx", .run = run, .stages = stages, .words = words, .grow = grow};
  for (int i = 3; i < argc && seeds.n < MOST_SEEDS; i++) {
    FILE *f = fopen(argv[i], "rb");
    FuzzText *seed = &seeds.at[seeds.n++];
    if (!f) return 2;
    seed->n = fread(seed->at, 1, sizeof seed->at, f);
    fclose(f);
  }
  return fuzz_main(&t, argc, argv);
}
