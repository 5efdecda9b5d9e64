"""Every plan node has a stage and a reference, and they are found under one word.

A module of cases that nobody imports would be missed only by who needs it.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator

import pytest

import headrace as hr
import headrace.optimize
import headrace.plan
from headrace.backends.reference import stream_of
from headrace.physical.lower import lower, modules_of
from headrace.plan.dealing import Masked, RankBatch
from headrace.plan.elementwise import MapChain
from headrace.plan.node import Node


def nodes() -> Iterator[type[Node]]:
    """All operations; ``plan.looking`` has what notes the elements of a dataset that is looked at, in the reference alone."""
    for package in (headrace.plan, headrace.optimize):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            for _, kind in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
                own = kind.__module__ == module.name != "headrace.plan.looking"
                # What deals a plan to ranks is written anew for each of them before it runs.
                if own and issubclass(kind, Node) and hasattr(kind, "op") and not kind.deals:
                    yield kind


@pytest.mark.parametrize("kind", list(nodes()))
def test_every_operation_has_a_stage_and_a_reference(kind: type[Node]) -> None:
    assert lower.dispatch(kind) is not lower.dispatch(object)
    if kind is not MapChain:  # which only the optimizer makes: the reference runs plans as they were written
        assert stream_of.dispatch(kind) is not stream_of.dispatch(object)


@pytest.mark.parametrize("kind", list(nodes()))
def test_lower_imports_the_module_that_has_the_stage(kind: type[Node]) -> None:
    assert lower.dispatch(kind).__module__ in modules_of(kind)


def family_of(thing: object) -> str:
    """The family word of a module's name: ``stateful`` of ``physical.stages.stateful_unique``."""
    return thing.__module__.rpartition(".")[2].partition("_")[0]


# Maps of a source or of a format are made where those are described; the family of what runs them is elementwise.
# So are the batches of ranks, which are batches like any other.
FAMILIES = [
    kind
    for kind in nodes()
    if kind.__module__.rpartition(".")[2] not in ("by_number", "tar_handlers") and kind not in (RankBatch, Masked)
]


@pytest.mark.parametrize("kind", FAMILIES)
def test_an_operation_has_one_family_word_on_every_floor(kind: type[Node]) -> None:
    words = {family_of(kind), family_of(lower.dispatch(kind))}
    if kind is not MapChain:
        words |= {family_of(stream_of.dispatch(kind))}
    words |= {family_of(part) for part in hr.Dataset.__mro__ if kind.op in vars(part)}
    assert len(words) == 1
