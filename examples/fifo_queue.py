"""A FIFO queue between the threads that make batches and the one that trains on them.

    python examples/fifo_queue.py

Two runner threads keep the queue full, up to its five places, while the training takes out what is ready. The training
itself is that of feeding.py.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import numpy as np

import headrace as hr

FEATURES = 1024
CHECK_EVERY = 10
NUM_THREADS = 2


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
    parser = argparse.ArgumentParser(description="Train a classifier from a FIFO queue.")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--batch-size", type=int, default=128)
    args = parser.parse_args(argv)
    with hr.train.scope():  # what is made inside is started and stopped by itself
        train(args.steps, args.batch_size)


def train(steps: int, batch_size: int) -> None:
    rng = np.random.default_rng()  # its own lock lets several threads draw from it
    queue = hr.queue.FIFOQueue(capacity=5, dtypes=[np.float32, np.float32], name="FIFOQueue")

    def enqueue_op() -> None:
        queue.enqueue(get_batch(rng, batch_size))

    hr.train.add_queue_runner(hr.train.QueueRunner(queue, [enqueue_op] * NUM_THREADS))
    model = Model(rng)

    start_s = time.perf_counter()
    coord = hr.train.Coordinator()
    threads = hr.train.start_queue_runners(coord=coord)
    print(f"Queue runners started, {len(threads)} threads created.")  # one of them closes the queue on a stop
    with coord.stop_on_exception():
        for i in range(steps):
            inputs, targets = queue.dequeue()
            loss, accuracy = model.train(inputs, targets)
            if i % CHECK_EVERY == 0:
                print(f"iter:{i} - loss:{loss:f} - accuracy:{accuracy:f}")
    coord.request_stop()
    coord.join(threads)  # what went wrong, here or in a thread, is raised here
    print(f"Time taken: {time.perf_counter() - start_s:f}")


if __name__ == "__main__":
    main()
