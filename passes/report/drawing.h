/* What pictures of a plan show: a rectangle for every value, with its life and bytes.
   Contract: of an entry with offsets; everything lies in the arena given. */
#ifndef GC_PASSES_DRAWING_H
#define GC_PASSES_DRAWING_H
#include "passes/plan/plan_impl.h"

typedef struct Rect {
  const char *name, *op, *layer, *from, *type, *how,
      *kind; /* kind: the class that gives the colour */
  const Place *place;
  int row; /* the storage that it lies in */
} Rect;

typedef struct Drawing {
  Arena *a;
  const Entry *e;
  const Plan *p;
  VEC(Rect) rects;
  uint64_t *live; /* by step: bytes of all storages that live */
  int peak;
  const char *title; /* "entry train" */
  uint64_t top;      /* bytes at the upper edge: the arena's, or more to compare with */
  bool is_page;      /* rectangles carry what the script of a page reads */
} Drawing;

/* ---- drawing.c ---- */
Drawing drawing_new(Arena *a, const Entry *e);

/* ---- svg.c ---- */
/* Escaped as XML wants it. */
void svg_put_text(FILE *f, const char *s);
/* The drawing of one entry as an element. */
void svg_put_entry(FILE *f, const Drawing *d);
#endif
