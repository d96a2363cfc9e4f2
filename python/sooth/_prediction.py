"""Predictions and plans: plain data with a display for notebooks."""

from __future__ import annotations

import html
import threading
from typing import TYPE_CHECKING, Any, Callable, Iterable, Mapping, Optional

if TYPE_CHECKING:
    import pandas

    from ._model import Model


def _number(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, (list, tuple)):
        return "×".join(str(v) for v in value)
    return "" if value is None else str(value)


def _cell(value: Any) -> str:
    align = "right" if isinstance(value, (int, float)) else "left"
    return f'<td style="text-align:{align}">{html.escape(_number(value))}</td>'


class Rows(list):
    """A list of dicts, displayed as a table in notebooks."""

    SHOWN = 30

    def frame(self) -> "pandas.DataFrame":
        """The rows as a frame; needs pandas."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError(
                "a frame needs pandas, which is not installed: `pip install pandas`, or take the rows as they are "
                "(`layers` and `kernels` are lists of dicts)"
            ) from error

        return pandas.DataFrame(list(self))

    def _repr_html_(self) -> str:
        if not self:
            return "<p>no rows</p>"
        keys = list(dict.fromkeys(k for row in self[: self.SHOWN] for k in row))
        head = "".join(f"<th>{html.escape(str(k))}</th>" for k in keys)
        body = "".join("<tr>" + "".join(_cell(row.get(k)) for k in keys) + "</tr>" for row in self[: self.SHOWN])
        more = f"<p>… {len(self) - self.SHOWN} more rows</p>" if len(self) > self.SHOWN else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _bars(rows: Iterable[Mapping[str, Any]], key: str, unit: str) -> str:
    """A bar chart of the rows' values, longest first."""
    rows = [row for row in rows if isinstance(row.get(key), (int, float)) and row[key] > 0]
    most = max((row[key] for row in rows), default=0)
    if not most:
        return ""
    line, label, width = 20, 260, 380
    colors = {"compute": "#3b6fb6", "memory": "#c9722c", "launch": "#8a8a8a"}
    parts = []
    for i, row in enumerate(rows):
        y, length = i * line, row[key] / most * width
        color = colors.get(str(row.get("bound")), "#3b6fb6")
        name = html.escape(f"{row.get('op', '')} {row.get('name', '')}"[:42])
        parts.append(
            f'<text x="{label - 6}" y="{y + 14}" text-anchor="end">{name}</text>'
            f'<rect x="{label}" y="{y + 3}" width="{length:.1f}" height="{line - 6}" fill="{color}"/>'
            f'<text x="{label + length + 5:.1f}" y="{y + 14}">{_number(float(row[key]))} {unit}</text>'
        )
    size = f'width="{label + width + 110}" height="{len(rows) * line + 4}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11" fill="currentColor">'
        + "".join(parts)
        + "</svg>"
    )


class Prediction:
    """The cost of a pass. `data` is the output of ``sooth predict --format json``; the properties are its main parts. Totals are
    available at once; layers and kernels are made on first use."""

    def __init__(
        self,
        data: dict[str, Any],
        model: "Optional[Model]" = None,
        bound: Optional[dict[str, Any]] = None,
        gpu: Optional[str] = None,
        how: Optional[dict[str, Any]] = None,
        whole: Optional[Callable[[], dict[str, Any]]] = None,
    ) -> None:
        """`data` may have only the totals; `whole` then computes the rest on first use."""
        self._data, self._whole, self._lock = data, whole, threading.Lock()
        self._model, self._bound, self._gpu, self._how = model, bound or {}, gpu, how or {}
        self._plan: Optional[MigPlan] = None

    @property
    def data(self) -> dict[str, Any]:
        with self._lock:
            if self._whole is not None:
                self._data, self._whole = {**self._whole(), **self._data}, None
            return self._data

    def _get(self, key: str, default: Any = None) -> Any:
        """A figure of the totals; None if the library does not have it."""
        return self._data.get(key, default)

    def __getitem__(self, key: str) -> Any:
        return self._data[key] if key in self._data else self.data[key]

    @property
    def gpu(self) -> str:
        return self["gpu"]

    @property
    def batch(self) -> int:
        return self["batch"]

    @property
    def latency_ms(self) -> float:
        return self["latency_ms"]["value"]

    @property
    def interval_ms(self) -> tuple[float, float]:
        """The 90 % interval around the latency."""
        return self["latency_ms"]["low"], self["latency_ms"]["high"]

    @property
    def throughput_per_s(self) -> float:
        return self["throughput_per_s"]

    @property
    def energy_j(self) -> Optional[float]:
        """Of a pass; None if it is unknown."""
        told = self._get("energy_j")
        return told.get("value") if isinstance(told, dict) else told

    @property
    def utilization(self) -> dict[str, Any]:
        return self["utilization"]

    @property
    def memory(self) -> Optional[dict[str, Any]]:
        """Peak memory in MiB, its interval and parts; None if it is unknown."""
        return self._get("memory_mib")

    @property
    def memory_mib(self) -> Optional[float]:
        return self.memory["value"] if self.memory else None

    @property
    def fits(self) -> Optional[bool]:
        """True if the upper end of the memory interval fits the GPU; None if that is unknown.
        ``data["fits"]`` is the same by the estimate."""
        return self._get("fits_upper")

    @property
    def co2_g(self) -> Optional[float]:
        """Of a pass; None without ``co2_g_per_kwh``."""
        return self._get("co2_g")

    @property
    def notes(self) -> list[str]:
        """Notes: another arithmetic than requested, unknown operators."""
        return self._get("notes", [])

    @property
    def layers(self) -> Rows:
        """One dict per layer; latencies sum to the total. ``.frame()`` turns them into a pandas frame."""
        return Rows(self.data["layers"])

    @property
    def kernels(self) -> Rows:
        """In launch order; only with ``predict(kernels=True)``."""
        return Rows(self.data.get("kernels", []))

    @property
    def frame(self) -> "pandas.DataFrame":
        """The layers as a frame; needs pandas."""
        return self.layers.frame()

    @property
    def mig(self) -> "MigPlan":
        """The smallest slice of the same GPU that fits the model, in the same setting."""
        if self._plan is None:
            if self._model is None:
                raise ValueError("the prediction has no model to ask for slices")
            how = {k: v for k, v in self._how.items() if k != "mig"}
            self._plan = self._model.mig(
                self._gpu,
                batch=self._bound.get("batch") or None,
                dims=self._bound.get("dims") or None,
                shapes=self._bound.get("shapes") or None,
                **how,
            )
        return self._plan

    def __repr__(self) -> str:
        low, high = self.interval_ms
        return f"<sooth.Prediction {self.latency_ms:.4g} ms ({low:.4g} to {high:.4g}) on {self.gpu}, batch {self.batch}>"

    def _repr_html_(self) -> str:
        low, high = self.interval_ms
        facts = [
            ("latency", f"{self.latency_ms:.4g} ms ({low:.4g} … {high:.4g})"),
            ("throughput", f"{self.throughput_per_s:.4g} per s"),
        ]
        if self.memory_mib is not None:
            facts.append(("memory", f"{self.memory_mib:,.0f} MiB"))
        if self.energy_j is not None:
            facts.append(("energy", f"{self.energy_j:.4g} J"))
        where = ", ".join(str(self.data.get(k)) for k in ("gpu", "precision", "layout", "runtime", "mode"))
        head = f"<p><b>{html.escape(str(self.data['model'].get('file', '')))}</b>: {html.escape(where)}, batch {self.batch}</p>"
        table = "".join(f"<tr><th>{k}</th><td>{html.escape(v)}</td></tr>" for k, v in facts)
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        most = sorted(self.layers, key=lambda row: -(row.get("latency_ms") or 0))[:12]
        columns = ("name", "op", "latency_ms", "utilization", "bound", "flops", "bytes")
        rows = Rows([{k: row.get(k) for k in columns} for row in most])
        return f"{head}<table>{table}</table>{notes}{_bars(most, 'latency_ms', 'ms')}{rows._repr_html_()}"


class MigPlan:
    """The MIG slice that a model needs. `data` is the output of ``sooth mig --format json``."""

    def __init__(self, data: dict[str, Any], possible: bool) -> None:
        self.data, self.possible = data, possible

    def __getitem__(self, key: str) -> Any:
        return self.data[key]

    @property
    def _workload(self) -> dict[str, Any]:
        return (self.data.get("workloads") or self.data.get("models") or [{}])[0]

    @property
    def profile(self) -> Optional[str]:
        """Smallest profile that meets the target; None if none does."""
        return self._workload.get("profile") or None

    @property
    def candidates(self) -> Rows:
        """All profiles: latency, memory, whether they are acceptable, and why not."""
        return Rows(self._workload.get("candidates") or self._workload.get("profiles") or [])

    @property
    def notes(self) -> list[str]:
        """Notes about the predictions."""
        return list(self._workload.get("notes") or [])

    def __repr__(self) -> str:
        return f"<sooth.MigPlan {self.profile or 'no slice meets the target'} on {self.data.get('gpu')}>"

    def _repr_html_(self) -> str:
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        return f"<p>{html.escape(repr(self)[1:-1])}</p>{self.candidates._repr_html_()}{notes}"
