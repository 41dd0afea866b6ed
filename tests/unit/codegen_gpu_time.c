/* The model of time on a device of round numbers, against times that a comment computes by hand:
   each bound by itself, rounds of blocks, occupancy, the roofline. */
#include "codegen/gpu/time/time.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const GpuDevice round_device = {.name = "round",
                                       .title = "a device of round numbers",
                                       .sms = 100,
                                       .mhz = 1000,
                                       .tensor_mhz = 500,
                                       .tensor = 1000,
                                       .mma = 50,
                                       .fma = 128,
                                       .fma64 = 32,
                                       .ldst = 16,
                                       .threads = 2048,
                                       .blocks = 32,
                                       .shared = 200 << 10,
                                       .l2 = 1 << 20,
                                       .l2_rate = 1000,
                                       .bandwidth = 1000,
                                       .l2_latency = 200,
                                       .latency = 500,
                                       .launch = 2000};

static GpuCounts some(double blocks) {
  return (GpuCounts){.blocks = blocks, .threads = 256, .registers = 64};
}

#define LAUNCH 2e-6

static void expect(const GpuCounts *c, double seconds, GpuBound bound) {
  GpuTime t = gpu_time(&round_device, c);
  if (fabs(t.seconds - LAUNCH - seconds) > 1e-9 * seconds || t.bound != bound)
    print_error("%g s by %s, not %g by %s\n", t.seconds - LAUNCH, gpu_bounds[t.bound], seconds,
                gpu_bounds[bound]);
  assert_true(fabs(t.seconds - LAUNCH - seconds) <= 1e-9 * seconds);
  assert_string_equal(gpu_bounds[t.bound], gpu_bounds[bound]);
}

static void counts_units(void **state) {
  (void)state;
  GpuCounts c = some(250); /* three blocks on the fullest of 100 multiprocessors */
  c.issue = 40000;         /* 10,000 clocks of four schedulers, three times at 1 GHz */
  expect(&c, 30e-6, BOUND_ISSUE);
  c = some(250), c.fma = 160000; /* 40,000 clocks: 32 lanes of 128 units */
  expect(&c, 120e-6, BOUND_FMA);
  c = some(250), c.wavefronts = 50000;
  expect(&c, 150e-6, BOUND_SHARED);
  c.accesses = 30000; /* two clocks each: 32 lanes, 16 a clock */
  expect(&c, 180e-6, BOUND_SHARED);
  c = some(250), c.lines = 60000;
  expect(&c, 180e-6, BOUND_LINES);
  c = some(250),
  c.mma = 20e6; /* 500 multiply-adds a clock at half a GHz: 40,000 clocks, three times */
  expect(&c, 240e-6, BOUND_TENSOR);
  c = some(250), c.wgmma = 20e6; /* twice as fast */
  expect(&c, 120e-6, BOUND_TENSOR);
  c = some(250), c.fma = 160000,
  c.issue = 160000; /* two units of 40,000 clocks: the sixth root of 2 longer */
  expect(&c, 120e-6 * 1.122462048309373, BOUND_ISSUE);
}

static void counts_special(void **state) {
  (void)state;
  GpuCounts c = some(250);
  c.special = 20000; /* 32 lanes, 16 a clock: 40,000 clocks */
  expect(&c, 120e-6, BOUND_SPECIAL);
}

/* Waits that work covers, if there is enough of it, and blocks of unequal work. */
static void counts_covered_waits(void **state) {
  (void)state;
  GpuCounts c = some(400); /* four blocks on each multiprocessor, at the same time */
  c.issue = 4000;          /* 1,000 clocks each */
  c.covered = 10;          /* 5,000 clocks */
  expect(&c, 5e-6, BOUND_LATENCY);
  c.covered = 4;
  expect(&c, 4e-6, BOUND_ISSUE);
  c = some(150), c.issue = 4000,
  c.longest = c.last = 3; /* 1.5 blocks in the mean, and half of one that begins last */
  expect(&c, 3e-6, BOUND_ISSUE);
}

static void counts_f64(void **state) {
  (void)state;
  GpuCounts c = some(100);
  c.fma64 = 1000; /* a quarter of f32's units */
  c.fma = 1000;
  expect(&c, 1.25e-6, BOUND_LAUNCH);
  c.fma64 = 10000;
  expect(&c, 10.25e-6, BOUND_FMA);
}

static void expect_joined(const GpuTime *t, double seconds, GpuBound bound) {
  GpuTime all = gpu_time_of_joined(t, 2);
  if (fabs(all.seconds - LAUNCH - seconds) > 1e-6 * seconds || all.bound != bound)
    fail_msg("%g s by %s, not %g by %s", all.seconds - LAUNCH, gpu_bounds[all.bound], seconds,
             gpu_bounds[bound]);
}

static void counts_waits(void **state) {
  (void)state;
  GpuCounts c = some(100);                      /* one block on each multiprocessor */
  c.registers = 128;                            /* two of 256 threads would fit */
  c.issue = 4000;                               /* 1,000 clocks */
  c.waits = 10, c.l2_waits = 5, c.chain = 1000; /* 7,000 clocks */
  expect(&c, 8e-6, BOUND_LATENCY);
  c.blocks = 1000; /* the second meets the first at work an eighth of its time: (7,000 + 1,125) / 2,
                      ten times */
  assert_int_equal(gpu_time(&round_device, &c).resident, 2);
  expect(&c, 40.625e-6, BOUND_LATENCY);
  c.parts = 2; /* four parts of 500 clocks take turns: 7,500, 4,016.67, 2,863.3 … clocks apart */
  double queue = 500 / 7500.0, between = 0;
  for (int n = 2; n <= 4; n++) {
    double stay = 500 * (1 + queue);
    between = (7000 + stay) / n, queue = stay / between;
  }
  expect(&c, 20 * between * 1e-9, BOUND_LATENCY);
  c.parts = 0, c.waits = c.l2_waits = c.chain = 0;
  expect(&c, 10e-6, BOUND_ISSUE);
}

static void counts_bytes(void **state) {
  (void)state;
  GpuCounts c = some(1000);
  c.bytes = 920e6; /* at 0.92 of 1,000 GB/s */
  expect(&c, 1e-3, BOUND_MEMORY);
  c.l2_bytes = 2e9; /* 1,000 bytes a clock */
  expect(&c, 2e-3, BOUND_L2);
  c = some(1), c.l2_bytes = 6.4e6; /* 64 bytes a clock of one multiprocessor */
  expect(&c, 100e-6, BOUND_L2);
}

static void joins_kernels(void **state) {
  (void)state;
  GpuCounts slow = some(100), fast = some(50); /* of 400 places */
  slow.waits = 20, fast.waits = 4;             /* 10 and 2 microseconds */
  slow.bytes = fast.bytes = 0.92e6;            /* 1 each */
  GpuTime t[2] = {gpu_time(&round_device, &slow), gpu_time(&round_device, &fast)};
  expect_joined(t, 10e-6, BOUND_LATENCY); /* both wait at once */
  fast.bytes = 18.4e6;                    /* 20, behind which the other's come */
  t[1] = gpu_time(&round_device, &fast);
  expect_joined(t, 21e-6, BOUND_MEMORY);
  fast.bytes = 0, fast.issue = 92000; /* 23,000 clocks on half of the multiprocessors */
  slow.issue = 48000;                 /* 12,000 on each */
  t[0] = gpu_time(&round_device, &slow), t[1] = gpu_time(&round_device, &fast);
  expect_joined(t, 25e-6,
                BOUND_ISSUE); /* fast's 23,000 and 2 microseconds of waits: of more than 23.5 */
  slow.blocks = 400;          /* no place is left */
  slow.issue = fast.issue = 0, slow.bytes = 0;
  t[0] = gpu_time(&round_device, &slow), t[1] = gpu_time(&round_device, &fast);
  expect_joined(t, 12e-6, BOUND_LATENCY);
}

static void counts_residents(void **state) {
  (void)state;
  GpuCounts c = some(1);
  assert_int_equal(gpu_resident(&round_device, &c), 4); /* 65,536 registers */
  c.registers = 65;                                     /* given as 72 */
  assert_int_equal(gpu_resident(&round_device, &c), 3);
  c.registers = 8;
  assert_int_equal(gpu_resident(&round_device, &c), 8); /* threads */
  c.threads = 33;                                       /* two warps */
  assert_int_equal(gpu_resident(&round_device, &c), 32);
  c.shared = 49 << 10; /* and one KiB of the system */
  assert_int_equal(gpu_resident(&round_device, &c), 4);
  c.shared = 200 << 10;
  assert_int_equal(gpu_resident(&round_device, &c), 0);
}

static void knows_roofs(void **state) {
  (void)state;
  GpuCounts c = some(1);
  c.least_flops = 25.6e9; /* of 100 multiprocessors, 128 multiply-adds, 1 GHz: 25.6 TFLOP/s */
  assert_true(fabs(gpu_time(&round_device, &c).roofline - 1e-3) < 1e-9);
  c.peak = PEAK_TENSOR; /* 200 TFLOP/s */
  assert_true(fabs(gpu_time(&round_device, &c).roofline - 128e-6) < 1e-9);
  c.peak = PEAK_TF32;
  assert_true(fabs(gpu_time(&round_device, &c).roofline - 256e-6) < 1e-9);
  c.least_bytes = 1e9;
  assert_true(fabs(gpu_time(&round_device, &c).roofline - 1e-3) < 1e-9);
}

/* The data sheets: 19.5 and 67 TFLOP/s of f32, 312 and 989 of bf16. */
static void knows_devices(void **state) {
  (void)state;
  assert_null(gpu_device("h1000"));
  const GpuDevice *a = gpu_device("a100"), *h = gpu_device("h100");
  assert_non_null(a);
  assert_non_null(h);
  assert_int_equal((int)(2e-6 * a->sms * a->mhz * a->fma * 10 + 0.5), 195);
  assert_int_equal((int)(2e-6 * a->sms * a->mhz * a->tensor + 0.5), 312);
  assert_int_equal((int)(2e-6 * h->sms * h->mhz * h->tensor + 0.5), 989);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(counts_units),         cmocka_unit_test(counts_special),
      cmocka_unit_test(counts_covered_waits), cmocka_unit_test(counts_f64),
      cmocka_unit_test(counts_waits),         cmocka_unit_test(counts_bytes),
      cmocka_unit_test(joins_kernels),        cmocka_unit_test(counts_residents),
      cmocka_unit_test(knows_roofs),          cmocka_unit_test(knows_devices)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
