/* Headers of .npy and IDX, members of .npz, and what a file means when it is bound to an input. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
// clang-format on
#include "runtime/data/dataset.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static char path[64] = "array.XXXXXX";

static void put_file(const void *p, size_t n) {
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(p, 1, n, f), n);
  assert_int_equal(fclose(f), 0);
}

/* ---- .npy headers ---- */
static bool header(const char *dict, Array *a, Err *e) {
  uint8_t buf[1024] = "\x93NUMPY\1";
  size_t n = strlen(dict);
  buf[7] = 0, buf[8] = (uint8_t)n, buf[9] = (uint8_t)(n >> 8);
  memcpy(buf + 10, dict, n);
  *e = (Err){0};
  return npy_parse(buf, 10 + n, a, "t.npy", e);
}

static void npy_good(void **state) {
  Array a;
  Err e;
  assert_true(header("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }   \n", &a, &e));
  assert_int_equal(a.type, ELEM_F32);
  assert_int_equal(a.rank, 2);
  assert_int_equal(a.count, 12);
  assert_true(header("{'shape': (), 'fortran_order': True, 'descr': '|u1'}", &a, &e));
  assert_int_equal(a.rank, 0);
  assert_int_equal(a.count, 1);
  assert_true(header("{'descr': '>i4', 'fortran_order': False, 'shape': (5,)}", &a, &e));
  assert_true(a.big);
  assert_true(header("{'descr': '|b1', 'fortran_order': False, 'shape': (0, 7)}", &a, &e));
  assert_int_equal(a.count, 0);
}

static void npy_bad(void **state) {
  static const char *const all[][2] = {
      {"", "no dictionary"},
      {"{'descr': '|O', 'fortran_order': False, 'shape': (3,), }", "cannot be read"},
      {"{'descr': '<U8', 'fortran_order': False, 'shape': (3,), }", "cannot be read"},
      {"{'descr': '<c8', 'fortran_order': False, 'shape': (3,), }", "cannot be read"},
      {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,), }", "structured"},
      {"{'descr': '<f4', 'fortran_order': True, 'shape': (3, 4), }", "column by column"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (-3,), }", "list of sizes"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (3 4), }", "list of numbers"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }",
       "list of sizes"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }",
       "too large"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807,), }", "too large"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': __import__('os').system('x'), }",
       "no shape"},
      {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", "repeated"},
      {"{'descr': '<f4', 'fortran_order': False, }", "missing"},
      {"{'descr': '<f4', 'fortran_order': 0, 'shape': (3,), }", "neither"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), } x", "follow"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)", "damaged"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (3", "list of numbers"},
  };
  Array a;
  Err e;
  for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
    if (header(all[i][0], &a, &e)) fail_msg("accepted: %s", all[i][0]);
    if (!strstr(e.msg, all[i][1])) fail_msg("%s: '%s' is not in '%s'", all[i][0], all[i][1], e.msg);
  }
  e = (Err){0};
  assert_false(npy_parse((const uint8_t *)"\x93NUMPY\4\0\0\0\0\0", 12, &a, "t", &e));
  e = (Err){0};
  assert_false(npy_parse((const uint8_t *)"\x93NUMPY\2\0\xff\xff\xff\xff{}", 14, &a, "t", &e));
  e = (Err){0};
  assert_false(npy_parse((const uint8_t *)"\x93NUMPY\1\0\x09\0{}", 12, &a, "t", &e));
  char many[700] = "{'descr': '<f4', 'fortran_order': False, 'shape': (";
  for (int i = 0; i < 100; i++) strcat(many, "1,");
  strcat(many, ")}");
  assert_false(header(many, &a, &e));
}

static void npy_written(void **state) {
  for (int rank = 0; rank < 5; rank++) {
    uint64_t dims[] = {7, 1, 12345678901, 3, 2};
    char buf[512];
    uint64_t n = npy_header(buf, sizeof buf, ELEM_F64, rank, dims);
    Array a;
    Err e = {0};
    assert_int_equal(n % 64, 0);
    assert_true(npy_parse((uint8_t *)buf, n, &a, "t", &e));
    assert_int_equal(a.rank, rank);
    for (int i = 0; i < rank; i++) assert_int_equal(a.dims[i], dims[i]);
    assert_int_equal(a.header, n);
  }
}

/* ---- what a file means for an input ---- */
static bool bind(const GcTensor *t, const char *suffix, uint64_t batch, Column *c, Err *e) {
  char text[128];
  snprintf(text, sizeof text, "%s%s", path, suffix);
  *e = (Err){0};
  bool ok = column_open(c, t, text, batch, NULL, NULL, e);
  file_close(&c->file);
  free(c->text);
  free(c->member);
  assert_true(ok == (e->code == 0));
  return ok;
}

static void idx(void **state) {
  const int64_t dims[] = {2, 4}, one[] = {2};
  GcTensor t = {.name = "x", .dtype = GC_F32, .rank = 2, .dims = dims},
           l = {.name = "l", .dtype = GC_U8, .rank = 1, .dims = one};
  Column c;
  Err e;
  uint8_t file[16 + 12] = {0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 2};
  put_file(file, sizeof file);
  assert_true(bind(&t, "", 2, &c, &e));
  assert_int_equal(c.rows, 3);
  assert_true(bind(&t, "[1:]", 2, &c, &e));
  assert_int_equal(c.first, 1);
  assert_true(bind(&t, "[-1:]", 2, &c, &e));
  assert_int_equal(c.rows, 1);
  assert_false(bind(&t, "[1:4]", 2, &c, &e));
  assert_false(bind(&t, "[2:2]", 2, &c, &e));
  assert_false(bind(&t, "[-9:]", 2, &c, &e));
  assert_false(bind(&t, "+1", 2, &c, &e));
  assert_false(bind(&l, "", 2, &c, &e));
  put_file(file, sizeof file - 1);
  assert_false(bind(&t, "", 2, &c, &e));
  file[2] = 0x0A;
  put_file(file, sizeof file);
  assert_false(bind(&t, "", 2, &c, &e));
  assert_non_null(strstr(e.msg, "0x0A"));
  uint8_t huge[4 + 16] = {0, 0, 8, 4};
  memset(huge + 4, 0xFF, 16);
  put_file(huge, sizeof huge);
  assert_false(bind(&t, "", 2, &c, &e));
  assert_non_null(strstr(e.msg, "too large"));
  uint8_t swapped[] = {0, 0, 8, 1, 2, 0, 0, 0, 1, 1};
  put_file(swapped, sizeof swapped);
  assert_false(bind(&l, "", 2, &c, &e));
  uint8_t none[] = {0, 0, 8, 1, 0, 0, 0, 0};
  put_file(none, sizeof none);
  assert_false(bind(&l, "", 2, &c, &e));
  assert_non_null(strstr(e.msg, "no rows"));
}

static void flat(void **state) {
  const int64_t dims[] = {2, 4};
  GcTensor t = {.name = "x", .dtype = GC_I32, .rank = 2, .dims = dims},
           f = {.name = "f", .dtype = GC_F32, .rank = 2, .dims = dims};
  Column c;
  Err e;
  put_file("abcdefghijklmnopqrstuvwxyz", 26);
  assert_true(bind(&t, "", 2, &c, &e));
  assert_int_equal(c.rows, 6);
  assert_int_equal(c.type, ELEM_U8);
  assert_true(bind(&t, "+3", 2, &c, &e));
  assert_int_equal(c.rows, 5);
  assert_true(bind(&t, "~1", 2, &c, &e));
  assert_int_equal(c.rows, 23);
  assert_true(bind(&t, "+2~5[1:]", 2, &c, &e));
  assert_int_equal(c.rows, 4);
  assert_int_equal(c.first, 1);
  assert_true(bind(&t, ":u16", 2, &c, &e));
  assert_int_equal(c.rows, 3);
  assert_false(bind(&t, ":i32", 2, &c, &e)); /* 26 bytes are no i32s */
  assert_false(bind(&t, "+23", 2, &c, &e));
  assert_false(bind(&t, "~0", 2, &c, &e));
  assert_false(bind(&t, "+99999999999999999999", 2, &c, &e));
  assert_false(bind(&t, "+9223372036854775807", 2, &c, &e));
  assert_true(bind(&t, "~9223372036854775807", 2, &c, &e));
  assert_int_equal(c.rows, 1);
  assert_false(bind(&f, "", 2, &c, &e));
  assert_true(bind(&f, ":u8", 2, &c, &e));
  uint8_t binary[64] = {1, 0, 0, 0};
  put_file(binary, 64);
  assert_true(bind(&t, "", 2, &c, &e));
  assert_int_equal(c.type, ELEM_I32);
  assert_int_equal(c.rows, 4);
}

/* ---- .npz ---- */
typedef struct Zip {
  uint8_t b[4096];
  size_t n, local, central;
} Zip;

static void put(Zip *z, uint64_t v, int n) {
  for (int i = 0; i < n; i++) z->b[z->n++] = (uint8_t)(v >> 8 * i);
}

/* A zip of one member x.npy, an array u8[4], stored; field offsets below are of this layout. */
static void zip_make(Zip *z, bool deflated) {
  uint8_t npy[512], body[512];
  uint64_t dims[] = {4}, n = npy_header((char *)npy, sizeof npy, ELEM_U8, 1, dims);
  memcpy(npy + n, "\1\2\3\4", 4);
  n += 4;
  uint32_t crc = (uint32_t)crc32(0, npy, (uInt)n);
  uint64_t packed = n;
  memcpy(body, npy, n);
  if (deflated) {
    z_stream s = {0};
    assert_int_equal(deflateInit2(&s, 9, Z_DEFLATED, -15, 8, 0), Z_OK);
    s.next_in = npy, s.avail_in = (uInt)n, s.next_out = body, s.avail_out = sizeof body;
    assert_int_equal(deflate(&s, Z_FINISH), Z_STREAM_END);
    packed = s.total_out;
    deflateEnd(&s);
  }
  *z = (Zip){0};
  put(z, 0x04034b50, 4), put(z, 20, 2), put(z, 0, 2), put(z, deflated ? 8 : 0, 2), put(z, 0, 4),
      put(z, crc, 4);
  put(z, packed, 4), put(z, n, 4), put(z, 5, 2), put(z, 0, 2);
  memcpy(z->b + z->n, "x.npy", 5), z->n += 5;
  memcpy(z->b + z->n, body, packed), z->n += packed;
  z->central = z->n;
  put(z, 0x02014b50, 4), put(z, 20, 2), put(z, 20, 2), put(z, 0, 2), put(z, deflated ? 8 : 0, 2),
      put(z, 0, 4), put(z, crc, 4);
  put(z, packed, 4), put(z, n, 4), put(z, 5, 2), put(z, 0, 2), put(z, 0, 2), put(z, 0, 8),
      put(z, 0, 4);
  memcpy(z->b + z->n, "x.npy", 5), z->n += 5;
  size_t size = z->n - z->central, at = z->central;
  put(z, 0x06054b50, 4), put(z, 0, 4), put(z, 1, 2), put(z, 1, 2), put(z, size, 4), put(z, at, 4),
      put(z, 0, 2);
}

/* Binds and loads it; true if all of it was taken. */
static bool zip_reads(const Zip *z, Err *e) {
  const int64_t dims[] = {2};
  const GcTensor t = {.name = "x", .dtype = GC_U8, .rank = 1, .dims = dims};
  const GcEntry entry = {.inputs = &t, .ninputs = 1};
  const char *text = path;
  Dataset d;
  *e = (Err){0};
  put_file(z->b, z->n);
  bool ok = dataset_open(&d, &entry, &text, &(DataRequest){0}, e) && dataset_load(&d, e);
  if (ok) {
    uint8_t in[2];
    dataset_gather(&d, in, 1, 0, 1);
    ok = d.batches == 2 && in[0] == 3 && in[1] == 4;
  }
  dataset_free(&d);
  return ok;
}

static void npz(void **state) {
  for (int deflated = 0; deflated < 2; deflated++) {
    Zip z;
    Err e;
    zip_make(&z, deflated);
    if (!zip_reads(&z, &e)) fail_msg("%s", e.msg);
    static const struct {
      int at; /* >= 1000: in the central directory */
      uint8_t to;
      const char *says;
    } all[] = {
        {0, 'Q', "cannot hold"},  {1000, 'Q', "something else"},
        {8, 99, "disagrees"},     {1010, 99, "packed by method"},
        {1008, 1, "encrypted"},   {14, 0x55, "disagree"},
        {1016, 0x55, "disagree"}, {1020, 0xFE, "disagree"},
        {1024, 0xFE, "disagree"}, {1043, 200, "outside"},
        {30, 'y', "own name"},    {1046, 'y', "no array of the name x"},
        {1028, 200, "cut short"}, {26, 4, "disagrees"},
        {1030, 3, "cut short"},   {60, 0, NULL},
    };
    for (unsigned i = 1; i < sizeof all / sizeof *all; i++) {
      zip_make(&z, deflated);
      size_t at = all[i].at >= 1000 ? z.central + (size_t)all[i].at - 1000 : (size_t)all[i].at;
      z.b[at] ^= (uint8_t)(z.b[at] == all[i].to ? 1 : z.b[at] ^ all[i].to);
      if (zip_reads(&z, &e)) fail_msg("accepted: byte %d = %d", all[i].at, all[i].to);
      if (all[i].says && !strstr(e.msg, all[i].says))
        fail_msg("byte %d: '%s' is not in '%s'", all[i].at, all[i].says, e.msg);
    }
  }
}

/* Shares of 50 rows, which two ranks have; of a bounded batch each is of two rows at least. */
static void shares(void **state) {
  const int64_t dims[] = {25, 4};
  const GcTensor t = {.name = "x", .dtype = GC_U8, .rank = 2, .dims = dims};
  const GcTensor bounded = {
      .name = "x", .dtype = GC_U8, .rank = 2, .dims = dims, .extents = (const uint32_t[]){1, 0}};
  const GcExtent n = {"n", 25};
  const GcEntry fixed = {.inputs = &t, .ninputs = 1, .ranks = 2};
  const GcEntry varies = {
      .inputs = &bounded, .ninputs = 1, .ranks = 2, .extents = &n, .nextents = 1, .batch = 1};
  for (int ranks = 1; ranks <= 100; ranks++) {
    assert_int_equal(dataset_splits(&fixed, ranks), 50 % ranks == 0);
    assert_int_equal(dataset_splits(&varies, ranks), 50 % ranks == 0 && ranks < 50);
  }
}

/* A gzip bomb and data after the end. */
static void gzip(void **state) {
  const int64_t dims[] = {2};
  const GcTensor t = {.name = "x", .dtype = GC_U8, .rank = 1, .dims = dims};
  Column c;
  Err e;
  uint8_t idx_[] = {0, 0, 8, 1, 0x7F, 0xFF, 0xFF, 0xFF, 1, 2};
  gzFile g = gzopen(path, "wb");
  gzwrite(g, idx_, sizeof idx_);
  gzclose(g);
  assert_false(bind(&t, "", 2, &c, &e)); /* two GB of labels in forty bytes */
  assert_non_null(strstr(e.msg, "packed it has only"));
  g = gzopen(path, "wb");
  gzwrite(g, "abcdef", 6);
  gzclose(g);
  assert_true(bind(&t, "", 2, &c, &e));
  assert_int_equal(c.rows, 6);
  FILE *f = fopen(path, "ab");
  fputc('x', f);
  fclose(f);
  assert_false(bind(&t, "", 2, &c, &e));
  assert_non_null(strstr(e.msg, "bytes follow"));
}

static int setup(void **state) {
  int fd = mkstemp(path);
  return fd < 0 ? -1 : close(fd);
}
static int teardown(void **state) { return unlink(path); }

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(npy_good),    cmocka_unit_test(npy_bad),
                                     cmocka_unit_test(npy_written), cmocka_unit_test(idx),
                                     cmocka_unit_test(flat),        cmocka_unit_test(npz),
                                     cmocka_unit_test(shares),      cmocka_unit_test(gzip)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
