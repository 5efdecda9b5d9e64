"""How things are closed: at the end of a ``with`` block; several of them each, whatever one raises."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Self

from headrace.errors import said

__all__ = ["Closing", "close_all"]


class Closing(ABC):
    """What a ``with`` block closes."""

    __slots__ = ()

    @abstractmethod
    def close(self) -> None:
        """Gives back what it holds; may be called again."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def close_all(closers: Iterable[Callable[[], object]]) -> None:
    """Calls each of them.

    Raises:
        BaseException: what the first one raised that did, once all were called; what others raised is noted on it.
    """
    first: BaseException | None = None
    for close in closers:
        try:
            close()
        except BaseException as error:  # noqa: BLE001 - a generator may raise anything, and Ctrl-C may come
            if first is None:
                first = error
                continue
            with contextlib.suppress(Exception):  # a class that takes no notes
                first.add_note(f"While the rest was closed came {type(error).__name__}: {said(error)}")
    if first is not None:
        raise first
