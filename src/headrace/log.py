"""headrace's logger, ``logging.getLogger("headrace")``; ``logging`` itself is imported with the first message.

With what it imports it takes as long as a tenth of the engine, and most programs that are ended well never have a message.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import logging

__all__ = ["LOG", "warn_once"]


class _Later:
    """The logger to whoever asks for a method of it."""

    def __getattr__(self, name: str) -> Any:
        import logging

        return getattr(logging.getLogger("headrace"), name)


if TYPE_CHECKING:
    LOG = logging.getLogger("headrace")
else:
    LOG = _Later()


_said: Final[set[str]] = set()
_saying: Final = threading.Lock()  # plans that functions make are opened by several workers at once


def warn_once(message: str) -> None:
    """Says something in the log that this process has not said before."""
    with _saying:
        if message in _said:
            return
        _said.add(message)
    LOG.warning("%s", message)
