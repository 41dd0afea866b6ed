/* IR texts, mutated, through the reader and all that follows: fuzz_ir SECONDS SEED FILE.ir...
   Every text is refused with a diagnostic or compiled; see through.c for what must hold. */
#include "tests/fuzz/driver.h"
#include "tests/fuzz/through.h"

static Through rest; /* set once, before any child starts */

static int run(const char *text, size_t n) {
  Ctx *c = ctx_new();
  ctx_set_stream(c, rest.nothing);
  Module *m = module_read(c, ctx_add_source(c, "fuzz.ir", text, n));
  int reached = m ? 1 : 0;
  if (!m && !ctx_errors(c)) fuzz_wrong("refused without a word");
  if (m && ctx_errors(c)) fuzz_wrong("read in spite of errors");
  if (m && !module_verify(m, NULL)) {
    module_free(m);
  } else if (m) {
    reached = through(&rest, m, (uint32_t)n) ? 3 : 2;
  }
  ctx_free(c);
  return reached;
}

int main(int argc, char **argv) {
  static const char *const stages[] = {"refused", "unsound", "stopped", "compiled", NULL};
  static const char *words[OP_KINDS + 64] = {
      "f32",      "f64",   "f16",    "bf16",   "i32",   "i64",        "u8",
      "bool",     "%0",    "%1",     "%2",     "@g",    "axes = [0]", "axes = [1, 0]",
      "axis = 1", "entry", "init",   "param",  "state", "hyper",      "tb = 1",
      "ta = 1",   "[]",    "->",     "{",      "}",     "(",          ")",
      "f32[4,4]", "f32[]", "kernel", "return", "yield"};
  int n = 0;
  while (words[n]) n++;
  for (int k = 0; k < OP_KINDS; k++) words[n + k] = op_info[k].name;
  const FuzzTarget t = {.name = "ir", .suffix = "ir", .run = run, .stages = stages, .words = words};
  through_open(&rest);
  return fuzz_main(&t, argc, argv);
}
