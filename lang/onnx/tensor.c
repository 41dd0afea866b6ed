/* The elements of a file's tensors: typed lists, raw bytes, or bytes of another file.
   Contract: what a file says of sizes is compared with what it holds before anything is read or
   allocated; files of external data lie in the model's folder or below it. Little-endian, as ONNX
   and safetensors are. */
#include "ir/support/checked.h"
#include "lang/onnx/graph.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

const ElemInfo elem_types[ELEM_TYPES] = {
    [ELEM_F32] = {"float", "f32", "F32", 4, 4, true, 0, 0},
    [ELEM_F64] = {"double", "f64", "F64", 8, 8, true, 0, 0},
    [ELEM_F16] = {"float16", "f16", "F16", 2, 2, true, 0, 0},
    [ELEM_BF16] = {"bfloat16", "bf16", "BF16", 2, 2, true, 0, 0},
    [ELEM_U8] = {"uint8", "u8", "U8", 1, 1, false, 0, 255},
    [ELEM_I8] = {"int8", "i8", "I8", 1, 1, false, -128, 127},
    [ELEM_U16] = {"uint16", "i32", "I32", 2, 4, false, 0, 65535},
    [ELEM_I16] = {"int16", "i32", "I32", 2, 4, false, -32768, 32767},
    [ELEM_I32] = {"int32", "i32", "I32", 4, 4, false, INT32_MIN, INT32_MAX},
    [ELEM_I64] = {"int64", "i64", "I64", 8, 8, false, -0x1p63, 0x1p63},
    [ELEM_U32] = {"uint32", "i64", "I64", 4, 8, false, 0, UINT32_MAX},
    [ELEM_BOOL] = {"bool", "bool", "BOOL", 1, 1, false, 0, 1},
};

bool shape_count(const Shape *s, uint64_t *out) {
  uint64_t n = 1;
  for (int i = 0; i < s->rank; i++)
    if (s->at[i].symbol || s->at[i].n < 0 || !checked_mul(n, (uint64_t)s->at[i].n, &n) ||
        n > UINT64_C(1) << 48)
      return false;
  *out = n;
  return true;
}

bool tensor_type(Import *im, const Onnx__TensorProto *t, int *type, Shape *s, const char **why) {
  *type = t->data_type;
  *s = (Shape){.rank = (int)t->n_dims};
  uint64_t n;
  if (!elem_of(*type)->gc)
    *why = arena_printf(im->a, "a tensor of element type %d, which gc does not have", *type);
  else if (t->n_dims > MOST_RANK)
    *why = "a tensor of more than 16 axes";
  else {
    for (int i = 0; i < s->rank; i++) s->at[i] = (Axis){.n = t->dims[i]};
    if (shape_count(s, &n)) return true;
    *why = "a tensor with a size below 0, or of too many elements";
  }
  return false;
}

/* ---- data in another file ---- */

typedef struct External {
  const char *path;
  uint64_t at, n;
} External;

static bool parse_size(const char *s, uint64_t *out) {
  char *end;
  errno = 0;
  *out = strtoull(s, &end, 10);
  return s[0] >= '0' && s[0] <= '9' && !*end && !errno;
}

static bool leaves_folder(const char *location) {
  if (location[0] == '/' || !location[0]) return true;
  for (const char *p = location; p; p = strchr(p, '/')) {
    p += *p == '/';
    if (strncmp(p, "..", 2) == 0 && (p[2] == '/' || !p[2])) return true;
  }
  return false;
}

static bool external_of(Import *im, const Onnx__TensorProto *t, uint64_t bytes, External *x,
                        const char **why) {
  *x = (External){.n = bytes};
  const char *location = NULL;
  for (size_t i = 0; i < t->n_external_data; i++) {
    const char *key = t->external_data[i]->key, *value = t->external_data[i]->value;
    if (!key || !value) continue;
    uint64_t n = 0;
    bool size = strcmp(key, "offset") == 0 || strcmp(key, "length") == 0;
    if (size && !parse_size(value, &n)) return *why = "external data at no number of bytes", false;
    if (strcmp(key, "location") == 0) location = value;
    if (strcmp(key, "offset") == 0) x->at = n;
    if (strcmp(key, "length") == 0 && n != bytes)
      return *why = "external data of another length than its type and shape say", false;
  }
  if (!location || leaves_folder(location))
    return *why = "external data outside of the model's folder", false;
  const char *slash = strrchr(im->path, '/');
  x->path =
      arena_printf(im->a, "%.*s%s", slash ? (int)(slash - im->path) + 1 : 0, im->path, location);
  return true;
}

static bool external_read(Import *im, const External *x, uint64_t from, void *out, uint64_t n,
                          const char **why) {
  int fd = open(x->path, O_RDONLY | O_CLOEXEC);
  struct stat st;
  bool ok = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
  uint64_t end;
  if (!ok)
    *why = arena_printf(im->a, "external data in %s, which cannot be read", x->path);
  else if (!checked_add(x->at, x->n, &end) || end > (uint64_t)st.st_size)
    ok = false, *why = arena_printf(im->a, "external data behind the end of %s", x->path);
  for (uint64_t done = 0; ok && done < n;) {
    ssize_t r = pread(fd, (char *)out + done, n - done, (off_t)(x->at + from + done));
    ok = r > 0 || (r < 0 && errno == EINTR);
    if (!ok) *why = arena_printf(im->a, "external data in %s, which cannot be read", x->path);
    if (r > 0) done += (uint64_t)r;
  }
  if (fd >= 0) close(fd);
  return ok;
}

/* ---- elements ---- */

static float float_of_half(uint16_t h) {
  int e = h >> 10 & 31, m = h & 1023;
  float x = e == 31  ? (m ? NAN : INFINITY)
            : e == 0 ? ldexpf((float)m, -24)
                     : ldexpf((float)(m + 1024), e - 25);
  return h >> 15 ? -x : x;
}

static float float_of_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, 4);
  return x;
}

static uint16_t half_of(float x) {
  uint32_t b;
  memcpy(&b, &x, 4);
  uint16_t sign = (uint16_t)(b >> 16 & 0x8000);
  float a = fabsf(x);
  if (isnan(x)) return sign | 0x7e00;
  if (a >= 65520.0f) return sign | 0x7c00;
  if (a < 0x1p-14f) return (uint16_t)(sign | (uint16_t)nearbyintf(ldexpf(a, 24)));
  int e;
  float m = nearbyintf(ldexpf(frexpf(a, &e), 11)); /* 1024 to 2048 */
  return (uint16_t)(sign | (((e + 14) << 10) + (int)m - 1024));
}

static uint16_t bf16_of(float x) {
  uint32_t b;
  memcpy(&b, &x, 4);
  if (isnan(x)) return (uint16_t)(b >> 16 | 64);
  return (uint16_t)((b + 0x7fff + (b >> 16 & 1)) >> 16);
}

Number number_get(int type, const uint8_t *p) {
  Number x = {0};
  union {
    int8_t i8;
    uint16_t u16;
    int16_t i16;
    int32_t i32;
    uint32_t u32;
    int64_t i64;
    float f;
    double d;
  } u;
  memcpy(&u, p, (size_t)elem_of(type)->bytes);
  switch ((ElemType)type) {
  case ELEM_F32: x.f = u.f; break;
  case ELEM_F64: x.f = u.d; break;
  case ELEM_F16: x.f = float_of_half(u.u16); break;
  case ELEM_BF16: x.f = float_of_bits((uint32_t)u.u16 << 16); break;
  case ELEM_U8: x.i = *p; break;
  case ELEM_I8: x.i = u.i8; break;
  case ELEM_U16: x.i = u.u16; break;
  case ELEM_I16: x.i = u.i16; break;
  case ELEM_I32: x.i = u.i32; break;
  case ELEM_U32: x.i = u.u32; break;
  case ELEM_I64: x.i = u.i64; break;
  case ELEM_BOOL: x.i = *p != 0; break;
  case ELEM_U64:
  case ELEM_NONE:
  case ELEM_TYPES: break;
  }
  return x;
}

void number_put(int type, Number x, void *out) {
  float f = (float)x.f;
  int32_t i32 = (int32_t)x.i;
  uint16_t u16;
  switch ((ElemType)type) {
  case ELEM_F32: memcpy(out, &f, 4); break;
  case ELEM_F64: memcpy(out, &x.f, 8); break;
  case ELEM_F16: u16 = half_of(f), memcpy(out, &u16, 2); break;
  case ELEM_BF16: u16 = bf16_of(f), memcpy(out, &u16, 2); break;
  case ELEM_U8:
  case ELEM_I8:
  case ELEM_BOOL: *(uint8_t *)out = (uint8_t)x.i; break;
  case ELEM_U16:
  case ELEM_I16:
  case ELEM_I32: memcpy(out, &i32, 4); break;
  case ELEM_U32:
  case ELEM_I64: memcpy(out, &x.i, 8); break;
  case ELEM_U64:
  case ELEM_NONE:
  case ELEM_TYPES: break;
  }
}

Number number_fit(int type, Number x) {
  switch ((ElemType)type) {
  case ELEM_F32: x.f = (float)x.f; break;
  case ELEM_F16: x.f = float_of_half(half_of((float)x.f)); break;
  case ELEM_BF16: x.f = float_of_bits((uint32_t)bf16_of((float)x.f) << 16); break;
  case ELEM_U8: x.i = (uint8_t)x.i; break;
  case ELEM_I8: x.i = (int8_t)x.i; break;
  case ELEM_U16: x.i = (uint16_t)x.i; break;
  case ELEM_I16: x.i = (int16_t)x.i; break;
  case ELEM_I32: x.i = (int32_t)x.i; break;
  case ELEM_U32: x.i = (uint32_t)x.i; break;
  case ELEM_F64:
  case ELEM_I64:
  case ELEM_U64:
  case ELEM_BOOL:
  case ELEM_NONE:
  case ELEM_TYPES: break;
  }
  return x;
}

/* How many elements stand in the list that the type has in the schema. */
static uint64_t listed(const Onnx__TensorProto *t) {
  switch ((ElemType)t->data_type) {
  case ELEM_F32: return t->n_float_data;
  case ELEM_F64: return t->n_double_data;
  case ELEM_I64: return t->n_int64_data;
  case ELEM_U32: return t->n_uint64_data;
  case ELEM_F16:
  case ELEM_BF16:
  case ELEM_U8:
  case ELEM_I8:
  case ELEM_U16:
  case ELEM_I16:
  case ELEM_I32:
  case ELEM_BOOL: return t->n_int32_data;
  case ELEM_U64:
  case ELEM_NONE:
  case ELEM_TYPES: break;
  }
  return 0;
}

static Number list_get(const Onnx__TensorProto *t, uint64_t i) {
  Number x = {0};
  switch ((ElemType)t->data_type) {
  case ELEM_F32: x.f = t->float_data[i]; break;
  case ELEM_F64: x.f = t->double_data[i]; break;
  case ELEM_F16: x.f = float_of_half((uint16_t)t->int32_data[i]); break;
  case ELEM_BF16: x.f = float_of_bits((uint32_t)t->int32_data[i] << 16); break;
  case ELEM_I64: x.i = t->int64_data[i]; break;
  case ELEM_U32: x.i = (uint32_t)t->uint64_data[i]; break;
  case ELEM_BOOL: x.i = t->int32_data[i] != 0; break;
  case ELEM_U8: x.i = (uint8_t)t->int32_data[i]; break;
  case ELEM_I8: x.i = (int8_t)t->int32_data[i]; break;
  case ELEM_U16: x.i = (uint16_t)t->int32_data[i]; break;
  case ELEM_I16: x.i = (int16_t)t->int32_data[i]; break;
  case ELEM_I32: x.i = t->int32_data[i]; break;
  case ELEM_U64:
  case ELEM_NONE:
  case ELEM_TYPES: break;
  }
  return x;
}

static bool is_external(const Onnx__TensorProto *t) { return t->data_location == 1; }

bool tensor_check(Import *im, const Onnx__TensorProto *t, const char **why) {
  int type;
  Shape s;
  uint64_t n;
  External x;
  char byte;
  if (!tensor_type(im, t, &type, &s, why) || !shape_count(&s, &n)) return false;
  uint64_t bytes = n * (uint64_t)elem_of(type)->bytes;
  if (is_external(t))
    return external_of(im, t, bytes, &x, why) && external_read(im, &x, 0, &byte, 0, why);
  if (t->has_raw_data ? t->raw_data.len == bytes : listed(t) == n) return true;
  *why = arena_printf(im->a, "a tensor of %llu elements with data for %llu", (unsigned long long)n,
                      (unsigned long long)(t->has_raw_data
                                               ? t->raw_data.len / (size_t)elem_of(type)->bytes
                                               : listed(t)));
  return false;
}

bool tensor_bytes(Import *im, const Onnx__TensorProto *t, uint64_t at, uint64_t n, void *out,
                  const char **why) {
  const ElemInfo *e = elem_of(t->data_type);
  uint64_t bytes = (uint64_t)e->bytes, all = bytes;
  for (size_t i = 0; i < t->n_dims; i++) all *= (uint64_t)t->dims[i]; /* as tensor_check saw */
  External x;
  char *to = out;
  if (!is_external(t) && !t->has_raw_data) {
    for (uint64_t i = 0; i < n; i++)
      number_put(t->data_type, list_get(t, at + i), to + i * (uint64_t)e->size);
    return true;
  }
  /* of fewer bytes in the file: at the end of the room, and converted from the front */
  char *raw = to + n * (uint64_t)(e->size - e->bytes);
  if (!is_external(t))
    memcpy(raw, t->raw_data.data + at * bytes, n * bytes);
  else if (!external_of(im, t, all, &x, why) ||
           !external_read(im, &x, at * bytes, raw, n * bytes, why))
    return false;
  if (e->size != e->bytes || t->data_type == ELEM_BOOL)
    for (uint64_t i = 0; i < n; i++)
      number_put(t->data_type, number_get(t->data_type, (const uint8_t *)raw + i * bytes),
                 to + i * (uint64_t)e->size);
  return true;
}

Number *tensor_numbers(Import *im, const Onnx__TensorProto *t, const char **why) {
  int type;
  Shape s;
  uint64_t n;
  if (!tensor_check(im, t, why) || !tensor_type(im, t, &type, &s, why) || !shape_count(&s, &n))
    return NULL;
  if (n > MOST_KNOWN) {
    *why = "numbers that gc must know when it compiles, but more than 65536 of them";
    return NULL;
  }
  Number *x = ARENA_ARRAY(im->a, Number, n + 1);
  if (!is_external(t) && !t->has_raw_data) {
    for (uint64_t i = 0; i < n; i++) x[i] = list_get(t, i);
    return x;
  }
  uint64_t bytes = (uint64_t)elem_of(type)->bytes;
  External ext;
  const uint8_t *raw = t->raw_data.data;
  if (is_external(t)) {
    uint8_t *room = arena_alloc(im->a, n * bytes + 1);
    if (!external_of(im, t, n * bytes, &ext, why) ||
        !external_read(im, &ext, 0, room, n * bytes, why))
      return NULL;
    raw = room;
  }
  for (uint64_t i = 0; i < n; i++) x[i] = number_get(type, raw + i * bytes);
  return x;
}
