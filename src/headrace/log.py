"""headrace's logger, ``logging.getLogger("headrace")``; ``logging`` itself is imported with the first message.

With what it imports it takes as long as a tenth of the engine, and most programs that are ended well never have a message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import logging

__all__ = ["LOG", "SAID_ONCE", "is_news", "warn_once"]


class _Later:
    """The logger to whoever asks for a method of it."""

    def __getattr__(self, name: str) -> Any:
        import logging

        return getattr(logging.getLogger("headrace"), name)


if TYPE_CHECKING:
    LOG = logging.getLogger("headrace")
else:
    LOG = _Later()


# The attribute of a record that says of what it is told once, also to the program that hears it from another process.
SAID_ONCE: Final = "headrace_said_once"
_said: Final[dict[str, object]] = {}


def warn_once(message: str, *, about: str | None = None) -> None:
    """Says something in the log that neither this process has said before nor one that it started.

    Args:
        message: what is said.
        about: what it is said of, once, in whatever words; the message itself where nothing is named.
    """
    key = message if about is None else about
    if is_news(key):
        LOG.warning("%s", message, extra={SAID_ONCE: key})


def is_news(key: str) -> bool:
    """Returns whether this is said for the first time, which it is then."""
    mark = object()
    # One operation and no lock: several workers may say the same at once, and a garbage collection in the middle of it.
    return _said.setdefault(key, mark) is mark
