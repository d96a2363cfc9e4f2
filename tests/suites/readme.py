#!/usr/bin/env python3
"""The README's commands print what it says they print, and its program compiles and runs.

Blocks marked `console` hold commands after "$ " and their output; "..." stands for any text, as in tests/cases. The block
marked `c` is compiled and linked with the library. Commands that begin with `make` are those that this very run is a part
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


def main():
    text = (TOP / "README.md").read_text()
    results = []
    for kind, block in re.findall(r"^```(console|c)\n(.*?)^```", text, re.M | re.S):
        if kind == "console":
            case = console_case(block)
            first = case.steps[0][1] if case.steps else "nothing"
            results.append((f"README: $ {first}", run_console(case)))
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
