/* The table of devices. Contract: see devices.h; nothing else of the runtime names one. */
#include "runtime/program/devices.h"
#include "runtime/exec/features.h"
#include <stdlib.h>
#include <string.h>

#define DEVICE(id, ...) extern const DeviceOps id##_device;
#include "runtime/program/devices.def"
#undef DEVICE

static const DeviceKind kinds[] = {
#define DEVICE(id, choice, of_ranks) {#id, choice, of_ranks, &id##_device},
#include "runtime/program/devices.def"
#undef DEVICE
};
enum { KINDS = sizeof kinds / sizeof *kinds };

const DeviceKind *device_kind(const GcProgram *p) {
  for (int i = 0; i < KINDS; i++)
    if (strcmp(kinds[i].name, p->target) == 0) return &kinds[i];
  return NULL;
}

const GcProgram *program_level(const DeviceKind *kind, const GcProgram *before) {
  const GcProgram *p = before ? before->next : &gc_program;
  while (p && strcmp(p->target, kind->name) != 0) p = p->next;
  return p;
}

const char *program_level_name(const GcProgram *p) {
  const DeviceKind *kind = device_kind(p);
  return program_level(kind, program_level(kind, NULL)) ? p->level : NULL;
}

const GcProgram *program_for(const DeviceKind *kind, const char *level) {
  const GcProgram *found = NULL;
  Err ignored = {0};
  for (const GcProgram *p = NULL; (p = program_level(kind, p));)
    if (level ? strcmp(p->level, level) == 0 : !found || cpu_check(p->march, &ignored)) found = p;
  return found;
}

static void choose(DeviceChoice *c, const DeviceKind *kind, int ordinal, const char *level) {
  *c = (DeviceChoice){.kind = kind, .ordinal = ordinal, .level = level};
  if (level)
    snprintf(c->name, sizeof c->name, "%s:%s", kind->name, level);
  else if (kind->choice)
    snprintf(c->name, sizeof c->name, "%s:%d", kind->name, ordinal);
  else
    snprintf(c->name, sizeof c->name, "%s", kind->name);
}

bool device_preferred(int n, DeviceChoice *c) {
  for (int i = 0; i < KINDS; i++)
    if (program_level(&kinds[i], NULL) && n-- == 0) {
      choose(c, &kinds[i], 0, NULL);
      return true;
    }
  return false;
}

/* "; this program holds code for a alone": of one kind of two or more. */
static const char *only_kind(char *text, size_t size) {
  const DeviceKind *only = NULL;
  for (int i = 0; i < KINDS; i++) {
    if (!program_level(&kinds[i], NULL)) continue;
    if (only) return "";
    only = &kinds[i];
  }
  snprintf(text, size, "; this program holds code for %s alone", only ? only->name : "none");
  return text;
}

/* "devices are a, a:LEVEL, b and b:n, where …" */
static bool unknown(const char *name, Err *e) {
  const char *all[3 * KINDS], *choice = NULL;
  char numbered[KINDS][16], leveled[KINDS][16], text[160] = "";
  int n = 0;
  for (int i = KINDS - 1; i >= 0; i--) { /* those that are everywhere first */
    all[n++] = kinds[i].name;
    const GcProgram *first = program_level(&kinds[i], NULL);
    if (first && program_level_name(first)) {
      snprintf(leveled[i], sizeof leveled[i], "%s:LEVEL", kinds[i].name);
      all[n++] = leveled[i];
    }
    if (!kinds[i].choice) continue;
    snprintf(numbered[i], sizeof numbered[i], "%s:n", kinds[i].name);
    all[n++] = numbered[i];
    choice = kinds[i].choice;
  }
  for (int i = 0, at = 0; i < n; i++)
    at += snprintf(text + at, sizeof text - (size_t)at, "%s%s",
                   i == 0      ? ""
                   : i + 1 < n ? ", "
                               : " and ",
                   all[i]);
  err_set(e, EXIT_USAGE, "--device: there is no device %s", name);
  char only[80];
  return err_hint(e, "devices are %s%s%s%s", text, choice ? ", " : "", choice ? choice : "",
                  only_kind(only, sizeof only));
}

/* "cpu:LEVEL" */
static bool choose_level(DeviceChoice *c, const DeviceKind *kind, const char *level, Err *e) {
  char all[200] = "";
  size_t at = 0;
  for (const GcProgram *p = NULL; (p = program_level(kind, p));) {
    if (strcmp(p->level, level) == 0) {
      choose(c, kind, 0, p->level);
      return true;
    }
    at += strlen(strncat(all + at, at ? ", " : "", sizeof all - at - 1));
    at += strlen(strncat(all + at, p->level, sizeof all - at - 1));
  }
  err_set(e, EXIT_USAGE, "--device: the program has no level %s for %s", level, kind->name);
  return err_hint(e, "its levels are %s: gc -march=LIST compiles it for others", all);
}

bool device_parse(const char *name, DeviceChoice *c, Err *e) {
  for (int i = 0; i < KINDS; i++) {
    size_t n = strlen(kinds[i].name);
    if (strncmp(name, kinds[i].name, n) != 0) continue;
    const char *rest = name + n, *digits = *rest == ':' && kinds[i].choice ? rest + 1 : NULL;
    bool number =
        digits && *digits && strspn(digits, "0123456789") == strlen(digits) && strlen(digits) < 6;
    if (*rest == ':' && kinds[i].ops->on_host && program_level(&kinds[i], NULL))
      return choose_level(c, &kinds[i], rest + 1, e);
    if (*rest && !number) continue;
    choose(c, &kinds[i], number ? (int)strtol(digits, NULL, 10) : 0, NULL);
    return true;
  }
  return unknown(name, e);
}
