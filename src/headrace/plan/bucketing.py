"""Into which bucket a sequence goes, and to which shape it is padded there."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headrace.arguments import check_int
from headrace.elements.leaf_specs import spec_of
from headrace.elements.structure import flatten, unflatten
from headrace.errors import InvalidArgumentError
from headrace.frozen import frozen
from headrace.known_as import known_as
from headrace.plan.node import Spec

__all__ = ["Buckets", "boundary_shapes"]

_STAGE = "bucket_by_sequence_length"


@known_as("buckets by sequence length")
@frozen(kw_only=True)
class Buckets:
    """Bucket i has the lengths from boundary i - 1 to before boundary i, and batches of ``batch_sizes[i]``.

    Attributes:
        bounded: whether a length that is not below the last boundary is an error.
    """

    length_of: Callable[..., Any]
    boundaries: tuple[int, ...]
    batch_sizes: tuple[int, ...]
    bounded: bool

    @classmethod
    def of(
        cls, length_of: Callable[..., Any], boundaries: Sequence[int], batch_sizes: Sequence[int], *, bounded: bool
    ) -> Buckets:
        """Returns the buckets that a user's lists say.

        Raises:
            InvalidArgumentError: there is not one batch size more than boundaries, or the boundaries do not rise.
        """
        if len(batch_sizes) != len(boundaries) + 1:
            message = f"{len(boundaries)} boundaries need {len(boundaries) + 1} batch sizes, not {len(batch_sizes)}"
            raise InvalidArgumentError(message, stage=_STAGE)
        limits = tuple(check_int(boundary, field="bucket_boundaries", stage=_STAGE) for boundary in boundaries)
        sizes = tuple(check_int(size, field="bucket_batch_sizes", stage=_STAGE) for size in batch_sizes)
        if list(limits) != sorted(set(limits)):
            raise InvalidArgumentError(f"the boundaries must rise: {list(limits)}", stage=_STAGE)
        return cls(length_of=length_of, boundaries=limits, batch_sizes=sizes, bounded=bounded)

    @property
    def func(self) -> Callable[..., Any]:
        """The user's function, by which messages call this one, as they do a ``functools.partial``."""
        return self.length_of

    def __call__(self, *element: Any) -> int:
        """Returns the number of an element's bucket.

        Raises:
            InvalidArgumentError: the length is no integer, or beyond the last boundary where that bounds it.
        """
        length = self.length_of(*element)
        if type(length) is not int:
            if isinstance(length, np.ndarray) and length.shape == ():
                length = length.item()
            if isinstance(length, bool) or not isinstance(length, (int, np.integer)):
                raise InvalidArgumentError(f"the length must be an integer, not {type(length).__name__}")
        bucket = bisect.bisect_right(self.boundaries, length)
        if self.bounded and bucket == len(self.boundaries):
            message = f"a length of {length} is not below the last boundary, {(self.boundaries or (0,))[-1]}"
            raise InvalidArgumentError(f"{message}, to which it would be padded: pad_to_bucket_boundary=True")
        return bucket

    def size_of(self, bucket: int) -> int:
        """Returns how many elements a batch of this bucket has."""
        return self.batch_sizes[bucket]

    def padded_length(self, bucket: int) -> int:
        """Returns the longest that fits the bucket."""
        return self.boundaries[bucket] - 1


def boundary_shapes(shapes: Any, length: int, spec: Spec, element: Callable[[], Any]) -> Any:
    """Returns the shapes to pad to, with ``length`` in place of the axes that were left open.

    Args:
        shapes: what the user gave, or None.
        length: the longest that fits the bucket.
        spec: what is known of the elements, or None.
        element: returns one of them, to see how many axes its components have; called where nothing is known of them.
            The first axis is then the sequence's.
    """
    if shapes is not None:
        return _filled(shapes, length)
    known = spec if spec is not None else spec_of(element())
    leaves, treedef = flatten(known)
    if spec is None:
        return unflatten(treedef, [[length, *[None] * (len(leaf.shape) - 1)] if leaf.shape else [] for leaf in leaves])
    shapes = [[None] if leaf.shape is None else list(leaf.shape) for leaf in leaves]
    return unflatten(treedef, [_filled(shape, length) for shape in shapes])


def _filled(shape: Any, length: int) -> Any:
    if shape is None or (isinstance(shape, int) and shape == -1):
        return length
    if isinstance(shape, dict):
        return {key: _filled(inner, length) for key, inner in shape.items()}
    if isinstance(shape, tuple) and hasattr(shape, "_fields"):
        return type(shape)(*(_filled(inner, length) for inner in shape))
    return type(shape)(_filled(inner, length) for inner in shape) if isinstance(shape, (list, tuple)) else shape
