#!/usr/bin/env python3
"""Language models without a graph file: configurations, GGUF, safetensors: the share that is read, parameters and
multiply-adds against Transformers' counts, tensors of GGUF files against the graph.

    language.py [PART OF A FILE'S NAME]        prints every difference of those files
"""
import json
import subprocess
import sys

import corpus

# Parts that are not in the graph, or differ from the class.
REFUSED = {
    "sam_vit_b": "windows and relative positions: export it",
}
EXPLAINED = {
    "clip_vit_b32": "the scale of the logits is one number, which does not count as a parameter",
    "dinov2_base": "the token of masked patches is not read in inference",
    "wav2vec2_base": "the frame that stands for masked ones is not read in inference",
}
ALLOWED = 0.005


def arguments(line):
    return ("--batch", "1", "--seq", "512") if line.get("macs_at") in ("prefill_512", "encode_512_decode_1") else ("--batch", "1")


def inspect(task):
    path, given = task
    return corpus.Inspection(path, *given)


def check_configs(report, only):
    lines = {"made/" + line["file"]: line for line in corpus.read_lines("models/oracle/made.jsonl.gz") if line["format"] == "hf-config"}
    paths = [p for p in corpus.files_under(("hf-config", "made/hf-config")) if only in str(p)]
    names = [str(p.relative_to(corpus.MODELS)) for p in paths]
    tasks = []
    for path, name in zip(paths, names):
        line = lines.get(name)
        tasks.append((path, arguments(line or {"macs_at": "prefill_512"})))
    read, refused, unexplained, crashed, macs, params, wrong, guessed = 0, [], [], [], [0, 0], [0, 0], [], []
    decode = []
    for (path, _), name, seen in zip(tasks, names, corpus.parallel(inspect, tasks)):
        line = lines.get(name)
        if seen.json is None:
            reason = next((why for part, why in REFUSED.items() if part in name), None)
            refused.append(f"{name}: {reason or seen.message[-160:]}")
            if not reason:
                unexplained.append(refused[-1])
            if seen.code not in (3, 4):
                crashed.append(f"{name}: exit code {seen.code}")
            continue
        read += 1
        guessed += [f"{name}: {note}" for note in seen.json.get("notes", []) if "is not known" in note]
        if not line:
            continue
        totals = seen.json["totals"]
        excused = next((why for part, why in EXPLAINED.items() if part in name), None)
        params[1] += 1
        if totals["params"] == line["params"]:
            params[0] += 1
        elif not excused:
            wrong.append(f"{name}: {totals['params']} of {line['params']} parameters")
        if line.get("macs"):
            macs[1] += 1
            if abs(totals["macs"] / line["macs"] - 1) <= ALLOWED:
                macs[0] += 1
            else:
                wrong.append(f"{name}: {totals['macs']} of {line['macs']} MACs")
        if line.get("decode_1_at_512"):
            decode.append((path, name, line["decode_1_at_512"]["flops"] / 2))
    steps = 0
    for (_, name, truth), seen in zip(decode, corpus.parallel(inspect, [(path, ("--batch", "1", "--seq", "1", "--past", "512")) for path, _, _ in decode])):
        found = seen.json["totals"]["macs"] if seen.json else 0
        if abs(found / truth - 1) <= ALLOWED:
            steps += 1
        else:
            wrong.append(f"{name}: a step of decoding has {found} of {truth:.0f} MACs")
    for text in refused + wrong + guessed:
        report.detail(text)
        if only:
            print(text)
    public = [n for n in names if not n.startswith("made/")]
    bad = [r for r in refused if not r.startswith("made/")]
    report.say(f"configurations: {len(public) - len(bad)} of {len(public)} of public repositories read, {read} of {len(names)} with those of every class; "
               f"{len(guessed)} of types that are not known, built like Llama")
    report.say(f"configurations: parameters of {params[0]} of {params[1]} exact; MACs of a prefill of 512 tokens of {macs[0]} of {macs[1]} within "
               f"{ALLOWED:.1%}, of a step of decoding of {steps} of {len(decode)}")
    report.check(not crashed, "configurations: read or refused with exit code 3 or 4", crashed)
    report.check(not unexplained, "configurations: every refusal is explained", unexplained)
    report.check(len(bad) <= 0.02 * len(public), "configurations: at least 98 % are read", bad)
    report.check(len(refused) <= 0.02 * len(names) or bool(only), "configurations: at least 98 % are read, with those of every class", refused)
    report.check(len(wrong) <= 0.02 * (params[1] + macs[1] + len(decode)), "configurations: parameters and MACs are those of Transformers", wrong)


def check_gguf(report, only):
    lines = {"made/" + line["file"]: line for line in corpus.read_lines("models/oracle/made.jsonl.gz") if line["format"] == "gguf"}
    paths = [p for p in corpus.files_under(("gguf", "made/gguf")) if only in str(p)]
    read, refused, wrong, same, noted = 0, [], [], 0, 0
    given = [(path, ("--seq", "16", "--batch", "1") if "made" in str(path) else ()) for path in paths]
    for path, seen in zip(paths, corpus.parallel(inspect, given)):
        name = str(path.relative_to(corpus.MODELS))
        if seen.json is None:
            refused.append(f"{name}: {seen.message[-160:]}")
            continue
        read += 1
        line = lines.get(name)
        if not line:
            continue
        totals = seen.json["totals"]
        noted += any("not in the graph" in note for note in seen.json.get("notes", []))
        if totals["params"] == line["params"] and totals["weight_bytes"] >= line["data_bytes"]:
            same += 1
        else:
            wrong.append(f"{name}: {totals['params']} of {line['params']} parameters, {totals['weight_bytes']} of {line['data_bytes']} bytes")
    for text in refused + wrong:
        report.detail(text)
        if only:
            print(text)
    report.say(f"gguf: {read} of {len(paths)} files read; parameters and bytes of {same} of {len(lines)} are those of the tensors; "
               f"{len(lines) - noted} of {len(lines)} graphs have each tensor of the file and no other")
    report.check(not refused, "gguf: all files are read", refused)
    report.check(not wrong or bool(only), "gguf: parameters and bytes are those of the tensors", wrong)
    report.check(noted == 0 or bool(only), "gguf: every tensor is in the graph", [str(noted)])
    check_gguf_memory(report, [p for p in paths if "made" in str(p)], lines)


def check_gguf_memory(report, paths, lines):
    """In an engine the weights have their size in the file; zeros for missing biases add less than a thousandth."""
    wrong = []
    for path in paths:
        line = lines[str(path.relative_to(corpus.MODELS))]
        done = subprocess.run([corpus.PROGRAM, "predict", str(path), "--seq", "4", "--batch", "1", "--gpu", "h100", "--runtime", "engine", "--precision", "fp16",
                               "--format", "json"], capture_output=True, text=True, timeout=corpus.TIMEOUT_S)
        weights = json.loads(done.stdout)["memory_mib"]["parts"]["weights"] * 2**20 if done.returncode == 0 else 0
        if not 0.999 < weights / line["data_bytes"] < 1.002 and abs(weights - line["data_bytes"]) > 1e5:
            wrong.append(f"{path.name}: {weights:.0f} of {line['data_bytes']} bytes")
    report.check(not wrong, f"gguf: in an engine the weights of {len(paths)} files take what they take there", wrong)
    packed = [path for path in paths if ".Q4" in path.name][:1]
    notes = [subprocess.run([corpus.PROGRAM, "predict", str(path), "--seq", "4", "--runtime", runtime], capture_output=True, text=True).stdout
             for path in packed for runtime in ("eager", "engine")]
    report.check(["weights are packed" in text for text in notes] == [True, False], "gguf: PyTorch's runtimes tell that they unpack, an engine does not", notes)


def check_safetensors(report, only):
    counts = {line["file"]: line.get("const_elements") for line in corpus.read_lines("models/oracle/netron.jsonl.gz")
              if line["file"].startswith("safetensors/")}
    paths = [p for p in corpus.files_under(("safetensors",)) if only in str(p)]
    read, refused, wrong = 0, [], []
    for path, seen in zip(paths, corpus.parallel(inspect, [(path, ()) for path in paths])):
        name = str(path.relative_to(corpus.MODELS))
        if seen.json is None:
            refused.append(f"{name}: {seen.message[-160:]}")
            continue
        read += 1
        elements = 0
        for layer in seen.json["layers"]:
            product = 1
            for dim in layer["shape"] or []:
                product *= dim
            elements += product
        if counts.get(name) and elements != counts[name]:
            wrong.append(f"{name}: {elements} of {counts[name]} elements")
    for text in refused + wrong:
        report.detail(text)
    report.say(f"safetensors: {read} of {len(paths)} files read; elements of {len(paths) - len(wrong) - len(refused)} as Netron counts them")
    report.check(len(refused) <= 0.1 * len(paths), "safetensors: at least 90 % are read", refused)
    report.check(not wrong, "safetensors: elements are those of the header", wrong)


def main():
    corpus.require("models/oracle/made.jsonl.gz", "models/oracle/netron.jsonl.gz", "models/hf-config", "models/gguf", "models/safetensors")
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    report = corpus.Report("language" if not only else "language-part")
    check_configs(report, only)
    check_gguf(report, only)
    check_safetensors(report, only)
    report.end()


if __name__ == "__main__":
    main()
