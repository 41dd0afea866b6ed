/* gc --config: the numbers and flags of a JSON object, such as a published model's config.json, as
   values of the lets of their names. Contract: a name that no let of the program has is none of
   its business, and -D counts before the file; an object within gives the names that are not there
   outside of it (newer files keep rope_theta in rope_parameters). */
#include "lang/driver/command.h"

#include <jansson.h>
#include <string.h>

static bool is_defined(const Options *o, const char *name) {
  for (uint32_t i = 0; i < o->defines.n; i++)
    if (strcmp(o->defines.at[i].name, name) == 0) return true;
  return false;
}

/* As the language writes it; NULL: neither a number nor a flag. */
static const char *value_text(Ctx *c, const json_t *value) {
  if (json_is_boolean(value)) return json_is_true(value) ? "true" : "false";
  if (json_is_integer(value)) return intern_printf(c, "%lld", (long long)json_integer_value(value));
  return json_is_real(value) ? intern_printf(c, "%.17g", json_real_value(value)) : NULL;
}

static void add_values(Ctx *c, Options *o, json_t *object) {
  const char *name;
  json_t *value;
  json_object_foreach(object, name, value) {
    const char *text = value_text(c, value);
    if (!text || is_defined(o, name)) continue;
    Define d = {.name = intern_printf(c, "%s", name), .value = text, .of_config = true};
    vec_push(ctx_arena(c), &o->defines, d);
  }
}

bool config_read(Ctx *c, Options *o) {
  const char *path = option_value(o, OPT_CONFIG, NULL), *name;
  json_error_t error;
  if (!path) return true;
  if (input_kind(o) != INPUT_G) return !usage_error("--config is for the lets of a program in .g");
  json_t *object = json_load_file(path, JSON_REJECT_DUPLICATES, &error), *value;
  if (!object && error.line < 0) return !usage_error("--config=%s: %s", path, error.text);
  if (!object) return !usage_error("--config=%s: line %d: %s", path, error.line, error.text);
  bool ok = json_is_object(object) ||
            !usage_error("--config=%s: is no JSON object {\"name\": value, …}", path);
  if (ok) {
    add_values(c, o, object);
    json_object_foreach(object, name, value) {
      if (json_is_object(value)) add_values(c, o, value);
    }
  }
  json_decref(object);
  return ok;
}
