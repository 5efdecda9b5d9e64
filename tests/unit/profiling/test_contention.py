"""What a machine counts of its cores and threads, as a folder of files that a test writes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headrace.profiling.contention import IDLE, Contention, look

TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


class Machine:
    """What stands in the files of a system with two cores, of this process with one thread, and of one that it started."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self.now_s = root, 100.0
        self.busy_s = [10.0, 20.0]
        self.own_s = self.child_s = (1.0, 0.5)
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
        monkeypatch.setattr(os, "times", lambda: (self.own_s[0], 0.0, 0.0, 0.0, 0.0))

    def look(self) -> Contention | None:
        lines = [f"cpu{number} {int(busy_s * TICKS)} 0 0 7 7 0 0 0" for number, busy_s in enumerate(self.busy_s)]
        self.write("stat", "\n".join(["cpu  1 2 3 4", *lines, "cpu9 99999 0 0 0", "ctxt 1"]))
        self.write("self/task/1/schedstat", f"{int(self.own_s[0] * 1e9)} {int(self.own_s[1] * 1e9)} 7")
        self.write("self/task/1/children", "2 3")
        self.write("2/task/2/schedstat", f"{int(self.child_s[0] * 1e9)} {int(self.child_s[1] * 1e9)} 7")
        self.write("2/stat", f"2 (a ) b) S {' '.join(['1'] * 10)} {int(self.child_s[0] * TICKS)} 0 0 0")
        before, self.looked = getattr(self, "looked", None), look(str(self.root), clock=lambda: self.now_s)
        return None if before is None else self.looked.since(before)

    def write(self, name: str, text: str) -> None:
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="ascii")


def test_what_others_use_is_what_is_busy_and_not_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(tmp_path, monkeypatch)
    machine.look()
    machine.now_s += 10
    machine.busy_s = [20.0, 25.0]
    machine.own_s, machine.child_s = (4.0, 3.5), (5.0, 0.5)
    seen = machine.look()
    assert seen is not None
    assert seen.ours == pytest.approx(0.7)
    assert seen.others == pytest.approx(0.8)
    assert (seen.here, seen.elsewhere) == pytest.approx((2.0, 1.0))


def test_where_nobody_counts_nothing_is_seen(tmp_path: Path) -> None:
    assert look(str(tmp_path)).since(look(str(tmp_path))) == IDLE
