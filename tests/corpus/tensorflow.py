#!/usr/bin/env python3
"""The TensorFlow family: TFLite, GraphDef and SavedModel, Keras, TensorFlow.js.

The share of the files that is read; shapes against executed ones and those stored in TFLite files; parameters and
multiply-adds against the frameworks' own; operators as Netron and the frameworks count them; one network in several
formats.

    tensorflow.py [PART OF A FILE'S NAME]        prints every difference of those files
"""
import collections
import gzip
import pathlib
import subprocess
import sys
import tempfile

import corpus

FORMATS = {"tflite": ("tflite", "made/tflite"), "tensorflow": ("tensorflow", "made/graphdef"), "savedmodel": ("made/savedmodel",),
           "keras": ("keras", "made/keras"), "tfjs": ("tfjs",)}

# Files without a network of this family.
NOT_MEANT = {
    "res__ONNXTests__UNIT_Gemm_001__test.pbtxt": "ONNX in text form",
    "caffe2_predict_net.pb": "Caffe2",
    "fingerprint.pb": "no graph: a SavedModel's fingerprint",
    "keras_metadata.pb.gz": "no graph: what Keras 2 keeps beside a SavedModel",
    "pre_pr22362_nested_container.keras": "a subclassed model: its layers are in Python code",
}

# Data-dependent shapes, and the reference's shape of a handle.
DATA = {"NonZero", "Unique", "NonMaxSuppressionV3", "NonMaxSuppressionV4", "NonMaxSuppressionV5", "NonMaxSuppression",
        "DynamicPartition", "ListDiff", "RaggedRange", "Bincount", "UnsortedSegmentSum"}

# One operator of the file becomes one of these. Joins and reshapes are left out: shape arithmetic and layers also
# expand to them.
SAME_TENSORFLOW = {
    "Conv": ("Conv2D", "Conv3D", "DepthwiseConv2dNative", "FusedDepthwiseConv2dNative", "_FusedConv2D", "_FusedDepthwiseConv2dNative"),
    "ConvTranspose": ("Conv2DBackpropInput", "Conv3DBackpropInputV2"),
    "BatchNormalization": ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"),
    "MatMul+Gemm+Einsum": ("MatMul", "BatchMatMul", "BatchMatMulV2", "_FusedMatMul", "Einsum"),
    "MaxPool": ("MaxPool", "MaxPool3D", "MaxPoolWithArgmax"),
    "AveragePool": ("AvgPool", "AvgPool3D"),
    "Resize": ("ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic", "ResizeArea"),
    "Softmax": ("Softmax",),
    "Sigmoid": ("Sigmoid",),
}
SAME_KERAS = {
    "Conv": ("Conv1D", "Conv2D", "Conv3D", "Convolution1D", "Convolution2D", "Convolution3D", "AtrousConvolution1D", "AtrousConvolution2D",
             "DepthwiseConv1D", "DepthwiseConv2D") + 2 * ("SeparableConv1D", "SeparableConv2D", "SeparableConvolution2D"),
    "ConvTranspose": ("Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose", "Deconvolution2D"),
    "BatchNormalization": ("BatchNormalization",),
    "LayerNormalization": ("LayerNormalization",),
    "MaxPool": ("MaxPooling1D", "MaxPooling2D", "MaxPooling3D", "MaxPool2D"),
    "AveragePool": ("AveragePooling1D", "AveragePooling2D", "AveragePooling3D"),
}
SAME_TFLITE = {  # Netron's spelling and the schema's
    "Conv": ("Conv2D", "DepthwiseConv2D", "Conv3D", "CONV_2D", "DEPTHWISE_CONV_2D", "CONV_3D"),
    "ConvTranspose": ("TransposeConv", "TRANSPOSE_CONV"),
    "Gemm+MatMul": ("FullyConnected", "FULLY_CONNECTED", "BatchMatmul", "BatchMatMul", "BATCH_MATMUL"),
    "MaxPool": ("MaxPool2D", "MAX_POOL_2D"),
    "AveragePool": ("AveragePool2D", "AVERAGE_POOL_2D"),
    "Resize": ("ResizeBilinear", "RESIZE_BILINEAR", "ResizeNearestNeighbor", "RESIZE_NEAREST_NEIGHBOR"),
    "Softmax": ("Softmax", "SOFTMAX"),
    "Sigmoid": ("Logistic", "LOGISTIC"),
    "HardSwish": ("HardSwish", "HARD_SWISH"),
    "LeakyRelu": ("LeakyRelu", "LEAKY_RELU"),
    "ReduceMean": ("Mean", "MEAN"),
}
# TensorFlow.js files hold a graph or Keras layers.
SAME_TFJS = {op: tuple(dict.fromkeys(SAME_TENSORFLOW.get(op, ()) + SAME_KERAS.get(op, ())))
             for op in ("Conv", "ConvTranspose", "BatchNormalization", "MaxPool", "AveragePool")}
SAME = {"tflite": SAME_TFLITE, "tensorflow": SAME_TENSORFLOW, "savedmodel": SAME_TENSORFLOW, "keras": SAME_KERAS, "tfjs": SAME_TFJS}

# Not counted: files whose functions or layers are called more often than they are defined, or where Netron shows the
# graph around a function.
CALLED = ("made/keras/nested", "made/savedmodel/convnext_tiny", "made/savedmodel/lstm_lm.tf2.15.1", "samplenet_tf2")


def is_flat(line):
    """Has no loops or branches, which are folded or counted where they run."""
    return line.get("graphs", 1) == 1 and not {"While", "WHILE", "StatelessWhile", "Enter"} & line["ops"].keys()


def executed_shapes():
    return {line["file"]: line["shapes"] for line in corpus.read_lines("models/oracle/tf_shapes.jsonl.gz")}


def plain(name):
    name = name.removeprefix("import/")
    return name[:-2] if name.endswith(":0") else name


def inspect(task):
    path, fed = task
    seen = corpus.Inspection(path, "--values", "--skip", "all", *fed)
    if seen.json is None:
        return str(path), seen.code, seen.message, None
    slim = {"values": {}, "unknown": seen.json["unknown_operators"], "producers": {}, "data": set(),
            "inputs": seen.json["inputs"]}
    for value in seen.json["values"]:
        slim["values"].setdefault(value["name"], value["shape"])
    for layer in seen.json["layers"]:
        for out in layer.get("outputs", []):
            slim["producers"][out] = layer["op"]
        if layer["op"] in DATA or not slim["data"].isdisjoint(layer.get("inputs", [])):
            slim["data"].update(layer.get("outputs", []))
    return str(path), seen.code, seen.message, slim


def verdict_of(shape, truth):
    if shape is None:
        return "unknown"
    if truth == [0] and shape == []:  # the reference's notation of a scalar
        return "exact"
    if len(shape) != len(truth) or any(isinstance(a, int) and a != b for a, b in zip(shape, truth)):
        return "wrong"
    return "exact" if all(isinstance(a, int) for a in shape) else "unknown"


def check_executed(report, only):
    truths = executed_shapes()
    work = [(corpus.MODELS / file, ()) for file in truths if only in file]
    first = list(corpus.parallel(inspect, work))
    again = []
    for path, _, _, seen in first:  # placeholders of open shapes get the executed sizes
        truth = {plain(name): dims for name, dims in truths[str(path).removeprefix(f"{corpus.MODELS}/")].items()}
        fed = []
        for value in seen["inputs"] if seen else []:
            if value["name"] in truth:
                fed += ["--shape", f"{value['name']}={','.join(map(str, truth[value['name']]))}"]
        again.append((path, tuple(fed)))
    counts, wrong = collections.Counter(), []
    for path, code, message, seen in corpus.parallel(inspect, again):
        file = path.removeprefix(f"{corpus.MODELS}/")
        if seen is None:
            counts["not read"] += len(truths[file])
            continue
        for name, dims in truths[file].items():
            own = plain(name)
            if own not in seen["values"]:
                counts["not needed by an output"] += 1
                continue
            if "TensorArray" in name and len(dims) == 1 and dims[0] > 99:  # bytes of a handle
                continue
            verdict = verdict_of(seen["values"][own], dims)
            if verdict == "wrong" and dims == [0] and seen["producers"].get(own) in ("Identity", None):
                verdict = "flow"  # a TensorArray's flow represents the array
            if verdict == "unknown" and own in seen["data"]:
                verdict = "data"
            counts[verdict] += 1
            if verdict in ("wrong", "unknown"):
                line = f"{verdict}\t{file}\t{name}\t{seen['producers'].get(own)}\t{seen['values'][own]}\texpected {dims}"
                report.detail(line)
                if verdict == "wrong":
                    wrong.append(line)
                if only:
                    print(line)
    knowable = counts["exact"] + counts["unknown"] + counts["wrong"] + counts["not read"]
    share = 100 * counts["exact"] / max(knowable, 1)
    report.say(f"executed shapes of TensorFlow graphs: {counts['exact']} of {knowable} exact ({share:.2f} %); " +
               ", ".join(f"{n} {what}" for what, n in sorted(counts.items()) if what != "exact"))
    report.check(not wrong, "no executed shape is contradicted", wrong)
    report.check(share >= 98, "at least 98 % of the executed shapes are exact", [f"{share:.2f} %"])


def check_stored(report, only):
    tool = corpus.BUILD / "tests/tools/declared"
    paths = [str(path) for path in corpus.files_of(FORMATS["tflite"]) if only in str(path)]
    done = subprocess.run([str(tool), *paths], capture_output=True, text=True, timeout=600)
    exact = unknown = wrong = other_type = 0
    for line in done.stdout.splitlines():
        fields = line.split("\t")
        if line.startswith("  "):
            report.detail(line)
            if only:
                print(line)
            other_type += fields[0] == "  wrong" and fields[3].partition("[")[2] == fields[4].partition("[")[2]
        elif len(fields) == 4:
            exact, unknown, wrong = exact + int(fields[1]), unknown + int(fields[2]), wrong + int(fields[3])
    share = 100 * (exact + other_type) / max(exact + unknown + wrong, 1)
    report.say(f"shapes stored in TFLite files: {exact + other_type} of {exact + unknown + wrong} computed exactly ({share:.2f} %; {other_type} of "
               f"them with another type), {unknown} unknown to the rules (the stored ones are used), {wrong - other_type} of another shape")
    report.check(done.returncode == 0 and 100 * wrong <= exact + unknown + wrong, "rules and stored shapes agree",
                 done.stderr.splitlines())
    report.check(share >= 98, "at least 98 % of the stored shapes are computed", [f"{share:.2f} %"])


def check_made(report, only):
    lines = [line for line in corpus.read_lines("models/oracle/made.jsonl.gz")
             if line["file"].split("/")[0] in ("tflite", "graphdef", "savedmodel", "keras") and line.get("macs") and
             not any(name in line["file"] for name in NOT_MEANT) and only in line["file"]]
    work = [("made/" + line["file"], line) for line in lines]
    same_macs, same_params, different = 0, 0, []
    networks = collections.defaultdict(dict)
    for (file, line), (totals, message) in zip(work, corpus.parallel(totals_of, [file for file, _ in work])):
        if totals is None:
            different.append(f"{file}: {message}")
            continue
        near = [p for p in (line["params"], line.get("params_trainable")) if p and abs(totals["params"] - p) <= max(0.005 * p, 16)]
        same_macs += totals["macs"] == line["macs"]
        # TFLite's converter folds batch norms and merges equal constants, so there are fewer.
        same_params += bool(near) or file.startswith("made/tflite")
        if totals["macs"] != line["macs"] or not (near or file.startswith("made/tflite")):
            different.append(f"{file}: MACs {totals['macs']} of {line['macs']}, parameters {totals['params']} of {line['params']}")
        networks[line["network"]][file] = totals
    for line in different:
        report.detail(line)
        if only:
            print(line)
    n = len(work)
    report.say(f"made with the frameworks: MACs of {same_macs} of {n} files exact, parameters of {same_params} within 0.5 %")
    report.check(same_macs >= 0.98 * n, "MACs are those of the framework", different)
    report.check(same_params >= 0.98 * n, "parameters are those of the framework", different)
    for network in ("resnet50", "mobilenet_v2", "vgg16"):
        macs = {totals["macs"] for totals in networks.get(network, {}).values()}
        if macs and not only:
            report.say(f"  {network}: {len(networks[network])} files of {len({f.split('/')[1] for f in networks[network]})} formats, "
                       f"{', '.join(f'{m:,}' for m in sorted(macs))} MACs")
            report.check(max(macs) <= 1.005 * min(macs), f"{network}: the same MACs in all formats", sorted(map(str, macs)))


def totals_of(file):
    seen = corpus.Inspection(corpus.MODELS / file, *([] if file.startswith("made/tflite") else ["--batch", "1"]))
    return (seen.json["totals"], "") if seen.json else (None, seen.message)


def check_read(report, only):
    for name, directories in FORMATS.items():
        corpus.check_read(report, name, [path for path in corpus.files_of(directories) if only in str(path)], NOT_MEANT, 98)


def check_counts(report, only):
    for name, directories in FORMATS.items():
        files = corpus.Format(report, name, corpus.files_of(directories), only=only)
        files.check_counts(SAME[name], CALLED, is_flat)


def check_cut(report):
    """A file that lost its last bytes is reported as cut off; the whole file is not."""
    with tempfile.TemporaryDirectory() as directory:
        for lost in (0, 20000):
            path = pathlib.Path(directory) / "resnet50.h5"
            content = gzip.decompress((corpus.MODELS / "made/keras/resnet50.keras3.15.1.h5.gz").read_bytes())
            path.write_bytes(content[:len(content) - lost])
            notes = corpus.Inspection(path, "--batch", "1").json.get("notes", [])
            report.check(any("is cut off" in note for note in notes) == bool(lost), f".h5 without its last {lost} bytes", notes)


def main():
    corpus.require("models/oracle/tf_shapes.jsonl.gz", "models/oracle/made.jsonl.gz", "models/oracle/netron.jsonl.gz", "models/tflite")
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    report = corpus.Report("tensorflow" if not only else "tensorflow-part")
    check_read(report, only)
    check_executed(report, only)
    check_stored(report, only)
    check_made(report, only)
    check_counts(report, only)
    check_cut(report)
    report.end()


if __name__ == "__main__":
    main()
