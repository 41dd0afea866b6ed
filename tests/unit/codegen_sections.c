/* Sections of library code: which ones a source gets, and that in the libraries of both targets no
   section uses what a file may lack: every name that a section uses is its own, an earlier
   section's, or the base's. */
#include "codegen/cpu/cpu.h"
#include "codegen/gpu/emit.h"
#include "tests/unit/rig.h"

#include <ctype.h>

static const char *printed(const Sections *s, Arena *a, const char *source) {
  Text x = text_new(a, 0);
  sections_use(s, source);
  sections_print(s, &x);
  return text_str(&x);
}

static void prints_what_is_used(void **state) {
  Arena *a = arena_new();
  const Sections *s =
      sections_of(a, (const char *const[]){"base\n/* section one */\nint one;\n",
                                           "/* title */\n"
                                           "/* section two */\nint two = one;\n"
                                           "/* section three: two */\nint t##wo;\n",
                                           "/* section four\n   five */\nint four, five;\n", NULL});
  assert_string_equal(sections_base(s), "base\n");
  assert_string_equal(printed(s, a, "one"), "int one;\n");
  assert_string_equal(printed(s, a, "three();"),
                      "int one;\n/* title */\nint two = one;\nint t##wo;\n");
  assert_string_equal(printed(s, a, "x + five"), "int four, five;\n");
  assert_string_equal(printed(s, a, "ones 0one x_one /* one */ \"one \\\" one\" 'one'"), "");
  arena_free(a);
}

static bool has_name(const char *text, const char *name, size_t n) {
  size_t k;
  for (const char *at; (at = sections_next_name(&text, &k));)
    if (k == n && memcmp(at, name, n) == 0) return true;
  return false;
}

/* The name that a line at file level defines; NULL: none. */
static const char *defined(const char *line, size_t *n) {
  static const char *const before[] = {"struct", "define"};
  const char *end = line + strcspn(line, "\n"), *last = "";
  size_t nlast = 0;
  bool type = strncmp(line, "typedef", 7) == 0;
  if (!isalpha((unsigned char)*line) && strncmp(line, "#define", 7) != 0) return NULL;
  for (const char *at = line, *name; (name = sections_next_name(&at, n)) && name < end;) {
    for (int i = 0; i < 2; i++)
      if (nlast == 6 && memcmp(last, before[i], 6) == 0 && strncmp(name, "__align__", 9) != 0)
        return name;
    if (type && strncmp(name, "__attribute__", *n) == 0) {
      *n = nlast;
      return last;
    }
    if (*at == '(' && strncmp(name, "__", 2) != 0 && strncmp(name, "sizeof", 6) != 0 && nlast)
      return name;
    if (strncmp(line, "enum", 4) == 0 && strncmp(at, " =", 2) == 0) return name;
    last = name, nlast = *n;
  }
  return NULL;
}

static int faults_of(const Sections *s) {
  int faults = 0;
  for (uint32_t i = 1; i < s->names.n; i++) {
    const SectionName *x = &s->names.at[i - 1], *y = &s->names.at[i];
    if (x->n != y->n || memcmp(x->at, y->at, x->n) != 0) continue;
    faults++, print_message("two sections define %.*s\n", (int)x->n, x->at);
  }
  for (uint32_t i = 0; i < s->list.n; i++) {
    const Section *x = &s->list.at[i];
    size_t n;
    for (const char *at = x->text, *name; (name = sections_next_name(&at, &n));) {
      const Section *of = sections_find(s, name, n);
      if (of && of > x)
        faults++, print_message("section %suses %.*s of a later one\n", x->names, (int)n, name);
    }
    for (const char *at = x->needs, *name; (name = sections_next_name(&at, &n));)
      if (!sections_find(s, name, n) || sections_find(s, name, n) >= x)
        faults++, print_message("section %sneeds %.*s, which no earlier one defines\n", x->names,
                                (int)n, name);
    if (!*x->names) continue;
    for (const char *line = x->text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
      const char *name = defined(line, &n);
      if (!name || sections_find(s, name, n) == x) continue;
      for (uint32_t j = 0; j < s->list.n; j++)
        if (j != i && has_name(s->list.at[j].text, name, n))
          faults++,
              print_message("section %sdefines %.*s without saying so\n", x->names, (int)n, name);
    }
  }
  return faults;
}

/* A name that is made with ##, whose part is `n` characters at `part`, is of the section, or it
 * says which it needs. */
static bool pasted_is_known(const Sections *s, const Section *x, const char *part, size_t n,
                            bool first) {
  bool other = false;
  for (uint32_t i = 0; i < s->names.n; i++) {
    const SectionName *at = &s->names.at[i];
    if (at->n <= n || memcmp(first ? at->at : at->at + at->n - n, part, n) != 0) continue;
    if (&s->list.at[at->section] == x || has_name(x->needs, at->at, at->n)) return true;
    other = true;
  }
  return !other;
}

static int pasted_faults_of(const Sections *s) {
  int faults = 0;
  for (uint32_t i = 0; i < s->list.n; i++) {
    const Section *x = &s->list.at[i];
    size_t n;
    for (const char *at = x->text, *name; (name = sections_next_name(&at, &n));) {
      bool first = strncmp(at, "##", 2) == 0 && !(name > x->text && name[-1] == '#');
      bool last = name > x->text && name[-1] == '#' && strncmp(at, "##", 2) != 0;
      if ((first || last) && memchr(name, '_', n) && n > 1 &&
          !pasted_is_known(s, x, name, n, first))
        faults++,
            print_message("section %sdoes not say which %.*s it needs\n", x->names, (int)n, name);
    }
  }
  return faults;
}

static void libraries_are_closed(void **state) {
  Arena *a = arena_new();
  const Sections *both[] = {cpu_library(a), cuda_library(a)};
  for (int i = 0; i < 2; i++) {
    assert_true(both[i]->names.n > 60);
    assert_int_equal(faults_of(both[i]) + pasted_faults_of(both[i]), 0);
  }
  arena_free(a);
}

/* What the check of the libraries is good for. */
static void finds_faults(void **state) {
  Arena *a = arena_new();
#define FAULTS(check, text) check(sections_of(a, (const char *const[]){text, NULL}))
  assert_int_equal(FAULTS(faults_of, "/* section f */\nINL f32 f(f32 x) { return g(x); }\n"
                                     "/* section g */\nINL f32 g(f32 x) { return x; }\n"),
                   1);
  assert_int_equal(
      FAULTS(faults_of,
             "/* section g */\nINL f32 g(f32 x) { return x; }\nINL f32 h(f32 x) { return x; }\n"
             "/* section f */\nINL f32 f(f32 x) { return h(x); }\n"),
      1);
  assert_int_equal(FAULTS(faults_of, "/* section g */\nint x;\n/* section g */\nint x;\n"), 1);
  assert_int_equal(FAULTS(faults_of, "/* section g: f */\nint x;\n"), 1);
  assert_int_equal(FAULTS(pasted_faults_of,
                          "/* section max_f32 */\nint x;\n/* section M */\n#define M(T) max_##T\n"),
                   1);
  assert_int_equal(
      FAULTS(pasted_faults_of,
             "/* section max_f32 */\nint x;\n/* section M: max_f32 */\n#define M(T) max_##T\n"),
      0);
#undef FAULTS
  arena_free(a);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(prints_what_is_used),
                                     cmocka_unit_test(libraries_are_closed),
                                     cmocka_unit_test(finds_faults)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
