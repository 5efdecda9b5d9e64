"""Law 6 for functions that hang in another process: they are told as those in threads are."""

from __future__ import annotations

import os
import select
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.hanging import BEHIND, LIMIT_S, OPERATIONS, assert_told, consumed
from tests.laws.hosts import Hosts, one_process_for_plans

import headrace as hr


class PipeHang:
    """A function that hangs in whatever process calls it: it reads a pipe into which nobody writes until it may go."""

    def __init__(self, number: int, folder: str) -> None:
        self._number = number
        self._begun = os.path.join(folder, "begun")  # noqa: PTH118 - a text is sent
        self._may_go = os.path.join(folder, "may_go")  # noqa: PTH118

    def at(self, number: Any) -> Any:
        if int(number) == self._number:
            Path(self._begun).write_bytes(b"1")
            with open(self._may_go, "rb", buffering=0) as pipe:  # noqa: PTH123 - the line that is told
                pipe.read(1)
        return number


@pytest.fixture(scope="module")
def hosts() -> Iterator[Hosts]:
    hosts = Hosts()
    yield hosts
    hosts.end()


@given(st.sampled_from(sorted(OPERATIONS)), st.sampled_from(sorted(BEHIND)), st.sampled_from(["subprocess", "process"]))
def test_who_holds_the_pipeline_is_told_from_whatever_process_it_is_in(
    hosts: Hosts, operation: str, behind: str, executor: str
) -> None:
    with tempfile.TemporaryDirectory() as folder, one_process_for_plans(hosts):
        hang = PipeHang(7, folder)
        ends = []
        for name in ("begun", "may_go"):
            os.mkfifo(Path(folder, name))
            ends.append(os.open(Path(folder, name), os.O_RDWR))
        dataset = BEHIND[behind](OPERATIONS[operation][0](hang)).with_options(hr.Options(executor=executor))
        with consumed(dataset) as (iterator, _):
            assert select.select([ends[0]], [], [], LIMIT_S)[0]
            try:
                assert_told(iterator, operation)
            finally:
                os.write(ends[1], b"1" * 100)
        assert iterator.stalls() == ()
        for end in ends:
            os.close(end)
