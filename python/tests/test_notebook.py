"""Runs as widgets."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest

import weirlab as w
from weirlab import notebook


def test_a_widget_has_the_run_as_the_page_reads_it(path):
    pytest.importorskip("anywidget")
    run = w.Scenario.load(path).run()
    made = notebook.widget(run, flows=["stream"])
    assert made.flows == ["stream"]
    octets = made.run
    assert octets[:8] == b"WEIRRUN1"
    (length,) = struct.unpack("<Q", octets[8:16])
    header = json.loads(octets[16 : 16 + length])
    assert header["summaryJson"] == run.summary_json
    assert json.loads(header["explanationJson"])["version"] == 1
    at = 16 + length
    for table in header["tables"]:
        for column in table["columns"]:
            kind, size = ("<u4", 4) if "words" in column else ("<f8", 8)
            values = np.frombuffer(octets, kind, table["rows"], at)
            expected = run.table(table["name"])[column["name"]]
            if "words" in column:
                assert [column["words"][code] for code in values] == list(expected)
            else:
                assert np.array_equal(values, expected.astype(float), equal_nan=True)
            at += -(-table["rows"] * size // 8) * 8
    assert at == len(octets)


def test_the_script_of_the_widget_is_in_the_package():
    script = notebook.Path(notebook.__file__).parent / "static" / "widget.js"
    assert "attachShadow" in script.read_text()


def test_a_long_table_keeps_its_extremes_and_the_changes_of_words():
    rows = notebook.MAX_ROWS * 2
    values = np.sin(np.arange(rows) / 7.0)
    values[123_456], values[234_567] = 50.0, -50.0
    words = np.full(rows, "usual", dtype=object)
    words[345_678] = "rare"
    columns = {"time_s": np.arange(rows) / 1e3, "value": values, "state": words}
    kept = notebook._kept(columns)
    assert kept.size < notebook.SLICES * 7
    assert {0, 123_456, 234_567, 345_678, 345_679, rows - 1} <= set(kept.tolist())
    few = {name: column[:100] for name, column in columns.items()}
    assert notebook._kept(few).size == 100
