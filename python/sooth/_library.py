"""The C library: its location, structures and functions. Internal.

Structures passed to the library are declared as in include/sooth.h (tests/suites/python.py compares the fields).
Results are read from the library's JSON, whose fields are stable.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import os
from pathlib import Path
from typing import Optional

_NAME = "libsooth.so.0"
AS_IN_FILE = -1  # SOOTH_AS_IN_FILE


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("message", ctypes.c_char * 768)]


class DimBinding(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("value", ctypes.c_int64)]


class ShapeBinding(ctypes.Structure):
    _fields_ = [("input", ctypes.c_char_p), ("dims", ctypes.POINTER(ctypes.c_int64)), ("rank", ctypes.c_size_t)]


class Options(ctypes.Structure):
    _fields_ = [
        ("batch", ctypes.c_int64),
        ("dims", ctypes.POINTER(DimBinding)),
        ("dim_count", ctypes.c_size_t),
        ("shapes", ctypes.POINTER(ShapeBinding)),
        ("shape_count", ctypes.c_size_t),
        ("skip_passes", ctypes.c_char_p),
        ("extra_passes", ctypes.c_char_p),
    ]


class ReportOptions(ctypes.Structure):
    _fields_ = [
        ("format", ctypes.c_int),
        ("values", ctypes.c_bool),
        ("top", ctypes.c_size_t),
        ("depth", ctypes.c_size_t),
        ("columns", ctypes.c_size_t),
        ("colors", ctypes.c_bool),
        ("ascii", ctypes.c_bool),
        ("layers", ctypes.c_bool),
        ("kernels", ctypes.c_bool),
        ("memory", ctypes.c_bool),
        ("refusals", ctypes.c_void_p),
        ("refusal_count", ctypes.c_size_t),
        ("totals", ctypes.c_bool),
    ]


class PredictOptions(ctypes.Structure):
    _fields_ = [
        ("gpu", ctypes.c_char_p),
        ("device", ctypes.c_void_p),
        ("predictor", ctypes.c_void_p),
        ("precision", ctypes.c_char_p),
        ("layout", ctypes.c_char_p),
        ("runtime", ctypes.c_char_p),
        ("mode", ctypes.c_char_p),
        ("optimizer", ctypes.c_char_p),
        ("stack", ctypes.c_char_p),
        ("source", ctypes.c_char_p),
        ("mig", ctypes.c_char_p),
        ("host", ctypes.c_char_p),
        ("power_limit_w", ctypes.c_double),
        ("co2_g_per_kwh", ctypes.c_double),
        ("kv_cache_bits", ctypes.c_int),
        ("memory", ctypes.c_bool),
        ("by_estimate", ctypes.c_bool),
        ("interval_percent", ctypes.c_int),
        ("cuda_graphs", ctypes.c_bool),
    ]


class MigWorkload(ctypes.Structure):
    _fields_ = [
        ("model", ctypes.c_void_p),
        ("dims", ctypes.POINTER(Options)),
        ("options", PredictOptions),
        ("latency_ms", ctypes.c_double),
        ("count", ctypes.c_size_t),
        ("name", ctypes.c_char_p),
    ]


class MigOptions(ctypes.Structure):
    _fields_ = [
        ("gpu", ctypes.c_char_p),
        ("device", ctypes.c_void_p),
        ("most_gpus", ctypes.c_size_t),
        ("time_limit_s", ctypes.c_double),
        ("progress", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
    ]


class ZooParameter(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("value", ctypes.c_char_p),
        ("summary", ctypes.c_char_p),
        ("least", ctypes.c_double),
        ("most", ctypes.c_double),
    ]


class SurveyNetwork(ctypes.Structure):
    _fields_ = [
        ("graph", ctypes.c_char_p),
        ("name", ctypes.c_char_p),
        ("accuracy", ctypes.c_double),
        ("has_accuracy", ctypes.c_bool),
    ]


class SurveyOptions(ctypes.Structure):
    _fields_ = [
        ("networks", ctypes.POINTER(SurveyNetwork)),
        ("network_count", ctypes.c_size_t),
        ("gpus", ctypes.POINTER(ctypes.c_void_p)),
        ("gpu_count", ctypes.c_size_t),
        ("batches", ctypes.POINTER(ctypes.c_int64)),
        ("batch_count", ctypes.c_size_t),
        ("precisions", ctypes.POINTER(ctypes.c_char_p)),
        ("layouts", ctypes.POINTER(ctypes.c_char_p)),
        ("runtimes", ctypes.POINTER(ctypes.c_char_p)),
        ("precision_count", ctypes.c_size_t),
        ("layout_count", ctypes.c_size_t),
        ("runtime_count", ctypes.c_size_t),
        ("settings", PredictOptions),
        ("threads", ctypes.c_size_t),
        ("journal", ctypes.c_char_p),
        ("progress", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
    ]


NAS_LOOKUP = ctypes.CFUNCTYPE(
    ctypes.c_bool, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(ctypes.c_double)
)
NAS_EVALUATE = ctypes.CFUNCTYPE(
    ctypes.c_bool,
    ctypes.c_void_p,
    ctypes.POINTER(ctypes.c_char_p),
    ctypes.c_size_t,
    ctypes.POINTER(ctypes.c_double),
)


class NasOptions(ctypes.Structure):
    _fields_ = [
        ("space", ctypes.c_char_p),
        ("device", ctypes.c_void_p),
        ("batch", ctypes.c_int64),
        ("settings", PredictOptions),
        ("latency_ms", ctypes.c_double),
        ("memory_mib", ctypes.c_double),
        ("energy_j", ctypes.c_double),
        ("method", ctypes.c_int),
        ("prune_by", ctypes.c_char_p),
        ("prune_share", ctypes.c_double),
        ("trials", ctypes.c_size_t),
        ("seed", ctypes.c_uint64),
        ("lookup", NAS_LOOKUP),
        ("has_column", ctypes.c_bool * 3),
        ("evaluate", NAS_EVALUATE),
        ("jobs", ctypes.c_size_t),
        ("repeats", ctypes.c_size_t),
        ("within", ctypes.c_double * 4),
        ("within_count", ctypes.c_size_t),
        ("threads", ctypes.c_size_t),
        ("progress", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
        ("like", ctypes.c_void_p),
    ]


class ChooseOptions(ctypes.Structure):
    _fields_ = [
        ("dims", ctypes.POINTER(Options)),
        ("gpus", ctypes.POINTER(ctypes.c_void_p)),
        ("gpu_count", ctypes.c_size_t),
        ("prices_usd_h", ctypes.POINTER(ctypes.c_double)),
        ("precisions", ctypes.POINTER(ctypes.c_char_p)),
        ("layouts", ctypes.POINTER(ctypes.c_char_p)),
        ("runtimes", ctypes.POINTER(ctypes.c_char_p)),
        ("precision_count", ctypes.c_size_t),
        ("layout_count", ctypes.c_size_t),
        ("runtime_count", ctypes.c_size_t),
        ("settings", PredictOptions),
        ("latency_ms", ctypes.c_double),
        ("throughput_per_s", ctypes.c_double),
        ("most_batch", ctypes.c_int64),
        ("with_slices", ctypes.c_bool),
        ("epoch_samples", ctypes.c_int64),
    ]


#: The structures by their names in sooth.h.
STRUCTURES = {
    "sooth_error": Error,
    "sooth_dim_binding": DimBinding,
    "sooth_shape_binding": ShapeBinding,
    "sooth_options": Options,
    "sooth_report_options": ReportOptions,
    "sooth_predict_options": PredictOptions,
    "sooth_mig_workload": MigWorkload,
    "sooth_mig_options": MigOptions,
    "sooth_zoo_parameter": ZooParameter,
    "sooth_survey_network": SurveyNetwork,
    "sooth_survey_options": SurveyOptions,
    "sooth_nas_options": NasOptions,
    "sooth_choose_options": ChooseOptions,
}

FORMAT_TABLE, FORMAT_JSON, FORMAT_CSV = 0, 1, 2
OK, ANSWER_NO = 0, 1


def _candidates() -> list[str]:
    here = Path(__file__).resolve().parent
    named = os.environ.get("SOOTH_LIBRARY")
    if named:
        return [named]
    places = [here / _NAME, here.parent.parent / "build" / _NAME]
    found = [str(p) for p in places if p.exists()]
    installed: Optional[str] = ctypes.util.find_library("sooth")
    return found + [_NAME] + ([installed] if installed else [])


def _open() -> ctypes.CDLL:
    problems = []
    for path in _candidates():
        try:
            return ctypes.CDLL(path)
        except OSError as error:
            problems.append(f"{path}: {error}")
    raise ImportError(
        "libsooth.so is not there; run 'make' in the clone, or set SOOTH_LIBRARY to its path\n" + "\n".join(problems)
    )


def _declare(library: ctypes.CDLL) -> None:
    pointer, text, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_size_t)
    out, error, report = ctypes.POINTER(pointer), ctypes.POINTER(Error), ctypes.POINTER(ReportOptions)
    status = ctypes.c_int
    signatures = {
        "sooth_version": (text, []),
        "sooth_load_file": (status, [text, out, error]),
        "sooth_load_memory": (status, [text, ctypes.c_size_t, text, out, error]),
        "sooth_free": (None, [pointer]),
        "sooth_bind": (status, [pointer, ctypes.POINTER(Options), error]),
        "sooth_report": (status, [pointer, report, out, size, error]),
        "sooth_write_onnx": (status, [pointer, out, size, error]),
        "sooth_predict": (status, [pointer, ctypes.POINTER(PredictOptions), out, error]),
        "sooth_prediction_free": (None, [pointer]),
        "sooth_largest_batch": (
            status,
            [
                pointer,
                ctypes.POINTER(Options),
                ctypes.POINTER(PredictOptions),
                ctypes.c_int64,
                ctypes.POINTER(ctypes.c_int64),
                error,
            ],
        ),
        "sooth_prediction_report": (status, [out, ctypes.c_size_t, report, out, size, error]),
        "sooth_predict_choice": (text, [text, ctypes.c_size_t]),
        "sooth_zoo_name": (text, [ctypes.c_size_t]),
        "sooth_zoo_definition": (text, [ctypes.c_size_t]),
        "sooth_zoo_parameter_at": (ZooParameter, [ctypes.c_size_t, ctypes.c_size_t]),
        "sooth_gpus_open": (status, [text, out, error]),
        "sooth_gpus_find": (status, [pointer, text, out, error]),
        "sooth_gpus_free": (None, [pointer]),
        "sooth_gpus_report": (status, [pointer, pointer, report, out, size, error]),
        "sooth_mig_plan_make": (
            status,
            [ctypes.POINTER(MigWorkload), ctypes.c_size_t, ctypes.POINTER(MigOptions), out, error],
        ),
        "sooth_mig_plan_free": (None, [pointer]),
        "sooth_mig_plan_report": (status, [pointer, report, out, size, error]),
        "sooth_survey_make": (status, [ctypes.POINTER(SurveyOptions), out, error]),
        "sooth_survey_free": (None, [pointer]),
        "sooth_survey_report": (status, [pointer, report, out, size, error]),
        "sooth_nas_search": (status, [ctypes.POINTER(NasOptions), out, error]),
        "sooth_nas_free": (None, [pointer]),
        "sooth_nas_report": (status, [pointer, report, out, size, error]),
        "sooth_gpu_text": (text, [pointer, text]),
        "sooth_choose": (status, [pointer, ctypes.POINTER(ChooseOptions), out, error]),
        "sooth_choices_free": (None, [pointer]),
        "sooth_choose_report": (status, [pointer, report, out, size, error]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments


library = _open()
_declare(library)
_libc = ctypes.CDLL(None)
_libc.free.argtypes = [ctypes.c_void_p]
_libc.free.restype = None


def take_bytes(address: ctypes.c_void_p, size: int) -> bytes:
    """Copies bytes that the caller owns, and frees them."""
    try:
        return ctypes.string_at(address, size)
    finally:
        _libc.free(address)


def encoded(value: "Optional[str | os.PathLike[str]]") -> Optional[bytes]:
    return None if value is None else os.fsencode(value)
