#!/usr/bin/env python3
"""Networks of the zoo: parameters and MACs of one image against published figures, tests/models/zoo.csv.

Sources of the table, each counted outside Sooth:
  torchvision  torchvision 0.29: parameters, and the products of convolutions and linear layers in a run on the meta device.
               GoogLeNet and Inception v3 without auxiliary classifiers
  timm         timm 1.0, by PyTorch's FlopCounterMode: attention included
  pytorch      the network written down in PyTorch, by FlopCounterMode
  formula      ViT of L layers, width H, T tokens, patches of P: 3 P P H + L (12 T H H + 2 T T H) + 1000 H for the patches and layers;
               BERT: L S H (4 H + 2 F + 2 S) + H H
  transformers transformers 5, products of convolutions and linear layers
  yolov5       the package yolov5 7.0.14: YOLOv5 6 at 640 x 640, products of convolutions
  recalled     rounded as in the paper, quoted from memory: no package outside of timm builds it

A number is compared exactly, "40.2 M" as rounded.
"""
import csv
import json
import os
import pathlib
import subprocess

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = str(pathlib.Path(os.environ.get("SOOTH_BUILD", TOP / "build")) / "sooth")
UNITS = {"M": 1e6, "G": 1e9}


def agrees(found, published):
    words = published.split()
    if len(words) == 1:
        return found == int(published)
    value, unit = float(words[0]), UNITS[words[1]]
    digits = len(words[0].partition(".")[2])
    return round(found / unit, digits) == value


def run(*arguments):
    done = subprocess.run([PROGRAM, *arguments, "--format", "json"], capture_output=True, text=True, timeout=60)
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr.strip()


def main():
    with open(TOP / "tests/models/zoo.csv") as file:
        rows = list(csv.DictReader(file))
    networks = [entry["name"] for entry in run("zoo")["networks"] if entry["definition"]]
    tests = [("every network has a row", set(networks) == {row["name"] for row in rows}, set(networks) ^ {row["name"] for row in rows})]
    for row in rows:
        seen = run("inspect", "zoo:" + row["name"], "--batch", "1")
        totals = seen["totals"] if isinstance(seen, dict) else {"params": -1, "macs": -1}
        good = agrees(totals["params"], row["params"]) and agrees(totals["macs"], row["macs"]) and not totals["unknown_layers"]
        tests.append((f"{row['name']}: {row['params']} parameters, {row['macs']} MACs ({row['source']})", good, totals if isinstance(seen, dict) else seen))
    print(f"1..{len(tests)}")
    for number, (what, good, found) in enumerate(tests, 1):
        print(f"{'' if good else 'not '}ok {number} - {what}")
        if not good:
            print(f"#   found {found}")


main()
