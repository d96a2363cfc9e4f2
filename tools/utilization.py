#!/usr/bin/env python3
"""Utilization of networks that training did not see, from the hold-out rows that `sooth learn --apart OUT.csv` writes.

    utilization.py OUT.csv [--shared DIRECTORY] [--program SOOTH] [--write]

Measured utilization is samples per second x MACs x 2 / the peak in the GPU's file, with timm's count of MACs; predicted utilization has
the predicted latency in place of the measured one. --write puts the tables into doc/survey.md."""
import argparse
import collections
import csv
import gzip
import json
import pathlib
import re
import statistics
import subprocess

from accuracy import read, spearman

TOP = pathlib.Path(__file__).resolve().parent.parent
PAGE = TOP / "doc/survey.md"
TITLES = {"architecture": "Architectures not trained on, of known families", "family": "Families not trained on"}
KEYS = ("name", "gpu", "stack", "precision", "layout", "batch")
SAME = 1e-3  # relative tolerance for a latency that two files round differently
GOAL_RANK, GOAL_POINTS, GOAL_QUANTILE_POINTS = 0.99, 1.5, 1


def table(path):
    with gzip.open(path, "rt", newline="") as file:
        yield from csv.DictReader(file)


def macs_of(shared):
    """MACs of a pass by the settings and the measured latency of a row: one network has rows for several image sizes."""
    gmacs = {(r["model"], r["graph_file"]): float(r["gmacs"]) for r in table(shared / "measured/timm.csv.gz") if r["gmacs"]}
    found = collections.defaultdict(list)
    for r in table(shared / "labels/timm.csv.gz"):
        macs = gmacs.get((r["name"], pathlib.Path(r["graph"]).name))
        if macs is not None and r["runtime"] == "eager" and r["mode"] == "infer":
            found[tuple(r[k] for k in KEYS)].append((float(r["latency_ms"]), macs * 1e9))
    return found


def peak_of(program, gpu):
    """FLOP/s of tensor cores in fp16, as `sooth predict` counts utilization."""
    answer = subprocess.run([program, "gpus", gpu, "--format", "json"], capture_output=True, text=True, check=True).stdout
    fields = json.loads(answer)["gpus"][0]
    return fields["tensor_fp16_per_clock"] * fields["sms"] * fields["boost_mhz"] * 1e6


def pairs_of(rows, macs, program):
    """(measured, predicted) utilization in percent by hold-out set and GPU; and how many rows have no count of MACs."""
    peaks, found, skipped = {}, collections.defaultdict(list), 0
    for r in rows:
        if r["source"] != "timm" or r["apart"] not in TITLES or r["runtime"] != "eager" or r["mode"] != "infer":
            continue
        measured, predicted = float(r["measured_ms"]), float(r["predicted_ms"])
        known = [m for ms, m in macs.get(tuple(r[k] for k in KEYS), []) if abs(ms / measured - 1) < SAME]
        if not known:
            skipped += 1
            continue
        if r["gpu"] not in peaks:
            peaks[r["gpu"]] = peak_of(program, r["gpu"])
        whole = 100 * known[0] * 2 * float(r["batch"]) / peaks[r["gpu"]] * 1000
        found[r["apart"], r["gpu"]].append((whole / measured, whole / predicted))
    return found, skipped


def quantiles(values):
    cuts = statistics.quantiles(values, n=10, method="inclusive")
    return cuts[0], statistics.median(values), cuts[8]


def line_of(gpu, pairs):
    measured, predicted = quantiles([m for m, _ in pairs]), quantiles([p for _, p in pairs])
    rank, off = spearman(pairs), statistics.mean(abs(m - p) for m, p in pairs)
    worst = max(abs(m - p) for m, p in zip(measured, predicted))
    missed = [what for what, is_met in (("rank", rank >= GOAL_RANK), ("difference", off <= GOAL_POINTS),
                                        ("quantiles", worst <= GOAL_QUANTILE_POINTS)) if not is_met]
    return (f"| {gpu} | {len(pairs)} | {rank:.4f} | {off:.2f} | {', '.join(f'{x:.1f}' for x in measured)} | "
            f"{', '.join(f'{x:.1f}' for x in predicted)} | {', '.join(missed) or 'none'} |")


def tables_of(found, skipped):
    lines = []
    for apart, title in TITLES.items():
        lines += [f"{title}:", "", "| GPU | rows | rank correlation | mean difference, points | measured p10, median, p90, % | predicted | goals missed |",
                  "| --- | ---: | ---: | ---: | ---: | ---: | --- |"]
        lines += [line_of(gpu, pairs) for (kind, gpu), pairs in sorted(found.items()) if kind == apart]
        lines.append("")
    return "\n".join(lines) + f"{skipped} hold-out rows have no count of MACs and are left out.\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows")
    parser.add_argument("--shared", type=pathlib.Path, default=TOP.parent / "shared")
    parser.add_argument("--program", default=str(TOP / "build/sooth"))
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    text = tables_of(*pairs_of(read(args.rows), macs_of(args.shared), args.program))
    print(text, end="")
    if args.write:
        block = re.compile(r"(?<=<!-- apart -->\n).*?(?=<!-- /apart -->)", re.S)
        PAGE.write_text(block.sub(lambda _: f"\n{text}\n", PAGE.read_text()))


if __name__ == "__main__":
    main()
