#!/usr/bin/env python3
"""The README's commands print what it says they print, and its program compiles and runs.

Blocks marked `console` hold commands after "$ " and their output; "..." stands for any text, as in tests/cases. In those marked
`console predicted` what changes with the predictor is not compared; `readme.py --write` writes them anew. The block marked `c`
is compiled and linked with the library. Commands that begin with `make` are those that this very run is a part
of, or that would take long: their targets must exist.
"""
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("SOOTH_BUILD") or TOP / "build")

spec = importlib.util.spec_from_file_location("cases", TOP / "tests/suites/cases.py")
cases = importlib.util.module_from_spec(spec)
spec.loader.exec_module(cases)


def target_exists(command):
    target = [word for word in command.split()[1:] if "=" not in word]
    return not target or re.search(rf"^{re.escape(target[0])}:", (TOP / "Makefile").read_text(), re.M) is not None


def console_case(block):
    case = cases.Case("README")
    for line in block.splitlines():
        if line.startswith("$ "):
            case.steps.append(["run", line[2:], [], 0])
        elif case.steps:
            case.steps[-1][2].append(line)
    return case


def run_console(case):
    for step in list(case.steps):
        if step[1].startswith("make"):
            if not target_exists(step[1]):
                return [f"$ {step[1]}", "there is no such target"]
            case.steps.remove(step)
    with tempfile.TemporaryDirectory() as directory:
        return cases.run(case, directory) if case.steps else None


def masked(lines):
    """Without what changes with the predictor: numbers, bars, widths, which layers are the costliest and what bounds them, which
    figures there are."""
    kept = []
    for line in lines:
        line = re.sub(r"[─█▏▎▍▌▋▊▉]+", " ", re.sub(r"\d[\d.,]*( [KMGTP])?\b", "#", line))
        line = " ".join(line.split())
        if line.count("#") > 3 and line.split()[-1] in ("compute", "memory", "launch"):
            line = "a row"
        if not line.startswith(("occupancy", "wave efficiency")):
            kept.append(re.sub(r"(rests on:).*", r"\1", line))
    return kept


def predicted(command):
    """Exit code and lines."""
    env = dict(os.environ, PATH=f"{BUILD}:{os.environ['PATH']}", LC_ALL="C.UTF-8")
    done = subprocess.run(["sh", "-c", command], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=60)
    return done.returncode, cases.trimmed([line.rstrip() for line in done.stdout.decode("utf-8", "replace").splitlines()])


def run_predicted(case):
    for _, command, expected, _ in case.steps:
        code, lines = predicted(command)
        if code or masked(cases.trimmed(expected)) != masked(lines):
            return [f"$ {command}", f"exit code {code}"] + lines
    return None


def run_program(source):
    """Compiles the example with the shared library, runs it over a network of the zoo."""
    sanitize = re.findall(r"-fsanitize=\S+", (BUILD / "flags").read_text())[:1]
    with tempfile.TemporaryDirectory() as directory:
        pathlib.Path(directory, "example.c").write_text(source)
        program = os.path.join(directory, "example")
        built = subprocess.run([os.environ.get("CC", "cc"), "-std=c17", "-Wall", "-Wextra", "-Werror", *sanitize, "-o", program,
                                program + ".c", f"-I{TOP}/include", f"-L{BUILD}", "-lsooth", f"-Wl,-rpath,{BUILD}"],
                               capture_output=True, text=True)
        if built.returncode:
            return built.stderr.splitlines()
        ran = subprocess.run([program, "zoo:resnet50"], capture_output=True, text=True, timeout=60)
    if ran.returncode or not ran.stdout.strip():
        return [f"exit code {ran.returncode}", ran.stdout, ran.stderr]
    return None


def write_predicted(text):
    """The README with today's predictions in it."""
    def anew(block):
        case, lines = console_case(block[1]), []
        for _, command, _, _ in case.steps:
            lines += ["$ " + command] + predicted(command)[1]
        return "```console predicted\n" + "\n".join(lines) + "\n```"
    return re.sub(r"^```console predicted\n(.*?)^```", anew, text, flags=re.M | re.S)


def main():
    text = (TOP / "README.md").read_text()
    if sys.argv[1:] == ["--write"]:
        (TOP / "README.md").write_text(write_predicted(text))
        return 0
    results = []
    for kind, block in re.findall(r"^```(console|console predicted|c)\n(.*?)^```", text, re.M | re.S):
        if kind.startswith("console"):
            case = console_case(block)
            first = case.steps[0][1] if case.steps else "nothing"
            results.append((f"README: $ {first}", (run_console if kind == "console" else run_predicted)(case)))
        else:
            results.append(("README: the program", run_program(block)))
    links = [target for target in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in target]
    results.append(("README: links lead somewhere", [t for t in links if not (TOP / t).exists()] or None))
    for number, (name, wrong) in enumerate(results, 1):
        print(f"{'not ' * (wrong is not None)}ok {number} - {name}")
        for line in wrong or []:
            print("#   " + line)
    print(f"1..{len(results)}")
    return 1 if any(wrong for _, wrong in results) else 0


if __name__ == "__main__":
    sys.exit(main())
