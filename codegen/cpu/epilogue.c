/* Prints element-wise work on the rows of a tile.
   Contract: an element's bits are those of the loop over its row alone.
   Library functions are chains of steps that wait for each other, and loops over their numbers wait
   with them. For functions of arrays (calls.h) the arguments of a few rows go to an array first;
   one call for each replaces them by results, and the last loop reads them there. What leads to an
   argument is computed once more after the call, with the same bits.
   Compilers find no vectors for a short loop with f32 and halves, nor for what is left over of a
   longer one. So of columns that fill no register, halves of a few rows are widened before the
   loop, and others narrowed behind it: numbers of the same row would still be on their way to the
   cache. */
#include "codegen/cpu/epilogue.h"
#include "codegen/cpu/calls.h"
#include "codegen/program/extent.h"

enum {
  BLOCK = 128,  /* elements of an array, unless a row has more: they stay in the first cache */
  REGISTER = 16 /* f32 of the largest one */
};

static void print_loop(Gen *g, Text *x, const Group *gr, const EpilogueRows *r,
                       const EpilogueSite *s) {
  text_open(x, "GC_IVDEP for (long j = 0; j < %s; j++) {", r->columns);
  epilogue_body(g, x, gr, s);
  text_close(x, "}");
}

static void open_rows(Text *x, const EpilogueRows *r) {
  text_open(x, "for (long h = 0; h < some; h++) {");
  text_line(x, "const long %s = some0 + h;", r->row);
  r->place(r->of, x);
}

/* The arguments of a round's calls, and the calls. */
static void print_round(Gen *g, Text *x, const Group *gr, const EpilogueRows *r,
                        const EpilogueSite *s, const Calls *c, int round, const char *at) {
  open_rows(x, r);
  text_open(x, "GC_IVDEP for (long j = 0; j < %s; j++) {", r->columns);
  ValueId *v = ARENA_ARRAY(g->a, ValueId, c->n);
  const char **text = ARENA_ARRAY(g->a, const char *, c->n);
  const int first = calls_before(c, gr, round);
  int n = 0;
  for (int i = 0; i < gr->nops; i++)
    if (c->round[i] == round) v[n++] = gr->ops[i]->operands[0];
  epilogue_values(g, x, gr, s, v, n, text);
  for (int i = 0; i < n; i++) text_line(x, "array%d[%s] = %s;", first + i, at, text[i]);
  text_close(x, "}");
  text_close(x, "}");
  calls_print(x, gr, c, round, arena_printf(g->a, "some * %s", r->columns));
}

/* There may be such halves. */
static bool has_halves(const Group *gr, const EpilogueRows *r) {
  bool halves = false;
  for (int i = 0; i < gr->nout; i++)
    halves |= dtype_is_half(value_type(gr->e, gr->yield[i])->dtype);
  for (int i = 0; i < gr->nin; i++) {
    const Type *t = value_type(gr->e, gr->in[i]);
    halves |= dtype_is_half(t->dtype) && t->numel == gr->domain->numel;
  }
  return halves && text_is_number(r->columns) && r->width % REGISTER != 0;
}

/* The numbers that the site has are rounded, and nothing else is done with them. */
static bool only_rounds(const Group *gr, const EpilogueSite *s) {
  if (gr->nout != 1 || gr->nops > 2) return false;
  if (gr->yield[0] == s->have) return true;
  const Op *op = value_def(gr->e, gr->yield[0]);
  return op && op->kind == OP_CONVERT && op->operands[0] == s->have;
}

/* Widens or narrows the rows of a block, whose numbers lie at `index` of values 0 to n of a kind;
   from: in this array, else in one of f32 for each. */
static void print_moves(Text *x, const Group *gr, const EpilogueRows *r, const char *const *index,
                        int n, bool narrow, const char *from) {
  bool some = false;
  for (int i = 0; i < n; i++) some |= index[i] != NULL;
  if (!some) return;
  if (r->joined) {
    text_open(x, "{");
    text_line(x, "const long %s = some0, h = 0;", r->row);
    r->place(r->of, x);
  } else {
    open_rows(x, r);
  }
  text_line(x, "const long j = 0;");
  for (int i = 0; i < n; i++) {
    if (!index[i]) continue;
    const Dtype dt = value_type(gr->e, narrow ? gr->yield[i] : gr->in[i])->dtype;
    const char *count = r->joined ? arena_printf(x->a, "some * %s", r->columns) : r->columns;
    if (narrow)
      text_line(x, "narrow_row%s_%s(out%d + %s, %s * %s, %s);", r->joined ? "s" : "",
                dtype_name(dt), i, index[i],
                from ? arena_printf(x->a, "%s + (some0 + h)", from)
                     : arena_printf(x->a, "half%d + h", i),
                r->columns, count);
    else
      text_line(x, "widen_row_%s(wide%d + h * %s, in%d + %s, %s);", dtype_name(dt), i, r->columns,
                i, index[i], count);
  }
  text_line(x, "(void)j;");
  text_close(x, "}");
}

/* The loop over a block's rows, with halves widened and narrowed around it. */
static void print_wide(Gen *g, Text *x, const Group *gr, const EpilogueRows *r,
                       const EpilogueSite *s, int64_t rows) {
  EpilogueWide wide = {.at = arena_printf(g->a, "h * %s + j", r->columns),
                       .in = ARENA_ARRAY(g->a, const char *, gr->nin + 1),
                       .out = ARENA_ARRAY(g->a, const char *, gr->nout + 1)};
  const long long room = rows * r->width + REGISTER; /* the last row's are whole registers */
  Text body = text_new(g->a, 0);
  epilogue_body_wide(g, &body, gr, s, &wide);
  if (r->compact && only_rounds(gr, s) && wide.out[0]) {
    print_moves(x, gr, r, wide.out, 1, true, r->compact);
    return;
  }
  for (int i = 0; i < gr->nin; i++)
    if (wide.in[i]) text_line(x, "GC_LANES f32 wide%d[%lld];", i, room);
  for (int i = 0; i < gr->nout; i++)
    if (wide.out[i]) text_line(x, "GC_LANES f32 half%d[%lld];", i, room);
  print_moves(x, gr, r, wide.in, gr->nin, false, NULL);
  open_rows(x, r);
  text_open(x, "GC_IVDEP for (long j = 0; j < %s; j++) {", r->columns);
  text_append(x, &body);
  text_close(x, "}");
  text_close(x, "}");
  print_moves(x, gr, r, wide.out, gr->nout, true, NULL);
}

/* A few rows at a time. */
static void print_blocks(Gen *g, Text *x, const Group *gr, const EpilogueRows *r,
                         const EpilogueSite *site, const Calls *c) {
  const int64_t rows = r->width < BLOCK ? BLOCK / r->width : 1;
  const char *at = arena_printf(g->a, "h * %s + j", r->columns);
  EpilogueKnown *known = ARENA_ARRAY(g->a, EpilogueKnown, c->n);
  EpilogueSite s = *site;
  s.known = known;
  text_open(x, "{");
  for (int i = 0; i < c->n; i++)
    text_line(x, "GC_LANES f32 array%d[(%lld + VW - 1) / VW * VW];", i,
              (long long)(rows * r->width));
  text_open(x, "for (long some0 = 0, some; some0 < %s; some0 += some) {", r->rows);
  text_line(x, "some = %s - some0 < %lld ? %s - some0 : %lld;", r->rows, (long long)rows, r->rows,
            (long long)rows);
  for (int round = 0; round < c->rounds; round++) {
    print_round(g, x, gr, r, &s, c, round, at);
    for (int i = 0; i < gr->nops; i++)
      if (c->round[i] == round) {
        known[s.nknown] = (EpilogueKnown){gr->ops[i]->results[0],
                                          arena_printf(g->a, "array%d[%s]", s.nknown, at)};
        s.nknown++;
      }
  }
  if (has_halves(gr, r)) {
    print_wide(g, x, gr, r, &s, rows);
  } else {
    open_rows(x, r);
    print_loop(g, x, gr, r, &s);
    text_close(x, "}");
  }
  text_close(x, "}");
  text_close(x, "}");
}

void epilogue_rows(Gen *g, Text *x, const Group *gr, const EpilogueRows *rows,
                   const EpilogueSite *s) {
  EpilogueRows r = *rows;
  if (!r.columns) r.columns = arena_printf(g->a, "%lld", (long long)r.width);
  const Calls c = calls_of(g, gr);
  if (c.n || has_halves(gr, &r)) {
    print_blocks(g, x, gr, &r, s, &c);
    return;
  }
  text_open(x, "for (long %s = 0; %s < %s; %s++) {", r.row, r.row, r.rows, r.row);
  r.place(r.of, x);
  print_loop(g, x, gr, &r, s);
  text_close(x, "}");
}
