/* Where Winograd's method takes less time than the direct sum. One text for the compiler and for
   programs, which decide by the extents of a run as the program compiled for these does. */
/* section GcWinogradCost winograd_wins */
typedef struct GcWinogradCost {    /* in FMA, times 100 as percent */
  long long direct, tile, filters; /* of a tap of the direct sum; of a tile; of all filters */
  long long padding[4];            /* rows before and after the image, columns before and after */
  int back;                        /* the gradient by the images */
} GcWinogradCost;
/* Taps of an axis that lie on the image, of all positions of the result. */
INL long long winograd_taps(long long in, long long out, long long padding) {
  long long taps = 0;
  for (long long k = 0; k < 3; k++) {
    const long long from = padding > k ? padding - k : 0;
    const long long to = in + padding - k < out ? in + padding - k : out;
    taps += to > from ? to - from : 0;
  }
  return taps;
}
/* Of one image with so many rows and columns; its source has no fewer columns than a filter. The
   filters' transform is a part of it: with more images it takes less. */
INL int winograd_wins(const GcWinogradCost *c, long long rows, long long columns) {
  const long long down = rows + c->padding[0] + c->padding[1] - 2;
  const long long across = columns + c->padding[2] + c->padding[3] - 2;
  if ((c->back ? across : columns) < 3) return 0; /* bounded, it is filled up to the bound */
  const long long taps =
      winograd_taps(rows, down, c->padding[0]) * winograd_taps(columns, across, c->padding[2]);
  const long long tiles =
      ((c->back ? rows : down) + 1) / 2 * (((c->back ? columns : across) + 1) / 2);
  return taps * c->direct > tiles * c->tile + c->filters;
}
