#!/usr/bin/env python3
"""`sooth convert` preserves the network: read again, it has the same parameters and multiply-adds and nearly the same
prediction.

    convert.py              checks
    convert.py --files      prints a line for each file that differs

Networks made with the frameworks themselves, in every format. Predictions are for an inference engine with channels
last, where a transpose at the network's input costs little; language models get 128 tokens.
"""
import collections
import json
import os
import subprocess
import sys
import tempfile

import corpus

DIRECTORIES = ("pt2", "torchscript", "savedmodel", "graphdef", "keras", "tflite", "paddle", "openvino", "coreml", "mxnet", "ncnn", "pnnx", "hlo",
               "stablehlo", "jax-export", "hf-config", "gguf")
SETTING = ("--gpu", "a100-sxm4-40gb", "--precision", "fp16", "--layout", "nhwc", "--runtime", "engine", "--format", "json")
LATENCY, SHARE = 0.05, 0.9  # relative difference allowed, and the share of files
# Files whose figures differ, and why.
EXPLAINED = {
    "greedy_decoder.": "the rank of its input is open, and what follows from the program's own arithmetic is not in ONNX",
    ".grad.": "a weight that is read in two orders is two weights in ONNX",
}


def run(*arguments):
    done = subprocess.run([corpus.PROGRAM, *arguments], capture_output=True, timeout=corpus.TIMEOUT_S)
    return json.loads(done.stdout.decode("utf-8", "replace")) if done.returncode == 0 else None


def figures(seen):
    return seen and (seen["totals"]["params"], seen["totals"]["macs"])


def predicted(path, *arguments):
    told = run("predict", path, *SETTING, *arguments)
    return told and told["latency_ms"]["value"]


def compare(path):
    """(figures of the original, figures of its conversion, ratio of the predictions), or None if it is not read or not
    converted."""
    seen = run("inspect", path, "--format", "json")
    before = figures(seen)
    with tempfile.TemporaryDirectory() as directory:
        file = os.path.join(directory, "again.onnx")
        done = subprocess.run([corpus.PROGRAM, "convert", path, "-o", file], capture_output=True)
        if before is None or done.returncode:
            return before and (before, None, None)
        arguments = ("--seq", "128") if any("seq" in (value["shape"] or ()) for value in seen["inputs"]) else ()
        old = predicted(path, *arguments)
        new = predicted(file, *arguments) if old else None
        return before, figures(run("inspect", file, "--format", "json")), new / old if new else None if old is None else 0


def main():
    corpus.require("models/made")
    report = corpus.Report("convert")
    files = [str(path) for path in corpus.files_of([f"made/{name}" for name in DIRECTORIES]) if path.suffix not in (".md", ".csv")]
    found = collections.defaultdict(collections.Counter)
    wrong, slow, excused = [], [], set()
    for path, seen in zip(files, corpus.parallel(compare, files)):
        if seen is None:
            continue
        name = path.split("/made/")[1]
        count = found[name.split("/")[0]]
        before, after, ratio = seen
        count["files"] += 1
        count["same"] += before == after
        count["predicted"] += ratio is not None
        count["near"] += ratio is not None and abs(ratio - 1) <= LATENCY
        reason = next((part for part in EXPLAINED if part in name), None)
        if before != after:
            (excused.add(reason) if reason else wrong.append(f"{name}: {before} became {after}"))
        if ratio is not None and abs(ratio - 1) > LATENCY:
            slow.append(f"{name}: the prediction is {ratio:.3f} times that of the original")
    for line in wrong + slow:
        report.detail(line)
        if "--files" in sys.argv:
            print(line)
    for name, count in found.items():
        report.say(f"{name}: {count['same']} of {count['files']} files have the same parameters and MACs again, {count['near']} of "
                   f"{count['predicted']} predictions are within {100 * LATENCY:.0f} %")
    whole = sum(found.values(), collections.Counter())
    report.say(f"together: {whole['same']} of {whole['files']}, {whole['near']} of {whole['predicted']}")
    report.check(whole["files"] > 0 and not wrong, "what is converted has the parameters and MACs of the original, or the difference is explained", wrong)
    report.check(whole["near"] >= SHARE * whole["predicted"], f"at least {SHARE:.0%} of the predictions are within {LATENCY:.0%} of the original's", slow)
    stale = [part for part in EXPLAINED if part not in excused]
    report.check(not stale, "every explanation is needed", stale)
    report.end()


if __name__ == "__main__":
    main()
