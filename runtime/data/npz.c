/* Finds one array in a .npz file, a zip archive of .npy members, stored or deflated.
   Contract: the central directory rules and each local header must agree with it; one part, no
   encryption, no duplicate member of the wanted name. Source: PKWARE APPNOTE 6.3.9, sections 4.3
   and 4.5.3 (zip64). */
#include "runtime/data/file.h"
#include <stdlib.h>
#include <string.h>

static uint64_t le(const uint8_t *p, int n) {
  uint64_t v = 0;
  for (int i = n - 1; i >= 0; i--) v = v << 8 | p[i];
  return v;
}

static bool broken(const File *f, const char *what, Err *e) {
  err_set(e, EXIT_WRONG, "%s: the .npz archive is damaged: %s", f->path, what);
  return err_hint(e, "fetch it again, or write it again with numpy.savez");
}

bool npz_is(const uint8_t *p, uint64_t n) {
  return n >= 4 && p[0] == 'P' && p[1] == 'K' &&
         ((p[2] == 3 && p[3] == 4) || (p[2] == 5 && p[3] == 6));
}

bool file_is_of_torch(const char *path, Err *e) {
  err_set(e, EXIT_WRONG, "%s: is a file of PyTorch (torch.save), not an array", path);
  return err_hint(e, "in Python: numpy.save('x.npy', torch.load('%s').numpy())", path);
}

typedef struct Directory {
  uint64_t at, bytes, members;
} Directory;

static bool find_directory(const File *f, uint8_t *buf, Directory *d, Err *e) {
  uint64_t tail = f->size < SOURCE_HEAD ? f->size : SOURCE_HEAD;
  uint64_t base = f->size - tail;
  if (tail < 22) return broken(f, "it is cut short", e);
  if (!file_read(f, base, buf, tail, e)) return false;
  uint64_t i = tail - 22;
  while (!(le(buf + i, 4) == 0x06054b50 && le(buf + i + 20, 2) == tail - i - 22)) {
    if (i == 0) return broken(f, "no directory at its end", e);
    i--;
  }
  if (le(buf + i + 4, 2) || le(buf + i + 6, 2)) return broken(f, "it has several parts", e);
  d->members = le(buf + i + 10, 2);
  d->bytes = le(buf + i + 12, 4);
  d->at = le(buf + i + 16, 4);
  uint64_t end = base + i;
  if (d->members == 0xFFFF || d->bytes == 0xFFFFFFFF || d->at == 0xFFFFFFFF) { /* zip64 */
    uint8_t loc[20], rec[56];
    if (end < 20) return broken(f, "its zip64 directory is missing", e);
    if (!file_read(f, end - 20, loc, 20, e)) return false;
    uint64_t where = le(loc + 8, 8), rec_end;
    if (le(loc, 4) != 0x07064b50 || !checked_add(where, 56, &rec_end) || rec_end > end - 20)
      return broken(f, "its zip64 directory is missing", e);
    if (!file_read(f, where, rec, 56, e)) return false;
    if (le(rec, 4) != 0x06064b50) return broken(f, "its zip64 directory is missing", e);
    d->members = le(rec + 32, 8);
    d->bytes = le(rec + 40, 8);
    d->at = le(rec + 48, 8);
    end = where;
  }
  uint64_t dir_end;
  if (!checked_add(d->at, d->bytes, &dir_end) || dir_end != end)
    return broken(f, "its directory is not where it says", e);
  return true;
}

typedef struct NpzMember {
  uint64_t flags, method, crc, packed, size, local;
  uint64_t name_len;
} NpzMember;

/* The 64-bit sizes of the zip64 extra field, for those that are all ones in the entry itself. */
static bool zip64(const uint8_t *x, uint64_t n, NpzMember *m) {
  uint64_t *wide[3];
  int want = 0;
  if (m->size == 0xFFFFFFFF) wide[want++] = &m->size;
  if (m->packed == 0xFFFFFFFF) wide[want++] = &m->packed;
  if (m->local == 0xFFFFFFFF) wide[want++] = &m->local;
  for (uint64_t i = 0; want && i + 4 <= n;) {
    uint64_t id = le(x + i, 2), len = le(x + i + 2, 2);
    if (len > n - i - 4) return false;
    if (id == 1) {
      if (len < 8 * (uint64_t)want) return false;
      for (int k = 0; k < want; k++) *wide[k] = le(x + i + 4 + (size_t)k * 8, 8);
      return true;
    }
    i += 4 + len;
  }
  return want == 0;
}

static bool member_source(const File *f, const Directory *d, const NpzMember *m, char *name,
                          uint8_t *buf, Source *out, Err *e) {
  if (m->flags & 0x41) {
    err_set(e, EXIT_WRONG, "%s: %s is encrypted", f->path, name);
    return err_hint(e, "write the archive without a password");
  }
  if (m->method != 0 && m->method != 8) {
    err_set(e, EXIT_WRONG, "%s: %s is packed by method %llu; only stored and deflated can be read",
            f->path, name, (unsigned long long)m->method);
    return err_hint(e, "write it with numpy.savez or numpy.savez_compressed");
  }
  uint64_t end;
  if (!checked_add(m->local, 30, &end) || end > d->at)
    return broken(f, "a member lies outside of it", e);
  if (!file_read(f, m->local, buf, 30, e)) return false;
  uint64_t name_len = le(buf + 26, 2), extra = le(buf + 28, 2);
  if (le(buf, 4) != 0x04034b50 || le(buf + 8, 2) != m->method || name_len != m->name_len)
    return broken(f, "a member's own header disagrees with the directory", e);
  bool streamed = m->flags & 8; /* sizes follow the data: the directory has them */
  uint64_t csize = le(buf + 18, 4), usize = le(buf + 22, 4);
  if (!streamed && ((csize != 0xFFFFFFFF && csize != m->packed) ||
                    (usize != 0xFFFFFFFF && usize != m->size) || le(buf + 14, 4) != m->crc))
    return broken(f, "a member's own sizes disagree with the directory", e);
  if (!checked_add(end, name_len + extra, &end) || end > d->at || m->packed > d->at - end)
    return broken(f, "a member lies outside of it", e);
  if (!file_read(f, m->local + 30, buf, name_len, e)) return false;
  if (memcmp(buf, name, name_len) != 0)
    return broken(f, "a member's own name disagrees with the directory", e);
  if (m->method == 0 && m->packed != m->size) return broken(f, "a stored member has two sizes", e);
  if (m->method == 8 && m->size / 1032 > m->packed)
    return broken(f, "a member claims more than deflate can pack", e);
  *out = (Source){.file = f,
                  .kind = m->method ? SOURCE_DEFLATE : SOURCE_PLAIN,
                  .start = end,
                  .packed = m->packed,
                  .size = m->size,
                  .has_crc = true,
                  .crc = (uint32_t)m->crc,
                  .member = name};
  return true;
}

/* The members' names, for the message that the wanted one is missing. */
typedef struct MemberNames {
  char text[200];
  int at;
} MemberNames;

static void names_add(MemberNames *n, const uint8_t *name, uint64_t len) {
  if (n->at > 150 || len > 60 || len < 4) return;
  n->at += snprintf(n->text + n->at, sizeof n->text - (size_t)n->at, "%s%.*s", n->at ? ", " : "",
                    (int)len - 4, name);
}

static bool scan(const File *f, const char *key, char *name, uint8_t *buf, Source *out, Err *e) {
  Directory d = {0};
  MemberNames names = {0};
  bool torch = false;
  if (!find_directory(f, buf, &d, e)) return false;
  NpzMember found = {0};
  int hits = 0;
  uint64_t at = d.at, end = d.at + d.bytes, key_len = strlen(key);
  for (uint64_t i = 0; i < d.members; i++) {
    if (end - at < 46) return broken(f, "its directory is cut short", e);
    if (!file_read(f, at, buf, 46, e)) return false;
    if (le(buf, 4) != 0x02014b50) return broken(f, "its directory holds something else", e);
    NpzMember m = {.flags = le(buf + 8, 2),
                   .method = le(buf + 10, 2),
                   .crc = le(buf + 16, 4),
                   .packed = le(buf + 20, 4),
                   .size = le(buf + 24, 4),
                   .name_len = le(buf + 28, 2),
                   .local = le(buf + 42, 4)};
    uint64_t extra = le(buf + 30, 2), rest = m.name_len + extra + le(buf + 32, 2);
    at += 46;
    if (rest > end - at) return broken(f, "its directory is cut short", e);
    if (m.name_len + extra > SOURCE_HEAD) return broken(f, "a member's name is too long", e);
    if (!file_read(f, at, buf, m.name_len + extra, e)) return false;
    if (!zip64(buf + m.name_len, extra, &m))
      return broken(f, "a member's zip64 sizes are damaged", e);
    names_add(&names, buf, m.name_len);
    torch |= m.name_len > 9 && memcmp(buf + m.name_len - 9, "/data.pkl", 9) == 0;
    if (m.name_len == key_len + 4 && memcmp(buf, key, key_len) == 0 &&
        memcmp(buf + key_len, ".npy", 4) == 0) {
      if (hits++) return broken(f, "two members have the same name", e);
      found = m;
      memcpy(name, buf, m.name_len);
      name[m.name_len] = 0;
    }
    at += rest;
  }
  if (at != end) return broken(f, "bytes follow its directory", e);
  if (!hits && torch) return file_is_of_torch(f->path, e);
  if (!hits) {
    err_set(e, EXIT_WRONG, "%s: has no array of the name %s; it has: %s", f->path, key,
            names.at ? names.text : "none");
    return err_hint(e, "the name of an array must be the input's; or give an .npy file");
  }
  return member_source(f, &d, &found, name, buf, out, e);
}

bool npz_find(const File *f, const char *key, char *scratch, Source *out, Err *e) {
  uint8_t *buf = malloc(SOURCE_HEAD + 1);
  if (!buf || strlen(key) + 5 > SOURCE_HEAD) {
    free(buf);
    return err_set(e, EXIT_ENV, "%s: no memory to read it", f->path);
  }
  bool ok = scan(f, key, scratch, buf, out, e);
  free(buf);
  return ok;
}
