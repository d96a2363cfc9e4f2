#!/usr/bin/env python3
"""The Python module: structures as in the header, answers as from the program, failures as exceptions, the notebook's
cells.

Runs with the Python that runs the tests, without installed packages. Parts that need PyTorch, torchvision or timm use
the Python in SOOTH_TORCH_PYTHON (default: this one) and are skipped if the package is missing.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import traceback

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("SOOTH_BUILD") or TOP / "build")
os.environ["SOOTH_LIBRARY"] = str(BUILD / "libsooth.so.0")
PYTHON = os.environ.get("SOOTH_TORCH_PYTHON", sys.executable)
SANITIZED = "fsanitize" in (BUILD / "flags").read_text()
sys.path.insert(0, str(TOP / "python"))

TORCH_SCRIPT = r"""
import json, sys, warnings
warnings.filterwarnings("ignore")
import torch, sooth
library, names = sys.argv[1], sys.argv[2:]
answers = []
for name in names:
    if library == "torchvision":
        import torchvision
        network = getattr(torchvision.models, name)(weights=None)
    else:
        import timm
        network = timm.create_model(name, pretrained=False)
    model = sooth.export(network.eval(), torch.zeros(2, 3, 224, 224))
    prediction = model.predict(gpu="rtx-3090")
    answers.append({"name": name, "params": model.totals["params"], "truth": sum(p.numel() for p in network.parameters()),
                    "unknown": model.structure["unknown_operators"], "macs": model.totals["macs"], "ms": prediction.latency_ms,
                    "batch": prediction.batch, "training": network.training, "file": prediction.data["model"]["file"],
                    "class": type(network).__name__})
print(json.dumps(answers))
"""
TORCH_NETWORKS = {"torchvision": ["resnet18", "mobilenet_v3_small", "efficientnet_b0", "vit_b_16"],
                  "timm": ["resnet26", "mobilenetv3_small_100", "vit_tiny_patch16_224", "convnext_atto"]}

tests = []


def test(function):
    tests.append(function)
    return function


class Skipped(Exception):
    pass


def header_fields(name):
    """Names of the fields of a structure of sooth.h, in order."""
    text = re.sub(r"/\*.*?\*/", "", (TOP / "include/sooth.h").read_text(), flags=re.S)
    body = re.search(r"typedef struct " + name + r" \{(.*?)\n\} " + name + ";", text, re.S)[1]
    body = re.sub(r"\(\*(\w+)\)\([^)]*\)", r"\1", body)
    fields = []
    for line in body.split(";"):
        names = re.sub(r"\[\d+\]", "", line).split(",")
        fields += [re.search(r"(\w+)\s*$", n)[1] for n in names if re.search(r"\w", n)]
    return fields


@test
def structures_are_those_of_the_header():
    from sooth import _library
    for name, structure in _library.STRUCTURES.items():
        assert [f for f, *_ in structure._fields_] == header_fields(name), name


@test
def every_declared_function_is_exported_and_the_version_fits():
    import sooth
    assert re.fullmatch(r"\d+\.\d+\.\d+", sooth.version())
    project = (TOP / "python/pyproject.toml").read_text()
    assert f'version = "{sooth.version()}"' in project


@test
def structure_is_what_the_program_prints():
    import sooth
    done = subprocess.run([BUILD / "sooth", "inspect", "zoo:resnet50", "--batch", "2", "--format", "json"], capture_output=True)
    told = json.loads(done.stdout)
    model = sooth.load("zoo:resnet50", batch=2)
    assert model.totals == told["totals"] and model.layers == told["layers"] and model.inputs == told["inputs"]
    assert model.totals["params"] == 25557032


@test
def predictions_are_what_the_program_prints():
    import sooth
    done = subprocess.run([BUILD / "sooth", "predict", "zoo:vgg16", "--gpu", "a100", "--batch", "4", "--precision", "fp16",
                           "--format", "json"], capture_output=True)
    told = json.loads(done.stdout)
    prediction = sooth.load("zoo:vgg16").predict(gpu="a100", batch=4, precision="fp16")
    assert prediction.data["latency_ms"] == told["latency_ms"] and prediction.layers == told["layers"]
    assert prediction.batch == 4 and prediction.interval_ms[0] <= prediction.latency_ms <= prediction.interval_ms[1]
    assert abs(sum(row["latency_ms"] for row in prediction.layers) / prediction.latency_ms - 1) < 0.001
    assert prediction.memory["value"] > 100 and prediction.memory_mib == prediction.memory["value"]


@test
def dimensions_stay_as_they_were_bound():
    import sooth
    model = sooth.load("zoo:resnet18")
    assert model.predict().batch == 1
    assert model.predict(batch=8).batch == 8
    assert model.predict(gpu="rtx-3090").batch == 1  # another question
    assert model.largest_batch("t4") > 1 and model.predict().batch == 1
    assert model.mig(batch=4)["workloads"][0]["batch"] == 4 and model.mig()["workloads"][0]["batch"] == 1
    assert model.predict(shapes={"input": [2, 3, 64, 64]}).latency_ms < model.predict(batch=2).latency_ms
    assert model.bind(batch=3).predict(kernels=True).kernels[0]["op"]
    assert model.predict(batch=5).batch == 5 and model.predict().batch == 3
    shaped = sooth.load("zoo:resnet18", batch=2, shapes={"input": [None, 3, 64, 64]})
    assert shaped.inputs[0]["shape"] == [2, 3, 64, 64] and shaped.predict(batch=5).batch == 5
    assert shaped.inputs[0]["shape"] == [2, 3, 64, 64] and shaped.predict().batch == 2
    try:
        shaped.predict(dims={"nothing": 3})
    except sooth.UsageError as error:
        assert "nothing" in str(error)
    assert shaped.predict().batch == 2 and shaped.inputs[0]["shape"] == [2, 3, 64, 64]


@test
def a_frame_without_pandas_says_what_to_do():
    import sooth
    prediction = sooth.load("zoo:resnet18").predict()
    before = sys.modules.get("pandas")
    sys.modules["pandas"] = None  # hides the package
    try:
        prediction.frame
        raise AssertionError("a frame without pandas")
    except ImportError as error:
        assert "pip install pandas" in str(error) and "layers" in str(error), error
    finally:
        sys.modules.pop("pandas")
        if before is not None:
            sys.modules["pandas"] = before


@test
def a_language_model_by_its_configuration():
    import sooth
    config = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "num_hidden_layers": 2,
              "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 100}
    with tempfile.TemporaryDirectory() as directory:
        pathlib.Path(directory, "config.json").write_text(json.dumps(config))
        model = sooth.load(directory)
    assert model.bind(batch=1, seq=8).totals["macs"] > model.bind(batch=1, seq=1, past=8).totals["macs"] > 0
    assert model.predict(gpu="h100", seq=1, past=100).latency_ms > 0
    assert model.inputs[2]["shape"] == [1, 4, 8, 16]
    assert model.bind(batch=1, seq=1, past=100).inputs[2]["shape"] == [1, 4, 100, 16]


@test
def slices():
    import sooth
    prediction = sooth.load("zoo:resnet50").predict(gpu="a100", batch=8)
    assert prediction.mig.possible and re.fullmatch(r"\dg\.\d+gb", prediction.mig.profile), prediction.mig.data
    assert len(prediction.mig.candidates) > 2 and prediction.mig.notes == []
    noted = sooth.load("zoo:resnet50").mig(gpu="a100", stack="pt9.9-cu999")
    assert "pt9.9-cu999" in noted.notes[0] and "pt9.9-cu999" in noted._repr_html_(), noted.data
    none = sooth.load("zoo:resnet50").mig(gpu="a100", batch=8, latency_ms=0.0001)
    assert not none.possible and none.profile is None


@test
def what_fits_and_what_to_know():
    import sooth
    model = sooth.load("zoo:resnet50")
    surely = model.largest_batch("t4", mode="train")
    at_most = model.largest_batch("t4", mode="train", by_estimate=True)
    assert 1 < surely < at_most and model.predict("t4").batch == 1
    assert model.predict("t4", batch=surely, mode="train").fits is True
    barely = model.predict("t4", batch=at_most, mode="train")
    assert barely.fits is False and barely.data["fits"] is True
    bf16 = model.predict("t4", batch=1, precision="bf16", co2_g_per_kwh=400)
    assert bf16.data["arithmetic"] == "fp32" and "bf16" in bf16.notes[0] and "bf16" in bf16._repr_html_() and bf16.co2_g > 0
    assert model.predict("a100", batch=1, precision="bf16").notes == []
    for ask in (model.largest_batch, model.mig):
        try:
            ask("a100", precison="fp16")
            raise AssertionError("a mistyped option was taken")
        except TypeError as error:
            assert "precison" in str(error)


@test
def a_search_is_what_the_program_finds():
    import sooth
    found = sooth.search("nasbench201", gpu="a100", batch=256, latency_ms=8, method="random", trials=20, seed=3, accuracy=len)
    assert found.possible and found["evaluated"] == 20 and len(found.best) == 10, found
    again = sooth.search("nasbench201", gpu="a100", batch=256, latency_ms=8, method="random", trials=20, seed=3, accuracy=len)
    assert again.best == found.best
    assert all(row["latency_ms"]["value"] <= 8 and row["accuracy"] == len(row["architecture"]) for row in found.best)
    table = {row["architecture"]: i for i, row in enumerate(found.best)}
    named = sooth.search("nasbench201", gpu="a100", batch=256, accuracy=table, prune=(table, 0.0002))
    assert named.best[0]["architecture"] == found.best[-1]["architecture"], named.best[0]
    assert len(named.candidates["latency_ms"]) == 15625 and named.candidates["accuracy"].count(None) == 15625 - len(table)
    none = sooth.search("nasbench201", latency_ms=1e-6, method="random", trials=5, accuracy=len)
    assert not none.possible and none["feasible"] == 0
    for wrong, kind in (({"space": "nasbench202"}, sooth.UsageError), ({"space": "nasbench201", "method": "best"}, ValueError)):
        try:
            sooth.search(**wrong)
            raise AssertionError(f"{wrong} was accepted")
        except kind:
            pass

    def fails(architecture):
        raise KeyError(architecture)
    try:
        sooth.search("nasbench201", method="random", trials=5, accuracy=fails)
        raise AssertionError("the failure was lost")
    except KeyError:
        pass


@test
def a_choice_is_what_the_program_prints():
    import sooth
    done = subprocess.run([BUILD / "sooth", "choose", "zoo:resnet50", "--gpu", "t4,a100", "--latency-ms", "20", "--price", "t4=0.35,a100=3",
                           "--epoch", "1281167", "-f", "json"], capture_output=True)
    printed = json.loads(done.stdout)
    found = sooth.choose("zoo:resnet50", ["t4", "a100"], latency_ms=20, prices={"t4": 0.35, "a100": 3}, epoch_samples=1281167)
    assert found.data == printed and found.possible and found.best == printed["choices"][0]
    model = sooth.load("zoo:resnet50", batch=3)
    none = sooth.choose(model, ["t4"], latency_ms=0.01)
    assert not none.possible and none.best is None and "target" in none.choices[0]["reason"]
    assert model.predict(gpu="t4").data == sooth.load("zoo:resnet50", batch=3).predict(gpu="t4").data, "the model keeps its batch"
    for prices, kind in (({"t5": 1}, sooth.UsageError), ({"t4": 0}, ValueError)):
        try:
            sooth.choose("zoo:resnet50", ["t4"], prices=prices)
            raise AssertionError(f"{prices} was accepted")
        except kind:
            pass


@test
def failures_are_exceptions():
    import sooth
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory, "text.onnx")
        path.write_text("hello")
        for bad, kind, part in ((lambda: sooth.load(path), sooth.InputError, "text.onnx"),
                                (lambda: sooth.load("zoo:resnet51"), sooth.UsageError, "resnet50"),
                                (lambda: sooth.load(directory + "/none"), sooth.SystemFailure, "none"),
                                (lambda: sooth.load("zoo:resnet18").predict(gpu="a1000"), sooth.UsageError, "a1000"),
                                (lambda: sooth.load("zoo:resnet18").bind(dims={"x": 3}), ValueError, "'x'")):
            try:
                bad()
            except kind as error:
                assert part in str(error) and isinstance(error, sooth.SoothError), error
            else:
                raise AssertionError(f"no {kind.__name__}")


@test
def arguments_of_another_type():
    import sooth
    model = sooth.load("zoo:resnet18")
    for bad, kind, part in ((lambda: model.predict(batch="8"), TypeError, "one whole number"),
                            (lambda: model.predict(batch=[1, 8]), TypeError, "ask once for each"),
                            (lambda: model.bind(batch=0), ValueError, "at least 1"),
                            (lambda: model.predict(gpu=["t4", "a100"]), TypeError, "ask once for each")):
        try:
            bad()
            raise AssertionError(f"no {kind.__name__}")
        except kind as error:
            assert part in str(error), error


@test
def pictures_and_tables_for_notebooks():
    import sooth
    prediction = sooth.load("zoo:resnet18").predict(gpu="a100")
    page = prediction._repr_html_()
    assert "<svg" in page and page.count("<rect") == 12 and "<table>" in page and "a100" in page
    assert "<table>" in sooth.load("zoo:resnet18", batch=1)._repr_html_()
    assert "<script>" not in sooth.Rows([{"a": "<script>"}])._repr_html_()
    try:
        import pandas  # noqa: F401
    except ImportError:
        raise Skipped("pandas is not installed")
    assert list(prediction.frame["latency_ms"]) == [row["latency_ms"] for row in prediction.layers]


@test
def gpus_and_graphs():
    import sooth
    assert any(gpu["name"] == "rtx-3090" for gpu in sooth.gpus())
    assert "resnet50" in sooth.zoo()
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory, "again.onnx")
        model = sooth.load("zoo:resnet18")
        path.write_bytes(model.to_onnx())
        assert sooth.load(path, batch=1).totals["macs"] == model.bind(batch=1).totals["macs"]


@test
def a_users_own_gpus_are_those_of_the_program():
    import sooth
    with tempfile.TemporaryDirectory() as directory:
        text = (TOP / "data/gpus/t4.txt").read_text()
        own = re.sub(r"(?m)^aliases.*\n", "", re.sub(r"(?m)^name = .*", "name = mycard", text))
        pathlib.Path(directory, "own.txt").write_text(own)
        before = os.environ.get("SOOTH_GPUS")
        os.environ["SOOTH_GPUS"] = directory
        try:
            model = sooth.load("zoo:resnet18", batch=4)
            prediction = model.predict(gpu="mycard")
            assert prediction.gpu == "mycard"
            told = subprocess.run([BUILD / "sooth", "predict", "zoo:resnet18", "--batch", "4", "--gpu", "mycard", "-f", "json"], capture_output=True)
            assert json.loads(told.stdout)["latency_ms"]["value"] == prediction.latency_ms
            assert model.largest_batch(gpu="mycard") > 1
            assert model.predict(gpu=pathlib.Path(directory, "own.txt")).gpu == "mycard"
        finally:
            os.environ.pop("SOOTH_GPUS")
            if before is not None:
                os.environ["SOOTH_GPUS"] = before
        try:
            model.predict(gpu="mycard")
            raise AssertionError("a GPU that is no longer there was found")
        except sooth.UsageError as error:
            assert "mycard" in str(error)


@test
def totals_come_first_and_the_rest_fits_them():
    import sooth
    model = sooth.load("zoo:resnet18", batch=4)
    early, late = model.predict("t4", kernels=True), model.predict("t4", kernels=True)
    whole = late.data
    assert "layers" not in early._data and early.latency_ms == whole["latency_ms"]["value"] and early["bytes"] == whole["bytes"]
    assert "layers" not in early._data, "totals need no layers"
    model.bind(batch=8).predict("a100")  # the prediction stays unchanged
    assert early.data == whole and list(early.data) == list(whole)
    assert early.data is early.data and early["layers"] is early.data["layers"] and len(early.kernels) == len(whole["kernels"])
    assert early.co2_g is None and early.memory_mib == whole["memory_mib"]["value"]


@test
def the_cells_of_the_notebook_run():
    cells = json.loads((TOP / "python/example.ipynb").read_text())["cells"]
    scope = {}
    for cell in cells:
        if cell["cell_type"] != "code":
            continue
        *lines, last = "".join(cell["source"]).rstrip().split("\n")
        assert not cell["outputs"] and cell["execution_count"] is None
        exec("\n".join(lines), scope)
        shown = eval(last, scope)
        assert shown is not None
        if hasattr(shown, "_repr_html_"):
            assert "<table" in shown._repr_html_()


def exported(library):
    if SANITIZED:
        raise Skipped("the library has sanitizers, which Python does not load")
    if subprocess.run([PYTHON, "-c", f"import torch, {library}"], capture_output=True).returncode:
        raise Skipped(f"PyTorch and {library} are not installed")
    env = dict(os.environ, PYTHONPATH=str(TOP / "python"))
    done = subprocess.run([PYTHON, "-c", TORCH_SCRIPT, library, *TORCH_NETWORKS[library]], capture_output=True, env=env, timeout=900)
    assert done.returncode == 0, done.stderr.decode()[-600:]
    for answer in json.loads(done.stdout.decode().splitlines()[-1]):
        assert answer["file"] == answer["class"], answer  # not the temporary file
        assert answer["params"] == answer["truth"], answer
        assert not answer["unknown"] and answer["macs"] > 0 and answer["ms"] > 0 and answer["batch"] == 2 and not answer["training"], answer


TRACED_SCRIPT = r"""
import warnings, torch, onnx, sooth
class Turn(torch.nn.Module):
    def forward(self, x):
        return x + 1 if x.sum() > 0 else x * 2
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    sooth.export(Turn().eval(), torch.ones(2, 3))
print(sum("traced with these inputs" in str(w.message) for w in seen))
"""


@test
def a_module_that_was_traced_warns():
    if subprocess.run([PYTHON, "-c", "import torch, onnx"], capture_output=True).returncode:
        raise Skipped("PyTorch and onnx are not installed")
    env = dict(os.environ, PYTHONPATH=str(TOP / "python"))
    done = subprocess.run([PYTHON, "-c", TRACED_SCRIPT], capture_output=True, env=env, timeout=300)
    assert done.returncode == 0 and done.stdout.decode().split()[-1] == "1", done.stderr.decode()[-600:]


@test
def modules_of_torchvision():
    exported("torchvision")


@test
def modules_of_timm():
    exported("timm")


def main():
    print(f"1..{len(tests)}")
    failures = 0
    for number, function in enumerate(tests, 1):
        name = "python: " + function.__name__.replace("_", " ")
        try:
            if SANITIZED:
                raise Skipped("the library has sanitizers, which Python does not load")
            function()
            print(f"ok {number} - {name}")
        except Skipped as why:
            print(f"ok {number} - {name} # SKIP {why}")
        except Exception:
            failures += 1
            print(f"not ok {number} - {name}")
            print("# " + traceback.format_exc().strip().replace("\n", "\n# "))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
