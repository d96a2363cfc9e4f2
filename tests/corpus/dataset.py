#!/usr/bin/env python3
"""The measured set: timm's graphs with their measured rows. Every row finds its graph; a graph is missing only where a file cannot have
the batch that was measured."""
import pathlib
import json
import subprocess
import tempfile

import corpus

GRAPHS, ROWS, MOST_MISSING = 1292, 28755, 100


def run(*arguments):
    return subprocess.run([corpus.PROGRAM, "dataset", *map(str, arguments)], capture_output=True, text=True, timeout=600)


def main():
    corpus.require("models/timm", "labels/timm.csv.gz")
    report = corpus.Report("dataset")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "timm.db"
        made = run("make", corpus.SHARED / "models/timm", "--labels", corpus.SHARED / "labels/timm.csv.gz", "-o", path)
        report.say(made.stdout.strip())
        report.check(f"of {GRAPHS} networks, {ROWS} measured rows; 0 rows of the table belong to none" in made.stdout, "every row finds its network",
                     [made.stdout, made.stderr])
        checked = run("check", path, "-f", "json")
        found = json.loads(checked.stdout) if checked.returncode == 0 else {}
        report.check(found.get("faults") == [], "what is read agrees with what was written", [checked.stderr])
        report.check(found.get("labels", 0) >= ROWS - MOST_MISSING, f"at most {MOST_MISSING} rows have no graph", [str(found.get("labels"))])
        report.say(f"{found.get('graphs')} graphs, {found.get('labels')} labels")
    report.end()


main()
