#!/usr/bin/env python3
"""Makes formats/onnx-contrib.*: operators of com.microsoft, as ONNX Runtime runs them.

Needs onnx (1.23.2), onnxruntime (1.31.1) from PyPI. Models are text (tests/tools/onnxtext.py); shapes are those of every tensor in a run
with zeros. Operators without a CPU kernel are reported and left out.
"""
import pathlib
import sys
import tempfile

import numpy
import onnx
import onnxruntime

import listing

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "tools"))
import onnxtext  # noqa: E402

HEAD = "opset 17\nopset com.microsoft 1\n"
TYPES = {"tensor(float)": numpy.float32, "tensor(int64)": numpy.int64, "tensor(int32)": numpy.int32, "tensor(uint8)": numpy.uint8, "tensor(int8)": numpy.int8,
         "tensor(float16)": numpy.float16, "tensor(bool)": numpy.bool_}

# name: (lines of the model, expected multiply-adds if they are compared)
MODELS = {
    "attention": ("input x float32[2,5,12]\ninput w float32[12,36]\ninput b float32[36]\ninput past float32[2,2,3,4,4]\ny = com.microsoft.Attention(x, w, b) num_heads=3\nz, p = com.microsoft.Attention(x, w, b, , past) num_heads=3\noutput y\noutput z\noutput p", None),
    "attention-sizes": ("input x float32[2,5,12]\ninput w float32[12,32]\ninput b float32[32]\ny = com.microsoft.Attention(x, w, b) num_heads=2 qkv_hidden_sizes=[8,8,16]\noutput y", None),
    "multi-head": ("input q float32[2,5,12]\ninput k float32[2,7,12]\ninput v float32[2,7,18]\ny = com.microsoft.MultiHeadAttention(q, k, v) num_heads=3\nz, pk, pv = com.microsoft.MultiHeadAttention(q, k, v) num_heads=3\noutput y\noutput z\noutput pk\noutput pv", None),
    "grouped": ("input q float32[1,3,32]\ninput k float32[1,3,16]\ninput v float32[1,3,16]\ninput pk float32[1,2,4,8]\ninput pv float32[1,2,4,8]\ninit lengths int32[1](6)\ninit total int32[](7)\ny, nk, nv = com.microsoft.GroupQueryAttention(q, k, v, pk, pv, lengths, total) num_heads=4 kv_num_heads=2\noutput y\noutput nk\noutput nv", None),
    "gelus": ("input x float32[2,5,12]\ninput b float32[12]\na = com.microsoft.FastGelu(x, b)\nc = com.microsoft.BiasGelu(x, b)\nd = com.microsoft.Gelu(x)\ne = com.microsoft.QuickGelu(x)\noutput a\noutput c\noutput d\noutput e", 0),
    "norms": ("input x float32[2,5,12]\ninput s float32[2,5,12]\ninit g float32[12]\ninit b float32[12]\na, , , m = com.microsoft.SkipLayerNormalization(x, s, g, b)\nc, , , n = com.microsoft.SkipSimplifiedLayerNormalization(x, s, g)\noutput a\noutput m\noutput c\noutput n", 0),
    "embed": ("input ids int32[2,5]\ninput segments int32[2,5]\ninput mask int32[2,5]\ninit words float32[30,12]\ninit places float32[9,12]\ninit kinds float32[2,12]\ninit g float32[12]\ninit b float32[12]\ny, m, s = com.microsoft.EmbedLayerNormalization(ids, segments, words, places, kinds, g, b, mask)\noutput y\noutput m", 0),
    "fused": ("input x float32[2,6,13,11]\ninput m float32[5,7]\ninit w float32[10,6,3,2]\ninit b float32[10]\ninit g float32[9,7]\ny = com.microsoft.FusedConv(x, w, b) activation=\"Relu\" strides=[2,1] pads=[1,0,2,1]\nz = com.microsoft.FusedGemm(m, g) transB=1 activation=\"Relu\"\noutput y\noutput z", None),
    "fused-matmul": ("input a float32[3,5,7]\ninput b float32[3,5,4]\ny = com.microsoft.FusedMatMul(a, b) transA=1 alpha=0.5\nz = com.microsoft.FusedMatMul(a, a) transB=1\nw = com.microsoft.FusedMatMul(a, b) transA=1\noutput y\noutput z\noutput w", 3 * 7 * 4 * 5 * 2 + 3 * 5 * 5 * 7),
    "nbits": ("input x float32[2,5,32]\ninit w uint8[12,2,8]\ninit s float32[24]\ny = com.microsoft.MatMulNBits(x, w, s) K=32 N=12 bits=4 block_size=16\noutput y", 2 * 5 * 32 * 12),
    "quantized": ("input x uint8[2,6,13,11]\ninit s float32[](0.5)\ninit z uint8[](3)\na = com.microsoft.QLinearAdd(x, s, z, x, s, z, s, z)\nb = com.microsoft.QLinearMul(x, s, z, x, s, z, s, z)\nc = com.microsoft.QLinearLeakyRelu(x, s, z, s, z)\nd = com.microsoft.QLinearSigmoid(x, s, z, s, z)\ne = com.microsoft.QLinearAveragePool(x, s, z, s, z) kernel_shape=[3,2] strides=[2,1] ceil_mode=1\nf = com.microsoft.QLinearGlobalAveragePool(x, s, z, s, z)\ng = com.microsoft.QLinearConcat(s, z, x, s, z, x, s, z) axis=1\noutput a\noutput b\noutput c\noutput d\noutput e\noutput f\noutput g", 0),
    "quantized-softmax": ("input x uint8[2,6]\ninit s float32[](0.5)\ninit z uint8[](3)\ny = com.microsoft.QLinearSoftmax(x, s, z, s, z) axis=-1 opset=13\noutput y", 0),
    "quantized-products": ("input x float32[2,5,12]\ninput q uint8[5,12]\ninit w uint8[12,9]\ninit s float32[](0.5)\ninit z uint8[](3)\na = com.microsoft.DynamicQuantizeMatMul(x, w, s, z)\nb = com.microsoft.MatMulIntegerToFloat(q, w, s, s, z, z)\nc = com.microsoft.QGemm(q, s, z, w, s, z, , s, z)\noutput a\noutput b\noutput c", 2 * 5 * 12 * 9 + 2 * 5 * 12 * 9),
    "moves": ("input x float32[2,6,13,11]\ninput m float32[6,8]\ninit k int64[](1)\ninit axis int32[](-2)\ninit pads int64[8](0,0,1,0,0,1,0,2)\ninit places int64[3,2](0,1,1,2,1,5)\na = com.microsoft.Trilu(m, k)\nb = com.microsoft.ExpandDims(x, axis)\nc = com.microsoft.Pad(x, pads)\nd = com.microsoft.GatherND(x, places)\ne = com.microsoft.CDist(m, m) metric=\"euclidean\"\nf = com.microsoft.Inverse(m8)\ninput m8 float32[3,4,4]\noutput a\noutput b\noutput c\noutput d\noutput e\noutput f", None),
    "rotary": ("input x float32[2,5,12]\ninput p int64[2,5]\ninit c float32[9,2]\ninit s float32[9,2]\ny = com.microsoft.RotaryEmbedding(x, p, c, s) num_heads=3 rotary_embedding_dim=4\noutput y", 0),
    "unfold": ("input x float32[2,6,13]\ny = com.microsoft.UnfoldTensor(x) dim=-1 size=4 step=3\noutput y", 0),
    "pool": ("input x float32[2,6,13,11]\ninput m int32[2,6,13,11]\ny = com.microsoft.MaxpoolWithMask(x, m) kernel_shape=[3,2] strides=[2,1] pads=[1,0,1,1]\noutput y", 0),
    "crop": ("input x float32[2,6,13,11]\ninput r float32[5,4]\ninput i int32[5]\ninit size int32[2](4, 3)\ny = com.microsoft.CropAndResize(x, r, i, size)\noutput y", 0),
    "hash": ("input x int32[2,3]\ny = com.microsoft.MurmurHash3(x)\noutput y", 0),
    "moe": ("input x float32[6,8]\ninput r float32[6,4]\ninit a float32[4,16,8]\ninit b float32[4,8,16]\ny = com.microsoft.MoE(x, r, a, , b) k=2 activation_type=\"relu\"\noutput y", None),
    "time": ("input x float32[2,3,8,2]\ny = com.microsoft.Irfft(x) normalized=0 onesided=1 signal_ndim=1\nw = com.microsoft.Rfft(y) normalized=0 onesided=1 signal_ndim=1\noutput y\noutput w", 0),
    "gathered": ("input i int64[2,3]\ninit w uint8[8,16]\ninit s float32[8,1]\ny = com.microsoft.GatherBlockQuantized(w, i, s) block_size=32 gather_axis=0 quantize_axis=1 bits=4\noutput y", 0),
    "sparse": ("input x float32[2,4,6]\ninput ids int32[2,5]\ninput scores float32[2,9]\ninput tokens int64[2,5]\ny = com.microsoft.NGramRepeatBlock(tokens, scores) ngram_size=3\noutput y", 0),
    "bifurcation": ("input s int64[6]\ninput c int64[4]\ninput p int64[1]\ny, n = com.microsoft.BifurcationDetector(s, c, p)\noutput n", 0),
    "bias-split": ("input x float32[2,5,20]\ninput b float32[20]\ny = com.microsoft.BiasSplitGelu(x, b)\noutput y", 0),
    "positions": ("init t float32[32,4]\ninit q int64[](5)\ny = com.microsoft.RelativePositionBias(t, q, q) max_distance=128 is_bidirectional=1\noutput y", 0),
    "gated": ("input q float32[2,5,12]\ninput qb float32[12]\ninput r float32[1,3,5,5]\ninput w float32[4,8]\ninput b float32[8]\ninput e float32[1,3,1,1]\ny = com.microsoft.GatedRelativePositionBias(q, qb, r, w, b, e) num_heads=3\noutput y", None),
    "nhwc": ("input x int8[2,13,11,6]\ny = com.microsoft.NhwcMaxPool(x) kernel_shape=[3,2] strides=[2,1] pads=[1,0,1,1]\noutput y", 0),
    "lstm": ("input x float32[5,2,7]\ninit w int8[1,7,16]\ninit r int8[1,4,16]\ninit b float32[1,32]\ninit s float32[1]\ninit z int8[1]\ny, h, c = com.microsoft.DynamicQuantizeLSTM(x, w, r, b, , , , , s, z, s, z) hidden_size=4\noutput y\noutput h\noutput c", None),
}

# ONNX Runtime has no CPU kernel for these: shapes are those of its documentation (docs/ContribOperators.md).
DOCUMENTED = {
    "time": ["float32[2,3,14]", "float32[2,3,8,2]"],
    "bias-split": ["float32[2,5,10]"],
    "positions": ["float32[1,4,5,5]"],
    "gated": ["float32[2,3,5,5]"],
    "bias-softmax": ["float32[6,8]"],
    "packed": ["float32[9,12]"],
    "dropout": ["float32[2,5,12]", "bool[2,5,12]"],
    "decoder": ["float32[4,2,12]"],
    "longformer": ["float32[2,8,12]"],
    "group-norm": ["float32[2,5,7,6]", "float32[2,5,7,6]"],
    "complex": ["float32[2,5,2]", "float32[2,5,2]"],
    "transposed": ["float32[3,7,4]"],
    "nhwc-conv": ["float32[2,7,11,10]"],
    "gradients": ["float32[2,5,12]"] * 4,
}
MODELS |= {
    "bias-softmax": ("input m float32[6,8]\nb = com.microsoft.BiasSoftmax(m, m) axis=1 is_inner_broadcast=0\noutput b", 0),
    "packed": ("input x float32[9,12]\ninit w float32[12,36]\ninit b float32[36]\ninput o int32[2,6]\ninput c int32[3]\ny = com.microsoft.PackedAttention(x, w, b, o, c) num_heads=3\noutput y", None),
    "dropout": ("input x float32[2,5,12]\ninit b float32[12]\ny, m = com.microsoft.BiasDropout(x, b)\noutput y\noutput m", 0),
    "decoder": ("input q float32[4,2,12]\ninput k float32[6,2,12]\ninit w float32[12,12]\ninit kv float32[12,24]\ninit b float32[36]\ninput p bool[2,6]\ninit t bool[](1)\ninit f bool[](0)\ny = com.microsoft.DecoderAttention(q, k, w, kv, b, p, , , t, f, f, f) num_heads=3\noutput y", None),
    "longformer": ("input x float32[2,8,12]\ninit w float32[12,36]\ninit b float32[36]\ninput m float32[2,8]\ninit gw float32[12,36]\ninit gb float32[36]\ninput g int32[2,8]\ny = com.microsoft.LongformerAttention(x, w, b, m, gw, gb, g) num_heads=3 window=4\noutput y", None),
    "group-norm": ("input x float32[2,5,7,6]\ninit g float32[6]\ny, s = com.microsoft.SkipGroupNorm(x, g, g, x) groups=3 activation=1 channels_last=1\noutput y\noutput s", 0),
    "complex": ("input x float32[2,5,2]\na = com.microsoft.ComplexMul(x, x)\nb = com.microsoft.ComplexMulConj(x, x)\noutput a\noutput b", 0),
    "transposed": ("input a float32[3,5,7]\ninput b float32[3,5,4]\ny = com.microsoft.TransposeMatMul(a, b) transA=1\noutput y", 3 * 7 * 4 * 5),
    "nhwc-conv": ("input x float32[2,13,11,6]\ninit w float32[10,3,2,6]\ny = com.microsoft.NhwcConv(x, w) strides=[2,1] pads=[1,0,1,1]\noutput y", 2 * 7 * 11 * 10 * 36),
    "gradients": ("input x float32[2,5,12]\ninit b float32[12]\na = com.microsoft.GeluGrad(x, x)\nc = com.microsoft.FastGeluGrad(x, x)\nd = com.microsoft.BiasGeluGrad_dX(x, x, b)\ne = com.microsoft.ReluGrad(x, x)\noutput a\noutput c\noutput d\noutput e", 0),
}


def run(data):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    feed = {given.name: numpy.zeros(given.shape, TYPES[given.type]) for given in session.get_inputs()}
    for name, value in feed.items():
        if name == "m8":
            value[:] = numpy.eye(4)
    return session.run(None, feed)


def with_zeros(model):
    """Gives zeros to weights without data, so that the file can be run."""
    for tensor in model.graph.initializer:
        if tensor.external_data:
            dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
            zeros = onnx.numpy_helper.from_array(numpy.zeros(tuple(tensor.dims), dtype), tensor.name)
            tensor.CopyFrom(zeros)
    return model


def main():
    entries = []
    with tempfile.TemporaryDirectory() as directory:
        for name, (text, macs) in MODELS.items():
            model = with_zeros(onnx.load_from_string(onnxtext.model(HEAD + text)))
            data = model.SerializeToString()
            try:
                results = [listing.tensor(result.dtype, result.shape) for result in run(data)]
            except Exception as error:
                if name not in DOCUMENTED:
                    print(f"{name}: {str(error)[:250]}")
                    continue
                results = DOCUMENTED[name]
            pathlib.Path(directory, f"{name}.onnx").write_bytes(data)
            entry = {"file": f"{name}.onnx", "outputs": results, "predict": "no" if name == "bifurcation" else "together"}
            entries.append(entry | ({} if macs is None else {"macs": macs}))
        listing.write("onnx-contrib", f"onnxruntime {onnxruntime.__version__}; tests/models/make/onnx_contrib.py", entries, directory)


if __name__ == "__main__":
    main()
