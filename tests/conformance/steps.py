"""The operations in random chains: each draws its arguments, says what elements it makes, and is applied to either side."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from tests.conformance.drawn import Apply, Draw, Drawn, drawn
from tests.conformance.kinds import DICT, INT, PAIR, TEXT, VECTOR, Leaf, leaves_of, mapped

if TYPE_CHECKING:
    from tests.conformance.sides import Headrace

__all__ = ["STEPS"]

# ------------------------------------------------------------------------------ functions


def _maps(rng: random.Random, kind: Any) -> Drawn:
    calls = rng.choice([None, None, 2, -1])
    more = {"num_parallel_calls": calls, "deterministic": True} if calls else {}
    function: Any
    function, result = rng.choice(
        [
            (lambda side: side.total, INT),
            (lambda side: lambda *e: (side.total(*e), side.text(side.total(*e))), PAIR),
            (lambda side: lambda *e: side.text(side.total(*e)), TEXT),
            (lambda side: lambda *e: side.numbers_below(side.total(*e) % 4), VECTOR),
            (lambda side: lambda *e: side.table(side.total(*e)), DICT),
        ]
    )
    return drawn("map", f"to {result}, {more}", lambda side, ds: ds.map(function(side), **more), result)


def _failing_map(rng: random.Random, kind: Any) -> Drawn:
    modulus, calls = rng.randint(2, 5), rng.choice([None, 2])
    more = {"num_parallel_calls": calls} if calls else {}

    def apply(side: Headrace, ds: Any) -> Any:
        def function(*e: Any) -> Any:
            number = side.total(*e)
            return side.fail_if(number % modulus == 1, number)

        return ds.map(function, **more)

    return drawn("map", f"fail on 1 of {modulus}, {more}", apply, INT, fails=True)


def _filter(rng: random.Random, kind: Any) -> Drawn:
    modulus = rng.randint(2, 4)
    op = rng.choice(["filter", "filter", "take_while"])
    return drawn(
        op,
        f"total % {modulus} != 1",
        lambda side, ds: getattr(ds, op)(lambda *e: side.total(*e) % modulus != 1),
        kind,
    )


def _opener(side: Headrace, length: int) -> Any:
    def opened(*e: Any) -> Any:
        number = side.total(*e)
        return side.data.range(side.int64(number % length)).map(lambda x: x + number)

    return opened


def _flat_map(rng: random.Random, kind: Any) -> Drawn:
    length = rng.randint(1, 4)
    return drawn("flat_map", length, lambda side, ds: ds.flat_map(_opener(side, length)), INT)


def _interleave(rng: random.Random, kind: Any) -> Drawn:
    length, cycle, block = rng.randint(1, 4), rng.randint(0, 4), rng.choice([1, 1, 2, 3, 0])
    calls = rng.choice([None, None, -1, 1, 2, 5])
    more = {"num_parallel_calls": calls, "deterministic": True} if calls else {}
    refused = not cycle or not block or (calls is not None and calls > cycle)
    return drawn(
        "interleave",
        f"{length}, cycle_length={cycle}, block_length={block}, {more}",
        lambda side, ds: ds.interleave(_opener(side, length), cycle_length=cycle, block_length=block, **more),
        None if refused else INT,
    )


def _scan(rng: random.Random, kind: Any) -> Drawn:
    def apply(side: Headrace, ds: Any) -> Any:
        def function(state: Any, element: Any) -> Any:
            number = side.total(element)
            return state + number, (state, number)

        return ds.scan(np.int64(0) if side.name == "tf.data" else 0, function)

    return drawn("scan", "sum", apply, (INT, INT))


def _group_by_window(rng: random.Random, kind: Any) -> Drawn:
    keys, size, batch = rng.randint(1, 3), rng.randint(0, 3), rng.randint(1, 3)
    by_key = rng.random() < 0.4
    sizes = {"window_size_func": lambda key: key + size} if by_key else {"window_size": max(1, size)}

    def apply(side: Headrace, ds: Any) -> Any:
        return ds.map(side.total).group_by_window(
            lambda x: side.int64(x % keys), lambda key, group: group.batch(batch), **sizes
        )

    return drawn("group_by_window", f"{keys}, {size}, {by_key}", apply, VECTOR, fails=by_key and not size)


def _bucket(rng: random.Random, kind: Any) -> Drawn:
    sizes = [rng.randint(1, 3) for _ in range(3)]
    boundaries = rng.choice([[1, 3], [2, 4]])
    drop = rng.random() < 0.3

    def apply(side: Headrace, ds: Any) -> Any:
        rows = ds.map(lambda *e: side.numbers_below(side.total(*e) % 5))
        return rows.bucket_by_sequence_length(side.length, boundaries, sizes, drop_remainder=drop)

    return drawn("bucket_by_sequence_length", f"{boundaries}, {sizes}, {drop}", apply, Leaf("int64", (None, None)))


# ------------------------------------------------------------------------------- grouping


def _batched(kind: Any, size: int | None) -> Any:
    return mapped(kind, lambda leaf: Leaf(leaf.dtype, (size, *leaf.shape)))


def _varies(kind: Any) -> bool:
    return any(None in leaf.shape for leaf in leaves_of(kind))


def _batch(rng: random.Random, kind: Any) -> Drawn:
    size, drop = rng.choice([0, 1, 2, 3, 4]), rng.random() < 0.4
    # TensorFlow's parallel batch fails on elements that do not fit together even where it drops them.
    calls = None if _varies(kind) else rng.choice([None, None, 2, -1])
    more = {"num_parallel_calls": calls, "deterministic": True} if calls else {}
    made = None if not size else _batched(kind, size if drop else None)
    return drawn(
        "batch",
        f"{size}, {drop}, {more}",
        lambda side, ds: ds.batch(size, drop_remainder=drop, **more),
        made,
        fails=_varies(kind),
    )


def _padded_batch(rng: random.Random, kind: Any) -> Drawn:
    size, drop = rng.choice([0, 1, 2, 3]), rng.random() < 0.4
    shapes = rng.choice([None, None, 2, 5])
    wanted = None if shapes is None else mapped(kind, lambda leaf: [shapes] * len(leaf.shape))
    # None keeps a size that is known to be the same for all.
    made = mapped(kind, lambda leaf: Leaf(leaf.dtype, (size if drop else None, *_padded(leaf, shapes))))
    too_small = shapes is not None and any(n is not None and n > shapes for leaf in leaves_of(kind) for n in leaf.shape)
    values = mapped(kind, _padding) if rng.random() < 0.3 else None
    return drawn(
        "padded_batch",
        f"{size}, {wanted}, {values}, {drop}",
        lambda side, ds: ds.padded_batch(size, wanted, values, drop_remainder=drop),
        None if not size or too_small else made,
        fails=shapes is not None and _varies(kind),
    )


def _padding(leaf: Leaf) -> Any:
    return "?" if leaf.dtype == "str" else np.dtype(leaf.dtype).type(7)


def _padded(leaf: Leaf, size: int | None) -> tuple[int | None, ...]:
    return leaf.shape if size is None else (size,) * len(leaf.shape)


def _unbatch(rng: random.Random, kind: Any) -> Drawn | None:
    leaves = leaves_of(kind)
    scalar = any(not leaf.shape for leaf in leaves)
    if not scalar and len({leaf.shape[0] for leaf in leaves}) > 1:
        return None  # lengths that are known to differ by one side alone
    if any(None in leaf.shape[1:] or 0 in leaf.shape for leaf in leaves):
        return None  # TensorFlow 2.21 crashes on some of these
    made = None if scalar else mapped(kind, lambda leaf: Leaf(leaf.dtype, leaf.shape[1:]))
    return drawn("unbatch", "", lambda side, ds: ds.unbatch(), made)


def _rebatch(rng: random.Random, kind: Any) -> Drawn | None:
    if any(not leaf.shape for leaf in leaves_of(kind)) or len({leaf.shape[0] for leaf in leaves_of(kind)}) > 1:
        return None
    if any(None in leaf.shape[1:] for leaf in leaves_of(kind)):
        return None  # where they differ, the kind of error is another (docs/conformance.md)
    # None begins with 0: over an empty input whose kind only a graph knows, tf.data gives an empty batch (docs/conformance.md).
    sizes = rng.choice([1, 2, 3, [2, 1], [1, 3], [2, 0], [2, 0, 0], [1, 0, 2]])
    drop = rng.random() < 0.3
    made = mapped(kind, lambda leaf: Leaf(leaf.dtype, (None, *leaf.shape[1:])))
    return drawn(
        "rebatch",
        f"{sizes}, {drop}",
        lambda side, ds: ds.rebatch(sizes, drop_remainder=drop),
        made,
    )


def _window(rng: random.Random, kind: Any) -> Drawn:
    size, shift, stride = rng.choice([1, 2, 3, 0]), rng.choice([None, 1, 2, 4]), rng.choice([1, 1, 2])
    drop = rng.random() < 0.4

    def apply(side: Headrace, ds: Any) -> Any:
        windows = ds.map(side.total).window(size, shift, stride, drop)
        return windows.flat_map(lambda window: window.batch(2))

    return drawn("window", f"{size}, {shift}, {stride}, {drop}", apply, VECTOR if size else None)


# ----------------------------------------------------------------------------- sequencing


def _plain(op: str, arguments: Callable[[random.Random], tuple[Any, ...]]) -> Draw:
    def draw(rng: random.Random, kind: Any) -> Drawn:
        given = arguments(rng)
        return drawn(op, given, lambda side, ds: getattr(ds, op)(*given), kind)

    return draw


def _shard(rng: random.Random, kind: Any) -> Drawn:
    shards, index = rng.choice([(1, 0), (2, 1), (3, 0), (3, 2), (2, 2), (0, 0), (2, -1)])
    refused = not 0 <= index < shards
    return drawn("shard", (shards, index), lambda side, ds: ds.shard(shards, index), None if refused else kind)


def _repeat(rng: random.Random, kind: Any) -> Drawn:
    count = rng.choice([0, 1, 2, None, -1])
    return drawn("repeat", count, lambda side, ds: ds.repeat(count).take(30), kind)


def _enumerate(rng: random.Random, kind: Any) -> Drawn:
    start = rng.choice([0, 5])
    return drawn("enumerate", start, lambda side, ds: ds.enumerate(start), (INT, kind))


def _concatenate(rng: random.Random, kind: Any) -> Drawn:
    count = rng.randint(0, 3)
    return drawn("concatenate", f"take({count})", lambda side, ds: ds.concatenate(ds.take(count)), kind)


def _zip(rng: random.Random, kind: Any) -> Drawn:
    length = rng.randint(0, 9)
    if rng.random() < 0.5:
        apply: Apply = lambda side, ds: side.data.zip(ds, side.data.range(length))  # noqa: E731 - one of two
        return drawn("zip", length, apply, (kind, INT))
    return drawn(
        "zip", f"dict {length}", lambda side, ds: side.data.zip({"x": ds, "y": ds.take(length)}), {"x": kind, "y": kind}
    )


def _failing_zip(rng: random.Random, kind: Any) -> Drawn:
    """Beside a branch that fails at times and may end first."""
    modulus, length, first = rng.randint(1, 3), rng.randint(0, 6), rng.random() < 0.5

    def apply(side: Headrace, ds: Any) -> Any:
        failing = side.data.range(length).map(lambda x: side.fail_if(x % modulus == modulus // 2, x))
        return side.data.zip((failing, ds) if first else (ds, failing))

    made = (INT, kind) if first else (kind, INT)
    return drawn("zip", f"fail on {modulus // 2} of {modulus}, {length}, {first}", apply, made, fails=True)


def _unique(rng: random.Random, kind: Any) -> Drawn | None:
    suited = isinstance(kind, Leaf) and not kind.shape and kind.dtype in ("int64", "str")
    return drawn("unique", "", lambda side, ds: ds.unique(), kind) if suited else None


def _assert_cardinality(rng: random.Random, kind: Any) -> Drawn:
    count = rng.choice([1, 3, 5])
    return drawn(
        "assert_cardinality", count, lambda side, ds: _method(side, ds, "assert_cardinality", count), kind, fails=True
    )


def _method(side: Headrace, ds: Any, name: str, *arguments: Any) -> Any:
    """tf.data keeps some operations apart."""
    if side.name == "tf.data" and not hasattr(ds, name):
        return ds.apply(getattr(side.module.data.experimental, name)(*arguments))
    return getattr(ds, name)(*arguments)


def _choose(rng: random.Random, kind: Any) -> Drawn:
    choices = [
        rng.choice([0, 0, 1, 1, 1, 2]) if rng.random() < 0.1 else rng.randint(0, 1) for _ in range(rng.randint(0, 9))
    ]
    stop = rng.random() < 0.5

    def apply(side: Headrace, ds: Any) -> Any:
        chosen = side.data.from_tensor_slices(np.array(choices, np.int64))
        return side.data.choose_from_datasets([ds, ds.take(2)], chosen, stop)

    return drawn("choose_from_datasets", f"{choices}, {stop}", apply, kind, fails=2 in choices)


def _sample(rng: random.Random, kind: Any) -> Drawn:
    weights, stop = rng.choice([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0], [1.0]]), rng.random() < 0.5
    return drawn(
        "sample_from_datasets",
        f"{weights}, {stop}",
        lambda side, ds: side.data.sample_from_datasets([ds, ds.take(2)], weights, seed=1, stop_on_empty_dataset=stop),
        kind if len(weights) == 2 else None,
    )


def _resample(rng: random.Random, kind: Any) -> Drawn | None:
    if isinstance(kind, tuple):
        return None
    return drawn(
        "rejection_resample",
        "one class",
        # tf.data takes the number of elements for known.
        lambda side, ds: (
            ds.rejection_resample(lambda *e: side.int32(side.total(*e) * 0), [1.0], [1.0], seed=1)
            .map(lambda label, element: element)
            .filter(lambda *e: side.total(*e) > -1)
        ),
        kind,
    )


STEPS: dict[str, Draw] = {
    "map": _maps,
    "failing map": _failing_map,
    "filter": _filter,
    "flat_map": _flat_map,
    "interleave": _interleave,
    "scan": _scan,
    "group_by_window": _group_by_window,
    "bucket_by_sequence_length": _bucket,
    "batch": _batch,
    "padded_batch": _padded_batch,
    "unbatch": _unbatch,
    "rebatch": _rebatch,
    "window": _window,
    "take": _plain("take", lambda rng: (rng.choice([-1, 0, 1, 3, 50]),)),
    "skip": _plain("skip", lambda rng: (rng.choice([-1, 0, 1, 3]),)),
    "shuffle": _plain("shuffle", lambda rng: (1,)),
    "prefetch": _plain("prefetch", lambda rng: (rng.choice([0, 1, 3, -1]),)),
    "cache": _plain("cache", lambda rng: ()),
    "ignore_errors": lambda rng, kind: drawn(
        "ignore_errors", "", lambda side, ds: _method(side, ds, "ignore_errors"), kind
    ),
    "shard": _shard,
    "repeat": _repeat,
    "enumerate": _enumerate,
    "concatenate": _concatenate,
    "zip": _zip,
    "failing zip": _failing_zip,
    "unique": _unique,
    "assert_cardinality": _assert_cardinality,
    "choose_from_datasets": _choose,
    "sample_from_datasets": _sample,
    "rejection_resample": _resample,
}
