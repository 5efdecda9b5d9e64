"""The door itself: that it lets go of what it has, however far it came."""

from __future__ import annotations

import os
import threading

import pytest
from tests.cases.held import descriptors

from headrace.live.door import Door, door

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs a system with users as POSIX has them")


def test_where_no_thread_can_be_started_nothing_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuses)
    before = descriptors()
    stuck = Door()
    with pytest.raises(RuntimeError):
        stuck.open()
    stuck.close()
    stuck.close()
    assert descriptors() == before


def test_a_door_that_was_never_opened_can_be_closed() -> None:
    Door().close()


@pytest.mark.parametrize(("setting", "has_one"), [("0", False), ("1", True), ("", True)])
def test_a_setting_leaves_a_process_without_one(setting: str, has_one: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_LIVE", setting)
    assert (door() is not None) == has_one
