/* Weights to and from safetensors, in the logical order of their elements, whatever the storage is.
   Contract: names, types and shapes of the file must be the program's; nothing is stored before all
   of them have been compared, so that a file that does not fit changes nothing. */
#include "runtime/weights/weights.h"
#include "runtime/weights/source.h"
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
static bool is_known(JsonText name) {
  for (int i = 0; i < gc_program.nglobals; i++) {
    const GcGlobal *g = &gc_program.globals[i];
    if (text_is(name, g->t.name) || (g->origin && text_is(name, g->origin)) ||
        (g->quantized && text_is(name, g->quantized->t.name)))
      return true;
  }
  return false;
}

/* Published weights may hold more than the program reads, such as masks and other heads; they are
   known to be meant by the names that the program has for them. */
static bool may_hold_more(const WeightsSource *s, const WeightsRequest *q) {
  bool named = false;
  for (int i = 0; i < gc_program.nglobals; i++) named |= gc_program.globals[i].origin != NULL;
  return q->partial || (s->published && named);
}

static bool compare_rest(const WeightsSource *s, const WeightsRequest *q, Err *e) {
  for (int p = 0; p < s->n; p++)
    for (uint64_t i = 0; i < s->part[p].table.n; i++) {
      JsonText name = s->part[p].table.entries[i].name;
      if (is_known(name)) continue;
      if (q->unread && !q->unread->n++)
        snprintf(q->unread->first, sizeof q->unread->first, "%.*s",
                 (int)(name.n < 159 ? name.n : 159), name.s);
      if (may_hold_more(s, q)) continue;
      err_set(e, EXIT_WRONG, "%s: has a tensor %.*s, which the program does not have",
              s->part[p].path, (int)(name.n < 200 ? name.n : 200), name.s);
      return err_hint(e, "the file belongs to another model; --load FILE,scope=PATH reads only a "
                         "part of the weights");
    }
  return true;
}

static bool compare_all(const WeightsSource *s, const WeightsRequest *q, Err *e) {
  int loaded = 0;
  for (int i = 0; i < gc_program.nglobals; i++) {
    const GcGlobal *g = &gc_program.globals[i];
    WeightsTensor x;
    if (!q->want(g, q->arg)) continue;
    bool found = weights_find(s, g, q->partial ? q->arg : NULL, &x);
    if (found && !weights_fits(s, &x, g, e)) return false;
    if (!found && q->need(g, q->arg)) {
      bool named = s->published && g->origin;
      const char *name = g->quantized ? g->quantized->t.name : g->t.name;
      err_set(e, EXIT_WRONG, "%s: has no tensor %s%s%s", s->path, name, named ? " or " : "",
              named ? g->origin : "");
      return err_hint(e, "the file belongs to another model; --load FILE,scope=PATH reads only a "
                         "part of the weights");
    }
    loaded += found;
    if (!found && q->absent && !q->absent->n++) q->absent->first = g;
  }
  if (!compare_rest(s, q, e)) return false;
  return loaded ? true : err_set(e, EXIT_WRONG, "%s: holds nothing that is to be read", s->path);
}

/* Values are looked at before the first one is taken over, so that a refusal changes nothing. */
static bool check_piece(void *to, const GcTensor *t, uint64_t at, uint64_t n, const void *data,
                        Err *e) {
  const char *path = to;
  const uint8_t *b = data;
  for (uint64_t i = 0; i < n; i++)
    if (b[i] > 1)
      return err_set(e, EXIT_WRONG, "%s: %s holds %d, which is no bool", path, t->name, b[i]);
  return true;
}

static bool put_piece(void *to, const GcTensor *t, uint64_t at, uint64_t n, const void *data,
                      Err *e) {
  tensor_put(t, at_host(to, t), at, n, data);
  return true;
}

/* The selected tensors, first looked at, then taken over. */
static bool read_all(const Globals *w, const WeightsSource *s, const WeightsRequest *q, bool look,
                     Err *e) {
  for (int i = 0; i < w->program->nglobals; i++) {
    const GcGlobal *g = &w->program->globals[i];
    WeightsTensor x;
    if (!q->want(g, q->arg) || (look && g->t.dtype != GC_BOOL) ||
        !weights_find(s, g, q->partial ? q->arg : NULL, &x))
      continue;
    if (look       ? !weights_pieces(&x, &g->t, w->stage, check_piece, x.part->path, e)
        : x.floats ? !weights_quantize(&x, g, w->stage, put_piece, (void *)w, e)
                   : !weights_pieces(&x, &g->t, w->stage, put_piece, (void *)w, e))
      return false;
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
  WeightsSource s;
  Err none = {0};
  const WeightsRequest all = {.want = choose, .need = choose};
  if (!weights_open(&s, f->path, &none)) return "a damaged safetensors file";
  bool is_checkpoint = safe_meta(&s.part[0].table, CHECKPOINT_KEY) != NULL;
  const char *what = NULL;
  if (s.published)
    what = "a safetensors file that gc did not write";
  else if (is_checkpoint != checkpoint)
    what = is_checkpoint ? "a checkpoint" : "a file of weights";
  else if (!compare_all(&s, &all, &none))
    what = "the file of another model, or of another size of this one";
  weights_close(&s);
  return what;
}

static const char *foreign_weights(const File *f) { return foreign(f, choose_saved, false); }

static const char *foreign_checkpoint(const File *f) { return foreign(f, choose_all, true); }

const OutKind out_weights = {"a safetensors file", safe_is, foreign_weights};
const OutKind out_checkpoint = {"a safetensors file", safe_is, foreign_checkpoint};

static bool read_source(const Globals *w, const WeightsSource *s, const WeightsRequest *q, Err *e) {
  return read_meta(&s->part[0].table, s->path, q->meta, q->nmeta, e) && compare_all(s, q, e) &&
         read_all(w, s, q, true, e) && read_all(w, s, q, false, e);
}

bool weights_read(const Globals *w, const char *path, const WeightsRequest *q, Err *e) {
  WeightsSource s;
  if (!weights_open(&s, path, e)) return false;
  bool ok = read_source(w, &s, q, e);
  weights_close(&s);
  return ok;
}

/* ---- the program's own: gc has compared them with its globals ---- */

static bool choose_none(const GcGlobal *g, const void *arg) { return false; }

bool weights_read_own(const Globals *w, Err *e) {
  WeightsSource s;
  if (!weights_are_own()) return true;
  if (!weights_open_own(&s, e)) return false;
  bool ok = read_source(w, &s, &(WeightsRequest){.want = choose_all, .need = choose_none}, e);
  weights_close(&s);
  return ok;
}

bool weights_own_all(const GcProgram *program) {
  WeightsSource s;
  WeightsTensor x;
  Err none = {0};
  if (!weights_are_own() || !weights_open_own(&s, &none)) return false;
  bool all = true;
  for (int i = 0; i < program->nglobals; i++)
    all &= program->globals[i].kind != GC_PARAM || weights_find(&s, &program->globals[i], NULL, &x);
  weights_close(&s);
  return all;
}
