"""The result of a demo for machines: one JSON document.

Keys are only ever added. Times are in seconds and shares between 0 and 1. A loss that is no finite number is null, which
JSON has no other word for.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any

from headrace.cli.demo.models import Framework
from headrace.cli.demo.summary import Comparison
from headrace.cli.demo.ways import Job
from headrace.page.machine import Machine

__all__ = ["document"]

VERSION = 1


def document(comparison: Comparison, job: Job, machine: Machine, framework: Framework) -> str:
    """Returns all that was measured, as JSON."""
    content: dict[str, Any] = {
        "version": VERSION,
        "data": {"files": len(job.folder.paths), "rows": job.folder.rows, "features": job.folder.features},
        "training": {
            "framework": str(framework),
            "device": machine.device,
            "epochs": job.epochs,
            "batch_size": job.batch_size,
            "seed": job.seed,
        },
        "ways": [
            asdict(summary)
            | {
                "step_s": [step.total_s for step in run.steps],
                "wait_s": [step.wait_s for step in run.steps],
                "losses": [step.loss for step in run.steps],
                "verdict": run.verdict,
                "stages": [asdict(stage) for stage in run.stages],
            }
            for run, summary in zip(comparison.runs, comparison.summaries, strict=True)
        ],
        "identical_losses": list(comparison.same_losses),
        "machine": asdict(machine),
    }
    # In ASCII: it is the same document on whatever stdout can hold.
    return json.dumps(_finite(content), indent=2, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
