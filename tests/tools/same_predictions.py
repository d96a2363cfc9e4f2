#!/usr/bin/env python3
"""Compares the predictions of two programs.

    same_predictions.py SOOTH OTHER_SOOTH
    same_predictions.py --bytes SOOTH OTHER_SOOTH FILE...

Without --bytes: of some networks, number by number. Totals must agree within a relative 1e-6, rows of layers and kernels within 1e-5:
times of kernels come out of networks in floats of 32 bits, whose sums are rounded in another order on every processor.

With --bytes: of the files, on one processor, after a change that may not change an answer. Each file is predicted on three GPUs in
both modes (--format json with layers, kernels and memory), its largest batch in one of them, and all of them in one table of queries.
Runtime, precision, batch and software go round from file to file. Both programs must write the same bytes and end with the same code.
"""
import csv
import itertools
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

RELATIVE = 1e-6
RELATIVE_IN_ROWS = 1e-5
LAST_DIGIT = 2e-6  # JSON has six decimals
SHOWN = 10
QUESTIONS = [
    ["zoo:resnet50", "--gpu", "a100-sxm4-40gb", "--batch", "32"],
    ["zoo:resnet18", "--gpu", "v100-sxm2-16gb", "--mode", "train", "--precision", "fp32"],
    ["zoo:mobilenet_v2", "--gpu", "t4", "--runtime", "engine", "--precision", "int8"],
    ["zoo:bert", "--gpu", "h100-sxm5-80gb", "--runtime", "inductor", "--precision", "bf16"],
    ["zoo:vit_b_16", "--gpu", "rtx-3090", "--layout", "nhwc", "--batch", "8"],
]
EVERYTHING = ["--format", "json", "--layers", "--kernels", "--memory"]
GPUS = ["a100-sxm4-40gb", "h100-sxm5-80gb", "rtx-3090"]
MODES = ["infer", "train"]
WAYS = [{"runtime": runtime, "precision": precision, "batch": batch, "stack": stack, "layout": layout}
        for runtime, precision, batch, stack, layout in [
            ("eager", "amp", "32", "", "nchw"), ("inductor", "amp", "8", "", "nchw"), ("eager", "fp32", "1", "pt1.12-cu113", "nchw"),
            ("engine", "fp16", "16", "", "nchw"), ("eager", "amp", "256", "pt2.4-cu124", "nhwc"), ("inductor", "bf16", "64", "pt2.4-cu124", "nchw"),
            ("eager", "fp16", "2", "pt1.10-cu113", "nhwc"), ("eager", "bf16", "128", "", "nchw")]]


def differences(one, other, where=""):
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        for key in one:
            yield from differences(one[key], other[key], f"{where}.{key}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for i, (a, b) in enumerate(zip(one, other)):
            yield from differences(a, b, f"{where}[{i}]")
    elif isinstance(one, (int, float)) and isinstance(other, (int, float)):
        relative = RELATIVE_IN_ROWS if "[" in where else RELATIVE
        if abs(one - other) > relative * max(abs(one), abs(other)) + LAST_DIGIT:
            yield f"{where[1:]}: {one} and {other}"
    elif one != other:
        yield f"{where[1:]}: {one!r} and {other!r}"


def answer(program, question):
    return json.loads(subprocess.run([program, "predict", *question, *EVERYTHING], check=True, stdout=subprocess.PIPE).stdout)


def compare_numbers(programs):
    failed = 0
    for question in QUESTIONS:
        found = list(differences(*(answer(program, question) for program in programs)))
        failed += bool(found)
        print("not ok" if found else "ok", "- predict", *question)
        for line in found[:SHOWN]:
            print("#  ", line)
    print(f"{len(QUESTIONS) - failed} passed, {failed} failed")
    return failed


# ---- bytes -----------------------------------------------------------------------------------------------------------

def output(program, arguments):
    done = subprocess.run([program, "predict", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return done.returncode, done.stdout, done.stderr


def way_of(number, mode):
    way = {**WAYS[number % len(WAYS)], "mode": mode}
    return way if mode == "infer" else {**way, "runtime": "eager"}  # training runs in no other


def options_of(number, mode, without=None):
    return [word for key, value in way_of(number, mode).items() if value and key != without for word in (f"--{key}", value)]


def questions_about(files):
    for number, file in enumerate(files):
        for gpu, mode in itertools.product(GPUS, MODES):
            yield [file, "--gpu", gpu, *options_of(number, mode), *EVERYTHING]
        yield [file, "--gpu", GPUS[number % 3], *options_of(number, MODES[number // 3 % 2], without="batch"), "--largest-batch"]


def write_table(path, files):
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, ["graph", "gpu", "mode", *WAYS[0]])
        writer.writeheader()
        for number, graph in enumerate(files):
            for gpu, mode in itertools.product(GPUS, MODES):
                writer.writerow({"graph": os.path.abspath(graph), "gpu": gpu, **way_of(number, mode)})


def compare_bytes(programs, files):
    asked = differing = refused = 0
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        table = os.path.join(scratch, "queries.csv")
        write_table(table, files)
        questions = [*questions_about(files), ["--queries", table]]
        for question, (one, other) in zip(questions, pool.map(lambda q: [output(program, q) for program in programs], questions)):
            asked += 1
            refused += one[0] != 0
            if one != other:
                differing += 1
                if differing <= SHOWN:
                    print("not ok - predict", *question)
    print(f"{asked} questions, {refused} of them refused, {differing} answered differently")
    return differing


def main():
    words = [word for word in sys.argv[1:] if word != "--bytes"]
    if len(words) < 2 or (len(words) > 2) != ("--bytes" in sys.argv):
        raise SystemExit(__doc__)
    return 1 if (compare_bytes(words[:2], words[2:]) if "--bytes" in sys.argv else compare_numbers(words[:2])) else 0


if __name__ == "__main__":
    sys.exit(main())
