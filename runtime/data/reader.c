/* A thread that reads ahead: rows that stay on disk, and images, are read, decoded and converted
   for the next batch while the program computes. Contract: a batch is the same bytes as if it were
   read when it is taken. Rows are claimed one by one, so that threads that come for a batch too
   early help to finish it; the last one to take its rows asks for the next batch. What fails
   belongs to its batch: it is an error once that one is taken, and that of the first row of
   several. */
#include "runtime/data/rows.h"
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#define NONE UINT64_MAX
enum { ROW_BITS = 40, STACK_BYTES = 1 << 20 };
#define ROW_MASK ((UINT64_C(1) << ROW_BITS) - 1)
#define DEVICE_SECONDS 50e-6 /* below what any disk takes, and above a copy of most rows */

struct Reader {
  const Dataset *data;
  pthread_t thread;
  pthread_mutex_t lock; /* of what follows, but the counters */
  pthread_cond_t wake, finished;
  bool quit;
  uint64_t batch, rows; /* in memory, or being read; NONE */
  bool ahead;           /* it was asked for before it was needed */
  uint64_t job;         /* counts them, in the bits above those of a row */
  Err err;              /* of its first row that failed */
  uint64_t failed_row;
  _Atomic uint64_t claimed; /* the job, and its next row */
  _Atomic uint64_t done;    /* rows */
  _Atomic int taken;        /* threads that have their part */
  _Atomic uint64_t told;    /* the last job whose rows the system was told of */
  Err trouble;              /* of a batch that was taken */
  uint8_t *memory;          /* a batch of all columns that are read */
  double waited;            /* seconds, of thread 0 */
};

/* ---- rows ---- */
/* Converts a row to its place in a batch; by pieces, unless the types are the same. */
static bool read_row(const Column *c, uint64_t r, uint8_t *to, Err *e) {
  enum { PIECE = 2048 };
  uint64_t piece[PIECE], size = (uint64_t)elem_info[c->t->dtype].size;
  bool ok = true;
  if (c->type == (Elem)c->t->dtype) return column_read(c, r, 0, c->row_elems, to, e);
  if (c->images) { /* whole rows */
    uint8_t *room = column_room(c);
    ok = room ? column_read(c, r, 0, c->row_elems, room, e)
              : err_set(e, EXIT_ENV, "no memory to read %s", c->text);
    if (ok) elem_convert(to, (Elem)c->t->dtype, room, c->type, c->row_elems);
    free(room);
    return ok;
  }
  for (uint64_t k = 0; ok && k < c->row_elems; k += PIECE) {
    uint64_t n = c->row_elems - k < PIECE ? c->row_elems - k : PIECE;
    ok = column_read(c, r, k, n, piece, e);
    if (ok) elem_convert(to + k * size, (Elem)c->t->dtype, piece, c->type, n);
  }
  return ok;
}

static uint64_t row_bytes(const Column *c) {
  return c->row_elems * (uint64_t)elem_info[c->t->dtype].size;
}

static bool is_read(const Column *c) { return c->on_disk && !c->fixed; }

bool reader_bytes(const Dataset *d, uint64_t *at, uint64_t *offset) {
  uint64_t n;
  bool ok = true;
  *offset = *at;
  for (int i = 0; i < d->n; i++)
    if (is_read(&d->columns[i]))
      ok = ok && checked_mul(d->part, row_bytes(&d->columns[i]), &n) && checked_add(n, 64, &n) &&
           checked_add(*at, align_up(n, 64), at);
  return ok;
}

static uint8_t *place_of(const Reader *x, int column) {
  uint8_t *at = x->memory;
  for (int i = 0; i < column; i++) {
    const Column *c = &x->data->columns[i];
    if (is_read(c)) at += align_up(x->data->part * row_bytes(c) + 64, 64);
  }
  return at;
}

static void fail(Reader *x, uint64_t row, const Err *e) {
  pthread_mutex_lock(&x->lock);
  if (row < x->failed_row) x->failed_row = row, x->err = *e;
  pthread_mutex_unlock(&x->lock);
}

/* The rows from `first` on, which the system then reads together. */
static void advise(const Dataset *d, uint64_t batch, uint64_t first, uint64_t rows) {
  uint64_t together = d->shuffled ? 1 : rows - first;
  for (int i = 0; i < d->n; i++)
    for (uint64_t r = first; is_read(&d->columns[i]) && r < rows; r += together)
      column_advise(&d->columns[i], dataset_at(d, batch, r), together);
}

/* Claims rows of the job until there are none. The system is told of rows to come, by one thread,
   once a row has waited for a device: to tell it of rows that it has in memory costs as much as to
   read them. */
static void work(Reader *x, uint64_t job, uint64_t batch, uint64_t rows) {
  const Dataset *d = x->data;
  uint64_t v = atomic_load(&x->claimed);
  while (v >> ROW_BITS == job && (v & ROW_MASK) < rows) {
    if (!atomic_compare_exchange_weak(&x->claimed, &v, v + 1)) continue;
    uint64_t r = v & ROW_MASK;
    double begin = clock_now();
    for (int i = 0; i < d->n; i++) {
      const Column *c = &d->columns[i];
      Err e = {0};
      if (is_read(c) &&
          !read_row(c, dataset_at(d, batch, r), place_of(x, i) + r * row_bytes(c), &e))
        fail(x, r, &e);
    }
    if (clock_now() - begin > DEVICE_SECONDS && r + 1 < rows &&
        atomic_exchange(&x->told, job) != job)
      advise(d, batch, r + 1, rows);
    if (atomic_fetch_add(&x->done, 1) + 1 == rows) {
      pthread_mutex_lock(&x->lock);
      pthread_cond_broadcast(&x->finished);
      pthread_mutex_unlock(&x->lock);
    }
    v = atomic_load(&x->claimed);
  }
}

/* ---- jobs; the lock is held ---- */
static void wait_for(Reader *x) {
  while (x->batch != NONE && atomic_load(&x->done) < x->rows)
    pthread_cond_wait(&x->finished, &x->lock);
}

/* Nobody reads any more: rows that nobody has begun are given up. */
static void settle(Reader *x) {
  uint64_t v = atomic_exchange(&x->claimed, x->job << ROW_BITS | ROW_MASK), row = v & ROW_MASK;
  if (x->batch != NONE && row < x->rows) atomic_fetch_add(&x->done, x->rows - row);
  wait_for(x);
  x->batch = NONE;
}

static void ask(Reader *x, uint64_t batch, bool ahead) {
  x->batch = batch;
  uint64_t first;
  x->rows = dataset_part(x->data, batch, &first);
  x->ahead = ahead;
  x->failed_row = NONE;
  x->job = (x->job + 1) & (UINT64_MAX >> ROW_BITS);
  atomic_store(&x->done, 0);
  atomic_store(&x->claimed, x->job << ROW_BITS);
  pthread_cond_signal(&x->wake);
}

/* ---- the thread ---- */
static void *reader_main(void *arg) {
  Reader *x = arg;
  float_mode_set();
  (void)prctl(PR_SET_NAME, "reader"); /* as top shows it */
  pthread_mutex_lock(&x->lock);
  for (uint64_t last = 0; !x->quit;) {
    if (x->job == last || x->batch == NONE) {
      pthread_cond_wait(&x->wake, &x->lock);
      continue;
    }
    uint64_t job = last = x->job, batch = x->batch, rows = x->rows;
    pthread_mutex_unlock(&x->lock);
    work(x, job, batch, rows);
    pthread_mutex_lock(&x->lock);
  }
  pthread_mutex_unlock(&x->lock);
  return NULL;
}

/* ---- the dataset's ---- */
bool reader_start(Dataset *d, uint8_t *memory, Err *e) {
  Reader *x = calloc(1, sizeof *x);
  if (!x) return err_set(e, EXIT_ENV, "no memory to read rows");
  *x = (Reader){.data = d, .batch = NONE, .failed_row = NONE, .memory = memory};
  pthread_mutex_init(&x->lock, NULL);
  pthread_cond_init(&x->wake, NULL);
  pthread_cond_init(&x->finished, NULL);
  pthread_attr_t attr;
  sigset_t all, before;
  pthread_attr_init(&attr);
  pthread_attr_setstacksize(&attr, STACK_BYTES);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = pthread_create(&x->thread, &attr, reader_main, x);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attr);
  if (!error) {
    d->reader = x;
    return true;
  }
  free(x);
  return err_set(e, EXIT_ENV, "no thread to read rows: %s", strerror(error));
}

void reader_stop(Dataset *d) {
  Reader *x = d->reader;
  if (!x) return;
  pthread_mutex_lock(&x->lock);
  settle(x);
  x->quit = true;
  pthread_cond_signal(&x->wake);
  pthread_mutex_unlock(&x->lock);
  pthread_join(x->thread, NULL);
  pthread_cond_destroy(&x->wake);
  pthread_cond_destroy(&x->finished);
  pthread_mutex_destroy(&x->lock);
  free(x);
  d->reader = NULL;
}

/* Before the order of rows changes, and after. */
void reader_pause(const Dataset *d) {
  pthread_mutex_lock(&d->reader->lock);
  settle(d->reader);
  pthread_mutex_unlock(&d->reader->lock);
}

void reader_begin(const Dataset *d, uint64_t batch) {
  pthread_mutex_lock(&d->reader->lock);
  ask(d->reader, batch, true);
  pthread_mutex_unlock(&d->reader->lock);
}

void reader_fixed(const Dataset *d, const Column *c, uint8_t *to) {
  Reader *x = d->reader;
  Err e = {0};
  if (read_row(c, 0, to, &e)) return;
  pthread_mutex_lock(&x->lock);
  if (!x->trouble.code) x->trouble = e;
  pthread_mutex_unlock(&x->lock);
}

void reader_gather(const Dataset *d, uint8_t *inputs, uint64_t batch, int t, int nt) {
  Reader *x = d->reader;
  double begin = t == 0 ? clock_now() : 0;
  pthread_mutex_lock(&x->lock);
  if (x->batch != batch) {
    settle(x);
    ask(x, batch, false);
  }
  uint64_t job = x->job, rows = x->rows;
  bool ahead = x->ahead;
  pthread_mutex_unlock(&x->lock);
  work(x, job, batch, rows);
  pthread_mutex_lock(&x->lock);
  wait_for(x);
  pthread_mutex_unlock(&x->lock);
  if (t == 0 && ahead) x->waited += clock_now() - begin;
  uint64_t lo = rows * (uint64_t)t / (uint64_t)nt, hi = rows * (uint64_t)(t + 1) / (uint64_t)nt;
  for (int i = 0; i < d->n; i++) {
    const Column *c = &d->columns[i];
    uint64_t row = row_bytes(c);
    if (is_read(c) && !c->t->run_dims)
      memcpy(inputs + c->t->offset + lo * row, place_of(x, i) + lo * row, (hi - lo) * row);
    for (uint64_t r = lo; is_read(c) && c->t->run_dims && r < hi; r++)
      column_put(c, inputs, r, place_of(x, i) + r * row, (Elem)c->t->dtype);
  }
  if (atomic_fetch_add(&x->taken, 1) + 1 < nt) return;
  atomic_store(&x->taken, 0);
  pthread_mutex_lock(&x->lock);
  if (x->failed_row != NONE && !x->trouble.code) x->trouble = x->err;
  x->batch = NONE;
  if (batch + 1 < d->batches) ask(x, batch + 1, true);
  pthread_mutex_unlock(&x->lock);
}

bool dataset_trouble(const Dataset *d, Err *e) {
  Reader *x = d->reader;
  if (!x) return false;
  pthread_mutex_lock(&x->lock);
  bool failed = x->trouble.code != 0;
  if (failed) *e = x->trouble;
  pthread_mutex_unlock(&x->lock);
  return failed;
}

uint64_t dataset_reader(const GcEntry *e) {
  uint64_t bytes = STACK_BYTES;
  for (int i = 0; i < e->ninputs; i++) bytes += align_up(e->inputs[i].bytes + 64, 64);
  return bytes;
}

double dataset_waited(const Dataset *d) { return d->reader ? d->reader->waited : 0; }

void dataset_slow(const Dataset *d, char *out, size_t size) {
  const Column *c = NULL;
  for (int i = 0; i < d->n; i++)
    if (is_read(&d->columns[i]) && (!c || row_bytes(&d->columns[i]) > row_bytes(c)))
      c = &d->columns[i];
  if (!c)
    *out = 0;
  else if (!c->images)
    snprintf(out, size, "%s: a larger --data-memory keeps rows in memory; a local disk is faster",
             c->text);
  else if (c->kept < c->rows)
    snprintf(out, size,
             "%s: --data-memory %" PRIu64 "M keeps all images decoded, and smaller files decode "
             "faster",
             c->text, (c->rows * (c->row_elems + 1) >> 20) + 1);
  else
    snprintf(out, size,
             "%s: images are decoded once and stay in memory; files of the input's size decode "
             "faster",
             c->text);
}
