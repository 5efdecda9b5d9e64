"""Plan nodes that go through elements with something in mind: take_while, scan, unique, assert_cardinality."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from headrace.arguments import check_function, check_int
from headrace.elements.leaf_specs import spec_of
from headrace.elements.ownership import copied, read_only
from headrace.elements.structure import Element, normalize
from headrace.elements.tensor_spec import TensorSpec
from headrace.errors import InvalidArgumentError
from headrace.frozen import frozen
from headrace.plan.node import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Spec, UnaryNode, function_name
from headrace.plan.predicated import Predicated

__all__ = ["AssertCardinality", "Scan", "TakeWhile", "Unique", "is_countable"]


@frozen(kw_only=True, eq=False)
class TakeWhile(Predicated):
    """The elements before the first for which a function is false."""

    op: ClassVar[str] = "take_while"


@frozen(kw_only=True, eq=False)
class Scan(UnaryNode):
    """What a function makes of each element and of a state that it hands on."""

    op: ClassVar[str] = "scan"
    initial_state: Element
    function: Callable[..., Any]

    def __post_init__(self) -> None:
        check_function(self.function, stage=self.op)
        object.__setattr__(self, "initial_state", read_only(copied(normalize(self.initial_state))))

    def _spec(self) -> Spec:
        """Returns None: only the function could tell."""
        return None

    def functions(self) -> tuple[Callable[..., Any], ...]:
        """Returns the user's function."""
        return (self.function,)

    def parameters(self) -> dict[str, Any]:
        """Returns the function's name, and what its state is."""
        return {"function": function_name(self.function), "state": str(spec_of(self.initial_state))}


@frozen(kw_only=True, eq=False)
class Unique(UnaryNode):
    """Each element when it comes for the first time."""

    op: ClassVar[str] = "unique"

    def __post_init__(self) -> None:
        spec = self.input.spec()
        if spec is not None and not (isinstance(spec, TensorSpec) and is_countable(spec)):
            raise TypeError(f"unique: an element must be one int or text, not {spec}")

    def _cardinality(self) -> int:
        """Returns UNKNOWN_CARDINALITY: only a run could tell."""
        return UNKNOWN_CARDINALITY


def is_countable(spec: TensorSpec) -> bool:
    """Returns whether elements of this kind can be told apart: ints and texts."""
    if spec.shape not in ((), None):
        return False
    return spec.dtype in (str, bytes) or (isinstance(spec.dtype, np.dtype) and spec.dtype.kind in "iu")


@frozen(kw_only=True, eq=False)
class AssertCardinality(UnaryNode):
    """The same elements; an error where there are more or fewer than expected."""

    op: ClassVar[str] = "assert_cardinality"
    expected: int

    def __post_init__(self) -> None:
        expected = check_int(self.expected, field="expected_cardinality", stage=self.op)
        if expected < UNKNOWN_CARDINALITY:
            message = f"expected_cardinality must be at least 0, or infinite or unknown, not {expected}"
            raise InvalidArgumentError(message, stage=self.op)
        object.__setattr__(self, "expected", expected)

    @property
    def wanted(self) -> float | None:
        """How many elements there must be; infinity without an end, None where any number will do."""
        if self.expected == UNKNOWN_CARDINALITY:
            return None
        return float("inf") if self.expected == INFINITE_CARDINALITY else self.expected

    def _cardinality(self) -> int:
        """Returns what was asserted."""
        return self.expected

    def parameters(self) -> dict[str, Any]:
        """Returns how many are expected."""
        return {"expected_cardinality": self.expected}
