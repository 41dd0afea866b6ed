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

static bool has_images(const Column *c) { return c->images && c->on_disk && !c->fixed; }

bool dataset_pairs_note(const Dataset *d, char *out, size_t size) {
  for (int i = 1; i < d->n; i++)
    for (int j = 0; j < i; j++)
      if (has_images(&d->columns[i]) && has_images(&d->columns[j]) &&
          note_of(&d->columns[j], &d->columns[i], out, size))
        return true;
  return false;
}
