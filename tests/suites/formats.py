#!/usr/bin/env python3
"""Small models of every format against their frameworks: shapes, parameters, multiply-adds; each is predicted in every
runtime.

    formats.py [PART OF A FILE'S NAME]        only those files

tests/models/formats/FORMAT.json lists them; the files are in the directory FORMAT/ or in FORMAT.tar.xz (or .zip) next
to it (tests/README.md describes the list). The scripts in tests/models/make wrote both.
"""
import concurrent.futures
import csv
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parent.parent
FORMATS = TESTS / "models/formats"
PROGRAM = str(pathlib.Path(os.environ.get("SOOTH_BUILD") or TESTS.parent / "build") / "sooth")
TIMEOUT_S = 60
SHOWN = 8  # number of differences shown per file
NO_LOSS = "the network has no output from which a loss could be computed"
ARCHIVES = (".tar.xz", ".zip")
SETTINGS = [("eager", "infer", "amp"), ("inductor", "infer", "amp"), ("engine", "infer", "fp16"), ("eager", "train", "amp")]
KNOWN = {"file", "arguments", "inputs", "outputs", "values", "params", "macs", "operators", "unknown_operators", "predict", "note"}


def text_of(value):
    """A tensor in the lists' notation: float32[2,3]; [2,3] if they do not name the type."""
    shape = value["shape"]
    return (value["dtype"] or "") + ("" if shape is None else "[" + ",".join(map(str, shape)) + "]")


def is_same(wanted, found):
    return found.endswith(wanted) if wanted.startswith("[") else found == wanted


def differences(entry, seen):
    """Differences between `sooth inspect` and the framework."""
    for which in ("inputs", "outputs"):
        wanted, found = entry.get(which), [text_of(value) for value in seen[which]]
        if wanted is not None and len(found) != len(wanted):
            yield f"{which}: found {len(found)}, expected {len(wanted)}"
        for place, pair in enumerate(zip(wanted or [], found)):
            if not is_same(*pair):
                yield f"{which}: number {place} ({seen[which][place]['name']}) found {pair[1]}, expected {pair[0]}"
    values = {value["name"]: text_of(value) for value in seen["values"]}
    for name, wanted in entry.get("values", {}).items():
        found = values.get(name, "nothing")
        if not is_same(wanted, found):
            yield f"{name}: found {found}, expected {wanted}"
    for what in ("params", "macs"):
        if what in entry and seen["totals"][what] != entry[what]:
            yield f"{what}: found {seen['totals'][what]}, expected {entry[what]}"
    counts = {row["op"]: row["count"] for row in seen["operators"]}
    for op, count in entry.get("operators", {}).items():
        if counts.get(op, 0) != count:
            yield f"{op}: found {counts.get(op, 0)}, expected {count}"
    unknown = sorted(row["op"] for row in seen["unknown_operators"])
    if unknown != entry.get("unknown_operators", []):
        yield f"operators that are not known: {unknown}"


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, timeout=TIMEOUT_S)


def inspected(entry, path):
    done = run("inspect", path, "--format", "json", "--values", "--skip", "all", *entry.get("arguments", []))
    if done.returncode:
        return [f"exit code {done.returncode}: {done.stderr.decode('utf-8', 'replace').strip()}"]
    return list(differences(entry, json.loads(done.stdout)))


def recovered(entry, path):
    """Passes change only nodes: inputs, outputs, parameters and multiply-adds stay the same."""
    done = run("inspect", path, "--format", "json", "--values", *entry.get("arguments", []))
    if done.returncode:
        return [f"with all passes: exit code {done.returncode}"]
    kept = {what: entry[what] for what in ("inputs", "outputs", "params", "macs", "unknown_operators") if what in entry}
    return [f"with all passes: {line}" for line in differences(kept, json.loads(done.stdout))]


def is_trained(entry):
    """A loss needs a floating-point result."""
    return not entry.get("outputs") or any(re.match(r"(b?float\d+|complex\d+)?\[\d", text) for text in entry["outputs"])


def is_sound(answer):
    value, low, high = answer
    return all(map(math.isfinite, answer)) and 0 <= low <= value <= high


def predicted(entry, path):
    """Each runtime answers, rows sum to totals, and training takes longer than inference."""
    latencies = {}
    for runtime, mode, precision in SETTINGS:
        if mode == "train" and not is_trained(entry):
            continue
        said = f"{runtime}, {mode}"
        done = run("predict", path, "--format", "json", "--layers", "--runtime", runtime, "--mode", mode, "--precision", precision,
                   *entry.get("arguments", []))
        if done.returncode:
            return [f"{said}: exit code {done.returncode}: {done.stderr.decode('utf-8', 'replace').strip()}"]
        answer = json.loads(done.stdout)
        latency = [answer["latency_ms"][key] for key in ("value", "low", "high")]
        memory = [answer["memory_mib"][key] for key in ("value", "low", "high")]
        total = sum(layer["latency_ms"] for layer in answer["layers"])
        if not (is_sound(latency) and is_sound(memory) and memory[0] > 0):
            return [f"{said}: latency {latency} ms, memory {memory} MiB"]
        if abs(total - latency[0]) > 1e-6 * (len(answer["layers"]) + 1):
            return [f"{said}: the layers add up to {total} ms, the total is {latency[0]}"]
        latencies[said] = latency[0]
    if latencies.get("eager, train", math.inf) < latencies["eager, infer"]:
        return [f"training takes less time than inference: {latencies}"]
    return []


def predicted_together(entries, place, directory):
    """{index of an entry: the fault of its predictions}, from one run of the program."""
    asked, answers = str(directory / "queries.csv"), str(directory / "answers.csv")
    rows = [(number, *setting) for number, entry in entries.items() for setting in SETTINGS if setting[1] != "train" or is_trained(entry)]
    with open(asked, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["number", "graph", "runtime", "mode", "precision"])
        for number, *setting in rows:
            writer.writerow([number, place / entries[number]["file"], *setting])
    done = subprocess.run([PROGRAM, "predict", "--queries", asked, "-o", answers], capture_output=True, timeout=10 * TIMEOUT_S)
    if done.returncode not in (0, 1):
        return {number: [f"predictions: {done.stderr.decode('utf-8', 'replace').strip()}"] for number in entries}
    wrong = {}
    with open(answers, newline="") as file:
        for row in csv.DictReader(file):
            why = row["error"]
            if why == NO_LOSS and row["mode"] == "train":  # its results are constants, or a single number
                continue
            if not why:
                latency = [float(row[f"latency_ms_{key}"]) for key in ("pred", "low", "high")]
                memory = [float(row[f"memory_mib_{key}"]) for key in ("pred", "low", "high")]
                why = "" if is_sound(latency) and is_sound(memory) else f"latency {latency} ms, memory {memory} MiB"
            if why:
                wrong.setdefault(int(row["number"]), []).append(f"{row['runtime']}, {row['mode']}: {why}")
    return wrong


def judge(task):
    entry, path, alone = task
    unknown = entry.keys() - KNOWN
    if unknown:
        return [f"the list has keys that nobody reads: {sorted(unknown)}"]
    try:
        wrong = inspected(entry, path)
        if not wrong:
            wrong = recovered(entry, path)
        if alone and not wrong:
            wrong = predicted(entry, path)
    except subprocess.TimeoutExpired as late:
        return [str(late)]
    return wrong


def lists(only):
    for path in sorted(FORMATS.glob("*.json")):
        name = path.name.removesuffix(".json")
        entries = json.loads(path.read_text())["models"]
        entries = [entry for entry in entries if only in f"{name}/{entry['file']}"]
        if entries:
            yield name, entries


def judged(name, entries, directory):
    """(entry, fault) of each."""
    place = FORMATS / name
    if not place.exists():
        place = directory / name
        shutil.unpack_archive(next(FORMATS / (name + kind) for kind in ARCHIVES if (FORMATS / (name + kind)).exists()), place)
    # Many small files are predicted by one run of the program, if nothing has to be bound.
    together = {number: entry for number, entry in enumerate(entries)
                if entry.get("predict") == "together" and not entry.get("arguments")}
    tasks = [(entry, str(place / entry["file"]), entry.get("predict", "alone") == "alone") for entry in entries]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        answers = list(pool.map(judge, tasks))
    if together:
        for number, wrong in predicted_together(together, place, directory).items():
            answers[number] += wrong
    return zip(entries, answers)


def main():
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    number = failures = 0
    for name, entries in lists(only):
        with tempfile.TemporaryDirectory() as directory:
            for entry, wrong in judged(name, entries, pathlib.Path(directory)):
                number += 1
                failures += bool(wrong)
                print(f"{'not ' * bool(wrong)}ok {number} - {name}/{entry['file']} {' '.join(entry.get('arguments', []))}".rstrip())
                for line in wrong[:SHOWN]:
                    print(f"#   {line}")
                if len(wrong) > SHOWN:
                    print(f"#   and {len(wrong) - SHOWN} more")
    print(f"1..{number}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
