"""Search for the scenario with the worst result, and for the simplest one that still shows it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from weirlab.errors import RunError, WeirError
from weirlab.run import Run
from weirlab.scenario import Scenario
from weirlab.settings import with_units_at
from weirlab.sweep import Range
from weirlab.units import quantity, written

#: The number of a run that is minimised.
Objective = Callable[[Run], float]


@dataclass
class Found:
    """The result of a search.

    Attributes:
        scenario: The scenario with the minimum value.
        value: The objective there.
        settings: The overrides by path.
        trials: Settings and value of each trial, in their order.
    """

    scenario: Scenario
    value: float
    settings: dict[str, Any]
    trials: list[tuple[dict[str, Any], float]] = field(repr=False)
    objective: Objective = field(repr=False)
    base: Scenario = field(repr=False)

    def shrink(self, limit: float, simplest: Mapping[str, Any] | None = None) -> Found:
        """The simplest settings whose value is still at most ``limit``.

        Each setting in turn is left out, or takes its value in ``simplest``, or is rounded to as
        few digits as possible, until no setting can be simplified further.
        """
        settings = dict(self.settings)
        if self.value > limit:
            raise WeirError(f"the value {self.value:g} is above the limit {limit:g} already")
        changed = True
        while changed:
            changed = False
            for path in list(settings):
                for simpler in _simpler(path, settings, simplest or {}):
                    value = _value(self.base, simpler, self.objective)
                    if value <= limit:
                        settings, changed = simpler, True
                        break
        value = _value(self.base, settings, self.objective)
        scenario = self.base.set(settings)
        return Found(scenario, value, settings, self.trials, self.objective, self.base)


def search(
    objective: Objective,
    space: Mapping[str, Range | list[Any]],
    *,
    scenario: Scenario,
    trials: int = 200,
    seed: int = 0,
    stop_at: float = -math.inf,
) -> Found:
    """Minimises a number of a run over a space of settings, with Optuna's TPE sampler, which draws
    the first fifth of the trials at random.

    Args:
        objective: The function to minimise, such as
            ``lambda run: run.summary["flows"]["victim"]["goodput_bps"]``. A failed run has the
            value infinity.
        space: For each path a :class:`~weirlab.Range` or a list of values.
        scenario: The scenario to which the settings are applied.
        trials: The maximum number of runs.
        seed: The seed of the search; the same seed gives the same result.
        stop_at: The search ends as soon as the value is at most this.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    # If the objective is nearly constant around its minimum, only random trials find the minimum.
    at_random = max(trials // 5, 10)
    sampler = optuna.samplers.TPESampler(
        seed=seed, multivariate=True, n_startup_trials=at_random
    )
    study = optuna.create_study(sampler=sampler)
    made: list[tuple[dict[str, Any], float]] = []

    def one(trial: optuna.Trial) -> float:
        settings = {path: _suggest(trial, path, values) for path, values in space.items()}
        value = _value(scenario, settings, objective)
        made.append((settings, value))
        if value <= stop_at:
            trial.study.stop()
        # The sampler cannot use infinity.
        return value if math.isfinite(value) else 1e300

    study.optimize(one, n_trials=trials)
    settings, value = min(made, key=lambda trial: trial[1])
    return Found(scenario.set(settings), value, settings, made, objective, scenario)


def _suggest(trial: Any, path: str, values: Range | list[Any]) -> Any:
    if not isinstance(values, Range):
        return values[trial.suggest_categorical(path, list(range(len(values))))]
    is_log = values.scale == "log"
    ends = [with_units_at(path, end) for end in (values.low, values.high)]
    if isinstance(ends[0], int) and isinstance(ends[1], int):
        return trial.suggest_int(path, ends[0], ends[1], log=is_log)
    (low, unit), (high, other) = quantity(ends[0]), quantity(ends[1])
    if unit != other:
        raise WeirError(f"{path}: both ends of {values!r} have the same kind of unit")
    return written(trial.suggest_float(path, low, high, log=is_log), unit)


def _value(scenario: Scenario, settings: Mapping[str, Any], objective: Objective) -> float:
    try:
        run = scenario.set(settings).run(trace="summary")
    except RunError:
        return math.inf
    value = float(objective(run))
    return math.inf if math.isnan(value) else value


def _simpler(
    path: str, settings: Mapping[str, Any], simplest: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Variants in which the setting at this path is simpler, the simplest first."""
    without = {key: value for key, value in settings.items() if key != path}
    candidates: list[dict[str, Any]] = [without]
    if path in simplest and settings[path] != simplest[path]:
        candidates.append({**settings, path: simplest[path]})
    try:
        number, unit = quantity(settings[path])
    except (TypeError, ValueError, WeirError):
        return candidates
    for digits in (1, 2, 3):
        rounded = written(float(f"{number:.{digits - 1}e}"), unit)
        if rounded == settings[path]:
            break
        candidates.append({**settings, path: rounded})
    return candidates
