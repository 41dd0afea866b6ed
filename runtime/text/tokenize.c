/* The tools tokenize and detokenize: texts to an array of tokens, which training takes, and back.
   Contract: the array appears when all texts have been read; each text is a text of its own, with
   the tokens around it that the tokenizer has. */
#include "runtime/data/file.h"
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

static bool encode_file(Tokenizer *t, const char *path, bool around, Ids *ids, Err *e) {
  Text text = {0};
  Err why = {0};
  bool ok = read_all(path, &text, e);
  if (ok && !tokenizer_encode(t, text_slice(&text), around, ids, &why)) {
    ok = err_set(e, why.code, "%s: %s", path, why.msg);
    if (why.hint[0]) err_hint(e, "%s", why.hint);
  }
  text_free(&text);
  return ok;
}

/* As u16 where all numbers of the tokenizer fit, else as u32; through a stage. */
static bool write_ids(OutFile *out, const Ids *ids, bool narrow, Err *e) {
  enum { STAGED = STAGE_BYTES / 2 };
  uint16_t *stage = malloc(STAGE_BYTES);
  char head[512];
  bool ok = (stage || err_set(e, EXIT_ENV, "no memory to write the tokens")) && out_begin(out, e) &&
            out_write(out, head,
                      npy_header(head, sizeof head, narrow ? ELEM_U16 : ELEM_U32, 1, &ids->n), e);
  for (uint64_t at = 0, n; ok && at < ids->n; at += n) {
    n = ids->n - at < STAGED ? ids->n - at : STAGED;
    for (uint64_t i = 0; narrow && i < n; i++) stage[i] = (uint16_t)ids->at[at + i];
    ok = narrow ? out_write(out, stage, n * sizeof *stage, e)
                : out_write(out, ids->at + at, n * sizeof *ids->at, e);
  }
  free(stage);
  return ok && out_commit(out, e);
}

int tokenize_run(const char *program, int argc, char **argv, Err *e) {
  Argument list[] = {
      {.name = "--tokenizer",
       .metavar = "FILE.json",
       .kind = ARG_TEXT,
       .needed = true,
       .help = "a tokenizer.json, as beside published weights"},
      {.name = "--output",
       .metavar = "FILE.npy",
       .kind = ARG_TEXT,
       .needed = true,
       .help = "-o FILE.npy: where the tokens go, an array of one axis of u16, or u32 if the "
               "tokenizer has more than 65536"},
      {.name = "--plain",
       .kind = ARG_FLAG,
       .help = "leave out the tokens that the tokenizer puts before and behind a text"},
      {.name = "--quiet", .kind = ARG_FLAG, .help = "print errors only"},
      {0}};
  Arguments a = {.tool = "tokenize", .usage = tool_find("tokenize")->usage, .at = list};
  int code;
  if (!arguments_read(&a, program, argc, argv, &code, e)) return code;
  if (!a.nfiles) {
    err_set(e, EXIT_USAGE, "tokenize: no text is named");
    return err_hint(e, "name files of UTF-8 text: tokenize book.txt …"), e->code;
  }
  OutFile out = {.fd = -1};
  Ids ids = {0};
  Tokenizer *t = tokenizer_read(list[0].text, e);
  bool ok = t && out_prepare(&out, list[1].text, &out_npy, 4096, e);
  for (int i = 0; ok && i < a.nfiles; i++) ok = encode_file(t, a.files[i], !list[2].given, &ids, e);
  ok = ok && write_ids(&out, &ids, tokenizer_size(t) <= 1 << 16, e);
  if (ok && !list[3].given)
    fprintf(stderr, "%" PRIu64 " tokens of %" PRIu32 " are in %s\n", ids.n, tokenizer_size(t),
            list[1].text);
  out_free(&out);
  free(ids.at);
  tokenizer_free(t);
  return ok ? 0 : e->code;
}

static bool decode_file(Tokenizer *t, const char *path, Text *text, Err *e) {
  File f;
  Array a;
  uint8_t *all = NULL;
  if (!file_open(&f, path, e)) return false;
  uint64_t bytes = f.size < STAGE_BYTES ? f.size : STAGE_BYTES, n = 0, bad;
  int64_t value;
  uint32_t *ids = NULL;
  bool ok = (all = malloc(f.size + 1)) || err_set(e, EXIT_ENV, "%s: no memory for it", path);
  ok = ok && file_read(&f, 0, all, f.size, e);
  if (ok && !npy_is(all, bytes)) ok = err_set(e, EXIT_WRONG, "%s: is no .npy file", path);
  ok = ok && npy_parse(all, bytes, &a, path, e);
  if (ok && (a.big || elem_info[a.type].cls != ELEM_INTS))
    ok = err_set(e, EXIT_WRONG, "%s: holds no tokens: they are integers", path);
  if (ok && a.count > (f.size - a.header) / (uint64_t)elem_info[a.type].size)
    ok = err_set(e, EXIT_WRONG, "%s: is cut short", path);
  n = ok ? a.count : 0;
  if (ok && !(ids = malloc(n * 4 + 4)))
    ok = err_set(e, EXIT_ENV, "%s: no memory for its tokens", path);
  if (ok && !elem_below(all + a.header, a.type, n, tokenizer_size(t), &bad, &value))
    ok = err_set(e, EXIT_WRONG,
                 "%s: element %" PRIu64 " is %" PRId64 ", which is no token of %" PRIu32, path, bad,
                 value, tokenizer_size(t));
  if (ok) {
    elem_convert(ids, ELEM_U32, all + a.header, a.type, n);
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
