"""A headless Chromium for tests, controlled by chromedriver's WebDriver protocol, and a server for the page. Needs only
Python's library."""
import base64
import functools
import http.client
import http.server
import json
import re
import shutil
import subprocess
import threading
import time


class Handler(http.server.SimpleHTTPRequestHandler):
    extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map,
                      ".js": "text/javascript", ".wasm": "application/wasm", ".svg": "image/svg+xml"}

    def log_message(self, *arguments):
        pass


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        """Browsers close connections at any time."""


def serve(directory):
    """Serves the directory on a free port; returns (server, URL)."""
    server = Server(("127.0.0.1", 0), functools.partial(Handler, directory=str(directory)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, f"http://127.0.0.1:{server.server_port}/"


class Failed(Exception):
    pass


def missing():
    """What is missing on this machine to run a Browser; "" if nothing."""
    return ", ".join(name for name in ("chromium", "chromedriver") if not shutil.which(name))


class Browser:
    def __init__(self, width=1280, height=900, dark=False, mobile=False, directory=None):
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        line = ""
        while "started successfully on port" not in line:
            line = self.driver.stdout.readline()
            if not line:
                raise Failed("chromedriver does not start")
        self.port = int(re.search(r"on port (\d+)", line)[1])
        threading.Thread(target=self.driver.stdout.read, daemon=True).start()
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                     "--force-prefers-reduced-motion", f"--window-size={width},{height}"]
        options = {"args": arguments, "prefs": {"download.default_directory": str(directory or "/dev/null")}}
        answer = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}}})
        self.session = f"/session/{answer['sessionId']}"
        self.metrics(width, height, mobile=mobile)
        self.dark(dark)
        self.post("/timeouts", {"script": 60000})

    def call(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        connection.request(method, path, json.dumps(body) if body is not None else None, {"Content-Type": "application/json"})
        answer = json.loads(connection.getresponse().read())["value"]
        connection.close()
        if isinstance(answer, dict) and answer.get("error"):
            raise Failed(f"{answer['error']}: {answer['message'][:400]}")
        return answer

    def post(self, path, body):
        return self.call("POST", self.session + path, body)

    def devtools(self, command, **parameters):
        return self.post("/goog/cdp/execute", {"cmd": command, "params": parameters})

    def metrics(self, width, height, scale=1, mobile=False):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=mobile)

    def dark(self, dark):
        self.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, url):
        self.post("/url", {"url": url})

    def run(self, script, *arguments):
        """The value that the script returns."""
        return self.post("/execute/sync", {"script": script, "args": list(arguments)})

    def run_async(self, script, *arguments):
        """The value that the async function body returns."""
        wrapped = f"const done = arguments[arguments.length - 1]; (async (args) => {{ {script} }})([...arguments].slice(0, -1)).then((v) => done({{value: v}}), (e) => done({{error: String(e.stack || e)}}))"
        answer = self.post("/execute/async", {"script": wrapped, "args": list(arguments)})
        if "error" in answer:
            raise Failed(answer["error"])
        return answer.get("value")

    def until(self, script, seconds=20, *arguments):
        """Waits until the script's value is true, and returns it."""
        end = time.time() + seconds
        while True:
            value = self.run(script, *arguments)
            if value:
                return value
            if time.time() > end:
                raise Failed(f"not within {seconds} s: {script}")
            time.sleep(0.02)

    def find(self, selector):
        return next(iter(self.post("/element", {"using": "css selector", "value": selector}).values()))

    def click(self, selector):
        self.post(f"/element/{self.find(selector)}/click", {})

    def type(self, selector, text):
        self.post(f"/element/{self.find(selector)}/value", {"text": text})

    def drop(self, paths, x=600, y=400):
        """Drops files and directories on the page, as from a file manager."""
        data = {"items": [], "files": [str(p) for p in paths], "dragOperationsMask": 1}
        for kind in ("dragEnter", "dragOver", "drop"):
            self.devtools("Input.dispatchDragEvent", type=kind, x=x, y=y, data=data)

    def console(self):
        """Errors and warnings on the console since the last call."""
        return [entry["message"] for entry in self.post("/se/log", {"type": "browser"}) if entry["level"] in ("SEVERE", "WARNING")]

    def picture(self):
        return base64.b64decode(self.call("GET", self.session + "/screenshot"))

    def close(self):
        try:
            self.call("DELETE", self.session)
        except (OSError, Failed):
            pass
        self.driver.terminate()
        self.driver.wait()
