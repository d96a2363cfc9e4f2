"""PyTorch modules: exported into a temporary directory, read, predicted. PyTorch is imported on first use."""

from __future__ import annotations

import os
import tempfile
import warnings
from typing import Any, Mapping, Optional, Sequence

from ._errors import SoothError, UnsupportedError
from ._model import Model, load
from ._prediction import Prediction


def _arguments(example_inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(example_inputs, Mapping):
        return (), dict(example_inputs)
    if isinstance(example_inputs, (tuple, list)):
        return tuple(example_inputs), {}
    return (example_inputs,), {}


def _by_torch_export(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], directory: str) -> Model:
    import torch

    path = os.path.join(directory, "module.pt2")
    with torch.no_grad():
        program = torch.export.export(module, args, kwargs)
    torch.export.save(program, path)
    return Model(path, type(module).__name__)


def _by_onnx(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], directory: str) -> Model:
    import torch

    path = os.path.join(directory, "module.onnx")
    given: Any = args + (kwargs,) if kwargs else args
    with torch.no_grad():
        torch.onnx.export(module, given, path, dynamo=False)
    return Model(path, type(module).__name__)


def export(module: Any, example_inputs: Any) -> Model:
    """Reads a PyTorch module: by torch.export, or by ONNX if that fails. `example_inputs` are a tensor, a
    sequence of arguments or a mapping of keywords. The module's mode (training or not) does not change."""
    args, kwargs = _arguments(example_inputs)
    was_training = bool(getattr(module, "training", False))
    problems: list[str] = []
    with tempfile.TemporaryDirectory(prefix="sooth-") as directory:
        try:
            module.eval()
            for way in (_by_torch_export, _by_onnx):
                try:
                    model = way(module, args, kwargs, directory)
                    if problems:
                        warnings.warn("the module was traced with these inputs, because torch.export did not work: what depends on data is as it "
                                      f"was with them ({problems[0]})", stacklevel=2)
                    return model
                except SoothError as error:
                    problems.append(f"{way.__name__[4:]}: {error}")
                except Exception as error:  # exporters raise anything
                    problems.append(f"{way.__name__[4:]}: {type(error).__name__}: {str(error)[:300]}")
        finally:
            if was_training:
                module.train()
    raise UnsupportedError("the module cannot be exported: " + "; ".join(problems))


def predict(
    module: Any,
    example_inputs: Any = None,
    gpu: Optional[str] = None,
    batch: Optional[int] = None,
    **options: Any,
) -> Prediction:
    """Predicts a PyTorch module on a GPU with inputs like the examples; also takes the path of a model file. `options` are those of
    :meth:`Model.predict`."""
    if isinstance(module, (str, os.PathLike)):
        return load(module).predict(gpu, batch, **options)
    if isinstance(module, Model):
        return module.predict(gpu, batch, **options)
    if example_inputs is None:
        raise ValueError("example_inputs are needed to export a module")
    return export(module, example_inputs).predict(gpu, batch, **options)


__all__: Sequence[str] = ["export", "predict"]
