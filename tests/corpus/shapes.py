#!/usr/bin/env python3
"""Every ONNX file of the corpus is read or rightly refused, and its shapes and types are those that ran.

The reference is what ONNX Runtime executed (`ort`) and the stored test data. A tensor is
    exact     rank, every dimension and the element type are known and equal
    unknown   something is unknown, and everything known agrees
    data      unknown, after a NonZero, NonMaxSuppression, Unique or Compress: it depends on data
    wrong     something known differs
Explained wrong answers are in explained.txt. Passes are off, so that every tensor has its name in the file.

    shapes.py [PART OF A FILE'S NAME]        prints every difference of those files
"""
import collections
import fnmatch
import sys

import corpus

# Malformed on purpose: no protobuf reader can read these.
MUST_REFUSE = "unsupported__duplicate_onnx_fields.onnx unsupported__incorrect_onnx_field.onnx unsupported__unknown_wire_type.onnx".split()

FINDERS = {"NonZero", "NonMaxSuppression", "Unique", "Compress"}


def shape_argument(name, dims):
    return ["--shape", f"{name}={','.join(map(str, dims))}"]


def compare(claimed, dtype, shape):
    """('exact' | 'unknown' | 'wrong', what differs)"""
    if claimed is None:
        return "unknown", "absent"
    wrong, unknown = [], []
    if not claimed["dtype"]:
        unknown.append("dtype")
    elif claimed["dtype"] != dtype:
        wrong.append(f"dtype {claimed['dtype']}")
    dims = claimed["shape"]
    if dims is None:
        unknown.append("rank")
    elif len(dims) != len(shape):
        wrong.append(f"shape {dims}")
    elif any(isinstance(d, int) and d != s for d, s in zip(dims, shape)):
        wrong.append(f"shape {dims}")
    elif any(not isinstance(d, int) for d in dims):
        unknown.append(f"shape {dims}")
    if wrong:
        return "wrong", " ".join(wrong)
    return ("unknown", " ".join(unknown)) if unknown else ("exact", "")


def depends_on_data(layers):
    """Tensors after an operator with a data-dependent number of results: their sizes are unknown without running."""
    found = set()
    for layer in layers:
        if layer["op"] in FINDERS or not found.isdisjoint(layer.get("inputs", [])):
            found.update(layer.get("outputs", []))
    return found


def tasks():
    """(file, {input: dims}, {tensor: (dtype, dims)}, [(output index, dtype, dims)], must be read)"""
    for line in corpus.read_lines("models/oracle/onnx_shapes.jsonl.gz"):
        truth = line.get("ort", {})
        fed = {name: dims for name, (_, dims) in line.get("fed", {}).items()}
        outputs = []
        stored = {name: found for name, found in line.get("testdata", {}).items() if found}  # null: not a tensor
        if not fed:
            for index, name in enumerate(line.get("inputs", {})):
                if f"0/input_{index}" in stored:
                    fed[name] = stored[f"0/input_{index}"][1]
        if line.get("fed_real", True):
            for name, (dtype, dims) in stored.items():
                if name.startswith("0/output_"):
                    outputs.append((int(name.rpartition("_")[2]), dtype, dims))
        yield line["file"], fed, truth, outputs, bool(truth)
    for line in corpus.read_lines("models/oracle/torchvision.jsonl.gz"):
        # Dynamic ones ran with sizes other than those in the file's name.
        fed = {"input0": [2, 3, 256, 192]} if "_dyn" in line["file"] else {}
        yield line["file"], fed, line["ort_shapes"] or {}, [], True
    for line in corpus.read_lines("models/oracle/made.jsonl.gz"):
        if line["file"].startswith("onnx/"):
            outputs = [(i, types[0], types[1:]) for i, types in enumerate(line["output_shapes_at_batch_1"] or [])]
            yield "made/" + line["file"], "batch 1", {}, outputs, True


def run(task):
    file, fed, truth, outputs, _ = task
    arguments = ["--values", "--skip", "all"]
    if fed == "batch 1":
        arguments += ["--batch", "1"] if ".dyn." in file else []
    else:
        for name, dims in fed.items():
            arguments += shape_argument(name, dims)
    seen = corpus.Inspection(corpus.MODELS / file, *arguments)
    if seen.json is None:
        return seen.code, seen.message, [], []
    values = {}
    for value in seen.json["values"]:
        values.setdefault(value["name"], value)
    producers = {out: layer["op"] for layer in seen.json["layers"] for out in layer.get("outputs", [])}
    data = depends_on_data(seen.json["layers"])
    results = []
    for name, (dtype, dims) in truth.items():
        verdict, what = compare(values.get(name), dtype, dims)
        if verdict == "unknown" and name in data:
            verdict = "data"
        results.append((name, producers.get(name, "?"), verdict, what, dtype, dims))
    named = seen.json["outputs"]
    for index, dtype, dims in outputs:
        if index < len(named) and named[index]["name"] not in truth:
            verdict, what = compare(named[index], dtype, dims)
            results.append((named[index]["name"], producers.get(named[index]["name"], "?"), verdict, what, dtype, dims))
    return seen.code, seen.message, results, seen.json.get("unknown_operators", [])


def main():
    corpus.require("models/oracle/onnx_shapes.jsonl.gz", "models/oracle/torchvision.jsonl.gz", "models/oracle/made.jsonl.gz")
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    work = [task for task in tasks() if only in task[0]]
    report = corpus.Report("shapes" if not only else "shapes-part")
    explained = corpus.read_list("explained.txt")
    used = set()

    verdicts = collections.Counter()
    by_directory = collections.defaultdict(collections.Counter)
    by_operator = collections.defaultdict(collections.Counter)
    unexplained, crashed, wrongly_read, wrongly_refused, refused, partial = [], [], [], [], [], []
    unknown_operators = collections.Counter()
    for (file, _, truth, outputs, must_read), (code, message, results, unknown) in zip(work, corpus.parallel(run, work)):
        name = file.rpartition("/")[2]
        if code not in (0, 3, 4):
            crashed.append(f"{file}: exit code {code}: {message[:200]}")
        elif code == 0 and any(name.endswith(end) for end in MUST_REFUSE):
            wrongly_read.append(file)
        elif code != 0:
            (wrongly_refused if must_read else refused).append(f"{file}: {message[:300]}")
        if code != 0:
            lost = len(truth)
            verdicts["unknown"] += lost
            by_directory[file.split("/")[0]]["unknown"] += lost
        for operator in unknown:
            unknown_operators[operator["op"]] += operator["count"]
        incomplete = False
        for tensor, op, verdict, what, dtype, dims in results:
            if verdict == "wrong":
                for at, (pattern, tensor_pattern, _) in enumerate(explained):
                    if fnmatch.fnmatchcase(file, pattern) and fnmatch.fnmatchcase(tensor, tensor_pattern):
                        verdict = "explained"
                        used.add(at)
                        break
            verdicts[verdict] += 1
            by_directory[file.split("/")[0]][verdict] += 1
            by_operator[op][verdict] += 1
            incomplete |= verdict == "unknown"
            if verdict != "exact":
                line = f"{verdict}\t{file}\t{tensor}\t{op}\t{what}\texpected {dtype} {dims}"
                report.detail(line)
                if verdict == "wrong":
                    unexplained.append(line)
                if only:
                    print(line)
        partial.append(incomplete)

    total = sum(verdicts.values())
    exact = 100 * verdicts["exact"] / max(total, 1)
    report.say(f"{len(work)} files: {len(work) - len(refused) - len(wrongly_refused) - len(crashed)} read, "
               f"{len(refused) + len(wrongly_refused)} refused; {total} tensors: {verdicts['exact']} exact ({exact:.2f} %), "
               f"{verdicts['data']} depend on data, {verdicts['unknown']} unknown, {verdicts['explained']} wrong and explained, "
               f"{verdicts['wrong']} wrong")
    for directory, counts in sorted(by_directory.items()):
        n = sum(counts.values())
        report.say(f"  {directory:12} {n:7} tensors  exact {100 * counts['exact'] / n:6.2f} %  data {counts['data']:5}"
                   f"  unknown {counts['unknown']:5}  explained {counts['explained']:3}  wrong {counts['wrong']:3}")
    worst = sorted(by_operator.items(), key=lambda item: -(item[1]["wrong"] * 1000 + item[1]["unknown"]))
    report.detail("by operator: operator exact data unknown explained wrong")
    for op, counts in worst:
        if sum(counts.values()) > counts["exact"]:
            report.detail(f"  {op:32} {counts['exact']:7} {counts['data']:5} {counts['unknown']:5} {counts['explained']:5} {counts['wrong']:5}")
    if unknown_operators:
        report.detail("unknown operators: " + ", ".join(f"{op} ({n})" for op, n in unknown_operators.most_common()))
    for line in refused:
        report.detail("refused\t" + line)

    report.check(not crashed, "every file is read or refused with exit code 3 or 4", crashed)
    report.check(not wrongly_read, "malformed files are refused", wrongly_read)
    report.check(not wrongly_refused, "every file that ran is read", wrongly_refused)
    report.check(not unexplained, "no wrong answer that is not explained", unexplained)
    if not only:
        knowable = 100 * verdicts["exact"] / max(total - verdicts["data"], 1)
        report.say(f"of the {total - verdicts['data']} tensors whose shapes do not depend on data {knowable:.2f} % are exact")
        for part, counts in sorted(by_directory.items()):
            share = 100 * counts["exact"] / (sum(counts.values()) - counts["data"])
            report.check(share >= 98, f"{part}: at least 98 % of the tensors that do not depend on data are exact", [f"{share:.2f} %"])
        stale = [" ".join(row) for at, row in enumerate(explained) if at not in used]
        report.check(not stale, "every explanation in explained.txt is still needed", stale)
    report.end()


if __name__ == "__main__":
    main()
