/* Linked into an executable before the runtime, so that it runs on this processor as on one with
   AMX, by its own instructions if it has them: those that the system does not let it use raise no
   SIGILL for the configuration alone. AMX_TEST=refused gives it a system that refuses, absent a
   processor that has none. */
#define amx_state amx_of_processor
#include "runtime/exec/amx.c" /* one object of these */
#undef amx_state
#include "tests/amx/emulator.c"

#include <stdlib.h>
#include <string.h>

AmxState amx_state(void);
AmxState amx_state(void) {
  const char *test = getenv("AMX_TEST");
  if (test && strcmp(test, "refused") == 0) return AMX_REFUSED;
  if (test && strcmp(test, "absent") == 0) return AMX_ABSENT;
  const AmxState own = amx_of_processor();
  if (own != AMX_ABSENT) return own;
  amx_emulate();
  return AMX_HERE;
}
