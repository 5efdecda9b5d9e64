"""What stateful operations have in common however they run: what is checked, the words of errors, and saved states."""

from __future__ import annotations

import zlib
from typing import Any, Final

import numpy as np

from headrace.blocks.cursor import State
from headrace.elements.leaf_arrays import NORMAL_LEAVES, OF_MANY_DTYPES, PYTHON_NUMBERS
from headrace.elements.leaf_specs import spec_of
from headrace.elements.ownership import read_only
from headrace.elements.structure import Element, TreeDef, flatten, normalize, paths_of
from headrace.errors import FailedPreconditionError
from headrace.io.elements.json import element_from_json, element_to_json
from headrace.plan.stateful import Scan

__all__ = [
    "DISTINGUISHABLE",
    "SETTLED",
    "UNIQUE_REMEDY",
    "StateCheck",
    "check_distinguishable",
    "check_pair",
    "kinds_of",
    "restored_scan_state",
    "saved_scan_state",
    "too_few_elements",
    "too_many_elements",
    "with_failure",
]

UNIQUE_REMEDY: Final = "unique remembers all that it has seen: give it numbers, or short texts"


# Scalars that are elements as they are, which nobody can change, and whose type says their dtype.
SETTLED: Final = NORMAL_LEAVES - {np.ndarray, *OF_MANY_DTYPES}


def check_pair(result: Any) -> None:
    """Checks that the function of ``scan`` returned a new state and an output.

    Raises:
        TypeError: it returned something else.
    """
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise TypeError(f"the function must return a new state and an output, but returned {type(result).__name__}")


class StateCheck:
    """Checks that states of ``scan`` or ``reduce`` have the structure and the dtypes of the initial one.

    Args:
        initial: that state.
        stage: stands before the reason, where no error of an element says it.

    Attributes:
        known: what was found to be alike: types of scalars, and of tuples of scalars their types; of dicts and named tuples what they
            are, too.
    """

    def __init__(self, initial: Element, *, stage: str = "") -> None:
        self._said = f"{stage}: " if stage else ""
        self._initial = initial
        self._found: tuple[list[Any], TreeDef, list[Any]] | None = None
        self.known: set[Any] = set()
        self._alike: set[Any] = set()
        if type(initial) in SETTLED:
            self.known.add(type(initial))  # which says all, as long as states have it
        else:
            self._wanted()  # before a function changes it in place

    def _wanted(self) -> tuple[list[Any], TreeDef, list[Any]]:
        """Returns the specifications of the initial state, their structure and their dtypes."""
        if self._found is None:
            specs, treedef = flatten(spec_of(self._initial))
            self._found = specs, treedef, [spec.dtype for spec in specs]
        return self._found

    def knows(self, state: Element) -> bool:
        """Returns whether a state was found to be alike by what it is of: scalars and normal arrays, in tuples and dicts."""
        return kinds_of(state) in self.known or _makeup_of(state) in self._alike

    def __call__(self, state: Element) -> None:
        """Checks a state.

        Raises:
            TypeError: it has another structure, or a component another dtype.
        """
        _, wanted, dtypes = self._wanted()
        known, makeup = kinds_of(state), _makeup_of(state)
        if known in self.known or makeup in self._alike:
            return
        leaves, treedef = flatten(state)
        if treedef != wanted or list(map(_dtype_of, leaves)) != dtypes:
            self._look(state)
        if known is not None:
            self.known.add(known)
        if makeup is not None:
            self._alike.add(makeup)

    def _look(self, state: Element) -> None:
        """Checks what does not say at once what it is."""
        specs, wanted, _ = self._wanted()
        found_specs, found_treedef = flatten(spec_of(state))
        if wanted != found_treedef:
            raise TypeError(f"{self._said}the function changed the structure of the state")
        for index, (spec, found) in enumerate(zip(specs, found_specs, strict=True)):
            if spec.dtype != found.dtype:
                path = paths_of(wanted)[index]
                component = f" component {path}" if path else ""
                raise TypeError(f"{self._said}the function changed the state's{component} dtype from {spec} to {found}")


def kinds_of(state: Element) -> Any:
    """Returns the types of a state of scalars, flat or without any structure, in a form that can be looked up; None for another."""
    kind = type(state)
    if kind in SETTLED:
        return kind
    if kind is tuple and SETTLED.issuperset(map(type, state)):
        return tuple(map(type, state))
    if kind is dict and SETTLED.issuperset(map(type, state.values())):
        return (dict, *state, *map(type, state.values()))
    # A named tuple that has nothing besides its fields, which somebody could change.
    if isinstance(state, tuple) and not kind.__dictoffset__ and SETTLED.issuperset(map(type, state)):
        return (kind, *map(type, state))
    return None


def _makeup_of(state: Element) -> Any:
    """Returns the structure of a state of tuples, dicts, scalars and arrays, with what each leaf is, to be looked up; None for another."""
    kind = type(state)
    if kind in SETTLED:
        return kind
    if kind is np.ndarray:
        return None if state.dtype.kind in "OSU" else (kind, state.dtype)
    if kind is dict or kind is tuple:
        parts = tuple(map(_makeup_of, state.values() if kind is dict else state))
        return None if None in parts else (kind, *state, *parts) if kind is dict else (kind, *parts)
    return None


def _dtype_of(leaf: Any) -> Any:
    """Returns the dtype of a leaf that says it at once; of another, nothing that would be one."""
    kind = type(leaf)
    if kind is np.ndarray:
        return leaf.dtype if leaf.dtype.kind != "O" else None
    return PYTHON_NUMBERS.get(kind) or (kind if kind in (str, bytes) else np.dtype(kind) if kind in SETTLED else None)


def saved_scan_state(held: Element) -> Any:
    """Writes a state of ``scan`` down as plain data."""
    return element_to_json(held)


def restored_scan_state(node: Scan, state: State | None) -> Element:
    """Reads a saved state of ``scan``, in the plan's own structure, so that no class is looked for by a name."""
    if state is None:
        return node.initial_state
    return read_only(element_from_json(state["state"], like=flatten(normalize(node.initial_state))[1]))


# Types whose values ``unique`` can tell apart, each and all.
DISTINGUISHABLE: Final = frozenset({int, *(kind for kind in SETTLED if issubclass(kind, (str, bytes, np.integer)))})


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


def with_failure(failed: int, index: int) -> int:
    """Returns what a state says of the elements that failed, with one more: a number, from 0 on, that two sets of indices hardly share."""
    return zlib.crc32(b"%d " % index, failed)
