#!/usr/bin/env python3
"""Writes the seeds of a fuzz target.

    seeds.py TARGET DIRECTORY

onnx: small uncompressed ONNX files of the corpus, those of tests/hostile, and the models of the text tests, which have
the patterns of the recovery passes. gpu: the shipped GPU files. mig: the table of slices, GPU by GPU. rows: the first
lines of measured tables. host, plan, question, set, journal: files of hosts, plans of sweeps and data sets, requests to
`serve`, graphs of data sets, lines of a survey's journal. answer, command: whole requests, and commands of the page, with models.
dataset, gnn: whole data sets, and headers of graph networks. pt2, torchscript: programs of the corpus and the text tests. tflite, tensorflow, keras, tfjs,
darknet, caffe, mxnet, ncnn, paddle, openvino, coreml, hlo, hf, gguf, safetensors: small files of the corpus and the
text tests.

Only a few files between 16 KB and 1 MB are used: small ones run faster and reach the same code. tests/models/formats
provides seeds of every format in a clone without the corpus. For formats with many operators, operators.py writes a
network for each function that maps them.
"""
import gzip
import hashlib
import io
import json
import pathlib
import re
import sqlite3
import struct
import sys
import tempfile
import zipfile
import zlib

TOP = pathlib.Path(__file__).resolve().parent.parent
sys.path += [str(TOP / "tests/suites"), str(TOP / "tests/tools")]
import cases  # noqa: E402
import onnxtext  # noqa: E402
import operators  # noqa: E402
import torchfiles  # noqa: E402

MAX_BYTES = 8192
LARGEST_BYTES = 1 << 20
KEEP_LARGE = 4
KEEP_COMPRESSED = 5  # a few, for the path through zlib Archives and directories of tests/models/formats with files of a target, and the endings of their names.
IN_REPOSITORY = {"hlo": ("hlo", "stablehlo", "jax"), "tensorflow": ("tensorflow", "graphdef", "savedmodel"), "ncnn": ("ncnn", "pnnx"),
                 "hf": ("hf", "huggingface", "language"), "pt2": ("pytorch", "pt2"), "torchscript": ("pytorch", "torchscript")}
PAGE_COMMANDS = ("predict", "inspect", "mig", "survey", "choose", "train-phase", "convert", "gpus", "zoo")
ENDINGS = {"pt2": (".pt2",), "torchscript": (".pt", ".ptl")}


def put(target, content):
    (target / hashlib.sha1(content).hexdigest()).write_bytes(content)


def put_few_large(target, contents):
    """A sample of the larger files, from small to large."""
    fitting = sorted((c for c in contents if 2 * MAX_BYTES < len(c) <= LARGEST_BYTES), key=len)
    for content in fitting[::max(1, len(fitting) // KEEP_LARGE)][:KEEP_LARGE]:
        put(target, content)


def repository_files(kind):
    """Names and contents of the small test models of a format."""
    for path in sorted((TOP / "tests/models/formats").rglob("*")):
        parts = path.relative_to(TOP / "tests/models/formats").parts
        if not path.is_file() or not re.split(r"[.\-_]", parts[0])[0] in IN_REPOSITORY.get(kind, (kind,)):
            continue
        if path.suffix == ".zip" and len(parts) == 1:
            with zipfile.ZipFile(path) as archive:
                yield from ((name, archive.read(name)) for name in archive.namelist())
        elif path.suffix == ".gz":
            yield path.stem, gzip.decompress(path.read_bytes())
        elif len(parts) > 1 or path.suffix != ".json":  # next to an archive: its expected values
            yield path.name, path.read_bytes()


def repository_seeds(kind, target):
    contents = [content for name, content in repository_files(kind) if name.endswith(ENDINGS.get(kind, ("",)))]
    for content in contents:
        if len(content) <= 4 * MAX_BYTES:
            put(target, content)
    put_few_large(target, contents)


def gpu_seeds(target):
    for path in (TOP / "data/gpus").glob("*.txt"):
        (target / path.name).write_bytes(path.read_bytes())


def mig_seeds(target):
    for i, part in enumerate((TOP / "data/mig.txt").read_text().split("\n\n")):
        (target / f"{i}.txt").write_text(part)


def inflate_seeds(target):
    """The first three bytes are the kind of data (1: gzip) and the sizes of the pieces (fuzz/inflate_fuzz.c)."""
    texts = [b"", b"a" * 5000, (TOP / "README.md").read_bytes()[:9000], bytes(range(256)) * 3]
    for content in texts:
        for level, strategy in ((0, 0), (1, 0), (9, 0), (9, 2), (9, 4)):
            packer = zlib.compressobj(level, zlib.DEFLATED, -15, 9, strategy)
            put(target, b"\0\xff\xff" + packer.compress(content) + packer.flush())
        put(target, b"\1\7\1" + gzip.compress(content))


def host_seeds(target):
    for path in (TOP / "data/hosts").glob("*.txt"):
        (target / path.name).write_bytes(path.read_bytes())


def plan_seeds(target):
    """The plans of the text tests, and those that ship, family by family."""
    for path in (TOP / "data/plans").glob("*.txt"):
        head, *families = re.split(r"(?m)^(?=\[)", path.read_text())
        for family in families:
            put(target, (head + family).encode())
    for name in ("sweep", "dataset", "nas"):
        for case in cases.parse(TOP / f"tests/cases/{name}.test"):
            for kind, _, body, *_ in case.steps:
                if kind == "file":
                    put(target, "\n".join(body).encode())
    put(target, b"gpu = t4\nprecision = fp32, amp\n[a]\ngraph = zoo:nasbench_macro/{l}0000000\nl = 0, 1\n")


def question_seeds(target):
    """Requests in JSON and in queries, with every key."""
    question = {"model": "zoo:resnet50?image=64", "gpu": ["t4", "a100"], "batch": [1, 8], "seq": 16, "past": 0, "dims": {"N": 2},
                "shape": ["x=1,?,224,224"], "format": "csv", "precision": "fp16", "layout": "nhwc", "runtime": "engine", "mode": "infer",
                "optimizer": None, "stack": "trt8.5", "mig": "1g.5gb", "count": 3, "power_limit_w": 200.5, "co2_g_per_kwh": 400,
                "kv_cache_bits": 8, "latency_ms": 2.5, "layers": True, "kernels": False, "top": 3, "depth": 2, "name": "a.onnx",
                "host": "reference", "cuda_graphs": True, "interval_percent": 80, "memory": True, "values": True, "totals": True}
    put(target, json.dumps(question).encode())
    for key, value in question.items():
        put(target, json.dumps({"model": "kept:00", key: value}).encode())
        for text in value if isinstance(value, list) else [value]:
            put(target, f"model=zoo:vit\n{'dims.N' if key == 'dims' else key}={2 if key == 'dims' else text}".encode())


def stored_graph(nodes, edges):
    """Header and columns of a graph of N nodes, and E edges, not compressed."""
    longs = struct.pack(f"<{3 * nodes}q", *range(3 * nodes))
    ints = struct.pack(f"<{20 * nodes}i", *(i % 7 for i in range(20 * nodes)))
    pairs = [(i, j) for j in range(nodes) for i in range(j)][:edges]
    columns = longs + ints + b"".join(struct.pack("<2i", *pair) for pair in pairs)
    return struct.pack("<4I", 1, nodes, len(pairs), len(columns)), columns


def set_seeds(target):
    for head, columns in (stored_graph(1, 0), stored_graph(2, 1), stored_graph(4, 5)):
        put(target, head + columns)
        put(target, head + zlib.compress(columns))


def dataset_seeds(target):
    """Sets with one graph, and with enough graphs for a training, in small pages."""
    schema = re.search(r"SCHEMA\[\] =\n(.*?);\n", (TOP / "src/cli/dataset_file.c").read_text(), re.S)[1]
    schema = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', schema))
    for count in (1, 20):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "set.db"
            base = sqlite3.connect(path)
            base.executescript("PRAGMA page_size = 512;" + schema)
            facts = {"version": "0", "weights": "0", "identity": "0", "plan": "", "graphs": count, "complete": 1, "items": count, "skipped": 0}
            base.executemany("INSERT INTO meta VALUES(?, ?)", facts.items())
            base.execute("INSERT INTO operators VALUES(3, 'Conv', 'conv')")
            for i, gpu in enumerate(("t4", "a100-sxm4-40gb")):
                base.execute("INSERT INTO settings VALUES(?, ?, '', 'amp-fp16', 'nchw', 'eager', 'infer', '', 'pt2.4-cu124')", (i + 1, gpu))
            for i in range(count):
                head, columns = stored_graph(1 + i % 4, i % 4)
                base.execute("INSERT INTO graphs VALUES(NULL, ?, ?, '', ?, ?, 1, 1, 0, 1, 1, 1, 0, 0, 0, ?)",
                             (f"n{i}", f"f{i % 3}", f"{i:016x}", f"{i:016x}", head + zlib.compress(columns)))
                base.execute("INSERT INTO labels VALUES(NULL, ?, ?, ?, ?, 0.5, 99, 2, 1, 99, 100, 90, 1000, 0.5, '1g.5gb', 'x')",
                             (i + 1, 1 + i % 2, ("predicted", "measured")[i % 2], i + 1.5))
            base.commit()
            base.close()
            put(target, path.read_bytes())


def gnn_seeds(target):
    """Model files from the checksum on, without parameters: every kind, both forms of nodes, every split."""
    for kind in range(5):
        for form in range(2):
            head = struct.pack("<11I", kind, form, 32 + 32 * form, 7 - kind, kind % 4, 1, 0, 2, 0, 10, 0)
            put(target, head)
            values = [0.0] * 16 + [1.0] * 16 + [0.0] * 22 + [1.0] * 22 + [1.0, 0.5, 6.0] + [-0.1] * 3 + [0.1] * 3
            put(target, head + struct.pack(f"<{len(values)}f", *values))


def small_models():
    """A few models of some formats, as bodies and files."""
    for path in sorted((TOP / "tests/hostile").glob("*")):
        if path.stat().st_size <= 2048:
            yield path.read_bytes()
    for kind in ("darknet", "caffe", "ncnn", "tflite"):
        yield from [content for _, content in repository_files(kind) if len(content) <= MAX_BYTES][:3]
    for case in cases.parse(TOP / "tests/cases/predict.test")[:20]:
        for kind, name, body, *_ in case.steps:
            if kind == "model" and name.endswith(".onnx"):
                yield onnx_of(body)


def onnx_of(body):
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "m.onnx"
        onnxtext.write("\n".join(body), str(path))
        return path.read_bytes()


def answer_seeds(target):
    with tempfile.TemporaryDirectory() as directory:
        question_seeds(pathlib.Path(directory))
        for path in pathlib.Path(directory).iterdir():
            content = path.read_bytes().replace(b"zoo:vit", b"zoo:nasbench_macro/01200000")
            if content.startswith(b"{"):
                put(target, b"predict json\n\n" + content)
                put(target, b"batch json\n\n" + content + b"\n" + content)
            else:
                for route in (b"predict", b"inspect", b"mig", b"convert"):
                    put(target, route + b"\n" + content)
    for content in small_models():
        for route in (b"predict\ngpu=t4,a100", b"inspect\nbatch=2\nvalues=1", b"convert", b"mig\ngpu=a100"):
            put(target, route + b"\n\n" + content)
    put(target, b"gpus")
    put(target, b"zoo")


def command_seeds(target):
    """Commands of the text tests without shell syntax, with the first file of their case."""
    for path in sorted((TOP / "tests/cases").glob("*.test")):
        for case in cases.parse(path):
            name, content = "model", b""
            for kind, *rest in case.steps:
                if kind == "model" and not content and rest[0].endswith(".onnx"):
                    name, content = rest[0], onnx_of(rest[1])
                elif kind == "file" and not content:
                    name, content = rest[0], "\n".join(rest[1]).encode()
                words = rest[0].split() if kind == "run" else []
                if words[:1] == ["sooth"] and not re.search(r"[|><;&$'\"`*(]", rest[0]) and "".join(words[1:2]) in PAGE_COMMANDS:
                    words = ["model" if word == name else word for word in words[1:]]
                    put(target, "\n".join(words).encode() + b"\n\n" + content)


def journal_seeds(target):
    """Lines for networks with two rows each."""
    row = b" 0x1.8p+1 0x1p+0 0x1p+2" * 3 + b" 1234" + b" 0x1p-3" * 14
    for line in (b"0" + row + row, b"1 !out%20of%20memory" + row, b"1" + row + b" !%25"):
        put(target, line)


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
                put(target, content)


def onnx_seeds(target):
    sources = sorted((TOP / "tests/hostile").glob("*"))
    for directory in ("onnx", "made/onnx"):
        sources += sorted((TOP.parent / "shared/models" / directory).rglob("*.onnx*"))
    compressed = 0
    large = []
    for path in sources:
        content = path.read_bytes()
        if path.suffix == ".gz":
            if compressed < KEEP_COMPRESSED and len(content) < MAX_BYTES // 4:
                compressed += 1
                put(target, content)
            content = gzip.decompress(content)
        if len(content) <= MAX_BYTES:
            put(target, content)
        else:
            large.append(content)
    put_few_large(target, large)
    for path in sorted((TOP / "tests/cases").glob("*.test")):
        for number, case in enumerate(cases.parse(path)):
            for kind, name, body, *_ in case.steps:
                if kind == "model" and name.endswith(".onnx"):
                    onnxtext.write("\n".join(body), str(target / f"{path.stem}-{number}-{name}"))


def torch_files(kind):
    """The small archives of the corpus, and those that the text tests make."""
    for path in sorted((TOP.parent / "shared/models/made" / kind).glob("*")):
        content = path.read_bytes()
        yield gzip.decompress(content) if path.suffix == ".gz" else content
    for case in cases.parse(TOP / "tests/cases/pytorch.test"):
        for step, _, body, *_ in case.steps:
            if step == "zip":
                yield torchfiles.archive("\n".join(body))


def without_traces(value):
    """A program without unused parts, so that it is short."""
    if isinstance(value, dict):
        return {key: without_traces(part) for key, part in value.items() if part is not None and
                key not in ("stack_trace", "module_call_graph", "torch_fn", "source_fn_stack", "strides", "device", "storage_offset")}
    return [without_traces(part) for part in value] if isinstance(value, list) else value


def pt2_seeds(target):
    for content in torch_files("pt2"):
        archive = zipfile.ZipFile(io.BytesIO(content))
        for name in archive.namelist():
            if name.endswith("serialized_exported_program.json") or "/models/" in name:
                try:
                    text = json.dumps(without_traces(json.loads(archive.read(name)))).encode()
                except ValueError:
                    continue
                if len(text) < 4 * MAX_BYTES:
                    put(target, text)


def torchscript_seeds(target):
    """All code of an archive as one module. Classes of other files are not found there, but the relevant parts remain."""
    for content in torch_files("torchscript"):
        archive = zipfile.ZipFile(io.BytesIO(content))
        names = archive.namelist()
        if len(content) < MAX_BYTES:
            put(target, content)
        code = b"".join(archive.read(name) for name in names if name.endswith(".py"))
        for name in names:
            if name.endswith(".py"):  # classes of all files are moved to the target's only file
                module = name.partition("/code/")[2].removesuffix(".py").replace("/", ".").encode()
                code = code.replace(module, b"__torch__.m")
        parts = [code]
        for name in ("data.pkl", "constants.pkl", "traced_inputs.pkl"):
            found = [n for n in names if n.endswith("/" + name)]
            part = archive.read(found[0]) if found else b""
            for other in names:
                if other.endswith(".py"):
                    module = other.partition("/code/")[2].removesuffix(".py").replace("/", ".").encode()
                    part = part.replace(module, b"__torch__.m")
            parts.append(part)
        whole = b"\xff#\xff".join(parts)
        if len(whole) < 4 * MAX_BYTES:
            put(target, whole)


def family_seeds(*directories, tests="tensorflow"):
    """Small files of the corpus, uncompressed, and those that the text tests write."""
    def write(target):
        large = []
        for directory in directories:
            for path in sorted((TOP.parent / "shared/models" / directory).rglob("*")):
                if not path.is_file():
                    continue
                content = path.read_bytes()
                if path.suffix == ".gz":
                    content = gzip.decompress(content)
                if len(content) <= 2 * MAX_BYTES:
                    put(target, content)
                else:
                    large.append(content)
        put_few_large(target, large)
        for case in cases.parse(TOP / f"tests/cases/{tests}.test"):
            for kind, name, body, *_ in case.steps:
                if kind in ("file", "hex"):
                    content = "\n".join(body).encode() if kind == "file" else bytes.fromhex(re.sub(r"#.*", "", "\n".join(body)))
                    put(target, content)
    return write


def darknet_seeds(target):
    """Configurations cut to the input and eight layers, from the beginning and the end: whole ones run only a few times
    per second."""
    whole = target / "whole"
    whole.mkdir()
    family_seeds("darknet", tests="layer_formats")(whole)
    for path in list(whole.iterdir()):
        head, *sections = re.split(rb"(?m)^(?=\[)", path.read_bytes())
        for part in (sections[:9], sections[:1] + sections[-8:]):
            content = head + b"".join(part)
            put(target, content)
        path.unlink()
    whole.rmdir()


def small(value, key=""):
    """A configuration of the same kind with one layer."""
    if isinstance(value, dict):
        return {k: small(v, k) for k, v in value.items()}
    if isinstance(value, list):
        return [small(v) for v in value[:2]]
    if key in ("num_hidden_layers", "n_layer", "num_layers", "n_layers", "encoder_layers", "decoder_layers", "num_decoder_layers"):
        return min(value or 1, 1)
    return value[:3] if key == "hybrid_override_pattern" else value


def hf_seeds(target):
    """Configurations cut to one layer: mutations do not make them larger, and each runs fast."""
    for directory in ("hf-config", "made/hf-config"):
        for path in sorted((TOP.parent / "shared/models" / directory).rglob("*.json*")):
            content = path.read_bytes()
            content = gzip.decompress(content) if path.suffix == ".gz" else content
            content = json.dumps(small(json.loads(content))).encode()
            if len(content) <= 2 * MAX_BYTES:
                put(target, content)
    for case in cases.parse(TOP / "tests/cases/language.test"):
        for kind, name, body, *_ in case.steps:
            if kind == "file":
                (target / f"{len(list(target.iterdir()))}-{name}").write_bytes("\n".join(body).encode())


def main():
    target = pathlib.Path(sys.argv[2])
    target.mkdir(parents=True, exist_ok=True)
    {"gpu": gpu_seeds, "host": host_seeds, "plan": plan_seeds, "question": question_seeds, "set": set_seeds, "journal": journal_seeds,
     "answer": answer_seeds, "command": command_seeds, "dataset": dataset_seeds, "gnn": gnn_seeds,
     "mig": mig_seeds, "inflate": inflate_seeds, "onnx": onnx_seeds, "rows": row_seeds, "pt2": pt2_seeds, "torchscript": torchscript_seeds,
     "tflite": family_seeds("tflite", "made/tflite"), "tensorflow": family_seeds("tensorflow", "made/graphdef", "made/savedmodel"),
     "keras": family_seeds("keras", "made/keras"), "tfjs": family_seeds("tfjs"), "darknet": darknet_seeds,
     "caffe": family_seeds("caffe", tests="layer_formats"), "mxnet": family_seeds("mxnet", "made/mxnet", tests="layer_formats"),
     "ncnn": family_seeds("ncnn", "made/ncnn", "made/pnnx", tests="layer_formats"), "paddle": family_seeds("paddle", "made/paddle", tests="paddle"),
     "openvino": family_seeds("openvino", "made/openvino", tests="openvino"),
     "coreml": family_seeds("coreml", "made/coreml", tests="coreml"),
     "hf": hf_seeds,
     "gguf": family_seeds("gguf", "made/gguf", tests="language"),
     "safetensors": family_seeds("safetensors", tests="language"),
     "hlo": family_seeds("stablehlo", "made/stablehlo", "made/hlo", "made/jax-export", tests="hlo")}[sys.argv[1]](target)
    repository_seeds(sys.argv[1], target)
    for content in operators.SEEDS.get(sys.argv[1], tuple)():
        put(target, content)
    print(f"{len(list(target.iterdir()))} seeds in {target}")


if __name__ == "__main__":
    main()
