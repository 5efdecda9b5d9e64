from __future__ import annotations

import sys

import numpy as np
import pytest
from numpy.typing import NDArray

from headrace.cli.demo.frameworks import model_maker
from headrace.cli.demo.model_numpy import NumpyModel
from headrace.cli.demo.models import LEARNING_RATE, Device, Framework, Weights, initial_weights
from headrace.errors import InvalidArgumentError, MissingExtraError

Batch = tuple[NDArray[np.float32], NDArray[np.float32]]


def batches(count: int, *, rows: int = 23, features: int = 16) -> list[Batch]:
    generator = np.random.default_rng(7)
    made = [generator.standard_normal((rows, features), dtype=np.float32) for _ in range(count)]
    return [(batch, (batch.sum(axis=1, keepdims=True) > 0).astype(np.float32)) for batch in made]


def test_the_same_batches_give_the_same_losses_to_the_last_bit() -> None:
    weights = initial_weights(16, seed=0)
    one, two = NumpyModel(weights), NumpyModel(weights)
    for features, labels in batches(20):
        # The same numbers elsewhere in memory, in another layout: a batch comes as a view from one way, whole from another.
        elsewhere = np.empty((len(labels), 17), np.float32)
        elsewhere[:, :-1] = features
        assert one.step(features, labels) == two.step(elsewhere[:, :-1], labels)


def test_it_learns_what_a_positive_sum_is() -> None:
    model = NumpyModel(initial_weights(16, seed=0))
    learned = [model.step(features, labels) for features, labels in batches(300)]
    assert np.mean([step.accuracy for step in learned[-50:]]) > 0.9
    assert np.mean([step.loss for step in learned[-50:]]) < np.mean([step.loss for step in learned[:50]])


def test_a_step_goes_down_the_gradient_of_the_loss() -> None:
    weights = initial_weights(4, seed=0)
    [(features, labels)] = batches(1, features=4)
    # A bump of one output weight by 0.2 either side: the loss is smooth in it, so its slope is the gradient.
    slope = (loss_with(weights, features, labels, 0.1) - loss_with(weights, features, labels, -0.1)) / 0.2
    model = NumpyModel(weights)
    model.step(features, labels)
    moved = float(model._output[0, 0] - weights.output[0, 0])
    assert moved == pytest.approx(-LEARNING_RATE * slope, rel=0.02, abs=1e-6)


def loss_with(weights: Weights, features: NDArray[np.float32], labels: NDArray[np.float32], bump: float) -> float:
    bumped = weights.output.copy()
    bumped[0, 0] += bump
    return NumpyModel(Weights(weights.hidden, bumped)).step(features, labels).loss


def test_a_loss_far_from_the_truth_is_large_and_finite() -> None:
    model = NumpyModel(initial_weights(2, seed=0))
    for label in (0.0, 1.0):
        learned = model.step(np.full((1, 2), 1e4, np.float32), np.full((1, 1), label, np.float32))
        assert np.isfinite(learned.loss)


def test_models_do_not_share_their_weights() -> None:
    weights = initial_weights(16, seed=0)
    before = weights.hidden.copy()
    NumpyModel(weights).step(*batches(1)[0])
    np.testing.assert_array_equal(weights.hidden, before)


def test_numpy_has_no_gpu() -> None:
    with pytest.raises(InvalidArgumentError, match="use --framework torch"):
        model_maker(Framework.NUMPY, Device.CUDA)


def test_torch_and_numpy_learn_alike() -> None:
    pytest.importorskip("torch")
    weights = initial_weights(16, seed=0)
    mine, theirs = NumpyModel(weights), model_maker(Framework.TORCH, Device.CPU)(weights)
    assert theirs.device == "CPU"
    for features, labels in batches(20):
        ours, other = mine.step(features, labels), theirs.step(features, labels)
        assert other.loss == pytest.approx(ours.loss, rel=1e-3)
        assert other.accuracy == pytest.approx(ours.accuracy, abs=1 / 23 + 1e-6)


def test_a_gpu_that_is_not_there_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InvalidArgumentError, match="finds no CUDA device; use --device cpu"):
        model_maker(Framework.TORCH, Device.CUDA)


def test_without_torch_the_line_that_installs_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "headrace.cli.demo.model_torch", raising=False)
    with pytest.raises(MissingExtraError, match=r"pip install 'headrace\[torch\]'"):
        model_maker(Framework.TORCH, None)
