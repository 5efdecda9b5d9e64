"""The operation that packs sequences into rows of one length."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from headrace.dataset.mixin import DatasetMixin
from headrace.plan.packing import Pack

if TYPE_CHECKING:
    from headrace.dataset.dataset import Dataset

__all__ = ["Packing"]


class Packing(DatasetMixin):
    """The operation that packs sequences into rows of one length."""

    __slots__ = ()

    def pack(
        self,
        length: Any,
        strategy: Literal["first_fit", "best_fit", "concat_then_split"] = "first_fit",
        *,
        open_rows: int = 32,
        truncate: bool = False,
        padding_value: Any = 0,
        name: str | None = None,
    ) -> Dataset:
        """Packs sequences of tokens into rows of one length, with segment ids and positions.

        The layout is that of T5, MaxText and Grain: segment ids count the sequences of a row from 1, positions count the
        tokens of a segment from 0; where there is padding both are 0. An element that is a dict gets the keys
        ``<name>_segment_ids`` and ``<name>_positions`` beside each ``<name>``; any other becomes the triple (tokens, segment
        ids, positions), each in the element's structure. Ids and positions are int32.

        All components of an element go into the same row as the same segment; they need not be equally long. A sequence
        without tokens is dropped. Sequences that differ in structure, dtype or further axes never share a row.

        Args:
            length: how many tokens a row has; an int, or a structure with one for each component.
            strategy: ``"first_fit"`` puts a sequence into the oldest open row with room, ``"best_fit"`` into the one with the
                least room that suffices; where none has room and no further row may be opened, the oldest is finished, or
                the fullest. ``"concat_then_split"`` lays sequences end to end and cuts where a row is full: no padding
                but at the end, and a sequence that is cut goes on as a new segment, from position 0, in the next row; its
                components must be equally long.
            open_rows: how many rows may be open at once; more of them leave less padding and cost more time.
            truncate: whether a sequence longer than a row is cut, instead of failing.
            padding_value: what fills the rest of a row; one value, or a structure with one for each component.
            name: what the operation is called in messages and statistics.

        Raises:
            InvalidArgumentError: an argument is out of range; or, while iterating, in place of the element: a component is a
                scalar, or longer than a row.

        Example:
            >>> import headrace as hr
            >>> ds = hr.Dataset.range(1, 5).map(lambda n: {"ids": [int(n)] * int(n)}).pack(5)
            >>> for row in ds:
            ...     print(row["ids"], row["ids_segment_ids"], row["ids_positions"])
            [1 2 2 0 0] [1 2 2 0 0] [0 0 1 0 0]
            [3 3 3 0 0] [1 1 1 0 0] [0 1 2 0 0]
            [4 4 4 4 0] [1 1 1 1 0] [0 1 2 3 0]
        """
        return self._of(
            Pack(
                input=self._plan,
                length=length,
                strategy=strategy,
                open_rows=open_rows,
                truncate=truncate,
                padding_value=padding_value,
                name=name,
            )
        )
