"""What the elements of a plan are, where that does not follow from its operations alone: a look at the first ones.

A Python function is not traced. So the plan is run by the reference until it gives an element, what passes each node on the
way is noted, and the specification after each function is made of what it returned:

- Of several elements that it made, that which all fit. A size in which they differ is None.
- A size of its result that equals one of its input's which is known to vary (a last batch may be short) is None.
- Where it returns datasets, what is known of those.

From there on it follows from the operations again: after a ``batch`` the first size is None, whatever was seen.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterable
from typing import Any

from headrace import exiting
from headrace.elements.structure import flatten, unflatten
from headrace.elements.tensor_spec import DatasetSpec, TensorSpec, general
from headrace.errors import HeadraceError, InvalidArgumentError, OutOfRangeError
from headrace.plan.buffering import Cache, WithOptions
from headrace.plan.grouping import Batch, Unbatch
from headrace.plan.looking import Known, Noted, Tap
from headrace.plan.mixing import Mixture, RejectionResample
from headrace.plan.nesting import FlatMap
from headrace.plan.node import Node, Spec
from headrace.plan.options import Options
from headrace.plan.sequencing import Concatenate
from headrace.plan.stateful import Scan
from headrace.plan.windowing import GroupByWindow, WindowContents

__all__ = ["looked_spec"]

# A state that grows has had each of its sizes change after this many elements.
_SCANNED = 4


def looked_spec(plan: Node, *, trusted: bool = True) -> Spec:
    """Returns the structure of ``TensorSpec`` of a plan's elements; the plan is run for one of them where only that can tell.

    Args:
        plan: what is looked at.
        trusted: whether sizes that only the look told are said. Otherwise they are None, as the next element may have others.

    Raises:
        OutOfRangeError: it has no element, and only one could tell.
        HeadraceError: the first element failed.
        TypeError: it reads datasets whose elements differ in structure or dtype.
    """
    known = plan.spec()
    spec = known if known is not None else _Look(plan, trusted=trusted).of(plan)
    return _mapped(spec, lambda leaf: leaf)  # containers of the caller's own: a plan remembers what it found


class _Look:
    """One run of a plan for an element, and what is made of it.

    Args:
        plan: what is run.
        held: what the elements of the windows in it are, where that is known better than a window knows it.
        count: how many elements to ask for.
        trusted: whether sizes are said that were only seen.
    """

    def __init__(self, plan: Node, held: Spec = None, count: int = 1, *, trusted: bool = True) -> None:
        self._held = held
        self._trusted = trusted
        self._noted: dict[int, Noted] = {}
        self._known: dict[int, Spec] = {}
        from headrace.iterator import DatasetIterator

        run = WithOptions(input=self._tapped(plan), options=Options(executor="inline", optimize=False))
        with DatasetIterator(run, counts=False) as iterator:
            for number, _ in enumerate(iterator, 1):
                if number == count:
                    return
        if not self._noted[id(plan)].seen:
            exiting.hold()  # where the interpreter ended the run, nobody knows
            raise OutOfRangeError("the dataset is empty, so its element_spec is not known")

    def _tapped(self, node: Node) -> Tap:
        """Returns the node with a tap after it, and after all that it reads."""
        taps = [self._tapped(child) for child in node.inputs]
        noted = self._noted.setdefault(id(node), Noted(tuple(tap.noted for tap in taps)))
        inner = node.with_inputs(tuple(taps)) if taps and not node.deals else node
        if isinstance(inner, Cache) and inner.store.cached is None:  # which would begin to fill it
            inner = taps[0]
        elif node.deals:  # whose size no look tells
            inner = Batch(input=taps[0], batch_size=1)
        elif isinstance(inner, FlatMap):
            inner = dataclasses.replace(inner, function=noted.noting(inner.function))
        elif isinstance(inner, GroupByWindow):
            inner = dataclasses.replace(inner, reduce_func=noted.noting(inner.reduce_func))
        return Tap(input=inner, noted=noted)

    def noted_of(self, node: Node) -> Noted:
        """Returns what was seen of a node of the plan."""
        return self._noted[id(node)]

    def of(self, node: Node) -> Spec:
        """Returns what is known of a node's elements, and what was seen."""
        if isinstance(node, WindowContents) and self._held is not None:
            return self._held
        known = None if self._held is not None else node.spec()
        if known is None and id(node) not in self._known:
            self._known[id(node)] = self._found(node)
        return self._known[id(node)] if known is None else known

    def _found(self, node: Node) -> Spec:
        if not node.inputs:
            known = node.spec()
            return known if known is not None else self._seen(_all_fit(seen for seen, _ in self._noted[id(node)].seen))
        if isinstance(node, (Concatenate, Mixture)):
            return _together(node, self._parts(node))
        noted = self._noted[id(node)]
        if not noted.inputs[0].seen:  # a cache had it
            return self._seen(_all_fit(seen for seen, _ in noted.seen))
        specs = tuple([self.of(child) for child in node.inputs])
        with contextlib.suppress(InvalidArgumentError, TypeError):  # which every element would raise
            derived = node.with_inputs(tuple([self._standing_in(child) for child in node.inputs])).spec()
            if derived is not None:
                return derived
        return self._seen(self._behind_function(node, noted, specs))

    def _seen(self, spec: Spec) -> Spec:
        """Returns what of the elements seen holds for all others."""
        return spec if self._trusted else _mapped(spec, lambda leaf: leaf.with_shape(_unsized(leaf.shape)))

    def _standing_in(self, node: Node) -> Node:
        """Returns a node of which is known what was found of this one; a batch also asks of what batches its rows were."""
        if isinstance(node, Unbatch):
            return node.with_inputs((self._standing_in(node.input),))
        return Known(known=self.of(node), count=node.cardinality())

    def _parts(self, node: Concatenate | Mixture) -> list[Spec]:
        """Returns what is known of each of the datasets; None of one that gives no element."""
        datasets = node.datasets if isinstance(node, Mixture) else node.inputs
        specs = []
        for dataset in datasets:
            spec = None
            with contextlib.suppress(HeadraceError):
                reached = self._held is not None or self._noted[id(dataset)].seen
                spec = self.of(dataset) if reached else looked_spec(dataset, trusted=self._trusted)
            specs.append(spec)
        return specs

    def _behind_function(self, node: Node, noted: Noted, specs: tuple[Spec, ...]) -> Spec:
        match node:
            case FlatMap() | GroupByWindow():
                held = _held_in(specs[0]) if isinstance(node, FlatMap) else specs[0]
                spec = _of_opened(noted.opened, held)
                if spec is not None:
                    return spec
            case RejectionResample():
                return (noted.seen[0][0][0], specs[0])
            case Scan() if len(noted.seen) < _SCANNED and self._held is None:
                noted = _Look(node, count=_SCANNED).noted_of(node)
        return _all_fit(_without_varying(seen, specs, inputs) for seen, inputs in noted.seen)


def _together(node: Concatenate | Mixture, parts: list[Spec]) -> Spec:
    """Returns what all parts fit; one without elements is as any other."""
    some = next(part for part in parts if part is not None)  # the node gave an element, so one of them did
    known = tuple(
        Known(known=some if part is None else part, count=dataset.cardinality())
        for part, dataset in zip(parts, node.inputs, strict=False)
    )
    return node.with_inputs((*known, *node.inputs[len(known) :])).spec()  # a mixture's selector stays


def _all_fit(specs: Iterable[Spec]) -> Spec:
    """Returns the narrowest that all fit; the first, where structure or dtypes differ."""
    first, *others = specs
    found = functools.reduce(general, others, first)
    return first if found is None else found


def _without_varying(seen: Spec, specs: tuple[Spec, ...], inputs: tuple[Spec, ...]) -> Spec:
    """Returns what a function returned, less the sizes that equal one that varies in what it was given."""
    varying = {size for spec, given in zip(specs, inputs, strict=True) for size in _varying(spec, given)}
    return _mapped(seen, lambda leaf: leaf.with_shape(_open(leaf.shape, varying))) if varying else seen


def _varying(spec: Spec, given: Spec) -> Iterable[int | None]:
    """Yields the sizes of an element in the axes whose size is not known."""
    (leaves, treedef), (shapes, other) = flatten(spec), flatten(given)
    if treedef != other:
        return
    for leaf, shape in zip(leaves, shapes, strict=True):
        if leaf.shape is None:
            yield from shape.shape or ()
        elif shape.shape is not None:
            yield from (size for known, size in zip(leaf.shape, shape.shape, strict=False) if known is None)


def _open(shape: tuple[int | None, ...] | None, varying: set[int | None]) -> tuple[int | None, ...] | None:
    return None if shape is None else tuple(None if size in varying else size for size in shape)


def _unsized(shape: tuple[int | None, ...] | None) -> tuple[int | None, ...] | None:
    return None if shape is None else (None,) * len(shape)


def _mapped(spec: Spec, function: Callable[[TensorSpec], Any]) -> Spec:
    leaves, treedef = flatten(spec)
    return unflatten(treedef, [function(leaf) for leaf in leaves])


def _held_in(spec: Spec) -> Spec:
    """Returns what the windows hold that a function gets, where all hold the same."""
    leaves = flatten(spec)[0]
    held = [leaf.element_spec for leaf in leaves if isinstance(leaf, DatasetSpec)]
    return held[0] if held and all(other == held[0] for other in held) else None


def _of_opened(opened: list[Node], held: Spec) -> Spec:
    """Returns what the elements of all datasets fit that a function returned; None where only what they gave can tell."""
    specs = []
    for plan in opened:
        with contextlib.suppress(OutOfRangeError):
            specs.append(plan.spec() if held is None and plan.spec() is not None else _Look(plan, held).of(plan))
    return functools.reduce(general, specs) if specs else None
