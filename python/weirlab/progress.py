"""Progress: a bar on a terminal or in a notebook, or calls of a function."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType

_WIDTH = 40


class Progress:
    """Shows the share of steps that are done."""

    def __init__(self, total: int, what: str, call: Callable[[float], object] | None) -> None:
        self._total = max(total, 1)
        self._what = what
        self._call = call
        self._begun = time.monotonic()
        self._drawn = False

    @classmethod
    def of(cls, wanted: bool | Callable[[float], object], total: int, what: str) -> Progress:
        """A bar for ``True`` where there is a terminal or a notebook, calls of a given function,
        nothing for ``False``."""
        if callable(wanted):
            return cls(total, what, wanted)
        bar = cls(total, what, None)
        if wanted and (sys.stderr.isatty() or "ipykernel" in sys.modules):
            bar._call = bar._draw
        return bar

    @property
    def callback(self) -> Callable[[int], None] | None:
        """A function that takes the number of completed steps; ``None`` if nothing is shown."""
        return None if self._call is None else self._step

    def _step(self, done: int) -> None:
        if self._call is not None:
            self._call(min(done / self._total, 1.0))

    def _draw(self, share: float) -> None:
        full = int(share * _WIDTH)
        elapsed = time.monotonic() - self._begun
        left = f" {elapsed * (1 - share) / share:.0f} s left" if share > 0.01 else ""
        bar = "█" * full + "░" * (_WIDTH - full)
        sys.stderr.write(f"\r{self._what} {bar} {share:4.0%}{left}\x1b[K")
        sys.stderr.flush()
        self._drawn = True

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        place: TracebackType | None,
    ) -> None:
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
