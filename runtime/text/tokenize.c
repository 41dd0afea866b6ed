/* The tools tokenize and detokenize: texts to an array of tokens, which training takes, and back.
   Contract: the array appears when all texts have been read; each text is a text of its own, with
   the tokens around it that the tokenizer has. With --mask the texts are records (records.h), and a
   second array says which tokens are learned; with --length alone each line is a row (lines.h). */
#include "runtime/data/binding.h"
#include "runtime/text/ends.h"
#include "runtime/text/lines.h"
#include "runtime/text/records.h"
#include "runtime/text/text_tools.h"
#include <inttypes.h>
#include <stdlib.h>

/* A file as it is, mapped or read. Malloc'ed. */
static bool read_all(const char *path, Text *out, Err *e) {
  File f;
  if (!file_open(&f, path, e)) return false;
  bool ok = f.size == 0 || grow(&out->s, &out->room, f.size, 1) ||
            err_set(e, EXIT_ENV, "%s: no memory for its %" PRIu64 " bytes", path, f.size);
  ok = ok && (!f.size || file_read(&f, 0, out->s, f.size, e));
  if (ok) out->n = f.size;
  file_close(&f);
  return ok;
}

static bool explain(const char *path, const Err *why, Err *e) {
  err_set(e, why->code, "%s: %s", path, why->msg);
  return why->hint[0] ? err_hint(e, "%s", why->hint) : false;
}

static bool encode_file(Tokenizer *t, const char *path, bool around, Ids *ids, Err *e) {
  Text text = {0};
  Err why = {0};
  bool ok = read_all(path, &text, e);
  if (ok && !tokenizer_encode(t, text_slice(&text), around, ids, &why)) ok = explain(path, &why, e);
  text_free(&text);
  return ok;
}

static bool encode_lines(Lines *l, const char *path, Ids *ids, Err *e) {
  Text text = {0};
  bool ok = read_all(path, &text, e) && lines_add(l, path, text_slice(&text), ids, e);
  text_free(&text);
  return ok;
}

static bool encode_records(Records *r, const char *path, Learned *l, Err *e) {
  Text text = {0};
  bool ok = read_all(path, &text, e) && records_add(r, path, text_slice(&text), l, e);
  text_free(&text);
  return ok;
}

/* The tokens as u16 where all numbers of the tokenizer fit, else as u32, through a stage; or their
   marks. row: elements of each row; 0: the array has one axis. It does not appear yet. */
static bool write_array(OutFile *out, const void *data, Elem type, uint64_t n, uint64_t row,
                        Err *e) {
  enum { STAGED = STAGE_BYTES / 2 };
  uint16_t *stage = malloc(STAGE_BYTES);
  char head[512];
  uint64_t size = (uint64_t)elem_info[type].size, dims[] = {row ? n / row : n, row};
  bool ok = (stage || err_set(e, EXIT_ENV, "no memory to write the tokens")) && out_begin(out, e) &&
            out_write(out, head, npy_header(head, sizeof head, type, row ? 2 : 1, dims), e);
  for (uint64_t at = 0, k; ok && at < n; at += k) {
    k = n - at < STAGED ? n - at : STAGED;
    for (uint64_t i = 0; type == ELEM_U16 && i < k; i++)
      stage[i] = (uint16_t)((const uint32_t *)data)[at + i];
    const uint8_t *straight = (const uint8_t *)data + at * size;
    ok = out_write(out, type == ELEM_U16 ? (const void *)stage : straight, k * size, e);
  }
  free(stage);
  return ok;
}

enum { TOKENIZER, OUTPUT, PLAIN, LENGTH, PAD, MASK, TEMPLATE, END, QUIET };
static const Argument arguments[] = {
    [TOKENIZER] = {.name = "--tokenizer",
                   .metavar = "FILE.json",
                   .kind = ARG_TEXT,
                   .needed = true,
                   .help = "a tokenizer.json, as beside published weights"},
    [OUTPUT] = {.name = "--output",
                .metavar = "FILE.npy",
                .kind = ARG_TEXT,
                .needed = true,
                .help =
                    "-o FILE.npy: where the tokens go, an array of u16, or u32 if the tokenizer "
                    "has more than 65536; it has one axis, or with --length alone two"},
    [PLAIN] = {.name = "--plain",
               .kind = ARG_FLAG,
               .help = "leave out the tokens that the tokenizer puts before and behind a text"},
    [MASK] = {.name = "--mask",
              .metavar = "FILE.npy",
              .kind = ARG_TEXT,
              .help =
                  "the texts are JSON lines of prompts and answers; where 1 goes for each token "
                  "of an answer, and 0 for others"},
    [TEMPLATE] = {.name = "--template",
                  .metavar = "NAME",
                  .kind = ARG_TEXT,
                  .help =
                      "of --mask: how turns are written, as of chat (default: the chat_template "
                      "beside the tokenizer, else plain)"},
    [LENGTH] = {.name = "--length",
                .metavar = "N",
                .kind = ARG_COUNT,
                .least = 2,
                .most = 1 << 30,
                .help =
                    "each line is a row of N tokens, cut or padded; with --mask each record has N "
                    "tokens (default: as many as there are, one after the other)"},
    [PAD] = {.name = "--pad",
             .metavar = "TOKEN",
             .kind = ARG_TEXT,
             .help =
                 "of --length: what shorter lines are padded with (default: the pad_token_id of "
                 "the files beside the tokenizer, else 0)"},
    [END] = {.name = "--end",
             .metavar = "TOKEN",
             .kind = ARG_TEXT,
             .help = "of --mask: the token behind an answer of the template plain (default: the "
                     "eos_token_id of the files beside the tokenizer)"},
    [QUIET] = {.name = "--quiet", .kind = ARG_FLAG, .help = "print errors only"},
    {0}};

typedef struct Tokenize {
  const Argument *at;
  Records records;
  Lines lines;
  Learned learned;
  OutFile tokens, mask;
} Tokenize;

/* The token of --end, of the own template, or the first that the files beside the tokenizer name.
 */
static bool find_end(Tokenize *z, Err *e) {
  const Argument *end = &z->at[END];
  Records *r = &z->records;
  const Text *eos = &r->own.eos;
  r->end = NO_TOKEN;
  if (r->own.source.n && end->given) {
    err_set(e, EXIT_USAGE, "--end: the chat_template beside the tokenizer ends answers");
    return err_hint(e, "--end is for --template plain");
  }
  if (r->own.source.n && eos->n) r->end = tokenizer_id(r->tokenizer, text_slice(eos));
  if (r->end != NO_TOKEN) return true;
  if (end->given && *r->template->stop) {
    err_set(e, EXIT_USAGE, "--end: an answer of the template %s ends with %s", r->template->name,
            r->template->stop);
    return err_hint(e, "--end is for the template plain");
  }
  if (end->given && (r->end = tokenizer_id(r->tokenizer, slice_of(end->text))) == NO_TOKEN)
    return err_set(e, EXIT_USAGE, "--end: the tokenizer has no token %s", end->text);
  if (end->given || *r->template->stop) return true;
  Ids ends = {0};
  bool ok = ends_beside(&ends, z->at[TOKENIZER].text, "eos_token_id", e);
  if (ok && ends.n) r->end = ends.at[0];
  if (ok && !ends.n && !z->at[QUIET].given)
    fprintf(stderr,
            "note: answers have no token at their end: none is known; --end TOKEN names it\n");
  free(ends.at);
  return ok;
}

/* The token of --pad, or the one that the files beside the tokenizer name. */
static bool find_pad(Tokenize *z, Err *e) {
  const Argument *pad = &z->at[PAD];
  Lines *l = &z->lines;
  Ids ids = {0};
  if (pad->given) {
    l->pad = tokenizer_id(l->tokenizer, slice_of(pad->text));
    return l->pad != NO_TOKEN ||
           err_set(e, EXIT_USAGE, "--pad: the tokenizer has no token %s", pad->text);
  }
  bool ok = ends_beside(&ids, z->at[TOKENIZER].text, "pad_token_id", e);
  if (ok && ids.n) l->pad = ids.at[0];
  free(ids.at);
  return ok;
}

static bool prepare_lines(Tokenize *z, Err *e) {
  Lines *l = &z->lines;
  l->tokenizer = z->records.tokenizer;
  l->length = z->at[LENGTH].count;
  uint64_t around = tokenizer_around(l->tokenizer);
  if (z->at[PLAIN].given) return err_set(e, EXIT_USAGE, "--plain and --length exclude each other");
  if (l->length <= around)
    return err_set(e, EXIT_USAGE,
                   "--length %" PRIu64 ": the tokenizer puts %" PRIu64 " tokens around a text",
                   l->length, around);
  return find_pad(z, e);
}

static Elem elem_of(const Records *r) {
  return tokenizer_size(r->tokenizer) <= 1 << 16 ? ELEM_U16 : ELEM_U32;
}

static bool prepare_array(OutFile *out, const char *path, Elem type, uint64_t row, Err *e) {
  const Array of = {.type = type, .rank = row ? 2 : 1, .dims = {0, row}};
  const OutKind kind = npy_kind(&of);
  return out_prepare(out, path, &kind, 4096, e);
}

static bool prepare_records(Tokenize *z, Err *e) {
  const Argument *at = z->at;
  Records *r = &z->records;
  char names[120];
  template_names(names, sizeof names);
  r->template = template_find(at[TEMPLATE].given ? at[TEMPLATE].text : "plain");
  if (!r->template)
    return err_set(e, EXIT_USAGE, "--template is one of %s, not %s", names, at[TEMPLATE].text);
  if (at[PLAIN].given) return err_set(e, EXIT_USAGE, "--plain and --mask exclude each other");
  r->length = at[LENGTH].given ? at[LENGTH].count : 0;
  if (!at[TEMPLATE].given &&
      !own_template_read(&r->own, at[TOKENIZER].text, false, at[QUIET].given, e))
    return false;
  if (!records_check(r, e) || !find_end(z, e)) return false;
  r->pad = r->end != NO_TOKEN ? r->end : 0;
  if (!prepare_array(&z->mask, at[MASK].text, ELEM_U8, 0, e)) return false;
  return strcmp(z->tokens.target, z->mask.target) != 0 ||
         err_set(e, EXIT_USAGE, "%s: -o and --mask would both write this file", at[MASK].text);
}

static bool check_together(const Argument *at, Err *e) {
  if (at[PAD].given && (!at[LENGTH].given || at[MASK].given))
    return err_set(e, EXIT_USAGE,
                   "--pad is for lines, as --length without --mask makes rows of them");
  for (int i = TEMPLATE; i <= END; i++)
    if (at[i].given && !at[MASK].given) {
      err_set(e, EXIT_USAGE, "%s is for JSON lines of prompts and answers", at[i].name);
      return err_hint(e, "--mask FILE.npy reads the texts as such");
    }
  return true;
}

static uint64_t learned_tokens(const Tokenize *z) {
  uint64_t n = 0;
  for (uint64_t i = 0; i < z->learned.ids.n; i++) n += z->learned.mark[i];
  return n;
}

/* A training on such files would have a loss of zero. */
static bool nothing_learned(const Records *r, Err *e) {
  err_set(e, EXIT_WRONG, "tokenize: no record has a token of an answer");
  return err_hint(e, r->cut ? "--length cuts the answers away: raise it"
                            : "an answer is the text of \"completion\", or of the role assistant");
}

static bool tokenize(Tokenize *z, char **files, int n, Err *e) {
  const Argument *at = z->at;
  Records *r = &z->records;
  Ids *ids = &z->learned.ids;
  const uint64_t row = !at[MASK].given && at[LENGTH].given ? at[LENGTH].count : 0;
  if (!check_together(at, e) || !(r->tokenizer = tokenizer_read(at[TOKENIZER].text, e)) ||
      !prepare_array(&z->tokens, at[OUTPUT].text, elem_of(r), row, e) ||
      (at[MASK].given && !prepare_records(z, e)) || (row && !prepare_lines(z, e)))
    return false;
  for (int i = 0; i < n; i++)
    if (!(at[MASK].given ? encode_records(r, files[i], &z->learned, e)
          : row          ? encode_lines(&z->lines, files[i], ids, e)
                         : encode_file(r->tokenizer, files[i], !at[PLAIN].given, ids, e)))
      return false;
  if (at[MASK].given && !learned_tokens(z)) return nothing_learned(r, e);
  /* both are whole before one of them appears */
  return write_array(&z->tokens, ids->at, elem_of(r), ids->n, row, e) &&
         (!at[MASK].given || write_array(&z->mask, z->learned.mark, ELEM_U8, ids->n, 0, e)) &&
         out_commit(&z->tokens, e) && (!at[MASK].given || out_commit(&z->mask, e));
}

static void tell(const Tokenize *z) {
  const Records *r = &z->records;
  fprintf(stderr, "%" PRIu64 " tokens of %" PRIu32 " are in %s\n", z->learned.ids.n,
          tokenizer_size(r->tokenizer), z->at[OUTPUT].text);
  if (z->lines.cut)
    fprintf(stderr,
            "note: lines of more than %" PRIu64 " tokens, which were cut: %" PRIu64 " of %" PRIu64
            "\n",
            z->lines.length, z->lines.cut, z->lines.n);
  if (!z->at[MASK].given) return;
  fprintf(stderr, "records: %" PRIu64 "; tokens of answers: %" PRIu64 "\n", r->n,
          learned_tokens(z));
  if (r->cut)
    fprintf(stderr, "note: records of more than %" PRIu64 " tokens, which were cut: %" PRIu64 "\n",
            r->length, r->cut);
}

int tokenize_run(const char *program, int argc, char **argv, Err *e) {
  Argument list[sizeof arguments / sizeof *arguments];
  memcpy(list, arguments, sizeof list);
  Arguments a = {.tool = "tokenize", .usage = tool_find("tokenize")->usage, .at = list};
  int code;
  if (!arguments_read(&a, program, argc, argv, &code, e)) return code;
  if (!a.nfiles) {
    err_set(e, EXIT_USAGE, "tokenize: no text is named");
    return err_hint(e, "name files of UTF-8 text: tokenize book.txt …"), e->code;
  }
  Tokenize z = {.at = list, .tokens = {.fd = -1}, .mask = {.fd = -1}};
  bool ok = tokenize(&z, a.files, a.nfiles, e);
  if (ok && !list[QUIET].given) tell(&z);
  out_free(&z.tokens);
  out_free(&z.mask);
  learned_free(&z.learned);
  own_template_free(&z.records.own);
  tokenizer_free(z.records.tokenizer);
  return ok ? 0 : e->code;
}

/* The suffixes of an array of tokens: rows alone. */
static bool cut_rows(char *path, Suffixes *s, Err *e) {
  char *columns;
  suffixes_cut(path, s, &columns);
  if (!columns && !s->offset && !s->step && !s->type) return true;
  return err_set(e, EXIT_USAGE, "detokenize takes rows of an array, as %s[0:20], and no other part",
                 path);
}

static bool decode_file(Tokenizer *t, char *path, Text *text, Err *e) {
  File f;
  Array a;
  Suffixes s;
  uint8_t *all = NULL;
  if (!cut_rows(path, &s, e) || !suffix_is_known(path, e) || !file_open(&f, path, e)) return false;
  uint64_t bytes = f.size < STAGE_BYTES ? f.size : STAGE_BYTES, n = 0, first = 0, bad;
  int64_t value;
  uint32_t *ids = NULL;
  bool ok = (all = malloc(f.size + 1)) || err_set(e, EXIT_ENV, "%s: no memory for it", path);
  ok = ok && file_read(&f, 0, all, f.size, e);
  if (ok && !npy_is(all, bytes)) {
    err_set(e, EXIT_WRONG, "%s: is no .npy file", path);
    ok = err_hint(e, "tokenize -o FILE.npy writes one, and so does an entry: --OUTPUT FILE.npy");
  }
  ok = ok && npy_parse(all, bytes, &a, path, e);
  if (ok && (a.big || elem_info[a.type].cls != ELEM_INTS))
    ok = err_set(e, EXIT_WRONG, "%s: holds no tokens: they are integers", path);
  if (ok && a.count > (f.size - a.header) / (uint64_t)elem_info[a.type].size)
    ok = err_set(e, EXIT_WRONG, "%s: is cut short", path);
  const uint64_t every = ok && a.rank && a.dims[0] ? a.dims[0] : 1;
  ok = ok && suffix_rows(&s, every, path, &first, &n, e);
  if (ok) first *= a.count / every, n *= a.count / every;
  const uint8_t *from = ok ? all + a.header + first * (uint64_t)elem_info[a.type].size : NULL;
  if (ok && !(ids = malloc(n * 4 + 4)))
    ok = err_set(e, EXIT_ENV, "%s: no memory for its tokens", path);
  if (ok && !elem_below(from, a.type, n, tokenizer_size(t), &bad, &value))
    ok = err_set(e, EXIT_WRONG,
                 "%s: element %" PRIu64 " is %" PRId64 ", which is no token of %" PRIu32, path,
                 first + bad, value, tokenizer_size(t));
  if (ok) {
    elem_convert(ids, ELEM_U32, from, a.type, n);
    ok = tokenizer_decode(t, ids, n, text, e);
  }
  free(ids);
  free(all);
  file_close(&f);
  return ok;
}

int detokenize_run(const char *program, int argc, char **argv, Err *e) {
  Argument list[] = {{.name = "--tokenizer",
                      .metavar = "FILE.json",
                      .kind = ARG_TEXT,
                      .needed = true,
                      .help = "a tokenizer.json, as beside published weights"},
                     {0}};
  Arguments a = {.tool = "detokenize", .usage = tool_find("detokenize")->usage, .at = list};
  int code;
  if (!arguments_read(&a, program, argc, argv, &code, e)) return code;
  if (a.nfiles != 1) {
    err_set(e, EXIT_USAGE, "detokenize takes one array of tokens");
    return err_hint(e, "name an .npy file, as tokenize writes it"), e->code;
  }
  Text text = {0};
  Tokenizer *t = tokenizer_read(list[0].text, e);
  bool ok = t && decode_file(t, a.files[0], &text, e);
  if (ok && text.n) fwrite(text.s, 1, text.n, stdout);
  text_free(&text);
  tokenizer_free(t);
  return ok ? 0 : e->code;
}
