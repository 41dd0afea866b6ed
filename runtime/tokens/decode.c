/* From tokens to text: the decoders change the list of the tokens' strings in turn, and what is
   left is joined. Contract: see parts.h. Source: the package tokenizers, whose names and rules
   these are. */
#include "runtime/tokens/parts.h"
#include <stdlib.h>

enum { DECODERS = 64, NESTED = 8 };

/* ---- the list ---- */

static Text *texts_add(Texts *t) {
  uint64_t old = t->room;
  if (!grow(&t->at, &t->room, t->n + 1, sizeof *t->at)) return NULL;
  memset(t->at + old, 0, (t->room - old) * sizeof *t->at);
  t->at[t->n].n = 0;
  return &t->at[t->n++];
}

/* All of them become the first. */
static bool run_fuse(const Decoder *d, Texts *t, Err *e) {
  for (uint64_t i = 1; i < t->n; i++)
    if (!text_add(&t->at[0], t->at[i].s, t->at[i].n)) return false;
  t->n = t->n > 0;
  return true;
}

/* ---- decoders ---- */

static bool run_bytes(const Decoder *d, Texts *t, Err *e) {
  Text all = {0}, *out;
  bool ok = true;
  for (uint64_t i = 0; i < t->n && ok; i++) {
    Slice s = text_slice(&t->at[i]);
    uint64_t before = all.n;
    for (uint64_t at = 0; at < s.n && ok;) {
      int b = bytes_decode(utf8_next(s, &at));
      char byte = (char)b;
      if (b < 0) { /* no byte-level token: as it is */
        all.n = before;
        ok = text_add(&all, s.s, s.n);
        break;
      }
      ok = text_add(&all, &byte, 1);
    }
  }
  t->n = 0;
  ok = ok && (out = texts_add(t)) && utf8_mend(out, text_slice(&all));
  text_free(&all);
  return ok;
}

static bool replace_with(Text *t, Text *with) {
  Text old = *t;
  *t = *with;
  *with = old;
  return true;
}

static bool run_replace(const Decoder *d, Texts *t, Err *e) {
  Text work = {0};
  bool ok = true;
  for (uint64_t i = 0; i < t->n && ok; i++) {
    Slice s = text_slice(&t->at[i]);
    uint64_t done = 0, from = 0, to = 0;
    work.n = 0;
    Found f = FOUND_NONE;
    while (ok && from < s.n && (f = regex_find(d->regex, s, &from, &to)) == FOUND && to > from) {
      ok = text_add(&work, s.s + done, from - done) && text_add(&work, d->text.s, d->text.n);
      done = from = to;
    }
    if (f == FOUND_TOO_LONG)
      ok = err_set(e, EXIT_WRONG, "a decoder's pattern takes too long for this text");
    ok = ok && text_add(&work, s.s + done, s.n - done) && replace_with(&t->at[i], &work);
  }
  text_free(&work);
  return ok;
}

static bool run_meta(const Decoder *d, Texts *t, Err *e) {
  Text work = {0};
  bool ok = true;
  for (uint64_t i = 0; i < t->n && ok; i++) {
    Slice s = text_slice(&t->at[i]);
    work.n = 0;
    for (uint64_t at = 0; at < s.n && ok;) {
      uint64_t begin = at;
      utf8_next(s, &at);
      bool space = slice_is(slice_part(s, begin, at), d->text);
      if (!space)
        ok = text_add(&work, s.s + begin, at - begin);
      else if (i || !d->flag)
        ok = text_add(&work, " ", 1);
    }
    ok = ok && replace_with(&t->at[i], &work);
  }
  text_free(&work);
  return ok;
}

static int hex_digit(char c) {
  return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 87 : -1;
}

/* "<0x0A>"; -1: it is none. */
static int byte_token(Slice s) {
  if (s.n != 6 || memcmp(s.s, "<0x", 3) != 0 || s.s[5] != '>') return -1;
  int high = hex_digit(s.s[3]), low = hex_digit(s.s[4]);
  return high < 0 || low < 0 ? -1 : high << 4 | low;
}

/* Bytes in a row become their text, or one U+FFFD each if that is none. */
static bool flush(Text *bytes, Text *out) {
  bool ok = true, valid = utf8_valid(text_slice(bytes)) == bytes->n;
  if (valid)
    ok = text_add(out, bytes->s, bytes->n);
  else
    for (uint64_t i = 0; i < bytes->n && ok; i++) ok = text_add_char(out, 0xFFFD);
  bytes->n = 0;
  return ok;
}

static bool run_fallback(const Decoder *d, Texts *t, Err *e) {
  Texts all = *t;
  Text bytes = {0}, *out;
  bool ok = true;
  *t = (Texts){0};
  for (uint64_t i = 0; i < all.n && ok; i++) {
    int b = byte_token(text_slice(&all.at[i]));
    char byte = (char)b;
    if (b >= 0) {
      ok = text_add(&bytes, &byte, 1);
      continue;
    }
    if (bytes.n) ok = (out = texts_add(t)) && flush(&bytes, out);
    ok = ok && (out = texts_add(t)) && replace_with(out, &all.at[i]);
  }
  if (bytes.n) ok = ok && (out = texts_add(t)) && flush(&bytes, out);
  for (uint64_t i = 0; i < all.room; i++) text_free(&all.at[i]);
  free(all.at);
  text_free(&bytes);
  return ok;
}

static bool run_strip(const Decoder *d, Texts *t, Err *e) {
  for (uint64_t i = 0; i < t->n; i++) {
    Text *x = &t->at[i];
    uint64_t begin = 0, end = x->n, c = d->text.n;
    for (uint64_t k = 0; k < d->start && end - begin >= c; k++, begin += c)
      if (memcmp(x->s + begin, d->text.s, c) != 0) break;
    for (uint64_t k = 0; k < d->stop && end - begin >= c; k++, end -= c)
      if (memcmp(x->s + end - c, d->text.s, c) != 0) break;
    if (begin) memmove(x->s, x->s + begin, end - begin);
    x->n = end - begin;
  }
  return true;
}

/* Spaces before punctuation and English endings, which splitting put there. */
static bool clean_up(Text *t) {
  static const char *const pairs[][2] = {{" .", "."},     {" ?", "?"},           {" !", "!"},
                                         {" ,", ","},     {" ' ", "'"},          {" n't", "n't"},
                                         {" 'm", "'m"},   {" do not", " don't"}, {" 's", "'s"},
                                         {" 've", "'ve"}, {" 're", "'re"}};
  Text work = {0};
  bool ok = true;
  for (size_t k = 0; k < sizeof pairs / sizeof *pairs && ok; k++) {
    size_t n = strlen(pairs[k][0]);
    work.n = 0;
    for (uint64_t at = 0; at < t->n && ok;) {
      bool there = t->n - at >= n && memcmp(t->s + at, pairs[k][0], n) == 0;
      ok =
          there ? text_add(&work, pairs[k][1], strlen(pairs[k][1])) : text_add(&work, t->s + at, 1);
      at += there ? n : 1;
    }
    ok = ok && replace_with(t, &work);
  }
  text_free(&work);
  return ok;
}

static bool run_wordpiece(const Decoder *d, Texts *t, Err *e) {
  Text work = {0};
  bool ok = true;
  for (uint64_t i = 0; i < t->n && ok; i++) {
    Text *x = &t->at[i];
    bool rest = x->n >= d->text.n && (!d->text.n || memcmp(x->s, d->text.s, d->text.n) == 0);
    uint64_t skip = i && rest ? d->text.n : 0;
    work.n = 0;
    ok = (!i || rest || text_add(&work, " ", 1)) &&
         (x->n == skip || text_add(&work, x->s + skip, x->n - skip)) && replace_with(x, &work) &&
         (!d->flag || clean_up(x));
  }
  text_free(&work);
  return ok;
}

/* ---- reading ---- */

static bool read_strip(const Tree *t, const TreeNode *node, Decoder *d) {
  const TreeNode *start = tree_get(t, node, "start"), *stop = tree_get(t, node, "stop");
  if (!tree_text(t, node, "content", &d->text) || !tree_count(t, start, UINT32_MAX, &d->start) ||
      !tree_count(t, stop, UINT32_MAX, &d->stop))
    return false;
  return d->text.n > 0 || tree_fail(t, node, "a decoder that strips nothing");
}

static bool read_replace(const Tree *t, const TreeNode *node, Decoder *d) {
  return tree_text(t, node, "content", &d->text) && (d->regex = pattern_read(t, node));
}

static bool read_meta(const Tree *t, const TreeNode *node, Decoder *d) {
  Slice scheme;
  bool prefix;
  if (!tree_text(t, node, "replacement", &d->text) ||
      !tree_text(t, node, "prepend_scheme", &scheme) ||
      !tree_flag(t, node, "add_prefix_space", true, &prefix))
    return false;
  d->flag = scheme.s ? !slice_is(scheme, slice_of("never")) : prefix;
  return true;
}

static bool read_wordpiece(const Tree *t, const TreeNode *node, Decoder *d) {
  if (!tree_text(t, node, "prefix", &d->text) || !tree_flag(t, node, "cleanup", true, &d->flag))
    return false;
  if (!d->text.s) d->text = slice_of("##");
  return true;
}

static bool read_one(const Tree *t, const TreeNode *node, Decoder **d, int *n, int depth) {
  static const struct {
    const char *name;
    DecoderRun *run;
    bool (*read)(const Tree *t, const TreeNode *node, Decoder *d);
  } kinds[] = {{"ByteLevel", run_bytes, NULL},
               {"Fuse", run_fuse, NULL},
               {"ByteFallback", run_fallback, NULL},
               {"Strip", run_strip, read_strip},
               {"Replace", run_replace, read_replace},
               {"Metaspace", run_meta, read_meta},
               {"WordPiece", run_wordpiece, read_wordpiece}};
  Slice type;
  if (!tree_has(node)) return true;
  if (!tree_text(t, node, "type", &type)) return false;
  if (slice_is(type, slice_of("Sequence"))) {
    const TreeNode *all = tree_get(t, node, "decoders");
    if (depth == NESTED) return tree_fail(t, node, "decoders are nested too deeply");
    for (const TreeNode *x = tree_child(t, all); x; x = tree_next(t, x))
      if (!read_one(t, x, d, n, depth + 1)) return false;
    return true;
  }
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (!slice_is(type, slice_of(kinds[i].name))) continue;
    Decoder *more = *n < DECODERS ? realloc(*d, (size_t)(*n + 1) * sizeof *more) : NULL;
    if (!more) return tree_fail(t, node, "more than %d decoders", DECODERS);
    *d = more;
    more[(*n)++] = (Decoder){.run = kinds[i].run};
    return !kinds[i].read || kinds[i].read(t, node, &more[*n - 1]);
  }
  return tree_fail(t, node, "the decoder %.*s is not known here", (int)(type.n < 60 ? type.n : 60),
                   type.s);
}

bool decoder_read(const Tree *t, const TreeNode *node, Decoder **d, int *n) {
  return read_one(t, node, d, n, 0);
}

void decoder_free(Decoder *d, int n) {
  for (int i = 0; i < n; i++) regex_free(d[i].regex);
  free(d);
}

bool tokenizer_decode(Tokenizer *k, const uint32_t *ids, uint64_t n, Text *out, Err *e) {
  Texts *t = &k->texts;
  t->n = 0;
  for (uint64_t i = 0; i < n; i++) {
    const Added *a = added_by_id(&k->added, ids[i]);
    Slice s = a ? a->text : vocab_token(&k->model.vocab, ids[i]);
    const Added *named = added_by_id(&k->added, vocab_find(&k->added.names, s));
    if ((named && named->special) || !s.s) continue; /* by its text, which two tokens may have */
    Text *x = texts_add(t);
    if (!x || !text_add(x, s.s, s.n)) return no_memory(e);
  }
  for (int i = 0; i < k->ndecoders; i++)
    if (!k->decoders[i].run(&k->decoders[i], t, e)) return no_memory(e);
  for (uint64_t i = 0; i < t->n; i++)
    if ((i && !k->ndecoders && !text_add(out, " ", 1)) || !text_add(out, t->at[i].s, t->at[i].n))
      return no_memory(e);
  return true;
}
