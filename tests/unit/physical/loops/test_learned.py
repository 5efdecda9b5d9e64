"""What is learned of a chain of operations: how its time is shared out among them."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.blocks.block import Block, Failure
from headrace.blocks.cursor import IndexCursor
from headrace.blocks.origin import IndexOrigin
from headrace.blocks.payload import Rows
from headrace.physical.loop_policy import LoopPolicy
from headrace.physical.loops.chain import Chain
from headrace.physical.loops.learned import Learned
from headrace.physical.loops.one_pass import Tally
from headrace.physical.loops.text import Head
from headrace.plan.elementwise import Map
from headrace.plan.sources import Range

PROBED = 16
ONE_MAP = Map(input=Range(start=0, stop=100, step=1), function=lambda x: (x, str(x)))


def test_the_first_look_at_a_chain_says_how_its_time_is_shared_and_later_ones_count_half() -> None:
    learned = Learned(("map", "filter"), LoopPolicy())
    assert learned.shares == [0.5, 0.5]  # nobody has looked
    learned.share([3.0, 0.0])
    assert learned.shares == [1.0, 0.0]
    learned.share([1.0, 1.0])
    assert learned.shares == pytest.approx([0.75, 0.25])


def one_chain() -> Chain:
    """A chain that knows nothing yet, of a shape for which a loop was generated."""
    Chain([ONE_MAP], LoopPolicy(probed=PROBED)).learned.loop(Head(False), is_stacked=False)
    return Chain([ONE_MAP], LoopPolicy(probed=PROBED))


@given(counts=st.lists(st.integers(1, 60), min_size=1, max_size=12))
def test_how_elements_come_in_blocks_does_not_matter_for_which_of_them_is_looked_at_first(counts: list[int]) -> None:
    learned = one_chain().learned
    by_link: list[bool] = []
    for count in counts:
        ways = list(learned.ways(count))
        assert sum(elements for elements, _ in ways) == count
        assert all(elements for elements, _ in ways)
        by_link += itertools.chain.from_iterable([is_by_link] * elements for elements, is_by_link in ways)
    assert by_link[:PROBED] == [False] * min(PROBED, len(by_link))
    assert by_link[PROBED : PROBED + 1] in ([], [True])


@given(counts=st.lists(st.integers(1, 60), min_size=1, max_size=12))
def test_a_block_that_is_left_in_the_middle_puts_off_no_look(counts: list[int]) -> None:
    learned = one_chain().learned
    ways = [
        next(learned.ways(count)) for count in counts
    ]  # of each block the first part alone, as where elements take long
    through_the_loop = [elements for elements, is_by_link in ways if not is_by_link]
    before = list(itertools.takewhile(lambda way: not way[1], ways))
    assert sum(elements for elements, _ in before) == min(PROBED, sum(through_the_loop))


@pytest.mark.parametrize("is_stacked", [False, True])
def test_what_the_first_elements_of_a_block_show_holds_for_the_others_of_it(is_stacked: bool) -> None:
    chain = one_chain()
    rows = list(range(100))
    block = Block(Rows(rows), IndexCursor(0), IndexOrigin(range(100)))
    pieces, done = chain.run(block, (), Tally.of(1), 0.0, in_worker=True, is_stacked=is_stacked)
    assert (done, [row for piece in pieces for row in piece.payload.rows()]) == (100, [(x, str(x)) for x in rows])  # type: ignore[union-attr]
    assert chain.learned.is_known
    # In lists they come together; those that are taken apart, as they are to be stacked, stay beside the first ones.
    assert [len(piece) for piece in pieces] == ([PROBED, PROBED, 100 - 2 * PROBED] if is_stacked else [100])  # type: ignore[arg-type]
    assert chain.learned.is_to_look_at is not is_stacked  # it was looked at where results are stacked


@given(count=st.integers(1, 60), failing=st.sets(st.integers(0, 59), max_size=4), first=st.integers(0, 1_000))
def test_what_becomes_of_a_block_is_in_one_piece_but_for_failures(count: int, failing: set[int], first: int) -> None:
    def checked(x: int) -> tuple[int, str]:
        if x - first in failing:
            raise ValueError(x)
        return x, str(x)

    node = Map(input=Range(start=0, stop=2_000, step=1), function=checked)
    chain = Chain([node], LoopPolicy(probed=PROBED))
    block = Block(Rows([*range(first, first + count)]), IndexCursor(first), IndexOrigin(range(first, first + count)))
    pieces, done = chain.run(block, (), Tally.of(1), 0.0, in_worker=True)
    assert done == count
    at = first
    for piece in pieces:
        assert piece.cursor == IndexCursor(at)
        if isinstance(piece, Failure):
            assert at - first in failing
            at += 1
            continue
        rows = piece.payload.rows()
        assert rows == [(x, str(x)) for x in range(at, at + len(rows))]
        assert list(piece.origin.indices) == [*range(at, at + len(rows))]  # type: ignore[attr-defined]  # an IndexOrigin
        at += len(rows)
    assert at == first + count
    if not failing & set(range(count)):
        assert len(pieces) == 1
