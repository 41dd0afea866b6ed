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
  const GcComm *comm; /* with the ranks that have the other parts of globals; or NULL */
  /* Maps what the program's file has at `from` in the place of n bytes; false: it cannot, and
     nothing has changed. NULL: of memory that is not the host's. */
  bool (*map_own)(uint8_t *to, const uint8_t *from, uint64_t n);
} Globals;

/* The metadata that says that a file is a checkpoint. */
#define CHECKPOINT_KEY "gc.checkpoint"
#define IMAGE_KEY "gc.image"         /* it is an image of weights: image.h */
#define PUBLISHED_KEY "gc.published" /* gc wrote it, with published names */
typedef struct Meta {                /* of __metadata__; a checkpoint has them all */
  const char *key;
  char value[64];
  bool seen;
} Meta;

/* ---- choice.c: which globals ---- */
typedef struct WeightsView {  /* of a model in a file; NULL: all of it, by path */
  const char *scope;          /* the path at or below which its globals lie; or NULL */
  const char *const *without; /* paths at or below which they do not */
  int nwithout;
  bool published; /* written with the names that `from` declares */
} WeightsView;
typedef bool GlobalChoice(const GcGlobal *g, const WeightsView *v);
GlobalChoice choose_all, choose_own, choose_none, choose_params, choose_saved;
bool is_step_counter(const GcGlobal *g);
/* FILE[,scope=PATH][,without=PATH]…[,names=published][,image=FILE], as --load and --save take it.
 */
typedef struct WeightsName {
  char *path;           /* malloc'ed; the view's strings lie in it */
  const char **without; /* malloc'ed; the view's */
  WeightsView part;
  const char *image; /* of all files that are read together; or NULL */
} WeightsName;
bool weights_name(WeightsName *out, const char *text, Err *e);
void weights_name_free(WeightsName *name);
/* That the program has globals for the file of --save or --load, and that published names are for
   --save, are there, and are different. */
bool weights_name_check(const WeightsName *name, bool saves, Err *e);
/* The one image that several files of --load name; NULL: none does. */
bool weights_name_image(const WeightsName *names, int n, const char **image, Err *e);
/* That the file of --OPTION, which has all globals, is named without such parts. */
bool weights_name_whole(const char *text, const char *option, Err *e);

/* ---- write.c ---- */
uint64_t weights_bytes(GlobalChoice *choose, const WeightsView *v);
/* In one pass over them. Parameters that are not finite are an error, and an older file stays. The
   last metadata, if there is any, gets the checksum. */
bool weights_write(const Globals *w, OutFile *out, GlobalChoice *choose, const WeightsView *v,
                   Meta *meta, int nmeta, Err *e);
/* The checksum of all and the metadata, as the value of `sum`. */
void weights_sum(const Globals *w, const Meta *meta, int nmeta, Meta *sum);
bool weights_finite(const Globals *w, Err *e); /* the parameters, of slices this rank's */

/* ---- weights.c ---- */
typedef struct Unread { /* tensors that the program does not have */
  uint64_t n;
  char first[160]; /* its name, cut where it is longer */
} Unread;
typedef struct Absent { /* wanted globals that no file has */
  const GcGlobal *first;
  int n;
} Absent;
typedef struct WeightsRequest { /* what is read of a file */
  const char *path;             /* of it, or of a folder of published weights (source.h) */
  GlobalChoice *want, *need;    /* need: must be there, or in the file of another request */
  const WeightsView *view;      /* of both; with a scope, what else is in the file is ignored */
  Meta *meta;
  int nmeta;
  Unread *unread; /* gets what the program does not have; or NULL */
  Absent *absent; /* gets what is wanted and in no file; or NULL */
  const bool
      *unused; /* by global of the first program: no file needs it; NULL: all may be needed */
} WeightsRequest;
/* Of several files a later one counts before an earlier one. What does not fit changes nothing.
   Copies of params in other dtypes follow what has been read. */
bool weights_read(const Globals *w, const WeightsRequest *q, int n, Err *e);
/* The kinds of globals, 1 << GcGlobalKind, that the files give: params, if they have all. */
bool weights_spare(const GcProgram *p, const WeightsRequest *q, int n, unsigned *kinds, Err *e);
/* The same as weights_read without storing anything. */
bool weights_check(const Globals *w, const WeightsRequest *q, int n, Err *e);
/* Only the weights and checkpoints of this program's globals, of the same view, may be replaced. */
OutKind weights_kind(const WeightsView *v);
/* Of those that the program has in itself; nothing if there are none. */
bool weights_read_own(const Globals *w, Err *e);
bool weights_are_own(void); /* there are some */
/* Those have all parameters. */
bool weights_own_all(const GcProgram *program);

/* ---- tables.c: constants, which a program has in its own data ---- */
bool weights_have_tables(const GcProgram *p);
void weights_put_tables(const Globals *w);

/* ---- slices.c: globals of which each rank has a run of the elements ---- */
/* A run of a global's elements, without what a layout pads them with, as files have them. Of a
   sliced one rank 0 alone asks, while the others serve. */
void slices_get(const Globals *w, const GcGlobal *g, uint64_t first, uint64_t n, uint8_t *to);
/* A run of the file's elements: this rank takes those that it has. */
void slices_put(const Globals *w, const GcGlobal *g, uint64_t first, uint64_t n, const void *from);
uint64_t slices_own(const Globals *w, const GcGlobal *g); /* elements of this rank's run */
void slices_serve(const Globals *w); /* until rank 0 is done; at once where nothing is sliced */
void slices_done(const Globals *w);  /* of rank 0 */

/* ---- labels.c: the words of labels, in the metadata ---- */
/* Adds those of a file; one that cannot be read adds none. `from` of them is the path given. */
bool labels_read(Labels *l, const char *path, Err *e);
bool labels_read_own(Labels *l, Err *e); /* of the weights that the program has in itself */
/* Malloc'ed text, a part of the JSON of __metadata__. */
bool labels_text(const Labels *l, char **text, Err *e);
bool labels_storable(const Words *w); /* they are UTF-8 and of one line each */
#endif
