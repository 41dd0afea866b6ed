/* gc --pack: packs any buffers. Reads rows id,lower,upper,size (upper exclusive), writes them with
   an offset column, and a note of what it found.
   Contract: every row is checked, a bad one is shown with its place; nothing is written unless all
   are good; "optimal" is said only where it is proven. */
#include "passes/plan/plan_impl.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

enum { DONE = 0, PROGRAM_WRONG = 1, USAGE_WRONG = 2 };
enum { COLUMN_ID, COLUMN_LOWER, COLUMN_UPPER, COLUMN_SIZE, NCOLUMNS };
static const char *const column_name[NCOLUMNS] = {"id", "lower", "upper", "size"};

/* Without a timeout: elementary steps of the search, some ten seconds. */
#define UNTIMED_WORK (INT64_C(10) * 1000 * 1000 * 1000)
#define LARGEST (INT64_C(1) << 62)

typedef struct Field {
  const char *at;
  size_t n;
  uint32_t col; /* from 1 */
} Field;

typedef VEC(Field) Fields;

typedef struct Id {
  const char *text; /* interned: equal texts are at one address */
  uint32_t line;
} Id;

typedef struct RowsReader {
  Ctx *c;
  Arena *a;
  uint16_t file;
  uint32_t line;
  int column[NCOLUMNS]; /* which field of a row it is */
  uint32_t fields;      /* of a row */
  VEC(Id) ids;          /* of `buffers` */
  VEC(Buffer) buffers;
  uint64_t total; /* bytes of all buffers */
  bool has_offset;
  bool failed;
} RowsReader;

static void wrong(RowsReader *r, uint32_t col, size_t len, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
static void wrong(RowsReader *r, uint32_t col, size_t len, const char *fmt, ...) {
  char text[512];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  Loc loc = {.line = r->line,
             .col = col,
             .file = r->file,
             .len = (uint16_t)(len < 1            ? 1
                               : len > UINT16_MAX ? UINT16_MAX
                                                  : len)};
  diag(r->c, SEV_ERROR, loc, "%s", text);
  r->failed = true;
}

/* ---- reading ---- */

static void split(RowsReader *r, const char *s, size_t n, Fields *out) {
  out->n = 0;
  for (size_t i = 0;;) {
    size_t end = i;
    while (end < n && s[end] != ',') end++;
    size_t from = i, to = end;
    while (from < to && (s[from] == ' ' || s[from] == '\t')) from++;
    while (to > from && (s[to - 1] == ' ' || s[to - 1] == '\t')) to--;
    vec_push(r->a, out, (Field){s + from, to - from, (uint32_t)from + 1});
    if (end == n) return;
    i = end + 1;
  }
}

static bool field_is(const Field *f, const char *word) {
  return f->n == strlen(word) && memcmp(f->at, word, f->n) == 0;
}

/* A quoted field could hold commas and line ends. False after an error. */
static bool no_quotes(RowsReader *r, const Fields *f) {
  for (uint32_t i = 0; i < f->n; i++) {
    if (!f->at[i].n || f->at[i].at[0] != '"') continue;
    wrong(r, f->at[i].col, f->at[i].n,
          "quotes are not understood: write fields without quotes and without commas in them");
    return false;
  }
  return true;
}

/* The header names the columns, in any order; one of offsets is replaced. */
static void read_header(RowsReader *r, const Fields *f) {
  for (int k = 0; k < NCOLUMNS; k++) r->column[k] = -1;
  r->fields = f->n;
  if (!no_quotes(r, f)) return;
  for (uint32_t i = 0; i < f->n; i++) {
    const Field *x = &f->at[i];
    int k = 0;
    while (k < NCOLUMNS && !field_is(x, column_name[k])) k++;
    if (k < NCOLUMNS && r->column[k] >= 0)
      wrong(r, x->col, x->n, "column '%s' is named twice", column_name[k]);
    else if (k < NCOLUMNS)
      r->column[k] = (int)i;
    else if (field_is(x, "offset") && !r->has_offset)
      r->has_offset = true;
    else if (field_is(x, "offset"))
      wrong(r, x->col, x->n, "column 'offset' is named twice");
    else
      wrong(r, x->col, x->n, "column '%.*s' is not known: they are id, lower, upper, size",
            (int)(x->n < 40 ? x->n : 40), x->at);
  }
  for (int k = 0; k < NCOLUMNS && !r->failed; k++)
    if (r->column[k] < 0)
      wrong(r, 1, 1, "there is no column '%s': the first line is id,lower,upper,size",
            column_name[k]);
}

static bool read_number(RowsReader *r, const Field *f, const char *what, int64_t *out) {
  char buf[32], *end = buf;
  *out = 0;
  errno = 0;
  if (f->n > 0 && f->n < sizeof buf) {
    memcpy(buf, f->at, f->n);
    buf[f->n] = 0;
    *out = strtoll(buf, &end, 10);
  }
  if (end != buf && *end == 0 && errno == 0 && *out<LARGEST && * out> - LARGEST) return true;
  wrong(r, f->col, f->n, "%s is not a whole number below 2^62: '%.*s'", what,
        (int)(f->n < 40 ? f->n : 40), f->at);
  return false;
}

static void read_row(RowsReader *r, const Fields *f, size_t len) {
  int64_t lower, upper, size;
  if (!no_quotes(r, f)) return;
  if (f->n != r->fields) {
    wrong(r, 1, len, "a row has %u fields, not %u", r->fields, f->n);
    return;
  }
  const Field *lo = &f->at[r->column[COLUMN_LOWER]], *hi = &f->at[r->column[COLUMN_UPPER]];
  const Field *z = &f->at[r->column[COLUMN_SIZE]], *id = &f->at[r->column[COLUMN_ID]];
  if (!read_number(r, lo, "lower", &lower) || !read_number(r, hi, "upper", &upper) ||
      !read_number(r, z, "size", &size))
    return;
  if (id->n == 0) {
    wrong(r, id->col, 1, "the id is missing");
  } else if (upper <= lower) {
    wrong(r, hi->col, hi->n, "upper must be above lower: the buffer lives from %lld to before %lld",
          (long long)lower, (long long)upper);
  } else if (size <= 0) {
    wrong(r, z->col, z->n, "size must be above 0, not %lld", (long long)size);
  } else if (!checked_add(r->total, (uint64_t)size, &r->total) || r->total >= (uint64_t)LARGEST) {
    wrong(r, z->col, z->n, "all buffers together need 2^62 bytes or more");
  } else {
    vec_push(r->a, &r->ids, ((Id){intern_n(r->c, id->at, id->n), r->line}));
    vec_push(r->a, &r->buffers,
             (Buffer){.bytes = (uint64_t)size, .first = lower, .last = upper - 1});
  }
}

static int by_text(const void *a, const void *b) {
  const Id *x = a, *y = b;
  if (x->text != y->text) return (uintptr_t)x->text < (uintptr_t)y->text ? -1 : 1;
  return x->line < y->line ? -1 : 1;
}

static int by_line(const void *a, const void *b) {
  const Id *x = a, *y = b;
  return x->line < y->line ? -1 : x->line > y->line;
}

/* The offsets are found by their ids: no two rows have the same. */
static void check_ids(RowsReader *r) {
  VEC(Id) again = {0};
  Id *sorted = ARENA_ARRAY(r->a, Id, r->ids.n + 1);
  for (uint32_t i = 0; i < r->ids.n; i++) sorted[i] = r->ids.at[i];
  qsort(sorted, r->ids.n, sizeof sorted[0], by_text);
  for (uint32_t i = 1; i < r->ids.n; i++)
    if (sorted[i].text == sorted[i - 1].text) vec_push(r->a, &again, sorted[i]);
  if (again.n) qsort(again.at, again.n, sizeof again.at[0], by_line);
  for (uint32_t i = 0; i < again.n; i++) {
    r->line = again.at[i].line;
    wrong(r, 1, 1, "another row has the id '%.40s' already", again.at[i].text);
  }
}

static const char byte_order_mark[] = "\xEF\xBB\xBF";

static void read_rows(RowsReader *r, const char *text, size_t len) {
  Fields f = {0};
  bool header = false;
  size_t mark = sizeof byte_order_mark - 1;
  size_t from = len >= mark && memcmp(text, byte_order_mark, mark) == 0 ? mark : 0;
  for (size_t at = from; at < len; r->line++) {
    size_t end = at;
    while (end < len && text[end] != '\n') end++;
    size_t n = end - at - (end > at && text[end - 1] == '\r');
    const char *s = text + at;
    at = end + 1;
    if (n == strspn(s, " \t\r") || n == 0) continue;
    split(r, s, n, &f);
    if (!header)
      read_header(r, &f);
    else
      read_row(r, &f, n);
    if (!header && r->failed) return;
    header = true;
  }
  if (!header) {
    r->line = 1;
    wrong(r, 1, 1, "the file is empty: its first line is id,lower,upper,size");
  }
  check_ids(r);
}

/* ---- writing ---- */

static void write_rows(const RowsReader *r, FILE *f) {
  fputs("id,lower,upper,size,offset\n", f);
  for (uint32_t i = 0; i < r->buffers.n; i++) {
    const Buffer *b = &r->buffers.at[i];
    fprintf(f, "%s,%lld,%lld,%llu,%llu\n", r->ids.at[i].text, (long long)b->first,
            (long long)b->last + 1, (unsigned long long)b->bytes, (unsigned long long)b->offset);
  }
}

static void say(FILE *f, const RowsReader *r, uint64_t capacity, const PackResult *found) {
  char n[32], arena[32], bound[32];
  fprintf(f, "%s buffers in %s bytes: ", plan_commas(n, r->buffers.n),
          plan_commas(arena, found->arena));
  if (found->arena <= found->proven)
    fputs("optimal\n", f);
  else
    fprintf(f, "%s; none is below %s\n", capacity ? "it fits" : "the best that was found",
            plan_commas(bound, found->proven));
}

static int too_small(const RowsReader *r, uint64_t capacity, const PackResult *found) {
  char a[32], b[32];
  if (found->proven > capacity)
    diag(r->c, SEV_ERROR, (Loc){0}, "the buffers do not fit into %s bytes: they need at least %s",
         plan_commas(a, capacity), plan_commas(b, found->proven));
  else
    diag(r->c, SEV_ERROR, (Loc){0},
         "no packing into %s bytes was found, nor that there is none: the best has %s",
         plan_commas(a, capacity), plan_commas(b, found->arena));
  return PROGRAM_WRONG;
}

int pack_command(Ctx *c, const char *file, uint64_t capacity, double timeout, FILE *out,
                 FILE *note) {
  RowsReader r = {.c = c, .a = ctx_arena(c), .line = 1};
  if (!ctx_read_source(c, file, &r.file)) {
    diag(c, SEV_ERROR, (Loc){0}, "cannot read %s: %s", file, strerror(errno));
    return USAGE_WRONG;
  }
  size_t len;
  const char *text = ctx_source_text(c, r.file, &len);
  read_rows(&r, text, len);
  if (r.failed) return PROGRAM_WRONG;
  Buffers b = {.at = r.buffers.at, .n = (int)r.buffers.n};
  PackLimit limit = {
      .capacity = capacity, .seconds = timeout, .work = timeout > 0 ? INT64_MAX : UNTIMED_WORK};
  Arena *scratch = arena_new();
  PackResult found = pack_plan(scratch, &b, &limit);
  arena_free(scratch);
  if (capacity && found.arena > capacity) return too_small(&r, capacity, &found);
  write_rows(&r, out);
  say(note, &r, capacity, &found);
  return DONE;
}
