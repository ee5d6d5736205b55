"""Sweeps: the ten-line example, designs, resuming, and reading the dataset in other programs."""

from __future__ import annotations

import os
import random
import subprocess
import sys

import pytest

import weirlab as w

PARAMETERS = {
    "flow.*.transport.controller": ["cubic", "newreno"],
    "link.bottleneck.queue": [w.droptail("200kB"), w.codel()],
}
#: Few random losses, so that the queue determines the result.
SETTINGS = {"link.bottleneck.loss.rate": 0.0001, "run.duration": "4s"}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    from conftest import TEXT

    scenario = w.Scenario.from_toml(TEXT, "path.toml").set(SETTINGS)
    return w.sweep(scenario, PARAMETERS, seeds=5, out=tmp_path_factory.mktemp("sweep") / "out")


def test_the_ten_lines(path):
    s = w.Scenario.load(path)
    r = w.sweep(
        s,
        {
            "flow.*.transport.controller": ["cubic", "newreno"],
            "link.bottleneck.queue": [w.droptail("250kB"), w.codel()],
        },
        seeds=3,
    )
    assert len(r.summary()) == 2 * 2 * 3 * 2
    r.mean("goodput", by="controller")
    r.flows(run=3).plot("time", "goodput", hue="flow", bin="100ms")
    r.ecdf("completion_time", hue="controller")
    r.jain()
    r.compare("controller", paired=True)
    r[3].bounds()


def test_a_summary_has_a_row_per_run_and_flow(results):
    summary = results.summary()
    first = ["run", "seed", "controller", "queue", "flow", "goodput_bps", "one_way_delay_s_p95"]
    assert summary.columns[:7] == first
    assert len(summary) == 40 and set(summary["queue"]) == {"droptail(limit=200kB)", "codel"}
    row = summary.rows()[-1]
    run = results[row["run"]]
    assert run.summary["flows"][row["flow"]]["goodput_bps"] == row["goodput_bps"]
    assert results.settings(row["run"]) == {"controller": "newreno", "queue": "codel"}


def test_means_count_a_run_once(results):
    mean = results.mean("goodput", by="controller").rows()
    assert [row["controller"] for row in mean] == ["cubic", "newreno"]
    rows = [r for r in results.summary().rows() if r["controller"] == "cubic"]
    assert mean[0]["runs"] == 10
    assert mean[0]["mean"] == pytest.approx(sum(r["goodput_bps"] for r in rows) / len(rows))
    assert mean[0]["low_95"] < mean[0]["mean"] < mean[0]["high_95"]
    jain = results.jain().rows()
    assert len(jain) == 4 and all(0.5 <= row["mean"] <= 1 for row in jain)
    with pytest.raises(KeyError, match="goodput"):
        results.mean("goodputt")
    with pytest.raises(KeyError, match="controller"):
        results.mean("goodput", by="controler")


def test_comparisons_pair_by_settings_and_seed(results):
    table = {row["measure"]: row for row in results.compare("queue").rows()}
    delay = table["queueing_delay_s_mean"]
    assert (delay["a"], delay["b"], delay["runs"]) == ("droptail(limit=200kB)", "codel", 10)
    assert delay["verdict"] == "differs" and delay["high_95"] < 0
    assert delay["difference"] == pytest.approx(delay["mean_b"] - delay["mean_a"])
    loose = {row["measure"]: row for row in results.compare("queue", paired=False).rows()}
    same = loose["queueing_delay_s_mean"]
    assert same["difference"] == pytest.approx(delay["difference"])
    assert same["standard_error"] > 0 and same["verdict"] == "differs"


def test_other_programs_read_the_dataset(results):
    duckdb, polars = pytest.importorskip("duckdb"), pytest.importorskip("polars")
    query = f"select count(distinct run) from read_parquet('{results.dataset}') where kind = 'flow'"
    assert duckdb.sql(query).fetchall() == [(20,)]
    frame = polars.scan_parquet(results.dataset).filter(polars.col("kind") == "flow").collect()
    assert frame.height == 40 and frame["controller"].n_unique() == 2


def test_the_folder_is_that_of_the_command(results, path, tmp_path):
    plan = tmp_path / "plan.toml"
    plan.write_text(
        f"""
        scenario = "{path}"
        set = [["link.bottleneck.loss.rate", "0.0001"], ["run.duration", '"4s"']]
        seeds = 5
        [[parameter]]
        path = "flow.*.transport.controller"
        values = ["cubic", "newreno"]
        [[parameter]]
        path = "link.bottleneck.queue"
        values = [{{ kind = "droptail", limit = "200kB" }}, {{ kind = "codel" }}]
        """
    )
    words = ["-m", "weirlab._command", "sweep", str(plan), "--out", str(tmp_path / "out")]
    subprocess.run([sys.executable, *words], capture_output=True, check=True)
    again = w.open_sweep(tmp_path / "out")
    assert again.table.to_dict() == results.table.to_dict()


def test_ranges_and_designs(scenario):
    ranges = {
        "link.bottleneck.rate": w.Range("1Mbit", "100Mbit", scale="log"),
        "link.bottleneck.delay": w.Range("1ms", "50ms"),
    }
    for design in ("random", "latin-hypercube", "sobol"):
        r = w.sweep(scenario.set("run.duration", "200ms"), ranges, design=design, points=8)
        rates = sorted(set(r.table["rate_bps"]))
        assert len(rates) == 8 and 1e6 <= rates[0] < rates[-1] <= 1e8
        assert r.mean("goodput", by="delay").columns[0] == "delay"


@pytest.mark.parametrize(
    "parameters, options",
    [
        ({"link.bottleneck.rate": []}, {}),
        ({"link.bottleneck.rate": "5Mbit"}, {}),
        ({"link.bottleneck.rate": [float("nan")]}, {}),
        ({}, {"seeds": 0}),
        ({}, {"seeds": -3}),
        ({}, {"seeds": 2.5}),
        ({}, {"seeds": True}),
        ({}, {"seeds": "one"}),
        ({}, {"design": "star"}),
        ({"link.bottleneck.rate": w.Range("1Mbit", "2s")}, {"design": "random", "points": 4}),
        ({"link.bottleneck.rate": w.Range("1Mbit", "2Mbit")}, {}),
        ({}, {"executor": "mars"}),
    ],
)
def test_wrong_plans_are_refused(scenario, parameters, options):
    with pytest.raises(w.WeirError):
        w.sweep(scenario, parameters, **options)


@pytest.mark.parametrize("executor", ["local", "dask"])
def test_a_path_that_does_not_exist_is_told_before_any_run(scenario, tmp_path, executor):
    out = tmp_path / "out"
    with pytest.raises(w.SweepError, match='unknown key "dely".*did you mean "delay"'):
        w.sweep(scenario, {"link.bottleneck.dely": ["1ms", "2ms"]}, out=out, executor=executor)
    assert not out.exists()


def test_a_failed_run_stops_nothing(scenario):
    rates = ["1Mbit", "wrong", "2Mbit"]
    r = w.sweep(scenario.set("run.duration", "200ms"), {"link.bottleneck.rate": rates}, seeds=2)
    assert [row["rate"] for row in r.failed.rows()] == ["wrong", "wrong"]
    assert all("wrong" in row["error"] for row in r.failed.rows())
    assert len(r.summary()) == 8


def test_a_killed_sweep_goes_on(path, tmp_path):
    """A sweep killed at three random moments equals an undisturbed one once it is resumed."""
    out = tmp_path / "out"
    code = f"""
import weirlab as w
s = w.Scenario.load({str(path)!r}).set("run.duration", "200ms")
delays = [f"{{ms}}ms" for ms in range(1, 101)]
tell = lambda share: print(share, flush=True)
r = w.sweep(s, {{"link.bottleneck.delay": delays}}, seeds=20, out=OUT, progress=tell)
"""
    moments = random.Random(16)
    done = 0.0
    for _ in range(3):
        end = done + moments.uniform(0.05, 0.3)
        words = [sys.executable, "-c", code.replace("OUT", repr(str(out)))]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        for line in process.stdout:
            done = float(line)
            if done >= end:
                break
        assert process.poll() is None
        process.kill()
        process.wait()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    whole = [*words[:2], code.replace("OUT", repr(str(tmp_path / "whole")))]
    subprocess.run(whole, check=True, stdout=subprocess.DEVNULL)
    resumed, whole = w.open_sweep(out), w.open_sweep(tmp_path / "whole")
    assert len(resumed.failed) == 0 and len(resumed.summary()) == 2 * 2000
    assert resumed.table.to_dict() == whole.table.to_dict()
    assert os.listdir(out / "journal") == []


def test_other_plans_do_not_mix(scenario, tmp_path):
    short = scenario.set("run.duration", "100ms")
    w.sweep(short, {}, seeds=2, out=tmp_path / "x")
    with pytest.raises(w.SweepError, match="another plan"):
        w.sweep(short, {}, seeds=3, out=tmp_path / "x")
    with pytest.raises(w.SweepError):
        w.open_sweep(tmp_path / "nothing")
