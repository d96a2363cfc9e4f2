#!/usr/bin/env python3
"""Reliability of intervals: the share of measured rows inside the intervals of each level (`sooth predict --interval`).

    reliability.py build/train/apart.csv [--write]     hold-out rows of a training, with intervals fitted without their families
    reliability.py --ratios PREDICTIONS.csv...         ratios of error quantiles to that of 90 %, from `sooth eval --predictions`

--write draws doc/pictures/reliability.svg and puts the table into doc/accuracy.md. The ratios of src/predict/answer.c are medians over operators
that training left out: aiconfigurator_gemm_other, aiconfigurator_attention_other, vidur_llm_ops and neusight_elementwise, each with
`sooth eval TABLE --left-share SHARE --predictions`, the share of tools/train.sh."""
import argparse
import csv
import math
import pathlib
import re
import statistics

import accuracy

TOP = pathlib.Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- reliability -->", "<!-- /reliability -->"
SETS = [
    ("architectures, eager", lambda r: network(r, "architecture", "eager", "infer")),
    ("architectures, compiled", lambda r: network(r, "architecture", "inductor", "infer")),
    ("architectures, training", lambda r: r["what"] == "network" and r["apart"] == "architecture" and r["mode"] == "train"),
    ("families, eager", lambda r: network(r, "family", "eager", "infer")),
    ("families, compiled", lambda r: network(r, "family", "inductor", "infer")),
    ("settings of known networks", lambda r: r["what"] == "network" and r["apart"] == "setting"),
    ("families, training", lambda r: r["what"] == "network" and r["apart"] == "family" and r["mode"] == "train"),
    ("a GPU not seen", lambda r: r["what"] == "network" and r["apart"] == "gpu"),
    ("operators", lambda r: r["what"] == "operator"),
]


def network(row, apart, runtime, mode):
    return row["what"] == "network" and row["apart"] == apart and row["runtime"] == runtime and row["mode"] == mode


LEVELS = (50, 80, 90, 95, 99)


def observed(rows):
    return {level: 100 * sum(abs(r["error"]) <= float(r[f"half{level}"]) for r in rows) / len(rows) for level in LEVELS}


def table(rows):
    """[(set, number of rows, {level: percent})] of sets that have rows."""
    lines = []
    for title, chosen in SETS:
        own = [r for r in rows if chosen(r)]
        if own:
            lines.append((title, len(own), observed(own)))
    return lines


def markdown(lines):
    levels = LEVELS
    text = ["| not seen in training | rows | " + " | ".join(f"{level} %" for level in levels) + " |",
            "| --- | ---: |" + " ---: |" * len(levels)]
    text += [f"| {title} | {count:,} | " + " | ".join(f"{shares[level]:.1f}" for level in levels) + " |" for title, count, shares in lines]
    return "\n".join(text)


def picture(lines):
    """Nominal level to the right, observed share upwards; the diagonal is a perfect calibration."""
    size, edge, colours = 360, 48, ["#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#bcbd22", "#7f7f7f"]

    def place(nominal, share):
        return edge + (nominal - 40) / 60 * size, edge / 2 + (100 - share) / 60 * size

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{size + edge + 220}" height="{size + 2 * edge}" font-family="sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="white"/>']
    for tick in range(40, 101, 10):
        x, y = place(tick, tick)
        out.append(f'<path d="M{x:.1f} {edge / 2}V{edge / 2 + size}M{edge} {y:.1f}H{edge + size}" stroke="#ddd"/>')
        out.append(f'<text x="{x:.1f}" y="{edge / 2 + size + 16}" text-anchor="middle">{tick}</text>')
        out.append(f'<text x="{edge - 6}" y="{y + 4:.1f}" text-anchor="end">{tick}</text>')
    (x0, y0), (x1, y1) = place(40, 40), place(100, 100)
    out.append(f'<path d="M{x0} {y0}L{x1} {y1}" stroke="#000" stroke-dasharray="4 3"/>')
    out.append(f'<text x="{edge + size / 2}" y="{size + edge + 10}" text-anchor="middle">level of the interval, %</text>')
    out.append(f'<text x="14" y="{size / 2 + edge / 2}" text-anchor="middle" transform="rotate(-90 14 {size / 2 + edge / 2})">'
               "measured rows inside, %</text>")
    for i, (title, _, shares) in enumerate(lines):
        points = [place(level, max(40, share)) for level, share in sorted(shares.items())]
        line = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        out.append(f'<path d="M{line}" fill="none" stroke="{colours[i]}" stroke-width="2"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colours[i]}"/>' for x, y in points]
        out.append(f'<text x="{edge + size + 12}" y="{edge + 18 * i}" fill="{colours[i]}">{title}</text>')
    return "\n".join(out + ["</svg>"]) + "\n"


def write(lines):
    (TOP / "doc/pictures/reliability.svg").write_text(picture(lines))
    page = TOP / "doc/accuracy.md"
    block = f"{BEGIN}\n![levels of intervals against observed shares](pictures/reliability.svg)\n\n{markdown(lines)}\n{END}"
    text = page.read_text()
    if BEGIN in text:
        text = re.sub(f"{BEGIN}.*?{END}", lambda _: block, text, flags=re.S)
    else:
        text += ("\n## Levels of intervals\n\nShare of measured rows inside of the intervals of each level, in percent; "
                 f"`tools/reliability.py build/train/apart.csv --write`.\n\n{block}\n")
    page.write_text(text)


def quantile(sizes, share):
    return sizes[min(math.ceil(share * (len(sizes) + 1)), len(sizes)) - 1]


def ratios(paths):
    """Quantiles of |log(predicted / measured)| over the interval's half width, relative to the quantile of 90 %."""
    levels, found = LEVELS, []
    for path in paths:
        with open(path) as file:
            sizes = sorted(abs(math.log(float(r["latency_ms_pred"]) / float(r["latency_ms"]))) /
                           math.log(float(r["latency_ms_high"]) / float(r["latency_ms_pred"]))
                           for r in csv.DictReader(file) if r["latency_ms_pred"])
        found.append([quantile(sizes, level / 100) / quantile(sizes, 0.9) for level in levels])
        print(f"{pathlib.Path(path).stem:40} {len(sizes):7} rows  " + "  ".join(f"{x:5.2f}" for x in found[-1]))
    print(f"{'median':40} {'':12}  " + "  ".join(f"{statistics.median(x):5.2f}" for x in zip(*found)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="+")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--ratios", action="store_true")
    options = parser.parse_args()
    if options.ratios:
        ratios(options.tables)
        return
    lines = table(list(accuracy.read(options.tables[0])))
    if options.write:
        write(lines)
    else:
        print(markdown(lines))


if __name__ == "__main__":
    main()
