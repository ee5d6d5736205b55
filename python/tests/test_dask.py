"""Sweeps on a local cluster of Dask distributed, in which a worker is killed."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

import weirlab as w

distributed = pytest.importorskip("distributed")

PARAMETERS = {"link.bottleneck.delay": [f"{ms}ms" for ms in range(1, 101)]}


@pytest.fixture
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_a_cluster_gives_the_same_results_although_a_worker_is_killed(scenario, tmp_path, client):
    """All 2,000 runs are in the results once, and equal those of an undisturbed sweep."""
    short = scenario.set("run.duration", "200ms")
    out = tmp_path / "out"
    victims = list(client.run(os.getpid).values())
    assert len(victims) == 2

    def kill():
        while len(list(out.glob("journal/*.json"))) < 500:
            time.sleep(0.01)
        os.kill(victims[0], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    results = w.sweep(short, PARAMETERS, seeds=20, out=out, executor=client)
    killer.join()
    here = w.sweep(short, PARAMETERS, seeds=20)
    assert len(results.failed) == 0 and len(results.summary()) == 2 * 2000
    assert results.table.to_dict() == here.table.to_dict()


def test_a_worker_makes_the_same_traces(scenario, client):
    def digests(scenario):
        import hashlib

        run = scenario.run()
        tables = {name: run.table(name).to_dict() for name in run.table_names}
        return {name: hashlib.sha256(repr(t).encode()).hexdigest() for name, t in tables.items()}

    here = digests(scenario)
    assert len(here) >= 5
    assert client.submit(digests, scenario).result() == here
