"""A run as JSON, for machines: everything that the tables show, and each round's figure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from machine import Machine
from rounds import Row, Settings
from standing import Lead, Standing


def write_record(
    path: Path, machine: Machine, versions: Mapping[str, str], settings: Settings, standings: Sequence[Standing]
) -> None:
    """Write a run to a file, whole or not at all."""
    record = {
        "format": 1,
        "machine": asdict(machine),
        "versions": dict(versions),
        "settings": {"rounds": settings.rounds, "budget_s": settings.budget_s},
        "works": {standing.work.name: _work(standing) for standing in standings},
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = path.with_suffix(".part")
    whole.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n")
    whole.replace(path)


def _work(standing: Standing) -> dict[str, Any]:
    return {
        "title": standing.work.title,
        "limit": standing.limit.name if standing.limit else None,
        "lead_by_elements": _lead(standing.lead_by_elements),
        "lead": _lead(standing.lead),
        "rows": [_row(standing, row) for row in standing.rows],
    }


def _lead(lead: Lead | None) -> dict[str, Any] | None:
    return {"ours": lead.ours.name, "peer": lead.peer.name, "ratio": lead.ratio} if lead else None


def _row(standing: Standing, row: Row) -> dict[str, Any]:
    return {
        "name": row.name,
        "library": row.candidate.library,
        "program": row.candidate.program.value,
        "how": row.candidate.how,
        "examples_per_s": row.rate,
        "rounds": row.rates,
        "examples_per_epoch": row.examples,
        "of_limit": standing.share_of_limit(row),
        "headrace_times": standing.times_slower(row),
        "peak_bytes": row.peak_bytes,
        "failure": row.failure,
    }
