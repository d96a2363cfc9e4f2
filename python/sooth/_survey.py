"""Many networks at once: surveys of GPU utilization, and predictions as columns."""

from __future__ import annotations

import contextlib
import ctypes
import os
from typing import Any, Iterable, Mapping, Optional, Sequence, Union

from . import _library as c
from ._errors import check
from ._model import Model, _found, _lib, _report
from ._prediction import Rows

Network = Union[str, "os.PathLike[str]", Model]

#: The GPUs that `sooth survey` takes by default.
DEFAULT_GPUS = ("t4", "rtx-3090", "a100-sxm4-40gb", "l4", "rtx-4090", "h100-sxm5-80gb")


class Survey:
    """Predictions of many networks: one row for each network, batch, setting and GPU."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data

    @property
    def rows(self) -> Rows:
        """One dict per combination; ``error`` is None if it has a prediction."""
        return Rows(self.data["rows"])

    @property
    def summary(self) -> dict[str, Any]:
        """Quantiles of the utilization by GPU and batch, and rank correlations between GPUs."""
        return dict(self.data["summary"])

    @property
    def columns(self) -> dict[str, list[Any]]:
        """The rows as columns, for NumPy, pandas or polars; a number that a row does not have is None."""
        names: dict[str, None] = {}
        for row in self.data["rows"]:
            names.update(dict.fromkeys(row))
        return {name: [row.get(name) for row in self.data["rows"]] for name in names}

    def __len__(self) -> int:
        return len(self.data["rows"])

    def __repr__(self) -> str:
        failed = sum(1 for row in self.data["rows"] if row["error"])
        return f"<sooth.Survey: {len(self)} rows, {failed} without a prediction>"


def _texts(values: Iterable[Any]) -> Any:
    items = [os.fsencode(v) for v in values]
    return (ctypes.c_char_p * len(items))(*items)


def _graph_of(network: Network) -> str:
    if isinstance(network, Model):
        if network._file != network.path:
            raise TypeError(f"{network.path} was exported to a temporary file: save it, and give the path of the file")
        return network._file
    return os.fspath(network)


def survey(
    networks: Optional[Sequence[Network]] = None,
    gpus: Sequence[str] = DEFAULT_GPUS,
    batches: Sequence[int] = (1, 8, 64),
    precisions: Sequence[str] = (),
    layouts: Sequence[str] = (),
    runtimes: Sequence[str] = (),
    accuracy: Optional[Mapping[str, float]] = None,
    memory: bool = False,
    threads: int = 0,
    journal: "Optional[str | os.PathLike[str]]" = None,
    mode: Optional[str] = None,
    optimizer: Optional[str] = None,
    stack: Optional[str] = None,
) -> Survey:
    """Predicts every combination of networks, GPUs, batches and settings, on all cores.

    `networks` are paths, ``zoo:`` names or loaded models; by default the named networks of the zoo. `accuracy` maps the
    given networks to numbers. `journal` names a file that keeps finished networks: the same survey
    continues there after an interruption. A network that cannot be predicted has rows with an ``error``."""
    graphs = [_graph_of(n) for n in networks] if networks is not None else [f"zoo:{n}" for n in _named_networks()]
    entries = (c.SurveyNetwork * len(graphs))()
    for entry, graph in zip(entries, graphs):
        entry.graph = os.fsencode(graph)
        if accuracy is not None and graph in accuracy:
            entry.accuracy, entry.has_accuracy = float(accuracy[graph]), True
    with contextlib.ExitStack() as held:
        devices = [held.enter_context(_found(gpu)) for gpu in gpus]
        options = c.SurveyOptions(
            networks=entries,
            network_count=len(entries),
            gpus=(ctypes.c_void_p * len(devices))(*devices),
            gpu_count=len(devices),
            batches=(ctypes.c_int64 * len(batches))(*batches),
            batch_count=len(batches),
            precisions=_texts(precisions),
            layouts=_texts(layouts),
            runtimes=_texts(runtimes),
            precision_count=len(precisions),
            layout_count=len(layouts),
            runtime_count=len(runtimes),
            settings=c.PredictOptions(
                mode=c.encoded(mode), optimizer=c.encoded(optimizer), stack=c.encoded(stack), memory=memory
            ),
            threads=threads,
            journal=c.encoded(journal),
        )
        error, handle = c.Error(), ctypes.c_void_p()
        check(_lib.sooth_survey_make(ctypes.byref(options), ctypes.byref(handle), ctypes.byref(error)), error)
    try:
        return Survey(_report(_lib.sooth_survey_report, handle))
    finally:
        _lib.sooth_survey_free(handle)


def _named_networks() -> list[str]:
    names = []
    while (name := _lib.sooth_zoo_name(len(names))) is not None:
        names.append(name.decode())
    return [n for i, n in enumerate(names) if _lib.sooth_zoo_definition(i)]


def predict_many(
    networks: Sequence[Network], gpus: Sequence[str], batches: Sequence[int], **settings: Any
) -> dict[str, list[Any]]:
    """Predictions of all networks on all GPUs at all batches as columns: ``latency_ms``, ``utilization`` and so on, one
    entry for each combination. `settings` are those of :func:`survey`."""
    return survey(networks, gpus, batches, **settings).columns
