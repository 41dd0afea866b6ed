/* The driver library as a program uses it: opened by path, PTX loaded, work on streams and in
 * graphs, faults by the environment. Each scenario runs in a child, since a driver's state lasts a
 * process. test_driver libcuda.so.1 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef unsigned long long Ptr;
static struct Cuda {
  int (*Init)(unsigned), (*DeviceGet)(int *, int), (*CtxRetain)(void **, int), (*CtxSet)(void *);
  int (*Load)(void **, const void *), (*Function)(void **, void *, const char *);
  int (*Alloc)(Ptr *, size_t), (*Info)(size_t *, size_t *), (*Attribute)(int *, int, int);
  int (*ToDevice)(Ptr, const void *, size_t), (*ToHost)(void *, Ptr, size_t);
  int (*Launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                void *, void **, void **);
  int (*Stream)(void **, unsigned), (*Begin)(void *, int), (*End)(void *, void **);
  int (*Instantiate)(void **, void *, unsigned long long), (*GraphLaunch)(void *, void *);
  int (*Event)(void **, unsigned), (*Record)(void *, void *), (*Wait)(void *, void *, unsigned);
  int (*Sync)(void *), (*Elapsed)(float *, void *, void *),
      (*Set)(Ptr, unsigned char, size_t, void *);
  int (*ErrorName)(int, const char **);
  int (*Tensor)(void *, int, unsigned, void *, const uint64_t *, const uint64_t *, const uint32_t *,
                const uint32_t *, int, int, int, int);
} cu;

static const struct Symbol {
  void *at;
  const char *name;
} symbols[] = {
    {&cu.Init, "cuInit"},
    {&cu.DeviceGet, "cuDeviceGet"},
    {&cu.CtxRetain, "cuDevicePrimaryCtxRetain"},
    {&cu.CtxSet, "cuCtxSetCurrent"},
    {&cu.Load, "cuModuleLoadData"},
    {&cu.Function, "cuModuleGetFunction"},
    {&cu.Alloc, "cuMemAlloc_v2"},
    {&cu.Info, "cuMemGetInfo_v2"},
    {&cu.Attribute, "cuDeviceGetAttribute"},
    {&cu.ToDevice, "cuMemcpyHtoD_v2"},
    {&cu.ToHost, "cuMemcpyDtoH_v2"},
    {&cu.Launch, "cuLaunchKernel"},
    {&cu.Stream, "cuStreamCreate"},
    {&cu.Begin, "cuStreamBeginCapture_v2"},
    {&cu.End, "cuStreamEndCapture"},
    {&cu.Instantiate, "cuGraphInstantiateWithFlags"},
    {&cu.GraphLaunch, "cuGraphLaunch"},
    {&cu.Event, "cuEventCreate"},
    {&cu.Record, "cuEventRecord"},
    {&cu.Wait, "cuStreamWaitEvent"},
    {&cu.Sync, "cuStreamSynchronize"},
    {&cu.Elapsed, "cuEventElapsedTime"},
    {&cu.Set, "cuMemsetD8Async"},
    {&cu.ErrorName, "cuGetErrorName"},
    {&cu.Tensor, "cuTensorMapEncodeTiled"},
};

#define EXPECT(want, call)                                                                         \
  do {                                                                                             \
    long long got_ = (long long)(call), want_ = (long long)(want);                                 \
    if (got_ != want_) {                                                                           \
      fprintf(stderr, "line %d: %s gives %lld, not %lld\n", __LINE__, #call, got_, want_);         \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

/* y[i] = a * x[i] + b for the threads of the grid. */
static const char ptx[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry line(.param .u64 px, .param .u64 py, .param .f32 pa, .param .f32 pb)\n{\n"
    "  .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %f<8>;\n"
    "  ld.param.u64 %rd1, [px];\n  ld.param.u64 %rd2, [py];\n"
    "  ld.param.f32 %f1, [pa];\n  ld.param.f32 %f2, [pb];\n"
    "  mov.u32 %r1, %ctaid.x;\n  mov.u32 %r2, %ntid.x;\n  mov.u32 %r3, %tid.x;\n"
    "  mad.lo.s32 %r4, %r1, %r2, %r3;\n  mul.wide.s32 %rd3, %r4, 4;\n"
    "  add.s64 %rd4, %rd1, %rd3;\n  add.s64 %rd5, %rd2, %rd3;\n"
    "  ld.global.f32 %f3, [%rd4];\n  fma.rn.f32 %f4, %f1, %f3, %f2;\n"
    "  st.global.f32 [%rd5], %f4;\n  ret;\n}\n";

static const char *declared = ""; /* what the PTX says of the kernel's buffers */
static void *function;
static Ptr x, y;
enum { N = 96 };

static int launch(void *stream, Ptr from, Ptr to, float a, float b, unsigned ctas) {
  void *params[] = {&from, &to, &a, &b};
  return cu.Launch(function, ctas, 1, 1, 32, 1, 1, 0, stream, params, NULL);
}

static void start(void) {
  int device, cc;
  void *context, *module;
  EXPECT(3, cu.DeviceGet(&device, 0)); /* before cuInit */
  EXPECT(0, cu.Init(0));
  EXPECT(0, cu.DeviceGet(&device, 0));
  EXPECT(0, cu.Attribute(&cc, 75, device));
  EXPECT(0, cu.CtxRetain(&context, device));
  EXPECT(0, cu.CtxSet(context));
  EXPECT(209, cu.Load(&module, "\177ELF a cubin"));
  EXPECT(200, cu.Load(&module, "no image"));
  char text[2048];
  snprintf(text, sizeof text, "%s%s", ptx, declared);
  EXPECT(0, cu.Load(&module, text));
  EXPECT(500, cu.Function(&function, module, "absent"));
  EXPECT(0, cu.Function(&function, module, "line"));
  EXPECT(0, cu.Alloc(&x, N * 4));
  EXPECT(0, cu.Alloc(&y, N * 4));
  float h[N];
  for (int i = 0; i < N; i++) h[i] = (float)i;
  EXPECT(0, cu.ToDevice(x, h, sizeof h));
}

static void expect_line(Ptr at, float a, float b) {
  float h[N];
  EXPECT(0, cu.ToHost(h, at, sizeof h));
  for (int i = 0; i < N; i++) EXPECT(1, h[i] == a * (float)i + b);
}

static void run_plain(void) {
  start();
  EXPECT(0, launch(NULL, x, y, 2, 1, 3));
  expect_line(y, 2, 1);
  EXPECT(1, cu.ToHost(&(float){0}, y + N * 4, 4)); /* beyond the allocation */
}

/* Two branches and a join; the graph gives the same in any order, many times. */
static void run_graph(void) {
  start();
  void *s, *t, *fork, *join, *graph, *exec;
  Ptr z;
  float ms;
  EXPECT(0, cu.Alloc(&z, N * 4));
  EXPECT(0, cu.Stream(&s, 1));
  EXPECT(0, cu.Stream(&t, 1));
  EXPECT(0, cu.Event(&fork, 0));
  EXPECT(0, cu.Event(&join, 0));
  EXPECT(0, cu.Begin(s, 1));
  EXPECT(0, cu.Set(y, 0, N * 4, s));
  EXPECT(0, launch(s, x, y, 2, 0, 3));
  EXPECT(0, cu.Record(fork, s));
  EXPECT(0, cu.Wait(t, fork, 0));
  EXPECT(0, launch(t, y, z, 3, 0, 3));
  EXPECT(0, launch(t, z, z, 1, 1, 3));
  EXPECT(0, cu.Record(join, t));
  EXPECT(900, cu.Sync(s));
  EXPECT(0, cu.Wait(s, join, 0));
  EXPECT(0, launch(s, z, z, 1, 1, 3));
  EXPECT(0, cu.End(s, &graph));
  EXPECT(0, cu.Instantiate(&exec, graph, 0));
  for (int i = 0; i < 3; i++) {
    EXPECT(0, cu.Record(fork, s));
    EXPECT(0, cu.GraphLaunch(exec, s));
    EXPECT(0, cu.Record(join, s));
    EXPECT(0, cu.Sync(s));
    expect_line(z, 6, 2);
  }
  EXPECT(0, cu.Elapsed(&ms, fork, join));
  EXPECT(1, ms >= 0);
}

static void run_unjoined(void) {
  start();
  void *s, *t, *fork, *graph;
  EXPECT(0, cu.Stream(&s, 1));
  EXPECT(0, cu.Stream(&t, 1));
  EXPECT(0, cu.Event(&fork, 0));
  EXPECT(0, cu.Begin(s, 1));
  EXPECT(0, cu.Record(fork, s));
  EXPECT(0, cu.Wait(t, fork, 0));
  EXPECT(0, launch(t, x, y, 1, 0, 3));
  EXPECT(904, cu.End(s, &graph));
}

/* Out of bounds: the launch fails, and so does all that follows. */
static void run_bounds(void) {
  start();
  EXPECT(700, launch(NULL, x, y, 1, 0, 4));
  EXPECT(700, cu.Alloc(&x, 4));
}

/* Within its allocations, and outside of what it may touch there. */
static void run_declared(void) {
  declared = "// gc: line: px read 256, py write 256, pa read 0, pb read 0\n";
  start();
  EXPECT(0, launch(NULL, x, y, 1, 0, 2));
  EXPECT(0, launch(NULL, x + 128, y + 128, 1, 0, 2));
  EXPECT(700, launch(NULL, x, y, 1, 0, 3));
}
static void run_declared_right(void) {
  declared = "// gc: line: px read 384, py read 384, pa read 0, pb read 0\n";
  start();
  EXPECT(700, launch(NULL, x, y, 1, 0, 1));
}
static void run_declared_place(void) {
  declared = "// gc: line: px read 384, py write 384, pa read 0, pb read 0\n";
  start();
  EXPECT(700, launch(NULL, x, y + 4, 1, 0, 1));
}

static void run_uninitialised(void) {
  start();
  EXPECT(719, launch(NULL, y, x, 1, 0, 3));
}

/* A part of x goes to y by a tensor map that the driver made. */
static void run_tensor(void) {
  static const char text[] =
      ".version 8.5\n.target sm_90a\n.address_size 64\n"
      ".visible .entry part(.param .align 64 .b8 map[128], .param .u64 to)\n{\n"
      ".reg .b64 %m, %d; .reg .pred %p; .shared .align 128 .b8 s[128]; .shared .align 8 .b64 bar;\n"
      "mov.b64 %m, map; cvta.param.u64 %m, %m; ld.param.u64 %d, [to];\n"
      "mbarrier.init.shared.b64 [bar], 1; fence.mbarrier_init.release.cluster;\n"
      "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 128;\n"
      "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [s], "
      "[%m, {64}], [bar];\n"
      "L: mbarrier.try_wait.parity.shared.b64 %p, [bar], 0; @!%p bra L;\n"
      "cp.async.bulk.global.shared::cta.bulk_group [%d], [s], 128;\n"
      "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ret;\n}\n";
  _Alignas(64) char map[128];
  void *module, *part, *params[] = {map, &y};
  const uint64_t size = N;
  const uint32_t box = 32, step = 1, wrong = 257;
  start();
  EXPECT(0, cu.Load(&module, text));
  EXPECT(0, cu.Function(&part, module, "part"));
  void *at = (void *)(uintptr_t)x;
  EXPECT(1, cu.Tensor(map, 7, 1, at, &size, NULL, &wrong, &step, 0, 0, 0, 0));
  EXPECT(0, cu.Tensor(map, 7, 1, at, &size, NULL, &box, &step, 0, 0, 0, 0));
  EXPECT(0, cu.Launch(part, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
  float h[32];
  EXPECT(0, cu.ToHost(h, y, sizeof h));
  for (int i = 0; i < 32; i++) EXPECT(64 + i, h[i]);
}

static void run_second_alloc_fails(void) {
  EXPECT(0, cu.Init(0));
  EXPECT(0, cu.Alloc(&x, 4));
  EXPECT(2, cu.Alloc(&x, 4));
  EXPECT(0, cu.Alloc(&x, 4));
}

static void run_small_memory(void) {
  size_t free_bytes, total;
  EXPECT(0, cu.Init(0));
  EXPECT(0, cu.Info(&free_bytes, &total));
  EXPECT(1 << 20, total);
  EXPECT(0, cu.Alloc(&x, 1 << 19));
  EXPECT(2, cu.Alloc(&x, (1 << 19) + 1));
  EXPECT(0, cu.Alloc(&x, 1 << 19));
}

static void run_no_device(void) { EXPECT(100, cu.Init(0)); }
static void run_stub(void) {
  const char *name;
  EXPECT(34, cu.Init(0));
  EXPECT(0, cu.ErrorName(34, &name));
  EXPECT(0, strcmp(name, "CUDA_ERROR_STUB_LIBRARY"));
}

static const struct Scenario {
  const char *name, *variable, *value;
  void (*run)(void);
} scenarios[] = {
    {"plain", NULL, NULL, run_plain},
    {"tensor map", "FAKECUDA_CC", "9.0", run_tensor},
    {"plain, reversed", "FAKECUDA_ORDER", "1", run_plain},
    {"graph", NULL, NULL, run_graph},
    {"graph, last first", "FAKECUDA_ORDER", "1", run_graph},
    {"graph, shuffled", "FAKECUDA_ORDER", "7", run_graph},
    {"unjoined", NULL, NULL, run_unjoined},
    {"bounds", NULL, NULL, run_bounds},
    {"declared buffers", NULL, NULL, run_declared},
    {"declared rights", NULL, NULL, run_declared_right},
    {"declared places", NULL, NULL, run_declared_place},
    {"uninitialised", NULL, NULL, run_uninitialised},
    {"no init check", "FAKECUDA_CHECK", "race", run_plain},
    {"second allocation fails", "FAKECUDA_FAIL", "cuMemAlloc_v2:2:out_of_memory",
     run_second_alloc_fails},
    {"small memory", "FAKECUDA_MEMORY", "1M", run_small_memory},
    {"no device", "FAKECUDA_DEVICES", "0", run_no_device},
    {"stub", "FAKECUDA_FAIL", "cuInit:1:34", run_stub},
};

static int run(const char *library, const struct Scenario *s) {
  fflush(NULL);
  pid_t child = fork();
  if (child < 0) return 1;
  if (!child) {
    if (s->variable) setenv(s->variable, s->value, 1);
    void *lib = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
      fprintf(stderr, "%s\n", dlerror());
      exit(1);
    }
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
      if (!(*(void **)symbols[i].at = dlsym(lib, symbols[i].name))) {
        fprintf(stderr, "no %s\n", symbols[i].name);
        exit(1);
      }
    s->run();
    exit(0);
  }
  int status;
  waitpid(child, &status, 0);
  if (status) fprintf(stderr, "scenario '%s' failed\n", s->name);
  return status != 0;
}

int main(int argc, char **argv) {
  int failed = 0;
  if (argc != 2) return 2;
  for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
    failed += run(argv[1], &scenarios[i]);
  return failed != 0;
}
