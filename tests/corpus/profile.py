#!/usr/bin/env python3
"""SM demand and bound of kernels against Nsight profiles of whole networks on a V100.

    tests/corpus/profile.py [--write]    --write updates doc/training.md

SM coverage is the mean over time of min(thread blocks ÷ blocks that fit on the GPU, 1). Nothing was fitted to these rows.
"""
import csv
import json
import statistics
import subprocess

import corpus

FILE = "measured/v100_kernel_profile/networks.csv"
NETWORKS = {"resnet50": "resnet50", "resnet101": "resnet101", "mobilenetv2": "mobilenet_v2", "densenet121": "densenet121",
            "efficientnet_v2_m": "efficientnet_v2_m?image=224", "mnasnet1_3": "mnasnet1_3", "shufflenet_v2_x2_0": "shufflenet_v2_x2_0",
            "vit_b_16": "vit_b_16", "vit_l_16": "vit_l_16", "swin_b": "swin_b"}
MOST_COVERAGE_ERROR, LEAST_RANK = 0.15, 0.7


def predicted(network, batch, mode):
    done = subprocess.run([corpus.PROGRAM, "predict", f"zoo:{NETWORKS[network]}", "--gpu", "v100", "--precision", "fp32", "--batch", batch,
                           "--mode", mode, "--kernels", "--format", "json"], capture_output=True, timeout=corpus.TIMEOUT_S, check=True)
    kernels = [k for k in json.loads(done.stdout)["kernels"] if k.get("waves")]
    time = sum(k["device_us"] for k in kernels)
    share = lambda weight: sum(k["device_us"] * weight(k) for k in kernels) / time  # noqa: E731
    return share(lambda k: min(k["waves"], 1)), share(lambda k: k["waves"] >= 1), share(lambda k: k["bound"] == "compute")


def ranks(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    return [order.index(i) for i in range(len(values))]


def main():
    corpus.require(FILE)
    report = corpus.Report("profile")
    columns = ("sm_coverage", "time_share_all_sms_filled", "time_share_compute_bound")
    pairs = {column: [] for column in columns}
    with open(corpus.SHARED / FILE, newline="") as file:
        for row in csv.DictReader(file):
            if row["network"] not in NETWORKS:
                continue
            for column, value in zip(columns, predicted(row["network"], row["batch"], row["mode"])):
                pairs[column].append((value, float(row[column])))
                report.detail(f"{row['network']} {row['batch']} {row['mode']} {column}: {value:.2f}, measured {row[column]}")
    names = {"sm_coverage": "SM coverage", "time_share_all_sms_filled": "share of time on all SMs",
             "time_share_compute_bound": "share of time bound by compute"}
    found = {}
    for column, of in pairs.items():
        error = statistics.mean(abs(p - m) for p, m in of)
        rank = statistics.correlation(ranks([p for p, _ in of]), ranks([m for _, m in of]))
        found[column] = error, rank
        report.say(f"{names[column]}: mean difference {100 * error:.0f} points, rank correlation {rank:.2f}, {len(of)} networks and batches")
    error, rank = found["sm_coverage"]
    report.check(error <= MOST_COVERAGE_ERROR and rank >= LEAST_RANK, "SM coverage", [f"{error:.3f} {rank:.3f}"])
    report.page("doc/training.md")
    report.end()


if __name__ == "__main__":
    main()
