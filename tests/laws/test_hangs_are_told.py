"""Law 6, where nothing fails and nothing comes: who holds the pipeline up is told, with its element and its line."""

from __future__ import annotations

import threading
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.laws.hanging import BEHIND, LIMIT_S, OPERATIONS, assert_told, consumed
from tests.laws.running import HOURS_S

import headrace as hr

# Those that run in this process, where an event can be waited for.
EXECUTORS = ("thread", "inline")


class EventHang:
    """A function that does not come back from one number until it is let go."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._may_go = threading.Event()
        self.begun = threading.Event()

    def at(self, number: Any) -> Any:
        if int(number) == self._number:
            self.begun.set()
            assert self._may_go.wait(LIMIT_S)
        return number

    def let_go(self) -> None:
        self._may_go.set()


@given(
    st.sampled_from(sorted(OPERATIONS)),
    st.sampled_from(sorted(BEHIND)),
    st.sampled_from(EXECUTORS),
    st.sampled_from([None, HOURS_S]),
)
def test_who_holds_the_pipeline_is_told_with_its_element_and_its_line(
    operation: str, behind: str, executor: str, timeout_s: float | None
) -> None:
    hang = EventHang(7)
    options = hr.Options(executor=executor, timeout_s=timeout_s)
    dataset = BEHIND[behind](OPERATIONS[operation][0](hang)).with_options(options)
    with consumed(dataset) as (iterator, _):
        assert hang.begun.wait(LIMIT_S)
        try:
            assert_told(iterator, operation)
        finally:
            hang.let_go()
    assert iterator.stalls() == ()
