/* The tokens that end an answer, by the files beside published weights. */
#ifndef GCRT_ENDS_H
#define GCRT_ENDS_H
#include "runtime/tokens/vocab.h"

/* Appends eos_token_id, a number or several, of a folder's generation_config.json and config.json;
   a file that is not there has none. */
bool ends_read(Ids *ends, const char *folder, Err *e);
#endif
