/* A file of --weights that is open: what weights.c reads and weights_merge.c copies. */
#ifndef GC_WEIGHTS_FILE_H
#define GC_WEIGHTS_FILE_H
#include "lang/driver/command.h"

#include <jansson.h>
#include <stdio.h>

struct WeightsFile {
  const char *path;
  FILE *f;
  json_t *header;
  uint64_t data; /* where it begins */
};

/* gc did not write it. */
bool weights_are_published(const json_t *header);
/* The name of a tensor that is read for the global; NULL: the file has none. */
const char *weights_name(const Global *g, const json_t *header, bool published);
#endif
