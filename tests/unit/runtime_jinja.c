/* Chat templates. What each gives is what the package jinja2 gives, called as the package
   transformers calls it; what is not known, and what would not end, is an error. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "runtime/text/jinja.h"
#include <stdlib.h>

#define MORE "More \xC3\xA9"
static const JinjaMessage chat[] = {
    {"system", {" Be brief. ", 11}},
    {"user", {"Hi\n", 3}},
    {"assistant", {"<think>a</think>\n Hello\xE3\x80\x80", 26}},
    {"user", {MORE, sizeof MORE - 1}},
};

static bool render(Slice template, Text *out, Err *e) {
  const JinjaInput in = {chat, 4, slice_of("<s>"), slice_of("</s>"), true};
  return jinja_render(template, &in, out, e);
}

// clang-format off
static const char *const cases[][2] = {
    {"{% for m in messages %}<{{ m.role }}>{{ m['content'] }}</>\n{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}",
     "<system> Be brief. </>\n<user>Hi\n</>\n<assistant><think>a</think>\n Hello\xE3\x80\x80""</>\n<user>More \xC3\xA9""</>\n<assistant>"},
    {"{{ bos_token }}\n{%- for m in messages if m.role != 'system' %}\n  {%- if loop.first %}\n    {{- '[' + messages[0].content | trim + '] ' }}\n  {%- endif %}\n  {{- loop.index ~ '/' ~ loop.length ~ m.content.strip() + (eos_token if m.role == 'assistant' else '') }}\n{%- endfor %}",
     "<s>[Be brief.] 1/3Hi2/3<think>a</think>\n Hello</s>3/3More \xC3\xA9"},
    {"a\n  {% if true %}\n  b\n  {% endif %}\n c {%+ if true %} d {% endif -%}   \n\n e {#- gone -#} f\n",
     "a\n  b\n c  d ef"},
    {"{% set ns = namespace(n=0, last='') %}{% for m in messages[::-1] %}{% if m.role == 'user' and not ns.last %}{% set ns.last = m.content %}{% endif %}{% set ns.n = ns.n + m.content|length %}{% endfor %}{{ ns.n }}:{{ ns.last }}",
     "44:More \xC3\xA9"},
    {"{% set x = 'out' %}{% for m in messages[1:3] %}{% set x = m.role %}{{ x }},{% endfor %}{{ x }}",
     "user,assistant,out"},
    {"{{ messages[2].content.split('</think>')[-1].lstrip() }}|{{ messages[-1]['content'].endswith('\xC3\xA9""') }}|{{ messages[0].nothing is defined }}|{{ tools is none and not tools }}",
     "Hello\xE3\x80\x80""|True|False|True"},
    {"{{ 'yes' if messages|length % 2 == 0 and 'user' in ['a', messages[1].role] else 'no' }}{{ nothing }}{{ nothing | default('d') }}{{ 1 if false }}{{ 7 - 2 * 3 }}{{ 1 < 2 <= 2 }}",
     "yesd1True"},
    {"{% if tools %}{% for t in tools %}{{ t | tojson(indent=4) }}{% endfor %}{% macro f(x) %}{% endmacro %}{% elif messages[0].role in 'the system' %}{{ \"it's\\n\" }}{% else %}{{ raise_exception('no') }}{% endif %}",
     "it's\n"},
};
// clang-format on

static void texts(void **state) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    Text out = {0};
    Err e = {0};
    bool ok = render(slice_of(cases[i][0]), &out, &e);
    if (!ok) print_error("%s\n", e.msg);
    assert_true(ok && !e.code);
    assert_true(text_add(&out, "", 1));
    assert_string_equal(out.s, cases[i][1]);
    text_free(&out);
  }
}

static void refused(void **state) {
  static const char *const wrong[][2] = {
      {"a\n{{ raise_exception('no system') }}", "line 2 of the template: no system"},
      {"{% macro f() %}{% endmacro %}",
       "line 1 of the template: the statement 'macro' is not known here"},
      {"{{ messages | tojson }}", "the filter 'tojson' is not known here"},
      {"{{ messages[0].content.title() }}", "the method 'title' is not known here"},
      {"{{ cycler('a') }}", "the function 'cycler' is not known here"},
      {"{{ 1 is odd }}", "the test 'odd' is not known here"},
      {"{{ messages }}", "a list or a dictionary is printed"},
      {"{{ 'a' + nothing }}", "'+' with what is not there"},
      {"{{ nothing.part }}", "a part of what is not there"},
      {"{{ 'a", "a tag without an end"},
      {"{{ ('a' }}", "a bracket or a quote is missing"},
      {"{{ 'a' 'b' }}", "''b' ' is not understood here"},
      {"{% if true %}", "a statement without an end"},
      {"{% endfor %}", "'endfor' without a begin"},
      {"{% for m in messages %}{% endif %}", "'endif' ends something else"},
      {"{% for a, b in messages %}{% endfor %}", "'for' of this form is not known here"},
      {"{% for m in 'text' %}{% endfor %}", "'for' of no list"},
      {"{% set x %}a{% endset %}", "'set' of this form is not known here"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    Text out = {0};
    Err e = {0};
    assert_false(render(slice_of(wrong[i][0]), &out, &e));
    if (!strstr(e.msg, wrong[i][1])) print_error("%s: %s\n", wrong[i][0], e.msg);
    assert_non_null(strstr(e.msg, wrong[i][1]));
    text_free(&out);
  }
}

/* Every prefix of the templates, and each byte of them replaced: nothing is read beyond them. */
static void damaged(void **state) {
  static const char bytes[] = "{%}#'(\\[-|.\xE3";
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (uint64_t n = strlen(cases[i][0]), k = 0; k < n; k++) {
      char *copy = malloc(n);
      assert_non_null(copy);
      for (uint64_t b = 0; b < sizeof bytes; b++) {
        Text out = {0};
        Err e = {0};
        memcpy(copy, cases[i][0], n);
        copy[k] = bytes[b];
        bool ok = render((Slice){copy, b ? n : k}, &out, &e);
        assert_true(ok == !e.code);
        text_free(&out);
      }
      free(copy);
    }
}

/* Texts that double, loops within loops, and brackets without end. */
static void bounded(void **state) {
  Text text = {0}, out = {0};
  Err e = {0};
  assert_true(text_add(&text, "{% set x = 'ab' %}", 18));
  for (int i = 0; i < 80; i++) assert_true(text_add(&text, "{% set x = x + x %}", 19));
  assert_false(render(text_slice(&text), &out, &e));
  assert_non_null(strstr(e.msg, "too long"));
  text.n = out.n = 0, e = (Err){0};
  for (int i = 0; i < 30; i++) assert_true(text_add(&text, "{% for m in messages %}", 23));
  for (int i = 0; i < 30; i++) assert_true(text_add(&text, "{% endfor %}", 12));
  assert_false(render(text_slice(&text), &out, &e));
  text.n = out.n = 0, e = (Err){0};
  assert_true(text_add(&text, "{{ ", 3));
  for (int i = 0; i < 100000; i++) assert_true(text_add(&text, "(", 1));
  assert_true(text_add(&text, " }}", 3));
  assert_false(render(text_slice(&text), &out, &e));
  assert_non_null(strstr(e.msg, "too many levels"));
  text_free(&text), text_free(&out);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(texts), cmocka_unit_test(refused),
                                     cmocka_unit_test(damaged), cmocka_unit_test(bounded)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
