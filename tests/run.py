#!/usr/bin/env python3
"""Runs every test suite and sums up.

    tests/run.py [--build DIR] [--jobs N] [--quick] [--alone] [NAME…]

A suite is a program that prints TAP ("ok 1 - name", "not ok 2 - name", "ok 3 - name # SKIP why"): the cmocka programs
in DIR/tests and the executables in tests/suites and tests/corpus. NAME runs only the suites whose names contain it; --quick leaves out
those that walk the whole corpus; --alone runs as in a clone without ../shared. The last line is "N passed, N failed",
followed by ", N skipped" if tests were skipped.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import time

TOP = pathlib.Path(__file__).resolve().parent.parent
RESULT = re.compile(r"(not )?ok\b(.*)")
TIMEOUT_S = 1200


def is_corpus(suite):
    return suite.parent.name == "corpus"


def title(suite):
    return "corpus/" + suite.stem if is_corpus(suite) else suite.stem


def run(path, env):
    began = time.monotonic()
    try:
        done = subprocess.run([path], cwd=TOP, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT_S)
        status, output = done.returncode, done.stdout
    except subprocess.TimeoutExpired as late:
        status, output = "timeout", late.stdout or b""
    return status, output.decode("utf-8", "replace").splitlines(), time.monotonic() - began


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--build", default="build")
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--quick", action="store_true")
    options.add_argument("--alone", action="store_true")
    options.add_argument("names", nargs="*")
    options = options.parse_args()
    build = (TOP / options.build).resolve()

    suites = sorted((build / "tests").glob("*_test"))
    for directory in ("suites", "corpus"):
        suites += sorted(p for p in (TOP / "tests" / directory).iterdir() if os.access(p, os.X_OK) and p.is_file())
    if options.quick:
        suites = [s for s in suites if not is_corpus(s)]
    if options.names:
        suites = [s for s in suites if any(name in title(s) for name in options.names)]

    env = dict(os.environ, SOOTH_BUILD=str(build), CMOCKA_MESSAGE_OUTPUT="TAP", LC_ALL="C.UTF-8", PYTHONDONTWRITEBYTECODE="1")
    if options.alone:
        env["SOOTH_SHARED"] = str(build / "nothing")
        for name in ("SOOTH_ONNX_PYTHON", "SOOTH_TORCH_PYTHON"):
            env.pop(name, None)
    passed = failed = skipped = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        # Corpus suites take longest, so they start first and keep all cores busy until the end.
        order = sorted(suites, key=lambda s: not is_corpus(s))
        pending = {pool.submit(run, str(s), env): s for s in order}
        for job in concurrent.futures.as_completed(pending):
            suite, (status, lines, seconds) = pending[job], job.result()
            good, bad, absent = 0, 0, []
            told = []
            show = False
            for line in lines:
                result = RESULT.match(line)
                if result and result[1]:
                    bad, show = bad + 1, True
                elif result and "# SKIP" in result[2]:
                    absent.append(result[2].partition("# SKIP")[2].strip())
                    show = False
                elif result:
                    good, show = good + 1, False
                if line.startswith("#:"):
                    told.append("    " + line[2:].strip("\n"))
                elif show:
                    told.append("    " + line)
            if status != 0 and bad == 0:
                bad = 1
                told += [f"    not ok - {suite.name} ended with {status}"] + ["    " + line for line in lines[-20:]]
            elif good + bad + len(absent) == 0:
                bad = 1
                told.append(f"    not ok - {suite.name} tested nothing")
            print(f"{title(suite)}: {good} passed, {bad} failed" + f", {len(absent)} skipped" * bool(absent) + f"  ({seconds:.1f} s)")
            for reason in sorted(set(absent)):
                print(f"    skipped: {reason}")
            print("\n".join(told) + "\n" if told else "", end="", flush=True)
            passed, failed, skipped = passed + good, failed + bad, skipped + len(absent)
    print(f"{passed} passed, {failed} failed" + f", {skipped} skipped" * bool(skipped))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
