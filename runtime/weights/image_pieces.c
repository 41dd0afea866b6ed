/* An image's runs in pieces, which all threads read or write. On a machine of several nodes a page
   of a file gets memory of the node whose processor writes to it, or reads it first, and keeps it
   until the system needs the memory. So each thread has the part of each weight that it will read
   in products (gcrt.h). Contract: each piece is visited once, by one thread. */
#include "runtime/weights/image_pieces.h"

/* Pieces of weights in which no thread's part fills one take turns. */
int image_reader(const GcProgram *p, uint64_t begin, uint64_t bytes, uint64_t i, int nt) {
  const uint64_t threads = (uint64_t)nt, at = begin + bytes / 2;
  for (const GcGlobal *g = p->globals; g < p->globals + p->nglobals; g++)
    if (at >= g->t.offset && at - g->t.offset < g->t.bytes && g->t.bytes / IMAGE_PIECE >= threads)
      return (int)((at - g->t.offset) / (g->t.bytes / threads + 1));
  return (int)(i % threads);
}

typedef struct Pieces {
  const GcProgram *program;
  uint64_t begin, bytes;
  ImagePiece *visit;
  void *arg;
} Pieces;

static void visit_own(void *arg, int t, int nt) {
  const Pieces *p = arg;
  for (uint64_t i = 0; i * IMAGE_PIECE < p->bytes; i++) {
    const uint64_t in = i * IMAGE_PIECE, at = p->begin + in;
    const uint64_t n = p->bytes - in < IMAGE_PIECE ? p->bytes - in : IMAGE_PIECE;
    if (image_reader(p->program, at, n, i, nt) == t) p->visit(p->arg, at, n);
  }
}

void image_pieces(const ImageOf *of, uint64_t begin, uint64_t bytes, ImagePiece *visit, void *arg) {
  Pieces p = {of->program, begin, bytes, visit, arg};
  if (of->run && bytes > IMAGE_PIECE)
    of->run(of->threads, visit_own, &p);
  else
    visit_own(&p, 0, 1);
}
