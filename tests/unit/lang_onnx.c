/* Models of ONNX with their data in a file of its own, as those above 2 GB have it: the import
   finds the same weights as in a model that holds them. */
#include "ir/support/memfile.h"
#include "lang/elab/elab.h"
#include "lang/onnx/onnx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static const char source[] = "def net(x) {\n"
                             "  param a : f32[7, 3] = normal()\n"
                             "  param b : f16[3] = uniform(-1, 1)\n"
                             "  param c : f64[2000] = uniform(-1, 1)\n"
                             "  return (x @ a) * f32(b) + f32(sum(c))\n"
                             "}\n"
                             "entry predict(x : f32[2, 7]) { return y = net(x) }\n";

static void written(OnnxExport *x, const char *path, bool (*write)(OnnxExport *, FILE *)) {
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_true(write(x, f));
  assert_int_equal(fclose(f), 0);
}

/* The weights that an import of the exported program has. */
static MemFile weights_of(const char *folder, bool external) {
  Ctx *c = ctx_new();
  const Program *p = parse_text(c, "net.g", source, strlen(source));
  Module *m = elaborate(c, p, &(ElabOptions){0});
  assert_non_null(m);
  OnnxExport *x = onnx_export(m, NULL, NULL);
  assert_non_null(x);
  assert_true(onnx_bytes(x) == 7 * 3 * 4 + 3 * 2 + 2000 * 8);
  const char *path = intern_printf(c, "%s/net.onnx", folder);
  if (external) {
    onnx_external(x, "net.data");
    written(x, intern_printf(c, "%s/net.data", folder), onnx_write_data);
  }
  written(x, path, onnx_write);
  bool unreadable;
  const OnnxProgram *back = onnx_import(c, path, NULL, 0, NULL, &unreadable);
  assert_non_null(back);
  MemFile f;
  assert_true(onnx_write_weights(&back, 1, memfile_open(&f)));
  memfile_close(&f);
  unlink(path);
  module_free(m);
  ctx_free(c);
  return f;
}

static void data_may_be_apart(void **state) {
  char folder[] = "/tmp/onnx-XXXXXX", data[64];
  assert_non_null(mkdtemp(folder));
  MemFile in = weights_of(folder, false), out = weights_of(folder, true);
  assert_true(in.n == out.n && in.n > 16000);
  assert_memory_equal(in.text, out.text, in.n);
  memfile_free(&in);
  memfile_free(&out);
  snprintf(data, sizeof data, "%s/net.data", folder);
  assert_int_equal(unlink(data), 0);
  assert_int_equal(rmdir(folder), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(data_may_be_apart)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
