"""Runs: results, tables, Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import weirlab as w


def test_a_run_is_that_of_the_command(path, tmp_path):
    words = ["-m", "weirlab._command", "run", str(path), "--out", str(tmp_path / "out"), "--json"]
    made = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=True)
    command = json.loads(made.stdout)["runs"][0]
    run = w.Scenario.load(path).run()
    for part in ("flows", "links", "totals"):
        assert run.summary[part] == command["summary"][part]
    assert run.summary["run"]["events"] == command["summary"]["run"]["events"]
    parquet = pytest.importorskip("pyarrow.parquet")
    assert run.table_names
    for name in run.table_names:
        kind, _, of = name.partition("/")
        path = os.path.join(command["folder"], kind + ".parquet")
        named = "link" if kind == "links" else "flow"
        file = parquet.read_table(path, filters=[(named, "=", of)] if of else None)
        if of:
            assert file.column_names[0] == named
            file = file.drop_columns([named])
        table = run.table(name)
        assert file.column_names == table.columns
        for column in table.columns:
            ours, theirs = table[column], file[column].to_pylist()
            if ours.dtype == object:
                assert ours.tolist() == theirs, (name, column)
            else:
                theirs = [np.nan if value is None else value for value in theirs]
                assert np.array_equal(ours, np.array(theirs), equal_nan=True), (name, column)


def test_tables_go_to_other_libraries(scenario):
    pyarrow, polars = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    duckdb = pytest.importorskip("duckdb")
    table = scenario.run().flow("a")
    rtt = table["rtt"]
    arrow = pyarrow.table(table)
    assert arrow.num_rows == len(table) == polars.DataFrame(table).height > 100
    assert arrow.schema.field("rtt_s").metadata[b"unit"] == b"s"
    assert arrow.column("ssthresh_bytes").null_count > 0
    known = rtt[~np.isnan(rtt)]
    assert arrow.column("rtt_s").drop_null().to_numpy().tolist() == known.tolist()
    assert polars.DataFrame(table)["state"].to_list() == table["state"].tolist()
    assert list(table.to_pandas().columns) == table.columns
    assert duckdb.sql("select count(*) from arrow").fetchall() == [(len(table),)]
    # Two consumers get the same memory, so no data is copied.
    buffers = [pyarrow.table(table).column("rtt_s").chunk(0).buffers()[1] for _ in range(2)]
    assert buffers[0].address == buffers[1].address
    assert rtt.__array_interface__["data"] == (buffers[0].address, True)


def test_a_table_outlives_its_run(scenario):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(scenario.run().flow("a"))
    for _ in range(3):
        scenario.run()
    assert frame["time_s"].is_sorted()


def test_flows_and_bounds(scenario):
    run = scenario.run()
    flows = run.flows()
    assert set(flows["flow"]) == {"a", "b"}
    ax = flows.plot("time", "goodput", hue="flow", bin="100ms")
    assert ax.get_ylabel() == "goodput, Mbit/s"
    assert len(ax.lines) == 2 and 19 <= len(ax.lines[0].get_xdata()) <= 21
    shares = [row["share"] for row in run.bounds().rows() if row["flow"] == "a"]
    assert sum(shares) == pytest.approx(1, abs=0.01)
    assert "<table>" in run._repr_html_() and "goodput" in flows._repr_html_()
    with pytest.raises(KeyError, match="flows/a"):
        run.table("flows/c")
    with pytest.raises(ValueError, match="no time"):
        flows.plot("time", "goodput", bin="wide")


def test_bounds_have_flows_with_arrivals(path):
    web = path.read_text() + """
[[flow]]
name = "web"
from = "server"
to = "client"
transport = { kind = "tcp" }
arrivals = { kind = "list", transfers = [[0, 50000], [0.5, 50000]] }
"""
    run = w.Scenario.from_toml(web, "web.toml").run(trace="summary")
    shares = {row["bound"]: row["share"] for row in run.bounds().rows() if row["flow"] == "web"}
    assert sum(shares.values()) == pytest.approx(1) and shares["window"] > 0.1
    assert set(run.bounds()["flow"]) == {"a", "b", "web"}


def test_progress_is_told(scenario):
    shares = []
    scenario.set("run.duration", "20s").run(trace="summary", progress=shares.append)
    assert shares == sorted(shares) and shares[-1] == 1.0

    def stop(share):
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        scenario.set("run.duration", "1000s").run(trace="summary", progress=stop)


def test_a_run_that_fails_says_why(scenario):
    with pytest.raises(w.RunError, match="limit of 100 events"):
        scenario.run(max_events=100)
    long = scenario.set("run.duration", "100000s")
    for limit, value in [("max_time", "50ms"), ("max_memory", "1MiB")]:
        with pytest.raises(w.RunError, match=limit):
            long.set(f"run.{limit}", value).run(trace="summary")
    with pytest.raises(w.WeirError, match="trace"):
        scenario.run(trace="everything")


def test_ctrl_c_ends_a_run(scenario):
    long = scenario.set("run.duration", "100000s")

    def press():
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press).start()
    with pytest.raises(KeyboardInterrupt):
        long.run(trace="summary")


def test_the_lock_of_the_interpreter_is_free_while_simulating(scenario):
    ticks = []
    done = threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(1)
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    scenario.set("run.duration", "100s").run(trace="summary")
    done.set()
    thread.join()
    assert len(ticks) > 5


def test_an_explanation_is_the_same_before_and_after_tables_were_read(scenario):
    first, second = scenario.run(), scenario.run()
    assert len(second.table(second.table_names[0])) > 0
    before, after = first.explain(), second.explain()
    assert before == after
    assert before.held and "What held each sender" in str(before)
    assert before.kinds == [finding["kind"] for finding in before.findings]
    assert scenario.run(trace="summary").explain().findings == []


def test_numbers_are_shown_as_the_command_shows_them(scenario):
    run = scenario.run()
    goodput = run.summary["flows"]["a"]["goodput_bps"]
    assert f"a {goodput / 1e6:.4g} Mbit/s" in repr(run)
    assert f"<td>{goodput / 1e6:.4g} Mbit/s</td>" in run._repr_html_()
    assert " ms" in repr(run.summary_table())


def test_a_bar_is_drawn_on_a_terminal_alone(scenario, capsys, monkeypatch):
    import sys

    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    scenario.run(trace="summary", progress=True)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    scenario.set("run.duration", "20s").run(trace="summary", progress=True)
    assert "█" in capsys.readouterr().err


def test_pictures_have_the_colours_of_reports(scenario):
    import matplotlib.pyplot as pyplot

    from weirlab.plotting import PALETTE, PALETTE_ON_BLACK

    flows = scenario.run().flows()
    drawn = [line.get_color() for line in flows.plot("time", "goodput", hue="flow").lines]
    assert drawn == list(PALETTE[:2]) and PALETTE[0] == "#0072b2" and len(PALETTE) == 10
    with pyplot.style.context("dark_background"):
        pyplot.rcParams["axes.prop_cycle"] = pyplot.rcParamsDefault["axes.prop_cycle"]
        dark = flows.plot("time", "goodput", hue="flow").lines[0].get_color()
    assert dark == PALETTE_ON_BLACK[0]
