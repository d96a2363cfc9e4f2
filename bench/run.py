#!/usr/bin/env python3
"""`make bench`: speed and memory as users see them, each figure next to its reference, in one run.

    run.py BUILD [--seconds N] [--only PART,...] [--no-page]

Prints every figure and writes the table of doc/speed.md, unless --only or --no-page is given.
"""
import argparse
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import graphs  # noqa: E402
import predictions  # noqa: E402
import training  # noqa: E402
from table import TOP, Table  # noqa: E402

PARTS = {
    "load": lambda t, o: graphs.bench_load(t, o.build, o.scratch, o.seconds),
    "process": lambda t, o: graphs.bench_process(t, o.build, o.scratch),
    "wire": lambda t, o: graphs.bench_wire(t, o.build, o.scratch, o.seconds),
    "bytes": lambda t, o: graphs.bench_bytes(t, o.build, o.scratch),
    "nodes": lambda t, o: graphs.bench_nodes(t, o.build, o.scratch),
    "predict": lambda t, o: predictions.bench_predict(t, o.build, o.seconds),
    "largest": lambda t, o: predictions.bench_largest(t, o.build, o.seconds),
    "queries": lambda t, o: predictions.bench_queries(t, o.build, o.scratch),
    "serve": lambda t, o: predictions.bench_serve(t, o.build, o.seconds),
    "serve-memory": lambda t, o: predictions.bench_serve_memory(t, o.build, 1_000_000),
    "nas": lambda t, o: predictions.bench_nas(t, o.build),
    "python": lambda t, o: predictions.bench_python(t, o.build, o.seconds),
    "learn": lambda t, o: predictions.bench_learn(t, o.build, o.seconds),
    "learn-memory": lambda t, o: predictions.bench_learn_memory(t, o.build, o.scratch),
    "measure": lambda t, o: training.bench_measure(t, o.build),
}
ONLY_WHEN_NAMED = {"serve-memory"}  # takes minutes


def main():
    options = argparse.ArgumentParser()
    options.add_argument("build", type=pathlib.Path)
    options.add_argument("--seconds", type=float, default=2.0, help="for each figure that is a fastest run")
    options.add_argument("--only", help=", ".join(PARTS))
    options.add_argument("--no-page", action="store_true", help="leave doc/speed.md as it is")
    options = options.parse_args()
    wanted = options.only.split(",") if options.only else [part for part in PARTS if part not in ONLY_WHEN_NAMED]
    for part in wanted:
        if part not in PARTS:
            raise SystemExit(f"run.py: there is no part '{part}'; there are {', '.join(PARTS)}")
    options.build = (TOP / options.build).resolve()
    table = Table()
    with tempfile.TemporaryDirectory(prefix="sooth-bench-") as scratch:
        options.scratch = pathlib.Path(scratch)
        for part in wanted:
            PARTS[part](table, options)
    if not options.only and not options.no_page:
        table.write()


if __name__ == "__main__":
    main()
