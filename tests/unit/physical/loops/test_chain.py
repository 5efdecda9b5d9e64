"""Chains of functions as one loop: what is counted, where it stops, what it knows, and where what goes on is told from."""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import attrs
import numpy as np
import pytest
from tests.cases.structures import Sample

import headrace as hr
from headrace.blocks.block import Block, Failure
from headrace.blocks.columns import Columns
from headrace.blocks.cursor import IndexCursor
from headrace.blocks.origin import IndexOrigin
from headrace.blocks.payload import Rows
from headrace.iterator import DatasetIterator
from headrace.physical.loop_policy import LoopPolicy
from headrace.physical.loops.chain import Chain
from headrace.physical.loops.one_pass import Tally
from headrace.physical.run_policy import RunPolicy
from headrace.plan.elementwise import Enumerate, Filter, Map
from headrace.testing.restoring import delivered, same

SOURCE = hr.Dataset.range(1).__headrace_plan__()
POLICIES = [
    LoopPolicy(probed=0),
    LoopPolicy(probed=1),
    LoopPolicy(probed=1, patience_s=0.0, rows_a_look=1),
    LoopPolicy(probed=2, every=2),
    LoopPolicy(probed=99, every=1),
]
each_policy = pytest.mark.parametrize("policy", POLICIES, ids=str)


def mapped(function: Callable[..., Any]) -> Map:
    return Map(input=SOURCE, function=function)


def kept(predicate: Callable[..., Any]) -> Filter:
    return Filter(input=SOURCE, predicate=predicate)


def block_of(rows: Iterable[Any], start: int = 0) -> Block:
    payload = Rows(list(rows))
    return Block(payload, IndexCursor(start), IndexOrigin(range(start, start + len(payload))))


def through(chain: Chain, rows: Iterable[Any]) -> tuple[list[Any], int, Tally]:
    """What becomes of rows, the first in blocks of one each: so what is learned of them holds for the others."""
    tally = Tally.of(len(chain.links))
    made: list[Any] = []
    done = 0
    remaining = iter(rows)
    for size in (1, 1, 1, None):
        block = block_of(itertools.islice(remaining, size), done)
        if len(block):
            pieces, through = chain.run(block, (5 + done,), tally, 0.0, in_worker=True)
            done += through
            for piece in pieces:
                made += piece.payload.rows() if isinstance(piece, Block) else [str(piece.error)]
        del block
    return made, done, tally


def read(dataset: hr.Dataset, policy: LoopPolicy) -> tuple[list[Any], hr.DatasetIterator]:
    iterator = DatasetIterator(dataset.__headrace_plan__(), policy=RunPolicy(loops=policy))
    return list(delivered(iterator, 10_000)), iterator


def odd_one_fails(x: int) -> int:
    if x == 5:
        raise ValueError("five")
    return x


@each_policy
def test_each_operation_counts_what_it_let_through_and_no_failure(policy: LoopPolicy) -> None:
    dataset = (
        hr.Dataset.range(10)
        .map(lambda x: x + 1)
        .filter(lambda x: x % 4 != 0)  # without 4 and 8
        .map(odd_one_fails)  # without 5
        .filter(lambda x: x > 2)  # without 1 and 2
        .map(lambda x: -x)
    )
    elements, iterator = read(dataset, policy)
    assert [stage.elements for stage in iterator.stats().stages] == [10, 10, 8, 7, 5, 5]
    assert [element for element in elements if isinstance(element, int)] == [-3, -6, -7, -9, -10]


@each_policy
def test_the_time_of_a_chain_is_that_of_its_operations_together(policy: LoopPolicy) -> None:
    dataset = hr.Dataset.range(300).map(lambda x: x).map(lambda x: sum(range(x))).filter(lambda _: True)
    _, iterator = read(dataset, policy)
    stats = iterator.stats()
    assert all(stage.busy_s > 0 for stage in stats.stages)
    assert sum(stage.busy_s for stage in stats.stages) <= stats.elapsed_s


@each_policy
@pytest.mark.parametrize("where", [0, 1, 2, 3])
def test_a_failure_is_told_of_the_link_and_the_element_on_which_it_came(policy: LoopPolicy, where: int) -> None:
    functions: list[Callable[[int], Any]] = [lambda x: x, lambda _: True, lambda x: x, lambda _: True]
    functions[where] = odd_one_fails if where in (0, 2) else lambda x: odd_one_fails(x) is not None
    nodes = [mapped(function) if where in (0, 2) else kept(function) for where, function in enumerate(functions)]
    made, done, tally = through(Chain(nodes, policy), range(9))
    assert done == 9
    assert made[:5] + made[6:] == [0, 1, 2, 3, 4, 6, 7, 8]
    assert made[5].startswith(f"{nodes[where].label}, element 5: ValueError: five")
    assert tally.passed == [9] * where + [8] * (4 - where)


@each_policy
def test_each_result_of_another_kind_than_the_ones_before_is_what_it_is(policy: LoopPolicy) -> None:
    kinds: list[Any] = [
        1,
        2.0,
        "text",
        None,
        (1, 2),
        (1, 2.0),
        (1,),
        {"a": 1},
        {"b": 1},
        {"a": 1, "b": 2},
        [1, 2],
        [[3]],
    ]
    kinds += [np.float32(1), np.str_("text"), b"bytes", True, ((1, 2), 3), ({"a": (1,)}, 2), 1 << 80]
    for order in (kinds, kinds[::-1], [*kinds, *kinds], [kind for kind in kinds for _ in range(6)]):
        chain = Chain([mapped(lambda x, order=order: order[x]), kept(lambda *_: True), mapped(lambda *x: x)], policy)
        made, _, tally = through(chain, range(len(order)))
        assert tally.passed == [len(order)] * 3
        wanted = list(
            hr.Dataset.range(len(order))
            .map(lambda x, order=order: order[x])
            .map(lambda *x: x)
            .with_options(hr.Options(executor="inline"))
        )
        assert list(map(repr, made)) == list(map(repr, wanted))


@each_policy
def test_a_filter_drops_elements_of_which_every_one_is_of_a_surprising_kind(policy: LoopPolicy) -> None:
    chain = Chain([mapped(lambda x: x if x < 3 else str(x)), kept(lambda x: isinstance(x, int))], policy)
    assert through(chain, range(9))[0] == [0, 1, 2]


@each_policy
def test_enumerate_numbers_by_the_place_in_the_block_also_after_failures(policy: LoopPolicy) -> None:
    enumerated = Enumerate(input=SOURCE, start=5)
    chain = Chain([mapped(odd_one_fails), enumerated, kept(lambda _, x: x != 2), mapped(lambda i, x: (i, x))], policy)
    made, _, _ = through(chain, range(8))
    made.pop(4)  # the failure
    assert made == [(5, 0), (6, 1), (8, 3), (9, 4), (11, 6), (12, 7)]


@each_policy
def test_what_a_function_keeps_no_later_function_of_the_chain_changes(policy: LoopPolicy) -> None:
    table = np.zeros(3)
    pair = (table, 1)
    whole = {"x": table}

    def adds(array: np.ndarray, *_: Any) -> np.ndarray:
        array += 1
        return array

    for keeps, changes in ((lambda _: table, adds), (lambda _: pair, adds), (lambda _: whole, lambda d: adds(d["x"]))):
        made, _, _ = through(Chain([mapped(keeps), mapped(changes)], policy), range(9))
        assert [array.tolist() for array in made] == [[1.0] * 3] * 9
        assert not table.any()


@each_policy
def test_each_predicate_gets_what_none_before_it_has_changed(policy: LoopPolicy) -> None:
    def spoils(element: dict[str, Any]) -> bool:
        assert element.pop("x") is not None
        return True

    rows = [{"x": np.arange(2)} for _ in range(5)]
    chains: list[list[Map | Filter | Enumerate]] = [
        [kept(spoils), kept(spoils), kept(spoils)],
        [mapped(dict), kept(spoils), kept(spoils)],
        [kept(spoils), kept(spoils), mapped(dict)],
    ]
    for nodes in chains:
        made, _, _ = through(Chain(nodes, policy), rows)
        assert [list(row) for row in made] == [["x"]] * 5


def test_a_loop_whose_time_has_come_hands_on_what_it_has_made() -> None:
    chain = Chain(
        [mapped(lambda x: x), kept(lambda x: x % 2 == 0)], LoopPolicy(probed=0, patience_s=0.0, rows_a_look=4)
    )
    pieces, done = chain.run(block_of(range(1000)), (), Tally.of(2), 0.0)
    (piece,) = pieces
    assert isinstance(piece, Block)
    assert (done, piece.payload.rows(), piece.after.state()) == (4, [0, 2], {"index": 4})


def test_a_loop_whose_time_has_come_does_not_wait_for_elements_that_fail() -> None:
    chain = Chain([mapped(lambda x: 1 // max(x - 5, 0))], LoopPolicy(probed=0, patience_s=0.0, rows_a_look=100))
    pieces, done = chain.run(block_of(range(1000)), (), Tally.of(1), 0.0)
    assert (done, list(map(type, pieces))) == (1, [Failure])


def test_a_chain_goes_on_where_its_time_had_come() -> None:
    dataset = hr.Dataset.range(50).map(lambda x: x).enumerate().map(lambda i, x: (i, x)).filter(lambda i, _: i % 3 > 0)
    elements, _ = read(dataset, LoopPolicy(probed=0, patience_s=0.0, rows_a_look=3))
    assert elements == [(number, number) for number in range(50) if number % 3]


@each_policy
def test_a_filter_of_which_little_is_left_reads_no_more_than_it_needs_from_what_costs(policy: LoopPolicy) -> None:
    asked: list[int] = []

    def noted(x: int) -> int:
        asked.append(x)
        return x

    first = list(itertools.islice(iter(hr.Dataset.range(100_000).map(noted).filter(lambda x: x % 2 == 0).take(5)), 5))
    assert first == [0, 2, 4, 6, 8]
    assert len(asked) <= 20


def test_who_hangs_in_a_generated_loop_is_told_with_its_operation_and_element() -> None:
    asked, answer = threading.Event(), threading.Event()

    def hangs(x: int) -> bool:
        if x == 70:
            asked.set()
            assert answer.wait(30)
        return True

    makes: list[Callable[[hr.Dataset], hr.Dataset]] = [
        lambda ds: ds.map(lambda x: x).filter(hangs).map(lambda x: x),
        lambda ds: ds.map(lambda x: x).map(lambda x: (x, x)).map(lambda x, _: hangs(x)),
    ]
    for make in makes:
        asked.clear()
        answer.clear()
        policy = RunPolicy(loops=LoopPolicy(probed=1))
        with DatasetIterator(make(hr.Dataset.range(100)).__headrace_plan__(), policy=policy) as iterator:
            reader = threading.Thread(target=lambda iterator=iterator: list(iterator), daemon=True)
            reader.start()
            assert asked.wait(30)
            (stall,) = iterator.stalls()
            answer.set()
            reader.join(30)
            assert not reader.is_alive()
        assert stall.origin == "element 70"
        assert ", in hangs\n" in stall.stack


def test_a_failure_carries_who_failed() -> None:
    node = mapped(odd_one_fails)
    pieces = Chain([mapped(lambda x: x), node], POLICIES[0]).make(block_of(range(9)))
    *_, last = pieces
    assert isinstance(last, Block)
    assert (last.cursor.state(), last.origin.describe(0), last.payload.rows()) == ({"index": 6}, "element 6", [6, 7, 8])
    (failure,) = (piece for piece in pieces if isinstance(piece, Failure))
    assert failure.by is node
    assert (failure.cursor.state(), failure.after.state()) == ({"index": 5}, {"index": 6})


@attrs.define(slots=False)
class Measured:
    x: Any
    y: Any = 0


KEPT: list[Any] = []


def keeps(value: Any) -> Any:
    KEPT.append(value)
    return value


PASSING: dict[str, tuple[Callable[[], Any], Callable[..., Any]]] = {
    "a dict with one more": (lambda: {"x": np.zeros(2), "y": 1}, lambda row: {**row, "z": 2}),
    "a dict with other keys": (lambda: {"x": np.zeros(2), "y": np.ones(3)}, lambda row: {"b": row["x"], "a": row["y"]}),
    "a tuple in another order": (lambda: (1, np.zeros(2)), lambda number, array: (array, number)),
    "a part of a tuple": (lambda: (1, np.zeros(2)), lambda _, array: array),
    "an array": (lambda: np.zeros(2), lambda array: array),
    "an array in a tuple": (lambda: np.zeros(2), lambda array: (array, 1)),
    "a dataclass": (lambda: {"x": np.zeros(2), "y": 1}, lambda row: Sample(row["x"])),
    "an attrs class in a dataclass": (lambda: np.zeros(2), lambda array: Sample(Measured(1, 2), array)),
    "an array and a new one": (lambda: np.zeros(2), lambda array: {"old": array, "new": array + 1}),
    "the dict itself": (lambda: {"x": np.zeros(2), "y": np.ones(3)}, lambda row: row),
}
# Who has what lies in a tuple or dict of the row's is not counted, where results are looked at one by one.
DEEPER: dict[str, tuple[Callable[[], Any], Callable[..., Any]]] = {
    "a dict of a tuple": (lambda: (1, {"x": np.zeros(2), "y": 1}), lambda _, row: row),
    "a dict in a tuple": (lambda: ({"x": np.zeros(2), "y": 1}, 1), lambda row, number: (number, row)),
    "a tuple of a tuple": (lambda: (1, (np.zeros(2), np.ones(3))), lambda _, pair: pair),
    "a dict in a dict": (lambda: {"a": {"x": np.zeros(2)}, "b": 1}, lambda row: {"c": row["a"], "b": row["b"]}),
}


def addresses_in(value: Any) -> set[int]:
    return {array.__array_interface__["data"][0] for array in arrays_in(value)}


def arrays_in(value: Any) -> list[np.ndarray]:
    if isinstance(value, np.ndarray):
        return [value]
    value = vars(value) if isinstance(value, Sample) else value
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else ()
    return [array for part in parts for array in arrays_in(part)]


def keeps_arrays(value: Any) -> Any:
    KEPT.extend(arrays_in(value))
    return value


def keeps_views(value: Any) -> Any:
    KEPT.extend(array[:] for array in arrays_in(value))
    return value


def addresses_through(chain: Chain, make: Callable[[], Any]) -> tuple[set[int], list[Any]]:
    """The addresses of arrays that nobody else holds, and what becomes of them."""
    given: set[int] = set()

    def rows() -> Iterator[Any]:
        for _ in range(40):
            row = make()
            given.update(addresses_in(row))
            yield row
            del row

    made, _, _ = through(chain, rows())
    return given, made


def nosy(function: Callable[..., Any], keep: Callable[[Any], Any]) -> Map:
    """A map that keeps something of what it is given."""
    return mapped(lambda *row: function(*map(keep, row)))


@each_policy
@pytest.mark.parametrize("case", sorted(PASSING | DEEPER))
def test_an_array_of_the_row_passes_uncopied_unless_somebody_keeps_it(policy: LoopPolicy, case: str) -> None:
    make, function = (PASSING | DEEPER)[case]
    before = [mapped(lambda *row: row[0] if len(row) == 1 else row)]
    for nodes in ([], before):
        given, made = addresses_through(
            Chain([*nodes, mapped(function)], LoopPolicy(probed=policy.probed, every=99)), make
        )
        assert addresses_in(made[-1]) & given or (case in DEEPER and policy.probed in (0, 99))
        for keep in (keeps, keeps_arrays, keeps_views):
            given, made = addresses_through(Chain([*nodes, nosy(function, keep)], policy), make)
            assert not any(addresses_in(row) & given for row in made)
            KEPT.clear()


def test_once_it_is_known_whence_arrays_come_and_what_comes_as_a_list_no_result_is_a_surprise() -> None:
    listed: tuple[Callable[[], Any], Callable[..., Any]] = (int, lambda x: [x, str(x)])
    for make, function in [*PASSING.values(), *DEEPER.values(), listed]:
        chain = Chain([mapped(function)], LoopPolicy(probed=1))
        for _ in range(3):  # in a loop that others have generated, link by link, and in one that knows more
            through(chain, (make() for _ in range(40)))
        before = chain.learned.surprises
        through(chain, (make() for _ in range(40)))
        assert chain.learned.surprises == before


@each_policy
def test_objects_with_more_than_their_fields_are_refused_as_by_the_reference(policy: LoopPolicy) -> None:
    def marked(x: int) -> Sample:
        sample = Sample(x, Measured(x))
        if x % 9 == 4:
            sample.extra = 1  # type: ignore[attr-defined]  # that is what is wrong
        if x % 9 == 5:
            sample.y.extra = 1
        if x % 9 == 6:
            del sample.x
        return sample

    dataset = hr.Dataset.range(40).map(marked).map(lambda sample: (sample.y.x, getattr(sample, "x", None)))
    elements, _ = read(dataset, policy)
    wanted = delivered(iter(dataset.with_options(hr.Options(executor="inline"))), 99)
    assert list(map(str, elements)) == list(map(str, wanted))
    assert sum(isinstance(element, tuple) for element in elements) < 40


def test_numbers_go_on_where_the_first_elements_of_a_block_went_link_by_link() -> None:
    enumerated = Enumerate(input=SOURCE, start=5)
    chain = Chain([mapped(lambda x: x), enumerated, mapped(lambda i, x: (i, x))], LoopPolicy(probed=2, every=1))
    for _ in range(3):
        pieces, _ = chain.run(block_of(range(9)), (5,), Tally.of(3), 0.0, in_worker=True)
        rows = [row for piece in pieces if isinstance(piece, Block) for row in piece.payload.rows()]
        assert rows == [(5 + x, x) for x in range(9)]


def spoils_array(array: np.ndarray) -> None:
    array[...] = -1


def spoils_dict(value: dict[str, Any]) -> None:
    value["n"] = -1


def spoils_object(value: Sample) -> None:
    value.x = -1


# What a function makes, what it keeps of that, and how it changes that when it is called again.
KEEPING: dict[str, tuple[Callable[[int], Any], Callable[[Any], Any], Callable[[Any], None]]] = {
    "a dict of numbers": (lambda n: {"n": n}, lambda made: made, spoils_dict),
    "a dict in a tuple": (lambda n: ({"n": n}, n), lambda made: made, lambda kept: spoils_dict(kept[0])),
    "a dict with an array": (lambda n: {"a": np.full(2, n)}, lambda made: made, lambda kept: spoils_array(kept["a"])),
    "a tuple with an array": (lambda n: (np.full(2, n), n), lambda made: made, lambda kept: spoils_array(kept[0])),
    "an object": (Sample, lambda made: made, spoils_object),
    "an object with an array": (lambda n: Sample(np.full(2, n)), lambda made: made, lambda kept: spoils_array(kept.x)),
    "an array of a tuple": (lambda n: (np.full(2, n), n), lambda made: made[0], spoils_array),
    "an array of an object": (lambda n: Sample(np.full(2, n)), lambda made: made.x, spoils_array),
    "an array": (lambda n: np.full(2, n), lambda made: made, spoils_array),
    "a view": (lambda n: np.full(4, n)[:2], lambda made: made, spoils_array),
    "a view in a dict": (lambda n: {"a": np.full(4, n)[:2]}, lambda made: made["a"], spoils_array),
    "what it is a view of": (lambda n: np.full(4, n)[:2], lambda made: made.base, spoils_array),
    "what a part is a view of": (lambda n: (np.full(4, n)[:2], n), lambda made: made[0].base, spoils_array),
}


def shown(value: Any) -> str:
    return repr(vars(value) if isinstance(value, Sample) else value)


@each_policy
@pytest.mark.parametrize("case", sorted(KEEPING))
@pytest.mark.parametrize("after", [0, 9])
def test_what_a_function_begins_to_keep_and_change_is_not_what_it_gave(
    policy: LoopPolicy, case: str, after: int
) -> None:
    make, part, spoil = KEEPING[case]
    held: list[Any] = []

    def keeping(n: int) -> Any:
        for one in held:
            spoil(one)
        made = make(n)
        if n >= after:
            held.append(part(made))
        return made

    made, _, _ = through(Chain([mapped(keeping)], policy), range(20))
    assert list(map(shown, made)) == [shown(make(n)) for n in range(20)]


@each_policy
@pytest.mark.parametrize("case", sorted(PASSING))
def test_what_a_function_begins_to_keep_of_its_row_is_not_what_it_gave(policy: LoopPolicy, case: str) -> None:
    make, function = PASSING[case]
    held: list[Any] = []

    def keeping(*row: Any) -> Any:
        for array in held:
            spoils_array(array)
        made = function(*row)
        if len(calls) >= 9:
            (whole,) = row if len(row) == 1 else (row,)
            if isinstance(whole, dict) and len(calls) % 2:
                wholes.append(whole)  # and reaches the array through it
                held[:] = [np.zeros(0)]
            else:
                held.extend(part for part in row if isinstance(part, np.ndarray))
        for whole in wholes[:-1]:
            spoils_array(whole["x"])
        calls.append(0)
        return made

    calls: list[int] = []
    wholes: list[dict[str, Any]] = []
    made, _, _ = through(Chain([mapped(keeping)], policy), (make() for _ in range(40)))
    row = make()
    wanted = function(*row) if isinstance(row, tuple) else function(row)
    assert list(map(shown, made)) == [shown(wanted)] * 40


def filled(array: np.ndarray, n: int) -> np.ndarray:
    array[...] = n
    return array


def updated(kept: dict[str, Any], **parts: Any) -> dict[str, Any]:
    kept.update(parts)
    return kept


# What a function makes of memory that it has, and fills again each time.
REFILLED: dict[str, Callable[[np.ndarray, dict[str, Any], int], Any]] = {
    "an array": lambda own, _, n: filled(own, n),
    "a view": lambda own, _, n: filled(own, n)[:1],
    "a view with others' order": lambda own, _, n: filled(own, n).T,
    "in a tuple": lambda own, _, n: (filled(own, n), n),
    "twice in a tuple": lambda own, _, n: (filled(own, n), own),
    "beside a new one": lambda own, _, n: (filled(own, n), np.full(2, n)),
    "in a dict": lambda own, _, n: {"b": filled(own, n), "a": n},
    "in a dict in a tuple in a dict": lambda own, _, n: {"x": (n, {"b": filled(own, n), "a": n}), "y": 1},
    "in a dict that it has": lambda own, kept, n: updated(kept, b=filled(own, n), a=n),
    "in a dict in one that it has": lambda own, kept, n: updated(kept, b={"c": filled(own, n)}),
    "a new one in a dict that it has": lambda _, kept, n: updated(kept, b=np.full(2, n), a=n),
    "in an object": lambda own, _, n: Sample(filled(own, n), n),
}


@each_policy
@pytest.mark.parametrize("case", sorted(REFILLED))
def test_what_a_function_fills_again_is_copied_before_and_is_soon_no_surprise(policy: LoopPolicy, case: str) -> None:
    own, kept = np.zeros((2, 3)), dict[str, Any]()
    make = REFILLED[case]
    chain = Chain([mapped(lambda n: make(own, kept, n))], policy)
    made, _, _ = through(chain, range(40))
    wanted = [make(np.zeros((2, 3)), {}, n) for n in range(40)]
    assert list(map(shown, made)) == list(map(shown, wanted))
    assert all(map(same, made, wanted))
    before = chain.learned.surprises
    through(chain, range(40))
    assert chain.learned.surprises == before


@each_policy
def test_what_is_copied_in_a_loop_has_the_layout_and_the_flags_of_the_original(policy: LoopPolicy) -> None:
    own = np.zeros((2, 3), order="F")
    locked = np.zeros(3)
    locked.flags.writeable = False
    arrays = [own] * 20 + [locked] * 20 + [own] * 10
    made, _, _ = through(Chain([mapped(lambda n: (arrays[n], n))], policy), range(50))
    assert [array.flags.writeable for array, _ in made] == [array.flags.writeable for array in arrays]
    assert [array.flags.f_contiguous for array, _ in made] == [array.flags.f_contiguous for array in arrays]
    assert not any(np.shares_memory(array, own) or np.shares_memory(array, locked) for array, _ in made)


def locked(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


LOCKED: dict[str, tuple[Callable[[], Any], Callable[..., Any]]] = {
    "of an array": (lambda: locked(np.zeros(4)), lambda array: array[1:]),
    "of a view": (lambda: locked(np.zeros((2, 4))[1]), lambda array: array[1:]),
    "in a tuple": (lambda: (locked(np.zeros(4)), 1), lambda array, n: (n, array[::-1])),
    "in a dict": (lambda: {"a": locked(np.zeros((2, 4))[1])}, lambda row: {**row, "b": row["a"].reshape(2, 2)}),
}


@pytest.mark.parametrize("case", sorted(LOCKED))
def test_a_view_of_what_a_function_only_sees_is_not_copied_and_is_soon_no_surprise(case: str) -> None:
    make, function = LOCKED[case]
    chain = Chain([mapped(function)], LoopPolicy(probed=1))
    before = 0
    for _ in range(2):
        before = chain.learned.surprises
        rows = [make() for _ in range(40)]
        made, _, _ = through(chain, rows)
        for row, result in zip(rows, made, strict=True):
            arrays = result.values() if isinstance(result, dict) else result if isinstance(result, tuple) else [result]
            given = row["a"] if isinstance(row, dict) else row[0] if isinstance(row, tuple) else row
            assert all(np.shares_memory(array, given) for array in arrays if isinstance(array, np.ndarray))
    assert chain.learned.surprises == before


# Rows of a column: nobody has them but the loop, and they are views of one matrix.
OF_A_COLUMN: dict[str, tuple[Callable[[np.ndarray], Any], Callable[..., Any]]] = {
    "an array": (lambda row: row, lambda array: array[1:]),
    "two of an array": (lambda row: row, lambda array: (array[1:], array[0], array[:-1])),
    "in a tuple": (lambda row: (row, 1), lambda array, n: (n, array[::-1])),
    "in a dict": (lambda row: {"a": row, "n": 1}, lambda row: {"b": row["a"][1:], "c": row["n"]}),
}


def rows_of_a_column(make: Callable[[np.ndarray], Any], start: int = 0) -> Iterator[Any]:
    return map(make, np.arange(start, start + 120).reshape(30, 4))


@pytest.mark.parametrize("case", sorted(OF_A_COLUMN))
def test_a_view_of_a_row_of_a_column_is_not_copied_and_is_soon_no_surprise(case: str) -> None:
    make, function = OF_A_COLUMN[case]
    chain = Chain([mapped(function)], LoopPolicy(probed=1))
    before = 0
    for _ in range(2):
        before = chain.learned.surprises
        column = np.arange(120).reshape(30, 4)
        made, _, _ = through(chain, map(make, column))
        assert all(np.shares_memory(array, column) for result in made for array in arrays_in(result))
    assert chain.learned.surprises == before


@each_policy
@pytest.mark.parametrize("keeps", ["the row", "its array", "the view"])
# Who keeps one has what lies in the other.
@pytest.mark.parametrize("case", sorted(OF_A_COLUMN.keys() - {"two of an array"}))
def test_a_view_of_a_row_of_a_column_that_a_function_begins_to_keep_is_copied(
    policy: LoopPolicy, case: str, keeps: str
) -> None:
    make, function = OF_A_COLUMN[case]
    calls = itertools.count()
    held: list[Any] = []

    def keeping(*row: Any) -> Any:
        for array in arrays_in(tuple(held)):
            array[...] = -1
        result = function(*row)
        if next(calls) >= 12:
            held.append({"the row": row[0], "its array": arrays_in(row)[0], "the view": arrays_in(result)[0]}[keeps])
        return result

    chain = Chain([mapped(keeping)], policy)
    made = [each for start in (0, 120) for each in through(chain, rows_of_a_column(make, start))[0]]
    rows = [*rows_of_a_column(make), *rows_of_a_column(make, 120)]
    expected = [function(*row) if isinstance(row, tuple) else function(row) for row in rows]
    assert all(map(same, made, expected))


def test_a_view_of_what_is_new_is_soon_no_surprise() -> None:
    functions: list[Callable[[int], Any]] = [
        lambda n: np.full(4, n).reshape(2, 2),
        lambda n: (n, np.full(4, n)[::-1], np.full(2, n)),
        lambda n: {"a": np.full((2, 2), n).T},
    ]
    for function in functions:
        chain = Chain([mapped(function)], LoopPolicy(probed=1))
        through(chain, range(40))
        before = chain.learned.surprises
        made, _, _ = through(chain, range(40))
        assert chain.learned.surprises == before
        assert all(map(same, made, map(function, range(40))))


@each_policy
@pytest.mark.parametrize("case", sorted(LOCKED))
def test_a_view_of_other_memory_than_the_rows_is_copied(policy: LoopPolicy, case: str) -> None:
    make, function = LOCKED[case]
    other = np.zeros((2, 4))
    seen = other[1]
    seen.flags.writeable = False
    calls = itertools.count()

    def changing(*row: Any) -> Any:
        n = next(calls)
        if n < 12:
            return function(*row)
        other[...] = n
        return function(*[{"a": seen} if isinstance(part, dict) else seen if part is row[0] else part for part in row])

    made, _, _ = through(Chain([mapped(changing)], policy), (make() for _ in range(30)))
    for n, result in enumerate(made):
        arrays = result.values() if isinstance(result, dict) else result if isinstance(result, tuple) else [result]
        assert all((array == (n if n >= 12 else 0)).all() for array in arrays if isinstance(array, np.ndarray))


@each_policy
def test_a_view_of_a_row_that_a_function_begins_to_change_is_copied(policy: LoopPolicy) -> None:
    held: list[np.ndarray] = []

    def keeping(array: np.ndarray) -> np.ndarray:
        for one in held:
            one[...] = -1
        if array.flags.writeable:
            held.append(array)
        return array[1:]

    rows = [np.full(3, n) if n > 11 else locked(np.full(3, n)) for n in range(30)]
    made, _, _ = through(Chain([mapped(keeping)], policy), rows)
    assert [array.tolist() for array in made] == [[n, n] for n in range(30)]


@each_policy
def test_a_view_of_memory_that_is_no_arrays_is_copied(policy: LoopPolicy) -> None:
    memory = bytearray(4)

    def made_of(n: int) -> np.ndarray:
        if n < 12:
            return np.full(4, n, np.uint8)[::-1]
        memory[:] = bytes([n] * 4)
        return np.frombuffer(memory, np.uint8)[::-1]

    made, _, _ = through(Chain([mapped(made_of)], policy), range(30))
    assert [array.tolist() for array in made] == [[n] * 4 for n in range(30)]


@each_policy
@pytest.mark.parametrize(
    "make",
    [
        lambda n: np.full(2, n),
        lambda n: (np.full(2, n), n),
        lambda n: (n, (np.full(2, n), "x"), {"a": np.full(2, n)}),
        lambda n: {"a": (np.full(2, n), n)},
        lambda n: (n, {"a": {"b": np.full(2, n)}, "c": n}),
    ],
    ids=["an array", "a tuple", "a tuple with a dict", "a dict", "dicts in each other"],
)
def test_a_filter_sees_what_it_cannot_change_and_the_element_goes_on_writable(
    make: Callable[[int], Any], policy: LoopPolicy
) -> None:
    seen: list[np.ndarray] = []

    def looks(*row: Any) -> bool:
        seen.extend(arrays_in(row))
        return True

    made, _, _ = through(Chain([mapped(make), kept(looks)], policy), range(60))
    assert len(seen) >= 60
    assert not any(array.flags.writeable for array in seen)
    assert all(array.flags.writeable for row in made for array in arrays_in(row))
    assert [int(arrays_in(row)[0][0]) for row in made] == list(range(60))


@each_policy
@pytest.mark.parametrize("has_map", [False, True])
def test_what_a_filter_does_to_dicts_nobody_after_it_sees(policy: LoopPolicy, has_map: bool) -> None:
    def row_of(n: int) -> Any:
        row = {"a": {"x": np.full(2, n)}, "n": n}
        return row if n % 2 else dict(reversed(row.items()))

    def spoils(row: dict[str, Any]) -> bool:
        row["a"]["x"].shape = (2, 1)
        row["a"]["more"] = row.pop("n")
        return True

    def unchanged(row: dict[str, Any]) -> Any:
        return (*row,), row["n"], row["a"]["x"].shape, (*row["a"],)

    rows = [row_of(n) for n in range(60)]
    nodes: list[Map | Filter | Enumerate] = [
        *([mapped(row_of)] if has_map else []),
        kept(spoils),
        kept(spoils),
        mapped(unchanged),
    ]
    made, _, _ = through(Chain(nodes, policy), range(60) if has_map else rows)
    assert made == [(tuple(row), n, (2,), ("x",)) for n, row in enumerate(rows)]


def in_columns(chain: Chain, rows: Iterable[Any]) -> tuple[list[Any], list[bool]]:
    """What becomes of rows that are stacked, each with the state before it; and of which pieces it came in columns."""
    remaining, made, are_columns, done = iter(rows), list[Any](), list[bool](), 0
    while len(block := block_of(itertools.islice(remaining, 20), done)):
        pieces, count = chain.run(block, (), Tally.of(len(chain.links)), 0.0, is_stacked=True)
        assert count == len(block)
        done += count
        for piece in pieces:
            if isinstance(piece, Failure):
                made.append((piece.cursor.state(), str(piece.error), piece.after.state()))
                continue
            are_columns.append(isinstance(piece.payload, Columns))
            positions = [piece.cursor.advance(index).state() for index in range(len(piece))]
            made += zip(positions, piece.payload.rows(), strict=True)
    return made, are_columns


def test_results_that_are_stacked_come_in_columns_until_too_many_are_of_another_form() -> None:
    buffer = np.zeros(2)

    def make(n: int) -> Any:
        buffer[:] = n
        if n == 55:
            raise ValueError("fifty-five")
        return (buffer, n) if n in (70, 71) or (n >= 150 and n // 20 % 2) else {"b": buffer, "a": str(n)}

    policy = LoopPolicy(probed=1, patience_s=math.inf)  # all of a block, however slow the machine is
    chain = Chain([mapped(lambda n: n), kept(lambda n: n % 10 > 0), mapped(make)], policy)
    made, are_columns = in_columns(chain, range(300))
    assert sum(are_columns) > 5
    assert not any(are_columns[-4:])  # four came that were of another form
    assert [state["index"] for state, *_ in made] == [n for n in range(300) if n % 10]
    assert [state["index"] for state, *_ in made] == [
        55 if type(row) is str else int(row["b"][0]) if type(row) is dict else row[1] for _, row, *_ in made
    ]


def test_what_filters_and_objects_had_of_an_array_is_let_go() -> None:
    chains: list[list[Map | Filter | Enumerate]] = [
        [mapped(lambda x: {"a": np.full(2, x), "n": x}), kept(lambda _: True), mapped(lambda row: row)],
        [mapped(lambda x: (np.full(2, x), x)), kept(lambda *_: True), mapped(lambda array, x: {"a": array, "x": x})],
        [mapped(lambda x: Sample(np.full(2, x))), mapped(lambda sample: (sample.x, 1))],
    ]
    for nodes in chains:
        chain = Chain(nodes, LoopPolicy(probed=1))
        for _ in range(2):
            through(chain, range(20))
        before = chain.learned.surprises
        through(chain, range(20))
        assert chain.learned.surprises == before == 0
