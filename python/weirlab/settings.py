"""Classes for the tables of a scenario, generated from the declaration of its keys.

Each table whose ``kind`` selects its keys has a class for each kind, named like the kind:
``droptail("250kB")`` is ``{ kind = "droptail", limit = "250kB" }``. If two tables have a kind of
the same name, such as ``random``, the name of the table precedes it: ``loss_random``. The classes
of top-level tables are ``Run``, ``Host``, ``Link``, ``Wifi`` and ``Flow``. Keys are given by
position, in the order of the scenario reference, or by name; the key ``from`` is written ``from_``.

Rates may be numbers in bit/s and times numbers in seconds: ``rate=5e6`` is ``rate = "5Mbit"``.

A class checks the names of keys immediately. Values are checked when the scenario is read, with the
same messages as for scenario files.
"""

from __future__ import annotations

import inspect
import json
import keyword
from collections.abc import Mapping
from typing import Any

from weirlab import _weirlab
from weirlab.units import written


class Setting(Mapping[str, Any]):
    """A table of a scenario with the given keys and the kind."""

    _kind: str | None = None
    _keys: tuple[str, ...] = ()
    _kinds: Mapping[str, dict[str, Any]] = {}

    def __init__(self, *values: Any, **named: Any) -> None:
        cls = type(self)
        if len(values) > len(cls._keys):
            raise TypeError(f"{cls.__name__} has {len(cls._keys)} keys, found {len(values)} values")
        given = dict(zip(cls._keys, values))
        for name, value in named.items():
            key = name.removesuffix("_")
            if key not in cls._keys:
                known = ", ".join(cls._keys)
                raise TypeError(f'{cls.__name__} has no key "{key}"; keys: {known}')
            if key in given:
                raise TypeError(f'{cls.__name__} has "{key}" twice')
            given[key] = value
        kind = {} if cls._kind is None else {"kind": cls._kind}
        self._values = kind | {
            key: with_units(cls._kinds[key], value)
            for key, value in given.items()
            if value is not None
        }

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Any:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        keys = ", ".join(
            f"{key}={value!r}" for key, value in self._values.items() if key != "kind"
        )
        return f"{type(self).__name__}({keys})"

    def __hash__(self) -> int:
        return hash(json.dumps(plain(self), sort_keys=True))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mapping) and dict(self) == dict(other)

    def __reduce__(self) -> tuple[Any, ...]:
        keys = {key: value for key, value in self._values.items() if key != "kind"}
        return (_remake, (type(self).__name__, keys))


def _remake(name: str, keys: dict[str, Any]) -> Setting:
    made: Setting = CLASSES[name](**keys)
    return made


def plain(value: Any) -> Any:
    """The value with dicts and lists in place of settings, as for JSON."""
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    if hasattr(value, "item") and not isinstance(value, (str, bytes)):
        return value.item()
    return value


#: The kinds of values that are numbers without a unit in a scenario.
_PLAIN = ("integer", "number", "fraction", "bytes")
#: The units of numbers for the quantities that scenarios write as text.
_UNITS = {"rate": "bit", "duration": "s"}


def with_units(kind: dict[str, Any], value: Any) -> Any:
    """The value with numbers of rates and times as texts with units, where the kind asks so."""
    value = plain(value)
    if isinstance(value, dict):
        fields = _fields_of(kind, value)
        return {
            key: with_units(fields[key], inner) if key in fields else inner
            for key, inner in value.items()
        }
    if isinstance(value, list):
        inner_kinds = [k for k in _kinds_in(kind) if k["type"] in ("list", "tables")]
        of = inner_kinds[0] if inner_kinds else {"type": "text"}
        element = of["of"] if of["type"] == "list" else of
        return [with_units(element, inner) for inner in value]
    return _with_unit(_alternatives(kind), value)


def _with_unit(kinds: list[dict[str, Any]], value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    units = {_UNITS.get(k["quantity"], "") for k in kinds if k["type"] in ("quantity", "range")}
    is_plain = any(k["type"] in _PLAIN for k in kinds)
    if is_plain or len(units) != 1 or units == {""} or not 0 <= value < 1e18:
        return value
    return written(value, units.pop())


def _alternatives(kind: dict[str, Any]) -> list[dict[str, Any]]:
    if kind["type"] != "any":
        return [kind]
    return [inner for each in kind["of"] for inner in _alternatives(each)]


def _fields_of(kind: dict[str, Any], value: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The kinds of the keys of a table."""
    fields: dict[str, dict[str, Any]] = {}
    for inner in _alternatives(kind):
        if inner["type"] in ("table", "tables"):
            fields |= {field["key"]: field["kind"] for field in inner["table"]["fields"]}
        for variant in inner.get("kinds", []):
            if value.get("kind") in (None, variant["word"]):
                fields |= {f["key"]: f["kind"] for f in variant["table"]["fields"]}
    return fields


def with_units_at(path: str, value: Any) -> Any:
    """Like :func:`with_units`, for the value at a path of ``set``."""
    kinds = [_ROOT]
    for part in path.split("."):
        found: list[dict[str, Any]] = []
        for kind in kinds:
            for inner in _alternatives(kind):
                variants = [variant["table"] for variant in inner.get("kinds", [])]
                tables = [inner["table"]] if inner["type"] in ("table", "tables") else variants
                fields = [field for table in tables for field in table["fields"]]
                found += [field["kind"] for field in fields if field["key"] == part]
        # A name, a number or * chooses an entry of a list of tables.
        kinds = found or [kind for kind in kinds if kind["type"] == "tables"]
    if isinstance(plain(value), (dict, list)):
        return with_units(kinds[0], value) if len(kinds) == 1 else value
    return _with_unit([each for kind in kinds for each in _alternatives(kind)], plain(value))


def _class(name: str, table: dict[str, Any], kind: str | None, doc: str) -> type[Setting]:
    fields = table["fields"]
    keys = tuple(field["key"] for field in fields)
    lines = [f"    {f['key']}: {f['doc']} Default: {f['default']!r}." for f in fields]
    made = type(
        name,
        (Setting,),
        {
            "_kind": kind,
            "_keys": keys,
            "_kinds": {field["key"]: field["kind"] for field in fields},
            "__doc__": "\n".join([doc or table["doc"], "", "Args:", *lines]),
            "__module__": __name__,
        },
    )
    word = inspect.Parameter.POSITIONAL_OR_KEYWORD
    python_names = [f"{key}_" if keyword.iskeyword(key) else key for key in keys]
    made.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(key, word, default=None) for key in dict.fromkeys(python_names)]
    )
    return made


def _collect(
    table: dict[str, Any], kinds: dict[str, list[tuple[str, dict[str, Any]]]]
) -> None:
    """Collects the kinds of all tables below this one by their name, with the key of the table."""
    for field in table["fields"]:
        for kind in _kinds_in(field["kind"]):
            if kind["type"] in ("table", "tables"):
                _collect(kind["table"], kinds)
            for variant in kind.get("kinds", []):
                found = kinds.setdefault(variant["word"], [])
                if all(known["table"] != variant["table"] for _, known in found):
                    found.append((field["key"], variant))
                _collect(variant["table"], kinds)


def _kinds_in(kind: dict[str, Any]) -> list[dict[str, Any]]:
    inner = kind["of"] if isinstance(kind.get("of"), list) else [kind["of"]] if "of" in kind else []
    return [kind, *(each for one in inner for each in _kinds_in(one))]


def _classes() -> dict[str, type[Setting]]:
    scenario = _ROOT["table"]
    classes = {}
    for field in scenario["fields"]:
        if field["kind"]["type"] in ("table", "tables"):
            name = str(field["key"]).capitalize()
            classes[name] = _class(name, field["kind"]["table"], None, field["doc"])
    kinds: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    _collect(scenario, kinds)
    for word, variants in kinds.items():
        name = word.replace("-", "_")
        for key, variant in variants:
            of_key = name if len(variants) == 1 else f"{key}_{name}"
            classes[of_key] = _class(of_key, variant["table"], word, variant["doc"])
    return classes


#: The declaration of all keys of a scenario.
_ROOT: dict[str, Any] = {"type": "table", "table": json.loads(_weirlab.declaration())}


def from_tables(tables: Mapping[str, Any]) -> Any:
    """The tables of a scenario as they are written in a file."""
    return with_units(_ROOT, tables)


#: All classes by their names.
CLASSES: dict[str, type[Setting]] = _classes()


def __getattr__(name: str) -> Any:
    try:
        return CLASSES[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return ["CLASSES", "Setting", "plain", *CLASSES]
