#!/usr/bin/env python3
"""Trains the graph networks of `sooth gnn` on measured and on predicted labels, scores them beside Sooth's predictor, the roofline and a
regression on the same rows, and writes the tables of doc/dippm.md.

    compare_gnn.py [--seconds N | --epochs N] [--apart CSV] [--only PATTERN] [--work FOLDER] [--tables]

--seconds: processor time of a training, of all threads; it gives the number of epochs. --epochs: the same number for all. --apart: hold-out rows that tools/train.sh wrote
(build/train/apart.csv). --only: the trainings whose name, as in measured-family-sage-full, has this in it. --tables: only write the page.
tools/compare_gnn.sh builds the program first."""
import argparse
import csv
import gzip
import hashlib
import json
import os
import pathlib
import re
import resource
import sqlite3
import subprocess

from accuracy import spearman

TOP = pathlib.Path(__file__).resolve().parent.parent
SHARED = pathlib.Path(os.environ.get("SOOTH_SHARED", TOP.parent / "shared"))
PROGRAM = pathlib.Path(os.environ.get("SOOTH_BUILD", TOP / "build")).resolve() / "sooth"
PAGE = TOP / "doc/dippm.md"
GPUS = "t4,v100-sxm2-16gb,a100,h100"  # GPUs of the predicted labels
GPU_APART = {"measured": "rtx-4090", "predicted": "h100-sxm5-80gb"}
MODELS = ("sage", "gcn", "gat", "gin", "mlp")
FEATURES = ("dippm", "full")
SPLITS = {"random": "random", "architecture": "architectures apart", "family": "families apart", "gpu": "a GPU apart"}
ORDER = ("random", "family", "gpu", "architecture")  # of the trainings
SETS = ("measured", "predicted")
OUTPUTS = {"latency_ms": "Latency", "energy_j": "Energy", "memory_mib": "Memory"}
SHARE = 0.15  # of test labels, in splits that are drawn here
# The published 512 units and rate are for hundreds of epochs; in a minute, fewer units and a larger rate that falls to 0 learn more.
HIDDEN, RATE, GRAPHS = 64, 0.001, 8
LABEL = ("name", "batch", "gpu", "precision", "layout", "runtime", "mode", "stack")


def rows_of(path):
    with (gzip.open if str(path).endswith(".gz") else open)(path, "rt", newline="") as file:
        return list(csv.DictReader(file))


def run(*arguments, codes=(0,)):
    """The output, and the processor time of all threads."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([str(PROGRAM), *map(str, arguments)], stdout=subprocess.PIPE, text=True)
    if done.returncode not in codes:
        raise SystemExit(f"compare_gnn.py: exit code {done.returncode}: {' '.join(done.args)}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def draws(key):
    """True for a share of all keys, chosen by hash."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:4], "big") < SHARE * 2 ** 32


def key_of(row):
    return tuple(row[column] for column in LABEL)


def stem_of(graph):
    """The name of a graph's file, as data sets have it."""
    return re.sub(r"\.onnx(\.gz)?$", "", graph.rsplit("/", 1)[-1])


class Comparison:
    def __init__(self, options):
        self.seconds, self.epochs = options.seconds, options.epochs
        self.work = pathlib.Path(options.work)
        self.work.mkdir(parents=True, exist_ok=True)
        self.cells = self.work / (f"cells-{options.epochs}-epochs" if options.epochs else f"cells-{options.seconds}")
        self.cells.mkdir(exist_ok=True)
        self.apart = [row for row in rows_of(options.apart) if row["source"] == "timm"] if pathlib.Path(options.apart).exists() else []
        if not self.apart:
            print(f"compare_gnn.py: no {options.apart}: without the hold-out rows of tools/train.sh, measured labels have only a random split")
        self.make_sets()
        self.shipped()
        self.lists()

    def path(self, name):
        return self.work / name

    # ---- sets and splits

    def make_sets(self):
        made = self.path("sets-made")
        if made.exists():
            return
        run("dataset", "make", "--gpu", GPUS, "-o", self.path("predicted.db"))
        run("dataset", "make", SHARED / "models/timm", "--labels", SHARED / "labels/timm.csv.gz", "-o", self.path("measured.db"),
            codes=(0, 1))  # 1: three networks have a fixed batch that was not measured
        made.touch()

    def shipped(self):
        """Predictions of the weights that ship, which were trained on all measured rows."""
        out, time = self.path("shipped.csv"), self.path("shipped.json")
        if not time.exists():
            _, seconds = run("eval", SHARED / "labels/timm.csv.gz", "--predictions", out, "-o", self.path("shipped.txt"))
            time.write_text(json.dumps({"seconds": seconds}))
        self.shipped_rows = [row for row in rows_of(out) if row["latency_ms_pred"]]
        self.shipped_ms = 1000 * json.loads(time.read_text())["seconds"] / len(self.shipped_rows)

    def lists(self):
        """Test labels of the splits of the measured set, with Sooth's predictions of them."""
        graphs = {}  # hold-out rows do not name a graph, and a network at two sizes has two
        for row in self.shipped_rows:
            graphs[key_of(row), f"{float(row['latency_ms']):.6g}"] = stem_of(row["graph"])
        shipped = [({**row, "name": stem_of(row["graph"])}, float(row["latency_ms"]), float(row["latency_ms_pred"])) for row in self.shipped_rows]
        apart = [({**row, "name": graphs[key_of(row), row["measured_ms"]]}, float(row["measured_ms"]), float(row["predicted_ms"]))
                 for row in self.apart if (key_of(row), row["measured_ms"]) in graphs]
        if len(apart) < len(self.apart):
            print(f"compare_gnn.py: {len(self.apart) - len(apart)} of {len(self.apart)} hold-out rows are not in the table")
        self.tested = {"random": [row for row in shipped if draws(f"{row[0]['name']} {row[0]['batch']}")],
                       "architecture": [row for row in apart if row[0]["apart"] == "architecture"],
                       "family": [row for row in apart if row[0]["apart"] == "family" and draws(row[0]["family"])],
                       "gpu": [row for row in apart if row[0]["apart"] == "gpu" and row[0]["gpu"] == GPU_APART["measured"]]}
        for split, rows in self.tested.items():
            with open(self.path(f"{split}.csv"), "w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(LABEL)
                writer.writerows(key_of(row) for row, _, _ in rows)

    # ---- trainings

    def split_options(self, name, split):
        if name == "measured":
            return ["--split", split, "--test", self.path(f"{split}.csv")]
        return ["--split", split, *(["--apart", GPU_APART[name]] if split == "gpu" else [])]

    def speed(self, model, features):
        """Processor seconds of a training for each of its nodes, from one epoch on a small set."""
        small, found = self.path("small.db"), self.path("speed.json")
        speeds = json.loads(found.read_text()) if found.exists() else {}
        key = f"{model}-{features}"
        if key not in speeds:
            plan = (TOP / "data/plans/dippm.txt").read_text()
            self.path("small.txt").write_text(re.sub(r"^count = (\d+)", lambda x: f"count = {int(x[1]) // 32}", plan, flags=re.M))
            run("dataset", "make", "--plan", self.path("small.txt"), "--gpu", GPUS, "-o", small)
            made = self.train(small, model, features, ["--split", "random"], 1, "speed.bin")[0]
            speeds[key] = made["epoch_processor_seconds"] / self.trained_nodes(made)
            found.write_text(json.dumps(speeds))
        return speeds[key]

    @staticmethod
    def trained_nodes(made):
        """Approximate number of nodes in the training graphs of a set."""
        labels = made["train_labels"] + made["validation_labels"] + made["test_labels"] + made["unused_labels"]
        return made["nodes"] * made["train_labels"] / labels

    def train(self, db, model, features, split, epochs, out):
        text, seconds = run("gnn", "train", db, "--model", model, "--node-features", features, "--hidden", HIDDEN, "--rate", RATE, "--schedule",
                            "linear", "--batch-size", GRAPHS, *split, "--epochs", epochs, "-q", "-f", "json", "-o", self.path(out))
        return json.loads(text), seconds

    def nodes(self, name, features):
        """Nodes of a set in a form of the features."""
        found = self.path("nodes.json")
        nodes = json.loads(found.read_text()) if found.exists() else {}
        key = f"{name}-{features}"
        if key not in nodes:
            options = ["--model", "mlp", "--hidden", 32, "--node-features", features, "--epochs", 1, "-q", "-f", "json"]
            nodes[key] = json.loads(run("gnn", "train", self.path(f"{name}.db"), *options, "-o", self.path("nodes.bin"))[0])["nodes"]
            found.write_text(json.dumps(nodes))
        return nodes[key]

    def cell(self, name, split, model, features):
        made = self.cells / f"{name}-{split}-{model}-{features}.json"
        if made.exists():
            return
        db, options, file = self.path(f"{name}.db"), self.split_options(name, split), f"{made.stem}.bin"
        epochs = self.epochs or max(1, round(self.seconds / (self.speed(model, features) * self.nodes(name, features) * 0.7)))
        trained, seconds = self.train(db, model, features, options, epochs, file)
        scored = json.loads(run("gnn", "eval", self.path(file), db, *options, "-f", "json")[0])
        made.write_text(json.dumps({"trained": trained, "seconds": seconds, "eval": scored}))
        best = next(s for s in scored["scores"] if s["output"] == "latency_ms" and not s["by"])
        print(f"{made.stem}: {epochs} epochs, {seconds:.0f} s, latency {best['mape']:.1f} %, median {best['median']:.1f} %", flush=True)

    def plan(self):
        """PMGNS in every split first, then the same features without edges, then the others."""
        def importance(cell):
            _, split, model, features = cell
            rank = 0 if model == "sage" else 1 if (model, features) == ("mlp", "full") else 2
            return rank, list(ORDER).index(split)

        cells = [(name, split, model, features) for name in SETS for split in SPLITS for model in MODELS for features in FEATURES]
        return sorted((cell for cell in cells if cell[0] != "measured" or self.tested[cell[1]]), key=importance)

    # ---- tables

    def result(self, *cell):
        path = self.cells / f"{'-'.join(cell)}.json"
        return json.loads(path.read_text()) if path.exists() else None

    def score(self, name, split, predictor, output):
        """Mean and median error and rank of a graph network (model, features), or of a baseline from any training's
        evaluation."""
        if predictor == "sooth":
            return self.sooth_score(split) if name == "measured" and output == "latency_ms" else None
        cells = [predictor] if isinstance(predictor, tuple) else [(m, f) for m in MODELS for f in FEATURES]
        found = next((r for r in (self.result(name, split, *cell) for cell in cells) if r), None)
        wanted = predictor[0] if isinstance(predictor, tuple) else predictor
        scores = found["eval"]["scores"] if found else []
        return next(((s["mape"], s["median"], s["spearman"]) for s in scores
                     if s["predictor"] == wanted and s["output"] == output and not s["by"]), None)

    def sooth_score(self, split):
        rows = self.tested[split]
        errors = sorted(abs(predicted / measured - 1) * 100 for _, measured, predicted in rows)
        if not errors:
            return None
        return sum(errors) / len(errors), errors[len(errors) // 2], spearman([(p, m) for _, m, p in rows])

    @staticmethod
    def figures(score):
        if not score or score[0] is None:
            return "–"
        return f"{digits(score[0])} / {digits(score[1])} / {score[2]:.3f}" if score[2] is not None else f"{digits(score[0])} / {digits(score[1])} / –"

    def table(self, name, output):
        predictors = [("Sooth", "sooth")] if name == "measured" else []
        predictors += [(f"{title(m)}, `{f}`", (m, f)) for m in MODELS for f in FEATURES] + [("roofline", "roofline"), ("regression", "regression")]
        lines = []
        for text, predictor in predictors:
            scores = [self.score(name, split, predictor, output) for split in SPLITS]
            if any(score and score[0] is not None for score in scores):
                lines.append([text, *map(self.figures, scores)])
        return markdown(["", *SPLITS.values()], lines)

    def weights(self):
        with sqlite3.connect(self.path("predicted.db")) as base:
            return base.execute("SELECT value FROM meta WHERE key = 'weights'").fetchone()[0]

    def counts(self):
        lines = []
        for name in SETS:
            found = [self.result(name, split, "sage", "dippm") for split in SPLITS]
            lines.append([f"{name}, labels to train / test",
                          *(f"{r['trained']['train_labels']:,} / {r['trained']['test_labels']:,}" if r else "–" for r in found)])
        return markdown(["", *SPLITS.values()], lines)

    def times(self):
        lines = []
        for model in MODELS:
            for features in FEATURES:
                cells = [self.result(name, "random", model, features) for name in SETS]
                if not any(cells):
                    continue
                parameters = next(r["trained"]["parameters"] for r in cells if r)
                numbers = [f"{r['trained']['epochs']} | {r['seconds']:.0f} | {predict_ms(r):.2f}" if r else "– | – | –" for r in cells]
                lines.append([f"{title(model)}, `{features}`", f"{parameters:,}", *numbers])
        head = ["", "parameters", *(f"{name}: epochs | train, s | predict, ms" for name in SETS)]
        return markdown(head, lines)

    def answers(self):
        def mean(split, predictor, name="measured"):
            score = self.score(name, split, predictor, "latency_ms")
            return f"{digits(score[0])} %" if score and score[0] is not None else "–"

        def over(predictor, name="measured"):
            return ", ".join(f"{mean(split, predictor, name)} {text}" for split, text in (
                ("random", "(random)"), ("architecture", "(architectures)"), ("family", "(families)"), ("gpu", "(a GPU)")))

        lines = [f"- **The split.** Mean error of PMGNS with `dippm` features: {over(('sage', 'dippm'))} on measured labels, "
                 f"{over(('sage', 'dippm'), 'predicted')} on predicted ones.",
                 f"- **True edges and all operators.** PMGNS with `full` features: {over(('sage', 'full'))} on measured labels, "
                 f"{over(('sage', 'full'), 'predicted')} on predicted ones. The same features without edges (MLP): {over(('mlp', 'full'))} "
                 f"and {over(('mlp', 'full'), 'predicted')}.",
                 f"- **Physics.** Sooth: {over('sooth')} on measured labels, the roofline alone {over('roofline')}."]
        return "\n".join(lines)

    def write(self):
        page = PAGE.read_text()
        done = sum(1 for cell in self.plan() if self.result(*cell))
        seconds = sum(r["seconds"] for r in (self.result(*cell) for cell in self.plan()) if r)
        option = f"--epochs {self.epochs}" if self.epochs else f"--seconds {self.seconds}"
        head = (f"`tools/compare_gnn.sh {option}`: {done} of {len(self.plan())} trainings are done ({seconds:.0f} s of one core together): "
                f"{HIDDEN} hidden units, {GRAPHS} graphs per step, a rate of {RATE:g} that falls to 0. Predicted labels are of weights {self.weights()}. A – was not trained, or has no such output.")
        parts = [head, "", self.answers(), "", self.counts(), "Measured labels, latency: mean error % / median error % / rank correlation", "",
                 self.table("measured", "latency_ms")]
        for output, text in OUTPUTS.items():
            parts += [f"Predicted labels, {text.lower()}:", "", self.table("predicted", output)]
        parts += [f"Training and prediction, random split. Prediction is the processor time for a graph; Sooth takes {self.shipped_ms:.2f} ms for a row, "
                  "with reading the file:", "", self.times()]
        body = "\n".join(parts).rstrip()
        page, count = re.subn(r"<!-- comparison -->.*?<!-- /comparison -->", lambda _: f"<!-- comparison -->\n\n{body}\n\n<!-- /comparison -->", page,
                              flags=re.S)
        if not count:
            raise SystemExit("compare_gnn.py: doc/dippm.md has no markers 'comparison'")
        PAGE.write_text(page)


def digits(x):
    return f"{x:.0f}" if x >= 100 else f"{x:.1f}"


def title(model):
    return {"sage": "PMGNS (GraphSAGE)"}.get(model, model.upper())


def predict_ms(found):
    return 1000 * found["eval"]["processor_seconds"] / found["eval"]["scored_graphs"]


def markdown(head, lines):
    columns = sum(cell.count(" | ") + 1 for cell in head)
    return "\n".join([f"| {' | '.join(head)} |", f"| --- |{' ---: |' * (columns - 1)}", *(f"| {' | '.join(line)} |" for line in lines)]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--apart", default=TOP / "build/train/apart.csv")
    parser.add_argument("--only", default="")
    parser.add_argument("--work", default=TOP / "build/compare_gnn")
    parser.add_argument("--tables", action="store_true")
    options = parser.parse_args()
    comparison = Comparison(options)
    for cell in comparison.plan():
        if not options.tables and options.only in "-".join(cell):
            comparison.cell(*cell)
            comparison.write()
    comparison.write()


main()
