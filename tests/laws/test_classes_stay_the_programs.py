"""A class of the program is the program's: processes that make its objects change nothing of it, whatever they and the program do to theirs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace as hr

NAMES = ("count", "items", "method", "late")
# What the program gives its class between two elements, by name.
CHANGES = st.lists(st.dictionaries(st.sampled_from(NAMES), st.integers(-9, -1)), min_size=2, max_size=4)


@pytest.mark.parametrize("executor", ["subprocess", "process"])
@settings(max_examples=(settings().max_examples + 5) // 6)
@given(changes=CHANGES, theirs=st.sets(st.sampled_from(NAMES)))
def test_what_a_process_does_to_its_copy_of_a_class_stays_there(
    executor: str, changes: list[dict[str, int]], theirs: set[str]
) -> None:
    registered: list[type] = []

    class Plugin:
        def __init_subclass__(cls) -> None:
            registered.append(cls)

    class Kept(Plugin):
        count = 0
        items: tuple[int, ...] = ()

        def method(self) -> int:
            return 1

    def made(x: Any) -> Kept:
        for name in theirs:
            setattr(Kept, name, int(x))
        return Kept()

    said: dict[str, Any] = {name: vars(Kept)[name] for name in NAMES if name in vars(Kept)}
    dataset = hr.Dataset.range(len(changes)).map(made, num_parallel_calls=1)
    with iter(dataset.with_options(hr.Options(executor=executor, num_workers=1))) as iterator:
        for change, kept in zip(changes, iterator, strict=True):
            assert type(kept) is Kept
            assert {name: vars(Kept)[name] for name in NAMES if name in vars(Kept)} == said
            for name, value in change.items():
                setattr(Kept, name, value)
            said |= change
    assert registered == [Kept]


@settings(max_examples=(settings().max_examples + 5) // 6)
@given(
    changes=st.lists(
        st.dictionaries(st.sampled_from(NAMES), st.none() | st.integers(-9, -1)), min_size=1, max_size=4
    ).filter(any)
)
def test_an_epoch_in_processes_has_a_class_as_the_program_has_it_then(changes: list[dict[str, int | None]]) -> None:
    class Kept:
        count = 0
        items: tuple[int, ...] = ()

    def seen(x: Any) -> str:
        return repr([(name, vars(Kept)[name]) for name in NAMES if name in vars(Kept)])

    dataset = hr.Dataset.range(1).map(seen, num_parallel_calls=1)
    dataset = dataset.with_options(hr.Options(executor="process", num_workers=1))
    for change in changes:
        for name, value in change.items():
            if value is not None:
                setattr(Kept, name, value)
            elif name in vars(Kept):
                delattr(Kept, name)
        assert list(dataset) == [seen(0)]
