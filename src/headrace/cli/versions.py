"""Which version of a library is installed, without importing it."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

__all__ = ["version_of"]


def version_of(library: str) -> str | None:
    """The installed version of a library, or None where it is not installed.

    Example:
        >>> version_of("no-such-library") is None
        True
    """
    try:
        return version(library)
    except PackageNotFoundError:
        return None
