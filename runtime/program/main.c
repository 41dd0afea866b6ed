/* main() of every generated program: command line, device, data, the one allocation, then the
   thread pool. Contract: all that can be refused is refused before the first step: files, sizes,
   rights, space; one message an error; exit codes as in rt.h, and 128 + the signal's number where
   one ended the run. */
#include "runtime/exec/cpu.h"
#include "runtime/exec/run.h"
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

/* What was asked for is done, also with more threads than cores: that is slower, not wrong. */
static bool choose_threads(const Options *o, int *threads, Err *e) {
  enum { MOST = 1024 }; /* on fewer cores: each has a stack, and all wait for the last one */
  int here = cpus_available(), most = here > MOST ? here : MOST;
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
static bool checkpoint_path(Run *r, char **out, Err *e) {
  *out = NULL;
  if (!r->o.given[OPT_CHECKPOINT]) return true;
  char *path = strdup(r->o.text[OPT_CHECKPOINT]), *colon = path ? strrchr(path, ':') : NULL;
  if (!path) return err_set(e, EXIT_ENV, "no memory for a file name");
  if (colon && colon[1] && strspn(colon + 1, "0123456789") == strlen(colon + 1) &&
      strlen(colon + 1) < 19) {
    r->checkpoint_every = strtoull(colon + 1, NULL, 10);
    *colon = 0;
    if (!r->checkpoint_every) {
      free(path);
      err_set(e, EXIT_USAGE, "--checkpoint FILE:N needs a whole number from 1 on as N, not 0");
      return err_hint(e, "FILE alone is written after each epoch");
    }
  }
  *out = path;
  return true;
}

/* The file of --load, without its scope. Malloc'ed into *out. */
static bool load_path(const Run *r, char **out, Err *e) {
  *out = NULL;
  if (!r->o.given[OPT_LOAD]) return true;
  *out = strdup(r->o.text[OPT_LOAD]);
  if (!*out) return err_set(e, EXIT_ENV, "no memory for a file name");
  char *comma = strstr(*out, ",scope=");
  if (comma) *comma = 0;
  return true;
}

static bool prepare_weights(Run *r, Err *e) {
  char *checkpoint, *load = NULL;
  bool ok = checkpoint_path(r, &checkpoint, e) && load_path(r, &load, e) &&
            files_check(r, checkpoint, load, e);
  if (ok && r->o.given[OPT_SAVE])
    ok = out_prepare(&r->save, r->o.text[OPT_SAVE], weights_bytes(choose_saved), e);
  if (ok && (r->o.given[OPT_RESUME] || checkpoint)) ok = checkpoint_prepare(r, e);
  if (ok && checkpoint) ok = out_prepare(&r->checkpoint, checkpoint, weights_bytes(choose_all), e);
  free(checkpoint);
  free(load);
  return ok;
}

static bool prepare_files(Run *r, Err *e) {
  const GcEntry *en = r->o.entry;
  if (!prepare_weights(r, e)) return false;
  r->outputs = calloc((size_t)en->noutputs + 1, sizeof *r->outputs);
  if (!r->outputs) return err_set(e, EXIT_ENV, "no memory for the outputs");
  for (int i = 0; i < en->noutputs; i++) {
    r->outputs[i].fd = -1;
    if (r->o.outputs[i].save && !out_prepare(&r->outputs[i], r->o.outputs[i].save, 4096, e))
      return false;
  }
  return true;
}

static int drive(Run *r) {
  const GcEntry *en = r->o.entry;
  if (!r->cuda) exec_threads(&r->entry, r->pool);
  for (int i = 0; i < r->p->nhypers; i++)
    ((float *)(void *)r->mem.region[GC_HYPERS])[i] = r->o.hypers[i];
  if (r->cuda && !cuda_begin(r, &r->err)) return r->err.code;
  if (r->p->init) {
    if (!r->cuda) exec_threads(&r->init, r->pool);
    exec_run(r, &r->init, NO_BATCH);
    if (exec_fault(r, r->p->init, NO_BATCH)) return r->err.code;
  }
  if (r->o.given[OPT_LOAD] && !weights_load(r, &r->err)) return r->err.code;
  int code = r->o.given[OPT_BENCH] ? bench_run(r) : en->training ? train_run(r) : infer_run(r);
  if (!r->err.code && r->profile && !profile_write(r->profile, r->o.text[OPT_PROFILE], &r->err))
    return r->err.code;
  return code;
}

static bool setup(Run *r, int threads) {
  const GcEntry *en = r->o.entry;
  Err *e = &r->err;
  bool shuffle = en->training && en->ninputs && !r->o.given[OPT_NOSHUFFLE];
  if (!dataset_open(&r->data, en, r->o.inputs, shuffle, e) || !prepare_files(r, e)) return false;
  int lanes = r->cuda ? 1 : threads; /* of the profile */
  if (!memory_make(&r->mem, r->p, en, lanes, r->o.given[OPT_PROFILE], e)) return false;
  r->pool = memory_take(&r->mem, pool_bytes());
  r->stage = memory_take(&r->mem, STAGE_BYTES);
  r->sums = memory_take(&r->mem, 8 * (uint64_t)en->noutputs);
  if (!memory_sound(&r->mem, e)) return false;
  if (r->cuda && !cuda_prepare(r, &r->entry, en, 1, e)) return false;
  if (!r->cuda) {
    if (!exec_resolve(&r->entry, en, &r->mem, threads, e)) return false;
    if (r->p->init && !exec_resolve(&r->init, r->p->init, &r->mem, threads, e)) return false;
    for (int i = 0; i < r->p->nglobals; i++)
      if (is_step_counter(&r->p->globals[i])) r->step = run_at(r, &r->p->globals[i].t);
  }
  if (r->o.given[OPT_PROFILE]) r->profile = profile_make(&r->mem, en, lanes, e);
  if (e->code) return false;
  r->env.seed = r->o.count[OPT_SEED];
  return dataset_load(&r->data, e);
}

static void cleanup(Run *r) {
  Err told = {.code = EXIT_ENV}; /* what else fails says nothing new */
  cuda_close(r->cuda, &told);
  dataset_free(&r->data);
  out_free(&r->save);
  out_free(&r->checkpoint);
  for (int i = 0; r->outputs && i < r->o.entry->noutputs; i++) out_free(&r->outputs[i]);
  free(r->outputs);
  checkpoint_free(r);
  cli_free(&r->o);
}

static int run(Run *r, int argc, char **argv) {
  Err *e = &r->err;
  if (!check_program(e) || !cli_parse(&r->o, argc, argv, e)) return e->code;
  if (r->o.help) {
    cli_help(&r->o, r->program);
    return 0;
  }
  if (r->o.version) {
    info_version();
    return 0;
  }
  int threads;
  if (!choose_threads(&r->o, &threads, e)) return e->code;
  if (r->o.info) return info_print(&r->o, threads, e);
  if (!device_choose(r, e)) return e->code;
  signals_catch();
  if (!setup(r, threads)) return e->code;
  if (!pool_start(r->pool, threads, e)) return e->code;
  float_mode_set();
  int code = drive(r);
  pool_stop(r->pool, true);
  Cuda *cuda = r->cuda;
  r->cuda = NULL;
  return cuda_close(cuda, e) || code ? code : e->code;
}

int main(int argc, char **argv) {
  Run r = {.program = argc > 0 ? argv[0] : "program", .save = {.fd = -1}, .checkpoint = {.fd = -1}};
  const char *slash = strrchr(r.program, '/');
  if (slash) r.program = slash + 1;
  int code = run(&r, argc, argv);
  if (r.err.code) err_print(r.program, &r.err);
  cleanup(&r);
  if (fflush(stdout) != 0 || ferror(stdout)) {
    Err e = {0};
    err_set(&e, EXIT_ENV, "the output could not be written to its end");
    err_print(r.program, &e);
    if (code == 0) code = EXIT_ENV;
  }
  return code;
}
