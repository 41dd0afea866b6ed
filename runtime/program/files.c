/* The files that a command line names, and which of them would destroy one another.
   Contract: files_check is called once inputs are open and before anything is opened for writing.
   Two names are one file if they lead to the same inode, or, of files that do not exist yet, to the
   same path behind symbolic links. Devices and pipes may be shared. */
#include "runtime/program/command.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct FileUse {
  const char *option; /* without the dashes; NULL: the program itself */
  const char *path;   /* as the user wrote it */
  char *real;         /* behind symbolic links, or NULL */
  bool there, writes;
  struct stat st;
} FileUse;

typedef struct Files {
  FileUse *at;
  int n;
} Files;

static void add(Files *f, const char *option, const char *path, bool writes) {
  FileUse *u = &f->at[f->n];
  *u = (FileUse){.option = option, .path = path, .writes = writes};
  u->there = stat(path, &u->st) == 0;
  if (u->there && !S_ISREG(u->st.st_mode)) return;
  u->real = path_resolve(path);
  f->n++;
}

static bool is_same(const FileUse *a, const FileUse *b) {
  if (a->there && b->there) return a->st.st_dev == b->st.st_dev && a->st.st_ino == b->st.st_ino;
  return !a->there && !b->there && a->real && b->real && strcmp(a->real, b->real) == 0;
}

/* Weights that were read are written anew, and so is a checkpoint, each in one step and long after
   it was read. */
static bool is_update(const FileUse *a, const FileUse *b) {
  static const char *const pair[][2] = {{"load", "save"}, {"resume", "checkpoint"}};
  for (size_t i = 0; a->option && b->option && i < sizeof pair / sizeof *pair; i++)
    if (strcmp(a->option, pair[i][0]) == 0 && strcmp(b->option, pair[i][1]) == 0) return true;
  return false;
}

static bool refuse(const FileUse *a, const FileUse *b, Err *e) {
  const FileUse *w = b->writes ? b : a, *other = b->writes ? a : b;
  if (!other->option)
    err_set(e, EXIT_USAGE, "%s: --%s would overwrite this program itself", w->path, w->option);
  else if (other->writes)
    err_set(e, EXIT_USAGE, "%s: --%s and --%s would both write this file", w->path, other->option,
            w->option);
  else
    err_set(e, EXIT_USAGE, "%s: --%s would overwrite what --%s reads", w->path, w->option,
            other->option);
  return err_hint(e, "what it writes needs a file of its own");
}

static size_t count_data(const Dataset *d) {
  size_t n = 0;
  for (int i = 0; i < d->n; i++)
    for (int k = 0; dataset_path(d, i, k); k++) n++;
  return n;
}

static void add_data(Files *f, const Dataset *d, const GcEntry *e) {
  const char *path;
  for (int i = 0; i < d->n; i++)
    for (int k = 0; (path = dataset_path(d, i, k)); k++) add(f, e->inputs[i].name, path, false);
}

bool files_check(const Command *cmd, const char *checkpoint, Err *e) {
  const GcEntry *en = cmd->options.entry;
  const int single = 9; /* the options below, and the program */
  const Validation *validation = &cmd->validation;
  size_t capacity = (size_t)single + count_data(&cmd->data) + 2 * (size_t)en->noutputs +
                    (size_t)cmd->options.nload +
                    (validation->entry ? count_data(&validation->data) : 0);
  Files f = {.at = calloc(capacity, sizeof *f.at)};
  if (!f.at) return err_set(e, EXIT_ENV, "no memory for the names of files");
  const char *const *text = cmd->options.text;
  add(&f, NULL, "/proc/self/exe", false);
  add_data(&f, &cmd->data, en);
  if (validation->entry) add_data(&f, &validation->data, validation->entry);
  for (int i = 0; i < cmd->options.nload; i++) add(&f, "load", cmd->load[i].path, false);
  if (text[OPT_RESUME]) add(&f, "resume", text[OPT_RESUME], false);
  for (int i = 0; i < en->noutputs; i++)
    if (cmd->options.outputs[i].expect) add(&f, "expect", cmd->options.outputs[i].expect, false);
  for (int i = 0; i < en->noutputs; i++)
    if (cmd->options.outputs[i].save)
      add(&f, en->outputs[i].name, cmd->options.outputs[i].save, true);
  if (cmd->image) add(&f, "load image", cmd->image, true);
  if (text[OPT_SAVE]) add(&f, "save", cmd->saved.path, true);
  if (checkpoint) add(&f, "checkpoint", checkpoint, true);
  if (text[OPT_LOG]) add(&f, "log", text[OPT_LOG], true);
  if (text[OPT_PLOT]) add(&f, "plot", text[OPT_PLOT], true);
  if (text[OPT_PROFILE]) add(&f, "profile", text[OPT_PROFILE], true);
  bool ok = true;
  for (int i = 0; ok && i < f.n; i++)
    for (int j = 0; ok && j < i; j++) {
      const FileUse *a = &f.at[j], *b = &f.at[i];
      if ((a->writes || b->writes) && is_same(a, b) && !is_update(a, b)) ok = refuse(a, b, e);
    }
  for (int i = 0; i < f.n; i++) free(f.at[i].real);
  free(f.at);
  return ok;
}
