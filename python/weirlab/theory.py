"""Laws of a path: ``theory.tfrc(s=1400, rtt="400ms", p=0.002)``.

Each law is a function of its parameters, in the words and units of ``weir theory``; a plain number
is bytes for a size, a share for a probability. The result has an attribute for each value, with
its unit last: ``theory.mathis(…).throughput_bps``.
"""

from __future__ import annotations

import json
import math
from types import SimpleNamespace
from typing import Any

from weirlab import _weirlab
from weirlab.errors import TheoryError

#: All laws: name, equation, source, parameters and results.
LAWS: dict[str, dict[str, Any]] = {law["name"]: law for law in json.loads(_weirlab.laws())}


def evaluate(law: str, **arguments: str | float) -> SimpleNamespace:
    """Evaluates a law by its name, such as ``"tfrc-inverse"``."""
    texts = []
    for name, value in arguments.items():
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not (isinstance(value, str) or is_number):
            raise TheoryError(f"{name} is {value!r}, expected a number or a text with a unit")
        if is_number and not math.isfinite(value):  # type: ignore[arg-type]
            raise TheoryError(f"{name} is {value!r}, expected a finite number")
        texts.append((name.replace("_", "-"), str(value)))
    return SimpleNamespace(**dict(_weirlab.theory(law, texts)))


def __getattr__(name: str) -> Any:
    law = LAWS.get(name.replace("_", "-"))
    if law is None:
        raise AttributeError(f'no law "{name}"; laws: {", ".join(LAWS)}')

    def function(**arguments: str | float) -> SimpleNamespace:
        return evaluate(law["name"], **arguments)

    parameters = [f"    {p['name'].replace('-', '_')}: {p['doc']}" for p in law["parameters"]]
    function.__name__ = name
    function.__doc__ = "\n".join(
        [law["doc"], "", law["equation"], law["source"], law["valid"], "", "Args:", *parameters]
    )
    return function


def __dir__() -> list[str]:
    return ["LAWS", "evaluate", *(name.replace("-", "_") for name in LAWS)]
