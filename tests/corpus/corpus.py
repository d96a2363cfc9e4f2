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


def files_of(directories):
    for directory in directories:
        yield from sorted(path for path in (MODELS / directory).rglob("*") if path.is_file())


def read_one(path):
    seen = Inspection(path)
    return seen.code, seen.message


def check_read(report, name, paths, not_meant, least_percent):
    """The share of the files that is read; `not_meant` has the ends of names of those that hold no network of the format, with the
    reason."""
    refused, crashed, excused = [], [], 0
    for path, (code, message) in zip(paths, parallel(read_one, paths)):
        if code == 0:
            continue
        reason = next((why for part, why in not_meant.items() if path.name.endswith(part)), None)
        excused += reason is not None
        line = f"{path.relative_to(MODELS)}: {reason or message[-200:]}"
        report.detail("refused\t" + line)
        if code not in (3, 4):
            crashed.append(f"{line}: exit code {code}")
        elif not reason:
            refused.append(line)
    meant = len(paths) - excused
    report.say(f"{name}: {meant - len(refused) - len(crashed)} of {meant} files read; {excused} hold no network of the format")
    report.check(not crashed, f"{name}: read or refused with exit code 3 or 4", crashed)
    report.check(100 * len(refused) <= (100 - least_percent) * meant, f"{name}: at least {least_percent} % of the files are read",
                 refused)


def read_list(name):
    """Committed lists of explained differences: TAB-separated fields, '#' begins a comment. [[field…]…]"""
    rows = []
    for line in (TOP / "tests/corpus" / name).read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            rows.append([field.strip() for field in line.split("\t")])
    return rows
