#!/usr/bin/env python3
"""Writes the seeds of a fuzz target.

    seeds.py TARGET DIRECTORY

onnx: small ONNX files out of the corpus, uncompressed; those of tests/hostile; and the models of the text tests, which have the
patterns that the recovery passes look for. gpu: the GPU files that ship.
rows: the first lines of measured tables.
"""
import gzip
import hashlib
import pathlib
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
sys.path += [str(TOP / "tests/suites"), str(TOP / "tests/tools")]
import cases  # noqa: E402
import onnxtext  # noqa: E402

MAX_BYTES = 8192
KEEP_COMPRESSED = 5  # a few, for the way through zlib


def gpu_seeds(target):
    for path in (TOP / "data/gpus").glob("*.txt"):
        (target / path.name).write_bytes(path.read_bytes())


def row_seeds(target):
    """The first lines of every measured table, and the tables of the text tests."""
    for path in sorted((TOP.parent / "shared").glob("labels/*.csv.gz")) + \
            sorted((TOP.parent / "shared").glob("measured/operators/*.csv.gz")):
        with gzip.open(path, "rb") as file:
            (target / path.stem).write_bytes(b"".join(file.readline() for _ in range(8)))
    for case in cases.parse(TOP / "tests/cases/eval.test"):
        for kind, name, body, *_ in case.steps:
            if kind == "file":
                content = "\n".join(body).encode()
                (target / hashlib.sha1(content).hexdigest()).write_bytes(content)


def onnx_seeds(target):
    sources = sorted((TOP / "tests/hostile").glob("*"))
    for directory in ("onnx", "made/onnx"):
        sources += sorted((TOP.parent / "shared/models" / directory).rglob("*.onnx*"))
    compressed = 0
    for path in sources:
        content = path.read_bytes()
        if path.suffix == ".gz":
            if compressed < KEEP_COMPRESSED and len(content) < MAX_BYTES // 4:
                compressed += 1
                (target / hashlib.sha1(content).hexdigest()).write_bytes(content)
            content = gzip.decompress(content)
        if len(content) <= MAX_BYTES:
            (target / hashlib.sha1(content).hexdigest()).write_bytes(content)
    for path in sorted((TOP / "tests/cases").glob("*.test")):
        for number, case in enumerate(cases.parse(path)):
            for kind, name, body, *_ in case.steps:
                if kind == "model" and name.endswith(".onnx"):
                    onnxtext.write("\n".join(body), str(target / f"{path.stem}-{number}-{name}"))


def main():
    target = pathlib.Path(sys.argv[2])
    target.mkdir(parents=True, exist_ok=True)
    {"gpu": gpu_seeds, "onnx": onnx_seeds, "rows": row_seeds}[sys.argv[1]](target)
    print(f"{len(list(target.iterdir()))} seeds in {target}")


if __name__ == "__main__":
    main()
