"""How elements become a framework's: what each framework's module has."""

from __future__ import annotations

from typing import Any, Protocol

from headrace.elements.structure import Element

__all__ = ["Transfer"]


class Transfer(Protocol):
    """How elements become a framework's."""

    @property
    def takes_time(self) -> bool:
        """Whether a thread of its own pays: there is a device to copy to."""
        ...

    def begin(self, element: Element) -> Any:
        """Starts to bring an element over; called in the feed's thread."""
        ...

    def finish(self, begun: Any) -> Any:
        """Returns the element, safe to use for what the calling thread does next."""
        ...

    def copies_s(self) -> list[float]:
        """Returns how long the copies took that have ended since the last call, in seconds."""
        ...
