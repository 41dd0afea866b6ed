/* Runs a test and notes what it cost:   measured FILE NAME COMMAND [ARG ...]
   Appends one line to FILE: CPU seconds of the command and of all that it waited for, seconds by
   the clock, peak memory of its largest process in MB, NAME. The exit code is the command's; a
   signal is passed on. CTest's own times are of the clock, which says little on a machine that does
   other things as well. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(struct timeval t) { return (double)t.tv_sec + (double)t.tv_usec * 1e-6; }

int main(int argc, char **argv) {
  if (argc < 4) {
    fprintf(stderr, "usage: measured FILE NAME COMMAND [ARG ...]\n");
    return 2;
  }
  struct timespec began, ended;
  clock_gettime(CLOCK_MONOTONIC, &began);
  pid_t child = fork();
  if (child == 0) {
    execvp(argv[3], argv + 3);
    fprintf(stderr, "%s: %s\n", argv[3], strerror(errno));
    _exit(126);
  }
  int status = 0;
  struct rusage u = {0};
  if (child < 0 || wait4(child, &status, 0, &u) < 0) {
    perror("measured");
    return 126;
  }
  clock_gettime(CLOCK_MONOTONIC, &ended);
  double wall =
      (double)(ended.tv_sec - began.tv_sec) + (double)(ended.tv_nsec - began.tv_nsec) * 1e-9;
  char line[512];
  int n = snprintf(line, sizeof line, "%9.2f %9.2f %7ld %s\n",
                   seconds(u.ru_utime) + seconds(u.ru_stime), wall, u.ru_maxrss / 1024, argv[2]);
  int f = open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (f < 0 || write(f, line, (size_t)n) != n) perror(argv[1]);
  if (f >= 0) close(f);
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  signal(WTERMSIG(status), SIG_DFL);
  raise(WTERMSIG(status));
  return 126;
}
