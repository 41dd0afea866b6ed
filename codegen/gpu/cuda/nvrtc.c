/* Runs NVRTC; see nvrtc.h. Contract: a child process loads it, compiles, and writes one answer into
   a pipe. */
#define _GNU_SOURCE
#include "codegen/gpu/cuda/nvrtc.h"
#include "codegen/gpu/cuda/nvrtc_load.h"
#include "codegen/gpu/gpu.h"
#include "ir/support/clock.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
enum { MEMORY_LIMIT = 0 }; /* the shadow alone is terabytes of addresses */
#else
#define MEMORY_LIMIT (8ull << 30) /* bytes of addresses; it takes 0.2 of one GiB */
#endif
enum { SECONDS = 300 }; /* of the processor, and twice that of the clock, by default */

/* ---- the child ---- */

typedef enum Answer {
  ANSWER_NONE,
  ANSWER_MISSING,
  ANSWER_ARCH,
  ANSWER_REJECTED,
  ANSWER_MADE
} Answer;

typedef struct Part { /* of an answer */
  const void *at;
  uint64_t size;
} Part;
enum { PART_LOG, PART_BYTES, PART_TEXT, PARTS };

typedef struct AnswerHead { /* of what comes through the pipe, and of a cache's entry; the parts
                               follow */
  uint32_t answer;
  uint32_t cached;
  uint64_t size[PARTS];
} AnswerHead;

static void put(int fd, const void *p, size_t n) {
  const char *s = p;
  while (n) {
    ssize_t done = write(fd, s, n);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) _exit(1);
    s += done;
    n -= (size_t)done;
  }
}

static AnswerHead head_of(Answer what, const Part *part) {
  AnswerHead h = {.answer = what};
  for (int i = 0; i < PARTS; i++) h.size[i] = part[i].size;
  return h;
}

static _Noreturn void answer(int fd, Answer what, const Part *part) {
  AnswerHead h = head_of(what, part);
  put(fd, &h, sizeof h);
  for (int i = 0; i < PARTS; i++) put(fd, part[i].at, part[i].size);
  _exit(0);
}

static _Noreturn void say(int fd, Answer what, const char *text) {
  answer(fd, what, (Part[PARTS]){[PART_LOG] = {text, strlen(text)}});
}

/* 90 of "sm_90a" */
static void check_arch(int fd, const Nvrtc *n, const char *arch) {
  int count = 0, major = 0, minor = 0, known[64];
  n->version(&major, &minor);
  if (n->archs_count(&count) != 0 || count < 0 || count > 64 || n->archs(known) != 0) return;
  char text[1024];
  int len =
      snprintf(text, sizeof text, "NVRTC %d.%d does not know %s; it knows", major, minor, arch);
  for (int i = 0; i < count; i++) {
    if (known[i] == cuda_arch_number(arch)) return;
    len += snprintf(text + len, sizeof text - (size_t)len, " sm_%d", known[i]);
  }
  say(fd, ANSWER_ARCH, text);
}

/* One more is the last: at that the kernel asks no more. */
static void limit(int what, unsigned long long n) {
  struct rlimit l = {(rlim_t)n, (rlim_t)n + 1};
  if (n) setrlimit(what, &l);
}

/* 0 where GC_NVRTC_SECONDS is no number of seconds. */
static int seconds(void) {
  const char *own = getenv("GC_NVRTC_SECONDS");
  if (!own || !*own) return SECONDS;
  char *end;
  long n = strtol(own, &end, 10);
  return *end || n < 1 || n > 1000000 ? 0 : (int)n;
}

/* What the program has come to; nothing where NVRTC does not give it. */
static Part get(void *program, int (*size)(void *, size_t *), int (*bytes)(void *, char *)) {
  size_t n = 0;
  char *at = program && size(program, &n) == 0 && n ? calloc(1, n + 1) : NULL;
  if (at && bytes(program, at) == 0) return (Part){at, n};
  return (Part){NULL, 0};
}

/* ---- the cache ---- */

/* Which library, with which options, compiles which source; false if the library's file is unknown.
 */
static bool key_of(const Nvrtc *n, const char *const *options, int noptions, const char *source,
                   Hash *key) {
  void *symbol;
  memcpy(&symbol, &n->compile, sizeof symbol);
  Dl_info library;
  struct stat st;
  int major = 0, minor = 0;
  if (!dladdr(symbol, &library) || stat(library.dli_fname, &st) != 0) return false;
  n->version(&major, &minor);
  int64_t of[] = {major, minor, st.st_size, st.st_mtim.tv_sec, st.st_mtim.tv_nsec};
  *key = hash_with_text(hash_of(of, sizeof of), "nvrtc");
  *key = hash_with_text(*key, library.dli_fname);
  for (int i = 0; i < noptions; i++) *key = hash_with_text(*key, options[i]);
  *key = hash_with_text(*key, source);
  return true;
}

/* Answers with an entry: an AnswerHead and its parts. */
static void answer_from(const Cache *c, Hash key, int fd) {
  size_t n = 0, want = sizeof(AnswerHead);
  char *s = cache_read(c, key, &n);
  AnswerHead h;
  if (!s || n < sizeof h) return;
  memcpy(&h, s, sizeof h);
  for (int i = 0; i < PARTS; i++) want += h.size[i];
  if (n != want || h.answer != ANSWER_MADE) return;
  h.cached = 1;
  put(fd, &h, sizeof h);
  put(fd, s + sizeof h, n - sizeof h);
  _exit(0);
}

static void keep_in(const Cache *c, Hash key, const Part *part) {
  AnswerHead h = head_of(ANSWER_MADE, part);
  size_t n = sizeof h;
  for (int i = 0; i < PARTS; i++) n += part[i].size;
  char *s = malloc(n), *to = s;
  if (!s) return;
  to = mempcpy(to, &h, sizeof h);
  for (int i = 0; i < PARTS; i++)
    if (part[i].size) to = mempcpy(to, part[i].at, part[i].size);
  cache_keep(c, key, s, n);
  cache_trim(c);
  free(s);
}

/* What NVRTC is told, and the words of GC_NVRTC_OPTIONS behind it, which have the last word. */
static const char **options_for(const Nvrtc *nvrtc, const char *arch, int *n) {
  static const char *const always[] = {"--std=c++17",     "--fmad=false",     "--ftz=true",
                                       "--prec-div=true", "--prec-sqrt=true", "--disable-warnings"};
  const char *own = getenv("GC_NVRTC_OPTIONS");
  char *rest = own ? strdup(own) : NULL, *gpu = NULL;
  const size_t count = sizeof always / sizeof *always, most = rest ? strlen(rest) / 2 + 1 : 0;
  const char **option = calloc(count + 3 + most, sizeof *option);
  int major = 0, minor = 0;
  if (!option || asprintf(&gpu, "--gpu-architecture=%s", arch) < 0) _exit(1);
  option[(*n)++] = gpu;
  for (size_t i = 0; i < count; i++) option[(*n)++] = always[i];
  /* without textures and the runtime's functions, it begins a third sooner */
  if (nvrtc->version(&major, &minor) == 0 && major >= 13) option[(*n)++] = "--minimal";
  if (!nvrtc_makes_ptx(arch)) option[(*n)++] = "--ptxas-options=-v";
  for (const char *word; (word = strsep(&rest, " \t\n"));)
    if (*word) option[(*n)++] = word;
  return option;
}

static _Noreturn void child(int fd, const Cache *cache, const char *source, const char *arch) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  limit(RLIMIT_AS, MEMORY_LIMIT);
  limit(RLIMIT_CPU, (unsigned)seconds());
  struct rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  Nvrtc n;
  if (!nvrtc_load(&n)) {
    const char *why = dlerror();
    say(fd, ANSWER_MISSING, why ? why : "");
  }
  check_arch(fd, &n, arch);
  const bool ptx = nvrtc_makes_ptx(arch);
  int noptions = 0;
  const char **options = options_for(&n, arch, &noptions);
  Hash key;
  const bool keeps = cache && cache->dir && key_of(&n, options, noptions, source, &key);
  if (keeps) answer_from(cache, key, fd);
  void *program = NULL;
  int made = n.create(&program, source, "program.cu", 0, NULL, NULL);
  if (made == 0) made = n.compile(program, noptions, options);
  Part part[PARTS] = {0}, text;
  part[PART_LOG] = get(program, n.log_size, n.log);
  part[PART_LOG].size = part[PART_LOG].at ? strlen(part[PART_LOG].at) : 0;
  if (made != 0) answer(fd, ANSWER_REJECTED, part);
  text = get(program, n.ptx_size, n.ptx);
  part[PART_BYTES] = ptx ? text : get(program, n.cubin_size, n.cubin);
  if (!ptx) part[PART_TEXT] = text;
  if (!text.size || !part[PART_BYTES].size) answer(fd, ANSWER_REJECTED, part);
  if (keeps) keep_in(cache, key, part);
  answer(fd, ANSWER_MADE, part);
}

typedef struct Known { /* the answer's bytes */
  int major, minor, count, arch[64];
} Known;

static _Noreturn void describe(int fd) {
  Nvrtc n;
  Known k = {0};
  if (!nvrtc_load(&n)) say(fd, ANSWER_MISSING, "");
  n.version(&k.major, &k.minor);
  if (n.archs_count(&k.count) != 0 || k.count > 64 || n.archs(k.arch) != 0) k.count = 0;
  answer(fd, ANSWER_MADE, (Part[PARTS]){[PART_BYTES] = {&k, sizeof k}});
}

/* ---- the parent ---- */

typedef struct CompileJob {
  pid_t pid;
  int fd;
} CompileJob;

/* Compiles; where there is no source it tells what NVRTC knows. */
static bool start(CompileJob *j, const Cache *cache, const char *source, const char *arch) {
  int fd[2];
  if (pipe2(fd, O_CLOEXEC) != 0) return false;
  fflush(NULL);
  j->pid = fork();
  if (j->pid == 0) {
    close(fd[0]);
    if (!source) describe(fd[1]);
    child(fd[1], cache, source, arch);
  }
  close(fd[1]);
  j->fd = fd[0];
  if (j->pid < 0) close(fd[0]);
  return j->pid > 0;
}

/* Everything, or false at the end of the pipe or of the time. */
static bool take(CompileJob *j, void *to, size_t n, double until) {
  char *s = to;
  while (n) {
    struct pollfd p = {.fd = j->fd, .events = POLLIN};
    double left = until - clock_seconds();
    int ready = left > 0 ? poll(&p, 1, (int)(left * 1000) + 1) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    ssize_t got = read(j->fd, s, n);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    s += got;
    n -= (size_t)got;
  }
  return true;
}

/* The answer; ANSWER_NONE with how the child ended in *image->log. */
static Answer finish(CompileJob *j, Arena *a, CudaImage *image) {
  enum { MOST = 1 << 30 };
  AnswerHead h = {0};
  int most = seconds();
  double until = clock_seconds() + 2.0 * (most ? most : SECONDS);
  char *part[PARTS] = {NULL};
  bool ok = take(j, &h, sizeof h, until);
  for (int i = 0; i < PARTS && ok; i++) {
    ok = h.size[i] < MOST;
    part[i] = arena_alloc(a, ok ? h.size[i] + 1 : 1);
    ok = ok && take(j, part[i], h.size[i], until);
  }
  bool late = !ok && clock_seconds() >= until;
  if (!ok) kill(j->pid, SIGKILL);
  close(j->fd);
  int status = 0;
  while (waitpid(j->pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (ok) {
    image->log = part[PART_LOG];
    image->cached = h.cached != 0;
    image->bytes = (unsigned char *)part[PART_BYTES];
    image->size = h.size[PART_BYTES];
    image->text = h.size[PART_TEXT] ? (unsigned char *)part[PART_TEXT] : NULL;
    image->text_size = h.size[PART_TEXT];
    return (Answer)h.answer;
  }
  static const char more[] = "set GC_NVRTC_SECONDS to allow more";
  if (late)
    image->log = arena_printf(a, "it took longer than %d seconds; %s", 2 * most, more);
  else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
    image->log = arena_printf(a, "it took more than %d seconds of a processor; %s", most, more);
  else if (WIFSIGNALED(status))
    image->log = arena_printf(a, "it ended by signal %d", WTERMSIG(status));
  else
    image->log = "it ended without an answer";
  return ANSWER_NONE;
}

const char nvrtc_remedy[] = "install the CUDA toolkit, or the wheel (pip install "
                            "nvidia-cuda-nvrtc), or set GC_NVRTC to the directory that "
                            "holds libnvrtc.so";

bool nvrtc_makes_ptx(const char *arch) { return strncmp(arch, "compute_", 8) == 0; }

const char *nvrtc_version(Ctx *c, const char *arch, bool *knows) {
  CompileJob j;
  CudaImage image = {0};
  Known k;
  if (!start(&j, NULL, NULL, "") || finish(&j, ctx_arena(c), &image) != ANSWER_MADE ||
      image.size != sizeof k)
    return NULL;
  memcpy(&k, image.bytes, sizeof k);
  for (int i = 0; arch && i < k.count; i++) *knows |= k.arch[i] == cuda_arch_number(arch);
  return intern_printf(c, "NVRTC %d.%d", k.major, k.minor);
}

static bool failed(Ctx *c, const CudaImage *image, Answer what, int *code) {
  *code = 3;
  const char *own = getenv("GC_NVRTC"), *options = getenv("GC_NVRTC_OPTIONS");
  if (what == ANSWER_REJECTED) {
    fputs(image->log, stderr);
    if (options && *options) {
      diag(c, SEV_ERROR, (Loc){0},
           "NVRTC rejects the generated source for %s with GC_NVRTC_OPTIONS=%s", image->arch,
           options);
      return false;
    }
    gc_bug(c, "NVRTC rejects the generated source for %s", image->arch);
  }
  if (what == ANSWER_MISSING && own && *own)
    diag(c, SEV_ERROR, (Loc){0}, "no NVRTC in GC_NVRTC=%s; %s", own, nvrtc_remedy);
  else if (what == ANSWER_MISSING)
    diag(c, SEV_ERROR, (Loc){0}, "no CUDA compiler: NVRTC was not found; %s", nvrtc_remedy);
  else if (what == ANSWER_ARCH)
    diag(c, SEV_ERROR, (Loc){0}, "%s", image->log);
  else
    diag(c, SEV_ERROR, (Loc){0}, "NVRTC failed for %s: %s", image->arch, image->log);
  return false;
}

bool nvrtc_compile(Ctx *c, Arena *a, const Cache *cache, const char *source,
                   const char *const *arch, int n, CudaImage *out, int *code) {
  CompileJob *job = ARENA_ARRAY(a, CompileJob, n + 1);
  bool ok = true;
  if (!seconds()) {
    diag(c, SEV_ERROR, (Loc){0}, "GC_NVRTC_SECONDS=%s is no number of seconds",
         getenv("GC_NVRTC_SECONDS"));
    *code = 3;
    return false;
  }
  int started = 0;
  for (; started < n && ok; started++) {
    out[started] = (CudaImage){.arch = arch[started], .ptx = nvrtc_makes_ptx(arch[started])};
    ok = start(&job[started], cache, source, arch[started]);
    if (!ok) {
      diag(c, SEV_ERROR, (Loc){0}, "cannot start a process for NVRTC: %s", strerror(errno));
      *code = 3;
      break;
    }
  }
  for (int i = 0; i < started; i++) {
    Answer what = finish(&job[i], a, &out[i]);
    if (what != ANSWER_MADE && ok) ok = failed(c, &out[i], what, code);
  }
  return ok;
}
