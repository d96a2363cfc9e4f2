#!/usr/bin/env python3
"""Finds functions of src/ that are longer than 80 lines or nested deeper than four levels; part of `make check-style`.

A body is counted without its braces; comments and empty lines count. The level of a statement is the number of control
statements around it, with braces or without, read from its indentation, which clang-format guarantees.
"""

import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
MOST_LINES, MOST_LEVELS = 80, 4
STATEMENT = re.compile(r"( +)(?:if|for|while|switch|do|else|return|break|continue|goto)\b")


def functions(lines):
    """Yields (line, header, body) of each function definition, whose braces are at the start of a line."""
    begin = None
    for number, line in enumerate(lines):
        if line == "{":
            begin = number
        elif line == "}" and begin is not None:
            yield begin, lines[begin - 1], lines[begin + 1 : number]
            begin = None


def levels(body):
    return max((len(found[1]) // 4 - 1 for found in map(STATEMENT.match, body) if found), default=0)


def main():
    wrong = 0
    for path in sorted((TOP / "src").rglob("*.c")):
        for line, header, body in functions(path.read_text(encoding="utf-8").splitlines()):
            deepest = levels(body)
            if len(body) > MOST_LINES or deepest > MOST_LEVELS:
                wrong += 1
                print(f"{path.relative_to(TOP)}:{line}: {len(body)} lines, {deepest} levels: {header.strip()}")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
