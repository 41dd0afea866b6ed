/* Names of what gc writes beside an output. Contract: see codegen.h. */
#include "codegen/build/library.h"
#include "codegen/codegen.h"

#include <ctype.h>

const char *codegen_lib_name(Ctx *c, const char *out) {
  const char *slash = strrchr(out, '/'), *s = slash ? slash + 1 : out;
  size_t n = strlen(s);
  if (n < 4 || strcmp(s + n - 3, ".so") != 0) return NULL;
  bool lib = n > 6 && strncmp(s, "lib", 3) == 0;
  return intern_printf(c, "%.*s", (int)(n - 3 - (lib ? 3 : 0)), lib ? s + 3 : s);
}

const char *codegen_saved_source(Ctx *c, const char *out, const CodegenPart *p) {
  const char *suffix = p->backend->suffix;
  return p->one_of_several ? intern_printf(c, "%s.%s%s", out, p->march, suffix)
                           : intern_printf(c, "%s%s", out, suffix);
}

const char *codegen_saved_api(Ctx *c, const char *out) { return intern_printf(c, "%s.api.c", out); }

const char *codegen_module_library(Ctx *c, const char *out) {
  const char *slash = strrchr(out, '/'), *s = slash ? slash + 1 : out;
  size_t n = strlen(s);
  bool named = n > 3 && strcmp(s + n - 3, ".py") == 0 && !isdigit((unsigned char)*s);
  for (size_t i = 0; named && i < n - 3; i++)
    named = (isalnum((unsigned char)s[i]) && (unsigned char)s[i] < 128) || s[i] == '_';
  named = named && python_can_import(intern_n(c, s, n - 3));
  return named ? intern_printf(c, "%.*slib%.*s.so", (int)(s - out), out, (int)(n - 3), s) : NULL;
}

const char *codegen_wheel_suffix(void) { return "-1.0-py3-none-linux_" GC_PROCESSOR ".whl"; }

bool codegen_is_wheel_name(Ctx *c, const char *out) { return wheel_named(c, out, &(Wheel){0}); }
