from __future__ import annotations

import platform
from dataclasses import asdict
from pathlib import Path

import pytest

from headrace.page.machine import this_machine


@pytest.mark.parametrize("framework", ["numpy", "torch"])
def test_a_machine_is_described_by_what_matters_to_a_training(framework: str) -> None:
    pytest.importorskip(framework)
    machine = this_machine(framework, device="a GPU")
    assert machine.cpu
    assert machine.cores >= 1
    assert machine.memory_bytes > 1 << 20
    assert machine.device == "a GPU"
    assert list(machine.versions) == list(dict.fromkeys(["headrace", "numpy", "pyarrow", framework]))


def test_a_machine_tells_no_name_of_host_or_user() -> None:
    told = str(asdict(this_machine()))
    assert platform.node() not in told or len(platform.node()) < 4
    assert str(Path.home()) not in told
