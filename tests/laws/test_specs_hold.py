"""What ``element_spec`` says holds for every element that is delivered, and not for the first alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from tests.laws.plans import Recipe, recipes
from tests.laws.running import elements_of

import headrace as hr
from headrace.elements.leaf_specs import spec_of
from headrace.elements.structure import flatten
from headrace.plan.grouping import Batch, CyclingBatch, Unbatch
from headrace.plan.node import Node, nodes_of


def fits(spec: Any, element: Any) -> bool:
    (wanted, treedef), (leaves, other) = flatten(spec), flatten(element)
    return treedef == other and all(_suits(one, leaf) for one, leaf in zip(wanted, leaves, strict=True))


def _suits(spec: hr.TensorSpec, leaf: Any) -> bool:
    if isinstance(leaf, np.ndarray) and leaf.dtype == object and not leaf.size:  # it does not tell of what
        return spec.dtype in (str, bytes, object) and spec.is_compatible_with(hr.TensorSpec(leaf.shape, spec.dtype))
    return spec.is_compatible_with(spec_of(leaf))


def known_of(dataset: hr.Dataset) -> Any:
    """What it says of its elements; None where it has none, where the first fails, or where they are known to differ."""
    try:
        return dataset.element_spec
    except (hr.errors.HeadraceError, TypeError):
        return None


def keeps_to_the_first(node: Node, spec: Any) -> bool:
    """Whether all elements of a node are as those on which a look was had: no look can tell what a function does later."""
    return all(isinstance(one, Exception) or fits(spec, one) for one in elements_of(hr.Dataset._of(node)))


@given(recipes())
def test_every_element_fits_the_element_spec(recipe: Recipe) -> None:
    dataset = recipe.build()
    spec = known_of(dataset)
    if spec is None:
        return
    nodes = list(nodes_of(dataset.__headrace_plan__()))
    for node in nodes[:-1]:
        if node.spec() is None and not keeps_to_the_first(node, known_of(hr.Dataset._of(node))):
            return
    elements = elements_of(dataset)
    failed = any(isinstance(one, hr.errors.HeadraceError) for one in elements)
    if failed and any(isinstance(node, (Batch, CyclingBatch)) and isinstance(node.input, Unbatch) for node in nodes):
        return  # a failure counts as one element, so what was a multiple leaves a rest
    by_function = nodes[-1].functions() or not nodes[-1].inputs
    for element in elements:
        if not isinstance(element, hr.errors.HeadraceError) and not (by_function and nodes[-1].spec() is None):
            assert fits(spec, element), f"{element!r} is not {spec}"
