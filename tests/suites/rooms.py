#!/usr/bin/env python3
"""The order of the rooms in doc/design.md: a room uses only itself and the rooms to its left.

Checked in two ways: the #include lines of every file under src/, and the symbols (nm) that one room's object needs from
another's, which also finds declarations copied by hand. "rooms.py --matrix" prints both tables.

The symbols also show whether exported names begin with a prefix of their room.
"""
import collections
import os
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("SOOTH_BUILD", TOP / "build"))
INCLUDE = re.compile(r'#include "([^"]+)"')
# Reports use the public interface only.
PUBLIC_ONLY = {"report": {"base", "report"}}
# Prefixes of a room's names, where the room declares them: the room itself or one of its parts.
PREFIXES = {"lower": ("lower", "aten", "eager", "back", "inductor", "engine", "fusion", "access", "extent", "layout", "kernel", "repeats", "single", "joint", "partition", "cut")}


def declared_order():
    text = (TOP / "doc/design.md").read_text()
    line = re.search(r"^ {4}(base → .*)$", text, re.M)
    return line[1].split(" → ") if line else []


def room_of(path):
    return path.split("/")[0]


def includes():
    """(file, its room, included file, that file's room), without the public header."""
    for path in sorted((TOP / "src").rglob("*.[ch]")):
        name = str(path.relative_to(TOP / "src"))
        for line in path.read_text().splitlines():
            found = INCLUDE.match(line)
            if found and "/" in found[1]:
                yield name, room_of(name), found[1], room_of(found[1])


def read_objects():
    """The object that defines each symbol, and (object, needed symbol)."""
    defined, needed = {}, []
    root = BUILD / "obj/src"
    for path in sorted(root.rglob("*.o")):
        name = str(path.relative_to(root))
        if not any((TOP / "src" / name).with_suffix(end).exists() for end in (".c", ".S")):
            continue  # object of a deleted file
        for line in subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout.splitlines():
            kind, symbol = line.split()[-2:]
            if kind in "TDBRVWC":
                defined[symbol] = name
            elif kind == "U":
                needed.append((name, symbol))
    return defined, needed


def symbols(defined, needed):
    """(object, its room, needed symbol, the room that defines it)."""
    return [(name, room_of(name), symbol, room_of(defined[symbol])) for name, symbol in needed if symbol in defined]


def wrong_names(defined):
    for symbol, name in sorted(defined.items()):
        prefixes = PREFIXES.get(room_of(name))
        if prefixes and symbol.split("_")[0] not in prefixes:
            yield f"{name} exports {symbol}, which begins with none of {', '.join(prefixes)}"


def wrong_uses(uses, order):
    place = {room: i for i, room in enumerate(order)}
    for user, room, used, other in uses:
        if room not in place or other not in place:
            yield f"{user} uses {used}: '{room if room not in place else other}' is not in the order of doc/design.md"
        elif place[other] > place[room]:
            yield f"{user} uses {used} of {other}, which is to its right"
        elif room in PUBLIC_ONLY and other not in PUBLIC_ONLY[room] and not used.startswith("sooth_"):
            yield f"{user} uses {used} of {other}; {room} knows sooth.h and {' and '.join(sorted(PUBLIC_ONLY[room]))} alone"


def print_matrix(uses, order):
    count = collections.Counter((room, other) for _, room, _, other in uses)
    print(" " * 8 + "".join(f"{room:>8}" for room in order))
    for room in order:
        print(f"{room:<8}" + "".join(f"{count[room, other] or '':>8}" for other in order))


def main():
    order = declared_order()
    defined, needed = read_objects()
    tables = {"includes": list(includes()), "symbols": symbols(defined, needed)}
    if sys.argv[1:] == ["--matrix"]:
        for what, uses in tables.items():
            print(what)
            print_matrix(uses, order)
        return 0
    rooms = sorted(p.name for p in (TOP / "src").iterdir() if p.is_dir())
    checks = [("doc/design.md declares an order of all rooms", [f"{r}: a room of src/ or of the order, not of both"
                                                                for r in sorted(set(rooms) ^ set(order))])]
    checks += [(f"{what} follow the order of rooms", sorted(set(wrong_uses(uses, order))) if uses else [f"no {what} found in {BUILD}"])
               for what, uses in tables.items()]
    checks.append(("exported names carry a prefix of their room", list(wrong_names(defined))))
    print("TAP version 13")
    for i, (what, faults) in enumerate(checks, 1):
        print(f"{'not ok' if faults else 'ok'} {i} - {what}")
        for fault in faults[:20]:
            print(f"# {fault}")
    print(f"1..{len(checks)}")
    return any(faults for _, faults in checks)


if __name__ == "__main__":
    sys.exit(main())
