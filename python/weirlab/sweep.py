"""Sweeps: many runs of a scenario, by design, resumable."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from weirlab import _weirlab
from weirlab.errors import SweepError
from weirlab.progress import Progress
from weirlab.results import Results
from weirlab.scenario import Scenario, toml_value
from weirlab.settings import with_units_at


class Range:
    """A range of a quantity, for the designs ``random``, ``latin-hypercube`` and ``sobol``.

    Args:
        low: The minimum: a number, or text with a unit.
        high: The maximum.
        scale: ``linear`` or ``log``: on which values are distributed uniformly.
    """

    def __init__(
        self,
        low: str | float,
        high: str | float,
        *,
        scale: Literal["linear", "log"] = "linear",
    ) -> None:
        if scale not in ("linear", "log"):
            raise SweepError(f'scale is {scale!r}, expected "linear" or "log"')
        self.low, self.high, self.scale = low, high, scale

    def __repr__(self) -> str:
        scale = "" if self.scale == "linear" else f", scale={self.scale!r}"
        return f"Range({self.low!r}, {self.high!r}{scale})"


def _plan(
    scenario: Scenario, parameters: Mapping[str, Any], seeds: Any, options: Mapping[str, Any]
) -> _weirlab.Plan:
    """The plan of a sweep in the form of a file for ``weir sweep``; options that are ``None`` have
    their default."""
    if not isinstance(scenario, Scenario):
        raise SweepError(f"expected a Scenario, found {type(scenario).__name__}")
    inner = scenario._inner
    document: dict[str, Any] = {
        "scenario": inner.name,
        "text": inner.text,
        "set": [list(pair) for pair in inner.overrides],
        "parameter": [_parameter(path, values) for path, values in parameters.items()],
    }
    if seeds is not None:
        if isinstance(seeds, (bool, float)):
            raise SweepError(f"seeds is {seeds!r}, expected a number, a text or a list")
        document["seeds"] = seeds if isinstance(seeds, (int, str)) else list(seeds)
    document |= {key: value for key, value in options.items() if value is not None}
    try:
        return _weirlab.Plan(json.dumps(document, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise SweepError(f"the plan is wrong: {error}") from error


def _parameter(path: str, values: Any) -> dict[str, Any]:
    if isinstance(values, Range):
        low, high = (with_units_at(path, end) for end in (values.low, values.high))
        return {"path": path, "from": low, "to": high, "scale": values.scale}
    if isinstance(values, (str, bytes, Mapping)) or not hasattr(values, "__iter__"):
        raise SweepError(f'"{path}" is {values!r}, expected a list of values or a Range')
    values = [with_units_at(path, value) for value in values]
    for value in values:
        toml_value(value)
    return {"path": path, "values": values}


def sweep(
    scenario: Scenario,
    parameters: Mapping[str, Any],
    *,
    seeds: int | str | Sequence[int] | None = None,
    design: str = "grid",
    points: int | None = None,
    design_seed: int = 0,
    max_events: int | None = None,
    out: str | os.PathLike[str] | None = None,
    executor: str | Any = "local",
    threads: int | None = None,
    progress: bool | Callable[[float], object] = False,
) -> Results:
    """Runs a scenario with all combinations of values and seeds, on all cores.

    Args:
        scenario: The scenario.
        parameters: Values by path: a list, or a :class:`Range`. ``*`` stands for all names.
        seeds: 20 means 1 to 20; or ``"3..7"``, or a list.
        design: ``grid``, ``random``, ``latin-hypercube`` or ``sobol``.
        points: The number of points of a design other than a grid.
        design_seed: The seed of the design.
        max_events: A run ends with an error after this many events.
        out: The folder of the sweep. Its existing runs are not repeated, so that an interrupted
            sweep is resumed. Without it the runs are deleted together with the result.
        executor: ``local``; ``dask`` for the current client of Dask distributed, or a client.
        threads: The number of parallel runs on this machine; the number of cores if absent.
        progress: Show a bar on a terminal or in a notebook, or call this with the share that is
            done.

    Raises:
        SweepError: The plan is not valid, or the folder cannot be used. A failed run raises no
            exception: it has a row with the error.
    """
    options = {
        "design": design,
        "points": points,
        "design_seed": design_seed,
        "max_events": max_events,
    }
    plan = _plan(scenario, parameters, seeds, options)
    return _made(plan, out, executor, threads, progress)


def run_plan(
    path: str | os.PathLike[str],
    *,
    out: str | os.PathLike[str] | None = None,
    executor: str | Any = "local",
    threads: int | None = None,
    progress: bool | Callable[[float], object] = False,
) -> Results:
    """Runs a plan's file, as ``weir sweep`` does; options as in :func:`sweep`."""
    return _made(_weirlab.Plan.load(Path(path)), out, executor, threads, progress)


def open_sweep(folder: str | os.PathLike[str]) -> Results:
    """The results so far in a folder of ``weir sweep`` or :func:`sweep`."""
    path = Path(folder)
    try:
        plan = _weirlab.Plan((path / "plan.json").read_text())
    except OSError as error:
        raise SweepError(f"{path} is no folder of a sweep: {error}") from error
    return Results(plan, _weirlab.Store(path, plan), None, path)


def _made(
    plan: _weirlab.Plan,
    out: str | os.PathLike[str] | None,
    executor: str | Any,
    threads: int | None,
    progress: bool | Callable[[float], object],
) -> Results:
    plan.check()
    temporary = None if out is not None else tempfile.TemporaryDirectory(prefix="weirlab-")
    folder = Path(out) if out is not None else Path(temporary.name)  # type: ignore[union-attr]
    store = _weirlab.Store(folder, plan)
    with Progress.of(progress, plan.runs, f"{plan.runs} runs") as bar:
        if executor == "local":
            store.sweep(threads, bar.callback)
        else:
            from weirlab.dask import sweep_with_dask

            sweep_with_dask(plan, store, executor, bar.callback)
    done, _ = store.done()
    if done < plan.runs:
        raise SweepError(f"{done} of {plan.runs} runs are there; call it again for the others")
    return Results(plan, store, temporary, folder)
