"""Weir, the congestion-control laboratory, for Python.

    import weirlab as w
    s = w.Scenario.load("path.toml")
    r = s.run()
    r.flows().plot("time", "goodput", hue="flow", bin="100ms")

Rates are bit/s, times seconds, sizes bytes; a column's unit is the last part of its name.
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

from weirlab import settings, theory
from weirlab._weirlab import Ack, Congestion, ControllerConfig, __version__
from weirlab.browser import lab, link
from weirlab.controller import Controller, register
from weirlab.errors import (
    ControllerError,
    RunError,
    ScenarioError,
    SweepError,
    TheoryError,
    WeirError,
    WeirWarning,
)
from weirlab.evaluation import Evaluation, evaluate
from weirlab.results import Results
from weirlab.run import Explanation, Run
from weirlab.scenario import Scenario
from weirlab.search import Found, search
from weirlab.sweep import Range, open_sweep, run_plan, sweep
from weirlab.table import Table

__all__ = [
    "Ack",
    "Congestion",
    "Controller",
    "ControllerConfig",
    "ControllerError",
    "Evaluation",
    "Explanation",
    "Found",
    "Range",
    "Results",
    "Run",
    "RunError",
    "Scenario",
    "ScenarioError",
    "SweepError",
    "Table",
    "TheoryError",
    "WeirError",
    "WeirWarning",
    "__version__",
    "evaluate",
    "lab",
    "link",
    "open_sweep",
    "register",
    "run_plan",
    "search",
    "settings",
    "sweep",
    "theory",
]


if TYPE_CHECKING:
    from weirlab.settings import *  # noqa: F403
else:

    def __getattr__(name: str) -> Any:
        # Classes of settings, such as weirlab.codel, are derived from the declaration of keys.
        try:
            return settings.CLASSES[name]
        except KeyError:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None


def __dir__() -> builtins.list[str]:
    return sorted([*globals(), *settings.CLASSES])
