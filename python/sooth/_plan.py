"""Questions over many predictions: a search over architectures, and the choice of a GPU."""

from __future__ import annotations

import contextlib
import csv
import ctypes
import io
import os
from typing import Any, Callable, Iterator, Mapping, Optional, Sequence, Union

from . import _library as c
from ._errors import check
from ._model import Model, _found, _lib, _report, gpus as _known_gpus, load
from ._prediction import Rows
from ._survey import _texts

#: By sooth_nas_method.
METHODS = ("all", "random", "evolution", "local")
ACCURACY, LATENCY_MS, METRIC = range(3)  # sooth_nas_column

Accuracy = Union[Mapping[str, float], Callable[[str], float]]


class Search:
    """A search over a space of architectures."""

    def __init__(self, data: dict[str, Any], candidates: bytes, possible: bool) -> None:
        #: False if no candidate is within the limits.
        self.data, self.possible = data, possible
        self._csv = candidates

    def __getitem__(self, key: str) -> Any:
        return self.data[key]

    @property
    def best(self) -> Rows:
        """The most accurate candidates within the limits; without accuracies those with the highest utilization."""
        return Rows(self.data["best"])

    @property
    def pareto(self) -> Rows:
        """The Pareto front of latency against accuracy; without accuracies against MACs."""
        return Rows(self.data["pareto"])

    @property
    def candidates(self) -> dict[str, list[Any]]:
        """All predicted candidates as columns; a number that a candidate does not have is None."""
        header, *rows = csv.reader(io.StringIO(self._csv.decode()))
        return {name: [_value(row[i]) for row in rows] for i, name in enumerate(header)}

    def __repr__(self) -> str:
        return f"<sooth.Search of {self.data['space']} on {self.data['gpu']}: {self.data['feasible']} feasible>"

    def _repr_html_(self) -> str:
        return self.best._repr_html_()


class Choices:
    """GPUs and slices, ranked: those that meet the target first."""

    def __init__(self, data: dict[str, Any], possible: bool) -> None:
        #: False if nothing meets the target; the nearest then comes first.
        self.data, self.possible = data, possible

    @property
    def choices(self) -> Rows:
        """One dict for each GPU and slice; ``reason`` says why it does not meet the target."""
        return Rows(self.data["choices"])

    @property
    def best(self) -> Optional[dict[str, Any]]:
        """The first that meets the target; None if none does."""
        return self.data["choices"][0] if self.possible else None

    def __len__(self) -> int:
        return len(self.data["choices"])

    def __repr__(self) -> str:
        meeting = sum(1 for x in self.data["choices"] if x["meets"])
        return f"<sooth.Choices: {meeting} of {len(self)} meet the target>"

    def _repr_html_(self) -> str:
        return self.choices._repr_html_()


def _value(text: str) -> Any:
    if not text:
        return None
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text


class _Callbacks:
    """Callbacks for the library over the caller's tables and functions. An exception stops the search and is raised
    after it."""

    def __init__(self, accuracy: Optional[Accuracy], measured: Optional[Mapping[str, float]], metric: Any) -> None:
        self.failure: Optional[BaseException] = None
        self._function = accuracy if callable(accuracy) else None
        self.columns = {ACCURACY: None if callable(accuracy) else accuracy, LATENCY_MS: measured, METRIC: metric}
        self.lookup = c.NAS_LOOKUP(self._look_up)
        self.evaluate = c.NAS_EVALUATE(self._evaluate) if self._function else c.NAS_EVALUATE()

    def _look_up(self, _context: Any, column: int, architecture: bytes, value: Any) -> bool:
        try:
            found = (self.columns[column] or {}).get(architecture.decode())
            if found is None:
                return False
            value[0] = float(found)
            return True
        except BaseException as error:
            self.failure = self.failure or error
            return False

    def _evaluate(self, _context: Any, architectures: Any, count: int, values: Any) -> bool:
        assert self._function is not None
        try:
            for i in range(count):
                values[i] = float(self._function(architectures[i].decode()))
            return True
        except BaseException as error:
            self.failure = self.failure or error
            return False


def search(
    space: "str | os.PathLike[str]",
    gpu: Optional[str] = None,
    batch: int = 1,
    *,
    latency_ms: Optional[float] = None,
    memory_mib: Optional[float] = None,
    energy_j: Optional[float] = None,
    accuracy: Optional[Accuracy] = None,
    measured: Optional[Mapping[str, float]] = None,
    method: str = "all",
    prune: Optional[tuple[Union[str, Mapping[str, float]], float]] = None,
    trials: int = 0,
    seed: int = 0,
    repeats: int = 0,
    within: Sequence[float] = (),
    top: int = 10,
    threads: int = 0,
    precision: Optional[str] = None,
    layout: Optional[str] = None,
    runtime: Optional[str] = None,
    mode: Optional[str] = None,
    stack: Optional[str] = None,
) -> Search:
    """Predicts the candidates of a search space, keeps those within the limits, and finds the most accurate ones.

    `space` is a name (``"nasbench201"``) or the path of a space file. `accuracy` maps architectures to numbers, or is a function that
    evaluates one; `measured` maps them to latencies that replace the predicted ones. `method` is all, random, evolution or local.
    ``prune=("utilization", 0.25)`` searches only the best quarter by a metric, or by a mapping. If nothing is within the limits,
    ``search.possible`` is False."""
    if method not in METHODS:
        raise ValueError(f"a method is one of {', '.join(METHODS)}, not {method!r}")
    if len(within) > 4:
        raise ValueError(f"'within' takes up to four numbers, not {len(within)}")
    by, share = prune if prune else (None, 0.0)
    calls = _Callbacks(accuracy, measured, by if isinstance(by, Mapping) else None)
    with _found(gpu) as device:
        options = c.NasOptions(
            space=c.encoded(space),
            device=device,
            batch=batch,
            settings=c.PredictOptions(
                precision=c.encoded(precision),
                layout=c.encoded(layout),
                runtime=c.encoded(runtime),
                mode=c.encoded(mode),
                stack=c.encoded(stack),
            ),
            latency_ms=latency_ms or 0,
            memory_mib=memory_mib or 0,
            energy_j=energy_j or 0,
            method=METHODS.index(method),
            prune_by=b"table" if isinstance(by, Mapping) else c.encoded(by),
            prune_share=share,
            trials=trials,
            seed=seed,
            lookup=calls.lookup,
            has_column=(ctypes.c_bool * 3)(*(calls.columns[k] is not None for k in range(3))),
            evaluate=calls.evaluate,
            repeats=repeats,
            within=(ctypes.c_double * 4)(*within),
            within_count=len(within),
            threads=threads,
        )
        error, handle = c.Error(), ctypes.c_void_p()
        status = _lib.sooth_nas_search(ctypes.byref(options), ctypes.byref(handle), ctypes.byref(error))
        try:
            if calls.failure:
                raise calls.failure
            if status != c.ANSWER_NO or not handle:
                check(status, error)
            found = _report(_lib.sooth_nas_report, handle, top=top)
            text, size = ctypes.c_void_p(), ctypes.c_size_t()
            wanted = c.ReportOptions(format=c.FORMAT_CSV)
            check(
                _lib.sooth_nas_report(
                    handle, ctypes.byref(wanted), ctypes.byref(text), ctypes.byref(size), ctypes.byref(error)
                ),
                error,
            )
            return Search(found, c.take_bytes(text, size.value), status == c.OK)
        finally:
            _lib.sooth_nas_free(handle)


def _name_of(device: ctypes.c_void_p) -> str:
    return str(_lib.sooth_gpu_text(device, b"name").decode())


def _prices_of(devices: Sequence[ctypes.c_void_p], prices: Mapping[str, float]) -> "Iterator[float]":
    """Prices by device; 0 if not given. An unknown GPU is an error."""
    by_name = {}
    for gpu, usd in prices.items():
        if not usd > 0:
            raise ValueError(f"the price of {gpu!r} is {usd!r}, not a number above 0")
        with _found(gpu) as device:
            by_name[_name_of(device)] = float(usd)
    return (by_name.get(_name_of(device), 0.0) for device in devices)


def choose(
    model: "str | os.PathLike[str] | Model",
    gpus: Optional[Sequence[str]] = None,
    *,
    latency_ms: Optional[float] = None,
    throughput_per_s: Optional[float] = None,
    prices: Optional[Mapping[str, float]] = None,
    precisions: Sequence[str] = (),
    layouts: Sequence[str] = (),
    runtimes: Sequence[str] = (),
    slices: bool = True,
    most_batch: int = 0,
    epoch_samples: int = 0,
    mode: Optional[str] = None,
    optimizer: Optional[str] = None,
    stack: Optional[str] = None,
    dims: Optional[Mapping[str, int]] = None,
    shapes: Optional[Mapping[str, Sequence[Optional[int]]]] = None,
    seq: Optional[int] = None,
    past: Optional[int] = None,
) -> Choices:
    """For each GPU and MIG slice the largest batch and the best setting that meet a target, ranked by cost, or by throughput without prices.

    `gpus` defaults to all known ones; `prices` are USD per hour by GPU; `epoch_samples` adds the time and cost of an
    epoch.
    If nothing meets the target, ``choices.possible`` is False and the nearest comes first."""
    network = model if isinstance(model, Model) else load(model)
    names = [gpu["name"] for gpu in _known_gpus()] if gpus is None else list(gpus)
    with network._lock, contextlib.ExitStack() as held:
        devices = [held.enter_context(_found(name)) for name in names]
        usd = (ctypes.c_double * len(devices))(*_prices_of(devices, prices or {}))
        wanted = {**network._bind_for(None, dims=dims, shapes=shapes, seq=seq, past=past), "batch": 0}
        bound = network._options(wanted)
        options = c.ChooseOptions(
            dims=ctypes.pointer(bound),
            gpus=(ctypes.c_void_p * len(devices))(*devices),
            gpu_count=len(devices),
            prices_usd_h=usd,
            precisions=_texts(precisions),
            layouts=_texts(layouts),
            runtimes=_texts(runtimes),
            precision_count=len(precisions),
            layout_count=len(layouts),
            runtime_count=len(runtimes),
            settings=c.PredictOptions(mode=c.encoded(mode), optimizer=c.encoded(optimizer), stack=c.encoded(stack)),
            latency_ms=latency_ms or 0,
            throughput_per_s=throughput_per_s or 0,
            most_batch=most_batch,
            with_slices=slices,
            epoch_samples=epoch_samples,
        )
        error, handle = c.Error(), ctypes.c_void_p()
        network._bound = None
        status = _lib.sooth_choose(network._handle, ctypes.byref(options), ctypes.byref(handle), ctypes.byref(error))
        if status not in (c.OK, c.ANSWER_NO):
            network._check(status, error)
        try:
            found = _report(_lib.sooth_choose_report, handle)
        finally:
            _lib.sooth_choices_free(handle)
        found["model"] = network.path
    return Choices(found, status == c.OK)
