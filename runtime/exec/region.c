/* A program's team: one OpenMP region for a whole run. Contract: thread 0 runs the driver, the
   others serve it; libraries have a crew of their own (crew.c), and so no OpenMP. */
#include "runtime/exec/team.h"
#include <omp.h>

int team_run(Team *s, int threads, int (*driver)(void *), void *arg) {
  int code = 0;
  omp_set_dynamic(0);
#pragma omp parallel num_threads(threads) shared(code)
  {
    int t = omp_get_thread_num(),
        nt = omp_get_num_threads(); /* a limit of the system may give fewer */
    float_mode_set();
    if (t == 0) team_settle(s, nt);
#pragma omp barrier
    if (t == 0) {
      code = driver(arg);
      team_end(s);
    } else {
      team_serve(s, t, nt);
    }
  }
  return code;
}
