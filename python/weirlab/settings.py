"""Classes for the tables of a scenario, generated from the declaration of its keys.

Each table whose ``kind`` selects its keys has a class for each kind, named like the kind:
``droptail("250kB")`` is ``{ kind = "droptail", limit = "250kB" }``. If two tables have a kind of
the same name, such as ``random``, the name of the table precedes it: ``loss_random``. The classes
of top-level tables are ``Run``, ``Host``, ``Link``, ``Wifi`` and ``Flow``. Keys are given by
position, in the order of the scenario reference, or by name; the key ``from`` is written ``from_``.

A class checks the names of keys immediately. Values are checked when the scenario is read, with the
same messages as for scenario files.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from typing import Any

from weirlab import _weirlab


class Setting(Mapping[str, Any]):
    """A table of a scenario with the given keys and the kind."""

    _kind: str | None = None
    _keys: tuple[str, ...] = ()

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
        self._values = kind | {key: value for key, value in given.items() if value is not None}

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
            "__doc__": "\n".join([doc or table["doc"], "", "Args:", *lines]),
            "__module__": __name__,
        },
    )
    word = inspect.Parameter.POSITIONAL_OR_KEYWORD
    python_names = [f"{key}_" if key == "from" else key for key in keys]
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
    scenario = json.loads(_weirlab.declaration())
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


#: All classes by their names.
CLASSES: dict[str, type[Setting]] = _classes()


def __getattr__(name: str) -> Any:
    try:
        return CLASSES[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return ["CLASSES", "Setting", "plain", *CLASSES]
