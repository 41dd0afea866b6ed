/* What the files of a model's handle share; see embed.h. */
#ifndef GCRT_EMBED_IMPL_H
#define GCRT_EMBED_IMPL_H
#include "runtime/embed.h"
#include "runtime/program/devices.h"
#include "runtime/program/load.h"
#include <sys/types.h>

enum { MESSAGE = sizeof((Err *)0)->msg + 2 + sizeof((Err *)0)->hint };

struct GcModel {
  Session session;
  uint64_t *calls; /* of each entry since the beginning */
  pid_t owner;
  bool new_hypers; /* the device has older ones */
  char *labels;    /* of labels_text, for the files that it saves; or NULL */
  GcComm *comm;    /* of a data-parallel model; NULL: it is alone */
  int *said;       /* what each rank says when they meet */
  int cores;       /* of the machine's: this rank's share */
  bool lost;       /* the other ranks, which has been said */
  char device[sizeof((DeviceChoice *)0)->name];
  char message[MESSAGE];
};

/* Hints of loading and saving speak of the command line, and messages begin with the option, where
   the caller has a function of the same name. False. */
bool embed_failed(char *message, const Err *e, bool with_hint);
/* The message of embed_error(NULL). False. */
bool embed_failed_to_open(const Err *e);
/* Around what a call does: the thread has the device's context, where there is one. */
bool embed_begin(GcModel *m);
bool embed_end(GcModel *m, bool ok); /* ok */
/* Initial values, if there are none yet. */
bool embed_has_weights(GcModel *m);
void embed_forget_calls(GcModel *m);
/* What save writes beside the weights: the words of their labels. NULL: of the program's own. */
bool embed_take_labels(GcModel *m, const char *path, Err *e);

/* ---- embed_arrays.c: the caller's arrays, as the extents in the session's env have them ---- */
void embed_put_inputs(Session *s, Exec *x, const void *const *inputs);
void embed_get_outputs(Session *s, const GcEntry *e, void *const *outputs);

/* ---- embed_ranks.c ---- */
/* Becomes one of the ranks of a communicator, if these are as many as the model is for. */
bool embed_join(GcModel *m, EmbedRanks *ranks, const void *of, int device, Err *e);
void embed_part(GcModel *m);             /* from them */
bool embed_on_devices(const GcModel *m); /* the ranks talk from devices */
/* Waits for all ranks. True: all are well; else the handle's message says why, if this rank has
   not said it. A model that is alone: ok. */
bool embed_agree(GcModel *m, bool ok);
/* The same in front of a run, of which it settles the first row. */
bool embed_agree_run(GcModel *m, const GcEntry *e, bool ok);
uint64_t embed_seed(const GcModel *m, uint64_t seed); /* rank 0's */
#endif
