/* The preparation of the next batch beside a step, on the host: each step finds what was prepared
   for it although that of the next one is over by then, what was begun for another step is dropped,
   and a report of a kernel, or of rows that cannot be read, belongs to its own step. Memory of one
   turn for both, planted, is seen. */
#include "runtime/exec/session.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { STEPS = 8, NO_STEP = -1, SECONDS = 20 };

static struct {
  _Atomic int64_t prepared; /* steps that have been, so far */
  int64_t last;             /* beside whose step none is */
  int64_t bad;              /* whose preparation reports a fault */
  int wrong, late;
} seen;

static void prepare(void *const *p, const GcEnv *env, int t, int nt) {
  if (t) return;
  *(uint64_t *)p[1] = env->step;
  if ((int64_t)env->step == seen.bad) gcrt_fault(0, 3, 9, 4);
  atomic_store(&seen.prepared, (int64_t)env->step + 1);
}

/* Reads when the next preparation, if there is one, has written. */
static void step(void *const *p, const GcEnv *env, int t, int nt) {
  const int64_t next = (int64_t)env->step + 1;
  const double end = clock_now() + SECONDS;
  if (t) return;
  while (next <= seen.last && atomic_load(&seen.prepared) <= next && clock_now() < end)
    nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
  seen.late += next <= seen.last && atomic_load(&seen.prepared) <= next;
  seen.wrong += *(uint64_t *)p[0] != env->step;
}

static const GcArg of_preparation[] = {{GC_INPUTS, 0, 8, NULL}, {GC_PREPARED, 0, 8, NULL}};
static const GcArg of_step[] = {{GC_PREPARED, 0, 8, NULL}};
static const GcStep steps[] = {{.kernel = prepare, .args = of_preparation, .nargs = 2},
                               {.kernel = step, .args = of_step, .nargs = 1}};
static const GcCheckSite sites[] = {{.loc = "p.g:1:1", .what = "a label"}};
const GcProgram gc_program = {
    .abi = GCRT_ABI, .target = "cpu", .march = "", .sites = sites, .nsites = 1};

typedef struct Rig {
  Session s;
  Dataset data;
  GcEntry entry;
} Rig;

static void open_rig(Rig *r, uint64_t ahead_bytes) {
  Err e = {0};
  memset(&seen, 0, sizeof seen);
  seen.last = STEPS - 1, seen.bad = NO_STEP;
  *r = (Rig){.data = {.rows = STEPS, .batch = 1, .batches = STEPS, .ranks = 1, .spare = true}};
  r->data.extents.batch = -1;
  r->entry = (GcEntry){.name = "train",
                       .loss = -1,
                       .steps = steps,
                       .nsteps = 2,
                       .inputs_bytes = 8,
                       .ahead = 1,
                       .ahead_bytes = ahead_bytes};
  const SessionPlan plan = {.program = &gc_program,
                            .ops = &cpu_device,
                            .entries = &r->entry,
                            .n = 1,
                            .threads = 1,
                            .tables = 4096};
  Device *d = cpu_device.open(&gc_program, 0, DEVICE_OWN, &e);
  assert_non_null(d);
  assert_true(session_open(&r->s, &plan, d, &e));
  r->s.data = &r->data;
  assert_true(session_start(&r->s, 1, false, &e));
}

static void run(Rig *r, uint64_t number, uint64_t batch, bool more) {
  r->s.env.step = number;
  session_run(&r->s, r->s.entries[0],
              &(RunRequest){.batch = batch, .more = more, .next = batch + 1});
}

static void close_rig(Rig *r) {
  Err e = {0};
  assert_true(session_close(&r->s, true, &e));
}

static void each_step_finds_its_own(void **state) {
  Rig r;
  open_rig(&r, 8);
  for (uint64_t k = 0; k < STEPS; k++) run(&r, k, k, k + 1 < STEPS);
  assert_int_equal(seen.wrong, 0);
  assert_int_equal(seen.late, 0);
  assert_int_equal(seen.prepared, STEPS);
  close_rig(&r);
}

/* Without bytes of its own the second turn lies where the first one does. */
static void one_turn_is_seen(void **state) {
  Rig r;
  open_rig(&r, 0);
  for (uint64_t k = 0; k < STEPS; k++) run(&r, k, k, k + 1 < STEPS);
  assert_int_equal(seen.wrong, STEPS - 1);
  close_rig(&r);
}

/* Another batch comes than was said, or another step of the same batch. */
static void what_is_not_asked_for_is_dropped(void **state) {
  Rig r;
  open_rig(&r, 8);
  run(&r, 0, 0, true);
  seen.last = NO_STEP;
  run(&r, 1, 5, false);
  seen.last = 2;
  run(&r, 1, 1, true);
  seen.last = NO_STEP;
  run(&r, 7, 2, false);
  assert_int_equal(seen.wrong, 0);
  assert_int_equal(seen.late, 0);
  close_rig(&r);
}

static void a_report_is_of_its_step(void **state) {
  Rig r;
  Err e = {0};
  open_rig(&r, 8);
  seen.bad = 3;
  for (uint64_t k = 0; k < 3; k++) {
    run(&r, k, k, true);
    assert_false(session_fault(&r.s, &r.entry, k));
  }
  seen.last = NO_STEP;
  run(&r, 3, 3, false);
  assert_true(session_fault(&r.s, &r.entry, 3));
  assert_non_null(strstr(r.s.err.msg, "a label"));
  assert_true(session_recover(&r.s, &e));
  run(&r, 4, 4, false);
  assert_false(session_fault(&r.s, &r.entry, 4));
  close_rig(&r);
}

/* A file that ends within the second batch once it is open. */
static void a_batch_that_cannot_be_read_is_of_its_step(void **state) {
  static const char *const path = "ahead.npy";
  char header[512];
  const int64_t dims[] = {2, 3};
  const GcTensor x = {.name = "x", .dtype = GC_F32, .rank = 2, .dims = dims, .bytes = 24};
  const GcEntry entry = {.name = "train", .inputs = &x, .ninputs = 1, .inputs_bytes = 64};
  const float rows[4][3] = {{1}, {2}, {3}, {4}};
  float inputs[16];
  TemporaryFolder none = {.sharers = 1};
  Dataset d;
  Err e = {0};
  const uint64_t n = npy_header(header, sizeof header, ELEM_F32, 2, (uint64_t[]){4, 3});
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_true(fwrite(header, 1, n, f) == n && fwrite(rows, sizeof rows, 1, f) == 1);
  assert_int_equal(fclose(f), 0);
  assert_true(dataset_open(&d, &entry, &path, &(DataRequest){0}, &e));
  assert_true(dataset_limit(&d, 0, false, &none, &e) && dataset_load(&d, &e));
  assert_int_equal(truncate(path, (off_t)(n + 30)), 0);
  for (uint64_t batch = 0; batch < 2; batch++) dataset_gather(&d, (uint8_t *)inputs, batch, 0, 1);
  assert_false(dataset_trouble(&d, 0, &e));
  assert_true(dataset_trouble(&d, 1, &e));
  assert_non_null(strstr(e.msg, path));
  dataset_order(&d, 0, 1); /* in the next epoch another batch has that number */
  assert_false(dataset_trouble(&d, 1, &e));
  dataset_free(&d);
  unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_step_finds_its_own), cmocka_unit_test(one_turn_is_seen),
      cmocka_unit_test(what_is_not_asked_for_is_dropped), cmocka_unit_test(a_report_is_of_its_step),
      cmocka_unit_test(a_batch_that_cannot_be_read_is_of_its_step)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
