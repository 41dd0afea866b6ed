/* Binary search. Contract: `holds`, an expression in i, is false up to some i in [0, n) and true
   from there on; i is an integer variable of the caller. Sets i to the first one for which it
   holds, n if there is none. */
#ifndef GC_SEARCH_H
#define GC_SEARCH_H
#define SEARCH_FIRST(i, n, holds)                                                                  \
  do {                                                                                             \
    __typeof__(i) lo_ = 0, hi_ = (n);                                                              \
    while (lo_ < hi_) {                                                                            \
      i = lo_ + (hi_ - lo_) / 2;                                                                   \
      if (holds)                                                                                   \
        hi_ = i;                                                                                   \
      else                                                                                         \
        lo_ = i + 1;                                                                               \
    }                                                                                              \
    i = lo_;                                                                                       \
  } while (0)
#endif
