"""A training job: how far it goes, when it is kept and judged, and that it goes on as if it had not been stopped."""

from __future__ import annotations

import itertools
import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.elements import folder

import headrace as hr
from headrace.errors import DataLossError, InvalidArgumentError, MissingExtraError
from headrace.train import (
    BestExporter,
    EarlyStopping,
    EvalSpec,
    FinalExporter,
    Hook,
    JaxTrainer,
    LatestExporter,
    RunConfig,
    TorchTrainer,
    TrainSpec,
    train_and_evaluate,
)

_FOLDERS = iter(range(1 << 30))


def fresh() -> Path:
    return folder() / f"job {next(_FOLDERS)}"


class Recording:
    """A trainer that keeps the batches it saw; its weights depend on all of them, in order."""

    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.weights = np.zeros(2)

    def train_step(self, features: Any, labels: Any) -> dict[str, Any]:
        self.seen.append(np.asarray(features).tolist())
        self.weights = self.weights * 0.5 + np.sum(np.asarray(features)) * np.array([1.0, 1 / 3])
        return {"loss": self.weights[0]}

    def eval_step(self, features: Any, labels: Any) -> dict[str, Any]:
        return {"loss": np.mean(features), "first": self.weights[0]}

    def state_dict(self) -> Any:
        return {"seen": self.seen, "weights": self.weights}

    def load_state_dict(self, state: Any) -> None:
        self.seen, self.weights = state["seen"], state["weights"]


class Clock:
    """A second passes with each step that a job makes."""

    def __init__(self) -> None:
        self.second = 0.0

    def now_s(self) -> float:
        return self.second


class Tick(Hook):
    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def after_step(self, run: Any, metrics: Any) -> None:
        self.clock.second += 1


class Events(Hook):
    """Writes down what a job did."""

    def __init__(self) -> None:
        self.log: list[str] = []

    def begin(self, run: Any) -> None:
        self.log.append(f"begin {run.step}")

    def before_step(self, run: Any) -> None:
        self.log.append(f"before {run.step}")

    def after_step(self, run: Any, metrics: Any) -> None:
        self.log.append(f"after {run.step}")

    def after_checkpoint(self, run: Any, path: Path) -> None:
        self.log.append(f"checkpoint {run.step} {path.name}")

    def after_evaluation(self, run: Any, metrics: Any) -> None:
        self.log.append(f"evaluation {run.step}")

    def end(self, run: Any) -> None:
        self.log.append(f"end {run.step}")


def numbers() -> hr.Dataset:
    return hr.Dataset.range(10).shuffle(10, seed=1).repeat().batch(3)


def judged() -> hr.Dataset:
    return hr.Dataset.range(5).batch(2)


EVAL = EvalSpec(judged, steps=None)


def steps_of(log: list[str], what: str) -> list[int]:
    return [int(line.split()[1]) for line in log if line.startswith(what)]


# ------------------------------------------------------------------------- how far it goes


INPUTS: dict[str, Any] = {
    "a dataset": lambda ds: ds,
    "an iterator": iter,
    "a list": list,
    "a feed": lambda ds: ds.to_torch(),
}


@pytest.mark.parametrize("kind", sorted(INPUTS))
def test_training_ends_at_max_steps_or_with_the_input(kind: str) -> None:
    make = INPUTS[kind]
    if kind == "a feed":
        pytest.importorskip("torch")
    for max_steps, expected in ((2, 2), (9, 4), (None, 4)):
        trainer = Recording()
        metrics, exports = train_and_evaluate(
            trainer, TrainSpec(lambda: make(hr.Dataset.range(10).batch(3)), max_steps), EVAL
        )
        assert len(trainer.seen) == expected
        assert metrics is not None
        assert metrics["global_step"] == expected
        assert exports == []


def test_a_pair_is_features_and_labels_and_anything_else_is_features() -> None:
    got: list[Any] = []

    class Looking(Recording):
        def train_step(self, features: Any, labels: Any) -> dict[str, Any]:
            got.append((features, labels))
            return {}

    for element in [(1, 2), {"a": 1}, (1, 2, 3)]:
        train_and_evaluate(Looking(), TrainSpec(lambda e=element: [e]), EVAL)  # type: ignore[misc]
    assert got == [(1, 2), ({"a": 1}, None), ((1, 2, 3), None)]


def test_metrics_are_means_over_examples_of_all_batches_or_of_steps() -> None:
    spec = TrainSpec(lambda: [np.zeros(1)], 1)
    metrics, _ = train_and_evaluate(Recording(), spec, EVAL)
    assert metrics is not None
    assert metrics["loss"] == 2.0  # of 0, 1, 2, 3, 4; the last batch is smaller
    metrics, _ = train_and_evaluate(Recording(), spec, EvalSpec(judged, steps=1))
    assert metrics is not None
    assert metrics["loss"] == 0.5


# ------------------------------------------------------------------- when it is kept and judged


def test_evaluations_follow_checkpoints_and_keep_their_distance() -> None:
    events, clock = Events(), Clock()
    spec = EvalSpec(judged, start_delay_secs=5, throttle_secs=7)
    config = RunConfig(model_dir=fresh(), save_checkpoints_steps=3, save_checkpoints_secs=None)
    train_and_evaluate(Recording(), TrainSpec(numbers, 25, [events, Tick(clock)]), spec, config, clock=clock)
    assert steps_of(events.log, "checkpoint") == [3, 6, 9, 12, 15, 18, 21, 24, 25]
    assert steps_of(events.log, "evaluation") == [6, 15, 24, 25]  # not sooner than after 5, then 7 seconds apart
    assert events.log[:4] == ["begin 0", "before 0", "after 1", "before 1"]
    assert events.log[-1] == "end 25"


def test_checkpoints_go_by_time_as_well() -> None:
    events, clock = Events(), Clock()
    config = RunConfig(model_dir=fresh(), save_checkpoints_secs=4)
    train_and_evaluate(Recording(), TrainSpec(numbers, 10, [events, Tick(clock)]), EVAL, config, clock=clock)
    assert steps_of(events.log, "checkpoint") == [4, 8, 10]


def test_the_training_input_is_opened_once_and_the_evaluations_dataset_built_once() -> None:
    built = {"train": 0, "eval": 0}

    def training() -> hr.Dataset:
        built["train"] += 1
        return numbers()

    def evaluation() -> hr.Dataset:
        built["eval"] += 1
        return judged()

    trainer = Recording()
    config = RunConfig(save_checkpoints_steps=2)
    spec = EvalSpec(evaluation, start_delay_secs=0, throttle_secs=0)
    train_and_evaluate(trainer, TrainSpec(training, 9), spec, config)
    assert built == {"train": 1, "eval": 1}
    assert trainer.seen == [batch.tolist() for batch in numbers().take(9)]


def test_an_evaluation_input_that_can_be_read_once_is_asked_for_again() -> None:
    spec = EvalSpec(lambda: iter([np.ones(2)]), start_delay_secs=0, throttle_secs=0)
    events = Events()
    train_and_evaluate(Recording(), TrainSpec(numbers, 3, [events]), spec, RunConfig(save_checkpoints_steps=1))
    assert steps_of(events.log, "evaluation") == [1, 2, 3]


def test_results_are_kept_by_name_and_old_checkpoints_go() -> None:
    place = fresh()
    config = RunConfig(model_dir=place, save_checkpoints_steps=1, keep_checkpoint_max=2)
    train_and_evaluate(Recording(), TrainSpec(numbers, 5), EvalSpec(judged, name="held_out"), config)
    lines = (place / "eval_held_out" / "results.jsonl").read_text().splitlines()
    assert [json.loads(line)["global_step"] for line in lines] == [5]
    assert sorted(path.name for path in place.glob("checkpoint-*")) == ["checkpoint-000000004", "checkpoint-000000005"]


def test_exporters_run_after_each_evaluation_and_know_the_last() -> None:
    place = fresh()

    def export(trainer: Any, into: Path) -> None:
        (into / "weights.txt").write_text(str(len(trainer.seen)))

    exporters: list[hr.train.Exporter] = [
        FinalExporter("last", export),
        LatestExporter("latest", export, exports_to_keep=2),
        BestExporter("best", export, lambda best, current: current["first"] < best["first"]),
    ]
    spec = EvalSpec(judged, exporters=exporters, start_delay_secs=0, throttle_secs=0)
    config = RunConfig(model_dir=place, save_checkpoints_steps=1)
    _, exports = train_and_evaluate(Recording(), TrainSpec(lambda: [np.ones(2)] * 4, 4), spec, config)
    assert [found and found.name for found in exports] == ["final", "000000004", None]
    found = {path.relative_to(place / "export").as_posix(): path.read_text() for path in place.rglob("weights.txt")}
    assert found == {
        "last/final/weights.txt": "4",
        "latest/000000003/weights.txt": "3",
        "latest/000000004/weights.txt": "4",
        "best/best/weights.txt": "1",
    }


def test_early_stopping_ends_training_with_everything_that_belongs_to_the_end() -> None:
    values = iter([3.0, 2.0, 2.5, 2.5, 1.0, 0.5])

    class Judged(Recording):
        def eval_step(self, features: Any, labels: Any) -> dict[str, Any]:
            return {"loss": next(values)}

    events = Events()
    spec = EvalSpec(lambda: [np.ones(1)], hooks=[EarlyStopping("loss", 2)], start_delay_secs=0, throttle_secs=0)
    trainer = Judged()
    metrics, _ = train_and_evaluate(
        trainer, TrainSpec(numbers, 100, [events]), spec, RunConfig(model_dir=fresh(), save_checkpoints_steps=1)
    )
    assert len(trainer.seen) == 4
    assert metrics == {"loss": 2.5, "global_step": 4.0}
    assert events.log[-2:] == ["evaluation 4", "end 4"]
    with pytest.raises(KeyError, match="no metric 'accuracy'"):
        EarlyStopping("accuracy").after_evaluation(None, {"loss": 1})  # type: ignore[arg-type]


# ------------------------------------------------------------------------------ going on


class Stop(Hook):
    """Fails at a step, as a killed process would."""

    def __init__(self, step: int) -> None:
        self.step = step

    def after_step(self, run: Any, metrics: Any) -> None:
        if run.step == self.step:
            raise KeyboardInterrupt


@given(st.integers(1, 12), st.integers(1, 5), st.integers(1, 14))
def test_a_job_that_was_stopped_anywhere_ends_with_the_same_weights(kill_at: int, every: int, max_steps: int) -> None:
    whole = Recording()
    train_and_evaluate(whole, TrainSpec(numbers, max_steps), EVAL)
    config = RunConfig(model_dir=fresh(), save_checkpoints_steps=every)
    first = Recording()
    try:
        train_and_evaluate(first, TrainSpec(numbers, max_steps, [Stop(kill_at)]), EVAL, config)
    except KeyboardInterrupt:
        first = Recording()
        train_and_evaluate(first, TrainSpec(numbers, max_steps), EVAL, config)
    after_the_end = Recording()
    train_and_evaluate(after_the_end, TrainSpec(numbers, max_steps), EVAL, config)
    for trainer in (first, after_the_end):
        assert trainer.seen == whole.seen
        assert trainer.weights.tobytes() == whole.weights.tobytes()


def test_max_steps_is_absolute() -> None:
    config = RunConfig(model_dir=fresh())
    train_and_evaluate(Recording(), TrainSpec(numbers, 3), EVAL, config)
    done = Recording()
    assert train_and_evaluate(done, TrainSpec(numbers, 3), EVAL, config) == (None, [])
    assert len(done.seen) == 3  # of the job that had ended
    more = Recording()
    train_and_evaluate(more, TrainSpec(numbers, 5), EVAL, config)
    assert len(more.seen) == 5


def test_an_input_without_a_state_is_read_again_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    config = RunConfig(model_dir=fresh())

    def batches() -> Iterator[np.ndarray]:
        return iter([np.full(2, number) for number in range(6)])

    train_and_evaluate(Recording(), TrainSpec(batches, 2), EVAL, config)
    trainer = Recording()
    with caplog.at_level(logging.WARNING, "headrace"):
        train_and_evaluate(trainer, TrainSpec(batches, 4), EVAL, config)
    assert [batch[0] for batch in trainer.seen] == [0, 1, 2, 3]
    assert "first 2 elements are read again" in caplog.text


def test_a_broken_checkpoint_names_the_way_out() -> None:
    place = fresh()
    config = RunConfig(model_dir=place, save_checkpoints_steps=1)
    train_and_evaluate(Recording(), TrainSpec(numbers, 3), EVAL, config)
    (place / "checkpoint-000000003" / "state.npz").write_bytes(b"x")
    with pytest.raises(DataLossError, match=r"checkpoint-000000003 is broken.*remove it"):
        train_and_evaluate(Recording(), TrainSpec(numbers, 4), EVAL, config)


def test_a_checkpoint_that_cannot_be_written_leaves_the_one_before() -> None:
    class Odd(Recording):
        def state_dict(self) -> Any:
            return {"handle": object()} if len(self.seen) > 1 else super().state_dict()

    place = fresh()
    with pytest.raises(InvalidArgumentError, match=r"state\['handle'\] is of type object"):
        train_and_evaluate(Odd(), TrainSpec(numbers, 3), EVAL, RunConfig(model_dir=place, save_checkpoints_steps=1))
    assert [path.name for path in place.glob("*checkpoint*")] == ["checkpoint-000000001"]


def test_a_trainers_state_comes_back_bit_for_bit() -> None:
    torch = pytest.importorskip("torch")
    jnp = pytest.importorskip("jax.numpy")
    from headrace.train.checkpoint_values import read_values, write_values

    state = {
        1: [None, True, -0.0, float("nan"), 1e-320, "é", (np.float32(1), np.arange(3))],
        "t": torch.arange(4, dtype=torch.bfloat16).reshape(2, 2),
        "j": {"b": jnp.ones(2, jnp.bfloat16), "i": jnp.arange(2)},
    }
    place = fresh()
    place.mkdir(parents=True)
    write_values(place, state)
    found = read_values(place)
    assert repr(found[1]) == repr(state[1])
    assert found["t"].dtype == torch.bfloat16
    assert torch.equal(found["t"], state["t"])
    assert found["j"]["b"].dtype == jnp.bfloat16
    assert found["j"]["i"].tolist() == [0, 1]


PROGRAM = """
import sys, torch, headrace as hr
from headrace.train import TorchTrainer, TrainSpec, EvalSpec, RunConfig, train_and_evaluate

def data():
    ds = hr.Dataset.range(64).map(lambda x: ([x % 7, x % 5, 1.0], [x / 64]), num_parallel_calls=2)
    return ds.shuffle(64, seed=3).repeat().batch(8).to_torch(dtype=torch.float32)

torch.manual_seed(0)
module = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1)).to(torch.float32)
trainer = TorchTrainer(module, torch.optim.Adam(module.parameters(), 0.01), torch.nn.functional.mse_loss)

class Say(hr.train.Hook):
    def after_step(self, run, metrics):
        print(run.step, flush=True)

train_and_evaluate(trainer, TrainSpec(data, 30, [Say()]), EvalSpec(data, steps=2),
                   RunConfig(model_dir=sys.argv[1], save_checkpoints_steps=4, progress=False))
print(torch.cat([p.detach().reshape(-1) for p in module.parameters()]).numpy().tobytes().hex())
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL on this system")
def test_killed_at_random_steps_and_started_again_the_weights_are_the_same(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}

    def run(place: str, kill_at: int | None) -> str:
        command = [sys.executable, "-c", PROGRAM, str(tmp_path / place)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
            assert process.stdout is not None
            last = ""
            for line in process.stdout:
                last = line.strip()
                if last == str(kill_at):
                    os.kill(process.pid, signal.SIGKILL)
            return last

    whole = run("whole", None)
    assert len(whole) > 100
    assert run("whole", None) == whole  # as where the kill came after the end
    assert run("whole", None) == whole  # as where the kill came after the end
    for kill_at in (5, 17):
        run("killed", kill_at)
    assert run("killed", None) == whole


# ------------------------------------------------------------------------- trainers, reports


def test_jaxs_state_is_trained_and_resumed() -> None:
    jax = pytest.importorskip("jax")
    jnp = jax.numpy

    def step(state: Any, features: Any, labels: Any) -> Any:
        return {"w": state["w"] * 0.5 + features.sum()}, {"loss": state["w"].sum()}

    def trainer() -> JaxTrainer:
        return JaxTrainer(
            {"w": jnp.zeros(2)}, jax.jit(step), lambda state, features, labels: {"loss": state["w"].sum()}
        )

    def data() -> Any:
        return hr.Dataset.range(9).map(np.float32).batch(2).to_jax()

    whole = trainer()
    metrics, _ = train_and_evaluate(whole, TrainSpec(data, 4), EvalSpec(data))
    assert metrics is not None
    config = RunConfig(model_dir=fresh())
    train_and_evaluate(trainer(), TrainSpec(data, 2), EvalSpec(data), config)
    again = trainer()
    train_and_evaluate(again, TrainSpec(data, 4), EvalSpec(data), config)
    assert again.state["w"].tolist() == whole.state["w"].tolist()


def test_torchs_trainer_learns_and_moves_what_it_is_given() -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    module = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(module.parameters(), 0.1)
    trainer = TorchTrainer(
        module,
        optimizer,
        torch.nn.functional.mse_loss,
        metrics=lambda output, labels: {"error": (output - labels).abs().mean()},
        scheduler=torch.optim.lr_scheduler.StepLR(optimizer, 100),
        device="cpu",
    )

    def data() -> Any:
        return hr.Dataset.range(8).map(lambda x: ([x / 8], [x / 4])).repeat().batch(4).to_torch(dtype=torch.float32)

    config = RunConfig(model_dir=fresh())
    metrics, _ = train_and_evaluate(trainer, TrainSpec(data, 60), EvalSpec(data, steps=2), config)
    assert metrics is not None
    assert metrics["loss"] < 0.2
    assert set(metrics) == {"loss", "error", "global_step"}


def test_tensorboard_gets_metrics_of_training_and_evaluation() -> None:
    pytest.importorskip("tensorboardX")
    place = fresh()
    config = RunConfig(model_dir=place, tensorboard=True, log_step_count_steps=1)
    train_and_evaluate(Recording(), TrainSpec(numbers, 3), EVAL, config)
    assert list(place.glob("events.out.tfevents.*"))
    assert list((place / "eval").glob("events.out.tfevents.*"))


def test_tensorboard_that_is_not_there_is_an_error_with_the_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(MissingExtraError, match=r"headrace\[tensorboard\]"):
        train_and_evaluate(Recording(), TrainSpec(numbers, 1), EVAL, RunConfig(model_dir=fresh(), tensorboard=True))


def test_the_log_and_the_live_line_say_what_was_waited(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    config = RunConfig(log_step_count_steps=2, progress=True)
    with caplog.at_level(logging.INFO, "headrace"):
        train_and_evaluate(Recording(), TrainSpec(numbers, 4), EVAL, config)
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
        "step 2",
        "step 4",
        "evaluation at step 4",
    ]
    assert "waiting" in caplog.records[0].getMessage()
    assert "4/4" in capsys.readouterr().err


# ------------------------------------------------------------------------------ arguments


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: TrainSpec(numbers, 0), ValueError, "max_steps must be at least 1"),
        (lambda: TrainSpec(numbers, 1.5), ValueError, "max_steps must be an int"),  # type: ignore[arg-type]
        (lambda: TrainSpec(3, 1), TypeError, "input_fn must be a function"),  # type: ignore[arg-type]
        (lambda: TrainSpec(numbers, 1, [print]), TypeError, "hook"),  # type: ignore[list-item]
        (lambda: EvalSpec(numbers, steps=0), ValueError, "steps must be at least 1"),
        (lambda: EvalSpec(numbers, throttle_secs=-1), ValueError, "throttle_secs must be at least 0"),
        (lambda: EvalSpec(numbers, start_delay_secs="1"), ValueError, "start_delay_secs must be a number"),  # type: ignore[arg-type]
        (lambda: EvalSpec(numbers, name=""), ValueError, "name must not be empty"),
        (lambda: EvalSpec(numbers, exporters=[print]), TypeError, "exporter"),  # type: ignore[list-item]
        (lambda: EvalSpec(numbers, exporters=[FinalExporter("a", print)] * 2), ValueError, "two exporters"),
        (lambda: LatestExporter("a", print, 0), ValueError, "exports_to_keep"),
        (lambda: EarlyStopping("loss", 0), ValueError, "patience"),
        (lambda: EarlyStopping("loss", mode="up"), ValueError, "mode"),  # type: ignore[arg-type]
        (lambda: RunConfig(keep_checkpoint_max=0), ValueError, "keep_checkpoint_max"),
        (lambda: RunConfig(save_checkpoints_secs=None), ValueError, "cannot both be None"),
        (lambda: RunConfig(tensorboard=True), ValueError, "needs a model_dir"),
        (lambda: train_and_evaluate(Recording(), EVAL, EVAL), TypeError, "expected a TrainSpec"),  # type: ignore[arg-type]
        (lambda: train_and_evaluate(3, TrainSpec(numbers, 1), EVAL), TypeError, r"has no train_step\(\)"),  # type: ignore[arg-type]
        (lambda: train_and_evaluate(Recording(), TrainSpec(lambda: 3, 1), EVAL), TypeError, "input_fn must return"),
        (lambda: train_and_evaluate(Recording(), TrainSpec(numbers, 1), EvalSpec(list)), ValueError, "no batch at all"),
    ],
    ids=itertools.count(),
)
def test_what_does_not_fit_is_refused_by_name(make: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make()
