/* Records of instruction data as tokens. Contract: see records.h. */
#include "runtime/text/records.h"
#include "runtime/tokens/tree.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

void learned_free(Learned *l) {
  free(l->ids.at);
  free(l->mark);
  *l = (Learned){0};
}

static bool no_memory(Err *e) { return err_set(e, EXIT_ENV, "no memory for the tokens"); }

/* Marks all tokens that have none yet. */
static bool mark(Learned *l, uint64_t from, bool learned, Err *e) {
  if (!grow(&l->mark, &l->room, l->ids.n, 1)) return no_memory(e);
  if (l->ids.n > from) memset(l->mark + from, learned, l->ids.n - from);
  return true;
}

static bool add_token(Learned *l, uint32_t id, bool learned, Err *e) {
  return ids_add(&l->ids, id) ? mark(l, l->ids.n - 1, learned, e) : no_memory(e);
}

static bool add_text(const Records *r, Slice text, bool around, bool learned, Learned *l, Err *e) {
  uint64_t from = l->ids.n;
  return tokenizer_encode(r->tokenizer, text, around, &l->ids, e) && mark(l, from, learned, e);
}

/* ---- between two answers ---- */

/* The end of an answer, which is learned up to the token that ends it, and what stands before the
   next one; turn: nothing follows where it is empty. */
static bool add_end(const Records *r, Slice turn, Learned *l, Err *e) {
  const Template *t = r->template;
  Text text = {0};
  uint64_t from = l->ids.n;
  if (!*t->stop) {
    if (r->end != NO_TOKEN && !add_token(l, r->end, true, e)) return false;
    from = l->ids.n;
    if (!turn.n) return true;
  }
  bool ok =
      (text_add(&text, t->answer_end, strlen(t->answer_end)) && text_add(&text, turn.s, turn.n)) ||
      no_memory(e);
  ok = ok && add_text(r, text_slice(&text), false, false, l, e);
  text_free(&text);
  if (!ok || !*t->stop) return ok;
  uint32_t stop = tokenizer_id(r->tokenizer, slice_of(t->stop));
  uint64_t end = from;
  while (end < l->ids.n && l->ids.at[end] != stop) end++;
  if (end == l->ids.n)
    return err_set(e, EXIT_WRONG, "the tokenizer does not read %s as a token", t->stop);
  memset(l->mark + from, 1, end + 1 - from);
  if (!turn.n) l->ids.n = end + 1;
  return true;
}

/* ---- messages ---- */

typedef struct Conversation {
  Records *r;
  const Tree *tree;
  Learned *out;
  char *system; /* malloc'ed; NULL: none */
  bool answered, asked;
  Text spoken, closing; /* by the own template: all so far, and what it writes behind the answer */
  Err *e;
} Conversation;

static bool is_own(const Conversation *c) { return c->r->own.source.n > 0; }

/* ---- by the own template ---- */

/* Appends what stands behind what has been spoken. */
static bool go_on(const Conversation *c, bool answer, Text *rest) {
  Text all = {0};
  bool ok = own_template_text(&c->r->own, answer, &all, c->e);
  const uint64_t n = c->spoken.n;
  if (ok && (all.n < n || memcmp(all.s ? all.s : "", c->spoken.s ? c->spoken.s : "", n) != 0))
    ok = err_set(c->e, EXIT_WRONG, "the chat_template writes what was said before in another way");
  ok = ok && (text_add(rest, all.s + n, all.n - n) || no_memory(c->e));
  text_free(&all);
  return ok;
}

static bool speak(Conversation *c, Slice s) {
  return text_add(&c->spoken, s.s, s.n) || no_memory(c->e);
}

/* What stands behind an answer: it is learned up to the token that ends it, or that token is put
   there. last: nothing follows. */
static bool own_end(Conversation *c, Slice rest, bool last) {
  const Records *r = c->r;
  Learned *l = c->out;
  Ids closing = {0};
  uint64_t from = l->ids.n, n = 0;
  bool ok = tokenizer_encode(r->tokenizer, text_slice(&c->closing), false, &closing, c->e);
  while (ok && n < closing.n && closing.at[n] != r->end) n++;
  const bool written = n < closing.n;
  free(closing.at);
  if (ok && !written && r->end != NO_TOKEN) ok = add_token(l, r->end, true, c->e), from++;
  ok = ok && add_text(r, rest, false, false, l, c->e);
  if (!ok) return false;
  if (written && (l->ids.n <= from + n || l->ids.at[from + n] != r->end))
    return err_set(c->e, EXIT_WRONG,
                   "the chat_template ends an answer in another way where a turn follows");
  if (written) memset(l->mark + from, 1, n + 1);
  if (last) l->ids.n = from + (written ? n + 1 : 0);
  return true;
}

static bool own_question(Conversation *c, Slice user) {
  Text turn = {0};
  bool ok = own_template_add(&c->r->own, "user", user, c->e) && go_on(c, true, &turn) &&
            speak(c, text_slice(&turn));
  if (ok)
    ok = c->answered ? own_end(c, text_slice(&turn), false)
                     : add_text(c->r, text_slice(&turn), false, false, c->out, c->e);
  text_free(&turn);
  return ok;
}

static bool is_blank_char(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static Slice trimmed(Slice s) {
  while (s.n && is_blank_char(s.s[0])) s.s++, s.n--;
  while (s.n && is_blank_char(s.s[s.n - 1])) s.n--;
  return s;
}

static bool begins(Slice all, Slice with) {
  return all.n >= with.n && (!with.n || memcmp(all.s, with.s, with.n) == 0);
}

static bool own_answer(Conversation *c, Slice answer) {
  Text rest = {0};
  bool ok = own_template_add(&c->r->own, "assistant", answer, c->e) && go_on(c, false, &rest);
  if (ok && !begins(text_slice(&rest), answer)) answer = trimmed(answer);
  if (ok && !begins(text_slice(&rest), answer))
    ok = err_set(c->e, EXIT_WRONG, "the chat_template does not write an answer as it is");
  c->closing.n = 0;
  ok = ok && (text_add(&c->closing, rest.s + answer.n, rest.n - answer.n) || no_memory(c->e)) &&
       speak(c, answer) && add_text(c->r, answer, false, true, c->out, c->e);
  text_free(&rest);
  return ok;
}

/* ---- by either ---- */

static bool add_question(Conversation *c, Slice user) {
  Text turn = {0};
  bool first = !c->answered;
  if (is_own(c)) return c->asked = own_question(c, user);
  bool ok = template_turn(c->r->template, c->system, first, user, &turn) || no_memory(c->e);
  if (ok)
    ok = first ? add_text(c->r, text_slice(&turn), true, false, c->out, c->e)
               : add_end(c->r, text_slice(&turn), c->out, c->e);
  text_free(&turn);
  return c->asked = ok;
}

static bool add_answer(Conversation *c, Slice answer) {
  c->asked = false, c->answered = true;
  return is_own(c) ? own_answer(c, answer) : add_text(c->r, answer, false, true, c->out, c->e);
}

static bool add_last(Conversation *c) {
  return is_own(c) ? own_end(c, text_slice(&c->closing), true)
                   : add_end(c->r, (Slice){0}, c->out, c->e);
}

static bool text_of(const Conversation *c, const TreeNode *object, const char *key, Slice *out) {
  const TreeNode *n = tree_get(c->tree, object, key);
  if (!tree_has(n)) return tree_fail(c->tree, object, "it has no \"%s\"", key);
  return tree_text(c->tree, object, key, out);
}

static bool add_message(Conversation *c, const TreeNode *n, bool first) {
  static const char *const roles[] = {"system", "user", "assistant"};
  Slice role, content;
  int k = 0;
  if (n->kind != TREE_OBJECT) return tree_fail(c->tree, n, "a message is no object");
  if (!text_of(c, n, "role", &role) || !text_of(c, n, "content", &content)) return false;
  while (k < 3 && !slice_is(role, slice_of(roles[k]))) k++;
  if (k == 0 && first && is_own(c)) return own_template_add(&c->r->own, roles[0], content, c->e);
  if (k == 0 && first) {
    c->system = strndup(content.s, content.n);
    return c->system || no_memory(c->e);
  }
  if (k == 1 && !c->asked) return add_question(c, content);
  if (k == 2 && c->asked) return add_answer(c, content);
  if (k == 3)
    return tree_fail(c->tree, n, "the role %.*s is none of system, user, assistant",
                     (int)(role.n < 40 ? role.n : 40), role.s);
  return tree_fail(c->tree, n, "a message of the %s stands where one of the %s is expected",
                   roles[k], roles[c->asked ? 2 : 1]);
}

static bool add_messages(Conversation *c, const TreeNode *list) {
  if (list->kind != TREE_LIST) return tree_fail(c->tree, list, "messages is no list");
  const TreeNode *first = tree_child(c->tree, list);
  for (const TreeNode *n = first; n; n = tree_next(c->tree, n))
    if (!add_message(c, n, n == first)) return false;
  if (c->answered && !c->asked) return true;
  return tree_fail(c->tree, list, "no answer of the assistant is at the end");
}

static bool add_pair(Conversation *c, const TreeNode *root) {
  Slice prompt, completion;
  return text_of(c, root, "prompt", &prompt) && text_of(c, root, "completion", &completion) &&
         add_question(c, prompt) && add_answer(c, completion);
}

/* ---- records ---- */

/* As many tokens as the length. */
static bool fit(Records *r, uint64_t from, Learned *l, Err *e) {
  uint64_t n = l->ids.n - from;
  if (!r->length) return true;
  r->cut += n > r->length;
  if (n > r->length) l->ids.n = from + r->length;
  for (; n < r->length; n++)
    if (!add_token(l, r->pad, false, e)) return false;
  return true;
}

static bool add_record(Records *r, const char *place, Slice line, Learned *out, Err *e) {
  Tree t;
  uint64_t from = out->ids.n;
  if (!tree_parse(&t, place, "record", line, e)) return false;
  Conversation c = {.r = r, .tree = &t, .out = out, .e = e};
  const TreeNode *root = tree_root(&t), *messages = tree_get(&t, root, "messages");
  bool pair = tree_has(tree_get(&t, root, "prompt"));
  bool ok = tree_has(messages) ? add_messages(&c, messages)
            : pair             ? add_pair(&c, root)
                               : tree_fail(&t, root,
                                           "it has neither \"messages\" nor \"prompt\" and "
                                                       "\"completion\"");
  ok = ok && add_last(&c) && fit(r, from, out, e);
  own_template_clear(&r->own);
  text_free(&c.spoken);
  text_free(&c.closing);
  free(c.system);
  tree_free(&t);
  r->n += ok;
  return ok;
}

static bool is_blank(Slice s) {
  for (uint64_t i = 0; i < s.n; i++)
    if (s.s[i] != ' ' && s.s[i] != '\t' && s.s[i] != '\r') return false;
  return true;
}

bool records_add(Records *r, const char *path, Slice text, Learned *out, Err *e) {
  size_t room = strlen(path) + 24;
  char *place = malloc(room);
  bool ok = place || no_memory(e);
  uint64_t line = 1;
  for (uint64_t at = 0, n; ok && at < text.n; at += n + 1, line++) {
    const char *end = memchr(text.s + at, '\n', text.n - at);
    n = end ? (uint64_t)(end - text.s) - at : text.n - at;
    Slice one = {text.s + at, n};
    if (is_blank(one)) continue;
    Err why = {0};
    snprintf(place, room, "%s:%" PRIu64, path, line);
    if ((ok = add_record(r, place, one, out, &why))) continue;
    bool told = strncmp(why.msg, place, strlen(place)) == 0 || why.code == EXIT_ENV;
    err_set(e, why.code, "%s%s%s", told ? "" : place, told ? "" : ": ", why.msg);
    if (told && why.code == EXIT_WRONG) /* of the line, which is the user's own */
      err_hint(e, "each line is an object, as {\"prompt\": \"…\", \"completion\": \"…\"}");
    else if (why.hint[0])
      err_hint(e, "%s", why.hint);
    else if (r->own.source.n && why.code == EXIT_WRONG)
      err_hint(e, "--template NAME writes turns without the chat_template beside the tokenizer");
  }
  free(place);
  return ok;
}

bool records_check(const Records *r, Err *e) {
  const Template *t = r->template;
  if (r->own.source.n || !*t->stop || tokenizer_id(r->tokenizer, slice_of(t->stop)) != NO_TOKEN)
    return true;
  err_set(e, EXIT_WRONG, "the tokenizer has no token %s, which ends an answer of the template %s",
          t->stop, t->name);
  return err_hint(e, "it belongs to a model of another template");
}
