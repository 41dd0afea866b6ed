/* Which image a device takes, and what the device's memory comes to. */
#include "runtime/cuda/cuda.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

const GcProgram gc_program = {.abi = GCRT_ABI, .target = "cuda"};

static const GcImage images[] = {
    {"sm_80", NULL, 0},       {"sm_86", NULL, 0},       {"sm_90", NULL, 0},
    {"sm_90a", NULL, 0},      {"sm_100f", NULL, 0},     {"compute_80", NULL, 0},
    {"compute_90a", NULL, 0}, {"compute_120", NULL, 0}, {"sm_", NULL, 0},
    {"sm_75x", NULL, 0},      {"gfx90a", NULL, 0},
};
static const GcDeviceCode code = {images, sizeof images / sizeof *images, NULL, 0};

static void takes(int major, int minor, const char *want) {
  const GcImage *out[sizeof images / sizeof *images];
  char text[200] = "";
  int n = cuda_images(&code, major, minor, out);
  for (int i = 0; i < n; i++) {
    strcat(text, i ? " " : "");
    strcat(text, out[i]->arch);
  }
  assert_string_equal(text, want);
}

static void images_for_devices(void **state) {
  takes(7, 5, "");
  takes(8, 0, "sm_80 compute_80");
  takes(8, 6, "sm_86 sm_80 compute_80");
  takes(8, 9, "sm_86 sm_80 compute_80");
  takes(9, 0, "sm_90a sm_90 compute_90a compute_80");
  takes(10, 0, "sm_100f compute_80");
  takes(10, 3, "sm_100f compute_80");
  takes(11, 0, "compute_80");
  takes(12, 0, "compute_120 compute_80");
  takes(12, 1, "compute_120 compute_80");
}

static void sizes_of_devices(void **state) {
  const int64_t dims[] = {100};
  const GcTensor out = {.name = "y", .dtype = GC_F32, .rank = 1, .dims = dims, .bytes = 400};
  const GcEntry init = {.arena_bytes = 5000},
                entry = {.arena_bytes = 1000, .inputs_bytes = 257, .outputs = &out, .noutputs = 1};
  GcProgram p = {.globals_bytes = 1, .nhypers = 3, .init = &init};
  CudaSizes s;
  Err e = {0};
  assert_true(cuda_sizes(&p, &entry, 1, &s, &e));
  assert_int_equal(s.globals, 256);
  assert_int_equal(s.hypers, 256);
  assert_int_equal(s.block, 256 + 512);
  assert_int_equal(s.arena, 5120);
  assert_int_equal(s.total, 256 + 256 + 256 + 2 * 768 + 5120);
  assert_int_equal(s.results, 128 + 448);
  assert_int_equal(s.pinned, 2 * (768 + 768));
  GcEntry both[] = {entry, entry}; /* a library's: the most of each */
  both[1].arena_bytes = 5121;
  both[1].noutputs = 0;
  assert_true(cuda_sizes(&p, both, 2, &s, &e));
  assert_int_equal(s.arena, 5376);
  assert_int_equal(s.results, 128 + 448);
  both[0].ahead = 1,
  both[0].ahead_bytes = 300; /* what is prepared lies in both blocks, of the device alone */
  assert_true(cuda_sizes(&p, both, 2, &s, &e));
  assert_int_equal(s.block, 768 + 512);
  assert_int_equal(s.total, 256 + 256 + 256 + 2 * (768 + 512) + 5376);
  assert_int_equal(s.pinned, 2 * (768 + 768));
  p.globals_bytes = UINT64_MAX - 100;
  assert_false(cuda_sizes(&p, &entry, 1, &s, &e));
  assert_int_equal(e.code, EXIT_ENV);
  p.globals_bytes = UINT64_MAX - 1000;
  assert_false(cuda_sizes(&p, &entry, 1, &s, &e));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(images_for_devices),
                                     cmocka_unit_test(sizes_of_devices)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
