#!/usr/bin/env python3
"""Makes PaddlePaddle models with the operators that Sooth maps: .pdmodel programs by version 2, JSON (PIR) by version
3.

    python paddle.py        needs paddlepaddle 2 or 3; writes tests/models/formats/paddle-program.zip or paddle-pir.zip
"""
import math
import os
import pathlib
import sys
import tempfile

# Excludes this directory, because this script has the package's name.
HERE = pathlib.Path(__file__).resolve().parent
sys.path = [p for p in sys.path if pathlib.Path(p or ".").resolve() != HERE]
import paddle  # noqa: E402
import paddle.nn.functional as F  # noqa: E402
from paddle import nn  # noqa: E402
sys.path.append(str(HERE))
import listing  # noqa: E402

ORIGIN = f"paddlepaddle {paddle.__version__}: shapes by running the layers, parameters of the layers, multiply-adds counted from both"


TRANSPOSED = (nn.Conv1DTranspose, nn.Conv2DTranspose, nn.Conv3DTranspose)


class Images(nn.Layer):
    shapes = [[2, 6, 33, 27]]

    def __init__(self):
        super().__init__()
        self.a = nn.Conv2D(6, 8, (3, 5), stride=(2, 1), padding=(1, 0), dilation=(1, 2), groups=2)
        self.bn = nn.BatchNorm2D(8)
        self.b = nn.Conv2D(8, 8, 3, stride=2, padding="SAME", groups=8, bias_attr=False)
        self.d = nn.Conv2DTranspose(8, 5, (4, 3), stride=(3, 2), padding=1, output_padding=(1, 0))
        self.e = nn.Conv2DTranspose(8, 6, 2, stride=2, groups=2, bias_attr=False)
        self.gn, self.inorm = nn.GroupNorm(2, 6), nn.InstanceNorm2D(6)
        self.prelu = nn.PReLU(5)
        self.fc = nn.Linear(5, 7)

    def forward(self, x):
        a = F.relu6(self.bn(self.a(x)))
        b = F.hardswish(self.b(a))
        p = F.max_pool2d(a, (3, 2), stride=2, padding=(1, 0), ceil_mode=True)
        q = F.avg_pool2d(a, 3, stride=(3, 2), padding=1, exclusive=False)
        d, e = self.prelu(self.d(b)), self.inorm(self.gn(self.e(b)))
        u = F.interpolate(e, size=[20, 31], mode="bilinear")
        v = F.interpolate(e, scale_factor=2, mode="nearest")
        g = F.adaptive_avg_pool2d(d, 1)
        return p, q, u, v, F.softmax(self.fc(paddle.flatten(g, 1)))


class Tokens(nn.Layer):
    shapes = [[3, 12]]
    dtypes = ["int64"]

    def __init__(self):
        super().__init__()
        self.words, self.norm = nn.Embedding(50, 16), nn.LayerNorm(16)
        self.q, self.k, self.v = nn.Linear(16, 16), nn.Linear(16, 16, bias_attr=False), nn.Linear(16, 24)

    def forward(self, ids):
        x = self.norm(self.words(ids))
        q, k, v = (t(x).reshape([0, 0, 4, w]).transpose([0, 2, 1, 3]) for t, w in ((self.q, 4), (self.k, 4), (self.v, 6)))
        s = F.softmax(paddle.matmul(q, k, transpose_y=True) * 0.5, -1)
        y = paddle.matmul(s, v).transpose([0, 2, 1, 3]).reshape([0, 0, 24])
        return y, paddle.matmul(y, x, transpose_x=True), F.log_softmax(y, 1), paddle.bmm(x.transpose([0, 2, 1]), y)


class Elements(nn.Layer):
    shapes = [[2, 5, 1], [2, 1, 7]]

    def forward(self, a, b):
        x = paddle.concat([a + b, a - b, a * b, a / b, paddle.maximum(a, b), paddle.minimum(a, b), paddle.pow(a, b), paddle.mod(a, b), paddle.floor_divide(a, b)], -1)
        for f in (paddle.abs, paddle.acos, paddle.acosh, paddle.asin, paddle.asinh, paddle.atan, paddle.atanh, paddle.ceil, paddle.cos, paddle.cosh, paddle.erf, paddle.exp, paddle.floor, paddle.log,
                  paddle.log1p, paddle.reciprocal, paddle.round, paddle.rsqrt, paddle.sign, paddle.sin, paddle.sinh, paddle.sqrt, paddle.square, paddle.tan, paddle.tanh, F.relu, F.sigmoid, F.silu, F.gelu,
                  F.elu, F.celu, F.selu, F.mish, F.hardsigmoid, F.hardshrink, F.hardtanh, F.leaky_relu, F.softplus, F.softshrink, F.softsign, F.swish, F.thresholded_relu):
            x = f(x)
        x = paddle.clip(x, -1.0, 1.0) * 2 + 1
        t = paddle.logical_or(paddle.logical_and(a == b, a != b), paddle.logical_xor(a > b, paddle.logical_not(a >= b)))
        t = paddle.logical_or(t, paddle.logical_and(a < b, a <= b))
        y = paddle.where(t, a + b, a * b)
        return x, y, paddle.cast(y, "int32"), paddle.logical_and(paddle.isnan(x), paddle.isinf(x)), paddle.any(t, 1), paddle.all(t, [0, 2], True)


class Moves(nn.Layer):
    shapes = [[2, 3, 4, 6], [5, 2]]
    dtypes = ["float32", "int64"]

    def forward(self, x, index):
        return (paddle.split(x, 3, -1)[1], paddle.split(x, [1, 2, -1], 3)[2], x[:, 1:, 1:4:2], paddle.slice(x, [1, 3], [1, -4], [3, -1]), paddle.strided_slice(x, [2, 3], [3, 0], [0, 6], [-2, 2]),
                paddle.squeeze(paddle.unsqueeze(x, [1, -1]), [-1]), paddle.tile(x, [2, 1, 1, 3]), x.transpose([0, 2, 3, 1]), x.reshape([0, -1, 6]), paddle.stack([x, x], 1), paddle.flip(x, [1, 3]),
                paddle.cumsum(x, 1), paddle.expand(x.sum([1, 3], keepdim=True), [2, 5, 4, 7]), x.mean([0, 2]), x.max(-1), x.min(1), x.prod(-2), paddle.logsumexp(x, [1]), paddle.norm(x, 2, 1), paddle.argmax(x, 2),
                paddle.argmin(x, 1, True), paddle.gather(x, index[:, 0], 2), paddle.gather_nd(x, index), paddle.index_select(x, index[:, 1], 1), F.one_hot(index, 7), paddle.topk(x, 2, 1)[0], paddle.argsort(x, 3),
                F.pad(x, [1, 2, 3, 4]), F.pad(x, [1, 1, 0, 2], mode="reflect"), paddle.tril(x), paddle.flatten(x, 1, 2), paddle.unbind(x, 1)[2], paddle.zeros_like(x) + paddle.ones_like(x) + paddle.full_like(x, 3),
                F.pixel_shuffle(x.reshape([2, 12, 2, 3]), 2), F.channel_shuffle(x.reshape([2, 12, 2, 3]), 3), paddle.arange(3, 17, 4), paddle.take_along_axis(x, paddle.zeros([2, 3, 4, 2], "int64"), 3))


class Recurrent(nn.Layer):
    shapes = [[2, 9, 10]]

    def __init__(self):
        super().__init__()
        self.lstm, self.gru = nn.LSTM(10, 6, num_layers=2, direction="bidirect"), nn.GRU(12, 5)

    def forward(self, x):
        y, _ = self.lstm(x)
        z, _ = self.gru(y)
        return z


class Control(nn.Layer):
    """Nested loops and branches that depend on data, and a growing list."""
    shapes = [[2, 6], [1]]
    dtypes = ["float32", "int64"]

    def __init__(self):
        super().__init__()
        self.fc, self.other = nn.Linear(6, 6), nn.Linear(6, 6, bias_attr=False)

    def forward(self, x, n):
        i = paddle.zeros([1], "int64")
        while i < n:
            x = F.relu(self.fc(x))
            i = i + 1
        if x.mean() > 0:
            y = self.other(x)
        else:
            y = x * 2 - 1
        total = paddle.zeros([2, 6])
        k = paddle.zeros([1], "int64")
        while k < n:
            k = k + 1
            if y.sum() > 1:
                total = total + self.other(y)
            else:
                total = total - y
        return x, y, total, i


class Volumes(nn.Layer):
    shapes = [[2, 4, 9, 8, 7], [2, 4, 30]]

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv3D(4, 6, (3, 1, 2), stride=(2, 1, 1), padding=(1, 0, 1)), nn.Conv3DTranspose(6, 3, 2, stride=2)
        self.c, self.d = nn.Conv1D(4, 8, 5, padding=2, groups=2), nn.Conv1DTranspose(8, 4, 3, stride=2)

    def forward(self, x, y):
        v, w = self.a(x), self.c(y)
        return (F.max_pool3d(v, 2, padding=(0, 1, 0)), F.avg_pool3d(v, 3, stride=2), self.b(v), F.adaptive_avg_pool3d(v, (2, 3, 1)), F.adaptive_max_pool1d(w, 4), F.avg_pool1d(w, 3),
                self.d(w), F.interpolate(v, size=[3, 4, 5], mode="trilinear", data_format="NCDHW"), F.interpolate(w, size=[11], mode="linear", data_format="NCW"), F.dropout(w, 0.3, training=False), F.normalize(y, axis=1),
                F.glu(y, 1), F.softmax(y))


class Sizes(nn.Layer):
    """Shape arithmetic at run time."""
    shapes = [[2, 3, 8, 10], [2, 4, 2]]
    dtypes = ["float32", "int64"]

    def forward(self, x, index):
        h, w = paddle.shape(x)[2], paddle.shape(x)[3]
        y = x.reshape([paddle.shape(x)[0], -1])
        z = paddle.reshape(x, [2, 3, h * w])
        grid = paddle.zeros([2, 5, 6, 2])
        rows = x.reshape([6, 80])
        return (y, z, paddle.expand(x[:, :, :1], [2, 3, h, w]), F.interpolate(x, size=[h * 2, w // 2], mode="bicubic"), F.grid_sample(x, grid),
                paddle.meshgrid(paddle.arange(3), paddle.arange(4))[1], paddle.broadcast_to(index[:, :1], [2, 4, 2]), paddle.addmm(rows[:2, :3], rows[:2, :5], rows[:5, :3]),
                paddle.triu(rows), paddle.sort(rows, 1), paddle.t(rows), paddle.unstack(x, 1)[1], paddle.chunk(x, 2, 3)[0])


def macs_of(layer, inputs):
    """Hooks count convolutions and linear layers; products of activations are added by hand below."""
    total = [0]

    def count(module, args, out):
        weight = module.weight.shape
        if isinstance(module, (nn.Conv1D, nn.Conv2D, nn.Conv3D)):
            total[0] += math.prod(out.shape) * math.prod(weight[1:])
        elif isinstance(module, TRANSPOSED):
            total[0] += math.prod(args[0].shape) * math.prod(weight[1:])
        else:
            total[0] += math.prod(out.shape) * weight[0]
    hooks = [m.register_forward_post_hook(count) for m in layer.sublayers() if isinstance(m, (nn.Conv1D, nn.Conv2D, nn.Conv3D, nn.Linear, *TRANSPOSED))]
    layer(*inputs)
    for hook in hooks:
        hook.remove()
    return total[0]


def save(directory, suffix):
    """Writes all models in one format."""
    entries = []
    for make in (Images, Tokens, Elements, Moves, Recurrent, Control, Volumes, Sizes):
        layer = make()
        layer.eval()
        for p in layer.parameters():
            p.set_value(paddle.zeros_like(p))
        dtypes = getattr(make, "dtypes", ["float32"] * len(make.shapes))
        inputs = [paddle.zeros(s, d) for s, d in zip(make.shapes, dtypes)]
        outputs = layer(*inputs)
        outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
        path = os.path.join(directory, make.__name__.lower())
        paddle.jit.save(layer, path, input_spec=[paddle.static.InputSpec(s, d, f"x{i}") for i, (s, d) in enumerate(zip(make.shapes, dtypes))])
        if os.path.exists(path + ".pdiparams"):
            os.unlink(path + ".pdiparams")
        if os.path.exists(path + ".pdiparams.info"):
            os.unlink(path + ".pdiparams.info")
        entry = {"file": make.__name__.lower() + suffix, "outputs": [listing.tensor(o.dtype, o.shape) for o in outputs],
                 "params": sum(math.prod(p.shape) for p in layer.parameters() if p.trainable), "predict": "together"}
        if make is Tokens:  # scores, their products with the values, and the two products after them
            entry["macs"] = macs_of(layer, inputs) + 3 * 4 * 12 * 12 * (4 + 6) + 2 * 3 * 24 * 16 * 12
        elif make is Control:
            entry["note"] = "how often what is inside runs depends on the input"
        elif make is Sizes:
            entry["note"] = "products of activations are not counted by hooks"
        elif make is not Recurrent:
            entry["macs"] = macs_of(layer, inputs)
        entries.append(entry)
    return entries


def main():
    form, suffix = ("program", ".pdmodel") if paddle.__version__.startswith("2") else ("pir", ".json")
    with tempfile.TemporaryDirectory() as directory:
        listing.write(f"paddle-{form}", ORIGIN, save(directory, suffix), directory)


if __name__ == "__main__":
    main()
