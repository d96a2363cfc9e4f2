#!/usr/bin/env python3
"""Tables of prediction errors, from the hold-out rows that `sooth learn --apart OUT.csv` writes.

    accuracy.py OUT.csv [--markdown | --write]

--write puts the tables into doc/accuracy.md, with the identity of data/weights.bin; tests/suites/documents.py compares that with the weights
that ship.

Each row was predicted by a training that had not seen its architecture, its family, its operator shape or its GPU (column `apart`).
Coverage is measured across halves: intervals are calibrated on one half of the architectures and shapes, as `sooth learn` does it, and
counted on the other; then the other way round."""
import argparse
import collections
import csv
import gzip
import math
import pathlib
import re
import struct


NOVELTY_BINS = 4  # as in src/predict/weights.h


def read(path):
    opened = gzip.open(path, "rt") if path.endswith(".gz") else open(path)
    with opened as lines:
        for row in csv.DictReader(lines):
            row["error"] = math.log(float(row["predicted_ms"]) / float(row["measured_ms"]))
            row["half"] = int(row["part"]) % 2
            yield row


def quantile(sizes, share):
    rank = math.ceil(share * (len(sizes) + 1))
    return sorted(sizes)[min(rank, len(sizes)) - 1]


def spearman(pairs):
    def ranks(values):
        order = sorted(range(len(values)), key=lambda i: values[i])
        result = [0.0] * len(values)
        at = 0
        while at < len(order):
            end = at
            while end < len(order) and values[order[end]] == values[order[at]]:
                end += 1
            for i in order[at:end]:
                result[i] = (at + end - 1) / 2
            at = end
        return result

    a, b = ranks([p for p, _ in pairs]), ranks([m for _, m in pairs])
    mean = (len(pairs) - 1) / 2
    above = sum((x - mean) * (y - mean) for x, y in zip(a, b))
    below = math.sqrt(sum((x - mean) ** 2 for x in a) * sum((y - mean) ** 2 for y in b))
    return above / below if below else float("nan")


def kind_of(row):
    """Class, known GPU and bin of novelty, as interval_kind() of src/predict/weights.h has them in one number."""
    kind = int(row["kind"])
    return kind // (2 * NOVELTY_BINS), kind // NOVELTY_BINS % 2 == 0, kind % NOVELTY_BINS


def calibrate(rows):
    """Half widths by what is known of a row, where there are enough rows of it: as calibrate() of src/learn/learn.c."""
    by = collections.defaultdict(list)
    for row in rows:
        cls, known, novelty = kind_of(row)
        for key in ((cls, known, novelty, row["stack"]), (cls, known, None, row["stack"]), (None, known, None, row["stack"]),
                    (cls, known, novelty, None), (cls, known, None, None), (None, known, novelty, None)):
            by[key].append(abs(row["error"]))
    return {key: quantile(sizes, 0.9) for key, sizes in by.items() if len(sizes) >= (12 if key[2] is None and key[3] else 40)}


def covered(rows):
    """As `sooth learn` calibrates, but for the rows that it shows once more without their stack: they are not in the table."""
    halves = [[r for r in rows if r["half"] == half] for half in (0, 1)]
    for mine, other in (halves, halves[::-1]):
        widths = calibrate(other)
        for row in mine:
            cls, known, novelty = kind_of(row)
            any_stack = widths.get((cls, known, novelty, None)) or max(
                widths.get((cls, known, None, None), 0), widths.get((None, known, novelty, None), 0)) or 1
            at_any = widths.get((cls, known, None, row["stack"])) or widths.get((None, known, None, row["stack"]), 0)
            width = (row["stack"] and widths.get((cls, known, novelty, row["stack"]))) or (max(at_any, any_stack) if row["stack"] else any_stack)
            row["inside"] = abs(row["error"]) <= width
            row["width"] = width


SETS = [
    ("timm inference, eager, architectures not seen", lambda r: r["source"] == "timm" and r["apart"] == "architecture" and r["runtime"] == "eager" and r["mode"] == "infer", "gpu"),
    ("timm inference, eager, architectures not seen, by layout", lambda r: r["source"] == "timm" and r["apart"] == "architecture" and r["runtime"] == "eager" and r["mode"] == "infer", "layout"),
    ("timm inference, compiled (inductor), architectures not seen", lambda r: r["source"] == "timm" and r["apart"] == "architecture" and r["runtime"] == "inductor", "gpu"),
    ("timm training, eager, architectures not seen", lambda r: r["source"] == "timm" and r["apart"] == "architecture" and r["mode"] == "train", "gpu"),
    ("timm inference, eager, families not seen", lambda r: r["source"] == "timm" and r["apart"] == "family" and r["runtime"] == "eager" and r["mode"] == "infer", "series"),
    ("timm inference, compiled, families not seen", lambda r: r["source"] == "timm" and r["apart"] == "family" and r["runtime"] == "inductor", "series"),
    ("timm on a GPU not seen", lambda r: r["source"] == "timm" and r["apart"] == "gpu", "gpu"),
    ("other networks, architectures not seen", lambda r: r["what"] == "network" and r["source"] != "timm" and r["apart"] == "architecture", "source"),
    ("transformers end to end on NVIDIA's GPUs, architectures not seen", lambda r: r["what"] == "network" and r["source"] in ("neusight", "neusight-train-forward") and r["apart"] == "architecture" and not r["gpu"].startswith("mi"), "source"),
    ("NVIDIA's tables, networks not seen", lambda r: r["source"] == "nvidia-dle" and r["apart"] == "architecture", "name"),
    ("other networks on a GPU not seen", lambda r: r["what"] == "network" and r["source"] != "timm" and r["apart"] == "gpu", "source"),
    ("NAS-Bench-201, TITAN RTX not seen, batch 256", lambda r: r["source"].startswith("nasbench201") and r["apart"] == "gpu" and r["gpu"] == "titan-rtx" and r["batch"] == "256", None),
    ("operators, shapes not seen", lambda r: r["apart"] == "shape", "operator"),
    ("products in bf16 on the A100, shapes not seen, by software", lambda r: r["apart"] == "shape" and r["name"] == "gemm" and r["source"] == "aiconfigurator" and r["precision"] == "bf16" and r["gpu"].startswith("a100") and not r["stack"].endswith("_wo"), "stack"),
    ("products and convolutions, shapes not seen, by GPU", lambda r: r["apart"] == "shape" and r["name"] in ("gemm", "linear", "bmm", "conv2d") and r["source"] in ("neusight", "aiconfigurator"), "operator and GPU"),
]


def line(name, rows):
    sizes = sorted(abs(math.expm1(r["error"])) for r in rows)
    pairs = [(float(r["predicted_ms"]), float(r["measured_ms"])) for r in rows]
    return [name, str(len(rows)), f"{100 * sum(sizes) / len(sizes):.2f}", f"{100 * sizes[len(sizes) // 2]:.2f}",
            f"{100 * sizes[len(sizes) * 9 // 10]:.1f}", f"{100 * sum(s < 0.05 for s in sizes) / len(sizes):.1f}",
            f"{100 * sum(s < 0.1 for s in sizes) / len(sizes):.1f}", f"{spearman(pairs):.4f}",
            f"{100 * sum(r['inside'] for r in rows) / len(rows):.1f}"]


def key_of(row, by):
    if by.startswith("operator"):
        return f"{row['source']} {row['name']} {row['precision']}" + (f" {row['gpu']}" if by.endswith("GPU") else "")
    if by == "series":  # ghostnetv2_100.in1k: ghostnetv2
        return row["name"].split(".")[0].split("_")[0]
    return row[by]


HEAD = ["", "rows", "MAPE %", "median %", "p90 %", "within 5 %", "within 10 %", "Spearman", "in interval %"]


def tables(rows):
    """Title and rows of each table that there are rows for."""
    for title, chosen, by in SETS:
        mine = [r for r in rows if chosen(r)]
        if not mine:
            continue
        lines = [line("all", mine)]
        if by:
            groups = collections.defaultdict(list)
            for r in mine:
                groups[key_of(r, by)].append(r)
            lines += [line(name, group) for name, group in sorted(groups.items()) if len(group) >= 4]
        yield title, lines


def markdown(title, lines):
    return "\n".join([f"### {title}", "", "| " + " | ".join(HEAD) + " |", "|" + " --- |" + " ---: |" * (len(HEAD) - 1)]
                     + ["| " + " | ".join(cells) + " |" for cells in lines])


def write(text):
    """Replaces the tables of doc/accuracy.md."""
    top = pathlib.Path(__file__).resolve().parent.parent
    page = top / "doc/accuracy.md"
    weights = "%08x" % struct.unpack_from("<I", (top / "data/weights.bin").read_bytes(), 24)  # checksum of its header
    block = f"<!-- tables of weights {weights} -->\n\n{text}\n<!-- /tables -->"
    page.write_text(re.sub(r"<!-- tables of weights \w+ -->.*?<!-- /tables -->", lambda _: block, page.read_text(), flags=re.S))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    rows = list(read(options.table))
    covered(rows)
    if options.markdown or options.write:
        text = "\n\n".join(markdown(title, lines) for title, lines in tables(rows))
        if options.write:
            write(text)
        else:
            print(text)
        return
    for title, lines in tables(rows):
        print(f"\n{title}\n")
        for cells in [HEAD] + lines:
            print(f"{cells[0]:52}" + "".join(f"{c:>14}" for c in cells[1:]))


if __name__ == "__main__":
    main()
