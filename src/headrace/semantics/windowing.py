"""The datasets of windows and of groups, and what a state says of groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from headrace.blocks.cursor import State
from headrace.elements.rows_and_columns import rows_of_leaves
from headrace.elements.structure import Element, TreeDef, unflatten
from headrace.errors import InputChangedError
from headrace.frozen import maker
from headrace.observe.frames import holds
from headrace.plan.node import Node, no_dataset, plan_of
from headrace.plan.windowing import GroupByWindow, Window, WindowContents, WindowElements
from headrace.semantics.window_contents import by_leaf

__all__ = ["GROUPS_REMEDY", "group_lost", "group_state", "reduced_plan", "window_element", "window_rows"]


_new_contents: Final = maker(WindowContents)  # by the thousand
GROUPS_REMEDY: Final = "Take a smaller window_size, or a key_func with fewer keys"


def group_state(
    read: int,
    full: int,
    groups: Sequence[tuple[int, int, Sequence[int]]],
    current: tuple[int, Sequence[int], State | None] | None,
    position: Callable[[int], State],
) -> State:
    """Writes down the state of groups that hold elements with these indices; in it they count from the oldest one held.

    Args:
        read: how many elements were read.
        full: how many groups were full.
        groups: the keys, sizes and indices of those that are not.
        current: the key and indices of the group whose dataset is read, and the position in that.
        position: the position of an input element.
    """
    oldest = min([indices[0] for _, _, indices in groups] + ([current[1][0]] if current else []), default=read)
    return {
        "read": read - oldest,
        "number": full,
        "groups": [[key, size, [held - oldest for held in indices]] for key, size, indices in groups],
        "current": current
        and {"key": current[0], "numbers": [held - oldest for held in current[1]], "inner": current[2]},
        "input": position(oldest),
    }


def group_lost(label: str) -> InputChangedError:
    """Makes the error of a resumed run that does not find the elements that a group had held."""
    message = "elements that were held are not there any more: the data changed since the state was saved"
    return InputChangedError(message, stage=label)


def window_element(node: Window, elements: WindowElements) -> Element:
    """Makes the datasets of one window, in the structure of its elements.

    Raises:
        InvalidArgumentError: the elements differ in structure.
    """
    treedef, leaves = by_leaf(elements)
    return unflatten(treedef, [node.dataset_of(WindowContents(elements=leaf, name=node.name)) for leaf in leaves])


def window_rows(
    node: Window, treedef: TreeDef, leaves: Sequence[Sequence[WindowElements]], count: int
) -> list[Element]:
    """Makes the datasets of many windows, of which each component's elements are given; of one structure."""
    make, name = node.dataset_of, node.name
    datasets = [[make(_new_contents(elements=held, name=name)) for held in column] for column in leaves]
    return rows_of_leaves(treedef, datasets, count)


@holds(lambda at, _: (at["node"].reduce_label, None))
def reduced_plan(node: GroupByWindow, key: int, elements: WindowElements) -> Node:
    """Calls the user's function with a group; returns the plan that it made, as it was written."""
    group = node.dataset_of(_new_contents(elements=elements, name=node.name))
    made = node.reduce_func(key, group)
    plan = plan_of(made)
    if plan is None:
        raise no_dataset(made)
    return plan
