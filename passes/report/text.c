/* Words and numbers of plans as people read them.
   Contract: allocates nothing; buffers are the caller's. */
#include "passes/plan/plan_impl.h"

const char *plan_op_name(const Op *op) {
  if (op->kind == OP_KERNEL && op->attr[0].str) return op->attr[0].str;
  return op_info[op->kind].name;
}

const char *plan_commas(char *buf, uint64_t n) {
  char digits[24];
  int len = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n), w = 0;
  for (int i = 0; i < len; i++) {
    if (i && (len - i) % 3 == 0) buf[w++] = ',';
    buf[w++] = digits[i];
  }
  buf[w] = 0;
  return buf;
}
