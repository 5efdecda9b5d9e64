"""What a rank saves after each step, one file a rank, and how a job goes on from the files of all ranks.

A file is written beside the old one and then takes its name, so a process that is killed leaves the old one or the new one,
and never half a file. When one was killed before it saved, the others are a step ahead of it: ``merge_states(align=True)`` takes the
step that all of them can go on from.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import torch

import headrace as hr


def save(folder: Path, rank: int, state: dict[str, Any], weights: dict[str, Any]) -> None:
    """Saves the rank's place in the data, and the model as it is after that step."""
    beside = folder / f"rank-{rank:03d}.part"
    torch.save({"state": json.dumps(state), "weights": weights}, beside)
    beside.replace(folder / f"rank-{rank:03d}.pt")


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """What a job goes on from."""

    path: Path
    step: int
    saved_at: tuple[int, ...]  # the step after which each rank had saved
    state_bytes: int  # of the state of the whole job, as JSON
    merge_s: float  # how long it took to make one state of all


def merge(folder: Path, merged: Path) -> Merged:
    """Makes one file of the files of all ranks, of whatever number they were."""
    saved = [torch.load(path, weights_only=True) for path in sorted(folder.glob("rank-*.pt"))]
    states = [json.loads(each["state"]) for each in saved]
    merge_states = hr.merge_states  # imported when it is first named
    began_s = perf_counter()
    state = merge_states(states, align=True)
    merge_s = perf_counter() - began_s
    written = json.dumps(state)
    # The model is the same on all ranks; it is taken of one that had saved after the very step.
    weights = next(each["weights"] for each, of in zip(saved, states, strict=True) if of["step"] == state["step"])
    torch.save({"state": written, "weights": weights}, merged)
    return Merged(
        path=merged,
        step=state["step"],
        saved_at=tuple(of["step"] for of in states),
        state_bytes=len(written),
        merge_s=merge_s,
    )


def load(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The state and the weights of a merged file."""
    content = torch.load(path, weights_only=True)
    return json.loads(content["state"]), content["weights"]
