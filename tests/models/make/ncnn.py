#!/usr/bin/env python3
"""Makes ncnn networks with every layer that Sooth maps; ncnn runs them on zeros and reports the shapes of all blobs.

    python ncnn.py        needs ncnn; writes tests/models/formats/ncnn
"""
import math
import pathlib
import sys

import numpy as np

# Excludes this directory, because this script has the package's name.
sys.path = [p for p in sys.path if pathlib.Path(p or ".").resolve() != pathlib.Path(__file__).resolve().parent]
import ncnn  # noqa: E402
sys.path.append(str(pathlib.Path(__file__).resolve().parent))
import listing  # noqa: E402

ORIGIN = f"ncnn {ncnn.__version__}: shapes by running it on zeros; multiply-adds and parameters from the sizes of weights that the layers name"

# type name: inputs -> outputs | parameters. Input sizes are those of the Input layers. Weights beside those that 'weights' names
# (parameter with their number, and what a bias adds) are given behind '+'.
NETWORKS = {
    "images": """
        Input data: -> x | 0=27 1=33 2=6
        Convolution conv_a: x -> a | 0=8 1=5 11=3 2=2 12=1 3=1 13=2 4=0 14=1 5=1 6=720 9=1
        BatchNorm bn_a: a -> b | 0=8 + 16
        ConvolutionDepthWise dw: b -> c | 0=16 1=3 2=1 3=2 4=1 14=2 15=0 16=3 5=0 6=144 7=8 9=2 -23310=1,0.1
        Split split_c: c -> c1 c2 c3 c4 |
        Pooling pool_full: c1 -> d | 0=0 1=3 11=2 2=2 12=3 3=1 13=0 14=0 15=1 5=0
        Pooling pool_valid: c2 -> e | 0=1 1=3 2=2 3=1 5=1
        Pooling pool_same: c3 -> f | 0=0 1=3 2=2 5=2
        Deconvolution deconv: d -> g | 0=6 1=4 11=3 3=3 13=2 4=1 14=1 5=1 6=1152 9=3 -23310=2,-1.0,1.0 18=1 19=1
        DeconvolutionDepthWise dedw: e -> h | 0=16 1=2 3=2 5=1 6=64 7=16 9=4
        Convolution conv_same: f -> i | 0=5 1=3 3=2 4=-233 5=1 6=720 9=5
        Convolution conv_swish: i -> j | 0=4 1=1 5=0 6=20 9=6 -23310=2,0.2,0.5
        PReLU prelu: j -> k | 0=4 + 4
        Pooling global: c4 -> l | 0=1 4=1
        InnerProduct fc: l -> m | 0=7 1=1 2=112 9=1
        Pooling adaptive: g -> n | 0=1 7=1 8=1
        Flatten flat_k: k -> o |
        InnerProduct fc_o: o -> p | 0=3 1=0 2=%(k)d
        Softmax prob: p -> q | 0=0""",
    "more_images": """
        Input data: -> x | 0=18 1=20 2=8
        Split split_x: x -> x1 x2 x3 x4 x5 x6 x7 x8 |
        Interp near: x1 -> a | 0=1 1=2.0 2=1.5
        Interp linear: x2 -> b | 0=2 3=11 4=9
        Interp cubic: x3 -> c | 0=3 3=10 4=14
        Padding padded: x4 -> d | 0=1 1=2 2=3 3=4
        ShuffleChannel shuffle: x5 -> e | 0=4
        PixelShuffle shuffled: e -> f | 0=2
        Reorg reorg: f -> g | 0=2
        LRN lrn: x6 -> h | 0=0 1=3
        GroupNorm gn: h -> i | 0=4 1=8 2=1e-5 3=1 + 16
        InstanceNorm inorm: i -> j | 0=8 1=1e-5 2=1 + 16
        Scale scale: j -> k | 0=8 1=1 + 16
        Crop crop: x7 -> l | 0=2 1=3 2=1 3=10 4=12 5=5
        Crop crop_list: x8 -> m | -23309=2,1,2 -23310=2,-1,11 -23311=2,0,2
        ReLU relu: m -> n | 0=0.1
        ReLU relu_plain: n -> o | 0=0.0
        Concat cat: g k -> p | 0=0
        Slice slice: p -> q r s | -23300=3,4,6,6 1=0
        Eltwise sum: r s -> t | 0=1
        Clip clip: t -> u | 0=0.0 1=6.0
        Permute perm: q -> v | 0=3""",
    "elements": """
        Input data: -> x0 | 0=5 1=4 2=3
        Input row: -> w0 | 0=3
        Split split_w: w0 -> w1 w2 |
        AbsVal abs: x0 -> x1 |
        ELU elu: x1 -> x2 | 0=0.1
        GELU gelu: x2 -> x3 |
        HardSigmoid hsig: x3 -> x4 | 0=0.2 1=0.5
        HardSwish hswish: x4 -> x5 | 0=0.2 1=0.5
        Mish mish: x5 -> x6 |
        SELU selu: x6 -> x7 |
        Sigmoid sig: x7 -> x8 |
        Softplus soft: x8 -> x9 |
        Swish swish: x9 -> x10 |
        TanH tanh: x10 -> x11 |
        Dropout drop: x11 -> x12 |
        Noop noop: x12 -> x13 |
        UnaryOp u0: x13 -> u0 | 0=0
        UnaryOp u4: u0 -> u4 | 0=4
        UnaryOp u6: u4 -> u6 | 0=6
        UnaryOp u7: u6 -> u7 | 0=7
        UnaryOp u15: u7 -> u15 | 0=15
        UnaryOp u18: u15 -> u18 | 0=18
        BinaryOp add: u18 w1 -> b0 | 0=0
        BinaryOp number: b0 -> b1 | 0=2 1=1 2=3.0
        BinaryOp behind: b1 -> b2 | 0=7 1=1 2=3.0
        BinaryOp turned: w2 b2 -> b3 | 0=1
        Split split_b: b3 -> e0 e1 e2 |
        Eltwise product: e0 e1 e2 -> e3 | 0=0
        BinaryOp power: e3 -> e4 | 0=9 1=1 2=2.0""",
    "moves": """
        Input data: -> x | 0=6 1=4 2=3
        Split split_x: x -> x1 x2 x3 x4 x5 x6 x7 x8 x9 x10 x11 x12 x13 |
        Reduction sums: x1 -> a | 0=0 1=0 -23303=2,0,2 4=1 5=1
        Reduction mean: x2 -> b | 0=3 1=0 -23303=1,1 4=0 5=1
        Reduction whole: x3 -> c | 0=4 1=1 4=0 5=1
        Reduction last: x12 -> c2 | 0=8 1=0 -23303=1,-1 4=0 5=1
        Reshape flat: x4 -> d | 0=-1
        Reshape table: x5 -> e | 0=8 1=-1
        Reshape image: x6 -> f | 0=3 1=0 2=-1
        Permute p1: x7 -> g | 0=1
        Permute p2: g -> h | 0=2
        Permute p4: h -> i | 0=4
        Permute p5: i -> j | 0=5
        Permute turned: e -> k | 0=1
        ExpandDims expanded: k -> l | -23303=1,0
        Squeeze squeezed: l -> m | -23303=1,0
        Tile tiled: x8 -> n | -23302=2,2,3
        Tile tiled_axis: x9 -> o | 0=0 1=4
        Slice slices: x10 -> p q | -23300=2,-233,-233 1=-1
        Crop cut: x11 -> r | 0=1 1=1 2=0 3=-233 4=-233 5=-233 6=2 7=1
        MemoryData table_data: -> s | 0=6 1=4 2=3 + 72
        BinaryOp with_table: x13 s -> t | 0=0""",
    "tokens": """
        Input data: -> x | 0=16 1=10
        Split split_x: x -> x1 x2 x3 x4 |
        LayerNorm ln: x1 -> a | 0=16 1=1e-5 2=1 + 32
        RMSNorm rms: x2 -> b | 0=16 1=1e-5 2=1 + 16
        MultiHeadAttention mha: a -> c | 0=16 1=4 2=256 + 1088
        Gemm gemm: b -> d | 2=0 3=1 4=0 5=1 6=1 7=10 8=12 9=16 10=4 + 204
        InnerProduct rows: x3 -> e | 0=5 1=1 2=80 9=1
        Permute turn: d -> f | 0=1
        MatMul matmul: f x4 -> g | 0=0
        Split split_g: g -> g1 g2 |
        Softmax soft: g1 -> h | 0=1 1=1
        MatMul matmul_turned: h g2 -> i | 0=1""",
}


def lines_of(text):
    for line in filter(None, map(str.strip, text.splitlines())):
        head, _, parameters = line.partition("|")
        parameters, _, weights = parameters.partition(" + ")
        (kind, name), (ins, outs) = head.split(":")[0].split(), [part.split() for part in head.split(":")[1].split("->")]
        yield kind, name, ins, outs, parameters.split(), int(weights or 0)


def run(text):
    """Shapes of all blobs by ncnn, with a batch of one in front."""
    net = ncnn.Net()
    net.opt.use_vulkan_compute = False
    net.opt.lightmode = net.opt.use_packing_layout = net.opt.use_fp16_storage = net.opt.use_bf16_storage = False
    path = pathlib.Path("/tmp") / f"ncnn_made_{id(text)}.param"
    path.write_text(text)
    net.load_param(str(path))
    path.unlink()
    net.load_model(ncnn.DataReaderFromEmpty())
    shapes = {}
    for line in text.splitlines()[2:]:
        parts = line.split()
        sizes = dict(p.split("=") for p in parts[4:] if "=" in p)
        if parts[0] == "Input":
            shapes[parts[4]] = [int(sizes[k]) for k in ("2", "1", "0") if k in sizes]
    inputs = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
    with net.create_extractor() as extractor:
        for name, array in inputs.items():
            extractor.input(name, ncnn.Mat(array).clone())
        for line in text.splitlines()[2:]:
            parts = line.split()
            n_in, n_out = int(parts[2]), int(parts[3])
            for blob in parts[4 + n_in:4 + n_in + n_out]:
                code, mat = extractor.extract(blob)
                if code != 0:
                    raise SystemExit(f"ncnn does not run {blob}")
                shapes[blob] = {1: [mat.w], 2: [mat.h, mat.w], 3: [mat.c, mat.h, mat.w]}[mat.dims]
    return {name: [1, *shape] for name, shape in shapes.items()}


def count(rows, shapes):
    params = macs = 0
    for kind, _, ins, outs, parameters, weights in rows:
        given = dict(p.split("=") for p in parameters)
        params += weights
        if kind.startswith(("Convolution", "Deconvolution")):
            size, filters, side = int(given["6"]), int(given["0"]), (ins if kind.startswith("De") else outs)[0]
            params += size + filters * int(given.get("5", 0))
            macs += size * math.prod(shapes[side][2:])
        elif kind == "InnerProduct":
            size, units = int(given["2"]), int(given["0"])
            params += size + units * int(given.get("1", 0))
            macs += math.prod(shapes[outs[0]]) * size // units
        elif kind == "MatMul":
            macs += math.prod(shapes[outs[0]]) * shapes[ins[0]][-1]
        elif kind == "Gemm":
            macs += math.prod(shapes[outs[0]]) * int(given["9"])
        elif kind == "MultiHeadAttention":
            tokens, width = shapes[ins[0]][1:]
            macs += 4 * tokens * width * width + 2 * tokens * tokens * width
    return params, macs


def main():
    directory = listing.FORMATS / "ncnn"
    directory.mkdir(parents=True, exist_ok=True)
    entries = []
    for name, text in NETWORKS.items():
        if "%(k)d" in text:  # the inner product after blob k has the same width
            head = text[:text.index("Flatten")]
            rows = list(lines_of(head))
            text = text.replace("%(k)d", str(3 * math.prod(run(form(rows))["k"])))
        rows = list(lines_of(text))
        written = form(rows)
        shapes = run(written)
        params, macs = count(rows, shapes)
        (directory / f"{name}.param").write_text(written)
        entries.append({"file": f"{name}.param", "values": {n: listing.tensor("float32", s) for n, s in shapes.items()}, "params": params,
                        "macs": macs, "predict": "together"})
    listing.write("ncnn", ORIGIN, entries)


def form(rows):
    out = [f"{k:24} {n:16} {len(i)} {len(o)} {' '.join(i + o + p)}" for k, n, i, o, p, _ in rows]
    blobs = sum(len(o) for _, _, _, o, _, _ in rows)
    return f"7767517\n{len(rows)} {blobs}\n" + "\n".join(out) + "\n"


if __name__ == "__main__":
    main()
