/* Runs a planned entry by the reference interpreter in the bytes that its plan names: a step reads
   its operands from memory where the plan has them and writes its results there. What the plan gets
   wrong shows as a wrong number, without a compiler of C.
   Contract: like interp_run, for an entry whose plan has offsets. What no step has written, and
   what is dead, is poison. Every step of an op runs in two parts: it reads, and writes a random
   part of its results; it reads again, and writes the rest. With streams, steps begin in a random
   order that streams and edges allow, and what others do falls between the two parts. The same for
   the same seed. False and `why` also where an access leaves its region, an input or a step's
   scratch is overwritten, or edges let no step begin. */
#ifndef GC_TESTS_NUM_PLANNED_H
#define GC_TESTS_NUM_PLANNED_H
#include "ir/eval/interp.h"
#include "passes/plan.h"

bool planned_run(Interp *it, const Entry *e, const Target *t, uint64_t seed, const Tensor *inputs,
                 Tensor *outputs);
#endif
