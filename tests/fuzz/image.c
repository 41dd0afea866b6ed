/* Mutated images of weights: fuzz_image [SECONDS | NUMBERt] [SEED], for so many seconds or that
   many files. An image may be refused, with a reason; one that is taken has the bytes that were
   written, all of them, in the region. A seed always makes the same files. */
#include "runtime/weights/image.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { REGION = 15 << 17, SECOND = 5 << 18, MOST = 1 << 19 }; /* runs of small pages */

static const int64_t dims[] = {REGION / 4};
static const GcGlobal global = {.t = {.name = "w",
                                      .dtype = GC_F32,
                                      .rank = 1,
                                      .dims = dims,
                                      .bytes = REGION,
                                      .region = GC_GLOBALS}};
const GcProgram gc_program = {
    .name = "fuzz", .version = "1", .globals = &global, .nglobals = 1, .globals_bytes = REGION};

static uint64_t next(uint64_t *s) {
  *s ^= *s << 13, *s ^= *s >> 7, *s ^= *s << 17;
  return *s;
}

static void must(bool ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "%s\n", what);
  abort();
}

typedef struct Bytes {
  uint8_t b[MOST];
  size_t n;
} Bytes;

/* Mostly in the header: what lies behind it is summed. */
static void mutate(Bytes *s, size_t header, uint64_t *rng) {
  static const char nasty[] = "\0\1\x7f\x80\xff{}[]\"\\,:9081fx-+";
  for (uint64_t k = next(rng) % 4; k; k--) {
    if (!s->n) return;
    const size_t most = header < s->n && next(rng) % 8 ? header : s->n;
    const size_t at = next(rng) % most, len = next(rng) % 24;
    switch (next(rng) % 8) {
    case 0: s->b[at] ^= (uint8_t)(1U << next(rng) % 8); break;
    case 1: s->n = at; break;
    case 2: /* the header grows or shrinks where blanks follow it */
      if (at + len <= header) memmove(s->b + at, s->b + at + len, header - at - len);
      break;
    case 3:
      if (at + len <= header) memmove(s->b + at + len, s->b + at, header - at - len);
      break;
    case 4: /* a digit: of an offset, a size, a sum */
    case 5:
      for (size_t i = at; i < most; i++)
        if (s->b[i] >= '0' && s->b[i] <= '9') {
          s->b[i] = (uint8_t)('0' + next(rng) % 10);
          break;
        }
      break;
    default: s->b[at] = (uint8_t)nasty[next(rng) % (sizeof nasty - 1)]; break;
    }
  }
}

static bool use(const ImageOf *of, const uint8_t *base, uint8_t *region) {
  Image m;
  ImageRun r;
  Err e = {0};
  const bool ok = image_open(&m, of, &e);
  must(ok == !e.code, "an image is refused without a reason, or taken with one");
  must(!ok || m.fits || m.why || !m.file.size, "an image does not fit without a reason");
  if (ok && m.fits) {
    memset(region, 0, REGION);
    for (uint64_t i = 0; image_run(&m, i, &r); i++) {
      must(r.begin <= REGION && r.bytes <= REGION - r.begin, "a run leaves the region");
      must(file_read(&m.file, r.at, region + r.begin, r.bytes, &e), e.msg);
    }
    must(memcmp(region, base, REGION) == 0, "other bytes are taken");
  }
  const bool fits = ok && m.fits;
  image_close(&m);
  return fits;
}

int main(int argc, char **argv) {
  static Bytes whole, now;
  static uint8_t base[REGION], region[REGION];
  char path[64], *unit = "";
  snprintf(path, sizeof path, "/tmp/image-%ld", (long)getpid());
  const ImageOf of = {.path = path, .program = &gc_program, .stage = malloc(STAGE_BYTES)};
  const uint64_t most = argc > 1 ? strtoull(argv[1], &unit, 10) : 5;
  uint64_t rng = (argc > 2 ? strtoull(argv[2], NULL, 10) : 1) * 0x9E3779B97F4A7C15ULL | 1;
  for (size_t i = 0; i < 70000; i++) base[i] = (uint8_t)next(&rng);
  for (size_t i = 0; i < 3000; i++) base[SECOND + i] = (uint8_t)next(&rng);
  OutFile out = {.fd = -1};
  Err e = {0};
  must(of.stage && image_prepare(&out, &of, &e) && image_write(&out, &of, base, &e), e.msg);
  out_free(&out);
  FILE *f = fopen(path, "rb");
  must(f && (whole.n = fread(whole.b, 1, MOST, f)) > 8 && feof(f), "the image cannot be read");
  fclose(f);
  size_t header = 8;
  while (header < whole.n && whole.b[header] != ' ') header++;
  uint64_t runs = 0, taken = 0;
  const time_t end = time(NULL) + (time_t)most;
  for (; *unit == 't' ? runs < most : runs % 64 || time(NULL) < end; runs++) {
    memcpy(now.b, whole.b, now.n = whole.n);
    if (runs) mutate(&now, header + 32, &rng);
    unlink(path); /* a file that is written over waits for the disk to have what it held */
    f = fopen(path, "wb");
    must(f && fwrite(now.b, 1, now.n, f) == now.n && fclose(f) == 0, "no file can be written");
    const bool fits = use(&of, base, region);
    must(runs || fits, "the image as it was written does not fit");
    taken += fits;
  }
  unlink(path);
  free(of.stage);
  printf("images %8llu files, %8llu accepted\n", (unsigned long long)runs,
         (unsigned long long)taken);
  const bool few = taken < runs / 20 || runs - taken < runs / 20 || runs < 200;
  if (few) printf("too few cases are accepted, or refused\n");
  return few;
}
