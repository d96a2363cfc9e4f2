"""Shared by the comparisons with the corpus: its place, running sooth over many files, reporting results."""
import concurrent.futures
import gzip
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
SHARED = pathlib.Path(os.environ.get("SOOTH_SHARED", TOP.parent / "shared"))
MODELS = SHARED / "models"
BUILD = pathlib.Path(os.environ.get("SOOTH_BUILD", TOP / "build"))
PROGRAM = str(BUILD / "sooth")
SANITIZED = "fsanitize" in (BUILD / "flags").read_text()  # sanitizer builds take many times as long
TIMEOUT_S = 60


def require(*paths):
    """Ends the script as one skipped test if the corpus is missing."""
    for path in paths:
        if not (SHARED / path).exists():
            print(f"1..1\nok 1 - {pathlib.Path(sys.argv[0]).stem} # SKIP ../shared/{path} is not there")
            sys.exit(0)


def read_texts(path):
    with gzip.open(SHARED / path, "rt") as file:
        yield from file


def read_lines(path):
    for line in read_texts(path):
        yield json.loads(line)


class Inspection:
    """One run of `sooth inspect --format json`: .code, .json (None if refused), .message."""

    def __init__(self, path, *arguments):
        try:
            done = subprocess.run([PROGRAM, "inspect", str(path), "--format", "json", *arguments], capture_output=True,
                                  timeout=TIMEOUT_S)
            self.code, self.message = done.returncode, done.stderr.decode("utf-8", "replace").strip()
        except subprocess.TimeoutExpired:
            self.code, self.message = "timeout", f"more than {TIMEOUT_S} s"
        self.json = None
        if self.code == 0:
            self.json = json.loads(done.stdout.decode("utf-8", "replace"))


def parallel(function, items):
    """Results in the order of the items, computed on all cores."""
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(function, items, chunksize=8)


def same_figures(old, new):
    """True for equal texts, up to one unit in the last digit of a number, because other vector widths round
    differently."""
    number = re.compile(r"-?\d+(?:\.\d+)?")
    if number.sub("#", old) != number.sub("#", new):
        return False
    return all(abs(float(a) - float(b)) <= 1.01 * 10 ** -len(a.partition(".")[2])
               for a, b in zip(number.findall(old), number.findall(new)))


class Report:
    """Writes TAP to standard output, with lines for people ("#:") that tests/run.py shows, and details to a file under
    build/."""

    def __init__(self, name):
        self.name = name
        self.count = 0
        self.failures = 0
        self.said = []
        directory = BUILD / "corpus"
        directory.mkdir(parents=True, exist_ok=True)
        self.path = directory / f"{name}.txt"
        self.file = open(self.path, "w")

    def say(self, text=""):
        self.said.append(text.rstrip())
        print(f"#: {text}")
        print(text, file=self.file)

    def detail(self, text):
        print(text, file=self.file)

    def check(self, good, what, why=()):
        self.count += 1
        self.failures += not good
        print(f"{'' if good else 'not '}ok {self.count} - {what}")
        if not good:
            for line in list(why)[:40]:
                print(f"#   {line}")
            if len(why) > 40:
                print(f"#   … {len(why) - 40} more in {self.path}")

    def page(self, page, keep=lambda line: True):
        """The block of this suite in a document has the lines said so far, or those that `keep` chooses; --write writes it."""
        path, lines = TOP / page, [line for line in self.said if keep(line)]
        begin, end = f"<!-- figures of tests/corpus/{self.name}.py -->\n```text\n", "\n```\n<!-- /figures -->"
        before, _, rest = path.read_text().partition(begin)
        block, _, after = rest.partition(end)
        if "--write" in sys.argv:
            path.write_text(before + begin + "\n".join(lines) + end + after)
        elif not set(sys.argv[1:]) & {"--all"}:
            wrong = [f"page: {old}\n#   now:  {new}" for old, new in itertools.zip_longest(block.splitlines(), lines, fillvalue="")
                     if not same_figures(old, new)]
            self.check(not wrong, f"{page} has these figures (else: tests/corpus/{self.name}.py --write)", wrong)

    def end(self):
        print(f"1..{self.count}")
        self.file.close()
        sys.exit(1 if self.failures else 0)


def files_of(directories):
    for directory in directories:
        yield from sorted(path for path in (MODELS / directory).rglob("*") if path.is_file())


def read_one(path):
    seen = Inspection(path)
    return seen.code, seen.message


def check_read(report, name, paths, not_meant, least_percent):
    """The share of the files that is read. `not_meant` lists endings of names of files without a network of the format,
    with the reason."""
    refused, crashed, excused = [], [], 0
    for path, (code, message) in zip(paths, parallel(read_one, paths)):
        if code == 0:
            continue
        reason = next((why for part, why in not_meant.items() if path.name.endswith(part)), None)
        excused += reason is not None
        line = f"{path.relative_to(MODELS)}: {reason or message[-200:]}"
        report.detail("refused\t" + line)
        if code not in (3, 4):
            crashed.append(f"{line}: exit code {code}")
        elif not reason:
            refused.append(line)
    meant = len(paths) - excused
    report.say(f"{name}: {meant - len(refused) - len(crashed)} of {meant} files read; {excused} hold no network of the format")
    report.check(not crashed, f"{name}: read or refused with exit code 3 or 4", crashed)
    report.check(100 * len(refused) <= (100 - least_percent) * meant, f"{name}: at least {least_percent} % of the files are read",
                 refused)


def read_list(name):
    """Committed lists of explained differences: TAB-separated fields; '#' starts a comment. [[field…]…]"""
    rows = []
    for line in (TOP / "tests/corpus" / name).read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            rows.append([field.strip() for field in line.split("\t")])
    return rows


# ---- formats whose files declare the shapes of their tensors ------------------------------------------------------------

def files_under(directories, endings_left_out=()):
    """Every corpus file in those directories, except side files."""
    return [path for directory in directories for path in sorted((MODELS / directory).rglob("*"))
            if path.is_file() and not path.name.endswith(tuple(endings_left_out))]


def inspect_raw(task):
    """(code, message, JSON without values) of a file without recovery passes."""
    path, arguments = task
    seen = Inspection(path, "--skip", "all", *arguments)
    return seen.code, seen.message, seen.json and {key: seen.json[key] for key in ("totals", "operators", "unknown_operators")}


def inspect_totals(task):
    path, arguments = task
    seen = Inspection(path, *arguments)
    return seen.json["totals"] if seen.json else None


class Format:
    """The checks shared by Paddle, OpenVINO and CoreML."""

    def __init__(self, report, name, paths, arguments=lambda path: (), only=""):
        self.report, self.name, self.only = report, name, only
        self.paths = [path for path in paths if only in str(path)]
        self.arguments = arguments
        tasks = [(path, arguments(path)) for path in self.paths]
        self.seen = dict(zip(self.paths, parallel(inspect_raw, tasks)))

    def relative(self, path):
        return str(path.relative_to(MODELS))

    def check_read(self, share, explained=None):
        """`explained`: part of a name → reason for the refusal."""
        refused, crashed, excused = [], [], 0
        for path, (code, message, _) in self.seen.items():
            if code == 0:
                continue
            reason = next((why for part, why in (explained or {}).items() if part in str(path)), None)
            line = f"{self.relative(path)}: {reason or message[-200:]}"
            self.report.detail("refused\t" + line)
            if code not in (3, 4):
                crashed.append(f"{line}: exit code {code}")
            elif reason:
                excused += 1
            else:
                refused.append(line)
        count = len(self.paths)
        self.report.say(f"{self.name}: {count - len(refused) - len(crashed) - excused} of {count} files read; {excused} refusals explained")
        self.report.check(not crashed, f"{self.name}: read or refused with exit code 3 or 4", crashed)
        self.report.check(not refused, f"{self.name}: every refusal is explained", refused)
        self.report.check(len(refused) + excused <= (1 - share) * count, f"{self.name}: at least {share:.0%} of the files are read", refused)

    def check_declared(self, share):
        """Inferred shapes against the files' declarations."""
        tool = BUILD / "tests/tools/declared"
        done = subprocess.run([str(tool), *map(str, self.paths)], capture_output=True, text=True, timeout=600)
        exact = unknown = wrong = 0
        for line in done.stdout.splitlines():
            fields = line.split("\t")
            if line.startswith("  "):
                self.report.detail(line)
                if self.only:
                    print(line)
            elif len(fields) == 4:
                exact, unknown, wrong = exact + int(fields[1]), unknown + int(fields[2]), wrong + int(fields[3])
        whole = max(exact + unknown + wrong, 1)
        self.report.say(f"{self.name}: {exact} of {whole} shapes that the files declare are computed exactly ({100 * exact / whole:.2f} %), "
                        f"{unknown} are unknown to the rules (the declared ones are used), {wrong} are of another type or shape")
        self.report.check(done.returncode == 0 and exact >= share * whole, f"{self.name}: computed shapes are those declared",
                          done.stderr.splitlines())

    def check_counts(self, same, explained=(), comparable=lambda line: True):
        """`same`: our operator → the format's operators that become one of it each (or two, if listed twice). Compares
        counts with Netron and the exporters, for `comparable` lines."""
        lines = {line["file"]: line for line in read_lines("models/oracle/netron.jsonl.gz")}
        lines.update({"made/" + line["file"]: line for line in read_lines("models/oracle/made.jsonl.gz")})
        truth = {file: line["ops"] for file, line in lines.items() if line.get("ops") and comparable(line)}
        compared, different = 0, []
        for path, (code, _, seen) in self.seen.items():
            theirs = truth.get(self.relative(path))
            if code != 0 or not theirs or any(part in str(path) for part in explained):
                continue
            plain = {}
            for name, count in theirs.items():
                name = name.rpartition(".")[2]
                plain[name] = plain.get(name, 0) + count
            ours = {row["op"]: row["count"] for row in seen["operators"]}
            wrong = [f"{op} {sum(ours.get(o, 0) for o in op.split('+'))} of {sum(plain.get(n, 0) for n in names)}" for op, names in same.items()
                     if sum(ours.get(o, 0) for o in op.split("+")) != sum(plain.get(n, 0) for n in names)]
            compared += 1
            if wrong:
                different.append(f"{self.relative(path)}: {', '.join(wrong)}")
        for line in different:
            self.report.detail("count\t" + line)
        self.report.say(f"{self.name}: operators of {compared - len(different)} of {compared} files counted as the oracle does")
        self.report.check(len(different) <= 0.02 * compared, f"{self.name}: as many operators of each kind as the oracle counts", different)

    def check_totals(self, explained=None, params_of=None):
        """`params_of`: the reference's parameter count, given its line and ours; None: not comparable."""
        lines = {"made/" + line["file"]: line for line in read_lines("models/oracle/made.jsonl.gz") if line.get("macs")}
        paths = [path for path in self.paths if self.relative(path) in lines]
        totals = dict(zip(paths, parallel(inspect_totals, [(path, self.arguments(path)) for path in paths])))
        same_macs = same_params = with_params = 0
        different, excused = [], []
        for path, ours in totals.items():
            line = lines[self.relative(path)]
            ours = ours or {"macs": None, "params": None}
            params = params_of(path, line) if params_of else line["params"]
            macs_same, params_same = ours["macs"] == line["macs"], params is None or ours["params"] == params
            same_macs += macs_same
            with_params += params is not None
            same_params += params is not None and params_same
            if not macs_same or not params_same:
                text = f"{self.relative(path)}: MACs {ours['macs']} of {line['macs']}, parameters {ours['params']} of {params}"
                reason = next((why for part, why in (explained or {}).items() if part in str(path)), None)
                self.report.detail(f"{text}: {reason}" if reason else text)
                (excused if reason else different).append(text)
        self.report.say(f"{self.name}: MACs of {same_macs} of {len(paths)} files exact, parameters of {same_params} of {with_params}; "
                        f"{len(excused)} differences explained")
        self.report.check(len(different) <= 0.02 * len(paths), f"{self.name}: MACs and parameters are those of the framework", different)
