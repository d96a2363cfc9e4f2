#!/usr/bin/env python3
"""The tables of operators agree: every eager rule belongs to an operator, and every ATen operator that is launched has a row.

Read from the sources: src/graph/ops_table.c (operators of files), RULES of src/lower/eager/eager.c (what they launch) and
src/lower/aten.c (gradient, compiled form, kind of work).
"""
import collections
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
ATEN_ROW = re.compile(r'\{"(\w*)",\s*(\d+),\s*(WORK_\w+),\s*(\w+),\s*(COMPILED_\w+),')
RULE_ROW = re.compile(r'\{"(\w+)",\s*lower_\w+,\s*(?:"(\w+)"|NULL),')
LAUNCH = re.compile(r'\b(?:eager_launch\w*|eager_pointwise\w*|back_work|back_launch_like)\(\s*(?:e|b->e|c),\s*"(\w+)"')


def text_of(name):
    return (TOP / "src" / name).read_text()


def table(name, start, row):
    text = text_of(name)
    begin = text.index(start)
    return row.findall(text[begin:text.index("\n};", begin)])


def launched():
    for path in sorted((TOP / "src/lower").rglob("*.c")):
        for name in LAUNCH.findall(path.read_text()):
            yield str(path.relative_to(TOP)), name


def repeated(names):
    return [f"{name} has {count} rows" for name, count in collections.Counter(names).items() if count > 1]


def wrong_numbers(aten):
    groups = collections.defaultdict(set)
    for _, number, group, *_ in aten:
        groups[int(number)].add(group)
    yield from (f"number {n} is missing" for n in range(1, max(groups)) if n not in groups)
    yield from (f"number {n} is used in {' and '.join(sorted(of))}" for n, of in groups.items() if len(of) > 1)
    yield from (f"{name} has number 0 and {group}" for name, number, group, *_ in aten if (number == "0") != (group == "WORK_OTHER"))


def example_faults(text):
    """The rows that CONTRIBUTING.md shows have the columns of the tables, and names that exist."""
    for mark, file in (("Squareplus", "graph/ops_table.c"), ("Squareplus", "lower/eager/eager.c")):
        source = text_of(file)
        rows = [row.split(",") for row in re.findall(r'^    (\{"\w+", [^{}]*\}),$', source, re.M)]
        columns = collections.Counter(map(len, rows)).most_common(1)[0][0]
        shown = [row for row in re.findall(r'^ +(\{"%s", [^{}]*\}),$' % mark, text, re.M) if ("lower_" in row) == ("eager" in file)]
        if len(shown) != 1 or len(shown[0].split(",")) != columns:
            yield f"CONTRIBUTING.md: {shown or 'no row'} has not the {columns} columns of {file}"
        for name in re.findall(r"\b[A-Za-z_]\w+\b", re.sub(r'"[^"]*"', "", " ".join(shown))):
            if not re.search(rf"\b{name}\b", source):
                yield f"CONTRIBUTING.md: {file} does not use {name}"


def main():
    operators = set(re.findall(r'^\s*\{"(\w+)",', text_of("graph/ops_table.c"), re.M))
    rules = table("lower/eager/eager.c", "} RULES[] = {", RULE_ROW)
    aten = table("lower/aten.c", "OPS[] = {", ATEN_ROW)
    names = [row[0] for row in aten]
    launches = list(launched())
    checks = [
        ("the tables were found", [] if min(map(len, (operators, rules, names, launches))) > 50
         else [f"{len(operators)} operators, {len(rules)} rules, {len(names)} ATen operators, {len(launches)} launches"]),
        ("every eager rule belongs to an operator", [f"{op} is not in ops_table.c" for op, _ in rules if op not in operators]
         + repeated(op for op, _ in rules)),
        ("every ATen operator of a rule has a row", [f"{op}: {name} is not in aten.c" for op, name in rules if name and name not in names]),
        ("every ATen operator that is launched has a row", [f"{path}: {name} is not in aten.c" for path, name in launches if name not in names]),
        ("rows of ATen operators are sorted", [f"{b} is after {a}" for a, b in zip(names, names[1:]) if a.encode() >= b.encode()]),
        ("numbers in the weights are consecutive", list(wrong_numbers(aten))),
        ("the rows in CONTRIBUTING.md are rows of these tables", list(example_faults((TOP / "CONTRIBUTING.md").read_text()))),
    ]
    print("TAP version 13")
    for i, (what, faults) in enumerate(checks, 1):
        print(f"{'not ok' if faults else 'ok'} {i} - {what}")
        for fault in faults[:20]:
            print(f"# {fault}")
    print(f"1..{len(checks)}")
    return any(faults for _, faults in checks)


if __name__ == "__main__":
    sys.exit(main())
