#!/usr/bin/env python3
"""Tables of prediction errors, from the hold-out rows that `sooth learn --apart OUT.csv` writes.

    accuracy.py OUT.csv [--markdown | --write]

--write puts the tables into doc/accuracy.md, with the identity of data/weights.bin; tests/suites/documents.py compares that with the weights
that ship.

Each row was predicted by a training that had not seen its architecture, its family, its operator shape or its GPU (column `apart`).
Intervals are those that `sooth learn` wrote beside each row: fitted without the quarter of the families (or shapes)
that contains the row's."""
import argparse
import collections
import csv
import gzip
import math
import pathlib
import re
import struct


def read(path):
    opened = gzip.open(path, "rt") if path.endswith(".gz") else open(path)
    with opened as lines:
        for row in csv.DictReader(lines):
            row["error"] = math.log(float(row["predicted_ms"]) / float(row["measured_ms"]))
            row["width"] = float(row["half90"])
            row["inside"] = abs(row["error"]) <= row["width"]
            yield row


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


SETS = [
    ("timm inference, eager, architectures not seen", lambda r: r["source"] == "timm" and r["apart"] == "architecture" and r["runtime"] == "eager" and r["mode"] == "infer", "gpu"),
    ("timm inference, eager, architectures not seen, by layout", lambda r: r["source"] == "timm" and r["apart"] == "architecture" and r["runtime"] == "eager" and r["mode"] == "infer", "layout"),
    ("timm inference, compiled (inductor), architectures not seen", lambda r: r["source"] == "timm" and r["apart"] == "architecture" and r["runtime"] == "inductor" and r["mode"] == "infer", "gpu"),
    ("timm training, eager, architectures not seen", lambda r: r["source"] == "timm" and r["apart"] == "architecture" and r["mode"] == "train", "gpu"),
    ("timm inference, eager, families not seen", lambda r: r["source"] == "timm" and r["apart"] == "family" and r["runtime"] == "eager" and r["mode"] == "infer", "family"),
    ("timm inference, compiled, families not seen", lambda r: r["source"] == "timm" and r["apart"] == "family" and r["runtime"] == "inductor" and r["mode"] == "infer", "family"),
    ("timm training, eager, families not seen", lambda r: r["source"] == "timm" and r["apart"] == "family" and r["mode"] == "train", "family"),
    ("all networks, families not seen, by runtime and mode", lambda r: r["what"] == "network" and r["apart"] == "family", "runtime and mode"),
    ("timm, families not seen, by GPU", lambda r: r["source"] == "timm" and r["apart"] == "family", "gpu"),
    ("timm, families not seen, by batch", lambda r: r["source"] == "timm" and r["apart"] == "family", "batch"),
    ("timm, families not seen, by what is known of the graph", lambda r: r["source"] == "timm" and r["apart"] == "family", "graph"),
    ("timm, architectures not seen, by what is known of the graph", lambda r: r["source"] == "timm" and r["apart"] == "architecture", "graph"),
    ("timm, settings not seen of networks seen", lambda r: r["source"] == "timm" and r["apart"] == "setting", "runtime and mode"),
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
            f"{100 * sum(r['inside'] for r in rows) / len(rows):.1f}", f"{100 * math.expm1(sorted(r['width'] for r in rows)[len(rows) // 2]):.1f}"]


def key_of(row, by):
    if by.startswith("operator"):
        return f"{row['source']} {row['name']} {row['precision']}" + (f" {row['gpu']}" if by.endswith("GPU") else "")
    if by == "runtime and mode":
        return f"{row['runtime']} {row['mode']}"
    if by == "batch":
        batch = int(row["batch"])
        return next(f"{low} to {2 * low - 1}" for low in (1 << k for k in range(63)) if batch < 2 * low)
    return row[by]


HEAD = ["", "rows", "MAPE %", "median %", "p90 %", "within 5 %", "within 10 %", "Spearman", "in interval %", "half width %"]


def in_order(item):
    """Sorts by name, then by batch size."""
    number = item[0].split(" ")[0]
    return (int(number) if number.isdigit() else 0, item[0])


def tables(rows):
    """Title and rows of each table that is not empty."""
    for title, chosen, by in SETS:
        mine = [r for r in rows if chosen(r)]
        if not mine:
            continue
        lines = [line("all", mine)]
        if by:
            groups = collections.defaultdict(list)
            for r in mine:
                groups[key_of(r, by)].append(r)
            lines += [line(name, group) for name, group in sorted(groups.items(), key=in_order) if len(group) >= 4]
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
