"""What the elements of several datasets have in common."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.elements.structure import flatten, unflatten
from headrace.elements.tensor_spec import TensorSpec
from headrace.plan.node import Spec

__all__ = ["common_spec"]


def common_spec(specs: Sequence[Spec], *, stage: str) -> Spec:
    """Returns the narrowest spec that elements of all of these fit, or None where only a run could tell.

    Raises:
        TypeError: structure or dtypes are known to differ.
    """
    first = specs[0]
    if type(first) is TensorSpec and all(spec is first for spec in specs):
        return first
    known = [spec for spec in specs if spec is not None]
    if not known:
        return None
    leaves, treedef = flatten(known[0])
    for spec in known[1:]:
        others, other = flatten(spec)
        if treedef != other or any(one.dtype != two.dtype for one, two in zip(leaves, others, strict=True)):
            raise TypeError(f"{stage}: the datasets differ in structure or dtype: {known[0]} and {spec}")
        leaves = [one.most_general(two) for one, two in zip(leaves, others, strict=True)]
    return unflatten(treedef, leaves) if len(known) == len(specs) else None
