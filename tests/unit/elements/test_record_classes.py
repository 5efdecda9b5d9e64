"""Objects of classes with fields are taken apart and put together again without running any code of theirs."""

from __future__ import annotations

import collections
import dataclasses
import functools
import operator
import threading
import weakref
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, Self, TypeVar

import attrs
import numpy as np
import optree
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace as hr
from headrace.elements.ownership import read_only, read_only_rows
from headrace.elements.record_classes import made_of_fields, parts_of
from headrace.elements.rows_and_columns import columns_of_parts, transpose, with_parts
from headrace.elements.structure import NAMESPACE, normalize
from headrace.testing.restoring import same

T = TypeVar("T")
ran: list[str] = []


@pytest.fixture(autouse=True)
def _no_code_has_run() -> None:
    ran.clear()


@dataclasses.dataclass
class Halved:
    x: Any

    def __post_init__(self) -> None:
        ran.append("post_init")
        self.x = self.x / 2


@dataclasses.dataclass
class Computing:
    x: Any
    given: dataclasses.InitVar[int] = 3
    made: Any = dataclasses.field(init=False)

    def __post_init__(self, given: int) -> None:
        ran.append("post_init")
        self.made = self.x * given


@dataclasses.dataclass(frozen=True, slots=True, weakref_slot=True, kw_only=True)
class Tight:
    x: Any
    y: Any = 4


@dataclasses.dataclass
class Inherited(Halved):
    y: Any = dataclasses.field(default=1, kw_only=True)


@dataclasses.dataclass(slots=True)
class HalfSlotted(Inherited):
    z: Any = 7


@dataclasses.dataclass
class OfAKind(Generic[T]):
    x: T


@dataclasses.dataclass
class MadeElsewhere:
    x: Any

    def __new__(cls, *arguments: Any, **more: Any) -> Self:
        ran.append("new")
        return super().__new__(cls)

    def __setattr__(self, name: str, value: Any) -> None:
        ran.append("setattr")
        super().__setattr__(name, value)


@dataclasses.dataclass
class Remembering:
    x: Any

    @functools.cached_property
    def twice(self) -> Any:
        return self.x * 2


def _plus_one(x: Any) -> Any:
    ran.append("converter")
    return x + 1


def _looked_at(instance: Any, attribute: Any, value: Any) -> None:
    ran.append("validator")


@attrs.define
class Converted:
    _x: Any = attrs.field(converter=_plus_one, alias="ex")
    y: Any = attrs.field(default=1, validator=_looked_at)
    z: Any = attrs.field(init=False, default=5)

    def __attrs_post_init__(self) -> None:
        ran.append("post_init")

    @functools.cached_property
    def twice(self) -> Any:
        return self._x * 2


@attrs.frozen(cache_hash=True)
class Hashed:
    x: Any


@attrs.frozen(cache_hash=True, slots=False)
class HashedInDict:
    x: Any


class Two(NamedTuple):
    x: Any
    y: Any


class Summed(Two):
    def __new__(cls, x: Any, y: Any = 1) -> Self:
        ran.append("new")
        return super().__new__(cls, x + y, y)


class Single(NamedTuple):
    x: Any


class Typed(NamedTuple):
    x: Any
    y: Any = 2


def remembering(number: int) -> Remembering:
    made = Remembering(number)
    assert made.twice == 2 * number
    return made


MAKERS: dict[str, Callable[[int], Any]] = {
    "post_init": lambda n: Halved(float(n)),
    "a field that init does not take": lambda n: Computing(n, 4),
    "frozen slots by keyword": lambda n: Tight(x=n),
    "inherited": lambda n: Inherited(n, y=n),
    "slots below a dict": lambda n: HalfSlotted(n, y=n),
    "generic": OfAKind,
    "new and setattr": MadeElsewhere,
    "a property that remembers": remembering,
    "attrs with a converter": lambda n: Converted(ex=n),
    "attrs with a hash": Hashed,
    "attrs with a hash in its dict": HashedInDict,
    "a named tuple with its own new": Summed,
    "a typed named tuple": Typed,
}


@pytest.mark.parametrize("executor", ["thread", "inline"])
@pytest.mark.parametrize("case", sorted(MAKERS))
def test_what_a_pipeline_gives_is_what_a_function_made(case: str, executor: str) -> None:
    options = hr.Options(executor=executor)
    make = MAKERS[case]
    made = [make(number) for number in range(4)]
    ran.clear()
    given = list(hr.Dataset.range(4).map(lambda n: made[n]).cache().shuffle(1).with_options(options))
    assert [type(one) for one in given] == [type(made[0])] * 4
    assert all(map(same, given, made))
    again = list(hr.Dataset.range(4).map(lambda n: made[n]).batch(2).unbatch().with_options(options))
    assert all(map(same, again, made))
    assert same(list(hr.Dataset.from_tensors(made[0]).with_options(options)), [made[0]])
    assert ran == []


@pytest.mark.parametrize("case", sorted(MAKERS))
def test_files_and_states_hold_such_objects_and_run_nothing(case: str, tmp_path: Any) -> None:
    make = MAKERS[case]
    made = [make(number) for number in range(3)]
    ran.clear()
    ds = hr.Dataset.range(3).map(lambda n: made[n])
    ds.save(str(tmp_path / "saved"))
    assert all(map(same, hr.Dataset.load(str(tmp_path / "saved")), made))
    cached = ds.cache(str(tmp_path / "cache"), key="k")
    for _ in range(2):
        assert all(map(same, cached, made))
    scanned = hr.Dataset.range(3).scan(made[0], lambda state, n: (made[n], state))
    iterator = iter(scanned)
    next(iterator)
    next(iterator)
    state = iterator.state_dict()
    again = iter(scanned)
    again.load_state_dict(state)
    assert same(list(again), [made[1]])
    assert ran == []


def test_an_object_is_hashed_and_referred_to_as_one_that_its_constructor_made() -> None:
    for kind in (Hashed, HashedInDict):
        (given,) = hr.Dataset.range(1).map(lambda n, kind=kind: kind(7))
        assert hash(given) == hash(kind(7))
    (tight,) = hr.Dataset.range(1).map(lambda n: Tight(x=n))
    assert weakref.ref(tight)() is tight
    (remembered,) = hr.Dataset.range(3, 4).map(remembering)
    assert vars(remembered) == {"x": 3}
    assert remembered.twice == 6
    (converted,) = hr.Dataset.range(3, 4).map(Converted)
    assert converted.twice == 8


def test_fields_hold_batches_whatever_the_constructor_takes() -> None:
    @attrs.define
    class Checked:
        x: int = attrs.field(validator=attrs.validators.instance_of(int))

    (batch,) = hr.Dataset.range(2).map(Checked).batch(2)
    assert batch.x.tolist() == [0, 1]
    assert hr.Dataset.range(2).map(Checked).element_spec.x == hr.TensorSpec((), int)


def test_a_field_that_nobody_has_set_stays_unset() -> None:
    @dataclasses.dataclass
    class Later:
        x: int
        y: int = dataclasses.field(init=False)

    (given,) = hr.Dataset.range(1).map(Later)
    assert not hasattr(given, "y")
    (batch,) = hr.Dataset.range(2).map(Later).batch(2)
    assert batch.x.tolist() == [0, 1]
    assert not hasattr(batch, "y")


def slotted_besides() -> Any:
    class Base:
        __slots__ = ("other",)

    @dataclasses.dataclass(slots=True)
    class Slotted(Base):
        x: int

    made = Slotted(1)
    made.other = 2  # type: ignore[attr-defined]  # the base's slot
    return made


def dict_besides() -> Any:
    made = Halved(1)
    made.other = 2  # type: ignore[attr-defined]  # not a field, which is the case
    return made


def tuple_besides() -> Any:
    made: Any = Summed(1)
    made.other = 2
    return made


@pytest.mark.parametrize("make", [slotted_besides, dict_besides, tuple_besides])
@pytest.mark.parametrize("executor", ["thread", "inline"])
def test_what_an_object_holds_besides_its_fields_is_refused_by_name(make: Callable[[], Any], executor: str) -> None:
    ds = hr.Dataset.range(2).map(lambda n: make() if n else n).with_options(hr.Options(executor=executor))
    iterator = iter(ds)
    assert next(iterator) == 0
    with pytest.raises(hr.errors.InvalidArgumentError, match=r"element 1: .* holds 'other' besides its fields"):
        next(iterator)


@dataclasses.dataclass
class Both(collections.OrderedDict):  # type: ignore[type-arg]  # of anything
    x: int = 1

    def __post_init__(self) -> None:
        ran.append("post_init")
        self["x"] = self.x


def test_a_class_with_fields_that_is_a_container_as_well_keeps_all_its_contents() -> None:
    made = Both(3)
    made["more"] = np.arange(2)
    (given,) = hr.Dataset.range(1).map(lambda n: made)
    assert type(given) is Both
    assert given.x == 3
    assert list(given) == ["x", "more"]
    assert given["more"].tolist() == [0, 1]


def test_threads_that_meet_a_named_tuple_with_its_own_new_at_once_all_know_it() -> None:
    class Fresh(Single):
        def __new__(cls, x: Any) -> Self:
            ran.append("new")
            return super().__new__(cls, x)

    made, start = Fresh(1), threading.Barrier(4)
    given: list[Any] = []

    def use() -> None:
        start.wait(30)
        given.extend(hr.Dataset.range(1).map(lambda n: made))

    ran.clear()
    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    assert given == [made] * 4
    assert ran == []


VALUES = st.sampled_from(
    [
        lambda n: n,
        lambda n: np.full(2, n),
        lambda n: (n, np.full(1, n)),
        lambda n: {"a": n, "b": f"{n}"},
        lambda n: Typed(n, np.full(3, n)),
        lambda n: Halved(np.full(2, float(n))),
        lambda n: None,
    ]
)


def _with(make: Callable[[int], Any], value: Callable[[int], Any], number: int) -> Any:
    """An object whose first field holds another value."""
    made = make(number)
    normalize(made)
    parts = optree.tree_flatten_one_level(made, namespace=NAMESPACE)[0]
    return made_of_fields(type(made), [normalize(value(number)), *parts[1:]])


@given(
    st.sampled_from(sorted(set(MAKERS) - {"a property that remembers"})),
    st.lists(VALUES, min_size=1, max_size=3),
    st.booleans(),
)
def test_what_is_found_without_optree_is_what_it_finds(
    case: str, values: list[Callable[[int], Any]], alike: bool
) -> None:
    chosen = values[:1] * len(values) if alike else values
    made = [_with(MAKERS[case], value, number) for number, value in enumerate(chosen)]
    ran.clear()
    kinds = set(map(type, made))
    one_level = [list(optree.tree_flatten_one_level(one, namespace=NAMESPACE)[0]) for one in made]
    for one, expected in zip(made, one_level, strict=True):
        found = parts_of(one)
        assert found is None or all(map(operator.is_, found, expected))
    columns = columns_of_parts(made, kinds)
    if columns is not None:
        assert all(
            all(map(operator.is_, *pair))
            for pair in zip([column for _, column in columns], zip(*one_level, strict=True), strict=True)
        )
        again = with_parts(made, kinds, columns, [])
        assert all(map(same, again, made))
        assert all(one is not other or isinstance(one, tuple) for one, other in zip(again, made, strict=True))
    flat = [optree.tree_flatten(one, namespace=NAMESPACE) for one in made]
    if all(treedef == flat[0][1] for _, treedef in flat):
        treedef, leaves = transpose(made)
        assert treedef == flat[0][1]
        assert all(map(same, map(tuple, leaves), zip(*(row for row, _ in flat), strict=True)))
    else:
        with pytest.raises(hr.errors.InvalidArgumentError, match="differ in structure"):
            transpose(made)
    assert ran == []


@given(st.sampled_from(sorted(set(MAKERS) - {"a property that remembers"})), VALUES)
def test_what_others_see_of_it_they_cannot_change(case: str, value: Callable[[int], Any]) -> None:
    made = [_with(MAKERS[case], value, number) for number in range(3)]
    ran.clear()
    for seen in ([read_only(one) for one in made], read_only_rows(list(made))):
        assert all(map(same, seen, made))
        for one, other in zip(seen, made, strict=True):
            assert one is not other or type(one) in (Typed, Summed)
            arrays = [leaf for leaf in optree.tree_leaves(one, namespace=NAMESPACE) if isinstance(leaf, np.ndarray)]
            assert not any(array.flags.writeable for array in arrays)
    assert ran == []


@pytest.mark.parametrize("case", sorted(MAKERS))
def test_a_filter_changes_nothing_that_it_is_handed(case: str) -> None:
    def spoil(one: Any) -> bool:
        for leaf in optree.tree_leaves(one, namespace=NAMESPACE):
            assert not isinstance(leaf, np.ndarray) or not leaf.flags.writeable
        if not isinstance(one, tuple) and "__dict__" in dir(one):
            one.__dict__["x"] = "spoilt"
        return True

    made = [_with(MAKERS[case], lambda n: np.full(2, n), number) for number in range(300)]
    expected = [_with(MAKERS[case], lambda n: np.full(2, n), number) for number in range(300)]
    for mapped in (lambda n: made[n], lambda n: _with(MAKERS[case], lambda n: np.full(2, n), n)):
        assert all(map(same, hr.Dataset.range(300).map(mapped).filter(spoil), expected))
