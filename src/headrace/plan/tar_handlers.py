"""The plan node that makes values of the files in tar archives, and the handlers that it calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from headrace.elements.structure import Element
from headrace.errors import DataError, HeadraceError, InvalidArgumentError, said
from headrace.frozen import frozen
from headrace.known_as import known_as
from headrace.plan.elementwise import Map
from headrace.plan.node import function_name, function_place

__all__ = ["Handler", "Handlers", "TarHandlers"]

Handler = Callable[[bytes], Any]


@known_as("handlers by extension")
class Handlers:
    """Makes values of an element's files, by their extensions.

    Args:
        by_extension: what is called with the bytes of a file. ``"png"`` is for ``seg.png`` as well, unless that has a
            handler of its own.

    Raises:
        InvalidArgumentError: a name that no extension can have.
        TypeError: a handler cannot be called.
        DataError: when it is called, a handler failed; shard, key and extension are named.
    """

    def __init__(self, by_extension: Mapping[str, Handler]) -> None:
        for extension, handler in by_extension.items():
            if not extension or extension != extension.lower() or extension[0] == "." or "/" in extension:
                raise InvalidArgumentError(
                    f"handlers: {extension!r} is no extension; they are in small letters, without their first dot"
                )
            if not callable(handler):
                raise TypeError(f"handlers: that of {extension!r} is of type {type(handler).__name__}, no function")
        self.by_extension = dict(by_extension)

    def __call__(self, element: Element) -> Element:
        return {name: self._value(element, name, content) for name, content in element.items()}

    def _value(self, element: Element, extension: str, content: Any) -> Any:
        handler = self._handler(extension)
        if handler is None or extension.startswith("__"):
            return content
        try:
            return handler(content)
        except Exception as error:
            raise _failed(error, handler, element, extension) from error

    def _handler(self, extension: str) -> Handler | None:
        """Returns, for ``left.seg.png``, the handler of ``left.seg.png``, ``seg.png`` or ``png``."""
        while extension not in self.by_extension and "." in extension:
            extension = extension.partition(".")[2]
        return self.by_extension.get(extension)


def _failed(error: Exception, handler: Handler, element: Element, extension: str) -> HeadraceError:
    place = function_place(handler)
    called = f"{function_name(handler)} ({place})" if place else function_name(handler)
    what = error.reason if isinstance(error, HeadraceError) else f"{type(error).__name__}: {said(error)}"
    reason = f"{element['__url__']}, key {element['__key__']!r}: {extension!r} by {called}: {what}"
    if isinstance(error, HeadraceError):
        return error.with_place(stage=None, origin=None).with_reason(reason)
    return DataError(reason)


@known_as("handlers of TarDataset")
@frozen(kw_only=True, eq=False)
class TarHandlers(Map):
    """A map by ``Handlers``; it goes by the name of the dataset that it belongs to."""

    op: ClassVar[str] = "TarDataset"
    function: Handlers

    def functions(self) -> tuple[Callable[..., Any], ...]:
        """Returns None: where one failed is said by ``Handlers``, and nobody else's line would help."""
        return ()

    def parameters(self) -> dict[str, Any]:
        """Returns the extensions that have a handler, and its name."""
        handlers = {name: function_name(handler) for name, handler in sorted(self.function.by_extension.items())}
        return {**Map.parameters(self), "function": handlers}
