"""What every part of the facade knows of the whole.

The operations of ``Dataset`` stand in parts, one a family, and ``dataset.dataset`` joins them into the one class. A part
knows the plan, and how a dataset is made of another plan; only the joined class is ever instantiated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.plan.node import Node

if TYPE_CHECKING:
    from headrace.backends.access import Access
    from headrace.dataset.dataset import Dataset

__all__ = ["DatasetMixin", "plan_from"]


class DatasetMixin:
    """The base of the parts."""

    __slots__ = ("_access", "_plan")

    _plan: Node
    _access: Access | None  # to elements by index, once one was asked for

    @staticmethod
    def _of(plan: Node) -> Dataset:
        """Returns the dataset of a plan."""
        raise NotImplementedError  # the joined class knows itself

    def __headrace_plan__(self) -> Node:
        """Returns the plan, for functions that return a dataset."""
        return self._plan


def plan_from(dataset: object, *, stage: str) -> Node:
    """Returns the plan of a dataset that the user gave as an argument.

    Raises:
        TypeError: it is no dataset.
    """
    if not isinstance(dataset, DatasetMixin):
        raise TypeError(f"{stage}: expected a Dataset, not {type(dataset).__name__}")
    return dataset.__headrace_plan__()
