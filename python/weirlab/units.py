"""Numbers with units, as scenarios write them."""

from __future__ import annotations

import math
import re

_TIMES = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}


def seconds(value: str | float) -> float:
    """A time in seconds, from a number or a text such as ``"100ms"``."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        number, scale = float(value), 1.0
    else:
        found = re.fullmatch(r"\s*([0-9.]+(?:[eE][-+]?[0-9]+)?)\s*([a-zµ]+)\s*", str(value))
        if found is None or found.group(2) not in _TIMES:
            raise ValueError(f'{value!r} is no time; write a number and a unit, such as "100ms"')
        number, scale = float(found.group(1)), _TIMES[found.group(2)]
    if not (math.isfinite(number) and number > 0):
        raise ValueError(f"{value!r} is no time: it must be positive and finite")
    return number * scale


_RATES = {"bit": 1.0, "kbit": 1e3, "Mbit": 1e6, "Gbit": 1e9}
_SIZES = {"b": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9}
_KINDS = {"s": _TIMES, "bit": _RATES, "b": _SIZES}


def quantity(value: str | float) -> tuple[float, str]:
    """A number in its base unit, and that unit: ``s``, ``bit``, ``b``, or none."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value), ""
    found = re.fullmatch(r"\s*([0-9.]+(?:[eE][-+]?[0-9]+)?)\s*([A-Za-zµ]+)\s*", str(value))
    if found is not None:
        for basic, units in _KINDS.items():
            if found.group(2) in units:
                return float(found.group(1)) * units[found.group(2)], basic
    raise ValueError(f"{value!r} is no number with a unit of time, rate or size")


def written(number: float, unit: str) -> str | float:
    """The number as text for a scenario: ``"50ms"``, in whole nanoseconds, bits or bytes."""
    if not unit:
        return number
    if unit == "s":
        whole, units = round(number * 1e9), {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
    else:
        whole, units = round(number), {k: int(v) for k, v in reversed(_KINDS[unit].items())}
    name = next(name for name, size in units.items() if whole % size == 0)
    return f"{whole // units[name]}{name}"
