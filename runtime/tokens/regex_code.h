/* What a compiled expression is: sets of characters, and a program for the matcher. */
#ifndef GCRT_REGEX_CODE_H
#define GCRT_REGEX_CODE_H
#include "runtime/tokens/regex.h"

typedef enum ItemKind { ITEM_RANGE, ITEM_MASK, ITEM_MASK_8, ITEM_SPACE, ITEM_WORD } ItemKind;
typedef struct Item {
  ItemKind kind;
  bool outside;       /* what is not of the kind */
  uint32_t low, high; /* of a range; low: of a mask, by the categories of today or of Unicode 8.0 */
} Item;
typedef struct Set { /* the union of its items */
  uint64_t ascii[2];
  int first, n; /* items */
  bool outside;
} Set;

typedef enum CodeKind {
  CODE_SET,    /* one character of the set */
  CODE_REPEAT, /* min to max of the set */
  CODE_SPLIT,  /* goes on at the next one, or else at `to` */
  CODE_LAZY,   /* the other way round */
  CODE_JUMP,
  CODE_LOOK, /* what follows matches, up to CODE_DONE; goes on at `to` */
  CODE_LOOK_NOT,
  CODE_DONE
} CodeKind;
typedef struct Code {
  CodeKind kind;
  int set, to;
  uint32_t min, max; /* UINT32_MAX: any number */
  bool keeps;        /* a repetition that gives nothing back */
} Code;

typedef struct Back { /* where a search goes on if it fails */
  uint64_t at, low;   /* at > low: one character less of a repetition is tried before */
  int code;
} Back;
struct Regex {
  Item *items;
  Set *sets;
  Code *code;
  uint64_t item_room, set_room, code_room;
  int nitems, nsets, ncode;
  Back *back;
  uint64_t nback, back_room;
  uint64_t steps, most_back; /* that are left for the text; that may wait */
};

bool regex_set_has(const Regex *r, const Set *s, uint32_t c);
#endif
