/* The header of a .npy file, versions 1.0 to 3.0, and the header of one that is written.
   Contract: accepts just the dictionary that numpy writes (descr, fortran_order, shape, once each);
   no expression is evaluated, no object or structured type is read; products are checked. */
#include "runtime/data/file.h"
#include <stdlib.h>
#include <string.h>

bool array_count(Array *a, uint64_t *bytes) {
  uint64_t n = 1;
  for (int i = 0; i < a->rank; i++)
    if (a->dims[i] > INT64_MAX || !checked_mul(n, a->dims[i], &n)) return false;
  a->count = n;
  return n <= INT64_MAX / 16 && checked_mul(n, (uint64_t)elem_info[a->type].size, bytes);
}

bool npy_is(const uint8_t *p, uint64_t n) { return n >= 6 && memcmp(p, "\x93NUMPY", 6) == 0; }

typedef struct Dict {
  const char *p, *end;
  const char *path;
  Err *e;
} Dict;

static bool wrong(Dict *d, const char *what) {
  err_set(d->e, EXIT_WRONG, "%s: the header of the .npy file is wrong: %s", d->path, what);
  return err_hint(d->e, "write it again with numpy.save");
}

static void blanks(Dict *d) {
  while (d->p < d->end && (*d->p == ' ' || *d->p == '\n' || *d->p == '\t')) d->p++;
}

static bool take(Dict *d, char c) {
  blanks(d);
  if (d->p >= d->end || *d->p != c) return false;
  d->p++;
  return true;
}

static bool quoted(Dict *d, char *out, int size) {
  blanks(d);
  if (d->p >= d->end || (*d->p != '\'' && *d->p != '"')) return false;
  char quote = *d->p++;
  int n = 0;
  while (d->p < d->end && *d->p != quote) {
    if (*d->p < 0x20 || *d->p == '\\' || n + 1 >= size) return false;
    out[n++] = *d->p++;
  }
  out[n] = 0;
  return d->p++ < d->end;
}

static bool word(Dict *d, const char *w) {
  blanks(d);
  size_t n = strlen(w);
  if ((size_t)(d->end - d->p) < n || memcmp(d->p, w, n) != 0) return false;
  d->p += n;
  return true;
}

static bool number(Dict *d, uint64_t *out) {
  blanks(d);
  uint64_t v = 0;
  const char *start = d->p;
  for (; d->p < d->end && *d->p >= '0' && *d->p <= '9'; d->p++)
    if (!checked_mul(v, 10, &v) || !checked_add(v, (uint64_t)(*d->p - '0'), &v)) return false;
  *out = v;
  return d->p > start && (*start != '0' || d->p == start + 1);
}

static bool shape(Dict *d, Array *a) {
  if (!take(d, '(')) return wrong(d, "no shape");
  bool comma = true;
  while (!take(d, ')')) {
    if (!comma) return wrong(d, "the shape is not a list of numbers");
    if (a->rank == ARRAY_RANK) return wrong(d, "the shape has more than 64 axes");
    if (!number(d, &a->dims[a->rank])) return wrong(d, "the shape is not a list of sizes");
    a->rank++;
    comma = take(d, ',');
  }
  return true;
}

static bool element(Dict *d, const char *descr, Array *a) {
  char order = descr[0];
  if (order == '<' || order == '>' || order == '|' || order == '=') descr++;
  for (int i = 0; i < ELEM_COUNT; i++)
    if (elem_info[i].npy[0] && strcmp(descr, elem_info[i].npy) == 0) {
      a->type = (Elem)i;
      a->big = order == '>' && elem_info[i].size > 1;
      return true;
    }
  err_set(d->e, EXIT_WRONG, "%s: holds elements of type '%s', which cannot be read", d->path,
          descr);
  return err_hint(
      d->e, "convert the array in numpy, for example with .astype('float32'), and save it again");
}

bool npy_parse(const uint8_t *p, uint64_t n, Array *a, const char *path, Err *e) {
  *a = (Array){0};
  Dict d = {.path = path, .e = e};
  if (n < 10) return wrong(&d, "it is cut short");
  int major = p[6];
  if (major < 1 || major > 3 || p[7] != 0) return wrong(&d, "its version is not 1.0, 2.0 or 3.0");
  uint64_t at = major == 1 ? 10 : 12;
  if (n < at) return wrong(&d, "it is cut short");
  uint64_t len = p[8] | (uint64_t)p[9] << 8;
  if (major > 1) len |= (uint64_t)p[10] << 16 | (uint64_t)p[11] << 24;
  if (len > SOURCE_HEAD - 16) return wrong(&d, "it is longer than any that numpy writes");
  if (len > n - at) return wrong(&d, "it reaches past the end of the file");
  d.p = (const char *)p + at;
  d.end = d.p + len;
  a->header = at + len;
  int seen = 0; /* bit 0 descr, 1 fortran_order, 2 shape */
  bool fortran = false;
  if (!take(&d, '{')) return wrong(&d, "no dictionary");
  while (!take(&d, '}')) {
    char key[20], descr[24];
    if (!quoted(&d, key, sizeof key) || !take(&d, ':')) return wrong(&d, "a key is damaged");
    int bit = strcmp(key, "descr") == 0           ? 1
              : strcmp(key, "fortran_order") == 0 ? 2
              : strcmp(key, "shape") == 0         ? 4
                                                  : 0;
    if (!bit || seen & bit) return wrong(&d, "a key is unknown or repeated");
    seen |= bit;
    if (bit == 1) {
      if (!quoted(&d, descr, sizeof descr)) {
        err_set(e, EXIT_WRONG, "%s: holds structured elements, which cannot be read", path);
        return err_hint(e, "save each field as an array of its own");
      }
      if (!element(&d, descr, a)) return false;
    } else if (bit == 2) {
      fortran = word(&d, "True");
      if (!fortran && !word(&d, "False"))
        return wrong(&d, "fortran_order is neither True nor False");
    } else if (!shape(&d, a)) {
      return false;
    }
    if (!take(&d, ',')) {
      if (!take(&d, '}')) return wrong(&d, "the dictionary is damaged");
      break;
    }
  }
  if (seen != 7) return wrong(&d, "descr, fortran_order or shape is missing");
  blanks(&d);
  if (d.p != d.end) return wrong(&d, "bytes follow the dictionary");
  if (fortran && a->rank > 1) {
    err_set(e, EXIT_WRONG, "%s: the array is stored column by column (fortran_order)", path);
    return err_hint(e, "save it with numpy.save(path, numpy.ascontiguousarray(a))");
  }
  uint64_t bytes;
  if (!array_count(a, &bytes)) return wrong(&d, "the shape is too large for any machine");
  return true;
}

uint64_t npy_header(char *out, uint64_t size, Elem type, int rank, const uint64_t *dims) {
  int n = snprintf(out + 10, size - 10, "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
                   elem_info[type].size == 1 ? '|' : '<', elem_info[type].npy);
  for (int i = 0; i < rank; i++)
    n += snprintf(out + 10 + n, size - 10 - (uint64_t)n, "%llu%s", (unsigned long long)dims[i],
                  rank == 1      ? ","
                  : i + 1 < rank ? ", "
                                 : "");
  n += snprintf(out + 10 + n, size - 10 - (uint64_t)n, "), }");
  for (int mark = 0; mark < NPY_MARK || (10 + n + 1) % 64; mark++) out[10 + n++] = ' ';
  out[10 + n++] = '\n';
  memcpy(out, "\x93NUMPY\x01", 7);
  out[7] = 0;
  out[8] = (char)(n & 255);
  out[9] = (char)(n >> 8);
  return 10 + (uint64_t)n;
}

/* ---- which files an array may replace ---- */

/* The header that a program of gc wrote, read into *a; false: another one. */
static bool own_header(const File *f, Array *a) {
  Err none = {0};
  uint8_t head[10];
  if (!file_read(f, 0, head, sizeof head, &none)) return false;
  uint64_t n = sizeof head + (uint64_t)(head[8] | head[9] << 8);
  if (n < sizeof head + NPY_MARK + 1 || n > f->size) return false;
  uint8_t *all = malloc(n);
  bool own = all && file_read(f, 0, all, n, &none) && all[n - 1] == '\n';
  for (int i = 0; own && i < NPY_MARK; i++) own = all[n - 2 - (uint64_t)i] == ' ';
  own = own && npy_parse(all, n, a, f->path, &none);
  free(all);
  return own;
}

static const char *npy_foreign(const File *f, const void *arg) {
  const Array *of = arg;
  Array a;
  if (!own_header(f, &a)) return "a .npy file that gc did not write";
  bool same = a.type == of->type && (a.rank ? a.rank : 1) == of->rank;
  for (int i = 1; same && i < of->rank; i++) same = !of->dims[i] || of->dims[i] == a.dims[i];
  return same ? NULL : "a .npy file of other elements or other rows";
}

OutKind npy_kind(const Array *of) { return (OutKind){"a .npy file", npy_is, npy_foreign, of}; }
