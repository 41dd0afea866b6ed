/* Mutated instruction data: fuzz_records [SECONDS | NUMBERt] [SEED] TOKENIZER.json, for so many
   seconds or that many texts of JSON lines, packed and padded, plain, by a template and by a
   folder's own. A text may be refused, with a reason; of one that is taken every token is the
   tokenizer's, is marked as learned or not, and padded records have their length. A seed always
   makes the same cases. */
#include "runtime/text/records.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t next(uint64_t *s) {
  *s ^= *s << 13, *s ^= *s >> 7, *s ^= *s << 17;
  return *s;
}

static void must(bool ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "%s\n", what);
  abort();
}

static void add(Text *t, const char *s) { must(text_add(t, s, strlen(s)), "no memory"); }

/* One of a list that ends with NULL. */
static const char *any(const char *const *list, uint64_t *rng) {
  uint64_t n = 0;
  while (list[n]) n++;
  return list[next(rng) % n];
}

static const char *const texts[] = {"\"\"",
                                    "\"a\"",
                                    "\"Say 1\\n\"",
                                    "\"\\u00e9 \\ud83d\\ude42\"",
                                    "\" the  end\"",
                                    "\"<|im_end|>\"",
                                    "\"\\u0000\"",
                                    "\"\xC3\xA9\"",
                                    NULL};
static const char *const wrong[] = {"null",      "1",           "[]", "{}",
                                    "\"\xC3(\"", "\"\\ud800\"", "\"", NULL};
static const char *const roles[] = {"\"system\"", "\"user\"", "\"assistant\"", "\"tool\"", NULL};

static void add_value(Text *t, const char *key, const char *const *values, uint64_t *rng) {
  add(t, "\""), add(t, key), add(t, "\": ");
  add(t, any(next(rng) % 60 ? values : wrong, rng));
}

static void add_messages(Text *t, uint64_t *rng) {
  bool wild = next(rng) % 8 == 0; /* roles in any order */
  add(t, "\"messages\": [");
  for (uint64_t i = 0, n = next(rng) % 3 * 2 + 2; i < n; i++) {
    const char *const role[] = {i % 2 ? roles[2] : roles[1], NULL};
    add(t, i ? ", {" : "{");
    add_value(t, "role", wild ? roles : role, rng);
    add(t, ", ");
    add_value(t, "content", texts, rng);
    add(t, "}");
  }
  add(t, "]");
}

static void add_record(Text *t, uint64_t *rng) {
  add(t, "{");
  if (next(rng) % 2) {
    add_value(t, "prompt", texts, rng);
    if (next(rng) % 30) add(t, ", "), add_value(t, "completion", texts, rng);
  } else {
    add_messages(t, rng);
  }
  if (next(rng) % 8 == 0) add(t, ", \"id\": {\"n\": [1, 2.5e3, null]}");
  add(t, next(rng) % 80 ? "}\n" : "\n");
}

/* Templates of folders: that of a model, one without instructions, and some that change what was
 * said. */
static const char *const own[] = {
    "",
    "",
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% "
    "endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}",
    "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('none') }}{% endif %}"
    "{{ m.content | trim }}{{ eos_token if m.role == 'assistant' else ':' }}{% endfor %}",
    "{{ messages[-1].content }}",
    "{{ messages | length }}{% for m in messages %}{{ m.content }}{% endfor %}",
    NULL};

static bool use(Tokenizer *tokenizer, Slice text, uint64_t *rng) {
  Records r = {.tokenizer = tokenizer,
               .template = template_find(next(rng) % 2 ? "plain" : "chatml"),
               .end = next(rng) % 2 ? NO_TOKEN : 2,
               .pad = 2,
               .length = next(rng) % 3 ? 0 : next(rng) % 40 + 1};
  add(&r.own.source, any(own, rng)), add(&r.own.eos, "<|im_end|>");
  Learned out = {0};
  Err e = {0};
  bool ok = records_check(&r, &e) && records_add(&r, "records", text, &out, &e);
  must(ok == !e.code, "a text is refused without a reason, or taken with one");
  for (uint64_t i = 0; ok && i < out.ids.n; i++)
    must(out.ids.at[i] < tokenizer_size(tokenizer) && out.mark[i] <= 1, "no token, or no mark");
  must(!ok || !r.length || out.ids.n == r.n * r.length, "a record has another length");
  must(!ok || r.cut <= r.n, "more records are cut than there are");
  must(!r.own.n, "a conversation is left over");
  own_template_free(&r.own);
  learned_free(&out);
  return ok;
}

int main(int argc, char **argv) {
  char *unit = "";
  uint64_t most = argc > 1 ? strtoull(argv[1], &unit, 10) : 5, runs = 0, taken = 0;
  uint64_t rng = (argc > 2 ? strtoull(argv[2], NULL, 10) : 1) * 0x9E3779B97F4A7C15ULL | 1;
  Err e = {0};
  Tokenizer *t = argc > 3 ? tokenizer_read(argv[3], &e) : NULL;
  if (!t) return fprintf(stderr, "%s\n", e.msg), 2;
  time_t end = time(NULL) + (time_t)most;
  for (; *unit == 't' ? runs < most : runs % 64 || time(NULL) < end; runs++) {
    Text text = {0};
    for (uint64_t n = next(&rng) % 4 + 1; n; n--) add_record(&text, &rng);
    if (next(&rng) % 4 == 0) text.s[next(&rng) % text.n] ^= (char)(1 << next(&rng) % 8);
    if (next(&rng) % 16 == 0) text.n = next(&rng) % text.n;
    taken += use(t, text_slice(&text), &rng);
    text_free(&text);
  }
  tokenizer_free(t);
  printf("records %8llu texts, %8llu accepted\n", (unsigned long long)runs,
         (unsigned long long)taken);
  bool few = taken < runs / 10 || runs - taken < runs / 10 || runs < 200;
  if (few) printf("too few cases are accepted, or refused\n");
  return few;
}
