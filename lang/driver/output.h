/* Text outputs: whole or not at all. */
#ifndef GC_LANG_OUTPUT_H
#define GC_LANG_OUTPUT_H
#include <stdbool.h>
#include <stddef.h>

/* Writes to a temporary file beside path and renames it; a path that is no regular file (a device,
   a pipe) is written directly, NULL and "-" are the standard output. False after a message: exit
   code 3. */
bool output_write(const char *path, const char *text, size_t n);
/* Nothing is there, or a file that an executable may be renamed over: no device, no directory. */
bool output_is_replaceable(const char *path);
/* The same file, by whatever name. */
bool output_is_input(const char *output, const char *input);
#endif
