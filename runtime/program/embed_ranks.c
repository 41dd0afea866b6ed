/* A model that is one of several ranks, each in a process of a program that is not ours. Contract:
   a call that all ranks make fails on all of them or on none: they tell each other how it is before
   anything changes, and again where a run can find out more. Where ranks are lost, every later call
   fails at once, and memory that messages may still write to is not given back. */
#include "runtime/program/embed_impl.h"
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

enum { WELL, EXTENTS, WORDS = EXTENTS + GC_EXTENTS }; /* what a rank says */

enum { SECONDS = 600 };
static _Thread_local double opening_timeout = SECONDS;

static bool say(GcModel *m, const Err *e) { return embed_failed(m->message, e, true); }

bool embed_join(GcModel *m, EmbedRanks *ranks, const void *of, int device, Err *e) {
  char why[sizeof e->msg] = "";
  if (!ranks) return true;
  m->comm = ranks(of, device, opening_timeout, why, sizeof why);
  if (!m->comm) return err_set(e, EXIT_ENV, "%s", why);
  if (m->comm->failure) return err_set(e, EXIT_ENV, "%s", m->comm->failure);
  if (m->comm->ranks != gc_program.ranks)
    return err_set(e, EXIT_USAGE, "this model is for %d ranks, and the communicator has %d",
                   gc_program.ranks, m->comm->ranks);
  m->cores = cores_share(m->comm, cores_available()); /* all take part, whatever they ask for */
  m->said = calloc((size_t)m->comm->ranks * WORDS, sizeof *m->said);
  return m->said || err_set(e, EXIT_ENV, "no memory for what ranks say");
}

void embed_part(GcModel *m) {
  GcComm *c = m->comm;
  bool lost = c && c->failure;                /* messages may come to what was said */
  if (c && m->owner == getpid()) c->close(c); /* a child is no rank */
  if (!lost) free(m->said);
  m->comm = NULL, m->said = NULL;
}

uint64_t embed_seed(const GcModel *m, uint64_t seed) {
  if (m->comm) m->comm->broadcast(m->comm, &seed, sizeof seed, 0);
  return seed;
}

/* ---- meeting ---- */

/* ok: the call has not said itself why it fails. */
static bool lose(GcModel *m, bool ok) {
  const bool before = m->lost;
  Err e = {0};
  m->lost = true;
  if (!ok) return false;
  err_set(&e, EXIT_ENV, "%s%s",
          before ? "the other ranks were lost in an earlier call: close the model; "
                 : "rank lost: ",
          m->comm->failure);
  return say(m, &e);
}

static bool meet(GcModel *m, bool ok, const int32_t *extents) {
  const GcComm *c = m->comm;
  int *mine = m->said + c->rank * WORDS;
  if (c->failure) return lose(m, ok);
  mine[WELL] = ok;
  for (int i = 0; i < GC_EXTENTS; i++) mine[EXTENTS + i] = extents ? extents[i] : 0;
  c->collect(c, m->said, WORDS);
  if (c->failure) return lose(m, ok);
  if (!ok) return false; /* its own message stays */
  for (int r = 0; r < c->ranks; r++) {
    Err e = {0};
    if (m->said[r * WORDS + WELL]) continue;
    err_set(&e, EXIT_ENV, "the call failed on rank %d of %d", r, c->ranks);
    return say(m, &e);
  }
  return true;
}

bool embed_on_devices(const GcModel *m) { return m->comm && !m->comm->sum; }

bool embed_agree(GcModel *m, bool ok) { return m->comm ? meet(m, ok, NULL) : ok; }

/* Only of the batch do ranks have parts of their own. */
static bool same_extents(GcModel *m, const GcEntry *e, int batch) {
  const GcComm *c = m->comm;
  for (int r = 0; r < c->ranks; r++)
    for (int i = 0; i < e->nextents; i++) {
      Err err = {0};
      int there = m->said[r * WORDS + EXTENTS + i], here = m->said[EXTENTS + i];
      if (i == batch || there == here) continue;
      err_set(&err, EXIT_USAGE, "%s: %s is %d on rank %d, and %d on rank 0", e->name,
              e->extents[i].name, there, r, here);
      return say(m, &err);
    }
  return true;
}

bool embed_agree_run(GcModel *m, const GcEntry *e, bool ok) {
  const GcComm *c = m->comm;
  if (!c || !e->ranks) return c && e->gathers ? embed_agree(m, ok) : ok;
  if (!meet(m, ok, m->session.env.extents)) return false;
  int batch;
  uint64_t first = dataset_share(e, &batch) * (uint64_t)c->rank;
  for (int r = batch < 0 ? c->rank : (first = 0, 0); r < c->rank; r++)
    first += (uint64_t)m->said[r * WORDS + EXTENTS + batch];
  if (!same_extents(m, e, batch)) return false;
  m->session.env.first_row = (int32_t)first;
  return true;
}

/* ---- what a caller asks ---- */

bool embed_make_id(EmbedId *make, void *id) {
  Err e = {0};
  char why[sizeof e.msg] = "";
  if (!id)
    err_set(&e, EXIT_USAGE, "there is no room for an id: make_id writes 128 bytes");
  else if (make(id, why, sizeof why))
    return true;
  else
    err_set(&e, EXIT_ENV, "%s", why);
  return embed_failed_to_open(&e);
}

void embed_set_timeout(GcModel *m, double seconds) {
  if (!m) opening_timeout = seconds;
  if (m && m->comm) m->comm->timeout = seconds;
}

int embed_rank(const GcModel *m) { return m && m->comm ? m->comm->rank : 0; }
