"""A little thought exercise: how many times is the producer called?

    python examples/queue_exercise.py

It makes 6 numbers at a time for a queue with 3 places, from which 10 are taken, one by one. What finds no place is not
thrown away: it waits for its turn, and until all 6 are inside, the producer is not called again.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

import headrace as hr


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Count how often a queue's producer is called.")
    parser.add_argument("--dequeues", type=int, default=10)
    args = parser.parse_args(argv)
    with hr.train.scope():  # what is made inside is started and stopped by itself
        run(args.dequeues)


def run(dequeues: int) -> None:
    rng = np.random.default_rng()
    queue = hr.queue.FIFOQueue(capacity=3, dtypes=[np.float32], shapes=[()])
    calls = []

    def x_input_data() -> np.ndarray:
        numbers = rng.normal(-1, 4, 6).astype(np.float32)
        calls.append(numbers)
        print("Raw inputs data generated:", *numbers)
        return numbers

    def enqueue_op() -> None:
        queue.enqueue_many([x_input_data()])

    hr.train.add_queue_runner(hr.train.QueueRunner(queue, [enqueue_op]))
    coord = hr.train.Coordinator()
    threads = hr.train.start_queue_runners(coord=coord)
    with coord.stop_on_exception():
        for _ in range(dequeues):
            number = queue.dequeue()
            print("Nb elements left, input:", queue.size(), number)
        # Waits until the queue is full again, so that a call of the producer that is due is counted.
        print("Left in the queue:", *queue.dequeue_many(3))
    coord.request_stop()
    coord.join(threads)  # what went wrong, here or in a thread, is raised here
    print(f"x_input_data was called {len(calls)} times for {dequeues} dequeues.")


if __name__ == "__main__":
    main()
