#!/usr/bin/env python3
"""Formats that list layers without the shapes of weights: Darknet, Caffe, MXNet, ncnn and pnnx.

The share of the files that is read; shapes of Darknet's layers and those noted by ncnn's tools; layers by type against
Netron; parameters, multiply-adds and shapes against the framework's own.

    layer_formats.py [PART OF A FILE'S NAME]        prints every difference of those files
"""
import collections
import gzip
import math
import re
import sys

import corpus

FORMATS = {"darknet": (("darknet",), 98), "caffe": (("caffe",), 98), "mxnet": (("mxnet", "made/mxnet"), 90),
           "ncnn": (("ncnn", "made/ncnn", "made/pnnx"), 90)}

# Files without a network.
NOT_MEANT = {}


def slim(path):
    """Shapes of the tensors and operators by layer, in the file's own words."""
    seen = corpus.Inspection(path, "--values", "--skip", "all")
    if seen.json is None:
        return None
    shapes = {}
    for value in seen.json["values"]:
        shapes.setdefault(value["name"], value["shape"])
    layers = collections.defaultdict(list)
    for layer in seen.json["layers"]:
        layers[layer["name"]].append(layer["op"])
    return shapes, dict(layers), seen.json["unknown_operators"]


def check_darknet_shapes(report, only):
    """The reference has width, height, channels, or only the number of elements. It counts the channels of [yolo] for
    all anchors; the layer has those of its mask."""
    lines = [line for line in corpus.read_lines("models/oracle/darknet_shapes.jsonl.gz") if only in line["file"]]
    exact, total, different = 0, 0, []
    for line, seen in zip(lines, corpus.parallel(slim, [corpus.MODELS / line["file"] for line in lines])):
        for name, text in line["shapes_hwc"].items():
            truth = [int(n) for n in re.findall(r"\d+", text.partition("[")[2])]
            if not truth:  # the reference does not know these either
                continue
            shape = seen and seen[0].get(name)
            total += 1
            own = shape and shape[1:][::-1]
            is_flat = len(truth) == 1 or len(truth) == 4 or len(own or []) == 1
            if own and (own == truth or (is_flat and math.prod(own) == math.prod(truth))):
                exact += 1
            else:
                different.append(f"{line['file']}\t{name}\t{shape}\texpected {truth}")
    for line in different:
        report.detail(line)
        if only:
            print(line)
    share = 100 * exact / max(total, 1)
    report.say(f"darknet: {exact} of {total} shapes of layers exact ({share:.2f} %)")
    report.check(share >= 98, "darknet: at least 98 % of the shapes are exact", different)


# The operator that a layer of the file must become, if it is one operator. Several types may become the same one; a
# type with
# "|" becomes one of several operators.
MEANING = {
    "darknet": {"convolutional": "Conv", "connected": "Gemm", "maxpool": "MaxPool", "upsample": "Resize", "route": "Concat|Identity|Slice",
                "shortcut": "Add", "avgpool": "GlobalAveragePool", "softmax": "Softmax", "dropout": "Dropout", "rnn": "Add", "gru": "Mul",
                "scale_channels": "Mul", "sam": "Mul", "reorg": "SpaceToDepth|Pad", "reorg3d": "SpaceToDepth", "local": "MatMul"},
    "caffe": {"Convolution": "Conv", "ConvolutionDepthwise": "Conv", "CONVOLUTION": "Conv", "Deconvolution": "ConvTranspose",
              "Pooling": "MaxPool|AveragePool|GlobalAveragePool|GlobalMaxPool", "POOLING": "MaxPool|AveragePool", "InnerProduct": "Gemm|MatMul",
              "INNER_PRODUCT": "Gemm", "Concat": "Concat", "LRN": "LRN", "ROIPooling": "MaxRoiPool",
              "Permute": "Transpose", "Normalize": "LpNormalization"},
    "mxnet": {"Convolution": "Conv", "Deconvolution": "ConvTranspose", "FullyConnected": "Gemm|MatMul", "BatchNorm": "BatchNormalization",
              "Pooling": "MaxPool|AveragePool|GlobalAveragePool|GlobalMaxPool", "_contrib_AdaptiveAvgPooling2D": "MaxPool|AveragePool|GlobalAveragePool|GlobalMaxPool",
              "batch_dot": "Gemm|MatMul", "LayerNorm": "LayerNormalization", "Embedding": "Gather", "clip": "Clip"},
}


MEANING["ncnn"] = {"Convolution": "Conv", "ConvolutionDepthWise": "Conv", "DeconvolutionDepthWise": "ConvTranspose",
                   "Pooling": "MaxPool|AveragePool|GlobalAveragePool|GlobalMaxPool", "LayerNorm": "LayerNormalization",
                   "RMSNorm": "RMSNormalization", "Concat": "Concat", "LRN": "LRN", "HardSwish": "HardSwish", "Interp": "Resize"}


def by_type(name, seen):
    """Number of layers of each type, for a format that names layers by their types."""
    own = collections.Counter()
    for layer, operators in seen.items():
        kind = re.sub(r"_\d+(/.*)?$", "", layer)
        meant = MEANING[name].get(kind)
        if "/" not in layer and (not meant or any(op in meant.split("|") for op in operators)):
            own[kind] += 1
    return own


def by_meaning(name, operators):
    """Operators that layers of one type become, for a format whose layers have their own names."""
    meant = collections.Counter()
    for kind, count in operators.items():
        if kind in MEANING[name]:
            meant[MEANING[name][kind]] += count
    return meant


def check_layers(report, only):
    """As many layers of each type as Netron counts, each with its operator. Netron shows both phases of a Caffe
    network."""
    lines = [line for line in corpus.read_lines("models/oracle/netron.jsonl.gz")
             if line["file"].split("/")[0] in FORMATS and only in line["file"] and line["graphs"] == 1]
    by_format = collections.defaultdict(collections.Counter)
    different = collections.defaultdict(list)
    for line, seen in zip(lines, corpus.parallel(slim, [corpus.MODELS / line["file"] for line in lines])):
        name = line["file"].split("/")[0]
        if seen is None:
            continue
        by_format[name]["files"] += 1
        if name == "darknet":
            own, truth = by_type(name, seen[1]), collections.Counter(line["ops"])
        else:
            truth = by_meaning(name, line["ops"])
            counted = collections.Counter(op for operators in seen[1].values() for op in operators)
            own = collections.Counter({meant: sum(counted[op] for op in meant.split("|")) for meant in truth})
        if own == truth:
            by_format[name]["same"] += 1
        else:
            surplus = {k: own[k] - truth[k] for k in own.keys() | truth.keys() if own[k] != truth[k]}
            different[name].append(f"{line['file']}: {surplus}")
    for name, counts in by_format.items():
        for line in different[name]:
            report.detail(line)
            if only:
                print(line)
        report.say(f"{name}: layers by type as Netron counts them in {counts['same']} of {counts['files']} files")
        report.check(counts["same"] >= 0.98 * counts["files"], f"{name}: layers by type", different[name])


def check_hints(report, only):
    """Output shapes noted by ncnn's tools in the layers' lines: dimensions, width, height, channels."""
    exact, total, different = 0, 0, []
    paths = [path for path in corpus.files_of(("ncnn",)) if only in str(path)]
    for path, seen in zip(paths, corpus.parallel(slim, paths)):
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt") as file:
            lines = file.read().splitlines()[2:]
        for words in map(str.split, lines):
            hints = [word for word in words if word.startswith("-23330=")]
            if not hints or seen is None:
                continue
            ins, outs = int(words[2]), int(words[3])
            numbers = [int(number) for number in hints[0].partition("=")[2].split(",")][1:]
            for i, name in enumerate(words[4 + ins:4 + ins + outs]):
                rank, *sizes = numbers[4 * i:4 * i + 4]
                truth = [1] + sizes[:rank][::-1]
                total += 1
                exact += seen[0].get(name) == truth
                if seen[0].get(name) != truth:
                    different.append(f"{path.name}\t{words[0]}\t{name}\t{seen[0].get(name)}\texpected {truth}")
    for line in different:
        report.detail(line)
        if only:
            print(line)
    share = 100 * exact / max(total, 1)
    report.say(f"ncnn: {exact} of {total} noted shapes exact ({share:.2f} %)")
    report.check(share >= 98, "ncnn: at least 98 % of the noted shapes are exact", different)


def check_made(report, only):
    """Parameters, multiply-adds and every shape as inferred by the framework."""
    lines = [line for line in corpus.read_lines("models/oracle/made.jsonl.gz")
             if line["file"].split("/")[0] in ("mxnet", "ncnn", "pnnx") and only in line["file"]]
    exact = total = same = 0
    different = []
    for line in lines:
        seen = corpus.Inspection(corpus.MODELS / "made" / line["file"], "--values", "--skip", "all")
        if seen.json is None:
            different.append(f"{line['file']}: {seen.message}")
            continue
        totals, shapes = seen.json["totals"], {value["name"]: value["shape"] for value in seen.json["values"]}
        # pnnx folds batch norms into convolutions: a bias replaces scale and bias.
        slack = 0 if line["format"] == "mxnet" else 0.01 * line["params"]
        good = totals["macs"] == line["macs"] and abs(totals["params"] - line["params"]) <= slack
        same += good
        if not good:
            different.append(f"{line['file']}: MACs {totals['macs']} of {line['macs']}, parameters {totals['params']} of {line['params']}")
        for name, dims in line["nodes"] if line["format"] == "mxnet" else []:
            total += 1
            exact += shapes.get(name) == dims
            if shapes.get(name) != dims:
                different.append(f"{line['file']}: {name} {shapes.get(name)}, expected {dims}")
    for line in different:
        report.detail(line)
    report.say(f"made with the frameworks: MACs and parameters of {same} of {len(lines)} files exact, {exact} of {total} shapes")
    report.check(same == len(lines) and 100 * exact >= 98 * total, "shapes, parameters and MACs are those of the framework", different)


def main():
    corpus.require("models/oracle/darknet_shapes.jsonl.gz", "models/oracle/netron.jsonl.gz", "models/darknet")
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    report = corpus.Report("layer_formats" if not only else "layer_formats-part")
    for name, (directories, least) in FORMATS.items():
        paths = [path for path in corpus.files_of(directories) if only in str(path)]
        corpus.check_read(report, name, paths, NOT_MEANT, least)
    check_darknet_shapes(report, only)
    check_layers(report, only)
    check_hints(report, only)
    check_made(report, only)
    report.end()


if __name__ == "__main__":
    main()
