/* Prints the text that every generated program starts with: vectors, elementary functions,
   conversions, random numbers and the product's tile, from the files in text/, which the build
   embeds. */
#include "codegen/cpu/cpu.h"

extern const char cpu_text_base[], shared_text_math[], shared_text_convert[], shared_text_random[],
    cpu_text_gemm[], cpu_text_attention[];

void cpu_prelude(FILE *f) {
  fputs("#include \"gcrt.h\"\n\n", f);
  const char *const texts[] = {cpu_text_base,      shared_text_math, shared_text_convert,
                               shared_text_random, cpu_text_gemm,    cpu_text_attention};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) fprintf(f, "%s\n", texts[i]);
}
