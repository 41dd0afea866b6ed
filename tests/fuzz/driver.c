/* Mutates texts and runs them in child processes; see driver.h. A child takes many texts, each put
   into shared memory first, so that the parent still has the one that ended the child.
   A finding: a signal, an exit of any kind (an internal error exits with 70), a sanitizer's report,
   or more processor time than a text of this size can need. */
#include "tests/fuzz/driver.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { A_CHILD_RUNS = 400, MOST_FINDINGS = 20, MOST_STAGES = 16, DONE = 42 };
#ifdef __SANITIZE_ADDRESS__
enum { SECONDS_A_TEXT = 30 };
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
  return "allocator_may_return_null=1:hard_rss_limit_mb=3000:exitcode=99";
}
/* Without this, what is undefined is said in the log alone, which goes with a child that ends well.
 */
const char *__ubsan_default_options(void);
const char *__ubsan_default_options(void) { return "halt_on_error=1:print_stacktrace=1"; }
#else
enum { SECONDS_A_TEXT = 10 };
#endif

typedef struct Shared { /* written by the child, read by the parent after its end */
  FuzzText text;
  uint64_t rng, runs, reached[MOST_STAGES];
} Shared;

typedef struct Fuzz {
  const FuzzTarget *t;
  FuzzText *seeds;
  int nseeds;
  Shared *shared;
  time_t end;
  uint64_t most; /* texts; 0: no limit */
} Fuzz;

uint64_t fuzz_next(uint64_t *rng) {
  *rng ^= *rng << 13, *rng ^= *rng >> 7, *rng ^= *rng << 17;
  return *rng;
}

uint64_t fuzz_below(uint64_t *rng, uint64_t n) { return (fuzz_next(rng) >> 11) % n; }

void fuzz_append(FuzzText *t, const char *s, size_t n) {
  if (n > sizeof t->at - t->n) n = sizeof t->at - t->n;
  memcpy(t->at + t->n, s, n);
  t->n += n;
}

void fuzz_wrong(const char *what) {
  fprintf(stderr, "wrong: %s\n", what);
  abort();
}

/* ---- mutation ---- */

typedef struct Span {
  size_t at, n;
} Span;

static bool is_word(char c) {
  return c == '_' || c == '.' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
         (c >= 'A' && c <= 'Z');
}

/* The word, number or sign that holds a random place. */
static Span some_token(const FuzzText *t, uint64_t *rng) {
  if (!t->n) return (Span){0, 0};
  size_t at = fuzz_below(rng, t->n), end = at + 1;
  if (!is_word(t->at[at])) return (Span){at, 1};
  while (at > 0 && is_word(t->at[at - 1])) at--;
  while (end < t->n && is_word(t->at[end])) end++;
  return (Span){at, end - at};
}

static Span some_line(const FuzzText *t, uint64_t *rng) {
  if (!t->n) return (Span){0, 0};
  size_t at = fuzz_below(rng, t->n), end = at;
  while (at > 0 && t->at[at - 1] != '\n') at--;
  while (end < t->n && t->at[end] != '\n') end++;
  return (Span){at, end + (end < t->n) - at};
}

static void replace(FuzzText *t, Span old, const char *s, size_t n) {
  static FuzzText whole; /* of one thread; too large for a stack frame */
  whole.n = 0;
  fuzz_append(&whole, t->at, old.at);
  fuzz_append(&whole, s, n);
  fuzz_append(&whole, t->at + old.at + old.n, t->n - old.at - old.n);
  memcpy(t->at, whole.at, whole.n);
  t->n = whole.n;
}

static void replace_copy(FuzzText *t, Span old, const FuzzText *from, Span s) {
  static char copy[FUZZ_LARGEST];
  memcpy(copy, from->at + s.at, s.n);
  replace(t, old, copy, s.n);
}

static const char *const numbers[] = {"0",
                                      "1",
                                      "2",
                                      "3",
                                      "4",
                                      "7",
                                      "8",
                                      "16",
                                      "63",
                                      "64",
                                      "65",
                                      "127",
                                      "255",
                                      "256",
                                      "65536",
                                      "1000000",
                                      "2147483647",
                                      "2147483648",
                                      "4294967296",
                                      "4611686018427387904",
                                      "9223372036854775807",
                                      "9223372036854775808",
                                      "1e38",
                                      "1e39",
                                      "1e308",
                                      "1e-45",
                                      "inf",
                                      "nan",
                                      "0.5"};

static void mutate(const Fuzz *z, FuzzText *t, uint64_t *rng) {
  const FuzzText *other = &z->seeds[fuzz_below(rng, (uint64_t)z->nseeds)];
  int nwords = 0;
  while (z->t->words[nwords]) nwords++;
  Span token = some_token(t, rng), line = some_line(t, rng);
  Span here = {t->n ? fuzz_below(rng, t->n + 1) : 0, 0};
  const char *word = z->t->words[fuzz_below(rng, (uint64_t)nwords)];
  const char *number = numbers[fuzz_below(rng, sizeof numbers / sizeof *numbers)];
  char byte = (char)fuzz_next(rng);
  switch (fuzz_below(rng, 12)) {
  case 0: replace(t, token, word, strlen(word)); break;
  case 1: replace(t, token, number, strlen(number)); break;
  case 2: replace_copy(t, token, t, some_token(t, rng)); break;
  case 3: replace_copy(t, token, other, some_token(other, rng)); break;
  case 4: replace(t, token, "", 0); break;
  case 5: replace_copy(t, (Span){token.at, 0}, t, token); break;
  case 6: replace(t, line, "", 0); break;
  case 7: replace_copy(t, (Span){line.at, 0}, t, some_line(t, rng)); break;
  case 8: replace_copy(t, line, other, some_line(other, rng)); break;
  case 9: replace(t, here, &byte, 1); break;
  case 10: replace(t, here, word, strlen(word)); break;
  default:
    if (fuzz_below(rng, 8) == 0) t->n = here.at;
    break;
  }
}

/* ---- running ---- */

static bool more(const Fuzz *z) {
  return time(NULL) < z->end && (!z->most || z->shared->runs < z->most);
}

static _Noreturn void child(const Fuzz *z, const char *log) {
  Shared *s = z->shared;
  if (!freopen(log, "w", stderr)) _exit(DONE + 1);
  for (int i = 0; i < A_CHILD_RUNS && more(z); i++) {
    FuzzText *t = &s->text;
    t->n = 0;
    const FuzzText *seed = &z->seeds[fuzz_below(&s->rng, (uint64_t)z->nseeds)];
    if (z->t->grow && fuzz_below(&s->rng, 2))
      z->t->grow(&s->rng, t);
    else
      fuzz_append(t, seed->at, seed->n);
    for (uint64_t k = fuzz_below(&s->rng, z->t->grow ? 4 : 6); k; k--) mutate(z, t, &s->rng);
    struct itimerval limit = {.it_value = {.tv_sec = SECONDS_A_TEXT}};
    setitimer(ITIMER_PROF, &limit, NULL);
    s->reached[z->t->run(t->at, t->n)]++;
    s->runs++;
  }
  struct itimerval none = {{0}, {0}};
  setitimer(ITIMER_PROF, &none, NULL);
  exit(DONE); /* through exit, so that leaks are looked for */
}

static void write_whole(const char *path, const char *text, size_t n) {
  FILE *f = fopen(path, "wb");
  if (!f || fwrite(text, 1, n, f) != n || fclose(f) != 0) perror(path), exit(2);
}

static void say(const char *path, const char *log, int status) {
  if (WIFSIGNALED(status))
    printf("%s: %s\n", path,
           WTERMSIG(status) == SIGPROF ? "takes too long" : strsignal(WTERMSIG(status)));
  else
    printf("%s: exit code %d\n", path, WEXITSTATUS(status));
  char line[512];
  FILE *f = fopen(log, "r");
  for (int i = 0; f && i < 12 && fgets(line, sizeof line, f); i++) printf("    %s", line);
  if (f) fclose(f);
}

static int fuzz(Fuzz *z, unsigned long seed) {
  int findings = 0;
  while (more(z) && findings < MOST_FINDINGS) {
    char path[256], log[264];
    snprintf(path, sizeof path, "%s-%lu-%d.%s", z->t->name, seed, findings + 1, z->t->suffix);
    snprintf(log, sizeof log, "%s.log", path);
    fflush(stdout);
    pid_t pid = fork();
    if (pid < 0) return perror("fork"), 2;
    if (pid == 0) child(z, log);
    int status;
    if (waitpid(pid, &status, 0) != pid) return perror("waitpid"), 2;
    if (WIFEXITED(status) && WEXITSTATUS(status) == DONE) {
      unlink(log);
      continue;
    }
    findings++;
    write_whole(path, z->shared->text.at, z->shared->text.n);
    say(path, log, status);
  }
  printf("%s: seed %lu, %llu texts, %d findings;", z->t->name, seed,
         (unsigned long long)z->shared->runs, findings);
  for (int i = 0; z->t->stages[i]; i++)
    printf(" %s %llu", z->t->stages[i], (unsigned long long)z->shared->reached[i]);
  printf("\n");
  /* Texts that all end early say nothing of what lies behind. */
  int last = 0;
  while (z->t->stages[last + 1]) last++;
  uint64_t least = z->shared->runs / 50;
  if (z->shared->reached[0] < least || z->shared->reached[last] < least || !z->shared->runs) {
    printf("too few texts are %s, or %s\n", z->t->stages[0], z->t->stages[last]);
    return 1;
  }
  return findings > 0;
}

/* False for a file that is too large to be a seed. */
static bool load(FuzzText *t, const char *path) {
  FILE *f = fopen(path, "rb");
  if (!f) perror(path), exit(2);
  t->n = fread(t->at, 1, sizeof t->at, f);
  bool whole = fgetc(f) == EOF;
  fclose(f);
  return whole;
}

int fuzz_main(const FuzzTarget *t, int argc, char **argv) {
  if (argc < 4) {
    fprintf(stderr, "usage: %s SECONDS SEED FILE...\n", argv[0]);
    return 2;
  }
  int seconds = atoi(argv[1]);
  unsigned long seed = strtoul(argv[2], NULL, 10);
  Fuzz z = {.t = t, .end = time(NULL) + seconds};
  if (argv[1][strspn(argv[1], "0123456789")] == 't') { /* so many texts, however long they take */
    z.most = (uint64_t)seconds;
    z.end = time(NULL) + 1000000;
  }
  z.seeds = calloc((size_t)argc, sizeof *z.seeds);
  z.shared =
      mmap(NULL, sizeof *z.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (!z.seeds || z.shared == MAP_FAILED) return perror("memory"), 2;
  for (int i = 3; i < argc; i++) z.nseeds += load(&z.seeds[z.nseeds], argv[i]);
  z.shared->rng = (seed + 1) * 0x9E3779B97F4A7C15ULL | 1;
  int code = 0;
  for (int i = 0; seconds == 0 && i < z.nseeds; i++)
    printf("%s\n", t->stages[t->run(z.seeds[i].at, z.seeds[i].n)]);
  if (seconds > 0) code = fuzz(&z, seed);
  munmap(z.shared, sizeof *z.shared);
  free(z.seeds);
  return code;
}
