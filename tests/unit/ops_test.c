/* ops_test.c: the operator table has every operator of the standard, and its rows are consistent. */
#include "graph/ops.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

/* All operator names in onnx 1.23, of any version: onnx.defs.get_all_schemas_with_history(). */
static const char STANDARD[] =
    "Abs Acos Acosh Add AffineGrid And ArgMax ArgMin Asin Asinh Atan Atanh Attention AveragePool "
    "BatchNormalization Bernoulli BitCast BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor "
    "BlackmanWindow Cast CastLike CausalConvWithState Ceil Celu CenterCropPad Clip Col2Im Compress "
    "Concat ConcatFromSequence Constant ConstantOfShape Conv ConvInteger ConvTranspose Cos Cosh "
    "CumProd CumSum DFT DeformConv DepthToSpace DequantizeLinear Det Div Dropout "
    "DynamicQuantizeLinear Einsum Elu Equal Erf Exp Expand EyeLike Flatten Floor GRU Gather "
    "GatherElements GatherND Gelu Gemm GlobalAveragePool GlobalLpPool GlobalMaxPool Greater "
    "GreaterOrEqual GridSample GroupNormalization HammingWindow HannWindow HardSigmoid HardSwish "
    "Hardmax Identity If ImageDecoder InstanceNormalization IsInf IsNaN LRN LSTM LayerNormalization "
    "LeakyRelu Less LessOrEqual LinearAttention Log LogSoftmax Loop LpNormalization LpPool MatMul "
    "MatMulInteger Max MaxPool MaxRoiPool MaxUnpool Mean MeanVarianceNormalization MelWeightMatrix "
    "Min Mish Mod Mul Multinomial Neg NegativeLogLikelihoodLoss NonMaxSuppression NonZero Not OneHot "
    "Optional OptionalGetElement OptionalHasElement Or PRelu Pad Pow QLinearConv QLinearMatMul "
    "QuantizeLinear RMSNormalization RNN RandomNormal RandomNormalLike RandomUniform "
    "RandomUniformLike Range Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax "
    "ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare RegexFullMatch Relu Reshape Resize "
    "ReverseSequence RoiAlign RotaryEmbedding Round STFT Scan Scatter ScatterElements ScatterND Selu "
    "SequenceAt SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength "
    "SequenceMap Shape Shrink Sigmoid Sign Sin Sinh Size Slice Softmax SoftmaxCrossEntropyLoss "
    "Softplus Softsign SpaceToDepth Split SplitToSequence Sqrt Squeeze StringConcat StringNormalizer "
    "StringSplit Sub Sum SwiGLU Swish Tan Tanh TensorScatter TfIdfVectorizer ThresholdedRelu Tile "
    "TopK Transpose Trilu Unique Unsqueeze Upsample Where Xor ";
static const char LEARNING[] =
    "ArrayFeatureExtractor Binarizer CastMap CategoryMapper DictVectorizer FeatureVectorizer Imputer "
    "LabelEncoder LinearClassifier LinearRegressor Normalizer OneHotEncoder SVMClassifier "
    "SVMRegressor Scaler TreeEnsemble TreeEnsembleClassifier TreeEnsembleRegressor ZipMap ";
static const char TRAINING[] = "Adagrad Adam Gradient Momentum ";
/* Experimental operators of the first operator sets, found in old files. */
static const char EXPERIMENTAL[] = "ATen Affine ConstantFill Crop DynamicSlice GRUUnit GivenTensorFill ImageScaler "
                                   "ParametricSoftplus Scale ScaledTanh ";

static int missing(const ops_index *index, const char *domain, const char *names)
{
    int count = 0;
    for (size_t length; *names; names += length + (names[length] == ' ')) {
        length = strcspn(names, " ");
        if (ops_find(index, str_of(domain), (str){names, length}))
            continue;
        fprintf(stderr, "no row for %s:%.*s\n", domain, (int)length, names);
        count++;
    }
    return count;
}

static void knows_the_standard(void **state)
{
    (void)state;
    fail f;
    arena a;
    arena_init(&a, &f, 1 << 20);
    const ops_index *index = ops_index_new(&a);
    assert_int_equal(missing(index, "", STANDARD), 0);
    assert_int_equal(missing(index, "ai.onnx", EXPERIMENTAL), 0);
    assert_int_equal(missing(index, "ai.onnx.ml", LEARNING), 0);
    assert_int_equal(missing(index, "ai.onnx.preview.training", TRAINING), 0);
    assert_null(ops_find(index, STR(""), STR("NoSuchOperator")));
    assert_null(ops_find(index, STR("ai.onnx.ml"), STR("Conv")));
    arena_free(&a);
}

static void rows_are_sound(void **state)
{
    (void)state;
    size_t count;
    const op_info *all = ops_all(&count);
    for (size_t i = 0; i < count; i++) {
        const op_info *op = &all[i];
        assert_non_null(op->shape);
        assert_true(op->min_inputs <= op->max_inputs && op->min_outputs <= op->max_outputs && op->max_outputs > 0);
        /* FLOPs per element need a rule that reads them. */
        assert_true(op->cost || op->flops_per_element == 0);
        for (size_t k = 0; k < i; k++)
            if (strcmp(all[k].name, op->name) == 0)
                assert_string_not_equal(all[k].domain, op->domain);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_the_standard),
        cmocka_unit_test(rows_are_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
