/* Prints cumulative sums along an axis.
   Contract: a sum is made of groups and chunks in front of it (codegen/schedule/cumsum.h), so the
   bits depend on the shape alone. An element is read right before its sum is written, or in an
   earlier launch, too, so the result may overlap the operand. A unit is a few neighbouring lines,
   whose sums are computed side by side, in f32 for halves; of few long lines a group of chunks. */
#include "codegen/schedule/cumsum.h"
#include "codegen/cpu/cpu.h"
#include "codegen/print/reduction.h"
#include "codegen/program/extent.h"

typedef struct Lines {
  Gen *g;
  const Group *gr;
  const Type *t;
  CumsumSchedule s;
  long long n, inner, chunks, groups; /* of a line at its bound */
  bool backward;
  const char *length, *outer; /* elements of a line, lines around the axis, of this run */
  const char *T, *start;      /* of sums */
  const char *width;          /* lines of a unit */
} Lines;

static int size_of(Dtype dt) { return dt == DT_F64 || dt == DT_I64 ? 8 : 4; }

static CumsumSchedule schedule_of(const Group *gr) {
  const Type *t = value_type(gr->e, gr->in[0]);
  const int axis = (int)gr->root->attr[AT_AXIS].i;
  CumsumShape s = {.outer = 1, .elements = t->dim[axis], .inner = 1};
  for (int i = 0; i < axis; i++) s.outer *= t->dim[i];
  for (int i = axis + 1; i < t->rank; i++) s.inner *= t->dim[i];
  return cumsum_schedule(&s);
}

/* Bytes of the sums in front of chunks in their group. */
static uint64_t chunks_bytes(const CumsumSchedule *s, Dtype dt) {
  return (uint64_t)(s->outer * s->inner * cumsum_chunks(s->elements) * size_of(dt));
}

uint64_t cpu_cumsum_scratch(const Group *gr) {
  const CumsumSchedule s = schedule_of(gr);
  const Dtype dt = value_type(gr->e, gr->in[0])->dtype;
  if (!s.split) return 0;
  const int64_t groups = s.outer * s.inner * cumsum_groups(s.elements) * size_of(dt);
  return (chunks_bytes(&s, dt) + (uint64_t)groups + 7) / 8 * 8 + 8;
}

/* ---- texts of a unit ---- */

/* Blocks of lines of this run. */
static const char *blocks_text(const Lines *l) {
  return text_product(l->g->a, l->outer, arena_printf(l->g->a, "%lld", (long long)l->s.blocks));
}

/* Begins unit u: `first` is where its lines begin, `width` how many they are, `around` the number
   of what is around them; if it is a group of chunks, also `group`. */
static void open_unit(Lines *l, Text *x, bool of_groups) {
  Gen *g = l->g;
  const long long lines = l->s.lines, blocks = l->s.blocks;
  const int axis = (int)l->gr->root->attr[AT_AXIS].i;
  const char *u = "u";
  text_open(x,
            of_groups || !l->s.split ? "for (long u = u0; u < u1; u++) {"
                                     : "for (long u = 0; u < %s; u++) {",
            blocks_text(l));
  if (of_groups) {
    const char *groups = text_ceil_div(g->a, l->length, SCAN_CHUNK * SCAN_GROUP);
    text_line(x, "const long v = u / %s, group = u %% %s;", groups, groups);
    u = "v";
  }
  const char *around = arena_printf(g->a, "%s / %lld", u, blocks);
  if (dims_bounded(l->t, 0, axis))
    around = place_text(g, l->gr->e, l->t, 0, axis, arena_printf(g->a, "(%s)", around));
  text_line(x, "const long around = %s, line0 = %s %% %lld * %lld;", around, u, blocks, lines);
  text_line(x, "const long first = around * %lld + line0;", l->n * l->inner);
  l->width = arena_printf(g->a, "%lld", lines);
  if (l->inner % lines) {
    text_line(x, "const long width = %s %% %lld == %lld ? %lld : %lld;", u, blocks, blocks - 1,
              l->inner % lines, lines);
    l->width = "width";
  }
}

/* Declares `name`, a number of each line of the unit. */
static void declare(const Lines *l, Text *x, const char *name) {
  text_line(x, "GC_LANES %s %s[%lld];", l->T, name, (long long)l->s.lines);
  text_line(x, "for (int j = 0; j < %lld; j++) %s[j] = %s;", (long long)l->s.lines, name, l->start);
}

/* Adds element i of the lines to their sums; these go to the result if `write`, on top of `base` if
   that is not NULL. */
static void add_element(const Lines *l, Text *x, const char *base, bool write) {
  Gen *g = l->g;
  const char *i = l->backward ? arena_printf(g->a, "(%s - 1 - i)", l->length) : "i";
  text_line(x, "const long at = first + %s * %lld;", i, l->inner);
  text_open(x, "GC_IVDEP for (long j = 0; j < %s; j++) {", l->width);
  text_line(x, "sum[j] += %s;", scalar_load(g->a, l->t->dtype, "in0", "at + j"));
  const char *sum = base ? arena_printf(g->a, "%s[j] + sum[j]", base) : "sum[j]";
  if (write) text_line(x, "out0[at + j] = %s;", scalar_store(g->a, l->t->dtype, sum));
  text_close(x, "}");
}

/* Chunks c0 to `end` of a group, and where what is in front of them and of the group lies. */
static void of_group(const Lines *l, Text *x) {
  text_line(x, "const long c0 = group * %d, chunks = %s;", SCAN_GROUP,
            text_ceil_div(l->g->a, l->length, SCAN_CHUNK));
  text_line(x, "const long end = c0 + %d < chunks ? c0 + %d : chunks;", SCAN_GROUP, SCAN_GROUP);
  text_line(x, "%s *const of_chunk = (%s *)scratch + (around * %lld + c0) * %lld + line0;", l->T,
            l->T, l->chunks, l->inner);
  text_line(x,
            "%s *const of_group = (%s *)(scratch + %llu) + (around * %lld + group) * %lld + line0;",
            l->T, l->T, (unsigned long long)chunks_bytes(&l->s, l->t->dtype), l->groups, l->inner);
}

/* Sums of few lines: of `side` whole chunks from c on at a time, before `end`, each in a variable
   of its own, so that no addition waits for the one before it. */
static void sum_side_by_side(const Lines *l, Text *x) {
  Gen *g = l->g;
  const int side = l->s.side;
  text_open(x, "for (; c + %d <= end && (c + %d) * %d <= %s; c += %d) {", side, side, SCAN_CHUNK,
            l->length, side);
  for (int s = 0; s < side * (int)l->inner; s++) text_line(x, "%s s%d = %s;", l->T, s, l->start);
  text_open(x, "for (long i = c * %d; i < (c + 1) * %d; i++) {", SCAN_CHUNK, SCAN_CHUNK);
  const char *i = l->backward ? arena_printf(g->a, "(%s - 1 - i)", l->length) : "i";
  text_line(x, "const long at = first + %s * %lld;", i, l->inner);
  for (int s = 0; s < side * (int)l->inner; s++)
    text_line(x, "s%d += %s;", s,
              scalar_load(g->a, l->t->dtype, "in0",
                          arena_printf(g->a, "at %c %lld + %lld", l->backward ? '-' : '+',
                                       s / l->inner * SCAN_CHUNK * l->inner, s % l->inner)));
  text_close(x, "}");
  for (int s = 0; s < side * (int)l->inner; s++)
    text_line(x, "of_chunk[(c - c0) * %lld + %d] = s%d;", l->inner, s, s);
  text_close(x, "}");
}

/* Opens the loop over the elements i of chunk c. */
static void open_chunk(const Lines *l, Text *x) {
  text_line(x, "const long i0 = c * %d;", SCAN_CHUNK);
  text_line(x, "const long i1 = i0 + %d < %s ? i0 + %d : %s;", SCAN_CHUNK, l->length, SCAN_CHUNK,
            l->length);
  text_open(x, "for (long i = i0; i < i1; i++) {");
}

/* The sums of a group's chunks become those of what is in front of them, and their sum that of the
   group. */
static void sum_group(const Lines *l, Text *x) {
  text_line(x, "long c = c0;");
  if (l->s.side > 1) sum_side_by_side(l, x);
  text_open(x, "for (; c < end; c++) {");
  declare(l, x, "sum");
  open_chunk(l, x);
  add_element(l, x, NULL, false);
  text_close(x, "}");
  text_line(x, "for (long j = 0; j < %s; j++) of_chunk[(c - c0) * %lld + j] = sum[j];", l->width,
            l->inner);
  text_close(x, "}");
  text_open(x, "for (long j = 0; j < %s; j++) {", l->width);
  text_line(x, "%s all = %s;", l->T, l->start);
  text_open(x, "for (long q = 0; q < end - c0; q++) {");
  text_line(x, "const %s own = of_chunk[q * %lld + j];", l->T, l->inner);
  text_line(x, "of_chunk[q * %lld + j] = all;", l->inner);
  text_line(x, "all += own;");
  text_close(x, "}");
  text_line(x, "of_group[j] = all;");
  text_close(x, "}");
}

static void write_group(const Lines *l, Text *x) {
  text_open(x, "for (long c = c0; c < end; c++) {");
  declare(l, x, "sum");
  declare(l, x, "base");
  text_line(x,
            "for (long j = 0; j < %s; j++) base[j] = of_group[j] + of_chunk[(c - c0) * %lld + j];",
            l->width, l->inner);
  open_chunk(l, x);
  add_element(l, x, "base", true);
  text_close(x, "}");
  text_close(x, "}");
}

/* ---- launches ---- */

/* Lines go by once: from chunk to chunk, and from group to group of them. */
static void whole_lines(Lines *l, Text *x) {
  const bool chunks = l->n > SCAN_CHUNK, groups = l->n > SCAN_CHUNK * SCAN_GROUP;
  open_unit(l, x, false);
  declare(l, x, "sum");
  if (chunks) declare(l, x, "base");
  if (groups) declare(l, x, "before");
  if (groups) declare(l, x, "group");
  if (chunks)
    text_open(x, "for (long c = 0; c * %d < %s; c++) {", SCAN_CHUNK, l->length);
  else
    text_open(x, "for (long i = 0; i < %s; i++) {", l->length);
  if (chunks) open_chunk(l, x);
  add_element(l, x, chunks ? "base" : NULL, true);
  text_close(x, "}");
  if (chunks) {
    text_open(x, "for (long j = 0; j < %s; j++) {", l->width);
    text_line(x, "%s[j] += sum[j];", groups ? "before" : "base");
    text_line(x, "sum[j] = %s;", l->start);
    if (groups) {
      text_open(x, "if ((c + 1) %% %d == 0) {", SCAN_GROUP);
      text_line(x, "group[j] += before[j];");
      text_line(x, "before[j] = %s;", l->start);
      text_close(x, "}");
      text_line(x, "base[j] = group[j] + before[j];");
    }
    text_close(x, "}");
    text_close(x, "}");
  }
  text_close(x, "}");
}

/* Sums of groups become those of all in front of them. */
static void add_groups(const Lines *l, Text *x) {
  const int axis = (int)l->gr->root->attr[AT_AXIS].i;
  text_open(x, "for (long v = 0; v < %s; v++) {", l->outer);
  text_line(x, "%s *const of = (%s *)(scratch + %llu) + %s * %lld;", l->T, l->T,
            (unsigned long long)chunks_bytes(&l->s, l->t->dtype),
            place_text(l->g, l->gr->e, l->t, 0, axis, "v"), l->groups * l->inner);
  text_open(x, "for (long j = 0; j < %lld; j++) {", l->inner);
  text_line(x, "%s all = %s;", l->T, l->start);
  text_open(x, "for (long group = 0; group * %d < %s; group++) {", SCAN_CHUNK * SCAN_GROUP,
            l->length);
  text_line(x, "const %s own = of[group * %lld + j];", l->T, l->inner);
  text_line(x, "of[group * %lld + j] = all;", l->inner);
  text_line(x, "all += own;");
  text_close(x, "}");
  text_close(x, "}");
  text_close(x, "}");
}

static const char *units_text(const Lines *l) {
  if (!l->s.split) return blocks_text(l);
  return text_product(l->g->a, blocks_text(l),
                      text_ceil_div(l->g->a, l->length, SCAN_CHUNK * SCAN_GROUP));
}

static Kernel *next(const Lines *l, const char *suffix) {
  Kernel *k = kernel_next(l->g, l->gr, suffix);
  kernel_args(l->g, k, l->gr);
  kernel_schedule(k, &cumsum_kind, &l->s, sizeof l->s);
  return k;
}

/* Where the first launch tells that it has left everything to the last one. */
static const char *alone(const Lines *l) {
  return arena_printf(l->g->a, "*(int64_t *)(scratch + %llu)",
                      (unsigned long long)cpu_cumsum_scratch(l->gr) - 8);
}

/* One thread would read the operand twice for nothing: its lines go by once, in the last launch. */
static void groups_in_launches(Lines *l, Kernel *k) {
  const char *units = units_text(l);
  Text *x = &k->text;
  kernel_units_of(k, l->s.units, units);
  text_line(x, "if (t == 0) %s = nt == 1;", alone(l));
  text_line(x, "if (nt == 1) return;");
  open_unit(l, x, true);
  of_group(l, x);
  sum_group(l, x);
  text_close(x, "}");
  kernel_touched(k, l->gr);
  k = next(l, "before");
  x = &k->text;
  kernel_units(k, 1);
  text_line(x, "if (%s) return;", alone(l));
  add_groups(l, x);
  kernel_touched(k, l->gr);
  k = next(l, "sums");
  x = &k->text;
  kernel_units_of(k, l->s.units, units);
  text_open(x, "if (%s) {", alone(l));
  text_line(x, "if (u0 != 0) return;");
  whole_lines(l, x);
  text_line(x, "return;");
  text_close(x, "}");
  open_unit(l, x, true);
  of_group(l, x);
  write_group(l, x);
  text_close(x, "}");
}

void cpu_cumsum(Gen *g, const Group *gr) {
  const Op *op = gr->root;
  const Type *t = value_type(gr->e, gr->in[0]);
  const int axis = (int)op->attr[AT_AXIS].i;
  Lines l = {.g = g,
             .gr = gr,
             .t = t,
             .s = schedule_of(gr),
             .n = t->dim[axis],
             .chunks = cumsum_chunks(t->dim[axis]),
             .groups = cumsum_groups(t->dim[axis]),
             .backward = op->attr[AT_BACKWARD].i,
             .T = dtype_compute(t->dtype)};
  l.inner = l.s.inner;
  Kernel *k = kernel_new(g, gr);
  kernel_args(g, k, gr);
  kernel_schedule(k, &cumsum_kind, &l.s, sizeof l.s);
  k->flops = (uint64_t)t->numel;
  l.length = dims_text(g, gr->e, t, axis, axis + 1);
  l.outer = dims_text(g, gr->e, t, 0, axis);
  l.start = reduce_start(g, OP_SUM, t->dtype, l.n);
  if (l.s.split) {
    groups_in_launches(&l, k);
    return;
  }
  kernel_units_of(k, l.s.units, units_text(&l));
  if (t->numel == 0) return;
  if (k->units == 1) text_line(&k->text, "const long u0 = 0, u1 = %s;", units_text(&l));
  whole_lines(&l, &k->text);
  if (k->units == 1 || l.s.blocks > 1) return;
  kernel_split_in(k, gr, 0, 1, 0, t->bytes);
  kernel_split_out(k, gr, 0, 1, 0, t->bytes);
}
