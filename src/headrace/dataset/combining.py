"""The operation that puts the elements of several datasets together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.dataset.mixin import DatasetMixin, plan_from
from headrace.plan.combining import Zip
from headrace.structure import flatten, normalize

if TYPE_CHECKING:
    from headrace.dataset.dataset import Dataset

__all__ = ["Combining"]


class Combining(DatasetMixin):
    """The operation that puts the elements of several datasets together."""

    __slots__ = ()

    @classmethod
    def zip(cls, *args: Any, datasets: Any = None, name: str | None = None) -> Dataset:
        """Puts one element of each dataset together; the shortest ends it.

        Where one fails, its error stands in place of the whole row. Of a failure and an end in one row the first decides, in
        the order of the datasets (of a dict: of its keys, sorted): a failure is raised and then it ends, an end hides it.

        Args:
            *args: datasets, or one structure (tuple, dict, …) of datasets.
            datasets: the structure by name, instead of ``args``.
            name: how messages and statistics call the operation.

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
        leaves, treedef = flatten(normalize(datasets))
        if any(isinstance(leaf, np.ndarray) for leaf in leaves):  # which is what normalize makes of a list
            raise TypeError("zip: a list is no structure of datasets; pass a tuple")
        plans = tuple(plan_from(leaf, stage="zip") for leaf in leaves)
        if treedef.is_leaf():
            return cls._of(plans[0])
        return cls._of(Zip(treedef=treedef, datasets=plans, name=name))
