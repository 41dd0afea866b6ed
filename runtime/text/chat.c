/* The tool chat: a language model writes to the terminal what follows on a prompt, or answers line
   by line. Contract: all files are read before the first token; the cache keeps what was read, so
   that each token is read once; the answer ends at a token or string that ends it, after --tokens,
   or where the model has no room for more. */
#include "runtime/text/answer.h"
#include "runtime/text/chat_model.h"
#include "runtime/text/ends.h"
#include "runtime/text/own_template.h"
#include "runtime/text/sample.h"
#include "runtime/text/template.h"
#include "runtime/text/text_tools.h"
#include "runtime/weights/weights.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct Chat {
  Tokenizer *tokenizer;
  ChatModel model;
  Sampling sampling;
  Answer answer;
  const Template *template;
  OwnTemplate own; /* of the folder, in the place of the template; or empty */
  Text written;    /* the answer, for it */
  Text spoken;     /* the conversation up to its end */
  const char *system;
  char *folder;  /* of published weights; NULL: there is none */
  Ids ids;       /* of the whole chat */
  Ids ends;      /* tokens that end an answer */
  Text text;     /* of a turn, and what is printed */
  uint64_t most; /* tokens of an answer */
  bool full;
} Chat;

static const Argument arguments[] = {
    {.name = "--load",
     .metavar = "FOLDER",
     .kind = ARG_LIST,
     .help =
         "published weights, or a file of weights, as of the entries; may be given several times "
         "(default: those in the program)"},
    {.name = "--tokenizer",
     .metavar = "FILE.json",
     .kind = ARG_TEXT,
     .help = "a tokenizer.json (default: the one in the folder of --load)"},
    {.name = "--prompt",
     .metavar = "TEXT",
     .kind = ARG_TEXT,
     .help = "answer this text and end (default: read lines)"},
    {.name = "--template",
     .metavar = "NAME",
     .kind = ARG_TEXT,
     .help = "how turns are written: plain, chatml, llama2, llama3, zephyr (default: by the "
             "chat_template beside the tokenizer, else plain)"},
    {.name = "--system",
     .metavar = "TEXT",
     .kind = ARG_TEXT,
     .help = "instructions before the first turn"},
    {.name = "--tokens",
     .metavar = "N",
     .kind = ARG_COUNT,
     .least = 1,
     .most = 1 << 30,
     .help = "tokens of an answer, at most (default 256)"},
    {.name = "--temperature",
     .metavar = "X",
     .kind = ARG_REAL,
     .most = 100,
     .help = "higher is more random; 0 takes the likeliest token (default 0.7)"},
    {.name = "--top-k",
     .metavar = "N",
     .kind = ARG_COUNT,
     .most = 1 << 30,
     .help = "choose among the N likeliest tokens; 0: all (default 0)"},
    {.name = "--top-p",
     .metavar = "X",
     .kind = ARG_REAL,
     .most = 1,
     .help = "choose among the likeliest tokens that have this probability together (default 1)"},
    {.name = "--min-p",
     .metavar = "X",
     .kind = ARG_REAL,
     .most = 1,
     .help = "leave out tokens below this part of the likeliest one's probability (default 0)"},
    {.name = "--repeat-penalty",
     .metavar = "X",
     .kind = ARG_REAL,
     .least = 0.01,
     .most = 100,
     .help = "lowers the logits of tokens that were there (default 1: it does not)"},
    {.name = "--stop",
     .metavar = "TEXT",
     .kind = ARG_LIST,
     .help = "end an answer before this text; may be given several times"},
    {.name = "--seed",
     .metavar = "S",
     .kind = ARG_COUNT,
     .most = 9007199254740992.0,
     .help = "of the random choices (default 0)"},
    {.name = "--device",
     .metavar = "NAME",
     .kind = ARG_TEXT,
     .help =
         "device, as of the entries (default: a GPU that the program has code for, else the CPU)"},
    {.name = "--threads",
     .metavar = "N",
     .kind = ARG_COUNT,
     .least = 1,
     .most = 1024,
     .help = "number of threads (default: one per core that the process may use)"},
    {.name = NULL}};
enum { ARGUMENTS = sizeof arguments / sizeof *arguments };

/* The first folder among what --load names. Malloc'ed into *out; NULL: there is none. */
static bool find_folder(const Argument *load, char **out, Err *e) {
  struct stat st;
  *out = NULL;
  for (uint64_t i = 0; i < load->count && !*out; i++) {
    WeightsName name;
    if (!weights_name(&name, load->list[i], e)) return false;
    bool there = stat(name.path, &st) == 0;
    if (!there)
      err_set(e, EXIT_WRONG, "cannot read %s: %s", name.path, strerror(errno));
    else if (S_ISDIR(st.st_mode) && !(*out = strdup(name.path)))
      err_set(e, EXIT_ENV, "no memory for a file name");
    weights_name_free(&name);
    if (e->code) return false;
  }
  return true;
}

static char *path_in(const char *folder, const char *name) {
  size_t n = strlen(folder) + strlen(name) + 2;
  char *path = malloc(n);
  if (path) snprintf(path, n, "%s/%s", folder, name);
  return path;
}

/* ---- what ends an answer ---- */

/* The token of the template. */
static bool add_stop(Chat *c, Err *e) {
  const Template *t = c->template;
  if (!*t->stop) return true;
  uint32_t id = tokenizer_id(c->tokenizer, slice_of(t->stop));
  if (id != NO_TOKEN)
    return ids_add(&c->ends, id) || err_set(e, EXIT_ENV, "no memory for the answer");
  fprintf(stderr,
          "note: the tokenizer has no token %s, which ends an answer of the template %s: "
          "it belongs to a model of another template\n",
          t->stop, t->name);
  return true;
}

static bool ends(const Chat *c, uint32_t id) {
  for (uint64_t i = 0; i < c->ends.n; i++)
    if (c->ends.at[i] == id) return true;
  return false;
}

/* ---- turns ---- */

static bool add_tokens(Chat *c, Slice text, bool around, Err *e) {
  return tokenizer_encode(c->tokenizer, text, around, &c->ids, e);
}

/* What the model has not read of the chat. */
static bool catch_up(Chat *c, Err *e) {
  return chat_model_read(&c->model, c->ids.at + c->model.read, c->ids.n - c->model.read, &c->full,
                         e);
}

static bool show(Chat *c, Err *e) {
  if (c->own.source.n && !text_add(&c->written, c->text.s, c->text.n))
    return err_set(e, EXIT_ENV, "no memory for the chat");
  fwrite(c->text.s, 1, c->text.n, stdout);
  c->text.n = 0;
  if (fflush(stdout) == 0) return true;
  return err_set(e, EXIT_ENV, "the output could not be written: %s", strerror(errno));
}

/* A program cannot be compiled for more tokens than the model has positions, if its folder says how
   many these are. */
static bool too_long(const Chat *c, Err *e) {
  Ids positions = {0};
  uint64_t room = c->ids.n + c->most;
  err_set(e, EXIT_WRONG, "the text has %" PRIu64 " tokens, and the model has room for %" PRIu64,
          c->ids.n, c->model.read);
  Err unread = {0}; /* the text is too long in any case */
  if (c->folder) ends_read(&positions, c->folder, "max_position_embeddings", &unread);
  if (positions.n && positions.at[0] < room) room = positions.at[0];
  free(positions.at);
  if (room < c->ids.n)
    return err_hint(e, "shorten the text: the model has %" PRIu64 " positions", room);
  return err_hint(e,
                  "shorten the text, or compile the program for longer ones, as llama.g with "
                  "gc -D S=%" PRIu64,
                  room);
}

static bool answer(Chat *c, Err *e) {
  uint64_t first = c->ids.n;
  bool stopped = false;
  answer_begin(&c->answer);
  c->text.n = 0;
  while (!stopped && c->ids.n - first < c->most && !signal_seen()) {
    uint32_t id;
    if (!catch_up(c, e)) return false;
    if (c->full && c->ids.n == first) return too_long(c, e);
    if (c->full) break;
    if (!sample(&c->sampling, c->model.logits, c->model.size, &c->ids, &id) ||
        !ids_add(&c->ids, id))
      return err_set(e, EXIT_ENV, "no memory for the answer");
    if (ends(c, id)) break;
    if (!answer_more(&c->answer, &c->ids, first, &c->text, &stopped, e) || !show(c, e))
      return false;
  }
  if (!stopped && !answer_end(&c->answer, &c->ids, first, &c->text, e)) return false;
  if (!show(c, e)) return false;
  putchar('\n');
  if (c->full)
    fprintf(stderr, "note: the model has no room for more than %" PRIu64 " tokens\n",
            c->model.read);
  return true;
}

/* The tokens of the whole chat in the place of those so far; what begins alike is not read again.
 */
static bool replace_ids(Chat *c, Slice text, Err *e) {
  Ids all = {0};
  uint64_t same = 0;
  if (!tokenizer_encode(c->tokenizer, text, false, &all, e)) return free(all.at), false;
  while (same + 1 < all.n && same < c->ids.n && all.at[same] == c->ids.at[same]) same++;
  chat_model_rewind(&c->model, same);
  free(c->ids.at);
  c->ids = all;
  return true;
}

/* An end that the model has written stands in the text that follows. */
static void drop_end(Chat *c) {
  if (c->ids.n && ends(c, c->ids.at[c->ids.n - 1])) c->ids.n--;
}

/* What the model has read and written stays as it is, if the conversation goes on behind it. */
static bool add_own(Chat *c, Err *e) {
  Slice all = text_slice(&c->text), begin = text_slice(&c->spoken);
  if (begin.n > all.n || !slice_is(slice_part(all, 0, begin.n), begin)) {
    if (!replace_ids(c, all, e)) return false;
  } else {
    drop_end(c);
    if (!add_tokens(c, slice_part(all, begin.n, all.n), false, e)) return false;
  }
  c->spoken.n = 0;
  if (!text_add(&c->spoken, all.s, all.n)) return err_set(e, EXIT_ENV, "no memory for the chat");
  return c->ids.n || err_set(e, EXIT_USAGE, "the prompt has no tokens");
}

static bool own_text(Chat *c, Err *e) {
  Err why = {0};
  return own_template_text(&c->own, true, &c->text, &why) ||
         err_set(e, why.code, "chat: %s", why.msg);
}

static bool own_turn(Chat *c, Slice user, Err *e) {
  OwnTemplate *o = &c->own;
  c->text.n = c->written.n = 0;
  if (!o->n && c->system && !own_template_add(o, "system", slice_of(c->system), e)) return false;
  if (!own_template_add(o, "user", user, e) || !own_text(c, e) || !add_own(c, e) || !answer(c, e) ||
      !own_template_add(o, "assistant", text_slice(&c->written), e))
    return false;
  return text_add(&c->spoken, c->written.s, c->written.n) ||
         err_set(e, EXIT_ENV, "no memory for the chat");
}

static bool turn(Chat *c, Slice user, Err *e) {
  if (c->own.source.n) return own_turn(c, user, e);
  bool first = c->ids.n == 0;
  c->text.n = 0;
  if (!first && !text_add(&c->text, c->template->answer_end, strlen(c->template->answer_end)))
    return err_set(e, EXIT_ENV, "no memory for the chat");
  /* an end that the model has written stands there once */
  uint32_t last = first ? NO_TOKEN : c->ids.at[c->ids.n - 1];
  if (!first && ends(c, last) && *c->template->stop) c->ids.n--;
  if (!template_turn(c->template, c->system, first, user, &c->text))
    return err_set(e, EXIT_ENV, "no memory for the chat");
  if (!add_tokens(c, text_slice(&c->text), first, e)) return false;
  if (!c->ids.n) return err_set(e, EXIT_USAGE, "the prompt has no tokens");
  return answer(c, e);
}

static bool converse(Chat *c, Err *e) {
  char *line = NULL;
  size_t room = 0;
  bool ok = true, terminal = isatty(STDIN_FILENO);
  for (;;) {
    if (terminal) printf("> ");
    if (terminal) fflush(stdout);
    ssize_t n = getline(&line, &room, stdin);
    if (n <= 0 || signal_seen() || c->full) break;
    if (line[n - 1] == '\n') n--;
    if (n && !(ok = turn(c, (Slice){line, (uint64_t)n}, e))) break;
  }
  if (terminal) putchar('\n');
  free(line);
  return ok;
}

/* ---- the tool ---- */

/* The template beside the tokenizer, unless one is named. */
static bool find_own(Chat *c, const char *tokenizer, Err *e) {
  OwnTemplate *o = &c->own;
  bool ok = own_template_read(o, tokenizer, c->system != NULL, false, e);
  uint32_t end =
      ok && o->source.n && o->eos.n ? tokenizer_id(c->tokenizer, text_slice(&o->eos)) : NO_TOKEN;
  if (end != NO_TOKEN && !ids_add(&c->ends, end))
    ok = err_set(e, EXIT_ENV, "no memory for the chat");
  return ok;
}

static bool prepare(Chat *c, const char *program, const Argument *list, Err *e) {
  const char *tokenizer = argument_text(list, "--tokenizer"),
             *template = argument_text(list, "--template");
  const Argument *stop = argument_in(list, "--stop"), *load = argument_in(list, "--load");
  char names[120];
  if (!find_folder(load, &c->folder, e)) return false;
  if (!tokenizer && !c->folder) {
    err_set(e, EXIT_USAGE, "chat needs --tokenizer FILE.json");
    return err_hint(e, "or a folder of published weights with one: --load FOLDER");
  }
  c->template = template_find(template ? template : "plain");
  template_names(names, sizeof names);
  if (!c->template)
    return err_set(e, EXIT_USAGE, "--template is one of %s, not %s", names, template);
  c->system = argument_text(list, "--system");
  c->most = argument_count(list, "--tokens", 256);
  c->sampling = (Sampling){.temperature = argument_real(list, "--temperature", 0.7),
                           .top_p = argument_real(list, "--top-p", 1),
                           .min_p = argument_real(list, "--min-p", 0),
                           .penalty = argument_real(list, "--repeat-penalty", 1),
                           .top_k = argument_count(list, "--top-k", 0),
                           .seed = argument_count(list, "--seed", 0)};
  char *path = tokenizer ? strdup(tokenizer) : path_in(c->folder, "tokenizer.json");
  c->tokenizer = path ? tokenizer_read(path, e) : NULL;
  if (!path) err_set(e, EXIT_ENV, "no memory for a file name");
  bool ok = c->tokenizer != NULL;
  if (ok)
    c->answer = (Answer){.tokenizer = c->tokenizer, .stops = stop->list, .nstops = stop->count};
  if (ok && c->folder) ok = ends_read(&c->ends, c->folder, "eos_token_id", e);
  if (ok && !c->folder) ok = ends_beside(&c->ends, path, "eos_token_id", e);
  ok = ok && add_stop(c, e) && (template || find_own(c, path, e));
  const ChatPlace place = {.device = argument_text(list, "--device"),
                           .threads = (int)argument_count(list, "--threads", 0),
                           .load = load->list,
                           .nload = (int)load->count};
  if (ok) bus_error_catch(program); /* before an image is mapped */
  ok = ok && chat_model_open(&c->model, &place, e);
  if (ok) signals_catch(false);
  free(path); /* the tokenizer has read it */
  return ok;
}

int chat_run(const char *program, int argc, char **argv, Err *e) {
  Chat c = {0};
  Argument list[ARGUMENTS];
  memcpy(list, arguments, sizeof list);
  Arguments a = {.tool = "chat", .usage = tool_find("chat")->usage, .at = list};
  int code;
  if (!arguments_read(&a, program, argc, argv, &code, e)) return code;
  if (a.nfiles) {
    err_set(e, EXIT_USAGE, "chat takes no file: %s", a.files[0]);
    return err_hint(e, "the prompt is given as --prompt TEXT, or line by line"), e->code;
  }
  const char *prompt = argument_text(list, "--prompt");
  bool ok =
      prepare(&c, program, list, e) && (prompt ? turn(&c, slice_of(prompt), e) : converse(&c, e));
  chat_model_close(&c.model);
  answer_free(&c.answer);
  sampling_free(&c.sampling);
  text_free(&c.text);
  text_free(&c.written);
  text_free(&c.spoken);
  own_template_free(&c.own);
  free(c.folder);
  free(c.ids.at);
  free(c.ends.at);
  tokenizer_free(c.tokenizer);
  return !ok ? e->code : signal_seen() ? 128 + signal_seen() : 0;
}
