"""A job that was killed, that failed, or that was started again makes up what was missing, and nothing else."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.train.killed_jobs import Counting

import headrace as hr
from headrace.errors import DataLossError, FailedPreconditionError, InvalidArgumentError
from headrace.train import (
    BestExporter,
    EarlyStopping,
    EvalSpec,
    FinalExporter,
    Hook,
    RunConfig,
    TorchTrainer,
    TrainSpec,
)
from headrace.train import train_and_evaluate as run_job
from headrace.train.whole_folders import recover, written_whole


class Model:
    """Its evaluations say what was decided for each step."""

    def __init__(self, losses: dict[int, float] | None = None) -> None:
        self.step = 0
        self.losses = losses or {}

    def train_step(self, features: Any, labels: Any) -> dict[str, Any]:
        self.step += 1
        return {"loss": 1.0}

    def eval_step(self, features: Any, labels: Any) -> dict[str, Any]:
        return {"loss": self.losses.get(self.step, float(self.step))}

    def state_dict(self) -> Any:
        return {"step": self.step}

    def load_state_dict(self, state: Any) -> None:
        self.step = state["step"]


def job(
    place: Path,
    steps: int | None,
    model: Any = None,
    training: Any = lambda: hr.Dataset.range(99).batch(2),
    evaluated: Any = lambda: hr.Dataset.range(4).batch(2),
    exporters: Any = (),
    hooks: Any = (),
    eval_steps: int | None = 2,
) -> tuple[dict[str, float] | None, list[Any]]:
    spec = EvalSpec(evaluated, eval_steps, exporters=exporters, hooks=hooks, throttle_secs=0, start_delay_secs=0)
    config = RunConfig(model_dir=place, save_checkpoints_steps=2)
    return run_job(model or Model(), TrainSpec(training, steps), spec, config)


def write_step(model: Any, folder: Path) -> None:
    (folder / "n").write_text(str(model.step))


def fail(model: Any, folder: Path) -> None:
    (folder / "half").touch()
    raise RuntimeError("no room")


def results(place: Path) -> list[Any]:
    return [json.loads(line) for line in (place / "eval" / "results.jsonl").read_text().splitlines()]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_killed_at_each_touch_of_its_folder_a_job_leaves_what_it_would_have_left(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.unit.train.killed_jobs", str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    found = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
        env=environment,
        cwd=Path(__file__).parents[3],
    )
    assert found.returncode == 0, found.stderr[-3000:]
    assert int(found.stdout) > 50


def test_the_best_export_is_the_best_of_the_whole_job_however_often_it_was_started(tmp_path: Path) -> None:
    losses = {2: 0.5, 4: 0.1, 6: 0.9, 8: 0.8, 10: 0.7}
    for steps in (4, 10):
        job(tmp_path, steps, Model(losses), exporters=[BestExporter("b", write_step)])
    assert (tmp_path / "export/b/best/n").read_text() == "4"


@pytest.mark.parametrize(
    "compare",
    [None, lambda best, now: now["loss"] < best["loss"], lambda best, now: not now["loss"] >= best["loss"]],
    ids=["by default", "less", "not more"],
)
def test_an_evaluation_that_is_not_a_number_never_stays_the_best(tmp_path: Path, compare: Any) -> None:
    losses = {2: math.nan, 4: 0.1, 6: math.nan, 8: 0.05, 10: 0.2}
    for steps, best in ((2, "2"), (4, "4"), (6, "4"), (10, "8")):
        job(tmp_path, steps, Model(losses), exporters=[BestExporter("b", write_step, compare)])
        assert (tmp_path / "export/b/best/n").read_text() == best
    assert [result["loss"] for result in results(tmp_path)] == ["NaN", 0.1, "NaN", 0.05, 0.2]


def test_a_final_export_that_failed_is_made_up_and_once(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="no room"):
        job(tmp_path, 4, exporters=[FinalExporter("f", fail)])
    assert list((tmp_path / "export/f").iterdir()) == []
    metrics, exports = job(tmp_path, 4, exporters=[FinalExporter("f", write_step)])
    assert metrics == {"loss": 4.0, "global_step": 4.0}
    assert [path.name for path in exports] == ["final"]
    assert job(tmp_path, 4, exporters=[FinalExporter("f", write_step)]) == (None, [])
    assert [result["global_step"] for result in results(tmp_path)] == [2, 4]


@pytest.mark.parametrize(
    "how", ["max_steps", "the input's end", "a hook after the step", "a hook after the evaluation"]
)
def test_the_last_step_is_evaluated_and_exported_once_however_it_became_the_last(tmp_path: Path, how: str) -> None:
    told: list[tuple[int, bool]] = []

    class Told:
        name = "told"

        def export(
            self, trainer: Any, export_path: Path, checkpoint_path: Any, eval_result: Any, is_final: bool
        ) -> None:
            told.append((trainer.step, is_final))

    class Stop(Hook):
        def after_step(self, run: Any, metrics: Any) -> None:
            if run.step == 4 and how == "a hook after the step":
                run.request_stop()

        def after_evaluation(self, run: Any, metrics: Any) -> None:
            if run.step == 4 and how == "a hook after the evaluation":
                run.request_stop()

    steps, elements = (4 if how == "max_steps" else None), (8 if how == "the input's end" else 99)
    job(tmp_path, steps, training=lambda: hr.Dataset.range(elements).batch(2), exporters=[Told()], hooks=[Stop()])
    assert told == [(2, False), (4, True)]
    assert [result["global_step"] for result in results(tmp_path)] == [2, 4]


def test_early_stopping_counts_on_and_stays_stopped(tmp_path: Path) -> None:
    model = Model()
    for steps in range(4, 40, 4):
        model = Model()
        job(tmp_path, steps, model, hooks=[EarlyStopping("loss", patience=3)])
    assert model.step == 8
    job(tmp_path, 40, model, hooks=[EarlyStopping("loss", patience=5)])
    assert model.step == 12


def test_a_hooks_state_comes_back_and_one_that_nobody_takes_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    job(tmp_path, 4, hooks=[Counting(), Counting()])
    second = Counting()
    job(tmp_path, 6, hooks=[Counting(), second])
    assert second.told == {"steps": 6, "evaluations": 3}
    job(tmp_path, 8, hooks=[Counting()])
    assert "killed_jobs.Counting 1, which the job does not have any more" in caplog.text


def test_a_hook_that_fails_at_the_end_keeps_no_other_from_its_own_and_hides_no_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ended: list[int] = []

    class Ending(Hook):
        def __init__(self, number: int) -> None:
            self.number = number

        def end(self, run: Any) -> None:
            ended.append(self.number)
            raise ValueError(f"end of {self.number}")

    def failing() -> Iterator[Any]:
        yield np.ones(1)
        raise KeyError("the job's own")

    with pytest.raises(ValueError, match="end of 1"):
        job(tmp_path / "a", 2, hooks=[Ending(1), Ending(2)])
    with pytest.raises(KeyError, match="the job's own"):
        job(tmp_path / "b", 2, training=failing, hooks=[Ending(3), Ending(4)])
    assert ended == [1, 2, 3, 4]
    assert "end of 2" in caplog.text
    assert "end of 4" in caplog.text


# ---------------------------------------------------------------------------- random numbers


def loader_job(place: Path, steps: int, kind: str) -> Any:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(1, 4), torch.nn.Dropout(0.5), torch.nn.Linear(4, 1))
    trainer = TorchTrainer(module, torch.optim.SGD(module.parameters(), 0.01), torch.nn.functional.mse_loss)
    x = torch.arange(16.0)[:, None] / 16
    data = torch.utils.data.TensorDataset(x, x)

    def training() -> Any:
        loader = torch.utils.data.DataLoader(data, 2, shuffle=True)
        if kind == "a loader":
            return loader

        def epochs() -> Iterator[Any]:
            while True:
                yield from loader

        return epochs()

    def drawing() -> Any:
        seed = int(torch.randint(100, ()))
        ds = hr.Dataset.range(16).map(lambda n: ([n / 16], [n / 16])).shuffle(16, seed=seed)
        return ds.repeat().batch(2).to_torch(dtype=torch.float32)

    spec = TrainSpec(drawing if kind == "an input_fn that draws" else training, steps)
    evaluation = EvalSpec(
        lambda: torch.utils.data.DataLoader(data, 4, shuffle=True), 2, throttle_secs=0, start_delay_secs=0
    )
    run_job(trainer, spec, evaluation, RunConfig(model_dir=place, save_checkpoints_steps=3))
    return [value.tolist() for value in module.state_dict().values()]


@pytest.mark.parametrize("kind", ["a loader", "a loader again and again", "an input_fn that draws"])
def test_what_inputs_and_evaluations_draw_changes_nothing_for_training(tmp_path: Path, kind: str) -> None:
    last = 8 if kind == "a loader" else 20  # it has eight batches
    whole = loader_job(tmp_path / "whole", last, kind)
    found = [loader_job(tmp_path / "again", steps, kind) for steps in (4, 5, last)]
    assert found[-1] == whole


# ---------------------------------------------------------------------------- inputs


def test_an_input_that_is_empty_or_endless_where_it_must_not_be_says_so(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="training's input_fn gave no batch"):
        job(tmp_path, 4, training=list)
    assert not list(tmp_path.glob("checkpoint-*"))
    endless = hr.Dataset.range(4).repeat().batch(2)
    with pytest.raises(InvalidArgumentError, match="would never end"):
        job(tmp_path, 4, evaluated=lambda: endless, eval_steps=None)
    pytest.importorskip("jax")
    with pytest.raises(InvalidArgumentError, match="would never end"):
        job(tmp_path, 4, evaluated=endless.to_jax, eval_steps=None)


def test_an_element_that_fails_does_so_at_its_own_step_behind_the_evaluation_that_was_due(tmp_path: Path) -> None:
    def failing() -> Iterator[Any]:
        yield from [np.ones(1)] * 4
        raise KeyError("the fifth")

    with pytest.raises(KeyError, match="the fifth"):
        job(tmp_path, 6, training=failing)
    assert [result["global_step"] for result in results(tmp_path)] == [2, 4]


def test_the_state_of_an_input_comes_back_as_it_was(tmp_path: Path) -> None:
    class Input:
        def __init__(self) -> None:
            self.state: Any = {1: np.int64(0), "t": (1, [2])}

        def __iter__(self) -> Any:
            return self

        def __next__(self) -> Any:
            self.state[1] += 1
            return np.ones(1)

        def state_dict(self) -> Any:
            return self.state

        def load_state_dict(self, state: Any) -> None:
            self.state = state

    made = Input()
    job(tmp_path, 3, training=Input)
    job(tmp_path, 4, training=lambda: made)
    assert made.state == {1: 4, "t": (1, [2])}
    assert type(made.state[1]) is np.int64
    with pytest.raises(FailedPreconditionError, match="now returns a list, which has none"):
        job(tmp_path, 6, training=lambda: [np.ones(1)] * 9)


def test_an_input_that_became_too_short_to_go_on_is_told(tmp_path: Path) -> None:
    job(tmp_path, 4, training=lambda: [np.ones(1)] * 9)
    with pytest.raises(FailedPreconditionError, match=r"made 4 steps, and its input now ends after 3 elements"):
        job(tmp_path, 6, training=lambda: [np.ones(1)] * 3)


def test_a_ragged_batch_counts_by_its_rows(tmp_path: Path) -> None:
    class Rows(Model):
        def eval_step(self, features: Any, labels: Any) -> dict[str, Any]:
            return {"rows": float(len(features))}

    ragged = hr.Dataset.range(1, 4).map(lambda i: np.arange(i * i)).ragged_batch(2)
    for evaluated in (ragged, [[np.ones(2), np.ones(2)], [np.ones(1), np.ones(1)]], [["a", "b"], ["c"]]):
        metrics, _ = job(tmp_path / str(id(evaluated)), 2, Rows(), evaluated=lambda e=evaluated: e)
        assert metrics is not None
        assert metrics["rows"] == pytest.approx(5 / 3)


def test_a_budget_reaches_feeds(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from headrace.train.inputs import bounded

    feed = bounded(hr.Dataset.range(4).to_torch(), 1000)
    assert "ram_budget=1000" in str(feed._plan)
    assert [int(number) for number in feed] == [0, 1, 2, 3]


# ---------------------------------------------------------------------------- the folder


def test_two_jobs_in_one_folder_are_one_too_many_and_the_second_says_who_is_there(tmp_path: Path) -> None:
    class Second(Hook):
        def begin(self, run: Any) -> None:
            job(tmp_path, 2)

    with pytest.raises(FailedPreconditionError, match=f"in use by the job of process {os.getpid()} on"):
        job(tmp_path, 2, hooks=[Second()])
    assert job(tmp_path, 2)[0] is not None


@pytest.mark.parametrize("name", ["state.npz", "state.json", "manifest.json"])
@pytest.mark.parametrize("damage", ["empty", "half", "flipped", "gone", "null"])
def test_whatever_is_damaged_in_a_checkpoint_it_is_told_with_the_way_out(
    tmp_path: Path, name: str, damage: str
) -> None:
    job(tmp_path, 4)
    path = tmp_path / "checkpoint-000000004" / name
    data = path.read_bytes()
    middle = data.index(b'"', len(data) // 2) + 1 if name.endswith("json") else len(data) // 2
    if damage == "gone":
        path.unlink()
    else:
        flipped = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
        path.write_bytes({"empty": b"", "half": data[: len(data) // 2], "flipped": flipped, "null": b"null"}[damage])
    with pytest.raises(DataLossError, match=r"checkpoint-000000004 is broken .*remove it to go on from .*000000002"):
        job(tmp_path, 6)


def test_what_a_kill_left_between_two_names_comes_back(tmp_path: Path) -> None:
    (tmp_path / ".best.old").mkdir()
    (tmp_path / ".best.part").mkdir()
    recover(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["best"]
    (tmp_path / ".best.old").mkdir()
    recover(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["best"]


@pytest.mark.parametrize("can_exchange", [True, False])
def test_a_folder_takes_the_place_of_another_whole(
    tmp_path: Path, can_exchange: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not can_exchange:
        monkeypatch.setattr("headrace.train.whole_folders._exchanged", lambda one, other: False)
    for number in range(3):
        with written_whole(tmp_path / "it") as folder:
            (folder / str(number)).touch()
        assert [path.name for path in tmp_path.rglob("*")] == ["it", str(number)]


def test_half_a_line_of_results_is_dropped_and_the_lines_of_a_step_are_replaced(tmp_path: Path) -> None:
    file = tmp_path / "eval" / "results.jsonl"
    file.parent.mkdir()
    file.write_text('{"loss": 3.0, "global_step": 1.0}\n{"loss": 9.0, "global_step": 4.0}\n{"loss": 1.0, "glo')
    job(tmp_path, 2)
    assert results(tmp_path) == [{"loss": 3.0, "global_step": 1.0}, {"loss": 2.0, "global_step": 2.0}]
