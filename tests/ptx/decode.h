/* One instruction while it is read. */
#ifndef PTXI_DECODE_H
#define PTXI_DECODE_H
#include "alu.h"
#include "module.h"

enum { PARTS_MAX = 20, OPERANDS_MAX = 160 };

typedef struct Decoder {
  Parser *p;
  Tok mnemonic;
  const char *part[PARTS_MAX]; /* of the mnemonic, between its dots */
  size_t part_size[PARTS_MAX];
  int nparts;
  Ins ins;
  Opd opd[OPERANDS_MAX];
} Decoder;

_Noreturn void decode_unknown(Decoder *d);             /* names the instruction */
bool decode_first(const Decoder *d, const char *word); /* the mnemonic up to its first dot */
bool decode_has(const Decoder *d, const char *part);
int decode_pick(const Decoder *d, const char *const *names, int fallback); /* first name present */
Type decode_type(const Decoder *d, int from_end);                          /* 0: the last part */
Round decode_round(const Decoder *d);
Space decode_space(const Decoder *d);
SlotClass decode_class(Type t);

/* Operands, in order; each one eats the comma before it. */
void take_dst(Decoder *d, SlotClass cls);                   /* SLOT_NONE: any class */
void take_src(Decoder *d, SlotClass cls, Type t);           /* register or literal of the type */
void take_pred(Decoder *d);                                 /* %p or !%p */
int take_list(Decoder *d, bool dst, SlotClass cls, Type t); /* {a, b} or one; returns how many */
void take_address(Decoder *d);                              /* [a + 4] */
int take_tensor(Decoder *d); /* [map, {x, y}]: how many coordinates */
uint64_t take_number(Decoder *d);
bool more_operands(const Decoder *d);
void add_operand(Decoder *d, Opd o); /* that the text does not name */
void add_absent(Decoder *d);         /* an optional operand that is not there */
bool take_second_dst(Decoder *d);    /* |%p after a destination */
void note_access(Decoder *d, Space space, unsigned bytes);

/* ---- decode_async.c ---- */
void decode_bulk(Decoder *d);        /* the cp of bulk copies */
void decode_proxy_fence(Decoder *d); /* the fence of proxies and mbarriers */
void decode_cluster(Decoder *d);     /* the barrier of clusters */

/* ---- exec_carry.c ---- */
bool decode_carry(Decoder *d); /* false: not one of its instructions */

#define OP(word, reader) void decode_##reader(Decoder *d);
#include "ops.def"
#undef OP
#endif
