#!/usr/bin/env python3
"""`sooth serve`: every path gives the program's answer, and hostile clients do not affect others.

SOOTH_SERVE_SECONDS (5): time for which clients attack with random, truncated and slow requests.
"""
import contextlib
import http.client
import json
import os
import pathlib
import random
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("SOOTH_BUILD") or TOP / "build")
PROGRAM = BUILD / "sooth"
SECONDS = float(os.environ.get("SOOTH_SERVE_SECONDS") or 5)
JSON = {"Content-Type": "application/json"}
MODEL = (BUILD / "tests/models/convnet.onnx.gz").read_bytes()


class Server:
    def __init__(self, *options):
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([PROGRAM, "serve", "--port", "0", *options], stderr=self.log)
        self.port = None
        for _ in range(600):
            found = re.search(r"http://127\.0\.0\.1:(\d+)/", self.text())
            if found or self.process.poll() is not None:
                break
            time.sleep(0.05)
        self.port = int(found[1]) if found else None

    def text(self):
        self.log.flush()
        return os.pread(self.log.fileno(), 1 << 26, 0).decode("utf-8", "replace")

    def ask(self, method, path, body=None, headers=None, timeout=60):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        with contextlib.closing(connection):
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read(), dict(answer.getheaders())

    def post(self, path, question, **more):
        return self.ask("POST", path, json.dumps(question), JSON, **more)

    def raw(self):
        client = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        return client

    def resident_kib(self):
        return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{self.process.pid}/status").read_text())[1])

    def running(self):
        return int(re.search(r"^sooth_requests_running (\d+)", self.ask("GET", "/metrics")[1].decode(), re.M)[1])

    def stop(self, seconds):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds)


def program(*arguments):
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, timeout=120)
    return done.stdout


def without_model(data):
    """JSON without the name of the file."""
    if isinstance(data, dict):
        return {key: without_model(value) for key, value in data.items() if key != "model"}
    return [without_model(value) for value in data] if isinstance(data, list) else data


def same(answer, arguments):
    return answer[0] == 200 and without_model(json.loads(answer[1])) == without_model(json.loads(program(*arguments)))


def answers(server, check):
    check(same(server.post("/v1/predict", {"model": "zoo:resnet18", "gpu": "t4", "batch": 4, "precision": "fp32"}),
               ["predict", "zoo:resnet18", "--gpu", "t4", "--batch", "4", "--precision", "fp32", "-f", "json"]), "predict: the program's JSON")
    check(same(server.post("/v1/predict", {"model": "zoo:resnet18", "gpu": ["t4", "h100"], "batch": [1, 8], "mode": "train", "kernels": True}),
               ["predict", "zoo:resnet18", "--gpu", "t4,h100", "--batch", "1,8", "--mode", "train", "--kernels", "-f", "json"]),
          "predict: GPUs and batches as a list")
    check(same(server.post("/v1/predict", {"model": "zoo:resnet18", "host": "epyc-9b14", "cuda_graphs": False, "interval_percent": 50, "co2_g_per_kwh": 300,
                                           "power_limit_w": 200, "stack": "pt2.4-cu124", "kv_cache_bits": 16}),
               ["predict", "zoo:resnet18", "--host", "epyc-9b14", "--interval", "50", "--co2", "300", "--power-limit", "200", "--stack", "pt2.4-cu124",
                "--kv-cache", "16", "-f", "json"]), "predict: host, interval, CO2, power limit, stack, cache")
    with tempfile.NamedTemporaryFile(suffix=".gz") as file:
        file.write(MODEL)
        file.flush()
        status, body, headers = server.ask("POST", "/v1/predict?gpu=a100&batch=2", MODEL)
        check(same((status, body), ["predict", file.name, "--gpu", "a100", "--batch", "2", "-f", "json"]), "predict: a file as the body")
        digest = headers.get("X-Sooth-Model")
        check(same(server.ask("POST", f"/v1/inspect?model=kept:{digest}&batch=2"), ["inspect", file.name, "--batch", "2", "-f", "json"]),
              "inspect: the kept file by its digest")
        check(same(server.ask("POST", f"/v1/mig?model=kept:{digest}&batch=2&latency_ms=50"),
                   ["mig", file.name, "--batch", "2", "--latency-ms", "50", "-f", "json"]), "mig: the program's JSON")
        status, converted, _ = server.ask("POST", f"/v1/convert?model=kept:{digest}")
        with tempfile.NamedTemporaryFile(suffix=".onnx") as out:
            program("convert", file.name, "-o", out.name)
            check(status == 200 and converted == pathlib.Path(out.name).read_bytes(), "convert: an ONNX file")
    lines = [{"model": "zoo:resnet18", "gpu": "t4", "totals": True}, {"model": "zoo:nothing"}, {"model": "zoo:resnet18", "gpu": "l4", "batch": 3}]
    status, body, _ = server.ask("POST", "/v1/batch", "\n".join(map(json.dumps, lines)) + "\n{\n")
    told = [json.loads(line) for line in body.decode().splitlines()]
    check(status == 200 and [t.get("gpu") for t in told] == ["t4", None, "l4", None] and
          [t.get("error", {}).get("code") for t in told] == [None, "usage", None, "input"], "batch: one line for each question, in order")
    check(json.loads(server.ask("GET", "/v1/gpus")[1]) == json.loads(program("gpus", "-f", "json")), "gpus: the program's JSON")
    check(json.loads(server.ask("GET", "/v1/zoo")[1]) == json.loads(program("zoo", "-f", "json")), "zoo: the program's JSON")
    csv = server.ask("POST", "/v1/predict?model=zoo:resnet18&format=csv")
    check(csv[0] == 200 and csv[2]["Content-Type"].startswith("text/csv") and csv[1].startswith(b"model,gpu,"), "predict: CSV")
    check(server.ask("GET", "/healthz")[0] == 200 and server.ask("GET", "/readyz")[0] == 200, "healthz, readyz")
    metrics = server.ask("GET", "/metrics")[1].decode()
    check(re.search(r'^sooth_requests_total\{route="predict",status="200"\} \d+$', metrics, re.M) and "sooth_models_kept " in metrics, "metrics")
    headers = server.ask("GET", "/healthz")[2]
    check(headers["X-Content-Type-Options"] == "nosniff" and "default-src 'none'" in headers["Content-Security-Policy"], "headers for browsers")


def openapi(server, check, skip):
    description = json.loads(server.ask("GET", "/v1/openapi.json")[1])
    unanswered = []
    for path, methods in description["paths"].items():
        for method in methods:
            status = server.ask(method.upper(), path)[0]
            if status in (404, 405):
                unanswered.append(f"{method} {path}: {status}")
    check(description["openapi"].startswith("3.1") and not unanswered, f"openapi: every path is answered {unanswered or ''}")
    try:
        from openapi_spec_validator import validate
    except ImportError:
        return skip("openapi: valid", "needs openapi-spec-validator from PyPI")
    validate(description)
    check(True, "openapi: valid")


def refusals(server, check):
    cases = [
        ("an unknown option", 400, "usage", ("POST", "/v1/predict?model=zoo:resnet18&precsion=fp16"), "precision"),
        ("an unknown GPU", 400, "usage", ("POST", "/v1/predict?model=zoo:resnet18&gpu=a1000"), "no GPU"),
        ("a path as GPU", 400, "usage", ("POST", "/v1/predict?model=zoo:resnet18&gpu=data/gpus/t4.txt"), "not files"),
        ("a path as host", 400, "usage", ("POST", "/v1/predict?model=zoo:resnet18&host=./data/hosts/epyc-9b14.txt"), "not files"),
        ("a level that there is not", 400, "usage", ("POST", "/v1/predict?model=zoo:resnet18&interval_percent=60"), "50, 80, 90"),
        ("a path as model", 400, "usage", ("POST", "/v1/predict?model=/etc/passwd"), "zoo:NAME"),
        ("no model", 400, "usage", ("POST", "/v1/predict"), "which model"),
        ("two models", 400, "usage", ("POST", "/v1/predict?model=zoo:resnet18", MODEL), "two models"),
        ("a model that is not kept", 400, "usage", ("POST", "/v1/predict?model=kept:" + "0" * 64), "send the file again"),
        ("a damaged file", 422, "input", ("POST", "/v1/predict", MODEL[:200]), ""),
        ("random bytes", 422, "input", ("POST", "/v1/inspect", b"\x00\xff" * 500), "not a model"),
        ("an impossible precision", 422, "unsupported", ("POST", "/v1/predict?model=zoo:resnet18&precision=fp8&runtime=engine&gpu=t4"), "fp8"),
        ("a form", 415, "type", ("POST", "/v1/predict", b"x", {"Content-Type": "multipart/form-data; boundary=a"}), "--data-binary"),
        ("JSON that ends early", 422, "input", ("POST", "/v1/predict", b'{"model": ', JSON), "JSON"),
        ("JSON that is a list", 400, "usage", ("POST", "/v1/predict", b"[1]", JSON), "JSON object"),
        ("a body above the limit", 413, "too_large", ("POST", "/v1/predict", b"x" * (3 << 20)), "--max-mib"),
        ("an unknown path", 404, "not_found", ("GET", "/v2/predict"), ""),
        ("a file of the server", 404, "not_found", ("GET", "/../../../etc/passwd"), ""),
        ("a file of the server, encoded", 404, "not_found", ("GET", "/..%2f..%2fetc%2fpasswd"), ""),
        ("another method", 405, "method", ("GET", "/v1/predict"), ""),
        ("another host", 403, "forbidden", ("GET", "/healthz", None, {"Host": "example.org"}), "localhost"),
        ("more options than there are", 400, "usage", ("GET", "/v1/gpus?" + "&".join(f"a{i}=1" for i in range(100))), "64"),
    ]
    for name, status, code, question, text in cases:
        try:
            got, body, _ = server.ask(*question)
            error = json.loads(body)["error"]
            check(got == status and error["code"] == code and text in error["message"], f"{name}: {status} {code} (got {got} {error})")
        except (OSError, ValueError, KeyError, http.client.HTTPException) as why:
            check(False, f"{name}: {why}")


def pipelined(server, check):
    client = server.raw()
    question = b"POST /v1/predict?model=zoo:resnet18&totals=1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"
    client.sendall(question * 20)
    got = b""
    while got.count(b"HTTP/1.1 200") < 20:
        more = client.recv(65536)
        if not more:
            break
        got += more
    client.close()
    check(got.count(b"HTTP/1.1 200") == 20, "twenty requests in one packet have twenty answers")


def crowded(server, check):
    """Large uploads that fill the room for bodies refuse other large ones, and no small question."""
    large = (2 << 20) - 100
    head = b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % large
    for wait in (0.5, 2, 8):  # until the server has read them
        uploads = [server.raw() for _ in range(4)]
        for upload in uploads:
            upload.sendall(head + b"x" * (large - 1))
        time.sleep(wait)
        status, body, headers = server.ask("POST", "/v1/predict", b"x" * large)
        small = server.ask("POST", "/v1/predict?gpu=t4", MODEL)[0]
        for upload in uploads:
            upload.close()
        if status == 503:
            break
    check(status == 503 and json.loads(body)["error"]["code"] == "busy" and "Retry-After" in headers, f"a large body too many: 503 ({status})")
    check(small == 200, "a small file beside them")


HEALTHY = b"POST /v1/predict?model=zoo:resnet18&totals=1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"


def damaged(rng, data):
    """A copy of the data, cut and with wrong bytes."""
    data = bytearray(data[:rng.randrange(1, len(data) + 1)])
    for _ in range(rng.randrange(20)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


def malformed(rng):
    """A head that is not HTTP or has a wrong length, and a part of a file."""
    heads = [b"POST /v1/predict?gpu=t4 HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n", b"GET / HTTP/1.1\r\n", b"\x00" * 50,
             b"POST /v1/batch HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n",
             b"POST /v1/inspect HTTP/1.1\r\nHost: localhost\r\nContent-Length: -%d\r\n\r\n", b"GET /" + b"a" * 9000 + b" HTTP/9.9\r\n\r\n"]
    head = rng.choice(heads)
    if b"%d" in head or b"%x" in head:
        head %= rng.randrange(1 << rng.randrange(1, 40))
    return head + damaged(rng, MODEL)


def damaged_file(rng):
    """A whole request with a damaged file."""
    body = damaged(rng, MODEL)
    path = rng.choice(["predict?gpu=t4", "inspect", "mig?gpu=a100", "convert"])
    return b"POST /v1/%s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % (path.encode(), len(body)) + body


def random_options(rng):
    """JSON with invalid options."""
    values = [-1, 0, 1e300, "", "x" * 500, [], {}, None, True, ["t4"] * 50, "../../etc/passwd", "\u0000", "zoo:" + "a" * 300]
    keys = ["model", "gpu", "batch", "precision", "mode", "mig", "dims.x", "shape", "interval_percent", "host", "x\ny"]
    question = {"model": "zoo:resnet18", **{rng.choice(keys): rng.choice(values) for _ in range(rng.randrange(1, 6))}}
    body = json.dumps(question).encode()[:rng.choice([10, 100000])]
    head = b"POST /v1/%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    return head % (rng.choice([b"predict", b"batch", b"mig", b"inspect"]), len(body)) + body


def oversized(rng):
    """A body above the limit, with its length or in chunks."""
    if rng.random() < 0.5:
        return b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % (3 << 20) + b"x" * (3 << 20)
    chunk = b"%x\r\n" % (1 << 20) + b"x" * (1 << 20) + b"\r\n"
    return b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk * rng.randrange(1, 6)


def pipeline(rng):
    """Several requests at once, good and bad ones."""
    return b"".join(rng.choice([lambda r: HEALTHY, lambda r: HEALTHY, damaged_file, random_options])(rng) for _ in range(rng.randrange(2, 12)))


def random_bytes(rng):
    return rng.randbytes(rng.randrange(1, 4000))


ATTACKS = [malformed, damaged_file, random_options, oversized, pipeline, random_bytes]


def attack(port, until, seed, counts):
    """Sends hostile requests; reads the answer, a piece of it, or nothing."""
    rng = random.Random(seed)
    while time.monotonic() < until:
        make = rng.choice(ATTACKS)
        try:
            client = socket.create_connection(("127.0.0.1", port), timeout=5)
            with contextlib.closing(client):
                request = make(rng)
                counts[make.__name__] = counts.get(make.__name__, 0) + 1
                client.sendall(request[:rng.randrange(1, len(request))] if rng.random() < 0.2 else request)
                if rng.random() < 0.5:
                    client.settimeout(0.2)
                    client.recv(4096)
        except OSError:
            pass


def wait_slowly(server, until, count, opened):
    """Keeps `count` endless uploads open: each sends a byte now and then, and restarts if the server closes it."""
    head = b"POST /v1/predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\nabc"
    clients = []
    while time.monotonic() < until:
        alive = []
        for client in clients:
            try:
                client.send(b"x")
                alive.append(client)
            except OSError:
                client.close()
        clients = alive
        while len(clients) < count and time.monotonic() < until:
            try:
                clients.append(server.raw())
                clients[-1].sendall(head)
                opened[0] += 1
            except OSError:
                break
        opened[1] = max(opened[1], len(clients))
        time.sleep(min(5, max(0, until - time.monotonic())))
    for client in clients:
        client.close()


def bad_clients(server, check):
    room = min(1000, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 100)
    until, counts, opened = time.monotonic() + SECONDS, {}, [0, 0]
    slow = threading.Thread(target=wait_slowly, args=(server, until, room, opened))
    attackers = [threading.Thread(target=attack, args=(server.port, until, seed, counts)) for seed in range(4)]
    for thread in (slow, *attackers):
        thread.start()
    wrong, times, before = [], [], server.resident_kib()
    while time.monotonic() < until:
        began = time.monotonic()
        try:
            status, body, _ = server.post("/v1/predict", {"model": "zoo:resnet18", "gpu": "t4", "totals": True})
            if status != 200 or json.loads(body)["gpu"] != "t4":
                wrong.append(f"{status}")
        except OSError as why:
            wrong.append(str(why))
        times.append(time.monotonic() - began)
        if times[-1] > 10:
            wrong.append("an answer took 10 s")
    for thread in (slow, *attackers):
        thread.join()
    times.sort()
    print(f"# {SECONDS:.0f} s: {sum(counts.values())} hostile requests ({', '.join(f'{n} {c}' for n, c in sorted(counts.items()))}), "
          f"{opened[0]} slow uploads, {opened[1]} at once; healthy answers: median {1e3 * times[len(times) // 2]:.1f} ms, "
          f"p99 {1e3 * times[len(times) * 99 // 100]:.1f} ms, slowest {1e3 * times[-1]:.0f} ms")
    check(server.process.poll() is None and times and not wrong,
          f"{len(times)} healthy clients are answered beside {room} slow and four hostile ones {wrong[:5] or ''}")
    check(opened[1] > room * 0.9, f"{opened[1]} slow clients at once")
    grown = server.resident_kib() - before
    check("fsanitize" in (BUILD / "flags").read_text() or grown < 200 << 10, f"memory stays: {grown >> 10} MiB more")


def main():
    number = 0

    def check(good, name):
        nonlocal number
        number += 1
        print(f"{'ok' if good else 'not ok'} {number} - {name}", flush=True)

    def skip(name, why):
        nonlocal number
        number += 1
        print(f"ok {number} - {name} # SKIP {why}", flush=True)

    if b"without libmicrohttpd" in subprocess.run([PROGRAM, "serve", "--bind", "x"], capture_output=True).stderr:
        skip("sooth serve", "the program was built without libmicrohttpd")
        print(f"1..{number}")
        return
    server = Server("--max-mib", "2", "--threads", "2")
    check(server.port, f"it starts {'' if server.port else server.text()}")
    if not server.port:
        sys.exit(1)
    answers(server, check)
    openapi(server, check, skip)
    refusals(server, check)
    pipelined(server, check)
    crowded(server, check)
    bad_clients(server, check)
    lines = [line for line in server.text().splitlines() if line.startswith("{")]
    parsed = [json.loads(line) for line in lines]
    check(len(parsed) > 30 and all({"time", "peer", "method", "path", "status", "ms"} <= set(p) for p in parsed), "the log is JSON lines")
    batches = list(range(1, 25))
    long = threading.Thread(target=lambda: results.append(server.post("/v1/predict", {"model": "zoo:swin_b", "gpu": "t4", "batch": batches})[0]))
    results = []
    idle = server.running()
    long.start()
    while long.is_alive() and server.running() == idle:
        pass
    code = server.stop(300)
    long.join()
    check(code == 0 and results and results[0] in (200, 503), f"SIGTERM: exit 0, and a request that runs is answered ({code}, {results})")
    if code:
        print(*[f"# {line}" for line in server.text().splitlines() if not line.startswith("{")][:40], sep="\n")
    busy = subprocess.run([PROGRAM, "serve", "--bind", "nowhere"], capture_output=True, text=True)
    check(busy.returncode == 2 and "127.0.0.1" in busy.stderr, "an address that is none")
    print(f"1..{number}")


if __name__ == "__main__":
    main()
