#!/usr/bin/env python3
"""Makes CoreML models: programs (MIL) with the operators that Sooth maps, and networks in the older form, a list of
layers.

    python coreml.py        needs coremltools; writes tests/models/formats/coreml.zip
"""
import math
import os
import pathlib
import tempfile

import coremltools as ct
import numpy as np
from coremltools.converters.mil import Builder as mb
from coremltools.converters.mil.mil import types
from coremltools.models import datatypes
from coremltools.models.neural_network import NeuralNetworkBuilder

import listing

ORIGIN = f"coremltools {ct.__version__}: shapes by the types that its builder infers; networks of layers by its shape inference; multiply-adds counted from shapes"


class Weights:
    def __init__(self):
        self.params = 0

    def __call__(self, *shape):
        """Fills each weight with a number of its own, so that no pass merges equal weights."""
        self.params += math.prod(shape)
        return np.full(shape, self.params % 1000 + 1, np.float32)


def images(w, opset=ct.target.iOS18):
    old = opset == ct.target.iOS14  # some operators are not mapped in the old form, which has them as other layers
    @mb.program(input_specs=[mb.TensorSpec(shape=(2, 6, 33, 27))], opset_version=opset)
    def program(x):
        a = mb.conv(x=x, weight=w(8, 3, 3, 5), bias=w(8), strides=[2, 1], pad_type="custom", pad=[1, 0, 0, 2], dilations=[1, 2], groups=2)
        b = mb.conv(x=a, weight=w(12, 8, 3, 3), strides=[1, 2], pad_type="same")
        c = mb.conv(x=b, weight=w(7, 12, 2, 2), strides=[1, 1], pad_type="valid")
        d = mb.conv_transpose(x=c, weight=w(7, 5, 4, 3), strides=[3, 2], pad_type="custom", pad=[1, 1, 0, 0])
        e = mb.conv_transpose(x=b, weight=w(12, 2, 2, 3), bias=w(6), strides=[2, 2], pad_type="valid", groups=3)
        f = mb.max_pool(x=c, kernel_sizes=[3, 2], strides=[2, 2], pad_type="custom", pad=[1, 1, 0, 0], ceil_mode=True)
        g = mb.avg_pool(x=c, kernel_sizes=[3, 3], strides=[3, 2], pad_type="valid", exclude_padding_from_average=True)
        h = mb.max_pool(x=c, kernel_sizes=[3, 3], strides=[2, 3], pad_type="same")
        i = mb.batch_norm(x=e, mean=np.zeros(6, np.float32), variance=np.ones(6, np.float32), gamma=w(6), beta=w(6))
        j = mb.instance_norm(x=i, gamma=w(6), beta=w(6))
        k = mb.prelu(x=j, alpha=w(6) + np.arange(6, dtype=np.float32))
        l = mb.local_response_norm(x=k, size=3)
        m = mb.l2_pool(x=c, kernel_sizes=[2, 2], strides=[2, 2], pad_type="valid")
        return d, f, g, h, l, m
    return program


def more_images(w, opset=ct.target.iOS18):
    old = opset == ct.target.iOS14  # some operators are not mapped in the old form, which has them as other layers
    @mb.program(input_specs=[mb.TensorSpec(shape=(1, 8, 12, 18)), mb.TensorSpec(shape=(2, 3, 50))], opset_version=opset)
    def program(x, wave):
        a = mb.depth_to_space(x=x, block_size=2)
        b = mb.space_to_depth(x=x, block_size=3)
        c = mb.pixel_shuffle(x=x, upscale_factor=2)
        d = mb.upsample_nearest_neighbor(x=x, scale_factor_height=2, scale_factor_width=3)
        e = mb.upsample_bilinear(x=x, scale_factor_height=2.0, scale_factor_width=3.0 if old else 1.5)
        f = mb.resize_bilinear(x=x, target_size_height=7, target_size_width=11)
        g = mb.resize_nearest_neighbor(x=x, target_size_height=24 if old else 5, target_size_width=36 if old else 31)
        h = mb.pad(x=x, pad=[1, 2, 3, 4], mode="constant", constant_val=0.0)
        i = mb.pad(x=x, pad=[2, 1], mode="reflect")
        j = mb.conv(x=wave, weight=w(4, 3, 7), strides=[3], pad_type="custom", pad=[2, 1], dilations=[2])
        k = mb.identity(x=x) if old else mb.conv(x=mb.expand_dims(x=x, axes=[2]), weight=w(3, 8, 1, 2, 3), strides=[1, 2, 3], pad_type="valid")
        l = mb.l2_norm(x=x)
        m = mb.flatten2d(x=x, axis=2)
        return a, b, c, d, e, f, g, h, i, j, k, l, m
    return program


def tokens(w, opset=ct.target.iOS18):
    old = opset == ct.target.iOS14  # some operators are not mapped in the old form, which has them as other layers
    @mb.program(input_specs=[mb.TensorSpec(shape=(3, 12), dtype=types.int32)], opset_version=opset)
    def program(ids):
        x = mb.gather(x=w(50, 16), indices=ids, axis=0)
        x = mb.layer_norm(x=x, axes=[-1], gamma=w(16), beta=w(16))
        q, k = mb.linear(x=x, weight=w(16, 16), bias=w(16)), mb.linear(x=x, weight=w(16, 16), bias=w(16))
        v = mb.matmul(x=x, y=w(16, 24))

        def heads(t, width):
            return mb.transpose(x=mb.reshape(x=t, shape=[3, 12, 4, width]), perm=[0, 2, 1, 3])
        s = mb.softmax(x=mb.matmul(x=heads(q, 4), y=heads(k, 4), transpose_y=True), axis=-1)
        y = mb.reshape(x=mb.transpose(x=mb.matmul(x=s, y=heads(v, 6)), perm=[0, 2, 1, 3]), shape=[3, 12, -1])
        z = mb.matmul(x=y, y=x, transpose_x=True)
        e = mb.identity(x=z)
        return y, z, e
    return program


def recurrent(w, opset=ct.target.iOS18):
    old = opset == ct.target.iOS14  # some operators are not mapped in the old form, which has them as other layers
    @mb.program(input_specs=[mb.TensorSpec(shape=(9, 2, 10))], opset_version=opset)
    def program(x):
        zero, wide = np.zeros((2, 6), np.float32), np.zeros((2, 12), np.float32)
        # Each operator has its own input, because the converter names the layers that it adds after the input.
        y, z = mb.relu(x=x), mb.tanh(x=x)
        a, h, c = mb.lstm(x=x, initial_h=zero, initial_c=zero, weight_ih=w(24, 10), weight_hh=w(24, 6), bias=w(24), direction="forward", output_sequence=True)
        b, _, _ = mb.lstm(x=y, initial_h=wide, initial_c=wide, weight_ih=w(24, 10), weight_hh=w(24, 6), bias=w(24), weight_ih_back=w(24, 10),
                          weight_hh_back=w(24, 6), bias_back=w(24), direction="bidirectional", output_sequence=True)
        if old:
            return a, h, c, b
        d, _ = mb.gru(x=z, initial_h=zero, weight_ih=w(18, 10), weight_hh=w(18, 6), bias=w(18), direction="forward", output_sequence=False)
        return a, h, c, b, d
    return program


def elements(w, opset=ct.target.iOS18):
    old = opset == ct.target.iOS14  # some operators are not mapped in the old form, which has them as other layers
    @mb.program(input_specs=[mb.TensorSpec(shape=(2, 5, 1)), mb.TensorSpec(shape=(2, 1, 7))], opset_version=opset)
    def program(a, b):
        x = mb.concat(values=[getattr(mb, op)(x=a, y=b) for op in ("add", "sub", "mul", "real_div", "floor_div", "mod", "maximum", "minimum", "pow")], axis=-1)
        for op in ("abs", "acos", "asin", "atan", "atanh", "ceil", "cos", "cosh", "erf", "exp", "exp2", "floor", "relu", "relu6", "round", "sigmoid", "sign", "silu", "sin", "sinh", "softplus",
                   "softsign", "sqrt", "square", "tan", "tanh"):
            x = getattr(mb, op)(x=x)
        x = mb.clip(x=mb.elu(x=mb.gelu(x=mb.leaky_relu(x=x, alpha=0.1), mode="EXACT"), alpha=0.5), alpha=-1.0, beta=1.0)
        x = mb.scaled_tanh(x=mb.sigmoid_hard(x=mb.thresholded_relu(x=x, alpha=0.2), alpha=0.2, beta=0.5), alpha=1.5, beta=0.5)
        x = mb.inverse(x=mb.rsqrt(x=mb.log(x=x)), epsilon=1e-3)
        t = [getattr(mb, op)(x=a, y=b) for op in ("equal", "not_equal", "greater", "greater_equal", "less", "less_equal")]
        u = mb.logical_or(x=mb.logical_and(x=t[0], y=t[1]), y=mb.logical_xor(x=t[2], y=mb.logical_not(x=t[3])))
        u = mb.logical_or(x=u, y=mb.logical_and(x=t[4], y=t[5]))
        y = mb.select(cond=u, a=mb.add(x=a, y=b), b=mb.mul(x=a, y=b))
        return x, y, mb.cast(x=y, dtype="int32"), mb.gelu(x=y, mode="TANH_APPROXIMATION")
    return program


def moves(w, opset=ct.target.iOS18):
    old = opset == ct.target.iOS14  # some operators are not mapped in the old form, which has them as other layers
    @mb.program(input_specs=[mb.TensorSpec(shape=(2, 3, 4, 6)), mb.TensorSpec(shape=(5, 2), dtype=types.int32)], opset_version=opset)
    def program(x, index):
        p = mb.split(x=x, num_splits=3, axis=-1)
        q = mb.split(x=x, split_sizes=[1, 2, 3], axis=3)
        outs = [p[1], q[2], mb.slice_by_index(x=x, begin=[0, 1, 3, 1], end=[0, 3, 0, -1], stride=[1, 1, -2, 2], begin_mask=[True, False, False, False], end_mask=[True, False, False, False]),
                mb.slice_by_index(x=x, begin=[0, 1, 0, 0], end=[0, 0, 2, 6], squeeze_mask=[False, True, False, False], begin_mask=[True, False, True, False], end_mask=[True, False, False, True]),
                mb.slice_by_size(x=x, begin=[0, 1, 0, 2], size=[2, -1, 3, -1]), mb.squeeze(x=mb.expand_dims(x=x, axes=[-2]), axes=[-2]), mb.expand_dims(x=x, axes=[1]), mb.tile(x=x, reps=[2, 1, 1, 3]),
                mb.transpose(x=x, perm=[0, 2, 3, 1]), mb.reshape(x=x, shape=[2, -1, 6]), mb.stack(values=[x, x], axis=1),
                mb.reduce_sum(x=x, axes=[1, 3], keep_dims=True), mb.reduce_mean(x=x, axes=[0, 2]), mb.reduce_max(x=x, axes=[-1]), mb.reduce_min(x=x, axes=[1]), mb.reduce_prod(x=x, axes=[-2]),
                mb.reduce_l1_norm(x=x, axes=[2, 3]), mb.reduce_l2_norm(x=x, axes=[1]), mb.reduce_log_sum_exp(x=x, axes=[1]), mb.reduce_log_sum(x=x, axes=[2]), mb.reduce_sum_square(x=x, axes=[3]),
                mb.reduce_argmax(x=x, axis=2), mb.reduce_argmin(x=x, axis=1, keep_dims=True), mb.gather(x=x, indices=index, axis=2), mb.gather_nd(x=x, indices=index),
                mb.gather_along_axis(x=x, indices=np.zeros((2, 3, 4, 2), np.int32), axis=3), mb.topk(x=x, k=2, axis=1)[0], mb.shape(x=x)]
        if not old:
            outs += [mb.one_hot(indices=index, one_hot_vector_size=7), mb.scatter_nd(data=x, indices=index, updates=np.zeros((5, 4, 6), np.float32)),
                     mb.reverse(x=x, axes=[1, 3]), mb.cumsum(x=x, axis=1)]
        return tuple(outs)
    return program


def macs_of(block):
    total = 0
    for op in block.operations:
        kind, out = op.op_type, op.outputs[0]
        if kind in ("conv", "linear"):
            total += math.prod(out.shape) * math.prod(op.weight.shape[1:])
        elif kind == "conv_transpose":
            total += math.prod(op.x.shape) * math.prod(op.weight.shape[1:])
        elif kind == "matmul":
            total += math.prod(out.shape) * op.x.shape[-2 if op.transpose_x.val else -1]
    return total


def programs(directory, entries):
    for make in (images, more_images, tokens, recurrent, elements, moves):
        w = Weights()
        program = make(w)
        function = program.functions["main"]
        outputs = [listing.tensor("", v.shape) for v in function.outputs]
        macs = macs_of(function)
        model = ct.convert(program, convert_to="mlprogram", skip_model_load=True, compute_precision=ct.precision.FLOAT32, pass_pipeline=ct.PassPipeline.EMPTY,
                           minimum_deployment_target=ct.target.iOS18)
        # Only the specification: it contains small weights, and the file with the others is not read.
        model.save(os.path.join(directory, make.__name__ + ".mlpackage"))
        entry = {"file": f"{make.__name__}.mlpackage/Data/com.apple.CoreML/model.mlmodel", "outputs": outputs, "params": w.params, "predict": "together"}
        if make is not recurrent:
            entry["macs"] = macs
        entries.append(entry)


def networks(directory, entries):
    """Converts the program to the older form."""
    for make in (images, more_images, tokens, recurrent, elements, moves):
        w = Weights()
        program = make(w, ct.target.iOS14)
        function = program.functions["main"]
        outputs, macs = [listing.tensor("", v.shape) for v in function.outputs], macs_of(function)
        model = ct.convert(program, convert_to="neuralnetwork", skip_model_load=True, minimum_deployment_target=ct.target.iOS14, pass_pipeline=ct.PassPipeline.EMPTY)
        model.save(os.path.join(directory, make.__name__ + ".mlmodel"))
        entry = {"file": make.__name__ + ".mlmodel", "outputs": outputs, "predict": "together"}
        if make not in (more_images, recurrent):  # in this form the converter writes constants twice, and states as constants
            entry["params"] = w.params
        if make is not recurrent:
            entry["macs"] = macs
        entries.append(entry)


def old_images(directory, entries):
    """A network of the first versions of the format, with three-dimensional images; sizes follow the formulas of the
    specification."""
    b = NeuralNetworkBuilder([("data", datatypes.Array(3, 33, 27))], [("out", datatypes.Array(5))])
    zeros = lambda *shape: np.zeros(shape, np.float32)  # noqa: E731
    b.add_convolution("conv", 3, 8, 3, 5, 2, 1, "valid", 1, zeros(3, 5, 3, 8), zeros(8), True, input_name="data", output_name="conv", padding_top=1, padding_bottom=0,
                      padding_left=2, padding_right=1)
    height, width = (33 + 1 - 3) // 2 + 1, (27 + 3 - 5) + 1
    params, macs = 8 * 3 * 15 + 8, height * width * 8 * 3 * 15
    b.add_batchnorm("bn", 8, zeros(8), zeros(8), zeros(8), zeros(8) + 1, input_name="conv", output_name="bn")
    params += 16
    b.add_activation("relu", "LEAKYRELU", "bn", "relu", [0.1])
    b.add_pooling("pool", 3, 3, 2, 2, "MAX", "VALID", "relu", "pool")
    height, width = (height - 3) // 2 + 1, (width - 3) // 2 + 1
    b.add_convolution("depthwise", 1, 8, 3, 3, 1, 1, "same", 8, zeros(3, 3, 1, 8), None, False, input_name="pool", output_name="depthwise")
    params, macs = params + 72, macs + 72 * height * width
    b.add_elementwise("sum", ["pool", "depthwise"], "sum", "ADD")
    b.add_lrn("lrn", "sum", "lrn", 1e-4, 0.75, 5)
    b.add_upsample("up", 2, 2, "lrn", "up", mode="NN")
    b.add_padding("pad", left=1, right=0, top=0, bottom=2, input_name="up", output_name="pad")
    height, width = 2 * height + 2, 2 * width + 1
    b.add_scale("scale", zeros(8), zeros(8), True, "pad", "scale", shape_scale=[8], shape_bias=[8])
    params += 16
    b.add_unary("square", "scale", "square", "power", alpha=2.0)
    b.add_pooling("global", 1, 1, 1, 1, "AVERAGE", "VALID", "square", "global", is_global=True)
    b.add_flatten("flat", 0, "global", "flat")
    b.add_inner_product("fc", zeros(5, 8), zeros(5), 8, 5, True, "flat", "fc")
    params, macs = params + 45, macs + 40
    b.add_softmax("soft", "fc", "out")
    ct.models.utils.save_spec(b.spec, os.path.join(directory, "old_images.mlmodel"))
    entries.append({"file": "old_images.mlmodel", "params": params, "macs": macs, "predict": "together",
                    "values": {"conv": "[1,8,16,26]", "pool": "[1,8,7,12]", "pad": f"[1,8,{height},{width}]"}})


def main():
    entries = []
    with tempfile.TemporaryDirectory() as directory:
        programs(directory, entries)
        networks(directory, entries)
        old_images(directory, entries)
        listing.write("coreml", ORIGIN, entries, directory)


if __name__ == "__main__":
    main()
