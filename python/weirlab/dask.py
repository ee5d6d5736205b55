"""Sweeps on Dask distributed: a task executes some runs, and the caller commits their records."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

from weirlab import _weirlab
from weirlab.errors import SweepError

#: The number of tasks submitted for each thread of a worker.
_TASKS_A_THREAD = 8
#: The number of times that Dask repeats a task whose worker died.
_RETRIES = 10
#: The target duration of a task: the scheduler needs about a millisecond for each.
_TASK_S = 0.25
#: The maximum number of runs of a task.
_MOST_RUNS = 200


@lru_cache(maxsize=4)
def _plan(json: str) -> _weirlab.Plan:
    return _weirlab.Plan(json)


def _work(json: str, runs: Sequence[int]) -> tuple[list[str], float]:
    """The task of a worker: executes runs and returns their records and the elapsed seconds."""
    begun = time.monotonic()
    records = [_plan(json).run(run) for run in runs]
    return records, time.monotonic() - begun


def sweep_with_dask(
    plan: _weirlab.Plan,
    store: _weirlab.Store,
    executor: str | Any,
    progress: Callable[[int], None] | None,
) -> None:
    """Executes the missing runs of a store on the workers of a client."""
    wrong = f'executor is {executor!r}, expected "local", "dask" or a Dask client'
    if isinstance(executor, str) and executor != "dask":
        raise SweepError(wrong)
    try:
        from distributed import Client, as_completed, default_client
    except ImportError as error:
        raise SweepError("Dask is missing: pip install distributed") from error

    if executor == "dask":
        try:
            client = default_client()
        except ValueError:
            client = Client()
    elif isinstance(executor, Client):
        client = executor
    else:
        raise SweepError(wrong)
    json = plan.to_json()
    # The plan is sent to each worker once.
    [shared] = client.scatter([json], broadcast=True, hash=True)
    missing = iter(store.missing())
    threads = sum(client.nthreads().values()) or 1
    runs_of: dict[str, list[int]] = {}

    def submit(runs: list[int]) -> Any:
        future = client.submit(_work, shared, runs, pure=False, retries=_RETRIES)
        runs_of[future.key] = runs
        return future

    first = [submit(runs) for runs in islice(_groups(missing, 1), threads * _TASKS_A_THREAD)]
    pending = as_completed(first)
    size = 1
    try:
        for future in pending:
            runs = runs_of.pop(future.key)
            failure = future.exception()
            if failure is None:
                records, elapsed = future.result()
                fitting = int(_TASK_S * len(runs) / max(elapsed, 1e-6))
                # The size at most doubles, because runs differ in duration.
                size = max(min(fitting, 2 * size, _MOST_RUNS), 1)
            elif len(runs) > 1:
                # One of the runs caused the failure; submitted separately, only that one fails.
                pending.update([submit([run]) for run in runs])
                continue
            else:
                records = [_failed(runs[0], failure)]
            for record in records:
                store.commit(record)
            if progress is not None:
                progress(store.done()[0])
            for runs in islice(_groups(missing, size), 1):
                pending.add(submit(runs))
    finally:
        client.cancel(list(runs_of), force=True)


def _groups(runs: Iterator[int], size: int) -> Iterator[list[int]]:
    """Groups of this many runs; the last one may have fewer."""
    while group := list(islice(runs, size)):
        yield group


def _failed(run: int, error: BaseException) -> str:
    import json

    row = {"kind": "run", "name": "", "measures": {}}
    why = f"{type(error).__name__}: {error}"
    return json.dumps({"run": run, "seed": 0, "error": why, "rows": [row]})
