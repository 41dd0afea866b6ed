/* `info`: what the program is and what it will take, known before anything runs.
   Contract: the total of an entry is what the process maps for it, apart from its code and the
   data. */
#include "run.h"
#include <inttypes.h>
#include <string.h>

static void bytes_text(char out[40], uint64_t n) { /* 1,234,567 */
  char raw[24];
  int len = snprintf(raw, sizeof raw, "%" PRIu64, n), at = 0;
  for (int i = 0; i < len; i++) {
    if (i && (len - i) % 3 == 0) out[at++] = ',';
    out[at++] = raw[i];
  }
  out[at] = 0;
}

static void line(const char *what, uint64_t n, const char *gloss) {
  char b[40];
  bytes_text(b, n);
  printf("  %-14s %16s%s%s\n", what, b, *gloss ? "  " : "", gloss);
}

static void tensors(const char *title, const GcTensor *t, int n) {
  char type[200];
  for (int i = 0; i < n; i++) {
    tensor_type_text(&t[i], type, sizeof type);
    printf("  %-8s %-24s %s\n", title, t[i].name, type);
  }
}

static bool entry_info(const GcEntry *en, int threads, Err *e) {
  Sizes s;
  if (!memory_sizes(en, threads, false, &s, e)) return false;
  printf("\nentry %s%s\n", en->name, en->training ? " (training)" : "");
  tensors("input", en->inputs, en->ninputs);
  tensors("output", en->outputs, en->noutputs);
  printf("  %d steps, %" PRIu64 " flops\n", en->nsteps, en->flops);
  printf("  bytes of its intermediate values\n");
  line("arena", en->arena_bytes, "as planned");
  line("naive", en->naive_bytes, "if none shared");
  line("inplace", en->inplace_bytes, "with in-place operations only");
  line("pool", en->pool_bytes, "with in-place operations and a pool");
  line("lower bound", en->lower_bound_bytes, "the most that is alive at once");
  printf("  bytes of the process, beside code and data\n");
  line("globals", s.globals, "parameters and states");
  line("inputs", s.inputs, "one batch");
  line("arena", s.arena, "the larger of this entry's and init's");
  line("runtime", s.hypers + s.tables, "tables and file buffers");
  line("total", s.total, "");
  return true;
}

static const char *kind_name(GcGlobalKind k) {
  return k == GC_PARAM ? "param" : k == GC_STATE ? "state" : "optimizer";
}

static void globals_info(void) {
  static const GcGlobalKind kinds[] = {GC_PARAM, GC_STATE, GC_OPTIMIZER};
  uint64_t total[3] = {0}, elems = 0;
  char type[200], b[40];
  printf("\nparameters and states\n");
  for (int i = 0; i < gc_program.nglobals; i++) {
    const GcGlobal *g = &gc_program.globals[i];
    tensor_type_text(&g->t, type, sizeof type);
    bytes_text(b, g->t.bytes);
    printf("  %-9s %-32s %-20s %14s bytes\n", kind_name(g->kind), g->t.name, type, b);
    total[g->kind] += g->t.bytes;
    if (g->kind == GC_PARAM) elems += tensor_count(&g->t);
  }
  for (unsigned k = 0; k < 3; k++) line(kind_name(kinds[k]), total[k], "bytes");
  bytes_text(b, elems);
  printf("  %s parameters\n", b);
}

int info_print(const Options *o, int threads, Err *e) {
  printf("%s, compiled by gc %s for %s%s%s\n", gc_program.name, gc_program.version,
         gc_program.target, gc_program.march && *gc_program.march ? " " : "",
         gc_program.march ? gc_program.march : "");
  if (gc_program.nhypers) printf("\nhypers\n");
  for (int i = 0; i < gc_program.nhypers; i++) {
    char value[32];
    float_text(value, gc_program.hypers[i].value);
    printf("  --%-22s %s\n", gc_program.hypers[i].name, value);
  }
  globals_info();
  for (int i = 0; i < gc_program.nentries; i++)
    if ((!o->entry || o->entry == &gc_program.entries[i]) &&
        !entry_info(&gc_program.entries[i], threads, e))
      return e->code;
  return 0;
}
