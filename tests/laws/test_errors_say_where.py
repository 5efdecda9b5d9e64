"""Law 6: an error says whose fault, where, and what next; what came before it is delivered first, what comes after, after."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.elements import csv_file, csv_of, text_file
from tests.laws.running import REFERENCE, Way, running, ways

import headrace as hr
from headrace.testing.restoring import delivered

HERE = Path(__file__).name


class Broken(KeyError):  # noqa: N818 - an error of some user's own
    """What the functions here raise."""


class Coded(hr.errors.DataError):
    """A class of the user's that derives from ours, with a constructor of its own."""

    def __init__(self, code: str) -> None:
        super().__init__(f"code {code}")
        self.code = code


class Unfinished(hr.errors.DataLossError):
    """Its constructor does not call ours."""

    def __init__(self, code: str) -> None:  # super().__init__ is what it leaves out
        self.code = code


@dataclasses.dataclass(frozen=True)
class Frozen(hr.errors.DataError):
    """Nobody can set its attributes."""

    code: str


class Wordless(Exception):  # noqa: N818 - as Broken
    """It cannot say what it is."""

    def __str__(self) -> str:
        raise KeyError("no words")

    __repr__ = __str__


class Empty(Exception):  # noqa: N818 - as Broken
    """It counts as false."""

    def __len__(self) -> int:
        return 0


class EmptyCoded(Coded):
    """It counts as false, and is ours."""

    def __bool__(self) -> bool:
        return False


def grouped(message: str) -> Exception:
    """Several at once."""
    return ExceptionGroup("several", [Broken(message), ValueError(message)])


# StopIteration means an end wherever Python iterates; out of a function of the user's it is an error like any other.
KINDS: list[Callable[[str], Exception]] = [
    Broken,
    StopIteration,
    Coded,
    Unfinished,
    Frozen,
    Empty,
    EmptyCoded,
    Wordless,
]
KINDS += [grouped, MemoryError, RecursionError, OSError]
_raised: list[Callable[[str], Exception]] = [Broken]


@contextlib.contextmanager
def raising(kind: Callable[[str], Exception]) -> Iterator[None]:
    """Has ``break_three`` raise another kind of exception."""
    _raised.append(kind)
    try:
        yield
    finally:
        _raised.pop()


def words_of(kind: Callable[[str], Exception]) -> str:
    """What a message says of one that is not ours, at least."""
    return {Wordless: "KeyError", Unfinished: "Unfinished", grouped: "ExceptionGroup: several"}.get(kind, "three")


def break_three(x: int, *others: Any) -> int:
    if x == 3:
        raise _raised[-1]("three")
    return x


def break_three_or_true(x: int) -> bool:
    return break_three(x) >= 0


def break_three_among(xs: np.ndarray) -> np.ndarray:
    for x in xs.tolist():
        break_three(x)
    return xs


def fail_plainly(x: int) -> int:
    raise Broken(x)


class BrokenSource:
    """Elements by number, of which one is broken."""

    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> int:
        return break_three(index)


class BrokenBatches(BrokenSource):
    """The same, many at once."""

    def __getitems__(self, indices: list[int]) -> list[int]:
        return [break_three(index) for index in indices]


BREAK_THREE_LINE = break_three.__code__.co_firstlineno


def line_of(function: Callable[..., Any]) -> str:
    return f"{HERE}:{function.__code__.co_firstlineno}"


def raised_in(error: BaseException | None) -> tuple[str, str]:
    """The file and the function in which it was raised."""
    assert error is not None
    last = traceback.extract_tb(error.__traceback__)[-1]
    return Path(last.filename).name, last.name


def first_error(dataset: hr.Dataset, way: Way) -> tuple[list[Any], hr.errors.HeadraceError, list[Any]]:
    """What came before the first error, the error, and what came after it."""
    with running(dataset, way) as iterator:
        items = list(delivered(iterator, 100))
    (place,) = [number for number, item in enumerate(items) if isinstance(item, hr.errors.HeadraceError)]
    return items[:place], items[place], items[place + 1 :]


FAILING: dict[str, tuple[Callable[[], hr.Dataset], str, str]] = {
    "map": (lambda: hr.Dataset.range(6).map(break_three), f"map 'break_three' ({HERE}:LINE)", "element 3"),
    "parallel map": (
        lambda: hr.Dataset.range(6).map(break_three, num_parallel_calls=2),
        f"map 'break_three' ({HERE}:LINE)",
        "element 3",
    ),
    "fused maps": (
        lambda: hr.Dataset.range(6).map(lambda x: x, num_parallel_calls=2).map(break_three, num_parallel_calls=2),
        f"map 'break_three' ({HERE}:LINE)",
        "element 3",
    ),
    "named map": (
        lambda: hr.Dataset.range(6).map(break_three, name="decode"),
        f"map 'decode' ({HERE}:LINE)",
        "element 3",
    ),
    "partial": (
        lambda: hr.Dataset.range(6).map(functools.partial(break_three)),
        f"map 'break_three' ({HERE}:LINE)",
        "element 3",
    ),
    "filter": (
        lambda: hr.Dataset.range(6).filter(lambda x: break_three(x) >= 0),
        "filter '<lambda>'",
        "element 3",
    ),
    "filter itself": (
        lambda: hr.Dataset.range(6).filter(break_three_or_true),
        "filter 'break_three_or_true'",
        "element 3",
    ),
    "vectorized map": (
        lambda: hr.Dataset.range(6).map(hr.vectorized(break_three_among)),
        "map 'break_three_among'",
        "element 3",
    ),
    "vectorized filter": (
        lambda: hr.Dataset.range(6).filter(hr.vectorized(lambda x: break_three_among(x) >= 0)),
        "filter '<lambda>'",
        "element 3",
    ),
    "many arguments": (
        lambda: hr.Dataset.zip(hr.Dataset.range(6), hr.Dataset.range(6)).map(break_three, num_parallel_calls=2),
        f"map 'break_three' ({HERE}:LINE)",
        "element 3",
    ),
    "take_while": (
        lambda: hr.Dataset.range(6).take_while(break_three_or_true),
        "take_while 'break_three_or_true'",
        "element 3",
    ),
    "scan": (
        lambda: hr.Dataset.range(6).scan(0, lambda total, x: (total + break_three(x), x)),
        "scan '<lambda>'",
        "element 3",
    ),
    "what on_error makes": (
        lambda: hr.Dataset.range(3, 4).map(fail_plainly, on_error=lambda error: break_three(3)),
        "map 'fail_plainly'",
        "element 0",
    ),
    "random map": (
        lambda: hr.Dataset.range(6).random_map(lambda rng, x: break_three(x)),
        "random_map '<lambda>'",
        "element 3",
    ),
    "a source's element": (
        lambda: hr.Dataset.source(BrokenSource()),
        "source 'BrokenSource.__getitem__'",
        "element 3",
    ),
    "a source's elements": (
        lambda: hr.Dataset.source(BrokenBatches()),
        "source 'BrokenBatches.__getitems__'",
        "element 3",
    ),
    "a class to resample": (
        lambda: hr.Dataset.range(6).rejection_resample(lambda x: break_three(x) * 0, [1.0], seed=1),
        "rejection_resample '<lambda>'",
        "element 3",
    ),
    "a key of groups": (
        lambda: hr.Dataset.range(6).group_by_window(lambda x: break_three(x) * 0, lambda key, group: group, 2),
        "group_by_window '<lambda>'",
        "element 3",
    ),
    "a size of groups": (
        lambda: hr.Dataset.range(6).group_by_window(
            lambda x: x, lambda key, group: group, window_size_func=lambda key: break_three(key) + 1
        ),
        "group_by_window '<lambda>'",
        "element 3",
    ),
    "a dataset of a group": (
        lambda: hr.Dataset.range(6).group_by_window(lambda x: x, lambda key, group: group.skip(break_three(key)), 1),
        "group_by_window '<lambda>'",
        "element 3",
    ),
    "a length to bucket by": (
        lambda: hr.Dataset.range(6).bucket_by_sequence_length(break_three, [9], [2, 2]),
        "group_by_window 'bucket_by_sequence_length'",
        "element 3",
    ),
    "behind a shuffle": (
        lambda: hr.Dataset.range(6).shuffle(6, seed=1).map(break_three),
        f"map 'break_three' ({HERE}:LINE)",
        "element 3",
    ),
    "above a shuffle": (
        lambda: hr.Dataset.range(6).map(break_three).shuffle(6, seed=1),
        f"map 'break_three' ({HERE}:LINE)",
        "element 3",
    ),
    "behind a filter": (
        lambda: hr.Dataset.range(12).filter(lambda x: x % 2 == 1).map(break_three),
        f"map 'break_three' ({HERE}:LINE)",
        "element 3",
    ),
    "behind a skip": (
        lambda: hr.Dataset.range(1, 9).skip(1).map(break_three),
        f"map 'break_three' ({HERE}:LINE)",
        "element 2",
    ),
    "behind a zip": (
        lambda: hr.Dataset.zip(hr.Dataset.range(6), hr.Dataset.range(6)).map(break_three),
        f"map 'break_three' ({HERE}:LINE)",
        "element 3",
    ),
    "behind an interleave": (
        lambda: hr.Dataset.range(2).interleave(lambda n: hr.Dataset.range(10 * n, 10 * n + 5)).map(break_three),
        f"map 'break_three' ({HERE}:LINE)",
        "element 3 of element 0",
    ),
    "inside an interleave": (
        lambda: hr.Dataset.range(2).interleave(lambda n: hr.Dataset.range(10 * n, 10 * n + 5).map(break_three)),
        f"map 'break_three' ({HERE}:LINE)",
        "element 3 of element 0",
    ),
    "opening an interleave": (
        lambda: hr.Dataset.range(6).interleave(lambda n: hr.Dataset.range(break_three(n), 7)),
        "interleave '<lambda>'",
        "element 3",
    ),
    "opening in parallel": (
        lambda: hr.Dataset.range(6).interleave(lambda n: hr.Dataset.range(break_three(n), 7), num_parallel_calls=2),
        "interleave '<lambda>'",
        "element 3",
    ),
    "opening a flat_map": (
        lambda: hr.Dataset.range(6).flat_map(lambda n: hr.Dataset.range(break_three(n), 7)),
        "flat_map '<lambda>'",
        "element 3",
    ),
    "behind batches": (
        lambda: hr.Dataset.range(8).batch(2).map(lambda x: break_three(x[1])),
        "map '<lambda>'",
        "elements 2 … 3",
    ),
    "behind unbatch": (
        lambda: hr.Dataset.range(8).batch(4).unbatch().map(break_three),
        f"map 'break_three' ({HERE}:LINE)",
        "a slice of elements 0 … 3",
    ),
    "behind a cache": (
        lambda: hr.Dataset.range(1, 9).skip(1).cache().map(break_three),
        f"map 'break_three' ({HERE}:LINE)",
        "element 2",
    ),
    "a file": (
        lambda: hr.TextLineDataset(csv_file(6, good=True)).map(lambda line: break_three(int(line[0]))),
        "map '<lambda>'",
        f"{Path(csv_file(6, good=True)).name}:4",
    ),
    "listed files": (
        lambda: (
            hr.Dataset.from_tensors(csv_file(6, good=True))
            .interleave(hr.TextLineDataset, num_parallel_calls=1)
            .map(lambda line: break_three(int(line[0])))
        ),
        "map '<lambda>'",
        f"{Path(csv_file(6, good=True)).name}:4",
    ),
}


@pytest.mark.parametrize("case", sorted(FAILING))
@given(kind=st.sampled_from(KINDS), way=st.one_of(st.just(REFERENCE), ways()))
def test_an_error_names_stage_line_and_element_and_chains_its_cause(
    case: str, kind: Callable[[str], Exception], way: Way
) -> None:
    build, stage, origin = FAILING[case]
    with raising(kind):
        _, error, _ = first_error(build(), way)
    made = kind("three")
    ours = isinstance(made, hr.errors.HeadraceError)
    assert type(error) is (type(made) if ours else hr.errors.DataError)
    assert error.stage is not None
    assert error.stage.startswith(stage.replace("LINE", str(BREAK_THREE_LINE)))
    assert HERE in error.stage
    assert error.origin is not None
    assert error.origin.endswith(origin)
    assert type(error.__cause__) is type(made)
    assert raised_in(error.__cause__) == (HERE, "break_three")
    assert words_of(kind) in str(error)
    assert getattr(error, "code", "three") == "three"
    assert str(error).startswith(f"{error.stage}, {error.origin}: ")


@given(st.integers(2, 12), st.data(), ways())
def test_every_error_comes_at_its_own_place_and_hides_no_element(length: int, data: st.DataObject, way: Way) -> None:
    bad = data.draw(st.sets(st.integers(0, length - 1)), label="elements that fail")

    def fragile(x: int) -> int:
        if x in bad:
            raise Broken(x)
        return x

    dataset = hr.Dataset.range(length).map(fragile, num_parallel_calls=2).prefetch(2)
    with running(dataset, way) as iterator:
        came = [item.origin if isinstance(item, hr.errors.DataError) else item for item in delivered(iterator, 99)]
    assert came == [f"element {x}" if x in bad else x for x in range(length)]


def test_an_iterator_stays_usable_after_errors_and_a_loop_ends_with_one() -> None:
    dataset = hr.Dataset.range(6).map(break_three, num_parallel_calls=2)
    seen = []
    with pytest.raises(hr.errors.DataError):
        for x in dataset:
            seen.append(x)  # noqa: PERF402 - a loop is what is tested
    assert seen == [0, 1, 2]
    with iter(dataset) as iterator:
        seen = [next(iterator) for _ in range(3)]
        with pytest.raises(hr.errors.DataError):
            iterator.get_next()
        assert list(iterator) == [4, 5]
        with pytest.raises(StopIteration):
            next(iterator)
        with pytest.raises(hr.errors.OutOfRangeError):
            iterator.get_next()


def test_the_traceback_shows_the_users_own_line() -> None:
    for calls in (None, 2):
        with pytest.raises(hr.errors.DataError) as caught:
            list(hr.Dataset.range(6).map(break_three, num_parallel_calls=calls))
        assert raised_in(caught.value.__cause__) == (HERE, "break_three")


@pytest.mark.parametrize("executor", ["thread", "inline"])
def test_headrace_errors_of_a_function_keep_their_kind_and_learn_their_place(executor: str) -> None:
    def read(x: int) -> int:
        if x == 1:
            raise hr.errors.DataLossError("a broken record")
        return x

    dataset = hr.Dataset.range(3).map(read).with_options(hr.Options(executor=executor))
    with iter(dataset) as iterator:
        assert next(iterator) == 0
        with pytest.raises(hr.errors.DataLossError, match="a broken record") as caught:
            next(iterator)
        assert caught.value.origin == "element 1"
        assert caught.value.stage == f"map '{read.__qualname__.rpartition('<locals>.')[2]}' ({line_of(read)})"
        assert list(iterator) == [2]


@given(ways())
def test_a_bad_row_names_file_line_and_column(way: Way) -> None:
    path = csv_file(7, good=False)
    with running(csv_of(path), way) as iterator:
        errors = [item for item in delivered(iterator, 99) if isinstance(item, hr.errors.HeadraceError)]
    assert [error.origin for error in errors] == [f"{path}:{line}" for line in (1, 4, 7)]
    assert all(type(error) is hr.errors.InvalidArgumentError for error in errors)
    assert "column 0" in str(errors[1])
    assert all(error.stage == "CsvDataset" for error in errors)


@given(ways())
def test_a_bad_line_and_an_absent_file_are_one_error_each(way: Way) -> None:
    path = text_file(6)
    with running(hr.TextLineDataset([path, "absent.txt", path]), way) as iterator:
        items = list(delivered(iterator, 99))
    kinds = [type(item).__name__ for item in items]
    lines = ["str"] * 3 + ["InvalidArgumentError"] + ["str"] * 2
    assert kinds == [*lines, "NotFoundError", *lines]
    assert items[3].origin == f"{path}:4"
    assert "absent.txt" in str(items[6])


@given(ways())
def test_elements_that_do_not_stack_are_named_with_component_and_shapes(way: Way) -> None:
    ragged = hr.Dataset.range(6).map(lambda x: {"a": x, "b": np.zeros(2 if x == 4 else 3)})
    before, error, after = first_error(ragged.batch(2), way)
    assert isinstance(error, hr.errors.InvalidArgumentError)
    assert (len(before), len(after)) == (2, 0)
    assert (error.stage, error.origin) == ("batch", "elements 4 … 5")
    assert "['b']" in str(error)
    assert "[2]" in str(error)
    assert "[3]" in str(error)


@given(ways(), st.integers(0, 6))
def test_a_generator_that_fails_delivers_what_came_before_and_has_ended(way: Way, count: int) -> None:
    def generate() -> Iterator[int]:
        yield from range(count)
        raise Broken("the end")

    before, error, after = first_error(hr.Dataset.from_generator(generate), way)
    assert (before, after) == (list(range(count)), [])
    assert error.origin == f"element {count}"
    assert error.stage == f"from_generator 'generate' ({line_of(generate)})"
    assert type(error.__cause__) is Broken


@pytest.mark.parametrize("executor", ["inline", "thread"])
@pytest.mark.parametrize("place", ["in the call", "in next", "in a generator"])
def test_a_stop_iteration_of_a_generator_is_an_end_only_where_python_says_so(place: str, executor: str) -> None:
    class Numbers:
        """An iterator whose own next ends it, also by the StopIteration of something else, as everywhere in Python."""

        def __init__(self) -> None:
            self.left = [0, 1, 2, 3]

        def __iter__(self) -> Iterator[int]:
            return self

        def __next__(self) -> int:
            return break_three(self.left.pop(0))

    makers: dict[str, Callable[[], Iterator[int]]] = {
        "in the call": lambda: iter([break_three(3)]),
        "in next": Numbers,
        "in a generator": lambda: (break_three(x) for x in range(5)),
    }
    options = hr.Options(executor=executor)
    dataset = hr.Dataset.from_generator(makers[place]).with_options(options)
    with raising(StopIteration), running(dataset, Way(options)) as iterator:
        came = list(delivered(iterator, 9))
    if place == "in next":
        assert came == [0, 1, 2]
        return
    *before, error = came
    assert before == ([] if place == "in the call" else [0, 1, 2])
    assert isinstance(error, hr.errors.DataError)
    assert type(error.__cause__) is RuntimeError
    assert raised_in(error.__cause__.__cause__) == (HERE, "break_three")


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_function_of_a_snapshot_or_of_saved_files_raises_is_the_cause(
    tmp_path: Path, kind: Callable[[str], Exception]
) -> None:
    numbers = hr.Dataset.range(6)
    with raising(kind):
        with pytest.raises(hr.errors.HeadraceError, match=f"'break_three'.*: .*{words_of(kind)}") as caught:
            numbers.save(tmp_path / "saved", shard_func=break_three)
        assert raised_in(caught.value.__cause__) == (HERE, "break_three")
        for executor in ("inline", "thread"):
            options = hr.Options(executor=executor)
            dataset = numbers.snapshot(tmp_path / executor, shard_func=break_three).with_options(options)
            with pytest.raises(hr.errors.HeadraceError, match=f"'break_three'.*: .*{words_of(kind)}") as caught:
                list(dataset)
            assert raised_in(caught.value.__cause__) == (HERE, "break_three")


class Unpackable:
    """An object whose own method fails where its batch is made."""

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        return np.array(break_three(3))


@pytest.mark.parametrize("kind", KINDS)
@given(way=st.one_of(st.just(REFERENCE), ways()))
def test_what_an_object_raises_where_its_batch_is_made_is_the_batchs_error(
    kind: Callable[[str], Exception], way: Way
) -> None:
    made = hr.Dataset.range(6).map(lambda x: (x, Unpackable() if x == 3 else object()), num_parallel_calls=2)
    dataset = made.batch(2)
    with raising(kind):
        before, error, after = first_error(dataset, way)
    assert (len(before), len(after)) == (1, 1)
    assert (error.stage, error.origin) == ("batch", "elements 2 … 3")
    assert f"component [1]: Unpackable.__array__ failed: {type(kind('three')).__name__}: " in str(error)
    assert raised_in(error.__cause__) == (HERE, "break_three")


class Unlookable:
    """An object whose own method fails where somebody asks what it has."""

    def __getattr__(self, name: str) -> Any:
        raise OSError(name)


class TooLarge:
    """Two of them are more than any memory holds."""

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        return np.broadcast_to(np.int8(1), (1 << 44,))


COMBINED: dict[str, Callable[[hr.Dataset], hr.Dataset]] = {
    "batch": lambda ds: ds.batch(2),
    "parallel batch": lambda ds: ds.batch(2, num_parallel_calls=2),
    "padded_batch": lambda ds: ds.padded_batch(2),
    "ragged_batch": lambda ds: ds.ragged_batch(2),
    "rebatch": lambda ds: ds.batch(1).rebatch(2),
    "window": lambda ds: ds.window(2).flat_map(lambda window: window.batch(2)),
}


@pytest.mark.parametrize("bad", [Unlookable, TooLarge])
@pytest.mark.parametrize("combine", sorted(COMBINED))
@given(way=st.one_of(st.just(REFERENCE), ways()))
def test_whatever_goes_wrong_where_a_batch_is_made_is_that_batchs_error(combine: str, bad: type, way: Way) -> None:
    made = hr.Dataset.range(6).map(lambda x: (bad(),) if x in (2, 3) else (np.zeros(1, np.int8),))
    with running(COMBINED[combine](made), way) as iterator:
        items = list(delivered(iterator, 9))
    failed = [isinstance(item, hr.errors.DataError) for item in items]
    assert (failed[0], any(failed), failed[-1]) == (False, True, False)


@given(ways())
def test_what_a_generator_yields_against_its_signature_is_named(way: Way) -> None:
    def generate() -> Iterator[Any]:
        yield from (1, "two", 3)

    before, error, after = first_error(hr.Dataset.from_generator(generate, hr.TensorSpec((), "int32")), way)
    assert (before, after) == ([1], [3])
    assert isinstance(error, hr.errors.InvalidArgumentError)
    assert error.origin == "element 1"


class NotAnException(BaseException):
    """Like Ctrl-C or SystemExit: no failure of an element."""


@pytest.mark.parametrize("calls", [None, 2])
@pytest.mark.parametrize("executor", ["thread", "inline"])
def test_what_is_no_exception_of_an_element_ends_the_run(calls: int | None, executor: str) -> None:
    def stop(x: int) -> int:
        if x == 2:
            raise NotAnException
        return x

    dataset = hr.Dataset.range(9).map(stop, num_parallel_calls=calls)
    with iter(dataset.with_options(hr.Options(executor=executor))) as iterator:
        with pytest.raises(NotAnException):
            list(iterator)
        assert list(iterator) == []
