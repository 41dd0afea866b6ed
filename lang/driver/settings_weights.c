/* What --weights asks for: a file, how weights are quantized, or both. Contract: see settings.c. */
#include "lang/driver/compilation.h"

#include <string.h>
#include <unistd.h>

/* q8 and q4 are the fastest forms whose results are those of the weights up to rounding; w8 and w4
   leave activations as they are. */
static const QuantizedForm quantized_forms[] = {
    {.word = "q8", .argument = "bits=8,activations=16"},
    {.word = "q4", .argument = "bits=4,activations=16"},
    {.word = "w8", .argument = "bits=8"},
    {.word = "w4", .argument = "bits=4"},
    {.word = "w8a8", .argument = "bits=8,activations=8"},
    {.word = "w4a8", .argument = "bits=4,activations=8"},
    {.word = "w8a16", .argument = "bits=8,activations=16"},
    {.word = "w4a16", .argument = "bits=4,activations=16"}};

/* What stands in front of the last comma, or nothing, and what behind it. */
static const char *last_word(Ctx *c, const char *list, const char **before) {
  const char *comma = strrchr(list, ',');
  *before = comma ? intern_n(c, list, (size_t)(comma - list)) : NULL;
  return comma ? comma + 1 : list;
}

/* What may stand behind a form, once. */
static const char *const form_words[] = {"errors", "calibrate", "static"};

/* The argument of the pass that a word behind a form is; NULL: it is none of these. */
static const char *form_argument(Ctx *c, const char *word) {
  for (size_t i = 0; i < sizeof form_words / sizeof *form_words; i++)
    if (strcmp(word, form_words[i]) == 0) return intern_printf(c, ",%s=1", word);
  return NULL;
}

static bool belongs_to_form(Ctx *c, const char *word) {
  return form_argument(c, word) || (strncmp(word, "without=", 8) == 0 && word[8]);
}

/* "FILE,q8,errors,without=PATH": a form, what belongs to it, and in front of it a file, or not. */
const char *settings_weights(Ctx *c, const Options *o, const QuantizedForm **form) {
  const char *value = option_value(o, OPT_WEIGHTS, NULL), *without = "", *more = "", *before;
  const char *list = value ? value : "", *word = last_word(c, list, &before);
  if (form) *form = NULL;
  for (; before && belongs_to_form(c, word); word = last_word(c, list = before, &before))
    if (form_argument(c, word))
      more = strstr(more, form_argument(c, word))
                 ? more
                 : intern_printf(c, "%s%s", more, form_argument(c, word));
    else
      without = intern_printf(c, "%s%s%s", word + 8, *without ? "+" : "", without);
  for (size_t i = 0; i < sizeof quantized_forms / sizeof *quantized_forms; i++) {
    if (strcmp(word, quantized_forms[i].word) != 0) continue;
    QuantizedForm *found = ARENA_NEW(ctx_arena(c), QuantizedForm);
    *found = quantized_forms[i];
    found->argument =
        intern_printf(c, "%s%s%s%s", found->argument, more, *without ? ",without=" : "", without);
    found->without = without;
    found->calibrates = strstr(more, ",calibrate=1") != NULL;
    found->is_static = strstr(more, ",static=1") != NULL;
    if (form) *form = found;
    return before && *before ? before : NULL;
  }
  return value;
}

/* "q6", "w3", "w8a4". */
static bool looks_quantized(const char *word) {
  static const char digits[] = "0123456789";
  if (*word != 'q' && *word != 'w') return false;
  size_t n = strspn(word + 1, digits);
  const char *rest = word + 1 + n;
  if (n && *word == 'w' && *rest == 'a' && rest[1]) rest += 1 + strspn(rest + 1, digits);
  return n && !*rest;
}

/* "FILE,q6", "q6,errors" and "w8a4", which name no file; NULL: neither. */
static const char *wrong_quantization(Ctx *c, const Options *o) {
  const char *list = option_value(o, OPT_WEIGHTS, NULL), *before;
  if (!list || access(list, F_OK) == 0) return NULL;
  const char *word = last_word(c, list, &before);
  while (before && belongs_to_form(c, word)) word = last_word(c, list = before, &before);
  bool file = before && access(before, F_OK) == 0;
  return file || looks_quantized(word) ? word : NULL;
}

/* "q8,eror" and "FILE,q8,without=": what belongs to no form, behind one. */
static const char *wrong_behind_form(Ctx *c, const Options *o) {
  Options front = *o;
  const QuantizedForm *form = NULL;
  const char *value = option_value(o, OPT_WEIGHTS, NULL), *before = NULL;
  const char *word = value && access(value, F_OK) != 0 ? last_word(c, value, &before) : NULL;
  front.value[OPT_WEIGHTS] = before;
  (void)settings_weights(c, &front, &form);
  return form ? word : NULL;
}

int settings_check_weights(const Compilation *r) {
  const Options *o = &r->o;
  const bool train = option_given(o, OPT_TRAIN_ONNX);
  const QuantizedForm *form;
  const char *weights = settings_weights(r->c, o, &form);
  const char *how = form ? NULL : wrong_quantization(r->c, o);
  if (how)
    return usage_error(
        "--weights quantizes to q8, q4, w8, w4, w8a8, w4a8, w8a16 or w4a16, not to %s", how);
  how = form ? NULL : wrong_behind_form(r->c, o);
  if (how)
    return usage_error(
        "behind the form of --weights stand errors, calibrate, static and without=PATH, not "
        "'%s'",
        how);
  if (form && (form->calibrates || form->is_static)) {
    if (!strstr(form->argument, "activations=8"))
      return usage_error("--weights=%s quantizes no activations to 8 bits: calibrate and static "
                         "stand behind w8a8 and w4a8",
                         form->word);
    if (form->calibrates && (form->is_static || strstr(form->argument, "errors=1")))
      return usage_error("behind --weights=%s stands calibrate, which finds scales of activations, "
                         "and nothing that applies them: %s",
                         form->word, form->is_static ? "static" : "errors");
  }
  if (train && form)
    return usage_error("--train-onnx makes an entry that trains, which --weights=%s leaves out",
                       form->word);
  if (weights && !settings_makes_program(r->emit) && r->emit != EMIT_ONNX)
    return usage_error("--weights goes into a program, a library or a model of ONNX");
  if (form && r->emit == EMIT_ONNX)
    return usage_error("--weights=%s goes into a program or a library, not a model of ONNX",
                       form->word);
  return EXIT_DONE;
}
