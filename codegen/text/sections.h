/* Library code of generated programs, of which each file gets the sections that it uses.
   A section begins with a line that is the comment "section NAMES: NEEDS" and defines NAMES; it may
   use sections before it. NEEDS are definitions that it uses under a name made with ##; all others
   are found by their names. Comments before a text's first section are printed with any of its
   sections; those of the first text, with their code, are its base, which is always there. */
#ifndef GC_CODEGEN_SECTIONS_H
#define GC_CODEGEN_SECTIONS_H
#include "codegen/text/text.h"

typedef struct Section {
  const char *names, *needs; /* "f32_exp_near f32_exp_down" */
  const char *text;
  uint32_t title; /* the comments of its file: a section without names */
  bool used;
} Section;

typedef struct SectionName {
  const char *at;
  size_t n;
  uint32_t section;
} SectionName;

typedef struct Sections {
  VEC(Section) list;
  VEC(SectionName) names; /* sorted */
} Sections;

/* texts: NULL after the last. */
Sections *sections_of(Arena *a, const char *const *texts);
/* The next name in C source from *s on, outside comments and literals; *n is its length. NULL: no
 * more. */
const char *sections_next_name(const char **s, size_t *n);
/* The section that defines a name, or NULL. */
Section *sections_find(const Sections *s, const char *name, size_t n);
/* Source at hand uses the sections whose names it has. */
void sections_use(const Sections *s, const char *source);
const char *sections_base(const Sections *s);
/* Prints the used sections, and those that they use, in their order; then none is used. */
void sections_print(const Sections *s, Text *x);
#endif
