"""Operations that make datasets of runs and of groups of elements, and that pack sequences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.dataset.part import Part
from headrace.plan.windowing import Window

if TYPE_CHECKING:
    from headrace.dataset.dataset import Dataset

__all__ = ["Windowing"]


class Windowing(Part):
    """Operations that make datasets of runs and of groups of elements, and that pack sequences."""

    __slots__ = ()

    def window(
        self,
        size: int,
        shift: int | None = None,
        stride: int = 1,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Runs of elements, each as a dataset: one dataset in place of each component, in the elements' structure.

        A window's dataset holds its elements; it can be iterated, and used in ``map`` and ``flat_map``. A state keeps
        the place of its first element, from where it is read again. An element that failed takes the windows with it
        that would hold it.

        Args:
            size: how many elements a window has.
            shift: how many elements lie between the first ones of two neighbouring windows; ``size`` by default.
            stride: how many elements lie between two neighbours in a window.
            drop_remainder: whether windows at the end that have fewer elements are left out.
            name: how messages and statistics call the operation.

        Raises:
            InvalidArgumentError: a number is below 1; or, while iterating, a window whose elements differ in structure.

        Example:
            >>> import headrace as hr
            >>> [list(window) for window in hr.Dataset.range(7).window(3, shift=2)]
            [[0, 1, 2], [2, 3, 4], [4, 5, 6], [6]]
            >>> list(hr.Dataset.range(5).window(3, 1, drop_remainder=True).flat_map(lambda w: w.batch(3)))
            [array([0, 1, 2]), array([1, 2, 3]), array([2, 3, 4])]
        """
        return self._of(
            Window(
                input=self._plan,
                size=size,
                shift=shift,
                stride=stride,
                drop_remainder=bool(drop_remainder),
                wrap=self._of,
                name=name,
            )
        )
