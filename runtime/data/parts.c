/* Several files as one: a pattern with * or ? stands for all files that it matches, their rows one
   after the other, in the order of their names, byte by byte. Contract: all have one type, and
   words of labels are numbered over all of them; windows, +k and ~s, are those of the files joined
   into one. */
#include "runtime/data/binding.h"
#include "runtime/data/rows.h"
#include <glob.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool parts_are(const char *path) { return strpbrk(path, "*?") && access(path, F_OK) != 0; }

static int by_name(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool open_part(Column *c, const char *path, const Suffixes *s, const char *columns, Err *e) {
  Column *p = &c->parts[c->nparts++];
  const Column *first = &c->parts[0];
  *p = (Column){.t = c->t,
                .leader = -1,
                .text = strdup(path),
                .file = {.fd = -1},
                .extents = c->windows ? NULL : c->extents,
                .entry = c->entry,
                .row_elems = c->row_elems,
                .request = c->request,
                .before = c->total};
  char *own = columns ? strdup(columns) : NULL;
  bool ok = p->text && (own || !columns) ? column_open_file(p, s, own, e)
                                         : err_set(e, EXIT_ENV, "no memory to read %s", path);
  free(own);
  if (!ok) return false;
  if (p->extents) column_at_bounds(c, c->extents); /* the first file has settled them */
  if (p->images) {
    err_set(e, EXIT_WRONG, "%s: is no array among %s", path, c->text);
    return err_hint(e, "a pattern stands for images alone, or for other files alone");
  }
  if (p->type != first->type) {
    err_set(e, EXIT_WRONG, "%s: holds %s, but %s holds %s", path, elem_info[p->type].name,
            first->text, elem_info[first->type].name);
    return err_hint(e, "files of a pattern have one type; convert one of them");
  }
  if (p->flat && !c->windows && p->total % c->row_elems) {
    err_set(e, EXIT_WRONG,
            "%s: has %" PRIu64 " elements, which is no whole number of rows of %" PRIu64, path,
            p->total, c->row_elems);
    return err_hint(e, "~%" PRIu64 " behind the pattern lets rows go from one file into the next",
                    c->row_elems);
  }
  if (p->csv && !csv_same_columns(first, p, e)) return false;
  if (p->line && (p->offset || p->step != p->line || p->row_elems != p->line)) {
    err_set(e, EXIT_WRONG, "%s: windows are of one table, but %s matches several", path, c->text);
    return err_hint(e, "join the tables to one file");
  }
  c->flat &= p->flat;
  c->all_rows += p->all_rows, c->total += p->total;
  return true;
}

/* The words of all parts, and of each the numbers in this list. */
static bool join_words(Column *c, Err *e) {
  const Words *first = &c->parts[0].words;
  if (first->listed || first->from) return words_copy(&c->words, first, e);
  for (int k = 0; k < c->nparts; k++)
    for (int i = 0; i < c->parts[k].words.n; i++)
      if (words_find(&c->words, c->parts[k].words.at[i]) < 0 &&
          !words_add(&c->words, c->parts[k].words.at[i], e))
        return false;
  words_sort(&c->words);
  memcpy(c->words.name, c->parts[0].words.name, WORD);
  for (int k = 0; k < c->nparts && c->words.n; k++) {
    words_free(&c->parts[k].words);
    for (int i = 0; i < c->words.n; i++)
      if (!words_add(&c->parts[k].words, c->words.at[i], e)) return false;
  }
  return true;
}

static bool open_all(Column *c, char **paths, size_t n, const Suffixes *s, const char *columns,
                     Err *e) {
  for (size_t i = 0; i < n; i++)
    if (images_are(paths[i])) {
      err_set(e, EXIT_WRONG, "%s: is a folder, which the pattern %s matches", paths[i], c->text);
      return err_hint(e, "a pattern stands for files; a folder of images, with a folder for each "
                         "class or none, is given by its name alone");
    }
  if (images_are_files(paths, n)) return images_open_files(c, paths, n, e);
  if (c->fixed) {
    err_set(e, EXIT_WRONG, "%s: matches %zu files, but the input %s has no batch axis", c->text, n,
            c->t->name);
    return err_hint(e, "give one file");
  }
  c->parts = calloc(n, sizeof *c->parts);
  if (!c->parts) return err_set(e, EXIT_ENV, "no memory to read %s", c->text);
  c->windows = s->offset || s->step;
  c->flat = true;
  for (size_t i = 0; i < n; i++)
    if (!open_part(c, paths[i], s, columns, e)) return false;
  if (!words_copy(&c->columns, &c->parts[0].columns, e)) return false;
  c->type = c->parts[0].type;
  c->step = c->row_elems;
  return c->windows ? column_take_windows(c, s, e) : join_words(c, e);
}

bool parts_open(Column *c, const Suffixes *s, const char *columns, Err *e) {
  glob_t g = {0};
  int found = glob(c->text, GLOB_NOSORT, NULL, &g);
  bool ok = false;
  c->file.path = c->text;
  if (found == GLOB_NOMATCH) {
    err_set(e, EXIT_WRONG, "%s: matches no file", c->text);
    err_hint(
        e, "* stands for any characters and ? for one; it is looked up from the current directory");
  } else if (found) {
    err_set(e, EXIT_ENV, "%s: no memory for the files that it matches", c->text);
  } else {
    qsort(g.gl_pathv, g.gl_pathc, sizeof *g.gl_pathv, by_name);
    ok = open_all(c, g.gl_pathv, g.gl_pathc, s, columns, e);
  }
  globfree(&g);
  return ok;
}

const Column *column_part(const Column *c, uint64_t *element) {
  for (int k = 0; k < c->nparts; k++)
    if (*element < c->parts[k].before + c->parts[k].total) {
      *element -= c->parts[k].before;
      return &c->parts[k];
    }
  return c;
}

const Column *column_row_part(const Column *c, uint64_t *row) {
  if (!c->parts || c->windows) return c;
  uint64_t element = *row * c->row_elems;
  const Column *part = column_part(c, &element);
  *row = element / c->row_elems;
  return part;
}
