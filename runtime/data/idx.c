/* The header of an IDX file: two zero bytes, element type, number of axes, and big-endian sizes.
   Contract: accepts the six element types of the format; the caller compares the length that the
   header implies with the bytes there are. Source: the format's page at the MNIST site. */
#include "runtime/data/file.h"

bool idx_is(const uint8_t *p, uint64_t n) {
  return n >= 4 && p[0] == 0 && p[1] == 0 && p[2] >= 8 && p[2] <= 15 && p[3] >= 1 && p[3] <= 8;
}

bool idx_parse(const uint8_t *p, uint64_t n, Array *a, const char *path, Err *e) {
  static const int types[8] = {ELEM_U8, ELEM_I8, -1, ELEM_I16, ELEM_I32, ELEM_F32, ELEM_F64, -1};
  *a = (Array){.big = true, .rank = p[3], .header = 4 + 4 * (uint64_t)p[3]};
  if (types[p[2] - 8] < 0) {
    err_set(e, EXIT_WRONG, "%s: an IDX file of element type 0x%02X, which the format does not have",
            path, p[2]);
    return err_hint(e, "the file is damaged; fetch or write it again");
  }
  a->type = (Elem)types[p[2] - 8];
  if (n < a->header) {
    err_set(e, EXIT_WRONG, "%s: an IDX file that ends inside its header", path);
    return err_hint(e, "the file is cut short; fetch or write it again");
  }
  for (int i = 0; i < a->rank; i++) {
    const uint8_t *d = p + 4 + (size_t)i * 4;
    a->dims[i] = (uint64_t)d[0] << 24 | (uint64_t)d[1] << 16 | (uint64_t)d[2] << 8 | d[3];
  }
  if (elem_info[a->type].size == 1) a->big = false;
  uint64_t bytes;
  if (!array_count(a, &bytes)) {
    err_set(e, EXIT_WRONG, "%s: an IDX file whose sizes are too large for any machine", path);
    return err_hint(e, "the file is damaged, or its sizes are not in big-endian order");
  }
  return true;
}
