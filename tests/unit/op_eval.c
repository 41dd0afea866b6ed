/* Evaluation of every op against values worked out by hand, edges of dtypes included; rounding to
   the narrow floats; runs of whole entries: stores, kernels, faults. */
#include "rig.h"

static const struct {
  OpKind kind;
  const char *operands, *given, *attrs;
  const char *in;   /* elements of each operand, operands separated by ';' */
  const char *want; /* elements of the result, or the fault after '!' */
} rows[] = {
    {OP_NEG, "f32[3]", NULL, NULL, "1,-2,0", "-1,2,-0"},
    {OP_NEG, "u8[2]", NULL, NULL, "1,0", "255,0"},
    {OP_NEG, "i32[1]", NULL, NULL, "-2147483648", "-2147483648"},
    {OP_ABS, "f64[2]", NULL, NULL, "-1.5,2", "1.5,2"},
    {OP_ABS, "i32[2]", NULL, NULL, "-7,7", "7,7"},
    {OP_SIGN, "f32[4]", NULL, NULL, "-3,0,5,nan", "-1,0,1,nan"},
    {OP_SIGN, "i64[3]", NULL, NULL, "-3,0,5", "-1,0,1"},
    {OP_EXP, "f64[3]", NULL, NULL, "0,1,-inf", "1,2.718281828459045,0"},
    {OP_EXP, "f32[1]", NULL, NULL, "89", "inf"},
    {OP_EXP, "f16[2]", NULL, NULL, "11,12", "59872,inf"},
    {OP_EXPM1, "f64[2]", NULL, NULL, "0,1e-10", "0,1.00000000005e-10"},
    {OP_LOG, "f64[4]", NULL, NULL, "1,10,0,-1", "0,2.302585092994046,-inf,nan"},
    {OP_LOG1P, "f64[2]", NULL, NULL, "0,1e-10", "0,9.9999999995e-11"},
    {OP_LOG2, "f64[4]", NULL, NULL, "1,8,0,-1", "0,3,-inf,nan"},
    {OP_SQRT, "f64[3]", NULL, NULL, "9,2,-1", "3,1.4142135623730951,nan"},
    {OP_RSQRT, "f64[2]", NULL, NULL, "4,0", "0.5,inf"},
    {OP_SIN, "f64[1]", NULL, NULL, "1", "0.8414709848078965"},
    {OP_COS, "f64[1]", NULL, NULL, "1", "0.5403023058681398"},
    {OP_TANH, "f64[2]", NULL, NULL, "1,-inf", "0.7615941559557649,-1"},
    {OP_SIGMOID, "f64[3]", NULL, NULL, "0,-800,1", "0.5,0,0.7310585786300049"},
    {OP_ERF, "f64[1]", NULL, NULL, "1", "0.8427007929497149"},
    {OP_RELU, "f32[3]", NULL, NULL, "-1,2,nan", "0,2,nan"},
    {OP_RELU, "i32[2]", NULL, NULL, "-1,2", "0,2"},
    {OP_FLOOR, "f32[2]", NULL, NULL, "-1.5,1.5", "-2,1"},
    {OP_FLOOR, "i32[1]", NULL, NULL, "-3", "-3"},
    {OP_CEIL, "f32[2]", NULL, NULL, "-1.5,1.5", "-1,2"},
    {OP_ROUND, "f32[4]", NULL, NULL, "0.5,1.5,2.5,-0.6", "0,2,2,-1"},
    {OP_TF32, "f32[4]", NULL, NULL, "2049,-2051,2048.5,inf", "2048,-2052,2048,inf"},
    {OP_NOT, "bool[2]", NULL, NULL, "0,1", "1,0"},
    {OP_CONVERT, "f32[6]", "i32[6]", NULL, "1.9,-1.9,1e10,-1e10,nan,2147483520",
     "1,-1,2147483647,-2147483648,0,2147483520"},
    {OP_CONVERT, "f32[5]", "u8[5]", NULL, "-3,255.9,256,nan,7.5", "0,255,255,0,7"},
    {OP_CONVERT, "f64[3]", "i64[3]", NULL, "1e300,-1e300,9007199254740992",
     "9223372036854775807,-9223372036854775808,9007199254740992"},
    {OP_CONVERT, "f32[3]", "bool[3]", NULL, "0,-0.25,nan", "0,1,1"},
    {OP_CONVERT, "i32[3]", "u8[3]", NULL, "256,-1,7", "0,255,7"},
    {OP_CONVERT, "i64[2]", "i32[2]", NULL, "4294967297,-1", "1,-1"},
    {OP_CONVERT, "i32[3]", "bool[3]", NULL, "0,256,-1", "0,1,1"},
    {OP_CONVERT, "bool[2]", "f16[2]", NULL, "0,1", "0,1"},
    {OP_CONVERT, "i64[1]", "f32[1]", NULL, "16777217", "16777216"},
    {OP_CONVERT, "f32[2]", "bf16[2]", NULL, "1.00390625,1.01171875", "1,1.015625"},
    {OP_ADD, "f32[2]", NULL, NULL, "1,16777216;2,1", "3,16777216"},
    {OP_ADD, "u8[2]", NULL, NULL, "200,255;100,1", "44,0"},
    {OP_ADD, "i64[1]", NULL, NULL, "9223372036854775807;1", "-9223372036854775808"},
    {OP_SUB, "u8[1]", NULL, NULL, "1;2", "255"},
    {OP_SUB, "f32[1]", NULL, NULL, "1;2.5", "-1.5"},
    {OP_MUL, "i32[2]", NULL, NULL, "65536,3;65536,-4", "0,-12"},
    {OP_MUL, "bf16[1]", NULL, NULL, "1.0078125;1.0078125", "1.015625"},
    {OP_DIV, "f64[3]", NULL, NULL, "1,0,-1;3,0,0", "0.3333333333333333,nan,-inf"},
    {OP_MOD, "f64[4]", NULL, NULL, "5,-5,5,-5;3,3,-3,-3", "2,1,-1,-2"},
    {OP_MOD, "i32[5]", NULL, NULL, "5,-5,5,-5,7;3,3,-3,-3,0", "2,1,-1,-2,0"},
    {OP_MOD, "i64[1]", NULL, NULL, "-9223372036854775808;-1", "0"},
    {OP_QUOTIENT, "i32[6]", NULL, NULL, "5,-5,5,-5,7,-6;3,3,-3,-3,0,3", "1,-2,-2,1,0,-2"},
    {OP_QUOTIENT, "u8[2]", NULL, NULL, "200,7;3,0", "66,0"},
    {OP_QUOTIENT, "i64[2]", NULL, NULL, "-9223372036854775808,9223372036854775807;-1,2",
     "-9223372036854775808,4611686018427387903"},
    {OP_POW, "f64[4]", NULL, NULL, "2,4,0,-2;10,0.5,0,3", "1024,2,1,-8"},
    {OP_MIN, "f32[4]", NULL, NULL, "1,3,nan,1;2,2,1,nan", "1,2,nan,nan"},
    {OP_MIN, "bool[3]", NULL, NULL, "0,0,1;0,1,1", "0,0,1"},
    {OP_MAX, "f32[4]", NULL, NULL, "1,3,nan,1;2,2,1,nan", "2,3,nan,nan"},
    {OP_MAX, "u8[2]", NULL, NULL, "200,1;100,3", "200,3"},
    {OP_EQ, "f32[3]", NULL, NULL, "1,0,nan;1,-0,nan", "1,1,0"},
    {OP_NE, "f32[2]", NULL, NULL, "1,nan;1,nan", "0,1"},
    {OP_NE, "bool[2]", NULL, NULL, "0,1;1,1", "1,0"},
    {OP_LT, "i32[3]", NULL, NULL, "1,2,3;2,2,2", "1,0,0"},
    {OP_LT, "f32[1]", NULL, NULL, "nan;1", "0"},
    {OP_LE, "f32[3]", NULL, NULL, "1,2,3;2,2,2", "1,1,0"},
    {OP_GT, "u8[3]", NULL, NULL, "1,2,3;2,2,2", "0,0,1"},
    {OP_GE, "i64[3]", NULL, NULL, "1,2,3;2,2,2", "0,1,1"},
    {OP_AND, "bool[4]", NULL, NULL, "0,0,1,1;0,1,0,1", "0,0,0,1"},
    {OP_OR, "bool[4]", NULL, NULL, "0,0,1,1;0,1,0,1", "0,1,1,1"},
    {OP_WHERE, "bool[2] f32[2] f32[2]", NULL, NULL, "1,0;5,6;7,8", "5,8"},
    {OP_WHERE, "bool[2] i64[2] i64[2]", NULL, NULL, "1,0;5,6;7,-8", "5,-8"},
    {OP_WHERE, "bool[2] bool[2] bool[2]", NULL, NULL, "1,0;1,1;0,0", "1,0"},
    {OP_RELU_GRAD, "f32[3]", NULL, NULL, "5,6,7;1,0,-1", "5,0,0"},
    {OP_SIGMOID_GRAD, "f64[1]", NULL, NULL, "2;0.25", "0.375"},
    {OP_TANH_GRAD, "f64[1]", NULL, NULL, "2;0.5", "1.5"},

    {OP_CONST, "", "f16[2]", "0.1", "", "0.0999755859375,0.0999755859375"},
    {OP_CONST, "", "u8[]", "7", "", "7"},
    {OP_EXTENT, "", "i32[]", "n;64", "", "64"},
    {OP_IOTA, "", "i32[2,3]", "1", "", "0,1,2,0,1,2"},
    {OP_IOTA, "", "f32[2,2]", "0", "", "0,0,1,1"},
    {OP_RESHAPE, "i32[2,3]", "i32[3,2]", NULL, "1,2,3,4,5,6", "1,2,3,4,5,6"},
    {OP_TRANSPOSE, "i32[2,3]", NULL, "1,0", "1,2,3,4,5,6", "1,4,2,5,3,6"},
    {OP_TRANSPOSE, "i32[2,1,3]", NULL, "2,0,1", "1,2,3,4,5,6", "1,4,2,5,3,6"},
    {OP_BROADCAST, "f32[2,1]", "f32[2,2,3]", NULL, "1,2", "1,1,1,2,2,2,1,1,1,2,2,2"},
    {OP_BROADCAST, "f32[]", "f32[3]", NULL, "4", "4,4,4"},
    {OP_BROADCAST, "f32[1]", "f32[0]", NULL, "4", ""},
    {OP_SLICE, "i32[2,5]", "i32[1,3]", "1,0;1,2", "0,1,2,3,4,5,6,7,8,9", "5,7,9"},
    {OP_SLICE, "i32[3]", "i32[0]", "3;1", "1,2,3", ""},
    {OP_REVERSE, "i32[2,3]", NULL, "1", "1,2,3,4,5,6", "3,2,1,6,5,4"},
    {OP_REVERSE, "i32[2,2]", NULL, "0,1", "1,2,3,4", "4,3,2,1"},
    {OP_PAD, "i32[3]", NULL, "9;1;2;1", "1,2,3", "9,1,9,2,9,3,9,9"},
    {OP_PAD, "f32[1,2]", NULL, "-1;0,1;1,0;0,0", "1,2", "-1,1,2,-1,-1,-1"},
    {OP_PAD, "f32[0]", NULL, "7;1;1;0", "", "7,7"},
    {OP_CONCAT, "i32[2,1] i32[2,2]", NULL, "1", "1,2;3,4,5,6", "1,3,4,2,5,6"},
    {OP_CONCAT, "i32[1] i32[0] i32[2]", NULL, "0", "1;;2,3", "1,2,3"},
    {OP_COPY, "i32[2]", NULL, NULL, "1,2", "1,2"},
    {OP_STOP_GRADIENT, "i32[2]", NULL, NULL, "1,2", "1,2"},

    {OP_SUM, "f32[2,3]", NULL, "0", "1,2,3,4,5,6", "5,7,9"},
    {OP_SUM, "f32[2,3]", NULL, "0,1", "1,2,3,4,5,6", "21"},
    {OP_SUM, "f32[2,3] f32[3]", NULL, "0", "1,2,3,4,5,6;10,20,30", "15,27,39"},
    {OP_SUM, "u8[2] u8[]", NULL, "0", "100,100;100", "44"},
    {OP_SUM, "f32[0,2] f32[2]", NULL, "0", ";3,-0", "3,-0"},
    {OP_SUM, "f32[2,2,2]", NULL, "0,2", "1,2,3,4,5,6,7,8", "14,22"},
    {OP_SUM, "f32[2,0]", NULL, "1", "", "0,0"},
    {OP_SUM, "f32[]", NULL, NULL, "3", "3"},
    {OP_SUM, "u8[3]", NULL, "0", "200,100,1", "45"},
    {OP_PROD, "f32[2,2]", NULL, "1", "2,3,4,5", "6,20"},
    {OP_PROD, "i32[0]", NULL, "0", "", "1"},
    {OP_REDUCE_MAX, "f32[2,3]", NULL, "1", "1,5,2,nan,7,0", "5,nan"},
    {OP_REDUCE_MAX, "i32[3]", NULL, "0", "-5,-2,-9", "-2"},
    {OP_REDUCE_MAX, "bool[2,2]", NULL, "1", "0,1,0,0", "1,0"},
    {OP_REDUCE_MIN, "f32[2,2]", NULL, "0", "1,nan,-3,4", "-3,nan"},
    {OP_REDUCE_MIN, "u8[3]", NULL, "0", "5,2,9", "2"},
    {OP_ARGMAX, "f32[2,3]", NULL, "1", "1,5,5,0,nan,9", "1,1"},
    {OP_ARGMAX, "i32[3,2]", NULL, "0", "1,6,4,2,3,6", "1,0"},
    {OP_ARGMIN, "f32[4]", NULL, "0", "3,1,1,2", "1"},
    {OP_MATMUL, "f32[2,3] f32[3,2]", NULL, NULL, "1,2,3,4,5,6;7,8,9,10,11,12", "58,64,139,154"},
    {OP_MATMUL, "f32[3,2] f32[3,2]", NULL, "1;0", "1,4,2,5,3,6;7,8,9,10,11,12", "58,64,139,154"},
    {OP_MATMUL, "f32[2,3] f32[2,3]", NULL, "0;1", "1,2,3,4,5,6;7,9,11,8,10,12", "58,64,139,154"},
    {OP_MATMUL, "f32[3,2] f32[2,3]", NULL, "1;1", "1,4,2,5,3,6;7,9,11,8,10,12", "58,64,139,154"},
    {OP_MATMUL, "i32[2,1,2] i32[2,2,1]", NULL, NULL, "1,2,3,4;5,6,7,8", "17,53"},
    {OP_MATMUL, "f32[1,0] f32[0,2]", NULL, NULL, ";", "0,0"},
    {OP_CONV, "f32[1,1,3,3] f32[1,1,2,2]", NULL, "1,1;0,0,0,0;1,1;1", "1,2,3,4,5,6,7,8,9;1,0,0,1",
     "6,8,12,14"},
    {OP_CONV, "f32[1,1,3,3] f32[1,1,2,2]", NULL, "2,2;1,1,1,1;1,1;1", "1,2,3,4,5,6,7,8,9;1,0,0,1",
     "1,3,7,14"},
    {OP_CONV, "f32[1,2,1,2] f32[2,1,1,2]", NULL, "1,1;0,0,0,0;1,1;2", "1,2,3,4;5,6,7,8", "17,53"},
    {OP_CONV_INPUT_GRAD, "f32[1,1,2,2] f32[1,1,2,2]", "f32[1,1,3,3]", "1,1;0,0,0,0;1,1;1",
     "1,2,3,4;1,0,0,1", "1,2,0,3,5,2,0,3,4"},
    {OP_CONV_FILTER_GRAD, "f32[1,1,2,2] f32[1,1,3,3]", "f32[1,1,2,2]", "1,1;0,0,0,0;1,1;1",
     "1,0,0,1;1,2,3,4,5,6,7,8,9", "6,8,12,14"},
    {OP_CONV_FILTER_GRAD, "f32[1,1,2,2] f32[1,1,3,3] f32[1,1,2,2]", "f32[1,1,2,2]",
     "1,1;0,0,0,0;1,1;1", "1,0,0,1;1,2,3,4,5,6,7,8,9;10,20,30,40", "16,28,42,54"},
    {OP_MAX_POOL, "f32[1,1,3,3]", NULL, "1,1;0,0,0,0;1,1;2,2", "1,5,2,8,7,0,3,4,9", "8,7,8,9"},
    {OP_MAX_POOL, "i32[1,1,2,2]", NULL, "2,2;1,1,1,1;1,1;2,2", "-1,-2,-3,-4", "-1,-2,-3,-4"},
    {OP_MAX_POOL, "f32[1,1,1,3]", NULL, "1,1;0,0,0,0;1,1;1,2", "nan,5,2", "nan,5"},
    {OP_MAX_POOL_INDEX, "f32[1,1,3,3]", NULL, "1,1;0,0,0,0;1,1;2,2", "1,5,2,8,7,0,3,4,9",
     "2,2,0,3"},
    {OP_MAX_POOL_INDEX, "f32[1,1,1,4]", NULL, "1,1;0,0,0,0;1,1;1,2", "5,5,nan,6", "0,1,0"},
    {OP_MAX_POOL_TAKE, "f32[1,1,3,3] u8[1,1,2,2]", NULL, "1,1;0,0,0,0;1,1;2,2",
     "1,5,2,8,7,0,3,4,9;2,2,0,4", "8,7,8,0"},
    {OP_MAX_POOL_GRAD, "f32[1,1,2,2] u8[1,1,2,2]", "f32[1,1,3,3]", "1,1;0,0,0,0;1,1;2,2",
     "1,2,3,4;2,2,0,3", "0,0,0,4,2,0,0,0,4"},
    {OP_AVG_POOL, "f32[1,1,2,2]", NULL, "2,2;1,1,1,1;0,0,0,0;2,2", "1,2,3,4", "1,2,3,4"},
    {OP_AVG_POOL, "f32[1,1,2,2]", NULL, "2,2;1,1,1,1;1,1,1,1;2,2", "1,2,3,4", "0.25,0.5,0.75,1"},
    {OP_AVG_POOL_GRAD, "f32[1,1,2,2]", "f32[1,1,2,2]", "2,2;1,1,1,1;1,1,1,1;2,2", "4,8,12,16",
     "1,2,3,4"},
    {OP_VARIANCE, "f32[2,2]", NULL, "1", "1,3,2,2", "1,0"},
    {OP_BATCH_NORM, "f32[1,2,2] f32[2] f32[2] f32[2]", NULL, NULL, "1,2,3,4;1,3;2,3;5,6",
     "5,7,6,9"},
    {OP_QUANTIZE_SCALE, "f32[5]", NULL, "0;8;3", "1,-2,0.5,-4,3", "0.015625,0.03125"},
    {OP_QUANTIZE_SCALE, "f32[2,2]", NULL, "0;4;2", "1,0,-1,0", "-0.125,0"},
    {OP_QUANTIZE_SCALE, "f32[1]", NULL, "0;8;9", "nan", "nan"},
    {OP_QUANTIZE, "f32[5] bf16[2]", NULL, "0;8;3", "1,-2,0.5,-4,3;0.015625,0.03125",
     "64,-128,32,-128,96"},
    {OP_QUANTIZE, "f32[3] f32[1]", NULL, "0;8;3", "0.5,1.5,-300;1", "0,2,-128"},
    {OP_QUANTIZE, "f32[3] f32[1]", NULL, "0;8;3", "1,-1,nan;0", "0,0,0"},
    {OP_QUANTIZE_SCALE, "f32[3]", NULL, "0;16;3", "1,-2,0.5", "0.0001220703125"},
    {OP_QUANTIZE, "f32[4] f32[1]", NULL, "0;16;4", "128,-129,40000,-40000;1",
     "-128,1,127,-1,127,127,-128,-127"},
    {OP_DEQUANTIZE, "i8[4] f32[1]", "f32[2]", "0;16;2", "-128,1,127,-1;2", "256,-258"},
    {OP_DEQUANTIZE, "i8[4] f32[1]", "f32[2]", "0;16;2", "-128,-128,127,-128;2", "-65536,-65282"},
    {OP_QUANTIZE, "f32[3] f32[1]", NULL, "0;4;3", "-8,9,1;1", "240,137"},
    {OP_QUANTIZE, "f32[2,2] f32[1,2]", NULL, "0;4;2", "1,2,-1,4;1,2", "121,169"},
    {OP_DEQUANTIZE, "i8[3] bf16[2]", "f32[3]", "0;8;2", "1,-128,3;0.5,2", "0.5,-64,6"},
    {OP_DEQUANTIZE, "u8[2] f32[2]", "f64[3]", "0;4;2", "240,137;0.5,2", "-4,3.5,2"},
    {OP_QUANTIZED_MATMUL, "f32[1,3] i8[3,2] bf16[2,2]", NULL, "0;8;2",
     "1,2,3;1,2,3,4,5,6;1,0.5,2,4", "37,77"},
    {OP_QUANTIZED_MATMUL, "f32[1,3] u8[1,2] f32[1,1]", NULL, "1;4;4", "1,2,3;240,137;2", "18"},
    {OP_QUANTIZED_MATMUL, "bf16[1,3] i8[3,1] bf16[1,1]", NULL, "0;8;3;1", "1,2,3;100,101,103;1",
     "611"},
    {OP_SCALED_MATMUL, "i8[1,3] i8[3,2] bf16[1,2] bf16[2,2]", "f32[1,2]", "0;8;2;8",
     "1,2,3;1,-2,3,4,-5,127;2,1;0.5,1,2,4", "-23,1536"},
    {OP_SCALED_MATMUL, "i8[1,4] i8[2,1] f32[1,1] f32[1,1]", "f32[1,1]", "0;8;4;16",
     "-128,1,127,-1;3,-5;2;0.5", "1029"},
    {OP_SCALED_MATMUL, "i8[1,4] i8[2,1] f32[1,1] f32[1,1]", "f32[1,1]", "0;8;4;16",
     "-1,-128,0,-128;3,-5;2;0.5", "65536"},
    {OP_SCALED_MATMUL, "i8[1,3] u8[1,2] f32[1,1] f32[1,1]", "f32[1,1]", "1;4;4;8",
     "1,2,3;240,137;2;3", "54"},
    {OP_MATMUL, "bf16[1,2] bf16[2,1]", NULL, NULL, "16,1;16,1", "256"},
    {OP_MATMUL, "bf16[1,2] bf16[2,1]", NULL, "0;0;1", "16,1;16,1", "257"},
    {OP_MATMUL, "f32[1,1] f32[1,1]", NULL, "0;0;0;1", "3;5", "15"},
    {OP_GATHER, "f32[3,2] i32[2]", NULL, NULL, "1,2,3,4,5,6;2,0", "5,6,1,2"},
    {OP_GATHER, "i64[3] u8[1,2]", NULL, NULL, "7,8,9;1,1", "8,8"},
    {OP_GATHER, "f32[3] i32[2]", NULL, NULL, "1,2,3;0,3",
     "!id 3 at position 1 is not in a table of 3 rows"},
    {OP_GATHER, "f32[3] i64[1]", NULL, NULL, "1,2,3;-1",
     "!id -1 at position 0 is not in a table of 3 rows"},
    {OP_GATHER, "f32[2,3] i32[2,2]", NULL, "1", "1,2,3,4,5,6;2,0,1,1", "3,1,5,5"},
    {OP_GATHER, "f32[2,2,2] u8[2]", NULL, "1", "1,2,3,4,5,6,7,8;1,0", "3,4,5,6"},
    {OP_GATHER, "f32[2,3] i32[2,1]", NULL, "1", "1,2,3,4,5,6;2,3",
     "!id 3 at position 1 is not in a table of 3 rows"},
    {OP_CUMSUM, "f32[2,3]", NULL, "1", "1,2,3,4,5,6", "1,3,6,4,9,15"},
    {OP_CUMSUM, "f32[2,3]", NULL, "0", "1,2,3,4,5,6", "1,2,3,5,7,9"},
    {OP_CUMSUM, "i32[2,3]", NULL, "1;1", "1,2,3,4,5,6", "6,5,3,15,11,6"},
    {OP_CUMSUM, "u8[3]", NULL, "0", "200,50,10", "200,250,4"},
    {OP_CUMSUM, "f32[2,0]", NULL, "1", "", ""},
    {OP_ARGSORT, "f32[2,5]", NULL, NULL, "3,nan,1,3,nan,0,-0,-inf,inf,-1", "2,0,3,1,4,2,4,0,1,3"},
    {OP_ARGSORT, "f32[2,5]", NULL, "1", "3,nan,1,3,nan,0,-0,-inf,inf,-1", "1,4,0,3,2,3,0,1,4,2"},
    {OP_ARGSORT, "i64[3]", NULL, NULL, "2,-5,2", "1,0,2"},
    {OP_ARGSORT, "bool[4]", NULL, "1", "0,1,0,1", "1,3,0,2"},
    {OP_ARGSORT, "f32[0]", NULL, NULL, "", ""},
    {OP_GATHER_GRAD, "f32[2,2] i32[2,2]", NULL, "1;3", "1,2,3,4;2,2,0,1", "0,0,3,3,4,0"},
    {OP_GATHER_GRAD, "f32[3,2] i32[3] f32[4,2]", NULL, "0;4",
     "1,2,3,4,5,6;2,0,2;10,20,30,40,50,60,70,80", "13,24,30,40,56,68,70,80"},
    {OP_GATHER_GRAD, "f32[3,2] i32[3]", NULL, "0;4", "1,2,3,4,5,6;2,0,2", "3,4,0,0,6,8,0,0"},
    {OP_GATHER_GRAD, "f32[1] i32[1]", NULL, "0;4", "1;4",
     "!id 4 at position 0 is not in a table of 4 rows"},
    {OP_NMS, "f32[1,4,4] f32[1,2,4] f32[]", NULL, "3",
     "0,0,2,2,0,0,2,1,5,5,6,6,1,1,2,3;1,1,3,2,nan,-inf,1,0.5;0.4", "2,3,0,2,3,-1"},
    {OP_NMS, "f32[1,2,4] f32[1,1,2] f32[]", NULL, "1", "0,0,2,2,0,0,2,1;1,1;0.5", "0"},
    {OP_ONE_HOT, "i32[3]", "f32[3,2]", "2", "1,5,-1", "0,1,0,0,0,0"},
    {OP_ONE_HOT, "u8[]", "bool[3]", "3", "2", "0,0,1"},
    {OP_SOFTMAX, "f64[2,2]", NULL, NULL, "0,0,1000,1000", "0.5,0.5,0.5,0.5"},
    {OP_SOFTMAX, "f64[3]", NULL, NULL, "0,0.6931471805599453,-inf",
     "0.3333333333333333,0.6666666666666666,0"},
    {OP_LOG_SOFTMAX, "f64[2]", NULL, NULL, "1000,0", "0,-1000"},
    {OP_SOFTMAX_GRAD, "f64[2]", NULL, NULL, "3,1;0.25,0.75", "0.375,-0.375"},
    {OP_LOG_SOFTMAX_GRAD, "f64[2]", NULL, NULL, "3,1;0,-inf", "-1,1"},
    {OP_XENT, "f64[2,2] u8[2]", NULL, NULL, "0,0,1000,0;1,1", "0.6931471805599453,1000"},
    {OP_XENT, "f64[1,2] u8[1]", NULL, NULL, "0,0;2", "!label 2 at row 0 is not below 2"},
    {OP_XENT, "f64[1,2] i32[1]", NULL, NULL, "0,0;-1", "!label -1 at row 0 is below 0"},
    {OP_ATTENTION, "f64[1,1] f64[2,1] f64[2,1]", NULL, "1;0", "0;3,4;10,20", "15"},
    {OP_ATTENTION, "f64[2,1] f64[2,1] f64[2,1]", NULL, "1;1", "0,0;3,4;10,20", "10,15"},
    {OP_ATTENTION, "f64[1,1] f64[2,1] f64[2,1] bool[1,2]", NULL, "1;0", "0;3,4;10,20;0,0", "0"},
    {OP_ATTENTION, "f64[2,1] f64[2,1] f64[2,1]", NULL, "1;0", "nan,0;3,3;10,20", "nan,15"},
    {OP_ATTENTION_GRAD, "f64[1,1] f64[1,1] f64[2,1] f64[2,1] f64[1] f64[1]", NULL, "1;0",
     "1;0;3,4;10,20;0.6931471805599453;15", "2.5"},
    {OP_DROPOUT, "f64[2]", NULL, "k;0;1", "3,4", "3,4"},
    {OP_DYNAMIC_UPDATE, "i32[4] i32[2] i32[]", NULL, "0", "1,2,3,4;8,9;2", "1,2,8,9"},
    {OP_DYNAMIC_UPDATE, "i32[4] i32[2] u8[]", NULL, "0", "1,2,3,4;8,9;3",
     "!a part that starts at 3 leaves the axis of 4"},
    {OP_FIRST_ROW, "", "i32[]", NULL, "", "0"}, /* of a process that is alone */
    {OP_RANK, "", "i32[]", NULL, "", "0"},
    {OP_TO_LOCAL, "f64[2]", NULL, NULL, "3,4", "3,4"},
    {OP_FROM_LOCAL, "f64[2]", NULL, NULL, "3,4", "3,4"},
    {OP_REDUCE_SCATTER, "f64[2]", "f64[2]", NULL, "3,4", "3,4"},
    {OP_ALL_REDUCE, "f64[2]", NULL, NULL, "3,4", "3,4"},
    {OP_ALL_GATHER, "i32[2]", "i32[2]", "0", "3,4", "3,4"},
    {OP_COLLECTIVE_BROADCAST, "u8[2]", NULL, "0", "3,4", "3,4"},
    {OP_COLLECTIVE_BROADCAST, "u8[2]", NULL, "1", "3,4", "!collective_broadcast is of rank 1 of 1"},
    {OP_LAYER_NORM, "f64[2,2]", NULL, "0.25", "1,3,5,5",
     "-0.8944271909999159,0.8944271909999159,0,0"},
    {OP_RMS_NORM, "f64[1,2]", NULL, "0", "3,-3", "1,-1"},
    {OP_LAYER_NORM_GRAD, "f64[2] f64[2] f64[]", NULL, NULL, "1,2;1,-1;4", "0,0"},
    {OP_RMS_NORM_GRAD, "f64[2] f64[2] f64[]", NULL, NULL, "1,2;1,-1;4", "6,6"},
    {OP_XENT_GRAD, "f64[2] f64[2,2] u8[2]", NULL, NULL, "1,4;0,0,0,0;0,1", "-0.5,0.5,2,-2"},
    {OP_XENT_GRAD, "f64[] f64[2] i64[]", NULL, NULL, "1;0,0;7", "!label 7 at row 0 is not below 2"},
};

/* Reads n numbers of a dtype that doubles may not hold. */
static const char *read_numbers(const char *s, Tensor *t) {
  for (int64_t i = 0; i < t->type->numel; i++) {
    char *end;
    if (dtype_is_float(t->type->dtype))
      t->at[i].f = strtod(s, &end);
    else
      t->at[i].i = strtoll(s, &end, 10);
    if (end == s) fail_msg("too few numbers for %d of them: %s", (int)t->type->numel, s);
    s = *end == ',' ? end + 1 : end;
  }
  return *s == ';' ? s + 1 : s;
}

static Tensor tensor_of(Rig *r, const Type *t) {
  return (Tensor){.type = t, .at = ARENA_ARRAY(r->m->arena, Scalar, t->numel)};
}

static void every_op_by_hand(void **state) {
  Rig r = rig_new(INTERP_DTYPE, 0);
  bool seen[OP_KINDS] = {
      [OP_RANDOM_UNIFORM] = true, [OP_RANDOM_NORMAL] = true, [OP_LOAD] = true,  [OP_STORE] = true,
      [OP_KERNEL] = true,         [OP_SCAN] = true,          [OP_YIELD] = true, [OP_RETURN] = true};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    OpKind k = rows[i].kind;
    const OpInfo *info = &op_info[k];
    seen[k] = true;
    const Type *given = rows[i].given ? rig_type(&r, rows[i].given) : NULL;
    Tensor x[8];
    int n = 0;
    const char *types = rows[i].operands, *values = rows[i].in;
    for (const Type *t; (t = rig_next_type(&r, &types));) x[n++] = tensor_of(&r, t);
    for (; n && n < info->operands; n++) x[n] = tensor_of(&r, x[0].type); /* the others are alike */
    for (int j = 0; j < n; j++) values = read_numbers(values, &x[j]);
    Attr attr[MAX_ATTRS];
    rig_attrs(&r, k, rows[i].attrs, given ? given->dtype : n ? x[0].type->dtype : DT_F32, attr);
    Tensor y, want;
    bool ran = rig_run(&r, k, attr, given, n, x, &y);
    if (rows[i].want[0] == '!') {
      assert_false(ran);
      assert_string_equal(r.it->why, rows[i].want + 1);
      continue;
    }
    if (!ran) fail_msg("%s: %s", info->name, r.it->why);
    want = tensor_of(&r, y.type);
    if (*read_numbers(rows[i].want, &want)) fail_msg("%s: numbers are left over", info->name);
    for (int64_t j = 0; j < y.type->numel; j++) {
      bool ok = dtype_is_float(y.type->dtype)
                    ? rig_close(y.at[j].f, want.at[j].f, 1e-15) &&
                          (y.at[j].f != 0 || signbit(y.at[j].f) == signbit(want.at[j].f))
                    : y.at[j].i == want.at[j].i;
      if (!ok)
        fail_msg("row %d: %s %s of %s: element %d is %.17g, not %.17g", (int)i, info->name,
                 rows[i].operands, rows[i].in, (int)j, rig_number(&y, j), rig_number(&want, j));
    }
  }
  for (int k = 0; k < OP_KINDS; k++)
    if (!seen[k] && op_info[k].eval) fail_msg("%s is not evaluated", op_info[k].name);
  rig_free(&r);
}

static double rounded(double x, Dtype dt) {
  return scalar_round((Scalar){.f = x}, dt, INTERP_DTYPE).f;
}

static void narrow_floats_round_to_even(void **state) {
  /* largest, halfway to the next that is not there, and just below halfway */
  assert_true(rounded(65504, DT_F16) == 65504);
  assert_true(isinf(rounded(65520, DT_F16)));
  assert_true(rounded(65519.999, DT_F16) == 65504);
  assert_true(rounded(-1e9, DT_F16) == -INFINITY);
  assert_true(rounded(2049, DT_F16) == 2048 && rounded(2051, DT_F16) == 2052);
  /* subnormals: steps of 2^-24, ties to even */
  assert_true(rounded(0x1p-24, DT_F16) == 0x1p-24);
  assert_true(rounded(0x1p-25, DT_F16) == 0);
  assert_true(rounded(0x1.8p-24, DT_F16) == 0x1p-23);
  assert_true(rounded(0x1.01p-25, DT_F16) == 0x1p-24);
  assert_true(signbit(rounded(-0x1p-30, DT_F16)));
  assert_true(rounded(0x1.FFCp-15, DT_F16) == 0x1p-14);
  assert_true(rounded(1 + 0x1p-8, DT_BF16) == 1 && rounded(1 + 0x1.8p-7, DT_BF16) == 1 + 0x1p-6);
  assert_true(rounded(0x1.FEp127, DT_BF16) == 0x1.FEp127 && isinf(rounded(0x1.FFp127, DT_BF16)));
  assert_true(rounded(0x1p-133, DT_BF16) == 0x1p-133 && rounded(0x1p-134, DT_BF16) == 0);
  assert_true(isnan(rounded(NAN, DT_F16)) && isnan(rounded(NAN, DT_BF16)));
  assert_true(rounded(0.1, DT_F32) == 0.1f && rounded(0.1, DT_F64) == 0.1);
  assert_true(scalar_round((Scalar){.f = 0.1}, DT_F16, INTERP_F64).f == 0.1);
  /* every f16 is itself, and what lies between two of them goes to one of them */
  for (int e = -24; e < 5; e++)
    for (int m = 1024; m < 2048; m += 7) {
      double v = ldexp(m, e);
      if (fabs(v) > 65504) continue;
      assert_true(rounded(v, DT_F16) == v);
      assert_true(rounded(v * (1 + 0x1p-14), DT_F16) == v);
    }
}

static void stores_wait_for_the_end(void **state) {
  Rig r = rig_new(INTERP_DTYPE, 0);
  const Type *t = rig_type(&r, "f32[2]");
  interp_free(r.it);
  int a = module_add_global(r.m, (Global){.kind = GLOBAL_STATE, .path = "a", .type = t});
  int b = module_add_global(r.m, (Global){.kind = GLOBAL_STATE, .path = "b", .type = t});
  int lr = module_add_global(
      r.m,
      (Global){.kind = GLOBAL_HYPER, .path = "lr", .type = rig_type(&r, "f32[]"), .value = 0.1});
  r.it = interp_new(r.m, INTERP_DTYPE, 0);
  assert_true(r.it->globals[lr].at[0].f == 0.1f);
  r.it->globals[a].at[0].f = 1;
  r.it->globals[b].at[1].f = 2;
  Entry *e = entry_new(r.m, "swap", (Loc){0}); /* a, b = b, a; returns a as it was */
  Builder *k = builder_new(e, e->body);
  ValueId va = build_load(k, a), vb = build_load(k, b);
  build_store(k, a, vb);
  build_store(k, b, va);
  build_return(k, &va, (const char *[]){"a"}, 1);
  Tensor out;
  for (int run = 0; run < 3; run++) assert_true(interp_run(r.it, e, NULL, &out));
  assert_true(r.it->globals[a].at[0].f == 0 && r.it->globals[a].at[1].f == 2);
  assert_true(r.it->globals[b].at[0].f == 1 && r.it->globals[b].at[1].f == 0);
  assert_true(out.at[0].f == 1);
  rig_free(&r);
}

static void a_fault_stores_nothing(void **state) {
  Rig r = rig_new(INTERP_DTYPE, 0);
  interp_free(r.it);
  const Type *t = rig_type(&r, "f32[2]");
  int a = module_add_global(r.m, (Global){.kind = GLOBAL_STATE, .path = "a", .type = t});
  r.it = interp_new(r.m, INTERP_DTYPE, 0);
  Entry *e = entry_new(r.m, "look", (Loc){0});
  ValueId ids = entry_add_input(e, "ids", rig_type(&r, "i32[2]"));
  Builder *b = builder_new(e, e->body);
  build_store(b, a, build_const(b, t, 1));
  ValueId y = build2(b, OP_GATHER, build_load(b, a), ids);
  build_return(b, &y, (const char *[]){"y"}, 1);
  Tensor out, x = rig_tensor(&r, rig_type(&r, "i32[2]"), (double[]){0, 2});
  assert_false(interp_run(r.it, e, &x, &out));
  assert_string_equal(r.it->why, "id 2 at position 1 is not in a table of 2 rows");
  assert_true(r.it->globals[a].at[0].f == 0);
  x.at[1].i = 1; /* the interpreter goes on after a fault */
  assert_true(interp_run(r.it, e, &x, &out));
  assert_true(out.at[0].f == 0 && r.it->globals[a].at[0].f == 1);
  rig_free(&r);
}

static void kernels_run_their_block(void **state) {
  Rig r = rig_new(INTERP_DTYPE, 0);
  const Type *t = rig_type(&r, "f32[2]");
  Entry *e = entry_new(r.m, "fused", (Loc){0});
  ValueId x = entry_add_input(e, "x", t), w = entry_add_input(e, "w", t);
  Builder *b = builder_new(e, e->body);
  Op *kernel = build_op(b, OP_KERNEL, (ValueId[]){w, x}, 2, NULL, (const Type *[]){t, t}, 2);
  Block *in = kernel->blocks[0];
  for (int i = 0; i < 2; i++) block_add_arg(e, in, (Value){.type = t});
  builder_at(b, in);
  ValueId p = build2(b, OP_SUB, in->args.at[0], in->args.at[1]);
  ValueId q = build2(b, OP_MUL, p, p);
  build_op(b, OP_YIELD, (ValueId[]){q, p}, 2, NULL, NULL, 0);
  builder_at(b, e->body);
  build_return(b, kernel->results, (const char *[]){"q", "p"}, 2);
  Tensor out[2], v[2] = {rig_tensor(&r, t, (double[]){1, 2}), rig_tensor(&r, t, (double[]){5, 9})};
  assert_true(interp_run(r.it, e, v, out));
  assert_true(out[0].at[0].f == 16 && out[0].at[1].f == 49);
  assert_true(out[1].at[0].f == 4 && out[1].at[1].f == 7);
  rig_free(&r);
}

/* h' = 2 h + x and s' = s + i, stacking h, forwards and backwards. */
static void loops_carry_slice_and_stack(void **state) {
  (void)state;
  for (int reverse = 0; reverse < 2; reverse++) {
    Rig r = rig_new(INTERP_DTYPE, 0);
    const Type *row = rig_type(&r, "f32[2]"), *all = rig_type(&r, "f32[3,2]");
    const Type *count = rig_type(&r, "i32[]");
    Entry *e = entry_new(r.m, "loop", (Loc){0});
    ValueId h = entry_add_input(e, "h", row), s = entry_add_input(e, "s", count);
    ValueId x = entry_add_input(e, "x", all);
    Builder *b = builder_new(e, e->body);
    Attr attr[MAX_ATTRS] = {
        [AT_TRIPS] = {.i = 3}, [AT_CARRIES] = {.i = 2}, [AT_REVERSE] = {.i = reverse}};
    Op *scan =
        build_op(b, OP_SCAN, (ValueId[]){h, s, x}, 3, attr, (const Type *[]){row, count, all}, 3);
    Block *in = scan->blocks[0];
    ValueId i = block_add_arg(e, in, (Value){.type = count});
    h = block_add_arg(e, in, (Value){.type = row});
    s = block_add_arg(e, in, (Value){.type = count});
    x = block_add_arg(e, in, (Value){.type = row});
    builder_at(b, in);
    ValueId next = build2(b, OP_ADD, build2(b, OP_ADD, h, h), x);
    build_op(b, OP_YIELD, (ValueId[]){next, build2(b, OP_ADD, build2(b, OP_ADD, s, s), i), h}, 3,
             NULL, NULL, 0);
    builder_at(b, e->body);
    build_return(b, scan->results, (const char *[]){"h", "s", "hs"}, 3);
    vec_push(r.m->arena, &r.m->entries, e);
    assert_true(module_verify(r.m, NULL));
    Tensor out[3],
        v[3] = {rig_tensor(&r, row, (double[]){1, 2}), rig_tensor(&r, count, (double[]){5}),
                rig_tensor(&r, all, (double[]){1, 0, 3, 1, 4, 2})};
    assert_true(interp_run(r.it, e, v, out));
    double h0 = reverse ? ((2 * 1 + 4) * 2 + 3) * 2 + 1 : ((2 * 1 + 1) * 2 + 3) * 2 + 4;
    assert_true(out[0].at[0].f == h0);
    assert_int_equal(out[1].at[0].i,
                     reverse ? ((5 * 2 + 2) * 2 + 1) * 2 : ((5 * 2) * 2 + 1) * 2 + 2);
    assert_true(out[2].at[reverse ? 4 : 0].f == 1 && out[2].at[2].f == (reverse ? 6 : 3));
    rig_free(&r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_op_by_hand),        cmocka_unit_test(narrow_floats_round_to_even),
      cmocka_unit_test(stores_wait_for_the_end), cmocka_unit_test(a_fault_stores_nothing),
      cmocka_unit_test(kernels_run_their_block), cmocka_unit_test(loops_carry_slice_and_stack),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
