#!/usr/bin/env python3
"""Changes one random token of src/ at a time and reports whether the tests notice.

    tests/tools/mutate.py [--count N] [--seed S] [--jobs J] [--room R] [--results FILE] [--reach BUILD] [--without NAMES] [--directory DIR]
                          [--again]

The changes: == and !=, < and <=, > and >=, + and -, && and ||, 0 and 1, a `!` removed, a `break`, `continue` or early
`return` removed. First a changeable line is drawn, all with equal probability, then the change in it. A change that
does not compile is drawn again. Everything happens in copies of the tree under DIR (a temporary directory), without
../shared; your tree is only read. Suites run in the order of past detections per time, and stop at the first failure.
Models of one format are left out for changes in the reader of another.

--room R draws from src/R only. --results FILE gets one line of JSON per change; a run started again with the same seed
continues after the existing lines and takes the suites' times from there; --again tests the survivors among them
again, with the tests as they are now. --reach BUILD is a build that `make coverage` left: each suite runs there once by
itself (BUILD/reach keeps what it reached), and a change then runs only the suites that reach its line. Code that none
reaches counts as unnoticed without a run. --without growth,inject leaves out these suites, to save time.
"""
import argparse
import collections
import hashlib
import json
import os
import pathlib
import queue
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

USER_TOP = pathlib.Path(__file__).resolve().parent.parent.parent
TOP = USER_TOP  # a copy of it, once main() has made one
TOKENS = re.compile(
    r"(?P<skip>//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|^[ \t]*\#(?:\\\n|[^\n])*)"
    r"|(?P<word>[A-Za-z_]\w*)|(?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)"
    r"|(?P<sign><<=|>>=|\.\.\.|->|\+\+|--|[-+*/%&|^=!<>]=|&&|\|\||<<|>>|.)", re.M | re.S)
SWAPS = {"==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "+": "-", "-": "+", "&&": "||", "||": "&&", "0": "1",
         "1": "0", "!": ""}
# Suites that look at the build and not at its results.
LEFT_OUT = {"interface", "cluster", "web", "sanity"}  # also suites whose programs link other objects, or take long
# Suites whose counts say little: they kill programs, or do not start those of the build.
COUNTED_ELSEWHERE = {"documents", "manual", "rooms", "growth", "inject"}
# The directories of src/front that read the models of a list.
READERS = {"jax": ["hlo"], "gguf": ["hf"], "pytorch": ["torch"], "torchscript": ["torch"], "paddle-pir": ["paddle"], "paddle-program": ["paddle"],
           "onnx-nodes": ["onnx"], "onnx-contrib": ["onnx"], "keras": ["keras"], "tensorflow": ["tensorflow", "keras"], "hdf5": ["keras"]}
PATIENCE = 10
COMPILE_TIMEOUT_S, MEMORY_LIMIT, FILE_LIMIT = 120, 12 << 30, 2 << 30


def changes_of(text):
    """(offset, length, replacement) of all possible changes."""
    tokens = [t for t in TOKENS.finditer(text) if t.lastgroup != "skip" and not t[0].isspace()]
    for at, token in enumerate(tokens):
        before = tokens[at - 1][0] if at else ";"
        if token.lastgroup in ("sign", "number") and token[0] in SWAPS:
            yield token.start(), len(token[0]), SWAPS[token[0]]
        elif token[0] in ("break", "continue", "return") and before in (";", "{", "}", ")", "else", ":"):
            end = next((t.end() for t in tokens[at:] if t[0] == ";"), None)
            # The last statement of a function is not an early return.
            if end and not re.match(r"\s*\n\}", text[end:]):
                yield token.start(), end - token.start(), ";"


class Change:
    def __init__(self, path, offset, length, replacement):
        text = (TOP / path).read_text()
        self.path, self.offset, self.length, self.replacement = path, offset, length, replacement
        self.line = text.count("\n", 0, offset) + 1
        self.said = f"{' '.join(text[offset:offset + length].split())} -> {replacement or 'nothing'}"
        self.code = text.splitlines()[self.line - 1].strip()
        self.digest = hashlib.sha256(text.encode()).hexdigest()

    def key(self):
        return f"{self.path}:{self.offset}:{self.replacement}:{self.digest[:12]}"

    def apply(self, tree):
        text = (TOP / self.path).read_text()
        (tree / self.path).write_text(text[:self.offset] + self.replacement + text[self.offset + self.length:])


def draw(rng, room):
    """Endless sequence of distinct changes."""
    lines = collections.defaultdict(list)
    for path in sorted((TOP / "src" / room if room else TOP / "src").rglob("*.c")):
        text, name = path.read_text(), str(path.relative_to(TOP))
        for offset, length, replacement in changes_of(text):
            lines[name, text.count("\n", 0, offset)].append((offset, length, replacement))
    places, seen = sorted(lines), set()
    while places:
        place = rng.choice(places)
        chosen = rng.choice(lines[place])
        if (place[0], chosen) not in seen:
            seen.add((place[0], chosen))
            yield Change(place[0], *chosen)


def copy_sources(to):
    """The files that Git tracks. All work uses this copy, whatever happens to the user's tree meanwhile."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=USER_TOP, stdout=subprocess.PIPE, check=True).stdout.decode().split("\0")
    for name in filter(None, names):
        if (USER_TOP / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(USER_TOP / name, to / name)


def is_program(path):
    """Is it in a room that only the program has?"""
    return "/cli/" in path or "/measure/" in path


def suites_of(top, build):
    """Commands by name."""
    found = [p for p in sorted((build / "tests").glob("*_test")) if p.name != "oom_test"]
    found += sorted(p for p in (top / "tests/suites").iterdir() if os.access(p, os.X_OK) and p.is_file() and p.stem not in LEFT_OUT)
    # The text tests run separately by file: some take much longer than others.
    found = [(p.stem, [str(p)]) for p in found if p.stem not in ("cases", "formats")]
    formats = str(top / "tests/suites/formats.py")
    found += [("formats/" + p.stem, [formats, p.stem + "/"]) for p in sorted((top / "tests/models/formats").glob("*.json"))]
    cases = str(top / "tests/suites/cases.py")
    found += [("cases/" + p.stem, [cases, str(p)]) for p in sorted((top / "tests/cases").glob("*.test"))]
    return dict(found)


def environment(top, build):
    env = {name: value for name, value in os.environ.items() if not name.startswith("SOOTH_")}
    env.update(SOOTH_BUILD=str(build), SOOTH_SHARED=str(top / "nothing"), CMOCKA_MESSAGE_OUTPUT="TAP", LC_ALL="C.UTF-8",
               PYTHONDONTWRITEBYTECODE="1", PYTHONUNBUFFERED="1")
    return env


class Reach:
    """The lines that each suite reaches, from a build that counts them."""

    def __init__(self, build):
        self.build, self.home, self.kept = build.resolve(), build.resolve() / "reach", {}
        self.home.mkdir(exist_ok=True)
        kept = self.home / "sources.json"  # those that the build was made of
        if not kept.exists():
            kept.write_text(json.dumps({str(p.relative_to(USER_TOP)): hashlib.sha256(p.read_bytes()).hexdigest()
                                        for p in (USER_TOP / "src").rglob("*.c")}))
        self.digests = json.loads(kept.read_text())
        for name, command in suites_of(USER_TOP, self.build).items():
            to = self.home / name.replace("/", ",")
            if name in COUNTED_ELSEWHERE or (to / "done").exists():
                continue
            began = time.monotonic()
            shutil.rmtree(to, ignore_errors=True)
            env = dict(environment(USER_TOP, self.build), GCOV_PREFIX=str(to), GCOV_PREFIX_STRIP=str(len(self.build.parts) - 1))
            subprocess.run(command, cwd=USER_TOP, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            (to / "obj").mkdir(parents=True, exist_ok=True)
            (to / "done").write_text("")
            print(f"# {name}: lines counted in {time.monotonic() - began:.0f} s", flush=True)

    def lines(self, suite, path):
        """Lines with code and whether the suite reaches each; None if it reaches nothing of the file."""
        if (suite, path) in self.kept:
            return self.kept[suite, path]
        counts = (self.home / suite.replace("/", ",") / "obj" / path).with_suffix(".gcda")
        found = None
        if counts.exists():
            notes = counts.with_suffix(".gcno")
            if not notes.exists():
                notes.symlink_to((self.build / "obj" / path).with_suffix(".gcno"))
            said = subprocess.run(["gcov", "--json-format", "--stdout", str(counts)], cwd=USER_TOP, capture_output=True)
            found = {}
            for file in json.loads(said.stdout.splitlines()[0])["files"] if said.stdout else ():
                for line in file["lines"] if file["file"] == path else ():
                    reached, _ = found.get(line["line_number"], (False, None))
                    found[line["line_number"]] = (reached or line["count"] > 0, line.get("function_name"))
        self.kept[suite, path] = found
        return found

    def reaches(self, suite, change):
        """Does it reach the line, or the statement that the line continues? A table counts as reached with its file."""
        if suite in COUNTED_ELSEWHERE or self.digests.get(change.path) != change.digest:
            return True
        lines = self.lines(suite, change.path)
        if not lines:
            return lines is not None
        before = max((n for n in lines if n <= change.line), default=None)
        after = min((n for n in lines if n >= change.line), default=None)
        if before is None or after is None or lines[before][1] != lines[after][1]:
            return True
        return lines[before][0]


class Tree:
    """A copy with its own build, where all programs use one shared library."""

    def __init__(self, directory):
        self.top = directory
        self.build = directory / "build"
        shutil.copytree(TOP, directory)
        flags = ["WARNINGS=-w", "CFLAGS=-O1 -fvisibility=default -fno-semantic-interposition"]
        if shutil.which("ccache"):
            flags.append("CC=ccache cc")
        env = dict(os.environ, CCACHE_BASEDIR=str(directory), CCACHE_NOHASHDIR="1")
        subprocess.run(["make", "-s", f"-j{os.cpu_count()}", "all", "unit-tests", *flags], cwd=directory, env=env, check=True)
        self.objects = sorted(str(p.relative_to(directory)) for p in (self.build / "obj/src").rglob("*.o"))
        self.compiler = (self.build / "flags").read_text().split(" -lz")[0].replace("-MMD -MP", "").removeprefix("ccache ").split()
        self.library = [o for o in self.objects if not is_program(o)]
        self.program = [o for o in self.objects if is_program(o)]
        self.program_libraries = [library for option, library in (("-DSOOTH_SQLITE", "-lsqlite3"), ("-DSOOTH_MICROHTTPD", "-lmicrohttpd"))
                                  if option in self.compiler]
        self.link_library()
        for test in sorted((self.build / "tests").glob("*_test")) + sorted((self.build / "tests/tools").iterdir()):
            # Tests of failing allocations wrap calls inside the library, so they link the objects themselves.
            if test.is_file() and os.access(test, os.X_OK) and test.name != "oom_test" and test.suffix != ".so":
                kind = "tools" if test.parent.name == "tools" else "unit"
                self.link(test, [f"build/obj/tests/{kind}/{test.name}.o"], ["-lcmocka"] if kind == "unit" else [])
        self.link(self.build / "sooth", self.program, self.program_libraries)

    def run_compiler(self, *arguments):
        return subprocess.run([self.compiler[0], *arguments], cwd=self.top, stderr=subprocess.DEVNULL,
                              timeout=COMPILE_TIMEOUT_S).returncode == 0

    def link_library(self):
        (self.build / "libsooth.so").unlink(missing_ok=True)
        if not self.run_compiler("-shared", "-Wl,-soname,libsooth.so.0", "-o", "build/libsooth.so", *self.library, "-lz", "-lm", "-pthread"):
            raise SystemExit("mutate.py: the library does not link")

    def link(self, program, objects, libraries):
        program.unlink(missing_ok=True)
        if not self.run_compiler("-o", str(program), *objects, "-Lbuild", "-lsooth", f"-Wl,-rpath,{self.build}", *libraries, "-lz", "-lm",
                                 "-pthread"):
            raise SystemExit(f"mutate.py: {program} does not link")

    def compile(self, path):
        extra = ["-O3"] if path.startswith("src/predict/") or path == "src/learn/train.c" else []
        extra += ["-DSOOTH_CODE=1u"] * (path == "src/learn/checkpoint.c")
        return self.run_compiler(*self.compiler[1:], *extra, "-c", "-o", "build/obj/" + path[:-2] + ".o", path)

    def relink(self, path):
        if is_program(path):
            self.link(self.build / "sooth", self.program, self.program_libraries)
        else:
            self.link_library()

    def suites(self):
        return suites_of(self.top, self.build)

    def run_suite(self, command, timeout_s):
        """Does it pass? Stops at the first failing test."""
        env = environment(self.top, self.build)

        def limit():
            # Processor time: on a busy machine a suite may take long although nothing is wrong.
            resource.setrlimit(resource.RLIMIT_CPU, (timeout_s, timeout_s))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
            resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_LIMIT, FILE_LIMIT))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        suite = subprocess.Popen(command, cwd=self.top, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL, start_new_session=True, preexec_fn=limit)
        late = threading.Timer(PATIENCE * timeout_s, os.killpg, (suite.pid, signal.SIGKILL))
        late.start()
        try:
            for line in suite.stdout:
                if line.startswith(b"not ok"):
                    return False
            return suite.wait() == 0
        finally:
            late.cancel()
            try:
                os.killpg(suite.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            suite.wait()


class Runner:
    def __init__(self, options, results):
        self.options, self.results = options, results
        self.lock = threading.Lock()
        self.seconds = {}
        self.noticed_by = collections.Counter((r["path"].split("/")[1], r["suite"]) for r in results.values() if r.get("suite"))
        self.reach = Reach(pathlib.Path(options.reach)) if options.reach else None

    def time_suites(self, tree):
        """Time of each suite, and a check that all pass before any change."""
        kept = self.results.get("suites", {}).get("seconds")
        if kept:
            self.seconds = {name: seconds for name, seconds in kept.items() if name in tree.suites() and name not in self.options.without.split(",")}
            return
        kept = {}
        for name, command in tree.suites().items():
            if name in self.options.without.split(","):
                continue
            began = time.monotonic()
            if tree.run_suite(command, 900):
                kept[name] = time.monotonic() - began
            else:
                print(f"# {name} fails without a change: left out", flush=True)
        self.seconds = kept
        self.write({"key": "suites", "path": "", "seconds": kept})

    def write(self, row):
        if self.options.results:
            with open(self.options.results, "a") as file:
                file.write(json.dumps(row) + "\n")

    def order(self, change):
        """Names of the suites worth running; None: no suite reaches the line."""
        path = change.path
        room, *inner = path.split("/")[1:]
        stem = re.split(r"[_.]", inner[-1])[0]
        reader = inner[0] if room == "front" and inner[0] not in ("common", inner[-1]) else None

        def is_other(name):
            """Is the suite about models of another reader?"""
            kind, _, of = name.partition("/")
            return reader and kind == "formats" and reader not in READERS.get(of, [of])

        def worth(name):
            is_likely = stem in name or (room in name and len(room) > 3) or (name.startswith("formats/") and reader and not is_other(name))
            return (self.noticed_by[room, name] + 3 * bool(is_likely) + 0.2) / (self.seconds[name] + 0.2)
        names = [name for name in self.seconds if not is_other(name)]
        if self.reach:
            names = [name for name in names if self.reach.reaches(name, change)]
            if COUNTED_ELSEWHERE.issuperset(names):
                return None
        return sorted(names, key=worth, reverse=True)

    def test(self, tree, change):
        """None if it does not compile, else the row of results."""
        began = time.monotonic()
        row = {"key": change.key(), "path": change.path, "line": change.line, "change": change.said, "code": change.code}
        order = self.order(change)
        if order is None:
            return dict(row, noticed=False, reached=False, seconds=0)
        change.apply(tree.top)
        try:
            if not tree.compile(change.path):
                return None
            tree.relink(change.path)
            suites = tree.suites()
            for name in order:
                if not tree.run_suite(suites[name], 10 + int(5 * self.seconds[name])):
                    self.noticed_by[change.path.split("/")[1], name] += 1
                    return dict(row, noticed=True, suite=name, seconds=round(time.monotonic() - began, 1))
            return dict(row, noticed=False, seconds=round(time.monotonic() - began, 1))
        finally:
            shutil.copy2(TOP / change.path, tree.top / change.path)
            tree.compile(change.path)
            tree.relink(change.path)  # relinks now, because the next change may relink only the other one: library or program

    def work(self, tree, changes, done):
        while True:
            with self.lock:
                if len(done) >= self.options.count:
                    return
                change = next(changes, None)
                if change is None:
                    return
                if change.key() in self.results:
                    if self.results[change.key()].get("compiles", True):
                        done.append(self.results[change.key()])
                    continue
            row = self.test(tree, change)
            with self.lock:
                self.write(row or {"key": change.key(), "path": change.path, "compiles": False})
                if row is None or len(done) >= self.options.count:
                    continue
                done.append(row)
                how = f"noticed by {row['suite']}" if row["noticed"] else "SURVIVED" if row.get("reached", True) else "SURVIVED, not reached"
                print(f"{len(done)}: {row['path']}:{row['line']}: {row['change']}: {how} ({row['seconds']} s)\n    {row['code']}", flush=True)


def main():
    global TOP
    options = argparse.ArgumentParser()
    options.add_argument("--count", type=int, default=40)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--jobs", type=int, default=1)
    options.add_argument("--room", default="")
    options.add_argument("--results")
    options.add_argument("--reach")
    options.add_argument("--again", action="store_true")
    options.add_argument("--without", default="")
    options.add_argument("--directory")
    options = options.parse_args()
    results = {}
    if options.results and os.path.exists(options.results):
        with open(options.results) as file:
            results = {row["key"]: row for row in map(json.loads, file)}
    if options.again:
        results = {key: row for key, row in results.items() if row.get("noticed", True) or row.get("equivalent")}
    runner = Runner(options, results)
    directory = pathlib.Path(tempfile.mkdtemp(prefix="sooth-mutate-", dir=options.directory))
    try:
        TOP = directory / "sources"
        copy_sources(TOP)
        trees = []
        for job in range(options.jobs):
            (directory / f"job{job}").mkdir()
            trees.append(Tree(directory / f"job{job}" / "tree"))
        runner.time_suites(trees[0])
        print(f"# {len(runner.seconds)} suites, {sum(runner.seconds.values()):.0f} s in all", flush=True)
        changes, done, broken = draw(random.Random(options.seed), options.room), [], queue.Queue()

        def job(tree):
            try:
                runner.work(tree, changes, done)
            except BaseException as error:
                broken.put(error)
        threads = [threading.Thread(target=job, args=(tree,)) for tree in trees]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if not broken.empty():
            raise broken.get()
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    noticed = sum(row["noticed"] for row in done)
    print("\nnot noticed:")
    for row in sorted((r for r in done if not r["noticed"]), key=lambda r: (r["path"], r["line"])):
        print(f"  {row['path']}:{row['line']}: {row['change']}" + ", not reached" * (not row.get("reached", True)) + f"\n      {row['code']}")
    print(f"{noticed} of {len(done)} changes noticed ({100 * noticed / max(len(done), 1):.0f} %)")


if __name__ == "__main__":
    sys.exit(main())
