"""Feeding step by step: the one thread there is makes a batch, and then trains on it.

    python examples/feeding.py

The same training with batches that are made ahead, by two threads: fifo_queue.py.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import numpy as np

FEATURES = 1024
CHECK_EVERY = 10


class Model:
    """Is the sum of the inputs positive? Two layers, 1024 -> 1024 ReLU -> 1, and gradient descent."""

    def __init__(self, rng: np.random.Generator, learning_rate: float = 0.1) -> None:
        self.learning_rate = np.float32(learning_rate)
        self.w1 = rng.normal(0, FEATURES**-0.5, (FEATURES, FEATURES)).astype(np.float32)
        self.b1 = np.zeros(FEATURES, np.float32)
        self.w2 = rng.normal(0, FEATURES**-0.5, (FEATURES, 1)).astype(np.float32)
        self.b2 = np.zeros(1, np.float32)

    def train(self, inputs: np.ndarray, targets: np.ndarray) -> tuple[float, float]:
        """One step on inputs (n × 1024) and targets (n × 1); the loss and accuracy before it."""
        hidden = np.maximum(inputs @ self.w1 + self.b1, 0)
        logits = hidden @ self.w2 + self.b2
        losses = np.maximum(logits, 0) - logits * targets + np.log1p(np.exp(-np.abs(logits)))
        accuracy = np.mean((logits > 0) == (targets > 0))

        step = self.learning_rate / np.float32(len(inputs)) * (0.5 + 0.5 * np.tanh(logits / 2) - targets)
        hidden_step = (step @ self.w2.T) * (hidden > 0)
        self.w2 -= hidden.T @ step
        self.b2 -= step.sum(axis=0)
        self.w1 -= inputs.T @ hidden_step
        self.b1 -= hidden_step.sum(axis=0)
        return float(losses.mean()), float(accuracy)


def get_batch(rng: np.random.Generator, batch_size: int) -> tuple[np.ndarray, np.ndarray]:
    data = rng.standard_normal((batch_size, FEATURES), dtype=np.float32)
    labels = (data.sum(axis=1, keepdims=True) > 0).astype(np.float32)
    return data, labels


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Train a classifier, feeding it step by step.")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--batch-size", type=int, default=128)
    args = parser.parse_args(argv)

    rng = np.random.default_rng()
    model = Model(rng)
    start_s = time.perf_counter()
    for i in range(args.steps):
        inputs, targets = get_batch(rng, args.batch_size)
        loss, accuracy = model.train(inputs, targets)
        if i % CHECK_EVERY == 0:
            print(f"iter:{i} - loss:{loss:f} - accuracy:{accuracy:f}")
    print(f"Time taken: {time.perf_counter() - start_s:f}")


if __name__ == "__main__":
    main()
