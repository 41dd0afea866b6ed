/* The tokens that have a meaning, such as the end of an answer, by the files beside published
   weights. */
#ifndef GCRT_ENDS_H
#define GCRT_ENDS_H
#include "runtime/tokens/vocab.h"

/* Appends what a key such as eos_token_id has, a number or several, in a folder's
   generation_config.json and config.json; a file that is not there has none. */
bool ends_read(Ids *ends, const char *folder, const char *key, Err *e);
/* The same of the folder of a file. */
bool ends_beside(Ids *ends, const char *path, const char *key, Err *e);
#endif
