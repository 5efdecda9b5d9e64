"""Whether who asks is called by a function of a run, wherever else runs begin, end and fail meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace as hr
from headrace.engine import is_inside_run
from headrace.engine.ending import RUN_READ_BY
from headrace.errors import HeadraceError

# What a function does inside a run: its own parts, each with how it ends.
Parts = st.recursive(
    st.just(()),
    lambda parts: st.lists(st.tuples(st.sampled_from(["whole", "first", "fails"]), parts), max_size=3),
    max_leaves=6,
)


@pytest.fixture(autouse=True)
def _nobody_reads_in_the_end() -> Iterator[None]:
    yield
    assert threading.get_ident() not in RUN_READ_BY


def run_inside(parts: Any) -> None:
    """Reads datasets, whose functions read those of their own parts."""
    assert is_inside_run()
    for how, inner in parts:
        reads(how, inner)
        assert is_inside_run()


def reads(how: str, parts: Any) -> None:
    def called(number: int) -> int:
        run_inside(parts)
        if how == "fails":
            raise ValueError("it fails")
        return number

    iterator = iter(hr.Dataset.range(3).map(called).with_options(hr.Options(seed=1)))  # with options: it has stages
    try:
        if how == "first":
            next(iterator)
        else:
            list(iterator)
    except HeadraceError:
        assert how == "fails"
    finally:
        if how != "whole":
            iterator.close()


@given(parts=Parts)
def test_a_function_is_inside_its_run_whatever_runs_it_reads_itself(parts: Any) -> None:
    assert not is_inside_run()
    reads("whole", parts)
    assert not is_inside_run()


def test_another_thread_is_not_inside_the_run_that_this_one_reads() -> None:
    found: list[bool] = []

    def called(number: int) -> int:
        thread = threading.Thread(target=lambda: found.append(is_inside_run()))
        thread.start()
        thread.join()
        return number

    list(hr.Dataset.range(2).map(called))
    assert found == [False, False]


class _Left:
    """A run that Ctrl-C kept from being taken away as it was left."""

    is_read = False

    def is_read_by(self, ident: int) -> bool:
        return False

    def stop(self) -> None: ...

    def close(self) -> None: ...


def test_a_run_that_was_left_by_ctrl_c_deceives_nobody() -> None:
    ident = threading.get_ident()
    RUN_READ_BY[ident] = _Left()
    assert not is_inside_run()
    found: list[bool] = []

    def called(number: int) -> int:
        found.append(is_inside_run())
        RUN_READ_BY[ident] = _Left()  # of a run inside this one
        found.append(is_inside_run())
        return number

    list(hr.Dataset.range(2).map(called).with_options(hr.Options(seed=1)))
    assert found == [True] * 4
