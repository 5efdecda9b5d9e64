"""What becomes of a warning is the same in another process, whatever was filtered here, and in which order."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace as hr
from headrace.processes.warning_filters import filters_kept, filters_now, make_filters

ACTIONS = ["error", "ignore", "always"]


class OursWarning(UserWarning):
    """As a program has them."""


class OurOtherWarning(OursWarning):
    """One that a filter of the other takes, too."""


CLASSES = [Warning, UserWarning, DeprecationWarning, OursWarning, OurOtherWarning, np.exceptions.ComplexWarning]
Filtered = tuple[str, str, type[Warning], str, bool]


def filters() -> st.SearchStrategy[list[Filtered]]:
    texts, modules = st.sampled_from(["", "a", "A b", "x+"]), st.sampled_from(["", "some", "other"])
    return st.lists(st.tuples(st.sampled_from(ACTIONS), texts, st.sampled_from(CLASSES), modules, st.booleans()))


def become(category: type[Warning], text: str, module: str) -> str:
    with warnings.catch_warnings(record=True) as seen:
        try:
            warnings.warn_explicit(category(text), None, f"{module}.py", 3, module=module)
        except Warning as error:
            return f"raised {type(error).__name__}"
    return f"seen {len(seen)}"


@given(filters())
def test_a_warning_becomes_the_same_by_filters_that_travelled(wanted: list[Filtered]) -> None:
    def found() -> list[str]:
        texts, modules = ["", "abc", "a b", "xx"], ["some.thing", "other"]
        return [become(kind, text, module) for kind in CLASSES for text in texts for module in modules]

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        for action, text, kind, module, append in wanted:
            warnings.filterwarnings(action, text, kind, module, append=append)  # type: ignore[arg-type]
        expected, sent = found(), pickle.dumps(filters_now())
        warnings.resetwarnings()
        make_filters(pickle.loads(sent))
        assert found() == expected
        assert filters_now()[: len(pickle.loads(sent))] == pickle.loads(sent)  # and so in a process of that process


def test_what_an_import_adds_does_not_count() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OursWarning)
        with filters_kept():
            warnings.simplefilter("always", OursWarning)
        assert become(OursWarning, "", "some") == "seen 0"


def warns(x: int) -> int:
    warnings.warn(("shape", "order")[x], (OursWarning, FutureWarning)[x], stacklevel=1)
    return x


SOMEWHERE: dict[str, Callable[[hr.Dataset], hr.Dataset]] = {
    "subprocess": lambda ds: ds.map(warns).with_options(hr.Options(executor="subprocess")),
    "process": lambda ds: ds.map(warns, num_parallel_calls=2, executor="process"),
    "both": lambda ds: ds.map(warns, num_parallel_calls=2).with_options(hr.Options(executor="subprocess")),
}


@pytest.mark.parametrize("place", SOMEWHERE)
def test_functions_in_processes_see_the_filters_that_the_program_has_when_an_epoch_begins(place: str) -> None:
    dataset = SOMEWHERE[place](hr.Dataset.range(2))

    def came() -> list[Any]:
        found: list[Any] = []
        with iter(dataset) as iterator:
            for _ in range(2):
                try:
                    found.append(next(iterator))
                except hr.errors.DataError as error:
                    found.append(type(error.__cause__).__name__)
        return found

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert came() == [0, 1]
        warnings.simplefilter("error", OursWarning)
        assert came() == ["OursWarning", 1]
        warnings.filterwarnings("error", "order")
        assert came() == ["OursWarning", "FutureWarning"]
