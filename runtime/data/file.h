/* Files in and out. In: regular files only, read at offsets, packed or plain, through one Source.
   Out: a temporary file beside the target, fsync, rename: the old file is whole until the new one
   is; a device or a pipe is written straight. Contract: no size that a file claims is allocated;
   what is read goes where the caller points.
 */
#ifndef GCRT_FILE_H
#define GCRT_FILE_H
#include "runtime/base/rt.h"
#include <stdio.h>

enum { STAGE_BYTES = 1 << 18 }; /* staging of files that are written or read */

/* ---- file.c ---- */
typedef struct File {
  const char *path;
  int fd;
  uint64_t size, dev, ino;
  const uint8_t *memory; /* in place of fd: the bytes of the program's own file, mapped read-only */
} File;
bool file_open(File *f, const char *path, Err *e);
bool file_read(const File *f, uint64_t at, void *dst, uint64_t n, Err *e); /* exactly n bytes */
/* The system may take the pages of n mapped bytes that nobody writes to: the file has them if they
   are read again. Without this a process would hold weights twice, as they lie in a file and as it
   uses them. */
void file_forget(const uint8_t *from, uint64_t n);
/* True, with an error, after a signal to end: for whoever reads for long. */
bool file_interrupted(const char *path, Err *e);
void file_close(File *f);

/* The path behind all symbolic links, absolute; the last component need not exist. Malloc'ed; NULL:
   a folder on the way does not exist, or memory ran out. */
char *path_resolve(const char *path);

typedef struct OutFile {
  char *path;               /* as the user wrote it; these four are malloc'ed by out_prepare */
  char *target, *tmp, *dir; /* behind symbolic links: the file, the temporary one, their folder */
  int fd;                   /* -1: closed */
  bool direct;              /* a device or a pipe: there is nothing to replace */
  bool replaces;            /* there is an old file, whose mode is kept */
  bool unnamed;             /* the temporary file has no name */
} OutFile;
/* A kind of file that programs write, and how it is told from others by its first bytes. A file is
   replaced only by one of its kind that a program of gc wrote, of the same model where it belongs
   to one: what else has the name is somebody's own. */
typedef struct OutKind {
  const char *name; /* "a .npy file" */
  bool (*is)(const uint8_t *p, uint64_t n);
  /* what it is if it is not to be replaced, else NULL; or NULL: what has the first bytes is gc's */
  const char *(*foreign)(const File *f, const void *arg);
  const void *arg;
} OutKind;
extern const OutKind out_checkpoint, out_profile, out_plot;
enum { OUT_HEAD = 64 }; /* bytes that `is` needs */
/* Nothing is there that would be lost: no regular file, an empty one, or one of the kind. */
bool out_may_replace(const char *path, const OutKind *kind, Err *e);
/* Finds out before any work whether the file can be written there, with `bytes` of room. */
bool out_prepare(OutFile *o, const char *path, const OutKind *kind, uint64_t bytes, Err *e);
bool out_begin(OutFile *o, Err *e);
bool out_write(OutFile *o, const void *p, uint64_t n,
               Err *e); /* a failure removes the temporary file */
bool out_patch(OutFile *o, uint64_t at, const void *p, uint64_t n,
               Err *e); /* bytes that were written, of what is not direct; likewise */
bool out_commit(OutFile *o, Err *e);
void out_abort(OutFile *o);
void out_free(OutFile *o);

/* ---- source.c: the bytes of a file or of a member of it, unpacked, in order ---- */
typedef enum SourceKind { SOURCE_PLAIN, SOURCE_GZIP, SOURCE_DEFLATE } SourceKind;
enum { SOURCE_HEAD = 1 << 16 }; /* bytes kept of the beginning, for the readers of headers */
#define SOURCE_UNKNOWN UINT64_MAX
typedef struct Source {
  const File *file;
  SourceKind kind;
  uint64_t start, packed; /* bytes in the file */
  uint64_t size;          /* unpacked bytes, or SOURCE_UNKNOWN */
  bool measured;          /* to its end */
  bool has_crc;
  uint32_t crc;       /* of the unpacked bytes, as the archive says */
  const char *member; /* of an archive, for messages; or NULL */
} Source;
/* Reads unpacked bytes [at, at + n) to dst; `whole` reads on to the end and checks length and sum.
 */
bool source_read(const Source *s, uint64_t at, void *dst, uint64_t n, bool whole, Err *e);
bool source_head(const Source *s, void *dst, uint64_t size, uint64_t *got, Err *e);
/* Finds the size of a packed source by unpacking it, once: length and sum are checked then. An
   error where it goes on for too long behind the `asked` bytes that rows are to be taken from. */
bool source_measure(Source *s, uint64_t asked, Err *e);

/* ---- npy.c, npz.c, idx.c: what a header says ---- */
enum { ARRAY_RANK = 64 };
typedef struct Array {
  Elem type;
  bool big; /* bytes of an element are in big-endian order */
  int rank;
  uint64_t dims[ARRAY_RANK];
  uint64_t count;  /* elements */
  uint64_t header; /* bytes before the first element */
} Array;
bool array_count(Array *a, uint64_t *bytes); /* checked product; false: overflow */
bool npy_is(const uint8_t *p, uint64_t n);
bool npy_parse(const uint8_t *p, uint64_t n, Array *a, const char *path, Err *e);
/* So many spaces end the header of a file that a program of gc wrote: the format allows any number
   that makes the header a multiple of 64 bytes, and others write at most 63, numpy 84. */
enum { NPY_MARK = 128 };
/* The file of an array, which replaces one of its type and of its axes but the first; an axis of
   extent 0 is of any. */
OutKind npy_kind(const Array *of);
uint64_t npy_header(char *out, uint64_t size, Elem type, int rank, const uint64_t *dims);
enum { SAFETENSORS_HEADER = 16 << 20 }; /* bytes of a header of safetensors, at most */
bool npz_is(const uint8_t *p, uint64_t n);
/* An error that says so. */
bool file_is_of_torch(const char *path, Err *e);
/* `scratch` of SOURCE_HEAD bytes receives the member's name. */
bool npz_find(const File *f, const char *key, char *scratch, Source *out, Err *e);
bool idx_is(const uint8_t *p, uint64_t n);
bool idx_parse(const uint8_t *p, uint64_t n, Array *a, const char *path, Err *e);
#endif
