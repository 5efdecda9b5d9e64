"""A proper input pipeline: file names, a reader, a decoder, shuffled batches, and training until the epochs are over.

    python examples/file_pipeline.py

    filename queue -> reader -> value into the decoder -> shuffled batches -> model

20 files of 100 rows, 2 epochs, batches of 23: 4,000 rows are 173 full batches and a last one of 21. The files are made
first, where there is no such folder yet.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import headrace as hr

BATCH_SIZE = 23
NUM_EPOCHS = 2
NUM_THREADS = 2
MIN_AFTER_DEQUEUE = 10
CAPACITY = MIN_AFTER_DEQUEUE + (NUM_THREADS + 1) * BATCH_SIZE


class Model:
    """Is the sum of the inputs positive? Two layers, features -> 1024 ReLU -> 1, and gradient descent."""

    def __init__(self, rng: np.random.Generator, features: int, hidden: int = 1024, learning_rate: float = 0.1) -> None:
        self.learning_rate = np.float32(learning_rate)
        self.w1 = rng.normal(0, features**-0.5, (features, hidden)).astype(np.float32)
        self.b1 = np.zeros(hidden, np.float32)
        self.w2 = rng.normal(0, hidden**-0.5, (hidden, 1)).astype(np.float32)
        self.b2 = np.zeros(1, np.float32)

    def train(self, inputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """One step on inputs (n × features) and targets (n × 1); the predictions before it, 0 or 1 (n × 1)."""
        hidden = np.maximum(inputs @ self.w1 + self.b1, 0)
        logits = hidden @ self.w2 + self.b2
        step = self.learning_rate / np.float32(len(inputs)) * (0.5 + 0.5 * np.tanh(logits / 2) - targets)
        hidden_step = (step @ self.w2.T) * (hidden > 0)
        self.w2 -= hidden.T @ step
        self.b2 -= step.sum(axis=0)
        self.w1 -= inputs.T @ hidden_step
        self.b1 -= hidden_step.sum(axis=0)
        predictions: np.ndarray = (logits > 0).astype(np.int32)
        return predictions


def generate_data(folder: Path, files: int, rows: int, features: int) -> None:
    rng = np.random.default_rng()
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=f"{folder.name}-", dir=folder.parent))
    for number in range(files):
        data = rng.standard_normal((rows, features)).round(6)
        labels = (data.sum(axis=1, keepdims=True) > 0).astype(float)
        lines = [",".join(map(str, row)) + "\n" for row in np.hstack([data, labels]).tolist()]
        (unfinished / f"examples-{number:02}.csv").write_text("".join(lines), encoding="utf-8")
    unfinished.rename(folder)  # so the folder is whole, or it is not there


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Train a classifier on CSV files, by way of queues.")
    parser.add_argument("--data-dir", type=Path, default=Path("data"), help="where examples-*.csv are, or will be made")
    parser.add_argument("--files", type=int, default=20, help="how many files to make")
    parser.add_argument("--rows", type=int, default=100, help="rows to make in each of them")
    parser.add_argument("--features", type=int, default=1024, help="numbers in a row before its label")
    args = parser.parse_args(argv)
    if not args.data_dir.exists():
        generate_data(args.data_dir, args.files, args.rows, args.features)
    with hr.train.scope():  # what is made inside is started and stopped by itself
        train(f"{args.data_dir}/examples-*.csv", args.features)


def train(pattern: str, features: int) -> None:
    files = hr.train.match_filenames_once(pattern)
    filename_queue = hr.train.string_input_producer(files, name="FilenameQueue", shuffle=True, num_epochs=NUM_EPOCHS)
    reader = hr.train.TextLineReader()

    def read_example() -> tuple[np.ndarray, np.ndarray]:
        _key, value = reader.read(filename_queue)
        columns = hr.io.decode_csv(value, record_defaults=[[0.0]] * (features + 1))
        return np.array(columns[:-1]), np.array(columns[-1:])

    next_batch = hr.train.shuffle_batch(
        read_example,
        batch_size=BATCH_SIZE,
        num_threads=NUM_THREADS,
        capacity=CAPACITY,
        min_after_dequeue=MIN_AFTER_DEQUEUE,
        allow_smaller_final_batch=True,
    )
    print("QueueRunners:")
    for runner in hr.train.get_collection():
        print(f" {runner.name}")

    model = Model(np.random.default_rng(), features)
    global_step, predictions = 0, np.empty(0)
    coord = hr.train.Coordinator()
    threads = hr.train.start_queue_runners(coord=coord)
    try:
        while not coord.should_stop():
            predictions = model.train(*next_batch())
            global_step += 1
            if global_step % 20 == 0:
                print(f"global_step: {global_step}")
    except hr.errors.OutOfRangeError:
        print("Done training, epoch limit reached.")
        print(f"last global step: {global_step}")
        print(f"last batch of size: {len(predictions)}")
    finally:
        coord.request_stop()
    coord.join(threads)  # what went wrong in a thread is raised here


if __name__ == "__main__":
    main()
