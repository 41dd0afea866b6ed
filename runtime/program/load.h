/* What a program's entries, its other commands and its library share: weights from files, and a
   model behind a handle for commands, which have a command line where a library's caller has
   functions. */
#ifndef GCRT_LOAD_H
#define GCRT_LOAD_H
#include "runtime/embed.h"
#include "runtime/exec/session.h"

/* Reads the files together, or maps the image of them; what else is to be known of them is a note
   of the session. skip: as of session_load; unused: as of a WeightsRequest. */
bool load_files(Session *s, const WeightsName *name, int n, unsigned skip, const bool *unused,
                Err *e);
bool load_check(const Session *s, const WeightsName *name, int n, Err *e); /* that it will */

/* embed_open and embed_load_all, with the errors that the command line has, and the notes. */
typedef void EmbedNote(void *arg, const char *text);
GcModel *embed_open_noting(const char *device, int threads, EmbedNote *note, void *arg, Err *e);
bool embed_load_noting(GcModel *m, const char *const *names, int n, Err *e);
#endif
