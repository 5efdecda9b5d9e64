"""The functions that ``save``, ``load`` and ``snapshot`` are given: called as all functions are, with errors told in the same way."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from headrace.arguments import check_function
from headrace.dataset.mixin import DatasetMixin
from headrace.elements.ownership import read_only
from headrace.elements.structure import Element
from headrace.errors import HeadraceError, InvalidArgumentError, said
from headrace.plan.node import function_label
from headrace.semantics.calls import call_on
from headrace.semantics.failures import as_element_error

__all__ = ["placed", "reading", "sharding"]


def sharding(shard_func: Callable[..., Any], *, stage: str) -> Callable[[Element], int]:
    """Gives the index of the file that an element goes to, from 0 on.

    What it raises names the function, and not yet the element: a DataError, or an InvalidArgumentError for what is no
    such index.
    """
    check_function(shard_func, stage=f"{stage}: shard_func")
    label = function_label(stage, shard_func)

    def shard_of(element: Element) -> int:
        try:
            shard = call_on(shard_func, read_only(element))
        except Exception as error:
            raise as_element_error(error, stage=label, origin=None) from error
        if isinstance(shard, bool) or not hasattr(shard, "__index__") or shard.__index__() < 0:
            raise InvalidArgumentError(
                f"shard_func must return a number from 0 on, but returned {shard!r}", stage=label
            )
        return int(shard.__index__())

    return shard_of


def placed(shard_of: Callable[[Element], int], element: Element, origin: str) -> int:
    """Returns the index of the element's file; an error says which element it was."""
    try:
        return shard_of(element)
    except HeadraceError as error:
        raise error.located(stage=None, origin=origin) from error.__cause__


def reading(reader_func: Callable[[Any], Any], *, stage: str) -> Callable[[Any], Any]:
    """Makes one dataset of a dataset of datasets.

    Raises:
        TypeError: the function does not take one argument.
    """
    check_function(reader_func, stage=f"{stage}: reader_func")
    label = function_label(stage, reader_func)
    try:
        inspect.signature(reader_func).bind(None)
    except TypeError as error:
        message = f"{label}: reader_func is called with one argument, a dataset of the files' datasets: {said(error)}"
        raise TypeError(message) from None
    except ValueError:  # a builtin, of which Python does not say what it takes
        pass

    def read(datasets: Any) -> Any:
        made = reader_func(datasets)
        if not isinstance(made, DatasetMixin):
            raise TypeError(f"{label}: reader_func must return a Dataset, but returned {type(made).__name__}")
        return made

    return read
