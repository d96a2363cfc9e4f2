#!/usr/bin/env python3
"""OpenVINO representations: the share that is read, shapes against the ports, operators against Netron and the
converter, multiply-adds against the framework and the ports.

    openvino.py [PART OF A FILE'S NAME]        prints every difference of those files
"""
import gzip
import math
import sys
import xml.etree.ElementTree

import corpus

# One layer of the file becomes one of these.
SAME = {
    "Conv": ("Convolution", "GroupConvolution"),
    "ConvTranspose": ("ConvolutionBackpropData",),
    "MatMul+Gemm": ("MatMul", "FullyConnected"),
    "MaxPool+AveragePool+GlobalAveragePool": ("MaxPool", "AvgPool", "AdaptiveAvgPool"),
    "Relu": ("ReLU", "Relu"),
    "Clip": ("Clamp",),
    "Softmax": ("SoftMax", "Softmax"),
    "MeanVarianceNormalization": ("MVN",),
    "LSTM": ("LSTMSequence",),
    "Gelu": ("Gelu",),
}

# The converter merges equal constants, and all weights are zero: queries, keys and values are one product in these
# files.
EXPLAINED = {"lstm_lm": "the states that sequences begin with are constants and no parameters",
             "tiny_lstm": "the states that sequences begin with are constants and no parameters",
             "bert_base": "the file has one product for queries, keys and values, whose weights are all zero",
             "unet_small": "two of the constants are the scales of Interpolate"}


def read_net(path):
    content = path.read_bytes()
    return xml.etree.ElementTree.fromstring(gzip.decompress(content) if path.suffix == ".gz" else content)


def stored_params(path, _):
    """Elements of floating-point constants with more than one element. The module's own count does not match: the
    converter folds batch norms and drops zero biases."""
    total = 0
    for layer in read_net(path).find("layers"):
        elements = math.prod(int(d.text) for d in layer.find("output")[0].findall("dim")) if layer.get("type") == "Const" else 0
        total += elements if elements > 1 and layer.find("data").get("element_type") in ("f16", "f32") else 0
    return total


def ports_macs(path):
    """Multiply-adds by the ports' dimensions; open ones are 1."""
    net = read_net(path)

    def dims(layer, side, port):
        return [max(int(d.text), 1) if int(d.text) else 0 for d in layer.find(side)[port].findall("dim")]

    total = 0
    for layer in net.find("layers"):
        kind = layer.get("type")
        if kind in ("Convolution", "GroupConvolution") and layer.get("version"):
            total += math.prod(dims(layer, "output", 0)) * math.prod(dims(layer, "input", 1)[1 + (kind[0] == "G"):])
        elif kind == "ConvolutionBackpropData":
            total += math.prod(dims(layer, "input", 0)) * math.prod(dims(layer, "input", 1)[1:])
        elif kind == "MatMul":
            a = dims(layer, "input", 0)
            total += math.prod(dims(layer, "output", 0)) * a[-2 if layer.find("data").get("transpose_a") == "true" else -1]
        elif kind == "FullyConnected":
            total += math.prod(dims(layer, "input", 0)) * int(layer.find("data").get("out-size"))
        elif kind in ("LSTMSequence", "ScaledDotProductAttention"):
            return None  # not a plain product
    return total


def check_ports(report, files):
    same, different, compared = 0, [], 0
    for path, (code, _, seen) in files.seen.items():
        truth = ports_macs(path) if code == 0 else None
        if truth is None:
            continue
        compared += 1
        if seen["totals"]["macs"] == truth:
            same += 1
        else:
            different.append(f"{files.relative(path)}: {seen['totals']['macs']} of {truth}")
    for line in different:
        report.detail("macs\t" + line)
    report.say(f"openvino: MACs of {same} of {compared} files are those that the ports give")
    report.check(same >= 0.98 * compared, "openvino: MACs are those that the ports give", different)


def main():
    corpus.require("models/oracle/made.jsonl.gz", "models/oracle/netron.jsonl.gz", "models/openvino")
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    report = corpus.Report("openvino" if not only else "openvino-part")
    paths = corpus.files_under(("openvino", "made/openvino"))
    files = corpus.Format(report, "openvino", paths, lambda path: ("--batch", "1") if ".dyn" in path.name else (), only)
    files.check_read(0.9)
    files.check_declared(0.95)
    files.check_counts(SAME)
    files.check_totals(EXPLAINED, stored_params)
    check_ports(report, files)
    report.end()


if __name__ == "__main__":
    main()
