/* Linked into an executable before the runtime, so that it runs on this processor as on one with
   AMX: AMX_TEST=refused gives it a system that refuses, absent a processor that has none. */
#include "runtime/exec/amx.h"
#include "tests/amx/emulator.c" /* one object */

#include <stdlib.h>
#include <string.h>

AmxState amx_state(void) {
  const char *test = getenv("AMX_TEST");
  if (test && strcmp(test, "refused") == 0) return AMX_REFUSED;
  if (test && strcmp(test, "absent") == 0) return AMX_ABSENT;
  amx_emulate();
  return AMX_HERE;
}
