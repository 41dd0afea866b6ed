/* Mutated tokenizers and patterns: fuzz_tokens [SECONDS | NUMBERt] [SEED] FILE.json…, for so many
   seconds or that many cases. A tokenizer may be refused, with a reason; one that is taken may not
   crash or hang, gives no number that is none of its own, gives the same numbers when its cache
   knows the words, and makes UTF-8 of any of its numbers. A search of a pattern ends behind where
   it began, whatever the pattern. Build with sanitizers (GC_SANITIZE=ON) to see more. A seed always
   makes the same cases, so that a finding repeats. */
#include "runtime/base/rt.h"
#include "runtime/tokens/regex.h"
#include "runtime/tokens/tokenizer.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static uint64_t next(uint64_t *s) {
  *s ^= *s << 13, *s ^= *s >> 7, *s ^= *s << 17;
  return *s;
}

static void must(bool ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "%s\n", what);
  abort();
}

static void add(Text *t, const char *s, uint64_t n) { must(text_add(t, s, n), "no memory"); }

/* Words of the files, and what their readers do not expect. */
static const char *const words[] = {"null",
                                    "true",
                                    "0",
                                    "7",
                                    "300",
                                    "-1",
                                    "1e9",
                                    "0.5",
                                    "\"\"",
                                    "\"a\"",
                                    "\"a b\"",
                                    "[]",
                                    "{}",
                                    "false",
                                    "\"\\u0000\"",
                                    "\"\\u2581\"",
                                    "\"\\u00e9\"",
                                    "\"BPE\"",
                                    "\"Unigram\"",
                                    "\"WordPiece\"",
                                    "\"Sequence\"",
                                    "\"Split\"",
                                    "\"ByteLevel\"",
                                    "\"Metaspace\"",
                                    "\"Digits\"",
                                    "\"Punctuation\"",
                                    "\"BertPreTokenizer\"",
                                    "\"Whitespace\"",
                                    "\"NFC\"",
                                    "\"NFD\"",
                                    "\"Lowercase\"",
                                    "\"Replace\"",
                                    "\"Prepend\"",
                                    "\"Strip\"",
                                    "\"StripAccents\"",
                                    "\"BertNormalizer\"",
                                    "\"Fuse\"",
                                    "\"ByteFallback\"",
                                    "\"always\"",
                                    "\"first\"",
                                    "\"never\"",
                                    "\"Removed\"",
                                    "\"Isolated\"",
                                    "\"Contiguous\"",
                                    "\"MergedWithPrevious\"",
                                    "\"MergedWithNext\"",
                                    "[\"a\",\"b\"]",
                                    "[[\"a\",0]]",
                                    "{\"type\":\"ByteLevel\"}",
                                    "{\"type\":\"Fuse\"}",
                                    "{\"type\":\"ByteFallback\"}",
                                    "{\"type\":\"Metaspace\",\"replacement\":\"\\u2581\"}",
                                    "{\"type\":\"NFD\"}",
                                    "{\"Regex\":\"\\\\s+|(?=a)\"}",
                                    "{\"String\":\" \"}",
                                    "\"\\\\p{L}+|\\\\s\"",
                                    ",",
                                    ":",
                                    "}"};
enum { WORDS = sizeof words / sizeof *words };

static const char *const pieces[] = {
    "a",    "b",   ".",  "\\s", "\\p{L}", "[^a\\d]",  "(?:",     "(?i:", "(?=", "(?!",
    "(",    ")",   "|",  "*",   "+",      "?",        "++",      "*?",   "{2}", "{,3}",
    "{1,}", "[a-", "z]", "]",   "\\",     "\xC3\xA9", "\\x{e9}", " ?"};
enum { PIECES = sizeof pieces / sizeof *pieces };

/* The byte behind the value of JSON that begins here. */
static uint64_t value_end(const Text *t, uint64_t at) {
  uint64_t depth = 0;
  do {
    char c = t->s[at++];
    if (c == '"')
      while (at < t->n && t->s[at++] != '"') at += t->s[at - 1] == '\\';
    depth += c == '{' || c == '[';
    depth -= depth && (c == '}' || c == ']');
    if (!depth && at < t->n && strchr(",]}", t->s[at])) break;
  } while (at < t->n);
  return at < t->n ? at : t->n;
}

/* A word of the kind of value that begins with c: string, number, list, object, or one of true,
   false and null; rarely of any kind. */
static const char *word_like(char c, uint64_t *rng) {
  bool any = next(rng) % 8 == 0;
  for (int tries = 0;; tries++) {
    const char *w = words[next(rng) % WORDS];
    bool both_words = strchr("tfn", c) && strchr("tfn", *w),
         both_digits = c >= '0' && c <= '9' && *w >= '0' && *w <= '9';
    if (any || tries == 100 || c == *w || both_words || both_digits) return w;
  }
}

static void replace(Text *t, uint64_t from, uint64_t to, const char *s, uint64_t n) {
  Text out = {0};
  add(&out, t->s, from), add(&out, s, n), add(&out, t->s + to, t->n - to);
  text_free(t);
  *t = out;
}

static void mutate(Text *t, uint64_t *rng) {
  for (uint64_t k = next(rng) % 2 + 1; k && t->n; k--) {
    uint64_t at = next(rng) % t->n, kind = next(rng) % 8, from = next(rng) % t->n;
    if (kind == 0 && next(rng) % 4 == 0) {
      t->s[at] ^= (char)(1 << next(rng) % 7);
    } else if (kind == 1 && next(rng) % 8 == 0) {
      t->n = at;
    } else if (kind == 2) { /* a part of the text once more */
      uint64_t n = next(rng) % 40;
      if (n > t->n - from) n = t->n - from;
      Text part = {0};
      add(&part, t->s + from, n);
      replace(t, at, at, part.s, n);
      text_free(&part);
    } else { /* another value: three of four times of the settings, before the vocabulary */
      const char *vocab = strstr(t->s, "\"vocab\"");
      uint64_t head = vocab ? (uint64_t)(vocab - t->s) : 0;
      if (head && next(rng) % 4) at = next(rng) % head;
      while (at < t->n && t->s[at] != ':' && t->s[at] != '[') at++;
      do at++;
      while (at < t->n && t->s[at] == ' ');
      if (at >= t->n) continue;
      const char *word = word_like(t->s[at], rng);
      replace(t, at, value_end(t, at), word, strlen(word));
    }
    add(t, "", 1), t->n--; /* strstr needs an end */
  }
}

/* Text of all lengths of characters; one time in 16 it is not UTF-8. */
static void any_text(Text *t, uint64_t *rng) {
  static const uint32_t chars[] = {' ',    'a',    'b',     'e',    't',   '\n',
                                   '1',    '.',    '\'',    0xE9,   0x301, 0x2581,
                                   0x4E2D, 0xAC01, 0x1F600, 0xFFFD, 0,     0x130};
  t->n = 0;
  for (uint64_t n = next(rng) % 60; n; n--)
    must(text_add_char(t, chars[next(rng) % (sizeof chars / sizeof *chars)]), "no memory");
  if (next(rng) % 16 == 0) add(t, "\xC3(", 2);
}

static void use(Tokenizer *t, uint64_t *rng) {
  Text text = {0}, back = {0};
  Ids ids = {0};
  for (int k = 0; k < 2; k++) {
    Err e = {0};
    uint64_t first;
    any_text(&text, rng);
    ids.n = back.n = 0;
    bool ok = tokenizer_encode(t, text_slice(&text), k, &ids, &e);
    must(ok == !e.code, "a text is refused without a reason, or taken with one");
    if (!ok) continue;
    first = ids.n;
    for (uint64_t i = 0; i < first; i++)
      must(ids.at[i] < tokenizer_size(t), "a number of no token");
    must(tokenizer_encode(t, text_slice(&text), k, &ids, &e) && ids.n == 2 * first &&
             (!first || memcmp(ids.at, ids.at + first, first * sizeof *ids.at) == 0),
         "the cache gives other tokens");
    for (int i = 0; i < 8 && tokenizer_size(t); i++)
      must(ids_add(&ids, (uint32_t)(next(rng) % tokenizer_size(t))), "no memory");
    ok = tokenizer_decode(t, ids.at, ids.n, &back, &e);
    must(ok == !e.code, "tokens are refused without a reason, or taken with one");
    must(!ok || utf8_valid(text_slice(&back)) == back.n, "tokens become a text that is not UTF-8");
  }
  text_free(&text), text_free(&back);
  free(ids.at);
}

/* Returns whether the pattern is taken. */
static bool use_pattern(uint64_t *rng) {
  Text pattern = {0}, text = {0};
  char why[REGEX_WHY];
  for (uint64_t n = next(rng) % 12 + 1; n; n--) {
    const char *piece = pieces[next(rng) % PIECES];
    add(&pattern, piece, strlen(piece));
  }
  Regex *r = regex_compile(text_slice(&pattern), why);
  must(r || *why, "a pattern is refused without a reason");
  do any_text(&text, rng);
  while (utf8_valid(text_slice(&text)) != text.n);
  Slice s = text_slice(&text);
  for (uint64_t from = 0, to = 0, before = 0; r && from < s.n; before = from) {
    if (regex_find(r, s, &from, &to) != FOUND) break;
    must(from >= before && to >= from && to <= s.n, "a match lies outside of the text");
    if (to != from)
      from = to;
    else if (from < s.n) /* an empty match may stand at the end of the text */
      utf8_next(s, &from);
  }
  regex_free(r);
  text_free(&pattern), text_free(&text);
  return r != NULL;
}

static Text read_whole(const char *path) {
  Text t = {0};
  char part[4096];
  FILE *f = fopen(path, "rb");
  must(f != NULL, path);
  for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;) add(&t, part, n);
  fclose(f);
  return t;
}

int main(int argc, char **argv) {
  char *unit = "", path[64];
  uint64_t most = argc > 1 ? strtoull(argv[1], &unit, 10) : 5;
  bool counted = *unit == 't';
  uint64_t rng = (argc > 2 ? strtoull(argv[2], NULL, 10) : 1) * 0x9E3779B97F4A7C15ULL | 1;
  uint64_t runs = 0, taken = 0, tried = 0, patterns = 0, seeds = argc > 3 ? (uint64_t)argc - 3 : 0;
  Text *seed = calloc(seeds + 1, sizeof *seed);
  int fd = memfd_create("fuzz", 0);
  if (fd < 0 || !seed || !seeds) return 2;
  for (uint64_t i = 0; i < seeds; i++) seed[i] = read_whole(argv[3 + i]);
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  time_t end = time(NULL) + (time_t)most;
  for (; counted ? runs < most : runs % 64 || time(NULL) < end; runs++) {
    Text file = {0};
    Err e = {0};
    patterns += use_pattern(&rng);
    if (runs % 4) continue;
    const Text *s = &seed[tried % seeds];
    add(&file, s->s, s->n), add(&file, "", 1), file.n--;
    if (tried >= seeds) mutate(&file, &rng); /* the first ones as they are */
    if (ftruncate(fd, 0) != 0 || pwrite(fd, file.s, file.n, 0) != (ssize_t)file.n) return 2;
    Tokenizer *t = tokenizer_read(path, &e);
    must((t != NULL) == !e.code, "a file is refused without a reason, or taken with one");
    must(t || tried >= seeds, e.msg);
    if (t) use(t, &rng);
    tokenizer_free(t);
    text_free(&file);
    tried++, taken += t != NULL;
  }
  printf("tokenizers %8llu files, %8llu accepted\npatterns   %8llu texts, %8llu accepted\n",
         (unsigned long long)tried, (unsigned long long)taken, (unsigned long long)runs,
         (unsigned long long)patterns);
  for (uint64_t i = 0; i < seeds; i++) text_free(&seed[i]);
  free(seed);
  close(fd);
  bool few = taken < tried / 20 || tried - taken < tried / 20 || patterns < runs / 20 || runs < 200;
  if (few) printf("too few cases are accepted, or refused\n");
  return few;
}
