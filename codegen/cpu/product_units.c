/* Prints which tiles of a product a thread has, and declares what it touches then. Contract: units
   are tiles of rows times panels times products of a batch, in the order that the schedule says;
   the number of tiles may depend on that of threads or rows. Slices are whole, so that threads that
   own them need no barrier, where the number of threads divides that of their parts. */
#include "codegen/cpu/cpu.h"
#include "codegen/cpu/product.h"
#include "codegen/program/extent.h"

/* The slices of a value: `parts` of them, of each of `rows` rows. */
typedef struct Slices {
  int64_t rows;
  uint64_t stride, width;
} Slices;

/* Of a value that is as large as C, or as a row of it; rows 0: threads share it otherwise. */
static Slices slices_of(const Group *gr, const Product *p, const Value *v) {
  const Type *c = product_value(gr, gr->root->results[0])->type, *t = v->type;
  bool even_rows = p->s.low == p->s.tiles, even_columns = p->s.n % p->s.nr == 0;
  bool full = t->rank == c->rank && t->numel == c->numel;
  full |= gr->matrix && type_same_dims(t, gr->domain);
  bool along = t->rank >= 1 && t->numel == p->s.n && t->dim[t->rank - 1] == p->s.n;
  uint64_t size = (uint64_t)dtype_size(t->dtype), storage = 0;
  if (!layout_bytes(t, v->layout, &storage)) return (Slices){0};
  Slices whole = {1, 0, storage}, none = {0};
  if (p->s.batch > 1) return full ? whole : none;
  if (p->s.split == BY_ROWS && full && even_rows) {
    uint64_t panel = (uint64_t)(p->s.m * p->s.nr) * size;
    return v->layout && p->s.np > 1 ? (Slices){p->s.np, panel, panel} : whole;
  }
  if (p->s.split != BY_PANEL) return none;
  if ((full && v->layout) || (along && even_columns)) return whole;
  if (full && even_columns)
    return (Slices){p->s.m, (uint64_t)p->s.n * size, (uint64_t)p->s.n * size};
  return none;
}

static Slices slices_of_a(const Product *p, uint64_t bytes) {
  uint64_t row = (uint64_t)(p->s.m * dtype_size(p->s.in));
  if (p->s.batch > 1) return (Slices){1, 0, bytes};
  if (p->s.split != BY_ROWS || p->s.low != p->s.tiles) return (Slices){0};
  return p->s.ta ? (Slices){p->s.k, row, row} : (Slices){1, 0, bytes};
}

static Slices slices_of_b(const Product *p, uint64_t bytes) {
  uint64_t row = (uint64_t)(p->s.n * dtype_size(p->s.in));
  bool even_columns = p->s.n % p->s.nr == 0;
  if (p->s.batch > 1) return (Slices){1, 0, bytes};
  if (p->s.split != BY_PANEL) return (Slices){0};
  if (p->s.b_panels) return p->s.tb ? (Slices){0} : (Slices){1, 0, bytes};
  if (!even_columns || p->s.bits) return (Slices){0};
  return p->s.tb ? (Slices){1, 0, bytes} : (Slices){p->s.k, row, row};
}

/* What threads touch, for the barriers: their slices are whole where their number divides that of
   the products, the panels or the tiles of rows. */
void product_declare_slices(Kernel *k, const Group *gr, const Product *p) {
  if (p->s.split == SERIAL) return;
  int64_t parts = p->s.batch > 1 ? p->s.batch : p->s.split == BY_PANEL ? p->s.np : p->s.tiles;
  for (int i = 0; i < gr->nin + gr->nout; i++) {
    bool out = i >= gr->nin, a = i == p->a, b = i == p->b || i == p->scale;
    const Value *v = product_value(gr, out ? gr->yield[i - gr->nin] : gr->arg[i]);
    Slices s = {0};
    uint64_t bytes = 0;
    if (i == p->a_scale) continue;
    if (!a && !b)
      s = slices_of(gr, p, v);
    else if (a != b && layout_bytes(v->type, a ? NULL : v->layout, &bytes))
      s = a ? slices_of_a(p, bytes) : slices_of_b(p, bytes);
    if (!s.rows) continue;
    if (out)
      kernel_split_out(k, gr, i - gr->nin, s.rows, s.stride, s.width);
    else
      kernel_split_in(k, gr, i, s.rows, s.stride, s.width);
    if (parts != k->units || product_varies(&p->s)) k->args[i].access.parts = parts;
  }
}

/* `tiles` of rows where their number depends on that of threads or rows: tile i begins with row
   i * step >> 32. */
void product_count_tiles(Gen *g, Kernel *k, const Product *p) {
  Arena *a = g->a;
  if (!p->varies) return;
  const char *tiles = p->bounded_m ? text_ceil_div(a, p->m, product_tallest(&p->s))
                                   : arena_printf(a, "%lld", (long long)p->s.tiles);
  const char *others = text_product(a, p->batch, arena_printf(a, "%lld", (long long)p->s.np));
  if (product_varies(&p->s) && p->s.amx)
    tiles = arena_printf(a, "register_tiles_for(nt, %s, %s, %s)", others, tiles,
                         text_ceil_div(a, p->m, AMX_ROWS));
  else if (product_varies(&p->s))
    tiles = arena_printf(a, "tiles_for(nt, %s, %s, %s / %lld)", others, tiles, p->m,
                         (long long)p->s.least);
  text_line(&k->head, "const long tiles = %s;", tiles);
  text_line(&k->head,
            "const uint64_t step = tiles ? (((uint64_t)(%s) << 32) + (uint64_t)tiles - 1) / "
            "(uint64_t)tiles : 0;",
            p->m);
}

/* Declares u0 and u1, between which the units of a thread are. */
void product_units(Gen *g, Kernel *k, const Product *p) {
  const ProductSchedule *s = &p->s;
  const char *panels = arena_printf(g->a, "%lld", (long long)s->np);
  if (!product_is_uneven(s)) {
    kernel_units_of(k, s->units,
                    text_product(g->a, text_product(g->a, p->batch, panels), p->tiles));
    return;
  }
  k->units = s->units;
  for (int i = 0; i < 2; i++)
    text_line(&k->text, "const long u%d = product_share(%s, nt, %s, %s, %s, %d, %lld);", i,
              i ? "t + 1" : "t", p->batch, panels, p->tiles, s->nr, (long long)s->n);
}

/* The units of a thread, u0 to u1, part by part: tiles tile0 to tile1 of panels panel0 to panel1 of
   product bt. */
void product_parts(Gen *g, Text *x, Product *p) {
  Arena *a = g->a;
  const char *panels = arena_printf(a, "%lld", (long long)p->s.np);
  bool by_rows = p->s.split == BY_ROWS, tiles = *p->i0 != '0', all = *p->g0 != '0';
  if (p->s.batch == 1 && !(tiles && all)) { /* one part */
    if (tiles) p->i0 = "u0", p->i1 = "u1";
    if (all) p->g0 = p->panel0 = "u0", p->g1 = p->panel1 = "u1";
    return;
  }
  const char *from = "u", *to = "u1";
  text_open(x, "for (long u = u0, next; u < u1; u = next) {");
  if (p->s.batch > 1) {
    const char *each = text_product(a, panels, p->tiles);
    text_line(x, "const long bt = u / (%s), first = bt * (%s);", each, each);
    from = "u - first", to = "u1 - first";
  }
  text_line(x, "const GcRectangle part = rectangle_at(%s, %s, %s, %s);", from, to,
            by_rows ? p->tiles : panels, by_rows ? panels : p->tiles);
  if (tiles)
    text_line(x, "const long tile0 = part.%s0, tile1 = part.%s1;", by_rows ? "row" : "column",
              by_rows ? "row" : "column");
  if (all)
    text_line(x, "const long panel0 = part.%s0, panel1 = part.%s1;", by_rows ? "column" : "row",
              by_rows ? "column" : "row");
  text_line(x, "next = u + (part.row1 - part.row0) * (part.column1 - part.column0);");
}
