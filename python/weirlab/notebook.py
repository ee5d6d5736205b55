"""Runs in notebooks: the plots of the page as a widget. It needs ``weirlab[notebook]``.

    from weirlab.notebook import widget
    widget(run)
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from weirlab.run import Run
from weirlab.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

#: The first octets of a run for the page (crates/weir/src/commands/lab/bundle.rs).
MAGIC = b"WEIRRUN1"
#: Tables with more rows are thinned to this many slices, each with its extremes.
MAX_ROWS = 200_000
SLICES = 20_000
#: The tables that the plots show.
SHOWN = ("flows/", "intervals/", "links/")


def widget(run: Run, flows: Sequence[str] = ()) -> Any:
    """A widget with the plots of a run, linked in time; of these flows, or of the first ones.

    Raises:
        ImportError: anywidget is missing: ``pip install 'weirlab[notebook]'``.
    """
    try:
        import anywidget
        import traitlets
    except ImportError as error:
        raise ImportError("widgets need anywidget: pip install 'weirlab[notebook]'") from error

    class RunWidget(anywidget.AnyWidget):  # type: ignore[misc, unused-ignore]
        _esm = Path(__file__).parent / "static" / "widget.js"
        run = traitlets.Bytes().tag(sync=True)
        flows = traitlets.List(traitlets.Unicode()).tag(sync=True)

    return RunWidget(run=octets_of(run), flows=list(flows))


def octets_of(run: Run) -> bytes:
    """A run as the page reads it: a header in JSON, then the columns as they are in memory."""
    entries, parts = [], []
    explanation = run.explanation_json()
    for name in run.table_names:
        if name.startswith(SHOWN):
            entry, columns = _table(name, run.table(name))
            entries.append(entry)
            parts.extend(columns)
    header = {
        "summaryJson": run.summary_json,
        "resolvedToml": run.scenario_toml,
        "explanationJson": explanation,
        "tables": entries,
    }
    text = json.dumps(header, ensure_ascii=False).encode()
    text = text.ljust(_whole(len(text)), b" ")
    return b"".join([MAGIC, struct.pack("<Q", len(text)), text, *parts])


def _whole(octets: int) -> int:
    return -(-octets // 8) * 8


def _table(name: str, table: Table) -> tuple[dict[str, Any], list[bytes]]:
    columns = {column: table[column] for column in table.columns}
    kept = _kept(columns)
    rows = int(kept.size)
    entries, parts = [], []
    for column, values in columns.items():
        entry: dict[str, Any] = {"name": column}
        if values.dtype == object:
            words, codes = np.unique(values[kept].astype(str), return_inverse=True)
            entry["words"] = words.tolist()
            octets = codes.astype("<u4").tobytes()
        else:
            octets = values[kept].astype("<f8").tobytes()
        entries.append(entry)
        parts.append(octets.ljust(_whole(len(octets)), b"\0"))
    return {"name": name, "rows": rows, "columns": entries}, parts


def _kept(columns: dict[str, NDArray[Any]]) -> NDArray[np.intp]:
    """The rows that a picture needs: all, or of each slice of time the first, the last, the extremes
    of each column and every change of a word."""
    rows = len(next(iter(columns.values()), ()))
    times = columns.get("time_s")
    if rows <= MAX_ROWS or times is None:
        return np.arange(rows)
    span = max(float(times[-1] - times[0]), 1e-9)
    slices = np.minimum(((times - times[0]) / span * SLICES).astype(int), SLICES - 1)
    starts = np.flatnonzero(np.diff(slices, prepend=-1))
    kept = [starts, np.append(starts[1:] - 1, rows - 1)]
    for name, values in columns.items():
        if values.dtype == object:
            if name != "event":
                kept.append(np.flatnonzero(values[1:] != values[:-1]) + 1)
            continue
        for sign in (1.0, -1.0):
            signed = np.where(np.isnan(values.astype(float)), np.inf, sign * values.astype(float))
            order = np.lexsort((signed, slices))
            kept.append(order[np.flatnonzero(np.diff(slices[order], prepend=-1))])
    return np.unique(np.concatenate(kept))
