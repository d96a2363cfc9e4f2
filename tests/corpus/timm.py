#!/usr/bin/env python3
"""timm networks: every shape is resolved at batch 1 and 64; parameters and MACs against the published ones.

The published figures were counted by others with fvcore and rounded to two decimals. They count the arithmetic of
norms as well, and lack the attention products of networks first measured with fused attention. So an outlier is tested
for these reasons: it is explained if adding the norms' operations as fvcore counts them, leaving out the attention
products, or both, gives the published number.
"""
import collections
import csv
import gzip
import statistics

import corpus

PARAMS_TOLERANCE = 0.001
MACS_TOLERANCE = 0.01
ROUNDING = 0.005  # of the published figures, in millions and billions
# fvcore: operations per element of the input.
NORM_OPERATIONS = {"BatchNormalization": 2, "LayerNormalization": 5, "GroupNormalization": 5, "InstanceNormalization": 5}


def product(dims):
    result = 1
    for dim in dims:
        result *= dim
    return result


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
            result["attention"] = sum(l["macs"] or 0 for l in seen.json["layers"] if l["op"] in ("Attention", "MatMul"))
            result["norms"] = sum(product(l["shape"]) * NORM_OPERATIONS[l["op"]] for l in seen.json["layers"]
                                  if l["op"] in NORM_OPERATIONS and l["shape"])
    return result


def published():
    """{graph file: (params in millions, GMACs or None)}: of the most rows, where they differ."""
    votes = collections.defaultdict(collections.Counter)
    with gzip.open(corpus.SHARED / "measured/timm.csv.gz", "rt") as file:
        for row in csv.DictReader(file):
            if row["graph_file"]:
                votes[row["graph_file"]][row["params_m"], row["gmacs"]] += 1
    for file, counts in votes.items():
        params, macs = max(counts, key=lambda key: (bool(key[1]), counts[key]))
        yield file, (float(params) if params else None, float(macs) if macs else None)


def difference(found, expected):
    """Relative, after the published figure's rounding."""
    return max(0.0, abs(found - expected) - ROUNDING) / expected


def main():
    corpus.require("models/timm", "measured/timm.csv.gz")
    report = corpus.Report("timm")
    expected = dict(published())
    files = sorted(p.name for p in (corpus.MODELS / "timm").glob("*.onnx.gz"))
    results = list(corpus.parallel(run, files))

    errors = [e for r in results for e in r["errors"]]
    unresolved = [f"{r['file']} at batch {b}: {name} {shape}" for r in results for b, name, shape in r["unresolved"][:3]]
    complete = sum(not r["unresolved"] and not r["errors"] for r in results)
    for line in unresolved:
        report.detail("unresolved\t" + line)

    explained = {(row[0], row[1]): row[2] for row in corpus.read_list("timm.txt")}
    used = set()
    params, macs, unexplained = [], [], []
    reasons = collections.Counter()
    for r in results:
        if r["errors"] or r["file"] not in expected:
            continue
        stem = r["file"].removesuffix(".onnx.gz")
        millions, billions = expected[r["file"]]
        if millions:
            off = difference(r["params"] / 1e6, millions)
            params.append(off)
            if off > PARAMS_TOLERANCE:
                reason = explained.get((stem, "params"), "")
                used.add((stem, "params"))
                reasons["parameters: " + (reason or "not explained")] += 1
                report.detail(f"params\t{stem}\tfound {r['params'] / 1e6:.3f}\tpublished {millions}\t{100 * off:.2f} %\t{reason}")
        if billions:
            off = difference(r["macs"] / 1e9, billions)
            macs.append(off)
            if off > MACS_TOLERANCE:
                reason = explained.get((stem, "macs"), "")
                used.add((stem, "macs"))
                for text, other in (("norms counted", r["macs"] + r["norms"]),
                                    ("attention products not counted", r["macs"] - r["attention"]),
                                    ("norms counted, attention products not", r["macs"] + r["norms"] - r["attention"])):
                    if not reason and difference(other / 1e9, billions) <= MACS_TOLERANCE:
                        reason = text
                reasons["MACs: " + (reason or "not explained")] += 1
                report.detail(f"macs\t{stem}\tfound {r['macs'] / 1e9:.3f}\tpublished {billions}\t{100 * off:.2f} %\t{reason}")
                if not reason:
                    unexplained.append(f"{stem} {r['macs'] / 1e9:.3f} published {billions}")

    def summary(name, values, tolerance):
        within = sum(v <= tolerance for v in values)
        report.say(f"{name}: median difference {100 * statistics.median(values or [1]):.3f} %, within {100 * tolerance:g} % for "
                   f"{within} of {len(values)} networks ({100 * within / max(len(values), 1):.1f} %)")

    report.say(f"{len(files)} graphs: all shapes resolved at batch 1 and 64 in {complete}")
    summary("parameters", params, PARAMS_TOLERANCE)
    summary("MACs", macs, MACS_TOLERANCE)
    for reason, count in reasons.most_common():
        report.say(f"  {count:4} {reason}")
    report.check(not errors, "every graph is read", errors)
    report.check(complete == len(files), "every shape is resolved at batch 1 and at batch 64", unresolved)
    report.check(statistics.median(params or [1]) <= PARAMS_TOLERANCE, "parameters within 0.1 % at the median")
    report.check(statistics.median(macs or [1]) <= MACS_TOLERANCE, "MACs within 1 % at the median")
    report.check(not unexplained, "every outlier of the MACs is explained", unexplained)
    report.end()


if __name__ == "__main__":
    main()
