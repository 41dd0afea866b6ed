/* Reads weights from safetensors, and says which files of weights may be replaced. Contract: names,
   types and shapes of the files must be the program's; nothing is stored before all of them have
   been compared, so that a file that does not fit changes nothing. */
#include "runtime/weights/weights.h"
#include "runtime/base/paths.h"
#include "runtime/weights/source.h"
#include <stdlib.h>
#include <string.h>

typedef struct Reading { /* the files that are read together */
  WeightsSource *source;
  const WeightsRequest *request;
  int n;
} Reading;

/* ---- what they have ---- */

static const char *scope_of(const WeightsRequest *q) { return q->view ? q->view->scope : NULL; }

static bool finds(const Reading *r, int i, const GcGlobal *g, WeightsTensor *x) {
  const WeightsRequest *q = &r->request[i];
  return q->want(g, q->view) && weights_find(&r->source[i], g, scope_of(q), x);
}

static bool is_elsewhere(const Reading *r, int i, const GcGlobal *g) {
  WeightsTensor x;
  for (int k = 0; k < r->n; k++)
    if (k != i && finds(r, k, g, &x)) return true;
  return false;
}

static bool is_wanted_later(const Reading *r, int i, const GcGlobal *g) {
  for (int k = i + 1; k < r->n; k++)
    if (r->request[k].want(g, r->request[k].view)) return true;
  return false;
}

/* Scales of what a param is multiplied by, which programs read that quantize activations by them.
 */
static const char input_scale[] = ".input_scale";

static bool ends_as_input_scale(const char *name, size_t n) {
  const size_t end = sizeof input_scale - 1;
  return n > end && memcmp(name + n - end, input_scale, end) == 0;
}

static bool is_input_scale(JsonText name, const GcGlobal *g) {
  if (g->kind != GC_PARAM || !ends_as_input_scale(name.s, name.n)) return false;
  name.n -= sizeof input_scale - 1;
  return text_is(name, g->quantized ? g->quantized->t.name : g->t.name);
}

static bool is_known(JsonText name) {
  for (int i = 0; i < gc_program.nglobals; i++) {
    const GcGlobal *g = &gc_program.globals[i];
    if (text_is(name, g->t.name) || (g->origin && text_is(name, g->origin)) ||
        (g->other_origin && text_is(name, g->other_origin)) ||
        (g->quantized && text_is(name, g->quantized->t.name)) || is_input_scale(name, g))
      return true;
  }
  return false;
}

/* Published weights may hold more than the program reads, such as masks and other heads; they are
   known to be meant by the names that the program has for them. */
static bool may_hold_more(const WeightsSource *s, const WeightsRequest *q) {
  bool named = false;
  for (int i = 0; i < gc_program.nglobals; i++) named |= gc_program.globals[i].origin != NULL;
  return scope_of(q) || (s->published && named);
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

static const char *name_of(const GcGlobal *g) {
  return g->quantized ? g->quantized->t.name : g->t.name;
}

/* The layer of a path as without= would name it, or any layer of that name, as an adapter's. */
static void layer_of(const char *path, bool any, char out[240]) {
  const char *end = strrchr(path, '.'), *begin = end ? end : path + strlen(path);
  const int whole = (int)(begin - path);
  while (begin > path && begin[-1] != '.') begin--;
  if (any && begin > path)
    snprintf(out, 240, "*.%.*s", whole - (int)(begin - path), begin);
  else
    snprintf(out, 240, "%.*s", whole, path);
}

/* All params below it are missing, but not all that there are; of a name that any layer may have,
   those of several layers. */
static bool is_missing(const Reading *r, const char *layer, bool any) {
  WeightsTensor x;
  char first[240] = "", own[240], pattern[240];
  bool several = false, rest = false;
  for (int i = 0; i < gc_program.nglobals; i++) {
    const GcGlobal *g = &gc_program.globals[i];
    const char *name = name_of(g);
    const bool below = path_is_below(name, layer);
    if (g->kind != GC_PARAM) continue;
    rest |= !below && finds(r, 0, g, &x);
    if (!below) continue;
    if (finds(r, 0, g, &x)) return false;
    layer_of(name, true, pattern);
    layer_of(name, false, own);
    if (strcmp(pattern, layer) != 0) continue; /* it lies deeper */
    several |= *first && strcmp(first, own) != 0;
    memcpy(first, own, sizeof first);
  }
  return rest && (several || !any);
}

static bool lacks(const Reading *r, const WeightsSource *s, const GcGlobal *g, Err *e) {
  bool named = s->published && g->origin;
  const char *name = name_of(g);
  if (r->n > 1) {
    err_set(e, EXIT_WRONG, "--load: no file has a tensor %s", name);
    return err_hint(e, "each param is to be in one of the files; without=PATH behind one of them "
                       "leaves out a part of the model");
  }
  err_set(e, EXIT_WRONG, "%s: has no tensor %s%s%s", s->path, name, named ? " or " : "",
          named ? g->origin : "");
  if (ends_as_input_scale(name, strlen(name)))
    return err_hint(e, "a program that gc compiles with --weights=w8a8,calibrate finds it, and "
                       "writes it with --save");
  char layer[240];
  for (int any = 1; any >= 0; any--) { /* first the name that leaves out most */
    layer_of(name, any, layer);
    if (is_missing(r, layer, any))
      return err_hint(e, "--load %s,without=%s reads the rest, and leaves the initial values there",
                      s->path, layer);
  }
  return err_hint(e, "the file belongs to another model; --load FILE,scope=PATH reads only a "
                     "part of the weights, FILE,without=PATH all but a part");
}

static bool compare_all(const Reading *r, int i, Err *e) {
  const WeightsSource *s = &r->source[i];
  const WeightsRequest *q = &r->request[i];
  int loaded = 0;
  for (int k = 0; k < gc_program.nglobals; k++) {
    const GcGlobal *g = &gc_program.globals[k];
    WeightsTensor x;
    if (!q->want(g, q->view)) continue;
    bool found = finds(r, i, g, &x);
    if (found && !weights_fits(s, &x, g, q->nmeta > 0, e)) return false;
    loaded += found;
    if (found || is_elsewhere(r, i, g) || (q->unused && q->unused[k])) continue;
    if (q->need(g, q->view)) return lacks(r, s, g, e);
    const bool to_be_found =
        g->kind != GC_PARAM && ends_as_input_scale(g->t.name, strlen(g->t.name));
    if (q->absent && !to_be_found && !is_wanted_later(r, i, g) && !q->absent->n++)
      q->absent->first = g;
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

typedef struct Put {
  const Globals *w;
  const GcGlobal *g;
} Put;

static bool put_piece(void *to, const GcTensor *t, uint64_t at, uint64_t n, const void *data,
                      Err *e) {
  const Put *p = to;
  slices_put(p->w, p->g, at, n, data);
  return true;
}

/* A table of the program's own weights of which runs read some rows: the pages of its file. */
static bool map_own(const Globals *w, const WeightsTensor *x, const GcGlobal *g) {
  const SafeEntry *in = x->entry;
  const WeightsPart *p = x->part;
  const bool alike = !x->floats && !x->transposed && in->type == (Elem)g->t.dtype && !g->t.panel &&
                     !g->t.order && !g->ranks && in->end - in->begin == g->t.bytes;
  return w->map_own && g->by_rows && p->file.memory && alike &&
         w->map_own(w->base + g->t.offset, p->file.memory + p->table.data + in->begin, g->t.bytes);
}

/* The selected tensors, first looked at, then taken over. */
static bool read_all(const Globals *w, const Reading *r, int from, bool look, Err *e) {
  for (int i = 0; i < w->program->nglobals; i++) {
    const GcGlobal *g = &w->program->globals[i];
    WeightsTensor x;
    Put put = {w, g};
    if ((look && g->t.dtype != GC_BOOL) || !finds(r, from, g, &x)) continue;
    if (!look && map_own(w, &x, g)) continue;
    if (look       ? !weights_pieces(&x, &g->t, w->stage, check_piece, x.part->path, e)
        : x.floats ? !weights_quantize(&x, g, w->stage, put_piece, &put, e)
                   : !weights_pieces(&x, &g->t, w->stage, put_piece, &put, e))
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

static bool is_no_image(const WeightsSource *s, Err *e) {
  if (!safe_meta(&s->part[0].table, IMAGE_KEY)) return true;
  err_set(e, EXIT_WRONG, "%s: is an image of weights, not the weights", s->path);
  return err_hint(e, "name the file that it is of, and the image behind it: FILE,image=FILE");
}

static bool check_sources(const Globals *w, const Reading *r, Err *e) {
  for (int i = 0; i < r->n; i++) {
    const WeightsRequest *q = &r->request[i];
    const WeightsSource *s = &r->source[i];
    if (!is_no_image(s, e) || !read_meta(&s->part[0].table, s->path, q->meta, q->nmeta, e) ||
        !compare_all(r, i, e) || !read_all(w, r, i, true, e))
      return false;
  }
  return true;
}

/* Makes the copies of params in other dtypes anew; those of all ranks' runs an entry makes. */
static void convert_masters(const Globals *w) {
  uint8_t *from = w->stage, *to = w->stage + STAGE_BYTES / 2;
  for (int i = 0; i < w->program->nglobals; i++) {
    const GcTensor *copy = &w->program->globals[i].t;
    const GcGlobal *master = w->program->globals[i].master;
    if (master && master->ranks) continue;
    uint64_t all = master ? tensor_count(copy) : 0;
    uint64_t piece = master ? STAGE_BYTES / 2 / (uint64_t)elem_info[master->t.dtype].size : 0;
    for (uint64_t at = 0; at < all; at += piece) {
      uint64_t n = all - at < piece ? all - at : piece;
      tensor_get(&master->t, w->base + master->t.offset, at, n, from);
      elem_convert(to, (Elem)copy->dtype, from, (Elem)master->t.dtype, n);
      tensor_put(copy, w->base + copy->offset, at, n, to);
    }
  }
}

static bool read_sources(const Globals *w, const Reading *r, Err *e) {
  if (!check_sources(w, r, e)) return false;
  for (int i = 0; i < r->n; i++)
    if (!read_all(w, r, i, false, e)) return false;
  convert_masters(w);
  return true;
}

static bool each_source(const Globals *w, const WeightsRequest *q, int n,
                        bool visit(const Globals *w, const Reading *r, Err *e), Err *e) {
  Reading r = {.source = calloc((size_t)n, sizeof *r.source), .request = q};
  bool ok = r.source || err_set(e, EXIT_ENV, "no memory for the names of weights");
  for (; ok && r.n < n; r.n += ok) ok = weights_open(&r.source[r.n], q[r.n].path, e);
  ok = ok && visit(w, &r, e);
  for (int i = 0; i < r.n; i++) weights_close(&r.source[i]);
  free(r.source);
  return ok;
}

/* The programs of several targets have the same globals beside their copies. */
static bool is_unused(const WeightsRequest *q, const GcGlobal *g) {
  for (int i = 0; q->unused && i < gc_program.nglobals; i++)
    if (q->unused[i] && strcmp(gc_program.globals[i].t.name, g->t.name) == 0) return true;
  return false;
}

static bool has_params(const Globals *w, const Reading *r, Err *e) {
  bool all = true;
  (void)e;
  for (int i = 0; i < w->program->nglobals; i++) {
    const GcGlobal *g = &w->program->globals[i];
    all &= !choose_params(g, NULL) || is_elsewhere(r, -1, g) || is_unused(r->request, g);
  }
  return all;
}

bool weights_spare(const GcProgram *p, const WeightsRequest *q, int n, unsigned *kinds, Err *e) {
  const Globals w = {.program = p};
  *kinds = each_source(&w, q, n, has_params, e) ? 1U << GC_PARAM : 0;
  return !e->code;
}

bool weights_read(const Globals *w, const WeightsRequest *q, int n, Err *e) {
  return each_source(w, q, n, read_sources, e);
}

bool weights_check(const Globals *w, const WeightsRequest *q, int n, Err *e) {
  return each_source(w, q, n, check_sources, e);
}

/* ---- what may be replaced ---- */

/* What a file is whose tensors are not those that are written; NULL: they are. */
static const char *other_tensors(const WeightsSource *s, GlobalChoice *choose,
                                 const WeightsView *v) {
  Err none = {0};
  uint64_t chosen = 0, found = 0, there = 0;
  const WeightsRequest all = {.want = choose, .need = choose, .view = v};
  const Reading r = {(WeightsSource *)s, &all, 1};
  WeightsTensor x;
  for (int i = 0; i < gc_program.nglobals; i++) {
    chosen += choose(&gc_program.globals[i], v);
    found += finds(&r, 0, &gc_program.globals[i], &x);
  }
  for (int p = 0; p < s->n; p++) there += s->part[p].table.n;
  bool of_model = compare_rest(s, &(WeightsRequest){0}, &none);
  if (of_model && v && (there != chosen || found != chosen))
    return "a file of another part of the model";
  if (of_model && there == chosen && compare_all(&r, 0, &none)) return NULL;
  return "the file of another model, or of another size of this one";
}

/* A file of weights, or a checkpoint, that is no file of this program's tensors. */
static const char *foreign(const File *f, GlobalChoice *choose, const WeightsView *v,
                           bool checkpoint) {
  WeightsSource s;
  Err none = {0};
  if (!weights_open(&s, f->path, &none)) return "a damaged safetensors file";
  const SafeTable *t = &s.part[0].table;
  bool is_checkpoint = safe_meta(t, CHECKPOINT_KEY) != NULL;
  const char *what = NULL;
  if (s.published && !safe_meta(t, PUBLISHED_KEY))
    what = "a safetensors file that gc did not write";
  else if (is_checkpoint != checkpoint)
    what = is_checkpoint ? "a checkpoint" : "a file of weights";
  else if (s.published != (v && v->published))
    what = s.published ? "a file of weights with published names" : "a file of weights with paths";
  else
    what = other_tensors(&s, choose, v);
  weights_close(&s);
  return what;
}

static const char *foreign_weights(const File *f, const void *view) {
  return foreign(f, choose_saved, view, false);
}

static const char *foreign_checkpoint(const File *f, const void *arg) {
  return foreign(f, choose_all, NULL, true);
}

OutKind weights_kind(const WeightsView *v) {
  return (OutKind){"a safetensors file", safe_is, foreign_weights, v};
}

const OutKind out_checkpoint = {"a safetensors file", safe_is, foreign_checkpoint, NULL};

/* ---- the program's own: gc has compared them with its globals ---- */

bool weights_read_own(const Globals *w, Err *e) {
  WeightsSource s;
  const WeightsRequest q = {.want = choose_own, .need = choose_none};
  if (!weights_are_own()) return true;
  if (!weights_open_own(&s, e)) return false;
  bool ok = read_sources(w, &(Reading){&s, &q, 1}, e);
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
    all &= !choose_params(&program->globals[i], NULL) ||
           weights_find(&s, &program->globals[i], NULL, &x);
  weights_close(&s);
  return all;
}
