#!/usr/bin/env python3
"""Utilization against measurements: timm's networks on four GPUs, and kernel profiles of whole networks on a V100.

    survey.py [--write]       --write puts the tables into doc/survey.md; otherwise they must be those of the page

Measured utilization is samples per second × MACs × 2 ÷ the peak in the GPU's file, with timm's count of MACs on both sides; predicted utilization
has the predicted latency in place of the measured one. SM coverage is the mean of min(waves, 1) over the time of the kernels that have a
launch: the profile's min(SMs needed, 80)/80.
"""
import collections
import csv
import gzip
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import corpus

sys.path.insert(0, str(corpus.TOP / "tools"))
from accuracy import spearman  # noqa: E402

PAGE = corpus.TOP / "doc/survey.md"
# What is reached, with some slack. The goals are rank 0.99, 1.5 points, quantiles within 1 point, on networks not trained on.
LEAST_RANK, MOST_POINTS, MOST_QUANTILE_POINTS = 0.985, 0.7, 1.5
LEAST_COVERAGE_RANK, MOST_COVERAGE_POINTS, LEAST_BOUND_RANK = 0.8, 12, 0.7
DEVICES = {"rtx-3090": "rtx3090", "rtx-4090": "rtx4090", "rtx-5090": "rtx5090", "rtx-pro-6000-maxq": "rtxpro6000maxq"}
V100 = "v100-sxm2-16gb"
# Others have the zoo's name. The size of BERT is not published: its operators, times and FLOP/s fit BERT-large with 384 tokens.
NETWORKS = {"mobilenetv2": "mobilenet_v2", "efficientnet_v2_m": "efficientnet_v2_m?image=224", "bert": "bert?layers=24&hidden=1024&heads=16&ffn=4096&seq=384"}


def run(*arguments):
    return subprocess.run([corpus.PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=600)


# ---- timm --------------------------------------------------------------------------------------------------------------


def peaks():
    """FLOP/s of tensor cores in fp16 by GPU, as `sooth predict` counts utilization."""
    found = {}
    for gpu in DEVICES:
        fields = json.loads(run("gpus", gpu, "--format", "json").stdout)["gpus"][0]
        found[gpu] = fields["tensor_fp16_per_clock"] * fields["sms"] * fields["boost_mhz"] * 1e6
    return found


def timm_rows(folder):
    """(measured, predicted) utilization in percent by GPU, layout and stack: eager inference in automatic mixed precision."""
    gmacs = {}
    with gzip.open(corpus.SHARED / "measured/timm.csv.gz", "rt", newline="") as file:
        for r in csv.DictReader(file):
            if r["gmacs"]:
                gmacs[r["model"], r["graph_file"]] = float(r["gmacs"])
    with gzip.open(corpus.SHARED / "labels/timm.csv.gz", "rt", newline="") as file, open(folder / "in.csv", "w", newline="") as out:
        rows = csv.DictReader(file)
        table = csv.DictWriter(out, rows.fieldnames)
        table.writeheader()
        for r in rows:
            if r["runtime"] == "eager" and r["mode"] == "infer" and r["gpu"] in DEVICES:
                r["graph"] = str(corpus.SHARED / "labels" / r["graph"])
                table.writerow(r)
    run("predict", "--queries", folder / "in.csv", "-o", folder / "out.csv")
    peak, found, skipped = peaks(), collections.defaultdict(list), 0
    with open(folder / "out.csv", newline="") as file:
        for r in csv.DictReader(file):
            macs = gmacs.get((r["name"], pathlib.Path(r["graph"]).name))
            if r["error"] or macs is None:
                skipped += 1
                continue
            whole = 100 * macs * 1e9 * 2 * float(r["batch"]) / peak[r["gpu"]] * 1000
            found[r["gpu"], r["layout"], r["stack"]].append((whole / float(r["latency_ms"]), whole / float(r["latency_ms_pred"])))
    return found, skipped


def quantiles(values):
    cuts = statistics.quantiles(values, n=10, method="inclusive")
    return cuts[0], statistics.median(values), cuts[8]


def timm(report, folder):
    found, skipped = timm_rows(folder)
    report.say(f"timm: {sum(map(len, found.values()))} rows, {skipped} without a prediction or a count of MACs")
    lines = ["| GPU, layout, stack | rows | rank correlation | mean difference, points | measured p10, median, p90, % | predicted |",
             "| --- | ---: | ---: | ---: | ---: | ---: |"]
    for (gpu, layout, stack), pairs in sorted(found.items()):
        rank = spearman(pairs)
        off = statistics.mean(abs(m - p) for m, p in pairs)
        measured, predicted = quantiles([m for m, _ in pairs]), quantiles([p for _, p in pairs])
        name = f"{gpu}, {layout}, {stack}"
        lines.append(f"| {name} | {len(pairs)} | {rank:.4f} | {off:.2f} | {', '.join(f'{x:.1f}' for x in measured)} | "
                     f"{', '.join(f'{x:.1f}' for x in predicted)} |")
        report.say(lines[-1])
        report.check(rank >= LEAST_RANK, f"timm {name}: rank correlation at least {LEAST_RANK}", [f"{rank:.4f}"])
        report.check(off <= MOST_POINTS, f"timm {name}: mean difference at most {MOST_POINTS} points", [f"{off:.2f}"])
        worst = max(abs(m - p) for m, p in zip(measured, predicted))
        report.check(worst <= MOST_QUANTILE_POINTS, f"timm {name}: quantiles within {MOST_QUANTILE_POINTS} point", [f"{worst:.2f}"])
    return "\n".join(lines) + "\n"


# ---- kernel profiles -----------------------------------------------------------------------------------------------------


def predicted_profile(model, batch, mode):
    """Shares of the time on the GPU in percent: SM coverage, and compute-bound."""
    options = ["--optimizer", "sgd-momentum"] if mode == "train" else []
    done = run("predict", model, "--gpu", V100, "--precision", "fp32", "--batch", batch, "--mode", mode, *options, "--kernels", "--format", "json")
    if done.returncode:
        return done.stderr.strip()
    kernels = json.loads(done.stdout)["kernels"]
    launched = [k for k in kernels if k.get("waves")]
    time = sum(k["device_us"] * k.get("repeat", 1) for k in launched)
    covered = sum(k["device_us"] * k.get("repeat", 1) * min(k["waves"], 1) for k in launched)
    whole = sum(k["device_us"] * k.get("repeat", 1) for k in kernels)
    compute = sum(k["device_us"] * k.get("repeat", 1) for k in kernels if k["bound"] == "compute")
    return 100 * covered / time, 100 * compute / whole


def profiles(report):
    lines = ["| network, batch, mode | SM coverage measured, % | predicted | compute-bound measured, % | predicted |",
             "| --- | ---: | ---: | ---: | ---: |"]
    pairs, failed, summary = collections.defaultdict(list), [], [""]
    with open(corpus.SHARED / "measured/v100_kernel_profile/networks.csv", newline="") as file:
        for r in csv.DictReader(file):
            name = NETWORKS.get(r["network"], r["network"])
            seen = predicted_profile(f"zoo:{name}", r["batch"], r["mode"])
            if isinstance(seen, str):
                failed.append(f"{name}: {seen}")
                continue
            measured = 100 * float(r["sm_coverage"]), 100 * float(r["time_share_compute_bound"])
            for what, a, b in zip(("coverage", "compute"), measured, seen):
                pairs[what].append((a, b))
                pairs[what, r["mode"]].append((a, b))
            lines.append(f"| {r['network']}, {r['batch']}, {r['mode']} | {measured[0]:.0f} | {seen[0]:.0f} | {measured[1]:.0f} | {seen[1]:.0f} |")
            report.detail(lines[-1])
    report.check(not failed, "every network of the profiles is predicted", failed)
    for what, title in (("coverage", "SM coverage"), ("compute", "share that is compute-bound")):
        for key, rows in ((what, "all"), ((what, "infer"), "inference"), ((what, "train"), "training")):
            off = statistics.mean(abs(a - b) for a, b in pairs[key])
            lean = statistics.mean(b - a for a, b in pairs[key])
            summary.append(f"- {title}, {rows} ({len(pairs[key])} runs): rank correlation {spearman(pairs[key]):.2f}, mean difference {off:.0f} points, "
                           f"on average {lean:+.0f}")
            report.say(summary[-1])
    report.check(spearman(pairs["coverage"]) >= LEAST_COVERAGE_RANK, f"V100: rank correlation of SM coverage at least {LEAST_COVERAGE_RANK}")
    off = statistics.mean(abs(a - b) for a, b in pairs["coverage"])
    report.check(off <= MOST_COVERAGE_POINTS, f"V100: SM coverage {MOST_COVERAGE_POINTS} points off at most", [f"{off:.1f}"])
    report.check(spearman(pairs["compute"]) >= LEAST_BOUND_RANK, f"V100: rank correlation of compute-bound time at least {LEAST_BOUND_RANK}")
    return "\n".join(lines + summary) + "\n"


def pattern(name):
    return re.compile(rf"(?<=<!-- {name} -->\n).*?(?=<!-- /{name} -->)", re.S)


def numbers(text):
    return re.split(r"(-?\d+(?:\.\d+)?)", text)


def is_near(written, computed):
    """True for equal texts, up to the last digit of numbers, because processors round differently."""
    a, b = numbers(written), numbers(computed)
    if len(a) != len(b):
        return False
    for x, y in zip(a, b):
        if x != y and not (re.fullmatch(r"-?[\d.]+", x) and re.fullmatch(r"-?[\d.]+", y)
                           and abs(float(x) - float(y)) <= 2.01 * 10 ** -len(x.partition(".")[2])):
            return False
    return True


def main():
    corpus.require("measured/timm.csv.gz", "labels/timm.csv.gz", "models/timm", "measured/v100_kernel_profile/networks.csv")
    report = corpus.Report("survey")
    with tempfile.TemporaryDirectory() as folder:
        tables = {"profiles": profiles(report), "timm": timm(report, pathlib.Path(folder))}
    page = PAGE.read_text()
    if "--write" in sys.argv:
        for name, table in tables.items():
            page = pattern(name).sub(lambda _: f"\n{table}\n", page)
        PAGE.write_text(page)
    for name, table in tables.items():
        written = pattern(name).search(page)
        report.check(written and is_near(written[0].strip(), table.strip()), f"doc/survey.md: the table of {name} is what is computed",
                     ["tests/corpus/survey.py --write"])
    report.end()


if __name__ == "__main__":
    main()
