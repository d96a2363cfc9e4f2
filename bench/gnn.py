#!/usr/bin/env python3
"""Seconds of an epoch of `sooth gnn train` and of PyTorch Geometric, on the same graphs and cores, one after the other:

    bench/gnn.py [BUILD] [--rounds N] [--models sage,gcn,…] [--features dippm,full] [--hidden N]

SOOTH_TORCH_PYTHON names a Python with torch and torch_geometric. Uses every --share-th (16th) of DIPPM's graphs, 16 per
step.
Processor time hardly depends on other load."""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent
PYTHON = os.environ.get("SOOTH_TORCH_PYTHON", sys.executable)


def output(*command):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", nargs="?", default=TOP / "build")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--models", default="sage,gcn,gat,gin,mlp")
    parser.add_argument("--features", default="dippm,full")
    parser.add_argument("--hidden", type=int, default=512)
    parser.add_argument("--share", type=int, default=16)
    options = parser.parse_args()
    program = pathlib.Path(options.build).resolve() / "sooth"
    with tempfile.TemporaryDirectory() as folder:
        plan = (TOP / "data/plans/dippm.txt").read_text()
        plan = re.sub(r"^count = (\d+)", lambda found: f"count = {int(found[1]) // options.share}", plan, flags=re.M)
        (pathlib.Path(folder) / "plan.txt").write_text(plan)
        base, arrays = f"{folder}/set.db", f"{folder}/set.npz"
        output(program, "dataset", "make", "--plan", f"{folder}/plan.txt", "--gpu", "a100", "-o", base)
        output(program, "dataset", "export", base, "-f", "npz", "-o", arrays)
        print("| network | nodes | Sooth s | PyTorch Geometric s | times as fast | processor s | PyTorch Geometric | times less |\n"
              "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
        for model in options.models.split(","):
            for features in options.features.split(","):
                ours, theirs = [], []
                for _ in range(options.rounds):
                    made = json.loads(output(program, "gnn", "train", base, "--model", model, "--node-features", features, "--hidden",
                                             options.hidden, "--epochs", 2, "-q", "-f", "json", "-o", f"{folder}/model.bin"))
                    ours.append((made["epoch_seconds"], made["epoch_processor_seconds"]))
                    lines = output(PYTHON, "-W", "ignore", TOP / "tests/tools/gnn_torch.py", "epoch", model, features, options.hidden, 2, arrays)
                    theirs.append(tuple(map(float, lines.splitlines()[-1].split())))
                cells = []
                for what in (0, 1):
                    our, their = (statistics.median(run[what] for run in runs) for runs in (ours, theirs))
                    cells += [f"{our:.2f}", f"{their:.2f}", f"{their / our:.2f}"]
                print(f"| {model} | {features} | {' | '.join(cells)} |", flush=True)


main()
