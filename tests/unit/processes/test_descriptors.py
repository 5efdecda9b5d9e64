"""Descriptors that go to another process: all of them or none, and a clear error where the system gives no more."""

from __future__ import annotations

import os

import pytest

from headrace.errors import ResourceExhaustedError
from headrace.processes.descriptors import copied


def test_copies_lead_where_the_originals_lead() -> None:
    """Each is closed by its own holder."""
    reading, writing = os.pipe()
    (copy,) = copied([writing])
    os.close(writing)
    os.write(copy, b"x")
    os.close(copy)
    assert os.read(reading, 2) == b"x"
    assert os.read(reading, 2) == b""  # nobody has it any more
    os.close(reading)


@pytest.mark.parametrize("room", [0, 1, 2])
def test_where_one_cannot_be_copied_none_is_kept(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller closes nothing then, and learns what to do."""
    given: list[int] = []
    closed: list[int] = []

    def dup(_: int) -> int:
        if len(given) == room:
            raise OSError(24, "Too many open files")
        given.append(1000 + len(given))
        return given[-1]

    monkeypatch.setattr("headrace.processes.descriptors.os.dup", dup)
    monkeypatch.setattr("headrace.processes.descriptors.os.close", closed.append)
    with pytest.raises(ResourceExhaustedError, match=r"no descriptors .*Too many open files.*ulimit -n"):
        copied([3, 4, 5])
    assert closed == given
