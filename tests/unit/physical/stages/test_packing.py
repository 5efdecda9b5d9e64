"""The laws of packing, against a naive oracle, and its edges."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import optree
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.running import in_blocks_of

import headrace as hr
from headrace.blocks.columns import Columns
from headrace.blocks.payload import Rows
from headrace.elements.structure import flatten
from headrace.errors import HeadraceError, InvalidArgumentError
from headrace.physical.stages.packing_bins import open_bins
from headrace.physical.stages.packing_filling import PackedRow
from headrace.physical.stages.packing_rows import RowMaker, RowTokens, apart
from headrace.physical.stages.packing_runs import SequenceRun, run_of
from headrace.plan.fetching import Fetch
from headrace.plan.packing import Pack
from headrace.testing import check_every_restore_point
from headrace.testing.restoring import delivered, same

EXECUTORS = ("inline", "thread")
STRATEGIES = ("first_fit", "best_fit", "concat_then_split")

lengths_lists = st.lists(st.integers(0, 9), max_size=30)


def sequences_of(lengths: list[int]) -> list[np.ndarray]:
    """Sequences of these lengths, no two tokens alike."""
    ends = np.cumsum(lengths)
    return [np.arange(end - length, end) for end, length in zip(ends.tolist(), lengths, strict=True)]


def dataset_of(sequences: list[Any]) -> hr.Dataset:
    return hr.Dataset.from_generator(lambda: iter(sequences))


def rows_of(packed: hr.Dataset, executor: str = "thread") -> list[list[list[int]]]:
    """The segments of each row."""
    rows = []
    for tokens, ids, positions in packed.with_options(hr.Options(executor=executor)):
        segments = [tokens[ids == number].tolist() for number in range(1, ids.max() + 1)]
        used = sum(map(len, segments))
        assert np.array_equal(ids, np.repeat([*range(1, len(segments) + 1), 0], [*map(len, segments), len(ids) - used]))
        assert positions.tolist() == [
            *(p for segment in segments for p in range(len(segment))),
            *[0] * (len(ids) - used),
        ]
        assert ids.dtype == positions.dtype == np.int32
        assert not tokens[used:].any()
        rows.append(segments)
    return rows


def oracle(lengths: list[int], length: int, strategy: str, open_rows: int) -> list[list[list[int]]]:
    """Row by row as the definition says, with nothing but lists."""
    sequences = [sequence.tolist() for sequence in sequences_of(lengths) if len(sequence)]
    if strategy == "concat_then_split":
        marked = [(number, token) for number, sequence in enumerate(sequences) for token in sequence]
        rows = [marked[start : start + length] for start in range(0, len(marked), length)]
        return [[[t for n, t in row if n == number] for number in sorted({n for n, _ in row})] for row in rows]
    out: list[list[list[int]]] = []
    open_ones: list[list[list[int]]] = []

    def room(row: list[list[int]]) -> int:
        return length - sum(map(len, row))

    for sequence in sequences:
        fitting = [row for row in open_ones if room(row) >= len(sequence)]
        if not fitting:
            if len(open_ones) == open_rows:
                gone = min(open_ones, key=room) if strategy == "best_fit" else open_ones[0]
                open_ones.remove(gone)
                out.append(gone)
            open_ones.append([])
            fitting = [open_ones[-1]]
        row = min(fitting, key=room) if strategy == "best_fit" else fitting[0]
        row.append(sequence)
        if not room(row):
            open_ones.remove(row)
            out.append(row)
    return out + open_ones


@given(lengths_lists, st.integers(9, 14), st.sampled_from(STRATEGIES), st.integers(1, 5), st.sampled_from(EXECUTORS))
def test_every_sequence_goes_where_the_definition_says(
    lengths: list[int], length: int, strategy: Any, open_rows: int, executor: str
) -> None:
    packed = dataset_of(sequences_of(lengths)).pack(length, strategy, open_rows=open_rows)
    assert rows_of(packed, executor) == oracle(lengths, length, strategy, open_rows)


@given(st.integers(0, 2**32), st.integers(100, 300), st.sampled_from(STRATEGIES), st.integers(1, 40))
def test_many_sequences_go_where_the_definition_says(seed: int, length: int, strategy: Any, open_rows: int) -> None:
    lengths = np.random.default_rng(seed).integers(0, length, 300).tolist()
    packed = dataset_of(sequences_of(lengths)).pack(length, strategy, open_rows=open_rows)
    assert rows_of(packed) == oracle(lengths, length, strategy, open_rows)


@given(st.integers(0, 2**32), st.integers(50, 300), st.sampled_from(STRATEGIES), st.integers(1, 40))
def test_many_short_sequences_go_where_the_definition_says(
    seed: int, length: int, strategy: Any, open_rows: int
) -> None:
    random = np.random.default_rng(seed)
    lengths = random.geometric(0.1, 600).clip(0, length) * (random.random(600) < 0.9)  # most of them short, some empty
    packed = dataset_of(sequences_of(lengths.tolist())).pack(length, strategy, open_rows=open_rows)
    assert rows_of(packed) == oracle(lengths.tolist(), length, strategy, open_rows)


@pytest.mark.parametrize("strategy", STRATEGIES[:2])
@given(st.integers(0, 2**32), st.integers(1, 6))
def test_components_that_come_to_differ_in_length_go_where_the_reference_puts_them(
    strategy: Any, seed: int, open_rows: int
) -> None:
    random = np.random.default_rng(seed)
    pairs = [(tokens, tokens) for tokens in sequences_of(random.integers(0, 9, 80).tolist())]
    pairs += [(tokens, tokens[: random.integers(9)]) for tokens in sequences_of(random.integers(0, 9, 80).tolist())]
    packed = dataset_of(pairs).pack(30, strategy, open_rows=open_rows)
    expected, found = (list(packed.with_options(hr.Options(executor=executor))) for executor in EXECUTORS)
    assert len(found) == len(expected)
    assert all(map(same, found, expected))


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("length", [9, 5])
@pytest.mark.parametrize("shape", [(50, 7), (50, 7, 2), (50, 0), (50, 7, 0), (1, 3)], ids=str)
def test_sequences_that_come_in_columns_are_packed_as_others(
    strategy: Any, length: int, shape: tuple[int, ...]
) -> None:
    numbers = np.arange(np.prod(shape)).reshape(shape)
    whole: dict[str, np.ndarray] = {"x": numbers, "y": numbers.astype(np.float32)}
    rows = [{name: column[index] for name, column in whole.items()} for index in range(shape[0])]
    indices = hr.Dataset.range(shape[0]).batch(5)
    expected = list(dataset_of(rows).pack(length, strategy, open_rows=3, truncate=True))
    for dataset in (
        hr.Dataset.from_tensor_slices(whole),
        indices.map(lambda chosen: {name: column[chosen] for name, column in whole.items()}).unbatch(),
    ):
        found = list(dataset.pack(length, strategy, open_rows=3, truncate=True))
        assert len(found) == len(expected)
        assert all(map(same, found, expected))
        for row in found:
            row["x"][:] = -1  # the receiver's own
    assert (numbers.ravel() == np.arange(numbers.size)).all()


DTYPES = ("bool", "int8", "int32", ">i4", "float16", "float64", "complex128", "M8[s]", "S3", "U2")
# How an array may lie in memory.
LAYOUTS: dict[str, Any] = {
    "in one piece": lambda array: array,
    "every other": lambda array: np.repeat(array, 2, axis=0)[::2],
    "backwards": lambda array: array[::-1],
    "by columns": np.asfortranarray,
}
FORMS: dict[str, Any] = {
    "yielded": lambda arrays: hr.Dataset.from_generator(lambda: iter(arrays)),
    "in a list": hr.Dataset.source,
    "mapped": lambda arrays: hr.Dataset.range(len(arrays)).map(arrays.__getitem__),
    "in pairs": lambda arrays: hr.Dataset.from_generator(lambda: ((one, one[: len(one) // 2]) for one in arrays)),
}


@pytest.mark.parametrize("form", FORMS)
@given(
    st.sampled_from(DTYPES),
    st.sampled_from([(), (3,), (2, 2), (0,), (600,)]),
    st.sampled_from(STRATEGIES[:2]),
    st.booleans(),
    st.booleans(),
    st.integers(0, 2**32),
)
def test_sequences_of_any_kind_are_packed_as_the_reference_packs_them(
    form: str, dtype: str, shape: tuple[int, ...], strategy: Any, is_shuffled: bool, is_cut: bool, seed: int
) -> None:
    random = np.random.default_rng(seed)
    # Some are longer than what is copied as it comes, others shorter; of the last dozen each looks like none before.
    lengths = [*random.integers(0, 12, 40), *random.integers(0, 900, 8), *random.integers(0, 12, 12)]
    layouts = random.choice(sorted(LAYOUTS), 60)
    arrays = [
        LAYOUTS[layout](random.integers(0, 2, (length, *shape)).astype(dtype))
        for length, layout in zip(lengths, layouts, strict=True)
    ]
    packed = FORMS[form](arrays).pack(300 if is_cut else 900, strategy, open_rows=3, truncate=is_cut)
    if is_shuffled:  # rows wait by themselves
        packed = packed.shuffle(4, seed=1, reshuffle_each_iteration=False)
    expected, found = (list(packed.with_options(hr.Options(executor=executor))) for executor in EXECUTORS)
    assert len(found) == len(expected)
    assert all(map(same, found, expected))


@given(lengths_lists, st.integers(1, 14), st.sampled_from(STRATEGIES), st.integers(1, 5))
def test_every_token_appears_once_and_in_order_and_no_row_is_too_long(
    lengths: list[int], length: int, strategy: Any, open_rows: int
) -> None:
    sequences = sequences_of(lengths)
    rows = rows_of(dataset_of(sequences).pack(length, strategy, open_rows=open_rows, truncate=True))
    segments = [segment for row in rows for segment in row]
    assert all(sum(map(len, row)) <= length for row in rows)
    if strategy == "concat_then_split":
        assert [token for segment in segments for token in segment] == list(range(sum(lengths)))
        assert all(sum(map(len, row)) == length for row in rows[:-1])
    else:
        assert sorted(segments) == [sequence.tolist()[:length] for sequence in sequences if len(sequence)]


@given(lengths_lists, st.sampled_from(STRATEGIES), st.integers(1, 3))
def test_components_stay_together(lengths: list[int], strategy: Any, open_rows: int) -> None:
    sequences = sequences_of(lengths)
    data = [{"ids": one, "weights": one.astype(np.float32)} for one in sequences]
    alone = list(dataset_of(sequences).pack(10, strategy, open_rows=open_rows))
    rows = list(dataset_of(data).pack(10, strategy, open_rows=open_rows, padding_value={"ids": 0, "weights": -1}))
    for row, (tokens, ids, positions) in zip(rows, alone, strict=True):
        names = ["ids", "weights"]
        assert list(row) == names + [f"{name}_{what}" for what in ("segment_ids", "positions") for name in names]
        assert same((row["ids"], row["ids_segment_ids"], row["ids_positions"]), (tokens, ids, positions))
        assert same((row["weights_segment_ids"], row["weights_positions"]), (ids, positions))
        assert same(row["weights"], np.where(ids > 0, tokens, -1).astype(np.float32))


@pytest.mark.parametrize("executor", EXECUTORS)
def test_components_of_two_lengths_share_a_row_only_where_both_have_room(executor: str) -> None:
    pairs = [(np.full(a, i), np.full(b, i)) for i, (a, b) in enumerate([(2, 1), (1, 3), (1, 1), (0, 1)], 1)]
    packed = dataset_of(pairs).pack((4, 3)).with_options(hr.Options(executor=executor))
    rows = [[leaf.tolist() for part in row for leaf in part] for row in packed]
    assert rows == [
        [[1, 1, 3, 0], [1, 3, 4], [1, 1, 2, 0], [1, 2, 3], [0, 1, 0, 0], [0, 0, 0]],
        [[2, 0, 0, 0], [2, 2, 2], [1, 0, 0, 0], [1, 1, 1], [0, 0, 0, 0], [0, 1, 2]],
    ]


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_tokens_may_be_arrays_of_no_number(executor: str, strategy: Any) -> None:
    packed = dataset_of([np.zeros((2, 0, 3)), np.zeros((1, 0, 3))]).pack(4, strategy)
    (row,) = packed.with_options(hr.Options(executor=executor))
    assert (row[0].shape, row[1].tolist()) == ((4, 0, 3), [1, 1, 2, 0])


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_unlike_sequences_never_share_a_row(strategy: Any) -> None:
    mixed = [np.arange(2), np.arange(2, dtype=np.float32), np.zeros((2, 3)), np.zeros((1, 4))]
    kinds = [(tokens.dtype.name, tokens.shape) for tokens, _, _ in dataset_of(mixed).pack(4, strategy)]
    assert kinds == [("int64", (4,)), ("float32", (4,)), ("float64", (4, 3)), ("float64", (4, 4))]


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("strategy", STRATEGIES[:2])
def test_a_sequence_longer_than_a_row_fails_in_its_place_or_is_cut(executor: str, strategy: Any) -> None:
    dataset = dataset_of(sequences_of([3, 5, 1])).with_options(hr.Options(executor=executor))
    with iter(dataset.pack(4, strategy)) as rows:
        with pytest.raises(
            InvalidArgumentError, match=r"element 1.* 5 tokens is longer than a row of 4.*truncate=True"
        ):
            next(rows)
        assert next(rows)[0].tolist() == [0, 1, 2, 8]
    assert rows_of(dataset.pack(4, strategy, truncate=True)) == [[[3, 4, 5, 6]], [[0, 1, 2], [8]]]


@pytest.mark.parametrize("executor", EXECUTORS)
def test_what_is_no_sequence_fails_and_nothing_else_is_lost(executor: str) -> None:
    mixed = [np.arange(2), 7, (), np.arange(2)]
    packed = dataset_of(mixed).pack(4).with_options(hr.Options(executor=executor))
    with iter(packed) as iterator:
        found = list(delivered(iterator, 9))
    assert [isinstance(one, HeadraceError) for one in found] == [True, True, False]
    assert found[-1][0].tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize("executor", EXECUTORS)
def test_components_that_are_cut_at_the_same_places_must_be_equally_long(executor: str) -> None:
    pairs = dataset_of([(np.arange(2), np.arange(3))]).pack(4, "concat_then_split")
    with pytest.raises(InvalidArgumentError, match="cannot be cut at the same places"):
        list(pairs.with_options(hr.Options(executor=executor)))


@pytest.mark.parametrize("executor", EXECUTORS)
def test_strings_can_be_packed(executor: str) -> None:
    words = (
        hr.Dataset.from_tensors(["a", "b"])
        .repeat(2)
        .pack(5, padding_value="")
        .with_options(hr.Options(executor=executor))
    )
    assert [row[0].tolist() for row in words] == [["a", "b", "a", "b", ""]]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("length", [2, 9])  # of which a sequence fills many, or is a part
def test_every_state_of_packing_goes_on_everywhere(executor: str, strategy: Any, length: int) -> None:
    dataset = (
        hr.Dataset.range(40)
        .shuffle(9, seed=2)
        .map(lambda n: np.arange(n % 8) if n != 13 else 1 // 0)
        .pack(length, strategy, open_rows=3, truncate=True)
    )
    assert check_every_restore_point(dataset.with_options(hr.Options(executor=executor)), executors=EXECUTORS) > 9


def test_a_state_holds_no_tokens() -> None:
    sequences = dataset_of([np.arange(1_000)] * 20)
    with iter(sequences.pack(1_999, open_rows=4)) as iterator:
        next(iterator)
        assert len(str(iterator.state_dict())) < 1_000


@pytest.mark.parametrize(
    ("arguments", "named", "message"),
    [
        ((0,), {}, "length must be at least 1"),
        (({},), {}, "length must be at least 1"),
        ((4, "next_fit"), {}, "strategy must be one of"),
        ((4,), {"open_rows": 0}, "open_rows must be at least 1"),
        (((4, 5), "concat_then_split"), {}, "need the same length"),
        (((4, 5),), {}, "another structure"),
    ],
)
def test_what_cannot_be_packed_is_refused_at_once(arguments: Any, named: Any, message: str) -> None:
    rows = hr.Dataset.from_tensor_slices(np.zeros((3, 2)))
    with pytest.raises(InvalidArgumentError, match=message):
        rows.pack(*arguments, **named)


def test_a_known_scalar_is_refused_at_once_and_a_known_row_has_its_spec() -> None:
    with pytest.raises(InvalidArgumentError, match="a scalar cannot be packed"):
        hr.Dataset.range(3).pack(4)
    rows = hr.Dataset.from_tensor_slices({"x": np.zeros((3, 2), np.int16)}).pack(4)
    numbers = hr.TensorSpec((4,), np.int32)
    assert rows.element_spec == {
        "x": hr.TensorSpec((4,), np.int16),
        "x_segment_ids": numbers,
        "x_positions": numbers,
    }


def test_a_name_that_is_taken_is_said() -> None:
    with pytest.raises(InvalidArgumentError, match="leave room"):
        hr.Dataset.from_tensors({"x": [1], "x_positions": [1]}).pack(4)


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(lengths=st.lists(st.integers(1, 6), min_size=20, max_size=200), batch_size=st.integers(1, 64))
def test_a_failing_function_names_the_sequences_of_its_row_however_many_rows_are_made_at_once(
    strategy: Any, lengths: list[int], batch_size: int
) -> None:
    def refuse(tokens: np.ndarray, *_: np.ndarray) -> None:
        raise ValueError(f"no row {tokens.tolist()}")

    packed = dataset_of(sequences_of(lengths)).pack(8, strategy=strategy, open_rows=3).map(refuse).batch(batch_size)
    words = []
    for executor in EXECUTORS:
        iterator = iter(packed.with_options(hr.Options(executor=executor)))
        words.append([str(error) for error in delivered(iterator, 2_000) if isinstance(error, Exception)])
    assert words[0] == words[1]
    assert words[0]


def full_rows(count: int, tokens: int) -> hr.Dataset:
    """Sequences, each of which fills a row, that come from a generator."""
    return hr.Dataset.from_generator(lambda: (np.full(tokens, number) for number in range(count)))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_positions_that_are_kept_keep_no_tokens(strategy: Any) -> None:
    tokens = 1 << 17  # a mebibyte of int64
    bookmarks = []
    with in_blocks_of([1], full_rows(24, tokens).pack(tokens, strategy, open_rows=1)) as iterator:
        next(iterator)
        tracemalloc.start()
        try:
            for _ in range(20):
                next(iterator)
                bookmarks.append(iterator.bookmark())
            held, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    # A few rows are in hand, each with its ids and its positions; of twenty sequences there is nothing.
    assert held < 12 * 8 * tokens
    assert len({str(bookmark()) for bookmark in bookmarks}) == len(bookmarks)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_no_more_is_read_for_a_row_than_fills_all_that_may_be_open(strategy: Any) -> None:
    begun = []

    def sequences() -> Iterator[np.ndarray]:
        for number in range(10_000):
            begun.append(number)
            yield np.full(3, number)

    with iter(hr.Dataset.from_generator(sequences).pack(10, strategy, open_rows=4)) as iterator:
        next(iterator)
    # A row has room for three and a third: about 17 fill the row that goes out and four beside it, where four are open; else 4. The
    # generator reads one ahead.
    assert len(begun) <= (6 if strategy == "concat_then_split" else 19)


def test_rows_of_streams_are_made_where_they_are_batched() -> None:
    made: list[int] = []
    sequences = sequences_of([5, 3, 2, 7, 1, 4, 6] * 60)
    columns = RowMaker.columns

    def counted(maker: RowMaker, parts: Sequence[RowTokens]) -> Columns:
        made.append(len(parts))
        return columns(maker, parts)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RowMaker, "columns", counted)
        dealt = hr.Dataset.source(sequences).pack(8, open_rows=2).distributed_batch(16, num_streams=8, steps=6)
        batches = list(dealt)
    assert len(batches) == 6
    # Of 16 rows each, or of several batches at once; never of a stream's part.
    assert made
    assert all(rows % 16 == 0 for rows in made)


class Single:
    """Refuses the tokens of several rows at once."""

    def __init__(self, tokens: Any) -> None:
        if np.ndim(tokens) > 1 and len(tokens) > 1:
            raise ValueError("more than one row")
        self.tokens = tokens


register: Any = optree.register_pytree_node  # whose types know collections alone
register(Single, lambda one: ((one.tokens,), None), lambda _, parts: Single(*parts), namespace="headrace")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_rows_that_a_class_refuses_together_are_made_one_by_one(strategy: Any) -> None:
    rows = [one.tokens.tolist() for one, *_ in dataset_of([Single(np.arange(4))] * 30).pack(4, strategy)]
    assert rows == [[0, 1, 2, 3]] * 30


def tracked(row: PackedRow) -> int:
    """How many objects the collector of garbage visits for a row."""
    found: dict[int, object] = {}
    new: list[object] = [row]
    while new:
        found |= {id(one): one for one in new}
        referents = gc.get_referents(*new)
        new = [one for one in referents if id(one) not in found and isinstance(one, (list, tuple))]
    return len(found)


def test_a_row_is_as_many_objects_however_many_sequences_it_has() -> None:
    node = hr.Dataset.source([np.arange(3)]).pack(60)._plan
    assert isinstance(node, Pack)
    run = run_of(node, Rows([np.arange(3) for _ in range(20)]), 0)
    assert isinstance(run, SequenceRun)
    row = PackedRow(run, run.kind, 0, is_even=True)
    row.add(run, 0, 2, 54)
    before = tracked(row)
    for start in range(3, 20, 3):
        row.add(run, start, start + 2, row.total - 6)
    assert (tracked(row), len(row.sequences)) == (before, 14)
    tokens = apart(row.taken())
    for _ in range(3):  # each finds one more level of tuples
        gc.collect()
    assert [gc.is_tracked(one) for one in (row, row.bounds, tokens)] == [True, False, False]


@pytest.mark.parametrize("components", [1, 2])
def test_rows_keep_nothing_alive_that_is_not_theirs(components: int) -> None:
    # Of each run one sequence is in a row that stays open, and all others fill rows in pairs.
    run = [np.arange(length, dtype=np.int32) for length in (51, *[50] * 98)]
    node = hr.Dataset.source([run[0]]).pack(100, "best_fit")._plan
    assert isinstance(node, Pack)
    bins = open_bins(node)
    for first in range(0, 99 * 40, 99):
        sequences = run_of(node, Rows([(tokens,) * components for tokens in run]), first)
        assert isinstance(sequences, SequenceRun)
        at = 0
        while at < len(sequences):
            at = bins.take(sequences, at, [], 5)
        tokens = {id(one): one for one in flatten(list(bins.sequences))[0]}
        assert {type(one) for one in tokens.values()} == {bytes}
        assert sum(map(len, tokens.values())) == bins.nbytes
    assert bins.count > 30


ODD = [
    np.float64(3),
    np.arange(3.0),
    np.zeros((2, 2), int),
    np.arange(99),
    "text",
    [1, 2],
    None,
    np.ma.array([1, 2], mask=[False, True]),
]


@pytest.mark.parametrize("odd", [[], *([one] for one in ODD), ODD], ids=str)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_documents_that_a_list_holds_are_packed_as_others(strategy: Any, odd: list[Any]) -> None:
    documents: list[Any] = [np.arange(number % 7) for number in range(100)]
    documents[40:40] = odd
    for held in (documents, tuple(documents)):
        shuffled = hr.Dataset.source(held).shuffle(len(held), seed=1, reshuffle_each_iteration=False)
        dataset = shuffled.pack(20, strategy, truncate=True)
        both = []
        for executor in EXECUTORS:
            with iter(dataset.with_options(hr.Options(executor=executor))) as iterator:
                both.append(list(delivered(iterator, 200)))
        assert len(both[0]) == len(both[1])
        assert all(map(same, *both))
    assert all(document.tolist() == [*range(len(document))] for document in documents[:40])


def test_documents_that_a_list_holds_are_fetched_without_a_call_for_each() -> None:
    called = []
    fetch = Fetch.__call__

    def counted(self: Fetch, index: int) -> Any:
        called.append(index)
        return fetch(self, index)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Fetch, "__call__", counted)
        assert len(list(hr.Dataset.source([np.arange(5)] * 500).pack(10))) == 250
        assert not called
        assert len(list(hr.Dataset.source([np.arange(5)] * 500).batch(2))) == 250
        assert called


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_documents_that_a_generator_fills_again_are_packed_as_they_were(strategy: Any) -> None:
    lengths = np.random.default_rng(0).integers(1, 40, 500).tolist()

    def generate() -> Iterator[np.ndarray]:
        memory = np.zeros(40, np.int64)
        for number, length in enumerate(lengths):
            memory[:] = number
            yield memory[:length]

    packed = hr.Dataset.from_generator(generate).pack(64, strategy)
    expected = hr.Dataset.source([np.full(length, number) for number, length in enumerate(lengths)]).pack(64, strategy)
    found, wanted = list(packed), list(expected)
    assert len(found) == len(wanted)
    assert all(map(same, found, wanted))


@pytest.mark.parametrize("components", [1, 2])
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(("lengths", "steps"), [("random", 10), ("alike, with the last row of each stream", 12)])
def test_rows_that_wait_in_streams_are_those_of_the_reference(
    lengths: str, steps: int, strategy: Any, components: int
) -> None:
    drawn = np.random.default_rng(3).integers(0, 12, 400) if lengths == "random" else [5] * 400
    documents = [np.arange(length) for length in drawn]
    pairs = documents if components == 1 else [(tokens, tokens % 2 == 0) for tokens in documents]
    shuffled = hr.Dataset.source(pairs).shuffle(400, seed=1, reshuffle_each_iteration=False)
    row = 21 if strategy == "concat_then_split" else 22  # of four whole documents and of some more of a cut one
    dealt = shuffled.pack(row, strategy, open_rows=3).distributed_batch(8, num_streams=4, steps=steps)
    both = []
    for executor in EXECUTORS:
        options = hr.Options(executor=executor, rank=1, world_size=2)
        with iter(dealt.with_options(options)) as iterator:
            both.append([[leaf.tolist() for leaf in flatten(batch)[0]] for batch in iterator])
    assert both[0] == both[1]
    assert len(both[0]) == steps
