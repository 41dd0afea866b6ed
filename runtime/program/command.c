/* A command from its arguments to its exit code: device, data, session, driver. Contract: all that
   can be refused is refused before the first step: files, sizes, rights, space; one message an
   error; exit codes as in rt.h, and 128 + the signal's number where one ended the run. */
#include "runtime/program/command.h"
#include "runtime/program/devices.h"
#include "runtime/program/tools.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool check_program(Err *e) {
  if (gc_program.abi != GCRT_ABI)
    return err_set(e, EXIT_BUG, "the program and its runtime are of different versions (%d and %d)",
                   gc_program.abi, GCRT_ABI);
  const uint16_t one = 1;
  if (*(const uint8_t *)&one != 1)
    return err_set(e, EXIT_ENV, "this machine is big-endian, which is not supported");
  return true;
}

/* Whether workers stay where they are. By default, if the scheduler could not move them to an idle
   core: a program that leaves some to others has to be moved out of their way. */
static bool choose_pin(const Options *o, int threads, bool *pin, Err *e) {
  int yes = cli_yes_or_no(o, OPT_PINTHREADS, e), here = cpus_at_once();
  if (yes < 0) return false;
  *pin = o->given[OPT_PINTHREADS] ? yes : cpus_filled(threads);
  if (!*pin || threads <= here) return true;
  err_set(e, EXIT_USAGE, "--pin-threads yes: %d threads have %d CPU%s", threads, here,
          here == 1 ? "" : "s");
  return err_hint(e, "--threads %d, or leave it to the system where they run", here);
}

/* More threads than cores are slower, not wrong. */
static bool choose_threads(const Options *o, int *threads, Err *e) {
  enum { MOST = 1024 }; /* on fewer cores: each has a stack, and all wait for the last one */
  int here = cores_available(), most = here > MOST ? here : MOST;
  *threads = here;
  if (!o->given[OPT_THREADS]) return true;
  if (o->count[OPT_THREADS] > (uint64_t)most) {
    err_set(e, EXIT_USAGE, "--threads %" PRIu64 " is too many: %d at most", o->count[OPT_THREADS],
            most);
    return err_hint(e, "this process may use %d core%s, and more threads than cores are no faster",
                    here, here == 1 ? "" : "s");
  }
  *threads = (int)o->count[OPT_THREADS];
  return true;
}

/* The file of --checkpoint, whose "FILE:N" is a checkpoint each N steps. Malloc'ed into *out. */
static bool checkpoint_path(Command *cmd, char **out, Err *e) {
  *out = NULL;
  if (!cmd->options.given[OPT_CHECKPOINT]) return true;
  char *path = strdup(cmd->options.text[OPT_CHECKPOINT]), *colon = path ? strrchr(path, ':') : NULL;
  if (!path) return err_set(e, EXIT_ENV, "no memory for a file name");
  if (colon && colon[1] && strspn(colon + 1, "0123456789") == strlen(colon + 1) &&
      strlen(colon + 1) < 19) {
    cmd->checkpoint_every = strtoull(colon + 1, NULL, 10);
    *colon = 0;
    if (!cmd->checkpoint_every) {
      free(path);
      err_set(e, EXIT_USAGE, "--checkpoint FILE:N needs a whole number from 1 on as N, not 0");
      return err_hint(e, "FILE alone is written after each epoch");
    }
  }
  *out = path;
  return true;
}

static bool prepare_weights(Command *cmd, Err *e) {
  char *checkpoint;
  const WeightsView *v = &cmd->saved.part;
  const OutKind kind = weights_kind(v);
  bool ok = checkpoint_path(cmd, &checkpoint, e) && files_check(cmd, checkpoint, e);
  if (ok && cmd->options.given[OPT_SAVE])
    ok = out_prepare(&cmd->save, cmd->saved.path, &kind, weights_bytes(choose_saved, v), e);
  if (ok && (cmd->options.given[OPT_RESUME] || checkpoint)) ok = checkpoint_prepare(cmd, e);
  if (ok && checkpoint && ranks_speaks(cmd))
    ok = out_prepare(&cmd->checkpoint, checkpoint, &out_checkpoint, weights_bytes(choose_all, NULL),
                     e);
  free(checkpoint);
  return ok;
}

static bool prepare_files(Command *cmd, Err *e) {
  const GcEntry *en = cmd->options.entry;
  const char *profile = cmd->options.text[OPT_PROFILE];
  if (!prepare_weights(cmd, e)) return false;
  const char *plot = cmd->options.text[OPT_PLOT];
  if (!log_prepare(cmd, e)) return false;
  if (plot && (!plot_is_svg(plot, e) || !out_prepare(&cmd->plot, plot, &out_plot, 4096, e)))
    return false;
  if (profile && !out_prepare(&cmd->profile, profile, &out_profile, 4096, e)) return false;
  cmd->outputs = calloc((size_t)en->noutputs + 1, sizeof *cmd->outputs);
  if (!cmd->outputs) return err_set(e, EXIT_ENV, "no memory for the outputs");
  for (int i = 0; i < en->noutputs; i++) {
    cmd->outputs[i].fd = -1;
    if (cmd->options.outputs[i].save && !output_prepare(cmd, i, e)) return false;
  }
  return true;
}

/* ---- where it runs ---- */

static bool no_code(const DeviceChoice *c, const char *wanted, Err *e) {
  char all[80] = "";
  size_t at = 0;
  for (const GcProgram *p = &gc_program; p && at < sizeof all; p = p->next)
    if (!p->next || strcmp(p->target, p->next->target) != 0) /* the last of its levels */
      at += (size_t)snprintf(all + at, sizeof all - at, "%s%s", at ? "," : "", p->target);
  err_set(e, EXIT_ENV, "--device %s: this program holds no code for %s", wanted, c->kind->name);
  return err_hint(e, "it was compiled for %s; compile it with gc --target=%s", all, c->kind->name);
}

static Device *open_device(const DeviceChoice *c, Err *e) {
  return c->kind->ops->open(program_for(c->kind, c->level), c->ordinal, DEVICE_OWN, e);
}

/* Where each rank has a device of its own, --device says at most of which kind. */
static bool choose_of_rank(const Command *cmd, DeviceChoice *c, Err *e) {
  const char *wanted = cmd->options.text[OPT_DEVICE];
  if (!ranks_on_devices(cmd)) return true;
  if (wanted && strchr(wanted, ':')) {
    err_set(e, EXIT_USAGE, "--device %s: each rank takes a device of its own", wanted);
    return err_hint(e, "%s", c->kind->of_ranks);
  }
  c->ordinal = cmd->comm->local_rank;
  return true;
}

/* What --device names is used or refused with the reason; without it, the first of the program's
   devices that can be used, with a line that says why it is not a better one. */
static Device *choose_device(Command *cmd, Err *e) {
  const char *wanted = cmd->options.text[OPT_DEVICE];
  DeviceChoice c, other;
  if (wanted) {
    if (!device_parse(wanted, &c, e)) return NULL;
    if (!program_level(c.kind, NULL)) {
      no_code(&c, wanted, e);
      return NULL;
    }
  }
  for (int n = 0; wanted || device_preferred(n, &c); n++) {
    Err why = {0};
    Device *d = choose_of_rank(cmd, &c, &why) ? open_device(&c, &why) : NULL;
    if (d) return d;
    bool last = !device_preferred(n + 1, &other);
    if (wanted || last) {
      *e = why;
      size_t at = strlen(e->hint);
      for (int k = 0; wanted && device_preferred(k, &other); k++)
        if (other.kind != c.kind && other.kind->ops->on_host)
          snprintf(e->hint + at, sizeof e->hint - at, "; --device %s runs it here without",
                   other.name);
      return NULL;
    }
    note(cmd, "this runs on the CPU: %s", why.msg);
  }
  err_set(e, EXIT_BUG, "the program holds code for no device that is known here");
  return NULL;
}

/* ---- the run ---- */

bool command_step(Command *cmd, const RunRequest *q, uint64_t batch) {
  Session *s = &cmd->session;
  inspect_begin(cmd, &cmd->data, batch);
  session_run(s, s->entries[0], q);
  if (!ranks_finite(cmd)) return false;
  ranks_signal(cmd);
  if (dataset_trouble(&cmd->data, batch, &cmd->err)) return false;
  if (!session_fault(s, cmd->entry, batch)) {
    inspect_end(cmd);
    return true;
  }
  cmd->err = s->err;
  return false;
}

/* An optimizer's state is of entries that train, and --save does not write it. */
unsigned command_skips(const Command *cmd) { return cmd->entry->training ? 0 : 1U << GC_OPTIMIZER; }

static int drive(Command *cmd) {
  Session *s = &cmd->session;
  s->env.seed = cmd->options.count[OPT_SEED];
  if (cmd->options.given[OPT_LOAD])
    load_weights(cmd, &cmd->err);
  else if (!session_initialize(s, s->env.seed, command_skips(cmd)))
    cmd->err = s->err;
  if (cmd->err.code) return cmd->err.code;
  int code = cmd->options.given[OPT_BENCH] ? bench_run(cmd)
             : cmd->entry->training        ? train_run(cmd)
                                           : infer_run(cmd);
  if (!cmd->err.code && cmd->options.text[OPT_PROFILE] &&
      !profile_write(s->trace, &cmd->profile, &cmd->err))
    return cmd->err.code;
  return code;
}

uint64_t command_bytes(const GcEntry *e) { /* also of one that validates */
  return 16 * (uint64_t)e->noutputs + 256 + infer_bytes(e) + history_bytes(e);
}

static void print_note(void *arg, const char *text) { note(arg, "%s", text); }

static bool does_without(const GcEntry *e, int hyper) { return e->unread && e->unread[hyper]; }

static bool setup(Command *cmd, int threads, bool pin) {
  Err *e = &cmd->err;
  Session *s = &cmd->session;
  Device *d = choose_device(cmd, e);
  if (!d) return false;
  s->device = d;
  signals_catch(cmd->comm != NULL);
  bus_error_catch(cmd->name);
  const GcEntry *en = cmd->entry = &d->program->entries[cmd->options.entry - gc_program.entries];
  DataRequest q = {.rank = cmd->comm ? cmd->comm->rank : 0,
                   .shuffle = en->training && en->ninputs && !cmd->options.given[OPT_NOSHUFFLE],
                   .always = cmd->options.given[OPT_SHUFFLE],
                   .whole = cmd->options.given[OPT_DROPLAST],
                   .spare = !d->ops->on_host || (threads < cpus_at_once() && !ranks_near(cmd))};
  if (!weights_names(cmd, e) || !labels_prepare(cmd, &q, e)) return false;
  if ((!cli_reads_no_data(&cmd->options) &&
       !dataset_open(&cmd->data, en, cmd->options.inputs, &q, e)) ||
      !validation_prepare(cmd, &q, e) || !prepare_files(cmd, e))
    return false;
  if (!limits_data(cmd, e)) return false;
  const GcEntry *validating = cmd->validation.entry;
  cmd->entries[0] = *en;
  if (validating) cmd->entries[1] = *validating;
  const SessionPlan plan = {.program = d->program,
                            .ops = d->ops,
                            .entries = cmd->entries,
                            .n = validating ? 2 : 1,
                            .threads = threads,
                            .tables =
                                command_bytes(en) + (validating ? command_bytes(validating) : 0),
                            .trace = cmd->options.given[OPT_PROFILE]};
  if (!session_open(s, &plan, d, e)) return false;
  s->data = &cmd->data;
  s->env.comm = cmd->comm;
  s->poison = cmd->options.given[OPT_POISON];
  const bool *given = cmd->options.given;
  const int parts = given[OPT_SHAREPARTS] ? cli_yes_or_no(&cmd->options, OPT_SHAREPARTS, e) : 0;
  if (parts < 0) return false;
  s->claims = parts;
  s->adapts = !given[OPT_THREADS] && !given[OPT_PROFILE] && !cmd->comm;
  s->note = print_note, s->note_arg = cmd;
  if (!inspect_prepare(cmd, e)) return false;
  cmd->sums = memory_take(&s->memory, 8 * (uint64_t)en->noutputs);
  cmd->now = memory_take(&s->memory, 8 * (uint64_t)en->noutputs);
  if (!history_take(cmd, e)) return false;
  if (validating)
    cmd->validation.means = memory_take(&s->memory, 8 * (uint64_t)validating->noutputs);
  if (!memory_sound(&s->memory, e) || !dataset_load(&cmd->data, e)) return false;
  if (validating && !dataset_load(&cmd->validation.data, e)) return false;
  if (!labels_take(cmd, e)) return false;
  for (int i = 0; i < gc_program.nhypers; i++) {
    session_set_hyper(s, i, cmd->options.hypers[i]);
    if (cmd->options.hyper_given[i] && does_without(en, i) &&
        (!validating || does_without(validating, i)))
      note(cmd, "--%s changes nothing: '%s' does not read it", gc_program.hypers[i].name, en->name);
  }
  return session_start(s, threads, pin, e);
}

void command_free(Command *cmd) {
  Err reported = {.code = EXIT_ENV}; /* what else fails says nothing new */
  session_close(&cmd->session, true, &reported);
  dataset_free(&cmd->data);
  dataset_free(&cmd->validation.data);
  out_free(&cmd->save);
  out_free(&cmd->checkpoint);
  out_free(&cmd->profile);
  out_free(&cmd->plot);
  for (int i = 0; cmd->outputs && i < cmd->options.entry->noutputs; i++) out_free(&cmd->outputs[i]);
  free(cmd->outputs);
  checkpoint_free(cmd);
  inspect_free(cmd);
  labels_release(cmd);
  weights_names_free(cmd);
  cli_free(&cmd->options);
}

int command_run(Command *cmd, int argc, char **argv) {
  Err *e = &cmd->err;
  const Options *o = &cmd->options;
  const Tool *tool = argc > 1 ? tool_find(argv[1]) : NULL;
  if (tool && check_program(e)) return tool->run(cmd->name, argc - 2, argv + 2, e);
  ranks_begin(cmd);
  if (!check_program(e) || !cli_parse(&cmd->options, argc, argv, e)) return e->code;
  if (o->help) {
    cli_help(o, cmd->name);
    return 0;
  }
  if (o->version) {
    info_version();
    return 0;
  }
  int threads;
  bool pin;
  if (!choose_threads(o, &threads, e) || !choose_pin(o, threads, &pin, e)) return e->code;
  if (o->info) return info_print(o, threads, e);
  if (!ranks_open(cmd, e) ||
      !ranks_agree(cmd, setup(cmd, ranks_threads(cmd, threads), pin && !ranks_near(cmd))) ||
      !ranks_join(cmd))
    return e->code;
  int code = drive(cmd);
  return session_close(&cmd->session, true, e) || code ? code : e->code;
}
