#!/usr/bin/env python3
"""Makes OpenVINO IR with the operators that Sooth maps. Input sizes are open in the files; OpenVINO gives the shapes
after a reshape.

    python openvino.py        needs openvino; writes tests/models/formats/openvino.zip
"""
import math
import pathlib
import sys
import tempfile

import numpy as np

# Excludes this directory, because this script has the package's name.
sys.path = [p for p in sys.path if pathlib.Path(p or ".").resolve() != pathlib.Path(__file__).resolve().parent]
import openvino as ov  # noqa: E402
import openvino.opset1 as o1  # noqa: E402
import openvino.opset8 as o8  # noqa: E402
import openvino.opset15 as o  # noqa: E402
sys.path.append(str(pathlib.Path(__file__).resolve().parent))
import listing  # noqa: E402

ORIGIN = f"openvino {ov.__version__.split('-')[0]}: shapes by reshape(); multiply-adds counted from the shapes of operands"
# Constants with these names are weights.
WEIGHT = "weight"


class Net:
    def __init__(self):
        self.inputs, self.sizes, self.outputs, self.params = [], {}, [], 0

    def input(self, name, shape, dtype="f32", open_dims=None):
        open_dims = range(len(shape)) if open_dims is None else open_dims
        p = o.parameter([-1 if i in open_dims else d for i, d in enumerate(shape)], getattr(ov.Type, dtype), name=name)
        p.get_output_tensor(0).set_names({name})
        self.inputs.append(p)
        self.sizes[name] = shape
        return p

    def weight(self, *shape):
        """Fills each weight with a number of its own, because OpenVINO merges operators that read equal constants."""
        self.params += math.prod(shape)
        return o.constant(np.full(shape, self.params, np.float32))

    def keep(self, *nodes):
        for node in nodes:
            self.outputs.append(node)
        return nodes[0]


def ints(*numbers):
    return o.constant(np.array(numbers, np.int64))


def images(n):
    x = n.input("x", [2, 6, 33, 27], open_dims=(0, 2, 3))
    a = o.convolution(x, n.weight(8, 6, 3, 5), [2, 1], [1, 0], [0, 2], [1, 2])
    a = o.add(a, n.weight(1, 8, 1, 1))
    b = o.group_convolution(a, n.weight(4, 3, 2, 3, 3), [1, 2], [0, 0], [0, 0], [1, 1], "same_upper")
    c = o.convolution(b, n.weight(7, 12, 1, 1), [1, 1], [0, 0], [0, 0], [1, 1], "valid")
    d = o.convolution_backprop_data(c, n.weight(7, 5, 4, 3), [3, 2], None, [1, 1], [2, 0], [1, 1], "explicit", [2, 1])
    e = o.group_convolution_backprop_data(b, n.weight(3, 4, 2, 2, 3), [2, 2], None, [0, 1], [1, 0], [1, 1], "explicit", [0, 1])
    f = o.max_pool(c, [2, 2], [1, 1], [1, 0], [0, 1], [3, 2], "ceil", "explicit", "i64", 0)
    g = o.avg_pool(c, [3, 2], [1, 0], [1, 1], [3, 3], True, "floor", "explicit")
    g2 = o.avg_pool(c, [2, 3], [0, 0], [0, 0], [3, 2], False, "ceil", "explicit")
    h = o1.max_pool(c, [2, 3], [0, 0], [0, 0], [3, 3], "floor", "same_lower")
    y = n.input("y", [2, 4, 13, 11], open_dims=(0,))
    i = o.adaptive_avg_pool(y, ints(4, 5))
    j = o.adaptive_max_pool(y, ints(3, 2), "i64")
    bn = o.batch_norm_inference(e, n.weight(6), n.weight(6), o.constant(np.zeros(6, np.float32)), o.constant(np.ones(6, np.float32)), 1e-3)
    k = o.prelu(bn, n.weight(6))
    n.keep(d, f.output(0), g, g2, h, i, j.output(0), k)


def more_images(n):
    x = n.input("x", [1, 8, 12, 18], open_dims=(0, 2, 3))
    a = o.depth_to_space(x, "blocks_first", 2)
    b = o.space_to_depth(x, "depth_first", 3)
    c = o.interpolate(x, ints(7, 11), "nearest", "sizes", [0, 0], [0, 0], "asymmetric", "floor", False, -0.75, ints(2, 3))
    d = o.interpolate(x, o.constant(np.array([1.5, 2.0], np.float32)), "linear_onnx", "scales", [0, 0], [0, 0], "half_pixel", "floor", False, -0.75, ints(2, 3))
    e = o.lrn(x, ints(1), 1, 1, 1, 3)
    f = o.mvn(e, ints(2, 3), True, 1e-6, "inside_sqrt")
    g = o.normalize_l2(f, ints(1), 1e-6, "add")
    h = o.group_normalization(g, n.weight(8), n.weight(8), 4, 1e-5)
    p = o.pad(h, ints(0, 0, 1, 2), ints(0, 0, 3, 4), "constant", o.constant(np.float32(0)))
    q = o.pad(p, ints(0, 0, 0, 2), ints(0, 0, 2, 0), "reflect")
    n.keep(a, b, c, d, q)
    v = n.input("volume", [1, 2, 5, 6, 7], open_dims=(0, 2, 3, 4))
    n.keep(o.convolution(v, n.weight(3, 2, 3, 2, 1), [1, 2, 3], [1, 1, 0], [1, 0, 0], [1, 1, 1]))
    w = n.input("wave", [2, 3, 50], open_dims=(0, 2))
    n.keep(o.convolution(w, n.weight(4, 3, 7), [3], [2], [1], [2]))


def tokens(n):
    x = n.input("tokens", [3, 12], "i64")
    table = n.weight(50, 16)
    t = o.gather(table, x, ints(0))
    m = o.mvn(t, ints(-1), True, 1e-5, "inside_sqrt")
    m = o.add(o.multiply(m, n.weight(1, 1, 16)), n.weight(1, 1, 16))
    q, k, v = (o.add(o.matmul(m, n.weight(w, 16), False, True), n.weight(1, 1, w)) for w in (16, 16, 24))

    def heads(t, width):
        return o.transpose(o.reshape(t, ints(0, 0, 4, width), True), ints(0, 2, 1, 3))
    s = o.softmax(o.matmul(heads(q, 4), heads(k, 4), False, True), -1)
    y = o.reshape(o.transpose(o.matmul(s, heads(v, 6), False, False), ints(0, 2, 1, 3)), ints(0, 0, -1), True)
    z = o.scaled_dot_product_attention(heads(q, 4), heads(k, 4), heads(v, 6), causal=False)
    n.keep(y, z, o.matmul(y, m, True, False), o.log_softmax(y, 1), o.einsum([y, m], "bti,btj->bij"), o8.softmax(y, -2))


def recurrent(n):
    b, t, i, h = 2, 9, 10, 6
    for kind, gates, both in (("lstm", 4, "bidirectional"), ("gru", 3, "forward"), ("rnn", 1, "reverse")):
        d = 2 if both == "bidirectional" else 1
        x = n.input(f"x_{kind}", [b, t, i], open_dims=(0, 1))
        state = o.constant(np.zeros((b, d, h), np.float32))
        lengths = ints(*[t] * b)
        w, r = n.weight(d, gates * h, i), n.weight(d, gates * h, h)
        if kind == "lstm":
            y = o.lstm_sequence(x, state, state, lengths, w, r, n.weight(d, gates * h), h, both)
        elif kind == "gru":
            y = o.gru_sequence(x, state, lengths, w, r, n.weight(d, (gates + 1) * h), h, both, linear_before_reset=True)
        else:
            y = o.rnn_sequence(x, state, lengths, w, r, n.weight(d, gates * h), h, both)
        n.keep(y.output(0))


def elements(n):
    a, b = n.input("a", [2, 5, 1]), n.input("b", [2, 1, 7])
    x = o.concat([getattr(o, op)(a, b) for op in ("add", "subtract", "multiply", "divide", "maximum", "minimum", "power", "floor_mod", "mod", "squared_difference")], -1)
    for op in ("absolute", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceiling", "cos", "cosh", "erf", "exp", "floor", "hsigmoid", "hswish", "log", "mish", "negative",
               "relu", "sigmoid", "sign", "sin", "sinh", "softplus", "softsign", "sqrt", "tan", "tanh"):
        x = getattr(o, op)(x)
    x = o.clamp(o.elu(o.gelu(o.swish(o.round(x, "half_to_even")), "erf"), 0.5), -1.0, 1.0)
    x = o.selu(x, o.constant(np.float32(1.6)), o.constant(np.float32(1.05)))
    x = o.gelu(x, "tanh")
    truths = [getattr(o, op)(a, b) for op in ("equal", "not_equal", "greater", "greater_equal", "less", "less_equal")]
    t = truths[0]
    for op, other in zip(("logical_and", "logical_or", "logical_xor"), truths[1:4]):
        t = getattr(o, op)(t, other)
    t = o.logical_or(o.logical_not(t), o.logical_and(truths[4], truths[5]))
    y = o.select(t, a, b)
    z = o.convert(y, "i32")
    z = o.bitwise_not(o.bitwise_xor(o.bitwise_or(o.bitwise_and(z, z), z), z))
    f = o.fake_quantize(x, o.constant(np.float32(0)), o.constant(np.float32(1)), o.constant(np.float32(0)), o.constant(np.float32(1)), 256)
    n.keep(f, z, o.convert_like(z, y), o.convert(x, "f16"), o.logical_and(o.is_inf(x), o.is_nan(x)), o.reduce_logical_and(t, ints(1), True), o.reduce_logical_or(t, ints(2), False))


def moves(n):
    x = n.input("x", [2, 3, 4, 6])
    index = n.input("index", [5, 2], "i64")
    parts = o.split(x, o.constant(np.int64(3)), 3)
    cut = o.variadic_split(x, o.constant(np.int64(-1)), ints(1, 2, -1))
    outs = [parts.output(2), cut.output(2),
            o.slice(x, ints(1, -1), ints(3, 0), ints(1, -2), ints(1, 3)),
            o.strided_slice(x, ints(0, 1, 0, 1), ints(0, 0, 2, -1), ints(1, 1, 1, 2), [1, 0, 0, 0], [1, 1, 0, 0]),
            o.strided_slice(x, ints(0, 0, 1), ints(0, 0, 2), ints(1, 1, 1), [1, 1, 0], [1, 1, 0], [0, 0, 0], [0, 0, 1], [0, 0, 0]),
            o.strided_slice(x, ints(0, 1, 0), ints(1, 2, 3), ints(1, 1, 1), [1, 0, 0], [1, 0, 0], [0, 0, 1], [0, 1, 0], [0, 0, 0]),
            o.strided_slice(x, ints(0, 1), ints(0, 3), ints(1, 1), [1, 0], [1, 0], [0, 0], [0, 0], [1, 0]),
            o.squeeze(o.unsqueeze(x, ints(1, -1)), ints(-1)), o.unsqueeze(x, ints(2)),
            o.tile(x, ints(2, 1, 3)), o.tile(x, ints(2, 1, 1, 1, 3)), o.transpose(x, ints(0, 2, 3, 1)), o.reshape(x, ints(0, -1, 6), True), o.reshape(x, ints(-1), False),
            o.broadcast(o.reduce_sum(x, ints(1, 3), True), ints(2, 5, 4, 7)), o.reduce_max(x, ints(-1), False),
            o.reduce_mean(x, ints(0, 2), False), o.reduce_min(x, ints(1), True), o.reduce_prod(x, ints(-2), False), o.reduce_l1(x, ints(2, 3), False), o.reduce_l2(x, ints(1), False),
            o.gather(x, index, o.constant(np.int64(2))), o.gather(x, n.input("rows", [2, 9], "i64"), o.constant(np.int64(1)), 1),
            o.gather_elements(x, n.input("places", [2, 3, 4, 2], "i64"), 3), o.gather_nd(x, index, 0), o.cum_sum(x, o.constant(np.int64(1))), o.roll(x, ints(1, 2), ints(0, 3)),
            o.one_hot(index, o.constant(np.int64(7)), o.constant(np.float32(1)), o.constant(np.float32(0)), 1), o.topk(x, o.constant(np.int64(2)), 1, "max", "value").output(1),
            o.shape_of(x), o.range(o.constant(np.int64(3)), o.constant(np.int64(17)), o.constant(np.int64(4)), "i64"),
            o.scatter_elements_update(x, n.input("where", [2, 3, 4, 2], "i64"), n.input("what", [2, 3, 4, 2]), o.constant(np.int64(3))),
            o.scatter_nd_update(x, index, n.input("new", [5, 4, 6]))]
    n.keep(*outs)


def macs_of(model):
    total = 0
    for op in model.get_ordered_ops():
        kind = op.get_type_name()
        if kind not in ("Convolution", "GroupConvolution", "ConvolutionBackpropData", "GroupConvolutionBackpropData", "MatMul", "Einsum"):
            continue
        out, first, second = list(op.output(0).shape), list(op.input(0).get_shape()), list(op.input(1).get_shape())
        if kind == "MatMul":
            total += math.prod(out) * first[-2 if op.get_attributes()["transpose_a"] else -1]
        elif kind == "Einsum":
            total += math.prod(out) * first[1]
        elif "Backprop" in kind:
            total += math.prod(first) * math.prod(second[2:] if kind.startswith("Group") else second[1:])
        else:
            total += math.prod(out) * math.prod(second[2:] if kind.startswith("Group") else second[1:])
    return total


def main():
    entries = []
    with tempfile.TemporaryDirectory() as directory:
        for make in (images, more_images, tokens, recurrent, elements, moves):
            n = Net()
            make(n)
            model = ov.Model([o.result(x) for x in n.outputs], n.inputs, make.__name__)
            ov.serialize(model, f"{directory}/{make.__name__}.xml")
            model.reshape({name: ov.PartialShape(shape) for name, shape in n.sizes.items()})
            arguments = [part for name, shape in n.sizes.items() for part in ("--shape", f"{name}={','.join(map(str, shape))}")]
            entry = {"file": make.__name__ + ".xml", "arguments": arguments,
                     "outputs": [listing.tensor("", r.input(0).get_shape()) for r in model.get_results()], "params": n.params}
            if make is tokens:
                entry["note"] = "scaled_dot_product_attention: two products of 3*4*12*12 scores by 4 and by 6"
                entry["macs"] = macs_of(model) + 3 * 4 * 12 * 12 * (4 + 6)
            elif make is not recurrent:
                entry["macs"] = macs_of(model)
            entries.append(entry)
            # The same with all sizes fixed and without the weights file, whose information follows from the declared
            # shapes.
            if make is moves:  # has repeats and axes that do not follow from shapes
                continue
            alone = f"{make.__name__}.alone.xml"
            ov.serialize(model, f"{directory}/{alone}")
            pathlib.Path(directory, alone).with_suffix(".bin").unlink()
            entries.append({key: value for key, value in entry.items() if key != "arguments"} | {"file": alone})
        listing.write("openvino", ORIGIN, entries, directory)


if __name__ == "__main__":
    main()
