#!/usr/bin/env python3
"""Lowering of networks that no rule was written for: files and eager traces that tests/tools/fresh_corpus.py makes.

The corpus is split once, by a hash of the network's name: differences are printed for one half (to look at); the other
half is only counted. A network is equal if the multisets of operators, shapes and types are. Figures are per format of
the file and per mode, over precisions and layouts; the share of bytes is that of operators met.

    fresh.py [--write] [--score] [PART OF A NAME [PART OF A KIND]]    prints the differences of networks to look at
"""
import collections
import gzip
import hashlib
import json
import os
import pathlib
import sys

import corpus
import lowering

FOLDER = pathlib.Path(os.environ.get("SOOTH_FRESH", corpus.TOP.parent / "fresh-corpus"))
FORMATS = ("pt2", "onnx", "new.onnx")
PRECISION = {"amp": "amp-fp16", "fp32": "fp32", "fp16": "fp16"}
# (format, mode) -> least share of equal networks and of bytes, in percent, on the half to score
LEAST = {("pt2", "infer"): (90, 98), ("pt2", "train"): (85, 98), ("onnx", "infer"): (40, 92), ("onnx", "train"): (30, 88)}


def is_scored(name):
    return int(hashlib.sha256(f"fresh {name}".encode()).hexdigest(), 16) % 2 == 1


def tasks(only, kind):
    for traces in sorted(FOLDER.glob("*.jsonl.gz")):
        name = traces.name.removesuffix(".jsonl.gz")
        for text in gzip.open(traces, "rt"):
            line = json.loads(text)
            for ending in FORMATS:
                path = FOLDER / f"{name}.{ending}.gz"
                title = f"{ending} {line['mode']} {line['prec']}"
                if path.exists() and only in name and kind in title:
                    options = [PRECISION[line["prec"]], line["lay"]]
                    options += ["mode=train", "backward=plain"] if line["mode"] == "train" else []
                    yield (name, ending, line["mode"], title), (path, options, text)


def compare(task):
    try:
        return lowering.compare(task)
    except Exception as error:  # a kind of trace that the comparison does not know
        return f"compare: {type(error).__name__}: {error}"


class Group:
    def __init__(self):
        self.count = self.equal = self.failed = 0
        self.bytes = self.met = 0.0

    def add(self, result):
        self.count += 1
        if isinstance(result, str):
            self.failed += 1
            return
        self.equal += not result.missing and not result.extra
        self.met += max(0, 1 - result.wrong_bytes / max(result.bytes, 1))

    def shares(self):
        return 100 * self.equal / max(self.count, 1), 100 * self.met / max(self.count, 1)


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    only, kind = (arguments + ["", ""])[:2]
    if not FOLDER.is_dir() or not any(FOLDER.glob("*.jsonl.gz")):
        print("1..1\nok 1 - fresh # SKIP no corpus (tests/tools/fresh_corpus.py makes it)")
        return
    report = corpus.Report("fresh" if not only else "fresh-part")
    work = list(tasks(only, kind))
    groups, sources = collections.defaultdict(Group), collections.defaultdict(Group)
    classes = collections.defaultdict(lambda: [0, set()])
    failed = collections.Counter()
    for ((name, ending, mode, title), task), result in zip(work, corpus.parallel(compare, [task for _, task in work])):
        scored = is_scored(name)
        groups[ending, mode, scored].add(result)
        sources[name.split(".")[0], ending, mode].add(result)
        if scored and "--score" not in sys.argv:
            continue
        if isinstance(result, str):
            failed[ending, result.replace(name, "NAME")[:100]] += 1
            report.detail(f"{title}\t{name}\t{result}")
            if only:
                print(f"{name}\t{title}\t{result}")
            continue
        for sign, part in (("fewer", result.missing), ("more", result.extra)):
            for key, n in part.items():
                entry = classes[ending, mode, key[0], key[1], sign]
                entry[0] += n
                entry[1].add(name)
                if only:
                    print(f"{name}\t{title}\t{sign}\t{n}\t{lowering.describe(key)}")
        if result.missing or result.extra:
            share = 100 * result.wrong_bytes / max(result.bytes, 1)
            report.detail(f"{title}\t{name}\t{sum(result.missing.values())} fewer, {sum(result.extra.values())} more, "
                          f"{share:.1f} % of bytes wrong")
    names = {name for (name, *_), _ in work}
    report.say(f"{len(names)} networks, {sum(map(is_scored, names))} to score only")
    for ending in FORMATS:
        for mode in ("infer", "train"):
            for scored in (False, True):
                g = groups.get((ending, mode, scored))
                if g:
                    equal, met = g.shares()
                    report.say(f"{ending:8} {mode:5} {'to score' if scored else 'to look at':10} {g.count:4} programs, {g.failed:3} not lowered, "
                               f"{equal:5.1f} % equal, {met:5.1f} % of bytes met")
    for (source, ending, mode), g in sorted(sources.items()):
        equal, met = g.shares()
        report.detail(f"source {source:12} {ending:8} {mode:5} {g.count:4} programs, {g.failed:3} not lowered, {equal:5.1f} % equal, {met:5.1f} % bytes")
    for (ending, message), n in failed.most_common():
        report.detail(f"failed {n}\t{ending}\t{message}")
    for (ending, mode, op, dtype, sign), (n, seen) in sorted(classes.items(), key=lambda item: -len(item[1][1])):
        report.detail(f"class {ending} {mode}\t{op} {dtype}\t{sign}\t{n} calls\t{len(seen)} networks\t{' '.join(sorted(seen)[:4])}")
    if only or kind:
        return
    for (ending, mode), (least_equal, least_met) in LEAST.items():
        equal, met = groups[ending, mode, True].shares()
        report.check(equal >= least_equal, f"{ending} {mode}: at least {least_equal} % of the networks to score are equal")
        report.check(met >= least_met, f"{ending} {mode}: at least {least_met} % of the bytes of the networks to score")
    report.end()


if __name__ == "__main__":
    main()
