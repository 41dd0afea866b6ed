/* Shape rules: for every op a shape that fits, and for every reason the line that a user reads. */
#include "rig.h"

static const struct {
  OpKind kind;
  const char *operands, *given, *attrs;
  const char *want; /* a type, or the reason why not */
} rows[] = {
    {OP_ADD, "f32[2,3] f32[2,3]", NULL, NULL, "f32[2,3]"},
    {OP_ADD, "f32[] f32[]", NULL, NULL, "f32[]"},
    {OP_ADD, "u8[0] u8[0]", NULL, NULL, "u8[0]"},
    {OP_ADD, "f32[64,256] f32[256]", NULL, NULL,
     "add needs equal shapes: f32[64,256] against f32[256]"},
    {OP_ADD, "f32[4] i32[4]", NULL, NULL, "add needs equal dtypes: f32[4] against i32[4]"},
    {OP_ADD, "bool[4] bool[4]", NULL, NULL,
     "add needs numbers, not bool[4]: convert with f32(x) or i32(x)"},
    {OP_MAX, "bool[4] bool[4]", NULL, NULL, "bool[4]"},
    {OP_EXP, "bf16[7]", NULL, NULL, "bf16[7]"},
    {OP_EXP, "i32[7]", NULL, NULL, "exp needs floats, not i32[7]: convert with f32(x)"},
    {OP_DIV, "i64[7] i64[7]", NULL, NULL, "div needs floats, not i64[7]: convert with f32(x)"},
    {OP_NOT, "bool[2]", NULL, NULL, "bool[2]"},
    {OP_AND, "bool[2] f32[2]", NULL, NULL,
     "and needs bool, not f32[2]: compare first, as in x != 0"},
    {OP_CONVERT, "u8[3,4]", "f16[3,4]", NULL, "f16[3,4]"},
    {OP_CONVERT, "u8[3,4]", "f16[4,3]", NULL,
     "convert keeps the shape: u8[3,4] cannot become f16[4,3]"},
    {OP_LT, "i32[5] i32[5]", NULL, NULL, "bool[5]"},
    {OP_EQ, "bool[5] bool[5]", NULL, NULL, "bool[5]"},
    {OP_EQ, "u8[5] i32[5]", NULL, NULL, "eq needs equal dtypes: u8[5] against i32[5]"},
    {OP_WHERE, "bool[2] f32[2] f32[2]", NULL, NULL, "f32[2]"},
    {OP_WHERE, "bool[3] bool[3] bool[3]", NULL, NULL, "bool[3]"},
    {OP_WHERE, "f32[2] f32[2] f32[2]", NULL, NULL, "where needs a bool condition, not f32[2]"},
    {OP_WHERE, "bool[2] f32[2] f32[3]", NULL, NULL,
     "where needs equal shapes: f32[2] against f32[3]"},
    {OP_WHERE, "bool[1] f32[2] f32[2]", NULL, NULL,
     "where needs equal shapes: condition bool[1] against f32[2]"},
    {OP_EXP, "f32[2] f32[2]", NULL, NULL, "exp takes 1 operand, not 2"},

    {OP_CONST, "", "i64[2,2]", "7", "i64[2,2]"},
    {OP_CONST, "", NULL, "7", "const needs its type to be given"},
    {OP_IOTA, "", "i32[2,5]", "1", "i32[2,5]"},
    {OP_IOTA, "", "i32[2,5]", "2", "iota has no axis 2 in i32[2,5]"},
    {OP_IOTA, "", "i32[]", "0", "iota has no axis 0 in i32[]"},
    {OP_IOTA, "", "bool[5]", "0", "iota needs numbers, not bool[5]"},
    {OP_RANDOM_NORMAL, "", "f32[9]", "net.w", "f32[9]"},
    {OP_RANDOM_NORMAL, "", "i32[9]", "net.w", "random_normal gives floats, not i32[9]"},
    {OP_RANDOM_UNIFORM, "", "f32[9]", NULL, "random_uniform needs a key"},
    {OP_RANDOM_UNIFORM, "i32[]", "f32[9]", "k;1", "f32[9]"},
    {OP_RANDOM_UNIFORM, "i32[2]", "f32[9]", "k;1",
     "random_uniform takes nothing but the number of the draw, i32[]"},

    {OP_RESHAPE, "f32[2,6]", "f32[3,4]", NULL, "f32[3,4]"},
    {OP_RESHAPE, "f32[1,1]", "f32[]", NULL, "f32[]"},
    {OP_RESHAPE, "f32[2,6]", "f32[5]", NULL,
     "reshape keeps the number of elements: f32[2,6] has 12, f32[5] has 5"},
    {OP_RESHAPE, "f32[2]", "i32[2]", NULL, "reshape keeps the dtype: f32[2] cannot become i32[2]"},
    {OP_TRANSPOSE, "f32[2,3,4]", NULL, "2,0,1", "f32[4,2,3]"},
    {OP_TRANSPOSE, "f32[]", NULL, NULL, "f32[]"},
    {OP_TRANSPOSE, "f32[1,2,3,4,5,6,7,8,9]", NULL, "8,7,6,5,4,3,2,1,0", "f32[9,8,7,6,5,4,3,2,1]"},
    {OP_TRANSPOSE, "f32[2,3]", NULL, "0",
     "transpose needs a permutation of the 2 axes of f32[2,3], not 1 numbers"},
    {OP_TRANSPOSE, "f32[2,3]", NULL, "0,2", "transpose has no axis 2 in f32[2,3]"},
    {OP_TRANSPOSE, "f32[2,3]", NULL, "1,1", "transpose names axis 1 twice"},
    {OP_BROADCAST, "f32[3,1]", "f32[2,3,4]", NULL, "f32[2,3,4]"},
    {OP_BROADCAST, "f32[]", "f32[0,2]", NULL, "f32[0,2]"},
    {OP_BROADCAST, "f32[3]", "f32[3,4]", NULL,
     "broadcast cannot make f32[3] into f32[3,4]: axes are aligned at the right and extent 1 "
     "repeats"},
    {OP_BROADCAST, "f32[1,3]", "f32[3]", NULL,
     "broadcast cannot make f32[1,3] into f32[3]: axes are aligned at the right and extent 1 "
     "repeats"},
    {OP_SLICE, "f32[4,7]", "f32[2,3]", "1,2;1,2", "f32[2,3]"},
    {OP_SLICE, "f32[4]", "f32[0]", "4;1", "f32[0]"},
    {OP_SLICE, "f32[]", "f32[]", NULL, "f32[]"},
    {OP_SLICE, "f32[4,7]", "f32[2,3]", "1,3;1,2",
     "slice of 3 elements from 3 by 2 leaves axis 1 of f32[4,7]"},
    {OP_SLICE, "f32[4]", "f32[4]", "0;9223372036854775807",
     "slice of 4 elements from 0 by 9223372036854775807 leaves axis 0 of f32[4]"},
    {OP_SLICE, "f32[4]", "f32[2]", "0;0", "slice needs steps of at least 1, not 0, on axis 0"},
    {OP_SLICE, "f32[4]", "f32[2]", "-1;1", "slice needs starts of at least 0, not -1, on axis 0"},
    {OP_SLICE, "f32[4]", "f32[2]", "0,0;1", "slice needs as many starts as f32[4] has axes, not 2"},
    {OP_SLICE, "f32[4]", "f32[2,1]", "0;1", "slice keeps the rank: f32[4] cannot become f32[2,1]"},
    {OP_REVERSE, "f32[4,2]", NULL, "0,1", "f32[4,2]"},
    {OP_REVERSE, "f32[4,2]", NULL, "2", "reverse has no axis 2 in f32[4,2]"},
    {OP_PAD, "f32[3,2]", NULL, "0;1,0;2,0;1,0", "f32[8,2]"},
    {OP_PAD, "f32[0]", NULL, "0;1;1;5", "f32[2]"},
    {OP_PAD, "f32[3]", NULL, "0;-1;0;0", "pad needs lo counts of at least 0, not -1, on axis 0"},
    {OP_PAD, "f32[3]", NULL, "0;9223372036854775807;0;0", "pad makes axis 0 of f32[3] too long"},
    {OP_PAD, "f32[3]", NULL, "0;0;0",
     "pad needs as many interior counts as f32[3] has axes, not 0"},
    {OP_CONCAT, "f32[2,3] f32[2,1]", NULL, "1", "f32[2,4]"},
    {OP_CONCAT, "f32[2,3]", NULL, "0", "f32[2,3]"},
    {OP_CONCAT, "", NULL, "0", "concat needs at least one operand"},
    {OP_CONCAT, "f32[] f32[]", NULL, "0", "concat has no axis 0 in f32[]"},
    {OP_CONCAT, "f32[2,3] f32[3,3]", NULL, "1",
     "concat along axis 1 needs operands that agree elsewhere: f32[2,3] against f32[3,3]"},
    {OP_CONCAT, "f32[2] f64[2]", NULL, "0",
     "concat along axis 0 needs operands that agree elsewhere: f32[2] against f64[2]"},
    {OP_COPY, "u8[3]", NULL, NULL, "u8[3]"},
    {OP_STOP_GRADIENT, "f32[3]", NULL, NULL, "f32[3]"},

    {OP_SUM, "f32[2,3,5]", NULL, "0,2", "f32[3]"},
    {OP_SUM, "f32[]", NULL, NULL, "f32[]"},
    {OP_SUM, "f32[0]", NULL, "0", "f32[]"},
    {OP_SUM, "bool[3]", NULL, "0", "sum needs numbers, not bool[3]: convert with f32(x) or i32(x)"},
    {OP_SUM, "f32[2,3]", NULL, "1,0", "sum needs its axes in ascending order"},
    {OP_SUM, "f32[2,3]", NULL, "1,1", "sum names axis 1 twice"},
    {OP_SUM, "f32[2,3]", NULL, "-1", "sum has no axis -1 in f32[2,3]"},
    {OP_REDUCE_MAX, "bool[2,3]", NULL, "1", "bool[2]"},
    {OP_REDUCE_MAX, "f32[2,0]", NULL, "1", "reduce_max needs elements along axis 1 of f32[2,0]"},
    {OP_ARGMAX, "f32[2,3]", NULL, "1", "i32[2]"},
    {OP_ARGMIN, "f32[2,3]", NULL, "2", "argmin has no axis 2 in f32[2,3]"},
    {OP_ARGMAX, "f32[2,0]", NULL, "1",
     "argmax needs 1 to 2147483647 elements along axis 1 of f32[2,0]"},

    {OP_MATMUL, "f32[64,256] f32[256,10]", NULL, NULL, "f32[64,10]"},
    {OP_MATMUL, "f32[7,256,64] f32[7,10,256]", NULL, "1;1", "f32[7,64,10]"},
    {OP_MATMUL, "i32[2,0] i32[0,3]", NULL, NULL, "i32[2,3]"},
    {OP_MATMUL, "f16[2,4] f16[4,3]", NULL, "0;0;1", "f32[2,3]"},
    {OP_MATMUL, "f32[2,4] f32[4,3]", NULL, "0;0;1",
     "matmul is wide for f16 and bf16, not f32[2,4]"},
    {OP_MATMUL, "f32[2,4] f32[4,3]", NULL, "0;0;0;1", "f32[2,3]"},
    {OP_MATMUL, "f64[2,4] f64[4,3]", NULL, "0;0;0;1", "matmul has tf32 for f32, not f64[2,4]"},
    {OP_TF32, "f16[2]", NULL, NULL, "tf32 needs f32, not f16[2]: convert with f32(x)"},
    {OP_MATMUL, "f32[64,256] f32[128,10]", NULL, NULL,
     "matmul needs the inner dims to agree: 256 against 128, in f32[64,256] and f32[128,10]"},
    {OP_MATMUL, "f32[64,256] f32[256,10]", NULL, "0;1",
     "matmul needs the inner dims to agree: 256 against 10, in f32[64,256] and f32[256,10] "
     "transposed"},
    {OP_MATMUL, "f32[2,3,4] f32[5,4,6]", NULL, NULL,
     "matmul needs the leading dims to agree: f32[2,3,4] against f32[5,4,6]"},
    {OP_MATMUL, "f32[3,4] f32[4]", NULL, NULL,
     "matmul needs at least two axes: f32[3,4] against f32[4]"},
    {OP_MATMUL, "f32[3,4] f16[4,3]", NULL, NULL,
     "matmul needs equal dtypes: f32[3,4] against f16[4,3]"},
    {OP_MATMUL, "bool[3,4] bool[4,3]", NULL, NULL,
     "matmul needs numbers, not bool[3,4]: convert with f32(x)"},

    {OP_CONV, "f32[2,3,8,8] f32[4,3,3,3]", NULL, "2,2;1,1,1,1;1,1;1", "f32[2,4,4,4]"},
    {OP_CONV, "f64[2,6,9,7] f64[4,3,3,2]", NULL, "1,2;0,2,1,0;2,3;2", "f64[2,4,7,3]"},
    {OP_CONV, "f32[2,3,8,8] f32[4,3,3]", NULL, "1,1;0,0,0,0;1,1;1",
     "conv needs images [N, C, H, W] and filters [O, C / groups, KH, KW]: f32[2,3,8,8] against "
     "f32[4,3,3]"},
    {OP_CONV, "f32[2,3,8,8] f32[4,3,3,3]", NULL, "1;0,0,0,0;1,1;1",
     "conv needs 2 numbers for stride, not 1"},
    {OP_CONV, "f32[2,3,8,8] f32[4,3,3,3]", NULL, "1,0;0,0,0,0;1,1;1",
     "conv needs a stride of 1 to 2147483647, not 0"},
    {OP_CONV, "f32[2,3,8,8] f32[4,3,3,3]", NULL, "1,1;0,0,0,0;1,1;0",
     "conv needs at least 1 group, not 0"},
    {OP_CONV, "f32[2,3,8,8] f32[4,3,0,3]", NULL, "1,1;0,0,0,0;1,1;1",
     "conv needs filters with taps, not f32[4,3,0,3]"},
    {OP_CONV, "f32[2,3,8,8] f32[4,3,3,9]", NULL, "1,1;0,0,0,0;1,1;1",
     "conv has no room for a window of 9 columns, 1 apart, on 8 with padding 0 and 0"},
    {OP_CONV_INPUT_GRAD, "f32[2,4,4,4] f32[4,3,3,3]", "f32[2,3,8,8]", "2,2;1,1,1,1;1,1;1",
     "f32[2,3,8,8]"},
    {OP_CONV_INPUT_GRAD, "f32[2,4,4,5] f32[4,3,3,3]", "f32[2,3,8,8]", "2,2;1,1,1,1;1,1;1",
     "conv_input_grad to f32[2,3,8,8] needs the result of a convolution, f32[2,4,4,4], not "
     "f32[2,4,4,5]"},
    {OP_CONV_FILTER_GRAD, "f32[2,4,4,4] f32[2,3,8,8]", "f32[4,3,3,3]", "2,2;1,1,1,1;1,1;1",
     "f32[4,3,3,3]"},
    {OP_MAX_POOL, "u8[2,3,9,9]", NULL, "2,2;0,1,0,1;1,1;2,2", "u8[2,3,5,5]"},
    {OP_MAX_POOL, "f32[2,3,9]", NULL, "2,2;0,1,0,1;1,1;2,2",
     "max_pool needs images [N, C, H, W], not f32[2,3,9]"},
    {OP_MAX_POOL, "f32[1,1,1,1]", NULL, "1,1;1,1,0,0;2,1;2,1",
     "max_pool has windows of nothing but padding: 1 pixels, window 2, padding 1 and 1"},
    {OP_MAX_POOL_INDEX, "f32[2,3,9,9]", NULL, "1,1;0,0,0,0;1,1;2,2", "u8[2,3,8,8]"},
    {OP_MAX_POOL_INDEX, "f32[2,3,20,20]", NULL, "1,1;0,0,0,0;1,1;16,17", "i32[2,3,5,4]"},
    {OP_MAX_POOL_TAKE, "f32[2,3,9,9] u8[2,3,8,8]", NULL, "1,1;0,0,0,0;1,1;2,2", "f32[2,3,8,8]"},
    {OP_MAX_POOL_TAKE, "f32[2,3,9,9] i32[2,3,8,8]", NULL, "1,1;0,0,0,0;1,1;2,2",
     "max_pool_take of f32[2,3,9,9] needs indices u8[2,3,8,8], not i32[2,3,8,8]"},
    {OP_MAX_POOL_GRAD, "f32[2,3,8,8] u8[2,3,8,8]", "f32[2,3,9,9]", "1,1;0,0,0,0;1,1;2,2",
     "f32[2,3,9,9]"},
    {OP_MAX_POOL_GRAD, "f32[2,3,8,7] u8[2,3,8,8]", "f32[2,3,9,9]", "1,1;0,0,0,0;1,1;2,2",
     "max_pool_grad to f32[2,3,9,9] needs f32[2,3,8,8] and indices u8[2,3,8,8], not f32[2,3,8,7] "
     "and u8[2,3,8,8]"},
    {OP_AVG_POOL, "f16[2,3,9,9]", NULL, "3,3;0,0,0,0;0,0,0,0;3,3", "f16[2,3,3,3]"},
    {OP_AVG_POOL, "i32[2,3,9,9]", NULL, "3,3;0,0,0,0;0,0,0,0;3,3",
     "avg_pool needs floats, not i32[2,3,9,9]: convert with f32(x)"},
    {OP_AVG_POOL_GRAD, "f32[2,3,3,3]", "f32[2,3,9,9]", "3,3;0,0,0,0;0,0,0,0;3,3", "f32[2,3,9,9]"},
    {OP_AVG_POOL_GRAD, "f32[2,3,3,4]", "f32[2,3,9,9]", "3,3;0,0,0,0;0,0,0,0;3,3",
     "avg_pool_grad to f32[2,3,9,9] needs f32[2,3,3,3], not f32[2,3,3,4]"},
    {OP_VARIANCE, "f32[2,3,4]", NULL, "0,2", "f32[3]"},
    {OP_VARIANCE, "i32[2,3]", NULL, "0",
     "variance needs floats, not i32[2,3]: convert with f32(x)"},
    {OP_BATCH_NORM, "f32[2,3,4] f32[3] f32[3] f32[3]", NULL, NULL, "f32[2,3,4]"},
    {OP_BATCH_NORM, "f32[2,3,4] f32[3] f32[4] f32[3]", NULL, NULL,
     "batch_norm of f32[2,3,4] needs a scale of type f32[3], not f32[4]"},
    {OP_BATCH_NORM, "f32[3] f32[3] f32[3] f32[3]", NULL, NULL,
     "batch_norm needs x [N, C, ...], not f32[3]"},

    {OP_GATHER, "f32[100,16] i32[4,7]", NULL, NULL, "f32[4,7,16]"},
    {OP_GATHER, "u8[5] u8[]", NULL, NULL, "u8[]"},
    {OP_GATHER, "f32[5] f32[2]", NULL, NULL, "gather needs integer ids, not f32[2]"},
    {OP_GATHER, "f32[] i32[2]", NULL, NULL, "gather needs a table with rows, not f32[]"},
    {OP_GATHER, "f32[4,5,6,7] i32[4,2,3]", NULL, "1", "f32[4,2,3,6,7]"},
    {OP_GATHER, "f32[4,5] i32[4]", NULL, "1", "f32[4]"},
    {OP_GATHER, "f32[4,5] i32[3,2]", NULL, "1",
     "gather needs 1 equal leading axes: rows f32[4,5] against ids i32[3,2]"},
    {OP_GATHER, "f32[4,5] i32[4,5]", NULL, "2",
     "gather needs tables with rows behind 2 leading axes, not f32[4,5]"},
    {OP_GATHER, "f32[4,5] i32[4]", NULL, "-1",
     "gather needs -1 equal leading axes: rows f32[4,5] against ids i32[4]"},
    {OP_GATHER_GRAD, "f32[4,2,6] i32[4,2]", NULL, "5;1", "f32[4,5,6]"},
    {OP_GATHER_GRAD, "f32[4,2] i32[4]", NULL, "5;2",
     "gather_grad needs 2 equal leading axes: rows f32[4,2] against ids i32[4]"},
    {OP_ARGSORT, "f16[4,5]", NULL, "1", "i32[4,5]"},
    {OP_ARGSORT, "f32[]", NULL, NULL, "argsort needs a last axis, which f32[] has not"},
    {OP_CUMSUM, "f16[4,5]", NULL, "1;1", "f16[4,5]"},
    {OP_CUMSUM, "f32[]", NULL, "0", "cumsum has no axis 0 in f32[]"},
    {OP_CUMSUM, "bool[4]", NULL, "0",
     "cumsum needs numbers, not bool[4]: convert with f32(x) or i32(x)"},
    {OP_GATHER_GRAD, "f32[4,7,16] i32[4,7]", NULL, "100", "f32[100,16]"},
    {OP_GATHER_GRAD, "f32[4,7] i32[4,6]", NULL, "9",
     "gather_grad needs one row for every id: rows f32[4,7] against ids i32[4,6]"},
    {OP_GATHER_GRAD, "f32[4] i32[4]", NULL, "-1",
     "gather_grad needs a depth of at least 0, not -1"},
    {OP_ONE_HOT, "u8[3]", "f32[3,10]", "10", "f32[3,10]"},
    {OP_ONE_HOT, "u8[3]", "f32[3,10]", "9",
     "one_hot of ids u8[3] with depth 9 cannot give f32[3,10]"},
    {OP_ONE_HOT, "f32[3]", "f32[3,10]", "10", "one_hot needs integer ids, not f32[3]"},

    {OP_SOFTMAX, "f32[2,3]", NULL, NULL, "f32[2,3]"},
    {OP_SOFTMAX, "f32[]", NULL, NULL, "softmax needs elements along the last axis of f32[]"},
    {OP_SOFTMAX, "f32[3,0]", NULL, NULL, "softmax needs elements along the last axis of f32[3,0]"},
    {OP_SOFTMAX, "i32[3]", NULL, NULL, "softmax needs floats, not i32[3]: convert with f32(x)"},
    {OP_ATTENTION, "f32[2,4,5,8] f32[2,2,7,8] f32[2,2,7,3]", NULL, "1;0", "f32[2,4,5,3]"},
    {OP_ATTENTION, "f32[5,8] f32[7,9] f32[7,3]", NULL, "1;0",
     "attention needs queries and keys of one length: f32[5,8] against f32[7,9]"},
    {OP_ATTENTION, "f32[5,8] f32[7,8] f64[7,3]", NULL, "1;0",
     "attention needs queries, keys and values of one float dtype: f32[5,8], f32[7,8], f64[7,3]"},
    {OP_ATTENTION_GRAD, "f32[5,3] f32[5,8] f32[7,8] f32[7,3] f32[5] f32[5]", NULL, "1;0",
     "f32[5,8]"},
    {OP_ATTENTION_GRAD, "f32[5,3] f32[5,8] f32[7,8] f32[7,3] f32[5] f32[7]", NULL, "1;0",
     "attention_grad needs dy and numbers a row of queries f32[5,8]: f32[5,3], f32[5], f32[7]"},
    {OP_DROPOUT, "f32[3]", NULL, "0.5;k", "f32[3]"},
    {OP_DROPOUT, "f32[3] i32[3]", NULL, "0.5;k;2", "f32[3]"},
    {OP_DROPOUT, "f32[3] i32[2]", NULL, "0.5;k;2",
     "dropout needs the number of the draw as i32 in the shape of f32[3], not i32[2]"},
    {OP_DROPOUT, "f32[3]", NULL, "0;k", "dropout keeps more than 0 and at most 1"},
    {OP_DYNAMIC_UPDATE, "f32[4,3] f32[4,2] i64[]", NULL, "1", "f32[4,3]"},
    {OP_DYNAMIC_UPDATE, "f32[4,3] f32[3,2] i64[]", NULL, "1",
     "dynamic_update along axis 1 needs a part of f32[4,3], not f32[3,2]"},
    {OP_DYNAMIC_UPDATE, "f32[4,3] f32[4,2] f32[]", NULL, "1",
     "dynamic_update needs one integer as its start, not f32[]"},
    {OP_LAYER_NORM, "f32[2,3]", NULL, "1e-5", "f32[2,3]"},
    {OP_RMS_NORM, "i32[3]", NULL, "1e-5", "rms_norm needs floats, not i32[3]: convert with f32(x)"},
    {OP_LAYER_NORM_GRAD, "f32[2,3] f32[2,3] f32[2]", NULL, NULL, "f32[2,3]"},
    {OP_RMS_NORM_GRAD, "f32[2,3] f32[2,3] f32[3]", NULL, NULL,
     "rms_norm_grad needs one scale for every row: rows f32[2,3] against scales f32[3]"},
    {OP_SOFTMAX_GRAD, "f32[3] f32[3]", NULL, NULL, "f32[3]"},
    {OP_SOFTMAX_GRAD, "f32[3] f32[4]", NULL, NULL,
     "softmax_grad needs equal shapes: f32[3] against f32[4]"},
    {OP_XENT, "f32[64,10] u8[64]", NULL, NULL, "f32[64]"},
    {OP_XENT, "f32[10] i64[]", NULL, NULL, "f32[]"},
    {OP_XENT, "f32[64,10] f32[64]", NULL, NULL, "xent needs integer labels, not f32[64]"},
    {OP_XENT, "f32[64,10] u8[32]", NULL, NULL,
     "xent needs one label for every row: logits f32[64,10] against labels u8[32]"},
    {OP_XENT_GRAD, "f32[64] f32[64,10] u8[64]", NULL, NULL, "f32[64,10]"},
    {OP_XENT_GRAD, "f32[] f32[64,10] u8[64]", NULL, NULL,
     "xent_grad needs one gradient for every row: f32[] against logits f32[64,10]"},
};

static void rules_fit_and_explain(void **state) {
  Rig r = rig_new(INTERP_DTYPE, 0);
  bool seen[OP_KINDS] = {0};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const Type *types[8], *given = rows[i].given ? rig_type(&r, rows[i].given) : NULL;
    int n = 0;
    for (const char *s = rows[i].operands; (types[n] = rig_next_type(&r, &s));) n++;
    Attr attr[MAX_ATTRS];
    rig_attrs(&r, rows[i].kind, rows[i].attrs, given ? given->dtype : DT_F32, attr);
    char why[256];
    const Type *t = op_shape(r.c, rows[i].kind, types, n, attr, given, why);
    assert_string_equal(t ? type_str(r.c, t) : why, rows[i].want);
    seen[rows[i].kind] |= t != NULL;
  }
  /* element-wise ops share their rules; every other rule has a row of its own above */
  for (int k = 0; k < OP_KINDS; k++)
    if (!seen[k] && op_info[k].shape && op_info[k].cls != CLASS_ELEMENT && k != OP_LOAD) {
      bool shared = false;
      for (int j = 0; j < OP_KINDS; j++) shared |= seen[j] && op_info[j].shape == op_info[k].shape;
      if (!shared) fail_msg("no shape of %s is tested", op_info[k].name);
    }
  rig_free(&r);
}

/* More bytes than can be addressed is a reason, never a wrapped size. */
static void sizes_never_wrap(void **state) {
  Rig r = rig_new(INTERP_DTYPE, 0);
  char why[256];
  const Type *t[2] = {type_get(r.c, DT_F64, 2, (int64_t[]){1 << 30, 1}),
                      type_get(r.c, DT_F64, 2, (int64_t[]){1, INT64_C(1) << 50})};
  assert_null(op_shape(r.c, OP_MATMUL, t, 2, NULL, NULL, why));
  assert_string_equal(why, "matmul would give a tensor of more bytes than can be addressed");
  rig_free(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(rules_fit_and_explain),
                                     cmocka_unit_test(sizes_never_wrap)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
