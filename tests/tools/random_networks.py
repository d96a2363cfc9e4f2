"""GPUMemNet's random CNNs and MLPs as model text (onnxtext.py), from the lists of layers in its tables.

A layer is its kind, its output elements per sample, and its parameters. Channels and windows follow from these: a
convolution is 3 x 3 or 1 x 1 with a bias, whichever gives whole numbers.
"""
import math

ACTIVATIONS = {
    "relu": "Relu", "gelu": "Gelu", "silu": "Silu", "tanh": "Tanh", "leakyrelu": "LeakyRelu", "softplus": "Softplus",
    "elu": "Elu", "selu": "Selu", "mish": "Mish", "prelu": "PRelu", "swish": "Silu", "leaky_relu": "LeakyRelu",
    "identity": "Identity",
}


class Text:
    """Lines of a model; values are numbered."""

    def __init__(self, shape):
        self.lines = ["opset 20", f"input x float32[{shape}]"]
        self.count = 0
        self.last = "x"

    def weight(self, *dims):
        self.count += 1
        name = f"w{self.count}"
        self.lines.append(f"init {name} float32[{','.join(map(str, dims))}]")
        return name

    def node(self, op, inputs, attributes=""):
        self.count += 1
        name = f"v{self.count}"
        self.lines.append(f"{name} = {op}({', '.join(inputs)}) {attributes}")
        return name

    def add(self, op, *inputs, attributes=""):
        self.last = self.node(op, [self.last, *inputs], attributes)

    def norm(self, channels):
        self.add("BatchNormalization", *[self.weight(channels) for _ in range(4)])

    def activation(self, kind, channels):
        op = ACTIVATIONS[kind.lower()]
        if op == "Silu":
            gate = self.node("Sigmoid", [self.last])
            self.last = self.node("Mul", [self.last, gate])
        elif op == "PRelu":
            self.add(op, self.weight(1, 1, 1) if channels else self.weight(1))
        elif op != "Identity":
            self.add(op)

    def dropout(self):
        self.add("Dropout")

    def linear(self, inputs, outputs):
        self.last = self.node("Gemm", [self.last, self.weight(outputs, inputs), self.weight(outputs)], "transB=1")

    def finish(self):
        self.add("Softmax", attributes="axis=1")
        return "\n".join(self.lines + [f"output {self.last} float32[N,?]"]) + "\n"


def window_of(parameters, elements, channels):
    """(window, filters, map size); None: no convolution matches the numbers."""
    for window in (3, 1):
        filters, rest = divmod(parameters, channels * window * window + 1)
        size = math.isqrt(elements // filters) if filters else 0
        if filters and rest == 0 and filters * size * size == elements:
            return window, filters, size
    return None


class Cnn:
    def __init__(self, row):
        self.row = row
        self.layers = [(kind, int(out), int(params)) for kind, out, params in
                       (layer.split(":") for layer in row["layers_type_outelems_params"].split(";"))]
        self.channels, self.size = int(row["input_channels"]), int(row["input_size"])
        self.text = Text(f"N,{self.channels},{self.size},{self.size}")

    def conv(self, source, channels, size, params, out):
        found = window_of(params, out, channels)
        if not found:
            raise ValueError("a convolution that fits nothing")
        window, filters, wide = found
        stride = max(1, round(size / wide))
        pad = window // 2
        inputs = [source, self.text.weight(filters, channels, window, window), self.text.weight(filters)]
        attributes = f"pads=[{pad},{pad},{pad},{pad}] strides=[{stride},{stride}]"
        return self.text.node("Conv", inputs, attributes), filters, wide

    def plain(self, kind, out, params):
        """A layer that is not a convolution."""
        text = self.text
        if kind == "batchnorm2d":
            text.norm(self.channels)
        elif kind == "dropout":
            text.dropout()
        elif kind == "adaptive_avg_pool2d":
            text.add("GlobalAveragePool")
            text.add("Flatten")
        elif kind == "linear":
            text.linear(self.channels, out)
        elif kind != "softmax":
            text.activation(kind, True)

    def chain(self):
        for kind, out, params in self.layers:
            if kind == "conv2d":
                self.text.last, self.channels, self.size = self.conv(self.text.last, self.channels, self.size, params, out)
            else:
                self.plain(kind, out, params)

    def residual(self):
        """A residual block: convolutions, and a 1 x 1 on the shortcut if the channels change; the sum follows the last
        norm."""
        shortcut = block = None
        for i, (kind, out, params) in enumerate(self.layers):
            if kind == "conv2d":
                window = window_of(params, out, block[1] if block else self.channels)
                if block is None or (window and window[0] == 1):
                    block = (self.text.last, self.channels, self.size)
                    shortcut, channels, size = self.conv(*block, params, out)
                    self.text.last, after = shortcut, (channels, size)
                    self.channels, self.size = after
                    is_shortcut = True
                    continue
                source = block if is_shortcut else (self.text.last, self.channels, self.size)
                if is_shortcut:
                    shortcut = self.text.last
                self.text.last, self.channels, self.size = self.conv(*source, params, out)
                is_shortcut = False
            else:
                ends = kind not in ("batchnorm2d", "dropout") and shortcut and self.is_block_end(i)
                if ends:
                    self.text.last = self.text.node("Add", [self.text.last, shortcut])
                    shortcut = None
                self.plain(kind, out, params)
                if ends:
                    block = (self.text.last, self.channels, self.size)

    def is_block_end(self, index):
        """Is the next convolution a 1 x 1, or none?"""
        for kind, out, params in self.layers[index + 1:]:
            if kind == "conv2d":
                window = window_of(params, out, self.channels)
                return bool(window and window[0] == 1)
        return True

    def dense(self):
        """Each 3 x 3 reads all previous maps; a 1 x 1 joins them and halves the map."""
        block, width = self.text.last, self.channels
        for kind, out, params in self.layers:
            if kind == "conv2d":
                found = window_of(params, out, width)
                if not found:
                    raise ValueError("a convolution that fits nothing")
                self.text.last, filters, wide = self.conv(block, width, self.size, params, out)
                self.is_transition = found[0] == 1
                self.channels, self.size = filters, wide
                continue
            if kind == "adaptive_avg_pool2d":
                self.text.last, self.channels = block, width
            self.plain(kind, out, params)
            if kind in ("batchnorm2d", "dropout", "linear", "softmax", "adaptive_avg_pool2d"):
                continue
            if self.is_transition:
                self.text.add("AveragePool", attributes="kernel_shape=[2,2] strides=[2,2]")
                self.size //= 2
                block, width = self.text.last, self.channels
            else:
                block = self.text.node("Concat", [block, self.text.last], "axis=1")
                width += self.channels

    def model(self):
        {"residual": self.residual, "dense": self.dense}.get(self.row["arch"], self.chain)()
        return self.text.finish()


def cnn(row):
    """Model text of a row of gpumemnet_cnn_train; ValueError if its layers contradict each other."""
    return Cnn(row).model()


def mlp(row):
    """Model text of a row of gpumemnet_mlp_train."""
    width, text = int(row["input"]), Text(f"N,{row['input']}")
    layers = [tuple(map(int, layer.split(":")[-2:])) for layer in row["layers"].split(";")]
    uses_dropout = row["use_dropout"] == "True"
    plain = 0  # layers without parameters since the last one with some
    for i, (out, params) in enumerate(layers):
        if i == len(layers) - 1:
            break  # softmax
        if params == (width + 1) * out:
            text.linear(width, out)
            width, plain = out, 0
        elif params == 2 * out:
            text.norm(out)
        elif plain == 0:
            text.activation(row["activation"], False)
            plain = 1
        elif uses_dropout:
            text.dropout()
    return text.finish()
