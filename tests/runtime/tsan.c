/* Calls a library's two entries from pools of two to 20 threads, whatever the machine has: more
   than 16 meet in a tree. */
#include "embed.h"
#include <stdio.h>

int __wrap_cores_available(void);
int __wrap_cores_available(void) { return 20; }
int __wrap_cpus_at_once(void);
int __wrap_cpus_at_once(void) { return 4; }

int main(void) {
  static float x[32 * 64], t[32 * 8], y[32 * 96], z[32 * 80];
  float loss = 0;
  for (int threads = 2; threads <= 20; threads += threads < 4 ? 1 : 16) {
    GcModel *m = embed_open("cpu", threads, 1);
    bool ok = m != NULL;
    for (int i = 0; ok && i < 20; i++)
      ok = embed_run(m, 0, (const void *[]){x, t}, (void *[]){&loss}) &&
           embed_run(m, 1, (const void *[]){x}, (void *[]){y, z});
    if (!ok || embed_threads(m) != threads) {
      puts(embed_error(m));
      return 1;
    }
    printf("loss %a\n", (double)loss);
    embed_close(m);
  }
  return 0;
}
