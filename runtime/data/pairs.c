/* Two folders of images whose rows belong together, as pictures and their masks: rows are paired in
   the order of the names, so that one file too few shifts all that follow. Contract: a note, no
   error, as names may differ by a rule; they do if fewer than half of them are the same. */
#include "runtime/data/dataset.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The name of a file without its folder and its ending. */
static const char *stem(const char *path, size_t *n) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  const char *dot = strrchr(name, '.');
  *n = dot ? (size_t)(dot - name) : strlen(name);
  return name;
}

static bool same_stem(const char *a, const char *b) {
  size_t n, m;
  const char *x = stem(a, &n), *y = stem(b, &m);
  return n == m && memcmp(x, y, n) == 0;
}

static bool note_of(const Column *a, const Column *b, char *out, size_t size) {
  uint64_t same = 0;
  bool differs = false;
  for (uint64_t r = 0; r < a->rows; r++) {
    char *x = images_path(a, r), *y = images_path(b, r);
    const bool equal = !x || !y || same_stem(x, y);
    same += equal;
    if (!equal && !differs)
      snprintf(out, size,
               "rows are paired in order: row %" PRIu64 " of %s is %.150s, and of %s %.150s", r,
               a->t->name, x, b->t->name, y);
    differs |= !equal;
    free(x);
    free(y);
  }
  return differs && same >= a->rows - same;
}

/* Both have these rows, of one name. */
static bool same_at(const Column *a, uint64_t r, const Column *b, uint64_t s) {
  if (r >= a->rows || s >= b->rows) return false;
  char *x = images_path(a, r), *y = images_path(b, s);
  const bool same = x && y && same_stem(x, y);
  free(x);
  free(y);
  return same;
}

static bool has_images(const Column *c) { return c->images && c->on_disk && !c->fixed; }

bool dataset_pairs_note(const Dataset *d, char *out, size_t size) {
  for (int i = 1; i < d->n; i++)
    for (int j = 0; j < i; j++)
      if (has_images(&d->columns[i]) && has_images(&d->columns[j]) &&
          note_of(&d->columns[j], &d->columns[i], out, size))
        return true;
  return false;
}

bool dataset_pairs_hint(const Column *a, const Column *b, Err *e) {
  const uint64_t n = a->rows < b->rows ? a->rows : b->rows;
  uint64_t r = 0;
  if (!has_images(a) || !has_images(b)) return false;
  while (r < n && same_at(a, r, b, r)) r++;
  if (r == 0 && !same_at(a, 1, b, 0) && !same_at(a, 0, b, 1)) return false;
  const Column *more = r < n || a->rows > b->rows ? a : b, *other = more == a ? b : a;
  char *x = images_path(more, r), *y = r < n ? images_path(other, r) : NULL;
  if (x && y)
    err_hint(e,
             "rows are paired in the order of names: row %" PRIu64 " of %s is %.150s, and of %s "
             "%.150s",
             r, more->t->name, x, other->t->name, y);
  else if (x)
    err_hint(e,
             "rows are paired in the order of names: row %" PRIu64
             " of %s is %.150s, and %s has none",
             r, more->t->name, x, other->t->name);
  free(x);
  free(y);
  return true;
}
