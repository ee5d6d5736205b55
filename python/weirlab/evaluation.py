"""The evaluation of a congestion controller that RFC 9743 describes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from weirlab import _weirlab


class Evaluation:
    """A controller beside others. ``print`` shows what the command ``weir evaluate`` prints."""

    def __init__(self, parts: tuple[str, str, str, list[str], bool]) -> None:
        self._json, self._text, self._html, self.faults, self.is_worse = parts

    #: What the controller does that is not safe, a sentence for each limit that it breaks.
    faults: list[str]
    #: True if any measure is worse than another controller's.
    is_worse: bool

    @property
    def is_safe(self) -> bool:
        """True if the controller keeps all safety limits that were tested."""
        return not self.faults

    @cached_property
    def result(self) -> dict[str, Any]:
        """``result.json``: chapters, cases, measures and the value of every run."""
        result: dict[str, Any] = json.loads(self._json)
        return result

    @property
    def html(self) -> str:
        """The page, complete in itself."""
        return self._html

    def __str__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return self._html


def evaluate(
    controller: str,
    *,
    beside: Sequence[str] = (),
    size: str = "quick",
    chapters: Sequence[str] = (),
    seeds: int = 0,
    out: str | Path | None = None,
) -> Evaluation:
    """Evaluates a controller as ``TRANSPORT:NAME``, such as ``"quic:cubic"`` or one of Python's.

    ``beside`` names what it is compared with, CUBIC and Reno by default: controllers over the same
    transport (``"bbr"``) or with their own (``"tcp:bbr,rules=rfc"``). ``size`` is ``"quick"``,
    ``"standard"`` or ``"full"``; ``chapters`` are those of the suite, all by default; ``seeds`` is
    the number of seeds of each case, by default 8 for ``"quick"`` and 20 for the others. ``out`` is the folder of the page.
    """
    options = {
        "beside": list(beside),
        "size": size,
        "chapters": list(chapters),
        "seeds": seeds,
        "out": None if out is None else Path(out),
    }
    return Evaluation(_weirlab.evaluate(controller, options))
