"""A run of the idioms as JSON: each round's figure of each side."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from idioms.rounds import Settings
from idioms.standing import Standing
from machine import Machine


def write_record(path: Path, machine: Machine, settings: Settings, standings: Sequence[Standing]) -> None:
    """Write a run to a file, whole or not at all."""
    record = {
        "format": 1,
        "machine": asdict(machine),
        "settings": asdict(settings),
        "cases": {one.measured.case.name: _case(one) for one in standings},
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = path.with_suffix(".part")
    whole.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n")
    whole.replace(path)


def _case(standing: Standing) -> dict[str, Any]:
    measured = standing.measured
    return {
        "written": measured.case.written,
        "unit": measured.case.unit.value,
        "bound_ns": standing.bound_ns,
        "of_bound": standing.of_bound,
        "units": measured.units,
        "rounds_ns": measured.rounds,
        "beside_ns": measured.beside,
        "failures": measured.failures,
    }
