/* The strategy color: buffers that live together are neighbours in a conflict graph, a colour is a
   piece of memory, and no neighbours have one colour.
   Contract: fills offsets; a colour's bytes are those of its largest buffer, and colours lie side
   by side. Greedy colouring, largest buffers first (Chaitin, 1982, gives registers so; NNVM and
   Caffe's optnet give blobs so): each takes the colour of the smallest bytes that hold it, and
   these never grow. The graph is not built: the lives that a colour holds are kept in a balanced
   order (a treap), so that a conflict is found in logarithmic time. */
#include "passes/plan/plan_impl.h"

#include <stdlib.h>

typedef struct Life { /* a node of a colour's treap */
  int64_t first, last;
  int left, right; /* lives before and behind; -1: none */
  uint32_t heat;   /* larger above */
} Life;

static int by_size(const void *pa, const void *pb) {
  const Buffer *a = *(Buffer *const *)pa, *b = *(Buffer *const *)pb;
  if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
  if (a->first != b->first) return a->first < b->first ? -1 : 1;
  return a < b ? -1 : a > b;
}

static bool is_free(const Life *l, int root, const Buffer *b) {
  while (root >= 0) {
    if (b->last < l[root].first)
      root = l[root].left;
    else if (b->first > l[root].last)
      root = l[root].right;
    else
      return false;
  }
  return true;
}

/* Cuts a treap in what ends before time t and what starts behind it. */
static void treap_split(Life *l, int root, int64_t t, int *before, int *behind) {
  while (root >= 0) {
    if (l[root].first < t) {
      *before = root;
      before = &l[root].right;
      root = *before;
    } else {
      *behind = root;
      behind = &l[root].left;
      root = *behind;
    }
  }
  *before = *behind = -1;
}

static void add_life(Life *l, int *root, int fresh) {
  while (*root >= 0 && l[*root].heat >= l[fresh].heat)
    root = l[fresh].first < l[*root].first ? &l[*root].left : &l[*root].right;
  int under = *root;
  *root = fresh;
  treap_split(l, under, l[fresh].first, &l[fresh].left, &l[fresh].right);
}

uint64_t color_plan(Arena *scratch, Buffers *b) {
  Buffer **order = ARENA_ARRAY(scratch, Buffer *, b->n);
  Life *life = ARENA_ARRAY(scratch, Life, b->n);
  int *root = ARENA_ARRAY(scratch, int, b->n), colors = 0;
  uint64_t *offset = ARENA_ARRAY(scratch, uint64_t, b->n), end = 0;
  uint32_t random = 1;
  for (int i = 0; i < b->n; i++) order[i] = &b->at[i];
  qsort(order, (size_t)b->n, sizeof(Buffer *), by_size);
  for (int i = 0; i < b->n; i++) {
    Buffer *x = order[i];
    int c = colors - 1; /* the later a colour came, the smaller it is */
    while (c >= 0 && !is_free(life, root[c], x)) c--;
    if (c < 0) {
      c = colors++;
      root[c] = -1;
      offset[c] = end;
      if (!checked_add(end, x->bytes, &end)) return UINT64_MAX;
    }
    random = random * 1664525u + 1013904223u;
    life[i] = (Life){.first = x->first, .last = x->last, .left = -1, .right = -1, .heat = random};
    add_life(life, &root[c], i);
    x->offset = offset[c];
  }
  return end;
}
