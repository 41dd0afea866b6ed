/* What a model's handle loads, saves and sets; see embed.h. */
#include "runtime/program/embed_impl.h"
#include <stdlib.h>

/* The name of a file of weights, as in --load and --save. */
static bool take_name(WeightsName *out, const char *text, bool saves, Err *e) {
  if (!text) return err_set(e, EXIT_USAGE, "the name of the file is NULL");
  return weights_name(out, text, e) && weights_name_check(out, saves, e);
}

/* Of several ranks each reads files of its own, when all have looked at theirs. */
static bool look(GcModel *m, WeightsName *name, const char *const *text, int n, Err *e) {
  for (int i = 0; i < n; i++)
    if (!take_name(&name[i], text[i], false, e)) return false;
  return !m->comm || load_check(&m->session, name, n, e);
}

static bool load_named(GcModel *m, const WeightsName *name, int n, Err *e) {
  if (!load_files(&m->session, name, n, 0, NULL, e)) return false;
  const char *image;
  if (weights_name_image(name, n, &image, e) && image)
    embed_forget_calls(m); /* all states are fresh */
  for (int i = 0; i < n; i++)
    if (!name[i].part.scope && !embed_take_labels(m, name[i].path, e)) return false;
  return true;
}

/* *e has no code where the message is the handle's. */
static bool load_all(GcModel *m, const char *const *names, int n, Err *e) {
  if (!embed_begin(m)) return false;
  WeightsName *name = calloc((size_t)n, sizeof *name);
  bool ok = name || err_set(e, EXIT_ENV, "no memory for the names of weights");
  ok = embed_agree(m, ok && look(m, name, names, n, e));
  ok = ok && embed_agree(m, load_named(m, name, n, e));
  for (int i = 0; name && i < n; i++) weights_name_free(&name[i]);
  free(name);
  return embed_end(m, ok);
}

bool embed_load_all(GcModel *m, const char *const *names, int n) {
  Err e = {0};
  return load_all(m, names, n, &e) || (e.code && embed_failed(m->message, &e, false));
}

bool embed_load_noting(GcModel *m, const char *const *names, int n, Err *e) {
  if (load_all(m, names, n, e)) return true;
  return e->code ? false : err_set(e, EXIT_ENV, "%s", m->message);
}

bool embed_load(GcModel *m, const char *path) { return embed_load_all(m, &path, 1); }

static bool save(GcModel *m, const char *path, Err *e) {
  OutFile out = {.fd = -1};
  WeightsName name = {0};
  const Globals w = session_globals(&m->session);
  bool ok = take_name(&name, path, true, e);
  const OutKind kind = weights_kind(&name.part);
  ok = ok && out_prepare(&out, name.path, &kind, weights_bytes(choose_saved, &name.part), e) &&
       weights_write(&w, &out, choose_saved, &name.part, NULL, 0, e);
  out_free(&out);
  weights_name_free(&name);
  return ok;
}

/* Rank 0 writes, and calls for what others have slices of. */
bool embed_save(GcModel *m, const char *path) {
  Err e = {0};
  if (!embed_begin(m)) return false;
  bool ok = embed_agree(m, embed_has_weights(m) && (session_download(&m->session, &e) ||
                                                    embed_failed(m->message, &e, false)));
  if (!ok) return embed_end(m, false);
  const Globals w = session_globals(&m->session);
  if (embed_rank(m)) {
    slices_serve(&w);
  } else {
    ok = save(m, path, &e) || embed_failed(m->message, &e, false);
    slices_done(&w);
  }
  return embed_end(m, embed_agree(m, ok));
}

void embed_set_hyper(GcModel *m, int hyper, double value) {
  if (!m) return;
  session_set_hyper(&m->session, hyper, value);
  m->new_hypers = true;
}

double embed_hyper(const GcModel *m, int hyper) {
  return m ? session_hyper(&m->session, hyper) : 0;
}

int embed_threads(const GcModel *m) { return m ? pool_size(m->session.pool) : 0; }

const char *embed_device(const GcModel *m) { return m ? m->device : ""; }
