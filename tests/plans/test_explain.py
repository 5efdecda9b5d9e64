"""How plans are explained: the texts beside this file are what a user sees.

Where a change is meant, ``python -m tests.plans.test_explain`` writes them anew; the diff is what is reviewed.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.plans.pipelines import PIPELINES

FOLDER = Path(__file__).parent


def explained(name: str) -> str:
    return PIPELINES[name]().explain() + "\n"


@pytest.mark.parametrize("name", sorted(PIPELINES))
def test_a_plan_is_explained_as_its_snapshot_says(name: str) -> None:
    assert explained(name) == (FOLDER / f"{name}.txt").read_text()


def test_every_snapshot_has_its_pipeline() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == PIPELINES.keys()


if __name__ == "__main__":
    for pipeline in PIPELINES:
        (FOLDER / f"{pipeline}.txt").write_text(explained(pipeline))
