from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from tests.unit.cli.demo.recorded import JOB, RUNS

from headrace.cli.demo.document import document
from headrace.cli.demo.models import Framework
from headrace.cli.demo.summary import compare
from headrace.page.machine import this_machine


def test_a_machine_reads_what_a_person_sees() -> None:
    comparison = compare(RUNS, same_losses=("sequential", "parallel"))
    read = json.loads(document(comparison, JOB, this_machine(), Framework.NUMPY))
    assert read["data"] == {"files": 2, "rows": 75, "features": 16}
    assert [way["way"] for way in read["ways"]] == ["naive", "sequential", "parallel"]
    assert [way["steps"] for way in read["ways"]] == [10, 10, 10]
    assert read["ways"][2]["losses"] == [step.loss for step in RUNS[2].steps]
    assert read["ways"][2]["stages"][1]["busy_s"] == 0.2
    assert read["identical_losses"] == ["sequential", "parallel"]


@pytest.mark.parametrize("loss", [math.nan, math.inf, -math.inf])
def test_a_loss_that_is_no_number_is_null_as_json_has_no_other_word(loss: float) -> None:
    run = replace(RUNS[0], steps=(*RUNS[0].steps[:-1], replace(RUNS[0].steps[-1], loss=loss)))
    text = document(compare([run], same_losses=()), JOB, this_machine(), Framework.NUMPY)

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    way = json.loads(text, parse_constant=refuse)["ways"][0]
    assert way["losses"][-1] is None
    assert way["loss"] is None
    assert text.isascii()
