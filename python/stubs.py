"""Writes types for type checkers and editors: `python/weirlab/settings.pyi`, those of the classes
of settings, from the declaration of a scenario's keys, and `python/weirlab/summary.py`, those of a
summary, from the structs of `crates/weir-lab/src/summary`. The package must be installed:

    python python/stubs.py            # to write them
    python python/stubs.py --check    # ends with 1 if one is not current

A test does the second.
"""

from __future__ import annotations

import keyword
import re
import sys
from pathlib import Path
from textwrap import dedent, indent, wrap
from typing import Any

# The installed package: the sources beside this script have no extension module.
sys.path.pop(0)
from weirlab import settings

HEAD = '''\
"""Classes for the tables of a scenario. `python/stubs.py` writes this file from the declaration of
the keys."""

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


SUMMARY_HEAD = '''\
"""The types of ``run.summary``, which is ``summary.json``. `python/stubs.py` writes this file from
the structs of `crates/weir-lab/src/summary`.

A key may be missing where a flow or link has no such number; see the page on columns.
"""

from __future__ import annotations

from typing import TypedDict
'''

#: A field of a struct with its documentation.
_FIELD = re.compile(
    r"((?:^\s*///[^\n]*\n)*)((?:^\s*#\[[^\]]*\]\n)*)"
    r"^\s*pub (\w+): (\w+(?:<[^\n=]*>)?)( \[or null\])?",
    re.MULTILINE,
)
_STRUCT = re.compile(
    r"((?:^\s*///[^\n]*\n)*)(?:^\s*#\[[^\n]*\n)*^\s*pub struct (\w+) \{\n", re.MULTILINE
)
#: The types of fields that are no structs of the summary.
_SIMPLE = {"f64": "float", "u64": "int", "u32": "int", "String": "str", "Vec<String>": "list[str]"}


def _python_type(rust: str, known: dict[str, str]) -> str:
    rust = rust.strip().rstrip(",")
    if found := re.fullmatch(r"Option<(.+)>", rust):
        # A number that there is not is left out, and null only where the field says so.
        return _python_type(found.group(1), known)
    if found := re.fullmatch(r"BTreeMap<String, (.+)>", rust):
        return f"dict[str, {_python_type(found.group(1), known)}]"
    return _SIMPLE[rust] if rust in _SIMPLE else known[rust]


def _documentation(lines: str) -> str:
    words = " ".join(line.strip().removeprefix("///").strip() for line in lines.splitlines())
    return re.sub(r"\[`(\w+)`\]", r"`\1`", words).replace("`", "``")


def summary_text(folder: Path) -> str:
    """The types of a summary, from the files of a folder."""
    structs: list[tuple[str, str, str]] = []
    for file in sorted(folder.glob("*.rs")):
        source = file.read_text(encoding="utf-8")
        for found in _STRUCT.finditer(source):
            margin = found.group(0).splitlines()[-1].split("pub")[0]
            body = source[found.end() : source.index(f"\n{margin}}}", found.end())]
            structs.append((found.group(2), _documentation(found.group(1)), body))
    # Those that a summary reaches.
    bodies = {name: (doc, body) for name, doc, body in structs}
    reached = ["Summary"]
    for name in reached:
        of = re.findall(r"pub \w+: ([^\n]+)", bodies[name][1])
        parts = [part for line in of for part in re.findall(r"[A-Z]\w+", line) if part in bodies]
        reached += [part for part in dict.fromkeys(parts) if part not in reached]
    known = {name: name for name in reached}
    parts = [SUMMARY_HEAD.rstrip()]
    for name in reversed(reached):
        doc, body = bodies[name]
        lines = [f"class {name}(TypedDict, total=False):", f'    """{doc}"""', ""]
        for field in _FIELD.finditer(body):
            lines += _wrapped(_documentation(field.group(1)))
            null = " | None" if field.group(5) else ""
            lines.append(f"    {field.group(3)}: {_python_type(field.group(4), known)}{null}")
        parts.append("\n".join(lines))
    return "\n\n\n".join(parts) + "\n"


def _wrapped(text: str) -> list[str]:
    return [f"    #: {line}" for line in wrap(text, 92)]


def main(words: list[str]) -> int:
    here = Path(__file__).parent
    files = {
        here / "weirlab" / "settings.pyi": text(),
        here / "weirlab" / "summary.py": summary_text(here.parent / "crates/weir-lab/src/summary"),
    }
    status = 0
    for path, content in files.items():
        if words != ["--check"]:
            path.write_text(content, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != content:
            print(f"{path.name} is not current: run python python/stubs.py", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
