#!/usr/bin/env python3
"""Runs the tests as in a clone without ../shared, and reports which parts of src/ they reach.

    tests/tools/coverage.py BUILD [--keep] [--files N] [NAME…]

BUILD was compiled with --coverage (`make coverage` does both). Prints lines and branches by room, and the files with
the most unreached lines; --keep adds to the results of earlier runs, NAME runs only the suites whose names contain it.
A branch counts if it was taken at least once. Nothing is excluded: code that only a failing allocation or system call
reaches counts too. Lines, and hashes of their files, go into BUILD/coverage.json, which tests/tools/mutate.py reads.
"""
import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent.parent


def read_objects(objects):
    """gcov's results for the sources of some objects."""
    done = subprocess.run(["gcov", "--json-format", "--stdout", "--branch-probabilities", *objects], cwd=TOP, capture_output=True)
    return [file for line in done.stdout.splitlines() if line.startswith(b"{") for file in json.loads(line)["files"]]


class File:
    """Counts by line, and by line and position for branches. A line may be in several objects, as in headers."""

    def __init__(self):
        self.lines = collections.Counter()
        self.branches = collections.Counter()

    def add(self, lines):
        for line in lines:
            number = line["line_number"]
            self.lines[number] += line["count"]
            for place, branch in enumerate(line["branches"]):
                self.branches[number, place] += branch["count"]

    def figures(self):
        return [sum(map(bool, self.lines.values())), len(self.lines), sum(map(bool, self.branches.values())), len(self.branches)]


def read_counts(build):
    objects = [str(path) for path in sorted((build / "obj/src").rglob("*.gcno"))]
    parts = [objects[i:i + 16] for i in range(0, len(objects), 16)]
    files = collections.defaultdict(File)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for part in pool.map(read_objects, parts):
            for file in part:
                if file["file"].startswith("src/"):
                    files[file["file"]].add(file["lines"])
    return files


def row(name, figures):
    lines, all_lines, branches, all_branches = figures
    return (f"{name:28}{100 * lines / max(all_lines, 1):7.1f} %{lines:8} of{all_lines:7}"
            f"{100 * branches / max(all_branches, 1):9.1f} %{branches:8} of{all_branches:7}")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("build")
    options.add_argument("--keep", action="store_true")
    options.add_argument("--files", type=int, default=20)
    options.add_argument("names", nargs="*")
    options = options.parse_args()
    build = (TOP / options.build).resolve()

    if not options.keep:
        for path in build.rglob("*.gcda"):
            path.unlink()
    tests = subprocess.run([TOP / "tests/run.py", "--alone", "--build", str(build), *options.names])
    files = read_counts(build)

    rooms = collections.defaultdict(lambda: [0, 0, 0, 0])
    for name, file in files.items():
        for room in (name.split("/")[1] if name.count("/") > 1 else "(src itself)", "all"):
            rooms[room] = [a + b for a, b in zip(rooms[room], file.figures())]
    print(f"\n{'room':28}{'lines':>9}{'':18}{'branches':>11}")
    for room in sorted(rooms, key=lambda room: (room == "all", room)):
        print(row(room, rooms[room]))
    print(f"\nfiles with most lines that nothing reaches\n{'':28}{'lines':>9}{'':18}{'branches':>11}")
    for name, file in sorted(files.items(), key=lambda item: -list(item[1].lines.values()).count(0))[:options.files]:
        print(row(name, file.figures()))

    told = {name: {"sha256": hashlib.sha256((TOP / name).read_bytes()).hexdigest(),
                   "reached": sorted(line for line, count in file.lines.items() if count),
                   "missed": sorted(line for line, count in file.lines.items() if not count),
                   "branches_missed": sorted({line for (line, _), count in file.branches.items() if not count})}
            for name, file in sorted(files.items())}
    (build / "coverage.json").write_text(json.dumps(told))
    return tests.returncode


if __name__ == "__main__":
    sys.exit(main())
