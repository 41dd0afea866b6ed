/* Writes globals as a file of safetensors, in the logical order of their elements, whatever the
   storage is. Contract: parameters that are not finite are not written, and an older file stays;
   the checksum of a checkpoint goes over what is written. */
#include "runtime/weights/weights.h"
#include <inttypes.h>
#include <string.h>
#include <zlib.h>

uint64_t weights_bytes(GlobalChoice *choose, const WeightsView *v) {
  uint64_t n = 4096;
  for (int i = 0; i < gc_program.nglobals; i++) {
    const GcGlobal *g = &gc_program.globals[i];
    if (choose(g, v)) n += tensor_logical_bytes(&g->t) + 160 + strlen(g->t.name);
  }
  return n;
}

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

typedef struct Choice { /* what is written */
  GlobalChoice *choose;
  const WeightsView *view;
} Choice;

static bool is_published(const Choice *c) { return c->view && c->view->published; }

/* Written with the name that published weights have for it, not its path. */
static bool has_name(const Choice *c, const GcGlobal *g) {
  return is_published(c) && g->origin && !g->quantized;
}

/* Where the value of the last metadata stands in it. */
static uint64_t header(TextSink *s, const Choice *c, const Meta *meta, int nmeta,
                       const char *labels) {
  char line[512];
  uint64_t at = 0, value = 0;
  sink_text(s, "{\"__metadata__\":{\"format\":\"");
  sink_text(s, is_published(c) ? "pt\",\"" PUBLISHED_KEY "\":\"yes\"" : "gc\"");
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
    if (!c->choose(g, c->view)) continue;
    bool named = has_name(c, g), turned = named && g->transposed;
    sink_text(s, ",\"");
    sink_text(s, named ? g->origin : g->t.name); /* nothing in them is to be escaped */
    snprintf(line, sizeof line, "\":{\"dtype\":\"%s\",\"shape\":[",
             elem_info[g->t.dtype].safetensors);
    sink_text(s, line);
    for (int k = 0; k < g->t.rank; k++) {
      snprintf(line, sizeof line, "%s%" PRId64, k ? "," : "",
               g->t.dims[turned ? g->t.rank - 1 - k : k]);
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

/* What is done with each piece of the globals while it is in the cache. */
typedef struct Sweep {
  bool own;     /* of what ranks have slices of, only this rank's */
  bool finite;  /* parameters that are not are an error */
  bool sum;     /* crc goes on over the bytes */
  OutFile *out; /* gets the bytes; or NULL */
  uint32_t crc;
} Sweep;

static bool sweep_piece(Sweep *s, const GcGlobal *g, const uint8_t *p, uint64_t n, Err *e) {
  uint64_t bytes = n * (uint64_t)elem_info[g->t.dtype].size, bad;
  if (s->finite && g->kind == GC_PARAM && !elem_finite(p, (Elem)g->t.dtype, n, &bad)) {
    err_set(e, EXIT_WRONG, "the weights %s hold values that are not finite", g->t.name);
    return err_hint(e, "they were not saved; an older file is as it was");
  }
  if (s->sum) s->crc = (uint32_t)crc32(s->crc, p, (uInt)bytes);
  return !s->out || out_write(s->out, p, bytes, e);
}

static bool sweep_straight(const Globals *w, const GcGlobal *g, Sweep *s, Err *e) {
  uint64_t all = tensor_count(&g->t), step = chunk_elems(&g->t);
  if (s->own && g->ranks) return sweep_piece(s, g, w->base + g->t.offset, slices_own(w, g), e);
  for (uint64_t at = 0, n; at < all; at += n) {
    n = all - at < step ? all - at : step;
    slices_get(w, g, at, n, w->stage);
    if (!sweep_piece(s, g, w->stage, n, e)) return false;
  }
  return true;
}

/* A matrix column by column: as many as fit into half of the stage, or a part of one. */
static bool sweep_turned(const Globals *w, const GcGlobal *g, Sweep *s, Err *e) {
  uint64_t height = (uint64_t)g->t.dims[0], width = (uint64_t)g->t.dims[1];
  uint64_t size = (uint64_t)elem_info[g->t.dtype].size, half = chunk_elems(&g->t) / 2;
  uint64_t rows = height < half ? height : half, columns = rows ? half / rows : 1;
  uint8_t *turned = w->stage + STAGE_BYTES / 2;
  for (uint64_t j = 0; j < width; j += columns)
    for (uint64_t i = 0; i < height; i += rows) {
      uint64_t m = width - j < columns ? width - j : columns;
      uint64_t n = height - i < rows ? height - i : rows;
      for (uint64_t k = 0; k < n; k++)
        slices_get(w, g, (i + k) * width + j, m, w->stage + k * m * size);
      for (uint64_t c = 0; c < m; c++)
        for (uint64_t k = 0; k < n; k++)
          memcpy(turned + (c * n + k) * size, w->stage + (k * m + c) * size, size);
      if (!sweep_piece(s, g, turned, n * m, e)) return false;
    }
  return true;
}

static bool sweep(const Globals *w, const Choice *c, Sweep *s, Err *e) {
  for (int i = 0; i < w->program->nglobals; i++) {
    const GcGlobal *g = &w->program->globals[i];
    bool looks = s->finite && g->kind == GC_PARAM;
    if (!c->choose(g, c->view) || (!looks && !s->sum && !s->out)) continue;
    bool turned = has_name(c, g) && g->transposed;
    if (!(turned ? sweep_turned(w, g, s, e) : sweep_straight(w, g, s, e))) return false;
  }
  if (!w->comm || !w->comm->failure) return true;
  return err_set(e, EXIT_ENV, "%s", w->comm->failure); /* others' slices have not come */
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
bool weights_write(const Globals *w, OutFile *out, GlobalChoice *choose, const WeightsView *v,
                   Meta *meta, int nmeta, Err *e) {
  const Choice c = {choose, v};
  TextSink count = {.ok = true}, s = {.stage = w->stage, .out = out, .ok = true, .e = e};
  Sweep all = {.finite = true, .sum = nmeta > 0};
  Meta *sum = nmeta ? &meta[nmeta - 1] : NULL;
  if (out->direct && !sweep(w, &c, &all, e)) return false;
  if (sum) sum_metas(all.crc, meta, nmeta - 1, sum);
  uint64_t value = header(&count, &c, meta, nmeta, w->labels), n = count.n;
  if (!out_begin(out, e)) return false;
  s.ok = out_write(out, &n, 8, e);
  if (s.ok) header(&s, &c, meta, nmeta, w->labels);
  sink_flush(&s);
  all = (Sweep){.finite = !out->direct, .sum = sum && !out->direct, .out = out};
  if (!s.ok || !sweep(w, &c, &all, e)) return out_abort(out), false;
  if (all.sum) {
    sum_metas(all.crc, meta, nmeta - 1, sum);
    if (!out_patch(out, 8 + value, sum->value, strlen(sum->value), e)) return false;
  }
  return out_commit(out, e);
}

static const Choice everything = {choose_all, NULL};

void weights_sum(const Globals *w, const Meta *meta, int nmeta, Meta *sum) {
  Sweep s = {.sum = true};
  Err none = {0}; /* it neither looks at values nor writes */
  sweep(w, &everything, &s, &none);
  sum_metas(s.crc, meta, nmeta, sum);
}

bool weights_finite(const Globals *w, Err *e) {
  return sweep(w, &everything, &(Sweep){.finite = true, .own = true}, e);
}
