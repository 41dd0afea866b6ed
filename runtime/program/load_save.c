/* --load and --save: the weights of a model, or a part of them, without what belongs to a training
   run. Several files are read together: what one lacks another one has. */
#include "runtime/program/command.h"
#include "runtime/program/load.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

/* ---- of any session ---- */

static void say(const Session *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void say(const Session *s, const char *fmt, ...) {
  char text[1024];
  va_list ap;
  if (!s->note) return;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  s->note(s->note_arg, text);
}

/* Of weights that were mapped alone, it is the run that wrote the image that has looked at all. */
static void say_rest(const Session *s, const WeightsRequest *q, int n, const Absent *absent,
                     bool mapped) {
  const char *of = n > 1 ? "--load" : q[0].path; /* what was not in a certain one */
  const Globals w = session_globals(s);
  Err warning = {0};
  for (int i = 0; i < n; i++)
    if (q[i].unread && q[i].unread->n)
      say(s, "%s: tensors that the program does not have, not read: %" PRIu64 ", such as %s",
          q[i].path, q[i].unread->n, q[i].unread->first);
  if (absent->n)
    say(s, "%s: %s %s%s: initial values stay", of, n > 1 ? "no file has" : "has no",
        absent->first->t.name, absent->n > 1 ? " and others" : "");
  if (!mapped && !weights_finite(&w, &warning)) say(s, "%s: %s", of, warning.msg);
}

static bool load_image(Session *s, const WeightsRequest *q, int n, const char *image, bool *mapped,
                       Err *e) {
  const ImageOf of = {.path = image,
                      .program = s->program,
                      .request = q,
                      .n = n,
                      .seed = s->env.seed,
                      .hypers = s->memory.region[GC_HYPERS],
                      .stage = s->stage};
  const char *why;
  signals_mapped(image);
  bool written;
  if (!session_load_image(s, &of, &written, &why, e)) return false;
  *mapped = !written;
  if (why) say(s, "%s: %s, and has been written anew", image, why);
  return true;
}

typedef struct Requests {
  WeightsRequest *q;
  Unread *unread;
  Absent absent;
} Requests;

static bool requests_make(Requests *r, const WeightsName *name, int n, const bool *unused, Err *e) {
  *r = (Requests){.q = calloc((size_t)n, sizeof *r->q),
                  .unread = calloc((size_t)n, sizeof *r->unread)};
  for (int i = 0; r->q && r->unread && i < n; i++)
    r->q[i] = (WeightsRequest){.path = name[i].path,
                               .want = choose_saved,
                               .need = choose_params,
                               .view = &name[i].part,
                               .unread = name[i].part.scope ? NULL : &r->unread[i],
                               .absent = &r->absent,
                               .unused = unused};
  return (r->q && r->unread) || err_set(e, EXIT_ENV, "no memory for the names of weights");
}

static void requests_free(Requests *r) {
  free(r->q);
  free(r->unread);
}

bool load_check(const Session *s, const WeightsName *name, int n, Err *e) {
  Requests r;
  const Globals w = session_globals(s);
  bool ok = requests_make(&r, name, n, NULL, e) && weights_check(&w, r.q, n, e);
  requests_free(&r);
  return ok;
}

bool load_files(Session *s, const WeightsName *name, int n, unsigned skip, const bool *unused,
                Err *e) {
  Requests r;
  const char *image = NULL;
  bool mapped = false;
  bool ok = requests_make(&r, name, n, unused, e) && weights_name_image(name, n, &image, e) &&
            (image ? load_image(s, r.q, n, image, &mapped, e) : session_load(s, r.q, n, skip, e));
  if (ok && s->note) say_rest(s, r.q, n, &r.absent, mapped);
  requests_free(&r);
  return ok;
}

/* ---- of a command ---- */

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
  if (!weights_name_image(cmd->load, o->nload, &cmd->image, e)) return false;
  return (!o->text[OPT_CHECKPOINT] ||
          weights_name_whole(o->text[OPT_CHECKPOINT], "checkpoint", e)) &&
         (!o->text[OPT_RESUME] || weights_name_whole(o->text[OPT_RESUME], "resume", e));
}

void weights_names_free(Command *cmd) {
  for (int i = 0; cmd->load && i < cmd->options.nload; i++) weights_name_free(&cmd->load[i]);
  free(cmd->load);
  weights_name_free(&cmd->saved);
}

bool write_weights(Command *cmd, Err *e) {
  const Globals w = session_globals(&cmd->session);
  bool ok = session_download(&cmd->session, e);
  if (!ranks_speaks(cmd)) {
    if (ok) slices_serve(&w);
    return ok;
  }
  ok = ok && weights_write(&w, &cmd->save, choose_saved, &cmd->saved.part, NULL, 0, e);
  slices_done(&w);
  return ok;
}

bool save_weights(Command *cmd, Err *e) {
  if (!cmd->options.text[OPT_SAVE]) return true;
  if (!write_weights(cmd, e)) return false;
  if (ranks_speaks(cmd)) note(cmd, "weights saved to %s", cmd->save.path);
  return true;
}

bool load_weights(Command *cmd, Err *e) {
  bool *unused = NULL;
  if (!unused_globals(cmd, &unused, e)) return false;
  bool ok = load_files(&cmd->session, cmd->load, cmd->options.nload, command_skips(cmd), unused, e);
  free(unused);
  return ok;
}
