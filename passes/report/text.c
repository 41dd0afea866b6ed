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

const char *plan_size(char *buf, uint64_t n) {
  char digits[32];
  double mb = (double)n / 1048576;
  if (n < 10000)
    snprintf(buf, 32, "%s bytes", plan_commas(digits, n));
  else if (n < 1048576)
    snprintf(buf, 32, "%.1f KB", (double)n / 1024);
  else if (mb < 1000)
    snprintf(buf, 32, mb < 10 ? "%.2f MB" : "%.1f MB", mb);
  else
    snprintf(buf, 32, "%s.%d MB", plan_commas(digits, (uint64_t)(mb + 0.05)),
             (int)((mb + 0.05) * 10) % 10);
  return buf;
}
