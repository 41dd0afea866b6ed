/* The folder that a compilation writes its sources and objects to, and those that killed ones left.
   Contract: the folder is private to this user and locked while gc lives, however it ends. */
#ifndef GC_CODEGEN_TEMPORARY_H
#define GC_CODEGEN_TEMPORARY_H
#include <stdbool.h>

/* Removes the folders below `parent` whose gc is gone, then makes one. `dir` is a template that
   ends in gc-XXXXXX. Returns the descriptor that holds the lock; -1: errno says why. */
int temporary_make(const char *parent, char *dir);
/* Removes the folder, whose other files are gone. */
void temporary_remove(const char *dir, int lock);
#endif
