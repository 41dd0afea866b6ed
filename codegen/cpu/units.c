/* Kernels into files; see units.h. Kernels that share a function which takes long to compile (a
   convolution's tile) stay together, so that it is compiled once. Such a set goes to the file that
   its hash names, so that a kernel more or less changes one file. */
#include "codegen/cpu/units.h"

#include <stdlib.h>

/* Bytes of source a file: compiled in about a second, twenty times what the common text takes. */
enum { UNIT_BYTES = 48 << 10 };

typedef struct UnitMember {
  const KernelFunction *function;
  Hash set; /* the least hash of the kernels that stay together */
  uint32_t unit;
} UnitMember;

static uint32_t root_of(uint32_t *parent, uint32_t i) {
  while (parent[i] != i) i = parent[i] = parent[parent[i]];
  return i;
}

/* By kernel: the one of its set with the least hash. */
static uint32_t *sets_of(Gen *g, const KernelFunctions *f) {
  uint32_t *parent = ARENA_ARRAY(g->a, uint32_t, f->n + 1);
  uint32_t *user = ARENA_ARRAY(g->a, uint32_t, g->helpers.n + 1); /* by helper: a kernel + 1 */
  for (uint32_t i = 0; i < f->n; i++) {
    const Kernel *k = f->at[i].kernel;
    parent[i] = i;
    for (uint32_t h = 0; h < k->helpers.n; h++) {
      uint32_t at = k->helpers.at[h];
      if (!g->helpers.at[at].long_to_compile) continue;
      if (!user[at]) user[at] = i + 1;
      uint32_t a = root_of(parent, user[at] - 1), b = root_of(parent, i);
      bool less = hash_compare(f->at[a].hash, f->at[b].hash) < 0;
      parent[less ? b : a] = less ? a : b;
    }
  }
  return parent;
}

static int by_unit(const void *a, const void *b) {
  const UnitMember *x = a, *y = b;
  if (x->unit != y->unit) return x->unit < y->unit ? -1 : 1;
  int order = hash_compare(x->set, y->set);
  return order ? order : hash_compare(x->function->hash, y->function->hash);
}

static const char *unit_text(Gen *g, const char *common, const UnitMember *m, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) gen_use(g, m[i].function->kernel, m[i].function->body);
  Text x = text_new(g->a, 0);
  text_line(&x, "#include \"%s\"", common);
  gen_print_definitions(g, &x);
  for (uint32_t i = 0; i < n; i++)
    text_add(&x, "void %s" KERNEL_PARAMETERS " {\n%s}\n\n", m[i].function->symbol,
             m[i].function->body);
  return text_str(&x);
}

UnitTexts units_of(Gen *g, const KernelFunctions *f, const char *common) {
  UnitTexts units = {0};
  uint32_t *parent = sets_of(g, f), count = 1;
  size_t bytes = 0;
  for (uint32_t i = 0; i < f->n; i++) bytes += strlen(f->at[i].body);
  for (uint32_t h = 0; h < g->helpers.n; h++) bytes += strlen(g->helpers.at[h].text);
  while (count < bytes / UNIT_BYTES) count *= 2; /* mostly the same when the program grows */
  UnitMember *m = ARENA_ARRAY(g->a, UnitMember, f->n + 1);
  for (uint32_t i = 0; i < f->n; i++) {
    Hash set = f->at[root_of(parent, i)].hash;
    m[i] = (UnitMember){&f->at[i], set, (uint32_t)(set.low % count)};
  }
  if (f->n) qsort(m, f->n, sizeof *m, by_unit);
  for (uint32_t i = 0, end; i < f->n; i = end) {
    for (end = i; end < f->n && m[end].unit == m[i].unit;) end++;
    vec_push(g->a, &units, unit_text(g, common, m + i, end - i));
  }
  return units;
}
