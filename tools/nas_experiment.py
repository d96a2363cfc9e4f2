#!/usr/bin/env python3
"""Does utilization make a search over architectures faster? Runs the searches and writes their tables and pictures into doc/nas.md.

    nas_experiment.py [--repeat N] [--results DIRECTORY]

--results keeps the tables of searches, and reuses existing ones. tools/nas_experiment.sh builds the program first."""
import argparse
import collections
import csv
import gzip
import math
import os
import pathlib
import re
import struct
import subprocess
import tempfile

import nas_pictures
from accuracy import spearman

TOP = pathlib.Path(__file__).resolve().parent.parent
SHARED = pathlib.Path(os.environ.get("SOOTH_SHARED", TOP.parent / "shared"))
PROGRAM = TOP / "build/sooth"
TRIALS = 5000  # a search with more evaluations counts as failed
BATCH = 256
GPUS = {"titan-xp": "TITAN Xp", "titan-rtx": "TITAN RTX", "a100-sxm4-40gb": "A100"}
MEASURED = {"titan-xp": "TITAN Xp", "titan-rtx": "TITAN RTX"}  # GPU: its name in the table of latencies, without the vendor
DATA_SETS = {"cifar10": "CIFAR-10", "cifar100": "CIFAR-100", "imagenet16_120": "ImageNet16-120"}
QUANTILES = (0.25, 0.5, 0.75)
METHODS = ("random", "evolution", "local")
METRICS = {"utilization": "utilization", "macs": "MACs", "params": "parameters", "latency": "latency", "epochs": "12 epochs"}
SHARES = (25, 10)
WITHIN = ("0.5", "1")


def rows_of(path):
    with (gzip.open if str(path).endswith(".gz") else open)(path, "rt", newline="") as file:
        return list(csv.DictReader(file))


def quantile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, math.ceil(share * len(values)) - 1)]


def run(*arguments, codes=(0,)):
    command = [str(a) for a in (PROGRAM, *arguments)]
    code = subprocess.run(command).returncode
    if code not in codes:
        raise SystemExit(f"nas_experiment.py: exit code {code}: {' '.join(command)}")


# ---- searches --------------------------------------------------------------------------------------------------------


class Experiment:
    """All searches of one space on one GPU, with predicted or measured latencies, in one run of `sooth nas
    --queries`."""

    def __init__(self, folder, space, gpu, accuracies, proxies, measured=None):
        self.space, self.gpu, self.accuracies, self.proxies, self.measured = space, gpu, accuracies, proxies, measured
        self.name = f"{space}-{gpu}{'-measured' if measured else ''}"
        self.settings = ["--gpu", gpu, "--batch", BATCH, "--precision", "fp32"]
        self.candidates_path = folder / f"{space}-{gpu}-candidates.csv"
        self.queries_path, self.results_path = folder / f"{self.name}-queries.csv", folder / f"{self.name}-results.csv"

    def prunings(self, data_set):
        yield ""
        for metric in METRICS:
            by = self.proxies.get(data_set) if metric == "epochs" else metric
            for share in SHARES if by else ():
                yield f"{by}:{share}%"

    def run(self, repeat):
        if not self.candidates_path.exists():
            run("nas", self.space, *self.settings, "--format", "csv", "-o", self.candidates_path)
        self.candidates = rows_of(self.candidates_path)
        latencies = [float(r["latency_ms"]) for r in (rows_of(self.measured) if self.measured else self.candidates)]
        self.limits = {q: quantile(latencies, q) for q in QUANTILES}
        if not self.results_path.exists():
            with open(self.queries_path, "w", newline="") as file:
                table = csv.writer(file)
                table.writerow(["accuracy", "measured", "latency_ms", "search", "prune", "data_set", "quantile"])
                for data_set, accuracy in self.accuracies.items():
                    for q, limit in self.limits.items():
                        for prune in self.prunings(data_set):
                            for method in METHODS:
                                table.writerow([accuracy, self.measured or "", f"{limit:.6f}", method, prune, data_set, q])
            run("nas", self.space, *self.settings, "--repeat", repeat, "--trials", TRIALS, "--within", ",".join(WITHIN), "--queries",
                self.queries_path, "-o", self.results_path)
        self.results = {}
        for row in rows_of(self.results_path):
            by, _, share = row["prune"].rpartition(":")
            metric = "epochs" if "/" in by else by
            self.results[row["data_set"], float(row["quantile"]), row["search"], metric, int(share.rstrip("%") or 0)] = row
        return self

    def cases(self):
        return [(d, q) for d in self.accuracies for q in QUANTILES]

    def saving(self, method, metric, share, within, cases=None):
        """Geometric mean of evaluations without ÷ with pruning in cases that kept the target, and the other cases."""
        logs, lost = [], []
        for data_set, q in cases or self.cases():
            alone, pruned = (self.results.get((data_set, q, method, *key)) for key in (("", 0), (metric, share)))
            if pruned is None:
                continue
            if int(pruned[f"reached_{within}"]) == 0:
                lost.append((data_set, q))
            else:
                logs.append(math.log(float(alone[f"mean_{within}"]) / float(pruned[f"mean_{within}"])))
        return (math.exp(sum(logs) / len(logs)) if logs else None), lost, len(logs) + len(lost)


def write_table(path, header, rows):
    with open(path, "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(header)
        table.writerows(rows)
    return path


def experiments(folder):
    """NAS-Bench-201 and NAS-Bench-Macro. Tables with short names for the program, made here."""
    accuracy_rows = rows_of(SHARED / "measured/nas_accuracy/nasbench201_accuracy.csv.gz")
    columns = [f"{d}_{kind}" for d in DATA_SETS for kind in ("test", "val_12")]
    table = write_table(folder / "nasbench201.csv", ["architecture", *columns],
                        ([r["arch_str"], *(r[c] for c in columns)] for r in accuracy_rows))
    accuracies = {d: f"{table}:{d}_test" for d in DATA_SETS}
    proxies = {d: f"{table}:{d}_val_12" for d in DATA_SETS}
    found = [Experiment(folder, "nasbench201", gpu, accuracies, proxies) for gpu in GPUS]
    names = {r["arch_id"]: r["arch_str"] for r in accuracy_rows}
    latencies = rows_of(SHARED / "measured/nas_latency/nasbench201_gpu_latency.csv.gz")
    for gpu, device in MEASURED.items():
        chosen = ((names[r["arch_id"]], r["latency_ms"]) for r in latencies if r["device"].endswith(device) and r["batch"] == str(BATCH))
        found.append(Experiment(folder, "nasbench201", gpu, accuracies, proxies,
                                write_table(folder / f"{gpu}-measured.csv", ["architecture", "latency_ms"], chosen)))
    macro = write_table(folder / "macro.csv", ["architecture", "cifar10"],
                        ((r["arch"], r["cifar10_test_mean"]) for r in rows_of(SHARED / "measured/nas_accuracy/nasbench_macro_accuracy.csv.gz")))
    return found, [Experiment(folder, "nasbench-macro", gpu, {"cifar10": f"{macro}:cifar10"}, {}) for gpu in GPUS]


# ---- timm's networks ---------------------------------------------------------------------------------------------------

TIMM_GPUS = ("rtx-3090", "rtx-4090", "a100-sxm4-40gb")


def timm_networks(folder):
    """By GPU: dictionaries with latency, utilization, MACs, parameters and the best ImageNet accuracy of the network at its size."""
    path = folder / "timm.csv"
    if not path.exists():
        run("survey", SHARED / "models/timm", "--gpu", ",".join(TIMM_GPUS), "--batch", BATCH, "--format", "csv", "-o", path,
            codes=(0, 1))  # exit code 1: graphs with a fixed batch have no prediction
    best, params = collections.defaultdict(float), {}
    for r in rows_of(SHARED / "measured/nas_accuracy/timm_imagenet_accuracy.csv.gz"):
        key = f"{r['architecture']}@{r['img_size']}"
        best[key] = max(best[key], float(r["top1"]))
        params[key] = float(r["params_m"].replace(",", ""))
    found = {gpu: [] for gpu in TIMM_GPUS}
    for r in rows_of(path):
        key = r["graph"].rpartition("/")[2].removesuffix(".onnx.gz")
        if not r["error"] and key in best:
            found[r["gpu"]].append({"name": key, "latency": float(r["latency_ms"]), "utilization": float(r["utilization"]), "macs": float(r["flops"]),
                                    "params": params[key], "accuracy": best[key]})
    return found


def front_of(networks):
    """Pareto front: networks more accurate than every faster one."""
    front, best = [], -1.0
    for n in sorted(networks, key=lambda n: (n["latency"], -n["accuracy"])):
        if n["accuracy"] > best:
            best = n["accuracy"]
            front.append(n)
    return front


def deciles(rows, key):
    ordered = sorted(rows, key=lambda r: r[key])
    return [ordered[len(ordered) * i // 10:len(ordered) * (i + 1) // 10] for i in range(10)]


def front_found(networks):
    """By metric: shares of the front, and of networks within a point of it, that are in the best quarter of their
    latency decile."""
    front = front_of(networks)
    near = [n for n in networks if n["accuracy"] >= max(f["accuracy"] for f in front if f["latency"] <= n["latency"]) - 1]
    shares = {}
    for metric in ("utilization", "macs", "params"):
        chosen = set()
        for part in deciles(networks, "latency"):
            part = sorted(part, key=lambda n: -n[metric])
            chosen.update(n["name"] for n in part[:math.ceil(len(part) / 4)])
        correlations = [spearman([(n[metric], n["accuracy"]) for n in part]) for part in deciles(networks, "latency")]
        shares[metric] = (sum(n["name"] in chosen for n in front) / len(front), sum(n["name"] in chosen for n in near) / len(near),
                          sum(correlations) / len(correlations))
    return front, near, shares


# ---- the page ----------------------------------------------------------------------------------------------------------


def markdown(header, rows):
    return "\n".join(["| " + " | ".join(header) + " |", "|" + " --- |" * 1 + " ---: |" * (len(header) - 1)]
                     + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def title_of(e):
    return f"{GPUS[e.gpu]}, {'measured' if e.measured else 'predicted'}"


def saving_cell(e, method, metric, share, within):
    factor, lost, count = e.saving(method, metric, share, within)
    if not count:
        return "–"
    text = f"{factor:.1f}" if factor else "–"
    return text + (f" ({len(lost)} lost)" if lost else "")


def savings_table(found, within, with_epochs=True):
    lines = []
    for e in found:
        for method in METHODS:
            lines.append([f"{title_of(e)}, {method}"] + [saving_cell(e, method, metric, share, within)
                         for share in SHARES for metric in METRICS if with_epochs or metric != "epochs"])
    return markdown(["latency, search"] + [f"{METRICS[m]} {s} %" for s in SHARES for m in METRICS if with_epochs or m != "epochs"], lines)


def evaluations_table(e, data_set, q):
    def cell(row, within):
        if int(row[f"reached_{within}"]) == 0:
            return "lost"
        return f"{float(row[f'mean_{within}']):.0f} ± {(float(row[f'high_{within}']) - float(row[f'low_{within}'])) / 2:.0f}"
    lines = []
    for metric, share in [("", 0)] + [(m, s) for m in METRICS for s in SHARES]:
        rows = [e.results.get((data_set, q, method, metric, share)) for method in METHODS]
        if all(rows):
            lines.append([f"best {share} % by {METRICS[metric]}" if metric else "alone", rows[0]["kept"]]
                         + [cell(row, within) for within in WITHIN for row in rows])
    return markdown(["candidates", "kept"] + [f"{m}, {w}" for w in WITHIN for m in METHODS], lines)


def correlations_table(found):
    lines = []
    for e in found:
        for data_set in e.accuracies:
            rows = [e.results[data_set, q, "random", "", 0] for q in QUANTILES]
            lines.append([f"{title_of(e)}, {DATA_SETS[data_set]}"] + [f"{float(r['utilization_spearman_accuracy']):.2f}" for r in rows]
                         + [f"{float(r['macs_spearman_accuracy']):.2f}" for r in rows])
    return markdown(["latency, data set"] + [f"{m}, {100 * q:.0f} %" for m in ("utilization", "MACs") for q in QUANTILES], lines)


def limits_table(found):
    return markdown(["latency"] + [f"{100 * q:.0f} %" for q in QUANTILES],
                    [[f"{e.space}, {title_of(e)}"] + [f"{e.limits[q]:.2f} ms" for q in QUANTILES] for e in found])


def timm_table(networks):
    lines = []
    for gpu, rows in networks.items():
        front, near, shares = front_found(rows)
        for metric, (on_front, near_front, correlation) in shares.items():
            lines.append([f"{gpu}, {METRICS[metric]}", str(len(rows)), str(len(front)), f"{100 * on_front:.0f} %", str(len(near)),
                          f"{100 * near_front:.0f} %", f"{correlation:.2f}"])
    return markdown(["GPU, metric", "networks", "on the front", "of these in the best quarter", "within 1 point", "of these in the best quarter",
                     "rank correlation with accuracy"], lines)


def decile_correlations(e, data_set):
    """Rank correlations of utilization and of MACs with accuracy in each tenth of the latencies."""
    path, _, column = e.accuracies[data_set].rpartition(":")
    accuracy = {r["architecture"]: float(r[column]) for r in rows_of(path)}
    rows = [{"latency": float(r["latency_ms"]), "utilization": float(r["utilization"]), "macs": float(r["macs"]),
             "accuracy": accuracy[r["architecture"]]} for r in e.candidates]
    return {m: [spearman([(r[m], r["accuracy"]) for r in part]) for part in deciles(rows, "latency")] for m in ("utilization", "macs")}


def replace(page, name, body):
    weights = "%08x" % struct.unpack_from("<I", (TOP / "data/weights.bin").read_bytes(), 24)  # checksum of its header
    pattern = re.compile(rf"<!-- {name}( of weights \w+)? -->.*?<!-- /{name} -->", re.S)
    assert pattern.search(page), f"doc/nas.md has no markers '{name}'"
    return pattern.sub(lambda _: f"<!-- {name} of weights {weights} -->\n\n{body}\n<!-- /{name} -->", page)


def write_page(cells, macros, networks):
    path = TOP / "doc/nas.md"
    page = path.read_text()
    example = next(e for e in cells if e.measured and e.gpu == "titan-rtx")
    page = replace(page, "limits", limits_table(cells + macros))
    page = replace(page, "evaluations", evaluations_table(example, "cifar100", 0.5))
    page = replace(page, "savings 0.5", savings_table(cells, "0.5"))
    page = replace(page, "savings 1", savings_table(cells, "1"))
    page = replace(page, "correlations", correlations_table(cells))
    page = replace(page, "macro", savings_table(macros, "0.5", False) + "\n" + correlations_table(macros))
    page = replace(page, "timm", timm_table(networks))
    path.write_text(page)
    pictures = TOP / "doc/pictures"
    bars = {title_of(e): [e.saving("random", metric, 25, "0.5")[0] or 0 for metric in METRICS] for e in cells}
    (pictures / "nas_savings.svg").write_text(nas_pictures.bars("Random search within 0.5 points, best quarter kept: evaluations saved, factor",
                                                                list(METRICS.values()), bars))
    lines = {}
    for e in cells:
        if not e.measured:
            for metric, values in decile_correlations(e, "cifar100").items():
                lines[f"{GPUS[e.gpu]}, {METRICS[metric]}"] = values
    (pictures / "nas_deciles.svg").write_text(nas_pictures.lines("Rank correlation with CIFAR-100 accuracy in each tenth of the latencies", lines))
    rows = networks["rtx-4090"]
    front = {n["name"] for n in front_of(rows)}
    best = sorted(n["utilization"] for n in rows)[len(rows) * 3 // 4]
    (pictures / "nas_timm.svg").write_text(nas_pictures.points(
        f"timm on an RTX 4090, batch {BATCH}: ImageNet accuracy in percent over latency in ms",
        [(n["latency"], n["accuracy"], n["name"] in front, n["utilization"] >= best) for n in rows]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=1000)
    parser.add_argument("--results", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.results or pathlib.Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        cells, macros = experiments(folder)
        for e in cells + macros:
            e.run(options.repeat)
            print(f"{e.name}: {len(e.results)} searches of {options.repeat} repetitions", flush=True)
        write_page(cells, macros, timm_networks(folder))


if __name__ == "__main__":
    main()
