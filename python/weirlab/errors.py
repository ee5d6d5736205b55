"""What can go wrong, as exceptions."""

from __future__ import annotations


class WeirError(Exception):
    """The laboratory refuses or fails; the base of all others."""


class ScenarioError(WeirError, ValueError):
    """A scenario is wrong, and where.

    Attributes:
        message: What is wrong, without the place.
        file: The file, ``<dict>`` for a dict, or ``--set PATH=VALUE`` for a value that was set.
        line: Line in the file, counted from 1; ``None`` without a place.
        column: Column in the line, in characters, counted from 1; ``None`` without a place.
        expected: What would be right.
        source: The text that the place refers to.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str = "",
        line: int | None = None,
        column: int | None = None,
        expected: str = "",
        source: str = "",
    ) -> None:
        self.message = message
        self.file = file
        self.line = line
        self.column = column
        self.expected = expected
        self.source = source
        place = f"{file}:{line}:{column}: " if line is not None else ""
        super().__init__(place + message + (f"; {expected}" if expected else ""))

    def __reduce__(self) -> tuple[object, ...]:
        return (_scenario_error, (self.message, self.__dict__))


def _scenario_error(message: str, state: dict[str, object]) -> ScenarioError:
    error = ScenarioError(
        message,
        file=str(state["file"]),
        line=state["line"],  # type: ignore[arg-type]
        column=state["column"],  # type: ignore[arg-type]
        expected=str(state["expected"]),
        source=str(state["source"]),
    )
    return error


class RunError(WeirError, RuntimeError):
    """A run gave no result: the network cannot be built, or time stands still."""


class ControllerError(RunError):
    """A controller in Python raised, returned what is no window, or did not return.

    ``__cause__`` is what it raised.
    """


class SweepError(WeirError, RuntimeError):
    """The folder of a sweep cannot be used."""


class TheoryError(WeirError, ValueError):
    """A law does not exist, or its arguments are wrong."""
