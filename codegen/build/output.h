/* Files that gc writes: whole or not at all. */
#ifndef GC_CODEGEN_OUTPUT_H
#define GC_CODEGEN_OUTPUT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Replaces a file in one step by what `print` writes, behind symbolic links, which stay; an old
   file keeps its mode, and is as it was after a failure. False after a message: print's own where
   that returns false. */
bool output_stream(const char *path, bool (*print)(FILE *f, void *arg), void *arg);
/* The same with the bytes of another file; a new one may be run if `program` says so. False with
   errno set. */
bool output_place(const char *from, const char *path, bool program);
/* Whether a file can be created there; else errno is set. */
bool output_can_replace(const char *path);
/* The length of the folder that the file would be in, if it is not there; else 0. Keeps errno. */
size_t output_missing_folder(const char *path);
/* The same with these bytes; a path that is no regular file (a device, a pipe) is written directly,
   NULL and "-" are the standard output. False after a message: exit code 3. */
bool output_write(const char *path, const char *text, size_t n);
/* Nothing is there, or a file that an executable may be renamed over: no device, no directory. */
bool output_is_replaceable(const char *path);
/* Nothing is there that would be lost: no regular file, an empty one, or one that gc wrote. */
bool output_is_own(const char *path);
/* The same regular file by whatever name: one inode, or where neither is there yet, one path behind
   symbolic links. */
bool output_is_same(const char *a, const char *b);
#endif
