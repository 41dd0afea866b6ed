/* What a model as a C library does about a GPU; the model is net.g of tests/e2e/lib.sh.
   - library: devices by name, several models, calls from another thread, an index without a place
   - library fail: a short run on the GPU; exit code 0, or 4 after the error of the first call that
     fails; 3: it cannot be opened
   - library default: opens what there is and says which device that is */
#include "net.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { BATCH = 16, WIDE = 12 };
static float x[BATCH][WIDE];
static int32_t y[BATCH];
static int failures;

#define CHECK(c)                                                                                   \
  do {                                                                                             \
    if (!(c)) {                                                                                    \
      printf("FAILED at line %d: %s\n", __LINE__, #c);                                             \
      failures++;                                                                                  \
    }                                                                                              \
  } while (0)

static int says(int code, const char *error) {
  printf("%s\n", error);
  return code;
}

static int short_run(void) {
  float p[5];
  net *m = net_open_on("cuda", 1, 7);
  if (!m) return says(3, net_error(NULL));
  bool ok = net_load(m, "first.safetensors");
  for (int i = 0; i < 4 && ok; i++) {
    net_set_lr(m, 0.01f / (float)(i + 1));
    ok = net_train(m, x[0], y, NULL, NULL);
  }
  ok = ok && net_predict(m, x[0], NULL, p) && net_save(m, "good.safetensors");
  int code = ok ? 0 : says(4, net_error(m));
  if (!ok) ok = *net_error(m) && !net_train(NULL, x[0], y, NULL, NULL);
  net_close(m);
  return ok ? code : 9;
}

static void *elsewhere(void *m) { return net_train(m, x[0], y, NULL, NULL) ? m : NULL; }

static void check_devices(void) {
  net *gpu = net_open_on("cuda", 2, 7), *cpu = net_open_on("cpu", 1, 7), *other = net_open(1, 9);
  CHECK(gpu && cpu && other);
  if (!gpu || !cpu || !other) return;
  CHECK(!strcmp(net_device(gpu), "cuda:0") && !strcmp(net_device(cpu), "cpu"));
  CHECK(!strcmp(net_device(other), "cuda:0") && net_threads(gpu) == 1);
  CHECK(!net_open_on("cuda:7", 1, 1) && strstr(net_error(NULL), "cuda:7"));
  CHECK(!net_open_on("tpu", 1, 1) && strstr(net_error(NULL), "tpu"));
  pthread_t t;
  void *done = NULL;
  net_set_lr(gpu, 0.25f);
  net_set_lr(cpu, 0.25f);
  CHECK(pthread_create(&t, NULL, elsewhere, gpu) == 0 && pthread_join(t, &done) == 0 && done);
  CHECK(net_train(cpu, x[0], y, NULL, NULL) && net_train(other, x[0], y, NULL, NULL));
  float p[5], q[5], r[5];
  CHECK(net_predict(gpu, x[1], NULL, p) && net_predict(cpu, x[1], NULL, q));
  CHECK(net_predict(other, x[1], NULL, r));
  CHECK(!memcmp(p, q, sizeof p) && memcmp(p, r, sizeof p));
  float v[6] = {0}, w[6];
  for (int i = 0; i < 2; i++) {
    CHECK(!net_far(gpu, 3 + i, w) && strstr(net_error(gpu), "not in 0 to 5"));
    CHECK(net_far(gpu, 2, w) && w[4] == 1 && net_far(cpu, 2, v) && !memcmp(v, w, sizeof v));
  }
  CHECK(net_reset(gpu, 3) && net_reset(cpu, 3) && net_get_lr(gpu) == 0.25f);
  CHECK(net_predict(gpu, x[1], NULL, p) && net_predict(cpu, x[1], NULL, q));
  CHECK(!memcmp(p, q, sizeof p));
  net_close(gpu);
  CHECK(net_train(other, x[0], y, NULL, NULL));
  net_close(other);
  net_close(cpu);
}

int main(int argc, char **argv) {
  for (int i = 0; i < BATCH; i++)
    for (int j = 0; j < WIDE; j++) x[i][j] = (float)((i * 7 + j * 5) % 11) / 8 - 0.6f;
  for (int i = 0; i < BATCH; i++) y[i] = i % 5;
  if (argc > 1 && !strcmp(argv[1], "fail")) return short_run();
  if (argc > 1 && !strcmp(argv[1], "default")) {
    net *m = net_open(1, 7);
    printf("on %s\n", m ? net_device(m) : net_error(NULL));
    net_close(m);
    return !m;
  }
  check_devices();
  printf("%d failures\n", failures);
  return failures;
}
