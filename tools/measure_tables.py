#!/usr/bin/env python3
"""Runs `sooth measure` on the networks of the training study and prints its three tables for this machine: the stages of a
step, the efficiency of layers by library, and memory by part. Takes some minutes on a quiet machine.

    tools/measure_tables.py [--batch N] [--warmup N] [--repeat N] [--threads N] [--build DIR] [--write] [NETWORK...]

--write puts the tables into doc/measure.md.
"""
import argparse
import json
import pathlib
import re
import subprocess

TOP = pathlib.Path(__file__).resolve().parent.parent
PAGE = TOP / "doc/measure.md"
BEGIN, END = "<!-- tables of tools/measure_tables.py -->", "<!-- end of tables -->"
NETWORKS = ["alexnet", "vgg16", "resnet50", "googlenet", "mobilenet_v2"]
STAGES = ["read", "decode", "copy", "forward", "backward", "update"]
KINDS = {"conv": {"Conv"}, "linear": {"Linear", "Gemm"}, "norm": {"BatchNormalization", "LRN"}, "pool": {"MaxPool", "AveragePool", "GlobalAveragePool"}}
MIB = 1 << 20


def digits(x):
    return f"{x:,.0f}" if x >= 100 else f"{x:.1f}" if x >= 10 else f"{x:.2f}"


def table(head, rows):
    return [f"| {' | '.join(head)} |", f"| --- |{' ---: |' * (len(head) - 1)}", *(f"| {' | '.join(row)} |" for row in rows), ""]


def ms_of(layer):
    return sum(layer[key]["value"] for key in ("forward_ms", "backward_data_ms", "backward_weights_ms"))


def stage_rows(name, answer):
    stages = {s["stage"]: s["latency_ms"]["value"] for s in answer["stages"]}
    return [name, *(digits(stages[s]) for s in STAGES), digits(answer["step_ms"]["sum"]), digits(answer["throughput_per_s"])]


def flops_of(layer, peak_gflops):
    """FLOPs from the efficiency and time of the first library's layer."""
    return (layer["efficiency"] or 0) / 100 * peak_gflops * 1e6 * (layer["forward_ms"] + layer["backward_ms"])


def efficiency_rows(name, answer):
    """Efficiency by kind of layer and library, for the same operations."""
    peak = answer["machine"]["peak_gflops"]
    row = [name]
    for kind in ("conv", "linear"):
        picked = [i for i, layer in enumerate(answer["layers"]) if layer["op"] in KINDS[kind]]
        flops = sum(flops_of(answer["layers"][i], peak) for i in picked)
        for library in answer["libraries"]:
            ms = sum(ms_of(library["layers"][i]) for i in picked)
            row.append(f"{digits(ms)} ms, {100 * flops / ms / peak / 1e6:.1f} %" if picked else "none")
    return row


def memory_rows(name, answer):
    first = answer["libraries"][0]
    parts = [first[key] / MIB for key in ("weight_bytes", "gradient_bytes", "optimizer_bytes", "feature_map_bytes", "map_gradient_bytes",
                                          "workspace_bytes")]
    blas = answer["libraries"][1]["workspace_bytes"] / MIB
    return [name, *(digits(p) for p in parts), digits(blas), digits(sum(parts)), f"{100 * sum(parts) / answer['capacity_mib']:.1f} %"]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("networks", nargs="*", default=NETWORKS)
    options.add_argument("--batch", type=int, default=16)
    options.add_argument("--warmup", type=int, default=1)
    options.add_argument("--repeat", type=int, default=3)
    options.add_argument("--threads", type=int)
    options.add_argument("--build", default="build")
    options.add_argument("--write", action="store_true")
    options = options.parse_args()
    answers = {}
    for name in options.networks:
        command = [TOP / options.build / "sooth", "measure", f"zoo:{name}", "--batch", str(options.batch), "--library", "onednn,openblas",
                   "--warmup", str(options.warmup), "--repeat", str(options.repeat), "--format", "json"]
        if options.threads:
            command += ["--threads", str(options.threads)]
        answers[name] = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
        print(name, "measured", flush=True)
    first = next(iter(answers.values()))
    machine = first["machine"]
    lines = [f"{machine['cpu']}, {machine['threads']} threads, fp32, batch {options.batch}, SGD with momentum; medians of {options.repeat} "
             f"steps after {options.warmup}. Peaks measured with the first network: {digits(machine['peak_gflops'])} GFLOP/s, "
             f"{digits(machine['bandwidth_gb_s'])} GB/s.", "",
             "Milliseconds of a step by stage (layers by oneDNN; one core reads and decodes; a processor needs no copy):", ""]
    lines += table(["network", *STAGES, "sum", "samples/s"], [stage_rows(n, a) for n, a in answers.items()])
    lines += ["Forward and backward by kind of layer and library, and the share of the measured peak:", ""]
    lines += table(["network", "convolutions, oneDNN", "OpenBLAS", "fully connected, oneDNN", "OpenBLAS"],
                   [efficiency_rows(n, a) for n, a in answers.items()])
    lines += ["Memory in MiB as allocated (by oneDNN; the workspace of OpenBLAS beside it), and the share of this machine's memory:", ""]
    lines += table(["network", "weights", "gradients", "momentum", "feature maps", "their gradients", "workspace", "OpenBLAS'", "sum", "share"],
                   [memory_rows(n, a) for n, a in answers.items()])
    lines += ["The study's findings:", ""]
    findings = list(first["findings"])
    lines += table(["network", *(f"{f['name']} (study {f['study']:g})" for f in findings)],
                   [[n, *(f"{digits(f['value'])}, {'as in the study' if f['holds'] else 'not here'}" if f["value"] is not None else "none"
                          for f in a["findings"])] for n, a in answers.items()])
    text = "\n".join(lines).rstrip()
    print(text)
    if options.write:
        page = PAGE.read_text()
        PAGE.write_text(re.sub(f"{re.escape(BEGIN)}.*?{re.escape(END)}", lambda _: f"{BEGIN}\n{text}\n{END}", page, flags=re.S))


if __name__ == "__main__":
    main()
