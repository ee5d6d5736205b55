"""Scenarios: from a file, a text, a dict or classes; changed, run and swept."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weirlab import _weirlab
from weirlab.errors import ScenarioError
from weirlab.progress import Progress
from weirlab.run import Run
from weirlab.settings import from_tables, plain, with_units_at

if TYPE_CHECKING:
    from weirlab.results import Results


def toml_value(value: Any) -> str:
    """A value as TOML on one line."""
    value = plain(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(k)} = {toml_value(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(toml_value(inner) for inner in value) + "]"
    if value is None or not isinstance(value, (str, bool, int, float)):
        raise ScenarioError(f"{value!r} is no value of a scenario: {type(value).__name__}")
    try:
        return json.dumps(value, allow_nan=False, ensure_ascii=False)
    except ValueError:
        raise ScenarioError(f"{value!r} is no value of a scenario: it is not finite") from None


def _key(key: str) -> str:
    return key if key.replace("_", "").isalnum() and key.isascii() else json.dumps(key)


class Scenario:
    """A parsed and checked scenario. It is immutable: ``set`` returns another one."""

    def __init__(
        self,
        text: str,
        name: str = "<text>",
        overrides: Sequence[tuple[str, str]] = (),
    ) -> None:
        if not isinstance(text, str):
            raise ScenarioError(f"expected the text of a scenario, found {type(text).__name__}")
        self._inner = _weirlab.Scenario(text, name, list(overrides))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Scenario:
        """Reads a TOML file.

        Raises:
            ScenarioError: The file cannot be read, or has an error, with its place.
        """
        return cls(_weirlab.Scenario.read(Path(path)), os.fspath(path))

    @classmethod
    def from_toml(cls, text: str, name: str = "<text>") -> Scenario:
        """Parses a text; ``name`` is used in place of a file name in errors."""
        return cls(text, name)

    @classmethod
    def from_dict(cls, tables: Mapping[str, Any], name: str = "<dict>") -> Scenario:
        """Reads a dict of the tables of a scenario: ``run``, ``host``, ``link``, ``wifi``,
        ``flow``. Its values may be settings such as ``weirlab.codel()``."""
        if not isinstance(tables, Mapping):
            raise ScenarioError(f"expected a dict, found {type(tables).__name__}")
        values = from_tables(tables)
        for value in _leaves(values):
            toml_value(value)
        return cls(_weirlab.toml_of(json.dumps(values)), name)

    @classmethod
    def build(cls, *entries: Any, expect: Sequence[str] = ()) -> Scenario:
        """Builds a scenario from ``Run``, ``Host``, ``Link``, ``Wifi`` and ``Flow``."""
        tables: dict[str, Any] = {"expect": list(expect)} if expect else {}
        for entry in entries:
            key = type(entry).__name__.lower()
            if key == "run":
                tables["run"] = entry
            elif key in ("host", "link", "wifi", "flow"):
                tables.setdefault(key, []).append(entry)
            else:
                raise ScenarioError(f"expected Run, Host, Link, Wifi or Flow, found {entry!r}")
        return cls.from_dict(tables)

    def set(self, path: str | Mapping[str, Any], value: Any = None) -> Scenario:
        """The scenario with other values: ``set("link.bottleneck.rate", "5Mbit")``, or a dict.
        ``*`` matches all names: ``flow.*.transport.controller``. Rates may be numbers in bit/s and
        times numbers in seconds."""
        changes = path if isinstance(path, Mapping) else {path: value}
        overrides = [
            (str(key), toml_value(with_units_at(str(key), value))) for key, value in changes.items()
        ]
        inner = self._inner
        return Scenario(inner.text, inner.name, [*inner.overrides, *overrides])

    @property
    def name(self) -> str:
        """The name of its file."""
        return self._inner.name

    @property
    def seed(self) -> int:
        """The seed of all random numbers."""
        return self._inner.seed

    @property
    def duration(self) -> float:
        """The duration of the run in seconds of virtual time."""
        return self._inner.duration

    @property
    def flow_names(self) -> list[str]:
        """The names of the flows."""
        return self._inner.flow_names

    def settings(self) -> dict[str, str]:
        """Every setting by its path, including defaults."""
        return dict(self._inner.settings())

    def text_and_settings(self) -> tuple[str, list[tuple[str, str]]]:
        """The text as it was written, and the settings that were changed since."""
        return self._inner.text, list(self._inner.overrides)

    def to_toml(self) -> str:
        """The scenario with all defaults filled in: it gives the same run."""
        return self._inner.resolved()

    def content_hash(self) -> str:
        """BLAKE3 of ``to_toml()`` in hexadecimal, as the summary of a run has it."""
        return self._inner.content_hash()

    def lint(self) -> list[dict[str, str]]:
        """Valid but probably unintended settings: ``rule``, ``path``, ``message``, ``help``."""
        names = ("rule", "path", "message", "help")
        return [dict(zip(names, finding)) for finding in self._inner.lint()]

    def run(
        self,
        *,
        trace: str = "full",
        packets: bool = False,
        max_events: int | None = None,
        progress: bool | Callable[[float], object] = False,
    ) -> Run:
        """Simulates the scenario without the interpreter's lock; Ctrl-C ends it.

        Args:
            trace: ``full`` keeps all tables, ``summary`` the summary, ``counters`` less.
            packets: Keep every packet too.
            max_events: End with an error after this many events.
            progress: Show a bar on a terminal or in a notebook, or call this with the share that
                is done, 0 to 1.

        Raises:
            RunError: The run failed, with the reason.
        """
        with Progress.of(progress, 1000, "run") as bar:
            inner = self._inner.run(trace, bool(packets), max_events, bar.callback)
        return Run(inner)

    def sweep(self, parameters: Mapping[str, Any] | None = None, **options: Any) -> Results:
        """The same as ``weirlab.sweep(self, …)``."""
        from weirlab.sweep import sweep

        return sweep(self, parameters or {}, **options)

    def __repr__(self) -> str:
        flows = ", ".join(self.flow_names[:6])
        return f"Scenario({self.name!r}, {self.duration:g} s, seed {self.seed}, flows: {flows})"

    def _repr_html_(self) -> str:
        import html

        return f"<pre>{html.escape(self._inner.text)}</pre>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scenario) and self.to_toml() == other.to_toml()

    def __hash__(self) -> int:
        return hash(self.to_toml())

    def __reduce__(self) -> tuple[Any, ...]:
        inner = self._inner
        return (Scenario, (inner.text, inner.name, inner.overrides))


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for inner in value.values() for leaf in _leaves(inner)]
    if isinstance(value, list):
        return [leaf for inner in value for leaf in _leaves(inner)]
    return [value]
