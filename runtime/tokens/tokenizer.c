/* Reads tokenizer.json and runs its parts: added tokens, normalizers, added tokens of the
   normalized text, pre-tokenizers, the model, tokens around the text. Contract: see tokenizer.h. */
#include "runtime/tokens/parts.h"
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { FILE_BYTES = 1 << 28, NESTED = 8 };

/* ---- tokens around a text ---- */

/* {"SpecialToken": {"id": "<s>"}}: its numbers stand in "special_tokens". */
static bool add_special(const Tree *t, const TreeNode *node, Slice name, Ids *to) {
  const TreeNode *all = tree_get(t, node, "special_tokens");
  for (const TreeNode *x = tree_child(t, all); x; x = tree_next(t, x)) {
    if (!slice_is(x->key, name)) continue;
    const TreeNode *ids = tree_get(t, x, "ids");
    for (const TreeNode *i = tree_child(t, ids); i; i = tree_next(t, i)) {
      uint64_t id;
      if (!tree_count(t, i, TOKENS - 1, &id)) return false;
      if (!ids_add(to, (uint32_t)id)) return no_memory(t->e);
    }
    return true;
  }
  return tree_fail(t, node, "the post-processor has no special token %.*s",
                   (int)(name.n < 60 ? name.n : 60), name.s);
}

static bool read_template(const Tree *t, const TreeNode *node, Tokenizer *k) {
  const TreeNode *single = tree_get(t, node, "single");
  bool behind = false;
  for (const TreeNode *x = tree_child(t, single); x; x = tree_next(t, x)) {
    const TreeNode *token = tree_get(t, x, "SpecialToken");
    Slice name;
    if (!tree_has(token)) {
      behind = true; /* the sequence */
      continue;
    }
    if (!tree_text(t, token, "id", &name) ||
        !add_special(t, node, name, behind ? &k->behind : &k->before))
      return false;
  }
  return true;
}

/* ["[CLS]", 101] */
static bool read_pair(const Tree *t, const TreeNode *node, const char *key, Ids *to) {
  const TreeNode *pair = tree_get(t, node, key), *token = tree_child(t, pair);
  uint64_t id;
  if (!token || !tree_next(t, token)) return tree_fail(t, node, "%s is no token", key);
  if (!tree_count(t, tree_next(t, token), TOKENS - 1, &id)) return false;
  return ids_add(to, (uint32_t)id) || no_memory(t->e);
}

static bool read_around(const Tree *t, const TreeNode *node, Tokenizer *k, int depth) {
  Slice type;
  if (!tree_has(node)) return true;
  if (!tree_text(t, node, "type", &type)) return false;
  if (slice_is(type, slice_of("ByteLevel"))) return true; /* of offsets alone */
  if (slice_is(type, slice_of("TemplateProcessing"))) return read_template(t, node, k);
  if (slice_is(type, slice_of("BertProcessing")) || slice_is(type, slice_of("RobertaProcessing")))
    return read_pair(t, node, "cls", &k->before) && read_pair(t, node, "sep", &k->behind);
  if (!slice_is(type, slice_of("Sequence")))
    return tree_fail(t, node, "the post-processor %.*s is not known here",
                     (int)(type.n < 60 ? type.n : 60), type.s);
  if (depth == NESTED) return tree_fail(t, node, "post-processors are nested too deeply");
  const TreeNode *all = tree_get(t, node, "processors");
  for (const TreeNode *x = tree_child(t, all); x; x = tree_next(t, x))
    if (!read_around(t, x, k, depth + 1)) return false;
  return true;
}

/* ---- the whole ---- */

static bool read_parts(Tokenizer *k) {
  const Tree *t = &k->tree;
  const TreeNode *root = tree_root(t);
  if (root->kind != TREE_OBJECT) return tree_fail(t, root, "is no tokenizer.json");
  return model_read(t, tree_get(t, root, "model"), &k->model) &&
         normal_read(t, tree_get(t, root, "normalizer"), &k->normals, &k->nnormals) &&
         split_read(t, tree_get(t, root, "pre_tokenizer"), &k->steps, &k->nsteps) &&
         decoder_read(t, tree_get(t, root, "decoder"), &k->decoders, &k->ndecoders) &&
         added_read(t, tree_get(t, root, "added_tokens"), k->normals, k->nnormals, &k->model.vocab,
                    &k->added) &&
         read_around(t, tree_get(t, root, "post_processor"), k, 0);
}

Tokenizer *tokenizer_read(const char *path, Err *e) {
  Tokenizer *k = calloc(1, sizeof *k);
  if (!k) {
    no_memory(e);
    return NULL;
  }
  if (tree_read(&k->tree, path, "tokenizer", FILE_BYTES, e) && read_parts(k)) {
    free(k->tree.node); /* the strings stay */
    k->tree.node = NULL;
    return k;
  }
  tokenizer_free(k);
  struct stat st;
  if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
    e->hint[0] = 0; /* that of any file */
    err_hint(e, "name the tokenizer.json in it");
  }
  return NULL;
}

void tokenizer_free(Tokenizer *k) {
  if (!k) return;
  normal_free(k->normals, k->nnormals);
  split_free(k->steps, k->nsteps);
  decoder_free(k->decoders, k->ndecoders);
  model_free(&k->model);
  added_free(&k->added);
  free(k->before.at);
  free(k->behind.at);
  text_free(&k->work[0]);
  text_free(&k->work[1]);
  for (uint64_t i = 0; i < k->texts.room; i++) text_free(&k->texts.at[i]);
  free(k->texts.at);
  tree_free(&k->tree);
  free(k);
}

uint32_t tokenizer_id(const Tokenizer *k, Slice token) {
  uint32_t id = vocab_find(&k->added.names, token);
  return id != NO_TOKEN ? id : vocab_find(&k->model.vocab, token);
}

uint32_t tokenizer_size(const Tokenizer *k) {
  uint64_t n = k->model.vocab.n;
  for (uint64_t i = 0; i < k->added.n; i++)
    if (k->added.at[i].id >= n) n = (uint64_t)k->added.at[i].id + 1;
  return (uint32_t)n;
}

/* ---- encoding ---- */

typedef struct Encoding {
  Tokenizer *k;
  Ids *out;
} Encoding;

static bool take_word(void *to, Slice word, Err *e) {
  const Encoding *x = to;
  return model_encode(&x->k->model, word, x->out, e);
}

static bool take_normal(void *to, Slice part, bool first, const Added *token, Err *e) {
  const Encoding *x = to;
  if (token) return ids_add(x->out, token->id) || no_memory(e);
  return split_run(x->k->steps, x->k->nsteps, part, first, take_word, to, e);
}

static bool take_raw(void *to, Slice part, bool first, const Added *token, Err *e) {
  const Encoding *x = to;
  Tokenizer *k = x->k;
  Slice s;
  if (token) return ids_add(x->out, token->id) || no_memory(e);
  return normal_run(k->normals, k->nnormals, part, k->work, &s, e) &&
         added_split(&k->added, &k->added.normal, s, first, take_normal, to, e);
}

static bool add_all(Ids *out, const Ids *ids, Err *e) {
  for (uint64_t i = 0; i < ids->n; i++)
    if (!ids_add(out, ids->at[i])) return no_memory(e);
  return true;
}

static bool encode(Tokenizer *k, Slice text, Ids *out, Err *e) {
  Encoding x = {k, out};
  uint64_t valid = utf8_valid(text);
  if (valid != text.n)
    return err_set(e, EXIT_WRONG, "the text is not UTF-8 at byte %" PRIu64, valid);
  return added_split(&k->added, &k->added.raw, text, true, take_raw, &x, e);
}

bool tokenizer_encode(Tokenizer *k, Slice text, bool around, Ids *out, Err *e) {
  return (!around || add_all(out, &k->before, e)) && encode(k, text, out, e) &&
         (!around || add_all(out, &k->behind, e));
}

uint64_t tokenizer_around(const Tokenizer *k) { return k->before.n + k->behind.n; }

bool tokenizer_encode_part(Tokenizer *k, Slice text, uint64_t most, Ids *out, bool *cut, Err *e) {
  uint64_t end = out->n + most - k->behind.n;
  if (!add_all(out, &k->before, e) || !encode(k, text, out, e)) return false;
  *cut = out->n > end;
  if (*cut) out->n = end;
  return add_all(out, &k->behind, e);
}
