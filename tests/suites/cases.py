#!/usr/bin/env python3
"""Runs the text tests in tests/cases/*.test; tests/README.md says how they are written.

    cases.py [FILE.test…]
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS / "tools"))
import onnxtext  # noqa: E402
import torchfiles  # noqa: E402

BUILD = os.environ.get("SOOTH_BUILD") or str(TESTS.parent / "build")
# ThreadSanitizer takes ten to thirty times as long, a build for coverage about six times.
COMMAND_TIMEOUT_S = 900 if re.search("fsanitize|--coverage", pathlib.Path(BUILD, "flags").read_text()) else 60


class Case:
    def __init__(self, name):
        self.name = name
        self.steps = []  # ("model", file, text) | ("file", …) | ("hex", …) | ("zip", …) | ("run", command, expected lines, exit code)


def parse(path):
    cases = []
    step = None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith("== "):
            cases.append(Case(f"{path.stem}: {line[3:].strip()}"))
            step = None
            continue
        if not cases:
            if line.strip() and not line.startswith("#"):
                raise SystemExit(f"{path}:{number}: a case begins with '== its name'")
            continue
        block = re.fullmatch(r"(model|file|hex|zip) (\S+):", line)
        if block:
            step = [block[1], block[2], []]
            cases[-1].steps.append(step)
        elif line.startswith("$ "):
            step = ["run", line[2:], [], 0]
            cases[-1].steps.append(step)
        elif step and step[0] != "run":
            if line.strip() and not line.startswith("    "):
                raise SystemExit(f"{path}:{number}: lines of a {step[0]} are indented by four spaces")
            step[2].append(line[4:])
        elif step and re.fullmatch(r"# exit \d+", line):
            step[3] = int(line.split()[2])
        elif step:
            step[2].append(line)
    return cases


def line_matches(pattern, line):
    parts = [re.escape(part) for part in pattern.split("...")]
    return re.fullmatch(".*".join(parts), line) is not None


def matches(expected, lines):
    """'...' alone is any number of lines; inside a line any text."""
    reachable = {0}
    for pattern in expected:
        following = set()
        for at in reachable:
            if pattern.strip() == "...":
                following.update(range(at, len(lines) + 1))
            elif at < len(lines) and line_matches(pattern.rstrip(), lines[at].rstrip()):
                following.add(at + 1)
        reachable = following
    return len(lines) in reachable


def trimmed(lines):
    lines = list(lines)
    while lines and not lines[-1].strip():
        lines.pop()
    return lines


def run(case, directory):
    """None, or the failure."""
    env = dict(os.environ, PATH=f"{BUILD}:{BUILD}/tests/tools:{os.environ['PATH']}", LC_ALL="C.UTF-8", COLUMNS="120", TESTS=str(TESTS))
    for step in case.steps:
        kind, what, body = step[:3]
        if kind == "model":
            try:
                onnxtext.write("\n".join(body), os.path.join(directory, what))
            except ValueError as error:
                return [f"{what}: {error}"]
        elif kind == "file":
            pathlib.Path(directory, what).parent.mkdir(parents=True, exist_ok=True)
            pathlib.Path(directory, what).write_text("\n".join(trimmed(body)) + "\n")
        elif kind == "zip":
            pathlib.Path(directory, what).write_bytes(torchfiles.archive("\n".join(body)))
        elif kind == "hex":
            pathlib.Path(directory, what).write_bytes(bytes.fromhex(re.sub(r"#.*", "", "\n".join(body))))
        else:
            done = subprocess.run(["sh", "-c", what], cwd=directory, env=env, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=COMMAND_TIMEOUT_S)
            lines = trimmed(done.stdout.decode("utf-8", "replace").splitlines())
            if done.returncode != step[3]:
                return [f"$ {what}", f"exit code {done.returncode} instead of {step[3]}"] + lines
            if not matches(trimmed(body), lines):
                return [f"$ {what}", "expected:"] + trimmed(body) + ["got:"] + lines
    return None if any(step[0] == "run" for step in case.steps) else ["the case runs no command"]


def main():
    paths = [pathlib.Path(p) for p in sys.argv[1:]] or sorted((TESTS / "cases").glob("*.test"))
    cases = [case for path in paths for case in parse(path)]
    print(f"1..{len(cases)}")
    failures = 0
    for number, case in enumerate(cases, 1):
        with tempfile.TemporaryDirectory() as directory:
            try:
                wrong = run(case, directory)
            except subprocess.TimeoutExpired as late:
                wrong = [str(late)]
        failures += wrong is not None
        print(f"{'not ' * (wrong is not None)}ok {number} - {case.name}")
        for line in wrong or []:
            print("#   " + line)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
