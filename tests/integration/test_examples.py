"""The scripts in examples/ print what the documents that they come from print."""

from __future__ import annotations

import os
import re
import runpy
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr

EXAMPLES = Path(__file__).parents[2] / "examples"
LINE = re.compile(r"iter:(\d+) - loss:(\d+\.\d{6}) - accuracy:([01]\.\d{6})")
EPOCHS, FILES, ROWS = 2, 20, 100


def run(example: str, *argv: str) -> None:
    runpy.run_path(str(EXAMPLES / example))["main"](argv)


def checks(lines: list[str]) -> list[int]:
    found = [LINE.fullmatch(line) for line in lines]
    assert all(found), lines
    return [int(match[1]) for match in found if match]


def test_feeding_prints_loss_and_accuracy_and_the_time(capsys: pytest.CaptureFixture[str]) -> None:
    run("feeding.py", "--steps", "21", "--batch-size", "2")
    *lines, time_taken = capsys.readouterr().out.splitlines()
    assert checks(lines) == [0, 10, 20]
    assert re.fullmatch(r"Time taken: \d+\.\d{6}", time_taken)


def test_the_fifo_queue_is_filled_by_three_threads(capsys: pytest.CaptureFixture[str]) -> None:
    run("fifo_queue.py", "--steps", "21", "--batch-size", "2")
    started, *lines, time_taken = capsys.readouterr().out.splitlines()
    assert started == "Queue runners started, 3 threads created."
    assert checks(lines) == [0, 10, 20]
    assert re.fullmatch(r"Time taken: \d+\.\d{6}", time_taken)


def test_the_producer_is_called_three_times_for_ten_dequeues(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(30):
        run("queue_exercise.py")
        lines = capsys.readouterr().out.splitlines()
        assert sum(line.startswith("Raw inputs data generated:") for line in lines) == 3
        assert sum(line.startswith("Nb elements left, input:") for line in lines) == 10
        assert lines[-1] == "x_input_data was called 3 times for 10 dequeues."


# Every line that the document shows for its file pipeline.
PIPELINE_PRINTS = [
    "QueueRunners:",
    " FilenameQueue",
    " shuffle_batch/random_shuffle_queue",
    *(f"global_step: {step}" for step in range(20, 161, 20)),
    "Done training, epoch limit reached.",
    "last global step: 174",
    "last batch of size: 21",
]


@pytest.mark.parametrize("features", [8, 1024])
def test_the_file_pipeline_ends_after_174_steps_with_a_batch_of_21(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], features: int
) -> None:
    run("file_pipeline.py", "--data-dir", str(tmp_path / "data"), "--features", str(features))
    assert capsys.readouterr().out.splitlines() == PIPELINE_PRINTS
    assert len(list((tmp_path / "data").glob("examples-*.csv"))) == FILES


def test_the_file_pipeline_takes_the_files_that_are_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("file_pipeline.py", "--data-dir", str(tmp_path / "data"), "--files", "3", "--rows", "4", "--features", "2")
    for path in (tmp_path / "data").glob("*.csv"):
        path.write_text("1,2,1\n" * 50)
    run("file_pipeline.py", "--data-dir", str(tmp_path / "data"), "--features", "2")
    # 3 files of 4 rows, twice, are 1 batch of 23 and 1 row; 3 of 50 are 13 and 1.
    ends = [line for line in capsys.readouterr().out.splitlines() if line.startswith("last")]
    assert ends == ["last global step: 2", "last batch of size: 1", "last global step: 14", "last batch of size: 1"]


def test_a_bad_row_stops_the_file_pipeline_and_is_raised(tmp_path: Path) -> None:
    (tmp_path / "examples-00.csv").write_text("1,2,1\n" * 60 + "1,two,1\n" + "1,2,1\n" * 60)
    with pytest.raises(hr.errors.InvalidArgumentError, match="'two' is not a valid float32"):
        run("file_pipeline.py", "--data-dir", str(tmp_path), "--features", "2")


def test_an_example_is_a_script() -> None:
    found = subprocess.run(
        [sys.executable, EXAMPLES / "queue_exercise.py", "--dequeues", "1"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert "for 1 dequeues." in found.stdout


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here")
def test_a_job_of_four_ranks_that_is_killed_goes_on_with_two_on_the_same_batches() -> None:
    pytest.importorskip("torch")
    found = subprocess.run(
        [sys.executable, EXAMPLES / "elastic_ddp.py"],
        capture_output=True,
        text=True,
        check=False,
        timeout=110,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert found.returncode == 0, found.stderr
    killed, *steps, last = found.stdout.splitlines()
    assert killed == "a rank of 4 was killed in step 9"
    runs = [re.sub(r"[\da-f]{12}(; | on )", "", step) for step in steps]
    # Three ranks saved step 9, and one did not: the job goes on from step 6.
    assert runs == [f"step {step:2}: {'4' if step < 7 else '4, 2' if step < 10 else '2'}" for step in range(1, 13)]
    assert last == "12 global batches, all the same"
    assert len({step.split()[2] for step in steps}) == 12


# ---- the program of the notebook, as the issue has it


@pytest.fixture(name="pattern", scope="module")
def _pattern(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Files whose rows begin with their numbers, from 0 to 1,999."""
    folder = tmp_path_factory.mktemp("numbered")
    for number in range(FILES):
        rows = range(number * ROWS, (number + 1) * ROWS)
        (folder / f"examples-{number:02}.csv").write_text("".join(f"{row},0.5,1.0\n" for row in rows))
    return f"{folder}/examples-*.csv"


class Recorder:
    """A model that only remembers what it was trained on."""

    def __init__(self) -> None:
        self.reached_the_epoch_limit = False
        self.sizes: list[int] = []
        self.seen: Counter[float] = Counter()

    def train(self, inputs: Any, targets: Any) -> None:
        assert inputs.shape == (len(targets), 2)
        self.sizes.append(len(inputs))
        self.seen.update(inputs[:, 0].tolist())


@pytest.mark.parametrize("time", range(5))
def test_the_program_of_the_notebook_sees_each_row_exactly_twice(pattern: str, time: int) -> None:
    model = Recorder()
    with hr.train.scope():
        files = hr.train.match_filenames_once(pattern)
        names = hr.train.string_input_producer(files, shuffle=True, num_epochs=EPOCHS)
        reader = hr.train.TextLineReader()

        def read_example() -> Any:
            _key, value = reader.read(names)
            columns = hr.io.decode_csv(value, record_defaults=[[0.0]] * 3)
            return np.stack(columns[:-1]), np.int32(columns[-1])

        next_batch = hr.train.shuffle_batch(
            read_example,
            batch_size=23,
            num_threads=2,
            capacity=79,
            min_after_dequeue=10,
            allow_smaller_final_batch=True,
        )
        coord = hr.train.Coordinator()
        threads = hr.train.start_queue_runners(coord=coord)
        try:
            while not coord.should_stop():
                model.train(*next_batch())
        except hr.errors.OutOfRangeError:
            model.reached_the_epoch_limit = True
        finally:
            coord.request_stop()
        coord.join(threads)
    assert model.reached_the_epoch_limit
    assert model.sizes == [23] * 173 + [21]
    assert model.seen == Counter({float(row): EPOCHS for row in range(FILES * ROWS)})
    assert reader.num_records_produced() == EPOCHS * FILES * ROWS
    assert reader.num_work_units_completed() == EPOCHS * FILES
