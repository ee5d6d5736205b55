"""Sweeps on Dask distributed: each run is a task, and the caller commits its record."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import islice
from typing import Any

from weirlab import _weirlab
from weirlab.errors import SweepError

#: Tasks that the scheduler has for each thread of a worker.
_TASKS_A_THREAD = 8
#: How often Dask begins a run again whose worker died.
_RETRIES = 10


@lru_cache(maxsize=4)
def _plan(json: str) -> _weirlab.Plan:
    return _weirlab.Plan(json)


def _work(json: str, run: int) -> str:
    """What a worker does: makes a run and returns its record."""
    return _plan(json).run(run)


def sweep_with_dask(
    plan: _weirlab.Plan,
    store: _weirlab.Store,
    executor: str | Any,
    progress: Callable[[int], None] | None,
) -> None:
    """Makes the missing runs of a store on the workers of a client."""
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
    # The plan goes to each worker once.
    [shared] = client.scatter([json], broadcast=True, hash=True)
    missing = iter(store.missing())
    threads = sum(client.nthreads().values()) or 1
    runs_of: dict[str, int] = {}

    def submit(run: int) -> Any:
        future = client.submit(_work, shared, run, pure=False, retries=_RETRIES)
        runs_of[future.key] = run
        return future

    first = [submit(run) for run in islice(missing, threads * _TASKS_A_THREAD)]
    pending = as_completed(first)
    try:
        for future in pending:
            run = runs_of.pop(future.key)
            error = future.exception()
            if error is None:
                store.commit(future.result())
            else:
                store.commit(_failed(run, error))
            if progress is not None:
                progress(store.done()[0])
            following = next(missing, None)
            if following is not None:
                pending.add(submit(following))
    finally:
        client.cancel([key for key in runs_of], force=True)


def _failed(run: int, error: BaseException) -> str:
    import json

    row = {"kind": "run", "name": "", "measures": {}}
    why = f"{type(error).__name__}: {error}"
    return json.dumps({"run": run, "seed": 0, "error": why, "rows": [row]})
