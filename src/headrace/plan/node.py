"""The base of all plan nodes.

House rules. A node is frozen and valid: ``__post_init__`` refuses what cannot be, so the traceback points at
the user's own line. It says what it is (``op``, ``label``, ``parameters``), what is known of its elements
without running anything (``cardinality``, ``spec``), and nothing of how it runs.

Only four things in a node are not data: the user's functions, the memory of a cache, the counter of epochs
that all plans made from one random operation share, because every iterator over it is a new epoch, and what tells
operations apart, because one that a plan reads twice is bounded once.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Final, Protocol, Self, runtime_checkable

from headrace.elements.tensor_spec import Spec
from headrace.frozen import frozen
from headrace.function_code import code_of, place_of
from headrace.plan.facts import Remembering

__all__ = [
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "DatasetOf",
    "HasPlan",
    "Node",
    "NodeOfSeveral",
    "Operation",
    "Spec",
    "UnaryNode",
    "function_label",
    "function_name",
    "function_place",
    "no_dataset",
    "nodes_of",
    "parallel_calls_of",
    "plan_of",
    "reads_ahead",
]

INFINITE_CARDINALITY: Final = -1
UNKNOWN_CARDINALITY: Final = -2

# A function of the library's own is no user's: its file says nothing of where to look.
_OURS: Final = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")  # noqa: PTH100, PTH118, PTH120 - no I/O


class Operation:
    """What tells one operation from others; what is learned of it while it runs may be kept as long as it is."""

    __slots__ = ("__weakref__",)


@frozen(kw_only=True, eq=False)
class Node(Remembering):
    """One operation of a plan."""

    op: ClassVar[str]
    # Parameters that change how fast the same elements come, never which: not part of a plan's identity.
    tuning: ClassVar[frozenset[str]] = frozenset()
    # The parameter that load_state_dict(allow=) may let differ from that of the plan which saved a state.
    changeable: ClassVar[str | None] = None
    # Whether its function makes datasets, whose random operations no plan shows.
    opens_plans: ClassVar[bool] = False
    # Whether its spec is found by a look at all elements.
    spec_is_of_elements: ClassVar[bool] = False
    # Whether it reads no other node: quicker to be had than its inputs.
    is_source: ClassVar[bool] = True
    # Whether its elements are records of files.
    reads_files: ClassVar[bool] = False
    # Whether it deals what it reads to the ranks of a job.
    deals: ClassVar[bool] = False

    name: str | None = None
    # What was written, whatever rules make of it: nodes that were changed or copied are still this operation.
    operation: object = dataclasses.field(default_factory=Operation, repr=False)

    @property
    def operations(self) -> tuple[object, ...]:
        """The operations that it does."""
        return (self.operation,)

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The nodes that this one reads, in order."""
        return ()

    def with_inputs(self, inputs: tuple[Node, ...]) -> Self:
        """Returns this node reading others."""
        assert not inputs  # a source reads nothing
        return self

    def cardinality(self) -> int:
        """Returns how many elements one epoch has; negative: infinite or unknown."""
        return self.recall("cardinality", self._cardinality)

    def spec(self) -> Spec:
        """Returns the structure of ``TensorSpec`` of its elements, or None where only a run could tell."""
        return self.recall("spec", self._spec)

    def _cardinality(self) -> int:
        """Finds the cardinality, once."""
        return UNKNOWN_CARDINALITY

    def _spec(self) -> Spec:
        """Finds the spec, once."""
        return None

    def functions(self) -> tuple[Callable[..., Any], ...]:
        """Returns the user's functions that it calls."""
        return ()

    def parameters(self) -> dict[str, Any]:
        """Returns what distinguishes this node from others of its kind, as plain data."""
        return {}

    @property
    def label(self) -> str:
        """How messages and statistics call it: ``map 'decode' (train.py:41)``."""
        return self.recall("label", self._label)

    def _label(self) -> str:
        """Finds the label, once: the plans that a function makes of elements ask for its node's each time."""
        for function in self.functions():
            return function_label(self.op, function, self.name)
        return f"{self.op} '{self.name}'" if self.name else self.op


@frozen(kw_only=True, eq=False)
class UnaryNode(Node):
    """A node that reads one other."""

    is_source: ClassVar[bool] = False
    input: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The one node that it reads."""
        return (self.input,)

    def with_inputs(self, inputs: tuple[Node, ...]) -> Self:
        """Returns this node reading another."""
        (only,) = inputs
        return self if only is self.input else dataclasses.replace(self, input=only)

    def _cardinality(self) -> int:
        """Returns that of its input, unless a node says otherwise."""
        return self.input.cardinality()

    def _spec(self) -> Spec:
        """Returns the spec of its input, unless a node says otherwise."""
        return self.input.spec()


@frozen(kw_only=True, eq=False)
class NodeOfSeveral(Node):
    """A node that reads several others, as ``zip`` does."""

    is_source: ClassVar[bool] = False
    datasets: tuple[Node, ...]

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The datasets, in their order."""
        return self.datasets

    def with_inputs(self, inputs: tuple[Node, ...]) -> Self:
        """Returns the same of others."""
        if all(new is old for new, old in zip(inputs, self.inputs, strict=True)):
            return self
        return self._reading(inputs)

    def _reading(self, inputs: tuple[Node, ...]) -> Self:
        return dataclasses.replace(self, datasets=inputs)


@runtime_checkable
class HasPlan(Protocol):
    """What a function given to ``flat_map`` or ``interleave`` returns: a dataset, known by its plan alone."""

    def __headrace_plan__(self) -> Node:
        """Returns the plan of the dataset."""
        ...


# Makes a dataset of a plan. The facade, which no module below it may name, gives it to the nodes whose elements are datasets.
DatasetOf = Callable[[Node], HasPlan]


def plan_of(dataset: object) -> Node | None:
    """Returns the plan of a dataset that a user's function returned; None where it is no dataset."""
    # Not isinstance: to look through a protocol takes longer than many a function does.
    plan: Callable[[], Node] | None = getattr(dataset, "__headrace_plan__", None)
    return None if plan is None else plan()


def no_dataset(returned: object) -> TypeError:
    """Makes the error of a function that returned something else than a dataset; of which operation, is said by who called it."""
    return TypeError(f"the function must return a Dataset, but returned {type(returned).__name__}")


def nodes_of(plan: Node) -> Iterator[Node]:
    """Returns all nodes of a plan, sources first."""
    waiting, outwards = [plan], []
    while waiting:
        node = waiting.pop()
        outwards.append(node)
        waiting += node.inputs
    return reversed(outwards)


def function_name(function: Callable[..., Any]) -> str:
    """Returns what the user calls the function."""
    named = getattr(function, "func", function)  # functools.partial
    name: str = getattr(named, "__qualname__", type(named).__name__)
    return name.rpartition("<locals>.")[2]


def function_label(op: str, function: Callable[..., Any], name: str | None = None) -> str:
    """Returns how messages call an operation with that function: ``map 'decode' (train.py:41)``."""
    place = function_place(function)
    named = f"{op} '{name or function_name(function)}'"
    return f"{named} ({place})" if place else named


def function_place(function: Callable[..., Any]) -> str | None:
    """Returns the file and line of the function's definition, or None for a builtin and for a function of headrace's own."""
    code = code_of(getattr(function, "func", function))  # which classes of headrace's own call, too
    return None if code is None or code.co_filename.startswith(_OURS) else place_of(code)


def reads_ahead(node: Node) -> bool:
    """Returns whether workers open and decode the node's files ahead of who reads them."""
    return hasattr(getattr(node, "format", None), "open_ahead")


def parallel_calls_of(node: Node) -> int | None:
    """Returns how many calls at once the node's function may have; None where it has no workers."""
    calls: int | None = getattr(node, "num_parallel_calls", None)
    return calls
