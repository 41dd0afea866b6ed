/* The text form of modules and entries, which read.c reads back exactly; its grammar stands there.
   Contract: the text depends on the IR only, never on addresses; attributes that are zero or NULL
   are left out; floats are text of few digits (6, 8, 9, 15, 16 or 17) that reads back to
   the same bits. */
#include "ir/eval/interp.h"
#include "ir/text/names.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

typedef struct Printer {
  FILE *f;
  const Module *m;
  const PrintOptions *o;
} Printer;

static const PrintOptions print_all = {.locs = true};

static const char *const global_word[] = {[GLOBAL_PARAM] = "param",
                                          [GLOBAL_STATE] = "state",
                                          [GLOBAL_OPTIMIZER] = "optimizer",
                                          [GLOBAL_HYPER] = "hyper"};

/* ---- pieces ---- */

static void print_float(FILE *f, double v, Dtype dt) {
  static const int digits[] = {6, 8, 9, 15, 16, 17};
  char text[40];
  if (isnan(v)) {
    fputs("nan", f);
    return;
  }
  for (size_t i = 0; i < sizeof digits / sizeof digits[0]; i++) {
    snprintf(text, sizeof text, "%.*g", digits[i], v);
    if (scalar_round((Scalar){.f = strtod(text, NULL)}, dt, INTERP_DTYPE).f == v) break;
  }
  fputs(text, f);
}

static void print_type(Printer *p, const Type *t, const Layout *l) {
  fputs(type_str(p->m->ctx, t), p->f);
  for (int i = 0; l && l->order && i < l->order->n; i++)
    fprintf(p->f, i ? ",%lld" : " order [%lld", (long long)l->order->at[i]);
  if (l && l->order) fputc(']', p->f);
  if (l && l->nr) fprintf(p->f, l->winograd ? " winograd %d" : " panels %d", l->nr);
  if (l && l->interleaved) fprintf(p->f, " interleaved %d", l->interleaved);
  if (l && l->image) fprintf(p->f, " of %s padded", type_str(p->m->ctx, l->image));
  for (int i = 0; l && l->image && i < l->padding->n; i++)
    fprintf(p->f, i ? ",%lld" : " [%lld", (long long)l->padding->at[i]);
  if (l && l->image) fputc(']', p->f);
}

static void print_loc(Printer *p, Loc loc) {
  if (!p->o->locs || !loc.line) return;
  const char *name = ctx_source_name(p->m->ctx, loc.file), *c = name;
  fputc(' ', p->f);
  while (isalnum((unsigned char)*c) || (*c && strchr("_./+-", *c))) c++;
  if (*name && !*c)
    fputs(name, p->f);
  else
    names_print_string(p->f, name);
  fprintf(p->f, ":%u:%u", loc.line, loc.col);
}

static bool attr_shown(const Op *op, int i) {
  const AttrSpec *s = &op_info[op->kind].attr[i];
  if (!s->name || (op_info[op->kind].cls == CLASS_GLOBAL && i == AT_GLOBAL)) return false;
  return op->attr[i].i != 0;
}

static void print_attr(Printer *p, const Op *op, int i, Dtype dt) {
  const AttrSpec *s = &op_info[op->kind].attr[i];
  const Attr *v = &op->attr[i];
  fprintf(p->f, "%s = ", s->name);
  switch (s->kind) {
  case ATTR_NONE: break;
  case ATTR_NUM:
    if (dtype_is_float(dt)) {
      print_float(p->f, v->f, dt);
      break;
    } /* fall through */
  case ATTR_INT:
  case ATTR_BOOL: fprintf(p->f, "%lld", (long long)v->i); break;
  case ATTR_STR: names_print_string(p->f, v->str); break;
  case ATTR_INTS:
    fputc('[', p->f);
    for (int k = 0; k < v->ints->n; k++)
      fprintf(p->f, k ? ", %lld" : "%lld", (long long)v->ints->at[k]);
    fputc(']', p->f);
    break;
  }
}

static void print_attrs(Printer *p, const Entry *e, const Op *op) {
  const char *before = " {";
  Dtype dt = op->nresults ? value_type(e, op->results[0])->dtype : DT_I64;
  for (int i = 0; i < MAX_ATTRS; i++) {
    if (!attr_shown(op, i)) continue;
    fputs(before, p->f);
    before = ", ";
    print_attr(p, op, i, dt);
  }
  if (before[0] == ',') fputc('}', p->f);
}

static void print_arguments(Printer *p, const Entry *e, const Block *b) {
  fputc('(', p->f);
  for (uint32_t i = 0; i < b->args.n; i++) {
    const Value *v = value_at(e, b->args.at[i]);
    fprintf(p->f, i ? ", %s : " : "%s : ", value_str(e, b->args.at[i]));
    print_type(p, v->type, v->layout);
  }
  fputc(')', p->f);
}

/* ---- ops and blocks ---- */

static void print_op(Printer *p, const Entry *e, const Op *op, int indent) {
  FILE *f = p->f;
  fprintf(f, "%*s", indent, "");
  for (int i = 0; i < op->nresults; i++)
    fprintf(f, i ? ", %s" : "%s", value_str(e, op->results[i]));
  fprintf(f, "%s%s", op->nresults ? " = " : "", op_info[op->kind].name);
  const char *before = " ";
  if (op_info[op->kind].cls == CLASS_GLOBAL) {
    int64_t g = op->attr[AT_GLOBAL].i;
    fputc(' ', f);
    if (g >= 0 && g < p->m->globals.n)
      names_print(f, '@', p->m->globals.at[g].path);
    else
      fprintf(f, "@<%lld>", (long long)g); /* a broken module is printed, too */
    before = ", ";
  }
  for (int i = 0; i < op->noperands; i++) {
    fprintf(f, "%s%s", before, value_str(e, op->operands[i]));
    before = ", ";
  }
  print_attrs(p, e, op);
  for (int i = 0; i < op->nresults; i++) {
    const Value *v = value_at(e, op->results[i]);
    fputs(i ? ", " : " : ", f);
    print_type(p, v->type, v->layout);
  }
  if (op->backward) fputs(" backward", f);
  if (p->o->locs && op->scope && op->scope[0]) {
    fputc(' ', f);
    names_print_string(f, op->scope);
  }
  print_loc(p, op->loc);
  for (int i = 0; i < op->nblocks; i++) {
    const Block *b = op->blocks[i];
    fputc(' ', f);
    print_arguments(p, e, b);
    fputs(" {", f);
    if (i == 0 && p->o->note) p->o->note(f, e, op, p->o->data);
    fputc('\n', f);
    for (uint32_t k = 0; k < b->ops.n; k++) print_op(p, e, op_at(e, b->ops.at[k]), indent + 2);
    fprintf(f, "%*s}", indent, "");
  }
  if (op->nblocks == 0 && p->o->note) p->o->note(f, e, op, p->o->data);
  fputc('\n', f);
}

static void print_body(Printer *p, const Entry *e) {
  print_loc(p, e->loc);
  fputs(" {\n", p->f);
  for (uint32_t i = 0; i < e->body->ops.n; i++) print_op(p, e, op_at(e, e->body->ops.at[i]), 2);
  fputs("}\n", p->f);
}

static void print_entry(Printer *p, const Entry *e) {
  ((Entry *)e)->names = NULL; /* text is named afresh, whatever was asked for before */
  if (e == e->module->init || e == e->module->gather) {
    fputs(e == e->module->init ? "init" : "gather", p->f);
  } else {
    fputs("entry ", p->f);
    if (names_is_plain(e->name))
      fputs(e->name, p->f);
    else
      names_print_string(p->f, e->name);
    print_arguments(p, e, e->body);
    if (e->training) fputs(" training", p->f);
    if (e->ranks) fprintf(p->f, " ranks %d", e->ranks);
  }
  print_body(p, e);
  if (!e->ahead) return;
  e->ahead->names = NULL;
  fputs("\nahead", p->f);
  print_arguments(p, e->ahead, e->ahead->body);
  print_body(p, e->ahead);
}

void entry_print(FILE *f, const Entry *e, const PrintOptions *o) {
  Printer p = {f, e->module, o ? o : &print_all};
  print_entry(&p, e);
}

static void print_table(Printer *p, const Global *g) {
  const Dtype dt = g->type->dtype;
  fputs(" = [", p->f);
  for (int64_t i = 0; i < g->type->numel; i++) {
    if (i) fputs(", ", p->f);
    if (dtype_is_float(dt))
      print_float(p->f, g->table[i].f, dt);
    else
      fprintf(p->f, "%lld", (long long)g->table[i].i);
  }
  fputc(']', p->f);
}

static void print_global(Printer *p, const Global *g) {
  fprintf(p->f, "%s ", global_word[g->kind]);
  names_print(p->f, '@', g->path);
  if (g->kind == GLOBAL_HYPER) {
    if (g->type->dtype != DT_F32) {
      fputs(" : ", p->f);
      print_type(p, g->type, NULL);
    }
    fputs(" = ", p->f);
    print_float(p->f, g->value, DT_F64);
  } else {
    fputs(" : ", p->f);
    print_type(p, g->type, g->layout);
  }
  if (g->whole) {
    fputs(" of ", p->f);
    print_type(p, g->whole, NULL);
  }
  if (g->master) {
    fputs(" copy ", p->f);
    names_print(p->f, '@', g->master);
  }
  if (g->table)
    print_table(p, g);
  else if (g->transient)
    fputs(" transient", p->f);
  if (g->origin.name) {
    fputs(" from ", p->f);
    names_print_string(p->f, g->origin.name);
    if (g->origin.other) {
      fputs(" or ", p->f);
      names_print_string(p->f, g->origin.other);
    }
    if (g->origin.transposed) fputs(" transposed", p->f);
  }
  print_loc(p, g->loc);
  fputc('\n', p->f);
}

void module_print(FILE *f, const Module *m, const PrintOptions *o) {
  Printer p = {f, m, o ? o : &print_all};
  fputs("module ", f);
  names_print_string(f, m->source);
  fputc('\n', f);
  if (m->globals.n) fputc('\n', f);
  for (uint32_t i = 0; i < m->globals.n; i++) print_global(&p, &m->globals.at[i]);
  const Entry *own[] = {m->init, m->gather};
  for (int i = 0; i < 2; i++) {
    if (!own[i]) continue;
    fputc('\n', f);
    print_entry(&p, own[i]);
  }
  for (uint32_t i = 0; i < m->entries.n; i++) {
    fputc('\n', f);
    print_entry(&p, m->entries.at[i]);
  }
}
