/* What tokenizers need of Unicode: code points in UTF-8, general categories, canonical forms, lower
   case. Contract: text is valid UTF-8 where it is not said otherwise; the tables are those of one
   version of Unicode, which unicode.def names. */
#ifndef GCRT_UNICODE_H
#define GCRT_UNICODE_H
#include "runtime/tokens/text.h"

typedef enum Category { /* in the order of their names */
                        CAT_Cn,
                        CAT_Cc,
                        CAT_Cf,
                        CAT_Co,
                        CAT_Cs,
                        CAT_Ll,
                        CAT_Lm,
                        CAT_Lo,
                        CAT_Lt,
                        CAT_Lu,
                        CAT_Mc,
                        CAT_Me,
                        CAT_Mn,
                        CAT_Nd,
                        CAT_Nl,
                        CAT_No,
                        CAT_Pc,
                        CAT_Pd,
                        CAT_Pe,
                        CAT_Pf,
                        CAT_Pi,
                        CAT_Po,
                        CAT_Ps,
                        CAT_Sc,
                        CAT_Sk,
                        CAT_Sm,
                        CAT_So,
                        CAT_Zl,
                        CAT_Zp,
                        CAT_Zs,
                        CATEGORIES
} Category;
/* Those of the characters of words, as bits. */
#define UNICODE_WORD                                                                               \
  (1u << CAT_Ll | 1u << CAT_Lm | 1u << CAT_Lo | 1u << CAT_Lt | 1u << CAT_Lu | 1u << CAT_Mc |       \
   1u << CAT_Me | 1u << CAT_Mn | 1u << CAT_Nd | 1u << CAT_Nl | 1u << CAT_Pc)

Category unicode_category(uint32_t c);
/* The same in Unicode 8.0, which BERT's steps have in the package tokenizers. */
Category unicode_category_8(uint32_t c);
bool unicode_is_mark(uint32_t c); /* a combining mark */
/* The categories of "L", "Lu" or "P" as bits; 0: there is none of that name. */
uint32_t unicode_mask(const char *name, uint64_t n);
bool unicode_is_space(uint32_t c); /* White_Space */
/* Appends the lower case of a code point. */
bool unicode_lower(Text *to, uint32_t c);
/* Appends a text's canonical decomposition or composition: NFD, NFC. */
bool unicode_canonical(Text *to, Slice s, bool compose);
#endif
