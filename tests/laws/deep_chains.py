"""A program that runs chains of one operation, thousands long, in a thread with a small stack: ``deep_chains.py kind depth``.

Whatever used the stack of C once for each operation would end this process, at a depth at which a chain has to run.
"""

from __future__ import annotations

import gc
import json
import pickle
import sys
import threading
from collections.abc import Callable
from typing import Any, Final

import headrace as hr

STACK_BYTES: Final = 256 << 10
SIX: Final = hr.Dataset.range(6)


def _more(x: Any) -> Any:
    return x + 1


def _itself(x: Any) -> Any:
    return x


def _first(x: Any, _: Any) -> Any:
    return x


def _second(_: Any, x: Any) -> Any:
    return x


def _true(_: Any) -> bool:
    return True


# Each with one operation more, and how deep a chain of it is tried.
STEPS: Final[dict[str, tuple[int, Callable[[hr.Dataset], hr.Dataset]]]] = {
    "map": (4_000, lambda ds: ds.map(_more)),
    "concatenate": (4_000, lambda ds: ds.concatenate(hr.Dataset.range(1))),
    "concatenate before": (4_000, lambda ds: hr.Dataset.range(1).concatenate(ds)),
    "take": (2_000, lambda ds: ds.take(5)),
    "skip": (2_000, lambda ds: ds.skip(0)),
    "shard": (1_000, lambda ds: ds.shard(1, 0)),
    "filter": (2_000, lambda ds: ds.filter(_true)),
    "parallel map": (1_000, lambda ds: ds.map(_more, num_parallel_calls=2)),
    "enumerate": (200, lambda ds: ds.enumerate().map(_second)),
    "zip": (1_000, lambda ds: hr.Dataset.zip(ds, SIX).map(_first)),
    "zip before": (1_000, lambda ds: hr.Dataset.zip(SIX, ds).map(_second)),
    "batch and unbatch": (300, lambda ds: ds.batch(2).unbatch()),
    "shuffle": (500, lambda ds: ds.shuffle(3, seed=1, reshuffle_each_iteration=False)),
    "repeat": (1_000, lambda ds: ds.repeat(1)),
    "prefetch": (100, lambda ds: ds.prefetch(1)),
    "take_while": (500, lambda ds: ds.take_while(_true)),
    "ignore_errors": (500, lambda ds: ds.ignore_errors()),
    "with_options": (2_000, lambda ds: ds.with_options(hr.Options(deterministic=True))),
    "cache": (8, lambda ds: ds.cache()),
    "flat_map": (8, lambda ds: ds.flat_map(hr.Dataset.from_tensors)),
}


def _resumed(ds: hr.Dataset) -> list[Any]:
    """The elements with a stop behind the first one, whose state goes through JSON."""
    with iter(ds) as iterator:
        first = next(iterator)
        state = json.dumps(iterator.state_dict())
    with iter(ds) as iterator:
        iterator.load_state_dict(json.loads(state))
        return [first, *iterator]


def _looked_at(ds: hr.Dataset, elements: list[Any], *, by_number: bool) -> None:
    """Asks all that can be asked of a plan without running it as a whole."""
    repr(ds)
    assert ds.explain()
    assert ds.element_spec is not None
    assert hr.fingerprint(ds)
    assert ds.cardinality() in (len(elements), hr.UNKNOWN_CARDINALITY)
    if by_number:
        assert ds[len(elements) - 1] == elements[-1]
    assert list(pickle.loads(pickle.dumps(ds))) == elements


NO_NUMBERS: Final = ("filter", "batch and unbatch", "take_while", "ignore_errors", "flat_map")


def main(kind: str) -> None:
    """Runs one kind of chain on both backends, with all rules and without."""
    depth, step = STEPS[kind]
    ds = SIX
    for _ in range(depth):
        ds = step(ds)
    elements = list(ds.with_options(hr.Options(executor="inline")))
    assert elements
    for options in (hr.Options(), hr.Options(optimize=False), hr.Options(executor="inline")):
        assert _resumed(ds.with_options(options)) == elements
    _looked_at(ds, elements, by_number=kind not in NO_NUMBERS)
    iterator = iter(ds)
    next(iterator)
    del iterator, ds
    gc.collect()
    sys.stdout.write(json.dumps(list(map(int, elements[:6]))))


if __name__ == "__main__":
    threading.stack_size(STACK_BYTES)
    thread = threading.Thread(target=main, args=(sys.argv[1],))
    thread.start()
    thread.join()
