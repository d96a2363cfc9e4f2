#!/usr/bin/env python3
"""The shipped GPUs against a table of data-sheet figures, and the GPU names of all measured rows.

Every figure of the table must equal that of the GPU's file; peaks and bandwidths must follow from the file's own
numbers (multiprocessors x clock x rate, bus width x data rate) within 2 %. Differences are listed in gpus.txt with both
numbers and the reason. Every GPU of the labels and measurements must be found by its name there; those without a file
are listed as well.
"""
import csv
import gzip
import json
import re
import subprocess

import corpus

TOLERANCE = 0.02
SAME = {"sm_or_cu": "sms", "base_mhz": "base_mhz", "boost_mhz": "boost_mhz", "memory_gb": "memory_gib", "bandwidth_gb_s": "bandwidth_gb_s",
        "l2_mb": "l2_mib", "shared_mem_per_sm_kib": "shared_kib_per_sm", "tdp_w": "tdp_w"}
PEAKS = {"fp32_tflops": "fp32", "fp64_tflops": "fp64", "fp16_tensor_dense_tflops": "fp16", "tf32_tensor_dense_tflops": "tf32",
         "int8_tensor_dense_tops": "int8"}
# For a board with two devices the table has the whole board.
PER_BOARD = {"sm_or_cu", "memory_gb", "bandwidth_gb_s", "l2_mb", "tdp_w", *PEAKS}
COLUMNS = ("gpu", "device", "accelerator")


def read_table(path):
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt") as file:
        yield from csv.DictReader(file)


def gpu(name):
    done = subprocess.run([corpus.PROGRAM, "gpus", name, "--format", "json"], capture_output=True, timeout=corpus.TIMEOUT_S)
    return json.loads(done.stdout)["gpus"][0] if done.returncode == 0 else None


def figures(row, found):
    """(what, the table's number, the file's) for every figure of the table."""
    for column, field in SAME.items():
        yield column, row[column], found[field]
    if row["max_warps_per_sm"]:
        yield "max_warps_per_sm", row["max_warps_per_sm"], found["threads_per_sm"] / found["warp"]
    for column, precision in PEAKS.items():
        # fp32 and fp64 are those of the cores; AMD's matrix units also compute fp32, faster.
        peak = found[f"{precision}_per_clock"] * found["sms"] * found["boost_mhz"] / 1e6 if precision in ("fp32", "fp64") else \
            found["peak_tflops"][precision]
        yield column, row[column], peak
    yield "bus x rate", row["bandwidth_gb_s"], found["memory_bus_bits"] * found["memory_gbit_s"] / 8


def check_figures(report, explained):
    wrong, count, used = [], 0, set()
    for row in read_table(corpus.SHARED / "measured/gpu_specs/gpu_specs.csv"):
        found = gpu(row["gpu"])
        if not found:
            wrong.append(f"{row['gpu']}: no such GPU")
            continue
        for what, expected, number in figures(row, found):
            if not expected:
                continue
            count += 1
            share = found["devices_per_board"] if what in PER_BOARD or what == "bus x rate" else 1
            expected = float(expected) / share
            if number is not None and abs(number - expected) <= TOLERANCE * expected:
                continue
            number = None if number is None else float(f"{number:.4g}")
            key = (found["name"], what)
            if key in explained and explained[key] == (expected, number):
                used.add(key)
            else:
                wrong.append(f"{found['name']}\t{what}\ttable {expected:g}\tfile {number}")
    wrong += [f"{' '.join(key)}: is listed in gpus.txt but does not differ so" for key in explained if key not in used]
    report.say(f"{count} figures of data sheets, {len(used)} differ and are explained")
    report.check(not wrong, "figures are those of the data sheets", wrong)


def plain(name):
    """Removes remarks in parentheses and partitions from a name."""
    return re.sub(r"\s*\(.*", "", name)


def check_names(report, without_file):
    paths = sorted((corpus.SHARED / "labels").glob("*.csv.gz"))
    paths += sorted(p for p in (corpus.SHARED / "measured").rglob("*.csv*") if "gpu_specs" not in str(p))
    names = set()
    for path in paths:
        rows = read_table(path)
        first = next(rows, None)
        column = next((c for c in COLUMNS if first and c in first), None)
        if column:
            names |= {plain(row[column]) for row in rows} | {plain(first[column])}
    names = {n for n in names if n and not n.startswith("cpu-")}
    unknown = {n for n in names if not gpu(n)}
    report.say(f"{len(names)} names of GPUs in labels and measurements, {len(names) - len(unknown)} found, {len(unknown)} have no file")
    wrong = [f"{n}: not found" for n in sorted(unknown - without_file)]
    wrong += [f"{n}: is listed in gpus.txt but is found, or in no measurement" for n in sorted(without_file - unknown)]
    report.check(not wrong, "GPUs of all measurements are known", wrong)


def main():
    corpus.require("measured/gpu_specs/gpu_specs.csv", "labels/timm.csv.gz")
    report = corpus.Report("gpus")
    rows = corpus.read_list("gpus.txt")
    explained = {(r[1], r[2]): (float(r[3]), float(r[4])) for r in rows if r[0] == "figure"}
    check_figures(report, explained)
    check_names(report, {r[1] for r in rows if r[0] == "no file"})
    report.end()


if __name__ == "__main__":
    main()
