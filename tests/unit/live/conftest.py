"""A process that can be looked at from its first run on, in a folder of the test's own."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.live.door import Door
from headrace.observe.onlookers import ONLOOKERS


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Path]]:
    """The folder in which this process's socket will be."""
    runtime = Path(tempfile.mkdtemp(prefix="headrace-"))  # the path of a socket must be short
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    monkeypatch.setattr(ONLOOKERS, "_made_door", Door)
    monkeypatch.setattr(ONLOOKERS, "_due_s", 0.0)
    yield [runtime / "headrace"]
    shutil.rmtree(runtime)
