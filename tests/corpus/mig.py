#!/usr/bin/env python3
"""GPU slices against measurements on A100 slices, and the table of profiles against its source.

The rows are those of `tools/labels.py --only mig`. For each network of a source and mode, every second workload (graph
and batch, with all its slices) was held out when the slice constants were fitted (`sooth learn --slices`); the figures
that count are for those. The best profile is the smallest on which the workload was measured to meet a target. Targets
are midway between the times of neighbouring slices, and half as much again beyond the slowest. Slices whose times
differ by less than a quarter are equal to a rule that uses the upper end of a 90 % interval; figures for all that
differ by a tenth are printed too, by that end and by the prediction itself.
"""
import collections
import csv
import gzip
import json
import math
import pathlib
import statistics
import subprocess
import tempfile

import corpus

MOST_ERROR = 10  # percent, mean, held-out rows
MOST_MEMORY_ERROR = 4  # percent, mean
LEAST_FOUND = 95  # percent of the workloads
# If the source table has nominal figures, data/mig.txt has those of public listings: memory and multiprocessors.
LISTED = {("B200 180GB", None), ("H200 141GB", "1g.35gb")}
GPU_NAMES = {"A30 24GB": "a30", "A100 40GB": "a100-sxm4-40gb", "A100 80GB": "a100-sxm4-80gb", "H100 SXM 80GB": "h100-sxm5-80gb",
             "H100 PCIe 80GB": "h100-pcie-80gb", "H100 NVL 94GB": "h100-nvl-94gb", "H200 141GB": "h200-sxm-141gb",
             "B200 180GB": "b200-sxm-180gb", "RTX PRO 6000 96GB": "rtx-pro-6000-server"}


def run(*arguments):
    return subprocess.run([str(a) for a in arguments], capture_output=True, text=True, timeout=300)


def compute_slices(profile):
    return int(profile.split("g")[0])


# ---- profiles --------------------------------------------------------------------------------------------------------


def profiles(report):
    """Every profile of the source table exists, with the same numbers."""
    known = {}
    for name in set(GPU_NAMES.values()):
        done = run(corpus.PROGRAM, "gpus", name, "--format", "json")
        known[name] = {p["profile"]: p for p in json.loads(done.stdout)["gpus"][0]["slices"]}
    count, wrong = 0, []
    with open(corpus.SHARED / "measured/gpu_specs/mig_profiles.csv", newline="") as file:
        for row in csv.DictReader(file):
            p = known[GPU_NAMES[row["gpu"]]].get(row["profile"])
            count += 1
            if p is None:
                wrong.append(f"{row['gpu']} {row['profile']}: missing")
                continue
            slots, of = map(int, row["memory_slices"].split("/"))
            same = (p["id"] == int(row["profile_id"]) and p["most"] == int(row["max_instances"]) and p["slots"] == int(row["slot_size"])
                    and p["start_slots"] == [int(s) for s in row["start_slots"].split(",")] and p["bandwidth_share"] == slots / of)
            if not {(row["gpu"], None), (row["gpu"], row["profile"])} & LISTED:
                same = same and p["sms"] == int(row["sms"]) and p["memory_gib"] == float(row["memory_gib"])
            if not same:
                wrong.append(f"{row['gpu']} {row['profile']}: {p}")
    report.check(not wrong, f"profiles: {count} as in the source table", wrong)


# ---- latency ---------------------------------------------------------------------------------------------------------


def read_rows(folder, report):
    labels = run(corpus.TOP / "tools/labels.py", "--shared", corpus.SHARED, "--only", "mig", "-o", folder)
    done = run(corpus.PROGRAM, "eval", folder / "mig.csv.gz", "--format", "json", "--predictions", folder / "out.csv")
    report.check(labels.returncode == 0 and done.returncode == 0 and not json.loads(done.stdout)["skipped"], "rows: read and predicted",
                 [labels.stderr, done.stderr])
    with gzip.open(folder / "mig.csv.gz", "rt", newline="") as given, open(folder / "out.csv", newline="") as answers:
        return [{**row, **{key: answer[key] for key in answer if key.startswith(("latency_ms_", "memory_mib_"))}}
                for row, answer in zip(csv.DictReader(given), csv.DictReader(answers))]


def workloads_of(rows):
    """By workload: whether it was held out, split as in src/learn/slices.c, and its rows by profile; of two
    measurements the last."""
    count, found = collections.Counter(), {}
    for row in rows:
        network = (row["source"], row["name"], row["mode"])
        workload = (row["source"], row["graph"], row["batch"], row["mode"])
        if workload not in found:
            found[workload] = (count[network] % 2 == 1, {})
            count[network] += 1
        row["is_apart"] = found[workload][0]
        found[workload][1][row["mig"]] = row
    return found


def error_of(row):
    return 100 * abs(float(row["latency_ms_pred"]) / float(row["latency_ms"]) - 1)


def accuracy(report, rows):
    apart, fitted = ([row for row in rows if row["is_apart"] == wanted] for wanted in (True, False))
    for title, rows in (("fitted", fitted), ("kept apart", apart)):
        errors = [error_of(row) for row in rows]
        inside = statistics.mean(float(r["latency_ms_low"]) <= float(r["latency_ms"]) <= float(r["latency_ms_high"]) for r in rows)
        report.say(f"slices, rows {title}: {len(rows)}, MAPE {statistics.mean(errors):.2f} %, median {statistics.median(errors):.2f} %, "
                    f"in interval {100 * inside:.1f} %")
    groups = collections.defaultdict(list)
    for row in apart:
        groups[row["source"], row["mode"]].append(error_of(row))
    for (source, mode), errors in sorted(groups.items()):
        report.say(f"    {source} {mode}: {len(errors)} rows, MAPE {statistics.mean(errors):.2f} %, worst {max(errors):.1f} %")
    mean = statistics.mean(error_of(row) for row in apart)
    report.check(mean <= MOST_ERROR, f"latency: mean error of rows kept apart at most {MOST_ERROR} %", [f"{mean:.2f} %"])


def memory(report, rows):
    """With the software that ran. Framebuffer in use, as DCGM counts it, contains the context."""
    errors = sorted(100 * abs(float(row["memory_mib_pred"]) / float(row["memory_mib"]) - 1) for row in rows if row["memory_mib"])
    mean, median = statistics.mean(errors), statistics.median(errors)
    report.say(f"memory of slices: {len(errors)} rows, mean error {mean:.1f} %, median {median:.1f} %")
    report.check(mean <= MOST_MEMORY_ERROR, f"memory: mean error at most {MOST_MEMORY_ERROR} %", [f"{mean:.2f} %"])


def order(report, found):
    """If the smaller slice was slower, it must be predicted so; otherwise the host was the limit, and the predictions
    must be close."""
    right = wrong = against = 0
    largest = 0.0
    for workload, (_, rows) in found.items():
        names = sorted(rows, key=compute_slices)
        for i, small in enumerate(names):
            for large in names[i + 1:]:
                measured = float(rows[small]["latency_ms"]) / float(rows[large]["latency_ms"])
                predicted = float(rows[small]["latency_ms_pred"]) / float(rows[large]["latency_ms_pred"])
                if measured <= 1:
                    against += 1
                    largest = max(largest, predicted - 1)
                elif predicted > 1:
                    right += 1
                else:
                    wrong += 1
                    report.detail(f"{workload} {small} {large}: measured {measured:.4f}, predicted {predicted:.4f}")
    report.say(f"order of slices: {right} of {right + wrong} pairs right; in {against} more the larger slice was no faster (the host "
                f"decides); predicted {100 * largest:.1f} % apart at most")
    report.check(wrong == 0, "order: always right where the smaller slice was slower", [f"{wrong} wrong"])
    report.check(largest < 0.2, "order: slices that the host makes equal are predicted near each other", [f"{largest:.3f}"])


# ---- the best profile ------------------------------------------------------------------------------------------------


def plan(row, *arguments):
    options = ["--gpu", row["gpu"], "--batch", row["batch"], "--precision", row["precision"], "--stack", row["stack"], "--mode", row["mode"]]
    if row["optimizer"]:
        options += ["--optimizer", row["optimizer"]]
    return json.loads(run(corpus.PROGRAM, "mig", row["graph"], *options, "--format", "json", *arguments).stdout)["workloads"][0]


def targets_of(rows, apart):
    """Targets midway between neighbouring slices that differ by this factor; and half as much again as the slowest."""
    names = sorted(rows, key=compute_slices)
    times = [float(rows[name]["latency_ms"]) for name in names]
    return [math.sqrt(a * b) for a, b in zip(times, times[1:]) if a >= apart * b] + [1.5 * max(times)]


def best_measured(rows, target):
    return next((name for name in sorted(rows, key=compute_slices) if float(rows[name]["latency_ms"]) <= target), None)


def best_planned(candidates, rows, target, bound="high"):
    for c in candidates:
        if c["profile"] in rows and c["fits"] and c["latency_ms"][bound] <= target:
            return c["profile"]
    return None


def found_in(found, is_wanted, plans, apart, bound, report):
    asked = hits = 0
    workloads = whole = 0
    for workload, (is_apart, rows) in found.items():
        if not is_wanted(is_apart):
            continue
        right = []
        for target in targets_of(rows, apart):
            best, planned = best_measured(rows, target), best_planned(plans[workload]["profiles"], rows, target, bound)
            right.append(best == planned)
            if best != planned:
                report.detail(f"{workload} at {target:.2f} ms: {planned}, not {best} (by {bound})")
        asked, hits = asked + len(right), hits + sum(right)
        workloads, whole = workloads + 1, whole + all(right)
    return asked, hits, workloads, whole


def best_profiles(report, found):
    plans = {workload: plan(next(iter(rows.values()))) for workload, (_, rows) in found.items()}
    for apart, what, bound in ((1.1, "a tenth", "value"), (1.1, "a tenth", "high"), (1.25, "a quarter", "high")):
        for title, is_wanted in (("all", lambda is_apart: True), ("kept apart", lambda is_apart: is_apart)):
            asked, hits, workloads, whole = found_in(found, is_wanted, plans, apart, bound, report)
            by = "the upper end" if bound == "high" else "the prediction"
            report.say(f"best profile by {by}, slices at least {what} apart, workloads {title}: {100 * hits / asked:.1f} % of {asked} targets; at "
                       f"every target in {100 * whole / workloads:.1f} % of {workloads} workloads")
    report.check(100 * hits >= LEAST_FOUND * asked,
                 f"best profile: found for {LEAST_FOUND} % of the targets of workloads kept apart", [f"{hits} of {asked}"])
    wrong = 0
    for workload, (_, rows) in list(found.items())[::9]:  # the command chooses as this script does
        for target in targets_of(rows, 1.25):
            profiles = plans[workload]["profiles"]
            every = {c["profile"]: None for c in profiles}
            wrong += plan(next(iter(rows.values())), "--latency-ms", f"{target:.6f}")["profile"] != best_planned(profiles, every, target)
    report.check(wrong == 0, "best profile: `sooth mig` takes the first that will do", [f"{wrong} differ"])


def main():
    corpus.require("measured/mig/mig_measured.csv", "measured/gpu_specs/mig_profiles.csv")
    report = corpus.Report("mig")
    profiles(report)
    with tempfile.TemporaryDirectory() as folder:
        rows = read_rows(pathlib.Path(folder), report)
    found = workloads_of(rows)
    accuracy(report, rows)
    memory(report, rows)
    order(report, found)
    best_profiles(report, found)
    report.page("doc/accuracy.md")
    report.end()


if __name__ == "__main__":
    main()
