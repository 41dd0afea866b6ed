/* The op table, from the rows of ops.def, and lookups in it.
   Contract: op_table_check reports every row that lacks a rule or text; docs/ops.md is printed from
   the same rows. */
#include "op/op.h"

const OpInfo op_info[OP_KINDS] = {
#define OP(KIND, ...) [OP_##KIND] = {__VA_ARGS__},
#include "ops.def"
#undef OP
};

bool op_parse_kind(const char *mnemonic, OpKind *out) {
  for (int k = 0; k < OP_KINDS; k++)
    if (op_info[k].name[0] == mnemonic[0] && strcmp(op_info[k].name, mnemonic) == 0) {
      *out = (OpKind)k;
      return true;
    }
  return false;
}

bool op_calls_function(OpKind k) { return op_info[k].expr && strstr(op_info[k].expr, "FN("); }

int op_accumulator(const Op *op) {
  if (op->kind == OP_SUM) return op->noperands > 1 ? 1 : -1;
  bool may = op->kind == OP_CONV_FILTER_GRAD || op->kind == OP_GATHER_GRAD;
  return may && op->noperands > 2 ? 2 : -1;
}

const Type *op_shape(Ctx *c, OpKind k, const Type *const *types, int n, const Attr *attr,
                     const Type *given, char *why) {
  return op_shape_of(c, k, 0, types, n, attr, given, why);
}

const Type *op_shape_of(Ctx *c, OpKind k, int result, const Type *const *types, int n,
                        const Attr *attr, const Type *given, char *why) {
  static const Attr none[MAX_ATTRS];
  const OpInfo *info = &op_info[k];
  why[0] = 0;
  if (!info->shape) {
    snprintf(why, WHY_BYTES, "%s has no type of its own", info->name);
    return NULL;
  }
  if (info->operands >= 0 && n != info->operands) {
    snprintf(why, WHY_BYTES, "%s takes %d operand%s, not %d", info->name, info->operands,
             info->operands == 1 ? "" : "s", n);
    return NULL;
  }
  if (info->flags & OPF_TYPED && !given) {
    snprintf(why, WHY_BYTES, "%s needs its type to be given", info->name);
    return NULL;
  }
  ShapeIn in = {.ctx = c,
                .kind = k,
                .result = result,
                .n = n,
                .type = types,
                .attr = attr ? attr : none,
                .given = info->flags & OPF_TYPED ? given : NULL,
                .wanted = given,
                .why = why};
  const Type *t = info->shape(&in);
  if (t) t = shape_bounded(&in, t);
  if (!t && !why[0]) snprintf(why, WHY_BYTES, "%s does not fit these operands", info->name);
  return t;
}

/* ---- self-check ---- */

static bool complain(FILE *f, const char *op, const char *what) {
  fprintf(f, "ops.def: %s: %s\n", op, what);
  return false;
}

static bool check_row(FILE *f, int k) {
  const OpInfo *i = &op_info[k];
  bool ok = true;
  if (!i->name) return complain(f, "a row", "has no name");
  if (!i->help || !i->help[0]) ok = complain(f, i->name, "has no help line");
  for (int j = 0; j < k; j++)
    if (op_info[j].name && strcmp(op_info[j].name, i->name) == 0)
      ok = complain(f, i->name, "is the name of two ops");
  bool meta = i->cls == CLASS_META || i->cls == CLASS_REGION;
  if (!i->shape && i->results != 0 && !meta) ok = complain(f, i->name, "has no shape rule");
  if (!i->eval && k != OP_GRAD) ok = complain(f, i->name, "cannot be evaluated");
  if (i->cls != CLASS_CONTRACT && (i->cls == CLASS_COMPOSITE) != (i->expand != NULL))
    ok = complain(f, i->name, "is a composite, or is made of ordinary ops, but not both");
  if (i->cls == CLASS_ELEMENT && !(i->flags & OPF_POSITION) && !i->expr && !i->iexpr)
    ok = complain(f, i->name, "is element-wise, but has no scalar text");
  if (i->cls == CLASS_ELEMENT && i->results != 1)
    ok = complain(f, i->name, "is element-wise, but has not one result");
  if (i->flags & OPF_COMMUTATIVE && i->operands != 2)
    ok = complain(f, i->name, "is commutative, but has not two operands");
  if (i->flags & OPF_TERMINATOR && i->results != 0)
    ok = complain(f, i->name, "ends a block, but has results");
  if (i->flags & OPF_TYPED && !i->shape) ok = complain(f, i->name, "is typed without a shape rule");
  bool ended = false;
  for (int a = 0; a < MAX_ATTRS; a++) {
    if (!i->attr[a].name != (i->attr[a].kind == ATTR_NONE))
      ok = complain(f, i->name, "has an attribute without a name or a kind");
    if (ended && i->attr[a].name) ok = complain(f, i->name, "has a gap between its attributes");
    ended |= !i->attr[a].name;
  }
  return ok;
}

bool op_table_check(FILE *f) {
  bool ok = true;
  for (int k = 0; k < OP_KINDS; k++) ok &= check_row(f, k);
  return ok;
}

/* ---- docs/ops.md ---- */

static const struct {
  OpClass cls;
  const char *title, *text;
} classes[] = {
    {CLASS_LEAF, "Leaves", "Ops without tensor operands; the type is part of the op."},
    {CLASS_GLOBAL, "Globals", "Parameters, states and hyperparameters."},
    {CLASS_ELEMENT, "Element-wise", "Operands and result have one shape."},
    {CLASS_VIEW, "Views", "The same elements at other places."},
    {CLASS_REDUCE, "Reductions", "Axes are ascending and dropped from the result."},
    {CLASS_CONTRACT, "Contractions", "Products of matrices."},
    {CLASS_WINDOW, "Windows", "Convolutions and pools over images [N, C, H, W]."},
    {CLASS_COMPOSITE, "Composites",
     "Their gradient rules save fewer activations than those of their decomposition. The pass "
     "autodiff lowers them to ordinary ops at its end."},
    {CLASS_ATTENTION, "Attention",
     "Blocked attention with online softmax; the score matrix is never stored."},
    {CLASS_INDEX, "Indexing", "Addresses come from data."},
    {CLASS_ORDER, "In order", "Sequential along one axis: cumulative sums and sorting."},
    {CLASS_COLLECTIVE, "Collectives",
     "Communication between the ranks of a data-parallel program, which the pass distribute "
     "inserts."},
    {CLASS_ROWS, "Rows", "Along the last axis, row by row."},
    {CLASS_REGION, "Regions", "Ops with a nested block."},
    {CLASS_META, "Meta", "No arithmetic of their own."},
};

static const char *attr_kind_name[] = {
    [ATTR_NONE] = "",      [ATTR_INT] = "integer", [ATTR_BOOL] = "0 or 1",
    [ATTR_NUM] = "number", [ATTR_INTS] = "list",   [ATTR_STR] = "string",
};

static const char *dtypes_of(const OpInfo *i) {
  if (i->cls != CLASS_ELEMENT) return "";
  if (i->shape == shape_logic) return "bool";
  if (i->shape == shape_convert || i->shape == shape_where) return "all";
  if (i->flags & OPF_BOOL_RESULT) return "all, to bool";
  return !i->iexpr ? "floats" : "floats, integers";
}

/* A bar ends a table's cell in Markdown. */
static void print_cell(FILE *f, const char *s) {
  for (; *s; s++) {
    if (*s == '|') fputc('\\', f);
    fputc(*s, f);
  }
}

static void print_row(FILE *f, const OpInfo *i) {
  fprintf(f, "| `%s` | ", i->name);
  if (i->operands < 0)
    fputs("any", f);
  else
    fprintf(f, "%d", i->operands);
  fputs(" | ", f);
  for (int a = 0; a < MAX_ATTRS && i->attr[a].name; a++)
    fprintf(f, "%s`%s` %s", a ? ", " : "", i->attr[a].name, attr_kind_name[i->attr[a].kind]);
  fprintf(f, " | %s | %s | ", dtypes_of(i), i->grad ? "yes" : "no");
  print_cell(f, i->help);
  fputs(" |\n", f);
}

void op_table_markdown(FILE *f) {
  fputs("# Operations of the IR\n\nThis page is printed by the compiler from its op table.\n", f);
  for (size_t c = 0; c < sizeof classes / sizeof classes[0]; c++) {
    fprintf(f, "\n## %s\n\n%s\n\n", classes[c].title, classes[c].text);
    fputs("| op | operands | attributes | dtypes | gradient | meaning |\n", f);
    fputs("|---|---|---|---|---|---|\n", f);
    for (int k = 0; k < OP_KINDS; k++)
      if (op_info[k].cls == classes[c].cls) print_row(f, &op_info[k]);
  }
}
