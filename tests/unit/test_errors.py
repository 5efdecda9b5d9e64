"""The tree of errors: each is also the built-in that a caller would expect, and knows its place."""

from __future__ import annotations

import copy
import pickle

import pytest

from headrace import errors
from headrace.errors import DataError, HeadraceError, InvalidArgumentError, NotFoundError

KINDS = [getattr(errors, name) for name in errors.__all__]

BUILT_INS = {
    "CancelledError": RuntimeError,
    "DataError": RuntimeError,
    "DataLossError": OSError,
    "DeadlineExceededError": TimeoutError,
    "FailedPreconditionError": RuntimeError,
    "HeadraceError": Exception,
    "InputChangedError": OSError,
    "InternalError": RuntimeError,
    "InvalidArgumentError": ValueError,
    "MissingExtraError": ImportError,
    "NotFoundError": FileNotFoundError,
    "OutOfRangeError": EOFError,
    "ResourceExhaustedError": MemoryError,
    "WorkerError": RuntimeError,
}


def test_every_error_is_of_the_tree_and_of_a_built_in() -> None:
    assert {kind.__name__: kind for kind in KINDS}.keys() == BUILT_INS.keys()
    for kind in KINDS:
        assert issubclass(kind, HeadraceError)
        assert issubclass(kind, BUILT_INS[kind.__name__])


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_message_says_stage_and_origin_and_what(kind: type[HeadraceError]) -> None:
    assert str(kind("it broke")) == "it broke"
    assert str(kind("it broke", stage="map 'f'")) == "map 'f': it broke"
    error = kind("it broke", stage="map 'f'", origin="element 3")
    assert str(error) == "map 'f', element 3: it broke"
    assert (error.reason, error.stage, error.origin) == ("it broke", "map 'f'", "element 3")
    assert str(kind()) == ""


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_an_error_survives_pickling_and_copying(kind: type[HeadraceError]) -> None:
    error = kind("it broke", stage="map 'f'", origin="element 3")
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is kind
        assert str(again) == str(error)
        assert (again.reason, again.stage, again.origin) == (error.reason, error.stage, error.origin)


def test_a_place_that_is_known_is_kept() -> None:
    error = DataError("it broke", origin="element 3")
    error.__cause__ = ValueError("why")
    placed = error.located(stage="map 'f'", origin="element 9")
    assert type(placed) is DataError
    assert (placed.stage, placed.origin) == ("map 'f'", "element 3")
    assert placed.__cause__ is error.__cause__
    assert placed.located(stage="other", origin=None).stage == "map 'f'"


def test_an_error_keeps_its_traceback_when_it_is_placed() -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        raise InvalidArgumentError("no")
    placed = caught.value.located(stage="map", origin=None)
    assert placed.__traceback__ is caught.value.__traceback__


class CodedError(NotFoundError):
    """An error of a user's, with a constructor, attributes and words of its own."""

    __slots__ = ("line",)

    def __init__(self, code: int, *, line: int) -> None:
        super().__init__(f"code {code}")
        self.code, self.line = code, line


class SilentError(NotFoundError):
    """Its constructor calls no other."""

    def __init__(self, code: int) -> None:
        self.code = code


def test_no_constructor_of_a_users_class_is_called_to_place_an_error_or_to_copy_it() -> None:
    placed = CodedError(7, line=3).located(stage="map 'f'", origin="element 3")
    for again in (placed, pickle.loads(pickle.dumps(placed)), copy.copy(placed)):
        assert type(again) is CodedError
        assert (str(again), again.code, again.line) == ("map 'f', element 3: code 7", 7, 3)
    silent = SilentError(7).located(stage="map 'f'", origin=None).located(stage=None, origin="element 3")
    assert (str(silent), silent.code) == ("map 'f', element 3: SilentError", 7)


def test_an_error_with_another_reason_or_place_keeps_all_else() -> None:
    error = CodedError(7, line=3).located(stage="map 'f'", origin="element 3", cause=ValueError("why"))
    reworded = error.with_reason("it is gone")
    assert (type(reworded), str(reworded), reworded.code) == (CodedError, "map 'f', element 3: it is gone", 7)
    moved = reworded.with_place(stage="cache", origin=None)
    assert (str(moved), moved.line, moved.__cause__) == ("cache: it is gone", 3, error.__cause__)
