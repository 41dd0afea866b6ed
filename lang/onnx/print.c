/* The program's text, and its weights as safetensors.
   Contract: params and states stand in scopes of their paths, each scope once; the weights' names
   are those paths below `net`, as every program of gc has them. */
#include "ir/support/memfile.h"
#include "lang/elab/elab.h"
#include "lang/onnx/import.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>

/* ---- params and states ---- */

/* The length of the first scope of a path, "layer1.0" of "layer1.0.conv1.weight"; 0: there is none.
 */
static size_t scope_of(const char *path) {
  size_t n = strcspn(path, ".");
  if (!path[n]) return 0;
  size_t digits = strspn(path + n + 1, "0123456789");
  return digits && path[n + 1 + digits] == '.' ? n + 1 + digits : n;
}

static int by_path(const void *a, const void *b) {
  const Weight *x = a, *y = b;
  return strcmp(x->path, y->path);
}

static void indent(FILE *f, int depth) { fprintf(f, "%*s", 2 * depth, ""); }

/* Weights [from, to) have the first `done` bytes of their paths in common, which are open. */
static void print_weights(FILE *f, Import *im, uint32_t from, uint32_t to, size_t done, int depth) {
  for (uint32_t i = from, end; i < to; i = end) {
    const Weight *w = &im->weights.at[i];
    const char *rest = w->path + done;
    size_t n = scope_of(rest);
    end = i + 1;
    indent(f, depth);
    if (!n) {
      fprintf(f, "%s %s : %s%s = zeros()", w->trained ? "param" : "state", rest,
              elem_of(w->value->type)->gc, shape_text(im, &w->value->shape));
      if (im->used) fprintf(f, " from \"%s.%s\"", im->def, w->path);
      fprintf(f, strcmp(rest, w->name) == 0 ? "\n" : "; %s = %s\n", w->name, rest);
      continue;
    }
    while (end < to && strncmp(im->weights.at[end].path + done, rest, n + 1) == 0 &&
           scope_of(im->weights.at[end].path + done) == n)
      end++;
    size_t name = strcspn(rest, ".");
    if (name < n)
      fprintf(f, "scope %.*s[%.*s] {\n", (int)name, rest, (int)(n - name - 1), rest + name + 1);
    else
      fprintf(f, "scope %.*s {\n", (int)n, rest);
    print_weights(f, im, i, end, done + n + 1, depth + 1);
    indent(f, depth);
    fputs("}\n", f);
  }
}

/* ---- def and entry ---- */

/* The type of an input. The first axis of an entry that has a symbol declares it, that of a def
   where it stands alone: until then sums have names of their own. */
static void print_type(FILE *f, Import *im, const Tensor *v, bool bounds, bool *seen) {
  fputs(elem_of(v->type)->gc, f);
  for (int i = 0; i < v->shape.rank; i++) {
    Axis d = v->shape.at[i];
    Symbol *s = d.symbol ? &im->symbols[d.symbol - 1] : NULL;
    bool *known = s ? &seen[d.symbol - 1] : NULL;
    const bool alone = d.n == 1 && !d.more, own = known && !*known && !bounds && !alone;
    const char *name = own ? name_new(im, s->name) : dim_text(im, d);
    fprintf(f, "%s%s", i ? ", " : "[", name);
    if (own && !s->first) s->first = name, s->of = d;
    if (known && !*known && bounds) fprintf(f, " <= %" PRId64, d.n * s->bound + d.more);
    if (known && !own) *known = true;
  }
  if (v->shape.rank) fputc(']', f);
}

/* Of an option of the program. */
static const char *option_name(Import *im, Map *taken, const char *wish) {
  char *name = arena_strdup(im->a, wish);
  size_t k = 0;
  for (const char *p = wish; *p; p++)
    if (isascii((unsigned char)*p) && (isalnum((unsigned char)*p) || *p == '_'))
      name[k++] = *p;
    else if (k && name[k - 1] != '_')
      name[k++] = '_';
  while (k > 1 && name[k - 1] == '_') k--;
  name[k] = 0;
  const char *base =
      isdigit((unsigned char)name[0]) || !k ? arena_printf(im->a, "_%s", name) : name;
  uint32_t what;
  bool word = map_get(&im->names, intern(im->c, base), &what) && what == NAME_WORD;
  if (program_has_option(base) || word) base = arena_printf(im->a, "%s_", base);
  const char *try = intern(im->c, base);
  for (int i = 2; map_get(taken, try, &what); i++) try = intern_printf(im->c, "%s_%d", base, i);
  map_put(im->a, taken, try, 1);
  return try;
}

static void print_net(FILE *f, Import *im) {
  bool seen[MOST_SYMBOLS] = {false};
  fprintf(f, "def %s(", im->def);
  for (uint32_t i = 0; i < im->inputs.n; i++) {
    const Tensor *v = im->inputs.at[i];
    fprintf(f, "%s%s : ", i ? ", " : "", v->name);
    print_type(f, im, v, false, seen);
  }
  fputs(") {\n", f);
  for (int i = 0; i < im->nsymbols; i++) {
    const Symbol *s = &im->symbols[i];
    if (!seen[i] && s->first && s->of.more)
      fprintf(f, "  %s = (%s - %" PRId64 ") // %" PRId64 "\n", s->name, s->first, s->of.more,
              s->of.n);
    else if (!seen[i] && s->first)
      fprintf(f, "  %s = %s // %" PRId64 "\n", s->name, s->first, s->of.n);
  }
  print_weights(f, im, 0, im->weights.n, 0, 1);
  for (uint32_t i = 0; i < im->statements.n; i++) {
    const Statement *s = &im->statements.at[i];
    if (!*s->text) continue; /* of a loop without a condition */
    indent(f, 1 + s->block);
    fprintf(f, s->note ? "%s  # %s\n" : "%s\n", s->text, s->note);
  }
  for (uint32_t i = 0; i < im->outputs.n; i++)
    fprintf(f, "%s%s", i ? ", " : "  return ", im->outputs.at[i].text);
  fputs("\n}\n\n", f);
}

/* The inputs of an entry; the names of which are given back as a call's arguments. */
static const char *print_inputs(FILE *f, Import *im, Map *taken, bool *seen) {
  const char *call = "";
  for (uint32_t i = 0; i < im->inputs.n; i++) {
    const Tensor *v = im->inputs.at[i];
    const char *name = option_name(im, taken, v->wish);
    fprintf(f, "%s%s : ", i ? ", " : "", name);
    print_type(f, im, v, true, seen);
    call = arena_printf(im->a, "%s%s%s", call, i ? ", " : "", name);
  }
  return call;
}

static void print_results(FILE *f, const Import *im) {
  for (uint32_t i = 0; i < im->outputs.n; i++) fprintf(f, "%so%u", i ? ", " : "  ", i);
}

static void print_entry(FILE *f, Import *im) {
  Map taken = {0}, outputs = {0};
  bool seen[MOST_SYMBOLS] = {false};
  fputs("entry predict(", f);
  const char *call = print_inputs(f, im, &taken, seen);
  fputs(") {\n", f);
  if (im->outputs.n == 1) {
    fprintf(f, "  return %s = net(%s)\n}\n", option_name(im, &outputs, im->outputs.at[0].name),
            call);
    return;
  }
  print_results(f, im);
  fprintf(f, " = net(%s)\n  return ", call);
  for (uint32_t i = 0; i < im->outputs.n; i++)
    fprintf(f, "%s%s = o%u", i ? ", " : "", option_name(im, &outputs, im->outputs.at[i].name), i);
  fputs("\n}\n", f);
}

static void print_train(FILE *f, Import *im, const Train *t) {
  Map taken = {0};
  bool seen[MOST_SYMBOLS] = {false};
  map_put(im->a, &taken, intern(im->c, "lr"), 1);
  fputs("hyper lr = 1e-3\n\nentry train(", f);
  const char *call = print_inputs(f, im, &taken, seen);
  const char *target = option_name(im, &taken, "target");
  fprintf(f, ", %s : %s) {\n", target, t->target);
  print_results(f, im);
  fprintf(f, " = net(%s)\n  loss = ", call);
  if (t->flat) target = arena_printf(im->a, "reshape(%s, %s)", target, t->flat);
  for (const char *p = t->call; *p; p++)
    if (*p == '%') {
      fputs(p == strchr(t->call, '%') ? t->read : target, f);
      p++;
    } else {
      fputc(*p, f);
    }
  fprintf(f, "\n  minimize loss with %s\n  return loss\n}\n\n", t->optimizer);
}

const OnnxProgram *print_program(Import *im, int64_t version) {
  MemFile m;
  Train train;
  if (im->train && !train_find(im, &train)) return NULL;
  FILE *f = memfile_open(&m);
  const char *slash = strrchr(im->path, '/');
  if (im->weights.n) qsort(im->weights.at, im->weights.n, sizeof(Weight), by_path);
  fprintf(f, "# Imported by gc " GC_VERSION " from ONNX: %s, opset %lld",
          slash ? slash + 1 : im->path, (long long)version);
  for (const char *p = im->model->producer_name; p && *p; p++) {
    if (p == im->model->producer_name) fputs(", written by ", f);
    if ((unsigned char)*p >= ' ' && (unsigned char)*p < 127) fputc(*p, f);
  }
  fputs("\n", f);
  print_net(f, im);
  if (im->train) print_train(f, im, &train);
  if (!im->used) print_entry(f, im);
  memfile_close(&m);
  OnnxProgram *p = ARENA_NEW(im->a, OnnxProgram);
  *p = (OnnxProgram){im, arena_strdup(im->a, m.text), m.n};
  memfile_free(&m);
  return p;
}

const char *onnx_text(const OnnxProgram *p, size_t *n) { return *n = p->n, p->text; }

/* ---- weights ---- */

bool onnx_has_weights(const OnnxProgram *p) { return p->im->weights.n > 0; }

/* Elements of a bounded dimension are none of a weight. */
static uint64_t elements(const Tensor *v) {
  uint64_t n = 0;
  (void)shape_count(&v->shape, &n);
  return n;
}

static uint64_t bytes_of(const Tensor *v) { return elements(v) * (uint64_t)elem_of(v->type)->size; }

/* Tensors of whole runs of so many bytes stand first: so all of them begin at a multiple, where the
   program can map them (Global.weights_at). */
enum { RUN = 64, TURNS = 2 };
static bool is_turn(const Tensor *v, int turn) { return (bytes_of(v) % RUN != 0) == turn; }

static void print_header(FILE *f, const OnnxProgram *const *p, int n) {
  uint64_t at = 0;
  fprintf(f, "{\"__metadata__\":{\"format\":\"%s\",\"gc.by\":\"import\"}",
          p[0]->im->used ? "onnx" : "gc");
  for (int t = 0; t < n * TURNS; t++) {
    const int k = t % n, turn = t / n;
    for (uint32_t i = 0; i < p[k]->im->weights.n; i++) {
      const Weight *w = &p[k]->im->weights.at[i];
      const Tensor *v = w->value;
      uint64_t bytes = bytes_of(v);
      if (!is_turn(v, turn)) continue;
      fprintf(f, ",\"%s.%s\":{\"dtype\":\"%s\",\"shape\":[", p[k]->im->def, w->path,
              elem_of(v->type)->safe);
      for (int d = 0; d < v->shape.rank; d++)
        fprintf(f, "%s%" PRId64, d ? "," : "", v->shape.at[d].n);
      fprintf(f, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", at, at + bytes);
      at += bytes;
    }
  }
  fputc('}', f);
}

static bool write_elements(FILE *f, Import *im, const Tensor *v, uint8_t *room, uint64_t most,
                           const char **why) {
  uint64_t all = elements(v), size = (uint64_t)elem_of(v->type)->size;
  for (uint64_t at = 0; at < all; at += most) {
    uint64_t n = all - at < most ? all - at : most;
    if (v->tensor && !tensor_bytes(im, v->tensor, at, n, room, why)) return false;
    for (uint64_t i = 0; !v->tensor && i < n; i++)
      number_put(v->type, v->known[at + i], room + i * size);
    if (fwrite(room, size, n, f) != n) return true; /* the caller sees ferror */
  }
  return true;
}

bool onnx_write_weights(const OnnxProgram *const *p, int count, FILE *f) {
  enum { AT_ONCE = 1 << 17 };
  MemFile m;
  print_header(memfile_open(&m), p, count);
  memfile_close(&m);
  uint64_t n = (m.n + 7) / 8 * 8;
  uint8_t *room = malloc(AT_ONCE * 8);
  if (!room) out_of_memory();
  fwrite(&n, 8, 1, f);
  fprintf(f, "%s%*s", m.text, (int)(n - m.n), "");
  memfile_free(&m);
  bool ok = true;
  for (int t = 0; t < count * TURNS && ok; t++) {
    Import *im = p[t % count]->im;
    for (uint32_t i = 0; i < im->weights.n && ok; i++) {
      const Tensor *v = im->weights.at[i].value;
      const char *why = "";
      ok = !is_turn(v, t / count) || write_elements(f, im, v, room, AT_ONCE, &why);
      if (!ok) diag(im->c, SEV_ERROR, im->at, "%s: %s", im->path, why);
    }
  }
  free(room);
  return ok;
}
