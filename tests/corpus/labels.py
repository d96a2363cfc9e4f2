#!/usr/bin/env python3
"""The labels of tools/labels.py: a sample of networks is built, bound and lowered as the rows ask, without unknown
operators, and every GPU has a file.

The second part compares the zoo's language models with traces of the real ones: for each traced run the operators with
their output elements. Views, scalars and copies are left out, because the tracer does not see copies inside products.
"""
import collections
import csv
import gzip
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import corpus

TOOL = str(corpus.BUILD / "tests/tools/lower")
VIEW, UNKNOWN = 2, 8
ARCHITECTURES = 12  # for each search space


def lowered(arguments):
    """Kernels of a network, or the reason for none."""
    done = subprocess.run([TOOL, "--json", *arguments], capture_output=True, text=True, timeout=corpus.TIMEOUT_S)
    if done.returncode:
        return done.stderr.strip()
    return [json.loads(line) for line in done.stdout.splitlines()]


def fault_of(arguments):
    kernels = lowered(arguments)
    if isinstance(kernels, str):
        return kernels
    unknown = sorted({k["op"] for k in kernels if k["flags"] & UNKNOWN})
    return f"not known: {', '.join(unknown)}" if unknown else None


def check_labels(report, folder):
    done = subprocess.run([sys.executable, str(corpus.TOP / "tools/labels.py"), "--shared", str(corpus.SHARED), "--limit",
                           str(ARCHITECTURES), "-o", str(folder)], capture_output=True, text=True, timeout=300)
    report.check(done.returncode == 0, "labels are made", done.stderr.splitlines())
    gpus = subprocess.run([corpus.PROGRAM, "gpus", "--format", "csv"], capture_output=True, text=True, timeout=60)
    known = {line.split(",")[0] for line in gpus.stdout.splitlines()[1:]}
    queries, strange, total = set(), set(), 0
    for path in sorted(folder.glob("*.csv.gz")):
        rows = list(csv.DictReader(gzip.open(path, "rt", newline="")))
        report.say(f"{len(rows):6d} rows  {path.name}")
        total += len(rows)
        for row in rows:
            if row["gpu"] not in known:
                strange.add(f"{path.name}: no GPU {row['gpu']}")
            if not float(row["latency_ms"]) > 0:
                strange.add(f"{path.name}: latency {row['latency_ms']}")
            graph = row["graph"] if row["graph"].startswith("zoo:") else str((folder / row["graph"]).resolve())
            if row["mode"] != "train":  # lowering adds the gradients
                queries.add((row["precision"], row["layout"], row["batch"], f"mode={row['mode']}", f"runtime={row['runtime']}", graph))
    report.check(not strange, "every row has a GPU and a latency", sorted(strange))
    queries = sorted(queries)
    faults = [f"{' '.join(query)}: {fault}" for query, fault in zip(queries, corpus.parallel(fault_of, queries)) if fault]
    report.check(not faults, f"{len(queries)} networks of {total} rows are lowered", faults)


# ---- language models -------------------------------------------------------------------------------------------------

# Functions, methods and modules (by the ends of their names) of the trace, as ATen operators.
FUNCTIONS = {"add": "add", "mul": "mul", "truediv": "div", "softmax": "_softmax", "matmul": "bmm", "bmm": "bmm", "addmm": "product",
             "gelu": "gelu", "tanh": "tanh", "pow": "pow", "where": "where",
             "masked_fill": "where", "max": "maximum", "embedding": "index"}
MODULES = [(r"embeddings$|wte$|wpe$|embed_tokens$", "index"), (r"[Ll]ayer_?[Nn]orm$|ln_\w$", "native_layer_norm"),
           (r"activation$", "tanh"), (r"activation_fn$", "relu"), (r"dropout$|drop$", None), (r"", "product")]
SAME = {"addmm": "product", "mm": "product", "embedding": "index", "masked_fill": "where"}


def traced_operator(target):
    if "." not in target and target not in ("lm_head", "classifier", "dropout"):
        return FUNCTIONS.get(target)
    return next(op for pattern, op in MODULES if re.search(pattern, target))


def elements(shape):
    product = 1
    for dim in shape:
        product *= dim
    return product


def of_trace(rows):
    counted = collections.Counter()
    for row in rows:
        op = traced_operator(row["target"])
        shape = [int(dim) for dim in re.findall(r"\d+", row["output_shape"])]
        if op and row["dtype"] == "float32" and elements(shape) > 1:
            counted[op, elements(shape)] += 1
    return counted


def of_zoo(graph, batch):
    """The same for the zoo's network, without what a tracer does not see or names differently."""
    kernels = lowered(["fp32", "nchw", str(batch), graph])
    compared = set(FUNCTIONS.values()) | {op for _, op in MODULES if op}
    counted = collections.Counter()
    for kernel in kernels:
        op = SAME.get(kernel["op"], kernel["op"])
        dtype, shape = kernel["out"][0][0], kernel["out"][0][1]
        if not kernel["flags"] & VIEW and op in compared and dtype == "float32":
            counted[op, elements(shape)] += 1
    return counted


def check_language(report, folder):
    graphs = {(r["name"], r["mode"]): r["graph"]  # the same at every batch
              for r in csv.DictReader(gzip.open(folder / "transformers.csv.gz", "rt", newline=""))}
    runs = collections.defaultdict(list)
    for row in csv.DictReader(gzip.open(corpus.SHARED / TRACE, "rt", newline="")):
        if row["device"].startswith("NVIDIA A100"):
            runs[row["model"], row["batch"], row["mode"]].append(row)
    faults = []
    for (model, batch, mode), rows in sorted(runs.items()):
        infer, train = graphs[model, "infer"], graphs.get((model, "train-forward"))  # the training runs of some networks are left out
        graph = train if train and mode != "inf" else infer
        want, got = of_trace(rows), of_zoo(re.sub(r"layers=\d+", "layers=1", graph), batch)
        for op in sorted(set(want) | set(got)):
            if want[op] != got[op]:
                faults.append(f"{model}, batch {batch}, {mode}: {op[0]} of {op[1]} elements: {got[op]}, in the trace {want[op]}")
    report.check(not faults, f"{len(runs)} traced language models have the zoo's operators", faults)


TRACE = "measured/transformer_end_to_end/neusight_layer_trace_ops.csv.gz"

if __name__ == "__main__":
    corpus.require("measured/nas_latency", "models/timm", TRACE)
    result = corpus.Report("labels")
    with tempfile.TemporaryDirectory() as made:
        check_labels(result, pathlib.Path(made))
        check_language(result, pathlib.Path(made))
    result.end()
