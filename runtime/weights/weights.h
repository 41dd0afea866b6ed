/* A program's globals, as the host has them, to and from files of safetensors.
   Contract: whoever runs the program on a device has brought the globals to the host before they
   are written or read, and takes them back after. */
#ifndef GCRT_WEIGHTS_H
#define GCRT_WEIGHTS_H
#include "runtime/data/dataset.h"

typedef struct Globals {
  const GcProgram *program;
  uint8_t *base;      /* of the region GC_GLOBALS */
  uint8_t *stage;     /* STAGE_BYTES */
  const char *labels; /* more metadata, of labels_text; or NULL */
} Globals;

/* The metadata that says that a file is a checkpoint. */
#define CHECKPOINT_KEY "gc.checkpoint"
typedef struct Meta { /* of __metadata__; a checkpoint has them all */
  const char *key;
  char value[64];
  bool seen;
} Meta;
typedef bool GlobalChoice(const GcGlobal *g, const void *arg);
bool is_step_counter(const GcGlobal *g);
bool choose_saved(const GcGlobal *g, const void *arg);
bool choose_all(const GcGlobal *g, const void *arg);

uint64_t weights_bytes(GlobalChoice *choose);
/* In one pass over them. Parameters that are not finite are an error, and an older file stays. The
   last metadata, if there is any, gets the checksum. */
bool weights_write(const Globals *w, OutFile *out, GlobalChoice *choose, Meta *meta, int nmeta,
                   Err *e);
typedef struct Unread { /* tensors that the program does not have */
  uint64_t n;
  char first[160]; /* its name, cut where it is longer */
} Unread;
typedef struct Absent { /* wanted globals that the file does not have */
  const GcGlobal *first;
  int n;
} Absent;
typedef struct WeightsRequest { /* what is read */
  GlobalChoice *want, *need;    /* need: must be in the file */
  const void *arg;              /* of both; where partial, the scope that they lie below */
  bool partial;                 /* what else is in the file is ignored; else it is an error */
  Meta *meta;
  int nmeta;
  Unread *unread; /* gets what the program does not have; or NULL */
  Absent *absent; /* gets what is wanted and not there; or NULL */
} WeightsRequest;
/* From a file, or a folder of published weights (source.h). What does not fit changes nothing. */
bool weights_read(const Globals *w, const char *path, const WeightsRequest *q, Err *e);
/* Of those that the program has in itself; nothing if there are none. */
bool weights_read_own(const Globals *w, Err *e);
/* Those have all parameters. */
bool weights_own_all(const GcProgram *program);
/* The checksum of all and the metadata, as the value of `sum`. */
void weights_sum(const Globals *w, const Meta *meta, int nmeta, Meta *sum);

/* ---- labels.c: the words of labels, in the metadata ---- */
/* Adds those of a file; one that cannot be read adds none. `from` of them is the path given. */
bool labels_read(Labels *l, const char *path, Err *e);
bool labels_read_own(Labels *l, Err *e); /* of the weights that the program has in itself */
/* Malloc'ed text, a part of the JSON of __metadata__. */
bool labels_text(const Labels *l, char **text, Err *e);
bool labels_storable(const Words *w); /* they are UTF-8 and of one line each */

bool weights_finite(const Globals *w, Err *e); /* the parameters */
#endif
