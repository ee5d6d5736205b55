"""Congestion controllers in Python, which scenarios refer to by name."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TypeVar

from weirlab import _weirlab
from weirlab._weirlab import Ack, Congestion, ControllerConfig

C = TypeVar("C", bound=type)


class Controller:
    """The base class of controllers: the methods that a class may define, which do nothing here.

    After each call the laboratory reads ``window`` (bytes, at least 1), ``pacing_rate`` (bit/s, or
    ``None`` for no pacing) and ``state``, a word for traces. Methods that a class does not define
    cost nothing.

    A controller that raises an exception, or whose window is not a number, ends the run with
    :class:`~weirlab.errors.ControllerError`; so does one that does not return within
    ``controller.CALL_TIMEOUT_S`` seconds.
    """

    window: float
    pacing_rate: float | None = None
    state: str = "python"

    def __init__(self, config: ControllerConfig) -> None:
        self.window = config.initial_window

    def on_ack(self, ack: Ack) -> None:
        """An acknowledgement of new data arrived."""

    def on_congestion(self, event: Congestion) -> None:
        """Packets were lost or marked: at most one call for each acknowledgement."""

    def on_timeout(self, now: float) -> None:
        """The retransmission timer expired, or congestion is persistent."""

    def on_sent(self, now: float, size: int, in_flight: int) -> None:
        """A packet was sent. Called for each packet: define it only if you need it."""


def register(name: str) -> Callable[[C], C]:
    """Makes a class available to scenarios by this name: ``controller = "NAME"``.

        @weirlab.register("aimd")
        class Aimd(weirlab.Controller): ...

    The name may be registered again, with another class.
    """

    def decorate(cls: C) -> C:
        doc = (cls.__doc__ or "a controller in Python").strip().splitlines()[0].rstrip(".")
        _weirlab.add_controller(name, doc, cls)
        return cls

    return decorate


#: Seconds after which a call of a controller that does not return is interrupted.
CALL_TIMEOUT_S = 10.0


class NoReturn(BaseException):
    """Raised inside a controller that does not return."""


def _interrupt(thread: int) -> None:
    """Raises :class:`NoReturn` in a thread that runs Python."""
    raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
    raise_in(ctypes.c_ulong(thread), ctypes.py_object(NoReturn))
