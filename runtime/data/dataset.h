/* The rows that an entry's inputs are filled with: files bound to inputs, batches, and their order.
   Contract: dataset_open reads headers only and settles rows and bytes; dataset_load makes the one
   allocation of the data; dataset_gather fills one batch and may run on all threads at once. */
#ifndef GCRT_DATASET_H
#define GCRT_DATASET_H
#include "runtime/data/file.h"
#include "runtime/data/temporary.h"

typedef struct Csv Csv;
typedef struct Images Images;
typedef struct Reader Reader;

enum { WORD = 256 };   /* bytes of a label's word */
typedef struct Words { /* labels that a file has as words */
  char **at;           /* in the order of their numbers */
  int n;
  bool listed;      /* the user gave them */
  const char *from; /* the file of weights that has them, or the training's; NULL: they are this
                       file's own */
  bool of_data;     /* that is a training's file */
  char name[WORD];  /* of their column, or of the input */
} Words;
typedef struct Labels { /* what words mean to inputs, by name of the input */
  struct InputWords {
    char *input;
    Words words;   /* of its labels */
    Words columns; /* of a table, by name, in the order of its elements */
  } * at;
  int n;
} Labels;

typedef struct Suffixes Suffixes; /* what stands behind a file: binding.h */
typedef enum CsvHeader { HEADER_GUESSED, HEADER_YES, HEADER_NO } CsvHeader;
typedef struct DataRequest { /* how files are read */
  int rank;                  /* of a data-parallel program, whose rows of each batch are taken */
  bool shuffle;              /* if there is more than one batch */
  bool always;               /* then also one */
  bool whole;                /* no batch is shorter */
  bool spare;                /* a CPU has nothing else to do while a step runs */
  bool of_output;            /* a table that an output is compared with: nan and inf are numbers */
  CsvHeader header;
  const Labels *labels; /* that the weights have; or NULL */
} DataRequest;

/* The extents that the files of an entry give, beside that of the batch: each is settled by the
   first file that has such an axis, and all runs have it. */
typedef struct FileExtents {
  const GcEntry *entry;
  int batch;                  /* the extent that is the batch's; -1: it is fixed */
  int32_t value[GC_EXTENTS];  /* 0: not settled */
  const char *by[GC_EXTENTS]; /* the file that has settled it */
  bool at_bound[GC_EXTENTS];  /* since that one has no such axis */
} FileExtents;

typedef struct Column { /* one input and its file */
  const GcTensor *t;    /* as declared; of a shorter one, as the runs have it: &run */
  GcTensor run;
  int64_t run_dims[RUN_RANK];
  GcLimit run_limit;
  FileExtents *extents; /* that the file may settle; NULL: it has none */
  const GcEntry *entry; /* whose input it is; NULL: not known */
  uint64_t piece;       /* elements of a row that lie side by side in the input, too */
  uint64_t even, pitch; /* pieces that lie evenly apart there, and elements from one to the next */
  char *text;           /* what the user wrote, its suffixes cut off: the path */
  char *member;
  File file;
  Source source;
  Elem type;
  bool big, flat, /* flat: its elements are one sequence, without rows of its own */
      fixed,      /* fixed: the same for all batches, since its first axis is not the batch's */
      bytes,      /* of a text, each of which is an element of a wider dtype */
      is_text;    /* its elements are characters */
  uint64_t offset, step, row_elems; /* elements: row r begins at offset + r * step */
  uint64_t line;     /* elements of a line of a table, of which rows are made; 0: it is none */
  uint64_t total;    /* elements in the file */
  uint64_t all_rows; /* of the file, before [a:b] */
  uint64_t first, rows;
  uint64_t cut; /* windows at the end that another input of the file does not reach */
  uint64_t header;
  int leader; /* the column that holds the bytes: itself, or an earlier one of the same file */
  uint64_t begin, end;  /* elements of the file that are in memory */
  uint64_t data_offset; /* in the allocation */
  const uint8_t *data;  /* element `begin` */
  double number;        /* of a rank-0 input given as a number */
  int64_t whole;        /* the same of an input of integers or bools */
  bool is_number;
  bool on_disk;         /* each batch is read from the file, which stays open */
  File *unpacked;       /* the elements from `begin` on, if they are on disk and not as they are in
                           the file; of the leader; NULL: there is none */
  bool loads;           /* there is no room for such a file */
  Csv *csv;             /* NULL: the elements are as in the file */
  Images *images;       /* NULL: likewise */
  uint64_t kept, filed; /* rows of images that stay decoded in memory, the first ones, and behind
                           them in a temporary file */
  Words words;          /* of its labels; none: the elements are numbers */
  Words columns;        /* the names of those that it takes; none: they have no names */
  struct Column *parts; /* several files that are one; NULL: there is one file */
  int nparts;
  bool windows;               /* rows may reach from one part into the next */
  const DataRequest *request; /* while it is opened */
  uint64_t before;            /* of a part: elements of those before it */
} Column;

/* "input", or "output" of a table that one is compared with. */
static inline const char *column_side(const Column *c) {
  return c->request && c->request->of_output ? "output" : "input";
}

typedef struct Dataset {
  Column *columns;
  int n;
  uint64_t rows, batch, batches; /* batch: rows of one, at most; batches: whole ones, and a shorter
                                    last one where that has an extent of its own */
  uint64_t part; /* rows of a batch that this process takes, at most: one of the ranks */
  uint64_t rank, ranks;
  FileExtents extents;
  uint64_t bytes; /* of the allocation */
  uint8_t *base;
  uint64_t order_offset;
  void *order; /* shuffled rows, u32 or u64 each; part of the allocation */
  bool shuffled, wide, spare;
  Reader *reader;                       /* of rows that are not in memory; NULL: all are */
  uint64_t reader_offset, reader_bytes; /* of the batch that is read ahead, in the allocation */
} Dataset;

/* texts[i]: the argument of input i, "FILE[a:b]+k~s:type". */
bool dataset_open(Dataset *d, const GcEntry *entry, const char *const *texts, const DataRequest *q,
                  Err *e);
/* The rows of the entry's batch, at most, of all of its ranks, make so many equal shares; an extent
   is of 2 rows at least. */
bool dataset_splits(const GcEntry *entry, int ranks);
/* Rows that one rank has of the entry's batch, at most; *extent: the batch's, or -1. */
uint64_t dataset_share(const GcEntry *entry, int *extent);
/* A file of the input has rows, of which each batch takes the next ones. */
bool dataset_has_rows(const GcEntry *entry, const GcTensor *input);
/* The entry's extents in the runs of a batch. */
void dataset_extents(const Dataset *d, uint64_t batch, int32_t out[GC_EXTENTS]);
/* Rows of a batch that this process takes, and the first of them. */
uint64_t dataset_part(const Dataset *d, uint64_t batch, uint64_t *first);
/* Rows of batches [from, to): those that the program sees, on all of its ranks. */
uint64_t dataset_rows(const Dataset *d, uint64_t from, uint64_t to);
/* What a batch weighs in a mean over batches: its rows, or 1 where all batches have as many. */
double dataset_weight(const Dataset *d, uint64_t from, uint64_t to);
/* File k of an input; NULL: it has no more, or was given as a number. */
const char *dataset_path(const Dataset *d, int input, int k);
/* Leaves on disk what is beyond so many bytes of memory, the largest files first; before the data
   is loaded; with `own` all files, of which a rank then reads its rows of each batch alone. Packed
   files and CSV are loaded, unless the folder has room for their unpacked rows. */
bool dataset_limit(Dataset *d, uint64_t bytes, bool own, TemporaryFolder *folder, Err *e);
bool dataset_load(Dataset *d, Err *e);
/* The batch could not be read; of those taken, the last one or the one before it. */
bool dataset_trouble(const Dataset *d, uint64_t batch, Err *e);
/* Bytes that reading ahead takes, at most, beside images that are being decoded. */
uint64_t dataset_reader(const GcEntry *e);
/* Seconds that runs waited for rows of a batch that were not in memory, but those that a batch
   beside a run took; a run that waited for that one adds its own. */
double dataset_waited(const Dataset *d);
void dataset_wait(const Dataset *d, double seconds);
/* What would make the reader faster. */
void dataset_slow(const Dataset *d, char *out, size_t size);
void dataset_order(Dataset *d, uint64_t seed, uint64_t epoch);
void dataset_gather(const Dataset *d, uint8_t *inputs, uint64_t batch, int t, int nt);
/* The same beside a run, on a thread of its own: how many seconds it has read. */
double dataset_gather_beside(const Dataset *d, uint8_t *inputs, uint64_t batch);
/* Reports that a row of the column's file holds an index that is out of range; false. */
bool column_fault(const Column *c, uint64_t row, int64_t value, int64_t limit, Err *e);
/* Hints at a row of the batch that holds nan or inf; false: none does. */
bool dataset_fault(const Dataset *d, uint64_t batch, Err *e);
/* The row of input i's file that is row r of a batch. */
uint64_t dataset_row(const Dataset *d, int i, uint64_t batch, uint64_t r);
/* Of the data, by a few of its rows, the first and the last among them. */
uint32_t dataset_sum(const Dataset *d);
void dataset_free(Dataset *d);
/* Says that windows of one file have been cut to those of another input; false: none has. */
bool dataset_cut_note(const Dataset *d, char *out, size_t size);

/* ---- pairs.c ---- */
/* Says which row of two folders of images is of files with different names, where most names are
   the same; false: none is. */
bool dataset_pairs_note(const Dataset *d, char *out, size_t size);
/* After an error about their numbers of rows: the first file that has none of its name in the other
   folder. False: they are no such folders, or names differ by a rule. */
bool dataset_pairs_hint(const Column *a, const Column *b, Err *e);

/* ---- csv.c ---- */
bool csv_is(const char *path);       /* by its name */
bool csv_has_tabs(const char *path); /* likewise */
/* Of an open file; `columns` is "NAME,NAME..NAME" or "NAME=WORD|WORD", cut into pieces, or NULL. */
bool csv_open(Column *c, const Suffixes *s, char *columns, Err *e);
bool csv_read(const Column *c, uint64_t first, uint64_t rows, void *to, Err *e);
uint64_t csv_columns(const Column *c); /* that are chosen */
/* Says whether the first line was taken as a header, where that is not sure; false: it is. */
bool csv_note(const Column *c, char *out, size_t size);
/* Columns are read by place, as they had other names in the training; false: they are not. */
bool csv_place_note(const Column *c, char *out, size_t size);
/* Two files have columns of the same names; an error names one that differs. */
bool csv_same_columns(const Column *a, const Column *b, Err *e);
void csv_close(Column *c); /* gives the text back */
void csv_free(Column *c);

/* ---- table.c ---- */
typedef struct Table {
  uint8_t *at; /* NULL: there is none */
  Elem type;
  uint64_t count; /* elements */
} Table;
bool table_is(const char *text); /* by the name in front of columns and rows that are chosen */
/* Of a file with as many elements in a row as `row`, whose first axis has one. */
bool table_load(Table *t, const GcTensor *row, const char *text, const DataRequest *q, Err *e);
void table_free(Table *t);

/* ---- words.c ---- */
int words_find(const Words *w, const char *word); /* -1: it is none of them */
bool words_add(Words *w, const char *word, Err *e);
void words_sort(Words *w);
bool words_same(const Words *a, const Words *b); /* or one has none */
void words_free(Words *w);
bool words_hint(const Words *w, Err *e); /* lists those that weights have */
bool words_copy(Words *to, const Words *from, Err *e);
/* The words of an input, and the names of its columns; NULL: there are none. */
const Words *labels_find(const Labels *l, const char *input);
const Words *labels_columns(const Labels *l, const char *input);
/* A copy of them, in the place of older ones; of none the older ones stay. */
bool labels_set(Labels *l, const char *input, const Words *words, const Words *columns, Err *e);
void labels_free(Labels *l);
/* What a column's words stand for, unless the user said it; false: it has none. */
bool words_note(const Column *c, char *out, size_t size);

/* ---- images.c ---- */
bool images_decode(void);                /* the program can: it was compiled with --images */
bool images_are(const char *path);       /* a folder: its files are rows */
bool images_have_name(const char *name); /* such as "a.png" */
/* Lists the images of a folder, or takes the file alone. An input of integers without further axes
   is the labels: the numbers of the subfolders. */
bool images_open(Column *c, Err *e);
bool images_are_files(char *const *paths, size_t n); /* all by name */
bool images_open_files(Column *c, char *const *paths, size_t n, Err *e);
/* Row r of the chosen ones: u8, as the shape of the input has it. From any thread. */
bool images_read(const Column *c, uint64_t r, uint8_t *to, Err *e);
char *images_path(const Column *c, uint64_t r); /* of a row's file; malloc'ed, NULL: no memory */
void images_print_name(const Column *c, uint64_t r, FILE *f); /* of a row's file */
/* Memory of images_bytes for the first `kept` rows. */
void images_keep(const Column *c, uint8_t *memory);
void images_labels(const Column *c, uint64_t first, uint64_t rows, int32_t *to);
uint64_t images_bytes(const Column *c); /* of the memory that `kept` rows take */
/* A file in the folder for the rows behind them, of which c->filed find room: see decoded_file. */
bool images_file(Column *c, TemporaryFolder *folder, Err *e);
/* Hints at what else the folder has; false: nothing. */
bool images_note(const Column *c, char *out, size_t size);
void images_free(Column *c);

/* ---- binding.c: FILE[a:b]+k~s:type, and the shape of what the file holds ---- */
/* The whole of a file is the input, since its first axis is not the batch. */
bool column_is_fixed(const GcTensor *t, uint64_t batch, const FileExtents *x);
/* x: what a run decides of the shape, which the file may settle; NULL: nothing. */
bool column_open(Column *c, const GcTensor *t, const char *text, uint64_t batch, FileExtents *x,
                 const DataRequest *q, Err *e);

/* ---- extents.c: the axes of files that are as long as a run has them ---- */
/* The shapes of the input as the program declares them: of all ranks, which share the batch. */
void column_shapes_text(const Column *c, char *out, size_t size);
/* The input has an axis beside the batch whose extent a run decides. */
bool column_has_extents(const FileExtents *x, const GcTensor *t);
/* The axes of an array, of ARRAY_RANK at most, are those of the input without a batch, but for axes
   of one element and for extents; `out` has the input's as they are in the array, if it has
   extents. */
bool column_axes(const Column *c, int rank, const uint64_t *dims, uint64_t out[RUN_RANK]);
/* Settles the extents of an array of such a shape, or of rows of so many elements. */
bool column_settle_dims(Column *c, FileExtents *x, int rank, const uint64_t *dims, Err *e);
bool column_settle_count(Column *c, FileExtents *x, uint64_t row, Err *e);
/* Hints at an axis of the array that is no multiple of what the input takes there; false: none is.
 */
bool column_uneven(const Column *c, int rank, const uint64_t *dims, Err *e);
/* The extents that no file has settled are at their bounds; the column has the shape of the runs.
 */
void column_at_bounds(Column *c, FileExtents *x);
#endif
