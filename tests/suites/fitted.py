#!/usr/bin/env python3
"""Fits of `sooth learn` to rows whose true coefficients are known: Sooth's own predictions. The fit must return the
shipped coefficients where the rows determine them, and predict hold-out rows well."""
import csv
import itertools
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS / "suites"))
from hostile import BUILD, tell  # noqa: E402

PROGRAM = BUILD.resolve() / "sooth"
NETWORKS = ("zoo:resnet18", "zoo:vgg16", "zoo:mobilenet_v2")
GPUS = ("a100-sxm4-40gb", "v100-sxm2-16gb", "t4", "h100-sxm5-80gb")


def run(folder, *words):
    done = subprocess.run([PROGRAM, *words], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"sooth {' '.join(words)}: exit code {done.returncode}: {done.stderr}")
    return done.stdout + done.stderr


def answers(folder, columns, rows):
    """Sooth's predictions for these rows."""
    with open(folder / "asked.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(rows)
    run(folder, "predict", "--queries", "asked.csv", "-o", "answers.csv")
    with open(folder / "answers.csv", newline="") as file:
        return list(csv.DictReader(file))


def write(folder, name, rows):
    with open(folder / name, "w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def constants(path):
    """{name: numbers} of `name = number …` lines."""
    found = re.findall(r"^(\w[\w. -]*?)\s*=\s*([-\d. e]+)", pathlib.Path(path).read_text(), re.M)
    return {name: [float(number) for number in numbers.split()] for name, numbers in found}


def far(name, found, shipped, most):
    """The fault of a fitted constant that must equal the shipped one within a relative tolerance; None if it does."""
    if name not in found:
        return f"{name} is missing"
    off = abs(found[name][0] / shipped[name][0] - 1)
    return f"{name} is {found[name][0]}; rows were made with {shipped[name][0]}" if off > most else None


def energy(folder):
    columns = ["graph", "batch", "gpu", "precision", "runtime", "mode", "stack"]
    asked = itertools.product(NETWORKS, (1, 8, 32, 128), GPUS, ("fp32", "fp16"), ("eager",), ("infer",), ("pt2.4-cu124",))
    rows = [{**{key: row[key] for key in columns}, "name": row["graph"], "latency_ms": row["latency_ms_pred"], "source": "own",
             "power_w": round(float(row["energy_j_pred"]) / float(row["latency_ms_pred"]) * 1000, 3)} for row in answers(folder, columns, asked)]
    write(folder, "power.csv", rows)
    said = run(folder, "learn", "--energy", "power.csv", "-o", "energy.txt", "--apart", "apart.csv")
    shipped, found = constants(TESTS.parent / "data/energy.txt"), constants(folder / "energy.txt")
    for name, most in (("base_hbm", 0.12), ("base_gddr", 0.05), ("busy", 0.2), ("vector", 0.05), ("tensor", 0.05), ("hbm_pj_byte", 0.2), ("cap", 0.02)):
        yield f"energy: {name}", far(name, found, shipped, most)
    wrong = [f"{gpu}: {found.get('gpu ' + gpu)}" for gpu in GPUS
             if not (found.get("gpu " + gpu) and all(0.9 < factor < 1.1 for factor in found["gpu " + gpu][1:]))]
    yield "energy: factors of GPUs are near one", "; ".join(wrong) or None
    scores = {apart: (int(count), float(mean), float(median)) for apart, count, mean, median in
              re.findall(r"^own +(\w+) +soundly +(\d+) +([\d.]+)% +([\d.]+)%", said, re.M)}
    limits = {"shape": 3, "network": 2, "GPU": 12, "both": 30}
    wrong = [f"{apart}: {scores.get(apart)}" for apart, most in limits.items()
             if scores.get(apart, (0,))[0] != len(rows) or not 0 < scores[apart][1] < most]
    yield "energy: rows kept apart", "; ".join(wrong) or None
    with open(folder / "apart.csv", newline="") as file:
        apart = list(csv.DictReader(file))
    mean = {which: 100 * sum(abs(float(row["power_w_pred"]) / float(row["power_w"]) - 1) for row in apart if row["apart"] == which) / len(rows)
            for which in limits}
    wrong = [f"{which}: {scores[which][1]} % told, {mean[which]:.2f} % in the rows" for which in limits if abs(mean[which] - scores[which][1]) > 0.06]
    yield "energy: --apart has the rows of the scores", "; ".join(wrong) or (f"{len(apart)} rows" if len(apart) != 4 * len(rows) else None)
    run(folder, "learn", "--energy", "power.csv", "-o", "again.txt", "-q")
    yield "energy: the same again", None if (folder / "again.txt").read_bytes() == (folder / "energy.txt").read_bytes() else "another file"


def slices(folder):
    columns = ["graph", "batch", "gpu", "mig", "precision", "runtime", "mode", "stack"]
    asked = itertools.product(NETWORKS, (1, 4, 16, 64), ("a100-sxm4-80gb",), ("1g.10gb", "2g.20gb", "3g.40gb"), ("fp32",), ("eager",),
                              ("infer", "train"), ("pt1.13-migprofiler80",))
    rows = [{**{key: row[key] for key in columns}, "name": row["graph"], "latency_ms": row["latency_ms_pred"], "source": "own"}
            for row in answers(folder, columns, asked)]
    write(folder, "slices.csv", rows)
    said = run(folder, "learn", "--slices", "slices.csv", "-o", "slices.txt")
    shipped, found = constants(TESTS.parent / "data/slices.txt"), constants(folder / "slices.txt")
    for name, most in (("conv", 0.06), ("conv_backward", 0.05), ("host_us pt1.13-migprofiler80", 0.1)):
        yield f"slices: {name}", far(name, found, shipped, most)
    told = re.search(r"(\d+) rows fitted: mean error ([\d.]+) %; (\d+) rows kept apart: mean ([\d.]+) %, median ([\d.]+) %", said)
    good = told and int(told[1]) == int(told[3]) == len(rows) // 2 and 0 < float(told[2]) < 1.5 and 0 < float(told[4]) < 2.5
    yield "slices: rows kept apart", None if good else said
    yield "slices: the interval is narrow", None if 0 < found["interval"][0] < 0.06 else f"{found['interval']}"
    run(folder, "learn", "--slices", "slices.csv", "-o", "again.txt", "-q")
    yield "slices: the same again", None if (folder / "again.txt").read_bytes() == (folder / "slices.txt").read_bytes() else "another file"


def results():
    with tempfile.TemporaryDirectory() as folder:
        yield from energy(pathlib.Path(folder))
        yield from slices(pathlib.Path(folder))


if __name__ == "__main__":
    os.environ.pop("SOOTH_GPUS", None)
    sys.exit(tell(results()))
