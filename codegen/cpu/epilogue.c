/* Prints element-wise work on the rows of a tile.
   Contract: an element's bits are those of the loop over its row alone.
   Library functions are chains of steps that wait for each other, and loops over their numbers wait
   with them. For functions of arrays (calls.h) the arguments of a few rows go to an array first;
   one call for each replaces them by results, and the last loop reads them there. What leads to an
   argument is computed once more after the call, with the same bits. */
#include "codegen/cpu/epilogue.h"
#include "codegen/cpu/calls.h"

enum {
  BLOCK = 128
}; /* elements of an array, unless a row has more: they stay in the first cache */

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

static void print_calls(Gen *g, Text *x, const Group *gr, const EpilogueRows *r,
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
  open_rows(x, r);
  print_loop(g, x, gr, r, &s);
  text_close(x, "}");
  text_close(x, "}");
  text_close(x, "}");
}

void epilogue_rows(Gen *g, Text *x, const Group *gr, const EpilogueRows *rows,
                   const EpilogueSite *s) {
  EpilogueRows r = *rows;
  if (!r.columns) r.columns = arena_printf(g->a, "%lld", (long long)r.width);
  const Calls c = calls_of(g, gr);
  if (c.n) {
    print_calls(g, x, gr, &r, s, &c);
    return;
  }
  text_open(x, "for (long %s = 0; %s < %s; %s++) {", r.row, r.row, r.rows, r.row);
  r.place(r.of, x);
  print_loop(g, x, gr, &r, s);
  text_close(x, "}");
}
