/* What all files of the runtime share: one error per failure, element types, tensors' logical
   order. Contract: a function that can fail fills an Err and returns false; nothing here prints or
   exits. Exit codes: 0 done, 1 the data or the program is wrong, 2 the command line is, 3 the
   environment. */
#ifndef GCRT_RT_H
#define GCRT_RT_H
#include "runtime/base/checked.h"
#include "runtime/gcrt.h"

enum { EXIT_WRONG = 1, EXIT_USAGE = 2, EXIT_ENV = 3, EXIT_BUG = 70 };

/* ---- err.c: one message: what, found, needed; and the remedy ---- */
typedef struct Err {
  int code; /* exit code; 0: no error yet */
  char msg[1024];
  char hint[512];
} Err;
__attribute__((format(printf, 3, 4))) bool err_set(Err *e, int code, const char *fmt, ...);
__attribute__((format(printf, 2, 3))) bool err_hint(Err *e, const char *fmt, ...);
void err_print(const char *program, const Err *e); /* control bytes come out as \xNN */
void text_print(void *file, const char *s, uint64_t n, bool keep_newlines); /* FILE *, escaped */

/* ---- elem.c: element types of files and programs ---- */
typedef enum Elem {
#define ELEM(id, ...) ELEM_##id,
#include "runtime/base/elem.def"
#undef ELEM
  ELEM_COUNT
} Elem;
typedef enum ElemClass { ELEM_BOOLS, ELEM_INTS, ELEM_FLOATS } ElemClass;
typedef struct ElemInfo {
  const char *name;
  int size; /* bytes */
  ElemClass cls;
  const char *safetensors, *npy;
} ElemInfo;
extern const ElemInfo elem_info[ELEM_COUNT];

bool elem_converts(Elem from, Elem to); /* can be exact for some values, or rounds a float */
/* Converts n elements; false: the element at *bad has no exact value in `to` (ints and bools only).
 */
bool elem_check(Elem to, const void *src, Elem from, uint64_t n, uint64_t *bad);
void elem_convert(void *dst, Elem to, const void *src, Elem from, uint64_t n);
void elem_swap(void *p, int size, uint64_t n); /* reverses the bytes of each element */
double elem_real(const void *p, Elem type, uint64_t i);
/* False: the integer at *bad, *value, is not in [0, limit). */
bool elem_below(const void *p, Elem type, uint64_t n, int64_t limit, uint64_t *bad, int64_t *value);
/* NaN becomes the positive quiet one without payload. Processors make others: x86's is negative, a
   GPU's is all ones, and a sum of two keeps that of either. */
void elem_one_nan(void *p, Elem type, uint64_t n);
bool elem_finite(const void *p, Elem type, uint64_t n, uint64_t *bad);
void float_text(char out[32], float v); /* the shortest that reads back as v */
void real_text(char out[32], double v);
void hyper_text(char out[32], const GcHyper *h, double value); /* as its option takes it */
void elem_format(char out[40], const void *p, Elem type, uint64_t i);
/* With as many digits as it needs to be read back; a bool is 1 or 0. */
void elem_exact(char out[40], const void *p, Elem type, uint64_t i);

/* ---- tensor.c ---- */
enum { RUN_RANK = 32 }; /* axes of a tensor whose dims a run decides, at most */
/* The tensor as a run with these extents has it; its dims are put into `dims`. */
GcTensor tensor_of_run(const GcEntry *e, const GcTensor *t, const int32_t *extents,
                       int64_t dims[RUN_RANK]);
uint64_t tensor_count(const GcTensor *t);                 /* logical elements */
uint64_t tensor_place(const GcTensor *t, uint64_t index); /* in storage, of a logical element */
uint64_t tensor_row_elems(const GcTensor *t); /* of one index of the first axis; 1 for rank 0 */
uint64_t tensor_logical_bytes(const GcTensor *t);
/* As others see it: NaN is one pattern, on every device. */
void tensor_get(const GcTensor *t, const void *storage, uint64_t first, uint64_t n, void *dst);
void tensor_put(const GcTensor *t, void *storage, uint64_t first, uint64_t n, const void *src);
typedef struct Rows { /* of an input: elements of any type, row r begins at r * step */
  const void *data;
  Elem type;
  uint64_t n, step; /* they may overlap */
} Rows;
/* The limit that a row's element does not keep, and what it is; NULL: all do. */
const GcLimit *tensor_out_of_range(const GcTensor *t, const Rows *rows, uint64_t *row,
                                   int64_t *value);
void tensor_type_text(const GcTensor *t, char *out, int size); /* "f32[64, 10]" */
/* "u8[n <= 64, 784]": the shapes that it has in runs of the entry; a multiple is "4 n <= 256". */
void tensor_shapes_text(const GcEntry *e, const GcTensor *t, char *out, size_t size);
void dims_text(Elem type, int rank, const uint64_t *dims, char *out, int size);

/* ---- philox.c ---- */
void philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);
/* Uniform in [0, bound), no bias; *index counts the draws used. */
uint64_t philox_below(uint64_t seed, uint64_t stream, uint64_t *index, uint64_t bound);

/* ---- clock.c ---- */
double clock_now(void);        /* seconds */
uint64_t float_mode_set(void); /* of this thread, for kernels; returns what it was */
void float_mode_restore(uint64_t old);

/* ---- signals.c ---- */
void signals_catch(bool launched);     /* by one that sends signals, too, as mpirun */
int signal_seen(void);                 /* 0, SIGINT or SIGTERM */
void signals_tell_mapped(void);        /* from here on: */
void signals_mapped(const char *path); /* the file that a message about its end names */
const char *signal_mapped(void);       /* "": none */

/* ---- bus_error.c: of executables alone. The program's name stays where it is. ---- */
void bus_error_catch(const char *program);

/* ---- map.c: zeroed pages, never more than the machine has; NULL and an error else ---- */
enum { HUGE_PAGE = 1 << 21 }; /* what most systems map by one entry of a table where it can be */
void *pages_map(uint64_t bytes, const char *what, const char *remedy, Err *e);

/* ---- spelling.c: the name that somebody meant, among those that there are ---- */
int spelling_distance(const char *a, const char *b); /* edits that make one of the other */
typedef struct Near { /* the best name that is less than d edits away from the one wanted */
  const char *want, *best;
  int d;
} Near;
Near near_begin(const char *want);
void near_try(Near *n, const char *name);
#endif
