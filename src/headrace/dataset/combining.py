"""The operation that pairs the elements of several datasets."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from headrace.dataset.mixin import DatasetMixin, plan_from
from headrace.elements.structure import TreeDef, flatten, normalize
from headrace.frozen import maker
from headrace.plan.combining import Zip
from headrace.plan.node import Node

if TYPE_CHECKING:
    from headrace.dataset.dataset import Dataset

__all__ = ["Combining"]

# Functions make such datasets of elements by the thousand.
_new_zip: Final = maker(Zip)

_STR: Final = frozenset({str})


class Combining(DatasetMixin):
    """The operation that pairs the elements of several datasets."""

    __slots__ = ()

    @classmethod
    def zip(cls, *args: Any, datasets: Any = None, name: str | None = None) -> Dataset:
        """Makes tuples, dicts or other structures of one element of each dataset; the shortest dataset ends it.

        If one of them fails, its error takes the place of the whole row. If one fails where another has ended, the first of the
        two decides, in the order of the datasets (of a dict: of its sorted keys): a failure is raised before the end, an end hides it.

        Args:
            *args: datasets, or one structure (tuple, dict, …) of datasets.
            datasets: the structure by name, instead of ``args``.
            name: what the operation is called in messages and statistics.

        Raises:
            TypeError: no dataset, a list, something that is no dataset, or both forms at once.

        Example:
            >>> import headrace as hr
            >>> list(hr.Dataset.zip(hr.Dataset.range(3), hr.Dataset.range(10, 12)))
            [(0, 10), (1, 11)]
            >>> list(hr.Dataset.zip({"a": hr.Dataset.range(1)}))
            [{'a': 0}]
        """
        if bool(args) == (datasets is not None):
            raise TypeError("zip: pass datasets either one by one or as datasets=, and at least one")
        if datasets is None:
            datasets = args[0] if len(args) == 1 else args
        flat = _flat(datasets)
        if flat is not None:
            return cls._of(_new_zip(treedef=flat[1], datasets=flat[0], name=name))
        leaves, treedef = flatten(normalize(datasets))
        if any(isinstance(leaf, np.ndarray) for leaf in leaves):  # which is what normalize makes of a list
            raise TypeError("zip: a list is no structure of datasets; pass a tuple")
        plans = tuple(plan_from(leaf, stage="zip") for leaf in leaves)
        if treedef.is_leaf():
            return cls._of(plans[0])
        return cls._of(Zip(treedef=treedef, datasets=plans, name=name))


def _flat(datasets: Any) -> tuple[tuple[Node, ...], TreeDef] | None:
    """Returns the plans in a plain tuple or dict of datasets, and its structure; None of anything else.

    Functions that are given windows tie them together again by the thousand, always in the same way.
    """
    kind = type(datasets)
    if kind is tuple:
        parts, names = datasets, None
    elif kind is dict and _STR.issuperset(map(type, datasets)):
        names = tuple(datasets)
        parts = tuple([datasets[key] for key in sorted(names)])
    else:
        return None
    plans = []
    for part in parts:
        if not isinstance(part, DatasetMixin):
            return None
        plans.append(part.__headrace_plan__())
    return (tuple(plans), _structure(len(plans), names)) if plans else None


@functools.lru_cache(maxsize=256)
def _structure(count: int, names: tuple[str, ...] | None) -> TreeDef:
    return flatten((0,) * count if names is None else dict.fromkeys(names, 0))[1]
