#!/usr/bin/env python3
"""Hosts of data/hosts against measured loaders and copies.

    tests/corpus/training.py [--fit] [--write]    --fit prints the constants that fit best, --write updates doc/training.md

worker_efficiency and loader_gb_s are fitted on every second decoder, by name; the others are kept apart.
"""
import collections
import csv
import statistics
import sys

import corpus

BEND = 4  # as in src/plan/input_pipeline.c
IMAGE_MB = 0.5625  # 500 x 375 pixels of RGB
MOST_ERROR = 0.20
HOSTS = {"AMD EPYC 9B14": "epyc-9b14", "AMD EPYC 9B45": "epyc-9b45", "Neoverse-N1": "neoverse-n1", "Neoverse-V2": "neoverse-v2",
         "INTEL(R) XEON(R) PLATINUM 8581C CPU @ 2.30GHz": "xeon-8581c"}


def host(name):
    lines = (corpus.TOP / f"data/hosts/{name}.txt").read_text().splitlines()
    return {k.strip(): v.partition("#")[0].strip() for k, _, v in (line.partition("=") for line in lines if "=" in line)}


def loaders():
    """Images per second by processor, decoder and number of workers; decoders without a loader have none."""
    rates = collections.defaultdict(lambda: collections.defaultdict(dict))
    with open(corpus.SHARED / "measured/training_stages/jpeg_decode_imagenet.csv", newline="") as file:
        for row in csv.DictReader(file):
            decoder = rates[row["cpu"]][row["library"]]
            if row["protocol"] == "dataloader":
                decoder[int(row["loader_workers"])] = float(row["images_per_s"])
    return rates


def errors(rates, decoders, efficiency, most):
    found = []
    for decoder in decoders:
        alone = rates.get(decoder, {}).get(0)
        for workers, measured in rates.get(decoder, {}).items():
            if workers and alone:
                predicted = ((workers * alone * efficiency) ** -BEND + most ** -BEND) ** (-1 / BEND)
                found.append(abs(predicted / measured - 1))
    return found


def fit(rates, decoders):
    return min((statistics.mean(errors(rates, decoders, e / 100, most)), e / 100, most)
               for e in range(40, 101, 2) for most in range(600, 6000, 50))


def copies(report):
    """A copy takes a fixed time and its bytes at a rate: both from the smallest and largest size of a sweep."""
    sweeps = collections.defaultdict(list)
    with open(corpus.SHARED / "measured/training_stages/host_device_copy.csv", newline="") as file:
        for row in csv.DictReader(file):
            if row["tool"] == "cudaMemcpy sweep" and row["direction"] == "H2D":
                sweeps[row["device"], row["memory"]].append((float(row["bytes"]), float(row["gb_per_s"])))
    found = []
    for sweep in sweeps.values():
        sweep.sort()
        (small, slow), (large, fast) = sweep[0], sweep[-1]
        fixed_ns = small / slow - small / fast
        rate = large / (large / fast - fixed_ns)
        found += [abs(size / (fixed_ns + size / rate) / measured - 1) for size, measured in sweep[1:-1]]
    mean = statistics.mean(found)
    report.say(f"copies of sizes kept apart: {100 * mean:.1f} % mean error, {len(found)} rows")
    report.check(mean <= MOST_ERROR, "copies: a fixed time and a rate give the sizes between", [f"{mean:.3f}"])


def main():
    corpus.require("measured/training_stages/jpeg_decode_imagenet.csv", "measured/training_stages/host_device_copy.csv")
    report = corpus.Report("training")
    every = loaders()
    decoders = sorted({d for rates in every.values() for d in rates})
    for cpu, name in HOSTS.items():
        h = host(name)
        efficiency, most = float(h["worker_efficiency"]), float(h["loader_gb_s"]) * 1000 / IMAGE_MB
        if "--fit" in sys.argv:
            report.say(f"{name}: error, worker_efficiency, images/s: {fit(every[cpu], decoders[::2])}")
        fitted, apart = (errors(every[cpu], of, efficiency, most) for of in (decoders[::2], decoders[1::2]))
        report.say(f"loader with 2, 4, 8 workers on {name}: {100 * statistics.mean(apart):.1f} % mean error on {len(apart)} rows kept "
                   f"apart ({100 * statistics.mean(fitted):.1f} % fitted)")
        report.check(statistics.mean(apart) <= MOST_ERROR, f"loader: {name}", [f"{statistics.mean(apart):.3f}"])
        pillow = every[cpu]["pillow"][0] * IMAGE_MB / 3
        report.check(abs(float(h["decode_mpixel_s"]) / pillow - 1) < 0.01, f"decoding rate of {name} is Pillow's", [f"{pillow:.1f}"])
    copies(report)
    report.page("doc/training.md", lambda line: "worker_efficiency" not in line)
    report.end()


if __name__ == "__main__":
    main()
