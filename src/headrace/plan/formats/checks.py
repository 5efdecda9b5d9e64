"""What the arguments of all formats have in common."""

from __future__ import annotations

from headrace.errors import InvalidArgumentError

__all__ = ["check_buffer_size"]


def check_buffer_size(buffer_size: int | None) -> None:
    """Refuses what is no number of bytes.

    Raises:
        TypeError: it is no int.
        InvalidArgumentError: it is below 1.
    """
    if buffer_size is not None and (isinstance(buffer_size, bool) or not isinstance(buffer_size, int)):
        raise TypeError(f"buffer_size must be an int or None, not {type(buffer_size).__name__}")
    if buffer_size is not None and buffer_size < 1:
        raise InvalidArgumentError(f"buffer_size must be at least 1 byte, not {buffer_size}")
