"""Classes of ``frozen`` are what ``dataclasses`` makes of the same fields, whoever asks."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import pickle
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from docs.building.surface import pages

import headrace as hr
from headrace.frozen import frozen, maker, mutable, replaced

# More objects than are made before a constructor is written.
_MANY = 20


@frozen
class Position:
    index: int
    name: str = "x"
    parts: list[int] = dataclasses.field(default_factory=list, compare=False, repr=False)


@frozen(kw_only=True, eq=False)
class Base:
    kind: ClassVar[str] = "base"
    name: str | None = None


@frozen(kw_only=True, eq=False)
class Derived(Base):
    size: int
    known: dataclasses.InitVar[int] = 3
    found: int = dataclasses.field(init=False)

    def __post_init__(self, known: int) -> None:
        object.__setattr__(self, "found", self.size + known)


@frozen
class WithItsOwn:  # noqa: PLW1641 - whose hash is to be that of its fields
    value: Any

    def __init__(self, value: int) -> None:
        object.__setattr__(self, "value", value + 1)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WithItsOwn)

    def __repr__(self) -> str:
        return "own"


@mutable
class Tally:
    name: str
    counts: list[int] = dataclasses.field(default_factory=list)

    def add(self, count: int) -> None:
        self.name, self.counts = f"{self.name}+", [*self.counts, count]


@frozen
class Knot:
    held: list[Any]


def test_arguments_defaults_and_factories_are_those_of_a_dataclass() -> None:
    one, other = Position(1), Position(index=2, name="y", parts=[3])
    assert (one.index, one.name, one.parts) == (1, "x", [])
    assert (other.index, other.name, other.parts) == (2, "y", [3])
    assert Position(1).parts is not one.parts


def test_a_wrong_argument_is_told_with_the_name_of_the_class() -> None:
    wrong: Callable[..., Any] = Position
    for _ in range(_MANY):  # after some objects the constructor is written
        with pytest.raises(TypeError, match=r"Position\.__init__\(\) .*unexpected keyword argument 'place'"):
            wrong(1, place=2)
    with pytest.raises(TypeError, match=r"Derived\.__init__\(\) missing 1 required keyword-only argument: 'size'"):
        Derived()  # type: ignore[call-arg]  # that is what is refused


def test_what_a_maker_makes_is_what_the_class_makes() -> None:
    position, derived = maker(Position), maker(Derived)
    for _ in range(2):  # the first call writes the function
        assert (position(1), type(position(1))) == (Position(1), Position)
        assert position(index=2, name="y", parts=[3]).parts == [3]
        assert position(1).parts is not position(1).parts
        assert (derived(size=1).found, derived(size=1, known=5, name="n").found) == (4, 6)
    with pytest.raises(dataclasses.FrozenInstanceError):
        position(1).index = 2  # type: ignore[misc]  # that is what is refused
    wrong: Callable[..., Any] = maker(Derived)
    for _ in range(2):
        with pytest.raises(TypeError, match=r"Derived\.make\(\) missing 1 required keyword-only argument: 'size'"):
            wrong(name="n")


def test_fields_of_the_base_and_arguments_of_the_constructor_alone_are_there() -> None:
    assert [field.name for field in dataclasses.fields(Derived)] == ["name", "size", "found"]
    assert (Derived(size=1).found, Derived(size=1, known=5).found) == (4, 6)
    assert Derived(size=1, name="n").name == "n"


def test_nothing_can_be_set_or_deleted() -> None:
    one: Any = Position(1)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'index'"):
        one.index = 2
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'index'"):
        del one.index
    assert not hasattr(one, "__dict__")


def test_equal_fields_make_equal_objects_of_one_class() -> None:
    assert Position(1) == Position(1, parts=[9])
    assert hash(Position(1)) == hash(Position(1, parts=[9]))
    assert Position(1) != Position(2)
    others: list[object] = [(1, "x"), Derived(size=1)]
    assert Position(1) not in others
    assert Derived(size=1) != Derived(size=1)  # without eq an object is itself alone
    assert len({Derived(size=1), Derived(size=1)}) == 2


def test_methods_of_the_class_stay() -> None:
    assert WithItsOwn(1).value == 2
    assert WithItsOwn(1) == WithItsOwn(5)
    assert repr(WithItsOwn(1)) == "own"
    assert hash(WithItsOwn(1)) == hash(WithItsOwn(1))


def test_it_is_shown_by_its_fields_even_where_it_holds_itself() -> None:
    assert repr(Position(1)) == "Position(index=1, name='x')"
    knot = Knot([])
    knot.held.append(knot)
    assert repr(knot) == "Knot(held=[...])"


@pytest.mark.parametrize("made", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_copies_and_pickles_are_equal(made: Callable[[Any], Any]) -> None:
    assert made(Position(1, "y", [3])) == Position(1, "y", [3])
    assert made(Position(1, "y", [3])).parts == [3]
    assert made(Derived(size=1)).found == 4


def test_what_is_mutable_changes_equals_what_has_the_same_fields_and_has_no_hash() -> None:
    one = Tally("a")
    one.add(3)
    assert one == Tally(name="a+", counts=[3]) == copy.deepcopy(one) == pickle.loads(pickle.dumps(one))
    assert one != Tally("a")
    assert repr(one) == "Tally(name='a+', counts=[3])"
    assert dataclasses.replace(one, name="b") == Tally("b", [3])
    assert not hasattr(one, "__dict__")
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


def test_dataclasses_knows_them() -> None:
    kind: Any = Position
    assert dataclasses.is_dataclass(kind)
    assert dataclasses.replace(Position(1), name="z") == Position(1, "z")
    assert dataclasses.asdict(Position(1)) == {"index": 1, "name": "x", "parts": []}
    match Position(1, "y"):
        case Position(index, name):
            assert (index, name) == (1, "y")


def test_a_class_in_which_nothing_was_made_has_no_written_methods() -> None:
    @frozen
    class Unused:
        value: int

    before = Unused.__init__
    assert before.__code__.co_varnames[:1] == ("self",)
    assert [Unused(value).value for value in range(2)] == [0, 1]
    assert Unused.__init__ is before
    assert [Unused(value).value for value in range(_MANY)] == list(range(_MANY))
    assert Unused.__init__ is not before


def _declared(with_fields: Callable[[type], Any], with_keywords: Callable[[type], Any]) -> list[Any]:
    """Returns new classes of each kind of fields, of which no object was made."""

    @with_fields
    class Above:
        first: int
        second: str = "b"
        third: list[int] = dataclasses.field(default_factory=list)

    @with_fields
    class Below(Above):
        second: str = "c"
        fourth: dataclasses.InitVar[int] = 3  # type: ignore[assignment]  # mypy cannot know what declares it
        fifth: int = dataclasses.field(init=False, default=5)
        sixth: int = dataclasses.field(init=False)

        def __post_init__(self, fourth: int) -> None:
            object.__setattr__(self, "sixth", self.first + fourth)

    @with_keywords
    class Named:
        first: int
        second: str = "b"

    return [Above, Below, Named]


@pytest.mark.parametrize("which", ["above", "below", "named", "mutable above"])
def test_each_object_is_made_as_dataclasses_makes_it_and_refused_where_it_refuses(which: str) -> None:
    """The first of a class, and those after its constructor was written; given each number of arguments and each set of names."""

    def made(kind: Any, args: Sequence[int], names: Sequence[str]) -> object:
        try:
            return dataclasses.astuple(kind(*args, **{name: number for number, name in enumerate(names, 10)}))
        except TypeError as error:
            return type(error)

    def new() -> Any:
        return (
            _declared(mutable, mutable)[0] if which == "mutable above" else _declared(frozen, frozen(kw_only=True))[at]
        )

    at = ["above", "below", "named", "mutable above"].index(which) % 3
    theirs = _declared(dataclasses.dataclass, dataclasses.dataclass(kw_only=True))[at]
    written = new()
    for _ in range(_MANY):
        written(first=1)
    names = ["first", "second", "third", "fourth", "fifth", "other"]
    given = itertools.chain.from_iterable(itertools.combinations(names, count) for count in range(len(names)))
    for those, count in itertools.product(given, range(6)):
        args = range(count)
        assert made(new(), args, those) == made(written, args, those) == made(theirs, args, those), (count, those)


def test_a_class_is_described_as_dataclasses_describes_it_before_an_object_of_it_is_made() -> None:
    def declared(with_fields: Callable[[type], Any]) -> tuple[Any, Any]:
        @with_fields
        class Above:
            kind: ClassVar[str] = "above"
            first: int
            second: list[int] = dataclasses.field(default_factory=list, repr=False, compare=False)

        @with_fields
        class Below(Above):
            second: list[int] = dataclasses.field(default_factory=list)
            third: dataclasses.InitVar[int] = 3  # type: ignore[assignment]  # mypy cannot know what declares it
            fourth: int = dataclasses.field(init=False, default=4)

        return Above, Below

    def told(kind: Any) -> tuple[Any, ...]:
        fields = [
            (f.name, f.type, f.default, f.default_factory, f.init, f.repr, f.compare) for f in dataclasses.fields(kind)
        ]
        return fields, kind.__match_args__, list(kind.__dataclass_fields__), getattr(kind, "third", None), kind.kind

    plainly = dataclasses.dataclass(frozen=True, slots=True)
    for ours, theirs in zip(declared(frozen), declared(plainly), strict=True):  # the base first, or last
        assert told(ours) == told(theirs)
        assert ours.__slots__ == theirs.__slots__
    (ours, _), (theirs, _) = declared(frozen)[::-1], declared(plainly)[::-1]
    assert told(ours) == told(theirs)


def test_what_users_make_no_objects_of_is_declared_so() -> None:
    """The pages of the reference tell what users make; the rest pays for its methods when it needs them."""
    public = {target.rpartition(".")[2] for page in pages() for target in page.targets}
    others = [
        f"{path.name}: {name}"
        for path in Path(hr.__file__).parent.rglob("*.py")
        for name in re.findall(
            r"^@(?:dataclasses\.)?dataclass\(frozen=True.*\n *class (\w+)", path.read_text(), re.MULTILINE
        )
        if name not in public
    ]
    assert others == []


def test_an_object_with_other_values_is_what_dataclasses_make_of_it() -> None:
    one = Position(3, "y", [4])
    assert replaced(one) == dataclasses.replace(one)
    assert replaced(one, index=5, name="z") == dataclasses.replace(one, index=5, name="z")
    assert replaced(one, index=5).parts is one.parts
    assert one == Position(3, "y")
    with pytest.raises(KeyError):
        replaced(one, other=1)
