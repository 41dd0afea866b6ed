/* What stands behind the name of a file: "FILE[a:b]+k~s:type" or, of CSV, "FILE:COLUMNS[a:b]". A
   file of exactly the written name wins over suffixes. */
#include "runtime/data/binding.h"
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

static bool whole_number(const char *p, const char *end, uint64_t *out) {
  uint64_t v = 0;
  if (p == end) return false;
  for (; p < end; p++)
    if (*p < '0' || *p > '9' || !checked_mul(v, 10, &v) ||
        !checked_add(v, (uint64_t)(*p - '0'), &v))
      return false;
  *out = v;
  return v <= INT64_MAX;
}

static bool parse_bound(const char *p, const char *end, int64_t *out, bool *has) {
  uint64_t v = 0;
  bool minus = p < end && *p == '-';
  *has = p < end;
  if (p == end) return true;
  if (!whole_number(p + minus, end, &v)) return false;
  *out = minus ? -(int64_t)v : (int64_t)v;
  return true;
}

static bool cut_range(char *text, Suffixes *s) {
  char *open = strrchr(text, '['), *end = text + strlen(text) - 1;
  if (!open || open == text || s->range) return false;
  char *colon = memchr(open, ':', (size_t)(end - open));
  if (!colon || !parse_bound(open + 1, colon, &s->from, &s->has_from) ||
      !parse_bound(colon + 1, end, &s->to, &s->has_to))
    return false;
  s->range = true;
  *open = 0;
  return true;
}

/* Cuts ":COLUMNS" off the name of a CSV file: what follows is the user's own. NULL: there is none.
 */
static char *cut_columns(char *text, Suffixes *s) {
  static const char *const ends[] = {".csv:", ".tsv:", ".txt:", ".csv.gz:", ".tsv.gz:", ".txt.gz:"};
  size_t n = strlen(text);
  char *mark = NULL;
  for (size_t i = 0; i < sizeof ends / sizeof *ends && !mark; i++)
    if ((mark = strcasestr(text, ends[i]))) mark += strlen(ends[i]) - 1;
  if (!mark || !mark[1]) return NULL;
  size_t length = strcspn(mark + 1, "+~[");
  for (int i = 0; i < ELEM_COUNT; i++) /* its bytes are meant */
    if (strncmp(mark + 1, elem_info[i].name, length) == 0 && !elem_info[i].name[length])
      return NULL;
  if (text[n - 1] == ']') cut_range(text, s);
  *mark = 0;
  return mark[1] ? mark + 1 : NULL;
}

bool suffix_cut_window(char *text, Suffixes *s) {
  char *end = text + strlen(text), *mark = end;
  while (mark > text && mark[-1] >= '0' && mark[-1] <= '9') mark--;
  if (mark-- == text) return false;
  if (*mark == '+' && !s->offset && whole_number(mark + 1, end, &s->k))
    s->offset = true;
  else if (*mark == '~' && !s->step && whole_number(mark + 1, end, &s->s) && s->s > 0)
    s->step = true;
  else
    return false;
  *mark = 0;
  return true;
}

/* Cuts the last suffix; false: there is none. */
static bool cut(char *text, Suffixes *s) {
  size_t n = strlen(text);
  if (n && text[n - 1] == ']') return cut_range(text, s);
  char *mark = text + n;
  while (mark > text && *mark != '+' && *mark != '~' && *mark != ':' && *mark != '/') mark--;
  if (mark == text || *mark == '/' || *mark == 0) return false;
  if (*mark != ':') return suffix_cut_window(text, s);
  if (s->type) return false;
  for (int i = 0; i < ELEM_COUNT; i++)
    if (strcmp(mark + 1, elem_info[i].name) == 0) s->type = true, s->elem = (Elem)i;
  if (s->type) *mark = 0;
  return s->type;
}

void suffixes_cut(char *text, Suffixes *s, char **columns) {
  *s = (Suffixes){0};
  *columns = access(text, F_OK) != 0 ? cut_columns(text, s) : NULL;
  while (access(text, F_OK) != 0 && cut(text, s)) {
  }
}

bool suffix_rows(const Suffixes *s, uint64_t all, const char *path, uint64_t *first, uint64_t *rows,
                 Err *e) {
  int64_t n = (int64_t)all, from = 0, to = n;
  if (s->range && s->has_from) from = s->from < 0 ? s->from + n : s->from;
  if (s->range && s->has_to) to = s->to < 0 ? s->to + n : s->to;
  *first = (uint64_t)from, *rows = (uint64_t)(to - from);
  if (!s->range || (from >= 0 && to <= n && from < to)) return true;
  if (s->has_to)
    err_set(e, EXIT_WRONG,
            "%s: rows %" PRId64 " to %" PRId64 " were asked for, but it has %" PRId64 " rows", path,
            from, to, n);
  else
    err_set(e, EXIT_WRONG,
            "%s: rows from %" PRId64 " on were asked for, but it has %" PRId64 " rows", path, from,
            n);
  return err_hint(e, "[a:b] takes rows a to b, b not included, counted from 0");
}

bool suffix_is_known(const char *text, Err *e) {
  char file[PATH_MAX], types[200] = "";
  size_t n = strlen(text), at = n, used = 0;
  uint64_t row;
  if (n >= sizeof file || access(text, F_OK) == 0) return true;
  memcpy(file, text, n + 1);
  while (at > 0) { /* the longest name that there is */
    file[--at] = 0;
    if (strchr("[+~:", text[at]) && access(file, F_OK) == 0) break;
  }
  if (at == 0) return true;
  const char *end = text + n - 1, *suffix = text + at;
  if (*suffix == '[' && *end == ']' && whole_number(suffix + 1, end, &row)) {
    err_set(e, EXIT_WRONG, "%s: rows are chosen as a range, [a:b]", text);
    return err_hint(e, "this one alone is %s[%" PRIu64 ":%" PRIu64 "]", file, row, row + 1);
  }
  err_set(e, EXIT_WRONG, "%s: there is no such file, and '%s' is no suffix of %s", text, suffix,
          file);
  if (csv_is(file)) return err_hint(e, "columns stand before rows: %s:NAME,NAME[a:b]", file);
  for (int i = 0; i < ELEM_COUNT; i++)
    used += (size_t)snprintf(types + used, sizeof types - used, " %s", elem_info[i].name);
  return err_hint(e, "behind a file stand [a:b], +k, ~s and :TYPE; types are%s", types);
}
