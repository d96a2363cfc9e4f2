"""Shared by the benchmarks: running programs, and the table of results, printed and written into doc/speed.md."""
import os
import pathlib
import re
import subprocess

TOP = pathlib.Path(__file__).resolve().parent.parent
MODELS = TOP.parent / "shared/models"
PAGE = TOP / "doc/speed.md"
BEGIN, END = "<!-- table: make bench -->", "<!-- end of table -->"


def output(*command, **how):
    """The program's output as words; None if it fails."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **how)
    return done.stdout.split() if done.returncode == 0 else None


def microseconds(us):
    return f"{us:,.0f} µs" if us < 10000 else f"{us / 1000:,.1f} ms" if us < 1e6 else f"{us / 1e6:,.2f} s"


def mib(kib):
    return f"{kib / 1024:,.1f} MiB" if kib < 102400 else f"{kib / 1024:,.0f} MiB"


class Table:
    """Rows (what, Sooth, compared with, target). A benchmark that cannot run gives the reason and leaves its row in the
    page unchanged."""

    def __init__(self):
        self.rows, self.skipped = [], []

    def heading(self, text):
        print(text, flush=True)

    def row(self, what, sooth, compared="", target=""):
        self.rows.append((what, sooth, compared, target))
        print(f"  {what:66} {sooth:34} {compared}{'   target ' + target if target else ''}", flush=True)

    def skip(self, what, why):
        self.skipped.append(f"{what}: {why}")
        print(f"  {what}: skipped, {why}", flush=True)

    def text(self):
        lines = ["| what | Sooth | compared with | target |", "| --- | --- | --- | --- |"]
        lines += ["| " + " | ".join(field.replace("|", "\\|") for field in row) + " |" for row in self.rows]
        text = f"Measured on {len(os.sched_getaffinity(0))} cores of a {processor()}.\n\n" + "\n".join(lines) + "\n"
        if self.skipped:
            text += "\nNot measured there: " + "; ".join(self.skipped) + ".\n"
        return text

    def write(self):
        page = PAGE.read_text()
        before, rest = page.split(BEGIN)
        after = rest.split(END)[1]
        PAGE.write_text(f"{before}{BEGIN}\n{self.text()}{END}{after}")
        print(f"written into {PAGE.relative_to(TOP)}")


def processor():
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return re.sub(r"\s+", " ", found.group(1)) if found else os.uname().machine
