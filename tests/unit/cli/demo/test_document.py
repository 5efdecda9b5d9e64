from __future__ import annotations

import json

from tests.unit.cli.demo.recorded import JOB, RUNS

from headrace.cli.demo.document import document
from headrace.cli.demo.machine import this_machine
from headrace.cli.demo.models import Framework
from headrace.cli.demo.summary import compare


def test_a_machine_reads_what_a_person_sees() -> None:
    comparison = compare(RUNS, same_losses=("sequential", "parallel"))
    read = json.loads(document(comparison, JOB, this_machine(), Framework.NUMPY))
    assert read["data"] == {"files": 2, "rows": 75, "features": 16}
    assert [way["way"] for way in read["ways"]] == ["naive", "sequential", "parallel"]
    assert [way["steps"] for way in read["ways"]] == [10, 10, 10]
    assert read["ways"][2]["losses"] == [step.loss for step in RUNS[2].steps]
    assert read["ways"][2]["stages"][1]["busy_s"] == 0.2
    assert read["identical_losses"] == ["sequential", "parallel"]
