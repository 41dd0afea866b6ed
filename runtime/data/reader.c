/* Rows that are not in memory: on disk, or images to be decoded. The threads that take a batch read
   them, straight to their places in the inputs, each as many as it comes to. A thread of its own
   reads the next batch ahead, while the program computes, where that pays: a CPU has nothing else
   to do, or rows wait for a device. Beside a computation on all CPUs it would only take one from a
   thread that all others wait for.
   Contract: a batch is the same bytes whoever reads it. Rows are claimed by a counter; those that
   the reader claimed before anyone came for the batch lie in a memory of their own, from which they
   are copied. What fails belongs to its batch: it is an error once that one is taken, and that of
   the first row of several. */
#include "runtime/data/rows.h"
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#define NONE UINT64_MAX
enum { ROW_BITS = 40, STACK_BYTES = 1 << 20, PARTS = 4 /* of a thread's share, at first */ };
#define ROW_MASK ((UINT64_C(1) << ROW_BITS) - 1)
#define TAKEN (UINT64_C(1) << ROW_BITS) /* rows claimed from here on go to the inputs */
#define JOB (ROW_BITS + 1)
#define DEVICE_SECONDS 50e-6 /* below what any disk takes, and above a copy of most rows */
#define WORTH 50e-6 /* seconds of reading; to wake a thread and to copy its rows takes a third */

struct Reader {
  const Dataset *data;
  pthread_t thread;
  pthread_mutex_t lock; /* of what follows, but what is atomic */
  pthread_cond_t wake, finished;
  bool quit;
  uint64_t rows;
  bool ahead;   /* the thread takes part in the job */
  uint64_t job; /* counts batches */
  Err err;      /* of its first row that failed */
  uint64_t failed_row;
  _Atomic uint64_t batch;    /* of the job; NONE */
  _Atomic uint64_t claimed;  /* the job, whether it is taken, and its next row */
  _Atomic uint64_t done;     /* rows */
  _Atomic uint64_t staged;   /* of them in `memory`, the first ones */
  _Atomic(uint8_t *) inputs; /* of a batch that is taken */
  _Atomic int taken;         /* threads that have their part */
  _Atomic uint64_t told;     /* the last job whose rows the system was told of */
  _Atomic uint64_t spent;    /* ns of all threads since the last job was made */
  _Atomic bool blocked;      /* one of them was not on a CPU in that time */
  struct Trouble {
    uint64_t batch; /* NONE: of what all batches have */
    Err err;
  } trouble[3];    /* of a batch, of the one that was taken before it, and of all */
  uint8_t *memory; /* a batch of all columns that are read */
  double waited;   /* seconds, of runs */
};

static bool is_read(const Column *c) { return c->on_disk && !c->fixed; }

bool reader_bytes(const Dataset *d, uint64_t *at, uint64_t *offset) {
  uint64_t n;
  bool ok = true;
  *offset = *at;
  for (int i = 0; i < d->n; i++)
    if (is_read(&d->columns[i]))
      ok = ok && checked_mul(d->part, column_row_bytes(&d->columns[i]), &n) &&
           checked_add(n, 64, &n) && checked_add(*at, align_up(n, 64), at);
  return ok;
}

static uint8_t *place_of(const Reader *x, int column) {
  uint8_t *at = x->memory;
  for (int i = 0; i < column; i++) {
    const Column *c = &x->data->columns[i];
    if (is_read(c)) at += align_up(x->data->part * column_row_bytes(c) + 64, 64);
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

static bool all_together(const Dataset *d) {
  bool all = true;
  for (int i = 0; i < d->n; i++)
    if (is_read(&d->columns[i])) all = all && rows_together(d, &d->columns[i]);
  return all;
}

/* Rows [first, first + n) of a batch to the inputs; or, where there are none, to the reader's
   memory. */
static void read_claimed(Reader *x, uint64_t batch, uint64_t first, uint64_t n, uint8_t *inputs) {
  const Dataset *d = x->data;
  for (int i = 0; i < d->n; i++) {
    const Column *c = &d->columns[i];
    if (!is_read(c)) continue;
    uint64_t bytes = column_row_bytes(c);
    bool apart = inputs && c->t->run_dims; /* they lie otherwise in the inputs */
    uint8_t *base = inputs && !apart ? inputs + c->t->offset : place_of(x, i);
    Err e = {0};
    const uint64_t row = rows_read(d, c, batch, first, n, base, &e);
    if (row != NONE) fail(x, row, &e);
    for (uint64_t r = first; apart && r < first + n; r++)
      column_put(c, inputs, r, base + r * bytes, (Elem)c->t->dtype);
  }
}

/* Rows that the reader claims at a time, of which one read may get several: of images, which are
   decoded, one. */
static uint64_t claim_of(const Dataset *d) {
  enum { CLAIM_BYTES = 16384 };
  uint64_t bytes = 1;
  for (int i = 0; i < d->n; i++) {
    if (!is_read(&d->columns[i])) continue;
    if (d->columns[i].images) return 1;
    bytes += column_row_bytes(&d->columns[i]);
  }
  return bytes < CLAIM_BYTES ? CLAIM_BYTES / bytes : 1;
}

/* How often this thread gave up its CPU to wait. */
static long waits_here(void) {
  struct rusage u;
  return getrusage(RUSAGE_THREAD, &u) == 0 ? u.ru_nvcsw : 0;
}

/* Claims rows of the job until there are none, as one of nt threads that take the batch, or as the
   reader (0): less and less of what is left, so that all end at the same time. The system is told
   of rows to come, by one thread, once a row has waited for a device: to tell it of rows that it
   has in memory costs as much as to read them. */
static void work(Reader *x, uint64_t job, uint64_t batch, uint64_t rows, uint64_t nt) {
  const Dataset *d = x->data;
  const uint64_t share = nt                ? PARTS * nt
                         : all_together(d) ? PARTS
                                           : (rows + claim_of(d) - 1) / claim_of(d);
  uint64_t v = atomic_load(&x->claimed);
  if (v >> JOB != job || (v & ROW_MASK) >= rows) return;
  const bool ahead = nt == 0 || x->ahead;
  const long waits = waits_here();
  const double from = clock_now();
  double begin = from;
  while (v >> JOB == job && (v & ROW_MASK) < rows) {
    uint64_t r = v & ROW_MASK, n = (rows - r + share - 1) / share;
    if (!atomic_compare_exchange_weak(&x->claimed, &v, v + n)) continue;
    read_claimed(x, batch, r, n, v & TAKEN ? atomic_load(&x->inputs) : NULL);
    if (!(v & TAKEN)) atomic_fetch_add(&x->staged, n);
    double end = clock_now();
    if (end - begin > DEVICE_SECONDS * (double)n && r + n < rows &&
        atomic_exchange(&x->told, job) != job)
      advise(d, batch, r + n, rows);
    begin = end;
    if (atomic_fetch_add(&x->done, n) + n == rows && ahead) {
      pthread_mutex_lock(&x->lock);
      pthread_cond_broadcast(&x->finished);
      pthread_mutex_unlock(&x->lock);
    }
    v = atomic_load(&x->claimed);
  }
  atomic_fetch_add(&x->spent, (uint64_t)((begin - from) * 1e9));
  if (waits_here() != waits) atomic_store(&x->blocked, true);
}

/* ---- jobs; the lock is held ---- */
/* Until the job is over; the lock is free meanwhile, so that there may be another one behind it. */
static void wait_for(Reader *x) {
  const uint64_t job = x->job;
  while (x->job == job && x->batch != NONE && atomic_load(&x->done) < x->rows)
    pthread_cond_wait(&x->finished, &x->lock);
}

/* Nobody reads the job's rows any more: those that nobody has begun are given up. Of several
   threads that call it at once the first one to go on may make the next job, which stays. */
static void settle(Reader *x) {
  const uint64_t job = x->job;
  uint64_t v = atomic_exchange(&x->claimed, job << JOB | ROW_MASK), row = v & ROW_MASK;
  if (x->batch != NONE && row < x->rows) atomic_fetch_add(&x->done, x->rows - row);
  wait_for(x);
  if (x->job == job) x->batch = NONE;
}

/* Whether the thread reads what comes next, by what the last batch took. */
static bool pays(Reader *x) {
  uint64_t spent = atomic_exchange(&x->spent, 0);
  return atomic_exchange(&x->blocked, false) || (x->data->spare && (double)spent * 1e-9 > WORTH);
}

static void ask(Reader *x, uint64_t batch, bool ahead) {
  uint64_t first;
  x->rows = dataset_part(x->data, batch, &first);
  x->ahead = ahead;
  x->failed_row = NONE;
  x->job = (x->job + 1) & (UINT64_MAX >> JOB);
  atomic_store(&x->done, 0);
  atomic_store(&x->staged, 0);
  atomic_store(&x->claimed, x->job << JOB | (ahead ? 0 : TAKEN));
  atomic_store(&x->batch, batch);
  if (ahead) pthread_cond_signal(&x->wake);
}

/* ---- the thread ---- */
static void *reader_main(void *arg) {
  Reader *x = arg;
  float_mode_set();
  (void)prctl(PR_SET_NAME, "reader"); /* as top shows it */
  pthread_mutex_lock(&x->lock);
  for (uint64_t last = 0; !x->quit;) {
    if (x->job == last || x->batch == NONE || !x->ahead) {
      pthread_cond_wait(&x->wake, &x->lock);
      continue;
    }
    uint64_t job = last = x->job, batch = x->batch, rows = x->rows;
    pthread_mutex_unlock(&x->lock);
    work(x, job, batch, rows, 0);
    pthread_mutex_lock(&x->lock);
  }
  pthread_mutex_unlock(&x->lock);
  return NULL;
}

/* ---- the dataset's ---- */
bool reader_start(Dataset *d, uint8_t *memory, Err *e) {
  Reader *x = calloc(1, sizeof *x);
  if (!x) return err_set(e, EXIT_ENV, "no memory to read rows");
  *x = (Reader){.data = d, .batch = NONE, .failed_row = NONE, .memory = memory, .blocked = true};
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

/* Before the order of rows changes, and after: a batch of that number is another one then. */
void reader_pause(const Dataset *d) {
  pthread_mutex_lock(&d->reader->lock);
  settle(d->reader);
  d->reader->trouble[0] = d->reader->trouble[1] = (struct Trouble){.batch = NONE};
  pthread_mutex_unlock(&d->reader->lock);
}

void reader_begin(const Dataset *d, uint64_t batch) {
  pthread_mutex_lock(&d->reader->lock);
  ask(d->reader, batch, pays(d->reader));
  pthread_mutex_unlock(&d->reader->lock);
}

void reader_fixed(const Dataset *d, const Column *c, uint8_t *to) {
  Reader *x = d->reader;
  Err e = {0};
  if (column_convert(c, 0, 1, to, &e)) return;
  pthread_mutex_lock(&x->lock);
  if (!x->trouble[2].err.code) x->trouble[2] = (struct Trouble){NONE, e};
  pthread_mutex_unlock(&x->lock);
}

/* What the reader has read of the thread's part. */
static void copy_staged(const Reader *x, uint8_t *inputs, uint64_t t, uint64_t nt) {
  const Dataset *d = x->data;
  uint64_t n = atomic_load(&x->staged), lo = n * t / nt, hi = n * (t + 1) / nt;
  for (int i = 0; i < d->n; i++) {
    const Column *c = &d->columns[i];
    uint64_t row = column_row_bytes(c);
    if (is_read(c) && !c->t->run_dims)
      memcpy(inputs + c->t->offset + lo * row, place_of(x, i) + lo * row, (hi - lo) * row);
    for (uint64_t r = lo; is_read(c) && c->t->run_dims && r < hi; r++)
      column_put(c, inputs, r, place_of(x, i) + r * row, (Elem)c->t->dtype);
  }
}

double reader_gather(const Dataset *d, uint8_t *inputs, uint64_t batch, int t, int nt) {
  Reader *x = d->reader;
  const double begin = clock_now();
  if (atomic_load(&x->batch) != batch) {
    pthread_mutex_lock(&x->lock);
    if (x->batch != batch) settle(x);
    if (x->batch != batch) ask(x, batch, false); /* else another thread has, meanwhile */
    pthread_mutex_unlock(&x->lock);
  }
  atomic_store(&x->inputs, inputs);
  if (x->ahead) atomic_fetch_or(&x->claimed, TAKEN);
  work(x, x->job, batch, x->rows, (uint64_t)nt);
  if (x->ahead) { /* else the threads meet behind the batch in any case */
    pthread_mutex_lock(&x->lock);
    wait_for(x);
    pthread_mutex_unlock(&x->lock);
    copy_staged(x, inputs, (uint64_t)t, (uint64_t)nt);
  }
  const double spent = clock_now() - begin;
  if (atomic_fetch_add(&x->taken, 1) + 1 < nt) return spent;
  atomic_store(&x->taken, 0);
  pthread_mutex_lock(&x->lock);
  x->trouble[1] = x->trouble[0];
  x->trouble[0] = (struct Trouble){batch, x->failed_row != NONE ? x->err : (Err){0}};
  x->batch = NONE;
  if (batch + 1 < d->batches) ask(x, batch + 1, pays(x));
  pthread_mutex_unlock(&x->lock);
  return spent;
}

bool dataset_trouble(const Dataset *d, uint64_t batch, Err *e) {
  Reader *x = d->reader;
  bool failed = false;
  if (!x) return false;
  pthread_mutex_lock(&x->lock);
  for (int i = 0; !failed && i < 3; i++) {
    const struct Trouble *t = &x->trouble[i];
    failed = t->err.code && (t->batch == batch || t->batch == NONE);
    if (failed) *e = t->err;
  }
  pthread_mutex_unlock(&x->lock);
  return failed;
}

uint64_t dataset_reader(const GcEntry *e) {
  uint64_t bytes = STACK_BYTES;
  for (int i = 0; i < e->ninputs; i++) bytes += align_up(e->inputs[i].bytes + 64, 64);
  return bytes;
}

void dataset_wait(const Dataset *d, double seconds) {
  if (d->reader) d->reader->waited += seconds;
}

double dataset_waited(const Dataset *d) { return d->reader ? d->reader->waited : 0; }

void dataset_slow(const Dataset *d, char *out, size_t size) {
  const Column *c = NULL;
  for (int i = 0; i < d->n; i++)
    if (is_read(&d->columns[i]) && (!c || column_row_bytes(&d->columns[i]) > column_row_bytes(c)))
      c = &d->columns[i];
  if (!c)
    *out = 0;
  else if (!c->images)
    snprintf(out, size, "%s: a larger --data-memory keeps rows in memory; a local disk is faster",
             c->text);
  else if (c->kept + c->filed < c->rows)
    snprintf(out, size,
             "%s: --data-memory %" PRIu64 "M keeps all images decoded, and smaller files decode "
             "faster",
             c->text, (c->rows * c->row_elems >> 20) + 1);
  else
    snprintf(out, size,
             "%s: images are decoded once and kept: the first epoch is the slow one; files no "
             "larger than the input decode fastest",
             c->text);
}
