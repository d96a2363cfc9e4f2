#!/usr/bin/env python3
"""Compares the predictions of two programs, number by number: totals must agree within a relative 1e-6, rows of layers and kernels within 1e-5.

Times of kernels come out of networks in floats of 32 bits, whose sums are rounded in another order on every processor.

    same_predictions.py SOOTH OTHER_SOOTH
"""
import json
import subprocess
import sys

RELATIVE = 1e-6
RELATIVE_IN_ROWS = 1e-5
LAST_DIGIT = 2e-6  # JSON has six decimals
QUESTIONS = [
    ["zoo:resnet50", "--gpu", "a100-sxm4-40gb", "--batch", "32"],
    ["zoo:resnet18", "--gpu", "v100-sxm2-16gb", "--mode", "train", "--precision", "fp32"],
    ["zoo:mobilenet_v2", "--gpu", "t4", "--runtime", "engine", "--precision", "int8"],
    ["zoo:bert", "--gpu", "h100-sxm5-80gb", "--runtime", "inductor", "--precision", "bf16"],
    ["zoo:vit_b_16", "--gpu", "rtx-3090", "--layout", "nhwc", "--batch", "8"],
]


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
    return json.loads(subprocess.run([program, "predict", *question, "--format", "json", "--layers", "--kernels", "--memory"], check=True,
                                     stdout=subprocess.PIPE).stdout)


def main():
    failed = 0
    for question in QUESTIONS:
        found = list(differences(*(answer(program, question) for program in sys.argv[1:3])))
        failed += bool(found)
        print("not ok" if found else "ok", "- predict", *question)
        for line in found[:10]:
            print("#  ", line)
    print(f"{len(QUESTIONS) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
