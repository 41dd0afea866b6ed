/* Reshapes that move elements: a bounded axis joins axes outside of it, or leaves them. Contract:
   elements keep their order, so rows have the same numbers on both sides; on one of them they lie
   side by side if the result lies in the operand's bytes. */
#include "codegen/cpu/cpu.h"
#include "codegen/program/extent.h"

/* Axes before the longest rows that both have: static ones behind them have as many elements, as
   [n * t, 64] and [n, t, 4, 16]. */
static void axes_before_rows(const Type *to, const Type *from, int *to_lead, int *from_lead) {
  int n = to->rank, k = from->rank;
  int64_t x = 1, y = 1;
  *to_lead = n, *from_lead = k;
  while (true) {
    const bool first = x <= y;
    const Type *t = first ? to : from;
    int *at = first ? &n : &k;
    if (*at == 0 || type_extent(t, *at - 1)) return;
    *(first ? &x : &y) *= t->dim[--*at];
    if (x == y) *to_lead = n, *from_lead = k;
  }
}

/* Rows that both sides of a reshape have under the same numbers. */
typedef struct MovedRows {
  long long rows, row; /* at the bound; elements of one */
  const char *all;     /* rows that a run has */
  const char *x, *y;   /* where row r lies */
} MovedRows;

static MovedRows moved_rows(Gen *g, const Group *gr) {
  const Type *from = value_type(gr->e, gr->in[0]), *to = value_type(gr->e, gr->out[0]);
  int lead, from_lead;
  axes_before_rows(to, from, &lead, &from_lead);
  MovedRows m = {1, 1, dims_text(g, gr->e, to, 0, lead),
                 place_text(g, gr->e, from, 0, from_lead, "r"),
                 place_text(g, gr->e, to, 0, lead, "r")};
  for (int i = 0; i < to->rank; i++) *(i < lead ? &m.rows : &m.row) *= to->dim[i];
  return m;
}

/* Rows that lie side by side at the end are moved from the first one on, rows that lay so before
   from the last one on: none is written before it is read (op_inplace_ok). Threads share columns.
   If the last row stays, as at the bound, all do. */
static void reshape_in_place(Gen *g, Kernel *k, const Group *gr) {
  const Type *to = value_type(gr->e, gr->out[0]);
  MovedRows m = moved_rows(g, gr);
  bool alone = to->numel < SERIAL_WORK || m.row == 1;
  Text *x = &k->text;
  kernel_units(k, alone ? 1 : m.row);
  if (alone) text_line(x, "const long u0 = 0, u1 = %lld;", m.row);
  text_line(x, "const long all = %s;", m.all);
  text_open(x, "{");
  text_line(x, "const long r = all - 1;");
  text_line(x, "if (r < 0 || %s == %s) return;", m.x, m.y);
  text_close(x, "}");
  text_open(x, type_is_mixed(to) ? "for (long r = all; r-- > 0;) {"
                                 : "for (long r = 0; r < all; r++) {");
  text_line(x, "const long from = %s, to = %s;", m.x, m.y);
  text_line(x, "if (from != to)");
  text_line(x, "  memcpy(out0 + to * %lld + u0, in0 + from * %lld + u0, (u1 - u0) * %d);", m.row,
            m.row, dtype_size(to->dtype));
  text_close(x, "}");
}

/* A reshape that moves elements: row by row. */
static void reshape(Gen *g, Kernel *k, const Group *gr) {
  const Type *to = value_type(gr->e, gr->out[0]);
  MovedRows m = moved_rows(g, gr);
  kernel_units_of(k, to->numel < SERIAL_WORK ? 1 : m.rows, m.all);
  Text *x = &k->text;
  if (k->units > 1)
    text_line(x, "for (long r = u0; r < u1; r++)");
  else
    text_line(x, "for (long r = 0; r < %s; r++)", m.all);
  text_line(x, "  memcpy(out0 + %s * %lld, in0 + %s * %lld, %lld);", m.y, m.row, m.x, m.row,
            m.row * dtype_size(to->dtype));
}

void cpu_reshape(Gen *g, Kernel *k, const Group *gr) {
  const Place *place = plan_of(gr->e)->place, *x = &place[gr->in[0]], *y = &place[gr->out[0]];
  if (x->region == y->region && x->offset == y->offset)
    reshape_in_place(g, k, gr);
  else
    reshape(g, k, gr);
}
