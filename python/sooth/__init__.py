"""Sooth: predicts what a neural network costs on a GPU, from its file.

    >>> import sooth
    >>> model = sooth.load("resnet50.onnx")
    >>> model.totals["params"]
    >>> prediction = model.predict(gpu="a100", batch=32, precision="amp")
    >>> prediction.latency_ms
    >>> prediction.layers[0]

``sooth.predict(module, example_inputs, gpu=...)`` does the same for a module of PyTorch.
"""

from ._errors import AnswerIsNo, InputError, SoothError, SystemFailure, UnsupportedError, UsageError
from ._model import Model, gpus, load, version, zoo
from ._plan import Choices, Search, choose, search
from ._prediction import MigPlan, Prediction, Rows
from ._survey import Survey, predict_many, survey
from ._torch import export, predict

__version__ = version()

__all__ = [
    "AnswerIsNo",
    "Choices",
    "InputError",
    "MigPlan",
    "Model",
    "Prediction",
    "Rows",
    "Search",
    "SoothError",
    "Survey",
    "SystemFailure",
    "UnsupportedError",
    "UsageError",
    "choose",
    "export",
    "gpus",
    "load",
    "predict",
    "predict_many",
    "search",
    "survey",
    "version",
    "zoo",
]
