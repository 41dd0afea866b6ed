/* The bytes of a file, or of a member of it, unpacked: plain ranges, gzip, and raw deflate as in
   zip. Contract: unpacks straight to where the caller points, never more than was asked, with a
   window of 64 KB; `whole` demands that the data end exactly there and that length and checksum are
   right. */
#include "runtime/base/machine.h"
#include "runtime/data/file.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { PIECE = 1 << 16 };

/* A bomb is a file whose end nobody asked for, and that is all but empty: what is unpacked for its
   length and sum alone has a bound. Data that a user packed has a ratio of 3 to 100. */
enum { BOMB_BYTES = 256 << 20, BOMB_RATIO = 200 };

static bool bad(const Source *s, const char *what, Err *e) {
  err_set(e, EXIT_WRONG, "%s%s%s: %s", s->file->path, s->member ? ": " : "",
          s->member ? s->member : "", what);
  return err_hint(e, "the file is damaged or cut short; fetch or write it again");
}

typedef struct Unpack {
  z_stream z;
  uint64_t in;    /* bytes of the packed data read so far */
  uint64_t out_n; /* and made of them */
  uint64_t asked; /* of these the rows take theirs */
  uint8_t buf[PIECE];
  uint8_t out[PIECE];
} Unpack;

static bool check_bomb(const Source *s, const Unpack *u, Err *e) {
  uint64_t have;
  const char *member = s->member ? s->member : "", *colon = s->member ? ": " : "";
  if (machine_memory(&have, NULL) && u->out_n > have) {
    err_set(e, EXIT_ENV,
            "%s%s%s: unpacks to more than the memory that this process may use, %" PRIu64 " bytes",
            s->file->path, colon, member, have);
    return err_hint(e, "unpack it, and take fewer rows with FILE[a:b]");
  }
  if (u->out_n <= u->asked || u->out_n - u->asked <= BOMB_BYTES || u->out_n / BOMB_RATIO < u->in)
    return true;
  err_set(e, EXIT_WRONG,
          "%s%s%s: unpacks to more than %d times its size, though its rows were needed up to byte "
          "%" PRIu64 " alone",
          s->file->path, colon, member, BOMB_RATIO, u->asked);
  return err_hint(e, "if it is meant so, unpack it first or take all of its rows");
}

/* Unpacks up to n bytes to dst, or to nowhere; *got < n only at the end of the data. */
static bool unpack(const Source *s, Unpack *u, uint8_t *dst, uint64_t n, uint64_t *got, bool *end,
                   uint32_t *crc, Err *e) {
  *got = 0;
  while (*got < n && !*end) {
    if (u->z.avail_in == 0 && u->in < s->packed) {
      uint64_t piece = s->packed - u->in;
      if (piece > PIECE) piece = PIECE;
      if (!file_read(s->file, s->start + u->in, u->buf, piece, e)) return false;
      u->in += piece;
      u->z.next_in = u->buf;
      u->z.avail_in = (uInt)piece;
    }
    uint64_t want = n - *got;
    if (want > PIECE) want = PIECE;
    u->z.next_out = u->out;
    u->z.avail_out = (uInt)want;
    bool starved = u->z.avail_in == 0;
    int r = inflate(&u->z, Z_NO_FLUSH);
    uint64_t made = want - u->z.avail_out;
    *crc = (uint32_t)crc32(*crc, u->out, (uInt)made);
    if (dst) memcpy(dst + *got, u->out, made);
    *got += made;
    u->out_n += made;
    if (file_interrupted(s->file->path, e) || !check_bomb(s, u, e)) return false;
    if (r == Z_STREAM_END)
      *end = true;
    else if (r == Z_BUF_ERROR && starved)
      return bad(s, "the packed data ends too early", e);
    else if (r != Z_OK && r != Z_BUF_ERROR)
      return bad(s, "the packed data is damaged", e);
  }
  return true;
}

static bool unpack_run(const Source *s, Unpack *u, uint64_t at, uint8_t *dst, uint64_t n,
                       bool whole, uint64_t *got, uint64_t *total, Err *e) {
  bool end = false;
  uint32_t crc = 0;
  uint64_t skipped = 0;
  if (!unpack(s, u, NULL, at, &skipped, &end, &crc, e)) return false;
  if (!unpack(s, u, dst, n, got, &end, &crc, e)) return false;
  *total = skipped + *got;
  if (!whole) return true;
  uint64_t limit = s->size == SOURCE_UNKNOWN ? UINT64_MAX - *total : s->size + 1 - *total, rest = 0;
  if (s->size != SOURCE_UNKNOWN && *total > s->size)
    return bad(s, "the data is longer than it says", e);
  if (!unpack(s, u, NULL, limit, &rest, &end, &crc, e)) return false;
  *total += rest;
  if (s->size != SOURCE_UNKNOWN && *total != s->size)
    return bad(s,
               *total > s->size ? "the data is longer than it says"
                                : "the data is shorter than it says",
               e);
  if (s->has_crc && crc != s->crc) return bad(s, "the checksum is wrong", e);
  if (u->in < s->packed || u->z.avail_in)
    return bad(s, "bytes follow the end of the packed data", e);
  return true;
}

static bool packed(const Source *s, uint64_t at, uint8_t *dst, uint64_t n, bool whole,
                   uint64_t asked, uint64_t *got, uint64_t *total, Err *e) {
  Unpack *u = calloc(1, sizeof *u);
  if (!u || inflateInit2(&u->z, s->kind == SOURCE_GZIP ? 31 : -15) != Z_OK) {
    free(u);
    return err_set(e, EXIT_ENV, "%s: no memory to unpack it", s->file->path);
  }
  u->asked = asked;
  bool ok = unpack_run(s, u, at, dst, n, whole, got, total, e);
  inflateEnd(&u->z);
  free(u);
  return ok;
}

static bool plain_sum(const Source *s, Err *e) {
  uint8_t *buf = malloc(PIECE);
  if (!buf) return err_set(e, EXIT_ENV, "%s: no memory to check it", s->file->path);
  uint32_t crc = 0;
  bool ok = true;
  for (uint64_t at = 0; ok && at < s->packed;) {
    uint64_t n = s->packed - at < PIECE ? s->packed - at : PIECE;
    ok = !file_interrupted(s->file->path, e) && file_read(s->file, s->start + at, buf, n, e);
    crc = ok ? (uint32_t)crc32(crc, buf, (uInt)n) : 0;
    at += n;
  }
  free(buf);
  if (ok && crc != s->crc) return bad(s, "the checksum is wrong", e);
  return ok;
}

bool source_read(const Source *s, uint64_t at, void *dst, uint64_t n, bool whole, Err *e) {
  if (s->kind != SOURCE_PLAIN) {
    uint64_t got = 0, total = 0;
    if (!checked_add(at, n, &total)) return bad(s, "the data is shorter than it says", e);
    if (!packed(s, at, dst, n, whole && !s->measured, total, &got, &total, e)) return false;
    return got == n ? true : bad(s, "the data is shorter than it says", e);
  }
  uint64_t end;
  if (!checked_add(at, n, &end) || end > s->packed)
    return bad(s, "the data is shorter than it says", e);
  if (!file_read(s->file, s->start + at, dst, n, e)) return false;
  return whole && s->has_crc ? plain_sum(s, e) : true;
}

bool source_head(const Source *s, void *dst, uint64_t size, uint64_t *got, Err *e) {
  uint64_t total;
  if (s->kind != SOURCE_PLAIN) return packed(s, 0, dst, size, false, size, got, &total, e);
  *got = s->packed < size ? s->packed : size;
  return file_read(s->file, s->start, dst, *got, e);
}

bool source_measure(Source *s, uint64_t asked, Err *e) {
  if (s->kind == SOURCE_PLAIN) {
    s->size = s->packed;
    return true;
  }
  if (s->size != SOURCE_UNKNOWN) return true;
  uint64_t got = 0, total = 0;
  if (!packed(s, 0, NULL, 0, true, asked, &got, &total, e)) return false;
  s->size = total;
  s->measured = true;
  return true;
}
