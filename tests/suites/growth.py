#!/usr/bin/env python3
"""The cost of reading, predicting and reporting a file must grow in proportion to the file.

    growth.py [--all] [--table] [--jobs=N] [NAME…]

Each case makes files with N, 2N and 4N items and counts the instructions of a command (valgrind's exp-bbv). The growth
from 2N to 4N may be at most 2.3 times that from N to 2N: linear work gives 2, quadratic work 4, and constant costs
cancel. Less than 100,000 instructions more do not matter. The same holds for memory beyond a few MiB. `make test` runs
a part, `make growth` all; --table writes the results into tests/README.md.
"""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "tools"), str(TESTS / "suites")]
from growth_files import ARGUMENTS, FILES, MOST as MOST_THINGS  # noqa: E402
from hostile import BUILD, SANITIZED, tell  # noqa: E402

PROGRAM = BUILD.resolve() / "sooth"

MOST = 2.3
NO_MATTER = 100_000  # fewer instructions, 20 µs, do not count as growth: files with limited nesting stay small
MOST_MEMORY, SOME_MIB = 3, 16  # memory is allocated in blocks
BYTES_AT_ONCE = 32  # bytes of a string instruction that count as one instruction
TIMEOUT_S = 600
INSPECT = ["inspect", "--format", "csv"]
PREDICT = ["predict", "--format", "csv"]
TRAIN = [*PREDICT, "--mode", "train"]
CONVERT = ["convert", "-o", "out.onnx"]
NOT_CONVERTED = {"safetensors: tensors"}  # weights without a graph
NOT_PREDICTED = {"onnx: symbols", "safetensors: tensors"}  # one input dimension is open; there is no graph


def commands():
    """(file, N, command); cases of `make test` are marked True."""
    # Every format, and every part of a file that can grow.
    for name in (name for name in FILES if not name.startswith("rows")):
        quick = name in ("onnx: chain", "onnx: branches", "onnx: functions", "onnx: readers", "caffe: in place", "tensorflow: nodes",
                         "torchscript: statements", "stablehlo: operators", "mxnet: nodes", "openvino: layers")
        yield name, 1000, INSPECT, quick
        if name.startswith("nesting: "):
            continue
        if name not in NOT_CONVERTED:
            yield name, 300, CONVERT, False
        if name not in NOT_PREDICTED:
            yield name, 300, PREDICT, name in ("paddle: operators", "onnx: sum of all")
            if not name.startswith("torchscript: ") or name == "torchscript: modules":  # the others have no parameters, and so no loss
                yield name, 300, TRAIN, name == "onnx: weights"
    # Every command and every writer, for networks of many layers.
    blocks = "onnx: blocks"
    for how in ("table", "json", "dot", "svg", "csv --values", "json --values"):
        yield blocks, 300, ["inspect", "--format", *how.split()], how == "json"
    for runtime in ("inductor", "engine"):
        yield blocks, 300, [*PREDICT, "--runtime", runtime], runtime == "inductor"
    for how in ("table", "json", "csv", "trace", "html", "memory-svg"):
        yield blocks, 300, ["predict", "--format", how, "--kernels", "--layers"] + ["--memory"] * (how == "json"), how == "html"
    yield blocks, 300, [*TRAIN, "--kernels", "--format", "json"], True
    for precision in ("fp32", "int8"):
        yield blocks, 300, [*PREDICT, "--runtime", "engine", "--precision", precision], False
    yield blocks, 300, ["predict", "--largest-batch", "--format", "csv"], False
    yield blocks, 300, ["mig", "--format", "json"], False
    # Graphs that are wide, dense or strange, in every runtime.
    for name in ("onnx: readers", "onnx: far readers", "onnx: wide sum", "onnx: sum of all", "onnx: weights", "onnx: unknown operators",
                 "onnx: views", "onnx: names in depth", "onnx: branches", "onnx: loops"):
        for runtime in ("inductor", "engine"):
            yield name, 1000, [*PREDICT, "--runtime", runtime], (name, runtime) in (
                ("onnx: far readers", "inductor"), ("onnx: wide sum", "engine"))
        yield name, 1000, [*TRAIN, "--runtime", "inductor"], name in ("onnx: wide sum", "onnx: far readers")
    yield "onnx: far readers", 1000, ["predict", "--largest-batch", "--format", "csv"], False
    # Rows of tables.
    yield "rows: queries", 300, ["predict", "--queries"], True
    yield "rows: eval", 300, ["eval", "--format", "json"], True


def words_of(name, command, file):
    if "--queries" in command:
        return ["predict", "--queries", file, "-o", "answers.csv"]
    return [command[0], file, *command[1:], *(ARGUMENTS.get(name, []) if command is not CONVERT else [])]


# A small process starts the program, because memory inherited before exec counts as the child's.
STARTER = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL); " \
    "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"


def peak_mib(words, folder):
    said = subprocess.run([sys.executable, "-SE", "-c", STARTER, PROGRAM, *words], cwd=folder, stdout=subprocess.PIPE,
                          check=True, timeout=TIMEOUT_S)
    return int(said.stdout) / 1024


def instructions(words, folder):
    """Instruction count of the command, or the fault."""
    counted = subprocess.run(
        ["valgrind", "--tool=exp-bbv", "--instr-count-only=yes", "--bb-out-file=bb.out", "--pc-out-file=pc.out", PROGRAM, *words],
        cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=TIMEOUT_S)
    said = counted.stderr.decode("utf-8", "replace")
    found = re.findall(r"Total instructions: (\d+)", said)  # per thread
    repeated = re.findall(r"Total reps: (\d+)", said)  # string instructions: bytes filled or copied
    if counted.returncode not in (0, 1) or not found:
        ours = [line for line in said.splitlines() if not line.startswith("==")]
        return f"{' '.join(map(str, words))}: exit code {counted.returncode}: {' '.join(ours)[:500]}"
    return sum(map(int, found)) + sum(map(int, repeated)) // BYTES_AT_ONCE


def grow(name, count, command):
    """Instructions for N, 2N, 4N, or the fault."""
    counts, peaks = [], []
    for times in (1, 2, 4):
        with tempfile.TemporaryDirectory() as folder:
            file = FILES[name](count * times, pathlib.Path(folder))
            words = words_of(name, command, file)
            counted = instructions(words, folder)
            if isinstance(counted, str):
                return counted
            counts.append(counted)
            peaks.append(peak_mib(words, folder))
    more_mib = peaks[2] - peaks[1]
    if more_mib > SOME_MIB and more_mib > MOST_MEMORY * (peaks[1] - peaks[0]):
        return f"memory of {', '.join(f'{p:.0f}' for p in peaks)} MiB for {count}, {2 * count}, {4 * count}"
    return counts


def ratio_of(counts):
    return (counts[2] - counts[1]) / max(counts[1] - counts[0], 1)


def title(name, command):
    return f"{name}: {' '.join(word for word in command if word not in ('--format', 'out.onnx', '-o'))}"


def write_table(rows):
    """Writes between the marks of tests/README.md; rows of cases that did not run stay unchanged."""
    page = TESTS / "README.md"
    begin, end = "<!-- growth: begin -->\n", "<!-- growth: end -->\n"
    before, _, rest = page.read_text().partition(begin)
    old, _, after = rest.partition(end)
    lines = {line.rpartition("` |")[0]: line for line in old.splitlines() if "` |" in line}
    made = {}
    for name, count, command, counts in rows:
        made[name, tuple(command)] = (f"| {count} | | fails |" if isinstance(counts, str) else
                                      f"| {count} | {counts[2] / 1e6:,.1f} M | {ratio_of(counts):.2f} |")
    table = ["| what grows | command | N | instructions at 4N | ratio |", "| --- | --- | ---: | ---: | ---: |"]
    for name, _, command, _ in commands():
        shown = f"| {name} | `{' '.join(word for word in command if word not in ('out.onnx', '-o'))}"
        if (name, tuple(command)) in made:
            table.append(f"{shown}` {made[name, tuple(command)]}")
        elif shown in lines:
            table.append(lines[shown])
    page.write_text(before + begin + "\n".join(table) + "\n" + end + after)


def main(arguments):
    wants_all, wants_table = "--all" in arguments, "--table" in arguments
    names = [word for word in arguments if not word.startswith("--")]
    jobs = next((int(word.partition("=")[2]) for word in arguments if word.startswith("--jobs=")), os.cpu_count())
    is_counted = "--coverage" in (BUILD / "flags").read_text()
    if SANITIZED or is_counted or not shutil.which("valgrind"):
        print("ok 1 - growth # SKIP " + ("valgrind does not run programs with sanitizers" if SANITIZED else
                                         "programs that count their branches have other instructions" if is_counted else "valgrind is not there"))
        print("1..1")
        return 0
    cases = [(name, min(count, MOST_THINGS.get(name, 4 * count) // 4), *rest) for name, count, *rest in commands()]
    cases = [case for case in cases if (wants_all or case[3]) and (not names or any(n in title(case[0], case[2]) for n in names))]
    rows = []

    def results():
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            for (name, count, command, _), counts in zip(cases, pool.map(lambda case: grow(*case[:3]), cases)):
                rows.append((name, count, command, counts))
                if wants_table:  # each time: a run of all cases takes long, and may end early
                    write_table(rows)
                wrong = counts if isinstance(counts, str) else None
                if not wrong and ratio_of(counts) > MOST and counts[2] - counts[1] > NO_MATTER:
                    wrong = f"ratio {ratio_of(counts):.2f}: {', '.join(f'{c:,}' for c in counts)} instructions for {count}, {2 * count}, {4 * count}"
                shown = "" if isinstance(counts, str) else f" ({ratio_of(counts):.2f})"
                yield title(name, command) + shown, wrong
    return tell(results())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
