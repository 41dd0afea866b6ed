/* What the functions of a model's C library call: the runtime without main().
   Contract: nothing here prints, ends the process or touches signals; embed_open makes all memory
   and threads, embed_run allocates nothing; handles know nothing of each other, and calls on one
   handle do not overlap. */
#ifndef GCRT_EMBED_H
#define GCRT_EMBED_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct GcModel GcModel;
struct GcComm;
/* How a model reaches the other ranks of a communicator, of which *of is one, from the device of
   that number, if they come within so many seconds; NULL: `why` says it. */
typedef struct GcComm *EmbedRanks(const void *of, int device, double timeout, char *why,
                                  size_t size);

/* device: a name, as --device takes it; NULL: a GPU where the model holds code for one and it can
   be used, else the CPU. threads = 0: one for each core that this process may use, and never more
   than those; a negative number is an error. NULL: see embed_error(NULL). */
GcModel *embed_open(const char *device, int threads, uint64_t seed);
/* One of the ranks of a data-parallel model. All ranks open it; what then has a rule of its own is
   called by all of them, in one order, and fails on all or on none: close, load, save, reset, and
   entries that share a batch. The seed is that of rank 0, which writes files, too. threads = 0: the
   cores, shared by the ranks of a machine. */
GcModel *embed_open_rank(EmbedRanks *ranks, const void *of, const char *device, int threads,
                         uint64_t seed);
/* A new id by which ranks find each other, made by `make`; false: see embed_error(NULL). */
typedef bool EmbedId(void *id, char *why, size_t size);
bool embed_make_id(EmbedId *make, void *id);
/* How long a rank waits for another one: 600 s at first. Of NULL: in models that this thread opens
   from now on, and for those who open them with it. */
void embed_set_timeout(GcModel *m, double seconds);
int embed_rank(const GcModel *m);
void embed_close(GcModel *m); /* NULL is fine */
/* Runs the entry once. Inputs and outputs in logical order, by index; a NULL output is not wanted.
 */
bool embed_run(GcModel *m, int entry, const void *const *inputs, void *const *outputs);
/* The same of an entry with extents, which are checked. */
bool embed_run_of(GcModel *m, int entry, const int *extents, const void *const *inputs,
                  void *const *outputs);
bool embed_reset(GcModel *m, uint64_t seed); /* as embed_open leaves it, but for the hypers */
bool embed_load(GcModel *m, const char *path);
/* Several files together: what one lacks another one has. */
bool embed_load_all(GcModel *m, const char *const *paths, int n);
bool embed_save(GcModel *m, const char *path);
void embed_set_hyper(GcModel *m, int hyper, double value);
double embed_hyper(const GcModel *m, int hyper);
int embed_threads(const GcModel *m);
const char *embed_device(const GcModel *m); /* its name, with its number; never NULL */
uint64_t embed_bytes(void); /* of a model open on the CPU; 0: more than any machine has */
/* Why the last call that failed did; of NULL: the last embed_open of this thread. Never NULL. */
const char *embed_error(const GcModel *m);
#endif
