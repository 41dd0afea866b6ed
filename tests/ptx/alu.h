/* The arithmetic table as decode.c sees it. */
#ifndef PTXI_ALU_H
#define PTXI_ALU_H
#include "module.h"

typedef struct AluRow {
  const char *key;
  size_t size; /* of the key */
  Handler *run;
  int sources;
  uint8_t cls[5];    /* SlotClass of the result and the sources */
  Handler *flushing; /* of f32, with .ftz alone; or NULL */
} AluRow;
const AluRow *alu_find(const char *key);
Handler alu_modified;
/* Scratch slots at the start of every register block, for alu_modified. */
enum { ALU_SCRATCH = 6, ALU_SCRATCH_BYTES = 8 * LANES };
#endif
