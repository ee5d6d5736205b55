"""Runs: a summary, and the tables of a run's folder in memory."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from weirlab import _weirlab
from weirlab.table import Table

if TYPE_CHECKING:
    from weirlab.summary import Summary


@dataclass(frozen=True)
class Explanation:
    """What held each sender of a run, and what went wrong; ``print`` it to read it.

    The findings are in the order of cause and effect; each has ``kind``, ``subject``, ``symptom``
    with its ``evidence``, and ``remedies`` whose ``set`` is what ``set`` of a scenario takes.
    """

    held: list[dict[str, Any]]
    findings: list[dict[str, Any]]
    unknown: list[dict[str, Any]]
    text: str

    @property
    def kinds(self) -> list[str]:
        """The kinds of the findings, such as ``standing_queue``."""
        return [finding["kind"] for finding in self.findings]

    def __str__(self) -> str:
        return self.text


class Run:
    """A finished run."""

    def __init__(self, inner: _weirlab.Run) -> None:
        self._inner = inner

    @cached_property
    def summary(self) -> Summary:
        """``summary.json``: the run, its flows, links, groups and totals."""
        summary: Summary = json.loads(self._inner.summary_json)
        return summary

    @property
    def summary_json(self) -> str:
        """The octets of ``summary.json`` as text."""
        return self._inner.summary_json

    def explanation_json(self) -> str:
        """What ``explain`` says as JSON, as ``weir explain --json`` prints it."""
        return self._inner.explain()[0]

    @property
    def scenario_toml(self) -> str:
        """The scenario with all defaults filled in."""
        return self._inner.scenario_toml

    @property
    def table_names(self) -> list[str]:
        """The paths of its tables: ``flows/NAME``, ``intervals/NAME``, ``links/NAME`` …"""
        return self._inner.table_names

    def table(self, name: str) -> Table:
        """A table by its path in the folder of a run, such as ``links/bottleneck``."""
        table = self._inner.table(name)
        if table is None:
            known = ", ".join(self.table_names) or "none: the run kept only its summary"
            raise KeyError(f'no table "{name}"; tables: {known}')
        return Table(table)

    def flow(self, name: str) -> Table:
        """The trace of a flow's controller: a row for each change."""
        return self.table(f"flows/{name}")

    def link(self, name: str) -> Table:
        """The trace of a direction of a link: a row for each change of its queue."""
        return self.table(f"links/{name}")

    @property
    def packets(self) -> Table:
        """Every packet, if the run kept them."""
        return self.table("packets")

    def flows(self) -> Table:
        """Goodput, delay and losses of all flows over time, with a column ``flow``."""
        names = [n.removeprefix("intervals/") for n in self.table_names if n[:10] == "intervals/"]
        if not names:
            raise KeyError('no flows over time: run with trace="full"')
        tables = [self.table(f"intervals/{name}") for name in names]
        words = [name for name, table in zip(names, tables) for _ in range(len(table))]
        columns: dict[str, list[Any]] = {"flow": words}
        for column in tables[0].columns:
            columns[column] = [value for table in tables for value in table.to_dict()[column]]
        return Table.of(columns, tables[0].units)

    def bounds(self) -> Table:
        """The share of time for which each bound limited each sender, 0 to 1: flow, bound, share.

        For a flow with arrivals it is the time of all its connections together.
        """
        flows = [*self.summary["flows"].items(), *self.summary.get("transfers", {}).items()]
        rows = [
            (name, bound, share)
            for name, flow in flows
            for bound, share in flow.get("bound_share", {}).items()
        ]
        names, bounds, shares = zip(*rows) if rows else ((), (), ())
        return Table.of({"flow": names, "bound": bounds, "share": shares})

    def explain(self) -> Explanation:
        """What held each sender and what went wrong, with the rows that prove it.

        A run with ``trace="summary"`` has no rows, and so no findings.
        """
        document, text = self._inner.explain()
        parts = json.loads(document)
        return Explanation(parts["held"], parts["findings"], parts["unknown"], text)

    def __repr__(self) -> str:
        flows = self.summary["flows"].items()
        rates = [f"{name} {_weirlab.shown(flow['goodput_bps'], 'bit/s')}" for name, flow in flows]
        more = ", …" if len(rates) > 6 else ""
        return f"Run({self.summary['run']['duration_s']:g} s: {', '.join(rates[:6])}{more})"

    def _repr_html_(self) -> str:
        return self.summary_table()._repr_html_()

    def summary_table(self) -> Table:
        """A row for each flow: goodput, round-trip time, losses."""
        flows = self.summary["flows"]

        def column(*path: str) -> list[Any]:
            values = []
            for flow in flows.values():
                value: Any = flow
                for key in path:
                    value = value.get(key) if isinstance(value, dict) else None
                values.append(value)
            return values

        columns = {
            "flow": list(flows),
            "goodput_bps": column("goodput_bps"),
            "rtt_mean_s": column("rtt_s", "mean"),
            "rtt_p95_s": column("rtt_s", "p95"),
            "packets_lost": column("packets_lost"),
            "completion_time_s": column("completion_time_s"),
        }
        units = {"goodput_bps": "bit/s", "rtt_mean_s": "s", "rtt_p95_s": "s"}
        return Table.of(columns, units | {"completion_time_s": "s"})
