#!/usr/bin/env python3
"""Makes MXNet symbols with most operators; MXNet's inference gives the shapes.

    python mxnet.py        needs mxnet 1.9.1 (with a numpy before 1.24, or as below); writes tests/models/formats/mxnet
"""
import json
import math
import pathlib
import sys

import numpy as np

# Excludes this directory, because this script has the package's name.
sys.path = [p for p in sys.path if pathlib.Path(p or ".").resolve() != pathlib.Path(__file__).resolve().parent]
np.bool = bool
import mxnet as mx  # noqa: E402
from mxnet import sym  # noqa: E402
sys.path.append(str(pathlib.Path(__file__).resolve().parent))
import listing  # noqa: E402

ORIGIN = f"mxnet {mx.__version__}: symbols, shapes and parameters by infer_shape; multiply-adds counted from the shapes of weights"


def var(name, *shape):
    return sym.Variable(name, shape=shape)


def images():
    x = var("data", 2, 6, 33, 27)
    a = sym.Convolution(x, kernel=(3, 5), stride=(2, 1), pad=(1, 0), dilate=(1, 2), num_filter=8, num_group=2, name="conv_a")
    a = sym.BatchNorm(a, name="bn_a")
    a = sym.Activation(a, act_type="softrelu", name="act_a")
    b = sym.Pooling(a, kernel=(3, 2), stride=(2, 2), pad=(1, 0), pool_type="max", pooling_convention="full", name="pool_full")
    c = sym.Pooling(a, kernel=(3, 2), stride=(2, 2), pad=(1, 0), pool_type="avg", pooling_convention="valid", name="pool_valid")
    s = sym.Pooling(a, kernel=(3, 3), stride=(2, 2), pool_type="sum", pooling_convention="full", name="pool_sum")
    d = sym.Deconvolution(b, kernel=(4, 3), stride=(3, 2), pad=(1, 1), adj=(2, 1), num_filter=6, num_group=2, name="deconv_b")
    e = sym.Deconvolution(c, kernel=(2, 2), stride=(2, 2), num_filter=4, no_bias=False, name="deconv_c")
    e = sym.Convolution(e, kernel=(1, 1), num_filter=5, no_bias=True, name="conv_e")
    e = sym.LeakyReLU(e, act_type="prelu", name="prelu_e")
    e = sym.LeakyReLU(sym.LeakyReLU(sym.LeakyReLU(e, act_type="elu"), act_type="selu"), act_type="gelu")
    e = sym.LeakyReLU(e, act_type="leaky", slope=0.1)
    u = sym.UpSampling(e, scale=3, sample_type="nearest", name="up")
    g = sym.Pooling(u, kernel=(1, 1), global_pool=True, pool_type="avg", name="global_avg")
    h = sym.Pooling(s, kernel=(1, 1), global_pool=True, pool_type="max", name="global_max")
    f = sym.FullyConnected(sym.Flatten(d), num_hidden=7, name="fc_d")
    j = sym.FullyConnected(sym.Concat(sym.Flatten(g), sym.Flatten(h), f, dim=1, name="joined"), num_hidden=5, no_bias=True, name="fc_j")
    return [sym.SoftmaxOutput(j, name="softmax")]


def more_images():
    x = var("data", 1, 4, 20, 18)
    a = sym.contrib.AdaptiveAvgPooling2D(x, output_size=(5, 6), name="adaptive")
    b = sym.contrib.BilinearResize2D(x, height=7, width=11, name="resized")
    c = sym.contrib.BilinearResize2D(x, b, mode="like", name="like")
    d = sym.LRN(x, nsize=3, name="lrn")
    e = sym.L2Normalization(d, mode="channel", name="l2")
    f = sym.InstanceNorm(e, name="instance")
    g = sym.GroupNorm(f, num_groups=2, name="group")
    h = sym.Crop(g, b, num_args=2, name="cropped")
    i = sym.pad(h, mode="constant", pad_width=(0, 0, 0, 0, 1, 2, 3, 4), constant_value=0, name="padded")
    k = sym.slice_like(i, b, axes=(-1, 2), name="slice_like")
    r = sym.ROIPooling(x, var("rois", 3, 5), pooled_size=(4, 2), spatial_scale=0.5, name="roi")
    r2 = sym.contrib.ROIAlign(x, var("rois_b", 3, 5), pooled_size=(3, 2), spatial_scale=0.5, name="align")
    v = sym.Convolution(var("volume", 1, 2, 5, 6, 7), kernel=(3, 2, 1), stride=(1, 2, 3), pad=(1, 1, 0), num_filter=3, name="conv3d")
    w = sym.Convolution(var("wave", 2, 3, 50), kernel=(7,), stride=(3,), pad=(2,), dilate=(2,), num_filter=4, name="conv1d")
    return [a, c, k, r, r2, v, w, sym.broadcast_mul(k, sym.Activation(sym.Pooling(k, kernel=(1, 1), global_pool=True, pool_type="avg"), act_type="sigmoid"))]


def tokens():
    ids = var("tokens", 3, 12)
    x = sym.Embedding(ids, input_dim=50, output_dim=16, name="embed")
    x = sym.LayerNorm(x, name="norm")
    q = sym.FullyConnected(x, num_hidden=16, flatten=False, name="q")
    k = sym.FullyConnected(x, num_hidden=16, flatten=False, no_bias=True, name="k")
    v = sym.FullyConnected(x, num_hidden=24, flatten=False, name="v")

    def heads(t):
        return sym.Reshape(sym.transpose(sym.Reshape(t, shape=(0, 0, -4, 4, -1)), axes=(0, 2, 1, 3)), shape=(-3, 0, 0))
    s = sym.batch_dot(sym.contrib.div_sqrt_dim(heads(q)), heads(k), transpose_b=True, name="scores")
    p = sym.softmax(s, axis=-1)
    y = sym.batch_dot(p, heads(v), name="mixed")
    y = sym.Reshape(sym.transpose(sym.Reshape(y, shape=(-4, -1, 4, 0, 0)), axes=(0, 2, 1, 3)), shape=(0, 0, -1), name="merged")
    z = sym.batch_dot(y, x, transpose_a=True, name="turned")
    t = sym.Reshape(y, shape=(-1, 0), reverse=True, name="reversed")
    m = sym.dot(t, var("matrix", 5, 24), transpose_b=True, name="product")
    g = sym.log_softmax(m, axis=0, name="logs")
    n = sym.SwapAxis(y, dim1=0, dim2=2, name="swapped")
    o = sym.Reshape(y, shape=(-2,), name="all")
    return [z, g, n, o]


def recurrent():
    outputs = []
    for mode, layers, both in (("lstm", 2, True), ("gru", 1, False), ("rnn_tanh", 2, False)):
        x = var(f"x_{mode}", 9, 2, 10)
        state = {"state_cell": var(f"c_{mode}", layers * (1 + both), 2, 6)} if mode == "lstm" else {}
        outputs.append(sym.RNN(x, state=var(f"h_{mode}", layers * (1 + both), 2, 6), state_size=6, num_layers=layers, bidirectional=both,
                               mode=mode, name=mode, **state))
    return outputs


def elements():
    a, b = var("a", 2, 5, 1), var("b", 2, 1, 7)
    outs = [getattr(sym, op)(a, b) for op in ("broadcast_add", "broadcast_sub", "broadcast_mul", "broadcast_div", "broadcast_maximum",
                                              "broadcast_minimum", "broadcast_power", "broadcast_equal", "broadcast_greater",
                                              "broadcast_greater_equal", "broadcast_lesser", "broadcast_lesser_equal")]
    x = sym.add_n(*outs, name="all")
    for op in ("abs", "cos", "sin", "erf", "exp", "floor", "ceil", "log", "negative", "reciprocal", "relu", "rint", "round", "sigmoid", "sign",
               "softsign", "sqrt", "tanh", "hard_sigmoid", "identity", "stop_gradient", "make_loss"):
        x = getattr(sym, op)(x, name="the_" + op)
    x = sym.clip(x, a_min=-1, a_max=2)
    x = (2 - (x + 1) * 3) / 4 ** 1
    x = 5 / (x - 2)
    x = x ** 2
    x = sym.maximum(sym.minimum(x, 3), 1)
    x = (x > 1) + (x < 2) + (x >= 1) + (x <= 2) + (x == 1)
    x = (x > sym.ones_like(x)) + (x < sym.zeros_like(x)) + sym.elemwise_add(x, x) - sym.elemwise_mul(x, x)
    x = sym.where(x, x, x * 2)
    x = sym.Activation(sym.Activation(sym.Activation(x, act_type="relu"), act_type="tanh"), act_type="softsign")
    return [sym.Cast(x, dtype="float16", name="half"), sym.Cast(x, dtype="int32", name="whole")]


def moves():
    x = var("x", 2, 3, 4, 6)
    parts = sym.split(x, num_outputs=3, axis=-1, name="parts")
    one = sym.SliceChannel(x, num_outputs=3, axis=1, squeeze_axis=True, name="ones")
    a = sym.slice_axis(x, axis=-1, begin=1, end=-2, name="axis_cut")
    b = sym.slice(x, begin=(None, 1, 3), end=(None, None, 0), step=(1, 1, -2), name="cut")
    c = sym.expand_dims(parts[1], axis=-1, name="expanded")
    d = sym.squeeze(sym.expand_dims(parts[0], axis=1), axis=1, name="squeezed")
    e = sym.stack(one[0], one[2], axis=1, name="stacked")
    f = sym.tile(e, reps=(2, 1, 3), name="tiled")
    g = sym.repeat(x, repeats=3, axis=2, name="repeated")
    g2 = sym.repeat(x, repeats=2, name="repeated_flat")
    h = sym.broadcast_axis(sym.sum(x, axis=(1, 3), keepdims=True, name="sums"), axis=(1, 3), size=(5, 2), name="spread")
    h2 = sym.broadcast_to(sym.mean(x, axis=1, keepdims=True), shape=(0, 7, 0, 0), name="wide")
    h3 = sym.broadcast_like(sym.max(x, axis=(0,), keepdims=True), x, name="alike")
    i = sym.reverse(x, axis=1, name="reversed")
    j = sym.transpose(x, name="turned")
    k = sym.take(x, var("index", 5, 2), axis=2, name="taken")
    l = sym.gather_nd(x, var("places", 2, 9), name="gathered")
    m = sym.min(x, axis=(0, 2), exclude=True, name="lowest")
    n = sym.prod(x, name="product")
    o = sym.norm(x, axis=(2, 3), name="length")
    p = sym.argmax(x, axis=2, name="best")
    q = sym.argmin(x, axis=1, keepdims=True, name="worst")
    r = sym.arange(start=3, stop=17, step=4, name="range")
    s = sym.zeros(shape=(3, 2), name="nothing") + sym.ones(shape=(3, 2), name="ones_made")
    t = sym.Reshape(x, shape=(0, -3, -1), name="back")
    return [parts[2], one[1], a, b, c, d, f, g, g2, h, h2, h3, i, j, k, l, m, n, o, p, q, r, s, t]


def macs_of(graph, shapes):
    total = 0
    for node in graph["nodes"]:
        name, op, attrs = node["name"], node["op"], node.get("attrs", {})
        inputs = [graph["nodes"][i[0]]["name"] + ("" if graph["nodes"][i[0]]["op"] == "null" else "_output") for i in node["inputs"]]
        if op in ("Convolution", "FullyConnected"):
            weight = shapes[inputs[1]]
            total += math.prod(shapes[name + "_output"]) * math.prod(weight[1:])
        elif op == "Deconvolution":
            total += math.prod(shapes[inputs[0]]) * math.prod(shapes[inputs[1]][1:])
        elif op in ("batch_dot", "dot"):
            shape = shapes[inputs[0]]
            total += math.prod(shapes[name + "_output"]) * shape[-2 if attrs.get("transpose_a") == "True" else -1]
    return total


def main():
    directory = listing.FORMATS / "mxnet"
    directory.mkdir(parents=True, exist_ok=True)
    entries = []
    for make in (images, more_images, tokens, recurrent, elements, moves):
        group = sym.Group(make())
        inner = group.get_internals()
        _, shapes, _ = inner.infer_shape()
        shapes = dict(zip(inner.list_outputs(), shapes))
        graph = json.loads(group.tojson())
        nodes = {n["name"]: n for n in graph["nodes"]}
        weights, _, _ = group.infer_shape()
        data = [n for n in group.list_arguments() if "__shape__" in nodes[n].get("attrs", {})]
        sizes = dict(zip(group.list_arguments(), weights))
        file = make.__name__ + "-symbol.json"
        (directory / file).write_text(json.dumps(graph, indent=None, separators=(",", ":")) + "\n")
        values = {n: listing.tensor("", s) for n, s in shapes.items() if n.endswith("_output") or "_output" in n}
        entry = {"file": file, "values": values, "params": sum(math.prod(s) for n, s in sizes.items() if n not in data and not n.endswith("_label"))}
        if make is not recurrent:
            entry["macs"] = macs_of(graph, shapes)
        entries.append(entry | {"predict": "together"})
    listing.write("mxnet", ORIGIN, entries)


if __name__ == "__main__":
    main()
