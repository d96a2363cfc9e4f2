#!/usr/bin/env python3
"""`sooth measure` computes correctly: every library gives the gradients of the plain reference for a network with all
operators, five zoo networks give PyTorch's gradients, and 200 steps lower the loss of a small network.

A library that is not installed is skipped, and so is PyTorch; SOOTH_TORCH_PYTHON names the Python that has it.
"""
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("SOOTH_BUILD") or TOP / "build")
PROGRAM = str(BUILD / "sooth")
PYTHON = os.environ.get("SOOTH_TORCH_PYTHON", sys.executable)
LIBRARIES = ["onednn", "openblas"]
TORCH_TIMEOUT_S = 1500

ALL_OPERATORS = """
input x float32[N,3,20,20]
init w1 float32[16,3,3,3]
init b5 float32[48]
init w2 float32[16,1,3,3]
init w3 float32[32,8,1,1]
init w4 float32[32,16,3,3]
init w5 float32[48,64,3,3]
init w6 float32[12,48,1,1]
init w7 float32[48,12,1,1]
init s float32[16]
init t float32[16]
init m float32[16]
init v float32[16]
init f1 float32[432,30]
init c1 float32[30]
init f2 float32[10,30]
init low float32[](-0.5)
init high float32[](1.5)
h1 = Conv(x, w1) pads=[1,1,1,1] strides=[2,2] name="stem"
h2 = BatchNormalization(h1, s, t, m, v) name="norm"
h3 = Relu(h2) name="relu"
d1 = Conv(h3, w2) pads=[2,2,2,2] dilations=[2,2] group=16 name="depthwise"
d2 = LeakyRelu(d1) alpha=0.1 name="leaky"
d3 = Add(h3, d2) name="add"
g1 = Conv(d3, w3) group=2 name="grouped"
g2 = Clip(g1, low, high) name="clip"
k1 = Conv(d3, w4) pads=[1,1,1,1] name="wide"
k0 = Sigmoid(k1) name="gate"
k2 = Mul(k1, k0) name="silu"
j = Concat(g2, k2) axis=1 name="join"
l = LRN(j) size=5 alpha=0.01 name="lrn"
p1 = MaxPool(l) kernel_shape=[3,3] strides=[2,2] ceil_mode=1 name="max"
q1 = Conv(p1, w5, b5) pads=[1,1,1,1] name="last"
q2 = HardSwish(q1) name="hardswish"
a1 = GlobalAveragePool(q2) name="squeeze"
a2 = Conv(a1, w6) name="reduce"
a3 = Elu(a2) name="elu"
a4 = Conv(a3, w7) name="expand"
a5 = Sigmoid(a4) name="sigmoid"
q3 = Mul(q2, a5) name="scale"
p2 = AveragePool(q3) kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1] name="average"
z1 = Flatten(p2) name="flat"
z2 = MatMul(z1, f1) name="product"
z3 = Add(z2, c1) name="bias"
z4 = Tanh(z3) name="tanh"
z5 = Gemm(z4, f2) transB=1 name="classes"
y = Softmax(z5) axis=1 name="softmax"
output y
"""
SMALL = """
input x float32[N,3,16,16]
init w1 float32[8,3,3,3]
init w2 float32[16,8,3,3]
init f float32[8,256]
h1 = Conv(x, w1) pads=[1,1,1,1] name="one"
h2 = Relu(h1) name="relu1"
h3 = MaxPool(h2) kernel_shape=[2,2] strides=[2,2] name="pool1"
h4 = Conv(h3, w2) pads=[1,1,1,1] name="two"
h5 = Relu(h4) name="relu2"
h6 = MaxPool(h5) kernel_shape=[2,2] strides=[2,2] name="pool2"
h7 = Flatten(h6) name="flat"
y = Gemm(h7, f) transB=1 name="classes"
output y
"""

# Repeats the generator of src/measure/state.h. With batch norms, scales of 0.5 and biases of 3 and -3 keep the inputs of
# activations away from their kinks: there, rounding alone would turn gradients on and off, in PyTorch as here. The gradients
# are those of PyTorch in float64, because max pools of GoogLeNet change places by rounding, too.
COMPARISON = r"""
import copy, json, subprocess, sys, warnings
warnings.filterwarnings("ignore")
import numpy as np, torch, torchvision
program, directory, library, name = sys.argv[1:5]
BATCH, CLASSES, SIZE, CELLS = 2, 1000, 224, 64
torch.set_num_threads(1)


def mix(z):
    with np.errstate(over="ignore"):
        z = z + np.uint64(0x9e3779b97f4a7c15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xbf58476d1ce4e5b9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94d049bb133111eb)
        return z ^ (z >> np.uint64(31))


def unit(stream, i):
    with np.errstate(over="ignore"):
        return (mix(mix(np.array([stream], np.uint64)) + i.astype(np.uint64)) >> np.uint64(40)).astype(np.float32) / np.float32(2 ** 24)


def write(path, tensors):
    header, offset = {}, 0
    for key, t in tensors.items():
        header[key] = {"dtype": "F32", "shape": list(t.shape), "data_offsets": [offset, offset + 4 * t.size]}
        offset += 4 * t.size
    text = json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text)
        for t in tensors.values():
            f.write(np.ascontiguousarray(t, np.float32).tobytes())


def read(path):
    raw = open(path, "rb").read()
    length = int.from_bytes(raw[:8], "little")
    part = lambda o: np.frombuffer(raw, np.float32, (o[1] - o[0]) // 4, 8 + length + o[0])
    return {k: part(v["data_offsets"]).reshape(v["shape"]).astype(np.float64) for k, v in json.loads(raw[8:8 + length]).items()}


def network(seed):
    torch.manual_seed(seed)
    extra = dict(aux_logits=False, init_weights=False, transform_input=False) if name == "googlenet" else {}
    net = getattr(torchvision.models, name)(weights=None, **extra).train()
    for part in net.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = 0
        if isinstance(part, torch.nn.BatchNorm2d):
            with torch.no_grad():
                part.weight.fill_(0.5)
                part.bias.copy_(3 - 6 * (torch.arange(part.bias.numel()) % 2))
    return net


def step(net, x, labels):
    loss = torch.nn.functional.cross_entropy(net(x), labels)
    loss.backward()
    gradients = {k: p.grad.double().numpy() for k, p in net.named_parameters()}
    torch.optim.SGD(net.parameters(), lr=0.001, momentum=0.9).step()
    return loss.item(), gradients, {k: t.detach().double().numpy() for k, t in net.state_dict().items() if "num_batches" not in k}


def worst(ours, theirs):
    # Of each parameter, relative to its gradient or, where that cancels out, to a tenth of the mean gradient.
    norm = lambda t: float(np.linalg.norm(t))
    mean = np.sqrt(sum(norm(t) ** 2 for t in theirs.values()) / sum(t.size for t in theirs.values()))
    one = max(norm(ours[k] - t) / max(norm(t), 0.1 * mean * np.sqrt(t.size)) for k, t in theirs.items())
    total = np.sqrt(sum(norm(ours[k] - t) ** 2 for k, t in theirs.items())) / np.sqrt(sum(norm(t) ** 2 for t in theirs.values()))
    return one, total


labels = np.floor(unit(2 ** 32, np.arange(BATCH)) * np.float32(CLASSES)).astype(np.int64)
elements = 3 * SIZE * SIZE
noise = unit(2 ** 33, np.arange(BATCH * elements)).reshape(BATCH, elements)
pattern = np.stack([unit(2 ** 34 + int(k), np.arange(elements) * CELLS // elements) for k in labels])
x = torch.from_numpy((noise + 2 * pattern - np.float32(1.5)).reshape(BATCH, 3, SIZE, SIZE))
y = torch.from_numpy(labels)
result = None
for seed in range(5):
    net = network(seed)
    exact = copy.deepcopy(net).double()
    write(f"{directory}/in", {k: t.numpy() for k, t in net.state_dict().items() if "num_batches" not in k})
    loss, gradients, after = step(exact, x.double(), y)
    own = worst(step(net, x, y)[1], gradients)
    subprocess.run([program, "measure", f"zoo:{name}", "--batch", str(BATCH), "--library", library, "--threads", "1", "--images", "0", "--warmup", "0",
                    "--repeat", "1", "--load", f"{directory}/in", "--save", f"{directory}/out", "-o", "/dev/null"], check=True)
    ours = read(f"{directory}/out")
    one, total = worst({k: ours[k + ".grad"] for k in gradients}, gradients)
    moved = max(float(np.linalg.norm(ours[k] - t)) / max(float(np.linalg.norm(t)), 1e-3) for k, t in after.items())
    result = {"loss": abs(ours["loss"].item() - loss) / loss, "gradient": total, "parameter": one, "after": moved, "torch": own, "seed": seed}
    if one < 1e-4:  # else rounding changed a kink, as it does in PyTorch ("torch"): other weights
        break
print(json.dumps(result))
"""


def sooth(*arguments):
    done = subprocess.run([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def read_tensors(path):
    import array
    raw = pathlib.Path(path).read_bytes()
    length = int.from_bytes(raw[:8], "little")
    for name, entry in json.loads(raw[8:8 + length]).items():
        first, end = (8 + length + at for at in entry["data_offsets"])
        yield name, array.array("f", raw[first:end])


def difference(ours, theirs, least):
    """Relative, over all elements of a tensor, or to that mean element if it is larger."""
    norm = math.sqrt(sum(x * x for x in theirs))
    return math.sqrt(sum((a - b) ** 2 for a, b in zip(ours, theirs))) / max(norm, least * math.sqrt(len(theirs)))


def check_libraries(directory, library):
    files = {}
    for name in ("plain", library):
        files[name] = f"{directory}/{name}.safetensors"
        code, _, error = sooth("measure", f"{directory}/all.onnx", "--batch", "3", "--library", name, "--images", "0", "--warmup", "0",
                               "--repeat", "1", "--save", files[name], "-o", os.devnull)
        if code == 4 and ("built without" in error or "cannot be opened" in error):
            return f"ok - {library} gives the gradients of the reference # SKIP {library} is not installed"
        if code:
            return f"not ok - {library} gives the gradients of the reference\n#   {error}"
    theirs = dict(read_tensors(files["plain"]))
    # The gradient of a bias before a batch norm is zero up to rounding, so its error is relative to the mean gradient.
    gradients = [x for name, values in theirs.items() if name.endswith(".grad") for x in values]
    mean = math.sqrt(sum(x * x for x in gradients) / len(gradients))
    wrong = [(name, difference(values, theirs[name], 1e-3 * mean)) for name, values in read_tensors(files[library])]
    wrong = [row for row in wrong if not row[1] < 1e-4]
    return f"{'not ok' if wrong else 'ok'} - {library} gives the gradients of the reference" + "".join(f"\n#   {w}" for w in wrong)


def check_training(directory):
    code, out, error = sooth("measure", f"{directory}/small.onnx", "--batch", "16", "--library", "plain", "--warmup", "0", "--repeat", "200",
                             "--new-data", "-f", "json")
    losses = json.loads(out)["losses"] if code == 0 else []
    first, last = (sum(part) / 20 for part in (losses[:20], losses[-20:])) if losses else (0, 0)
    done = len(losses) == 200 and last < 0.5 * first
    return f"{'ok' if done else 'not ok'} - 200 steps on new images lower the loss" + ("" if done else f"\n#   {first} to {last} {error}")


def check_torch(directory, library, name):
    title = f"{name} by {library} gives PyTorch's loss and gradients to 1e-4"
    done = subprocess.run([PYTHON, "-c", COMPARISON, PROGRAM, directory, library, name], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=TORCH_TIMEOUT_S)
    error = done.stderr.decode()
    if "No module named" in error:
        return f"ok - {title} # SKIP no PyTorch or torchvision: {error.splitlines()[-1]}"
    if "built without" in error or "cannot be opened" in error:
        return f"ok - {title} # SKIP {library} is not installed"
    if done.returncode:
        return f"not ok - {title}\n#   {error.splitlines()[-1] if error else done.returncode}"
    found = json.loads(done.stdout)
    good = all(found[key] < 1e-4 for key in ("loss", "gradient", "parameter", "after"))
    return f"{'ok' if good else 'not ok'} - {title}\n#   {found}"


def main():
    only = sys.argv[1:]
    with tempfile.TemporaryDirectory() as directory:
        for name, text in (("all", ALL_OPERATORS), ("small", SMALL)):
            pathlib.Path(f"{directory}/{name}.txt").write_text(text)
            subprocess.run([str(TOP / "tests/tools/onnxtext.py"), f"{directory}/{name}.txt", f"{directory}/{name}.onnx"], check=True)
        rows = [lambda l=l: check_libraries(directory, l) for l in LIBRARIES] + [lambda: check_training(directory)]
        nets = only or ["alexnet", "vgg16", "resnet50", "googlenet", "mobilenet_v2"]
        rows += [lambda n=n: check_torch(directory, "onednn", n) for n in nets] + [lambda: check_torch(directory, "openblas", "alexnet")]
        print(f"1..{len(rows)}", flush=True)
        failed = False
        for row in rows:
            line = row()
            failed = failed or line.startswith("not ok")
            print(line, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
