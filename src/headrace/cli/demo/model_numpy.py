"""The classifier in NumPy, in float32, by hand.

The same batches give the same losses to the last bit: no step depends on time, threads or the order of a sum.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headrace.cli.demo.models import HIDDEN, LEARNING_RATE, Learned, Weights

__all__ = ["NumpyModel"]

Array = NDArray[np.float32]


class NumpyModel:
    """Two layers and their gradients.

    Args:
        weights: where it starts; they are copied.

    Example:
        >>> from headrace.cli.demo.models import initial_weights
        >>> model = NumpyModel(initial_weights(2, seed=0))
        >>> rows, labels = np.ones((3, 2), np.float32), np.ones((3, 1), np.float32)
        >>> model.step(rows, labels).loss > model.step(rows, labels).loss
        True
    """

    device = "CPU"

    def __init__(self, weights: Weights) -> None:
        self._hidden = weights.hidden.copy()
        self._hidden_bias = np.zeros(HIDDEN, np.float32)
        self._output = weights.output.copy()
        self._output_bias = np.zeros(1, np.float32)
        # The gradient of the large layer is as large as the layer: made once, not at every step.
        self._hidden_gradient = np.empty_like(self._hidden)

    @np.errstate(over="ignore", invalid="ignore")  # the loss tells: it is no number from there on
    def step(self, features: Array, labels: Array) -> Learned:
        """Learns from features (n × features) and labels (n × 1)."""
        activations = features @ self._hidden
        activations += self._hidden_bias
        np.maximum(activations, 0, out=activations)
        logits: Array = np.matmul(activations, self._output) + self._output_bias
        learned = Learned(float(_cross_entropy(logits, labels)), float(np.mean((logits > 0) == (labels > 0.5))))
        self._descend(features, activations, (_sigmoid(logits) - labels) / np.float32(len(labels)))
        return learned

    def _descend(self, features: Array, activations: Array, logit_gradient: Array) -> None:
        activation_gradient = logit_gradient @ self._output.T
        activation_gradient *= activations > 0
        np.matmul(features.T, activation_gradient, out=self._hidden_gradient)
        self._hidden_gradient *= np.float32(LEARNING_RATE)
        self._hidden -= self._hidden_gradient
        self._hidden_bias -= np.float32(LEARNING_RATE) * activation_gradient.sum(axis=0)
        self._output -= np.float32(LEARNING_RATE) * (activations.T @ logit_gradient)
        self._output_bias -= np.float32(LEARNING_RATE) * logit_gradient.sum(axis=0)


def _cross_entropy(logits: Array, labels: Array) -> np.float32:
    # max(x, 0) - x·label + log(1 + exp(-|x|)): the form that cannot overflow.
    losses = np.maximum(logits, 0) - logits * labels + np.log1p(np.exp(-np.abs(logits)))
    return np.float32(losses.mean())


def _sigmoid(logits: Array) -> Array:
    # By way of tanh, which does not overflow either.
    half = np.float32(0.5)
    probabilities: Array = half + half * np.tanh(half * logits)
    return probabilities
