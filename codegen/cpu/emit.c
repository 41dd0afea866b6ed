/* The whole C file of a program: the library code that its kernels use, one function for each
   distinct kernel, and the tables that the runtime runs (codegen/program/tables.c). Contract: no
   byte of the user's text reaches the file but in comments and string literals, both escaped. The
   same module gives the same bytes. */
#include "codegen/cpu/cpu.h"
#include "codegen/cpu/target.h"
#include "codegen/cpu/units.h"
#include "codegen/program/tables.h"
#include "codegen/schedule/amx_conv.h"
#include "codegen/schedule/attention.h"
#include "codegen/schedule/product.h"
#include "ir/support/memfile.h"

#define CPU_COMMON "common.h"

static const GroupPrinters printers = {.map = cpu_map,
                                       .rows = cpu_rows,
                                       .reduce = cpu_reduce,
                                       .matmul = cpu_matmul,
                                       .window = cpu_window,
                                       .attention = cpu_attention,
                                       .composite = cpu_quantize,
                                       .order = cpu_order,
                                       .index = cpu_index,
                                       .random = cpu_random,
                                       .collective = cpu_collective,
                                       .await = cpu_await,
                                       .move = cpu_move};

/* ---- functions, one for equal texts ---- */

typedef struct Program {
  const CodegenPart *part;
  Gen g;
  KernelFunctions functions;
  Tables tables;
} Program;

static void add_launch(KernelFunction *f, Arena *a, const Entry *e, const Launch *l) {
  f->launches++;
  f->entries = kernel_entries(a, f->entries, e);
  f->flops += l->flops;
  f->bytes += l->bytes;
}

static const char *function_of(Program *p, const Entry *e, const Launch *l) {
  Arena *a = p->g.a;
  const char *body = kernel_body(&p->g, l->kernel);
  for (uint32_t i = 0; i < p->functions.n; i++)
    if (p->functions.at[i].body == body) {
      add_launch(&p->functions.at[i], a, e, l);
      return p->functions.at[i].name;
    }
  KernelFunction f = {.body = body, .hash = hash_of(body, strlen(body)), .kernel = l->kernel};
  add_launch(&f, a, e, l);
  f.name = arena_printf(a, "k%d_%s", (int)p->functions.n, text_mangled(a, l->kernel->name));
  /* levels can have kernels of the same text: their code is not the same */
  const Hash own = hash_with_text(f.hash, cpu_target(p->g.target)->level);
  f.symbol = arena_printf(a, "gc_kernel_%016llx%016llx", (unsigned long long)own.high,
                          (unsigned long long)own.low);
  const char *scope = l->op->scope && *l->op->scope ? l->op->scope : "";
  f.comment = arena_printf(a, "/* %s%s%s%s%s: %s */", text_comment(a, e->name), *scope ? ", " : "",
                           text_comment(a, scope), l->op->loc.line ? ", " : "",
                           l->op->loc.line ? text_comment(a, loc_str(p->g.ctx, l->op->loc)) : "",
                           text_comment(a, l->kernel->name));
  vec_push(a, &p->functions, f);
  return f.name;
}

static StepText step_of(Tables *t, const Entry *e, const Launch *l, int depth) {
  (void)depth;
  return (StepText){.kernel = function_of(t->target, e, l)};
}

static Program *program_of(const CodegenPart *part, const CodegenOptions *o, Arena *a) {
  Program *p = ARENA_NEW(a, Program);
  p->part = part;
  p->g = (Gen){.ctx = part->m->ctx,
               .m = part->m,
               .target = part->target,
               .opt = o,
               .a = a,
               .library = cpu_library(a),
               .print = &printers,
               .fault = "gcrt_fault(",
               .ivdep = "GC_IVDEP"};
  p->tables = (Tables){.g = &p->g, .step = step_of, .target = p};
  tables_make(&p->tables);
  return p;
}

static void write_title(const Program *p, FILE *f) {
  const CodegenOptions *o = p->g.opt;
  fprintf(f, "/* %s, compiled by gc %s for %s. */\n", text_comment(p->g.a, p->g.m->source),
          o->version ? o->version : "", p->g.target->name);
}

static void write_common(const Program *p, FILE *f) {
  fprintf(f, "#include \"gcrt.h\"\n#include <string.h>\n\n%s", sections_base(p->g.library));
}

/* What the compiler uses, and what kernels name themselves: a program without these runs where a
   system keeps them to itself. */
static const char *features_of(const Program *p) {
  const char *all = cpu_target(p->g.target)->features;
  bool halves = false, bytes = false;
  for (uint32_t i = 0; i < p->functions.n; i++) {
    const Kernel *k = p->functions.at[i].kernel;
    const ProductSchedule *product = k->schedule_kind == &product_kind ? k->schedule : NULL;
    const bool filter =
        k->schedule_kind == &filter_kind && ((const FilterSchedule *)k->schedule)->amx;
    const bool attention =
        k->schedule_kind == &attention_kind && ((const AttentionSchedule *)k->schedule)->amx;
    halves |= (product && product->amx) || filter || attention;
    halves |= k->schedule_kind == &amx_conv_kind;
    bytes |= product && product->amx_bytes;
  }
  if (halves || bytes)
    all = arena_printf(p->g.a, "%s%samx-tile%s%s", all, *all ? "," : "", halves ? ",amx-bf16" : "",
                       bytes ? ",amx-int8" : "");
  return all;
}

static void write_tables(Program *p, FILE *f) {
  const CpuTarget *t = cpu_target(p->g.target);
  const char *symbol = p->part->symbol ? p->part->symbol : "gc_program";
  tables_write(&p->tables, f, symbol, t->level, features_of(p), NULL, p->part->next);
}

bool cpu_source(const CodegenPart *part, const CodegenOptions *o, FILE *f) {
  Arena *a = arena_new();
  Program *p = program_of(part, o, a);
  write_title(p, f);
  write_common(p, f);
  for (uint32_t i = 0; i < p->functions.n; i++)
    gen_use(&p->g, p->functions.at[i].kernel, p->functions.at[i].body);
  Text definitions = text_new(a, 0);
  gen_print_definitions(&p->g, &definitions);
  fprintf(f, "%s\n/* ---- kernels ---- */\n\n", text_str(&definitions));
  for (uint32_t i = 0; i < p->functions.n; i++)
    fprintf(f, "%s\nstatic void %s" KERNEL_PARAMETERS " {\n%s}\n\n", p->functions.at[i].comment,
            p->functions.at[i].name, p->functions.at[i].body);
  write_tables(p, f);
  arena_free(a);
  return !ferror(f);
}

/* ---- the same in several files ---- */

static const char *text_of(Arena *a, void (*write)(Program *p, FILE *f), Program *p) {
  MemFile m;
  write(p, memfile_open(&m));
  memfile_close(&m);
  const char *text = arena_strdup(a, m.text);
  memfile_free(&m);
  return text;
}

static void write_common_file(Program *p, FILE *f) { write_common(p, f); }

static void write_tables_file(Program *p, FILE *f) {
  fprintf(f, "#include \"%s\"\n", CPU_COMMON);
  for (uint32_t i = 0; i < p->functions.n; i++)
    fprintf(f, "GcKernel %s __asm__(\"%s\");\n", p->functions.at[i].name,
            p->functions.at[i].symbol);
  write_tables(p, f);
}

static bool cpu_files(const CodegenPart *part, const CodegenOptions *o, const char *dir, Arena *a,
                      CodegenFiles *out, int *code) {
  (void)dir;
  (void)code;
  Program *p = program_of(part, o, a);
  const CpuTarget *t = cpu_target(part->target);
  UnitTexts units = units_of(&p->g, &p->functions, CPU_COMMON);
  *out = (CodegenFiles){.header = CPU_COMMON,
                        .header_text = text_of(a, write_common_file, p),
                        .march = t->cc_march,
                        .macros = t->cc_macros};
  vec_push(a, &out->files, (CodegenFile){.text = text_of(a, write_tables_file, p)});
  for (uint32_t i = 0; i < units.n; i++)
    vec_push(a, &out->files, (CodegenFile){.text = units.at[i]});
  return true;
}

/* "units=12 balance=0.75,… flops=… bytes=…": how evenly 8, 16, 64 and 128 threads share the work,
   and what all launches compute, read and write. */
static const char *shares_text(Arena *a, const KernelFunction *f) {
  static const int threads[] = {8, 16, 64, 128};
  const char *text = arena_printf(a, "units=%lld balance=", (long long)f->kernel->units);
  for (size_t i = 0; i < sizeof threads / sizeof *threads; i++)
    text = arena_printf(a, "%s%s%.2f", text, i ? "," : "", kernel_balance(f->kernel, threads[i]));
  return arena_printf(a, "%s flops=%llu bytes=%llu", text, (unsigned long long)f->flops,
                      (unsigned long long)f->bytes);
}

/* "cpu machine level=x86-64-v3 vector=32 …": what the schedules are made for. */
static void print_machine(FILE *f, const CpuTarget *t) {
  const VectorMachine *m = &t->machine;
  const Caches *c = &m->cache;
  fprintf(f,
          "%s machine level=%s vector=%d columns=%d rows=%d pairs=%s amx=%s l1=%lld ways=%d "
          "l2=%lld l3=%lld\n",
          t->t.name, t->level, m->vector, m->vectors * m->vector / 4, m->rows,
          m->pairs ? "yes" : "no", m->amx ? "yes" : "no", (long long)c->l1, c->ways,
          (long long)c->l2, (long long)c->l3);
}

static bool cpu_schedules(const CodegenPart *part, const CodegenOptions *o, FILE *f) {
  Arena *a = arena_new();
  print_machine(f, cpu_target(part->target));
  Program *p = program_of(part, o, a);
  for (uint32_t i = 0; i < p->functions.n; i++) {
    const KernelFunction *x = &p->functions.at[i];
    kernel_print_schedule(f, &p->g, x->kernel, x->name, shares_text(a, x), x->launches, x->entries);
  }
  arena_free(a);
  return !ferror(f);
}

static const Target *target(Ctx *c, const CodegenPart *part, CodegenOptions *o) {
  return target_cpu_level(c, o, part->march ? part->march : o->march);
}

const Backend backend_cpu = {
    .name = "cpu",
    .suffix = ".c",
    .ranks_by = "mpi",
    .forms =
        (const BackendForm[]){{.name = "c", .begins = "/* ", .holds = ", compiled by gc "}, {0}},
    .target = target,
    .levels = target_cpu_levels,
    .source = cpu_source,
    .schedules = cpu_schedules,
    .files = cpu_files,
};
