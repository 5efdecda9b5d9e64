"""How numbers are written in sentences."""

from __future__ import annotations

__all__ = ["counted"]


def counted(number: int, thing: str) -> str:
    """Returns a number of things, in the singular where there is one.

    Example:
        >>> counted(1, "row"), counted(2000, "row")
        ('1 row', '2,000 rows')
    """
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
