/* The text form: what is printed reads back to the byte, and wrong text gets its place and reason.
   Contract: good texts are in the printer's own form; the fuzzer's seeds are the same texts, and
   its random numbers a fixed sequence. */
#include "ir/ir.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static const char *const good[] = {
    "module \"empty.g\"\n",

    "module \"mlp.g\"\n\n"
    "param @net.fc1.w : f32[784,256] panels 64 mlp.g:4:3\n"
    "state @\"odd name\\x01\" : bf16[2]\n"
    "optimizer @adamw.m : i32[]\n"
    "optimizer @adamw.v : f32[2] of f32[2,3] mlp.g:4:3\n"
    "hyper @lr = 0.001 mlp.g:2:1\n"
    "hyper @huge = 1.7976931348623157e+308\n"
    "hyper @topk : i32[] = -40 mlp.g:2:2\n"
    "hyper @nesterov : bool[] = 1\n"
    "\n"
    "init mlp.g:1:1 {\n"
    "  %0 = random_normal {key = \"net.fc1.w\"} : f32[784,256] panels 64\n"
    "  %f = const : f32[64,3,7,7] order [2,3,1,0] panels 16 mlp.g:4:3\n"
    "  %1 = const : bf16[2]\n"
    "  %2 = const {value = -7} : i32[] \"opt \\\"q\\\"\" \"odd file.g\":3:4\n"
    "  %3 = const : f32[2]\n"
    "  store @net.fc1.w, %0 \"net.fc1\" mlp.g:4:3\n"
    "  store @\"odd name\\x01\", %1\n"
    "  store @adamw.m, %2\n"
    "  store @adamw.v, %3\n"
    "  return\n"
    "}\n"
    "\n"
    "entry train(%x : f32[64,784], %\"a b\" : f32[], %\"\" : u8[0]) training mlp.g:9:1 {\n"
    "  %w = load @net.fc1.w : f32[784,256] panels 64\n"
    "  %12 = matmul %x, %w : f32[64,256] \"net.fc1\" mlp.g:4:7\n"
    "  %y = matmul %x, %x {ta = 1} : f32[784,784] order [1,0] mlp.g:4:7\n"
    "  %y.1 = relu %y : f32[784,784] /tmp/a-b_c+d.g:4:8\n"
    "  %lr = load @lr : f32[]\n"
    "  return %12, %y.1, %lr {names = \"a,b,c\"}\n"
    "}\n",

    "module \"kernel.g\"\n\n"
    "entry \"odd entry\"(%x : f32[4], %x.1 : f32[4]) {\n"
    "  %2, %x.2 = kernel %x, %x.1 {name = \"k\"} : f32[4], f32[] \"s\" k.g:1:2 (%a : f32[4], %b : "
    "f32[4]) {\n"
    "    %6 = add %a, %b : f32[4]\n"
    "    %c = const {value = nan} : f32[]\n"
    "    yield %6, %c\n"
    "  }\n"
    "  %empty, %9 = grad %x.2, %x, %2 : f32[4], f32[4]\n"
    "  return %2 {names = \"y\"}\n"
    "}\n",

    "module \"numbers.g\"\n\n"
    "entry f() {\n"
    "  %0 = const {value = 0.1} : f32[]\n"
    "  %1 = const {value = 3.4028235e+38} : f32[]\n"
    "  %2 = const {value = 1.4013e-45} : f32[]\n"
    "  %3 = const {value = -0} : f32[]\n"
    "  %4 = const {value = inf} : f16[]\n"
    "  %5 = const {value = -inf} : f64[]\n"
    "  %6 = const {value = nan} : bf16[]\n"
    "  %7 = const {value = 0.1} : f64[]\n"
    "  %8 = const {value = 0.30000000000000004} : f64[]\n"
    "  %9 = const {value = 4.94066e-324} : f64[]\n"
    "  %10 = const {value = -9223372036854775808} : i64[]\n"
    "  %11 = const {value = 255} : u8[]\n"
    "  %12 = const {value = 1} : bool[]\n"
    "  %13 = const {value = 0.33333334} : f32[]\n"
    "  %14 = const {value = 0.0999756} : f16[]\n"
    "  return\n"
    "}\n",

    /* names that look like numbers, and ids that are not dense: the text stays what it is */
    "module \"names.g\"\n\n"
    "entry f(%5 : f32[], %h.1 : f32[], %h : f32[]) {\n"
    "  %h.2 = neg %h : f32[]\n"
    "  %0 = neg %h.1 : f32[]\n"
    "  %4 = neg %0 : f32[]\n"
    "  %a.b.3 = neg %4 : f32[]\n"
    "  %4.1 = neg %a.b.3 : f32[]\n"
    "  return %4.1 {names = \"y\"}\n"
    "}\n",

    "module \"attributes.g\"\n\n"
    "entry f(%x : f32[2,3], %n : i32[2]) {\n"
    "  %2 = slice %x {starts = [0, 1], steps = [1, 1]} : f32[2,2]\n"
    "  %3 = pad %2 {value = -1, lo = [0, 1], hi = [0, 0], interior = [0, 0]} : f32[2,3]\n"
    "  %4 = sum %3 {axes = []} : f32[2,3]\n"
    "  %5 = concat %4, %x {axis = 1} : f32[2,6]\n"
    "  %6 = one_hot %n {depth = 4} : f16[2,4]\n"
    "  %7 = transpose %x {perm = [1, 0]} : f32[3,2]\n"
    "  %8 = random_uniform {key = \"tab\\x09 \\\\ \\\"q\\\" \\n \303\251\"} : f64[3]\n"
    "  return %5, %6, %7, %8 {names = \"a,b,c,d\"}\n"
    "}\n",
};
enum { GOOD = sizeof good / sizeof good[0] };

static char *print(const Module *m) {
  char *text;
  size_t n;
  FILE *f = open_memstream(&text, &n);
  module_print(f, m, NULL);
  fclose(f);
  return text;
}

static Module *read_text(Ctx *c, const char *text, size_t n) {
  return module_read(c, ctx_add_source(c, "test.ir", text, n));
}

static void round_trip(void **state) {
  (void)state;
  for (int i = 0; i < GOOD; i++) {
    Ctx *c = ctx_new();
    Module *m = read_text(c, good[i], strlen(good[i]));
    if (!m) fail_msg("text %d is not read", i);
    char *text = print(m);
    assert_string_equal(text, good[i]);
    free(text);
    module_free(m);
    ctx_free(c);
  }
}

/* Blanks, comments and line ends mean nothing between words. */
static void free_form(void **state) {
  (void)state;
  const char *loose =
      "; a comment\nmodule \"a.g\" entry f ( %x:f32[ 2 , 3 ]\n)\n{%y=neg %x:f32[2,3];c\n"
      "%z\t=\n pad %y {lo=[0,0],hi=[1 , 0], interior=[0,0]}:f32[3,3] return %z"
      "{names=\"z\"}}";
  Ctx *c = ctx_new();
  Module *m = read_text(c, loose, strlen(loose));
  assert_non_null(m);
  char *text = print(m);
  assert_string_equal(text, "module \"a.g\"\n\n"
                            "entry f(%x : f32[2,3]) {\n"
                            "  %y = neg %x : f32[2,3]\n"
                            "  %z = pad %y {lo = [0, 0], hi = [1, 0], interior = [0, 0]} : "
                            "f32[3,3]\n"
                            "  return %z {names = \"z\"}\n"
                            "}\n");
  free(text);
  module_free(m);
  ctx_free(c);
}

static void note(FILE *f, const Entry *e, const Op *op, void *data) {
  (void)e;
  fprintf(f, "   ; note %d of %s", (*(int *)data)++, op_info[op->kind].name);
}

static void notes_and_places(void **state) {
  (void)state;
  Ctx *c = ctx_new();
  Module *m = read_text(c, good[2], strlen(good[2]));
  int count = 0;
  char *text;
  size_t n;
  FILE *f = open_memstream(&text, &n);
  module_print(f, m, &(PrintOptions){.note = note, .data = &count});
  fclose(f);
  assert_non_null(strstr(text, " (%a : f32[4], %b : f32[4]) {   ; note 0 of kernel\n"));
  assert_non_null(strstr(text, "    %6 = add %a, %b : f32[4]   ; note 1 of add\n"));
  assert_null(strstr(text, "k.g:1:2")); /* places were not asked for */
  assert_null(strstr(text, "\"s\""));
  Module *again = read_text(c, text, n); /* notes are comments */
  assert_non_null(again);
  free(text);
  module_free(m);
  module_free(again);
  ctx_free(c);
}

static const struct {
  const char *text, *message;
} wrong[] = {
    {"", "1:1: error: IR text begins with: module \"file.g\""},
    {"module x", "1:8: error: a string is expected, not 'x'"},
    {"module \"x", "1:8: error: this string does not end on its line"},
    {"module \"\\q\"", "1:9: error: a string has no such escape"},
    {"module \"\" entry", "1:16: error: an entry's name is expected, not the end of the text"},
    {"module \"\"\nfoo", "2:1: error: a global or an entry is expected, not 'foo'"},
    {"module \"\" param w", "1:17: error: '@' and a path are expected, not 'w'"},
    {"module \"\" param @w : f33[]", "1:22: error: 'f33' is not a dtype: f32, f64, f16, bf16, i32, "
                                     "i64, i8, u8 or bool"},
    {"module \"\" param @w : f32[-1]", "1:22: error: these dims make no type: negative, or more "
                                       "than 2^62 bytes"},
    {"module \"\" param @w : f32[99999999999999999999]",
     "1:26: error: 99999999999999999999 does not fit 64 bits"},
    {"module \"\" param @w : f32[3] panels 4",
     "1:29: error: panels need at least one column and a matrix"},
    {"module \"\" param @w : i8[3,4] panels 4 interleaved 1",
     "1:30: error: two rows of a matrix or more are interleaved"},
    {"module \"\" param @w : f32[3,4] order [0,0]",
     "1:31: error: an order of axes names each axis of the type once"},
    {"module \"\" param @w : f32[3,4] order [1]",
     "1:31: error: an order of axes names each axis of the type once"},
    {"module \"\" entry f(%x : f32[n<=1]) { return }",
     "1:28: error: an extent is bounded by a number from 2 to 2147483647"},
    {"module \"\" entry f(%x : f32[0*(n<=9)]) { return }",
     "1:30: error: a bounded axis is 1 to 2147483647 times its extent"},
    {"module \"\" entry f(%x : f32[(a<=9)*(b<=2147483647)]) { return }",
     "1:28: error: a product of extents is 1 to 2147483647, of at most 8"},
    {"module \"\" entry f(%x : "
     "f32[(a<=2)*(a<=2)*(a<=2)*(a<=2)*(a<=2)*(a<=2)*(a<=2)*(a<=2)*(a<=2)]) { return }",
     "1:28: error: a product of extents is 1 to 2147483647, of at most 8"},
    {"module \"\" entry f(%x : f32[(n<=9)[0:1]]) { return }",
     "1:28: error: a part has two or more elements of an axis, or ends with it"},
    {"module \"\" entry f(%x : f32[(n<=9)[-2:8]]) { return }",
     "1:28: error: a part has two or more elements of an axis, or ends with it"},
    {"module \"\" entry f(%x : f32[((n<=9)[0:3])[0:3]]) { return }",
     "1:35: error: ')' is expected after an axis, not '['"},
    {"module \"\" entry f(%x : f32[4*n<=64]) { return }",
     "1:30: error: '(' is expected before the extent of a multiple or a product, as in 4*(n<=64), "
     "not 'n'"},
    {"module \"\" hyper @a = 1 hyper @a = 2", "1:30: error: @a is declared twice"},
    {"module \"\" param @a : f32[4] of f32[3,2]",
     "1:31: error: f32[3,2] is no number of runs f32[4]"},
    {"module \"\" hyper @a = 1x", "1:22: error: '1x' is not a number"},
    {"module \"\" hyper @a : f64[] = 1",
     "1:17: error: a hyperparameter is f32[], i32[] or bool[], not f64[]"},
    {"module \"\" hyper @a : i32[] = 1.5", "1:30: error: 1.5 does not fit i32[]"},
    {"module \"\" hyper @a = 1 x.g:1:", "1:24: error: a location is written file:line:column"},
    {"module \"\" entry f() { return } entry f() { return }",
     "1:38: error: there are two entries f"},
    {"module \"\" init { return } init { return }", "1:27: error: there are two init entries"},
    {"module \"\" gather { return } gather { return }",
     "1:29: error: there are two gather entries"},
    {"module \"\" param @a : f32[2] of f32[4] param @b : f32[2] copy @a gather { return }",
     "1:62: error: @a is no param of the shape of its copy"},
    {"module \"\" entry f(%x : f32[], %x : f32[]) { return }", "1:31: error: %x is defined twice"},
    {"module \"\" entry f() { %a = neg %b : f32[] return }",
     "1:32: error: %b is not defined before this use"},
    {"module \"\" entry f(%x : f32[]) { %a = nge %x : f32[] return }",
     "1:38: error: there is no op 'nge'"},
    {"module \"\" entry f(%x : f32[]) { %a = neg %x, %x : f32[] return }",
     "1:38: error: neg takes 1 operand, not 2"},
    {"module \"\" entry f(%x : f32[]) { %a, %b = neg %x : f32[], f32[] return }",
     "1:42: error: neg has 1 result, not 2"},
    {"module \"\" entry f(%x : f32[]) { %a = neg %x return }",
     "1:38: error: neg has 1 result, but 0 types"},
    {"module \"\" entry f(%x : f32[2]) { %a = neg %x : f32[3] return }",
     "1:39: error: neg gives f32[2] here, not f32[3]"},
    {"module \"\" entry f(%x : f32[2], %y : f32[3]) { %a = add %x, %y : f32[2] return }",
     "1:52: error: add needs equal shapes: f32[2] against f32[3]"},
    {"module \"\" entry f(%x : f32[2]) { %a = sum %x {axis = [0]} : f32[] return }",
     "1:47: error: sum has no attribute 'axis'"},
    {"module \"\" entry f(%x : f32[2]) { %a = sum %x {axes = [0], axes = [0]} : f32[] return }",
     "1:59: error: the attribute axes is given twice"},
    {"module \"\" entry f(%x : f32[2,2]) { %a = matmul %x, %x {ta = 2} : f32[2,2] return }",
     "1:56: error: the attribute ta is 0 or 1"},
    {"module \"\" entry f() { %a = const {value = 256} : u8[] return }",
     "1:43: error: 256 does not fit u8"},
    {"module \"\" entry f() { %a = load %x : f32[] return }",
     "1:33: error: load names a global: '@' is expected, not '%'"},
    {"module \"\" entry f() { %a = load @x : f32[] return }", "1:33: error: there is no global @x"},
    {"module \"\" entry f() { }", "1:23: error: a block ends in return"},
    {"module \"\" entry f() { yield }", "1:23: error: this block ends in return, not in yield"},
    {"module \"\" entry f() { return return }", "1:30: error: nothing follows return in its block"},
    {"module \"\" entry f() { return", "1:29: error: '}' is expected after a block, not the end of "
                                       "the text"},
    {"module \"\" entry f() { \377 }", "1:23: error: an op is expected, not the byte 0xff"},
    {"module \"\" state @s : f32[2] entry f() { %a = load @s : f32[2] %b = load @s : f32[2] return "
     "}",
     "gc: error: in entry f: op %b load: loads @s again in its block"},
};

static void errors(void **state) {
  (void)state;
  int bad = 0;
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    Ctx *c = ctx_new();
    char *said;
    size_t n;
    FILE *f = open_memstream(&said, &n);
    ctx_set_stream(c, f);
    assert_null(read_text(c, wrong[i].text, strlen(wrong[i].text)));
    assert_int_equal(ctx_errors(c), 1);
    fclose(f);
    const char *line = said; /* without the file's name */
    if (strncmp(said, "test.ir:", 8) == 0) line += 8;
    if (strncmp(line, wrong[i].message, strlen(wrong[i].message)) != 0)
      bad += fprintf(stderr, "%s\ngives: %swanted: %s\n", wrong[i].text, said, wrong[i].message);
    free(said);
    ctx_free(c);
  }
  assert_int_equal(bad, 0);
}

/* A deep nest is an error, not the end of the stack. */
static void deep_nest(void **state) {
  (void)state;
  enum { DEPTH = 100000 };
  static const char open[] = "kernel () { ", head[] = "module \"\" entry f() { ";
  char *text = malloc(sizeof head + DEPTH * (sizeof open - 1)), *p = text;
  p = stpcpy(p, head);
  for (int i = 0; i < DEPTH; i++) p = stpcpy(p, open);
  Ctx *c = ctx_new();
  ctx_set_stream(c, NULL);
  assert_null(read_text(c, text, strlen(text)));
  free(text);
  ctx_free(c);
}

/* ---- mutated text ---- */

static uint32_t next(uint32_t *seed, uint32_t n) {
  *seed = *seed * 1664525u + 1013904223u;
  return (*seed >> 8) % n;
}

static size_t insert(char *text, size_t n, size_t at, const char *bit, size_t len) {
  memmove(text + at + len, text + at, n - at);
  memcpy(text + at, bit, len);
  return n + len;
}

static size_t mutate(char *text, size_t n, uint32_t *seed) {
  static const char *const bits[] = {"%",
                                     "@",
                                     "0",
                                     "-1",
                                     "9223372036854775807",
                                     "[",
                                     "]",
                                     "{",
                                     "}",
                                     "(",
                                     ")",
                                     ",",
                                     ":",
                                     " = ",
                                     "\"",
                                     "\\",
                                     "nan",
                                     "inf",
                                     "panels 3",
                                     "f32[]",
                                     "i32[2,3]",
                                     "u8[0]",
                                     "kernel",
                                     "yield",
                                     "return",
                                     "matmul",
                                     "%x",
                                     "; z\n",
                                     "\n",
                                     "training",
                                     "init",
                                     "x.g:4:7",
                                     "{value = 3}",
                                     "\377",
                                     "1e999",
                                     "{axes = [0]}",
                                     "sum",
                                     "gather",
                                     "convert",
                                     "reshape",
                                     ".1",
                                     "f32[4294967296,4294967296]"};
  size_t at = next(seed, (uint32_t)n), len = next(seed, 20);
  const char *bit = bits[next(seed, sizeof bits / sizeof bits[0])];
  if (at + len > n) len = n - at;
  switch (next(seed, 4)) {
  case 0: text[at] = (char)next(seed, 256); return n;
  case 1: memmove(text + at, text + at + len, n - at - len); return n - len;
  case 2: return insert(text, n, at, bit, strlen(bit));
  default:
    while (len < n - at && !strchr(" ,\n", text[at + len])) len++;
    memmove(text + at, text + at + len, n - at - len);
    return insert(text, n - len, at, bit, strlen(bit));
  }
}

static void mutated(void **state) {
  (void)state;
  for (uint32_t i = 0; i < 4000; i++) {
    uint32_t seed = i * 2654435761u + 1;
    const char *from = good[next(&seed, GOOD)];
    size_t n = strlen(from);
    char *text = malloc(n + 256);
    memcpy(text, from, n);
    for (uint32_t k = next(&seed, 3) + 1; k > 0 && n > 0; k--) n = mutate(text, n, &seed);
    Ctx *c = ctx_new();
    ctx_set_stream(c, NULL);
    Module *m = read_text(c, text, n);
    assert_true(m ? ctx_errors(c) == 0 : ctx_errors(c) > 0);
    if (m) {
      char *once = print(m);
      Module *again = read_text(c, once, strlen(once));
      if (!again) fail_msg("seed %u: not read again:\n%s", i, once);
      char *twice = print(again);
      assert_string_equal(once, twice);
      free(once);
      free(twice);
      module_free(again);
      module_free(m);
    }
    free(text);
    ctx_free(c);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(round_trip), cmocka_unit_test(free_form), cmocka_unit_test(notes_and_places),
      cmocka_unit_test(errors),     cmocka_unit_test(deep_nest), cmocka_unit_test(mutated),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
