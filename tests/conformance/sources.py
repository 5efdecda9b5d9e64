"""The sources of random chains, and the files that they read."""

from __future__ import annotations

import gzip
import math
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from tests.conformance.drawn import Draw, Drawn, drawn
from tests.conformance.kinds import DICT, INT, PAIR, TEXT, VECTOR, Leaf, mapped

from headrace.io import TFRecordWriter

if TYPE_CHECKING:
    from tests.conformance.sides import Headrace

__all__ = ["sources", "write_files"]


def sources(folder: Path) -> list[Draw]:
    """Every source, with data of its own."""

    def ranged(rng: random.Random, _: Any) -> Drawn:
        numbers = rng.choice([(rng.randint(-2, 13),), (3, 12, rng.choice([-2, 1, 4])), (9, -3, rng.choice([-4, 0]))])
        return drawn("range", numbers, lambda side, _: side.data.range(*numbers), INT if 0 not in numbers[2:] else None)

    def slices(rng: random.Random, _: Any) -> Drawn:
        n = rng.randint(1, 9)
        tensors, kind = rng.choice(
            [
                (np.arange(n), INT),
                (np.array([str(i) for i in range(n)]), TEXT),
                ((np.arange(n), np.array([str(i % 3) for i in range(n)])), PAIR),
                (
                    {"a": np.arange(n), "b": (np.arange(n, dtype=np.float32), np.arange(2 * n).reshape(n, 2))},
                    DICT,
                ),
                ((np.arange(n), np.arange(n + 1)), None),
            ]
        )
        return drawn("from_tensor_slices", kind, lambda side, _: side.data.from_tensor_slices(tensors), kind)

    def tensors(rng: random.Random, _: Any) -> Drawn:
        n = rng.randint(0, 4)
        whole = (np.arange(n), "text")
        return drawn("from_tensors", n, lambda side, _: side.data.from_tensors(whole), (Leaf("int64", (n,)), TEXT))

    def texts(rng: random.Random, _: Any) -> Drawn:
        n, inner = rng.randint(0, 7), rng.choice([(), (2,), (2,), (3, 1), (0,), (2, 0)])
        array = np.array([str(i) * (i % 4) for i in range(n * math.prod(inner))], dtype=str).reshape(n, *inner)
        # Of objects only a value tells that they are texts; TensorFlow takes an array without values for texts.
        kinds = [np.dtype("U3"), np.dtype("S3"), *([np.dtype(object)] if array.size else [])]
        array = array.astype(rng.choice(kinds))
        kind = Leaf("str", inner)
        named = f"{array.dtype} {array.shape}"
        if rng.random() < 0.3:
            both = (np.arange(n), array)
            return drawn("from_tensor_slices", named, lambda side, _: side.data.from_tensor_slices(both), (INT, kind))
        return drawn("from_tensor_slices", named, lambda side, _: side.data.from_tensor_slices(array), kind)

    def nothing_inside(rng: random.Random, _: Any) -> Drawn:
        shape = rng.choice([(0,), (0, 3), (3, 0), (4, 0, 2), (2, 2, 0)])
        kind = Leaf("float32", shape[1:])
        array = np.zeros(shape, np.float32)
        return drawn("from_tensor_slices", shape, lambda side, _: side.data.from_tensor_slices(array), kind)

    return [ranged, ranged, slices, slices, tensors, texts, texts, nothing_inside, *_generators(), *_files(folder)]


def _generators() -> list[Draw]:
    """Generators, by signature and by types and shapes."""

    def vectors(rng: random.Random, _: Any) -> Drawn:
        n = rng.randint(0, 7)

        def generate() -> Any:
            return iter([np.arange(i % 4) for i in range(n)])

        def apply(side: Headrace, _: Any) -> Any:
            return side.data.from_generator(generate, output_signature=side.signature(np.int64, [None]))

        return drawn("from_generator", n, apply, VECTOR)

    def signed(rng: random.Random, _: Any) -> Drawn:
        n = rng.randint(0, 7)
        make, kind = rng.choice(_YIELDED)
        older = rng.random() < 0.5
        bad = rng.randrange(n) if n and rng.random() < 0.2 else -1  # where an element does not fit

        def generate() -> Any:
            for i in range(n):
                yield "unfit" if i == bad else make(i)

        def apply(side: Headrace, _: Any) -> Any:
            if older:
                types, shapes = (mapped(kind, choose) for choose in (_type_of(side), lambda leaf: leaf.shape))
                return side.data.from_generator(generate, types, shapes)
            signature = mapped(kind, lambda leaf: side.signature(_type_of(side)(leaf), leaf.shape))
            return side.data.from_generator(generate, output_signature=signature)

        spelling = "types and shapes" if older else "signature"
        # A text fits where texts are wanted.
        fails = bad >= 0 and kind != TEXT
        return drawn("from_generator", f"{n} of {kind} by {spelling}, unfit {bad}", apply, kind, fails=fails)

    return [vectors, signed, signed]


def _type_of(side: Headrace) -> Any:
    return lambda leaf: side.text_type if leaf.dtype == "str" else leaf.dtype


# What generators yield, tuples and lists for arrays among it, and what it is taken for.
_YIELDED: list[tuple[Any, Any]] = [
    (lambda i: i, INT),
    (lambda i: (i, str(i)), PAIR),
    (lambda i: "x" * i, TEXT),
    (lambda i: (i, i + 1), Leaf("int32", (2,))),
    (lambda i: [0.5] * (i % 3), Leaf("float32", (None,))),
    (lambda i: {"c": tuple(range(i % 3)), "t": (str(i),)}, {"c": Leaf("int64", (None,)), "t": Leaf("str", (1,))}),
    (lambda i: ([[i, i]], ["a"] * (i % 2)), (Leaf("int64", (1, 2)), Leaf("str", (None,)))),
    (lambda i: np.zeros((i % 2, 0)), Leaf("float64", (None, 0))),
]


def _files(folder: Path) -> list[Draw]:
    """Every source that reads files."""

    def lines(rng: random.Random, _: Any) -> Drawn:
        paths = [
            str(folder / f"{rng.choice(['three', 'none', 'five', 'absent'])}.txt") for _ in range(rng.randint(1, 2))
        ]
        return drawn("TextLineDataset", paths, lambda side, _: side.text_lines(paths), TEXT, fails=True)

    def csv(rng: random.Random, _: Any) -> Drawn:
        paths = [str(folder / f"{rng.choice(['good', 'bad'])}.csv") for _ in range(rng.randint(1, 2))]
        defaults = [np.array([7], np.int64), np.array(["none"])]
        return drawn("CsvDataset", paths, lambda side, _: side.csv(paths, _defaults(side, defaults)), PAIR, fails=True)

    def records(rng: random.Random, _: Any) -> Drawn:
        names = rng.choice(
            [["three.records"], ["none.records", "three.records"], ["broken.records"], ["absent.records"]]
        )
        paths, compression = [str(folder / name) for name in names], ""
        if rng.random() < 0.3:
            paths, compression = [str(folder / "three.records.gz")], "GZIP"
        return drawn(
            "TFRecordDataset",
            f"{paths}, {compression!r}",
            lambda side, _: side.records(paths, compression),
            TEXT,
            fails=True,
        )

    def fixed(rng: random.Random, _: Any) -> Drawn:
        # Of sizes that divide the file: where they do not, TensorFlow refuses what headrace reads as far as it goes.
        name, choices = rng.choice(
            [
                ("three", [(1, 0, 0), (2, 0, 0), (3, 1, 1), (14, 0, 0), (5, 4, 0)]),
                ("five", [(1, 0, 0), (3, 0, 0), (4, 1, 0), (2, 2, 1), (9, 0, 0)]),
                ("none", [(1, 0, 0), (3, 0, 0)]),
                ("absent", [(1, 0, 0), (3, 1, 1)]),
            ]
        )
        paths, sizes = [str(folder / f"{name}.txt")] * rng.randint(1, 2), rng.choice(choices)
        return drawn(
            "FixedLengthRecordDataset",
            f"{paths}, {sizes}",
            lambda side, _: side.fixed_records(paths, *sizes),
            TEXT,
            fails=True,
        )

    return [lines, csv, records, fixed]


def _defaults(side: Headrace, defaults: Any) -> Any:
    if side.name == "headrace":
        return [np.int64(7), "none"]
    tf = side.module
    return [tf.constant([7], tf.int64), tf.constant(["none"])]


def write_files(folder: Path) -> None:
    """The files that sources read."""
    (folder / "three.txt").write_text("one\ntwo\r\nthree")
    (folder / "five.txt").write_text("a\n\nb\nc\nd\n")
    (folder / "none.txt").write_text("")
    with TFRecordWriter(folder / "three.records") as writer:
        for record in (b"one", b"", b"three" * 9):
            writer.write(record)
    whole = (folder / "three.records").read_bytes()
    (folder / "three.records.gz").write_bytes(gzip.compress(whole))
    (folder / "none.records").write_bytes(b"")
    (folder / "broken.records").write_bytes(whole[:-20])
    (folder / "good.csv").write_text('1,a\n,"b,c"\n3,\n')
    (folder / "bad.csv").write_text("1,a\nx,b\n2\n3,c,d\n4,e\n")
