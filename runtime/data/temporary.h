/* Rows that have no room in memory, in temporary files without a name: the system frees such a file
   with the process, however that ends. */
#ifndef GCRT_TEMPORARY_H
#define GCRT_TEMPORARY_H
#include "runtime/base/rt.h"

typedef struct TemporaryFolder { /* where they are made */
  const char *path;              /* NULL: none are; `why` says the reason */
  bool named;                    /* by the user: it is an error if no file can be made there */
  uint64_t sharers;              /* processes, of half of its free space */
  char why[400];                 /* what keeps rows out of it */
} TemporaryFolder;

/* A file, and bytes that it may have; fd -1: there is none, and why. False, with an error: the
   folder that the user named takes no file. */
bool temporary_open(TemporaryFolder *f, int *fd, uint64_t *room, Err *e);
/* So many bytes of the disk are the file's; false, with errno: they are not. */
bool temporary_reserve(int fd, uint64_t bytes);
#endif
