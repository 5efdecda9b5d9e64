"""The plan node that packs sequences of tokens into rows of a fixed length.

Its layout is the field's (T5, MaxText, Grain): beside the tokens stand segment ids, from 1 in each row and 0 where there is
padding, and positions, from 0 in each segment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

import numpy as np

from headrace.arguments import check_flags, check_int
from headrace.elements.structure import Element, TreeDef, flatten, normalize, paths_of, unflatten
from headrace.elements.tensor_spec import TensorSpec
from headrace.errors import InvalidArgumentError
from headrace.frozen import frozen
from headrace.plan.node import UNKNOWN_CARDINALITY, Spec, UnaryNode

__all__ = ["STRATEGIES", "Pack"]

STRATEGIES: Final = ("first_fit", "best_fit", "concat_then_split")
_INT32: Final = np.dtype(np.int32)


@frozen(kw_only=True, eq=False)
class Pack(UnaryNode):
    """Sequences packed into rows; several components of an element stay together."""

    op: ClassVar[str] = "pack"
    length: Any
    strategy: str = "first_fit"
    open_rows: int = 32
    truncate: bool = False
    padding_value: Any = 0

    def __post_init__(self) -> None:
        check_flags(self, "truncate")
        if self.strategy not in STRATEGIES:
            message = f"strategy must be one of {', '.join(STRATEGIES)}, not {self.strategy!r}"
            raise InvalidArgumentError(message, stage=self.op)
        leaves, treedef = flatten(self.length)
        lengths = [check_int(leaf, field="length", stage=self.op) for leaf in leaves]
        if not lengths or min(lengths) < 1:
            raise InvalidArgumentError(f"length must be at least 1, not {self.length}", stage=self.op)
        if self.strategy == "concat_then_split" and len(set(lengths)) > 1:
            message = "components that are cut at the same places need the same length"
            raise InvalidArgumentError(message, stage=self.op)
        rows = check_int(self.open_rows, field="open_rows", stage=self.op)
        if rows < 1:
            raise InvalidArgumentError(f"open_rows must be at least 1, not {rows}", stage=self.op)
        object.__setattr__(self, "length", unflatten(treedef, lengths))
        object.__setattr__(self, "open_rows", rows)
        object.__setattr__(self, "padding_value", normalize(self.padding_value))
        self.spec()  # what is known to be unfit is refused now

    def lengths(self, treedef: TreeDef) -> list[int]:
        """Returns how long each component of a row is.

        Raises:
            InvalidArgumentError: the given structure is not that of the elements.
        """
        return self._spread(self.length, treedef, "length")

    def paddings(self, treedef: TreeDef) -> list[Any]:
        """Returns what fills each component of a row.

        Raises:
            InvalidArgumentError: the given structure is not that of the elements.
        """
        return self._spread(self.padding_value, treedef, "padding_value")

    def _spread(self, given: Any, treedef: TreeDef, field: str) -> list[Any]:
        leaves, structure = flatten(given)
        if structure == treedef:
            return leaves
        if structure.num_nodes == 1 and len(leaves) == 1:
            return leaves * treedef.num_leaves
        raise InvalidArgumentError(f"{field} has another structure than the elements", stage=self.op)

    def row(self, treedef: TreeDef, tokens: Sequence[Any], ids: Sequence[Any], positions: Sequence[Any]) -> Element:
        """Returns a row as an element: a dict gets more keys, anything else becomes a triple.

        Raises:
            InvalidArgumentError: a key is no string, or there already.
        """
        parts = [unflatten(treedef, leaves) for leaves in (tokens, ids, positions)]
        if treedef.type is not dict:
            return tuple(parts)
        row = dict(parts[0])
        for suffix, part in zip(("segment_ids", "positions"), parts[1:], strict=True):
            row |= {f"{key}_{suffix}": value for key, value in part.items()}
        if len(row) != 3 * len(parts[0]) or not all(isinstance(key, str) for key in row):
            raise InvalidArgumentError(
                f"keys must be strings, and leave room for others: {', '.join(map(str, parts[0]))}"
            )
        return row

    def _cardinality(self) -> int:
        """Returns UNKNOWN_CARDINALITY: only a run could tell."""
        return UNKNOWN_CARDINALITY

    def _spec(self) -> Spec:
        """Returns rows of the given length, where it is known what is packed."""
        inner = self.input.spec()
        if inner is None:
            return None
        leaves, treedef = flatten(inner)
        for path, leaf in zip(paths_of(treedef), leaves, strict=True):
            if leaf.shape == ():
                where = f" (component {path})" if path else ""
                raise InvalidArgumentError(f"a scalar cannot be packed{where}", stage=self.op)
        lengths = self.lengths(treedef)
        tokens = [
            TensorSpec(leaf.shape and (length, *leaf.shape[1:]), leaf.dtype)
            for leaf, length in zip(leaves, lengths, strict=True)
        ]
        numbers = [TensorSpec((length,), _INT32) for length in lengths]
        return self.row(treedef, tokens, numbers, numbers)

    def parameters(self) -> dict[str, Any]:
        """Returns what decides where each sequence goes."""
        return {
            "length": str(self.length),
            "strategy": self.strategy,
            "open_rows": self.open_rows,
            "truncate": self.truncate,
            "padding_value": str(self.padding_value),
        }
