/* Tokenizers: a small one of each family against the package tokenizers (tests/peers/tokens.py
   recorded the sample), regular expressions, canonical forms, and files that are refused. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "runtime/tokens/regex.h"
#include "runtime/tokens/tokenizer.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *folder;

static Text read_whole(const char *path) {
  Text t = {0};
  char part[4096];
  FILE *f = fopen(path, "rb");
  if (!f) fail_msg("%s cannot be read", path);
  for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;) assert_true(text_add(&t, part, n));
  fclose(f);
  return t;
}

static Text sample(const char *name, const char *end) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s.%s", folder, name, end);
  return read_whole(path);
}

static Tokenizer *tokenizer(const char *name) {
  char path[1024];
  Err e = {0};
  snprintf(path, sizeof path, "%s/%s.json", folder, name);
  Tokenizer *t = tokenizer_read(path, &e);
  if (!t) fail_msg("%s", e.msg);
  return t;
}

static void families(void **state) {
  static const char *const names[] = {"gpt2",    "roberta", "llama3",     "qwen2",
                                      "o200k",   "smollm",  "llama2",     "tinyllama",
                                      "unigram", "bert",    "bert_cased", "rare"};
  Text text = sample("text", "txt");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    Tokenizer *t = tokenizer(names[i]);
    Text want = sample(names[i], "ids"), back = sample(names[i], "txt"), got = {0};
    Ids ids = {0};
    Err e = {0};
    assert_true(tokenizer_encode(t, text_slice(&text), true, &ids, &e));
    for (uint64_t k = 0; k < ids.n && 2 * k + 1 < want.n; k++) {
      uint32_t w = (uint32_t)((unsigned char)want.s[2 * k] | (unsigned char)want.s[2 * k + 1] << 8);
      if (ids.at[k] != w) fail_msg("%s: token %d is %u, not %u", names[i], (int)k, ids.at[k], w);
    }
    assert_int_equal(2 * ids.n, want.n);
    assert_true(tokenizer_decode(t, ids.at, ids.n, &got, &e));
    assert_true(slice_is(text_slice(&got), text_slice(&back)));
    /* what a cache has seen is cut as what it has not */
    uint64_t first = ids.n;
    assert_true(tokenizer_encode(t, text_slice(&text), true, &ids, &e));
    assert_int_equal(ids.n, 2 * first);
    assert_memory_equal(ids.at, ids.at + first, first * sizeof *ids.at);
    tokenizer_free(t);
    text_free(&want), text_free(&back), text_free(&got);
    free(ids.at);
  }
  text_free(&text);
}

/* Texts that are cut between two symbols, at every length around the bound, and empty ones. */
static void lengths(void **state) {
  static const char *const names[] = {"llama2", "gpt2", "unigram", "bert"};
  for (int k = 0; k < 4; k++) {
    Tokenizer *t = tokenizer(names[k]);
    Text all = {0};
    Ids whole = {0};
    Err e = {0};
    for (int n = 0; n < 90; n++) {
      Ids ids = {0};
      Text got = {0};
      assert_true(tokenizer_encode(t, text_slice(&all), false, &ids, &e));
      assert_true(tokenizer_decode(t, ids.at, ids.n, &got, &e));
      if (k < 2) assert_true(slice_is(text_slice(&got), text_slice(&all)));
      if (!n) assert_int_equal(ids.n, 0);
      text_free(&got);
      free(ids.at);
      assert_true(text_add_char(&all, n % 7 == 3    ? ' '
                                      : n % 11 == 5 ? 0x1F600
                                                    : 'a' + (uint32_t)n % 5));
    }
    const Slice wrong = {"a\xC3(", 3};
    assert_false(tokenizer_encode(t, wrong, false, &whole, &e));
    assert_string_equal(e.msg, "the text is not UTF-8 at byte 1");
    text_free(&all);
    free(whole.at);
    tokenizer_free(t);
  }
}

static void regexes(void **state) {
  static const struct {
    const char *pattern, *text, *parts; /* matches, between bars */
  } all[] = {
      {"a+?b|c", "aabxc", "aab|c"},
      {"[^\\S\\r\\n]+", "a \t\n b", " \t| "},
      {"\\p{Lu}{2,3}", "ABCDeFG", "ABC|FG"},
      {"(?:ab){1,2}c?", "ababcabx", "ababc|ab"},
      {"(?i:it's)|\\w+", "IT\xC5\xBF IT'\xC5\xBF", "IT\xC5\xBF|IT'\xC5\xBF"},
      {"\\s+(?!\\S)|\\s+", "a   b  ", "  | |  "},
      {"x(?=y)", "xyxz", "x"},
      {"[\\p{L}--]++|\\d{,2}", "ab-1234", "ab-|12|34"},
      {"[\\u00e9-\\x{1F600}]", "a\xC3\xA9\xF0\x9F\x98\x80", "\xC3\xA9|\xF0\x9F\x98\x80"},
      {".", "a\nb", "a|b"},
      {"[]a]+", "b]a", "]a"},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    char why[REGEX_WHY], got[200] = "";
    Regex *r = regex_compile(slice_of(all[i].pattern), why);
    if (!r) fail_msg("%s: %s", all[i].pattern, why);
    Slice s = slice_of(all[i].text);
    for (uint64_t from = 0, to; from < s.n && regex_find(r, s, &from, &to) == FOUND && to > from;
         from = to)
      snprintf(got + strlen(got), sizeof got - strlen(got), "%s%.*s", *got ? "|" : "",
               (int)(to - from), s.s + from);
    if (strcmp(got, all[i].parts)) fail_msg("%s: %s", all[i].pattern, got);
    regex_free(r);
  }
  static const char *const bad[][2] = {{"a(", "')' is missing"},
                                       {"a)", "too many"},
                                       {"[a", "']' is missing"},
                                       {"*", "not known here"},
                                       {"(?<=a)b", "kind that is not known"},
                                       {"(a*)*", "may be empty"},
                                       {"\\p{Han}", "no general category"},
                                       {"\\1", "back reference"},
                                       {"(?i:\xC3\xA9)", "case is folded"},
                                       {"a{3,1}", "repetition is wrong"},
                                       {"(((a{1000}b){1000}){1000}){1000}", "too long"},
                                       {"(){1000}{1000}{1000}{1000}", "too long"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    char why[REGEX_WHY];
    assert_null(regex_compile(slice_of(bad[i][0]), why));
    if (!strstr(why, bad[i][1])) fail_msg("%s: %s", bad[i][0], why);
  }
  /* a pattern that goes back for ever is given up */
  char why[REGEX_WHY];
  Regex *slow = regex_compile(slice_of("(?:a|a|a|a)+b"), why);
  uint64_t from = 0, to;
  assert_int_equal(regex_find(slow, slice_of("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac"), &from, &to),
                   FOUND_TOO_LONG);
  regex_free(slow);
  /* and so is one that looks at the rest of the text from each place, within a search or by many */
  static const char *const far[] = {"a++b", "a++b|a"};
  Text many = {0};
  for (int i = 0; i < 20000; i++) assert_true(text_add_char(&many, 'a'));
  for (int i = 0; i < 2; i++) {
    Found f = FOUND;
    Regex *r = regex_compile(slice_of(far[i]), why);
    for (from = 0; from < many.n && f == FOUND; from = to)
      f = regex_find(r, text_slice(&many), &from, &to);
    assert_int_equal(f, FOUND_TOO_LONG);
    regex_free(r);
  }
  text_free(&many);
}

static void forms(void **state) {
  static const char *const all[][3] = {
      {"e\xCC\x81", "e\xCC\x81", "\xC3\xA9"},                         /* e and acute */
      {"a\xCC\x81\xCC\xA8", "a\xCC\xA8\xCC\x81", "\xC4\x85\xCC\x81"}, /* marks are put in order */
      {"\xED\x95\x9C", "\xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB", "\xED\x95\x9C"}, /* Hangul */
      {"\xE2\x84\xAB", "A\xCC\x8A", "\xC3\x85"},                                /* Angstrom */
      {"\xE0\xA5\x98", "\xE0\xA4\x95\xE0\xA4\xBC", "\xE0\xA4\x95\xE0\xA4\xBC"}, /* excluded */
      {"plain", "plain", "plain"},
      {"", "", ""}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    for (int form = 1; form < 3; form++) {
      Text t = {0};
      assert_true(unicode_canonical(&t, slice_of(all[i][0]), form == 2));
      assert_true(slice_is(text_slice(&t), slice_of(all[i][form])));
      text_free(&t);
    }
  Text many = {0}, once = {0}, twice = {0}; /* a starter with more marks than are sorted in place */
  assert_true(text_add_char(&many, 'o'));
  for (int i = 0; i < 100; i++) assert_true(text_add_char(&many, i % 3 ? 0x301 : 0x328));
  assert_true(unicode_canonical(&once, text_slice(&many), false) &&
              unicode_canonical(&twice, text_slice(&once), false));
  assert_true(slice_is(text_slice(&once), text_slice(&twice)));
  assert_int_equal(utf8_valid(text_slice(&once)), once.n);
  text_free(&many), text_free(&once), text_free(&twice);
}

static void refused(void **state) {
  static const char *const all[][2] = {
      {"[]", "is no tokenizer.json"},
      {"{}", "there is no model"},
      {"{\"model\":{\"type\":\"Magic\"}}", "the model Magic is not known here"},
      {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[\"a b\"]}}", "does not have"},
      {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":0},\"merges\":[]}}",
       "have one number"},
      {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":99999999},\"merges\":[]}}",
       "from 0 to 16777215"},
      {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[],\"unk_token\":\"u\"}}",
       "unk_token"},
      {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[],\"dropout\":0.1}}",
       "dropout"},
      {"{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",0]]}}", "without unk_id"},
      {"{\"model\":{\"vocab\":{\"a\":0},\"merges\":[]},\"normalizer\":{\"type\":\"NFKC\"}}",
       "normalizer NFKC"},
      {"{\"model\":{\"vocab\":{\"a\":0},\"merges\":[]},\"pre_tokenizer\":{\"type\":\"Split\","
       "\"pattern\":"
       "{\"Regex\":\"(?<a>b)\"},\"behavior\":\"Isolated\"}}",
       "the pattern is not taken"},
      {"{\"model\":{\"vocab\":{\"a\":0},\"merges\":[]},\"decoder\":{\"type\":\"CTC\"}}",
       "decoder CTC"},
      {"{\"model\":{\"vocab\":{\"a\":01},\"merges\":[]}}", "begins with 0"},
      {"{\"model\":{\"vocab\":{\"a\":1e999},\"merges\":[]}}", "beyond 64 bits"},
      {"{\"model\":{\"vocab\":{\"a\":tru},\"merges\":[]}}", "a value was expected"},
      {"{\"model\":{\"vocab\":{\"a\":0},\"merges\":[],}}", "'\"' was expected"},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    char path[] = "tokens.XXXXXX";
    int fd = mkstemp(path);
    assert_int_equal(write(fd, all[i][0], strlen(all[i][0])), strlen(all[i][0]));
    close(fd);
    Err e = {0};
    assert_null(tokenizer_read(path, &e));
    if (!strstr(e.msg, all[i][1])) fail_msg("%s: %s", all[i][0], e.msg);
    assert_int_equal(e.code, EXIT_WRONG);
    unlink(path);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(families), cmocka_unit_test(lengths),
                                     cmocka_unit_test(regexes), cmocka_unit_test(forms),
                                     cmocka_unit_test(refused)};
  folder = argc > 1 ? argv[1] : ".";
  return cmocka_run_group_tests(tests, NULL, NULL);
}
