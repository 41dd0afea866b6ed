/* Entries that do not train: once over all rows, or N times where there are no inputs; outputs are
   averaged, printed, written as .npy, shown as characters, or compared with a file. Contract: a
   scalar float output is averaged over the batches of more than one row; files are streamed and
   appear only when the run has ended well. */
#include "runtime/exec/run.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

enum { HALF = STAGE_BYTES / 2, ELEMS = HALF / 8 }; /* staging: this run's values, the file's */

typedef struct Expected {
  File file;
  Array array;
  uint64_t at, beyond, first; /* elements compared; out of tolerance; the first of those */
  double worst, got, want;
  bool on;
} Expected;

typedef struct Infer {
  Run *r;
  uint64_t runs;
  Expected *expected;
  bool tty;
} Infer;

uint64_t infer_bytes(const GcEntry *e) { return (uint64_t)e->noutputs * sizeof(Expected) + 256; }

static bool averaged(const Run *r, const GcTensor *t) {
  return r->data.n && r->data.batch > 1 && t->rank == 0 && elem_info[t->dtype].cls == ELEM_FLOATS;
}

static Elem file_elem(const GcTensor *t) {
  return t->dtype == GC_BF16 ? ELEM_F32 : (Elem)t->dtype; /* numpy has no bf16 */
}

/* ---- --OUTPUT FILE.npy ---- */
static bool begin_file(Infer *f, int i) {
  Run *r = f->r;
  const GcTensor *t = &r->entry.entry->outputs[i];
  uint64_t dims[ARRAY_RANK] = {1};
  if (t->rank > ARRAY_RANK)
    return err_set(&r->err, EXIT_WRONG, "%s: numpy has no arrays of %d axes", t->name, t->rank);
  int rank = t->rank ? t->rank : r->data.n || f->runs > 1;
  for (int k = 0; k < t->rank; k++) dims[k] = (uint64_t)t->dims[k];
  if (!checked_mul(dims[0], rank ? f->runs : 1, &dims[0]))
    return err_set(&r->err, EXIT_USAGE, "%s: too many rows", t->name);
  char head[2048];
  uint64_t n = npy_header(head, sizeof head, file_elem(t), rank, dims);
  return out_begin(&r->outputs[i], &r->err) && out_write(&r->outputs[i], head, n, &r->err);
}

static bool write_piece(Run *r, int i, const GcTensor *t, uint64_t first, uint64_t n) {
  tensor_get(t, run_at(r, t), first, n, r->stage);
  elem_convert(r->stage + HALF, file_elem(t), r->stage, (Elem)t->dtype, n);
  return out_write(&r->outputs[i], r->stage + HALF, n * (uint64_t)elem_info[file_elem(t)].size,
                   &r->err);
}

/* ---- --expect ---- */
static bool open_expected(Infer *f, int i) {
  Run *r = f->r;
  Expected *x = &f->expected[i];
  const GcTensor *t = &r->entry.entry->outputs[i];
  const char *path = r->o.outputs[i].expect;
  if (!file_open(&x->file, path, &r->err)) return false;
  x->on = true;
  uint64_t n = x->file.size < STAGE_BYTES ? x->file.size : STAGE_BYTES;
  if (!file_read(&x->file, 0, r->stage, n, &r->err)) return false;
  if (!npy_is(r->stage, n)) {
    err_set(&r->err, EXIT_WRONG, "%s: is no .npy file", path);
    return err_hint(&r->err, "write it with numpy.save, or with --%s FILE.npy", t->name);
  }
  if (!npy_parse(r->stage, n, &x->array, path, &r->err)) return false;
  uint64_t need, bytes = x->array.count * (uint64_t)elem_info[x->array.type].size;
  if (!checked_mul(tensor_count(t), f->runs, &need) || need != x->array.count) {
    err_set(&r->err, EXIT_WRONG,
            "%s: holds %" PRIu64 " elements, but the run makes %" PRIu64 " of %s", path,
            x->array.count, tensor_count(t) * f->runs, t->name);
    return err_hint(&r->err, "the outputs of all batches are compared, one after the other");
  }
  if (x->file.size - x->array.header != bytes) {
    err_set(&r->err, EXIT_WRONG,
            "%s: its header means %" PRIu64 " bytes of data, but there are %" PRIu64, path, bytes,
            x->file.size - x->array.header);
    return err_hint(&r->err, "the file is damaged or cut short; write it again");
  }
  return true;
}

static bool compare_piece(Run *r, Expected *x, const GcTensor *t, uint64_t first, uint64_t n) {
  uint64_t size = (uint64_t)elem_info[x->array.type].size;
  uint8_t *want = r->stage + HALF;
  if (!file_read(&x->file, x->array.header + x->at * size, want, n * size, &r->err)) return false;
  if (x->array.big) elem_swap(want, (int)size, n);
  tensor_get(t, run_at(r, t), first, n, r->stage);
  double rtol = r->o.given[OPT_RTOL] ? r->o.real[OPT_RTOL] : 1e-5,
         atol = r->o.given[OPT_ATOL] ? r->o.real[OPT_ATOL] : 1e-6;
  for (uint64_t i = 0; i < n; i++) {
    double a = elem_real(r->stage, (Elem)t->dtype, i), b = elem_real(want, x->array.type, i),
           d = fabs(a - b);
    if (a == b || (isnan(a) && isnan(b)) || d <= atol + rtol * fabs(b)) continue;
    if (isnan(d)) d = INFINITY;
    if (x->beyond++ == 0) x->first = x->at + i, x->got = a, x->want = b;
    if (d > x->worst) x->worst = d;
  }
  x->at += n;
  return true;
}

static bool judge(Infer *f) {
  Run *r = f->r;
  const GcEntry *e = r->entry.entry;
  for (int i = 0; i < e->noutputs; i++) {
    const Expected *x = &f->expected[i];
    if (!x->on) continue;
    if (x->beyond) {
      err_set(&r->err, EXIT_WRONG,
              "%s differs from %s: %" PRIu64 " of %" PRIu64 " elements; the first, element %" PRIu64
              ", is %.9g and should be %.9g; the largest difference is %.3g",
              e->outputs[i].name, x->file.path, x->beyond, x->at, x->first, x->got, x->want,
              x->worst);
      return err_hint(&r->err, "--rtol and --atol set what is allowed");
    }
    note(r, "%s is as in %s (%" PRIu64 " elements)", e->outputs[i].name, x->file.path, x->at);
  }
  return true;
}

/* ---- one run's outputs ---- */
static void print_text(Infer *f, const GcTensor *t) {
  Run *r = f->r;
  uint64_t all = tensor_count(t);
  for (uint64_t at = 0; at < all; at += HALF) {
    uint64_t n = all - at < HALF ? all - at : HALF;
    tensor_get(t, run_at(r, t), at, n, r->stage);
    bool bytes = false; /* a terminal gets no control bytes; a pipe gets what there is */
    for (uint64_t i = 0; f->tty && i < n; i++)
      bytes = bytes || (r->stage[i] < 0x20 && r->stage[i] != '\n' && r->stage[i] != '\t') ||
              r->stage[i] == 0x7F;
    if (bytes)
      text_print(stdout, (const char *)r->stage, n, true);
    else
      fwrite(r->stage, 1, n, stdout);
  }
  if (f->tty) fflush(stdout);
}

static void print_rows(const Run *r, uint64_t run) {
  if (!r->data.n || r->data.batches == 1) return;
  const Column *c = NULL;
  for (int i = 0; i < r->data.n && !c; i++)
    if (!r->data.columns[i].fixed) c = &r->data.columns[i];
  uint64_t first = (c ? c->first : 0) + run * r->data.batch;
  if (r->data.batch == 1)
    printf("[%" PRIu64 "] ", first);
  else
    printf("[%" PRIu64 ":%" PRIu64 "] ", first, first + r->data.batch);
}

static bool take(Infer *f, uint64_t run) {
  Run *r = f->r;
  const GcEntry *e = r->entry.entry;
  bool text = r->o.given[OPT_TEXT];
  for (int i = 0; i < e->noutputs; i++) {
    const GcTensor *t = &e->outputs[i];
    const OutputOption *o = &r->o.outputs[i];
    uint64_t all = tensor_count(t);
    for (uint64_t at = 0; at < all && (o->save || o->expect); at += ELEMS) {
      uint64_t n = all - at < ELEMS ? all - at : ELEMS;
      if (o->save && !write_piece(r, i, t, at, n)) return false;
      if (o->expect && !compare_piece(r, &f->expected[i], t, at, n)) return false;
    }
    if (o->text) print_text(f, t);
    if (averaged(r, t)) {
      r->sums[i] += output_scalar(r, t);
    } else if (!text && !o->save && !o->expect) {
      print_rows(r, run);
      output_print(r, t);
    }
  }
  return true;
}

static bool loop(Infer *f) {
  Run *r = f->r;
  const GcEntry *e = r->entry.entry;
  for (uint64_t run = 0; run < f->runs; run++) {
    uint64_t batch = r->data.n ? run : NO_BATCH;
    bool ends = signal_seen() || ferror(stdout); /* nobody reads on: main reports it */
    if (ends && !exec_ahead(r)) return true;
    r->env.step = run;
    r->more = !ends && run + 1 < f->runs;
    r->next = r->data.n ? run + 1 : NO_BATCH;
    exec_run(r, &r->entry, batch);
    if (exec_fault(r, e, batch) || !take(f, run)) return false;
  }
  return true;
}

static bool has_params(const GcProgram *p) {
  for (int i = 0; i < p->nglobals; i++)
    if (p->globals[i].kind == GC_PARAM) return true;
  return false;
}

static bool begin(Infer *f) {
  const bool *given = f->r->o.given;
  if (!given[OPT_LOAD] && !given[OPT_RESUME] && has_params(f->r->p))
    note(f->r, "without --load the parameters have their random initial values");
  for (int i = 0; i < f->r->entry.entry->noutputs; i++) {
    const OutputOption *o = &f->r->o.outputs[i];
    if (o->expect && !open_expected(f, i)) return false;
    if (o->save && !begin_file(f, i)) return false;
  }
  return true;
}

static bool end(Infer *f) {
  Run *r = f->r;
  const GcEntry *e = r->entry.entry;
  if (r->o.given[OPT_TEXT]) fputc('\n', stdout);
  for (int i = 0; i < e->noutputs; i++) {
    if (averaged(r, &e->outputs[i]))
      printf("%s = %.6g\n", e->outputs[i].name, r->sums[i] / (double)f->runs);
    if (r->o.outputs[i].save && !out_commit(&r->outputs[i], &r->err)) return false;
  }
  uint64_t rest = r->data.n ? r->data.rows - r->data.batches * r->data.batch : 0;
  if (rest)
    note(r, "%" PRIu64 " of %" PRIu64 " rows were left out: they fill no batch of %" PRIu64, rest,
         r->data.rows, r->data.batch);
  return judge(f) && weights_save(r, &r->err);
}

int infer_run(Run *r) {
  const GcEntry *e = r->entry.entry;
  Infer f = {.r = r,
             .runs = r->data.n               ? r->data.batches
                     : r->o.given[OPT_STEPS] ? r->o.count[OPT_STEPS]
                                             : 1};
  f.tty = isatty(STDOUT_FILENO) != 0;
  f.expected = memory_take(&r->mem, (uint64_t)e->noutputs * sizeof *f.expected);
  if (!memory_sound(&r->mem, &r->err)) return r->err.code;
  bool ok = begin(&f) && loop(&f);
  int sig = signal_seen();
  if (ok && !sig) ok = end(&f);
  for (int i = 0; i < e->noutputs; i++) {
    if (r->o.outputs[i].save) out_abort(&r->outputs[i]);
    if (f.expected[i].on) file_close(&f.expected[i].file);
  }
  return sig ? 128 + sig : ok ? 0 : r->err.code;
}
