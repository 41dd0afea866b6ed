/* --load and --save: the weights of a model, without what belongs to a training run. */
#include "runtime/program/command.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool save_weights(Command *cmd, Err *e) {
  if (!cmd->options.given[OPT_SAVE]) return true;
  if (!session_download(&cmd->session, e)) return false;
  const Globals w = session_globals(&cmd->session);
  if (!weights_write(&w, &cmd->save, choose_saved, NULL, 0, e)) return false;
  note(cmd, "weights saved to %s", cmd->save.path);
  return true;
}

/* ---- --load FILE[,scope=PATH] ---- */
static bool in_scope(const GcGlobal *g, const void *arg) {
  const char *scope = arg;
  if (!choose_saved(g, NULL)) return false;
  if (!scope) return true;
  size_t n = strlen(scope);
  return strncmp(g->t.name, scope, n) == 0 &&
         (g->t.name[n] == 0 || g->t.name[n] == '.' || g->t.name[n] == '[');
}

static bool needed(const GcGlobal *g, const void *arg) {
  return g->kind == GC_PARAM && in_scope(g, arg);
}

bool load_weights(Command *cmd, Err *e) {
  const char *text = cmd->options.text[OPT_LOAD];
  char *path = strdup(text), *comma = path ? strstr(path, ",scope=") : NULL;
  const char *scope = NULL;
  if (!path) return err_set(e, EXIT_ENV, "no memory for a file name");
  if (comma) *comma = 0, scope = comma + 7;
  bool any = scope == NULL;
  for (int i = 0; i < gc_program.nglobals; i++)
    any = any || in_scope(&gc_program.globals[i], scope);
  if (!any) {
    err_set(e, EXIT_USAGE, "--load: the program has no parameters below %s", scope);
    err_hint(e, "info lists the parameters");
  }
  const Globals w = session_globals(&cmd->session);
  Unread unread = {0};
  Absent absent = {0};
  const WeightsRequest q = {.want = in_scope,
                            .need = needed,
                            .arg = scope,
                            .partial = scope != NULL,
                            .unread = scope ? NULL : &unread,
                            .absent = &absent};
  bool ok = any && session_download(&cmd->session, e) && weights_read(&w, path, &q, e) &&
            session_upload(&cmd->session, e);
  if (ok && unread.n)
    note(cmd, "%s: tensors that the program does not have, not read: %" PRIu64 ", such as %s", path,
         unread.n, unread.first);
  if (ok && absent.n)
    note(cmd, "%s: has no %s%s: initial values stay", path, absent.first->t.name,
         absent.n > 1 ? " and others" : "");
  Err warning = {0};
  if (ok && !weights_finite(&w, &warning)) note(cmd, "%s: %s", path, warning.msg);
  free(path);
  return ok;
}
