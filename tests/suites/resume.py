#!/usr/bin/env python3
"""Killed data sets and sweeps resume, and end with the same bytes as an uninterrupted run. Two simultaneous writers and
a full disk lose no results."""
import os
import pathlib
import signal
import sqlite3
import subprocess
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = str(pathlib.Path(os.environ.get("SOOTH_BUILD", TOP / "build")).resolve() / "sooth")
TIMEOUT_S = 300
results = []

PLAN = """gpu = t4, a100
[mobilenet]
count = 1500
graph = zoo:mobilenet_v2?width={width}&image={image}
width = 0.25:2:0.05
image = 64:256:32
batch = 1, 2, 4, 8, 16, 32, 64, 128
"""
SWEEP = """gpu = t4, a100, l4
precision = fp32, amp
[mobilenet]
graph = zoo:mobilenet_v2?width={width}&image={image}
width = 0.25:2:0.05
image = 64:256:32
batch = 1:24:1
"""
COMMANDS = {"dataset": ["dataset", "make", "--plan", "plan.txt"], "sweep": ["sweep", "sweep.txt"]}
COUNTS = {"dataset": "SELECT count(*) FROM graphs", "sweep": "SELECT count(*) FROM points"}


def check(name, good, found=""):
    results.append((name, good, found))


def rows(path, query):
    """0 if the file does not exist yet, or is being written."""
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=0.05) as base:
            return base.execute(query).fetchone()[0]
    except sqlite3.Error:
        return 0


def run(what, out, *more, **options):
    return subprocess.run([PROGRAM, *COMMANDS[what], "-o", out, *more], capture_output=True, text=True, timeout=TIMEOUT_S, **options)


def begun(what, out, prefix=(), program=PROGRAM):
    """Waits until the run has committed results, but has not finished."""
    process = subprocess.Popen([*prefix, program, *COMMANDS[what], "-o", out], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + TIMEOUT_S
    while process.poll() is None and not rows(out, COUNTS[what]) and time.monotonic() < end:
        time.sleep(0.01)
    return process


def killed(what):
    out = f"{what}-killed.db"
    process = begun(what, out)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    kept, whole = rows(out, COUNTS[what]), rows(f"{what}.db", COUNTS[what])
    check(f"{what}: a kill keeps what was committed", 0 < kept < whole, f"{kept} of {whole}")
    done = run(what, out)
    check(f"{what}: the same command goes on", done.returncode == 0, done.stderr)
    check(f"{what}: and ends with the same file", pathlib.Path(out).read_bytes() == pathlib.Path(f"{what}.db").read_bytes())


def two_writers(what):
    out = f"{what}-two.db"
    first = begun(what, out)
    second = run(what, out)
    check(f"{what}: a second writer is told of the first", second.returncode == 5 and f"another 'sooth {what}'" in second.stderr, second.stderr)
    _, errors = first.communicate(timeout=TIMEOUT_S)
    check(f"{what}: the first one is not disturbed", first.returncode == 0, errors)


def full_disk(what):
    """Simulates a full disk by a limit on file sizes; the signal is ignored, so that writes fail."""
    out = f"{what}-full.db"
    limited = subprocess.run(["sh", "-c", 'trap "" XFSZ; ulimit -f 600; exec "$@"', "sh", PROGRAM, *COMMANDS[what], "-o", out],
                             capture_output=True, text=True, timeout=TIMEOUT_S)
    said = "cannot be written" in limited.stderr and "start again" in limited.stderr
    check(f"{what}: a full disk is named, with a remedy", limited.returncode == 5 and said, f"{limited.returncode}: {limited.stderr}")
    done = run(what, out)
    same = pathlib.Path(out).read_bytes() == pathlib.Path(f"{what}.db").read_bytes()
    check(f"{what}: nothing is lost by it", done.returncode == 0 and same, done.stderr)


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        pathlib.Path("plan.txt").write_text(PLAN)
        pathlib.Path("sweep.txt").write_text(SWEEP)
        for what in COMMANDS:
            done = run(what, f"{what}.db")
            check(f"{what}: runs", done.returncode == 0, done.stderr)
            killed(what)
            two_writers(what)
            full_disk(what)
        os.chdir("/")
    report()


def report():
    print(f"1..{len(results)}")
    for number, (name, good, found) in enumerate(results, 1):
        print(f"{'' if good else 'not '}ok {number} - {name}")
        if not good:
            print("#   " + str(found).strip().replace("\n", "\n#   "))


if __name__ == "__main__":
    main()
