#!/usr/bin/env python3
"""Compares the algorithms, tiles and workspaces of the rules in src/predict/algorithm.c with the libraries' choices.

The rules were fitted on four fifths of the shapes of kernel_choice, neusight_linear and neusight_bmm, chosen by a hash
of the shape; the held-out fifth is reported and checked here. Classes of convolutions: implicit GEMM with and without
tensor cores, Winograd, direct (depthwise and grouped without tensor cores).
"""
import collections
import csv
import io
import math
import subprocess
import zlib

import corpus

TOOL = str(corpus.BUILD / "tests/tools/algorithm")
CUDNN = "measured/kernel_choice/cudnn_conv2d.csv.gz"
AUTOTUNED = "measured/operators/neusight_conv2d.csv.gz"
PRODUCTS = {"linear": "measured/operators/neusight_linear.csv.gz", "bmm": "measured/operators/neusight_bmm.csv.gz"}
GPUS = {"a100": "a100-sxm4-80gb", "h100": "h100-sxm5-80gb", "rtx3090": "rtx-3090", "rtx4090": "rtx-4090", "t4": "t4"}
SHAPE = "n c h w k r s stride_h stride_w pad_h pad_w dilation_h dilation_w groups".split()
MIB = 1 << 20
# Minimum agreement: what is reached now.
LEAST_CLASS, LEAST_CLASS_ALL, LEAST_WORKSPACE, LEAST_WAVES = 0.78, 0.94, 0.75, 0.6


def is_held(*shape):
    return zlib.crc32(" ".join(map(str, shape)).encode()) % 5 == 0


def rows(path):
    return csv.DictReader(io.StringIO("".join(corpus.read_texts(path))))


def ask(lines):
    """The tool's answers: [name, tensor cores, workspace, tile_m, tile_n, blocks, waves, reason]."""
    done = subprocess.run([TOOL], input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=600, check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


def class_of(name, tensor):
    if tensor:
        return "tensor"
    return "winograd" if name.startswith("Winograd") else "direct" if name.startswith("direct") else "vector"


def class_of_engine(row):
    if "winograd" in row["notes"]:
        return "winograd"
    if "tensor_core" in row["notes"]:
        return "tensor"
    return "direct" if int(row["groups"]) > 1 else "vector"


class Tally:
    def __init__(self):
        self.right, self.all = collections.Counter(), collections.Counter()

    def add(self, key, good):
        self.right[key] += good
        self.all[key] += 1

    def share(self, key):
        return self.right[key] / self.all[key]

    def total(self):
        return sum(self.right.values()) / sum(self.all.values())


def check_cudnn(report):
    chosen = [row for row in rows(CUDNN) if row["rank"] == "0" and row["engine"] and
              is_held(row["direction"], *(row[key] for key in SHAPE))]
    answers = ask(" ".join(["conv", GPUS[row["gpu"]], row["direction"], row["dtype"], row["layout"], *(row[key] for key in SHAPE)])
                  for row in chosen)
    classes, rooms, mixed = Tally(), Tally(), collections.Counter()
    off, real, tensors = collections.Counter(), collections.Counter(), collections.Counter()
    for row, (name, tensor, workspace, *_) in zip(chosen, answers, strict=True):
        key = (row["direction"], row["dtype"], row["gpu"])
        given, expected = class_of(name, tensor == "1"), class_of_engine(row)
        classes.add(key, given == expected)
        mixed[(*key[:2], expected, given)] += given != expected
        real_bytes, bytes_given = int(row["workspace_bytes"] or 0), int(workspace)
        rooms.add(key, abs(real_bytes - bytes_given) <= max(MIB, real_bytes / 10))
        n, c, h, w, k = (int(row[i]) for i in "nchwk")
        kind = key[:2]
        off[kind] += abs(real_bytes - bytes_given)
        real[kind] += real_bytes
        tensors[kind] += (n * c * h * w + n * k * (h // int(row["stride_h"])) * (w // int(row["stride_w"]))) * \
            (2 if row["dtype"] == "f16" else 4)
    report.say(f"{'':22}{''.join(f'{gpu:>9}' for gpu in GPUS)}   of {len(chosen)} shapes that were held out")
    for direction, dtype in sorted({key[:2] for key in classes.all}):
        for what, tally in (("algorithm", classes), ("workspace", rooms)):
            shares = "".join(f"{100 * tally.share((direction, dtype, gpu)):7.1f} %" for gpu in GPUS)
            report.say(f"{what:11}{direction:6}{dtype:5}{shares}")
    for key, count in mixed.most_common(20):
        report.detail(f"{' '.join(key[:2])}: {key[2]} is taken for {key[3]}: {count}")
    for kind in sorted(off):
        report.say(f"workspace of {' '.join(kind)}: bytes off by {100 * off[kind] / max(real[kind], 1):.0f} % of them, "
                   f"{100 * off[kind] / tensors[kind]:.1f} % of the tensors")
    worst = min(classes.all, key=classes.share)
    report.check(classes.share(worst) >= LEAST_CLASS and classes.total() >= LEAST_CLASS_ALL,
                 f"algorithm as cuDNN's for {100 * classes.total():.1f} %, worst {' '.join(worst)} {100 * classes.share(worst):.1f} %")
    report.check(rooms.total() >= LEAST_WORKSPACE, f"workspace within 10 % or 1 MiB for {100 * rooms.total():.1f} %")


def check_products(report):
    tiles, waves = Tally(), Tally()
    for kind, path in PRODUCTS.items():
        measured = [row for row in rows(path) if row["tile_m"] and row["grid_x"] and
                    is_held(*(row[key] for key in ("batch", "m", "n", "k")))]
        answers = ask(" ".join(["gemm", row["device"].replace(" ", "-"), "f32", *(row[key] for key in ("batch", "m", "n", "k"))])
                      for row in measured)
        for row, (_, _, _, tile_m, tile_n, blocks, *_) in zip(measured, answers, strict=True):
            grid = math.prod(int(row[f"grid_{i}"]) for i in "xyz")
            # The kernel's name gives the tile by columns: its first number is along n.
            tiles.add((kind, row["device"]), (row["tile_n"], row["tile_m"]) == (tile_m, tile_n))
            waves.add((kind, row["device"]), 1 / 1.2 <= float(blocks) / grid <= 1.2)
    for key in sorted(tiles.all):
        report.say(f"{key[0]:7}{key[1]:24} {tiles.all[key]:5} products: same tile {100 * tiles.share(key):5.1f} %, "
                   f"waves within 20 % {100 * waves.share(key):5.1f} %")
    report.check(waves.total() >= LEAST_WAVES, f"waves of fp32 products within 20 % for {100 * waves.total():.1f} %")


def check_autotuned(report):
    """Choices by exhaustive search instead of heuristics. The rules of older GPUs were fitted on them."""
    shape = "N C H W K".split()
    measured = [row for row in rows(AUTOTUNED) if row["algo"] and is_held(*(row[key] for key in shape))]
    answers = ask(" ".join(["conv", row["device"].replace(" ", "-"), "fwd", "f32", "nchw", *(row[key] for key in shape),
                            "3 3 1 1 1 1 1 1 1"]) for row in measured)
    tally = Tally()
    for row, (name, *_) in zip(measured, answers, strict=True):
        tally.add(row["device"], name.startswith("Winograd") == row["algo"].startswith("winograd"))
    for key in sorted(tally.all):
        report.say(f"autotuned {key:24} {tally.all[key]:5} 3 x 3 convolutions: Winograd or not {100 * tally.share(key):5.1f} %")
    old = [key for key in tally.all if "P100" in key or "P4" in key or "V100" in key]
    report.check(min(tally.share(key) for key in old) >= LEAST_CLASS, "Winograd or not as autotuned on GPUs before Turing")


def main():
    corpus.require(CUDNN, AUTOTUNED, *PRODUCTS.values())
    report = corpus.Report("algorithms")
    check_cudnn(report)
    check_products(report)
    check_autotuned(report)
    report.page("doc/accuracy.md")
    report.end()


if __name__ == "__main__":
    main()
