"""Sweeps on a local cluster of Dask distributed, one of whose workers is killed."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

import weirlab as w

distributed = pytest.importorskip("distributed")

PARAMETERS = {"link.bottleneck.delay": ["1ms", "9ms"]}


def test_a_cluster_gives_the_same_results_although_a_worker_is_killed(scenario, tmp_path):
    long = scenario.set("run.duration", "2s")
    out = tmp_path / "out"
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        victims = [worker["id"] for worker in client.scheduler_info()["workers"].values()]
        assert len(victims) == 2
        pids = list(client.run(os.getpid).values())

        def kill():
            while len(list(out.glob("journal/*.json"))) < 5:
                time.sleep(0.01)
            os.kill(pids[0], signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        results = w.sweep(long, PARAMETERS, seeds=40, out=out, executor=client)
        killer.join()
    here = w.sweep(long, PARAMETERS, seeds=40)
    assert len(results.failed) == 0
    assert results.table.to_dict() == here.table.to_dict()
