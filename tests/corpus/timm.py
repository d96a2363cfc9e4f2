#!/usr/bin/env python3
"""timm networks: every shape is resolved at batch 1 and 64; parameters and MACs against published figures.

The published figures were counted by others with fvcore and rounded to two decimals. They include the arithmetic of
norms (also of weights that a network standardizes in each pass), lack the attention products of networks first measured
with fused attention, and lack convolutions with padding "same". An outlier is explained if counting that way gives the
published number. The rest is in timm.txt.
"""
import collections
import csv
import fnmatch
import gzip
import statistics

import corpus

PARAMS_TOLERANCE = 0.001
MACS_TOLERANCE = 0.01
ROUNDING = 0.005  # resolution of the published figures, in millions and billions
# fvcore: operations per input element; a norm of weights is a batch norm in training mode.
NORM_OPERATIONS = {"BatchNormalization": 2, "LayerNormalization": 5, "GroupNormalization": 5, "InstanceNormalization": 5,
                   "WeightStandardization": 5}


def product(dims):
    result = 1
    for dim in dims:
        result *= dim
    return result


def norm_operations(layer):
    """As fvcore counts them."""
    if layer["op"] not in NORM_OPERATIONS or not layer["shape"]:
        return 0
    return product(layer["shape"]) * NORM_OPERATIONS[layer["op"]]


def is_attention_product(layer):
    return layer["op"] in ("Attention", "ScaledDotProductAttention") or layer["op"] in ("MatMul", "Einsum") and not layer["weight_bytes"]


def run(file):
    path = corpus.MODELS / "timm" / file
    result = {"file": file, "unresolved": [], "errors": []}
    for batch in (1, 64):
        seen = corpus.Inspection(path, "--batch", str(batch), "--values")
        if seen.json is None:
            result["errors"].append(f"{file} at batch {batch}: {seen.message}")
            continue
        for value in seen.json["values"]:
            if value["shape"] is None or not all(isinstance(d, int) for d in value["shape"]) or not value["dtype"]:
                result["unresolved"].append((batch, value["name"], value["shape"]))
        leading = {v["shape"][0] for v in seen.json["outputs"] if v["shape"]}
        if leading != {batch}:
            result["unresolved"].append((batch, "the output's first dimension", sorted(map(str, leading))))
        if batch == 1:
            result.update(seen.json["totals"])
            layers = seen.json["layers"]
            result["attention"] = sum(l["macs"] or 0 for l in layers if is_attention_product(l))
            result["norms"] = sum(norm_operations(l) for l in layers)
    return result


def published():
    """{graph file: (params in millions, GMACs or None)}; the most frequent figures if rows differ."""
    votes = collections.defaultdict(collections.Counter)
    with gzip.open(corpus.SHARED / "measured/timm.csv.gz", "rt") as file:
        for row in csv.DictReader(file):
            if row["graph_file"]:
                votes[row["graph_file"]][row["params_m"], row["gmacs"]] += 1
    for file, counts in votes.items():
        params, macs = max(counts, key=lambda key: (bool(key[1]), counts[key]))
        yield file, (float(params) if params else None, float(macs) if macs else None)


def difference(found, expected):
    """Relative difference beyond the published figure's rounding."""
    return max(0.0, abs(found - expected) - ROUNDING) / expected


def reason_of(explained, used, stem, what):
    for at, (pattern, kind, reason) in enumerate(explained):
        if kind == what and fnmatch.fnmatchcase(stem, pattern):
            used.add(at)
            return reason
    return ""


def main():
    corpus.require("models/timm", "measured/timm.csv.gz")
    report = corpus.Report("timm")
    expected = dict(published())
    files = sorted(p.name for p in (corpus.MODELS / "timm").glob("*.onnx.gz"))
    results = list(corpus.parallel(run, files))
    explained = corpus.read_list("timm.txt")
    used = set()

    errors, fixed = [], []
    for r in results:
        stem = r["file"].removesuffix(".onnx.gz")
        if r["errors"]:
            reason = reason_of(explained, used, stem, "batch")
            (fixed if reason and len(r["errors"]) == 1 and " at batch 64: " in r["errors"][0] else errors).extend(r["errors"])
    unresolved = [f"{r['file']} at batch {b}: {name} {shape}" for r in results for b, name, shape in r["unresolved"][:3]]
    complete = sum(not r["unresolved"] and not r["errors"] for r in results)
    for line in unresolved:
        report.detail("unresolved\t" + line)

    params, macs, unexplained = [], [], []
    reasons = collections.Counter()
    for r in results:
        if "macs" not in r or r["file"] not in expected:
            continue
        stem = r["file"].removesuffix(".onnx.gz")
        millions, billions = expected[r["file"]]
        if millions:
            off = difference(r["params"] / 1e6, millions)
            params.append(off)
            if off > PARAMS_TOLERANCE:
                reason = reason_of(explained, used, stem, "params")
                reasons["parameters: " + (reason or "not explained")] += 1
                line = f"params\t{stem}\tfound {r['params'] / 1e6:.3f}\tpublished {millions}\t{100 * off:.2f} %\t{reason}"
                report.detail(line)
                if not reason:
                    unexplained.append(line)
        if billions:
            off = difference(r["macs"] / 1e9, billions)
            macs.append(off)
            if off > MACS_TOLERANCE:
                reason = ""
                for text, other in (("norms counted", r["macs"] + r["norms"]),
                                    ("attention products not counted", r["macs"] - r["attention"]),
                                    ("norms counted, attention products not", r["macs"] + r["norms"] - r["attention"])):
                    if not reason and difference(other / 1e9, billions) <= MACS_TOLERANCE:
                        reason = text
                reason = reason or reason_of(explained, used, stem, "macs")
                reasons["MACs: " + (reason or "not explained")] += 1
                line = f"macs\t{stem}\tfound {r['macs'] / 1e9:.3f}\tpublished {billions}\t{100 * off:.2f} %\t{reason}"
                report.detail(line)
                if not reason:
                    unexplained.append(line)

    def summary(name, values, tolerance):
        within = sum(v <= tolerance for v in values)
        report.say(f"{name}: median difference {100 * statistics.median(values or [1]):.3f} %, within {100 * tolerance:g} % for "
                   f"{within} of {len(values)} networks ({100 * within / max(len(values), 1):.1f} %)")

    report.say(f"{len(files)} graphs: all shapes resolved at batch 1 and 64 in {complete}; "
               f"{len(fixed)} say that their batch is fixed inside the graph")
    summary("parameters", params, PARAMS_TOLERANCE)
    summary("MACs", macs, MACS_TOLERANCE)
    for reason, count in reasons.most_common():
        report.say(f"  {count:4} {reason}")
    report.check(not errors, "every graph is read", errors)
    report.check(complete + len(fixed) == len(files), "every shape is resolved at batch 1 and at batch 64", unresolved)
    report.check(statistics.median(params or [1]) <= PARAMS_TOLERANCE, "parameters within 0.1 % at the median")
    report.check(statistics.median(macs or [1]) <= MACS_TOLERANCE, "MACs within 1 % at the median")
    report.check(not unexplained, "every outlier is explained", unexplained)
    stale = [" ".join(row) for at, row in enumerate(explained) if at not in used]
    report.check(not stale, "every explanation in timm.txt is still needed", stale)
    report.end()


if __name__ == "__main__":
    main()
