/* The chat templates of the families by name. Contract: see template.h. Source: the model cards of
   Qwen 2.5 and SmolLM (chatml), LLaMA 2, LLaMA 3 and TinyLlama (zephyr). */
#include "runtime/text/template.h"
#include <stdio.h>

static const Template templates[] = {
    {"plain", "", "\n\n", "", "", "\n", "", false},
    {"chatml", "<|im_start|>system\n", "<|im_end|>\n", "<|im_start|>user\n",
     "<|im_end|>\n<|im_start|>assistant\n", "<|im_end|>\n", "<|im_end|>", false},
    {"llama2", "<<SYS>>\n", "\n<</SYS>>\n\n", "[INST] ", " [/INST]", " </s><s>", "</s>", true},
    {"llama3", "<|start_header_id|>system<|end_header_id|>\n\n", "<|eot_id|>",
     "<|start_header_id|>user<|end_header_id|>\n\n",
     "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n", "<|eot_id|>", "<|eot_id|>",
     false},
    {"zephyr", "<|system|>\n", "</s>\n", "<|user|>\n", "</s>\n<|assistant|>\n", "</s>\n", "</s>",
     false}};
enum { TEMPLATES = sizeof templates / sizeof *templates };

const Template *template_find(const char *name) {
  for (int i = 0; i < TEMPLATES; i++)
    if (strcmp(templates[i].name, name) == 0) return &templates[i];
  return NULL;
}

void template_names(char *out, size_t size) {
  size_t at = 0;
  for (int i = 0; i < TEMPLATES && at < size; i++)
    at += (size_t)snprintf(out + at, size - at, "%s%s", i ? ", " : "", templates[i].name);
}

static bool add(Text *out, const char *s) { return text_add(out, s, strlen(s)); }

bool template_turn(const Template *t, const char *system, bool first, Slice user, Text *out) {
  bool block = first && system;
  if (block && !t->nested &&
      (!add(out, t->system) || !add(out, system) || !add(out, t->system_end)))
    return false;
  if (!add(out, t->user)) return false;
  if (block && t->nested && (!add(out, t->system) || !add(out, system) || !add(out, t->system_end)))
    return false;
  return text_add(out, user.s, user.n) && add(out, t->user_end);
}
