#!/usr/bin/env python3
"""Reports over the whole corpus: rows sum to the totals in every view, pictures are well-formed, and the file written
by `sooth convert` gives the same reports as the original.

Notes are not compared: some are about faults of the original (a name that two nodes write) that the copy no longer has.
"""
import collections
import csv
import io
import json
import os
import re
import subprocess
import tempfile
import xml.dom.minidom

import corpus

FIGURES = ("params", "macs", "flops", "weight_bytes", "activation_bytes")
SAME = ("inputs", "outputs", "totals", "operators", "layers", "unknown_operators")
PICTURE_EVERY = 7  # parsing XML is slow in Python


def sooth(*arguments):
    done = subprocess.run([corpus.PROGRAM, *arguments], capture_output=True, timeout=corpus.TIMEOUT_S)
    return done.stdout.decode("utf-8") if done.returncode == 0 else None


def sums(rows):
    return {key: sum(int(row[key] or 0) for row in rows) for key in FIGURES}


def plain(entries):
    """Removes the number that convert appends to a repeated name, because ONNX Runtime needs unique names."""
    return [{**entry, "name": re.sub(r"~\d+$", "", entry["name"])} for entry in entries]


def tensors(report):
    """Weights of the same name in sibling graphs become inputs of one graph, under numbered names. Unread constants are
    not written."""
    return collections.Counter(json.dumps(value) for value in plain(report["values"]))


def look(task):
    """"refused", or a list of problems of each kind of report."""
    number, path = task
    text = sooth("inspect", path, "--format", "json", "--values")
    if text is None:
        return None
    wrong = []
    whole = json.loads(text)
    totals = {key: whole["totals"][key] for key in FIGURES}
    for view in ([], ["--top", "3"], ["--depth", "2"], ["--depth", "1", "--top", "2"]):
        rows = list(csv.DictReader(io.StringIO(sooth("inspect", path, "--format", "csv", *view), newline="")))
        if sums(rows) != totals:
            wrong.append(f"rows of {view or 'all layers'} do not sum to the totals")
        if sum(int(row["layers"]) for row in rows) != whole["totals"]["nodes"]:
            wrong.append(f"rows of {view or 'all layers'} do not stand for all layers")
    if number % PICTURE_EVERY == 0:
        picture = xml.dom.minidom.parseString(sooth("inspect", path, "--format", "svg").encode())
        boxes = len([g for g in picture.getElementsByTagName("g") if g.firstChild.nodeName == "title"])
        if boxes < whole["totals"]["nodes"] + len(whole["inputs"]) + len(whole["outputs"]):
            wrong.append("the picture lacks boxes")
        if sooth("inspect", path, "--format", "dot").count(" [fillcolor") < whole["totals"]["nodes"]:
            wrong.append("the Graphviz file lacks nodes")
    with tempfile.TemporaryDirectory() as directory:
        copy = os.path.join(directory, "copy.onnx")
        if sooth("convert", path, "-o", copy) is None:
            return wrong + ["convert refuses what inspect reads"]
        text = sooth("inspect", copy, "--format", "json", "--values")
    if text is None:
        return wrong + ["what convert writes cannot be read"]
    again = json.loads(text)
    whole["layers"], again["layers"] = plain(whole["layers"]), plain(again["layers"])
    wrong += [f"after convert the {key} differ" for key in SAME if whole[key] != again[key]]
    before, after = tensors(whole), tensors(again)
    if after - before:
        wrong.append("after convert there are other tensors")
    ends = {value["name"] for value in whole["inputs"] + whole["outputs"]}
    if any(json.loads(lost)["name"] in ends for lost in before - after):
        wrong.append("after convert an input or output is gone")
    return wrong


def main():
    corpus.require("models/onnx")
    report = corpus.Report("reports")
    files = [p for where in ("onnx", "torchvision", "made/onnx") for p in sorted((corpus.MODELS / where).rglob("*.onnx*"))]
    refused, faults = 0, []
    for path, wrong in zip(files, corpus.parallel(look, [(n, str(p)) for n, p in enumerate(files)])):
        refused += wrong is None
        faults += [f"{path.relative_to(corpus.MODELS)}: {what}" for what in wrong or ()]
    for fault in faults:
        report.detail(fault)
    report.say(f"reports: {len(files) - refused} files, {refused} refused, {len(faults)} faults")
    report.check(len(files) - refused > 0, "there are files to report on")
    report.check(not faults, "rows sum to totals, pictures are well formed, convert keeps everything", faults)
    report.end()


if __name__ == "__main__":
    main()
