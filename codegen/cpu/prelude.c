/* The library of the CPU's kernels: vectors, elementary functions, conversions, random numbers, the
   tiles of products and of attention, and how threads share units. The build embeds the files in
   text/ and shared/, and schedule/shares.h. */
#include "codegen/cpu/cpu.h"

extern const char cpu_text_base[], schedule_text_shares[], schedule_text_winograd_wins[],
    shared_text_math[], shared_text_convert[], shared_text_random[], cpu_text_gemm[],
    cpu_text_half[], cpu_text_amx[], cpu_text_quantized[], cpu_text_words[], cpu_text_interleaved[],
    cpu_text_integers[], cpu_text_quantize[], cpu_text_attention[], cpu_text_vmath[],
    cpu_text_winograd[];

const Sections *cpu_library(Arena *a) {
  const char *const texts[] = {cpu_text_base,
                               schedule_text_shares,
                               shared_text_math,
                               shared_text_convert,
                               shared_text_random,
                               cpu_text_gemm,
                               cpu_text_half,
                               cpu_text_amx,
                               cpu_text_quantized,
                               cpu_text_words,
                               cpu_text_interleaved,
                               cpu_text_integers,
                               cpu_text_quantize,
                               cpu_text_vmath,
                               cpu_text_attention,
                               cpu_text_winograd,
                               schedule_text_winograd_wins,
                               NULL};
  return sections_of(a, texts);
}
