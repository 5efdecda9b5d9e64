"""Does a restored iterator deliver what the first one would have? Asked after every single element."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.dataset import Dataset
from headrace.elements.structure import flatten
from headrace.elements.tensor_classes import is_tensor_class
from headrace.errors import HeadraceError
from headrace.iterator import DatasetIterator
from headrace.plan.options import Options

__all__ = ["check_every_restore_point", "delivered", "same", "unmatched"]


def check_every_restore_point(
    dataset: Dataset,
    *,
    max_elements: int = 1_000,
    executors: Sequence[str | None] = (None,),
    in_order: bool = True,
) -> int:
    """Stops after every element, loads the state into a fresh iterator, and compares all that follows.

    Each state goes through JSON. An element that fails counts as one: its error must come at the same place.

    Args:
        dataset: what is checked; an endless one is checked as far as ``max_elements``.
        max_elements: how many elements are looked at, at most.
        executors: where the state is loaded; None is wherever the dataset itself says.
        in_order: False for a dataset that may deliver in another order after it was restored (one with
            ``deterministic=False``): then nothing must be lost and nothing come twice.

    Returns:
        How many restore points were checked.

    Raises:
        AssertionError: a restored iterator delivered something else; says after which element, and what.

    Example:
        >>> import headrace as hr
        >>> from headrace.testing import check_every_restore_point
        >>> check_every_restore_point(hr.Dataset.range(10).shuffle(4, seed=1).batch(3))
        5
    """
    with iter(dataset) as first:
        states = [_through_json(first.state_dict())]
        expected = []
        for item in delivered(first, max_elements):
            expected.append(item)
            states.append(_through_json(first.state_dict()))
    for executor in executors:
        target = dataset if executor is None else dataset.with_options(Options(executor=executor))
        for count, state in enumerate(states):
            _check_one(target, state, count, expected, in_order=in_order)
    return len(states)


def _through_json(state: dict[str, Any]) -> dict[str, Any]:
    text: dict[str, Any] = json.loads(json.dumps(state))
    return text


def delivered(iterator: DatasetIterator, limit: int) -> Any:
    """Yields the next elements, an error in place of one that fails."""
    for _ in range(limit):
        try:
            yield next(iterator)
        except StopIteration:
            return
        except HeadraceError as error:
            yield error


def _check_one(dataset: Dataset, state: dict[str, Any], count: int, expected: list[Any], *, in_order: bool) -> None:
    with iter(dataset) as restored:
        restored.load_state_dict(state)
        rest = list(delivered(restored, len(expected) - count))
    wanted = expected[count:]
    if not in_order:
        lost, added = unmatched(wanted, rest)
        if lost or added:
            raise AssertionError(f"restored after {count} elements, {lost!r} do not come and {added!r} come instead")
        return
    for offset, (mine, theirs) in enumerate(zip(wanted, rest, strict=False)):
        if not same(mine, theirs):
            raise AssertionError(
                f"restored after {count} elements, element {count + offset} is {theirs!r} instead of {mine!r}"
            )
    if len(rest) != len(wanted):
        raise AssertionError(f"restored after {count} elements, {len(rest)} follow instead of {len(wanted)}")


def unmatched(some: Sequence[Any], others: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Returns what is only among the first, and what is only among the others; an element counts as often as it comes."""
    # Texts bring pairs close together and decide nothing: that of an object may be its address, that of an array has gaps.
    lost, added = [], sorted(others, key=_text)
    for mine in sorted(some, key=_text):
        place = next((place for place, theirs in enumerate(added) if same(mine, theirs)), None)
        if place is None:
            lost.append(mine)
        else:
            del added[place]
    return lost, added


def _text(element: Any) -> str:
    return f"{type(element).__name__} {element!r}"


def same(one: Any, other: Any) -> bool:
    """Returns whether two elements are equal in structure, types and values; two errors, in kind and message."""
    if isinstance(one, HeadraceError) or isinstance(other, HeadraceError):
        return type(one) is type(other) and str(one) == str(other)
    (mine, treedef), (theirs, wanted) = flatten(one), flatten(other)
    return treedef == wanted and all(map(_same_leaf, mine, theirs))


def _same_leaf(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, (np.ndarray, np.generic)):
        return one.dtype == other.dtype and one.shape == other.shape and _same_array(one, other)
    kind: Any = type(one)
    if is_tensor_class(kind):
        return one.dtype == other.dtype and one.shape == other.shape and _same_tensor(one, other)
    return bool(one == other) or (one != one and other != other)  # noqa: PLR0124 - NaN is not equal to itself


def _same_tensor(one: Any, other: Any) -> bool:
    return one.device == other.device and bool(((one == other) | ((one != one) & (other != other))).all())  # noqa: PLR0124 - as above


def _same_array(one: Any, other: Any) -> bool:
    if one.dtype.kind == "O":
        return bool(np.all(one == other))
    return np.asarray(one).tobytes() == np.asarray(other).tobytes()
