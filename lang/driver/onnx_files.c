/* Files beside what is compiled that have to do with ONNX: the weights of an imported model, and an
   exported model with its data. Contract: see compilation.h. */
#define _GNU_SOURCE
#include "codegen/build/output.h"
#include "lang/driver/compilation.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- import ---- */

/* Too large for the memory of a text. Those of the model, or of all that the program uses. */
static bool print_weights(FILE *f, void *arg) {
  const Front *front = &((Compilation *)arg)->front;
  uint32_t n = front->models.n;
  const OnnxProgram **p = ARENA_ARRAY(ctx_arena(front->c), const OnnxProgram *, n + 1);
  for (uint32_t i = 0; i < n; i++) p[i] = front->models.at[i].program;
  if (front->onnx) p[n++] = front->onnx;
  return onnx_write_weights(p, (int)n, f);
}

static bool has_weights(const Compilation *r) {
  bool any = r->front.onnx && onnx_has_weights(r->front.onnx);
  for (uint32_t i = 0; i < r->front.models.n; i++)
    any |= onnx_has_weights(r->front.models.at[i].program);
  return any;
}

static int failed(const Compilation *r) {
  return ctx_errors(r->c) ? EXIT_PROGRAM : EXIT_ENVIRONMENT;
}

int imported_weights_beside(Compilation *r) {
  const char *path = settings_weights_beside(r->c, r->output);
  return !path || output_stream(path, print_weights, r) ? EXIT_DONE : failed(r);
}

/* A file without a name of what is printed; -1 with the exit code in *code. */
static int unnamed_file(const Compilation *r, bool (*print)(FILE *f, void *arg), void *arg,
                        int *code) {
  const char *tmp = getenv("TMPDIR");
  int fd = open(tmp && *tmp ? tmp : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  FILE *f = fd >= 0 ? fdopen(dup(fd), "w") : NULL;
  if (f && !print(f, arg)) *code = EXIT_PROGRAM;
  bool whole = f && fflush(f) == 0 && !ferror(f);
  if (f) whole = fclose(f) == 0 && whole;
  if (!whole && !*code) {
    diag(r->c, SEV_ERROR, (Loc){0}, "cannot write the weights to a file in %s: %s",
         tmp && *tmp ? tmp : "/tmp", strerror(errno));
    *code = EXIT_ENVIRONMENT;
  }
  if (*code && fd >= 0) close(fd);
  return *code ? -1 : fd;
}

typedef struct Both {
  const Module *m;
  WeightsFile *model, *said;
} Both;

static bool print_both(FILE *f, void *arg) {
  const Both *b = arg;
  return weights_merge(b->m, b->model, b->said, f);
}

int imported_weights(Compilation *r, int *code) {
  if (!has_weights(r)) return -1;
  int fd = unnamed_file(r, print_weights, r, code);
  const char *said = r->codegen.weights;
  const long self = (long)getpid();
  if (said && fd >= 0) { /* what --weights does not have is the models' */
    Both b = {.m = r->m,
              .model = weights_open(intern_printf(r->c, "/proc/%ld/fd/%d", self, fd), code)};
    if (b.model) b.said = weights_open(said, code);
    int both = b.said ? unnamed_file(r, print_both, &b, code) : -1;
    weights_close(b.model);
    weights_close(b.said);
    close(fd);
    fd = both;
  }
  if (fd >= 0) r->codegen.weights = intern_printf(r->c, "/proc/%ld/fd/%d", self, fd);
  return fd;
}

/* ---- export ---- */

static bool print_model(FILE *f, void *x) { return onnx_write(x, f); }

static bool print_data(FILE *f, void *x) { return onnx_write_data(x, f); }

/* Beside the model, where it would be too large for a reader of protobuf. */
static int write_data(Compilation *r, OnnxExport *x) {
  const char *path = intern_printf(r->c, "%s.data", r->output), *slash = strrchr(path, '/');
  const char *weights = r->codegen.weights;
  FileUse use[3] = {{.option = intern_printf(r->c, "the input %s", r->o.input), .path = r->o.input},
                    {"the data", path, .writes = true},
                    {.option = "--weights", .path = weights}};
  int code = files_check(use, weights ? 3 : 2);
  if (code) return code;
  onnx_external(x, slash ? slash + 1 : path);
  return output_stream(path, print_data, x) ? EXIT_DONE : failed(r);
}

int emit_onnx(Compilation *r) {
  int code = EXIT_DONE, imported = imported_weights(r, &code);
  if (code) return code;
  WeightsFile *file = r->codegen.weights ? weights_open(r->codegen.weights, &code) : NULL;
  OnnxWeights weights = {.data = file, .read = weights_read};
  OnnxExport *x = code ? NULL : onnx_export(r->m, r->o.entry, file ? &weights : NULL);
  if (!code && !x) code = EXIT_PROGRAM;
  enum { GRAPH_BYTES = 64 << 20 }; /* more than nodes and names take */
  if (!code && onnx_bytes(x) > ONNX_LARGEST - GRAPH_BYTES) code = write_data(r, x);
  if (!code && !output_stream(r->output, print_model, x)) code = failed(r);
  weights_close(file);
  if (imported >= 0) close(imported);
  return code;
}
