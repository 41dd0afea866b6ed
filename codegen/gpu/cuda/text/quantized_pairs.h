/* Two numbers of a quantized matrix at once, as the halves of a word that tensor cores take: integers become floats where
   they lie, as the last bits of one that is a power of two, which is taken away, and scales multiply them. Contract: a number
   is that of dequantize, rounded once, as an integer of 8 bits, and its product with a scale before it is rounded, are exact. */
/* section PairsBf16 */
struct PairsBf16 {
  /* of the low bytes of both halves; of their low four bits, less 8 */
  INL_MEMBER uint32_t bytes(uint32_t x) { /* 128 and the low seven bits; less 128, or 256 with the sign */
    return fma_bf16x2((x & 0x007f007f) | 0x43004300, 0x3f803f80, (x & 0x00800080) | 0xc300c300);
  }
  INL_MEMBER uint32_t nibbles(uint32_t x) { return fma_bf16x2((x & 0x000f000f) | 0x43004300, 0x3f803f80, 0xc308c308); }
  INL_MEMBER uint32_t scales(uint16_t low, uint16_t high) { return low | (uint32_t)high << 16; }
  INL_MEMBER uint32_t scaled(uint32_t x, uint32_t scales) { return fma_bf16x2(x, scales, 0x80008000); /* -0 changes no sum */ }
};
/* section PairsF16 */
struct PairsF16 {
  INL_MEMBER uint32_t bytes(uint32_t x) { return fma_f16x2((x & 0x00ff00ff) ^ 0x64806480, 0x3c003c00, 0xe480e480); /* 1024 + 128 */ }
  INL_MEMBER uint32_t nibbles(uint32_t x) { return fma_f16x2((x & 0x000f000f) | 0x64006400, 0x3c003c00, 0xe408e408); }
  INL_MEMBER uint32_t scales(uint16_t low, uint16_t high) { return pack_f16(bf16_to_f32(low), bf16_to_f32(high)); }
  INL_MEMBER uint32_t scaled(uint32_t x, uint32_t scales) { return fma_f16x2(x, scales, 0x80008000); }
};
