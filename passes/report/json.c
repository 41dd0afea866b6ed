/* The plan for tools: JSON of a stable schema, one object a program, one an entry, one a value.
   Contract: needs a plan with offsets; keys never change their name or meaning. New ones may come
   between them, since readers of JSON go by names. */
#include "passes/plan/plan_impl.h"

void plan_put_string(FILE *f, const char *s) {
  fputc('"', f);
  for (; *s; s++) {
    unsigned char c = (unsigned char)*s;
    if (c == '"' || c == '\\')
      fprintf(f, "\\%c", c);
    else if (c < 0x20)
      fprintf(f, "\\u%04x", c);
    else
      fputc(c, f);
  }
  fputc('"', f);
}

static void put_text(FILE *f, const char *key, const char *s) {
  fprintf(f, "\"%s\": ", key);
  plan_put_string(f, s);
}

static void put_bytes(FILE *f, const char *key, uint64_t n) {
  fprintf(f, "\"%s\": %llu, ", key, (unsigned long long)n);
}

static const char *how_word(How h) {
  switch (h) {
  case HOW_NEW: return "new";
  case HOW_INPLACE: return "inplace";
  case HOW_REUSE: return "reuse";
  case HOW_EXTERNAL: return "external";
  }
  return "new";
}

/* An offset is one within its region. */
static const char *region_word(PlanRegion r) {
  switch (r) {
  case PLAN_ARENA: return "ws";
  case PLAN_GLOBALS: return "globals";
  case PLAN_INPUTS: return "inputs";
  case PLAN_HYPERS: return "hypers";
  case PLAN_COUNTS: return "counts";
  case PLAN_PREPARED: return "ahead";
  case PLAN_REGIONS: break;
  }
  return "?";
}

typedef struct Json {
  FILE *f;
  const Entry *e;
  bool any; /* a value was written */
} Json;

static void put_value(Json *j, const char *id, const char *what, const Op *op, const char *type,
                      const Place *x) {
  FILE *f = j->f;
  Ctx *c = j->e->module->ctx;
  fputs(j->any ? ",\n    {" : "\n    {", f);
  j->any = true;
  put_text(f, "id", id);
  fputs(", ", f);
  put_text(f, "op", what);
  fputs(", ", f);
  put_text(f, "scope", op && op->scope ? op->scope : "");
  fputs(", ", f);
  put_text(f, "loc", op && op->loc.line ? loc_str(c, op->loc) : "");
  fputs(", ", f);
  put_text(f, "type", type);
  fputs(", ", f);
  put_bytes(f, "bytes", x->bytes);
  put_text(f, "region", region_word(x->region));
  fputs(", ", f);
  put_bytes(f, "offset", x->offset);
  if (x->stride) {
    fputs("\"stride\": [", f);
    for (int d = 0; d < plan_of(j->e)->depth; d++)
      fprintf(f, "%s%lld", d ? ", " : "", (long long)x->stride[d]);
    fputs("], ", f);
  }
  fprintf(f, "\"first\": %d, \"last\": %d, \"stream\": %d, ", x->first, x->last, x->stream);
  put_text(f, "how", how_word(x->how));
  fputs(", \"of\": ", f);
  if (x->of == NO_ID)
    fputs("null", f);
  else
    plan_put_string(f, value_str(j->e, x->of));
  fputc('}', f);
}

static void put_block(Json *j, const Block *b) {
  const Entry *e = j->e;
  Ctx *c = e->module->ctx;
  for (uint32_t i = 0; i < b->ops.n; i++) {
    const Op *op = op_at(e, b->ops.at[i]);
    for (int k = 0; k < plan_nmade(op); k++) {
      ValueId v = plan_made(op, k);
      put_value(j, value_str(e, v), plan_op_name(op), op, type_str(c, value_type(e, v)),
                &plan_of(e)->place[v]);
    }
    const Place *s = &plan_of(e)->scratch[op->id];
    if (s->bytes) {
      const char *id = intern_printf(c, "scratch.%d", s->first);
      const char *type = intern_printf(c, "u8[%llu]", (unsigned long long)s->bytes);
      put_value(j, id, "scratch", op, type, s);
    }
    if (op->kind == OP_SCAN) put_block(j, op->blocks[0]);
  }
}

static void put_values(Json *j) {
  const Entry *e = j->e;
  Ctx *c = e->module->ctx;
  for (uint32_t i = 0; i < e->body->args.n; i++) {
    ValueId v = e->body->args.at[i];
    put_value(j, value_str(e, v), "input", NULL, type_str(c, value_type(e, v)),
              &plan_of(e)->place[v]);
  }
  put_block(j, e->body);
}

static void put_edges(FILE *f, const Plan *p) {
  fprintf(f, "\n   \"at_work\": %.3f, \"edges\": [", p->average_parallelism);
  for (int i = 0; i < p->nedges; i++)
    fprintf(f, "%s[%d, %d]", i ? ", " : "", p->edges[i].from, p->edges[i].to);
  fputs("],", f);
}

/* What a run may have fewer of than the plan is for. */
static void put_extents(FILE *f, const Entry *e) {
  const Extent *extents[ENTRY_EXTENTS];
  int n = entry_extents(e, extents);
  if (!n) return;
  fputs("\"extents\": [", f);
  for (int i = 0; i < n; i++) {
    fputs(i ? ", {" : "{", f);
    put_text(f, "name", extents[i]->name);
    fprintf(f, ", \"bound\": %lld}", (long long)extents[i]->bound);
  }
  fputs("],\n   ", f);
}

static void put_entry(FILE *f, const Entry *e) {
  const Plan *p = plan_of(e);
  fputs("{", f);
  put_text(f, "name", e->name);
  fprintf(f, ", \"training\": %s, \"steps\": %d, \"streams\": %d,\n   ",
          e->training ? "true" : "false", p->nsteps, p->streams);
  put_extents(f, e);
  put_bytes(f, "naive_bytes", p->naive_bytes);
  put_bytes(f, "inplace_bytes", p->inplace_bytes);
  put_bytes(f, "pool_bytes", p->pool_bytes);
  put_bytes(f, "arena_bytes", p->arena_bytes);
  put_bytes(f, "lower_bound_bytes", p->lower_bound_bytes);
  fputs("\n   ", f);
  put_bytes(f, "inputs_bytes", p->inputs_bytes);
  put_bytes(f, "outputs_bytes", p->outputs_bytes);
  put_bytes(f, "unwritten_bytes", plan_unwritten(e));
  put_bytes(f, "recompute_flops", p->recompute_flops);
  put_bytes(f, "flops", p->flops);
  if (p->streams > 1) put_edges(f, p);
  fputs("\n   \"values\": [", f);
  Json j = {.f = f, .e = e};
  put_values(&j);
  fputs("]}", f);
}

void plan_print_json(FILE *f, const Module *m, const Target *target, const char *version) {
  fputs("{", f);
  put_text(f, "gc", version);
  fputs(", ", f);
  put_text(f, "source", m->source);
  fputs(", ", f);
  put_text(f, "target", target->name);
  fputs(", ", f);
  put_bytes(f, "globals_bytes", plan_globals(m, target->align).bytes);
  fputs("\n \"entries\": [", f);
  const Entry *e;
  for (uint32_t k = 0; (e = plan_listed(m, k)); k++) {
    if (k) fputs(",\n  ", f);
    put_entry(f, e);
  }
  fputs("]}\n", f);
}
