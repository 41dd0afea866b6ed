/* The tile registers of AMX. */
#ifndef GCRT_AMX_H
#define GCRT_AMX_H

typedef enum AmxState {
  AMX_ABSENT,  /* the processor lacks them, or the system does not save them */
  AMX_REFUSED, /* the system does not let this process use them */
  AMX_HERE
} AmxState;
/* Asks the system for them: for all threads of the process, also for those that run already. */
AmxState amx_state(void);
#endif
