#!/usr/bin/env python3
"""Makes the k-th system call fail, for k = 1, 2, 3 …: allocations, opening, reading, writing, syncing and renaming
files, mapping, threads.

Every command then either succeeds as usual or ends with exit code 5 and a message, without partial or temporary files
and without leaks. Short and interrupted (EINTR) calls change nothing. A mapped file that becomes shorter is reported as
such, with exit code 3.

    inject.py [COMMAND…]

`serve` answers some requests first: each gets its answer, an HTTP error or none, and the server keeps running.
SOOTH_INJECT=all tries every k (`make inject`); otherwise larger k are sampled, so that the suite takes less than a
minute.
"""
import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import hostile
import refused
from onnxtext import model

BUILD = hostile.BUILD
COVERED = "--coverage" in (BUILD / "flags").read_text()
ALL = os.environ.get("SOOTH_INJECT") == "all"
FAILURES = ("malloc", "open", "read", "write", "fsync", "rename", "mmap", "thread")
NO_FAILURES = ("read-short", "write-short", "read-again", "write-again")
KEPT = ("out.checkpoint", "out.part", "set.db", "sweep.db")  # files from which a training, survey, data set or sweep resumes
TIMED = ("measure",)  # prints times of this machine; takes half a second
FIRST, MORE = 8, 8  # values of k without ALL: the first ones, and this many spread over the rest
LEAST_BLOCKS = 2  # the buffer of stdout, and what the C library keeps for a thread
MORE_BLOCKS_SERVED = 8  # memory that libraries keep for threads and connections that ended early
TIMEOUT_S = 120

ROWS = """name,graph,batch,gpu,precision,layout,runtime,stack,mode,latency_ms,memory_mib,power_w,source
a,zoo:resnet18,8,rtx-3090,amp,nhwc,eager,pt2.4-cu124,infer,3.1,900,300,mine
b,zoo:resnet18,16,a100,amp,nhwc,eager,pt2.4-cu124,infer,5,,,mine
c,small.onnx,4,t4,fp32,nchw,eager,pt2.4-cu124,infer,0.1,,,mine
d,small.onnx,4,t4,fp32,nchw,inductor,pt2.4-cu124,train,0.3,,,mine
e,missing.onnx,4,t4,fp32,nchw,eager,pt2.4-cu124,infer,0.1,,,mine
"""
OPERATORS = """op,device,dtype,m,n,k,rows,cols,latency_ms,source
gemm,a100,float16,128,256,64,,,0.009,mine
gemm,a100,float16,512,256,64,,,0.011,mine
relu,a100,fp32,,,,4096,64,0.007,mine
"""
QUERIES = """graph,batch,gpu,precision,runtime,mode
small.onnx,2,t4,fp32,eager,infer
zoo:resnet18,1,a100,fp16,engine,infer
small.onnx,2,t4,fp32,inductor,train
"""
SMALL = """input x float32[N,3,16,16]
init w float32[8,3,3,3]
y = Conv(x, w) pads=[1,1,1,1]
z = Relu(y)
p = GlobalAveragePool(z)
output p
"""


CLASSIFIER = """input x float32[N,3,8,8]
init w float32[4,3,3,3]
init v float32[5,4]
y = Conv(x, w) pads=[1,1,1,1]
z = Relu(y)
p = GlobalAveragePool(z)
f = Flatten(p)
g = Gemm(f, v) transB=1
output g
"""
PLAN = """gpu = t4, a100
precision = fp32, amp
[resnet]
graph = zoo:resnet/{depth}?image=64
depth = 18, 34
batch = 1, 2
"""


SPACE = """graph = zoo:resnet/{depth}?image={image}
depth = 18, 34
image = 64, 96
"""
SCORES = "architecture,score\n" + "".join(f'"{depth},{image}",{depth + image}\n' for depth in (18, 34) for image in (64, 96))


def power_rows():
    yield "name,graph,batch,gpu,precision,stack,latency_ms,power_w,source"
    for i in range(60):
        gpu, batch = ("a100", "t4", "v100")[i % 3], 1 << i // 6 % 5
        yield f"n{i},{('zoo:resnet18', 'small.onnx')[i % 2]},{batch},{gpu},fp16,pt2.4-cu124,{1 + i % 7},{50 + i},mine"


def slice_rows():
    yield "name,graph,batch,gpu,mig,precision,stack,mode,latency_ms,source"
    for i in range(24):
        mig = ("1g.5gb", "2g.10gb", "3g.20gb", "7g.40gb")[i % 4]
        yield f"n{i % 2},{('zoo:resnet18', 'small.onnx')[i % 2]},{1 << i // 8},a100-sxm4-40gb,{mig},fp32,pt2.4-cu124,infer,{2 + i % 5},mine"


def fill(folder):
    """The files that the commands read, and an older output file."""
    def put(name, content):
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    put("small.onnx", model(SMALL))
    put("classifier.onnx", model(CLASSIFIER))
    put("plan.txt", PLAN)
    put("rows.csv", ROWS)
    put("operators.csv", OPERATORS)
    put("queries.csv", QUERIES)
    put("power.csv", "\n".join(power_rows()) + "\n")
    put("slices.csv", "\n".join(slice_rows()) + "\n")
    put("space.txt", SPACE)
    put("table.csv", SCORES)
    put("script.pt", refused.torchscript())
    put("export.pt2", refused.archive(("m/models/model.json", refused.pt2([("x", "y")]))))
    put("convnet.onnx.gz", (BUILD / "tests/models/convnet.onnx.gz").read_bytes())
    put("out", "old\n")
    put("more", "old\n")
    (folder / "gpus").mkdir()
    put("gpus/mine.txt", "name = mine\nvendor = NVIDIA\n" + "".join(
        line + "\n" for line in (hostile.TESTS.parent / "data/gpus/t4.txt").read_text().splitlines() if not re.match("name|vendor|alias", line)))


COMMANDS = {
    "inspect": ["inspect", "small.onnx", "--batch", "2", "-o", "out"],
    "inspect (gzip, JSON)": ["inspect", "convnet.onnx.gz", "-f", "json", "--shape", "x=?,3,8,8", "-o", "out"],
    "inspect (zoo, DOT)": ["inspect", "zoo:resnet18", "-f", "dot", "--dim", "N=1"],
    "inspect (standard input)": ["inspect", "-", "--batch", "2"],
    "inspect (TorchScript)": ["inspect", "script.pt", "--shape", "x=2,3"],
    "inspect (torch.export)": ["inspect", "export.pt2"],
    "inspect --help": ["inspect", "--help"],
    "predict": ["predict", "small.onnx", "--batch", "4", "--gpu", "t4,a100", "-f", "json", "-o", "out"],
    "predict (inductor)": ["predict", "zoo:resnet18", "--runtime", "inductor", "-f", "csv", "-o", "out"],
    "predict (engine)": ["predict", "zoo:resnet18", "--runtime", "engine", "--precision", "int8", "-f", "html", "-o", "out"],
    "predict (train)": ["predict", "zoo:resnet18", "--mode", "train", "--kernels", "-f", "json", "-o", "out"],
    "predict (largest batch)": ["predict", "zoo:resnet18", "--largest-batch", "--gpu", "t4"],
    "predict (weights)": ["predict", "small.onnx", "--weights", "weights.bin", "-f", "trace", "-o", "out"],
    "predict (queries)": ["predict", "--queries", "queries.csv", "-o", "out"],
    "mig": ["mig", "small.onnx", "--batch", "4", "-f", "json", "-o", "out"],
    "mig (layout)": ["mig", "zoo:resnet18@3", "small.onnx@2", "-f", "svg", "-o", "out"],
    "convert": ["convert", "small.onnx", "-o", "out"],
    "survey": ["survey", "zoo:resnet18", "small.onnx", "--gpu", "t4,a100", "--batch", "1,2", "-f", "csv"],
    "survey (journal, page)": ["survey", "zoo:resnet18", "small.onnx", "--gpu", "t4", "-f", "html", "-o", "out"],
    "choose": ["choose", "small.onnx", "--gpu", "t4,a100", "--latency-ms", "5", "--most-batch", "64", "-f", "json", "-o", "out"],
    "nas": ["nas", "space.txt", "--gpu", "t4", "-f", "json", "-o", "out"],
    "nas (search)": ["nas", "space.txt", "--gpu", "t4", "--accuracy", "table.csv:score", "--search", "local", "--repeat", "2", "-f", "csv", "-o", "out"],
    "dataset": ["dataset", "make", "zoo:resnet18", "small.onnx", "--gpu", "t4", "--batch", "1,2", "-o", "set.db"],
    "dataset (export)": ["dataset", "export", "made.db", "-f", "npz", "-o", "out"],
    "dataset (check)": ["dataset", "check", "made.db", "-f", "json"],
    "train-phase": ["train-phase", "small.onnx", "--batch", "4", "--gpu", "t4", "--data", "imagenet", "-f", "json", "-o", "out"],
    "sweep": ["sweep", "plan.txt", "-o", "sweep.db"],
    "sweep (page)": ["sweep", "plan.txt", "-f", "html", "--report", "out", "-o", "sweep.db"],
    "measure": ["measure", "classifier.onnx", "--batch", "2", "--library", "plain", "--threads", "1", "--repeat", "1", "--warmup", "0",
                "--images", "0", "--save", "out"],
    "serve": ["serve", "--port", "0", "--threads", "1"],
    "zoo": ["zoo", "-f", "json", "-o", "out"],
    "gpus": ["gpus", "-f", "json", "-o", "out"],
    "gpus (a directory)": ["gpus", "mine"],
    "eval": ["eval", "rows.csv", "operators.csv", "--predictions", "more", "-f", "json", "-o", "out"],
    "learn": ["learn", "rows.csv", "operators.csv", "-o", "out", "--epochs", "2", "--networks", "2", "--apart", "more", "-q"],
    "learn (power)": ["learn", "--energy", "power.csv", "-o", "out", "--apart", "more", "-q"],
    "learn (slices)": ["learn", "--slices", "slices.csv", "-o", "out", "-q"],
}


class Bench:
    def __init__(self, folder):
        self.clean = folder / "clean"
        self.clean.mkdir()
        fill(self.clean)
        self.report = folder / "report"
        self.work = folder / "work"
        self.weights = folder / "weights.bin"
        done = self.run("learn", "malloc", 0)
        if done.returncode:
            raise SystemExit(f"learn: {done.stderr.decode()}")
        shutil.copy(self.work / "out", self.clean / "weights.bin")
        done = self.run("dataset", "malloc", 0)
        if done.returncode:
            raise SystemExit(f"dataset: {done.stderr.decode()}")
        shutil.copy(self.work / "set.db", self.clean / "made.db")

    def run(self, name, kind, k, all_after=False):
        """Runs in a new folder; the resulting files are in self.files."""
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(self.clean, self.work)
        self.report.unlink(missing_ok=True)
        env = dict(os.environ, LD_PRELOAD=str(BUILD / "tests/tools/inject.so"), INJECT=f"{kind}:{k}", INJECT_REPORT=str(self.report))
        env.pop("INJECT_ALL_AFTER", None)
        if all_after:
            env["INJECT_ALL_AFTER"] = "1"
        if name.startswith("gpus ("):
            env["SOOTH_GPUS"] = "gpus"
        arguments = COMMANDS[name]
        source = open(self.work / "small.onnx", "rb") if "-" in arguments else subprocess.DEVNULL
        done = subprocess.run([str(BUILD / "sooth"), *arguments], cwd=self.work, env=env, stdin=source, capture_output=True, timeout=TIMEOUT_S)
        self.files = {p.name: p.read_bytes() for p in self.work.iterdir() if p.is_file()}
        self.calls, self.blocks = (int(x) for x in self.report.read_text().split()) if self.report.exists() else (None, None)
        return done


def steady(text, name):
    """Removes timings."""
    if name in TIMED:
        return b""
    return re.sub(rb"\d+(\.\d+)? s\b", b"", text)


def choose(count, name):
    first, more = (FIRST // 4, MORE // 4) if name in TIMED else (FIRST, MORE)
    if ALL or count <= first + more:
        return range(1, count + 1)
    spread = {first + 1 + (count - first - 1) * i // (more - 1) for i in range(more)}
    return sorted(set(range(1, first + 1)) | spread)


def judge(bench, name, done, whole, files, blocks, must_succeed):
    """The fault, or None."""
    if COVERED and done.returncode == -signal.SIGSEGV:
        return None  # gcov fails if a call fails while it writes its counts
    if done.returncode < 0:
        return f"ended by signal {-done.returncode}"
    if bench.calls is None:
        return f"ended without its end (exit {done.returncode})"
    told = done.stderr.decode("utf-8", "replace").strip()
    if done.returncode == whole.returncode:
        if bench.files != files or steady(done.stdout, name) != steady(whole.stdout, name):
            changed = sorted(n for n in {*bench.files, *files} if bench.files.get(n) != files.get(n))
            return f"exit {done.returncode}, but another answer: {changed or 'standard output'} {told}"
        return None
    if must_succeed:
        return f"exit {done.returncode}: {told}"
    if done.returncode != 5:
        return f"exit {done.returncode}, not 5: {told}"
    if not re.match(r"(.*\n)*sooth: ", told):
        return f"no message: '{told}'"
    for file, content in bench.files.items():
        before = (bench.clean / file).read_bytes() if (bench.clean / file).exists() else None
        if content not in (before, files.get(file)) and file not in KEPT:
            return f"{file} is half-written or left behind ({told})"
    if blocks is not None and bench.blocks > max(blocks, 0) + LEAST_BLOCKS:  # may be negative, because libraries free memory that they allocated in other ways
        return f"{bench.blocks} blocks of memory are not given back, {blocks} without a failure ({told})"
    return None


def check(bench, name):
    whole = bench.run(name, "malloc", 0)
    files, blocks, allocations = dict(bench.files), bench.blocks, bench.calls
    if whole.returncode not in (0, 1):
        return [f"exit {whole.returncode} without a failure: {whole.stderr.decode()}"], 0
    wrong, tried = [], 0
    for kind in FAILURES + NO_FAILURES:
        bench.run(name, kind, 0)
        for all_after in (False, True) if kind == "malloc" else (False,):
            for k in choose(bench.calls if kind != "malloc" else allocations, name):
                done = bench.run(name, kind, k, all_after)
                tried += 1
                problem = judge(bench, name, done, whole, files, blocks, kind in NO_FAILURES)
                if problem:
                    wrong.append(f"{kind} {k}{' and all after' if all_after else ''}: {problem}")
    bench.run(name, "shrink", 0)
    for k in range(1, bench.calls + 1):
        done = bench.run(name, "shrink", k)
        tried += 1
        if done.returncode != 3 or b"shrank while it was read" not in done.stderr or {bench.files[n] for n in ("out", "more")} != {b"old\n"}:
            wrong.append(f"mapped file {k} becomes empty: exit {done.returncode}: {done.stderr.decode()}")
    return wrong, tried


# ---- serve -------------------------------------------------------------------------------------------------------------

ANSWER_TIMEOUT_S = 20
QUESTIONS = [("GET", "/healthz", None), ("GET", "/v1/gpus", None), ("POST", "/v1/predict", {"model": "zoo:resnet18", "gpu": "t4", "totals": True}),
             ("POST", "/v1/predict?gpu=t4&batch=2", b""), ("POST", "/v1/batch", {"model": "zoo:resnet18", "gpu": "l4", "totals": True})]


def ask(port, method, path, body):
    """Status and body; None: the connection is closed without an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_TIMEOUT_S)
    try:
        with contextlib.closing(connection):
            is_json = isinstance(body, dict)
            connection.request(method, path, json.dumps(body) if is_json else body, {"Content-Type": "application/json"} if is_json else {})
            answer = connection.getresponse()
            return answer.status, answer.read()
    except TimeoutError:
        return 0, b"nothing, and the connection stays open"
    except (OSError, http.client.HTTPException):
        return None


def talk(bench, kind, k):
    """Exit code, messages and answers; no answers if the server did not start."""
    bench.report.unlink(missing_ok=True)
    env = dict(os.environ, LD_PRELOAD=str(BUILD / "tests/tools/inject.so"), INJECT=f"{kind}:{k}", INJECT_REPORT=str(bench.report))
    server = subprocess.Popen([str(BUILD / "sooth"), *COMMANDS["serve"]], env=env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    first = server.stderr.readline()
    found = re.search(rb"http://127\.0\.0\.1:(\d+)/", first)
    answers = []
    if found:
        small = (bench.clean / "small.onnx").read_bytes()
        answers = [ask(int(found[1]), method, path, small if body == b"" else body) for method, path, body in QUESTIONS]
        server.send_signal(signal.SIGTERM)
    try:
        told = first + server.communicate(timeout=TIMEOUT_S)[1]
    except subprocess.TimeoutExpired:
        server.kill()
        told = first + server.communicate()[1] + b"(did not end)"
    bench.calls, bench.blocks = (int(x) for x in bench.report.read_text().split()) if bench.report.exists() else (0, None)
    return server.returncode, told.decode("utf-8", "replace").strip(), answers


def judge_serve(bench, talked, whole, blocks):
    code, told, answers = talked
    if COVERED and code == -signal.SIGSEGV:
        return None
    if code < 0 or bench.blocks is None:
        return f"ended by signal {-code} ({told})"
    if not answers:
        return None if code == 5 and told.startswith("sooth") else f"did not start: exit {code} ({told})"
    if code:
        return f"exit {code} ({told})"
    for question, answer, wanted in zip(QUESTIONS, answers, whole):
        if answer and answer != wanted and not (answer[0] >= 500 or answer[0] == 200 and question[1] == "/v1/batch" and b'"system"' in answer[1]):
            return f"{question[1]}: answered {answer[0]} {answer[1][:200]}"
    if bench.blocks > blocks + MORE_BLOCKS_SERVED:
        return f"{bench.blocks} blocks of memory are not given back, {blocks} without a failure ({told})"
    return None


def check_serve(bench, _):
    code, told, whole = talk(bench, "malloc", 0)
    blocks = bench.blocks
    if code or any(answer is None or answer[0] != 200 for answer in whole):
        return [f"exit {code} without a failure: {told} {whole}"], 0
    wrong, tried = [], 0
    for kind in ("malloc", "open", "read", "mmap", "thread"):  # libmicrohttpd writes only to wake its own thread
        talk(bench, kind, 0)
        for k in choose(bench.calls, "serve"):
            problem = judge_serve(bench, talk(bench, kind, k), whole, blocks)
            tried += 1
            if problem:
                wrong.append(f"{kind} {k}: {problem}")
    return wrong, tried


def main():
    names = [n for n in COMMANDS if not sys.argv[1:] or any(a in n for a in sys.argv[1:])]
    print(f"1..{len(names)}")
    if hostile.SANITIZED:
        for i, name in enumerate(names, 1):
            print(f"ok {i} - {name} # SKIP a sanitizer has its own allocators")
        return 0
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(pathlib.Path(folder))
        for i, name in enumerate(names, 1):
            wrong, tried = (check_serve if name == "serve" else check)(bench, name)
            bad += bool(wrong)
            print(f"{'not ok' if wrong else 'ok'} {i} - {name}: {tried} failures")
            for line in wrong[:12]:
                print(f"#   {line}")
            if len(wrong) > 12:
                print(f"#   and {len(wrong) - 12} more")
            sys.stdout.flush()
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
