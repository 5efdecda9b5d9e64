"""What stateful operations have in common however they run: what is checked, the words of errors, and saved states."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from headrace.blocks.cursor import State
from headrace.errors import FailedPreconditionError
from headrace.io.elements.json import element_from_json, element_to_json
from headrace.ownership import read_only
from headrace.plan.stateful import Scan
from headrace.structure import Element, flatten, normalize, paths_of, spec_of

__all__ = [
    "UNIQUE_REMEDY",
    "check_distinguishable",
    "check_pair",
    "check_scan_state",
    "restored_scan_state",
    "saved_scan_state",
    "too_few_elements",
    "too_many_elements",
]

UNIQUE_REMEDY: Final = "unique remembers all that it has seen: give it numbers, or short texts"


def check_pair(result: Any) -> None:
    """Checks that the function of ``scan`` returned a new state and an output.

    Raises:
        TypeError: it returned something else.
    """
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise TypeError(f"the function must return a new state and an output, but returned {type(result).__name__}")


def check_scan_state(wanted: Any, state: Element, *, stage: str = "") -> None:
    """Checks that a state of ``scan`` or ``reduce`` has the structure and the dtypes of the initial one.

    Args:
        wanted: the specification of the initial state.
        state: what the function returned.
        stage: stands before the reason, where no error of an element says it.

    Raises:
        TypeError: it has not.
    """
    said = f"{stage}: " if stage else ""
    (specs, treedef), (found_specs, found_treedef) = flatten(wanted), flatten(spec_of(state))
    if treedef != found_treedef:
        raise TypeError(f"{said}the function changed the structure of the state")
    for path, spec, found in zip(paths_of(treedef), specs, found_specs, strict=True):
        if spec.dtype != found.dtype:
            component = f" component {path}" if path else ""
            raise TypeError(f"{said}the function changed the state's{component} dtype from {spec} to {found}")


def saved_scan_state(held: Element) -> Any:
    """Writes a state of ``scan`` down as plain data."""
    return element_to_json(held)


def restored_scan_state(node: Scan, state: State | None) -> Element:
    """Reads a saved state of ``scan``, in the plan's own structure, so that no class is looked for by a name."""
    if state is None:
        return node.initial_state
    return read_only(element_from_json(state["state"], like=flatten(normalize(node.initial_state))[1]))


def check_distinguishable(element: Element) -> None:
    """Checks that ``unique`` can tell the element from others.

    Raises:
        TypeError: it is neither one int nor one text.
    """
    if not isinstance(element, (int, str, bytes, np.integer)) or isinstance(element, bool):
        raise TypeError(f"an element must be one int or text, not {spec_of(element)}")


def too_many_elements(wanted: float, seen: int) -> FailedPreconditionError:
    """Makes the error of ``assert_cardinality`` for an element beyond the expected ones."""
    return FailedPreconditionError(f"the dataset was expected to have {wanted} elements, and has at least {seen}")


def too_few_elements(wanted: float, seen: int) -> FailedPreconditionError:
    """Makes the error of ``assert_cardinality`` at an end that comes too soon."""
    said = "no end" if wanted == float("inf") else f"{wanted} elements"
    return FailedPreconditionError(f"the dataset was expected to have {said}, and has only {seen}")
