"""The results of a sweep: a table of all runs, and its analysis."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from weirlab import _weirlab
from weirlab.errors import SweepError
from weirlab.run import Run
from weirlab.scenario import Scenario
from weirlab.table import Table

if TYPE_CHECKING:
    import matplotlib.axes

#: Measures that a summary shows first.
_FIRST = ("goodput_bps", "one_way_delay_s_p95", "completion_time_s")
#: The number of complete runs kept in memory.
_KEPT = 4


class Results:
    """The runs of a sweep.

    Measures are named like the columns of :attr:`table`; the unit at the end may be omitted:
    ``goodput`` is ``goodput_bps``. A parameter is named by the shortest unambiguous suffix of its
    path: ``controller`` is ``flow.*.transport.controller``.
    """

    def __init__(
        self,
        plan: _weirlab.Plan,
        store: _weirlab.Store,
        temporary: TemporaryDirectory[str] | None,
        folder: Path,
    ) -> None:
        self._plan = plan
        self._temporary = temporary
        self._runs: OrderedDict[int, Run] = OrderedDict()
        self._store = store
        #: The folder of the sweep.
        self.folder = folder

    @cached_property
    def table(self) -> Table:
        """Every row of every run: flows, groups, links, and one ``total``; see ``kind``. The table
        is read into memory on first use; DuckDB can read :attr:`dataset` in parts."""
        return Table(self._store.table())

    @property
    def dataset(self) -> str:
        """The files for DuckDB and polars: ``duckdb.sql(f"from '{results.dataset}'")``."""
        return str(self.folder / "runs" / "*" / "*.parquet")

    @property
    def parameters(self) -> dict[str, str]:
        """The column of each parameter with its path."""
        return {column: path for path, column in self._plan.parameters}

    @property
    def failed(self) -> Table:
        """Runs that failed: run, settings, error."""
        rows = [row for row in self._rows("run") if row["status"] == "failed"]
        return _table(rows, ["run", *self.parameters, "error"], {})

    def _rows(self, kind: str) -> list[dict[str, Any]]:
        if not len(self.table):
            return []
        rows = [row for row in self.table.rows() if row["kind"] == kind]
        for row in rows:
            row["flow" if kind in ("flow", "transfers", "group") else kind] = row["name"]
        return rows

    def __len__(self) -> int:
        return int(self._plan.runs)

    def __getitem__(self, run: int) -> Run:
        """A run with all its tables. It is simulated again with the same result."""
        if isinstance(run, bool) or not isinstance(run, int):
            raise TypeError(f"a run is a number, found {run!r}")
        number = run + len(self) if run < 0 else run
        if not 0 <= number < len(self):
            raise IndexError(f"there is no run {run}; the sweep has {len(self)}")
        if number not in self._runs:
            self._runs[number] = self.scenario(number).run()
            if len(self._runs) > _KEPT:
                self._runs.popitem(last=False)
        return self._runs[number]

    def __iter__(self) -> Iterator[Run]:
        return (self[run] for run in range(len(self)))

    def scenario(self, run: int) -> Scenario:
        """The scenario of a run."""
        inner = self._plan.scenario(run)
        return Scenario(inner.text, inner.name, inner.overrides)

    def settings(self, run: int) -> dict[str, Any]:
        """The settings of a run, by the columns of the parameters."""
        numbers, words = self._plan.settings(run)
        values = dict(numbers) | dict(words)
        return {column: values[column] for column in self.parameters}

    def summary(self, kind: str = "flow") -> Table:
        """A row per run and flow: settings, seed, goodput, 95 % one-way delay, completion time,
        then all other measures. ``kind`` may be ``transfers`` (of flows with arrivals),
        ``group``, ``link`` or ``total``."""
        rows = self._rows(kind)
        own = ("run", "seed", "status", "error", "kind", "name", *self.parameters)
        measures = [name for name in self.table.columns if name not in own]
        used = [name for name in measures if any(row[name] is not None for row in rows)]
        ordered = [name for name in _FIRST if name in used]
        ordered += [name for name in used if name not in ordered]
        named = {"total": [], "link": ["link"]}.get(kind, ["flow"])
        names = ["run", "seed", *self.parameters, *named, *ordered]
        return _table(rows, names, self.table.units)

    def flows(self, run: int) -> Table:
        """Goodput, delay and losses of all flows of a run over time."""
        return self[run].flows()

    def bounds(self, run: int) -> Table:
        """The share of time for which each bound limited each sender of a run."""
        return self[run].bounds()

    def mean(
        self, measure: str, by: str | Sequence[str] | None = None, kind: str = "flow"
    ) -> Table:
        """Mean, standard error and 95 % interval of a measure for each value of ``by``.

        A run counts once: its flows are averaged first, because they are not independent, unless
        ``by`` names ``flow``.
        """
        columns = [by] if isinstance(by, str) else list(by or [])
        column = self._measure(measure)
        groups: dict[tuple[Any, ...], dict[int, list[float]]] = {}
        for row in self._rows(kind):
            key = tuple(row[self._column(name)] for name in columns)
            if row[column] is not None:
                groups.setdefault(key, {}).setdefault(row["run"], []).append(row[column])
        rows = []
        for key, runs in groups.items():
            values = [sum(run) / len(run) for run in runs.values()]
            mean, error, low, high = _weirlab.sample(values)
            row = dict(zip(columns, key)) | {"runs": len(values), "mean": mean}
            rows.append(row | {"standard_error": error, "low_95": low, "high_95": high})
        unit = self.table.units.get(column, "")
        numbers = ("mean", "standard_error", "low_95", "high_95")
        return _table(rows, [*columns, "runs", *numbers], dict.fromkeys(numbers, unit))

    def jain(self, by: str | Sequence[str] | None = None) -> Table:
        """Jain's index of the flows' goodput, 0 to 1, for each setting."""
        return self.mean("jain_index", list(self.parameters) if by is None else by, kind="total")

    def ecdf(
        self,
        measure: str,
        hue: str | None = None,
        kind: str = "flow",
        ax: matplotlib.axes.Axes | None = None,
    ) -> matplotlib.axes.Axes:
        """Draws the distribution of a measure over all flows of all runs."""
        from weirlab.plotting import distribution

        column = self._measure(measure)
        wanted = [column, *([self._column(hue)] if hue else [])]
        rows = [row for row in self._rows(kind) if row[column] is not None]
        table = _table(rows, wanted, self.table.units)
        return distribution(table, column, hue=wanted[1] if hue else None, ax=ax)

    def compare(
        self,
        parameter: str,
        paired: bool = True,
        measures: Sequence[str] | None = None,
        kind: str = "flow",
    ) -> Table:
        """Compares each value of a parameter with its first value.

        For each measure: the means, the difference with its standard error and 95 % confidence
        interval, the difference as a share of the first mean, and a verdict. If paired, runs with
        the same other settings and the same seed are compared, and the verdict is valid for all
        measures together (Holm, 1 %). If not paired, the interval is Welch's, and the verdict tells
        whether it excludes zero.
        """
        column = self._column(parameter)
        others = [name for name in self.parameters if name != column]
        names = [self._measure(m) for m in measures] if measures else self._measures(kind)
        sides: dict[Any, dict[tuple[Any, ...], dict[str, float]]] = {}
        for row in self._rows(kind):
            pair = tuple(row[name] for name in others) + (row["seed"],)
            known = sides.setdefault(row[column], {}).setdefault(pair, {})
            for name in names:
                if row[name] is not None:
                    total, count = known.get(name, 0.0), known.get("/" + name, 0.0)
                    known[name], known["/" + name] = total + row[name], count + 1
        if len(sides) < 2:
            raise SweepError(f'"{parameter}" has one value, so there is nothing to compare')
        first, *following = sides
        rows = []
        for value in following:
            rows += _compared(column, (first, value), (sides[first], sides[value]), names, paired)
        keys = ["measure", "a", "b", "runs", "mean_a", "mean_b", "difference"]
        keys += ["standard_error", "low_95", "high_95", "relative", "verdict"]
        return _table(rows, keys, {})

    def _measures(self, kind: str) -> list[str]:
        own = {"run", "seed", "flow", "link", "group", *self.parameters}
        return [name for name in self.summary(kind).columns if name not in own]

    def _measure(self, name: str) -> str:
        column = self.table.find(name)
        if column is None:
            raise KeyError(f'no measure "{name}"; measures: {", ".join(self._measures("flow"))}')
        return column

    def _column(self, name: str) -> str:
        if name in ("flow", "seed", "run") or name in self.parameters:
            return name
        of_path = {path: column for column, path in self.parameters.items()}
        if name in of_path:
            return of_path[name]
        with_unit = next((c for c in self.parameters if c.startswith(name + "_")), None)
        if with_unit is None:
            known = ", ".join([*self.parameters, "flow", "seed"])
            raise KeyError(f'no parameter "{name}"; parameters: {known}')
        return with_unit

    def __repr__(self) -> str:
        failed = len(self.failed)
        return f"Results({len(self)} runs, {failed} failed, {', '.join(self.parameters)})"

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()


def _compared(
    column: str,
    values: tuple[Any, Any],
    sides: tuple[dict[tuple[Any, ...], dict[str, float]], ...],
    names: Sequence[str],
    paired: bool,
) -> list[dict[str, Any]]:
    """A row for each measure that both sides have."""

    def of(side: int, name: str, pairs: Sequence[tuple[Any, ...]]) -> list[float]:
        runs = [sides[side][pair] for pair in pairs]
        return [run[name] / run["/" + name] for run in runs if name in run]

    common = [pair for pair in sides[0] if pair in sides[1]]
    chosen = (common, common) if paired else (list(sides[0]), list(sides[1]))
    if paired and not common:
        raise SweepError(f"no run of {column} = {values[1]} has a partner; use paired=False")
    found = []
    for name in names:
        if paired:
            both = [p for p in common if name in sides[0][p] and name in sides[1][p]]
            samples = of(0, name, both), of(1, name, both)
        else:
            samples = of(0, name, chosen[0]), of(1, name, chosen[1])
        if samples[0] and samples[1]:
            found.append((name, *samples))
    rows = []
    results = _weirlab.compare([(column, name, a, b) for name, a, b in found]) if paired else []
    for number, (name, a, b) in enumerate(found):
        row: dict[str, Any] = {"measure": name, "a": str(values[0]), "b": str(values[1])}
        row["runs"] = len(a)
        if paired:
            mean_a, mean_b, estimate, relative, verdict = results[number]
        else:
            mean_a, mean_b = sum(a) / len(a), sum(b) / len(b)
            estimate = _weirlab.welch(a, b)
            low, high = estimate[2:]
            relative = (mean_b - mean_a) / abs(mean_a) if mean_a else None
            is_clear = low is not None and high is not None and (low > 0 or high < 0)
            verdict = "differs" if is_clear else "within chance"
        numbers = dict(zip(("difference", "standard_error", "low_95", "high_95"), estimate))
        row |= {"mean_a": mean_a, "mean_b": mean_b, **numbers}
        rows.append(row | {"relative": relative, "verdict": verdict})
    return rows


def _table(rows: Sequence[dict[str, Any]], names: Sequence[str], units: dict[str, str]) -> Table:
    return Table.of({name: [row.get(name) for row in rows] for name in names}, units)
