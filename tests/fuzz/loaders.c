/* Mutated data and weight files against every loader: fuzz_loaders [SECONDS | NUMBERt] [SEED], for
   so many seconds or that many files. A loader may accept or refuse; it may not crash, hang, or
   accept what it then cannot gather. Build with sanitizers (GC_SANITIZE=ON) to see more. A seed
   always makes the same files, so that a finding repeats. */
#include "runtime/data/dataset.h"
#include "runtime/data/image.h"
#include "runtime/weights/safetensors.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

typedef struct Seeds {
  uint8_t b[4096];
  size_t n;
} Seeds;

static uint64_t next(uint64_t *s) {
  *s ^= *s << 13, *s ^= *s >> 7, *s ^= *s << 17;
  return *s;
}

static void le(Seeds *z, uint64_t v, int n) {
  for (int i = 0; i < n; i++) z->b[z->n++] = i < 8 ? (uint8_t)(v >> 8 * i) : 0;
}

static void seed_npy(Seeds *s) {
  uint64_t dims[] = {6, 4};
  s->n = npy_header((char *)s->b, sizeof s->b, ELEM_F32, 2, dims);
  for (int i = 0; i < 24; i++) le(s, 0x3F800000, 4);
}

static void seed_idx(Seeds *s) {
  static const uint8_t head[] = {0, 0, 8, 3, 0, 0, 0, 6, 0, 0, 0, 2, 0, 0, 0, 2};
  memcpy(s->b, head, sizeof head);
  s->n = sizeof head + 24;
}

static void seed_gzip(Seeds *s) {
  Seeds in = {0};
  seed_idx(&in);
  z_stream z = {
      .next_in = in.b, .avail_in = (uInt)in.n, .next_out = s->b, .avail_out = sizeof s->b};
  if (deflateInit2(&z, 9, Z_DEFLATED, 31, 8, 0) != Z_OK) exit(2);
  deflate(&z, Z_FINISH);
  s->n = z.total_out;
  deflateEnd(&z);
}

static void seed_npz(Seeds *s) {
  Seeds in = {0};
  seed_npy(&in);
  uint32_t crc = (uint32_t)crc32(0, in.b, (uInt)in.n);
  le(s, 0x04034b50, 4), le(s, 20, 2), le(s, 0, 8), le(s, crc, 4), le(s, in.n, 4), le(s, in.n, 4),
      le(s, 5, 2), le(s, 0, 2);
  memcpy(s->b + s->n, "x.npy", 5), s->n += 5;
  memcpy(s->b + s->n, in.b, in.n), s->n += in.n;
  size_t at = s->n;
  le(s, 0x02014b50, 4), le(s, 20, 4), le(s, 0, 8), le(s, crc, 4), le(s, in.n, 4), le(s, in.n, 4),
      le(s, 5, 2), le(s, 0, 16);
  memcpy(s->b + s->n, "x.npy", 5), s->n += 5;
  size_t size = s->n - at;
  le(s, 0x06054b50, 4), le(s, 0, 4), le(s, 1, 2), le(s, 1, 2), le(s, size, 4), le(s, at, 4),
      le(s, 0, 2);
}

static void seed_csv(Seeds *s) {
  static const char text[] =
      "\xEF\xBB\xBF"
      "a,\"b \"\"c\"\"\",d,e\r\n1,-2.5,3e1,\"4\"\n5,6,7,8\n\n9,1,2,3\n4,5,6,7";
  memcpy(s->b, text, s->n = sizeof text - 1);
}

static void put_chunk(Seeds *s, const char *kind, const void *data, size_t n) {
  for (int i = 24; i >= 0; i -= 8) s->b[s->n++] = (uint8_t)(n >> i);
  memcpy(s->b + s->n, kind, 4);
  if (n) memcpy(s->b + s->n + 4, data, n);
  uint32_t crc = (uint32_t)crc32(0, s->b + s->n, (uInt)n + 4);
  s->n += n + 4;
  for (int i = 24; i >= 0; i -= 8) s->b[s->n++] = (uint8_t)(crc >> i);
}

static void seed_png(Seeds *s) {
  static const uint8_t head[] = {0, 0, 0, 5, 0, 0, 0, 6, 8, 2, 0, 0, 0}; /* 5 x 6, RGB */
  uint8_t rows[6 * 16] = {0}, packed[256];
  uLongf n = sizeof packed;
  for (size_t i = 0; i < sizeof rows; i++) rows[i] = (uint8_t)(i % 16 ? i * 7 : i / 16 % 5);
  if (compress(packed, &n, rows, sizeof rows) != Z_OK) exit(2);
  memcpy(s->b, "\x89PNG\r\n\x1a\n", s->n = 8);
  put_chunk(s, "IHDR", head, sizeof head);
  put_chunk(s, "tEXt", "a\0b", 3);
  put_chunk(s, "IDAT", packed, n);
  put_chunk(s, "IEND", NULL, 0);
}

/* Sums that are right again, so that what stands behind them is read. */
static void mend_png(Seeds *s) {
  for (size_t at = 8; at + 12 <= s->n;) {
    size_t n = (size_t)s->b[at] << 24 | (size_t)s->b[at + 1] << 16 | (size_t)s->b[at + 2] << 8 |
               s->b[at + 3];
    if (n > s->n - at - 12) return;
    uint32_t crc = (uint32_t)crc32(0, s->b + at + 4, (uInt)n + 4);
    for (int i = 0; i < 4; i++) s->b[at + 8 + n + (size_t)i] = (uint8_t)(crc >> (24 - 8 * i));
    at += n + 12;
  }
}

/* 8 x 8, gray: a quantization table of ones, one code for each alphabet, and one flat block. */
static void seed_jpeg(Seeds *s) {
  static const uint8_t frame[] = {0xFF, 0xC0, 0, 11, 8, 0, 8, 0, 8, 1, 1, 0x11, 0},
                       dc[] = {0xFF, 0xC4, 0, 20, 0x00, 1, 0, 0, 0, 0, 0,
                               0,    0,    0, 0,  0,    0, 0, 0, 0, 0, 0},
                       ac[] = {0xFF, 0xC4, 0, 20, 0x10, 1, 0, 0, 0, 0, 0,
                               0,    0,    0, 0,  0,    0, 0, 0, 0, 0, 0},
                       scan[] = {0xFF, 0xDA, 0, 8, 1, 1, 0, 0, 63, 0, 0x3F, 0xFF, 0xD9};
  static const uint8_t begin[] = {0xFF, 0xD8, 0xFF, 0xDB, 0, 67, 0};
  memcpy(s->b, begin, s->n = sizeof begin);
  memset(s->b + s->n, 1, 64), s->n += 64;
  memcpy(s->b + s->n, frame, sizeof frame), s->n += sizeof frame;
  memcpy(s->b + s->n, dc, sizeof dc), s->n += sizeof dc;
  memcpy(s->b + s->n, ac, sizeof ac), s->n += sizeof ac;
  memcpy(s->b + s->n, scan, sizeof scan), s->n += sizeof scan;
}

static void seed_safetensors(Seeds *s) {
  static const char h[] = "{\"__metadata__\":{\"format\":\"gc\"},\"a\":{\"dtype\":\"F32\","
                          "\"shape\":[2,3],\"data_offsets\":[0,24]},"
                          "\"b\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[24,32]}}  ";
  le(s, sizeof h - 1, 8);
  memcpy(s->b + s->n, h, sizeof h - 1);
  s->n += sizeof h - 1 + 32;
}

static void mutate(Seeds *s, uint64_t *rng) {
  static const uint8_t nasty[] = {0,   1,   0x7F, 0x80, 0xFF, '{', '}', '[',
                                  ']', '"', '\\', ',',  '9',  '0', '-', '\''};
  for (uint64_t k = next(rng) % 4 + 1; k; k--) {
    uint64_t at = s->n ? next(rng) % s->n : 0, kind = next(rng) % 8, len = next(rng) % 16;
    if (s->n == 0) return;
    if (kind < 2)
      s->b[at] ^= (uint8_t)(1U << next(rng) % 8);
    else if (kind < 4)
      s->b[at] = nasty[next(rng) % sizeof nasty];
    else if (kind == 4)
      s->n = at;
    else if (kind == 5 && s->n + len <= sizeof s->b)
      memmove(s->b + at + len, s->b + at, s->n - at), s->n += len;
    else if (kind == 6 && at + len <= s->n)
      memmove(s->b + at, s->b + at + len, s->n - at - len), s->n -= len;
    else if (kind == 7 && at + 8 <= s->n)
      memset(s->b + at, next(rng) % 2 ? 0xFF : 0, 1 + next(rng) % 8);
  }
}

static bool use_data(const char *path, const char *suffix, bool image) {
  const int64_t dims[] = {image ? 1 : 2, 4};
  const GcTensor t = {.name = "x", .dtype = GC_F32, .rank = 2, .dims = dims};
  const GcEntry entry = {.inputs = &t, .ninputs = 1};
  char text[128];
  snprintf(text, sizeof text, "%s%s", path, suffix);
  const char *texts[] = {text};
  Dataset d;
  Err e = {0};
  bool ok = dataset_open(&d, &entry, texts, &(DataRequest){.shuffle = true}, &e);
  static unsigned turn;
  TemporaryFolder folder = {.path = turn % 2 ? "." : NULL, .sharers = 1};
  if (ok && turn++ % 3 == 0)
    ok =
        dataset_limit(&d, 0, turn % 4 > 1, &folder, &e); /* rows stay on disk, unpacked ones, too */
  if (ok && d.bytes > 1 << 20)
    fprintf(stderr, "%s asks for %llu bytes\n", text, (unsigned long long)d.bytes), abort();
  ok = ok && dataset_load(&d, &e);
  float in[8];
  for (uint64_t b = 0; ok && b < d.batches; b++) dataset_gather(&d, (uint8_t *)in, b, 0, 1);
  if (ok == (e.code != 0)) abort(); /* refused without a reason, or accepted with one */
  dataset_free(&d);
  return ok;
}

static bool use_weights(const char *path) {
  File f;
  SafeTable t;
  Err e = {0};
  if (!file_open(&f, path, &e)) return false;
  bool ok = safe_open(&t, &f, &e);
  for (uint64_t i = 0, at = 0; ok && i < t.n; i++) { /* what was accepted lies inside of the file */
    const SafeEntry *x = &t.entries[i];
    if (x->end < x->begin || t.data + x->end > f.size) abort();
    at += x->end - x->begin;
    if (i + 1 == t.n && t.data + at != f.size) abort();
  }
  if (ok == (e.code != 0)) abort();
  if (ok) safe_free(&t);
  file_close(&f);
  return ok;
}

int main(int argc, char **argv) {
  static void (*const seeds[])(Seeds *) = {seed_npy,         seed_idx, seed_gzip, seed_npz,
                                           seed_safetensors, seed_csv, seed_png,  seed_jpeg};
  enum { KINDS = sizeof seeds / sizeof *seeds };
  const unsigned kinds = gcrt_image_formats ? KINDS : KINDS - 2; /* images are last */
  char *unit = "";
  uint64_t most = argc > 1 ? strtoull(argv[1], &unit, 10) : 5;
  bool counted = *unit == 't';
  uint64_t rng = (argc > 2 ? strtoull(argv[2], NULL, 10) : 1) * 0x9E3779B97F4A7C15ULL | 1;
  uint64_t runs = 0, accepted[KINDS] = {0}, tried[KINDS] = {0};
  int fd = memfd_create("fuzz", 0);
  char path[64], csv[64]; /* a name tells CSV */
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  snprintf(csv, sizeof csv, "/tmp/loaders-%ld.csv", (long)getpid());
  if (symlink(path, csv) != 0) return 2;
  time_t end = time(NULL) + (time_t)most;
  for (; counted ? runs < most : runs % 64 || time(NULL) < end; runs++) {
    unsigned kind = (unsigned)(next(&rng) % kinds);
    if (kind > 5 && next(&rng) % 16) kind -= 6; /* each takes a thread that reads ahead */
    Seeds s = {0};
    seeds[kind](&s);
    if (runs >= KINDS * 4) mutate(&s, &rng); /* the first ones as they are */
    if (kind == 6 && runs % 4) mend_png(&s);
    if (ftruncate(fd, 0) != 0 || pwrite(fd, s.b, s.n, 0) != (ssize_t)s.n) return 2;
    bool ok = kind == 4   ? use_weights(path)
              : kind == 5 ? use_data(csv,
                                     runs % 5 == 0   ? ":u8"
                                     : runs % 7 == 0 ? ":1..4[0:2]"
                                                     : "",
                                     false)
              : kind > 5  ? use_data(path, "", true)
                          : use_data(path,
                                    runs % 5 == 0   ? ":u8"
                                     : runs % 7 == 0 ? "[0:2]"
                                                     : "",
                                     false);
    tried[kind]++, accepted[kind] += ok;
    if (runs < KINDS * 4 && !ok && runs % 5 != 0)
      fprintf(stderr, "a good file of kind %u was refused\n", kind), abort();
  }
  static const char *const names[KINDS] = {"npy",         "idx", "gzip", "npz",
                                           "safetensors", "csv", "png",  "jpeg"};
  for (unsigned k = 0; k < kinds; k++)
    printf("%-12s %8llu files, %8llu accepted\n", names[k], (unsigned long long)tried[k],
           (unsigned long long)accepted[k]);
  close(fd);
  unlink(csv);
  for (unsigned k = 0; k < kinds; k++)
    if (accepted[k] < tried[k] / 100 || tried[k] - accepted[k] < tried[k] / 100 || tried[k] < 100) {
      printf("too few files of kind %s are accepted, or refused\n", names[k]);
      return 1;
    }
  return 0;
}
