/* Weights to and from safetensors, in the logical order of their elements, whatever the storage is.
   Contract: names, types and shapes of the file must be the program's; nothing is stored before all
   of them have been compared, so that a file that does not fit changes nothing. */
#include "runtime/weights/weights.h"
#include "runtime/weights/safetensors.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

bool is_step_counter(const GcGlobal *g) {
  return g->t.rank == 0 && g->t.dtype == GC_I64 && strcmp(g->t.name, "step") == 0;
}

bool choose_all(const GcGlobal *g, const void *arg) { return true; }

/* Optimizer state and the step counter belong to a run, not to the model: checkpoints have them. */
bool choose_saved(const GcGlobal *g, const void *arg) {
  return g->kind != GC_OPTIMIZER && !is_step_counter(g);
}

uint64_t weights_bytes(GlobalChoice *choose) {
  uint64_t n = 4096;
  for (int i = 0; i < gc_program.nglobals; i++) {
    const GcGlobal *g = &gc_program.globals[i];
    if (choose(g, NULL)) n += tensor_logical_bytes(&g->t) + 160 + strlen(g->t.name);
  }
  return n;
}

/* ---- writing ---- */
typedef struct TextSink { /* text through the staging buffer */
  uint8_t *stage;
  OutFile *out; /* NULL: only count */
  uint64_t n;   /* bytes so far */
  uint64_t at;  /* in the buffer */
  bool ok;
  Err *e;
} TextSink;

static void sink_flush(TextSink *s) {
  if (s->out && s->ok) s->ok = out_write(s->out, s->stage, s->at, s->e);
  s->at = 0;
}

static void sink_put(TextSink *s, const char *p, uint64_t n) {
  s->n += n;
  while (s->out && n) {
    if (s->at == STAGE_BYTES) sink_flush(s);
    uint64_t k = STAGE_BYTES - s->at < n ? STAGE_BYTES - s->at : n;
    memcpy(s->stage + s->at, p, k);
    s->at += k, p += k, n -= k;
  }
}

static void sink_text(TextSink *s, const char *p) { sink_put(s, p, strlen(p)); }

/* Where the value of the last metadata stands in it. */
static uint64_t header(TextSink *s, GlobalChoice *choose, const Meta *meta, int nmeta,
                       const char *labels) {
  char line[512];
  uint64_t at = 0, value = 0;
  sink_text(s, "{\"__metadata__\":{\"format\":\"gc\"");
  for (int i = 0; i < nmeta; i++) {
    snprintf(line, sizeof line, ",\"%s\":\"", meta[i].key);
    sink_text(s, line);
    value = s->n;
    sink_text(s, meta[i].value);
    sink_text(s, "\"");
  }
  if (labels) sink_text(s, labels);
  sink_text(s, "}");
  for (int i = 0; i < gc_program.nglobals; i++) {
    const GcGlobal *g = &gc_program.globals[i];
    if (!choose(g, NULL)) continue;
    sink_text(s, ",\"");
    sink_text(s,
              g->t.name); /* a path of identifiers, digits, dots and brackets: nothing to escape */
    snprintf(line, sizeof line, "\":{\"dtype\":\"%s\",\"shape\":[",
             elem_info[g->t.dtype].safetensors);
    sink_text(s, line);
    for (int k = 0; k < g->t.rank; k++) {
      snprintf(line, sizeof line, "%s%" PRId64, k ? "," : "", g->t.dims[k]);
      sink_text(s, line);
    }
    uint64_t bytes = tensor_logical_bytes(&g->t);
    snprintf(line, sizeof line, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", at, at + bytes);
    sink_text(s, line);
    at += bytes;
  }
  sink_text(s, "}");
  while (s->n % 8) sink_text(s, " ");
  return value;
}

static uint64_t chunk_elems(const GcTensor *t) {
  return STAGE_BYTES / (uint64_t)elem_info[t->dtype].size;
}

static uint8_t *at_host(const Globals *w, const GcTensor *t) { return w->base + t->offset; }

/* What is done with each piece of the globals while it is in the cache. */
typedef struct Sweep {
  bool finite;  /* parameters that are not are an error */
  bool sum;     /* crc goes on over the bytes */
  OutFile *out; /* gets the bytes; or NULL */
  uint32_t crc;
} Sweep;

static bool sweep(const Globals *w, GlobalChoice *choose, Sweep *s, Err *e) {
  for (int i = 0; i < w->program->nglobals; i++) {
    const GcGlobal *g = &w->program->globals[i];
    const GcTensor *t = &g->t;
    if (!choose(g, NULL)) continue;
    uint64_t all = tensor_count(t), step = chunk_elems(t), bad;
    for (uint64_t at = 0; at < all; at += step) {
      uint64_t k = all - at < step ? all - at : step;
      uint64_t bytes = k * (uint64_t)elem_info[t->dtype].size;
      tensor_get(t, at_host(w, t), at, k, w->stage); /* without what a layout pads them with */
      if (s->finite && g->kind == GC_PARAM && !elem_finite(w->stage, (Elem)t->dtype, k, &bad)) {
        err_set(e, EXIT_WRONG, "the weights %s hold values that are not finite", t->name);
        return err_hint(e, "they were not saved; an older file is as it was");
      }
      if (s->sum) s->crc = (uint32_t)crc32(s->crc, w->stage, (uInt)bytes);
      if (s->out && !out_write(s->out, w->stage, bytes, e)) return false;
    }
  }
  return true;
}

static uint32_t sum_text(uint32_t crc, const char *s) {
  return (uint32_t)crc32(crc, (const Bytef *)s, (uInt)strlen(s) + 1);
}

static void sum_metas(uint32_t crc, const Meta *meta, int nmeta, Meta *sum) {
  for (int i = 0; i < nmeta; i++) crc = sum_text(sum_text(crc, meta[i].key), meta[i].value);
  snprintf(sum->value, sizeof sum->value, "%08" PRIx32, crc);
}

/* A file gets its checksum last, in the place that the header keeps for it. A pipe cannot, and what
   it has been given cannot be taken back: there all is looked at before. */
bool weights_write(const Globals *w, OutFile *out, GlobalChoice *choose, Meta *meta, int nmeta,
                   Err *e) {
  TextSink count = {.ok = true}, s = {.stage = w->stage, .out = out, .ok = true, .e = e};
  Sweep all = {.finite = true, .sum = nmeta > 0};
  Meta *sum = nmeta ? &meta[nmeta - 1] : NULL;
  if (out->direct && !sweep(w, choose, &all, e)) return false;
  if (sum) sum_metas(all.crc, meta, nmeta - 1, sum);
  uint64_t value = header(&count, choose, meta, nmeta, w->labels), n = count.n;
  if (!out_begin(out, e)) return false;
  s.ok = out_write(out, &n, 8, e);
  if (s.ok) header(&s, choose, meta, nmeta, w->labels);
  sink_flush(&s);
  all = (Sweep){.finite = !out->direct, .sum = sum && !out->direct, .out = out};
  if (!s.ok || !sweep(w, choose, &all, e)) return out_abort(out), false;
  if (all.sum) {
    sum_metas(all.crc, meta, nmeta - 1, sum);
    if (!out_patch(out, 8 + value, sum->value, strlen(sum->value), e)) return false;
  }
  return out_commit(out, e);
}

void weights_sum(const Globals *w, const Meta *meta, int nmeta, Meta *sum) {
  Sweep s = {.sum = true};
  Err none = {0}; /* it neither looks at values nor writes */
  sweep(w, choose_all, &s, &none);
  sum_metas(s.crc, meta, nmeta, sum);
}

bool weights_finite(const Globals *w, Err *e) {
  return sweep(w, choose_all, &(Sweep){.finite = true}, e);
}

/* ---- reading ---- */
static bool compare_global(const GcGlobal *g, const SafeEntry *x, const char *path, Err *e) {
  bool same = x->type == (Elem)g->t.dtype && x->rank == g->t.rank;
  for (int i = 0; same && i < x->rank; i++) same = x->dims[i] == (uint64_t)g->t.dims[i];
  if (same) return true;
  char need[200], found[200] = "a type of 8 bits";
  tensor_type_text(&g->t, need, sizeof need);
  if (x->type < ELEM_COUNT) dims_text(x->type, x->rank, x->dims, found, sizeof found);
  err_set(e, EXIT_WRONG, "%s: %s is %s, but the program has %s", path, g->t.name, found, need);
  return err_hint(e, "the file belongs to another model, or to another size of this one");
}

static const GcGlobal *find_global(JsonText name) {
  for (int i = 0; i < gc_program.nglobals; i++)
    if (text_is(name, gc_program.globals[i].t.name)) return &gc_program.globals[i];
  return NULL;
}

/* The tensor of a global; in a file of what lies below `scope` alone the scope may be left out. */
static const SafeEntry *entry_of(const SafeTable *t, const char *name, const char *scope) {
  const SafeEntry *x = safe_find(t, name);
  size_t n = scope ? strlen(scope) : 0;
  return x || !n || strncmp(name, scope, n) != 0 || name[n] != '.' ? x : safe_find(t, name + n + 1);
}

static bool compare_all(const SafeTable *t, const char *path, const WeightsRequest *q, Err *e) {
  int loaded = 0;
  for (int i = 0; i < gc_program.nglobals; i++) {
    const GcGlobal *g = &gc_program.globals[i];
    if (!q->want(g, q->arg)) continue;
    const SafeEntry *x = entry_of(t, g->t.name, q->partial ? q->arg : NULL);
    if (x && !compare_global(g, x, path, e)) return false;
    if (!x && q->need(g, q->arg)) {
      err_set(e, EXIT_WRONG, "%s: has no tensor %s", path, g->t.name);
      return err_hint(e, "the file belongs to another model; --load FILE,scope=PATH reads only a "
                         "part of the weights");
    }
    loaded += x != NULL;
  }
  for (uint64_t i = 0; !q->partial && i < t->n; i++)
    if (!find_global(t->entries[i].name)) {
      err_set(e, EXIT_WRONG, "%s: has a tensor %.*s, which the program does not have", path,
              (int)(t->entries[i].name.n < 200 ? t->entries[i].name.n : 200), t->entries[i].name.s);
      return err_hint(e, "the file belongs to another model; --load FILE,scope=PATH reads only a "
                         "part of the weights");
    }
  return loaded ? true : err_set(e, EXIT_WRONG, "%s: holds nothing that is to be read", path);
}

typedef struct Selection { /* of the globals, what is read from a file */
  const File *file;
  const SafeTable *table;
  const WeightsRequest *request;
} Selection;

typedef bool PieceFn(const Globals *w, const Selection *s, const GcTensor *t, uint64_t at,
                     uint64_t n, Err *e);

/* Values are looked at before the first one is taken over, so that a refusal changes nothing. */
static bool check_piece(const Globals *w, const Selection *s, const GcTensor *t, uint64_t at,
                        uint64_t n, Err *e) {
  for (uint64_t b = 0; b < n; b++)
    if (w->stage[b] > 1)
      return err_set(e, EXIT_WRONG, "%s: %s holds %d, which is no bool", s->file->path, t->name,
                     w->stage[b]);
  return true;
}

static bool put_piece(const Globals *w, const Selection *s, const GcTensor *t, uint64_t at,
                      uint64_t n, Err *e) {
  tensor_put(t, at_host(w, t), at, n, w->stage);
  return true;
}

/* Each piece of the selected tensors, of bools alone or of all, in w->stage. */
static bool read_pieces(const Globals *w, const Selection *s, bool bools, PieceFn *piece, Err *e) {
  const WeightsRequest *q = s->request;
  for (int i = 0; i < w->program->nglobals; i++) {
    const GcTensor *t = &w->program->globals[i].t;
    if (!q->want(&w->program->globals[i], q->arg) || (bools && t->dtype != GC_BOOL)) continue;
    const SafeEntry *x = entry_of(s->table, t->name, q->partial ? q->arg : NULL);
    if (!x) continue;
    uint64_t all = tensor_count(t), step = chunk_elems(t),
             size = (uint64_t)elem_info[t->dtype].size;
    for (uint64_t at = 0; at < all; at += step) {
      uint64_t k = all - at < step ? all - at : step;
      if (!file_read(s->file, s->table->data + x->begin + at * size, w->stage, k * size, e) ||
          !piece(w, s, t, at, k, e))
        return false;
    }
  }
  return true;
}

static bool read_meta(const SafeTable *t, const char *path, Meta *meta, int nmeta, Err *e) {
  for (int i = 0; i < nmeta; i++) {
    const SafeMeta *m = safe_meta(t, meta[i].key);
    if (!m && i > 0) { /* the first one says that it is a checkpoint */
      err_set(e, EXIT_WRONG, "%s: is a checkpoint of another format: %s is missing in its metadata",
              path, meta[i].key);
      return err_hint(e, "resume with the program that wrote it, or read its weights with --load");
    }
    if (!m || m->value.n >= sizeof meta[i].value) {
      err_set(e, EXIT_WRONG, "%s: is no checkpoint: %s is missing in its metadata", path,
              meta[i].key);
      return err_hint(e, "checkpoints are written by --checkpoint; weights are read with --load");
    }
    memcpy(meta[i].value, m->value.s, m->value.n);
    meta[i].value[m->value.n] = 0;
    meta[i].seen = true;
  }
  return true;
}

/* ---- what may be replaced ---- */

/* A file of weights, or a checkpoint, that is no file of this program's tensors. */
static const char *foreign(const File *f, GlobalChoice *choose, bool checkpoint) {
  SafeTable t;
  Err none = {0};
  const WeightsRequest all = {.want = choose, .need = choose};
  if (!safe_open(&t, f, &none)) return "a damaged safetensors file";
  const SafeMeta *format = safe_meta(&t, "format");
  bool is_checkpoint = safe_meta(&t, CHECKPOINT_KEY) != NULL;
  const char *what = NULL;
  if (!format || !text_is(format->value, "gc"))
    what = "a safetensors file that gc did not write";
  else if (is_checkpoint != checkpoint)
    what = is_checkpoint ? "a checkpoint" : "a file of weights";
  else if (!compare_all(&t, f->path, &all, &none))
    what = "the file of another model, or of another size of this one";
  safe_free(&t);
  return what;
}

static const char *foreign_weights(const File *f) { return foreign(f, choose_saved, false); }

static const char *foreign_checkpoint(const File *f) { return foreign(f, choose_all, true); }

const OutKind out_weights = {"a safetensors file", safe_is, foreign_weights};
const OutKind out_checkpoint = {"a safetensors file", safe_is, foreign_checkpoint};

static bool read_file(const Globals *w, const File *f, const WeightsRequest *q, Err *e) {
  SafeTable t;
  if (!safe_open(&t, f, e)) return false;
  Selection s = {f, &t, q};
  bool ok = read_meta(&t, f->path, q->meta, q->nmeta, e) && compare_all(&t, f->path, q, e) &&
            read_pieces(w, &s, true, check_piece, e) && read_pieces(w, &s, false, put_piece, e);
  safe_free(&t);
  return ok;
}

bool weights_read(const Globals *w, const char *path, const WeightsRequest *q, Err *e) {
  File f;
  if (!file_open(&f, path, e)) return false;
  bool ok = read_file(w, &f, q, e);
  file_close(&f);
  return ok;
}

/* ---- the program's own: gc has compared them with its globals ---- */

static bool own_file(File *f) {
  if (!&gc_weights) return false;
  *f = (File){.path = "the program's own weights",
              .fd = -1,
              .size = (uint64_t)(gc_weights.end - gc_weights.begin),
              .memory = gc_weights.begin};
  return true;
}

static bool choose_none(const GcGlobal *g, const void *arg) { return false; }

bool weights_read_own(const Globals *w, Err *e) {
  File f;
  return !own_file(&f) ||
         read_file(w, &f, &(WeightsRequest){.want = choose_all, .need = choose_none}, e);
}

bool weights_own_all(const GcProgram *program) {
  File f;
  SafeTable t;
  Err none = {0};
  if (!own_file(&f) || !safe_open(&t, &f, &none)) return false;
  bool all = true;
  for (int i = 0; i < program->nglobals; i++)
    all &= program->globals[i].kind != GC_PARAM || safe_find(&t, program->globals[i].t.name);
  safe_free(&t);
  return all;
}
