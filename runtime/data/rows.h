/* What the files of a dataset share of a column: its rows, and what is checked of them. */
#ifndef GCRT_ROWS_H
#define GCRT_ROWS_H
#include "runtime/data/dataset.h"

/* ---- rows.c ---- */
/* Elements [first, first + n) of row r of the chosen ones, read from the file. */
bool column_read(const Column *c, uint64_t r, uint64_t first, uint64_t n, void *to, Err *e);
/* A row in the file's type; `room` of column_room holds one. NULL after an error. */
const uint8_t *column_row(const Column *c, uint64_t r, uint8_t *room, Err *e);
uint8_t *column_room(const Column *c);
/* Row r of a batch, which begins at `from` in this type, becomes the input's at its place. */
void column_put(const Column *c, uint8_t *inputs, uint64_t r, const uint8_t *from, Elem type);
/* All that is to be in memory. */
bool column_load(Column *c, uint8_t *to, Err *e);
bool column_may_stay(const Column *c); /* on disk: rows are where a read finds them */

/* ---- unpacked.c ---- */
/* A file in the folder for the rows of one that may not stay, or why there is none. */
bool unpacked_file(Column *c, TemporaryFolder *folder, Err *e);
bool unpacked_fill(Column *c, Err *e);
void unpacked_free(Column *c);

/* ---- rows.c ---- */
/* Tells the system that these rows are read next. */
void column_advise(const Column *c, uint64_t r, uint64_t rows);
void column_close(Column *c); /* its files */
void column_free(Column *c);

/* ---- parts.c ---- */
/* The file that an element is in, and which of its elements it is. */
const Column *column_part(const Column *c, uint64_t *element);
/* The file that a row is in, and which of its rows it is; of windows over several files the column
   itself, whose rows are those of all files together. */
const Column *column_row_part(const Column *c, uint64_t *row);

/* ---- check.c: before the first step ---- */
bool column_check(const Column *c, Err *e);       /* elements in memory fit the input */
bool column_check_limit(const Column *c, Err *e); /* and are indexes in range */
/* Both, of rows [first, end) that stay on disk. */
bool column_check_disk(const Column *c, uint64_t first, uint64_t end, Err *e);

/* ---- scattered.c ---- */
uint64_t column_row_bytes(const Column *c); /* of a row in the input */
/* Rows of a batch that one read gets. */
bool rows_together(const Dataset *d, const Column *c);
/* Reads rows [r, r + n) of the chosen ones, which become of the input's type. */
bool column_convert(const Column *c, uint64_t r, uint64_t n, uint8_t *to, Err *e);
/* Rows [first, first + n) of a batch: row r to base + r * column_row_bytes. The first one that
   cannot be read; UINT64_MAX: all are. */
uint64_t rows_read(const Dataset *d, const Column *c, uint64_t batch, uint64_t first, uint64_t n,
                   uint8_t *base, Err *e);

/* ---- reader.c ---- */
/* A place for a batch that is read ahead, if columns are; false: it overflows. */
bool reader_bytes(const Dataset *d, uint64_t *at, uint64_t *offset);
bool reader_start(Dataset *d, uint8_t *memory, Err *e);
void reader_stop(Dataset *d);
void reader_pause(const Dataset *d); /* before the order of rows changes */
void reader_begin(const Dataset *d, uint64_t batch);
/* Seconds that it took the thread. */
double reader_gather(const Dataset *d, uint8_t *inputs, uint64_t batch, int t, int nt);
void reader_fixed(const Dataset *d, const Column *c, uint8_t *to);

/* ---- dataset.c ---- */
uint64_t dataset_at(const Dataset *d, uint64_t batch, uint64_t r); /* a row of the chosen ones */
#endif
