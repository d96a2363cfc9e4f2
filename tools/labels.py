#!/usr/bin/env python3
"""Turns published tables of measured networks into rows that `sooth learn` and `sooth eval` read.

    tools/labels.py [--shared DIR] [--limit N] [--only SOURCE]... -o FOLDER

Reads DIR/measured (../shared if not given) and writes one CSV for each source into FOLDER, with the columns of DIR/labels/README.md.
doc/labels.md says what a row of each source is, what is left out and why. Graphs are networks of the zoo, or files of DIR/models
by their path from FOLDER. --limit takes at most N architectures of each search space, chosen by a hash of their names, with all
of their rows. Needs Python 3 alone.
"""
import argparse
import collections
import csv
import gzip
import hashlib
import io
import os
import pathlib
import sys

COLUMNS = ("name", "graph", "batch", "gpu", "precision", "layout", "runtime", "stack", "mode", "optimizer", "mig",
           "latency_ms", "memory_mib", "energy_j", "source")

# Names of GPUs in the tables; doc/labels.md says where a variant had to be assumed.
GPUS = {
    "GeForce GTX 1080 Ti": "gtx-1080-ti", "GeForce RTX 2080 Ti": "rtx-2080-ti", "TITAN X": "titan-x-pascal",
    "TITAN Xp": "titan-xp", "TITAN RTX": "titan-rtx", "Tesla V100": "v100-sxm2-16gb", "V100": "v100-sxm2-16gb",
    "AMD Instinct MI100": "mi100", "AMD Instinct MI210": "mi210", "AMD Instinct MI250": "mi250",
    "NVIDIA A100 80GB PCIe": "a100-pcie-80gb", "NVIDIA A100-PCIE-40GB": "a100-pcie-40gb",
    "Tesla P100-PCIE-16GB": "p100-pcie-16gb", "Tesla P4": "p4", "Tesla T4": "t4", "T4": "t4",
    "Tesla V100-PCIE-32GB": "v100-pcie-32gb", "A100-SXM4-40GB": "a100-sxm4-40gb", "A100-40GB": "a100-sxm4-40gb",
    "A100-80GB": "a100-sxm4-80gb", "V100-16GB": "v100-sxm2-16gb", "V100-32GB": "v100-sxm2-32gb", "A30": "a30", "A10": "a10",
    "A40": "a40",
}


class Tables:
    """Where the tables are, and what became of their rows."""

    def __init__(self, shared, folder, limit):
        self.shared, self.folder, self.limit = shared, folder, limit
        self.left_out = collections.Counter()

    def read(self, path):
        path = self.shared / "measured" / path
        opened = gzip.open(path, "rt", newline="") if path.suffix == ".gz" else open(path, newline="")
        with opened as file:
            yield from csv.DictReader(file)

    def file(self, *choices):
        """The path of the first graph file that is there, from the output folder; None if there is none."""
        for choice in choices:
            path = self.shared / "models" / choice
            if path.is_file():
                return os.path.relpath(path, self.folder)
        return None

    def skip(self, reason):
        self.left_out[reason] += 1

    def chosen(self, names):
        """At most `limit` of the names, always the same ones; fewer names are a part of more."""
        if not self.limit:
            return set(names)
        by_hash = sorted(names, key=lambda name: hashlib.sha256(name.encode()).digest())
        return set(by_hash[:self.limit])


def row(name, graph, batch, gpu, latency_ms, source, precision="fp32", layout="nchw", runtime="eager", stack="", mode="infer",
        optimizer=""):
    return {"name": name, "graph": graph, "batch": batch, "gpu": gpu, "precision": precision, "layout": layout,
            "runtime": runtime, "stack": stack, "mode": mode, "optimizer": optimizer, "latency_ms": latency_ms,
            "source": source}


# ---- search spaces ---------------------------------------------------------------------------------------------------


def space(tables, name, table, graph_of):
    """Rows of one search space: a table of architectures, and one of latencies that refers to it."""
    graphs = {a["arch_id"]: graph_of(a) for a in tables.read(f"nas_latency/{table}_archs.csv.gz")}
    chosen = tables.chosen(graphs)
    for measured in tables.read(f"nas_latency/{table}_gpu_latency.csv.gz"):
        identity = measured["arch_id"]
        if identity not in chosen:
            tables.skip("beyond --limit" if identity in graphs else "an architecture that the table does not have")
            continue
        yield row(f"{name}-{identity.split('-')[1]}", graphs[identity], measured["batch"], GPUS[measured["device"]],
                  measured["latency_ms"], table, stack="pt1.8-cu102")


def nasbench201(tables):
    return space(tables, "nasbench201", "nasbench201", lambda a: "zoo:nasbench201/" + a["arch_str"])


def fbnet(tables):
    return space(tables, "fbnet", "fbnet", lambda a: "zoo:fbnet/" + a["ops"].replace(" ", ","))


def ofa(tables):
    return space(tables, "ofa", "ofa", lambda a: "zoo:ofa?kernels={kernel_sizes}&expansions={expand_ratios}&depths={depths}"
                 "&resolution={resolution}".format(**a).replace(" ", ","))


# ---- transformers ----------------------------------------------------------------------------------------------------


def transformer_graph(run):
    """The zoo's network with the sizes of the run; None if the zoo has none."""
    families = {"BertLMHeadModel": "bert", "GPT2LMHeadModel": "gpt2", "OPTForCausalLM": "opt",
                "SwitchTransformersForConditionalGeneration": "switch"}
    family = families.get(run["arch"])
    sizes = "layers={layers}&hidden={hidden}&heads={heads}&ffn={ffn}&vocab={vocab}".format(**run)
    if family == "bert":  # the positions of the published configurations, or as many as the run has tokens
        head = "classify" if run["mode"] == "inf" else "pretrain"
        return f"zoo:bert?{sizes}&positions={max(512, int(run['seq_len']))}&seq={run['seq_len']}&head={head}"
    if family in ("gpt2", "opt"):
        least = {"gpt2": 1024, "opt": 2048}[family]
        return f"zoo:{family}?{sizes}&positions={max(least, int(run['seq_len']))}&seq={run['seq_len']}"
    return None


def transformers(tables):
    for run in tables.read("transformer_end_to_end/neusight_e2e.csv.gz"):
        graph = transformer_graph(run)
        if graph is None:
            tables.skip(f"no graph: {run['model']}")
            continue
        if run["num_gpus"] != "1":
            tables.skip("several GPUs")
            continue
        common = {"runtime": "inductor" if run["option"] == "fusion" else "eager",
                  "stack": "pt2.x-rocm" if run["framework"] == "torch-rocm" else "pt2.x"}
        where = (run["model"], graph, run["batch"], GPUS[run["device"]])
        if run["mode"] == "inf":
            yield row(*where, run["measured_fw_ms"], "neusight", **common)
        else:
            yield row(*where, run["measured_fw_ms"], "neusight-train-forward", mode="train-forward", **common)
            yield row(*where, run["measured_e2e_ms"], "neusight-train", mode="train", optimizer="none", **common)


# ---- the program -----------------------------------------------------------------------------------------------------

SOURCES = {"nasbench201": nasbench201, "fbnet": fbnet, "ofa": ofa, "transformers": transformers}


def write(path, rows):
    """All rows or none: under another name until the last is there."""
    count = 0
    unfinished = path.with_suffix(path.suffix + ".part")
    with open(unfinished, "wb") as raw, gzip.GzipFile("", "wb", mtime=0, fileobj=raw) as packed:
        with io.TextIOWrapper(packed, encoding="utf-8", newline="") as text:
            writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
            writer.writeheader()
            for count, fields in enumerate(rows, 1):
                writer.writerow(fields)
    unfinished.replace(path)
    return count


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--shared", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2] / "shared",
                        help="the folder with measured/ and models/")
    parser.add_argument("--limit", type=int, default=0, metavar="N", help="at most N architectures of each search space")
    parser.add_argument("--only", action="append", choices=SOURCES, help="this source; may be repeated")
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True, metavar="FOLDER")
    options = parser.parse_args()
    if not (options.shared / "measured").is_dir():
        parser.error(f"{options.shared}: there is no folder measured in it; name the right one with --shared")
    options.output.mkdir(parents=True, exist_ok=True)
    for name in options.only or SOURCES:
        tables = Tables(options.shared.resolve(), options.output.resolve(), options.limit)
        path = options.output / f"{name}.csv.gz"
        count = write(path, SOURCES[name](tables))
        print(f"{path}: {count} rows, {sum(tables.left_out.values())} left out")
        for reason, rows in tables.left_out.most_common():
            print(f"    {rows:7d}  {reason}")


if __name__ == "__main__":
    sys.exit(main())
