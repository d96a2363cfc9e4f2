#!/usr/bin/env python3
"""XLA programs: StableHLO as text and bytecode, jax.export, HLO as text and protobuf.

The share of the files that is read; inferred types of inner values against the files' own; parameters and multiply-adds
against JAX's own.

    hlo.py [PART OF A FILE'S NAME]        prints every difference of those files
"""
import subprocess
import sys

import corpus

FORMATS = {"stablehlo": ("stablehlo", "made/stablehlo"), "jax-export": ("made/jax-export",), "hlo": ("made/hlo",)}


def check_stated(report, only):
    paths = [str(path) for name in FORMATS for path in corpus.files_of(FORMATS[name]) if only in str(path)]
    done = subprocess.run([str(corpus.BUILD / "tests/tools/declared"), *paths], capture_output=True, text=True, timeout=600)
    exact = unknown = wrong = 0
    for line in done.stdout.splitlines():
        fields = line.split("\t")
        if line.startswith("  "):
            report.detail(line)
            if only:
                print(line)
        elif len(fields) == 4:
            exact, unknown, wrong = exact + int(fields[1]), unknown + int(fields[2]), wrong + int(fields[3])
    share = 100 * exact / max(exact + unknown + wrong, 1)
    report.say(f"stated types: {exact} of {exact + unknown + wrong} computed exactly ({share:.2f} %), {unknown} unknown to the rules "
               f"(the stated ones are used), {wrong} others")
    report.check(done.returncode == 0 and share >= 98, "at least 98 % of the stated types are computed", done.stderr.splitlines())
    report.check(1000 * wrong <= exact, "rules and stated types agree", [f"{wrong} of {exact}"])


def totals_of(file):
    seen = corpus.Inspection(corpus.MODELS / "made" / file, "--batch", "1")
    return (seen.json["totals"], "") if seen.json else (None, seen.message)


def check_made(report, only):
    lines = [line for line in corpus.read_lines("models/oracle/made.jsonl.gz")
             if line["file"].split("/")[0] in FORMATS and only in line["file"]]
    same_macs, same_params, different = 0, 0, []
    for line, (totals, message) in zip(lines, corpus.parallel(totals_of, [line["file"] for line in lines])):
        if totals is None:
            different.append(f"{line['file']}: {message}")
            continue
        # Products with the zeros that a transposed convolution inserts do not count. XLA drops unread parts of
        # gradients.
        macs = line["macs"] - line.get("macs_by_op", {}).get("of_which_multiplied_by_inserted_zeros", 0)
        slack = 0.001 if ".grad." in line["file"] else 0
        same_macs += abs(totals["macs"] - macs) <= slack * macs
        same_params += abs(totals["params"] - line["params"]) <= slack * line["params"]
        if totals["macs"] != macs or totals["params"] != line["params"]:
            different.append(f"{line['file']}: MACs {totals['macs']} of {macs}, parameters {totals['params']} of {line['params']}")
    for line in different:
        report.detail(line)
        if only:
            print(line)
    n = len(lines)
    report.say(f"made with JAX: MACs of {same_macs} of {n} files exact, parameters of {same_params}")
    report.check(same_macs >= 0.98 * n, "MACs are those of JAX", different)
    report.check(same_params >= 0.98 * n, "parameters are those of JAX", different)


def main():
    corpus.require("models/oracle/made.jsonl.gz", "models/stablehlo", "models/made/stablehlo")
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    report = corpus.Report("hlo" if not only else "hlo-part")
    for name, directories in FORMATS.items():
        corpus.check_read(report, name, [path for path in corpus.files_of(directories) if only in str(path)], {}, 98)
    check_stated(report, only)
    check_made(report, only)
    report.end()


if __name__ == "__main__":
    main()
