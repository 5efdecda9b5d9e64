"""Operations that hold elements, and settings: the elements stay the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.dataset.part import Part
from headrace.engine import options_of
from headrace.errors import InvalidArgumentError
from headrace.plan.buffering import Cache, Prefetch, WithOptions
from headrace.plan.options import Options

if TYPE_CHECKING:
    from headrace.dataset.dataset import Dataset

__all__ = ["Buffering"]


class Buffering(Part):
    """Operations that hold elements, and settings: the elements stay the same."""

    __slots__ = ()

    def cache(self, filename: str = "", name: str | None = None) -> Dataset:
        """The elements of the first whole epoch, kept in memory and given again in every later one.

        It is kept when an epoch was read to its end, or as far as its known number of elements; an epoch that was
        left before keeps nothing and says so in the log. An epoch in which an element failed is not whole (tf.data
        keeps its other elements, which hides the failure from the next epoch).

        Args:
            filename: must be empty; a cache on disk is not built yet.
            name: how messages and statistics call the operation.

        Raises:
            InvalidArgumentError: a file name is given.

        Example:
            >>> import headrace as hr
            >>> calls = []
            >>> ds = hr.Dataset.range(3).map(lambda x: calls.append(x) or x).cache()
            >>> list(ds), list(ds), calls
            ([0, 1, 2], [0, 1, 2], [0, 1, 2])
        """
        if filename:
            raise InvalidArgumentError("a cache in a file is not built yet: leave filename empty", stage="cache")
        return self._of(Cache(input=self._plan, name=name))

    def prefetch(self, buffer_size: int, name: str | None = None) -> Dataset:
        """The same elements, made ready by a thread of their own before they are asked for.

        Args:
            buffer_size: how many elements may lie ready; 0 changes nothing, ``hr.AUTOTUNE`` leaves it to headrace.
            name: how messages and statistics call the operation.

        Raises:
            InvalidArgumentError: the size is negative and not ``hr.AUTOTUNE``.

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.range(3).prefetch(1))
            [0, 1, 2]
        """
        return self._of(Prefetch(input=self._plan, buffer_size=buffer_size, name=name))

    def with_options(self, options: Options, name: str | None = None) -> Dataset:
        """The same elements, run as the options say; where options meet, the later ones win.

        Args:
            options: an ``hr.Options``.
            name: how messages and statistics call the operation.

        Raises:
            TypeError: it is something else.
        """
        if not isinstance(options, Options):
            raise TypeError(f"with_options takes an hr.Options, not {type(options).__name__}")
        return self._of(WithOptions(input=self._plan, options=options, name=name))

    def options(self) -> Options:
        """All options that were set on this dataset and on what it reads."""
        return options_of(self._plan)
