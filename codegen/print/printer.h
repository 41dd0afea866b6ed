/* The values of a group as lines of C, demanded from the yields: each value at each place it is
   wanted is one line, put as far out of the loops as what it depends on allows.
   A place is a map from the axes of a value to the loops; views compose maps and print nothing. */
#ifndef GC_CODEGEN_PRINTER_H
#define GC_CODEGEN_PRINTER_H
#include "codegen/print/expr.h"
#include "codegen/program/gen.h"

typedef struct Coord { /* one axis of the domain */
  int64_t dim;
  const char *text; /* of its position; NULL where a later axis of the same loop stands for it */
  int level;        /* of the loop it belongs to: lines that need it go there */
  const Extent *extent; /* dim is a multiple of it, at its bound; NULL: static */
} Coord;

typedef struct Seen {
  ValueId v;
  const Axis *map;
  const char *text;
  int level;
} Seen;

/* What a row op keeps of a row: bound by the printer of rows before the values that need it. */
typedef enum Role {
  ROLE_VALUE,
  ROLE_MAX,
  ROLE_SUM,
  ROLE_LABEL,
  ROLE_AT_LABEL,
  ROLE_EXP,
  ROLE_SQUARES, /* of norms: sum of squared distances */
  ROLE_MEAN,
  ROLE_SCALE,   /* 1 / sqrt(mean square + eps) */
  ROLE_DOT,     /* of their gradients: sum of dy y */
  ROLE_MEAN_DOT /* over the row's elements */
} Role;
typedef struct Term {
  const Op *op;
  Role role;
  const char *text;
  int level;
} Term;

typedef struct Printer {
  Gen *g;
  const Group *gr;
  int ncoords; /* axes of the domain, then those of its product's own shape but for the last */
  Coord *coord;
  int nlevels;
  Text **level;     /* lines by level; outer ones first */
  VEC(Seen) seen;   /* memo, dropped with printer_drop when a loop closes */
  const char *flat; /* text of the index in the domain in `layout`, or NULL */
  const Layout *layout;
  const char *panel; /* text of the offset in panels, or NULL */
  int flat_level;
  bool storage; /* the loop runs over the storage of values in panels: flat is the offset */
  struct EpilogueWide *wide; /* halves that the loop reads and writes as f32; NULL: none */
  VEC(Term) terms;
} Printer;

typedef struct Printed {
  const char *text;
  int level;
} Printed;

/* The value on its whole shape, axis i at coordinate i; of a product's own shape, where the domain
   is another one, at the coordinates for it. */
const Axis *printer_identity(Printer *p, ValueId v);
/* axes_through, and through a reshape between the domain and a product's own shape. */
const Axis *printer_through(Printer *p, const Op *op, const Axis *map);
/* Its text, in the compute type, rounded to its dtype. */
Printed printer_value(Printer *p, ValueId v, const Axis *map);
/* Binds a value at a place to a text that is there already. */
void printer_bind(Printer *p, ValueId v, const Axis *map, Printed as);
void printer_drop(Printer *p, int level); /* forgets lines of this level and deeper */
const char *printer_index(Printer *p, ValueId v, const Axis *map, int *level);

/* Where an argument lies, or the result that an inner value becomes. */
const Layout *printer_layout(const Printer *p, ValueId v);
/* Coordinates of the domain itself, and those behind them: of the product's own shape, but for the
   last axis, which is the domain's. */
int printer_domain_coords(const Printer *p);
int printer_extra_coords(const Group *gr);
/* The position along an axis, and the offset of a place at these strides of a value's axes, as
   text; *level: the deepest loop that it needs. */
const char *printer_axis(Printer *p, Axis a, int *level);
const char *printer_strided(Printer *p, const Type *t, const int64_t *own, const Axis *map,
                            int *level);

/* ---- leaves.c ---- */

/* A leaf that an element reads: an argument, or an iota in the group. */
typedef struct Leaf {
  ValueId v;
  int64_t *stride; /* by domain axis, in elements; of a value in panels: inside of one */
} Leaf;
typedef struct Visit {
  ValueId v;
  const Axis *map;
} Visit;
/* Every leaf reached from these values at these maps, for deciding which axes are one loop. */
typedef struct Leaves {
  VEC(Leaf) at;
  VEC(Visit) visited; /* a value is looked at once a map, not once a path */
} Leaves;
void leaves_of(Printer *p, ValueId v, const Axis *map, Leaves *out);
/* The same for a result of the group, and the place where it is stored. */
void leaves_result(Printer *p, int yield, const Axis *map, Leaves *out);
/* One loop over axes of the domain that every leaf walks evenly. */
typedef struct Loop {
  int64_t n;            /* at the bound */
  int coord;            /* the last of its axes: its text is the loop's variable */
  const Extent *extent; /* of its first axis: n is a multiple of it; NULL: static */
} Loop;
/* The fewest loops over n axes of the domain, outermost first, axes of extent 1 left out; the texts
   of all those coordinates are NULL afterwards, for the caller to name the loops'. */
int loops_over(Printer *p, const Leaves *l, const int *axes, int n, Loop *out);
int64_t loops_count(const Loop *l, int n); /* iterations of all, nested; at the bounds */
int64_t loop_unit(const Loop *l);          /* whatever the extent, they are a multiple of it */
const char *loops_text(const Printer *p, const Loop *l, int n); /* at run time: a factor */

/* The texts of all axes of the domain but the last, from that of the position among them: in so
   few parts as what the group reads and writes allows. */
void printer_leading(Printer *p, const char *at, int level);
/* `first` declares what the iteration number u of these loops, nested, is in each: coordinates in
   level's text, named prefix0, prefix1, …; with one loop u itself is the coordinate. */
void printer_decode(Printer *p, const Loop *loop, int n, const char *u, const char *prefix,
                    int level);
/* The same of a number that is another one in each iteration of a loop of vectors. */
void printer_decode_element(Printer *p, const Loop *loop, int n, const char *u, const char *prefix,
                            int level);

/* ---- printer.c ---- */

/* Coordinates from the domain of the group, without texts yet; levels: texts of deeper loops. */
Printer printer_new(Gen *g, const Group *gr, int levels, int indent);
/* The store of a result, whose axes are at map, at level. */
void printer_store(Printer *p, int yield, const Axis *map, int level);
/* Both maps of v read the same element. */
bool printer_same_map(const Printer *p, ValueId v, const Axis *a, const Axis *b);
const Term *printer_term(const Printer *p, const Op *op, Role role);

/* ---- a body without a printer of its own ---- */

/* An inner value that is computed already, and its text before it is rounded to its dtype. */
typedef struct EpilogueKnown {
  ValueId value;
  const char *text;
} EpilogueKnown;

/* Where a loop's body stands in the domain of a group. */
typedef struct EpilogueSite {
  const Type *shape;        /* of the positions: the group's domain, or a part of it */
  const char *const *coord; /* text of the position on each coordinate of a printer: names,
                               literals, or sums in () */
  const char *flat;         /* text of the index in `shape` in `layout`; NULL: made from coord */
  const Layout *layout;     /* that flat is for; NULL: row-major */
  const char *panel;     /* text of the offset of this element in a value of this shape in panels;
                            NULL: made from coord */
  ValueId have;          /* an inner value that is computed already, or NO_ID … */
  const char *have_text; /* … its text before it is rounded to its dtype: "acc[j]" */
  const EpilogueKnown *known; /* more of them */
  int nknown;
} EpilogueSite;

/* Prints the body of an element-wise loop (what no position changes goes to the head of the
   function at hand): a load of each input that is read, one line `const float v12 = …;` for every
   member op but `skip`, and the store of each yield. Every value it meets has the site's shape or
   broadcasts to it. */
void epilogue_body(Gen *g, Text *x, const Group *gr, const EpilogueSite *s);
/* Halves in arrays of f32, wide0[at] for the first argument and half0[at] for the first result, for
   the caller to widen before the loop and to narrow behind it. */
typedef struct EpilogueWide {
  const char *at;
  /* By argument and by result: the text of where its number lies, as the site's flat or panel says;
     NULL: it is none of them. */
  const char **in, **out;
} EpilogueWide;
/* The same with such arrays, which a result is not yet rounded in. */
void epilogue_body_wide(Gen *g, Text *x, const Group *gr, const EpilogueSite *s,
                        EpilogueWide *wide);
/* Prints what computes some inner values instead, and gives their texts. */
void epilogue_values(Gen *g, Text *x, const Group *gr, const EpilogueSite *s, const ValueId *v,
                     int n, const char **text);
#endif
