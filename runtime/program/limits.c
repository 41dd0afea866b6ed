/* How much of the data lies where: in memory up to --data-memory, on disk what is beyond it, or all
   files if ranks have no such option, and rows that are decoded or unpacked and have no room in
   memory in the files of --data-cache. Contract: called once the files are open and before anything
   of them is loaded; what a run reads once is not kept. */
#include "runtime/program/command.h"
#include <inttypes.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

/* --data-memory: 500M, 2G, or bytes; else half of the machine's, which its ranks share. */
static bool data_memory(const Command *cmd, uint64_t *bytes, Err *e) {
  static const char units[] = "KMG";
  const Options *o = &cmd->options;
  const char *text = o->text[OPT_DATAMEMORY];
  if (!o->given[OPT_DATAMEMORY]) {
    const uint64_t sharers = cmd->comm ? (uint64_t)cmd->comm->local : 1;
    *bytes = machine_memory(bytes, NULL) ? *bytes / 2 / sharers : UINT64_MAX;
    return true;
  }
  size_t digits = strspn(text, "0123456789");
  const char *unit = text[digits] ? strchr(units, text[digits]) : NULL;
  bool ok = digits > 0 && digits < 19 && (!text[digits] || (unit && !text[digits + 1]));
  *bytes = strtoull(text, NULL, 10);
  ok = ok && checked_mul(*bytes, unit ? UINT64_C(1) << 10 * (unit - units + 1) : 1, bytes);
  if (ok) return true;
  err_set(e, EXIT_USAGE, "--data-memory %s is no size", text);
  return err_hint(e, "write 500M or 2G; M is 2^20 bytes, G 2^30");
}

/* Whether the run comes to the rows of the dataset more than once. */
static bool reads_again(const Command *cmd, const Dataset *d) {
  const Options *o = &cmd->options;
  const uint64_t epoch = cmd->data.batches, every = o->validate_every ? o->validate_every : epoch;
  uint64_t steps;
  if (!cmd->entry->training || o->given[OPT_BENCH]) return false;
  if (!checked_mul(epoch, o->given[OPT_EPOCHS] ? o->count[OPT_EPOCHS] : 1, &steps)) return true;
  if (o->given[OPT_STEPS]) steps = o->count[OPT_STEPS];
  return steps > (d == &cmd->data ? epoch : every);
}

const char *limits_data_cache(const Options *o) {
  const char *tmp = getenv("TMPDIR");
  if (o->given[OPT_DATACACHE]) return o->text[OPT_DATACACHE];
  return tmp && *tmp ? tmp : "/var/tmp";
}

static bool is_memory(const char *folder) {
  struct statfs fs;
  return statfs(folder, &fs) == 0 && (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC);
}

/* Where rows without room in memory go. A folder that nobody named is taken if it can be. */
static TemporaryFolder data_cache(const Command *cmd) {
  const char *folder = limits_data_cache(&cmd->options);
  TemporaryFolder f = {.path = folder,
                       .named = cmd->options.given[OPT_DATACACHE],
                       .sharers = cmd->comm ? (uint64_t)cmd->comm->local : 1};
  const bool none = strcmp(folder, "none") == 0;
  if (!none && (f.named || !is_memory(folder))) return f;
  f.path = NULL;
  if (none)
    snprintf(f.why, sizeof f.why, "--data-cache none");
  else
    snprintf(f.why, sizeof f.why, "%.200s is in memory", folder);
  return f;
}

static bool limit_images(Command *cmd, Column *c, bool again, TemporaryFolder *folder, Err *e) {
  if (c->kept == c->rows || !again) return true;
  if (!images_file(c, folder, e)) return false;
  if (c->kept + c->filed < c->rows)
    note(cmd,
         "%s: %" PRIu64 " of %" PRIu64 " images are decoded anew in each epoch: %s; see "
         "--data-memory and --data-cache",
         c->text, c->rows - c->kept - c->filed, c->rows, folder->why);
  else
    note(cmd,
         "%s: %" PRIu64 " of %" PRIu64 " images are decoded once and stay in a file in %s, of "
         "%.1f MB: see --data-cache",
         c->text, c->filed, c->rows, folder->path, (double)(c->filed * c->row_elems) * 1e-6);
  return true;
}

static void limit_notes(Command *cmd, const Dataset *d, int i, bool own,
                        const TemporaryFolder *folder) {
  const Column *c = &d->columns[i];
  if (c->unpacked && c->leader != i) return; /* the leader's note tells of all */
  if (c->loads)
    note(cmd, "%s: stays in memory: %s; see --data-memory and --data-cache", c->text, folder->why);
  else if (c->unpacked)
    note(cmd, "%s: is unpacked once and stays in a file in %s, of %.1f MB: see --data-cache",
         c->text, folder->path, (double)c->unpacked->size * 1e-6);
  else if (c->on_disk && !own)
    note(cmd, "%s: %" PRIu64 " rows stay on disk and are read batch by batch: see --data-memory",
         c->text, c->rows);
}

/* Ranks read nothing of files but their own rows, unless the user says what they may hold. */
static bool limit_data(Command *cmd, Dataset *d, uint64_t *left, Err *e) {
  const bool own = d->ranks > 1 && !cmd->options.given[OPT_DATAMEMORY];
  TemporaryFolder folder = data_cache(cmd), of_images = folder;
  if (!dataset_limit(d, *left, own, &folder, e)) return false;
  uint64_t taken = d->bytes - d->reader_bytes;
  *left -= taken < *left ? taken : *left;
  char text[400];
  if (dataset_pairs_note(d, text, sizeof text)) note(cmd, "%s", text);
  if (dataset_cut_note(d, text, sizeof text)) note(cmd, "%s", text);
  for (int i = 0; i < d->n; i++) {
    Column *c = &d->columns[i];
    if (images_note(c, text, sizeof text)) note(cmd, "%s", text);
    if (!c->images)
      limit_notes(cmd, d, i, own, &folder);
    else if (c->on_disk && !limit_images(cmd, c, reads_again(cmd, d), &of_images, e))
      return false;
  }
  return true;
}

bool limits_data(Command *cmd, Err *e) {
  uint64_t left;
  return data_memory(cmd, &left, e) && limit_data(cmd, &cmd->data, &left, e) &&
         limit_data(cmd, &cmd->validation.data, &left, e);
}
