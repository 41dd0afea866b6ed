/* Finds the entry of a language model and runs it in chunks of as many tokens as a run takes.
   Contract: see chat_model.h. */
#include "runtime/text/chat_model.h"
#include "runtime/program/load.h"
#include <inttypes.h>
#include <stdlib.h>

static int find(const GcTensor *t, int n, const char *name) {
  for (int i = 0; i < n; i++)
    if (strcmp(t[i].name, name) == 0) return i;
  return -1;
}

static bool is_int(const GcTensor *t) { return t->dtype == GC_I32 || t->dtype == GC_I64; }

static bool fits(const GcEntry *e, ChatModel *m) {
  if (e->training || e->ninputs != 2) return false;
  m->tokens = e->inputs[0].rank == 2 ? 0 : 1;
  m->at = 1 - m->tokens;
  m->logits_at = find(e->outputs, e->noutputs, "logits");
  m->room_at = find(e->outputs, e->noutputs, "room");
  if (m->logits_at < 0 || m->room_at < 0) return false;
  const GcTensor *x = &e->inputs[m->tokens], *at = &e->inputs[m->at],
                 *y = &e->outputs[m->logits_at], *room = &e->outputs[m->room_at];
  return x->rank == 2 && x->dims[0] == 1 && is_int(x) && at->rank == 0 && at->dtype == GC_I32 &&
         y->dtype == GC_F32 && !y->extents && room->rank == 0 && room->dtype == GC_I32 &&
         e->nextents == (x->dims[1] > 1);
}

static bool find_entry(ChatModel *m, Err *e) {
  for (m->entry = 0; m->entry < gc_program.nentries; m->entry++)
    if (fits(&gc_program.entries[m->entry], m)) break;
  if (m->entry == gc_program.nentries) {
    err_set(e, EXIT_USAGE, "chat: this program has no entry that reads a text token by token");
    return err_hint(e, "it takes tokens : i32[1, t <= P] and at : i32[], and returns logits and "
                       "room: see read in docs/examples/llama.g");
  }
  const GcEntry *x = &gc_program.entries[m->entry];
  const GcTensor *t = &x->inputs[m->tokens];
  m->chunk = (uint32_t)t->dims[1];
  m->size = (uint32_t)tensor_count(&x->outputs[m->logits_at]);
  m->limit = t->nlimits == 1 ? t->limits[0].limit : 0;
  m->logits = malloc(m->size * sizeof *m->logits);
  m->in = malloc((size_t)m->chunk * 8);
  m->start = malloc(8);
  m->inputs = calloc((size_t)x->ninputs, sizeof *m->inputs);
  m->outputs = calloc((size_t)x->noutputs, sizeof *m->outputs);
  return (m->logits && m->in && m->start && m->inputs && m->outputs) ||
         err_set(e, EXIT_ENV, "no memory for the logits");
}

static void print_note(void *arg, const char *text) {
  fputs("note: ", stderr);
  text_print(stderr, text, strlen(text), false);
  fputc('\n', stderr);
}

bool chat_model_open(ChatModel *m, const ChatPlace *p, Err *e) {
  *m = (ChatModel){.room = UINT64_MAX};
  if (!find_entry(m, e)) return false;
  m->model = embed_open_noting(p->device, p->threads, print_note, NULL, e);
  if (!m->model) return false;
  if (p->nload) return embed_load_noting(m->model, p->load, p->nload, e);
  if (!weights_own_all(&gc_program))
    print_note(NULL, "without --load the parameters have their random initial values");
  return true;
}

static bool run(ChatModel *m, const uint32_t *ids, uint32_t n, Err *e) {
  const GcEntry *x = &gc_program.entries[m->entry];
  int32_t room = 0;
  int extent = (int)n;
  for (uint32_t i = 0; i < n; i++) {
    if (m->limit && ids[i] >= m->limit) {
      err_set(e, EXIT_WRONG, "the token %" PRIu32 " is not one of the model's %" PRId64, ids[i],
              m->limit);
      return err_hint(e, "the tokenizer is of another model");
    }
    if (x->inputs[m->tokens].dtype == GC_I64)
      ((int64_t *)m->in)[i] = ids[i];
    else
      ((int32_t *)m->in)[i] = (int32_t)ids[i];
  }
  *(int32_t *)m->start = (int32_t)m->read;
  m->inputs[m->tokens] = m->in, m->inputs[m->at] = m->start;
  m->outputs[m->logits_at] = m->logits, m->outputs[m->room_at] = &room;
  if (!embed_run_of(m->model, m->entry, &extent, m->inputs, m->outputs))
    return err_set(e, EXIT_WRONG, "%s", embed_error(m->model));
  m->read += n;
  m->room = room > 0 ? (uint64_t)room : 0;
  return true;
}

bool chat_model_read(ChatModel *m, const uint32_t *ids, uint64_t n, bool *full, Err *e) {
  *full = false;
  for (uint64_t at = 0, k; at < n; at += k) {
    k = n - at < m->chunk ? n - at : m->chunk;
    if (k > m->room) k = m->room;
    if (!k) return *full = true;
    if (!run(m, ids + at, (uint32_t)k, e)) return false;
  }
  return true;
}

void chat_model_rewind(ChatModel *m, uint64_t to) {
  if (to >= m->read) return;
  if (m->room != UINT64_MAX) m->room += m->read - to;
  m->read = to;
}

void chat_model_close(ChatModel *m) {
  embed_close(m->model);
  free(m->logits);
  free(m->in);
  free(m->start);
  free(m->inputs);
  free(m->outputs);
  *m = (ChatModel){0};
}
