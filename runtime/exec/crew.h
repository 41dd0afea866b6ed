/* The threads of a library's model. */
#ifndef GCRT_CREW_H
#define GCRT_CREW_H
#include "runtime/exec/run.h"

typedef struct Crew Crew;
/* Starts threads 1 to threads - 1 of the team and settles its size; NULL: no memory. */
Crew *crew_start(Team *team, int threads);
/* ours: false in the child of a fork, where the threads do not exist. */
void crew_end(Crew *crew, bool ours);
#endif
