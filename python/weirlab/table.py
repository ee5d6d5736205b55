"""Tables: columns of equal length with units, for numpy, pandas, polars and pyarrow."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from weirlab import _weirlab

if TYPE_CHECKING:
    import matplotlib.axes
    import pandas
    import polars
    import pyarrow
    from numpy.typing import NDArray

#: The number of rows shown in a notebook.
_SHOWN = 20


class Table:
    """Named columns of equal length.

    It is an Arrow table for whoever asks by the C data interface, without a copy of numbers:
    ``polars.DataFrame(table)``, ``pyarrow.table(table)``, ``duckdb.sql("from table")``.
    ``table["rtt_s"]`` is a column as a numpy array; a unit is the last part of a name, so that
    ``table["rtt"]`` means the same.
    """

    def __init__(self, inner: _weirlab.Table) -> None:
        self._inner = inner

    @classmethod
    def of(cls, columns: Mapping[str, Sequence[Any]], units: Mapping[str, str] = {}) -> Table:
        """Creates a table from lists of numbers, integers or words; ``None`` is a missing value."""
        parts = [(name, list(values), units.get(name, "")) for name, values in columns.items()]
        return cls(_weirlab.Table.from_columns(parts))

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._inner.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._inner.__arrow_c_schema__()

    def __len__(self) -> int:
        return self._inner.num_rows

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows())

    def __contains__(self, name: str) -> bool:
        return self.find(name) is not None

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return [name for name, _, _ in self._inner.columns]

    @property
    def units(self) -> dict[str, str]:
        """The unit of each column that has one."""
        return {name: unit for name, unit, _ in self._inner.columns if unit}

    @property
    def descriptions(self) -> dict[str, str]:
        """The description of each column that has one."""
        return {name: doc for name, _, doc in self._inner.columns if doc}

    def find(self, name: str) -> str | None:
        """The full name of a column: ``goodput`` is ``goodput_bps``."""
        names = self.columns
        if name in names:
            return name
        suffixes = ("_s", "_bps", "_bytes")
        return next((name + end for end in suffixes if name + end in names), None)

    def __getitem__(self, name: str) -> NDArray[Any]:
        column = self.find(name)
        if column is None:
            known = ", ".join(self.columns)
            raise KeyError(f'no column "{name}"; columns: {known}')
        numbers = self._inner.numbers(column)
        if numbers is None:
            return np.array(self._inner.words(column), dtype=object)
        return np.asarray(numbers)

    def to_dict(self) -> dict[str, list[Any]]:
        """The columns as lists; ``None`` for missing values."""
        lists: dict[str, list[Any]] = {}
        for name in self.columns:
            values = self[name]
            if values.dtype.kind == "f":
                lists[name] = [None if value != value else value for value in values.tolist()]
            else:
                lists[name] = values.tolist()
        return lists

    def rows(self) -> list[dict[str, Any]]:
        """The rows as dicts."""
        columns = self.to_dict()
        names = list(columns)
        return [dict(zip(names, row)) for row in zip(*columns.values())]

    def to_numpy(self) -> dict[str, NDArray[Any]]:
        """The columns as numpy arrays."""
        return {name: self[name] for name in self.columns}

    def to_pandas(self) -> pandas.DataFrame:
        """The table for pandas."""
        import pandas

        return pandas.DataFrame(self.to_numpy())

    def to_polars(self) -> polars.DataFrame:
        """The table for polars, without a copy of numbers."""
        import polars

        return polars.DataFrame(self)

    def to_arrow(self) -> pyarrow.Table:
        """The table for pyarrow, without a copy of numbers."""
        import pyarrow

        return pyarrow.table(self)

    def plot(
        self,
        x: str,
        y: str,
        *,
        hue: str | None = None,
        bin: str | float | None = None,
        ax: matplotlib.axes.Axes | None = None,
    ) -> matplotlib.axes.Axes:
        """Draws ``y`` over ``x``, a curve for each value of ``hue``.

        ``bin`` takes the mean in bins of ``x`` of this width, such as ``"100ms"``.
        """
        from weirlab.plotting import lines

        return lines(self, x, y, hue=hue, bin=bin, ax=ax)

    def __repr__(self) -> str:
        text = f"Table of {len(self)} rows: {', '.join(self.columns)}\n"
        names, units = self.columns, self.units
        rows = [
            [_text(row[name], units.get(name, "")) for name in names]
            for row in self.rows()[:_SHOWN]
        ]
        widths = [
            max(len(name), *(len(row[i]) for row in rows), 0) if rows else len(name)
            for i, name in enumerate(names)
        ]
        lines = ["  ".join(name.ljust(width) for name, width in zip(names, widths))]
        lines += ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)) for row in rows]
        more = [f"… {len(self) - _SHOWN} more"] if len(self) > _SHOWN else []
        return text + "\n".join(line.rstrip() for line in lines + more)

    def _repr_html_(self) -> str:
        def cell(tag: str, text: str) -> str:
            return f"<{tag}>{html.escape(text)}</{tag}>"

        units = self.units
        head = "".join(cell("th", name) for name in self.columns)
        rows = [
            "".join(cell("td", _text(value, units.get(name, ""))) for name, value in row.items())
            for row in self.rows()[:_SHOWN]
        ]
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return f"<table><tr>{head}</tr>{body}</table><p>{len(self)} rows</p>"


def _text(value: object, unit: str) -> str:
    """A cell as the command prints it: ``9.711 Mbit/s``."""
    if value is None:
        return ""
    if isinstance(value, float):
        return _weirlab.shown(value, unit)
    return f"{value} {unit}".rstrip() if unit == "bytes" else str(value)
