/* The tile instructions of AMX on a processor without them, so that what compilers make of kernels
   runs there. */
#ifndef TESTS_AMX_EMULATOR_H
#define TESTS_AMX_EMULATOR_H
/* From now on each such instruction that the processor refuses is done by a handler of SIGILL, with
   registers of each thread. What the manual forbids ends the process with a message. */
void amx_emulate(void);
#endif
