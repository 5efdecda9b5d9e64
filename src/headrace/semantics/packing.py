"""Sequences to be packed, and what a state says of the rows that are open."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from headrace.blocks.cursor import State
from headrace.elements.leaf_arrays import plain_array
from headrace.elements.structure import Element, TreeDef, flatten, paths_of
from headrace.errors import InputChangedError, InvalidArgumentError
from headrace.frozen import frozen
from headrace.plan.packing import Pack

__all__ = [
    "PACK_REMEDY",
    "BinContents",
    "SequenceKind",
    "TokenSequence",
    "pack_state",
    "sequence_of",
    "sequences_lost",
]

# Structure, dtypes and shapes after the first axis.
SequenceKind = tuple[TreeDef, tuple[Any, ...]]


@frozen
class TokenSequence:
    """One element: an array of tokens a component.

    Attributes:
        index: the element's index among all that were read.
        arrays: the components.
        kind: structure, dtypes and shapes after the first axis; only sequences of one kind share a row.
        limits: how long each component of a row is.
    """

    index: int
    arrays: Sequence[np.ndarray]
    kind: SequenceKind
    limits: Sequence[int]

    @property
    def lengths(self) -> list[int]:
        """How many tokens each component has."""
        return [len(array) for array in self.arrays]

    def cut(self, start: int, stop: int) -> TokenSequence:
        """Returns the tokens from ``start`` to before ``stop``, of each component."""
        return dataclasses.replace(self, arrays=[array[start:stop] for array in self.arrays])


def sequence_of(node: Pack, element: Element, index: int) -> TokenSequence:
    """Makes a sequence of an element.

    Raises:
        InvalidArgumentError: a component is a scalar, or too long; to be cut at the same positions, components differ in length.
    """
    leaves, treedef = flatten(element)
    arrays = [plain_array(leaf, "a row") for leaf in leaves]
    limits = node.lengths(treedef)
    if not arrays:
        raise InvalidArgumentError("there is no component to pack")
    paths = paths_of(treedef)
    for path, array in zip(paths, arrays, strict=True):
        if not array.ndim:
            raise InvalidArgumentError(f"a scalar cannot be packed{_component(path)}")
    kind = (treedef, tuple((array.dtype, array.shape[1:]) for array in arrays))
    if node.strategy == "concat_then_split":
        _check_equal(arrays, paths)
    elif node.truncate:
        arrays = [array[:limit] for array, limit in zip(arrays, limits, strict=True)]
    else:
        _check_short(arrays, limits, paths)
    return TokenSequence(index, arrays, kind, limits)


def _component(path: str) -> str:
    return f" (component {path})" if path else ""


def _check_equal(arrays: Sequence[np.ndarray], paths: Sequence[str]) -> None:
    for path, array in zip(paths, arrays, strict=True):
        if len(array) != len(arrays[0]):
            message = f"component {path} has {len(array)} tokens, the first component has {len(arrays[0])}"
            raise InvalidArgumentError(f"{message}: they cannot be cut at the same places")


def _check_short(arrays: Sequence[np.ndarray], limits: Sequence[int], paths: Sequence[str]) -> None:
    for path, array, limit in zip(paths, arrays, limits, strict=True):
        if len(array) > limit:
            message = f"a sequence of {len(array)} tokens is longer than a row of {limit}{_component(path)}"
            raise InvalidArgumentError(f"{message}: cut it before, or set truncate=True")


# The indices of the sequences in each open row, and how much of the first one is out already.
BinContents = tuple[tuple[tuple[int, ...], ...], int]


PACK_REMEDY: Final = "Take fewer open_rows"


def pack_state(read: int, held: BinContents, position: Callable[[int], State]) -> State:
    """Writes down the state of rows that hold sequences with these indices; in it they count from the oldest one held."""
    rows, offset = held
    oldest = min((indices[0] for indices in rows), default=read)
    return {
        "read": read - oldest,
        "rows": [[index - oldest for index in indices] for indices in rows],
        "offset": offset,
        "input": position(oldest),
    }


def sequences_lost(label: str) -> InputChangedError:
    """Makes the error of a resumed run that does not find the sequences that were held."""
    message = "sequences that were held are not there any more: the data changed since the state was saved"
    return InputChangedError(message, stage=label)
