"""Controls the page in a browser for tests, and compares it with the program."""
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import tarfile
import zipfile

import browser

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("SOOTH_BUILD") or TOP / "build").resolve()
SHARED = TOP.parent / "shared/models"
FILES = 50


def patience():
    """Factor by which other load slows this process down."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


class Problem(Exception):
    pass


def expect(condition, why):
    if not condition:
        raise Problem(why)


def sooth(*arguments, cwd=None):
    done = subprocess.run([str(BUILD / "sooth"), *arguments], capture_output=True, text=True, timeout=60, cwd=cwd)
    return done.stdout, done.stderr, done.returncode


class Page:
    """The page in a browser of its own."""

    def __init__(self, url, hash="", **options):
        self.url = url
        self.browser = browser.Browser(**options)
        if hash is not None:
            self.open(hash)

    def open(self, hash):
        self.browser.open("about:blank")
        self.browser.open(self.url + hash)
        if hash:
            self.settled()

    def settled(self, seconds=20):
        """Waits for the answer or the error, and for the view."""
        self.browser.until("return document.documentElement.dataset.shown || !document.getElementById('problem').hidden", seconds)

    def change(self, script, *arguments):
        """Runs a script that changes the question, and waits for the answer and its view."""
        return self.browser.run_async("""
            const root = document.documentElement;
            const turn = root.dataset.turn;
            const [script, values] = args;
            new Function('args', script)(values);
            for (let i = 0; i < 4000; i++) {
              await new Promise((resolve) => setTimeout(resolve, 4));
              const now = root.dataset.turn;
              if (now !== turn && (root.dataset.shown?.endsWith(` ${now}`) || !document.getElementById('problem').hidden)) return now;
            }
            throw new Error('no answer');""", script, list(arguments))

    def view(self, name):
        self.browser.run("document.documentElement.dataset.shown = ''; document.getElementById('tab-' + arguments[0]).click()", name)
        self.browser.until("return document.documentElement.dataset.shown")

    def set(self, name, value):
        self.change("const e = document.getElementById(args[0]); e.value = args[1]; e.dispatchEvent(new Event('change', {bubbles: true}));",
                    name, value)

    def cards(self):
        """Numbers of the summary, by title."""
        return self.browser.run("return Object.fromEntries([...document.querySelectorAll('#cards .card')].map("
                                "(c) => [c.querySelector('h2').textContent, Number(c.querySelector('b').dataset.value)]))")

    def problem(self):
        return self.browser.run("const p = document.getElementById('problem'); return p.hidden ? '' : p.textContent")

    def command(self):
        return self.browser.run("return document.getElementById('command').textContent")

    def close(self):
        self.browser.close()


def cards_of(answer):
    """The figures of the program's JSON as the summary shows them."""
    cards = {"latency": answer["latency_ms"]["value"], "throughput": answer["throughput_per_s"], "energy": answer["energy_j"]["value"],
             "power": answer["power_w"]["value"], "GPU utilization": answer["utilization"]["compute"],
             "occupancy": answer["utilization"]["occupancy"], "kernels": len(answer["kernels"]), "CO₂": answer.get("co2_g")}
    if "memory_mib" in answer:
        cards["memory"] = answer["memory_mib"]["value"]
    return {name: value for name, value in cards.items() if value is not None}


# ---- model files ---------------------------------------------------------------------------------------------------


def unpack(directory):
    """The small files of every format and the test models, in one directory. Returns the paths of the models."""
    for archive in sorted((TOP / "tests/models/formats").glob("*.tar.xz")):
        with tarfile.open(archive) as tar:
            tar.extractall(directory)
    with zipfile.ZipFile(TOP / "tests/models/formats/coreml.zip") as archive:
        archive.extractall(directory)
    for folder in ("caffe", "darknet", "mxnet", "ncnn"):
        shutil.copytree(TOP / "tests/models/formats" / folder, directory, dirs_exist_ok=True)
    for path in (BUILD / "tests/models").glob("*.onnx*"):
        shutil.copy(path, directory)


def chosen_files(directory):
    """Predictable files of all formats, equally many per ending if possible, and a few that cannot be predicted."""
    by_ending = {}
    for path in sorted(directory.iterdir()):
        if path.is_file():
            by_ending.setdefault("".join(path.suffixes[-2:]), []).append(path)
    if SHARED.is_dir():
        for folder in sorted(SHARED.iterdir()):
            if folder.name in ("oracle", "timm", "made"):
                continue
            found = sorted(p for p in folder.rglob("*") if p.is_file() and 2000 < p.stat().st_size < 20e6)
            by_ending[f"shared/{folder.name}"] = found[:12]
    picked, refused = [], []
    for turn in range(FILES):
        for paths in by_ending.values():
            if turn >= len(paths) or len(picked) >= FILES - 5 or paths[turn].name in [p.name for p in picked + refused]:
                continue
            (refused if sooth("predict", str(paths[turn]), "--batch", "2", "--format", "csv")[2] else picked).append(paths[turn])
    return picked + refused[:5]


# ---- the page beside the program ------------------------------------------------------------------------------------


def dropped(page, paths, name):
    """Drops files, and waits for the answer or the error of the model `name`."""
    page.browser.run("document.documentElement.dataset.turn = ''")
    page.browser.drop(paths)
    page.browser.until("return document.documentElement.dataset.turn && sooth.question.models[sooth.question.active]?.path === arguments[0]", 20, name)


def as_the_program(page, name, folder, *options):
    """Checks that the page shows the program's answer or error for a model; returns whether there is an answer."""
    text, error, _ = sooth("predict", name, *options, "--kernels", "--memory", "--format", "json", cwd=folder)
    if text:
        expect(page.cards() == cards_of(json.loads(text)), f"{name}: {page.cards()} {page.problem()}")
    else:
        expect(page.problem() == error.replace("sooth: ", "", 1).strip(), f"{name}: {page.problem()!r} is not {error!r}")
    return bool(text)


def memory_of(web):
    """Private bytes of the browser's processes."""
    children = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rsplit(")", 1)[1].split()
            children.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    total, waiting = 0, [web.driver.pid]
    while waiting:
        pid = waiting.pop()
        waiting += children.get(pid, [])
        with contextlib.suppress(OSError):
            for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith(("Private_Clean", "Private_Dirty")):
                    total += int(line.split()[1]) * 1024
    return total


class Context:
    def __init__(self, url, scratch):
        self.url, self.pages, self.said = url, [], []
        self.scratch = scratch / "scratch"
        self.models = scratch / "models"
        self.scratch.mkdir()
        self.models.mkdir()

    def page(self, hash, **options):
        self.pages.append(Page(self.url, hash, **options))
        return self.pages[-1]

    def say(self, text):
        self.said.append(text)

    def end(self):
        """Closes the pages; returns their console output."""
        console = []
        for page in self.pages:
            with contextlib.suppress(browser.Failed):
                console += page.browser.console()
            page.close()
        self.pages = []
        return console
