/* Reads a folder's chat template and writes conversations by it. Contract: see own_template.h. */
#include "runtime/text/own_template.h"
#include "runtime/data/file.h"
#include "runtime/tokens/tree.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { MOST = 1 << 24 }; /* bytes of a file */

static bool no_memory(Err *e) { return err_set(e, EXIT_ENV, "no memory for the chat"); }

static bool keep(Text *to, Slice s, Err *e) {
  to->n = 0;
  return text_add(to, s.s, s.n) || no_memory(e);
}

/* A string, or an object with its content. */
static bool token(const Tree *t, const char *key, Text *to, Err *e) {
  const TreeNode *n = tree_get(t, tree_root(t), key);
  if (n->kind == TREE_OBJECT) n = tree_get(t, n, "content");
  return n->kind != TREE_STRING || keep(to, n->text, e);
}

/* One template, or the one of several that is named "default". */
static bool template(OwnTemplate *o, const Tree *t, Err *e) {
  const TreeNode *n = tree_get(t, tree_root(t), "chat_template");
  if (n->kind == TREE_STRING) return keep(&o->source, n->text, e);
  for (n = n->kind == TREE_LIST ? tree_child(t, n) : NULL; n; n = tree_next(t, n)) {
    const TreeNode *name = tree_get(t, n, "name"), *text = tree_get(t, n, "template");
    if (name->kind == TREE_STRING && text->kind == TREE_STRING &&
        slice_is(name->text, slice_of("default")))
      return keep(&o->source, text->text, e);
  }
  return true;
}

static bool read_config(OwnTemplate *o, const char *path, Err *e) {
  Tree t;
  if (!tree_read(&t, path, "configuration", MOST, e)) return false;
  bool ok = template(o, &t, e) && token(&t, "bos_token", &o->bos, e) &&
            token(&t, "eos_token", &o->eos, e);
  tree_free(&t);
  return ok;
}

static bool read_source(OwnTemplate *o, const char *path, Err *e) {
  File f;
  if (!file_open(&f, path, e)) return false;
  Text *s = &o->source;
  bool ok = f.size <= MOST || err_set(e, EXIT_WRONG, "%s: is too long for a template", path);
  ok = ok && (grow(&s->s, &s->room, f.size + 1, 1) || no_memory(e));
  ok = ok && file_read(&f, 0, s->s, f.size, e);
  if (ok) s->n = f.size;
  file_close(&f);
  if (ok && utf8_valid(text_slice(s)) != s->n)
    return err_set(e, EXIT_WRONG, "%s: is not UTF-8", path);
  return ok;
}

static bool read_folder(OwnTemplate *o, const char *folder, Err *e) {
  static const char *const names[] = {"tokenizer_config.json", "chat_template.jinja"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    struct stat st;
    size_t n = strlen(folder) + strlen(names[i]) + 2;
    char *path = malloc(n);
    if (!path) return no_memory(e);
    snprintf(path, n, "%s/%s", folder, names[i]);
    bool ok = stat(path, &st) != 0 || (i ? read_source(o, path, e) : read_config(o, path, e));
    free(path);
    if (!ok) return false;
  }
  return true;
}

static bool render(const OwnTemplate *o, const JinjaMessage *message, uint64_t n, bool answer,
                   Text *out, Err *e) {
  const JinjaInput in = {message, (int)n, text_slice(&o->bos), text_slice(&o->eos), answer};
  return jinja_render(text_slice(&o->source), &in, out, e);
}

/* Whether a first turn can be written, else why not. */
static bool works(const OwnTemplate *o, bool system, Err *why) {
  static const JinjaMessage sample[] = {{"system", {"a", 1}}, {"user", {"b", 1}}};
  Text out = {0};
  bool ok = render(o, system ? sample : sample + 1, system ? 2 : 1, true, &out, why);
  text_free(&out);
  return ok;
}

bool own_template_read(OwnTemplate *o, const char *tokenizer, bool system, bool quiet, Err *e) {
  const char *slash = strrchr(tokenizer, '/');
  const size_t n = slash ? (size_t)(slash - tokenizer) : 0;
  char *folder = slash ? strndup(n ? tokenizer : "/", n ? n : 1) : strdup(".");
  Err why = {0};
  bool ok = (folder || no_memory(e)) && read_folder(o, folder, e);
  if (ok && o->source.n && !works(o, system, &why)) {
    const char *note =
        "note: %s: its chat_template is not used: %s; --template names another one\n";
    if (!quiet) fprintf(stderr, note, folder, why.msg);
    o->source.n = 0;
  }
  free(folder);
  return ok;
}

bool own_template_add(OwnTemplate *o, const char *role, Slice content, Err *e) {
  char *copy =
      grow(&o->message, &o->room, o->n + 1, sizeof *o->message) ? malloc(content.n + 1) : NULL;
  if (!copy || o->n >= 1 << 20) return free(copy), no_memory(e);
  if (content.n) memcpy(copy, content.s, content.n);
  o->message[o->n++] = (JinjaMessage){role, {copy, content.n}};
  return true;
}

bool own_template_text(const OwnTemplate *o, bool answer, Text *out, Err *e) {
  return render(o, o->message, o->n, answer, out, e);
}

void own_template_clear(OwnTemplate *o) {
  for (uint64_t i = 0; i < o->n; i++) free((char *)o->message[i].content.s);
  o->n = 0;
}

void own_template_free(OwnTemplate *o) {
  own_template_clear(o);
  free(o->message);
  text_free(&o->source);
  text_free(&o->bos);
  text_free(&o->eos);
}
