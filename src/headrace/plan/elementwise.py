"""Plan nodes that look at one element at a time: map, filter, enumerate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from headrace.arguments import (
    check_executor,
    check_flags,
    check_function,
    check_int,
    check_parallel_calls,
    check_seconds,
)
from headrace.elements.tensor_spec import TensorSpec
from headrace.errors import HeadraceError, InvalidArgumentError
from headrace.frozen import frozen
from headrace.known_as import known_as
from headrace.plan.node import UNKNOWN_CARDINALITY, Spec, UnaryNode, function_name
from headrace.plan.predicated import Predicated
from headrace.plan.randomness import Randomness

__all__ = ["Enumerate", "Filter", "Map", "MapChain", "RandomMap"]


def _settings(executor: str | None, stacked: int | None, timeout_s: float | None = None) -> dict[str, Any]:
    """Returns what few maps have."""
    found = {"executor": executor, "stacked": stacked, "timeout_s": timeout_s}
    return {name: value for name, value in found.items() if value is not None}


@frozen(kw_only=True, eq=False)
class Map(UnaryNode):
    """Each element replaced by what a function makes of it."""

    op: ClassVar[str] = "map"
    tuning: ClassVar[frozenset[str]] = frozenset(
        {"num_parallel_calls", "deterministic", "stacked", "executor", "timeout_s"}
    )
    function: Callable[..., Any]
    num_parallel_calls: int | None = None
    deterministic: bool | None = None
    on_error: str | Callable[[HeadraceError], Any] = "raise"
    executor: str | None = None
    timeout_s: float | None = None  # how long the function may take on one element
    stacked: int | None = None  # how many a batch after it stacks, where its workers may do so; the optimizer says it

    def __post_init__(self) -> None:
        # What was not given is not looked at: functions make such plans of elements by the thousand.
        check_function(self.function, stage=self.op)
        if self.num_parallel_calls is not None:
            check_parallel_calls(self.num_parallel_calls, stage=self.op)
        if self.deterministic is not None:
            check_flags(self, "deterministic")
        if self.executor is not None:
            check_executor(self.executor, self.num_parallel_calls, stage=self.op)
        if self.timeout_s is not None:
            check_seconds(self.timeout_s, field="timeout_s", stage=self.op)
        if self.on_error not in ("raise", "skip") and not callable(self.on_error):
            message = f"on_error must be 'raise', 'skip' or a function of the error, not {self.on_error!r}"
            raise InvalidArgumentError(message, stage=self.op)

    @property
    def skips(self) -> bool:
        """Whether elements on which it fails are skipped."""
        return self.on_error == "skip"

    def _cardinality(self) -> int:
        """Returns that of its input; where failures are skipped, only a run could tell."""
        count = self.input.cardinality()
        return UNKNOWN_CARDINALITY if self.skips and count >= 0 else count

    def spec(self) -> Spec:
        """Returns None: only the function could tell."""
        return None

    def functions(self) -> tuple[Callable[..., Any], ...]:
        """Returns the user's function."""
        return (self.function,)

    def parameters(self) -> dict[str, Any]:
        """Returns the function's name, and how it is called."""
        return {
            "function": function_name(self.function),
            "num_parallel_calls": self.num_parallel_calls,
            "deterministic": self.deterministic,
            "on_error": None if self.on_error == "raise" else "skip" if self.skips else "a function",
            **_settings(self.executor, self.stacked, self.timeout_s),
        }


@frozen(kw_only=True, eq=False)
class RandomMap(UnaryNode):
    """Each element replaced by what a function makes of it and of random numbers of its own."""

    op: ClassVar[str] = "random_map"
    tuning: ClassVar[frozenset[str]] = frozenset(
        {"num_parallel_calls", "deterministic", "stacked", "executor", "timeout_s"}
    )
    function: Callable[..., Any]
    randomness: Randomness
    num_parallel_calls: int | None = None
    deterministic: bool | None = None
    executor: str | None = None
    timeout_s: float | None = None  # how long the function may take on one element
    stacked: int | None = None  # as a map's

    def __post_init__(self) -> None:
        check_function(self.function, stage=self.op)
        check_parallel_calls(self.num_parallel_calls, stage=self.op)
        if self.deterministic is not None:
            check_flags(self, "deterministic")
        check_executor(self.executor, self.num_parallel_calls, stage=self.op)
        check_seconds(self.timeout_s, field="timeout_s", stage=self.op)

    def _spec(self) -> Spec:
        """Returns None: only the function could tell."""
        return None

    def functions(self) -> tuple[Callable[..., Any], ...]:
        """Returns the user's function."""
        return (self.function,)

    def parameters(self) -> dict[str, Any]:
        """Returns the function's name, its seed, and how it is called."""
        return {
            "function": function_name(self.function),
            "seed": self.randomness.seed,
            "num_parallel_calls": self.num_parallel_calls,
            "deterministic": self.deterministic,
            **_settings(self.executor, self.stacked, self.timeout_s),
        }


@known_as("chain of maps")
@frozen(kw_only=True, eq=False)
class MapChain(UnaryNode):
    """Several maps in a row, done as one task; only the optimizer makes it."""

    op: ClassVar[str] = "map"
    maps: tuple[Map, ...]
    stacked: int | None = None  # as a map's

    @property
    def num_parallel_calls(self) -> int | None:
        return self.maps[0].num_parallel_calls

    @property
    def executor(self) -> str | None:
        return self.maps[0].executor

    @property
    def operations(self) -> tuple[object, ...]:
        return tuple(node.operation for node in self.maps)

    @property
    def deterministic(self) -> bool | None:
        """True where one of them asks for it: order suits those that were not told."""
        asked = [node.deterministic for node in self.maps]
        return True if True in asked else asked[0]

    def _spec(self) -> Spec:
        return None

    def functions(self) -> tuple[Callable[..., Any], ...]:
        return tuple(node.function for node in self.maps)

    def parameters(self) -> dict[str, Any]:
        calls = {"num_parallel_calls": self.num_parallel_calls, "deterministic": self.deterministic}
        return calls | _settings(self.executor, self.stacked)

    @property
    def label(self) -> str:
        return " + ".join(node.label for node in self.maps)


@frozen(kw_only=True, eq=False)
class Filter(Predicated):
    """The elements for which a function is true."""

    op: ClassVar[str] = "filter"


@frozen(kw_only=True, eq=False)
class Enumerate(UnaryNode):
    """Each element with its number before it."""

    op: ClassVar[str] = "enumerate"
    LAST_START: ClassVar[int] = 1 << 62  # from there on, more elements than any run has still have a number of 64 bits
    start: int = 0

    def __post_init__(self) -> None:
        start = check_int(self.start, field="start", stage=self.op)
        if not -(1 << 63) <= start <= self.LAST_START:
            message = (
                f"start must be from {-(1 << 63)} to {self.LAST_START}, so that the numbers fit int64, not {start}"
            )
            raise InvalidArgumentError(message, stage=self.op)
        object.__setattr__(self, "start", start)

    def _spec(self) -> Spec:
        """Returns a pair of an int64 and what it reads."""
        inner = self.input.spec()
        return None if inner is None else (TensorSpec((), np.dtype(np.int64)), inner)

    def parameters(self) -> dict[str, Any]:
        """Returns the first number."""
        return {"start": self.start}
