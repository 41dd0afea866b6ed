/* gc --config: the numbers, flags, words, and lists of these, of a JSON object, such as a published
   model's config.json, as values of the lets of their names. Contract: a name that no let of the
   program has is none of its business, and -D counts before the file; an object within gives the
   names that are not there outside of it (newer files keep rope_theta in rope_parameters). */
#include "lang/driver/command.h"

#include <jansson.h>
#include <string.h>

/* Keys that change what a model computes, and the values with which they do not. */
static const struct {
  const char *key, *neutral[4];
} matters[] = {
    {"hidden_act", {NULL}},
    {"hidden_activation", {NULL}},
    {"activation_function", {NULL}},
    {"attention_bias", {"false"}},
    {"mlp_bias", {"false"}},
    {"qkv_bias", {"false"}},
    {"position_embedding_type", {"\"absolute\""}},
    {"is_decoder", {"false"}},
    {"rope_type", {"\"default\""}},
    {"type", {"\"default\""}},
    {"partial_rotary_factor", {"1", "1.0"}},
    {"attention_factor", {NULL}},
    {"mscale", {NULL}},
    {"mscale_all_dim", {NULL}},
    {"truncate", {"true"}},
    {"quant_method", {NULL}},
    {"sliding_window", {"0"}},
    {"use_sliding_window", {"false"}},
    {"final_logit_softcapping", {NULL}},
    {"attn_logit_softcapping", {NULL}},
    {"query_pre_attn_scalar", {NULL}},
    {"scale_attn_weights", {"true"}},
    {"scale_attn_by_inverse_layer_idx", {"false"}},
    {"attention_multiplier", {NULL}},
    {"embedding_multiplier", {"1", "1.0"}},
    {"residual_multiplier", {"1", "1.0"}},
    {"logits_scaling", {"1", "1.0"}},
    {"logit_scale", {"1", "1.0"}},
    {"num_local_experts", {NULL}},
    {"num_experts", {NULL}},
    {"clip_qkv", {NULL}},
    {"use_qk_norm", {"false"}},
    {"use_rslora", {"false"}},
    {"use_dora", {"false"}},
    {"lora_bias", {"false"}},
    {"modules_to_save", {"[]"}},
    {"layers_to_transform", {NULL}},
    {"layer_replication", {NULL}},
    {"exclude_modules", {"[]"}},
    {"rank_pattern", {"{}"}},
    {"alpha_pattern", {"{}"}},
    {"trainable_token_indices", {NULL}},
    {"bias", {"\"none\"", "false"}},
    {"fan_in_fan_out", {"false"}},
};

static bool is_defined(const Options *o, const char *name) {
  for (uint32_t i = 0; i < o->defines.n; i++)
    if (strcmp(o->defines.at[i].name, name) == 0) return true;
  return false;
}

/* A string without what the language writes otherwise. */
static bool is_word(const char *s) { return *s && !strpbrk(s, "\"\\{}\n"); }

static bool is_of_model(const char *key) {
  for (size_t i = 0; i < sizeof matters / sizeof *matters; i++)
    if (strcmp(matters[i].key, key) == 0) return true;
  return false;
}

static const char *value_text(Ctx *c, const json_t *value);

static const char *list_text(Ctx *c, const json_t *list) {
  const char *text = "", *one;
  size_t i;
  json_t *value;
  json_array_foreach(list, i, value) {
    if (!(one = value_text(c, value))) return NULL;
    text = intern_printf(c, "%s%s%s", text, i ? ", " : "", one);
  }
  return intern_printf(c, "[%s]", text);
}

/* {"q_proj": 4}, for a message: the language has no such values. */
static const char *object_text(Ctx *c, const json_t *object) {
  const char *text = "", *name, *one;
  json_t *value;
  json_object_foreach((json_t *)object, name, value) {
    one = value_text(c, value);
    text = intern_printf(c, "%s%s\"%s\": %s", text, *text ? ", " : "", name, one ? one : "…");
  }
  return intern_printf(c, "{%s}", text);
}

/* As the language writes it; NULL: it has no such values. */
static const char *value_text(Ctx *c, const json_t *value) {
  if (json_is_array(value)) return list_text(c, value);
  if (json_is_boolean(value)) return json_is_true(value) ? "true" : "false";
  if (json_is_integer(value)) return intern_printf(c, "%lld", (long long)json_integer_value(value));
  if (json_is_real(value)) return intern_printf(c, "%.17g", json_real_value(value));
  bool word = json_is_string(value) && is_word(json_string_value(value));
  return word ? intern_printf(c, "\"%s\"", json_string_value(value)) : NULL;
}

static void add_values(Ctx *c, Options *o, json_t *object) {
  const char *name;
  json_t *value;
  json_object_foreach(object, name, value) {
    bool of_model = json_is_object(value) && is_of_model(name);
    const char *text = of_model ? object_text(c, value) : value_text(c, value);
    if (!text || is_defined(o, name)) continue;
    Define d = {.name = intern_printf(c, "%s", name), .value = text, .of_config = true};
    vec_push(ctx_arena(c), &o->defines, d);
  }
}

static bool read_one(Ctx *c, Options *o, const char *path) {
  json_error_t error;
  const char *name;
  json_t *object = json_load_file(path, JSON_REJECT_DUPLICATES, &error), *value;
  if (!object && error.line < 0) return !usage_error("--config=%s: %s", path, error.text);
  if (!object) return !usage_error("--config=%s: line %d: %s", path, error.line, error.text);
  bool ok = json_is_object(object) ||
            !usage_error("--config=%s: is no JSON object {\"name\": value, …}", path);
  if (ok) {
    add_values(c, o, object);
    json_object_foreach(object, name, value) {
      if (json_is_object(value) && !is_of_model(name)) add_values(c, o, value);
    }
  }
  json_decref(object);
  return ok;
}

bool config_read(Ctx *c, Options *o) {
  if (o->configs.n && input_kind(o) != INPUT_G)
    return !usage_error("--config is for the lets of a program in .g");
  bool ok = true;
  for (uint32_t i = 0; ok && i < o->configs.n; i++) ok = read_one(c, o, o->configs.at[i]);
  return ok;
}

static const Define *find(const Options *o, const char *name) {
  for (uint32_t i = 0; i < o->defines.n; i++)
    if (strcmp(o->defines.at[i].name, name) == 0) return &o->defines.at[i];
  return NULL;
}

void config_warn(Ctx *c, const Options *o, const Define *d) {
  for (size_t i = 0; i < sizeof matters / sizeof *matters; i++) {
    if (strcmp(matters[i].key, d->name) != 0) continue;
    for (int k = 0; k < 4 && matters[i].neutral[k]; k++)
      if (strcmp(matters[i].neutral[k], d->value) == 0) return;
    const Define *used = find(o, "use_sliding_window");
    bool off = strcmp(d->name, "sliding_window") == 0 && used && strcmp(used->value, "false") == 0;
    if (off) return;
    diag(c, SEV_WARNING, (Loc){0}, "--config: %s is %s, which the program does not read", d->name,
         d->value);
    diag(c, SEV_HINT, (Loc){0},
         "results differ from the published model's; a 'let %s' of the program gets the value",
         d->name);
  }
}
