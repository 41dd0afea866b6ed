/* The writer of code: one walk over the tree of an expression. Contract: see regex.h; counted
   repetitions of groups are copied, so that the code is bounded. */
#include "runtime/tokens/regex_tree.h"

int regex_code_add(Parser *p, Code c) {
  Regex *r = p->r;
  if (r->ncode == CODES || !grow(&r->code, &r->code_room, (uint64_t)r->ncode + 1, sizeof c))
    return regex_wrong(p, "it is too long"), -1;
  r->code[r->ncode] = c;
  return r->ncode++;
}

/* A group's: `min` copies, then a loop, or as many more as may be left out. */
static bool emit_group(Parser *p, const Node x) {
  CodeKind kind = x.lazy ? CODE_LAZY : CODE_SPLIT;
  int begin, first = -1, last = -1;
  for (uint32_t i = 0; i < x.min; i++)
    if (!regex_emit(p, x.child)) return false;
  if (x.max == UINT32_MAX) {
    begin = regex_code_add(p, (Code){.kind = kind});
    if (begin < 0 || !regex_emit(p, x.child) ||
        regex_code_add(p, (Code){.kind = CODE_JUMP, .to = begin}) < 0)
      return false;
    p->r->code[begin].to = p->r->ncode;
    return true;
  }
  for (uint32_t i = x.min; i < x.max; i++) { /* linked by `to` until the end is known */
    int at = regex_code_add(p, (Code){.kind = kind, .to = last});
    if (at < 0 || !regex_emit(p, x.child)) return false;
    last = at;
  }
  for (; last >= 0; last = first) {
    first = p->r->code[last].to;
    p->r->code[last].to = p->r->ncode;
  }
  return true;
}

static bool emit_either(Parser *p, const Node x) {
  int ends_at = -1; /* of all but the last one, linked by `to` */
  for (int i = x.child; i >= 0; i = p->nodes[i].next) {
    bool last = p->nodes[i].next < 0;
    int split = last ? 0 : regex_code_add(p, (Code){.kind = CODE_SPLIT});
    if (split < 0 || !regex_emit(p, i)) return false;
    if (last) break;
    if ((ends_at = regex_code_add(p, (Code){.kind = CODE_JUMP, .to = ends_at})) < 0) return false;
    p->r->code[split].to = p->r->ncode;
  }
  for (int next; ends_at >= 0; ends_at = next) {
    next = p->r->code[ends_at].to;
    p->r->code[ends_at].to = p->r->ncode;
  }
  return true;
}

/* Nested as the tree is, whose size is bounded. Copies of what has no code count as code, too. */
bool regex_emit(Parser *p, int n) {
  const Node x = p->nodes[n];
  int at;
  if (++p->copies > COPIES) return regex_wrong(p, "it is too long");
  switch (x.kind) {
  case NODE_SET: return regex_code_add(p, (Code){.kind = CODE_SET, .set = x.set}) >= 0;
  case NODE_SEQUENCE:
    for (int i = x.child; i >= 0; i = p->nodes[i].next)
      if (!regex_emit(p, i)) return false;
    return true;
  case NODE_EITHER: return emit_either(p, x);
  case NODE_REPEAT:
    if (x.lazy || p->nodes[x.child].kind != NODE_SET) return emit_group(p, x);
    return regex_code_add(p, (Code){.kind = CODE_REPEAT,
                                    .set = p->nodes[x.child].set,
                                    .min = x.min,
                                    .max = x.max,
                                    .keeps = x.keeps}) >= 0;
  case NODE_LOOK:
    at = regex_code_add(p, (Code){.kind = x.negative ? CODE_LOOK_NOT : CODE_LOOK});
    if (at < 0 || !regex_emit(p, x.child) || regex_code_add(p, (Code){.kind = CODE_DONE}) < 0)
      return false;
    p->r->code[at].to = p->r->ncode;
    return true;
  }
  return false;
}
