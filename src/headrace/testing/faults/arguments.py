"""Numbers that an injector is given, refused by name where they are of no use."""

from __future__ import annotations

import math

from headrace.errors import InvalidArgumentError

__all__ = ["a_float", "an_int"]


def an_int(value: object, name: str, least: float = -math.inf, most: float = math.inf, *, what: str = "") -> int:
    """Returns a whole number.

    Raises:
        InvalidArgumentError: it is none, or none of those that may be.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        bounds = f" from {least:g}" * math.isfinite(least) + f" to {most:g}" * math.isfinite(most)
        raise InvalidArgumentError(f"{name} must be a whole number{bounds}{what}, not {value!r}")
    return value


def a_float(value: object, name: str, least: float, most: float) -> float:
    """Returns a number; raises as ``an_int`` does."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
        bounds = f"from {least:g}" + f" to {most:g}" * math.isfinite(most)
        raise InvalidArgumentError(f"{name} must be a number {bounds}, not {value!r}")
    return value
