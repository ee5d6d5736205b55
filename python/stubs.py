"""Writes `python/weirlab/settings.pyi`, the types of the classes of settings, from the declaration of a
scenario's keys, for type checkers and editors. The package must be installed:

    python python/stubs.py            # to write it
    python python/stubs.py --check    # ends with 1 if it is not current

A test does the second.
"""

from __future__ import annotations

import keyword
import sys
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

from weirlab import settings

HEAD = '''\
"""Classes for the tables of a scenario. `python/stubs.py` writes this file from the declaration of the
keys."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

__all__ = [
{names}
]

#: A rate: a text such as "5Mbit", or a number in bit/s.
Rate = str | float
#: A time: a text such as "20ms", or a number in seconds.
Time = str | float
#: A share: a number from 0 to 1, or a text such as "1%".
Share = str | float

class Setting(Mapping[str, Any]):
    """A table of a scenario with the given keys and the kind."""
    def __getitem__(self, key: str) -> Any: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...
    def __hash__(self) -> int: ...

CLASSES: dict[str, type[Setting]]

def plain(value: Any) -> Any: ...
def with_units(kind: dict[str, Any], value: Any) -> Any: ...
def with_units_at(path: str, value: Any) -> Any: ...
def from_tables(tables: Mapping[str, Any]) -> Any: ...
'''

#: Keys whose words a program may add to: controllers are registered by name.
OPEN = {"controller"}


def type_of(kind: dict[str, Any], key: str) -> list[str]:
    """The types that a value of this kind may have."""
    match kind["type"]:
        case "boolean":
            return ["bool"]
        case "integer":
            return ["int"]
        case "number":
            return ["float"]
        case "fraction":
            return ["Share"]
        case "quantity" | "range":
            return [{"rate": "Rate", "duration": "Time"}.get(kind["quantity"], "str | float")]
        case "bytes":
            return ["int | str"]
        case "words" if key not in OPEN and kind["words"]:
            return [f"Literal[{', '.join(repr(word) for word in kind['words'])}]"]
        case "any":
            return list(dict.fromkeys(t for inner in kind["of"] for t in type_of(inner, key)))
        case "list":
            return [f"Sequence[{' | '.join(type_of(kind['of'], key))}]"]
        case "table":
            return ["Mapping[str, Any]"]
        case "tables":
            return ["Sequence[Mapping[str, Any]]"]
        case "kinds":
            words = ", ".join(repr(variant["word"]) for variant in kind["kinds"])
            return ["Mapping[str, Any]", f"Literal[{words}]"]
    return ["str"]


def class_of(name: str, made: type[settings.Setting]) -> str:
    """A class with its documentation and the parameters of its constructor."""
    lines = [f"class {name}(Setting):", indent(f'"""{dedent(made.__doc__ or "").strip()}', "    ")]
    lines = ["\n".join(line.rstrip() for line in "\n".join(lines).splitlines()), '    """']
    parameters = [
        f"        {key}_: " if keyword.iskeyword(key) else f"        {key}: "
        for key in made._keys
    ]
    types = [" | ".join([*type_of(made._kinds[key], key), "None"]) for key in made._keys]
    if not parameters:
        return "\n".join([*lines, "    def __init__(self) -> None: ..."])
    lines.append("    def __init__(\n        self,")
    lines += [f"{name}{of} = None," for name, of in zip(parameters, types)]
    return "\n".join([*lines, "    ) -> None: ..."])


def text() -> str:
    """The whole file."""
    classes = settings.CLASSES
    # `weirlab.Run` is the run itself.
    names = [name for name in sorted(classes) if name != "Run"]
    head = HEAD.replace("{names}", "\n".join(f'    "{name}",' for name in names))
    return "\n\n".join([head.rstrip(), *(class_of(name, classes[name]) for name in classes)]) + "\n"


def main(words: list[str]) -> int:
    path = Path(__file__).parent / "weirlab" / "settings.pyi"
    if words == ["--check"]:
        is_current = path.is_file() and path.read_text(encoding="utf-8") == text()
        if not is_current:
            print(f"{path.name} is not current: run python python/stubs.py", file=sys.stderr)
        return 0 if is_current else 1
    path.write_text(text(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
