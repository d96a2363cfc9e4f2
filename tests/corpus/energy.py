#!/usr/bin/env python3
"""Power and energy against measurements, on rows that the fits did not see.

`sooth learn --energy` fits the coefficients anew, each time without a part of the rows, and prints the error of each
fit on that part: shapes (an operator's shape; a network with its batch), networks at any batch, GPUs, sources, sources
and GPUs. Scored are power, with the measured time, and energy, with the predicted time. doc/energy.md describes the
sources. Then the shipped coefficients: the power of whole systems in MLPerf's rows, minus the estimated power of their
hosts.
"""
import collections
import csv
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import corpus

sys.path.insert(0, str(corpus.TOP / "tools"))
import energy_rows  # noqa: E402

# Mean error of power in percent: source, what is held out, maximum. Goals not reached list the figure that is held, and
# the goal.
GOALS = (
    ("zeus", "shape", 10, 10), ("zeus", "network", 10, 10), ("generation", "network", 15, 15),
    ("mlenergy-diffusion", "network", 15, 15), ("mlenergy-llm", "network", 17, 15), ("aiconfigurator", "shape", 8, 8),
)
# Power of the host in watts after the power supply's loss (8 %), by prefix of the platform's name: general knowledge.
SUPPLY = 0.92
HOSTS = (("DGX-H100", 1400), ("DGX-A100", 1000), ("XE8545", 500), ("XR5610", 250), ("XR12", 200), ("XR4520c", 110),
         ("amd_zen4_workstation", 150), ("", 400))
MLPERF_GPUS = {"NVIDIA A100-PCIe-80GB": "a100-pcie-80gb", "NVIDIA A100-SXM-80GB": "a100-sxm4-80gb",
               "NVIDIA A100-SXM-80GB CTS": "a100-sxm4-80gb", "NVIDIA H100-PCIe-80GB": "h100-pcie-80gb",
               "NVIDIA H100-SXM-80GB": "h100-sxm5-80gb", "NVIDIA A30": "a30", "NVIDIA A2": "a2", "NVIDIA L4": "l4",
               "NVIDIA GeForce RTX 4090 (Ada Lovelace)": "rtx-4090"}
# Graph and batch.
MLPERF_GRAPHS = {"resnet50": ("zoo:resnet50", 128), "retinanet": ("retinanet.onnx", 8)}


def run(*arguments):
    return subprocess.run([str(a) for a in arguments], capture_output=True, text=True, timeout=600)


def fitted(report, folder):
    """The figures of `sooth learn --energy`: (source, held out, soundly measured) to a row of its table."""
    made = run(corpus.TOP / "tools" / "energy_rows.py", "--shared", corpus.SHARED, "-o", folder)
    report.check(made.returncode == 0, "measured tables become rows", [made.stderr])
    operators = corpus.SHARED / "measured" / "operators"
    learned = run(corpus.PROGRAM, "learn", "--energy", *sorted(folder.glob("*.csv")), f"{operators}/aiconfigurator_gemm_other.csv.gz@0.02",
                  f"{operators}/aiconfigurator_attention_other.csv.gz@0.01", "-o", folder / "energy.txt", "--apart", folder / "apart.csv")
    report.check(learned.returncode == 0, "coefficients are fitted", [f"exit code {learned.returncode}", learned.stderr])
    figures = {}
    for line in learned.stdout.splitlines():
        report.say(line)
        words = line.split()
        if len(words) == 12 and words[2] in ("soundly", "unsoundly"):
            figures[words[0], words[1], words[2] == "soundly"] = [float(w.rstrip("%")) for w in words[3:]]
    return figures


def combined(folder):
    """Both ML.ENERGY tables together, networks held out: percent."""
    errors = []
    with open(folder / "apart.csv", newline="") as file:
        for row in csv.DictReader(file):
            if row["apart"] == "network" and row["source"].startswith("mlenergy"):
                errors.append(abs(float(row["power_w_pred"]) / float(row["power_w"]) - 1))
    return 100 * sum(errors) / len(errors)


def energy_by_gpus(report, folder):
    """Energy with predicted time, networks held out: rows of one GPU, and rows of several, which Sooth treats as one
    that does all the work. Returns the percent of the former by source."""
    gpus = collections.defaultdict(list)
    for path in sorted(folder.glob("mlenergy-*.csv")):
        with open(path, newline="") as file:
            for row in csv.DictReader(file):
                gpus[row["name"], row["gpu"], row["batch"]].append((float(row["latency_ms"]), row["gpus"]))
    errors = collections.defaultdict(list)
    with open(folder / "apart.csv", newline="") as file:
        for row in csv.DictReader(file):
            if row["apart"] == "network" and row["source"].startswith("mlenergy"):
                ms, runs = float(row["latency_ms"]), gpus[row["name"], row["gpu"], row["batch"]]
                several = min(runs, key=lambda run: abs(run[0] - ms))[1] != "1"
                errors[row["source"], several].append(float(row["energy_j_pred"]) / float(row["energy_j"]))
    percent = {}
    for (source, several), ratios in sorted(errors.items()):
        error = 100 * sum(abs(ratio - 1) for ratio in ratios) / len(ratios)
        report.say(f"{source}, {'several GPUs' if several else 'one GPU'}: {len(ratios)} rows, energy by the predicted time {error:.1f} % off, "
                   f"median {statistics.median(ratios):.2f} of what was measured")
        if not several:
            percent[source] = error
    return percent


def system_power(gpu, graph, batch, folder):
    """Power in watts of one GPU, with its interval."""
    asked = run(corpus.PROGRAM, "predict", graph if ":" in graph else folder / graph, "--gpu", gpu, "--batch", batch, "--runtime",
                "engine", "--precision", "int8", "--format", "json")
    answer = json.loads(asked.stdout)
    return {**answer["power_w"], "limit": answer["power_limit_w"]}


def systems(report, folder):
    inside, lines = [], []
    energy_rows.Folder(corpus.SHARED, folder).graph("retinanet", energy_rows.retinanet)
    with open(corpus.SHARED / "measured" / "energy" / "mlperf_inference_power.csv", newline="") as file:
        rows = [r for r in csv.DictReader(file) if r["model"] in MLPERF_GRAPHS and r["scenario"] == "Offline" and
                r["accelerator"] in MLPERF_GPUS and r["power_units"] == "Watts" and "reference" not in r["platform"]]
    answers = {}
    for r in rows:
        gpu = MLPERF_GPUS[r["accelerator"]]
        if (gpu, r["model"]) not in answers:
            answers[gpu, r["model"]] = system_power(gpu, *MLPERF_GRAPHS[r["model"]], folder)
        power = answers[gpu, r["model"]]
        host = next(watts for prefix, watts in HOSTS if r["platform"].startswith(prefix))
        gpus = int(r["accelerators_per_node"]) * int(r["nodes"])
        measured = (float(r["power"]) * SUPPLY - host * int(r["nodes"])) / gpus
        if measured > 1.2 * power["limit"]:  # more than the board can draw: another part of the system
            report.say(f"left out: {r['platform']}: {float(r['power']):.0f} W, which {gpus} {gpu} and a host of {host} W cannot draw")
            continue
        inside.append(power["low"] <= measured <= power["high"])
        lines.append(f"{r['model']} {gpu} x{gpus} {r['platform'][:34]}: {float(r['power']):.0f} W, host {host} W, GPU {measured:.0f} W; "
                     f"predicted {power['value']:.0f} W, {power['low']:.0f} to {power['high']:.0f}")
    for line, ok in zip(lines, inside):
        report.say(("in      " if ok else "outside ") + line)
    report.say(f"MLPerf systems: {sum(inside)} of {len(inside)} rows within the interval")
    # Most are MaxQ systems, which run under unknown power caps; the others are one workstation.
    report.check(sum(inside) >= 0.6 * len(inside), f"MLPerf systems: {sum(inside)} of {len(inside)} in the interval, at least 60 %",
                 [line for line, ok in zip(lines, inside) if not ok])


def main():
    corpus.require("measured/energy/zeus_training_power.csv", "measured/operators/aiconfigurator_gemm_other.csv.gz")
    report = corpus.Report("energy")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        figures = fitted(report, folder)
        both = combined(folder)
        one = energy_by_gpus(report, folder)
        systems(report, folder)
    for source, apart, most, goal in GOALS:
        found = figures.get((source, apart, True))
        error = found[1] if found else float("inf")
        note = "" if most <= goal else f"; the goal is {goal} %"
        report.check(error <= most, f"{source}, {apart} kept apart: power {error:.1f} % off, at most {most} %{note}", [])
    report.check(both <= 15, f"ML.ENERGY, both tables, networks kept apart: power {both:.1f} % off, at most 15 %", [])
    for source, most in (("mlenergy-llm", 25), ("mlenergy-diffusion", 55)):
        report.check(one[source] <= most, f"{source}, one GPU: energy {one[source]:.0f} % off where the time is predicted too, at most {most} %", [])
    for apart in ("source", "both"):  # the interval comes from the other sources
        within = [row[4] for key, row in figures.items() if key[1] == apart]
        mean = sum(within) / max(len(within), 1)
        report.check(mean >= 82, f"{apart} kept apart: {mean:.0f} % of the rows of a source within the interval of the others, at least 82 %", [])
    for key, row in figures.items():
        # Loose on purpose, because most of this software was never measured: no kernel may take a thousand times too
        # long.
        if key[1] == "network" and key[2]:
            report.check(row[6] <= 75, f"{key[0]}: energy {row[6]:.0f} % off where the time is predicted too, at most 75 %", [])
            report.check(row[4] >= 75, f"{key[0]}: {row[4]:.0f} % of the rows within the interval, at least 75 %", [])
    report.page("doc/energy.md", lambda line: not line.startswith(("in ", "outside ", "left out")))
    report.end()


if __name__ == "__main__":
    main()
