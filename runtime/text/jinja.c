/* Chat templates: the text between tags, and statements. Contract: see jinja.h. The source is cut
   into nodes first, with the white space that tags take; then nodes run, and a statement that opens
   knows the node where its next part begins. */
#include "runtime/text/jinja_parts.h"
#include <stdlib.h>

typedef enum NodeKind { NODE_TEXT, NODE_VALUE, NODE_STATEMENT } NodeKind;
typedef struct Node {
  NodeKind kind;
  Slice text; /* what is printed, or what stands in the tag */
  Slice word; /* of a statement */
  int next;   /* of if, elif, else and for: the node of the next part or of the end */
} Node;
typedef struct Nodes {
  Node *at;
  uint64_t n, room;
} Nodes;
typedef struct Run {
  Jinja *j;
  const Nodes *nodes;
  Text *out;
} Run;
enum { DEPTH = 32, MOST_TEXT = 16 << 20 };

static bool is(Slice name, const char *word) { return slice_is(name, slice_of(word)); }

/* ---- nodes ---- */

static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static bool add_node(Jinja *j, Nodes *all, Node node) {
  if (!grow(&all->at, &all->room, all->n + 1, sizeof *all->at))
    return err_set(j->e, EXIT_ENV, "no memory for the chat");
  all->at[all->n++] = node;
  return true;
}

/* The text before a tag, without what the tag takes of it: with "-" all white space, else that of a
   block from the begin of its line. */
static Slice before_tag(const Jinja *j, Slice text, char sign, bool block) {
  uint64_t n = text.n;
  if (sign == '-') {
    while (n && is_blank(text.s[n - 1])) n--;
  } else if (block && sign != '+') {
    while (n && (text.s[n - 1] == ' ' || text.s[n - 1] == '\t')) n--;
    bool line = n ? text.s[n - 1] == '\n' : text.s == j->source.s || text.s[-1] == '\n';
    if (!line) n = text.n;
  }
  return slice_part(text, 0, n);
}

/* Where a tag of this kind ends, outside of quotes; NULL: it does not. */
static const char *tag_end(const char *p, const char *end, char closing) {
  for (char quote = 0; p + 1 < end; p++) {
    if (closing != '#' && quote && *p == '\\')
      p++;
    else if (closing != '#' && quote)
      quote = *p == quote ? 0 : quote;
    else if (closing != '#' && (*p == '\'' || *p == '"'))
      quote = *p;
    else if (*p == closing && p[1] == '}')
      return p;
  }
  return NULL;
}

static bool cut(Jinja *j, Nodes *all) {
  const char *p = j->source.s, *end = p + j->source.n;
  while (p < end) {
    const char *tag = p;
    while (tag < end && !(*tag == '{' && tag + 1 < end && strchr("{%#", tag[1]) && tag[1])) tag++;
    Slice text = {p, (uint64_t)(tag - p)};
    j->at = tag;
    if (tag == end) return add_node(j, all, (Node){.text = text});
    bool value = tag[1] == '{';
    const char *from = tag + 2, *to = tag_end(from, end, value ? '}' : tag[1]);
    if (!to) return jinja_fail(j, "a tag without an end");
    char sign = from < to && (*from == '-' || *from == '+') ? *from++ : 0;
    char last = to > from && (to[-1] == '-' || (to[-1] == '+' && !value)) ? to[-1] : 0;
    text = before_tag(j, text, sign, !value);
    if (text.n && !add_node(j, all, (Node){.text = text})) return false;
    Node node = {
        value ? NODE_VALUE : NODE_STATEMENT, {from, (uint64_t)(to - from) - (last != 0)}, {0}, 0};
    JinjaText t = {from, from + node.text.n};
    if (!value && tag[1] == '%') {
      if (!jinja_name(&t, &node.word)) return jinja_fail(j, "a statement is missing");
      node.text = (Slice){t.p, (uint64_t)(t.end - t.p)};
    }
    if (tag[1] != '#' && !add_node(j, all, node)) return false;
    p = to + 2;
    if (last == '-')
      while (p < end && is_blank(*p)) p++;
    else if (!value && last != '+' && p < end && *p == '\n')
      p++;
  }
  return true;
}

/* Each part of an if, and each for, to the node behind which the next part begins. */
static bool match(Jinja *j, Nodes *all) {
  int open[DEPTH], depth = 0;
  for (uint64_t i = 0; i < all->n; i++) {
    Node *x = &all->at[i];
    if (x->kind != NODE_STATEMENT) continue;
    j->at = x->text.s;
    bool begins = is(x->word, "if") || is(x->word, "for"),
         ends = is(x->word, "endif") || is(x->word, "endfor");
    bool goes_on = is(x->word, "elif") || is(x->word, "else");
    if (ends || goes_on) {
      if (!depth) return jinja_fail(j, "'%.*s' without a begin", (int)x->word.n, x->word.s);
      Node *begin = &all->at[open[--depth]];
      if (is(begin->word, "for") != is(x->word, "endfor"))
        return jinja_fail(j, "'%.*s' ends something else", (int)x->word.n, x->word.s);
      begin->next = (int)i;
    }
    if (begins || goes_on) {
      if (depth == DEPTH) return jinja_fail(j, "too many levels");
      open[depth++] = (int)i;
    }
  }
  if (!depth) return true;
  j->at = all->at[open[depth - 1]].text.s;
  return jinja_fail(j, "a statement without an end");
}

/* ---- statements ---- */

static void run(Run *r, int from, int to);

static JinjaText text_of(const Node *x) { return (JinjaText){x->text.s, x->text.s + x->text.n}; }

static void set(Run *r, const Node *x) {
  Jinja *j = r->j;
  JinjaText t = text_of(x);
  Slice name, part = {0};
  bool ok = jinja_name(&t, &name) && (!jinja_takes(&t, ".") || jinja_name(&t, &part)) &&
            jinja_takes(&t, "=");
  if (!ok) {
    jinja_fail(j, "'set' of this form is not known here");
    return;
  }
  JinjaValue v = jinja_expr(j, &t);
  if (!jinja_ends(j, &t)) return;
  if (part.n) {
    JinjaValue space = jinja_get(j->names, name);
    if (space.kind != JINJA_DICT)
      jinja_fail(j, "%.*s is no namespace", (int)(name.n < 60 ? name.n : 60), name.s);
    else
      jinja_put(j, space.items, part, v);
    return;
  }
  for (uint64_t i = j->scope; i < j->names->n; i++)
    if (slice_is(j->names->key[i], name)) {
      j->names->at[i] = v;
      return;
    }
  jinja_put(j, j->names, name, v);
}

/* Runs the part of an if that holds, and returns its end. */
static int choose(Run *r, int at) {
  bool done = false;
  for (const Node *x = &r->nodes->at[at]; !is(x->word, "endif");
       at = x->next, x = &r->nodes->at[at]) {
    JinjaText t = text_of(x);
    if (done) continue;
    r->j->at = x->text.s;
    JinjaValue c = is(x->word, "else") ? jinja_bool(true) : jinja_expr(r->j, &t);
    if (!jinja_ends(r->j, &t)) return at;
    done = jinja_true(&c);
    if (done) run(r, at + 1, x->next);
    if (r->j->e->code) return at;
  }
  return at;
}

/* What a loop has: loop.first and so on. */
static void bind_loop(Jinja *j, Slice name, const JinjaItems *all, uint64_t i) {
  JinjaValue loop = jinja_items(j, true);
  jinja_put(j, loop.items, slice_of("index0"), jinja_int((int64_t)i));
  jinja_put(j, loop.items, slice_of("index"), jinja_int((int64_t)i + 1));
  jinja_put(j, loop.items, slice_of("length"), jinja_int((int64_t)all->n));
  jinja_put(j, loop.items, slice_of("revindex0"), jinja_int((int64_t)(all->n - i - 1)));
  jinja_put(j, loop.items, slice_of("revindex"), jinja_int((int64_t)(all->n - i)));
  jinja_put(j, loop.items, slice_of("first"), jinja_bool(i == 0));
  jinja_put(j, loop.items, slice_of("last"), jinja_bool(i + 1 == all->n));
  if (i) jinja_put(j, loop.items, slice_of("previtem"), all->at[i - 1]);
  if (i + 1 < all->n) jinja_put(j, loop.items, slice_of("nextitem"), all->at[i + 1]);
  jinja_put(j, j->names, slice_of("loop"), loop);
  jinja_put(j, j->names, name, all->at[i]);
}

/* The items for which the condition behind them holds. */
static JinjaValue chosen(Jinja *j, Slice name, const JinjaItems *all, JinjaText *condition) {
  JinjaValue out = jinja_items(j, false);
  JinjaText t = *condition;
  for (uint64_t i = 0; i < all->n && jinja_works(j); i++) {
    uint64_t n = j->names->n;
    t = *condition;
    jinja_put(j, j->names, name, all->at[i]);
    JinjaValue c = jinja_condition(j, &t);
    if (jinja_true(&c)) jinja_put(j, out.items, (Slice){0}, all->at[i]);
    j->names->n = n;
  }
  *condition = all->n ? t : (JinjaText){t.end, t.end};
  return out;
}

static void loop(Run *r, int at) {
  Jinja *j = r->j;
  const Node *x = &r->nodes->at[at];
  JinjaText t = text_of(x);
  Slice name;
  if (!jinja_name(&t, &name) || !jinja_takes(&t, "in")) {
    jinja_fail(j, "'for' of this form is not known here");
    return;
  }
  JinjaValue all = jinja_condition(j, &t);
  if (!j->e->code && all.kind != JINJA_LIST) jinja_fail(j, "'for' of no list");
  if (j->e->code) return;
  if (jinja_takes(&t, "if")) all = chosen(j, name, all.items, &t);
  if (!jinja_ends(j, &t)) return;
  uint64_t scope = j->scope, n = j->names->n;
  for (uint64_t i = 0; i < all.items->n && jinja_works(j); i++) {
    j->scope = n;
    bind_loop(j, name, all.items, i);
    run(r, at + 1, x->next);
    j->names->n = n;
  }
  j->scope = scope;
}

static void print(Run *r, Slice s) {
  if (r->out->n + s.n > MOST_TEXT)
    jinja_fail(r->j, "it makes a text that is too long");
  else if (!text_add(r->out, s.s, s.n))
    err_set(r->j->e, EXIT_ENV, "no memory for the chat");
}

static void run(Run *r, int from, int to) {
  for (int i = from; i < to && jinja_works(r->j); i++) {
    const Node *x = &r->nodes->at[i];
    JinjaText t = text_of(x);
    r->j->at = x->text.s;
    if (x->kind == NODE_TEXT) {
      print(r, x->text);
    } else if (x->kind == NODE_VALUE) {
      JinjaValue v = jinja_expr(r->j, &t);
      if (jinja_ends(r->j, &t)) print(r, jinja_text(r->j, &v));
    } else if (is(x->word, "if")) {
      i = choose(r, i);
    } else if (is(x->word, "for")) {
      loop(r, i);
      i = x->next;
    } else if (is(x->word, "set")) {
      set(r, x);
    } else if (!is(x->word, "generation") && !is(x->word, "endgeneration")) {
      jinja_fail(r->j, "the statement '%.*s' is not known here",
                 (int)(x->word.n < 60 ? x->word.n : 60), x->word.s);
    }
  }
}

/* ---- the whole ---- */

static void bind(Jinja *j, const JinjaInput *in) {
  const JinjaValue none = {.kind = JINJA_NONE};
  JinjaValue messages = jinja_items(j, false);
  for (int i = 0; i < in->n && messages.items; i++) {
    JinjaValue one = jinja_items(j, true);
    jinja_put(j, one.items, slice_of("role"), jinja_string(slice_of(in->message[i].role)));
    jinja_put(j, one.items, slice_of("content"), jinja_string(in->message[i].content));
    jinja_put(j, messages.items, (Slice){0}, one);
  }
  jinja_put(j, j->names, slice_of("messages"), messages);
  jinja_put(j, j->names, slice_of("tools"), none);
  jinja_put(j, j->names, slice_of("documents"), none);
  jinja_put(j, j->names, slice_of("add_generation_prompt"), jinja_bool(in->answer));
  if (in->bos.n) jinja_put(j, j->names, slice_of("bos_token"), jinja_string(in->bos));
  if (in->eos.n) jinja_put(j, j->names, slice_of("eos_token"), jinja_string(in->eos));
}

bool jinja_render(Slice source, const JinjaInput *in, Text *out, Err *e) {
  if (source.n && source.s[source.n - 1] == '\n') source.n--;
  Jinja j = {.source = source, .at = source.s, .e = e};
  Nodes all = {0};
  j.names = jinja_take(&j, sizeof *j.names);
  if (cut(&j, &all) && match(&j, &all)) {
    bind(&j, in);
    run(&(Run){&j, &all, out}, 0, (int)all.n);
  }
  free(all.at);
  jinja_free(&j);
  return !e->code;
}
