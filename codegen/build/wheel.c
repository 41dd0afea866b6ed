/* A model as a wheel, which pip installs: a zip of the library, its Python module, and a folder of
   metadata with the hash of each file. Contract: see library.h. One model gives the same bytes
   whenever it is packed. Source: Python's "Binary distribution format", version 1.0, and PEP 440 on
   versions. */
#include "codegen/build/library.h"
#include "codegen/build/output.h"
#include "codegen/codegen.h"
#include "codegen/text/text.h"

#include <errno.h>
#include <nettle/base64.h>
#include <nettle/sha2.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>

/* A version as PEP 440 has it, without epoch and local part. */
#define VERSION "[0-9]+(\\.[0-9]+)*((a|b|rc)[0-9]+)?(\\.post[0-9]+)?(\\.dev[0-9]+)?"
#define PLATFORM "(linux|manylinux_[0-9]+_[0-9]+|musllinux_[0-9]+_[0-9]+)_[a-z0-9_]+"

bool wheel_named(Ctx *c, const char *out, Wheel *w) {
  static const char pattern[] =
      "^([A-Za-z_][A-Za-z0-9_]*)-(" VERSION ")-py3-none-(" PLATFORM ")\\.whl$";
  enum { NAME = 1, VERSION_AT = 2, PLATFORM_AT = 8, GROUPS = 9 }; /* by their brackets */
  const char *slash = strrchr(out, '/'), *s = slash ? slash + 1 : out;
  regmatch_t at[GROUPS];
  regex_t form;
  if (regcomp(&form, pattern, REG_EXTENDED) != 0) abort();
  bool fits = regexec(&form, s, GROUPS, at, 0) == 0;
  regfree(&form);
  if (!fits) return false;
#define PART(i) intern_n(c, s + at[i].rm_so, (size_t)(at[i].rm_eo - at[i].rm_so))
  *w = (Wheel){.name = PART(NAME), .version = PART(VERSION_AT), .platform = PART(PLATFORM_AT)};
#undef PART
  return python_can_import(w->name);
}

bool wheel_is_for(const Wheel *w, const char *processor) {
  size_t n = strlen(w->platform), m = strlen(processor);
  return n > m && strcmp(w->platform + n - m, processor) == 0 && w->platform[n - m - 1] == '_';
}

/* ---- the files in it ---- */
typedef struct Packed {
  const char *name;
  const void *bytes; /* libzip reads them when the archive is closed */
  size_t n;
} Packed;

typedef struct Archive {
  Arena *a;
  zip_t *zip;
  Text record; /* a line for each file: its name, hash and bytes */
} Archive;

/* "sha256=…", without padding. */
static const char *hash_of(Arena *a, const Packed *p) {
  uint8_t digest[SHA256_DIGEST_SIZE];
  char text[BASE64_ENCODE_RAW_LENGTH(SHA256_DIGEST_SIZE) + 1] = "";
  struct sha256_ctx sha;
  struct base64_encode_ctx base;
  sha256_init(&sha);
  sha256_update(&sha, p->n, p->bytes);
  sha256_digest(&sha, sizeof digest, digest);
  base64url_encode_init(&base);
  size_t n = base64_encode_update(&base, text, sizeof digest, digest);
  n += base64_encode_final(&base, text + n);
  while (n && text[n - 1] == '=') n--;
  return arena_printf(a, "sha256=%.*s", (int)n, text);
}

static bool add(Archive *x, const Packed *p) {
  enum { MODE = 0100644, FIRST_DAY = 1 << 5 | 1 }; /* of 1980, where the clock of zip begins */
  zip_source_t *source = zip_source_buffer(x->zip, p->bytes, p->n, 0);
  zip_int64_t at = source ? zip_file_add(x->zip, p->name, source, ZIP_FL_ENC_UTF_8) : -1;
  if (at < 0) {
    zip_source_free(source);
    return false;
  }
  text_add(&x->record, "%s,%s,%zu\n", p->name, hash_of(x->a, p), p->n);
  zip_uint64_t i = (zip_uint64_t)at;
  return zip_file_set_dostime(x->zip, i, 0, FIRST_DAY, 0) == 0 &&
         zip_file_set_external_attributes(x->zip, i, 0, ZIP_OPSYS_UNIX, (zip_uint32_t)MODE << 16) ==
             0;
}

static bool add_text(Archive *x, const char *name, const char *text) {
  return add(x, &(Packed){name, text, strlen(text)});
}

static bool add_file(Archive *x, const char *name, const char *path) {
  FILE *f = fopen(path, "rb");
  long n = f && fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
  char *bytes = n < 0 ? NULL : arena_alloc(x->a, (size_t)n + 1);
  bool ok = bytes && fseek(f, 0, SEEK_SET) == 0 && fread(bytes, 1, (size_t)n, f) == (size_t)n;
  if (f) fclose(f);
  return ok && add(x, &(Packed){name, bytes, (size_t)n});
}

/* What gc knows its own wheels by stands first and as it is (mark.c). */
static bool add_description(Archive *x, const Library *l, const Wheel *w) {
  Arena *a = x->a;
  const char *version = l->o->version ? l->o->version : "",
             *info = arena_printf(a, "%s-%s.dist-info", w->name, w->version);
  return add_text(x, arena_printf(a, "%s/WHEEL", info),
                  arena_printf(a,
                               "Wheel-Version: 1.0\n" WHEEL_MARK
                               "%s\nRoot-Is-Purelib: false\nTag: py3-none-%s\n",
                               version, w->platform)) &&
         zip_set_file_compression(x->zip, 0, ZIP_CM_STORE, 0) == 0 &&
         add_text(x, arena_printf(a, "%s/METADATA", info),
                  arena_printf(a,
                               "Metadata-Version: 2.1\nName: %s\nVersion: %s\n"
                               "Summary: The model of %s, compiled by gc %s\n"
                               "Requires-Python: >=3.8\nRequires-Dist: numpy>=1.22\n",
                               w->name, w->version, l->source, version));
}

static bool add_record(Archive *x, const Wheel *w) {
  const char *name = arena_printf(x->a, "%s-%s.dist-info/RECORD", w->name, w->version);
  text_add(&x->record, "%s,,\n", name);
  return add_text(x, name, text_str(&x->record));
}

bool wheel_write(const Library *l, const Wheel *w, const char *library, const char *module,
                 const char *to) {
  Archive x = {.a = l->a, .record = text_new(l->a, 0)};
  x.zip = zip_open(to, ZIP_CREATE | ZIP_TRUNCATE, NULL);
  bool ok = x.zip && add_description(&x, l, w) &&
            add_file(&x, arena_printf(l->a, "%s/__init__.py", w->name), module) &&
            add_file(&x, arena_printf(l->a, "%s/%s", w->name, l->file), library) &&
            add_text(&x, arena_printf(l->a, "%s/py.typed", w->name), "") && add_record(&x, w);
  if (ok && zip_close(x.zip) == 0) return true;
  int error = x.zip ? zip_error_code_system(zip_get_error(x.zip)) : errno;
  if (x.zip) zip_discard(x.zip);
  errno = error ? error : EIO;
  return false;
}
