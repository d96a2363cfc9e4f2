#!/usr/bin/env python3
"""Turns published tables of measured power and energy into rows that `sooth learn --energy` and `sooth eval` read.

    tools/energy_rows.py [--shared DIR] [--only SOURCE]... -o FOLDER

Reads DIR/measured/energy (../shared if not given) and writes FOLDER/SOURCE.csv, with the columns of DIR/labels/README.md and
    power_w        mean power of the row's GPUs
    power_limit_w  power limit that was set; empty: the board's own
    idle_gpus      GPUs that wait (a pipeline in which one GPU works at a time)
    gpus           number of GPUs
(and, for tools/labels.py, `sees`: the request has images, `stalls`: the GPU waited for the server), and the graphs of the rows.
doc/energy.md describes the rows of each source, the assumptions, and what is left out. Needs only Python 3.
"""
import argparse
import collections
import csv
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "tools"))
import onnxtext  # noqa: E402  (also used by the tests)

COLUMNS = ("name", "graph", "batch", "gpu", "precision", "layout", "runtime", "stack", "mode", "optimizer", "mig", "latency_ms",
           "memory_mib", "energy_j", "source", "power_w", "power_limit_w", "idle_gpus", "gpus")


class Folder:
    """Directories of the tables read, and of the rows and graphs written."""

    def __init__(self, shared, path):
        self.shared, self.path, self.graphs = shared, path, {}
        path.mkdir(parents=True, exist_ok=True)

    def read(self, name):
        with open(self.shared / "measured" / "energy" / name, newline="") as file:
            yield from csv.DictReader(file)

    def graph(self, name, text):
        """Returns the file of a graph; writes it at the first call."""
        if name not in self.graphs:
            onnxtext.write(text() if callable(text) else text, str(self.path / f"{name}.onnx"))
            self.graphs[name] = f"{name}.onnx"
        return self.graphs[name]


# ---- networks --------------------------------------------------------------------------------------------------------


class Text:
    """The text of an ONNX file, node after node."""

    def __init__(self):
        self.lines, self.count = [], 0

    def node(self, op, inputs, attributes=""):
        self.count += 1
        self.lines.append(f"v{self.count} = {op}({', '.join(inputs)}) {attributes}")
        return f"v{self.count}"

    def weight(self, *dims, dtype="float32"):
        self.count += 1
        self.lines.append(f"init w{self.count} {dtype}[{','.join(map(str, dims))}]")
        return f"w{self.count}"

    def ints(self, *numbers):
        self.count += 1
        self.lines.append(f"init k{self.count} int64[{len(numbers)}]({', '.join(map(str, numbers))})")
        return f"k{self.count}"

    def real(self, number):
        self.count += 1
        self.lines.append(f"init f{self.count} float32[]({number})")
        return f"f{self.count}"

    def reshape(self, x, *dims):
        return self.node("Reshape", [x, self.ints(*dims)])

    def transpose(self, x, *axes):
        return self.node("Transpose", [x], f"perm=[{','.join(map(str, axes))}]")

    def linear(self, x, inputs, outputs):
        return self.node("MatMul", [x, self.weight(inputs, outputs)])

    def norm(self, x, width):
        return self.node("LayerNormalization", [x, self.weight(width), self.weight(width)], "axis=-1")

    def sequence_norm(self, x, width, steps):
        """A batch norm over samples and steps."""
        x = self.node("BatchNormalization", [self.reshape(x, -1, width)] + [self.weight(width) for _ in range(4)])
        return self.reshape(x, steps, -1, width)

    def done(self, inputs, output):
        return "\n".join(["producer energy_rows 1"] + [f"input {i}" for i in inputs] + self.lines + [f"output {output}"]) + "\n"


def shufflenet_v2():
    """For 32 x 32 images, as in collections of CIFAR-100 networks: no pooling before the stages."""
    t = Text()

    def conv(x, inputs, outputs, size=1, stride=1, group=1, relu=True):
        attributes = f"pads=[{','.join([str(size // 2)] * 4)}] strides=[{stride},{stride}] group={group} kernel_shape=[{size},{size}]"
        x = t.node("Conv", [x, t.weight(outputs, inputs // group, size, size), t.weight(outputs)], attributes)
        x = t.node("BatchNormalization", [x] + [t.weight(outputs) for _ in range(4)])
        return t.node("Relu", [x]) if relu else x

    def shuffle(x, channels, size):
        x = t.reshape(x, 0, 2, channels // 2, size, size)
        return t.reshape(t.transpose(x, 0, 2, 1, 3, 4), 0, channels, size, size)

    x, channels, size = conv("x", 3, 24), 24, 32
    for outputs, repeats in ((116, 3), (232, 7), (464, 3)):
        size //= 2
        half = outputs // 2
        right = conv(conv(conv(x, channels, channels), channels, channels, 3, 2, channels, False), channels, half)
        left = conv(conv(x, channels, channels, 3, 2, channels, False), channels, half)
        x, channels = shuffle(t.node("Concat", [left, right], "axis=1"), outputs, size), outputs
        for _ in range(repeats):
            left = t.node("Slice", [x, t.ints(0), t.ints(half), t.ints(1)])
            right = t.node("Slice", [x, t.ints(half), t.ints(outputs), t.ints(1)])
            right = conv(conv(conv(right, half, half), half, half, 3, 1, half, False), half, half)
            x = shuffle(t.node("Concat", [left, right], "axis=1"), outputs, size)
    x = t.node("GlobalAveragePool", [conv(x, 464, 1024)])
    x = t.linear(t.node("Flatten", [x]), 1024, 100)
    return t.done(["x float32[N,3,32,32]"], x)


def retinanet():
    """MLPerf's RetinaNet for 800 x 800 images: ResNeXt-50 32x4d with folded batch norms, a feature pyramid of three of
    its stages and two further levels, and on all five levels heads for 264 classes and nine boxes. Lacks the final
    selection of boxes."""
    t = Text()

    def weights(inputs, outputs, size):
        return t.weight(outputs, inputs, size, size), t.weight(outputs)

    def conv(x, inputs, outputs, size=3, stride=1, group=1, relu=False, shared=None):
        attributes = f"pads=[{','.join([str(size // 2)] * 4)}] strides=[{stride},{stride}] group={group} kernel_shape=[{size},{size}]"
        x = t.node("Conv", [x, *(shared or weights(inputs // group, outputs, size))], attributes)
        return t.node("Relu", [x]) if relu else x

    def block(x, inputs, width, stride):
        outputs = 2 * width
        own = conv(conv(x, inputs, width, 1, relu=True), width, width, 3, stride, 32, relu=True)
        shortcut = conv(x, inputs, outputs, 1, stride) if stride > 1 or inputs != outputs else x
        return t.node("Relu", [t.node("Add", [conv(own, width, outputs, 1), shortcut])])

    x = t.node("MaxPool", [conv("x", 3, 64, 7, 2, relu=True)], "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]")
    channels, stages = 64, []
    for width, blocks in ((128, 3), (256, 4), (512, 6), (1024, 3)):
        for i in range(blocks):
            x = block(x, channels, width, 2 if i == 0 and width > 128 else 1)
            channels = 2 * width
        stages.append((x, channels))
    count = t.count = t.count + 1
    t.lines.append(f"init s{count} float32[4](1, 1, 2, 2)")
    levels, above = [], None
    for x, channels in reversed(stages[1:]):
        x = conv(x, channels, 256, 1)
        if above:
            x = t.node("Add", [x, t.node("Resize", [above, "", f"s{count}"], 'mode="nearest"')])
        above = x
        levels.insert(0, conv(x, 256, 256))
    levels.append(conv(stages[-1][0], 2048, 256, stride=2))
    levels.append(conv(t.node("Relu", [levels[-1]]), 256, 256, stride=2))
    heads = [[(256, weights(256, 256, 3)) for _ in range(4)] + [(last, weights(256, last, 3))]
             for last in (9 * 264, 9 * 4)]  # the levels share them
    outputs = []
    for level in levels:
        for head in heads:
            x = level
            for i, (width, shared) in enumerate(head):
                x = conv(x, 256, width, relu=i < 4, shared=shared)
            outputs.append(x)
    return t.done(["x float32[N,3,800,800]"], "\noutput ".join(outputs))


SPEECH_STEPS = 600  # time steps of an LSTM for 12.3 s, the mean length of a sentence


def deepspeech2():
    """Two convolutions, five bidirectional LSTMs of 1024 with batch norms between them, whose directions are added."""
    t = Text()
    x = "x"
    for inputs, height, width, stride in ((1, 41, 11, 2), (32, 21, 11, 1)):
        attributes = f"kernel_shape=[{height},{width}] strides=[2,{stride}] pads=[{height // 2},5,{height // 2},5]"
        x = t.node("Conv", [x, t.weight(32, inputs, height, width), t.weight(32)], attributes)
        x = t.node("BatchNormalization", [x] + [t.weight(32) for _ in range(4)])
        x = t.node("Clip", [x])
    width, units = 32 * 41, 1024
    x = t.transpose(t.reshape(x, 0, width, SPEECH_STEPS), 2, 0, 1)
    for index in range(5):
        if index:
            x = t.sequence_norm(x, width, SPEECH_STEPS)
        weights = [t.weight(2, 4 * units, width), t.weight(2, 4 * units, units), t.weight(2, 8 * units)]
        both = t.node("LSTM", [x] + weights, f'hidden_size={units} direction="bidirectional"')
        x, width = t.node("ReduceSum", [both, t.ints(1)], "keepdims=0"), units
    x = t.linear(t.sequence_norm(x, width, SPEECH_STEPS), width, 29)
    return t.done([f"x float32[N,1,161,{2 * SPEECH_STEPS}]"], x)


def neural_filtering():
    """NeuMF over MovieLens-1M: 32 factors, three layers."""
    t = Text()

    def embedding(indices, rows, width):
        return t.node("Gather", [t.weight(rows, width), indices])

    product = t.node("Mul", [embedding("u", 6040, 32), embedding("i", 3706, 32)])
    x = t.node("Concat", [embedding("u", 6040, 128), embedding("i", 3706, 128)], "axis=-1")
    for inputs in (256, 128, 64):
        x = t.node("Relu", [t.node("Add", [t.linear(x, inputs, inputs // 2), t.weight(inputs // 2)])])
    x = t.linear(t.node("Concat", [product, x], "axis=-1"), 64, 1)
    return t.done(["u int64[N]", "i int64[N]"], x)


def layer(t, x, m, tokens, attention):
    """One layer of a transformer; tokens and what stands before them are the first dimensions of x."""
    hidden, heads, kv, width = m.hidden, m.heads, m.kv, m.width
    y = t.norm(x, hidden)
    q, k, v = (t.linear(y, hidden, n * width) for n in (heads, kv, kv))
    x = t.node("Add", [x, t.linear(attention(t, q, k, v), heads * width, hidden)])
    y = t.norm(x, hidden)
    if m.experts:  # all active experts get the same number of tokens
        asked = min(m.experts, tokens * m.active)
        each = -(-tokens * m.active // asked)
        y = t.node("Expand", [t.node("Slice", [y, t.ints(0), t.ints(min(each, tokens)), t.ints(0)]), t.ints(asked, 1, 1)])
        gate = t.node("Sigmoid", [t.node("MatMul", [y, t.weight(asked, hidden, m.ffn)])])
        y = t.node("Mul", [gate, t.node("MatMul", [y, t.weight(asked, hidden, m.ffn)])])
        y = t.node("ReduceSum", [t.node("MatMul", [y, t.weight(asked, m.ffn, hidden)]), t.ints(0, 1)], "keepdims=0")
    else:
        up = t.linear(y, hidden, m.ffn)
        up = t.node("Mul", [t.node("Sigmoid", [t.linear(y, hidden, m.ffn)]), up]) if m.gated else t.node("Gelu", [up])
        y = t.linear(up, m.ffn, hidden)
    return t.node("Add", [x, y])


Sizes = collections.namedtuple("Sizes", "layers hidden heads kv width ffn gated experts active vocab")


def sizes(layers, hidden, heads, kv, width, ffn, gated=True, experts=0, active=0, vocab=32000):
    return Sizes(layers, hidden, heads, kv, width, ffn, gated, experts, active, vocab)


def whole_forward(m):
    """All tokens at once, and their number is the batch: a prompt, or a step of a generation that keeps no cache."""
    t = Text()

    def attention(t, q, k, v):
        q = t.transpose(t.reshape(q, -1, m.heads, m.width), 1, 0, 2)
        k = t.transpose(t.reshape(k, -1, m.kv, m.width), 1, 2, 0)
        v = t.transpose(t.reshape(v, -1, m.kv, m.width), 1, 0, 2)
        if m.kv != m.heads:  # repeated, as eager implementations do
            k = t.reshape(t.node("Expand", [t.reshape(k, m.kv, 1, m.width, -1), t.ints(1, m.heads // m.kv, 1, 1)]),
                          m.heads, m.width, -1)
            v = t.reshape(t.node("Expand", [t.reshape(v, m.kv, 1, -1, m.width), t.ints(1, m.heads // m.kv, 1, 1)]),
                          m.heads, -1, m.width)
        scores = t.node("Softmax", [t.node("MatMul", [q, k])], "axis=-1")
        return t.reshape(t.transpose(t.node("MatMul", [scores, v]), 1, 0, 2), -1, m.heads * m.width)

    x = t.node("Gather", [t.weight(m.vocab, m.hidden), "ids"])
    for _ in range(m.layers):
        x = layer(t, x, m, 0, attention)
    return t.done(["ids int64[N]"], t.linear(t.norm(x, m.hidden), m.hidden, m.vocab))


def cached_step(m, layers, past, tokens):
    """One token of each of N requests beside `past` that a cache holds; `tokens` is N where experts must know it. Some of the layers
    stand for all."""
    t = Text()
    caches = []

    def attention(t, q, k, v):
        name = f"c{len(caches)}"
        caches.append(name)
        q = t.reshape(q, -1, m.kv, m.heads // m.kv, m.width)
        scores = t.node("Softmax", [t.node("MatMul", [q, f"{name}k"])], "axis=-1")
        return t.reshape(t.node("MatMul", [scores, f"{name}v"]), -1, m.heads * m.width)

    x = "x"
    for _ in range(layers):
        x = layer(t, x, m, tokens, attention)
    inputs = [f"x float32[N,{m.hidden}]"]
    for c in caches:
        inputs += [f"{c}k float32[N,{m.kv},{m.width},{past}]", f"{c}v float32[N,{m.kv},{past},{m.width}]"]
    return t.done(inputs, x)


# Of a transformer that makes pictures: how queries and keys are treated, tokens of a text that are looked at beside, attention that is linear.
Picture = collections.namedtuple("Picture", "sizes text cross passes side frames norms turns linear second skip", defaults=(1, False, False, False, 0, 0))


class PictureLayers:
    """Layers of one, for N passes over so many tokens each, as Diffusers writes them in PyTorch."""

    def __init__(self, picture, tokens, layers):
        self.p, self.m, self.tokens, self.layers, self.t = picture, picture.sizes, tokens, layers, Text()

    def modulated(self, x):
        """A norm without weights; scale and shift are computed from the time step."""
        t, m = self.t, self.m
        y = t.node("LayerNormalization", [x, t.weight(m.hidden)], "axis=-1")
        return t.node("Add", [t.node("Mul", [y, "scale"]), "shift"])

    def added(self, x, y):
        return self.t.node("Add", [x, self.t.node("Mul", [y, "gate"])])

    def turned(self, x):
        """Rotary positions: swaps pairs and adds both products."""
        t, m = self.t, self.m
        first = t.node("Slice", [x, t.ints(0), t.ints(m.width // 2), t.ints(3)])
        other = t.node("Neg", [t.node("Slice", [x, t.ints(m.width // 2), t.ints(m.width), t.ints(3)])])
        swapped = t.node("Concat", [other, first], "axis=3")
        return t.node("Add", [t.node("Mul", [x, "cosine"]), t.node("Mul", [swapped, "sine"])])

    def heads(self, x, tokens, special=True):
        t, m = self.t, self.m
        x = t.reshape(x, 0, tokens, m.heads, m.width)
        if special and self.p.norms:
            x = t.norm(x, m.width)
        x = t.transpose(x, 0, 2, 1, 3)
        return self.turned(x) if special and self.p.turns else x

    def attention(self, y, beside=None, beside_tokens=0):
        """Attention of all tokens to each other, or to the tokens of a text."""
        t, m = self.t, self.m
        q, k, v = (t.linear(x, m.hidden, m.heads * m.width) for x in (y, beside or y, beside or y))
        seen = beside_tokens or self.tokens
        q, k, v = self.heads(q, self.tokens, not beside), self.heads(k, seen, not beside), self.heads(v, seen, False)
        if self.p.linear and not beside:
            q, k = (t.node("Relu", [x]) for x in (q, k))
            z = t.node("MatMul", [q, t.node("MatMul", [t.transpose(k, 0, 1, 3, 2), v])])
        else:
            q = t.node("Mul", [q, t.real(m.width ** -0.5)])  # in this form it is PyTorch's fused attention
            z = t.node("MatMul", [t.node("Softmax", [t.node("MatMul", [q, t.transpose(k, 0, 1, 3, 2)])], "axis=-1"), v])
        return t.linear(t.reshape(t.transpose(z, 0, 2, 1, 3), 0, -1, m.heads * m.width), m.heads * m.width, m.hidden)

    def inner(self, y):
        t, m = self.t, self.m
        if not self.p.linear:
            return t.linear(t.node("Gelu", [t.linear(y, m.hidden, m.ffn)]), m.ffn, m.hidden)
        side = round(self.tokens ** 0.5)  # SANA has a depthwise convolution between the products
        y = t.reshape(t.transpose(y, 0, 2, 1), 0, m.hidden, side, side)
        y = t.node("Conv", [y, t.weight(2 * m.ffn, m.hidden, 1, 1), t.weight(2 * m.ffn)], "kernel_shape=[1,1]")
        y = t.node("Mul", [t.node("Sigmoid", [y]), y])
        attributes = f"kernel_shape=[3,3] pads=[1,1,1,1] group={2 * m.ffn}"
        y = t.node("Conv", [y, t.weight(2 * m.ffn, 1, 3, 3), t.weight(2 * m.ffn)], attributes)
        half, gate = (t.node("Slice", [y, t.ints(i * m.ffn), t.ints((i + 1) * m.ffn), t.ints(1)]) for i in range(2))
        y = t.node("Mul", [half, t.node("Mul", [t.node("Sigmoid", [gate]), gate])])
        y = t.node("Conv", [y, t.weight(m.hidden, m.ffn, 1, 1)], "kernel_shape=[1,1]")
        return t.transpose(t.reshape(y, 0, m.hidden, -1), 0, 2, 1)

    def text(self):
        t, m, x = self.t, self.m, "x"
        for index in range(self.layers):
            if index < self.p.skip:  # concatenates the output of an earlier layer
                x = t.linear(t.norm(t.node("Concat", [x, "x"], "axis=-1"), 2 * m.hidden), 2 * m.hidden, m.hidden)
            y = self.modulated(x)
            x = self.added(x, self.attention(y))
            if index < self.p.second:
                x = self.added(x, self.attention(self.modulated(x)))
            if self.p.cross:
                x = t.node("Add", [x, self.attention(t.norm(x, m.hidden) if self.p.turns else x, "text", self.p.cross)])
            x = self.added(x, self.inner(self.modulated(x)))
        inputs = [f"x float32[N,{self.tokens},{m.hidden}]"]
        inputs += [f"{name} float32[N,1,{m.hidden}]" for name in ("scale", "shift", "gate")]
        if self.p.cross:
            inputs.append(f"text float32[N,{self.p.cross},{m.hidden}]")
        if self.p.turns:
            inputs += [f"{name} float32[1,1,{self.tokens},{m.width}]" for name in ("cosine", "sine")]
        return t.done(inputs, x)


# ---- Zeus: training under power limits --------------------------------------------------------------------------------

ZEUS_GPUS = {"V100": "v100-pcie-32gb", "P100": "p100-pcie-16gb", "A40": "a40", "Quadro RTX 6000": "quadro-rtx-6000"}
# Samples in an epoch; those of sentiment140 and librispeech follow from step times.
ZEUS_SAMPLES = {"cifar100": 50000, "imagenet": 1281167, "squad": 88524, "sentiment140": 1280000, "librispeech": 132553,
                "movielens-1m": 4970845}


def zeus_graph(folder, model, dataset):
    if model == "resnet50":
        return "zoo:resnet50"
    if model == "bert_base_uncased":
        return f"zoo:bert?head=classify&seq={384 if dataset == 'squad' else 64}"
    maker = {"shufflenetv2": shufflenet_v2, "deepspeech2": deepspeech2, "ncf": neural_filtering}[model]
    return folder.graph(model, maker)


def zeus(folder):
    for r in folder.read("zeus_training_power.csv"):
        gpu = ZEUS_GPUS[r["device"]]
        step_s = float(r["time_per_epoch_s"]) * int(r["batch"]) / ZEUS_SAMPLES[r["dataset"]]
        power = float(r["average_power_w"])
        yield {"name": f"{r['model']}-{r['dataset']}", "graph": zeus_graph(folder, r["model"], r["dataset"]), "batch": r["batch"],
               "gpu": gpu, "precision": "tf32" if gpu == "a40" else "fp32", "mode": "train",
               "optimizer": {"adadelta": "adam"}.get(r["optimizer"], r["optimizer"]), "latency_ms": step_s * 1e3,
               "energy_j": power * step_s, "power_w": power, "power_limit_w": r["power_limit_w"], "source": "zeus", "gpus": 1}


# ---- generation without a cache, A100 and V100 -------------------------------------------------------------------------

GENERATION_GPUS = {"Palmetto Intel+A100": "a100-pcie-40gb", "Swing AMD+A100": "a100-sxm4-40gb",
                   "Palmetto Intel+V100": "v100-pcie-16gb"}
GENERATION = {
    "Falcon (7B)": sizes(32, 4544, 71, 1, 64, 18176, gated=False, vocab=65024),
    "Falcon (40B)": sizes(60, 8192, 128, 8, 64, 32768, gated=False, vocab=65024),
    "Llama-2 (7B)": sizes(32, 4096, 32, 32, 128, 11008),
    "Llama-2 (13B)": sizes(40, 5120, 40, 40, 128, 13824),
    "Llama-2 (70B)": sizes(80, 8192, 64, 8, 128, 28672),
    "Mistral (7B)": sizes(32, 4096, 32, 8, 128, 14336),
    "Mixtral (8x7B)": sizes(32, 4096, 32, 8, 128, 28672),  # a token uses two experts of 14336
}


def generation(folder):
    runs = collections.defaultdict(list)
    for r in folder.read("llm_inference_energy_a100_v100.csv"):
        if r["gpu_energy_j"] and r["runtime_s"]:
            key = (r["model"], r["system"], int(r["n_gpus"]), int(r["input_tokens"]), int(r["output_tokens"]))
            runs[key].append((float(r["runtime_s"]), float(r["gpu_energy_j"])))
    for (model, system, gpus, given, made), measured in sorted(runs.items()):
        seconds, joules = (statistics.median(x) for x in zip(*measured))
        slug = model.lower().replace(" ", "-").replace("(", "").replace(")", "")
        yield {"name": slug, "graph": folder.graph(slug, lambda m=model: whole_forward(GENERATION[m])),
               "batch": max(given + made // 2, 1), "gpu": GENERATION_GPUS[system], "precision": "bf16", "runtime": "eager",
               "latency_ms": seconds / made * 1e3, "energy_j": joules / made, "power_w": joules / seconds,
               "idle_gpus": gpus - 1, "source": "generation", "gpus": gpus}


# ---- ML.ENERGY: serving and diffusion, H100 and B200 --------------------------------------------------------------------

MLENERGY_GPUS = {"H100": "h100-sxm5-80gb", "B200": "b200-sxm-180gb"}
LAYERS = 4  # number of layers that stand for all layers of a model, which are equal

QWEN_30B = sizes(48, 2048, 32, 4, 128, 768, experts=128, active=8)
QWEN_235B = sizes(94, 4096, 64, 4, 128, 1536, experts=128, active=8)
SERVED = {
    "Qwen3-8B": sizes(36, 4096, 32, 8, 128, 12288), "Qwen3-14B": sizes(40, 5120, 40, 8, 128, 17408),
    "Qwen3-32B": sizes(64, 5120, 64, 8, 128, 25600), "Qwen3-VL-8B": sizes(36, 4096, 32, 8, 128, 12288),
    "Qwen3-VL-32B": sizes(64, 5120, 64, 8, 128, 25600), "Qwen3-30B": QWEN_30B, "Qwen3-Coder-30B": QWEN_30B,
    "Qwen3-Omni-30B": QWEN_30B, "Qwen3-VL-30B": QWEN_30B, "Qwen3-235B": QWEN_235B, "Qwen3-VL-235B": QWEN_235B,
    "Qwen3-Coder-480B": sizes(62, 6144, 96, 8, 128, 2560, experts=160, active=8),
    "DeepSeek": sizes(61, 7168, 128, 1, 576, 2048, experts=256, active=9),  # keys and values are one latent head
    "gemma-3-12b": sizes(48, 3840, 16, 8, 256, 15360), "gemma-3-27b": sizes(62, 5376, 32, 16, 128, 21504),
    "Llama-3.1-8B": sizes(32, 4096, 32, 8, 128, 14336), "Llama-3.1-70B": sizes(80, 8192, 64, 8, 128, 28672),
    "Llama-3.3-70B": sizes(80, 8192, 64, 8, 128, 28672), "Llama-3.1-405B": sizes(126, 16384, 128, 8, 128, 53248),
    "Llama-4-Scout": sizes(48, 5120, 40, 8, 128, 8192, experts=16, active=1),
    "Llama-4-Maverick": sizes(48, 5120, 40, 8, 128, 8192, experts=64, active=1),  # in the model, every second layer has 128
    "gpt-oss-20b": sizes(24, 2880, 64, 8, 64, 2880, experts=32, active=4),
    "gpt-oss-120b": sizes(36, 2880, 64, 8, 64, 2880, experts=128, active=4),
    "Nemotron-Nano-9B": sizes(56, 4480, 40, 8, 128, 10000, gated=False),
    "Nemotron-Nano-12B": sizes(62, 5120, 40, 8, 128, 12000, gated=False),
}
# Assumed tokens of a prompt, because the table does not have them.
PROMPTS = {"lm-arena-chat": 250, "gpqa": 300, "sourcegraph-fim": 4000, "image-chat": 1000, "video-chat": 1500}


def served_name(model):
    for name in sorted(SERVED, key=len, reverse=True):
        if name in model:
            return name
    return None


def stalled_runs(rows):
    """Identities of runs in which the GPU waited for the server: a step took clearly longer than with more concurrent
    requests, or the throughput was below that with fewer requests; and all runs with more requests than such a run."""
    series, stalled = collections.defaultdict(list), set()
    for r in rows:
        series[tuple(r[k] for k in ("model", "task", "device", "n_gpus", "tp", "ep", "dp", "precision"))].append(r)
    for runs in series.values():
        runs.sort(key=lambda r: float(r["avg_batch"]))
        most, is_behind = 0, False
        for i, r in enumerate(runs):
            requests, rate = float(r["avg_batch"]), float(r["output_tok_s"])
            is_behind |= rate < 0.95 * most
            most = max(most, rate)
            slower = any(requests / rate > 1.05 * float(x["avg_batch"]) / float(x["output_tok_s"]) for x in runs[i + 1:])
            if is_behind or slower:
                stalled.add(id(r))
    return stalled


def serving(folder):
    rows = list(folder.read("mlenergy_llm.csv"))
    stalled = stalled_runs(rows)
    for r in rows:
        name = served_name(r["model"])
        if not name or r["model"].startswith("nvidia") and "VL" in r["model"]:
            continue
        m, gpus, requests = SERVED[name], int(r["n_gpus"]), float(r["avg_batch"])
        prompt, made = PROMPTS[r["task"]], float(r["avg_output_len"])
        # Steps also process prompts: this many prompt tokens per new token. Only new tokens read the cache.
        beside = round(prompt / made, 1)
        tokens = max(round(requests * (1 + beside)), 1)
        past = max(int((prompt + made / 2) / (1 + beside)) // 64 * 64, 64)
        step_s = requests / float(r["output_tok_s"])
        label = f"{name}-{past}" + (f"-{tokens}" if m.experts else "")
        power = float(r["avg_power_w"]) / gpus
        scale = gpus * LAYERS / m.layers  # one GPU would need so many times as long for all layers as each does for its share
        yield {"name": name.lower(), "graph": folder.graph(label.lower(), lambda: cached_step(m, LAYERS, past, tokens)),
               "batch": tokens, "gpu": MLENERGY_GPUS[r["device"]], "runtime": "engine",
               "precision": "bf16" if r["precision"] == "bfloat16" else "fp8", "latency_ms": step_s * scale * 1e3,
               "energy_j": power * step_s * scale, "power_w": power, "source": "mlenergy-llm", "gpus": gpus,
               "sees": r["task"] in ("image-chat", "video-chat"), "stalls": id(r) in stalled}


# Tokens of a text among the others, and beside them; passes of a step (guidance needs two); what the sides of a picture are divided by,
# and its frames after the decoder's 4; norms of queries and keys, rotary positions, linear attention; of four layers how many have a second
# attention (13 of 24) or are joined to an earlier one (half).
DIFFUSION = {
    "SANA1.5_1.6B": Picture(sizes(20, 2240, 70, 70, 32, 5600), 0, 300, 2, 32, linear=True),
    "SANA1.5_4.8B": Picture(sizes(60, 2240, 70, 70, 32, 5600), 0, 300, 2, 32, linear=True),
    "PixArt-Sigma": Picture(sizes(28, 1152, 16, 16, 72, 4608), 0, 300, 2, 16),
    "HunyuanDiT": Picture(sizes(40, 1408, 16, 16, 88, 6144), 0, 333, 2, 16, norms=True, turns=True, skip=2),
    "FLUX.1-dev": Picture(sizes(57, 3072, 24, 24, 128, 12288), 512, 0, 1, 16, norms=True, turns=True),
    "stable-diffusion-3.5-large": Picture(sizes(38, 2432, 38, 38, 64, 9728), 333, 0, 2, 16, norms=True),
    "stable-diffusion-3.5-medium": Picture(sizes(24, 1536, 24, 24, 64, 6144), 333, 0, 2, 16, norms=True, second=2),
    "Wan2.1": Picture(sizes(40, 5120, 40, 40, 128, 13824), 0, 512, 2, 16, norms=True, turns=True),
    "HunyuanVideo": Picture(sizes(60, 3072, 24, 24, 128, 12288), 256, 0, 1, 16, norms=True, turns=True),
    "CogVideoX-2b": Picture(sizes(30, 1920, 30, 30, 64, 7680), 226, 0, 2, 16, norms=True),
    "CogVideoX1.5-5B": Picture(sizes(42, 3072, 48, 48, 64, 12288), 226, 0, 2, 16, frames=2, norms=True, turns=True),
}
VIDEOS = {"Wan2.1": (480, 832), "HunyuanVideo": (720, 1280), "CogVideoX-2b": (480, 720), "CogVideoX1.5-5B": (768, 1360)}


def diffusion(folder):
    for r in folder.read("mlenergy_diffusion.csv"):
        name = next(n for n in DIFFUSION if n in r["model"])
        p = DIFFUSION[name]
        height, width = VIDEOS.get(name) or (int(r["height"]), int(r["width"]))
        frames = -(-((int(r["frames"]) - 1) // 4 + 1) // p.frames) if r["frames"] else 1
        tokens = frames * (height // p.side) * (width // p.side) + p.text
        gpus, outputs = int(r["n_gpus"]), int(r["batch"])
        power = float(r["avg_power_w"]) / gpus
        pass_s = float(r["batch_latency_s"]) / int(r["steps"]) * gpus * LAYERS / p.sizes.layers
        graph = folder.graph(f"{name}-{tokens}".lower(), lambda: PictureLayers(p, tokens, LAYERS).text())
        yield {"name": name.lower(), "graph": graph, "batch": outputs * p.passes, "gpu": MLENERGY_GPUS[r["device"]],
               "precision": "bf16", "runtime": "eager", "latency_ms": pass_s * 1e3, "energy_j": power * pass_s, "power_w": power,
               "source": "mlenergy-diffusion", "gpus": gpus}


SOURCES = {"zeus": zeus, "generation": generation, "mlenergy-llm": serving, "mlenergy-diffusion": diffusion}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=pathlib.Path, default=pathlib.Path("../shared"))
    parser.add_argument("--only", action="append", choices=sorted(SOURCES))
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    args = parser.parse_args()
    folder = Folder(args.shared, args.output)
    for name in args.only or SOURCES:
        count = 0
        with open(folder.path / f"{name}.csv", "w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, restval="", extrasaction="ignore", lineterminator="\n")
            writer.writeheader()
            for row in SOURCES[name](folder):
                count += 1
                writer.writerow({key: f"{value:.8g}" if isinstance(value, float) else value for key, value in row.items()})
        print(f"{name}: {count} rows, {len(folder.graphs)} graphs")


if __name__ == "__main__":
    main()
