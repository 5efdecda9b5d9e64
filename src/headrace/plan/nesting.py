"""Plan nodes whose function makes a dataset of each element: flat_map and interleave."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar

from headrace.arguments import check_executor, check_flags, check_function, check_int, check_parallel_calls
from headrace.errors import InvalidArgumentError
from headrace.frozen import frozen
from headrace.plan.node import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Spec, UnaryNode, function_name
from headrace.plan.randomness import Randomness

__all__ = ["DEFAULT_CYCLE_LENGTH", "FlatMap", "Interleave"]


# A constant, where tf.data counts cores: the order of elements must not depend on the machine.
DEFAULT_CYCLE_LENGTH = 4


@frozen(kw_only=True, eq=False)
class FlatMap(UnaryNode):
    """The elements of the dataset that a function makes of each element, one dataset after the other.

    It counts as random because the datasets inside may be.
    """

    op: ClassVar[str] = "flat_map"
    opens_plans: ClassVar[bool] = True
    function: Callable[..., Any]
    randomness: Randomness = dataclasses.field(default_factory=Randomness)

    def __post_init__(self) -> None:
        check_function(self.function, stage=self.op)

    def _cardinality(self) -> int:
        """Returns UNKNOWN_CARDINALITY: only a run could tell."""
        return UNKNOWN_CARDINALITY

    def _spec(self) -> Spec:
        """Returns None: only the function could tell."""
        return None

    def functions(self) -> tuple[Callable[..., Any], ...]:
        """Returns the user's function."""
        return (self.function,)

    def parameters(self) -> dict[str, Any]:
        """Returns the function's name."""
        return {"function": function_name(self.function)}


@frozen(kw_only=True, eq=False)
class Interleave(FlatMap):
    """As ``FlatMap``, but with several datasets open at once, each giving a few elements in its turn."""

    op: ClassVar[str] = "interleave"
    tuning: ClassVar[frozenset[str]] = frozenset({"num_parallel_calls", "deterministic", "executor"})
    cycle_length: int | None = None
    block_length: int = 1
    num_parallel_calls: int | None = None
    deterministic: bool | None = None
    executor: str | None = None

    def __post_init__(self) -> None:
        check_function(self.function, stage=self.op)
        check_parallel_calls(self.num_parallel_calls, stage=self.op)
        if self.deterministic is not None:
            check_flags(self, "deterministic")
        check_executor(self.executor, self.num_parallel_calls, stage=self.op)
        given = DEFAULT_CYCLE_LENGTH if self.cycle_length in (None, -1) else self.cycle_length
        cycle = check_int(given, field="cycle_length", stage=self.op)
        block = check_int(self.block_length, field="block_length", stage=self.op)
        if cycle < 1:
            raise InvalidArgumentError(f"cycle_length must be at least 1, not {cycle}", stage=self.op)
        if block < 1:
            raise InvalidArgumentError(f"block_length must be at least 1, not {block}", stage=self.op)
        if self.cycle_length not in (None, -1) and (self.num_parallel_calls or 0) > cycle:
            message = f"num_parallel_calls ({self.num_parallel_calls}) must not exceed cycle_length ({cycle})"
            raise InvalidArgumentError(message, stage=self.op)
        object.__setattr__(self, "cycle_length", cycle)
        object.__setattr__(self, "block_length", block)

    def _cardinality(self) -> int:
        """Returns INFINITE_CARDINALITY where it reads an endless input in workers, as tf.data; else only a run could tell."""
        endless = self.num_parallel_calls is not None and self.input.cardinality() == INFINITE_CARDINALITY
        return INFINITE_CARDINALITY if endless else UNKNOWN_CARDINALITY

    def parameters(self) -> dict[str, Any]:
        """Returns the function's name, the order, and how it is called."""
        return {
            "function": function_name(self.function),
            "cycle_length": self.cycle_length,
            "block_length": self.block_length,
            "num_parallel_calls": self.num_parallel_calls,
            "deterministic": self.deterministic,
            **({} if self.executor is None else {"executor": self.executor}),
        }
