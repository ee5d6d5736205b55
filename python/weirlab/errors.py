"""The exceptions of the package."""

from __future__ import annotations


class WeirError(Exception):
    """The base class of all exceptions of the laboratory."""


class ScenarioError(WeirError, ValueError):
    """An error in a scenario, with its place.

    Attributes:
        message: The problem, without the place.
        file: The file, ``<dict>`` for a dict, or ``--set PATH=VALUE`` for an override.
        line: Line in the file, counted from 1; ``None`` without a place.
        column: Column in the line, in characters, counted from 1; ``None`` without a place.
        expected: The expected value or form.
        source: The text to which the place refers.
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
    """A run failed: the network cannot be built, or simulated time does not advance."""


class ControllerError(RunError):
    """A controller in Python raised an exception, set an invalid window, or did not return.

    ``__cause__`` is the exception that it raised.
    """


class WeirWarning(UserWarning):
    """Something is valid and probably not meant."""


class SweepError(WeirError, RuntimeError):
    """The folder of a sweep cannot be used."""


class TheoryError(WeirError, ValueError):
    """A law does not exist, or its arguments are not valid."""
