#!/usr/bin/env python3
"""The three findings of the training study for four networks, on GPUs from Kepler to Hopper, batch 16 to 256.

    tools/findings.py [--write | --check]    --write updates doc/training.md; --check fails if a value there is off by half

The step is fp32 with SGD and momentum, as the study's, and amp where the GPU has tensor cores.
"""
import json
import os
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = str(pathlib.Path(os.environ.get("SOOTH_BUILD", TOP / "build")) / "sooth")
PAGE = TOP / "doc/training.md"
BEGIN, END = "<!-- table of tools/findings.py -->\n", "<!-- /table -->\n"
NETWORKS = {"AlexNet": "zoo:alexnet", "VGG-16": "zoo:vgg16", "ResNet-50": "zoo:resnet50", "GoogLeNet": "zoo:googlenet"}
GPUS = {"K40 (Kepler)": "k40", "TITAN X (Maxwell)": "gtx-titan-x", "P100 (Pascal)": "p100", "V100 (Volta)": "v100",
        "A100 (Ampere)": "a100", "H100 (Hopper)": "h100"}
TENSOR = {"V100 (Volta)", "A100 (Ampere)", "H100 (Hopper)"}
BATCHES = (16, 64, 256)
FINDINGS = {"cudnn_over_cublas": ("cuDNN ÷ cuBLAS", 2), "convolution_over_linear": ("convolution ÷ fully connected", 1.5),
            "memory_share": ("memory, %", 20)}
MOST_ERROR = 0.5


def findings(network, gpu, batch, precision):
    done = subprocess.run([PROGRAM, "train-phase", network, "--gpu", gpu, "--batch", str(batch), "--precision", precision, "--format",
                           "json"], capture_output=True, timeout=60, check=True)
    return {f["name"]: f for f in json.loads(done.stdout)["findings"]}


def holds(name, value):
    least = FINDINGS[name][1]
    return value <= least if name == "memory_share" else value >= least


def rows():
    """(finding, network, precision, gpu): the values by batch."""
    found = {}
    for network, model in NETWORKS.items():
        for gpu, short in GPUS.items():
            for precision in ("fp32", "amp") if gpu in TENSOR else ("fp32",):
                by_batch = [findings(model, short, batch, precision) for batch in BATCHES]
                for name in FINDINGS:
                    found[name, network, precision, gpu] = [f[name]["value"] for f in by_batch]
    return found


def cell(name, values):
    """Writes values that confirm the finding in bold."""
    if values is None:
        return ""
    shown = [f"{v:.0f}" if name == "memory_share" else f"{v:.1f}" for v in values]
    return " / ".join(f"**{text}**" if holds(name, float(text)) else text for text in shown)


def table(found):
    lines = ["| finding | network | precision | " + " | ".join(GPUS) + " |", "| --- | --- | --- |" + " --- |" * len(GPUS)]
    for name, (title, _) in FINDINGS.items():
        for network in NETWORKS:
            for precision in ("fp32", "amp"):
                cells = [cell(name, found.get((name, network, precision, gpu))) for gpu in GPUS]
                lines.append(f"| {title} | {network} | {precision} | " + " | ".join(cells) + " |")
    for name, (title, least) in FINDINGS.items():
        values = [v for key, of in found.items() if key[0] == name for v in of]
        lines.append(f"\n{title}: as in the study in {sum(holds(name, v) for v in values)} of {len(values)} steps; "
                     f"from {min(values):.1f} to {max(values):.1f}.")
    return "\n".join(lines) + "\n"


def numbers(text):
    return [float(n) for n in re.findall(r"(?<![\w-])\d+(?:\.\d+)?(?![\w-])", text)]


def main():
    new = table(rows())
    before, _, rest = PAGE.read_text().partition(BEGIN)
    old, _, after = rest.partition(END)
    if "--write" in sys.argv:
        PAGE.write_text(before + BEGIN + new + END + after)
    elif "--check" in sys.argv:
        a, b = numbers(old), numbers(new)
        wrong = len(a) != len(b) or [(x, y) for x, y in zip(a, b) if abs(x - y) > max(MOST_ERROR * max(x, y), 0.5)]
        if wrong:
            sys.exit(f"doc/training.md is out of date (tools/findings.py --write): {wrong}")
    else:
        print(new, end="")


if __name__ == "__main__":
    main()
