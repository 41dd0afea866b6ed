/* Where a run takes place: the target of the program, and the device for it.
   Contract: what --device names is used or refused with the reason; without it, a GPU where the
   program has code for one and it can be used, else the CPU, with a line that says why. */
#include "runtime/exec/cpu.h"
#include "runtime/exec/run.h"
#include <stdlib.h>
#include <string.h>

const GcProgram *program_for(const char *target) {
  const GcProgram *p = &gc_program;
  while (p && strcmp(p->target, target) != 0) p = p->next;
  return cpu_fastest(p);
}

static void targets_text(char *out, size_t room) {
  size_t at = 0;
  for (const GcProgram *p = &gc_program; p && at < room; p = p->next)
    at += (size_t)snprintf(out + at, room - at, "%s%s", p == &gc_program ? "" : ",", p->target);
}

static bool no_code(const char *device, const char *target, Err *e) {
  char all[80];
  targets_text(all, sizeof all);
  err_set(e, EXIT_ENV, "--device %s: this program holds no code for %s", device, target);
  return err_hint(e, "it was compiled for %s; compile it with gc --target=%s", all, target);
}

/* "cpu", "cuda" or "cuda:n" */
bool device_parse(const char *d, const char **target, int *ordinal, Err *e) {
  *ordinal = 0;
  *target = strcmp(d, "cpu") == 0 ? "cpu" : "cuda";
  const char *n = strncmp(d, "cuda:", 5) == 0 ? d + 5 : NULL;
  if (n && *n && strspn(n, "0123456789") == strlen(n) && strlen(n) < 6) {
    *ordinal = atoi(n);
    return true;
  }
  if (strcmp(d, "cpu") == 0 || strcmp(d, "cuda") == 0) return true;
  err_set(e, EXIT_USAGE, "--device: there is no device %s", d);
  return err_hint(e, "devices are cpu, cuda and cuda:n, where n counts the GPUs from 0");
}

static bool use(Run *r, const GcProgram *p, Err *e) {
  if (!r->cuda && !cpu_check(p->march, e)) return false;
  r->o.entry = &p->entries[r->o.entry - gc_program.entries];
  r->p = p;
  return true;
}

bool device_choose(Run *r, Err *e) {
  const GcProgram *gpu = program_for("cuda"), *cpu = program_for("cpu");
  const char *d = r->o.text[OPT_DEVICE], *target = gpu ? "cuda" : "cpu";
  int ordinal = 0;
  if (d && !device_parse(d, &target, &ordinal, e)) return false;
  const GcProgram *p = program_for(target);
  if (!p) return no_code(d ? d : target, target, e);
  if (p == cpu) return use(r, cpu, e);
  Err why = {0};
  r->cuda = cuda_open(p, ordinal, CUDA_RUN, &why);
  if (r->cuda) return use(r, p, e);
  if (d || !cpu) {
    *e = why;
    size_t n = strlen(e->hint);
    if (cpu) snprintf(e->hint + n, sizeof e->hint - n, "; --device cpu runs it here without");
    return false;
  }
  note(r, "this runs on the CPU: %s", why.msg);
  return use(r, cpu, e);
}
