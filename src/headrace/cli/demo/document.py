"""The result of a demo for machines: one JSON document.

Keys are only ever added. Times are in seconds and shares between 0 and 1.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from headrace.cli.demo.machine import Machine
from headrace.cli.demo.models import Framework
from headrace.cli.demo.summary import Comparison
from headrace.cli.demo.ways import Job

__all__ = ["document"]

VERSION = 1


def document(comparison: Comparison, job: Job, machine: Machine, framework: Framework) -> str:
    """All that was measured, as JSON."""
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
                "stages": [asdict(stage) for stage in run.stages],
            }
            for run, summary in zip(comparison.runs, comparison.summaries, strict=True)
        ],
        "identical_losses": list(comparison.same_losses),
        "machine": asdict(machine),
    }
    return json.dumps(content, indent=2, ensure_ascii=False)
