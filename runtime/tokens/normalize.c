/* Normalizers: each makes a new text of the one before. Contract: see parts.h. Source: the package
   tokenizers, whose names and rules these are. */
#include "runtime/tokens/parts.h"
#include <stdlib.h>

enum { NORMALS = 64, NESTED = 8 };

/* ---- runs ---- */

static bool run_nfc(const Normal *n, Slice s, Text *out, Err *e) {
  return unicode_canonical(out, s, true) || no_memory(e);
}

static bool run_nfd(const Normal *n, Slice s, Text *out, Err *e) {
  return unicode_canonical(out, s, false) || no_memory(e);
}

static bool run_lower(const Normal *n, Slice s, Text *out, Err *e) {
  for (uint64_t at = 0; at < s.n;)
    if (!unicode_lower(out, utf8_next(s, &at))) return no_memory(e);
  return true;
}

static bool run_prepend(const Normal *n, Slice s, Text *out, Err *e) {
  return ((!s.n || text_add(out, n->text.s, n->text.n)) && text_add(out, s.s, s.n)) || no_memory(e);
}

static bool run_strip(const Normal *n, Slice s, Text *out, Err *e) {
  uint64_t begin = 0, end = s.n;
  for (uint64_t at = 0; n->left && at < s.n && unicode_is_space(utf8_next(s, &at));) begin = at;
  while (n->right && end > begin) {
    uint64_t before = utf8_before(s, end), at = before;
    if (!unicode_is_space(utf8_next(s, &at))) break;
    end = before;
  }
  return text_add(out, s.s + begin, end - begin) || no_memory(e);
}

static bool is_nonspacing(uint32_t c) { return unicode_category_8(c) == CAT_Mn; }

/* The characters that are not of a kind. */
static bool leave_out(Slice s, bool is(uint32_t c), Text *out, Err *e) {
  uint64_t begin = 0, at = 0;
  while (at < s.n) {
    uint64_t here = at;
    if (!is(utf8_next(s, &at))) continue;
    if (!text_add(out, s.s + begin, here - begin)) return no_memory(e);
    begin = at;
  }
  return text_add(out, s.s + begin, s.n - begin) || no_memory(e);
}

static bool run_accents(const Normal *n, Slice s, Text *out, Err *e) {
  return leave_out(s, unicode_is_mark, out, e);
}

static bool run_nonspacing(const Normal *n, Slice s, Text *out, Err *e) {
  return leave_out(s, is_nonspacing, out, e);
}

static bool run_bytes(const Normal *n, Slice s, Text *out, Err *e) {
  return bytes_encode(out, s) || no_memory(e);
}

static bool run_replace(const Normal *n, Slice s, Text *out, Err *e) {
  uint64_t done = 0, from = 0, to = 0;
  while (from < s.n) {
    Found f = regex_find(n->regex, s, &from, &to);
    if (f == FOUND_TOO_LONG)
      return err_set(e, EXIT_WRONG, "a normalizer's pattern takes too long for this text");
    if (f == FOUND_NONE) break;
    if (!text_add(out, s.s + done, from - done) || !text_add(out, n->text.s, n->text.n))
      return no_memory(e);
    done = to;
    if (to == from && from < s.n)
      utf8_next(s, &from); /* an empty match */
    else
      from = to;
  }
  return text_add(out, s.s + done, s.n - done) || no_memory(e);
}

/* BERT's: controls out, spaces all alike. */
static bool run_clean(const Normal *n, Slice s, Text *out, Err *e) {
  const uint32_t other = 1u << CAT_Cc | 1u << CAT_Cf | 1u << CAT_Co | 1u << CAT_Cs;
  for (uint64_t at = 0; at < s.n;) {
    uint64_t here = at;
    uint32_t c = utf8_next(s, &at);
    bool white = c == '\t' || c == '\n' || c == '\r';
    if (!white && (c == 0 || c == 0xFFFD || other >> unicode_category_8(c) & 1)) continue;
    bool ok = white || unicode_is_space(c) ? text_add_char(out, ' ')
                                           : text_add(out, s.s + here, at - here);
    if (!ok) return no_memory(e);
  }
  return true;
}

static bool is_ideograph(uint32_t c) { /* as BERT has them */
  static const uint32_t range[][2] = {{0x4E00, 0x9FFF},   {0x3400, 0x4DBF},   {0x20000, 0x2A6DF},
                                      {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF},
                                      {0xF900, 0xFAFF},   {0x2F800, 0x2FA1F}};
  for (size_t i = 0; i < sizeof range / sizeof *range; i++)
    if (c >= range[i][0] && c <= range[i][1]) return true;
  return false;
}

static bool run_ideographs(const Normal *n, Slice s, Text *out, Err *e) {
  for (uint64_t at = 0; at < s.n;) {
    uint64_t here = at;
    const char *around = is_ideograph(utf8_next(s, &at)) ? " " : "";
    if (!text_add(out, around, strlen(around)) || !text_add(out, s.s + here, at - here) ||
        !text_add(out, around, strlen(around)))
      return no_memory(e);
  }
  return true;
}

bool normal_run(const Normal *n, int count, Slice s, Text work[2], Slice *out, Err *e) {
  *out = s;
  for (int i = 0; i < count; i++) {
    Text *to = &work[i & 1];
    to->n = 0;
    if (!n[i].run(&n[i], *out, to, e)) return false;
    *out = text_slice(to);
  }
  return true;
}

/* ---- reading ---- */

static bool add(const Tree *t, Normal **n, int *count, Normal x) {
  Normal *more = *count < NORMALS ? realloc(*n, (size_t)(*count + 1) * sizeof *more) : NULL;
  if (!more) {
    regex_free(x.regex);
    return tree_fail(t, tree_root(t), "more than %d normalizers", NORMALS);
  }
  *n = more;
  more[(*count)++] = x;
  return true;
}

Regex *pattern_read(const Tree *t, const TreeNode *node) {
  char why[REGEX_WHY];
  const TreeNode *p = tree_get(t, node, "pattern"), *text = tree_get(t, p, "String"),
                 *regex = tree_get(t, p, "Regex");
  const TreeNode *one = regex->kind == TREE_STRING ? regex : text;
  if (one->kind != TREE_STRING) {
    tree_fail(t, node, "the pattern is neither a string nor a regular expression");
    return NULL;
  }
  Regex *r = one == regex ? regex_compile(one->text, why) : regex_literal(one->text, why);
  if (!r) {
    tree_fail(t, one, "the pattern is not taken: %s", why);
    err_hint(t->e, "patterns are alternatives, groups, classes, repetitions and lookahead");
  }
  return r;
}

static bool read_bert(const Tree *t, const TreeNode *node, Normal **n, int *count) {
  bool clean, ideographs, accents, lower;
  if (!tree_flag(t, node, "clean_text", true, &clean) ||
      !tree_flag(t, node, "handle_chinese_chars", true, &ideographs) ||
      !tree_flag(t, node, "lowercase", true, &lower) ||
      !tree_flag(t, node, "strip_accents", lower, &accents))
    return false;
  return (!clean || add(t, n, count, (Normal){.run = run_clean})) &&
         (!ideographs || add(t, n, count, (Normal){.run = run_ideographs})) &&
         (!accents || (add(t, n, count, (Normal){.run = run_nfd}) &&
                       add(t, n, count, (Normal){.run = run_nonspacing}))) &&
         (!lower || add(t, n, count, (Normal){.run = run_lower}));
}

static bool read_one(const Tree *t, const TreeNode *node, Normal **n, int *count, int depth) {
  static const struct {
    const char *name;
    NormalRun *run;
    const char *text; /* the key of what is put in */
  } kinds[] = {{"NFC", run_nfc, NULL},
               {"NFD", run_nfd, NULL},
               {"Lowercase", run_lower, NULL},
               {"StripAccents", run_accents, NULL},
               {"ByteLevel", run_bytes, NULL},
               {"Strip", run_strip, NULL},
               {"Prepend", run_prepend, "prepend"},
               {"Replace", run_replace, "content"}};
  Slice type;
  if (!tree_has(node)) return true;
  if (!tree_text(t, node, "type", &type)) return false;
  if (slice_is(type, slice_of("Sequence"))) {
    const TreeNode *all = tree_get(t, node, "normalizers");
    if (depth == NESTED) return tree_fail(t, node, "normalizers are nested too deeply");
    for (const TreeNode *x = tree_child(t, all); x; x = tree_next(t, x))
      if (!read_one(t, x, n, count, depth + 1)) return false;
    return true;
  }
  if (slice_is(type, slice_of("BertNormalizer"))) return read_bert(t, node, n, count);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (!slice_is(type, slice_of(kinds[i].name))) continue;
    Normal x = {.run = kinds[i].run};
    if (kinds[i].text && !tree_text(t, node, kinds[i].text, &x.text)) return false;
    if (!tree_flag(t, node, "strip_left", true, &x.left) ||
        !tree_flag(t, node, "strip_right", true, &x.right))
      return false;
    if (x.run == run_replace && !(x.regex = pattern_read(t, node))) return false;
    return add(t, n, count, x);
  }
  return tree_fail(t, node, "the normalizer %.*s is not known here",
                   (int)(type.n < 60 ? type.n : 60), type.s);
}

bool normal_read(const Tree *t, const TreeNode *node, Normal **n, int *count) {
  return read_one(t, node, n, count, 0);
}

void normal_free(Normal *n, int count) {
  for (int i = 0; i < count; i++) regex_free(n[i].regex);
  free(n);
}
