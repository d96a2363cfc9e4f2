"""Models: loading, binding dimensions, structure."""

from __future__ import annotations

import contextlib
import ctypes
import json
import operator
import os
import threading
import weakref
from typing import Any, Iterator, Mapping, Optional, Sequence

from . import _library as c
from ._errors import check
from ._prediction import MigPlan, Prediction, Rows

_lib = c.library

#: The library's default GPU.
DEFAULT_GPU = "a100-sxm4-40gb"


def version() -> str:
    """The version of the library."""
    return _lib.sooth_version().decode()


def zoo() -> list[str]:
    """The networks that ``load("zoo:NAME")`` builds."""
    names = []
    while True:
        name = _lib.sooth_zoo_name(len(names))
        if name is None:
            return names
        names.append(name.decode())


def _report(function: Any, *arguments: Any, **options: Any) -> Any:
    """The JSON of one of the library's reports."""
    error, text, size = c.Error(), ctypes.c_void_p(), ctypes.c_size_t()
    wanted = c.ReportOptions(format=c.FORMAT_JSON, **options)
    check(function(*arguments, ctypes.byref(wanted), ctypes.byref(text), ctypes.byref(size), ctypes.byref(error)), error)
    return json.loads(c.take_bytes(text, size.value))


def gpus(directory: "Optional[str | os.PathLike[str]]" = None) -> list[dict[str, Any]]:
    """Known GPUs: those that ship and those of the ``*.txt`` in a directory (default: SOOTH_GPUS)."""
    with _open_gpus(directory) as known:
        return list(_report(_lib.sooth_gpus_report, known, None)["gpus"])


@contextlib.contextmanager
def _open_gpus(directory: "Optional[str | os.PathLike[str]]" = None) -> "Iterator[ctypes.c_void_p]":
    error, handle = c.Error(), ctypes.c_void_p()
    where = c.encoded(directory if directory is not None else os.environ.get("SOOTH_GPUS"))
    check(_lib.sooth_gpus_open(where, ctypes.byref(handle), ctypes.byref(error)), error)
    try:
        yield handle
    finally:
        _lib.sooth_gpus_free(handle)


class _Shipped:
    """The shipped GPUs, which never change and are read once for all models."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known = ctypes.c_void_p()
        self._devices: dict[str, ctypes.c_void_p] = {}

    def find(self, name: str) -> ctypes.c_void_p:
        device = self._devices.get(name)
        if device is not None:
            return device
        with self._lock:
            error, device = c.Error(), ctypes.c_void_p()
            if not self._known:
                check(_lib.sooth_gpus_open(None, ctypes.byref(self._known), ctypes.byref(error)), error)
            check(
                _lib.sooth_gpus_find(self._known, c.encoded(name), ctypes.byref(device), ctypes.byref(error)), error
            )
            self._devices[name] = device
            return device


_shipped = _Shipped()


@contextlib.contextmanager
def _found(gpu: Optional[str]) -> "Iterator[ctypes.c_void_p]":
    """The GPU of that name, alias or path, including those of SOOTH_GPUS."""
    if not isinstance(gpu, (str, os.PathLike, type(None))):
        raise TypeError(f"one GPU's name, not {gpu!r}; ask once for each")
    name = os.fspath(gpu or DEFAULT_GPU)
    if not os.environ.get("SOOTH_GPUS") and "/" not in name and not name.endswith(".txt"):
        yield _shipped.find(name)
        return
    with _open_gpus() as known:
        error, device = c.Error(), ctypes.c_void_p()
        check(_lib.sooth_gpus_find(known, c.encoded(name), ctypes.byref(device), ctypes.byref(error)), error)
        yield device


class _Answer:
    """A prediction held by the library until it is fully read."""

    def __init__(self, handle: ctypes.c_void_p, path: str, kernels: bool) -> None:
        self._handle, self._path, self._kernels = handle, path, kernels
        self._free = weakref.finalize(self, _lib.sooth_prediction_free, handle)
        self._free.atexit = False

    def told(self, **options: Any) -> dict[str, Any]:
        told = _report(_lib.sooth_prediction_report, (ctypes.c_void_p * 1)(self._handle), 1, **options)
        told["model"]["file"] = self._path
        return told

    def whole(self) -> dict[str, Any]:
        return self.told(kernels=self._kernels)


class Model:
    """A network, made by :func:`load`."""

    def __init__(self, path: "str | os.PathLike[str]", name: Optional[str] = None) -> None:
        """`name` replaces the name of a temporary file."""
        self._file = os.fspath(path)
        self.path = name or self._file
        self._lock = threading.RLock()
        error, handle = c.Error(), ctypes.c_void_p()
        status = _lib.sooth_load_file(c.encoded(path), ctypes.byref(handle), ctypes.byref(error))
        self._check(status, error)
        self._handle = handle
        self._finalizer = weakref.finalize(self, _lib.sooth_free, handle)
        self._given = self._dimensions()  # by bind()
        self._bound: Optional[dict[str, Any]] = None    # dimensions that the library has now; a call may bind others
        self._structure: Optional[dict[str, Any]] = None  # `sooth inspect` with the dimensions of bind()
        self._is_batch_open: dict[str, bool] = {}  # by the other dimensions, as text

    def _check(self, status: int, error: "c.Error") -> None:
        check(status, error, self.path, {self._file: self.path})

    # ---- dimensions ------------------------------------------------------------------------------------------------

    def bind(
        self,
        batch: Optional[int] = None,
        dims: Optional[Mapping[str, int]] = None,
        shapes: Optional[Mapping[str, Sequence[Optional[int]]]] = None,
        seq: Optional[int] = None,
        past: Optional[int] = None,
    ) -> "Model":
        """Sets dimensions: the batch, symbolic ones by name, inputs by shape (None: from the file or the batch, which
        replaces the first dimension of a shape); `seq` and `past` are the tokens of a language model and
        of its cache. They apply until the next bind(); other dimensions passed to single calls do not change them.
        Returns the model."""
        with self._lock:
            wanted = self._dimensions(batch, dims, shapes, seq, past)
            self._bind(wanted)
            self._given, self._structure = wanted, None
        return self

    @staticmethod
    def _dimensions(
        batch: Optional[int] = None,
        dims: Optional[Mapping[str, int]] = None,
        shapes: Optional[Mapping[str, Sequence[Optional[int]]]] = None,
        seq: Optional[int] = None,
        past: Optional[int] = None,
    ) -> dict[str, Any]:
        try:
            samples = 0 if batch is None else operator.index(batch)
        except TypeError:
            raise TypeError(f"a batch is one whole number, not {batch!r}; ask once for each") from None
        if samples < 1 and batch is not None:
            raise ValueError(f"a batch is at least 1, not {batch}")
        named = dict(dims or {})
        for name, value in (("seq", seq), ("past", past)):
            if value is not None:
                named[name] = value
        return {"batch": samples, "dims": named, "shapes": {k: list(v) for k, v in (shapes or {}).items()}}

    def _bind(self, wanted: dict[str, Any]) -> None:
        if self._bound == wanted:
            return
        options, error = self._options(wanted), c.Error()
        self._bound = None
        self._check(_lib.sooth_bind(self._handle, ctypes.byref(options), ctypes.byref(error)), error)
        self._bound = wanted

    @staticmethod
    def _options(wanted: Mapping[str, Any]) -> "c.Options":
        dims = (c.DimBinding * len(wanted["dims"]))(*((k.encode(), int(v)) for k, v in wanted["dims"].items()))
        rows = [
            (ctypes.c_int64 * len(v))(*(c.AS_IN_FILE if d is None else d for d in v)) for v in wanted["shapes"].values()
        ]
        shapes = (c.ShapeBinding * len(rows))()
        for shape, name, row in zip(shapes, wanted["shapes"], rows):
            shape.input, shape.rank = name.encode(), len(row)
            shape.dims = ctypes.cast(row, ctypes.POINTER(ctypes.c_int64))
        return c.Options(
            batch=wanted["batch"], dims=dims, dim_count=len(dims), shapes=shapes, shape_count=len(shapes)
        )

    def _bind_for(self, batch: Optional[int], **dimensions: Any) -> dict[str, Any]:
        """Binds for one call: to the dimensions that it passes, else those of bind(), else those of the file with an
        open batch of 1. Earlier calls have no effect. Returns the dimensions."""
        asked = self._dimensions(batch, **dimensions)
        wanted: dict[str, Any] = {key: {**self._given[key], **asked[key]} for key in ("dims", "shapes")}
        wanted["batch"] = asked["batch"] or self._given["batch"]
        self._bind(wanted)
        if not wanted["batch"] and self._has_open_batch():
            wanted = {**wanted, "batch": 1}
            self._bind(wanted)
        return wanted

    def _has_open_batch(self) -> bool:
        key = repr(self._bound)
        if key not in self._is_batch_open:
            inputs = _report(_lib.sooth_report, self._handle)["inputs"]
            shape = (inputs or [{}])[0].get("shape") or []
            self._is_batch_open[key] = bool(shape) and not isinstance(shape[0], int)
        return self._is_batch_open[key]

    # ---- structure -------------------------------------------------------------------------------------------------

    @property
    def structure(self) -> dict[str, Any]:
        """The output of ``sooth inspect --format json``."""
        with self._lock:
            if self._structure is None:
                self._bind(self._given)
                self._structure = _report(_lib.sooth_report, self._handle)
                self._structure["model"]["file"] = self.path
            return self._structure

    @property
    def inputs(self) -> list[dict[str, Any]]:
        return self.structure["inputs"]

    @property
    def outputs(self) -> list[dict[str, Any]]:
        return self.structure["outputs"]

    @property
    def totals(self) -> dict[str, Any]:
        """Parameters, MACs, FLOPs, bytes."""
        return self.structure["totals"]

    @property
    def layers(self) -> Rows:
        """One dict per layer; ``.frame()`` turns them into a pandas frame."""
        return Rows(self.structure["layers"])

    @property
    def notes(self) -> list[str]:
        """Warnings about what is unknown or looks wrong."""
        return self.structure.get("notes", [])

    def to_onnx(self) -> bytes:
        """The graph as an ONNX file without weights."""
        error, data, size = c.Error(), ctypes.c_void_p(), ctypes.c_size_t()
        with self._lock:
            status = _lib.sooth_write_onnx(self._handle, ctypes.byref(data), ctypes.byref(size), ctypes.byref(error))
        self._check(status, error)
        return c.take_bytes(data, size.value)

    # ---- questions -------------------------------------------------------------------------------------------------

    @staticmethod
    def _predict_options(device: Optional[ctypes.c_void_p], how: Mapping[str, Any]) -> "c.PredictOptions":
        texts = ("precision", "layout", "runtime", "mode", "optimizer", "stack", "mig", "host")
        for name in how:
            if name not in texts + ("power_limit_w", "co2_g_per_kwh", "kv_cache_bits", "memory", "interval_percent", "cuda_graphs"):
                raise TypeError(f"there is no option '{name}'")
        return c.PredictOptions(
            device=device,
            power_limit_w=how.get("power_limit_w") or 0,
            co2_g_per_kwh=how.get("co2_g_per_kwh") or 0,
            kv_cache_bits=how.get("kv_cache_bits") or 0,
            memory=bool(how.get("memory", True)),
            interval_percent=how.get("interval_percent") or 0,
            cuda_graphs=bool(how.get("cuda_graphs")),
            **{k: c.encoded(how.get(k)) for k in texts},
        )

    def predict(
        self,
        gpu: Optional[str] = None,
        batch: Optional[int] = None,
        *,
        precision: Optional[str] = None,
        layout: Optional[str] = None,
        runtime: Optional[str] = None,
        mode: Optional[str] = None,
        optimizer: Optional[str] = None,
        stack: Optional[str] = None,
        mig: Optional[str] = None,
        host: Optional[str] = None,
        cuda_graphs: bool = False,
        power_limit_w: Optional[float] = None,
        co2_g_per_kwh: Optional[float] = None,
        kv_cache_bits: Optional[int] = None,
        interval_percent: Optional[int] = None,
        kernels: bool = False,
        dims: Optional[Mapping[str, int]] = None,
        shapes: Optional[Mapping[str, Sequence[Optional[int]]]] = None,
        seq: Optional[int] = None,
        past: Optional[int] = None,
    ) -> Prediction:
        """Predicts time, memory and energy of a pass, or a training step, on a GPU. Omitted arguments have the
        library's defaults. Omitted dimensions are those of bind(), else those of the file (an open batch is 1); earlier
        calls have no effect."""
        how = {
            "precision": precision,
            "layout": layout,
            "runtime": runtime,
            "mode": mode,
            "optimizer": optimizer,
            "stack": stack,
            "mig": mig,
            "host": host,
            "cuda_graphs": cuda_graphs,
            "power_limit_w": power_limit_w,
            "co2_g_per_kwh": co2_g_per_kwh,
            "kv_cache_bits": kv_cache_bits,
            "interval_percent": interval_percent,
        }
        with self._lock, _found(gpu) as device:
            bound = self._bind_for(batch, dims=dims, shapes=shapes, seq=seq, past=past)
            options = self._predict_options(device, how)
            error, handle = c.Error(), ctypes.c_void_p()
            status = _lib.sooth_predict(self._handle, ctypes.byref(options), ctypes.byref(handle), ctypes.byref(error))
            self._check(status, error)
        answer = _Answer(handle, self.path, kernels)
        return Prediction(answer.told(totals=True), self, bound, gpu, how, answer.whole)

    def largest_batch(
        self,
        gpu: Optional[str] = None,
        *,
        by_estimate: bool = False,
        dims: Optional[Mapping[str, int]] = None,
        shapes: Optional[Mapping[str, Sequence[Optional[int]]]] = None,
        seq: Optional[int] = None,
        past: Optional[int] = None,
        **how: Any,
    ) -> int:
        """The largest batch whose memory fits the GPU: the upper end of the interval, or the estimate with
        `by_estimate`. 0 if one sample does not fit. `how` is as in :meth:`predict`."""
        with self._lock, _found(gpu) as device:
            wanted = {**self._bind_for(None, dims=dims, shapes=shapes, seq=seq, past=past), "batch": 0}
            bound, where = self._options(wanted), self._predict_options(device, how)
            where.by_estimate = by_estimate
            error, batch = c.Error(), ctypes.c_int64()
            self._bound = None
            status = _lib.sooth_largest_batch(
                self._handle, ctypes.byref(bound), ctypes.byref(where), 0, ctypes.byref(batch), ctypes.byref(error)
            )
            self._check(status, error)
            return batch.value

    def mig(
        self,
        gpu: Optional[str] = None,
        batch: Optional[int] = None,
        *,
        latency_ms: Optional[float] = None,
        count: int = 1,
        dims: Optional[Mapping[str, int]] = None,
        shapes: Optional[Mapping[str, Sequence[Optional[int]]]] = None,
        seq: Optional[int] = None,
        past: Optional[int] = None,
        **how: Any,
    ) -> MigPlan:
        """The smallest MIG slice of the GPU that fits the model and meets its latency target; `count` instances of it.
        `how` is as in :meth:`predict`. If there is none, the plan has the reason (``plan.possible`` is False)."""
        with self._lock, _found(gpu) as device:
            bound = self._options(self._bind_for(batch, dims=dims, shapes=shapes, seq=seq, past=past))
            work = c.MigWorkload(
                model=self._handle,
                dims=ctypes.pointer(bound),
                options=self._predict_options(None, how),
                latency_ms=latency_ms or 0,
                count=count,
            )
            where = c.MigOptions(device=device)
            error, handle = c.Error(), ctypes.c_void_p()
            status = _lib.sooth_mig_plan_make(
                ctypes.byref(work), 1, ctypes.byref(where), ctypes.byref(handle), ctypes.byref(error)
            )
            if status not in (c.OK, c.ANSWER_NO):
                self._check(status, error)
            try:
                told = _report(_lib.sooth_mig_plan_report, handle)
            finally:
                _lib.sooth_mig_plan_free(handle)
            for work_told in told["workloads"]:
                work_told["model"] = self.path
            for key in ("reason", "nearest"):
                if isinstance(told.get(key), str):
                    told[key] = told[key].replace(self._file, self.path)
        return MigPlan(told, status == c.OK)

    def __repr__(self) -> str:
        return f"<sooth.Model {self.path!r}>"

    def _repr_html_(self) -> str:
        rows = Rows([{"what": k, "value": v} for k, v in self.totals.items() if v is not None])
        return rows._repr_html_()


def load(path: "str | os.PathLike[str]", **dimensions: Any) -> Model:
    """Reads a model's structure; its weights are never read. The format is detected from the bytes; ``"zoo:NAME"`` is a network that
    comes with the library. Keywords are those of :meth:`Model.bind`."""
    model = Model(path)
    return model.bind(**dimensions) if dimensions else model
