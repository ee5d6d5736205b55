"""Type checkers know settings and summaries, and find misspelt words."""

from __future__ import annotations

import json
import subprocess
import sys
import typing
from pathlib import Path

import pytest

import weirlab as w
from weirlab import summary as types

pytest.importorskip("mypy")

REPOSITORY = Path(__file__).parents[2]

GOOD = """
import weirlab as w
from weirlab.summary import FlowSummary

queue = w.codel(target="5ms", ecn=True)
link = w.settings.Link("l", between=["a", "b"], rate=5e6, delay=0.02, queue=queue)
flow = w.settings.Flow(name="f", from_="a", to="b", transport=w.tcp(controller="mine"))
run = w.Scenario.build(w.settings.Run(duration=1), link, flow).run()
of: FlowSummary = run.summary["flows"]["f"]
rate: float = of["goodput_bps"] + run.summary["links"]["l"]["utilisation"]
w.Range(1, 2, scale="log")
"""
WRONG = [
    ('w.codel(targett="5ms")', 'Unexpected keyword argument "targett"'),
    ("w.codel(target=[5])", 'incompatible type "list[int]"'),
    ('w.tcp(ecn="sometimes")', "incompatible type"),
    ("w.codell()", 'Module has no attribute "codell"'),
    ('w.Scenario.load("x").run().summary["flows"]["f"]["goodput"]', 'no key "goodput"'),
    ('w.Range(1, 2, scale="log10")', "incompatible type"),
]


def checked(tmp_path: Path, text: str) -> subprocess.CompletedProcess[str]:
    file = tmp_path / "checked.py"
    file.write_text(text)
    words = ["-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(file)]
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, cwd=tmp_path)


def test_a_type_checker_takes_what_is_right_and_finds_what_is_wrong(tmp_path):
    lines = [line for line, _ in WRONG]
    found = checked(tmp_path, GOOD + "\n".join(lines) + "\n")
    errors = [line for line in found.stdout.splitlines() if ": error: " in line]
    first = len(GOOD.splitlines()) + 1
    for number, (line, expected) in enumerate(WRONG):
        of_line = [e for e in errors if f":{first + number}: error" in e]
        assert len(of_line) == 1 and expected in of_line[0], (line, found.stdout)
    assert len(errors) == len(WRONG), found.stdout


def test_the_types_are_those_of_the_declarations():
    script = REPOSITORY / "python" / "stubs.py"
    made = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr


def _declared(value: object, of: object, place: str) -> None:
    """Fails if a value is not of a declared type."""
    if typing.is_typeddict(of):
        hints = typing.get_type_hints(of)
        assert isinstance(value, dict)
        for key, inner in value.items():
            assert key in hints, f"{place}.{key}"
            _declared(inner, hints[key], f"{place}.{key}")
        return
    if typing.get_origin(of) is dict:
        assert isinstance(value, dict), place
        for key, inner in value.items():
            _declared(inner, typing.get_args(of)[1], f"{place}.{key}")
        return
    if typing.get_origin(of) is list:
        assert isinstance(value, list), place
        return
    parts = typing.get_args(of) or (of,)
    if value is None:
        assert type(None) in parts, place
        return
    real = [part for part in parts if part is not type(None)]
    if typing.is_typeddict(real[0]):
        _declared(value, real[0], place)
        return
    allowed = tuple(real) + ((int,) if float in real else ())
    assert isinstance(value, allowed), f"{place}: {value!r} is no {of}"


@pytest.mark.parametrize("name", ["video-call", "requests", "incast", "video-wifi"])
def test_summaries_are_of_the_declared_types(name):
    scenario = w.Scenario.load(REPOSITORY / "examples" / f"{name}.toml")
    summary = scenario.set("run.warmup", "0s").set("run.duration", "3s").run().summary
    _declared(json.loads(json.dumps(summary)), types.Summary, name)
