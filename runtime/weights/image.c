/* An image of a program's globals: their bytes as they lie in memory, packed and quantized, in a
   file that processes map instead of reading weights. Contract: see image.h. The file is one of
   safetensors. Its tensors, "globals+0x0", are runs of the region; long runs of zeros are left out.
   All begin at multiples of the largest page, so that they can be mapped where they belong; those
   of a large region of a huge page, by which weights are read about a tenth faster than by small
   ones if the file system has such pages. Its metadata tie it to the program's layout and initial
   values, to the files of weights and to its own bytes. Files that are as old as they were are not
   read again; copied ones are compared by a hash of their contents. */
#include "runtime/weights/image_pieces.h"
#include "runtime/weights/image_sum.h"
#include "runtime/weights/source.h"
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char begins[] = "{\"__metadata__\":{\"format\":\"gc\",\"" IMAGE_KEY "\":";
enum { PAGE = 1 << 16, GAP = 1 << 20 }; /* the largest page; zeros that are worth leaving out */

/* Where runs of a region of so many bytes begin and end. */
static uint64_t step_of(uint64_t all) { return all < HUGE_PAGE ? PAGE : HUGE_PAGE; }

/* ---- hashes ---- */

static uint64_t hash_number(uint64_t h, uint64_t v) { return image_hash(h, &v, sizeof v); }

static uint64_t hash_text(uint64_t h, const char *s) {
  return s ? image_hash(h, s, strlen(s) + 1) : hash_number(h, 0);
}

static uint64_t hash_tensor(uint64_t h, const GcTensor *t) {
  h = hash_text(h, t->name);
  h = image_hash(h, t->dims, (uint64_t)t->rank * sizeof *t->dims);
  for (int i = 0; t->order && i < t->rank; i++) h = hash_number(h, (uint64_t)t->order[i]);
  const uint64_t at[] = {t->dtype,  (uint64_t)t->rank,  t->bytes,
                         t->offset, (uint64_t)t->panel, (uint64_t)t->interleaved};
  return image_hash(h, at, sizeof at);
}

/* What decides the values of globals that no file has, but for the seed. */
static uint64_t hash_initial(uint64_t h, const GcProgram *p, const uint8_t *hypers) {
  h = hash_number(h, p->initial);
  for (int i = 0; p->init && i < p->init->nsteps; i++)
    for (int k = 0; k < p->init->steps[i].nargs; k++) {
      const GcArg *x = &p->init->steps[i].args[k];
      if (x->region == GC_HYPERS) h = image_hash(h, hypers + x->offset, x->bytes);
    }
  return weights_are_own()
             ? image_hash(h, gc_weights.begin, (uint64_t)(gc_weights.end - gc_weights.begin))
             : h;
}

/* What decides where globals lie, and what becomes of a file's tensors there. */
static uint64_t hash_program(const GcProgram *p) {
  uint64_t h = hash_number(hash_text(GCRT_ABI, p->version), p->globals_bytes);
  for (const GcGlobal *g = p->globals; g < p->globals + p->nglobals; g++) {
    h = hash_tensor(hash_text(hash_number(h, g->kind), g->origin), &g->t);
    const GcQuantized *q = g->quantized;
    const uint64_t how[] = {g->transposed,
                            g->transient,
                            g->master != NULL,
                            q ? (uint64_t)q->axis : 0,
                            q ? (uint64_t)q->bits : 0,
                            q ? (uint64_t)q->group : 0,
                            q && q->scales};
    h = image_hash(h, how, sizeof how);
    if (q) h = hash_tensor(h, &q->t);
  }
  return h;
}

/* ---- the files that it is of ---- */

static void each_part(const WeightsSource *s, int n, uint64_t *h,
                      uint64_t visit(uint64_t h, const struct stat *st)) {
  struct stat st;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < s[i].n; k++)
      if (fstat(s[i].part[k].file.fd, &st) == 0) *h = visit(*h, &st);
}

static uint64_t hash_age(uint64_t h, const struct stat *st) {
  const uint64_t all[] = {(uint64_t)st->st_ino,         (uint64_t)st->st_size,
                          (uint64_t)st->st_mtim.tv_sec, (uint64_t)st->st_mtim.tv_nsec,
                          (uint64_t)st->st_ctim.tv_sec, (uint64_t)st->st_ctim.tv_nsec};
  return image_hash(h, all, sizeof all);
}

static uint64_t hash_size(uint64_t h, const struct stat *st) {
  return hash_number(h, (uint64_t)st->st_size);
}

static bool hash_contents(const ImageOf *of, const WeightsSource *s, uint64_t *h, Err *e) {
  for (int i = 0; i < of->n; i++)
    for (int k = 0; k < s[i].n; k++) {
      const File *f = &s[i].part[k].file;
      for (uint64_t at = 0, n; at < f->size; at += n) {
        n = f->size - at < STAGE_BYTES ? f->size - at : STAGE_BYTES;
        if (!file_read(f, at, of->stage, n, e)) return false;
        *h = image_hash(*h, of->stage, n);
      }
    }
  return true;
}

/* Whether a global has an initial value that depends on the seed. */
static bool needs_seed(const ImageOf *of, const WeightsSource *s) {
  const GcProgram *p = of->program;
  for (const GcGlobal *g = p->globals; g < p->globals + p->nglobals; g++) {
    bool found = !g->random;
    WeightsTensor x;
    for (int i = 0; i < of->n && !found; i++) {
      const WeightsRequest *q = &of->request[i];
      found = q->want(g, q->view) && weights_find(&s[i], g, q->view ? q->view->scope : NULL, &x);
    }
    if (!found) return true;
  }
  return false;
}

enum { KEY_OF, KEY_SEED, KEY_AGE, KEY_CONTENT, KEY_SUM, KEYS };
static const char *const key_name[KEYS] = {IMAGE_KEY, IMAGE_KEY ".seed", IMAGE_KEY ".age",
                                           IMAGE_KEY ".content", IMAGE_KEY ".sum"};
typedef struct Keys {
  uint64_t at[KEYS];
} Keys;

static void make_keys(const ImageOf *of, const WeightsSource *s, Keys *k) {
  uint64_t h = hash_initial(hash_program(of->program), of->program, of->hypers);
  for (int i = 0; i < of->n; i++) {
    const WeightsView *v = of->request[i].view;
    h = hash_text(h, v ? v->scope : NULL);
    for (int p = 0; v && p < v->nwithout; p++) h = hash_text(h, v->without[p]);
    for (int p = 0; p < s[i].n; p++) h = hash_number(h, (uint64_t)i);
  }
  each_part(s, of->n, &h, hash_size);
  *k = (Keys){.at = {h, of->seed, h, h}};
  each_part(s, of->n, &k->at[KEY_AGE], hash_age);
}

static bool open_sources(const ImageOf *of, WeightsSource **out, Err *e) {
  WeightsSource *s = *out = calloc((size_t)of->n, sizeof *s);
  bool ok = s || err_set(e, EXIT_ENV, "no memory for the names of weights");
  for (int i = 0; ok && i < of->n; i++) ok = weights_open(&s[i], of->request[i].path, e);
  return ok;
}

static void close_sources(const ImageOf *of, WeightsSource *s) {
  for (int i = 0; s && i < of->n; i++) weights_close(&s[i]);
  free(s);
}

/* ---- reading ---- */

static bool key_is(const SafeTable *t, int key, uint64_t value) {
  char text[20];
  const SafeMeta *m = safe_meta(t, key_name[key]);
  snprintf(text, sizeof text, "%016" PRIx64, value);
  return m && text_is(m->value, text);
}

static uint64_t run_begin(const SafeEntry *x) {
  static const char prefix[] = "globals+0x";
  const uint64_t n = sizeof prefix - 1;
  char digits[17] = "";
  if (x->name.n <= n || x->name.n - n >= sizeof digits || memcmp(x->name.s, prefix, n) != 0)
    return UINT64_MAX;
  memcpy(digits, x->name.s + n, x->name.n - n);
  return strtoull(digits, NULL, 16);
}

/* Runs that lie in the region, at multiples of pages in it and in the file. */
static bool runs_fit(const SafeTable *t, uint64_t bytes) {
  for (uint64_t i = 0; i < t->n; i++) {
    const SafeEntry *x = &t->entries[i];
    uint64_t begin = run_begin(x), n = x->end - x->begin;
    if (x->type != (Elem)GC_U8 || begin % PAGE || (t->data + x->begin) % PAGE || begin > bytes ||
        n > bytes - begin)
      return false;
  }
  return true;
}

/* Whether the image is of these files: by their age, or by what is in them. */
static bool is_of(const ImageOf *of, const SafeTable *t, bool *is, Err *e) {
  WeightsSource *s;
  Keys k;
  bool ok = open_sources(of, &s, e);
  if (ok) make_keys(of, s, &k);
  *is = ok && key_is(t, KEY_OF, k.at[KEY_OF]) &&
        (key_is(t, KEY_SEED, of->seed) || !needs_seed(of, s));
  if (*is && !key_is(t, KEY_AGE, k.at[KEY_AGE])) {
    ok = hash_contents(of, s, &k.at[KEY_CONTENT], e);
    *is = ok && key_is(t, KEY_CONTENT, k.at[KEY_CONTENT]);
  }
  close_sources(of, s);
  return ok;
}

bool image_run(const Image *m, uint64_t i, ImageRun *run) {
  if (i >= m->table.n) return false;
  const SafeEntry *x = &m->table.entries[i];
  *run = (ImageRun){run_begin(x), x->end - x->begin, m->table.data + x->begin};
  return true;
}

/* Whether the runs are as they were written. */
static bool are_sound(const Image *m, const ImageOf *of, bool *sound, Err *e) {
  uint64_t sum = 0;
  ImageRun r;
  uint8_t *at = mmap(NULL, m->file.size, PROT_READ, MAP_PRIVATE, m->file.fd, 0);
  if (at == MAP_FAILED)
    return err_set(e, EXIT_ENV, "%s: cannot be mapped: %s", m->file.path, strerror(errno));
  madvise(at, m->file.size, MADV_HUGEPAGE); /* who maps the runs finds the pages that this reads */
  for (uint64_t i = 0; image_run(m, i, &r); i++)
    sum ^= image_sum(of, r.begin, at + r.at, r.bytes, true);
  munmap(at, m->file.size);
  *sound = key_is(&m->table, KEY_SUM, sum);
  return true;
}

/* A damaged one is known, too. */
static bool is_image(const File *f) {
  char head[sizeof begins];
  const uint64_t n = sizeof begins - 1;
  Err none = {0};
  return f->size > 8 + n && file_read(f, 8, head, n, &none) && memcmp(head, begins, n) == 0;
}

static const char *foreign(const File *f, const void *arg) {
  (void)arg;
  return is_image(f) ? NULL : "a safetensors file, but no image of weights";
}

static const OutKind kind = {"an image of weights", safe_is, foreign, NULL};

bool image_open(Image *m, const ImageOf *of, Err *e) {
  *m = (Image){.file = {.fd = -1}};
  struct stat st;
  Err damage = {0};
  if (stat(of->path, &st) != 0 || !S_ISREG(st.st_mode) || !st.st_size) return true;
  if (!file_open(&m->file, of->path, e)) return false;
  if (!is_image(&m->file)) {
    err_set(e, EXIT_USAGE, "%s: is no image of weights", of->path);
    err_hint(e, "image=FILE names the file that the image is written to");
    return false;
  }
  bool is = false, opened = safe_open(&m->table, &m->file, &damage);
  if (opened && !is_of(of, &m->table, &is, e)) return false;
  if (is && runs_fit(&m->table, of->program->globals_bytes) && !are_sound(m, of, &m->fits, e))
    return false;
  if (!m->fits) m->why = opened && !is ? "is of another program or of other weights" : "is damaged";
  return true;
}

void image_close(Image *m) {
  safe_free(&m->table);
  file_close(&m->file);
}

/* ---- writing ---- */

static bool is_zero(const uint8_t *p, uint64_t n) { return !*p && memcmp(p, p + 1, n - 1) == 0; }

/* The next run at or behind `at`; false: there is none. */
static bool next_run(const uint8_t *base, uint64_t all, uint64_t at, ImageRun *run) {
  uint64_t zeros = 0, begin = UINT64_MAX, end = 0, n;
  for (; at < all && (begin == UINT64_MAX || zeros < GAP); at += n) {
    n = all - at < step_of(all) ? all - at : step_of(all);
    if (is_zero(base + at, n)) {
      zeros += n;
      continue;
    }
    if (begin == UINT64_MAX) begin = at;
    end = at + n, zeros = 0;
  }
  *run = (ImageRun){.begin = begin, .bytes = end - begin};
  return begin != UINT64_MAX;
}

static char *header(const Keys *k, const uint8_t *base, uint64_t all, size_t *size) {
  char *text = NULL;
  uint64_t at = 0;
  FILE *f = open_memstream(&text, size);
  ImageRun r = {0};
  if (!f) return NULL;
  fprintf(f, "%s\"%016" PRIx64 "\"", begins, k->at[KEY_OF]);
  for (int i = KEY_OF + 1; i < KEYS; i++)
    fprintf(f, ",\"%s\":\"%016" PRIx64 "\"", key_name[i], k->at[i]);
  fputs("}", f);
  for (; next_run(base, all, r.begin + r.bytes, &r); at += r.bytes)
    fprintf(f,
            ",\"globals+0x%" PRIx64 "\":{\"dtype\":\"U8\",\"shape\":[%" PRIu64
            "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}",
            r.begin, r.bytes, at, at + r.bytes);
  fputs("}", f);
  for (long n = 8 + ftell(f); n % (long)step_of(all); n++) fputc(' ', f);
  bool ok = !ferror(f);
  if (fclose(f) == 0 && ok) return text;
  free(text);
  return NULL;
}

typedef struct Put { /* a run into a file */
  int fd;
  const uint8_t *base; /* of the region */
  uint64_t begin, to;  /* in the region, and in the file */
  _Atomic bool failed;
} Put;

static void put_piece(void *arg, uint64_t at, uint64_t n) {
  Put *p = arg;
  while (n && !p->failed) {
    ssize_t w = pwrite(p->fd, p->base + at, n, (off_t)(p->to + (at - p->begin)));
    if (w < 0 && errno == EINTR) continue;
    if (w <= 0)
      p->failed = true;
    else
      at += (uint64_t)w, n -= (uint64_t)w;
  }
}

/* Where a thread fails, the caller's tries once more, and says why. */
static bool put_run(OutFile *out, const ImageOf *of, const uint8_t *base, const ImageRun *r,
                    Err *e) {
  Put p = {.fd = out->fd, .base = base, .begin = r->begin, .to = r->at};
  image_pieces(of, r->begin, r->bytes, put_piece, &p);
  return !p.failed || out_patch(out, r->at, base + r->begin, r->bytes, e);
}

static bool put(OutFile *out, const ImageOf *of, const Keys *k, const uint8_t *base, Err *e) {
  const uint64_t all = of->program->globals_bytes;
  size_t size = 0;
  char *text = header(k, base, all, &size);
  uint64_t n = size, at = 8 + n;
  ImageRun r = {0};
  bool ok = text || err_set(e, EXIT_ENV, "no memory for the header of an image");
  ok = ok && out_write(out, &n, 8, e) && out_write(out, text, n, e);
  free(text);
  for (; ok && next_run(base, all, r.begin + r.bytes, &r); at += r.bytes) {
    r.at = at;
    ok = out->direct ? out_write(out, base + r.begin, r.bytes, e) : put_run(out, of, base, &r, e);
  }
  return ok;
}

bool image_prepare(OutFile *out, const ImageOf *of, Err *e) {
  const uint64_t all = of->program->globals_bytes;
  return out_prepare(out, of->path, &kind, all + step_of(all), e);
}

bool image_write(OutFile *out, const ImageOf *of, const uint8_t *base, Err *e) {
  WeightsSource *s;
  Keys k;
  ImageRun r = {0};
  const uint64_t all = of->program->globals_bytes;
  bool ok = open_sources(of, &s, e);
  if (ok) make_keys(of, s, &k);
  ok = ok && hash_contents(of, s, &k.at[KEY_CONTENT], e);
  close_sources(of, s);
  while (ok && next_run(base, all, r.begin + r.bytes, &r))
    k.at[KEY_SUM] ^= image_sum(of, r.begin, base + r.begin, r.bytes, false);
  ok = ok && out_begin(out, e);
  if (ok && !put(out, of, &k, base, e)) return out_abort(out), false;
  return ok && out_commit(out, e);
}
