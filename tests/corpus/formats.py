#!/usr/bin/env python3
"""One network in every format that has it: the same parameters, multiply-adds and kernels, and nearly the same
predictions.

    formats.py              checks, and compares the table with the one in doc/formats.md
    formats.py --write      writes the table into doc/formats.md
    formats.py --files      prints a line for each file

The setting hides how a file is written: an inference engine (which folds batch norms, and runs bias, activation and
attention inside the products), half precision, channels last, batch 8. Parameters and MACs are for batch 1.
"""
import collections
import json
import statistics
import subprocess
import sys

import corpus

PAGE = corpus.TOP / "doc/formats.md"
BEGIN, END = "<!-- formats -->\n", "<!-- /formats -->\n"
GPU, BATCH = "a100-sxm4-40gb", 8
SETTING = ["--gpu", GPU, "--precision", "fp16", "--layout", "nhwc", "--runtime", "engine", "--stack", "trt"]
NETWORKS = {"resnet50": "ResNet-50", "mobilenet_v2": "MobileNetV2", "vgg16": "VGG-16", "bert_base": "BERT-base, 128 tokens"}
DIRECTORIES = ("pt2", "torchscript", "onnx", "stablehlo", "jax-export", "hlo", "paddle", "savedmodel", "graphdef", "keras", "tflite",
               "openvino", "coreml", "mxnet", "ncnn", "pnnx")
# Types other than float32, gradients.
OTHERS = (".int8.", ".float16.", ".dynamic.", ".grad.", ".bf16.")
PARAMETERS, MACS = 0.005, 0.005  # largest relative difference
LATENCY = 0.02  # for predictions, also of files with kernels of their own

# Files whose parameters differ for a reason. They count for MACs and predictions like all others.
MERGED = "Freezing or converting merges constants of equal contents, and all weights of these files are zero"
ZERO_BIAS = "The weights of these files are zero, and their converters left out biases that are zero"
EXPLAINED = ((".frozen.", MERGED), (".mobile.", MERGED), (".optimized.", MERGED), (".dynamo.opset18.", ZERO_BIAS), ("coreml/", MERGED), ("openvino/", ZERO_BIAS),
             ("tflite/", ZERO_BIAS))
# Networks whose name is misleading.
NOT_THE_SAME = {"openvino/bert_base": "queries, keys and values are one product: all weights of the file were zero when it was converted"}
# Files with additional kernels, and which.
SOFTMAX = "Keras's networks end with a softmax"
POOL = "No pool that keeps a map of 7 × 7 as it is"
NEGATIVE_IDS, POSITIONS = "TensorFlow moves negative indices of embeddings to the end first, and positions are an input", "Positions are an input, and there is no mask"
PAIRS = "Flax has a mask for each pair of tokens"
KERAS = ("keras/", "savedmodel/", "graphdef/", "tflite/")
OWN_KERNELS = (("bert_base", ("keras/",), POSITIONS), ("bert_base", ("savedmodel/",), NEGATIVE_IDS), ("bert_base", ("stablehlo/", "jax-export/", "hlo/"), PAIRS),
               ("", KERAS, SOFTMAX), ("vgg16", ("stablehlo/", "jax-export/", "hlo/", "mxnet/"), POOL))


def explanation(file):
    return next((why for part, why in EXPLAINED if part in file), None)


def own_kernels(file):
    return next((why for network, parts, why in OWN_KERNELS if network in file and file.startswith(parts)), None)


def run(*arguments):
    done = subprocess.run([corpus.PROGRAM, *arguments], capture_output=True, text=True, timeout=corpus.TIMEOUT_S)
    return (json.loads(done.stdout), "") if done.returncode == 0 else (None, done.stderr.strip().split(": ", 2)[-1])


def shapes_for(seen, line, batch):
    """Sizes of the inputs that the file leaves open, as when it was made."""
    given = []
    for value, (_, *dims) in zip(seen["inputs"], line["inputs"].values()):
        if not value["shape"] or None in value["shape"] or any(isinstance(dim, str) for dim in value["shape"][1:]):
            given += ["--shape", f"{value['name']}={','.join(map(str, [batch, *dims[1:]]))}"]
    return given


def measure(task):
    path, line = task
    seen, why = run("inspect", path, "--format", "json")
    if seen is None:
        return None, why
    one, many = shapes_for(seen, line, 1), shapes_for(seen, line, BATCH)
    seen, why = run("inspect", path, "--format", "json", *(one or ["--batch", "1"]))
    if seen is None:
        return None, why
    predicted, why = run("predict", path, *SETTING, *(many or ["--batch", str(BATCH)]), "--format", "json", "--kernels")
    if predicted is None:
        return None, why
    return (seen["totals"]["params"], seen["totals"]["macs"], len(predicted["kernels"]), predicted["latency_ms"]["value"]), ""


def files():
    """(path, reference line) of all files to compare."""
    for line in corpus.read_lines("models/oracle/made.jsonl.gz"):
        directory = line["file"].split("/")[0]
        if line["network"] not in NETWORKS or directory not in DIRECTORIES or not line.get("macs") or ".dyn." in line["file"] or \
                any(part in line["file"] for part in OTHERS):
            continue
        path = corpus.MODELS / "made" / line["file"]
        if path.exists():
            yield str(path), line


def apart(values):
    return max(values) / min(values) - 1


def main():
    corpus.require("models/oracle/made.jsonl.gz", "models/made")
    report = corpus.Report("formats")
    tasks = list(files())
    groups = collections.defaultdict(lambda: collections.defaultdict(list))
    unread = collections.Counter()
    for (path, line), (figures, why) in zip(tasks, corpus.parallel(measure, tasks)):
        if "--files" in sys.argv:
            print(f"{line['file']:60} {figures or why}")
        other = next((why for part, why in NOT_THE_SAME.items() if line["file"].startswith(part)), None)
        if figures is None or other:
            why = other or why
            unread[line["file"].split("/")[0], why.rsplit(": ", 1)[-1]] += 1
            report.detail(f"{line['file']}: {why}")
            continue
        name = line["file"].split("/")[0]
        groups[line["network"], line["macs"]][name, explanation(line["file"]), own_kernels(line["file"])].append(figures)
    table = ["| network | format | files | parameters | MACs | kernels | latency |", "| --- | --- | --- | --- | --- | --- | --- |"]
    notes = []
    for (network, macs), formats in sorted(groups.items(), key=lambda item: (list(NETWORKS).index(item[0][0]), -len(item[1]))):
        if len(formats) < 2:
            continue
        same = [figures for (_, _, own), rows in formats.items() if not own for figures in rows]
        everything = [figures for rows in formats.values() for figures in rows]
        middle = statistics.median(figures[3] for figures in same or everything)
        title = NETWORKS[network] + ("" if macs == max(key[1] for key in groups if key[0] == network) else ", strides in the 1×1 convolutions" if network == "resnet50" else "")
        for key in sorted(formats, key=lambda key: (DIRECTORIES.index(key[0]), key[1] or "", key[2] or "")):
            rows, marks = formats[key], []
            for why in filter(None, key[1:]):
                if why not in notes:
                    notes.append(why)
                marks.append(f" ({notes.index(why) + 1})")
            off = max((figures[3] / middle - 1 for figures in rows), key=abs)
            table.append(f"| {title} | {key[0]} | {len(rows)} | {' / '.join(f'{p:,}' for p in sorted({r[0] for r in rows}, reverse=True))} | "
                         f"{rows[0][1]:,} | {' / '.join(map(str, sorted({r[2] for r in rows})))} | {100 * off:+.1f} %{''.join(marks)} |")
            title = ""
        whole = [figures for (_, why, _), rows in formats.items() if not why for figures in rows]
        label = f"{network} with {macs:,} MACs in {len({key[0] for key in formats})} formats, {len(everything)} files"
        report.check(apart([r[0] for r in whole]) <= PARAMETERS, f"{label}: the same parameters", [str(sorted({r[0] for r in whole}))])
        report.check(apart([r[1] for r in everything]) <= MACS, f"{label}: the same MACs", [str(sorted({r[1] for r in everything}))])
        if same:
            report.check(len({r[2] for r in same}) == 1, f"{label}: as many kernels in {len(same)} files", [str(sorted({r[2] for r in same}))])
        report.check(apart([r[3] for r in everything]) <= LATENCY, f"{label}: predictions {100 * apart([r[3] for r in everything]):.1f} % apart, at most "
                     f"{100 * LATENCY:.0f} %", [str(sorted({r[3] for r in everything}))])
    text = "\n".join(table) + "\n\n" + "".join(f"({i + 1}) {note}. " for i, note in enumerate(notes)).strip() + "\n"
    for line in text.splitlines():
        report.say(line)
    for (directory, why), count in sorted(unread.items()):
        report.say(f"not in the table: {count} of {directory}: {why}")
    page = PAGE.read_text()
    before, _, rest = page.partition(BEGIN)
    if "--write" in sys.argv:
        PAGE.write_text(before + BEGIN + text + END + rest.partition(END)[2])
    else:
        report.check(rest.partition(END)[0] == text, "doc/formats.md has this table", ["tests/corpus/formats.py --write puts it there"])
    report.end()


if __name__ == "__main__":
    main()
