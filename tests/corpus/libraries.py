#!/usr/bin/env python3
"""Convolutions by cuDNN and by im2col + cuBLAS against layers and networks measured from 2014 to 2017.

    tests/corpus/libraries.py [--write]    --write updates doc/training.md

data/libraries.txt was fitted on layers for which is_fitted() holds; the other layers, and all whole networks
but those of the GTX 1080 by cuBLAS and VGG-16 on the TITAN X by cuDNN 5, are kept apart.
"""
import collections
import csv
import json
import math
import statistics
import subprocess
import sys
import tempfile

import corpus

sys.path.insert(0, str(corpus.TOP / "tests/tools"))
import onnxtext  # noqa: E402

LIBRARIES = "measured/conv_libraries/"
MOST_RATIO_ERROR, LEAST_RANK, MOST_NETWORK_ERROR = 0.25, 0.8, 0.20
GOOGLENET = "models/caffe/BVLC_caffe/models__bvlc_googlenet__deploy.prototxt.gz"
NETWORKS = {"AlexNet": "zoo:alexnet", "VGG Model-A": "zoo:vgg11", "alexnet": "zoo:alexnet", "vgg16": "zoo:vgg16", "vgg19": "zoo:vgg19",
            "GoogleNet": str(corpus.SHARED / GOOGLENET), "googlenet-v1": str(corpus.SHARED / GOOGLENET),
            **{f"resnet-{n}": f"zoo:resnet{n}" for n in (18, 34, 50, 101, 152)}}
GPUS = {"GeForce GTX TITAN X": "gtx-titan-x", "GeForce GTX TITAN Black": "gtx-titan-black", "TITAN X (Maxwell)": "gtx-titan-x",
        "TITAN X (Pascal)": "titan-x-pascal", "GTX 1080": "gtx-1080", "GTX 1080 Ti": "gtx-1080-ti"}
VERSIONS = {"cuDNN R1": "r1", "cuDNN R2": "r2", "cuDNN R3-rc1": "r3", "cuDNN R4": "r4", "4.0.07": "r4", "5.0.05": "5.0", "5.1.05": "5.1",
            "5.1.10": "5.1"}


def train_phase(model, gpu, batch, *options):
    done = subprocess.run([corpus.PROGRAM, "train-phase", model, "--gpu", gpu, "--batch", str(batch), "--precision", "fp32",
                           "--optimizer", "none", "--data", "none", "--format", "json", *options], capture_output=True,
                          timeout=corpus.TIMEOUT_S)
    if done.returncode:
        raise RuntimeError(done.stderr.decode())
    return json.loads(done.stdout)


def rows(name):
    with open(corpus.SHARED / LIBRARIES / name, newline="") as file:
        return list(csv.DictReader(file))


# ---- layers ----------------------------------------------------------------------------------------------------------------

def layers():
    """{(network, layer): {library: (row of cuDNN's shape, forward ms, backward ms)}}"""
    found = collections.defaultdict(dict)
    for row in rows("caffe_layers_titanx.csv"):
        library = {"caffe im2col + cuBLAS": "cublas", "caffe cuDNN (presumed)": "cudnn"}.get(row["library"])
        if row["type"] == "Convolution" and library and not row["network"].startswith("five"):
            found[row["network"], row["layer"]][library] = row
    return {key: both for key, both in found.items() if len(both) == 2}


def is_fitted(index, network):
    return network == "alexnet" or network in ("googlenet", "vgg_a") and index % 2


def predicted_layer(row):
    """The scale before the convolution has a parameter, so the convolution computes the gradient of its input."""
    _, channels, height, width = map(int, row["input_shape"].split("x"))
    outputs, kernel, pad, stride = (int(row["output_shape"].split("x")[1]), *(int(row[k]) for k in ("kernel", "pad", "stride")))
    text = (f"input x float32[N,{channels},{height},{width}]\ninit s float32[1,{channels},1,1]\n"
            f"init w float32[{outputs},{channels},{kernel},{kernel}]\na = Mul(x, s)\n"
            f'y = Conv(a, w) name="conv" pads=[{pad},{pad},{pad},{pad}] strides=[{stride},{stride}]\noutput y\n')
    with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
        onnxtext.write(text, file.name)
        answer = train_phase(file.name, "gtx-titan-x", row["input_shape"].split("x")[0], "--stack", "cudnn-r4")
    return next(layer for layer in answer["layers"] if layer["name"] == "conv")


def ranks(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    return [order.index(i) for i in range(len(values))]


def score_layers(report):
    ratios, errors = [], collections.defaultdict(list)
    sums = collections.defaultdict(lambda: [0, 0, 0, 0])
    for index, ((network, name), both) in enumerate(layers().items()):
        answer = predicted_layer(both["cudnn"])
        by = {library: [answer[f"library_{library}"][k] for k in ("forward_ms", "backward_ms")] for library in both}
        measured = {library: [float(both[library][k]) for k in ("fwd_ms", "bwd_ms")] for library in both}
        report.detail(f"{network} {name}: {by} measured {measured}")
        for at, library in enumerate(("cublas", "cudnn")):
            sums[network][at] += sum(by[library])
            sums[network][2 + at] += sum(measured[library])
        if not is_fitted(index, network):
            for k in (0, 1):
                ratios.append((by["cublas"][k] / by["cudnn"][k], measured["cublas"][k] / measured["cudnn"][k]))
                for library in by:
                    errors[library].append(abs(by[library][k] / measured[library][k] - 1))
    rank = statistics.correlation(ranks([p for p, _ in ratios]), ranks([m for _, m in ratios]))
    error = statistics.median(abs(p / m - 1) for p, m in ratios)
    report.say(f"ratio cuBLAS / cuDNN of layers kept apart: rank correlation {rank:.2f}, median error {100 * error:.0f} %, {len(ratios)} passes")
    report.say(f"time of layers kept apart: median error cuBLAS {100 * statistics.median(errors['cublas']):.0f} %, "
               f"cuDNN R4 {100 * statistics.median(errors['cudnn']):.0f} %")
    report.check(rank >= LEAST_RANK and error <= MOST_RATIO_ERROR, "ratio of libraries per layer", [f"{rank:.3f} {error:.3f}"])
    for network, (a, b, c, d) in sums.items():
        report.say(f"convolutions of {network}, Caffe: cuBLAS / cuDNN {a / b:.1f}, measured {c / d:.1f}")
        report.check(abs(a / b / (c / d) - 1) <= MOST_NETWORK_ERROR, f"ratio of libraries of {network}", [f"{a / b:.2f} {c / d:.2f}"])


# ---- networks --------------------------------------------------------------------------------------------------------------

def networks():
    """{(gpu, network, batch): {version, or "cublas": ms of forward and backward}}, medians of repeated runs."""
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for row in rows("networks_titan.csv") + rows("networks_torch_pascal.csv"):
        library, gpu, network = row["library"], GPUS.get(row["device"]), row["network"]
        version = "cublas" if "im2col" in library else VERSIONS.get(row.get("library_version") or row.get("cudnn"))
        if gpu and network in NETWORKS and version and row.get("precision", "fp32") == "fp32":
            found[gpu, network, int(row["batch"])][version].append(float(row["total_ms"]))
    return {key: {v: statistics.median(times) for v, times in of.items()} for key, of in found.items()}


def predicted_network(key, version):
    gpu, network, batch = key
    options = ["--library", "cublas"] if version == "cublas" else ["--library", "cudnn", "--stack", f"cudnn-{version}"]
    stages = {s["stage"]: s["latency_ms"]["value"] for s in train_phase(NETWORKS[network], gpu, batch, *options)["stages"]}
    return stages["forward"] + stages["backward"]


def score_networks(report):
    errors, ratios = collections.defaultdict(list), collections.defaultdict(list)
    for key, measured in networks().items():
        predicted = {version: predicted_network(key, version) for version in measured}
        for version, ms in measured.items():
            if key[:2] == ("gtx-titan-x", "vgg16") or key[0] == "gtx-1080":
                continue  # fitted
            report.detail(f"{key} {version}: {predicted[version]:.1f} ms, measured {ms:.1f}, {predicted[version] / ms - 1:+.2f}")
            errors[version].append(abs(predicted[version] / ms - 1))
            if version != "cublas" and "cublas" in measured:
                ratio = predicted["cublas"] / predicted[version] / (measured["cublas"] / ms)
                report.detail(f"    ratio {ratio - 1:+.2f}")
                ratios[key[0]].append(abs(ratio - 1))
    for version, found in sorted(errors.items()):
        report.say(f"whole networks, {version}: mean error {100 * statistics.mean(found):.0f} %, {len(found)} networks")
    every = [e for found in ratios.values() for e in found]
    for gpu, found in sorted(ratios.items()):
        report.say(f"ratio cuBLAS / cuDNN of whole networks on {gpu}: mean error {100 * statistics.mean(found):.0f} %, {len(found)} ratios, "
                   f"{sum(e <= MOST_NETWORK_ERROR for e in found)} within 20 %")
    report.check(statistics.median(every) <= MOST_NETWORK_ERROR, "ratio of libraries per network, median",
                 [f"{statistics.median(every):.3f}"])


def main():
    corpus.require(LIBRARIES + "caffe_layers_titanx.csv", GOOGLENET)
    report = corpus.Report("libraries")
    score_layers(report)
    score_networks(report)
    report.page("doc/training.md")
    table = subprocess.run([sys.executable, corpus.TOP / "tools/findings.py", "--check"], capture_output=True, text=True)
    report.check(table.returncode == 0, "the table of findings is within a half of what tools/findings.py prints", [table.stderr])
    report.end()


if __name__ == "__main__":
    main()
