/* --load and --save: the weights of a model, or a part of them, without what belongs to a training
   run. Several files are read together: what one lacks another one has. */
#include "runtime/program/command.h"
#include <inttypes.h>
#include <stdlib.h>

bool weights_names(Command *cmd, Err *e) {
  const Options *o = &cmd->options;
  if (o->text[OPT_SAVE] && (!weights_name(&cmd->saved, o->text[OPT_SAVE], e) ||
                            !weights_name_check(&cmd->saved, true, e)))
    return false;
  cmd->load = calloc((size_t)o->nload + 1, sizeof *cmd->load);
  if (!cmd->load) return err_set(e, EXIT_ENV, "no memory for the names of files");
  for (int i = 0; i < o->nload; i++) {
    if (!weights_name(&cmd->load[i], o->load[i], e) || !weights_name_check(&cmd->load[i], false, e))
      return false;
  }
  return (!o->text[OPT_CHECKPOINT] ||
          weights_name_whole(o->text[OPT_CHECKPOINT], "checkpoint", e)) &&
         (!o->text[OPT_RESUME] || weights_name_whole(o->text[OPT_RESUME], "resume", e));
}

void weights_names_free(Command *cmd) {
  for (int i = 0; cmd->load && i < cmd->options.nload; i++) weights_name_free(&cmd->load[i]);
  free(cmd->load);
  weights_name_free(&cmd->saved);
}

bool save_weights(Command *cmd, Err *e) {
  if (!cmd->options.given[OPT_SAVE]) return true;
  if (!session_download(&cmd->session, e)) return false;
  const Globals w = session_globals(&cmd->session);
  if (!weights_write(&w, &cmd->save, choose_saved, &cmd->saved.part, NULL, 0, e)) return false;
  note(cmd, "weights saved to %s", cmd->save.path);
  return true;
}

static bool read_files(Command *cmd, WeightsRequest *q, Unread *unread, Absent *absent, Err *e) {
  const int n = cmd->options.nload;
  const Globals w = session_globals(&cmd->session);
  for (int i = 0; i < n; i++) {
    const WeightsName *x = &cmd->load[i];
    q[i] = (WeightsRequest){.path = x->path,
                            .want = choose_saved,
                            .need = choose_params,
                            .view = &x->part,
                            .unread = x->part.scope ? NULL : &unread[i],
                            .absent = absent};
  }
  return session_download(&cmd->session, e) && weights_read(&w, q, n, e) &&
         session_upload(&cmd->session, e);
}

bool load_weights(Command *cmd, Err *e) {
  const int n = cmd->options.nload;
  WeightsRequest *q = calloc((size_t)n, sizeof *q);
  Unread *unread = calloc((size_t)n, sizeof *unread);
  Absent absent = {0};
  const char *of = n > 1 ? "--load" : cmd->load[0].path; /* what was not in a certain one */
  bool ok = (q && unread) || err_set(e, EXIT_ENV, "no memory for the names of weights");
  ok = ok && read_files(cmd, q, unread, &absent, e);
  for (int i = 0; ok && i < n; i++)
    if (unread[i].n)
      note(cmd, "%s: tensors that the program does not have, not read: %" PRIu64 ", such as %s",
           q[i].path, unread[i].n, unread[i].first);
  if (ok && absent.n)
    note(cmd, "%s: %s %s%s: initial values stay", of, n > 1 ? "no file has" : "has no",
         absent.first->t.name, absent.n > 1 ? " and others" : "");
  const Globals w = session_globals(&cmd->session);
  Err warning = {0};
  if (ok && !weights_finite(&w, &warning)) note(cmd, "%s: %s", of, warning.msg);
  free(q);
  free(unread);
  return ok;
}
