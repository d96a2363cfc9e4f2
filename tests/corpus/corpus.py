"""What the comparisons with the corpus share: where it is, running sooth over many files, telling the results."""
import concurrent.futures
import gzip
import json
import os
import pathlib
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
SHARED = pathlib.Path(os.environ.get("SOOTH_SHARED", TOP.parent / "shared"))
MODELS = SHARED / "models"
BUILD = pathlib.Path(os.environ.get("SOOTH_BUILD", TOP / "build"))
PROGRAM = str(BUILD / "sooth")
TIMEOUT_S = 60


def require(*paths):
    """Ends the script as one skipped test where the corpus is not there."""
    for path in paths:
        if not (SHARED / path).exists():
            print(f"1..1\nok 1 - {pathlib.Path(sys.argv[0]).stem} # SKIP ../shared/{path} is not there")
            sys.exit(0)


def read_texts(path):
    with gzip.open(SHARED / path, "rt") as file:
        yield from file


def read_lines(path):
    for line in read_texts(path):
        yield json.loads(line)


class Inspection:
    """One run of `sooth inspect --format json`: .code, .json (None if refused), .message."""

    def __init__(self, path, *arguments):
        try:
            done = subprocess.run([PROGRAM, "inspect", str(path), "--format", "json", *arguments], capture_output=True,
                                  timeout=TIMEOUT_S)
            self.code, self.message = done.returncode, done.stderr.decode("utf-8", "replace").strip()
        except subprocess.TimeoutExpired:
            self.code, self.message = "timeout", f"more than {TIMEOUT_S} s"
        self.json = None
        if self.code == 0:
            self.json = json.loads(done.stdout.decode("utf-8", "replace"))


def parallel(function, items):
    """Results in the order of the items, over as many processes as there are cores."""
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(function, items, chunksize=8)


class Report:
    """TAP on standard output, lines for people ("#:") shown by tests/run.py, details in a file under build/."""

    def __init__(self, name):
        self.name = name
        self.count = 0
        self.failures = 0
        directory = BUILD / "corpus"
        directory.mkdir(parents=True, exist_ok=True)
        self.path = directory / f"{name}.txt"
        self.file = open(self.path, "w")

    def say(self, text=""):
        print(f"#: {text}")
        print(text, file=self.file)

    def detail(self, text):
        print(text, file=self.file)

    def check(self, good, what, why=()):
        self.count += 1
        self.failures += not good
        print(f"{'' if good else 'not '}ok {self.count} - {what}")
        if not good:
            for line in list(why)[:40]:
                print(f"#   {line}")
            if len(why) > 40:
                print(f"#   … {len(why) - 40} more in {self.path}")

    def end(self):
        print(f"1..{self.count}")
        self.file.close()
        sys.exit(1 if self.failures else 0)


def read_list(name):
    """Committed lists of explained differences: TAB-separated fields, '#' begins a comment. [[field…]…]"""
    rows = []
    for line in (TOP / "tests/corpus" / name).read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            rows.append([field.strip() for field in line.split("\t")])
    return rows
