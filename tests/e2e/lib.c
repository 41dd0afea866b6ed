/* A C program that trains and asks a model through its library: the model is net.g of lib.sh.
   Contract: leaves x.npy, y.npy, one.npy for the executable, and lib.safetensors, p.bin, z.bin as
   the library made them; with an argument it only trains so many steps. Exit code: the failures. */
#include "net.h"
#include <fenv.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROWS = 64, BATCH = 16, WIDE = 12 };
static float x[ROWS][WIDE];
static int32_t y[ROWS];
static int failures;

#define CHECK(c)                                                                                   \
  do {                                                                                             \
    if (!(c)) {                                                                                    \
      printf("FAILED at line %d: %s\n", __LINE__, #c);                                             \
      failures++;                                                                                  \
    }                                                                                              \
  } while (0)

static void write_file(const char *path, const void *head, size_t nhead, const void *p, size_t n) {
  FILE *f = fopen(path, "wb");
  if (!f || fwrite(head, 1, nhead, f) != nhead || fwrite(p, 1, n, f) != n || fclose(f) != 0)
    exit(9);
}

static void write_npy(const char *path, const char *type, const char *shape, const void *p,
                      size_t n) {
  char head[129];
  memset(head, ' ', sizeof head);
  memcpy(head, "\x93NUMPY\x01\x00\x76\x00", 10);
  int k =
      snprintf(head + 10, 118, "{'descr': '%s', 'fortran_order': False, 'shape': %s}", type, shape);
  head[10 + k] = ' ';
  head[127] = '\n';
  write_file(path, head, 128, p, n);
}

static void make_data(void) {
  uint32_t s = 1;
  for (int i = 0; i < ROWS; i++) {
    for (int j = 0; j < WIDE; j++) {
      s = s * 1664525u + 1013904223u;
      x[i][j] = (float)(s >> 8) / 8388608 - 1;
    }
    y[i] = (int32_t)((x[i][0] + 1) * 2.49f);
  }
}

static float train(net *m, int steps) {
  float loss = -1, hit = -1;
  for (int i = 0; i < steps; i++) {
    int row = i * BATCH % ROWS;
    CHECK(net_train(m, x[row], y + row, &loss, i % 2 ? NULL : &hit));
    CHECK(loss > 0 && hit >= 0 && hit <= 1);
  }
  return loss;
}

static bool same_file(const char *a, const char *b) {
  static char p[1 << 16], q[1 << 16];
  FILE *f = fopen(a, "rb"), *g = fopen(b, "rb");
  if (!f || !g) return false;
  size_t n = fread(p, 1, sizeof p, f), k = fread(q, 1, sizeof q, g);
  fclose(f);
  fclose(g);
  return n == k && n > 0 && memcmp(p, q, n) == 0;
}

static void check_bits(void) {
  net *m = net_open(2, 7), *other = net_open(1, 9);
  CHECK(m && other);
  if (!m || !other) exit(9);
  CHECK(net_threads(other) == 1 && net_threads(m) >= 1 && net_threads(m) <= 2);
  CHECK(net_bytes() > 0);
  float z[7], one = 1;
  CHECK(net_noise(m, one, z));
  write_file("z.bin", NULL, 0, z, sizeof z);
  float first = train(m, 1);
  CHECK(net_reset(m, 7));
  for (int i = 0; i < 12; i++) { /* two models in turn */
    int row = i * BATCH % ROWS;
    CHECK(net_train(m, x[row], y + row, NULL, NULL));
    CHECK(net_train(other, x[0], y, NULL, NULL));
  }
  CHECK(net_save(m, "lib.safetensors"));
  float p[5], q[5];
  int32_t best = -1;
  CHECK(net_predict(m, x[0], &best, p));
  CHECK(best >= 0 && best < 5 && p[best] >= p[0]);
  write_file("p.bin", NULL, 0, p, sizeof p);
  CHECK(train(m, 200) < first);
  CHECK(net_load(other, "lib.safetensors") && net_predict(other, x[0], NULL, q));
  CHECK(memcmp(p, q, sizeof p) == 0);
  int64_t n = 0;
  for (int i = 1; i < 4; i++) CHECK(net_count(m, &n) && n == i);
  CHECK(net_reset(m, 1) && net_count(m, &n) && n == 1);
  bool b[4] = {true, false, true, true}, nb[4];
  CHECK(net_flip(m, b, nb) && !nb[0] && nb[1] && !nb[2] && !nb[3]);
  net_set_by(m, INT32_MIN);
  net_set_turned(m, false);
  CHECK(net_get_by(m) == INT32_MIN && !net_get_turned(m));
  CHECK(net_count(m, &n) && n == 1 + (int64_t)INT32_MIN);
  CHECK(net_flip(m, b, nb) && nb[0] && !nb[1] && nb[2] && nb[3]);
  net_close(m);
  net_close(other);
  net_close(NULL);
}

static void check_errors(void) {
  net *m = net_open(2, 7);
  int32_t bad[BATCH] = {0};
  bad[3] = 5;
  CHECK(!net_train(m, x[0], bad, NULL, NULL));
  CHECK(strstr(net_error(m), "5") && strstr(net_error(m), "y"));
  train(m, 12); /* as if that call had never been */
  CHECK(net_save(m, "again.safetensors") && same_file("again.safetensors", "lib.safetensors"));
  CHECK(!net_train(m, NULL, y, NULL, NULL) && strstr(net_error(m), "x"));
  CHECK(!net_load(m, "missing.safetensors") && strstr(net_error(m), "missing.safetensors"));
  CHECK(!net_load(m, "x.npy") && !net_load(m, NULL) && !net_save(m, NULL));
  CHECK(!net_save(m, "no/such/place.safetensors") && strstr(net_error(m), "no/such"));
  CHECK(net_save(m, "again.safetensors") && same_file("again.safetensors", "lib.safetensors"));
  CHECK(net_get_lr(m) == 0.01f);
  net_set_lr(m, NAN);
  CHECK(isnan(net_get_lr(m)) && net_train(m, x[0], y, NULL, NULL));
  CHECK(!net_save(m, "again.safetensors") && strstr(net_error(m), "finite"));
  CHECK(same_file("again.safetensors", "lib.safetensors"));
  CHECK(!net_open(-3, 7) && strstr(net_error(NULL), "-3 threads; 0 stands for one on each core"));
  CHECK(!net_predict(NULL, x[0], NULL, NULL) && *net_error(NULL));
  net_close(m);
}

/* Weights that are all other ones, the last of them a value that no bool has. */
static void check_refused_load(void) {
  static char bytes[1 << 20];
  net *m = net_open(1, 7);
  train(m, 3);
  CHECK(net_save(m, "before.safetensors"));
  FILE *f = fopen("before.safetensors", "rb");
  size_t n = f ? fread(bytes, 1, sizeof bytes, f) : 0;
  if (f) fclose(f);
  uint64_t header = 0;
  CHECK(n > 8 && n < sizeof bytes);
  memcpy(&header, bytes, 8);
  unsigned long at = 0, end = 0;
  char *entry = header < n ? memmem(bytes + 8, header, "kept", 4) : NULL;
  char *offsets = entry ? strstr(entry, "data_offsets") : NULL;
  CHECK(offsets && sscanf(offsets, "data_offsets\":[%lu,%lu]", &at, &end) == 2 && end == at + 4);
  if (!offsets) return;
  memset(bytes + 8 + header, 0, n - 8 - header);
  bytes[8 + header + at + 3] = 2;
  write_file("wrong.safetensors", NULL, 0, bytes, n);
  CHECK(!net_load(m, "wrong.safetensors") && strstr(net_error(m), "no bool"));
  CHECK(net_save(m, "after.safetensors") && same_file("before.safetensors", "after.safetensors"));
  net_close(m);
}

/* What a library must leave alone. */
static void check_host(void) {
  struct sigaction a;
  net *m = net_open(2, 7);
  CHECK(sigaction(SIGINT, NULL, &a) == 0 && a.sa_handler == SIG_DFL);
  fesetround(FE_UPWARD);
  train(m, 2);
  CHECK(fegetround() == FE_UPWARD);
  fesetround(FE_TONEAREST);
  volatile float tiny = 1e-38f;
  CHECK(tiny / 16 > 0);
#ifndef ON_GPU /* a driver allocates what it likes */
  size_t before = mallinfo2().uordblks;
  train(m, 50);
  CHECK(mallinfo2().uordblks == before);
#endif
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    bool refused = !net_train(m, x[0], y, NULL, NULL) && strstr(net_error(m), "fork");
    net_close(m);
    net *own = net_open(2, 7);
    bool works = own && net_train(own, x[0], y, NULL, NULL);
    net_close(own);
    _exit(refused && works ? 0 : 1);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  train(m, 1);
  net_close(m);
}

static void *serve(void *arg) {
  net *m = net_open(2, 7);
  for (int i = 0; i < 12; i++) {
    int row = i * BATCH % ROWS;
    if (!net_train(m, x[row], y + row, NULL, NULL)) return NULL;
  }
  bool ok = net_save(m, arg);
  net_close(m);
  return ok ? arg : NULL;
}

static void check_threads(void) {
  static char name[3][24] = {"t0.safetensors", "t1.safetensors", "t2.safetensors"};
  pthread_t t[3];
  for (int i = 0; i < 3; i++) CHECK(pthread_create(&t[i], NULL, serve, name[i]) == 0);
  for (int i = 0; i < 3; i++) {
    void *ok = NULL;
    pthread_join(t[i], &ok);
    CHECK(ok && same_file(name[i], "lib.safetensors"));
  }
}

int main(int argc, char **argv) {
  make_data();
  if (argc > 1) {
    net *m = net_open(2, 7);
    train(m, atoi(argv[1]));
    net_close(m);
    return failures;
  }
  float one = 1;
  write_npy("x.npy", "<f4", "(64, 12)", x, sizeof x);
  write_npy("y.npy", "<i4", "(64,)", y, sizeof y);
  write_npy("one.npy", "<f4", "()", &one, sizeof one);
  check_bits();
  check_errors();
  check_refused_load();
  check_host();
  check_threads();
  printf("%d failures\n", failures);
  return failures;
}
