/* Words of labels from one run to the next: --load and --resume number words as the weights'
   training did, --save and --checkpoint keep the numbers, --words prints them. Contract: a word
   that the weights do not have is an error; numbers in a file stay as they are. */
#include "runtime/program/command.h"
#include "runtime/program/tools.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool header_of(const Options *o, CsvHeader *h, Err *e) {
  int yes = cli_yes_or_no(o, OPT_CSVHEADER, e);
  if (yes < 0) return err_hint(e, "without the option, a first line without numbers is a header");
  if (o->given[OPT_CSVHEADER]) *h = yes ? HEADER_YES : HEADER_NO;
  return true;
}

/* Inputs that have words of labels; the first of them. */
static int inputs_with_words(const Labels *l, const struct InputWords **first) {
  int n = 0;
  for (int i = l->n - 1; i >= 0; i--)
    if (l->at[i].words.n) n++, *first = &l->at[i];
  return n;
}

static bool no_words(const Command *cmd, const char *wanted, Err *e) {
  const Labels *l = &cmd->labels;
  char all[300] = "";
  size_t at = 0;
  const struct InputWords *first = NULL;
  const int n = inputs_with_words(l, &first);
  for (int i = 0; i < l->n && at < 200; i++)
    if (l->at[i].words.n)
      at += (size_t)snprintf(all + at, sizeof all - at, "%s%.60s", at ? ", " : "", l->at[i].input);
  for (int i = 0; !n && i < cmd->options.nload; i++)
    if (access(cmd->load[i].path, R_OK) != 0 && !file_open(&(File){0}, cmd->load[i].path, e))
      return false;
  if (!n) {
    err_set(e, EXIT_USAGE, "--words: no words of labels are known");
    return err_hint(e, "--load weights that were trained on labels as words, or on a folder of "
                       "images");
  }
  err_set(e, EXIT_USAGE,
          wanted ? "--words: the weights have no words for %s"
                 : "--words: words of which input are meant%s",
          wanted ? wanted : "");
  return err_hint(e, "write --words OUTPUT=INPUT; the weights have words for %s", all);
}

/* --words OUTPUT[=INPUT] */
static bool choose_words(Command *cmd, Err *e) {
  char name[WORD];
  const char *text = cmd->options.text[OPT_WORDS], *eq = text ? strchr(text, '=') : NULL;
  const GcEntry *en = cmd->entry;
  const Labels *l = &cmd->labels;
  if (!cmd->options.given[OPT_WORDS]) return true;
  snprintf(name, sizeof name, "%.*s", eq ? (int)(eq - text) : (int)strlen(text), text);
  cmd->words_output = 0;
  while (cmd->words_output < en->noutputs && strcmp(en->outputs[cmd->words_output].name, name) != 0)
    cmd->words_output++;
  if (cmd->words_output == en->noutputs) {
    err_set(e, EXIT_USAGE, "--words %s: the entry has no such output", name);
    return err_hint(e, "the outputs are listed by %s --help", en->name);
  }
  if (elem_info[en->outputs[cmd->words_output].dtype].cls != ELEM_INTS) {
    err_set(e, EXIT_USAGE, "--words %s: the output does not hold whole numbers", name);
    return err_hint(e, "the number of a class is argmax(logits)");
  }
  const struct InputWords *first = NULL;
  const int n = inputs_with_words(l, &first);
  cmd->words = eq ? labels_find(l, eq + 1) : n == 1 ? &first->words : NULL;
  return cmd->words || no_words(cmd, eq ? eq + 1 : NULL, e);
}

bool labels_prepare(Command *cmd, DataRequest *q, Err *e) {
  const Options *o = &cmd->options;
  const char *resume = o->text[OPT_RESUME];
  if (!header_of(o, &q->header, e)) return false;
  if (!o->nload && !resume && !labels_read_own(&cmd->labels, e)) return false;
  for (int i = 0; i < o->nload; i++)
    if (!cmd->load[i].part.scope && !labels_read(&cmd->labels, cmd->load[i].path, e)) return false;
  if (resume && !labels_read(&cmd->labels, resume, e)) return false;
  q->labels = &cmd->labels;
  return choose_words(cmd, e);
}

bool labels_of_training(const Command *cmd, const Labels *known, Labels *out, Err *e) {
  for (int i = 0; known && i < known->n; i++)
    if (!labels_set(out, known->at[i].input, &known->at[i].words, &known->at[i].columns, e))
      return false;
  for (int i = 0; i < cmd->data.n; i++) {
    const Column *c = &cmd->data.columns[i];
    Words w = c->words; /* a view */
    w.from = c->text, w.of_data = true, w.listed = false;
    if (!labels_set(out, c->t->name, c->words.from ? NULL : &w, &c->columns, e)) return false;
  }
  return true;
}

/* What words stand for in a file, and the same in the file of the validation. */
static bool compare_words(const Command *cmd, const Column *c, Err *e) {
  const GcEntry *v = cmd->validation.entry;
  for (int k = 0; v && k < v->ninputs; k++) {
    const Column *h = &cmd->validation.data.columns[k];
    if (strcmp(h->t->name, c->t->name) != 0 || words_same(&c->words, &h->words)) continue;
    err_set(e, EXIT_WRONG, "%s and %s hold other words for the input %s", c->text, h->text,
            c->t->name);
    return err_hint(e, "list the words of both: FILE:NAME=WORD|WORD, numbered from 0");
  }
  return true;
}

static bool add_words(Command *cmd, const Dataset *d, Err *e) {
  for (int i = 0; i < d->n; i++) {
    const Column *c = &d->columns[i];
    if (!labels_set(&cmd->labels, c->t->name, NULL, &c->columns, e)) return false;
    if (!c->words.n || c->words.from) continue;
    if (!labels_storable(&c->words))
      note(cmd, "%s: its words are not UTF-8, or have line ends; weights are saved without them",
           c->text);
    if (!labels_set(&cmd->labels, c->t->name, &c->words, NULL, e)) return false;
  }
  return true;
}

/* The first input that reads the file: what is to be said of a file is said once. */
static bool is_first(const Dataset *d, int i) {
  for (int k = 0; k < i; k++)
    if (!d->columns[k].is_number && strcmp(d->columns[k].text, d->columns[i].text) == 0)
      return false;
  return true;
}

bool labels_take(Command *cmd, Err *e) {
  char text[900];
  for (int i = 0; i < cmd->data.n; i++) {
    const Column *c = &cmd->data.columns[i];
    if (is_first(&cmd->data, i) && csv_note(c, text, sizeof text)) note(cmd, "%s", text);
    if (csv_place_note(c, text, sizeof text)) note(cmd, "%s", text);
    if (c->bytes)
      note(cmd, "%s is text: each byte is an element of %s%s; %s:u8 says so", c->text, c->t->name,
           tools()->name ? ", and 'tokenize' makes tokens of it" : "", c->text);
    if (words_note(c, text, sizeof text)) note(cmd, "%s", text);
    const Words *known = labels_find(&cmd->labels, c->t->name);
    if (known && known->from && c->words.listed && !words_same(known, &c->words))
      note(cmd, "%s: the words that are listed are not those of %s", c->text, known->from);
    if (!compare_words(cmd, c, e)) return false;
  }
  for (int i = 0; i < cmd->validation.data.n; i++)
    if (csv_place_note(&cmd->validation.data.columns[i], text, sizeof text)) note(cmd, "%s", text);
  bool trains = cmd->entry->training; /* others write what they read */
  if (trains && (!add_words(cmd, &cmd->validation.data, e) || !add_words(cmd, &cmd->data, e)))
    return false;
  if (cmd->labels.n && !labels_text(&cmd->labels, &cmd->labels_text, e)) return false;
  cmd->session.labels = cmd->labels_text;
  return true;
}

void labels_release(Command *cmd) {
  labels_free(&cmd->labels);
  free(cmd->labels_text);
}
