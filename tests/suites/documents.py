#!/usr/bin/env python3
"""The documents agree with the program.

    documents.py            checks
    documents.py --write    rewrites the blocks that a command fills

Blocks marked `console` in README.md and doc/*.md hold commands after "$ " and their output; "..." stands for any text,
as in tests/cases. In blocks marked `console predicted`, figures that depend on the predictor are not compared. Blocks
marked `c` are compiled and linked with the library. Commands that begin with `make` are part of this run or slow: only
their targets must exist.

The README's accuracy table summarizes the tables in doc/accuracy.md, which `tools/accuracy.py --write` fills after a
training. The tables name their weights, so that tables of other weights than the shipped ones are detected.
"""
import importlib.util
import json
import os
import pathlib
import re
import struct
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
    """Removes what changes with the predictor: numbers, bars, widths, the costliest layers and their bounds, optional
    figures."""
    kept = []
    for line in lines:
        line = re.sub(r"[─█▏▎▍▌▋▊▉]+", " ", re.sub(r"\d[\d.,]*( [KMGTP])?\b", "#", line))
        line = " ".join(line.split())
        if line.count("#") > 3 and line.split()[-1] in ("compute", "memory", "launch"):
            line = "a row"
        if not line.startswith(("occupancy", "wave efficiency")):
            kept.append(re.sub(r"(calibrated on).*", r"\1", line))
    return kept


def predicted(command):
    """Exit code and lines."""
    env = dict(os.environ, PATH=f"{BUILD}:{os.environ['PATH']}", LC_ALL="C.UTF-8")
    done = subprocess.run(["sh", "-c", command], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=cases.COMMAND_TIMEOUT_S)
    return done.returncode, cases.trimmed([line.rstrip() for line in done.stdout.decode("utf-8", "replace").splitlines()])


def run_predicted(case):
    for _, command, expected, _ in case.steps:
        code, lines = predicted(command)
        if code or masked(cases.trimmed(expected)) != masked(lines):
            return [f"$ {command}", f"exit code {code}"] + lines
    return None


def run_program(source):
    """Compiles the example with the shared library and runs it on a zoo network."""
    sanitize = re.findall(r"-fsanitize=\S+", (BUILD / "flags").read_text())[:1]
    with tempfile.TemporaryDirectory() as directory:
        pathlib.Path(directory, "example.c").write_text(source)
        program = os.path.join(directory, "example")
        built = subprocess.run([*os.environ.get("CC", "cc").split(), "-std=c17", "-Wall", "-Wextra", "-Werror", *sanitize, "-o", program,
                                program + ".c", f"-I{TOP}/include", f"-L{BUILD}", "-lsooth", f"-Wl,-rpath,{BUILD}"],
                               capture_output=True, text=True)
        if built.returncode:
            return built.stderr.splitlines()
        ran = subprocess.run([program, "zoo:resnet50"], capture_output=True, text=True, timeout=cases.COMMAND_TIMEOUT_S)
    if ran.returncode or not ran.stdout.strip():
        return [f"exit code {ran.returncode}", ran.stdout, ran.stderr]
    return None


def write_console(text):
    """The page with the commands' current output. Blocks of `make` and those with "..." stay unchanged."""
    def anew(block):
        case, lines = console_case(block[2]), []
        if "..." in block[2] or any(step[1].startswith("make") for step in case.steps):
            return block[0]
        for _, command, _, _ in case.steps:
            lines += ["$ " + command] + predicted(command)[1]
        return block[1] + "\n".join(lines) + "\n```"
    return re.sub(r"^(```console(?: predicted)?\n)(.*?)^```", anew, text, flags=re.M | re.S)


# By row of the README: the tables of doc/accuracy.md whose first rows it shows.
SUMMARY = [
    ("new networks of known families, eager PyTorch (timm, four GPUs)", ["timm inference, eager, architectures not seen"]),
    ("the same, compiled (three GPUs)", ["timm inference, compiled (inductor), architectures not seen"]),
    ("the same, training (RTX 3090)", ["timm training, eager, architectures not seen"]),
    ("families never seen, eager", ["timm inference, eager, families not seen"]),
    ("families never seen, compiled", ["timm inference, compiled, families not seen"]),
    ("a GPU never seen (RTX 4090)", ["timm on a GPU not seen"]),
    ("single operators, shapes never seen (eight sources)", ["operators, shapes not seen"]),
]


def summary():
    """The README's table of accuracy."""
    tables = (TOP / "doc/accuracy.md").read_text()
    lines = ["", "| not seen in training | rows | mean error | median | in the 90 % interval |", "| --- | ---: | ---: | ---: | ---: |"]
    for name, (title,) in SUMMARY:
        row = re.search(rf"^### {re.escape(title)}\n.*?^\| all \|(.*?)\|$", tables, re.M | re.S)
        rows, mean, median, _, _, _, _, inside, *_ = [cell.strip() for cell in row[1].split("|")]
        lines.append(f"| {name} | {int(rows):,} | {float(mean):.1f} % | {float(median):.1f} % | {inside} % |")
    return "\n".join(lines) + "\n\n"


# Rows of doc/accuracy.md's comparison with the goals: what, then for each figure its goal, table, row and column.
COLUMNS = ["rows", "mean", "median", "p90", "within 5 %", "within 10 %", "Spearman", "in interval"]
EAGER, COMPILED = "timm inference, eager, architectures not seen", "timm inference, compiled (inductor), architectures not seen"
BY_GPU = "products and convolutions, shapes not seen, by GPU"
GOALS = [
    ("timm, eager, new architectures", [("2.5", EAGER, "all", "mean"), ("1.2", EAGER, "all", "median"), ("92", EAGER, "all", "within 5 %")]),
    ("the same, compiled", [("4", COMPILED, "all", "mean")]),
    ("new families, eager", [("6", "timm inference, eager, families not seen", "all", "mean")]),
    ("new families, compiled", [("6", "timm inference, compiled, families not seen", "all", "mean")]),
    ("a new GPU (RTX 4090; three others are held out too)", [("7", "timm on a GPU not seen", "all", "mean")]),
    ("transformers end to end, inference", [("5", "other networks, architectures not seen", "neusight", "mean")]),
    ("transformers end to end, forward pass of training", [("5", "other networks, architectures not seen", "neusight-train-forward", "mean")]),
    ("NVIDIA's tables on the A100", [("10", "NVIDIA's tables, networks not seen", "all", "mean")]),
    ("matrix products in bf16 on the A100", [("4", "products in bf16 on the A100, shapes not seen, by software", "all", "mean")]),
    ("linear layers in fp32", [("5", "operators, shapes not seen", "neusight linear fp32", "mean")]),
    ("batched products in fp32", [("5", "operators, shapes not seen", "neusight bmm fp32", "mean")]),
    *[(f"3 x 3 convolutions in fp32, {gpu}", [("9", BY_GPU, f"neusight conv2d fp32 {gpu}", "mean")])
      for gpu in ("a100-pcie-80gb", "v100-pcie-32gb", "t4")],
    *[(f"90 % interval, {what}", [("87 to 93", table, "all", "in interval")])
      for what, table in (("eager", EAGER), ("compiled", COMPILED), ("training", "timm training, eager, architectures not seen"),
                          ("new families, eager", "timm inference, eager, families not seen"),
                          ("new families, compiled", "timm inference, compiled, families not seen"),
                          ("a new GPU", "timm on a GPU not seen"), ("operators", "operators, shapes not seen"))],
    ("NAS-Bench-201 on a new GPU (TITAN RTX)", [("0.99", "NAS-Bench-201, TITAN RTX not seen, batch 256", "all", "Spearman")]),
]


def is_reached(goal, column, reached):
    bounds = [float(bound) for bound in goal.split(" to ")]
    if len(bounds) == 2:
        return bounds[0] <= reached <= bounds[1]
    return reached >= bounds[0] if column in ("within 5 %", "Spearman") else reached <= bounds[0]


def goals():
    """The table of goals, from the other tables of doc/accuracy.md."""
    text = (TOP / "doc/accuracy.md").read_text()
    lines = ["", "| held-out rows | figure | goal | reached | |", "| --- | --- | ---: | ---: | --- |"]
    for what, figures in GOALS:
        for goal, title, row, column in figures:
            table = text.split(f"### {title}\n")[1].split("\n### ")[0]
            cells = re.search(rf"^\| {re.escape(row)} \|(.*?)\|$", table, re.M)[1].split("|")
            reached = cells[COLUMNS.index(column)].strip()
            unit = "" if column == "Spearman" else " %"
            lines.append(f"| {what} | {column} | {goal}{unit} | {reached}{unit} | {'yes' if is_reached(goal, column, float(reached)) else 'no'} |")
    return "\n".join(lines) + "\n\n"


GOALS_BLOCK = re.compile(r"(?<=<!-- goals -->\n).*?(?=<!-- /goals -->)", re.S)
ACCURACY = re.compile(r"(?<=<!-- accuracy -->\n).*?(?=<!-- /accuracy -->)", re.S)


def weights_identity():
    """The field "weights" of JSON answers: the checksum in the header of the weights file (src/predict/weights.h)."""
    return "%08x" % struct.unpack_from("<I", (TOP / "data/weights.bin").read_bytes(), 24)


def check_accuracy():
    """The fault of the README's accuracy table, or None."""
    shipped = weights_identity()
    measured = re.search(r"<!-- tables of weights (\w+) -->", (TOP / "doc/accuracy.md").read_text())
    if not measured or measured[1] != shipped:
        return [f"doc/accuracy.md has tables of weights {measured[1] if measured else 'unknown'}, and {shipped} ship:",
                "tools/accuracy.py build/train/apart.csv --write, after tools/train.sh"]
    written = ACCURACY.search((TOP / "README.md").read_text())
    if not written or written[0] != summary():
        return ["the README's table of accuracy is not that of doc/accuracy.md: tests/suites/documents.py --write"]
    if GOALS_BLOCK.search((TOP / "doc/accuracy.md").read_text())[0] != goals():
        return ["the goals of doc/accuracy.md are not compared with its tables: tests/suites/documents.py --write"]
    return None


# A command for each answer that doc/json.md lists.
ANSWERS = {
    "inspect": "sooth inspect zoo:resnet18 --format json", "predict": "sooth predict zoo:resnet18 --format json",
    "trace": "sooth predict zoo:resnet18 --format trace", "gpus": "sooth gpus t4 --format json", "zoo": "sooth zoo vgg --format json",
    "train-phase": "sooth train-phase zoo:resnet18 --batch 8 --format json",
    "measure": "sooth measure zoo:alexnet --batch 1 --warmup 0 --repeat 1 --library plain --format json",
    "choose": "sooth choose zoo:resnet18 --gpu t4 --most-batch 8 --format json",
    "nas": "sooth nas nasbench-macro --search random --trials 2 --format json",
    "context": """echo '{"model_type": "llama", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, '"""
               """'"num_attention_heads": 4, "vocab_size": 150}' >config.json; sooth predict config.json --context 64 --format json""",
    "mig": "sooth mig zoo:resnet18 --format json", "survey": "sooth survey zoo:resnet18 --gpu t4 --format json",
    "eval": "printf 'graph,batch,gpu,latency_ms\\nzoo:resnet18,8,rtx-3090,4\\n' >rows.csv; sooth eval rows.csv --format json",
    "sweep": "printf '[a]\\ngraph = zoo:resnet/{depth}\\ndepth = 18\\n' >plan.txt; sooth sweep plan.txt --gpu t4 -o out.db --format json",
    "gnn": "sooth dataset make zoo:resnet18 --batch 1,2,3,4,5,6,7,8 -o set.db >made; "
           "sooth gnn train set.db --model mlp --hidden 32 --epochs 1 -q -f json -o model.bin",
    "dataset": "sooth dataset make zoo:resnet18 --gpu t4 -o set.db >made; sooth dataset stats set.db --format json",
}


def check_identities():
    """Answers whose "sooth" object differs from doc/json.md."""
    schemas = dict(re.findall(r"^\| ([\w-]+) \| (\d+) \|$", (TOP / "doc/json.md").read_text(), re.M))
    wrong = [f"{name}: not in both lists" for name in set(schemas) ^ set(ANSWERS)]
    version = re.search(r'SOOTH_VERSION "(.*)"', (TOP / "include/sooth.h").read_text())[1]
    for name in sorted(set(schemas) & set(ANSWERS)):
        with tempfile.TemporaryDirectory() as directory:
            code, lines = predicted(f"cd {directory}; {ANSWERS[name]}")
        weights = None if name in ("inspect", "gpus", "zoo", "gnn", "measure") else weights_identity()
        identity = json.loads("\n".join(lines)).get("sooth") if code == 0 else lines
        if identity != {"version": version, "schema": int(schemas[name]), "weights": weights}:
            wrong.append(f"{name}: {identity}")
    return wrong or None


def check_experiment():
    """The fault of the search tables in doc/nas.md, or None. Predictions by other weights give other tables."""
    written = re.findall(r"<!-- ([\w. ]+) of weights (\w+) -->", (TOP / "doc/nas.md").read_text())
    stale = [f"doc/nas.md: the table '{name}' is of weights {weights}: tools/nas_experiment.sh" for name, weights in written
             if weights != weights_identity()]
    return stale or (None if written else ["doc/nas.md has no tables of tools/nas_experiment.sh"])


def check_packages():
    """Every group of tools/deps.sh has a package."""
    text = (TOP / "tools/deps.sh").read_text()
    rows = set(re.findall(r"^(\w+) +[\w-]+ +\S", text.split("cat <<'LIST'\n")[1].split("\nLIST")[0], re.M))
    named = {name for names in re.findall(r'groups="([^"]*)"', text) for name in names.split()}
    return [f"tools/deps.sh: group {name} has no package" for name in sorted(named - rows)] or None


def pages():
    return [TOP / "README.md", *sorted((TOP / "doc").glob("**/*.md"))]


def write():
    for page in pages():
        before = page.read_text()
        after = write_console(before)
        if page.name == "README.md" and page.parent == TOP:
            after = ACCURACY.sub(lambda _: summary(), after)
        if page == TOP / "doc/accuracy.md":
            after = GOALS_BLOCK.sub(lambda _: goals(), after)
        if after != before:
            page.write_text(after)


def main():
    if sys.argv[1:] == ["--write"]:
        write()
        return 0
    results = []
    for page in pages():
        name, text = page.relative_to(TOP), page.read_text()
        for kind, block in re.findall(r"^```(console|console predicted|c)\n(.*?)^```", text, re.M | re.S):
            if kind.startswith("console"):
                case = console_case(block)
                first = case.steps[0][1] if case.steps else "nothing"
                results.append((f"{name}: $ {first}", (run_console if kind == "console" else run_predicted)(case)))
            else:
                results.append((f"{name}: the program", run_program(block)))
        links = [target for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text) if "://" not in target]
        results.append((f"{name}: links lead somewhere", [t for t in links if not (page.parent / t).exists()] or None))
    results.append(("doc/json.md: every answer has its version, schema and weights", check_identities()))
    results.append(("tools/deps.sh: every group has packages", check_packages()))
    results.append(("README.md: the accuracy is that of the weights that ship", check_accuracy()))
    results.append(("doc/nas.md: the searches are those of the weights that ship", check_experiment()))
    for number, (name, wrong) in enumerate(results, 1):
        print(f"{'not ' * (wrong is not None)}ok {number} - {name}")
        for line in wrong or []:
            print("#   " + line)
    print(f"1..{len(results)}")
    return 1 if any(wrong for _, wrong in results) else 0


if __name__ == "__main__":
    sys.exit(main())
